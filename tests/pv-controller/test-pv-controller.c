/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/apiserver/apiserver-test.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/pv-controller/pv-controller.h"
#include "tests/lib/storage-stories.h"
#include "tests/lib/test.h"
#include "tests/pv-controller/neighbours.h"

#include <string.h>

#define GIB (INT64_C(1) << 30)
#define BIND_ALL "PUT pv/v, PUT/st pv/v, PUT pvc/c, PUT/st pvc/c"
/* PVC-97: both workers write the phase; here the volume worker comes second. */
#define RACE_LOST "PUT/st pv/v 409, "
/* PVC-77: up to the scrub pod. */
#define RECYCLE "GET pvc/c 404, PUT/st pv/v, GET pv/v, POST pod/" SCRUB_POD ", "
#define BIND_PROVISIONED "PUT/st pv/v, PUT pvc/c, PUT/st pvc/c"

const ModelClass *const model_classes[] = {&pv_controller_class, NULL};

/* ---- What neighbours do ---- */

/* As external-provisioner does: claimRef with uid, the annotation, policy Delete. */
static void
pv_controller_pv_controller_provision(StorageWorld *world, const char *name, const char *claim_name)
{
    const Claim *claim = storage_world_stored_claim(world, claim_name);
    Volume *volume = storage_world_volume(world, name, 5, claim->class_name);

    edit_reserve(&volume->meta, claim);
    volume->reclaim_policy = RECLAIM_DELETE;
    object_set_annotation(&volume->meta, storage_world_intern(world, ANNOTATION_PROVISIONED_BY),
                          storage_world_intern(world, "csi.test"));
    storage_world_create(world, volume);
}

/* A pair that is bound: volume v, claim c; the log is empty. */
static void
bind_pair(StorageWorld *world)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_volume(world, "v", 5, ""));
    storage_world_run(world, 1 * SIM_SECOND);
    storage_world_create(world, storage_world_claim(world, "c", 5, ""));
    storage_world_run(world, 2 * SIM_SECOND);
    assert_int_equal(storage_world_stored_claim(world, "c")->phase, CLAIM_BOUND);
    storage_world_log(world);
}

/* ---- Stories: what a user does, and all that the controller then sends ---- */

static void
static_pair(StorageWorld *world)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_volume(world, "v", 5, ""));
    storage_world_run(world, 1 * SIM_SECOND);
    storage_world_create(world, storage_world_claim(world, "c", 3, ""));
    storage_world_run(world, 100 * SIM_SECOND);

    const Claim *claim = storage_world_stored_claim(world, "c");
    const Volume *volume = storage_world_stored_volume(world, "v");
    assert_int_equal(claim->phase, CLAIM_BOUND);
    assert_true(claim->capacity_bytes == 5 * GIB);
    assert_int_equal(claim->status_access_modes, ACCESS_RWO);
    assert_string_equal(claim->volume_name, "v");
    assert_string_equal(object_annotation(&claim->meta, ANNOTATION_BIND_COMPLETED), "yes");
    assert_string_equal(object_annotation(&claim->meta, ANNOTATION_BOUND_BY_CONTROLLER), "yes");
    assert_int_equal(volume->phase, VOLUME_BOUND);
    assert_ptr_equal(volume->claim_ref.claim, claim->meta.key);
    assert_true(object_uid_equal(volume->claim_ref.uid, claim->meta.uid));
    assert_string_equal(object_annotation(&volume->meta, ANNOTATION_BOUND_BY_CONTROLLER), "yes");
}

static void
claim_first(StorageWorld *world)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 3, ""));
    storage_world_run(world, 1 * SIM_SECOND);
    storage_world_create(world, storage_world_volume(world, "v", 5, ""));
    storage_world_run(world, 17 * SIM_SECOND); /* only the resync finds it */
}

