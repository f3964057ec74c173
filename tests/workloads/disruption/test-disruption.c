/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/disruption/disruption.h"
#include "models/workloads/replica-set/replica-set.h"
#include "tests/lib/test.h"
#include "tests/workloads/pods-world.h"

#include <string.h>

/* A budget "web" for the pods of a ReplicaSet: its counts, and evictions by the API server. */

const ModelClass *const model_classes[] = {&replica_set_controller_class,
                                           &disruption_controller_class, NULL};

static IntOrPercent
disruption_number(const char *text)
{
    return (IntOrPercent){
        .value = atoi(text), .is_percent = g_str_has_suffix(text, "%"), .is_set = text[0] != '-'};
}

static const DisruptionBudget *
disruption_stored(const StorageWorld *world)
{
    return DISRUPTION_BUDGET_CONST(world_stored(world, KIND_DISRUPTION_BUDGET, "web"));
}

static void
create_budget(StorageWorld *world, const char *name, const char *min, const char *max)
{
    DisruptionBudget *budget =
        DISRUPTION_BUDGET(object_new(world_key(world, KIND_DISRUPTION_BUDGET, name)));

    budget->selector = world_selector(world, "web");
    budget->min_available = disruption_number(min);
    budget->max_unavailable = disruption_number(max);
    storage_world_create(world, budget);
}

static void
create_set(StorageWorld *world, int32_t replicas)
{
    ReplicaSet *set = REPLICA_SET(object_new(world_key(world, KIND_REPLICA_SET, "web")));

    set->replicas = replicas;
    set->selector = world_selector(world, "web");
    set->template = world_template(world, "web", "a");
    storage_world_create(world, set);
}

/* A set of @replicas pods, the first @n_ready of which are ready. */
static void
disruption_begin(
    StorageWorld *world, int32_t replicas, int32_t n_ready, const char *min, const char *max)
{
    storage_world_init(world, NULL);
    storage_world_start(world);
    create_budget(world, "web", min, max);
    create_set(world, replicas);
    world_go_on(world, SIM_SECOND);
    for (int32_t i = 0; i < n_ready; i++)
        world_start_pod(world, object_name(&world_nth_pod(world, (unsigned)i)->meta));
    world_go_on(world, SIM_SECOND);
}

/* WL-114. */
TEST(counts)
{
    static const struct {
        int32_t replicas, n_ready;
        const char *min, *max;
        int32_t expected, desired, healthy, allowed;
    } rows[] = {
        {3,  3,  "2",   "-",   3,  2, 3,  1},
        {3,  2,  "2",   "-",   3,  2, 2,  0},
        {3,  1,  "2",   "-",   3,  2, 1,  0},
        {10, 10, "25%", "-",   10, 3, 10, 7}, /* rounded up */
        {10, 10, "-",   "25%", 10, 7, 10, 3}, /* rounded up as well */
        {10, 9,  "-",   "1",   10, 9, 9,  0},
        {3,  3,  "-",   "5",   3,  0, 3,  3},
        {0,  0,  "0",   "-",   0,  0, 0,  0},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        StorageWorld world;
        disruption_begin(&world, rows[i].replicas, rows[i].n_ready, rows[i].min, rows[i].max);
        assert_int_equal(disruption_stored(&world)->expected_pods, rows[i].expected);
        assert_int_equal(disruption_stored(&world)->desired_healthy, rows[i].desired);
        assert_int_equal(disruption_stored(&world)->current_healthy, rows[i].healthy);
        assert_int_equal(disruption_stored(&world)->disruptions_allowed, rows[i].allowed);
        if (rows[i].replicas == 0)
            assert_string_equal(world_event_message(&world, "NoPods"), "No matching pods found");
        storage_world_clear(&world);
    }
}

static ApiCode
evict(StorageWorld *world, const Pod *pod, const char **message)
{
    ApiRequest request = {
        .verb = API_EVICT, .key = (ObjectKey *)pod->meta.key, .grace_s = -1, .client = "kubectl"};
    ApiResponse response;

    api_server_commit(world->api, &request, &response);
    if (message != NULL)
        *message = response.message;
    return response.code;
}

/* WL-V6: three pods, two have to stay: the first is evicted, the others are refused until its
 * successor is ready. */
TEST(one_goes_at_a_time)
{
    StorageWorld world;
    const char *message;

    disruption_begin(&world, 3, 3, "2", "-");
    const Pod *first = world_nth_pod(&world, 0), *second = world_nth_pod(&world, 1);
    const ObjectKey *second_key = second->meta.key;
    assert_int_equal(evict(&world, first, NULL), API_OK);
    assert_int_equal(disruption_stored(&world)->disruptions_allowed,
                     0); /* at once, before the budget is counted again */
    first = world_nth_pod(&world, 0);
    assert_true(object_is_deleted(&first->meta));
    assert_string_equal(first->disruption.reason, "EvictionByEvictionAPI");
    assert_int_equal(evict(&world, second, &message), API_TOO_MANY);
    assert_true(g_str_has_prefix(
        message, "Cannot evict pod as it would violate the pod's disruption budget."));
    world_go_on(&world, SIM_SECOND); /* the successor exists, but is not ready */
    assert_int_equal(evict(&world, world_pod(&world, second_key->name), &message), API_TOO_MANY);
    assert_non_null(strstr(message, "The disruption budget web needs 2 healthy pods and has 2"));
    world_play_nodes(&world);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(evict(&world, world_pod(&world, second_key->name), NULL), API_OK);
    storage_world_clear(&world);
}

