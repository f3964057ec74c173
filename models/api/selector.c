/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "selector.h"

#include <string.h>

#include "fields.h"

static const char *const operator_words[] = {"In", "NotIn", "Exists", "DoesNotExist",
                                             "Gt", "Lt",    NULL};
static const char *const effect_words[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};

/* SelectOperator and TaintEffect are unsigned, as enumerations without negative values are with GCC
 * and clang. */
_Static_assert(sizeof(SelectOperator) == sizeof(uint32_t), "read as uint32_t");
_Static_assert(sizeof(TaintEffect) == sizeof(uint32_t), "read as uint32_t");

static const FieldType operator_type = {
    .name = "operator",
    .size = sizeof(uint32_t),
    .equal = field_u32_equal,
    .words = operator_words,
};

static const Field requirement_fields[] = {
    FIELD("values", field_string_list, SelectRequirement, values, FIELD_SPEC),
    FIELD("key", field_string, SelectRequirement, key, FIELD_REQUIRED),
    FIELD("operator", operator_type, SelectRequirement, operator, FIELD_REQUIRED),
    FIELDS_END,
};

/* Requirements are zeroed. */
static LabelSelector *
label_selector_alloc(unsigned n)
{
    LabelSelector *self = g_malloc0(sizeof *self + n * sizeof self->requirements[0]);

    self->refs = REF_COUNT_ONE;
    self->n_requirements = n;
    return self;
}

LabelSelector *
label_selector_new(const SelectRequirement *requirements, unsigned n)
{
    LabelSelector *self = label_selector_alloc(n);

    if (n > 0)
        memcpy(self->requirements, requirements, n * sizeof requirements[0]);
    return self;
}

/* key In {value} */
static SelectRequirement
requirement_of_pair(const StringPair *pair)
{
    SelectRequirement requirement = {.key = pair->key};

    requirement.operator= SELECT_IN;
    requirement.values = string_list_new(&pair->value, 1);
    return requirement;
}

static void
label_selector_free(LabelSelector *self)
{
    for (unsigned i = 0; i < self->n_requirements; i++)
        string_list_unref(self->requirements[i].values);
    g_free(self);
}

REF_COUNTED_DEFINE(LabelSelector, label_selector, label_selector_free)

gboolean
label_selector_equal(const LabelSelector *a, const LabelSelector *b)
{
    if (a == b)
        return TRUE;
    return a != NULL && b != NULL &&
           items_equal(requirement_fields, a->requirements, a->n_requirements, b->requirements,
                       b->n_requirements, sizeof a->requirements[0]);
}

/* As strconv.ParseInt(text, 10, 64). */
static gboolean
parse_integer(const char *text, int64_t *number)
{
    gint64 value;

    if (text == NULL ||
        !g_ascii_string_to_signed(text + (*text == '+'), 10, INT64_MIN, INT64_MAX, &value, NULL))
        return FALSE;
    *number = value;
    return TRUE;
}

static gboolean
values_compare(const StringList *values, const char *value, gboolean greater)
{
    int64_t wanted, given;

    if (values == NULL || values->n_items != 1 || !parse_integer(values->items[0], &wanted) ||
        !parse_integer(value, &given))
        return FALSE;
    return greater ? given > wanted : given < wanted;
}

static gboolean
requirement_matches(const SelectRequirement *requirement, const StringMap *labels)
{
    const char *value = string_map_get(labels, requirement->key);

    switch (requirement->operator) {
    case SELECT_IN:
        return value != NULL && string_list_has(requirement->values, value);
    case SELECT_NOT_IN: /* what lacks the key matches, too */
        return value == NULL || !string_list_has(requirement->values, value);
    case SELECT_EXISTS:
        return value != NULL;
    case SELECT_DOES_NOT_EXIST:
        return value == NULL;
    case SELECT_GT:
        return values_compare(requirement->values, value, TRUE);
    case SELECT_LT:
        return values_compare(requirement->values, value, FALSE);
    }
    g_assert_not_reached();
}

