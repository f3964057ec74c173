/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "models/plan/plan.h"
#include "tests/conformance/case.h"

/* Runs conformance cases: recorded inputs and outputs of the real components' own tests, in JSON
 * (the README beside the case files describes them). The engine has what all suites share; a suite
 * has a file with its acts. No code is for a single case.
 *
 * A suite is a table of acts. The function of an act gets a Case, creates a world, fills caches,
 * does what the case asks, and compares; each difference is a case_fail(). A new suite needs a file
 * suite-<name>.c with its table, and a line in suites.h.
 *
 * Most acts run one sync of a component:
 *
 *     case_world_new(self, &options): the component runs, with empty caches and silent watches
 *     case_import(self, "initial.claims", KIND_CLAIM, CASE_API | CASE_INFORMER)
 *     case_run_plan(self, component, decide, key)
 *     case_expect_objects(self, "expected.claims", KIND_CLAIM)
 *     case_expect_writes(self, "observed.writes")
 */
typedef struct {
    const char *act; /* as in the case, or the category of a case without an act; "*": any, and the
                        suite fails those that it does not know; NULL ends a table */
    void (*run)(Case *self);
} Act;

/* For one file of cases. */
typedef struct {
    const char *name; /* the cases' "suite" */
    const Act *acts;
} Suite;

/* One case under way. */
struct Case {
    const json_t *json; /* (borrowed) */
    const char *id;
    GString *faults;  /* the differences; empty: passed */
    GHashTable *read; /* set of the paths that were asked for */
    /* The world, from case_world_new() on. */
    Sim *sim;
    Objects *objects;
    Timing timing;
    Cluster *cluster;
    ApiServer *api;
    StringMap *gates;  /* of the case */
    GPtrArray *owned;  /* of Object: caches and lists borrow them */
    GPtrArray *errors; /* injected refusals that are still to come */
    /* Recorded since case_world_new() or case_forget(). */
    json_t *writes; /* [{verb, resource, subresource?, namespace?, name, object?}] of the
                       components, also refused ones */
    json_t *events; /* [{type, reason}] as recorded */
    GPtrArray
        *changed; /* of ObjectKey: committed writes of the components, in order, each key once */
    unsigned n_starts; /* asynchronous operations asked for */
    void (*before_start)(
        Case *self,
        unsigned number); /* called as operation @number (from 1) is asked for; may be NULL */
    /* Of the last case_run_plan(). */
    gboolean plan_over, plan_failed, plan_requeues; /* requeues: its key is to come back */
    const char *plan_message;
};

/* @acts: of the suite. Returns: whether the case passed; if not, @faults says why */
gboolean case_run(const Act *acts, const json_t *json, GString *faults);
/* Returns: the act of a case; NULL: its suite has none */
const Act *case_find_act(const Act *acts, const json_t *json);

/* ---- Objects ---- */

/* Where imported objects go. Flags. An object with "x-not-in-controller-cache" goes to the API
 * only. */
typedef enum {
    CASE_API = 1 << 0,      /* the API server */
    CASE_INFORMER = 1 << 1, /* the process's informer of the kind, without a word to handlers */
} CaseWhere;

/* Returns: (borrowed): the object of a manifest, which need not say its kind. Uids may be any text.
 */
Object *case_object(Case *self, const json_t *manifest, ObjectKind kind);
/* Returns: (owned): what becomes of such a text: "uid11-1" */
char *case_uid(const char *text);
/* The same, with the kind that the manifest tells. */
Object *case_object_of_manifest(Case *self, const json_t *manifest);
/* Returns: (owned): [Object]: those of a list, in its order. @path may be absent */
GPtrArray *case_objects(Case *self, const char *path, ObjectKind kind);
/* Puts objects where they belong, those that are in no cache last: of two with one key the later
 * one wins. */
void case_import(Case *self, const char *path, ObjectKind kind, CaseWhere where);
void case_import_object(Case *self, Object *object, CaseWhere where);
gboolean case_is_api_only(const json_t *manifest);
/* "namespace/name", or "name" in the namespace "default" where the kind has namespaces. */
ObjectKey *case_key(Case *self, ObjectKind kind, const char *text);
/* Of objects in a list of manifests: the key of that which is named @name, whatever its namespace.
 * NULL: none */
ObjectKey *case_find_key(Case *self, const char *path, ObjectKind kind, const char *name);

/* Returns: (owned): an object for comparisons: without the parts that the README leaves out */
json_t *case_comparable(Case *self, const Object *object);

/* ---- The world ---- */

typedef struct {
    const ModelClass *only; /* the one model of its process that runs; NULL: all of the process */
    const char *process;    /* with @only NULL: the process; NULL: that of @only */
    int minor_version;      /* 0: 32 */
    gboolean measured;      /* metrics are kept */
    gboolean live;          /* watches deliver at once; else never: caches are seeded */
    /* May set flags; may be NULL. */
    void (*set_options)(Case *self, const ProcessClass *class, void *process_options);
} WorldOptions;

/* API server and component, nothing in them; all takes no time. inject.api_errors are loaded. */
void case_world_new(Case *self, const WorldOptions *options);
/* Starts the component. Before: what is in the API is in its caches, and its handlers have heard of
 * it. */
void case_start(Case *self, const WorldOptions *options);
/* Returns: (borrowed): the running model */
void *case_model(const Case *self, const ModelClass *class);
Informer *case_informer(const Case *self, const ModelClass *class, ObjectKind kind);
/* Lets everything happen that needs no more than @time. */
void case_wait(Case *self, SimTime time);
/* One plan of the component, to its end, and the operations that it starts, to theirs. */
void case_run_plan(Case *self, void *component, PlanDecide decide, ObjectKey *key);
/* The same of a start that the component has made; its owner and its end are the case's. */
void case_run_start(Case *self, PlanStart *start);
/* Forgets what was seen so far. */
void case_forget(Case *self);

/* ---- The suites ---- */

#define SUITE(name) extern const Suite name##_suite;
#include "tests/conformance/suites.h"
#undef SUITE
