/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/daemon-nodes.h"
#include "models/workloads/daemon-set.h"
#include "pods-world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* cmocka wants the first three. */
#include <cmocka.h>

/* What the DaemonSet controller does for a set "agent" on nodes "n-0", "n-1", ... */

const ModelClass *const model_classes[] = {&daemon_set_controller_class, NULL};

#define TAINT_KEY "dedicated"

static ObjectKey *
node_key(const StorageWorld *world, unsigned i)
{
    g_autofree char *name = g_strdup_printf("n-%u", i);

    return objects_key(world->objects, KIND_NODE, NULL, name);
}

static gboolean
edit_taint(Object *object, const void *data)
{
    const Taint *taint = data;

    taints_unref(((Node *)object)->taints);
    ((Node *)object)->taints = taint == NULL ? NULL : taints_new(taint, 1);
    return TRUE;
}

/* A new Node is tainted until it is ready, as here at once. */
static void
add_node(StorageWorld *world, unsigned i)
{
    storage_world_create(world, object_new(node_key(world, i)));
    storage_world_patch(world, node_key(world, i), edit_taint, NULL);
}

static DaemonSet *
new_set(const StorageWorld *world)
{
    DaemonSet *set = DAEMON_SET(object_new(world_key(world, KIND_DAEMON_SET, "agent")));

    set->revision_history_limit = 10;
    set->max_unavailable = (IntOrPercent){.value = 1, .is_set = TRUE};
    set->selector = world_selector(world, "agent");
    set->template = world_template(world, "agent", "a");
    return set;
}

static const DaemonSet *
stored_set(const StorageWorld *world)
{
    return DAEMON_SET_CONST(world_stored(world, KIND_DAEMON_SET, "agent"));
}

static void
begin(StorageWorld *world, unsigned n_nodes)
{
    storage_world_init(world, NULL);
    for (unsigned i = 0; i < n_nodes; i++)
        add_node(world, i);
    storage_world_start(world);
}

/* Schedulers and kubelets: each pod runs on its node, each that goes is gone. */
static void
play(StorageWorld *world)
{
    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_POD); i++) {
        const char *name = objects_key_at(world->objects, KIND_POD, i)->name;
        const Pod *pod = world_pod(world, name);
        if (pod == NULL)
            continue;
        if (object_is_deleted(&pod->meta)) {
            world_stop_pod(world, name);
        } else if (pod->phase == POD_PENDING) {
            if (pod->node_name == NULL)
                world_assign(world, name, daemon_pod_node(pod));
            world_set_phase(world, name, POD_RUNNING, TRUE);
        }
    }
}

static unsigned
count_image(const StorageWorld *world, const char *image)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_POD); i++) {
        const Object *pod = api_server_get(world->api, objects_key_at(world->objects, KIND_POD, i));
        n += pod != NULL && !object_is_deleted(pod) &&
             g_strcmp0(object_annotation(pod, "image"), image) == 0;
    }
    return n;
}

