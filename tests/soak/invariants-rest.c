/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants-private.h"
#include "models/api/snapshot.h"
#include "models/cluster/inspect.h"
#include "models/csi/modelled/modelled-test.h"

/* ---- At rest ---- */

static gboolean
has_ready_pod(const Invariants *self, const Claim *claim)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        for (unsigned k = 0; pod != NULL && pod->volumes != NULL && k < pod->volumes->n_items; k++)
            if (pod_is_ready(pod) &&
                pod_claim_key(self->objects, pod, &pod->volumes->items[k]) == claim->meta.key)
                return TRUE;
    }
    return FALSE;
}

static gboolean
has_room(const Invariants *self, const Claim *claim)
{
    const Volume *volume = invariants_volume_of_claim(self, claim->meta.key);

    return volume == NULL || volume->source == NULL || volume->source->handle == NULL ||
           !history_is_cramped(self->history, volume->source->handle);
}

/* Volumes have grown if it was requested early enough, as all pods are ready and no fault is left
 * (RSZ-20, RSZ-51). A class that forbids growing refuses the request (API-124). */
void
invariants_check_grown(Invariants *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *claim = CLAIM_CONST(invariants_stored(self, KIND_CLAIM, i));
        if (claim != NULL && claim->phase == CLAIM_BOUND && has_ready_pod(self, claim) &&
            claim->capacity_bytes < claim->request_bytes && has_room(self, claim))
            invariants_fault(self, "claim %s: has %" G_GINT64_FORMAT " bytes of %" G_GINT64_FORMAT,
                             claim->meta.key->text, claim->capacity_bytes, claim->request_bytes);
    }
}

void
invariants_check_ready(Invariants *self)
{
    invariants_check_grown(self);
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod != NULL && !pod_is_ready(pod) && !pod_is_terminal(pod))
            invariants_fault(self, "pod %s: still not ready on %s (%s)", pod->meta.key->text,
                             pod->node_name == NULL ? "no node" : pod->node_name,
                             pod->scheduled.message == NULL ? "" : pod->scheduled.message);
    }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_STATEFUL_SET); i++) {
        const StatefulSet *set = (const StatefulSet *)invariants_stored(self, KIND_STATEFUL_SET, i);
        if (set != NULL && set->ready_replicas != set->replicas)
            invariants_fault(self, "set %s: %d of %d ready", set->meta.key->text,
                             set->ready_replicas, set->replicas);
    }
}

void
invariants_check_settled(Invariants *self)
{
    invariants_check_liveness(self);
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *claim = CLAIM_CONST(invariants_stored(self, KIND_CLAIM, i));
        if (claim == NULL || claim->phase == CLAIM_PENDING)
            continue;
        const Volume *volume = invariants_volume_of_claim(self, claim->meta.key);
        if (claim->phase == CLAIM_LOST)
            invariants_fault(self, "claim %s: Lost", claim->meta.key->text);
        else if (volume == NULL || volume->phase != VOLUME_BOUND ||
                 volume->claim_ref.claim != claim->meta.key ||
                 !object_uid_equal(volume->claim_ref.uid, claim->meta.uid))
            invariants_fault(self, "claim %s: its volume does not point back",
                             claim->meta.key->text);
    }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(invariants_stored(self, KIND_VOLUME, i));
        if (volume != NULL && volume->phase == VOLUME_BOUND &&
            invariants_volume_of_claim(self, volume->claim_ref.claim) != volume)
            invariants_fault(self, "volume %s: Bound, but its claim does not point back",
                             volume->meta.key->text);
    }
}

typedef struct {
    Invariants *self;
    const CsiModelledDriver *driver;
    const char *name;
} InvariantsRestVisit;

/* A volume whose object is still there: somebody wants it kept. */
static gboolean
is_retained(const InvariantsRestVisit *visit, const char *volume_id)
{
    const Objects *objects = visit->self->objects;

    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(invariants_stored(visit->self, KIND_VOLUME, i));
        if (volume != NULL && volume->source != NULL &&
            g_strcmp0(volume->source->driver, visit->name) == 0 &&
            g_str_equal(volume->source->handle, volume_id))
            return volume->reclaim_policy == RECLAIM_RETAIN;
    }
    return FALSE;
}

/* ADC-27: at its start the attach/detach controller skips a VolumeAttachment of an inline volume,
 * which then stays for ever if its pod has gone meanwhile. */
