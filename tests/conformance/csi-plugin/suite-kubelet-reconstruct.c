/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/kubelet-test.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/restart.h"
#include "models/kubelet/runtime/runtime.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/engine.h"
#include "tests/conformance/script-driver.h"

#include <string.h>

/* The directories that a kubelet finds as it starts. A fake plugin of the cases stands for the CSI
 * plugin, with a driver of its name; a plugin that is not in their list is none of the model's. */

#define NODE_NAME "node"
#define PLUGIN "fake-plugin"
#define CSI_FOLDER "kubernetes.io~csi"

typedef struct {
    Case *self;
    Kubelet *kubelet;
    ScriptDriver *driver;
    GHashTable *pods; /* uid as the case has it -> Object */
} KubeletReconstructWorld;

static const WorldOptions world_options = {.only = &kubelet_class};

static void *
options_of_kubelet(void *data, const ProcessClass *class)
{
    const Case *self = data;

    return class == &kubelet_process ? process_options_new(class, objects_strings(self->objects))
                                     : NULL;
}

static gboolean
is_plugin(const Case *self, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self, "given.plugins"), i, item)
        if (g_strcmp0(json_string_value(item), name) == 0)
            return TRUE;
    return case_get(self, "given.plugins") == NULL;
}

static void
suite_kubelet_reconstruct_answer(void *data,
                                 unsigned number,
                                 const CsiRequest *request,
                                 CsiResponse *response)
{
    const Case *self = data;

    (void)number;
    if (request->method != CSI_NODE_GET_CAPABILITIES && case_flag(self, "given.plugin_fails")) {
        response->code = CSI_INTERNAL; /* for good: the kubelet may think that nothing is mounted */
        response->message = "as the case says";
    }
}

static void
world_new(KubeletReconstructWorld *world, Case *self)
{
    static const NodePluginOptions plugin = {.preregistered = TRUE};
    json_t *node = json_pack("{s:{s:s}}", "metadata", "name", NODE_NAME);

    *world =
        (KubeletReconstructWorld){.self = self, .pods = g_hash_table_new(g_str_hash, g_str_equal)};
    case_world_new(self, &world_options);
    case_import_object(self, case_object(self, node, KIND_NODE), CASE_API);
    json_decref(node);
    world->driver = script_driver_new(
        self, PLUGIN, &(ScriptOptions){.answer = suite_kubelet_reconstruct_answer, .data = self});
    cluster_add_driver(self->cluster, script_driver_base(world->driver),
                       strings_intern(objects_strings(self->objects), PLUGIN), &plugin,
                       options_of_kubelet, self);
    case_start(self, &world_options);
    cluster_add_node(self->cluster, NODE_NAME, options_of_kubelet, self);
    case_wait(self, 0);
    world->kubelet = cluster_model(self->cluster, &kubelet_class, NODE_NAME);
    volume_manager_ensure(world->kubelet);
    pod_runtime_ensure(world->kubelet);
}

static void
world_free(KubeletReconstructWorld *world)
{
    cluster_free(world->self->cluster);
    world->self->cluster = NULL;
    csi_driver_free(script_driver_base(world->driver));
    g_hash_table_unref(world->pods);
}

/* ---- The disk ---- */

/* A pod with all volumes that have a folder under it, each as file system and as device. */
static const Object *
suite_kubelet_reconstruct_pod_of(KubeletReconstructWorld *world, const char *uid)
{
    const json_t *item;
    json_t *volumes = json_array(), *mounts = json_array();
    Object *pod = g_hash_table_lookup(world->pods, uid);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    size_t i;

    json_array_foreach(case_get(world->self, "given.directories_under_pods"), i, item) {
        g_auto(GStrv) parts = g_strsplit(json_string_value(item), "/", 5);
        if (g_strv_length(parts) < 4 || strcmp(parts[0], uid) != 0 ||
            !g_hash_table_add(seen, g_strdup(parts[3])))
            continue;
        json_array_append_new(volumes, json_pack("{s:s, s:{s:s}}", "name", parts[3],
                                                 "persistentVolumeClaim", "claimName", parts[3]));
        json_array_append_new(mounts, json_pack("{s:s}", "name", parts[3]));
    }
    if (pod == NULL) {
        json_t *manifest = json_pack("{s:{s:s, s:s}, s:{s:O, s:[{s:s, s:O}]}}", "metadata", "name",
                                     uid, "uid", uid, "spec", "volumes", volumes, "containers",
                                     "name", "c", "volumeMounts", mounts);
        pod = case_object(world->self, manifest, KIND_POD);
        g_hash_table_insert(world->pods, (void *)uid, pod);
        json_decref(manifest);
    }
    json_decref(volumes);
    json_decref(mounts);
    return pod;
}

