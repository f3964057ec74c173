/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* File systems and mounts of the loop driver: probe, format, check, grow, mount, bind, unmount,
 * freeze. Tools run without a shell and die with this process. Only a device without any content is
 * formatted, by its caller; partitions count as content. A mount is undone only if its device is
 * one of ours, and mounts that others have put on top stay. */
#include "mount.h"

#include "device.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define PAUSE_US 1000
#define LOOP_MAJOR 7
#define SYSTEM_FOLDERS "/usr/sbin:/sbin:/usr/bin:/bin"

/* ---- Tools ---- */

static char *
find_tool(const char *path, const char *name)
{
    g_auto(GStrv) folders = g_strsplit(path, ":", -1);

    for (unsigned i = 0; folders[i] != NULL; i++) {
        g_autofree char *file = g_build_filename(folders[i], name, NULL);
        if (g_file_test(file, G_FILE_TEST_IS_EXECUTABLE))
            return g_steal_pointer(&file);
    }
    return NULL;
}

/* A tool that outlives us would write to a device that is being cleaned up. */
static const char *const dies_with_us[] = {"setpriv", "--pdeathsig", "KILL", "--"};

/* Runs argv[0] and waits. @said: (out) (owned): both its outputs. Returns: its exit status; -1 with
 * @error: it could not be run, or was killed */
static int
run_tool(const LoopTools *tools, const char *const *argv, char **said, GError **error)
{
    g_autofree char *tool =
        find_tool(tools->folders != NULL ? tools->folders : SYSTEM_FOLDERS, argv[0]);
    g_autofree char *setpriv = find_tool(SYSTEM_FOLDERS, "setpriv");
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_autofree char *out = NULL;
    g_autofree char *err = NULL;
    g_autoptr(GError) why = NULL;
    int status;

    if (tool == NULL || setpriv == NULL) {
        loop_refuse(error, CSI_INTERNAL, "%s is missing on this machine",
                    tool == NULL ? argv[0] : "setpriv");
        return -1;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(dies_with_us); i++)
        g_ptr_array_add(words, i == 0 ? setpriv : (char *)dies_with_us[i]);
    for (unsigned i = 0; argv[i] != NULL; i++)
        g_ptr_array_add(words, i == 0 ? tool : (char *)argv[i]);
    g_ptr_array_add(words, NULL);
    /* Without a child setup function GLib does not fork this process, which would take longer the
     * larger it is. */
    if (!g_spawn_sync(NULL, (char **)words->pdata, NULL, G_SPAWN_LEAVE_DESCRIPTORS_OPEN, NULL, NULL,
                      &out, &err, &status, &why)) {
        loop_refuse(error, CSI_INTERNAL, "%s", why->message);
        return -1;
    }
    *said = g_strconcat(g_strstrip(err), g_strstrip(out), NULL);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    loop_refuse(error, CSI_INTERNAL, "%s was killed", argv[0]);
    return -1;
}

static gboolean
run_or_fail(const LoopTools *tools, const char *const *argv, GError **error)
{
    g_autofree char *said = NULL;
    int status = run_tool(tools, argv, &said, error);

    if (status > 0)
        loop_refuse(error, CSI_INTERNAL, "%s: %s", argv[0], said);
    return status == 0;
}

/* ---- The content of a device ---- */

gboolean
loop_probe(const char *device, char **type, GError **error)
{
    blkid_probe probe = blkid_new_probe_from_filename(device);
    const char *found = NULL;

    *type = NULL;
    if (probe == NULL)
        return loop_refuse_errno(error, errno, "%s cannot be probed", device);
    blkid_probe_enable_superblocks(probe, TRUE);
    blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE);
    blkid_probe_enable_partitions(probe, TRUE);
    int result = blkid_do_safeprobe(probe);
    if (result == 0 && blkid_probe_lookup_value(probe, "TYPE", &found, NULL) != 0)
        result = -2; /* partitions, but no file system */
    if (result == 0)
        *type = g_strdup(found);
    blkid_free_probe(probe);
    if (result < 0)
        loop_refuse(error, CSI_INTERNAL, "what is on %s is no one file system: it is left as it is",
                    device);
    return result >= 0;
}

