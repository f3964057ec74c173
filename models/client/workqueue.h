/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "process.h"

/* client-go's work queue of keys of one kind: FIFO, dirty and processing sets, delayed and
 * rate-limited adds (CGO-20..29). It tells when there is work; a worker calls work_queue_get() and
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
    uint16_t label;  /* of its delays, in the log of causes */
    const char *job; /* the process in its metrics, outlives the queue; NULL: no metrics */
    void (*ready)(void *self); /* there is work. Called within add: only take note */
    /* The back-off of @key is over. Whether a sync would fail at once, to no effect but the next
     * back-off: the queue then begins that without a sync. May be NULL; limit.base is set. */
    gboolean (*fails_again)(void *self, const ObjectKey *key);
    void *self;
} WorkQueueOptions;

WorkQueue *work_queue_new(const WorkQueueOptions *options);
void work_queue_free(WorkQueue *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WorkQueue, work_queue_free)

void work_queue_add(WorkQueue *self, ObjectKey *key);
/* The same for a loop that adds all keys from time to time. If this add brings the key back, the
 * log of causes says that the key has waited for the loop (@loop: its label) since its last
 * sync. */
void work_queue_add_again(WorkQueue *self, ObjectKey *key, uint16_t loop);
/* The next three are for walks over thousands of keys, and take their slots. Whether the key waits
 * in the queue, or will when its sync is over. work_queue_add_again() then changes nothing, so that
 * such a loop may leave the key out. */
gboolean work_queue_has(const WorkQueue *self, uint32_t slot);
/* work_queue_add() of a key that the queue has already. */
void work_queue_add_had(WorkQueue *self, uint32_t slot);
/* work_queue_add_again() of a key that the queue does not have; then it is taken, synced well and
 * done at this instant. The end of its wait is the cause from now on. */
void work_queue_pass(WorkQueue *self, uint32_t slot, uint16_t loop);
void work_queue_add_after(WorkQueue *self,
                          ObjectKey *key,
                          SimTime delay); /* if there are two, the earlier stays (CGO-24) */
void work_queue_add_rate_limited(WorkQueue *self, ObjectKey *key);
void work_queue_forget(WorkQueue *self, ObjectKey *key);
unsigned work_queue_failures(const WorkQueue *self, const ObjectKey *key);
unsigned work_queue_length(const WorkQueue *self);
/* Calls @seen with each key that waits for a worker, the head first, then with each delayed key in
 * the order of adding. @at: when a delayed key is added, otherwise now. @failures: since the key
 * was last forgotten */
typedef void (*WorkQueueSeen)(void *data, const ObjectKey *key, SimTime at, unsigned failures);
void work_queue_list(const WorkQueue *self, WorkQueueSeen seen, void *data);

/* Takes the head, which is being processed from now on. @added_by: (out): the cause of its add, for
 * the log of causes. Returns: (nullable) (borrowed): %NULL: the queue is empty */
ObjectKey *work_queue_get(WorkQueue *self, SimCauseId *added_by);
void work_queue_done(WorkQueue *self, ObjectKey *key);
