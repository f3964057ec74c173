/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants-private.h"
#include "models/api/snapshot.h"
#include "models/csi/modelled/modelled-test.h"

/* Liveness: after a calm time whatever could proceed has done so. What another object or the
 * scenario itself holds up is left out; so is what these few lines cannot judge, such as affinity
 * between pods. */

/* The longest back-off of pods' volumes is 2 min 2 s, of the sidecars 5 min, of the scheduler's
 * unschedulable pods 5 min; a bind takes at most 10 min. */
#define CALM (16 * SIM_MINUTE)

static gboolean
was_calm(const Invariants *self)
{
    const GArray *faults = run_faults(self->run);
    SimTime now = sim_now(self->sim);

    for (unsigned i = 0; faults != NULL && i < faults->len; i++)
        if (MIN(g_array_index(faults, RunFault, i).until, SIM_TIME_MAX - CALM) + CALM > now)
            return FALSE;
    const Scenario *scenario = run_scenario(self->run);
    for (unsigned i = 0; i < scenario->n_actions; i++)
        if (scenario->actions[i].at <= now && scenario->actions[i].at + CALM > now)
            return FALSE;
    return TRUE;
}

gboolean
invariants_is_old(const Invariants *self, const Object *object)
{
    SimTime at = object_is_deleted(object) ? object->deleted_at : object->created_at;

    return at + CALM <= sim_now(self->sim);
}

gboolean
invariants_node_is_well(const Node *node)
{
    for (unsigned i = 0; i < N_NODE_TROUBLES; i++)
        if (node->troubles[i].status == CONDITION_TRUE)
            return FALSE;
    return node->ready.status == CONDITION_TRUE && !node->unschedulable;
}

static const ScenarioDriver *
driver_named(const Invariants *self, const char *name)
{
    const Scenario *scenario = run_scenario(self->run);

    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (g_str_equal(scenario->drivers[i].name, name))
            return &scenario->drivers[i];
    return NULL;
}

/* Whether the claim's volume can be made: by a driver with room, and not from another volume. */
static gboolean
can_be_provisioned(const Invariants *self, const Claim *claim)
{
    const StorageClass *class =
        (const StorageClass *)invariants_find(self, KIND_STORAGE_CLASS, claim_class(claim));
    const ScenarioDriver *driver = class == NULL ? NULL : driver_named(self, class->provisioner);

    return driver != NULL && driver->model.n_pools == 0 && claim->data_source.kind == NULL &&
           !object_is_deleted(&claim->meta);
}

/* ---- Claims and volumes ---- */

static gboolean
has_pod(const Invariants *self, const ObjectKey *claim)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod != NULL && invariants_pod_has_claim(self, pod, claim))
            return TRUE;
    }
    return FALSE;
}

/* SRC-3: a copy that is pending for whatever reason holds its source; external-provisioner v5.2.0,
 * clone_controller.go lines 28-29 and 181-193. */
static gboolean
is_being_copied(const Invariants *self, const Claim *source)
{
    if (!object_has_finalizer(&source->meta, FINALIZER_CLONE))
        return FALSE;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *claim = CLAIM_CONST(invariants_stored(self, KIND_CLAIM, i));
        if (claim != NULL && claim->phase == CLAIM_PENDING &&
            g_strcmp0(claim->data_source.kind, "PersistentVolumeClaim") == 0 &&
            data_source_has_form(&claim->data_source, DATA_SOURCE_OLD) &&
            g_strcmp0(claim->data_source.name, source->meta.key->name) == 0 &&
            claim->meta.key->namespace == source->meta.key->namespace)
            return TRUE;
    }
    return FALSE;
}

/* PVC-21.3, PVC-25: a volume made by hand that the claim could have. */
static gboolean
invariants_liveness_fits(const Volume *volume, const Claim *claim)
{
    return volume->phase == VOLUME_AVAILABLE && volume->claim_ref.claim == NULL &&
           !object_is_deleted(&volume->meta) &&
           g_str_equal(volume_class(volume), claim_class(claim)) &&
           volume->volume_mode == claim->volume_mode &&
           volume->capacity_bytes >= claim->request_bytes &&
           (claim->access_modes & ~volume->access_modes) == 0;
}

