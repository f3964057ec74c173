/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-test.h"
#include "tests/lib/test.h"

typedef struct {
    const char *name, *selector, *labels;
    gboolean matches;
} SelectorRow;

#define EXPRESSION(key, operator, values)                                                          \
    "{'matchExpressions': [{'key': '" key "', 'operator': '" operator"'" values "}]}"

/* clang-format off */
static const SelectorRow label_rows[] = {
    {"an empty selector matches everything", "{}", "a=b", TRUE},
    {"an empty selector matches nothing else", "{}", "", TRUE},
    {"matchLabels", "{'matchLabels': {'a': 'b'}}", "a=b,c=d", TRUE},
    {"matchLabels: another value", "{'matchLabels': {'a': 'b'}}", "a=x", FALSE},
    {"matchLabels: no such key", "{'matchLabels': {'a': 'b'}}", "c=d", FALSE},
    {"matchLabels: all must hold", "{'matchLabels': {'a': 'b', 'c': 'd'}}", "a=b", FALSE},
    {"matchLabels: an empty value", "{'matchLabels': {'a': ''}}", "a=", TRUE},
    {"In", EXPRESSION("a", "In", ", 'values': ['x', 'b']"), "a=b", TRUE},
    {"In: another value", EXPRESSION("a", "In", ", 'values': ['x', 'y']"), "a=b", FALSE},
    {"In: no such key", EXPRESSION("a", "In", ", 'values': ['x']"), "", FALSE},
    {"NotIn", EXPRESSION("a", "NotIn", ", 'values': ['x']"), "a=b", TRUE},
    {"NotIn: that value", EXPRESSION("a", "NotIn", ", 'values': ['b']"), "a=b", FALSE},
    {"NotIn matches what lacks the key", EXPRESSION("a", "NotIn", ", 'values': ['b']"), "c=d",
     TRUE},
    {"Exists", EXPRESSION("a", "Exists", ""), "a=", TRUE},
    {"Exists: not", EXPRESSION("a", "Exists", ""), "b=", FALSE},
    {"DoesNotExist", EXPRESSION("a", "DoesNotExist", ""), "b=", TRUE},
    {"DoesNotExist: does", EXPRESSION("a", "DoesNotExist", ""), "a=b", FALSE},
    {"labels and expressions",
     "{'matchLabels': {'a': 'b'}, 'matchExpressions': [{'key': 'c', 'operator': 'Exists'}]}", "a=b",
     FALSE},
};
/* clang-format on */

static void
label_selector(void **state)
{
    const SelectorRow *row = *state;
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(StringMap) labels = api_test_labels(test, row->labels);
    LabelSelector *selector = NULL, *again = NULL;

    api_test_read_field(test, &field_label_selector, row->selector, &selector);
    assert_string_equal(test->faults->str, "");
    assert_int_equal(label_selector_matches(selector, labels), row->matches);

    json_t *json = field_type_to_json(&field_label_selector, &selector, NULL, 0);
    field_type_parse(&field_label_selector, &test->parser, json, &again);
    json_decref(json);
    assert_true(label_selector_equal(selector, again));
    label_selector_unref(selector);
    label_selector_unref(again);
}
TEST_ROWS(label_rows, label_selector);

#define TERMS(terms) "{'nodeSelectorTerms': [" terms "]}"
#define TERM(key, operator, values)                                                                \
    "{'matchExpressions': [{'key': '" key "', 'operator': '" operator"'" values "}]}"
#define NAMED(name)                                                                                \
    "{'matchFields': [{'key': 'metadata.name', 'operator': 'In', 'values': ['" name "']}]}"

