/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants.h"

#include "history.h"
#include "models/volume/plugins.h"

#define FAULTS_MAX 5 /* later faults mostly follow from these */

struct Invariants {
    Run *run;
    Sim *sim;
    ApiServer *api;
    Objects *objects;
    History *history;
    GString *faults;
    unsigned n_faults;
    uint64_t resource_version;
};

static void G_GNUC_PRINTF(2, 3) fault(Invariants *self, const char *format, ...)
{
    char buffer[SIM_TIME_BUFFER];
    va_list args;

    if (++self->n_faults > FAULTS_MAX)
        return;
    g_string_append_printf(self->faults, "  at %s: ", sim_time_format(sim_now(self->sim), buffer));
    va_start(args, format);
    g_string_append_vprintf(self->faults, format, args);
    va_end(args);
    g_string_append_c(self->faults, '\n');
}

static const Object *
stored(const Invariants *self, ObjectKind kind, uint32_t slot)
{
    return api_server_get(self->api, objects_key_at(self->objects, kind, slot));
}

/* ---- All kinds ---- */

static void
check_versions(Invariants *self, const Object *before, const Object *after)
{
    if (after->resource_version <= self->resource_version)
        fault(self, "%s: resourceVersion %" G_GUINT64_FORMAT " after %" G_GUINT64_FORMAT,
              after->key->text, after->resource_version, self->resource_version);
    self->resource_version = after->resource_version;
    if (!object_uid_is_set(after->uid))
        fault(self, "%s: no uid", after->key->text);
    if (before == NULL)
        return;
    if (!object_uid_equal(before->uid, after->uid) || before->created_at != after->created_at)
        fault(self, "%s: became another object", after->key->text);
}

/* API-51, API-54: a deletion is final, allows no new finalizers, and waits for finalizers. */
static void
check_deletion(Invariants *self, const Object *before, const Object *after)
{
    if (before == NULL || !object_is_deleted(before)) {
        if (before != NULL && after == NULL && before->finalizers != NULL)
            fault(self, "%s: gone with finalizers", before->key->text);
        return;
    }
    if (after == NULL) {
        if (before->finalizers != NULL && before->finalizers->n_items > 1)
            fault(self, "%s: gone with %u finalizers", before->key->text,
                  before->finalizers->n_items);
        return;
    }
    if (!object_is_deleted(after))
        fault(self, "%s: deletion taken back", before->key->text);
    for (unsigned i = 0; after->finalizers != NULL && i < after->finalizers->n_items; i++)
        if (!object_has_finalizer(before, after->finalizers->items[i]))
            fault(self, "%s: finalizer %s added during deletion", before->key->text,
                  after->finalizers->items[i]);
}

/* ---- Claims and volumes ---- */

static CsiModelledDriver *
driver_of(const Invariants *self, const Volume *volume)
{
    if (volume == NULL || volume->source == NULL || volume->source->driver == NULL)
        return NULL;
    return csi_modelled_driver_cast(
        cluster_find_driver(run_cluster(self->run), volume->source->driver));
}

