/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failures of real machines: each ends with the code in the rule book, and the call works once the
 * cause is gone. Files, devices and mounts of others stay untouched. */
#include "machine.h"
#include "models/csi/loop/ledger.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

/* CSI-47, CSI-55: the host's disk is full; nothing half-made stays. */
TEST(disk_full)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *host = machine_host(&machine, "host", "ext4", 96 * MIB);
    g_autofree char *folder = g_build_filename(host, "state", NULL);
    g_autofree char *ballast = g_build_filename(host, "ballast", NULL);
    /* The cap is larger than the disk, so that the disk itself is full first. */
    caller_open(&caller, &(LoopOptions){.state_dir = folder, .bytes_max = 1024 * MIB});
    const char *id = caller_create(&caller, "v", 32 * MIB, CSI_OK);
    caller_up(&caller, id);
    machine_run("fallocate -l 40M '%s'", ballast);
    caller_create(&caller, "w", 32 * MIB, CSI_RESOURCE_EXHAUSTED);
    caller_snapshot(&caller, "s", id, CSI_RESOURCE_EXHAUSTED);
    g_unlink(ballast);
    const char *other = caller_create(&caller, "w", 32 * MIB, CSI_OK);
    caller_do(&caller, CSI_DELETE_VOLUME, other, CSI_OK);
    caller_snapshot(&caller, "s", id, CSI_OK);
    caller_down(&caller, id);
    caller_end(&caller);
    machine_host_end(&machine, "host");
    machine_leave(&machine);
}

/* Expansion that finds no room leaves the volume as it was. */
TEST(no_room_to_grow)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *host = machine_host(&machine, "host", "ext4", 96 * MIB);
    g_autofree char *folder = g_build_filename(host, "state", NULL);
    caller_open(&caller, &(LoopOptions){.state_dir = folder, .bytes_max = 1024 * MIB});
    const char *id = caller_create(&caller, "v", 32 * MIB, CSI_OK);
    caller_expand(&caller, id, 200 * MIB, CSI_RESOURCE_EXHAUSTED);
    caller_expand(&caller, id, 32 * MIB, CSI_OK);
    assert_int_equal(caller.answer.response.capacity_bytes, 32 * MIB);
    caller_expand(&caller, id, 40 * MIB, CSI_OK);
    caller_end(&caller);
    machine_host_end(&machine, "host");
    machine_leave(&machine);
}

/* The caps are the driver's own, checked before anything is made. */
TEST(caps)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller,
                &(LoopOptions){.state_dir = folder, .bytes_max = 64 * MIB, .volumes_max = 3});
    caller_create(&caller, "a", 128 * MIB, CSI_RESOURCE_EXHAUSTED);
    const char *id = caller_create(&caller, "a", 16 * MIB, CSI_OK);
    caller_create(&caller, "b", 16 * MIB, CSI_OK);
    caller_create(&caller, "c", 16 * MIB, CSI_OK);
    caller_create(&caller, "d", 4 * MIB, CSI_RESOURCE_EXHAUSTED);
    caller_snapshot(&caller, "s", id, CSI_RESOURCE_EXHAUSTED);
    caller_do(&caller, CSI_DELETE_VOLUME, id, CSI_OK);
    caller_create(&caller, "d", 4 * MIB, CSI_OK);
    caller_end(&caller);
    machine_leave(&machine);
}

/* LOOP-1, LOOP-2: ext2 can neither reserve nor share blocks; volumes, snapshots and clones work all
 * the same. */
