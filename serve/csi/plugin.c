/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: virtual time follows the clock, and memory is kept in a file */
/* A CSI driver of the simulator behind a socket: the back end runs in virtual time that follows the
 * clock at a speed, and a call's answer is given at the real time of its end. Work on this machine
 * (mounts) comes after the back end's, and a repeat repeats it, too. Changed records are written
 * before an answer is given: an answer that is not on disk must not go out, because the caller
 * would not ask again. */
#include "plugin-private.h"
#include "run/results/results.h"

#include <string.h>
#include <time.h>

int64_t
csi_plugin_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SIM_SECOND + now.tv_nsec;
}

static SimTime
virtual_now(const CsiPlugin *self)
{
    return (SimTime)((double)(csi_plugin_clock() - self->start) * self->options.speed);
}

/* The real time of an instant of virtual time. */
static int64_t
real_time_of(const CsiPlugin *self, SimTime at)
{
    double ns = (double)at / self->options.speed;

    return ns > 1e18 ? INT64_MAX : self->start + (int64_t)ns + 1;
}

static void
clock_strikes(Sim *sim, void *data)
{
    (void)sim, (void)data;
}

/* It does nothing, but the clock of an engine without other events moves. */
static const SimEventType clock_event = {.name = "csi/clock", .fire = clock_strikes};

static void
advance(CsiPlugin *self)
{
    SimTime now = virtual_now(self);

    if (self->loop != NULL)
        loop_driver_collect(self->loop, self->start / SIM_US);
    if (now <= sim_now(self->sim))
        return;
    sim_at(self->sim, now, &clock_event, NULL, 0);
    sim_run_until(self->sim, now);
}

/* ---- Calls ---- */

static void
plugin_call_free(void *data)
{
    CsiPluginCall *self = data;

    csi_message_clear(&self->message);
    csi_message_clear(&self->answer);
    g_free(self->text);
    g_free(self);
}

static void
plugin_settle(CsiPluginCall *call, CsiCode code, const char *text)
{
    call->code = code;
    call->text = g_strdup(text);
    call->id = 0;
    g_ptr_array_add(call->plugin->answers, call);
}

/* The work on this machine that comes after the back end's. A repeated call repeats it, too. */
static gboolean
finish_here(CsiPluginCall *call, const CsiResponse *response, GError **error)
{
    CsiPlugin *self = call->plugin;
    const CsiRequest *request = &call->message.request;
    const CsiMounts *mounts = &self->options.mounts;
    CsiModelledVolume volume = {0};
    g_autofree char *source = NULL;

    switch ((int)request->method) {
    case CSI_NODE_PUBLISH_VOLUME:
        if (self->options.backend != NULL)
            source = loop_backend_node_path(self->options.backend, request->served_by,
                                            request->target_path);
        else
            csi_modelled_driver_get_volume(self->model, request->volume_id, &volume);
        return csi_mounts_publish(mounts, request, volume.capacity_bytes, source, error);
    case CSI_NODE_EXPAND_VOLUME:
        return csi_mounts_expand(mounts, request->target_path, response->capacity_bytes, error);
    case CSI_NODE_UNPUBLISH_VOLUME:
        return csi_mounts_unpublish(mounts, request->target_path, error);
    case CSI_DELETE_VOLUME:
        csi_mounts_forget(mounts, request->volume_id);
        return TRUE;
    default:
        return TRUE;
    }
}

static void
reply(void *data, const CsiResponse *response)
{
    CsiPluginCall *call = data;
    g_autoptr(GError) error = NULL;

    if (response->code != CSI_OK) {
        plugin_settle(call, response->code, response->message);
    } else if (!finish_here(call, response, &error)) {
        plugin_settle(call, (CsiCode)error->code, error->message);
    } else {
        CsiResponse told = *response;
        csi_plugin_complete(call->plugin, &call->message.request, &told);
        csi_message_write_response(&call->answer, &call->message.request, &told,
                                   call->plugin->epoch);
        g_clear_pointer(&call->plugin->told_context, string_map_unref);
        plugin_settle(call, CSI_OK, NULL);
    }
}

