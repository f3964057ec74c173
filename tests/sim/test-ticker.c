/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tickers asleep against tickers that poll: the same work at the same instants for the same
 * reasons. */
#include "sim/sim-test.h"
#include "sim/ticker.h"
#include "tests/lib/test.h"

#define N_TICKERS 6
#define WAIT_TICK 1
#define WAIT_OTHER 2

typedef struct TickerWorld TickerWorld;

typedef struct {
    TickerWorld *world;
    unsigned number;
    SimTicker *ticker;
    unsigned n_waiting; /* pieces of work: a pass without any changes nothing */
    uint64_t n_passes;  /* with work */
} TickerWorker;

typedef struct {
    const char *name;
    double jitters[2]; /* taken in turns */
    SimTime cost_max;  /* of a pass */
    SimTime period_max, gap_max, long_max;
} WorldCase;

struct TickerWorld {
    const WorldCase *row;
    Sim *sim;
    GString *log;
    TickerWorker workers[N_TICKERS];
    SimStream stream;
    uint64_t n_arrivals;
};

static uint64_t
ticker_draw(TickerWorld *world, uint64_t entity, uint64_t n, uint64_t below)
{
    return sim_random_below(world->stream, entity, n, below);
}

static void
give_work(TickerWorker *worker)
{
    worker->n_waiting++;
    sim_ticker_wake(worker->ticker);
}

static void
work_arrives(Sim *sim, void *data)
{
    (void)sim;
    give_work(data);
}

static const SimEventType work_event = {.name = "work", .fire = work_arrives};

static void
long_pass_ends(Sim *sim, void *data)
{
    TickerWorker *worker = data;

    g_string_append_printf(worker->world->log, "%" G_GINT64_FORMAT " %u ends\n", sim_now(sim),
                           worker->number);
    sim_ticker_end_pass(worker->ticker, worker->n_waiting > 0);
}

static const SimEventType end_event = {.name = "end", .fire = long_pass_ends};

static void
log_pass(const TickerWorker *worker)
{
    Sim *sim = worker->world->sim;
    SimCause cause = sim_trace_get(sim_trace(sim), sim_cause(sim));
    SimCause parent = sim_trace_get(sim_trace(sim), cause.parent);

    g_string_append_printf(worker->world->log,
                           "%" G_GINT64_FORMAT " %u works, since %" G_GINT64_FORMAT
                           " wait %u after %" G_GINT64_FORMAT "\n",
                           sim_now(sim), worker->number, cause.at, cause.wait, parent.at);
}

/* Does a piece of work. Sometimes it takes time, sometimes it makes work for another ticker, at
 * once or in an event of this instant. */
static gboolean
worker_pass(void *data)
{
    TickerWorker *worker = data;
    TickerWorld *world = worker->world;
    if (worker->n_waiting == 0)
        return FALSE;

    log_pass(worker);
    worker->n_waiting--;
    uint64_t n = worker->n_passes++;
    TickerWorker *other = &world->workers[ticker_draw(world, worker->number, 4 * n, N_TICKERS)];
    uint64_t choice = ticker_draw(world, worker->number, 4 * n + 1, 10);
    if (choice < 2 && other != worker)
        give_work(other);
    if (choice == 2)
        sim_at(world->sim, sim_now(world->sim), &work_event, other, WAIT_OTHER);
    if (choice >= 8 && world->row->long_max > 0) {
        SimTime duration =
            (SimTime)ticker_draw(world, worker->number, 4 * n + 2, (uint64_t)world->row->long_max);
        sim_ticker_begin_long_pass(worker->ticker);
        sim_after(world->sim, duration, &end_event, worker, WAIT_OTHER);
    }
    return worker->n_waiting > 0;
}

static void arrive(Sim *sim, void *data);

static const SimEventType arrive_event = {.name = "arrive", .fire = arrive};

/* Gaps from 0 to very long ones. */
static void
arrive(Sim *sim, void *data)
{
    TickerWorld *world = data;
    uint64_t n = world->n_arrivals++;
    uint64_t scale = ticker_draw(world, 100, 2 * n, 4);
    SimTime gap_max =
        scale == 0 ? world->row->gap_max : world->row->period_max * (SimTime)scale / 2;

    give_work(&world->workers[ticker_draw(world, 101, n, N_TICKERS)]);
    sim_after(sim, (SimTime)ticker_draw(world, 100, 2 * n + 1, (uint64_t)gap_max), &arrive_event,
              world, WAIT_OTHER);
}

