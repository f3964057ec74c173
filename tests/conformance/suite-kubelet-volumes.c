/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/kubelet/kubelet-test.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/runtime/runtime.h"
#include "models/kubelet/status/node-status.h"
#include "models/kubelet/volume-manager/operation-executor.h"
#include "tests/conformance/engine.h"
#include "tests/conformance/kubelet-names.h"
#include "tests/conformance/stories/story.h"

#include <string.h>

/* The kubelet's desired and actual state of the world: traces of calls, replayed on a kubelet that
 * has neither pods nor loops at work. Device paths are not compared: CSI
 * volumes have none. */

#define NODE_NAME "node"

typedef struct {
    Case *self;
    Kubelet *kubelet;
    GHashTable *workers; /* pod uid, as the trace has it -> PodWorker */
    GPtrArray *vague; /* of PodMount: there, but the trace leaves its state out: neither certain nor
                         uncertain */
} Trace;

/* What a call returned. */
typedef struct {
    json_t *value;     /* (owned); NULL: nothing */
    const char *error; /* NULL: none */
} KubeletVolumesAnswer;

static Strings *
trace_strings(const Trace *self)
{
    return objects_strings(self->self->objects);
}

/* ---- Set-up ---- */

static const WorldOptions world_options = {.only = &kubelet_class};

static void *
options_of_kubelet(void *data, const ProcessClass *class)
{
    const Case *self = data;

    return class == &kubelet_process ? process_options_new(class, objects_strings(self->objects))
                                     : NULL;
}

static void
add_unattached_driver(Case *self, const char *name)
{
    json_t *driver =
        json_pack("{s:{s:s}, s:{s:b}}", "metadata", "name", name, "spec", "attachRequired", 0);

    case_import_object(self, case_object(self, driver, KIND_CSI_DRIVER), CASE_API);
    json_decref(driver);
}

static void
add_world(Case *self)
{
    json_t *node = json_pack("{s:{s:s}}", "metadata", "name", NODE_NAME);

    case_world_new(self, &world_options);
    case_import_object(self, case_object(self, node, KIND_NODE), CASE_API);
    add_unattached_driver(self, UNATTACHED_PLUGIN);
    add_unattached_driver(self, DEVICE_PLUGIN);
    json_decref(node);
    case_start(self, &world_options);
    cluster_add_node(self->cluster, NODE_NAME, options_of_kubelet, self);
}

/* All pods' volumes that the trace will speak of: {uid: {outer name: true}}. Returns: (owned) */
static json_t *
pods_of_trace(const Case *self)
{
    json_t *pods = json_object();
    const json_t *step;
    size_t i;

    json_array_foreach(case_get(self, "steps"), i, step) {
        const json_t *args = json_object_get(step, "args");
        const char *pod = kubelet_pod_of_step(args), *outer = kubelet_outer_name_of_step(args);
        if (pod == NULL || outer == NULL)
            continue;
        if (json_object_get(pods, pod) == NULL)
            json_object_set_new(pods, pod, json_object());
        json_object_set_new(json_object_get(pods, pod), outer, json_true());
    }
    return pods;
}

static void
suite_kubelet_volumes_add_pod(Trace *self, const char *uid, const json_t *volumes)
{
    json_t *listed = json_array(), *mounts = json_array();
    const char *name;
    json_t *ignored;

    json_object_foreach((json_t *)volumes, name, ignored) {
        json_array_append_new(listed, json_pack("{s:s, s:{s:s}}", "name", name,
                                                "persistentVolumeClaim", "claimName", name));
        json_array_append_new(mounts, json_pack("{s:s, s:s}", "name", name, "mountPath", "/"));
    }
    json_t *pod =
        json_pack("{s:{s:s, s:s}, s:{s:o, s:[{s:s, s:o}]}}", "metadata", "name", uid, "uid", uid,
                  "spec", "volumes", listed, "containers", "name", "c", "volumeMounts", mounts);
    PodWorker *worker = pod_worker_rebuild(self->kubelet, case_object(self->self, pod, KIND_POD));
    g_hash_table_insert(self->workers, (void *)strings_intern(trace_strings(self), uid), worker);
    json_decref(pod);
}

/* ---- Looking ---- */