gboolean
invariants_is_attachment_forgotten(const Invariants *self, const Attachment *attachment)
{
    return attachment->inline_volume != NULL &&
           (attachment->meta.created_at < 0 ||
            history_has_crash(self->history, "kube-controller-manager", NULL,
                              attachment->meta.created_at, sim_now(self->sim)));
}

/* By such a VolumeAttachment. */
static gboolean
is_attached_for_ever(const Invariants *self, const char *volume_id)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Object *object = invariants_stored(self, KIND_ATTACHMENT, i);
        const Attachment *attachment = (const Attachment *)object;

        if (object != NULL && invariants_is_attachment_forgotten(self, attachment) &&
            g_strcmp0(VOLUME_CONST(attachment->inline_volume)->source->handle, volume_id) == 0)
            return TRUE;
    }
    return FALSE;
}

static void
check_left_volume(void *data, const CsiModelledVolume *volume)
{
    InvariantsRestVisit *visit = data;

    if (volume->name != NULL && !is_retained(visit, volume->id) &&
        !history_is_kept(visit->self->history, volume->id) &&
        !history_is_source_forgotten(visit->self->history, volume->name) &&
        !history_is_creation_forgotten(visit->self->history, visit->name, volume->name))
        invariants_fault(visit->self, "volume %s is left in the driver", volume->id);
    if (volume->n_published > 0 && !is_attached_for_ever(visit->self, volume->id))
        invariants_fault(visit->self, "volume %s is still attached", volume->id);
    for (uint32_t i = 0; i < objects_n_keys(visit->self->objects, KIND_NODE); i++) {
        const char *node = objects_key_at(visit->self->objects, KIND_NODE, i)->name;
        if (csi_modelled_driver_is_staged(visit->driver, volume->id, node) &&
            !history_is_staging_forgotten(visit->self->history, volume->id, node))
            invariants_fault(visit->self, "volume %s is still staged on %s", volume->id, node);
        if (csi_modelled_driver_n_targets(visit->driver, volume->id, node) > 0)
            invariants_fault(visit->self, "volume %s is still mounted on %s", volume->id, node);
    }
}

/* The node's lists after the last volume is gone. */
static void
check_left_node(Invariants *self, const Node *node)
{
    if (node->volumes_attached != NULL && node->volumes_attached->n_items > 0)
        invariants_fault(self, "node %s: still reports %s attached", node->meta.key->text,
                         node->volumes_attached->items[0]);
    if (node->volumes_in_use != NULL && node->volumes_in_use->n_items > 0)
        invariants_fault(self, "node %s: still reports %s in use", node->meta.key->text,
                         node->volumes_in_use->items[0]);
}

static gboolean
is_key_of_group_member(const Invariants *self, const ObjectKey *key)
{
    const Object *object = key == NULL ? NULL : api_server_get(self->api, key);

    return object != NULL && invariants_is_group_member(object);
}

/* The controller of ephemeral volumes ignores a pod's deletion: its key waits for the end of its
 * back-off, of 1000 s at most. NewController() in pkg/controller/volume/ephemeral/controller.go.
 * And the attacher tries a forgotten attachment for ever. */
static gboolean
waits_in_vain(const Invariants *self, const Doing *doing)
{
    const Object *object = api_server_get(self->api, doing->key);

    if (object == NULL)
        return g_str_equal(doing->queue, "ephemeral_volume");
    return object_kind(object) == KIND_ATTACHMENT &&
           invariants_is_attachment_forgotten(self, (const Attachment *)object);
}

/* A work queue or a plan still has something to do, though nothing has changed for long. */
static void
check_idle(void *data, const Doing *doing)
{
    Invariants *self = data;
    const char *name = doing->component->class->name;

    if (doing->kind == DOING_QUEUED && !g_str_equal(doing->queue, "csistoragecapacity")) /* polls */
        invariants_fault(self, "%s: queue %s still holds %s", name, doing->queue, doing->key->text);
    else if (doing->kind == DOING_DELAYED && doing->failures > 0 &&
             !g_str_equal(doing->queue, "pvc-modify") && /* RSZ-62: also if the claim is gone */
             !is_key_of_group_member(self, doing->key) && !waits_in_vain(self, doing) &&
             !history_is_source_forgotten(self->history, doing->key->name))
        invariants_fault(self, "%s: queue %s still tries %s again", name, doing->queue,
                         doing->key->text);
}

