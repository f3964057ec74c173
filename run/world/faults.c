/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults of a scenario: how each begins and ends in the cluster, its API server and its drivers, by
 * a row for each type. Victims (nodes of a zone, the node of a pod, the leader) are known only when
 * the fault begins; the same victims recover at its end. A fault that was begun is noted with its
 * end, so that `why` and a client can tell or end it. */
#include "run-private.h"
#include "sim/random.h"

typedef struct FaultsFaultRow FaultsFaultRow;

/* A fault under way. */
typedef struct {
    Run *run;
    const ScenarioAction *action;
    const FaultsFaultRow *row;
    GPtrArray *victims;       /* of interned names: instances or nodes; the name may be NULL */
    void (*over)(void *data); /* NULL: nobody waits for it */
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
faults_driver_of(const Fault *self)
{
    return csi_modelled_driver_cast(cluster_find_driver(self->run->cluster, self->action->driver));
}

static const char *
faults_intern(const Fault *self, const char *text)
{
    return strings_intern(objects_strings(self->run->objects), text);
}

/* ---- A row for each type of fault ---- */

typedef gboolean NodeFault(Cluster *cluster, const char *node);
typedef gboolean ProcessFault(Cluster *cluster, const char *process, const char *instance);
typedef void AnyFault(const Fault *self, const char *victim, gboolean begins);

/* One of node, process and change is set; a fault without an end has no second function. */
struct FaultsFaultRow {
    struct {
        NodeFault *begin, *end;
    } node;
    struct {
        ProcessFault *begin, *end;
        const char *name; /* NULL: the scenario's process */
    } process;
    AnyFault *change;
    AnyFault *of_volume; /* for change_volumes_of_claims(): by handle */
    NodeTrouble trouble; /* for change_pressure() */
};

/* ---- Victims: known only when the fault begins ---- */

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

/* The instance of the replica that the scenario names. */
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
        if (name == NULL) /* there is no such pod */
            return;
    } else if (action->process != NULL) {
        name = find_replica(self);
    }
    g_ptr_array_add(self->victims, name == NULL ? NULL : (void *)faults_intern(self, name));
}

/* ---- Volumes that the back end loses, or calls abnormal ---- */

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
lose_volume(const Fault *self, const char *handle, gboolean begins)
{
    if (begins)
        csi_modelled_driver_lose_volume(faults_driver_of(self), handle);
}

static void
change_condition(const Fault *self, const char *handle, gboolean begins)
{
    const char *message = self->action->message;

    csi_modelled_driver_set_condition(faults_driver_of(self), handle, begins,
                                      !begins           ? NULL
                                      : message == NULL ? "the volume is damaged"
                                                        : faults_intern(self, message));
}

