/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attach-detach-controller.h"

#include "models/kube-controller-manager.h"
#include "sim/random.h"
#include "state.h"

#define RECONCILE_PERIOD (100 * SIM_MS)       /* ADC-1 */
#define MAX_WAIT_FOR_UNMOUNT (6 * SIM_MINUTE) /* ADC-1 */
#define ATTACH_TIMEOUT (2 * SIM_MINUTE)       /* ADC-3: csiTimeout; also of a detach */
#define ATTACH_POLL_FIRST (500 * SIM_MS)      /* ADC-3 */
#define ATTACH_POLL_GROWTH 1050               /* ADC-3: 1.05 */
#define ATTACH_POLL_JITTER 0.1                /* ADC-3 */
#define ATTACH_POLL_CAP (7 * SIM_SECOND)      /* ADC-3 */
#define POPULATE_PERIOD (1 * SIM_MINUTE)      /* ADC-1 */
#define LIST_PERIOD (3 * SIM_MINUTE)   /* ADC-1: the populator lists all pods no more often */
#define BACKOFF_FIRST (500 * SIM_MS)   /* ADC-4 */
#define BACKOFF_MAX (122 * SIM_SECOND) /* ADC-4 */

#define ANNOTATION_MANAGED "volumes.kubernetes.io/controller-managed-attach-detach"
#define TAINT_OUT_OF_SERVICE "node.kubernetes.io/out-of-service"
#define ATTACH_KIND "volume_attach" /* OP-2 */
#define DETACH_KIND "volume_detach"

/* The private changes that plans make. In all of them @pointer is the AttachPair or AttachNode. */
typedef enum {
    CHANGE_REQUEST_DETACH,    /* ADC-42 */
    CHANGE_RESET_REQUEST,     /* ADC-49.2 */
    CHANGE_UNREPORT,          /* ADC-45 */
    CHANGE_REPORT_AGAIN,      /* ADC-45, ADC-47 */
    CHANGE_NODE_UPDATED,      /* ADC-51: the flag goes before the patch */
    CHANGE_REPORTED,          /* ... which is step @number */
    CHANGE_NODE_OUTDATED,     /* ADC-52: ... and comes again when it failed */
    CHANGE_MULTI_ATTACH_TOLD, /* ADC-55 */
    CHANGE_LOOK_AT,           /* @number: whether the node is asked before (ADC-46) */
    CHANGE_ADD_POD,           /* ADC-35: @object */
    CHANGE_OPERATION,         /* starts: @text: its name */
    CHANGE_TELL,              /* ADC-56: @object: a pod that hears how the attach ends */
    CHANGE_RETRY_AT,          /* @number: SimTime */
} Change;

/* ---- What is wanted: pods, nodes, claims ---- */

/* ADC-33. Returns: the PersistentVolume that the pod's volume stands for; NULL: not known (yet) */
static const Volume *
look_up_volume(const AttachDetachController *self, const Pod *pod, const PodVolume *pod_volume)
{
    const Claim *claim =
        CLAIM_CONST(informer_get(self->claims, pod_claim_key(self->base.objects, pod, pod_volume)));
    if (claim == NULL || claim->phase != CLAIM_BOUND || claim_volume_name(claim)[0] == '\0')
        return NULL;
    if (pod_volume->ephemeral && !object_is_controlled_by(&claim->meta, &pod->meta))
        return NULL;

    ObjectKey *key = objects_key(self->base.objects, KIND_VOLUME, NULL, claim->volume_name);
    const Volume *volume = VOLUME_CONST(informer_get(self->volumes, key));
    return volume != NULL && object_uid_equal(volume->claim_ref.uid, claim->meta.uid) ? volume
                                                                                      : NULL;
}

/* ADC-34. */
static gboolean
is_attachable(const AttachDetachController *self, const Volume *volume)
{
    if (volume->source == NULL || volume->source->driver == NULL)
        return FALSE;
    ObjectKey *key = objects_key(self->base.objects, KIND_CSI_DRIVER, NULL, volume->source->driver);
    const CsiDriverObject *driver = CSI_DRIVER_OBJECT(informer_get(self->csi_drivers, key));

    return driver == NULL || driver->attach_required;
}

/* ADC-53. */
static gboolean
is_exclusive(const Volume *volume)
{
    return volume->access_modes != 0 && (volume->access_modes & (ACCESS_RWX | ACCESS_ROX)) == 0;
}

static void
set_spec(AttachVolume *volume, const Volume *spec)
{
    volume->spec = spec->meta.key;
    volume->is_exclusive = is_exclusive(spec);
}

static void
process_pod_volume(AttachDetachController *self,
                   AttachNode *node,
                   const Pod *pod,
                   const Volume *spec,
                   gboolean add)
{
    AttachVolume *volume = adc_volume(self, spec->source->driver, spec->source->handle);
    AttachPair *pair = adc_pair(self, volume, node);

    if (volume->spec == NULL)
        set_spec(volume, spec);
    if (add)
        adc_add_pod(self, pair, pod->meta.key);
    else
        adc_delete_pod(self, pair, pod->meta.key);
    adc_settle(self, pair);
}

