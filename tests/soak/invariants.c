/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants-private.h"

#include <string.h>

#include "models/api/quota/quota.h"
#include "models/api/snapshot.h"
#include "models/csi/modelled/modelled-test.h"

#define FAULTS_MAX 5 /* later faults mostly follow from these */

/* Two faults are of one kind if only names and numbers differ. Returns: (owned) */
static char *
invariants_kind_of(const char *message)
{
    g_auto(GStrv) words = g_strsplit(message, " ", -1);

    for (unsigned i = 0; words[i] != NULL; i++)
        if (strpbrk(words[i], "0123456789/^") != NULL || strchr(words[i], '-') != NULL) {
            g_free(words[i]);
            words[i] = g_strdup("*");
        }
    return g_strjoinv(" ", words);
}

void
invariants_fault(Invariants *self, const char *format, ...)
{
    char buffer[SIM_TIME_BUFFER];
    va_list args;

    if (!self->is_looking && ++self->n_faults > FAULTS_MAX)
        return;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    if (self->is_looking) {
        g_hash_table_add(self->lags, g_steal_pointer(&message));
        return;
    }
    if (self->first_kind == NULL)
        self->first_kind = invariants_kind_of(message);
    g_string_append_printf(self->faults, "  at %s: %s\n",
                           sim_time_format(sim_now(self->sim), buffer), message);
}

const Object *
invariants_stored(const Invariants *self, ObjectKind kind, uint32_t slot)
{
    return api_server_get(self->api, objects_key_at(self->objects, kind, slot));
}

const Object *
invariants_find(const Invariants *self, ObjectKind kind, const char *name)
{
    const ObjectKey *key = name == NULL ? NULL : objects_find_key(self->objects, kind, NULL, name);

    return key == NULL ? NULL : api_server_get(self->api, key);
}

/* ---- All kinds ---- */

static void
check_versions(Invariants *self, const Object *before, const Object *after)
{
    if (after->resource_version <= self->resource_version)
        invariants_fault(self, "%s: resourceVersion %" G_GUINT64_FORMAT " after %" G_GUINT64_FORMAT,
                         after->key->text, after->resource_version, self->resource_version);
    self->resource_version = after->resource_version;
    if (!object_uid_is_set(after->uid))
        invariants_fault(self, "%s: no uid", after->key->text);
    if (before == NULL)
        return;
    if (!object_uid_equal(before->uid, after->uid) || before->created_at != after->created_at)
        invariants_fault(self, "%s: became another object", after->key->text);
}

/* API-51, API-54: a deletion is final, allows no new finalizers, and waits for finalizers. */
static void
check_deletion(Invariants *self, const Object *before, const Object *after)
{
    if (before == NULL || !object_is_deleted(before)) {
        if (before != NULL && after == NULL && before->finalizers != NULL)
            invariants_fault(self, "%s: gone with finalizers", before->key->text);
        return;
    }
    if (after == NULL) {
        /* SNAP-33: a VolumeSnapshot loses two at once */
        if (before->finalizers != NULL && before->finalizers->n_items > 1 &&
            object_kind(before) != KIND_VOLUME_SNAPSHOT)
            invariants_fault(self, "%s: gone with %u finalizers", before->key->text,
                             before->finalizers->n_items);
        return;
    }
    if (!object_is_deleted(after))
        invariants_fault(self, "%s: deletion taken back", before->key->text);
    for (unsigned i = 0; after->finalizers != NULL && i < after->finalizers->n_items; i++)
        if (!object_has_finalizer(before, after->finalizers->items[i]))
            invariants_fault(self, "%s: finalizer %s added during deletion", before->key->text,
                             after->finalizers->items[i]);
}

/* ---- Claims and volumes ---- */

CsiModelledDriver *
invariants_driver_of(const Invariants *self, const Volume *volume)
{
    if (volume == NULL || volume->source == NULL || volume->source->driver == NULL)
        return NULL;
    return csi_modelled_driver_cast(
        cluster_find_driver(run_cluster(self->run), volume->source->driver));
}

