/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/kubelet-test.h"
#include "node-status.h"
#include "pod-worker.h"

/* A kubelet that starts finds the directories that the one before left on the node, and rebuilds
 * its state from them: pkg/kubelet/volumemanager/reconciler/reconstruct.go.
 *
 * It only looks at the directories of pods. So it forgets a volume that was staged and in no pod at
 * that moment. Unless a pod wants it again, such a volume stays staged for good, and is detached
 * all the same: kubernetes/kubernetes#85476 and #121937, open. */

static void
volume_directory_free(void *data)
{
    VolumeDirectory *self = data;

    object_unref(self->pod);
    object_unref(self->pv);
    string_map_unref(self->data);
    g_free(self);
}

GPtrArray *
reconstruct_new_directories(void)
{
    return g_ptr_array_new_with_free_func(volume_directory_free);
}

GPtrArray *
reconstruct_disk(const Kubelet *self)
{
    return kubelet_disk(self)->directories;
}

static gboolean
is_of_mount(const VolumeDirectory *directory, const PodMount *mount)
{
    return strings_same(directory->volume, mount->spec->name) &&
           object_uid_equal(directory->pod->uid, mount->worker->uid);
}

void
reconstruct_remove_directory(Kubelet *self, const PodMount *mount)
{
    GPtrArray *disk = reconstruct_disk(self);

    for (unsigned i = 0; i < disk->len; i++) {
        if (is_of_mount(disk->pdata[i], mount)) {
            g_ptr_array_remove_index(disk, i);
            return;
        }
    }
}

/* ---- Paths: getVolumesFromPodDir(), relative to the folder of all pods ---- */

static const char *
make_path(Kubelet *self, const PodMount *mount)
{
    const Volume *pv = VOLUME_CONST(mount->volume->pv);
    g_auto(GStrv) plugin = g_strsplit(mount->volume->plugin->name, "/", -1);
    g_autofree char *escaped = g_strjoinv("~", plugin);
    char uid[OBJECT_UID_BUFFER];

    return strings_internf(
        self->base.strings, "%s/%s/%s/%s", object_uid_format(mount->worker->uid, uid),
        pv->volume_mode == VOLUME_BLOCK ? "volumeDevices" : "volumes", escaped, pv->meta.key->name);
}

gboolean
volume_directory_parse(VolumeDirectory *self, Strings *strings)
{
    g_auto(GStrv) parts = g_strsplit(self->path, "/", 5);

    if (g_strv_length(parts) < 4)
        return FALSE;
    g_auto(GStrv) plugin = g_strsplit(parts[2], "~", -1);
    g_autofree char *name = g_strjoinv("/", plugin);
    self->is_block = g_str_equal(parts[1], "volumeDevices");
    self->plugin = strings_intern(strings, name);
    self->name = strings_intern(strings, parts[3]);
    return self->is_block || g_str_equal(parts[1], "volumes");
}

void
reconstruct_add_directory(Kubelet *self, const PodMount *mount)
{
    VolumeDirectory *directory = g_new0(VolumeDirectory, 1);

    reconstruct_remove_directory(self, mount); /* a second try finds it there */
    directory->pod = object_ref(mount->worker->pod);
    directory->volume = mount->spec->name;
    directory->path = make_path(self, mount);
    if (volume_plugin_is_csi(mount->volume->plugin))
        directory->data = csi_saved_data(self->base.strings, mount->volume, self->base.node_name);
    else
        directory->pv = object_ref(mount->volume->pv);
    g_ptr_array_add(reconstruct_disk(self), directory);
}

void
reconstruct_spoil(void *data)
{
    const KubeletDisk *disk = data;

    for (unsigned i = 0; disk != NULL && i < disk->directories->len; i++)
        ((VolumeDirectory *)disk->directories->pdata[i])->is_spoilt = TRUE;
}

/* ---- Before the loops: KVM-60, KVM-61 ---- */

static void
rebuild_mount(Kubelet *self, const VolumeDirectory *directory, const Object *pv)
{
    PodWorker *worker = pod_worker_find(self, directory->pod);

    if (worker == NULL)
        worker = pod_worker_rebuild(self, directory->pod);
    for (unsigned i = 0; i < worker->n_mounts; i++) {
        PodMount *mount = &worker->mounts[i];
        if (is_of_mount(directory, mount))
            volume_manager_rebuild(mount, pv);
    }
}

/* CSP-14: a CSI volume is what its file tells. Returns: whether it could be rebuilt */
static gboolean
rebuild(Kubelet *self, VolumeDirectory *directory)
{
    g_autoptr(Object) found = NULL;
    const Object *pv = directory->pv;

    if (directory->is_spoilt || !volume_plugin_exists(directory->plugin))
        return FALSE;
    if (pv == NULL)
        pv = found = csi_saved_data_volume(&self->base, directory->data, directory->is_block);
    if (pv == NULL)
        return FALSE;
    rebuild_mount(self, directory, pv);
    return TRUE;
}