TEST(host_without_fallocate)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *host = machine_host(&machine, "host", "ext2", 96 * MIB);
    g_autofree char *probe = g_build_filename(host, "probe", NULL);
    int file = open(probe, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fallocate(file, 0, 0, MIB), -1); /* otherwise this proves nothing */
    close(file);
    g_unlink(probe);
    g_autofree char *folder = g_build_filename(host, "state", NULL);
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, id);
    g_autofree char *target = caller_target(&caller, id);
    g_autofree char *data = g_build_filename(target, "data", NULL);
    data_write(data, 1, 64);
    const char *snapshot = caller_snapshot(&caller, "s", id, CSI_OK);
    const char *copy = caller_restore(&caller, "c", CSI_SOURCE_SNAPSHOT, snapshot, 16 * MIB);
    caller_up(&caller, copy);
    g_autofree char *copy_target = caller_target(&caller, copy);
    g_autofree char *copied = g_build_filename(copy_target, "data", NULL);
    data_check(copied, 1, 64);
    caller_down(&caller, copy);
    caller_down(&caller, id);
    caller_end(&caller);
    machine_host_end(&machine, "host");
    machine_leave(&machine);
}

/* Where the host shares blocks, a snapshot takes no room of its own (LOOP-2). */
TEST(host_with_reflink)
{
    Machine machine;
    Caller caller;

    if (!g_file_test("/usr/sbin/mkfs.xfs", G_FILE_TEST_IS_EXECUTABLE)) {
        print_message("# SKIP mkfs.xfs is missing\n");
        skip();
    }
    machine_enter(&machine);
    g_autofree char *host = machine_host(&machine, "host", "xfs", 400 * MIB);
    g_autofree char *folder = g_build_filename(host, "state", NULL);
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 64 * MIB, CSI_OK);
    caller_up(&caller, id); /* only what was written is shared */
    const char *snapshot = caller_snapshot(&caller, "s", id, CSI_OK);
    machine_run("PATH=$PATH:/usr/sbin; filefrag -v '%s/snapshots/%s.img' | grep -q shared", folder,
                snapshot);
    caller_down(&caller, id);
    caller_end(&caller);
    machine_host_end(&machine, "host");
    machine_leave(&machine);
}

/* A tool fails: CSI wants a code, and the volume must be unchanged. */
static void
write_tool(const char *tools, const char *name, const char *script)
{
    g_autofree char *file = g_build_filename(tools, name, NULL);

    assert_true(g_file_set_contents(file, script, -1, NULL));
    assert_int_equal(g_chmod(file, 0700), 0);
}

/* LOOP-5: mkfs that fails, or leaves half a file system, is INTERNAL; the next stage starts anew,
 * and data is never formatted away. */
TEST(mkfs_fails)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    g_autofree char *tools = machine_path(&machine, "tools");
    assert_int_equal(g_mkdir(tools, 0700), 0);
    caller_open(&caller, &(LoopOptions){.state_dir = folder, .tools = tools});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, id, CSI_OK);
    write_tool(tools, "mkfs.ext4", "#!/bin/sh\necho no luck >&2\nexit 1\n");
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_INTERNAL);
    assert_non_null(strstr(caller.answer.response.message, "no luck"));
    write_tool(tools, "mkfs.ext4", "#!/bin/sh\nkill -9 $$\n");
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_INTERNAL);
    write_tool(tools, "mkfs.ext4", "#!/bin/sh\nexec /usr/sbin/mkfs.ext4 \"$@\"\n");
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_UNSTAGE_VOLUME, id, CSI_OK);
    /* It is formatted now: mkfs must not run again. */
    write_tool(tools, "mkfs.ext4", "#!/bin/sh\nexit 1\n");
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_UNSTAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, id, CSI_OK);
    caller_end(&caller);
    machine_run("rm '%s/mkfs.ext4' && rmdir '%s'", tools, tools);
    machine_leave(&machine);
}

