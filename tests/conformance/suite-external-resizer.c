/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/api-test.h"
#include "models/api/fields.h"
#include "models/apiserver/apiserver-test.h"
#include "models/client/process-private.h"
#include "models/csi/csi-test.h"
#include "models/external-resizer/resizer-test.h"
#include "models/external-resizer/resizer.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/engine.h"
#include "tests/conformance/known.h"
#include "tests/conformance/resizer-acts.h"
#include "tests/conformance/script-driver.h"

#include <string.h>

/* The sidecar that makes volumes larger: single expansions with a driver that answers as a case
 * says, runs of the whole sidecar, and the pure functions that they are made of. */

#define DRIVER "mock"

typedef struct {
    Case *self;
    ScriptDriver *driver;
    ExternalResizer *resizer;
    const char *name; /* of the driver */
} ExternalResizerWorld;

/* ---- The driver ---- */

static const char *
driver_error(const Case *self)
{
    return case_string(self, "inject.driver_error");
}

/* The recorded driver could also fail as the API server does. Ours cannot, so that the write after
 * it is refused. */
static gboolean
fails_like_the_api(const Case *self)
{
    return g_strcmp0(driver_error(self), "Conflict") == 0;
}

static gboolean
flag_or(const Case *self, const char *path, gboolean otherwise)
{
    return case_get(self, path) == NULL ? otherwise : case_flag(self, path);
}

static void
suite_external_resizer_answer_call(void *data,
                                   unsigned number,
                                   const CsiRequest *request,
                                   CsiResponse *response)
{
    const Case *self = data;
    const char *error = driver_error(self);

    (void)number;
    if (request->method == CSI_NODE_GET_CAPABILITIES) {
        response->node_capabilities = flag_or(self, "args.node_expansion", TRUE)
                                          ? CSI_NODE_EXPAND_VOLUME_CAPABILITY
                                          : CSI_NODE_STAGE_UNSTAGE_VOLUME;
        return;
    }
    if (error != NULL && !fails_like_the_api(self)) {
        response->message = error;
        if (!csi_code_parse(error, &response->code))
            response->code = CSI_UNKNOWN;
        return;
    }
    response->capacity_bytes = request->required_bytes;
    response->node_expansion_required = case_flag(self, "config.node_expansion_required");
}

static ScriptOptions
script_options(Case *self)
{
    ScriptOptions options = {.answer = suite_external_resizer_answer_call, .data = self};

    if (flag_or(self, "args.controller_service", TRUE))
        options.plugin = CSI_PLUGIN_CONTROLLER_SERVICE;
    if (flag_or(self, "config.controller_expansion",
                flag_or(self, "args.controller_expansion", TRUE)))
        options.controller = CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY;
    return options;
}

/* ---- The world ---- */

static void *
suite_external_resizer_options_of(void *data, const ProcessClass *class)
{
    const Case *self = data;
    Strings *strings = objects_strings(self->objects);

    if (class != &external_resizer_process)
        return NULL;
    ExternalResizerOptions *options = process_options_new(class, strings);
    options->handle_volume_inuse_error = flag_or(self, "config.handle_in_use_errors", TRUE);
    options->feature_gates =
        strings_internf(strings, "AnnotateFsResize=%s,RecoverVolumeExpansionFailure=%s",
                        case_gate(self, "AnnotateFsResize", FALSE) ? "true" : "false",
                        case_gate(self, "RecoverVolumeExpansionFailure", TRUE) ? "true" : "false");
    return options;
}

static const char *
suite_external_resizer_driver_of(Case *self)
{
    const json_t *volume = json_array_get(case_get(self, "initial.volumes"), 0);
    const char *of_volume = json_path_string(volume, "spec.csi.driver");

    if (case_string(self, "args.driver") != NULL)
        return case_string(self, "args.driver");
    if (case_string(self, "config.driver") != NULL)
        return case_string(self, "config.driver");
    return of_volume != NULL ? of_volume : DRIVER;
}

