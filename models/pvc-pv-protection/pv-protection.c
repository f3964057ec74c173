/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pvc-pv-protection/pvc-pv-protection.h"

#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"

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

gboolean
protection_edit_add(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

gboolean
protection_edit_remove(Object *object, const void *finalizer)
{
    return object_remove_finalizer(object, finalizer);
}

/* PROT-12: in use is what is Bound. A claimRef alone protects nothing. */
static void
decide_volume(const void *component, Plan *plan)
{
    const PvProtection *self = component;
    const Object *seen = informer_get(self->volumes, plan_key(plan));

    plan_because(plan, "PROT-11");
    if (seen == NULL || !protection_has_work(seen, self->finalizer))
        return;
    if (!object_is_deleted(seen))
        plan_update(plan, seen, protection_edit_add, self->finalizer, PLAN_STOP);
    else if (VOLUME_CONST(seen)->phase != VOLUME_BOUND)
        plan_update(plan, seen, protection_edit_remove, self->finalizer, PLAN_STOP);
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

static void
pv_protection_clear(void *component)
{
    PvProtection *self = component;

    g_clear_pointer(&self->workers, workers_free);
}

const ModelClass pv_protection_class = {
    .name = "pv-protection-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(PvProtection),
    .client_qps = kube_controller_manager_client_qps,
    .init = pv_protection_init,
    .clear = pv_protection_clear,
};