/* LOOP-5: a file system that is damaged beyond repair is not mounted; when it is repaired it is. */
TEST(damaged_file_system)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    g_autofree char *tools = machine_path(&machine, "tools");
    assert_int_equal(g_mkdir(tools, 0700), 0);
    machine_run("ln -s /usr/sbin/mkfs.ext4 '%s/mkfs.ext4'", tools);
    caller_open(&caller, &(LoopOptions){.state_dir = folder, .tools = tools});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, id);
    caller_down(&caller, id);
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, id, CSI_OK);
    write_tool(tools, "e2fsck", "#!/bin/sh\necho UNEXPECTED INCONSISTENCY\nexit 4\n");
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_INTERNAL);
    assert_non_null(strstr(caller.answer.response.message, "damaged"));
    write_tool(tools, "e2fsck", "#!/bin/sh\nexit 1\n"); /* repaired: go on */
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_UNSTAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, id, CSI_OK);
    caller_end(&caller);
    machine_run("rm '%s/mkfs.ext4' '%s/e2fsck' && rmdir '%s'", tools, tools, tools);
    machine_leave(&machine);
}

/* CSI-49: the node is full; CSI-50, CSI-51: unknown volumes and nodes. Each works once there is
 * room, or the volume. */
TEST(node_is_full)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder, .attach_limit = 1});
    const char *a = caller_create(&caller, "a", 4 * MIB, CSI_OK);
    const char *b = caller_create(&caller, "b", 4 * MIB, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, a, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, b, CSI_RESOURCE_EXHAUSTED);
    caller.node = "n2";
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, a, CSI_FAILED_PRECONDITION);
    assert_non_null(strstr(caller.answer.response.message, "n1")); /* names the node */
    caller.node = "n1";
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, a, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, b, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, b, CSI_OK);
    caller.node = "elsewhere";
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, b, CSI_NOT_FOUND);
    caller.node = "n1";
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, "nothing", CSI_NOT_FOUND);
    caller_end(&caller);
    machine_leave(&machine);
}

/* LOOP-5: without mkfs a stage fails, with it the repeat works. */
TEST(mkfs_missing)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    g_autofree char *tools = machine_path(&machine, "tools");
    assert_int_equal(g_mkdir(tools, 0700), 0);
    caller_open(&caller, &(LoopOptions){.state_dir = folder, .tools = tools});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_INTERNAL);
    assert_non_null(strstr(caller.answer.response.message, "mkfs.ext4"));
    machine_run("ln -s /usr/sbin/mkfs.ext4 '%s/mkfs.ext4'", tools);
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_UNSTAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, id, CSI_OK);
    caller_end(&caller);
    machine_run("rm '%s/mkfs.ext4' && rmdir '%s'", tools, tools);
    machine_leave(&machine);
}

/* LOOP-18: an open file keeps the mount; it is not unmounted by force. */
TEST(unmount_busy)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder, .busy_wait_us = 20000});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, id);
    g_autofree char *target = caller_target(&caller, id);
    int user = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    caller_do(&caller, CSI_NODE_UNPUBLISH_VOLUME, id, CSI_INTERNAL);
    caller_do(&caller, CSI_NODE_UNSTAGE_VOLUME, id, CSI_INTERNAL); /* still published (LOOP-23) */
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, id, CSI_INTERNAL);
    caller_do(&caller, CSI_DELETE_VOLUME, id, CSI_FAILED_PRECONDITION);
    close(user);
    caller_down(&caller, id);
    caller_do(&caller, CSI_DELETE_VOLUME, id, CSI_OK);
    caller_end(&caller);
    machine_leave(&machine);
}

/* CSI-49, CSI-51: a volume without its file. While it is attached it works on, and reports that;
 * detached it is gone. */
TEST(backing_file_removed)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, id);
    g_autofree char *file = g_strdup_printf("%s/volumes/%s.img", folder, id);
    assert_int_equal(g_unlink(file), 0);
    caller_do(&caller, CSI_NODE_GET_VOLUME_STATS, id, CSI_OK);
    assert_true(caller.answer.response.abnormal);
    caller_expand(&caller, id, 16 * MIB, CSI_OK); /* large enough already */
    caller_down(&caller, id);
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, id, CSI_NOT_FOUND);
    caller_do(&caller, CSI_DELETE_VOLUME, id, CSI_OK);
    const char *again = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, again);
    caller_down(&caller, again);
    caller_end(&caller);
    machine_leave(&machine);
}