/* The sidecar is about to ask its driver; it hears of what is in the API once that is done. */
static void
suite_external_resizer_world_start(ExternalResizerWorld *world, Case *self)
{
    const NodePluginOptions plugin = {.preregistered = TRUE};
    WorldOptions options = {.only = &external_resizer_class, .live = TRUE};
    ScriptOptions script = script_options(self);

    world->self = self;
    world->name = suite_external_resizer_driver_of(self);
    case_world_new(self, &options);
    world->driver = script_driver_new(self, world->name, &script);
    cluster_add_driver(self->cluster, script_driver_base(world->driver), world->name, &plugin,
                       suite_external_resizer_options_of, self);
    case_start(self, &options);
    world->resizer = cluster_model(self->cluster, &external_resizer_class, world->name);
}

static void
suite_external_resizer_world_end(ExternalResizerWorld *world)
{
    cluster_free(world->self->cluster);
    world->self->cluster = NULL;
    csi_driver_free(script_driver_base(world->driver));
}

static unsigned
n_expand_calls(const ExternalResizerWorld *world)
{
    const json_t *call;
    unsigned n = 0;
    size_t i;

    json_array_foreach(script_driver_calls(world->driver), i, call)
        n += g_strcmp0(json_path_string(call, "call"), "ControllerExpandVolume") == 0;
    return n;
}

static const json_t *
last_expand_call(const ExternalResizerWorld *world)
{
    const json_t *call, *last = NULL;
    size_t i;

    json_array_foreach(script_driver_calls(world->driver), i, call)
        if (g_strcmp0(json_path_string(call, "call"), "ControllerExpandVolume") == 0)
            last = call;
    return last;
}

static void
expect_number(Case *self, const char *path, int64_t found)
{
    const json_t *expected = case_get(self, path);

    if (expected != NULL && json_integer_value(expected) != found)
        case_fail(self, "%s: %" G_GINT64_FORMAT, path, found);
}

void
resizer_expect_flag(Case *self, const char *path, gboolean found)
{
    if (case_get(self, path) != NULL && case_flag(self, path) != found)
        case_fail(self, "%s: %s", path, found ? "true" : "false");
}

/* (owned): without its manifest, so that quantities are printed in one way. */
static json_t *
typed_part(Case *self, const Object *object)
{
    g_autoptr(Object) bare = object_edit(object);

    g_clear_pointer(&bare->manifest, json_decref);
    return case_comparable(self, bare);
}

void
resizer_expect_objects(Case *self, const char *path, ObjectKind kind)
{
    g_autoptr(GPtrArray) expected = case_objects(self, path, kind);

    for (unsigned i = 0; i < expected->len; i++) {
        const Object *wanted = expected->pdata[i], *found = api_server_get(self->api, wanted->key);
        json_t *a = typed_part(self, wanted), *b = found == NULL ? NULL : typed_part(self, found);
        if (!object_uid_is_set(wanted->uid))
            json_object_del(json_object_get(b, "metadata"), "uid");
        case_expect_json(self, wanted->key->text, a, b);
        json_decref(a);
        json_decref(b);
    }
}

static void
expect_outcome(ExternalResizerWorld *world)
{
    Case *self = world->self;

    expect_number(self, "observed.expand_calls", n_expand_calls(world));
    resizer_expect_objects(self, "observed.claims", KIND_CLAIM);
    resizer_expect_objects(self, "observed.volumes", KIND_VOLUME);
}

/* Without the patches: what they come to is seen in the objects. A run that goes on failing repeats
 * its writes until it is stopped. */
void
resizer_expect_writes(Case *self)
{
    json_t *expected = json_deep_copy(case_get(self, "observed.writes")), *item;
    json_t *found = json_array();
    size_t i, n = json_array_size(expected);

    json_array_foreach(expected, i, item)
        json_object_del(item, "patch");
    json_array_foreach(self->writes, i, item) {
        json_t *write = json_object();
        const char *key;
        json_t *value;
        json_object_foreach(item, key, value)
            if (strcmp(key, "namespace") != 0 && strcmp(key, "object") != 0)
                json_object_set(write, key, value);
        if (i < n || !case_flag(self, "observed.writes_repeat_until_stopped"))
            json_array_append(found, write);
        json_decref(write);
    }
    if (expected != NULL)
        case_expect_json(self, "writes", expected, found);
    json_decref(expected);
    json_decref(found);
}

/* ---- One expansion ---- */

