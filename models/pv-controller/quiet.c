/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/kube-controller-manager.h"
#include "models/pv-controller/pv-controller-private.h"

/* Claims that wait are synced every 15 s, and all that comes of most of these syncs is an Event
 * (PVC-25, PVC-62). With thousands of them the recorder's queue is full nearly always, and what
 * does not fit in is dropped (CGO-70): then such a sync comes to nothing at all, and need not be
 * made. */

/* PVC-25: the status is written already. */
static gboolean
is_told_pending(const Claim *claim)
{
    return claim->phase == CLAIM_PENDING && claim->status_access_modes == 0 &&
           claim->capacity_bytes == 0;
}

/* PVC-61: the provisioner is written already. */
static gboolean
is_asked_for(const PvController *self, const Claim *claim, const StorageClass *class)
{
    const char *known = object_annotation(&claim->meta, self->release->minor < 23
                                                            ? ANNOTATION_BETA_STORAGE_PROVISIONER
                                                            : ANNOTATION_STORAGE_PROVISIONER);

    return !pv_is_in_tree(class->provisioner) && g_strcmp0(known, class->provisioner) == 0;
}

/* PVC-21, as far as it is simple: a claim that waits for a pod, and no volume is there that it
 * could have. */
static gboolean
is_only_told_of(const PvController *self, const Claim *claim)
{
    const StorageClass *class = pv_find_class(self, claim_class(claim));

    if (class == NULL || class->binding_mode != BINDING_WAIT_FOR_FIRST_CONSUMER ||
        claim->class_name == NULL || claim->attributes_class != NULL ||
        claim_volume_name(claim)[0] != '\0' || claim_is_bind_completed(claim) ||
        pv_cache_is_named(self->cache, claim->meta.key))
        return FALSE;
    return pv_has_annotation(&claim->meta, ANNOTATION_SELECTED_NODE)
               ? is_asked_for(self, claim, class)
               : is_told_pending(claim);
}

gboolean
pv_claim_is_quiet(const void *component, const ObjectKey *key)
{
    const PvController *self = component;

    if (!event_recorder_is_full(self->base.events))
        return FALSE;
    const Object *seen = informer_get(self->claims, key);
    return seen != NULL && seen == pv_cache_get(self->cache, key) &&
           is_only_told_of(self, CLAIM_CONST(seen));
}
