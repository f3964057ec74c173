/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "sim/sim-test.h"
#include "tests/lib/test.h"
#include "world.h"

/* The rules of docs/rules/api-server.md: versions, conflicts, finalizers, graceful deletion,
 * watches. */

/* API-1, API-4. */
TEST_WITH(world_setup, world_teardown, each_write_has_a_new_version_and_each_incarnation_a_new_uid)
{
    ApiServerWorld *world = *state;
    const Object *first = world_create(world, world_new_claim(world)).object;
    uint64_t version = first->resource_version;
    ObjectUid uid = first->uid;

    const Object *second =
        world_patch(world, world_claim_key(world), world_annotate, world_intern(world, "a")).object;
    assert_true(second->resource_version > version);
    world_patch(world, world_claim_key(world), world_unfinalize, FINALIZER_PVC_PROTECTION);
    world_delete(world, world_claim_key(world), -1);
    assert_null(api_server_get(world->api, world_claim_key(world)));
    assert_false(object_uid_equal(world_create(world, world_new_claim(world)).object->uid, uid));
}

/* API-2, API-W1; CGO-46. */
TEST_WITH(world_setup, world_teardown, a_write_without_effect_makes_no_version)
{
    ApiServerWorld *world = *state;
    const Object *stored = world_create(world, world_new_claim(world)).object;
    uint64_t version = api_server_resource_version(world->api);

    world_patch(world, world_claim_key(world), world_annotate, NULL);
    world_put(world, stored, world_annotate, NULL, API_UPDATE);
    assert_int_equal(api_server_resource_version(world->api), version);
    assert_ptr_equal(api_server_get(world->api, world_claim_key(world)), stored);
}

static gboolean
apiserver_scale(Object *object, const void *value)
{
    (void)value;
    STATEFUL_SET(object)->replicas++;
    return TRUE;
}

static gboolean
count_ready(Object *object, const void *value)
{
    (void)value;
    STATEFUL_SET(object)->ready_replicas++;
    return TRUE;
}

static gboolean
own(Object *object, const void *owner)
{
    object_set_owner(object, owner, TRUE, TRUE);
    return TRUE;
}

/* An edit that writes the present value. */
static gboolean
claim_to_change(Object *object, const void *value)
{
    (void)object, (void)value;
    return TRUE;
}

/* API-3: changes that make a new version, and those that make a new generation. */
static const struct {
    const char *what;
    ApiVerb verb;
    ObjectEdit edit;
    unsigned versions, generations;
} generation_cases[] = {
    {"PATCH of the spec",              API_PATCH,         apiserver_scale, 1, 1},
    {"PATCH of metadata",              API_PATCH,         world_annotate,  1, 0},
    {"PATCH of the owner",             API_PATCH,         own,             1, 0},
    {"PATCH that changes nothing",     API_PATCH,         claim_to_change, 0, 0},
    {"PATCH of the status",            API_PATCH_STATUS,  count_ready,     1, 0},
    {"PUT of the spec",                API_UPDATE,        apiserver_scale, 1, 1},
    {"PUT of metadata",                API_UPDATE,        world_annotate,  1, 0},
    {"PUT of the owner",               API_UPDATE,        own,             1, 0},
    {"PUT that changes nothing",       API_UPDATE,        claim_to_change, 0, 0},
    {"PUT that tries the status",      API_UPDATE,        count_ready,     0, 0},
    {"PUT of the status",              API_UPDATE_STATUS, count_ready,     1, 0},
    {"PUT .../status that tries spec", API_UPDATE_STATUS, apiserver_scale, 0, 0},
    {"PUT .../status of metadata",     API_UPDATE_STATUS, world_annotate,  1, 0},
};

