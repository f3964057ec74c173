/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/external-snapshotter/snapshotter-test.h"
#include "models/external-snapshotter/snapshotter.h"
#include "tests/conformance/script-driver.h"
#include "tests/conformance/snapshots/snapshot-case.h"

#include <string.h>

/* The sidecar csi-snapshotter: one sync of a content with the calls of the driver, calls alone, and
 * pure functions. */

typedef struct {
    Case *self;
    ScriptDriver *driver;
    ExternalSnapshotter *snapshotter;
} ExternalSnapshotterSidecarWorld;

/* ---- The driver's answers ---- */

static void
fill_snapshot(const json_t *snapshot, const char **id, int64_t *bytes, SimTime *at, gboolean *ready)
{
    gboolean is_timed = json_object_get(snapshot, "creation_time") != NULL;

    *id = json_path_string(snapshot, "snapshot_id");
    *bytes = json_integer_value(json_object_get(snapshot, "size_bytes"));
    *at = is_timed ? SNAPSHOT_CASE_TIME - API_EPOCH_S * SIM_SECOND : 0;
    *ready = json_is_true(json_object_get(snapshot, "ready_to_use"));
}

/* @snapshot: (nullable): there is none in a list */
static void
answer_with(ExternalSnapshotterSidecarWorld *world,
            CsiMethod method,
            const json_t *snapshot,
            CsiResponse *response)
{
    if (method == CSI_CREATE_SNAPSHOT)
        fill_snapshot(snapshot, &response->snapshot_id, &response->size_bytes,
                      &response->creation_time, &response->ready_to_use);
    if (method != CSI_LIST_SNAPSHOTS || snapshot == NULL)
        return;
    CsiEntry *entry = script_driver_keep(world->driver, g_new0(CsiEntry, 1), g_free);
    fill_snapshot(snapshot, &entry->snapshot_id, &entry->capacity_bytes, &entry->creation_time,
                  &entry->ready_to_use);
    response->entries = entry;
    response->n_entries = 1;
}

/* Of a sync: as expected.csi_calls tell. The errors of the recorded tests have no code of gRPC, so
 * they are not final. */
static void
answer_sync(void *data, unsigned number, const CsiRequest *request, CsiResponse *response)
{
    ExternalSnapshotterSidecarWorld *world = data;
    const json_t *call = json_array_get(case_get(world->self, "expected.csi_calls"), number);
    const json_t *returns = json_path_get(call, "returns");

    if (json_is_true(json_object_get(returns, "error"))) {
        response->code = CSI_UNAVAILABLE;
        response->message = "injected";
        return;
    }
    json_t *snapshot = json_pack(
        "{s:O?, s:O?, s:O?, s:O?}", "snapshot_id", json_path_get(returns, "snapshot_id"),
        "size_bytes", json_path_get(returns, "size"), "creation_time",
        json_path_get(returns, "creation_time"), "ready_to_use", json_path_get(returns, "ready"));
    answer_with(world, request->method, snapshot, response);
    json_decref(snapshot);
}

/* Of a call alone. */
static void
suite_external_snapshotter_sidecar_answer_call(void *data,
                                               unsigned number,
                                               const CsiRequest *request,
                                               CsiResponse *response)
{
    ExternalSnapshotterSidecarWorld *world = data;
    Case *self = world->self;
    const char *code = case_string(self, "inject.driver_code");
    const json_t *snapshot =
        request->method == CSI_LIST_SNAPSHOTS
            ? json_path_get(json_array_get(case_get(self, "inject.response.entries"), 0),
                            "snapshot")
            : case_get(self, "inject.response.snapshot");

    (void)number;
    if (code == NULL || !csi_code_parse(code, &response->code))
        case_fail(self, "no such code: %s", code == NULL ? "(none)" : code);
    if (response->code == CSI_OK)
        answer_with(world, request->method, snapshot, response);
    else
        response->message = "injected";
}

/* ---- The world ---- */

static void *
suite_external_snapshotter_sidecar_options_of(void *data, const ProcessClass *class)
{
    Case *self = data;
    const char *prefix = case_string(self, "config.snapshot_name_prefix");
    ExternalSnapshotterOptions *options;

    if (class != &external_snapshotter_process)
        return NULL;
    options = process_options_new(class, objects_strings(self->objects));
    options->extra_create_metadata = case_flag(self, "config.extra_create_metadata");
    if (prefix != NULL)
        options->snapshot_name_prefix = strings_intern(objects_strings(self->objects), prefix);
    return options;
}