gboolean
label_selector_matches(const LabelSelector *self, const StringMap *labels)
{
    if (self == NULL)
        return FALSE;
    for (unsigned i = 0; i < self->n_requirements; i++)
        if (!requirement_matches(&self->requirements[i], labels))
            return FALSE;
    return TRUE;
}

/* What the operator asks of the values, in Kubernetes' words for node and label selectors. */
static void
check_requirement(ApiParser *parser, const json_t *item, const SelectRequirement *requirement)
{
    unsigned n = requirement->values == NULL ? 0 : requirement->values->n_items;

    switch (requirement->operator) {
    case SELECT_IN:
    case SELECT_NOT_IN:
        if (n == 0)
            api_parser_required_at(parser, item, "values",
                                   "must be specified when `operator` is 'In' or 'NotIn'");
        return;
    case SELECT_EXISTS:
    case SELECT_DOES_NOT_EXIST:
        if (n > 0) {
            gsize length = api_parser_enter(parser, "values");
            api_parser_fault(
                parser, json_path_get(item, "values"), NULL,
                "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            api_parser_leave(parser, length);
        }
        return;
    case SELECT_GT:
    case SELECT_LT:
        if (n != 1)
            api_parser_required_at(
                parser, item, "values",
                "must be specified single value when `operator` is 'Lt' or 'Gt'");
        return;
    }
    g_assert_not_reached();
}

static void
check_label_key(ApiParser *parser, const json_t *where, const char *key)
{
    const char *fault = key == NULL ? NULL : name_fault_qualified(key);

    if (fault != NULL)
        api_parser_fault(parser, where, NULL, "Invalid value: \"%s\": %s", key, fault);
}

/* Appends the requirements of a list to @found. */
static void
requirements_parse(ApiParser *parser, const json_t *array, const char *path, GArray *found)
{
    static const SelectRequirement initial;
    unsigned n;
    gsize length = api_parser_enter(parser, path);
    g_autofree SelectRequirement *items =
        items_parse(parser, array, requirement_fields, NULL, &initial, sizeof initial, &n);

    for (unsigned i = 0; i < n; i++) {
        const json_t *item = json_array_get(array, i);
        gsize inner = api_parser_enter_index(parser, i);
        check_label_key(parser, item, items[i].key);
        if (json_is_object(item) && json_path_string(item, "operator") != NULL)
            check_requirement(parser, item, &items[i]);
        api_parser_leave(parser, inner);
    }
    if (n > 0)
        g_array_append_vals(found, items, n);
    api_parser_leave(parser, length);
}

/* matchLabels: each is In with one value, in order of the keys. */
static void
match_labels_parse(ApiParser *parser, const json_t *labels, GArray *found)
{
    StringMap *map = NULL;
    gsize length = api_parser_enter(parser, "matchLabels");

    field_labels.parse(parser, labels, &map);
    for (unsigned i = 0; map != NULL && i < map->n_pairs; i++) {
        SelectRequirement requirement = requirement_of_pair(&map->pairs[i]);
        g_array_append_val(found, requirement);
    }
    string_map_unref(map);
    api_parser_leave(parser, length);
}

static void
check_keys(ApiParser *parser, const json_t *object, const char *const *known)
{
    static const Field none[] = {FIELDS_END};
    char nothing;

    fields_parse(parser, object, none, known, &nothing);
}

static void
label_selector_parse(ApiParser *parser, const json_t *value, void *field)
{
    static const char *const known[] = {"matchLabels", "matchExpressions", NULL};
    LabelSelector **selector = field;
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(SelectRequirement));

    check_keys(parser, value, known);
    const json_t *labels = json_path_get(value, "matchLabels");
    const json_t *expressions = json_path_get(value, "matchExpressions");
    if (labels != NULL)
        match_labels_parse(parser, labels, found);
    if (expressions != NULL)
        requirements_parse(parser, expressions, "matchExpressions", found);
    label_selector_unref(*selector);
    *selector = label_selector_new((const SelectRequirement *)(void *)found->data, found->len);
}

static gboolean
is_match_label(const SelectRequirement *requirement)
{
    return requirement->operator== SELECT_IN && requirement->values != NULL &&
        requirement->values->n_items == 1;
}

