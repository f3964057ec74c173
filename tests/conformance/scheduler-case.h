/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/scheduler/scheduler-private.h"
#include "tests/conformance/engine.h"

/* What the suites of the scheduler's plugins share: a scheduler whose caches hold what the case
 * tells, the plugins one by one, and statuses as the cases have them. */

/* A scheduler with empty caches that watches nothing. Returns: (borrowed) */
Scheduler *scheduler_case_new(Case *self);
/* (borrowed): the one that runs */
Scheduler *scheduler_case(const Case *self);
/* (owned): an empty list of VolumeChoice */
GArray *scheduler_case_choices_new(void);
/* The elements of such a list. */
VolumeChoice *scheduler_case_choices(const GArray *choices);
/* Classes, claims, volumes, drivers, capacities and attachments of the case, into informers. */
void scheduler_case_seed(Case *self);
/* Changes what the informer of the kind has, as a watch would; no handler hears of it but the
 * assume caches. */
void scheduler_case_observe(Case *self, const Object *object);

/* (borrowed): a pod of the case; unnamed volumes, and a pod without a name, get one. @number: of
 * the name */
const Pod *scheduler_case_pod(Case *self, const json_t *manifest, unsigned number);
/* Puts a node into the scheduler's cache. @manifest NULL: one without labels. Returns: (borrowed)
 */
const NodeInfo *scheduler_case_node(Case *self, const json_t *manifest);
/* Puts pods there; those that are on a node already are left out. */
void scheduler_case_pods_on(Case *self, const char *path, const NodeInfo *node);

/* What a plugin said, against {code, reasons} at @path. Reasons of an error are not compared. */
void scheduler_case_expect(Case *self, const char *path, const json_t *expected, Verdict verdict);

/* One plugin: PreFilter, then Filter on the node. @recomputes: Filter, without state of PreFilter,
 * says what that said. */
void scheduler_case_run_plugin(Case *self, PluginId plugin, gboolean recomputes);
/* Whether the event helps the pod of the case whom @plugin turned away. The objects' kind tells the
 * event; NULL: none */
void scheduler_case_expect_hint(Case *self, PluginId plugin, const json_t *old, const json_t *new);