static unsigned
count_word(const char *log, const char *word)
{
    unsigned n = 0;

    for (const char *at = strstr(log, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

/* VF-47, WL-7, WL-78: a pod for each node, that no other node suits. */
static void
one_pod_per_node(void **state)
{
    StorageWorld world;
    gboolean has[3] = {FALSE};

    (void)state;
    begin(&world, 3);
    storage_world_create(&world, new_set(&world));
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 3);
    for (unsigned i = 0; i < 3; i++) {
        const Pod *pod = world_nth_pod(&world, i);
        const NodeSelector *required = pod->spec->required_nodes;
        assert_int_equal(required->n_terms, 1);
        const char *node = required->terms[0].field_name;
        assert_non_null(node);
        assert_null(pod->node_name);
        has[node[2] - '0'] = TRUE;
        assert_int_equal(strlen(object_name(&pod->meta)), strlen("agent-") + 5);
        assert_true(object_is_controlled_by(&pod->meta, &stored_set(&world)->meta));
        assert_non_null(object_label(&pod->meta, "controller-revision-hash"));
    }
    assert_true(has[0] && has[1] && has[2]);
    assert_true(g_str_has_prefix(world_event_message(&world, "SuccessfulCreate"), "Created pod: "));
    assert_int_equal(world_count(&world, KIND_CONTROLLER_REVISION), 1);
    assert_int_equal(stored_set(&world)->desired_scheduled, 3);
    assert_int_equal(stored_set(&world)->current_scheduled, 3);
    assert_int_equal(stored_set(&world)->unavailable, 3);
    play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(stored_set(&world)->ready, 3);
    assert_int_equal(stored_set(&world)->available, 3);
    assert_int_equal(stored_set(&world)->updated_scheduled, 3);
    assert_int_equal(stored_set(&world)->unavailable, 0);
    assert_int_equal(stored_set(&world)->observed_generation,
                     (int32_t)stored_set(&world)->meta.generation);
    storage_world_clear(&world);
}

typedef struct {
    const char *key;
    TaintEffect effect;
    gboolean should_run, should_continue;
} TaintCase;

/* NL-44 and the tolerations beside it; what else a taint does. */
static const TaintCase taint_cases[] = {
    {"node.kubernetes.io/not-ready",           TAINT_NO_EXECUTE,         TRUE,  TRUE },
    {"node.kubernetes.io/not-ready",           TAINT_NO_SCHEDULE,        FALSE, TRUE },
    {"node.kubernetes.io/unreachable",         TAINT_NO_EXECUTE,         TRUE,  TRUE },
    {"node.kubernetes.io/disk-pressure",       TAINT_NO_SCHEDULE,        TRUE,  TRUE },
    {"node.kubernetes.io/memory-pressure",     TAINT_NO_SCHEDULE,        TRUE,  TRUE },
    {"node.kubernetes.io/pid-pressure",        TAINT_NO_SCHEDULE,        TRUE,  TRUE },
    {"node.kubernetes.io/unschedulable",       TAINT_NO_SCHEDULE,        TRUE,  TRUE },
    {"node.kubernetes.io/network-unavailable", TAINT_NO_SCHEDULE,        FALSE, TRUE },
    {"node.kubernetes.io/out-of-service",      TAINT_NO_EXECUTE,         FALSE, FALSE},
    {TAINT_KEY,                                TAINT_NO_SCHEDULE,        FALSE, TRUE },
    {TAINT_KEY,                                TAINT_NO_EXECUTE,         FALSE, FALSE},
    {TAINT_KEY,                                TAINT_PREFER_NO_SCHEDULE, TRUE,  TRUE },
};

/* A node that is tainted from the beginning gets a pod or none; a pod that is there when the taint comes stays or goes. */
static void
taints(void **state)
{
    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(taint_cases); i++) {
        const TaintCase *row = &taint_cases[i];
        StorageWorld world;
        begin(&world, 2);
        const Taint taint = {.key = storage_world_intern(&world, row->key),
                             .value = storage_world_intern(&world, ""),
                             .effect = row->effect,
                             .added_at = TIME_UNSET};
        storage_world_patch(&world, node_key(&world, 0), edit_taint, &taint);
        storage_world_create(&world, new_set(&world));
        world_go_on(&world, SIM_SECOND);
        play(&world);
        world_go_on(&world, SIM_SECOND);
        if (world_count(&world, KIND_POD) != (row->should_run ? 2 : 1) ||
            stored_set(&world)->desired_scheduled != (row->should_run ? 2 : 1))
            fail_msg("%s from the beginning", row->key);

        storage_world_patch(&world, node_key(&world, 0), edit_taint, NULL);
        world_go_on(&world, SIM_SECOND); /* now it gets one */
        play(&world);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(stored_set(&world)->ready, 2);
        storage_world_patch(&world, node_key(&world, 0), edit_taint, &taint);
        world_go_on(&world, SIM_SECOND);
        if (world_count(&world, KIND_POD) != (row->should_continue ? 2 : 1))
            fail_msg("%s later", row->key);
        if (row->should_continue && !row->should_run)
            assert_int_equal(stored_set(&world)->misscheduled, 1);
        storage_world_clear(&world);
    }
}

/* A node that joins gets a pod; a pod that waits for a node that has left is deleted as soon as the set is looked at. */
static void
nodes_join_and_leave(void **state)
{
    StorageWorld world;

    (void)state;
    begin(&world, 1);
    storage_world_create(&world, new_set(&world));
    world_go_on(&world, SIM_SECOND);
    play(&world);
    add_node(&world, 1);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 2);
    assert_string_equal(daemon_pod_node(world_nth_pod(&world, 1)), "n-1");
    storage_world_remove(&world, node_key(&world, 1));
    world_go_on(&world, SIM_SECOND);
    add_node(&world, 2);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 2);
    assert_string_equal(daemon_pod_node(world_nth_pod(&world, 1)), "n-2");
    assert_int_equal(stored_set(&world)->desired_scheduled, 2);
    storage_world_clear(&world);
}

