/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The external-resizer as a component: its queue of claims and its memory of errors. A claim is
 * queued if it asks for more than it has, or if something remains to be cleaned up; most claims
 * never grow. Claims with an infeasible error wait in the slow set, whose first insertion counts
 * (RSZ-63), and a claim in use that a driver cannot grow waits until its pods are gone. These sets
 * are private and are lost with the process. The volumes' informer starts only when a claim needs
 * it. */
#include "resizer.h"

#include "models/cluster/cluster.h"
#include "models/external-resizer/resizer-test.h"

#define SWEEP_PERIOD (100 * SIM_MS) /* of the slow set */

/* ---- For expand.c ---- */

const Claim *
resizer_find_claim(const ExternalResizer *self, const Plan *plan)
{
    return CLAIM_CONST(informer_get(self->claims, plan_key(plan)));
}

const Volume *
resizer_find_volume(const ExternalResizer *self, const char *name)
{
    return VOLUME_CONST(informer_find(self->volumes, NULL, name));
}

void
resizer_watch_volumes(ExternalResizer *self)
{
    if (self->volumes == NULL)
        self->volumes = process_informer(self->base.process, KIND_VOLUME, NULL);
}

SimTime
resizer_slow_until(const ExternalResizer *self, const ObjectKey *claim)
{
    const SimTime *until = g_hash_table_lookup(self->slow, claim);

    return until == NULL || *until <= sim_now(self->base.sim) ? 0 : *until;
}

gboolean
resizer_modify_is_slow(const ExternalResizer *self, const ObjectKey *claim)
{
    const SimTime *until = g_hash_table_lookup(self->modify_slow, claim);

    return until != NULL && *until > sim_now(self->base.sim);
}

gboolean
resizer_has_final_error(const ExternalResizer *self, const ObjectKey *claim)
{
    return g_hash_table_contains(self->final_errors, claim);
}

gboolean
resizer_is_in_use(const ExternalResizer *self, const Claim *claim)
{
    const ObjectUid *uid = g_hash_table_lookup(self->in_use_errors, claim->meta.key);
    unsigned n_pods;

    if (uid == NULL || !object_uid_equal(*uid, claim->meta.uid))
        return FALSE;
    informer_index_get(self->pods_by_claim, claim->meta.key, &n_pods);
    return n_pods > 0;
}

gboolean
resizer_needs_expansion(const Claim *claim)
{
    return claim->phase == CLAIM_BOUND && claim->request_bytes > claim->capacity_bytes;
}

gboolean
resizer_needs_cleanup(const ExternalResizer *self, const Claim *claim, const Volume *volume)
{
    return self->annotates && claim->capacity_bytes >= volume->capacity_bytes &&
           object_annotation(&volume->meta, ANNOTATION_PRE_RESIZE_CAPACITY) != NULL;
}

/* ---- What changes ---- */

static void
index_pods_in_use(InformerIndex *index, const Object *object, Objects *objects)
{
    const Pod *pod = POD_CONST(object);

    for (unsigned i = 0; !pod_is_terminal(pod) && pod->volumes != NULL && i < pod->volumes->n_items;
         i++)
        if (!pod->volumes->items[i].ephemeral) /* RSZ-32: the original forgets these */
            index_emit(index, pod_claim_key(objects, pod, &pod->volumes->items[i]));
}

static void
remember_in_use(ExternalResizer *self, const Object *claim)
{
    if (!self->options->handle_volume_inuse_error)
        return;
    if (self->pods_by_claim == NULL)
        self->pods_by_claim = informer_add_index(
            process_informer(self->base.process, KIND_POD, NULL), index_pods_in_use);
    g_hash_table_insert(self->in_use_errors, (void *)claim->key,
                        g_memdup2(&claim->uid, sizeof claim->uid));
}

/* RSZ-36: the first sweep after that time removes it. The first insertion counts. */
static void
remember_slow(ExternalResizer *self, const ObjectKey *claim)
{
    SimTime over = sim_now(self->base.sim) + self->options->common.retry_interval_max;
    SimTime step = SWEEP_PERIOD + process_timing(self->base.process)->loop_pass;
    SimTime sweeps = (over - self->sweeps_from + step - 1) / step;
    SimTime until = self->sweeps_from + sweeps * step;

    if (resizer_slow_until(self, claim) == 0)
        g_hash_table_insert(self->slow, (void *)claim, g_memdup2(&until, sizeof until));
}

