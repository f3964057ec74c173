/* SPDX-License-Identifier: GPL-3.0-or-later */
/* client-go's EventRecorder and EventBroadcaster: a queue of events of one component, sent one
 * after the other. Decides whether an event repeats one that was written (then it counts up), and
 * whether the correlator lets it through. An event takes its token only when the last one is
 * answered; without a limit on tokens the instant of the write is known at once and needs no event
 * of the engine. */
#include "event-recorder.h"

#include "event-correlator.h"

#define QUEUE_MAX 1000     /* CGO-70: more are dropped */
#define EVENT_TTL SIM_HOUR /* kube-apiserver --event-ttl */
#define KNOWN_MIN 64
#define TRIES_MAX 12                      /* CGO-75 */
#define TRY_AGAIN_AFTER (10 * SIM_SECOND) /* defaultSleepDuration in tools/record/event.go */

/* An event to be sent. CGO-73 tells when two events are the same; API-171 does for the new
 * style. */
typedef struct {
    const ObjectKey *involved;
    ObjectUid uid;
    uint64_t version; /* EVENTS_NEW: the resource version of the object; else 0 */
    const char *type, *reason;
    const char *message; /* EVENTS_NEW: not part of the identity */
    SimTime at;
    SimCauseId cause;
    uint32_t hash;
    GList link; /* in the queue */
} QueuedEvent;

/* An event that was written before: its place in the API server, found by the hash of the object */
typedef struct {
    uint32_t hash;
    uint32_t index; /* + 1; 0: free */
} KnownEvent;

struct EventRecorder {
    ApiClient *client;
    Sim *sim;
    SimMemory *memory;
    ApiServer *api;
    const char *source;
    EventStyle style;
    KnownEvent *known; /* with open addressing; each recorder has its own (CGO-78) */
    unsigned n_known, known_size;
    EventCorrelator *correlator; /* NULL: no object has many events yet */
    GQueue queue;                /* of QueuedEvent; the head is being sent when busy */
    ApiEvent head;               /* the event as it is written, */
    unsigned head_index;         /* and the one that it replaces; API_NEW_EVENT: none */
    gboolean busy, dead;
    SimTime free_at;  /* when the sender has the answer to its last write */
    SimEventId write; /* the write under way, and when it leaves the client */
    SimTime leaves_at;
    unsigned n_tries; /* of the head, without an answer */
    SimEventId retry;
    RefCount refs; /* one for the owner, one for a send under way */
};

/* The hash of the object, so that one walk finds all events about it. */
static uint32_t
subject_hash(const QueuedEvent *event)
{
    return (uint32_t)sim_hash_combine(event->involved->hash, event->uid.low + event->version);
}

static gboolean
event_recorder_is_about(const ApiEvent *a, const QueuedEvent *b)
{
    return a->involved == b->involved && object_uid_equal(a->involved_uid, b->uid) &&
           a->involved_version == b->version;
}

static gboolean
event_recorder_is_same(const EventRecorder *self, const ApiEvent *a, const QueuedEvent *b)
{
    return (self->style == EVENTS_NEW || a->message == b->message) &&
           g_str_equal(a->reason, b->reason) && g_str_equal(a->type, b->type);
}

/* Which event @queued repeats, API_NEW_EVENT: none; and @n_written: (out): how many events about
 * its object were written. */
static unsigned
look_back(const EventRecorder *self, const QueuedEvent *queued, unsigned *n_written)
{
    unsigned mask = self->known_size - 1, found = API_NEW_EVENT;
    const KnownEvent *known;

    *n_written = 0;
    for (unsigned i = queued->hash & mask; (known = &self->known[i])->index != 0;
         i = (i + 1) & mask) {
        if (known->hash != queued->hash)
            continue;
        const ApiEvent *event = api_server_event(self->api, known->index - 1);
        if (!event_recorder_is_about(event, queued))
            continue;
        *n_written += event->count;
        if (event_recorder_is_same(self, event, queued))
            found = known->index - 1;
    }
    return found;
}

static void
list_known(const EventRecorder *self, const QueuedEvent *queued, GArray *list)
{
    unsigned mask = self->known_size - 1;

    for (unsigned i = queued->hash & mask; self->known[i].index != 0; i = (i + 1) & mask) {
        unsigned index = self->known[i].index - 1;
        if (self->known[i].hash == queued->hash &&
            event_recorder_is_about(api_server_event(self->api, index), queued))
            g_array_append_val(list, index);
    }
}

