/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Desired state: the volumes that the pods of this node want. One thread reads claims and volumes
 * from the API, not from a cache:
 * pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go. A pass takes as long as
 * its requests, and the next begins 100 ms after its end. Tables say what a claim and a volume
 * must be; a fault becomes an error of the pod, which ends its wait.
 *
 * Only pods that were synced since their last read are read (pod-queue.c). The same versions of
 * claim and volume leave nothing to do while the mount waits for its attachment
 * (docs/performance.md); with polling they are looked at all the same, and tests compare both. */
#include "models/kubelet/in-process/in-process.h"
#include "models/kubelet/measure.h"
#include "operation-executor.h"

static const PodMount *
populate_mount(const Populate *self)
{
    return &self->worker->mounts[self->at];
}

/* The volume of the last read. NULL: there was none */
static const Volume *
known_volume(const Populate *populate)
{
    const NodeVolume *volume = populate_mount(populate)->volume;

    return volume == NULL ? NULL : VOLUME_CONST(volume->pv);
}

static ObjectKey *
claim_key(const Kubelet *self, const Populate *populate)
{
    const PodMount *mount = populate_mount(populate);

    return mount->claim != NULL
               ? mount->claim
               : pod_claim_key(self->base.objects, POD_CONST(populate->worker->pod), mount->spec);
}

static ObjectKey *
volume_key(const Kubelet *self, const Populate *populate, const char *name)
{
    const Volume *known = known_volume(populate);

    return known != NULL && known->meta.key->name == name
               ? (ObjectKey *)known->meta.key
               : objects_key(self->base.objects, KIND_VOLUME, NULL, name);
}

/* ---- What a claim must be: KVM-24 ---- */

typedef enum {
    FETCHED = 1 << 0,
    LEAVING = 1 << 1, /* it is being deleted, without the finalizer that keeps it for pods */
    FOREIGN = 1 << 2, /* of an ephemeral volume, but made for another pod */
    IS_BOUND = 1 << 3,
    NAMES_VOLUME = 1 << 4,
    CLAIM_FACTS_END = 1 << 5,
} ClaimFacts;

typedef enum {
    CLAIM_IS_FINE,
    NOT_FETCHED,
    BEING_DELETED,
    NOT_OWNED,
    NOT_BOUND,
    NO_VOLUME,
} ClaimFault;

static const char *const claim_errors[] = {
    [NOT_FETCHED] = "failed to fetch PVC from API server: ",
    [BEING_DELETED] = "PVC is being deleted",
    [NOT_BOUND] = "PVC is not bound",
    [NO_VOLUME] = "PVC has empty pvc.Spec.VolumeName",
};

static const Rule claim_table[] = {
    {"KVM-24.1", 0,                                           FETCHED,                NOT_FETCHED  },
    {"KVM-24.2", FETCHED | LEAVING,                           0,                      BEING_DELETED},
    {"KVM-24.4", FETCHED,                                     LEAVING | IS_BOUND,     NOT_BOUND    },
    {"KVM-24.5", FETCHED | IS_BOUND,                          LEAVING | NAMES_VOLUME, NO_VOLUME    },
    {"KVM-24.3", FETCHED | IS_BOUND | NAMES_VOLUME | FOREIGN, LEAVING,                NOT_OWNED    },
    {"KVM-24",   FETCHED | IS_BOUND | NAMES_VOLUME,           FOREIGN | LEAVING,      CLAIM_IS_FINE},
};

const RuleTable kubelet_claim_rules =
    RULE_TABLE("kubelet: claims of a pod", CLAIM_FACTS_END, claim_table);

static unsigned
claim_facts(const Object *object, const Populate *populate)
{
    const Claim *claim = CLAIM_CONST(object);
    gboolean is_protected =
        object != NULL && object_has_finalizer(object, FINALIZER_PVC_PROTECTION);
    unsigned facts = 0;

    if (object == NULL)
        return 0;
    facts |= FETCHED;
    facts |= object_is_deleted(object) && !is_protected ? LEAVING : 0;
    facts |= populate_mount(populate)->spec->ephemeral &&
                     !object_is_controlled_by(object, populate->worker->pod)
                 ? FOREIGN
                 : 0;
    facts |= claim->phase == CLAIM_BOUND ? IS_BOUND : 0;
    facts |= *claim_volume_name(claim) != '\0' ? NAMES_VOLUME : 0;
    return facts;
}