/* RSZ-63: only the first insertion counts. Before 1.13 (SREL-24) there is no such set. */
static void
remember_infeasible(ExternalResizer *self, const ObjectKey *claim)
{
    SimTime until = sim_now(self->base.sim) + self->options->common.retry_interval_max;

    if (sidecar_is_since(&self->options->common, 1, 13, TRUE) &&
        !resizer_modify_is_slow(self, claim))
        g_hash_table_insert(self->modify_slow, (void *)claim, g_memdup2(&until, sizeof until));
}

static void
external_resizer_apply_change(void *data, const PlanChange *change)
{
    ExternalResizer *self = data;

    switch ((ResizerChange)change->what) {
    case CHANGE_CLAIM_WRITTEN:
        if (change->object != NULL) /* else the write failed */
            informer_put(self->claims, change->object);
        return;
    case CHANGE_VOLUME_WRITTEN:
        if (change->object != NULL)
            informer_put(self->volumes, change->object);
        return;
    case CHANGE_SLOW:
        remember_slow(self, change->key);
        return;
    case CHANGE_IN_USE_ERROR:
        remember_in_use(self, change->object);
        return;
    case CHANGE_MODIFY_SLOW:
        remember_infeasible(self, change->key);
        return;
    case CHANGE_PANIC:
        cluster_exit(self->base.cluster, &self->base);
        return;
    }
    g_assert_not_reached();
}

/* RSZ-24. After a success the queue itself forgets the key. */
static void
sync_done(void *data, ObjectKey *key, PlanEnd end, const char *message)
{
    ExternalResizer *self = data;
    WorkQueue *queue = workers_queue(self->workers);

    if (end != PLAN_FAILED)
        return;
    if (message == self->delay_message)
        work_queue_add_after(queue, key, resizer_slow_until(self, key) - sim_now(self->base.sim));
    else
        work_queue_add_rate_limited(queue, key);
}

/* RSZ-21. */
static gboolean
is_worth_a_sync(const ExternalResizer *self, const Claim *before, const Claim *after)
{
    if (before == NULL || before->meta.resource_version == after->meta.resource_version)
        return TRUE;
    if (after->request_bytes > before->request_bytes ||
        after->capacity_bytes > before->capacity_bytes ||
        object_annotation(&before->meta, ANNOTATION_STORAGE_RESIZER) !=
            object_annotation(&after->meta, ANNOTATION_STORAGE_RESIZER))
        return TRUE;
    return self->recovers && (after->request_bytes != before->request_bytes ||
                              after->resize_status != before->resize_status);
}

static void
external_resizer_claim_changed(void *data, const Object *before, const Object *after)
{
    ExternalResizer *self = data;

    if (after == NULL) {
        work_queue_forget(workers_queue(self->workers), (ObjectKey *)before->key);
        return;
    }
    /* Most claims never grow: a sync would do nothing. */
    if (!self->annotates && !resizer_needs_expansion(CLAIM_CONST(after)))
        return;
    if (!is_worth_a_sync(self, before == NULL ? NULL : CLAIM_CONST(before), CLAIM_CONST(after)))
        return;
    resizer_watch_volumes(self);
    workers_add(self->workers, after->key);
}

static void
class_of_claim_changed(void *data, const Object *before, const Object *after)
{
    ExternalResizer *self = data;

    if (after == NULL)
        work_queue_forget(workers_queue(self->modify_workers), (ObjectKey *)before->key);
    else if (resizer_modify_is_queued(self, before == NULL ? NULL : CLAIM_CONST(before),
                                      CLAIM_CONST(after)))
        workers_add(self->modify_workers, after->key);
}

/* ---- Start and end ---- */

/* RSZ-69. */
static void
find_uncertain_claims(ExternalResizer *self)
{
    const Object *object;
    InformerIter iter;

    informer_iter_init(&iter, self->claims);
    while ((object = informer_iter_next(&iter)) != NULL) {
        const char *status = CLAIM_CONST(object)->modify_status;
        if (g_strcmp0(status, "InProgress") == 0 || g_strcmp0(status, "Infeasible") == 0)
            g_hash_table_add(self->uncertain, (void *)object->key);
    }
}

/* RSZ-60. Only now: claims that grow have subscribed to volumes first. */
static void
start_modifying(ExternalResizer *self)
{
    self->attributes_classes = process_informer(self->base.process, KIND_ATTRIBUTES_CLASS, NULL);
    resizer_watch_volumes(self);
    find_uncertain_claims(self);
    self->modify_workers = workers_new(
        &self->base, &(WorkersOptions){
                         .name = "pvc-modify", /* both queues have one name in the original */
                         .retry = TRUE,
                         .sync = resizer_modify,
                         SIDECAR_WORKERS,
                     });
    informer_add_handler(self->claims, class_of_claim_changed, self);
}

