/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a driver that only takes time, checks its options, and changes them during a run. The life
 * of a call is in call.c, the back end's volumes are in volumes.c and state.h. Streams of random
 * numbers are made once, one for each purpose, so that a new option does not move the draws of the
 * others. */
#include "modelled-private.h"
#include "models/csi/modelled/modelled-test.h"

#include <string.h>

/* In the order of CsiLatency, after the methods. */
static const char *const more_latency_names[CSI_N_LATENCIES - CSI_N_METHODS] = {
    "CreateVolumeFromSnapshot",
    "CreateVolumeFromVolume",
    "NodeStageVolumeFormatted",
    "SnapshotReady",
    "Repeat",
    "Refusal",
};

const char *
csi_latency_name(CsiLatency latency)
{
    unsigned i = latency;

    g_assert(i < CSI_N_LATENCIES);
    return i < CSI_N_METHODS ? csi_method_name((CsiMethod)i)
                             : more_latency_names[i - CSI_N_METHODS];
}

gboolean
csi_latency_parse(const char *name, CsiLatency *latency)
{
    for (unsigned i = 0; i < CSI_N_LATENCIES; i++) {
        if (strcmp(csi_latency_name((CsiLatency)i), name) == 0) {
            *latency = (CsiLatency)i;
            return TRUE;
        }
    }
    return FALSE;
}

static void
modelled_free(CsiDriver *driver)
{
    CsiModelledDriver *self = (CsiModelledDriver *)driver;

    limits_unref(self->limits);
    luck_clear_errors(self);
    modelled_trouble_free(self->trouble);
    modelled_sharing_free(self->sharing);
    modelled_state_clear(self);
    csi_modelled_driver_set_pools(self, NULL, 0);
    string_list_unref((StringList *)self->options.volume_keys);
    string_list_unref((StringList *)self->options.mutable_keys);
    string_map_unref((StringMap *)self->options.volume_context);
    string_map_unref((StringMap *)self->options.publish_context);
}

static void
modelled_close(CsiDriver *driver)
{
    ((CsiModelledDriver *)driver)->closing = TRUE;
}

static gboolean
modelled_foresee_node_info(CsiDriver *base, const char *node_name, CsiResponse *response)
{
    const CsiModelledDriver *self = (const CsiModelledDriver *)base;
    const BackendNode *node = modelled_node_by_name(self, node_name);

    if (node == NULL)
        return FALSE;
    *response = (CsiResponse){.code = CSI_OK};
    modelled_node_info(self, node, response);
    response->node_capabilities = self->options.node_capabilities;
    return TRUE;
}

static void
modelled_add_node(CsiDriver *base, const char *name, const char *node_id, const StringMap *segments)
{
    csi_modelled_driver_add_node((CsiModelledDriver *)base, name, node_id, segments);
}

static unsigned
modelled_n_volumes(const CsiDriver *base)
{
    return csi_modelled_driver_n_volumes((const CsiModelledDriver *)base);
}

static const CsiDriverClass modelled_class = {
    .name = "modelled",
    .call_size = sizeof(ModelledCall),
    .start = modelled_start,
    .caller_gone = modelled_caller_gone,
    .call_clear = modelled_call_clear,
    .close = modelled_close,
    .free = modelled_free,
    .foresee_node_info = modelled_foresee_node_info,
    .n_volumes = modelled_n_volumes,
    .adopt = modelled_adopt,
    .add_node = modelled_add_node,
};

CsiDriver *
csi_modelled_driver_base(CsiModelledDriver *self)
{
    return &self->base;
}

CsiModelledDriver *
csi_modelled_driver_cast(CsiDriver *driver)
{
    return driver->class == &modelled_class ? (CsiModelledDriver *)driver : NULL;
}