TEST_WITH(world_setup, world_teardown, a_generation_counts_changes_of_the_spec)
{
    ApiServerWorld *world = *state;
    ObjectKey *key = objects_key(world->objects, KIND_STATEFUL_SET, "default", "web");
    g_autoptr(Object) claim = object_ref(world_create(world, world_new_claim(world)).object);

    for (unsigned i = 0; i < G_N_ELEMENTS(generation_cases); i++) {
        world_create(world, object_new(key));
        g_autoptr(Object) before = object_ref(api_server_get(world->api, key));
        ApiVerb verb = generation_cases[i].verb;
        ObjectEdit edit = generation_cases[i].edit;
        const void *arg = edit == own ? (const void *)claim : world_intern(world, "a");
        ApiResponse response =
            verb == API_UPDATE || verb == API_UPDATE_STATUS
                ? world_put(world, before, edit, arg, verb)
                : world_commit(world,
                               &(ApiRequest){.verb = verb, .key = key, .edit = edit, .arg = arg});

        print_message("%s\n", generation_cases[i].what);
        assert_int_equal(response.code, API_OK);
        assert_int_equal(before->generation, 1);
        assert_int_equal(response.object->generation, 1 + generation_cases[i].generations);
        assert_int_equal(response.object->resource_version,
                         before->resource_version + generation_cases[i].versions);
        assert_int_equal(object_controller(response.object) != NULL, edit == own);
        world_delete(world, key, -1);
    }
}

/* API-10, API-11, API-12, API-13, API-V13; CGO-45, CGO-47. */
TEST_WITH(world_setup, world_teardown, writers_conflict_by_version)
{
    ApiServerWorld *world = *state;
    g_autoptr(Object) base = object_ref(world_create(world, world_new_claim(world)).object);

    assert_int_equal(world_create(world, world_new_claim(world)).code, API_EXISTS);
    assert_int_equal(
        world_put(world, base, world_annotate, world_intern(world, "first"), API_UPDATE).code,
        API_OK);
    ApiResponse second =
        world_put(world, base, world_annotate, world_intern(world, "second"), API_UPDATE);
    assert_int_equal(second.code, API_CONFLICT);
    assert_string_equal(second.message, "Operation cannot be fulfilled on persistentvolumeclaims "
                                        "\"data\": the object has been modified; please apply "
                                        "your changes to the latest version and try again");
    assert_int_equal(
        world_patch(world, world_claim_key(world), world_annotate, world_intern(world, "third"))
            .code,
        API_OK);

    g_autoptr(Object) unconditional = object_edit(base);
    unconditional->resource_version = 0;
    assert_int_equal(
        world_put(world, unconditional, world_annotate, world_intern(world, "last"), API_UPDATE)
            .code,
        API_OK);
}

/* API-13: a patch that carries a version behaves like an update; DELETE with a uid of another
 * incarnation conflicts (API-14). */
TEST_WITH(world_setup, world_teardown, preconditions_hold)
{
    ApiServerWorld *world = *state;
    g_autoptr(Object) base = object_ref(world_create(world, world_new_claim(world)).object);
    ApiRequest request = {.verb = API_PATCH,
                          .key = world_claim_key(world),
                          .edit = world_annotate,
                          .arg = world_intern(world, "a"),
                          .resource_version = base->resource_version + 1};

    assert_int_equal(world_commit(world, &request).code, API_CONFLICT);
    request = (ApiRequest){
        .verb = API_DELETE, .key = world_claim_key(world), .uid = {1, 2}
    };
    assert_int_equal(world_commit(world, &request).code, API_CONFLICT);
    request.uid = base->uid;
    assert_int_equal(world_commit(world, &request).code, API_OK);
}

/* API-S2, API-S3, API-S4, API-S5, API-S6, API-50 to API-53, API-W3, API-W4; CGO-49, PROT-2, API-57.
 */
