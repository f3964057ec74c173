/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attach and detach: operations that run beside the passes, and their results in actual state
 * (ADC-56 to ADC-65). An attach creates the VolumeAttachment and looks at it in the cache, with
 * growing pauses, until it is attached, has an error or two minutes are over; a detach deletes it
 * and waits in the same way. A rule table judges each look. After a failure the pair is uncertain:
 * nobody knows whether the volume is attached (ADC-17). */
#include "controller.h"

#define ATTACH_TIMEOUT (2 * SIM_MINUTE)  /* ADC-3: csiTimeout; also of a detach */
#define ATTACH_POLL_FIRST (500 * SIM_MS) /* ADC-3 */
#define ATTACH_POLL_GROWTH 1050          /* ADC-3: 1.05 */
#define ATTACH_POLL_JITTER 0.1           /* ADC-3 */
#define ATTACH_POLL_CAP (7 * SIM_SECOND) /* ADC-3 */

const char adc_attach_kind[] = "volume_attach", adc_detach_kind[] = "volume_detach";

/* ADC-56: tells the pods that waited when the attach began, even those that have gone since. */
static void
plan_pod_events(Plan *plan, const char *type, const char *reason, const char *message)
{
    const AttachPair *pair = plan_operation(plan);

    for (const GSList *link = pair->told; link != NULL; link = link->next)
        plan_event_with(plan, link->data, type, reason, message);
}

const Attachment *
adc_find_attachment(const AttachDetachController *self, const AttachPair *pair)
{
    return ATTACHMENT(informer_get(self->attachments, pair->attachment));
}

/* A look at the VolumeAttachment in the cache while an operation waits for it. */
enum {
    DETACH = 1 << 0,   /* a detach waits; without it, an attach */
    FOUND = 1 << 1,    /* it is there */
    DELETED = 1 << 2,  /* ... with a deletionTimestamp */
    ATTACHED = 1 << 3, /* ... and status.attached */
    ERROR = 1 << 4,    /* ... and its status has an error of that operation */
    LOOK_FACTS_END = 1 << 5,
};

/* As a PlanCondition answers. */
typedef enum {
    LOOK_FAILED = -1,
    LOOK_AGAIN = 0,
    LOOK_SUCCEEDED = 1,
} LookAnswer;

/* verifyAttachmentStatus() and verifyDetachmentStatus() in csi_attacher.go. An error counts even if
 * it is older than the try (ADC-62). */
static const Rule look_table[] = {
    {"ADC-60.1", 0,                      DETACH | FOUND,                      LOOK_AGAIN    },
    {"ADC-65",   FOUND | DELETED,        DETACH,                              LOOK_FAILED   },
    {"ADC-60.2", FOUND | ATTACHED,       DETACH | DELETED,                    LOOK_SUCCEEDED},
    {"ADC-62.1", FOUND | ERROR,          DETACH | DELETED | ATTACHED,         LOOK_FAILED   },
    {"ADC-60.3", FOUND,                  DETACH | DELETED | ATTACHED | ERROR, LOOK_AGAIN    },
    {"ADC-61.1", DETACH,                 FOUND,                               LOOK_SUCCEEDED},
    {"ADC-62.2", DETACH | FOUND | ERROR, 0,                                   LOOK_FAILED   },
    {"ADC-61.2", DETACH | FOUND,         ERROR,                               LOOK_AGAIN    },
};

const RuleTable adc_look_rules =
    RULE_TABLE("looks at a VolumeAttachment", LOOK_FACTS_END, look_table);

static LookAnswer
operations_look(const AttachDetachController *self, const AttachPair *pair, uint32_t facts)
{
    const Attachment *attachment = adc_find_attachment(self, pair);

    if (attachment != NULL) {
        const VolumeError *error =
            facts & DETACH ? &attachment->detach_error : &attachment->attach_error;
        facts |= FOUND;
        facts |= object_is_deleted(&attachment->meta) ? DELETED : 0;
        facts |= attachment->attached ? ATTACHED : 0;
        facts |= error->message != NULL ? ERROR : 0;
    }
    return (LookAnswer)rules_find(&adc_look_rules, facts, NULL)->then;
}

/* PlanCondition. */
static int
is_attached(const void *data, const Plan *plan)
{
    return operations_look(data, plan_operation(plan), 0);
}

/* PlanCondition. */
static int
is_detached(const void *data, const Plan *plan)
{
    return operations_look(data, plan_operation(plan), DETACH);
}

