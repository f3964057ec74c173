/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/deployment/deployment.h"
#include "models/workloads/replica-set/replica-set.h"
#include "tests/lib/test.h"
#include "tests/workloads/pods-world.h"

#include <string.h>

/* The controllers of Deployments and ReplicaSets and a deployment "web". */

const ModelClass *const model_classes[] = {&replica_set_controller_class,
                                           &deployment_controller_class, NULL};

static Deployment *
new_deployment(StorageWorld *world, int32_t replicas)
{
    Deployment *deployment = DEPLOYMENT(object_new(world_key(world, KIND_DEPLOYMENT, "web")));

    deployment->replicas = replicas;
    deployment->selector = world_selector(world, "web");
    deployment->template = world_template(world, "web", "a");
    return deployment;
}

static const Deployment *
deployment_stored(const StorageWorld *world)
{
    return DEPLOYMENT_CONST(world_stored(world, KIND_DEPLOYMENT, "web"));
}

static void
deployment_begin(StorageWorld *world, int32_t replicas, gboolean recreate)
{
    storage_world_init(world, NULL);
    storage_world_start(world);
    Deployment *deployment = new_deployment(world, replicas);
    deployment->recreate = recreate;
    storage_world_create(world, deployment);
    world_go_on(world, SIM_SECOND);
    world_play_nodes(world);
    world_go_on(world, SIM_SECOND);
    assert_int_equal(deployment_stored(world)->available_replicas, replicas);
}

static gboolean
edit_template(Object *object, const void *template)
{
    pod_template_unref(DEPLOYMENT(object)->template);
    DEPLOYMENT(object)->template = pod_template_ref(template);
    return TRUE;
}

static void
set_image(StorageWorld *world, const char *image)
{
    PodTemplate *template = world_template(world, "web", image);

    storage_world_patch(world, world_key(world, KIND_DEPLOYMENT, "web"), edit_template, template);
    pod_template_unref(template);
}

static unsigned
count_available(const StorageWorld *world)
{
    unsigned n = 0;
    const Pod *pod;

    for (unsigned i = 0; (pod = world_nth_pod(world, i)) != NULL; i++)
        n += pod_is_ready(pod) && !object_is_deleted(&pod->meta);
    return n;
}

static unsigned
count_with_image(const StorageWorld *world, const char *image)
{
    unsigned n = 0;
    const Pod *pod;

    for (unsigned i = 0; (pod = world_nth_pod(world, i)) != NULL; i++)
        n += !object_is_deleted(&pod->meta) &&
             g_strcmp0(object_annotation(&pod->meta, "image"), image) == 0;
    return n;
}

/* Recorded (16a): POST of the set, the deployment's status with its revision, and its status again
 * with the counts of its sets. */
TEST(makes_a_set)
{
    StorageWorld world;

    deployment_begin(&world, 3, FALSE);
    assert_int_equal(world_count(&world, KIND_REPLICA_SET), 1);
    assert_int_equal(world_count(&world, KIND_POD), 3);
    const Pod *pod = world_nth_pod(&world, 0);
    const char *hash = object_label(&pod->meta, "pod-template-hash");
    assert_non_null(hash);
    g_autofree char *name = g_strdup_printf("web-%s", hash);
    const Object *set = world_stored(&world, KIND_REPLICA_SET, name);
    assert_non_null(set);
    assert_string_equal(object_annotation(set, "deployment.kubernetes.io/desired-replicas"), "3");
    assert_string_equal(object_annotation(set, "deployment.kubernetes.io/max-replicas"), "4");
    assert_string_equal(object_annotation(set, "deployment.kubernetes.io/revision"), "1");
    assert_true(g_str_has_prefix(object_name(&pod->meta), name));
    const Deployment *deployment = deployment_stored(&world);
    assert_string_equal(object_annotation(&deployment->meta, "deployment.kubernetes.io/revision"),
                        "1");
    assert_string_equal(deployment->progressing.reason, "NewReplicaSetAvailable");
    assert_string_equal(deployment->available.reason, "MinimumReplicasAvailable");
    g_autofree char *text = g_strdup_printf("Scaled up replica set %s from 0 to 3", name);
    assert_string_equal(world_event_message(&world, "ScalingReplicaSet"), text);
    storage_world_clear(&world);
}

/* WL-70: the surge and the missing pods that 25 % and other values allow. */
TEST(surge_and_unavailable)
{
    static const struct {
        int32_t replicas;
        IntOrPercent surge, unavailable;
        int32_t max_surge, max_unavailable;
    } rows[] = {
        {1,  {25, TRUE, TRUE}, {25, TRUE, TRUE}, 1, 0},
        {4,  {25, TRUE, TRUE}, {25, TRUE, TRUE}, 1, 1},
        {10, {25, TRUE, TRUE}, {25, TRUE, TRUE}, 3, 2},
        {10, {0, FALSE, TRUE}, {5, TRUE, TRUE},  0, 1},
        {2,  {1, FALSE, TRUE}, {5, FALSE, TRUE}, 1, 2},
        {0,  {25, TRUE, TRUE}, {25, TRUE, TRUE}, 0, 0},
    };
    StorageWorld world;

    storage_world_init(&world, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Deployment *deployment = new_deployment(&world, rows[i].replicas);
        assert_int_equal(deployment->progress_deadline_s, 600);
        assert_int_equal(deployment->revision_history_limit, 10);
        deployment->max_surge = rows[i].surge;
        deployment->max_unavailable = rows[i].unavailable;
        assert_int_equal(deployment_max_surge(deployment), rows[i].max_surge);
        assert_int_equal(deployment_max_unavailable(deployment), rows[i].max_unavailable);
        object_unref(&deployment->meta);
    }
    storage_world_clear(&world);
}

