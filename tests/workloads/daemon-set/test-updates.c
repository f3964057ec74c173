/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/lib/test.h"
#include "tests/workloads/daemon-set/daemon-world.h"

/* Changes of a DaemonSet's template: updates, and the history of revisions. */

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

TEST(updates)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(update_cases); i++) {
        const UpdateCase *row = &update_cases[i];
        StorageWorld world;
        unsigned missing = 0, rounds = 0;
        daemon_begin(&world, 5);
        DaemonSet *set = daemon_new(&world);
        set->max_unavailable = row->max;
        set->on_delete = row->on_delete;
        storage_world_create(&world, set);
        world_go_on(&world, SIM_SECOND);
        daemon_play(&world);
        world_go_on(&world, SIM_SECOND);
        daemon_change_template(&world, "b");
        for (; rounds < 40 && daemon_count_image(&world, "b") < 5; rounds++) {
            world_go_on(&world, SIM_SECOND);
            missing = MAX(missing, 5 - (unsigned)daemon_stored(&world)->available);
            daemon_play(&world);
        }
        if (missing != row->at_once || daemon_count_image(&world, "b") != (row->on_delete ? 0 : 5))
            fail_msg("%s: %u missing at once", row->title, missing);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(daemon_stored(&world)->updated_scheduled, row->on_delete ? 0 : 5);
        assert_int_equal(world_count(&world, KIND_CONTROLLER_REVISION), 2);
        if (row->on_delete) {
            storage_world_delete(&world, (ObjectKey *)world_nth_pod(&world, 0)->meta.key);
            daemon_play(&world);
            world_go_on(&world, SIM_SECOND);
            assert_int_equal(daemon_count_image(&world, "b"), 1);
        }
        storage_world_clear(&world);
    }
}

/* DS-21: at most so many nodes have an old and a new pod at the same time. No node is ever without
 * an available pod; its old pod goes once the new one is available. */
TEST(surges)
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

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        StorageWorld world;
        unsigned most = 0, rounds = 0;
        daemon_begin(&world, 5);
        DaemonSet *set = daemon_new(&world);
        set->max_surge = cases[i].max;
        set->max_unavailable = (IntOrPercent){0, FALSE, TRUE};
        storage_world_create(&world, set);
        world_go_on(&world, SIM_SECOND);
        daemon_play(&world);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(world_count(&world, KIND_POD), 5);
        daemon_change_template(&world, "b");
        for (; rounds < 40 &&
               (daemon_count_image(&world, "b") < 5 || world_count(&world, KIND_POD) > 5);
             rounds++) {
            world_go_on(&world, SIM_SECOND);
            most = MAX(most, world_count(&world, KIND_POD));
            assert_int_equal(daemon_stored(&world)->available, 5);
            daemon_play(&world);
        }
        assert_int_equal(most, 5 + cases[i].at_once);
        assert_int_equal(daemon_count_image(&world, "b"), 5);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(world_count(&world, KIND_POD), 5);
        assert_int_equal(daemon_stored(&world)->updated_scheduled, 5);
        storage_world_clear(&world);
    }
}

/* DS-5: an old pod that is not ready keeps nothing up: it goes before the new one is available. */
TEST(a_surge_spares_no_unready_pod)
{
    StorageWorld world;

    daemon_begin(&world, 1);
    DaemonSet *set = daemon_new(&world);
    set->max_surge = (IntOrPercent){1, FALSE, TRUE};
    set->max_unavailable = (IntOrPercent){0, FALSE, TRUE};
    storage_world_create(&world, set);
    world_go_on(&world, SIM_SECOND);
    daemon_play(&world);
    world_go_on(&world, SIM_SECOND);
    daemon_change_template(&world, "b");
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 2);
    world_set_phase(&world, object_name(&world_nth_pod(&world, 0)->meta), POD_RUNNING, FALSE);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(world_count(&world, KIND_POD), 1);
    assert_int_equal(daemon_count_image(&world, "b"), 1);
    storage_world_clear(&world);
}

/* ---- History (DS-30, DS-31) ---- */

/* The numbers of the existing revisions, in the order in which their names were first used: "1 3".
 * */
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

TEST(history_is_kept_and_cut)
{
    static const struct {
        const char *image, *revisions; /* the existing revisions afterwards */
    } cases[] = {
        {"b", "1 2"  },
        {"c", "1 2 3"},
        {"d", "2 3 4"}, /* two old ones are kept */
        {"c", "2 5 4"}, /* a rollback: the same revision with a new number */
        {"e", "5 4 6"},
        {"a", "7 5 6"}, /* deleted long ago: a new revision with the first one's
  name */
    };
    StorageWorld world;

    daemon_begin(&world, 1);
    DaemonSet *set = daemon_new(&world);
    set->revision_history_limit = 2;
    storage_world_create(&world, set);
    world_go_on(&world, SIM_SECOND);
    daemon_play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_string_equal(revisions(&world), "1");
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        daemon_change_image(&world, cases[i].image);
        assert_int_equal(daemon_count_image(&world, cases[i].image), 1);
        assert_string_equal(revisions(&world), cases[i].revisions);
    }
    storage_world_clear(&world);

    /* The revision of a pod is kept beyond the limit, even if it is the oldest. */
    daemon_begin(&world, 1);
    set = daemon_new(&world);
    set->revision_history_limit = 0;
    set->on_delete = TRUE;
    storage_world_create(&world, set);
    world_go_on(&world, SIM_SECOND);
    daemon_play(&world);
    daemon_change_image(&world, "b");
    daemon_change_image(&world, "c");
    assert_int_equal(daemon_count_image(&world, "a"), 1);
    assert_string_equal(revisions(&world), "1 3");
    storage_world_delete(&world, (ObjectKey *)world_nth_pod(&world, 0)->meta.key);
    daemon_play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_string_equal(revisions(&world), "3");
    storage_world_clear(&world);
}

/* DS-40, DS-42: a ready pod is available minReadySeconds later, and only then the update goes on to
 * the next node. */
TEST(available_after_min_ready_seconds)
{
    StorageWorld world;

    daemon_begin(&world, 2);
    DaemonSet *set = daemon_new(&world);
    set->min_ready_s = 10;
    storage_world_create(&world, set);
    world_go_on(&world, 1300 * SIM_MS); /* conditions have whole seconds */
    daemon_play(&world);
    world_go_on(&world, 9 * SIM_SECOND);
    assert_int_equal(daemon_stored(&world)->ready, 2);
    assert_int_equal(daemon_stored(&world)->available, 0);
    assert_int_equal(daemon_stored(&world)->unavailable, 2);
    world_go_on(&world, 3 * SIM_SECOND);
    assert_int_equal(daemon_stored(&world)->available, 2);

    daemon_change_template(&world, "b");
    world_go_on(&world, SIM_SECOND);
    daemon_play(&world);
    world_go_on(&world, SIM_SECOND);
    daemon_play(&world); /* the first node's new pod runs */
    world_go_on(&world, 8 * SIM_SECOND);
    assert_int_equal(daemon_count_image(&world, "b"), 1);
    assert_int_equal(daemon_count_image(&world, "a"), 1);
    world_go_on(&world, 4 * SIM_SECOND);
    daemon_play(&world);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(daemon_count_image(&world, "b"), 2);
    storage_world_clear(&world);
}
