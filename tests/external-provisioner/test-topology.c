/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <string.h>

#include "models/api/api-test.h"
#include "models/cluster/model.h"
#include "models/external-provisioner/topology.h"
#include "models/volume/turn.h"
#include "tests/lib/test.h"

const ModelClass *const model_classes[] = {NULL};

/* TOPO-6 */
static const struct {
    const char *claim;
    unsigned n, first;
} preferred_cases[] = {
    {"data-web-0", 3, 0},
    {"data-web-1", 3, 1},
    {"data-web-2", 3, 2},
    {"claim",      3, 2},
    {"claim-7",    3, 0},
    {"a-b-c",      3, 0},
    {"pvc-007",    3, 2},
    {"logs-web-1", 3, 1}, /* with data-web-1 */
    {"claim",      1, 0},
};

TEST(replicas_take_turns)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(preferred_cases); i++)
        assert_int_equal(volume_turn(preferred_cases[i].claim, preferred_cases[i].n),
                         preferred_cases[i].first);
}

/* "k=v l=w" as a segment. (owned) */
static StringMap *
segment(Strings *strings, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    StringPair pairs[8];
    unsigned n = 0;

    for (; words[n] != NULL && words[n][0] != '\0'; n++) {
        g_auto(GStrv) pair = g_strsplit(words[n], "=", 2);
        pairs[n] = (StringPair){strings_intern(strings, pair[0]), strings_intern(strings, pair[1])};
    }
    return string_map_new(pairs, n);
}

static void
append_segment(GString *text, const StringMap *map)
{
    for (unsigned i = 0; i < map->n_pairs; i++)
        g_string_append_printf(text, "%s%s=%s", i == 0 ? "" : " ", map->pairs[i].key,
                               map->pairs[i].value);
}

/* TOPO-5 */
TEST(segments_sort_by_length_then_text)
{
    static const char *const given[] = {"z=b h=1", "z=c", "z=a", "h=2 z=a", "z=b", "z=a"};
    g_autoptr(Strings) strings = strings_new();
    g_autoptr(GString) text = g_string_new(NULL);
    TopologyTerms terms = {0};

    for (unsigned i = 0; i < G_N_ELEMENTS(given); i++) {
        g_autoptr(StringMap) map = segment(strings, given[i]);
        topology_terms_add(&terms, map);
    }
    for (unsigned i = 0; i < terms.n_terms; i++) {
        append_segment(text, terms.terms[i].segment);
        g_string_append_c(text, ';');
    }
    assert_string_equal(text->str, "z=a;z=b;z=c;h=1 z=b;h=2 z=a;");
    topology_terms_clear(&terms);
}

/* TOPO-4: {r in [1, 2], z in [a, b]} or {z in [c]} */
TEST(allowed_topologies_are_multiplied_out)
{
    g_autoptr(Strings) strings = strings_new();
    g_autoptr(GString) text = g_string_new(NULL);
    const char *r = strings_intern(strings, "r"), *z = strings_intern(strings, "z");
    const char *numbers[] = {strings_intern(strings, "1"), strings_intern(strings, "2")};
    const char *letters[] = {strings_intern(strings, "a"), strings_intern(strings, "b")};
    const char *last = strings_intern(strings, "c");
    SelectRequirement both[] = {
        {z, SELECT_IN, string_list_new(letters, 2)},
        {r, SELECT_IN, string_list_new(numbers, 2)},
    };
    SelectRequirement one = {z, SELECT_IN, string_list_new(&last, 1)};
    NodeSelectorTerm alternatives[] = {
        {.expressions = label_selector_new(both, 2)},
        {.expressions = label_selector_new(&one, 1)},
    };
    NodeSelector *selector = node_selector_new(alternatives, 2);
    TopologyTerms terms = {0};

    topology_terms_flatten(&terms, selector);
    for (unsigned i = 0; i < terms.n_terms; i++) {
        append_segment(text, terms.terms[i].segment);
        g_string_append_c(text, ';');
    }
    assert_string_equal(text->str, "z=c;r=1 z=a;r=1 z=b;r=2 z=a;r=2 z=b;");
    topology_terms_clear(&terms);
    node_selector_unref(selector);
}

/* Nodes a, b and c, each in the zone of its name; d has no zone. CSINodes as given: the nodes that
 * list the key "z". */
typedef struct {
    const char *name;
    const char *csi_nodes; /* names, one letter each */
    const char *allowed;   /* zones of the class, one letter each */
    const char *node;      /* the selected one; NULL: none */
    gboolean strict, immediate;
    const char *requisite, *preferred; /* zones; NULL: an error */
    const char *rule;
} RequireCase;

