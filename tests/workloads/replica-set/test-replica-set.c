/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/expectations.h"
#include "models/workloads/pod-ranks.h"
#include "models/workloads/replica-set/replica-set.h"
#include "tests/lib/test.h"
#include "tests/workloads/pods-world.h"

#include <string.h>

/* The ReplicaSet controller and a set "web"; and the same with a ReplicationController. */

const ModelClass *const model_classes[] = {&replica_set_controller_class,
                                           &replication_controller_class, NULL};
static const ObjectKind kinds[] = {KIND_REPLICA_SET, KIND_REPLICATION_CONTROLLER};
static ObjectKind tested;

static void
create_set(StorageWorld *world, int32_t replicas)
{
    ReplicaSet *set = REPLICA_SET(object_new(world_key(world, tested, "web")));

    set->replicas = replicas;
    set->selector = world_selector(world, "web");
    set->template = world_template(world, "web", "a");
    storage_world_create(world, set);
}

static const ReplicaSet *
stored_set(const StorageWorld *world)
{
    return REPLICA_SET_CONST(world_stored(world, tested, "web"));
}

static gboolean
replica_set_edit_replicas(Object *object, const void *replicas)
{
    REPLICA_SET(object)->replicas = *(const int32_t *)replicas;
    return TRUE;
}

static void
replica_set_scale(StorageWorld *world, int32_t replicas)
{
    storage_world_patch(world, world_key(world, tested, "web"), replica_set_edit_replicas,
                        &replicas);
}

static void
replica_set_begin(StorageWorld *world, int32_t replicas)
{
    storage_world_init(world, NULL);
    storage_world_start(world);
    create_set(world, replicas);
}

