/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data through the whole life of a volume on real devices: written data is read back after each
 * step that must keep it. */
#include "machine.h"
#include "models/csi/loop/loop-test.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define BLOCKS 512

static char *
file_in(Caller *caller, const char *id)
{
    g_autofree char *target = caller_target(caller, id);

    return g_build_filename(target, "data", NULL);
}

/* Detached and attached to another node: another device, another path, the same data; formatted
 * only once. */
TEST(moves_to_another_node)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    for (unsigned i = 0; i < 4; i++) {
        caller.node = i % 2 == 0 ? "n1" : "n2";
        caller_up(&caller, id);
        g_autofree char *file = file_in(&caller, id);
        if (i > 0)
            data_check(file, i, BLOCKS);
        data_write(file, i + 1, BLOCKS);
        caller_down(&caller, id);
    }
    caller_do(&caller, CSI_DELETE_VOLUME, id, CSI_OK);
    caller_end(&caller);
    machine_leave(&machine);
}

/* Both copies have the data written before the cut, and nothing later; the source goes on. A larger
 * copy has its file system grown. */
TEST(snapshots_and_clones)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, id);
    g_autofree char *file = file_in(&caller, id);
    data_write(file, 1, BLOCKS);
    const char *snapshot = caller_snapshot(&caller, "s", id, CSI_OK);
    const char *clone = caller_restore(&caller, "c", CSI_SOURCE_VOLUME, id, 16 * MIB);
    data_write(file, 2, BLOCKS);
    const char *restored = caller_restore(&caller, "r", CSI_SOURCE_SNAPSHOT, snapshot, 64 * MIB);
    caller_do(&caller, CSI_DELETE_SNAPSHOT, snapshot, CSI_OK);
    const char *copies[] = {clone, restored};
    for (unsigned i = 0; i < G_N_ELEMENTS(copies); i++) {
        caller_up(&caller, copies[i]);
        g_autofree char *copy = file_in(&caller, copies[i]);
        data_check(copy, 1, BLOCKS);
        data_write(copy, 3 + i, BLOCKS);
    }
    caller_do(&caller, CSI_NODE_GET_VOLUME_STATS, restored, CSI_OK);
    assert_true(caller.answer.response.total_bytes > 48 * MIB);
    data_check(file, 2, BLOCKS);
    caller_down(&caller, clone);
    caller_down(&caller, restored);
    caller_down(&caller, id);
    caller_end(&caller);
    machine_leave(&machine);
}

typedef struct {
    const char *path;
    GThread *thread;
    int stop;
    int n_rounds;
} LifeWriter;

static void *
write_on(void *data)
{
    LifeWriter *writer = data;

    while (!g_atomic_int_get(&writer->stop)) {
        g_atomic_int_inc(&writer->n_rounds);
        data_write(writer->path, (uint32_t)writer->n_rounds, 64);
        data_check(writer->path, (uint32_t)writer->n_rounds, 64);
    }
    return NULL;
}

static LifeWriter *
writer_start(const char *path)
{
    LifeWriter *writer = g_new0(LifeWriter, 1);

    writer->path = path;
    writer->thread = g_thread_new("writer", write_on, writer);
    while (g_atomic_int_get(&writer->n_rounds) == 0) /* otherwise it might come too late */
        g_thread_yield();
    return writer;
}

static void
writer_end(LifeWriter *writer)
{
    g_atomic_int_set(&writer->stop, 1);
    g_thread_join(writer->thread);
    assert_true(writer->n_rounds > 0);
    data_check(writer->path, (uint32_t)writer->n_rounds, 64);
    g_free(writer);
}

/* A file system grows online where this machine lets it: xfs always does, ext4 needs
 * CAP_SYS_RESOURCE, else the answer is that of a driver that expands offline (CSI-53), and the next
 * stage grows it. A thread writes all the time. */
static const struct {
    const char *name, *type;
} file_systems[] = {
    {"grows_under_writes ext4", "ext4"},
    {"grows_under_writes xfs",  "xfs" },
};

