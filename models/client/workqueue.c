/* SPDX-License-Identifier: GPL-3.0-or-later */
/* client-go's rate-limited work queue: keys that are ready, in work, or delayed. A key is in the
 * queue once, however often it is added; a key that is added while it is in work comes again after
 * done(). Back-off is counted for each key, with a bucket for all. State lives in slots by key, so
 * asking whether a key waits touches one byte. */
#include "workqueue.h"
#include "models/metrics/metrics.h"
#include "sim/slots.h"
#include "sim/token-bucket.h"

const RateLimit rate_limit_default = {
    .base = 5 * SIM_MS, .max = 1000 * SIM_SECOND, .bucket_qps = 10, .bucket_burst = 100};

/* The state of a key. */
typedef struct {
    SimCauseId added_by; /* the cause of the last add; after a sync the cause of its end */
    uint16_t failures;
    uint8_t dirty : 1, processing : 1, delayed : 1;
} KeyState;

/* A delayed add. If a key has two, the earlier stays (CGO-24). */
typedef struct {
    WorkQueue *queue;
    SimMemory *memory;
    ObjectKey *key;
    SimTime at;
    SimEventId event;
    GList link; /* in the queue's delays */
} Delayed;

/* When a key was added, and when it was taken. */
typedef struct {
    SimTime added_at, taken_at;
} KeyTimes;

/* MET-120 to MET-125. */
typedef struct {
    SimSeries *adds, *depth, *duration, *work, *retries, *unfinished, *longest;
    SimSlots times;     /* of KeyTimes, by slot */
    GPtrArray *in_work; /* of ObjectKey */
} QueueMetrics;

struct WorkQueue {
    WorkQueueOptions options;
    QueueMetrics *metrics; /* (owned): NULL: not measured */
    SimSlots states;       /* of KeyState, by slot */
    /* Dirty and not processing: a ring. */
    ObjectKey **ready;
    unsigned ready_first, n_ready, ready_capacity; /* a power of two */
    GHashTable *delayed;                           /* ObjectKey -> Delayed */
    GQueue delays;                                 /* the same, in the order of adding */
    SimTokenBucket bucket;
};

#define READY_MIN 16

static KeyTimes *
times_of(QueueMetrics *metrics, const ObjectKey *key)
{
    return sim_slots_place(&metrics->times, key->slot);
}

/* Before a scrape: tells how long the present work has taken. */
static void
measure_work(void *data)
{
    const WorkQueue *self = data;
    QueueMetrics *metrics = self->metrics;
    SimTime now = sim_metrics_collected_at(sim_metrics(self->options.sim)), unfinished = 0,
            longest = 0;

    for (unsigned i = 0; i < metrics->in_work->len; i++) {
        SimTime worked = now - times_of(metrics, metrics->in_work->pdata[i])->taken_at;
        unfinished += worked;
        longest = MAX(longest, worked);
    }
    sim_series_set(metrics->depth, self->n_ready);
    sim_series_set(metrics->unfinished, unfinished);
    sim_series_set(metrics->longest, longest);
}

/* Makes all series of a queue. */
static QueueMetrics *
queue_metrics_new(WorkQueue *queue)
{
    SimMetrics *metrics = sim_metrics(queue->options.sim);
    const char *job = queue->options.job, *name = queue->options.name;

    if (metrics == NULL || job == NULL)
        return NULL;
    QueueMetrics *self = g_new(QueueMetrics, 1);
    *self = (QueueMetrics){
        .adds = metric_series(metrics, METRIC_QUEUE_ADDS, job, name),
        .depth = metric_series(metrics, METRIC_QUEUE_DEPTH, job, name),
        .duration = metric_series(metrics, METRIC_QUEUE_DURATION, job, name),
        .work = metric_series(metrics, METRIC_QUEUE_WORK, job, name),
        .retries = metric_series(metrics, METRIC_QUEUE_RETRIES, job, name),
        .unfinished = metric_series(metrics, METRIC_QUEUE_UNFINISHED, job, name),
        .longest = metric_series(metrics, METRIC_QUEUE_LONGEST, job, name),
        .times = {.cold = sim_cold(queue->options.sim), .element_size = sizeof(KeyTimes)},
        .in_work = g_ptr_array_new(),
    };
    sim_metrics_add_collector(metrics, measure_work, queue);
    return self;
}