static void
suite_external_snapshotter_sidecar_check_words(Case *self)
{
    const json_t *length = case_get(self, "config.snapshot_name_uuid_length");

    case_known(self, "initial", "contents", "snapshot_classes", "secrets");
    case_known(self, "config", "driver", "extra_create_metadata", "list_snapshots_supported",
               "snapshot_name_prefix", "snapshot_name_uuid_length");
    case_known(self, "inject", "api_errors", "before_sync", "driver_code", "response",
               "plugin_name");
    if (length != NULL && json_integer_value(length) != -1)
        case_fail(self, "parts of uids in names are not modelled");
}

/* @answer: of the driver */
static void
suite_external_snapshotter_sidecar_world_begin(
    ExternalSnapshotterSidecarWorld *world,
    Case *self,
    const char *driver,
    gboolean lists,
    void (*answer)(void *, unsigned, const CsiRequest *, CsiResponse *))
{
    static const WorldOptions options = {.only = &external_snapshotter_class};
    NodePluginOptions plugin = {.preregistered = TRUE};
    ScriptOptions script = {
        .plugin = CSI_PLUGIN_CONTROLLER_SERVICE,
        .controller = CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT,
        .answer = answer,
        .data = world,
    };

    *world = (ExternalSnapshotterSidecarWorld){.self = self};
    if (lists)
        script.controller |= CSI_CONTROLLER_LIST_SNAPSHOTS;
    suite_external_snapshotter_sidecar_check_words(self);
    case_world_new(self, &options);
    world->driver = script_driver_new(self, driver, &script);
    cluster_add_driver(self->cluster, script_driver_base(world->driver), driver, &plugin,
                       suite_external_snapshotter_sidecar_options_of, self);
    case_start(self, &options);
    case_wait(self, 0);
    world->snapshotter = cluster_model(self->cluster, &external_snapshotter_class, driver);
    case_forget(self);
}

static void
suite_external_snapshotter_sidecar_world_end(ExternalSnapshotterSidecarWorld *world)
{
    cluster_free(world->self->cluster);
    world->self->cluster = NULL;
    csi_driver_free(script_driver_base(world->driver));
}

/* ---- One sync ---- */

/* A call in the case's words: without what it returns. */
static json_t *
told_call(const json_t *call)
{
    json_t *told = json_deep_copy(call);

    json_object_del(told, "returns");
    if (json_object_get(told, "secrets") != NULL)
        json_object_set_new(told, "secrets", json_true());
    return told;
}

static json_t *
found_call(const json_t *call)
{
    const json_t *request = json_object_get(call, "request");

    return json_pack(
        "{s:O, s:O*, s:O*, s:O*, s:O*, s:O*}", "call", json_object_get(call, "call"), "name",
        json_object_get(request, "name"), "volume", json_object_get(request, "volumeId"),
        "parameters", json_object_get(request, "parameters"), "snapshot_id",
        json_object_get(request, "snapshotId"), "secrets", json_object_get(request, "secrets"));
}

static void
suite_external_snapshotter_sidecar_expect_calls(const ExternalSnapshotterSidecarWorld *world)
{
    json_t *expected = json_array(), *found = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(world->self, "expected.csi_calls"), i, item)
        json_array_append_new(expected, told_call(item));
    json_array_foreach(script_driver_calls(world->driver), i, item)
        json_array_append_new(found, found_call(item));
    case_expect_json(world->self, "calls", expected, found);
    json_decref(expected);
    json_decref(found);
}

static void
expect_requeue(Case *self)
{
    const json_t *wanted = case_get(self, "expected.requeue");

    if (wanted != NULL && json_is_true(wanted) != self->plan_requeues)
        case_fail(self, "requeue: %s", self->plan_requeues ? "true" : "false");
}

static void
run_sync(Case *self)
{
    g_auto(SnapshotCase) adapted = snapshot_case_begin(self);
    const char *driver = case_string(self, "config.driver");
    ExternalSnapshotterSidecarWorld world;

    (void)adapted;
    if (driver == NULL) {
        case_fail(self, "config.driver is missing");
        return;
    }
    case_known(self, "args", "object");
    case_known(self, "expected", "error", "events", "csi_calls", "contents", "requeue");
    suite_external_snapshotter_sidecar_world_begin(&world, self, driver, TRUE, answer_sync);
    Process *process = world.snapshotter->base.process;
    snapshot_case_import(self, "secrets", NULL, NULL);
    snapshot_case_import(self, "snapshot_classes", process, NULL);
    snapshot_case_import(self, "contents", process, world.snapshotter->single.store);
    ObjectKey *key = snapshot_case_subject(self, "args.object");
    if (key != NULL) {
        case_run_plan(self, world.snapshotter, snapshotter_sync, key);
        suite_external_snapshotter_sidecar_expect_calls(&world);
        expect_requeue(self);
        snapshot_case_compare(self);
    }
    suite_external_snapshotter_sidecar_world_end(&world);
}

/* ---- Calls alone ---- */