static unsigned
count_word(const char *log, const char *word)
{
    unsigned n = 0;

    for (const char *at = strstr(log, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

static void
its_pods_are_the_templates(void **state)
{
    StorageWorld world;

    tested = *(const ObjectKind *)*state;
    replica_set_begin(&world, 1);
    world_go_on(&world, SIM_SECOND);
    const Pod *pod = world_nth_pod(&world, 0);
    assert_non_null(pod);
    assert_true(g_str_has_prefix(object_name(&pod->meta), "web-"));
    assert_int_equal(strlen(object_name(&pod->meta)), strlen("web-") + 5); /* WL-7 */
    assert_string_equal(object_label(&pod->meta, "app"), "web");
    assert_true(object_is_controlled_by(&pod->meta, &stored_set(&world)->meta));
    assert_int_equal(stored_set(&world)->status_replicas, 1);
    assert_int_equal(stored_set(&world)->fully_labeled_replicas, 1);
    g_autofree char *text = g_strdup_printf("Created pod: %s", object_name(&pod->meta));
    assert_string_equal(world_event_message(&world, "SuccessfulCreate"), text);
    storage_world_clear(&world);
}

/* WL-V1: 10 pods in batches of 1, 2, 4 and 3. If the third creation is refused (the second of batch
 * 2), two are made and seven are not tried; all exist after 5 ms. */
static void
slow_start(void **state)
{
    static const struct {
        unsigned from, n, after_one_sync;
    } rows[] = {
        {99, 0, 10},
        {0,  1, 0 },
        {2,  1, 2 },
        {3,  1, 6 },
        {9,  1, 9 },
    };

    tested = *(const ObjectKind *)*state;
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        StorageWorld world;
        PodsRefusal refusal = {.kind = KIND_POD, .from = rows[i].from, .n = rows[i].n};
        storage_world_init(&world, NULL);
        world_refuse(&world, &refusal);
        storage_world_start(&world);
        create_set(&world, 10);
        world_go_on(&world, 4 * SIM_MS);
        /* The new pods wake the set, so that it is synced again before the 5 ms are over: then all
         * exist. */
        assert_true(world_count(&world, KIND_POD) >= rows[i].after_one_sync);
        if (rows[i].n > 0)
            assert_int_equal(refusal.n_seen >= rows[i].from + 1, 1);
        world_go_on(&world, 2 * SIM_MS);
        assert_int_equal(world_count(&world, KIND_POD), 10);
        if (rows[i].n > 0)
            assert_string_equal(world_event_message(&world, "FailedCreate"),
                                "Error creating: refused by the test");
        storage_world_clear(&world);
    }
}

/* WL-5, WL-6, WL-75: at most 500 creations or deletions in a sync. */
static void
bursts_of_500(void **state)
{
    StorageWorld world;

    tested = *(const ObjectKind *)*state;
    replica_set_begin(&world, 700);
    storage_world_log(&world);
    world_go_on(&world, SIM_SECOND);
    const char *log = storage_world_log(&world);
    const char *status = strstr(log, "PUT/st");
    assert_non_null(status);
    g_autofree char *first = g_strndup(log, (gsize)(status - log));
    assert_int_equal(count_word(first, "POST pod/"), 500);
    assert_int_equal(world_count(&world, KIND_POD), 700);

    replica_set_scale(&world, 100);
    storage_world_log(&world);
    world_go_on(&world, SIM_SECOND);
    log = storage_world_log(&world);
    status = strstr(log, "PUT/st");
    assert_non_null(status);
    g_autofree char *second = g_strndup(log, (gsize)(status - log));
    assert_int_equal(count_word(second, "DELETE pod/"), 500);
    assert_int_equal(world_count(&world, KIND_POD), 100);
    storage_world_clear(&world);
}

/* WL-76: it does not wait until a deleted pod is gone. */
static void
what_goes_is_replaced_at_once(void **state)
{
    StorageWorld world;

    tested = *(const ObjectKind *)*state;
    replica_set_begin(&world, 1);
    world_go_on(&world, SIM_SECOND);
    const char *name = object_name(&world_nth_pod(&world, 0)->meta);
    world_start_pod(&world, name);
    storage_world_delete(&world, world_key(&world, KIND_POD, name));
    world_go_on(&world, SIM_SECOND);
    assert_non_null(world_pod(&world, name));
    assert_non_null(world_nth_pod(&world, 1));
    assert_int_equal(world_count(&world, KIND_POD), 1);
    storage_world_clear(&world);
}

static void
what_failed_is_replaced(void **state)
{
    StorageWorld world;

    tested = *(const ObjectKind *)*state;
    replica_set_begin(&world, 1);
    world_go_on(&world, SIM_SECOND);
    world_set_phase(&world, object_name(&world_nth_pod(&world, 0)->meta), POD_FAILED, FALSE);
    world_go_on(&world, SIM_SECOND);
    assert_non_null(world_nth_pod(&world, 1));
    storage_world_clear(&world);
}

/* A matching pod without an owner is adopted; a pod whose labels no longer match is released and
 * replaced. */
static void
adopts_and_releases(void **state)
{
    StorageWorld world;
    StringPair web, other;

    tested = *(const ObjectKind *)*state;
    storage_world_init(&world, NULL);
    web = (StringPair){storage_world_intern(&world, "app"), storage_world_intern(&world, "web")};
    other = (StringPair){web.key, storage_world_intern(&world, "other")};
    Pod *pod = storage_world_pod(&world, "stray", NULL, NULL);
    pod->meta.labels = string_map_new(&web, 1);
    storage_world_create(&world, pod);
    storage_world_start(&world);
    create_set(&world, 1);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 1);
    assert_true(
        object_is_controlled_by(&world_pod(&world, "stray")->meta, &stored_set(&world)->meta));
    storage_world_patch(&world, world_key(&world, KIND_POD, "stray"), world_edit_label, &other);
    world_go_on(&world, SIM_SECOND);
    assert_null(object_controller(&world_pod(&world, "stray")->meta));
    assert_int_equal(world_count(&world, KIND_POD), 2);
    storage_world_clear(&world);
}

/* With minReadySeconds a pod counts as available that much later, in whole seconds, and the set is
 * synced then. */
static gboolean
edit_min_ready(Object *object, const void *seconds)
{
    REPLICA_SET(object)->min_ready_s = *(const int32_t *)seconds;
    return TRUE;
}

static void
available_after_min_ready_seconds(void **state)
{
    StorageWorld world;
    const int32_t ten = 10;

    tested = *(const ObjectKind *)*state;
    replica_set_begin(&world, 1);
    storage_world_patch(&world, world_key(&world, tested, "web"), edit_min_ready, &ten);
    world_go_on(&world, 1500 * SIM_MS);
    world_start_pod(&world, object_name(&world_nth_pod(&world, 0)->meta)); /* at 1.5 s: since 1 s */
    storage_world_run(&world, 11400 * SIM_MS);
    assert_int_equal(stored_set(&world)->ready_replicas, 1);
    assert_int_equal(stored_set(&world)->available_replicas, 0);
    storage_world_run(&world, 11600 * SIM_MS);
    assert_int_equal(stored_set(&world)->available_replicas, 1);
    storage_world_clear(&world);
}

/* ---- WL-77: its rows in turn ---- */

typedef struct {
    const char *title;
    const char *victim,
        *survivor; /* "node phase ready cost siblings ready-since created [restarts]" */
} RankCase;

static const RankCase rank_cases[] = {
    {"unassigned first",         "- Running 1 0 0 10 10",     "n Pending 0 0 0 10 10"    },
    {"pending before unknown",   "n Pending 0 0 0 10 10",     "n Unknown 0 0 0 10 10"    },
    {"unknown before running",   "n Unknown 0 0 0 10 10",     "n Running 0 0 0 10 10"    },
    {"not ready before ready",   "n Running 0 9 0 10 10",     "n Running 1 0 0 10 10"    },
    {"cheap before dear",        "n Running 1 -5 0 10 10",    "n Running 1 0 9 10 10"    },
    {"crowded nodes first",      "n Running 1 0 3 10 10",     "n Running 1 0 2 500 10"   },
    {"ready for a shorter time", "n Running 1 0 0 1000 10",   "n Running 1 0 0 10 1000"  },
    {"restarted more often",     "n Running 1 0 0 10 10 3",   "n Running 1 0 0 10 1000 2"},
    {"the newer",                "n Running 1 0 0 10 1000",   "n Running 1 0 0 10 10"    },
    {"all else before the cost", "n Running 0 9 0 10 10",     "n Running 1 -9 0 10 10"   },
    {"the cost before the node", "n Running 1 1 0 10 10",     "n Running 1 2 9 10 10"    },
    {"the node before the time", "n Running 1 0 2 10 10",     "n Running 1 0 1 1000 10"  },
    {"the time before restarts", "n Running 1 0 0 1000 10 0", "n Running 1 0 0 10 10 9"  },
};

static Pod *
replica_set_pod_of(const StorageWorld *world,
                   const char *name,
                   const char *text,
                   unsigned *siblings)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    Pod *pod = storage_world_pod(world, name, NULL, words[0][0] == '-' ? NULL : "node-1");

    pod->phase = words[1][0] == 'P' ? POD_PENDING : words[1][0] == 'U' ? POD_UNKNOWN : POD_RUNNING;
    pod->ready.status = words[2][0] == '1' ? CONDITION_TRUE : CONDITION_FALSE;
    if (words[3][0] != '0')
        object_set_annotation(
            &pod->meta, storage_world_intern(world, "controller.kubernetes.io/pod-deletion-cost"),
            storage_world_intern(world, words[3]));
    *siblings = (unsigned)atoi(words[4]);
    pod->ready.changed_at = atoi(words[5]) * SIM_SECOND;
    pod->meta.created_at = atoi(words[6]) * SIM_SECOND;
    pod->restarts = words[7] == NULL ? 0 : atoi(words[7]);
    return pod;
}