/* The row's action on the volumes of the claims that the scenario names. */
static void
change_volumes_of_claims(const Fault *self, const char *victim, gboolean begins)
{
    const Run *run = self->run;
    const char *name = self->action->name == NULL ? "*" : self->action->name;
    g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(name);
    unsigned n = 0;

    (void)victim;
    for (uint32_t slot = 0; slot < objects_n_keys(run->objects, KIND_CLAIM); slot++) {
        const ObjectKey *key = objects_key_at(run->objects, KIND_CLAIM, slot);
        const Claim *claim = CLAIM_CONST(api_server_get(cluster_api(run->cluster), key));
        const char *handle = claim == NULL || !g_pattern_spec_match_string(pattern, key->name)
                                 ? NULL
                                 : handle_of_claim(self, claim);
        if (handle == NULL)
            continue;
        self->row->of_volume(self, handle, begins);
        n++;
    }
    if (n == 0 && begins)
        run_note(self->run, self->action, "there is no volume of a claim like %s", name);
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

/* The route controller, not the kubelet, writes the condition into the Node's status, at once
 * (cloud-provider's route_controller.go). */
static void
change_network(const Fault *self, const char *node, gboolean is_missing)
{
    NetworkPatch *patch = g_new(NetworkPatch, 1);
    const char *client = "route-controller";

    *patch = (NetworkPatch){
        .run = self->run,
        .action = self->action,
        .condition = {.reason = faults_intern(self, is_missing ? "NoRouteCreated" : "RouteCreated"),
                      .message = faults_intern(
                          self, is_missing ? "RouteController failed to create a route"
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

/* ---- Beginning and end of a fault, by its type ---- */

/* How many times slower something is. */
static double
factor_of(const Fault *self, gboolean begins)
{
    return begins ? self->action->factor : 1;
}

static void
change_process_speed(const Fault *self, const char *victim, gboolean begins)
{
    cluster_slow(self->run->cluster, self->action->process, victim, factor_of(self, begins));
}

static void
change_pressure(const Fault *self, const char *node, gboolean begins)
{
    cluster_set_pressure(self->run->cluster, node, self->row->trouble, begins);
}

static void
change_api(const Fault *self, const char *victim, gboolean begins)
{
    (void)victim;
    cluster_set_api_down(self->run->cluster, begins);
}

static void
change_api_speed(const Fault *self, const char *victim, gboolean begins)
{
    (void)victim;
    api_server_set_slowness(cluster_api(self->run->cluster), factor_of(self, begins));
}

/* Watches break at once and come back by a relist; nothing lasts. */
static void
drop_watches(const Fault *self, const char *victim, gboolean begins)
{
    ApiServer *api = cluster_api(self->run->cluster);

    (void)victim;
    if (!begins)
        return;
    api_server_break_watches(api, 0);
    api_server_repair_watches(api, 0, WATCHES_RELIST);
}

static void
change_seats(const Fault *self, const char *victim, gboolean begins)
{
    (void)victim;
    api_server_set_seats(cluster_api(self->run->cluster), begins ? self->action->seats : 0);
}

static void
change_driver(const Fault *self, const char *victim, gboolean begins)
{
    (void)victim;
    csi_modelled_driver_set_hung(faults_driver_of(self), begins);
}

static void
change_driver_speed(const Fault *self, const char *victim, gboolean begins)
{
    (void)victim;
    csi_modelled_driver_set_slowness(faults_driver_of(self), factor_of(self, begins));
}

static void
change_driver_pod(const Fault *self, const char *node, gboolean begins)
{
    csi_modelled_driver_set_away(faults_driver_of(self), node, begins);
    if (begins)
        csi_modelled_driver_cut_calls(faults_driver_of(self), node);
}

static void
set_registrar(const Fault *self, const char *node, RegistrarState state)
{
    unsigned driver;

    if (cluster_find_driver_number(self->run->cluster, self->action->driver, &driver))
        cluster_set_registrar(self->run->cluster, driver, node, state);
}

/* The registrar is told to end, so it removes its socket. */
static void
replace_plugin(const Fault *self, const char *node, gboolean begins)
{
    change_driver_pod(self, node, begins);
    set_registrar(self, node, begins ? REGISTRAR_GONE : REGISTRAR_LISTENS);
}

static void
kill_registrar(const Fault *self, const char *node, gboolean begins)
{
    if (begins)
        set_registrar(self, node, REGISTRAR_DEAD);
}

/* FLX-45: the directory of a FlexVolume driver. */
static void
uninstall(const Fault *self, const char *node, gboolean begins)
{
    Strings *strings = objects_strings(self->run->objects);

    cluster_set_flex_driver(self->run->cluster, self->action->driver,
                            node == NULL ? NULL : strings_intern(strings, node), !begins);
}

static void
change_volumes(const Fault *self, const char *victim, gboolean begins)
{
    (void)victim;
    csi_modelled_driver_set_keeps_volumes(faults_driver_of(self), begins);
}

/* clang-format off */
static const FaultsFaultRow rows[] = {
    [FAULT_POWER_OFF] = {.node = {cluster_power_off, cluster_power_on}},
    [FAULT_SHUT_DOWN] = {.node = {cluster_shut_down, cluster_power_on}},
    [FAULT_CUT_NETWORK] = {.node = {cluster_cut_off, cluster_reconnect}},
    [FAULT_CRASH] = {.process = {cluster_crash, cluster_restart, NULL}},
    [FAULT_STOP_KUBELET] = {.process = {cluster_crash, cluster_restart, "kubelet"}},
    [FAULT_HANG] = {.process = {cluster_hang, cluster_wake, NULL}},
    [FAULT_LOSE_LEADERSHIP] = {.process = {cluster_lose_leadership, NULL, NULL}},
    [FAULT_SLOW] = {.change = change_process_speed},
    [FAULT_MEMORY_PRESSURE] = {.change = change_pressure, .trouble = NODE_MEMORY_PRESSURE},
    [FAULT_DISK_PRESSURE] = {.change = change_pressure, .trouble = NODE_DISK_PRESSURE},
    [FAULT_PID_PRESSURE] = {.change = change_pressure, .trouble = NODE_PID_PRESSURE},
    [FAULT_NETWORK_UNAVAILABLE] = {.change = change_network},
    [FAULT_API_OUTAGE] = {.change = change_api},
    [FAULT_API_SLOW] = {.change = change_api_speed},
    [FAULT_DROP_WATCHES] = {.change = drop_watches},
    [FAULT_LIMIT_SEATS] = {.change = change_seats},
    [FAULT_DRIVER_HANG] = {.change = change_driver},
    [FAULT_DRIVER_SLOW] = {.change = change_driver_speed},
    [FAULT_DRIVER_AWAY] = {.change = change_driver_pod},
    [FAULT_REPLACE_PLUGIN] = {.change = replace_plugin},
    [FAULT_KILL_REGISTRAR] = {.change = kill_registrar},
    [FAULT_UNINSTALL] = {.change = uninstall},
    [FAULT_LOSE_VOLUMES] = {.change = change_volumes_of_claims, .of_volume = lose_volume},
    [FAULT_ABNORMAL_VOLUMES] = {.change = change_volumes_of_claims, .of_volume = change_condition},
    [FAULT_KEEP_VOLUMES] = {.change = change_volumes},
};
/* clang-format on */

/* Begins or ends the fault for one of its victims. */
static void
strike(const Fault *self, const char *victim, gboolean begins)
{
    const FaultsFaultRow *row = self->row;
    NodeFault *of_node = begins ? row->node.begin : row->node.end;
    ProcessFault *of_process = begins ? row->process.begin : row->process.end;
    const char *process = row->process.name != NULL ? row->process.name : self->action->process;

    if (begins && self->action->minor > 0)
        cluster_set_node_release(self->run->cluster,
                                 strings_intern(objects_strings(self->run->objects), victim),
                                 self->action->minor);
    if (of_node != NULL)
        of_node(self->run->cluster, victim);
    if (of_process != NULL)
        of_process(self->run->cluster, process, victim);
    if (row->change != NULL)
        row->change(self, victim, begins);
}

static void
fault_end(Sim *sim, void *data)
{
    Fault *self = data;

    (void)sim;
    for (unsigned i = 0; i < self->victims->len; i++)
        strike(self, self->victims->pdata[i], FALSE);
    if (self->over != NULL)
        self->over(self->data);
    fault_free(self);
}

static const SimEventType end_event = {
    .name = "fault/repaired",
    .fire = fault_end,
    .free_data = fault_free,
};

static void
clear_fault(void *data)
{
    g_ptr_array_unref(((RunFault *)data)->victims);
}

/* Returns: (borrowed): good until the next fault begins */
static RunFault *
faults_note_fault(const Fault *self)
{
    SimTime now = sim_now(self->run->sim);
    const RunFault fault = {
        .action = self->action,
        .victims = g_ptr_array_ref(self->victims),
        .since = now,
        .until = self->action->lasts >= 0 ? sim_time_add(now, self->action->lasts) : SIM_TIME_MAX,
        .cause = sim_cause(self->run->sim),
    };

    if (self->run->faults == NULL) {
        self->run->faults = g_array_new(FALSE, FALSE, sizeof(RunFault));
        g_array_set_clear_func(self->run->faults, clear_fault);
    }
    g_array_append_val(self->run->faults, fault);
    return &g_array_index(self->run->faults, RunFault, self->run->faults->len - 1);
}

const GArray *
run_faults(const Run *self)
{
    return self->faults;
}

void
fault_begin(Run *run, const ScenarioAction *action, void (*over)(void *data), void *data)
{
    Fault *self = g_new0(Fault, 1);

    *self = (Fault){run, action, &rows[action->fault], g_ptr_array_new(), over, data};
    find_victims(self);
    for (unsigned i = 0; i < self->victims->len; i++)
        strike(self, self->victims->pdata[i], TRUE);
    RunFault *noted = faults_note_fault(self);
    if (self->victims->len == 0)
        run_note_missing(run, action);
    if (self->victims->len > 0 && action->lasts >= 0) {
        noted->end = sim_after(run->sim, action->lasts, &end_event, self, WAIT_SCENARIO);
        noted->under_way = self;
        return;
    }
    over(data);
    fault_free(self);
}

gboolean
run_end_fault(Run *self, unsigned number)
{
    SimTime now = sim_now(self->sim);
    RunFault *noted = self->faults == NULL || number >= self->faults->len
                          ? NULL
                          : &g_array_index(self->faults, RunFault, number);

    if (noted == NULL || noted->until <= now)
        return FALSE;
    Fault *fault = g_new0(Fault, 1), *old = noted->under_way;
    *fault = (Fault){.run = self,
                     .action = noted->action,
                     .row = &rows[noted->action->fault],
                     .victims = g_ptr_array_ref(noted->victims),
                     .over = old != NULL ? old->over : NULL,
                     .data = old != NULL ? old->data : NULL};
    sim_cancel(self->sim, noted->end); /* frees the old one */
    noted->end = 0;
    noted->under_way = NULL;
    noted->until = now;
    sim_set_cause(self->sim, noted->cause);
    sim_after(self->sim, 0, &end_event, fault, WAIT_SCENARIO);
    return TRUE;
}