static void
grows_under_writes(void **state)
{
    const char *type = ((__typeof__(&file_systems[0]))*state)->type;
    gboolean is_xfs = strcmp(type, "xfs") == 0;
    int64_t before = (is_xfs ? 320 : 16) * MIB, after = before + 64 * MIB;
    Machine machine;
    Caller caller;

    if (is_xfs && !g_file_test("/usr/sbin/mkfs.xfs", G_FILE_TEST_IS_EXECUTABLE)) {
        print_message("# SKIP mkfs.xfs is missing\n");
        skip();
    }
    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    caller.capability.fs_type = type;
    const char *id = caller_create(&caller, "v", before, CSI_OK);
    caller_up(&caller, id);
    g_autofree char *file = file_in(&caller, id);
    g_autofree char *busy = g_strconcat(file, "-busy", NULL);
    data_write(file, 1, BLOCKS);
    caller_do(&caller, CSI_NODE_GET_VOLUME_STATS, id, CSI_OK);
    int64_t total = caller.answer.response.total_bytes;
    LifeWriter *writer = writer_start(busy);
    if (loop_can_grow_online(type)) {
        caller_expand(&caller, id, after, CSI_OK);
        assert_true(caller.answer.response.node_expansion_required);
        caller_do(&caller, CSI_NODE_EXPAND_VOLUME, id, CSI_OK);
        writer_end(writer);
    } else {
        caller_expand(&caller, id, after, CSI_FAILED_PRECONDITION);
        writer_end(writer);
        caller_down(&caller, id);
        caller_expand(&caller, id, after, CSI_OK);
        caller_up(&caller, id);
        caller_do(&caller, CSI_NODE_EXPAND_VOLUME, id, CSI_OK);
    }
    assert_int_equal(caller.answer.response.capacity_bytes, after);
    caller_do(&caller, CSI_NODE_GET_VOLUME_STATS, id, CSI_OK);
    assert_true(caller.answer.response.total_bytes > total + 32 * MIB);
    data_check(file, 1, BLOCKS);
    caller_down(&caller, id);
    caller_end(&caller);
    machine_leave(&machine);
}
TEST_ROWS(file_systems, grows_under_writes);

/* A raw device: data at its place, grown in use, read-only where asked. */
TEST(block_volumes)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    caller.capability.type = CSI_ACCESS_BLOCK;
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, id);
    g_autofree char *device = caller_target(&caller, id);
    struct stat status;
    assert_int_equal(stat(device, &status), 0);
    assert_true(S_ISBLK(status.st_mode));
    data_write(device, 1, BLOCKS);
    caller_expand(&caller, id, 32 * MIB, CSI_OK);
    caller_do(&caller, CSI_NODE_EXPAND_VOLUME, id, CSI_OK);
    caller_do(&caller, CSI_NODE_GET_VOLUME_STATS, id, CSI_OK);
    assert_int_equal(caller.answer.response.total_bytes, 32 * MIB);
    caller_down(&caller, id);
    caller.node = "n2";
    caller_up(&caller, id);
    g_autofree char *other = caller_target(&caller, id);
    data_check(other, 1, BLOCKS);
    caller_down(&caller, id);
    caller_end(&caller);
    machine_leave(&machine);
}

/* LOOP-6: a read-only bind of a volume that is mounted for writing. */
TEST(read_only_is_read_only)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    const char *id = caller_create(&caller, "v", 16 * MIB, CSI_OK);
    caller_up(&caller, id);
    g_autofree char *file = file_in(&caller, id);
    data_write(file, 1, 1);
    caller_do(&caller, CSI_NODE_UNPUBLISH_VOLUME, id, CSI_OK);
    caller.readonly = TRUE;
    caller_do(&caller, CSI_NODE_PUBLISH_VOLUME, id, CSI_OK);
    assert_int_equal(open(file, O_WRONLY | O_CLOEXEC), -1);
    assert_int_equal(errno, EROFS);
    data_check(file, 1, 1);
    caller_down(&caller, id);
    caller_end(&caller);
    machine_leave(&machine);
}

/* Another process opens the folder: everything is as the first left it, and can be taken down
 * (LOOP-32). */
TEST(outlives_its_process)
{
    Machine machine;
    Caller caller;

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    const LoopOptions options = {.state_dir = folder};
    caller_open(&caller, &options);
    const char *ids[2] = {caller_create(&caller, "v", 16 * MIB, CSI_OK)};
    caller_up(&caller, ids[0]);
    g_autofree char *file = file_in(&caller, ids[0]);
    data_write(file, 1, BLOCKS);
    ids[1] = caller_create(&caller, "w", 16 * MIB, CSI_OK);
    g_autofree char *v = g_strdup(ids[0]);
    g_autofree char *w = g_strdup(ids[1]);
    caller_close(&caller);

    caller_open(&caller, &options);
    assert_int_equal(loop_backend_n_volumes(caller.backend), 2);
    data_check(file, 1, BLOCKS);
    caller_do(&caller, CSI_NODE_STAGE_VOLUME, v, CSI_OK); /* a repeat */
    caller_do(&caller, CSI_DELETE_VOLUME, v, CSI_FAILED_PRECONDITION);
    caller_do(&caller, CSI_DELETE_VOLUME, w, CSI_OK);
    caller_down(&caller, v);
    caller_do(&caller, CSI_DELETE_VOLUME, v, CSI_OK);
    caller_end(&caller);
    machine_leave(&machine);
}

