/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Server-side apply as a chain of writes: who owns which field after each, and which conflicts
 * there are. ' stands for " in JSON. */
#include <string.h>

#include "models/api/fields.h"
#include "models/api/patch/patch.h"
#include "serve/api/apply/managed-fields.h"
#include "tests/lib/test.h"

static char *
json_quotes(const char *text)
{
    return g_strdelimit(g_strdup(text), "'", '"');
}

static json_t *
managed_fields_read_json(const char *text)
{
    g_autofree char *json = json_quotes(text);
    json_error_t fault;
    json_t *value = json_loads(json, JSON_DECODE_ANY, &fault);

    if (value == NULL)
        fail_msg("%s: %s", text, fault.text);
    return value;
}

typedef enum { APPLY, FORCE, MERGE, STATUS } WriteType;

/* One write of a chain. A chain begins where @chain is not NULL, with the object that it has. */
typedef struct {
    const char *chain; /* NULL: the same object goes on */
    WriteType type;
    const char *manager,
        *body;        /* of an apply: below apiVersion, kind and name; else a merge patch */
    const char *spec; /* the object's spec then; NULL: the write is refused */
    const char *said; /* the manager's fieldsV1 then; "": it has no entry; or the error */
} ManagedFieldsStep;

/* clang-format off */
static const ManagedFieldsStep steps[] = {
    {"Deployment: one applier", APPLY, "a", "{'spec': {'replicas': 2, 'paused': true}}", "{'replicas': 2, 'paused': true}", "{'f:spec': {'f:paused': {}, 'f:replicas': {}}}"},
    {NULL, APPLY, "a", "{'spec': {'replicas': 2, 'paused': true}}", "{'replicas': 2, 'paused': true}", "{'f:spec': {'f:paused': {}, 'f:replicas': {}}}"},
    {NULL, APPLY, "a", "{'spec': {'replicas': 2}}", "{'replicas': 2}", "{'f:spec': {'f:replicas': {}}}"},
    {NULL, APPLY, "b", "{'spec': {'replicas': 3}}", NULL, "Apply failed with 1 conflict: conflict with \"a\": .spec.replicas"},
    {NULL, FORCE, "b", "{'spec': {'replicas': 3}}", "{'replicas': 3}", "{'f:spec': {'f:replicas': {}}}"},
    {NULL, APPLY, "b", "{'spec': {'replicas': 3}}", "{'replicas': 3}", "{'f:spec': {'f:replicas': {}}}"},
    {NULL, APPLY, "a", "{'spec': {'paused': true}}", "{'replicas': 3, 'paused': true}", "{'f:spec': {'f:paused': {}}}"},
    {NULL, APPLY, "b", "{}", "{'paused': true}", ""},

    {"Deployment: two own one value", APPLY, "a", "{'spec': {'replicas': 2}}", "{'replicas': 2}", "{'f:spec': {'f:replicas': {}}}"},
    {NULL, APPLY, "b", "{'spec': {'replicas': 2}}", "{'replicas': 2}", "{'f:spec': {'f:replicas': {}}}"},
    {NULL, APPLY, "a", "{}", "{'replicas': 2}", ""},
    {NULL, APPLY, "b", "{}", NULL, "" /* nothing is left: no spec */},

    {"Deployment: an update takes fields", APPLY, "a", "{'spec': {'replicas': 2, 'paused': true}}", "{'replicas': 2, 'paused': true}", "{'f:spec': {'f:paused': {}, 'f:replicas': {}}}"},
    {NULL, MERGE, "editor", "{'spec': {'replicas': 5}}", "{'replicas': 5, 'paused': true}", "{'f:spec': {'f:replicas': {}}}"},
    {NULL, APPLY, "a", "{'spec': {'replicas': 2, 'paused': true}}", NULL, "Apply failed with 1 conflict: conflict with \"editor\" using apps/v1: .spec.replicas"},
    {NULL, APPLY, "a", "{'spec': {'paused': true}}", "{'replicas': 5, 'paused': true}", "{'f:spec': {'f:paused': {}}}"},
    {NULL, MERGE, "editor", "{'spec': {'replicas': null}}", "{'paused': true}", ""},

    {"Deployment: status is not the object's", APPLY, "a", "{'spec': {'paused': true}, 'status': {'replicas': 1}}", "{'paused': true}", "{'f:spec': {'f:paused': {}}}"},
    {NULL, STATUS, "controller", "{'status': {'replicas': 2}}", "{'paused': true}", "{'f:status': {'f:replicas': {}}}"},

    {"Pod: items by name", APPLY, "a", "{'spec': {'containers': [{'name': 'x', 'image': '1'}]}}", "{'containers': [{'name': 'x', 'image': '1'}]}", "{'f:spec': {'f:containers': {'k:{\\'name\\':\\'x\\'}': {'.': {}, 'f:image': {}, 'f:name': {}}}}}"},
    {NULL, APPLY, "b", "{'spec': {'containers': [{'name': 'y', 'image': '1'}, {'name': 'x', 'command': ['z']}]}}", "{'containers': [{'name': 'y', 'image': '1'}, {'name': 'x', 'image': '1', 'command': ['z']}]}", "{'f:spec': {'f:containers': {'k:{\\'name\\':\\'x\\'}': {'.': {}, 'f:command': {}, 'f:name': {}}, 'k:{\\'name\\':\\'y\\'}': {'.': {}, 'f:image': {}, 'f:name': {}}}}}"},
    {NULL, APPLY, "a", "{'spec': {'containers': [{'name': 'x', 'image': '2'}, {'name': 'y', 'image': '2'}]}}", NULL, "Apply failed with 1 conflict: conflict with \"b\": .spec.containers[name=\"y\"].image"},
    {NULL, APPLY, "a", "{}", "{'containers': [{'name': 'y', 'image': '1'}, {'name': 'x', 'command': ['z']}]}", ""},
    {NULL, APPLY, "b", "{'spec': {'containers': [{'name': 'y', 'image': '1'}]}}", "{'containers': [{'name': 'y', 'image': '1'}]}", "{'f:spec': {'f:containers': {'k:{\\'name\\':\\'y\\'}': {'.': {}, 'f:image': {}, 'f:name': {}}}}}"},

    {"Service: keys have defaults", APPLY, "a", "{'spec': {'ports': [{'port': 80}]}}", "{'ports': [{'port': 80}]}", "{'f:spec': {'f:ports': {'k:{\\'port\\':80,\\'protocol\\':\\'TCP\\'}': {'.': {}, 'f:port': {}}}}}"},
    {NULL, APPLY, "b", "{'spec': {'ports': [{'port': 80, 'protocol': 'UDP'}]}}", "{'ports': [{'port': 80}, {'port': 80, 'protocol': 'UDP'}]}", "{'f:spec': {'f:ports': {'k:{\\'port\\':80,\\'protocol\\':\\'UDP\\'}': {'.': {}, 'f:port': {}, 'f:protocol': {}}}}}"},
    {NULL, APPLY, "c", "{'spec': {'selector': {'x': 'y'}}}", "{'ports': [{'port': 80}, {'port': 80, 'protocol': 'UDP'}], 'selector': {'x': 'y'}}", "{'f:spec': {'f:selector': {}}}"},

    {"Pod: a set of finalizers", APPLY, "a", "{'metadata': {'finalizers': ['x/y']}, 'spec': {'nodeName': 'n'}}", "{'nodeName': 'n'}", "{'f:metadata': {'f:finalizers': {'v:\\'x/y\\'': {}}}, 'f:spec': {'f:nodeName': {}}}"},
    {NULL, APPLY, "a", "{'spec': {'nodeName': 'n'}}", "{'nodeName': 'n'}", "{'f:spec': {'f:nodeName': {}}}"},
    {NULL, APPLY, "b", "{'spec': {'tolerations': [{'key': 'a'}]}}", "{'nodeName': 'n', 'tolerations': [{'key': 'a'}]}", "{'f:spec': {'f:tolerations': {}}}"},
    {NULL, APPLY, "c", "{'spec': {'nodeName': 'm', 'tolerations': [{'key': 'b'}]}}", NULL, "Apply failed with 2 conflicts: conflicts with \"a\":\n- .spec.nodeName\nconflicts with \"b\":\n- .spec.tolerations"},

    {"Pod: faulty bodies", APPLY, "a", "{'spec': {'nodeNmae': 'n'}}", NULL, "failed to create typed patch object (/x; /v1, Kind=Pod): .spec.nodeNmae: field not declared in schema"},
    {NULL, APPLY, "a", "{'spec': {'containers': [{'image': 'n'}]}}", NULL, "failed to create typed patch object (/x; /v1, Kind=Pod): .spec.containers: element 0: associative list with keys has an element that omits key field \"name\" (and doesn't have default value)"},
    {NULL, APPLY, "a", "{'spec': {'containers': [{'name': 'x'}, {'name': 'x'}], 'hostNetwork': 'no'}}", NULL, "failed to create typed patch object (/x; /v1, Kind=Pod): errors:\n  .spec.containers: duplicate entries for key [name=\"x\"]\n  .spec.hostNetwork: expected boolean, got \"no\""},
    {NULL, APPLY, "a", "{'metadata': {'name': 'x', 'managedFields': []}}", NULL, "metadata.managedFields must be nil"},
    {NULL, APPLY, "a", "{'apiVersion': 'v2'}", "{}", "" /* nothing is stored yet to differ from */},

    {"Thing: a custom resource without a schema", APPLY, "a", "{'spec': {'a': {'b': 1}, 'l': [1]}}", "{'a': {'b': 1}, 'l': [1]}", "{'f:spec': {'.': {}, 'f:a': {'.': {}, 'f:b': {}}, 'f:l': {}}}"},
    {NULL, APPLY, "b", "{'spec': {'a': {'c': 1}}}", "{'a': {'b': 1, 'c': 1}, 'l': [1]}", "{'f:spec': {'.': {}, 'f:a': {'.': {}, 'f:c': {}}}}"},
    {NULL, APPLY, "a", "{'spec': {'l': [1]}}", "{'a': {'c': 1}, 'l': [1]}", "{'f:spec': {'.': {}, 'f:l': {}}}"},
};
/* clang-format on */

