/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cluster/kube-controller-manager.h"
#include "models/pv-controller/pv-controller.h"
#include "sim/metrics.h"
#include "sim/random.h"
#include "tests/lib/same-log.h"
#include "tests/lib/test.h"
#include "tests/pv-controller/neighbours.h"

#include <string.h>

/* A resync that leaves out what is settled comes to the same as one that looks at everything. */

const ModelClass *const model_classes[] = {&pv_controller_class, NULL};

static void
do_something(StorageWorld *world, SimStream stream, uint64_t n)
{
    static const char *const classes[] = {"", "fast", "late", NULL};
    unsigned what = (unsigned)sim_random_below(stream, 1, n, 9);
    g_autofree char *name = g_strdup_printf("o%u", (unsigned)sim_random_below(stream, 2, n, 6));
    const char *class = classes[sim_random_below(stream, 3, n, G_N_ELEMENTS(classes))];
    const Claim *claim = storage_world_stored_claim(world, name);
    const Volume *volume = storage_world_stored_volume(world, name);
    int gib = 1 + (int)sim_random_below(stream, 4, n, 5);

    if (what < 2 && claim == NULL) {
        storage_world_create(world, storage_world_claim(world, name, gib, class));
    } else if (what < 4 && volume == NULL) {
        Volume *created = storage_world_volume(world, name, gib, class);
        created->reclaim_policy = gib % 2 == 0 ? RECLAIM_RETAIN : RECLAIM_DELETE;
        if (claim != NULL && gib > 3)
            edit_reserve(&created->meta, claim);
        storage_world_create(world, created);
    } else if (what == 4 && claim != NULL) {
        storage_world_remove(world, storage_world_claim_key(world, name));
    } else if (what == 5 && volume != NULL) {
        storage_world_remove(world, storage_world_volume_key(world, name));
    } else if (what == 6 && volume != NULL) {
        storage_world_patch(world, storage_world_volume_key(world, name), edit_clear_reference,
                            NULL);
    } else if (what == 7 && claim != NULL) {
        annotate(world, storage_world_claim_key(world, name), ANNOTATION_SELECTED_NODE, "n");
    } else if (what == 8 && gib == 1) {
        cluster_crash(world->cluster, "kube-controller-manager", NULL);
        cluster_restart(world->cluster, "kube-controller-manager", NULL);
    }
}

/* Every Bound claim is half of a pair, however often the controller crashed. */
static void
check_pairs(const StorageWorld *world)
{
    for (uint32_t slot = 0; slot < objects_n_keys(world->objects, KIND_CLAIM); slot++) {
        const Claim *claim = (const Claim *)api_server_get(
            world->api, objects_key_at(world->objects, KIND_CLAIM, slot));
        if (claim == NULL || claim->phase != CLAIM_BOUND)
            continue;
        const Volume *volume = storage_world_stored_volume(world, claim->volume_name);
        assert_non_null(volume);
        assert_ptr_equal(volume->claim_ref.claim, claim->meta.key);
        assert_true(object_uid_equal(volume->claim_ref.uid, claim->meta.uid));
        assert_int_equal(volume->phase, VOLUME_BOUND);
    }
}

