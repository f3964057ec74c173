/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubelet-private.h"

/* Desired state: which volumes the pods of this node want. One thread reads claims and volumes from
 * the API, not from a cache:
 * pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go. A pass that reads takes
 * as long as its requests do, and the next begins 100 ms after its end. */

/* A pod of the pass under way. */
typedef struct {
    PodWorker *worker;
    unsigned at;     /* its mount that is read */
    gboolean failed; /* some of its volumes could not be added */
} Populate;

static const PodMount *
populate_mount(const Populate *self)
{
    return &self->worker->mounts[self->at];
}

static void
add_change(Plan *plan, KubeletChange what, const Populate *populate, const char *text)
{
    plan_change(plan, &(PlanChange){.what = (int)what, .pointer = populate, .text = text});
}

/* ---- What a claim must be: KVM-24 ---- */

typedef enum {
    FETCHED = 1 << 0,   /* the claim is there */
    DELETED = 1 << 1,   /* it has a deletionTimestamp */
    PROTECTED = 1 << 2, /* and the finalizer that keeps it while pods use it */
    FOREIGN = 1 << 3,   /* of an ephemeral volume, but made for another pod */
    IS_BOUND = 1 << 4,
    NAMES_VOLUME = 1 << 5,
} ClaimFacts;

typedef struct {
    const char *id;
    ClaimFacts all, none;
    const char *error; /* NULL: it may be used */
} ClaimRule;

static const ClaimRule claim_rules[] = {
    {"KVM-24.1", 0,                                 FETCHED,                "failed to fetch PVC from API server: "             },
    {"KVM-24.2", FETCHED | DELETED,                 PROTECTED | FOREIGN,    "PVC is being deleted"                              },
    {"KVM-24.3", FETCHED | FOREIGN,                 0,                      "PVC was not created for the pod (pod is not owner)"},
    {"KVM-24.4", FETCHED,                           FOREIGN | IS_BOUND,     "PVC is not bound"                                  },
    {"KVM-24.5", FETCHED | IS_BOUND,                FOREIGN | NAMES_VOLUME, "PVC has empty pvc.Spec.VolumeName"                 },
    {"KVM-24",   FETCHED | IS_BOUND | NAMES_VOLUME, FOREIGN,                NULL                                                },
};

/* The first that applies, as checks follow each other in the original. */
static const ClaimRule *
claim_rule_for(ClaimFacts facts)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(claim_rules); i++) {
        const ClaimRule *rule = &claim_rules[i];
        if ((facts & rule->all) == rule->all && (facts & rule->none) == 0)
            return rule;
    }
    g_assert_not_reached();
}

static ClaimFacts
claim_facts(const Object *object, const Populate *populate)
{
    const Claim *claim = CLAIM_CONST(object);
    unsigned facts = 0;

    if (object == NULL)
        return 0;
    facts |= FETCHED;
    facts |= object_is_deleted(object) ? DELETED : 0;
    facts |= object_has_finalizer(object, FINALIZER_PVC_PROTECTION) ? PROTECTED : 0;
    facts |= populate_mount(populate)->spec->ephemeral &&
                     !object_is_controlled_by(object, populate->worker->pod)
                 ? FOREIGN
                 : 0;
    facts |= claim->phase == CLAIM_BOUND ? IS_BOUND : 0;
    facts |= *claim_volume_name(claim) != '\0' ? NAMES_VOLUME : 0;
    return (ClaimFacts)facts;
}

static const char *
claim_error_text(Plan *plan, const ObjectKey *claim, const char *error, const char *cause)
{
    return plan_internf(plan, "error processing PVC %s/%s: %s%s", claim->namespace, claim->name,
                        error, cause);
}

/* Returns: interned: why the volume cannot be the pod's; NULL: it can */
static const char *
volume_error(const Kubelet *self, Plan *plan, const Populate *populate, const Object *claim)
{
    const Object *object = plan_object(plan, plan_last_step(plan));
    const Volume *volume = VOLUME_CONST(object);
    const PodVolume *spec = populate_mount(populate)->spec;

    (void)self;
    if (object == NULL)
        return claim_error_text(plan, claim->key,
                                plan_internf(plan, "failed to fetch PV %s from API server: ",
                                             claim_volume_name(CLAIM_CONST(claim))),
                                plan_message(plan, plan_last_step(plan)));
    if (volume->claim_ref.claim == NULL)
        return claim_error_text(
            plan, claim->key,
            plan_internf(plan,
                         "found PV object \"%s\" but it has a nil pv.Spec.ClaimRef indicating it "
                         "is not yet bound to the claim",
                         object_name(object)),
            "");
    if (!object_uid_equal(volume->claim_ref.uid, claim->uid))
        return claim_error_text(
            plan, claim->key,
            plan_internf(
                plan,
                "found PV object \"%s\" but its pv.Spec.ClaimRef.UID does not point to claim.UID",
                object_name(object)),
            "");
    if (volume->volume_mode == VOLUME_BLOCK && !spec->device)
        return plan_internf(
            plan, "volume %s has volumeMode Block, but is specified in volumeMounts", spec->name);
    if (volume->volume_mode != VOLUME_BLOCK && spec->device)
        return plan_internf(
            plan, "volume %s has volumeMode Filesystem, but is specified in volumeDevices",
            spec->name);
    if (volume_plugin_find(volume->source) == NULL)
        return plan_internf(
            plan,
            "failed to get Plugin from volumeSpec for volume \"%s\" err=no volume plugin matched",
            object_name(object));
    return NULL;
}