/* The driver's capabilities are known, and the informers are synced. If the driver cannot expand,
 * the real process ends and starts again and again (RSZ-20). */
static void
start_working(void *data)
{
    ExternalResizer *self = data;

    self->asks_controller = sidecar_offers(self->sidecar, CSI_USE_EXPAND);
    if (!sidecar_offers(self->sidecar, CSI_USE_MODIFY)) /* RSZ-20: the condition of all its calls */
        return;
    self->sweeps_from = sim_now(self->base.sim);
    component_start(&self->base);
    if (process_gate(&external_resizer_process, self->options->feature_gates,
                     "VolumeAttributesClass"))
        start_modifying(self);
}

static void
external_resizer_init(void *data)
{
    ExternalResizer *self = data;

    const char *gates = self->options->feature_gates;
    self->recovers =
        process_gate(&external_resizer_process, gates, "RecoverVolumeExpansionFailure");
    self->annotates = process_gate(&external_resizer_process, gates, "AnnotateFsResize");
    self->sidecar = sidecar_new(&(SidecarOptions){
        .component = &self->base,
        .n_sync_polls = 1,
        .ready = start_working,
        .node_unless = CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY,
    });
}

#define SELF ExternalResizer
static const ComponentPart parts[] = {
    HAS_OPTIONS(options),
    HAS_TEXT(delay_message, "waits in the slow set"),
    HAS_STATE(sidecar, NULL, sidecar_free),
    HAS_TABLE(final_errors, NULL),
    HAS_TABLE(slow, g_free),
    HAS_TABLE(in_use_errors, g_free),
    HAS_TABLE(uncertain, NULL),
    HAS_TABLE(modify_slow, g_free),
    HAS_INFORMER(claims, KIND_CLAIM, .changed = external_resizer_claim_changed),
    /* The original puts the driver's name in front. sync_done() tries again. */
    HAS_WORKERS_ONCE(workers, "pvc", resizer_sync, SIDECAR_WORKERS, .done = sync_done),
};

#define AT(member) offsetof(ExternalResizerOptions, member)

G_STATIC_ASSERT(offsetof(ExternalResizerOptions, common) == 0); /* SIDECAR_FLAGS */
static const ProcessFlag flags[] = {
    SIDECAR_FLAGS(
        "workers", "10", "Claims processed at once", "10s", "Deadline of a call of the driver"),
    {"handle-volume-inuse-error", FLAG_BOOL,     AT(handle_volume_inuse_error), "true",
                                                                                    "A volume that cannot grow online waits until no pod uses it (RSZ-32)"                  },
    {"extra-modify-metadata",     FLAG_BOOL,     AT(extra_modify_metadata),     "false",
                                                                                    "Pass the names of claim and volume to the driver in ControllerModifyVolume"            },
    {"resync-period",             FLAG_DURATION, AT(resync_period),             "10m",
                                                                                    "Time between two checks of all objects"                                                },
    {"feature-gates",             FLAG_STRING,   AT(feature_gates),             "",
                                                                                    "RecoverVolumeExpansionFailure=true,AnnotateFsResize=false,VolumeAttributesClass=false" },
    SIDECAR_ELECTION_FLAGS(ExternalResizerOptions),
    {NULL,                        FLAG_BOOL,     0,                             NULL,    NULL},
};

static const ProcessGate gates[] = {
    {"RecoverVolumeExpansionFailure", TRUE },
    {"AnnotateFsResize",              FALSE},
    {"VolumeAttributesClass",         FALSE},
    {NULL,                            FALSE},
};

static const ProcessElection election = {
    .offset = offsetof(ExternalResizerOptions, election),
    .lock = "external-resizer-",
    .has_host_name = TRUE,
};

const ProcessClass external_resizer_process = {
    SIDECAR_PROCESS("external-resizer", ExternalResizerOptions, flags, election), .gates = gates,
    .startup = offsetof(Timing, sidecar_start), /* as the attacher's, TIM-91 */
};

const ModelClass external_resizer_class = {
    SIDECAR_MODEL("external-resizer", external_resizer_process),
    .event_source = "external-resizer",
    .event_style = EVENTS_CORE,
    .before_driver = ' ',
    .rule_tables = RULE_TABLES(&resizer_expand_rules, &resizer_size_rules, &resizer_modify_rules),
    PARTS(parts),
    .init = external_resizer_init,
    .apply_change = external_resizer_apply_change,
};
