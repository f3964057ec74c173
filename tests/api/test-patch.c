/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patches: JSON patch, merge patch, strategic merge patch. Each case is one request on one object;
 * ' stands for " in JSON. */
#include <string.h>

#include "models/api/patch/patch.h"
#include "tests/lib/test.h"

typedef struct {
    const char *name, *object, *patch;
    const char *result; /* JSON; NULL: an error */
    int code;
    const char *message; /* NULL: any */
} PatchCase;

static json_t *
patch_read_json(const char *text)
{
    g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
    json_error_t fault;
    json_t *value = json_loads(json, JSON_DECODE_ANY, &fault);

    if (value == NULL)
        fail_msg("%s: %s", text, fault.text);
    return value;
}

/* Checks one case; @patched is (owned). */
static void
check_case(const PatchCase *row, json_t *patched, const GError *error, const json_t *object)
{
    json_t *before = patch_read_json(row->object);

    assert_true(json_equal(object, before)); /* arguments stay */
    json_decref(before);
    if (row->result == NULL) {
        if (patched != NULL)
            fail_msg("%s: no error, but %s", row->name, json_dumps(patched, JSON_COMPACT));
        if (error->code != row->code ||
            (row->message != NULL && strcmp(error->message, row->message) != 0))
            fail_msg("%s: %d %s", row->name, error->code, error->message);
        return;
    }
    if (patched == NULL)
        fail_msg("%s: %d %s", row->name, error->code, error->message);
    json_t *wanted = patch_read_json(row->result);
    if (!json_equal(patched, wanted))
        fail_msg("%s: %s", row->name, json_dumps(patched, JSON_COMPACT));
    json_decref(wanted);
    json_decref(patched);
}

#define REFUSED "the server rejected our request due to an error in our request"