/* LOOP-15: another process has mounted the device. It is cleared only after that process has
 * unmounted it. */
TEST(device_mounted_elsewhere)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    g_autofree char *elsewhere = machine_path(&machine, "elsewhere");
    assert_int_equal(g_mkdir(elsewhere, 0700), 0);
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, id);
    g_autofree char *file = g_strdup_printf("%s/volumes/%s.img", folder, id);
    machine_run("mount /dev/loop%d '%s'", loop_device_of(file), elsewhere);
    caller_do(&caller, CSI_NODE_UNPUBLISH_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_UNSTAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, id, CSI_INTERNAL);
    assert_true(loop_device_of(file) >= 0);
    machine_run("umount '%s'", elsewhere);
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, id, CSI_OK);
    assert_int_equal(loop_device_of(file), -1);
    caller_end(&caller);
    g_rmdir(elsewhere);
    machine_leave(&machine);
}

/* A driver in a container that was started anew sees its folder by another mount, and the kernel
 * prints the old path. The volume is staged, published and attached as before. */
TEST(state_folder_at_another_path)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    g_autofree char *again = machine_path(&machine, "again");
    assert_int_equal(g_mkdir(again, 0700), 0);
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    g_autofree char *id = g_strdup(caller_create(&caller, "v", 16 * MIB, CSI_OK));
    caller_up(&caller, id);
    g_autofree char *file = g_strdup_printf("%s/volumes/%s.img", folder, id);
    g_autofree char *file_again = g_strdup_printf("%s/volumes/%s.img", again, id);
    caller_close(&caller);

    machine_run("mount --rbind '%s' '%s'", folder, again);
    assert_int_equal(loop_device_of(file_again), loop_device_of(file));
    caller_open(&caller, &(LoopOptions){.state_dir = again});
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_PUBLISH_VOLUME, id, CSI_OK);
    machine_run("umount '%s/nodes/n1/pods/%s/mount' '%s/nodes/n1/staging/%s'", folder, id, folder,
                id);
    caller_down(&caller, id);
    assert_int_equal(loop_device_of(file), -1);
    caller_do(&caller, CSI_DELETE_VOLUME, id, CSI_OK);
    caller_close(&caller);
    machine_run("umount -R '%s'", again);
    g_rmdir(again);
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    caller_end(&caller);
    machine_leave(&machine);
}

/* LOOP-5: a device with data is never formatted, even if it has another file system than asked
 * for. */
TEST(other_file_system)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    g_autofree char *file = g_strdup_printf("%s/volumes/%s.img", folder, id);
    machine_run("PATH=$PATH:/usr/sbin; mkfs.ext3 -q -F '%s'", file);
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_FAILED_PRECONDITION);
    caller.capability.fs_type = "ext3";
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_UNSTAGE_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, id, CSI_OK);
    caller_end(&caller);
    machine_leave(&machine);
}

/* Mount options that do more than a plain mount, paths that lead out of the node, file systems that
 * do not fit. */