static PodWorker *
worker_of_step(const Trace *self, const json_t *args)
{
    const char *pod = kubelet_pod_of_step(args);

    return pod == NULL ? NULL : g_hash_table_lookup(self->workers, pod);
}

static NodeVolume *
suite_kubelet_volumes_find_volume(const Trace *self, const json_t *args)
{
    g_autofree char *name = kubelet_volume_of_step(args);

    return node_volume_find(self->kubelet, kubelet_model_name(trace_strings(self), name));
}

static PodMount *
find_mount(const Trace *self, const json_t *args)
{
    const NodeVolume *volume = suite_kubelet_volumes_find_volume(self, args);
    const PodWorker *worker = worker_of_step(self, args);

    for (PodMount *mount = volume == NULL ? NULL : volume->mounts; mount != NULL;
         mount = mount->next)
        if (mount->worker == worker)
            return mount;
    return NULL;
}

static gboolean
is_vague(const Trace *self, const PodMount *mount)
{
    return g_ptr_array_find(self->vague, mount, NULL);
}

static const char *
pod_name(const PodMount *mount)
{
    return object_name(mount->worker->pod);
}

static json_t *
tell_device(const Trace *self, const NodeVolume *volume)
{
    static const char *const states[] = {"DeviceNotMounted", "DeviceMountUncertain",
                                         "DeviceGloballyMounted"};

    return json_pack("{s:s, s:b, s:s}", "volume", kubelet_trace_name(trace_strings(self), volume),
                     "attachable", volume->attachable && !volume->attachability_uncertain,
                     "device_state", states[volume->device]);
}

static json_t *
tell_mount(const Trace *self, const PodMount *mount)
{
    return json_pack("{s:s, s:s, s:s}", "volume",
                     kubelet_trace_name(trace_strings(self), mount->volume), "pod", pod_name(mount),
                     "outer_name", mount->spec->name);
}

typedef gboolean (*IsListed)(const NodeVolume *volume);

static gboolean
is_attached(const NodeVolume *volume)
{
    return volume->in_actual;
}

static gboolean
is_unmounted(const NodeVolume *volume)
{
    return volume->in_actual && !node_volume_is_in_a_pod(volume);
}

static gboolean
is_globally_mounted(const NodeVolume *volume)
{
    return volume->in_actual && volume->device != MOUNT_NONE;
}

static json_t *
list_volumes(const Trace *self, IsListed is_listed)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < self->kubelet->volume_manager->volumes->len; i++) {
        const NodeVolume *volume = self->kubelet->volume_manager->volumes->pdata[i];
        if (is_listed(volume))
            json_array_append_new(list, tell_device(self, volume));
    }
    return list;
}

/* @pod: NULL: of all. @possibly: also those that are only perhaps mounted */
static json_t *
list_mounts(const Trace *self, const char *pod, gboolean possibly)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < self->kubelet->volume_manager->volumes->len; i++) {
        const NodeVolume *volume = self->kubelet->volume_manager->volumes->pdata[i];
        for (const PodMount *mount = volume->mounts; mount != NULL; mount = mount->next) {
            gboolean is_wanted = pod == NULL || g_str_equal(pod_name(mount), pod);
            gboolean is_mounted = mount->state == MOUNT_DONE && !is_vague(self, mount);
            if (is_wanted && (is_mounted || (possibly && mount->state == MOUNT_UNCERTAIN)))
                json_array_append_new(list, tell_mount(self, mount));
        }
    }
    return list;
}

/* ---- Calls ---- */

/* The volume of a step's spec. Returns: (borrowed): a PersistentVolume like it */
static const Object *
suite_kubelet_volumes_make_volume(Trace *self, const json_t *args)
{
    g_autofree char *name = kubelet_volume_of_step(args);
    const char *slash = strchr(name, '/');
    const char *spec_name = json_path_string(args, "volumeSpec.name");

    if (spec_name == NULL)
        spec_name = slash == NULL ? name : slash + 1;
    json_t *manifest =
        json_pack("{s:{s:s, s:s}, s:{s:{s:s}, s:[s]}}", "metadata", "name", spec_name, "uid",
                  spec_name, "spec", "capacity", "storage", "1Gi", "accessModes", "ReadWriteOnce");
    kubelet_set_source(json_object_get(manifest, "spec"), name, !kubelet_has_no_source(args));
    const Object *object = case_object(self->self, manifest, KIND_VOLUME);
    json_decref(manifest);
    return object;
}

