/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ADC-50: at the end of some passes, attached pairs are compared with the VolumeAttachments; a pair
 * that they do not confirm is attached again. The model leaves out a comparison that would find
 * nothing, but keeps its place: the next one comes at the instant at which it would have come. */
#include "controller.h"

#include "sim/random.h"

/* One volume of a node under comparison. The pair may be gone when its turn comes. */
typedef struct {
    const char *volume; /* unique name; interned */
    const ObjectKey *attachment;
    AttachNode *node;
    gboolean is_attached;
} AttachCheck;

/* The checks of a node: one operation. */
typedef struct {
    GArray *checks; /* of AttachCheck */
    unsigned n_done;
} NodeChecks;

static void
node_checks_free(void *data)
{
    NodeChecks *self = data;

    g_array_unref(self->checks);
    g_free(self);
}

/* ---- When ---- */

static SimTime
period_of(const AttachDetachController *self)
{
    const KubeControllerManagerOptions *options = self->base.options;

    return options->attach_detach_reconcile_sync_period;
}

/* ADC-2. */
static gboolean
is_enabled(const AttachDetachController *self)
{
    const KubeControllerManagerOptions *options = self->base.options;

    return !options->disable_attach_detach_reconcile_sync && period_of(self) >= SIM_SECOND;
}

/* Returns: of the reconciler's idle passes since @first, the first that is more than a period after
 * the last comparison */
static SimTime
first_after(const AttachDetachController *self, SimTime first)
{
    SimTime earliest = self->verification.last + period_of(self);
    SimTime step = sim_ticker_step(self->reconciler);

    return earliest < first ? first : first + ((earliest - first) / step + 1) * step;
}

/* Counts the comparisons of passes that were skipped, up to the one at @end. */
static void
catch_up(AttachDetachController *self, SimTime end)
{
    AttachVerification *verification = &self->verification;
    SimTime step = sim_ticker_step(self->reconciler);
    SimTime first = verification->pass_ended_at + step;
    SimTime cycle = (period_of(self) / step + 1) * step;

    if (!is_enabled(self) || first > end)
        return;
    SimTime at = first_after(self, first);
    if (at <= end)
        verification->last = at + (end - at) / cycle * cycle;
}

static void
timer_fires(Sim *sim, void *data)
{
    AttachDetachController *self = data;

    (void)sim;
    self->verification.timer = 0;
    sim_ticker_wake(self->reconciler);
}

static const SimEventType timer_event = {
    .name = "attach-detach/verify",
    .fire = timer_fires,
};

/* The pass that compares must take place: one that is skipped starts nothing. */
static void
set_timer(AttachDetachController *self)
{
    AttachVerification *verification = &self->verification;
    SimTime next = sim_ticker_next(self->reconciler);

    catch_up(self, next - sim_ticker_step(self->reconciler));
    sim_cancel(self->base.sim, verification->timer);
    verification->timer = sim_at_detail(self->base.sim, first_after(self, next), &timer_event, self,
                                        WAIT_POLL, self->label);
}

void
adc_verification_is_due(AttachDetachController *self)
{
    if (self->verification.is_due || !is_enabled(self))
        return;
    self->verification.is_due = TRUE;
    if (self->looking_at == NULL) /* else the end of the pass sets it */
        set_timer(self);
}

void
adc_verification_pass_is_over(AttachDetachController *self)
{
    if (self->verification.is_due)
        set_timer(self);
}

void
adc_verification_pass_begins(AttachDetachController *self)
{
    catch_up(self, sim_now(self->base.sim) - sim_ticker_step(self->reconciler));
}

void
adc_verification_start(AttachDetachController *self)
{
    SimTime now = sim_now(self->base.sim);
    SimStream phases = sim_stream(self->base.sim, "attach-detach-controller/phase");
    SimTime step = sim_ticker_step(self->reconciler);
    SimTime cycle = period_of(self) + step;

    self->verification.last = self->base.started_late
                                  ? now
                                  : now - (SimTime)sim_random_below(phases, 2, 0, (uint64_t)cycle);
    self->verification.pass_ended_at = sim_ticker_next(self->reconciler) - step;
    if (g_hash_table_size(self->volumes_by_name) > 0)
        adc_verification_is_due(self); /* nodes may name volumes without a VolumeAttachment */
}

/* ---- What ---- */

static gboolean
verification_is_told(const AttachDetachController *self, const AttachPair *pair)
{
    const Attachment *attachment = adc_find_attachment(self, pair);

    return attachment != NULL && attachment->attached;
}