/* Returns: (owned): the body of an apply as a whole object */
static json_t *
applied_object(const ManagedFieldsStep *chain, const char *body)
{
    g_auto(GStrv) words = g_strsplit(chain->chain, ":", 2);
    const char *version = strcmp(words[0], "Deployment") == 0 ? "apps/v1"
                          : strcmp(words[0], "Thing") == 0    ? "example.com/v1"
                                                              : "v1";
    json_t *object = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", version, "kind", words[0],
                               "metadata", "name", "x");
    json_t *part = managed_fields_read_json(body);

    json_merge_patch(object, part);
    json_decref(part);
    return object;
}

/* Returns: (owned): the stored object; NULL: @error */
static json_t *
managed_fields_carry_out(const ManagedFieldsStep *step,
                         const json_t *live,
                         json_t *body,
                         const SchemaType *type,
                         GError **error)
{
    FieldWriter writer = {.manager = step->manager,
                          .time = "2026-01-01T00:00:00Z",
                          .subresource = step->type == STATUS ? "status" : NULL,
                          .has_status = TRUE};
    g_autoptr(GPtrArray) conflicts = NULL;

    if (step->type == APPLY || step->type == FORCE)
        return managed_fields_apply(live, body, type, &writer, step->type == FORCE, &conflicts,
                                    error);
    json_t *patched = merge_patch_apply(live, body, error);
    json_t *stored = managed_fields_update(live, patched, type, &writer);
    json_decref(patched);
    return stored;
}

