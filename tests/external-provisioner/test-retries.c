/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/external-provisioner/external-provisioner.h"
#include "tests/lib/test.h"
#include "tests/sidecar/retries.h"

/* When the provisioner tries again: tests/sidecar/retries.h. */

const ModelClass *const model_classes[] = {&external_provisioner_class, NULL};

/* The provisioner gives a call up after 10 s; the retry meets the call that is still under way,
 * until that is done. */
/* clang-format off */
static const RetryCase create_cases[] = {
    {"PROV-22: CreateVolume takes 12 s", 12000, PLAIN, NULL, NULL, "0 11000 13000", TRUE},
    {"PROV-22: CreateVolume takes 24 s", 24000, PLAIN, NULL, NULL, "0 11000 13000 17000 25000",
     TRUE},
    {"PROV-22: CreateVolume takes 2 min", 120000, PLAIN, NULL, NULL,
     "0 11000 13000 17000 25000 41000 73000 137000", TRUE},
    {"PROV-22: the flag of the deadline", 12000, PLAIN, "timeout", "13s", "0", TRUE},
 /* Each attempt lasts until its deadline or until the volume is there. */
    {"PROV-22: 24 s, calls may overlap", 24000, UNLOCKED, NULL, NULL, "0 11000 23000 37000", TRUE},
    {"PROV-22: 12 s, and undone at the deadline: never", 12000, FORGETS, NULL, NULL,
     "0 11000 23000 37000 55000 81000 123000 197000 335000 601000 911000", FALSE},
};
/* clang-format on */

/* clang-format off */
static const RetryCase delete_cases[] = {
    {"PROV-35: DeleteVolume takes 12 s",  12000,  PLAIN, NULL, NULL, "0 11000 13000",                                TRUE},
    {"PROV-35: DeleteVolume takes 2 min", 120000, PLAIN, NULL, NULL, "0 11000 13000 17000 25000 41000 73000 137000", TRUE},
};
/* clang-format on */

static unsigned
count_volumes(const World *world)
{
    return (unsigned)csi_modelled_driver_n_volumes(world->driver);
}

/* However often it was asked for: the back end made one volume or none, and so did the provisioner.
 */
static void
assert_one_volume(World *world, const RetryCase *row)
{
    unsigned expected = row->succeeds ? 1 : 0;

    if (count_volumes(world) != expected ||
        world_count(world, "CREATE PersistentVolume", NULL, NULL) != expected ||
        api_server_count(world->api, KIND_VOLUME) != expected)
        fail_msg("%s: %u volumes in the back end, %u in the cluster", row->title,
                 count_volumes(world), (unsigned)api_server_count(world->api, KIND_VOLUME));
}

static void
create_volume(const RetryCase *row)
{
    g_autoptr(World) world = retry_world(row);

    world_create(world, &world_class(world, "class", BINDING_IMMEDIATE, RECLAIM_DELETE)->meta);
    world_create(world, &world_claim(world, "data", "class", NULL)->meta);
    world_run(world, RETRY_TIME);
    assert_attempts(world, row);
    assert_one_volume(world, row);
}

/* PROV-12, PROV-23: whatever the error. Without a selected node there is nothing to give up for
 * RESOURCE_EXHAUSTED. */
TEST(creation_is_retried_on_the_grid)
{
    retry_all(CSI_CREATE_VOLUME, create_cases, G_N_ELEMENTS(create_cases), create_volume);
}

static gboolean
retries_release(Object *object, const void *arg)
{
    (void)arg;
    VOLUME(object)->phase = VOLUME_RELEASED;
    return TRUE;
}

static gboolean
retries_remove_pv_protection(Object *object, const void *arg)
{
    (void)arg;
    return object_remove_finalizer(object, FINALIZER_PV_PROTECTION);
}

static void
retries_delete_volume(const RetryCase *row)
{
    g_autoptr(World) world = retry_world(row);
    Volume *volume = world_volume(world, "pv");

    volume->reclaim_policy = RECLAIM_DELETE;
    object_add_finalizer(&volume->meta, world_intern(world, FINALIZER_PROVISIONER));
    world_create(world, &volume->meta);
    world_edit(world, KIND_VOLUME, "pv", retries_remove_pv_protection, NULL);
    world_edit_status(world, KIND_VOLUME, "pv", retries_release, NULL);
    world_run(world, RETRY_TIME);
    assert_attempts(world, row);
    assert_int_equal(count_volumes(world), row->succeeds ? 0 : 1);
    assert_int_equal(world_count(world, "DELETE PersistentVolume", NULL, NULL), row->succeeds);
    const Volume *left = VOLUME_CONST(world_get(world, KIND_VOLUME, "pv"));
    assert_true((left == NULL) == row->succeeds);
    if (left != NULL)
        assert_int_equal(left->phase, VOLUME_RELEASED); /* PROV-35: no other phase */
}

TEST(deletion_is_retried_on_the_grid)
{
    retry_all(CSI_DELETE_VOLUME, delete_cases, G_N_ELEMENTS(delete_cases), retries_delete_volume);
}

