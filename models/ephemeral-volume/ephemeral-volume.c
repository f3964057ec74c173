/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ephemeral-volume controller: makes the claims of a pod's generic ephemeral volumes. A rule
 * table decides for each volume from the informer and from the steps of the plan, since the
 * informer may not know a claim that was just made. A claim of that name that the pod does not own
 * is an error, and so is a creation that is refused (EPH-5, EPH-6). The first fault ends the sync,
 * and the queue tries again. A claim that is deleted under its pod is made again. */
#include "models/ephemeral-volume/ephemeral-volume.h"

#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/ephemeral-volume/ephemeral-volume-test.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"

typedef struct {
    Component base;
    Informer *pods, *claims;
    InformerIndex *pods_by_claim;
    Workers *workers;
} EphemeralVolume;

/* EPH-2: pods under deletion get no new claims. */
static gboolean
pod_wants_claims(const Pod *pod)
{
    if (object_is_deleted(&pod->meta) || pod->volumes == NULL)
        return FALSE;
    for (unsigned i = 0; i < pod->volumes->n_items; i++)
        if (pod->volumes->items[i].ephemeral)
            return TRUE;
    return FALSE;
}

/* Whether an earlier step of this plan made it: the informer may not know yet. */
static gboolean
was_created(const Plan *plan, const ObjectKey *claim)
{
    for (int step = 0; step <= plan_last_step(plan); step++) {
        const Object *created = plan_object(plan, step);
        if (created != NULL && created->key == claim)
            return TRUE;
    }
    return FALSE;
}

/* EPH-4. */
static Object *
claim_new(const Pod *pod, const PodVolume *volume, ObjectKey *key)
{
    Object *claim = object_edit_as(&volume->claim_template->meta, key);

    object_set_owner(claim, &pod->meta, TRUE, TRUE);
    return claim;
}

/* EPH-6: the first fault ends the sync; the queue tries again. */
static void
plan_fail_volume(Plan *plan, const Pod *pod, const PodVolume *volume, const char *why)
{
    plan_event(plan, &pod->meta, "Warning", "FailedBinding", "ephemeral volume %s: %s",
               volume->name, why);
    plan_fail(plan, "ephemeral volume %s: %s", volume->name, why);
}

enum {
    CLAIM_CREATED = 1 << 0, /* by an earlier step of this plan */
    CLAIM_OWNED = 1 << 1,   /* the informer has it, and the pod owns it */
    CLAIM_FOREIGN = 1 << 2, /* ... and the pod does not */
    CLAIM_REFUSED = 1 << 3, /* the last step failed to create it */
    CLAIM_FACTS_END = 1 << 4,
};

typedef enum {
    CLAIM_IS_THERE,
    CLAIM_CREATE,
    CLAIM_FAIL_CREATE,
    CLAIM_FAIL_FOREIGN,
} EphemeralVolumeClaimAction;

/* handleVolume(). It is refused also if it exists already (EPH-5). */
static const Rule claim_table[] = {
    {"EPH-4", CLAIM_CREATED, 0,                                                           CLAIM_IS_THERE    },
    {"EPH-4", CLAIM_OWNED,   CLAIM_CREATED,                                               CLAIM_IS_THERE    },
    {"EPH-6", CLAIM_REFUSED, CLAIM_CREATED | CLAIM_OWNED,                                 CLAIM_FAIL_CREATE },
    {"EPH-6", CLAIM_FOREIGN, CLAIM_CREATED | CLAIM_OWNED | CLAIM_REFUSED,                 CLAIM_FAIL_FOREIGN},
    {"EPH-4", 0,             CLAIM_CREATED | CLAIM_OWNED | CLAIM_REFUSED | CLAIM_FOREIGN, CLAIM_CREATE      },
};

static const RuleTable claim_rules =
    RULE_TABLE("claims of ephemeral volumes", CLAIM_FACTS_END, claim_table);

