/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/expand-controller/expand-controller.h"
#include "tests/lib/storage-world.h"

const ModelClass *const model_classes[] = {&expand_controller_class, NULL};

#define GI(n) ((int64_t)(n) << 30)

static gboolean
bind_claim(Object *object, const void *data)
{
    (void)data;
    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->capacity_bytes = CLAIM(object)->request_bytes;
    return TRUE;
}

static gboolean
set_request(Object *object, const void *bytes)
{
    CLAIM(object)->request_bytes = *(const int64_t *)bytes;
    return TRUE;
}

static gboolean
set_claim_uid(Object *object, const void *uid)
{
    VOLUME(object)->claim_ref.uid = *(const ObjectUid *)uid;
    return TRUE;
}

static gboolean
allow_expansion(Object *object, const void *data)
{
    (void)data;
    STORAGE_CLASS(object)->allow_expansion = TRUE;
    return TRUE;
}

/* The claim c of 1Gi, bound to the volume v. */
static void
bound_pair(StorageWorld *world)
{
    Claim *claim = storage_world_claim(world, "c", 1, "fast");

    storage_world_class(world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_patch(world, objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "fast"),
                        allow_expansion, NULL);
    claim->volume_name = storage_world_intern(world, "v");
    const Object *stored = storage_world_create(world, claim);
    Volume *volume = storage_world_volume(world, "v", 1, "fast");
    volume->claim_ref = (ClaimReference){stored->key, stored->uid, 0};
    storage_world_create(world, volume);
}

static void
ask_for(StorageWorld *world, int64_t bytes)
{
    storage_world_patch(world, storage_world_claim_key(world, "c"), set_request, &bytes);
}

static void
settle(StorageWorld *world)
{
    storage_world_run(world, sim_now(world->sim) + SIM_SECOND);
}

static void
world_start(StorageWorld *world)
{
    storage_world_init(world, NULL);
    bound_pair(world);
    storage_world_start(world);
    storage_world_patch_status(world, storage_world_claim_key(world, "c"), bind_claim, NULL);
    settle(world);
    storage_world_log(world);
}

/* RSZ-13, once for each growth (RSZ-10). */
static void
tells_that_another_expands(void **state)
{
    StorageWorld world;

    (void)state;
    world_start(&world);
    g_autofree char *before = storage_world_events(&world);
    assert_string_equal(before, "");
    ask_for(&world, GI(2));
    settle(&world);
    g_autofree char *once = storage_world_events(&world);
    assert_string_equal(once, "Normal ExternalExpanding pvc/c");
    assert_string_equal(api_server_event(world.api, 0)->source, "volume_expand");
    assert_string_equal(api_server_event(world.api, 0)->message,
                        "waiting for an external controller to expand this PVC");
    ask_for(&world, GI(3));
    settle(&world);
    g_autofree char *twice = storage_world_events(&world);
    assert_string_equal(twice, "Normal ExternalExpanding pvc/c x2");
    storage_world_clear(&world);
}

/* RSZ-11 */
static void
volume_of_another_claim(void **state)
{
    StorageWorld world;
    const ObjectUid other = {1, 2};

    (void)state;
    world_start(&world);
    storage_world_patch(&world, storage_world_volume_key(&world, "v"), set_claim_uid, &other);
    settle(&world);
    ask_for(&world, GI(2));
    settle(&world);
    g_autofree char *events = storage_world_events(&world);
    assert_string_equal(events, "");
    assert_true(api_server_n_requests(world.api, API_GET) > 3); /* retried from 5 ms on */
    storage_world_clear(&world);
}

static ApiCode
refuse_reads(void *data, const ApiRequest *request, GString *message)
{
    unsigned *n_left = data;

    if (request->key->kind != KIND_VOLUME || request->verb != API_GET || *n_left == 0)
        return API_OK;
    (*n_left)--;
    g_string_assign(message, "refused by the test");
    return API_ERROR;
}

/* RSZ-11: the volume is read again after a while. */
static void
a_volume_that_cannot_be_read(void **state)
{
    StorageWorld world;
    unsigned n_refusals = 3;

    (void)state;
    world_start(&world);
    api_server_set_fault(world.api, refuse_reads, &n_refusals);
    ask_for(&world, GI(2));
    settle(&world);
    g_autofree char *events = storage_world_events(&world);
    assert_string_equal(events, "Normal ExternalExpanding pvc/c");
    assert_int_equal(n_refusals, 0);
    storage_world_clear(&world);
}

/* RSZ-10: a claim that shrinks is ignored. */
static void
a_smaller_request(void **state)
{
    StorageWorld world;

    (void)state;
    world_start(&world);
    ask_for(&world, GI(4));
    settle(&world);
    ask_for(&world, GI(3));
    settle(&world);
    g_autofree char *events = storage_world_events(&world);
    assert_string_equal(events, "Normal ExternalExpanding pvc/c");
    storage_world_clear(&world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_that_another_expands),
        cmocka_unit_test(volume_of_another_claim),
        cmocka_unit_test(a_volume_that_cannot_be_read),
        cmocka_unit_test(a_smaller_request),
    };

    return cmocka_run_group_tests_name("expand-controller", tests, NULL, NULL);
}