void
csi_modelled_options_init(CsiModelledOptions *options)
{
    *options = (CsiModelledOptions){
        .volume_bytes_default = INT64_C(1) << 30, /* as csi-driver-host-path and most others */
        .plugin_capabilities = CSI_PLUGIN_CONTROLLER_SERVICE |
                               CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS |
                               CSI_PLUGIN_EXPANSION_ONLINE,
        .controller_capabilities =
            CSI_CONTROLLER_CREATE_DELETE_VOLUME | CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME |
            CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY | CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT |
            CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER,
        .node_capabilities = CSI_NODE_STAGE_UNSTAGE_VOLUME | CSI_NODE_EXPAND_VOLUME_CAPABILITY |
                             CSI_NODE_GET_VOLUME_STATS_CAPABILITY |
                             CSI_NODE_SINGLE_NODE_MULTI_WRITER,
        .topologies_per_volume = 1,
    };
}

/* CSI-6 */
static gboolean
name_is_valid(const char *name)
{
    size_t length = name == NULL ? 0 : strlen(name);

    if (length == 0 || length > 63 || !g_ascii_isalnum(name[0]) ||
        !g_ascii_isalnum(name[length - 1]))
        return FALSE;
    /* With a slash it is a plugin within Kubernetes (INT-2). */
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./") ==
           length;
}

/* CSI-11: capabilities that need others. */
static const char *
capability_fault(const CsiModelledOptions *options)
{
    unsigned plugin = options->plugin_capabilities;
    unsigned controller = options->controller_capabilities;
    unsigned node = options->node_capabilities;

    if ((controller & CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES) != 0 &&
        (controller & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME) == 0)
        return "LIST_VOLUMES_PUBLISHED_NODES needs PUBLISH_UNPUBLISH_VOLUME";
    if ((plugin & CSI_PLUGIN_EXPANSION_ONLINE) != 0 &&
        (controller & CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY) == 0 &&
        (node & CSI_NODE_EXPAND_VOLUME_CAPABILITY) == 0)
        return "ONLINE expansion needs EXPAND_VOLUME of the controller or the node";
    if ((plugin & CSI_PLUGIN_EXPANSION_OFFLINE) != 0 &&
        (controller & CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY) == 0)
        return "OFFLINE expansion needs EXPAND_VOLUME of the controller";
    if (controller != 0 && (plugin & CSI_PLUGIN_CONTROLLER_SERVICE) == 0)
        return "capabilities of the controller need CONTROLLER_SERVICE";
    if (options->group_capabilities != 0 && (plugin & CSI_PLUGIN_GROUP_CONTROLLER_SERVICE) == 0)
        return "capabilities of the group controller need GROUP_CONTROLLER_SERVICE";
    return NULL;
}

static gboolean
options_check(const CsiModelledOptions *options, GError **error)
{
    const char *fault = capability_fault(options);

    if (!name_is_valid(options->name)) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "a driver's name has at most 63 letters, digits, \"-\" and \".\", the first "
                    "and last neither \"-\" nor \".\"");
        return FALSE;
    }
    if (options->volume_bytes_max > 0 && options->volume_bytes_min > options->volume_bytes_max)
        fault = "the smallest volume is larger than the largest";
    if (options->attach_limit < 0 || options->attach_limit_reported < 0) /* CSI-36 */
        fault = "the attach limit is negative";
    if (options->topologies_per_volume == 0)
        fault = "a volume lives in at least one place";
    if (options->n_limits > 32)
        fault = "more than 32 limits";
    for (unsigned i = 0; i < CSI_N_LATENCIES; i++)
        if (!(ABS(options->slowdown[i].exponent) <= CSI_SLOWDOWN_MAX) ||
            !(options->slowdown[i].undisturbed >= 0))
            fault = "a slowdown is an exponent from -4 to 4, beyond some number of calls";
    for (unsigned i = 0; i < options->n_errors; i++)
        if (!luck_error_is_valid(&options->errors[i]))
            fault =
                "an injected error needs a code other than OK and a probability above 0, at most 1";
    if (fault != NULL)
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s: %s", options->name, fault);
    return fault == NULL;
}

