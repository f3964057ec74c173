/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-test.h"
#include "tests/lib/test.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/api/schema/schema.h"

/* Nothing that a client wrote is dropped: each field of each kind is set once, with all that it may
 * hold, in the smallest object that an API server takes. What is read and printed has it again,
 * also after a component has changed something else. A field that a component clears is not printed
 * again. Values are drawn, so another seed has other ones. */

#ifdef __SANITIZE_ADDRESS__ /* ten times as slow, and each round draws other values for the same   \
                               fields */
#define ROUNDS 1
#else
#define ROUNDS 3
#endif

/* With ' for ". */
static const char *const kinds[] = {
    /* clang-format off */
    "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'}, 'spec': {'containers': "
    "[{'name': 'c', 'image': 'i'}], 'volumes': [{'name': 'x', 'persistentVolumeClaim': "
    "{'claimName': 'c'}}, {'name': 'y', 'persistentVolumeClaim': {'claimName': 'd'}}]}}",
    "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'a'}, 'spec': "
    "{'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}}",
    "{'apiVersion': 'v1', 'kind': 'PersistentVolume', 'metadata': {'name': 'a'}, 'spec': "
    "{'accessModes': ['ReadWriteOnce'], 'capacity': {'storage': '1Gi'}, 'csi': {'driver': "
    "'d.io', 'volumeHandle': 'h'}}}",
    "{'apiVersion': 'storage.k8s.io/v1', 'kind': 'StorageClass', 'metadata': {'name': 'a'}, "
    "'provisioner': 'd.io'}",
    "{'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'a'}}",
    "{'apiVersion': 'storage.k8s.io/v1', 'kind': 'CSINode', 'metadata': {'name': 'a'}, 'spec': "
    "{'drivers': [{'name': 'd.io', 'nodeID': 'n'}]}}",
    "{'apiVersion': 'storage.k8s.io/v1', 'kind': 'CSIDriver', 'metadata': {'name': 'd.io'}, "
    "'spec': {}}",
    "{'apiVersion': 'storage.k8s.io/v1', 'kind': 'VolumeAttachment', 'metadata': {'name': "
    "'a'}, 'spec': {'attacher': 'd.io', 'nodeName': 'n', 'source': {'persistentVolumeName': "
    "'v'}}}",
    "{'apiVersion': 'storage.k8s.io/v1', 'kind': 'CSIStorageCapacity', 'metadata': {'name': "
    "'a'}, 'storageClassName': 'c'}",
    "{'apiVersion': 'apps/v1', 'kind': 'StatefulSet', 'metadata': {'name': 'a'}, 'spec': "
    "{'serviceName': 'a', 'selector': {'matchLabels': {'a': 'b'}}, 'template': {'metadata': "
    "{'labels': {'a': 'b'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}], 'volumes': "
    "[{'name': 'x', 'persistentVolumeClaim': {'claimName': 'c'}}, {'name': 'y', "
    "'persistentVolumeClaim': {'claimName': 'd'}}]}}}}",
    "{'apiVersion': 'apps/v1', 'kind': 'ControllerRevision', 'metadata': {'name': 'a'}, "
    "'revision': 1, 'data': {}}",
    "{'apiVersion': 'snapshot.storage.k8s.io/v1', 'kind': 'VolumeSnapshot', 'metadata': "
    "{'name': 'a'}, 'spec': {'source': {'persistentVolumeClaimName': 'c'}}}",
    "{'apiVersion': 'snapshot.storage.k8s.io/v1', 'kind': 'VolumeSnapshotContent', 'metadata': "
    "{'name': 'a'}, 'spec': {'deletionPolicy': 'Delete', 'driver': 'd.io', 'source': "
    "{'volumeHandle': 'h'}, 'volumeSnapshotRef': {'name': 's', 'namespace': 'default'}}}",
    "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'a'}}",
    "{'apiVersion': 'v1', 'kind': 'ResourceQuota', 'metadata': {'name': 'a'}, 'spec': {'hard': "
    "{'pods': 1}}}",
    "{'apiVersion': 'v1', 'kind': 'LimitRange', 'metadata': {'name': 'a'}, 'spec': {'limits': "
    "[{'type': 'Container', 'max': {'cpu': 2}}]}}",
    "{'apiVersion': 'coordination.k8s.io/v1', 'kind': 'Lease', 'metadata': {'name': 'a'}, "
    "'spec': {}}",
    "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'a'}, 'spec': "
    "{'selector': {'matchLabels': {'a': 'b'}}, 'template': {'metadata': {'labels': {'a': "
    "'b'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}], 'volumes': [{'name': 'x', "
    "'persistentVolumeClaim': {'claimName': 'c'}}, {'name': 'y', 'persistentVolumeClaim': "
    "{'claimName': 'd'}}]}}}}",
    "{'apiVersion': 'apps/v1', 'kind': 'ReplicaSet', 'metadata': {'name': 'a'}, 'spec': "
    "{'selector': {'matchLabels': {'a': 'b'}}, 'template': {'metadata': {'labels': {'a': "
    "'b'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}], 'volumes': [{'name': 'x', "
    "'persistentVolumeClaim': {'claimName': 'c'}}, {'name': 'y', 'persistentVolumeClaim': "
    "{'claimName': 'd'}}]}}}}",
    "{'apiVersion': 'apps/v1', 'kind': 'DaemonSet', 'metadata': {'name': 'a'}, 'spec': "
    "{'selector': {'matchLabels': {'a': 'b'}}, 'template': {'metadata': {'labels': {'a': "
    "'b'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}], 'volumes': [{'name': 'x', "
    "'persistentVolumeClaim': {'claimName': 'c'}}, {'name': 'y', 'persistentVolumeClaim': "
    "{'claimName': 'd'}}]}}}}",
    "{'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'a'}, 'spec': {'template': "
    "{'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'c', 'image': 'i'}], "
    "'volumes': [{'name': 'x', 'persistentVolumeClaim': {'claimName': 'c'}}, {'name': 'y', "
    "'persistentVolumeClaim': {'claimName': 'd'}}]}}}}",
    "{'apiVersion': 'policy/v1', 'kind': 'PodDisruptionBudget', 'metadata': {'name': 'a'}, "
    "'spec': {'minAvailable': 1, 'selector': {'matchLabels': {'a': 'b'}}}}",
    "{'apiVersion': 'snapshot.storage.k8s.io/v1', 'kind': 'VolumeSnapshotClass', 'metadata': "
    "{'name': 'a'}, 'driver': 'd.io', 'deletionPolicy': 'Delete'}",
    "{'apiVersion': 'storage.k8s.io/v1beta1', 'kind': 'VolumeAttributesClass', 'metadata': {'name': "
    "'a'}, 'driverName': 'd.io', 'parameters': {'a': 'b'}}",
    "{'apiVersion': 'scheduling.k8s.io/v1', 'kind': 'PriorityClass', 'metadata': {'name': "
    "'a'}, 'value': 1}",
    "{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'a'}, 'spec': {'ports': "
    "[{'port': 80}]}}",
    "{'apiVersion': 'batch/v1', 'kind': 'CronJob', 'metadata': {'name': 'a'}, 'spec': "
    "{'schedule': '* * * * *', 'jobTemplate': {'spec': {'template': {'spec': {'restartPolicy': "
    "'Never', 'containers': [{'name': 'c', 'image': 'i'}], 'volumes': [{'name': 'x', "
    "'persistentVolumeClaim': {'claimName': 'c'}}, {'name': 'y', 'persistentVolumeClaim': "
    "{'claimName': 'd'}}]}}}}}}",
    "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'a'}}",
    "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'a'}}",
    /* clang-format on */
};

