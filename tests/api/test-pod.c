/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-test.h"
#include "models/api/api-test.h"
#include "tests/lib/test.h"

#define POD_SPEC(spec)                                                                             \
    "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'web'}, 'spec': {" spec "}}"
#define ASKS(name, resources)                                                                      \
    "{'name': '" name "', 'image': 'i', 'resources': {'requests': {" resources "}}}"
#define SIDECAR(name, resources)                                                                   \
    "{'name': '" name                                                                              \
    "', 'image': 'i', 'restartPolicy': 'Always', 'resources': {'requests': {" resources "}}}"

typedef struct {
    const char *name, *manifest;
    int64_t cpu_milli, memory_bytes;
} SumRow;

#define MI (INT64_C(1) << 20)

static const SumRow sums[] = {
    {"nothing",                                    POD_SPEC("'containers': [{'name': 'a', 'image': 'i'}]"), 0,          0               },
    {                                        "one container",         POD_SPEC("'containers': [" ASKS("a",                 "'cpu': '100m', 'memory': '64Mi'") "]"),
     100,                                                                                                                        64 * MI},
    {                                        "containers add up",
     POD_SPEC("'containers': [" ASKS("a",                                                      "'cpu': '100m'") ", " ASKS(
         "b",                             "'cpu': 1.5, 'memory': '1Mi'") "]"),
     1600, MI},
    {                                                                                                                                                                     "a limit stands for a request",
     POD_SPEC("'containers': [{'name': 'a', 'image': 'i', 'resources': {'limits': {'cpu': '2', "
              "'memory': '1Mi'}}}]"),
     2000,                                                                                                              MI              },
    {                                        "not for one that is there",
     POD_SPEC("'containers': [{'name': 'a', 'image': 'i', 'resources': {'requests': {'cpu': '1'}, "
              "'limits': "
              "{'cpu': '2', 'memory': '1Mi'}}}]"),
     1000,                                                                                                          MI                },
    { "init containers run one by one, before",
     POD_SPEC("'initContainers': [" ASKS("i",                              "'cpu': 2") ", " ASKS(
         "j",                                                                                 "'cpu': 3, 'memory': '1Mi'") "], 'containers': [" ASKS("a",
     "'cpu': 1, 'memory': '5Mi'") "]"),
     3000, 5 * MI},
    {                                                                                                                                                                 "small init containers do not count",
     POD_SPEC("'initContainers': [" ASKS("i",                                                               "'cpu': 1") "], 'containers': [" ASKS(
         "a",                                                              "'cpu': 2") "]"),
     2000, 0},
    {                                                                                                                                                                         "a sidecar runs along",
     POD_SPEC("'initContainers': [" SIDECAR("s",                                                                              "'cpu': 1") "], 'containers': [" ASKS(
         "a",                                                                        "'cpu': 2") "]"),
     3000, 0},
    {                             "a sidecar runs beside later init containers",
     POD_SPEC("'initContainers': [" SIDECAR("s",                                                                                                  "'cpu': 1") ", " ASKS(
         "i",                                                                "'cpu': 5") "], 'containers': [" ASKS("a",                                                                                          "'cpu': 2") "]"),
     6000, 0},
    {                                                                                                                      "but not beside earlier ones",
     POD_SPEC("'initContainers': [" ASKS("i",                                                                                                  "'cpu': 5") ", " SIDECAR(
         "s",                                                                                                           "'cpu': 1") "], 'containers': [" ASKS("a",                                                                                                                           "'cpu': 2") "]"),
     5000, 0},
    {                "sidecars add up",
     POD_SPEC(
         "'initContainers': [" SIDECAR("s",                                               "'cpu': 1") ", " SIDECAR("t","'cpu': 2") ", " ASKS(
             "i",                                                                                                                                "'cpu': 1") "], 'containers': [" ASKS("a", "'cpu': '500m'") "]"),
     4000, 0},
    {                                                                                                                                                                      "overhead",
     POD_SPEC("'overhead': {'cpu': '250m', 'memory': '120Mi'}, 'containers': [" ASKS(
         "a",                                                                 "'cpu': 1") "]"),
     1250,  120 * MI},
};

static void
sums_requests(void **state)
{
    const SumRow *row = *state;
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) pod = api_test_read(test, row->manifest);

    assert_string_equal(test->faults->str, "");
    assert_int_equal(POD(pod)->spec->cpu_milli, row->cpu_milli);
    assert_int_equal(POD(pod)->spec->memory_bytes, row->memory_bytes);
}
TEST_ROWS(sums, sums_requests);