/* ADC-32. A volume that cannot be looked up is passed over; the next event of the pod or the populator tries again. */
static void
process_pod_volumes(AttachDetachController *self, const Pod *pod, gboolean add)
{
    AttachNode *node = pod->node_name == NULL ? NULL : adc_find_node(self, pod->node_name);
    gboolean is_resolved = TRUE;

    if (pod->volumes == NULL || pod->node_name == NULL)
        return;
    for (unsigned i = 0; node != NULL && node->is_managed && i < pod->volumes->n_items; i++) {
        const Volume *spec = look_up_volume(self, pod, &pod->volumes->items[i]);
        if (spec == NULL)
            is_resolved = FALSE;
        else if (is_attachable(self, spec))
            process_pod_volume(self, node, pod, spec, add);
    }
    if (add && (!is_resolved || node == NULL || !node->is_managed)) {
        g_hash_table_add(self->unresolved, (void *)pod->meta.key);
        sim_ticker_wake(self->populator);
        return;
    }
    g_hash_table_remove(self->unresolved, pod->meta.key);
    if (!is_resolved && !g_ptr_array_find(self->stale, pod->meta.key, NULL)) {
        g_ptr_array_add(self->stale, (void *)pod->meta.key);
        sim_ticker_wake(self->populator);
    }
}

/* ADC-31: over, or being deleted with no container running. A kubelet that has stopped a pod's containers says so by a
 * terminal phase, or by taking ContainersReady back. */
static gboolean
is_terminated(const Pod *pod)
{
    return pod_is_terminal(pod) || (object_is_deleted(&pod->meta) && pod->phase == POD_PENDING &&
                                    pod->containers_ready.status != CONDITION_TRUE);
}

/* ADC-30. */
static void
pod_changed(void *data, const Object *before, const Object *after)
{
    AttachDetachController *self = data;

    if (after == NULL) {
        process_pod_volumes(self, POD_CONST(before), FALSE);
        return;
    }
    const Pod *pod = POD_CONST(after);
    if (pod->node_name == NULL || pod->volumes == NULL)
        return;
    /* Nothing that ADC-30 reads has changed: it would add what is there, or delete what is gone. */
    if (before != NULL && POD_CONST(before)->node_name == pod->node_name &&
        is_terminated(POD_CONST(before)) == is_terminated(pod) &&
        !g_hash_table_contains(self->unresolved, pod->meta.key))
        return;
    process_pod_volumes(self, pod, !is_terminated(pod));
}

static void
queue_unwanted(AttachDetachController *self, AttachNode *node)
{
    for (unsigned i = 0; i < node->pairs->len; i++)
        if (!attach_pair_is_wanted(node->pairs->pdata[i]))
            adc_queue(self, node->pairs->pdata[i]);
}

static gboolean
has_wanted_pairs(const AttachNode *node)
{
    for (unsigned i = 0; i < node->pairs->len; i++)
        if (attach_pair_is_wanted(node->pairs->pdata[i]))
            return TRUE;
    return FALSE;
}

static gboolean
taint_is_out_of_service(const Node *node)
{
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (g_strcmp0(node->taints->items[i].key, TAINT_OUT_OF_SERVICE) == 0)
            return TRUE;
    return FALSE;
}

/* ADC-9, ADC-26, ADC-37. */
static void
node_changed(void *data, const Object *before, const Object *after)
{
    AttachDetachController *self = data;
    const Node *last = (const Node *)(after != NULL ? after : before);
    AttachNode *node = adc_node(self, object_name(&last->meta));

    if (after != NULL && object_annotation(after, ANNOTATION_MANAGED) != NULL)
        node->is_managed = TRUE;
    adc_set_in_use(self, node, last->volumes_in_use);
    if (after == NULL && !has_wanted_pairs(node)) /* ADC-13: else it stays managed */
        node->is_managed = FALSE;
    if (after != NULL && before == NULL && node->report != NULL &&
        !node->needs_update) { /* re-created: told again */
        node->needs_update = TRUE;
        g_ptr_array_add(self->nodes_to_update, node);
        sim_ticker_wake(self->reconciler);
    }
    if (before != NULL && after != NULL &&
        ((const Node *)before)->ready.status == last->ready.status &&
        taint_is_out_of_service((const Node *)before) == taint_is_out_of_service(last))
        return;
    queue_unwanted(self, node); /* a node that turns unhealthy may be forced (ADC-43) */
}

/* ADC-35. A claim that is not bound would be looked at in vain. */
static void
claim_changed(void *data, const Object *before, const Object *after)
{
    AttachDetachController *self = data;

    if (after == NULL || CLAIM_CONST(after)->phase != CLAIM_BOUND ||
        claim_volume_name(CLAIM_CONST(after))[0] == '\0')
        return;
    if (before != NULL && before != after && CLAIM_CONST(before)->phase == CLAIM_BOUND &&
        object_is_deleted(before) == object_is_deleted(after) &&
        before->finalizers != after->finalizers)
        return; /* the pods of a bound claim are known; only its metadata changed */
    workers_add(self->claim_queue, after->key);
}

static void
decide_claim(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const Claim *claim = CLAIM_CONST(informer_get(self->claims, plan_key(plan)));
    unsigned n_pods;

    plan_because(plan, "ADC-35");
    if (claim == NULL || claim->phase != CLAIM_BOUND || claim_volume_name(claim)[0] == '\0')
        return;
    const Object *const *pods = informer_index_get(self->pods_by_claim, plan_key(plan), &n_pods);
    for (unsigned i = 0; i < n_pods; i++)
        if (POD_CONST(pods[i])->node_name != NULL && !is_terminated(POD_CONST(pods[i])))
            plan_change(plan, &(PlanChange){.what = CHANGE_ADD_POD, .object = pods[i]});
}

/* ---- Operations ---- */

