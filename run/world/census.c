/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics that count objects: volumes, claims, pods, attachments, zones, taints and leases. Counts
 * change with the writes; only counts over several objects (a pod's volume through its claim) are
 * made again before a scrape, for the objects that were written since. Two versions that count
 * alike are told apart at once, as most writes change nothing here. */
#include "census.h"

#include <string.h>

#include "models/api/lease.h"
#include "models/metrics/metrics.h"
#include "sim/slots.h"

#define CSI_PREFIX "kubernetes.io/csi/"
#define PLUGIN_PREFIX "kubernetes.io/csi:"

static const char manager[] = "kube-controller-manager", kubelet[] = "kubelet",
                  provisioner[] = "external-provisioner";

/* A volume plugin and the attach/detach controller's volumes of it (MET-61). */
typedef struct {
    char *name;         /* "kubernetes.io/csi:csi.example.com" */
    const char *driver; /* in @name */
    gsize driver_length;
    SimSeries *desired, *actual; /* NULL: never any volume */
} CensusPlugin;

/* A pod's volume on its node: MET-63 counts it once for each pod, MET-90 once for each claim. */
typedef struct {
    const ObjectKey *claim;
    const ObjectKey *volume;     /* NULL: no such claim */
    SimSeries *desired, *in_use; /* NULL: no volume, or no CSI driver */
    SimSeries *capacity;         /* ... or the pod is not running */
} CensusUse;

typedef struct {
    unsigned n;
    CensusUse items[];
} Uses;

/* The last counted state of a pod, claim or volume, by slot. */
typedef struct {
    uint32_t written; /* number of the count after its last write */
    uint32_t n_users; /* of a claim: its running pods */
    Uses *uses;       /* (owned): of a pod; NULL: none */
} CensusPart;

struct Census {
    const Cluster *cluster;
    Objects *objects;
    SimMetrics *metrics;
    uint32_t count;            /* the number of the count to come, from 1 */
    SimSlots parts[N_KINDS];   /* of Part, by slot; without a size: this kind is not counted */
    GPtrArray *plugins;        /* of Plugin (owned) */
    GHashTable *told_nodes;    /* set of interned names: their kubelets tell the capacity */
    gboolean uses_changed;     /* a pod, claim or volume was written since the last count */
    gboolean attached_changed; /* attachments of nodes */
};

static void
plugin_free(void *data)
{
    CensusPlugin *plugin = data;

    g_free(plugin->name);
    g_free(plugin);
}

Census *
census_new(const Cluster *cluster, Objects *objects, SimMetrics *metrics)
{
    static const ObjectKind remembered[] = {KIND_POD, KIND_CLAIM, KIND_VOLUME};
    Census *self = g_new0(Census, 1);

    self->cluster = cluster;
    self->objects = objects;
    self->metrics = metrics;
    self->count = 1;
    self->plugins = g_ptr_array_new_with_free_func(plugin_free);
    self->told_nodes = g_hash_table_new(NULL, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(remembered); i++) {
        self->parts[remembered[i]].element_size = sizeof(CensusPart);
    }
    return self;
}

void
census_free(Census *self)
{
    if (self == NULL)
        return;
    const SimSlots *pods = &self->parts[KIND_POD];
    SIM_SLOTS_EACH(pods, i)
        g_free(((const CensusPart *)sim_slots_find(pods, i))->uses);
    for (unsigned i = 0; i < N_KINDS; i++)
        sim_slots_clear(&self->parts[i]);
    g_ptr_array_unref(self->plugins);
    g_hash_table_unref(self->told_nodes);
    g_free(self);
}

void
census_leave_usage(Census *self, const char *node)
{
    g_hash_table_add(self->told_nodes, (void *)node);
}

static CensusPart *
part_of(Census *self, const ObjectKey *key)
{
    return sim_slots_place(&self->parts[key->kind], key->slot);
}

static gboolean
was_written(const Census *self, const ObjectKey *key)
{
    const CensusPart *part = sim_slots_find(&self->parts[key->kind], key->slot);

    return part != NULL && part->written == self->count;
}

/* ---- Volumes and claims: MET-50 to MET-54 ---- */

static void
census_count_volume(const Census *self, const Volume *volume, int n)
{
    unsigned family = volume->phase == VOLUME_BOUND ? METRIC_PV_BOUND : METRIC_PV_UNBOUND;

    sim_series_add(metric_series(self->metrics, METRIC_PV_TOTAL, manager, "N/A",
                                 volume->volume_mode == VOLUME_BLOCK ? "Block" : "Filesystem"),
                   n);
    sim_series_add(metric_series(self->metrics, family, manager, volume_class(volume)), n);
}

static gboolean
volumes_count_alike(const Volume *a, const Volume *b)
{
    return a != NULL && b != NULL && a->phase == b->phase && a->volume_mode == b->volume_mode &&
           volume_class(a) == volume_class(b);
}

static void
volume_written(const Census *self, const Volume *before, const Volume *after)
{
    if (volumes_count_alike(before, after))
        return;
    if (before != NULL)
        census_count_volume(self, before, -1);
    if (after != NULL)
        census_count_volume(self, after, 1);
}

static const char *
class_label(const Claim *claim)
{
    const char *class = claim_class(claim);

    return class == NULL ? "" : class;
}

static void
count_claim(const Census *self, const Claim *claim, int n)
{
    unsigned family = claim->phase == CLAIM_BOUND ? METRIC_PVC_BOUND : METRIC_PVC_UNBOUND;

    sim_series_add(metric_series(self->metrics, family, manager, claim->meta.key->namespace,
                                 class_label(claim), ""),
                   n);
}

static gboolean
claims_count_alike(const Claim *a, const Claim *b)
{
    return a != NULL && b != NULL && a->phase == b->phase && claim_class(a) == claim_class(b);
}

static void
claim_written(const Census *self, const Claim *before, const Claim *after)
{
    if (claims_count_alike(before, after))
        return;
    if (before != NULL)
        count_claim(self, before, -1);
    if (after != NULL)
        count_claim(self, after, 1);
}

/* ---- Nodes ---- */

/* MET-110: the zone's key. Its NUL bytes become \x00, as text cannot hold them. (owned) */
static char *
zone_key(const Node *node)
{
    const char *zone = string_map_get(node->meta.labels, "topology.kubernetes.io/zone");
    const char *region = string_map_get(node->meta.labels, "topology.kubernetes.io/region");

    return zone == NULL && region == NULL
               ? g_strdup("")
               : g_strdup_printf("%s:\\x00:%s", region == NULL ? "" : region,
                                 zone == NULL ? "" : zone);
}

/* MET-111. A zone without nodes stays, with size 0 and 100 % healthy (handleDisruption() in
 * Kubernetes' node_lifecycle_controller.go). */
static void
count_in_zone(const Census *self, const Node *node, int n)
{
    g_autofree char *key = zone_key(node);
    SimSeries *size = metric_series(self->metrics, METRIC_ZONE_SIZE, manager, key);
    SimSeries *unhealthy = metric_series(self->metrics, METRIC_ZONE_UNHEALTHY, manager, key);

    (void)metric_series(self->metrics, METRIC_EVICTED_NODES, manager, key); /* MET-161 */
    sim_series_add(size, n);
    sim_series_add(unhealthy, node->ready.status == CONDITION_TRUE ? 0 : n);
    sim_series_set(metric_series(self->metrics, METRIC_ZONE_HEALTH, manager, key),
                   size->sum == 0 ? 100 : 100 * (size->sum - unhealthy->sum) / size->sum);
}

static gboolean
zones_count_alike(const Node *a, const Node *b)
{
    return a != NULL && b != NULL && a->meta.labels == b->meta.labels &&
           a->ready.status == b->ready.status;
}

/* Whether the node lifecycle controller's taint with this name evicts the pod. */
static gboolean
evicts(const Node *node, const char *key)
{
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (node->taints->items[i].effect == TAINT_NO_EXECUTE &&
            g_str_equal(node->taints->items[i].key, key))
            return TRUE;
    return FALSE;
}

/* MET-110 */
static void
count_evictions(const Census *self, const Node *before, const Node *after)
{
    static const char *const keys[] = {"node.kubernetes.io/not-ready",
                                       "node.kubernetes.io/unreachable"};

    for (unsigned i = 0; before->taints != after->taints && i < G_N_ELEMENTS(keys); i++) {
        if (!evicts(after, keys[i]) || evicts(before, keys[i]))
            continue;
        g_autofree char *zone = zone_key(after);
        sim_series_add(metric_series(self->metrics, METRIC_EVICTED_NODES, manager, zone), 1);
    }
}

static void
node_written(Census *self, const Node *before, const Node *after)
{
    if (!zones_count_alike(before, after)) {
        if (after != NULL)
            count_in_zone(self, after, 1);
        if (before != NULL)
            count_in_zone(self, before, -1);
    }
    if (before != NULL && after != NULL)
        count_evictions(self, before, after);
    if ((before == NULL ? NULL : before->volumes_attached) !=
        (after == NULL ? NULL : after->volumes_attached))
        self->attached_changed = TRUE;
}

static CensusPlugin *
find_plugin(Census *self, const char *driver, gsize length)
{
    for (unsigned i = 0; i < self->plugins->len; i++) {
        CensusPlugin *plugin = self->plugins->pdata[i];
        if (plugin->driver_length == length && memcmp(plugin->driver, driver, length) == 0)
            return plugin;
    }
    CensusPlugin *plugin = g_new0(CensusPlugin, 1);
    plugin->name = g_strdup_printf(PLUGIN_PREFIX "%.*s", (int)length, driver);
    plugin->driver = plugin->name + strlen(PLUGIN_PREFIX);
    plugin->driver_length = length;
    g_ptr_array_add(self->plugins, plugin);
    return plugin;
}

/* The plugin of "kubernetes.io/csi/<driver>^<handle>"; usually the previous volume's plugin. */
static CensusPlugin *
census_plugin_of(Census *self, const char *unique_name, CensusPlugin *last)
{
    const char *driver = unique_name + strlen(CSI_PREFIX);

    if (last != NULL && strncmp(driver, last->driver, last->driver_length) == 0 &&
        (driver[last->driver_length] == '^' || driver[last->driver_length] == '\0'))
        return last;
    return find_plugin(self, driver, strcspn(driver, "^"));
}

static SimSeries *
plugin_series(const Census *self, const CensusPlugin *plugin, const char *state)
{
    return metric_series(self->metrics, METRIC_ADC_VOLUMES, manager, plugin->name, state);
}

static void
count_attached(Census *self)
{
    const ApiServer *api = cluster_api(self->cluster);
    CensusPlugin *plugin = NULL;

    for (unsigned i = 0; i < self->plugins->len; i++)
        sim_series_set(((CensusPlugin *)self->plugins->pdata[i])->actual, 0);
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++) {
        const Node *node =
            (const Node *)api_server_get(api, objects_key_at(self->objects, KIND_NODE, i));
        const StringList *attached = node == NULL ? NULL : node->volumes_attached;
        for (unsigned k = 0; attached != NULL && k < attached->n_items; k++) {
            plugin = census_plugin_of(self, attached->items[k], plugin);
            if (plugin->actual == NULL)
                plugin->actual = plugin_series(self, plugin, "actual_state_of_world");
            sim_series_add(plugin->actual, 1);
        }
    }
}

