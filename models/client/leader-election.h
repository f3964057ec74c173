/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "process.h"

/* client-go's leader election: of several replicas of a process the one that holds a Lease works
 * (CGO-60..66). Candidates look at the Lease again and again; the leader renews it, with a client
 * of its own. */
typedef struct LeaderElector LeaderElector;

/* Flags of a process, and how many there are of it. */
typedef struct {
    int32_t replicas;
    gboolean enabled;
    SimTime lease_duration; /* how long a silent leader is respected */
    SimTime renew_deadline; /* how long a leader tries to renew before it gives up */
    SimTime retry_period;   /* between two tries */
} LeaderElectionOptions;

typedef struct {
    Process *process; /* all borrowed */
    const LeaderElectionOptions *options;
    ObjectKey *lease;
    const char *identity;     /* of the candidate; interned */
    const char *event_source; /* static or interned */
    double qps;               /* of its client; <= 0: no limit */
    unsigned burst;
    gboolean
        has_led; /* at the start of a run: it holds the Lease, which it renewed some time before */
    void (*started)(void *data); /* it leads from now on */
    void (*stopped)(void *data); /* it could not renew: the process is to end. May be NULL. Must not
                                    free the elector */
    void *data;
} LeaderElectorOptions;

/**
 * leader_elector_new:
 * @options: copied
 * Makes its first try now, or, at the start of a run, some time within a period. With @has_led
 * started() is called in a later event of this instant.
 */
LeaderElector *leader_elector_new(const LeaderElectorOptions *options);
/* The process ends: the Lease is not given back (CGO-63). */
void leader_elector_free(LeaderElector *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LeaderElector, leader_elector_free)
gboolean leader_elector_leads(const LeaderElector *self);

/* Every character outside [a-zA-Z0-9-] as a dash: names of locks (CGO-66). Returns: (owned) */
char *leader_election_name(const char *text);
