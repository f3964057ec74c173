/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Brings each write to the watches that want it, after a drawn delay. Watches are found by kind and
 * by filter (the node of a pod, the name of an object), so a write costs only the watches it
 * concerns. All watches of a client share a connection: events arrive in the order of the writes,
 * never two at the same instant.
 *
 * A broken watch keeps its place: it either continues where it was, or lists and then drops the
 * events that the list already contains. */
#include "watch.h"

#include "sim/pointer-map.h"

/* Watches of one kind: of all objects, and of the pods of one node or the object of one name. */
typedef struct {
    GPtrArray *all;
    PointerMap filtered; /* interned filter -> GPtrArray of ApiWatch (owned) */
} KindWatches;

/* A client's connection, which all its watches share. */
typedef struct {
    uint64_t entity;
    SimTime last_at; /* of the last event sent, of any kind */
} WatchConnection;

struct WatchHub {
    Sim *sim;
    uint64_t newest; /* resource version of the latest write of an object */
    const ApiLatency *latency;
    const Timing *timing;
    SimStream delays, orders;
    GHashTable *connections; /* &Connection.entity -> Connection */
    KindWatches kinds[N_KINDS];
    GQueue watches; /* all of them, by their links, in the order in which they began */
    SimStream back_offs;
};

typedef enum {
    WATCH_OPEN,
    WATCH_BROKEN,      /* events are kept; they may be lost in the end */
    WATCH_CATCHING_UP, /* has listed: older events are dropped */
} WatchState;

struct ApiWatch {
    WatchHub *hub; /* NULL: closed */
    SimMemory *memory;
    ObjectKind kind;
    const char *filter;
    uint64_t entity;
    WatchConnection *connection; /* borrowed from the hub */
    ApiWatchEvent event;
    void *data;
    SimTime last_at;    /* of the last event sent: order is kept (API-70) */
    unsigned n_pending; /* events under way; the last one frees a closed watch */
    WatchState state;
    SimTime broken_at;
    uint64_t listed; /* resource version of the list, while it catches up */
    GQueue kept;     /* of Delivery, while it is broken */
    SimEventId repair;
    GList link;
};

typedef struct {
    ApiWatch *watch;
    const Object *object;
    WatchType type;
} Delivery;

static void
delivery_free(void *data)
{
    Delivery *delivery = data;
    ApiWatch *watch = delivery->watch;

    object_unref(delivery->object);
    sim_memory_give(watch->memory, delivery, sizeof *delivery);
    if (--watch->n_pending == 0 && watch->hub == NULL)
        g_free(watch);
}

/* Returns: whether the delivery is kept or dropped */
static gboolean
meets_trouble(Delivery *delivery)
{
    ApiWatch *watch = delivery->watch;

    if (watch->state == WATCH_BROKEN) {
        g_queue_push_tail(&watch->kept, delivery);
        return TRUE;
    }
    if (delivery->object->resource_version <= watch->listed) {
        delivery_free(delivery);
        return TRUE;
    }
    watch->state = WATCH_OPEN;
    return FALSE;
}

static void
deliver(Sim *sim, void *data)
{
    Delivery *delivery = data;
    ApiWatch *watch = delivery->watch;

    (void)sim;
    if (watch->hub != NULL) {
        if (G_UNLIKELY(watch->state != WATCH_OPEN) && meets_trouble(delivery))
            return;
        watch->event(watch->data, delivery->type, delivery->object);
    }
    delivery_free(delivery);
}

static const SimEventType deliver_event = {
    .name = "api/watch event",
    .fire = deliver,
    .free_data = delivery_free,
};

WatchHub *
watch_hub_new(Sim *sim, const ApiLatency *latency)
{
    WatchHub *self = g_new0(WatchHub, 1);

    self->sim = sim;
    self->latency = latency;
    self->timing = latency->timing;
    self->delays = sim_stream(sim, "api/watch");
    self->orders = sim_stream(sim, "api/watch order");
    self->back_offs = sim_stream(sim, "api/watch back-off");
    g_queue_init(&self->watches);
    self->connections = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    for (unsigned i = 0; i < N_KINDS; i++)
        self->kinds[i].all = g_ptr_array_new();
    return self;
}