/* ---- Pods ---- */

static gboolean
runs(const Pod *pod)
{
    return pod != NULL && pod->node_name != NULL && pod->phase == POD_RUNNING;
}

/* Volumes of a pod count as soon as the pod has a node. */
static void
count_use(Census *self, const Pod *pod, const PodVolume *volume, CensusUse *use)
{
    const ApiServer *api = cluster_api(self->cluster);

    *use = (CensusUse){.claim = pod_claim_key(self->objects, pod, volume)};
    const Claim *claim = CLAIM_CONST(api_server_get(api, use->claim));
    const ObjectKey *key =
        claim == NULL || claim->volume_name == NULL
            ? NULL
            : objects_find_key(self->objects, KIND_VOLUME, NULL, claim->volume_name);
    const Volume *pv = key == NULL ? NULL : VOLUME_CONST(api_server_get(api, key));
    const char *driver = pv == NULL || pv->source == NULL ? NULL : pv->source->driver;
    use->volume = pv == NULL ? NULL : key;
    if (driver == NULL)
        return;
    CensusPlugin *plugin = find_plugin(self, driver, strlen(driver));
    if (plugin->desired == NULL)
        plugin->desired = plugin_series(self, plugin, "desired_state_of_world");
    use->desired = plugin->desired;
    use->in_use =
        metric_series(self->metrics, METRIC_VOLUMES_IN_USE, manager, pod->node_name, plugin->name);
    sim_series_add(use->desired, 1);
    sim_series_add(use->in_use, 1);
    if (!runs(pod) || g_hash_table_contains(self->told_nodes, pod->node_name))
        return;
    use->capacity = metric_series(self->metrics, METRIC_KUBELET_CAPACITY, kubelet,
                                  use->claim->namespace, use->claim->name);
    sim_series_set(use->capacity, claim->capacity_bytes);
    part_of(self, use->claim)->n_users++;
}

