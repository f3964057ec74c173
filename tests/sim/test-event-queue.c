/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine against a plain sorted array, the rules of one instant, cancelling, running and
 * stopping, and causes. */
#include "sim/random.h"
#include "sim/sim-test.h"
#include "sim/sim.h"
#include "sim/trace-internal.h"
#include "tests/lib/test.h"

/* ---- A model: an array, searched for the least ---- */

typedef struct {
    SimTime at;
    gboolean is_tick;
    uint64_t order;
    SimEventId id; /* 0: fired or cancelled */
} Expected;

typedef struct {
    Sim *sim;
    GArray *expected; /* of Expected; an event's data is its index */
    uint64_t n_scheduled, n_fired, n_freed;
    SimStream stream;
    uint64_t n_draws;
    unsigned n_operations;
    unsigned cancel_share; /* of 100 */
    gboolean is_wide;
} Model;

static uint64_t
event_queue_draw(Model *model, uint64_t below)
{
    return sim_random_below(model->stream, 0, model->n_draws++, below);
}

/* Usually a few ns, so that many events share an instant; otherwise of any order of magnitude up to
 * a day. */
static uint64_t
draw_delay(Model *model)
{
    if (model->is_wide)
        return event_queue_draw(model, UINT64_C(1) << event_queue_draw(model, 48));
    return event_queue_draw(model, event_queue_draw(model, 2) ? 4 : 1000);
}

static Expected *
expected_at(Model *model, unsigned i)
{
    return &g_array_index(model->expected, Expected, i);
}

static gboolean
is_before(const Expected *a, const Expected *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->is_tick != b->is_tick)
        return b->is_tick;
    return a->order < b->order;
}

static Expected *
model_next(Model *model)
{
    Expected *next = NULL;

    for (unsigned i = 0; i < model->expected->len; i++) {
        Expected *event = expected_at(model, i);
        if (event->id != 0 && (next == NULL || is_before(event, next)))
            next = event;
    }
    return next;
}

static Model *the_model; /* for free_data, which gets only the data */

static void model_fire(Sim *sim, void *data);

static void
model_freed(void *data)
{
    (void)data;
    the_model->n_freed++;
}

static const SimEventType model_event = {
    .name = "model", .fire = model_fire, .free_data = model_freed};

static void
model_schedule(Model *model)
{
    /* Few different instants, so many ties. */
    Expected event = {
        .at = sim_now(model->sim) + (SimTime)draw_delay(model),
        .is_tick = event_queue_draw(model, 4) == 0,
    };
    void *data = GUINT_TO_POINTER(model->expected->len);

    if (event.is_tick) {
        event.order =
            event_queue_draw(model, UINT64_C(1) << 20) << 12 | model->expected->len % 4096;
        event.id = sim_at_tick(model->sim, event.at, event.order, &model_event, data, 1, 0);
    } else {
        event.order = model->n_scheduled;
        event.id = sim_at(model->sim, event.at, &model_event, data, 1);
    }
    model->n_scheduled++;
    g_array_append_val(model->expected, event);
}

static void
model_cancel(Model *model)
{
    Expected *event = expected_at(model, (unsigned)event_queue_draw(model, model->expected->len));

    assert_int_equal(sim_cancel(model->sim, event->id), event->id != 0);
    assert_false(sim_cancel(model->sim, event->id));
    event->id = 0;
}

static void
model_act(Model *model)
{
    if (model->n_operations == 0)
        return;
    model->n_operations--;
    for (uint64_t n = event_queue_draw(model, 3); n > 0; n--)
        model_schedule(model);
    if (event_queue_draw(model, 100) < model->cancel_share)
        model_cancel(model);
}

static void
model_fire(Sim *sim, void *data)
{
    Model *model = the_model;
    Expected *fired = expected_at(model, GPOINTER_TO_UINT(data));

    assert_ptr_equal(fired, model_next(model));
    assert_int_equal(sim_now(sim), fired->at);
    fired->id = 0;
    model->n_fired++;
    model_act(model);
}

/* The clock goes on to some instant before the next event; then a few are scheduled, most of them
 * before it. */
static void
model_act_early(Model *model)
{
    SimTime gap = model_next(model)->at - sim_now(model->sim);

    if (gap > 1)
        sim_run_until(model->sim,
                      sim_now(model->sim) + (SimTime)event_queue_draw(model, (uint64_t)gap));
    for (unsigned i = 0; i < 100 && model->n_operations > 0; i++, model->n_operations--)
        model_schedule(model);
}

