/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/apiserver/apiserver-test.h"
#include "models/node-lifecycle/node-lifecycle.h"
#include "tests/lib/storage-world.h"
#include "tests/lib/test.h"

#include <string.h>

/* The node controllers alone, with an API server that answers as the test wants: how many requests
 * they have under way, and what they do when one fails. */

const ModelClass *const model_classes[] = {&node_lifecycle_class, &taint_eviction_class, NULL};

static ObjectKey *
node_key(const StorageWorld *world, unsigned i)
{
    g_autofree char *name = g_strdup_printf("n-%u", i);

    return objects_key(world->objects, KIND_NODE, NULL, name);
}

static void
add_nodes(StorageWorld *world, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        Node *node = NODE(object_new(node_key(world, i)));
        node->ready.status = CONDITION_TRUE;
        storage_world_import(world, node);
    }
}

static gboolean
edit_cordoned(Object *object, const void *arg)
{
    (void)arg;
    NODE(object)->unschedulable = TRUE;
    return TRUE;
}

static gboolean
edit_taint(Object *object, const void *taint)
{
    taints_unref(NODE(object)->taints);
    NODE(object)->taints = taint == NULL ? NULL : taints_new(taint, 1);
    return TRUE;
}

/* "key:NoExecute", or of no effect on pods. */
static void
taint_node(StorageWorld *world, const char *key, TaintEffect effect)
{
    const Taint taint = {.key = storage_world_intern(world, key),
                         .value = storage_world_intern(world, ""),
                         .effect = effect,
                         .added_at = TIME_UNSET};

    storage_world_patch(world, node_key(world, 0), edit_taint, &taint);
}