static const char *
claim_error_text(Plan *plan, const ObjectKey *claim, const char *error, const char *cause)
{
    return plan_internf(plan, "error processing PVC %s/%s: %s%s", claim->namespace, claim->name,
                        error, cause);
}

/* ---- What a volume must be: KVM-24.6 ---- */

typedef enum {
    READ = 1 << 0,
    CLAIMED = 1 << 1,             /* it has a claimRef */
    OURS = 1 << 2,                /* ... with the claim's uid */
    BLOCK_AS_FILESYSTEM = 1 << 3, /* its mode is Block, and the pod mounts it */
    FILESYSTEM_AS_BLOCK = 1 << 4, /* the other way round */
    HAS_PLUGIN = 1 << 5,
    VOLUME_FACTS_END = 1 << 6,
    MODE_DIFFERS = BLOCK_AS_FILESYSTEM | FILESYSTEM_AS_BLOCK,
} VolumeFacts;

typedef enum {
    VOLUME_IS_FINE,
    NOT_READ,
    NOT_CLAIMED,
    CLAIMED_BY_OTHER,
    IS_BLOCK,
    IS_FILESYSTEM,
    NO_PLUGIN,
} VolumeFault;

static const Rule volume_table[] = {
    {"KVM-24.6", 0,                                           READ,                      NOT_READ        },
    {"KVM-24.6", READ,                                        CLAIMED,                   NOT_CLAIMED     },
    {"KVM-24.6", READ | CLAIMED,                              OURS,                      CLAIMED_BY_OTHER},
    {"KVM-24.6", READ | CLAIMED | OURS | BLOCK_AS_FILESYSTEM, 0,                         IS_BLOCK        },
    {"KVM-24.6", READ | CLAIMED | OURS | FILESYSTEM_AS_BLOCK, 0,                         IS_FILESYSTEM   },
    {"KVM-24.6", READ | CLAIMED | OURS,                       MODE_DIFFERS | HAS_PLUGIN, NO_PLUGIN       },
    {"KVM-23",   READ | CLAIMED | OURS | HAS_PLUGIN,          MODE_DIFFERS,              VOLUME_IS_FINE  },
};

static const RuleBound volume_bounds[] = {
    {.given = BLOCK_AS_FILESYSTEM, .none = FILESYSTEM_AS_BLOCK},
};

const RuleTable kubelet_volume_rules = RULE_TABLE("kubelet: volumes of a pod's claims",
                                                  VOLUME_FACTS_END,
                                                  volume_table,
                                                  RULE_BOUNDS(volume_bounds));

static unsigned
volume_facts(const Kubelet *self, const Object *object, const Object *claim, const PodVolume *spec)
{
    const Volume *volume = VOLUME_CONST(object);
    unsigned facts = READ;

    if (object == NULL)
        return 0;
    gboolean is_block = volume->volume_mode == VOLUME_BLOCK;
    facts |= volume->claim_ref.claim != NULL ? CLAIMED : 0;
    facts |= object_uid_equal(volume->claim_ref.uid, claim->uid) ? OURS : 0;
    facts |= is_block && !spec->device ? BLOCK_AS_FILESYSTEM : 0;
    facts |= !is_block && spec->device ? FILESYSTEM_AS_BLOCK : 0;
    facts |= in_process_has_plugin(self, volume->source) ? HAS_PLUGIN : 0;
    return facts;
}

/* The error around the name of the volume. */
static const struct {
    const char *before, *after;
} volume_errors[] = {
    [NOT_READ] = {"failed to fetch PV ",                                " from API server: "                                           },
    [NOT_CLAIMED] =
        {"found PV object \"",
                  "\" but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"                                   },
    [CLAIMED_BY_OTHER] = {"found PV object \"",
                  "\" but its pv.Spec.ClaimRef.UID does not point to claim.UID"                                                        },
    [IS_BLOCK] = {"volume ",                                            " has volumeMode Block, but is specified in volumeMounts"      },
    [IS_FILESYSTEM] = {"volume ",                                            " has volumeMode Filesystem, but is specified in volumeDevices"},
    [NO_PLUGIN] = {"failed to get Plugin from volumeSpec for volume \"",
                  "\" err=no volume plugin matched"                                                                                    },
};

