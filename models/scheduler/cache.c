/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes as cycles see them: Node, CSINode, pods and volumes in one NodeInfo, kept up to date by
 * the informers' handlers. There is no copy for each cycle, in contrast to Kubernetes' snapshot: a
 * decision takes no virtual time, so nothing changes meanwhile.
 *
 * The cache also remembers the nodes' answers to the last few Asks. Invariant: a change of a node's
 * answer forgets that node in every memo. */
#include "cache-private.h"

static void
index_attachments_by_volume(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    if (ATTACHMENT(object)->volume_name != NULL)
        index_emit(index, ATTACHMENT(object)->volume_name);
}

static void
node_info_free(NodeInfo *self)
{
    if (self == NULL)
        return;
    for (CachedPod *pod = self->pods, *next; pod != NULL; pod = next) {
        next = pod->next_on_node;
        object_unref(&pod->pod->meta);
        g_slice_free(CachedPod, pod);
    }
    if (self->node != NULL)
        object_unref(&self->node->meta);
    if (self->csi_node != NULL)
        object_unref(&self->csi_node->meta);
    node_volumes_clear(&self->volumes);
    node_domains_clear(&self->domains);
    g_free(self);
}
static void
each_node(void *data,
          void (*visit)(PodCounts *, NodeDomains *, const StringMap *),
          PodCounts *counts)
{
    SchedulerCache *self = data;

    for (unsigned i = 0; i < self->nodes->len; i++) {
        NodeInfo *node = self->nodes->pdata[i];
        if (node != NULL && node->node != NULL)
            visit(counts, &node->domains, node->node->meta.labels);
    }
}

static void
each_pod(void *data,
         void (*visit)(PodCounter *, const Pod *, const NodeDomains *),
         PodCounter *counter)
{
    SchedulerCache *self = data;

    for (unsigned i = 0; i < self->nodes->len; i++) {
        const NodeInfo *node = self->nodes->pdata[i];
        for (const CachedPod *pod = node == NULL ? NULL : node->pods; pod != NULL;
             pod = pod->next_on_node)
            visit(counter, pod->pod, &node->domains);
    }
}

static void
memo_init(AskMemo *memo, unsigned n_nodes)
{
    node_set_init(&memo->passed, n_nodes);
    node_set_init(&memo->refused, n_nodes);
    for (unsigned i = 0; i < N_REFUSALS; i++)
        node_set_init(&memo->refused_by[i], n_nodes);
}

static void
memo_clear(AskMemo *memo)
{
    node_set_clear(&memo->passed);
    node_set_clear(&memo->refused);
    for (unsigned i = 0; i < N_REFUSALS; i++)
        node_set_clear(&memo->refused_by[i]);
}

static void
nominated_pod_clear(void *data)
{
    NominatedPod *self = data;

    object_unref(&self->pod->meta);
}

SchedulerCache *
scheduler_cache_new(const CacheOptions *options)
{
    SchedulerCache *self = g_new0(SchedulerCache, 1);

    self->options = *options;
    self->nodes = g_ptr_array_new_with_free_func((GDestroyNotify)node_info_free);
    self->pods.element_size = sizeof(CachedPod *);
    self->claims.element_size = sizeof(ClaimUse *);
    self->attachments.element_size = sizeof(AttachmentUse);
    self->attachments_by_volume =
        informer_add_index(options->attachments, index_attachments_by_volume);
    self->zones = g_ptr_array_new_with_free_func((GDestroyNotify)cache_zone_free);
    self->order = g_ptr_array_new();
    self->priorities = g_array_new(FALSE, FALSE, sizeof(PriorityCount));
    self->nominated = g_array_new(FALSE, FALSE, sizeof(NominatedPod));
    g_array_set_clear_func(self->nominated, nominated_pod_clear);
    self->labels = label_index_new();
    self->labels_are_old = TRUE;
    self->counts = pod_counts_new();
    pod_counts_set_world(self->counts, &(PodCountsWorld){each_node, each_pod, self});
    return self;
}

void
scheduler_cache_free(SchedulerCache *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < N_MEMOS; i++)
        memo_clear(&self->memos[i]);
    label_index_free(self->labels);
    g_array_unref(self->priorities);
    g_array_unref(self->nominated);
    node_set_clear(&self->special);
    g_ptr_array_unref(self->order);
    g_ptr_array_unref(self->zones);
    sim_slots_clear(&self->attachments);
    cache_forget_claims(self);
    sim_slots_clear(&self->pods);
    g_ptr_array_unref(self->nodes);
    pod_counts_free(self->counts);
    g_free(self);
}

/* ---- Nodes and their order ---- */

NodeInfo *
scheduler_cache_find_node(const SchedulerCache *self, const ObjectKey *key)
{
    return cache_at_slot(self->nodes, key->slot);
}