void
watch_hub_free(WatchHub *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->connections);
    for (unsigned i = 0; i < N_KINDS; i++) {
        g_ptr_array_unref(self->kinds[i].all);
        pointer_map_clear(&self->kinds[i].filtered, (GDestroyNotify)g_ptr_array_unref);
    }
    g_free(self);
}

/* TIM-9: events of one kind always come in order, events of different kinds usually do: then the
 * second comes at least 1 ns after the first, so that a loop woken by the first does not see the
 * second. */
static SimTime
in_order(const WatchHub *self, const ApiWatch *watch, SimTime at, uint64_t entity, uint32_t n)
{
    at = MAX(at, watch->last_at);
    if (at > watch->connection->last_at ||
        sim_random_uniform(self->orders, entity, n) >= self->timing->watch_order)
        return at;
    return watch->connection->last_at + 1;
}

/* TIM-7: the delay counts from the response. A few events come before the response, none before the
 * commit. */
static void
watch_send(WatchHub *self,
           ApiWatch *watch,
           WatchType type,
           const Object *object,
           SimTime responds_at,
           uint32_t n)
{
    uint64_t entity = sim_hash_combine(object->key->hash, watch->entity);
    SimTime at = responds_at + sim_dist_draw(self->timing->watch, self->delays, entity, n);
    Delivery *delivery = sim_memory_new_struct(watch->memory, Delivery);

    at = MAX(at, sim_now(self->sim));
    watch->last_at = in_order(self, watch, at, entity, n);
    watch->connection->last_at = MAX(watch->last_at, watch->connection->last_at);
    watch->n_pending++;
    *delivery = (Delivery){watch, object_ref(object), type};
    sim_at_detail(self->sim, watch->last_at, &deliver_event, delivery, WAIT_WATCH,
                  (uint16_t)(object_kind(object) + 1));
}

void
watch_hub_send(
    WatchHub *self, WatchType type, const Object *object, SimTime responds_at, uint32_t n)
{
    const KindWatches *watches = &self->kinds[object_kind(object)];
    const char *filter =
        object_kind(object) == KIND_POD ? POD_CONST(object)->node_name : object_name(object);

    self->newest = object->resource_version;
    for (unsigned i = 0; i < watches->all->len; i++)
        watch_send(self, watches->all->pdata[i], type, object, responds_at, n);

    const GPtrArray *some = filter == NULL ? NULL : pointer_map_get(&watches->filtered, filter);
    for (unsigned i = 0; some != NULL && i < some->len; i++)
        watch_send(self, some->pdata[i], type, object, responds_at, n);
}

static WatchConnection *
find_connection(WatchHub *self, uint64_t entity)
{
    WatchConnection *connection = g_hash_table_lookup(self->connections, &entity);

    if (connection != NULL)
        return connection;
    connection = g_new(WatchConnection, 1);
    *connection = (WatchConnection){.entity = entity};
    g_hash_table_insert(self->connections, &connection->entity, connection);
    return connection;
}

ApiWatch *
watch_hub_watch(WatchHub *self,
                ObjectKind kind,
                const char *filter,
                uint64_t entity,
                ApiWatchEvent event,
                void *data)
{
    KindWatches *watches = &self->kinds[kind];
    GPtrArray *list = watches->all;
    ApiWatch *watch = g_new0(ApiWatch, 1);

    *watch = (ApiWatch){.hub = self,
                        .memory = sim_memory(self->sim),
                        .kind = kind,
                        .filter = filter,
                        .entity = entity,
                        .connection = find_connection(self, entity),
                        .event = event,
                        .data = data};
    if (filter != NULL) {
        list = pointer_map_get(&watches->filtered, filter);
        if (list == NULL) {
            list = g_ptr_array_new();
            pointer_map_set(&watches->filtered, filter, list);
        }
    }
    g_ptr_array_add(list, watch);
    watch->link.data = watch;
    g_queue_push_tail_link(&self->watches, &watch->link);
    return watch;
}

/* ---- Connections that break ---- */

#define HISTORY (75 * SIM_SECOND) /* API-73: the history that the server keeps */
#define BACK_OFF (800 * SIM_MS)   /* API-75 */
#define BACK_OFF_MAX (30 * SIM_SECOND)