/* clang-format off: one line per case */
static const PatchCase json_patches[] = {
    {"add a member",                         "{'a': 1}",                 "[{'op': 'add', 'path': '/b', 'value': 2}]",             "{'a': 1, 'b': 2}",               0,
     NULL                                                                                                                                                                       },
    {"add replaces a member",                "{'a': 1}",                 "[{'op': 'add', 'path': '/a', 'value': [2]}]",
     "{'a': [2]}",                                                                                                                                                  0,   NULL   },
    {"add inserts an item",                  "{'a': [1, 3]}",            "[{'op': 'add', 'path': '/a/1', 'value': 2}]",
     "{'a': [1, 2, 3]}",                                                                                                                                            0,   NULL   },
    {"add appends an item",                  "{'a': [1]}",               "[{'op': 'add', 'path': '/a/-', 'value': 2}]",
     "{'a': [1, 2]}",                                                                                                                                               0,   NULL   },
    {"add at the end by number",             "{'a': [1]}",               "[{'op': 'add', 'path': '/a/1', 'value': 2}]",
     "{'a': [1, 2]}",                                                                                                                                               0,   NULL   },
    {"add behind the end",                   "{'a': [1]}",               "[{'op': 'add', 'path': '/a/2', 'value': 2}]",           NULL,                             422,
     REFUSED                                                                                                                                                                    },
    {"add below nothing",                    "{'a': 1}",                 "[{'op': 'add', 'path': '/b/c', 'value': 2}]",           NULL,                             422,
     REFUSED                                                                                                                                                                    },
    {"a negative index counts from the end", "{'a': [1, 2]}",
     "[{'op': 'replace', 'path': '/a/-1', 'value': 3}]",                                                                          "{'a': [1, 3]}",                  0,   NULL   },
    {"an item of an empty list",             "{'a': []}",                "[{'op': 'remove', 'path': '/a/0'}]",                    NULL,                             422,
     REFUSED                                                                                                                                                                    },
    {"an index is a number",                 "{'a': [1]}",               "[{'op': 'add', 'path': '/a/x', 'value': 2}]",           NULL,                             422,
     REFUSED                                                                                                                                                                    },
    {"escapes",                              "{'a/b': {'c~d': 1}}",      "[{'op': 'replace', 'path': '/a~1b/c~0d', 'value': 2}]",
     "{'a/b': {'c~d': 2}}",                                                                                                                                         0,   NULL   },
    {"~01 is ~1, not /",                     "{'~1': 1}",                "[{'op': 'remove', 'path': '/~01'}]",                    "{}",                             0,   NULL   },
    {"remove",                               "{'a': {'b': 1, 'c': 2}}",  "[{'op': 'remove', 'path': '/a/b'}]",                    "{'a': {'c': 2}}",
     0,                                                                                                                                                                  NULL   },
    {"remove nothing",                       "{'a': 1}",                 "[{'op': 'remove', 'path': '/b'}]",                      NULL,                             422, REFUSED},
    {"replace a missing member adds it",     "{'a': 1}",
     "[{'op': 'replace', 'path': '/b', 'value': 2}]",                                                                             "{'a': 1, 'b': 2}",               0,   NULL   },
    {"replace a missing item",               "{'a': [1]}",               "[{'op': 'replace', 'path': '/a/1', 'value': 2}]",
     NULL,                                                                                                                                                          422, REFUSED},
    {"replace the document",                 "{'a': 1}",                 "[{'op': 'replace', 'path': '', 'value': {'b': 2}}]",
     "{'b': 2}",                                                                                                                                                    0,   NULL   },
    {"move",                                 "{'a': {'b': 1}, 'c': {}}", "[{'op': 'move', 'from': '/a/b', 'path': '/c/d'}]",
     "{'a': {}, 'c': {'d': 1}}",                                                                                                                                    0,   NULL   },
    {"move within a list",                   "{'a': [1, 2, 3]}",         "[{'op': 'move', 'from': '/a/0', 'path': '/a/2'}]",
     "{'a': [2, 3, 1]}",                                                                                                                                            0,   NULL   },
    {"move into itself",                     "{'a': {'b': 1}}",          "[{'op': 'move', 'from': '/a', 'path': '/a/b'}]",        NULL,
     422,                                                                                                                                                                REFUSED},
    {"copy is a copy",                       "{'a': {'b': 1}}",
     "[{'op': 'copy', 'from': '/a', 'path': '/c'}, {'op': 'add', 'path': '/a/b', 'value': 2}]",                                   "{'a': {'b': 2}, 'c': {'b': 1}}", 0,   NULL   },
    {"copy without from",                    "{'a': 1}",                 "[{'op': 'copy', 'path': '/c'}]",                        NULL,                             422, REFUSED},
    {"test holds",                           "{'a': [1, {'b': 'c'}]}",
     "[{'op': 'test', 'path': '/a', 'value': [1, {'b': 'c'}]}, {'op': 'add', 'path': '/d', "
     "'value': 1}]",                                                                                                              "{'a': [1, {'b': 'c'}], 'd': 1}", 0,   NULL   },
    {"test fails",                           "{'a': 1}",                 "[{'op': 'test', 'path': '/a', 'value': 2}]",            NULL,                             422, REFUSED},
    {"test compares types",                  "{'a': 1}",                 "[{'op': 'test', 'path': '/a', 'value': '1'}]",          NULL,                             422,
     REFUSED                                                                                                                                                                    },
    {"nothing is null",                      "{'a': 1}",                 "[{'op': 'test', 'path': '/b', 'value': null}]",         "{'a': 1}",                       0,
     NULL                                                                                                                                                                       },
    {"null is not stored",                   "{'a': 1}",                 "[{'op': 'add', 'path': '/a', 'value': null}]",          "{}",                             0,
     NULL                                                                                                                                                                       },
    {"all or nothing",                       "{'a': 1}",
     "[{'op': 'add', 'path': '/b', 'value': 2}, {'op': 'remove', 'path': '/c'}]",                                                 NULL,                             422,
     REFUSED                                                                                                                                                                    },
    {"no operation",                         "{'a': 1}",                 "[]",                                                    "{'a': 1}",                       0,   NULL   },
    {"an unknown operation",                 "{'a': 1}",                 "[{'op': 'change', 'path': '/a', 'value': 2}]",          NULL,                             422,
     REFUSED                                                                                                                                                                    },
    {"an operation without path",            "{'a': 1}",                 "[{'op': 'remove'}]",                                    NULL,                             422, REFUSED},
    {"a pointer begins with /",              "{'a': 1}",                 "[{'op': 'remove', 'path': 'a'}]",                       NULL,                             422, REFUSED},
    {"no list",                              "{'a': 1}",                 "{'op': 'remove', 'path': '/a'}",                        NULL,                             400,
     "error decoding patch: json: cannot unmarshal object into Go value of type "
     "[]handlers.jsonPatchOp"                                                                                                                                                   },
    {"no object in the list",                "{'a': 1}",                 "[1]",                                                   NULL,                             400,
     "error decoding patch: json: cannot unmarshal number into Go value of type "
     "handlers.jsonPatchOp"                                                                                                                                                     },
};
/* clang-format on */