/* ADC-56: to the pods that were waiting when the attach began, even if they have gone since. */
static void
plan_pod_events(
    Plan *plan, const AttachPair *pair, const char *type, const char *reason, const char *message)
{
    for (unsigned i = 0; pair->told != NULL && i < pair->told->len; i++)
        plan_event(plan, pair->told->pdata[i], type, reason, "%s", message);
}

static const Attachment *
find_attachment(const AttachDetachController *self, const AttachPair *pair)
{
    return ATTACHMENT(informer_get(self->attachments, pair->attachment));
}

/* ADC-60.2: what a look at the VolumeAttachment says. */
static int
is_attached(const void *data, const Plan *plan)
{
    const Attachment *attachment = find_attachment(data, plan_operation(plan));

    if (attachment == NULL)
        return 0;
    if (object_is_deleted(&attachment->meta))
        return -1;
    if (attachment->attached)
        return 1;
    return attachment->attach_error.message != NULL ? -1 : 0;
}

static const char *
attach_failure(const AttachDetachController *self, Plan *plan, const AttachPair *pair)
{
    int step = plan_last_step(plan);
    const Attachment *attachment = find_attachment(self, pair);

    if (plan_code(plan, step) == API_TIMEOUT)
        return plan_internf(
            plan, "timed out waiting for external-attacher of %s CSI driver to attach volume %s",
            pair->volume->driver, pair->volume->handle);
    if (plan_message(plan, step) != NULL) /* the POST failed */
        return plan_message(plan, step);
    if (attachment != NULL && object_is_deleted(&attachment->meta))
        return "volume attachment is being deleted";
    return attachment != NULL && attachment->attach_error.message != NULL
               ? attachment->attach_error.message
               : "";
}

/* ADC-56. */
static void
decide_attach_result(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const AttachPair *pair = plan_operation(plan);
    const char *volume = pair->volume->spec->name;

    plan_because(plan, "ADC-56");
    ApiCode code = plan_code(plan, plan_last_step(plan));
    if (code == API_OK) {
        plan_pod_events(
            plan, pair, "Normal", "SuccessfulAttachVolume",
            plan_internf(plan, "AttachVolume.Attach succeeded for volume \"%s\" ", volume));
        return;
    }
    const char *failure = attach_failure(self, plan, pair);
    plan_pod_events(
        plan, pair, "Warning", "FailedAttachVolume",
        plan_internf(plan, "AttachVolume.Attach failed for volume \"%s\" : %s", volume, failure));
    plan_fail(plan, "%s", failure);
}

static Object *
new_attachment(const AttachDetachController *self, const AttachPair *pair)
{
    (void)self;
    Object *object = object_new(pair->attachment);
    Attachment *attachment = ATTACHMENT(object);

    attachment->attacher = pair->volume->driver;
    attachment->node_name = pair->node->name;
    attachment->volume_name = pair->volume->spec->name;
    return object;
}

/* ADC-60. */
static void
decide_attach(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const AttachPair *pair = plan_operation(plan);

    plan_because(plan, "ADC-60");
    if (find_attachment(self, pair) == NULL)
        plan_create(plan, new_attachment(self, pair), PLAN_EXISTS_IS_FINE | PLAN_DECIDE);
    plan_poll_growing(plan, ATTACH_POLL_FIRST, ATTACH_POLL_GROWTH, ATTACH_POLL_JITTER,
                      ATTACH_POLL_CAP, ATTACH_TIMEOUT, is_attached, PLAN_DECIDE);
    plan_then(plan, decide_attach_result);
}

/* ADC-61: gone, or why not. */
static int
is_detached(const void *data, const Plan *plan)
{
    const Attachment *attachment = find_attachment(data, plan_operation(plan));

    if (attachment == NULL)
        return 1;
    return attachment->detach_error.message != NULL ? -1 : 0;
}

static void
decide_detach_result(const void *data, Plan *plan)
{
    const AttachPair *pair = plan_operation(plan);
    int step = plan_last_step(plan);
    const Attachment *attachment = find_attachment(data, pair);

    plan_because(plan, "ADC-61");
    switch (plan_code(plan, step)) {
    case API_OK:
    case API_NOT_FOUND:
        return;
    case API_TIMEOUT:
        plan_fail(
            plan,
            "timed out waiting for external-attacher of unknown CSI driver to detach volume %s",
            pair->volume->handle);
        return;
    case API_FORBIDDEN:
    case API_CONFLICT:
    case API_EXISTS:
    case API_INVALID:
        break;
    }
    if (plan_message(plan, step) != NULL)
        plan_fail(plan, "%s", plan_message(plan, step));
    else
        plan_fail(plan, "%s",
                  attachment != NULL && attachment->detach_error.message != NULL
                      ? attachment->detach_error.message
                      : "");
}

static void
decide_wait_for_detach(const void *data, Plan *plan)
{
    int step = plan_last_step(plan);

    (void)data;
    if (plan_code(plan, step) != API_OK) {
        decide_detach_result(data, plan);
        return;
    }
    plan_because(plan, "ADC-61");
    plan_poll_growing(plan, ATTACH_POLL_FIRST, ATTACH_POLL_GROWTH, ATTACH_POLL_JITTER,
                      ATTACH_POLL_CAP, ATTACH_TIMEOUT, is_detached, PLAN_DECIDE);
    plan_then(plan, decide_detach_result);
}