gboolean
adc_is_unattached(const AttachDetachController *self, const AttachPair *pair)
{
    return adc_find_attachment(self, pair) != NULL && operations_look(self, pair, 0) == LOOK_AGAIN;
}

static const char *
attach_failure(const AttachDetachController *self, Plan *plan, const AttachPair *pair)
{
    const Attachment *attachment = adc_find_attachment(self, pair);

    if (plan_last_message(plan) != NULL) /* the POST failed */
        return plan_last_message(plan);
    if (attachment != NULL && object_is_deleted(&attachment->meta))
        return "volume attachment is being deleted";
    return attachment != NULL && attachment->attach_error.message != NULL
               ? attachment->attach_error.message
               : "";
}

static void
tell_attached(Plan *plan, const char *volume)
{
    plan_pod_events(plan, "Normal", "SuccessfulAttachVolume",
                    plan_internf(plan, "AttachVolume.Attach succeeded for volume \"%s\" ", volume));
}

/* Returns: interned: for plan_pod_events() */
static const char *
text_of_failure(const AttachDetachController *self,
                Plan *plan,
                const AttachPair *pair,
                const char *failure)
{
    const char *text = plan_internf(plan, "AttachVolume.Attach failed for volume \"%s\" : %s",
                                    pair->volume->spec->name, failure);

    return operation_event_message(self->base.strings, text);
}

static void
tell_not_attached(const AttachDetachController *self, Plan *plan, const char *failure)
{
    plan_pod_events(plan, "Warning", "FailedAttachVolume",
                    text_of_failure(self, plan, plan_operation(plan), failure));
    plan_fail(plan, "%s", failure);
}

static void
tell_timeout(const AttachDetachController *self, Plan *plan)
{
    const AttachPair *pair = plan_operation(plan);
    const char *error = pair->timeout, *text = pair->told_timeout;

    if (text == NULL) {
        error = plan_internf(
            plan, "timed out waiting for external-attacher of %s CSI driver to attach volume %s",
            pair->volume->driver, pair->volume->handle);
        text = text_of_failure(self, plan, pair, error);
        plan_change(plan, &(PlanChange){.what = CHANGE_TIMEOUT, .pointer = pair, .text = error});
        plan_change(plan,
                    &(PlanChange){.what = CHANGE_TOLD_TIMEOUT, .pointer = pair, .text = text});
    }
    plan_pod_events(plan, "Warning", "FailedAttachVolume", text);
    plan_fail_with(plan, error);
}

/* ADC-56. */
static void
decide_attach_result(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const AttachPair *pair = plan_operation(plan);

    plan_because(plan, "ADC-56");
    if (plan_code(plan, plan_last_step(plan)) == API_OK)
        tell_attached(plan, pair->volume->spec->name);
    else if (plan_code(plan, plan_last_step(plan)) == API_TIMEOUT)
        tell_timeout(self, plan);
    else
        tell_not_attached(self, plan, attach_failure(self, plan, pair));
}

/* ADC-72: the whole spec of the PersistentVolume that the volume in the pod has become (MIG-45). */
static Object *
inline_volume_of(const AttachVolume *volume)
{
    Object *copy = object_edit(volume->inline_spec);
    VolumeSource *source = VOLUME(copy)->source;

    VOLUME(copy)->source = volume_source_without_origin(source);
    volume_source_unref(source);
    return copy;
}

static Object *
new_attachment(const AttachPair *pair)
{
    Object *object = object_new(pair->attachment);
    Attachment *attachment = ATTACHMENT(object);

    attachment->attacher = pair->volume->driver;
    attachment->node_name = pair->node->name;
    if (pair->volume->inline_spec == NULL)
        attachment->volume_name = pair->volume->spec->name;
    else
        attachment->inline_volume = inline_volume_of(pair->volume);
    return object;
}

/* INT-10. */
static void
attached_in_process(const void *data, Plan *plan, const InProcessResult *result)
{
    const AttachDetachController *self = data;
    const AttachPair *pair = plan_operation(plan);
    const char *volume = pair->volume->spec->name;

    plan_because(plan, "INT-10");
    if (result->error == NULL) {
        plan_change(plan, &(PlanChange){
                              .what = CHANGE_DEVICE_PATH, .pointer = pair, .text = result->device});
        tell_attached(plan, volume);
    } else {
        tell_not_attached(self, plan, result->error);
    }
}