TEST(json_patch_cases)
{
    for (gsize i = 0; i < G_N_ELEMENTS(json_patches); i++) {
        g_autoptr(GError) error = NULL;
        json_t *object = patch_read_json(json_patches[i].object),
               *patch = patch_read_json(json_patches[i].patch);

        json_t *patched = json_patch_apply(object, patch, &error);
        check_case(&json_patches[i], patched, error, object);
        json_decref(object);
        json_decref(patch);
    }
}

/* clang-format off */
/* The rows of RFC 7386's appendix that have an object to patch, and a body of another type. */
static const PatchCase merge_patches[] = {
    {"replace", "{'a': 'b'}", "{'a': 'c'}", "{'a': 'c'}", 0, NULL},
    {"add", "{'a': 'b'}", "{'b': 'c'}", "{'a': 'b', 'b': 'c'}", 0, NULL},
    {"remove", "{'a': 'b', 'b': 'c'}", "{'a': null}", "{'b': 'c'}", 0, NULL},
    {"a list is one value", "{'a': [{'b': 'c'}]}", "{'a': [1]}", "{'a': [1]}", 0, NULL},
    {"below", "{'a': {'b': 'c'}}", "{'a': {'b': 'd', 'c': null}}", "{'a': {'b': 'd'}}", 0, NULL},
    {"an object in place of a value", "{'a': 1}", "{'a': {'b': {'c': null}}}", "{'a': {'b': {}}}", 0, NULL},
    {"no object", "{'a': 1}", "['c']", NULL, 400, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"},
};
/* clang-format on */

TEST(merge_patch_cases)
{
    for (gsize i = 0; i < G_N_ELEMENTS(merge_patches); i++) {
        g_autoptr(GError) error = NULL;
        json_t *object = patch_read_json(merge_patches[i].object),
               *patch = patch_read_json(merge_patches[i].patch);

        json_t *patched = merge_patch_apply(object, patch, &error);
        check_case(&merge_patches[i], patched, error, object);
        json_decref(object);
        json_decref(patch);
    }
}

/* clang-format off */
/* Of a Pod's spec. */
static const PatchCase strategic_merges[] = {
    {"containers by name", "{'containers': [{'name': 'a', 'image': '1'}, {'name': 'b', 'image': '1'}]}",
     "{'containers': [{'name': 'b', 'image': '2'}]}",
     "{'containers': [{'name': 'a', 'image': '1'}, {'name': 'b', 'image': '2'}]}", 0, NULL},
    {"a new container comes first", "{'containers': [{'name': 'a'}]}", "{'containers': [{'name': 'b'}]}",
     "{'containers': [{'name': 'b'}, {'name': 'a'}]}", 0, NULL},
    {"the order of the patch", "{'containers': [{'name': 'a'}, {'name': 'b'}]}",
     "{'$setElementOrder/containers': [{'name': 'b'}, {'name': 'a'}]}",
     "{'containers': [{'name': 'b'}, {'name': 'a'}]}", 0, NULL},
    {"order and change", "{'containers': [{'name': 'a'}, {'name': 'b'}, {'name': 'c'}]}",
     "{'$setElementOrder/containers': [{'name': 'd'}, {'name': 'a'}, {'name': 'c'}], 'containers': [{'name': 'd'}, {'name': 'c', 'image': '2'}]}",
     "{'containers': [{'name': 'd'}, {'name': 'a'}, {'name': 'b'}, {'name': 'c', 'image': '2'}]}", 0, NULL},
    {"an item that the order lacks", "{'containers': [{'name': 'a'}]}",
     "{'$setElementOrder/containers': [{'name': 'a'}], 'containers': [{'name': 'b'}]}", NULL, 500,
     "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n"},
    {"delete a volume", "{'volumes': [{'name': 'a'}, {'name': 'b'}]}",
     "{'volumes': [{'name': 'a', '$patch': 'delete'}]}", "{'volumes': [{'name': 'b'}]}", 0, NULL},
    {"delete what is not there", "{'volumes': [{'name': 'a'}]}",
     "{'volumes': [{'name': 'b', '$patch': 'delete'}]}", "{'volumes': [{'name': 'a'}]}", 0, NULL},
    {"replace a list", "{'volumes': [{'name': 'a'}, {'name': 'b'}]}",
     "{'volumes': [{'name': 'c'}, {'$patch': 'replace'}]}", "{'volumes': [{'name': 'c'}]}", 0, NULL},
    {"replace an object", "{'nodeSelector': {'a': '1', 'b': '2'}}",
     "{'nodeSelector': {'$patch': 'replace', 'c': '3'}}", "{'nodeSelector': {'c': '3'}}", 0, NULL},
    {"delete an object", "{'nodeSelector': {'a': '1'}}", "{'nodeSelector': {'$patch': 'delete'}}",
     "{'nodeSelector': {}}", 0, NULL},
    {"only volumes keep keys", "{'volumes': [{'name': 'a', 'emptyDir': {}}]}",
     "{'volumes': [{'name': 'a', '$retainKeys': ['name', 'hostPath'], 'hostPath': {'path': '/x'}}]}",
     "{'volumes': [{'name': 'a', 'hostPath': {'path': '/x'}}]}", 0, NULL},
    {"keys that are not kept", "{'volumes': [{'name': 'a'}]}",
     "{'volumes': [{'name': 'a', '$retainKeys': ['name'], 'emptyDir': {}}]}", NULL, 400,
     "invalid patch format of retainKeys"},
    {"mounts by path", "{'containers': [{'name': 'a', 'volumeMounts': [{'name': 'v', 'mountPath': '/x'}, {'name': 'v', 'mountPath': '/y'}]}]}",
     "{'containers': [{'name': 'a', 'volumeMounts': [{'name': 'w', 'mountPath': '/y'}]}]}",
     "{'containers': [{'name': 'a', 'volumeMounts': [{'name': 'v', 'mountPath': '/x'}, {'name': 'w', 'mountPath': '/y'}]}]}", 0, NULL},
    {"env by name", "{'containers': [{'name': 'a', 'env': [{'name': 'X', 'value': '1'}, {'name': 'Y', 'value': '1'}]}]}",
     "{'containers': [{'name': 'a', 'env': [{'name': 'X', '$patch': 'delete'}, {'name': 'Y', 'value': null}]}]}",
     "{'containers': [{'name': 'a', 'env': [{'name': 'Y'}]}]}", 0, NULL},
    {"ports by containerPort", "{'containers': [{'name': 'a', 'ports': [{'containerPort': 80}, {'containerPort': 81}]}]}",
     "{'containers': [{'name': 'a', 'ports': [{'containerPort': 80, 'name': 'web'}]}]}",
     "{'containers': [{'name': 'a', 'ports': [{'containerPort': 80, 'name': 'web'}, {'containerPort': 81}]}]}", 0, NULL},
    {"commands are one value", "{'containers': [{'name': 'a', 'command': ['x', 'y']}]}",
     "{'containers': [{'name': 'a', 'command': ['z']}]}", "{'containers': [{'name': 'a', 'command': ['z']}]}", 0, NULL},
    {"tolerations are one value", "{'tolerations': [{'key': 'a'}]}", "{'tolerations': [{'key': 'b'}]}",
     "{'tolerations': [{'key': 'b'}]}", 0, NULL},
    {"spreads by topology key", "{'topologySpreadConstraints': [{'topologyKey': 'zone', 'maxSkew': 1}]}",
     "{'topologySpreadConstraints': [{'topologyKey': 'zone', 'maxSkew': 2}]}",
     "{'topologySpreadConstraints': [{'topologyKey': 'zone', 'maxSkew': 2}]}", 0, NULL},
    {"pull secrets by name", "{'imagePullSecrets': [{'name': 'a'}]}", "{'imagePullSecrets': [{'name': 'b'}]}",
     "{'imagePullSecrets': [{'name': 'b'}, {'name': 'a'}]}", 0, NULL},
    {"a null takes away", "{'nodeName': 'x', 'hostname': 'y'}", "{'nodeName': null}", "{'hostname': 'y'}", 0, NULL},
    {"a null below something new", "{}", "{'securityContext': {'fsGroup': 1, 'runAsUser': null}}",
     "{'securityContext': {'fsGroup': 1}}", 0, NULL},
    {"an item without its key", "{'containers': [{'name': 'a'}]}", "{'containers': [{'image': 'x', 'args': ['y', 'z']}]}",
     NULL, 500, "map: map[args:[y z] image:x] does not contain declared merge key: name"},
    {"an unknown directive", "{'nodeSelector': {'a': '1'}}", "{'nodeSelector': {'$patch': 'keep'}}", NULL, 500,
     "unknown patch type: keep in map: map[$patch:keep]"},
    {"items merge by themselves", "{'containers': [{'name': 'a'}]}",
     "{'containers': [{'name': 'a', '$patch': 'merge'}]}", NULL, 500,
     "merging lists cannot yet be specified in the patch"},
    {"another type replaces", "{'nodeSelector': {'a': '1'}}", "{'nodeSelector': 'x'}", "{'nodeSelector': 'x'}", 0, NULL},
    {"an order of something unknown", "{}", "{'$setElementOrder/boxes': ['a']}", NULL, 500,
     "unable to find api field in struct PodSpec for the json field \"boxes\""},
    {"no object", "{}", "[]", NULL, 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"},
};

/* The same of whole objects: apiVersion and kind come from the object. */
static const PatchCase strategic_kinds[] = {
    {"finalizers are a set", "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'finalizers': ['a', 'b']}}",
     "{'metadata': {'finalizers': ['c', 'a']}}",
     "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'finalizers': ['c', 'a', 'b']}}", 0, NULL},
    {"finalizers go by value", "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'finalizers': ['a', 'b']}}",
     "{'metadata': {'$deleteFromPrimitiveList/finalizers': ['a', 'x']}}",
     "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'finalizers': ['b']}}", 0, NULL},
    {"owners by uid", "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'ownerReferences': [{'uid': '1', 'name': 'a'}, {'uid': '2', 'name': 'b'}]}}",
     "{'metadata': {'ownerReferences': [{'uid': '1', '$patch': 'delete'}]}}",
     "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'ownerReferences': [{'uid': '2', 'name': 'b'}]}}", 0, NULL},
    {"conditions by type", "{'apiVersion': 'v1', 'kind': 'Node', 'status': {'conditions': [{'type': 'Ready', 'status': 'True'}, {'type': 'X', 'status': 'True'}]}}",
     "{'status': {'$setElementOrder/conditions': [{'type': 'Ready'}, {'type': 'X'}], 'conditions': [{'type': 'Ready', 'status': 'False'}]}}",
     "{'apiVersion': 'v1', 'kind': 'Node', 'status': {'conditions': [{'type': 'Ready', 'status': 'False'}, {'type': 'X', 'status': 'True'}]}}", 0, NULL},
    {"taints are one value", "{'apiVersion': 'v1', 'kind': 'Node', 'spec': {'taints': [{'key': 'a', 'effect': 'NoSchedule'}]}}",
     "{'spec': {'taints': [{'key': 'b', 'effect': 'NoExecute'}]}}",
     "{'apiVersion': 'v1', 'kind': 'Node', 'spec': {'taints': [{'key': 'b', 'effect': 'NoExecute'}]}}", 0, NULL},
    {"ports of a Service by port", "{'apiVersion': 'v1', 'kind': 'Service', 'spec': {'ports': [{'port': 80, 'nodePort': 30000}]}}",
     "{'spec': {'ports': [{'port': 80, 'name': 'web'}]}}",
     "{'apiVersion': 'v1', 'kind': 'Service', 'spec': {'ports': [{'port': 80, 'nodePort': 30000, 'name': 'web'}]}}", 0, NULL},
    {"a budget's selector is replaced", "{'apiVersion': 'policy/v1', 'kind': 'PodDisruptionBudget', 'spec': {'selector': {'matchLabels': {'a': 'b'}}}}",
     "{'spec': {'selector': {'matchLabels': {'c': 'd'}}}}",
     "{'apiVersion': 'policy/v1', 'kind': 'PodDisruptionBudget', 'spec': {'selector': {'matchLabels': {'c': 'd'}}}}", 0, NULL},
    {"a strategy keeps its keys", "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'spec': {'strategy': {'type': 'RollingUpdate', 'rollingUpdate': {'maxSurge': 1}}}}",
     "{'spec': {'strategy': {'$retainKeys': ['type'], 'type': 'Recreate'}}}",
     "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'spec': {'strategy': {'type': 'Recreate'}}}", 0, NULL},
    {"claim templates are one value", "{'apiVersion': 'apps/v1', 'kind': 'StatefulSet', 'spec': {'volumeClaimTemplates': [{'metadata': {'name': 'a'}}]}}",
     "{'spec': {'volumeClaimTemplates': [{'metadata': {'name': 'b'}}]}}",
     "{'apiVersion': 'apps/v1', 'kind': 'StatefulSet', 'spec': {'volumeClaimTemplates': [{'metadata': {'name': 'b'}}]}}", 0, NULL},
    {"custom resources have none", "{'apiVersion': 'snapshot.storage.k8s.io/v1', 'kind': 'VolumeSnapshot'}",
     "{'spec': {}}", NULL, 415, "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"},
};
/* clang-format on */

static void
check_strategic(const PatchCase *row, const SchemaType *type)
{
    g_autoptr(GError) error = NULL;
    json_t *object = patch_read_json(row->object), *patch = patch_read_json(row->patch);

    if (type == NULL)
        type = schema_find(json_string_value(json_object_get(object, "apiVersion")),
                           json_string_value(json_object_get(object, "kind")));
    assert_non_null(type);
    json_t *patched = strategic_merge_apply(object, patch, type, &error);
    check_case(row, patched, error, object);
    json_decref(object);
    json_decref(patch);
}

TEST(strategic_merge_cases)
{
    const SchemaType *pod_spec = schema_member(schema_find("v1", "Pod"), "spec");

    for (gsize i = 0; i < G_N_ELEMENTS(strategic_merges); i++)
        check_strategic(&strategic_merges[i], pod_spec);
    for (gsize i = 0; i < G_N_ELEMENTS(strategic_kinds); i++)
        check_strategic(&strategic_kinds[i], NULL);
}

/* Copies that double the object end with an error, not with all memory. */
TEST(copies_are_limited)
{
    json_t *object = patch_read_json("{'a': {'b': 'some text that takes some bytes'}}"),
           *patch = json_array();
    g_autoptr(GError) error = NULL;

    for (int i = 0; i < 40; i++) {
        g_autofree char *path = g_strdup_printf("/a/x%d", i);
        json_array_append_new(
            patch, json_pack("{s:s, s:s, s:s}", "op", "copy", "from", "/a", "path", path));
    }
    assert_null(json_patch_apply(object, patch, &error));
    assert_int_equal(error->code, 422);
    json_decref(object);
    json_decref(patch);
}

/* Each copy puts the chain of lists under its own end, and makes it twice as long. */
TEST(depth_is_limited)
{
    json_t *object = patch_read_json("{'x': [[1]]}"), *patch = json_array();
    g_autoptr(GString) end = g_string_new("/x/0/0");
    g_autoptr(GError) error = NULL;

    for (unsigned depth = 2; depth < 100000; depth *= 2) {
        json_array_append_new(
            patch, json_pack("{s:s, s:s, s:s}", "op", "copy", "from", "/x", "path", end->str));
        g_string_truncate(end, 2);
        for (unsigned i = 0; i < 2 * depth; i++)
            g_string_append(end, "/0");
    }
    assert_null(json_patch_apply(object, patch, &error));
    assert_int_equal(error->code, 422);
    json_array_clear(patch);
    json_array_append_new(patch,
                          json_pack("{s:s, s:s, s:s}", "op", "move", "from", "/x", "path", "/y"));
    json_t *moved = json_patch_apply(object, patch, NULL);
    assert_non_null(moved);
    json_decref(moved);
    json_decref(object);
    json_decref(patch);
}

TEST(operations_are_limited)
{
    json_t *object = json_object(), *patch = json_array();
    json_t *operation = patch_read_json("{'op': 'add', 'path': '/a', 'value': 1}");
    g_autoptr(GError) error = NULL;

    for (int i = 0; i <= JSON_PATCH_OPERATIONS_MAX; i++)
        json_array_append(patch, operation);
    assert_null(json_patch_apply(object, patch, &error));
    assert_int_equal(error->code, 413);
    assert_string_equal(error->message,
                        "The allowed maximum operations in a JSON patch is 10000, got 10001");
    json_decref(operation);
    json_decref(object);
    json_decref(patch);
}
