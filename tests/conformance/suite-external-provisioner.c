/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/external-provisioner/attempt.h"
#include "models/external-provisioner/provisioner-test.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/script-driver.h"

#include <string.h>

/* The external-provisioner: single attempts and deletions as the provision loop hands them over,
 * and pure functions. */

typedef struct {
    Case *self;
    ScriptDriver *driver;
    ExternalProvisioner *provisioner;
} ExternalProvisionerWorld;

static void
map_unref(void *map)
{
    string_map_unref(map);
}

/* ---- Answers as the case has them ---- */

static int64_t
suite_external_provisioner_bytes_of(const json_t *text)
{
    return json_is_string(text) ? g_ascii_strtoll(json_string_value(text), NULL, 10) : 0;
}

static void
answer_topology(ExternalProvisionerWorld *world, const json_t *places, CsiResponse *response)
{
    unsigned n = (unsigned)json_array_size(places);
    const StringMap **segments =
        script_driver_keep(world->driver, g_new0(const StringMap *, n + 1), g_free);

    for (unsigned i = 0; i < n; i++)
        segments[i] = script_driver_keep(
            world->driver,
            script_map(world->self, json_object_get(json_array_get(places, i), "segments")),
            map_unref);
    response->accessible_topology = segments;
    response->n_accessible_topology = n;
}

static void
answer_volume(ExternalProvisionerWorld *world, const json_t *volume, CsiResponse *response)
{
    Strings *strings = objects_strings(world->self->objects);
    const json_t *source = json_object_get(volume, "contentSource");

    response->volume_id = strings_intern(strings, json_path_string(volume, "volumeId"));
    response->capacity_bytes =
        suite_external_provisioner_bytes_of(json_object_get(volume, "capacityBytes"));
    response->source_kind = json_object_get(source, "volume") != NULL     ? CSI_SOURCE_VOLUME
                            : json_object_get(source, "snapshot") != NULL ? CSI_SOURCE_SNAPSHOT
                                                                          : CSI_SOURCE_NONE;
    if (json_object_get(volume, "accessibleTopology") != NULL)
        answer_topology(world, json_object_get(volume, "accessibleTopology"), response);
}

static void
suite_external_provisioner_answer(void *data,
                                  unsigned number,
                                  const CsiRequest *request,
                                  CsiResponse *response)
{
    ExternalProvisionerWorld *world = data;
    Case *self = world->self;
    const json_t *call = json_array_get(case_get(self, "expected.csi_calls"), number);
    const char *code = json_path_string(call, "error_code");

    if (code != NULL) {
        response->message = "injected";
        if (!csi_code_parse(code, &response->code))
            case_fail(self, "no such code: %s", code);
    } else if (request->method == CSI_CREATE_VOLUME) {
        answer_volume(world, json_path_get(call, "response.volume"), response);
    }
}

/* ---- The world ---- */

/* Returns: (owned): the case's gates as the value of --feature-gates */
static char *
gates_text(const Case *self)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)case_get(self, "feature_gates"), name, value) /* only read */
        if (json_is_boolean(value))
            g_string_append_printf(text, "%s%s=%s", text->len == 0 ? "" : ",", name,
                                   json_is_true(value) ? "true" : "false");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void *
suite_external_provisioner_options_of(void *data, const ProcessClass *class)
{
    Case *self = data;
    Strings *strings = objects_strings(self->objects);
    ExternalProvisionerOptions *options;
    const char *fs_type = case_string(self, "config.defaultFSType");

    if (class != &external_provisioner_process)
        return NULL;
    g_autofree char *gates = gates_text(self);
    options = process_options_new(class, strings);
    options->common.n_workers = 0; /* only what the case does */
    options->cloning_protection_threads = 0;
    options->default_fstype = strings_intern(strings, fs_type == NULL ? "" : fs_type);
    options->controller_publish_readonly = case_flag(self, "config.controllerPublishReadOnly");
    options->extra_create_metadata = case_flag(self, "config.extraCreateMetadata");
    options->strict_topology = case_flag(self, "config.strictTopology");
    options->immediate_topology = case_flag(self, "config.immediateTopology");
    options->prevent_volume_mode_conversion = case_flag(self, "config.preventVolumeModeConversion");
    options->feature_gates = strings_intern(strings, gates);
    if (case_string(self, "config.volumeNamePrefix") != NULL)
        options->volume_name_prefix =
            strings_intern(strings, case_string(self, "config.volumeNamePrefix"));
    if (case_get(self, "config.volumeNameUUIDLength") != NULL)
        options->volume_name_uuid_length =
            (int32_t)json_integer_value(case_get(self, "config.volumeNameUUIDLength"));
    return options;
}

