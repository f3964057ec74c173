/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/api-test.h"
#include "models/apiserver/apiserver-test.h"
#include "models/garbage-collector/garbage-collector.h"
#include "models/workloads/stateful-set/private.h"
#include "models/workloads/stateful-set/stateful-set-test.h"
#include "models/workloads/stateful-set/stateful-set.h"
#include "tests/lib/test.h"
#include "tests/workloads/pods-world.h"

#include <string.h>

/* Changes of the template and the policies of a StatefulSet "web", and what they do to its pods and
 * claims. The garbage collector runs. */

const ModelClass *const model_classes[] = {&stateful_set_controller_class, &garbage_collector_class,
                                           NULL};

static StatefulSet *
new_set(StorageWorld *world, int32_t replicas)
{
    StatefulSet *set = STATEFUL_SET(object_new(world_key(world, KIND_STATEFUL_SET, "web")));
    Claim *claim = storage_world_claim(world, "data", 1, "fast");

    pod_template_unref(set->template);
    set->template = world_template(world, "web", "a");
    set->selector = world_selector(world, "web");
    set->claim_templates = claim_templates_new(&claim, 1);
    set->replicas = replicas;
    return set;
}

static const StatefulSet *
rollout_stored(const StorageWorld *world)
{
    return (const StatefulSet *)world_stored(world, KIND_STATEFUL_SET, "web");
}

static gboolean
edit_let_go(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&object->finalizers, string_list_unref);
    return TRUE;
}

/* Claims that are being deleted: nobody protects them here. */
static void
let_claims_go(StorageWorld *world)
{
    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_CLAIM); i++) {
        ObjectKey *key = objects_key_at(world->objects, KIND_CLAIM, i);
        const Object *claim = api_server_get(world->api, key);
        if (claim != NULL && object_is_deleted(claim))
            storage_world_patch(world, key, edit_let_go, NULL);
    }
}

/* Runs until the nodes have nothing left to do. */
static void
rollout_settle(StorageWorld *world)
{
    for (int i = 0; i < 20; i++) {
        world_go_on(world, 100 * SIM_MS);
        world_play_nodes(world);
        let_claims_go(world);
    }
    world_go_on(world, SIM_SECOND);
}

static void
rollout_begin(StorageWorld *world, StatefulSet *set)
{
    storage_world_start(world);
    storage_world_create(world, set);
    rollout_settle(world);
    storage_world_log(world);
}

static gboolean
edit_template(Object *object, const void *template)
{
    pod_template_unref(STATEFUL_SET(object)->template);
    STATEFUL_SET(object)->template = pod_template_ref(template);
    return TRUE;
}

static void
set_image(StorageWorld *world, const char *image)
{
    PodTemplate *template = world_template(world, "web", image);

    storage_world_patch(world, world_key(world, KIND_STATEFUL_SET, "web"), edit_template, template);
    pod_template_unref(template);
}

static gboolean
rollout_edit_replicas(Object *object, const void *replicas)
{
    STATEFUL_SET(object)->replicas = *(const int32_t *)replicas;
    return TRUE;
}

static void
rollout_scale(StorageWorld *world, int32_t replicas)
{
    storage_world_patch(world, world_key(world, KIND_STATEFUL_SET, "web"), rollout_edit_replicas,
                        &replicas);
}

/* "abb": the images of web-0, web-1, ...; '-': missing, '*': being deleted. */
static const char *
images(const StorageWorld *world, unsigned n)
{
    static const char *const names[] = {"web-0", "web-1", "web-2", "web-3", "web-4"};
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < n; i++) {
        const Pod *pod = world_pod(world, names[i]);
        if (pod == NULL)
            g_string_append_c(text, '-');
        else if (object_is_deleted(&pod->meta))
            g_string_append_c(text, '*');
        else
            g_string_append(text, object_annotation(&pod->meta, "image"));
    }
    return storage_world_intern(world, text->str);
}

/* WL-50, WL-V3: from the highest down, one at a time, each only when the one before runs again;
 * with both policies (WL-W3). */
TEST(rolls_from_the_highest_down)
{
    static const char *const steps[] = {"aa*", "aab", "a*b", "abb", "*bb", "bbb", "bbb"};

    for (gboolean parallel = FALSE; parallel <= TRUE; parallel++) {
        StorageWorld world;
        storage_world_init(&world, NULL);
        StatefulSet *set = new_set(&world, 3);
        set->parallel = parallel;
        rollout_begin(&world, set);
        set_image(&world, "b");
        for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
            world_go_on(&world, SIM_SECOND);
            assert_string_equal(images(&world, 3), steps[i]);
            world_play_nodes(&world);
        }
        world_go_on(&world, SIM_SECOND);
        assert_string_equal(rollout_stored(&world)->current_revision,
                            rollout_stored(&world)->update_revision);
        assert_int_equal(rollout_stored(&world)->updated_replicas, 3);
        assert_int_equal(rollout_stored(&world)->current_replicas, 3);
        assert_int_equal(world_count(&world, KIND_CONTROLLER_REVISION), 2);
        storage_world_clear(&world);
    }
}