static void
check_volume_for(Invariants *self, const Claim *claim)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(invariants_stored(self, KIND_VOLUME, i));
        if (volume != NULL && invariants_liveness_fits(volume, claim) &&
            invariants_is_old(self, &volume->meta))
            invariants_fault(self, "claim %s: still Pending, volume %s would fit",
                             claim->meta.key->text, volume->meta.key->name);
    }
}

static void
check_claims(Invariants *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *claim = CLAIM_CONST(invariants_stored(self, KIND_CLAIM, i));
        if (claim == NULL || !invariants_is_old(self, &claim->meta))
            continue;
        const StorageClass *class =
            (const StorageClass *)invariants_find(self, KIND_STORAGE_CLASS, claim_class(claim));
        if (claim->phase == CLAIM_PENDING && class != NULL &&
            class->binding_mode == BINDING_IMMEDIATE && !object_is_deleted(&claim->meta) &&
            claim->volume_name == NULL && claim->selector == NULL)
            check_volume_for(self, claim);
        if (claim->phase == CLAIM_PENDING && can_be_provisioned(self, claim) &&
            class->binding_mode == BINDING_IMMEDIATE)
            invariants_fault(self, "claim %s: still Pending, its driver could make a volume",
                             claim->meta.key->text);
        if (object_is_deleted(&claim->meta) && !has_pod(self, claim->meta.key) &&
            !object_has_finalizer(&claim->meta, FINALIZER_SNAPSHOT_CLAIM) &&
            !is_being_copied(self, claim))
            invariants_fault(self, "claim %s: still being deleted, no pod has it",
                             claim->meta.key->text);
    }
}

static gboolean
is_attached_anywhere(const Invariants *self, const Volume *volume)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Attachment *attachment =
            (const Attachment *)invariants_stored(self, KIND_ATTACHMENT, i);
        if (attachment != NULL && attachment->volume_name == volume->meta.key->name)
            return TRUE;
    }
    return FALSE;
}

static void
check_volumes(Invariants *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(invariants_stored(self, KIND_VOLUME, i));
        if (volume != NULL && volume->phase == VOLUME_RELEASED &&
            volume->reclaim_policy == RECLAIM_DELETE &&
            volume->phase_changed_at + CALM <= sim_now(self->sim) &&
            !is_attached_anywhere(self, volume))
            invariants_fault(self, "volume %s: still Released, it could be deleted",
                             volume->meta.key->text);
    }
}

/* Whether the pod has the driver's volume, by a claim or inline. Handles of inline volumes of CSI
 * are made up by the kubelet: any of the driver counts. */
static gboolean
pod_has_volume(const Invariants *self, const Pod *pod, const char *driver, const char *volume_id)
{
    const PodVolumes *all = pod->volumes;

    for (unsigned i = 0; all != NULL && i < all->n_items + all->n_inline; i++) {
        const VolumeSource *source = all->items[i].source;
        if (source == NULL) {
            const Volume *volume =
                invariants_volume_of_claim(self, pod_claim_key(self->objects, pod, &all->items[i]));
            source = volume == NULL ? NULL : volume->source;
        }
        if (source != NULL && g_strcmp0(source->driver, driver) == 0 &&
            (source->handle == NULL || g_str_equal(source->handle, volume_id)))
            return TRUE;
    }
    return FALSE;
}

gboolean
invariants_is_used_on(const Invariants *self,
                      const char *node,
                      const char *driver,
                      const char *volume_id)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod != NULL && pod->node_name == node && pod_has_volume(self, pod, driver, volume_id))
            return TRUE;
    }
    return FALSE;
}

