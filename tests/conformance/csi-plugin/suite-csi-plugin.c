/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/csi/csi-test.h"
#include "models/kubelet/csi-plugin/csi-plugin-test.h"
#include "models/kubelet/disk.h"
#include "models/kubelet/kubelet-test.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/volume/resize-status.h"
#include "tests/conformance/csi-plugin/csi-plugin-case.h"

#include <string.h>

/* The kubelet's CSI plugin: calls of its mounter, mapper, attacher and expander, one by one or in a
 * row. Each runs the model's own function on the volume that the call names. */

static Strings *
strings_of(const CsiWorld *world)
{
    return objects_strings(world->self->objects);
}

/* ---- What the model decides about a volume ---- */

static void
decide_about(const CsiWorld *world, const CsiTry *try, CsiOutcome *outcome)
{
    const Volume *volume = operation_pv(&try->operation);
    const VolumeSource *source = volume->source;
    const CsiDriverObject *driver = csi_world_driver(world, source->driver);
    const char *mode = csi_spec_lifecycle_mode(source);
    const char *policy = csi_spec_fs_group_policy(driver);
    const PodMount *mount = try->operation.target;
    g_autofree char *fault = csi_spec_lifecycle_fault(mode, source->driver, driver);
    gboolean changes = csi_spec_changes_group(volume, source->fs_type,
                                              POD_CONST(mount->worker->pod)->spec->fs_group, policy,
                                              mount->spec->read_only || source->read_only);

    csi_outcome_decide(outcome, "lifecycle_mode", json_string(mode));
    csi_outcome_decide(outcome, "lifecycle_mode_allowed", json_boolean(fault == NULL));
    csi_outcome_decide(outcome, "fs_group_policy", json_string(policy));
    csi_outcome_decide(outcome, "apply_fs_group_on_host", json_boolean(changes));
    csi_outcome_decide(
        outcome, "skip_attach",
        json_boolean(!volume_plugin_is_attachable(volume_plugin_find(source), driver)));
    csi_outcome_decide(outcome, "pod_info", json_boolean(csi_spec_tells_pod(driver)));
    csi_outcome_decide(outcome, "selinux_mount",
                       json_boolean(driver != NULL && driver->selinux_mount));
}

/* vol_data.json beside the mount, as the kubelet has left it. */
static void
note_directories(const CsiWorld *world, CsiOutcome *outcome)
{
    const GPtrArray *disk = kubelet_disk(world->kubelet)->directories;

    for (unsigned i = 0; i < disk->len; i++) {
        const VolumeDirectory *directory = disk->pdata[i];
        g_autofree char *dir = g_strconcat(KUBELET_DIR "/pods/", directory->path, NULL);
        csi_outcome_save(outcome, dir, directory->data);
    }
}

static CsiTry *
begin_try(CsiWorld *world, const CsiCallArgs *call, gboolean block, CsiOutcome *outcome)
{
    CsiTry *try = csi_try_new(world, call->on == NULL ? call->args : call->on, call->args, block);

    if (try == NULL) {
        outcome->error = "plain";
        return NULL;
    }
    csi_world_set_registered(world, operation_source(&try->operation)->driver);
    decide_about(world, try, outcome);
    return try;
}

/* ---- Mount and map ---- */

static void
suite_csi_plugin_set_up(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    g_autofree CsiTry *try = begin_try(world, call, FALSE, outcome);

    if (try == NULL)
        return;
    outcome->error = csi_try_run(world, try, csi_mounter_publish);
    note_directories(world, outcome);
}

static void
map_pod_device(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    g_autofree CsiTry *try = begin_try(world, call, TRUE, outcome);

    if (try == NULL)
        return;
    outcome->error = csi_try_run(world, try, csi_mounter_publish);
    outcome->returns =
        json_string(outcome->error == NULL ? try->operation.target->target_path : "");
}