/* PROV-15, PROV-16: which errors may have left something behind. A claim that goes meanwhile is
 * asked for once more, or never. */
static const struct {
    CsiCode code;
    gboolean is_final;
} final_cases[] = {
    {CSI_CANCELLED,           FALSE},
    {CSI_UNKNOWN,             TRUE },
    {CSI_INVALID_ARGUMENT,    TRUE },
    {CSI_DEADLINE_EXCEEDED,   FALSE},
    {CSI_NOT_FOUND,           TRUE },
    {CSI_ALREADY_EXISTS,      TRUE },
    {CSI_PERMISSION_DENIED,   TRUE },
    {CSI_RESOURCE_EXHAUSTED,  TRUE },
    {CSI_FAILED_PRECONDITION, TRUE },
    {CSI_ABORTED,             FALSE},
    {CSI_OUT_OF_RANGE,        TRUE },
    {CSI_UNIMPLEMENTED,       TRUE },
    {CSI_INTERNAL,            TRUE },
    {CSI_UNAVAILABLE,         FALSE},
    {CSI_DATA_LOSS,           TRUE },
    {CSI_UNAUTHENTICATED,     TRUE },
};

static gboolean
remove_pvc_protection(Object *object, const void *arg)
{
    (void)arg;
    return object_remove_finalizer(object, FINALIZER_PVC_PROTECTION);
}

TEST(only_what_may_exist_outlives_its_claim)
{
    assert_int_equal(G_N_ELEMENTS(final_cases), CSI_N_CODES - 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(final_cases); i++) {
        RetryCase row = {.title = csi_code_name(final_cases[i].code),
                         .method = CSI_CREATE_VOLUME,
                         .code = final_cases[i].code,
                         .count = 2,
                         .times = final_cases[i].is_final ? "0 1000" : "0 1000 3000",
                         .succeeds = !final_cases[i].is_final};
        g_autoptr(World) world = retry_world(&row);
        world_create(world, &world_class(world, "class", BINDING_IMMEDIATE, RECLAIM_DELETE)->meta);
        world_create(world, &world_claim(world, "data", "class", NULL)->meta);
        world_edit(world, KIND_CLAIM, "data", remove_pvc_protection, NULL);
        world_run(world, 2 * SIM_SECOND); /* has failed twice */
        world_delete(world, KIND_CLAIM, "data");
        world_run(world, RETRY_TIME);
        assert_attempts(world, &row);
        assert_one_volume(world, &row);
    }
}

/* ---- PROV-1: a driver that is not ready ---- */

#define MS(ms) ((ms)*SIM_MS)

typedef struct {
    const char *title;
    SimTime ready_at, latency; /* of Probe */
    const char *probes;        /* ms */
} ProbeCase;

/* ProbeForever() in common.go of csi-lib-utils v0.20: at once, and then with each tick of a ticker
 * of a second, whatever a Probe takes; a Probe that has missed a tick is followed by one at once.
 */
static const ProbeCase probe_cases[] = {
    {"ready",                             0,        MS(10),    "0"                              },
    {"ready after three seconds",         MS(2500), MS(10),    "0 1000 2000 3000"               },
    {"... and the Probe takes most of a", MS(2500), MS(900),   "0 1000 2000"                    },
    {"a Probe that times out",            0,        MS(60000), "0 10000 20000 30000 40000 50000"},
};

#define CRASHED_AT MS(10)
#define PROBED_FROM (CRASHED_AT + MS(30)) /* TIM-90 */

static void
be_ready_later(World *world, CsiModelledOptions *options)
{
    const ProbeCase *row = world->options.driver_arg;

    options->ready_at = row->ready_at;
    options->latency[CSI_PROBE] = world_constant(world, row->latency);
}

static void
note_probe(void *times, const CsiCallRecord *record)
{
    if (record->request->method == CSI_PROBE)
        g_string_append_printf(times, "%s%" G_GINT64_FORMAT, ((GString *)times)->len > 0 ? " " : "",
                               (record->started_at - PROBED_FROM) / SIM_MS);
}

TEST(probed_until_it_is_ready)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(probe_cases); i++) {
        SidecarWorldOptions options = {
            .seed = 1, .driver = be_ready_later, .driver_arg = &probe_cases[i]};
        g_autoptr(GString) times = g_string_new(NULL);
        g_autoptr(World) world = world_new(&options);
        csi_driver_add_observer(csi_modelled_driver_base(world->driver),
                                &(CsiObserver){.started = note_probe, .data = times});
        world_run(world, CRASHED_AT);
        assert_true(cluster_crash(world->cluster, "external-provisioner", WORLD_DRIVER));
        assert_true(cluster_restart(world->cluster, "external-provisioner", WORLD_DRIVER));
        world_run(world, SIM_MINUTE);
        if (strcmp(times->str, probe_cases[i].probes) != 0)
            fail_msg("%s: %s", probe_cases[i].title, times->str);
    }
}
