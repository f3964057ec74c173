/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes in use on nodes, for the limits of CSI drivers: a volume counts once on a node, whether a
 * pod's claim or a VolumeAttachment uses it. A claim counts by the name that is known for it; if
 * the claim or its volume changes, the counts of all its nodes move to the new name. Sources of
 * volumes and specs of attachments never change, so only their arrival and their end are looked at.
 */
#include "cache-private.h"

static void
claim_use_free(ClaimUse *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->nodes);
    g_free(self);
}

void
cache_forget_claims(SchedulerCache *self)
{
    SIM_SLOTS_EACH(&self->claims, i)
        claim_use_free(sim_slots_pointer(&self->claims, i));
    sim_slots_clear(&self->claims);
}

static void
cache_volumes_count_volume(
    SchedulerCache *self, NodeInfo *node, VolumeName name, int n_pods, int n_attachments)
{
    node_volumes_add(&node->volumes, name, n_pods, n_attachments);
    cache_forget_asks(self, node);
}

static ClaimUse *
claim_use_new(const SchedulerCache *self, const ObjectKey *claim)
{
    ClaimUse *use = g_new0(ClaimUse, 1);

    use->name = volume_name_of_claim(&self->options.sources, claim);
    use->nodes = g_array_new(FALSE, TRUE, sizeof(ClaimOnNode));
    return use;
}

static ClaimOnNode *
claim_on_node(ClaimUse *use, NodeInfo *node)
{
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
    ClaimUse **place = sim_slots_place(&self->claims, claim->slot);
    ClaimUse *use = *place != NULL ? *place : (*place = claim_use_new(self, claim));
    ClaimOnNode *on_node = claim_on_node(use, node);

    use->n_pods += (uint32_t)change;
    on_node->n_pods += (uint32_t)change;
    cache_volumes_count_volume(self, node, use->name, change, 0);
    if (on_node->n_pods == 0)
        g_array_remove_index_fast(use->nodes,
                                  (unsigned)(on_node - (ClaimOnNode *)(void *)use->nodes->data));
    if (use->n_pods > 0)
        return;
    *place = NULL;
    claim_use_free(use);
}

void
cache_use_claims(SchedulerCache *self, const Pod *pod, NodeInfo *node, int change)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++)
        use_claim(self, pod_claim_key(self->options.sources.objects, pod, &pod->volumes->items[i]),
                  node, change);
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_inline; i++)
        cache_volumes_count_volume(
            self, node,
            volume_name_of_source(pod->volumes->items[pod->volumes->n_items + i].source), change,
            0);
}

void
scheduler_cache_claim_changed(SchedulerCache *self, const ObjectKey *claim)
{
    ClaimUse *use = sim_slots_pointer(&self->claims, claim->slot);

    if (use == NULL)
        return;
    VolumeName name = volume_name_of_claim(&self->options.sources, claim);
    if (volume_name_equal(name, use->name))
        return;
    for (unsigned i = 0; i < use->nodes->len; i++) {
        const ClaimOnNode *on_node = &g_array_index(use->nodes, ClaimOnNode, i);
        cache_volumes_count_volume(self, on_node->node, use->name, -(int)on_node->n_pods, 0);
        cache_volumes_count_volume(self, on_node->node, name, (int)on_node->n_pods, 0);
    }
    use->name = name;
}

unsigned
scheduler_cache_claim_users(const SchedulerCache *self, const ObjectKey *claim)
{
    const ClaimUse *use = sim_slots_pointer(&self->claims, claim->slot);

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
    const Volume *volume =
        VOLUME_CONST(informer_find(sources->volumes, NULL, attachment->volume_name));
    if (volume == NULL || volume->source == NULL || volume->source->driver == NULL)
        return (AttachmentUse){
            NULL, {NULL, NULL}
        };
    const ObjectKey *node_key =
        objects_key(sources->objects, KIND_NODE, NULL, attachment->node_name);
    return (AttachmentUse){
        cache_node_info(self, node_key),
        volume->source->origin != NULL
            ? volume_name_of_source(volume->source)
            : (VolumeName){attachment->attacher, volume->source->handle}
    };
}

static void
count_attachment(SchedulerCache *self, const ObjectKey *key, const Object *attachment)
{
    AttachmentUse *use = sim_slots_place(&self->attachments, key->slot);
    AttachmentUse after = attachment_use(self, attachment);

    if (use->node != NULL)
        cache_volumes_count_volume(self, use->node, use->name, 0, -1);
    if (after.node != NULL)
        cache_volumes_count_volume(self, after.node, after.name, 0, 1);
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
