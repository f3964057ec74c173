/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "component.h"
#include "rules.h"

/* What a component wants done, step by step, and the one executor that does it.
 *
 * A decide function is pure: it reads informers and the component's state (both const), and adds
 * steps to a plan. The executor carries the steps out in order and in virtual time: each request
 * waits for the component's own time (TIM-10), its client's token, and the API server. A step that
 * fails ends the plan as failed unless it says otherwise. When all steps are done, the decide
 * function given by plan_then() is asked again, with the results at hand; without one the plan is
 * over.
 *
 * Deciding costs no virtual time. Before a plan's first request the component thinks (TIM-10) and
 * then decides afresh, so that it acts on what its cache holds as the request leaves; decide is
 * pure, so asking twice is free of effects. */

typedef void (*PlanDecide)(const void *self, Plan *plan);
typedef struct PlanStart PlanStart;
typedef struct Workers Workers;

/* What an error of a step means. Flags. */
typedef enum {
    PLAN_STOP = 0,                /* the plan has failed: no further step, no plan_then() */
    PLAN_GO_ON = 1 << 0,          /* any error: go on with the next step; plan_code() tells */
    PLAN_GONE_IS_FINE = 1 << 1,   /* 404 counts as done */
    PLAN_EXISTS_IS_FINE = 1 << 2, /* 409 AlreadyExists counts as done */
    PLAN_DECIDE = 1 << 3,         /* any error: skip to plan_then(), which reads plan_code() */
    PLAN_SEND_ALWAYS = 1 << 4,    /* also a write that changes nothing (VB-92) */
    PLAN_WOKEN =
        1 << 5, /* a poll that plan_wake() reaches from its beginning on: it may sleep at once */
} PlanErrors;

/* A change of the component's own state, carried out in order by ModelClass.apply_change(). The
 * meanings are the model's. */
struct PlanChange {
    int what;
    const ObjectKey *key;
    const Object *object; /* kept alive by the plan; with plan_change_result(): the result of that
                             step, NULL if it failed */
    const void *pointer;  /* borrowed; must outlive the plan */
    const char *text;     /* static or interned */
    int64_t number;
};

/* ---- For decide functions ---- */

