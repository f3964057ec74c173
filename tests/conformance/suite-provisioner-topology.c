/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/external-provisioner/topology-test.h"
#include "models/external-provisioner/topology.h"
#include "sim/strings.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/script-driver.h"

#include <string.h>

/* Where the external-provisioner asks for volumes: pure functions of nodes, classes and claims. */

/* ---- Requirements ---- */

static void *
alloc_once(void *place, size_t size)
{
    return *(void **)place = g_malloc0(size);
}

/* A set is compared as one. */
static json_t *
sorted_segments(const json_t *list)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(free);
    json_t *sorted = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        g_ptr_array_add(texts, case_json_text(item));
    g_ptr_array_sort(texts, strings_compare);
    for (unsigned k = 0; k < texts->len; k++)
        json_array_append_new(sorted, json_string(texts->pdata[k]));
    return sorted;
}

static json_t *
segments_json(const StringMap *const *segments, unsigned n)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(list, script_map_json(segments[i]));
    return list;
}

static void
expect_requirement(Case *self, const TopologyRequirement *requirement)
{
    const json_t *expected = case_get(self, "expected.requirement");
    json_t *requisite = segments_json(requirement->requisite, requirement->n);
    json_t *preferred = segments_json(requirement->preferred, requirement->n);

    if ((expected == NULL) != (requirement->n == 0)) {
        case_fail(self, "%u places", requirement->n);
    } else if (expected != NULL) {
        json_t *wanted = sorted_segments(json_object_get(expected, "requisite"));
        json_t *found = sorted_segments(requisite);
        case_expect_json(self, "requisite", wanted, found);
        case_expect_json(self, "preferred", json_object_get(expected, "preferred"), preferred);
        json_decref(wanted);
        json_decref(found);
    }
    json_decref(requisite);
    json_decref(preferred);
}

static const Object *
suite_provisioner_topology_find_object(const GPtrArray *objects, const char *name)
{
    for (unsigned i = 0; i < objects->len; i++)
        if (g_strcmp0(object_name(objects->pdata[i]), name) == 0)
            return objects->pdata[i];
    return NULL;
}

/* The class's allowed topologies, as segments. */
static void
flatten_allowed(Case *self, TopologyTerms *allowed)
{
    json_t *manifest = json_object();

    if (case_get(self, "args.allowed_topologies") != NULL)
        json_object_set(manifest, "allowedTopologies",
                        (json_t *)case_get(self, "args.allowed_topologies"));
    topology_terms_flatten(
        allowed,
        STORAGE_CLASS(case_object(self, manifest, KIND_STORAGE_CLASS))->allowed_topologies);
    json_decref(manifest);
}

static void
run_requirements(Case *self)
{
    g_autoptr(GPtrArray) nodes = case_objects(self, "initial.nodes", KIND_NODE);
    g_autoptr(GPtrArray) csi_nodes = case_objects(self, "initial.csi_nodes", KIND_CSI_NODE);
    const char *node = case_string(self, "args.selected_node");
    TopologyTerms allowed = {0};
    Topology cluster = {0};
    TopologyRequirement requirement;
    void *memory = NULL;

    topology_init(&cluster, strings_intern(objects_strings(self->objects),
                                           case_string(self, "config.driver")));
    for (unsigned i = 0; i < csi_nodes->len; i++)
        topology_csi_node_changed(&cluster, NULL, CSI_NODE(csi_nodes->pdata[i]), NULL);
    for (unsigned i = 0; i < nodes->len; i++)
        topology_node_changed(&cluster, NULL, NODE(nodes->pdata[i]));
    flatten_allowed(self, &allowed);
    TopologyQuery query = {
        .cluster = &cluster,
        .allowed = &allowed,
        .claim_name = case_string(self, "args.pvc_name"),
        .node_name = node,
        .node = node == NULL ? NULL : NODE(suite_provisioner_topology_find_object(nodes, node)),
        .csi_node =
            node == NULL ? NULL : CSI_NODE(suite_provisioner_topology_find_object(csi_nodes, node)),
        .strict = case_flag(self, "config.strict_topology"),
        .immediate = case_flag(self, "config.immediate_topology"),
    };
    g_autofree char *error = topology_require(&query, &requirement, alloc_once, &memory);
    if ((error != NULL) != case_flag(self, "expected.error"))
        case_fail(self, error == NULL ? "no error" : "error: %s", error);
    else if (error == NULL)
        expect_requirement(self, &requirement);
    g_free(memory);
    topology_terms_clear(&allowed);
    topology_clear(&cluster);
}

/* ---- Terms ---- */