typedef struct {
    ApiTest *test;
    json_t *object;
    GString *path;
    GString *lost; /* what was dropped, by kind and path */
    uint64_t draws;
    unsigned n_taken, n_refused, n_reset;
} WholeDocumentsWalk;

static unsigned
whole_documents_draw(WholeDocumentsWalk *self, unsigned n)
{
    return (unsigned)(sim_hash_combine(sim_hash_string("whole documents"), ++self->draws) % n);
}

/* ---- Drawn values ---- */

static json_t *
draw_value(WholeDocumentsWalk *self, const SchemaField *field, const SchemaType *type, unsigned n);

static const char *
draw_text(WholeDocumentsWalk *self, const SchemaField *field, const SchemaType *type)
{
    static const struct {
        const char *format, *text;
    } formats[] = {
        {"cidr",              "10.0.0.0/8"},
        {"dns-subdomain",     "x.y"       },
        {"domain-path",       "a.b/c"     },
        {"ip",                "10.1.2.3"  },
        {"local-path",        "a/b"       },
        {"no-backsteps",      "/a/b"      },
        {"qualified-name",    "x.y/z"     },
        {"port-name",         "web"       },
        {"selector-operator", "Exists"    },
    };
    /* Fields with rules that take several fields together. */
    static const struct {
        const char *pattern, *text;
    } names[] = {
        {"uid",              "0f0c0f0c-0f0c-4f0c-8f0c-0f0c0f0c0f0c"},
        {"operator",         "In"                                  },
        {"finalizers",       "x.io/x"                              },
        {"localhostProfile", "x"                                   },
        {"subPath*",         "x"                                   },
        {"fieldPath",        "metadata.name"                       },
        {"devicePath",       "/d"                                  },
        {"*Path",            "/p"                                  },
        {"path",             "/p"                                  },
        {"schedule",         "1 2 3 4 5"                           },
        {"restartPolicy",    "Always"                              }, /* of containers */
        {"when*",            "Retain"                              },
        {"resourceVersion",  "7"                                   },
    };
    const char *const *words =
        field->checks != NULL && field->checks->words != NULL ? field->checks->words : type->words;
    const char *format = field->checks != NULL ? field->checks->format : NULL;

    if (words != NULL && g_strv_contains(words, "Localhost"))
        return "Localhost"; /* the profile's other field is there, too */
    if (words != NULL)
        return words[whole_documents_draw(self, g_strv_length((char **)words))];
    for (unsigned i = 0; format != NULL && i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].format, format) == 0)
            return formats[i].text;
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_pattern_match_simple(names[i].pattern, field->name))
            return names[i].text;
    return "x";
}

