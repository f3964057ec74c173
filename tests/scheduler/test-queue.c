/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scheduler/scheduler-test.h"
#include "tests/lib/test.h"

#include "models/cluster/model.h"

const ModelClass *const model_classes[] = {NULL};

typedef struct {
    Objects *objects;
    SchedulingQueue *queue;
} QueueWorld;

static void
world_init_with(QueueWorld *self, const QueueOptions *options)
{
    self->objects = objects_new(1);
    self->queue = scheduling_queue_new(options);
}

static void
world_init(QueueWorld *self)
{
    world_init_with(self,
                    &(QueueOptions){.initial_backoff = SIM_SECOND, .max_backoff = 10 * SIM_SECOND});
}

static void
queue_world_clear(QueueWorld *self)
{
    scheduling_queue_free(self->queue);
    objects_free(self->objects);
}

static QueuedPod *
new_entry(QueueWorld *self, const char *name, int32_t priority, SimTime now)
{
    Pod *pod = POD(object_new(objects_key(self->objects, KIND_POD, "default", name)));

    pod->spec = pod->spec == NULL ? pod_spec_new() : pod->spec;
    pod->spec->priority = priority;
    QueuedPod *entry = queued_pod_new(pod, now);
    object_unref(&pod->meta);
    return entry;
}

/* SCH-33 */
TEST(backoff_doubles)
{
    static const int seconds[] = {0, 1, 2, 4, 8, 10, 10, 10};
    QueueWorld world;

    world_init(&world);
    for (unsigned attempts = 0; attempts < G_N_ELEMENTS(seconds); attempts++)
        assert_true(scheduling_queue_backoff(world.queue, attempts) ==
                    seconds[attempts] * SIM_SECOND);
    assert_true(scheduling_queue_backoff(world.queue, 1000000) == 10 * SIM_SECOND);
    queue_world_clear(&world);
}

/* SCH-V3: a pod that fails with an error each time it is tried, with ticks on whole seconds. */
TEST(retries_come_on_ticks)
{
    static const int expected[] = {0, 1, 3, 7, 15, 25, 35};
    QueueWorld world;
    unsigned n = 0;

    world_init(&world);
    QueuedPod *entry = new_entry(&world, "p", 0, 0);
    scheduling_queue_put(world.queue, entry, PLACE_ACTIVE, 0);
    for (int second = 0; n < G_N_ELEMENTS(expected); second++) {
        SimTime now = second * SIM_SECOND;
        if ((entry = scheduling_queue_backed_off(world.queue, now)) != NULL)
            scheduling_queue_put(world.queue, entry, PLACE_ACTIVE, now);
        if ((entry = scheduling_queue_pop(world.queue)) == NULL)
            continue;
        assert_int_equal(second, expected[n++]);
        entry->timestamp = now;
        scheduling_queue_put(world.queue, entry, PLACE_BACKOFF, now);
    }
    queue_world_clear(&world);
}

typedef struct {
    const char *title;
    const char *pods; /* name:priority:seconds at which it came */
    const char *popped;
} QueueOrderCase;

static const QueueOrderCase order_cases[] = {
    {"first come, first served",       "a:0:2 b:0:1 c:0:3",       "b a c "   },
    {"SCH-V5 priority first",          "low:0:1 high:1000:2",     "high low "},
    {"equal in all: as they were put", "a:5:1 b:5:1 c:5:1 d:6:1", "d a b c " },
};

static void
put_pods(QueueWorld *world, const char *pods)
{
    g_auto(GStrv) items = g_strsplit(pods, " ", -1);

    for (unsigned i = 0; items[i] != NULL; i++) {
        g_auto(GStrv) parts = g_strsplit(items[i], ":", 3);
        SimTime at = g_ascii_strtoll(parts[2], NULL, 10) * SIM_SECOND;
        int32_t priority = (int32_t)g_ascii_strtoll(parts[1], NULL, 10);
        scheduling_queue_put(world->queue, new_entry(world, parts[0], priority, at), PLACE_ACTIVE,
                             at);
    }
}