static const json_t *
first_claim(const Case *self)
{
    return json_array_get(case_get(self, "initial.claims"), 0);
}

/* The recorded tests hand the volume over, whatever name the claim gives it. */
static const char *
import_pair(ExternalResizerWorld *world)
{
    Case *self = world->self;
    g_autoptr(GPtrArray) volumes = case_objects(self, "initial.volumes", KIND_VOLUME);
    Object *claim = case_object(self, first_claim(self), KIND_CLAIM);
    const char *told = CLAIM(claim)->volume_name;

    if (volumes->len > 0)
        CLAIM(claim)->volume_name = object_name(volumes->pdata[0]);
    resizer_watch_volumes(world->resizer);
    case_import(self, "initial.volumes", KIND_VOLUME, CASE_API);
    case_import_object(self, claim, CASE_API);
    informer_put(world->resizer->claims, api_server_get(self->api, claim->key));
    for (unsigned i = 0; i < volumes->len; i++)
        informer_put(world->resizer->volumes,
                     api_server_get(self->api, ((const Object *)volumes->pdata[i])->key));
    return told;
}

static gboolean
rename_volume(Object *object, const void *name)
{
    CLAIM(object)->volume_name = name;
    return TRUE;
}

/* As it was told, for comparing. */
static void
undo_name(Case *self, ObjectKey *key, const char *told)
{
    const Object *stored = api_server_get(self->api, key);
    Object *claim = stored == NULL ? NULL : object_edit(stored);

    if (claim == NULL)
        return;
    rename_volume(claim, told);
    api_server_import(self->api, claim);
}

ApiCode
resizer_refuse_volumes(void *data, const ApiRequest *request, GString *message)
{
    Case *self = data;

    if (request->key->kind != KIND_VOLUME) {
        json_t *write = json_pack("{s:s, s:s, s:s, s:s}", "verb", "patch", "resource",
                                  kind_class(request->key->kind)->resource, "subresource", "status",
                                  "name", request->key->name);
        json_array_append_new(self->writes, write);
        return API_OK;
    }
    g_string_assign(message, "conflict");
    return API_CONFLICT;
}

static void
run_single(ExternalResizerWorld *world, PlanDecide decide)
{
    Case *self = world->self;
    const json_t *name;
    size_t i;

    case_wait(self, SIM_SECOND);
    workers_free(world->resizer->workers); /* nothing comes by itself */
    world->resizer->workers = NULL;
    Workers *idle = workers_new(&world->resizer->base,
                                &(WorkersOptions){.name = "idle", .n_workers = 0, .sync = decide});
    world->resizer->workers = idle;
    const char *told = import_pair(world);
    json_array_foreach(case_get(self, "config.claims_with_final_error"), i, name)
        g_hash_table_add(world->resizer->final_errors,
                         case_key(self, KIND_CLAIM, json_string_value(name)));
    if (fails_like_the_api(self))
        api_server_set_fault(self->api, resizer_refuse_volumes, self);
    ObjectKey *key = (ObjectKey *)case_object(self, first_claim(self), KIND_CLAIM)->key;
    case_forget(self);
    case_run_plan(self, world->resizer, decide, key);
    undo_name(self, key, told);
    case_expect_error(self, "expected.error");
    resizer_expect_writes(self);
    case_expect_events(self, "observed.events", TRUE);
    case_expect_events(self, "expected.events", TRUE);
    expect_outcome(world);
}

static gboolean
saw_event(const Case *self, const char *reason)
{
    const json_t *event;
    size_t i;

    json_array_foreach(self->events, i, event)
        if (g_strcmp0(json_path_string(event, "reason"), reason) == 0)
            return TRUE;
    return FALSE;
}

static void
expect_quantity(Case *self, const char *path, int64_t found)
{
    const char *text = case_string(self, path);
    int64_t bytes = 0;

    if (text != NULL && (!quantity_parse(text, &bytes, NULL, NULL) || bytes != found))
        case_fail(self, "%s: %" G_GINT64_FORMAT, path, found);
}