ObjectKey *plan_key(const Plan *self); /* what this plan is about */
const void *
plan_operation(const Plan *self); /* the operation's struct, from PlanStart; NULL: none */
/* Memory that lives as long as the plan, zeroed: for arguments of edits. */
void *plan_alloc(Plan *self, size_t size);
#define plan_new_arg(plan, Type) ((Type *)plan_alloc((plan), sizeof(Type)))
/* Keeps @data as long as the plan lives. NULL is fine. */
void plan_own(Plan *self, void *data, GDestroyNotify free_data);
/* Keeps @object alive as long as the plan lives. Returns: (borrowed): @object */
const Object *plan_keep(Plan *self, const Object *object);
const char *plan_internf(Plan *self, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The text in quotes, escaped as by Go's %q. Returns: (borrowed): interned */
const char *plan_quote(Plan *self, const char *text);

/* Notes: what one decide function of a plan leaves for the next. They belong to the plan, zeroed at
 * first, and are dropped with it, when it is decided afresh, and by plan_then_anew(). @clear: drops
 * what they refer to; may be NULL. */
void *plan_notes_new(Plan *self, size_t size, GDestroyNotify clear);
#define plan_new_notes(plan, Type, clear) ((Type *)plan_notes_new((plan), sizeof(Type), (clear)))
void *plan_notes(Plan *self); /* NULL: none */

/* The rule that the following steps obey: "PVC-21.3". Static. */
void plan_because(Plan *self, const char *rule);
/* Finds the rule that applies to these facts in a table without releases and gates; the following
 * steps obey it. Returns: what follows: Rule.then */
int plan_judge(Plan *self, const RuleTable *rules, uint32_t facts);

/* The requests that follow go through this client's bucket (a second clientset). Borrowed; NULL:
 * the component's again. */
void plan_use_client(Plan *self, ApiClient *client);

/* Edits for the requests below. @finalizer: interned */
gboolean edit_add_finalizer(Object *object, const void *finalizer);
gboolean edit_remove_finalizer(Object *object, const void *finalizer);

/* Requests. @edit's @arg: borrowed, must live as long as the plan (plan_alloc(), static, interned).
 * Each returns the number of its step. Objects are kept alive by the plan. A PUT whose edit changes
 * nothing is not sent: its result is its base, API_OK. */
int plan_get(Plan *self, const ObjectKey *key, PlanErrors errors);
int plan_list(Plan *self, ObjectKind kind, PlanErrors errors); /* its answer: plan_list_find() */
int plan_create(Plan *self, Object *object /* taken */, PlanErrors errors);
int
plan_update(Plan *self, const Object *base, ObjectEdit edit, const void *arg, PlanErrors errors);
int plan_update_status(
    Plan *self, const Object *base, ObjectEdit edit, const void *arg, PlanErrors errors);
/* The same, about the answer to step @step. */
int plan_update_result(Plan *self, int step, ObjectEdit edit, const void *arg, PlanErrors errors);
int plan_update_result_status(
    Plan *self, int step, ObjectEdit edit, const void *arg, PlanErrors errors);
/* Patches carry no resource version: they edit what is stored (API-13). */
int
plan_patch(Plan *self, const ObjectKey *key, ObjectEdit edit, const void *arg, PlanErrors errors);
int plan_patch_status(
    Plan *self, const ObjectKey *key, ObjectEdit edit, const void *arg, PlanErrors errors);
/* The same with @base's resource version as a precondition (API-36): another version gives 409. */
int plan_patch_status_at(
    Plan *self, const Object *base, ObjectEdit edit, const void *arg, PlanErrors errors);
/* @uid: precondition, {0}: none. @grace_s: -1: the object's own */
int
plan_delete(Plan *self, const ObjectKey *key, ObjectUid uid, int32_t grace_s, PlanErrors errors);
/* The same; its dependents go first (WL-102) */
int plan_delete_foreground(Plan *self, const ObjectKey *key, ObjectUid uid, PlanErrors errors);
int plan_bind_pod(Plan *self, const Object *pod, const char *node_name, PlanErrors errors);

/* A call of a CSI driver. @request is copied; what it points to is interned or lives as long as the
 * plan. */
int plan_call(Plan *self, CsiDriver *driver, const CsiRequest *request, PlanErrors errors);

/* Steps that take no time. */
void plan_event(
    Plan *self, const Object *object, const char *type, const char *reason, const char *format, ...)
    G_GNUC_PRINTF(5, 6);
/* The same. @message: interned */
void plan_event_with(
    Plan *self, const Object *object, const char *type, const char *reason, const char *message);
/* The same about what step @step returned. If it returned nothing, the Event is about an object of
 * that kind without a name, as the one that a Go client returns with an error. */
void plan_event_of_result(
    Plan *self, int step, const char *type, const char *reason, const char *message);
void plan_change(Plan *self, const PlanChange *change);
void plan_change_result(Plan *self,
                        int what,
                        int step); /* a change with the object that @step returned */

/* Changes that need no apply_change(): a queue gets a key; a table of the component loses or gets a
 * key. @object: (nullable): the value, of which the table takes a reference; NULL: the table is a
 * set */
void plan_queue(Plan *self, Workers *workers, const ObjectKey *key);
void plan_forget(Plan *self, GHashTable *table, const ObjectKey *key);
void plan_remember(Plan *self, GHashTable *table, const ObjectKey *key, const Object *object);

/* Starts @n plans of this component beside this one, and goes on when all are over; fails if one
 * fails. Each waits for the component's own time first. @starts is copied; each plan's done is
 * called. */
int plan_gather(Plan *self, const PlanStart *starts, unsigned n, PlanErrors errors);

/* Steps that take time and no request. */
void plan_wait(Plan *self, SimTime delay, SimWait wait);
/* Waits until the answer of the last request has travelled back. Only for decisions that race with
 * that answer: elsewhere this time is part of the time before the next request (TIM-10). */
void plan_wait_answer(Plan *self);
/* Waits for the component's own time (TIM-10) after the last answer: the next plan of the key
 * starts after it. */
void plan_wait_own_time(Plan *self);
/* Asks @condition at now + period, now + 2 period, ... as a poll would; with @at_once also now. The
 * poll sleeps between the plan_wake()s of this plan, and is then asked at the next instant of that
 * grid: call plan_wake() with every change that could make the condition true. A change before the
 * first possible wake-up is found at the first instant; with PLAN_WOKEN or @at_once there is none.
 * After @timeout (from now, in virtual time; SIM_TIME_MAX: none) the step fails with API_TIMEOUT.
 * @condition returns 0: not yet; 1: yes; -1: failed (the step's code is API_INVALID). */
typedef int (*PlanCondition)(const void *self, const Plan *plan);
int plan_poll(Plan *self,
              SimTime period,
              SimTime timeout,
              gboolean at_once,
              PlanCondition condition,
              PlanErrors errors);

/* The same on a grid that grows, as wait.ExponentialBackoff: the k-th look comes @period *
 * growth^(k-1) * uniform [1, 1 + jitter) after the one before, each at most @cap. @growth_permille:
 * 1050 for 1.05. */
int plan_poll_growing(Plan *self,
                      SimTime period,
                      int growth_permille,
                      double jitter,
                      SimTime cap,
                      SimTime timeout,
                      PlanCondition condition,
                      PlanErrors errors);

/* Ends this plan as failed, with this message. Later steps are not carried out. */
void plan_fail(Plan *self, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The same. @message: static or interned */
void plan_fail_with(Plan *self, const char *message);
/* For a worker's plan that ends well: queues the key again after @delay. By default the key is
 * forgotten. */
void plan_requeue_after(Plan *self, SimTime delay);
/* The same with the rate limiter's delay. */
void plan_requeue_rate_limited(Plan *self);
/* Calls @decide when all steps so far are done. */
void plan_then(Plan *self, PlanDecide decide);
/* The same, and first drops the steps so far with their results and all memory of plan_alloc() and
 * plan_own(). For plans that loop: they would grow without end. */
void plan_then_anew(Plan *self, PlanDecide decide);

/* ---- Results, within plan_then()'s decide functions and conditions ---- */

ApiCode plan_code(const Plan *self,
                  int step); /* of a request or poll; of a CSI call: API_OK or API_INVALID */
const Object *plan_object(const Plan *self, int step); /* (borrowed): NULL on error */
/* The answer to plan_list(): the objects that the API server has as the answer arrives. To be read
 * at that instant, before anything else is written: by the decide function of plan_then(). */
unsigned plan_list_length(const Plan *self, int step);
const Object *
plan_list_find(const Plan *self, int step, const ObjectKey *key);         /* NULL: not there */
const Object *plan_list_next(const Plan *self, int step, uint32_t *slot); /* @slot: 0 at first */
const char *plan_message(const Plan *self, int step); /* interned; NULL: the step did not fail */
const CsiResponse *plan_response(const Plan *self, int step); /* of a call, also a failed one */
int
plan_last_step(const Plan *self); /* the last step carried out; with PLAN_DECIDE, the failed one */
/* Whether it failed. */
static inline gboolean
plan_has_failed(const Plan *self)
{
    return plan_code(self, plan_last_step(self)) != API_OK;
}
static inline const char *
plan_last_message(const Plan *self)
{
    return plan_message(self, plan_last_step(self));
}
/* Of a gathering: the number of plans that it started, 0 if it was not carried out; and whether the
 * @i-th of them ended well. */
unsigned plan_gathered(const Plan *self, int step);
gboolean plan_gathered_well(const Plan *self, int step, unsigned i);
SimTime plan_started_at(const Plan *self);
SimTime plan_now(const Plan *self);
SimTime plan_run_start(const Plan *self); /* sim_start(), for texts with times */

/* ---- Starting plans ---- */

typedef enum {
    PLAN_DONE,
    PLAN_FAILED,
} PlanEnd;

struct PlanStart {
    Component *component;
    void *operation; /* borrowed; may be NULL */
    void *owner;     /* for code that starts plans for others: plan_owner() */
    /* A poll of the plan has timed out, and plans need not be whole. Returns: whether that was all:
     * plan_put_aside() or operation_put_aside() was called. FALSE: the plan goes on as usual. May
     * be NULL. */
    gboolean (*timed_out)(void *self, Plan *plan);
    PlanDecide decide;
    ObjectKey *key;                /* its object; draws are counted per key */
    GDestroyNotify free_operation; /* called when the plan is freed; may be NULL */
    ApiClient *client;             /* NULL: the component's */
    bool no_think;                 /* its requests leave at once (no TIM-10) */
    /* @decide is called once, and not again after the component's own time. Only for plans that
     * always begin with a GET: no change in the meantime could make a different plan. */
    bool decides_once;
    /* Part of the state that a cluster starts with: requests and calls of NodeGetInfo take no time,
     * no token and no draw, and no observer is told. If a driver does not know its answer
     * beforehand, the call fails. */
    bool at_once;
    const char
        *kind; /* of a keyed operation: only failures of the same kind delay it (OP-2); static */
    /* The plan is over. Not called if the component is gone (a crash). @message: why it failed. May
     * be NULL. */
    void (*done)(void *self, Plan *plan, PlanEnd end, const char *message);
};

void *plan_owner(const Plan *self);
/* plan_operation() of a plan that is over: done() may change it, decide functions may not. */
void *plan_done_operation(const Plan *self);
/* The same within PlanStart.timed_out. */
void *plan_timed_out_operation(const Plan *self);
/* Within PlanStart.timed_out: the plan is over for now, and keeps its poll. Its reference passes to
 * the caller: plan_poll_again() or plan_drop_aside(). */
void plan_put_aside(Plan *plan);
/* The same plan once more, from its poll on. Its condition is as false as when it was last asked.
 */
void plan_poll_again(Plan *plan);
void plan_drop_aside(Plan *plan); /* NULL is fine */
/* Whether each plan is carried out as a whole: where somebody sees the steps of plans, and where
 * loops never sleep. Else a plan whose end is known may be left out (sync_at_once, fails_again), or
 * put aside. Tests compare both. */
gboolean plans_are_whole(const Component *component);
/* Starts a plan now. Returns: (borrowed): valid until done; NULL if it was over at once (done has
 * been called) */
Plan *plan_start(const PlanStart *start);
/* The condition of plan_poll() may have changed. Does nothing for plans that do not poll. */
void plan_wake(Plan *self);
/* Cancels the plan, as a context is cancelled. The step under way goes on, but the plan does not
 * wait for it; done is called with PLAN_FAILED. */
void plan_cancel(Plan *self);
/* What the plan is doing: @step: a verb, a call or an Event's reason, NULL: nothing; @rule: why.
 * Both static. */
void plan_under_way(const Plan *self, const char **step, const char **rule);
/* Drops all plans of a component that dies, without calling done(). */
void plans_abandon(Component *component);

/* ---- Workers: plans for the keys of a work queue ---- */

typedef struct {
    const char *name; /* of the queue, in metrics; static */
    unsigned n_workers;
    size_t n_flag;   /* an int32_t in the process's options, in place of n_workers; 0: none */
    RateLimit limit; /* of retries */
    RateLimit (*limit_of)(const void *process_options); /* in place of limit; NULL: none */
    gboolean
        retry; /* queues the key of a failed plan again, rate limited; else drops it (PVC-10) */
    unsigned retries_max; /* after so many consecutive retries the key is dropped until it is added
                             again; 0: no limit */
    PlanDecide sync;
    /* Does what @sync would plan for this key, if that is known and takes no time, without a plan.
     * Returns: FALSE: not known. May be NULL. */
    gboolean (*sync_at_once)(void *self, const ObjectKey *key);
    /* Whether @sync would fail for this key as the last time, at once, and its Events would be
     * dropped. Asked as a back-off of the key ends. Only with @retry, without @done and
     * @retries_max. May be NULL. */
    gboolean (*fails_again)(void *self, const ObjectKey *key);
    /* A plan of this queue is over, before its key is queued again or forgotten. May be NULL. */
    void (*done)(void *self, ObjectKey *key, PlanEnd end, const char *message);
} WorkersOptions;

/* @options is copied. The component frees its workers when it ends. */
Workers *workers_new(Component *component, const WorkersOptions *options);
void workers_free(Workers *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Workers, workers_free)
WorkQueue *workers_queue(Workers *self);
/* Shorthand for work_queue_add(workers_queue()). */
void workers_add(Workers *self, const ObjectKey *key);
/* Whether a key that is added now is the next that a worker takes, at this instant, before anything
 * else happens; and nobody wants to see its plan. */
gboolean workers_are_idle(const Workers *self);
const char *workers_name(const Workers *self);
/* Returns: how many there are. @n_busy: (out): and how many have a key */
unsigned workers_count(const Workers *self, unsigned *n_busy);
/* For tests that start syncs themselves: hands out no key from now on. */
void workers_hold(Workers *self);

/* Details of a step, for an observer. */
typedef struct {
    const ObjectKey *key; /* object of the request or Event; NULL: none */
    const char *message;  /* of an Event; NULL: the step is no Event */
    gboolean is_warning;  /* of an Event */
    gboolean is_write;    /* a write that is sent: it changes something */
    gboolean is_idle;     /* a write that changes nothing and is not sent */
    gboolean
        has_thought; /* the component's own time has passed: steps seen before it are told again */
} PlanStepView;
void plan_view_step(const Plan *self, PlanStepView *view);
