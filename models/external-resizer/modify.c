/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controller that changes the attributes of volumes: external-resizer's pkg/modifycontroller.
 * It marks the claim, calls the driver with the parameters of the new class, then writes the class
 * into the volume and into the claim. */
#include "models/external-resizer/resizer-test.h"
#include "resizer.h"

#include <string.h>

#define CONDITION_MODIFYING "ModifyingVolume"
#define CONDITION_MODIFY_ERROR "ModifyVolumeError"

/* ---- What the claim's status says ---- */

static const struct {
    const char *status;    /* NULL: stays */
    const char *condition; /* NULL: conditions stay */
    const char *message;   /* before the driver's error */
} steps[] = {
    [MODIFY_PENDING] = {"Pending",    NULL,                   NULL                              },
    [MODIFY_IN_PROGRESS] = {"InProgress", CONDITION_MODIFYING,
                        "ModifyVolume operation in progress."                                   },
    [MODIFY_INFEASIBLE] = {"Infeasible", CONDITION_MODIFYING,
                        "ModifyVolume failed with error"                                        }, /* without a space there, too */
    [MODIFY_FAILED] = {NULL,         CONDITION_MODIFY_ERROR, "ModifyVolume failed with error: "},
    [MODIFY_COMPLETED] = {NULL,         NULL,                   NULL                              },
};

void
modify_mark_init(ModifyMark *self,
                 ModifyStep step,
                 const char *target,
                 const char *error,
                 SimTime now,
                 Strings *strings)
{
    const char *message = steps[step].message;

    *self = (ModifyMark){.step = step, .target = target};
    if (steps[step].status != NULL)
        self->status = strings_intern(strings, steps[step].status);
    if (steps[step].condition != NULL)
        self->condition = (ClaimCondition){
            .type = strings_intern(strings, steps[step].condition),
            .status = strings_intern(strings, "True"),
            .message = error == NULL
                           ? strings_intern(strings, message)
                           : strings_internf(strings, "%s%s. Waiting for retry.", message, error),
            .changed_at = now - now % SIM_SECOND,
        };
}

gboolean
modify_mark_apply(Object *object, const void *data)
{
    const ModifyMark *mark = data;
    Claim *claim = CLAIM(object);
    const ModifyMark before = {.status = claim->modify_status, .target = claim->modify_target};
    gboolean is_new = FALSE;

    if (mark->status != NULL)
        claim->modify_status = mark->status;
    if (mark->step == MODIFY_IN_PROGRESS)
        claim->modify_target = mark->target;
    if (mark->step == MODIFY_COMPLETED) {
        is_new = claim->current_attributes_class != mark->target;
        claim->modify_status = claim->modify_target = NULL;
        claim->current_attributes_class = mark->target;
    }
    is_new |= claim->modify_status != before.status || claim->modify_target != before.target;
    if (mark->step == MODIFY_PENDING)
        return is_new;
    return claim_set_conditions(claim,
                                claim_conditions_merge(claim->conditions, CONDITIONS_OF_MODIFY,
                                                       &mark->condition,
                                                       mark->condition.type != NULL, FALSE)) ||
           is_new;
}

static const ModifyMark *
make_mark(
    const ExternalResizer *self, Plan *plan, ModifyStep step, const char *target, const char *error)
{
    ModifyMark *mark = plan_new_arg(plan, ModifyMark);

    modify_mark_init(mark, step, target, error, plan_now(plan), self->base.strings);
    return mark;
}

/* ---- What is known ---- */

static const char *
modify_class_of(const Claim *claim)
{
    return claim->attributes_class == NULL ? "" : claim->attributes_class;
}

static const AttributesClass *
find_class(const ExternalResizer *self, const char *name)
{
    return ATTRIBUTES_CLASS_CONST(informer_find(self->attributes_classes, NULL, name));
}

/* Returns: (borrowed): as this plan has written it last, else as the informer has it; NULL: gone */
static const Claim *
claim_in_hand(const ExternalResizer *self, const Plan *plan)
{
    for (int step = plan_last_step(plan); step >= 0; step--) {
        const Object *object = plan_object(plan, step);
        if (object != NULL && object_kind(object) == KIND_CLAIM)
            return CLAIM_CONST(object);
    }
    return resizer_find_claim(self, plan);
}

static void
plan_slow(Plan *plan, const Claim *claim)
{
    plan_change(plan, &(PlanChange){.what = CHANGE_MODIFY_SLOW, .key = claim->meta.key});
}

/* SREL-25 to SREL-27 */
static gboolean
is_since(const ExternalResizer *self, int major, int minor)
{
    return sidecar_is_since(&self->options->common, major, minor, FALSE);
}