static void
forget_kept(ApiWatch *self)
{
    Delivery *delivery;

    self->n_pending++; /* keeps the watch alive during the loop */
    while ((delivery = g_queue_pop_head(&self->kept)) != NULL)
        delivery_free(delivery);
    self->n_pending--;
}

/* Kept events come at once and in order: the history of the server, or of the connection. */
static void
watch_go_on(ApiWatch *self)
{
    Delivery *delivery;

    self->state = WATCH_OPEN;
    self->n_pending++; /* keeps the watch alive during the loop */
    while (self->hub != NULL && self->state == WATCH_OPEN &&
           (delivery = g_queue_pop_head(&self->kept)) != NULL) {
        if (delivery->object->resource_version > self->listed)
            self->event(self->data, delivery->type, delivery->object);
        delivery_free(delivery);
    }
    if (--self->n_pending == 0 && self->hub == NULL)
        g_free(self);
}

static void
repaired(Sim *sim, void *data)
{
    ApiWatch *self = data;

    (void)sim;
    self->repair = 0;
    watch_go_on(self);
}

static void
relisted(Sim *sim, void *data)
{
    ApiWatch *self = data;

    (void)sim;
    self->repair = 0;
    forget_kept(self);
    self->state = WATCH_CATCHING_UP;
    self->listed = self->hub->newest;
    self->event(self->data, WATCH_RELIST, NULL);
}

static const SimEventType repaired_event = {.name = "api/watch goes on", .fire = repaired};
static const SimEventType relisted_event = {.name = "api/watch begins anew", .fire = relisted};

/* API-75: the client has been trying since the break; the next try succeeds. */
static SimTime
reconnects_at(const ApiWatch *self)
{
    const WatchHub *hub = self->hub;
    uint64_t entity = sim_hash_combine(self->entity, self->kind);
    SimTime at = self->broken_at, delay = BACK_OFF;
    uint64_t n = (uint64_t)self->broken_at;

    do {
        double jitter = 1 + sim_random_uniform(hub->back_offs, entity, n++);
        at += (SimTime)((double)delay * jitter);
        delay = MIN(2 * delay, BACK_OFF_MAX);
    } while (at < sim_now(hub->sim));
    return at;
}

void
watch_hub_break(WatchHub *self, uint64_t entity)
{
    for (GList *link = self->watches.head; link != NULL; link = link->next) {
        ApiWatch *watch = link->data;
        if (entity != 0 && watch->entity != entity)
            continue;
        sim_cancel(self->sim, watch->repair);
        watch->repair = 0;
        if (watch->state != WATCH_BROKEN)
            watch->broken_at = sim_now(self->sim);
        watch->state = WATCH_BROKEN;
    }
}

static void
repair(ApiWatch *self, WatchRepair how)
{
    Sim *sim = self->hub->sim;

    if (how == WATCHES_GO_ON) {
        self->repair = sim_after(sim, 0, &repaired_event, self, WAIT_WATCH);
        return;
    }
    SimTime at = reconnects_at(self);
    gboolean is_lost = how == WATCHES_RELIST || at - self->broken_at > HISTORY;
    if (is_lost)
        at += api_latency_draw(self->hub->latency, API_LIST,
                               sim_hash_combine(self->entity, self->kind),
                               (uint32_t)(self->broken_at / SIM_MS));
    self->repair = sim_at(sim, at, is_lost ? &relisted_event : &repaired_event, self, WAIT_BACKOFF);
}

void
watch_hub_repair(WatchHub *self, uint64_t entity, WatchRepair how)
{
    for (GList *link = self->watches.head; link != NULL; link = link->next) {
        ApiWatch *watch = link->data;
        if ((entity == 0 || watch->entity == entity) && watch->state == WATCH_BROKEN &&
            watch->repair == 0)
            repair(watch, how);
    }
}

void
api_watch_free(ApiWatch *self)
{
    if (self == NULL)
        return;

    KindWatches *watches = &self->hub->kinds[self->kind];
    GPtrArray *list =
        self->filter == NULL ? watches->all : pointer_map_get(&watches->filtered, self->filter);
    g_ptr_array_remove(list, self);
    g_queue_unlink(&self->hub->watches, &self->link);
    sim_cancel(self->hub->sim, self->repair);
    forget_kept(self);
    self->hub = NULL;
    if (self->n_pending == 0)
        g_free(self);
}
