/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/external-provisioner/external-provisioner.h"
#include "sim/metrics.h"
#include "sim/random.h"
#include "sim/sim-test.h"
#include "tests/lib/same-log.h"
#include "tests/lib/test.h"
#include "tests/sidecar/world.h"

/* Retries that fail as before, without a plan, come to the same as those that look at everything.
 */

const ModelClass *const model_classes[] = {&external_provisioner_class, NULL};

#define N_VOLUMES 60 /* more fail each second than Events are sent: the recorder is soon full */
#define N_ACTIONS 150
#define SECRET_PREFIX "csi.storage.k8s.io/provisioner-secret-"

typedef struct {
    World *world;
    GString *text; /* all that was sent, with its times and causes */
    uint64_t n_fired, n_left_out;
} PollingRecord;

/* The chain of causes of a call, back to the start. */
static void
note_call(void *data, const CsiCallRecord *call)
{
    const PollingRecord *self = data;
    const Sim *sim = self->world->sim;
    const SimTrace *trace = sim_trace(sim);

    g_string_append_printf(self->text, "%s %s", csi_method_name(call->request->method),
                           call->request->volume_id);
    for (SimCauseId id = sim_cause(sim); id != 0;) {
        SimCause cause = sim_trace_get(trace, id);
        g_string_append_printf(self->text, " %" G_GINT64_FORMAT ":%u:%u", cause.at, cause.wait,
                               cause.detail);
        id = cause.parent;
    }
    g_string_append_c(self->text, '\n');
}

static gboolean
edit_policy(Object *object, const void *policy)
{
    VOLUME(object)->reclaim_policy = *(const ReclaimPolicy *)policy;
    return TRUE;
}

static gboolean
polling_release(Object *object, const void *arg)
{
    (void)arg;
    VOLUME(object)->phase = VOLUME_RELEASED;
    return TRUE;
}

static gboolean
polling_remove_pv_protection(Object *object, const void *arg)
{
    (void)arg;
    return object_remove_finalizer(object, FINALIZER_PV_PROTECTION);
}

/* Released and attached; its class may come later. */
static void
polling_add_volume(World *world, const char *name)
{
    Volume *volume = world_volume(world, name);
    g_autofree char *attachment = g_strconcat("a-", name, NULL);

    volume->reclaim_policy = RECLAIM_DELETE;
    volume->class_name = world_intern(world, "late");
    object_add_finalizer(&volume->meta, world_intern(world, FINALIZER_PROVISIONER));
    world_create(world, &world_attachment(world, attachment, name, "a")->meta);
    world_create(world, &volume->meta);
    world_edit(world, KIND_VOLUME, name, polling_remove_pv_protection, NULL);
    world_edit_status(world, KIND_VOLUME, name, polling_release, NULL);
}

static void
polling_add_class(World *world)
{
    StorageClass *class = world_class(world, "late", BINDING_IMMEDIATE, RECLAIM_DELETE);
    StringPair pairs[] = {
        {world_intern(world, SECRET_PREFIX "name"),      world_intern(world, "s")      },
        {world_intern(world, SECRET_PREFIX "namespace"), world_intern(world, "default")},
    };

    class->parameters = string_map_new(pairs, G_N_ELEMENTS(pairs));
    world_create(world, &class->meta);
}

static void
do_something(World *world, SimStream stream, uint64_t n)
{
    static const ReclaimPolicy policies[] = {RECLAIM_RETAIN, RECLAIM_DELETE};
    unsigned what = (unsigned)sim_random_below(stream, 1, n, 6);
    g_autofree char *name =
        g_strdup_printf("v%u", (unsigned)sim_random_below(stream, 2, n, N_VOLUMES));
    g_autofree char *attachment = g_strconcat("a-", name, NULL);
    gboolean is_there = world_get(world, KIND_VOLUME, name) != NULL;
    gboolean is_attached = world_get(world, KIND_ATTACHMENT, attachment) != NULL;

    if (what < 2 && is_attached)
        world_delete(world, KIND_ATTACHMENT, attachment);
    else if (what == 2 && is_there && !is_attached)
        world_create(world, &world_attachment(world, attachment, name, "b")->meta);
    else if (what == 3 && is_there)
        world_edit(world, KIND_VOLUME, name, edit_policy, &policies[n % 2]);
    else if (what == 4 && !is_there && !is_attached)
        polling_add_volume(world, name);
    if (n == N_ACTIONS / 2)
        polling_add_class(world);
    if (n == N_ACTIONS * 3 / 4) {
        cluster_crash(world->cluster, "external-provisioner", WORLD_DRIVER);
        cluster_restart(world->cluster, "external-provisioner", WORLD_DRIVER);
    }
}

