/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-test.h"
#include "tests/lib/test.h"

/* Manifests printed by kubectl in real clusters, and manifests of charts: they are read without a
 * fault, and printing and reading them again changes nothing. The output of kubectl is printed byte
 * for byte. */
typedef struct {
    const char *file;
    gboolean is_recorded;
} ListRow;

static const ListRow lists[] = {
    {"all-volume-kinds.json",          TRUE },
    {"stateful-set-partly-ready.json", TRUE },
    {"crafted-states.json",            TRUE },
    {"charts.json",                    FALSE},
};

static void
check_round_trip(ApiTest *test, const json_t *manifest, gboolean is_recorded)
{
    g_autoptr(Object) object = api_test_read_json(test, manifest);

    assert_string_equal(test->faults->str, "");
    assert_non_null(object);
    json_t *json = object_to_json(object);
    g_autoptr(Object) again = api_test_read_json(test, json);
    assert_string_equal(test->faults->str, "");
    assert_true(object_equal(object, again));
    json_t *json_again = object_to_json(again);
    assert_true(json_equal(json, json_again));
    if (is_recorded) {
        char *given = json_dumps(manifest, JSON_SORT_KEYS), *printed = json_dumps(json, 0);
        assert_string_equal(printed, given);
        free(given);
        free(printed);
    }
    json_decref(json_again);
    json_decref(json);

    g_autoptr(Object) copy = object_edit(object);
    assert_true(object_equal(object, copy));
    g_autoptr(Object) fresh = object_new((ObjectKey *)object->key); /* the key is the run's */
    object_take_fields(fresh, object, FALSE);
    object_take_fields(fresh, object, TRUE);
    json_t *taken = object_to_json(fresh);
    json_decref(taken);
}

static void
reads_list(void **state)
{
    const ListRow *row = *state;
    g_autoptr(ApiTest) test = api_test_new();
    json_t *list = api_test_load(row->file);
    const json_t *items = json_object_get(list, "items");

    for (size_t i = 0; i < json_array_size(items); i++)
        check_round_trip(test, json_array_get(items, i), row->is_recorded);
    json_decref(list);
}
TEST_ROWS(lists, reads_list);

typedef struct {
    const char *name, *manifest, *faults;
} BadRow;

#define META(name) "'metadata': {'name': '" name "'}"
#define CLAIM_HEAD "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', "
#define CLAIM_SPEC(spec) CLAIM_HEAD META("data") ", 'spec': {" spec "}}"
#define RWO "'accessModes': ['ReadWriteOnce']"
#define GIGABYTE "'resources': {'requests': {'storage': '1Gi'}}"
#define CLAIM_META(meta) CLAIM_HEAD "'metadata': {" meta "}, 'spec': {" RWO ", " GIGABYTE "}}"
#define VOLUME_SPEC(spec)                                                                          \
    "{'apiVersion': 'v1', 'kind': 'PersistentVolume', " META("pv") ", 'spec': {" spec "}}"
#define CAPACITY "'capacity': {'storage': '1Gi'}"
#define CSI "'csi': {'driver': 'd', 'volumeHandle': 'h'}"
#define POD_SPEC(spec) "{'apiVersion': 'v1', 'kind': 'Pod', " META("p") ", 'spec': {" spec "}}"
#define CONTAINER "'containers': [{'name': 'c', 'image': 'i'}]"
#define SET_SPEC(spec)                                                                             \
    "{'apiVersion': 'apps/v1', 'kind': 'StatefulSet', " META("web") ", 'spec': {" spec "}}"
#define TEMPLATE "'template': {'metadata': {'labels': {'a': 'b'}}, 'spec': {" CONTAINER "}}"
#define STORAGE(kind, rest)                                                                        \
    "{'apiVersion': 'storage.k8s.io/v1', 'kind': '" kind "', " META("x") rest "}"
#define SUBDOMAIN                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and "                                                                     \
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "        \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL_VALUE                                                                                \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end "                                                                 \
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " \
    "validation is "                                                                               \
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define NAME_PART                                                                                  \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric "                                                                        \
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "        \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define QUANTITY_FORMAT                                                                            \
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' " \
    "[write a number and n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei]"