/* @spec_name: the volume's name in the pod. Returns: interned */
static const char *
volume_error(Plan *plan, VolumeFault fault, const Object *claim, const char *spec_name)
{
    gboolean of_mode = fault == IS_BLOCK || fault == IS_FILESYSTEM;
    const char *name = of_mode ? spec_name : claim_volume_name(CLAIM_CONST(claim));
    const char *text =
        plan_internf(plan, "%s%s%s%s", volume_errors[fault].before, name,
                     volume_errors[fault].after, fault == NOT_READ ? plan_last_message(plan) : "");

    return of_mode || fault == NO_PLUGIN ? text : claim_error_text(plan, claim->key, text, "");
}

/* ---- The same versions again ----
 *
 * A pod that waits for hours reads its claim and its volume after each time-out, and finds what it
 * found before. What follows from a read depends on the two versions, the pod, and what this node
 * knows of the volume. So as long as the mount waits for its volume to be attached, the same
 * versions leave nothing to do. With polling they are looked at all the same: tests compare both.
 */

static gboolean
is_known_claim(const Kubelet *self, const Populate *populate, const Object *claim)
{
    const PodMount *mount = populate_mount(populate);

    return claim != NULL && claim->resource_version == mount->claim_version && mount->desired &&
           mount->volume != NULL && !sim_is_polling(self->base.sim);
}

static gboolean
is_known_volume(const Kubelet *self,
                const Populate *populate,
                const Object *claim,
                const Object *pv)
{
    return is_known_claim(self, populate, claim) && pv != NULL &&
           pv->resource_version == populate_mount(populate)->pv_version;
}

/* Only of CSI volumes: whether a FlexVolume has a driver may change. */
static void
remember_versions(PodMount *mount, const Object *claim, const Object *pv)
{
    const NodeVolume *volume = mount->volume;

    if (claim == NULL || volume->in_actual || !volume_plugin_is_csi(volume->plugin))
        return;
    mount->claim = (ObjectKey *)claim->key;
    mount->pv = (ObjectKey *)pv->key;
    mount->claim_version = claim->resource_version;
    mount->pv_version = pv->resource_version;
}

/* ---- A pod: its volumes one after the other ---- */

static void decide_populate(const void *self, Plan *plan);

static void
add_error(Plan *plan, const Populate *populate, const char *text)
{
    plan_change(plan,
                &(PlanChange){.what = CHANGE_POPULATE_ERROR, .pointer = populate, .text = text});
}

static void
volume_populator_add_volume(Plan *plan,
                            const Populate *populate,
                            const Object *claim,
                            const Object *pv)
{
    plan_change(plan,
                &(PlanChange){.what = CHANGE_POPULATE_CLAIM, .pointer = populate, .object = claim});
    plan_change(plan,
                &(PlanChange){.what = CHANGE_POPULATE_VOLUME, .pointer = populate, .object = pv});
}

/* CSP-28 */
static gboolean
add_label_conflict(const Kubelet *self, Plan *plan, const Object *volume)
{
    const Populate *populate = plan_operation(plan);
    const char *rule;
    g_autofree char *text =
        volume_manager_label_conflict(self, volume, populate_mount(populate), &rule);

    if (text == NULL)
        return FALSE;
    plan_because(plan, rule);
    plan_change(plan, &(PlanChange){.what = CHANGE_POPULATE_ERROR,
                                    .pointer = populate,
                                    .object = volume,
                                    .text = plan_internf(plan, "%s", text)});
    return TRUE;
}

static void
volume_populator_decide_volume(const void *data, Plan *plan)
{
    const Populate *populate = plan_operation(plan);
    int step = plan_last_step(plan);
    const Object *volume = plan_object(plan, step), *claim = plan_object(plan, step - 1);

    if (is_known_volume(data, populate, claim, volume)) {
        plan_because(plan, "KVM-23");
        kubelet_add_change(plan, CHANGE_POPULATE_NOTHING, populate, 0);
        plan_then(plan, decide_populate);
        return;
    }
    const PodVolume *spec = populate_mount(populate)->spec;
    VolumeFault fault = (VolumeFault)plan_judge(plan, &kubelet_volume_rules,
                                                volume_facts(data, volume, claim, spec));

    if (fault != VOLUME_IS_FINE)
        add_error(plan, populate, volume_error(plan, fault, claim, spec->name));
    else if (!add_label_conflict(data, plan, volume))
        volume_populator_add_volume(plan, populate, claim, volume);
    plan_then(plan, decide_populate);
}