/* What the API server was asked, what Events came of it, and what the work queues measured. */
static void
note_end(PollingRecord *self)
{
    static const char *const whats[] = {"GET Secret", "PATCH PersistentVolume",
                                        "DELETE PersistentVolume"};
    g_autoptr(GString) metrics = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(whats); i++) {
        g_autofree char *times = world_times(self->world, whats[i]);
        g_string_append_printf(self->text, "%s %s\n", whats[i], times);
    }
    for (unsigned i = 0; i < N_VOLUMES; i++) {
        g_autofree char *name = g_strdup_printf("v%u", i);
        g_autofree char *events =
            world_events(self->world, world_key(self->world, KIND_VOLUME, name));
        g_string_append_printf(self->text, "%s: %s\n", name, events);
    }
    sim_metrics_append_text(sim_metrics(self->world->sim), metrics);
    g_auto(GStrv) lines = g_strsplit(metrics->str, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++)
        if (g_str_has_prefix(lines[i], "workqueue_"))
            g_string_append_printf(self->text, "%s\n", lines[i]);
    self->n_fired = sim_events_fired(self->world->sim);
    self->n_left_out = sim_events_left_out(self->world->sim);
}

/* Events wait for tokens; or retries wait for the only worker, too. */
static const struct {
    const char *flag, *value;
} rows[] = {
    {"kube-api-qps",   "2"},
    {"worker-threads", "1"},
};

static void
run_at_random(PollingRecord *self, uint64_t seed, gboolean polling)
{
    unsigned row = seed % G_N_ELEMENTS(rows);
    SidecarWorldOptions options = {.recorded_timing = TRUE,
                                   .seed = seed,
                                   .polling = polling,
                                   .measured = TRUE,
                                   .flag = rows[row].flag,
                                   .value = rows[row].value,
                                   .flag2 = "retry-interval-max",
                                   .value2 = "2s"};
    SimStream stream = sim_stream_from(seed, 0, "test/user");
    g_autoptr(World) world = world_new(&options);
    SimTime now = SIM_MINUTE;

    *self = (PollingRecord){.world = world, .text = g_string_new(NULL)};
    csi_driver_add_observer(csi_modelled_driver_base(world->driver),
                            &(CsiObserver){.started = note_call, .data = self});
    for (unsigned i = 0; i < N_VOLUMES; i++) {
        g_autofree char *name = g_strdup_printf("v%u", i);
        polling_add_volume(world, name);
        world_run(world, (i + 1) * 17 * SIM_MS); /* their retries do not coincide */
    }
    for (uint64_t n = 0; n < N_ACTIONS; n++) {
        now += (SimTime)sim_random_below(stream, 0, n, 5 * SIM_SECOND);
        world_run(world, now);
        do_something(world, stream, n);
    }
    world_run(world, now + SIM_MINUTE);
    note_end(self);
}

TEST(polling_sleeping_equals_polling)
{
    uint64_t n_left_out = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        PollingRecord asleep, awake;
        run_at_random(&asleep, seed, FALSE);
        run_at_random(&awake, seed, TRUE);
        assert_same_log(seed, asleep.text->str, awake.text->str);
        assert_non_null(strstr(asleep.text->str, "DeleteVolume"));
        assert_int_equal(awake.n_left_out, 0);
        assert_int_equal(awake.n_fired, asleep.n_fired);
        n_left_out += asleep.n_left_out;
        g_string_free(asleep.text, TRUE);
        g_string_free(awake.text, TRUE);
    }
    assert_true(n_left_out > 40000); /* else no retry was without a plan */
}
