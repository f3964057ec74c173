/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pvc-pv-protection/pvc-pv-protection.h"

#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"

typedef struct {
    Component base;
    Informer *volumes;
    Workers *workers;
    const char *finalizer; /* interned */
} PvProtection;

gboolean
protection_has_work(const Object *object, const char *finalizer)
{
    return object_is_deleted(object) == object_has_finalizer(object, finalizer);
}

uint32_t
protection_facts(const Object *object, const char *finalizer)
{
    if (object == NULL)
        return 0;
    return SEEN | (object_is_deleted(object) ? GOING : 0u) |
           (object_has_finalizer(object, finalizer) ? GUARDED : 0u);
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
decide_volume(const void *component, Plan *plan)
{
    const PvProtection *self = component;
    const Object *seen = informer_get(self->volumes, plan_key(plan));
    uint32_t facts = protection_facts(seen, self->finalizer);

    facts |= seen != NULL && VOLUME_CONST(seen)->phase == VOLUME_BOUND ? USED : 0;
    const Rule *rule = rules_find(&volume_rules, facts, NULL);
    plan_because(plan, rule->id);
    if (rule->then != FINALIZER_STAYS)
        plan_update(plan, seen,
                    rule->then == FINALIZER_ADD ? edit_add_finalizer : edit_remove_finalizer,
                    self->finalizer, PLAN_STOP);
}

static void
volume_event(void *component, const Object *before, const Object *after)
{
    PvProtection *self = component;

    (void)before;
    if (after != NULL && protection_has_work(after, self->finalizer))
        workers_add(self->workers, after->key);
}

static void
pv_protection_init(void *component)
{
    PvProtection *self = component;
    WorkersOptions options = {
        .name = "pvprotection",
        .n_workers = 1,
        .limit = rate_limit_default,
        .retry = TRUE, /* PROT-13 */
        .sync = decide_volume,
    };

    self->finalizer = strings_intern(self->base.strings, FINALIZER_PV_PROTECTION);
    self->workers = workers_new(&self->base, &options);
    self->volumes = process_informer(self->base.process, KIND_VOLUME, NULL);
    informer_add_handler(self->volumes, volume_event, self);
}

const ModelClass pv_protection_class = {
    .name = "pv-protection-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(PvProtection),
    .client_qps = kube_controller_manager_client_qps,
    .rule_tables = RULE_TABLES(&volume_rules),
    .init = pv_protection_init,
};