static json_t *
label_selector_to_json(const void *field)
{
    const LabelSelector *selector = *(LabelSelector *const *)field;

    if (selector == NULL)
        return NULL;
    json_t *object = json_object(), *labels = json_object(), *expressions = json_array();
    for (unsigned i = 0; i < selector->n_requirements; i++) {
        const SelectRequirement *requirement = &selector->requirements[i];
        if (is_match_label(requirement) && json_object_get(labels, requirement->key) == NULL)
            json_object_set_new(labels, requirement->key,
                                json_string(requirement->values->items[0]));
        else
            json_array_append_new(expressions,
                                  fields_to_json(requirement_fields, requirement, NULL));
    }
    if (json_object_size(labels) > 0)
        json_object_set(object, "matchLabels", labels);
    if (json_array_size(expressions) > 0)
        json_object_set(object, "matchExpressions", expressions);
    json_decref(labels);
    json_decref(expressions);
    return object;
}

/* Returns: (owned): a selector as a list of requirements only: what it means, however it is written
 */
static json_t *
selector_expand(const json_t *selector)
{
    json_t *array = json_array();
    json_t *labels = json_sorted(json_object_get(selector, "matchLabels"));
    const json_t *expressions = json_object_get(selector, "matchExpressions");

    for (void *member = json_first_member(labels); member != NULL;
         member = json_next_member(labels, member))
        json_array_append_new(array, json_pack("{s:s, s:s, s:[O]}", "key",
                                               json_object_iter_key(member), "operator", "In",
                                               "values", json_object_iter_value(member)));
    for (size_t i = 0; i < json_array_size(expressions); i++)
        json_array_append(array, json_array_get(expressions, i));
    json_decref(labels);
    return array;
}

/* matchLabels and an expression may say the same: the manifest's way stays. */
static json_t *
label_selector_over(const void *field, const json_t *manifest)
{
    json_t *fresh = label_selector_to_json(field);

    if (fresh == NULL || !json_is_object(manifest))
        return fresh;
    json_t *a = selector_expand(manifest), *b = selector_expand(fresh);
    gboolean same = json_equal(a, b);
    json_decref(a);
    json_decref(b);
    if (!same)
        return fresh;
    json_decref(fresh);
    return json_incref((json_t *)manifest); /* only counted */
}

static void
label_selector_clear(void *field)
{
    g_clear_pointer((LabelSelector **)field, label_selector_unref);
}

static gboolean
label_selector_field_equal(const void *a, const void *b)
{
    return label_selector_equal(*(LabelSelector *const *)a, *(LabelSelector *const *)b);
}

const FieldType field_label_selector = {
    .name = "label selector",
    .size = sizeof(LabelSelector *),
    .ref = field_counted_ref,
    .clear = label_selector_clear,
    .equal = label_selector_field_equal,
    .parse = label_selector_parse,
    .to_json = label_selector_to_json,
    .over = label_selector_over,
};

/* Terms are zeroed. */
static NodeSelector *
node_selector_alloc(unsigned n)
{
    NodeSelector *self = g_malloc0(sizeof *self + n * sizeof self->terms[0]);

    self->refs = REF_COUNT_ONE;
    self->n_terms = n;
    return self;
}

NodeSelector *
node_selector_new(const NodeSelectorTerm *terms, unsigned n)
{
    NodeSelector *self = node_selector_alloc(n);

    if (n > 0)
        memcpy(self->terms, terms, n * sizeof terms[0]);
    return self;
}

static LabelSelector *
selector_from_segment(const StringMap *segment)
{
    unsigned n = segment == NULL ? 0 : segment->n_pairs;
    LabelSelector *self = label_selector_alloc(n);

    for (unsigned i = 0; i < n; i++)
        self->requirements[i] = requirement_of_pair(&segment->pairs[i]);
    return self;
}

NodeSelector *
node_selector_from_segments(const StringMap *const *segments, unsigned n)
{
    NodeSelector *self = node_selector_alloc(n);

    for (unsigned i = 0; i < n; i++)
        self->terms[i].expressions = selector_from_segment(segments[i]);
    return self;
}