static void
decide_verified(const void *data, Plan *plan)
{
    const NodeChecks *checks = plan_operation(plan);

    (void)data;
    plan_because(plan, "ADC-50");
    for (unsigned i = 0; i < checks->checks->len; i++) {
        const AttachCheck *check = &g_array_index(checks->checks, AttachCheck, i);
        if (!check->is_attached)
            plan_change(plan, &(PlanChange){.what = CHANGE_NOT_ATTACHED, .pointer = check});
    }
}

static void decide_next(const void *self, Plan *plan);

/* The verdict on the next check. */
static void
plan_verdict(Plan *plan, const Object *attachment)
{
    gboolean attached = attachment != NULL && ((const Attachment *)attachment)->attached;

    plan_change(plan, &(PlanChange){.what = CHANGE_VERIFIED,
                                    .pointer = plan_operation(plan),
                                    .number = attached});
    plan_then(plan, decide_next);
}

static void
verification_decide_read(const void *data, Plan *plan)
{
    (void)data;
    plan_because(plan, "ADC-50");
    plan_verdict(plan, plan_object(plan, plan_last_step(plan)));
}

/* One after the other: in the cache, else in the API. */
static void
decide_next(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;
    const NodeChecks *checks = plan_operation(plan);

    plan_because(plan, "ADC-50");
    if (checks->n_done == checks->checks->len) {
        decide_verified(data, plan);
        return;
    }
    const AttachCheck *check = &g_array_index(checks->checks, AttachCheck, checks->n_done);
    const Object *attachment = informer_get(self->attachments, check->attachment);
    if (attachment != NULL) {
        plan_verdict(plan, attachment);
        return;
    }
    plan_get(plan, check->attachment, PLAN_DECIDE);
    plan_then(plan, verification_decide_read);
}

/* Only volumes whose plugin is known, and whose driver requires attaching, are compared. */
static gboolean
must_be_checked(AttachDetachController *self, AttachPair *pair)
{
    if (pair->state != ADC_ATTACHED || !pair->volume->has_spec || pair->volume->is_in_process)
        return FALSE; /* INT-13: the model's back end forgets no attachment */
    const Volume *spec = adc_spec_of(self, pair->volume);
    if (spec == NULL || !adc_is_attachable(self, spec->source))
        return FALSE;
    adc_attachment_key(self, pair);
    return !verification_is_told(self, pair);
}

/* Leaves out volumes that VolumeAttachments confirm: checking them changes nothing. */
static void
verify_node(AttachDetachController *self, AttachNode *node)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(AttachCheck));

    for (unsigned i = 0; i < node->pairs->len; i++) {
        AttachPair *pair = node->pairs->pdata[i];
        AttachCheck check = {pair->volume->name, NULL, node, FALSE};
        if (!must_be_checked(self, pair))
            continue;
        check.attachment = pair->attachment;
        g_array_append_val(found, check);
    }
    if (found->len == 0)
        return;
    NodeChecks *checks = g_new0(NodeChecks, 1);
    checks->checks = g_steal_pointer(&found);
    operations_start(
        self->operations, (OperationKey){0},
        &(PlanStart){.component = &self->base,
                     .decide = decide_next,
                     .key = objects_key(self->base.objects, KIND_NODE, NULL, node->name),
                     .operation = checks,
                     .free_operation = node_checks_free,
                     .kind = "verify_volumes_are_attached_per_node"});
}

void
adc_verification_pass_ended(AttachDetachController *self)
{
    AttachVerification *verification = &self->verification;
    SimTime now = sim_now(self->base.sim);
    AttachNode *node;

    verification->pass_ended_at = now;
    if (is_enabled(self) && now - verification->last > period_of(self)) {
        gboolean was_due = verification->is_due;
        verification->last = now;
        verification->is_due = FALSE;
        for (uint32_t slot = 0; was_due && (node = adc_next_node(self, &slot)) != NULL;)
            verify_node(self, node);
    }
}

static AttachPair *
pair_of(const AttachDetachController *self, const AttachCheck *check)
{
    const AttachVolume *volume = g_hash_table_lookup(self->volumes_by_name, check->volume);

    return volume == NULL ? NULL : adc_find_pair(volume, check->node);
}

void
adc_verification_apply(AttachDetachController *self, const PlanChange *change)
{
    if (change->what == CHANGE_NOT_ATTACHED) {
        AttachPair *pair = pair_of(self, change->pointer);
        if (pair != NULL)
            adc_set_detached(self, pair);
        return;
    }
    NodeChecks *checks = (NodeChecks *)change->pointer;
    AttachCheck *check = &g_array_index(checks->checks, AttachCheck, checks->n_done++);
    const AttachPair *pair = pair_of(self, check);
    check->is_attached = (gboolean)change->number;
    if (check->is_attached && pair != NULL && !verification_is_told(self, pair))
        adc_verification_is_due(self); /* the cache does not know it yet */
}