TEST(active_pods_have_an_order)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(order_cases); i++) {
        g_autoptr(GString) popped = g_string_new(NULL);
        QueueWorld world;
        QueuedPod *entry;

        world_init(&world);
        put_pods(&world, order_cases[i].pods);
        while ((entry = scheduling_queue_pop(world.queue)) != NULL) {
            g_string_append_printf(popped, "%s ", entry->pod->meta.key->name);
            queued_pod_free(entry);
        }
        if (!g_str_equal(popped->str, order_cases[i].popped))
            fail_msg("%s: %s", order_cases[i].title, popped->str);
        queue_world_clear(&world);
    }
}

/* Against a plain array: random puts, moves and takes keep all stores sound. */
TEST(stores_agree_with_an_array)
{
    QueuedPod *entries[40] = {NULL};
    uint64_t random = 1;
    QueueWorld world;

    world_init(&world);
    for (unsigned step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        unsigned i = (unsigned)(random >> 33) % G_N_ELEMENTS(entries);
        QueuePlace place = PLACE_ACTIVE + (unsigned)(random >> 20) % 4;
        char name[16];
        g_snprintf(name, sizeof name, "p%u", i);
        if (entries[i] == NULL) {
            entries[i] = new_entry(&world, name, (int32_t)(random >> 50) % 3, (SimTime)step);
            scheduling_queue_put(world.queue, entries[i], place, step);
        } else if ((random >> 60) % 2 == 0) {
            scheduling_queue_put(world.queue, entries[i], place, step);
        } else {
            queued_pod_free(scheduling_queue_take(world.queue, g_steal_pointer(&entries[i])));
        }
        unsigned counts[PLACE_UNSCHEDULABLE + 1] = {0};
        const QueuedPod *best = NULL;
        for (unsigned k = 0; k < G_N_ELEMENTS(entries); k++) {
            if (entries[k] == NULL)
                continue;
            counts[entries[k]->place]++;
            assert_ptr_equal(scheduling_queue_find(world.queue, entries[k]->pod->meta.key),
                             entries[k]);
            assert_ptr_equal(scheduling_queue_at(world.queue, entries[k]->place, entries[k]->index),
                             entries[k]);
            if (entries[k]->place == PLACE_ACTIVE &&
                (best == NULL || entries[k]->pod->spec->priority > best->pod->spec->priority ||
                 (entries[k]->pod->spec->priority == best->pod->spec->priority &&
                  entries[k]->timestamp < best->timestamp)))
                best = entries[k];
        }
        for (QueuePlace k = PLACE_ACTIVE; k <= PLACE_UNSCHEDULABLE; k++)
            assert_int_equal(scheduling_queue_length(world.queue, k), counts[k]);
        if (best != NULL)
            assert_ptr_equal(scheduling_queue_at(world.queue, PLACE_ACTIVE, 0), best);
    }
    queue_world_clear(&world);
}

TEST(rejections_are_counted)
{
    QueueWorld world;

    world_init(&world);
    QueuedPod *entry = new_entry(&world, "p", 0, 0);
    entry->unschedulable_plugins = 1 << 3 | 1 << 5;
    scheduling_queue_put(world.queue, entry, PLACE_UNSCHEDULABLE, 0);
    assert_true(scheduling_queue_any_rejected_by(world.queue, 1 << 5));
    assert_false(scheduling_queue_any_rejected_by(world.queue, 1 << 4));
    scheduling_queue_put(world.queue, entry, PLACE_BACKOFF, 0);
    assert_false(scheduling_queue_any_rejected_by(world.queue, 1 << 5));
    queue_world_clear(&world);
}

