/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "expand-controller.h"

#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"

/* syncHandler() in pkg/controller/volume/expand/expand_controller.go. */

#define N_WORKERS 10 /* defaultWorkerCount */
#define ANNOTATION_PRE_RESIZE_CAPACITY "volume.alpha.kubernetes.io/pre-resize-capacity"

typedef struct {
    Component base;
    Informer *claims, *volumes;
    Workers *workers;
} ExpandController;

static const Claim *
find_claim(const ExpandController *self, const Plan *plan)
{
    const Object *claim = informer_get(self->claims, plan_key(plan));

    return claim == NULL ? NULL : CLAIM_CONST(claim);
}

static gboolean
has_grown(const Claim *claim, const Volume *volume)
{
    return claim->request_bytes > claim->capacity_bytes ||
           object_annotation(&volume->meta, ANNOTATION_PRE_RESIZE_CAPACITY) != NULL;
}

static void
decide_volume(const void *data, Plan *plan)
{
    const ExpandController *self = data;
    const Claim *claim = find_claim(self, plan);
    const Object *object = plan_object(plan, plan_last_step(plan));
    const Volume *volume = VOLUME_CONST(object);

    plan_because(plan, "RSZ-11");
    if (object == NULL || claim == NULL) {
        plan_fail(plan, "%s", object == NULL ? plan_message(plan, plan_last_step(plan)) : "");
        return;
    }
    if (volume->claim_ref.claim == NULL || volume->claim_ref.claim != claim->meta.key ||
        !object_uid_equal(volume->claim_ref.uid, claim->meta.uid)) {
        plan_fail(plan, "persistent Volume is not bound to PVC being updated : %s",
                  claim->meta.key->text);
        return;
    }
    if (!has_grown(claim, volume))
        return;
    plan_because(plan, "RSZ-13"); /* volumes that this controller would expand itself do not exist
                                     any more (RSZ-14) */
    plan_event(plan, &claim->meta, "Normal", "ExternalExpanding",
               "waiting for an external controller to expand this PVC");
}

void
expand_controller_sync(const void *data, Plan *plan)
{
    const ExpandController *self = data;
    const Claim *claim = find_claim(self, plan);

    plan_because(plan, "RSZ-11");
    if (claim == NULL)
        return;
    if (*claim_volume_name(claim) == '\0') { /* nothing is sent */
        plan_fail(plan, "resource name may not be empty");
        return;
    }
    plan_get(plan, objects_key(self->base.objects, KIND_VOLUME, NULL, claim_volume_name(claim)),
             PLAN_DECIDE);
    plan_then(plan, decide_volume);
}

/* Nearly all syncs are of claims that were bound just now, at the size they asked for: one GET and
 * nothing more. Its token is taken, so that what follows waits as long as it does. */
static gboolean
sync_would_only_look(const ExpandController *self, const Claim *claim)
{
    const ObjectKey *key =
        objects_find_key(self->base.objects, KIND_VOLUME, NULL, claim_volume_name(claim));
    const Object *volume = key == NULL ? NULL : informer_get(self->volumes, key);

    return volume != NULL && VOLUME_CONST(volume)->claim_ref.claim == claim->meta.key &&
           object_uid_equal(VOLUME_CONST(volume)->claim_ref.uid, claim->meta.uid) &&
           !has_grown(claim, VOLUME_CONST(volume));
}

/* RSZ-10. */
static void
claim_changed(void *data, const Object *before, const Object *after)
{
    ExpandController *self = data;
    const Claim *was = before == NULL ? NULL : CLAIM_CONST(before);
    const Claim *claim = after == NULL ? NULL : CLAIM_CONST(after);

    if (claim == NULL || claim->phase != CLAIM_BOUND)
        return;
    if (was != NULL && claim->request_bytes <= was->request_bytes &&
        claim->capacity_bytes <= was->capacity_bytes)
        return;
    if (sync_would_only_look(self, claim))
        api_client_reserve(self->base.client);
    else
        workers_add(self->workers, after->key);
}

static void
expand_controller_init(void *data)
{
    ExpandController *self = data;
    WorkersOptions options = {
        .name = "volume_expand",
        .n_workers = N_WORKERS,
        .limit = rate_limit_default,
        .retry = TRUE,
        .sync = expand_controller_sync,
    };

    self->workers = workers_new(&self->base, &options);
    self->volumes = process_informer(self->base.process, KIND_VOLUME, NULL);
    self->claims = process_informer(self->base.process, KIND_CLAIM, NULL);
    informer_add_handler(self->claims, claim_changed, self);
}

static void
expand_controller_clear(void *data)
{
    ExpandController *self = data;

    workers_free(self->workers);
}

const ModelClass expand_controller_class = {
    .name = "expand-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(ExpandController),
    .event_source = "volume_expand",
    .event_style = EVENTS_CORE,
    .client_qps = kube_controller_manager_client_qps,
    .init = expand_controller_init,
    .clear = expand_controller_clear,
};
