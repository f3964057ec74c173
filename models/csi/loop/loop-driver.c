/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine, with threads */
/* A CSI driver whose calls work on real loop devices, in threads or at once. A call's end comes
 * back through a queue and becomes an event of the run at the instant that the run's pace gives it;
 * strings are interned only then, on the run's thread. The call's cause goes with it, so the log of
 * causes is as with a modelled driver. Runs with this driver measure a machine and are never
 * golden. */
#include "loop-driver.h"

/* A call. The run makes and frees it; in between a worker has it. */
typedef struct {
    CsiCall base;
    LoopAnswer answer;
    gint64 began_us, ended_us; /* of the monotonic clock */
    SimEventId end;            /* scheduled */
    /* a worker has it, or it waits for a worker or for loop_driver_collect() */
    gboolean is_working;
} LoopDriverCall;

struct LoopDriver {
    CsiDriver base;
    LoopBackend *backend;
    LoopDriverOptions options;
    GThreadPool *workers;
    GAsyncQueue *ended; /* of LoopDriverCall */
    LoopPace pace;
    SimTime last_end;
    SimTime work; /* of the call that ends now */
};

/* ---- Answers in the run's own terms ---- */

static StringList *
intern_list(Strings *strings, char **items)
{
    StringList *list = NULL;

    for (unsigned i = 0; items != NULL && items[i] != NULL; i++) {
        StringList *longer = string_list_with(list, strings_intern(strings, items[i]));
        string_list_unref(list);
        list = longer;
    }
    return list;
}

static void
intern_entries(Strings *strings, LoopAnswer *answer)
{
    for (unsigned i = 0; answer->entries != NULL && i < answer->entries->len; i++) {
        CsiEntry *entry = &g_array_index(answer->entries, CsiEntry, i);
        entry->volume_id = strings_intern(strings, entry->volume_id);
        entry->snapshot_id = strings_intern(strings, entry->snapshot_id);
        entry->condition_message = strings_intern(strings, entry->condition_message);
        entry->published_node_ids = intern_list(strings, answer->entry_nodes->pdata[i]);
    }
}

static void
unref_entries(LoopAnswer *answer)
{
    for (unsigned i = 0; answer->entries != NULL && i < answer->entries->len; i++)
        string_list_unref(
            (StringList *)g_array_index(answer->entries, CsiEntry, i).published_node_ids);
}

/* From here on everything runs on the run's thread, with its strings. */
static void
loop_driver_finish(LoopDriverCall *call)
{
    CsiDriver *driver = call->base.driver;
    Strings *strings = driver->strings;
    CsiResponse response = call->answer.response;
    g_autoptr(StringMap) context = NULL;

    response.message = strings_intern(strings, response.message);
    response.plugin_name = driver->name;
    response.vendor_version = strings_intern(strings, response.vendor_version);
    response.volume_id = strings_intern(strings, response.volume_id);
    response.source_id = strings_intern(strings, response.source_id);
    response.node_id = strings_intern(strings, response.node_id);
    response.snapshot_id = strings_intern(strings, response.snapshot_id);
    response.next_token = strings_intern(strings, response.next_token);
    response.condition_message = strings_intern(strings, response.condition_message);
    if (response.creation_time > 0) /* the run has times of its own */
        response.creation_time = sim_now(driver->sim);
    if (call->answer.device != NULL)
        context = string_map_with(NULL, strings_intern(strings, "device"),
                                  strings_intern(strings, call->answer.device));
    response.publish_context = context;
    intern_entries(strings, &call->answer);

    LoopAnswer answer = call->answer;
    call->answer = (LoopAnswer){0};
    ((LoopDriver *)driver)->work = (call->ended_us - call->began_us) * SIM_US;
    csi_call_finish(&call->base, &response);
    unref_entries(&answer);
    loop_answer_clear(&answer);
}

static void
loop_driver_call_ended(Sim *sim, void *data)
{
    LoopDriverCall *call = data;

    (void)sim;
    call->end = 0;
    loop_driver_finish(call);
}

static const SimEventType call_ended_event = {.name = "csi/loop call ended",
                                              .fire = loop_driver_call_ended};

/* ---- Work ---- */

/* Copies for the check after the call belongs to the run again. */
typedef struct {
    char *volume_id, *node, *path; /* NULL: nothing */
} LoopDriverCheck;

static LoopDriverCheck
check_for(const LoopDriver *self, const CsiRequest *request, const LoopAnswer *answer)
{
    if (self->options.published == NULL || request->method != CSI_NODE_PUBLISH_VOLUME ||
        answer->response.code != CSI_OK || request->readonly)
        return (LoopDriverCheck){0};
    return (LoopDriverCheck){g_strdup(request->volume_id), g_strdup(request->served_by),
                             g_strdup(request->target_path)};
}

static void
check_do(LoopDriver *self, LoopDriverCheck *check)
{
    if (check->volume_id != NULL)
        loop_backend_visit_target(self->backend, check->volume_id, check->node, check->path,
                                  self->options.published, self->options.published_data);
    g_free(check->volume_id);
    g_free(check->node);
    g_free(check->path);
}

static LoopDriverCheck
do_call(LoopDriver *self, LoopDriverCall *call)
{
    call->began_us = g_get_monotonic_time();
    loop_backend_call(self->backend, call->base.request, &call->answer);
    call->ended_us = g_get_monotonic_time();
    return check_for(self, call->base.request, &call->answer);
}