static void
import_one(Case *self, const char *path, ObjectKind kind)
{
    if (case_get(self, path) != NULL)
        case_import_object(self, case_object(self, case_get(self, path), kind), CASE_API);
}

static void
import_initial(Case *self)
{
    case_import(self, "initial.claims", KIND_CLAIM, CASE_API);
    case_import(self, "initial.volumes", KIND_VOLUME, CASE_API);
    case_import(self, "initial.classes", KIND_STORAGE_CLASS, CASE_API);
    case_import(self, "initial.nodes", KIND_NODE, CASE_API);
    case_import(self, "initial.csinodes", KIND_CSI_NODE, CASE_API);
    case_import(self, "initial.secrets", KIND_SECRET, CASE_API);
    case_import(self, "initial.vacs", KIND_ATTRIBUTES_CLASS, CASE_API);
    import_one(self, "initial.snapshot", KIND_VOLUME_SNAPSHOT);
    import_one(self, "initial.snapshot_content", KIND_SNAPSHOT_CONTENT);
    import_one(self, "initial.source_claim", KIND_CLAIM);
    import_one(self, "args.volume", KIND_VOLUME);
    import_one(self, "args.selected_node", KIND_NODE);
}

static void
suite_external_provisioner_world_begin(ExternalProvisionerWorld *world, Case *self)
{
    static const WorldOptions options = {.only = &external_provisioner_class};
    const char *driver = case_string(self, "config.driver");
    ScriptOptions script = {
        .plugin = script_plugin_capabilities(case_get(self, "config.pluginCapabilities")),
        .controller =
            script_controller_capabilities(case_get(self, "config.controllerCapabilities")),
        .answer = suite_external_provisioner_answer,
        .data = world,
    };
    NodePluginOptions plugin = {.preregistered = TRUE};

    if (driver == NULL)
        driver = "test-driver";
    if (case_get(self, "config.pluginCapabilities") == NULL) {
        script.plugin = CSI_PLUGIN_CONTROLLER_SERVICE;
        script.controller = CSI_CONTROLLER_CREATE_DELETE_VOLUME | CSI_CONTROLLER_CLONE_VOLUME;
    }
    case_world_new(self, &options);
    import_initial(self);
    world->self = self;
    world->driver = script_driver_new(self, driver, &script);
    cluster_add_driver(self->cluster, script_driver_base(world->driver), driver, &plugin,
                       suite_external_provisioner_options_of, self);
    case_start(self, &options);
    case_wait(self, SIM_SECOND);
    world->provisioner = cluster_model(self->cluster, &external_provisioner_class, driver);
    if (case_string(self, "config.identity") != NULL)
        world->provisioner->identity =
            strings_intern(objects_strings(self->objects), case_string(self, "config.identity"));
    case_forget(self);
}

static void
suite_external_provisioner_world_end(ExternalProvisionerWorld *world)
{
    cluster_free(world->self->cluster);
    world->self->cluster = NULL;
    csi_driver_free(script_driver_base(world->driver));
}

/* ---- Comparing calls ---- */

