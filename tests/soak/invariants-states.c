/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants-private.h"
#include "models/api/lease.h"
#include "models/api/snapshot.h"
#include "models/volume/plugins.h"

/* Marks and statuses of volumes, snapshots and nodes at rest: finalizers, conditions, taints,
 * lists.
 */

/* ---- Nodes ---- */

static void
check_taint(
    Invariants *self, const Node *node, const char *key, TaintEffect effect, gboolean is_due)
{
    if ((taints_find(node->taints, key, (int)effect) != NULL) != is_due)
        invariants_fault(self, "node %s: taint %s is %s", node->meta.key->text, key,
                         is_due ? "missing" : "left");
}

/* NL-25 to NL-32: taints follow the conditions. */
static void
check_taints(Invariants *self, const Node *node)
{
    static const char *const troubles[N_NODE_TROUBLES] = {
        "node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure", "node.kubernetes.io/network-unavailable"};
    static const char not_ready[] = "node.kubernetes.io/not-ready",
                      unreachable[] = "node.kubernetes.io/unreachable";
    gboolean is_unknown = node->ready.status == CONDITION_UNKNOWN;
    gboolean is_bad = node->ready.status == CONDITION_FALSE;

    check_taint(self, node, not_ready, TAINT_NO_SCHEDULE, is_bad);
    check_taint(self, node, not_ready, TAINT_NO_EXECUTE, is_bad);
    check_taint(self, node, unreachable, TAINT_NO_SCHEDULE, is_unknown);
    check_taint(self, node, unreachable, TAINT_NO_EXECUTE, is_unknown);
    check_taint(self, node, "node.kubernetes.io/unschedulable", TAINT_NO_SCHEDULE,
                node->unschedulable);
    for (unsigned i = 0; i < N_NODE_TROUBLES; i++)
        check_taint(self, node, troubles[i], TAINT_NO_SCHEDULE,
                    node->troubles[i].status == CONDITION_TRUE);
}

/* ADC-51: attached volumes are reported. A controller that hung and wakes up may still write an old
 * list, and the next leader never looks at it. */
static void
check_reported(Invariants *self, const Node *node)
{
    const char *name = node->meta.key->name;

    if (history_was_deposed(self->history, "kube-controller-manager"))
        return;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Attachment *attachment =
            (const Attachment *)invariants_stored(self, KIND_ATTACHMENT, i);
        if (attachment == NULL || attachment->node_name != name || !attachment->attached ||
            object_is_deleted(&attachment->meta) || attachment->inline_volume != NULL)
            continue;
        const Volume *volume =
            VOLUME_CONST(invariants_find(self, KIND_VOLUME, attachment->volume_name));
        if (volume != NULL && !invariants_is_reported(self, volume, name))
            invariants_fault(self, "node %s: does not report %s, which is attached", name,
                             attachment->volume_name);
    }
}

/* KVM-30: the kubelet reports every 10.4 s at most. Before it does, a pod may have gone with the
 * claim of its ephemeral volume. */
#define REPORTED_WITHIN (12 * SIM_SECOND)

static gboolean
was_just_released(const Invariants *self, const Volume *volume)
{
    return volume->phase == VOLUME_RELEASED &&
           volume->phase_changed_at + REPORTED_WITHIN > sim_now(self->sim);
}

/* KVM-20, ADC-47: both lists of a Node name volumes that are attached to it, or that its pods have.
 */
static void
check_lists(Invariants *self, const Node *node)
{
    const char *name = node->meta.key->name;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(invariants_stored(self, KIND_VOLUME, i));
        if (volume == NULL || volume->source == NULL || volume->source->driver == NULL)
            continue;
        const char *unique = volume_unique_name(objects_strings(self->objects),
                                                volume_plugin_find(volume->source), volume);
        if (string_list_has(node->volumes_attached, unique) &&
            invariants_attachment_of(self, volume, name) == NULL)
            invariants_fault(self, "node %s: reports %s, which is not attached", name,
                             volume->meta.key->name);
        if (string_list_has(node->volumes_in_use, unique) && !was_just_released(self, volume) &&
            !invariants_is_used_on(self, name, volume->source->driver, volume->source->handle))
            invariants_fault(self, "node %s: has %s in use without a pod", name,
                             volume->meta.key->name);
    }
}