/* Results of one decision for the next. */
typedef struct {
    const AttributesClass *class; /* kept by the plan: the claim may name another one by the end */
    const char *error;            /* of the driver */
    gboolean is_infeasible;
} Notes;

static void
note_class(const ExternalResizer *self, Plan *plan, const Claim *claim)
{
    Notes *notes = plan_new_notes(plan, Notes, NULL);

    notes->class =
        ATTRIBUTES_CLASS_CONST(plan_keep(plan, &find_class(self, modify_class_of(claim))->meta));
}

/* ---- The end: RSZ-67 ---- */

static gboolean
has_failed_to_complete(Plan *plan)
{
    plan_because(plan, "RSZ-67");
    if (plan_has_failed(plan))
        plan_fail(plan, "modify volume failed to mark pvc %s modify volume completed: %s",
                  plan_key(plan)->name, plan_last_message(plan));
    return plan_has_failed(plan);
}

static void
decide_modified(const void *data, Plan *plan)
{
    const Claim *claim = claim_in_hand(data, plan);
    const Notes *notes = plan_notes(plan);

    if (!has_failed_to_complete(plan))
        plan_event(plan, &claim->meta, "Normal", "VolumeModifySuccessful",
                   "external resizer modified volume %s with vac %s successfully%s",
                   object_name(&claim->meta), object_name(&notes->class->meta),
                   is_since(data, 2, 0) ? "" : " ");
}

static void
decide_volume_modified(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const Claim *claim = claim_in_hand(self, plan);

    if (has_failed_to_complete(plan))
        return;
    plan_patch_status(plan, claim->meta.key, modify_mark_apply,
                      make_mark(self, plan, MODIFY_COMPLETED, claim->modify_target, NULL),
                      PLAN_DECIDE);
    plan_then(plan, decide_modified);
}

gboolean
modify_volume_apply(Object *volume, const void *class)
{
    gboolean is_new = VOLUME(volume)->attributes_class != class;

    VOLUME(volume)->attributes_class = class;
    return is_new;
}

static void
plan_modified(const ExternalResizer *self, Plan *plan)
{
    const Claim *claim = claim_in_hand(self, plan);

    plan_because(plan, "RSZ-67");
    if (claim->modify_status == NULL) { /* RSZ-69 */
        plan_change(plan, &(PlanChange){.what = CHANGE_PANIC});
        plan_fail(plan, "invalid memory address or nil pointer dereference");
        return;
    }
    plan_patch(plan, objects_key(self->base.objects, KIND_VOLUME, NULL, claim_volume_name(claim)),
               modify_volume_apply, claim->modify_target, PLAN_DECIDE);
    plan_then(plan, decide_volume_modified);
}

/* ---- The driver refused: RSZ-68 ---- */

static void
end_refused(const ExternalResizer *self, Plan *plan)
{
    const Claim *claim = claim_in_hand(self, plan);
    const Notes *notes = plan_notes(plan);

    plan_forget(plan, self->uncertain, claim->meta.key);
    plan_event(plan, &claim->meta, "Warning", "VolumeModifyFailed", "%s", notes->error);
    plan_fail(plan, "%s", notes->error);
}

static void
decide_infeasible(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;

    plan_because(plan, "RSZ-68");
    if (plan_has_failed(plan)) {
        plan_fail(plan, "mark PVC \"%s\" as modify volume failed, errored with: %s",
                  plan_key(plan)->name, plan_last_message(plan));
        return;
    }
    plan_slow(plan, claim_in_hand(self, plan));
    end_refused(self, plan);
}

static void
decide_error_told(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const Claim *claim = claim_in_hand(self, plan);
    const Notes *notes = plan_notes(plan);

    plan_because(plan, "RSZ-68");
    if (plan_has_failed(plan)) {
        plan_fail(plan, "%s", notes->error);
    } else if (notes->is_infeasible) {
        plan_patch_status_at(plan, &claim->meta, modify_mark_apply,
                             make_mark(self, plan, MODIFY_INFEASIBLE, NULL, notes->error),
                             PLAN_DECIDE);
        plan_then(plan, decide_infeasible);
    } else {
        end_refused(self, plan);
    }
}

/* ---- The call: RSZ-66 ---- */

static void
decide_called(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));
    Notes *notes = plan_notes(plan);

    if (response->code == CSI_OK) {
        plan_modified(self, plan);
        return;
    }
    plan_because(plan, "RSZ-68");
    notes->error = csi_response_error(response, self->base.strings);
    notes->is_infeasible = response->code == CSI_INVALID_ARGUMENT;
    if (notes->is_infeasible && is_since(self, 2, 0)) { /* SREL-26: in one patch */
        plan_patch_status_at(plan, &claim_in_hand(self, plan)->meta, modify_mark_apply,
                             make_mark(self, plan, MODIFY_INFEASIBLE, NULL, notes->error),
                             PLAN_DECIDE);
        plan_then(plan, decide_infeasible);
        return;
    }
    plan_patch_status(plan, plan_key(plan), modify_mark_apply,
                      make_mark(self, plan, MODIFY_FAILED, NULL, notes->error), PLAN_DECIDE);
    plan_then(plan, decide_error_told);
}