/* WL-V4, WL-71: pods that are not being deleted never exceed replicas and surge, and never too few
 * are available. */
TEST(rolls)
{
    static const struct {
        int32_t replicas;
        unsigned most, least;
    } rows[] = {
        {4,  5,  3},
        {1,  2,  1},
        {10, 13, 8},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        StorageWorld world;
        deployment_begin(&world, rows[i].replicas, FALSE);
        set_image(&world, "b");
        for (int k = 0; k < 30; k++) {
            world_go_on(&world, 100 * SIM_MS);
            assert_in_range(world_count(&world, KIND_POD), rows[i].least, rows[i].most);
            assert_in_range(count_available(&world), rows[i].least, rows[i].most);
            world_play_nodes(&world);
        }
        assert_int_equal(count_with_image(&world, "b"), rows[i].replicas);
        assert_int_equal(world_count(&world, KIND_POD), rows[i].replicas);
        assert_int_equal(world_count(&world, KIND_REPLICA_SET), 2);
        assert_int_equal(deployment_stored(&world)->updated_replicas, rows[i].replicas);
        assert_string_equal(object_annotation(&deployment_stored(&world)->meta,
                                              "deployment.kubernetes.io/revision"),
                            "2");
        storage_world_clear(&world);
    }
}

/* Back to the earlier template: its set still exists, and becomes the newest revision. */
TEST(rolls_back)
{
    static const char *const images[] = {"b", "a"};
    StorageWorld world;

    deployment_begin(&world, 2, FALSE);
    for (unsigned i = 0; i < G_N_ELEMENTS(images); i++) {
        set_image(&world, images[i]);
        for (int k = 0; k < 20; k++) {
            world_go_on(&world, 100 * SIM_MS);
            world_play_nodes(&world);
        }
        assert_int_equal(count_with_image(&world, images[i]), 2);
    }
    assert_int_equal(world_count(&world, KIND_REPLICA_SET), 2);
    assert_string_equal(
        object_annotation(&deployment_stored(&world)->meta, "deployment.kubernetes.io/revision"),
        "3");
    storage_world_clear(&world);
}

/* WL-73: no new pod as long as an old one runs, even if it is being deleted. */
TEST(recreates)
{
    StorageWorld world;

    deployment_begin(&world, 3, TRUE);
    set_image(&world, "b");
    world_go_on(&world, SIM_MINUTE);
    assert_int_equal(world_count(&world, KIND_POD), 0); /* all are being deleted */
    assert_int_equal(world_count(&world, KIND_REPLICA_SET), 1);
    world_stop_pod(&world, object_name(&world_nth_pod(&world, 0)->meta));
    world_stop_pod(&world, object_name(&world_nth_pod(&world, 0)->meta));
    world_go_on(&world, SIM_MINUTE);
    assert_int_equal(world_count(&world, KIND_POD), 0);
    world_stop_pod(&world, object_name(&world_nth_pod(&world, 0)->meta));
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(count_with_image(&world, "b"), 3);
    storage_world_clear(&world);
}

/* WL-70, WL-V5: after 600 s without progress the condition says so, and the rollout goes on
 * waiting. */
TEST(progress_deadline)
{
    StorageWorld world;

    deployment_begin(&world, 1, FALSE);
    set_image(&world, "b"); /* at 2 s; the new pod never starts */
    storage_world_run(&world, 600 * SIM_SECOND);
    assert_int_equal(deployment_stored(&world)->progressing.status, CONDITION_TRUE);
    storage_world_run(&world, 604 * SIM_SECOND);
    assert_int_equal(deployment_stored(&world)->progressing.status, CONDITION_FALSE);
    assert_string_equal(deployment_stored(&world)->progressing.reason, "ProgressDeadlineExceeded");
    assert_int_equal(world_count(&world, KIND_POD), 2);
    storage_world_clear(&world);
}

/* WL-74: 15 retries, then it gives up until the next event. */
TEST(gives_up_after_15_retries)
{
    StorageWorld world;
    PodsRefusal refusal = {.kind = KIND_REPLICA_SET, .n = G_MAXUINT};

    storage_world_init(&world, NULL);
    world_refuse(&world, &refusal);
    storage_world_start(&world);
    Deployment *deployment = new_deployment(&world, 1);
    deployment->progress_deadline_s = INT32_MAX; /* no change of a status that would wake it */
    storage_world_create(&world, deployment);
    world_go_on(&world, SIM_HOUR);
    assert_int_equal(refusal.n_seen, 16);
    assert_string_equal(world_event_message(&world, "ReplicaSetCreateError"),
                        "Failed to create new replica set: refused by the test");
    storage_world_clear(&world);
}