static void
check_nodes(Invariants *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++) {
        const Node *node = (const Node *)invariants_stored(self, KIND_NODE, i);
        if (node == NULL || !invariants_is_old(self, &node->meta))
            continue;
        check_taints(self, node);
        if (invariants_node_is_well(node))
            check_lists(self, node);
        check_reported(self, node);
    }
}

/* NL-42, NL-72: no pod stays on a node that is gone, or that has a taint that drives it away. */
static void
invariants_states_check_pod(Invariants *self, const Pod *pod)
{
    const Node *node = (const Node *)invariants_find(self, KIND_NODE, pod->node_name);

    if (node == NULL) {
        invariants_fault(self, "pod %s: still there, its node %s is gone", pod->meta.key->text,
                         pod->node_name);
        return;
    }
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        const Taint *taint = &node->taints->items[i];
        const Toleration *toleration = tolerations_find(pod->spec->tolerations, taint);
        if (taint->effect == TAINT_NO_EXECUTE && !object_is_deleted(&pod->meta) &&
            !pod_is_terminal(pod) && (toleration == NULL || toleration->seconds >= 0))
            invariants_fault(self, "pod %s: still on %s in spite of taint %s", pod->meta.key->text,
                             pod->node_name, taint->key);
    }
}

/* ---- Claims and volumes ---- */

static gboolean
has_finalizer_with(const Object *object, const char *prefix)
{
    for (unsigned i = 0; object->finalizers != NULL && i < object->finalizers->n_items; i++)
        if (g_str_has_prefix(object->finalizers->items[i], prefix))
            return TRUE;
    return FALSE;
}

static gboolean
has_condition(const Claim *claim, const char *type)
{
    for (unsigned i = 0; claim->conditions != NULL && i < claim->conditions->n_items; i++)
        if (g_str_equal(claim->conditions->items[i].type, type))
            return TRUE;
    return FALSE;
}

/* RSZ-20, RSZ-51: an expansion that is over leaves no mark. */
static void
check_expansion(Invariants *self, const Claim *claim, const Volume *volume)
{
    static const char *const conditions[] = {"Resizing", "FileSystemResizePending",
                                             "ControllerResizeError", "NodeResizeError"};
    const char *text = claim->meta.key->text;

    if (claim->capacity_bytes < claim->request_bytes)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(conditions); i++)
        if (has_condition(claim, conditions[i]))
            invariants_fault(self, "claim %s: has grown, condition %s is left", text,
                             conditions[i]);
    if (claim->resize_status != NULL)
        invariants_fault(self, "claim %s: has grown, and is still %s", text, claim->resize_status);
    if (object_annotation(&volume->meta, "volume.alpha.kubernetes.io/pre-resize-capacity") != NULL)
        invariants_fault(self, "volume %s: has grown, and remembers its size",
                         volume->meta.key->text);
}

static void
invariants_states_check_claim(Invariants *self, const Claim *claim)
{
    const Volume *volume = invariants_volume_of_claim(self, claim->meta.key);
    const char *text = claim->meta.key->text;

    if (!object_is_deleted(&claim->meta) &&
        !object_has_finalizer(&claim->meta, FINALIZER_PVC_PROTECTION))
        invariants_fault(self, "claim %s: has no protection", text);
    if (volume == NULL)
        return;
    if (object_annotation(&claim->meta, ANNOTATION_BIND_COMPLETED) == NULL)
        invariants_fault(self, "claim %s: Bound, and not marked so", text);
    if (claim->status_access_modes != volume->access_modes)
        invariants_fault(self, "claim %s: tells other access modes than its volume", text);
    if (claim->capacity_bytes > volume->capacity_bytes)
        invariants_fault(self, "claim %s: tells more than its volume has", text);
    check_expansion(self, claim, volume);
}