static int
event_queue_compare_times(const void *a, const void *b)
{
    SimTime first = *(const SimTime *)a, second = *(const SimTime *)b;

    return first < second ? -1 : first > second;
}

/* A list of pending events equals the model's, and making it changes nothing. */
static void
assert_pending_as_the_model(Model *model)
{
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(SimTime));
    SimPending first = {0};

    for (unsigned i = 0; i < model->expected->len; i++)
        if (expected_at(model, i)->id != 0)
            g_array_append_val(times, expected_at(model, i)->at);
    g_array_sort(times, event_queue_compare_times);

    g_autofree SimPending *pending = g_new(SimPending, times->len + 1);
    assert_int_equal(sim_pending(model->sim, pending, times->len + 1), times->len);
    assert_int_equal(sim_pending(model->sim, &first, 1), times->len > 0);
    for (unsigned i = 0; i < times->len; i++)
        assert_int_equal(pending[i].at, g_array_index(times, SimTime, i));
    if (times->len > 0)
        assert_true(first.at == pending[0].at && strcmp(first.name, "model") == 0 &&
                    first.wait == 1);
}

typedef struct {
    const char *name;
    unsigned n_start, n_operations, cancel_share;
    gboolean is_wide;
} ModelCase;

static const ModelCase model_cases[] = {
    {"fires in order: few events",                           3,   300, 0,  FALSE},
    {"fires in order: many events",                          400, 600, 0,  FALSE},
    {"fires in order: a few are cancelled",                  300, 600, 30, FALSE},
    {"fires in order: most are cancelled",                   600, 600, 95, FALSE},
    {"fires in order: few events, from ns to a day",         3,   300, 0,  TRUE },
    {"fires in order: many events, from ns to a day",        400, 600, 0,  TRUE },
    {"fires in order: most are cancelled, from ns to a day", 600, 600, 95, TRUE },
};

static void
fires_as_the_model(void **state)
{
    const ModelCase *row = *state;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        g_autoptr(Sim) sim = sim_new(&(SimOptions){.seed = seed});
        g_autoptr(GArray) expected = g_array_new(FALSE, FALSE, sizeof(Expected));
        Model model = {
            .sim = sim,
            .expected = expected,
            .stream = sim_stream(sim, "model"),
            .n_operations = row->n_operations,
            .cancel_share = row->cancel_share,
            .is_wide = row->is_wide,
        };
        the_model = &model;
        for (unsigned i = 0; i < row->n_start; i++)
            model_schedule(&model);
        for (unsigned i = 0; i < row->n_start * row->cancel_share / 100; i++)
            model_cancel(&model);
        while (model_next(&model) != NULL) {
            assert_int_equal(sim_next_event_at(sim), model_next(&model)->at);
            if (event_queue_draw(&model, 8) == 0) /* from outside, and before what comes next */
                model_act_early(&model);
            if (model.n_fired % 32 == 0)
                assert_pending_as_the_model(&model);
            assert_true(sim_step(sim));
        }
        assert_false(sim_step(sim));
        assert_int_equal(sim_next_event_at(sim), SIM_TIME_MAX);
        assert_int_equal(sim_events_pending(sim), 0);
        assert_int_equal(sim_events_fired(sim), model.n_fired);
        assert_int_equal(model.n_scheduled, model.n_fired + model.n_freed);
    }
}
TEST_ROWS(model_cases, fires_as_the_model);

/* ---- Events that write letters ---- */

static GString *written;

/* @data: the letter to write */
static void
write_letter(Sim *sim, void *data)
{
    (void)sim;
    g_string_append_c(written, (char)GPOINTER_TO_INT(data));
}

static const SimEventType write_event = {.name = "write", .fire = write_letter};

static int
start_writing(void **state)
{
    (void)state;
    written = g_string_new(NULL);
    return 0;
}

static int
stop_writing(void **state)
{
    (void)state;
    g_string_free(written, TRUE);
    return 0;
}

static void
write_and_schedule_now(Sim *sim, void *data)
{
    write_letter(sim, data);
    sim_at(sim, sim_now(sim), &write_event, GINT_TO_POINTER('!'), 1);
}

static const SimEventType tick_that_schedules = {.name = "tick", .fire = write_and_schedule_now};