/* ADC-60. */
static void
decide_attach(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const AttachPair *pair = plan_operation(plan);

    if (pair->volume->is_in_process) {
        adc_plan_in_process(self, plan, FLEX_ATTACH, attached_in_process);
        return;
    }
    plan_because(plan, "ADC-60");
    if (adc_find_attachment(self, pair) == NULL)
        plan_create(plan, new_attachment(pair), PLAN_EXISTS_IS_FINE | PLAN_DECIDE);
    plan_poll_growing(plan, ATTACH_POLL_FIRST, ATTACH_POLL_GROWTH, ATTACH_POLL_JITTER,
                      ATTACH_POLL_CAP, ATTACH_TIMEOUT, is_attached, PLAN_DECIDE | PLAN_WOKEN);
    plan_then(plan, decide_attach_result);
}

static void
decide_detach_result(const void *data, Plan *plan)
{
    const AttachPair *pair = plan_operation(plan);
    int step = plan_last_step(plan);
    const Attachment *attachment = adc_find_attachment(data, pair);

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
    case API_ERROR:
    case API_FORBIDDEN:
    case API_CONFLICT:
    case API_EXISTS:
    case API_INVALID:
    case API_TOO_MANY:
    case API_UNREACHABLE:
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
                      ATTACH_POLL_CAP, ATTACH_TIMEOUT, is_detached, PLAN_DECIDE | PLAN_WOKEN);
    plan_then(plan, decide_detach_result);
}

/* INT-12 */
static void
detached_in_process(const void *self, Plan *plan, const InProcessResult *result)
{
    (void)self;
    plan_because(plan, "INT-12");
    if (result->error != NULL)
        plan_fail(plan, "%s", result->error);
}

static void
plan_detaching(const AttachDetachController *self, Plan *plan)
{
    const AttachPair *pair = plan_operation(plan);

    if (pair->volume->is_in_process) {
        adc_plan_in_process(self, plan, FLEX_DETACH, detached_in_process);
        return;
    }
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

    plan_because(plan, "ADC-57");
    if (node == NULL && plan_code(plan, step) != API_NOT_FOUND)
        plan_fail(plan, "%s", plan_message(plan, step));
    else if (node != NULL && string_list_has_interned(node->volumes_in_use, pair->volume->name))
        plan_fail(plan, "volume is still in use by node, according to Node status");
    else
        plan_detaching(data, plan);
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
    plan_detaching(data, plan);
}

/* The key is free, or in back-off, for all pairs of the volume. A pair that is still wanted, the
 * only one of its volume, needs no look before the end of the back-off (ADC-49.4). */
static void
queue_pairs_of_volume(AttachDetachController *self,
                      AttachPair *pair,
                      OperationKey key,
                      gboolean is_detach)
{
    SimTime until = operations_backoff_until(self->operations, key);
    gboolean only_waits =
        until > 0 && !is_detach && attach_pair_is_wanted(pair) && pair->volume->pairs->next == NULL;

    for (GSList *link = pair->volume->pairs; link != NULL && !only_waits; link = link->next)
        adc_queue(self, link->data);
    if (until > 0)
        adc_queue_at(self, pair, until + 1);
}

/* The end of an operation, and the state of the pair after it. */
enum {
    END_IS_DETACH = 1 << 0, /* of a detach; without it, of an attach */
    END_FAILED = 1 << 1,
    END_FACTS_END = 1 << 2,
};

/* After a failure nobody knows whether it is attached (ADC-17). */
static const Rule end_table[] = {
    {"ADC-56.1", 0,                          END_IS_DETACH | END_FAILED, ADC_ATTACHED },
    {"ADC-56.2", END_FAILED,                 END_IS_DETACH,              ADC_UNCERTAIN},
    {"ADC-57.2", END_IS_DETACH,              END_FAILED,                 ADC_DETACHED },
    {"ADC-57.3", END_IS_DETACH | END_FAILED, 0,                          ADC_UNCERTAIN},
};

const RuleTable adc_end_rules = RULE_TABLE("ends of attach and detach", END_FACTS_END, end_table);

void
adc_measure(const AttachDetachController *self,
            const Plan *plan,
            const AttachPair *pair,
            gboolean is_detach,
            PlanEnd end)
{
    if (sim_metrics(self->base.sim) != NULL)
        operation_measure(&self->base, plan, is_detach ? adc_detach_kind : adc_attach_kind,
                          pair->volume->driver, end);
}