static const Release release = {.minor = RELEASE_DEFAULT_MINOR};

static void
victims_in_order(void **state)
{
    StorageWorld world;

    (void)state;
    storage_world_init(&world, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(rank_cases); i++) {
        RankedPod ranked[2];
        Pod *victim =
            replica_set_pod_of(&world, "victim", rank_cases[i].victim, &ranked[1].n_on_node);
        Pod *survivor =
            replica_set_pod_of(&world, "survivor", rank_cases[i].survivor, &ranked[0].n_on_node);
        ranked[1].pod = victim;
        ranked[0].pod = survivor;
        pod_ranks_sort(ranked, 2, 2000 * SIM_SECOND, &release);
        if (ranked[0].pod != victim)
            fail_msg("%s", rank_cases[i].title);
        object_unref(&victim->meta);
        object_unref(&survivor->meta);
    }
    storage_world_clear(&world);
}

/* WL-77: the controller counts the pods on each node; a pod that is alone on its node stays, though
 * it is ready for the shortest time. */
static void
the_crowded_node_loses_a_pod(void **state)
{
    StorageWorld world;

    tested = *(const ObjectKind *)*state;
    replica_set_begin(&world, 3);
    world_go_on(&world, SIM_SECOND);
    for (unsigned i = 1; i < 3; i++)
        world_start_pod(&world, object_name(&world_nth_pod(&world, i)->meta));
    world_go_on(&world, 1000 * SIM_SECOND);
    const char *alone = object_name(&world_nth_pod(&world, 0)->meta);
    world_assign(&world, alone, "node-2");
    world_set_phase(&world, alone, POD_RUNNING, TRUE);
    world_go_on(&world, 20 * SIM_SECOND);
    replica_set_scale(&world, 2);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 2);
    assert_false(object_is_deleted(&world_pod(&world, alone)->meta));
    storage_world_clear(&world);
}