static void
plan_delete_attachment(Plan *plan)
{
    const AttachPair *pair = plan_operation(plan);

    plan_because(plan, "ADC-61");
    plan_delete(plan, pair->attachment, (ObjectUid){0, 0}, -1, PLAN_DECIDE);
    plan_then(plan, decide_wait_for_detach);
}

/* ADC-57.1: the node itself says whether it uses the volume. */
static void
decide_if_safe(const void *data, Plan *plan)
{
    const AttachPair *pair = plan_operation(plan);
    int step = plan_last_step(plan);
    const Node *node = (const Node *)plan_object(plan, step);

    (void)data;
    plan_because(plan, "ADC-57");
    if (node == NULL && plan_code(plan, step) != API_NOT_FOUND)
        plan_fail(plan, "%s", plan_message(plan, step));
    else if (node != NULL && string_list_has(node->volumes_in_use, pair->volume->name))
        plan_fail(plan, "volume is still in use by node, according to Node status");
    else
        plan_delete_attachment(plan);
}

static void
decide_detach(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const AttachPair *pair = plan_operation(plan);

    plan_because(plan, "ADC-57");
    plan_get(plan, objects_key(self->base.objects, KIND_NODE, NULL, pair->node->name), PLAN_DECIDE);
    plan_then(plan, decide_if_safe);
}

/* ADC-46 with verifySafeToDetach false. */
static void
decide_detach_unverified(const void *data, Plan *plan)
{
    (void)data;
    plan_delete_attachment(plan);
}

/* The attached copies of the state follow an operation's end (OP-7). */
static void
operation_ended(AttachDetachController *self, AttachPair *pair)
{
    const char *name = pair->operation;

    pair->operation = NULL;
    g_clear_pointer(&pair->told, g_ptr_array_unref);
    adc_queue(self, pair);
    for (unsigned i = 0; i < pair->volume->pairs->len;
         i++) /* the name is free, or in back-off, for all of them */
        adc_queue(self, pair->volume->pairs->pdata[i]);
    SimTime until = operations_backoff_until(self->operations, name);
    if (until > 0)
        adc_queue_at(self, pair, until + 1);
}

static void
attach_ended(void *data, Plan *plan, PlanEnd end, const char *message)
{
    AttachDetachController *self = data;
    AttachPair *pair = plan_operation(plan);

    (void)message;
    adc_set_attached(self, pair, end == PLAN_DONE); /* ADC-56: else uncertain */
    operation_ended(self, pair);
}

static void
detach_ended(void *data, Plan *plan, PlanEnd end, const char *message)
{
    AttachDetachController *self = data;
    AttachPair *pair = plan_operation(plan);

    (void)message;
    if (end == PLAN_DONE)
        adc_set_detached(self, pair);
    else
        adc_set_attached(self, pair, FALSE); /* ADC-57.3 */
    operation_ended(self, pair);
}

static void
attachment_changed(void *data, const Object *before, const Object *after)
{
    AttachDetachController *self = data;
    const ObjectKey *key = (after != NULL ? after : before)->key;
    AttachPair *pair = g_hash_table_lookup(self->pairs_by_attachment, key);
    Plan *plan = pair == NULL ? NULL : adc_plan(self, pair);

    if (plan != NULL)
        plan_wake(plan);
}

/* ---- The pass ---- */

static void
plan_operation_of(const AttachDetachController *self,
                  Plan *plan,
                  AttachPair *pair,
                  const char *kind,
                  PlanDecide decide)
{
    const char *name = adc_operation_name(self, pair);
    const ObjectKey *about = pair->volume->spec != NULL ? pair->volume->spec : pair->attachment;

    plan_change(plan, &(PlanChange){.what = CHANGE_OPERATION, .pointer = pair, .text = name});
    plan_start_operation(plan, self->operations, name,
                         &(PlanStart){
                             .component = (Component *)&self->base,
                             .decide = decide,
                             .key = (ObjectKey *)about,
                             .operation = pair,
                             .kind = kind,
                             .done = g_str_equal(kind, ATTACH_KIND) ? attach_ended : detach_ended,
                         });
}

typedef struct {
    const StringList *volumes;
} ReportArg;

/* ADC-51. */
static gboolean
set_volumes_attached(Object *object, const void *data)
{
    const ReportArg *arg = data;
    Node *node = NODE(object);
    StringList *list = string_list_ref(arg->volumes);

    if (string_list_equal(node->volumes_attached, list)) {
        string_list_unref(list);
        return FALSE;
    }
    string_list_unref(node->volumes_attached);
    node->volumes_attached = list;
    return TRUE;
}

/* From now on what is attached counts for the next patch. */
static void
plan_node_is_told(Plan *plan, const AttachNode *node)
{
    plan_change(plan, &(PlanChange){.what = CHANGE_NODE_UPDATED, .pointer = node});
}

static int
plan_node_status(const AttachDetachController *self,
                 Plan *plan,
                 const AttachNode *node,
                 StringList *volumes /* taken */)
{
    ReportArg *arg = plan_new_arg(plan, ReportArg);
    const ObjectKey *key = objects_key(self->base.objects, KIND_NODE, NULL, node->name);

    arg->volumes = volumes;
    plan_own(plan, volumes, (GDestroyNotify)string_list_unref);
    return plan_patch_status(plan, key, set_volumes_attached, arg, PLAN_GO_ON);
}

static void decide_detaches(const void *data, Plan *plan);