/* Returns: (owned): the fieldsV1 of the manager, "" if it has no entry */
static char *
fields_of(const json_t *object, const char *manager)
{
    json_t *entry;
    gsize i;

    json_array_foreach(json_object_get(json_object_get(object, "metadata"), "managedFields"), i,
                       entry) {
        if (strcmp(json_string_value(json_object_get(entry, "manager")), manager) == 0)
            return json_dumps(json_object_get(entry, "fieldsV1"), JSON_SORT_KEYS);
    }
    return strdup("");
}

TEST(chains_of_writes)
{
    json_t *live = NULL;
    const ManagedFieldsStep *chain = NULL;

    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
        const ManagedFieldsStep *step = &steps[i];
        g_autoptr(GError) error = NULL;

        if (step->chain != NULL) {
            chain = step;
            g_clear_pointer(&live, json_decref);
        }
        json_t *body = step->type <= FORCE ? applied_object(chain, step->body)
                                           : managed_fields_read_json(step->body);
        json_t *whole = applied_object(chain, "{}");
        const SchemaType *type =
            schema_find(json_string_value(json_object_get(whole, "apiVersion")),
                        json_string_value(json_object_get(whole, "kind")));
        json_t *stored = managed_fields_carry_out(step, live, body, type, &error);
        json_decref(body);
        json_decref(whole);
        if (stored == NULL) {
            if (strcmp(error->message, step->said) != 0)
                fail_msg("%s, step %zu: %s", chain->chain, (gsize)(step - chain), error->message);
            continue;
        }
        char *fields = fields_of(stored, step->manager);
        json_t *wanted = step->spec != NULL ? managed_fields_read_json(step->spec) : NULL;
        json_t *spec = json_object_get(stored, "spec"), *nothing = json_object();
        g_autofree char *said = json_quotes(step->said);
        if (strcmp(fields, said) != 0 ||
            !json_equal(spec != NULL ? spec : nothing, wanted != NULL ? wanted : nothing))
            fail_msg("%s, step %zu: %s %s", chain->chain, (gsize)(step - chain), fields,
                     json_dumps(stored, JSON_COMPACT));
        free(fields);
        json_decref(nothing);
        json_decref(wanted);
        json_decref(live);
        live = stored;
    }
    json_decref(live);
}