/* clang-format 14 crashes on this table. */
/* clang-format off */
static const BadRow bad[] = {
    /* requirements of every object */
    {"no object", "[]", "Invalid value: []: must be an object\n"},
    {"no kind", "{'apiVersion': 'v1'}", "kind: Required value\n"},
    {"neither", "{}", "apiVersion: Required value\nkind: Required value\n"},
    {"an unknown kind",
     "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaims'}",
     "kind: no matches for kind \"PersistentVolumeClaims\" in version \"v1\" [did you mean \"PersistentVolumeClaim\"?]\n"},
    {"another version",
     "{'apiVersion': 'v1', 'kind': 'StorageClass'}",
     "kind: no matches for kind \"StorageClass\" in version \"v1\" [did you mean apiVersion \"storage.k8s.io/v1\"?]\n"},
    {"no name", CLAIM_META(""), "metadata.name: Required value: name or generateName is required\n"},
    {"no metadata",
     CLAIM_HEAD "'spec': {}}",
     "metadata.name: Required value: name or generateName is required\n"
     "spec.accessModes: Required value: at least 1 access mode is required\n"
     "spec.resources[storage]: Required value\n"},
    {"generateName",
     CLAIM_META("'generateName': 'data-'"),
     "metadata.name: Required value: name or generateName is required\n"},
    {"a bad name", CLAIM_META("'name': 'Data'"), "metadata.name: Invalid value: \"Data\": " SUBDOMAIN "\n"},
    {"a bad namespace",
     CLAIM_META("'name': 'data', 'namespace': 'a.b'"),
     "metadata.namespace: Invalid value: \"a.b\": a lowercase RFC 1123 label must consist of lower case alphanumeric "
     "characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
     "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\n"},
    {"a namespace where there is none",
     "{'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n', 'namespace': 'default'}}",
     "metadata.namespace: Forbidden: not allowed on this type [a Node belongs to no namespace]\n"},
    {"a number for a name",
     CLAIM_META("'name': 5"),
     "metadata.name: Invalid value: 5: must be a string [put it in quotes]\n"},
    {"a label that YAML took for a number",
     CLAIM_META("'name': 'data', 'labels': {'version': 1.5}"),
     "metadata.labels.version: Invalid value: 1.5: must be a string [put it in quotes]\n"},
    {"a bad label value",
     CLAIM_META("'name': 'data', 'labels': {'a': 'b c'}"),
     "metadata.labels: Invalid value: \"b c\": " LABEL_VALUE "\n"},
    {"a bad label key",
     CLAIM_META("'name': 'data', 'labels': {'-a': 'b'}"),
     "metadata.labels: Invalid value: \"-a\": " NAME_PART "\n"},
    {"a bad label prefix",
     CLAIM_META("'name': 'data', 'labels': {'Example.com/a': 'b'}"),
     "metadata.labels: Invalid value: \"Example.com/a\": prefix part " SUBDOMAIN "\n"},
    {"a bad annotation key",
     CLAIM_META("'name': 'data', 'annotations': {'a b': 'c'}"),
     "metadata.annotations: Invalid value: \"a b\": " NAME_PART "\n"},
    {"a bad finalizer",
     CLAIM_META("'name': 'data', 'finalizers': ['/x']"),
     "metadata.finalizers: Invalid value: \"/x\": prefix part must be non-empty\n"},
    {"a bad time",
     CLAIM_META("'name': 'data', 'creationTimestamp': 'yesterday'"),
     "metadata.creationTimestamp: Invalid value: \"yesterday\": must be a time as in RFC 3339 "
     "[write it as in \"2026-01-01T00:00:00Z\"]\n"},
    {"an owner without uid",
     CLAIM_META("'name': 'data', 'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'p'}]"),
     "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty\n"},
    {"a bad uid",
     CLAIM_META("'name': 'data', 'uid': 'x'"),
     "metadata.uid: Invalid value: \"x\": must be a UUID\n"},
    {"an unknown field of metadata",
     CLAIM_META("'name': 'data', 'label': {}"),
     "metadata.label: unknown field [did you mean \"labels\"?]\n"},

    /* claims: API-130 */
    {"a misspelled field",
     CLAIM_SPEC(RWO ", " GIGABYTE ", 'storageClass': 'fast'"),
     "spec.storageClass: unknown field [did you mean \"storageClassName\"?]\n"},
    {"an unlike field",
     CLAIM_SPEC(RWO ", " GIGABYTE ", 'foo': 1"),
     "spec.foo: unknown field\n"},
    {"an unknown field at the top",
     CLAIM_HEAD META("data") ", 'spec': {" RWO ", " GIGABYTE "}, 'Spec': {}}",
     "Spec: unknown field [did you mean \"spec\"?]\n"},
    {"no access modes",
     CLAIM_SPEC(GIGABYTE),
     "spec.accessModes: Required value: at least 1 access mode is required\n"},
    {"an empty list of access modes",
     CLAIM_SPEC("'accessModes': [], " GIGABYTE),
     "spec.accessModes: Required value: at least 1 access mode is required\n"},
    {"an unknown access mode",
     CLAIM_SPEC("'accessModes': ['ReadWriteTwice'], " GIGABYTE),
     "spec.accessModes: Unsupported value: \"ReadWriteTwice\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", "
     "\"ReadWriteOnce\", \"ReadWriteOncePod\" [did you mean \"ReadWriteOnce\"?]\n"},
    {"ReadWriteOncePod beside another",
     CLAIM_SPEC("'accessModes': ['ReadWriteOncePod', 'ReadWriteOnce'], " GIGABYTE),
     "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes\n"},
    {"no size", CLAIM_SPEC(RWO), "spec.resources[storage]: Required value\n"},
    {"no bytes",
     CLAIM_SPEC(RWO ", 'resources': {'requests': {'storage': '0'}}"),
     "spec.resources[storage]: Invalid value: \"0\": must be greater than zero\n"},
    {"fewer bytes than none",
     CLAIM_SPEC(RWO ", 'resources': {'requests': {'storage': '-1Gi'}}"),
     "spec.resources[storage]: Invalid value: \"-1Gi\": must be greater than zero\n"},
    {"a bad quantity",
     CLAIM_SPEC(RWO ", 'resources': {'requests': {'storage': '1 Gi'}}"),
     "spec.resources.requests.storage: Invalid value: \"1 Gi\": " QUANTITY_FORMAT "\n"},
    {"a list for a quantity",
     CLAIM_SPEC(RWO ", 'resources': {'requests': {'storage': []}}"),
     "spec.resources.requests.storage: Invalid value: []: must be a quantity, such as \"10Gi\", \"500m\" or 2\n"},
    {"a string for an object",
     CLAIM_SPEC(RWO ", 'resources': '1Gi'"),
     "spec.resources: Invalid value: \"1Gi\": must be an object\nspec.resources[storage]: Required value\n"},
    {"an unknown volume mode",
     CLAIM_SPEC(RWO ", " GIGABYTE ", 'volumeMode': 'block'"),
     "spec.volumeMode: Unsupported value: \"block\": supported values: \"Block\", \"Filesystem\" [did you mean \"Block\"?]\n"},
    {"a bad class",
     CLAIM_SPEC(RWO ", " GIGABYTE ", 'storageClassName': 'Fast'"),
     "spec.storageClassName: Invalid value: \"Fast\": " SUBDOMAIN "\n"},
    {"In without values",
     CLAIM_SPEC(RWO ", " GIGABYTE ", 'selector': {'matchExpressions': [{'key': 'a', 'operator': 'In'}]}"),
     "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'\n"},
    {"Exists with values",
     CLAIM_SPEC(RWO ", " GIGABYTE
                    ", 'selector': {'matchExpressions': [{'key': 'a', 'operator': 'Exists', 'values': ['b']}]}"),
     "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or "
     "'DoesNotExist'\n"},
    {"a data source without kind",
     CLAIM_SPEC(RWO ", " GIGABYTE ", 'dataSource': {'name': 'x'}"),
     "spec.dataSource.kind: Required value\n"
     "spec.dataSource: Invalid value: \"\": must be 'PersistentVolumeClaim' when referencing the default apiGroup\n"},
    /* API-183 */
    {"a data source of a group that is none",
     CLAIM_SPEC(RWO ", " GIGABYTE ", 'dataSourceRef': {'apiGroup': '^x', 'kind': 'Foo', 'name': 'x'}"),
     "spec.dataSourceRef.apiGroup: Invalid value: \"^x\": " SUBDOMAIN "\n"},
    {"two data sources",
     CLAIM_SPEC(RWO ", " GIGABYTE ", 'dataSource': {'kind': 'PersistentVolumeClaim', 'name': 'x'}, "
                "'dataSourceRef': {'kind': 'PersistentVolumeClaim', 'name': 'y'}"),
     "spec: Invalid value: dataSource: must match dataSourceRef\n"},
    /* VAC-1 */
    {"a class without a driver and parameters",
     "{'apiVersion': 'storage.k8s.io/v1beta1', 'kind': 'VolumeAttributesClass', " META("gold") "}",
     "driverName: Required value\nparameters: Required value: must contain at least one key/value pair\n"},
    /* API-184 */
    {"an allocation of something else",
     CLAIM_HEAD META("data") ", 'spec': {" RWO ", " GIGABYTE "}, 'status': {'allocatedResources': {'cpu': '1'}}}",
     "status.allocatedResources: Unsupported value: \"cpu\": supported values: \"storage\"\n"},
    {"all faults at once",
     CLAIM_SPEC("'volumeMode': 7, 'storageClassname': 'x', 'accessModes': 'ReadWriteOnce'"),
     "spec.storageClassname: unknown field [did you mean \"storageClassName\"?]\n"
     "spec.accessModes: Invalid value: \"ReadWriteOnce\": must be a list\n"
     "spec.volumeMode: Invalid value: 7: must be a string [put it in quotes]\n"
     "spec.accessModes: Required value: at least 1 access mode is required\n"
     "spec.resources[storage]: Required value\n"},

    /* volumes: API-133 */
    {"no spec of a volume", "{'apiVersion': 'v1', 'kind': 'PersistentVolume', " META("pv") "}", "spec: Required value\nspec.accessModes: Required value\n"},
    {"no source", VOLUME_SPEC(RWO ", " CAPACITY), "spec: Required value: must specify a volume type\n"},
    {"two sources",
     VOLUME_SPEC(RWO ", " CAPACITY ", " CSI ", 'hostPath': {'path': '/x'}"),
     "spec.hostPath: Forbidden: may not specify more than 1 volume type\n"},
    {"a path that goes up",
     VOLUME_SPEC(RWO ", " CAPACITY ", 'hostPath': {'path': '/a/..'}, 'persistentVolumeReclaimPolicy': 'Recycle'"),
     "spec.hostPath.path: Invalid value: \"/a/..\": must not contain '..'\n"
     "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'\n"},
    /* VAC-3 */
    {"an attributes class without CSI",
     VOLUME_SPEC(RWO ", " CAPACITY ", 'hostPath': {'path': '/a'}, 'volumeAttributesClassName': ''"),
     "spec.volumeAttributesClassName: Required value: an empty string is disallowed\n"
     "spec.csi: Required value: has to be specified when using volumeAttributesClassName\n"},
    {"no capacity", VOLUME_SPEC(RWO ", " CSI), "spec.capacity: Required value\n"},
    {"capacity of something else",
     VOLUME_SPEC(RWO ", " CSI ", 'capacity': {'memory': '1Gi'}"),
     "spec.capacity: Unsupported value: no \"storage\": supported values: \"storage\"\n"},
    {"no capacity worth the name",
     VOLUME_SPEC(RWO ", " CSI ", 'capacity': {'storage': 0}"),
     "spec.capacity[storage]: Invalid value: 0: must be greater than zero\n"},
    {"no access modes of a volume", VOLUME_SPEC(CSI ", " CAPACITY), "spec.accessModes: Required value\n"},
    {"an unknown policy",
     VOLUME_SPEC(RWO ", " CSI ", " CAPACITY ", 'persistentVolumeReclaimPolicy': 'Keep'"),
     "spec.persistentVolumeReclaimPolicy: Unsupported value: \"Keep\": supported values: \"Delete\", \"Recycle\", \"Retain\"\n"},
    {"no handle", VOLUME_SPEC(RWO ", " CAPACITY ", 'csi': {'driver': 'd'}"), "spec.csi.volumeHandle: Required value\n"},
    {"an empty driver",
     VOLUME_SPEC(RWO ", " CAPACITY ", 'csi': {'driver': '', 'volumeHandle': 'h'}"),
     "spec.csi.driver: Required value\n"},
    {"a local volume anywhere",
     VOLUME_SPEC(RWO ", " CAPACITY ", 'local': {'path': '/x'}"),
     "spec.nodeAffinity: Required value: Local volume requires node affinity\n"},
    {"affinity without required",
     VOLUME_SPEC(RWO ", " CSI ", " CAPACITY ", 'nodeAffinity': {}"),
     "spec.nodeAffinity.required: Required value: must specify required node constraints\n"},
    {"no terms",
     VOLUME_SPEC(RWO ", " CSI ", " CAPACITY ", 'nodeAffinity': {'required': {'nodeSelectorTerms': []}}"),
     "spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term\n"},
    {"Gt with two values",
     VOLUME_SPEC(RWO ", " CSI ", " CAPACITY ", 'nodeAffinity': {'required': {'nodeSelectorTerms': [{'matchExpressions': ["
                     "{'key': 'a', 'operator': 'Gt', 'values': ['1', '2']}]}]}}"),
     "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified single "
     "value when `operator` is 'Lt' or 'Gt'\n"},

    /* pods */
    {"no containers", POD_SPEC(""), "spec.containers: Required value\n"},
    {"a container without a name", POD_SPEC("'containers': [{'image': 'i'}]"), "spec.containers[0].name: Required value\n"},
    {"a misspelled field of a container",
     POD_SPEC("'containers': [{'name': 'c', 'image': 'i', 'volumeMount': []}]"),
     "spec.containers[0].volumeMount: unknown field [did you mean \"volumeMounts\"?]\n"},
    {"a mount of no volume",
     POD_SPEC("'containers': [{'name': 'c', 'image': 'i', 'volumeMounts': [{'name': 'data', 'mountPath': '/x'}]}]"),
     "spec.containers[0].volumeMounts[0].name: Not found: \"data\" [add it to volumes]\n"},
    {"a device that is an inline volume",
     POD_SPEC("'containers': [{'name': 'c', 'image': 'i', 'volumeDevices': [{'name': 'd', 'devicePath': '/x'}]}], "
              "'volumes': [{'name': 'd', 'csi': {'driver': 'x'}}]"),
     "spec.containers[0].volumeDevices[0].name: Invalid value: \"d\": can only use volume source type of "
     "PersistentVolumeClaim or Ephemeral for block mode [use volumeMounts, or a claim]\n"},
    {"a mount without a path",
     POD_SPEC("'containers': [{'name': 'c', 'image': 'i', 'volumeMounts': [{'name': 'd'}]}], 'volumes': [{'name': 'd'}]"),
     "spec.containers[0].volumeMounts[0].mountPath: Required value\n"},
    {"a request above its limit",
     POD_SPEC("'containers': [{'name': 'c', 'image': 'i', 'resources': {'requests': {'cpu': '2'}, 'limits': {'cpu': '1'}}}]"),
     "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1\n"},
    {"a bad request",
     POD_SPEC("'containers': [{'name': 'c', 'image': 'i', 'resources': {'requests': {'memory': '64MB'}}}]"),
     "spec.containers[0].resources.requests.memory: Invalid value: \"64MB\": " QUANTITY_FORMAT "\n"},
    {"an unknown kind of volume",
     POD_SPEC(CONTAINER ", 'volumes': [{'name': 'd', 'persistentVolumeclaim': {'claimName': 'd'}}]"),
     "spec.volumes[0].persistentVolumeclaim: unknown field [did you mean \"persistentVolumeClaim\"?]\n"},
    {"two kinds of volume",
     POD_SPEC(CONTAINER ", 'volumes': [{'name': 'd', 'persistentVolumeClaim': {'claimName': 'd'}, 'emptyDir': {}}]"),
     "spec.volumes[0].persistentVolumeClaim: Forbidden: may not specify more than 1 volume type\n"},
    {"two volumes of a name",
     POD_SPEC(CONTAINER ", 'volumes': [{'name': 'd'}, {'name': 'd'}]"),
     "spec.volumes[1].name: Duplicate value: \"d\"\n"},
    {"no claim name",
     POD_SPEC(CONTAINER ", 'volumes': [{'name': 'd', 'persistentVolumeClaim': {}}]"),
     "spec.volumes[0].persistentVolumeClaim.claimName: Required value\n"},
    {"no template",
     POD_SPEC(CONTAINER ", 'volumes': [{'name': 'd', 'ephemeral': {}}]"),
     "spec.volumes[0].ephemeral.volumeClaimTemplate: Required value\n"},
    {"a bad template",
     POD_SPEC(CONTAINER ", 'volumes': [{'name': 'd', 'ephemeral': {'volumeClaimTemplate': {'spec': {" RWO "}}}}]"),
     "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value\n"},
    {"an unknown restart policy",
     POD_SPEC(CONTAINER ", 'restartPolicy': 'Sometimes'"),
     "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"\n"},
    {"a negative grace period",
     POD_SPEC(CONTAINER ", 'terminationGracePeriodSeconds': -1"),
     "spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0\n"},
    {"a grace period in quotes",
     POD_SPEC(CONTAINER ", 'terminationGracePeriodSeconds': '30'"),
     "spec.terminationGracePeriodSeconds: Invalid value: \"30\": must be an integer [write it without quotes]\n"},
    {"a toleration of nothing",
     POD_SPEC(CONTAINER ", 'tolerations': [{}]"),
     "spec.tolerations[0]: Invalid value: \"\": operator must be Exists when `key` is empty, which means \"match all values "
     "and all keys\" [write operator: Exists]\n"},
    {"seconds of no eviction",
     POD_SPEC(CONTAINER ", 'tolerations': [{'key': 'a', 'effect': 'NoSchedule', 'tolerationSeconds': 5}]"),
     "spec.tolerations[0]: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set\n"},
    {"a spread of nothing",
     POD_SPEC(CONTAINER ", 'topologySpreadConstraints': [{'maxSkew': 0, 'topologyKey': 'a'}]"),
     "spec.topologySpreadConstraints[0].whenUnsatisfiable: Required value\n"
     "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero\n"},
    {"affinity without a topology",
     POD_SPEC(CONTAINER ", 'affinity': {'podAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [{}]}}"),
     "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty\n"},
    {"a weight of nothing",
     POD_SPEC(CONTAINER ", 'affinity': {'podAffinity': {'preferredDuringSchedulingIgnoredDuringExecution': "
                        "[{'weight': 0, 'podAffinityTerm': {'topologyKey': 'a'}}]}}"),
     "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the "
     "range 1-100\n"},

    /* StatefulSets */
    {"no selector", SET_SPEC(TEMPLATE), "spec.selector: Required value\n"
     "spec.template.metadata.labels: Invalid value: map[string]string{\"a\":\"b\"}: `selector` does not match template `labels` "
     "[write the labels of spec.selector here]\n"},
    {"other labels",
     SET_SPEC(TEMPLATE ", 'selector': {'matchLabels': {'x': 'y'}}"),
     "spec.template.metadata.labels: Invalid value: map[string]string{\"a\":\"b\"}: `selector` does not match template `labels` "
     "[write the labels of spec.selector here]\n"},
    {"no labels",
     SET_SPEC("'template': {'spec': {" CONTAINER "}}, 'selector': {'matchLabels': {'x': 'y'}}"),
     "spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels` "
     "[write the labels of spec.selector here]\n"},
    {"fewer replicas than none",
     SET_SPEC(TEMPLATE ", 'selector': {'matchLabels': {'a': 'b'}}, 'replicas': -1"),
     "spec.replicas: Invalid value: -1: must be greater than or equal to 0\n"},
    {"an unknown order",
     SET_SPEC(TEMPLATE ", 'selector': {'matchLabels': {'a': 'b'}}, 'podManagementPolicy': 'parallel'"),
     "spec.podManagementPolicy: Invalid value: \"parallel\": must be 'OrderedReady' or 'Parallel' "
     "[did you mean \"Parallel\"?]\n"},
    {"a template that fails",
     SET_SPEC(TEMPLATE ", 'selector': {'matchLabels': {'a': 'b'}}, 'volumeClaimTemplates': [{'spec': {" RWO "}}]"),
     "spec.volumeClaimTemplates[0].metadata.name: Required value\n"
     "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value\n"},

    /* storage.k8s.io */
    {"no provisioner", STORAGE("StorageClass", ""), "provisioner: Required value\n"},
    {"a class that recycles",
     STORAGE("StorageClass", ", 'provisioner': 'p', 'reclaimPolicy': 'Recycle'"),
     "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"\n"},
    {"an unknown binding mode",
     STORAGE("StorageClass", ", 'provisioner': 'p', 'volumeBindingMode': 'WaitForConsumer'"),
     "volumeBindingMode: Unsupported value: \"WaitForConsumer\": supported values: \"Immediate\", "
     "\"WaitForFirstConsumer\" [did you mean \"WaitForFirstConsumer\"?]\n"},
    {"a parameter that YAML took for a boolean",
     STORAGE("StorageClass", ", 'provisioner': 'p', 'parameters': {'encrypted': true}"),
     "parameters.encrypted: Invalid value: true: must be a string [put it in quotes]\n"},
    {"yes for true",
     STORAGE("StorageClass", ", 'provisioner': 'p', 'allowVolumeExpansion': 'yes'"),
     "allowVolumeExpansion: Invalid value: \"yes\": must be a boolean [write true or false, without quotes]\n"},
    {"an unknown group policy",
     STORAGE("CSIDriver", ", 'spec': {'fsGroupPolicy': 'Files'}"),
     "spec.fsGroupPolicy: Unsupported value: \"Files\": supported values: \"File\", \"None\", \"ReadWriteOnceWithFSType\" "
     "[did you mean \"File\"?]\n"},
    {"a driver twice",
     STORAGE("CSINode", ", 'spec': {'drivers': [{'name': 'a', 'nodeID': 'n'}, {'name': 'a', 'nodeID': 'n'}]}"),
     "spec.drivers: Duplicate value: \"a\"\n"},
    {"fewer volumes than none",
     STORAGE("CSINode", ", 'spec': {'drivers': [{'name': 'a', 'nodeID': 'n', 'allocatable': {'count': -1}}]}"),
     "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0\n"},
    {"an attachment of nothing",
     STORAGE("VolumeAttachment", ", 'spec': {'attacher': 'a', 'nodeName': 'n'}"),
     "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName\n"},
    {"no class of capacity", STORAGE("CSIStorageCapacity", ", 'capacity': '1Gi'"), "storageClassName: Required value\n"},
    {"capacity below zero",
     STORAGE("CSIStorageCapacity", ", 'storageClassName': 'x', 'capacity': '-1Gi'"),
     "capacity: Invalid value: \"-1Gi\": must be greater than or equal to 0\n"},
};
/* clang-format on */

/* A VolumeAttachment of an in-tree volume within a pod: inlineVolumeSpec has no
 * capacity there. */
TEST(reads_an_attachment_of_an_inline_volume)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) object = api_test_read(
        test, STORAGE("VolumeAttachment",
                      ", 'spec': {'attacher': 'd', 'nodeName': 'n', 'source': {'inlineVolumeSpec': "
                      "{'accessModes': ['ReadWriteOnce'], " CSI "}}}"));

    assert_string_equal(test->faults->str, "");
    assert_non_null(object);
}