/* [{key, value}] */
static StringMap *
term_of(Case *self, const char *path)
{
    json_t *object = json_object(), *item;
    size_t i;

    json_array_foreach(case_get(self, path), i, item)
        json_object_set(object, case_text(self, item, "key"), json_object_get(item, "value"));
    StringMap *map = script_map(self, object);
    json_decref(object);
    return map;
}

static void
run_compare(Case *self)
{
    g_autoptr(StringMap) first = term_of(self, "args.first"), second = term_of(self, "args.second");
    gboolean before = topology_segment_compare(first, second) < 0;
    const char *same = topology_segment_compare(first, first) == 0 ? "equal" : "different";

    if (before != case_flag(self, "expected.first_before_second"))
        case_fail(self, before ? "the first is first" : "the first is not first");
    if (g_strcmp0(case_string(self, "expected.self_comparison"), same) != 0)
        case_fail(self, "itself: %s", same);
}

static int
compare_pairs(const void *a, const void *b)
{
    return topology_pair_compare(a, b);
}

/* Pairs as they stand, the same key twice perhaps. */
static void
run_sort(Case *self)
{
    Strings *strings = objects_strings(self->objects);
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));
    json_t *found = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self, "args.term"), i, item) {
        StringPair pair = {strings_intern(strings, case_text(self, item, "key")),
                           strings_intern(strings, case_text(self, item, "value"))};
        g_array_append_val(pairs, pair);
    }
    g_array_sort(pairs, compare_pairs);
    for (unsigned k = 0; k < pairs->len; k++)
        json_array_append_new(found, json_pack("{s:s, s:s}", "key",
                                               g_array_index(pairs, StringPair, k).key, "value",
                                               g_array_index(pairs, StringPair, k).value));
    case_expect_json(self, "sorted", case_get(self, "expected.sorted"), found);
    json_decref(found);
}

static void
run_subset(Case *self)
{
    g_autoptr(StringMap) part = term_of(self, "args.term"), whole = term_of(self, "args.of");

    if (string_map_contains(whole, part) != case_flag(self, "expected.subset"))
        case_fail(self, "the other way round");
}

static int
suite_provisioner_topology_compare_keys(const void *a, const void *b)
{
    return g_strcmp0(json_path_string(*(json_t *const *)a, "key"),
                     json_path_string(*(json_t *const *)b, "key"));
}

/* Returns: (owned): a term with its expressions in the order of their keys, which counts for
 * nothing */
static json_t *
sorted_term(const json_t *term)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new();
    json_t *expressions = json_array(), *item;
    size_t i;

    json_array_foreach(json_object_get(term, "matchExpressions"), i, item)
        g_ptr_array_add(items, item);
    g_ptr_array_sort(items, suite_provisioner_topology_compare_keys);
    for (unsigned k = 0; k < items->len; k++)
        json_array_append(expressions, items->pdata[k]);
    return json_pack("{s:o}", "matchExpressions", expressions);
}

/* The places of a volume as its node affinity. */
static void
run_affinity(Case *self)
{
    const json_t *places = case_get(self, "args.accessible_topology");
    const json_t *expected = case_get(self, "expected.node_affinity");
    size_t k;
    unsigned n = (unsigned)json_array_size(places);
    g_autofree StringMap **segments = g_new0(StringMap *, n + 1);
    json_t *manifest = json_pack("{s:{}}", "spec");

    for (unsigned i = 0; i < n; i++)
        segments[i] = script_map(self, json_array_get(places, i));
    NodeSelector *found =
        n == 0 ? NULL : node_selector_from_segments((const StringMap *const *)segments, n);
    if (expected != NULL) {
        json_t *terms = json_array(), *term;
        json_array_foreach(json_path_get(expected, "required.nodeSelectorTerms"), k, term)
            json_array_append_new(terms, sorted_term(term));
        json_object_set_new(json_object_get(manifest, "spec"), "nodeAffinity",
                            json_pack("{s:{s:o}}", "required", "nodeSelectorTerms", terms));
    }
    const Volume *wanted = VOLUME(case_object(self, manifest, KIND_VOLUME));
    if (!node_selector_equal(wanted->node_affinity, found))
        case_fail(self, "another affinity");
    node_selector_unref(found);
    json_decref(manifest);
    for (unsigned i = 0; i < n; i++)
        string_map_unref(segments[i]);
}

static const Act provisioner_topology_acts[] = {
    {"GenerateAccessibilityRequirements", run_requirements},
    {"compareTopologyTerms",              run_compare     },
    {"sortTopologyTerm",                  run_sort        },
    {"topologyTermSubset",                run_subset      },
    {"GenerateVolumeNodeAffinity",        run_affinity    },
    {NULL,                                NULL            },
};

const Suite provisioner_topology_suite = {"provisioner_topology", provisioner_topology_acts};
