/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/apiserver/apiserver-test.h"
#include "models/client/client-test.h"
#include "models/client/process-private.h"
#include "models/csi/csi-test.h"
#include "models/external-attacher/attacher-test.h"
#include "models/external-attacher/attacher.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/script-driver.h"

#include <string.h>

/* The external-attacher: events are told, then both queues are processed until they are empty; and
 * pure functions. The recorded tests' caches hold what they began with, so watches say nothing
 * here. */

#define LONG_ENOUGH (10 * SIM_MINUTE) /* for retries with back-off; the tests retry at once */
#define RECONCILE SIM_SECOND
#define CALL_TIMEOUT (100 * SIM_MS) /* less than all delays that cases tell */

typedef struct {
    Case *self;
    ScriptDriver *driver;
    ExternalAttacher *attacher;
    json_t *actions; /* as the cases tell them, without the patches' contents */
} ExternalAttacherWorld;

/* ---- The API ---- */

static const char *
verb_word(ApiVerb verb)
{
    return verb == API_GET                                 ? "get"
           : verb == API_PATCH || verb == API_PATCH_STATUS ? "patch"
                                                           : "other";
}

/* Calls so far of a verb and a resource. */
static json_int_t
count_calls(const ExternalAttacherWorld *world, const char *verb, const char *resource)
{
    json_int_t n = 0;
    const json_t *action;
    size_t i;

    json_array_foreach(world->actions, i, action)
        n += strcmp(json_path_string(action, "verb"), verb) == 0 &&
             strcmp(json_path_string(action, "resource"), resource) == 0;
    return n;
}

static ApiCode
request_comes(void *data, const ApiRequest *request, GString *message)
{
    ExternalAttacherWorld *world = data;
    const char *verb = verb_word(request->verb);
    const char *resource = kind_class(request->key->kind)->resource;
    json_t *action = json_pack("{s:s, s:s, s:s}", "verb", verb, "resource", resource, "name",
                               request->key->name);
    const json_t *reaction;
    size_t i;

    if (request->verb == API_PATCH_STATUS)
        json_object_set_new(action, "subresource", json_string("status"));
    json_array_append_new(world->actions, action);
    json_array_foreach(case_get(world->self, "inject.api_reactions"), i, reaction) {
        json_int_t number = json_integer_value(json_object_get(reaction, "call_number"));
        if (g_strcmp0(json_path_string(reaction, "verb"), verb) != 0 ||
            g_strcmp0(json_path_string(reaction, "resource"), resource) != 0 ||
            number != count_calls(world, verb, resource))
            continue;
        g_string_assign(message, "mock error");
        return g_strcmp0(json_path_string(reaction, "error"), "NotFound") == 0 ? API_NOT_FOUND
                                                                               : API_FORBIDDEN;
    }
    return API_OK;
}

/* ---- The driver ---- */

static void
map_unref(void *map)
{
    string_map_unref(map);
}

static void
list_unref(void *list)
{
    string_list_unref(list);
}

static void
answer_list(ExternalAttacherWorld *world, CsiResponse *response)
{
    Case *self = world->self;
    const json_t *told = case_get(self, "initial.list_volumes_published_nodes");
    Strings *strings = objects_strings(self->objects);
    CsiEntry *entries =
        script_driver_keep(world->driver, g_new0(CsiEntry, json_object_size(told) + 1), g_free);
    const char *key;
    json_t *nodes;

    json_object_foreach((json_t *)told, key, nodes) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        for (size_t i = 0; i < json_array_size(nodes); i++)
            g_ptr_array_add(names, (void *)strings_intern(
                                       strings, json_string_value(json_array_get(nodes, i))));
        entries[response->n_entries++] = (CsiEntry){
            .volume_id = strings_intern(strings, key),
            .published_node_ids = script_driver_keep(
                world->driver, string_list_new((const char *const *)names->pdata, names->len),
                list_unref),
        };
    }
    response->entries = entries;
}