static void
dynamic_immediate(StorageWorld *world)
{
    storage_world_class(world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 5, "fast"));
    storage_world_run(world, SIM_MS);

    const Claim *claim = storage_world_stored_claim(world, "c");
    assert_string_equal(object_annotation(&claim->meta, ANNOTATION_STORAGE_PROVISIONER),
                        "csi.test");
    assert_string_equal(object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_PROVISIONER),
                        "csi.test");
    pv_controller_pv_controller_provision(world, "v", "c");
    storage_world_run(world, 100 * SIM_SECOND);
    assert_null(object_annotation(&storage_world_stored_volume(world, "v")->meta,
                                  ANNOTATION_BOUND_BY_CONTROLLER));
}

static void
wait_for_first_consumer(StorageWorld *world)
{
    storage_world_class(world, "late", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_start(world);
    storage_world_create(world, storage_world_volume(world, "free", 5, "late"));
    storage_world_create(world, storage_world_claim(world, "c", 5, "late"));
    storage_world_run(world, 100 * SIM_MS);
    storage_world_create(world, storage_world_pod(world, "p", "c", NULL));
    storage_world_run(world, 16 * SIM_SECOND);
    storage_world_log(world);
    annotate(world, storage_world_claim_key(world, "c"), ANNOTATION_SELECTED_NODE, "n");
    storage_world_run(world, 16 * SIM_SECOND + SIM_MS);
    pv_controller_pv_controller_provision(world, "v", "c");
    storage_world_run(world, 100 * SIM_SECOND);
}

static void
static_late_binding(StorageWorld *world)
{
    storage_world_class(world, "late", PROVISIONER_NONE, BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_start(world);
    storage_world_create(world, storage_world_volume(world, "v", 5, "late"));
    storage_world_create(world, storage_world_claim(world, "c", 5, "late"));
    storage_world_run(world, 1 * SIM_SECOND);
    storage_world_log(world);
    storage_world_patch(world, storage_world_volume_key(world, "v"), edit_reserve,
                        storage_world_stored_claim(world, "c")); /* the scheduler */
    storage_world_run(world, 100 * SIM_SECOND);
}

/* A provisioned pair whose claim has gone just now. */
static void
delete_provisioned_claim(StorageWorld *world)
{
    storage_world_class(world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 5, "fast"));
    storage_world_run(world, 1 * SIM_SECOND);
    pv_controller_pv_controller_provision(world, "v", "c");
    storage_world_run(world, 20 * SIM_SECOND);
    storage_world_log(world);
    storage_world_remove(world, storage_world_claim_key(world, "c"));
}

static void
delete_claim_policy_delete(StorageWorld *world)
{
    delete_provisioned_claim(world);
    storage_world_run(world, 20 * SIM_SECOND + SIM_MS);
    assert_int_equal(storage_world_stored_volume(world, "v")->phase, VOLUME_RELEASED);
    storage_world_remove(world, storage_world_volume_key(world, "v")); /* the provisioner */
    storage_world_run(world, 100 * SIM_SECOND);
}

static void
waiting_for_the_deleter(StorageWorld *world)
{
    delete_provisioned_claim(world);
    storage_world_run(world, 20 * SIM_SECOND + SIM_MS);
    storage_world_log(world);
    storage_world_run(world, 50 * SIM_SECOND + SIM_MS); /* two resyncs */
}

static void
delete_claim_policy_retain(StorageWorld *world)
{
    bind_pair(world);
    storage_world_remove(world, storage_world_claim_key(world, "c"));
    storage_world_run(world, 100 * SIM_SECOND);
    assert_int_equal(storage_world_stored_volume(world, "v")->phase, VOLUME_RELEASED);
}

static void
retained_and_claim_name_reused(StorageWorld *world)
{
    delete_claim_policy_retain(world);
    storage_world_log(world);
    storage_world_create(world, storage_world_claim(world, "c", 5, ""));
    storage_world_run(world, 130 * SIM_SECOND); /* two resyncs: a GET of the claim each */
    assert_int_equal(storage_world_stored_claim(world, "c")->phase, CLAIM_PENDING);
}

static void
reference_removed_by_hand(StorageWorld *world)
{
    delete_claim_policy_retain(world);
    storage_world_log(world);
    storage_world_patch(world, storage_world_volume_key(world, "v"), edit_clear_reference, NULL);
    storage_world_run(world, 130 * SIM_SECOND);
    assert_int_equal(storage_world_stored_volume(world, "v")->phase, VOLUME_AVAILABLE);
}

static void
claim_lost(StorageWorld *world)
{
    bind_pair(world);
    storage_world_remove(world, storage_world_volume_key(world, "v"));
    storage_world_run(world, 100 * SIM_SECOND);

    const Claim *claim = storage_world_stored_claim(world, "c");
    assert_int_equal(claim->phase, CLAIM_LOST);
    assert_true(claim->capacity_bytes == 0);
    assert_int_equal(claim->status_access_modes, 0);
}

static gboolean
edit_expanded(Object *object, const void *arg)
{
    (void)arg;
    CLAIM(object)->capacity_bytes = 7 * GIB;
    CLAIM(object)->status_access_modes = 0;
    return TRUE;
}

/* PVC-56: a claim that is Bound already gets its access modes, but keeps its capacity, which the
 * expansion wrote. */
static void
expanded_capacity_stays(StorageWorld *world)
{
    bind_pair(world);
    storage_world_patch_status(world, storage_world_claim_key(world, "c"), edit_expanded, NULL);
    storage_world_run(world, 100 * SIM_SECOND);

    const Claim *claim = storage_world_stored_claim(world, "c");
    assert_int_equal(claim->status_access_modes, ACCESS_RWO);
    assert_true(claim->capacity_bytes == 7 * GIB);
}

static void
no_class_no_volume(StorageWorld *world)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 3, ""));
    storage_world_run(world, 31 * SIM_SECOND);
}

