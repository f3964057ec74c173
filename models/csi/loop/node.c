/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* The loop driver's node service: stage, publish, statistics and expansion, with real mounts below
 * the state folder. Paths of nodes are mapped into that folder, and a path that leads elsewhere is
 * refused. Mount options are taken only from a list that changes how a file system is read and
 * written. A record is saved after each change, so that the next process knows each mount. */
#include "loop-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static gboolean
is_read_only(const CsiCapability *capability)
{
    return capability->mode == CSI_SINGLE_NODE_READER_ONLY ||
           capability->mode == CSI_MULTI_NODE_READER_ONLY;
}

/* The path of a node below the state folder. (owned) NULL with @error: it leads elsewhere */
static char *
node_path(const LoopPlace *place, const char *path, GError **error)
{
    char *relative = loop_node_path(place->node, path);

    if (relative == NULL)
        loop_refuse(error, CSI_INVALID_ARGUMENT, "%s is no path of a node", path);
    return relative;
}

/* The volume's device; attached again if the machine lost it. (owned) NULL with @error */
static char *
device_of(LoopBackend *self, const LoopVolume *volume, GError **error)
{
    g_autofree char *path = loop_volume_file(volume->id);
    int number = loop_device_attach(self->ledger, path, !self->options.buffered, error);

    return number < 0 ? NULL : loop_device_path(self->ledger, number, error);
}

static gboolean
check_usable(const LoopCall *call, GError **error)
{
    if (call->volume == NULL || !call->volume->is_there)
        return loop_refuse_unknown(error, call->request->volume_id);
    if (loop_volume_exceeded(call->volume, call->request)) /* CSI-52 */
        return loop_refuse(error, CSI_FAILED_PRECONDITION,
                           "volume %s was not made for that capability", call->volume->id);
    return call->place->is_published ||
           loop_refuse(error, CSI_FAILED_PRECONDITION, "volume %s is not attached to node %s",
                       call->volume->id, call->place->node);
}

/* ---- Options of mounts ---- */

/* Options that only change how a file system of a type is read and written: mount(8), ext4(5),
 * xfs(5). Any other might make libmount do more than a plain mount; dev and suid, which are there
 * without being asked for, are no wish that a scenario should have. */
static const struct {
    const char *type; /* a beginning; "": any */
    const char *const *flags;
} allowed_flags[] = {
    {"",
     (const char *const[]){"async",    "atime",      "diratime",   "dirsync",       "exec",
                           "iversion", "lazytime",   "noatime",    "nodev",         "nodiratime",
                           "noexec",   "nolazytime", "norelatime", "nostrictatime", "nosuid",
                           "relatime", "ro",         "rw",         "strictatime",   "sync",
                           NULL}                                                                 },
    {"ext", (const char *const[]){"barrier", "commit", "data", "delalloc", "discard", "errors",
                                  "nobarrier", "nodelalloc", "nodiscard", NULL}       },
    {"xfs", (const char *const[]){"discard", "inode64", "logbsize", "logbufs", "nodiscard", NULL}},
};

static gboolean
is_allowed_flag(const char *type, const char *flag)
{
    g_auto(GStrv) parts = g_strsplit(flag, "=", 2);
    const char *value = parts[0] != NULL && parts[1] != NULL ? parts[1] : "";

    if (strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(value))
        return FALSE;
    for (gsize i = 0; parts[0] != NULL && i < G_N_ELEMENTS(allowed_flags); i++)
        if (g_str_has_prefix(type, allowed_flags[i].type) &&
            g_strv_contains(allowed_flags[i].flags, parts[0]))
            return TRUE;
    return FALSE;
}