typedef struct {
    Caller caller;
    GThread *thread;
    unsigned number;
} LifePod;

static void *
life_live(void *data)
{
    LifePod *pod = data;
    g_autofree char *name = g_strdup_printf("v%u", pod->number);
    const char *id = caller_create(&pod->caller, name, 16 * MIB, CSI_OK);

    caller_up(&pod->caller, id);
    g_autofree char *file = file_in(&pod->caller, id);
    data_write(file, pod->number, 64);
    data_check(file, pod->number, 64);
    return NULL;
}

/* More volumes at once than the machine has devices: numbers are made, and removed again. */
static void
twenty_pods(void)
{
    Machine machine;
    Caller caller;
    LifePod pods[20];

    machine_enter(&machine);
    g_autofree char *folder = machine_path(&machine, "state");
    caller_open(&caller, &(LoopOptions){.state_dir = folder});
    for (unsigned i = 0; i < G_N_ELEMENTS(pods); i++) {
        pods[i] = (LifePod){.caller = caller, .number = i};
        pods[i].caller.strings = strings_new();
        pods[i].thread = g_thread_new("pod", life_live, &pods[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(pods); i++)
        g_thread_join(pods[i].thread);
    /* Each has a device of its own; devices beyond those of a fresh machine were made for us. */
    g_autoptr(GPtrArray) facts = loop_backend_facts(caller.backend);
    gboolean taken[4096] = {FALSE};
    unsigned n_attached = 0;
    for (unsigned i = 0; i < facts->len; i++) {
        const LoopFact *fact = facts->pdata[i];
        if (fact->target != NULL)
            continue;
        assert_true(fact->device >= 0 && fact->device < (int)G_N_ELEMENTS(taken));
        assert_false(taken[fact->device]);
        assert_int_equal(loop_device_of(fact->backing_file), fact->device);
        taken[fact->device] = TRUE;
        n_attached++;
    }
    assert_int_equal(n_attached, G_N_ELEMENTS(pods));
    for (unsigned i = 0; i < G_N_ELEMENTS(pods); i++) {
        g_autofree char *name = g_strdup_printf("v%u", i);
        const char *id = caller_create(&pods[i].caller, name, 16 * MIB, CSI_OK); /* a repeat */
        g_autofree char *file = file_in(&pods[i].caller, id);
        data_check(file, i, 64);
        caller_down(&pods[i].caller, id);
        caller_do(&pods[i].caller, CSI_DELETE_VOLUME, id, CSI_OK);
        loop_answer_clear(&pods[i].caller.answer);
        strings_free(pods[i].caller.strings);
    }
    caller_end(&caller);
    machine_leave(&machine);
}

TEST(twenty_at_once)
{
    twenty_pods();
}

/* A /dev of our own, as a container's: eight loop devices, and no kernel that adds what it makes */
static void
make_static_dev(void)
{
    static const struct {
        const char *path;
        mode_t type;
        unsigned major, minor;
    } nodes[] = {
        {"/dev/null",         S_IFCHR, 1,  3  },
        {"/dev/urandom",      S_IFCHR, 1,  9  },
        {"/dev/loop-control", S_IFCHR, 10, 237},
    };

    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal(mount("dev", "/dev", "tmpfs", 0, "mode=755"), 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++)
        assert_int_equal(
            mknod(nodes[i].path, nodes[i].type | 0600, makedev(nodes[i].major, nodes[i].minor)), 0);
    for (unsigned i = 0; i < 8; i++) {
        g_autofree char *path = g_strdup_printf("/dev/loop%u", i);
        assert_int_equal(mknod(path, S_IFBLK | 0600, makedev(7, i)), 0);
    }
}

/* LOOP-20: with eight nodes in /dev and no more to come, the driver makes those that it needs in
 * its own folder. */
TEST(twenty_with_eight_nodes)
{
    int outside = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

    if (!loop_device_permitted(NULL) || outside == -1 || unshare(CLONE_NEWNS) != 0) {
        print_message("# SKIP needs root and a mount namespace of its own\n");
        if (outside != -1)
            close(outside);
        skip();
    }
    make_static_dev();
    twenty_pods();
    g_autoptr(GDir) dev = g_dir_open("/dev", 0, NULL);
    unsigned n_nodes = 0;
    for (const char *name; (name = g_dir_read_name(dev)) != NULL;)
        n_nodes += g_str_has_prefix(name, "loop") && strcmp(name, "loop-control") != 0 ? 1 : 0;
    assert_int_equal(n_nodes, 8);
    assert_int_equal(setns(outside, CLONE_NEWNS), 0);
    close(outside);
}
