/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/kubelet/disk.h"
#include "models/kubelet/kubelet-test.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "tests/conformance/csi-plugin/csi-plugin-case.h"

#include <string.h>

/* Cases about the kubelet's CSI plugin, from start to end; and calls about what it leaves on its
 * disk and writes into Node and CSINode. */

/* ---- Saved data ---- */

/* Returns: (owned): the file, as this case or the kubelet has written it; NULL: it is not there */
static StringMap *
find_file(CsiWorld *world, const char *dir, const char *name)
{
    g_autofree char *path = g_strconcat(dir, "/", name, NULL);
    const json_t *file = json_object_get(world->files, path);
    const GPtrArray *disk = kubelet_disk(world->kubelet)->directories;

    if (file != NULL)
        return script_map(world->self, file);
    for (unsigned i = 0; i < disk->len; i++) {
        const VolumeDirectory *directory = disk->pdata[i];
        g_autofree char *folder = g_strconcat(KUBELET_DIR "/pods/", directory->path, NULL);
        if (strcmp(folder, dir) == 0)
            return string_map_ref(directory->data);
    }
    return NULL;
}

static void
load_data(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    g_autoptr(StringMap) data = find_file(world, json_path_string(call->args, "dir"),
                                          json_path_string(call->args, "file_name"));

    outcome->error = data == NULL ? "plain" : NULL;
    outcome->returns = data == NULL ? NULL : script_map_json(data);
}

static void
save_data(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    g_autofree char *path = g_strconcat(json_path_string(call->args, "dir"), "/",
                                        json_path_string(call->args, "file_name"), NULL);

    (void)outcome;
    json_object_set(world->files, path, (json_t *)json_path_get(call->args, "data"));
}

static json_t *
spec_json(const Volume *volume)
{
    json_t *csi = json_pack("{s:s}", "driver", volume->source->driver);

    if (volume->source->is_inline)
        return json_pack("{s:{s:s, s:o}}", "volume", "name", volume->meta.key->name, "csi", csi);
    json_object_set_new(csi, "volumeHandle", json_string(volume->source->handle));
    return json_pack("{s:{s:s, s:s, s:{s:s}, s:{s:o, s:s}}}", "persistent_volume", "apiVersion",
                     "v1", "kind", "PersistentVolume", "metadata", "name", volume->meta.key->name,
                     "spec", "csi", csi, "volumeMode",
                     volume->volume_mode == VOLUME_BLOCK ? "Block" : "Filesystem");
}

static void
construct(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    gboolean block = strstr(call->name, "block") != NULL;
    const char *name = json_path_string(call->args, "spec_vol_name");
    g_autofree char *dir =
        block
            ? g_strdup_printf(KUBELET_DIR "/plugins/kubernetes.io/csi/volumeDevices/%s/data", name)
            : g_strdup(json_path_string(call->args, "mount_path"));
    g_autoptr(StringMap) data = find_file(world, dir, "vol_data.json");
    g_autoptr(Object) volume = csi_saved_data_volume(&world->kubelet->base, data, block);

    if (volume == NULL) {
        outcome->error = "plain";
        return;
    }
    const char *label = string_map_get(data, "seLinuxMountContext");
    json_t *spec = spec_json(VOLUME_CONST(volume));
    outcome->returns = block ? spec
                             : json_pack("{s:s, s:o}", "se_linux_mount_context",
                                         label == NULL ? "" : label, "spec", spec);
}

static void
new_unmounter(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const char *name = json_path_string(call->args, "spec_name");
    g_autofree char *dir = g_strdup_printf(KUBELET_DIR "/pods/%s/volumes/kubernetes.io~csi/%s",
                                           json_path_string(call->args, "pod_uid"), name);
    g_autoptr(StringMap) data = find_file(world, dir, "vol_data.json");
    g_autoptr(Object) volume = csi_saved_data_volume(&world->kubelet->base, data, FALSE);

    outcome->error = volume == NULL ? "plain" : NULL;
}

/* ---- The attachment, as the kubelet reads it ---- */

static void
decide_look(const void *self, Plan *plan)
{
    CsiTry *try = (CsiTry *)plan_operation(plan);
    int step = plan_last_step(plan);
    const char *fault = csi_mounter_attachment_fault(
        plan, operation_source(&try->operation)->handle, try->operation.volume->attachment->name,
        (const Attachment *)plan_object(plan, step), plan_message(plan, step));

    (void)self;
    try->result.end = fault == NULL ? CSI_PLUGIN_DONE : CSI_PLUGIN_FAILED;
}