/* The tools' options for each type. A discard by mkfs would undo the reservation by fallocate(). */
static const struct {
    const char *type;
    int64_t bytes_min; /* ext: room for a journal; xfs: mkfs.xfs refuses less than 300 MiB */
    const char *format[6];
} types[] = {
    {"ext4", 2 * MIB,   {"mkfs.ext4", "-q", "-F", "-m0", "-Enodiscard"}},
    {"ext3", 2 * MIB,   {"mkfs.ext3", "-q", "-F", "-m0", "-Enodiscard"}},
    {"xfs",  300 * MIB, {"mkfs.xfs", "-q", "-f", "-K"}                 },
};

gboolean
loop_type_is_known(const char *type, int64_t *bytes_min)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        if (strcmp(types[i].type, type) == 0) {
            *bytes_min = types[i].bytes_min;
            return TRUE;
        }
    }
    return FALSE;
}

gboolean
loop_format(const LoopTools *tools, const char *device, const char *type, GError **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        if (strcmp(types[i].type, type) != 0)
            continue;
        const char *argv[G_N_ELEMENTS(types[i].format) + 2] = {NULL};
        unsigned n = 0;
        for (; n < G_N_ELEMENTS(types[i].format) && types[i].format[n] != NULL; n++)
            argv[n] = types[i].format[n];
        argv[n] = device;
        return run_or_fail(tools, argv, error);
    }
    return loop_refuse(error, CSI_INVALID_ARGUMENT, "no file system %s", type);
}

static gboolean
is_ext(const char *type)
{
    return g_str_has_prefix(type, "ext");
}

gboolean
loop_check(const LoopTools *tools, const char *device, const char *type, GError **error)
{
    const char *const argv[] = {"e2fsck", "-p", device, NULL};
    g_autofree char *said = NULL;

    if (!is_ext(type)) /* fsck.xfs does nothing: the kernel replays the log */
        return TRUE;
    /* 4: errors are left. Anything else, also a missing tool, does not prevent a mount (LOOP-5). */
    if (run_tool(tools, argv, &said, NULL) != 4)
        return TRUE;
    return loop_refuse(error, CSI_INTERNAL, "the file system of %s is damaged: %s", device, said);
}

/* Of ext's superblock, at 1024: block counts at 4 and 0x150, log2 of the block size / 1024 at 0x18,
 * its magic at 0x38. */
int64_t
loop_filesystem_bytes(const char *device)
{
    uint8_t block[1024];
    int file = open(device, O_RDONLY | O_CLOEXEC);
    ssize_t n = file == -1 ? -1 : pread(file, block, sizeof block, 1024);

    if (file != -1)
        close(file);
    if (n != sizeof block || block[0x38] != 0x53 || block[0x39] != 0xef)
        return 0;
    uint32_t low, high, shift;
    memcpy(&low, block + 4, sizeof low);
    memcpy(&high, block + 0x150, sizeof high);
    memcpy(&shift, block + 0x18, sizeof shift);
    int64_t blocks = (int64_t)GUINT32_FROM_LE(low) | (int64_t)GUINT32_FROM_LE(high) << 32;
    return blocks << (10 + GUINT32_FROM_LE(shift) % 32);
}

/* ---- Growing ---- */

gboolean
loop_grow_offline(const LoopTools *tools, const char *device, const char *type, GError **error)
{
    const char *const check[] = {"e2fsck", "-f", "-p", device, NULL};
    const char *const grow[] = {"resize2fs", device, NULL};
    g_autofree char *said = NULL;

    if (!is_ext(type))
        return TRUE;
    int status = run_tool(tools, check, &said, error);
    if (status > 1) /* 1: repaired */
        loop_refuse(error, CSI_INTERNAL, "e2fsck: %s", said);
    return status >= 0 && status <= 1 && run_or_fail(tools, grow, error);
}

/* LOOP-11: of ext, growing while mounted wants CAP_SYS_RESOURCE. */
gboolean
loop_can_grow_online(const char *type)
{
    return !is_ext(type) || loop_has_capability(CAP_SYS_RESOURCE);
}

