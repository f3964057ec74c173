/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/api-test.h"
#include "models/apiserver/apiserver-test.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/garbage-collector/garbage-collector.h"
#include "models/workloads/daemon-set/daemon-set.h"
#include "models/workloads/deployment/deployment.h"
#include "models/workloads/disruption/disruption.h"
#include "models/workloads/job/job.h"
#include "models/workloads/replica-set/replica-set.h"
#include "models/workloads/stateful-set/stateful-set.h"
#include "tests/lib/test.h"
#include "tests/workloads/pods-world.h"

#include <string.h>

/* Numbers of docs/rules/workloads.md and stateful-set.md that hold for several controllers:
 * workers, back-off, limits of their clients; and defaults. */

const ModelClass *const model_classes[] = {
    &stateful_set_controller_class, &replica_set_controller_class,
    &deployment_controller_class,   &daemon_set_controller_class,
    &job_controller_class,          &disruption_controller_class,
    &garbage_collector_class,       NULL};

/* ---- Flags (WL-3, WL-8, WL-100) ---- */

typedef struct {
    const char *rule, *flag, *value;
} WorkloadsNumbersFlagCase;

static const WorkloadsNumbersFlagCase flags[] = {
    {"WL-3",   "concurrent-statefulset-syncs",        "5" },
    {"WL-3",   "concurrent-deployment-syncs",         "5" },
    {"WL-3",   "concurrent-replicaset-syncs",         "5" },
    {"WL-3",   "concurrent-job-syncs",                "5" },
    {"WL-3",   "concurrent-daemonset-syncs",          "2" },
    {"WL-3",   "concurrent-resource-quota-syncs",     "5" },
    {"WL-3",   "concurrent-ephemeralvolume-syncs",    "5" },
    {"WL-3",   "concurrent-ttl-after-finished-syncs", "5" },
    {"WL-100", "concurrent-gc-syncs",                 "20"},
    {"WL-8",   "kube-api-qps",                        "20"},
    {"WL-8",   "kube-api-burst",                      "30"},
};

TEST(flags_have_kubernetes_defaults)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++) {
        const ProcessFlag *flag =
            process_class_flag(&kube_controller_manager_process, flags[i].flag);
        if (flag == NULL || strcmp(flag->default_value, flags[i].value) != 0)
            fail_msg("%s: %s", flags[i].rule, flags[i].flag);
    }
}

/* ---- Objects "w-0", "w-1", ... of one kind ---- */

static void
fill_set(StorageWorld *world, Object *object)
{
    STATEFUL_SET(object)->selector = world_selector(world, "web");
    STATEFUL_SET(object)->template = world_template(world, "web", "a");
}

static void
fill_replica_set(StorageWorld *world, Object *object)
{
    REPLICA_SET(object)->replicas = 1;
    REPLICA_SET(object)->selector = world_selector(world, "web");
    REPLICA_SET(object)->template = world_template(world, "web", "a");
}

static void
fill_deployment(StorageWorld *world, Object *object)
{
    DEPLOYMENT(object)->replicas = 1;
    DEPLOYMENT(object)->selector = world_selector(world, "web");
    DEPLOYMENT(object)->template = world_template(world, "web", "a");
    DEPLOYMENT(object)->progress_deadline_s =
        INT32_MAX; /* no change of a status that would wake it */
}

static void
fill_daemon_set(StorageWorld *world, Object *object)
{
    DAEMON_SET(object)->selector = world_selector(world, "web");
    DAEMON_SET(object)->template = world_template(world, "web", "a");
}

static void
fill_job(StorageWorld *world, Object *object)
{
    JOB(object)->template = world_template(world, "web", "a");
    JOB(object)->completions = JOB(object)->parallelism = 1;
}

static void
fill_budget(StorageWorld *world, Object *object)
{
    DISRUPTION_BUDGET(object)->selector = world_selector(world, "web");
    DISRUPTION_BUDGET(object)->min_available = (IntOrPercent){.value = 1, .is_set = TRUE};
}

typedef struct {
    const char *title;
    ObjectKind kind;
    void (*fill)(StorageWorld *world, Object *object);
    unsigned n_workers;
} NumbersWorkerCase;

static void
numbers_create(StorageWorld *world, const NumbersWorkerCase *row, unsigned number)
{
    g_autofree char *name = g_strdup_printf("w-%u", number);
    Object *object = object_new(world_key(world, row->kind, name));

    row->fill(world, object);
    storage_world_create(world, object);
}

/* ---- Workers (WL-3, WL-114) ---- */

