/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/daemon-set/nodes.h"
#include "tests/lib/test.h"
#include "tests/workloads/daemon-set/daemon-world.h"

#include <string.h>

/* Which nodes a DaemonSet puts its pods on, and when it makes and deletes them. */

#define TAINT_KEY "dedicated"

static unsigned
count_word(const char *log, const char *word)
{
    unsigned n = 0;

    for (const char *at = strstr(log, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

/* DS-1, DS-3, VF-47, WL-7, WL-78: a pod for each node, which fits no other node. */
TEST(one_pod_per_node)
{
    StorageWorld world;
    gboolean has[3] = {FALSE};

    daemon_begin(&world, 3);
    storage_world_create(&world, daemon_new(&world));
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
        assert_true(object_is_controlled_by(&pod->meta, &daemon_stored(&world)->meta));
        assert_non_null(object_label(&pod->meta, "controller-revision-hash"));
    }
    assert_true(has[0] && has[1] && has[2]);
    assert_true(g_str_has_prefix(world_event_message(&world, "SuccessfulCreate"), "Created pod: "));
    assert_int_equal(world_count(&world, KIND_CONTROLLER_REVISION), 1);
    assert_int_equal(daemon_stored(&world)->desired_scheduled, 3);
    assert_int_equal(daemon_stored(&world)->current_scheduled, 3);
    assert_int_equal(daemon_stored(&world)->unavailable, 3);
    daemon_play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(daemon_stored(&world)->ready, 3);
    assert_int_equal(daemon_stored(&world)->available, 3);
    assert_int_equal(daemon_stored(&world)->updated_scheduled, 3);
    assert_int_equal(daemon_stored(&world)->unavailable, 0);
    assert_int_equal(daemon_stored(&world)->observed_generation,
                     (int32_t)daemon_stored(&world)->meta.generation);
    storage_world_clear(&world);
}

typedef struct {
    const char *key;
    TaintEffect effect;
    gboolean should_run, should_continue;
} DaemonSetTaintCase;

/* DS-1, NL-44: taints of each effect, tolerated or not. */
static const DaemonSetTaintCase taint_cases[] = {
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

/* Each taint is tried on a node from the beginning, which gets a pod or none, and on a node with a
 * pod, which stays or goes. */
TEST(taints)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(taint_cases); i++) {
        const DaemonSetTaintCase *row = &taint_cases[i];
        StorageWorld world;
        daemon_begin(&world, 2);
        const Taint taint = {.key = storage_world_intern(&world, row->key),
                             .value = storage_world_intern(&world, ""),
                             .effect = row->effect,
                             .added_at = TIME_UNSET};
        storage_world_patch(&world, daemon_node_key(&world, 0), daemon_edit_taint, &taint);
        storage_world_create(&world, daemon_new(&world));
        world_go_on(&world, SIM_SECOND);
        daemon_play(&world);
        world_go_on(&world, SIM_SECOND);
        if (world_count(&world, KIND_POD) != (row->should_run ? 2 : 1) ||
            daemon_stored(&world)->desired_scheduled != (row->should_run ? 2 : 1))
            fail_msg("%s from the beginning", row->key);

        storage_world_patch(&world, daemon_node_key(&world, 0), daemon_edit_taint, NULL);
        world_go_on(&world, SIM_SECOND); /* now it gets one */
        daemon_play(&world);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(daemon_stored(&world)->ready, 2);
        storage_world_patch(&world, daemon_node_key(&world, 0), daemon_edit_taint, &taint);
        world_go_on(&world, SIM_SECOND);
        if (world_count(&world, KIND_POD) != (row->should_continue ? 2 : 1))
            fail_msg("%s later", row->key);
        if (row->should_continue && !row->should_run)
            assert_int_equal(daemon_stored(&world)->misscheduled, 1);
        storage_world_clear(&world);
    }
}

/* A node that joins gets a pod; a pod that waits for a node that has left is deleted at the next
 * sync. */
TEST(nodes_join_and_leave)
{
    StorageWorld world;

    daemon_begin(&world, 1);
    storage_world_create(&world, daemon_new(&world));
    world_go_on(&world, SIM_SECOND);
    daemon_play(&world);
    daemon_add_node(&world, 1);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 2);
    assert_string_equal(daemon_pod_node(world_nth_pod(&world, 1)), "n-1");
    storage_world_remove(&world, daemon_node_key(&world, 1));
    world_go_on(&world, SIM_SECOND);
    daemon_add_node(&world, 2);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 2);
    assert_string_equal(daemon_pod_node(world_nth_pod(&world, 1)), "n-2");
    assert_int_equal(daemon_stored(&world)->desired_scheduled, 2);
    storage_world_clear(&world);
}