/* (owned) NULL with @error */
static char *
mount_options(const LoopBackend *self, const CsiCapability *capability, GError **error)
{
    const char *type = loop_type_of(self, capability->fs_type);
    GString *text = g_string_new(is_read_only(capability) ? "ro" : "rw");

    for (unsigned i = 0; capability->mount_flags != NULL && i < capability->mount_flags->n_items;
         i++) {
        const char *flag = capability->mount_flags->items[i];
        if (!is_allowed_flag(type, flag)) {
            loop_refuse(error, CSI_INVALID_ARGUMENT, "mount option \"%s\" is not allowed for %s",
                        flag, type);
            g_string_free(text, TRUE);
            return NULL;
        }
        g_string_append_printf(text, ",%s", flag);
    }
    /* A restored xfs volume has the same file system id as its source. */
    if (strcmp(type, "xfs") == 0)
        g_string_append(text, ",nouuid");
    return g_string_free(text, FALSE);
}

/* ---- Stage ---- */

/* LOOP-5: formats only empty devices. Grows the file system after an expansion or a restored
 * snapshot. */
static gboolean
node_prepare(LoopBackend *self, const char *device, const CsiCapability *capability, GError **error)
{
    const char *type = loop_type_of(self, capability->fs_type);
    g_autofree char *found = NULL;

    if (!loop_probe(device, &found, error))
        return FALSE;
    if (found == NULL && is_read_only(capability))
        return loop_refuse(error, CSI_FAILED_PRECONDITION,
                           "the volume has no file system, and must not be written to");
    if (found == NULL)
        return loop_format(&self->tools, device, type, error);
    if (strcmp(found, type) != 0)
        return loop_refuse(error, CSI_FAILED_PRECONDITION,
                           "the volume has a file system %s, not %s", found, type);
    if (is_read_only(capability))
        return TRUE;
    int64_t bytes = loop_filesystem_bytes(device);
    int number = (int)g_ascii_strtoll(strrchr(device, '/') + strlen("/loop"), NULL, 10);
    gboolean is_small = bytes > 0 && loop_device_bytes(self->ledger, number) - bytes >= 1 << 20;
    return is_small ? loop_grow_offline(&self->tools, device, type, error)
                    : loop_check(&self->tools, device, type, error);
}

static gboolean
is_staged_elsewhere(const LoopVolume *volume, const LoopPlace *here)
{
    for (unsigned i = 0; i < volume->places->len; i++) {
        const LoopPlace *place = volume->places->pdata[i];
        if (place != here && place->staging_path != NULL && place->staged.type == CSI_ACCESS_MOUNT)
            return TRUE;
    }
    return FALSE;
}

static gboolean
stage_mount(LoopBackend *self, LoopCall *call, const char *path, GError **error)
{
    const CsiCapability *capability = &call->request->capabilities[0];
    g_autofree char *options = mount_options(self, capability, error);
    g_autofree char *device = options == NULL ? NULL : device_of(self, call->volume, error);

    return device != NULL &&
           (is_staged_elsewhere(call->volume, call->place) ||
            node_prepare(self, device, capability, error)) &&
           loop_ledger_make_folder(self->ledger, path, error) &&
           loop_mount(self->ledger, device, path, loop_type_of(self, capability->fs_type), options,
                      error);
}

gboolean
loop_node_stage(LoopBackend *self, LoopCall *call, GError **error)
{
    const CsiRequest *request = call->request;
    LoopPlace *here = call->place;

    if (!check_usable(call, error))
        return FALSE;
    if (here->staging_path != NULL) {
        if (strcmp(here->staging_path, request->staging_path) != 0) /* CSI-77 */
            return loop_refuse(error, CSI_FAILED_PRECONDITION, "volume %s is already staged at %s",
                               call->volume->id, here->staging_path);
        return loop_capability_is(&here->staged, &request->capabilities[0]) ||
               loop_refuse(error, CSI_ALREADY_EXISTS, "volume %s is already staged in another way",
                           call->volume->id);
    }
    g_autofree char *path = node_path(here, request->staging_path, error);
    if (path == NULL || (request->capabilities[0].type == CSI_ACCESS_MOUNT &&
                         !stage_mount(self, call, path, error)))
        return FALSE;
    g_mutex_lock(&self->lock);
    here->staging_path = g_strdup(request->staging_path);
    loop_capability_set(&here->staged, &request->capabilities[0]);
    g_mutex_unlock(&self->lock);
    return loop_volume_save(self, call->volume, FALSE, error);
}