static void
make_streams(CsiModelledDriver *self)
{
    Sim *sim = self->base.sim;

    for (unsigned i = 0; i < CSI_N_LATENCIES; i++) {
        g_autofree char *name =
            g_strdup_printf("csi/%s/%s", self->base.name, csi_latency_name((CsiLatency)i));
        self->latency_streams[i] = sim_stream(sim, name);
    }
    for (unsigned i = 0; i < CSI_N_METHODS; i++) {
        g_autofree char *name =
            g_strdup_printf("csi/%s/%s/errors", self->base.name, csi_method_name((CsiMethod)i));
        self->error_streams[i] = sim_stream(sim, name);
    }
    g_autofree char *name = g_strdup_printf("csi/%s/ids", self->base.name);
    self->id_stream = sim_stream(sim, name);
    self->subject.hash = sim_hash_string(self->base.name);
}

CsiModelledDriver *
csi_modelled_driver_new(Sim *sim,
                        Strings *strings,
                        const CsiModelledOptions *options,
                        GError **error)
{
    if (!options_check(options, error))
        return NULL;

    CsiModelledDriver *self = g_new0(CsiModelledDriver, 1);
    csi_driver_init(&self->base, &modelled_class, sim, strings, options->name, &options->waits);
    self->options = *options;
    self->options.name = self->base.name;
    self->options.vendor_version = strings_intern(
        strings, options->vendor_version != NULL ? options->vendor_version : "1.0.0");
    string_list_ref(options->volume_keys);
    string_list_ref(options->mutable_keys);
    string_map_ref(options->volume_context);
    string_map_ref(options->publish_context);
    csi_modelled_driver_set_errors(self, options->errors, options->n_errors);
    csi_modelled_driver_set_pools(self, options->pools, options->n_pools);
    self->limits = limits_new(self, options->limits, options->n_limits, modelled_serve);
    self->options.errors = NULL;
    self->options.limits = NULL;
    self->options.pools = NULL;
    self->sharing = modelled_sharing_new(options);
    modelled_state_init(self);
    make_streams(self);
    return self;
}

void
csi_modelled_driver_set_latency(CsiModelledDriver *self, CsiLatency latency, const SimDist *dist)
{
    g_assert(latency < CSI_N_LATENCIES);
    self->options.latency[latency] = dist;
}

void
csi_modelled_driver_set_errors(CsiModelledDriver *self,
                               const CsiModelledError *errors,
                               unsigned n_errors)
{
    luck_clear_errors(self);
    self->errors = n_errors == 0 ? NULL : g_new0(ErrorState, n_errors);
    self->n_errors = n_errors;
    for (unsigned i = 0; i < n_errors; i++) {
        g_assert(luck_error_is_valid(&errors[i]));
        self->errors[i].error = errors[i];
    }
}

void
csi_modelled_driver_set_limits(CsiModelledDriver *self,
                               const CsiModelledLimit *limits,
                               unsigned n_limits)
{
    g_assert(n_limits <= 32);
    limits_unref(self->limits);
    self->limits = limits_new(self, limits, n_limits, modelled_serve);
}

SimTime
csi_modelled_driver_ready_at(const CsiModelledDriver *self)
{
    return self->options.ready_at;
}

void
csi_modelled_driver_set(CsiModelledDriver *self, const CsiModelledOptions *options)
{
    memcpy(self->options.latency, options->latency, sizeof options->latency);
    csi_modelled_driver_set_errors(self, options->errors, options->n_errors);
    csi_modelled_driver_set_limits(self, options->limits, options->n_limits);
    csi_modelled_driver_set_pools(self, options->pools, options->n_pools);
    self->options.attach_limit = options->attach_limit;
    self->options.attach_limit_reported = options->attach_limit_reported;
    self->options.volume_bytes_min = options->volume_bytes_min;
    self->options.volume_bytes_max = options->volume_bytes_max;
    for (GList *link = self->volumes.head; link != NULL; link = link->next)
        modelled_usage_settle(self, link->data);
    self->options.usage = options->usage;
    self->options.ready_at = options->ready_at;
}

void
csi_modelled_driver_set_attach_limit(CsiModelledDriver *self, int limit)
{
    self->options.attach_limit = limit;
    self->options.attach_limit_reported = 0;
}