static gboolean
edit_history(Object *object, const void *limit)
{
    DEPLOYMENT(object)->revision_history_limit = *(const int32_t *)limit;
    return TRUE;
}

/* Old sets beyond revisionHistoryLimit are deleted once a rollout is complete. */
TEST(prunes_old_sets)
{
    static const char *const images[] = {"b", "c", "d", "e"};
    const int32_t limit = 2;
    StorageWorld world;

    deployment_begin(&world, 1, FALSE);
    storage_world_patch(&world, world_key(&world, KIND_DEPLOYMENT, "web"), edit_history, &limit);
    for (unsigned i = 0; i < G_N_ELEMENTS(images); i++) {
        set_image(&world, images[i]);
        for (int k = 0; k < 20; k++) {
            world_go_on(&world, 100 * SIM_MS);
            world_play_nodes(&world);
        }
    }
    assert_int_equal(world_count(&world, KIND_REPLICA_SET), 3);
    storage_world_clear(&world);
}

static gboolean
deployment_edit_replicas(Object *object, const void *replicas)
{
    DEPLOYMENT(object)->replicas = *(const int32_t *)replicas;
    return TRUE;
}

static gboolean
edit_paused(Object *object, const void *paused)
{
    DEPLOYMENT(object)->paused = *(const gboolean *)paused;
    return TRUE;
}

static gboolean
edit_surge(Object *object, const void *surge)
{
    DEPLOYMENT(object)->max_surge = *(const IntOrPercent *)surge;
    return TRUE;
}

/* Replicas and surge together are more than 32 bits hold: all new pods come at once. */
TEST(surges_without_bounds)
{
    const IntOrPercent surge = {INT32_MAX, FALSE, TRUE};
    StorageWorld world;

    deployment_begin(&world, 2, FALSE);
    storage_world_patch(&world, world_key(&world, KIND_DEPLOYMENT, "web"), edit_surge, &surge);
    set_image(&world, "b");
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(count_with_image(&world, "a"), 2);
    assert_int_equal(count_with_image(&world, "b"), 2);
    storage_world_clear(&world);
}

/* A change of the size in the middle of a rollout is shared by the sets in proportion to their
 * sizes, here of 10 (8 old, 5 new, at most 13). A paused one goes no further. */
TEST(scales_in_proportion)
{
    static const struct {
        gboolean paused;
        int32_t replicas;
        unsigned n_old, n_new;
    } cases[] = {
        {FALSE, 20, 15, 10}, /* at most 25: 8 x 25 / 13 */
        {TRUE,  20, 15, 10},
        {TRUE,  5,  4,  3 }, /* at most 7 */
        {TRUE,  0,  0,  0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        StorageWorld world;
        deployment_begin(&world, 10, FALSE);
        ObjectKey *web = world_key(&world, KIND_DEPLOYMENT, "web");
        set_image(&world, "b");
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(count_with_image(&world, "a"), 8);
        assert_int_equal(count_with_image(&world, "b"), 5);
        storage_world_patch(&world, web, edit_paused, &cases[i].paused);
        storage_world_patch(&world, web, deployment_edit_replicas, &cases[i].replicas);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(count_with_image(&world, "a"), cases[i].n_old);
        assert_int_equal(count_with_image(&world, "b"), cases[i].n_new);
        storage_world_clear(&world);
    }
}

TEST(pauses)
{
    const gboolean yes = TRUE, no = FALSE;
    StorageWorld world;

    deployment_begin(&world, 2, FALSE);
    storage_world_patch(&world, world_key(&world, KIND_DEPLOYMENT, "web"), edit_paused, &yes);
    world_go_on(&world, SIM_SECOND);
    set_image(&world, "b");
    world_go_on(&world, SIM_MINUTE);
    assert_string_equal(deployment_stored(&world)->progressing.reason, "DeploymentPaused");
    assert_int_equal(world_count(&world, KIND_REPLICA_SET), 1);
    storage_world_patch(&world, world_key(&world, KIND_DEPLOYMENT, "web"), edit_paused, &no);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_REPLICA_SET), 2);
    storage_world_clear(&world);
}

/* With latencies. */
TEST(deployment_many_seeds)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        StorageWorld world;
        storage_world_init(&world, &(StorageWorldOptions){.seed = seed, .slow = TRUE});
        storage_world_start(&world);
        storage_world_create(&world, new_deployment(&world, 8));
        for (int i = 0; i < 100; i++) {
            if (i == 30)
                set_image(&world, "b");
            world_go_on(&world, 50 * SIM_MS);
            world_play_nodes(&world);
            assert_true(world_count(&world, KIND_POD) <= 10);
        }
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(count_with_image(&world, "b"), 8);
        assert_int_equal(deployment_stored(&world)->available_replicas, 8);
        assert_int_equal(deployment_stored(&world)->status_replicas, 8);
        assert_string_equal(deployment_stored(&world)->progressing.reason,
                            "NewReplicaSetAvailable");
        storage_world_clear(&world);
    }
}