/* A struct of which each object has one member: which of its fields these are. */
static gboolean
is_union_member(const SchemaType *type, const SchemaField *field)
{
    static const struct {
        const char *type, *others; /* @others: that are no structs */
    } unions[] = {
        {".Volume",                 ""                    },
        {".PersistentVolumeSpec",   ""                    },
        {".VolumeProjection",       ""                    },
        {".Probe",                  ""                    },
        {".LifecycleHandler",       ""                    },
        {".EnvVarSource",           ""                    },
        {".EnvVar",                 "value"               },
        {".EnvFromSource",          ""                    },
        {".VolumeMount",            "subPath subPathExpr" },
        {".VolumeAttachmentSource", "persistentVolumeName"},
        {".NetworkPolicyPeer",      ""                    },
    };
    const char *const kept[] = {"claimRef", "nodeAffinity", NULL};

    if (field->checks != NULL && field->checks->is_member)
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(unions); i++)
        if (g_str_has_suffix(type->name, unions[i].type))
            return (field->type->shape == SCHEMA_STRUCT && !g_strv_contains(kept, field->name)) ||
                   strstr(unions[i].others, field->name) != NULL;
    return FALSE;
}

static json_t *
draw_number(WholeDocumentsWalk *self, const SchemaField *field)
{
    const SchemaChecks *checks = field->checks;
    if (strcmp(field->name, "successThreshold") == 0)
        return json_integer(1); /* of most probes */
    gint64 low = checks != NULL && checks->has_min ? MAX(checks->minimum, 1) : 1;
    gint64 high = checks != NULL && checks->has_max ? MIN(checks->maximum, low + 40) : low + 40;

    return json_integer(low + whole_documents_draw(self, (unsigned)(high - low + 1)));
}

