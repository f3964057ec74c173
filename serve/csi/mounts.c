/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: paths and mounts of this machine */
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <glib/gstdio.h>

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
refuse(GError **error, CsiCode code, const char *path, const char *what)
{
    g_set_error(error, csi_mounts_error_quark(), code, "%s: %s", path, what);
    return FALSE;
}

static gboolean
refuse_errno(GError **error, const char *path, const char *what, int number)
{
    CsiCode code = number == ELOOP || number == EXDEV    ? CSI_INVALID_ARGUMENT
                   : number == ENOENT || number == EBUSY ? CSI_FAILED_PRECONDITION
                   : number == EPERM || number == EACCES ? CSI_PERMISSION_DENIED
                                                         : CSI_INTERNAL;

    g_set_error(error, csi_mounts_error_quark(), code, "%s: %s: %s", path, what,
                number == ELOOP || number == EXDEV ? "a symbolic link, or outside of --mount-root"
                                                   : g_strerror(number));
    return FALSE;
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

/* Returns: a descriptor; -1 with errno */
static int
open_beneath(int folder, const char *path, int flags)
{
    const struct open_how how = {.flags = (uint64_t)flags,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

/* Returns: the folder of @path, open; -1 with @error. @base: (out): its last part, in @path */
static int
open_parent(const CsiMounts *self, const char *path, const char **base, GError **error)
{
    g_autofree char *root = g_canonicalize_filename(self->root, "/");
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    int parent = -1;

    if (strncmp(path, root, length) != 0 || path[length] != '/') {
        refuse(error, CSI_INVALID_ARGUMENT, path, "is outside of --mount-root");
        return -1;
    }
    g_autofree char *below = g_strdup(path + length + 1);
    for (size_t n = strlen(below); n > 0 && below[n - 1] == '/'; n--)
        below[n - 1] = '\0';
    char *slash = strrchr(below, '/');
    *base = path + length + 1 + (slash == NULL ? 0 : slash + 1 - below);
    if (slash != NULL)
        *slash = '\0';
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        parent = open_beneath(folder, slash == NULL || below[0] == '\0' ? "." : below,
                              O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        refuse_errno(error, path, "no folder for the target", errno);
    if (folder >= 0)
        close(folder);
    return parent;
}

static gboolean
is_mount_root(int fd)
{
    struct statx status;

    return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) == 0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* Makes the target unless it is there. Returns: it, open; -1 with @error */
static int
make_target(int parent, const char *base, gboolean is_file, const char *path, GError **error)
{
    g_autofree char *name = g_strndup(base, strcspn(base, "/"));
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
    fd = open_beneath(parent, name, O_PATH | O_CLOEXEC | (is_file ? 0 : O_DIRECTORY));
    if (fd < 0 && errno == EXDEV) /* it is a mount point: fine */
        fd = openat(parent, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        refuse_errno(error, path, "the target cannot be opened", errno);
    return fd;
}

/* (owned): one folder for each volume, whatever is in its id */
static char *
volume_folder(const CsiMounts *self, const char *volume_id)
{
    g_autofree char *name = g_compute_checksum_for_string(G_CHECKSUM_SHA256, volume_id, -1);

    return g_build_filename(self->folder, name, NULL);
}

static gboolean
bind_at(const char *source, const char *target, gboolean readonly)
{
    if (mount(source, target, NULL, MS_BIND, NULL) != 0)
        return FALSE;
    return !readonly || mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0;
}

/* @target: a path to the open target. Returns: %FALSE with errno */
static gboolean
mount_volume(const CsiMounts *self,
             const CsiRequest *request,
             int64_t capacity_bytes,
             const char *source,
             const char *target)
{
    if (source != NULL)
        return bind_at(source, target, request->readonly);
    if (self->mode == CSI_MOUNT_TMPFS) {
        g_autofree char *options =
            capacity_bytes > 0 ? g_strdup_printf("mode=0777,size=%" G_GINT64_FORMAT, capacity_bytes)
                               : g_strdup("mode=0777");
        return mount("kvolsim", target, "tmpfs",
                     MS_NOSUID | MS_NODEV | (request->readonly ? MS_RDONLY : 0), options) == 0;
    }
    g_autofree char *folder = volume_folder(self, request->volume_id);
    if (g_mkdir_with_parents(folder, 0777) != 0)
        return FALSE;
    return bind_at(folder, target, request->readonly);
}

gboolean
csi_mounts_publish(const CsiMounts *self,
                   const CsiRequest *request,
                   int64_t capacity_bytes,
                   const char *source,
                   GError **error)
{
    const char *path = request->target_path, *base;

    if (self->mode == CSI_MOUNT_OFF)
        return TRUE;
    gboolean is_file =
        request->n_capabilities > 0 && request->capabilities[0].type == CSI_ACCESS_BLOCK;
    gboolean ok = TRUE;
    int parent = open_parent(self, path, &base, error);

    if (parent < 0)
        return FALSE;
    int fd = make_target(parent, base, is_file, path, error);
    if (fd >= 0 && (source != NULL || (self->mode != CSI_MOUNT_NONE && !is_file)) &&
        !is_mount_root(fd)) {
        char target[FD_PATH_BYTES];
        fd_path(fd, target);
        ok = mount_volume(self, request, capacity_bytes, source, target) ||
             refuse_errno(error, path, "mount", errno);
    }
    if (fd >= 0)
        close(fd);
    close(parent);
    return fd >= 0 && ok;
}

#define LAYERS_MAX 16 /* of mounts on one target */

gboolean
csi_mounts_unpublish(const CsiMounts *self, const char *path, GError **error)
{
    g_autoptr(GError) none = NULL;
    const char *base;

    if (self->mode == CSI_MOUNT_OFF)
        return TRUE;
    int parent = open_parent(self, path, &base, &none);
    gboolean ok = TRUE;

    if (parent < 0 && g_error_matches(none, csi_mounts_error_quark(), CSI_FAILED_PRECONDITION))
        return TRUE; /* its folder is gone */
    if (parent < 0) {
        g_propagate_error(error, g_steal_pointer(&none));
        return FALSE;
    }
    g_autofree char *name = g_strndup(base, strcspn(base, "/"));
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