/* PVC-56: a claim without a volume tells none, whoever wrote one into its status. */
static void
pending_claim_tells_no_volume(StorageWorld *world)
{
    no_class_no_volume(world);
    storage_world_patch_status(world, storage_world_claim_key(world, "c"), edit_expanded, NULL);
    storage_world_run(world, 100 * SIM_SECOND);
    assert_int_equal(storage_world_stored_claim(world, "c")->phase, CLAIM_PENDING);
    assert_true(storage_world_stored_claim(world, "c")->capacity_bytes == 0);
}

static void
claim_found_again(StorageWorld *world)
{
    claim_lost(world);
    storage_world_log(world);
    storage_world_create(world, storage_world_volume(world, "v", 5, ""));
    storage_world_run(world, 130 * SIM_SECOND);
    assert_int_equal(storage_world_stored_claim(world, "c")->phase, CLAIM_BOUND);
}

static void
named_volume_missing(StorageWorld *world)
{
    Claim *claim = storage_world_claim(world, "c", 3, "");

    claim->volume_name = storage_world_intern(world, "v");
    storage_world_start(world);
    storage_world_create(world, claim);
    storage_world_run(world, 100 * SIM_SECOND);
}

static void
named_volume_too_small(StorageWorld *world)
{
    Claim *claim = storage_world_claim(world, "c", 30, "");

    claim->volume_name = storage_world_intern(world, "v");
    storage_world_create(world, storage_world_volume(world, "v", 5, ""));
    storage_world_start(world);
    storage_world_create(world, claim);
    storage_world_run(world, 1 * SIM_MS);
}

static void
named_volume_of_another(StorageWorld *world)
{
    Claim *claim = storage_world_claim(world, "d", 3, "");

    bind_pair(world);
    claim->volume_name = storage_world_intern(world, "v");
    storage_world_create(world, claim);
    storage_world_run(world, 2 * SIM_SECOND + SIM_MS);
}