/* With --extra-modify-metadata the driver also learns the names. Returns: (owned) */
static StringMap *
make_parameters(const ExternalResizer *self, const Claim *claim, const AttributesClass *class)
{
    if (!self->options->extra_modify_metadata)
        return string_map_ref(class->parameters);
    return sidecar_metadata_parameters(class->parameters, claim->meta.key, claim_volume_name(claim),
                                       self->base.strings);
}

static void
plan_call_modify(const ExternalResizer *self, Plan *plan, const Claim *claim)
{
    const Volume *volume = resizer_find_volume(self, claim_volume_name(claim));
    const Notes *notes = plan_notes(plan);

    if (volume == NULL) { /* deleted within the last ms */
        plan_fail(plan, "persistentvolume \"%s\" not found", claim_volume_name(claim));
        return;
    }
    g_autoptr(StringMap) parameters = make_parameters(self, claim, notes->class);
    const CsiRequest request = {
        .method = CSI_CONTROLLER_MODIFY_VOLUME,
        .timeout_ns = self->options->common.timeout,
        .volume_id = volume->source->handle,
        .mutable_parameters = parameters,
    };
    plan_because(plan, "RSZ-66");
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_called);
}

/* RSZ-66: the status says that the change begins. */
static void
decide_in_progress(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const Claim *claim = claim_in_hand(self, plan);
    const Notes *notes = plan_notes(plan);

    plan_because(plan, "RSZ-66");
    if (plan_has_failed(plan)) {
        plan_fail(plan, "mark PVC \"%s\" as modify volume failed, errored with: %s",
                  plan_key(plan)->name, plan_last_message(plan));
        return;
    }
    plan_event(plan, &claim->meta, "Normal", "VolumeModify",
               "external resizer is modifying volume %s with vac %s", object_name(&claim->meta),
               object_name(&notes->class->meta));
    plan_call_modify(self, plan, claim);
}

/* ---- Which claims ---- */

/* Facts of a claim. */
enum {
    KNOWN = 1 << 0,     /* the cache has it */
    NAMED = 1 << 1,     /* it names a volume ... */
    FOUND = 1 << 2,     /* ... that the cache has, too */
    WANTS = 1 << 3,     /* it is Bound, names a class, and the volume is of this driver */
    SLOW = 1 << 4,      /* the class was infeasible a short time ago */
    DONE = 1 << 5,      /* it has the class */
    UNCERTAIN = 1 << 6, /* it had a class, and a change was under way as the process started */
    EXISTS = 1 << 7,    /* the cache has the class */
    MODIFY_FACTS_END = 1 << 8,
};

enum {
    LEAVE,
    FAIL_NO_CLAIM,
    FAIL_NO_VOLUME,
    FAIL_NO_CLASS,
    DELAY,
    MARK_PENDING,
    MARK_IN_PROGRESS,
    CALL,
};

#define ASKED (KNOWN | NAMED | FOUND | WANTS)

/* syncPVC() and modify() of pkg/modifycontroller. Columns: all of these, none of these, then. */
static const Rule modify_table[] = {
    {"RSZ-62", 0,                          KNOWN,                            FAIL_NO_CLAIM   },
    {"RSZ-62", KNOWN,                      NAMED,                            LEAVE           },
    {"RSZ-62", KNOWN | NAMED,              FOUND,                            FAIL_NO_VOLUME  },
    {"RSZ-62", KNOWN | NAMED | FOUND,      WANTS,                            LEAVE           },
    {"RSZ-63", ASKED | SLOW,               0,                                DELAY           },
    {"RSZ-64", ASKED | DONE,               SLOW,                             LEAVE           },
    {"RSZ-65", ASKED,                      SLOW | DONE | UNCERTAIN | EXISTS, MARK_PENDING    },
    {"RSZ-66", ASKED | EXISTS,             SLOW | DONE | UNCERTAIN,          MARK_IN_PROGRESS},
    {"RSZ-69", ASKED | UNCERTAIN | EXISTS, SLOW | DONE,                      CALL            },
    {"RSZ-69", ASKED | UNCERTAIN,          SLOW | DONE | EXISTS,             FAIL_NO_CLASS   },
};
const RuleTable resizer_modify_rules =
    RULE_TABLE("claims to modify", MODIFY_FACTS_END, modify_table);