static void
manifest_complains(void **state)
{
    const BadRow *row = *state;
    g_autoptr(ApiTest) test = api_test_new();

    object_unref(api_test_read(test, row->manifest));
    assert_string_equal(test->faults->str, row->faults);
}
TEST_ROWS(bad, manifest_complains);

static const char *const no_objects[] = {"no object", "no kind",      "an unknown kind",
                                         "no name",   "generateName", "a bad name"};

/* Other faults are only reported: the object exists, so that references to it are found. */
TEST(gives_an_object_if_it_has_a_name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(ApiTest) test = api_test_new();
        g_autoptr(Object) object = api_test_read(test, bad[i].manifest);
        for (unsigned j = 0; j < G_N_ELEMENTS(no_objects); j++)
            if (strcmp(bad[i].name, no_objects[j]) == 0)
                assert_null(object);
        if (strstr(bad[i].faults, "metadata.name") == NULL &&
            strstr(bad[i].faults, "spec.") == bad[i].faults)
            assert_non_null(object);
    }
}

TEST(defaults)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) claim = api_test_read(test, CLAIM_SPEC(RWO ", " GIGABYTE));
    g_autoptr(Object) volume = api_test_read(test, VOLUME_SPEC(RWO ", " CSI ", " CAPACITY));
    g_autoptr(Object) class = api_test_read(test, STORAGE("StorageClass", ", 'provisioner': 'p'"));
    g_autoptr(Object) driver = api_test_read(test, STORAGE("CSIDriver", ", 'spec': {}"));
    g_autoptr(Object) pod = api_test_read(test, POD_SPEC(CONTAINER));
    g_autoptr(Object) set =
        api_test_read(test, SET_SPEC(TEMPLATE ", 'selector': {'matchLabels': {'a': 'b'}}"));

    assert_string_equal(test->faults->str, "");
    assert_string_equal(claim->key->namespace, "default");
    assert_null(CLAIM(claim)->class_name); /* API-W13 */
    assert_string_equal(claim_class(CLAIM(claim)), "");
    assert_int_equal(CLAIM(claim)->volume_mode, VOLUME_FILESYSTEM);
    assert_int_equal(CLAIM(claim)->phase, CLAIM_PENDING);
    assert_int_equal(claim->created_at, TIME_UNSET);
    assert_int_equal(VOLUME(volume)->reclaim_policy, RECLAIM_RETAIN);
    assert_int_equal(VOLUME(volume)->phase_changed_at, TIME_UNSET);
    assert_int_equal(STORAGE_CLASS(class)->reclaim_policy, RECLAIM_DELETE);
    assert_int_equal(STORAGE_CLASS(class)->binding_mode, BINDING_IMMEDIATE);
    assert_true(CSI_DRIVER_OBJECT(driver)->attach_required);
    assert_string_equal(CSI_DRIVER_OBJECT(driver)->fs_group_policy, "ReadWriteOnceWithFSType");
    assert_string_equal(POD(pod)->spec->restart_policy, "Always");
    assert_string_equal(POD(pod)->spec->scheduler_name, "default-scheduler");
    assert_int_equal(POD(pod)->spec->grace_s, 30);
    assert_int_equal(POD(pod)->ready.status, CONDITION_ABSENT);
    assert_int_equal(STATEFUL_SET(set)->replicas, 1);
}