static void
named_volume(StorageWorld *world)
{
    Claim *claim = storage_world_claim(world, "c", 3, "");

    claim->volume_name = storage_world_intern(world, "v");
    storage_world_create(world, storage_world_volume(world, "v", 5, ""));
    storage_world_start(world);
    storage_world_run(world, 1 * SIM_MS);
    storage_world_create(world, claim);
    storage_world_run(world, 100 * SIM_SECOND);
    assert_int_equal(storage_world_stored_claim(world, "c")->phase, CLAIM_BOUND);
    assert_null(object_annotation(&storage_world_stored_claim(world, "c")->meta,
                                  ANNOTATION_BOUND_BY_CONTROLLER));
}

static void
class_missing(StorageWorld *world)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 3, "nowhere"));
    storage_world_run(world, 1 * SIM_MS);
}

static void
no_provisioner(StorageWorld *world)
{
    storage_world_class(world, "manual", PROVISIONER_NONE, BINDING_IMMEDIATE);
    class_missing(world);
    storage_world_create(world, storage_world_claim(world, "m", 3, "manual"));
    storage_world_run(world, 2 * SIM_MS);
}

static void
default_class_later(StorageWorld *world)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 3, NULL));
    storage_world_run(world, 1 * SIM_SECOND);
    storage_world_class(world, "a", "csi.test", BINDING_IMMEDIATE);
    annotate(world, objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "a"),
             ANNOTATION_DEFAULT_CLASS, "true");
    storage_world_run(world, 1 * SIM_SECOND + 100 * SIM_MS);
    assert_null(
        storage_world_stored_claim(world, "c")->class_name); /* nobody told the controller */
    storage_world_run(world, 17 * SIM_SECOND);
    assert_string_equal(storage_world_stored_claim(world, "c")->class_name, "a");
}

static void
two_volumes_for_one_claim(StorageWorld *world)
{
    bind_pair(world);
    Volume *second = storage_world_volume(world, "w", 5, "");
    edit_reserve(&second->meta, storage_world_stored_claim(world, "c"));
    object_set_annotation(&second->meta,
                          storage_world_intern(world, ANNOTATION_BOUND_BY_CONTROLLER),
                          storage_world_intern(world, "yes"));
    storage_world_create(world, second);
    storage_world_run(world, 100 * SIM_SECOND);
    assert_null(storage_world_stored_volume(world, "w")->claim_ref.claim);
}

static void
second_volume_reserved_by_hand(StorageWorld *world)
{
    bind_pair(world);
    Volume *second = storage_world_volume(world, "w", 5, "");
    edit_reserve(&second->meta, storage_world_stored_claim(world, "c"));
    storage_world_create(world, second);
    storage_world_run(world, 100 * SIM_SECOND);
    assert_non_null(storage_world_stored_volume(world, "w")->claim_ref.claim);
}

static void
volume_of_another_mode(StorageWorld *world)
{
    Volume *volume = storage_world_volume(world, "v", 5, "");

    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 3, ""));
    volume->volume_mode = VOLUME_BLOCK;
    edit_reserve(&volume->meta, storage_world_stored_claim(world, "c"));
    storage_world_create(world, volume);
    storage_world_run(world, 1 * SIM_MS);
}

static void
local_volume_with_policy_delete(StorageWorld *world)
{
    Volume *volume = storage_world_volume(world, "v", 5, "");
    VolumeSource local = {.refs = REF_COUNT_ONE, .plugin = storage_world_intern(world, "local")};

    volume_source_unref(volume->source);
    volume->source = volume_source_new(&local);
    volume->reclaim_policy = RECLAIM_DELETE;
    storage_world_create(world, volume);
    storage_world_start(world);
    storage_world_run(world, 1 * SIM_MS);
    storage_world_create(world, storage_world_claim(world, "c", 3, ""));
    storage_world_run(world, 2 * SIM_MS);
    storage_world_log(world);
    storage_world_remove(world, storage_world_claim_key(world, "c"));
    storage_world_run(world, 3 * SIM_MS);
    assert_string_equal(storage_world_stored_volume(world, "v")->message,
                        "error getting deleter volume plugin for volume \"v\": no volume plugin "
                        "matched");
}