static const NumbersWorkerCase worker_cases[] = {
    {"five for StatefulSets",    KIND_STATEFUL_SET,      fill_set,         5},
    {"five for ReplicaSets",     KIND_REPLICA_SET,       fill_replica_set, 5},
    {"five for Deployments",     KIND_DEPLOYMENT,        fill_deployment,  5},
    {"two for DaemonSets",       KIND_DAEMON_SET,        fill_daemon_set,  2},
    {"five for Jobs",            KIND_JOB,               fill_job,         5},
    {"one for budgets (WL-114)", KIND_DISRUPTION_BUDGET, fill_budget,      1},
};

static unsigned
count_requests(const char *log)
{
    unsigned n = *log != '\0';

    for (; *log != '\0'; log++)
        n += *log == ',';
    return n;
}

/* Twelve objects come at once, and a write takes a second: so many of them have an answer after one
 * second. */
static void
so_many_are_synced_at_once(void **state)
{
    const NumbersWorkerCase *row = *state;
    StorageWorld world;

    storage_world_init(&world, NULL);
    sim_dist_unref(world.timing.write);
    world.timing.write = sim_dist_new_constant(SIM_SECOND);
    storage_world_start(&world);
    for (unsigned i = 0; i < 12; i++)
        numbers_create(&world, row, i);
    storage_world_log(&world);
    storage_world_run(&world, 1500 * SIM_MS);
    assert_int_equal(count_requests(storage_world_log(&world)), row->n_workers);
    storage_world_clear(&world);
}
TEST_ROWS(worker_cases, so_many_are_synced_at_once);

/* ---- Back-off (WL-2) ---- */

typedef struct {
    StorageWorld *world;
    ObjectKind kind;
    GArray *at;   /* of SimTime: the time of each refused creation */
    GArray *hash; /* of uint64_t: the object that asked */
} Refused;

static ApiCode
numbers_refuse(void *data, const ApiRequest *request, GString *message)
{
    Refused *refused = data;
    SimTime now = sim_now(refused->world->sim);

    if (request->verb != API_CREATE || request->key->kind != refused->kind)
        return API_OK;
    g_array_append_val(refused->at, now);
    g_array_append_val(refused->hash, request->key->hash);
    g_string_assign(message, "refused by the test");
    return API_FORBIDDEN;
}

static Refused
begin_refusing(StorageWorld *world, ObjectKind kind)
{
    Refused refused = {world, kind, g_array_new(FALSE, FALSE, sizeof(SimTime)),
                       g_array_new(FALSE, FALSE, sizeof(uint64_t))};

    storage_world_init(world, NULL);
    storage_world_start(world);
    return refused;
}

static void
end_refusing(const Refused *refused)
{
    g_array_unref(refused->at);
    g_array_unref(refused->hash);
    storage_world_clear(refused->world);
}

/* WL-2: 5 ms, doubled with each failure, at most 1000 s. At the beginning its own status wakes the
 * set once more, so that there are two failures before the first 5 ms are over. */
TEST(failures_back_off)
{
    StorageWorld world;
    const NumbersWorkerCase row = {.kind = KIND_STATEFUL_SET, .fill = fill_set};
    Refused refused = begin_refusing(&world, KIND_POD);
    SimTime wait = 0;
    unsigned n = 0;

    api_server_set_fault(world.api, numbers_refuse, &refused);
    numbers_create(&world, &row, 0);
    storage_world_run(&world, 3 * SIM_HOUR);
    for (unsigned i = 1; i < refused.at->len; i++) {
        SimTime apart =
            g_array_index(refused.at, SimTime, i) - g_array_index(refused.at, SimTime, i - 1);
        if (i == 1) {
            assert_int_equal(apart, 0);
            continue;
        }
        wait = i == 2 ? 5 * SIM_MS : i == 3 ? 20 * SIM_MS : MIN(2 * wait, 1000 * SIM_SECOND);
        assert_int_equal(apart, wait);
        n++;
    }
    assert_int_equal(wait, 1000 * SIM_SECOND);
    assert_true(n > 20);
    end_refusing(&refused);
}

static gboolean
has_failed_before(const Refused *refused, unsigned number)
{
    for (unsigned i = 0; i < number; i++)
        if (g_array_index(refused->hash, uint64_t, i) ==
            g_array_index(refused->hash, uint64_t, number))
            return TRUE;
    return FALSE;
}

/* WL-2: the failures of all keys share a bucket: the first 100 come again after their own 5 ms, the
 * others ten a second. */
