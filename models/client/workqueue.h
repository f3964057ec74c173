/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "process.h"

/* client-go's work queue of keys of one kind: FIFO, dirty and processing sets, delayed and
 * rate-limited adds (CGO-20..29). Says when there is work; who takes it calls work_queue_get() and
 * work_queue_done(). */
typedef struct WorkQueue WorkQueue;

typedef struct {
    SimTime base, max; /* per item: base * 2^failures, at most max (CGO-26); base 0: none */
    double bucket_qps; /* in a MaxOf with the item's delay (CGO-27); 0: none */
    unsigned bucket_burst;
} RateLimit;

/* CGO-28: 5 ms doubling to 1000 s, and 10/s with a burst of 100. */
extern const RateLimit rate_limit_default;

typedef struct {
    Sim *sim;         /* (borrowed) */
    const char *name; /* the name in metrics; static */
    RateLimit limit;
    uint16_t label;            /* of its delays, in the log of causes */
    const char *job;           /* whose metrics it adds to, outlives the queue; NULL: nobody's */
    void (*ready)(void *self); /* something may be taken; called within add, so only note it */
    void *self;
} WorkQueueOptions;

WorkQueue *work_queue_new(const WorkQueueOptions *options);
void work_queue_free(WorkQueue *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WorkQueue, work_queue_free)

void work_queue_add(WorkQueue *self, ObjectKey *key);
/* The same by a loop that adds what it knows every now and then. In the log of causes the key has
 * waited for the loop (@loop: its label) since its last sync, if this is what brings it back. */
void work_queue_add_again(WorkQueue *self, ObjectKey *key, uint16_t loop);
void work_queue_add_after(WorkQueue *self,
                          ObjectKey *key,
                          SimTime delay); /* of two, the earlier time stays (CGO-24) */
void work_queue_add_rate_limited(WorkQueue *self, ObjectKey *key);
void work_queue_forget(WorkQueue *self, ObjectKey *key);
unsigned work_queue_failures(const WorkQueue *self, const ObjectKey *key);
unsigned work_queue_length(const WorkQueue *self);
/* For who looks: calls @seen with each key that waits for a worker, the head first, then with each
 * delayed one in the order of adding.
 * @at: of a delayed key: when it is added; else the present. @failures: since it was last forgotten
 */
typedef void (*WorkQueueSeen)(void *data, const ObjectKey *key, SimTime at, unsigned failures);
void work_queue_list(const WorkQueue *self, WorkQueueSeen seen, void *data);

/* Takes the head, which is processing from now on. @added_by: (out): what added it, for the log of
 * causes. Returns: (borrowed): NULL: empty */
ObjectKey *work_queue_get(WorkQueue *self, SimCauseId *added_by);
void work_queue_done(WorkQueue *self, ObjectKey *key);