TEST_WITH(world_setup, world_teardown, finalizers_hold_an_object_until_the_last_goes)
{
    ApiServerWorld *world = *state;

    world_create(world, world_new_claim(world)); /* with kubernetes.io/pvc-protection (API-123) */
    world_patch(world, world_claim_key(world), world_finalize,
                world_intern(world, "example.com/mine"));
    assert_int_equal(world_delete(world, world_claim_key(world), -1).code, API_OK);
    assert_true(object_is_deleted(api_server_get(world->api, world_claim_key(world))));

    uint64_t version = api_server_resource_version(world->api);
    assert_int_equal(world_delete(world, world_claim_key(world), -1).code,
                     API_OK); /* the second changes nothing */
    assert_int_equal(api_server_resource_version(world->api), version);
    assert_int_equal(world_create(world, world_new_claim(world)).code, API_EXISTS);

    ApiResponse late = world_patch(world, world_claim_key(world), world_finalize,
                                   world_intern(world, "example.com/late"));
    assert_int_equal(late.code, API_INVALID);
    assert_non_null(
        strstr(late.message, "no new finalizers can be added if the object is being deleted"));

    world_patch(world, world_claim_key(world), world_unfinalize, "example.com/mine");
    assert_non_null(api_server_get(world->api, world_claim_key(world)));
    world_patch(world, world_claim_key(world), world_unfinalize, FINALIZER_PVC_PROTECTION);
    assert_null(api_server_get(world->api, world_claim_key(world)));
    assert_int_equal(
        world_patch(world, world_claim_key(world), world_annotate, world_intern(world, "a")).code,
        API_NOT_FOUND);
}

static gboolean
apiserver_end_pod(Object *object, const void *unused)
{
    (void)unused;
    POD(object)->phase = POD_SUCCEEDED;
    return TRUE;
}

/* WL-90, WL-91, API-S7. */
TEST_WITH(world_setup, world_teardown, pods_are_given_their_grace)
{
    ApiServerWorld *world = *state;

    world_create(world, world_new_pod(world, "node-1"));
    world_delete(world, world_pod_key(world), -1);
    const Object *pod = api_server_get(world->api, world_pod_key(world));
    assert_int_equal(pod->deletion_grace_s, 30); /* terminationGracePeriodSeconds' default */
    assert_int_equal(pod->deleted_at, 30 * SIM_SECOND);

    world_delete(world, world_pod_key(world), 60); /* may only get shorter */
    assert_int_equal(api_server_get(world->api, world_pod_key(world))->deletion_grace_s, 30);
    world_delete(world, world_pod_key(world), 5);
    pod = api_server_get(world->api, world_pod_key(world));
    assert_int_equal(pod->deletion_grace_s, 5);
    assert_int_equal(pod->deleted_at, 5 * SIM_SECOND);
    world_commit(world, &(ApiRequest){.verb = API_PATCH_STATUS,
                                      .key = world_pod_key(world),
                                      .edit = apiserver_end_pod});
    world_delete(world, world_pod_key(world),
                 -1); /* it has ended, and its kubelet still cleans up */
    world_delete(world, world_pod_key(world), 5);
    assert_int_equal(api_server_get(world->api, world_pod_key(world))->deletion_grace_s, 5);
    world_delete(world, world_pod_key(world), 0);
    assert_null(api_server_get(world->api, world_pod_key(world)));

    world_create(world, world_new_pod(world, "node-1")); /* API-53: also while something holds it */
    world_patch(world, world_pod_key(world), world_finalize, world_intern(world, "a/b"));
    world_delete(world, world_pod_key(world), -1);
    world_delete(world, world_pod_key(world), 0);
    assert_int_equal(api_server_get(world->api, world_pod_key(world))->deletion_grace_s, 0);
    world_patch(world, world_pod_key(world), world_unfinalize, "a/b");
    assert_null(api_server_get(world->api, world_pod_key(world)));

    world_create(world, world_new_pod(world, "node-1")); /* it has ended before: at once */
    world_commit(world, &(ApiRequest){.verb = API_PATCH_STATUS,
                                      .key = world_pod_key(world),
                                      .edit = apiserver_end_pod});
    world_delete(world, world_pod_key(world), -1);
    assert_null(api_server_get(world->api, world_pod_key(world)));

    world_create(world, world_new_pod(world, NULL)); /* no kubelet has it: at once */
    world_delete(world, world_pod_key(world), -1);
    assert_null(api_server_get(world->api, world_pod_key(world)));
}