/* PVC-91; users of these runs remove no annotations. */
static void
check_claim(Invariants *self, const Claim *before, const Claim *after)
{
    static const gboolean may_become[3][3] = {
        [CLAIM_PENDING] = {TRUE,  TRUE, TRUE},
        [CLAIM_BOUND] = {FALSE, TRUE, TRUE},
        [CLAIM_LOST] = {FALSE, TRUE, TRUE},
    };
    const char *text = after->meta.key->text;

    if (before == NULL) {
        if (after->phase != CLAIM_PENDING)
            fault(self, "claim %s: new and %s", text, claim_phase_name(after->phase));
        return;
    }
    if (!may_become[before->phase][after->phase])
        fault(self, "claim %s: %s after %s", text, claim_phase_name(after->phase),
              claim_phase_name(before->phase));
    if (claim_volume_name(before)[0] != '\0' &&
        claim_volume_name(before) != claim_volume_name(after))
        fault(self, "claim %s: volumeName changed", text);
    if (after->capacity_bytes < before->capacity_bytes)
        fault(self, "claim %s: has become smaller", text);
    if (after->phase != CLAIM_BOUND || before->phase == CLAIM_BOUND)
        return;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *other = CLAIM_CONST(stored(self, KIND_CLAIM, i));
        if (other != NULL && other != after && other->phase == CLAIM_BOUND &&
            claim_volume_name(other) == claim_volume_name(after))
            fault(self, "volume %s serves claims %s and %s", claim_volume_name(after), text,
                  other->meta.key->text);
    }
    const ObjectKey *key =
        objects_find_key(self->objects, KIND_VOLUME, NULL, claim_volume_name(after));
    const Volume *volume = key == NULL ? NULL : VOLUME_CONST(api_server_get(self->api, key));
    if (volume == NULL || volume->claim_ref.claim != after->meta.key ||
        !object_uid_equal(volume->claim_ref.uid, after->meta.uid))
        fault(self, "claim %s: Bound, but its volume is not its own", text);
}

/* A PersistentVolume is at most as large as the driver's volume: the resizer writes after the
 * driver has grown it (RSZ-20). */
static void
check_size(Invariants *self, const Volume *volume)
{
    const CsiModelledDriver *driver = driver_of(self, volume);
    CsiModelledVolume real;

    if (driver != NULL && csi_modelled_driver_get_volume(driver, volume->source->handle, &real) &&
        real.name != NULL && volume->capacity_bytes > real.capacity_bytes)
        fault(self, "volume %s: larger than in the driver", volume->meta.key->text);
}

/* PVC-90, PVC-70. A failed volume is only deleted. */
static void
check_volume(Invariants *self, const Volume *before, const Volume *after)
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
        fault(self, "volume %s: %s after %s", text, volume_phase_name(after->phase),
              volume_phase_name(before->phase));
    if (before != NULL && after->capacity_bytes < before->capacity_bytes)
        fault(self, "volume %s: has become smaller", text);
    check_size(self, after);
    /* A bound volume binds to no other claim: it is released, or unbound first. */
    if (before != NULL && object_uid_is_set(before->claim_ref.uid) &&
        object_uid_is_set(after->claim_ref.uid) &&
        !object_uid_equal(before->claim_ref.uid, after->claim_ref.uid))
        fault(self, "volume %s: given to another claim", text);
    if (object_uid_is_set(after->claim_ref.uid) && after->claim_ref.claim == NULL)
        fault(self, "volume %s: claimRef without a name", text);
}

/* ---- Pods ---- */

static const Volume *
volume_of_claim(const Invariants *self, const ObjectKey *claim_key)
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
        const Volume *volume = volume_of_claim(self, claim);
        const CsiModelledDriver *driver = driver_of(self, volume);
        if (!pod->volumes->items[i].mounted)
            continue;
        if (driver == NULL)
            fault(self, "pod %s: ready, but claim %s is not bound", pod->meta.key->text,
                  claim->text);
        else if (csi_modelled_driver_n_targets(driver, volume->source->handle, pod->node_name) == 0)
            fault(self, "pod %s: ready, but volume %s is not mounted on %s", pod->meta.key->text,
                  volume->meta.key->text, pod->node_name);
    }
}