/* Actual state follows an operation's end (OP-7). */
static void
operation_ended(AttachDetachController *self, Plan *plan, PlanEnd end, gboolean is_detach)
{
    AttachPair *pair = plan_done_operation(plan);
    OperationKey key = adc_key_under_way(pair);
    uint32_t facts = (is_detach ? END_IS_DETACH : 0u) | (end == PLAN_DONE ? 0u : END_FAILED);
    const Rule *rule = rules_find(&adc_end_rules, facts, NULL);

    adc_measure(self, plan, pair, is_detach, end);
    if (rule->then == ADC_DETACHED)
        adc_set_detached(self, pair);
    else
        adc_set_attached(self, pair, !is_detach || pair->volume->has_spec,
                         pair->device_path == NULL ? CSI_DEVICE_PATH : pair->device_path,
                         rule->then == ADC_ATTACHED);
    pair->is_under_way = FALSE;
    g_clear_slist(&pair->told, (GDestroyNotify)object_unref);
    queue_pairs_of_volume(self, pair, key, is_detach);
}

static void
attach_ended(void *self, Plan *plan, PlanEnd end, const char *message)
{
    (void)message;
    operation_ended(self, plan, end, FALSE);
}

static void
detach_ended(void *self, Plan *plan, PlanEnd end, const char *message)
{
    (void)message;
    operation_ended(self, plan, end, TRUE);
}

/* ---- Starting them ---- */

static void
plan_operation_of(const AttachDetachController *self,
                  Plan *plan,
                  AttachPair *pair,
                  OperationKey key,
                  const PlanStart *start)
{
    const ObjectKey *about = pair->volume->spec != NULL ? pair->volume->spec : pair->attachment;
    PlanStart ours = *start;

    ours.component = (Component *)&self->base;
    ours.key = (ObjectKey *)about;
    ours.operation = pair;
    plan_change(plan, &(PlanChange){.what = CHANGE_OPERATION,
                                    .pointer = pair,
                                    .number = start->kind == adc_detach_kind});
    plan_start_operation(plan, self->operations, key, &ours);
}

void
adc_operation_begins(AttachDetachController *self, AttachPair *pair, gboolean is_for_node)
{
    pair->is_under_way = TRUE;
    pair->is_for_node = is_for_node;
    /* Another pair may have woken the pass. */
    sim_resume(self->base.sim, pair->queued_by, WAIT_POLL, self->label);
}

void
adc_plan_attach_operation(const AttachDetachController *self, Plan *plan, AttachPair *pair)
{
    g_autoptr(GPtrArray) pods = adc_pods_of(self, pair);

    if (pair->aside != NULL)
        plan_change(plan, &(PlanChange){.what = CHANGE_FORGET_TRY, .pointer = pair});
    for (unsigned i = 0; i < pods->len; i++) {
        const Object *pod = informer_get(self->pods, pods->pdata[i]);
        if (pod != NULL)
            plan_change(plan, &(PlanChange){.what = CHANGE_TELL, .pointer = pair, .object = pod});
    }
    plan_operation_of(self, plan, pair, adc_attach_key(pair),
                      &(PlanStart){.decide = decide_attach,
                                   .kind = adc_attach_kind,
                                   .done = attach_ended,
                                   .timed_out = adc_attach_timed_out});
}

void
adc_plan_detach_operation(const AttachDetachController *self,
                          Plan *plan,
                          AttachPair *pair,
                          DetachReason reason)
{
    plan_because(plan, "ADC-46");
    plan_operation_of(
        self, plan, pair, adc_detach_key(pair),
        &(PlanStart){.decide = reason == DETACH_IF_SAFE ? decide_detach : decide_detach_unverified,
                     .kind = adc_detach_kind,
                     .done = detach_ended});
    plan_because(plan, "ADC-48");
    plan_change(plan,
                &(PlanChange){.what = CHANGE_DETACHING, .pointer = pair, .number = (int)reason});
}

/* ---- What the cache hears ---- */

void
adc_attachment_changed(void *data, const Object *before, const Object *after)
{
    AttachDetachController *self = data;
    const ObjectKey *key = (after != NULL ? after : before)->key;
    AttachPair *pair = g_hash_table_lookup(self->pairs_by_attachment, key);
    Plan *plan = pair == NULL ? NULL : adc_plan(self, pair);

    if (pair != NULL)
        adc_disturb(pair);
    if (plan != NULL)
        plan_wake(plan);
    if (pair != NULL && pair->state == ADC_ATTACHED &&
        (after == NULL || !((const Attachment *)after)->attached))
        adc_verification_is_due(self);
}