static gboolean
change_image(Object *object, const void *image)
{
    Pod *pod = POD(object);
    PodSpec *spec = pod_spec_for_nodes(pod->spec, NULL, NULL);

    spec->n_containers = 1;
    g_free(spec->containers);
    spec->containers = g_new0(PodContainer, 1);
    spec->containers[0] = (PodContainer){"c", image};
    pod_set_spec(pod, spec, NULL);
    pod_spec_unref(spec);
    return TRUE;
}

/* API-3: from 1.33 on; metadata, status and the node do not count. */
TEST_WITH(world_setup, world_teardown, pods_have_a_generation)
{
    ApiServerWorld *world = *state;

    for (int minor = 32; minor <= 33; minor++) {
        const Release release = {.minor = minor};
        uint32_t one = minor == 33 ? 1 : 0;
        world_renew(world, (ApiServerOptions){.release = &release});
        world_create(world, world_new_pod(world, NULL));
        world_commit(world, &(ApiRequest){.verb = API_BIND,
                                          .key = world_pod_key(world),
                                          .node_name = world_intern(world, "node-1")});
        world_patch(world, world_pod_key(world), world_annotate, world_intern(world, "x"));
        assert_int_equal(api_server_get(world->api, world_pod_key(world))->generation, one);
        world_patch(world, world_pod_key(world), change_image, world_intern(world, "i:2"));
        assert_int_equal(api_server_get(world->api, world_pod_key(world))->generation, 2 * one);
        world_patch(world, world_pod_key(world), change_image, world_intern(world, "i:2"));
        world_delete(world, world_pod_key(world), -1);
        assert_int_equal(api_server_get(world->api, world_pod_key(world))->generation, 3 * one);
    }
}

/* API-19, API-22. */
TEST_WITH(world_setup, world_teardown, a_pod_is_bound_once)
{
    ApiServerWorld *world = *state;
    ApiRequest bind = {
        .verb = API_BIND, .key = world_pod_key(world), .node_name = world_intern(world, "node-1")};

    assert_int_equal(world_commit(world, &bind).code, API_NOT_FOUND);
    world_create(world, world_new_pod(world, NULL));
    assert_int_equal(world_commit(world, &bind).code, API_OK);
    const Pod *pod = POD_CONST(api_server_get(world->api, world_pod_key(world)));
    assert_string_equal(pod->node_name, "node-1");
    assert_int_equal(pod->scheduled.status, CONDITION_TRUE);
    ApiResponse again = world_commit(world, &bind);
    assert_int_equal(again.code, API_CONFLICT);
    assert_non_null(strstr(again.message, "pod app is already assigned to node \"node-1\""));
}

static gboolean
set_phase_and_class(Object *object, const void *class_name)
{
    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->class_name = class_name;
    return TRUE;
}

/* API-18, CGO-44. */
TEST_WITH(world_setup, world_teardown, status_and_spec_are_written_apart)
{
    ApiServerWorld *world = *state;
    g_autoptr(Object) base = object_ref(world_create(world, world_new_claim(world)).object);

    world_put(world, base, set_phase_and_class, world_intern(world, "fast"), API_UPDATE_STATUS);
    const Claim *claim = CLAIM_CONST(api_server_get(world->api, world_claim_key(world)));
    assert_int_equal(claim->phase, CLAIM_BOUND);
    assert_null(claim->class_name);

    world_put(world, &claim->meta, set_phase_and_class, world_intern(world, "fast"), API_UPDATE);
    claim = CLAIM_CONST(api_server_get(world->api, world_claim_key(world)));
    assert_string_equal(claim->class_name, "fast"); /* once, from nil (API-122) */
}

/* ---- Watches ---- */

typedef struct {
    GString *seen;
    SimTime last_at;
    uint64_t last_version;
    ApiServerWorld *world;
} Watcher;

static void
apiserver_see(void *data, WatchType type, const Object *object)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
    Watcher *watcher = data;

    g_string_append_printf(watcher->seen, "%s%s %s", watcher->seen->len == 0 ? "" : ", ",
                           types[type], object_name(object));
    assert_true(object->resource_version > watcher->last_version); /* API-70 */
    watcher->last_version = object->resource_version;
    watcher->last_at = sim_now(watcher->world->sim);
}