static void
run_expand_and_recover(Case *self)
{
    ExternalResizerWorld world;

    suite_external_resizer_world_start(&world, self);
    run_single(&world, resizer_plan_expand);
    resizer_expect_flag(self, "expected.resize_called", saw_event(self, "Resizing"));
    const Object *claim =
        api_server_get(self->api, case_object(self, first_claim(self), KIND_CLAIM)->key);
    expect_quantity(self, "expected.allocated", CLAIM_CONST(claim)->allocated_bytes);
    const char *status = case_string(self, "expected.claim_resize_status");
    const char *found = CLAIM_CONST(claim)->resize_status;
    if (status != NULL && g_strcmp0(status, found == NULL ? "" : found) != 0)
        case_fail(self, "status: %s", found == NULL ? "" : found);
    suite_external_resizer_world_end(&world);
}

/* The older path, whatever the gate says. */
static void
run_resize_claim(Case *self)
{
    ExternalResizerWorld world;

    suite_external_resizer_world_start(&world, self);
    world.resizer->recovers = FALSE;
    run_single(&world, resizer_plan_resize);
    suite_external_resizer_world_end(&world);
}

/* ---- The whole sidecar ---- */

static Object *
pod_of_claim(Case *self, const ObjectKey *claim)
{
    Strings *strings = objects_strings(self->objects);
    Pod *pod = POD(object_new(objects_key(self->objects, KIND_POD, claim->namespace, "testPod")));
    const PodVolume volume = {.name = strings_intern(strings, "data"), .claim_name = claim->name};
    PodVolumes *volumes = pod_volumes_new(&volume, 1);

    pod_set_spec(pod, pod->spec, volumes);
    pod_volumes_unref(volumes);
    return &pod->meta;
}

static gboolean
finish_on_node(Object *object, const void *data)
{
    (void)data;
    CLAIM(object)->capacity_bytes = CLAIM(object)->request_bytes;
    CLAIM(object)->resize_status = NULL;
    return TRUE;
}

/* The node has done its part: with AnnotateFsResize the volume loses its note. */
static void
expect_annotation(ExternalResizerWorld *world, ObjectKey *claim)
{
    Case *self = world->self;
    const ApiRequest request = {.verb = API_PATCH_STATUS, .key = claim, .edit = finish_on_node};
    ApiResponse response;
    g_autoptr(GPtrArray) volumes = case_objects(self, "initial.volumes", KIND_VOLUME);

    if (case_get(self, "expected.pre_resize_annotation_removed_after_finish") == NULL)
        return;
    api_server_commit(self->api, &request, &response);
    case_wait(self, 3 * SIM_SECOND);
    for (unsigned i = 0; i < volumes->len; i++) {
        const Object *volume = api_server_get(self->api, ((const Object *)volumes->pdata[i])->key);
        resizer_expect_flag(self, "expected.pre_resize_annotation_removed_after_finish",
                            object_annotation(volume, ANNOTATION_PRE_RESIZE_CAPACITY) == NULL);
    }
}

static void
run_controller(Case *self)
{
    ExternalResizerWorld world;
    Object *claim = case_object(self, first_claim(self), KIND_CLAIM);

    suite_external_resizer_world_start(&world, self);
    if (case_flag(self, "config.claim_marked_in_use_error"))
        external_resizer_class.apply_change(
            world.resizer,
            &(PlanChange){.what = CHANGE_IN_USE_ERROR, .key = claim->key, .object = claim});
    case_import(self, "initial.volumes", KIND_VOLUME, CASE_API);
    case_import(self, "initial.claims", KIND_CLAIM, CASE_API);
    if (case_flag(self, "initial.pod_uses_claim"))
        api_server_import(self->api, pod_of_claim(self, claim->key));
    case_wait(self, 3 * SIM_SECOND);
    resizer_expect_flag(self, "expected.csi_expand_called", n_expand_calls(&world) > 0);
    if (last_expand_call(&world) != NULL) {
        const json_t *capabilities =
            json_path_get(last_expand_call(&world), "request.volumeCapabilities");
        resizer_expect_flag(self, "expected.block_capability",
                            json_object_get(json_array_get(capabilities, 0), "block") != NULL);
    }
    resizer_expect_writes(self);
    expect_outcome(&world);
    expect_annotation(&world, (ObjectKey *)claim->key);
    suite_external_resizer_world_end(&world);
}