static void
queue_metrics_free(WorkQueue *queue)
{
    QueueMetrics *self = queue->metrics;

    if (self == NULL)
        return;
    sim_metrics_remove_collector(sim_metrics(queue->options.sim), queue);
    sim_series_set(self->depth, 0);
    sim_series_set(self->unfinished, 0);
    sim_series_set(self->longest, 0);
    sim_slots_clear(&self->times);
    g_ptr_array_unref(self->in_work);
    g_free(self);
}

static void
measure_add(WorkQueue *self, const ObjectKey *key)
{
    sim_series_add(self->metrics->adds, 1);
    times_of(self->metrics, key)->added_at = sim_now(self->options.sim);
}

static void
measure_get(WorkQueue *self, ObjectKey *key)
{
    KeyTimes *times = times_of(self->metrics, key);

    times->taken_at = sim_now(self->options.sim);
    sim_series_observe(self->metrics->duration, times->taken_at - times->added_at);
    g_ptr_array_add(self->metrics->in_work, key);
}

static void
measure_done(WorkQueue *self, ObjectKey *key)
{
    SimTime now = sim_now(self->options.sim), taken_at = times_of(self->metrics, key)->taken_at;

    sim_series_observe(self->metrics->work, now - taken_at);
    if (now > taken_at)
        sim_metrics_add_span(
            sim_metrics(self->options.sim),
            &(SimSpan){self->options.job, self->options.name, key->text, taken_at, now});
    g_ptr_array_remove_fast(self->metrics->in_work, key);
}

/* All of a sync that takes no time: the key is added, taken and done. */
static void
measure_sync(const WorkQueue *self)
{
    sim_series_add(self->metrics->adds, 1);
    sim_series_observe(self->metrics->duration, 0);
    sim_series_observe(self->metrics->work, 0);
}

WorkQueue *
work_queue_new(const WorkQueueOptions *options)
{
    WorkQueue *self = g_new0(WorkQueue, 1);

    self->options = *options;
    self->states = (SimSlots){.cold = sim_cold(options->sim), .element_size = sizeof(KeyState)};
    self->delayed = g_hash_table_new(g_direct_hash, g_direct_equal);
    sim_token_bucket_init(&self->bucket, options->limit.bucket_qps, options->limit.bucket_burst);
    self->ready_capacity = READY_MIN;
    self->ready = g_new(ObjectKey *, self->ready_capacity);
    self->metrics = queue_metrics_new(self);
    return self;
}

void
work_queue_free(WorkQueue *self)
{
    if (self == NULL)
        return;

    while (self->delays.head != NULL)
        sim_cancel(self->options.sim, ((Delayed *)self->delays.head->data)->event); /* frees it */
    queue_metrics_free(self);
    g_hash_table_unref(self->delayed);
    g_free(self->ready);
    sim_slots_clear(&self->states);
    g_free(self);
}

static KeyState *
workqueue_state_of(WorkQueue *self, const ObjectKey *key)
{
    return sim_slots_place(&self->states, key->slot);
}

static void
grow_ready(WorkQueue *self)
{
    ObjectKey **larger = g_new(ObjectKey *, 2 * self->ready_capacity);

    for (unsigned i = 0; i < self->n_ready; i++)
        larger[i] = self->ready[(self->ready_first + i) & (self->ready_capacity - 1)];
    g_free(self->ready);
    self->ready = larger;
    self->ready_first = 0;
    self->ready_capacity *= 2;
}