TEST_WITH(start_writing, stop_writing, ticks_come_last_and_what_they_schedule_before_the_next)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){0});

    sim_at_tick(sim, 5, 7, &tick_that_schedules, GINT_TO_POINTER('c'), 1, 0);
    sim_at_tick(sim, 5, 3, &tick_that_schedules, GINT_TO_POINTER('b'), 1, 0);
    sim_at_tick(sim, 5, (UINT64_C(1) << 38) - 1, &tick_that_schedules, GINT_TO_POINTER('z'), 1, 0);
    sim_at(sim, 6, &write_event, GINT_TO_POINTER('6'), 1);
    sim_at(sim, 5, &write_event, GINT_TO_POINTER('1'), 1);
    sim_at(sim, 5, &write_event, GINT_TO_POINTER('2'), 1);
    sim_run_until(sim, 100);
    assert_string_equal(written->str, "12b!c!z!6");
}

TEST_WITH(start_writing, stop_writing, never_is_not_scheduled)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){0});
    static const SimEventType event = {
        .name = "never", .fire = write_letter, .free_data = model_freed};
    Model model = {0};

    the_model = &model;
    assert_int_equal(sim_at(sim, SIM_TIME_MAX, &event, NULL, 1), 0);
    assert_int_equal(sim_after(sim, SIM_TIME_MAX - 1, &event, NULL, 1) != 0, TRUE);
    assert_int_equal(model.n_freed, 1);
    assert_false(sim_cancel(sim, 0));
    sim_free(g_steal_pointer(&sim));
    assert_int_equal(model.n_freed, 2);
}

static void
stop_now(Sim *sim, void *data)
{
    write_letter(sim, data);
    sim_stop(sim);
}

static const SimEventType stop_event = {.name = "stop", .fire = stop_now};

TEST_WITH(start_writing, stop_writing, runs_until)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){0});

    sim_at(sim, 10, &write_event, GINT_TO_POINTER('a'), 1);
    sim_at(sim, 20, &stop_event, GINT_TO_POINTER('b'), 1);
    sim_at(sim, 20, &write_event, GINT_TO_POINTER('c'), 1);
    sim_at(sim, 30, &write_event, GINT_TO_POINTER('d'), 1);
    assert_true(sim_run_until(sim, 9));
    assert_int_equal(sim_now(sim), 9);
    assert_true(sim_run_until(sim, 10));
    assert_string_equal(written->str, "a");
    assert_false(sim_run_until(sim, 25));
    assert_string_equal(written->str, "ab");
    assert_int_equal(sim_now(sim), 20);
    assert_true(sim_run_until(sim, 25));
    assert_int_equal(sim_now(sim), 25);
    assert_false(sim_run_until(sim, 100));
    assert_string_equal(written->str, "abcd");
    assert_int_equal(sim_now(sim), 30);
}

TEST_WITH(start_writing, stop_writing, an_id_does_not_cancel_a_later_event)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){0});
    SimEventId first = sim_at(sim, 1, &write_event, GINT_TO_POINTER('a'), 1);

    sim_step(sim);
    SimEventId second =
        sim_at(sim, 2, &write_event, GINT_TO_POINTER('b'), 1); /* takes the place of the first */
    assert_int_not_equal(first, second);
    assert_false(sim_cancel(sim, first));
    assert_int_equal(sim_events_pending(sim), 1);
    assert_true(sim_cancel(sim, second));
    assert_int_equal(sim_events_pending(sim), 0);
    assert_false(sim_step(sim));
}

/* ---- Causes ---- */

typedef struct {
    SimCauseId seen[8];
    unsigned n;
} Causes;

static void
see_cause(Sim *sim, void *data)
{
    Causes *causes = data;
    causes->seen[causes->n++] = sim_cause(sim);
}

static const SimEventType see_event = {.name = "see", .fire = see_cause};

static void
see_and_schedule(Sim *sim, void *data)
{
    see_cause(sim, data);
    sim_at_detail(sim, sim_now(sim) + 5, &see_event, data, 7, 9);
    sim_at(sim, sim_now(sim), &see_event, data, 8); /* no time passes: no entry */
}

static const SimEventType see_more_event = {.name = "see more", .fire = see_and_schedule};

