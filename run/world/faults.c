/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run-private.h"
#include "sim/random.h"

/* What breaks, and how it is repaired: the scenario's words, carried out by the cluster, its API
 * server and its drivers. */

/* A fault under way. */
typedef struct {
    Run *run;
    const ScenarioAction *action;
    GPtrArray *victims; /* of interned names: instances or nodes; the name may be NULL */
    void (*over)(void *data);
    void *data;
} Fault;

static void
fault_free(void *data)
{
    Fault *self = data;

    g_ptr_array_unref(self->victims);
    g_free(self);
}

static CsiModelledDriver *
driver_of(const Fault *self)
{
    return csi_modelled_driver_cast(cluster_find_driver(self->run->cluster, self->action->driver));
}

static const char *
intern(const Fault *self, const char *text)
{
    return strings_intern(objects_strings(self->run->objects), text);
}

/* ---- Whom it happens to: known only when it does ---- */

const char *
run_node_of_pod(const Run *run, const char *name)
{
    const ApiServer *api = cluster_api(run->cluster);
    g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(name);

    for (uint32_t slot = 0; slot < objects_n_keys(run->objects, KIND_POD); slot++) {
        const ObjectKey *key = objects_key_at(run->objects, KIND_POD, slot);
        const Object *pod = api_server_get(api, key);
        if (pod != NULL && POD_CONST(pod)->node_name != NULL &&
            g_pattern_spec_match_string(pattern, key->name))
            return POD_CONST(pod)->node_name;
    }
    return NULL;
}

static void
add_nodes_of_zone(Fault *self)
{
    const Run *run = self->run;

    for (uint32_t slot = 0; slot < objects_n_keys(run->objects, KIND_NODE); slot++) {
        const Object *node = api_server_get(cluster_api(run->cluster),
                                            objects_key_at(run->objects, KIND_NODE, slot));
        if (node != NULL && g_strcmp0(object_label(node, LABEL_ZONE), self->action->zone) == 0)
            g_ptr_array_add(self->victims, (void *)object_name(node));
    }
}

/* Which of several replicas. */
static const char *
find_replica(const Fault *self)
{
    const ScenarioAction *action = self->action;
    const char *leader = action->replica == REPLICA_LEADER
                             ? cluster_leader(self->run->cluster, action->process, action->instance)
                             : NULL;

    if (leader != NULL)
        return leader;
    if (action->replica == REPLICA_LEADER || action->replica == 0)
        return action->instance;
    return strings_internf(objects_strings(self->run->objects), "%s#%u",
                           action->instance == NULL ? "" : action->instance, action->replica);
}

static void
find_victims(Fault *self)
{
    const ScenarioAction *action = self->action;
    const char *name = action->instance;

    if (action->zone != NULL) {
        add_nodes_of_zone(self);
        return;
    }
    if (action->pod_of_instance != NULL) {
        name = run_node_of_pod(self->run, action->pod_of_instance);
        if (name == NULL) /* nobody is there for it to happen to */
            return;
    } else if (action->process != NULL) {
        name = find_replica(self);
    }
    g_ptr_array_add(self->victims, name == NULL ? NULL : (void *)intern(self, name));
}

/* ---- Volumes that the back end loses ---- */

static const char *
handle_of_claim(const Fault *self, const Claim *claim)
{
    const Run *run = self->run;
    const ObjectKey *key =
        claim->phase != CLAIM_BOUND
            ? NULL
            : objects_find_key(run->objects, KIND_VOLUME, NULL, claim_volume_name(claim));
    const Volume *volume =
        key == NULL ? NULL : VOLUME_CONST(api_server_get(cluster_api(run->cluster), key));

    return volume == NULL || volume->source == NULL ||
                   g_strcmp0(volume->source->driver, self->action->driver) != 0
               ? NULL
               : volume->source->handle;
}