/* RSZ-20. */
static void
run_new_resizer(Case *self)
{
    ExternalResizerWorld world;

    suite_external_resizer_world_start(&world, self);
    case_wait(self, SIM_SECOND);
    resizer_expect_flag(self, "expected.error", world.resizer->workers == NULL);
    if (world.resizer->workers != NULL)
        resizer_expect_flag(self, "expected.trivial", !world.resizer->asks_controller);
    suite_external_resizer_world_end(&world);
}

/* MIG-66 */
static void
run_can_support(Case *self)
{
    const Object *claim = case_object(self, case_get(self, "args.claim"), KIND_CLAIM);
    const Object *volume = case_object(self, case_get(self, "args.volume"), KIND_VOLUME);

    resizer_expect_flag(self, "expected.result",
                        resizer_supports(case_string(self, "args.driver"), CLAIM_CONST(claim),
                                         VOLUME_CONST(volume)));
}

/* The volume of the case, or one of the suite's driver; bound to the claim "c". */
static json_t *
resized_volume(Case *self)
{
    const json_t *given = case_get(self, "args.volume");
    json_t *volume =
        given != NULL ? json_deep_copy(given)
                      : json_pack("{s:{s:s}, s:{s:[s], s:{s:s}, s:{s:s, s:s}}}", "metadata", "name",
                                  "pv", "spec", "accessModes", "ReadWriteOnce", "capacity",
                                  "storage", "1Gi", "csi", "driver", DRIVER, "volumeHandle", "pv");

    json_object_set_new(
        json_object_get(volume, "spec"), "claimRef",
        json_pack("{s:s, s:s, s:s}", "name", "c", "namespace", "default", "uid", "u"));
    return volume;
}

/* RSZ-33: what the call carries. */
static void
run_resize(Case *self)
{
    json_t *volume = resized_volume(self);
    json_t *claim = json_pack(
        "{s:{s:s, s:s, s:s}, s:{s:[s], s:s, s:{s:{s:s}}}, s:{s:s, s:{s:s}}}", "metadata", "name",
        "c", "namespace", "default", "uid", "u", "spec", "accessModes", "ReadWriteOnce",
        "volumeName", json_path_string(volume, "metadata.name"), "resources", "requests", "storage",
        "2Gi", "status", "phase", "Bound", "capacity", "storage", "1Gi");
    json_t *secret = json_pack("{s:{s:s, s:s}, s:{s:s}}", "metadata", "name", "s", "namespace",
                               "default", "data", "key", "dmFsdWU=");
    ExternalResizerWorld world;

    if (case_string(self, "args.driver") != NULL) /* as the expand controller has marked it */
        json_object_set_new(
            json_object_get(claim, "metadata"), "annotations",
            json_pack("{s:s}", ANNOTATION_STORAGE_RESIZER, case_string(self, "args.driver")));
    if (case_flag(self, "args.controller_expand_secret_ref"))
        json_object_set_new(json_object_get(json_object_get(volume, "spec"), "csi"),
                            "controllerExpandSecretRef",
                            json_pack("{s:s, s:s}", "name", "s", "namespace", "default"));
    suite_external_resizer_world_start(&world, self);
    case_import_object(self, case_object(self, secret, KIND_SECRET), CASE_API);
    case_import_object(self, case_object(self, volume, KIND_VOLUME), CASE_API);
    case_import_object(self, case_object(self, claim, KIND_CLAIM), CASE_API);
    case_wait(self, 3 * SIM_SECOND);
    if (case_string(self, "args.driver") != NULL)
        case_expect_flag(self, "expected.error", n_expand_calls(&world) == 0);
    else if (n_expand_calls(&world) == 0)
        case_fail(self, "no call");
    else
        resizer_expect_flag(self, "expected.secrets_passed",
                            json_path_get(last_expand_call(&world), "request.secrets") != NULL);
    suite_external_resizer_world_end(&world);
    json_decref(volume);
    json_decref(claim);
    json_decref(secret);
}

/* ---- Pods that use claims: RSZ-32 ---- */

