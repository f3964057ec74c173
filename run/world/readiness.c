/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the pods of workloads become ready or are not, for availability: an entry for each change of
 * a pod, its node or its workload's size. A pod counts for the workload that owns it; a ReplicaSet
 * of a Deployment counts for the Deployment, even if the owner is known only later. Pods of Jobs
 * count nowhere: Jobs want no pods for good. */
#include "readiness.h"

#include "models/api/workload.h"

static uint32_t
readiness_number(Readiness *self, const void *key, const ReadinessWorkload *workload)
{
    uint32_t found = GPOINTER_TO_UINT(g_hash_table_lookup(self->number_of, key));

    if (found == 0) {
        g_array_append_val(self->workloads, *workload);
        found = self->workloads->len;
        g_hash_table_insert(self->number_of, (void *)key, GUINT_TO_POINTER(found));
    }
    return found - 1;
}

static uint32_t
number_of_key(Readiness *self, const ObjectKey *key)
{
    return readiness_number(self, key, &(ReadinessWorkload){key, key->namespace});
}

/* ---- Workloads ---- */

/* A ReplicaSet of a Deployment counts for the Deployment. */
static const OwnerReference *
deployment_of(const Object *set)
{
    const OwnerReference *owner = object_controller(set);

    return object_kind(set) == KIND_REPLICA_SET && owner != NULL && owner->key != NULL &&
                   owner->key->kind == KIND_DEPLOYMENT
               ? owner
               : NULL;
}

static void
see_workload(Readiness *self, const Object *before, const Object *after)
{
    const Object *any = after != NULL ? after : before;
    int32_t was = before == NULL || object_is_deleted(before) ? 0 : workload_wanted(before);
    int32_t is = after == NULL || object_is_deleted(after) ? 0 : workload_wanted(after);

    if (deployment_of(any) != NULL) {
        const ObjectKey *deployment = deployment_of(any)->key;
        g_hash_table_insert(self->parents, (void *)any->key, (void *)deployment);
        number_of_key(self, deployment);
        return;
    }
    if (was == is)
        return;
    ReadinessChange change = {
        .at = sim_now(self->sim), .workload = number_of_key(self, any->key), .desired = is};
    *(ReadinessChange *)sim_log_append(self->changes) = change;
}

/* ---- Pods ---- */

/* Jobs want no pods for good: their pods count nowhere. */
static gboolean
workload_of_pod(Readiness *self, const Object *pod, uint32_t *workload)
{
    const OwnerReference *owner = object_controller(pod);

    if (owner == NULL) {
        const char *namespace = pod->key->namespace;
        *workload = readiness_number(self, namespace, &(ReadinessWorkload){NULL, namespace});
        return TRUE;
    }
    if (owner->key == NULL)
        return FALSE;
    const WorkloadClass *class = kind_class(owner->key->kind)->workload;
    if (class == NULL || class->wanted == 0 || !class->owns_pods)
        return FALSE;
    *workload = number_of_key(self, owner->key);
    return TRUE;
}

static uint8_t
seen_of(const Pod *pod)
{
    if (pod == NULL)
        return POD_SEEN_OVER | POD_SEEN_DELETED;
    return (uint8_t)((pod->scheduled.status == CONDITION_FALSE ? POD_SEEN_REFUSED : 0) |
                     (pod_is_ready(pod) ? POD_SEEN_READY : 0) |
                     (object_is_deleted(&pod->meta) ? POD_SEEN_DELETED : 0) |
                     (pod->disruption.status == CONDITION_TRUE ? POD_SEEN_DISRUPTED : 0) |
                     (pod_is_terminal(pod) ? POD_SEEN_OVER : 0));
}

static void
readiness_see_pod(Readiness *self, const Pod *before, const Pod *after)
{
    const Pod *any = after != NULL ? after : before;
    uint8_t seen = seen_of(after);
    ReadinessChange change = {.at = sim_now(self->sim),
                              .pod = any->meta.key,
                              .node = any->node_name,
                              .incarnation = (uint16_t)any->meta.key->incarnation,
                              .seen = seen};

    if (before != NULL && after != NULL && seen == seen_of(before) &&
        before->node_name == after->node_name)
        return;
    if (workload_of_pod(self, &any->meta, &change.workload))
        *(ReadinessChange *)sim_log_append(self->changes) = change;
}

static void
readiness_see_node(Readiness *self, const Node *before, const Node *after)
{
    gboolean was = before == NULL || before->ready.status == CONDITION_TRUE;
    gboolean is = after != NULL && after->ready.status == CONDITION_TRUE;
    const Node *any = after != NULL ? after : before;
    NodeChange change = {sim_now(self->sim), object_name(&any->meta), is};

    if (was != is)
        g_array_append_val(self->nodes, change);
}

static void
readiness_see_write(void *data, const RunRecord *record)
{
    const Object *before = record->before, *after = record->after,
                 *any = after != NULL ? after : before;

    if (object_kind(any) == KIND_POD)
        readiness_see_pod(data, (const Pod *)before, (const Pod *)after);
    else if (object_kind(any) == KIND_NODE)
        readiness_see_node(data, (const Node *)before, (const Node *)after);
    else if (workload_wanted(any) >= 0)
        see_workload(data, before, after);
}

Readiness *
readiness_new(Records *records, Sim *sim)
{
    Readiness *self = g_new0(Readiness, 1);

    self->sim = sim;
    self->changes = sim_log_new(sim_cold(sim), sizeof(ReadinessChange));
    self->nodes = g_array_new(FALSE, FALSE, sizeof(NodeChange));
    self->workloads = g_array_new(FALSE, FALSE, sizeof(ReadinessWorkload));
    self->number_of = g_hash_table_new(g_direct_hash, g_direct_equal);
    self->parents = g_hash_table_new(g_direct_hash, g_direct_equal);
    records_watch(records, RECORD_WRITE, readiness_see_write, self);
    return self;
}

void
readiness_free(Readiness *self)
{
    if (self == NULL)
        return;
    sim_log_free(self->changes);
    g_array_unref(self->nodes);
    g_array_unref(self->workloads);
    g_hash_table_unref(self->number_of);
    g_hash_table_unref(self->parents);
    g_free(self);
}

uint32_t
readiness_resolve(const Readiness *self, uint32_t workload)
{
    const ReadinessWorkload *found = &g_array_index(self->workloads, ReadinessWorkload, workload);
    const ObjectKey *parent = g_hash_table_lookup(self->parents, found->key);

    return parent == NULL ? workload
                          : GPOINTER_TO_UINT(g_hash_table_lookup(self->number_of, parent)) - 1;
}