static void
lose_volumes(const Fault *self)
{
    const Run *run = self->run;
    const char *name = self->action->name == NULL ? "*" : self->action->name;
    g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(name);

    for (uint32_t slot = 0; slot < objects_n_keys(run->objects, KIND_CLAIM); slot++) {
        const ObjectKey *key = objects_key_at(run->objects, KIND_CLAIM, slot);
        const Claim *claim = CLAIM_CONST(api_server_get(cluster_api(run->cluster), key));
        const char *handle = claim == NULL || !g_pattern_spec_match_string(pattern, key->name)
                                 ? NULL
                                 : handle_of_claim(self, claim);
        if (handle != NULL)
            csi_modelled_driver_lose_volume(driver_of(self), handle);
    }
}

/* ---- It begins and ends ---- */

static void
set_registrar(const Fault *self, const char *node, RegistrarState state)
{
    unsigned driver;

    if (cluster_find_driver_number(self->run->cluster, self->action->driver, &driver))
        cluster_set_registrar(self->run->cluster, driver, node, state);
}

static void
set_driver_away(const Fault *self, const char *node, gboolean begins)
{
    csi_modelled_driver_set_away(driver_of(self), node, begins);
    if (begins)
        csi_modelled_driver_cut_calls(driver_of(self), node);
}

/* They break at once and come back by a relist; nothing lasts. */
static void
drop_watches(ApiServer *api, gboolean begins)
{
    if (!begins)
        return;
    api_server_break_watches(api, 0);
    api_server_repair_watches(api, 0, WATCHES_RELIST);
}

/* ---- A network that is not set up ---- */

typedef struct {
    Run *run;
    const ScenarioAction *action;
    PodCondition condition;
} NetworkPatch;

static gboolean
edit_network(Object *object, const void *arg)
{
    const NetworkPatch *patch = arg;

    if (NODE(object)->troubles[NODE_NETWORK_UNAVAILABLE].status == patch->condition.status)
        return FALSE;
    NODE(object)->troubles[NODE_NETWORK_UNAVAILABLE] = patch->condition;
    return TRUE;
}

static void
network_told(void *data, const ApiResponse *response)
{
    const NetworkPatch *patch = data;

    if (response->code != API_OK)
        run_note(patch->run, patch->action, "%s",
                 response->message == NULL ? "refused by the API server" : response->message);
    g_free(data);
}

/* No kubelet's business: who makes the nodes' routes says so in their status (cloud-provider's
 * route_controller.go), at once. */
static void
set_network(const Fault *self, const char *node, gboolean is_missing)
{
    NetworkPatch *patch = g_new(NetworkPatch, 1);
    const char *client = "route-controller";

    *patch = (NetworkPatch){
        .run = self->run,
        .action = self->action,
        .condition = {.reason = intern(self, is_missing ? "NoRouteCreated" : "RouteCreated"),
                      .message =
                          intern(self, is_missing ? "RouteController failed to create a route"
                                                  : "RouteController created a route"),
                      .changed_at = sim_now(self->run->sim),
                      .status = is_missing ? CONDITION_TRUE : CONDITION_FALSE},
    };
    ApiRequest request = {
        .verb = API_PATCH_STATUS,
        .key = objects_key(self->run->objects, KIND_NODE, NULL, node),
        .edit = edit_network,
        .arg = patch,
        .client = client,
        .client_hash = sim_hash_string(client),
    };
    api_server_request(cluster_api(self->run->cluster), &request, network_told, g_free, patch);
}