/* All of them on node n. */
static const SelectorRow node_rows[] = {
    {"terms are ORed",       TERMS(TERM("a",      "Exists","") ", " TERM("b","Exists", "")), "b=1", TRUE},
    {"neither term",                  TERMS(TERM("a",                                "Exists","") ", " TERM("b","Exists", "")), "c=1", FALSE},
    {"an empty term matches nothing",TERMS("{}"),"a=1",FALSE},
    {"a term with an empty list matches nothing",                 TERMS("{'matchExpressions': []}"),                               "a=1",FALSE},
    {"Gt",                 TERMS(TERM("a",                                                             "Gt",                                                                           ", 'values': ['5']")),                                                  "a=6", TRUE},
    {"Gt: equal",                 TERMS(TERM("a", "Gt",", 'values': ['5']")),                            "a=5", FALSE},
    {"Gt: no number",                  TERMS(TERM("a","Gt",", 'values': ['5']")),"a=six", FALSE},
    {"Gt: no label",            TERMS(TERM("a", "Gt",", 'values': ['5']")),"", FALSE},
    {"Lt",                 TERMS(TERM("a",                                    "Lt",", 'values': ['5']")),"a=-6", TRUE},
    {"Lt: equal", TERMS(TERM("a",             "Lt",                                                                                                                                    ", 'values': ['5']")),                                                                                                                                                                                                                                                                                                                                                                                 "a=5", FALSE},
    {"a node's name",TERMS(NAMED("n")),            "",TRUE                                               },
    {"another node's name",                      TERMS(NAMED("m")),                                      "",FALSE},
    {"either name",                TERMS(NAMED("m") ", " NAMED("n")),                               "",TRUE                              },
};

static void
node_selector(void **state)
{
    const SelectorRow *row = *state;
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(StringMap) labels = api_test_labels(test, row->labels);
    NodeSelector *selector = NULL, *again = NULL;

    api_test_read_field(test, &field_node_selector, row->selector, &selector);
    assert_string_equal(test->faults->str, "");
    assert_int_equal(node_selector_matches(selector, labels, "n"), row->matches);

    json_t *json = field_type_to_json(&field_node_selector, &selector, NULL, 0);
    field_type_parse(&field_node_selector, &test->parser, json, &again);
    json_decref(json);
    assert_true(node_selector_equal(selector, again));
    node_selector_unref(selector);
    node_selector_unref(again);
}
TEST_ROWS(node_rows, node_selector);

TEST(absent_selectors)
{
    NodeSelector *no_terms = node_selector_new(NULL, 0);

    assert_false(label_selector_matches(NULL, NULL));
    assert_true(node_selector_matches(NULL, NULL, NULL));
    assert_false(node_selector_matches(no_terms, NULL, NULL));
    node_selector_unref(no_terms);
}

/* VB-30 */
TEST(names_match_nothing_without_a_name)
{
    g_autoptr(ApiTest) test = api_test_new();
    NodeSelector *selector = NULL;

    api_test_read_field(test, &field_node_selector, TERMS(NAMED("n")), &selector);
    assert_false(node_selector_matches(selector, NULL, NULL));
    node_selector_unref(selector);
}

TEST(segments_become_terms)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(StringMap) a = api_test_labels(test, "zone=a,rack=1"),
                         b = api_test_labels(test, "zone=b,rack=1");
    g_autoptr(StringMap) c = api_test_labels(test, "zone=b,rack=2");
    const StringMap *segments[] = {a, b};
    NodeSelector *selector = node_selector_from_segments(segments, 2);

    assert_true(node_selector_matches(selector, a, NULL));
    assert_true(node_selector_matches(selector, b, NULL));
    assert_false(node_selector_matches(selector, c, NULL));
    node_selector_unref(selector);
}

TEST(topology_terms)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(StringMap) a = api_test_labels(test, "zone=a"), c = api_test_labels(test, "zone=c");
    NodeSelector *terms = NULL;

    api_test_read_field(test, &field_topology_terms,
                        "[{'matchLabelExpressions': [{'key': 'zone', 'values': ['a', 'b']}]}]",
                        &terms);
    assert_true(node_selector_matches(terms, a, NULL));
    assert_false(node_selector_matches(terms, c, NULL));
    json_t *json = field_type_to_json(&field_topology_terms, &terms, NULL, 0);
    char *text = json_dumps(json, JSON_SORT_KEYS);
    assert_string_equal(
        text, "[{\"matchLabelExpressions\": [{\"key\": \"zone\", \"values\": [\"a\", \"b\"]}]}]");
    free(text);
    json_decref(json);
    node_selector_unref(terms);
}