gboolean
loop_grow_online(const LoopTools *tools,
                 const char *device,
                 const char *mount_point,
                 const char *type,
                 GError **error)
{
    const char *const ext[] = {"resize2fs", device, NULL};
    const char *const xfs[] = {"xfs_growfs", "-d", mount_point, NULL};

    if (!loop_can_grow_online(type))
        return loop_refuse(error, CSI_FAILED_PRECONDITION,
                           "%s cannot grow while it is in use without CAP_SYS_RESOURCE", type);
    return run_or_fail(tools, is_ext(type) ? ext : xfs, error);
}

/* ---- Mounts ---- */

static void
mount_free(void *data)
{
    LoopMount *mount = data;

    g_free(mount->target);
    g_free(mount->source);
    g_free(mount->type);
    g_free(mount->root);
    g_free(mount);
}

static LoopMount *
mount_new(struct libmnt_fs *fs)
{
    LoopMount *mount = g_new0(LoopMount, 1);
    dev_t number = mnt_fs_get_devno(fs);
    const char *options = mnt_fs_get_vfs_options(fs);

    mount->target = g_strdup(mnt_fs_get_target(fs));
    mount->source = g_strdup(mnt_fs_get_source(fs));
    mount->type = g_strdup(mnt_fs_get_fstype(fs));
    mount->root = g_strdup(mnt_fs_get_root(fs));
    mount->major = major(number);
    mount->minor = minor(number);
    mount->readonly =
        options != NULL && (strcmp(options, "ro") == 0 || g_str_has_prefix(options, "ro,"));
    return mount;
}

GPtrArray *
loop_mounts_read(void)
{
    GPtrArray *mounts = g_ptr_array_new_with_free_func(mount_free);
    struct libmnt_table *table = mnt_new_table_from_file("/proc/self/mountinfo");
    struct libmnt_iter *walk = mnt_new_iter(MNT_ITER_FORWARD);
    struct libmnt_fs *fs;

    while (table != NULL && mnt_table_next_fs(table, walk, &fs) == 0)
        g_ptr_array_add(mounts, mount_new(fs));
    mnt_free_iter(walk);
    mnt_unref_table(table);
    return mounts;
}

const LoopMount *
loop_mounts_find(const GPtrArray *mounts, const char *target)
{
    for (unsigned i = mounts->len; i > 0; i--) {
        const LoopMount *mount = mounts->pdata[i - 1];
        if (strcmp(mount->target, target) == 0)
            return mount;
    }
    return NULL;
}

/* (owned): a context for plain system calls, without fstab and helpers */
static struct libmnt_context *
new_context(const char *target)
{
    struct libmnt_context *context = mnt_new_context();

    mnt_context_disable_helpers(context, TRUE);
    mnt_context_disable_mtab(context, TRUE);
    mnt_context_set_optsmode(context, MNT_OMODE_NOTAB);
    mnt_context_set_target(context, target);
    return context;
}

static gboolean
mount_or_fail(struct libmnt_context *context, GError **error)
{
    char text[512] = "";
    int result = mnt_context_mount(context);
    int code = mnt_context_get_excode(context, result, text, sizeof text);

    mnt_free_context(context);
    if (code != MNT_EX_SUCCESS)
        loop_refuse(error, CSI_INTERNAL, "mount: %s", text);
    return code == MNT_EX_SUCCESS;
}

gboolean
loop_mount(LoopLedger *ledger,
           const char *device,
           const char *target,
           const char *type,
           const char *options,
           GError **error)
{
    g_autofree char *full = loop_ledger_path(ledger, target);

    if (!loop_ledger_do(ledger, LOOP_MOUNT, target, error))
        return FALSE;
    struct libmnt_context *context = new_context(full);
    mnt_context_set_source(context, device);
    mnt_context_set_fstype(context, type);
    mnt_context_set_options(context, options);
    if (mount_or_fail(context, error))
        return TRUE;
    loop_ledger_undo(ledger, LOOP_MOUNT, target);
    return FALSE;
}

gboolean
loop_bind(
    LoopLedger *ledger, const char *source, const char *target, gboolean readonly, GError **error)
{
    g_autofree char *full = loop_ledger_path(ledger, target);

    if (!loop_ledger_do(ledger, LOOP_MOUNT, target, error))
        return FALSE;
    struct libmnt_context *context = new_context(full);
    mnt_context_set_source(context, source);
    mnt_context_set_options(context,
                            readonly ? "bind,ro" : "bind"); /* ro: a second call (LOOP-6) */
    if (mount_or_fail(context, error))
        return TRUE;
    loop_unmount(ledger, target, 0, NULL); /* bound, but not read-only */
    return FALSE;
}