/* The number among publishes and unpublishes: reconciliation's lists are not told. */
static size_t
call_number(const ExternalAttacherWorld *world)
{
    size_t n = 0;
    const json_t *call;
    size_t i;

    json_array_foreach(script_driver_calls(world->driver), i, call)
        n += g_strcmp0(json_path_string(call, "call"), "ListVolumes") != 0;
    return n - 1;
}

static void
suite_external_attacher_answer(void *data,
                               unsigned number,
                               const CsiRequest *request,
                               CsiResponse *response)
{
    ExternalAttacherWorld *world = data;
    Case *self = world->self;

    (void)number;
    if (request->method == CSI_LIST_VOLUMES) {
        answer_list(world, response);
        return;
    }
    const json_t *call = json_array_get(case_get(self, "expected.csi_calls"), call_number(world));
    const json_t *returns = json_path_get(call, "returns");
    const json_t *context = json_object_get(returns, "publishContext");

    if (context == NULL)
        context = json_object_get(returns, "publish_context");
    if (json_is_true(json_object_get(returns, "error"))) {
        response->code = CSI_INTERNAL;
        response->message = "injected";
    } else {
        response->publish_context =
            script_driver_keep(world->driver, script_map(self, context), map_unref);
    }
}

static SimTime
delay_of(void *data, unsigned number)
{
    ExternalAttacherWorld *world = data;
    SimTime delay = 0;

    (void)number;
    const json_t *call =
        json_array_get(case_get(world->self, "expected.csi_calls"), call_number(world));
    const char *text = json_path_string(call, "delay");
    if (text != NULL && !sim_time_parse(text, &delay, NULL))
        case_fail(world->self, "no duration: %s", text);
    return delay;
}

/* ---- The world ---- */

static void *
suite_external_attacher_options_of(void *data, const ProcessClass *class)
{
    Case *self = data;
    const char *fs_type = case_string(self, "config.default_fstype");
    ExternalAttacherOptions *options;

    if (class != &external_attacher_process)
        return NULL;
    options = process_options_new(class, objects_strings(self->objects));
    if (fs_type != NULL)
        options->default_fstype = strings_intern(objects_strings(self->objects), fs_type);
    options->reconcile_sync = RECONCILE;
    options->common.timeout = CALL_TIMEOUT;
    return options;
}

static CsiControllerCapabilities
capabilities_of(const Case *self)
{
    CsiControllerCapabilities capabilities = CSI_CONTROLLER_CREATE_DELETE_VOLUME;

    if (g_strcmp0(case_string(self, "config.handler"), "trivial") != 0)
        capabilities |= CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME;
    if (case_flag(self, "config.publish_readonly_capability"))
        capabilities |= CSI_CONTROLLER_PUBLISH_READONLY;
    if (case_flag(self, "config.single_node_multi_writer"))
        capabilities |= CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER;
    if (case_flag(self, "config.reconcile_with_list_volumes"))
        capabilities |= CSI_CONTROLLER_LIST_VOLUMES | CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES;
    return capabilities;
}

static gboolean
is_deletion(const json_t *trigger)
{
    return json_path_string(trigger, "event") != NULL &&
           g_str_has_suffix(json_path_string(trigger, "event"), "_deleted");
}

/* In the API and in the attacher's cache, of which its handlers hear nothing. */
static void
store(ExternalAttacherWorld *world, const json_t *manifest)
{
    Case *self = world->self;
    Object *object = case_object_of_manifest(self, manifest);

    case_import_object(self, object, CASE_API);
    informer_put(process_informer(world->attacher->base.process, object_kind(object), NULL),
                 api_server_get(self->api, object->key));
}

