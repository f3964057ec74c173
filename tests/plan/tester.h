/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "models/csi/modelled/modelled-driver.h"
#include "models/plan/operations.h"
#include "tests/lib/test.h"

/* A model with one queue, whose workers run tester_decides(). */
typedef struct {
    Component base;
    Informer *claims;
    Workers *workers;
    Operations *operations;
    int64_t changed; /* by plan_change() */
} Tester;

typedef struct {
    Sim *sim;
    Objects *objects;
    Timing timing;
    Cluster *cluster;
    ApiServer *api;
    CsiDriver *driver;
    GString *log; /* what happened, with times */
} TesterWorld;

/* What the test at hand wants. Tests run one after the other, so globals do no harm. */
extern PlanDecide tester_decides;
extern TesterWorld *tester_world;
extern unsigned tester_workers; /* how many */
extern gboolean tester_is_deaf; /* the queue's owner is not told how a sync ends */
extern gboolean tester_retries;
extern gboolean tester_never_sleeps; /* loops poll */
extern Plan *tester_polling;         /* the plan that polls; NULL: none */

ObjectKey *tester_claim_key(const TesterWorld *world, const char *name);
void tester_create_claim(TesterWorld *world, const char *name);
Tester *tester_model(const TesterWorld *world);
/* Starts the cluster; the tester decides by @decides. */
void tester_start(TesterWorld *world, PlanDecide decides);
void tester_sync_key(TesterWorld *world, const char *name);
gboolean tester_annotate(Object *object, const void *value);
/* The claim of the plan in the informer. */
const Object *tester_cached(const void *self, const Plan *plan);
/* Appends a line to TesterWorld.log. */
void tester_log(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Each request takes 10 ms, a thought 1 ms; a watch event comes 2 ms after the answer. */
int tester_setup(void **state);
int tester_teardown(void **state);