/* Unlike a ReplicaSet (WL-76) it waits until what goes is gone. */
static void
waits_until_a_pod_is_gone(void **state)
{
    StorageWorld world;

    (void)state;
    begin(&world, 1);
    storage_world_create(&world, new_set(&world));
    world_go_on(&world, SIM_SECOND);
    play(&world);
    storage_world_delete(&world, (ObjectKey *)world_nth_pod(&world, 0)->meta.key);
    world_go_on(&world, 10 * SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 0);
    play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 1);
    storage_world_clear(&world);
}

/* failedPodsBackoff: the first failed pod of a node goes at once, later ones after 1 s, 2 s, ... since the one before. */
static void
failed_pods_back_off(void **state)
{
    static const SimTime delays[] = {0, SIM_SECOND, 2 * SIM_SECOND, 4 * SIM_SECOND};
    StorageWorld world;

    (void)state;
    begin(&world, 1);
    storage_world_create(&world, new_set(&world));
    world_go_on(&world, 100 * SIM_MS);
    for (unsigned i = 0; i < G_N_ELEMENTS(delays); i++) {
        g_autofree char *name = g_strdup(object_name(&world_nth_pod(&world, 0)->meta));
        world_set_phase(&world, name, POD_FAILED, FALSE);
        if (delays[i] > 0) {
            world_go_on(&world, delays[i] - 110 * SIM_MS);
            assert_non_null(world_pod(&world, name));
        }
        world_go_on(&world, 100 * SIM_MS);
        assert_null(world_pod(&world, name));
        assert_int_equal(world_count(&world, KIND_POD), 1);
    }
    assert_non_null(
        strstr(world_event_message(&world, "FailedDaemonPod"), "on node n-0, will try to kill it"));
    storage_world_clear(&world);
}

/* WL-5 and BurstReplicas: 250 of 300 in the first sync; with the third creation refused the batch of it is the last one. */
static void
batches(void **state)
{
    StorageWorld world;
    Refusal refusal = {.kind = KIND_POD, .from = 2, .n = 1};

    (void)state;
    begin(&world, 300);
    storage_world_create(&world, new_set(&world));
    storage_world_log(&world);
    world_go_on(&world, SIM_SECOND);
    const char *log = storage_world_log(&world), *status = strstr(log, "PUT/st");
    assert_non_null(status);
    g_autofree char *first = g_strndup(log, (gsize)(status - log));
    assert_int_equal(count_word(first, "POST pod/"), 250);
    assert_int_equal(world_count(&world, KIND_POD), 300);
    storage_world_clear(&world);

    begin(&world, 10);
    world_refuse(&world, &refusal);
    storage_world_create(&world, new_set(&world));
    storage_world_log(&world);
    world_go_on(&world, SIM_SECOND);
    log = storage_world_log(&world);
    status = strstr(log, "PUT/st");
    assert_non_null(status);
    g_autofree char *tried = g_strndup(log, (gsize)(status - log));
    assert_int_equal(count_word(tried, "POST pod/"), 3);
    assert_int_equal(world_count(&world, KIND_POD), 10);
    assert_string_equal(world_event_message(&world, "FailedCreate"),
                        "Error creating: refused by the test");
    storage_world_clear(&world);
}

static gboolean
edit_template(Object *object, const void *template)
{
    pod_template_unref(DAEMON_SET(object)->template);
    DAEMON_SET(object)->template = pod_template_ref(template);
    return TRUE;
}

typedef struct {
    const char *title;
    IntOrPercent max;
    gboolean on_delete;
    unsigned at_once; /* so many of 5 are missing at the same time */
} UpdateCase;

static const UpdateCase update_cases[] = {
    {"one",                     {1, FALSE, TRUE},  FALSE, 1},
    {"two",                     {2, FALSE, TRUE},  FALSE, 2},
    {"30 % of 5, rounded up",   {30, TRUE, TRUE},  FALSE, 2},
    {"none is one",             {0, FALSE, TRUE},  FALSE, 1},
    {"all",                     {100, TRUE, TRUE}, FALSE, 5},
    {"only what others delete", {1, FALSE, TRUE},  TRUE,  0},
};