static void
track_pod(Case *self, const char *path, gboolean add)
{
    Object *pod =
        case_get(self, path) == NULL ? NULL : case_object(self, case_get(self, path), KIND_POD);

    if (pod == NULL)
        return;
    if (add) {
        case_import_object(self, pod, CASE_API);
    } else {
        const ApiRequest request = {.verb = API_DELETE, .key = (ObjectKey *)pod->key, .grace_s = 0};
        ApiResponse response;
        api_server_commit(self->api, &request, &response);
    }
    case_wait(self, SIM_SECOND);
}

static void
run_track_pods(Case *self)
{
    ExternalResizerWorld world;
    json_t *found = json_object(), *expected = json_object(), *uids;
    const char *claim_name;

    suite_external_resizer_world_start(&world, self);
    case_import(self, "initial.pods", KIND_POD, CASE_API);
    g_autoptr(Object) mark = object_new(case_key(self, KIND_CLAIM, "default/marked"));
    external_resizer_class.apply_change(
        world.resizer,
        &(PlanChange){.what = CHANGE_IN_USE_ERROR, .key = mark->key, .object = mark});
    track_pod(self, "args.add", TRUE);
    track_pod(self, "args.remove", FALSE);
    for (uint32_t slot = 0; slot < objects_n_keys(self->objects, KIND_CLAIM); slot++) {
        const ObjectKey *key = objects_key_at(self->objects, KIND_CLAIM, slot);
        unsigned n;
        informer_index_get(world.resizer->pods_by_claim, key, &n);
        if (n > 0)
            json_object_set_new(found, key->text, json_integer((json_int_t)n));
    }
    json_object_foreach((json_t *)case_get(self, "expected.in_use"), claim_name, uids)
        json_object_set_new(expected, claim_name, json_integer((json_int_t)json_array_size(uids)));
    case_expect_json(self, "in use", expected, found);
    json_decref(expected);
    json_decref(found);
    suite_external_resizer_world_end(&world);
}

/* ---- Pure functions ---- */

static const char *
mode_of(const char *word)
{
    return word == NULL ? "Filesystem" : word;
}

static void
run_capability(Case *self)
{
    json_t *spec = json_object(),
           *volume = json_pack("{s:{s:s}, s:o}", "metadata", "name", "pv", "spec", spec);
    json_t *csi = json_pack("{s:s, s:s}", "driver", DRIVER, "volumeHandle", "pv");
    const char *error = NULL, *fs_type = case_string(self, "args.fs_type");

    if (fs_type != NULL && *fs_type != '\0')
        json_object_set_new(csi, "fsType", json_string(fs_type));
    json_object_set_new(spec, "csi", csi);
    json_object_set(spec, "accessModes", (json_t *)case_get(self, "args.access_modes"));
    json_object_set_new(spec, "volumeMode",
                        json_string(mode_of(case_string(self, "args.volume_mode"))));
    if (case_get(self, "args.mount_options") != NULL)
        json_object_set(spec, "mountOptions", (json_t *)case_get(self, "args.mount_options"));
    const Volume *object = VOLUME_CONST(case_object(self, volume, KIND_VOLUME));
    CsiCapability capability = resizer_capability(
        object, case_flag(self, "args.single_node_multi_writer_capability"), &error);
    resizer_expect_flag(self, "expected.error", error != NULL);
    if (error == NULL) {
        json_t *found = json_pack("{s:{s:s}, s:{}}", "accessMode", "mode",
                                  csi_access_mode_name(capability.mode),
                                  capability.type == CSI_ACCESS_BLOCK ? "block" : "mount");
        json_t *mount = json_object_get(found, "mount");
        if (mount != NULL && capability.fs_type != NULL)
            json_object_set_new(mount, "fsType", json_string(capability.fs_type));
        for (unsigned i = 0;
             mount != NULL && capability.mount_flags != NULL && i < capability.mount_flags->n_items;
             i++) {
            if (i == 0)
                json_object_set_new(mount, "mountFlags", json_array());
            json_array_append_new(json_object_get(mount, "mountFlags"),
                                  json_string(capability.mount_flags->items[i]));
        }
        case_expect_json(self, "capability", case_get(self, "expected.capability"), found);
        json_decref(found);
    }
    json_decref(volume);
}