static gboolean
unstage(LoopBackend *self, LoopPlace *place, GError **error)
{
    g_autofree char *path = loop_node_path(place->node, place->staging_path);

    if (place->staged.type == CSI_ACCESS_MOUNT &&
        (!loop_unmount(self->ledger, path, self->options.busy_wait_us, error) ||
         !loop_ledger_remove(self->ledger, LOOP_FOLDER, path, error)))
        return FALSE;
    g_mutex_lock(&self->lock);
    g_clear_pointer(&place->staging_path, g_free);
    g_mutex_unlock(&self->lock);
    return TRUE;
}

/* CSI-51: an unknown volume is an error even here; one that was deleted, or never staged, is not
 * (CSI-31). */
static gboolean
check_known(const LoopCall *call, GError **error)
{
    return call->was_known || loop_refuse_unknown(error, call->request->volume_id);
}

gboolean
loop_node_unstage(LoopBackend *self, LoopCall *call, GError **error)
{
    LoopPlace *here = call->place;

    if (!check_known(call, error))
        return FALSE;
    if (here == NULL || here->staging_path == NULL ||
        strcmp(here->staging_path, call->request->staging_path) != 0)
        return TRUE;
    if (here->targets->len > 0) /* CSI-77, LOOP-23 */
        return loop_refuse(error, CSI_INTERNAL, "volume %s is still published on node %s",
                           call->volume->id, here->node);
    return unstage(self, here, error) && loop_volume_save(self, call->volume, FALSE, error);
}

/* ---- Publish ---- */

/* CSI-44, CSI-45: this driver has the multi-writer capability, so a plain writer mounts once. */
static gboolean
check_second(const LoopCall *call, gboolean *is_done, GError **error)
{
    const CsiRequest *request = call->request;
    CsiAccessMode mode = request->capabilities[0].mode;
    const LoopTarget *target = loop_place_target(call->place, request->target_path);

    *is_done = target != NULL;
    if (target != NULL)
        return (target->readonly == request->readonly &&
                loop_capability_is(&target->capability, &request->capabilities[0])) ||
               loop_refuse(error, CSI_ALREADY_EXISTS, "volume %s is mounted at %s in another way",
                           call->volume->id, target->path);
    return call->place->targets->len == 0 ||
           (mode != CSI_SINGLE_NODE_WRITER && mode != CSI_SINGLE_NODE_SINGLE_WRITER &&
            mode != CSI_SINGLE_NODE_READER_ONLY) ||
           loop_refuse(error, CSI_FAILED_PRECONDITION, "volume %s is already mounted on node %s",
                       call->volume->id, call->place->node);
}

static gboolean
check_publish(const LoopCall *call, GError **error)
{
    const CsiRequest *request = call->request;
    const LoopPlace *here = call->place;

    if (!check_usable(call, error))
        return FALSE;
    if (request->staging_path == NULL || request->staging_path[0] == '\0') /* CSI-52 */
        return loop_refuse(error, CSI_FAILED_PRECONDITION, "staging path missing in request");
    if (here->staging_path == NULL) /* CSI-77 */
        return loop_refuse(error, CSI_FAILED_PRECONDITION, "volume %s is not staged",
                           call->volume->id);
    return strcmp(here->staging_path, request->staging_path) == 0 ||
           loop_refuse(error, CSI_INVALID_ARGUMENT, "volume %s is staged at %s", call->volume->id,
                       here->staging_path);
}