TEST(bad_requests)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_do(&caller, CSI_CONTROLLER_PUBLISH_VOLUME, id, CSI_OK);
    static const char *const flags[] = {
        "bind",  "x-mount.mkdir", "X-mount.subdir=..", "remount", "rw,bind", "loop=/dev/loop0",
        "dev",   "suid",          "helper=ext4",       "user",    "",        "errors=ro,bind",
        "debug", "uhelper=x",     "data=a b",          "inode64", "=",       "subtype=x",
        "rw=a,", "context=\"a\"", "journal_dev=1",
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++) {
        g_autoptr(StringList) list = string_list_new(&flags[i], 1);
        caller.capability.mount_flags = list;
        caller_do(&caller, CSI_NODE_STAGE_VOLUME, id, CSI_INVALID_ARGUMENT);
    }
    caller.capability.mount_flags = NULL;
    const CsiRequest out = {.method = CSI_NODE_STAGE_VOLUME,
                            .served_by = "n1",
                            .volume_id = id,
                            .staging_path = "/../../out",
                            .capabilities = &caller.capability,
                            .n_capabilities = 1};
    loop_answer_clear(&caller.answer);
    loop_backend_call(caller.backend, &out, &caller.answer);
    assert_int_equal(caller.answer.response.code, CSI_INVALID_ARGUMENT);
    caller_do(&caller, CSI_CONTROLLER_UNPUBLISH_VOLUME, id, CSI_OK);
    caller.capability.fs_type = "xfs";
    caller_create(&caller, "x", 16 * MIB, CSI_OUT_OF_RANGE);
    caller.capability.fs_type = "vfat";
    caller_create(&caller, "x", 16 * MIB, CSI_INVALID_ARGUMENT);
    caller_end(&caller);
    machine_leave(&machine);
}

/* The folder must belong to the driver, and to one process at a time. */
TEST(folder_of_others)
{
    Machine machine;
    Caller caller;
    GError *error = NULL;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    g_autofree char *file = g_build_filename(folder, "precious", NULL);
    assert_int_equal(g_mkdir(folder, 0700), 0);
    data_write(file, 1, 1);
    assert_null(loop_backend_open(&(LoopOptions){.state_dir = folder}, &error));
    assert_true(g_error_matches(error, LOOP_ERROR, CSI_PERMISSION_DENIED));
    g_clear_error(&error);
    assert_false(loop_remains_clean(folder, 0, NULL, NULL, &error));
    assert_true(g_error_matches(error, LOOP_ERROR, CSI_PERMISSION_DENIED));
    g_clear_error(&error);
    data_check(file, 1, 1);
    g_unlink(file);
    g_chmod(folder, 0777);
    assert_null(loop_backend_open(&(LoopOptions){.state_dir = folder}, &error));
    assert_true(g_error_matches(error, LOOP_ERROR, CSI_PERMISSION_DENIED));
    g_clear_error(&error);
    g_rmdir(folder);

    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    assert_null(loop_backend_open(&(LoopOptions){.state_dir = folder}, &error));
    assert_true(g_error_matches(error, LOOP_ERROR, CSI_ABORTED));
    g_clear_error(&error);
    assert_false(loop_remains_clean(folder, 0, NULL, NULL, &error));
    assert_true(g_error_matches(error, LOOP_ERROR, CSI_ABORTED));
    g_clear_error(&error);
    caller_end(&caller);
    machine_leave(&machine);
}

static void
count_reports(void *data, const char *text)
{
    (void)text;
    ++*(unsigned *)data;
}

/* Things of others, before, beside and inside the state folder, stay as they are: a device and a
 * mount of their own, files whose names begin like ours, a file and a mount within our folders. */