static void
node_selector_free(NodeSelector *self)
{
    for (unsigned i = 0; i < self->n_terms; i++)
        label_selector_unref(self->terms[i].expressions);
    g_free(self);
}

REF_COUNTED_DEFINE(NodeSelector, node_selector, node_selector_free)

gboolean
node_selector_equal(const NodeSelector *a, const NodeSelector *b)
{
    if (a == b)
        return TRUE;
    if (a == NULL || b == NULL || a->n_terms != b->n_terms)
        return FALSE;
    for (unsigned i = 0; i < a->n_terms; i++)
        if (!label_selector_equal(a->terms[i].expressions, b->terms[i].expressions) ||
            g_strcmp0(a->terms[i].field_name, b->terms[i].field_name) != 0 ||
            a->terms[i].weight != b->terms[i].weight)
            return FALSE;
    return TRUE;
}

gboolean
node_selector_term_matches(const NodeSelectorTerm *term,
                           const StringMap *labels,
                           const char *node_name)
{
    gboolean has_expressions = term->expressions != NULL && term->expressions->n_requirements > 0;

    if (!has_expressions && term->field_name == NULL)
        return FALSE;
    if (term->field_name != NULL && g_strcmp0(term->field_name, node_name) != 0)
        return FALSE;
    return !has_expressions || label_selector_matches(term->expressions, labels);
}

gboolean
node_selector_matches(const NodeSelector *self, const StringMap *labels, const char *node_name)
{
    if (self == NULL)
        return TRUE;
    for (unsigned i = 0; i < self->n_terms; i++)
        if (node_selector_term_matches(&self->terms[i], labels, node_name))
            return TRUE;
    return FALSE;
}

/* matchFields: Kubernetes knows one field of nodes, their name. */
static void
match_fields_parse(ApiParser *parser, const json_t *array, NodeSelectorTerm *term)
{
    gsize length = api_parser_enter(parser, "matchFields");
    const json_t *only = json_array_size(array) == 1 ? json_array_get(array, 0) : NULL;
    const json_t *values = json_path_get(only, "values");

    if (g_strcmp0(json_path_string(only, "key"), "metadata.name") == 0 &&
        g_strcmp0(json_path_string(only, "operator"), "In") == 0 && json_array_size(values) == 1 &&
        json_is_string(json_array_get(values, 0))) {
        term->field_name = api_parser_intern(parser, json_string_value(json_array_get(values, 0)));
    } else {
        term->field_name = api_parser_intern(parser, ""); /* no node has it */
        api_parser_invalid(parser, array, NULL, "only metadata.name In [one name] is supported");
    }
    api_parser_leave(parser, length);
}

static void
node_term_parse(ApiParser *parser, const json_t *value, NodeSelectorTerm *term)
{
    static const char *const known[] = {"matchExpressions", "matchFields", NULL};
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(SelectRequirement));
    const json_t *expressions = json_path_get(value, "matchExpressions");
    const json_t *match_fields = json_path_get(value, "matchFields");

    check_keys(parser, value, known);
    if (expressions != NULL) {
        requirements_parse(parser, expressions, "matchExpressions", found);
        if (found->len > 0)
            term->expressions =
                label_selector_new((const SelectRequirement *)(void *)found->data, found->len);
    }
    if (match_fields != NULL && json_array_size(match_fields) > 0)
        match_fields_parse(parser, match_fields, term);
}

static json_t *
node_term_to_json(const NodeSelectorTerm *term)
{
    json_t *object = json_object();
    json_t *expressions = term->expressions == NULL
                              ? NULL
                              : items_to_json(requirement_fields, term->expressions->requirements,
                                              term->expressions->n_requirements,
                                              sizeof term->expressions->requirements[0], NULL);

    if (expressions != NULL)
        json_object_set_new(object, "matchExpressions", expressions);
    if (term->field_name != NULL)
        json_object_set_new(object, "matchFields",
                            json_pack("[{s:s, s:s, s:[s]}]", "key", "metadata.name", "operator",
                                      "In", "values", term->field_name));
    return object;
}