static PodMount *
mount_of_pod(Trace *self, const json_t *args)
{
    PodWorker *worker = worker_of_step(self, args);
    const char *outer = kubelet_outer_name_of_step(args);

    for (unsigned i = 0; worker != NULL && i < worker->n_mounts; i++)
        if (g_strcmp0(worker->mounts[i].spec->name, outer) == 0)
            return &worker->mounts[i];
    case_fail(self->self, "no volume %s in pod %s", outer, kubelet_pod_of_step(args));
    return NULL;
}

static void
mark_attached(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    PodMount nobody = {0};

    (void)answer;
    volume_manager_add(self->kubelet, suite_kubelet_volumes_make_volume(self, args), &nobody)
        ->in_actual = TRUE;
}

static void
mark_detached(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    NodeVolume *volume = suite_kubelet_volumes_find_volume(self, args);

    (void)answer;
    if (volume != NULL)
        node_volume_drop(volume);
}

static MountState
state_of_step(Trace *self, const json_t *args, PodMount *mount)
{
    static const char *const places[] = {"arg0.mount_state", "opts.mount_state",
                                         "markVolumeOpts.mount_state"};
    const char *state = kubelet_first_of(args, places, G_N_ELEMENTS(places));

    g_ptr_array_remove(self->vague, mount);
    if (state == NULL)
        g_ptr_array_add(self->vague, mount);
    if (g_strcmp0(state, "VolumeMountUncertain") == 0)
        return MOUNT_UNCERTAIN;
    return g_strcmp0(state, "VolumeNotMounted") == 0 ? MOUNT_NONE : MOUNT_DONE;
}

static void
mark_mounted(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    NodeVolume *volume = suite_kubelet_volumes_find_volume(self, args);

    if (volume == NULL || !volume->in_actual) {
        answer->error = "not_attached";
        return;
    }
    PodMount *mount = mount_of_pod(self, args);
    if (mount == NULL)
        return;
    MountState state = state_of_step(self, args, mount);
    if (mount->volume == NULL)
        node_volume_link_mount(volume, mount);
    node_volume_mount_changed(mount, state);
}

static void
mark_unmounted(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    PodMount *mount = find_mount(self, args);

    (void)answer;
    if (mount == NULL)
        return;
    node_volume_mount_changed(mount, MOUNT_NONE);
    g_ptr_array_remove(self->vague, mount);
    volume_manager_released(mount);
}

static void
found_volume(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    PodMount nobody = {0};
    NodeVolume *volume =
        volume_manager_add(self->kubelet, suite_kubelet_volumes_make_volume(self, args), &nobody);

    (void)answer;
    volume->in_actual = volume->attachability_uncertain = TRUE;
}

/* Returns: whether the mount is new to actual state. */
static void
found_mount(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    NodeVolume *volume = suite_kubelet_volumes_find_volume(self, args);
    PodMount *mount = mount_of_pod(self, args);

    if (volume == NULL || mount == NULL)
        return;
    answer->value = json_boolean(mount->volume == NULL);
    if (mount->volume == NULL)
        volume_manager_rebuild(mount, volume->pv);
    volume->device = MOUNT_NONE; /* that is told by a call of its own */
}

static void
mark_device(Trace *self, const json_t *args, MountState state)
{
    NodeVolume *volume = suite_kubelet_volumes_find_volume(self, args);

    if (volume != NULL)
        volume->device = state;
}

static void
mark_device_mounted(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    (void)answer;
    mark_device(self, args, MOUNT_DONE);
}

static void
mark_device_uncertain(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    (void)answer;
    mark_device(self, args, MOUNT_UNCERTAIN);
}

static void
mark_device_unmounted(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    (void)answer;
    mark_device(self, args, MOUNT_NONE);
}

static void
resolve_attachability(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    NodeVolume *volume = suite_kubelet_volumes_find_volume(self, args);

    (void)answer;
    if (volume != NULL)
        node_volume_resolve_attachability(volume,
                                          json_is_true(json_path_get(args, "volumeAttachable")));
}