TEST(imports_keep_their_distance)
{
    g_autoptr(ApiTest) test = api_test_new();

    test->parser.start = SIM_HOUR;
    g_autoptr(Object) claim = api_test_read(
        test,
        CLAIM_META(
            "'name': 'data', 'creationTimestamp': '2026-01-01T01:00:05Z', 'resourceVersion': '17', "
            "'uid': '7878c82e-6dbc-4d12-b2e1-f7a8202c9a4a'"));
    assert_string_equal(test->faults->str, "");
    assert_int_equal(claim->created_at, 5 * SIM_SECOND);
    assert_int_equal(claim->resource_version, 17);
    assert_true(object_uid_is_set(claim->uid));
}

TEST(prints_typed_fields_over_the_manifest)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) read = api_test_read(
        test,
        CLAIM_SPEC(
            RWO ", 'resources': {'requests': {'storage': '1.5Gi'}, 'limits': {'storage': '2Gi'}}"));
    g_autoptr(Object) claim = object_edit(read);

    CLAIM(claim)->volume_name = "pv";
    CLAIM(claim)->phase = CLAIM_BOUND;
    CLAIM(claim)->capacity_bytes = INT64_C(2) << 30;
    json_t *json = object_to_json(claim);
    char *text = json_dumps(json, JSON_COMPACT);
    g_strdelimit(text, "\"", '\'');
    assert_string_equal(text,
                        "{'apiVersion':'v1','kind':'PersistentVolumeClaim',"
                        "'metadata':{'name':'data','namespace':'default'},"
                        "'spec':{'accessModes':['ReadWriteOnce'],"
                        "'resources':{'limits':{'storage':'2Gi'},'requests':{'storage':'1536Mi'}},"
                        "'volumeMode':'Filesystem','volumeName':'pv'},"
                        "'status':{'capacity':{'storage':'2Gi'},'phase':'Bound'}}");
    free(text);
    json_decref(json);

    CLAIM(claim)->request_bytes = INT64_C(3) << 30;
    json = object_to_json(claim);
    const json_t *requests =
        json_object_get(json_object_get(json_object_get(json, "spec"), "resources"), "requests");
    assert_string_equal(json_string_value(json_object_get(requests, "storage")), "3Gi");
    json_decref(json);
}