/* Returns: (owned): of a list of {type, status} */
static ClaimConditions *
conditions_at(Case *self, const char *path)
{
    g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(ClaimCondition));
    Strings *strings = objects_strings(self->objects);
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self, path), i, item) {
        ClaimCondition condition = {
            .type = strings_intern(strings, case_text(self, item, "type")),
            .status = strings_intern(strings, case_text(self, item, "status")),
            .changed_at = TIME_UNSET,
        };
        g_array_append_val(items, condition);
    }
    return claim_conditions_new((const ClaimCondition *)(const void *)items->data, items->len);
}

static void
run_merge(Case *self, ConditionsKind kind)
{
    g_autoptr(ClaimConditions) old = conditions_at(self, "args.old"),
                               news = conditions_at(self, "args.new");
    g_autoptr(ClaimConditions) merged = claim_conditions_merge(
        old, kind, news == NULL ? NULL : news->items, news == NULL ? 0 : news->n_items,
        case_flag(self, "args.keep_old_resize"));
    json_t *found = json_array();

    for (unsigned i = 0; merged != NULL && i < merged->n_items; i++)
        json_array_append_new(found, json_pack("{s:s, s:s}", "type", merged->items[i].type,
                                               "status", merged->items[i].status));
    case_expect_json(self, "conditions", case_get(self, "expected.conditions"), found);
    json_decref(found);
}

static void
run_merge_resize(Case *self)
{
    run_merge(self, CONDITIONS_OF_RESIZE);
}

static void
run_merge_modify(Case *self)
{
    run_merge(self, CONDITIONS_OF_MODIFY);
}

/* What the status says of the expansion, and nothing of conditions: the recorded tests do not look
 * at those. */
static void
run_mark(Case *self, ResizeStatus status)
{
    Strings *strings = objects_strings(self->objects);
    Object *claim = case_object(self, case_get(self, "initial.claim"), KIND_CLAIM);
    Object *expected = case_object(self, case_get(self, "expected.claim"), KIND_CLAIM);
    ResizeMark mark = {.keep_conditions = TRUE};

    resize_mark_set_status(&mark, status, strings);
    if (status == RESIZE_CONTROLLER_IN_PROGRESS)
        mark.allocated_bytes = CLAIM(expected)->allocated_bytes;
    resize_mark_apply(claim, &mark);
    json_t *wanted = case_comparable(self, expected), *found = case_comparable(self, claim);
    json_object_del(json_object_get(wanted, "status"), "conditions");
    json_object_del(json_object_get(found, "status"), "conditions");
    case_expect_json(self, "claim", wanted, found);
    json_decref(wanted);
    json_decref(found);
}

static void
run_mark_fs_resize(Case *self)
{
    run_mark(self, RESIZE_NODE_PENDING);
}

static void
run_mark_failed(Case *self)
{
    run_mark(self, RESIZE_CONTROLLER_INFEASIBLE);
}

static void
run_mark_finished(Case *self)
{
    run_mark(self, RESIZE_NONE);
}

static void
run_mark_in_progress(Case *self)
{
    run_mark(self, RESIZE_CONTROLLER_IN_PROGRESS);
}

static const Act acts[] = {
    {"run controller",                 run_controller        },
    {"expandAndRecover",               run_expand_and_recover},
    {"resizePVC",                      run_resize_claim      },
    {"resize",                         run_resize            },
    {"canSupport",                     run_can_support       },
    {"newResizer",                     run_new_resizer       },
    {"track pods",                     run_track_pods        },
    {"volumeCapability",               run_capability        },
    {"MergeResizeConditions",          run_merge_resize      },
    {"MergeModifyVolumeConditions",    run_merge_modify      },
    {"markFsResize",                   run_mark_fs_resize    },
    {"markControllerResizeFailed",     run_mark_failed       },
    {"markControllerResizeInProgress", run_mark_in_progress  },
    {"markResizeFinished",             run_mark_finished     },
    {"modify",                         run_modify            },
    {"syncPVC",                        run_modify            },
    {"syncPVC, syncPVC",               run_modify            },
    {"markModifyVolumeStatus",         run_mark_modify_status},
    {"updateConditionOnError",         run_mark_modify_error },
    {"markModifyVolumeCompleted",      run_mark_modify_over  },
    {NULL,                             NULL                  },
};

const Suite external_resizer_suite = {"external_resizer", acts};