/* Mends what rules say of several fields together. */
static json_t *
mend_struct(const SchemaType *type, json_t *object /* taken */)
{
    if (g_str_has_suffix(type->name, ".VolumeDevice"))
        json_object_set_new(object, "name", json_string("y")); /* x is mounted */
    if (g_str_has_suffix(type->name, ".Probe"))
        json_object_del(object, "terminationGracePeriodSeconds"); /* not of readiness probes */
    if (g_str_has_suffix(type->name, ".VolumeResourceRequirements"))
        json_object_set_new(object, "requests", json_pack("{s:s}", "storage", "1Gi"));
    if (g_str_has_suffix(type->name, ".PersistentVolumeClaimSpec"))
        json_object_set_new(object, "resources",
                            json_pack("{s:{s:s}}", "requests", "storage", "1Gi"));
    if (g_str_has_suffix(type->name, ".PersistentVolumeSpec"))
        json_object_del(object, "volumeAttributesClassName"); /* only with csi */
    return object;
}

static json_t *
draw_struct(WholeDocumentsWalk *self, const SchemaType *type, unsigned depth)
{
    json_t *object = json_object();
    /* What rules of several fields ask for. */
    static const char *const always[] = {"accessModes", "localhostProfile", "name",
                                         "uid",         "values",           NULL};
    gboolean has_member = FALSE;
    unsigned n_members = 0;

    for (const SchemaField *field = type->fields; field->name != NULL; field++)
        n_members += is_union_member(type, field);
    for (const SchemaField *field = type->fields; field->name != NULL; field++) {
        gboolean is_member = is_union_member(type, field);
        gboolean is_required = field->required || g_strv_contains(always, field->name) ||
                               (field->checks != NULL && field->checks->required != NULL);
        if (strcmp(field->name, "ephemeralContainers") == 0 || (is_member && has_member) ||
            (!is_required && !is_member && (depth == 0 || whole_documents_draw(self, 3) == 0)) ||
            (is_member && n_members-- > 1 && whole_documents_draw(self, 4) > 0))
            continue;
        json_t *value = draw_value(self, field, field->type, depth == 0 ? 0 : depth - 1);
        if (value != NULL)
            json_object_set_new(object, field->name, value);
        has_member = has_member || is_member;
    }
    return mend_struct(type, object);
}

static const char *
quantity_key(const SchemaField *field)
{
    return strcmp(field->name, "capacity") == 0 ? "storage" : "cpu";
}

/* Returns: (owned): NULL: nothing that could be told apart from nothing */
static json_t *
draw_value(WholeDocumentsWalk *self,
           const SchemaField *field,
           const SchemaType *type,
           unsigned depth)
{
    json_t *value;

    switch (type->shape) {
    case SCHEMA_STRING:
        return json_string(draw_text(self, field, type));
    case SCHEMA_BYTES:
        return json_string("YQ==");
    case SCHEMA_BOOL:
        return json_true();
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
        return draw_number(self, field);
    case SCHEMA_TIME:
        return json_string("2026-02-03T04:05:06Z");
    case SCHEMA_MICRO_TIME:
        return json_string("2026-02-03T04:05:06.000007Z");
    case SCHEMA_QUANTITY:
        return json_string("1500m");
    case SCHEMA_INT_OR_STRING:
        return json_integer(1 + whole_documents_draw(self, 9));
    case SCHEMA_ANY:
        return json_pack("{s:i}", "x", 1);
    case SCHEMA_STRUCT:
        return draw_struct(self, type, depth);
    case SCHEMA_LIST:
        value = draw_value(self, field, type->element, depth);
        return value == NULL ? NULL : json_pack("[o]", value);
    case SCHEMA_MAP:
        value = draw_value(self, field, type->element, depth);
        return value == NULL
                   ? NULL
                   : json_pack("{s:o}",
                               type->element->shape == SCHEMA_QUANTITY ? quantity_key(field) : "x",
                               value);
    }
    return NULL;
}

/* ---- What is printed has what was written ---- */