static void
check_attachments(Invariants *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Attachment *attachment =
            (const Attachment *)invariants_stored(self, KIND_ATTACHMENT, i);
        if (attachment == NULL || !invariants_is_old(self, &attachment->meta))
            continue;
        const Volume *volume =
            attachment->inline_volume != NULL
                ? VOLUME_CONST(attachment->inline_volume)
                : VOLUME_CONST(invariants_find(self, KIND_VOLUME, attachment->volume_name));
        const char *text = attachment->meta.key->text, *node = attachment->node_name;
        if (invariants_find(self, KIND_NODE, node) == NULL)
            invariants_fault(self, "%s: its node is gone", text);
        if (volume == NULL)
            invariants_fault(self, "%s: its volume is gone", text);
        /* ADC-42: it goes with the last pod of its volume on the node. */
        else if (!invariants_is_attachment_forgotten(self, attachment) &&
                 !invariants_is_used_on(self, node, volume->source->driver, volume->source->handle))
            invariants_fault(self, "%s: no pod on %s has %s", text, node, volume->source->handle);
    }
}

/* ---- Pods ---- */

/* Whether another pod or another node keeps the volume. */
static gboolean
is_taken(const Invariants *self, const Pod *pod, const Claim *claim, const Volume *volume)
{
    gboolean is_shared = (volume->access_modes & (ACCESS_RWX | ACCESS_ROX)) != 0;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Attachment *attachment =
            (const Attachment *)invariants_stored(self, KIND_ATTACHMENT, i);
        if (attachment != NULL && attachment->volume_name == volume->meta.key->name &&
            attachment->node_name != pod->node_name && !is_shared)
            return TRUE;
    }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *other = POD_CONST(invariants_stored(self, KIND_POD, i));
        if ((claim->access_modes & ACCESS_RWOP) != 0 && other != NULL &&
            other->meta.key != pod->meta.key &&
            invariants_pod_has_claim(self, other, claim->meta.key))
            return TRUE;
    }
    return FALSE;
}

/* Whether all its claims are bound, to volumes that it can have: on @node, if it has none yet. */
static gboolean
has_volumes(const Invariants *self, const Pod *pod, const Node *node)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const ObjectKey *key = pod_claim_key(self->objects, pod, &pod->volumes->items[i]);
        const Claim *claim = CLAIM_CONST(api_server_get(self->api, key));
        const Volume *volume = invariants_volume_of_claim(self, key);
        CsiModelledDriver *driver = invariants_driver_of(self, volume);
        if (claim == NULL || object_is_deleted(&claim->meta) || volume == NULL || driver == NULL ||
            object_is_deleted(&volume->meta) || is_taken(self, pod, claim, volume) ||
            !csi_modelled_driver_get_volume(driver, volume->source->handle, NULL) ||
            !node_selector_matches(volume->node_affinity, node->meta.labels, node->meta.key->name))
            return FALSE;
    }
    return TRUE;
}

/* A driver refuses to attach more than its limit, if the scheduler was not told in time (VF-9). */
static gboolean
has_limits(const Invariants *self, const char *node)
{
    const CsiNode *csi_node = (const CsiNode *)invariants_find(self, KIND_CSI_NODE, node);

    for (unsigned i = 0;
         csi_node != NULL && csi_node->drivers != NULL && i < csi_node->drivers->n_items; i++)
        if (csi_node->drivers->items[i].allocatable_count >= 0)
            return TRUE;
    return FALSE;
}

static gboolean
tolerates(const Pod *pod, const Node *node)
{
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (node->taints->items[i].effect != TAINT_PREFER_NO_SCHEDULE &&
            tolerations_find(pod->spec->tolerations, &node->taints->items[i]) == NULL)
            return FALSE;
    return TRUE;
}

static gboolean
has_room(const Invariants *self, const Pod *pod, const Node *node)
{
    int64_t cpu_milli = pod->spec->cpu_milli, memory_bytes = pod->spec->memory_bytes;
    int32_t n_pods = 1;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *other = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (other == NULL || pod_is_terminal(other) ||
            (other->node_name != node->meta.key->name &&
             other->nominated_node != node->meta.key->name))
            continue;
        cpu_milli += other->spec->cpu_milli;
        memory_bytes += other->spec->memory_bytes;
        n_pods++;
    }
    return cpu_milli <= node->allocatable.cpu_milli &&
           memory_bytes <= node->allocatable.memory_bytes && n_pods <= node->allocatable.pods;
}

