/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/external-provisioner/external-provisioner.h"
#include "tests/sidecar/world.h"

/* When the provisioner tries again, to the millisecond: nothing takes time here but the driver, so
 * every attempt lies on the grid of the back-off (CGO-29: 1 s, doubling, at most 5 min, no jitter),
 * counted from the end of the one before. */

const ModelClass *const model_classes[] = {&external_provisioner_class, NULL};

#define GRID "0 1000 3000 7000 15000 31000 63000 127000 255000 511000 811000 1111000 1411000"

/* What the back end does with every call of the method. */
typedef struct {
    const char *title;
    CsiMethod method;
    CsiCode code;      /* CSI_OK: it works */
    unsigned count;    /* so many times; 0: always */
    int latency_ms;    /* of every call */
    gboolean forgets;  /* a call whose caller gives up is undone */
    gboolean unlocked; /* a second call for the same volume is let in */
    const char *flag, *value, *flag2, *value2;
    const char *times; /* of the calls, until 25 min have passed */
    gboolean succeeds;
} RetryCase;

static const RetryCase create_cases[] = {
    {.title = "PROV-12, CGO-29: for ever, at most every 5 min",
     .code = CSI_INTERNAL,
     .times = GRID       },
    {                                  .title = "PROV-12: counted from the end of a slow refusal",
     .code = CSI_INTERNAL,
     .count = 4,
     .latency_ms = 2500,
     .times = "0 3500 8000 14500 25000",
     .succeeds = TRUE},
    {                      .title = "the flags of the grid",
     .code = CSI_INTERNAL,
     .count = 7,
     .flag = "retry-interval-start",
     .value = "3s",
     .flag2 = "retry-interval-max",
     .value2 = "20s",
     .times = "0 3000 9000 21000 41000 61000 81000 101000",
     .succeeds = TRUE},
 /* The attempt is given up after 10 s; the retry meets the call that is still under way, until
  that is done. */
    {                                              .title = "PROV-22: CreateVolume takes 12 s",
     .latency_ms = 12000,
     .times = "0 11000 13000",
     .succeeds = TRUE},
    {   .title = "PROV-22: CreateVolume takes 24 s",
     .latency_ms = 24000,
     .times = "0 11000 13000 17000 25000",
     .succeeds = TRUE},
    {                                .title = "PROV-22: CreateVolume takes 2 min",
     .latency_ms = 120000,
     .times = "0 11000 13000 17000 25000 41000 73000 137000",
     .succeeds = TRUE},
    {                    .title = "PROV-22: the flag of the deadline",
     .latency_ms = 12000,
     .flag = "timeout",
     .value = "13s",
     .times = "0",
     .succeeds = TRUE},
 /* A driver that lets calls for one volume overlap: each attempt lasts until its deadline or
  until the volume is there. */
    { .title = "PROV-22: 24 s, calls may overlap",
     .latency_ms = 24000,
     .unlocked = TRUE,
     .times = "0 11000 23000 37000",
     .succeeds = TRUE},
    {                                       .title = "PROV-22: 12 s, and undone at the deadline: never",
     .latency_ms = 12000,
     .forgets = TRUE,
     .times = "0 11000 23000 37000 55000 81000 123000 197000 335000 601000 911000 1221000"},
};

static const RetryCase delete_cases[] = {
    {.title = "PROV-35, CGO-29: for ever, at most every 5 min",
     .code = CSI_INTERNAL,
     .times = GRID       },
    {       .title = "PROV-35: counted from the end of a slow refusal",
     .code = CSI_INTERNAL,
     .count = 3,
     .latency_ms = 1500,
     .times = "0 2500 6000 11500",
     .succeeds = TRUE},
    { .title = "PROV-35: DeleteVolume takes 12 s",
     .latency_ms = 12000,
     .times = "0 11000 13000",
     .succeeds = TRUE},
    {     .title = "PROV-35: DeleteVolume takes 2 min",
     .latency_ms = 120000,
     .times = "0 11000 13000 17000 25000 41000 73000 137000",
     .succeeds = TRUE},
};

/* The row, for the method of this test. */
static void
obey(World *world, CsiModelledOptions *options)
{
    const RetryCase *row = world->options.driver_arg;
    CsiModelledError *error = &world->errors[0];

    options->latency[CSI_CREATE_VOLUME] = NULL;
    options->latency[row->method] =
        row->latency_ms == 0 ? NULL : world_constant(world, row->latency_ms * SIM_MS);
    options->latency[CSI_LATENCY_REPEAT] = world_constant(world, 0);
    options->aborts_with_caller = row->forgets;
    options->lock = row->unlocked ? CSI_LOCK_NONE : CSI_LOCK_VOLUME;
    if (row->code == CSI_OK)
        return;
    *error = (CsiModelledError){
        .method = row->method, .code = row->code, .probability = 1, .count = row->count};
    options->errors = error;
    options->n_errors = 1;
}