/* Told objects are stored, unless what is told is that they are gone. */
static void
store_all(ExternalAttacherWorld *world)
{
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(world->self, "initial.api_objects"), i, item)
        store(world, item);
    json_array_foreach(case_get(world->self, "args.triggers"), i, item)
        if (!is_deletion(item))
            store(world, json_object_get(item, "object"));
}

static void
suite_external_attacher_world_begin(ExternalAttacherWorld *world, Case *self)
{
    static const WorldOptions options = {.only = &external_attacher_class};
    const char *driver = case_string(self, "config.attacher");
    NodePluginOptions plugin = {.preregistered = TRUE};
    ScriptOptions script = {
        .plugin = CSI_PLUGIN_CONTROLLER_SERVICE,
        .controller = capabilities_of(self),
        .answer = suite_external_attacher_answer,
        .delay = delay_of,
        .data = world,
    };

    *world = (ExternalAttacherWorld){.self = self, .actions = json_array()};
    case_world_new(self, &options);
    world->driver = script_driver_new(self, driver, &script);
    cluster_add_driver(self->cluster, script_driver_base(world->driver), driver, &plugin,
                       suite_external_attacher_options_of, self);
    api_server_set_fault(self->api, request_comes, world);
    case_start(self, &options);
    case_wait(self, 0);
    world->attacher = cluster_model(self->cluster, &external_attacher_class, driver);
    store_all(world);
}

static void
tell_triggers(ExternalAttacherWorld *world)
{
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(world->self, "args.triggers"), i, item) {
        const Object *told = case_object_of_manifest(world->self, json_object_get(item, "object"));
        Informer *informer =
            process_informer(world->attacher->base.process, object_kind(told), NULL);
        if (informer == NULL) {
            case_fail(world->self, "nobody hears of a %s", kind_class(object_kind(told))->kind);
            return;
        }
        const Object *stored = is_deletion(item) ? NULL : informer_get(informer, told->key);
        gboolean is_new = g_str_has_suffix(case_text(world->self, item, "event"), "_added");
        informer_tell(informer, is_deletion(item) ? told : is_new ? NULL : stored, stored);
    }
}

/* The recorded tests look until they have seen what they expect: what fails for ever is tried again
 * for ever. Each try takes no time here, and the next one comes after a back-off. */
static void
process_queues(ExternalAttacherWorld *world)
{
    Case *self = world->self;
    size_t n_expected = json_array_size(case_get(self, "expected.api_actions"));

    if (case_flag(self, "config.reconcile_with_list_volumes"))
        case_wait(self, RECONCILE + RECONCILE / 2);
    case_wait(self, 0);
    for (SimTime waited = 0; json_array_size(world->actions) < n_expected && waited < LONG_ENOUGH;
         waited += SIM_SECOND)
        case_wait(self, SIM_SECOND);
}

static void
suite_external_attacher_world_end(ExternalAttacherWorld *world)
{
    cluster_free(world->self->cluster);
    world->self->cluster = NULL;
    csi_driver_free(script_driver_base(world->driver));
    json_decref(world->actions);
}

/* ---- Comparing ---- */

static void
expect_actions(const ExternalAttacherWorld *world)
{
    json_t *expected = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(world->self, "expected.api_actions"), i, item) {
        static const char *const compared[] = {"verb", "resource", "name", "subresource"};
        json_t *action = json_object();
        for (unsigned k = 0; k < G_N_ELEMENTS(compared); k++)
            if (json_object_get(item, compared[k]) != NULL)
                json_object_set(action, compared[k], json_object_get(item, compared[k]));
        json_array_append_new(expected, action);
    }
    case_expect_json(world->self, "actions", expected, world->actions);
    json_decref(expected);
}

