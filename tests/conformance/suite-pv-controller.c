/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/client/process-private.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/pv-controller/pv-controller-private.h"
#include "models/pv-controller/pv-controller-test.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/engine.h"
#include "tests/conformance/script-driver.h"
#include "tests/conformance/stories/story.h"

#include <stdio.h>
#include <string.h>

/* The PV controller: single syncs, syncs until nothing changes, and the whole controller. */

#define PASSES_MAX 50 /* of syncs of all objects, until one writes nothing */

/* No resync comes into a single sync. */
static void
set_no_resync(Case *self, const ProcessClass *class, void *process_options)
{
    KubeControllerManagerOptions *options = process_options;

    (void)self;
    (void)class;
    options->pvclaimbinder_sync_period = INT64_C(100000) * 3600 * SIM_SECOND;
}

static const WorldOptions sync_world = {
    .only = &pv_controller_class,
    .set_options = set_no_resync,
};

static void *
controller_of(const Case *self)
{
    return case_model(self, &pv_controller_class);
}

/* ---- Changes by somebody else, just before an asynchronous operation starts ---- */

static void
change_api(Case *self, const char *op, Object *object)
{
    ApiRequest request = {
        .verb = API_DELETE, .key = (ObjectKey *)object->key, .grace_s = -1, .client = "somebody"};
    ApiResponse response;

    if (strcmp(op, "delete") != 0)
        api_server_import(self->api, object_edit(object));
    else
        api_server_commit(self->api, &request, &response);
}

static void
change_cache(Case *self, const char *op, Object *object)
{
    PvCache *cache = pv_controller_cache(controller_of(self));
    const Object *stored = api_server_get(self->api, object->key);
    const Object *known = pv_cache_get(cache, object->key);

    if (strcmp(op, "delete") == 0) {
        pv_cache_forget(cache, object->key);
        return;
    }
    if (!object_uid_is_set(object->uid) && stored != NULL)
        object->uid = stored->uid;
    object->resource_version = MAX(stored == NULL ? 1 : stored->resource_version,
                                   known == NULL ? 1 : known->resource_version);
    pv_cache_store(cache, object);
}

/* A deletion tells only a name. */
static Object *
changed_object(Case *self, const json_t *change)
{
    const json_t *manifest = json_object_get(change, "object");
    const char *kind = json_path_string(change, "kind");
    json_t *made = manifest != NULL ? json_deep_copy(manifest)
                                    : json_pack("{s:{s:s}}", "metadata", "name",
                                                json_path_string(change, "name"));

    json_object_set_new(made, "kind", json_string(kind == NULL ? "" : kind));
    Object *object = case_object_of_manifest(self, made);
    json_decref(made);
    return object;
}

static void
somebody_changes(Case *self, unsigned number)
{
    g_autofree char *when = g_strdup_printf("before asynchronous operation %u starts", number);
    const json_t *item, *change;
    size_t i, k;

    json_array_foreach(case_get(self, "inject.before_operation"), i, item) {
        if (g_strcmp0(json_path_string(item, "when"), when) != 0)
            continue;
        json_array_foreach(json_object_get(item, "changes"), k, change) {
            const char *op = json_path_string(change, "op");
            Object *object = changed_object(self, change);
            if (g_strcmp0(json_path_string(change, "where"), "cache") == 0)
                change_cache(self, op, object);
            else
                change_api(self, op, object);
        }
    }
}

/* ---- The recorded tests' in-tree plugin ---- */

#define MOCK_PLUGIN "kubernetes.io/mock-volume"
#define PLUGIN "kubernetes.io/gce-pd"
#define PLUGIN_WITHOUT_OPTIONS "kubernetes.io/portworx-volume"

typedef struct {
    Case *self;
    const json_t *json;   /* of the case */
    json_t *copy;         /* (owned): in its place; NULL: there is no plugin */
    ScriptDriver *driver; /* (owned) */
    unsigned n_created, n_deleted;
} MockPlugin;

static void
answer_plugin(void *data, unsigned number, const CsiRequest *request, CsiResponse *response)
{
    MockPlugin *plugin = data;
    const json_t *results = NULL;
    const char *result = NULL;

    (void)number;
    if (request->method == CSI_CREATE_VOLUME) {
        results = case_get(plugin->self, "plugin.provision_calls");
        result = json_path_string(json_array_get(results, plugin->n_created++), "result");
        response->volume_id = "disk";
    } else if (request->method == CSI_DELETE_VOLUME) {
        results = case_get(plugin->self, "plugin.delete_results");
        result = json_string_value(json_array_get(results, plugin->n_deleted++));
    }
    if (g_strcmp0(result, "ok") == 0)
        return;
    response->code = CSI_INTERNAL;
    response->message = result == NULL ? "no calls configured" : "injected";
}