static void
push_ready(WorkQueue *self, ObjectKey *key)
{
    if (self->n_ready == self->ready_capacity)
        grow_ready(self);
    self->ready[(self->ready_first + self->n_ready++) & (self->ready_capacity - 1)] = key;
    self->options.ready(self->options.self);
}

gboolean
work_queue_has(const WorkQueue *self, uint32_t slot)
{
    const KeyState *state = sim_slots_find(&self->states, slot);

    return state != NULL && state->dirty;
}

void
work_queue_add_had(WorkQueue *self, uint32_t slot)
{
    KeyState *state = sim_slots_place(&self->states, slot);

    g_assert(state->dirty);
    state->added_by = sim_cause(self->options.sim);
}

void
work_queue_pass(WorkQueue *self, uint32_t slot, uint16_t loop)
{
    KeyState *state = sim_slots_place(&self->states, slot);

    g_assert(!state->dirty && !state->processing);
    state->added_by = sim_resume(self->options.sim, state->added_by, WAIT_POLL, loop);
    state->failures = 0;
    if (self->metrics != NULL)
        measure_sync(self);
}

void
work_queue_add_again(WorkQueue *self, ObjectKey *key, uint16_t loop)
{
    KeyState *state = workqueue_state_of(self, key);
    Sim *sim = self->options.sim;
    SimCauseId cause = sim_cause(sim);

    if (state->dirty)
        return;
    sim_resume(sim, state->added_by, WAIT_POLL, loop);
    work_queue_add(self, key);
    sim_set_cause(sim, cause);
}

void
work_queue_add(WorkQueue *self, ObjectKey *key)
{
    KeyState *state = workqueue_state_of(self, key);

    state->added_by = sim_cause(self->options.sim);
    if (state->dirty) /* CGO-20 */
        return;
    state->dirty = TRUE;
    if (self->metrics != NULL)
        measure_add(self, key);
    if (!state->processing)
        push_ready(self, key);
}

static void
delayed_free(void *data)
{
    Delayed *delayed = data;
    WorkQueue *self = delayed->queue;

    g_hash_table_remove(self->delayed, delayed->key);
    g_queue_unlink(&self->delays, &delayed->link);
    workqueue_state_of(self, delayed->key)->delayed = FALSE;
    sim_memory_give(delayed->memory, delayed, sizeof *delayed);
}

static void delayed_over(Sim *sim, void *data);

static const SimEventType delay_event = {
    .name = "client/delayed add",
    .fire = delayed_over,
    .free_data = delayed_free,
};

static void
delayed_begin(Delayed *delayed, SimTime at)
{
    WorkQueue *self = delayed->queue;

    delayed->at = at;
    g_queue_push_tail_link(&self->delays, &delayed->link);
    delayed->event = sim_at_detail(self->options.sim, at, &delay_event, delayed, WAIT_BACKOFF,
                                   self->options.label);
}

void
work_queue_add_after(WorkQueue *self, ObjectKey *key, SimTime delay)
{
    if (delay <= 0) {
        work_queue_add(self, key);
        return;
    }

    SimTime at = sim_time_add(sim_now(self->options.sim), delay);
    Delayed *delayed =
        workqueue_state_of(self, key)->delayed ? g_hash_table_lookup(self->delayed, key) : NULL;
    if (delayed != NULL && delayed->at <= at)
        return;
    if (delayed != NULL)
        sim_cancel(self->options.sim, delayed->event); /* frees it */

    SimMemory *memory = sim_memory(self->options.sim);
    delayed = sim_memory_new_struct(memory, Delayed);
    *delayed = (Delayed){.queue = self, .memory = memory, .key = key};
    delayed->link.data = delayed;
    g_hash_table_insert(self->delayed, key, delayed);
    workqueue_state_of(self, key)->delayed = TRUE;
    delayed_begin(delayed, at);
}