static void
restart_in_the_midst(StorageWorld *world)
{
    Volume *volume = storage_world_volume(world, "v", 5, "");

    storage_world_create(world, storage_world_claim(world, "c", 3, ""));
    edit_reserve(&volume->meta, storage_world_stored_claim(world, "c"));
    volume->phase = VOLUME_BOUND;
    storage_world_import(world, volume);
    storage_world_start(world);
    storage_world_run(world, 1 * SIM_MS);
    assert_true(cluster_crash(world->cluster, "kube-controller-manager", NULL));
    storage_world_delete(world, storage_world_volume_key(world, "v"));
    assert_true(cluster_restart(world->cluster, "kube-controller-manager", NULL));
    storage_world_run(world, 100 * SIM_SECOND);
}

/* ---- Recycling ---- */

#define SCRUB_POD "recycler-for-v"

/* A pair whose volume is to be scrubbed, and whose claim is removed; @plugin: of the volume. @step:
 * how long each thing takes */
static void
release_in_steps(StorageWorld *world, const char *plugin, SimTime step)
{
    Volume *volume = storage_world_volume(world, "v", 5, "");

    if (plugin != NULL) {
        VolumeSource source = {.refs = REF_COUNT_ONE,
                               .plugin = storage_world_intern(world, plugin),
                               .handle = storage_world_intern(world, "/data")};
        volume_source_unref(volume->source);
        volume->source = volume_source_new(&source);
    }
    volume->reclaim_policy = RECLAIM_RECYCLE;
    storage_world_create(world, volume);
    storage_world_start(world);
    storage_world_run(world, step);
    storage_world_create(world, storage_world_claim(world, "c", 3, ""));
    storage_world_run(world, 2 * step);
    storage_world_log(world);
    storage_world_remove(world, storage_world_claim_key(world, "c"));
    storage_world_run(world, 3 * step);
}

static void
release_for_recycling(StorageWorld *world, const char *plugin)
{
    release_in_steps(world, plugin, SIM_MS);
}

static ObjectKey *
scrub_pod_key(const StorageWorld *world)
{
    return objects_key(world->objects, KIND_POD, "default", SCRUB_POD);
}

static gboolean
edit_runs(Object *object, const void *arg)
{
    (void)arg;
    POD(object)->phase = POD_RUNNING;
    return TRUE;
}

static void
recycled(StorageWorld *world)
{
    release_for_recycling(world, "hostPath");
    assert_non_null(api_server_get(world->api, scrub_pod_key(world)));
    storage_world_patch_status(world, scrub_pod_key(world), edit_runs, NULL);
    storage_world_run(world, 2 * SIM_SECOND);
    assert_int_equal(storage_world_stored_volume(world, "v")->phase, VOLUME_AVAILABLE);
    assert_null(storage_world_stored_volume(world, "v")->claim_ref.claim);
    assert_null(api_server_get(world->api, scrub_pod_key(world)));
}

static void
scrub_pod_is_deleted(StorageWorld *world)
{
    release_for_recycling(world, "nfs");
    storage_world_delete(world, scrub_pod_key(world));
    storage_world_run(world, 5 * SIM_MS);
    assert_int_equal(storage_world_stored_volume(world, "v")->phase, VOLUME_FAILED);
    assert_string_equal(storage_world_stored_volume(world, "v")->message,
                        "Recycle failed: recycler pod was deleted");
}

/* The former controller's pod is in the way of the first attempt, the resync's finds none. */
static void
old_scrub_pod(StorageWorld *world)
{
    storage_world_create(world, storage_world_pod(world, SCRUB_POD, NULL, NULL));
    release_for_recycling(world, "nfs");
    storage_world_run(world, 4 * SIM_MS);
    assert_string_equal(storage_world_stored_volume(world, "v")->message,
                        "Recycle failed: old recycler pod found, will retry later");
}