/* A volume is called after the uid of its claim. */
static void
rename_volumes(const json_t *json, GString *text)
{
    const json_t *claim;
    size_t i;

    json_array_foreach(json_path_get(json, "initial.claims"), i, claim) {
        const char *uid = json_path_string(claim, "metadata.uid");
        g_autofree char *real = case_uid(uid == NULL ? "" : uid);
        g_autofree char *old = g_strdup_printf("\"pvc-%s\"", uid == NULL ? "" : uid);
        g_autofree char *new = g_strdup_printf("\"pvc-%s\"", real);
        g_string_replace(text, old, new, 0);
    }
}

/* The plugin of the tests becomes one that the model knows and that has not migrated; the disk of
 * its volumes gets a name. */
static json_t *
with_plugin(const json_t *json)
{
    gboolean has_options = json_path_get(json_array_get(json_path_get(json, "storage_classes"), 0),
                                         "mountOptions") != NULL;
    g_autofree char *text = json_dumps(json, 0);
    g_autoptr(GString) replaced = g_string_new(text);
    json_t *copy, *volume;
    size_t i;

    rename_volumes(json, replaced);
    g_string_replace(replaced, MOCK_PLUGIN, has_options ? PLUGIN_WITHOUT_OPTIONS : PLUGIN, 0);
    copy = json_loads(replaced->str, 0, NULL);
    json_object_set_new(json_object_get(copy, "feature_gates"), "CSIMigrationGCE", json_false());
    json_object_set_new(json_object_get(copy, "feature_gates"), "CSIMigrationPortworx",
                        json_false());
    json_array_foreach(json_path_get(copy, "expected.volumes"), i, volume)
        if (g_str_has_prefix(json_path_string(volume, "metadata.name"), "pvc-") &&
            json_object_get(json_path_get(volume, "metadata.annotations"),
                            ANNOTATION_PROVISIONED_BY) != NULL)
            json_object_set_new(json_object_get(volume, "spec"), "gcePersistentDisk",
                                json_pack("{s:s, s:s}", "pdName", "disk", "fsType", "ext4"));
    return copy;
}

static void *
suite_pv_controller_no_options(void *data, const ProcessClass *class)
{
    (void)data;
    (void)class;
    return NULL;
}

static void
plugin_begin(MockPlugin *plugin, Case *self)
{
    *plugin = (MockPlugin){.self = self, .json = self->json};
    if (case_get(self, "plugin") != NULL)
        self->json = plugin->copy = with_plugin(self->json);
}

static void
plugin_add(MockPlugin *plugin)
{
    static const NodePluginOptions in_process = {.in_process = TRUE};
    Cluster *cluster = plugin->self->cluster;
    ScriptOptions script = {.answer = answer_plugin, .data = plugin};

    if (plugin->copy == NULL)
        return;
    plugin->driver = script_driver_new(plugin->self, PLUGIN, &script);
    cluster_add_driver(cluster, script_driver_base(plugin->driver), PLUGIN, &in_process,
                       suite_pv_controller_no_options, NULL);
    cluster_add_driver(cluster, script_driver_base(plugin->driver), PLUGIN_WITHOUT_OPTIONS,
                       &in_process, suite_pv_controller_no_options, NULL);
}

static void
plugin_end(MockPlugin *plugin)
{
    if (plugin->copy == NULL)
        return;
    cluster_free(plugin->self->cluster);
    plugin->self->cluster = NULL;
    csi_driver_free(script_driver_base(plugin->driver));
    plugin->self->json = plugin->json;
    json_decref(plugin->copy);
}

/* The recorded API server keeps the phase that a volume is created with, and has no admission; ours
 * begins with Pending (PVC-90) and protects it. */
static void
take_created_as_written(Case *self)
{
    const json_t *write;
    size_t i;

    json_array_foreach(self->writes, i, write) {
        ObjectKey *key = case_key(self, KIND_VOLUME, json_path_string(write, "name"));
        const Object *stored = api_server_get(self->api, key);
        if (strcmp(json_path_string(write, "verb"), "create") != 0 || stored == NULL)
            continue;
        const char *phase = json_path_string(write, "object.status.phase");
        Object *volume = object_edit(stored);
        edit_remove_finalizer(
            volume, strings_intern(objects_strings(self->objects), FINALIZER_PV_PROTECTION));
        if (VOLUME(volume)->phase == VOLUME_PENDING && g_strcmp0(phase, "Bound") == 0)
            VOLUME(volume)->phase = VOLUME_BOUND;
        api_server_import(self->api, volume);
    }
}