static void
set_up_device(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    g_autofree CsiTry *try = begin_try(world, call, TRUE, outcome);
    gboolean stages = (world->can & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0;

    if (try == NULL)
        return;
    outcome->error = csi_try_run(world, try, csi_mounter_stage);
    outcome->returns =
        json_string(outcome->error == NULL && stages ? try->operation.volume->staging_path : "");
    if (outcome->error == NULL && stages)
        try->operation.volume->device = MOUNT_DONE;
}

/* The staging path's folder has vol_data.json as soon as the function comes so far. */
static void
note_device(const CsiWorld *world, const CsiTry *try, CsiOutcome *outcome)
{
    g_autofree char *dir = g_path_get_dirname(try->operation.volume->staging_path);
    g_autoptr(StringMap) data =
        csi_saved_device_data(strings_of(world), operation_source(&try->operation));

    if (try->result.end == CSI_PLUGIN_DONE || try->result.code != CSI_OK)
        csi_outcome_save(outcome, dir, data);
}

static void
mount_device(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const char *path = json_path_string(call->args, "device_mount_path");
    g_autofree CsiTry *try = begin_try(world, call, FALSE, outcome);

    if (try == NULL || csi_is_empty(path) || operation_source(&try->operation)->is_inline) {
        outcome->error = "plain"; /* the kubelet never stages such a volume */
        return;
    }
    try->operation.volume->staging_path = csi_world_word(world, path);
    outcome->error = csi_try_run(world, try, csi_mounter_stage);
    note_device(world, try, outcome);
}

/* ---- The way back ---- */

/* Of a volume that is known by its names only. Returns: (owned) */
static json_t *
names_of(const json_t *on)
{
    const char *name = json_path_string(on, "spec_volume_id");
    const char *handle = json_path_string(on, "volume_id"), *uid = json_path_string(on, "pod_uid");
    const char *driver = json_path_string(on, "driver");

    if (name == NULL)
        name = json_path_string(on, "spec_name");
    return json_pack("{s:{s:{s:{s:s}, s:{s:{s:s, s:s}}}}, s:{s:{s:s}}}", "spec",
                     "persistent_volume", "metadata", "name", name == NULL ? "unnamed" : name,
                     "spec", "csi", "driver", driver == NULL ? "" : driver, "volumeHandle",
                     handle == NULL ? "" : handle, "pod", "metadata", "uid",
                     uid == NULL ? "test-pod" : uid);
}

static void
undo(CsiWorld *world,
     const CsiCallArgs *call,
     gboolean block,
     void (*begin)(const Kubelet *self, Plan *plan, CsiPluginThen then),
     CsiOutcome *outcome)
{
    const char *path = json_path_string(call->args, "dir");
    json_t *on = names_of(call->on);
    CsiCallArgs named = {call->name, on, NULL};
    g_autofree CsiTry *try = begin_try(world, &named, block, outcome);

    if (try != NULL) {
        if (path != NULL)
            try->operation.target->target_path = csi_world_word(world, path);
        /* The reconciler only undoes what was done: without a staging path there is nothing. */
        if (begin != csi_mounter_unstage || world->no_client ||
            try->operation.volume->device != MOUNT_NONE)
            outcome->error = csi_try_run(world, try, begin);
    }
    json_decref(on);
}

static void
tear_down_at(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    undo(world, call, FALSE, csi_mounter_unpublish, outcome);
}

static void
unmap_pod_device(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    undo(world, call, TRUE, csi_mounter_unpublish, outcome);
}

static void
tear_down_device(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    undo(world, call, TRUE, csi_mounter_unstage, outcome);
}

/* What the folder of the staging path has: {driverName, volumeHandle}. */
static void
unmount_device(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const char *file = case_string(world->self, "given.settings.json_file");
    json_t *data = file == NULL ? NULL : json_loads(file, 0, NULL);
    const char *driver = json_path_string(data, "driverName");
    const char *handle = json_path_string(data, "volumeHandle");

    if (driver == NULL || handle == NULL) {
        outcome->error = file == NULL || file[0] == '\0' ? NULL : "plain";
        json_decref(data);
        return;
    }
    json_t *on =
        json_pack("{s:{s:{s:{s:s}, s:{s:{s:s, s:s}}}}}", "spec", "persistent_volume", "metadata",
                  "name", "pv", "spec", "csi", "driver", driver, "volumeHandle", handle);
    CsiCallArgs named = {call->name, on, NULL};
    g_autofree CsiTry *try = begin_try(world, &named, FALSE, outcome);
    if (try != NULL) {
        try->operation.volume->staging_path =
            csi_world_word(world, json_path_string(call->args, "device_mount_path"));
        outcome->error = csi_try_run(world, try, csi_mounter_unstage);
    }
    json_decref(on);
    json_decref(data);
}

/* ---- Expansion ---- */

/* The kinds of errors that the operation tells apart. */
static const char *
expansion_error(const CsiTry *try, const char *error)
{
    if (try->result.code == CSI_FAILED_PRECONDITION)
        return "failed precondition";
    if (try->result.code != CSI_OK &&
        resize_error_class(try->result.code) == RESIZE_ERROR_INFEASIBLE)
        return "infeasible";
    return error;
}

static int64_t
size_of(const json_t *args, const char *path)
{
    int64_t bytes = 0;
    const char *text = json_path_string(args, path);

    if (text != NULL)
        quantity_parse(text, &bytes, NULL, NULL);
    return bytes;
}

static void
node_expand(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const json_t *options = json_path_get(call->args, "resize_options");
    const json_t *is_fs = json_object_get(call->args, "fs_volume");
    gboolean block = is_fs != NULL && !json_is_true(is_fs);
    json_t *on = json_pack("{s:O?}", "spec", json_path_get(options, "volume_spec"));
    CsiCallArgs named = {call->name, on, NULL};
    g_autofree CsiTry *try = begin_try(world, &named, block, outcome);

    if (try != NULL) {
        try->operation.volume->staging_path =
            csi_world_word(world, json_path_string(options, "device_stage_path"));
        try->operation.target->target_path = csi_world_word(
            world, json_path_string(options, block ? "device_path" : "device_mount_path"));
        try->bytes = size_of(options, "new_size");
        outcome->error = expansion_error(try, csi_try_run(world, try, NULL));
    }
    outcome->returns = json_boolean(outcome->error == NULL);
    json_decref(on);
}

/* ---- The client alone ---- */

static CsiMethod
method_of(const char *name)
{
    static const struct {
        const char *name;
        CsiMethod method;
    } methods[] = {
        {"driver_client.node_publish_volume",   CSI_NODE_PUBLISH_VOLUME  },
        {"driver_client.node_unpublish_volume", CSI_NODE_UNPUBLISH_VOLUME},
        {"driver_client.node_stage_volume",     CSI_NODE_STAGE_VOLUME    },
        {"driver_client.node_unstage_volume",   CSI_NODE_UNSTAGE_VOLUME  },
        {"driver_client.node_expand_volume",    CSI_NODE_EXPAND_VOLUME   },
        {"driver_client.node_get_info",         CSI_NODE_GET_INFO        },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(methods); i++)
        if (strcmp(methods[i].name, name) == 0)
            return methods[i].method;
    return CSI_N_METHODS;
}

/* The volume that a call's arguments make. Returns: (owned) */
static json_t *
volume_of_args(const json_t *args, const char *driver)
{
    const char *mode = json_path_string(args, "access_mode");
    json_t *csi = json_pack("{s:s, s:s}", "driver", driver, "volumeHandle", "none");
    json_t *spec = json_pack("{s:O}", "csi", csi);

    if (json_path_get(args, "fs_type") != NULL)
        json_object_set(csi, "fsType", (json_t *)json_path_get(args, "fs_type"));
    if (json_path_get(args, "volume_context") != NULL)
        json_object_set(csi, "volumeAttributes", (json_t *)json_path_get(args, "volume_context"));
    if (json_path_get(args, "mount_options") != NULL)
        json_object_set(spec, "mountOptions", (json_t *)json_path_get(args, "mount_options"));
    if (mode != NULL)
        json_object_set_new(spec, "accessModes", json_pack("[s]", mode));
    json_decref(csi);
    return json_pack("{s:{s:{s:{s:s}, s:o}}}", "spec", "persistent_volume", "metadata", "name",
                     "pv", "spec", spec);
}

static void
begin_call(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    const CsiTry *try = plan_operation(plan);
    CsiRun *run = csi_client_begin(plan, try->method, then);

    run->can = CSI_NODE_STAGE_UNSTAGE_VOLUME;
    run->modes = operation_pv(&try->operation)->access_modes; /* below the default */
    run->context = try->context;
    run->bytes = try->bytes;
    csi_client_add_call(self, plan);
}

static const char *
suite_csi_plugin_path_of(const CsiWorld *world,
                         const json_t *args,
                         const char *name,
                         const char *other)
{
    const char *path = json_path_string(args, name);

    return csi_world_word(world, path == NULL ? json_path_string(args, other) : path);
}

static void
call_client(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const json_t *args = call->args;
    json_t *on = volume_of_args(args, json_path_string(call->on, "driver"));
    CsiCallArgs named = {call->name, on, args};

    world->can = CSI_NODE_STAGE_UNSTAGE_VOLUME | CSI_NODE_VOLUME_MOUNT_GROUP;
    g_autofree CsiTry *try = begin_try(world, &named, FALSE, outcome);
    json_decref(on);
    if (try == NULL)
        return;
    g_autoptr(StringMap) context = script_map(world->self, json_path_get(args, "publish_context"));
    try->context = context;
    try->method = method_of(call->name);
    try->bytes = size_of(args, "opts.newSize");
    /* A volume without a handle cannot be stored; the client would refuse it. */
    ((VolumeSource *)operation_source(&try->operation))->handle =
        suite_csi_plugin_path_of(world, args, "vol_id", "opts.volumeID");
    try->operation.volume->staging_path =
        suite_csi_plugin_path_of(world, args, "staging_target_path", "opts.stagingTargetPath");
    try->operation.target->target_path =
        suite_csi_plugin_path_of(world, args, "target_path", "opts.volumePath");
    outcome->error = csi_try_run(world, try, begin_call);
    if (json_path_get(args, "opts.newSize") != NULL) /* the driver grows it as it was asked */
        outcome->returns = json_copy((json_t *)json_path_get(args, "opts.newSize"));
}

/* ---- Questions to the driver ---- */

static void
decide_answer(const void *self, Plan *plan)
{
    CsiTry *try = (CsiTry *)plan_operation(plan);

    try->result.end = csi_client_answered(self, plan) ? CSI_PLUGIN_DONE : CSI_PLUGIN_FAILED;
    try->bytes = ((const CsiRun *)plan_notes(plan))->can;
}

static void
begin_question(const Kubelet *self, Plan *plan, CsiPluginThen then)
{
    csi_client_begin(plan, CSI_NODE_GET_CAPABILITIES, then);
    csi_client_add_question(self, plan);
    plan_then(plan, decide_answer);
}

static void
ask_capability(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    static const struct {
        const char *name;
        CsiNodeCapabilities capability;
    } questions[] = {
        {"driver_client.node_supports_node_expand",                          CSI_NODE_EXPAND_VOLUME_CAPABILITY   },
        {"driver_client.node_supports_volume_stats",                         CSI_NODE_GET_VOLUME_STATS_CAPABILITY},
        {"driver_client.node_supports_stage_unstage",                        CSI_NODE_STAGE_UNSTAGE_VOLUME       },
        {"driver_client.node_supports_volume_mount_group",                   CSI_NODE_VOLUME_MOUNT_GROUP         },
        {"driver_client.node_supports_single_node_multi_writer_access_mode",
         CSI_NODE_SINGLE_NODE_MULTI_WRITER                                                                       },
    };
    json_t *on = volume_of_args(NULL, json_path_string(call->on, "driver"));
    CsiCallArgs named = {call->name, on, NULL};
    g_autofree CsiTry *try = begin_try(world, &named, FALSE, outcome);

    for (unsigned i = 0; try != NULL && i < G_N_ELEMENTS(questions); i++) {
        if (strcmp(questions[i].name, call->name) != 0)
            continue;
        /* The recorded driver has the capability or not, as it is to answer. */
        world->can =
            json_is_true(json_object_get(world->expected, "returns")) ? questions[i].capability : 0;
        outcome->error = csi_try_run(world, try, begin_question);
        outcome->returns = json_boolean((try->bytes & questions[i].capability) != 0);
    }
    json_decref(on);
}

/* ---- Pure functions ---- */

static uint32_t
modes_of(CsiWorld *world, const char *mode)
{
    json_t *manifest = json_pack("{s:{s:[s]}}", "spec", "accessModes", mode);
    uint32_t modes = VOLUME_CONST(case_object(world->self, manifest, KIND_VOLUME))->access_modes;

    json_decref(manifest);
    return modes;
}

static void
access_mode(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    gboolean multi = strstr(call->name, "single_node_multi_writer") != NULL;
    uint32_t modes = modes_of(world, json_path_string(call->args, "am"));

    outcome->returns = json_string(csi_access_mode_name(csi_spec_access_mode(modes, multi)));
}

static void
supports_fs_group(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const json_t *group = json_object_get(call->args, "fs_group");
    const json_t *manifest = json_path_get(call->on, "spec.persistent_volume");
    const Volume *volume =
        manifest == NULL ? NULL : VOLUME_CONST(case_object(world->self, manifest, KIND_VOLUME));

    if (volume == NULL && csi_spec_inline(json_path_get(call->on, "spec")) != NULL)
        volume = csi_world_volume(world, json_path_get(call->on, "spec"), NULL, FALSE);
    outcome->returns =
        json_boolean(csi_spec_changes_group(volume, json_path_string(call->args, "fs_type"),
                                            group == NULL ? -1 : json_integer_value(group),
                                            json_path_string(call->args, "driver_policy"),
                                            json_is_true(json_path_get(call->on, "read_only"))));
}

static void
fs_group_policy(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const CsiDriverObject *driver =
        csi_world_driver(world, csi_world_word(world, json_path_string(call->on, "driver")));

    outcome->returns = json_string(csi_spec_fs_group_policy(driver));
}

/* ---- Names and paths ---- */

static void
staging_path(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const Volume *volume = csi_world_volume(world, json_path_get(call->args, "spec"), NULL, FALSE);
    const char *path = volume == NULL ? NULL : csi_spec_staging_path(strings_of(world), volume);

    outcome->error = path == NULL ? "plain" : NULL;
    outcome->returns = path == NULL ? NULL : json_string(path);
}

/* Of a mount that is made for the purpose. */
static void
mount_path(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    gboolean block = g_str_has_prefix(call->name, "block_mapper.");
    g_autofree CsiTry *try = begin_try(world, call, block, outcome);

    if (try == NULL)
        return;
    outcome->returns = json_string(g_str_has_suffix(call->name, "staging_path")
                                       ? try->operation.volume->staging_path
                                       : try->operation.target->target_path);
}

/* The folder and the name of the link in the pod's folder; the folder of all links. */
static void
map_path(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const char *name = json_path_string(call->on, "spec_name");
    const char *uid = json_path_string(call->on, "pod_uid");

    if (g_str_has_suffix(call->name, "global_map_path"))
        outcome->returns =
            json_string(csi_spec_global_map_path(strings_of(world), csi_world_word(world, name)));
    else
        outcome->returns = json_pack("[s, s]", csi_spec_pod_map_path(strings_of(world), uid), name);
}

static void
suite_csi_plugin_volume_name(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const Volume *volume = csi_world_volume(world, json_path_get(call->args, "spec"), NULL, FALSE);

    if (volume == NULL || volume->source->is_inline) {
        outcome->error = "plain";
        return;
    }
    const VolumePlugin *plugin = volume_plugin_find(volume->source);
    const char *name = volume_unique_name(strings_of(world), plugin, volume);
    outcome->returns = json_string(name + strlen(plugin->name) + 1);
}

/* ---- What the plugin takes ---- */

static void
can_do(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const Volume *volume = csi_world_volume(world, json_path_get(call->args, "spec"), NULL, FALSE);
    const VolumePlugin *plugin = volume == NULL ? NULL : volume_plugin_find(volume->source);

    if (strcmp(call->name, "plugin.can_support") == 0) {
        outcome->returns = json_boolean(plugin != NULL && volume_plugin_is_csi(plugin));
        return;
    }
    if (plugin == NULL) {
        outcome->error = "plain";
        outcome->returns = json_false();
        return;
    }
    const CsiDriverObject *driver = csi_world_driver(world, volume->source->driver);
    outcome->returns = json_boolean(strcmp(call->name, "plugin.can_attach") == 0
                                        ? volume_plugin_is_attachable(plugin, driver)
                                        : plugin->device_mountable);
    csi_outcome_decide(outcome, "lifecycle_mode",
                       json_string(csi_spec_lifecycle_mode(volume->source)));
    csi_outcome_decide(outcome, "skip_attach",
                       json_boolean(!volume_plugin_is_attachable(plugin, driver)));
}

static void
new_mounter(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const json_t *pod = json_path_get(call->args, "pod");
    const Volume *volume = csi_world_volume(world, json_path_get(call->args, "spec"), pod, FALSE);

    if (volume == NULL) {
        outcome->error = "plain";
        return;
    }
    csi_outcome_decide(outcome, "lifecycle_mode",
                       json_string(csi_spec_lifecycle_mode(volume->source)));
    csi_outcome_decide(outcome, "ephemeral_handle", json_string(volume->source->handle));
}

/* Returns: (owned): the strings of a list, with NULL at the end */
static const char **
suite_csi_plugin_words_of(const json_t *list)
{
    const char **words = g_new0(const char *, json_array_size(list) + 1);

    for (size_t i = 0; i < json_array_size(list); i++)
        words[i] = json_string_value(json_array_get(list, i));
    return words;
}

static void
validate_plugin(CsiWorld *world, const CsiCallArgs *call, CsiOutcome *outcome)
{
    const json_t *told[] = {json_path_get(call->args, "versions"),
                            case_get(world->self, "given.settings.versions1")};
    g_autofree const char **versions = suite_csi_plugin_words_of(told[0]),
                          **existing = suite_csi_plugin_words_of(told[1]);
    g_autofree char *fault = plugin_versions_fault(versions, told[1] == NULL ? NULL : existing);

    outcome->error = fault == NULL ? NULL : "plain";
}

const CsiCallRow csi_plugin_calls[] = {
    {"mounter.set_up",                                                   suite_csi_plugin_set_up     },
    {"mounter.tear_down_at",                                             tear_down_at                },
    {"mounter.get_path",                                                 mount_path                  },
    {"mounter.supports_fs_group",                                        supports_fs_group           },
    {"mounter.get_fs_group_policy",                                      fs_group_policy             },
    {"attacher.mount_device",                                            mount_device                },
    {"attacher.unmount_device",                                          unmount_device              },
    {"attacher.get_device_mount_path",                                   staging_path                },
    {"util.make_device_mount_path",                                      staging_path                },
    {"block_mapper.set_up_device",                                       set_up_device               },
    {"block_mapper.map_pod_device",                                      map_pod_device              },
    {"block_mapper.unmap_pod_device",                                    unmap_pod_device            },
    {"block_mapper.tear_down_device",                                    tear_down_device            },
    {"block_mapper.get_staging_path",                                    mount_path                  },
    {"block_mapper.get_publish_path",                                    mount_path                  },
    {"block_mapper.get_global_map_path",                                 map_path                    },
    {"block_mapper.get_pod_device_map_path",                             map_path                    },
    {"plugin.node_expand",                                               node_expand                 },
    {"plugin.node_expand_with_client",                                   node_expand                 },
    {"plugin.get_volume_name",                                           suite_csi_plugin_volume_name},
    {"plugin.can_support",                                               can_do                      },
    {"plugin.can_attach",                                                can_do                      },
    {"plugin.can_device_mount",                                          can_do                      },
    {"plugin.new_mounter",                                               new_mounter                 },
    {"driver_client.node_publish_volume",                                call_client                 },
    {"driver_client.node_unpublish_volume",                              call_client                 },
    {"driver_client.node_stage_volume",                                  call_client                 },
    {"driver_client.node_unstage_volume",                                call_client                 },
    {"driver_client.node_expand_volume",                                 call_client                 },
    {"driver_client.node_supports_node_expand",                          ask_capability              },
    {"driver_client.node_supports_volume_stats",                         ask_capability              },
    {"driver_client.node_supports_stage_unstage",                        ask_capability              },
    {"driver_client.node_supports_volume_mount_group",                   ask_capability              },
    {"driver_client.node_supports_single_node_multi_writer_access_mode", ask_capability              },
    {"util.as_csi_access_mode_v1",                                       access_mode                 },
    {"util.as_single_node_multi_writer_capable_csi_access_mode_v1",      access_mode                 },
    {"registration.validate_plugin",                                     validate_plugin             },
    {NULL,                                                               NULL                        },
};