NodeInfo *
cache_node_info(SchedulerCache *self, const ObjectKey *key)
{
    NodeInfo *node = cache_at_slot(self->nodes, key->slot);

    if (node != NULL)
        return node;
    node = g_new0(NodeInfo, 1);
    node->key = key;
    node->place = NO_PLACE;
    cache_set_slot(self->nodes, key->slot, node);
    return node;
}

static void
memo_forget(AskMemo *memo, unsigned place)
{
    node_set_remove(&memo->passed, place);
    if (place / NODE_SET_BITS >= memo->refused.n_words || !node_set_has(&memo->refused, place))
        return;
    node_set_remove(&memo->refused, place);
    for (unsigned i = 0; i < N_REFUSALS; i++)
        node_set_remove(&memo->refused_by[i], place);
}

void
cache_forget_asks(SchedulerCache *self, NodeInfo *node)
{
    node->scored_ask = 0;
    for (unsigned i = 0; node->place != NO_PLACE && i < N_MEMOS; i++)
        memo_forget(&self->memos[i], node->place);
}

static gboolean
same_ask(const Ask *a, const Ask *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           a->n_containers == b->n_containers && a->driver == b->driver &&
           a->n_volumes == b->n_volumes && a->is_taken == b->is_taken && a->plugins == b->plugins;
}

AskMemo *
scheduler_cache_recall_ask(SchedulerCache *self, const Ask *ask)
{
    for (unsigned i = 0; i < N_MEMOS; i++) {
        if (self->memos[i].number != 0 && same_ask(ask, &self->memos[i].ask))
            return &self->memos[i];
    }
    AskMemo *memo = &self->memos[self->n_asks % N_MEMOS];
    memo_init(memo, self->order->len);
    memo->ask = *ask;
    memo->number = ++self->n_asks;
    return memo;
}
static gboolean
has_soft_taints(const Node *node)
{
    return node != NULL && taints_find(node->taints, NULL, TAINT_PREFER_NO_SCHEDULE) != NULL;
}

static void
count_node(SchedulerCache *self, const Node *node, int change)
{
    NodeCounts *counts = &self->node_counts;

    if (node == NULL)
        return;
    counts->n_unschedulable += node->unschedulable ? (unsigned)change : 0;
    counts->n_tainted += node->taints != NULL ? (unsigned)change : 0;
    counts->n_soft_tainted += has_soft_taints(node) ? (unsigned)change : 0;
}
static gboolean
same_labels(const Node *a, const Node *b)
{
    return a != NULL && b != NULL && string_map_equal(a->meta.labels, b->meta.labels);
}

/* Its pods count in other domains than before. */
static void
recount_pods(SchedulerCache *self, NodeInfo *node, const Node *after)
{
    if (!pod_counts_is_used(self->counts))
        return;
    for (const CachedPod *pod = node->pods; pod != NULL; pod = pod->next_on_node)
        pod_counts_add_pod(self->counts, pod->pod, &node->domains, -1);
    pod_counts_set_node(self->counts, &node->domains, after == NULL ? NULL : after->meta.labels,
                        after == NULL);
    for (const CachedPod *pod = node->pods; pod != NULL; pod = pod->next_on_node)
        pod_counts_add_pod(self->counts, pod->pod, &node->domains, 1);
}

void
scheduler_cache_set_node(SchedulerCache *self, const ObjectKey *key, const Node *node)
{
    NodeInfo *info = cache_node_info(self, key);
    gboolean moves = !cache_same_zone(info->node, node);

    if (moves && info->node != NULL)
        cache_leave_zone(self, info);
    if (!same_labels(info->node, node)) {
        recount_pods(self, info, node);
        self->labels_are_old = TRUE;
    }
    count_node(self, info->node, -1);
    if (node != NULL)
        object_ref(&node->meta);
    if (info->node != NULL)
        object_unref(&info->node->meta);
    info->node = node;
    if (moves && node != NULL)
        cache_enter_zone(self, info);
    count_node(self, node, 1);
    info->has_soft_taints = has_soft_taints(node);
    if (info->place != NO_PLACE)
        cache_mark_special(self, info);
    cache_forget_asks(self, info);
}

void
scheduler_cache_set_csi_node(SchedulerCache *self,
                             const ObjectKey *node_key,
                             const CsiNode *csi_node)
{
    NodeInfo *info = cache_node_info(self, node_key);

    if (csi_node != NULL)
        object_ref(&csi_node->meta);
    if (info->csi_node != NULL)
        object_unref(&info->csi_node->meta);
    info->csi_node = csi_node;
    cache_forget_asks(self, info);
}

const NodeCounts *
scheduler_cache_node_counts(const SchedulerCache *self)
{
    return &self->node_counts;
}

PodCounts *
scheduler_cache_pod_counts(const SchedulerCache *self)
{
    return self->counts;
}