TEST(many_failures_share_a_bucket)
{
    enum { N = 130 };
    StorageWorld world;
    const NumbersWorkerCase row = {.kind = KIND_DEPLOYMENT, .fill = fill_deployment};
    Refused refused = begin_refusing(&world, KIND_REPLICA_SET);
    unsigned n_soon = 0;
    SimTime last = 0;

    api_server_set_fault(world.api, numbers_refuse, &refused);
    for (unsigned i = 0; i < N; i++)
        numbers_create(&world, &row, i);
    storage_world_run(&world, 60 * SIM_SECOND);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (unsigned i = 0; i < refused.at->len; i++) {
        uint64_t *who = &g_array_index(refused.hash, uint64_t, i);
        SimTime at = g_array_index(refused.at, SimTime, i);
        if (!has_failed_before(&refused, i) || !g_hash_table_add(seen, who))
            continue; /* the second try of each object counts */
        n_soon += at <= 20 * SIM_MS;
        last = MAX(last, at);
    }
    assert_int_equal(g_hash_table_size(seen), N);
    assert_in_range(n_soon, 90, 101);
    assert_in_range(last, 2900 * SIM_MS,
                    3500 * SIM_MS); /* 30 at 10 a second, and the tokens of retries between them */
    end_refusing(&refused);
}

/* ---- Clients (WL-8) ---- */

/* Runs until the condition holds. Returns: the time, in steps of 10 ms */
static SimTime
numbers_run_until(StorageWorld *world, gboolean (*is_so)(const StorageWorld *world))
{
    SimTime at = sim_now(world->sim);

    while (!is_so(world) && at < SIM_MINUTE)
        storage_world_run(world, at += 10 * SIM_MS);
    return at;
}

static gboolean
has_100_pods(const StorageWorld *world)
{
    return world_count(world, KIND_POD) == 100;
}

static gboolean
has_ten_pods_with_claims(const StorageWorld *world)
{
    return world_count(world, KIND_POD) == 10 && world_count(world, KIND_CLAIM) == 10;
}

static gboolean
has_twenty_events(const StorageWorld *world)
{
    unsigned n = 0;

    for (unsigned i = 0; i < api_server_n_events(world->api); i++)
        n += api_server_event(world->api, i)->count;
    return n == 20;
}

/* WL-8: 20 requests a second after 30 at once. A hundred pods of a ReplicaSet are sent in batches,
 * with about ten of its Events between them: (100 + 10 - 30) / 20 = 4 s. */
TEST(a_hundred_pods_take_four_seconds)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        StorageWorld world;
        storage_world_init(&world,
                           &(StorageWorldOptions){.throttled = TRUE, .slow = TRUE, .seed = seed});
        storage_world_start(&world);
        Object *object = object_new(world_key(&world, KIND_REPLICA_SET, "w-0"));
        fill_replica_set(&world, object);
        REPLICA_SET(object)->replicas = 100;
        storage_world_create(&world, object);
        assert_in_range(numbers_run_until(&world, has_100_pods), 3600 * SIM_MS, 4400 * SIM_MS);
        storage_world_clear(&world);
    }
}

/* WL-8, recorded (08): ten pods of a Parallel set, with a claim each, exist within a tenth of a
 * second, their 20 Events half a second later. */
TEST(ten_pods_with_claims_at_once)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        StorageWorld world;
        storage_world_init(&world,
                           &(StorageWorldOptions){.throttled = TRUE, .slow = TRUE, .seed = seed});
        storage_world_start(&world);
        Object *object = object_new(world_key(&world, KIND_STATEFUL_SET, "w"));
        Claim *claim = storage_world_claim(&world, "data", 1, "fast");
        fill_set(&world, object);
        STATEFUL_SET(object)->replicas = 10;
        STATEFUL_SET(object)->parallel = TRUE;
        STATEFUL_SET(object)->claim_templates = claim_templates_new(&claim, 1);
        storage_world_create(&world, object);
        SimTime pods = numbers_run_until(&world, has_ten_pods_with_claims);
        assert_in_range(pods, 10 * SIM_MS, 300 * SIM_MS);
        assert_in_range(numbers_run_until(&world, has_twenty_events), 400 * SIM_MS, 1000 * SIM_MS);
        storage_world_clear(&world);
    }
}

/* ---- Rest (WL-31) ---- */

/* WL-31: with all pods running, no controller syncs anything for 25 hours. */
TEST(nothing_is_looked_at_for_a_day)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    storage_world_start(&world);
    for (unsigned i = 0; i < G_N_ELEMENTS(worker_cases); i++) {
        g_autofree char *name = g_strdup_printf("w-%u", i);
        Object *object = object_new(world_key(&world, worker_cases[i].kind, name));
        worker_cases[i].fill(&world, object);
        storage_world_create(&world, object);
    }
    for (unsigned i = 0; i < 10; i++) {
        world_go_on(&world, SIM_MINUTE);
        world_play_nodes(&world);
    }
    world_go_on(&world, SIM_HOUR);
    storage_world_log(&world);
    world_go_on(&world, 25 * SIM_HOUR);
    assert_string_equal(storage_world_log(&world), "");
    storage_world_clear(&world);
}

/* ---- StatefulSets ---- */

/* WL-20, WL-23, WL-51: the defaults of a StatefulSet. There is no maxUnavailable: the gate is off.
 * */
