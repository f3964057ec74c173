/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/storage.h"
#include "models/client/process.h"
#include "models/plan/rules.h"

/* Volumes and claims as the scheduler believes them to be: the assume caches of VolumeBinding
 * (VB-70..75). An assumption stands until the API shows a newer version, or until it is taken back.
 */
typedef struct AssumeCache AssumeCache;

AssumeCache *assume_cache_new(Informer *informer,
                              const char *kind /* "v1.PersistentVolume", static */);
void assume_cache_free(AssumeCache *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AssumeCache, assume_cache_free)

/* To be called before all other handlers (VB-71, VB-72). */
void assume_cache_observe(AssumeCache *self, const Object *before, const Object *after);
/* VB-75: filters read what is assumed, polls read what the API says. NULL: missing */
const Object *assume_cache_get(const AssumeCache *self, const ObjectKey *key);

/* The volume of one claim of a pod on the chosen node. */
typedef struct {
    const ObjectKey *claim;
    const Object *chosen;  /* (owned): a volume to bind; the claim itself: a volume is to be made */
    const Object *assumed; /* (owned): as it is to be written; NULL: not reserved */
    uint64_t written_version; /* resource version of the API's answer; 0: not written */
} VolumeChoice;

void volume_choice_clear(VolumeChoice *self);
static inline gboolean
volume_choice_is_static(const VolumeChoice *self)
{
    return object_kind(self->chosen) == KIND_VOLUME;
}

/* Both caches, and where they look. All borrowed but the caches. */
typedef struct {
    AssumeCache *claims, *volumes;
    Informer *nodes, *pods;
    Objects *objects;
} VolumeBinder;

/* VB-81..83: assumes all choices, or none. Returns: %NULL, or (owned): why not */
char *
volume_binder_reserve(VolumeBinder *self, VolumeChoice *choices, unsigned n, const char *node_name);
void volume_binder_unreserve(VolumeBinder *self, VolumeChoice *choices, unsigned n); /* VB-84 */

extern const RuleTable scheduler_static_rules, scheduler_dynamic_rules; /* VB-94 */

typedef enum {
    BINDING_WAITS,
    BINDING_DONE,
    BINDING_FAILED,
} BindingState;

/* VB-94: the progress of the claims of @pod_key. @why: (out) (owned): of BINDING_FAILED */
BindingState volume_binder_check(const VolumeBinder *self,
                                 const VolumeChoice *choices,
                                 unsigned n,
                                 const ObjectKey *pod_key,
                                 const char *node_name,
                                 char **why);