typedef void (*TermParse)(ApiParser *parser, const json_t *value, NodeSelectorTerm *term);

static NodeSelector *
terms_parse(ApiParser *parser, const json_t *array, TermParse term_parse)
{
    if (!api_parser_expect(parser, array, JSON_ARRAY))
        return NULL;
    NodeSelector *self = node_selector_alloc((unsigned)json_array_size(array));
    for (unsigned i = 0; i < self->n_terms; i++) {
        gsize length = api_parser_enter_index(parser, i);
        if (api_parser_expect(parser, json_array_get(array, i), JSON_OBJECT))
            term_parse(parser, json_array_get(array, i), &self->terms[i]);
        api_parser_leave(parser, length);
    }
    return self;
}

static void
node_selector_parse(ApiParser *parser, const json_t *value, void *field)
{
    static const char *const known[] = {"nodeSelectorTerms", NULL};
    NodeSelector **selector = field;

    check_keys(parser, value, known);
    const json_t *terms = json_path_get(value, "nodeSelectorTerms");
    if (terms == NULL || (json_is_array(terms) && json_array_size(terms) == 0)) {
        api_parser_required_at(parser, value, "nodeSelectorTerms",
                               "must have at least one node selector term");
        return;
    }
    gsize length = api_parser_enter(parser, "nodeSelectorTerms");
    node_selector_unref(*selector);
    *selector = terms_parse(parser, terms, node_term_parse);
    api_parser_leave(parser, length);
}

static json_t *
node_selector_to_json(const void *field)
{
    const NodeSelector *selector = *(NodeSelector *const *)field;

    if (selector == NULL)
        return NULL;
    json_t *terms = json_array();
    for (unsigned i = 0; i < selector->n_terms; i++)
        json_array_append_new(terms, node_term_to_json(&selector->terms[i]));
    return json_pack("{s:o}", "nodeSelectorTerms", terms);
}

static void
node_selector_clear(void *field)
{
    g_clear_pointer((NodeSelector **)field, node_selector_unref);
}

static gboolean
node_selector_field_equal(const void *a, const void *b)
{
    return node_selector_equal(*(NodeSelector *const *)a, *(NodeSelector *const *)b);
}

const FieldType field_node_selector = {
    .name = "node selector",
    .size = sizeof(NodeSelector *),
    .ref = field_counted_ref,
    .clear = node_selector_clear,
    .equal = node_selector_field_equal,
    .parse = node_selector_parse,
    .to_json = node_selector_to_json,
};

static void
preferred_term_parse(ApiParser *parser, const json_t *value, NodeSelectorTerm *term)
{
    static const char *const known[] = {"weight", "preference", NULL};
    const json_t *preference = json_path_get(value, "preference");
    const json_t *weight = json_path_get(value, "weight");

    check_keys(parser, value, known);
    if (preference == NULL) {
        api_parser_required_at(parser, value, "preference", NULL);
    } else {
        gsize length = api_parser_enter(parser, "preference");
        if (api_parser_expect(parser, preference, JSON_OBJECT))
            node_term_parse(parser, preference, term);
        api_parser_leave(parser, length);
    }
    gsize length = api_parser_enter(parser, "weight");
    if (weight != NULL)
        field_int.parse(parser, weight, &term->weight);
    if (term->weight < 1 || term->weight > 100)
        api_parser_fault(parser, weight == NULL ? value : weight, NULL,
                         "Invalid value: %d: must be in the range 1-100", term->weight);
    api_parser_leave(parser, length);
}

static void
preferred_nodes_parse(ApiParser *parser, const json_t *value, void *field)
{
    NodeSelector **selector = field;

    node_selector_unref(*selector);
    *selector = terms_parse(parser, value, preferred_term_parse);
}

static json_t *
preferred_nodes_to_json(const void *field)
{
    const NodeSelector *selector = *(NodeSelector *const *)field;

    if (selector == NULL)
        return NULL;
    json_t *array = json_array();
    for (unsigned i = 0; i < selector->n_terms; i++)
        json_array_append_new(array, json_pack("{s:o, s:i}", "preference",
                                               node_term_to_json(&selector->terms[i]), "weight",
                                               selector->terms[i].weight));
    return array;
}