#define VOLUMES                                                                                    \
    POD_SPEC("'containers': [{'name': 'a', 'image': 'i', 'volumeMounts': [{'name': 'data', "       \
             "'mountPath': '/a'}]},"                                                               \
             "{'name': 'b', 'image': 'i', 'volumeDevices': [{'name': 'raw', 'devicePath': "        \
             "'/dev/b'}]}],"                                                                       \
             "'initContainers': [{'name': 'c', 'image': 'i', 'volumeMounts': [{'name': "           \
             "'scratch', 'mountPath': "                                                            \
             "'/c'}]}],"                                                                           \
             "'volumes': [{'name': 'none', 'emptyDir': {}}, {'name': 'data', "                     \
             "'persistentVolumeClaim': {'claimName': 'd'}},"                                       \
             "{'name': 'raw', 'persistentVolumeClaim': {'claimName': 'r', 'readOnly': true}},"     \
             "{'name': 'unused', 'persistentVolumeClaim': {'claimName': 'u'}},"                    \
             "{'name': 'scratch', 'ephemeral': {'volumeClaimTemplate': {'metadata': {'labels': "   \
             "{'a': 'b'}},"                                                                        \
             "'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': "   \
             "'1Gi'}}}}}}]")

TEST(volumes)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) object = api_test_read(test, VOLUMES);
    const Pod *pod = POD(object);

    assert_string_equal(test->faults->str, "");
    assert_int_equal(pod->volumes->n_items, 4); /* not the emptyDir */
    const PodVolume *data = &pod->volumes->items[0], *raw = data + 1, *unused = data + 2,
                    *scratch = data + 3;
    assert_string_equal(data->name, "data");
    assert_string_equal(data->claim_name, "d");
    assert_true(data->mounted && !data->device && !data->read_only && !data->ephemeral);
    assert_true(raw->mounted && raw->device && raw->read_only);
    assert_false(unused->mounted || unused->device);
    assert_true(scratch->mounted && scratch->ephemeral);
    assert_string_equal(scratch->claim_name, "web-scratch"); /* VB-9 */
    assert_int_equal(scratch->claim_template->request_bytes, INT64_C(1) << 30);
    assert_string_equal(object_label(&scratch->claim_template->meta, "a"), "b");
    assert_string_equal(pod_claim_key(test->objects, pod, data)->text, "default/d");
    assert_string_equal(pod_claim_key(test->objects, pod, scratch)->text, "default/web-scratch");
    assert_true(string_list_has(pod->spec->mounts, "data") &&
                string_list_has(pod->spec->devices, "raw"));
    assert_int_equal(pod->spec->n_containers, 2);
    assert_string_equal(pod->spec->containers[0].name, "a");
    assert_string_equal(pod->spec->containers[0].image, "i");
    assert_string_equal(pod->spec->containers[1].image, "i");
}

/* A StatefulSet's pod: the template is its manifest, the claims are its own. */
TEST(volumes_that_only_the_pod_has_are_printed)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) template = api_test_read(test, VOLUMES);
    g_autoptr(Object) object =
        object_edit_as(template, objects_key(test->objects, KIND_POD, "default", "web-1"));
    PodVolume own[] = {
        {.name = "own",  .claim_name = "own-web-1",  .mounted = TRUE},
        {.name = "data", .claim_name = "data-web-1", .mounted = TRUE},
    };
    PodVolumes *list = pod_volumes_new(own, G_N_ELEMENTS(own));

    pod_set_spec(POD(object), POD(template)->spec, list);
    pod_volumes_unref(list);
    json_t *json = object_to_json(object);
    const json_t *printed = json_object_get(json_object_get(json, "spec"), "volumes");
    char *text = json_dumps(json_array_get(printed, 0), JSON_COMPACT);
    assert_string_equal(
        text, "{\"name\":\"own\",\"persistentVolumeClaim\":{\"claimName\":\"own-web-1\"}}");
    free(text);
    text = json_dumps(json_array_get(printed, 2), JSON_COMPACT);
    assert_string_equal(
        text, "{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"data-web-1\"}}");
    free(text);
    json_decref(json);
}

TEST(template_of_a_stateful_set)
{
    g_autoptr(ApiTest) test = api_test_new();
    json_t *list = api_test_load("charts.json");
    g_autoptr(Object) object =
        api_test_read_json(test, json_array_get(json_object_get(list, "items"), 0));
    const StatefulSet *set = STATEFUL_SET(object);

    assert_string_equal(test->faults->str, "");
    assert_string_equal(set->service_name, "db-postgresql-hl");
    assert_int_equal(set->claim_templates->n_items, 1);
    assert_string_equal(object_name(&set->claim_templates->items[0]->meta), "data");
    assert_int_equal(set->claim_templates->items[0]->request_bytes, INT64_C(8) << 30);
    assert_int_equal(set->template->spec->cpu_milli, 100);
    assert_int_equal(set->template->spec->n_pod_terms, 1);
    assert_true(set->template->spec->pod_terms[0].anti);
    assert_true(string_list_has(set->template->spec->mounts, "data"));
    assert_null(set->template->volumes); /* emptyDirs only */
    assert_true(label_selector_matches(set->selector, set->template->labels));
    json_decref(list);
}