static World *
world_of(const RetryCase *row)
{
    WorldOptions options = {.seed = 1,
                            .driver = obey,
                            .driver_arg = row,
                            .flag = row->flag,
                            .value = row->value,
                            .flag2 = row->flag2,
                            .value2 = row->value2};

    return world_new(&options);
}

static void
assert_attempts(World *world, const RetryCase *row)
{
    g_autofree char *times = world_times(world, csi_method_name(row->method));

    if (g_strcmp0(times, row->times) != 0)
        fail_msg("%s: attempts at %s, not %s", row->title, times, row->times);
}

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
    g_autoptr(World) world = world_of(row);

    world_create(world, &world_class(world, "class", BINDING_IMMEDIATE, RECLAIM_DELETE)->meta);
    world_create(world, &world_claim(world, "data", "class", NULL)->meta);
    world_run(world, 25 * SIM_MINUTE);
    assert_attempts(world, row);
    assert_one_volume(world, row);
}

static void
creation_is_retried_on_the_grid(void **state)
{
    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(create_cases); i++) {
        RetryCase row = create_cases[i];
        row.method = CSI_CREATE_VOLUME;
        create_volume(&row);
    }
}

static gboolean
release(Object *object, const void *arg)
{
    (void)arg;
    VOLUME(object)->phase = VOLUME_RELEASED;
    return TRUE;
}

static gboolean
remove_pv_protection(Object *object, const void *arg)
{
    (void)arg;
    return object_remove_finalizer(object, FINALIZER_PV_PROTECTION);
}

static void
delete_volume(const RetryCase *row)
{
    g_autoptr(World) world = world_of(row);
    Volume *volume = world_volume(world, "pv");

    volume->reclaim_policy = RECLAIM_DELETE;
    object_add_finalizer(&volume->meta, world_intern(world, FINALIZER_PROVISIONER));
    world_create(world, &volume->meta);
    world_edit(world, KIND_VOLUME, "pv", remove_pv_protection, NULL);
    world_edit_status(world, KIND_VOLUME, "pv", release, NULL);
    world_run(world, 25 * SIM_MINUTE);
    assert_attempts(world, row);
    assert_int_equal(count_volumes(world), row->succeeds ? 0 : 1);
    assert_int_equal(world_count(world, "DELETE PersistentVolume", NULL, NULL), row->succeeds);
    const Volume *left = VOLUME_CONST(world_get(world, KIND_VOLUME, "pv"));
    assert_true((left == NULL) == row->succeeds);
    if (left != NULL)
        assert_int_equal(left->phase, VOLUME_RELEASED); /* PROV-35: no other phase */
}

static void
deletion_is_retried_on_the_grid(void **state)
{
    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(delete_cases); i++) {
        RetryCase row = delete_cases[i];
        row.method = CSI_DELETE_VOLUME;
        delete_volume(&row);
    }
}

/* PROV-12, PROV-23, PROV-35: whatever the error. Without a selected node there is nothing to give
 * up for RESOURCE_EXHAUSTED. */
static void
each_error_is_retried_alike(void **state)
{
    (void)state;
    for (int code = CSI_OK + 1; code < CSI_N_CODES; code++) {
        const char *name = csi_code_name((CsiCode)code);
        RetryCase row = {
            .title = name, .method = CSI_CREATE_VOLUME, .code = (CsiCode)code, .times = GRID};
        create_volume(&row);
        row.method = CSI_DELETE_VOLUME;
        delete_volume(&row);
    }
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

static void
only_what_may_exist_outlives_its_claim(void **state)
{
    (void)state;
    assert_int_equal(G_N_ELEMENTS(final_cases), CSI_N_CODES - 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(final_cases); i++) {
        RetryCase row = {.title = csi_code_name(final_cases[i].code),
                         .method = CSI_CREATE_VOLUME,
                         .code = final_cases[i].code,
                         .count = 2,
                         .times = final_cases[i].is_final ? "0 1000" : "0 1000 3000",
                         .succeeds = !final_cases[i].is_final};
        g_autoptr(World) world = world_of(&row);
        world_create(world, &world_class(world, "class", BINDING_IMMEDIATE, RECLAIM_DELETE)->meta);
        world_create(world, &world_claim(world, "data", "class", NULL)->meta);
        world_edit(world, KIND_CLAIM, "data", remove_pvc_protection, NULL);
        world_run(world, 2 * SIM_SECOND); /* has failed twice */
        world_delete(world, KIND_CLAIM, "data");
        world_run(world, 25 * SIM_MINUTE);
        assert_attempts(world, &row);
        assert_one_volume(world, &row);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_is_retried_on_the_grid),
        cmocka_unit_test(deletion_is_retried_on_the_grid),
        cmocka_unit_test(each_error_is_retried_alike),
        cmocka_unit_test(only_what_may_exist_outlives_its_claim),
    };

    return cmocka_run_group_tests_name("external-provisioner/retries", tests, NULL, NULL);
}
