/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/operations.h"
#include "models/plan/plan.h"
#include "models/pv-controller/cache.h"
#include "models/pv-controller/pv-controller.h"
#include "sim/ticker.h"

/* What the files of the controller share: claims.c and volumes.c sync them by tables
 * of rules; binding.c, provisioning.c and reclaim.c plan what they decide; cache.c has the private
 * copies; pv-controller.c is the component. */

/* Interned once: edits need them at every write. */
typedef struct {
    const char *yes, *bound_by_controller, *bind_completed;
    const char *storage_provisioner, *beta_storage_provisioner, *migrated_to;
    const char *provisioned_by;
    const char *in_tree_finalizer, *provisioner_finalizer;
} Words;

/* An operation under way, as metrics count it: PVC-84. */
typedef struct {
    const char *verb;   /* pv_provision or pv_delete */
    const char *plugin; /* interned or static */
    SimTime begun_at;
} OperationTime;

typedef struct {
    Component base;
    Words words;
    Informer *claims, *volumes, *classes, *pods, *nodes;
    InformerIndex *pods_by_claim;
    Workers *claim_workers, *volume_workers; /* one worker each; they run beside each other */
    Operations *operations;
    PvCache *cache;
    GHashTable
        *gone_scrub_pods; /* ObjectKey -> ObjectUid: the last one that was deleted (PVC-77) */
    GHashTable *operation_times; /* ObjectKey -> OperationTime; NULL: nothing is measured */
    SimTicker *resync;
    uint16_t resync_label; /* in the log of causes */
    const Release *release;
    gboolean attributes_classes; /* gate VolumeAttributesClass */
} PvController;

/* Changes of private state: PlanChange.what. */
enum {
    CHANGE_STORE,  /* object: keep this version unless an older one (PVC-6, PVC-7) */
    CHANGE_FORGET, /* key: is deleted */
    CHANGE_SETTLE, /* key: its sync did nothing */
    CHANGE_WAIT,   /* key: a volume whose sync only queued its claim */
    CHANGE_TIME,   /* key: pointer (a verb) begins on it, by the plugin text */
    CHANGE_TIMED,  /* key: that has succeeded */
};

/* claims.c: PVC-21, 22, PVC-40 */
extern const RuleTable unbound_claim_rules, bound_claim_rules;
extern const RuleTable volume_rules, pv_lookup_rules;     /* volumes.c: PVC-70, 72, PVC-71 */
extern const RuleTable pv_provision_rules, pv_note_rules; /* provisioning.c: PVC-60, PVC-61 */
/* reclaim.c: PVC-75 to PVC-77 */
extern const RuleTable pv_policy_rules, pv_delete_rules, pv_recycle_rules;

/* ---- pv-controller.c ---- */

/* NULL: there is none of that name */
const StorageClass *pv_find_class(const PvController *self, const char *name);
gboolean pv_refers_to_uid(const Volume *volume, const Claim *claim);
gboolean pv_has_annotation(const Object *object, const char *name);
gboolean pv_is_migrated(const Object *object);
gboolean pv_is_in_tree(const char *provisioner);
void pv_plan_store(const PvController *self, Plan *plan, const Object *object);
void pv_plan_change_key(Plan *plan, int what, const ObjectKey *key);
/* The sync found nothing to do and sent no request: the object is settled (cache.h). A new version
 * stored by the same plan unsettles it first. */
void pv_plan_settle(const PvController *self, Plan *plan, const Object *object);
/* PVC-7: what a write returned is known at once. Returns: @step */
int pv_plan_kept(Plan *plan, int step);
/* PVC-5: the informer no longer has the object. The other half of its pair is synced at once
 * (PVC-8, PVC-9). */
void pv_plan_gone(const PvController *self,
                  Plan *plan,
                  const ObjectKey *key,
                  const ObjectKey *other,
                  const char *rule);
/* PVC-12. @verb: one of these */
extern const char pv_provision[], pv_delete[], pv_recycle[];
OperationKey pv_operation_key(const char *verb, const Object *object);
void pv_plan_operation(const PvController *self,
                       Plan *plan,
                       const char *verb,
                       const Object *object,
                       PlanDecide decide);

/* ---- operation-times.c ---- */

/* Returns: (owned) (nullable) */
GHashTable *pv_operation_times_new(const PvController *self);
/* Unless it began before. */
void pv_plan_time_operation(const PvController *self,
                            Plan *plan,
                            const char *verb,
                            const Object *object);
void pv_plan_timed(const PvController *self, Plan *plan, const Object *object);
void pv_operation_begun(PvController *self, const PlanChange *change);
void pv_operation_done(PvController *self, const ObjectKey *key);
void pv_operation_object_gone(PvController *self, const ObjectKey *key);

/* ---- volumes.c ---- */

/* Whether a sync would find the volume Bound to its claim, and only settle it. */
gboolean pv_volume_rests(const PvController *self, const ObjectKey *volume);

/* ---- binding.c ---- */

/* PVC-58. @message: interned; NULL: none. Returns: whether there is something to write */
gboolean
pv_plan_volume_phase(Plan *plan, const Volume *volume, VolumePhase phase, const char *message);
/* PVC-52: the writes that are still missing in both. */
void pv_plan_bind(const PvController *self, Plan *plan, const Volume *volume, const Claim *claim);
/* PVC-55: the volume is free again; a reservation by its user stays. */
void pv_plan_unbind(Plan *plan, const Volume *volume);

/* ---- migration.c ---- */

/* Returns: (borrowed): interned: the CSI driver that has taken over this in-tree provisioner, else
 * @provisioner */
const char *pv_driver_of(const PvController *self, const char *provisioner);
/* MIG-60, MIG-61: writes the marks that migration wants of a claim or a volume. Returns: FALSE: it
 * has them; nothing is planned */
gboolean pv_plan_marks(const PvController *self, Plan *plan, const Object *object);

/* ---- provisioning.c ---- */

/* PVC-60. */
void pv_plan_provisioning(const PvController *self, Plan *plan, const Claim *claim);

/* ---- in-tree.c ---- */

/* INT-30: makes the volume of a claim that notes its provisioner already, in its operation. */
void pv_plan_in_tree_volume(const PvController *self,
                            Plan *plan,
                            const Object *claim,
                            const StorageClass *class);
/* INT-31: an in-tree plugin copies nothing. */
void pv_plan_refuse_source(Plan *plan, const Claim *claim, const StorageClass *class);

/* ---- reclaim.c ---- */

/* PVC-12, PVC-75: its operation is under way, so that no sync starts another. */
gboolean pv_is_being_reclaimed(const PvController *self, const Volume *volume);
/* PVC-75. Returns: FALSE: nothing is to be done, now or later */
gboolean pv_plan_reclaim(const PvController *self, Plan *plan, const Volume *volume);
/* InformerHandler of pods: an operation that recycles waits for its scrub pod. */
void pv_recycler_event(void *component, const Object *before, const Object *after);

/* ---- For tests of single syncs ---- */

/* PlanDecide: syncClaim() and syncVolume() as the workers run them, with the object that the
 * informer has. */
void pv_controller_sync_claim(const void *component, Plan *plan);
void pv_controller_sync_volume(const void *component, Plan *plan);
