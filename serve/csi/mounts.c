/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: paths and mounts of this machine */
/* Targets and mounts of a served driver on this machine: an empty folder, a tmpfs of the volume's
 * size, or a folder per volume that is bound. Each step goes through descriptors, from the root to
 * the last part, so no link that appears meanwhile leads elsewhere. A bind is read-only from its
 * first moment. Unpublishing removes only mounts and an empty folder; if its parent is gone, it has
 * succeeded. */
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "models/csi/loop/way.h"

G_DEFINE_QUARK(kvolsim - csi - mounts - error, csi_mounts_error)

#define FD_PATH_BYTES 40

/* For calls that take a path only: the file behind a descriptor, whatever happens to its name
 * meanwhile. */
static void
fd_path(int fd, char path[FD_PATH_BYTES])
{
    snprintf(path, FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

static gboolean
mounts_refuse(GError **error, CsiCode code, const char *path, const char *what)
{
    g_set_error(error, csi_mounts_error_quark(), code, "%s: %s", path, what);
    return FALSE;
}

static gboolean
refuse_errno(GError **error, const char *path, const char *what, int number)
{
    CsiCode code = number == ENOENT || number == EBUSY   ? CSI_FAILED_PRECONDITION
                   : number == EPERM || number == EACCES ? CSI_PERMISSION_DENIED
                                                         : CSI_INTERNAL;

    g_set_error(error, csi_mounts_error_quark(), code, "%s: %s: %s", path, what,
                g_strerror(number));
    return FALSE;
}

static gboolean
refuse_way(GError **error, const char *path, const char *what, int number)
{
    return loop_way_leads_elsewhere(number)
               ? mounts_refuse(error, CSI_INVALID_ARGUMENT, path,
                               "a symbolic link or no folder is on the way")
               : refuse_errno(error, path, what, number);
}

const char *
csi_path_fault(const char *path)
{
    if (path[0] != '/')
        return "is not absolute";
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part++;
        size_t length = strcspn(part, "/");
        if ((length == 1 && part[0] == '.') || (length == 2 && strncmp(part, "..", 2) == 0))
            return "has a \".\" or \"..\" in it";
    }
    return NULL;
}

/* Returns: the folder of @path, open; -1 with @error. @name: (out) (owned): its last part */
static int
open_parent(const CsiMounts *self, const char *path, char **name, GError **error)
{
    g_autofree char *root = g_canonicalize_filename(self->root, "/");
    g_autofree char *plain = g_canonicalize_filename(path, "/"); /* without "//" */
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

    if (strncmp(plain, root, length) != 0 || plain[length] != '/') {
        mounts_refuse(error, CSI_INVALID_ARGUMENT, path, "is outside of --mount-root");
        return -1;
    }
    int parent = loop_way_open_parent(root, plain + length + 1, LOOP_WAY_ANY);
    if (parent < 0)
        refuse_way(error, path, "no folder for the target", errno);
    *name = g_path_get_basename(plain);
    return parent;
}

static gboolean
is_mount_root(int fd)
{
    struct statx status;

    return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) == 0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

static gboolean
is_link(int fd)
{
    struct stat status;

    return fstat(fd, &status) != 0 || S_ISLNK(status.st_mode);
}

/* Makes the target unless it is there. Returns: it, open; -1 with @error */
static int
make_target(int parent, const char *name, gboolean is_file, const char *path, GError **error)
{
    int number = 0, fd;

    if (is_file) {
        fd = openat(parent, name, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0640);
        number = fd < 0 ? errno : 0;
        if (fd >= 0)
            close(fd);
    } else if (mkdirat(parent, name, 0750) != 0) {
        number = errno;
    }
    if (number != 0 && number != EEXIST) {
        refuse_errno(error, path, "the target cannot be made", number);
        return -1;
    }
    fd = openat(parent, name, O_PATH | O_CLOEXEC | O_NOFOLLOW | (is_file ? 0 : O_DIRECTORY));
    number = fd < 0 ? errno : is_link(fd) ? ELOOP : 0;
    if (number == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    refuse_way(error, path, "the target cannot be opened", number);
    return -1;
}

/* (owned): one folder for each volume, whatever is in its id */
static char *
volume_folder(const CsiMounts *self, const char *volume_id)
{
    g_autofree char *name = g_compute_checksum_for_string(G_CHECKSUM_SHA256, volume_id, -1);

    return g_build_filename(self->folder, name, NULL);
}

/* A mount that is read-only from its first moment. */
static gboolean
bind_at(const char *source, int target, gboolean readonly)
{
    struct mount_attr attributes = {.attr_set = readonly ? MOUNT_ATTR_RDONLY : 0};
    int tree = open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    if (tree < 0)
        return FALSE;
    gboolean ok =
        mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0 &&
        move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
    int number = errno;
    close(tree);
    errno = number;
    return ok;
}

/* @fd: the open target. Returns: %FALSE with errno */
static gboolean
mount_volume(const CsiMounts *self,
             const CsiRequest *request,
             int64_t capacity_bytes,
             const char *source,
             int fd)
{
    char target[FD_PATH_BYTES];

    if (source != NULL)
        return bind_at(source, fd, request->readonly);
    fd_path(fd, target);
    if (self->mode == CSI_MOUNT_TMPFS) {
        g_autofree char *options =
            capacity_bytes > 0 ? g_strdup_printf("mode=0777,size=%" G_GINT64_FORMAT, capacity_bytes)
                               : g_strdup("mode=0777");
        return mount("kvolsim", target, "tmpfs",
                     MS_NOSUID | MS_NODEV | (request->readonly ? MS_RDONLY : 0), options) == 0;
    }
    g_autofree char *folder = volume_folder(self, request->volume_id);
    if (g_mkdir_with_parents(folder, 0777) != 0 || chmod(folder, 0777) != 0) /* for any pod */
        return FALSE;
    return bind_at(folder, fd, request->readonly);
}

gboolean
csi_mounts_publish(const CsiMounts *self,
                   const CsiRequest *request,
                   int64_t capacity_bytes,
                   const char *source,
                   GError **error)
{
    const char *path = request->target_path;
    g_autofree char *name = NULL;

    if (self->mode == CSI_MOUNT_OFF)
        return TRUE;
    gboolean is_file =
        request->n_capabilities > 0 && request->capabilities[0].type == CSI_ACCESS_BLOCK;
    gboolean ok = TRUE;
    int parent = open_parent(self, path, &name, error);

    if (parent < 0)
        return FALSE;
    int fd = make_target(parent, name, is_file, path, error);
    if (fd >= 0 && (source != NULL || (self->mode != CSI_MOUNT_NONE && !is_file)) &&
        !is_mount_root(fd))
        ok = mount_volume(self, request, capacity_bytes, source, fd) ||
             refuse_errno(error, path, "mount", errno);
    if (fd >= 0)
        close(fd);
    close(parent);
    return fd >= 0 && ok;
}

gboolean
csi_mounts_expand(const CsiMounts *self, const char *path, int64_t capacity_bytes, GError **error)
{
    g_autofree char *size = g_strdup_printf("size=%" G_GINT64_FORMAT, capacity_bytes);
    g_autofree char *name = NULL;
    char target[FD_PATH_BYTES];
    struct statvfs status;

    if (self->mode != CSI_MOUNT_TMPFS)
        return TRUE;
    int parent = open_parent(self, path, &name, error);
    if (parent < 0)
        return FALSE;
    int fd = openat(parent, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    gboolean ok = fd < 0 || !is_mount_root(fd);
    if (!ok) {
        fd_path(fd, target);
        ok = (fstatvfs(fd, &status) == 0 &&
              mount(NULL, target, NULL,
                    MS_REMOUNT | MS_NOSUID | MS_NODEV |
                        ((status.f_flag & ST_RDONLY) != 0 ? MS_RDONLY : 0),
                    size) == 0) ||
             refuse_errno(error, path, "remount", errno);
    }
    if (fd >= 0)
        close(fd);
    close(parent);
    return ok;
}

#define LAYERS_MAX 16 /* of mounts on one target */

gboolean
csi_mounts_unpublish(const CsiMounts *self, const char *path, GError **error)
{
    g_autoptr(GError) none = NULL;
    g_autofree char *name = NULL;

    if (self->mode == CSI_MOUNT_OFF)
        return TRUE;
    int parent = open_parent(self, path, &name, &none);
    gboolean ok = TRUE;

    if (parent < 0 && g_error_matches(none, csi_mounts_error_quark(), CSI_FAILED_PRECONDITION))
        return TRUE; /* its folder is gone */
    if (parent < 0) {
        g_propagate_error(error, g_steal_pointer(&none));
        return FALSE;
    }
    char folder[FD_PATH_BYTES];
    fd_path(parent, folder);
    g_autofree char *target = g_build_filename(folder, name, NULL);
    for (unsigned i = 0; i < LAYERS_MAX && ok; i++) {
        int fd = openat(parent, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
        gboolean is_mounted = fd >= 0 && is_mount_root(fd);
        if (fd >= 0)
            close(fd);
        if (!is_mounted)
            break;
        ok = umount2(target, UMOUNT_NOFOLLOW) == 0 || refuse_errno(error, path, "umount", errno);
    }
    if (ok && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT &&
        (errno != ENOTDIR || unlinkat(parent, name, 0) != 0))
        ok = refuse_errno(error, path, "the target cannot be removed", errno);
    close(parent);
    return ok;
}

void
csi_mounts_forget(const CsiMounts *self, const char *volume_id)
{
    if (self->mode != CSI_MOUNT_BIND || self->folder == NULL)
        return;
    g_autofree char *folder = volume_folder(self, volume_id);
    if (g_file_test(folder, G_FILE_TEST_IS_DIR)) {
        const char *const argv[] = {"rm", "-rf", "--one-file-system", folder, NULL};
        g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL,
                     NULL);
    }
}