static void
begin_look(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    const CsiTry *try = plan_operation(plan);

    (void)self;
    (void)then;
    plan_get(plan, try->operation.volume->attachment, PLAN_DECIDE);
    plan_then(plan, decide_look);
}

static void
wait_for_attach(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    g_autofree CsiTry *try = csi_try_new(world, call->args, NULL, FALSE);

    if (try == NULL || !try->operation.volume->attachable) {
        outcome->error = "plain"; /* the kubelet never looks: there is nothing to attach */
        return;
    }
    outcome->error = csi_try_run(world, try, begin_look);
    if (outcome->error == NULL)
        outcome->returns = json_string(try->operation.volume->attachment->name);
}

/* ---- Node and CSINode ---- */

/* Objects without what these tests do not have: the plugins that are migrated. */
static void
node_expect_object(CsiWorld *world, const char *name, const json_t *wanted, ObjectKind kind)
{
    const Object *object =
        api_server_get(world->self->api, objects_key(world->self->objects, kind, NULL,
                                                     world->kubelet->base.node_name));

    if (wanted == NULL)
        return;
    json_t *told = case_comparable(world->self, case_object(world->self, wanted, kind));
    json_t *found = case_comparable(world->self, object);
    json_t *metadata = json_object_get(found, "metadata"), *owner;
    json_t *annotations = json_object_get(metadata, "annotations");
    size_t i;
    json_object_del(metadata, "uid");
    json_array_foreach(json_object_get(metadata, "ownerReferences"), i, owner)
        json_object_del(owner, "uid");
    json_object_del(annotations, "storage.alpha.kubernetes.io/migrated-plugins");
    if (annotations != NULL && json_object_size(annotations) == 0)
        json_object_del(metadata, "annotations");
    case_expect_json(world->self, name, told, found);
    json_decref(told);
    json_decref(found);
}

static void
node_change_node(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    gboolean installs = strcmp(call->name, "node_info.install_csi_driver") == 0;
    const char *driver = json_path_string(call->args, "driver_name");
    NodePlugin *plugin = NULL;

    for (unsigned i = 0; i < world->kubelet->plugin_manager->n_plugins; i++) {
        NodePlugin *one = &world->kubelet->plugin_manager->plugins[i];
        if (g_strcmp0(csi_driver_name(cluster_driver(world->self->cluster, one->driver)), driver) ==
            0)
            plugin = one;
    }
    if (plugin == NULL) /* a driver without a name: nobody has registered it */
        return;
    gboolean done = csi_world_run(world, &world->kubelet->base,
                                  installs ? plugin_registration_decide_register
                                           : plugin_registration_decide_unregister,
                                  plugin);
    outcome->error = done ? NULL : "plain";
    json_array_clear(world->calls); /* NodeGetInfo */
    node_expect_object(world, "node", json_object_get(world->expected, "node"), KIND_NODE);
    node_expect_object(world, "csi_node", json_object_get(world->expected, "csi_node"),
                       KIND_CSI_NODE);
}

static void
set_migrated(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    g_autoptr(GString) names = g_string_new(NULL);
    Object *csi_node =
        case_object(world->self, json_object_get(call->args, "csi_node"), KIND_CSI_NODE);
    const json_t *name;
    size_t i;

    (void)outcome;
    json_array_foreach(json_object_get(call->args, "migrated_plugins"), i, name)
        g_string_append_printf(names, "%s%s", i == 0 ? "" : ",", json_string_value(name));
    const PluginNodeInfo info = {
        .strings = objects_strings(world->self->objects),
        .migrated = strings_intern(objects_strings(world->self->objects), names->str)};
    gboolean modified = node_info_set_migrated(csi_node, &info);
    if (modified != json_is_true(json_object_get(world->expected, "modified")))
        case_fail(world->self, "modified: %d", modified);
    json_t *told = case_comparable(
        world->self,
        case_object(world->self, json_object_get(world->expected, "csi_node"), KIND_CSI_NODE));
    json_t *found = case_comparable(world->self, csi_node);
    case_expect_json(world->self, "csi_node", told, found);
    json_decref(told);
    json_decref(found);
}

/* ---- What the driver tells of itself ---- */