static json_t *
told_call(const json_t *call)
{
    const json_t *request = json_object_get(call, "request");
    json_t *told = json_pack("{s:O, s:O, s:O?}", "call", json_object_get(call, "call"), "volumeId",
                             json_object_get(request, "volumeId"), "nodeId",
                             json_object_get(request, "nodeId"));

    if (g_strcmp0(json_path_string(call, "call"), "ControllerPublishVolume") == 0)
        json_object_set_new(told, "readonly",
                            json_boolean(json_object_get(request, "readonly") != NULL));
    if (json_object_get(request, "volumeContext") != NULL)
        json_object_set(told, "volumeContext", json_object_get(request, "volumeContext"));
    if (json_object_get(request, "secrets") != NULL)
        json_object_set_new(told, "secrets", json_true());
    return told;
}

static void
suite_external_attacher_expect_calls(const ExternalAttacherWorld *world)
{
    json_t *expected = json_deep_copy(case_get(world->self, "expected.csi_calls"));
    json_t *found = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(expected, i, item) {
        json_object_del((json_t *)item, "returns");
        json_object_del((json_t *)item, "delay");
        if (g_strcmp0(json_path_string(item, "call"), "ControllerUnpublishVolume") == 0)
            json_object_del((json_t *)item, "volumeContext"); /* CSI's has none */
        if (json_object_get(item, "secrets") != NULL)
            json_object_set_new((json_t *)item, "secrets", json_true());
    }
    json_array_foreach(script_driver_calls(world->driver), i, item)
        if (g_strcmp0(json_path_string(item, "call"), "ListVolumes") != 0)
            json_array_append_new(found, told_call(item));
    case_expect_json(world->self, "calls", expected, found);
    json_decref(expected);
    json_decref(found);
}

/* The recorded tests' API keeps what is being deleted and has no finalizer any more; a real one
 * does not. */
static gboolean
may_be_gone(const Case *self, const Object *wanted)
{
    const json_t *item;
    size_t i;

    if (wanted->finalizers != NULL)
        return FALSE;
    json_array_foreach(case_get(self, "args.triggers"), i, item)
        if (json_path_get(item, "object.metadata.deletionTimestamp") != NULL &&
            g_strcmp0(json_path_string(item, "object.metadata.name"), object_name(wanted)) == 0)
            return TRUE;
    json_array_foreach(case_get(self, "initial.api_objects"), i, item)
        if (json_path_get(item, "metadata.deletionTimestamp") != NULL &&
            g_strcmp0(json_path_string(item, "metadata.name"), object_name(wanted)) == 0)
            return TRUE;
    return FALSE;
}

static void
expect_objects(Case *self, const char *path)
{
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self, path), i, item) {
        const Object *wanted = case_object_of_manifest(self, item);
        const Object *found = api_server_get(self->api, wanted->key);
        if (found == NULL) {
            if (!may_be_gone(self, wanted))
                case_fail(self, "%s is not there", wanted->key->text);
            continue;
        }
        json_t *is = case_comparable(self, found), *should = case_comparable(self, wanted);
        json_object_del(json_object_get(is, "metadata"), "uid");
        json_object_del(json_object_get(is, "metadata"), "deletionTimestamp");
        json_object_del(json_object_get(should, "metadata"), "deletionTimestamp");
        case_expect_json(self, wanted->key->text, should, is);
        json_decref(is);
        json_decref(should);
    }
}

static void
run_queues(Case *self)
{
    ExternalAttacherWorld world;

    suite_external_attacher_world_begin(&world, self);
    tell_triggers(&world);
    process_queues(&world);
    expect_actions(&world);
    suite_external_attacher_expect_calls(&world);
    expect_objects(self, "expected.final_attachments");
    expect_objects(self, "expected.final_volumes");
    suite_external_attacher_world_end(&world);
}

/* ---- Pure functions ---- */

static void
suite_external_attacher_expect_text(Case *self, const char *path, const char *found)
{
    if (g_strcmp0(case_string(self, path), found) != 0)
        case_fail(self, "%s: %s", path, found);
}

static void
expect_flag(Case *self, const char *path, gboolean found)
{
    if (case_flag(self, path) != found)
        case_fail(self, "%s: %s", path, found ? "true" : "false");
}