static void
ticker_world_start(TickerWorld *world)
{
    for (unsigned i = 0; i < N_TICKERS; i++) {
        TickerWorker *worker = &world->workers[i];
        *worker = (TickerWorker){.world = world, .number = i};
        worker->ticker = sim_ticker_new(
            world->sim,
            &(SimTickerOptions){
                .name = "worker",
                .period = 1 + (SimTime)ticker_draw(world, 102, i, (uint64_t)world->row->period_max),
                .cost = (SimTime)ticker_draw(world, 104, i, (uint64_t)world->row->cost_max + 1),
                .phase = (SimTime)ticker_draw(world, 103, i, (uint64_t)world->row->period_max),
                .jitter = world->row->jitters[i % 2],
                .stream = sim_stream(world->sim, "ticker"),
                .entity = i,
                .order = (i * 7 + 3) % 11, /* not in the order of creation */
                .wait = WAIT_TICK,
                .pass = worker_pass,
                .self = worker,
            });
    }
    sim_after(world->sim, 0, &arrive_event, world, WAIT_OTHER);
}

/* Returns: (owned): everything that happened */
static char *
world_run(const WorldCase *row, uint64_t seed, gboolean polling)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){.seed = seed, .polling = polling});
    TickerWorld world = {
        .row = row, .sim = sim, .log = g_string_new(NULL), .stream = sim_stream(sim, "world")};
    SimTime step = row->gap_max;

    ticker_world_start(&world);
    for (unsigned i = 1; i <= 40; i++) {
        assert_true(sim_run_until(sim, i * step));
        give_work(&world.workers[i % N_TICKERS]); /* from outside, after this instant */
    }
    for (unsigned i = 0; i < N_TICKERS; i++)
        sim_ticker_free(world.workers[i].ticker);
    return g_string_free(world.log, FALSE);
}

static const WorldCase world_cases[] = {
    {"asleep as polling: sliding",                     {0, 0},     0,  12,   200,   0   },
    {"asleep as polling: sliding, passes cost",        {0, 0},     3,  12,   200,   0   },
    {"asleep as polling: jittered",                    {0.3, 0.3}, 0,  12,   200,   0   },
    {"asleep as polling: jittered, passes cost",       {0.3, 0.3}, 3,  12,   200,   0   },
    {"asleep as polling: jittered a lot",              {3, 0},     1,  12,   200,   0   },
    {"asleep as polling: sliding, long passes",        {0, 0},     2,  12,   200,   60  },
    {"asleep as polling: jittered, long passes",       {0.3, 0.3}, 2,  12,   200,   60  },
    {"asleep as polling: all at nearly every instant", {0, 1},     0,  2,    30,    4   },
    {"asleep as polling: cost above the period",       {0, 1},     40, 2,    30,    4   },
    {"asleep as polling: long sleeps",                 {0.04, 0},  7,  1000, 50000, 3000},
};

static void
sleeps_as_if_it_polled(void **state)
{
    for (uint64_t seed = 1; seed <= 25; seed++) {
        g_autofree char *asleep = world_run(*state, seed, FALSE);
        g_autofree char *polling = world_run(*state, seed, TRUE);
        assert_true(strlen(asleep) > 1000);
        assert_string_equal(asleep, polling);
    }
}
TEST_ROWS(world_cases, sleeps_as_if_it_polled);

/* ---- One ticker, known instants ---- */

typedef struct {
    Sim *sim;
    SimTicker *ticker;
    GString *log;
    unsigned n_again;
    SimTime duration;
    gboolean free_within;
} Single;

static void
single_ends(Sim *sim, void *data)
{
    Single *single = data;

    (void)sim;
    sim_ticker_end_pass(single->ticker, single->n_again-- > 0);
}

static const SimEventType single_end_event = {.name = "end", .fire = single_ends};

static gboolean
single_pass(void *data)
{
    Single *single = data;

    g_string_append_printf(single->log, "%" G_GINT64_FORMAT " ", sim_now(single->sim));
    if (single->free_within)
        g_clear_pointer(&single->ticker, sim_ticker_free);
    else if (single->duration > 0) {
        sim_ticker_begin_long_pass(single->ticker);
        sim_after(single->sim, single->duration, &single_end_event, single, 1);
        return FALSE;
    }
    return single->n_again > 0 && single->n_again-- > 0;
}

typedef struct {
    const char *name;
    SimTime cost, woken_at, duration;
    const char *passes;
} KnownCase;

/* Period 10, first pass at 3, woken once, again twice. */
static const KnownCase known_cases[] = {
    {"Until: woken at the start",                         0, 0,    0,  "3 13 23 "       },
    {"Until: woken at an instant of its own",             0, 13,   0,  "13 23 33 "      },
    {"Until: woken just after",                           0, 14,   0,  "23 33 43 "      },
    {"Until: woken late",                                 0, 1000, 0,  "1003 1013 1023 "},
    {"Until: the period counts from the end of the pass", 0, 0,    25, "3 38 73 "       },
    {"Until: each pass costs",                            1, 0,    0,  "3 14 25 "       },
    {"Until: idle passes cost as well",                   1, 1000, 0,  "1004 1015 1026 "},
    {"Until: a cost of most of the period",               9, 100,  0,  "117 136 155 "   },
    {"Until: a long pass and its cost",                   1, 50,   25, "58 94 130 "     },
};

