/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The surroundings of a served driver: nodes, faults and metrics, and the messages between the
 * processes of its controller and its nodes. Labels of nodes come from the command line, from the
 * node itself, or are made up by the key, so that each topology key has a value. A controller
 * without nodes takes any node's name for one. Faults of a scenario begin and end at their times,
 * as in a run. */
#include "plugin-private.h"

#include <string.h>

static const double duration_bounds[] = {0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                         0.1,    0.25,   0.5,   1,      2.5,   5,    10,    15,
                                         25,     50,     120,   300,    600,   0};

const SimFamily csi_plugin_durations = {
    .name = "kvolsim_csi_call_duration_seconds",
    .help = "Time from a call's arrival to its answer.",
    .type = SIM_HISTOGRAM,
    .unit = 1e-9,
    .labels = "grpc_status_code,method_name",
    .bounds = duration_bounds,
};

static const SimFamily in_flight = {
    .name = "kvolsim_csi_calls_in_flight",
    .help = "Calls in the back end, with or without a caller.",
    .type = SIM_GAUGE,
    .unit = 1,
    .labels = "",
};

static const SimFamily volumes = {
    .name = "kvolsim_csi_volumes",
    .help = "Volumes in the back end.",
    .type = SIM_GAUGE,
    .unit = 1,
    .labels = "",
};

char *
csi_plugin_metrics(CsiPlugin *self)
{
    g_autoptr(GString) text = g_string_new(NULL);
    int64_t n = self->model != NULL ? csi_modelled_driver_n_volumes(self->model)
                                    : loop_backend_n_volumes(self->options.backend);

    sim_series_set(sim_metrics_series(self->metrics, &in_flight, "kvolsim", NULL),
                   csi_driver_in_flight(self->driver));
    sim_series_set(sim_metrics_series(self->metrics, &volumes, "kvolsim", NULL), n);
    sim_metrics_append_text(self->metrics, text);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- Nodes ---- */

/* A value for a topology key of which no value is known. */
static const char *
made_up_segment(const char *key, const char *label, const char *node)
{
    if (strcmp(key, LABEL_OS) == 0)
        return "linux";
    if (strcmp(key, LABEL_ARCH) == 0)
        return "amd64";
    if (strstr(key, "zone") != NULL)
        return "zone-a";
    if (strstr(key, "region") != NULL)
        return "region-a";
    return strcmp(key, LABEL_HOSTNAME) == 0 || g_strcmp0(label, TOPOLOGY_NODE_NAME) == 0 ||
                   strstr(key, "node") != NULL || strstr(key, "host") != NULL
               ? node
               : "default";
}

/* @given: "key=value" each; NULL: none. Returns: (borrowed): NULL: not there */
static const char *
given_segment(char *const *given, const char *key)
{
    size_t length = strlen(key);

    for (; given != NULL && *given != NULL; given++)
        if (strncmp(*given, key, length) == 0 && (*given)[length] == '=')
            return *given + length + 1;
    return NULL;
}

/* @labels: of the node; NULL: unknown. Returns: (owned) */
static StringMap *
segments_of(const CsiPlugin *self, const char *node, const json_t *labels, char *const *given)
{
    const ScenarioDriver *driver = self->options.driver;
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));

    for (unsigned i = 0; i < driver->n_topology; i++) {
        const ScenarioTopologyKey *key = &driver->topology[i];
        const char *value = given_segment(given, key->key);
        if (value == NULL)
            value = json_string_value(json_object_get(labels, key->key));
        if (value == NULL && key->label != NULL)
            value = json_string_value(json_object_get(labels, key->label));
        if (value == NULL)
            value = made_up_segment(key->key, key->label, node);
        StringPair pair = {strings_intern(self->strings, key->key),
                           strings_intern(self->strings, value)};
        g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(void *)pairs->data, pairs->len);
}

static void
surroundings_add_node(CsiPlugin *self, const char *name, const json_t *labels, char *const *given)
{
    const char *interned = strings_intern(self->strings, name);
    StringMap *segments = segments_of(self, interned, labels, given);

    csi_driver_add_node(self->driver, interned, interned, segments);
    string_map_unref(segments);
}

static void
add_group(CsiPlugin *self, const ScenarioNodes *group)
{
    for (unsigned i = 0; i < group->count; i++) {
        g_autoptr(GString) name = g_string_new(group->name);
        g_autofree char *number = g_strdup_printf("%u", group->first + i);
        g_string_replace(name, "%d", number, 1);
        unsigned n_zones = group->zones == NULL ? 0 : g_strv_length(group->zones);
        json_auto_t *manifest = scenario_node_manifest(
            group, name->str, n_zones == 0 ? NULL : group->zones[i % n_zones]);
        const json_t *labels = json_object_get(json_object_get(manifest, "metadata"), "labels");
        gboolean is_own = g_strcmp0(name->str, self->node) == 0;
        surroundings_add_node(self, name->str, labels, is_own ? self->options.topology : NULL);
    }
}

gboolean
csi_plugin_add_nodes(CsiPlugin *self, GError **error)
{
    const CsiPluginOptions *options = &self->options;

    for (char *const *pair = options->topology; pair != NULL && *pair != NULL; pair++) {
        if (strchr(*pair, '=') != NULL)
            continue;
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "--topology %s: give KEY=VALUE", *pair);
        return FALSE;
    }
    self->node = strings_intern(self->strings, options->node);
    if (self->node != NULL)
        surroundings_add_node(self, self->node, NULL, options->topology);
    for (unsigned i = 0; i < options->scenario->n_nodes && options->has_scenario_nodes; i++)
        add_group(self, &options->scenario->nodes[i]);
    return TRUE;
}