#define NAME_PREFIX "snapshot-" /* the sidecar's default, and a hyphen */

/* The content with which a sync makes the call. Returns: (owned) */
static json_t *
content_for_call(Case *self, CsiMethod method)
{
    const char *name = case_string(self, "args.name");
    const json_t *id = case_get(self, "args.snapshot_id");

    if (method == CSI_CREATE_SNAPSHOT) {
        if (name == NULL || !g_str_has_prefix(name, NAME_PREFIX)) {
            case_fail(self, "names of snapshots begin with " NAME_PREFIX);
            name = NAME_PREFIX;
        }
        return json_pack("{s:{}, s:{s:{s:O?}, s:{s:s, s:s, s:s}}}", "metadata", "spec", "source",
                         "volumeHandle", case_get(self, "args.volume"), "volumeSnapshotRef",
                         "namespace", "default", "name", "snapshot", "uid",
                         name + strlen(NAME_PREFIX));
    }
    if (method == CSI_DELETE_SNAPSHOT)
        return json_pack("{s:{s:s, s:[s], s:{s:s}}, s:{s:{s:s}}, s:{s:O?}}", "metadata",
                         "deletionTimestamp", "2020-01-01T00:00:00Z", "finalizers",
                         FINALIZER_SNAPSHOT_CONTENT, "annotations",
                         ANNOTATION_SNAPSHOT_BEING_DELETED, "yes", "spec", "source", "volumeHandle",
                         "volume", "status", "snapshotHandle", id);
    return json_pack("{s:{}, s:{s:{s:O?}}}", "metadata", "spec", "source", "snapshotHandle", id);
}

/* The state before a sync that makes the call. Returns: (owned) */
static json_t *
initial_for_call(Case *self, CsiMethod method, const char *driver)
{
    const json_t *secrets = case_get(self, "args.secrets");
    json_t *content = content_for_call(self, method);
    json_t *parameters = json_deep_copy(case_get(self, "args.parameters"));
    json_t *metadata = json_object_get(content, "metadata");
    json_t *spec = json_object_get(content, "spec"), *data = json_object();

    if (parameters == NULL)
        parameters = json_object();
    if (json_object_size(secrets) > 0) {
        const SecretKeys *keys = &snapshot_secret_keys[SNAPSHOT_SECRET_LIST];
        json_t *names = json_pack("{s:s, s:s}", ANNOTATION_SNAPSHOT_SECRET_NAME, "secret",
                                  ANNOTATION_SNAPSHOT_SECRET_NAMESPACE, "default");
        json_object_set_new(parameters, keys->name_key, json_string("secret"));
        json_object_set_new(parameters, keys->namespace_key, json_string("default"));
        json_object_update_missing(names, json_object_get(metadata, "annotations"));
        json_object_set_new(metadata, "annotations", names);
        json_object_set_new(data, "key", json_string("dmFsdWU="));
    }
    json_object_set_new(metadata, "name", json_string("content"));
    json_object_update_new(spec, json_pack("{s:s, s:s, s:s}", "driver", driver, "deletionPolicy",
                                           "Delete", "volumeSnapshotClassName", "class"));
    return json_pack("{s:[o], s:[{s:{s:s}, s:s, s:s, s:o}], s:[{s:{s:s, s:s}, s:o}]}", "contents",
                     content, "snapshot_classes", "metadata", "name", "class", "driver", driver,
                     "deletionPolicy", "Delete", "parameters", parameters, "secrets", "metadata",
                     "name", "secret", "namespace", "default", "data", data);
}

/* The only call of a method. */
static void
expect_request(const ExternalSnapshotterSidecarWorld *world, CsiMethod method)
{
    const json_t *expected = case_get(world->self, "expected.request"), *call, *request = NULL;
    json_t *wanted = json_deep_copy(expected), *found = NULL;
    size_t i;

    json_array_foreach(script_driver_calls(world->driver), i, call)
        if (strcmp(json_path_string(call, "call"), csi_method_name(method)) == 0)
            request = json_object_get(call, "request");
    if (json_object_get(wanted, "secrets") != NULL)
        json_object_set_new(wanted, "secrets", json_true());
    if (request != NULL)
        found = json_pack(
            "{s:O*, s:O*, s:O*, s:O*, s:O*}", "source_volume_id",
            json_object_get(request, "volumeId"), "name", json_object_get(request, "name"),
            "parameters", json_object_get(request, "parameters"), "snapshot_id",
            json_object_get(request, "snapshotId"), "secrets", json_object_get(request, "secrets"));
    case_expect_json(world->self, "request", wanted, found);
    json_decref(wanted);
    json_decref(found);
}