/* When a pod gets its node, the node has room (VF-50) and reaches all volumes of the pod (VB-94) */
static void
check_node(Invariants *self, const Pod *pod)
{
    const ObjectKey *key = objects_find_key(self->objects, KIND_NODE, NULL, pod->node_name);
    const Node *node = key == NULL ? NULL : (const Node *)api_server_get(self->api, key);
    int64_t cpu_milli = pod->spec->cpu_milli;
    int32_t n_pods = 1;

    if (node == NULL) {
        fault(self, "pod %s: on no node", pod->meta.key->text);
        return;
    }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *other = POD_CONST(stored(self, KIND_POD, i));
        if (other == NULL || other->meta.key == pod->meta.key || pod_is_terminal(other) ||
            other->node_name != pod->node_name)
            continue;
        cpu_milli += other->spec->cpu_milli;
        n_pods++;
    }
    if (cpu_milli > node->allocatable.cpu_milli || n_pods > node->allocatable.pods)
        fault(self, "pod %s: no room on %s for %d pods with %" G_GINT64_FORMAT "m",
              pod->meta.key->text, pod->node_name, n_pods, cpu_milli);
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Volume *volume =
            volume_of_claim(self, pod_claim_key(self->objects, pod, &pod->volumes->items[i]));
        if (volume != NULL &&
            !node_selector_matches(volume->node_affinity, node->meta.labels, pod->node_name))
            fault(self, "pod %s: volume %s is out of reach of %s", pod->meta.key->text,
                  volume->meta.key->name, pod->node_name);
    }
}

static void
check_pod(Invariants *self, const Pod *before, const Pod *after)
{
    if (after->node_name != NULL && (before == NULL || before->node_name == NULL))
        check_node(self, after);
    if (before != NULL && before->node_name != NULL && before->node_name != after->node_name)
        fault(self, "pod %s: moved from %s", after->meta.key->text, before->node_name);
    if (before != NULL && pod_is_terminal(before) && before->phase != after->phase)
        fault(self, "pod %s: %s after %s", after->meta.key->text, pod_phase_name(after->phase),
              pod_phase_name(before->phase));
    if (!pod_is_ready(after) || (before != NULL && pod_is_ready(before)))
        return;
    if (after->node_name == NULL)
        fault(self, "pod %s: ready nowhere", after->meta.key->text);
    else if (!object_is_deleted(&after->meta))
        check_mounts(self, after);
}

/* ---- Attachments ---- */

static void
check_attachment(Invariants *self, const Attachment *before, const Attachment *after)
{
    const Attachment *now = after != NULL ? after : before;
    const ObjectKey *key = objects_find_key(self->objects, KIND_VOLUME, NULL, now->volume_name);
    const Volume *volume = key == NULL ? NULL : VOLUME_CONST(api_server_get(self->api, key));
    const CsiModelledDriver *driver = driver_of(self, volume);

    if (driver == NULL)
        return;
    const char *handle = volume->source->handle;
    if (after == NULL) {
        if (csi_modelled_driver_n_targets(driver, handle, now->node_name) > 0)
            fault(self, "attachment of %s to %s: gone, but the volume is mounted there",
                  now->volume_name, now->node_name);
        return;
    }
    if (!after->attached || (before != NULL && before->attached) || object_is_deleted(&after->meta))
        return;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(driver, handle);
    if (!string_list_has(nodes, after->node_name))
        fault(self, "attachment of %s to %s: attached, but not in the driver", after->volume_name,
              after->node_name);
}

static void
see_write(void *data, const Object *before, const Object *after)
{
    Invariants *self = data;
    const Object *now = after != NULL ? after : before;

    history_saw_write(self->history, before, after);
    if (after != NULL)
        check_versions(self, before, after);
    check_deletion(self, before, after);
    if (object_kind(now) == KIND_ATTACHMENT)
        check_attachment(self, (const Attachment *)before, (const Attachment *)after);
    if (after == NULL)
        return;
    if (object_kind(now) == KIND_CLAIM)
        check_claim(self, CLAIM_CONST(before), CLAIM_CONST(after));
    else if (object_kind(now) == KIND_VOLUME)
        check_volume(self, VOLUME_CONST(before), VOLUME_CONST(after));
    else if (object_kind(now) == KIND_POD)
        check_pod(self, POD_CONST(before), POD_CONST(after));
}

/* ---- CSI calls ---- */