static const RequireCase require_cases[] = {
    {"TOPO-3 all zones",               "abc", "",   NULL, FALSE, TRUE,  "abc", "bca", "TOPO-6"},
    {"TOPO-3 one CSINode is enough",   "b",   "",   NULL, FALSE, TRUE,  "abc", "bca", "TOPO-6"},
    {"TOPO-3 no CSINode has keys",     "",    "",   NULL, FALSE, TRUE,  NULL,  NULL,  "TOPO-3"},
    {"TOPO-3 no requirements",         "abc", "",   NULL, FALSE, FALSE, "",    "",    "TOPO-3"},
    {"TOPO-3 allowed zones",           "abc", "ca", NULL, FALSE, TRUE,  "ac",  "ac",  "TOPO-6"},
    {"TOPO-6 the node's zone leads",   "abc", "",   "c",  FALSE, TRUE,  "abc", "cab", "TOPO-6"},
    {"TOPO-6 the node is not allowed", "abc", "ab", "c",  FALSE, TRUE,  NULL,  NULL,  "TOPO-6"},
    {"TOPO-2 strict",                  "abc", "",   "b",  TRUE,  TRUE,  "b",   "b",   "TOPO-2"},
    {"TOPO-2 strict and allowed",      "abc", "ab", "b",  TRUE,  TRUE,  "b",   "b",   "TOPO-2"},
    {"TOPO-2 strict and not allowed",  "abc", "a",  "b",  TRUE,  TRUE,  NULL,  NULL,  "TOPO-2"},
    {"TOPO-3 strict without a node",   "abc", "",   NULL, TRUE,  TRUE,  "abc", "bca", "TOPO-6"},
    {"TOPO-1 no CSINode of the node",  "ab",  "",   "c",  FALSE, TRUE,  NULL,  NULL,  "TOPO-1"},
    {"TOPO-1 the node has no label",   "abd", "",   "d",  FALSE, TRUE,  NULL,  NULL,  "TOPO-1"},
};

typedef struct {
    Objects *objects;
    Strings *strings;
    Topology topology;
    Object *nodes[4], *csi_nodes[4];
    TopologyTerms allowed;
} TopologyFixture;

static void
fixture_init(TopologyFixture *fixture, const RequireCase *c)
{
    static const char *const names[] = {"a", "b", "c", "d"};

    *fixture = (TopologyFixture){.objects = objects_new(1)};
    fixture->strings = objects_strings(fixture->objects);
    const char *key = strings_intern(fixture->strings, "z"),
               *driver = strings_intern(fixture->strings, "driver");
    topology_init(&fixture->topology, driver);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        StringPair pair = {key, strings_intern(fixture->strings, names[i])};
        CsiNodeDriver entry = {driver, pair.value, NULL, -1};
        if (strchr(c->csi_nodes, names[i][0]) != NULL)
            entry.topology_keys = string_list_new(&key, 1);
        fixture->csi_nodes[i] =
            object_new(objects_key(fixture->objects, KIND_CSI_NODE, NULL, names[i]));
        CSI_NODE(fixture->csi_nodes[i])->drivers = csi_node_drivers_new(&entry, 1);
        fixture->nodes[i] = object_new(objects_key(fixture->objects, KIND_NODE, NULL, names[i]));
        if (i < 3)
            fixture->nodes[i]->labels = string_map_new(&pair, 1);
        if (c->allowed[0] != '\0' && strchr(c->allowed, names[i][0]) != NULL) {
            g_autoptr(StringMap) zone = string_map_new(&pair, 1);
            topology_terms_add(&fixture->allowed, zone)->n_nodes = 1;
        }
    }
    fixture->allowed.n_used = fixture->allowed.n_terms;
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        topology_csi_node_changed(&fixture->topology, NULL, CSI_NODE(fixture->csi_nodes[i]), NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        topology_node_changed(&fixture->topology, NULL, NODE(fixture->nodes[i]));
}

static void
fixture_clear(TopologyFixture *fixture)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(fixture->nodes); i++) {
        object_unref(fixture->nodes[i]);
        object_unref(fixture->csi_nodes[i]);
    }
    topology_terms_clear(&fixture->allowed);
    topology_clear(&fixture->topology);
    objects_free(fixture->objects);
}

static void *
alloc(void *data, size_t size)
{
    void **memory = data;

    return *memory = g_malloc0(size);
}

static void
check_zones(const StringMap *const *segments, unsigned n, const char *zones, const char *name)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < n; i++)
        g_string_append(text, segments[i]->pairs[0].value);
    if (!g_str_equal(text->str, zones))
        fail_msg("%s: %s, not %s", name, text->str, zones);
}

static void
requirements(void **state)
{
    const RequireCase *c = *state;
    TopologyFixture fixture;
    g_autofree void *memory = NULL;
    TopologyRequirement requirement;

    fixture_init(&fixture, c);
    unsigned i = c->node == NULL ? 0 : (unsigned)(c->node[0] - 'a');
    TopologyQuery query = {
        .cluster = &fixture.topology,
        .allowed = &fixture.allowed,
        .claim_name = "data-web-1",
        .node_name = c->node,
        .node = c->node == NULL ? NULL : NODE(fixture.nodes[i]),
        .csi_node = c->node == NULL ? NULL : CSI_NODE(fixture.csi_nodes[i]),
        .strict = c->strict,
        .immediate = c->immediate,
    };
    g_autofree char *error = topology_require(&query, &requirement, alloc, &memory);

    assert_string_equal(requirement.rule, c->rule);
    assert_int_equal(error == NULL, c->requisite != NULL);
    if (error == NULL && c->requisite != NULL) {
        check_zones(requirement.requisite, requirement.n, c->requisite, c->name);
        check_zones(requirement.preferred, requirement.n, c->preferred, c->name);
    }
    fixture_clear(&fixture);
}
TEST_ROWS(require_cases, requirements);