static int
compare_json(const void *a, const void *b)
{
    char *x = json_dumps(*(json_t *const *)a, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    char *y = json_dumps(*(json_t *const *)b, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    int order = strcmp(x, y);

    free(x);
    free(y);
    return order;
}

/* What is a set is sorted: modes, requisite places. */
static void
sort_list(json_t *list)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new();
    json_t *item;
    size_t i;

    if (!json_is_array(list))
        return;
    json_array_foreach(list, i, item)
        g_ptr_array_add(items, json_incref(item));
    g_ptr_array_sort(items, compare_json);
    json_array_clear(list);
    for (unsigned k = 0; k < items->len; k++)
        json_array_append_new(list, items->pdata[k]);
}

/* Of secrets our drivers know only whether there are any. */
static json_t *
comparable_calls(const json_t *calls)
{
    json_t *list = json_array(), *call;
    size_t i;

    json_array_foreach(calls, i, call) {
        json_t *request = json_deep_copy(json_object_get(call, "request"));
        if (json_object_get(request, "secrets") != NULL)
            json_object_set_new(request, "secrets", json_true());
        sort_list(json_object_get(request, "volumeCapabilities"));
        sort_list(
            json_object_get(json_object_get(request, "accessibilityRequirements"), "requisite"));
        json_array_append_new(list, json_pack("{s:O, s:o}", "call", json_object_get(call, "call"),
                                              "request", request));
    }
    return list;
}

static void
suite_external_provisioner_expect_calls(const ExternalProvisionerWorld *world)
{
    json_t *expected = comparable_calls(case_get(world->self, "expected.csi_calls"));
    json_t *found = comparable_calls(script_driver_calls(world->driver));

    case_expect_json(world->self, "calls", expected, found);
    json_decref(expected);
    json_decref(found);
}

/* ---- Provision ---- */

/* Modes are a set; a policy that the class does not tell the API server adds. */
static json_t *
comparable_volume(Case *self, const Object *volume, gboolean has_policy)
{
    json_t *json = case_comparable(self, volume), *spec = json_object_get(json, "spec");

    sort_list(json_object_get(spec, "accessModes"));
    if (!has_policy)
        json_object_del(spec, "persistentVolumeReclaimPolicy");
    return json;
}

/* What the provision loop adds to the driver's volume, and the recorded tests do not see. */
static void
expect_volume(const ExternalProvisionerWorld *world, const ProvisionAttempt *attempt)
{
    Case *self = world->self;
    const json_t *manifest = case_get(self, "expected.volume");

    if ((manifest != NULL) != (attempt->volume != NULL)) {
        case_fail(self, attempt->volume != NULL ? "a volume was made" : "no volume was made");
        return;
    }
    if (manifest == NULL)
        return;
    Volume *volume = VOLUME(object_edit(&attempt->volume->meta));
    object_set_annotation(&volume->meta, world->provisioner->provisioned_by_key, NULL);
    g_clear_pointer(&volume->meta.finalizers, string_list_unref);
    volume->class_name = NULL;
    volume->claim_ref = (ClaimReference){0};
    gboolean has_policy = json_path_get(manifest, "spec.persistentVolumeReclaimPolicy") != NULL;
    json_t *wanted = comparable_volume(self, case_object(self, manifest, KIND_VOLUME), has_policy);
    json_t *found = comparable_volume(self, &volume->meta, has_policy);
    case_expect_json(self, "volume", wanted, found);
    json_decref(wanted);
    json_decref(found);
    object_unref(&volume->meta);
}

static void
expect_source_finalizers(Case *self)
{
    const char *name;
    json_t *wanted;

    json_object_foreach((json_t *)case_get(self, "expected.source_claim_finalizers"), name,
                        wanted) {
        const Object *claim = api_server_get(self->api, case_key(self, KIND_CLAIM, name));
        json_t *found = json_array();
        for (unsigned i = 0;
             claim != NULL && claim->finalizers != NULL && i < claim->finalizers->n_items; i++)
            json_array_append_new(found, json_string(claim->finalizers->items[i]));
        case_expect_json(self, name, wanted, found);
        json_decref(found);
    }
}

/* The recorded tests' calls end before the loop stores the volume, or takes the node from the
 * claim.
 */
static void
forget_writes_of_loop(Case *self, const ObjectKey *claim)
{
    for (size_t i = json_array_size(self->writes); i > 0; i--) {
        const json_t *write = json_array_get(self->writes, i - 1);
        const char *resource = json_path_string(write, "resource");
        gboolean is_volume = g_strcmp0(resource, "persistentvolumes") == 0 &&
                             g_strcmp0(json_path_string(write, "verb"), "get") != 0;
        gboolean is_claim = g_strcmp0(resource, "persistentvolumeclaims") == 0 &&
                            g_strcmp0(json_path_string(write, "name"), claim->name) == 0;
        if (is_volume || is_claim)
            json_array_remove(self->writes, i - 1);
    }
}

static const char *
state_word(ProvisionState state)
{
    static const char *const words[] = {"Finished", "Background", "NoChange", "Reschedule"};

    return words[state];
}

/* The attempt as the loop begins it. */
static ObjectKey *
begin_attempt(const ExternalProvisionerWorld *world)
{
    Case *self = world->self;
    ExternalProvisioner *provisioner = world->provisioner;
    json_t *manifest = json_deep_copy(case_get(self, "args.claim"));
    const char *node = case_string(self, "args.selected_node.metadata.name");
    const char *uid = json_path_string(manifest, "metadata.uid");
    g_autofree char *name = provisioner_volume_name(provisioner->options, uid == NULL ? "" : uid);
    Object *claim = case_object(self, manifest, KIND_CLAIM);
    PlanChange begin = {.what = CHANGE_BEGIN,
                        .key = objects_key(self->objects, KIND_VOLUME, NULL, name),
                        .object = claim};
    Strings *strings = objects_strings(self->objects);

    if (node != NULL)
        object_set_annotation(claim, strings_intern(strings, ANNOTATION_SELECTED_NODE),
                              strings_intern(strings, node));
    if (case_get(self, "args.class") != NULL) {
        Object *class = case_object(self, case_get(self, "args.class"), KIND_STORAGE_CLASS);
        begin.pointer = class_info_new(provisioner, STORAGE_CLASS(class));
        g_ptr_array_add(provisioner->old_class_infos, (void *)begin.pointer);
    }
    external_provisioner_class.apply_change(provisioner, &begin);
    json_decref(manifest);
    return (ObjectKey *)begin.key;
}

static void
run_provision(Case *self)
{
    ExternalProvisionerWorld world;

    suite_external_provisioner_world_begin(&world, self);
    ObjectKey *key = begin_attempt(&world);
    case_run_plan(self, world.provisioner, decide_provision, key);
    const ProvisionAttempt *attempt = g_hash_table_lookup(world.provisioner->attempts, key);
    gboolean ignored = !self->plan_failed && attempt->volume == NULL;
    if (case_flag(self, "expected.error") != (self->plan_failed || ignored))
        case_fail(self, self->plan_failed ? "it failed: %s" : "it did not fail",
                  self->plan_message);
    if (g_strcmp0(case_string(self, "expected.state"), state_word(attempt->state)) != 0)
        case_fail(self, "state %s", state_word(attempt->state));
    suite_external_provisioner_expect_calls(&world);
    expect_volume(&world, attempt);
    forget_writes_of_loop(self, attempt->claim->meta.key);
    case_expect_writes(self, "expected.api_writes");
    expect_source_finalizers(self);
    suite_external_provisioner_world_end(&world);
}

/* ---- Delete, ShouldProvision, claims that are copied ---- */

static void
suite_external_provisioner_decide_delete(const void *data, Plan *plan)
{
    const ExternalProvisioner *provisioner = data;

    plan_delete_volume(provisioner, plan,
                       VOLUME_CONST(informer_get(provisioner->volumes, plan_key(plan))));
}

static void
run_delete(Case *self)
{
    ExternalProvisionerWorld world;
    const char *name = case_string(self, "args.volume.metadata.name");

    suite_external_provisioner_world_begin(&world, self);
    case_run_plan(self, world.provisioner, suite_external_provisioner_decide_delete,
                  case_key(self, KIND_VOLUME, name == NULL ? "-" : name));
    case_expect_error(self, "expected.error");
    suite_external_provisioner_expect_calls(&world);
    suite_external_provisioner_world_end(&world);
}

static gboolean
was_begun(const Case *self)
{
    const json_t *event;
    size_t i;

    json_array_foreach(self->events, i, event) {
        if (g_strcmp0(json_path_string(event, "reason"), "Provisioning") == 0)
            return TRUE;
    }
    return FALSE;
}

/* The loop asks, and goes on at once: it looks for the class, which many cases lack, and begins. */
static void
run_should_provision(Case *self)
{
    ExternalProvisionerWorld world;

    suite_external_provisioner_world_begin(&world, self);
    Object *claim = case_object(self, case_get(self, "args.claim"), KIND_CLAIM);
    ObjectKey *key = case_key(self, KIND_VOLUME, "pvc");
    g_hash_table_insert(world.provisioner->in_progress, key, object_ref(claim));
    case_run_plan(self, world.provisioner, decide_claim, key);
    gboolean wanted = self->plan_failed || was_begun(self);
    if (wanted != case_flag(self, "expected.result"))
        case_fail(self, "result %s", wanted ? "true" : "false");
    suite_external_provisioner_world_end(&world);
}

static void
run_clone_source(Case *self)
{
    ExternalProvisionerWorld world;
    const json_t *manifest = case_get(self, "initial.source_claim");

    suite_external_provisioner_world_begin(&world, self);
    ObjectKey *key = (ObjectKey *)case_object(self, manifest, KIND_CLAIM)->key;
    case_run_plan(self, world.provisioner, decide_clone_source, key);
    case_expect_error(self, "expected.error");
    gboolean kept = object_has_finalizer(api_server_get(self->api, key), FINALIZER_CLONE);
    if (kept != case_flag(self, "expected.finalizer_kept"))
        case_fail(self, kept ? "the finalizer is still there" : "the finalizer is gone");
    suite_external_provisioner_world_end(&world);
}

static void
run_enqueue_claim(Case *self)
{
    const Object *claim = case_object(self, case_get(self, "args.claim"), KIND_CLAIM);
    json_int_t length = clone_source_is_queued(CLAIM_CONST(claim));

    if (length != json_integer_value(case_get(self, "expected.queue_length")))
        case_fail(self, "queue length %d", (int)length);
}

/* ---- Pure functions ---- */

static void
expect_error(Case *self, const char *error)
{
    if (case_flag(self, "expected.error") != (error != NULL))
        case_fail(self, error == NULL ? "no error" : "error: %s", error);
}

static void
run_parameters(Case *self)
{
    g_autofree char *error = NULL;
    g_autoptr(StringMap) parameters = script_map(self, case_get(self, "args.parameters"));
    g_autoptr(StringMap) passed = class_pass_parameters(parameters, &error);
    json_t *found = script_map_json(passed);

    expect_error(self, error);
    if (error == NULL)
        case_expect_json(self, "parameters", case_get(self, "expected.parameters"), found);
    json_decref(found);
}

static void
run_quantity(Case *self)
{
    char text[QUANTITY_BUFFER];

    quantity_format(json_integer_value(case_get(self, "args.bytes")), text);
    if (g_strcmp0(text, case_string(self, "expected.quantity")) != 0)
        case_fail(self, "%s", text);
}

static const struct {
    const char *kind;
    SecretUse use;
} secret_uses[] = {
    {"Provisioner",       SECRET_USE_PROVISIONER       },
    {"ControllerPublish", SECRET_USE_CONTROLLER_PUBLISH},
    {"NodeStage",         SECRET_USE_NODE_STAGE        },
    {"NodePublish",       SECRET_USE_NODE_PUBLISH      },
    {"ControllerExpand",  SECRET_USE_CONTROLLER_EXPAND },
    {"NodeExpand",        SECRET_USE_NODE_EXPAND       },
    {"Default",           SECRET_USE_DEFAULT           },
};

static void
run_secret(Case *self)
{
    const json_t *manifest = case_get(self, "args.claim");
    const Object *claim = manifest == NULL ? NULL : case_object(self, manifest, KIND_CLAIM);
    g_autoptr(StringMap) parameters = script_map(self, case_get(self, "args.parameters"));
    SecretUse use = N_SECRET_USES;
    SecretReference reference;

    for (unsigned i = 0; i < G_N_ELEMENTS(secret_uses); i++)
        if (g_strcmp0(secret_uses[i].kind, case_string(self, "args.kind")) == 0)
            use = secret_uses[i].use;
    if (use == N_SECRET_USES) {
        case_fail(self, "no such use of secrets: %s", case_string(self, "args.kind"));
        return;
    }
    g_autofree char *error = secret_resolve(
        objects_strings(self->objects), use, parameters, case_string(self, "args.pv_name"),
        claim == NULL ? NULL : claim->key, claim == NULL ? NULL : claim->annotations, &reference);
    json_t *found = reference.name == NULL ? NULL
                                           : json_pack("{s:s, s:s}", "name", reference.name,
                                                       "namespace", reference.namespace);
    expect_error(self, error);
    if (found != NULL || case_get(self, "expected.reference") != NULL)
        case_expect_json(self, "reference", case_get(self, "expected.reference"), found);
    json_decref(found);
}

static const Act external_provisioner_acts[] = {
    {"Provision",                run_provision       },
    {"Delete",                   run_delete          },
    {"ShouldProvision",          run_should_provision},
    {"syncCloneSource",          run_clone_source    },
    {"enqueueClaimUpdate",       run_enqueue_claim   },
    {"removePrefixedParameters", run_parameters      },
    {"bytesToQuantity",          run_quantity        },
    {"secretReference",          run_secret          },
    {NULL,                       NULL                },
};

const Suite external_provisioner_suite = {"external_provisioner", external_provisioner_acts};