/* Returns: whether the volume has its claim, so that the next one may be looked at */
static gboolean
plan_volume(const EphemeralVolume *self, Plan *plan, const Pod *pod, const PodVolume *volume)
{
    ObjectKey *key = pod_claim_key(self->base.objects, pod, volume);
    const Object *claim = informer_get(self->claims, key);
    int step = plan_last_step(plan);
    uint32_t facts = 0;

    facts |= was_created(plan, key) ? CLAIM_CREATED : 0;
    if (claim != NULL)
        facts |= object_is_controlled_by(claim, &pod->meta) ? CLAIM_OWNED : CLAIM_FOREIGN;
    facts |= step >= 0 && plan_code(plan, step) != API_OK ? CLAIM_REFUSED : 0;
    const Rule *rule = rules_find(&claim_rules, facts, NULL);
    plan_because(plan, rule->id);
    switch ((EphemeralVolumeClaimAction)rule->then) {
    case CLAIM_IS_THERE:
        return TRUE;
    case CLAIM_FAIL_CREATE:
        plan_fail_volume(
            plan, pod, volume,
            plan_internf(plan, "create PVC %s: %s", key->name, plan_message(plan, step)));
        return FALSE;
    case CLAIM_FAIL_FOREIGN:
        plan_fail_volume(plan, pod, volume,
                         plan_internf(plan, "PVC %s was not created for pod %s (pod is not owner)",
                                      key->text, pod->meta.key->text));
        return FALSE;
    case CLAIM_CREATE:
        plan_create(plan, claim_new(pod, volume, key), PLAN_DECIDE);
        plan_then(plan, ephemeral_volume_sync_pod);
        return FALSE;
    }
    g_assert_not_reached();
}

void
ephemeral_volume_sync_pod(const void *component, Plan *plan)
{
    const EphemeralVolume *self = component;
    const Pod *pod = POD_CONST(informer_get(self->pods, plan_key(plan)));

    plan_because(plan, "EPH-4");
    if (pod == NULL || !pod_wants_claims(pod))
        return;
    for (unsigned i = 0; i < pod->volumes->n_items; i++) {
        const PodVolume *volume = &pod->volumes->items[i];
        if (volume->ephemeral && !plan_volume(self, plan, pod, volume))
            return;
    }
}

/* EPH-1: what a pod mounts never changes, so only new pods matter. */
static void
ephemeral_volume_pod_event(void *component, const Object *before, const Object *after)
{
    EphemeralVolume *self = component;

    if (before == NULL && pod_wants_claims(POD_CONST(after)))
        workers_add(self->workers, after->key);
}

/* EPH-3: a claim that is deleted under its pod is made again. */
static void
claim_event(void *component, const Object *before, const Object *after)
{
    EphemeralVolume *self = component;
    unsigned n_pods;

    if (after != NULL)
        return;
    const Object *const *pods = informer_index_get(self->pods_by_claim, before->key, &n_pods);
    for (unsigned i = 0; i < n_pods; i++)
        if (pod_wants_claims(POD_CONST(pods[i])))
            workers_add(self->workers, pods[i]->key);
}

#define SELF EphemeralVolume
static const ComponentPart parts[] = {
    HAS_INFORMER(pods, KIND_POD, WITH_INDEX(pods_by_claim, index_pods_by_claim)),
    HAS_INFORMER(claims, KIND_CLAIM),
    HAS_WORKERS(workers,
                "ephemeral_volume",
                ephemeral_volume_sync_pod, /* EPH-6 */
                .n_flag = KCM_FLAG(concurrent_ephemeralvolume_syncs)),
    PARTS_IF_GATE("GenericEphemeralVolume"),
    HAS_INFORMER(pods, KIND_POD, .changed = ephemeral_volume_pod_event),
    HAS_INFORMER(claims, KIND_CLAIM, .changed = claim_event),
};

const ModelClass ephemeral_volume_class = {
    KCM_MODEL("ephemeral-volume-controller"),
    .event_source = "ephemeral_volume",
    .event_style = EVENTS_CORE,
    .rule_tables = RULE_TABLES(&claim_rules),
    PARTS(parts),
};
