/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a volume may be: GenerateAccessibilityRequirements() in external-provisioner's topology.go.
 * From the selected node, the class's allowed topologies and the segments of all nodes a rule table
 * chooses the requisite terms and the order of the preferred ones. Segments are counted by node for
 * each set of topology keys, so a claim does not walk the nodes. Terms are sorted and unique, since
 * the claim's name decides by their number where the turn begins (TOPO-6). */
#include "topology.h"

#include "models/external-provisioner/topology-test.h"
#include "models/volume/turn.h"

#include <string.h>

int
topology_pair_compare(const StringPair *a, const StringPair *b)
{
    int order = a->key == b->key ? 0 : strcmp(a->key, b->key);

    return order != 0 || a->value == b->value ? order : strcmp(a->value, b->value);
}

int
topology_segment_compare(const StringMap *a, const StringMap *b)
{
    unsigned n_a = a == NULL ? 0 : a->n_pairs, n_b = b == NULL ? 0 : b->n_pairs;

    if (n_a != n_b)
        return n_a < n_b ? -1 : 1;
    for (unsigned i = 0; i < n_a; i++) {
        int order = topology_pair_compare(&a->pairs[i], &b->pairs[i]);
        if (order != 0)
            return order;
    }
    return 0;
}

/* Returns: the place of @segment; if it is not @found, the place to insert it */
static unsigned
terms_position(const TopologyTerms *self, const StringMap *segment, gboolean *found)
{
    unsigned low = 0, high = self->n_terms;

    *found = FALSE;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        int order = topology_segment_compare(self->terms[middle].segment, segment);
        if (order == 0) {
            *found = TRUE;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

TopologyTerm *
topology_terms_add(TopologyTerms *self, const StringMap *segment)
{
    gboolean found;
    unsigned position = terms_position(self, segment, &found);

    if (found)
        return &self->terms[position];
    if (self->n_terms == self->room) {
        self->room = MAX(4, 2 * self->room);
        self->terms = g_renew(TopologyTerm, self->terms, self->room);
    }
    memmove(&self->terms[position + 1], &self->terms[position],
            (self->n_terms - position) * sizeof(TopologyTerm));
    self->terms[position] = (TopologyTerm){string_map_ref(segment), 0};
    self->n_terms++;
    return &self->terms[position];
}

static const TopologyTerm *
topology_terms_find(const TopologyTerms *self, const StringMap *segment)
{
    gboolean found;
    unsigned position = terms_position(self, segment, &found);

    return found ? &self->terms[position] : NULL;
}

void
topology_terms_clear(TopologyTerms *self)
{
    for (unsigned i = 0; i < self->n_terms; i++)
        string_map_unref(self->terms[i].segment);
    g_free(self->terms);
    *self = (TopologyTerms){0};
}

/* @n expressions have their values in @pairs; when all have, they make a segment. */
static void
flatten_expressions(TopologyTerms *self,
                    const LabelSelector *expressions,
                    StringPair *pairs,
                    unsigned n)
{
    if (n == expressions->n_requirements) {
        g_autoptr(StringMap) segment = string_map_new(pairs, n);
        if (segment != NULL)
            topology_terms_add(self, segment)->n_nodes = 1;
        return;
    }
    const SelectRequirement *requirement = &expressions->requirements[n];
    for (unsigned i = 0; requirement->values != NULL && i < requirement->values->n_items; i++) {
        pairs[n] = (StringPair){requirement->key, requirement->values->items[i]};
        flatten_expressions(self, expressions, pairs, n + 1);
    }
}

void
topology_terms_flatten(TopologyTerms *self, const NodeSelector *allowed)
{
    for (unsigned i = 0; allowed != NULL && i < allowed->n_terms; i++) {
        const LabelSelector *expressions = allowed->terms[i].expressions;
        if (expressions == NULL || expressions->n_requirements == 0)
            continue;
        g_autoptr(GArray) pairs = g_array_new(FALSE, TRUE, sizeof(StringPair));
        g_array_set_size(pairs, expressions->n_requirements);
        flatten_expressions(self, expressions, (StringPair *)(void *)pairs->data, 0);
    }
    self->n_used = self->n_terms;
}

static StringList *
sorted_list(const StringList *list)
{
    g_autofree const char **items = g_new(const char *, list->n_items);

    memcpy(items, list->items, list->n_items * sizeof(*items));
    qsort(items, list->n_items, sizeof(*items), strings_compare);
    return string_list_new(items, list->n_items);
}

static void
pool_free(void *data)
{
    TopologyPool *pool = data;

    string_list_unref(pool->keys);
    topology_terms_clear(&pool->terms);
    g_free(pool);
}

void
topology_init(Topology *self, const char *driver)
{
    self->driver = driver;
    self->pools = g_ptr_array_new_with_free_func(pool_free);
}

void
topology_clear(Topology *self)
{
    g_clear_pointer(&self->pools, g_ptr_array_unref);
}

/* Returns: (owned): NULL: a label is missing */
static StringMap *
node_segment(const StringList *keys, const StringMap *labels)
{
    g_autoptr(GArray) pairs = g_array_sized_new(FALSE, FALSE, sizeof(StringPair), keys->n_items);

    for (unsigned i = 0; i < keys->n_items; i++) {
        StringPair pair = {keys->items[i], string_map_get(labels, keys->items[i])};
        if (pair.value == NULL)
            return NULL;
        g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(const void *)pairs->data, pairs->len);
}

/* Counts a node's segment: @change is 1 or -1. */
static void
pool_count(TopologyPool *pool, const StringMap *labels, int change)
{
    g_autoptr(StringMap) segment = node_segment(pool->keys, labels);

    if (segment == NULL)
        return;
    TopologyTerm *term = topology_terms_add(&pool->terms, segment);
    pool->terms.n_used -= term->n_nodes > 0;
    term->n_nodes = (unsigned)((int)term->n_nodes + change);
    pool->terms.n_used += term->n_nodes > 0;
}

static TopologyPool *
find_pool(const Topology *self, const StringList *keys)
{
    for (unsigned i = 0; i < self->pools->len; i++) {
        TopologyPool *pool = self->pools->pdata[i];
        if (string_list_equal(pool->keys, keys))
            return pool;
    }
    return NULL;
}

static TopologyPool *
make_pool(Topology *self, const StringList *keys, InformerIter *nodes)
{
    TopologyPool *pool = g_new0(TopologyPool, 1);
    const Object *node;

    pool->keys = string_list_ref(keys);
    g_ptr_array_add(self->pools, pool);
    while (nodes != NULL && (node = informer_iter_next(nodes)) != NULL)
        pool_count(pool, node->labels, 1);
    return pool;
}

/* Returns: (owned): the driver's keys on that node, sorted; NULL: none */
static StringList *
csi_node_keys(const Topology *self, const CsiNode *csi_node)
{
    const CsiNodeDriver *entry =
        csi_node == NULL ? NULL : csi_node_find_driver(csi_node, self->driver);

    return entry == NULL || entry->topology_keys == NULL ? NULL : sorted_list(entry->topology_keys);
}

void
topology_csi_node_changed(Topology *self,
                          const CsiNode *before,
                          const CsiNode *after,
                          InformerIter *nodes)
{
    g_autoptr(StringList) old_keys = csi_node_keys(self, before);
    g_autoptr(StringList) new_keys = csi_node_keys(self, after);

    if (string_list_equal(old_keys, new_keys))
        return;
    if (old_keys != NULL)
        find_pool(self, old_keys)->n_csi_nodes--;
    if (new_keys == NULL)
        return;
    TopologyPool *pool = find_pool(self, new_keys);
    if (pool == NULL)
        pool = make_pool(self, new_keys, nodes);
    pool->n_csi_nodes++;
}

void
topology_node_changed(Topology *self, const Node *before, const Node *after)
{
    const StringMap *old_labels = before == NULL ? NULL : before->meta.labels;
    const StringMap *new_labels = after == NULL ? NULL : after->meta.labels;

    if (old_labels == new_labels)
        return;
    for (unsigned i = 0; i < self->pools->len; i++) {
        if (before != NULL)
            pool_count(self->pools->pdata[i], old_labels, -1);
        if (after != NULL)
            pool_count(self->pools->pdata[i], new_labels, 1);
    }
}

/* @keys: NULL: the first pool that a CSINode lists. Returns: (borrowed): the pool; NULL: none */
static const TopologyPool *
topology_pool(const Topology *self, const StringList *keys)
{
    if (keys != NULL) {
        g_autoptr(StringList) sorted = sorted_list(keys);
        return find_pool(self, sorted);
    }
    for (unsigned i = 0; i < self->pools->len; i++) {
        const TopologyPool *pool = self->pools->pdata[i];
        if (pool->n_csi_nodes > 0)
            return pool;
    }
    return NULL;
}

/* Returns: (borrowed): the segment of a node with these labels, NULL: it lacks a key */
static const StringMap *
topology_pool_segment(const TopologyPool *self, const StringMap *labels)
{
    g_autoptr(StringMap) segment = node_segment(self->keys, labels);
    const TopologyTerm *term = segment == NULL ? NULL : topology_terms_find(&self->terms, segment);

    return term == NULL ? NULL : term->segment;
}

static gboolean
is_allowed(const TopologyTerms *allowed, const StringMap *segment)
{
    for (unsigned i = 0; i < allowed->n_terms; i++)
        if (string_map_contains(segment, allowed->terms[i].segment))
            return TRUE;
    return allowed->n_terms == 0;
}

/* Copies the terms with nodes; they are sorted already. */
static void
take_terms(TopologyRequirement *requirement,
           const TopologyTerms *terms,
           TopologyAlloc alloc,
           void *data)
{
    requirement->requisite = alloc(data, (size_t)2 * terms->n_used * sizeof(StringMap *));
    requirement->preferred = requirement->requisite + terms->n_used;
    for (unsigned i = 0; i < terms->n_terms; i++)
        if (terms->terms[i].n_nodes > 0)
            requirement->requisite[requirement->n++] = terms->terms[i].segment;
}

/* TOPO-6: prefers the requisite segments in turn, from the one at @first. */
static void
rotate(TopologyRequirement *requirement, unsigned first)
{
    for (unsigned i = 0; i < requirement->n; i++)
        requirement->preferred[i] = requirement->requisite[(first + i) % requirement->n];
}

static char *
prefer_node(const TopologyQuery *query, TopologyRequirement *requirement, const StringMap *segment)
{
    for (unsigned i = 0; i < requirement->n; i++) {
        if (!string_map_contains(segment, requirement->requisite[i]))
            continue;
        rotate(requirement, i);
        return NULL;
    }
    return g_strdup_printf("topology from selected node \"%s\" is not in requisite",
                           query->node_name);
}

/* Facts of a claim's place. */
enum {
    SELECTED = 1 << 0,  /* a node is */
    CSI_NODE = 1 << 1,  /* ... which has a CSINode */
    KEYS = 1 << 2,      /* ... with topology keys of the driver */
    LABELLED = 1 << 3,  /* ... and the labels for them: it is in a segment */
    STRICT = 1 << 4,    /* --strict-topology */
    ALLOWED = 1 << 5,   /* the segment is one of the class's, or the class names none */
    IMMEDIATE = 1 << 6, /* --immediate-topology */
    LIMITED = 1 << 7,   /* the class names segments */
    TERMS = 1 << 8,     /* there are segments to choose from */
    PLACE_FACTS_END = 1 << 9,
};

enum {
    FAIL_NO_CSI_NODE,
    FAIL_NO_KEYS,
    FAIL_NO_LABELS,
    FAIL_NOT_ALLOWED,
    FAIL_NO_TERMS,
    REQUIRE_NOTHING,
    REQUIRE_SEGMENT, /* the node's only */
    PREFER_SEGMENT,  /* the node's among all */
    TAKE_TURNS,
};

/* GenerateAccessibilityRequirements() in external-provisioner's topology.go. Columns: all of these
 * hold, none of these, then. */
static const Rule place_table[] = {
    {"TOPO-1", SELECTED,                               CSI_NODE,                       FAIL_NO_CSI_NODE},
    {"TOPO-1", SELECTED | CSI_NODE,                    KEYS,                           FAIL_NO_KEYS    },
    {"TOPO-1", SELECTED | CSI_NODE | KEYS,             LABELLED,                       FAIL_NO_LABELS  },
    {"TOPO-2", SELECTED | LABELLED | STRICT,           ALLOWED,                        FAIL_NOT_ALLOWED},
    {"TOPO-2", SELECTED | LABELLED | STRICT | ALLOWED, 0,                              REQUIRE_SEGMENT },
    {"TOPO-3", 0,                                      SELECTED | IMMEDIATE | LIMITED, REQUIRE_NOTHING },
    {"TOPO-3", SELECTED | LABELLED,                    STRICT | TERMS,                 FAIL_NO_TERMS   },
    {"TOPO-3", IMMEDIATE,                              SELECTED | TERMS,               FAIL_NO_TERMS   },
    {"TOPO-6", SELECTED | LABELLED | TERMS,            STRICT,                         PREFER_SEGMENT  },
    {"TOPO-6", IMMEDIATE | TERMS,                      SELECTED,                       TAKE_TURNS      },
    {"TOPO-6", LIMITED | TERMS,                        SELECTED | IMMEDIATE,           TAKE_TURNS      },
};
static const RuleBound place_bounds[] = {
    {.given = LABELLED, .all = KEYS    },
    {.given = KEYS,     .all = CSI_NODE},
    {.given = CSI_NODE, .all = SELECTED},
    {.given = LIMITED,  .all = TERMS   },
};
const RuleTable topology_rules =
    RULE_TABLE("places of claims", PLACE_FACTS_END, place_table, RULE_BOUNDS(place_bounds));

/* Where a claim's volume may be. */
typedef struct {
    const TopologyPool *pool;   /* of the node's keys; NULL: none */
    const StringMap *segment;   /* the node's; NULL: none */
    const TopologyTerms *terms; /* TOPO-3; NULL: none */
} TopologyPlace;

static uint32_t
node_facts(const TopologyQuery *query, TopologyPlace *place)
{
    uint32_t facts = SELECTED;

    if (query->csi_node == NULL)
        return facts;
    facts |= CSI_NODE;
    const CsiNodeDriver *entry = csi_node_find_driver(query->csi_node, query->cluster->driver);
    if (entry == NULL || entry->topology_keys == NULL)
        return facts;
    facts |= KEYS;
    place->pool = topology_pool(query->cluster, entry->topology_keys);
    if (query->node != NULL && place->pool != NULL)
        place->segment = topology_pool_segment(place->pool, query->node->meta.labels);
    if (place->segment == NULL)
        return facts;
    return facts | LABELLED | (is_allowed(query->allowed, place->segment) ? ALLOWED : 0);
}

static uint32_t
place_facts(const TopologyQuery *query, TopologyPlace *place)
{
    uint32_t facts = query->node_name == NULL ? 0 : node_facts(query, place);
    const TopologyPool *pool =
        place->pool != NULL ? place->pool : topology_pool(query->cluster, NULL);

    if (query->allowed->n_terms > 0)
        place->terms = query->allowed;
    else if (pool != NULL && pool->terms.n_used > 0)
        place->terms = &pool->terms;
    facts |= query->strict ? STRICT : 0;
    facts |= query->immediate ? IMMEDIATE : 0;
    facts |= query->allowed->n_terms > 0 ? LIMITED : 0;
    facts |= place->terms != NULL ? TERMS : 0;
    return facts;
}

char *
topology_require(const TopologyQuery *query,
                 TopologyRequirement *requirement,
                 TopologyAlloc alloc,
                 void *data)
{
    TopologyPlace place = {0};
    const Rule *rule = rules_find(&topology_rules, place_facts(query, &place), NULL);

    *requirement = (TopologyRequirement){.rule = rule->id};
    switch (rule->then) {
    case FAIL_NO_CSI_NODE:
        requirement->is_look_up = TRUE;
        return g_strdup_printf(query->looks_first ? "failed to get selected CSINode %s: "
                                                    "csinode.storage.k8s.io \"%s\" not found"
                                                  : "error getting CSINode for selected node "
                                                    "\"%s\": csinode.storage.k8s.io \"%s\" "
                                                    "not found",
                               query->node_name, query->node_name);
    case FAIL_NO_KEYS:
        return g_strdup_printf("no topology key found on CSINode %s", query->node_name);
    case FAIL_NO_LABELS:
        return g_strdup_printf("topology labels from selected node \"%s\" does not match topology "
                               "keys from CSINode",
                               query->node_name);
    case FAIL_NOT_ALLOWED:
        return g_strdup_printf("selected node '\"%s\"' topology is not in allowed topologies",
                               query->node_name);
    case FAIL_NO_TERMS:
        return g_strdup("no available topology found");
    case REQUIRE_NOTHING:
        return NULL;
    case REQUIRE_SEGMENT:
        requirement->requisite = requirement->preferred = alloc(data, sizeof(StringMap *));
        requirement->requisite[0] = place.segment;
        requirement->n = 1;
        return NULL;
    case PREFER_SEGMENT:
        take_terms(requirement, place.terms, alloc, data);
        return prefer_node(query, requirement, place.segment);
    case TAKE_TURNS:
        take_terms(requirement, place.terms, alloc, data);
        rotate(requirement, volume_turn(query->claim_name, requirement->n));
        return NULL;
    }
    g_assert_not_reached();
}
