/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants.h"

#define FAULTS_MAX 5 /* the others mostly follow */

struct Invariants {
    Run *run;
    Sim *sim;
    ApiServer *api;
    Objects *objects;
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

/* API-51, API-54: deletion is for good, new finalizers come too late, and what has finalizers stays. */
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
    /* A volume that was given to a claim is given to no other: it is released, or given back first. */
    if (before != NULL && object_uid_is_set(before->claim_ref.uid) &&
        object_uid_is_set(after->claim_ref.uid) &&
        !object_uid_equal(before->claim_ref.uid, after->claim_ref.uid))
        fault(self, "volume %s: given to another claim", text);
    if (object_uid_is_set(after->claim_ref.uid) && after->claim_ref.claim == NULL)
        fault(self, "volume %s: claimRef without a name", text);
}

/* ---- Pods ---- */

static CsiModelledDriver *
driver_of(const Invariants *self, const Volume *volume)
{
    if (volume == NULL || volume->source == NULL || volume->source->driver == NULL)
        return NULL;
    return csi_modelled_driver_cast(
        cluster_find_driver(run_cluster(self->run), volume->source->driver));
}

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

static void
check_pod(Invariants *self, const Pod *before, const Pod *after)
{
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

/* Only what is known to be attached keeps others from attaching: after a failed attach or detach only the driver does (ADC-24,
 * ADC-58). */
static gboolean
is_attached(const Invariants *self, const char *volume_id, const char *node)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Attachment *attachment = (const Attachment *)stored(self, KIND_ATTACHMENT, i);
        if (attachment == NULL || attachment->node_name != node || !attachment->attached ||
            object_is_deleted(&attachment->meta))
            continue;
        const ObjectKey *key =
            objects_find_key(self->objects, KIND_VOLUME, NULL, attachment->volume_name);
        const Volume *volume = key == NULL ? NULL : VOLUME_CONST(api_server_get(self->api, key));
        if (volume != NULL && volume->source->handle == volume_id)
            return TRUE;
    }
    return FALSE;
}

/* ADC-53: no second node for a volume of one node. The scheduler keeps the limit. */
static void
check_attach_call(Invariants *self, const CsiCallRecord *record)
{
    const CsiModelledDriver *driver = csi_modelled_driver_cast((CsiDriver *)record->driver);
    const CsiRequest *request = record->request;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(driver, request->volume_id);
    int limit = attach_limit(self, record->driver);

    if (string_list_has(nodes, request->node_id))
        return;
    if (nodes != NULL && csi_access_mode_is_single_node(request->capabilities[0].mode) &&
        is_attached(self, request->volume_id, nodes->items[0]))
        fault(self, "%s attached to %s while it is on %s", request->volume_id, request->node_id,
              nodes->items[0]);
    if (limit > 0 && csi_modelled_driver_n_published(driver, request->node_id) >= (unsigned)limit)
        fault(self, "%s attached to %s, which has its %d volumes", request->volume_id,
              request->node_id, limit);
}

static void
call_started(void *data, const CsiCallRecord *record)
{
    Invariants *self = data;
    const CsiModelledDriver *driver = csi_modelled_driver_cast((CsiDriver *)record->driver);
    const CsiRequest *request = record->request;

    if (request->method == CSI_CONTROLLER_PUBLISH_VOLUME) {
        check_attach_call(self, record);
    } else if (request->method == CSI_CONTROLLER_UNPUBLISH_VOLUME) {
        if (csi_modelled_driver_is_staged(driver, request->volume_id, request->node_id))
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
call_ended(void *data, const CsiCallRecord *record)
{
    Invariants *self = data;
    const CsiRequest *request = record->request;

    if (request->method != CSI_CONTROLLER_PUBLISH_VOLUME ||
        !csi_access_mode_is_single_node(request->capabilities[0].mode))
        return;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(
        csi_modelled_driver_cast((CsiDriver *)record->driver), request->volume_id);
    if (nodes != NULL && nodes->n_items > 1)
        fault(self, "%s is on %u nodes", request->volume_id, nodes->n_items);
}

/* ---- At rest ---- */

void
invariants_check_ready(Invariants *self)
{
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
} Visit;

/* A provisioner that dies forgets the volumes that it asked for; if their claims are deleted meanwhile nobody asks again. So do
 * real clusters leak. */
static gboolean
may_be_forgotten(const Invariants *self, const CsiModelledVolume *volume)
{
    const Scenario *scenario = run_scenario(self->run);
    const ObjectKey *key = objects_find_key(self->objects, KIND_VOLUME, NULL, volume->name);

    if (key != NULL && key->incarnation > 0)
        return FALSE;
    for (unsigned i = 0; i < scenario->n_actions; i++)
        if (scenario->actions[i].type == ACTION_CRASH &&
            g_str_equal(scenario->actions[i].process, "external-provisioner"))
            return TRUE;
    return FALSE;
}

static void
check_left_volume(void *data, const CsiModelledVolume *volume)
{
    Visit *visit = data;

    if (volume->name != NULL && !may_be_forgotten(visit->self, volume))
        fault(visit->self, "volume %s is left in the driver", volume->id);
    if (volume->n_published > 0)
        fault(visit->self, "volume %s is still attached", volume->id);
    for (uint32_t i = 0; i < objects_n_keys(visit->self->objects, KIND_NODE); i++) {
        const char *node = objects_key_at(visit->self->objects, KIND_NODE, i)->name;
        if (csi_modelled_driver_is_staged(visit->driver, volume->id, node))
            fault(visit->self, "volume %s is still staged on %s", volume->id, node);
        if (csi_modelled_driver_n_targets(visit->driver, volume->id, node) > 0)
            fault(visit->self, "volume %s is still mounted on %s", volume->id, node);
    }
}

/* What a node says after the last volume has gone. */
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
        Visit visit = {self, csi_modelled_driver_cast(cluster_driver(run_cluster(self->run), i))};
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
    self->faults = g_string_new(NULL);
    self->resource_version = api_server_resource_version(self->api);
    api_server_observe(self->api, see_write, self);
    for (unsigned i = 0; i < cluster_n_drivers(cluster); i++) {
        const CsiObserver observer = {.started = call_started, .ended = call_ended, .data = self};
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
    g_free(self);
}

const char *
invariants_faults(const Invariants *self)
{
    return self->faults->str;
}