/* Ages below the same power of two count as equal: then the uid decides. */
static void
ages_count_by_powers_of_two(void **state)
{
    StorageWorld world;
    RankedPod ranked[2] = {{0}};

    (void)state;
    storage_world_init(&world, NULL);
    Pod *older = storage_world_pod(&world, "older", NULL, "node-1");
    Pod *newer = storage_world_pod(&world, "newer", NULL, "node-1");
    older->meta.created_at = 0;
    newer->meta.created_at = 100 * SIM_SECOND;
    older->meta.uid = (ObjectUid){1, 1};
    newer->meta.uid = (ObjectUid){2, 2};
    ranked[0].pod = newer;
    ranked[1].pod = older;
    pod_ranks_sort(ranked, 2, 1000 * SIM_SECOND,
                   &release); /* 900 s and 1000 s: both above 2^39 ns */
    assert_ptr_equal(ranked[0].pod, older);
    pod_ranks_sort(ranked, 2, 200 * SIM_SECOND, &release); /* 100 s and 200 s */
    assert_ptr_equal(ranked[0].pod, newer);
    object_unref(&older->meta);
    object_unref(&newer->meta);
    storage_world_clear(&world);
}

/* WL-4: 5 minutes. */
static void
expectations(void **state)
{
    Expectations expected = {0};
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    ObjectKey a, b;

    (void)state;
    assert_true(expectations_are_met(&expected, 0));
    expect_creations(&expected, 2, SIM_SECOND);
    assert_false(expectations_are_met(&expected, 2 * SIM_SECOND));
    assert_false(expectations_are_met(&expected, SIM_SECOND + 5 * SIM_MINUTE));
    assert_true(expectations_are_met(&expected, SIM_SECOND + 5 * SIM_MINUTE + 1));
    expectations_creation_seen(&expected);
    assert_false(expectations_are_met(&expected, 2 * SIM_SECOND));
    expectations_creation_seen(&expected);
    assert_true(expectations_are_met(&expected, 2 * SIM_SECOND));
    g_ptr_array_add(keys, &a);
    expect_deletions(&expected, keys, 0);
    expectations_deletion_seen(&expected, &b); /* of another owner */
    assert_false(expectations_are_met(&expected, SIM_SECOND));
    expectations_deletion_seen(&expected, &a);
    assert_true(expectations_are_met(&expected, SIM_SECOND));
    expectations_clear(&expected);
}

/* With latencies: no pod is made twice, and the counts are right. */
static void
replica_set_many_seeds(void **state)
{
    tested = *(const ObjectKind *)*state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        StorageWorld world;
        storage_world_init(&world, &(StorageWorldOptions){.seed = seed, .slow = TRUE});
        storage_world_start(&world);
        create_set(&world, 12);
        for (int i = 0; i < 40; i++) {
            world_go_on(&world, 20 * SIM_MS);
            world_play_nodes(&world);
            assert_true(world_count(&world, KIND_POD) <= 12);
        }
        replica_set_scale(&world, 5);
        world_go_on(&world, SIM_SECOND);
        world_play_nodes(&world);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(world_count(&world, KIND_POD), 5);
        assert_int_equal(stored_set(&world)->ready_replicas, 5);
        assert_int_equal(count_word(storage_world_log(&world), "POST pod/"), 12);
        storage_world_clear(&world);
    }
}

/* A test with a ReplicaSet, and the same with a ReplicationController. */
#define OF_BOTH(test)                                                                              \
    {#test, test, NULL, NULL, (void *)&kinds[0]},                                                  \
    {                                                                                              \
        "ReplicationController: " #test, test, NULL, NULL, (void *)&kinds[1]                       \
    }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        OF_BOTH(its_pods_are_the_templates),
        OF_BOTH(slow_start),
        OF_BOTH(bursts_of_500),
        OF_BOTH(what_goes_is_replaced_at_once),
        OF_BOTH(what_failed_is_replaced),
        OF_BOTH(adopts_and_releases),
        OF_BOTH(available_after_min_ready_seconds),
        cmocka_unit_test(victims_in_order),
        OF_BOTH(the_crowded_node_loses_a_pod),
        cmocka_unit_test(ages_count_by_powers_of_two),
        cmocka_unit_test(expectations),
        OF_BOTH(replica_set_many_seeds),
    };

    return cmocka_run_group_tests_name("replica-set", tests, NULL, NULL);
}