static unsigned
count_word(const char *log, const char *word)
{
    unsigned n = 0;

    for (const char *at = strstr(log, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

/* Each write takes a second. */
static void
begin_slow(StorageWorld *world)
{
    storage_world_init(world, NULL);
    sim_dist_unref(world->timing.write);
    world->timing.write = sim_dist_new_constant(SIM_SECOND);
}

/* NL-12, NL-25: of twenty nodes that are cordoned at once eight are tainted at a time. */
TEST(eight_workers_taint)
{
    StorageWorld world;

    begin_slow(&world);
    add_nodes(&world, 20);
    storage_world_start(&world);
    storage_world_run(&world, 10 * SIM_SECOND);
    for (unsigned i = 0; i < 20; i++)
        storage_world_patch(&world, node_key(&world, i), edit_cordoned, NULL);
    storage_world_log(&world);
    for (unsigned second = 0; second < 3; second++) {
        storage_world_run(&world, (SimTime)(11 + second) * SIM_SECOND + SIM_SECOND / 2);
        assert_int_equal(count_word(storage_world_log(&world), "PATCH node/"), second < 2 ? 8 : 4);
    }
    storage_world_clear(&world);
}

static void
controllers_add_pods(StorageWorld *world, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("p-%u", i);
        storage_world_import(
            world, storage_world_pod(world, storage_world_intern(world, name), NULL, "n-0"));
    }
}

/* NL-40, NL-42: eight workers only find out which pods have to go; then each is deleted beside all
 * others. */
TEST(all_pods_of_a_node_go_at_once)
{
    StorageWorld world;

    begin_slow(&world);
    add_nodes(&world, 2);
    controllers_add_pods(&world, 30);
    storage_world_start(&world);
    storage_world_run(&world, 10 * SIM_SECOND);
    taint_node(&world, "broken", TAINT_NO_EXECUTE);
    storage_world_run(&world, 13500 * SIM_MS); /* PATCH, DELETE; reading takes no time here */
    assert_int_equal(count_word(storage_world_log(&world), "DELETE pod/"), 30);
    storage_world_clear(&world);
}

typedef struct {
    StorageWorld *world;
    ApiVerb verb;
    unsigned n_refused; /* so many of the first are */
    unsigned n;
    SimTime at[32];
} ControllersTrouble;

static ApiCode
controllers_refuse(void *data, const ApiRequest *request, GString *message)
{
    ControllersTrouble *trouble = data;

    if (request->verb != trouble->verb || request->key->kind != KIND_POD)
        return API_OK;
    assert_true(trouble->n < G_N_ELEMENTS(trouble->at));
    trouble->at[trouble->n++] = sim_now(trouble->world->sim);
    g_string_assign(message, "refused by the test");
    return trouble->n <= trouble->n_refused ? API_ERROR : API_OK;
}

typedef struct {
    const char *title;
    ApiVerb verb;
    unsigned n_refused, n_tries;
    gboolean is_evicted;
} ControllersRetryCase;

/* NL-17: five tries, 10 ms apart. */
static const ControllersRetryCase retry_cases[] = {
    {"the fifth try deletes",              API_DELETE,       4, 5, TRUE },
    {"there is no sixth",                  API_DELETE,       5, 5, FALSE},
    {"reading fails",                      API_GET,          4, 5, TRUE },
    {"reading fails for good",             API_GET,          9, 5, FALSE},
    {"the condition cannot be written",    API_PATCH_STATUS, 2, 3, TRUE },
    {"the condition can never be written", API_PATCH_STATUS, 9, 5, FALSE},
    {"nothing fails",                      API_DELETE,       0, 1, TRUE },
};

static void
five_tries(void **state)
{
    const ControllersRetryCase *row = *state;
    StorageWorld world;

    storage_world_init(&world, NULL);
    ControllersTrouble trouble = {.world = &world, .verb = row->verb, .n_refused = row->n_refused};
    add_nodes(&world, 2);
    controllers_add_pods(&world, 1);
    storage_world_start(&world);
    storage_world_run(&world, 10 * SIM_SECOND);
    api_server_set_fault(world.api, controllers_refuse, &trouble);
    taint_node(&world, "broken", TAINT_NO_EXECUTE);
    storage_world_run(&world, SIM_HOUR);
    assert_int_equal(trouble.n, row->n_tries);
    for (unsigned i = 1; i < trouble.n; i++)
        assert_int_equal(trouble.at[i] - trouble.at[i - 1], 10 * SIM_MS);
    const Object *pod =
        api_server_get(world.api, objects_key(world.objects, KIND_POD, "default", "p-0"));
    assert_int_equal(object_is_deleted(pod), row->is_evicted);
    g_autofree char *events = storage_world_events(&world);
    assert_string_equal(events, "Normal TaintManagerEviction pod/p-0");
    assert_string_equal(api_server_event(world.api, 0)->source,
                        "taint-eviction-controller"); /* NL-45 */
    storage_world_clear(&world);
}
TEST_ROWS(retry_cases, five_tries);

/* NL-40: what was given up is taken up again when the NoExecute taints change; other taints do not
 * matter. */
TEST(given_up_until_the_taints_change)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    ControllersTrouble trouble = {.world = &world, .verb = API_DELETE, .n_refused = 5};
    add_nodes(&world, 2);
    controllers_add_pods(&world, 1);
    storage_world_start(&world);
    storage_world_run(&world, 10 * SIM_SECOND);
    api_server_set_fault(world.api, controllers_refuse, &trouble);
    taint_node(&world, "broken", TAINT_NO_EXECUTE);
    storage_world_run(&world, SIM_MINUTE);
    assert_int_equal(trouble.n, 5);
    storage_world_patch(&world, node_key(&world, 0), edit_cordoned, NULL); /* and so tainted */
    storage_world_run(&world, 2 * SIM_MINUTE);
    assert_int_equal(trouble.n, 5);
    taint_node(&world, "broken-still", TAINT_NO_EXECUTE);
    storage_world_run(&world, 3 * SIM_MINUTE);
    assert_int_equal(trouble.n, 6);
    storage_world_clear(&world);
}

/* ---- Evictions again: NL-43, NL-46 ---- */

static void
remove_taints(StorageWorld *world)
{
    storage_world_patch(world, node_key(world, 0), edit_taint, NULL);
}

/* A pod that tolerates all taints for five seconds, or none. Nothing stops its containers. */
static void
begin_with_pod(StorageWorld *world, gboolean tolerates)
{
    storage_world_init(world, NULL);
    const Toleration for_a_while = {.key = storage_world_intern(world, ""),
                                    .value = storage_world_intern(world, ""),
                                    .effect = TAINT_NO_EXECUTE,
                                    .exists = TRUE,
                                    .seconds = 5};
    add_nodes(world, 2);
    Pod *pod = storage_world_pod(world, "p", NULL, "n-0");
    if (tolerates) {
        PodSpec *bare = pod->spec;
        Tolerations *tolerations = tolerations_new(&for_a_while, 1);
        pod->spec = pod_spec_with_tolerations(bare, tolerations);
        tolerations_unref(tolerations);
        pod_spec_unref(bare);
    }
    storage_world_import(world, pod);
    storage_world_start(world);
    storage_world_run(world, 10 * SIM_SECOND);
    storage_world_log(world);
}

static void
assert_evictions(StorageWorld *world, SimTime until, unsigned n_deletes, const char *events)
{
    storage_world_run(world, until);
    assert_int_equal(count_word(storage_world_log(world), "DELETE pod/"), n_deletes);
    g_autofree char *now = storage_world_events(world);
    assert_string_equal(now, events);
}

#define EVICTION "Normal TaintManagerEviction pod/p"

/* NL-46: the taint is put back while the pod is still under deletion. */
TEST(evicted_again_when_the_taint_comes_back)
{
    StorageWorld world;

    begin_with_pod(&world, TRUE);
    taint_node(&world, "broken", TAINT_NO_EXECUTE);
    assert_evictions(&world, 14 * SIM_SECOND, 0, "");
    assert_evictions(&world, 16 * SIM_SECOND, 1, EVICTION);
    taint_node(&world, "broken-still", TAINT_NO_EXECUTE); /* the taints never went */
    assert_evictions(&world, 30 * SIM_SECOND, 0, EVICTION);
    remove_taints(&world);
    assert_evictions(&world, 40 * SIM_SECOND, 0, EVICTION);
    taint_node(&world, "broken", TAINT_NO_EXECUTE);
    assert_evictions(&world, 44 * SIM_SECOND, 0, EVICTION);
    assert_evictions(&world, 60 * SIM_SECOND, 1, EVICTION " x2");
    storage_world_clear(&world);
}

/* NL-46: without a toleration each change of the taints evicts. */
TEST(evicted_again_by_each_change)
{
    StorageWorld world;

    begin_with_pod(&world, FALSE);
    taint_node(&world, "broken", TAINT_NO_EXECUTE);
    assert_evictions(&world, 15 * SIM_SECOND, 1, EVICTION);
    taint_node(&world, "broken-still", TAINT_NO_EXECUTE);
    assert_evictions(&world, 20 * SIM_SECOND, 1, EVICTION " x2");
    storage_world_clear(&world);
}

/* NL-43: the pod goes before its time is over; its Event says that it is no longer evicted. */
TEST(a_pod_that_goes_first_is_told_of)
{
    StorageWorld world;

    begin_with_pod(&world, TRUE);
    taint_node(&world, "broken", TAINT_NO_EXECUTE);
    storage_world_run(&world, 12 * SIM_SECOND);
    const ApiRequest forced = {.verb = API_DELETE,
                               .key = objects_key(world.objects, KIND_POD, "default", "p"),
                               .client = "user"};
    ApiResponse response;
    api_server_commit(world.api, &forced, &response);
    storage_world_log(&world);
    assert_evictions(&world, 30 * SIM_SECOND, 0, EVICTION);
    assert_string_equal(api_server_event(world.api, 0)->message,
                        "Cancelling deletion of Pod default/p");
    storage_world_clear(&world);
}
