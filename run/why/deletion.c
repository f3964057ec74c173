/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The holder of an object that is being deleted: a finalizer and its owner, a grace period, a
 * mount. A table has the finalizers in the order in which they are asked about, each with the
 * reason for which its owner keeps it. An unknown finalizer is the answer itself. A pod is held by
 * its kubelet or by a volume that cannot be unmounted; a namespace by the first object in it that
 * does not go. */
#include "question.h"

#include <string.h>

#include "models/external-snapshotter/external-snapshotter.h"
#include "models/kubelet/kubelet.h"

typedef gboolean Holder(Question *self, const Object *object);

/* A pod that is over has its claims until it is gone. */
static const Pod *
ended_pod_with(Question *self, const Object *claim)
{
    const GPtrArray *pods = why_list(self, KIND_POD);

    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        for (unsigned k = 0; pod->volumes != NULL && k < pod->volumes->n_items; k++)
            if (pod_claim_key(self->objects, pod, &pod->volumes->items[k]) == claim->key)
                return pod;
    }
    return NULL;
}

static gboolean
held_by_pods(Question *self, const Object *object)
{
    const GPtrArray *pods = why_pods_of_claim(self, CLAIM_CONST(object));

    const Pod *pod = pods->len > 0 ? pods->pdata[0] : ended_pod_with(self, object);

    if (pod == NULL)
        return why_ask_process(self, "kube-controller-manager", NULL);
    if (object_is_deleted(&pod->meta))
        return why_ask_pod(self, pod);
    why_link(self, &pod->meta, why_placed_at(pod), "uses the claim %s", object_name(object));
    return why_because(self, "claim-in-use");
}

/* SNAP-12 */
static gboolean
held_by_snapshots(Question *self, const Object *object)
{
    const GPtrArray *snapshots = why_list(self, KIND_VOLUME_SNAPSHOT);

    for (unsigned i = 0; i < snapshots->len; i++) {
        const VolumeSnapshot *snapshot = snapshots->pdata[i];
        if (g_strcmp0(snapshot->claim_name, object_name(object)) == 0 &&
            snapshot->meta.key->namespace == object->key->namespace &&
            why_ask_snapshot(self, snapshot))
            return TRUE;
    }
    return FALSE;
}

static gboolean
held_by_claim(Question *self, const Object *object)
{
    const Volume *volume = VOLUME_CONST(object);
    const Object *claim =
        volume->claim_ref.claim == NULL ? NULL : api_server_get(self->api, volume->claim_ref.claim);

    if (volume->phase != VOLUME_BOUND || claim == NULL)
        return why_ask_process(self, "kube-controller-manager", NULL);
    if (object_is_deleted(claim))
        return why_ask_object(self, claim);
    why_link(self, claim, TIME_UNSET, "is bound to the volume");
    return why_because(self, "volume-in-use");
}

static gboolean
held_by_provisioner(Question *self, const Object *object)
{
    const Volume *volume = VOLUME_CONST(object);
    const char *driver = volume->source == NULL ? NULL : volume->source->driver;

    return driver != NULL && volume->phase != VOLUME_BOUND &&
           (why_ask_attachments(self, volume) || why_ask_deleter(self, volume));
}

/* SNAP-31 */
static gboolean
held_by_restores(Question *self, const Object *object)
{
    const GPtrArray *claims = why_list(self, KIND_CLAIM);

    for (unsigned i = 0; i < claims->len; i++) {
        const Claim *claim = claims->pdata[i];
        if (claim->phase != CLAIM_PENDING ||
            g_strcmp0(claim->data_source.kind, "VolumeSnapshot") != 0 ||
            g_strcmp0(claim->data_source.name, object_name(object)) != 0)
            continue;
        why_link(self, &claim->meta, TIME_UNSET, "is being made of the snapshot");
        return why_ask_claim(self, claim, NULL) || why_because(self, "provisioning");
    }
    return FALSE;
}

static gboolean
held_by_group(Question *self, const Object *object)
{
    const char *group = VOLUME_SNAPSHOT_CONST(object)->group_name;

    why_link(self, object, TIME_UNSET, "belongs to the group %s", group == NULL ? "" : group);
    return why_because(self, "in-group");
}

static gboolean
held_by_content(Question *self, const Object *object)
{
    const char *name = VOLUME_SNAPSHOT_CONST(object)->bound_content;
    const Object *content = why_get(self, KIND_SNAPSHOT_CONTENT, NULL, name);

    return (content != NULL && object_is_deleted(content) && why_ask_object(self, content)) ||
           why_because(self, "snapshot-deleting");
}