/* ADC-45, ADC-46: the node has been told, or could not be. */
static void
decide_after_report(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const AttachPass *pass = &self->pass;
    ApiCode code = plan_code(plan, plan_last_step(plan));

    if (code == API_OK || code == API_NOT_FOUND) {
        plan_because(plan, "ADC-46");
        plan_operation_of(self, plan, pass->pair, DETACH_KIND,
                          pass->verify ? decide_detach : decide_detach_unverified);
    } else {
        plan_because(plan, "ADC-45");
        plan_change(plan, &(PlanChange){.what = CHANGE_NODE_OUTDATED, .pointer = pass->pair->node});
        plan_change(plan, &(PlanChange){.what = CHANGE_REPORT_AGAIN, .pointer = pass->pair});
    }
    plan_then(plan, decide_detaches);
}

typedef struct {
    gboolean timeout_on, force, out_of_service;
} DetachReasons;

/* ADC-43. */
static DetachReasons
detach_reasons(const AttachDetachController *self, const AttachPair *pair, SimTime now)
{
    const KubeControllerManagerOptions *options = self->base.options;
    const Node *node = NODE(informer_get(
        self->nodes, objects_key(self->base.objects, KIND_NODE, NULL, pair->node->name)));
    gboolean expired =
        pair->detach_requested_at > 0 && now - pair->detach_requested_at > MAX_WAIT_FOR_UNMOUNT;
    gboolean healthy = node != NULL && node->ready.status == CONDITION_TRUE;
    DetachReasons reasons = {.timeout_on = expired && !options->disable_force_detach_on_timeout};

    reasons.force = !healthy && reasons.timeout_on;
    reasons.out_of_service = node != NULL && taint_is_out_of_service(node);
    return reasons;
}

/* The detach loop's body for one pair. Returns: whether the pass must wait for the node to be told */
static gboolean
plan_pair_detach(const AttachDetachController *self, Plan *plan, AttachPair *pair)
{
    const char *name = adc_operation_name(self, pair);
    SimTime now = plan_now(plan);

    if (operations_may_start(self->operations, name, DETACH_KIND) != OPERATION_STARTED) /* ADC-40 */
        return FALSE;
    plan_because(plan, "ADC-42");
    if (pair->detach_requested_at == 0)
        plan_change(plan,
                    &(PlanChange){.what = CHANGE_REQUEST_DETACH, .pointer = pair, .number = now});

    DetachReasons reasons = detach_reasons(self, pair, now);
    if (adc_is_in_use(pair) && !reasons.force && !reasons.out_of_service) { /* ADC-44 */
        SimTime asked_at = pair->detach_requested_at == 0 ? now : pair->detach_requested_at;
        if (now - asked_at <= MAX_WAIT_FOR_UNMOUNT)
            plan_change(plan, &(PlanChange){.what = CHANGE_RETRY_AT,
                                            .pointer = pair,
                                            .number = asked_at + MAX_WAIT_FOR_UNMOUNT + 1});
        return FALSE;
    }

    gboolean verify = !(reasons.timeout_on || reasons.out_of_service);
    gboolean is_reported = string_list_has(pair->node->report, pair->volume->name);
    if (!is_reported && !pair->node->needs_update) {
        plan_because(plan, "ADC-46");
        plan_operation_of(self, plan, pair, DETACH_KIND,
                          verify ? decide_detach : decide_detach_unverified);
        return FALSE;
    }
    plan_because(plan, "ADC-45");
    plan_change(plan, &(PlanChange){.what = CHANGE_LOOK_AT, .pointer = pair, .number = verify});
    plan_change(plan, &(PlanChange){.what = CHANGE_UNREPORT, .pointer = pair});
    plan_node_is_told(plan, pair->node);
    plan_node_status(self, plan, pair->node,
                     string_list_without(pair->node->report, pair->volume->name));
    plan_then(plan, decide_after_report);
    return TRUE;
}

/* ADC-53, ADC-24: the volume is attached elsewhere and can't be shared. */
static gboolean
is_held_elsewhere(const AttachPair *pair)
{
    for (unsigned i = 0; pair->volume->is_exclusive && i < pair->volume->pairs->len; i++) {
        const AttachPair *other = pair->volume->pairs->pdata[i];
        if (other != pair && other->state == ADC_ATTACHED)
            return TRUE;
    }
    return FALSE;
}

static void
append_name(GString *names, const char *name)
{
    g_string_append_printf(names, "%s%s", names->len == 0 ? "" : ", ", name);
}

/* ADC-54. */
static const char *
multi_attach_text(const AttachDetachController *self,
                  Plan *plan,
                  const AttachPair *pair,
                  const Object *pod)
{
    g_autoptr(GString) names = g_string_new(NULL);
    unsigned n_foreign = 0;

    (void)self;
    for (unsigned i = 0; i < pair->volume->pairs->len; i++) {
        const AttachPair *other = pair->volume->pairs->pdata[i];
        if (other == pair || other->state != ADC_ATTACHED)
            continue;
        for (unsigned k = 0; other->pods != NULL && k < other->pods->len; k++) {
            const ObjectKey *user = other->pods->pdata[k];
            if (user->namespace == pod->key->namespace)
                append_name(names, user->name);
            else
                n_foreign++;
        }
    }
    if (names->len == 0 && n_foreign == 0)
        return "Volume is already exclusively attached to one node and can't be attached to "
               "another";
    if (names->len == 0)
        return plan_internf(plan, "Volume is already used by %u pod(s) in different namespaces",
                            n_foreign);
    if (n_foreign == 0)
        return plan_internf(plan, "Volume is already used by pod(s) %s", names->str);
    return plan_internf(plan,
                        "Volume is already used by pod(s) %s and %u pod(s) in different namespaces",
                        names->str, n_foreign);
}

