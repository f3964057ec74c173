/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the driver is other processes */
/* A CSI driver that is other processes: a run calls it over gRPC. The end of a call becomes an
 * event of the run at the instant that real time gives, each at an instant of its own, with the
 * cause of the call. Times in answers are dropped, because the run has its own. A call whose caller
 * is gone goes on; the driver hears of it by the deadline. */
#include "remote-driver.h"

#include <string.h>

#include "client.h"

typedef struct {
    CsiCall base;
    CsiMessage message; /* of the answer */
    CsiResponse response;
    gint64 sent_us, ended_us;
    SimEventId end; /* scheduled */
} RemoteCall;

struct RemoteDriver {
    CsiDriver base;
    CsiClient *client;
    GHashTable *connections; /* node name -> number of its connection + 1 */
    unsigned controller;     /* the number of its connection */
    GHashTable *volumes;     /* set of ids (interned): made and not deleted */
    GQueue ended;            /* of RemoteCall: not scheduled yet */
    LoopPace pace;
    SimTime last_end, work;
};

/* ---- Ends ---- */

static void
remote_driver_call_ended(Sim *sim, void *data)
{
    RemoteCall *call = data;
    const CsiRequest *request = call->base.request;
    GHashTable *volumes = ((RemoteDriver *)call->base.driver)->volumes;
    CsiResponse response = call->response;

    call->end = 0;
    if (response.code == CSI_OK && request->method == CSI_CREATE_VOLUME)
        g_hash_table_add(volumes, (void *)response.volume_id);
    else if (response.code == CSI_OK && request->method == CSI_DELETE_VOLUME)
        g_hash_table_remove(volumes, request->volume_id);
    if (response.creation_time > 0) /* the run has times of its own */
        response.creation_time = sim_now(sim);
    ((RemoteDriver *)call->base.driver)->work = (call->ended_us - call->sent_us) * SIM_US;
    csi_call_finish(&call->base, &response);
}

static const SimEventType call_ended_event = {.name = "csi/remote call ended",
                                              .fire = remote_driver_call_ended};

static void
remote_driver_answered(
    void *data, CsiCode code, const char *text, const uint8_t *bytes, size_t n_bytes)
{
    RemoteCall *call = data;
    CsiDriver *driver = call->base.driver;

    call->ended_us = g_get_monotonic_time();
    if (code == CSI_OK) {
        csi_message_read_response(&call->message, driver->strings, call->base.request->method,
                                  bytes, n_bytes, 0);
        call->response = call->message.response;
        text = call->message.fault;
        code = text == NULL ? CSI_OK : CSI_INTERNAL;
    }
    if (code != CSI_OK)
        call->response = (CsiResponse){.message = strings_intern(driver->strings, text)};
    call->response.code = code;
    g_queue_push_tail(&((RemoteDriver *)driver)->ended, call);
}

gboolean
remote_driver_collect(RemoteDriver *self, gint64 start_us)
{
    Sim *sim = self->base.sim;
    SimCauseId before = sim_cause(sim);
    gboolean any = FALSE;
    RemoteCall *call;

    csi_client_wait(self->client, 0);
    while ((call = g_queue_pop_head(&self->ended)) != NULL) {
        SimTime ended = (call->ended_us - start_us) * SIM_US;
        SimTime at = MAX(MAX(ended, sim_now(sim)), self->last_end) + 1;
        while (at == sim_next_event_at(sim))
            at++;
        self->last_end = at;
        self->pace.n_ends++;
        self->pace.n_late += sim_now(sim) > ended ? 1 : 0;
        self->pace.lag_max = MAX(self->pace.lag_max, sim_now(sim) - ended);
        sim_set_cause(sim, call->base.record.cause); /* the cause of the call */
        call->end = sim_at_detail(sim, at, &call_ended_event, call, self->base.waits.latency,
                                  CSI_WAIT_DETAIL(call->base.request->method));
        any = TRUE;
    }
    sim_set_cause(sim, before);
    return any;
}

void
remote_driver_wait(RemoteDriver *self, gint64 until_us)
{
    csi_client_wait(self->client, until_us);
}

SimTime
remote_driver_work(const RemoteDriver *self)
{
    return self->work;
}

LoopPace
remote_driver_pace(const RemoteDriver *self)
{
    return self->pace;
}

/* ---- The class ---- */

static void
remote_driver_start(CsiDriver *driver, CsiCall *base)
{
    RemoteDriver *self = (RemoteDriver *)driver;
    const CsiRequest *request = base->request;
    unsigned own =
        request->served_by == NULL
            ? 0
            : GPOINTER_TO_UINT(g_hash_table_lookup(self->connections, request->served_by));
    CsiMessage message;

    self->pace.peak = MAX(self->pace.peak, driver->n_in_flight);
    csi_message_write_request(&message, request);
    ((RemoteCall *)base)->sent_us = g_get_monotonic_time();
    csi_client_call(self->client, own == 0 ? self->controller : own - 1, request->method,
                    message.message, request->timeout_ns, remote_driver_answered, base);
    csi_message_clear(&message);
}

static void
caller_gone(CsiDriver *driver, CsiCall *call)
{
    (void)driver, (void)call; /* the driver behind the socket hears of it by the deadline */
}

/* No answer can come any more: close() has seen to that. */
static void
call_clear(CsiDriver *driver, CsiCall *base)
{
    RemoteCall *call = (RemoteCall *)base;

    sim_cancel(driver->sim, call->end);
    csi_message_clear(&call->message);
}

static void
close_driver(CsiDriver *driver)
{
    RemoteDriver *self = (RemoteDriver *)driver;

    g_clear_pointer(&self->client, csi_client_free);
    g_queue_clear(&self->ended);
}

static void
free_driver(CsiDriver *driver)
{
    g_hash_table_unref(((RemoteDriver *)driver)->connections);
    g_hash_table_unref(((RemoteDriver *)driver)->volumes);
}

static void
remote_driver_add_node(CsiDriver *driver,
                       const char *name,
                       const char *node_id,
                       const StringMap *segments)
{
    (void)driver, (void)name, (void)node_id, (void)segments; /* its plugin knows */
}

static unsigned
n_volumes(const CsiDriver *driver)
{
    return g_hash_table_size(((const RemoteDriver *)driver)->volumes);
}

static const CsiDriverClass remote_driver_class = {
    .name = "remote",
    .call_size = sizeof(RemoteCall),
    .start = remote_driver_start,
    .caller_gone = caller_gone,
    .call_clear = call_clear,
    .close = close_driver,
    .free = free_driver,
    .add_node = remote_driver_add_node,
    .n_volumes = n_volumes,
};

RemoteDriver *
remote_driver_new(
    Sim *sim, Strings *strings, const char *name, const CsiWaits *waits, char *const *endpoints)
{
    RemoteDriver *self = g_new0(RemoteDriver, 1);

    csi_driver_init(&self->base, &remote_driver_class, sim, strings, name, waits);
    self->client = csi_client_new();
    self->volumes = g_hash_table_new(NULL, NULL);
    self->connections = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (; *endpoints != NULL; endpoints++) {
        const char *equals = strchr(*endpoints, '=');
        unsigned number =
            csi_client_connect(self->client, equals == NULL ? *endpoints : equals + 1);
        if (equals == NULL)
            self->controller = number;
        else
            g_hash_table_insert(self->connections,
                                g_strndup(*endpoints, (size_t)(equals - *endpoints)),
                                GUINT_TO_POINTER(number + 1));
    }
    return self;
}

CsiDriver *
remote_driver_base(RemoteDriver *self)
{
    return &self->base;
}