static gboolean
held_by_snapshotter(Question *self, const Object *object)
{
    const SnapshotContent *content = SNAPSHOT_CONTENT_CONST(object);

    return why_ask_driver(self, content->driver, &external_snapshotter_process, NULL) ||
           why_ask_call(self, content->driver, CSI_DELETE_SNAPSHOT, content->handle, NULL) ||
           why_because(self, "snapshot-deleting");
}

/* Finalizers, and what keeps their owners from removing them; in the order of the questions. */
static const struct {
    ObjectKind kind;
    const char *finalizer;
    Holder *ask;
} holders[] = {
    {KIND_CLAIM,            FINALIZER_PVC_PROTECTION,    held_by_pods       },
    {KIND_CLAIM,            FINALIZER_SNAPSHOT_CLAIM,    held_by_snapshots  },
    {KIND_VOLUME,           FINALIZER_PV_PROTECTION,     held_by_claim      },
    {KIND_VOLUME,           FINALIZER_PROVISIONER,       held_by_provisioner},
    {KIND_VOLUME_SNAPSHOT,  FINALIZER_SNAPSHOT_IN_GROUP, held_by_group      },
    {KIND_VOLUME_SNAPSHOT,  FINALIZER_SNAPSHOT_SOURCE,   held_by_restores   },
    {KIND_VOLUME_SNAPSHOT,  FINALIZER_SNAPSHOT_BOUND,    held_by_content    },
    {KIND_SNAPSHOT_CONTENT, FINALIZER_SNAPSHOT_CONTENT,  held_by_snapshotter},
};

static const char *
unknown_finalizer(const Object *object)
{
    for (unsigned i = 0; object->finalizers != NULL && i < object->finalizers->n_items; i++) {
        const char *finalizer = object->finalizers->items[i];
        gboolean known =
            strstr(finalizer, "kubernetes.io/") != NULL || strstr(finalizer, ".k8s.io/") != NULL ||
            g_str_has_prefix(finalizer, "external-attacher/") || strcmp(finalizer, "orphan") == 0 ||
            strcmp(finalizer, "foregroundDeletion") == 0;
        if (!known)
            return finalizer;
    }
    return NULL;
}

SimTime
why_deleted_since(const Object *object)
{
    return object->deleted_at == TIME_UNSET
               ? TIME_UNSET
               : object->deleted_at - MAX(object->deletion_grace_s, 0) * SIM_SECOND;
}

gboolean
why_ask_finalizer(Question *self, const Object *object)
{
    const char *finalizer = unknown_finalizer(object);

    if (finalizer == NULL || !object_is_deleted(object))
        return FALSE;
    why_link(self, object, why_deleted_since(object), "is held by the finalizer %s", finalizer);
    return why_because(self, "finalizer");
}

static gboolean
ask_stopping(Question *self, const Pod *pod)
{
    if (why_ask_process(self, "kubelet", pod->node_name))
        return TRUE;
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Volume *volume =
            why_volume_of(self, why_claim_of(self, pod, &pod->volumes->items[i]));
        if (volume != NULL && volume->source != NULL && volume->source->driver != NULL &&
            (why_ask_call(self, volume->source->driver, CSI_NODE_UNPUBLISH_VOLUME,
                          volume->source->handle, pod->node_name) ||
             why_ask_call(self, volume->source->driver, CSI_NODE_UNSTAGE_VOLUME,
                          volume->source->handle, pod->node_name)))
            return TRUE;
    }
    return why_until(self, "terminating",
                     pod->meta.deleted_at > self->now ? pod->meta.deleted_at : SIM_TIME_MAX);
}

/* The remaining content of a namespace. */
static gboolean
ask_content(Question *self, const Object *namespace)
{
    for (ObjectKind kind = 0; kind < N_KINDS; kind++) {
        const GPtrArray *objects = kind_class(kind)->namespaced ? why_list(self, kind) : NULL;
        for (unsigned i = 0; objects != NULL && i < objects->len; i++) {
            const Object *object = objects->pdata[i];
            if (strcmp(object->key->namespace, object_name(namespace)) == 0 &&
                object_is_deleted(object) && why_ask_object(self, object))
                return TRUE;
        }
    }
    return FALSE;
}

gboolean
why_ask_deletion(Question *self, const Object *object)
{
    if (!object_is_deleted(object))
        return FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(holders); i++) {
        if (holders[i].kind == object->key->kind &&
            object_has_finalizer(object, holders[i].finalizer) && holders[i].ask(self, object))
            return TRUE;
    }
    if (why_ask_finalizer(self, object))
        return TRUE;
    if (object->key->kind == KIND_NAMESPACE && ask_content(self, object))
        return TRUE;
    if (object->key->kind == KIND_POD)
        return ask_stopping(self, POD_CONST(object));
    return why_because(self, "terminating");
}
