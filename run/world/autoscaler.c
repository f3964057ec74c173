/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simple cluster-autoscaler: it orders machines of a group for unschedulable pods. It packs such
 * pods onto ordered machines, using resources, labels, taints, and the places of bound volumes. A
 * future machine has no CSINode, so the real autoscaler assumes that any number of volumes fit
 * (kubernetes/autoscaler, simulator on template nodes); then too few machines come at a time, and
 * pods wait for several rounds. With KEP-5030 it takes the CSINode of a node of the group as the
 * template's, and a machine without these drivers for one to come. Machines never leave. */
#include "run-private.h"
#include "sim/random.h"

#define REMEMBERED (30 * SIM_SECOND) /* time for its pods to arrive, after it has joined */

typedef struct {
    struct Autoscaler *owner;
    Object *node;      /* (owned): the Node to come; after it has joined, its state then */
    SimTime joined_at; /* TIME_UNSET: on its way */
    gboolean has_joined;
    int64_t cpu_milli, memory_bytes;
    int32_t pods;
    GHashTable *volumes;  /* keys of claims that come with its pods */
    GHashTable *pod_keys; /* ObjectKeys of the pods that it was ordered for */
} AutoscalerMachine;

typedef struct Autoscaler {
    Run *run;
    const ScenarioNodes *group;
    unsigned number; /* of the group, for draws */
    unsigned n_nodes;
    GPtrArray *machines; /* of Machine: ordered, or just joined */
} Autoscaler;

static void
machine_free(void *data)
{
    AutoscalerMachine *self = data;

    object_unref(self->node);
    g_hash_table_unref(self->volumes);
    g_hash_table_unref(self->pod_keys);
    g_free(self);
}

/* ---- Whether a pod fits ---- */

/* A startup taint, which is soon gone: cluster-autoscaler's --startup-taint names them. */
static gboolean
is_startup_taint(const Scenario *scenario, const char *key)
{
    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (g_strcmp0(scenario->drivers[i].node_plugin.removes_taint, key) == 0)
            return TRUE;
    return FALSE;
}

static gboolean
tolerates(const Scenario *scenario, const Pod *pod, const Taints *taints)
{
    const Tolerations *tolerations = pod->spec->tolerations;

    for (unsigned i = 0; taints != NULL && i < taints->n_items; i++) {
        gboolean is_tolerated = taints->items[i].effect == TAINT_PREFER_NO_SCHEDULE ||
                                is_startup_taint(scenario, taints->items[i].key);
        for (unsigned k = 0; tolerations != NULL && k < tolerations->n_items; k++)
            is_tolerated |= toleration_tolerates(&tolerations->items[k], &taints->items[i]);
        if (!is_tolerated)
            return FALSE;
    }
    return TRUE;
}

static const Volume *
autoscaler_volume_of(const Run *run, const Claim *claim)
{
    return claim == NULL || claim->phase != CLAIM_BOUND
               ? NULL
               : VOLUME_CONST(world_find(run, KIND_VOLUME, NULL, claim_volume_name(claim)));
}

static const Claim *
claim_at(const Run *run, const ObjectKey *key)
{
    return CLAIM_CONST(api_server_get(cluster_api(run->cluster), key));
}

/* Whether the places of bound volumes allow the node. */
static gboolean
reaches_volumes(const Run *run, const Pod *pod, const Object *node)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Volume *volume = autoscaler_volume_of(
            run, claim_at(run, pod_claim_key(run->objects, pod, &pod->volumes->items[i])));
        if (volume != NULL &&
            !node_selector_matches(volume->node_affinity, node->labels, object_name(node)))
            return FALSE;
    }
    return TRUE;
}

/* The driver of a claim's volume, present or future. Returns: NULL: no driver of the scenario */
static const char *
autoscaler_driver_of(const Run *run, const ObjectKey *key)
{
    const Claim *claim = claim_at(run, key);
    const Volume *volume = autoscaler_volume_of(run, claim);

    if (volume != NULL)
        return volume->source == NULL ? NULL : volume->source->driver;
    const Object *class =
        claim == NULL ? NULL : world_find(run, KIND_STORAGE_CLASS, NULL, claim_class(claim));
    return class == NULL ? NULL : STORAGE_CLASS(class)->provisioner;
}

/* Counts the driver's volumes among the machine's and the pod's own. */
static unsigned
count_volumes(const AutoscalerMachine *self, const Pod *pod, const char *driver)
{
    const Run *run = self->owner->run;
    unsigned n = 0;

    for (uint32_t slot = 0; slot < objects_n_keys(run->objects, KIND_CLAIM); slot++) {
        const ObjectKey *key = objects_key_at(run->objects, KIND_CLAIM, slot);
        gboolean is_there = g_hash_table_contains(self->volumes, key);
        for (unsigned i = 0; !is_there && pod->volumes != NULL && i < pod->volumes->n_items; i++)
            is_there = pod_claim_key(run->objects, pod, &pod->volumes->items[i]) == key;
        n += is_there && g_strcmp0(autoscaler_driver_of(run, key), driver) == 0;
    }
    return n;
}