static void
add_directory(KubeletReconstructWorld *world, const char *text)
{
    Strings *strings = objects_strings(world->self->objects);
    g_auto(GStrv) parts = g_strsplit(text, "/", -1);
    VolumeDirectory *directory = g_new0(VolumeDirectory, 1);
    const char *uid = strings_intern(strings, parts[0]);

    if (g_strv_length(parts) > 3) {
        const StringPair data[] = {
            {"specVolID",    strings_intern(strings, parts[3])},
            {"driverName",   strings_intern(strings, parts[2])},
            {"volumeHandle", strings_intern(strings, parts[3])},
        };
        directory->volume = strings_intern(strings, parts[3]);
        directory->data = string_map_new(data, G_N_ELEMENTS(data));
    }
    directory->pod = object_ref(suite_kubelet_reconstruct_pod_of(world, uid));
    if (g_strv_length(parts) > 2 && is_plugin(world->self, parts[2])) {
        g_free(parts[2]);
        parts[2] = g_strdup(CSI_FOLDER);
    }
    g_autofree char *path = g_strjoinv("/", parts);
    directory->path = strings_intern(strings, path);
    g_ptr_array_add(kubelet_disk(world->kubelet)->directories, directory);
}

/* ---- What was found ---- */

/* The uid that the case has. */
static const char *
uid_text(const KubeletReconstructWorld *world, const Object *pod)
{
    GHashTableIter iter;
    void *uid, *object;

    g_hash_table_iter_init(&iter, world->pods);
    while (g_hash_table_iter_next(&iter, &uid, &object))
        if (object_uid_equal(((const Object *)object)->uid, pod->uid))
            return uid;
    return "?";
}

static const char *
plugin_text(const VolumeDirectory *directory)
{
    return string_map_get(directory->data, "driverName");
}

static json_t *
found_json(const KubeletReconstructWorld *world, const VolumeDirectory *directory)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "pod", uid_text(world, directory->pod), "plugin",
                     plugin_text(directory), "volume", directory->name, "mode",
                     directory->is_block ? "Block" : "Filesystem");
}

static const char *
volume_text(const KubeletReconstructWorld *world, const NodeVolume *volume)
{
    const VolumeSource *source = VOLUME_CONST(volume->pv)->source;

    return strings_internf(objects_strings(world->self->objects), "%s/%s", source->driver,
                           source->handle);
}

/* Mounts of which the kubelet does not know whether they are there. */
static json_t *
uncertain_json(const KubeletReconstructWorld *world)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < world->kubelet->volume_manager->volumes->len; i++) {
        const NodeVolume *volume = world->kubelet->volume_manager->volumes->pdata[i];
        for (const PodMount *mount = volume->mounts; mount != NULL; mount = mount->next)
            if (mount->state == MOUNT_UNCERTAIN)
                json_array_append_new(list, json_sprintf("%s in %s", volume_text(world, volume),
                                                         uid_text(world, mount->worker->pod)));
    }
    return list;
}

/* Each directory that was rebuilt asks for the Node's list. */
static gboolean
asks_node(const KubeletReconstructWorld *world, const VolumeDirectory *directory)
{
    for (unsigned i = 0; i < world->kubelet->volume_manager->volumes->len; i++) {
        const NodeVolume *volume = world->kubelet->volume_manager->volumes->pdata[i];
        for (const PodMount *mount = volume->mounts; mount != NULL; mount = mount->next)
            if (volume->attachability_uncertain && world->kubelet->volume_manager->awaits_node &&
                mount->spec->name == directory->volume &&
                object_uid_equal(mount->worker->uid, directory->pod->uid))
                return TRUE;
    }
    return FALSE;
}

static int
by_text(const void *a, const void *b)
{
    g_autofree char *x = json_dumps(*(json_t *const *)a, JSON_SORT_KEYS | JSON_ENCODE_ANY);
    g_autofree char *y = json_dumps(*(json_t *const *)b, JSON_SORT_KEYS | JSON_ENCODE_ANY);

    return strcmp(x, y);
}