static void
volume_populator_decide_claim(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Populate *populate = plan_operation(plan);
    int step = plan_last_step(plan);
    const Object *claim = plan_object(plan, step);

    if (is_known_claim(self, populate, claim)) {
        plan_because(plan, "KVM-24");
        plan_get(plan, populate_mount(populate)->pv, PLAN_DECIDE);
        plan_then(plan, volume_populator_decide_volume);
        return;
    }
    int fault = plan_judge(plan, &kubelet_claim_rules, claim_facts(claim, populate));
    const ObjectKey *key = claim_key(self, populate);

    if (fault != CLAIM_IS_FINE) {
        const char *cause = claim == NULL ? plan_message(plan, step) : "";
        add_error(plan, populate,
                  fault == NOT_OWNED
                      ? plan_internf(plan, "PVC %s was not created for pod %s (pod is not owner)",
                                     key->text, populate->worker->key->text)
                      : claim_error_text(plan, key, claim_errors[fault], cause));
        plan_then(plan, decide_populate);
        return;
    }
    plan_get(plan, volume_key(self, populate, claim_volume_name(CLAIM_CONST(claim))), PLAN_DECIDE);
    plan_then(plan, volume_populator_decide_volume);
}

/* CSP-10, KVM-98: an inline volume has nothing to read. */
static void
add_inline(const Kubelet *self, Plan *plan, const Populate *populate)
{
    const PodVolume *spec = populate_mount(populate)->spec;
    g_autoptr(Object) volume = kubelet_inline_volume(self, populate->worker->pod, spec);

    plan_because(plan, spec->source->is_inline ? "CSP-10" : "KVM-98");
    if (!in_process_has_plugin(self, VOLUME(volume)->source))
        add_error(plan, populate,
                  plan_internf(plan, "%s%s%s", volume_errors[NO_PLUGIN].before, spec->name,
                               volume_errors[NO_PLUGIN].after));
    else
        plan_change(plan, &(PlanChange){.what = CHANGE_POPULATE_VOLUME,
                                        .pointer = populate,
                                        .object = plan_keep(plan, volume)});
    plan_then(plan, decide_populate);
}

static void
decide_populate(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Populate *populate = plan_operation(plan);

    plan_because(plan, "KVM-23");
    if (populate->at >= populate->worker->n_mounts)
        return;
    if (populate_mount(populate)->claim == NULL && populate_mount(populate)->spec->source != NULL) {
        add_inline(self, plan, populate);
        return;
    }
    plan_get(plan, claim_key(self, populate), PLAN_DECIDE);
    plan_then(plan, volume_populator_decide_claim);
}

static void
populate_volume(Kubelet *self, const Populate *populate, const Object *pv)
{
    PodMount *mount = &populate->worker->mounts[populate->at];
    g_autoptr(Object) seen = (Object *)kubelet_volume_seen(self, pv);

    pv = seen;
    /* A claim keeps its volume, so this is always another version of the same volume. */
    if (mount->volume != NULL && mount->volume->pv->key != pv->key)
        return;
    volume_manager_desire(volume_manager_add(self, pv, mount), mount);
    if (mount->volume->in_actual && mount->volume->actual_bytes == 0 && populate->claim != NULL)
        mount->volume->actual_bytes =
            CLAIM_CONST(populate->claim)->capacity_bytes; /* KVM-26: it was rebuilt */
    volume_expansion_desire(mount->volume, mount);
    remember_versions(mount, populate->claim, pv);
}

static void
populate_done(const Populate *populate)
{
    PodWorker *worker = populate->worker;

    if (populate->failed)
        return;
    volume_manager_clear_errors(worker);
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
    case CHANGE_POPULATE_NOTHING:
        break;
    case CHANGE_POPULATE_CLAIM:
        populate->claim = change->object;
        return;
    case CHANGE_POPULATE_VOLUME:
        populate_volume(self, populate, change->object);
        break;
    default:
        populate->failed = TRUE;
        if (change->object != NULL)
            kubelet_count_label(self, METRIC_SELINUX_ERRORS, change->object);
        volume_manager_add_error(populate->worker, change->text);
        break;
    }
    populate->claim = NULL;
    populate->at++;
}