/* Of one of the victims. */
static void
strike(const Fault *self, const char *victim, gboolean begins)
{
    const ScenarioAction *action = self->action;
    Cluster *cluster = self->run->cluster;
    ApiServer *api = cluster_api(cluster);
    const char *process = action->process;

    switch (action->fault) {
    case FAULT_STOP_KUBELET:
        process = "kubelet";
        /* fall through */
    case FAULT_CRASH:
        (begins ? cluster_crash : cluster_restart)(cluster, process, victim);
        return;
    case FAULT_HANG:
        (begins ? cluster_hang : cluster_wake)(cluster, process, victim);
        return;
    case FAULT_SLOW:
        cluster_slow(cluster, process, victim, begins ? action->factor : 1);
        return;
    case FAULT_LOSE_LEADERSHIP:
        if (begins)
            cluster_lose_leadership(cluster, process, victim);
        return;
    case FAULT_POWER_OFF:
        (begins ? cluster_power_off : cluster_power_on)(cluster, victim);
        return;
    case FAULT_SHUT_DOWN:
        (begins ? cluster_shut_down : cluster_power_on)(cluster, victim);
        return;
    case FAULT_CUT_NETWORK:
        (begins ? cluster_cut_off : cluster_reconnect)(cluster, victim);
        return;
    case FAULT_MEMORY_PRESSURE:
        cluster_set_pressure(cluster, victim, NODE_MEMORY_PRESSURE, begins);
        return;
    case FAULT_DISK_PRESSURE:
        cluster_set_pressure(cluster, victim, NODE_DISK_PRESSURE, begins);
        return;
    case FAULT_PID_PRESSURE:
        cluster_set_pressure(cluster, victim, NODE_PID_PRESSURE, begins);
        return;
    case FAULT_NETWORK_UNAVAILABLE:
        set_network(self, victim, begins);
        return;
    case FAULT_API_OUTAGE:
        cluster_set_api_down(cluster, begins);
        return;
    case FAULT_API_SLOW:
        api_server_set_slowness(api, begins ? action->factor : 1);
        return;
    case FAULT_DROP_WATCHES:
        drop_watches(api, begins);
        return;
    case FAULT_LIMIT_SEATS:
        api_server_set_seats(api, begins ? action->seats : 0);
        return;
    case FAULT_DRIVER_HANG:
        csi_modelled_driver_set_hung(driver_of(self), begins);
        return;
    case FAULT_DRIVER_SLOW:
        csi_modelled_driver_set_slowness(driver_of(self), begins ? action->factor : 1);
        return;
    case FAULT_DRIVER_AWAY:
        set_driver_away(self, victim, begins);
        return;
    case FAULT_REPLACE_PLUGIN: /* told to end, the registrar takes its socket away */
        set_driver_away(self, victim, begins);
        set_registrar(self, victim, begins ? REGISTRAR_GONE : REGISTRAR_LISTENS);
        return;
    case FAULT_KILL_REGISTRAR:
        if (begins)
            set_registrar(self, victim, REGISTRAR_DEAD);
        return;
    case FAULT_LOSE_VOLUMES:
        if (begins)
            lose_volumes(self);
        return;
    case FAULT_KEEP_VOLUMES:
        csi_modelled_driver_set_keeps_volumes(driver_of(self), begins);
        return;
    }
    g_assert_not_reached();
}

static void
fault_end(Sim *sim, void *data)
{
    Fault *self = data;

    (void)sim;
    for (unsigned i = 0; i < self->victims->len; i++)
        strike(self, self->victims->pdata[i], FALSE);
    self->over(self->data);
    fault_free(self);
}

static const SimEventType end_event = {
    .name = "fault/repaired",
    .fire = fault_end,
    .free_data = fault_free,
};

void
fault_begin(Run *run, const ScenarioAction *action, void (*over)(void *data), void *data)
{
    Fault *self = g_new0(Fault, 1);

    *self = (Fault){run, action, g_ptr_array_new(), over, data};
    find_victims(self);
    for (unsigned i = 0; i < self->victims->len; i++)
        strike(self, self->victims->pdata[i], TRUE);
    if (self->victims->len > 0 && action->lasts >= 0) {
        sim_after(run->sim, action->lasts, &end_event, self, WAIT_SCENARIO);
        return;
    }
    over(data);
    fault_free(self);
}
