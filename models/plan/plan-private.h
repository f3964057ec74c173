/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "operations.h"
#include "plan.h"

#include <stdbool.h>
#include <stddef.h>

/* Inside the executor: plan.c builds plans, execute.c carries them out, workers.c starts them from
 * work queues. */

typedef enum {
    STEP_REQUEST, /* of the API server */
    STEP_CALL,    /* of the driver */
    STEP_EVENT,
    STEP_CHANGE,
    STEP_START,  /* of another plan */
    STEP_GATHER, /* starts several plans and waits for all */
    STEP_WAIT,
    STEP_POLL,
} StepKind;

/* Allocated for the members of its kind only: see plan_add(). */
typedef struct {
    uint8_t kind;   /* StepKind */
    uint8_t errors; /* PlanErrors */
    uint16_t code;  /* ApiCode: the result: set as the step is carried out */
    const char *rule;
    const Object *result; /* (owned) */
    char *message;        /* (owned): the failure; NULL: none */
    union {
        struct {
            ApiRequest request; /* its object is (owned) */
            int base_step;      /* edits the result of that step; -1: the request is complete */
            gboolean is_noop;   /* a PUT that changes nothing */
            ObjectEdit edit;
            const void *arg;
        } write;
        struct {
            CsiDriver *driver;
            CsiRequest *request;   /* (owned) */
            CsiResponse *response; /* (owned) */
        } call;
        struct {
            const Object *object; /* (owned) */
            int step;             /* with @object NULL: about what this step returned */
            const char *type, *reason, *message;
        } event;
        struct {
            PlanChange change; /* its object is (owned) */
            int step;          /* takes its object from that step; -1: no */
        } change;
        struct {
            PlanStart start;
            Operations *operations; /* NULL: plain plan_start() */
            OperationKey key;
        } start;
        struct {
            PlanStart *starts;   /* (owned) */
            gboolean *went_well; /* (owned): of each of them */
            unsigned n, n_left;
            gboolean is_started;
        } gather;
        struct {
            SimTime delay;
            SimWait wait;
        } wait;
        struct {
            SimTime period, timeout;
            /* Under way: */
            uint64_t order; /* among the ticks of an instant */
            SimTime started_at, asked_at;
            SimTime next_at, delay; /* growing grid: the next look, and the delay after it before
                                       jitter */
            unsigned n_looks;       /* growing grid: looks drawn so far */
            SimCauseId begun_by;
            SimEventId next_look, gives_up; /* 0: none */
            /* What a poll that is tried again need not read: */
            PlanCondition condition;
            gboolean at_once;
            int growth_permille; /* 0: the grid is even */
            double jitter;
            SimTime cap;
        } poll;
    };
} Step;

typedef enum {
    PLAN_REQUEUE_NOT,
    PLAN_REQUEUE_AFTER,
    PLAN_REQUEUE_RATE_LIMITED,
} PlanRequeue;

/* A block of plan_alloc(), or what plan_own() keeps. */
typedef struct PlanBlock PlanBlock;
struct PlanBlock {
    PlanBlock *next;
    uint32_t size; /* of the whole */
    bool owns;     /* the bytes are a PlanOwned */
    max_align_t bytes[];
};

typedef struct {
    void *data;
    GDestroyNotify free_data;
} PlanOwned;

#define PLAN_OWN_STEPS 2 /* enough for most plans */

struct Plan {
    /* What a poll that is tried again reads (operation_try_again()), */
    Component *component; /* NULL: the plan is abandoned, over or put aside */
    GList link;           /* in component->plans */
    RefCount refs;        /* one for its life, one for each reply or event under way */
    unsigned cursor;      /* the step being carried out */
    SimTime started_at;
    Step **steps; /* (owned): own_steps, or a larger block */
    Step *own_steps[PLAN_OWN_STEPS];
    PlanStart start; /* and its begin */
    SimMemory *memory;
    unsigned n_steps, steps_capacity;
    PlanDecide then;
    CsiCallId call_id;   /* under way; 0: none */
    Workers *workers;    /* of the queue that started it; NULL: none */
    const char *rule;    /* of the steps being added */
    const char *failure; /* static or interned; plan_fail() */
    int last_step;
    bool then_anew;  /* the steps so far are dropped before @then */
    bool thought;    /* the next request needs no time of the component's own before it */
    uint8_t requeue; /* PlanRequeue */
    SimTime requeue_after;
    PlanBlock *blocks;            /* the newest first */
    void *notes;                  /* one of the blocks; NULL: none */
    const PlanStart *gathered_as; /* in the step that waits for this plan; NULL: none */
};

Plan *plan_new(const PlanStart *start, Workers *workers);
Plan *plan_ref(Plan *self);
void plan_unref(Plan *self);
/* Drops all steps, as before the first decision. */
void plan_forget_steps(Plan *self);
void plan_apply_change(Plan *self, Step *step); /* carries it out: changes.c */
/* Frees a change that was carried out: nobody reads it again, and the plan may wait for hours. */
void plan_drop_change(Plan *self, unsigned i);
static inline Step *
plan_step(const Plan *self, unsigned i)
{
    return self->steps[i];
}
/* Decides, lets the component's own time pass, decides again, executes. Returns: FALSE if the plan
 * ended at once; then @plan is gone */
gboolean plan_execute(Plan *plan);
/* Whether the queue's owner is told why a plan fails. */
gboolean workers_listen(const Workers *self);
/* @message: interned */
void workers_plan_over(Workers *self, Plan *plan, PlanEnd end, const char *message);
/* A request's verb, a call's method, an Event's reason. Static or interned */
const char *plan_step_text(const Step *step);