TEST_WITH(start_writing, stop_writing, causes_form_chains_that_add_up)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){0});
    Causes causes = {0};

    sim_after(sim, 10, &see_more_event, &causes, 6);
    sim_run_until(sim, 100);
    const SimTrace *trace = sim_trace(sim);
    assert_int_equal(causes.n, 3);
    assert_int_equal(causes.seen[0], 1);
    assert_int_equal(causes.seen[1], 1);
    assert_int_equal(causes.seen[2], 2);
    assert_int_equal(sim_trace_length(trace), 3);
    assert_int_equal(sim_trace_get(trace, 1).at, 10);
    assert_int_equal(sim_trace_get(trace, 1).parent, 0);
    assert_int_equal(sim_trace_get(trace, 1).wait, 6);
    assert_int_equal(sim_trace_get(trace, 2).at, 15);
    assert_int_equal(sim_trace_get(trace, 2).parent, 1);
    assert_int_equal(sim_trace_get(trace, 2).wait, 7);
    assert_int_equal(sim_trace_get(trace, 2).detail, 9);

    /* Something parked at 10 goes on at 15. */
    assert_int_equal(sim_resume(sim, 1, 4, 3), 3);
    assert_int_equal(sim_cause(sim), 3);
    assert_int_equal(sim_trace_get(trace, 3).parent, 1);
    assert_int_equal(sim_trace_get(trace, 3).wait, 4);
    assert_int_equal(sim_resume(sim, 2, 4, 3), 2); /* of this instant: no wait */
}

TEST_WITH(start_writing, stop_writing, an_untraced_run_keeps_no_causes)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){.untraced = TRUE});
    Causes causes = {0};

    sim_after(sim, 10, &see_more_event, &causes, 6);
    sim_run_until(sim, 100);
    assert_int_equal(sim_trace_length(sim_trace(sim)), 1);
    assert_int_equal(sim_resume(sim, 0, 4, 3), 0);
    assert_int_equal(sim_cause(sim), 0);
}

/* Entry @i of a log in which short and long numbers of all kinds meet. */
static SimCause
packed_entry(SimCauseId i)
{
    static const SimWait waits[] = {1, 29, 30, 31, 32, UINT16_MAX};
    static const uint16_t details[] = {0, 62, 63, 64, UINT16_MAX};
    SimCause entry = {.wait = waits[i % G_N_ELEMENTS(waits)],
                      .detail = details[i % G_N_ELEMENTS(details)],
                      .parent = i - 1};

    if (i % 7 == 0) /* the ways to the parents take one to three bytes */
        entry.parent = i / (1 + i % 5);
    return entry;
}

/* The time between entries @i and @i - 1 takes none to eight bytes. */
static SimTime
packed_since(SimCauseId i)
{
    if (i == 20000)
        return INT64_C(1) << 60;
    return i % 1000 == 0 ? INT64_C(1) << i / 1000 * 2 : i % 3;
}

TEST_WITH(start_writing, stop_writing, a_packed_trace_is_the_same)
{
    const SimCauseId n = 70000;
    g_autoptr(SimTrace) trace = sim_trace_new(NULL);
    SimTime at = 0;

    for (SimCauseId i = 1; i < n; i++) {
        SimCause entry = packed_entry(i);
        at += i < 30000 ? packed_since(i) : 1;
        if (i == SIM_TRACE_BLOCK * 250) { /* an entry that opens a block, and is withdrawn */
            sim_trace_append(trace, 0, at, 1, 1);
            sim_trace_withdraw(trace, i);
            assert_int_equal(sim_trace_length(trace), i);
            assert_int_equal(sim_trace_get(trace, i - 1).parent, packed_entry(i - 1).parent);
        }
        assert_int_equal(sim_trace_append(trace, entry.parent, at, entry.wait, entry.detail), i);
    }
    g_autoptr(SimTraceReader) few = sim_trace_reader_new(trace, 4);
    g_autoptr(SimTraceReader) all = sim_trace_reader_new(trace, 1u << 20);
    at = 0;
    for (SimCauseId i = 1; i < n; i++) {
        SimCause expected = packed_entry(i), entry = sim_trace_get(trace, i);
        at += i < 30000 ? packed_since(i) : 1;
        assert_true(entry.at == at && entry.parent == expected.parent);
        assert_true(entry.wait == expected.wait && entry.detail == expected.detail);
        assert_memory_equal(sim_trace_read(few, i), &entry, sizeof entry);
        assert_memory_equal(sim_trace_read(all, n - i), sim_trace_read(few, n - i), sizeof entry);
    }
}

/* An entry at the time of its parent is the parent. */
TEST_WITH(start_writing, stop_writing, a_trace_has_no_entries_without_length)
{
    g_autoptr(SimTrace) trace = sim_trace_new(NULL);

    for (SimCauseId id = 1; id < 1000; id++) {
        assert_int_equal(sim_trace_add(trace, id - 1, id, 1, (uint16_t)id), id);
        assert_int_equal(sim_trace_add(trace, id, id, 1, 0), id);
    }
}