static void
take_back(Census *self, const CensusUse *use)
{
    sim_series_add(use->desired, -1);
    sim_series_add(use->in_use, -1);
    if (use->capacity == NULL || --part_of(self, use->claim)->n_users > 0)
        return;
    sim_series_set(use->capacity, 0);
    sim_series_rest(use->capacity);
}

/* The object behind a volume's name may be new although the claim was not written. */
static gboolean
use_changed(const Census *self, const CensusUse *use)
{
    return use->volume == NULL || was_written(self, use->claim) || was_written(self, use->volume);
}

static gboolean
uses_changed(const Census *self, const Uses *uses)
{
    for (unsigned i = 0; uses != NULL && i < uses->n; i++)
        if (use_changed(self, &uses->items[i]))
            return TRUE;
    return FALSE;
}

static void
census_count_pod(Census *self, const ObjectKey *key)
{
    const Pod *pod = POD_CONST(api_server_get(cluster_api(self->cluster), key));
    Uses *uses = g_steal_pointer(&part_of(self, key)->uses);

    for (unsigned i = 0; uses != NULL && i < uses->n; i++)
        take_back(self, &uses->items[i]);
    if (pod == NULL || pod->node_name == NULL || pod_is_terminal(pod) || pod->volumes == NULL) {
        part_of(self, key)->written = 0;
        g_free(uses);
        return;
    }
    uses = g_realloc(uses, sizeof(Uses) + pod->volumes->n_items * sizeof(CensusUse));
    uses->n = pod->volumes->n_items;
    for (unsigned i = 0; i < uses->n; i++)
        count_use(self, pod, &pod->volumes->items[i], &uses->items[i]);
    part_of(self, key)->uses = uses;
}

