/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/columns.h"
#include "run/files/result-file.h"
#include "run/world/run.h"
#include "stages.h"

/* Availability: how many of the pods that a workload wants are Ready, and why the others are not.
 *
 * A pod counts while its Ready condition is True and nobody has asked for its deletion. A workload
 * is measured from when all of its pods are Ready for the first time; one that never gets there,
 * from its creation. Pods without a controller are taken together by namespace; each is measured
 * from when it is Ready for the first time to its deletion or end. Pods of Jobs are not measured.
 */

/* clang-format off */
#define AVAILABILITY_CAUSES(X) \
    X(NODE_LOST,     "node lost",              "its Node is not Ready") \
    X(UNSCHEDULABLE, "unschedulable",          "no node takes it") \
    X(SCHEDULING,    "scheduling",             "it has no node yet, and was not refused") \
    X(ELSEWHERE,     "volume on another node", "one of its volumes is still attached elsewhere: the six minutes") \
    X(DRIVER_DOWN,   "driver down",            "it waits for its volumes during a fault of a driver") \
    X(NOT_ATTACHED,  "volume not attached",    "a volume is not attached yet") \
    X(NOT_MOUNTED,   "volume not mounted",     "a volume is not mounted yet") \
    X(STARTING,      "starting",               "its volumes are mounted, and it is not Ready") \
    X(EVICTED,       "evicted",                "an eviction or a taint deletes it, and its successor waits for that") \
    X(STOPPING,      "stopping",               "it is being deleted, and its successor waits for that") \
    X(NOT_CREATED,   "not created",            "the controller has not made it yet")
/* clang-format on */

typedef enum {
#define AVAILABILITY_MEMBER(member, text, meaning) AVAILABILITY_##member,
    AVAILABILITY_CAUSES(AVAILABILITY_MEMBER)
#undef AVAILABILITY_MEMBER
        N_AVAILABILITY_CAUSES,
} AvailabilityCause;

const char *availability_cause_name(AvailabilityCause cause);

/* Sums of pods times nanoseconds: 150,000 pods for a week do not fit into 64 bits. */
__extension__ typedef unsigned __int128 PodTime;

typedef struct {
    char *name; /* (owned): "StatefulSet/web", in another namespace "StatefulSet/shop/web" */
    PodTime desired;
    PodTime missing[N_AVAILABILITY_CAUSES]; /* adds up to the time in which pods were not Ready */
    SimTime measured;                       /* how long it was looked at */
    SimTime down;                           /* the time in which pods were missing */
    SimTime longest;                        /* outage */
    unsigned n_outages;
    unsigned n_started, n_runs; /* runs in which all of its pods were Ready at some time; all */
} AvailabilityRow;

/* Workloads of one run or of several. */
typedef struct {
    GArray *rows; /* of AvailabilityRow, in order of appearance */
} Availability;

Availability *availability_new(void);
void availability_free(Availability *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Availability, availability_free)
/* Adds a run that is over. */
void availability_add(Availability *self, const Run *run);
PodTime availability_missing(const AvailabilityRow *row);
/* In seconds of a pod. */
double availability_seconds(PodTime time);
/* The share of the desired pods' time in which they were Ready: 0 to 1; 1 without any time. */
double availability_share(const AvailabilityRow *row);
/* The share of all workloads together. */
double availability_total_share(const Availability *self);
/* The pods of all workloads that were missing, in seconds. */
double availability_total_missing_s(const Availability *self);
/* The member of summary.json. (owned): NULL: there are no workloads */
json_t *availability_json(const Availability *self);
/* The table of `kvolsim run`: workloads that were not always available, ten at most. */
void availability_append_table(const Availability *self, GString *text);

/* Calls @see for each time in which pods of a workload were missing, @until of the last one: now.
 * The run is not over: a pod without a controller counts from its first Ready only. */
typedef void (*OutageSeen)(void *data, const char *workload, SimTime since, SimTime until);
void availability_outages(const Run *run, OutageSeen see, void *data);

extern const ResultTable availability_table, availability_over_time_table;
/* availability.csv: a row for each workload. */
void availability_csv(const Run *run, const Stages *stages, ResultFile *file);
/* availability-over-time.csv: desired and Ready pods of each workload, at each change. */
void availability_over_time_csv(const Run *run, const Stages *stages, ResultFile *file);