TEST(node_takes_capacity_for_allocatable)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) one = api_test_read(
        test, "{'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'a'}, 'status': "
              "{'capacity': {'cpu': 8, 'memory': '1Gi', 'pods': 110}}}");
    g_autoptr(Object) two = api_test_read(
        test, "{'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'b'}, 'status': "
              "{'allocatable': {'cpu': '7500m', 'memory': '1Gi', 'pods': '5'}, "
              "'capacity': {'cpu': 8, 'memory': '2Gi', 'pods': 110}}}");

    assert_string_equal(test->faults->str, "");
    assert_int_equal(NODE(one)->allocatable.cpu_milli, 8000);
    assert_int_equal(NODE(one)->allocatable.pods, 110);
    assert_int_equal(NODE(two)->allocatable.cpu_milli, 7500);
    assert_int_equal(NODE(two)->allocatable.memory_bytes, INT64_C(1) << 30);
    assert_int_equal(NODE(two)->allocatable.pods, 5);
}

TEST(drivers_of_a_node)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) object = object_new(objects_key(test->objects, KIND_CSI_NODE, NULL, "n"));
    CsiNode *node = CSI_NODE(object);
    const char *zone = api_parser_intern(&test->parser, "zone");

    assert_null(csi_node_find_driver(NULL, "a"));
    assert_null(csi_node_find_driver(node, "a"));
    assert_false(csi_node_set_driver(node, "a", NULL));
    for (unsigned i = 0; i < 2; i++) {
        CsiNodeDriver entry = {"a", "id", string_list_new(&zone, 1), 3};
        assert_int_equal(csi_node_set_driver(node, "a", &entry),
                         i == 0); /* the second call changes nothing */
    }
    CsiNodeDriver other = {"b", "id", NULL, -1};
    assert_true(csi_node_set_driver(node, "b", &other));
    assert_int_equal(node->drivers->n_items, 2);
    assert_int_equal(csi_node_find_driver(node, "a")->allocatable_count, 3);

    g_autoptr(Object) before = object_edit(object);
    CsiNodeDriver more = {"a", "id", string_list_new(&zone, 1), 4};
    assert_true(csi_node_set_driver(node, "a", &more));
    assert_int_equal(csi_node_find_driver(node, "a")->allocatable_count, 4);
    assert_int_equal(csi_node_find_driver(CSI_NODE(before), "a")->allocatable_count, 3);
    assert_true(csi_node_set_driver(node, "a", NULL));
    assert_true(csi_node_set_driver(node, "b", NULL));
    assert_null(node->drivers);
}

TEST(bound_to)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) claim = object_new(objects_key(test->objects, KIND_CLAIM, "default", "data"));
    g_autoptr(Object) volume = object_new(objects_key(test->objects, KIND_VOLUME, NULL, "pv"));

    claim->uid = objects_uid(test->objects, claim->key, 1);
    assert_false(volume_is_bound_to(VOLUME(volume), CLAIM(claim)));
    VOLUME(volume)->claim_ref.claim = claim->key;
    assert_true(volume_is_bound_to(VOLUME(volume), CLAIM(claim))); /* PVC-31: pre-bound by hand */
    VOLUME(volume)->claim_ref.uid = objects_uid(test->objects, claim->key, 2);
    assert_false(volume_is_bound_to(VOLUME(volume), CLAIM(claim)));
    VOLUME(volume)->claim_ref.uid = claim->uid;
    assert_true(volume_is_bound_to(VOLUME(volume), CLAIM(claim)));

    assert_false(claim_is_fully_bound(CLAIM(claim)));
    CLAIM(claim)->volume_name = "pv";
    assert_false(claim_is_fully_bound(CLAIM(claim)));
    object_set_annotation(claim, api_parser_intern(&test->parser, ANNOTATION_BIND_COMPLETED),
                          api_parser_intern(&test->parser, "yes"));
    assert_true(claim_is_fully_bound(CLAIM(claim)));
    CLAIM(claim)->class_name = "fast";
    assert_string_equal(claim_class(CLAIM(claim)), "fast");
    object_set_annotation(claim, api_parser_intern(&test->parser, ANNOTATION_BETA_STORAGE_CLASS),
                          api_parser_intern(&test->parser, "old"));
    assert_string_equal(claim_class(CLAIM(claim)), "old");
}
