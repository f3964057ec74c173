/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/api-test.h"
#include "models/pvc-pv-protection/pvc-pv-protection.h"
#include "tests/lib/storage-world.h"
#include "tests/lib/test.h"

#include <string.h>

const ModelClass *const model_classes[] = {&pvc_protection_class, &pv_protection_class,
                                           &vac_protection_class, NULL};

static gboolean
edit_volume_phase(Object *object, const void *phase)
{
    VOLUME(object)->phase = *(const VolumePhase *)phase;
    return TRUE;
}

static gboolean
edit_claim_phase(Object *object, const void *phase)
{
    CLAIM(object)->phase = *(const ClaimPhase *)phase;
    return TRUE;
}

static gboolean
edit_pod_phase(Object *object, const void *phase)
{
    POD(object)->phase = *(const PodPhase *)phase;
    return TRUE;
}

static gboolean
edit_node(Object *object, const void *node)
{
    POD(object)->node_name = node;
    return TRUE;
}

static ObjectKey *
pod_key(const StorageWorld *world, const char *name)
{
    return objects_key(world->objects, KIND_POD, "default", name);
}

static void
set_volume_phase(StorageWorld *world, VolumePhase phase)
{
    storage_world_patch_status(world, storage_world_volume_key(world, "v"), edit_volume_phase,
                               &phase);
}

static void
pvc_pv_protection_settle(StorageWorld *world)
{
    storage_world_run(world, sim_now(world->sim) + SIM_SECOND);
}

/* The claim c, to be deleted while the pod p uses it. */
static void
claim_and_pod(StorageWorld *world, const char *node)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 1, ""));
    storage_world_create(world, storage_world_pod(world, "p", "c", node));
    pvc_pv_protection_settle(world);
    storage_world_log(world);
}

static void
unused_claim(StorageWorld *world)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 1, ""));
    pvc_pv_protection_settle(world);
    storage_world_delete(world, storage_world_claim_key(world, "c"));
    pvc_pv_protection_settle(world);
    assert_null(storage_world_stored_claim(world, "c"));
}

static void
used_claim(StorageWorld *world)
{
    claim_and_pod(world, "n");
    storage_world_delete(world, storage_world_claim_key(world, "c"));
    storage_world_run(world, 86400 * SIM_SECOND);
    assert_non_null(storage_world_stored_claim(world, "c"));
}

static void
used_until_the_pod_is_gone(StorageWorld *world)
{
    used_claim(world);
    storage_world_delete(world, pod_key(world, "p"));
    pvc_pv_protection_settle(world); /* terminating, with its grace */
    assert_non_null(storage_world_stored_claim(world, "c"));
    ApiRequest now = {
        .verb = API_DELETE, .key = pod_key(world, "p"), .grace_s = 0, .client = "kubelet"};
    ApiResponse response;
    api_server_commit(world->api, &now, &response);
    pvc_pv_protection_settle(world);
    assert_null(storage_world_stored_claim(world, "c"));
}

static void
completed_pod_that_stays(StorageWorld *world)
{
    const PodPhase succeeded = POD_SUCCEEDED;

    used_claim(world);
    storage_world_patch_status(world, pod_key(world, "p"), edit_pod_phase, &succeeded);
    pvc_pv_protection_settle(world);
    assert_non_null(storage_world_stored_claim(world, "c"));
}

static void
unscheduled_pod(StorageWorld *world)
{
    claim_and_pod(world, NULL);
    storage_world_delete(world, storage_world_claim_key(world, "c"));
    pvc_pv_protection_settle(world);
    assert_null(storage_world_stored_claim(world, "c"));
}

static void
pod_of_another_claim(StorageWorld *world)
{
    claim_and_pod(world, "n");
    storage_world_create(world, storage_world_claim(world, "d", 1, ""));
    storage_world_delete(world, storage_world_claim_key(world, "d"));
    pvc_pv_protection_settle(world);
}

static gboolean
edit_ephemeral(Object *object, const void *arg)
{
    Pod *pod = POD(object);
    PodVolume volume = pod->volumes->items[0];

    (void)arg;
    volume.ephemeral = TRUE;
    volume.claim_name = NULL;
    pod_volumes_unref(pod->volumes);
    pod->volumes = pod_volumes_new(&volume, 1);
    return TRUE;
}