/* Questions about a path that is none have their own answer: there is no such volume there. */
static const char *
path_fault(const CsiRequest *request)
{
    const char *fault = NULL;

    if (request->method == CSI_NODE_GET_VOLUME_STATS || request->method == CSI_NODE_EXPAND_VOLUME)
        return NULL;
    if (request->staging_path != NULL)
        fault = csi_path_fault(request->staging_path);
    if (fault == NULL && request->target_path != NULL)
        fault = csi_path_fault(request->target_path);
    return fault;
}

/* Real devices let go of a volume after this machine has. */
static gboolean
let_go_first(CsiPlugin *self, const CsiRequest *request, GError **error)
{
    return self->options.backend == NULL || request->method != CSI_NODE_UNPUBLISH_VOLUME ||
           request->target_path == NULL ||
           csi_mounts_unpublish(&self->options.mounts, request->target_path, error);
}

CsiPluginCall *
csi_plugin_call(CsiPlugin *self,
                CsiMethod method,
                const uint8_t *bytes,
                size_t n_bytes,
                int64_t timeout_ns,
                void *data)
{
    CsiPluginCall *call = g_new0(CsiPluginCall, 1);
    CsiRequest *request = &call->message.request;
    g_autoptr(GError) error = NULL;

    advance(self);
    call->plugin = self;
    call->data = data;
    call->came_at = csi_plugin_clock();
    csi_message_read_request(&call->message, self->strings, method, bytes, n_bytes);
    const char *fault = call->message.fault != NULL ? call->message.fault : path_fault(request);
    if (csi_method_service(method) == CSI_NODE)
        request->served_by = self->node;
    if (fault != NULL) {
        g_autofree char *text =
            call->message.fault != NULL ? g_strdup(fault) : g_strconcat("a path ", fault, NULL);
        plugin_settle(call, CSI_INVALID_ARGUMENT, text);
        return call;
    }
    if (strings_size(self->strings) > STRINGS_BYTES_MAX) {
        plugin_settle(call, CSI_RESOURCE_EXHAUSTED,
                      "the driver has seen too many names: restart it");
        return call;
    }
    if (!let_go_first(self, request, &error)) {
        plugin_settle(call, (CsiCode)error->code, error->message);
        return call;
    }
    csi_plugin_prepare(self, request);
    if (timeout_ns > 0)
        request->timeout_ns = MAX((SimTime)((double)timeout_ns * self->options.speed), 1);
    call->id = csi_driver_call(self->driver, request, reply, call);
    return call;
}

void
csi_plugin_abandon(CsiPlugin *self, CsiPluginCall *call)
{
    if (call->id == 0) { /* the answer is on its way: nobody takes it */
        call->data = NULL;
        return;
    }
    csi_driver_abandon(self->driver, call->id);
    call->data = NULL;
    plugin_settle(call, CSI_CANCELLED, "the caller is gone");
}

/* ---- Turns ---- */

static void
plugin_count(CsiPlugin *self, const CsiPluginCall *call, int64_t took)
{
    const char *const values[] = {csi_code_name(call->code),
                                  csi_method_full_name(call->message.request.method)};

    sim_series_observe(sim_metrics_series(self->metrics, &csi_plugin_durations, "kvolsim", values),
                       took);
}

static void
give_answer(CsiPlugin *self, CsiPluginCall *call)
{
    int64_t took = csi_plugin_clock() - call->came_at;
    const ProtobufCMessage *answer = call->code == CSI_OK ? call->answer.message : NULL;

    plugin_count(self, call, took);
    if (self->options.log != NULL) {
        const CsiLoggedCall logged = {call->message.request.method,
                                      &call->message.request,
                                      call->message.message,
                                      answer,
                                      call->code,
                                      call->text != NULL ? call->text : "",
                                      (double)took / SIM_SECOND};
        csi_calls_log_add(self->options.log, &logged);
    }
    if (call->data != NULL)
        self->options.answer(call->data, call->code, call->text != NULL ? call->text : "", answer);
}