static gboolean
is_desired_state(const Trace *self)
{
    return g_strcmp0(case_string(self->self, "category"), "KubeletDesiredStateOfWorld") == 0;
}

static void
volume_exists(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    const NodeVolume *volume = suite_kubelet_volumes_find_volume(self, args);

    answer->value = json_boolean(
        volume != NULL && (is_desired_state(self) ? volume->n_desired > 0 : volume->in_actual));
}

static gboolean
mount_exists(const Trace *self, const PodMount *mount)
{
    if (mount == NULL)
        return FALSE;
    return is_desired_state(self) ? mount->desired : mount->state != MOUNT_NONE;
}

static void
volume_exists_with_name(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    const PodWorker *worker = worker_of_step(self, args);
    const char *wanted = kubelet_outer_name_of_step(args);
    gboolean exists = FALSE;

    for (unsigned i = 0; worker != NULL && i < worker->n_mounts; i++) {
        const PodMount *mount = &worker->mounts[i];
        exists |= mount->volume != NULL && g_strcmp0(mount->spec->name, wanted) == 0 &&
                  mount_exists(self, mount);
    }
    answer->value = json_boolean(exists);
}

/* In actual state: mounted for sure, and neither to be remounted nor grown. */
static void
pod_exists(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    const NodeVolume *volume = suite_kubelet_volumes_find_volume(self, args);
    const PodMount *mount = find_mount(self, args);

    if (is_desired_state(self)) {
        answer->value = json_boolean(mount_exists(self, mount));
        return;
    }
    if (volume == NULL || !volume->in_actual)
        answer->error = "not_attached";
    else if (mount != NULL && mount->state == MOUNT_DONE && mount->remount_required)
        answer->error = "remount_required";
    answer->value = json_boolean(mount != NULL && mount->state == MOUNT_DONE);
}

/* For sure: neither mounted nor perhaps. */
static void
pod_is_removed(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    const PodMount *mount = find_mount(self, args);

    answer->value = json_boolean(mount == NULL || mount->state == MOUNT_NONE);
}

static void
is_mounted_elsewhere(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    const NodeVolume *volume = suite_kubelet_volumes_find_volume(self, args);
    gboolean is_mounted = FALSE;

    for (const PodMount *mount = volume == NULL ? NULL : volume->mounts; mount != NULL;
         mount = mount->next)
        is_mounted |= mount->state != MOUNT_NONE &&
                      g_strcmp0(pod_name(mount), kubelet_pod_of_step(args)) != 0;
    answer->value = json_boolean(is_mounted);
}

static void
is_reconstructed(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    const PodMount *mount = find_mount(self, args);

    answer->value = json_boolean(mount != NULL && mount->rebuilt);
}

static void
get_unmounted(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    (void)args;
    answer->value = list_volumes(self, is_unmounted);
}

static void
get_globally_mounted(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    (void)args;
    answer->value = list_volumes(self, is_globally_mounted);
}

static void
get_attached(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    (void)args;
    answer->value = list_volumes(self, is_attached);
}

static void
get_mounted(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    answer->value = list_mounts(self, kubelet_pod_of_step(args), FALSE);
}

static void
get_possibly_mounted(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    answer->value = list_mounts(self, kubelet_pod_of_step(args), TRUE);
}

static void
desire(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    PodMount *mount = mount_of_pod(self, args);

    if (mount == NULL)
        return;
    volume_manager_desire(
        volume_manager_add(self->kubelet, suite_kubelet_volumes_make_volume(self, args), mount),
        mount);
    answer->value = json_string(kubelet_trace_name(trace_strings(self), mount->volume));
}

static void
add_pod_to_volume(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    if (is_desired_state(self))
        desire(self, args, answer);
    else
        mark_mounted(self, args, answer);
}

static void
undesire(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    PodMount *mount = find_mount(self, args);

    (void)answer;
    if (mount != NULL && mount->desired)
        volume_manager_undesire(mount);
}