static gboolean
is_nothing(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_integer(value) && json_integer_value(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

/* A quantity may be a number, and has a canonical text. */
static gboolean
same_quantity(const json_t *a, const json_t *b)
{
    g_autofree char *number =
        json_is_integer(a) ? g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(a)) : NULL;
    const char *text = number != NULL ? number : json_string_value(a);
    char x[QUANTITY_BUFFER], y[QUANTITY_BUFFER];

    return text != NULL && json_is_string(b) && quantity_canonical(text, x, NULL) &&
           quantity_canonical(json_string_value(b), y, NULL) && strcmp(x, y) == 0;
}

/* Tells what of @given is not in @printed. */
static void
note_lost(WholeDocumentsWalk *self, const json_t *given, const json_t *printed, const char *path)
{
    const char *key;
    json_t *value;
    gsize i;

    if (is_nothing(given) || json_equal((json_t *)given, (json_t *)printed) ||
        same_quantity(given, printed))
        return;
    if (json_is_object(given) && json_is_object(printed)) {
        json_object_foreach((json_t *)given, key, value) {
            g_autofree char *place = g_strdup_printf("%s.%s", path, key);
            note_lost(self, value, json_object_get(printed, key), place);
        }
    } else if (json_is_array(given) && json_array_size(given) == json_array_size(printed)) {
        json_array_foreach((json_t *)given, i, value)
            note_lost(self, value, json_array_get(printed, i), path);
    } else {
        char *text = json_dumps(given, JSON_ENCODE_ANY),
             *other = json_dumps(printed, JSON_ENCODE_ANY);
        g_string_append_printf(self->lost, "%s%s: %s is %s\n",
                               json_path_string(self->object, "kind"), path, text,
                               other != NULL ? other : "gone");
        free(text);
        free(other);
    }
}

/* Returns: (owned): NULL: it has faults */
static Object *
read_whole(WholeDocumentsWalk *self)
{
    g_autoptr(Object) object = api_test_read_json(self->test, self->object);

    if (self->test->faults->len > 0)
        g_clear_pointer(&object, object_unref);
    g_string_truncate(self->test->faults, 0);
    return g_steal_pointer(&object);
}

static void
check_object(WholeDocumentsWalk *self)
{
    g_autoptr(Object) object = read_whole(self);

    self->n_taken += object != NULL;
    self->n_refused += object == NULL;
    if (object == NULL)
        return;
    json_auto_t *printed = object_to_json(object);
    note_lost(self, self->object, printed, "");
    g_autoptr(Object) changed = object_edit(object);
    object_set_annotation(changed, "component", "was here");
    json_auto_t *again = object_to_json(changed);
    note_lost(self, printed, again, "");
    g_autoptr(Object) read = api_test_read_json(self->test, printed);
    g_string_truncate(self->test->faults, 0);
    assert_non_null(read);
    if (!object_equal(read, object))
        g_string_append_printf(self->lost, "%s%s: read again it is another object\n",
                               json_path_string(self->object, "kind"), self->path->str);
}

/* Whether components change the field. None takes all resources from a node, or moves a Job. */
static gboolean
is_changed_by_components(const char *kind, const char *path)
{
    static const char *const roots[] = {".metadata",       ".status",        ".spec.claimRef",
                                        ".spec.nodeName",  ".spec.replicas", ".spec.taints",
                                        ".spec.volumeName"};

    if ((strcmp(kind, "Node") == 0 && g_str_has_prefix(".status.allocatable", path)) ||
        g_str_equal(path, ".status.active.namespace"))
        return FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(roots); i++)
        if (g_str_has_prefix(path, roots[i]))
            return TRUE;
    return FALSE;
}

/* The struct's members become those of @before, which lacks the field; the document still has it.
 * What is printed must lack it, too. */
static void
check_reset(WholeDocumentsWalk *self, const Object *before)
{
    g_autoptr(Object) object = read_whole(self);

    if (object == NULL || before == NULL || object_equal(object, before))
        return;
    g_autoptr(Object) reset = object_edit(object);
    object_take_fields(reset, before, FALSE);
    object_take_fields(reset, before, TRUE);
    object_take_metadata(reset, before);
    json_auto_t *printed = object_to_json(reset);
    g_autoptr(Object) read = api_test_read_json(self->test, printed);
    g_string_truncate(self->test->faults, 0);
    self->n_reset++;
    if (read == NULL || !object_equal(read, reset))
        g_string_append_printf(self->lost, "%s%s: comes back from the document\n",
                               json_path_string(self->object, "kind"), self->path->str);
}

/* ---- Each field once ---- */