/* ---- Single syncs ---- */

/* Into the API, and into the private copies unless the case says otherwise. */
static void
import_known(Case *self, const char *path, ObjectKind kind)
{
    const json_t *manifest;
    size_t i;

    case_import(self, path, kind, CASE_API);
    json_array_foreach(case_get(self, path), i, manifest) {
        if (case_is_api_only(manifest))
            continue;
        Object *object = case_object(self, manifest, kind);
        const Object *stored = api_server_get(self->api, object->key);
        gboolean is_stored =
            !object_uid_is_set(object->uid) || object_uid_equal(stored->uid, object->uid);
        /* Of a newer one of the same name the cache knows nothing. */
        object->resource_version = stored->resource_version - 1;
        pv_cache_store(pv_controller_cache(controller_of(self)), is_stored ? stored : object);
    }
}

static void
set_up_sync(Case *self, MockPlugin *plugin)
{
    static const char node[] = "{\"metadata\": {\"name\": \"node1\"}}";
    json_t *manifest = json_loads(node, 0, NULL);

    case_world_new(self, &sync_world);
    if (plugin != NULL)
        plugin_add(plugin);
    case_start(self, &sync_world);
    case_import_object(self, case_object(self, manifest, KIND_NODE), CASE_API | CASE_INFORMER);
    json_decref(manifest);
    pv_controller_hold(controller_of(self));
    case_import(self, "storage_classes", KIND_STORAGE_CLASS, CASE_API | CASE_INFORMER);
    case_import(self, "initial.pods", KIND_POD, CASE_API | CASE_INFORMER);
    import_known(self, "initial.volumes", KIND_VOLUME);
    import_known(self, "initial.claims", KIND_CLAIM);
    self->before_start = somebody_changes;
}

/* One sync with this version, as if its event had come. */
static void
sync_object(Case *self, const Object *object)
{
    ObjectKind kind = object_kind(object);

    informer_put(case_informer(self, &pv_controller_class, kind), object);
    case_run_plan(self, controller_of(self),
                  kind == KIND_CLAIM ? pv_controller_sync_claim : pv_controller_sync_volume,
                  (ObjectKey *)object->key);
}

/* The first sync, of the object that the case names. Returns: FALSE: there is none */
static gboolean
sync_named(Case *self, ObjectKind kind)
{
    const char *path = kind == KIND_CLAIM ? "initial.claims" : "initial.volumes";
    ObjectKey *key = case_find_key(self, path, kind, case_string(self, "args.object"));
    const Object *object =
        key == NULL ? NULL : pv_cache_get(pv_controller_cache(controller_of(self)), key);

    if (object == NULL) {
        case_fail(self, "no object to sync");
        return FALSE;
    }
    sync_object(self, object);
    return TRUE;
}

static void
expect_state(Case *self)
{
    case_expect_objects(self, "expected.volumes", KIND_VOLUME);
    case_expect_objects(self, "expected.claims", KIND_CLAIM);
}

static void
run_single(Case *self, ObjectKind kind)
{
    MockPlugin plugin;

    plugin_begin(&plugin, self);
    set_up_sync(self, &plugin);
    if (sync_named(self, kind)) {
        case_expect_error(self, "expected.error");
        case_expect_writes(self, "observed.writes");
        case_expect_events(self, "observed.events", TRUE);
        take_created_as_written(self);
        expect_state(self);
    }
    plugin_end(&plugin);
}

static void
run_sync_claim(Case *self)
{
    run_single(self, KIND_CLAIM);
}

static void
run_sync_volume(Case *self)
{
    run_single(self, KIND_VOLUME);
}

/* ---- Until nothing changes ---- */

/* What was written comes back, in the order of the writes. A deleted object is gone from the cache.
 */
static void
sync_changed(Case *self)
{
    while (self->changed->len > 0) {
        const ObjectKey *key = self->changed->pdata[0];
        const Object *object = api_server_get(self->api, key);
        g_ptr_array_remove_index(self->changed, 0);
        if (object != NULL)
            sync_object(self, object);
        else
            pv_cache_forget(pv_controller_cache(controller_of(self)), key);
    }
}

static void
sync_all_of(Case *self, ObjectKind kind)
{
    for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kind); slot++) {
        const Object *object = api_server_get(self->api, objects_key_at(self->objects, kind, slot));
        if (object != NULL)
            sync_object(self, object);
    }
}