/* ---- A pod: its volumes one after the other ---- */

static void decide_populate(const void *self, Plan *plan);

static void
add_next(Plan *plan, const Populate *populate)
{
    add_change(plan, CHANGE_POPULATE_NEXT, populate, NULL);
    plan_then(plan, decide_populate);
}

static void
decide_volume(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Populate *populate = plan_operation(plan);
    int step = plan_last_step(plan);
    const Object *claim = plan_object(plan, step - 1); /* the request before this one */
    const char *error = volume_error(self, plan, populate, claim);

    if (error != NULL) {
        plan_because(plan, "KVM-24.6");
        add_change(plan, CHANGE_POPULATE_ERROR, populate, error);
    } else {
        plan_because(plan, "KVM-23");
        plan_change(plan, &(PlanChange){.what = CHANGE_POPULATE_VOLUME,
                                        .pointer = populate,
                                        .object = plan_object(plan, step),
                                        .number = CLAIM_CONST(claim)->capacity_bytes});
    }
    add_next(plan, populate);
}

static void
decide_claim(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Populate *populate = plan_operation(plan);
    int step = plan_last_step(plan);
    const Object *claim = plan_object(plan, step);
    const ClaimRule *rule = claim_rule_for(claim_facts(claim, populate));

    plan_because(plan, rule->id);
    if (rule->error != NULL) {
        const ObjectKey *key = pod_claim_key(self->base.objects, POD_CONST(populate->worker->pod),
                                             populate_mount(populate)->spec);
        const char *cause = claim == NULL ? plan_message(plan, step) : "";
        add_change(plan, CHANGE_POPULATE_ERROR, populate,
                   claim_error_text(plan, key, rule->error, cause));
        add_next(plan, populate);
        return;
    }
    plan_get(
        plan,
        objects_key(self->base.objects, KIND_VOLUME, NULL, claim_volume_name(CLAIM_CONST(claim))),
        PLAN_DECIDE);
    plan_then(plan, decide_volume);
}

static void
decide_populate(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Populate *populate = plan_operation(plan);

    plan_because(plan, "KVM-23");
    if (populate->at >= populate->worker->n_mounts) {
        add_change(plan, CHANGE_POPULATE_DONE, populate, NULL);
        return;
    }
    plan_get(plan,
             pod_claim_key(self->base.objects, POD_CONST(populate->worker->pod),
                           populate_mount(populate)->spec),
             PLAN_DECIDE);
    plan_then(plan, decide_claim);
}

static void
populate_volume(Kubelet *self, const Populate *populate, const Object *pv, int64_t claim_bytes)
{
    PodMount *mount = &populate->worker->mounts[populate->at];

    /* A claim keeps its volume, so this is only about the newest version of it. */
    if (mount->volume != NULL && mount->volume->pv->key != pv->key)
        return;
    volume_manager_desire(volume_manager_add(self, pv, mount), mount);
    if (mount->volume->in_actual && mount->volume->actual_bytes == 0) /* KVM-26: it was rebuilt */
        mount->volume->actual_bytes = claim_bytes;
    volume_expansion_desire(mount->volume, mount);
}

static void
populate_done(const Populate *populate)
{
    PodWorker *worker = populate->worker;

    if (populate->failed)
        return;
    pod_worker_clear_errors(worker);
    for (unsigned i = 0; i < worker->n_mounts; i++) {
        PodMount *mount = &worker->mounts[i];
        if (mount->state == MOUNT_DONE && node_volume_requires_remount(mount->volume)) {
            mount->remount_required = TRUE;
            volume_manager_due(mount->volume);
        }
    }
}

void
volume_populator_apply(Kubelet *self, const PlanChange *change)
{
    Populate *populate = (Populate *)change->pointer;

    switch ((unsigned)change->what) {
    case CHANGE_POPULATE_ERROR:
        populate->failed = TRUE;
        pod_worker_add_error(populate->worker, change->text);
        return;
    case CHANGE_POPULATE_VOLUME:
        populate_volume(self, populate, change->object, change->number);
        return;
    case CHANGE_POPULATE_NEXT:
        populate->at++;
        return;
    default:
        populate_done(populate);
        return;
    }
}

