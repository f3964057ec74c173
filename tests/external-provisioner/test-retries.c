/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/external-provisioner/external-provisioner.h"
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
static void
creation_is_retried_on_the_grid(void **state)
{
    (void)state;
    retry_all(CSI_CREATE_VOLUME, create_cases, G_N_ELEMENTS(create_cases), create_volume);
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
    g_autoptr(World) world = retry_world(row);
    Volume *volume = world_volume(world, "pv");

    volume->reclaim_policy = RECLAIM_DELETE;
    object_add_finalizer(&volume->meta, world_intern(world, FINALIZER_PROVISIONER));
    world_create(world, &volume->meta);
    world_edit(world, KIND_VOLUME, "pv", remove_pv_protection, NULL);
    world_edit_status(world, KIND_VOLUME, "pv", release, NULL);
    world_run(world, RETRY_TIME);
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
    retry_all(CSI_DELETE_VOLUME, delete_cases, G_N_ELEMENTS(delete_cases), delete_volume);
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_is_retried_on_the_grid),
        cmocka_unit_test(deletion_is_retried_on_the_grid),
        cmocka_unit_test(only_what_may_exist_outlives_its_claim),
    };

    return cmocka_run_group_tests_name("external-provisioner/retries", tests, NULL, NULL);
}
