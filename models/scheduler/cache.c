/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cache.h"

#include <string.h>

/* VF-88: what a container without a request counts as in scores. */
#define DEFAULT_CPU_MILLI INT64_C(100)
#define DEFAULT_MEMORY_BYTES (INT64_C(200) * 1024 * 1024)
/* Pods of so many templates may wait side by side before one forgets what another has learned. */
#define N_MEMOS 4

/* The nodes of a region and zone, in the order in which they came. */
typedef struct {
    const char *region, *zone; /* interned; "" if absent */
    GPtrArray *nodes;          /* of NodeInfo */
} Zone;

/* A claim that pods on nodes use. */
typedef struct {
    NodeInfo *node;
    uint32_t n_pods;
} ClaimOnNode;

typedef struct {
    VolumeName name;
    uint32_t n_pods;
    GArray *nodes; /* of ClaimOnNode; NULL: none yet */
} ClaimUse;

/* How many pods on nodes have a priority. */
typedef struct {
    int32_t priority;
    uint32_t n_pods;
} PriorityCount;

/* What a VolumeAttachment counts as at the moment. */
typedef struct {
    NodeInfo *node; /* NULL: nothing */
    VolumeName name;
} AttachmentUse;

struct SchedulerCache {
    CacheOptions options;
    GPtrArray *nodes; /* of NodeInfo, by slot of the node's key */
    GPtrArray *
        pods; /* of CachedPod, by slot of the pod's key: one life of each name, the others linked */
    unsigned n_pods, n_assumed; /* in @pods; those of them that are assumed */
    GPtrArray *claims;          /* of ClaimUse, by slot of the claim's key */
    GArray *attachments;        /* of AttachmentUse, by slot */
    InformerIndex *attachments_by_volume;
    GPtrArray *zones; /* of Zone, in the order of their first node; empty ones are taken out */
    GPtrArray *order; /* of NodeInfo: see scheduler_cache_nodes() */
    gboolean order_is_old;
    PodCounts *counts;
    NodeCounts node_counts;
    GArray *priorities; /* of PriorityCount, the lowest first; those of no pod are taken out */
    GArray *nominated;  /* of NominatedPod */
    NodeSet special;
    LabelIndex *labels;
    gboolean labels_are_old;
    AskMemo memos[N_MEMOS];
    uint32_t n_asks; /* numbers given */
};

static void
index_attachments_by_volume(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    if (ATTACHMENT(object)->volume_name != NULL)
        index_emit(index, ATTACHMENT(object)->volume_name);
}

static void *
at_slot(const GPtrArray *array, uint32_t slot)
{
    return slot < array->len ? array->pdata[slot] : NULL;
}