/* The answer, as the content's status has it. */
static void
expect_result(const ExternalSnapshotterSidecarWorld *world, const ObjectKey *key)
{
    Case *self = world->self;
    const SnapshotContent *content = SNAPSHOT_CONTENT_CONST(api_server_get(self->api, key));
    const json_t *expected = case_get(self, "expected.result"), *value;
    const char *name;

    if (content == NULL) {
        case_fail(self, "the content is not there");
        return;
    }
    json_object_foreach((json_t *)expected, name, value) /* only read */
    {
        gboolean same = FALSE;
        if (strcmp(name, "driver") == 0)
            same = g_strcmp0(json_string_value(value), content->driver) == 0;
        else if (strcmp(name, "snapshot_id") == 0)
            same = g_strcmp0(json_string_value(value), content->handle) == 0;
        else if (strcmp(name, "size") == 0)
            same = json_integer_value(value) == MAX(content->restore_bytes, 0);
        else if (strcmp(name, "ready") == 0)
            same = json_is_true(value) == (content->readiness == SNAPSHOT_READY);
        else if (strcmp(name, "creation_time") == 0)
            same = !json_is_integer(value) || json_integer_value(value) == content->created_ns;
        if (!same)
            case_fail(self, "another result: %s", name);
    }
}

static const struct {
    const char *act;
    CsiMethod method;
} calls[] = {
    {"csi CreateSnapshot", CSI_CREATE_SNAPSHOT},
    {"csi DeleteSnapshot", CSI_DELETE_SNAPSHOT},
    {"csi ListSnapshots",  CSI_LIST_SNAPSHOTS },
};

static CsiMethod
method_of(Case *self)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(calls); i++)
        if (g_strcmp0(calls[i].act, case_string(self, "act")) == 0)
            return calls[i].method;
    case_fail(self, "no such call");
    return CSI_LIST_SNAPSHOTS;
}

static void
run_call(Case *self)
{
    g_auto(SnapshotCase) adapted = snapshot_case_begin(self);
    const char *plugin = case_string(self, "inject.plugin_name");
    const char *driver = plugin == NULL ? "driver" : plugin;
    CsiMethod method = method_of(self);
    ExternalSnapshotterSidecarWorld world;

    case_known(self, "args", "name", "volume", "parameters", "secrets", "snapshot_id");
    case_known(self, "expected", "error", "request", "result");
    json_object_set_new(adapted.adapted, "initial", initial_for_call(self, method, driver));
    suite_external_snapshotter_sidecar_world_begin(
        &world, self, driver, case_flag(self, "config.list_snapshots_supported"),
        suite_external_snapshotter_sidecar_answer_call);
    Process *process = world.snapshotter->base.process;
    snapshot_case_import(self, "secrets", NULL, NULL);
    snapshot_case_import(self, "snapshot_classes", process, NULL);
    snapshot_case_import(self, "contents", process, world.snapshotter->single.store);
    ObjectKey *key = case_find_key(self, "initial.contents", KIND_SNAPSHOT_CONTENT, "content");
    case_run_plan(self, world.snapshotter, snapshotter_sync, key);
    case_expect_error(self, "expected.error");
    expect_request(&world, method);
    if (!self->plan_failed && case_get(self, "expected.result") != NULL)
        expect_result(&world, key);
    suite_external_snapshotter_sidecar_world_end(&world);
}

/* ---- Pure functions ---- */

static void
run_should_delete(Case *self)
{
    const json_t *manifest = json_array_get(case_get(self, "initial.contents"), 0);
    const Object *content = case_object(self, manifest, KIND_SNAPSHOT_CONTENT);

    case_expect_flag(self, "expected.delete",
                     snapshotter_should_delete(SNAPSHOT_CONTENT_CONST(content)));
}

static void
run_queues_change(Case *self)
{
    const Object *before = case_object(self, case_get(self, "args.old"), KIND_SNAPSHOT_CONTENT);
    const Object *after = case_object(self, case_get(self, "args.new"), KIND_SNAPSHOT_CONTENT);

    case_known(self, "args", "old", "new");
    case_expect_flag(
        self, "expected.enqueue",
        snapshotter_queues_change(SNAPSHOT_CONTENT_CONST(before), SNAPSHOT_CONTENT_CONST(after)));
}

static const Act external_snapshotter_sidecar_acts[] = {
    {"syncContent",                run_sync         },
    {"csi CreateSnapshot",         run_call         },
    {"csi DeleteSnapshot",         run_call         },
    {"csi ListSnapshots",          run_call         },
    {"shouldDelete",               run_should_delete},
    {"ShouldEnqueueContentChange", run_queues_change},
    {NULL,                         NULL             },
};

const Suite external_snapshotter_sidecar_suite = {"external_snapshotter_sidecar",
                                                  external_snapshotter_sidecar_acts};