/* ---- A pass ---- */

/* KVM-27: a mount that was never begun stays desired until the stopped pod's object is gone. */
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
    if (self->volume_manager->stopping->len == 0)
        return;
    g_autoptr(GPtrArray) stopping = g_steal_pointer(&self->volume_manager->stopping);
    self->volume_manager->stopping = g_ptr_array_new();
    for (unsigned i = 0; i < stopping->len; i++) {
        if (remove_volumes(stopping->pdata[i]))
            g_ptr_array_add(self->volume_manager->stopping, stopping->pdata[i]);
    }
    /* Only now: this may free workers, and the loop above walks them. */
    for (unsigned i = 0; i < stopping->len; i++)
        pod_worker_maybe_free(stopping->pdata[i]);
}

static void populate_next(Kubelet *self);

static void
populate_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;

    (void)plan;
    (void)message;
    if (end == PLAN_DONE)
        populate_done(&self->volume_manager->populate);
    self->volume_manager->populate.worker = NULL;
    self->volume_manager->populate_plan = NULL;
    populate_next(self);
}

/* The next pod that is to run and was not read since its last sync. After a restart, also pods that
 * terminate (KVM-23). */
static PodWorker *
take_unprocessed(Kubelet *self)
{
    while (self->volume_manager->populating->len > 0) {
        PodWorker *worker = g_ptr_array_steal_index(self->volume_manager->populating, 0);
        worker->queued = FALSE;
        if (worker->step == WORKER_SYNC ||
            (self->volume_manager->awaits_populator && !worker->stopped))
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
        .decides_once = TRUE, /* it begins with a GET of the first claim */
        .operation = &self->volume_manager->populate,
        .done = populate_over,
    };

    if (worker == NULL) {
        remove_stopped(self);
        reconstruct_populated(self);
        sim_ticker_end_pass(self->volume_manager->populator,
                            self->volume_manager->unprocessed->len > 0);
        return;
    }
    start.key = worker->key;
    self->volume_manager->populate = (Populate){.worker = worker};
    Plan *plan = plan_start(&start);
    if (plan != NULL && self->volume_manager->populate.worker == worker)
        self->volume_manager->populate_plan = plan;
}

void
volume_populator_on_driver(void *data, const Object *before, const Object *after)
{
    Kubelet *self = data;

    (void)before;
    if (after == NULL || self->volume_manager->volumes->len == 0)
        return;
    self->volume_manager->driver_changed = TRUE;
    sim_ticker_wake(self->volume_manager->populator);
}

static uint64_t
worker_place(const void *worker, SimStream stream, uint64_t walk)
{
    return object_key_place(((const PodWorker *)worker)->key, stream, walk);
}

gboolean
volume_populator_pass(void *data)
{
    Kubelet *self = data;

    if (self->volume_manager->driver_changed) { /* KVM-27 */
        self->volume_manager->driver_changed = FALSE;
        volume_manager_check_attachable(self);
    }
    if (self->volume_manager->unprocessed->len == 0) {
        remove_stopped(self);
        reconstruct_populated(self);
        return FALSE;
    }
    GPtrArray *empty = self->volume_manager->populating;
    self->volume_manager->populating = self->volume_manager->unprocessed;
    self->volume_manager->unprocessed = empty;
    /* KVM-91: GetPods() walks a map. */
    sim_shuffle(self->volume_manager->populating->pdata, self->volume_manager->populating->len,
                worker_place, sim_stream(self->base.sim, "kubelet/populator order"),
                (uint64_t)sim_now(self->base.sim));
    sim_ticker_begin_long_pass(self->volume_manager->populator);
    populate_next(self);
    return FALSE;
}

void
volume_populator_plugins_changed(Kubelet *self)
{
    for (unsigned i = 0; i < self->workers->len; i++) {
        PodWorker *worker = self->workers->pdata[i];
        if (worker->errors != NULL && worker->step == WORKER_SYNC)
            volume_manager_reprocess(worker);
    }
}