static void
set_slot(GPtrArray *array, uint32_t slot, void *value)
{
    if (array->len <= slot)
        g_ptr_array_set_size(array, (int)slot + 1);
    array->pdata[slot] = value;
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
zone_free(Zone *self)
{
    g_ptr_array_unref(self->nodes);
    g_free(self);
}

static void
claim_use_free(ClaimUse *self)
{
    if (self == NULL)
        return;
    if (self->nodes != NULL)
        g_array_unref(self->nodes);
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
    self->pods = g_ptr_array_new();
    self->claims = g_ptr_array_new_with_free_func((GDestroyNotify)claim_use_free);
    self->attachments = g_array_new(FALSE, TRUE, sizeof(AttachmentUse));
    self->attachments_by_volume =
        informer_add_index(options->attachments, index_attachments_by_volume);
    self->zones = g_ptr_array_new_with_free_func((GDestroyNotify)zone_free);
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
    g_array_unref(self->attachments);
    g_ptr_array_unref(self->claims);
    g_ptr_array_unref(self->pods);
    g_ptr_array_unref(self->nodes);
    pod_counts_free(self->counts);
    g_free(self);
}

/* ---- Nodes and their order ---- */

NodeInfo *
scheduler_cache_find_node(const SchedulerCache *self, const ObjectKey *key)
{
    return at_slot(self->nodes, key->slot);
}

static NodeInfo *
node_info(SchedulerCache *self, const ObjectKey *key)
{
    NodeInfo *node = at_slot(self->nodes, key->slot);

    if (node != NULL)
        return node;
    node = g_new0(NodeInfo, 1);
    node->key = key;
    node->place = NO_PLACE;
    set_slot(self->nodes, key->slot, node);
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

static void
forget_asks(SchedulerCache *self, NodeInfo *node)
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

/* SCH-56: the beta labels win. */
static const char *
zone_label(const Node *node, const char *beta, const char *label)
{
    const char *value = object_label(&node->meta, beta);

    if (value == NULL)
        value = object_label(&node->meta, label);
    return value == NULL ? "" : value;
}

static const char *
region_of(const Node *node)
{
    return zone_label(node, "failure-domain.beta.kubernetes.io/region",
                      "topology.kubernetes.io/region");
}

static const char *
zone_name_of(const Node *node)
{
    return zone_label(node, "failure-domain.beta.kubernetes.io/zone",
                      "topology.kubernetes.io/zone");
}

static gboolean
zone_is_of(const Zone *zone, const char *region, const char *name)
{
    return strcmp(zone->region, region) == 0 && strcmp(zone->zone, name) == 0;
}

static Zone *
zone_of(SchedulerCache *self, const Node *node)
{
    const char *region = region_of(node), *name = zone_name_of(node);

    for (unsigned i = 0; i < self->zones->len; i++) {
        if (zone_is_of(self->zones->pdata[i], region, name))
            return self->zones->pdata[i];
    }
    Zone *zone = g_new0(Zone, 1);
    zone->region = region;
    zone->zone = name;
    zone->nodes = g_ptr_array_new();
    g_ptr_array_add(self->zones, zone);
    return zone;
}

static void
leave_zone(SchedulerCache *self, NodeInfo *node)
{
    Zone *zone = zone_of(self, node->node);

    g_ptr_array_remove(zone->nodes, node);
    node->place = NO_PLACE;
    if (zone->nodes->len == 0)
        g_ptr_array_remove(self->zones, zone);
    self->order_is_old = TRUE;
}

static void
enter_zone(SchedulerCache *self, NodeInfo *node)
{
    g_ptr_array_add(zone_of(self, node->node)->nodes, node);
    self->order_is_old = TRUE;
}

/* Whether some pods are kept off. */
static gboolean
is_special(const Node *node)
{
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        if (node->taints->items[i].effect != TAINT_PREFER_NO_SCHEDULE)
            return TRUE;
    }
    return node->unschedulable;
}

static void
mark_special(SchedulerCache *self, const NodeInfo *node)
{
    node_set_remove(&self->special, node->place);
    if (is_special(node->node))
        node_set_add(&self->special, node->place);
}

static void
take_turns(SchedulerCache *self)
{
    gboolean found = TRUE;

    g_ptr_array_set_size(self->order, 0);
    for (unsigned turn = 0; found; turn++) {
        found = FALSE;
        for (unsigned i = 0; i < self->zones->len; i++) {
            const Zone *zone = self->zones->pdata[i];
            if (turn < zone->nodes->len) {
                g_ptr_array_add(self->order, zone->nodes->pdata[turn]);
                found = TRUE;
            }
        }
    }
}

/* Places are others now: all that was known by them is known no more. */
static void
renumber_places(SchedulerCache *self)
{
    node_set_init(&self->special, self->order->len);
    for (unsigned i = 0; i < self->order->len; i++) {
        NodeInfo *node = self->order->pdata[i];
        node->place = i;
        mark_special(self, node);
    }
    for (unsigned i = 0; i < N_MEMOS; i++)
        self->memos[i].number = 0;
    self->labels_are_old = TRUE;
}

NodeInfo *const *
scheduler_cache_nodes(SchedulerCache *self, unsigned *n)
{
    if (self->order_is_old) {
        take_turns(self);
        renumber_places(self);
        self->order_is_old = FALSE;
    }
    *n = self->order->len;
    return (NodeInfo *const *)self->order->pdata;
}

const NodeSet *
scheduler_cache_special_nodes(const SchedulerCache *self)
{
    return &self->special;
}

static const StringMap *
labels_at(const void *data, unsigned place)
{
    const SchedulerCache *self = data;
    const NodeInfo *node = self->order->pdata[place];

    return node->node->meta.labels;
}

LabelIndex *
scheduler_cache_labels(SchedulerCache *self)
{
    unsigned n;

    scheduler_cache_nodes(self, &n);
    if (self->labels_are_old)
        label_index_reset(self->labels, labels_at, self, n);
    self->labels_are_old = FALSE;
    return self->labels;
}

static gboolean
has_soft_taints(const Node *node)
{
    for (unsigned i = 0; node != NULL && node->taints != NULL && i < node->taints->n_items; i++) {
        if (node->taints->items[i].effect == TAINT_PREFER_NO_SCHEDULE)
            return TRUE;
    }
    return FALSE;
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

/* Whether a node keeps its turn (SCH-56). */
static gboolean
same_zone(const Node *a, const Node *b)
{
    if (a == NULL || b == NULL)
        return FALSE;
    return a->meta.labels == b->meta.labels || (strcmp(region_of(a), region_of(b)) == 0 &&
                                                strcmp(zone_name_of(a), zone_name_of(b)) == 0);
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
    NodeInfo *info = node_info(self, key);
    gboolean moves = !same_zone(info->node, node);

    if (moves && info->node != NULL)
        leave_zone(self, info);
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
        enter_zone(self, info);
    count_node(self, node, 1);
    info->has_soft_taints = has_soft_taints(node);
    if (info->place != NO_PLACE)
        mark_special(self, info);
    forget_asks(self, info);
}

void
scheduler_cache_set_csi_node(SchedulerCache *self,
                             const ObjectKey *node_key,
                             const CsiNode *csi_node)
{
    NodeInfo *info = node_info(self, node_key);

    if (csi_node != NULL)
        object_ref(&csi_node->meta);
    if (info->csi_node != NULL)
        object_unref(&info->csi_node->meta);
    info->csi_node = csi_node;
    forget_asks(self, info);
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

/* ---- Volumes in use ---- */

static void
count_volume(SchedulerCache *self, NodeInfo *node, VolumeName name, int n_pods, int n_attachments)
{
    node_volumes_add(&node->volumes, name, n_pods, n_attachments);
    forget_asks(self, node);
}

static ClaimUse *
claim_use(SchedulerCache *self, const ObjectKey *claim)
{
    ClaimUse *use = at_slot(self->claims, claim->slot);

    if (use == NULL) {
        use = g_new0(ClaimUse, 1);
        set_slot(self->claims, claim->slot, use);
    }
    if (use->n_pods == 0)
        use->name = volume_name_of_claim(&self->options.sources, claim);
    return use;
}

static ClaimOnNode *
claim_on_node(ClaimUse *use, NodeInfo *node)
{
    if (use->nodes == NULL)
        use->nodes = g_array_new(FALSE, TRUE, sizeof(ClaimOnNode));
    for (unsigned i = 0; i < use->nodes->len; i++) {
        ClaimOnNode *on_node = &g_array_index(use->nodes, ClaimOnNode, i);
        if (on_node->node == node)
            return on_node;
    }
    ClaimOnNode new_node = {.node = node};
    g_array_append_val(use->nodes, new_node);
    return &g_array_index(use->nodes, ClaimOnNode, use->nodes->len - 1);
}

static void
use_claim(SchedulerCache *self, const ObjectKey *claim, NodeInfo *node, int change)
{
    ClaimUse *use = claim_use(self, claim);
    ClaimOnNode *on_node = claim_on_node(use, node);

    use->n_pods += (uint32_t)change;
    on_node->n_pods += (uint32_t)change;
    count_volume(self, node, use->name, change, 0);
    if (on_node->n_pods == 0)
        g_array_remove_index_fast(use->nodes,
                                  (unsigned)(on_node - (ClaimOnNode *)(void *)use->nodes->data));
}

static void
use_claims_of_pod(SchedulerCache *self, const Pod *pod, NodeInfo *node, int change)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++)
        use_claim(self, pod_claim_key(self->options.sources.objects, pod, &pod->volumes->items[i]),
                  node, change);
}

void
scheduler_cache_claim_changed(SchedulerCache *self, const ObjectKey *claim)
{
    ClaimUse *use = at_slot(self->claims, claim->slot);

    if (use == NULL || use->n_pods == 0)
        return;
    VolumeName name = volume_name_of_claim(&self->options.sources, claim);
    if (volume_name_equal(name, use->name))
        return;
    for (unsigned i = 0; i < use->nodes->len; i++) {
        const ClaimOnNode *on_node = &g_array_index(use->nodes, ClaimOnNode, i);
        count_volume(self, on_node->node, use->name, -(int)on_node->n_pods, 0);
        count_volume(self, on_node->node, name, (int)on_node->n_pods, 0);
    }
    use->name = name;
}

unsigned
scheduler_cache_claim_users(const SchedulerCache *self, const ObjectKey *claim)
{
    const ClaimUse *use = at_slot(self->claims, claim->slot);

    return use == NULL ? 0 : use->n_pods;
}

/* VF-3.6: an attachment counts by its volume's handle as long as the volume is known; attached or
 * not. */
static AttachmentUse
attachment_use(SchedulerCache *self, const Object *object)
{
    const Attachment *attachment = ATTACHMENT(object);
    const VolumeSources *sources = &self->options.sources;

    if (object == NULL || attachment->attacher == NULL || attachment->volume_name == NULL)
        return (AttachmentUse){
            NULL, {NULL, NULL}
        };
    const ObjectKey *key =
        objects_find_key(sources->objects, KIND_VOLUME, NULL, attachment->volume_name);
    const Volume *volume = key == NULL ? NULL : VOLUME_CONST(informer_get(sources->volumes, key));
    if (volume == NULL || volume->source == NULL || volume->source->driver == NULL)
        return (AttachmentUse){
            NULL, {NULL, NULL}
        };
    const ObjectKey *node_key =
        objects_key(sources->objects, KIND_NODE, NULL, attachment->node_name);
    return (AttachmentUse){
        node_info(self, node_key), {attachment->attacher, volume->source->handle}
    };
}

static void
count_attachment(SchedulerCache *self, const ObjectKey *key, const Object *attachment)
{
    if (self->attachments->len <= key->slot)
        g_array_set_size(self->attachments, key->slot + 1);
    AttachmentUse *use = &g_array_index(self->attachments, AttachmentUse, key->slot);
    AttachmentUse after = attachment_use(self, attachment);

    if (use->node != NULL)
        count_volume(self, use->node, use->name, 0, -1);
    if (after.node != NULL)
        count_volume(self, after.node, after.name, 0, 1);
    *use = after;
}

void
scheduler_cache_attachment_changed(SchedulerCache *self, const Object *before, const Object *after)
{
    /* Its spec does not change (API-136). */
    if (before == NULL || after == NULL)
        count_attachment(self, before == NULL ? after->key : before->key, after);
}

void
scheduler_cache_volume_changed(SchedulerCache *self, const Object *before, const Object *after)
{
    const Volume *volume = VOLUME_CONST(after == NULL ? before : after);
    unsigned n;

    /* The source of a volume does not change (API-134). */
    if (before != NULL && after != NULL)
        return;
    if (volume->claim_ref.claim != NULL)
        scheduler_cache_claim_changed(self, volume->claim_ref.claim);
    const Object *const *attachments =
        informer_index_get(self->attachments_by_volume, volume->meta.key->name, &n);
    for (unsigned i = 0; i < n; i++)
        count_attachment(self, attachments[i]->key, attachments[i]);
}

/* ---- Pods ---- */

CachedPod *
scheduler_cache_find_pod(const SchedulerCache *self, const ObjectKey *key, ObjectUid uid)
{
    for (CachedPod *pod = at_slot(self->pods, key->slot); pod != NULL; pod = pod->next_of_name) {
        if (object_uid_equal(pod->pod->meta.uid, uid))
            return pod;
    }
    return NULL;
}

void
pod_nonzero_requests(const PodSpec *spec, int64_t *cpu_milli, int64_t *memory_bytes)
{
    *cpu_milli = spec->cpu_milli == 0 ? DEFAULT_CPU_MILLI * spec->n_containers : spec->cpu_milli;
    *memory_bytes =
        spec->memory_bytes == 0 ? DEFAULT_MEMORY_BYTES * spec->n_containers : spec->memory_bytes;
}

static void
count_requests(SchedulerCache *self, NodeInfo *node, const PodSpec *spec, int sign)
{
    int64_t cpu, memory;

    pod_nonzero_requests(spec, &cpu, &memory);
    node->requested_cpu_milli += sign * spec->cpu_milli;
    node->requested_memory_bytes += sign * spec->memory_bytes;
    node->nonzero_cpu_milli += sign * cpu;
    node->nonzero_memory_bytes += sign * memory;
    node->n_pods += sign;
    forget_asks(self, node);
}

static void
count_labels(SchedulerCache *self, const Pod *pod, NodeInfo *node, int change)
{
    if (!pod_counts_is_used(self->counts) && pod->spec->n_pod_terms == 0)
        return;
    pod_counts_add_pod(self->counts, pod, &node->domains, change);
}

static void
count_priority(SchedulerCache *self, int32_t priority, int change)
{
    unsigned i = 0;

    while (i < self->priorities->len &&
           g_array_index(self->priorities, PriorityCount, i).priority < priority)
        i++;
    if (i == self->priorities->len ||
        g_array_index(self->priorities, PriorityCount, i).priority != priority) {
        PriorityCount count = {.priority = priority};
        g_array_insert_val(self->priorities, i, count);
    }
    PriorityCount *count = &g_array_index(self->priorities, PriorityCount, i);
    count->n_pods += (uint32_t)change;
    if (count->n_pods == 0)
        g_array_remove_index(self->priorities, i);
}

int32_t
scheduler_cache_lowest_priority(const SchedulerCache *self)
{
    return self->priorities->len == 0 ? INT32_MAX
                                      : g_array_index(self->priorities, PriorityCount, 0).priority;
}

void
scheduler_cache_nominate(SchedulerCache *self, const Pod *pod, const char *node_name)
{
    for (unsigned i = 0; i < self->nominated->len; i++) {
        if (object_uid_equal(g_array_index(self->nominated, NominatedPod, i).pod->meta.uid,
                             pod->meta.uid)) {
            g_array_remove_index(self->nominated, i);
            break;
        }
    }
    if (node_name == NULL)
        return;
    NominatedPod nominated = {pod, node_info(self, objects_key(self->options.sources.objects,
                                                               KIND_NODE, NULL, node_name))};
    object_ref(&pod->meta);
    g_array_append_val(self->nominated, nominated);
}

const NominatedPod *
scheduler_cache_nominated(const SchedulerCache *self, unsigned *n)
{
    *n = self->nominated->len;
    return (const NominatedPod *)(void *)self->nominated->data;
}

unsigned
scheduler_cache_count_pods(const SchedulerCache *self, unsigned *n_assumed)
{
    *n_assumed = self->n_assumed;
    return self->n_pods;
}

static CachedPod *
place_pod(SchedulerCache *self, const Pod *pod, NodeInfo *node, void *attempt)
{
    const ObjectKey *key = pod->meta.key;
    CachedPod *cached = g_slice_new0(CachedPod);

    object_ref(&pod->meta);
    cached->pod = pod;
    cached->node = node;
    cached->attempt = attempt;
    cached->next_on_node = node->pods;
    if (node->pods != NULL)
        node->pods->previous_on_node = cached;
    node->pods = cached;
    cached->next_of_name = at_slot(self->pods, key->slot);
    set_slot(self->pods, key->slot, cached);
    self->n_pods++;
    self->n_assumed += attempt != NULL;
    count_requests(self, node, pod->spec, 1);
    use_claims_of_pod(self, pod, node, 1);
    count_labels(self, pod, node, 1);
    count_priority(self, pod->spec->priority, 1);
    return cached;
}

/* A newer version of a pod where it is: only its labels and whether it is being deleted count
 * (VF-64). */
static void
replace_pod(SchedulerCache *self, CachedPod *cached, const Pod *pod)
{
    const Pod *before = cached->pod;
    gboolean counts_else = !string_map_equal(before->meta.labels, pod->meta.labels) ||
                           object_is_deleted(&before->meta) != object_is_deleted(&pod->meta);

    if (counts_else)
        count_labels(self, before, cached->node, -1);
    if (before->spec != pod->spec) {
        count_priority(self, before->spec->priority, -1);
        count_priority(self, pod->spec->priority, 1);
        count_requests(self, cached->node, before->spec, -1);
        count_requests(self, cached->node, pod->spec, 1);
    }
    object_ref(&pod->meta);
    cached->pod = pod;
    if (counts_else)
        count_labels(self, pod, cached->node, 1);
    object_unref(&before->meta);
}

void
scheduler_cache_set_attempt(SchedulerCache *self, CachedPod *cached, void *attempt)
{
    self->n_assumed -= cached->attempt != NULL;
    self->n_assumed += attempt != NULL;
    cached->attempt = attempt;
}

CachedPod *
scheduler_cache_add_pod(SchedulerCache *self, const Pod *pod, const char *node_name, void *attempt)
{
    NodeInfo *node =
        node_info(self, objects_key(self->options.sources.objects, KIND_NODE, NULL, node_name));
    CachedPod *cached = scheduler_cache_find_pod(self, pod->meta.key, pod->meta.uid);

    if (cached != NULL && cached->node == node) {
        replace_pod(self, cached, pod);
        scheduler_cache_set_attempt(self, cached, attempt);
        return cached;
    }
    if (cached != NULL) /* assumed on one node, and somebody else put it on another */
        scheduler_cache_remove_pod(self, cached);
    return place_pod(self, pod, node, attempt);
}

void
scheduler_cache_remove_pod(SchedulerCache *self, CachedPod *cached)
{
    const Pod *pod = cached->pod;
    NodeInfo *node = cached->node;

    self->n_pods--;
    self->n_assumed -= cached->attempt != NULL;
    count_priority(self, pod->spec->priority, -1);
    count_labels(self, pod, node, -1);
    use_claims_of_pod(self, pod, node, -1);
    count_requests(self, node, pod->spec, -1);
    if (cached->previous_on_node != NULL)
        cached->previous_on_node->next_on_node = cached->next_on_node;
    else
        node->pods = cached->next_on_node;
    if (cached->next_on_node != NULL)
        cached->next_on_node->previous_on_node = cached->previous_on_node;

    CachedPod **link = (CachedPod **)&self->pods->pdata[pod->meta.key->slot];
    while (*link != cached)
        link = &(*link)->next_of_name;
    *link = cached->next_of_name;
    object_unref(&pod->meta);
    g_slice_free(CachedPod, cached);
}