static void
decide_info(const void *self, Plan *plan)
{
    CsiTry *try = (CsiTry *)plan_operation(plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));
    json_t *segments = script_map_json(
        response->n_accessible_topology > 0 ? response->accessible_topology[0] : NULL);

    (void)self;
    try->result.end = response->code == CSI_OK ? CSI_PLUGIN_DONE : CSI_PLUGIN_FAILED;
    try->told = json_pack("[s, I, o]", response->node_id == NULL ? "" : response->node_id,
                          response->max_volumes_per_node, segments);
}

static void
begin_info(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    CsiRequest request = {.method = CSI_NODE_GET_INFO, .served_by = self->base.node_name};

    (void)then;
    plan_call(plan, csi_steps_driver(self, plan_operation(plan)), &request, PLAN_DECIDE);
    plan_then(plan, decide_info);
}

static void
node_get_info(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    json_t *on = json_pack("{s:{s:{s:{s:s}, s:{s:{s:s, s:s}}}}}", "spec", "persistent_volume",
                           "metadata", "name", "pv", "spec", "csi", "driver",
                           json_path_string(call->on, "driver"), "volumeHandle", "none");
    g_autofree CsiTry *try = csi_try_new(world, on, NULL, FALSE);

    if (try != NULL) {
        outcome->error = csi_try_run(world, try, begin_info);
        outcome->returns = try->told;
    }
    json_decref(on);
}

/* ---- Statistics ---- */

static void
metrics_ended(const Kubelet *self,
              Plan *plan,
              const CsiMetricsOf *of,
              const CsiResponse *usage,
              const char *error)
{
    CsiTry *try = (CsiTry *)plan_operation(plan);

    (void)self, (void)of;
    try->result = (CsiPluginResult){
        .end = usage != NULL ? CSI_PLUGIN_DONE : CSI_PLUGIN_FAILED,
        .error = error,
    };
    if (usage != NULL)
        try->told = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "capacity", usage->total_bytes,
                              "available", usage->available_bytes, "used", usage->used_bytes,
                              "inodes", usage->total_inodes, "inodes_free", usage->available_inodes,
                              "inodes_used", usage->used_inodes);
}

static void
begin_metrics(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    const CsiTry *try = plan_operation(plan);
    const VolumeSource *source = operation_source(&try->operation);
    CsiMetricsOf *of = plan_new_arg(plan, CsiMetricsOf);

    (void)then;
    *of = (CsiMetricsOf){source->driver, source->handle, try->operation.target->target_path};
    csi_metrics_get(self, plan, of, metrics_ended);
}

static void
get_metrics(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const NodePlugin *plugin = &world->kubelet->plugin_manager->plugins[0];
    const char *driver = csi_driver_name(cluster_driver(world->self->cluster, plugin->driver));
    json_t *on = json_pack("{s:{s:{s:{s:s}, s:{s:{s:s, s:s}}}}}", "spec", "persistent_volume",
                           "metadata", "name", "pv", "spec", "csi", "driver", driver,
                           "volumeHandle", json_path_string(call->on, "volume_id"));
    g_autofree CsiTry *try = csi_try_new(world, on, NULL, FALSE);

    json_decref(on);
    try->operation.target->target_path =
        csi_world_word(world, json_path_string(call->on, "target_path"));
    outcome->error = csi_try_run(world, try, begin_metrics);
    outcome->returns = try->told;
}

const CsiCallRow csi_node_calls[] = {
    {"node_info.install_csi_driver",       node_change_node},
    {"node_info.uninstall_csi_driver",     node_change_node},
    {"node_info.set_migration_annotation", set_migrated    },
    {"driver_client.node_get_info",        node_get_info   },
    {"metrics.get_metrics",                get_metrics     },
    {"util.load_volume_data",              load_data       },
    {"util.save_volume_data",              save_data       },
    {"plugin.construct_volume_spec",       construct       },
    {"plugin.construct_block_volume_spec", construct       },
    {"plugin.new_unmounter",               new_unmounter   },
    {"attacher.wait_for_attach",           wait_for_attach },
    {NULL,                                 NULL            },
};

/* ---- Cases ---- */

static const CsiCallRow *
node_find_row(const char *name)
{
    const CsiCallRow *const tables[] = {csi_plugin_calls, csi_node_calls};

    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++)
        for (const CsiCallRow *row = tables[i]; name != NULL && row->name != NULL; row++)
            if (strcmp(row->name, name) == 0)
                return row;
    return NULL;
}

