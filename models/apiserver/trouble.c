/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server that is down, or short of seats. A request to a server that is down is refused at once,
 * and one that is under way is lost: its writer never learns whether it was committed. Short of
 * seats, each priority level has its share, and the clients of a level take turns (API-90); a
 * request waits 15 s at most, and a flow's queue holds 50. Without trouble this costs a comparison.
 */
#include "trouble.h"

#define REFUSED_AFTER (1 * SIM_MS)       /* a refused connection: a round trip */
#define REQUEST_TIMEOUT (SIM_MINUTE)     /* API-93 */
#define QUEUE_WAIT_MAX (15 * SIM_SECOND) /* API-92: a quarter of the request timeout */
#define TURNED_AWAY_AFTER (1 * SIM_MS)
#define QUEUE_LENGTH 50 /* API-90: of a flow */
#define SHARES 245      /* API-90: of all levels */

/* The requests of one client that wait for a seat. */
typedef struct {
    uint64_t client;
    GQueue waiting; /* of Waiter */
} TroubleFlow;

typedef struct {
    unsigned seats, n_seated;
    GPtrArray *flows; /* of Flow (owned), in the order in which they came */
    unsigned next;    /* the flow whose turn it is */
} Level;

struct ApiTrouble {
    Sim *sim;
    WatchHub *watches;
    const ApiCallClass *calls;
    gboolean is_down;
    gboolean is_short; /* of seats */
    Level levels[API_N_LEVELS];
    uint64_t n_turned_away;
};

typedef struct {
    ApiTrouble *trouble;
    TroubleFlow *flow;
    ApiCall *call;
    SimEventId gives_up;
} Waiter;

static const unsigned level_shares[API_N_LEVELS] = {
    [API_LEVEL_GLOBAL_DEFAULT] = 20, [API_LEVEL_SYSTEM] = 30,
    [API_LEVEL_NODE_HIGH] = 40,      [API_LEVEL_LEADER_ELECTION] = 10,
    [API_LEVEL_WORKLOAD_HIGH] = 40,  [API_LEVEL_WORKLOAD_LOW] = 100,
};

/* ---- Seats: the clients of a level take turns ---- */

static void
turn_away(ApiTrouble *self, ApiCall *call)
{
    self->n_turned_away++;
    self->calls->refuse(call, API_TOO_MANY, "Too many requests, please try again later.",
                        TURNED_AWAY_AFTER);
}

static void
take_seat(ApiTrouble *self, ApiCall *call)
{
    call->has_seat = TRUE;
    self->levels[call->request.level].n_seated++;
}

static void
waiter_gives_up(Sim *sim, void *data)
{
    Waiter *waiter = data;

    (void)sim;
    g_queue_remove(&waiter->flow->waiting, waiter);
    turn_away(waiter->trouble, waiter->call);
    g_free(waiter);
}

static const SimEventType gives_up_event = {.name = "api/waited too long for a seat",
                                            .fire = waiter_gives_up};

static TroubleFlow *
flow_of(Level *level, uint64_t client)
{
    for (unsigned i = 0; i < level->flows->len; i++)
        if (((TroubleFlow *)level->flows->pdata[i])->client == client)
            return level->flows->pdata[i];

    TroubleFlow *flow = g_new0(TroubleFlow, 1);
    flow->client = client;
    g_queue_init(&flow->waiting);
    g_ptr_array_add(level->flows, flow);
    return flow;
}

/* Returns: (nullable) (owned): a waiter of the flow whose turn it is; %NULL: nobody waits */
static Waiter *
next_waiter(Level *level)
{
    for (unsigned i = 0; i < level->flows->len; i++) {
        TroubleFlow *flow = level->flows->pdata[level->next++ % level->flows->len];
        if (flow->waiting.length > 0)
            return g_queue_pop_head(&flow->waiting);
    }
    return NULL;
}

static void
seat_next(ApiTrouble *self, Level *level)
{
    Waiter *waiter;

    while ((!self->is_short || level->n_seated < level->seats) &&
           (waiter = next_waiter(level)) != NULL) {
        sim_cancel(self->sim, waiter->gives_up);
        take_seat(self, waiter->call);
        self->calls->go_on(waiter->call);
        g_free(waiter);
    }
}