void
reconstruct_volumes(Kubelet *self)
{
    const GPtrArray *disk = reconstruct_disk(self);

    if (disk->len == 0)
        return;
    self->awaits_node = self->awaits_populator = TRUE;
    for (unsigned i = 0; i < disk->len; i++) {
        VolumeDirectory *directory = disk->pdata[i];
        if (!volume_directory_parse(directory, self->base.strings))
            continue;
        kubelet_count(self, METRIC_KUBELET_RECONSTRUCTED); /* MET-65 */
        directory->failed = !rebuild(self, directory);
        if (directory->failed) {
            self->has_unreadable = TRUE;
            kubelet_count(self, METRIC_KUBELET_RECONSTRUCT_ERRORS);
        }
    }
    kubelet_ensure_loops(self);
    sim_ticker_wake(self->reconciler); /* to read the Node, even if nothing could be rebuilt */
}

/* KVM-23: the first pass reads all pods, even if they are to end. */
void
reconstruct_sources_ready(Kubelet *self)
{
    self->knows_pods = TRUE;
    if (!self->awaits_populator)
        return;
    for (unsigned i = 0; i < self->workers->len; i++) {
        PodWorker *worker = self->workers->pdata[i];
        pod_worker_sources_ready(worker);
        if (!worker->stopped)
            volume_populator_reprocess(worker);
    }
    sim_ticker_wake(self->populator);
}

/* ---- With the loops: KVM-33, KVM-64 to KVM-66 ---- */

gboolean
reconstruct_may_unmount(const Kubelet *self)
{
    return !self->awaits_node && !self->awaits_populator;
}

static void
progressed(Kubelet *self)
{
    if (!reconstruct_may_unmount(self))
        return;
    for (unsigned i = 0; i < self->volumes->len; i++)
        volume_manager_due(self->volumes->pdata[i]);
    if (self->has_unreadable)
        sim_ticker_wake(self->reconciler);
}

void
reconstruct_populated(Kubelet *self)
{
    if (!self->awaits_populator || !self->knows_pods) /* KVM-33: passes before that do not count */
        return;
    self->awaits_populator = FALSE;
    progressed(self);
}

/* KVM-64: a volume that the Node does not list is not attached here, unless a pod wants it. */
void
reconstruct_apply(Kubelet *self, const PlanChange *change)
{
    const Node *node = (const Node *)change->object;

    for (unsigned i = 0; i < self->volumes->len; i++) {
        NodeVolume *volume = self->volumes->pdata[i];
        node_volume_resolve_attachability(
            volume, string_list_has_interned(node->volumes_attached, volume->name));
    }
    self->awaits_node = FALSE;
    node_status_changed(self); /* KVM-65: from now on it is reported */
    progressed(self);
}

static void
decide_node_read(const void *self, Plan *plan)
{
    int step = plan_last_step(plan);

    (void)self;
    plan_change(plan, &(PlanChange){.what = CHANGE_NODE_READ, .object = plan_object(plan, step)});
}

static void
decide_read_node(const void *data, Plan *plan)
{
    const Kubelet *self = data;

    plan_because(plan, "KVM-64");
    plan_get(plan, self->node_key, PLAN_STOP);
    plan_then(plan, decide_node_read);
}

static void
node_read(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;

    (void)plan, (void)end, (void)message;
    sim_ticker_end_pass(self->reconciler, self->due->len > 0 || self->awaits_node);
}

/* The last step of a pass, which waits for the answer. */
void
reconstruct_read_node(Kubelet *self)
{
    sim_ticker_begin_long_pass(self->reconciler);
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_read_node,
        .key = self->node_key,
        .done = node_read,
    });
}

/* ---- Broken directories: KVM-62 ---- */

static gboolean
reconstruct_is_wanted(const Kubelet *self, const VolumeDirectory *directory)
{
    const PodWorker *worker = pod_worker_find(self, directory->pod);

    for (unsigned i = 0; worker != NULL && i < worker->n_mounts; i++)
        if (is_of_mount(directory, &worker->mounts[i]) && worker->mounts[i].desired)
            return TRUE;
    return FALSE;
}

/* One UnmountVolume for each. It takes no time, so it needs no plan. A CSI volume's fails: its ids
 * are lost with its file. */
void
reconstruct_clean_up(Kubelet *self)
{
    GPtrArray *disk = reconstruct_disk(self);

    self->has_unreadable = FALSE;
    for (unsigned i = disk->len; i > 0; i--) {
        VolumeDirectory *directory = disk->pdata[i - 1];
        if (!directory->failed)
            continue;
        directory->failed = FALSE; /* one look is enough: a wanted volume is mounted anew */
        if (reconstruct_is_wanted(self, directory))
            continue;
        self->n_cleaned_up++;
        kubelet_count(self, METRIC_KUBELET_FORCE_CLEANED);
        if (directory->pv == NULL)
            kubelet_count(self, METRIC_KUBELET_FORCE_CLEAN_ERRORS);
        else
            g_ptr_array_remove_index(disk, i - 1);
    }
}