/* The original looks at directories and plugins in any order. Returns: (owned) */
static json_t *
sorted(const json_t *list)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new();
    json_t *result = json_array();

    for (size_t i = 0; i < json_array_size(list); i++)
        g_ptr_array_add(items, json_array_get(list, i));
    g_ptr_array_sort(items, by_text);
    for (unsigned i = 0; i < items->len; i++)
        json_array_append(result, items->pdata[i]);
    return result;
}

static void
expect_list(KubeletReconstructWorld *world, const json_t *expected, const char *name, json_t *taken)
{
    json_t *wanted = sorted(json_object_get(expected, name)), *found = sorted(taken);

    case_expect_json(world->self, name, wanted, found);
    json_decref(wanted);
    json_decref(found);
    json_decref(taken);
}

static void
expect_rebuilt(KubeletReconstructWorld *world, const json_t *expected)
{
    const GPtrArray *disk = kubelet_disk(world->kubelet)->directories;
    json_t *found = json_array(), *asked = json_array(), *failed = json_array();

    for (unsigned i = 0; i < disk->len; i++) {
        const VolumeDirectory *directory = disk->pdata[i];
        if (directory->name == NULL)
            continue;
        json_array_append_new(found, found_json(world, directory));
        if (directory->failed)
            json_array_append_new(failed, json_string(directory->name));
        else if (asks_node(world, directory))
            json_array_append_new(asked,
                                  json_sprintf("%s/%s", plugin_text(directory), directory->name));
    }
    expect_list(world, expected, "found", found);
    expect_list(world, expected, "uncertain", uncertain_json(world));
    expect_list(world, expected, "needs_node_status", asked);
    expect_list(world, expected, "failed", failed);
}

/* ---- Acts ---- */

static void
rebuild(KubeletReconstructWorld *world)
{
    const json_t *item;
    size_t i;

    if (case_get(world->self, "given.plugins") == NULL)
        case_fail(world->self, "no list of plugins");
    json_array_foreach(case_get(world->self, "given.directories_under_pods"), i, item)
        add_directory(world, json_string_value(item));
    reconstruct_volumes(world->kubelet);
}

static void
run_reconstruct(Case *self)
{
    KubeletReconstructWorld world;

    world_new(&world, self);
    rebuild(&world);
    expect_rebuilt(&world, case_get(self, "expected"));
    world_free(&world);
}

/* Directories that could not be rebuilt, and pods that want some of them. */
static void
run_clean_up(Case *self)
{
    const json_t *item, *pod;
    unsigned n_failed = 0;
    KubeletReconstructWorld world;
    size_t i, k;

    world_new(&world, self);
    json_array_foreach(case_get(self, "given.failed_reconstruction"), i, item) {
        g_autofree char *path = g_strdup_printf(
            "%s/%s/%s/%s", json_path_string(item, "podName"),
            g_strcmp0(json_path_string(item, "volumeMode"), "Block") == 0 ? "volumeDevices"
                                                                          : "volumes",
            json_path_string(item, "pluginName"), json_path_string(item, "volumeSpecName"));
        json_t *under = json_pack("{s:{s:[s]}}", "given", "directories_under_pods", path);
        const json_t *whole = self->json;
        self->json = under;
        add_directory(&world, path);
        self->json = whole;
        json_decref(under);
        VolumeDirectory *directory = g_ptr_array_index(kubelet_disk(world.kubelet)->directories, i);
        directory->is_spoilt = TRUE;
        volume_directory_parse(directory, objects_strings(self->objects));
        directory->failed = TRUE;
        PodWorker *worker = pod_worker_rebuild(world.kubelet, directory->pod);
        json_array_foreach(case_get(self, "given.wanted_pods"), k, pod)
            if (g_strcmp0(json_path_string(pod, "podUID"), json_path_string(item, "podName")) == 0)
                worker->mounts[0].desired = TRUE;
    }
    reconstruct_clean_up(world.kubelet);
    if ((json_int_t)world.kubelet->volume_manager->n_cleaned_up !=
        json_integer_value(case_get(self, "expected.unmounts")))
        case_fail(self, "%u unmounts", world.kubelet->volume_manager->n_cleaned_up);
    for (i = 0; i < kubelet_disk(world.kubelet)->directories->len; i++)
        n_failed +=
            ((VolumeDirectory *)g_ptr_array_index(kubelet_disk(world.kubelet)->directories, i))
                ->failed;
    if (n_failed != json_array_size(case_get(self, "expected.failed_after")))
        case_fail(self, "%u directories stay failed", n_failed);
    world_free(&world);
}