/* Unlike a ReplicaSet (WL-76) it waits until a deleted pod is gone. */
TEST(waits_until_a_pod_is_gone)
{
    StorageWorld world;

    daemon_begin(&world, 1);
    storage_world_create(&world, daemon_new(&world));
    world_go_on(&world, SIM_SECOND);
    daemon_play(&world);
    storage_world_delete(&world, (ObjectKey *)world_nth_pod(&world, 0)->meta.key);
    world_go_on(&world, 10 * SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 0);
    daemon_play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 1);
    storage_world_clear(&world);
}

/* DS-8: the first failed pod of a node is deleted at once, later ones 1 s, 2 s, ... after the one
 * before. */
TEST(failed_pods_back_off)
{
    static const SimTime delays[] = {0, SIM_SECOND, 2 * SIM_SECOND, 4 * SIM_SECOND};
    StorageWorld world;

    daemon_begin(&world, 1);
    storage_world_create(&world, daemon_new(&world));
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

/* DS-10, WL-5: 250 of 300 pods in the first sync; if the third creation is refused its batch is the
 * last one. */
TEST(batches)
{
    StorageWorld world;
    PodsRefusal refusal = {.kind = KIND_POD, .from = 2, .n = 1};

    daemon_begin(&world, 300);
    storage_world_create(&world, daemon_new(&world));
    storage_world_log(&world);
    world_go_on(&world, SIM_SECOND);
    const char *log = storage_world_log(&world), *status = strstr(log, "PUT/st");
    assert_non_null(status);
    g_autofree char *first = g_strndup(log, (gsize)(status - log));
    assert_int_equal(count_word(first, "POST pod/"), 250);
    assert_int_equal(world_count(&world, KIND_POD), 300);
    storage_world_clear(&world);

    daemon_begin(&world, 10);
    world_refuse(&world, &refusal);
    storage_world_create(&world, daemon_new(&world));
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

/* ---- Adoption (DS-11) ---- */

static gboolean
edit_labels(Object *object, const void *labels)
{
    string_map_unref(object->labels);
    object->labels = string_map_ref(labels);
    return TRUE;
}

/* A pod without an owner, with the set's label or another. */
static void
create_orphan(StorageWorld *world, const char *name, const char *app, unsigned node)
{
    PodTemplate *template = world_template(world, app, "a");
    Object *pod = object_new(world_key(world, KIND_POD, name));

    pod->labels = string_map_ref(template->labels);
    pod_set_spec(POD(pod), template->spec, NULL);
    POD(pod)->node_name = daemon_node_key(world, node)->name;
    pod_template_unref(template);
    storage_world_create(world, pod);
}

TEST(adopts_and_lets_go)
{
    StorageWorld world;

    daemon_begin(&world, 2);
    create_orphan(&world, "mine", "agent", 0);
    create_orphan(&world, "other", "web", 1);
    DaemonSet *set = daemon_new(&world);
    set->on_delete = TRUE; /* else the adopted pod, which has no revision, would be replaced */
    storage_world_create(&world, set);
    world_go_on(&world, SIM_SECOND);
    assert_true(
        object_is_controlled_by(&world_pod(&world, "mine")->meta, &daemon_stored(&world)->meta));
    assert_null(object_controller(&world_pod(&world, "other")->meta));
    assert_int_equal(world_count(&world, KIND_POD), 3); /* one was made, for n-1 */
    assert_int_equal(daemon_stored(&world)->current_scheduled, 2);
    assert_int_equal(daemon_stored(&world)->updated_scheduled, 1);

    PodTemplate *other = world_template(&world, "web", "a");
    storage_world_patch(&world, world_key(&world, KIND_POD, "mine"), edit_labels, other->labels);
    world_go_on(&world, SIM_SECOND);
    assert_null(object_controller(&world_pod(&world, "mine")->meta));
    assert_int_equal(world_count(&world, KIND_POD), 4); /* n-0 has a new one */
    assert_int_equal(daemon_stored(&world)->updated_scheduled, 2);
    pod_template_unref(other);
    storage_world_clear(&world);
}

/* ---- Tolerations (DS-2) ---- */

/* The template's tolerations come first, those of every daemon pod behind them. */
TEST(tolerations_are_added)
{
    static const struct {
        const char *key;
        gboolean exists;
        int effect;
        int64_t seconds;
        unsigned n; /* in all */
    } cases[] = {
        {"dedicated",                      TRUE,  TAINT_NO_SCHEDULE, -1,  7},
        {"node.kubernetes.io/not-ready",   TRUE,  TAINT_NO_EXECUTE,  300, 6}, /* is replaced */
        {"node.kubernetes.io/not-ready",   FALSE, TAINT_NO_EXECUTE,  300, 7},
        {"node.kubernetes.io/not-ready",   TRUE,  TAINT_NO_SCHEDULE, -1,  7},
        {"node.kubernetes.io/unreachable", TRUE,  TAINT_NO_EXECUTE,  0,   6},
    };
    static const struct {
        const char *key;
        int effect;
    } always[] = {
        {"node.kubernetes.io/not-ready",       TAINT_NO_EXECUTE },
        {"node.kubernetes.io/unreachable",     TAINT_NO_EXECUTE },
        {"node.kubernetes.io/disk-pressure",   TAINT_NO_SCHEDULE},
        {"node.kubernetes.io/memory-pressure", TAINT_NO_SCHEDULE},
        {"node.kubernetes.io/pid-pressure",    TAINT_NO_SCHEDULE},
        {"node.kubernetes.io/unschedulable",   TAINT_NO_SCHEDULE},
    };
    StorageWorld world;

    storage_world_init(&world, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        DaemonSet *set = daemon_new(&world);
        Strings *strings = objects_strings(world.objects);
        const Toleration given = {.key = strings_intern(strings, cases[i].key),
                                  .value = strings_intern(strings, ""),
                                  .exists = cases[i].exists,
                                  .effect = cases[i].effect,
                                  .seconds = cases[i].seconds};
        PodSpec *before = set->template->spec;
        Tolerations *own = tolerations_new(&given, 1);
        set->template->spec = pod_spec_with_tolerations(before, own);
        Tolerations *all = daemon_tolerations(set, strings);
        assert_int_equal(all->n_items, cases[i].n);
        for (unsigned k = 0; k < G_N_ELEMENTS(always); k++) {
            const Toleration *added = &all->items[all->n_items - G_N_ELEMENTS(always) + k];
            assert_string_equal(added->key, always[k].key);
            assert_int_equal(added->effect, always[k].effect);
            assert_true(added->exists && added->seconds == -1);
        }
        tolerations_unref(all);
        tolerations_unref(own);
        pod_spec_unref(before);
        object_unref(&set->meta);
    }
    storage_world_clear(&world);
}

/* ---- Times ---- */

/* Lets the pod of the only node fail. Returns: the time until it is deleted, to the second */
static SimTime
time_until_replaced(StorageWorld *world)
{
    g_autofree char *name = g_strdup(object_name(&world_nth_pod(world, 0)->meta));
    SimTime waited = 0;

    world_set_phase(world, name, POD_FAILED, FALSE);
    for (; world_pod(world, name) != NULL; waited += SIM_SECOND / 4)
        world_go_on(world, SIM_SECOND / 4);
    return (waited + SIM_SECOND / 2) / SIM_SECOND * SIM_SECOND;
}

/* DS-8: the back-off grows to 15 minutes; a new generation and a quiet time reset it. */
TEST(backs_off_up_to_15_minutes)
{
    static const int seconds[] = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900};
    StorageWorld world;

    daemon_begin(&world, 1);
    storage_world_create(&world, daemon_new(&world));
    world_go_on(&world, SIM_SECOND);
    for (unsigned i = 0; i < G_N_ELEMENTS(seconds); i++)
        assert_int_equal(time_until_replaced(&world) / SIM_SECOND, seconds[i]);

    daemon_change_image(&world, "b"); /* another generation */
    assert_int_equal(time_until_replaced(&world), 0);
    assert_int_equal(time_until_replaced(&world) / SIM_SECOND, 1);
    world_go_on(&world, 31 * SIM_MINUTE);
    assert_int_equal(time_until_replaced(&world), 0);
    assert_int_equal(time_until_replaced(&world) / SIM_SECOND, 1);
    storage_world_clear(&world);
}

static gboolean
edit_finalizer(Object *object, const void *finalizer)
{
    object_add_finalizer(object, finalizer);
    return TRUE;
}

/* DS-6: a deleted pod that a finalizer holds keeps its node's place only as long as it is not over.
 * */
TEST(what_is_over_and_goes_holds_no_place)
{
    static const struct {
        PodPhase phase;
        unsigned n; /* pods that do not go */
    } cases[] = {
        {POD_RUNNING,   0},
        {POD_PENDING,   0},
        {POD_SUCCEEDED, 1},
        {POD_FAILED,    1},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        StorageWorld world;
        daemon_begin(&world, 1);
        storage_world_create(&world, daemon_new(&world));
        world_go_on(&world, SIM_SECOND);
        ObjectKey *key = (ObjectKey *)world_nth_pod(&world, 0)->meta.key;
        storage_world_patch(&world, key, edit_finalizer,
                            storage_world_intern(&world, "test.example/hold"));
        storage_world_delete(&world, key);
        if (cases[i].phase != POD_PENDING)
            world_set_phase(&world, key->name, cases[i].phase, FALSE);
        world_go_on(&world, SIM_SECOND);
        assert_non_null(world_pod(&world, key->name));
        assert_int_equal(world_count(&world, KIND_POD), cases[i].n);
        storage_world_clear(&world);
    }
}

static gboolean
edit_selector(Object *object, const void *labels)
{
    PodTemplate *template = DAEMON_SET(object)->template;
    PodSpec *spec = pod_spec_for_nodes(template->spec, NULL, NULL);
    PodTemplate *changed = pod_template_with_labels(template, string_map_ref(template->labels));

    string_map_unref(spec->node_selector);
    spec->node_selector = string_map_ref(labels);
    pod_spec_unref(changed->spec);
    changed->spec = spec;
    pod_template_unref(template);
    DAEMON_SET(object)->template = changed;
    return TRUE;
}

/* DS-10: of 300 pods that have to leave their nodes 250 are deleted in the first sync. */
TEST(deletes_250_at_a_time)
{
    StorageWorld world;

    daemon_begin(&world, 300);
    DaemonSet *set = daemon_new(&world);
    set->on_delete = TRUE; /* else an update would delete the others */
    storage_world_create(&world, set);
    world_go_on(&world, SIM_SECOND);
    PodTemplate *nowhere =
        world_template(&world, "nowhere", "a"); /* a node selector that no node matches */
    storage_world_log(&world);
    storage_world_patch(&world, world_key(&world, KIND_DAEMON_SET, "agent"), edit_selector,
                        nowhere->labels);
    world_go_on(&world, SIM_SECOND);
    const char *log = storage_world_log(&world), *status = strstr(log, "PUT/st");
    assert_non_null(status);
    g_autofree char *first = g_strndup(log, (gsize)(status - log));
    assert_int_equal(count_word(first, "DELETE pod/"), 250);
    assert_int_equal(world_count(&world, KIND_POD), 0);
    assert_int_equal(daemon_stored(&world)->desired_scheduled, 0);
    pod_template_unref(nowhere);
    storage_world_clear(&world);
}

/* With latencies: no node ever has two pods, and in the end each has one. */
TEST(daemon_set_many_seeds)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        StorageWorld world;
        storage_world_init(&world, &(StorageWorldOptions){.seed = seed, .slow = TRUE});
        for (unsigned i = 0; i < 8; i++)
            daemon_add_node(&world, i);
        storage_world_start(&world);
        storage_world_create(&world, daemon_new(&world));
        for (unsigned i = 0; i < 40; i++) {
            world_go_on(&world, 20 * SIM_MS);
            daemon_play(&world);
            if (i == 20)
                daemon_add_node(&world, 8);
            assert_true(world_count(&world, KIND_POD) <= (i < 20 ? 8 : 9));
        }
        world_go_on(&world, SIM_SECOND);
        daemon_play(&world);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(daemon_stored(&world)->ready, 9);
        assert_int_equal(count_word(storage_world_log(&world), "POST pod/"), 9);
        storage_world_clear(&world);
    }
}
