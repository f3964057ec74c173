/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From labels to sets of nodes, so that a selector is answered for all nodes at once. A label is
 * indexed when a selector first asks for it; any change of labels or places drops the whole index.
 * A value keeps only the words of its set that are not 0, since most values (host names) have few
 * nodes. Selectors that name fields or compare numbers are left to the filter. */
#include "label-index.h"

/* Some nodes of a set: a word of bits that is not 0. A value that few nodes have, such as a host's
 * name, has few words. */
typedef struct {
    unsigned word;
    uint64_t bits;
} Chunk;

typedef struct {
    const char *label;    /* interned */
    GHashTable *of_value; /* value (interned) -> GArray of Chunk */
    GArray *any;          /* of Chunk: nodes that have the label */
} IndexedLabel;

struct LabelIndex {
    GPtrArray *labels; /* of IndexedLabel: labels that were asked for since the last change */
    LabelsAt labels_at;
    const void *data;
    unsigned n_nodes;
    NodeSet term, requirement; /* of a question at hand */
};

static void
indexed_label_free(IndexedLabel *self)
{
    g_hash_table_unref(self->of_value);
    g_array_unref(self->any);
    g_free(self);
}

LabelIndex *
label_index_new(void)
{
    LabelIndex *self = g_new0(LabelIndex, 1);

    self->labels = g_ptr_array_new_with_free_func((GDestroyNotify)indexed_label_free);
    return self;
}

void
label_index_free(LabelIndex *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->labels);
    node_set_clear(&self->term);
    node_set_clear(&self->requirement);
    g_free(self);
}

void
label_index_reset(LabelIndex *self, LabelsAt labels_at, const void *data, unsigned n_nodes)
{
    g_ptr_array_set_size(self->labels, 0);
    self->labels_at = labels_at;
    self->data = data;
    self->n_nodes = n_nodes;
}

/* Places come in ascending order. */
static void
add_place(GArray *chunks, unsigned place)
{
    unsigned word = place / NODE_SET_BITS;
    uint64_t bit = UINT64_C(1) << place % NODE_SET_BITS;
    Chunk *last = chunks->len == 0 ? NULL : &g_array_index(chunks, Chunk, chunks->len - 1);

    if (last != NULL && last->word == word) {
        last->bits |= bit;
        return;
    }
    Chunk chunk = {word, bit};
    g_array_append_val(chunks, chunk);
}

static IndexedLabel *
index_label(LabelIndex *self, const char *label)
{
    IndexedLabel *indexed = g_new0(IndexedLabel, 1);

    indexed->label = label;
    indexed->any = g_array_new(FALSE, FALSE, sizeof(Chunk));
    indexed->of_value =
        g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, (GDestroyNotify)g_array_unref);
    for (unsigned place = 0; place < self->n_nodes; place++) {
        const char *value = string_map_get(self->labels_at(self->data, place), label);
        if (value == NULL)
            continue;
        GArray *chunks = g_hash_table_lookup(indexed->of_value, value);
        if (chunks == NULL) {
            chunks = g_array_new(FALSE, FALSE, sizeof(Chunk));
            g_hash_table_insert(indexed->of_value, (char *)value, chunks);
        }
        add_place(chunks, place);
        add_place(indexed->any, place);
    }
    g_ptr_array_add(self->labels, indexed);
    return indexed;
}

static const IndexedLabel *
find_label(LabelIndex *self, const char *label)
{
    for (unsigned i = 0; i < self->labels->len; i++) {
        const IndexedLabel *indexed = self->labels->pdata[i];
        if (indexed->label == label)
            return indexed;
    }
    return index_label(self, label);
}

static void
unite_chunks(NodeSet *set, const GArray *chunks)
{
    for (unsigned i = 0; chunks != NULL && i < chunks->len; i++) {
        const Chunk *chunk = &g_array_index(chunks, Chunk, i);
        set->words[chunk->word] |= chunk->bits;
    }
}

static void
unite_values(const IndexedLabel *indexed, const StringList *values, NodeSet *set)
{
    for (unsigned i = 0; values != NULL && i < values->n_items; i++)
        unite_chunks(set, g_hash_table_lookup(indexed->of_value, values->items[i]));
}

/* Leaves in @set only nodes that meet the requirement, too. Returns: FALSE: labels alone do not
 * decide */
static gboolean
keep_requirement(LabelIndex *self, const SelectRequirement *requirement, NodeSet *set)
{
    const IndexedLabel *indexed = find_label(self, requirement->key);
    NodeSet *holders = &self->requirement;

    node_set_init(holders, self->n_nodes);
    switch (requirement->operator) {
    case SELECT_IN:
    case SELECT_NOT_IN:
        unite_values(indexed, requirement->values, holders);
        break;
    case SELECT_EXISTS:
    case SELECT_DOES_NOT_EXIST:
        unite_chunks(holders, indexed->any);
        break;
    case SELECT_GT:
    case SELECT_LT:
        return FALSE;
    }
    if (requirement->operator== SELECT_IN || requirement->operator== SELECT_EXISTS)
        node_set_intersect(set, holders);
    else
        node_set_subtract(set, holders);
    return TRUE;
}

gboolean
label_index_add_labels(LabelIndex *self, const LabelSelector *selector, NodeSet *set)
{
    if (selector == NULL) /* matches nothing */
        return TRUE;
    const SelectRequirement *first = &selector->requirements[0];
    if (selector->n_requirements == 1 && first->operator== SELECT_IN) { /* most are like this */
        unite_values(find_label(self, first->key), first->values, set);
        return TRUE;
    }
    node_set_fill(&self->term, self->n_nodes);
    for (unsigned i = 0; i < selector->n_requirements; i++) {
        if (!keep_requirement(self, &selector->requirements[i], &self->term))
            return FALSE;
    }
    node_set_unite(set, &self->term);
    return TRUE;
}

gboolean
label_index_add(LabelIndex *self, const NodeSelector *selector, NodeSet *set)
{
    if (selector == NULL) /* matches everything */
        node_set_fill(set, self->n_nodes);
    for (unsigned i = 0; selector != NULL && i < selector->n_terms; i++) {
        const NodeSelectorTerm *term = &selector->terms[i];
        gboolean is_empty = term->expressions == NULL || term->expressions->n_requirements == 0;
        if (term->field_name != NULL ||
            (!is_empty && !label_index_add_labels(self, term->expressions, set)))
            return FALSE;
    }
    return TRUE;
}

void
label_index_keep(LabelIndex *self, const StringMap *labels, NodeSet *set)
{
    for (unsigned i = 0; labels != NULL && i < labels->n_pairs; i++) {
        const IndexedLabel *indexed = find_label(self, labels->pairs[i].key);
        node_set_init(&self->requirement, self->n_nodes);
        unite_chunks(&self->requirement,
                     g_hash_table_lookup(indexed->of_value, labels->pairs[i].value));
        node_set_intersect(set, &self->requirement);
    }
}