static int
attach_limit(const Invariants *self, const CsiDriver *driver)
{
    const Scenario *scenario = run_scenario(self->run);

    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (g_str_equal(scenario->drivers[i].name, csi_driver_name(driver)))
            return scenario->drivers[i].attach_limit;
    return 0;
}

static const Volume *
volume_of_handle(const Invariants *self, const CsiDriver *driver, const char *volume_id)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(stored(self, KIND_VOLUME, i));
        if (volume != NULL && volume->source->handle == volume_id &&
            g_str_equal(volume->source->driver, csi_driver_name(driver)))
            return volume;
    }
    return NULL;
}

/* Whether the Node lists the volume in volumesAttached. */
static gboolean
is_reported(const Invariants *self, const Volume *volume, const char *node_name)
{
    const ObjectKey *key = objects_find_key(self->objects, KIND_NODE, NULL, node_name);
    const Node *node = key == NULL ? NULL : (const Node *)api_server_get(self->api, key);
    const char *name = volume_unique_name(objects_strings(self->objects),
                                          volume_plugin_find(volume->source), volume);

    return node != NULL && string_list_has(node->volumes_attached, name);
}

static const Attachment *
attachment_of(const Invariants *self, const Volume *volume, const char *node)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Attachment *attachment = (const Attachment *)stored(self, KIND_ATTACHMENT, i);
        if (attachment != NULL && attachment->node_name == node &&
            attachment->volume_name == volume->meta.key->name)
            return attachment;
    }
    return NULL;
}

/* ADC-60, ADC-61: then the controller gives up, and the attachment is uncertain. */
#define ATTACH_WAIT (2 * SIM_MINUTE)

/* ADC-49, ADC-53: the attachment excludes other nodes, unless the controller has a reason to be
 * uncertain of it (ADC-24). */
static gboolean
keeps_others_away(const Invariants *self, const Volume *volume, const char *node)
{
    Place place = history_place(self->history, volume->source->handle, node);
    const Attachment *attachment = attachment_of(self, volume, node);
    SimTime now = sim_now(self->sim);

    if (place.detach_failed) /* ADC-58, and OP-2: it is reported again, but uncertain */
        return FALSE;
    if (is_reported(self, volume, node)) /* ADC-51: the controller itself says that it is certain */
        return TRUE;
    if (place.attach_failed) /* ADC-24, ADC-57 */
        return FALSE;
    if (history_has_crash(self->history, "kube-controller-manager", NULL, place.attach_asked_at,
                          now)) /* ADC-27: not reported, so uncertain */
        return FALSE;
    if (attachment == NULL)
        return TRUE;
    if (attachment->meta.created_at < 0) /* ADC-27: the controller starts with the run, too */
        return FALSE;
    return now - MAX(attachment->meta.created_at, attachment->meta.deleted_at) < ATTACH_WAIT;
}

static void
check_exclusive(Invariants *self, const CsiCallRecord *record, const StringList *nodes)
{
    const CsiRequest *request = record->request;
    const Volume *volume = volume_of_handle(self, record->driver, request->volume_id);

    for (unsigned i = 0; volume != NULL && nodes != NULL && i < nodes->n_items; i++)
        if (keeps_others_away(self, volume, nodes->items[i]))
            fault(self, "%s attached to %s while it is on %s", request->volume_id, request->node_id,
                  nodes->items[i]);
}

typedef struct {
    const Invariants *self;
    const CsiModelledDriver *driver;
    const CsiDriver *base;
    const char *node;
    unsigned n;
} LimitCount;

/* Whether the scheduler counted the volume: not if the pod is older than the driver's limit (VF-9,
 * VF-W6), nor if its claim was bound late to a volume made by hand, whose class names no driver
 * (VF-5). */