/* The pod's uid is told only by the target path. Returns: (borrowed) from an interned string */
static const char *
uid_of_calls(CsiWorld *world, const json_t *expected)
{
    static const char folder[] = KUBELET_DIR "/pods/";
    const json_t *call;
    size_t i;

    json_array_foreach(json_object_get(expected, "csi_calls"), i, call) {
        const char *path = json_path_string(call, "request.target_path");
        if (path == NULL || !g_str_has_prefix(path, folder))
            continue;
        g_auto(GStrv) parts = g_strsplit(path + strlen(folder), "/", 2);
        return csi_world_word(world, parts[0]);
    }
    return "test-pod";
}

/* The tests of a whole volume note what follows an attach with it: all calls on the node, one after
 * the other until one fails. */
static void
live_through(CsiWorld *world, const json_t *args, json_t *expected)
{
    static void (*const functions[])(const Kubelet *self, Plan *plan, CsiPluginThen then) = {
        csi_mounter_stage, csi_mounter_publish, csi_mounter_unpublish, csi_mounter_unstage};
    json_t *on = json_pack("{s:O, s:{s:{s:s}}}", "spec", json_path_get(args, "spec"), "pod",
                           "metadata", "uid", uid_of_calls(world, expected));
    g_autofree CsiTry *try = csi_try_new(world, on, NULL, FALSE);

    world->expected = expected;
    csi_world_set_registered(world, NULL);
    try->operation.volume->attachable = FALSE; /* its attachment is in the other world */
    for (unsigned i = 0; i < G_N_ELEMENTS(functions); i++)
        if (csi_try_run(world, try, functions[i]) != NULL)
            break;
    json_t *calls = json_object_get(expected, "csi_calls");
    case_expect_json(world->self, "csi_calls", calls, world->calls);
    json_array_clear(world->calls);
    case_forget(world->self);
    json_decref(on);
}

static void
run_call(CsiWorld *world, const char *name, const json_t *on, const json_t *args, json_t *expected)
{
    const CsiCallRow *row = node_find_row(name);
    CsiCallArgs call = {name, on, args};
    CsiOutcome outcome = {0};

    if (csi_is_attach_call(name)) {
        csi_run_attach_call(world->self, name, args, expected, world->environment);
        json_array_clear(world->environment);
        if (json_object_get(expected, "csi_calls") != NULL)
            live_through(world, args, expected);
        return;
    }
    if (row == NULL) {
        case_fail(world->self, "no such call: %s", name == NULL ? "(none)" : name);
        return;
    }
    world->expected = expected;
    csi_world_set_registered(world, json_path_string(on, "driver"));
    row->run(world, &call, &outcome);
    csi_outcome_expect(world, name, expected, &outcome);
}

static void
change_environment(CsiWorld *world, const json_t *step)
{
    const char *what = json_path_string(step, "environment");
    const char *file = json_path_string(step, "file");

    if (file != NULL)
        json_object_set(world->files, file, json_object_get(step, "data"));
    else if (g_strcmp0(what, "attachment status set") == 0)
        json_array_append(world->environment, (json_t *)step); /* of the next call, which waits */
    else
        case_fail(world->self, "no such step: %s", what);
}

/* The recorded tests without a client take it away before the call that is to miss it: the last. */
static gboolean
loses_client(const Case *self)
{
    const char *test = case_string(self, "source.test");

    return test != NULL && strstr(test, "NoClient") != NULL;
}

static void
run_steps(Case *self)
{
    CsiWorld world;
    const json_t *step;
    size_t i;

    csi_world_new(&world, self);
    const json_t *steps = case_get(self, "steps");
    json_array_foreach(steps, i, step) {
        if (json_object_get(step, "environment") != NULL) {
            change_environment(&world, step);
            continue;
        }
        world.no_client = loses_client(self) && i + 1 == json_array_size(steps);
        run_call(&world, json_path_string(step, "call"), json_object_get(step, "on"),
                 json_object_get(step, "args"), (json_t *)step);
    }
    csi_world_free(&world);
}

static void
run_act(Case *self)
{
    CsiWorld world;

    csi_world_new(&world, self);
    world.no_client = loses_client(self);
    run_call(&world, case_string(self, "act"), case_get(self, "args.on"), case_get(self, "args"),
             (json_t *)case_get(self, "expected"));
    csi_world_free(&world);
}

/* A case has one act, or steps under the name of its category. */
static void
node_run_case(Case *self)
{
    if (case_get(self, "steps") != NULL)
        run_steps(self);
    else
        run_act(self);
}

static const Act acts[] = {
    {"*",  node_run_case}, /* the tables of calls know which there are */
    {NULL, NULL         },
};

const Suite csi_plugin_suite = {"csi_plugin", acts};