/* The uid that a component took out of a reference does not come back from the manifest; what the
 * manifest says beside it does. */
TEST(a_volume_that_was_let_go_of_has_no_uid)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) read = api_test_read(
        test,
        "{'apiVersion': 'v1', 'kind': 'PersistentVolume', 'metadata': {'name': 'pv'}, 'spec': "
        "{'accessModes': ['ReadWriteOnce'], 'capacity': {'storage': '1Gi'}, 'csi': {'driver': "
        "'d.io', 'volumeHandle': 'h'}, 'claimRef': {'name': 'data', 'namespace': 'default', "
        "'fieldPath': 'x', 'uid': '0a8e1f9c-7c1b-4a3f-9d26-1f0c5e6a7b8d', 'resourceVersion': "
        "'7'}}}");
    g_autoptr(Object) volume = object_edit(read);

    VOLUME(volume)->claim_ref.uid = (ObjectUid){0};
    VOLUME(volume)->claim_ref.resource_version = 0;
    json_t *json = object_to_json(volume);
    const json_t *reference = json_object_get(json_object_get(json, "spec"), "claimRef");
    assert_string_equal(json_string_value(json_object_get(reference, "name")), "data");
    assert_string_equal(json_string_value(json_object_get(reference, "fieldPath")), "x");
    assert_null(json_object_get(reference, "uid"));
    assert_null(json_object_get(reference, "resourceVersion"));
    json_decref(json);
}