static void
updates(void **state)
{
    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(update_cases); i++) {
        const UpdateCase *row = &update_cases[i];
        StorageWorld world;
        unsigned missing = 0, rounds = 0;
        begin(&world, 5);
        DaemonSet *set = new_set(&world);
        set->max_unavailable = row->max;
        set->on_delete = row->on_delete;
        storage_world_create(&world, set);
        world_go_on(&world, SIM_SECOND);
        play(&world);
        world_go_on(&world, SIM_SECOND);
        PodTemplate *template = world_template(&world, "agent", "b");
        storage_world_patch(&world, world_key(&world, KIND_DAEMON_SET, "agent"), edit_template,
                            template);
        pod_template_unref(template);
        for (; rounds < 40 && count_image(&world, "b") < 5; rounds++) {
            world_go_on(&world, SIM_SECOND);
            missing = MAX(missing, 5 - (unsigned)stored_set(&world)->available);
            play(&world);
        }
        if (missing != row->at_once || count_image(&world, "b") != (row->on_delete ? 0 : 5))
            fail_msg("%s: %u missing at once", row->title, missing);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(stored_set(&world)->updated_scheduled, row->on_delete ? 0 : 5);
        assert_int_equal(world_count(&world, KIND_CONTROLLER_REVISION), 2);
        if (row->on_delete) {
            storage_world_delete(&world, (ObjectKey *)world_nth_pod(&world, 0)->meta.key);
            play(&world);
            world_go_on(&world, SIM_SECOND);
            assert_int_equal(count_image(&world, "b"), 1);
        }
        storage_world_clear(&world);
    }
}

/* maxSurge: so many nodes have an old and a new pod at the same time, at most; none is ever without one that is available; the old pod
 * of a node goes once the new one is available. */
static void
surges(void **state)
{
    static const struct {
        IntOrPercent max;
        unsigned at_once; /* of 5 nodes */
    } cases[] = {
        {{1, FALSE, TRUE},  1},
        {{2, FALSE, TRUE},  2},
        {{30, TRUE, TRUE},  2},
        {{100, TRUE, TRUE}, 5},
    };

    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        StorageWorld world;
        unsigned most = 0, rounds = 0;
        begin(&world, 5);
        DaemonSet *set = new_set(&world);
        set->max_surge = cases[i].max;
        set->max_unavailable = (IntOrPercent){0, FALSE, TRUE};
        storage_world_create(&world, set);
        world_go_on(&world, SIM_SECOND);
        play(&world);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(world_count(&world, KIND_POD), 5);
        PodTemplate *template = world_template(&world, "agent", "b");
        storage_world_patch(&world, world_key(&world, KIND_DAEMON_SET, "agent"), edit_template,
                            template);
        pod_template_unref(template);
        for (; rounds < 40 && (count_image(&world, "b") < 5 || world_count(&world, KIND_POD) > 5);
             rounds++) {
            world_go_on(&world, SIM_SECOND);
            most = MAX(most, world_count(&world, KIND_POD));
            assert_int_equal(stored_set(&world)->available, 5);
            play(&world);
        }
        assert_int_equal(most, 5 + cases[i].at_once);
        assert_int_equal(count_image(&world, "b"), 5);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(world_count(&world, KIND_POD), 5);
        assert_int_equal(stored_set(&world)->updated_scheduled, 5);
        storage_world_clear(&world);
    }
}

/* Everything takes time: no node ever has two pods, and all have one in the end. */
static void
many_seeds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        StorageWorld world;
        storage_world_init(&world, &(StorageWorldOptions){.seed = seed, .slow = TRUE});
        for (unsigned i = 0; i < 8; i++)
            add_node(&world, i);
        storage_world_start(&world);
        storage_world_create(&world, new_set(&world));
        for (unsigned i = 0; i < 40; i++) {
            world_go_on(&world, 20 * SIM_MS);
            play(&world);
            if (i == 20)
                add_node(&world, 8);
            assert_true(world_count(&world, KIND_POD) <= (i < 20 ? 8 : 9));
        }
        world_go_on(&world, SIM_SECOND);
        play(&world);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(stored_set(&world)->ready, 9);
        assert_int_equal(count_word(storage_world_log(&world), "POST pod/"), 9);
        storage_world_clear(&world);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pod_per_node),
        cmocka_unit_test(taints),
        cmocka_unit_test(nodes_join_and_leave),
        cmocka_unit_test(waits_until_a_pod_is_gone),
        cmocka_unit_test(failed_pods_back_off),
        cmocka_unit_test(batches),
        cmocka_unit_test(updates),
        cmocka_unit_test(surges),
        cmocka_unit_test(many_seeds),
    };

    return cmocka_run_group_tests_name("daemon-set", tests, NULL, NULL);
}
