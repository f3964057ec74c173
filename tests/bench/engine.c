/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the engine costs, on its public API, against the bare data structures. A line per figure:
 * `name value unit`.
 *
 *   engine                   all of them; instructions only where valgrind is installed
 *   engine CASE OPERATIONS   the work alone, for a profiler */
#include "yardstick.h"

#include "sim/distribution.h"
#include "sim/sim-test.h"
#include "sim/station.h"
#include "sim/ticker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_DELAYS 16384u
#define N_ROUNDS 7

static const SimOptions untraced = {.seed = 1, .untraced = TRUE};
static const SimOptions traced = {.seed = 1};

static SimDist *
exponential_new(SimTime mean)
{
    const SimDistArg args[] = {
        {.name = "mean", .is_time = TRUE, .time = mean}
    };
    return sim_dist_new("exponential", args, G_N_ELEMENTS(args), NULL);
}

/* ---- Hold: each event schedules one again, after an exponential time ---- */

typedef struct {
    Sim *sim;
    SimTime delays[N_DELAYS];
    unsigned next;
    size_t n_left;
} Hold;

static void hold_fire(Sim *sim, void *data);

static const SimEventType hold_event = {.name = "hold", .fire = hold_fire};

static void
hold_schedule(Hold *self)
{
    sim_after(self->sim, self->delays[self->next++ % N_DELAYS], &hold_event, self, 1);
}

static void
hold_fire(Sim *sim, void *data)
{
    Hold *self = data;

    hold_schedule(self);
    if (--self->n_left == 0)
        sim_stop(sim);
}

static void
hold_run(void *data, size_t n_holds)
{
    Hold *self = data;

    self->n_left = n_holds;
    sim_run_until(self->sim, SIM_TIME_MAX);
}

static void
hold_init(Hold *self, const SimOptions *options, size_t n_pending)
{
    g_autoptr(SimDist) exponential = exponential_new(SIM_SECOND);

    *self = (Hold){.sim = sim_new(options)};
    SimStream stream = sim_stream(self->sim, "hold");
    for (unsigned i = 0; i < N_DELAYS; i++)
        self->delays[i] = sim_dist_draw(exponential, stream, 0, i);
    for (size_t i = 0; i < n_pending; i++)
        hold_schedule(self);
    hold_run(self, 2 * n_pending);
}

/* ---- M/M/1: arrivals at 0.9 of the rate of service, exponential draws by key ---- */

#define LINE_LENGTH 65536u /* at this load a line of 300 is seen once in a lifetime */

typedef struct {
    Sim *sim;
    SimStation *station; /* NULL: the line below, as the yardstick has it */
    SimTime line[LINE_LENGTH];
    unsigned line_first, line_end;
    SimDist *service, *gap;
    SimStream draws; /* entity 0: gaps, 1: services */
    uint64_t n_arrived, n_served, n_left;
    SimTime arrived_at; /* the customer that is served now */
    SimTime total;
} EngineQueue;

/* A customer is the time of its arrival. */
G_STATIC_ASSERT(sizeof(SimTime) == sizeof(void *));

static void queue_served(Sim *sim, void *data);
static void queue_arrive(Sim *sim, void *data);

static const SimEventType served_event = {.name = "served", .fire = queue_served};
static const SimEventType arrive_event = {.name = "arrive", .fire = queue_arrive};

static void
queue_serve(void *data, void *customer)
{
    EngineQueue *self = data;
    SimTime duration = sim_dist_draw(self->service, self->draws, 1, self->n_served++);

    self->arrived_at = (SimTime)customer;
    sim_after(self->sim, duration, &served_event, self, 2);
}

static void
line_serve_first(EngineQueue *self)
{
    queue_serve(self, (void *)self->line[self->line_first % LINE_LENGTH]);
}

static void
queue_served(Sim *sim, void *data)
{
    EngineQueue *self = data;

    self->total += sim_now(sim) - self->arrived_at;
    if (self->station != NULL)
        sim_station_done(self->station);
    else if (++self->line_first != self->line_end)
        line_serve_first(self);
}

static void
line_join(EngineQueue *self, SimTime now)
{
    self->line[self->line_end++ % LINE_LENGTH] = now;
    if (self->line_end - self->line_first == 1)
        line_serve_first(self);
}

static void
queue_arrive(Sim *sim, void *data)
{
    EngineQueue *self = data;

    if (self->station != NULL)
        sim_station_submit(self->station, (void *)sim_now(sim));
    else
        line_join(self, sim_now(sim));
    if (--self->n_left > 0)
        sim_after(sim, sim_dist_draw(self->gap, self->draws, 0, self->n_arrived++), &arrive_event,
                  self, 3);
}