static void
put_known(EventRecorder *self, KnownEvent event)
{
    unsigned mask = self->known_size - 1;
    unsigned place = event.hash & mask;

    while (self->known[place].index != 0)
        place = (place + 1) & mask;
    self->known[place] = event;
}

/* Whether nothing can come that repeats the event: its object is gone, and an API server would no
 * longer have it (client-go itself remembers 4096 Events). */
static gboolean
is_past(const EventRecorder *self, const ApiEvent *event)
{
    const ObjectKey *key = event->involved;
    const Object *object = key == NULL ? NULL : api_server_get(self->api, key);

    if (key == NULL || key->incarnation == 0 /* nobody stores it */ ||
        sim_now(self->sim) - event->last_at < EVENT_TTL)
        return FALSE;
    return object == NULL || !object_uid_equal(object->uid, event->involved_uid);
}

static void
add_known(EventRecorder *self, KnownEvent event)
{
    put_known(self, event);
    if (++self->n_known <= self->known_size / 4 * 3)
        return;

    g_autofree KnownEvent *old = self->known;
    unsigned n = 0, old_size = self->known_size;
    for (unsigned i = 0; i < old_size; i++)
        if (old[i].index != 0 && !is_past(self, api_server_event(self->api, old[i].index - 1)))
            old[n++] = old[i];
    if (n > self->known_size / 2)
        self->known_size *= 2;
    self->known = g_new0(KnownEvent, self->known_size);
    self->n_known = n;
    for (unsigned i = 0; i < n; i++)
        put_known(self, old[i]);
}

EventRecorder *
event_recorder_new(ApiClient *client, const char *source, EventStyle style)
{
    EventRecorder *self = g_new0(EventRecorder, 1);

    self->client = client;
    self->sim = api_client_sim(client);
    self->memory = sim_memory(self->sim);
    self->api = api_client_api(client);
    self->source = source;
    self->style = style;
    self->known_size = KNOWN_MIN;
    self->known = g_new0(KnownEvent, self->known_size);
    self->refs = REF_COUNT_ONE;
    g_queue_init(&self->queue);
    return self;
}

static void
drop_head(EventRecorder *self)
{
    QueuedEvent *queued = g_queue_pop_head_link(&self->queue)->data;

    sim_memory_give(self->memory, queued, sizeof *queued);
}

static void
event_recorder_unref(EventRecorder *self)
{
    if (!ref_count_drop(&self->refs))
        return;
    while (self->queue.length > 0)
        drop_head(self);
    event_correlator_free(self->correlator);
    g_free(self->known);
    g_free(self);
}

static void
recorder_drop(void *data)
{
    event_recorder_unref(data);
}

void
event_recorder_free(EventRecorder *self)
{
    if (self == NULL)
        return;
    self->dead = TRUE;
    if (sim_now(self->sim) < self->leaves_at)
        sim_cancel(self->sim, self->write); /* it has not left yet */
    sim_cancel(self->sim, self->retry);
    event_recorder_unref(self);
}

static void send_next(EventRecorder *self);

static void recorder_reserve(Sim *sim, void *data);

static const SimEventType retry_event = {
    .name = "client/event sender tries again",
    .fire = recorder_reserve,
    .free_data = recorder_drop,
};

/* CGO-75: the server did not answer. Returns: whether the sender tries again; events behind this
 * one wait. */
static gboolean
event_recorder_try_again(EventRecorder *self)
{
    if (++self->n_tries >= TRIES_MAX)
        return FALSE;
    self->write = 0;
    ref_count_add(&self->refs);
    self->retry = sim_after(self->sim, TRY_AGAIN_AFTER, &retry_event, self, WAIT_BACKOFF);
    return TRUE;
}

/* CGO-75: an event that the server refuses is dropped. */
static void
recorder_written(void *data, unsigned index, SimTime responds_at)
{
    EventRecorder *self = data;

    if (!self->dead && (index != API_NEW_EVENT || !event_recorder_try_again(self))) {
        const QueuedEvent *queued = g_queue_peek_head(&self->queue);
        self->n_tries = 0;
        if (self->head_index == API_NEW_EVENT && index < API_EVENT_REFUSED) {
            add_known(self, (KnownEvent){queued->hash, index + 1});
            if (self->correlator != NULL)
                event_correlator_written(self->correlator, &self->head, index);
        }
        drop_head(self);
        self->free_at = responds_at;
        self->write = 0;
        self->busy = FALSE;
        send_next(self);
    }
    event_recorder_unref(self);
}