/* Fails at once, and waits. */
static QueuedPod *
failed(QueueWorld *world, const char *name, int32_t priority, SimTime at, gboolean rejected)
{
    QueuedPod *entry = new_entry(world, name, priority, at);

    entry->attempts = 1;
    entry->unschedulable_plugins = rejected ? 1 : 0;
    queued_pod_failed(entry, rejected);
    scheduling_queue_put(world->queue, entry, scheduling_queue_waits_in(world->queue, entry), at);
    return entry;
}

/* SCH-38: seconds of the clock begin at .3; "late" fails in the second after the others. */
TEST(an_idle_scheduler_takes_waiting_pods)
{
    static const char *const popped[] = {"new", "high", "low", "late"};
    QueueWorld world;

    world_init_with(&world, &(QueueOptions){.initial_backoff = SIM_SECOND,
                                            .max_backoff = 10 * SIM_SECOND,
                                            .pops_waiting = TRUE,
                                            .window_phase = 300 * SIM_MS});
    failed(&world, "low", 0, 400 * SIM_MS, TRUE);
    failed(&world, "high", 7, 1200 * SIM_MS, TRUE);
    failed(&world, "late", 9, 1400 * SIM_MS, TRUE);
    const QueuedPod *broken = failed(&world, "broken", 9, 400 * SIM_MS, FALSE);
    scheduling_queue_put(world.queue, new_entry(&world, "new", 0, SIM_SECOND), PLACE_ACTIVE, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(popped); i++) {
        QueuedPod *entry = scheduling_queue_pop(world.queue);
        assert_string_equal(entry->pod->meta.key->name, popped[i]);
        queued_pod_free(entry);
    }
    assert_null(scheduling_queue_pop(world.queue));
    assert_int_equal(broken->place, PLACE_ERRORS);
    /* Its back-off ends at 1.4 s, in the second that begins at 1.3 s. */
    assert_null(scheduling_queue_backed_off(world.queue, 2299 * SIM_MS));
    assert_ptr_equal(scheduling_queue_backed_off(world.queue, 2300 * SIM_MS), broken);
    queue_world_clear(&world);
}

/* SCH-132: four attempts, of which two were rejected before two errors. */
TEST(backoff_counts_rejections_or_errors)
{
    static const struct {
        gboolean counts_causes;
        int seconds;
    } rows[] = {
        {FALSE, 8},
        {TRUE,  2}
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        QueueWorld world;
        world_init_with(&world, &(QueueOptions){.initial_backoff = SIM_SECOND,
                                                .max_backoff = 10 * SIM_SECOND,
                                                .counts_causes = rows[i].counts_causes});
        QueuedPod *entry = new_entry(&world, "p", 0, 0);
        assert_false(scheduling_queue_is_backing_off(world.queue, entry, 0));
        for (entry->attempts = 1; entry->attempts < 4; entry->attempts++)
            queued_pod_failed(entry, entry->attempts < 3);
        queued_pod_failed(entry, FALSE);
        assert_true(scheduling_queue_backoff_end(world.queue, entry) ==
                    rows[i].seconds * SIM_SECOND);
        queued_pod_failed(entry, TRUE);
        if (rows[i].counts_causes)
            assert_true(scheduling_queue_backoff_end(world.queue, entry) == 4 * SIM_SECOND);
        queued_pod_free(entry);
        queue_world_clear(&world);
    }
}

/* A pod that has failed for months still waits the longest back-off. */
TEST(counts_of_failures_do_not_wrap)
{
    for (unsigned rejected = 0; rejected <= 1; rejected++) {
        QueueWorld world;
        world_init_with(&world, &(QueueOptions){.initial_backoff = SIM_SECOND,
                                                .max_backoff = 10 * SIM_SECOND,
                                                .counts_causes = TRUE});
        QueuedPod *entry = new_entry(&world, "p", 0, 0);
        for (unsigned i = 0; i <= UINT16_MAX; i++)
            queued_pod_failed(entry, rejected);
        assert_true(scheduling_queue_backoff_end(world.queue, entry) == 10 * SIM_SECOND);
        queued_pod_free(entry);
        queue_world_clear(&world);
    }
}