typedef enum {
    QUEUE_PLAIN = 0,
    QUEUE_STATION = 1 << 0, /* the engine's own station, instead of a queue by hand */
    QUEUE_TABLES = 1 << 1,  /* what is drawn comes from tables */
} QueueKind;

static SimDist *
queue_times(SimTime mean, QueueKind kind)
{
    SimDist *exact = exponential_new(mean);

    if ((kind & QUEUE_TABLES) == 0)
        return exact;
    SimDist *table = sim_dist_tabulate(exact);
    sim_dist_unref(exact);
    return table;
}

static void
queue_run(const SimOptions *options, QueueKind kind, size_t n_objects)
{
    g_autoptr(Sim) sim = sim_new(options);
    g_autoptr(SimDist) service = queue_times(SIM_SECOND, kind);
    g_autoptr(SimDist) gap = queue_times(SIM_SECOND * 10 / 9, kind);
    g_autoptr(SimStation) station = NULL;
    g_autofree EngineQueue *self = g_new0(EngineQueue, 1);

    self->sim = sim;
    self->service = service;
    self->gap = gap;
    self->draws = sim_stream(sim, "queue");
    self->n_left = n_objects;
    if (kind & QUEUE_STATION)
        station = sim_station_new(sim, 1, queue_serve, self, 4);
    self->station = station;
    sim_after(sim, 0, &arrive_event, self, 3);
    sim_run_until(sim, SIM_TIME_MAX);

    double mean =
        (double)self->total / (double)n_objects / SIM_SECOND; /* in theory 1 / (1 - 0.9) */
    if (n_objects >= 1000000 && !(mean > 9 && mean < 11))
        g_error("the mean time in the system is %.3f s rather than 10 s", mean);
}

/* ---- A ticker that slept for a day ---- */

static gboolean
ticker_pass(void *data)
{
    (void)data;
    return FALSE;
}

static void
ticker_wake(Sim *sim, void *data)
{
    (void)sim;
    sim_ticker_wake(data);
}

static void
ticker_run(size_t n_days)
{
    static const SimEventType wake_event = {.name = "wake", .fire = ticker_wake};
    g_autoptr(Sim) sim = sim_new(&untraced);
    g_autoptr(SimTicker) ticker = sim_ticker_new(sim, &(SimTickerOptions){
                                                          .name = "heartbeat",
                                                          .period = 10 * SIM_SECOND,
                                                          .jitter = 0.04,
                                                          .stream = sim_stream(sim, "ticker"),
                                                          .pass = ticker_pass,
                                                      });

    for (size_t day = 1; day <= n_days; day++)
        sim_at(sim, (SimTime)day * 24 * SIM_HOUR, &wake_event, ticker, 1);
    sim_run_until(sim, SIM_TIME_MAX);
}

/* ---- Measuring ---- */

static void
yardstick_run(void *data, size_t n_holds)
{
    yardstick_hold_run(data, n_holds);
}

static double
time_ns(void (*run)(void *data, size_t n), void *data, size_t n)
{
    gint64 start = g_get_monotonic_time();
    run(data, n);
    return (double)(g_get_monotonic_time() - start) * 1000.0 / (double)n;
}

static int
compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double
median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

typedef struct {
    const char *name;
    void (*run)(void *data, size_t n);
    void *data;
    double ns[N_ROUNDS];
} Contestant;

/* In turns, so that a noisy neighbour hits all alike. The first is the yardstick. */
static void
contest(const char *title, Contestant *contestants, size_t n_contestants, size_t n)
{
    double ratios[N_ROUNDS];

    for (unsigned round = 0; round < N_ROUNDS; round++)
        for (size_t i = 0; i < n_contestants; i++)
            contestants[i].ns[round] = time_ns(contestants[i].run, contestants[i].data, n);
    for (size_t i = 1; i < n_contestants; i++) {
        for (unsigned round = 0; round < N_ROUNDS; round++)
            ratios[round] = contestants[i].ns[round] / contestants[0].ns[round];
        printf("%s%s_ratio %.2f x\n", title, contestants[i].name, median(ratios, N_ROUNDS));
    }
    for (size_t i = 0; i < n_contestants; i++)
        printf("%s%s %.1f ns\n", title, contestants[i].name, median(contestants[i].ns, N_ROUNDS));
    fflush(stdout);
}

