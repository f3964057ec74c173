/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "event-recorder.h"

#define QUEUE_MAX 1000 /* CGO-70: more are dropped */

/* An event on its way, or sent before: what makes two events the same (CGO-73; API-171 for the new style). */
typedef struct {
    const ObjectKey *involved;
    ObjectUid uid;
    const char *type, *reason;
    const char *message; /* EVENTS_NEW: not part of the identity */
    uint64_t version;    /* EVENTS_NEW: the resource version of the object; else 0 */
    EventStyle style;
} EventIdentity;

typedef struct {
    EventIdentity identity;
    unsigned index; /* of the event in the API server */
    uint32_t count; /* occurrences, sent or not */
    SimTime first_at;
} KnownEvent;

typedef struct {
    EventIdentity identity;
    SimTime at;
    SimCauseId cause;
} QueuedEvent;

struct EventRecorder {
    ApiClient *client;
    Sim *sim;
    ApiServer *api;
    const char *source;
    EventStyle style;
    GHashTable *known; /* set of KnownEvent, by identity */
    GQueue queue;      /* of QueuedEvent; the head is being sent when busy */
    gboolean busy, dead;
    unsigned n_refs; /* one of the owner, one of a send under way */
};

static unsigned
identity_hash(const void *data)
{
    const EventIdentity *id = data;
    uint64_t hash = sim_hash_combine(id->involved->hash, id->uid.low + id->version);

    hash = sim_hash_combine(hash, sim_hash_string(id->reason));
    if (id->style == EVENTS_CORE)
        hash = sim_hash_combine(
            hash, (uint64_t)(uintptr_t)id->message); /* a bucket only: decides no order */
    return (unsigned)hash;
}

static gboolean
identity_equal(const void *a, const void *b)
{
    const EventIdentity *x = a, *y = b;

    return x->involved == y->involved && object_uid_equal(x->uid, y->uid) &&
           x->version == y->version && g_str_equal(x->reason, y->reason) &&
           g_str_equal(x->type, y->type) && (x->style == EVENTS_NEW || x->message == y->message);
}

static void
known_free(void *data)
{
    g_free(data);
}

static void
queued_free(void *data)
{
    g_free(data);
}

EventRecorder *
event_recorder_new(ApiClient *client, const char *source, EventStyle style)
{
    EventRecorder *self = g_new0(EventRecorder, 1);

    self->client = client;
    self->sim = api_client_sim(client);
    self->api = api_client_api(client);
    self->source = source;
    self->style = style;
    self->known = g_hash_table_new_full(identity_hash, identity_equal, NULL, known_free);
    self->n_refs = 1;
    g_queue_init(&self->queue);
    return self;
}

static void
event_recorder_unref(EventRecorder *self)
{
    if (--self->n_refs > 0)
        return;
    g_queue_clear_full(&self->queue, queued_free);
    g_hash_table_unref(self->known);
    g_free(self);
}

void
event_recorder_free(EventRecorder *self)
{
    if (self == NULL)
        return;
    self->dead = TRUE;
    event_recorder_unref(self);
}

static void send_next(EventRecorder *self);

static void
recorder_sent(void *data, const ApiResponse *response)
{
    EventRecorder *self = data;

    (void)response; /* CGO-75: what the server refuses is dropped */
    self->busy = FALSE;
    if (!self->dead)
        send_next(self);
    event_recorder_unref(self);
}

/* Returns: whether there is something to write: a series counts its later repeats silently (API-171) */
static gboolean
count_event(EventRecorder *self, const QueuedEvent *queued, KnownEvent **found)
{
    KnownEvent *known = g_hash_table_lookup(self->known, &queued->identity);

    if (known == NULL) {
        known = g_new(KnownEvent, 1);
        *known = (KnownEvent){queued->identity, api_server_new_event(self->api), 0, queued->at};
        g_hash_table_add(self->known, known);
    }
    known->count++;
    *found = known;
    return self->style == EVENTS_CORE || known->count <= 2;
}

static void
recorder_send(Sim *sim, void *data)
{
    EventRecorder *self = data;
    QueuedEvent *queued = self->dead ? NULL : g_queue_pop_head(&self->queue);
    KnownEvent *known;

    (void)sim;
    if (queued == NULL) {
        event_recorder_unref(self);
        return;
    }
    if (!count_event(self, queued, &known)) {
        queued_free(queued);
        recorder_sent(self, NULL);
        return;
    }
    ApiEvent event = {
        .involved = known->identity.involved,
        .involved_uid = known->identity.uid,
        .type = known->identity.type,
        .reason = known->identity.reason,
        .message = queued->identity.message,
        .source = self->source,
        .first_at = known->first_at,
        .last_at = queued->at,
        .count = known->count,
    };
    queued_free(queued);
    api_server_write_event(self->api, known->index, &event, api_client_hash(self->client),
                           recorder_sent, self);
}

static void
recorder_drop(void *data)
{
    event_recorder_unref(data);
}

static const SimEventType send_event = {
    .name = "client/event sender",
    .fire = recorder_send,
    .free_data = recorder_drop,
};

static void
recorder_reserve(Sim *sim, void *data)
{
    EventRecorder *self = data;

    if (self->dead || self->queue.length == 0) {
        event_recorder_unref(self);
        return;
    }
    SimTime granted_at = api_client_reserve(self->client);
    if (granted_at > sim_now(sim))
        sim_at(sim, granted_at, &send_event, self, WAIT_THROTTLE);
    else
        recorder_send(sim, self);
}

static const SimEventType reserve_event = {
    .name = "client/event sender's token",
    .fire = recorder_reserve,
    .free_data = recorder_drop,
};

/* The next one takes its token only now that the last one is written (CGO-70). A series' silent repeat takes none. */
static void
send_next(EventRecorder *self)
{
    const QueuedEvent *queued;

    while (!self->busy && (queued = g_queue_peek_head(&self->queue)) != NULL) {
        KnownEvent *known =
            self->style == EVENTS_NEW ? g_hash_table_lookup(self->known, &queued->identity) : NULL;
        if (known != NULL && known->count >= 2) {
            known->count++;
            queued_free(g_queue_pop_head(&self->queue));
            continue;
        }
        self->busy = TRUE;
        self->n_refs++;
        sim_resume(self->sim, queued->cause, WAIT_QUEUE, 0);
        sim_after(self->sim, api_client_think(self->client, (ObjectKey *)queued->identity.involved),
                  &reserve_event, self, WAIT_THINK);
    }
}

void
event_recorder_record(EventRecorder *self,
                      const Object *object,
                      const char *type,
                      const char *reason,
                      const char *message)
{
    if (self->queue.length >= QUEUE_MAX)
        return;

    SimCauseId cause = sim_cause(self->sim);
    QueuedEvent *queued = g_new(QueuedEvent, 1);
    *queued = (QueuedEvent){
        .identity = {object->key, object->uid, type, reason, message,
                     self->style == EVENTS_NEW ? object->resource_version : 0, self->style},
        .at = sim_now(self->sim),
        .cause = cause,
    };
    g_queue_push_tail(&self->queue, queued);
    send_next(self);
    sim_set_cause(self->sim, cause); /* who records goes on as before */
}