typedef struct {
    const char *name, *toleration;
    Taint taint;
    gboolean tolerates;
} TolerationRow;

/* clang-format off */
static const TolerationRow toleration_rows[] = {
    {"equal",                        "{'key': 'a', 'value': 'b'}",                                 {"a", "b", TAINT_NO_SCHEDULE, 0}, TRUE},
    {"equal, written",               "{'key': 'a', 'operator': 'Equal', 'value': 'b'}",            {"a", "b", TAINT_NO_SCHEDULE, 0}, TRUE},
    {"another value",                "{'key': 'a', 'value': 'x'}",                                 {"a", "b", TAINT_NO_SCHEDULE, 0}, FALSE},
    {"another key",                  "{'key': 'x', 'value': 'b'}",                                 {"a", "b", TAINT_NO_SCHEDULE, 0}, FALSE},
    {"no value equals an empty one", "{'key': 'a'}",                                               {"a", "", TAINT_NO_SCHEDULE, 0},  TRUE},
    {"exists",                       "{'key': 'a', 'operator': 'Exists'}",                         {"a", "b", TAINT_NO_EXECUTE, 0},  TRUE},
    {"exists, another key",          "{'key': 'x', 'operator': 'Exists'}",                         {"a", "b", TAINT_NO_EXECUTE, 0},  FALSE},
    {"everything",                   "{'operator': 'Exists'}",                                     {"a", "b", TAINT_NO_EXECUTE, 0},  TRUE},
    {"that effect",                  "{'key': 'a', 'operator': 'Exists', 'effect': 'NoExecute'}",  {"a", "b", TAINT_NO_EXECUTE, 0},  TRUE},
    {"another effect",               "{'key': 'a', 'operator': 'Exists', 'effect': 'NoSchedule'}", {"a", "b", TAINT_NO_EXECUTE, 0},  FALSE},
};
/* clang-format on */

static void
toleration(void **state)
{
    const TolerationRow *row = *state;
    g_autoptr(ApiTest) test = api_test_new();
    g_autofree char *list = g_strdup_printf("[%s]", row->toleration);
    Tolerations *tolerations = NULL, *again = NULL;

    api_test_read_field(test, &field_tolerations, list, &tolerations);
    assert_string_equal(test->faults->str, "");
    assert_int_equal(tolerations->n_items, 1);
    assert_int_equal(toleration_tolerates(&tolerations->items[0], &row->taint), row->tolerates);

    json_t *json = field_type_to_json(&field_tolerations, &tolerations, NULL, 0);
    field_type_parse(&field_tolerations, &test->parser, json, &again);
    json_decref(json);
    assert_true(tolerations_equal(tolerations, again));
    tolerations_unref(tolerations);
    tolerations_unref(again);
}
TEST_ROWS(toleration_rows, toleration);

TEST(taints_survive_the_round_trip)
{
    g_autoptr(ApiTest) test = api_test_new();
    Taints *taints = NULL, *again = NULL;

    api_test_read_field(test, &field_taints,
                        "[{'key': 'a', 'effect': 'NoExecute', 'timeAdded': '2026-01-01T00:00:05Z'},"
                        " {'key': 'b', 'value': 'c', 'effect': 'PreferNoSchedule'}]",
                        &taints);
    assert_int_equal(taints->n_items, 2);
    assert_int_equal(taints->items[0].added_at, 5 * SIM_SECOND);
    assert_int_equal(taints->items[1].added_at, TIME_UNSET);
    assert_string_equal(taints->items[0].value, "");
    json_t *json = field_type_to_json(&field_taints, &taints, NULL, 0);
    field_type_parse(&field_taints, &test->parser, json, &again);
    json_decref(json);
    assert_true(taints_equal(taints, again));
    taints_unref(taints);
    taints_unref(again);
}