/* A create by an update tracks what the client sent; a server may drop an owner list on request. */
TEST(updates_and_resets)
{
    const SchemaType *type = schema_find("v1", "ConfigMap");
    FieldWriter writer = {.manager = "one", .time = "2026-01-01T00:00:00Z"};
    json_t *sent = managed_fields_read_json(
        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x', "
        "'labels': {'l': 'm'}}, 'data': {'a': 'b'}}");
    json_t *created = managed_fields_update(NULL, sent, type, &writer);
    char *fields = fields_of(created, "one");

    assert_string_equal(fields, "{\"f:data\": {\".\": {}, \"f:a\": {}}, \"f:metadata\": "
                                "{\"f:labels\": {\".\": {}, \"f:l\": {}}}}");
    free(fields);

    /* The same again changes nothing, not even the time. */
    writer.time = "2026-01-01T00:00:09Z";
    json_t *again = managed_fields_update(created, sent, type, &writer);
    assert_true(json_equal(created, again));
    json_decref(again);

    /* Thirteen updaters: the four oldest become one. */
    json_t *many = json_incref(created);
    for (int i = 0; i < 12; i++) {
        g_autofree char *name = g_strdup_printf("u%02d", i);
        g_autofree char *time = g_strdup_printf("2026-01-01T00:01:%02dZ", i);
        json_t *next = json_deep_copy(many);

        json_object_set_new(json_object_get(next, "data"), name, json_string("x"));
        writer.manager = name;
        writer.time = time;
        json_t *stored = managed_fields_update(many, next, type, &writer);
        json_decref(next);
        json_decref(many);
        many = stored;
    }
    const json_t *list = json_object_get(json_object_get(many, "metadata"), "managedFields");
    assert_int_equal(json_array_size(list), 10);
    fields = fields_of(many, "ancient-changes");
    assert_string_equal(
        fields,
        "{\"f:data\": {\".\": {}, \"f:a\": {}, \"f:u00\": {}, \"f:u01\": {}, \"f:u02\": {}}, "
        "\"f:metadata\": {\"f:labels\": {\".\": {}, \"f:l\": {}}}}");
    free(fields);

    /* An empty list clears it. */
    writer.manager = "one";
    writer.time = "2026-01-01T00:02:00Z";
    json_t *reset = json_deep_copy(many);
    json_object_set_new(json_object_get(reset, "metadata"), "managedFields", json_array());
    json_t *cleared = managed_fields_update(many, reset, type, &writer);
    assert_null(json_object_get(json_object_get(cleared, "metadata"), "managedFields"));

    /* The first apply to it meets fields from before. */
    g_autoptr(GPtrArray) conflicts = NULL;
    g_autoptr(GError) error = NULL;
    json_t *body = managed_fields_read_json(
        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x'}, 'data': {'a': 'c'}}");
    writer.manager = "two";
    assert_null(managed_fields_apply(cleared, body, type, &writer, FALSE, &conflicts, &error));
    assert_int_equal(error->code, 409);
    assert_string_equal(
        error->message,
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a");
    const FieldConflict *only = g_ptr_array_index(conflicts, 0);
    assert_string_equal(only->field, ".data.a");
    assert_string_equal(only->message, "conflict with \"before-first-apply\" using v1");

    json_t *const all[] = {sent, created, many, reset, cleared, body};
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        json_decref(all[i]);
}

TEST(names_of_managers)
{
    static const char *const agents[][2] = {
        {"kubectl/v1.32.5 (linux/amd64) kubernetes/9894294", "kubectl"},
        {"curl",                                             "curl"   },
        {"a\tb/c",                                           "ab"     },
        {"",                                                 ""       },
    };
    g_autofree char *longest = g_strnfill(200, 'x');

    for (gsize i = 0; i < G_N_ELEMENTS(agents); i++) {
        g_autofree char *manager = manager_of_user_agent(agents[i][0]);
        assert_string_equal(manager, agents[i][1]);
        assert_null(manager_fault(manager, FALSE));
    }
    g_autofree char *cut = manager_of_user_agent(longest);
    assert_int_equal(strlen(cut), 128);
    g_autofree char *too_long = manager_fault(longest, TRUE);
    assert_string_equal(too_long, "fieldManager: Too long: may not be more than 128 bytes");
    g_autofree char *missing = manager_fault("", TRUE);
    assert_string_equal(missing, "fieldManager: Required value: is required for apply patch");
    g_autofree char *unprintable = manager_fault("a\n", FALSE);
    assert_string_equal(
        unprintable,
        "fieldManager: Invalid value: \"a\\n\": invalid character U+000A (at position 1)");
}