/* PROT-11, PROV-31 */
static void
invariants_states_check_volume(Invariants *self, const Volume *volume)
{
    gboolean is_provisioned = object_annotation(&volume->meta, ANNOTATION_PROVISIONED_BY) != NULL;
    const char *text = volume->meta.key->text;

    if (object_is_deleted(&volume->meta))
        return;
    if (!object_has_finalizer(&volume->meta, FINALIZER_PV_PROTECTION))
        invariants_fault(self, "volume %s: has no protection", text);
    if (is_provisioned && volume->reclaim_policy == RECLAIM_DELETE &&
        volume->phase == VOLUME_BOUND && cluster_release(run_cluster(self->run))->minor >= 33 &&
        !object_has_finalizer(&volume->meta, FINALIZER_PROVISIONER))
        invariants_fault(self, "volume %s: its provisioner does not hold it", text);
    if (volume->phase == VOLUME_PENDING || volume->phase == VOLUME_FAILED)
        invariants_fault(self, "volume %s: is %s", text, volume_phase_name(volume->phase));
    if (volume->phase == VOLUME_AVAILABLE && object_uid_is_set(volume->claim_ref.uid))
        invariants_fault(self, "volume %s: Available, and of a claim", text);
}

/* EA-19, EA-23 */
static void
invariants_states_check_attachment(Invariants *self, const Attachment *attachment)
{
    static const char prefix[] = "external-attacher/";
    const char *text = attachment->meta.key->text;

    if (!attachment->attached || object_is_deleted(&attachment->meta))
        return;
    if (!has_finalizer_with(&attachment->meta, prefix))
        invariants_fault(self, "%s: attached, and its attacher does not hold it", text);
    const Object *volume = invariants_find(self, KIND_VOLUME, attachment->volume_name);
    if (attachment->detach_error.message != NULL)
        invariants_fault(self, "%s: attached, and tells an error of a detach", text);
    /* EA-22: the attacher may attach a second time, before it sees its own first answer */
    if (volume != NULL && attachment->attach_error.message != NULL &&
        attachment->meta.created_at >= 0 &&
        !history_place(self->history, VOLUME_CONST(volume)->source->handle, attachment->node_name)
             .attach_failed)
        invariants_fault(self, "%s: attached, and tells an error", text);
    if (volume != NULL && !has_finalizer_with(volume, prefix))
        invariants_fault(self, "%s: attached, and the attacher does not hold its volume", text);
}

/* ---- Snapshots ---- */

static void
check_ready_snapshot(Invariants *self, const VolumeSnapshot *snapshot)
{
    const SnapshotContent *content = (const SnapshotContent *)invariants_find(
        self, KIND_SNAPSHOT_CONTENT, snapshot->bound_content);
    const char *text = snapshot->meta.key->text;

    if (content == NULL || !snapshot_content_is_of(content, snapshot))
        invariants_fault(self, "snapshot %s: ready, and its content is not its own", text);
    else if (content->readiness != SNAPSHOT_READY || content->handle == NULL)
        invariants_fault(self, "snapshot %s: ready, and its content is not", text);
    else if (!object_has_finalizer(&content->meta, FINALIZER_SNAPSHOT_CONTENT))
        invariants_fault(self, "snapshot %s: its content is not protected", text);
    else if (content->restore_bytes > 0 && snapshot->restore_bytes != content->restore_bytes)
        invariants_fault(self, "snapshot %s: tells another size than its content", text);
    if (snapshot->error.message != NULL)
        invariants_fault(self, "snapshot %s: ready, and tells an error", text);
    if (!object_has_finalizer(&snapshot->meta, FINALIZER_SNAPSHOT_BOUND) ||
        !object_has_finalizer(&snapshot->meta, FINALIZER_SNAPSHOT_SOURCE))
        invariants_fault(self, "snapshot %s: is not protected", text);
    if (snapshot->created_at == TIME_UNSET)
        invariants_fault(self, "snapshot %s: ready, and never cut", text);
}