/* API-71, CGO-11: no version is left out. API-S1 to S5, WL-90: an unbound pod goes by two writes */
TEST_WITH(world_setup, world_teardown, watches_see_every_version_in_order)
{
    ApiServerWorld *world = *state;
    Watcher watcher = {.seen = g_string_new(NULL), .world = world};
    ApiWatch *pods = api_server_watch(world->api, KIND_POD, NULL, 1, apiserver_see, &watcher);

    world_create(world, world_new_pod(world, NULL));
    world_patch(world, world_pod_key(world), world_annotate, world_intern(world, "a"));
    world_patch(world, world_pod_key(world), world_annotate, world_intern(world, "a"));
    world_delete(world, world_pod_key(world), -1);
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(watcher.seen->str, "ADDED app, MODIFIED app, MODIFIED app, DELETED app");
    api_watch_free(pods);
    g_string_free(watcher.seen, TRUE);
}

TEST_WITH(world_setup, world_teardown, a_node_s_watch_sees_its_pods_only)
{
    ApiServerWorld *world = *state;
    Watcher one = {.seen = g_string_new(NULL), .world = world},
            other = {.seen = g_string_new(NULL), .world = world};
    ApiWatch *first = api_server_watch(world->api, KIND_POD, world_intern(world, "node-1"), 1,
                                       apiserver_see, &one);
    ApiWatch *second = api_server_watch(world->api, KIND_POD, world_intern(world, "node-2"), 2,
                                        apiserver_see, &other);

    world_create(world, world_new_pod(world, NULL));
    world_commit(world, &(ApiRequest){.verb = API_BIND,
                                      .key = world_pod_key(world),
                                      .node_name = world_intern(world, "node-1")});
    sim_run_until(world->sim, SIM_SECOND);
    assert_int_equal(one.seen->len > 0, TRUE);
    assert_int_equal(other.seen->len, 0);
    api_watch_free(first);
    api_watch_free(second);
    g_string_free(one.seen, TRUE);
    g_string_free(other.seen, TRUE);
}

static gboolean
apiserver_edit_disrupted(Object *object, const void *reason)
{
    POD(object)->disruption =
        (PodCondition){.reason = reason, .status = CONDITION_TRUE, .changed_at = 3 * SIM_SECOND};
    return TRUE;
}

/* WL-113: an evicted pod tells so, in place of another reason; it is to go since that one. */
TEST_WITH(world_setup, world_teardown, evictions_are_told)
{
    static const struct {
        int minor;
        const char *reason, *told; /* before and after; NULL: none */
        SimTime since;
    } rows[] = {
        {25, NULL,                    NULL,                    0             },
        {26, NULL,                    "EvictionByEvictionAPI", 0             },
        {32, NULL,                    "EvictionByEvictionAPI", 0             },
        {32, "PreemptionByScheduler", "EvictionByEvictionAPI", 3 * SIM_SECOND},
        {25, "PreemptionByScheduler", "PreemptionByScheduler", 3 * SIM_SECOND},
    };
    ApiServerWorld *world = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Release release = {.minor = rows[i].minor};
        world_renew(world, (ApiServerOptions){.release = &release});
        world_create(world, world_new_pod(world, "node-1"));
        if (rows[i].reason != NULL)
            world_commit(world, &(ApiRequest){.verb = API_PATCH_STATUS,
                                              .key = world_pod_key(world),
                                              .edit = apiserver_edit_disrupted,
                                              .arg = world_intern(world, rows[i].reason)});
        ApiResponse response = world_commit(
            world, &(ApiRequest){.verb = API_EVICT, .key = world_pod_key(world), .grace_s = -1});
        assert_int_equal(response.code, API_OK);
        const Pod *pod = POD_CONST(api_server_get(world->api, world_pod_key(world)));
        assert_true(object_is_deleted(&pod->meta));
        assert_int_equal(pod->disruption.status == CONDITION_TRUE, rows[i].told != NULL);
        if (rows[i].told != NULL) {
            assert_string_equal(pod->disruption.reason, rows[i].told);
            assert_int_equal(pod->disruption.changed_at, rows[i].since);
        }
    }
}