static gboolean
is_counted(const Invariants *self, const CsiDriver *driver, const char *volume_id, const char *node)
{
    const Volume *volume = volume_of_handle(self, driver, volume_id);
    const ObjectKey *class_key =
        volume == NULL
            ? NULL
            : objects_find_key(self->objects, KIND_STORAGE_CLASS, NULL, volume_class(volume));
    const StorageClass *class =
        class_key == NULL ? NULL : (const StorageClass *)api_server_get(self->api, class_key);

    if (history_place(self->history, volume_id, node).came_early)
        return FALSE;
    return class == NULL || class->binding_mode != BINDING_WAIT_FOR_FIRST_CONSUMER ||
           g_str_equal(class->provisioner, csi_driver_name(driver));
}

static void
count_volume(void *data, const CsiModelledVolume *volume)
{
    LimitCount *count = data;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(count->driver, volume->id);

    if (string_list_has(nodes, count->node))
        count->n += is_counted(count->self, count->base, volume->id, count->node) ? 1 : 0;
}

/* VF-3: the scheduler keeps the limit. */
static void
check_limit(Invariants *self, const CsiCallRecord *record, const CsiModelledDriver *driver)
{
    const CsiRequest *request = record->request;
    int limit = attach_limit(self, record->driver);
    LimitCount count = {self, driver, record->driver, request->node_id, 0};

    if (limit == 0 || !is_counted(self, record->driver, request->volume_id, request->node_id))
        return;
    csi_modelled_driver_each_volume(driver, count_volume, &count);
    if (count.n >= (unsigned)limit)
        fault(self, "%s attached to %s, which has its %d volumes", request->volume_id,
              request->node_id, limit);
}

static void
check_attach_call(Invariants *self, const CsiCallRecord *record)
{
    const CsiModelledDriver *driver = csi_modelled_driver_cast((CsiDriver *)record->driver);
    const CsiRequest *request = record->request;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(driver, request->volume_id);

    if (string_list_has(nodes, request->node_id))
        return;
    if (csi_access_mode_is_single_node(request->capabilities[0].mode))
        check_exclusive(self, record, nodes);
    check_limit(self, record, driver);
}

/* KVM-36, KVM-41: only attached volumes are staged. */
static void
check_stage_call(Invariants *self, const CsiCallRecord *record)
{
    const CsiModelledDriver *driver = csi_modelled_driver_cast((CsiDriver *)record->driver);
    const CsiRequest *request = record->request;
    const ObjectKey *key =
        objects_find_key(self->objects, KIND_CSI_DRIVER, NULL, csi_driver_name(record->driver));
    const CsiDriverObject *object =
        key == NULL ? NULL : (const CsiDriverObject *)api_server_get(self->api, key);
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(driver, request->volume_id);

    if ((object == NULL || object->attach_required) && !string_list_has(nodes, request->served_by))
        fault(self, "%s staged on %s, where it is not attached", request->volume_id,
              request->served_by);
}

static void
call_started(void *data, const CsiCallRecord *record)
{
    Invariants *self = data;
    const CsiModelledDriver *driver = csi_modelled_driver_cast((CsiDriver *)record->driver);
    const CsiRequest *request = record->request;

    history_call_started(self->history, record);
    if (request->method == CSI_CONTROLLER_PUBLISH_VOLUME) {
        check_attach_call(self, record);
    } else if (request->method == CSI_NODE_STAGE_VOLUME) {
        check_stage_call(self, record);
    } else if (request->method == CSI_CONTROLLER_UNPUBLISH_VOLUME) {
        if (csi_modelled_driver_is_staged(driver, request->volume_id, request->node_id) &&
            !history_is_staging_forgotten(self->history, request->volume_id, request->node_id))
            fault(self, "%s detached from %s, where it is staged", request->volume_id,
                  request->node_id);
    } else if (request->method == CSI_DELETE_VOLUME) {
        g_autoptr(StringList) nodes =
            csi_modelled_driver_published_nodes(driver, request->volume_id);
        if (nodes != NULL)
            fault(self, "%s deleted while it is on %s", request->volume_id, nodes->items[0]);
    }
}