/* Returns: (owned): all that was sent, with its times */
static char *
run_at_random(uint64_t seed, gboolean polling)
{
    StorageWorldOptions options = {.seed = seed, .polling = polling, .slow = TRUE};
    SimStream stream = sim_stream_from(seed, 0, "test/user");
    StorageWorld world;
    SimTime now = 0;

    storage_world_init(&world, &options);
    world.log_times = TRUE;
    storage_world_class(&world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_class(&world, "late", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_start(&world);
    for (uint64_t n = 0; n < 150; n++) {
        now += (SimTime)sim_random_below(stream, 0, n, n % 3 == 0 ? 40 * SIM_SECOND : 8 * SIM_MS);
        storage_world_run(&world, now);
        do_something(&world, stream, n);
    }
    storage_world_run(&world, now + 60 * SIM_SECOND);
    check_pairs(&world);
    g_autofree char *events = storage_world_events(&world);
    char *all = g_strconcat(world.log->str, "\n", events, NULL);
    storage_world_clear(&world);
    return all;
}

TEST(pv_controller_polling_sleeping_equals_polling)
{
    assert_sleeping_equals_polling(run_at_random, 20, "PUT");
}

/* Reclaiming takes long: the operations' reads wait for tokens. */
#define N_RELEASED 40

static void
ask_seldom(const ProcessClass *class, void *flags)
{
    KubeControllerManagerOptions *options = flags;

    if (class != &kube_controller_manager_process)
        return;
    options->kube_api_qps = 2;
    options->kube_api_burst = 4;
}

/* Returns: (owned): all that was sent, with its times */
static char *
run_release(uint64_t seed, gboolean polling)
{
    StorageWorldOptions options = {
        .seed = seed, .polling = polling, .slow = TRUE, .throttled = TRUE, .set_flags = ask_seldom};
    SimStream stream = sim_stream_from(seed, 0, "test/user");
    StorageWorld world;

    storage_world_init(&world, &options);
    world.log_times = TRUE;
    storage_world_start(&world);
    for (unsigned i = 0; i < N_RELEASED; i++) {
        g_autofree char *name = g_strdup_printf("r%u", i);
        Volume *volume = storage_world_volume(&world, name, 5, "");
        volume->reclaim_policy = RECLAIM_DELETE;
        storage_world_create(&world, volume);
        storage_world_create(&world, storage_world_claim(&world, name, 5, ""));
    }
    SimTime now = 4 * SIM_MINUTE; /* all are bound */
    storage_world_run(&world, now);
    for (unsigned i = 0; i < N_RELEASED; i++) {
        g_autofree char *name = g_strdup_printf("r%u", i);
        storage_world_remove(&world, storage_world_claim_key(&world, name));
    }
    now += 2 * SIM_MINUTE;
    for (unsigned n = 0; n < N_RELEASED;
         n++) { /* somebody deletes them, or takes their policy away */
        g_autofree char *name = g_strdup_printf("r%u", n);
        now += (SimTime)sim_random_below(stream, 0, n, 20 * SIM_SECOND);
        storage_world_run(&world, now);
        if (n % 3 != 0)
            storage_world_remove(&world, storage_world_volume_key(&world, name));
    }
    storage_world_run(&world, now + 60 * SIM_SECOND);
    char *all = g_strdup(world.log->str);
    storage_world_clear(&world);
    return all;
}

/* Resyncs leave a volume alone while its operation is under way, and look at it again after that */
TEST(released_volumes_sleep_while_they_are_reclaimed)
{
    assert_sleeping_equals_polling(run_release, 4, "PUT");
}

/* Claims wait for the only worker, and volumes for their claims. */
#define N_CROWD 60

static void
do_something_to_crowd(StorageWorld *world, SimStream stream, uint64_t n)
{
    unsigned what = (unsigned)sim_random_below(stream, 1, n, 16);
    unsigned i = (unsigned)sim_random_below(stream, 2, n, N_CROWD);
    g_autofree char *name = g_strdup_printf("c%u", i);
    g_autofree char *volume_name = g_strconcat(what == 0 ? "second-" : "", name, NULL);
    const Claim *claim = storage_world_stored_claim(world, name);
    const Volume *volume = storage_world_stored_volume(world, volume_name);
    ObjectKey *volume_key = storage_world_volume_key(world, volume_name);

    if ((what == 0 || what > 4) && claim != NULL && volume == NULL) { /* it is provisioned */
        Volume *created = storage_world_volume(world, volume_name, 5, "fast");
        created->reclaim_policy = RECLAIM_DELETE;
        edit_reserve(&created->meta, claim);
        storage_world_create(world, created);
        annotate(world, volume_key, ANNOTATION_PROVISIONED_BY, "csi.test");
    } else if (what == 1 && volume != NULL) {
        annotate(world, volume_key, "somebody", n % 2 == 0 ? "was" : "is here");
    } else if (what == 2 && volume != NULL && n % 3 == 0) {
        storage_world_patch(world, volume_key, edit_clear_reference, NULL);
    } else if (what == 3 && claim != NULL && n % 2 == 0) {
        storage_world_remove(world, storage_world_claim_key(world, name));
    } else if (what == 4 && n % 11 == 0) {
        cluster_crash(world->cluster, "kube-controller-manager", NULL);
        cluster_restart(world->cluster, "kube-controller-manager", NULL);
    }
}

static void
see_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    (void)data;
    (void)component;
    (void)plan;
    (void)rule;
    (void)step;
}

/* @observed: somebody sees all plans, so that none is left out. Returns: (owned): all that was
 * sent, with its times and causes, and what the queues measured */
static char *
run_crowd(uint64_t seed, gboolean observed)
{
    StorageWorldOptions options = {
        .seed = seed, .measured = TRUE, .slow = TRUE, .throttled = TRUE, .set_flags = ask_seldom};
    SimStream stream = sim_stream_from(seed, 0, "test/user");
    StorageWorld world;
    SimTime now = 0;

    storage_world_init(&world, &options);
    world.log_times = world.log_causes = TRUE;
    storage_world_class(&world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_start(&world);
    cluster_observe_plans(world.cluster, observed ? see_step : NULL, NULL);
    for (unsigned i = 0; i < N_CROWD; i++) {
        g_autofree char *name = g_strdup_printf("c%u", i);
        storage_world_create(&world, storage_world_claim(&world, name, 5, "fast"));
    }
    for (uint64_t n = 0; n < 300; n++) {
        now += (SimTime)sim_random_below(stream, 0, n, 2 * SIM_SECOND);
        storage_world_run(&world, now);
        do_something_to_crowd(&world, stream, n);
    }
    storage_world_run(&world, now + 60 * SIM_SECOND);
    g_autoptr(GString) all = g_string_new(world.log->str), metrics = g_string_new(NULL);
    sim_metrics_append_text(sim_metrics(world.sim), metrics);
    g_auto(GStrv) lines = g_strsplit(metrics->str, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++)
        if (g_str_has_prefix(lines[i], "workqueue_"))
            g_string_append_printf(all, "\n%s", lines[i]);
    storage_world_clear(&world);
    return g_string_free(g_steal_pointer(&all), FALSE);
}

/* Resyncs pass over volumes whose syncs would only queue their claims again. With polling the
 * queues also have settled keys, so causes and metrics are compared with a run that syncs the same
 * keys by plans. */
TEST(waiting_volumes_are_passed_over)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        g_autofree char *passed = run_crowd(seed, FALSE);
        g_autofree char *planned = run_crowd(seed, TRUE);
        assert_non_null(strstr(passed, "\nworkqueue_adds_total"));
        assert_same_log(seed, passed, planned);
    }
}