/* WL-52, WL-V3: with partition 2 only ordinal 2; a pod below it that is made anew is of the earlier
 * template. */
TEST(partition_keeps_the_lower_ones)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    StatefulSet *set = new_set(&world, 3);
    set->partition = 2;
    rollout_begin(&world, set);
    set_image(&world, "b");
    rollout_settle(&world);
    assert_string_equal(images(&world, 3), "aab");
    assert_int_equal(rollout_stored(&world)->updated_replicas, 1);
    assert_int_equal(rollout_stored(&world)->current_replicas, 2);
    storage_world_delete(&world, world_key(&world, KIND_POD, "web-0"));
    rollout_settle(&world);
    assert_string_equal(images(&world, 3), "aab");
    assert_string_not_equal(rollout_stored(&world)->current_revision,
                            rollout_stored(&world)->update_revision);
    storage_world_clear(&world);
}

TEST(on_delete_waits_for_the_user)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    StatefulSet *set = new_set(&world, 3);
    set->on_delete = TRUE;
    rollout_begin(&world, set);
    set_image(&world, "b");
    rollout_settle(&world);
    assert_string_equal(images(&world, 3), "aaa");
    storage_world_delete(&world, world_key(&world, KIND_POD, "web-1"));
    rollout_settle(&world);
    assert_string_equal(images(&world, 3), "aba");
    storage_world_clear(&world);
}

/* WL-54: a pod of a broken template blocks; going back to the old one does not replace it, deleting
 * it does. */
TEST(a_broken_update_blocks)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    rollout_begin(&world, new_set(&world, 3));
    set_image(&world, "b");
    world_go_on(&world, SIM_SECOND);
    world_stop_pod(&world, "web-2");
    world_go_on(&world, SIM_SECOND);
    world_set_phase(&world, "web-2", POD_RUNNING, FALSE); /* never ready */
    world_go_on(&world, SIM_HOUR);
    assert_string_equal(images(&world, 3), "aab");
    set_image(&world, "a");
    world_go_on(&world, SIM_HOUR);
    assert_string_equal(images(&world, 3), "aab");
    storage_world_delete(&world, world_key(&world, KIND_POD, "web-2"));
    rollout_settle(&world);
    assert_string_equal(images(&world, 3), "aaa");
    storage_world_clear(&world);
}

/* WL-23: ten old revisions are kept by default; going back to an old template makes its revision
 * the newest. */
TEST(history_is_trimmed)
{
    static const int32_t limits[] = {-1, 2, 0}; /* -1: the default */

    for (unsigned i = 0; i < G_N_ELEMENTS(limits); i++) {
        StorageWorld world;
        storage_world_init(&world, NULL);
        StatefulSet *set = new_set(&world, 1);
        int32_t limit = limits[i] < 0 ? 10 : limits[i];
        assert_int_equal(set->revision_history_limit, 10);
        set->revision_history_limit = limit;
        rollout_begin(&world, set);
        for (char image = 'b'; image <= 'n'; image++) {
            set_image(&world, ((const char[]){image, '\0'}));
            rollout_settle(&world);
        }
        assert_int_equal(world_count(&world, KIND_CONTROLLER_REVISION), limit + 1);
        set_image(&world, "m");
        rollout_settle(&world);
        assert_int_equal(world_count(&world, KIND_CONTROLLER_REVISION), limit + 1);
        assert_string_equal(images(&world, 1), "m");
        const Object *revision =
            world_stored(&world, KIND_CONTROLLER_REVISION, rollout_stored(&world)->update_revision);
        assert_int_equal(CONTROLLER_REVISION(revision)->revision, 15);
        storage_world_clear(&world);
    }
}

/* WL-24. */
static gboolean
edit_policy(Object *object, const void *arg)
{
    (void)arg;
    STATEFUL_SET(object)->parallel = TRUE;
    return TRUE;
}