/* WL-113: its rows in turn. */
TEST(evictions)
{
    static const struct {
        const char *title;
        PodPhase phase;
        gboolean ready;
        const char *min;
        uint32_t always_allow;
        gboolean has_second_budget;
        int code;
    } rows[] = {
        {"pending: no disruption",         POD_PENDING,   FALSE, "3", 0, FALSE, API_OK      },
        {"over: no disruption",            POD_SUCCEEDED, FALSE, "3", 0, FALSE, API_OK      },
        {"ready, none to spare",           POD_RUNNING,   TRUE,  "3", 0, FALSE, API_TOO_MANY},
        {"ready, one to spare",            POD_RUNNING,   TRUE,  "2", 0, FALSE, API_OK      },
        {"not ready, the budget is met",   POD_RUNNING,   FALSE, "2", 0, FALSE, API_OK      },
        {"not ready, it is not",           POD_RUNNING,   FALSE, "3", 0, FALSE, API_TOO_MANY},
        {"not ready, and it always may",   POD_RUNNING,   FALSE, "3", 1, FALSE, API_OK      },
        {"two budgets are not understood", POD_RUNNING,   TRUE,  "0", 0, TRUE,  API_ERROR   },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        StorageWorld world;
        const char *message;
        storage_world_init(&world, NULL);
        storage_world_start(&world);
        create_budget(&world, "web", rows[i].min, "-");
        if (rows[i].has_second_budget)
            create_budget(&world, "more", "0", "-");
        create_set(&world, 3);
        world_go_on(&world, SIM_SECOND);
        world_play_nodes(&world);
        world_go_on(&world, SIM_SECOND);
        DisruptionBudget *budget = DISRUPTION_BUDGET(object_edit(&disruption_stored(&world)->meta));
        budget->always_allow = rows[i].always_allow;
        ApiRequest request = {.verb = API_UPDATE,
                              .key = (ObjectKey *)budget->meta.key,
                              .object = &budget->meta,
                              .client = "kubectl"};
        ApiResponse response;
        api_server_commit(world.api, &request, &response);
        object_unref(&budget->meta);
        const ObjectKey *pod = world_nth_pod(&world, 0)->meta.key;
        if (rows[i].phase != POD_SUCCEEDED) /* that one would be replaced */
            world_set_phase(&world, pod->name, rows[i].phase, rows[i].ready);
        world_go_on(&world, SIM_SECOND);
        if (rows[i].phase == POD_SUCCEEDED)
            world_set_phase(&world, pod->name, rows[i].phase, rows[i].ready);
        int code = (int)evict(&world, world_pod(&world, pod->name), &message);
        if (code != rows[i].code)
            fail_msg("%s: %d %s", rows[i].title, code, message);
        if (code == API_ERROR)
            assert_string_equal(message, "This pod has more than one PodDisruptionBudget, which "
                                         "the eviction subresource does not support.");
        storage_world_clear(&world);
    }
}

static gboolean
disruption_edit_disrupted(Object *object, const void *pair)
{
    StringMap *before = DISRUPTION_BUDGET(object)->disrupted;
    const StringPair *disrupted = pair;

    DISRUPTION_BUDGET(object)->disrupted =
        string_map_with(before, disrupted->key, disrupted->value);
    string_map_unref(before);
    return TRUE;
}

/* WL-114: a pod that stays although its eviction was granted counts as gone for 2 minutes. */
TEST(granted_evictions_count_for_two_minutes)
{
    StorageWorld world;

    disruption_begin(&world, 3, 3, "2", "-"); /* 2 s */
    StringPair disrupted = {object_name(&world_nth_pod(&world, 0)->meta),
                            storage_world_intern(&world, "2026-01-01T00:00:02Z")};
    storage_world_patch_status(&world, world_key(&world, KIND_DISRUPTION_BUDGET, "web"),
                               disruption_edit_disrupted, &disrupted);
    storage_world_run(&world, 3 * SIM_SECOND);
    assert_int_equal(disruption_stored(&world)->current_healthy, 2);
    assert_int_equal(disruption_stored(&world)->disruptions_allowed, 0);
    storage_world_run(&world, 121 * SIM_SECOND);
    assert_int_equal(disruption_stored(&world)->current_healthy, 2);
    storage_world_run(&world, 123 * SIM_SECOND);
    assert_int_equal(disruption_stored(&world)->current_healthy, 3);
    assert_int_equal(disruption_stored(&world)->disruptions_allowed, 1);
    assert_null(disruption_stored(&world)->disrupted);
    storage_world_clear(&world);
}