static void
check_process(void *data, const ProcessView *process)
{
    Invariants *self = data;

    if (process->elects &&
        cluster_awaits_leader(run_cluster(self->run), process->name, process->instance))
        invariants_fault(self, "%s of %s: no replica leads", process->name,
                         process->instance == NULL ? "the cluster" : process->instance);
}

/* SNAP-88: a group that is not ready at once may leave members that are bound to nothing. */
gboolean
invariants_is_group_member(const Object *object)
{
    if (object_kind(object) == KIND_SNAPSHOT_CONTENT)
        return object_annotation(object, ANNOTATION_SNAPSHOT_GROUP_HANDLE) != NULL;
    return object_kind(object) == KIND_VOLUME_SNAPSHOT &&
           (VOLUME_SNAPSHOT_CONST(object)->group_name != NULL ||
            object_has_finalizer(object, FINALIZER_SNAPSHOT_IN_GROUP) || object->owners != NULL);
}

gboolean
invariants_tries_forgotten(const Invariants *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Attachment *attachment =
            (const Attachment *)invariants_stored(self, KIND_ATTACHMENT, i);
        if (attachment != NULL && !attachment->attached &&
            attachment->attach_error.message != NULL &&
            invariants_is_attachment_forgotten(self, attachment))
            return TRUE;
    }
    return FALSE;
}

static gboolean
is_forgotten(const Invariants *self, const Object *object)
{
    if (object_kind(object) == KIND_ATTACHMENT)
        return invariants_is_attachment_forgotten(self, (const Attachment *)object);
    if (invariants_is_group_member(object))
        return TRUE;
    if (object_kind(object) == KIND_SNAPSHOT_CONTENT)
        return history_is_snapshot_forgotten(self->history, object->key->name);
    return object_kind(object) == KIND_VOLUME_SNAPSHOT &&
           history_is_snapshot_forgotten(self->history,
                                         ((const VolumeSnapshot *)object)->bound_content);
}

/* Finalizers outlive their reason nowhere. */
static void
check_deletions(Invariants *self)
{
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kind); slot++) {
            const Object *object = invariants_stored(self, kind, slot);
            if (object != NULL && object_is_deleted(object) && !is_forgotten(self, object))
                invariants_fault(self, "%s %s is still being deleted (%s)", kind_class(kind)->kind,
                                 object->key->text,
                                 object->finalizers == NULL ? "no finalizer"
                                                            : object->finalizers->items[0]);
        }
}

void
invariants_check_empty(Invariants *self)
{
    static const ObjectKind kinds[] = {KIND_POD,
                                       KIND_CLAIM,
                                       KIND_ATTACHMENT,
                                       KIND_STATEFUL_SET,
                                       KIND_DEPLOYMENT,
                                       KIND_REPLICA_SET,
                                       KIND_DAEMON_SET,
                                       KIND_JOB,
                                       KIND_VOLUME_SNAPSHOT,
                                       KIND_SNAPSHOT_CONTENT};

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kinds[i]); slot++) {
            const Object *object = invariants_stored(self, kinds[i], slot);
            if (object != NULL && !is_forgotten(self, object))
                invariants_fault(self, "%s %s is left%s", kind_class(kinds[i])->kind,
                                 object->key->text,
                                 object_is_deleted(object) ? ", being deleted" : "");
        }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(invariants_stored(self, KIND_VOLUME, i));
        if (volume != NULL && volume->reclaim_policy == RECLAIM_DELETE)
            invariants_fault(self, "volume %s is left, %s", volume->meta.key->text,
                             volume_phase_name(volume->phase));
        if (volume != NULL && volume->phase == VOLUME_BOUND)
            invariants_fault(self, "volume %s is still Bound", volume->meta.key->text);
    }
    check_deletions(self);
    cluster_inspect(run_cluster(self->run), check_idle, self);
    cluster_inspect_processes(run_cluster(self->run), check_process, self);
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++)
        if (invariants_stored(self, KIND_NODE, i) != NULL)
            check_left_node(self, NODE(invariants_stored(self, KIND_NODE, i)));
    for (unsigned i = 0; i < cluster_n_drivers(run_cluster(self->run)); i++) {
        CsiDriver *driver = cluster_driver(run_cluster(self->run), i);
        InvariantsRestVisit visit = {self, csi_modelled_driver_cast(driver),
                                     csi_driver_name(driver)};
        csi_modelled_driver_each_volume(visit.driver, check_left_volume, &visit);
    }
}