/* Whether @mount is of a device whose backing file lies below the state folder, or of such a
 * device's node. Other mounts on top of ours belong to others. */
static gboolean
mount_is_ours(const LoopLedger *ledger, const LoopMount *mount)
{
    g_autoptr(GPtrArray) devices = loop_devices_list();
    g_autofree char *below = g_strconcat(loop_ledger_folder(ledger), "/", NULL);

    for (unsigned i = 0; i < devices->len; i++) {
        const LoopDevice *device = devices->pdata[i];
        g_autofree char *node = g_strdup_printf("/loop%d", device->number);
        g_autofree char *name = g_path_get_basename(device->backing_file);
        g_autofree char *file = g_strconcat(below, LOOP_VOLUMES "/", name, NULL);
        if ((g_str_has_prefix(device->backing_file, below) || loop_device_has(device, file)) &&
            ((mount->major == LOOP_MAJOR && mount->minor == (unsigned)device->number) ||
             g_str_has_suffix(mount->root, node)))
            return TRUE;
    }
    return FALSE;
}

/* Returns: 0, EBUSY, or -1 if no mount is ours; otherwise with @error */
static int
unmount_once(const LoopLedger *ledger, const char *full, GError **error)
{
    g_autoptr(GPtrArray) mounts = loop_mounts_read();
    const LoopMount *mount = loop_mounts_find(mounts, full);

    if (mount == NULL)
        return -1;
    if (!mount_is_ours(ledger, mount)) {
        loop_refuse(error, CSI_INTERNAL, "%s: somebody else has mounted %s there", full,
                    mount->source);
        return EPERM;
    }
    struct libmnt_context *context = new_context(full);
    int result = mnt_context_umount(context);
    int code = result == 0 ? 0 : mnt_context_get_syscall_errno(context);
    mnt_free_context(context);
    if (result != 0)
        loop_refuse_errno(error, code != 0 ? code : EIO, "cannot unmount %s", full); /* LOOP-18 */
    return result == 0 ? 0 : code != 0 ? code : EIO;
}

gboolean
loop_unmount(LoopLedger *ledger, const char *target, gint64 wait_us, GError **error)
{
    g_autofree char *full = loop_ledger_path(ledger, target);
    gint64 until = g_get_monotonic_time() + wait_us;
    g_autoptr(GError) why = NULL;
    int code;

    if (!loop_ledger_check_path(loop_ledger_folder(ledger), target, error))
        return FALSE;

    while ((code = unmount_once(ledger, full, &why)) == EBUSY && g_get_monotonic_time() < until) {
        g_clear_error(&why);
        g_usleep(PAUSE_US);
    }
    if (why != NULL) {
        g_propagate_error(error, g_steal_pointer(&why));
        return FALSE;
    }
    loop_ledger_undo(ledger, LOOP_MOUNT, target);
    return TRUE;
}

/* ---- Freezing ---- */

static int
freezing(const char *full, unsigned long request)
{
    int folder = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = folder != -1 && ioctl(folder, request, 0) == 0 ? 0 : errno;

    if (folder != -1)
        close(folder);
    return code;
}

gboolean
loop_freeze(LoopLedger *ledger, const char *mount_point, GError **error)
{
    g_autofree char *full = loop_ledger_path(ledger, mount_point);

    if (!loop_ledger_do(ledger, LOOP_FREEZE, mount_point, error))
        return FALSE;
    int code = freezing(full, FIFREEZE);
    if (code == 0)
        return TRUE;
    loop_ledger_undo(ledger, LOOP_FREEZE, mount_point);
    return loop_refuse_errno(error, code, "%s cannot be frozen", full);
}

void
loop_thaw(LoopLedger *ledger, const char *mount_point)
{
    g_autofree char *full = loop_ledger_path(ledger, mount_point);

    if (!loop_ledger_check_path(loop_ledger_folder(ledger), mount_point, NULL))
        return;
    freezing(full, FITHAW); /* EINVAL: it is not frozen */
    loop_ledger_undo(ledger, LOOP_FREEZE, mount_point);
}