/* An ephemeral volume's claim belongs to its pod: a claim that only has the name is not used. */
static void
ephemeral_volume(StorageWorld *world, gboolean owned)
{
    Pod *pod = storage_world_pod(world, "p", "", "n");
    Claim *claim = storage_world_claim(world, "p-data", 1, "");

    edit_ephemeral(&pod->meta, NULL);
    storage_world_start(world);
    const Object *created = storage_world_create(world, pod);
    if (owned)
        object_set_owner(&claim->meta, created, TRUE, TRUE);
    storage_world_create(world, claim);
    pvc_pv_protection_settle(world);
    storage_world_log(world);
    storage_world_delete(world, storage_world_claim_key(world, "p-data"));
    pvc_pv_protection_settle(world);
}

static void
ephemeral_volume_of_the_pod(StorageWorld *world)
{
    ephemeral_volume(world, TRUE);
    assert_non_null(storage_world_stored_claim(world, "p-data"));
}

static void
ephemeral_volume_of_another(StorageWorld *world)
{
    ephemeral_volume(world, FALSE);
    assert_null(storage_world_stored_claim(world, "p-data"));
}

static gboolean
edit_no_finalizers(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&object->finalizers, string_list_unref);
    return TRUE;
}

static void
finalizer_missing(StorageWorld *world)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 1, ""));
    storage_world_create(world, storage_world_volume(world, "v", 1, ""));
    pvc_pv_protection_settle(world);
    storage_world_patch(world, storage_world_claim_key(world, "c"), edit_no_finalizers, NULL);
    storage_world_patch(world, storage_world_volume_key(world, "v"), edit_no_finalizers, NULL);
    pvc_pv_protection_settle(world);
}

static void
volume_deleted(StorageWorld *world, VolumePhase phase)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_volume(world, "v", 1, ""));
    set_volume_phase(world, phase);
    pvc_pv_protection_settle(world);
    storage_world_delete(world, storage_world_volume_key(world, "v"));
    pvc_pv_protection_settle(world);
}

static void
available_volume(StorageWorld *world)
{
    volume_deleted(world, VOLUME_AVAILABLE);
    assert_null(storage_world_stored_volume(world, "v"));
}

static void
bound_volume(StorageWorld *world)
{
    volume_deleted(world, VOLUME_BOUND);
    storage_world_run(world, 86400 * SIM_SECOND);
    assert_non_null(storage_world_stored_volume(world, "v"));
}

static void
bound_volume_until_released(StorageWorld *world)
{
    bound_volume(world);
    set_volume_phase(world, VOLUME_RELEASED);
    pvc_pv_protection_settle(world);
    assert_null(storage_world_stored_volume(world, "v"));
}

/* The claims so far are one batch; claims that are deleted meanwhile are the next. */
static void
batches(StorageWorld *world)
{
    static const char *const names[] = {"a", "b", "c", "d"};

    storage_world_start(world);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        storage_world_create(world, storage_world_claim(world, names[i], 1, ""));
    pvc_pv_protection_settle(world);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        storage_world_delete(world, storage_world_claim_key(world, names[i]));
        storage_world_run(world, sim_now(world->sim) + SIM_MS / 10);
    }
    pvc_pv_protection_settle(world);
}

static const struct {
    const char *title;
    void (*tell)(StorageWorld *world);
    const char *log;
} stories[] = {
    {"PROT-24 nobody uses the claim",       unused_claim,                "LIST pod/*, PUT pvc/c"     },
    {"PROT-24 a pod uses the claim",        used_claim,                  ""                          },
    {"PROT-25 until the pod is gone",       used_until_the_pod_is_gone,  "LIST pod/*, PUT pvc/c"     },
    {"PROT-25 a completed pod",             completed_pod_that_stays,    ""                          },
    {"PROT-26 an unscheduled pod",          unscheduled_pod,             "LIST pod/*, PUT pvc/c"     },
    {"PROT-25 a pod with another claim",    pod_of_another_claim,        "LIST pod/*, PUT pvc/d"     },
    {"PROT-25 ephemeral",                   ephemeral_volume_of_the_pod, ""                          },
    {"PROT-25 ephemeral, of another",       ephemeral_volume_of_another, "LIST pod/*, PUT pvc/p-data"},
    {"PROT-11, 23 finalizer missing",       finalizer_missing,           "PUT pvc/c, PUT pv/v"       },
    {"PROT-11 Available volume",            available_volume,            "PUT pv/v"                  },
    {"PROT-14 Bound volume",                bound_volume,                ""                          },
    {"PROT-14 Bound volume until released", bound_volume_until_released, "PUT pv/v"                  },
};