/* API-153: admission charges a claim before it is stored, and the controller's cache learns of it
 * later still: a count between them takes the charge back, and others find room until the next
 * count, within --resource-quota-sync-period. CalculateUsage() in resource_quota_controller.go
 * lists from the informers' caches. */
static gboolean
is_undercounted(const Invariants *self, const ResourceQuota *quota, const char *name, int64_t n)
{
    const ResourceAmount *used = resource_amounts_find(quota->used, name);

    return self->counted_at != TIME_UNSET &&
           self->counted_at + 5 * SIM_MINUTE > sim_now(self->sim) &&
           (used == NULL || used->value < n);
}

/* API-152: the claims of a namespace keep within its quota. */
static void
invariants_check_quota(Invariants *self, const ResourceQuota *quota, const Claim *claim)
{
    int64_t n_claims = 0, bytes = 0;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *other = CLAIM_CONST(invariants_stored(self, KIND_CLAIM, i));
        if (other == NULL || other->meta.key->namespace != claim->meta.key->namespace)
            continue;
        n_claims++;
        bytes += other->request_bytes;
    }
    for (unsigned i = 0; quota->hard != NULL && i < quota->hard->n_items; i++) {
        const ResourceAmount *hard = &quota->hard->items[i];
        int64_t n = g_str_equal(hard->name, "persistentvolumeclaims") ? n_claims
                    : g_str_equal(hard->name, "requests.storage")     ? bytes
                                                                      : 0;
        if (n > hard->value && !is_undercounted(self, quota, hard->name, n))
            invariants_fault(self, "claim %s: exceeds %s of its quota", claim->meta.key->text,
                             hard->name);
    }
}

static void
check_quotas(Invariants *self, const Claim *claim)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_RESOURCE_QUOTA); i++) {
        const Object *quota = invariants_stored(self, KIND_RESOURCE_QUOTA, i);
        if (quota != NULL && quota->key->namespace == claim->meta.key->namespace)
            invariants_check_quota(self, (const ResourceQuota *)quota, claim);
    }
}

/* PVC-91; users of these runs remove no annotations. */
static void
invariants_check_claim(Invariants *self, const Claim *before, const Claim *after)
{
    static const gboolean may_become[3][3] = {
        [CLAIM_PENDING] = {TRUE,  TRUE, TRUE},
        [CLAIM_BOUND] = {FALSE, TRUE, TRUE},
        [CLAIM_LOST] = {FALSE, TRUE, TRUE},
    };
    const char *text = after->meta.key->text;

    if (before == NULL || before->request_bytes != after->request_bytes)
        check_quotas(self, after);
    if (before == NULL) {
        if (after->phase != CLAIM_PENDING)
            invariants_fault(self, "claim %s: new and %s", text, claim_phase_name(after->phase));
        return;
    }
    if (!may_become[before->phase][after->phase])
        invariants_fault(self, "claim %s: %s after %s", text, claim_phase_name(after->phase),
                         claim_phase_name(before->phase));
    if (claim_volume_name(before)[0] != '\0' &&
        claim_volume_name(before) != claim_volume_name(after))
        invariants_fault(self, "claim %s: volumeName changed", text);
    if (after->capacity_bytes < before->capacity_bytes)
        invariants_fault(self, "claim %s: has become smaller", text);
    if (after->phase != CLAIM_BOUND || before->phase == CLAIM_BOUND)
        return;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *other = CLAIM_CONST(invariants_stored(self, KIND_CLAIM, i));
        if (other != NULL && other != after && other->phase == CLAIM_BOUND &&
            claim_volume_name(other) == claim_volume_name(after))
            invariants_fault(self, "volume %s serves claims %s and %s", claim_volume_name(after),
                             text, other->meta.key->text);
    }
    const ObjectKey *key =
        objects_find_key(self->objects, KIND_VOLUME, NULL, claim_volume_name(after));
    const Volume *volume = key == NULL ? NULL : VOLUME_CONST(api_server_get(self->api, key));
    if (volume == NULL || volume->claim_ref.claim != after->meta.key ||
        !object_uid_equal(volume->claim_ref.uid, after->meta.uid))
        invariants_fault(self, "claim %s: Bound, but its volume is not its own", text);
    else if (volume->capacity_bytes < after->request_bytes ||
             (after->access_modes & ~volume->access_modes) != 0 ||
             volume->volume_mode != after->volume_mode ||
             !g_str_equal(volume_class(volume), claim_class(after)))
        invariants_fault(self, "claim %s: Bound to a volume that does not fit", text);
}