TEST(most_of_the_spec_never_changes)
{
    StorageWorld world;
    ApiResponse response;

    storage_world_init(&world, NULL);
    rollout_begin(&world, new_set(&world, 1));
    ApiRequest request = {.verb = API_PATCH,
                          .key = world_key(&world, KIND_STATEFUL_SET, "web"),
                          .edit = edit_policy,
                          .client = "kubectl"};
    api_server_commit(world.api, &request, &response);
    assert_int_equal(response.code, API_INVALID);
    assert_string_equal(
        response.message,
        "StatefulSet.apps \"web\" is invalid: spec: Forbidden: updates to statefulset spec for "
        "fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
        "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
    storage_world_clear(&world);
}

/* WL-60, before and after a scale down from 3 to 1: the owners of data-web-0 and data-web-2, and
 * the claims that are left when the set is gone. */
typedef struct {
    const char *title;
    gboolean when_deleted, when_scaled;
    const char *owner_of_0;
    unsigned left_after_scale, left_at_the_end;
} RetentionCase;

static const RetentionCase retention_cases[] = {
    {"Retain, Retain", FALSE, FALSE, NULL,          3, 3},
    {"Delete, Retain", TRUE,  FALSE, "StatefulSet", 3, 0},
    {"Retain, Delete", FALSE, TRUE,  NULL,          1, 1},
    {"Delete, Delete", TRUE,  TRUE,  "StatefulSet", 1, 0},
};

static void
claims_are_retained(void **state)
{
    const RetentionCase *row = *state;
    StorageWorld world;

    storage_world_init(&world, NULL);
    StatefulSet *set = new_set(&world, 3);
    set->delete_when_deleted = row->when_deleted;
    set->delete_when_scaled = row->when_scaled;
    rollout_begin(&world, set);
    const Object *claim = world_stored(&world, KIND_CLAIM, "data-web-0");
    if (row->owner_of_0 == NULL)
        assert_null(claim->owners);
    else
        assert_string_equal(object_controller(claim)->kind, row->owner_of_0);
    rollout_scale(&world, 1);
    /* WL-61: the pod owns the claim before the pod is deleted. */
    world_go_on(&world, SIM_SECOND);
    assert_true(object_is_deleted(&world_pod(&world, "web-2")->meta));
    claim = world_stored(&world, KIND_CLAIM, "data-web-2");
    if (row->when_scaled)
        assert_string_equal(object_controller(claim)->kind, "Pod");
    rollout_settle(&world);
    assert_int_equal(world_count(&world, KIND_CLAIM), row->left_after_scale);
    storage_world_delete(&world, world_key(&world, KIND_STATEFUL_SET, "web"));
    rollout_settle(&world);
    assert_int_equal(world_count(&world, KIND_CLAIM), row->left_at_the_end); /* WL-62 */
    assert_int_equal(world_count(&world, KIND_POD), 0);
    storage_world_clear(&world);
}
TEST_ROWS(retention_cases, claims_are_retained);

static ApiCode
refuse_a_claim(void *data, const ApiRequest *request, GString *message)
{
    unsigned *n_left = data;

    if (request->key->kind != KIND_CLAIM || request->verb == API_GET || *n_left == 0)
        return API_OK;
    (*n_left)--;
    g_string_assign(message, "refused by the test");
    return API_ERROR;
}

/* The set is synced again until the pod owns its claim; before that it is not deleted. */
TEST(a_refused_owner_is_written_later)
{
    StorageWorld world;
    unsigned n_refusals = 6;

    storage_world_init(&world, NULL);
    StatefulSet *set = new_set(&world, 2);
    set->delete_when_scaled = TRUE;
    rollout_begin(&world, set);
    api_server_set_fault(world.api, refuse_a_claim, &n_refusals);
    rollout_scale(&world, 1);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(n_refusals, 0);
    assert_string_equal(object_controller(world_stored(&world, KIND_CLAIM, "data-web-1"))->kind,
                        "Pod");
    assert_true(object_is_deleted(&world_pod(&world, "web-1")->meta));
    storage_world_clear(&world);
}

/* WL-44: a claim that still belongs to the earlier pod is not used; the pod is made when the claim
 * is gone. */
static gboolean
edit_owner(Object *object, const void *owner)
{
    object_set_owner(object, owner, TRUE, TRUE);
    return TRUE;
}

TEST(stale_claims_are_waited_for)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    Object *older = &storage_world_pod(&world, "web-0", NULL, NULL)->meta;
    older->uid = (ObjectUid){1, 1};
    storage_world_start(&world);
    storage_world_create(&world, storage_world_claim(&world, "data-web-0", 1, "fast"));
    storage_world_patch(&world, storage_world_claim_key(&world, "data-web-0"), edit_owner, older);
    StatefulSet *set = new_set(&world, 1);
    set->delete_when_scaled = TRUE;
    storage_world_create(&world, set);
    world_go_on(&world, SIM_MS);
    assert_null(world_pod(&world, "web-0"));
    object_unref(older);
    storage_world_clear(&world);
}