/* CGO-26, CGO-27: the longer of the item's and the bucket's delay. */
static SimTime
retry_delay(WorkQueue *self, unsigned failures)
{
    const RateLimit *limit = &self->options.limit;
    SimTime delay = limit->base;
    SimTime now = sim_now(self->options.sim);

    for (unsigned i = 0; i < failures && delay < limit->max; i++)
        delay *= 2;
    delay = MIN(delay, limit->max);
    if (limit->bucket_qps > 0) {
        SimTime granted_at = sim_token_bucket_reserve(&self->bucket, now);
        delay = MAX(delay, granted_at - now);
    }
    return delay;
}

/* Counts a failure. Returns: the delay until the retry */
static SimTime
note_failure(WorkQueue *self, KeyState *state)
{
    SimTime delay = retry_delay(self, state->failures);

    if (state->failures < G_MAXUINT16)
        state->failures++;
    return delay;
}

void
work_queue_add_rate_limited(WorkQueue *self, ObjectKey *key)
{
    SimTime delay = note_failure(self, workqueue_state_of(self, key));

    if (self->metrics != NULL)
        sim_series_add(self->metrics->retries, 1);
    work_queue_add_after(self, key, delay);
}

static gboolean
fails_again(const WorkQueue *self, const KeyState *state, const ObjectKey *key)
{
    return self->options.fails_again != NULL && !state->dirty && !state->processing &&
           self->options.fails_again(self->options.self, key);
}

static void
delayed_over(Sim *sim, void *data)
{
    Delayed *delayed = data;
    WorkQueue *self = delayed->queue;
    ObjectKey *key = delayed->key;
    KeyState *state = workqueue_state_of(self, key);

    if (!fails_again(self, state, key)) {
        delayed_free(delayed);
        work_queue_add(self, key);
        return;
    }
    if (self->metrics != NULL) {
        measure_sync(self);
        sim_series_add(self->metrics->retries, 1);
    }
    state->added_by = sim_cause(sim);
    g_queue_unlink(&self->delays, &delayed->link);
    delayed_begin(delayed, sim_time_add(sim_now(sim), note_failure(self, state)));
}

void
work_queue_forget(WorkQueue *self, ObjectKey *key)
{
    workqueue_state_of(self, key)->failures = 0; /* CGO-25: nothing leaves the queue */
}

unsigned
work_queue_failures(const WorkQueue *self, const ObjectKey *key)
{
    const KeyState *state = sim_slots_find(&self->states, key->slot);

    return state == NULL ? 0 : state->failures;
}

unsigned
work_queue_length(const WorkQueue *self)
{
    return self->n_ready;
}

ObjectKey *
work_queue_get(WorkQueue *self, SimCauseId *added_by)
{
    if (self->n_ready == 0)
        return NULL;
    ObjectKey *key = self->ready[self->ready_first];
    self->ready_first = (self->ready_first + 1) & (self->ready_capacity - 1);
    self->n_ready--;
    KeyState *state = workqueue_state_of(self, key);
    state->processing = TRUE; /* CGO-21 */
    state->dirty = FALSE;
    *added_by = state->added_by;
    if (self->metrics != NULL)
        measure_get(self, key);
    return key;
}

void
work_queue_done(WorkQueue *self, ObjectKey *key)
{
    KeyState *state = workqueue_state_of(self, key);

    state->processing = FALSE;
    if (self->metrics != NULL)
        measure_done(self, key);
    if (!state->dirty)
        state->added_by = sim_cause(self->options.sim);
    else /* CGO-22 */
        push_ready(self, key);
}

void
work_queue_list(const WorkQueue *self, WorkQueueSeen seen, void *data)
{
    for (unsigned i = 0; i < self->n_ready; i++) {
        const ObjectKey *key = self->ready[(self->ready_first + i) & (self->ready_capacity - 1)];

        seen(data, key, sim_now(self->options.sim), work_queue_failures(self, key));
    }
    for (const GList *link = self->delays.head; link != NULL; link = link->next) {
        const Delayed *delayed = link->data;

        seen(data, delayed->key, delayed->at, work_queue_failures(self, delayed->key));
    }
}