/* ---- A mount after that ---- */

/* The claim, the volume and its attachment. Returns: (borrowed): the volume */
static const Object *
suite_kubelet_reconstruct_add_volume(KubeletReconstructWorld *world,
                                     const char *name,
                                     gboolean block)
{
    Case *self = world->self;
    const char *mode = block ? "Block" : "Filesystem";
    json_t *claim = json_pack("{s:{s:s}, s:{s:s, s:s}, s:{s:s, s:{s:s}}}", "metadata", "name", name,
                              "spec", "volumeName", name, "volumeMode", mode, "status", "phase",
                              "Bound", "capacity", "storage", "1Gi");
    json_t *volume =
        json_pack("{s:{s:s}, s:{s:{s:s}, s:s, s:[s], s:{s:s, s:s}, s:{s:s, s:s}}}", "metadata",
                  "name", name, "spec", "capacity", "storage", "1Gi", "volumeMode", mode,
                  "accessModes", "ReadWriteOnce", "csi", "driver", PLUGIN, "volumeHandle", name,
                  "claimRef", "name", name, "namespace", "default");
    Object *pv = case_object(self, volume, KIND_VOLUME);
    const ObjectKey *key =
        volume_attachment_key(self->objects, strings_intern(objects_strings(self->objects), PLUGIN),
                              strings_intern(objects_strings(self->objects), name),
                              strings_intern(objects_strings(self->objects), NODE_NAME));
    json_t *attachment =
        json_pack("{s:{s:s}, s:{s:b}}", "metadata", "name", key->name, "status", "attached", 1);

    case_import_object(self, case_object(self, claim, KIND_CLAIM), CASE_API);
    case_import_object(self, pv, CASE_API);
    case_import_object(self, case_object(self, attachment, KIND_ATTACHMENT), CASE_API);
    json_decref(claim);
    json_decref(volume);
    json_decref(attachment);
    return pv;
}

/* The pods want their volumes, the Node lists them, and the reconciler mounts. */
static void
sync_once(KubeletReconstructWorld *world, const json_t *step)
{
    gboolean mounted = TRUE;

    for (unsigned i = 0; i < world->kubelet->workers->len; i++) {
        PodWorker *worker = world->kubelet->workers->pdata[i];
        for (unsigned k = 0; k < worker->n_mounts; k++) {
            PodMount *mount = &worker->mounts[k];
            if (mount->volume == NULL)
                continue;
            gboolean block = g_strcmp0(case_string(world->self, "given.volume_mode"), "Block") == 0;
            const Object *pv =
                suite_kubelet_reconstruct_add_volume(world, mount->spec->name, block);
            volume_manager_desire(volume_manager_add(world->kubelet, pv, mount), mount);
            node_volume_resolve_attachability(mount->volume, TRUE);
            volume_operation_start(world->kubelet, OPERATION_MOUNT, mount->volume, mount);
            case_wait(world->self, SIM_SECOND / 10);
            mounted = mounted && mount->state == MOUNT_DONE;
        }
    }
    if (mounted != json_is_true(json_object_get(step, "mounted")))
        case_fail(world->self, mounted ? "it is mounted" : "it is not mounted");
}

static void
run_mount(Case *self)
{
    const json_t *step;
    KubeletReconstructWorld world;
    size_t i;

    world_new(&world, self);
    json_array_foreach(case_get(self, "steps"), i, step) {
        const char *call = json_path_string(step, "call");
        if (json_object_get(step, "environment") != NULL)
            continue; /* of the next sync */
        if (g_strcmp0(call, "reconstruct_volumes") == 0) {
            rebuild(&world);
            expect_rebuilt(&world, step);
        } else if (g_strcmp0(call, "sync") == 0) {
            sync_once(&world, step);
        } else {
            case_fail(self, "no such call: %s", call == NULL ? "(none)" : call);
        }
    }
    world_free(&world);
}

static const Act acts[] = {
    {"ReconstructThenMount", run_mount      },
    {"reconstruct_volumes",  run_reconstruct},
    {"clean_orphan_volumes", run_clean_up   },
    {NULL,                   NULL           },
};

const Suite kubelet_reconstruct_suite = {"kubelet_reconstruct", acts};
