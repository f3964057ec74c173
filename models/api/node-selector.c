/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node selectors: required and preferred node affinity, and the allowed topologies of classes, in
 * one type. A term holds its label expressions and at most one field, the node's name. Terms are
 * ORed, the expressions of a term ANDed; a selector without terms matches no node, while an empty
 * list of topologies allows all (VB-50). */
#include "selector-private.h"

#include <string.h>

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

NodeSelector *
node_selector_from_segments(const StringMap *const *segments, unsigned n)
{
    NodeSelector *self = node_selector_alloc(n);

    for (unsigned i = 0; i < n; i++)
        self->terms[i].expressions = label_selector_with_pairs(NULL, segments[i]);
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
match_fields_parse(ApiParser *parser, const json_t *value, NodeSelectorTerm *term)
{
    const json_t *array = json_path_get(value, "matchFields");
    const json_t *only = json_array_size(array) == 1 ? json_array_get(array, 0) : NULL;
    const json_t *values = json_path_get(only, "values");

    if (g_strcmp0(json_path_string(only, "key"), "metadata.name") == 0 &&
        g_strcmp0(json_path_string(only, "operator"), "In") == 0 && json_array_size(values) == 1 &&
        json_is_string(json_array_get(values, 0))) {
        term->field_name = api_parser_intern(parser, json_string_value(json_array_get(values, 0)));
    } else {
        term->field_name = api_parser_intern(parser, ""); /* no node has it */
        api_parser_invalid_at(parser, value, "matchFields", NULL,
                              "only metadata.name In [one name] is supported");
    }
}

static void
node_term_parse(ApiParser *parser, const json_t *value, NodeSelectorTerm *term)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(SelectRequirement));
    const json_t *expressions = json_path_get(value, "matchExpressions");

    if (expressions != NULL) {
        select_requirements_parse(parser, expressions, "matchExpressions", found);
        if (found->len > 0)
            term->expressions =
                label_selector_new((const SelectRequirement *)(void *)found->data, found->len);
    }
    if (json_array_size(json_path_get(value, "matchFields")) > 0)
        match_fields_parse(parser, value, term);
}

static json_t *
node_term_to_json(const NodeSelectorTerm *term)
{
    json_t *object = json_object();
    json_t *expressions = select_requirements_to_json(term->expressions);

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
    NodeSelector **selector = field;

    const json_t *terms = json_path_get(value, "nodeSelectorTerms");
    if (terms == NULL || (json_is_array(terms) && json_array_size(terms) == 0)) {
        api_parser_required_at(parser, value, "nodeSelectorTerms",
                               "must have at least one node selector term");
        node_selector_unref(*selector);
        *selector = node_selector_alloc(0); /* for readers that go on: it matches no node */
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

const FieldType field_node_selector = {
    FIELD_SHARED(node_selector),
    .parse = node_selector_parse,
    .to_json = node_selector_to_json,
};

static void
preferred_term_parse(ApiParser *parser, const json_t *value, NodeSelectorTerm *term)
{
    const json_t *preference = json_path_get(value, "preference");
    const json_t *weight = json_path_get(value, "weight");

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
    FIELD_SHARED(node_selector),
    .parse = preferred_nodes_parse,
    .to_json = preferred_nodes_to_json,
};

/* {matchLabelExpressions: [{key, values}]}: In is the only operator, and not written. */
static void
topology_term_parse(ApiParser *parser, const json_t *value, NodeSelectorTerm *term)
{
    static const Field fields[] = {
        FIELD("values", field_string_list, SelectRequirement, values, FIELD_REQUIRED),
        FIELD("key", field_string, SelectRequirement, key, FIELD_REQUIRED),
        FIELDS_END,
    };
    const json_t *expressions = json_path_get(value, "matchLabelExpressions");
    unsigned n;

    if (expressions == NULL)
        return;
    gsize length = api_parser_enter(parser, "matchLabelExpressions");
    g_autofree SelectRequirement *items =
        items_parse(parser, expressions, fields, sizeof *items, &n);
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof *items);
    select_requirements_take(items, n, found);
    term->expressions =
        label_selector_new((const SelectRequirement *)(void *)found->data, found->len);
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
    FIELD_SHARED(node_selector),
    .parse = topology_terms_parse,
    .to_json = topology_terms_to_json,
};
