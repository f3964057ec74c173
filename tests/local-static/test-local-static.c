/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/local/local-disks.h"
#include "models/local-static/local-static.h"
#include "tests/lib/test.h"

#include "models/local-static/local-static-test.h"
#include "tests/sidecar/world-asserts.h"

const ModelClass *const model_classes[] = {&local_static_class, NULL};

#define GI (INT64_C(1) << 30)
#define MI (INT64_C(1) << 20)
#define NAME "local-static-provisioner"
#define DISK "local-pv-d5b2fb47" /* of the node a */

/* ---- LOC-43, LOC-45: pure parts ---- */

TEST(names_are_hashes)
{
    g_autofree char *first = local_static_volume_name("disk-0", "a", "local-storage");
    g_autofree char *second = local_static_volume_name("disk-1", "a", "local-storage");
    g_autofree char *empty = local_static_volume_name("", "", "");

    assert_string_equal(first, DISK);
    assert_string_not_equal(second, DISK);
    assert_string_equal(empty, "local-pv-811c9dc5");
}

TEST(capacities_are_rounded_down)
{
    static const struct {
        int64_t bytes, rounded;
    } rows[] = {
        {10 * GI,     10 * GI             },
        {10 * GI + 1, 10 * GI             },
        {10 * GI - 1, (10 * 1024 - 1) * MI},
        {10 * MI,     10 * MI             },
        {10 * MI - 1, 10 * MI - 1         },
        {1,           1                   },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
        assert_int_equal(local_static_round(rows[i].bytes), rows[i].rounded);
}

typedef struct {
    const char *text;
    int n;
    int64_t last;
} DisksCase;

static const DisksCase disks_cases[] = {
    {"",            0,  0      },
    {"10Gi",        1,  10 * GI},
    {" 10Gi  1Mi ", 2,  MI     },
    {"10Gi,1Mi",    -1, 0      },
    {"0",           -1, 0      },
    {"-1Gi",        -1, 0      },
    {"10Gi ten",    -1, 0      },
};

static void
disks_are_parsed(void **state)
{
    const DisksCase *row = *state;
    int64_t bytes[LOCAL_DISKS_MAX] = {0};
    g_autoptr(GError) error = NULL;
    int n = local_disks_parse(row->text, bytes, &error);

    assert_int_equal(n, row->n);
    assert_int_equal(error != NULL, n < 0);
    if (n > 0)
        assert_int_equal(bytes[n - 1], row->last);
}
TEST_ROWS(disks_cases, disks_are_parsed);

TEST(disks_have_a_limit)
{
    g_autoptr(GString) text = g_string_new(NULL);
    int64_t bytes[LOCAL_DISKS_MAX];

    for (int i = 0; i < LOCAL_DISKS_MAX; i++)
        g_string_append(text, "1Gi ");
    assert_int_equal(local_disks_parse(text->str, bytes, NULL), LOCAL_DISKS_MAX);
    g_string_append(text, "1Gi");
    assert_int_equal(local_disks_parse(text->str, bytes, NULL), -1);
}

/* ---- The loop on node a: it has one disk, and cleans for 15 s ---- */

static void *
options_of_node(void *data, const ProcessClass *class)
{
    const World *world = data;
    void *options = process_options_new(class, world->strings);

    assert_true(process_flag_set(process_class_flag(class, "cleaningTime"), options, "15s",
                                 world->strings, NULL));
    return options;
}

static gboolean
set_disks(Object *object, const void *text)
{
    return object_set_annotation(object, ANNOTATION_DISKS, text);
}

static void
local_static_add_class(World *world, ReclaimPolicy policy)
{
    StorageClass *class =
        world_class(world, "local-storage", BINDING_WAIT_FOR_FIRST_CONSUMER, policy);

    world_create(world, &class->meta);
}

static World *
local_static_new_world(gboolean polling)
{
    World *world = world_new(&(SidecarWorldOptions){.seed = 1, .polling = polling});

    world_edit(world, KIND_NODE, "a", set_disks, world_intern(world, "20Gi"));
    cluster_add_node(world->cluster, "a", options_of_node, world);
    return world;
}

static gboolean
local_static_set_phase(Object *object, const void *phase)
{
    VOLUME(object)->phase = *(const uint32_t *)phase;
    return TRUE;
}

static gboolean
drop_protection(Object *object, const void *arg)
{
    (void)arg;
    return object_remove_finalizer(object, FINALIZER_PV_PROTECTION);
}

static void
local_static_release(World *world)
{
    const uint32_t phase = VOLUME_RELEASED;

    world_edit(world, KIND_VOLUME, DISK, drop_protection, NULL);
    world_edit_status(world, KIND_VOLUME, DISK, local_static_set_phase, &phase);
}

/* LOC-40 to LOC-44: the disk is released at @released_s, and the provisioner dies at @dies_s and is
 * back a second later. */
typedef struct {
    const char *name;
    ReclaimPolicy policy;
    int released_s, dies_s;
    const char *deleted, *created; /* instants in seconds */
} LocalStaticLifeCase;

static const LocalStaticLifeCase life_cases[] = {
    {"never released",             RECLAIM_DELETE, 0,  0,  "",   "0"   },
    {"released",                   RECLAIM_DELETE, 25, 0,  "50", "0 50"},
    {"released just after a pass", RECLAIM_DELETE, 31, 0,  "60", "0 60"},
    {"retained",                   RECLAIM_RETAIN, 25, 0,  "",   "0"   },
    {"cleaning is forgotten",      RECLAIM_DELETE, 25, 40, "61", "0 61"},
    {"done, and then forgotten",   RECLAIM_DELETE, 25, 47, "68", "0 68"},
};

/* "0 50" of "0 50000" and the like */
static char *
local_static_seconds(World *world, const char *what)
{
    g_autofree char *times = world_times(world, what);
    g_auto(GStrv) words = g_strsplit(times, " ", -1);
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; words[i] != NULL; i++)
        if (words[i][0] != '\0')
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT, text->len > 0 ? " " : "",
                                   g_ascii_strtoll(words[i], NULL, 10) / 1000);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