static void
loop_driver_call_in_thread(void *data, void *user_data)
{
    LoopDriver *self = user_data;
    LoopDriverCheck check = do_call(self, data);

    g_async_queue_push(self->ended, data);
    if (self->options.ended != NULL)
        self->options.ended(self->options.ended_data);
    check_do(self, &check);
}

static void
schedule_end(LoopDriver *self, LoopDriverCall *call, SimTime at)
{
    Sim *sim = self->base.sim;
    SimCauseId before = sim_cause(sim);

    sim_set_cause(sim, call->base.record.cause); /* the cause of the call, not the present event */
    call->end = sim_at_detail(sim, at, &call_ended_event, call, self->base.waits.latency,
                              CSI_WAIT_DETAIL(call->base.request->method));
    sim_set_cause(sim, before);
}

static void
loop_driver_start(CsiDriver *driver, CsiCall *base)
{
    LoopDriver *self = (LoopDriver *)driver;
    LoopDriverCall *call = (LoopDriverCall *)base;

    self->pace.peak = MAX(self->pace.peak, driver->n_in_flight);
    if (self->workers != NULL) {
        call->is_working = TRUE;
        g_thread_pool_push(self->workers, call, NULL);
        return;
    }
    LoopDriverCheck check = do_call(self, call);
    check_do(self, &check);
    schedule_end(self, call,
                 sim_time_add(sim_now(driver->sim), (call->ended_us - call->began_us) * SIM_US));
}

gboolean
loop_driver_collect(LoopDriver *self, gint64 start_us)
{
    Sim *sim = self->base.sim;
    gboolean any = FALSE;
    LoopDriverCall *call;

    while ((call = g_async_queue_try_pop(self->ended)) != NULL) {
        SimTime ended = (call->ended_us - start_us) * SIM_US;
        SimTime at = MAX(MAX(ended, sim_now(sim)), self->last_end) + 1;
        while (at == sim_next_event_at(sim))
            at++;
        call->is_working = FALSE;
        self->last_end = at;
        self->pace.n_ends++;
        self->pace.n_late += sim_now(sim) > ended ? 1 : 0;
        self->pace.lag_max = MAX(self->pace.lag_max, sim_now(sim) - ended);
        schedule_end(self, call, at);
        any = TRUE;
    }
    return any;
}

SimTime
loop_driver_work(const LoopDriver *self)
{
    return self->work;
}

void
loop_driver_wait(LoopDriver *self, gint64 until_us)
{
    gint64 left = until_us - g_get_monotonic_time();
    LoopDriverCall *call = left <= 0 ? g_async_queue_try_pop(self->ended)
                                     : g_async_queue_timeout_pop(self->ended, (guint64)left);

    if (call != NULL)
        g_async_queue_push_front(self->ended, call);
}

LoopPace
loop_driver_pace(const LoopDriver *self)
{
    return self->pace;
}

/* ---- The class ---- */

static void
caller_gone(CsiDriver *driver, CsiCall *call)
{
    (void)driver, (void)call; /* the worker finishes the call (CSI-5) */
}

/* No worker has the call: close() has waited for that. */
static void
call_clear(CsiDriver *driver, CsiCall *base)
{
    LoopDriverCall *call = (LoopDriverCall *)base;

    g_assert(!call->is_working);
    sim_cancel(driver->sim, call->end);
    loop_answer_clear(&call->answer);
}

static void
close_driver(CsiDriver *driver)
{
    LoopDriver *self = (LoopDriver *)driver;
    LoopDriverCall *call;

    if (self->workers != NULL)
        g_thread_pool_free(g_steal_pointer(&self->workers), FALSE, TRUE);
    while ((call = g_async_queue_try_pop(self->ended)) != NULL)
        call->is_working = FALSE;
}

static void
free_driver(CsiDriver *driver)
{
    g_async_queue_unref(((LoopDriver *)driver)->ended);
}

static void
loop_driver_add_node(CsiDriver *driver,
                     const char *name,
                     const char *node_id,
                     const StringMap *segments)
{
    (void)node_id, (void)segments; /* all nodes are this machine */
    loop_backend_add_node(((LoopDriver *)driver)->backend, name);
}

static unsigned
n_volumes(const CsiDriver *driver)
{
    return loop_backend_n_volumes(((const LoopDriver *)driver)->backend);
}

static const CsiDriverClass loop_driver_class = {
    .name = "loop",
    .call_size = sizeof(LoopDriverCall),
    .start = loop_driver_start,
    .caller_gone = caller_gone,
    .call_clear = call_clear,
    .close = close_driver,
    .free = free_driver,
    .add_node = loop_driver_add_node,
    .n_volumes = n_volumes,
};

LoopDriver *
loop_driver_new(Sim *sim, Strings *strings, LoopBackend *backend, const LoopDriverOptions *options)
{
    LoopDriver *self = g_new0(LoopDriver, 1);

    csi_driver_init(&self->base, &loop_driver_class, sim, strings, options->name, &options->waits);
    self->backend = backend;
    self->options = *options;
    self->ended = g_async_queue_new();
    if (options->workers > 0)
        self->workers =
            g_thread_pool_new(loop_driver_call_in_thread, self, (int)options->workers, TRUE, NULL);
    return self;
}

CsiDriver *
loop_driver_base(LoopDriver *self)
{
    return &self->base;
}