static void
call_answered(void *data, const CsiCallRecord *record)
{
    Invariants *self = data;

    history_call_answered(self->history, record);
}

/* KVM-41, VF-30: a volume for one pod is in one at most. */
static void
check_publish_end(Invariants *self, const CsiCallRecord *record)
{
    const CsiRequest *request = record->request;
    const Volume *volume = volume_of_handle(self, record->driver, request->volume_id);
    unsigned n = 0;

    if (volume == NULL || volume->access_modes != ACCESS_RWOP)
        return;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++)
        n += csi_modelled_driver_n_targets(csi_modelled_driver_cast((CsiDriver *)record->driver),
                                           request->volume_id,
                                           objects_key_at(self->objects, KIND_NODE, i)->name);
    if (n > 1)
        fault(self, "%s is in %u pods", request->volume_id, n);
}

static void
call_ended(void *data, const CsiCallRecord *record)
{
    Invariants *self = data;
    const CsiRequest *request = record->request;

    if (request->method == CSI_NODE_PUBLISH_VOLUME)
        check_publish_end(self, record);
    if (request->method != CSI_CONTROLLER_PUBLISH_VOLUME ||
        !csi_access_mode_is_single_node(request->capabilities[0].mode))
        return;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(
        csi_modelled_driver_cast((CsiDriver *)record->driver), request->volume_id);
    if (nodes != NULL && nodes->n_items > 1)
        fault(self, "%s is on %u nodes", request->volume_id, nodes->n_items);
}

/* ---- At rest ---- */

static gboolean
has_ready_pod(const Invariants *self, const Claim *claim)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(stored(self, KIND_POD, i));
        for (unsigned k = 0; pod != NULL && pod->volumes != NULL && k < pod->volumes->n_items; k++)
            if (pod_is_ready(pod) &&
                pod_claim_key(self->objects, pod, &pod->volumes->items[k]) == claim->meta.key)
                return TRUE;
    }
    return FALSE;
}

/* Volumes have grown if it was requested early enough, as all pods are ready and no fault is left
 * (RSZ-20, RSZ-51). A class that forbids growing refuses the request (API-124). */
static void
check_grown(Invariants *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *claim = CLAIM_CONST(stored(self, KIND_CLAIM, i));
        if (claim != NULL && claim->phase == CLAIM_BOUND && has_ready_pod(self, claim) &&
            claim->capacity_bytes < claim->request_bytes)
            fault(self, "claim %s: has %" G_GINT64_FORMAT " bytes of %" G_GINT64_FORMAT,
                  claim->meta.key->text, claim->capacity_bytes, claim->request_bytes);
    }
}

void
invariants_check_ready(Invariants *self)
{
    check_grown(self);
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(stored(self, KIND_POD, i));
        if (pod != NULL && !pod_is_ready(pod))
            fault(self, "pod %s: still not ready on %s (%s)", pod->meta.key->text,
                  pod->node_name == NULL ? "no node" : pod->node_name,
                  pod->scheduled.message == NULL ? "" : pod->scheduled.message);
    }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_STATEFUL_SET); i++) {
        const StatefulSet *set = (const StatefulSet *)stored(self, KIND_STATEFUL_SET, i);
        if (set != NULL && set->ready_replicas != set->replicas)
            fault(self, "set %s: %d of %d ready", set->meta.key->text, set->ready_replicas,
                  set->replicas);
    }
}

void
invariants_check_settled(Invariants *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *claim = CLAIM_CONST(stored(self, KIND_CLAIM, i));
        if (claim == NULL || claim->phase == CLAIM_PENDING)
            continue;
        const Volume *volume = volume_of_claim(self, claim->meta.key);
        if (claim->phase == CLAIM_LOST)
            fault(self, "claim %s: Lost", claim->meta.key->text);
        else if (volume == NULL || volume->phase != VOLUME_BOUND ||
                 volume->claim_ref.claim != claim->meta.key ||
                 !object_uid_equal(volume->claim_ref.uid, claim->meta.uid))
            fault(self, "claim %s: its volume does not point back", claim->meta.key->text);
    }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(stored(self, KIND_VOLUME, i));
        if (volume != NULL && volume->phase == VOLUME_BOUND &&
            volume_of_claim(self, volume->claim_ref.claim) != volume)
            fault(self, "volume %s: Bound, but its claim does not point back",
                  volume->meta.key->text);
    }
}