/* ---- A pass ---- */

/* KVM-27: whether a mount of a stopped pod stays desired: nothing of it has been seen yet, and the
 * pod's object is there. */
static gboolean
stays_desired(const PodWorker *worker, const PodMount *mount)
{
    return mount->state == MOUNT_NONE && !worker->gone;
}

/* Returns: whether some of its volumes stay desired */
static gboolean
remove_volumes(PodWorker *worker)
{
    gboolean some_stay = FALSE;

    for (unsigned i = 0; i < worker->n_mounts; i++) {
        PodMount *mount = &worker->mounts[i];
        if (mount->volume == NULL || !mount->desired)
            continue;
        if (stays_desired(worker, mount))
            some_stay = TRUE;
        else
            volume_manager_undesire(mount);
    }
    return some_stay;
}

static void
remove_stopped(Kubelet *self)
{
    if (self->stopping->len == 0)
        return;
    g_autoptr(GPtrArray) stopping = g_steal_pointer(&self->stopping);
    self->stopping = g_ptr_array_new();
    for (unsigned i = 0; i < stopping->len; i++) {
        if (remove_volumes(stopping->pdata[i]))
            g_ptr_array_add(self->stopping, stopping->pdata[i]);
    }
    /* Only now: a worker that goes must be in no list that is walked. */
    for (unsigned i = 0; i < stopping->len; i++)
        pod_worker_maybe_free(stopping->pdata[i]);
}

static void populate_next(Kubelet *self);

static void
populate_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;

    (void)plan;
    (void)end;
    (void)message;
    self->populated = NULL;
    self->populate_plan = NULL;
    populate_next(self);
}

/* The next pod that is to run and has not been read since its last sync; after a restart all that
 * may run (KVM-23). */
static PodWorker *
take_unprocessed(Kubelet *self)
{
    while (self->populating->len > 0) {
        PodWorker *worker = g_ptr_array_steal_index(self->populating, 0);
        worker->queued = FALSE;
        if (worker->step == WORKER_SYNC || (self->awaits_populator && !worker->stopped))
            return worker;
    }
    return NULL;
}

static void
populate_next(Kubelet *self)
{
    PodWorker *worker = take_unprocessed(self);
    PlanStart start = {
        .component = &self->base,
        .decide = decide_populate,
        .free_operation = g_free,
        .done = populate_over,
    };

    if (worker == NULL) {
        g_clear_pointer(&self->populating, g_ptr_array_unref);
        remove_stopped(self);
        reconstruct_populated(self);
        sim_ticker_end_pass(self->populator, self->unprocessed->len > 0);
        return;
    }
    Populate *populate = g_new0(Populate, 1);
    populate->worker = worker;
    start.key = worker->key;
    start.operation = populate;
    self->populated = worker;
    Plan *plan = plan_start(&start);
    if (plan != NULL && self->populated == worker)
        self->populate_plan = plan;
}

void
volume_populator_on_driver(void *data, const Object *before, const Object *after)
{
    Kubelet *self = data;

    (void)before;
    if (after == NULL || self->volumes->len == 0)
        return;
    self->driver_changed = TRUE;
    sim_ticker_wake(self->populator);
}

gboolean
volume_populator_pass(void *data)
{
    Kubelet *self = data;

    if (self->driver_changed) { /* KVM-27 */
        self->driver_changed = FALSE;
        volume_manager_check_attachable(self);
    }
    if (self->unprocessed->len == 0) {
        remove_stopped(self);
        reconstruct_populated(self);
        return FALSE;
    }
    self->populating = g_steal_pointer(&self->unprocessed);
    self->unprocessed = g_ptr_array_new();
    sim_ticker_begin_long_pass(self->populator);
    populate_next(self);
    return FALSE;
}

/* KVM-19, step 2. */
void
volume_populator_reprocess(PodWorker *worker)
{
    Kubelet *self = worker->kubelet;

    if (!worker->queued) {
        worker->queued = TRUE;
        g_ptr_array_add(self->unprocessed, worker);
    }
    sim_ticker_wake(self->populator);
}

void
volume_populator_remove(PodWorker *worker)
{
    Kubelet *self = worker->kubelet;

    if (worker->n_mounts == 0)
        return;
    if (!g_ptr_array_find(self->stopping, worker, NULL))
        g_ptr_array_add(self->stopping, worker);
    sim_ticker_wake(self->populator);
}

void
volume_populator_forget(PodWorker *worker)
{
    Kubelet *self = worker->kubelet;

    g_ptr_array_remove(self->unprocessed, worker);
    g_ptr_array_remove(self->stopping, worker);
    if (self->populating != NULL)
        g_ptr_array_remove(self->populating, worker);
    if (self->populated == worker && self->populate_plan != NULL)
        plan_cancel(self->populate_plan);
}