/* API-75: of one client only, or of all. Nothing comes before the repair, and nothing is left out.
 */
TEST_WITH(world_setup, world_teardown, broken_watches_see_nothing)
{
    ApiServerWorld *world = *state;
    static const struct {
        uint64_t entity; /* whose watches break; 0: all */
        gboolean is_broken[2];
    } cases[] = {
        {1, {TRUE, FALSE} },
        {2, {FALSE, TRUE} },
        {3, {FALSE, FALSE}},
        {0, {TRUE, TRUE}  },
    };

    world_create(world, world_new_claim(world));
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        Watcher watchers[2];
        ApiWatch *watches[2];
        for (unsigned k = 0; k < 2; k++) {
            watchers[k] = (Watcher){.seen = g_string_new(NULL), .world = world};
            watches[k] =
                api_server_watch(world->api, KIND_CLAIM, NULL, k + 1, apiserver_see, &watchers[k]);
        }
        api_server_break_watches(world->api, cases[i].entity);
        world_patch(world, world_claim_key(world), world_annotate,
                    strings_internf(objects_strings(world->objects), "%u", i));
        sim_run_until(world->sim, sim_now(world->sim) + SIM_SECOND);
        for (unsigned k = 0; k < 2; k++)
            assert_int_equal(watchers[k].seen->len == 0, cases[i].is_broken[k]);
        api_server_repair_watches(world->api, cases[i].entity, WATCHES_GO_ON);
        sim_run_until(world->sim, sim_now(world->sim) + SIM_MINUTE);
        for (unsigned k = 0; k < 2; k++) {
            assert_string_equal(watchers[k].seen->str, "MODIFIED data");
            api_watch_free(watches[k]);
            g_string_free(watchers[k].seen, TRUE);
        }
    }
}

/* TIM-1, TIM-7: recorded delays, order kept over a thousand writes; some events come before the
 * writer's answer. */
typedef struct {
    ApiServerWorld *world;
    SimTime answered_at;
    unsigned n_before;
} Race;

static void
apiserver_answered(void *data, const ApiResponse *response)
{
    Race *race = data;

    (void)response;
    race->answered_at = sim_now(race->world->sim);
}

TEST_WITH(world_setup, world_teardown, watch_events_race_with_answers)
{
    ApiServerWorld *world = *state;
    Watcher watcher = {.seen = g_string_new(NULL), .world = world};
    Race race = {.world = world};
    unsigned n = 1000;

    sim_dist_unref(world->timing.write);
    sim_dist_unref(world->timing.watch);
    world->timing.write = sim_dist_new_lognormal(2500 * SIM_US, 0.75, SIM_MS);
    world->timing.watch = sim_dist_new_uniform(-1500 * SIM_US, 5 * SIM_MS);
    world->timing.watch_lead = 1500 * SIM_US;
    world_create(world, world_new_claim(world));
    ApiWatch *claims = api_server_watch(world->api, KIND_CLAIM, NULL, 1, apiserver_see, &watcher);
    for (unsigned i = 0; i < n; i++) {
        const char *value = strings_internf(objects_strings(world->objects), "%u", i);
        ApiRequest request = {.verb = API_PATCH,
                              .key = world_claim_key(world),
                              .edit = world_annotate,
                              .arg = value,
                              .client = "test"};
        api_server_request(world->api, &request, apiserver_answered, NULL, &race);
        sim_run_until(world->sim, sim_now(world->sim) + SIM_SECOND);
        race.n_before += watcher.last_at < race.answered_at;
    }
    api_watch_free(claims);
    assert_in_range(race.n_before, n / 10, n / 2); /* 1.5 of 6.5 ms lie before the answer */
    g_string_free(watcher.seen, TRUE);
}