/* PROT-24: a claim that a pod has keeps its finalizer. A pod that was bound after the deletion may
 * come too late. */
static void
check_protection(Invariants *self, const Claim *before, const Claim *after)
{
    if (before == NULL || !object_is_deleted(&before->meta) ||
        !object_has_finalizer(&before->meta, FINALIZER_PVC_PROTECTION) ||
        (after != NULL && object_has_finalizer(&after->meta, FINALIZER_PVC_PROTECTION)))
        return;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod == NULL || pod->node_name == NULL || pod->scheduled.changed_at == TIME_UNSET ||
            pod->scheduled.changed_at >= before->meta.deleted_at)
            continue;
        for (unsigned k = 0; pod->volumes != NULL && k < pod->volumes->n_items; k++)
            if (!pod->volumes->items[k].ephemeral &&
                pod_claim_key(self->objects, pod, &pod->volumes->items[k]) == before->meta.key)
                invariants_fault(self, "claim %s: no longer protected, but pod %s has it",
                                 before->meta.key->text, pod->meta.key->text);
    }
}

/* SNAP-6: a claim stays until its snapshots are ready. */
static void
check_snapshot_source(Invariants *self, const Claim *gone)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME_SNAPSHOT); i++) {
        const VolumeSnapshot *snapshot =
            (const VolumeSnapshot *)invariants_stored(self, KIND_VOLUME_SNAPSHOT, i);
        if (snapshot != NULL && snapshot->bound_content != NULL &&
            snapshot->readiness != SNAPSHOT_READY && !object_is_deleted(&snapshot->meta) &&
            !invariants_is_group_member(&snapshot->meta) &&
            snapshot->meta.key->namespace == gone->meta.key->namespace &&
            g_strcmp0(snapshot->claim_name, gone->meta.key->name) == 0)
            invariants_fault(self, "claim %s: gone, but its snapshot %s is not ready",
                             gone->meta.key->text, snapshot->meta.key->text);
    }
}

/* PROT-14: so does a volume that a claim has. */
static void
check_volume_protection(Invariants *self, const Volume *before, const Volume *after)
{
    if (before != NULL && before->phase == VOLUME_BOUND &&
        object_has_finalizer(&before->meta, FINALIZER_PV_PROTECTION) &&
        (after == NULL || !object_has_finalizer(&after->meta, FINALIZER_PV_PROTECTION)))
        invariants_fault(self, "volume %s: no longer protected, but Bound", before->meta.key->text);
}

/* A PersistentVolume is at most as large as the driver's volume: the resizer writes after the
 * driver has grown it (RSZ-20). */
static void
check_size(Invariants *self, const Volume *volume)
{
    const CsiModelledDriver *driver = invariants_driver_of(self, volume);
    CsiModelledVolume real;

    if (driver != NULL && csi_modelled_driver_get_volume(driver, volume->source->handle, &real) &&
        real.name != NULL && volume->capacity_bytes > real.capacity_bytes)
        invariants_fault(self, "volume %s: larger than in the driver", volume->meta.key->text);
}