static const char *
autoscaler_intern(const Run *run, const char *text)
{
    return strings_intern(objects_strings(run->objects), text);
}

static const CsiNode *
csi_node_of(const Run *run, const char *node)
{
    return (const CsiNode *)world_find(run, KIND_CSI_NODE, NULL, node);
}

/* Returns: (borrowed): what the group's first node with the driver says of it; NULL: there is none
 */
static const CsiNodeDriver *
template_of(const Autoscaler *self, const char *driver)
{
    const CsiNodeDriver *found = NULL;

    for (unsigned i = 0; i < self->n_nodes && found == NULL; i++) {
        g_autofree char *name = world_node_name(self->group, i);
        const CsiNode *csi_node = csi_node_of(self->run, name);
        if (csi_node != NULL)
            found = csi_node_find_driver(csi_node, driver);
    }
    return found;
}

/* Returns: -1: none */
static int
limit_of(const Autoscaler *self, const ScenarioDriver *driver)
{
    if (self->group->autoscaler.limits == LIMITS_KNOWN)
        return driver->attach_limit > 0 ? driver->attach_limit : -1;
    const CsiNodeDriver *entry = template_of(self, autoscaler_intern(self->run, driver->name));
    return entry == NULL ? -1 : entry->allocatable_count;
}

static gboolean
has_room_for_volumes(const AutoscalerMachine *self, const Pod *pod)
{
    const Scenario *scenario = self->owner->run->scenario;

    if (self->owner->group->autoscaler.limits == LIMITS_UNLIMITED)
        return TRUE;
    for (unsigned i = 0; i < scenario->n_drivers; i++) {
        const ScenarioDriver *driver = &scenario->drivers[i];
        int limit = limit_of(self->owner, driver);
        if (limit >= 0 && count_volumes(self, pod, driver->name) > (unsigned)limit)
            return FALSE;
    }
    return TRUE;
}

/* Whether a machine that has joined lacks a driver that others of the group have. */
static gboolean
lacks_driver(const AutoscalerMachine *self)
{
    const Autoscaler *owner = self->owner;
    const Scenario *scenario = owner->run->scenario;
    const CsiNode *csi_node = csi_node_of(owner->run, object_name(self->node));

    for (unsigned i = 0; i < scenario->n_drivers; i++) {
        const char *driver = autoscaler_intern(owner->run, scenario->drivers[i].name);
        if (template_of(owner, driver) != NULL &&
            (csi_node == NULL || csi_node_find_driver(csi_node, driver) == NULL))
            return TRUE;
    }
    return FALSE;
}

static gboolean
suits(const Run *run, const Object *node, const Pod *pod)
{
    const PodSpec *spec = pod->spec;

    return tolerates(run->scenario, pod, ((const Node *)node)->taints) &&
           (spec->node_selector == NULL ||
            string_map_contains(node->labels, spec->node_selector)) &&
           (spec->required_nodes == NULL ||
            node_selector_matches(spec->required_nodes, node->labels, object_name(node))) &&
           reaches_volumes(run, pod, node);
}

static gboolean
autoscaler_fits(const AutoscalerMachine *self, const Pod *pod)
{
    return self->cpu_milli >= pod->spec->cpu_milli &&
           self->memory_bytes >= pod->spec->memory_bytes && self->pods > 0 &&
           suits(self->owner->run, self->node, pod) && has_room_for_volumes(self, pod);
}

static void
autoscaler_take(AutoscalerMachine *self, const Pod *pod)
{
    self->cpu_milli -= pod->spec->cpu_milli;
    self->memory_bytes -= pod->spec->memory_bytes;
    self->pods--;
    g_hash_table_add(self->pod_keys, (void *)pod->meta.key);
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++)
        g_hash_table_add(self->volumes,
                         pod_claim_key(self->owner->run->objects, pod, &pod->volumes->items[i]));
}

/* ---- Machines ---- */

static void
machine_joins(Sim *sim, void *data)
{
    AutoscalerMachine *self = data;

    self->joined_at = sim_now(sim);
    self->has_joined = TRUE;
    world_join_node(self->owner->run, object_ref(self->node), self->owner->group->kubelet);
}

static const SimEventType join_event = {.name = "autoscaler/machine joins", .fire = machine_joins};

/* Ordered for @pod, if the group has a machine that it fits on. */
static void
order_machine(Autoscaler *self, const Pod *pod)
{
    char **zones = self->group->zones;
    unsigned n_zones = zones == NULL ? 1 : g_strv_length(zones);
    Sim *sim = self->run->sim;

    for (unsigned i = 0; i < n_zones && self->n_nodes < self->group->autoscaler.max; i++) {
        AutoscalerMachine *machine = g_new0(AutoscalerMachine, 1);
        machine->owner = self;
        machine->node = world_node_new(self->run, self->group, self->n_nodes,
                                       zones == NULL ? NULL : zones[(self->n_nodes + i) % n_zones]);
        machine->joined_at = TIME_UNSET;
        machine->cpu_milli = NODE(machine->node)->allocatable.cpu_milli;
        machine->memory_bytes = NODE(machine->node)->allocatable.memory_bytes;
        machine->pods = NODE(machine->node)->allocatable.pods;
        machine->volumes = g_hash_table_new(NULL, NULL);
        machine->pod_keys = g_hash_table_new(NULL, NULL);
        if (!autoscaler_fits(machine, pod)) {
            machine_free(machine);
            continue;
        }
        const SimDist *delay = self->group->autoscaler.delay;
        SimStream stream = sim_stream(sim, "autoscaler/delay");
        SimTime wait =
            delay == NULL ? 0 : sim_dist_draw(delay, stream, self->number, self->n_nodes);
        autoscaler_take(machine, pod);
        self->n_nodes++;
        g_ptr_array_add(self->machines, machine);
        sim_after(sim, MAX(wait, 0), &join_event, machine, WAIT_SCENARIO);
        return;
    }
}