local_static_live(const LocalStaticLifeCase *row, gboolean polling)
{
    g_autoptr(World) world = local_static_new_world(polling);

    local_static_add_class(world, row->policy);
    if (row->released_s > 0) {
        world_run(world, row->released_s * SIM_SECOND);
        local_static_release(world);
    }
    if (row->dies_s > 0) {
        world_run(world, row->dies_s * SIM_SECOND);
        cluster_crash(world->cluster, NAME, "a");
        world_run(world, (row->dies_s + 1) * SIM_SECOND);
        cluster_restart(world->cluster, NAME, "a");
    }
    world_run(world, 3 * SIM_MINUTE);
    g_autofree char *deleted = local_static_seconds(world, "DELETE PersistentVolume");
    g_autofree char *created = local_static_seconds(world, "CREATE PersistentVolume");
    assert_string_equal(deleted, row->deleted);
    assert_string_equal(created, row->created);
}

static void
a_disk_is_used_again(void **state)
{
    local_static_live(*state, FALSE);
    local_static_live(*state, TRUE);
}
TEST_ROWS(life_cases, a_disk_is_used_again);

/* LOC-42: without the class, or with Recycle, nothing is made; a disk may come later. */
TEST(volumes_are_made)
{
    g_autoptr(World) world = local_static_new_world(FALSE);

    world_run(world, 25 * SIM_SECOND);
    assert_null(world_get(world, KIND_VOLUME, DISK));
    local_static_add_class(world, RECLAIM_DELETE);
    world_run(world, SIM_MINUTE);
    const Volume *volume = VOLUME_CONST(world_get(world, KIND_VOLUME, DISK));
    assert_non_null(volume);
    assert_int_equal(volume->capacity_bytes, 20 * GI);
    assert_string_equal(volume->source->handle, "/mnt/disks/disk-0");
    assert_int_equal(volume->node_affinity->n_terms, 1);
    world_edit(world, KIND_NODE, "a", set_disks, world_intern(world, "20Gi 5Gi"));
    world_run(world, 2 * SIM_MINUTE);
    assert_int_equal(world_count(world, "CREATE PersistentVolume", NULL, NULL), 2);
}

TEST(nothing_is_recycled)
{
    g_autoptr(World) world = local_static_new_world(FALSE);

    local_static_add_class(world, RECLAIM_RECYCLE);
    world_run(world, SIM_MINUTE);
    assert_int_equal(world_count(world, "CREATE PersistentVolume", NULL, NULL), 0);
}