/* PVC-90, PVC-70. A failed volume is only deleted. */
static void
invariants_check_volume(Invariants *self, const Volume *before, const Volume *after)
{
    static const gboolean may_become[5][5] = {
        [VOLUME_PENDING] = {TRUE,  TRUE,  TRUE,  TRUE,  FALSE},
        [VOLUME_AVAILABLE] = {FALSE, TRUE,  TRUE,  TRUE,  FALSE},
        [VOLUME_BOUND] = {FALSE, TRUE,  TRUE,  TRUE,  FALSE},
        [VOLUME_RELEASED] = {FALSE, FALSE, FALSE, TRUE,  TRUE },
        [VOLUME_FAILED] = {FALSE, FALSE, FALSE, FALSE, TRUE },
    };
    const char *text = after->meta.key->text;

    if (before != NULL && !may_become[before->phase][after->phase])
        invariants_fault(self, "volume %s: %s after %s", text, volume_phase_name(after->phase),
                         volume_phase_name(before->phase));
    if (before != NULL && after->capacity_bytes < before->capacity_bytes)
        invariants_fault(self, "volume %s: has become smaller", text);
    check_size(self, after);
    /* A bound volume binds to no other claim: it is released, or unbound first. */
    if (before != NULL && object_uid_is_set(before->claim_ref.uid) &&
        object_uid_is_set(after->claim_ref.uid) &&
        !object_uid_equal(before->claim_ref.uid, after->claim_ref.uid))
        invariants_fault(self, "volume %s: given to another claim", text);
    if (object_uid_is_set(after->claim_ref.uid) && after->claim_ref.claim == NULL)
        invariants_fault(self, "volume %s: claimRef without a name", text);
}

/* ---- Pods ---- */

const Volume *
invariants_volume_of_claim(const Invariants *self, const ObjectKey *claim_key)
{
    const Claim *claim = CLAIM_CONST(api_server_get(self->api, claim_key));

    if (claim == NULL || claim->phase != CLAIM_BOUND)
        return NULL;
    const ObjectKey *key =
        objects_find_key(self->objects, KIND_VOLUME, NULL, claim_volume_name(claim));
    return key == NULL ? NULL : VOLUME_CONST(api_server_get(self->api, key));
}

/* Containers run only with all their volumes in place. */
static void
check_mounts(Invariants *self, const Pod *pod)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const ObjectKey *claim = pod_claim_key(self->objects, pod, &pod->volumes->items[i]);
        const Volume *volume = invariants_volume_of_claim(self, claim);
        const CsiModelledDriver *driver = invariants_driver_of(self, volume);
        if (!pod->volumes->items[i].mounted)
            continue;
        if (driver == NULL)
            invariants_fault(self, "pod %s: ready, but claim %s is not bound", pod->meta.key->text,
                             claim->text);
        else if (csi_modelled_driver_n_targets(driver, volume->source->handle, pod->node_name) == 0)
            invariants_fault(self, "pod %s: ready, but volume %s is not mounted on %s",
                             pod->meta.key->text, volume->meta.key->text, pod->node_name);
    }
}

static void
invariants_check_pod(Invariants *self, const Pod *before, const Pod *after)
{
    if (after->node_name != NULL && (before == NULL || before->node_name == NULL))
        invariants_check_binding(self, after);
    if (before == NULL)
        invariants_check_new_pod(self, after);
    else if (!object_is_deleted(&before->meta) && object_is_deleted(&after->meta))
        invariants_check_eviction(self, after);
    if (before != NULL && before->node_name != NULL && before->node_name != after->node_name)
        invariants_fault(self, "pod %s: moved from %s", after->meta.key->text, before->node_name);
    if (before != NULL && pod_is_terminal(before) && before->phase != after->phase)
        invariants_fault(self, "pod %s: %s after %s", after->meta.key->text,
                         pod_phase_name(after->phase), pod_phase_name(before->phase));
    if (!pod_is_ready(after) || (before != NULL && pod_is_ready(before)))
        return;
    if (after->node_name == NULL)
        invariants_fault(self, "pod %s: ready nowhere", after->meta.key->text);
    else if (!object_is_deleted(&after->meta))
        check_mounts(self, after);
}

