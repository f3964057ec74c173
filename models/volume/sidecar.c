/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sidecar.h"

#include <string.h>

#include "models/cluster/cluster.h"
#include "models/timing/waits.h"

#define PROBE_INTERVAL SIM_SECOND /* EA-10 */
#define SYNC_POLL (100 * SIM_MS)  /* CGO-17 */

struct Sidecar {
    SidecarOptions options;
    CsiPluginCapabilities plugin_capabilities;
    CsiControllerCapabilities controller_capabilities;
    CsiNodeCapabilities node_capabilities;
    CsiCallId call;
    SimEventId event;
    gboolean node_is_known;
    StringMap *node_segment; /* (owned) */
    LeaderElector *elector;  /* NULL: it does not elect */
    gboolean waited;         /* for its lead: its informers start only then */
};

static void sidecar_call(Sidecar *self, CsiMethod method);

static void
sync_done(Sim *sim, void *data)
{
    Sidecar *self = data;

    (void)sim;
    self->event = 0;
    self->options.ready(self->options.component);
}

static const SimEventType sync_done_type = {.name = "sidecar/informers synced", .fire = sync_done};

static void
sidecar_sync(Sidecar *self)
{
    const Component *component = self->options.component;
    SimTime wait =
        component->started_late || self->waited ? self->options.n_sync_polls * SYNC_POLL : 0;

    self->event = sim_after(component->sim, wait, &sync_done_type, self, WAIT_STARTUP);
}

/* ---- Leader election (CGO-60..66) ---- */

const char *
sidecar_host_name(const Component *component)
{
    if (component->node_name != NULL)
        return strings_internf(component->strings, "csi-node-%s", component->node_name);
    return strings_internf(component->strings, "csi-controller-%u", component->replica);
}

static void
started_leading(void *data)
{
    Sidecar *self = data;

    self->waited = sim_now(self->options.component->sim) > 0;
    sidecar_sync(self);
}

static void
stopped_leading(void *data)
{
    Sidecar *self = data;

    cluster_exit(self->options.component->cluster, self->options.component);
}

static const LeaderElectionOptions *
election_options(const Component *component)
{
    const ProcessElection *election = component->class->process->election;

    return election == NULL ? NULL
                            : G_STRUCT_MEMBER_P((void *)component->options, election->offset);
}

static void
elect(Sidecar *self)
{
    Component *component = self->options.component;
    const ProcessElection *election = component->class->process->election;
    g_autofree char *lock = g_strconcat(election->lock, component->driver_name, NULL);
    g_autofree char *lease = leader_election_name(lock);
    const char *identity =
        self->options.identity != NULL ? self->options.identity : sidecar_host_name(component);
    g_autofree char *name = leader_election_name(identity);
    unsigned burst = 0;
    double qps = component->class->client_qps(component->options, &burst);

    self->elector = leader_elector_new(&(LeaderElectorOptions){
        .process = component->process,
        .options = election_options(component),
        .lease = objects_key(component->objects, KIND_LEASE, "kube-system", lease),
        .identity = strings_intern(component->strings, name),
        .event_source = strings_internf(component->strings, "%s/%s", lease, name),
        .qps = qps,
        .burst = burst,
        .has_led = sim_now(component->sim) == 0 && component->replica == 0,
        .started = started_leading,
        .stopped = stopped_leading,
        .data = self,
    });
    component->elector = self->elector;
}

/* It knows its driver. On a node there is one of it, which elects nobody. */
static void
driver_is_known(Sidecar *self)
{
    const LeaderElectionOptions *election = self->options.component->node_name != NULL
                                                ? NULL
                                                : election_options(self->options.component);

    if (self->options.asks_node && !self->node_is_known)
        sidecar_call(self, CSI_NODE_GET_INFO);
    else if (election != NULL && election->enabled)
        elect(self);
    else
        sidecar_sync(self);
}

static void
probe_again(Sim *sim, void *data)
{
    Sidecar *self = data;

    (void)sim;
    self->event = 0;
    sidecar_call(self, CSI_PROBE);
}

static const SimEventType probe_again_type = {.name = "sidecar/probe", .fire = probe_again};

/* A driver that answers with a final error ends the real process; it is started again and asks
 * again. */
static void
sidecar_reply(void *data, const CsiResponse *response)
{
    Sidecar *self = data;

    self->call = 0;
    if (response->code != CSI_OK) {
        self->event = sim_after(self->options.component->sim, PROBE_INTERVAL, &probe_again_type,
                                self, WAIT_STARTUP);
        return;
    }
    if (response->plugin_capabilities != 0)
        self->plugin_capabilities = response->plugin_capabilities;
    if (response->controller_capabilities != 0)
        self->controller_capabilities = response->controller_capabilities;
    if (response->node_capabilities != 0)
        self->node_capabilities = response->node_capabilities;
}

static void
probe_reply(void *data, const CsiResponse *response)
{
    Sidecar *self = data;
    CsiResponse not_ready = {.code = CSI_UNAVAILABLE};

    sidecar_reply(self, response->code == CSI_OK && !response->ready ? &not_ready : response);
    if (self->event == 0)
        sidecar_call(self, CSI_GET_PLUGIN_INFO);
}