static void
wake_single(Sim *sim, void *data)
{
    (void)sim;
    sim_ticker_wake(data);
}

static const SimEventType wake_event = {.name = "wake", .fire = wake_single};

static void
passes_at_known_instants(void **state)
{
    const KnownCase *row = *state;
    g_autoptr(Sim) sim = sim_new(&(SimOptions){0});
    Single single = {
        .sim = sim, .log = g_string_new(NULL), .n_again = 2, .duration = row->duration};
    g_autoptr(SimTicker) ticker = sim_ticker_new(sim, &(SimTickerOptions){
                                                          .name = "single",
                                                          .period = 10,
                                                          .cost = row->cost,
                                                          .phase = 3,
                                                          .pass = single_pass,
                                                          .self = &single,
                                                      });

    single.ticker = ticker;
    sim_at(sim, row->woken_at, &wake_event, ticker, 1);
    sim_run_until(sim, 2000);
    assert_string_equal(single.log->str, row->passes);
    g_string_free(single.log, TRUE);
}
TEST_ROWS(known_cases, passes_at_known_instants);

/* JitterUntil: each pass comes a period and its cost after the one before, and up to the jitter
 * more. */
TEST(jitter_lengthens_each_period)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){.seed = 5});
    Single single = {.sim = sim, .log = g_string_new(NULL), .n_again = 1000};
    g_autoptr(SimTicker) ticker = sim_ticker_new(sim, &(SimTickerOptions){
                                                          .period = 100,
                                                          .cost = 7,
                                                          .jitter = 0.5,
                                                          .stream = sim_stream(sim, "ticker"),
                                                          .pass = single_pass,
                                                          .self = &single,
                                                      });
    sim_ticker_wake(ticker);
    sim_run_until(sim, 1000 * 1000);
    g_auto(GStrv) passes = g_strsplit(g_strchomp(single.log->str), " ", 0);
    int64_t shortest = INT64_MAX, longest = 0;

    assert_int_equal(g_strv_length(passes), 1001);
    for (unsigned i = 1; i < 1001; i++) {
        int64_t gap =
            g_ascii_strtoll(passes[i], NULL, 10) - g_ascii_strtoll(passes[i - 1], NULL, 10);
        shortest = MIN(shortest, gap);
        longest = MAX(longest, gap);
    }
    assert_in_range(shortest, 107, 108);
    assert_in_range(longest, 155, 156);
    g_string_free(single.log, TRUE);
}

TEST(may_be_freed_within_its_pass)
{
    g_autoptr(Sim) sim = sim_new(&(SimOptions){0});
    Single single = {.sim = sim, .log = g_string_new(NULL), .n_again = 5, .free_within = TRUE};

    single.ticker = sim_ticker_new(
        sim, &(SimTickerOptions){.period = 10, .pass = single_pass, .self = &single});
    sim_ticker_wake(single.ticker);
    sim_run_until(sim, 100);
    assert_string_equal(single.log->str, "0 ");
    assert_int_equal(sim_events_pending(sim), 0);
    g_string_free(single.log, TRUE);
}

TEST(next_is_where_a_wake_leads)
{
    for (unsigned jittered = 0; jittered < 2; jittered++)
        for (SimTime woken_at = 1; woken_at < 100; woken_at++) {
            g_autoptr(Sim) sim = sim_new(&(SimOptions){.seed = 3});
            Single single = {.sim = sim, .log = g_string_new(NULL)};
            g_autoptr(SimTicker) ticker =
                sim_ticker_new(sim, &(SimTickerOptions){
                                        .period = 6,
                                        .cost = 1,
                                        .jitter = 0.8 * jittered,
                                        .stream = sim_stream(sim, "ticker"),
                                        .pass = single_pass,
                                        .self = &single,
                                    });
            sim_at(sim, 1000, &wake_event, NULL, 1); /* so that time goes on */
            sim_run_until(sim, woken_at);
            SimTime next = sim_ticker_next(ticker);
            assert_true(next > woken_at && next <= woken_at + 12);
            assert_int_equal(sim_ticker_next(ticker), next);
            sim_ticker_wake(ticker);
            assert_int_equal(sim_ticker_next(ticker), next);
            sim_run_until(sim, 200);
            assert_int_equal(g_ascii_strtoll(single.log->str, NULL, 10), next);
            g_string_free(single.log, TRUE);
        }
}
