/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/results/results.h"

/* Whole clusters in which nodes die, and the instants at which things first happened to nodes and
 * pods. Failures are the test's. */

#define CRASH_AT (60 * SIM_SECOND)
#define UNREACHABLE "node.kubernetes.io/unreachable"

#define POD_ON(name, node)                                                                         \
    "      - {apiVersion: v1, kind: Pod, metadata: {name: " name "}, spec: {nodeName: " node       \
    ", containers: [{name: c, image: i}]}}\n"

/* When something first was so; TIME_UNSET: never. */
typedef struct {
    SimTime unknown_at, no_schedule_at, no_execute_at, ready_again_at, untainted_at;
    SimTime schedulable_at; /* the taint NoSchedule went again */
} NodeSeen;

typedef struct {
    SimTime not_ready_at, deleted_at, gone_at, ready_again_at, ready_at;
} PodSeen;

typedef struct {
    Run *run;
    const char *taint;        /* taint whose comings and goings are noted */
    GHashTable *nodes, *pods; /* name -> NodeSeen, PodSeen */
} Seen;

/* Returns: (owned): a scenario with this text below "spec:" */
Scenario *scenario_of(const char *spec);
/* Runs it to its end. Returns: (owned) */
Seen *seen_new_with(const Scenario *scenario, const RunOptions *options);
Seen *seen_new(const Scenario *scenario, uint64_t seed);
/* The same, and notes taints of this key instead of UNREACHABLE. */
Seen *seen_watching(const Scenario *scenario, const RunOptions *options, const char *taint);
void seen_free(Seen *self);
/* Returns: (borrowed): all unset if it was never seen */
const NodeSeen *seen_node(const Seen *self, const char *name);
const PodSeen *seen_pod(const Seen *self, const char *name);
/* @at is between @min_s and @max_s seconds after @after. */
void assert_within(SimTime at, SimTime after, double min_s, double max_s);
/* Returns: (borrowed): as it is in the end; NULL: not there */
const Object *seen_object(const Seen *self, ObjectKind kind, const char *name);
/* When the first Event of this reason about the object was written; TIME_UNSET: never. */
SimTime seen_event_at(const Seen *self, const char *name, const char *reason);
/* How many Events of this reason were written about the object, with text in their message (NULL:
 * any). */
unsigned seen_n_events(const Seen *self, const char *name, const char *reason, const char *text);