TEST(decoys)
{
    Machine machine;
    Caller caller;
    unsigned n_reports = 0;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    g_autofree char *other = machine_host(&machine, "state-other", "ext4", 8 * MIB);
    g_autofree char *similar = machine_path(&machine, "state.img");
    g_autofree char *precious = g_build_filename(other, "precious", NULL);
    g_autofree char *inside = g_build_filename(folder, "volumes", "precious.img", NULL);
    data_write(similar, 1, 16);
    data_write(precious, 2, 16);
    machine_run("PATH=$PATH:/sbin:/usr/sbin; losetup -f '%s'", similar);
    g_autofree char *before = machine_picture(&machine);

    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, id);
    g_autofree char *target = caller_target(&caller, id);
    data_write(inside, 3, 16);
    machine_run("PATH=$PATH:/sbin:/usr/sbin; losetup -f '%s' && mount --bind '%s' '%s'", inside,
                other, target);
    caller_close(&caller);
    /* A mount of others is on top of ours, and a file of others in our folder: both stay and are
     * reported. */
    assert_false(loop_remains_clean(folder, 0, count_reports, &n_reports, NULL));
    assert_true(n_reports > 0);
    data_check(inside, 3, 16);
    g_autofree char *seen = g_build_filename(target, "precious", NULL);
    data_check(seen, 2, 16);
    machine_run("PATH=$PATH:/sbin:/usr/sbin; umount '%s'; losetup -d $(losetup -n -O NAME -j '%s')",
                target, inside);
    n_reports = 0;
    assert_false(loop_remains_clean(folder, 0, count_reports, &n_reports, NULL));
    assert_int_equal(n_reports, 1); /* the folder of another's file */
    data_check(inside, 3, 16);
    g_autofree char *after = machine_picture(&machine);
    assert_string_equal(after, before);
    g_unlink(inside);
    assert_true(loop_remains_clean(folder, 0, NULL, NULL, NULL));
    assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));

    data_check(similar, 1, 16);
    data_check(precious, 2, 16);
    machine_run("PATH=$PATH:/sbin:/usr/sbin; losetup -d $(losetup -n -O NAME -j '%s') && rm '%s'",
                similar, similar);
    machine_host_end(&machine, "state-other");
    machine_leave(&machine);
}

#define SHARED "nodes/node-1/plugins"

/* Volumes of one node come and go: their folders share the folders above. */
static void *
make_and_remove(void *data)
{
    LoopLedger *ledger = data;

    for (unsigned i = 0; i < 300; i++) {
        g_autofree char *own = g_strdup_printf(SHARED "/%p-%u", (void *)g_thread_self(), i % 3);
        g_assert_true(loop_ledger_make_folder(ledger, own, NULL));
        if (i + 1 == 300)
            break; /* one stays */
        g_assert_true(loop_ledger_remove(ledger, LOOP_FOLDER, own, NULL));
        g_assert_true(loop_ledger_remove(ledger, LOOP_FOLDER, SHARED, NULL));
        g_assert_true(loop_ledger_remove(ledger, LOOP_FOLDER, "nodes/node-1", NULL));
    }
    return NULL;
}

static gboolean
stands_in(const GPtrArray *entries, const char *what, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const LoopEntry *entry = entries->pdata[i];
        if (entry->deed == LOOP_FOLDER && strcmp(entry->what, what) == 0)
            return TRUE;
    }
    return FALSE;
}

/* A process that dies leaves a ledger that can be taken back from its end: it has everything that
 * is on the disk, folders before their content. */
TEST(folders_of_many_threads)
{
    Machine machine;
    GThread *threads[8];

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    LoopLedger *ledger = loop_ledger_open(folder, NULL);
    assert_non_null(ledger);
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("volumes", make_and_remove, ledger);
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);

    g_autoptr(GPtrArray) entries = loop_ledger_read(folder, NULL, NULL);
    g_autofree char *shared = g_build_filename(folder, SHARED, NULL);
    g_autoptr(GDir) listing = g_dir_open(shared, 0, NULL);
    unsigned n_there = 0;
    const char *name;
    while (listing != NULL && (name = g_dir_read_name(listing)) != NULL) {
        g_autofree char *path = g_build_filename(SHARED, name, NULL);
        assert_true(stands_in(entries, path, entries->len));
        n_there++;
    }
    assert_true(n_there > 0);
    for (unsigned i = 0; i < entries->len; i++) {
        const LoopEntry *entry = entries->pdata[i];
        g_autofree char *above = g_path_get_dirname(entry->what);
        assert_true(strcmp(above, ".") == 0 || stands_in(entries, above, i));
    }
    loop_ledger_free(ledger);
    assert_true(loop_remains_clean(folder, 0, NULL, NULL, NULL));
    assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
    machine_leave(&machine);
}