void
csi_plugin_add_unknown_node(CsiPlugin *self, const char *node_id, const StringMap *segments)
{
    csi_driver_add_node(self->driver, node_id, node_id, segments);
}

/* ---- Two processes ---- */

/* The controller of a driver asks its cloud for nodes, so any name may be a node's. Its place is
 * the first volume's place. */
static void
meet_node(CsiPlugin *self, const CsiRequest *request)
{
    CsiModelledVolume volume = {0};
    CsiResponse unused;

    if (self->options.has_scenario_nodes || self->options.has_node || self->model == NULL ||
        request->node_id == NULL || request->volume_id == NULL ||
        csi_driver_foresee_node_info(self->driver, request->node_id, &unused) ||
        !csi_modelled_driver_get_volume(self->model, request->volume_id, &volume))
        return;
    csi_plugin_add_unknown_node(self, request->node_id,
                                volume.n_topologies == 0 ? NULL : volume.topologies[0]);
    csi_plugin_changed(self, CSI_STORE_NODE, request->node_id);
}

void
csi_plugin_prepare(CsiPlugin *self, CsiRequest *request)
{
    if (request->method == CSI_CONTROLLER_PUBLISH_VOLUME)
        meet_node(self, request);
    if (!self->options.has_controller &&
        (request->method == CSI_NODE_STAGE_VOLUME || request->method == CSI_NODE_PUBLISH_VOLUME)) {
        const char *bytes = string_map_get(request->volume_context, CONTEXT_BYTES);
        request->required_bytes = bytes == NULL ? 0 : g_ascii_strtoll(bytes, NULL, 10);
    }
}

void
csi_plugin_complete(CsiPlugin *self, const CsiRequest *request, CsiResponse *response)
{
    /* GET_SNAPSHOT is alpha, and csi-sanity 5.3 takes a capability that it does not know for a
     * fault. A scenario asks for it if its callers are newer; real devices have no scenario. */
    if (self->loop != NULL)
        response->controller_capabilities &= ~(unsigned)CSI_CONTROLLER_GET_SNAPSHOT_CAPABILITY;
    if (request->method != CSI_CREATE_VOLUME || self->options.has_node)
        return;
    self->told_context = string_map_with(
        response->volume_context, strings_intern(self->strings, CONTEXT_BYTES),
        strings_internf(self->strings, "%" G_GINT64_FORMAT, response->capacity_bytes));
    response->volume_context = self->told_context;
}

/* ---- Faults ---- */

typedef struct {
    CsiPlugin *plugin;
    const ScenarioAction *action;
    gboolean begins;
} SurroundingsChange;

static void
change_driver(SurroundingsChange *self)
{
    CsiModelledDriver *model = self->plugin->model;
    const ScenarioAction *action = self->action;

    if (action->type == ACTION_SET_DRIVER) {
        CsiModelledOptions options =
            csi_modelled_options_copy(self->plugin->strings, action->driver_options);
        csi_modelled_driver_set(model, &options);
        csi_modelled_options_clear(&options);
        return;
    }
    switch ((int)action->fault) {
    case FAULT_DRIVER_HANG:
        csi_modelled_driver_set_hung(model, self->begins);
        break;
    case FAULT_DRIVER_SLOW:
        csi_modelled_driver_set_slowness(model, self->begins ? action->factor : 1);
        break;
    case FAULT_DRIVER_AWAY:
        csi_modelled_driver_set_away(model, NULL, self->begins);
        csi_modelled_driver_set_away(model, self->plugin->node, self->begins);
        if (self->begins) {
            csi_modelled_driver_cut_calls(model, NULL);
            csi_modelled_driver_cut_calls(model, self->plugin->node);
        }
        break;
    case FAULT_KEEP_VOLUMES:
        csi_modelled_driver_set_keeps_volumes(model, self->begins);
        break;
    default:
        break;
    }
}

static void
change_is_due(Sim *sim, void *data)
{
    SurroundingsChange *self = data;

    (void)sim;
    change_driver(self);
    if (self->plugin->options.log != NULL)
        csi_calls_log_note(self->plugin->options.log, "%s: %s",
                           self->action->type == ACTION_SET_DRIVER
                               ? "setDriver"
                               : scenario_fault_name(self->action->fault),
                           self->begins ? "begins" : "ends");
    g_free(self);
}

static const SimEventType change_event = {
    .name = "csi/scenario", .fire = change_is_due, .free_data = g_free};

static void
schedule_change(CsiPlugin *self, const ScenarioAction *action, gboolean begins, SimTime at)
{
    SurroundingsChange *change = g_new(SurroundingsChange, 1);

    *change = (SurroundingsChange){self, action, begins};
    sim_at(self->sim, at, &change_event, change, 0);
}

void
csi_plugin_schedule_faults(CsiPlugin *self)
{
    const Scenario *scenario = self->options.scenario;

    for (unsigned i = 0; self->model != NULL && i < scenario->n_actions; i++) {
        const ScenarioAction *action = &scenario->actions[i];
        gboolean is_fault = action->type == ACTION_FAULT && action->fault >= FAULT_DRIVER_HANG;
        if ((action->type != ACTION_SET_DRIVER && !is_fault) ||
            g_strcmp0(action->driver, self->options.driver->name) != 0)
            continue;
        schedule_change(self, action, TRUE, MAX(action->at, 0));
        if (is_fault && action->lasts >= 0)
            schedule_change(self, action, FALSE, sim_time_add(MAX(action->at, 0), action->lasts));
    }
}