const FieldType field_preferred_nodes = {
    .name = "preferred node terms",
    .size = sizeof(NodeSelector *),
    .ref = field_counted_ref,
    .clear = node_selector_clear,
    .equal = node_selector_field_equal,
    .parse = preferred_nodes_parse,
    .to_json = preferred_nodes_to_json,
};

/* {matchLabelExpressions: [{key, values}]}: In is the only operator, and not written. */
static void
topology_term_parse(ApiParser *parser, const json_t *value, NodeSelectorTerm *term)
{
    static const char *const known[] = {"matchLabelExpressions", NULL};
    static const Field fields[] = {
        FIELD("values", field_string_list, SelectRequirement, values, FIELD_REQUIRED),
        FIELD("key", field_string, SelectRequirement, key, FIELD_REQUIRED),
        FIELDS_END,
    };
    static const SelectRequirement initial = {.operator= SELECT_IN };
    const json_t *expressions = json_path_get(value, "matchLabelExpressions");
    unsigned n;

    check_keys(parser, value, known);
    if (expressions == NULL)
        return;
    gsize length = api_parser_enter(parser, "matchLabelExpressions");
    g_autofree SelectRequirement *items =
        items_parse(parser, expressions, fields, NULL, &initial, sizeof initial, &n);
    term->expressions = label_selector_new(items, n);
    api_parser_leave(parser, length);
}

static void
topology_terms_parse(ApiParser *parser, const json_t *value, void *field)
{
    NodeSelector **selector = field;

    node_selector_unref(*selector);
    *selector = terms_parse(parser, value, topology_term_parse);
    if (*selector != NULL && (*selector)->n_terms == 0)
        g_clear_pointer(selector, node_selector_unref); /* an empty list allows all (VB-50) */
}

static json_t *
topology_terms_to_json(const void *field)
{
    const NodeSelector *selector = *(NodeSelector *const *)field;

    if (selector == NULL)
        return NULL;
    json_t *array = json_array();
    for (unsigned i = 0; i < selector->n_terms; i++) {
        json_t *term = json_object();
        json_t *full = node_term_to_json(&selector->terms[i]);
        json_t *expressions = json_object_get(full, "matchExpressions");
        for (size_t j = 0; j < json_array_size(expressions); j++)
            json_object_del(json_array_get(expressions, j), "operator");
        if (expressions != NULL)
            json_object_set(term, "matchLabelExpressions", expressions);
        json_decref(full);
        json_array_append_new(array, term);
    }
    return array;
}

const FieldType field_topology_terms = {
    .name = "topology terms",
    .size = sizeof(NodeSelector *),
    .ref = field_counted_ref,
    .clear = node_selector_clear,
    .equal = node_selector_field_equal,
    .parse = topology_terms_parse,
    .to_json = topology_terms_to_json,
};

static const FieldType effect_type = {
    .name = "taint effect",
    .size = sizeof(uint32_t),
    .equal = field_u32_equal,
    .words = effect_words,
};

static const Field taint_fields[] = {
    FIELD("key", field_string, Taint, key, FIELD_REQUIRED),
    FIELD("value", field_word, Taint, value, FIELD_SPEC),
    FIELD("effect", effect_type, Taint, effect, FIELD_REQUIRED),
    FIELD("timeAdded", field_time, Taint, added_at, FIELD_SPEC),
    FIELDS_END,
};

Taints *
taints_new(const Taint *items, unsigned n)
{
    if (n == 0)
        return NULL;
    Taints *self = g_malloc(sizeof *self + n * sizeof items[0]);
    self->refs = REF_COUNT_ONE;
    self->n_items = n;
    memcpy(self->items, items, n * sizeof items[0]);
    return self;
}

REF_COUNTED_DEFINE(Taints, taints, g_free)