static void
csi_volumes_are_not_recycled(StorageWorld *world)
{
    release_for_recycling(world, NULL);
}

static void
released_volume_is_used(StorageWorld *world)
{
    storage_world_create(world, storage_world_pod(world, "p", "c", "n"));
    release_for_recycling(world, "hostPath");
}

/* clang-format off */
static const StorageStory stories[] = {
    {"G1 static pair", static_pair, "PUT/st pv/v, " BIND_ALL, ""},
    {"claim first: found by the resync", claim_first, "PUT/st pv/v, " BIND_ALL, NULL},
    {"G2 dynamic, Immediate", dynamic_immediate, "PUT pvc/c, " BIND_PROVISIONED,
     "Normal ExternalProvisioning pvc/c x2"},
    {"G3 dynamic, late binding", wait_for_first_consumer, "PUT pvc/c, " BIND_PROVISIONED,
     "Normal WaitForFirstConsumer pvc/c, Normal WaitForPodScheduled pvc/c, Normal ExternalProvisioning pvc/c x2"},
    {"SEQ-5 static, late binding", static_late_binding, BIND_PROVISIONED,
     "Normal WaitForFirstConsumer pvc/c"},
    {"G4 delete the claim, policy Delete", delete_claim_policy_delete,
     "GET pvc/c 404, PUT/st pv/v, GET pv/v", NULL},
    {"PVC-76 a GET per resync until somebody deletes", waiting_for_the_deleter,
     "GET pv/v, GET pv/v", NULL},
    {"G5 delete the claim, policy Retain", delete_claim_policy_retain, "GET pvc/c 404, PUT/st pv/v",
     NULL},
    {"PVC-71c a claim of that name again", retained_and_claim_name_reused, "GET pvc/c, GET pvc/c",
     NULL},
    {"PVC-74 claimRef removed by hand", reference_removed_by_hand, "PUT/st pv/v", NULL},
    {"PVC-40 Lost", claim_lost, "PUT/st pvc/c", "Warning ClaimLost pvc/c"},
    {"PVC-56 the capacity of a Bound claim stays", expanded_capacity_stays, "PUT/st pvc/c", NULL},
    {"PVC-56 a pending claim tells no volume", pending_claim_tells_no_volume, "PUT/st pvc/c", NULL},
    {"PVC-42 Lost, and found", claim_found_again,
     "PUT/st pv/v, PUT pv/v, PUT/st pv/v, " RACE_LOST "PUT/st pvc/c", NULL},
    {"PVC-22.1 named volume missing", named_volume_missing, "", ""},
    {"PVC-23 named volume too small", named_volume_too_small, "PUT/st pv/v",
     "Warning VolumeMismatch pvc/c"},
    {"PVC-22.4 named volume of another claim", named_volume_of_another, "",
     "Warning FailedBinding pvc/d"},
    {"PVC-22.2 named volume", named_volume,
     "PUT/st pv/v, PUT pv/v, PUT/st pv/v, " RACE_LOST "PUT pvc/c, PUT/st pvc/c", ""},
    {"PVC-21.5 no class, no volume", no_class_no_volume, "", "Normal FailedBinding pvc/c x3"},
    {"PVC-60 class missing", class_missing, "", "Warning ProvisioningFailed pvc/c"},
    {"PVC-26 no provisioner", no_provisioner, "",
     "Warning ProvisioningFailed pvc/c, Warning ProvisioningFailed pvc/m"},
    {"PVC-27 default class later", default_class_later, "PUT pvc/c, PUT pvc/c", NULL},
    {"PVC-72.2 two volumes for one claim", two_volumes_for_one_claim, "PUT pv/w, PUT/st pv/w", ""},
    {"PVC-72.3 the second one reserved by hand", second_volume_reserved_by_hand,
     "PUT pv/w, PUT/st pv/w", ""},
    {"PVC-70.4 another mode", volume_of_another_mode, "",
     "Normal FailedBinding pvc/c, Warning VolumeMismatch pv/v, Warning VolumeMismatch pvc/c"},
    {"PVC-76 nobody to delete it", local_volume_with_policy_delete,
     "GET pvc/c 404, PUT/st pv/v, GET pv/v, PUT/st pv/v", "Warning VolumeFailedDelete pv/v"},
    {"PVC-77 scrubbed by a pod", recycled,
     RECYCLE "DELETE pod/" SCRUB_POD ", PUT pv/v, PUT/st pv/v, PUT/st pv/v 409",
     "Normal VolumeRecycled pv/v"},
    {"PVC-77 the pod is deleted", scrub_pod_is_deleted,
     RECYCLE "DELETE pod/" SCRUB_POD " 404, PUT/st pv/v, GET pv/v, POST pod/" SCRUB_POD, NULL},
    {"PVC-77 a pod of that name", old_scrub_pod, NULL, NULL},
    {"PVC-77 CSI", csi_volumes_are_not_recycled,
     "GET pvc/c 404, PUT/st pv/v, GET pv/v, PUT/st pv/v, GET pv/v", NULL},
    {"PVC-77 in use", released_volume_is_used, "GET pvc/c 404, PUT/st pv/v, GET pv/v",
     "Normal VolumeFailedRecycle pv/v"},
};
/* clang-format on */