/* LOOP-7: the target of a block volume is an empty file. */
static gboolean
make_target(LoopBackend *self, const char *path, gboolean is_block, GError **error)
{
    g_autofree char *parent = g_path_get_dirname(path);

    if (!is_block)
        return loop_ledger_make_folder(self->ledger, path, error);
    g_autofree char *full = loop_ledger_path(self->ledger, path);
    if (!loop_ledger_make_folder(self->ledger, parent, error) ||
        !loop_ledger_do(self->ledger, LOOP_FILE, path, error))
        return FALSE;
    int file = open(full, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file == -1)
        return loop_refuse_errno(error, errno, "%s", full);
    close(file);
    return TRUE;
}

static gboolean
bind_target(LoopBackend *self, LoopCall *call, const char *path, GError **error)
{
    const CsiCapability *capability = &call->request->capabilities[0];
    gboolean is_block = capability->type == CSI_ACCESS_BLOCK;
    g_autofree char *staged = loop_node_path(call->place->node, call->place->staging_path);
    g_autofree char *source =
        is_block ? device_of(self, call->volume, error) : loop_ledger_path(self->ledger, staged);

    if (source == NULL || !make_target(self, path, is_block, error))
        return FALSE;
    if (loop_bind(self->ledger, source, path, call->request->readonly || is_read_only(capability),
                  error))
        return TRUE;
    loop_ledger_remove(self->ledger, is_block ? LOOP_FILE : LOOP_FOLDER, path, NULL);
    return FALSE;
}

gboolean
loop_node_publish(LoopBackend *self, LoopCall *call, GError **error)
{
    const CsiRequest *request = call->request;
    gboolean is_done = FALSE;

    if (!check_publish(call, error) || !check_second(call, &is_done, error))
        return FALSE;
    if (is_done)
        return TRUE;
    g_autofree char *path = node_path(call->place, request->target_path, error);
    if (path == NULL || !bind_target(self, call, path, error))
        return FALSE;
    LoopTarget *target = g_new0(LoopTarget, 1);
    target->path = g_strdup(request->target_path);
    target->readonly = request->readonly;
    loop_capability_set(&target->capability, &request->capabilities[0]);
    g_mutex_lock(&self->lock);
    g_ptr_array_add(call->place->targets, target);
    g_mutex_unlock(&self->lock);
    return loop_volume_save(self, call->volume, FALSE, error);
}

static gboolean
unpublish(LoopBackend *self, LoopPlace *place, LoopTarget *target, GError **error)
{
    g_autofree char *path = loop_node_path(place->node, target->path);
    gboolean is_block = target->capability.type == CSI_ACCESS_BLOCK;

    if (!loop_unmount(self->ledger, path, self->options.busy_wait_us, error) ||
        !loop_ledger_remove(self->ledger, is_block ? LOOP_FILE : LOOP_FOLDER, path, error))
        return FALSE;
    g_mutex_lock(&self->lock);
    g_ptr_array_remove(place->targets, target);
    g_mutex_unlock(&self->lock);
    return TRUE;
}

gboolean
loop_node_unpublish(LoopBackend *self, LoopCall *call, GError **error)
{
    if (!check_known(call, error))
        return FALSE;
    LoopTarget *target =
        call->place == NULL ? NULL : loop_place_target(call->place, call->request->target_path);
    return target == NULL || (unpublish(self, call->place, target, error) &&
                              loop_volume_save(self, call->volume, FALSE, error));
}

gboolean
loop_place_release(LoopBackend *self, LoopPlace *place, GError **error)
{
    while (place->targets->len > 0)
        if (!unpublish(self, place, place->targets->pdata[place->targets->len - 1], error))
            return FALSE;
    return place->staging_path == NULL || unstage(self, place, error);
}

/* ---- Statistics and expansion ---- */

static gboolean
check_path(LoopBackend *self, const LoopCall *call, char **full, gboolean *is_block, GError **error)
{
    const LoopPlace *here = call->place;
    const char *path = call->request->target_path;

    if (call->volume == NULL || !call->volume->is_there)
        return loop_refuse_unknown(error, call->request->volume_id);
    const LoopTarget *target = loop_place_target(here, path);
    if (target == NULL && g_strcmp0(here->staging_path, path) != 0)
        return loop_refuse(error, CSI_NOT_FOUND, "volume %s is not mounted at %s", call->volume->id,
                           path);
    *is_block = (target != NULL ? target->capability.type : here->staged.type) == CSI_ACCESS_BLOCK;
    *full = loop_backend_node_path(self, here->node, path);
    return TRUE;
}

