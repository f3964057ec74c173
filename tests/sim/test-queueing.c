/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine as a whole against queues whose mean waits are known in closed form. */
#include "sim/distribution.h"
#include "sim/station.h"
#include "tests/lib/test.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#define S SIM_SECOND
#define N_REPLICATIONS 50u
#define N_WARM_UP 5000u
#define N_CUSTOMERS 30000u

typedef struct {
    const char *name;
    unsigned servers;
    SimTime gap_mean;
    const char *service_kind;
    SimDistArg service[2];
    double wait; /* in the queue, seconds */
} QueueCase;

/* Services of 1 s in the mean, so the load of a server is 1 s / gap / servers.
 * M/M/1: wait = load / (1 - load).  M/G/1 (Pollaczek and Khinchine): load (1 + cv^2) / (2 (1 -
 * load)). M/M/c: Erlang's C formula / (c (1 - load)). */
#define TIME(name_, ns)                                                                            \
    {                                                                                              \
        .name = (name_), .is_time = TRUE, .time = (ns)                                             \
    }
#define NUMBER(name_, value)                                                                       \
    {                                                                                              \
        .name = (name_), .number = (value)                                                         \
    }
static const QueueCase queue_cases[] = {
    {"M/M/1, load 0.5",  1, 2 * S,         "exponential", {TIME("mean", S)},                    1      },
    {"M/M/1, load 0.8",  1, 1250 * SIM_MS, "exponential", {TIME("mean", S)},                    4      },
    {"M/M/2, load 0.75", 2, S * 2 / 3,     "exponential", {TIME("mean", S)},                    9.0 / 7},
    {"M/M/3, load 2/3",  3, S / 2,         "exponential", {TIME("mean", S)},                    4.0 / 9},
    {"M/D/1, load 0.8",  1, 1250 * SIM_MS, "constant",    {TIME("value", S)},                   2      },
    {"M/G/1, lognormal", 1, 1250 * SIM_MS, "lognormal",   {TIME("mean", S), NUMBER("cv", 0.5)}, 2.5    },
    {"M/G/1, gamma",     1, 1250 * SIM_MS, "gamma",       {TIME("mean", S), NUMBER("cv", 0.5)}, 2.5    },
    {"M/G/1, uniform",   1, 2 * S,         "uniform",     {TIME("min", 0), TIME("max", 2 * S)}, 2.0 / 3},
};

typedef struct {
    Sim *sim;
    SimStation *station;
    SimDist *gap, *service;
    SimStream draws; /* entity 0: gaps, 1: services */
    uint64_t n_arrived, n_served;
    double waited; /* seconds, of all after the warm-up */
} QueueingQueue;

G_STATIC_ASSERT(sizeof(SimTime) <= sizeof(void *));

static void
customer_served(Sim *sim, void *data)
{
    QueueingQueue *queue = data;

    (void)sim;
    sim_station_done(queue->station);
}

static const SimEventType served_event = {.name = "served", .fire = customer_served};

/* A customer is the time of its arrival. */
static void
serve_customer(void *data, void *customer)
{
    QueueingQueue *queue = data;

    if (queue->n_served >= N_WARM_UP)
        queue->waited += (double)(sim_now(queue->sim) - (SimTime)customer) / S;
    SimTime duration = sim_dist_draw(queue->service, queue->draws, 1, queue->n_served++);
    sim_after(queue->sim, duration, &served_event, queue, 1);
}

static void customer_arrives(Sim *sim, void *data);

static const SimEventType arrives_event = {.name = "arrives", .fire = customer_arrives};

static void
customer_arrives(Sim *sim, void *data)
{
    QueueingQueue *queue = data;

    sim_station_submit(queue->station, (void *)sim_now(sim));
    if (++queue->n_arrived < N_WARM_UP + N_CUSTOMERS)
        sim_after(sim, sim_dist_draw(queue->gap, queue->draws, 0, queue->n_arrived), &arrives_event,
                  queue, 2);
}

/* Returns: the mean wait of one replication, in seconds */
static double
queueing_simulate(const QueueCase *row, uint32_t replication)
{
    g_autoptr(Sim) sim =
        sim_new(&(SimOptions){.seed = 1, .replication = replication, .untraced = TRUE});
    g_autoptr(SimDist) gap =
        sim_dist_new("exponential", (const SimDistArg[]){TIME("mean", row->gap_mean)}, 1, NULL);
    g_autoptr(SimDist) service =
        sim_dist_new(row->service_kind, row->service, row->service[1].name != NULL ? 2 : 1, NULL);
    QueueingQueue queue = {
        .sim = sim,
        .gap = gap,
        .service = service,
        .draws = sim_stream(sim, row->name), /* two cases share no draws */
    };
    g_autoptr(SimStation) station = sim_station_new(sim, row->servers, serve_customer, &queue, 3);

    queue.station = station;
    sim_after(sim, 0, &arrives_event, &queue, 2);
    sim_run_until(sim, SIM_TIME_MAX);
    assert_int_equal(queue.n_served, N_WARM_UP + N_CUSTOMERS);
    return queue.waited / N_CUSTOMERS;
}

/* Within the 99.9 % interval of independent replications (Student's t): so eight correct cases pass
 * together with 99 %. The interval must be only a few percent wide. */
static void
waits_as_in_theory(void **state)
{
    const QueueCase *row = *state;
    double waits[N_REPLICATIONS], mean = 0, variance = 0;

    for (unsigned i = 0; i < N_REPLICATIONS; i++) {
        waits[i] = queueing_simulate(row, i);
        mean += waits[i] / N_REPLICATIONS;
    }
    for (unsigned i = 0; i < N_REPLICATIONS; i++)
        variance += (waits[i] - mean) * (waits[i] - mean) / (N_REPLICATIONS - 1);
    double half_width =
        gsl_cdf_tdist_Pinv(0.9995, N_REPLICATIONS - 1) * sqrt(variance / N_REPLICATIONS);

    assert_true(half_width < 0.05 * row->wait);
    assert_true(fabs(mean - row->wait) < half_width);
}
TEST_ROWS(queue_cases, waits_as_in_theory);