TEST(stories_send_what_they_should)
{
    tell_storage_stories(stories, G_N_ELEMENTS(stories));
}

TEST(restarts_where_it_was)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    restart_in_the_midst(&world);
    const Claim *claim = storage_world_stored_claim(&world, "c");
    assert_int_equal(claim->phase, CLAIM_LOST); /* bound before the crash, the volume gone since */
    storage_world_clear(&world);
}

/* With everything settled a day goes by without an event of the controller's. */
TEST(sleeps_when_all_is_settled)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    bind_pair(&world);
    storage_world_run(&world, 60 * SIM_SECOND);
    uint64_t fired = sim_events_fired(world.sim);
    storage_world_run(&world, 86400 * SIM_SECOND);
    assert_true(sim_events_fired(world.sim) - fired <= 1); /* the one of storage_world_run() */
    storage_world_clear(&world);
}

/* TIM-74a, PVC-98: 50 static claims at once: one claim after the other, its four writes in a row,
 * 20 writes a second after the first 30. */
TEST(binds_one_claim_after_the_other)
{
    enum { N_PAIRS = 50 };
    const StorageWorldOptions options = {.slow = TRUE, .throttled = TRUE};
    const SimTime created_at =
        60 * SIM_SECOND; /* the volumes are Available, the bucket is full again */
    StorageWorld world;

    storage_world_init(&world, &options);
    storage_world_start(&world);
    for (int i = 0; i < N_PAIRS; i++) {
        g_autofree char *name = g_strdup_printf("p%d", i);
        storage_world_create(&world, storage_world_volume(&world, name, 5, ""));
    }
    storage_world_run(&world, created_at);
    storage_world_log(&world);
    for (int i = 0; i < N_PAIRS; i++) {
        g_autofree char *name = g_strdup_printf("p%d", i);
        storage_world_create(&world, storage_world_claim(&world, name, 5, ""));
    }
    const SimTime last_at = created_at + (4 * N_PAIRS - 30) * SIM_SECOND / 20;
    storage_world_run(&world, last_at - 60 * SIM_MS);
    assert_int_equal(api_server_n_requests(world.api, API_UPDATE_STATUS), 3 * N_PAIRS - 1);
    storage_world_run(&world, last_at + 60 * SIM_MS);
    assert_int_equal(api_server_n_requests(world.api, API_UPDATE_STATUS), 3 * N_PAIRS);
    assert_int_equal(world.refused, 0);

    g_auto(GStrv) writes = g_strsplit(storage_world_log(&world), ", ", -1);
    assert_int_equal(g_strv_length(writes), 4 * N_PAIRS);
    for (int i = 0; i < 4 * N_PAIRS; i++)
        assert_true(g_str_has_prefix(writes[i], i % 2 == 0 ? "PUT p" : "PUT/st p"));
    storage_world_clear(&world);
}