/* The number of repetitions of an event depends on timing. */
static void
sync_until_settled(Case *self)
{
    for (unsigned pass = 0; pass < PASSES_MAX; pass++) {
        sync_changed(self);
        sync_all_of(self, KIND_CLAIM);
        sync_all_of(self, KIND_VOLUME);
        if (self->changed->len == 0)
            return;
    }
    case_fail(self, "no end of changes");
}

static void
run_multisync(Case *self, ObjectKind kind)
{
    MockPlugin plugin;

    plugin_begin(&plugin, self);
    set_up_sync(self, &plugin);
    if (sync_named(self, kind)) {
        case_expect_error(self, "expected.error");
        sync_until_settled(self);
        case_expect_events(self, "observed.events", FALSE);
        take_created_as_written(self);
        expect_state(self);
    }
    plugin_end(&plugin);
}

static void
run_multisync_claim(Case *self)
{
    run_multisync(self, KIND_CLAIM);
}

static void
run_multisync_volume(Case *self)
{
    run_multisync(self, KIND_VOLUME);
}

/* ---- The whole controller ---- */

static const WorldOptions whole_world = {
    .only = &pv_controller_class,
    .measured = TRUE,
    .live = TRUE,
};

/* The operation whose start is kept: "volume5-6", "default/claim5-8". NULL: none */
static const OperationTime *
operation_time(Case *self, const char *name)
{
    const PvController *controller = controller_of(self);
    ObjectKind kind = strchr(name, '/') == NULL ? KIND_VOLUME : KIND_CLAIM;

    return g_hash_table_lookup(controller->operation_times, case_key(self, kind, name));
}

/* What is said of times that metrics are made from. */
static void
check_times(Case *self, const char *what)
{
    static const struct {
        const char *form;
        const char *verb; /* NULL: none is kept */
    } checks[] = {
        {"^controller keeps a pending delete-latency start time for (\\S+)$", "delete"   },
        {"^provision-latency start time recorded for (\\S+)$",                "provision"},
        {"^no \\w+-latency start time is kept for (\\S+)$",                   NULL       },
    };
    const PvController *controller = controller_of(self);

    for (unsigned i = 0; i < G_N_ELEMENTS(checks); i++) {
        g_autoptr(GRegex) regex = g_regex_new(checks[i].form, 0, 0, NULL);
        g_autoptr(GMatchInfo) info = NULL;
        if (!g_regex_match(regex, what, 0, &info))
            continue;
        g_autofree char *name = g_match_info_fetch(info, 1);
        const OperationTime *time = operation_time(self, name);
        if (g_strcmp0(time == NULL ? NULL : time->verb, checks[i].verb) != 0)
            case_fail(self, "not so: %s", what);
        return;
    }
    if (strcmp(what, "start time removed") != 0)
        case_fail(self, "no such check: %s", what);
    else if (g_hash_table_size(controller->operation_times) > 0)
        case_fail(self, "a start time is kept");
}

/* A user's deletion, which no finalizer holds. */
static void
delete_object(Case *self, const json_t *step)
{
    g_autofree char *path = g_strconcat(
        "initial.",
        g_strcmp0(json_path_string(step, "kind"), "PersistentVolume") == 0 ? "volumes" : "claims",
        NULL);
    ObjectKind kind = strcmp(path, "initial.volumes") == 0 ? KIND_VOLUME : KIND_CLAIM;
    ApiRequest request = {
        .verb = API_DELETE,
        .key = case_find_key(self, path, kind, json_path_string(step, "name")),
        .grace_s = -1,
        .client = "somebody",
    };
    ApiResponse response;

    if (request.key == NULL) {
        case_fail(self, "nothing to delete");
        return;
    }
    api_server_commit(self->api, &request, &response);
}

static void
run_controller(Case *self)
{
    const json_t *step;
    size_t i;

    case_world_new(self, &whole_world);
    case_import(self, "storage_classes", KIND_STORAGE_CLASS, CASE_API);
    case_import(self, "initial.pods", KIND_POD, CASE_API);
    case_import(self, "initial.volumes", KIND_VOLUME, CASE_API);
    case_import(self, "initial.claims", KIND_CLAIM, CASE_API);
    json_array_foreach(case_get(self, "steps"), i, step) {
        const char *op = json_path_string(step, "op");
        if (g_strcmp0(op, "start_controller") == 0)
            case_start(self, &whole_world);
        else if (g_strcmp0(op, "delete") == 0)
            delete_object(self, step);
        else if (json_object_get(step, "object") != NULL)
            change_api(self, op, changed_object(self, step));
        else if (op != NULL &&
                 (strcmp(op, "run_until_stable") == 0 || g_str_has_prefix(op, "wait")))
            case_wait(self, 60 * SIM_SECOND);
        else if (g_strcmp0(op, "check") != 0)
            case_fail(self, "no such step: %s", op);
        if (json_object_get(step, "what") != NULL)
            check_times(self, case_text(self, step, "what"));
    }
    expect_state(self);
}