gboolean
taints_equal(const Taints *a, const Taints *b)
{
    if (a == b)
        return TRUE;
    return a != NULL && b != NULL &&
           items_equal(taint_fields, a->items, a->n_items, b->items, b->n_items,
                       sizeof a->items[0]);
}

static void
taints_parse(ApiParser *parser, const json_t *value, void *field)
{
    static const Taint initial = {.value = "", .added_at = TIME_UNSET};
    Taints **taints = field;
    unsigned n;
    g_autofree Taint *items =
        items_parse(parser, value, taint_fields, NULL, &initial, sizeof initial, &n);

    for (unsigned i = 0; i < n; i++) {
        items[i].key = items[i].key == NULL ? "" : items[i].key;
        items[i].value = items[i].value == NULL ? "" : items[i].value;
    }
    taints_unref(*taints);
    *taints = taints_new(items, n);
}

static json_t *
taints_to_json(const void *field)
{
    const Taints *taints = *(Taints *const *)field;

    return taints == NULL ? NULL
                          : items_to_json(taint_fields, taints->items, taints->n_items,
                                          sizeof taints->items[0], NULL);
}

static void
taints_clear(void *field)
{
    g_clear_pointer((Taints **)field, taints_unref);
}

static gboolean
taints_field_equal(const void *a, const void *b)
{
    return taints_equal(*(Taints *const *)a, *(Taints *const *)b);
}

const FieldType field_taints = {
    .name = "taints",
    .size = sizeof(Taints *),
    .ref = field_counted_ref,
    .clear = taints_clear,
    .equal = taints_field_equal,
    .parse = taints_parse,
    .to_json = taints_to_json,
};

/* Toleration.exists: "Equal" is the default and printed only where it was written. */
static const char *const toleration_operators[] = {"Equal", "Exists", NULL};

static void
toleration_operator_parse(ApiParser *parser, const json_t *value, void *field)
{
    const char *word = json_string_value(value);

    if (!api_parser_expect(parser, value, JSON_STRING))
        return;
    *(gboolean *)field = strcmp(word, "Exists") == 0;
    if (!*(gboolean *)field && strcmp(word, "Equal") != 0 && word[0] != '\0')
        api_parser_unsupported(parser, value, toleration_operators);
}

static json_t *
toleration_operator_over(const void *field, const json_t *manifest)
{
    if (*(const gboolean *)field)
        return json_string("Exists");
    return g_strcmp0(json_string_value(manifest), "Equal") == 0 ? json_string("Equal") : NULL;
}

static const FieldType toleration_operator_type = {
    .name = "operator",
    .size = sizeof(gboolean),
    .equal = field_u32_equal,
    .parse = toleration_operator_parse,
    .over = toleration_operator_over,
};

/* Toleration.effect: -1 is none. */
static void
toleration_effect_parse(ApiParser *parser, const json_t *value, void *field)
{
    uint32_t effect = 0;

    if (json_is_string(value) && json_string_length(value) == 0)
        return;
    field_type_parse(&effect_type, parser, value, &effect);
    *(int *)field = (int)effect;
}

static json_t *
toleration_effect_to_json(const void *field)
{
    int effect = *(const int *)field;

    return effect < 0 ? NULL : json_string(effect_words[effect]);
}

static const FieldType toleration_effect_type = {
    .name = "taint effect",
    .size = sizeof(int),
    .equal = field_u32_equal,
    .parse = toleration_effect_parse,
    .to_json = toleration_effect_to_json,
};

static const Field toleration_fields[] = {
    FIELD("key", field_word, Toleration, key, FIELD_SPEC),
    FIELD("value", field_word, Toleration, value, FIELD_SPEC),
    FIELD("operator", toleration_operator_type, Toleration, exists, FIELD_SPEC),
    FIELD("effect", toleration_effect_type, Toleration, effect, FIELD_SPEC),
    FIELD("tolerationSeconds", field_int64, Toleration, seconds, FIELD_SPEC),
    FIELDS_END,
};

Tolerations *
tolerations_new(const Toleration *items, unsigned n)
{
    if (n == 0)
        return NULL;
    Tolerations *self = g_malloc(sizeof *self + n * sizeof items[0]);
    self->refs = REF_COUNT_ONE;
    self->n_items = n;
    memcpy(self->items, items, n * sizeof items[0]);
    return self;
}