TEST(stateful_set_defaults)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    Object *object = object_new(world_key(&world, KIND_STATEFUL_SET, "w"));
    const StatefulSet *set = STATEFUL_SET(object);
    assert_int_equal(set->replicas, 1);
    assert_int_equal(set->partition, 0);
    assert_int_equal(set->revision_history_limit, 10);
    assert_int_equal(set->min_ready_s, 0);
    assert_int_equal(set->ordinals_start, 0);
    assert_false(set->parallel || set->on_delete);
    assert_false(set->delete_when_deleted || set->delete_when_scaled);
    object_unref(object);
    storage_world_clear(&world);
}

/* WL-40: a status that meets a conflict is tried five times, 10 to 11 ms apart; then the sync has
 * failed (WL-2). */
static ApiCode
conflict(void *data, const ApiRequest *request, GString *message)
{
    Refused *refused = data;
    SimTime now = sim_now(refused->world->sim);

    if (request->verb != API_UPDATE_STATUS || request->key->kind != KIND_STATEFUL_SET)
        return API_OK;
    g_array_append_val(refused->at, now);
    g_string_assign(message, "the object has been modified");
    return API_CONFLICT;
}

TEST(statuses_are_tried_five_times)
{
    StorageWorld world;
    const NumbersWorkerCase row = {.kind = KIND_STATEFUL_SET, .fill = fill_set};
    Refused refused = begin_refusing(&world, KIND_STATEFUL_SET);
    unsigned n_close = 0;

    api_server_set_fault(world.api, conflict, &refused);
    numbers_create(&world, &row, 0);
    storage_world_run(&world, SIM_SECOND);
    assert_in_range(refused.at->len, 36, 45);
    for (unsigned i = 1; i < refused.at->len; i++) {
        SimTime apart =
            g_array_index(refused.at, SimTime, i) - g_array_index(refused.at, SimTime, i - 1);
        if (i % 5 == 0) /* the next sync */
            continue;
        assert_in_range(apart, 10 * SIM_MS, 11 * SIM_MS);
        n_close++;
    }
    assert_true(n_close >= 28);
    /* The first back-offs end before the sync that they wait for. */
    assert_int_equal(g_array_index(refused.at, SimTime, 35) -
                         g_array_index(refused.at, SimTime, 34),
                     320 * SIM_MS);
    end_refusing(&refused);
}

static gboolean
numbers_edit_replicas(Object *object, const void *replicas)
{
    STATEFUL_SET(object)->replicas = *(const int32_t *)replicas;
    return TRUE;
}

/* WL-45: a pod has its own grace period, by default 30 s. */
TEST(pods_have_their_own_grace)
{
    static const int64_t graces[] = {-1, 7};
    const int32_t none = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(graces); i++) {
        StorageWorld world;
        storage_world_init(&world, NULL);
        storage_world_start(&world);
        Object *object = object_new(world_key(&world, KIND_STATEFUL_SET, "w"));
        fill_set(&world, object);
        if (graces[i] >= 0)
            STATEFUL_SET(object)->template->spec->grace_s = (int32_t)graces[i];
        storage_world_create(&world, object);
        world_go_on(&world, SIM_SECOND);
        world_start_pod(&world, "w-0");
        storage_world_patch(&world, world_key(&world, KIND_STATEFUL_SET, "w"),
                            numbers_edit_replicas, &none);
        world_go_on(&world, SIM_SECOND);
        assert_int_equal(world_pod(&world, "w-0")->meta.deletion_grace_s,
                         graces[i] < 0 ? 30 : graces[i]);
        storage_world_clear(&world);
    }
}

/* ---- The garbage collector (WL-100) ---- */

/* Of fifty pods whose owner is gone 20 are read at once. */
TEST(twenty_workers_collect)
{
    StorageWorld world;
    const NumbersWorkerCase row = {.kind = KIND_REPLICA_SET, .fill = fill_replica_set};

    storage_world_init(&world, NULL);
    sim_dist_unref(world.timing.write);
    world.timing.write = sim_dist_new_constant(SIM_SECOND);
    numbers_create(&world, &row, 0);
    const Object *owner = world_stored(&world, KIND_REPLICA_SET, "w-0");
    for (unsigned i = 0; i < 50; i++) {
        g_autofree char *name = g_strdup_printf("p-%u", i);
        Pod *pod = storage_world_pod(&world, storage_world_intern(&world, name), NULL, NULL);
        object_set_owner(&pod->meta, owner, TRUE, TRUE);
        storage_world_create(&world, pod);
    }
    storage_world_delete(&world, world_key(&world, KIND_REPLICA_SET, "w-0"));
    storage_world_start(&world);
    storage_world_run(&world, 1500 * SIM_MS);
    assert_int_equal(count_requests(storage_world_log(&world)), 20);
    storage_world_clear(&world);
}