/* ---- Attachments ---- */

/* ADC-53: no two nodes have the same volume at once, also by the API. One whose attachment is being
 * deleted does not count: its controller has given it up. */
static void
check_one_attached(Invariants *self, const Attachment *attachment, const Volume *volume)
{
    if (volume == NULL || (volume->access_modes & (ACCESS_RWX | ACCESS_ROX)) != 0)
        return;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Attachment *other = (const Attachment *)invariants_stored(self, KIND_ATTACHMENT, i);
        if (other != NULL && other->attached && other->node_name != attachment->node_name &&
            other->volume_name == attachment->volume_name && !object_is_deleted(&other->meta))
            invariants_fault(self, "volume %s: attached to %s and to %s", attachment->volume_name,
                             attachment->node_name, other->node_name);
    }
}

/* ADC-47: the Node no longer reports the volume as attached, so no kubelet mounts it, before its
 * attachment is deleted. */
static void
check_not_reported(Invariants *self, const Attachment *attachment, const Volume *volume)
{
    if (volume != NULL && invariants_is_reported(self, volume, attachment->node_name))
        invariants_fault(self, "attachment of %s to %s: deleted, but the node reports it",
                         attachment->volume_name, attachment->node_name);
}

static void
invariants_check_attachment(Invariants *self, const Attachment *before, const Attachment *after)
{
    const Attachment *now = after != NULL ? after : before;
    const ObjectKey *key = objects_find_key(self->objects, KIND_VOLUME, NULL, now->volume_name);
    const Volume *volume = key == NULL ? NULL : VOLUME_CONST(api_server_get(self->api, key));
    const CsiModelledDriver *driver = invariants_driver_of(self, volume);

    if (after != NULL && after->attached && (before == NULL || !before->attached))
        check_one_attached(self, after, volume);
    if ((after == NULL || object_is_deleted(&after->meta)) && before != NULL &&
        !object_is_deleted(&before->meta))
        check_not_reported(self, before, volume);
    if (driver == NULL)
        return;
    const char *handle = volume->source->handle;
    if (after == NULL) {
        if (csi_modelled_driver_n_targets(driver, handle, now->node_name) > 0 &&
            !history_is_given_up(self->history, now->node_name))
            invariants_fault(self, "attachment of %s to %s: gone, but the volume is mounted there",
                             now->volume_name, now->node_name);
        return;
    }
    if (!after->attached || (before != NULL && before->attached) || object_is_deleted(&after->meta))
        return;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(driver, handle);
    if (!string_list_has(nodes, after->node_name))
        invariants_fault(self, "attachment of %s to %s: attached, but not in the driver",
                         after->volume_name, after->node_name);
}

/* Only the controller lowers a use. */
static void
note_count(Invariants *self, const ResourceQuota *before, const ResourceQuota *after)
{
    const ResourceAmounts *had = before == NULL ? NULL : before->used;

    for (unsigned i = 0; had != NULL && i < had->n_items; i++) {
        const ResourceAmount *now = resource_amounts_find(after->used, had->items[i].name);
        if (now == NULL || now->value < had->items[i].value)
            self->counted_at = sim_now(self->sim);
    }
}

/* WL-114: the disruption controller hears of pods and budgets, not of a new scale: addPod() and
 * updatePod() in disruption.go; of StatefulSets it has a lister only. */
