/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/daemon-set/daemon-set.h"
#include "models/workloads/daemon-set/nodes.h"
#include "tests/workloads/pods-world.h"

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

/* DS-1, DS-3, VF-47, WL-7, WL-78: a pod for each node, that no other node suits. */
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

/* DS-1, NL-44 and the tolerations beside it; what else a taint does. */
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

/* A node that is tainted from the beginning gets a pod or none; a pod that is there when the taint
 * comes stays or goes. */
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

/* A node that joins gets a pod; a pod that waits for a node that has left is deleted as soon as the
 * set is looked at. */
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

/* DS-8: the first failed pod of a node goes at once, later ones after 1 s, 2 s, ... since the one
 * before. */
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

/* DS-10, WL-5: 250 of 300 in the first sync; with the third creation refused the batch of it is the
 * last one. */
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

/* DS-20 */
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

/* DS-21: so many nodes have an old and a new pod at the same time, at most; none is ever without
 * one that is available; the old pod of a node goes once the new one is available. */
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

/* ---- Adoption (DS-11) ---- */

static gboolean
edit_labels(Object *object, const void *labels)
{
    string_map_unref(object->labels);
    object->labels = string_map_ref(labels);
    return TRUE;
}

/* A pod with the set's label, or another, that belongs to nobody. */
static void
create_orphan(StorageWorld *world, const char *name, const char *app, unsigned node)
{
    PodTemplate *template = world_template(world, app, "a");
    Object *pod = object_new(world_key(world, KIND_POD, name));

    pod->labels = string_map_ref(template->labels);
    pod_set_spec(POD(pod), template->spec, NULL);
    POD(pod)->node_name = node_key(world, node)->name;
    pod_template_unref(template);
    storage_world_create(world, pod);
}

static void
adopts_and_lets_go(void **state)
{
    StorageWorld world;

    (void)state;
    begin(&world, 2);
    create_orphan(&world, "mine", "agent", 0);
    create_orphan(&world, "other", "web", 1);
    DaemonSet *set = new_set(&world);
    set->on_delete = TRUE; /* else the adopted pod, of no revision, would be replaced */
    storage_world_create(&world, set);
    world_go_on(&world, SIM_SECOND);
    assert_true(
        object_is_controlled_by(&world_pod(&world, "mine")->meta, &stored_set(&world)->meta));
    assert_null(object_controller(&world_pod(&world, "other")->meta));
    assert_int_equal(world_count(&world, KIND_POD), 3); /* one was made, for n-1 */
    assert_int_equal(stored_set(&world)->current_scheduled, 2);
    assert_int_equal(stored_set(&world)->updated_scheduled, 1);

    PodTemplate *other = world_template(&world, "web", "a");
    storage_world_patch(&world, world_key(&world, KIND_POD, "mine"), edit_labels, other->labels);
    world_go_on(&world, SIM_SECOND);
    assert_null(object_controller(&world_pod(&world, "mine")->meta));
    assert_int_equal(world_count(&world, KIND_POD), 4); /* n-0 has a new one */
    assert_int_equal(stored_set(&world)->updated_scheduled, 2);
    pod_template_unref(other);
    storage_world_clear(&world);
}

/* ---- Tolerations (DS-2) ---- */

/* What the template says, and how many there are then: its own first, those of every daemon pod
 * behind them. */
static void
tolerations_are_added(void **state)
{
    static const struct {
        const char *key;
        gboolean exists;
        int effect;
        int64_t seconds;
        unsigned n; /* in all */
    } cases[] = {
        {"dedicated",                      TRUE,  TAINT_NO_SCHEDULE, -1,  7},
        {"node.kubernetes.io/not-ready",   TRUE,  TAINT_NO_EXECUTE,  300, 6}, /* gives way */
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

    (void)state;
    storage_world_init(&world, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        DaemonSet *set = new_set(&world);
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

/* ---- History (DS-30, DS-31) ---- */

static void
change_image(StorageWorld *world, const char *image)
{
    PodTemplate *template = world_template(world, "agent", image);

    storage_world_patch(world, world_key(world, KIND_DAEMON_SET, "agent"), edit_template, template);
    pod_template_unref(template);
    for (unsigned i = 0; i < 4; i++) {
        world_go_on(world, SIM_SECOND);
        play(world);
    }
    world_go_on(world, SIM_SECOND);
}

/* The numbers of the revisions that are there, in the order in which their names came up: "1 3". */
static const char *
revisions(StorageWorld *world)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_CONTROLLER_REVISION); i++) {
        const Object *revision =
            api_server_get(world->api, objects_key_at(world->objects, KIND_CONTROLLER_REVISION, i));
        if (revision != NULL)
            g_string_append_printf(text, "%s%d", text->len > 0 ? " " : "",
                                   (int)CONTROLLER_REVISION(revision)->revision);
    }
    return storage_world_intern(world, text->str);
}