static gboolean
wants_class(const ExternalResizer *self, const Claim *claim, const Volume *volume)
{
    return claim->phase == CLAIM_BOUND && modify_class_of(claim)[0] != '\0' &&
           volume->source != NULL && volume->source->driver == self->base.driver_name;
}

/* The status is about the class that the claim names now. */
static gboolean
is_about_class(const Claim *claim)
{
    return g_strcmp0(claim->modify_target, modify_class_of(claim)) == 0;
}

static uint32_t
modify_facts(const ExternalResizer *self, const Claim *claim, const Volume *volume)
{
    uint32_t facts = 0;

    if (claim == NULL)
        return facts;
    facts |= KNOWN | (claim_volume_name(claim)[0] != '\0' ? NAMED : 0);
    if (volume == NULL)
        return facts;
    facts |= FOUND;
    facts |= wants_class(self, claim, volume) ? WANTS : 0;
    facts |= is_about_class(claim) && resizer_modify_is_slow(self, claim->meta.key) ? SLOW : 0;
    facts |= find_class(self, modify_class_of(claim)) != NULL ? EXISTS : 0;
    if (claim->current_attributes_class == NULL)
        return facts;
    if (strcmp(claim->current_attributes_class, modify_class_of(claim)) == 0 &&
        (claim->modify_status == NULL || !is_since(self, 2, 0))) /* SREL-26 */
        facts |= DONE;
    facts |= g_hash_table_contains(self->uncertain, claim->meta.key) ? UNCERTAIN : 0;
    return facts;
}

/* RSZ-63: another class may be feasible; the same one that was not is not tried again soon. */
static void
plan_slow_set(const ExternalResizer *self, Plan *plan, const Claim *claim)
{
    if (!is_about_class(claim))
        plan_forget(plan, self->modify_slow, claim->meta.key);
    else if (g_strcmp0(claim->modify_status, "Infeasible") == 0)
        plan_slow(plan, claim);
}

static void
plan_mark(const ExternalResizer *self, Plan *plan, const Claim *claim, ModifyStep step)
{
    plan_patch_status_at(plan, &claim->meta, modify_mark_apply,
                         make_mark(self, plan, step, claim->attributes_class, NULL),
                         step == MODIFY_PENDING ? PLAN_STOP : PLAN_DECIDE);
    if (step == MODIFY_IN_PROGRESS)
        plan_then(plan, decide_in_progress);
}

void
resizer_modify(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const Claim *claim = resizer_find_claim(self, plan);
    const Volume *volume =
        claim == NULL ? NULL : resizer_find_volume(self, claim_volume_name(claim));
    uint32_t facts = modify_facts(self, claim, volume);

    if ((facts & ASKED) == ASKED)
        plan_slow_set(self, plan, claim);
    if ((facts & EXISTS) != 0)
        note_class(self, plan, claim);
    switch (plan_judge(plan, &resizer_modify_rules, facts)) {
    case LEAVE:
        return;
    case FAIL_NO_CLAIM:
        plan_fail(plan, "getting PVC %s failed", plan_key(plan)->text);
        return;
    case FAIL_NO_VOLUME:
        plan_fail(plan, "Get PV \"%s\" of pvc \"%s\" in PVInformer cache failed",
                  claim_volume_name(claim), plan_key(plan)->text);
        return;
    case FAIL_NO_CLASS:
        plan_fail(plan, "volumeattributesclass.storage.k8s.io \"%s\" not found",
                  modify_class_of(claim));
        return;
    case DELAY:
        plan_fail(plan,
                  "skipping volume modification for pvc %s, because modification previously failed "
                  "with infeasible error",
                  plan_key(plan)->text);
        return;
    case MARK_PENDING:
        if (is_since(self, 1, 14)) /* SREL-25 */
            plan_event(plan, &claim->meta, "Warning", "VolumeModifyFailed",
                       is_since(self, 2, 0) ? "VAC \"%s\" does not exist."
                                            : "VAC %s does not exist.",
                       modify_class_of(claim));
        plan_mark(self, plan, claim, MODIFY_PENDING);
        return;
    case MARK_IN_PROGRESS:
        plan_mark(self, plan, claim, MODIFY_IN_PROGRESS);
        return;
    case CALL:
        plan_call_modify(self, plan, claim);
        return;
    }
    g_assert_not_reached();
}

/* ---- What changes: RSZ-61 ---- */

gboolean
resizer_modify_is_queued(const ExternalResizer *self, const Claim *before, const Claim *after)
{
    if (modify_class_of(after)[0] == '\0') /* a sync would do nothing */
        return FALSE;
    if (before == NULL)
        return TRUE;
    return strcmp(modify_class_of(before), modify_class_of(after)) != 0 &&
           before->phase == CLAIM_BOUND &&
           resizer_find_volume(self, claim_volume_name(before)) != NULL;
}