static gboolean
could_run_on(const Invariants *self, const Pod *pod, const Node *node)
{
    const PodSpec *spec = pod->spec;

    return invariants_node_is_well(node) && tolerates(pod, node) && has_room(self, pod, node) &&
           !has_limits(self, node->meta.key->name) &&
           (spec->node_selector == NULL ||
            string_map_contains(node->meta.labels, spec->node_selector)) &&
           node_selector_matches(spec->required_nodes, node->meta.labels, node->meta.key->name) &&
           has_volumes(self, pod, node);
}

static void
check_waiting(Invariants *self, const Pod *pod)
{
    if (pod->spec->n_pod_terms > 0 || pod->spec->n_spread > 0 || pod->nominated_node != NULL)
        return;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++) {
        const Node *node = (const Node *)invariants_stored(self, KIND_NODE, i);
        if (node != NULL && could_run_on(self, pod, node)) {
            invariants_fault(self, "pod %s: has no node, it could run on %s (%s)",
                             pod->meta.key->text, node->meta.key->name,
                             pod->scheduled.message == NULL ? "" : pod->scheduled.message);
            return;
        }
    }
}

static void
check_pods(Invariants *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod == NULL || pod_is_terminal(pod) || !invariants_is_old(self, &pod->meta))
            continue;
        const Node *node = (const Node *)invariants_find(self, KIND_NODE, pod->node_name);
        if (pod->node_name == NULL && !object_is_deleted(&pod->meta))
            check_waiting(self, pod);
        if (node == NULL || !invariants_node_is_well(node))
            continue;
        if (object_is_deleted(&pod->meta))
            invariants_fault(self, "pod %s: still ends on %s", pod->meta.key->text, pod->node_name);
        else if (!pod_is_ready(pod) && !has_limits(self, pod->node_name) &&
                 has_volumes(self, pod, node))
            invariants_fault(self, "pod %s: still not ready on %s, it has all it needs",
                             pod->meta.key->text, pod->node_name);
    }
}

/* ---- Nodes ---- */

typedef struct {
    Invariants *self;
    const CsiModelledDriver *driver;
    const char *name;
} InvariantsLivenessVisit;

/* Nothing is staged or mounted without a pod. */
static void
check_mounts(void *data, const CsiModelledVolume *volume)
{
    InvariantsLivenessVisit *visit = data;
    const Objects *objects = visit->self->objects;

    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_NODE); i++) {
        const Node *node = (const Node *)invariants_stored(visit->self, KIND_NODE, i);
        if (node == NULL || !invariants_node_is_well(node))
            continue;
        const char *name = node->meta.key->name;
        gboolean is_mounted = csi_modelled_driver_n_targets(visit->driver, volume->id, name) > 0;
        gboolean is_staged = csi_modelled_driver_is_staged(visit->driver, volume->id, name) &&
                             !history_is_staging_forgotten(visit->self->history, volume->id, name);
        if ((is_mounted || is_staged) &&
            !invariants_is_used_on(visit->self, name, visit->name, volume->id))
            invariants_fault(visit->self, "volume %s is %s on %s, and no pod there has it",
                             volume->id, is_mounted ? "mounted" : "staged", name);
    }
}

void
invariants_check_liveness(Invariants *self)
{
    if (!was_calm(self))
        return;
    invariants_check_workloads(self);
    invariants_check_states(self);
    invariants_check_told(self);
    check_claims(self);
    check_volumes(self);
    check_attachments(self);
    check_pods(self);
    invariants_check_grown(self);
    for (unsigned i = 0; i < cluster_n_drivers(run_cluster(self->run)); i++) {
        CsiDriver *driver = cluster_driver(run_cluster(self->run), i);
        InvariantsLivenessVisit visit = {self, csi_modelled_driver_cast(driver),
                                         csi_driver_name(driver)};
        csi_modelled_driver_each_volume(visit.driver, check_mounts, &visit);
    }
}