static void
get_to_mount(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    (void)args;
    answer->value = json_array();
    for (unsigned i = 0; i < self->kubelet->volume_manager->volumes->len; i++) {
        const NodeVolume *volume = self->kubelet->volume_manager->volumes->pdata[i];
        for (const PodMount *mount = volume->mounts; mount != NULL; mount = mount->next)
            if (mount->desired)
                json_array_append_new(
                    answer->value, json_pack("{s:s, s:s, s:s, s:b, s:b, s:b}", "volume",
                                             kubelet_trace_name(trace_strings(self), volume), "pod",
                                             pod_name(mount), "outer_name", mount->spec->name,
                                             "attachable", volume->attachable, "device_mountable",
                                             volume->plugin->device_mountable, "reported_in_use",
                                             volume->reported_in_use));
    }
}

static void
mark_reported(Trace *self, const json_t *args, KubeletVolumesAnswer *answer)
{
    const json_t *names = json_object_iter_value(json_object_iter((json_t *)args)), *name;
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    size_t i;

    (void)answer;
    json_array_foreach(names, i, name)
        g_ptr_array_add(list,
                        (void *)kubelet_model_name(trace_strings(self), json_string_value(name)));
    g_autoptr(StringList) reported = string_list_new((const char *const *)list->pdata, list->len);
    node_status_apply(self->kubelet,
                      &(PlanChange){.what = CHANGE_REPORTED_IN_USE, .pointer = reported});
}

static const struct {
    const char *name;
    void (*run)(Trace *self, const json_t *args, KubeletVolumesAnswer *answer);
} calls[] = {
    {"AddAttachUncertainReconstructedVolume",          found_volume           },
    {"AddPodToVolume",                                 add_pod_to_volume      },
    {"CheckAndMarkDeviceUncertainViaReconstruction",   mark_device_uncertain  },
    {"CheckAndMarkVolumeAsUncertainViaReconstruction", found_mount            },
    {"DeletePodFromVolume",                            undesire               },
    {"GetAllMountedVolumes",                           get_possibly_mounted   },
    {"GetAttachedVolumes",                             get_attached           },
    {"GetGloballyMountedVolumes",                      get_globally_mounted   },
    {"GetMountedVolumes",                              get_mounted            },
    {"GetMountedVolumesForPod",                        get_mounted            },
    {"GetPossiblyMountedVolumesForPod",                get_possibly_mounted   },
    {"GetUnmountedVolumes",                            get_unmounted          },
    {"GetVolumesToMount",                              get_to_mount           },
    {"IsVolumeMountedElsewhere",                       is_mounted_elsewhere   },
    {"IsVolumeReconstructed",                          is_reconstructed       },
    {"MarkDeviceAsMounted",                            mark_device_mounted    },
    {"MarkDeviceAsUncertain",                          mark_device_uncertain  },
    {"MarkDeviceAsUnmounted",                          mark_device_unmounted  },
    {"MarkVolumeAsAttached",                           mark_attached          },
    {"MarkVolumeAsDetached",                           mark_detached          },
    {"MarkVolumeAsMounted",                            mark_mounted           },
    {"MarkVolumeAsUnmounted",                          mark_unmounted         },
    {"MarkVolumeMountAsUncertain",                     mark_mounted           },
    {"MarkVolumesReportedInUse",                       mark_reported          },
    {"PodExistsInVolume",                              pod_exists             },
    {"PodRemovedFromVolume",                           pod_is_removed         },
    {"UpdateReconstructedVolumeAttachability",         resolve_attachability  },
    {"VolumeExists",                                   volume_exists          },
    {"VolumeExistsWithSpecName",                       volume_exists_with_name},
};

/* ---- Comparing ---- */

/* Whether an item has all that the model tells of it. */
static gboolean
item_fits(const json_t *expected, const json_t *found)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)found, key, value)
        if (!json_equal(json_object_get(expected, key), value))
            return FALSE;
    return TRUE;
}

/* As sets. */
static gboolean
lists_fit(const json_t *expected, const json_t *found)
{
    g_autofree gboolean *is_used = g_new0(gboolean, json_array_size(found) + 1);
    const json_t *item;
    size_t i, k;

    if (json_array_size(expected) != json_array_size(found))
        return FALSE;
    json_array_foreach(expected, i, item) {
        for (k = 0; k < json_array_size(found); k++)
            if (!is_used[k] && item_fits(item, json_array_get(found, k)))
                break;
        if (k == json_array_size(found))
            return FALSE;
        is_used[k] = TRUE;
    }
    return TRUE;
}