TEST(stories_send_what_they_should)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(stories); i++) {
        StorageWorld world;

        storage_world_init(&world, NULL);
        stories[i].tell(&world);
        const char *log = storage_world_log(&world);
        if (strcmp(log, stories[i].log) != 0)
            fail_msg("%s: sent %s", stories[i].title, log);
        storage_world_clear(&world);
    }
}

TEST(one_list_serves_a_batch)
{
    static const struct {
        int32_t minor_version;
        const char *log;
    } releases[] = {
        {32, "LIST pod/*, PUT pvc/a, PUT pvc/b, LIST pod/*, PUT pvc/c, PUT pvc/d"},
        {31, "LIST pod/*, PUT pvc/a, LIST pod/*, PUT pvc/b, LIST pod/*, PUT pvc/c, LIST pod/*, "
             "PUT pvc/d"                                             },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(releases); i++) {
        const StorageWorldOptions options = {.slow = TRUE,
                                             .minor_version = releases[i].minor_version};
        StorageWorld world;

        storage_world_init(&world, &options);
        batches(&world);
        assert_string_equal(storage_world_log(&world), releases[i].log);
        storage_world_clear(&world);
    }
}

/* A pod that comes to a node while its claim's finalizer goes: the list counts, the cache alone
 * does not. */
TEST(the_list_knows_more_than_the_cache)
{
    const StorageWorldOptions options = {.slow = TRUE};
    StorageWorld world;

    storage_world_init(&world, &options);
    claim_and_pod(&world, NULL);
    storage_world_patch(&world, pod_key(&world, "p"), edit_node, storage_world_intern(&world, "n"));
    storage_world_delete(&world, storage_world_claim_key(&world, "c"));
    pvc_pv_protection_settle(&world);
    assert_non_null(storage_world_stored_claim(&world, "c"));
    storage_world_clear(&world);
}

/* PROT-13: a write with an old version is refused, and tried again 5 ms later. */
TEST(a_conflict_is_retried)
{
    unsigned n_refused = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        const StorageWorldOptions options = {.slow = TRUE, .seed = seed};
        StorageWorld world;

        storage_world_init(&world, &options);
        storage_world_start(&world);
        storage_world_create(&world, storage_world_volume(&world, "v", 1, ""));
        set_volume_phase(&world, VOLUME_BOUND);
        pvc_pv_protection_settle(&world);
        storage_world_delete(&world, storage_world_volume_key(&world, "v"));
        set_volume_phase(&world, VOLUME_RELEASED);
        storage_world_run(&world, sim_now(world.sim) + 3 * SIM_MS);
        if (storage_world_stored_volume(&world, "v") != NULL)
            set_volume_phase(&world, VOLUME_FAILED);
        pvc_pv_protection_settle(&world);
        assert_null(storage_world_stored_volume(&world, "v"));
        n_refused += world.refused > 0;
        storage_world_clear(&world);
    }
    assert_true(n_refused > 0);
}

static gboolean
edit_class(Object *object, const void *name)
{
    CLAIM(object)->attributes_class = name;
    return TRUE;
}

/* VAC-10 to VAC-13: a class in use outlives its deletion until the claim names another one. */
TEST(a_class_in_use_stays)
{
    static const ClaimPhase bound = CLAIM_BOUND;
    StorageWorld world;

    storage_world_init(&world, &(StorageWorldOptions){.gate_on = "VolumeAttributesClass"});
    ObjectKey *gold = objects_key(world.objects, KIND_ATTRIBUTES_CLASS, NULL, "gold");
    Claim *claim = storage_world_claim(&world, "c", 1, "");
    claim->attributes_class = gold->name;
    storage_world_start(&world);
    storage_world_create(&world, object_new(gold));
    storage_world_create(&world, claim);
    storage_world_patch_status(&world, storage_world_claim_key(&world, "c"), edit_claim_phase,
                               &bound);
    pvc_pv_protection_settle(&world);
    assert_true(object_has_finalizer(api_server_get(world.api, gold), FINALIZER_VAC_PROTECTION));
    storage_world_delete(&world, gold);
    pvc_pv_protection_settle(&world);
    assert_non_null(api_server_get(world.api, gold));
    storage_world_patch(&world, storage_world_claim_key(&world, "c"), edit_class,
                        storage_world_intern(&world, "silver"));
    pvc_pv_protection_settle(&world);
    assert_null(api_server_get(world.api, gold));
    storage_world_clear(&world);
}