/* PVC-77: that a pod of this name is gone says nothing about the next one, of which no watch has
 * told yet. */
TEST(waits_for_the_next_scrub_pod)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        StorageWorld world;

        storage_world_init(&world, &(StorageWorldOptions){.slow = TRUE, .seed = seed});
        release_in_steps(&world, "nfs", SIM_SECOND);
        storage_world_delete(&world, scrub_pod_key(&world));
        storage_world_run(&world, 4 * SIM_SECOND);
        assert_string_equal(storage_world_stored_volume(&world, "v")->message,
                            "Recycle failed: recycler pod was deleted");
        assert_non_null(api_server_get(world.api, scrub_pod_key(&world)));
        storage_world_patch_status(&world, scrub_pod_key(&world), edit_runs, NULL);
        storage_world_run(&world, 6 * SIM_SECOND);
        assert_int_equal(storage_world_stored_volume(&world, "v")->phase, VOLUME_AVAILABLE);
        storage_world_clear(&world);
    }
}

/* ---- Stories of the recorded tests, by their ids ---- */

static void
switch_provisioning_off(const ProcessClass *class, void *flags)
{
    KubeControllerManagerOptions *options = flags;

    (void)class;
    options->enable_dynamic_provisioning = FALSE;
}

TEST_CALLED("pvctrl-ProvisioningDisabled-01", asks_for_no_volume_if_told_so)
{
    StorageWorldOptions options = {.set_flags = switch_provisioning_off};
    StorageWorld world;

    storage_world_init(&world, &options);
    storage_world_class(&world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_start(&world);
    storage_world_create(&world, storage_world_claim(&world, "c", 5, "fast"));
    storage_world_run(&world, 40 * SIM_SECOND);
    g_autofree char *events = storage_world_events(&world);
    assert_string_equal(storage_world_log(&world), "");
    assert_string_equal(events, "");
    storage_world_clear(&world);
}

static gboolean
edit_attributes_class(Object *object, const void *name)
{
    VOLUME(object)->attributes_class = name;
    return TRUE;
}

/* PVC-59: with the gate only a volume of the same class will do, and the claim then tells that
 * class. It is copied once: the resizer writes it from then on. A lost claim tells none. */
TEST(a_bound_claim_tells_its_class)
{
    StorageWorld world;

    storage_world_init(&world, &(StorageWorldOptions){.gate_on = "VolumeAttributesClass"});
    const char *gold = storage_world_intern(&world, "gold");
    Volume *volume = storage_world_volume(&world, "v", 5, "");
    Claim *claim = storage_world_claim(&world, "c", 5, "");
    volume->attributes_class = claim->attributes_class = gold;
    storage_world_start(&world);
    storage_world_create(&world, storage_world_volume(&world, "plain", 5, ""));
    storage_world_create(&world, volume);
    storage_world_run(&world, 1 * SIM_SECOND);
    storage_world_create(&world, claim);
    storage_world_run(&world, 2 * SIM_SECOND);
    assert_string_equal(storage_world_stored_claim(&world, "c")->volume_name, "v");
    assert_string_equal(storage_world_stored_claim(&world, "c")->current_attributes_class, "gold");
    storage_world_log(&world);

    storage_world_patch(&world, storage_world_volume_key(&world, "v"), edit_attributes_class,
                        storage_world_intern(&world, "silver"));
    storage_world_run(&world, 100 * SIM_SECOND);
    assert_string_equal(storage_world_log(&world), "");
    storage_world_remove(&world, storage_world_volume_key(&world, "v"));
    storage_world_run(&world, 200 * SIM_SECOND);
    assert_int_equal(storage_world_stored_claim(&world, "c")->phase, CLAIM_LOST);
    assert_null(storage_world_stored_claim(&world, "c")->current_attributes_class);
    storage_world_clear(&world);
}