int64_t
csi_plugin_turn(CsiPlugin *self)
{
    g_autofree char *fault = NULL;

    advance(self);
    if (self->answers->len > 0 || g_hash_table_size(self->changed) > 0)
        fault = csi_plugin_keep(self);
    for (unsigned i = 0; i < self->answers->len; i++) {
        CsiPluginCall *call = self->answers->pdata[i];
        /* What is not written must not be told: the caller asks again, and the call is a repeat
         * then. */
        if (fault != NULL && call->code == CSI_OK) {
            call->code = CSI_INTERNAL;
            g_free(call->text);
            call->text = g_strdup(fault);
        }
        give_answer(self, call);
    }
    if (self->answers->len > 0 && self->options.log != NULL)
        csi_calls_log_flush(self->options.log);
    g_ptr_array_set_size(self->answers, 0);
    return real_time_of(self, sim_next_event_at(self->sim));
}

/* ---- The service ---- */

static CsiDriver *
open_driver(CsiPlugin *self, GError **error)
{
    const CsiPluginOptions *options = &self->options;
    const char *name = options->name != NULL ? options->name : options->driver->name;

    if (options->backend != NULL) {
        const LoopDriverOptions loop = {.name = strings_intern(self->strings, name),
                                        .workers = LOOP_WORKERS,
                                        .ended = options->wake,
                                        .ended_data = options->wake_data};
        self->loop = loop_driver_new(self->sim, self->strings, options->backend, &loop);
        return loop_driver_base(self->loop);
    }
    CsiModelledOptions model = csi_modelled_options_copy(self->strings, &options->driver->model);
    model.name = strings_intern(self->strings, name);
    if (!options->has_controller) { /* the controller is on another machine: this process knows
                                       volumes by their calls */
        model.adopts_unknown_volumes = TRUE;
        model.controller_capabilities = (CsiControllerCapabilities)0;
        model.plugin_capabilities &=
            ~(unsigned)(CSI_PLUGIN_EXPANSION_ONLINE | CSI_PLUGIN_EXPANSION_OFFLINE);
    }
    self->model = csi_modelled_driver_new(self->sim, self->strings, &model, error);
    csi_modelled_options_clear(&model);
    return self->model == NULL ? NULL : csi_modelled_driver_base(self->model);
}

static SimTime
devices_work(void *data)
{
    return loop_driver_work(((CsiPlugin *)data)->loop);
}

static gboolean
open_journal(CsiPlugin *self, GError **error)
{
    json_auto_t *head = json_pack("{s:s,s:s,s:I,s:s*}", "kvolsim", results_version(), "driver",
                                  csi_driver_name(self->driver), "seed",
                                  (json_int_t)self->options.seed, "profile", self->options.profile);

    if (self->options.journal == NULL)
        return TRUE;
    self->journal = call_log_new();
    call_log_watch(self->journal, self->driver, self->loop != NULL ? devices_work : NULL, self);
    return call_log_stream(self->journal, self->options.journal, head, error);
}

CsiPlugin *
csi_plugin_new(const CsiPluginOptions *options, GError **error)
{
    g_autoptr(CsiPlugin) self = g_new0(CsiPlugin, 1);
    SimOptions sim = {.seed = options->seed, .untraced = TRUE};

    self->options = *options;
    self->start = csi_plugin_clock();
    self->epoch = g_get_real_time() * SIM_US;
    sim.start = self->epoch;
    self->sim = sim_new(&sim);
    self->strings = strings_new();
    self->metrics = sim_metrics_new(NULL);
    self->answers = g_ptr_array_new_with_free_func(plugin_call_free);
    self->changed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->driver = open_driver(self, error);
    if (self->driver == NULL || !csi_plugin_add_nodes(self, error) ||
        !csi_plugin_remember(self, error) || !open_journal(self, error))
        return NULL;
    csi_plugin_schedule_faults(self);
    return g_steal_pointer(&self);
}

void
csi_plugin_free(CsiPlugin *self)
{
    if (self == NULL)
        return;
    csi_driver_free(self->driver);
    sim_free(self->sim);
    call_log_free(self->journal);
    csi_store_close(self->store);
    sim_metrics_free(self->metrics);
    g_ptr_array_unref(self->answers);
    g_hash_table_unref(self->changed);
    strings_free(self->strings);
    g_free(self);
}