/* Returns: whether the call waits, or was turned away */
static gboolean
meets_full_house(ApiTrouble *self, ApiCall *call)
{
    Level *level = &self->levels[call->request.level];

    if (level->n_seated < level->seats) {
        take_seat(self, call);
        return FALSE;
    }
    TroubleFlow *flow = flow_of(level, call->request.client_hash);
    if (flow->waiting.length >= QUEUE_LENGTH) {
        turn_away(self, call);
        return TRUE;
    }
    Waiter *waiter = g_new0(Waiter, 1);
    *waiter = (Waiter){.trouble = self, .flow = flow, .call = call};
    waiter->gives_up = sim_after(self->sim, QUEUE_WAIT_MAX, &gives_up_event, waiter, WAIT_API);
    g_queue_push_tail(&flow->waiting, waiter);
    return TRUE;
}

/* ---- Requests in trouble ---- */

gboolean
trouble_meets_arrival(ApiTrouble *self, ApiCall *call)
{
    if (self->is_down) {
        self->calls->refuse(call, API_UNREACHABLE, "connect: connection refused", REFUSED_AFTER);
        return TRUE;
    }
    if (self->is_short && meets_full_house(self, call))
        return TRUE;
    if (call->responds_at - call->arrived_at > REQUEST_TIMEOUT) {
        self->calls->refuse(call, API_TIMEOUT,
                            "the server was unable to return a response in the time "
                            "allotted, but may still be processing the request",
                            REQUEST_TIMEOUT);
        return TRUE;
    }
    return FALSE;
}

gboolean
trouble_is_down(const ApiTrouble *self)
{
    return self->is_down;
}

/* The connection breaks: the writer will never know whether the request was committed. */
static void
lose(ApiCall *call)
{
    call->code = API_UNREACHABLE;
    g_free(call->message);
    call->message = g_strdup("http2: client connection lost");
    object_unref(g_steal_pointer(&call->object));
}

gboolean
trouble_loses(const ApiTrouble *self, ApiCall *call)
{
    if (self->is_down)
        lose(call);
    return self->is_down;
}

void
trouble_meets_response(ApiTrouble *self, ApiCall *call)
{
    if (call->has_seat) {
        Level *level = &self->levels[call->request.level];
        level->n_seated--;
        seat_next(self, level);
    }
    if (self->is_down)
        lose(call);
}

/* ---- Trouble begins and ends ---- */

static void
waiter_free(void *data)
{
    Waiter *waiter = data;

    sim_cancel(waiter->trouble->sim, waiter->gives_up);
    waiter->trouble->calls->free(waiter->call);
    g_free(waiter);
}

static void
flow_free(void *data)
{
    TroubleFlow *flow = data;

    g_queue_clear_full(&flow->waiting, waiter_free);
    g_free(flow);
}

ApiTrouble *
trouble_new(Sim *sim, WatchHub *watches, const ApiCallClass *calls)
{
    ApiTrouble *self = g_new0(ApiTrouble, 1);

    self->sim = sim;
    self->watches = watches;
    self->calls = calls;
    for (unsigned i = 0; i < API_N_LEVELS; i++)
        self->levels[i].flows = g_ptr_array_new_with_free_func(flow_free);
    return self;
}

void
trouble_free(ApiTrouble *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < API_N_LEVELS; i++)
        g_ptr_array_unref(self->levels[i].flows);
    g_free(self);
}

/* The connections of waiting requests break, too. */
static void
drop_waiters(ApiTrouble *self)
{
    for (unsigned i = 0; i < API_N_LEVELS; i++) {
        Waiter *waiter;
        while ((waiter = next_waiter(&self->levels[i])) != NULL) {
            sim_cancel(self->sim, waiter->gives_up);
            self->calls->refuse(waiter->call, API_UNREACHABLE, "http2: client connection lost",
                                REFUSED_AFTER);
            g_free(waiter);
        }
    }
}

void
trouble_set_down(ApiTrouble *self, gboolean is_down)
{
    if (self->is_down == is_down)
        return;
    self->is_down = is_down;
    if (is_down) {
        watch_hub_break(self->watches, 0);
        drop_waiters(self);
    } else {
        watch_hub_repair(self->watches, 0, WATCHES_RELIST);
    }
}

/* API-90: each level has its share, at least one seat. */
void
trouble_set_seats(ApiTrouble *self, unsigned seats)
{
    self->is_short = seats > 0;
    for (unsigned i = 0; i < API_N_LEVELS; i++) {
        self->levels[i].seats = (seats * level_shares[i] + SHARES - 1) / SHARES;
        seat_next(self, &self->levels[i]);
    }
}

uint64_t
trouble_n_turned_away(const ApiTrouble *self)
{
    return self->n_turned_away;
}