static void
bench_hold(size_t n_pending, const char *title, size_t n)
{
    g_autofree Hold *bare = g_new(Hold, 1), *logged = g_new(Hold, 1);
    YardstickHold *yardstick = yardstick_hold_new(n_pending);

    yardstick_hold_run(yardstick, 2 * n_pending);
    hold_init(bare, &untraced, n_pending);
    hold_init(logged, &traced, n_pending);
    contest(title,
            (Contestant[]){
                {.name = "_yardstick", .run = yardstick_run, .data = yardstick},
                {.name = "",           .run = hold_run,      .data = bare     },
                {.name = "_traced",    .run = hold_run,      .data = logged   },
    },
            3, n);
    yardstick_hold_free(yardstick);
    sim_free(bare->sim);
    sim_free(logged->sim);
}

static void
yardstick_queue(void *data, size_t n)
{
    (void)data;
    yardstick_mm1_run(1, n);
}

static void
engine_queue(void *data, size_t n)
{
    queue_run(data, QUEUE_PLAIN, n);
}

static void
engine_tables(void *data, size_t n)
{
    queue_run(data, QUEUE_TABLES, n);
}

static void
engine_station(void *data, size_t n)
{
    queue_run(data, QUEUE_STATION, n);
}

static void
ticker_days(void *data, size_t n)
{
    (void)data;
    ticker_run(n);
}

static void
hold_case(const SimOptions *options, size_t n_pending, size_t n)
{
    g_autofree Hold *hold = g_new(Hold, 1);

    hold_init(hold, options, n_pending);
    if (n > 0)
        hold_run(hold, n);
    sim_free(hold->sim);
}

static gboolean
engine_run_case(const char *name, size_t n)
{
    if (strcmp(name, "hold_1k") == 0)
        hold_case(&untraced, 1000, n);
    else if (strcmp(name, "hold_100k") == 0)
        hold_case(&untraced, 100000, n);
    else if (strcmp(name, "hold_1m") == 0)
        hold_case(&untraced, 1000000, n);
    else if (strcmp(name, "hold_1k_traced") == 0)
        hold_case(&traced, 1000, n);
    else if (strcmp(name, "mm1") == 0)
        queue_run(&untraced, QUEUE_PLAIN, n);
    else if (strcmp(name, "mm1_tables") == 0)
        queue_run(&untraced, QUEUE_TABLES, n);
    else if (strcmp(name, "mm1_station") == 0)
        queue_run(&untraced, QUEUE_STATION, n);
    else if (strcmp(name, "mm1_traced") == 0)
        queue_run(&traced, QUEUE_PLAIN, n);
    else
        return FALSE;
    return TRUE;
}

/* Returns: instructions that this program executes for the case, as callgrind counts them; 0
 * without valgrind */
static double
count_instructions(const char *program, const char *name, size_t n)
{
    g_autofree char *n_text = g_strdup_printf("%zu", n);
    const char *argv[] = {
        "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, n_text,
        NULL};
    g_autofree char *errors = NULL;

    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, &errors,
                      NULL, NULL))
        return 0;
    const char *collected = strstr(errors, "Collected : ");
    return collected != NULL ? g_ascii_strtod(collected + strlen("Collected : "), NULL) : 0;
}

static void
bench_instructions(const char *program)
{
    static const struct {
        const char *name;
        size_t n;
    } cases[] = {
        {"hold_1k",        100000},
        {"hold_100k",      100000},
        {"hold_1m",        200000},
        {"hold_1k_traced", 100000},
        {"mm1",            100000},
        {"mm1_tables",     100000},
        {"mm1_traced",     100000}
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        double less = count_instructions(program, cases[i].name, cases[i].n);
        double more = count_instructions(program, cases[i].name, 2 * cases[i].n);
        if (more > less && less > 0)
            printf("%s_instructions %.0f instructions\n", cases[i].name,
                   (more - less) / (double)cases[i].n);
        fflush(stdout);
    }
}

int
main(int argc, char **argv)
{
    if (argc == 3)
        return engine_run_case(argv[1], strtoull(argv[2], NULL, 10)) ? 0 : 2;

    bench_hold(1000, "hold_1k", 2000000);
    bench_hold(100000, "hold_100k", 1000000);
    bench_hold(1000000, "hold_1m", 1000000);
    contest("mm1",
            (Contestant[]){
                {.name = "_yardstick",   .run = yardstick_queue   },
                { .name = "",   .run = engine_queue, .data = (void *)&untraced},
                { .name = "_tables",  .run = engine_tables, .data = (void *)&untraced},
                { .name = "_traced",   .run = engine_queue,   .data = (void *)&traced},
                { .name = "_station", .run = engine_station, .data = (void *)&untraced},
    },
            5, 1000000);
    printf("ticker_day_asleep %.1f us\n", time_ns(ticker_days, NULL, 1000) / 1000);
    bench_instructions(argv[0]);
    return 0;
}