static void
plan_multi_attach_error(const AttachDetachController *self, Plan *plan, AttachPair *pair)
{
    if (pair->multi_attach_reported)
        return;
    plan_because(plan, "ADC-54");
    for (unsigned i = 0; i < pair->pods->len; i++) {
        const Object *pod = informer_get(self->pods, pair->pods->pdata[i]);
        if (pod != NULL)
            plan_event(plan, pod, "Warning", "FailedAttachVolume",
                       "Multi-Attach error for volume \"%s\" %s", pair->volume->spec->name,
                       multi_attach_text(self, plan, pair, pod));
    }
    plan_change(plan, &(PlanChange){.what = CHANGE_MULTI_ATTACH_TOLD, .pointer = pair});
}

/* ADC-49. */
static void
plan_pair_attach(const AttachDetachController *self, Plan *plan, AttachPair *pair)
{
    const char *name = adc_operation_name(self, pair);

    if (operations_is_running(self->operations, name))
        return;
    if (pair->state == ADC_ATTACHED) {
        plan_because(plan, "ADC-49.2");
        if (pair->detach_requested_at != 0)
            plan_change(plan, &(PlanChange){.what = CHANGE_RESET_REQUEST, .pointer = pair});
        return;
    }
    if (is_held_elsewhere(pair)) {
        plan_multi_attach_error(self, plan, pair);
        return;
    }
    if (operations_may_start(self->operations, name, ATTACH_KIND) != OPERATION_STARTED) {
        plan_change(plan,
                    &(PlanChange){.what = CHANGE_RETRY_AT,
                                  .pointer = pair,
                                  .number = operations_backoff_until(self->operations, name) + 1});
        return;
    }
    plan_because(plan, "ADC-49.4");
    for (unsigned i = 0; i < pair->pods->len; i++) {
        const Object *pod = informer_get(self->pods, pair->pods->pdata[i]);
        if (pod != NULL)
            plan_change(plan, &(PlanChange){.what = CHANGE_TELL, .pointer = pair, .object = pod});
    }
    plan_operation_of(self, plan, pair, ATTACH_KIND, decide_attach);
}

/* ADC-52. */
static void
decide_after_reports(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;

    plan_because(plan, "ADC-52");
    for (unsigned i = 0; i < self->reports->len; i++) {
        const NodeReport *report = &g_array_index(self->reports, NodeReport, i);
        ApiCode code = plan_code(plan, report->step);
        if (code != API_OK && code != API_NOT_FOUND)
            plan_change(plan, &(PlanChange){.what = CHANGE_NODE_OUTDATED, .pointer = report->node});
    }
}

/* ADC-51. The flags of all nodes go and their lists are made before the first patch leaves: what is attached while patches are
 * under way is for the next pass. */
static void
plan_reports(const AttachDetachController *self, Plan *plan)
{
    const GPtrArray *nodes = self->nodes_to_update;

    plan_because(plan, "ADC-51");
    for (unsigned i = 0; i < nodes->len; i++)
        plan_node_is_told(plan, nodes->pdata[i]);
    for (unsigned i = 0; i < nodes->len; i++) {
        const AttachNode *node = nodes->pdata[i];
        int step = plan_node_status(self, plan, node, string_list_ref(node->report));
        plan_change(plan, &(PlanChange){.what = CHANGE_REPORTED, .pointer = node, .number = step});
    }
    plan_then(plan, decide_after_reports);
}

/* What a pass looks at: what it began with, and what has changed since, for it may take its time, and each pair is judged at its
 * turn. By serial. */
typedef struct {
    const GPtrArray *begun, *changed;
    unsigned next_begun, next_changed;
} PassIter;

static void
pass_iter_init(PassIter *iter, const AttachDetachController *self, uint64_t from)
{
    *iter = (PassIter){
        .begun = self->looking_at,
        .changed = self->queued,
        .next_begun = attach_pairs_from(self->looking_at, from),
        .next_changed = attach_pairs_from(self->queued, from),
    };
}

/* Returns: NULL: that was all */
static AttachPair *
pass_iter_next(PassIter *iter)
{
    AttachPair *begun =
        iter->next_begun < iter->begun->len ? iter->begun->pdata[iter->next_begun] : NULL;
    AttachPair *changed =
        iter->next_changed < iter->changed->len ? iter->changed->pdata[iter->next_changed] : NULL;
    gboolean is_begun = begun != NULL && (changed == NULL || begun->serial <= changed->serial);

    iter->next_begun += is_begun;
    iter->next_changed += changed != NULL && (!is_begun || changed == begun);
    return is_begun ? begun : changed;
}

/* ADC-39 (b) and (c). */
static void
plan_attaches(const AttachDetachController *self, Plan *plan)
{
    AttachPair *pair;
    PassIter iter;

    pass_iter_init(&iter, self, 0);
    while ((pair = pass_iter_next(&iter)) != NULL)
        if (attach_pair_is_wanted(pair))
            plan_pair_attach(self, plan, pair);
    plan_reports(self, plan);
}

/* ADC-39 (a), then the rest. Goes on where it had to wait. */
static void
decide_detaches(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    AttachPair *pair;
    PassIter iter;

    pass_iter_init(&iter, self, self->pass.pair == NULL ? 0 : self->pass.pair->serial + 1);
    while ((pair = pass_iter_next(&iter)) != NULL)
        if (!attach_pair_is_wanted(pair) && pair->state != ADC_DETACHED &&
            plan_pair_detach(self, plan, pair))
            return;
    plan_attaches(self, plan);
}