/* SNAP-5 to SNAP-9: a snapshot of a bound claim becomes ready. */
static void
check_snapshot(Invariants *self, const VolumeSnapshot *snapshot)
{
    const ObjectKey *key =
        snapshot->claim_name == NULL
            ? NULL
            : objects_find_key(self->objects, KIND_CLAIM, snapshot->meta.key->namespace,
                               snapshot->claim_name);
    const Object *claim = key == NULL ? NULL : api_server_get(self->api, key);

    if (snapshot->readiness == SNAPSHOT_READY)
        check_ready_snapshot(self, snapshot);
    else if (claim != NULL && !object_is_deleted(claim) && invariants_is_old(self, claim) &&
             CLAIM_CONST(claim)->phase == CLAIM_BOUND &&
             !history_is_snapshot_forgotten(self->history, snapshot->bound_content))
        invariants_fault(self, "snapshot %s: still not ready, its claim is bound (%s)",
                         snapshot->meta.key->text,
                         snapshot->error.message == NULL ? "" : snapshot->error.message);
}

/* SNAP-32: a content of a snapshot that is gone goes, too. */
static void
check_content(Invariants *self, const SnapshotContent *content)
{
    const ObjectKey *key =
        content->snapshot.name == NULL
            ? NULL
            : objects_find_key(self->objects, KIND_VOLUME_SNAPSHOT, content->snapshot.namespace,
                               content->snapshot.name);
    const Object *snapshot = key == NULL ? NULL : api_server_get(self->api, key);

    if (content->snapshot.name != NULL && object_uid_is_set(content->snapshot.uid) &&
        (snapshot == NULL || !object_uid_equal(snapshot->uid, content->snapshot.uid)) &&
        !history_is_snapshot_forgotten(self->history, content->meta.key->name))
        invariants_fault(self, "content %s: its snapshot is gone", content->meta.key->text);
}

/* CGO-62: some replica leads, and says so in time. The kubelets' leases are not stored. */
static void
check_lease(Invariants *self, const Lease *lease)
{
    if (g_str_equal(lease->meta.key->namespace, "kube-node-lease"))
        return;
    if (lease->holder == NULL || lease->holder[0] == '\0')
        invariants_fault(self, "lease %s: has no holder", lease->meta.key->text);
    else if (lease->renewed_at + lease->duration_s * SIM_SECOND < sim_now(self->sim))
        invariants_fault(self, "lease %s: is not renewed by %s", lease->meta.key->text,
                         lease->holder);
}

static void
check_object(Invariants *self, const Object *object)
{
    switch ((unsigned)object_kind(object)) {
    case KIND_POD:
        if (POD_CONST(object)->node_name != NULL)
            invariants_states_check_pod(self, POD_CONST(object));
        break;
    case KIND_LEASE:
        check_lease(self, LEASE_CONST(object));
        break;
    case KIND_CLAIM:
        invariants_states_check_claim(self, CLAIM_CONST(object));
        break;
    case KIND_VOLUME:
        invariants_states_check_volume(self, VOLUME_CONST(object));
        break;
    case KIND_ATTACHMENT:
        invariants_states_check_attachment(self, (const Attachment *)object);
        break;
    case KIND_VOLUME_SNAPSHOT:
        if (!object_is_deleted(object) && !invariants_is_group_member(object))
            check_snapshot(self, VOLUME_SNAPSHOT_CONST(object));
        break;
    case KIND_SNAPSHOT_CONTENT:
        if (!invariants_is_group_member(object))
            check_content(self, SNAPSHOT_CONTENT_CONST(object));
        break;
    }
}

void
invariants_check_states(Invariants *self)
{
    check_nodes(self);
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kind); slot++) {
            const Object *object = invariants_stored(self, kind, slot);
            if (object != NULL && invariants_is_old(self, object))
                check_object(self, object);
        }
}