typedef struct {
    Invariants *self;
    const CsiModelledDriver *driver;
    const char *name;
} Visit;

static void
check_left_volume(void *data, const CsiModelledVolume *volume)
{
    Visit *visit = data;

    if (volume->name != NULL &&
        !history_is_creation_forgotten(visit->self->history, visit->name, volume->name))
        fault(visit->self, "volume %s is left in the driver", volume->id);
    if (volume->n_published > 0)
        fault(visit->self, "volume %s is still attached", volume->id);
    for (uint32_t i = 0; i < objects_n_keys(visit->self->objects, KIND_NODE); i++) {
        const char *node = objects_key_at(visit->self->objects, KIND_NODE, i)->name;
        if (csi_modelled_driver_is_staged(visit->driver, volume->id, node) &&
            !history_is_staging_forgotten(visit->self->history, volume->id, node))
            fault(visit->self, "volume %s is still staged on %s", volume->id, node);
        if (csi_modelled_driver_n_targets(visit->driver, volume->id, node) > 0)
            fault(visit->self, "volume %s is still mounted on %s", volume->id, node);
    }
}

/* The node's lists after the last volume is gone. */
static void
check_left_node(Invariants *self, const Node *node)
{
    if (node->volumes_attached != NULL && node->volumes_attached->n_items > 0)
        fault(self, "node %s: still reports %s attached", node->meta.key->text,
              node->volumes_attached->items[0]);
    if (node->volumes_in_use != NULL && node->volumes_in_use->n_items > 0)
        fault(self, "node %s: still reports %s in use", node->meta.key->text,
              node->volumes_in_use->items[0]);
}

void
invariants_check_empty(Invariants *self)
{
    static const ObjectKind kinds[] = {KIND_POD, KIND_CLAIM, KIND_ATTACHMENT, KIND_STATEFUL_SET};

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kinds[i]); slot++) {
            const Object *object = stored(self, kinds[i], slot);
            if (object != NULL)
                fault(self, "%s %s is left%s", kind_class(kinds[i])->kind, object->key->text,
                      object_is_deleted(object) ? ", being deleted" : "");
        }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(stored(self, KIND_VOLUME, i));
        if (volume != NULL && volume->reclaim_policy == RECLAIM_DELETE)
            fault(self, "volume %s is left, %s", volume->meta.key->text,
                  volume_phase_name(volume->phase));
        if (volume != NULL && volume->phase == VOLUME_BOUND)
            fault(self, "volume %s is still Bound", volume->meta.key->text);
    }
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++)
        if (stored(self, KIND_NODE, i) != NULL)
            check_left_node(self, NODE(stored(self, KIND_NODE, i)));
    for (unsigned i = 0; i < cluster_n_drivers(run_cluster(self->run)); i++) {
        CsiDriver *driver = cluster_driver(run_cluster(self->run), i);
        Visit visit = {self, csi_modelled_driver_cast(driver), csi_driver_name(driver)};
        csi_modelled_driver_each_volume(visit.driver, check_left_volume, &visit);
    }
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
    self->faults = g_string_new(NULL);
    self->resource_version = api_server_resource_version(self->api);
    api_server_observe(self->api, see_write, self);
    for (unsigned i = 0; i < cluster_n_drivers(cluster); i++) {
        const CsiObserver observer = {
            .started = call_started, .answered = call_answered, .ended = call_ended, .data = self};
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
    g_free(self);
}

const char *
invariants_faults(const Invariants *self)
{
    return self->faults->str;
}