/* Two nodes want the same exclusive volume: the second start was refused (OP-2). It is queued when the first has ended. */
static void
forget_refused(AttachDetachController *self, AttachPair *pair)
{
    const Plan *plan = adc_plan(self, pair);

    if (plan != NULL && plan_operation(plan) != pair) {
        pair->operation = NULL;
        g_clear_pointer(&pair->told, g_ptr_array_unref);
    }
}

static void
pass_ended(void *data, Plan *plan, PlanEnd end, const char *message)
{
    AttachDetachController *self = data;
    g_autoptr(GPtrArray) looked_at = g_steal_pointer(&self->looking_at);

    (void)plan, (void)end, (void)message;
    for (unsigned i = 0; i < looked_at->len; i++) {
        forget_refused(self, looked_at->pdata[i]);
        adc_settle(self, looked_at->pdata[i]);
    }
    for (unsigned i = 0; i < self->queued->len; i++)
        forget_refused(self, self->queued->pdata[i]);
    sim_ticker_end_pass(self->reconciler, self->queued->len > 0 || self->nodes_to_update->len > 0);
}

/* A pass looks only at what changed since the last one: for all other pairs it would do nothing. */
static gboolean
reconcile(void *data)
{
    AttachDetachController *self = data;

    if (sim_is_polling(self->base.sim))
        adc_queue_all(self); /* so that tests see that the others need no look */
    self->looking_at = g_steal_pointer(&self->queued);
    self->queued = g_ptr_array_new();
    self->pass = (AttachPass){0};
    g_array_set_size(self->reports, 0);
    for (unsigned i = 0; i < self->looking_at->len; i++)
        ((AttachPair *)self->looking_at->pdata[i])->is_queued = FALSE;
    sim_ticker_begin_long_pass(self->reconciler);
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_detaches,
        .key = objects_key(self->base.objects, KIND_NODE, NULL, "*"),
        .done = pass_ended,
    });
    return FALSE;
}

/* ---- The populator (ADC-36) ---- */

/* Of a pod that went unseen one volume leaves in each pass. */
static void
drop_stale_pods(AttachDetachController *self)
{
    for (unsigned i = 0; i < self->stale->len;) {
        const ObjectKey *key = self->stale->pdata[i];
        const Pod *pod = POD_CONST(informer_get(self->pods, key));
        if ((pod == NULL || is_terminated(pod)) && adc_delete_pod_somewhere(self, key))
            i++;
        else
            g_ptr_array_remove_index(self->stale, i);
    }
}

/* All pods are listed, but only these can have volumes that nobody knows of. */
static void
add_unresolved_pods(AttachDetachController *self)
{
    for (uint32_t slot = 0; slot < objects_n_keys(self->base.objects, KIND_POD); slot++) {
        const ObjectKey *key = objects_key_at(self->base.objects, KIND_POD, slot);
        const Pod *pod = POD_CONST(informer_get(self->pods, key));
        if (!g_hash_table_contains(self->unresolved, key))
            continue;
        if (pod == NULL)
            g_hash_table_remove(self->unresolved, key);
        else if (!is_terminated(pod))
            process_pod_volumes(self, pod, TRUE);
    }
}

/* Returns: whether another pass may find something to do */
static gboolean
populate(void *data)
{
    AttachDetachController *self = data;
    SimTime now = sim_now(self->base.sim);

    drop_stale_pods(self);
    SimTime periods = (now - self->started_at) / LIST_PERIOD;
    if (g_hash_table_size(self->unresolved) > 0 &&
        self->started_at + periods * LIST_PERIOD > self->listed_at) {
        self->listed_at = now;
        add_unresolved_pods(self);
    }
    return self->stale->len > 0 || g_hash_table_size(self->unresolved) > 0;
}

static void
apply_change(void *data, const PlanChange *change)
{
    AttachDetachController *self = data;
    AttachPair *pair = (AttachPair *)change->pointer;
    AttachNode *node = (AttachNode *)change->pointer;

    switch ((Change)change->what) {
    case CHANGE_REQUEST_DETACH:
        pair->detach_requested_at = change->number;
        break;
    case CHANGE_RESET_REQUEST:
        pair->detach_requested_at = 0;
        break;
    case CHANGE_UNREPORT:
        adc_report(self, pair, FALSE);
        break;
    case CHANGE_REPORT_AGAIN:
        adc_report(self, pair, TRUE);
        adc_queue(self, pair);
        break;
    case CHANGE_NODE_UPDATED:
        node->needs_update = FALSE;
        g_ptr_array_remove(self->nodes_to_update, node);
        break;
    case CHANGE_REPORTED: {
        NodeReport report = {node, (int)change->number};
        g_array_append_val(self->reports, report);
        break;
    }
    case CHANGE_NODE_OUTDATED:
        if (!node->needs_update)
            g_ptr_array_add(self->nodes_to_update, node);
        node->needs_update = TRUE;
        break;
    case CHANGE_MULTI_ATTACH_TOLD:
        pair->multi_attach_reported = TRUE;
        break;
    case CHANGE_LOOK_AT:
        self->pass.pair = pair;
        self->pass.verify = (gboolean)change->number;
        break;
    case CHANGE_ADD_POD:
        process_pod_volumes(self, POD_CONST(change->object), TRUE);
        break;
    case CHANGE_OPERATION:
        pair->operation = change->text;
        /* The pass may have been woken for another pair. */
        sim_resume(self->base.sim, pair->queued_by, WAIT_POLL, self->label);
        break;
    case CHANGE_TELL:
        if (pair->told == NULL)
            pair->told = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
        g_ptr_array_add(pair->told, (void *)object_ref(change->object));
        break;
    case CHANGE_RETRY_AT:
        adc_queue_at(self, pair, change->number);
        break;
    }
}