/* Metadata that only the server writes, and what every object has. */
static gboolean
whole_documents_is_left_out(const SchemaType *type, const char *name)
{
    static const char *const members[] = {"name",         "namespace",         "uid",
                                          "selfLink",     "resourceVersion",   "generation",
                                          "generateName", "deletionTimestamp", NULL};

    return g_str_has_suffix(type->name, ".ObjectMeta")
               ? g_strv_contains(members, name)
               : strcmp(name, "apiVersion") == 0 || strcmp(name, "kind") == 0;
}

static void
walk_struct(WholeDocumentsWalk *self, json_t *at, const SchemaType *type, unsigned depth);

/* @value: of the field, or NULL: goes into the structs in it. */
static void
walk_into(WholeDocumentsWalk *self, json_t *value, const SchemaType *type, unsigned depth)
{
    if (type->shape == SCHEMA_STRUCT && json_is_object(value))
        walk_struct(self, value, type, depth);
    else if (type->shape == SCHEMA_LIST && json_array_size(value) > 0)
        walk_into(self, json_array_get(value, 0), type->element, depth);
    else if (type->shape == SCHEMA_MAP && json_object_size(value) > 0)
        walk_into(self, json_object_iter_value(json_object_iter(value)), type->element, depth);
}

/* Takes the other members of a union out of @at. Returns: (owned): them */
static json_t *
take_other_members(json_t *at, const SchemaType *type, const SchemaField *field)
{
    json_t *others = json_object();

    for (const SchemaField *other = type->fields; other->name != NULL; other++)
        if (other != field && is_union_member(type, field) && is_union_member(type, other) &&
            json_object_get(at, other->name) != NULL) {
            json_object_set(others, other->name, json_object_get(at, other->name));
            json_object_del(at, other->name);
        }
    return others;
}

static void
walk_struct(WholeDocumentsWalk *self, json_t *at, const SchemaType *type, unsigned depth)
{
    for (const SchemaField *field = type->fields; depth > 0 && field->name != NULL; field++) {
        if (whole_documents_is_left_out(type, field->name) ||
            strcmp(field->name, "ephemeralContainers") == 0)
            continue; /* these have a subresource of their own */
        json_auto_t *before = json_incref(json_object_get(at, field->name));
        json_t *value = before == NULL || depth == 1 ? draw_value(self, field, field->type, 3)
                                                     : json_deep_copy(before);
        gsize length = self->path->len;
        g_string_append_printf(self->path, ".%s", field->name);
        json_auto_t *others = take_other_members(at, type, field);
        if (value != NULL) {
            json_object_del(at, field->name);
            g_autoptr(Object) without = read_whole(self);
            json_object_set_new(at, field->name, value);
            check_object(self);
            if (is_changed_by_components(json_path_string(self->object, "kind"), self->path->str))
                check_reset(self, without);
            walk_into(self, value, field->type, depth - 1);
        }
        if (before != NULL)
            json_object_set(at, field->name, before);
        else
            json_object_del(at, field->name);
        json_object_update(at, others);
        g_string_truncate(self->path, length);
    }
}

TEST(nothing_is_dropped)
{
    WholeDocumentsWalk walk = {.lost = g_string_new(NULL), .path = g_string_new(NULL)};

    for (unsigned n = 0; n < ROUNDS * G_N_ELEMENTS(kinds); n++) {
        const char *manifest = kinds[n % G_N_ELEMENTS(kinds)];
        walk.test = api_test_new();
        walk.test->parser.takes_others = TRUE;
        walk.object = api_test_json(manifest);
        const SchemaType *type = schema_find(json_path_string(walk.object, "apiVersion"),
                                             json_path_string(walk.object, "kind"));
        assert_non_null(type);
        check_object(&walk);
        walk_struct(&walk, walk.object, type, 6);
        json_decref(walk.object);
        api_test_free(walk.test);
    }
    print_message("%u objects were taken, %u refused, %u reset\n", walk.n_taken, walk.n_refused,
                  walk.n_reset);
    if (walk.lost->len > 0)
        print_message("%s", walk.lost->str);
    assert_int_equal(walk.lost->len, 0);
    assert_true(walk.n_taken > ROUNDS * 10000 / 3);
    assert_true(walk.n_reset > ROUNDS * 400 / 3);
    g_string_free(walk.lost, TRUE);
    g_string_free(walk.path, TRUE);
}