/* WL-63. */
TEST(others_claims_are_left_alone)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    Object *owner = object_new(world_key(&world, KIND_STATEFUL_SET, "other"));
    const Object *stored_owner;
    storage_world_start(&world);
    STATEFUL_SET(owner)->replicas = 0;
    STATEFUL_SET(owner)->selector = world_selector(&world, "other");
    STATEFUL_SET(owner)->template = world_template(&world, "other", "a");
    stored_owner = storage_world_create(&world, owner);
    Claim *claim = storage_world_claim(&world, "data-web-0", 1, "fast");
    object_set_owner(&claim->meta, stored_owner, TRUE, TRUE);
    storage_world_create(&world, claim);
    StatefulSet *set = new_set(&world, 1);
    set->delete_when_deleted = TRUE;
    storage_world_create(&world, set);
    rollout_settle(&world);
    assert_non_null(world_pod(&world, "web-0"));
    assert_string_equal(object_controller(world_stored(&world, KIND_CLAIM, "data-web-0"))->name,
                        "other");
    assert_string_equal(
        world_event_message(&world, "ConflictingController"),
        "PersistentVolumeClaim data-web-0 has a conflicting OwnerReference that acts as "
        "a manging controller, the retention policy is ignored for this claim");
    storage_world_clear(&world);
}

/* A pod of its name without an owner is adopted; a pod that no longer matches is released, and its
 * name stays taken. */
TEST(adopts_and_releases)
{
    StorageWorld world;
    StringPair web, other;

    storage_world_init(&world, NULL);
    web = (StringPair){storage_world_intern(&world, "app"), storage_world_intern(&world, "web")};
    other = (StringPair){web.key, storage_world_intern(&world, "other")};
    Pod *pod = storage_world_pod(&world, "web-0", NULL, NULL);
    pod->meta.labels = string_map_new(&web, 1);
    storage_world_create(&world, pod);
    rollout_begin(&world, new_set(&world, 1));
    assert_true(
        object_is_controlled_by(&world_pod(&world, "web-0")->meta, &rollout_stored(&world)->meta));
    storage_world_patch(&world, world_key(&world, KIND_POD, "web-0"), world_edit_label, &other);
    world_go_on(&world, SIM_SECOND);
    assert_null(object_controller(&world_pod(&world, "web-0")->meta));
    storage_world_clear(&world);
}

/* WL-68: a claim of an older set of the same name keeps its owners, whatever the policy. */
TEST(claims_of_an_older_set_are_left_alone)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    StatefulSet *set = new_set(&world, 1);
    Object *older = object_new(world_key(&world, KIND_STATEFUL_SET, "web"));
    Claim *claim = storage_world_claim(&world, "data-web-0", 1, "fast");
    ClaimOwners owners = {
        .set = set, .pod_key = world_key(&world, KIND_POD, "web-0"), .is_in_range = TRUE};
    set->meta.uid = (ObjectUid){2, 2};
    older->uid = (ObjectUid){1, 1};
    set->delete_when_deleted = TRUE;
    assert_false(claim_owners_are_right(&claim->meta, &owners)); /* it lacks the set */
    object_set_owner(&claim->meta, older, TRUE, TRUE);
    assert_int_equal(claim_owner(&claim->meta, &owners), CLAIM_OWNER_KEPT);
    assert_true(claim_owners_are_right(&claim->meta, &owners));
    set->delete_when_deleted = FALSE;
    assert_true(claim_owners_are_right(&claim->meta, &owners));
    object_unref(&claim->meta);
    object_unref(older);
    object_unref(&set->meta);
    storage_world_clear(&world);
}

/* WL-41, WL-67: a label that somebody removed is put back. */
TEST(identity_is_repaired)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    rollout_begin(&world, new_set(&world, 1));
    StringPair wrong = {
        storage_world_intern(&world, "statefulset.kubernetes.io/pod-name"),
        storage_world_intern(&world, "nobody"),
    };
    storage_world_patch(&world, world_key(&world, KIND_POD, "web-0"), world_edit_label, &wrong);
    world_go_on(&world, SIM_SECOND);
    assert_string_equal(
        object_label(&world_pod(&world, "web-0")->meta, "statefulset.kubernetes.io/pod-name"),
        "web-0");
    assert_string_equal(world_event_message(&world, "SuccessfulUpdate"),
                        "update Pod web-0 in StatefulSet web successful");
    storage_world_clear(&world);
}

/* With latencies: a rollout ends with all pods of the new template, and never deletes two at once.
 * */
TEST(rollout_many_seeds)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        StorageWorld world;
        storage_world_init(&world, &(StorageWorldOptions){.seed = seed, .slow = TRUE});
        StatefulSet *set = new_set(&world, 5);
        set->parallel = seed % 2 == 0;
        rollout_begin(&world, set);
        set_image(&world, "b");
        for (int i = 0; i < 60; i++) {
            unsigned n_away = 0;
            world_go_on(&world, 50 * SIM_MS);
            for (const char *image = images(&world, 5); *image != '\0'; image++)
                n_away += *image == '*' || *image == '-';
            assert_in_range(n_away, 0, 1);
            world_play_nodes(&world);
        }
        assert_string_equal(images(&world, 5), "bbbbb");
        storage_world_clear(&world);
    }
}