/* ---- The loop ---- */

static gboolean
is_nowhere(const Pod *pod)
{
    return pod->node_name == NULL && !object_is_deleted(&pod->meta) &&
           pod->scheduled.status == CONDITION_FALSE &&
           g_strcmp0(pod->scheduled.reason, "Unschedulable") == 0;
}

/* Whether a machine is ordered for the pod, or an ordered machine has room for it. */
static gboolean
is_seen_to(const Run *run, const Pod *pod)
{
    for (unsigned i = 0; i < run->autoscalers->len; i++) {
        const Autoscaler *other = run->autoscalers->pdata[i];
        for (unsigned k = 0; k < other->machines->len; k++) {
            const AutoscalerMachine *machine = other->machines->pdata[k];
            if (g_hash_table_contains(machine->pod_keys, pod->meta.key))
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean
finds_room(const Autoscaler *self, const Pod *pod)
{
    for (unsigned i = 0; i < self->machines->len; i++) {
        AutoscalerMachine *machine = self->machines->pdata[i];
        if (machine->joined_at == TIME_UNSET && autoscaler_fits(machine, pod)) {
            autoscaler_take(machine, pod);
            return TRUE;
        }
    }
    return FALSE;
}

/* A machine that is not ready yet counts as one that has not joined. */
static void
look_at_drivers(Autoscaler *self)
{
    for (unsigned i = 0; i < self->machines->len; i++) {
        AutoscalerMachine *machine = self->machines->pdata[i];
        if (!machine->has_joined)
            continue;
        if (lacks_driver(machine))
            machine->joined_at = TIME_UNSET;
        else if (machine->joined_at == TIME_UNSET)
            machine->joined_at = sim_now(self->run->sim);
    }
}

static void
forget_old_machines(Autoscaler *self)
{
    if (self->group->autoscaler.limits == LIMITS_CSI_NODE)
        look_at_drivers(self);
    for (unsigned i = self->machines->len; i-- > 0;) {
        const AutoscalerMachine *machine = self->machines->pdata[i];
        if (machine->joined_at != TIME_UNSET &&
            sim_now(self->run->sim) >= machine->joined_at + REMEMBERED)
            g_ptr_array_remove_index(self->machines, i);
    }
}

static SimTime
scan_interval(const Autoscaler *self)
{
    return MAX(self->group->autoscaler.scan_interval, SIM_MS);
}

static void scan(Sim *sim, void *data);

static const SimEventType scan_event = {.name = "autoscaler/scan", .fire = scan};

static void
scan(Sim *sim, void *data)
{
    Autoscaler *self = data;
    const Run *run = self->run;

    forget_old_machines(self);
    for (uint32_t slot = 0; slot < objects_n_keys(run->objects, KIND_POD); slot++) {
        const Pod *pod = POD_CONST(api_server_get(cluster_api(run->cluster),
                                                  objects_key_at(run->objects, KIND_POD, slot)));
        if (pod != NULL && is_nowhere(pod) && !is_seen_to(run, pod) && !finds_room(self, pod))
            order_machine(self, pod);
    }
    sim_after(sim, scan_interval(self), &scan_event, self, WAIT_POLL);
}

void
autoscalers_start(Run *run)
{
    for (unsigned i = 0; i < run->scenario->n_nodes; i++) {
        const ScenarioNodes *group = &run->scenario->nodes[i];
        if (group->autoscaler.max <= group->count)
            continue;
        Autoscaler *self = g_new0(Autoscaler, 1);
        *self = (Autoscaler){.run = run, .group = group, .number = i, .n_nodes = group->count};
        self->machines = g_ptr_array_new_with_free_func(machine_free);
        g_ptr_array_add(run->autoscalers, self);
        SimStream stream = sim_stream(run->sim, "autoscaler/phase");
        sim_after(run->sim, (SimTime)sim_random_below(stream, i, 0, (uint64_t)scan_interval(self)),
                  &scan_event, self, WAIT_POLL);
    }
}

void
autoscalers_free(Run *run)
{
    for (unsigned i = 0; i < run->autoscalers->len; i++) {
        Autoscaler *self = run->autoscalers->pdata[i];
        g_ptr_array_unref(self->machines);
        g_free(self);
    }
    g_ptr_array_set_size(run->autoscalers, 0);
}