static void
history_is_kept_and_cut(void **state)
{
    static const struct {
        const char *image, *revisions; /* and what there is then */
    } cases[] = {
        {"b", "1 2"  },
        {"c", "1 2 3"},
        {"d", "2 3 4"}, /* two old ones are kept */
        {"c", "2 5 4"}, /* a rollback: the same revision with a new number */
        {"e", "5 4 6"},
        {"a", "7 5 6"}, /* long forgotten: a new one, of the first one's name */
    };
    StorageWorld world;

    (void)state;
    begin(&world, 1);
    DaemonSet *set = new_set(&world);
    set->revision_history_limit = 2;
    storage_world_create(&world, set);
    world_go_on(&world, SIM_SECOND);
    play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_string_equal(revisions(&world), "1");
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        change_image(&world, cases[i].image);
        assert_int_equal(count_image(&world, cases[i].image), 1);
        assert_string_equal(revisions(&world), cases[i].revisions);
    }
    storage_world_clear(&world);

    /* What a pod has is kept beyond the limit, also if it is the oldest. */
    begin(&world, 1);
    set = new_set(&world);
    set->revision_history_limit = 0;
    set->on_delete = TRUE;
    storage_world_create(&world, set);
    world_go_on(&world, SIM_SECOND);
    play(&world);
    change_image(&world, "b");
    change_image(&world, "c");
    assert_int_equal(count_image(&world, "a"), 1);
    assert_string_equal(revisions(&world), "1 3");
    storage_world_delete(&world, (ObjectKey *)world_nth_pod(&world, 0)->meta.key);
    play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_string_equal(revisions(&world), "3");
    storage_world_clear(&world);
}

/* ---- Times ---- */

/* DS-40, DS-42: what is ready is available minReadySeconds later, and only then the next node's
 * turn comes. */
static void
available_after_min_ready_seconds(void **state)
{
    StorageWorld world;

    (void)state;
    begin(&world, 2);
    DaemonSet *set = new_set(&world);
    set->min_ready_s = 10;
    storage_world_create(&world, set);
    world_go_on(&world, 1300 * SIM_MS); /* conditions have whole seconds */
    play(&world);
    world_go_on(&world, 9 * SIM_SECOND);
    assert_int_equal(stored_set(&world)->ready, 2);
    assert_int_equal(stored_set(&world)->available, 0);
    assert_int_equal(stored_set(&world)->unavailable, 2);
    world_go_on(&world, 3 * SIM_SECOND);
    assert_int_equal(stored_set(&world)->available, 2);

    PodTemplate *template = world_template(&world, "agent", "b");
    storage_world_patch(&world, world_key(&world, KIND_DAEMON_SET, "agent"), edit_template,
                        template);
    pod_template_unref(template);
    world_go_on(&world, SIM_SECOND);
    play(&world);
    world_go_on(&world, SIM_SECOND);
    play(&world); /* the first node's new pod runs */
    world_go_on(&world, 8 * SIM_SECOND);
    assert_int_equal(count_image(&world, "b"), 1);
    assert_int_equal(count_image(&world, "a"), 1);
    world_go_on(&world, 4 * SIM_SECOND);
    play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(count_image(&world, "b"), 2);
    storage_world_clear(&world);
}

/* The pod of the one node fails as soon as it is there. Returns: how long until it is deleted, to
 * the second */
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

/* DS-8, all the way to 15 minutes; and what makes it begin afresh. */
static void
backs_off_up_to_15_minutes(void **state)
{
    static const int seconds[] = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900};
    StorageWorld world;

    (void)state;
    begin(&world, 1);
    storage_world_create(&world, new_set(&world));
    world_go_on(&world, SIM_SECOND);
    for (unsigned i = 0; i < G_N_ELEMENTS(seconds); i++)
        assert_int_equal(time_until_replaced(&world) / SIM_SECOND, seconds[i]);

    change_image(&world, "b"); /* another generation */
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

/* DS-6: what a finalizer holds keeps its node's place only as long as it is not over. */
static void
what_is_over_and_goes_holds_no_place(void **state)
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

    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        StorageWorld world;
        begin(&world, 1);
        storage_world_create(&world, new_set(&world));
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

/* DS-10: of 300 pods that no node wants any more 250 are deleted in the first sync. */
static void
deletes_250_at_a_time(void **state)
{
    StorageWorld world;

    (void)state;
    begin(&world, 300);
    DaemonSet *set = new_set(&world);
    set->on_delete = TRUE; /* else the update goes on with the others */
    storage_world_create(&world, set);
    world_go_on(&world, SIM_SECOND);
    PodTemplate *nowhere =
        world_template(&world, "nowhere", "a"); /* for its labels: no node has them */
    storage_world_log(&world);
    storage_world_patch(&world, world_key(&world, KIND_DAEMON_SET, "agent"), edit_selector,
                        nowhere->labels);
    world_go_on(&world, SIM_SECOND);
    const char *log = storage_world_log(&world), *status = strstr(log, "PUT/st");
    assert_non_null(status);
    g_autofree char *first = g_strndup(log, (gsize)(status - log));
    assert_int_equal(count_word(first, "DELETE pod/"), 250);
    assert_int_equal(world_count(&world, KIND_POD), 0);
    assert_int_equal(stored_set(&world)->desired_scheduled, 0);
    pod_template_unref(nowhere);
    storage_world_clear(&world);
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
        cmocka_unit_test(adopts_and_lets_go),
        cmocka_unit_test(tolerations_are_added),
        cmocka_unit_test(history_is_kept_and_cut),
        cmocka_unit_test(available_after_min_ready_seconds),
        cmocka_unit_test(backs_off_up_to_15_minutes),
        cmocka_unit_test(what_is_over_and_goes_holds_no_place),
        cmocka_unit_test(deletes_250_at_a_time),
        cmocka_unit_test(many_seeds),
    };

    return cmocka_run_group_tests_name("daemon-set", tests, NULL, NULL);
}