/* ADC-26, ADC-27: what the nodes and the VolumeAttachments say is attached. */
static void
populate_actual_state(AttachDetachController *self)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, self->nodes);
    while ((object = informer_iter_next(&iter)) != NULL) {
        const StringList *attached = ((const Node *)object)->volumes_attached;
        AttachNode *node = adc_node(self, object_name(object));
        for (unsigned i = 0; attached != NULL && i < attached->n_items; i++) {
            AttachVolume *volume = adc_volume_by_name(self, attached->items[i]);
            if (volume != NULL)
                adc_set_attached(self, adc_pair(self, volume, node), TRUE);
        }
        adc_set_in_use(self, node, ((const Node *)object)->volumes_in_use);
    }
    informer_iter_init(&iter, self->attachments);
    while ((object = informer_iter_next(&iter)) != NULL) {
        const Attachment *attachment = (const Attachment *)object;
        const ObjectKey *key =
            attachment->volume_name == NULL
                ? NULL
                : objects_find_key(self->base.objects, KIND_VOLUME, NULL, attachment->volume_name);
        const Volume *spec = key == NULL ? NULL : VOLUME_CONST(informer_get(self->volumes, key));
        if (spec == NULL || spec->source == NULL || spec->source->driver == NULL)
            continue;
        AttachVolume *volume = adc_volume(self, spec->source->driver, spec->source->handle);
        AttachPair *pair = adc_pair(self, volume, adc_node(self, attachment->node_name));
        set_spec(volume, spec);
        adc_attachment_key(self, pair);
        if (pair->state == ADC_DETACHED)
            adc_set_attached(self, pair, FALSE);
    }
}

/* Both loops run already as a run begins (TIM-40). */
static void
init_tickers(AttachDetachController *self)
{
    Sim *sim = self->base.sim;
    SimStream phases = sim_stream(sim, "attach-detach-controller/phase");
    SimTime age =
        self->base.started_late ? 0 : (SimTime)sim_random_below(phases, 1, 0, LIST_PERIOD);

    self->started_at = sim_now(sim) - age;
    self->listed_at = sim_now(sim);
    self->label = sim_label(sim, "attach-detach reconciler");
    self->reconciler =
        sim_ticker_new(sim, &(SimTickerOptions){
                                .name = "attach-detach reconciler",
                                .kind = SIM_TICKER_SLIDING,
                                .period = RECONCILE_PERIOD,
                                .phase = (SimTime)sim_random_below(phases, 0, 0, RECONCILE_PERIOD),
                                .order = self->base.order,
                                .wait = WAIT_POLL,
                                .pass = reconcile,
                                .self = self,
                            });
    self->populator = sim_ticker_new(sim, &(SimTickerOptions){
                                              .name = "attach-detach populator",
                                              .kind = SIM_TICKER_SLIDING,
                                              .period = POPULATE_PERIOD,
                                              .phase = POPULATE_PERIOD - age % POPULATE_PERIOD,
                                              .order = self->base.order + 1,
                                              .wait = WAIT_POLL,
                                              .pass = populate,
                                              .self = self,
                                          });
}

static void
init_informers(AttachDetachController *self)
{
    Process *process = self->base.process;

    self->pods = process_informer(process, KIND_POD, NULL);
    self->nodes = process_informer(process, KIND_NODE, NULL);
    self->claims = process_informer(process, KIND_CLAIM, NULL);
    self->volumes = process_informer(process, KIND_VOLUME, NULL);
    self->attachments = process_informer(process, KIND_ATTACHMENT, NULL);
    self->csi_drivers = process_informer(process, KIND_CSI_DRIVER, NULL);
    self->pods_by_claim = informer_add_index(self->pods, index_pods_by_claim);
}

static void
init(void *data)
{
    AttachDetachController *self = data;

    init_informers(self);
    self->operations = operations_new(&self->base, BACKOFF_FIRST, BACKOFF_MAX);
    self->claim_queue =
        workers_new(&self->base, &(WorkersOptions){.name = "pvcs",
                                                   .n_workers = 1,
                                                   .limit = rate_limit_default,
                                                   .retry = TRUE,
                                                   .sync = decide_claim}); /* ADC-5 */
    adc_state_init(self);
    init_tickers(self);
    informer_add_handler(self->nodes, node_changed, self);
    populate_actual_state(self);
    informer_add_handler(self->pods, pod_changed, self);
    informer_add_handler(self->claims, claim_changed, self);
    informer_add_handler(self->attachments, attachment_changed, self);
}

static void
clear(void *data)
{
    AttachDetachController *self = data;

    sim_ticker_free(self->reconciler);
    sim_ticker_free(self->populator);
    workers_free(self->claim_queue);
    operations_free(self->operations);
    adc_state_clear(self);
}

const ModelClass attach_detach_controller_class = {
    .name = "attachdetach-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(AttachDetachController),
    .event_source = "attachdetach-controller",
    .client_qps = kube_controller_manager_client_qps,
    .init = init,
    .clear = clear,
    .apply_change = apply_change,
};