/* Conditions of an expansion, oldest first. */
TEST(conditions_come_back)
{
    g_autoptr(ApiTest) test = api_test_new();
    g_autoptr(Object) claim = api_test_read(
        test, "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'data'},"
              " 'spec': {" RWO ", 'resources': {'requests': {'storage': '2Gi'}}},"
              " 'status': {'allocatedResourceStatuses': {'storage': 'NodeResizePending'},"
              "  'allocatedResources': {'storage': '2Gi'}, 'conditions': ["
              "  {'type': 'Resizing', 'status': 'True', 'lastProbeTime': null,"
              "   'lastTransitionTime': '2026-01-01T00:00:41Z'},"
              "  {'type': 'FileSystemResizePending', 'status': 'True', 'message': 'wait'}]}}");
    const ClaimConditions *conditions = CLAIM(claim)->conditions;

    assert_string_equal(test->faults->str, "");
    assert_int_equal(conditions->n_items, 2);
    assert_int_equal(conditions->items[0].changed_at, 41 * SIM_SECOND);
    assert_true(claim_condition_is_true(CLAIM(claim), "FileSystemResizePending"));
    assert_false(claim_condition_is_true(CLAIM(claim), "NodeResizeError"));
    json_t *json = object_to_json(claim);
    char *text = json_dumps(json_object_get(json, "status"), JSON_COMPACT | JSON_SORT_KEYS);
    g_strdelimit(text, "\"", '\'');
    assert_string_equal(text, "{'allocatedResourceStatuses':{'storage':'NodeResizePending'},"
                              "'allocatedResources':{'storage':'2Gi'},'conditions':["
                              "{'lastProbeTime':null,'lastTransitionTime':'2026-01-01T00:00:41Z',"
                              "'status':'True','type':'Resizing'},"
                              "{'lastProbeTime':null,'message':'wait','status':'True',"
                              "'type':'FileSystemResizePending'}],'phase':'Pending'}");
    free(text);
    json_decref(json);
}