gboolean
loop_node_stats(LoopBackend *self, LoopCall *call, GError **error)
{
    CsiResponse *response = &call->answer->response;
    g_autofree char *full = NULL;
    gboolean is_block = FALSE;
    struct statvfs status;

    if (!check_path(self, call, &full, &is_block, error))
        return FALSE;
    g_autofree char *path = loop_volume_file(call->volume->id);
    response->abnormal = loop_file_bytes(self->ledger, path) < 0;
    response->condition_message = response->abnormal ? "its backing file is gone" : NULL;
    if (is_block) { /* CSI-34 */
        g_autofree char *backing = loop_ledger_path(self->ledger, path);
        response->total_bytes = loop_device_bytes(self->ledger, loop_device_of(backing));
        return TRUE;
    }
    if (statvfs(full, &status) != 0)
        return loop_refuse(error, CSI_INTERNAL, "%s: %s", full, g_strerror(errno));
    response->total_bytes = (int64_t)(status.f_blocks * status.f_frsize);
    response->available_bytes = (int64_t)(status.f_bavail * status.f_frsize);
    response->used_bytes = (int64_t)((status.f_blocks - status.f_bfree) * status.f_frsize);
    response->total_inodes = (int64_t)status.f_files;
    response->available_inodes = (int64_t)status.f_favail;
    response->used_inodes = (int64_t)(status.f_files - status.f_ffree);
    return TRUE;
}

/* LOOP-11 */
static gboolean
grow_device(LoopBackend *self, LoopCall *call, const char *full, gboolean is_block, GError **error)
{
    g_autofree char *path = loop_volume_file(call->volume->id);
    g_autofree char *backing = loop_ledger_path(self->ledger, path);
    int number = loop_device_of(backing);
    g_autofree char *device = number < 0 ? NULL : loop_device_path(self->ledger, number, error);

    if (device == NULL)
        return (error != NULL && *error != NULL) ||
               loop_refuse(error, CSI_INTERNAL, "volume %s has lost its device", call->volume->id);
    if (loop_device_bytes(self->ledger, number) < call->volume->capacity_bytes &&
        !loop_device_grow(self->ledger, number, error))
        return FALSE;
    if (is_block)
        return TRUE;
    g_autoptr(GPtrArray) mounts = loop_mounts_read();
    const LoopMount *mount = loop_mounts_find(mounts, full);
    if (mount == NULL)
        return loop_refuse(error, CSI_INTERNAL, "%s is not mounted any more", full);
    /* It may have grown at staging or by an earlier call: then nothing is left to do (CSI-37). */
    int64_t bytes = loop_filesystem_bytes(device);
    if (bytes > 0 && call->volume->capacity_bytes - bytes < 1 << 20)
        return TRUE;
    return loop_grow_online(&self->tools, device, full, mount->type, error);
}

gboolean
loop_node_expand(LoopBackend *self, LoopCall *call, GError **error)
{
    const CsiRequest *request = call->request;
    g_autofree char *full = NULL;
    gboolean is_block = FALSE;

    if (!check_path(self, call, &full, &is_block, error))
        return FALSE;
    if (loop_volume_exceeded(call->volume, request)) /* CSI-53 */
        return loop_refuse(error, CSI_INVALID_ARGUMENT,
                           "volume %s was not made for that capability", call->volume->id);
    if (request->required_bytes > call->volume->capacity_bytes)
        return loop_refuse(error, CSI_OUT_OF_RANGE, "the device of volume %s is smaller than that",
                           call->volume->id);
    if (!grow_device(self, call, full, is_block, error))
        return FALSE;
    call->answer->response.capacity_bytes = call->volume->capacity_bytes;
    return TRUE;
}