/* ---- Functions ---- */

/* PVC-83: volumes of CSI drivers keep their finalizers as they are. What the controller would write
 * before its sync is read off the writes of one. */
static void
run_deletion_finalizers(Case *self)
{
    set_up_sync(self, NULL);
    Object *volume = case_object(self, case_get(self, "initial.volume"), KIND_VOLUME);
    g_autoptr(Object) before = object_edit(volume);

    case_import_object(self, volume, CASE_API);
    const Object *stored = api_server_get(self->api, volume->key);
    pv_cache_store(pv_controller_cache(controller_of(self)), stored);
    sync_object(self, stored);

    const Object *after = api_server_get(self->api, volume->key);
    json_t *finalizers = case_comparable(self, after), *expected = json_array();
    if (case_get(self, "expected.finalizers") != NULL)
        json_array_extend(expected, (json_t *)case_get(self, "expected.finalizers"));
    const json_t *found = json_path_get(finalizers, "metadata.finalizers");
    json_t *none = json_array();
    case_expect_json(self, "finalizers", expected, found == NULL ? none : found);
    gboolean modified = !string_list_equal(after->finalizers, before->finalizers);
    if (modified != case_flag(self, "expected.modified"))
        case_fail(self, "modified: %d", modified);
    json_decref(none);
    json_decref(expected);
    json_decref(finalizers);
}

/* The annotations at @path, after a sync of an object that has them. */
static void
expect_marks(Case *self, json_t *manifest, ObjectKind kind, const char *path)
{
    g_autofree char *given = g_strdup_printf("initial.%s", path);
    g_autofree char *wanted = g_strdup_printf("expected.%s", path);
    const json_t *annotations = case_get(self, given), *expected = case_get(self, wanted);

    if (annotations != NULL)
        json_object_set(json_object_get(manifest, "metadata"), "annotations",
                        (json_t *)annotations);
    Object *object = case_object(self, manifest, kind);
    case_import_object(self, object, CASE_API);
    const Object *stored = api_server_get(self->api, object->key);
    pv_cache_store(pv_controller_cache(controller_of(self)), stored);
    sync_object(self, stored);

    json_t *found = case_comparable(self, api_server_get(self->api, object->key)),
           *none = json_object();
    const json_t *marks = json_path_get(found, "metadata.annotations");
    case_expect_json(self, path, expected == NULL ? none : expected, marks == NULL ? none : marks);
    json_decref(none);
    json_decref(found);
    json_decref(manifest);
}

static void
run_migration_annotations(Case *self)
{
    set_up_sync(self, NULL);
    expect_marks(self,
                 json_pack("{s{ssss}s{s[s]s{s{ss}}ss}}", "metadata", "name", "claim", "namespace",
                           "default", "spec", "accessModes", "ReadWriteOnce", "resources",
                           "requests", "storage", "1Gi", "storageClassName", "none"),
                 KIND_CLAIM, "claim_annotations");
    expect_marks(self,
                 json_pack("{s{ss}s{s[s]s{ss}s{ss}}}", "metadata", "name", "volume", "spec",
                           "accessModes", "ReadWriteOnce", "capacity", "storage", "1Gi",
                           "gcePersistentDisk", "pdName", "disk"),
                 KIND_VOLUME, "volume_annotations");
}

static const Act pv_controller_acts[] = {
    {"syncClaim",                  run_sync_claim           },
    {"syncVolume",                 run_sync_volume          },
    {"multisync:syncClaim",        run_multisync_claim      },
    {"multisync:syncVolume",       run_multisync_volume     },
    {"controller",                 run_controller           },
    {"modifyDeletionFinalizers",   run_deletion_finalizers  },
    {"updateMigrationAnnotations", run_migration_annotations},
    {"Provision",                  story_pv_controller      },
    {"VersionedCache",             story_pv_controller      },
    {NULL,                         NULL                     },
};

const Suite pv_controller_suite = {"pv_controller", pv_controller_acts};
