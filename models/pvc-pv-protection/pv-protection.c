/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pvc-pv-protection/pvc-pv-protection.h"

#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"

typedef struct {
    Protection head;
    Informer *volumes;
    Workers *workers;
} PvProtection;

gboolean
protection_has_work(const void *protection, const Object *object)
{
    const Protection *self = protection;

    return object_is_deleted(object) == object_has_finalizer(object, self->finalizer);
}

uint32_t
protection_facts(const Protection *self, const Object *object)
{
    if (object == NULL)
        return 0;
    return SEEN | (object_is_deleted(object) ? GOING : 0u) |
           (object_has_finalizer(object, self->finalizer) ? GUARDED : 0u);
}

void
protection_plan(const Protection *self,
                Plan *plan,
                const Object *object,
                gboolean is_used,
                const RuleTable *rules)
{
    int then = plan_judge(plan, rules, protection_facts(self, object) | (is_used ? USED : 0));

    if (then != FINALIZER_STAYS)
        plan_update(plan, object,
                    then == FINALIZER_ADD ? edit_add_finalizer : edit_remove_finalizer,
                    self->finalizer, PLAN_STOP);
}

/* processPV(). A claimRef alone protects nothing (PROT-12). */
static const Rule volume_table[] = {
    {"PROT-10", 0,                        SEEN,            FINALIZER_STAYS },
    {"PROT-10", SEEN | GUARDED,           GOING,           FINALIZER_STAYS },
    {"PROT-10", DELETED,                  GUARDED,         FINALIZER_STAYS },
    {"PROT-11", SEEN,                     GOING | GUARDED, FINALIZER_ADD   },
    {"PROT-11", DELETED | GUARDED,        USED,            FINALIZER_REMOVE},
    {"PROT-14", DELETED | GUARDED | USED, 0,               FINALIZER_STAYS },
};

static const RuleTable volume_rules =
    RULE_TABLE("finalizers of volumes", VOLUME_FACTS_END, volume_table);

static void
pv_protection_decide_volume(const void *component, Plan *plan)
{
    const PvProtection *self = component;
    const Object *seen = informer_get(self->volumes, plan_key(plan));
    gboolean is_used = seen != NULL && VOLUME_CONST(seen)->phase == VOLUME_BOUND;

    protection_plan(&self->head, plan, seen, is_used, &volume_rules);
}

#define SELF PvProtection
static const ComponentPart parts[] = {
    HAS_TEXT(head.finalizer, FINALIZER_PV_PROTECTION),
    HAS_INFORMER(volumes, KIND_VOLUME, WAKES_IF(workers, protection_has_work)),
    HAS_WORKERS(workers, "pvprotection", pv_protection_decide_volume, .n_workers = 1), /* PROT-13 */
};

const ModelClass pv_protection_class = {
    KCM_MODEL("pv-protection-controller"),
    .rule_tables = RULE_TABLES(&volume_rules),
    PARTS(parts),
};