static void
plugin_info_reply(void *data, const CsiResponse *response)
{
    Sidecar *self = data;

    sidecar_reply(self, response);
    if (self->event == 0)
        sidecar_call(self, CSI_GET_PLUGIN_CAPABILITIES);
}

static void
plugin_capabilities_reply(void *data, const CsiResponse *response)
{
    Sidecar *self = data;

    sidecar_reply(self, response);
    if (self->event != 0)
        return;
    if (self->plugin_capabilities & CSI_PLUGIN_CONTROLLER_SERVICE)
        sidecar_call(self, CSI_CONTROLLER_GET_CAPABILITIES);
    else
        driver_is_known(self);
}

static void
controller_capabilities_reply(void *data, const CsiResponse *response)
{
    Sidecar *self = data;
    CsiControllerCapabilities unless = self->options.node_unless;

    sidecar_reply(self, response);
    if (self->event != 0)
        return;
    if (unless != 0 && (self->controller_capabilities & unless) == 0)
        sidecar_call(self, CSI_NODE_GET_CAPABILITIES);
    else
        driver_is_known(self);
}

static void
node_capabilities_reply(void *data, const CsiResponse *response)
{
    Sidecar *self = data;

    sidecar_reply(self, response);
    if (self->event == 0)
        driver_is_known(self);
}

static void
node_info_reply(void *data, const CsiResponse *response)
{
    Sidecar *self = data;

    if (response->code == CSI_OK) {
        self->node_is_known = TRUE;
        string_map_unref(self->node_segment);
        self->node_segment = response->n_accessible_topology == 0
                                 ? NULL
                                 : string_map_ref(response->accessible_topology[0]);
    }
    sidecar_reply(self, response);
    if (self->event == 0)
        driver_is_known(self);
}

/* The questions in their order, and who takes the answer. */
static const struct {
    CsiMethod method;
    CsiReply reply;
} questions[] = {
    {CSI_PROBE,                       probe_reply                  },
    {CSI_GET_PLUGIN_INFO,             plugin_info_reply            },
    {CSI_GET_PLUGIN_CAPABILITIES,     plugin_capabilities_reply    },
    {CSI_CONTROLLER_GET_CAPABILITIES, controller_capabilities_reply},
    {CSI_NODE_GET_CAPABILITIES,       node_capabilities_reply      },
    {CSI_NODE_GET_INFO,               node_info_reply              },
};

static void
sidecar_call(Sidecar *self, CsiMethod method)
{
    CsiRequest request = {.method = method,
                          .served_by = self->options.component->node_name,
                          .timeout_ns = self->options.probe_timeout_ns};

    for (unsigned i = 0; i < G_N_ELEMENTS(questions); i++)
        if (questions[i].method == method)
            self->call = csi_driver_call(self->options.component->driver, &request,
                                         questions[i].reply, self);
}

Sidecar *
sidecar_new(const SidecarOptions *options)
{
    Sidecar *self = g_new0(Sidecar, 1);

    self->options = *options;
    sidecar_call(self, CSI_PROBE);
    return self;
}

void
sidecar_free(Sidecar *self)
{
    if (self == NULL)
        return;
    if (self->call != 0)
        csi_driver_abandon(self->options.component->driver, self->call);
    sim_cancel(self->options.component->sim, self->event);
    leader_elector_free(self->elector);
    string_map_unref(self->node_segment);
    self->options.component->elector = NULL;
    g_free(self);
}

CsiPluginCapabilities
sidecar_plugin_capabilities(const Sidecar *self)
{
    return self->plugin_capabilities;
}

CsiControllerCapabilities
sidecar_controller_capabilities(const Sidecar *self)
{
    return self->controller_capabilities;
}

CsiNodeCapabilities
sidecar_node_capabilities(const Sidecar *self)
{
    return self->node_capabilities;
}

double
sidecar_client_qps(const void *options, unsigned *burst)
{
    const SidecarFlags *flags = options;

    *burst = (unsigned)flags->kube_api_burst;
    return flags->kube_api_qps;
}

RateLimit
sidecar_rate_limit(const SidecarFlags *flags)
{
    return (RateLimit){.base = flags->retry_interval_start, .max = flags->retry_interval_max};
}

const StringMap *
sidecar_node_segment(const Sidecar *self)
{
    return self->node_segment;
}

gboolean
sidecar_feature_gate(const char *gates, const char *name, gboolean default_value)
{
    size_t length = strlen(name);

    for (const char *at = gates; at != NULL && *at != '\0'; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at[length + 1] == 't' || at[length + 1] == 'T' || at[length + 1] == '1';
    }
    return default_value;
}

void
index_attachments_by_volume(InformerIndex *index, const Object *object, Objects *objects)
{
    const Attachment *attachment = (const Attachment *)object;

    (void)objects;
    if (attachment->volume_name != NULL)
        index_emit(index, attachment->volume_name);
}