/* The head of the queue leaves at @leaves_at. */
static void
recorder_send(EventRecorder *self, SimTime leaves_at)
{
    ApiEventWrite write = {
        .event = self->head,
        .index = self->head_index,
        .client = api_client_name(self->client),
        .client_hash = api_client_hash(self->client),
        .arrives_at = leaves_at,
        .written = recorder_written,
        .drop = recorder_drop,
        .data = self,
    };

    self->leaves_at = leaves_at;
    self->write = api_server_write_event(self->api, &write);
}

static void
recorder_reserve(Sim *sim, void *data)
{
    EventRecorder *self = data;

    self->retry = 0;
    if (self->dead)
        event_recorder_unref(self);
    else if (G_UNLIKELY(api_client_is_cut_off(self->client)))
        recorder_written(self, API_NEW_EVENT, sim_now(sim));
    else
        recorder_send(self, api_client_reserve(self->client));
}

static const SimEventType reserve_event = {
    .name = "client/event sender's token",
    .fire = recorder_reserve,
    .free_data = recorder_drop,
};

/* CGO-71. Returns: whether the correlator lets it through */
static gboolean
correlate(EventRecorder *self, const QueuedEvent *queued)
{
    g_autoptr(GArray) known = g_array_new(FALSE, FALSE, sizeof(unsigned));

    if (self->correlator == NULL)
        self->correlator = event_correlator_new(self->sim, self->api);
    list_known(self, queued, known);
    return event_correlator_judge(self->correlator, &self->head, &self->head_index,
                                  (const unsigned *)known->data, known->len);
}

/* Prepares the write of the head of the queue. Returns: FALSE if there is none: a series counts its
 * third and later repeats silently, without a token (API-171), and some of many events about one
 * object are dropped (CGO-74). */
static gboolean
prepare_head(EventRecorder *self)
{
    const QueuedEvent *queued = g_queue_peek_head(&self->queue);
    unsigned n_written, index = look_back(self, queued, &n_written);
    const ApiEvent *known = index == API_NEW_EVENT ? NULL : api_server_event(self->api, index);

    if (self->style == EVENTS_NEW && known != NULL && known->count >= 2)
        return FALSE;
    self->head_index = index;
    self->head = (ApiEvent){
        .involved = queued->involved,
        .involved_uid = queued->uid,
        .involved_version = queued->version,
        .type = queued->type,
        .reason = queued->reason,
        .message = queued->message,
        .source = self->source,
        .first_at = known == NULL ? queued->at : known->first_at,
        .last_at = queued->at,
        .count = known == NULL ? 1 : known->count + 1,
    };
    return self->style == EVENTS_NEW || n_written < EVENTS_MANY || correlate(self, queued);
}

/* The next event takes its token only when the last one is answered (CGO-70). Without a limit on
 * tokens the instant of the write is known at once, so no event of the engine is needed. */
static void
send_next(EventRecorder *self)
{
    const QueuedEvent *queued;

    while (!self->busy && (queued = g_queue_peek_head(&self->queue)) != NULL) {
        if (!prepare_head(self)) {
            drop_head(self);
            continue;
        }
        SimTime starts_at = MAX(self->free_at, sim_now(self->sim));
        SimTime leaves_at =
            starts_at + api_client_think_event(self->client, (ObjectKey *)queued->involved);
        self->busy = TRUE;
        ref_count_add(&self->refs);
        sim_resume(self->sim, queued->cause, WAIT_QUEUE, 0);
        if (api_client_is_throttled(self->client) ||
            G_UNLIKELY(api_client_is_cut_off(self->client)))
            sim_at(self->sim, leaves_at, &reserve_event, self, WAIT_THINK);
        else
            recorder_send(self, leaves_at);
    }
}

gboolean
event_recorder_is_full(const EventRecorder *self)
{
    return self->queue.length >= QUEUE_MAX;
}

void
event_recorder_record(EventRecorder *self,
                      const Object *object,
                      const char *type,
                      const char *reason,
                      const char *message)
{
    if (event_recorder_is_full(self))
        return;

    SimCauseId cause = sim_cause(self->sim);
    QueuedEvent *queued = sim_memory_new_struct(self->memory, QueuedEvent);
    *queued = (QueuedEvent){
        .involved = object->key,
        .uid = object->uid,
        .version = self->style == EVENTS_NEW ? object->resource_version : 0,
        .type = type,
        .reason = reason,
        .message = message,
        .at = sim_now(self->sim),
        .cause = cause,
    };
    queued->hash = subject_hash(queued);
    queued->link.data = queued;
    g_queue_push_tail_link(&self->queue, &queued->link);
    send_next(self);
    sim_set_cause(self->sim, cause); /* the caller goes on with its own cause */
}
