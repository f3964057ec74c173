/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "process.h"

/* client-go's leader election: only the replica of a process that holds the Lease works
 * (CGO-60..66). Candidates poll the Lease; the leader renews it, with a client of its own. */
typedef struct LeaderElector LeaderElector;

/* Flags of a process, and its number of replicas. */
typedef struct {
    int32_t replicas;
    gboolean enabled;
    SimTime lease_duration; /* how long candidates wait for a silent leader */
    SimTime renew_deadline; /* how long a leader tries to renew before it gives up */
    SimTime retry_period;   /* between two tries */
} LeaderElectionOptions;

typedef struct {
    Process *process; /* all borrowed */
    const LeaderElectionOptions *options;
    ObjectKey *lease;
    const char *identity;     /* of the candidate; interned */
    const char *event_source; /* static or interned */
    double qps;               /* of its client, as of api_client_new() */
    unsigned burst;
    gboolean has_led;            /* at the start of a run: it already holds the Lease */
    void (*started)(void *data); /* it is the leader from now on */
    /* it could not renew: the process must end. May be NULL. Must not free the elector */
    void (*stopped)(void *data);
    void *data;
} LeaderElectorOptions;

/**
 * leader_elector_new:
 * @options: copied
 * The first try is now, or, at the start of a run, at a random time within a period. With @has_led,
 * started() is called in a later event of this instant.
 */
LeaderElector *leader_elector_new(const LeaderElectorOptions *options);
/* The process ends: the Lease is not given back (CGO-63). */
void leader_elector_free(LeaderElector *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LeaderElector, leader_elector_free)
gboolean leader_elector_leads(const LeaderElector *self);

/* A name of a lock: every character outside [a-zA-Z0-9-] becomes a dash (CGO-66). Returns:
 * (owned) */
char *leader_election_name(const char *text);