static void
run_finalizer_name(Case *self)
{
    g_autofree char *name = attacher_finalizer(case_text(self, self->json, "args.driver"));

    suite_external_attacher_expect_text(self, "expected.result", name);
}

static void
run_sanitize(Case *self)
{
    g_autofree char *name = attacher_sanitize(case_text(self, self->json, "args.driver"));

    suite_external_attacher_expect_text(self, "expected.result", name);
}

static const Attachment *
attachment_of(Case *self, const char *path)
{
    const json_t *manifest = case_get(self, path);
    Object *object = case_object(self, manifest, KIND_ATTACHMENT);
    const char *version = json_path_string(manifest, "metadata.resourceVersion");

    object->resource_version = version == NULL ? 0 : g_ascii_strtoull(version, NULL, 10);
    return ATTACHMENT(object);
}

static void
run_queues_change(Case *self)
{
    expect_flag(
        self, "expected.enqueue",
        attacher_queues_change(attachment_of(self, "args.old"), attachment_of(self, "args.new")));
}

static void
run_has_work(Case *self)
{
    const Object *volume = case_object(self, case_get(self, "args.volume"), KIND_VOLUME);
    const char *finalizer = volume->finalizers == NULL ? "" : volume->finalizers->items[0];
    gboolean ours = g_str_has_prefix(finalizer, "external-attacher/");

    expect_flag(self, "expected.result", ours && attacher_volume_has_work(volume, finalizer));
}

static void
run_handle(Case *self)
{
    const Volume *volume = VOLUME(case_object(self, case_get(self, "args.volume"), KIND_VOLUME));
    gboolean is_csi = volume->source != NULL && volume->source->driver != NULL;

    expect_flag(self, "expected.error", !is_csi);
    suite_external_attacher_expect_text(self, "expected.handle",
                                        is_csi ? volume->source->handle : "");
    expect_flag(self, "expected.read_only", is_csi && volume->source->read_only);
}

/* A volume of these words, as the attacher asks for it. */
static Volume *
volume_of_words(Case *self)
{
    json_t *spec = json_pack("{s:{s:s, s:s}, s:O}", "csi", "driver", "driver", "volumeHandle", "v",
                             "accessModes", case_get(self, "args.access_modes"));
    json_t *manifest = json_pack("{s:o}", "spec", spec);

    if (case_get(self, "args.volume_mode") != NULL)
        json_object_set(spec, "volumeMode", (json_t *)case_get(self, "args.volume_mode"));
    if (case_get(self, "args.mount_options") != NULL)
        json_object_set(spec, "mountOptions", (json_t *)case_get(self, "args.mount_options"));
    if (case_get(self, "args.fs_type") != NULL)
        json_object_set(json_object_get(spec, "csi"), "fsType",
                        (json_t *)case_get(self, "args.fs_type"));
    Volume *volume = VOLUME(case_object(self, manifest, KIND_VOLUME));
    json_decref(manifest);
    return volume;
}

static json_t *
suite_external_attacher_capability_json(const CsiCapability *capability)
{
    gboolean mount = capability->type == CSI_ACCESS_MOUNT;
    json_t *access = json_object(), *flags = json_array();

    for (unsigned i = 0;
         mount && capability->mount_flags != NULL && i < capability->mount_flags->n_items; i++)
        json_array_append_new(flags, json_string(capability->mount_flags->items[i]));
    if (mount && capability->fs_type != NULL && capability->fs_type[0] != '\0')
        json_object_set_new(access, "fsType", json_string(capability->fs_type));
    if (json_array_size(flags) > 0)
        json_object_set(access, "mountFlags", flags);
    json_decref(flags);
    return json_pack("{s:{s:s}, s:o}", "accessMode", "mode", csi_access_mode_name(capability->mode),
                     mount ? "mount" : "block", access);
}

