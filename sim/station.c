/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "station.h"
#include "sim/sim-test.h"

#define CAPACITY_MIN 16 /* a power of two */

typedef struct {
    void *job;
    SimCauseId parked; /* the cause of its coming */
} WaitingJob;

struct SimStation {
    Sim *sim;
    SimStationServe serve;
    void *self;
    SimWait wait;
    unsigned servers; /* 0: no limit */
    unsigned n_busy;
    gboolean is_starting;
    /* A ring: the n_queued jobs from @first on. */
    WaitingJob *ring;
    unsigned capacity;
    unsigned first;
    unsigned n_queued;
};

SimStation *
sim_station_new(Sim *sim, unsigned servers, SimStationServe serve, void *user, SimWait wait)
{
    SimStation *self = g_new0(SimStation, 1);

    self->sim = sim;
    self->servers = servers;
    self->serve = serve;
    self->self = user;
    self->wait = wait;
    return self;
}

void
sim_station_free(SimStation *self)
{
    if (self == NULL)
        return;
    g_free(self->ring);
    g_free(self);
}

static WaitingJob *
queue_place(const SimStation *self, unsigned i)
{
    return &self->ring[(self->first + i) & (self->capacity - 1)];
}

static void
queue_grow(SimStation *self)
{
    unsigned capacity = MAX(2 * self->capacity, CAPACITY_MIN);
    WaitingJob *ring = g_new(WaitingJob, capacity);

    for (unsigned i = 0; i < self->n_queued; i++)
        ring[i] = *queue_place(self, i);
    g_free(self->ring);
    self->ring = ring;
    self->capacity = capacity;
    self->first = 0;
}

static gboolean
has_free_server(const SimStation *self)
{
    return self->servers == 0 || self->n_busy < self->servers;
}

void
sim_station_submit(SimStation *self, void *job)
{
    if (self->n_queued == 0 && has_free_server(self)) {
        self->n_busy++;
        self->serve(self->self, job);
        return;
    }
    if (self->n_queued == self->capacity)
        queue_grow(self);
    *queue_place(self, self->n_queued++) = (WaitingJob){job, sim_cause(self->sim)};
}

static void
start_first(SimStation *self)
{
    WaitingJob first = *queue_place(self, 0);

    self->first = (self->first + 1) & (self->capacity - 1);
    self->n_queued--;
    self->n_busy++;
    sim_resume(self->sim, first.parked, self->wait, 0);
    self->serve(self->self, first.job);
}

void
sim_station_done(SimStation *self)
{
    g_assert(self->n_busy > 0);
    self->n_busy--;
    if (self->is_starting) /* the job was done at once: the loop below goes on, so that calls do not
                              nest */
        return;

    SimCauseId cause = sim_cause(self->sim);
    self->is_starting = TRUE;
    while (self->n_queued > 0 && has_free_server(self))
        start_first(self);
    self->is_starting = FALSE;
    sim_set_cause(self->sim, cause); /* the caller goes on with its own cause */
}

gboolean
sim_station_withdraw(SimStation *self, const void *job)
{
    unsigned i = 0;

    while (i < self->n_queued && queue_place(self, i)->job != job)
        i++;
    if (i == self->n_queued)
        return FALSE;
    for (; i + 1 < self->n_queued; i++)
        *queue_place(self, i) = *queue_place(self, i + 1);
    self->n_queued--;
    return TRUE;
}

unsigned
sim_station_busy(const SimStation *self)
{
    return self->n_busy;
}

unsigned
sim_station_queued(const SimStation *self)
{
    return self->n_queued;
}