/* Of several values the first: the rest are device paths. */
static gboolean
value_fits(const json_t *expected, const json_t *found)
{
    if (json_is_array(found))
        return lists_fit(expected, found);
    return json_equal(json_is_array(expected) ? json_array_get(expected, 0) : expected, found);
}

static void
suite_kubelet_volumes_compare(Trace *self,
                              size_t number,
                              const json_t *step,
                              const KubeletVolumesAnswer *answer)
{
    const char *call = json_path_string(step, "call");
    const json_t *returns = json_object_get(step, "returns");
    const json_t *error = json_object_get(step, "error");

    if (error != NULL && g_strcmp0(json_string_value(error), answer->error) != 0)
        case_fail(self->self, "step %zu, %s: error %s", number, call,
                  answer->error == NULL ? "(none)" : answer->error);
    if (returns == NULL || (answer->value != NULL && value_fits(returns, answer->value)))
        return;
    g_autofree char *found =
        answer->value == NULL ? NULL : json_dumps(answer->value, JSON_ENCODE_ANY | JSON_COMPACT);
    case_fail(self->self, "step %zu, %s: returned %s", number, call,
              found == NULL ? "nothing" : found);
}

/* The contents of a source are not told; the name that its plugin makes of them is what the call
 * returned. Returns: (owned) */
static json_t *
args_of_step(const json_t *step)
{
    json_t *args = json_deep_copy(json_object_get(step, "args"));
    const json_t *returns = json_object_get(step, "returns");

    if (json_path_string(args, "volumeSpec.source") != NULL && json_string_length(returns) > 0)
        json_object_set(args, "volumeName", (json_t *)returns);
    return args;
}

static void
replay_step(Trace *self, size_t number, const json_t *step)
{
    const char *name = json_path_string(step, "call");
    KubeletVolumesAnswer answer = {0};
    unsigned i = 0;

    while (i < G_N_ELEMENTS(calls) && g_strcmp0(calls[i].name, name) != 0)
        i++;
    if (i == G_N_ELEMENTS(calls)) {
        case_fail(self->self, "no such call: %s", name);
        return;
    }
    json_t *args = args_of_step(step);
    calls[i].run(self, args, &answer);
    json_decref(args);
    suite_kubelet_volumes_compare(self, number, step, &answer);
    json_decref(answer.value);
}

static void
suite_kubelet_volumes_replay(Case *case_)
{
    Trace self = {.self = case_, .vague = g_ptr_array_new()};
    json_t *pods = pods_of_trace(case_), *volumes;
    const json_t *step;
    const char *uid;
    size_t i;

    add_world(case_);
    self.kubelet = cluster_model(case_->cluster, &kubelet_class, NODE_NAME);
    self.workers = g_hash_table_new(g_str_hash, g_str_equal);
    volume_manager_ensure(self.kubelet);
    pod_runtime_ensure(self.kubelet);
    json_object_foreach(pods, uid, volumes)
        suite_kubelet_volumes_add_pod(&self, uid, volumes);
    json_array_foreach(case_get(case_, "steps"), i, step)
        replay_step(&self, i + 1, step);
    json_decref(pods);
    g_hash_table_unref(self.workers);
    g_ptr_array_unref(self.vague);
}

static const Act acts[] = {
    {"KubeletActualStateOfWorld",  suite_kubelet_volumes_replay},
    {"KubeletDesiredStateOfWorld", suite_kubelet_volumes_replay},
    {"KubeletManager",             story_kubelet_manager       },
    {"KubeletPopulator",           story_kubelet_populator     },
    {"KubeletReconciler",          story_kubelet_reconciler    },
    {"KubeletReconstruct",         story_kubelet_reconstruct   },
    {"KubeletResize",              story_kubelet_reconciler    },
    {"KubeletUncertainDevice",     story_kubelet_reconciler    },
    {"KubeletUncertainMount",      story_kubelet_reconciler    },
    {NULL,                         NULL                        },
};

const Suite kubelet_volumes_suite = {"kubelet_volumemanager", acts};