static void
run_capability(Case *self)
{
    const char *fs_type = case_string(self, "args.default_fstype");
    ExternalAttacherOptions options = {.default_fstype = fs_type == NULL ? "" : fs_type};
    ExternalAttacher attacher = {
        .options = &options,
        .multi_writer = case_flag(self, "args.single_node_multi_writer_capability"),
    };
    CsiCapability capability;
    const char *error;
    gboolean is_sound = attacher_capability(&attacher, volume_of_words(self), &capability, &error);

    expect_flag(self, "expected.error", !is_sound);
    if (!is_sound)
        return;
    json_t *found = suite_external_attacher_capability_json(&capability);
    case_expect_json(self, "capability", case_get(self, "expected.capability"), found);
    json_decref(found);
}

/* ---- Single calls ---- */

typedef struct {
    Case *self;
    ScriptDriver *driver;
    json_t *context;
    CsiCode code;
} ExternalAttacherCall;

static void
suite_external_attacher_answer_call(void *data,
                                    unsigned number,
                                    const CsiRequest *request,
                                    CsiResponse *response)
{
    ExternalAttacherCall *call = data;
    Case *self = call->self;
    const char *code = case_text(self, self->json, "inject.driver_code");
    char *end;

    (void)number;
    (void)request;
    response->code = (CsiCode)g_ascii_strtoull(code, &end, 10);
    if (end == code && !csi_code_parse(code, &response->code))
        case_fail(self, "no such code: %s", code);
    response->message = response->code == CSI_OK ? NULL : "injected";
    response->publish_context = script_driver_keep(
        call->driver, script_map(self, case_get(self, "expected.publish_context")), map_unref);
}

static void
call_replied(void *data, const CsiResponse *response)
{
    ExternalAttacherCall *call = data;

    call->code = response->code;
    if (response->publish_context != NULL)
        call->context = script_map_json(response->publish_context);
}

static void
run_call(Case *self)
{
    static const WorldOptions options = {.only = &external_attacher_class};
    gboolean publishes = g_str_has_suffix(case_string(self, "act"), "ControllerPublishVolume");
    ExternalAttacherCall call = {.self = self};
    ScriptOptions script = {.answer = suite_external_attacher_answer_call, .data = &call};
    CsiRequest request = {
        .method = publishes ? CSI_CONTROLLER_PUBLISH_VOLUME : CSI_CONTROLLER_UNPUBLISH_VOLUME,
        .volume_id = case_string(self, "args.volume_id"),
        .node_id = case_string(self, "args.node_id"),
        .readonly = case_flag(self, "args.read_only"),
    };

    case_world_new(self, &options);
    ScriptDriver *driver = call.driver = script_driver_new(self, "driver", &script);
    csi_driver_call(script_driver_base(driver), &request, call_replied, &call);
    case_wait(self, SIM_SECOND);
    expect_flag(self, "expected.error", call.code != CSI_OK);
    if (call.context != NULL || case_get(self, "expected.publish_context") != NULL)
        case_expect_json(self, "context", case_get(self, "expected.publish_context"), call.context);
    json_decref(call.context);
    cluster_free(self->cluster);
    self->cluster = NULL;
    csi_driver_free(script_driver_base(driver));
}

static const Act external_attacher_acts[] = {
    {"enqueue, then process queues until empty", run_queues        },
    {"finalizerName",                            run_finalizer_name},
    {"sanitizeDriverName",                       run_sanitize      },
    {"shouldEnqueueAttachmentUpdate",            run_queues_change },
    {"volumeNeedsFinalizerProcessing",           run_has_work      },
    {"volumeHandle",                             run_handle        },
    {"volumeCapability",                         run_capability    },
    {"csi ControllerPublishVolume",              run_call          },
    {"csi ControllerUnpublishVolume",            run_call          },
    {NULL,                                       NULL              },
};

const Suite external_attacher_suite = {"external_attacher", external_attacher_acts};