static void
note_scale(Invariants *self, const Object *before, const Object *after)
{
    const Object *now = after != NULL ? after : before;
    const OwnerReference *owner = object_controller(now);

    if (object_kind(now) == KIND_POD && owner != NULL && owner->key != NULL)
        g_hash_table_remove(self->scaled, owner->key);
    else if (object_kind(now) == KIND_STATEFUL_SET && before != NULL && after != NULL &&
             STATEFUL_SET(before)->replicas != STATEFUL_SET(after)->replicas)
        g_hash_table_add(self->scaled, (void *)now->key);
}

static void
invariants_see_write(void *data, const Object *before, const Object *after)
{
    Invariants *self = data;
    const Object *now = after != NULL ? after : before;

    history_saw_write(self->history, before, after);
    note_scale(self, before, after);
    if (object_kind(now) == KIND_RESOURCE_QUOTA && after != NULL)
        note_count(self, RESOURCE_QUOTA_CONST(before), RESOURCE_QUOTA_CONST(after));
    if (after != NULL)
        check_versions(self, before, after);
    check_deletion(self, before, after);
    if (object_kind(now) == KIND_ATTACHMENT)
        invariants_check_attachment(self, (const Attachment *)before, (const Attachment *)after);
    else if (object_kind(now) == KIND_CLAIM)
        check_protection(self, CLAIM_CONST(before), CLAIM_CONST(after));
    if (object_kind(now) == KIND_CLAIM && after == NULL)
        check_snapshot_source(self, CLAIM_CONST(before));
    if (object_kind(now) == KIND_VOLUME_SNAPSHOT && after == NULL && object_is_deleted(before) &&
        !invariants_is_group_member(before))
        invariants_check_restored(self, before);
    else if (object_kind(now) == KIND_VOLUME)
        check_volume_protection(self, VOLUME_CONST(before), VOLUME_CONST(after));
    if (after == NULL)
        return;
    if (object_kind(now) == KIND_JOB && before == NULL)
        invariants_check_new_job(self, after);
    if (object_kind(now) == KIND_CLAIM)
        invariants_check_claim(self, CLAIM_CONST(before), CLAIM_CONST(after));
    else if (object_kind(now) == KIND_VOLUME)
        invariants_check_volume(self, VOLUME_CONST(before), VOLUME_CONST(after));
    else if (object_kind(now) == KIND_POD)
        invariants_check_pod(self, POD_CONST(before), POD_CONST(after));
}

Invariants *
invariants_new(Run *run)
{
    Invariants *self = g_new0(Invariants, 1);
    Cluster *cluster = run_cluster(run);

    self->run = run;
    self->sim = run_sim(run);
    self->api = cluster_api(cluster);
    self->objects = run_objects(run);
    self->history = history_new(run);
    cluster_observe_plans(cluster, invariants_saw_step, self);
    self->faults = g_string_new(NULL);
    self->failures = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->steps = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    self->turns = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    self->lags = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->scaled = g_hash_table_new(NULL, NULL);
    self->counted_at = TIME_UNSET;
    self->resource_version = api_server_resource_version(self->api);
    api_server_observe(self->api, invariants_see_write, self);
    api_server_observe_events(self->api, invariants_saw_event, self);
    for (unsigned i = 0; i < cluster_n_drivers(cluster); i++) {
        const CsiObserver observer = {.started = invariants_call_started,
                                      .answered = invariants_call_answered,
                                      .ended = invariants_call_ended,
                                      .data = self};
        csi_driver_add_observer(cluster_driver(cluster, i), &observer);
    }
    return self;
}

void
invariants_free(Invariants *self)
{
    if (self == NULL)
        return;
    g_string_free(self->faults, TRUE);
    history_free(self->history);
    g_free(self->first_kind);
    g_hash_table_unref(self->failures);
    g_hash_table_unref(self->steps);
    g_hash_table_unref(self->turns);
    g_hash_table_unref(self->lags);
    g_hash_table_unref(self->scaled);
    g_free(self);
}

const char *
invariants_faults(const Invariants *self)
{
    return self->faults->str;
}

const char *
invariants_first_kind(const Invariants *self)
{
    return self->first_kind;
}