static void
count_uses(Census *self)
{
    const SimSlots *pods = &self->parts[KIND_POD];

    SIM_SLOTS_EACH(pods, i) {
        const CensusPart *part = sim_slots_find(pods, i);
        if (part->written == self->count || uses_changed(self, part->uses))
            census_count_pod(self, objects_key_at(self->objects, KIND_POD, i));
    }
}

/* ---- All ---- */

const ProcessClass *
census_lease_process(const ObjectKey *lease)
{
    for (unsigned i = 0; model_classes[i] != NULL; i++)
        if (g_str_has_prefix(lease->name, model_classes[i]->process->name))
            return model_classes[i]->process;
    return NULL;
}

/* MET-131: of all candidates together, so 1 while there is a leader. Leases of sidecars are named
 * after their drivers. */
static void
count_lease(const Census *self, const Lease *lease)
{
    const ObjectKey *key = lease->meta.key;

    if (!g_str_equal(key->namespace, "kube-system"))
        return; /* heartbeats */
    const ProcessClass *process = census_lease_process(key);
    sim_series_set(metric_series(self->metrics, METRIC_LEADER,
                                 process == NULL ? provisioner : process->name, key->name),
                   lease->holder != NULL);
}

static void
lease_written(const Census *self, const Lease *before, const Lease *after)
{
    if (after != NULL && (before == NULL || before->holder != after->holder))
        count_lease(self, after);
}

void
census_object_written(Census *self, const Object *before, const Object *after)
{
    const ObjectKey *key = (after != NULL ? after : before)->key;

    if (self->parts[key->kind].element_size != 0) {
        part_of(self, key)->written = self->count;
        self->uses_changed = TRUE;
    }
    if (key->kind == KIND_VOLUME)
        volume_written(self, (const Volume *)before, (const Volume *)after);
    else if (key->kind == KIND_CLAIM)
        claim_written(self, (const Claim *)before, (const Claim *)after);
    else if (key->kind == KIND_NODE)
        node_written(self, (const Node *)before, (const Node *)after);
    else if (key->kind == KIND_LEASE)
        lease_written(self, (const Lease *)before, (const Lease *)after);
    else if (key->kind == KIND_POD && runs((const Pod *)before) != runs((const Pod *)after))
        sim_series_add(metric_series(self->metrics, METRIC_KUBELET_RUNNING, kubelet, NULL),
                       after != NULL && runs((const Pod *)after) ? 1 : -1);
}

void
census_count(Census *self)
{
    if (self->attached_changed)
        count_attached(self);
    if (self->uses_changed)
        count_uses(self);
    self->attached_changed = self->uses_changed = FALSE;
    self->count++;
}