REF_COUNTED_DEFINE(Tolerations, tolerations, g_free)

gboolean
tolerations_equal(const Tolerations *a, const Tolerations *b)
{
    if (a == b)
        return TRUE;
    return a != NULL && b != NULL &&
           items_equal(toleration_fields, a->items, a->n_items, b->items, b->n_items,
                       sizeof a->items[0]);
}

static gboolean
is_empty(const char *text)
{
    return text == NULL || text[0] == '\0';
}

/* ToleratesTaint() of Kubernetes' core/v1. */
gboolean
toleration_tolerates(const Toleration *self, const Taint *taint)
{
    if (self->effect >= 0 && self->effect != (int)taint->effect)
        return FALSE;
    if (!is_empty(self->key) && strcmp(self->key, taint->key) != 0)
        return FALSE;
    return self->exists || strcmp(is_empty(self->value) ? "" : self->value,
                                  is_empty(taint->value) ? "" : taint->value) == 0;
}

static void
check_toleration(ApiParser *parser, const json_t *item, const Toleration *toleration)
{
    if (is_empty(toleration->key) && !toleration->exists)
        api_parser_fault(parser, item, "write operator: Exists",
                         "Invalid value: \"\": operator must be Exists when `key` is empty, which "
                         "means \"match all "
                         "values and all keys\"");
    if (toleration->exists && !is_empty(toleration->value))
        api_parser_fault(parser, item, NULL,
                         "Invalid value: \"%s\": value must be empty when `operator` is 'Exists'",
                         toleration->value);
    if (toleration->seconds >= 0 && toleration->effect != TAINT_NO_EXECUTE)
        api_parser_fault(
            parser, item, NULL,
            "Invalid value: \"%s\": effect must be 'NoExecute' when `tolerationSeconds` is set",
            toleration->effect < 0 ? "" : effect_words[toleration->effect]);
}

static void
tolerations_parse(ApiParser *parser, const json_t *value, void *field)
{
    static const Toleration initial = {.key = "", .value = "", .effect = -1, .seconds = -1};
    Tolerations **tolerations = field;
    unsigned n;
    g_autofree Toleration *items =
        items_parse(parser, value, toleration_fields, NULL, &initial, sizeof initial, &n);

    for (unsigned i = 0; i < n; i++) {
        gsize length = api_parser_enter_index(parser, i);
        items[i].key = items[i].key == NULL ? "" : items[i].key;
        items[i].value = items[i].value == NULL ? "" : items[i].value;
        /* Zero and less: evict at once. */
        if (json_path_get(json_array_get(value, i), "tolerationSeconds") != NULL)
            items[i].seconds = MAX(items[i].seconds, 0);
        check_toleration(parser, json_array_get(value, i), &items[i]);
        api_parser_leave(parser, length);
    }
    tolerations_unref(*tolerations);
    *tolerations = tolerations_new(items, n);
}

static json_t *
tolerations_over(const void *field, const json_t *manifest)
{
    const Tolerations *tolerations = *(Tolerations *const *)field;

    if (tolerations == NULL)
        return NULL;
    return items_to_json(toleration_fields, tolerations->items, tolerations->n_items,
                         sizeof tolerations->items[0], manifest);
}

static json_t *
tolerations_to_json(const void *field)
{
    return tolerations_over(field, NULL);
}

static void
tolerations_clear(void *field)
{
    g_clear_pointer((Tolerations **)field, tolerations_unref);
}

static gboolean
tolerations_field_equal(const void *a, const void *b)
{
    return tolerations_equal(*(Tolerations *const *)a, *(Tolerations *const *)b);
}

const FieldType field_tolerations = {
    .name = "tolerations",
    .size = sizeof(Tolerations *),
    .ref = field_counted_ref,
    .clear = tolerations_clear,
    .equal = tolerations_field_equal,
    .parse = tolerations_parse,
    .to_json = tolerations_to_json,
    .over = tolerations_over,
};
