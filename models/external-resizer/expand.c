/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sync of a claim: syncPVC() in external-resizer's controller.go, then expand_and_recover.go
 * or, with recovery switched off, the older path of controller.go. Both write the claim's status,
 * call the driver, write the volume and then the status again (RSZ-38); they differ in what the
 * status says, and in what an error leaves behind. */
#include "resizer.h"

#include "models/api/migration/migration.h"
#include "models/api/secret.h"
#include "models/external-resizer/resizer-test.h"
#include "models/volume/access-mode.h"

#define MESSAGE_FS_PENDING                                                                         \
    "Waiting for user to (re-)start a pod to finish file system resize of volume on node."

/* Returns: (borrowed): the newest version of an object that this plan has written; NULL: none */
static const Object *
written(const Plan *plan, ObjectKind kind)
{
    for (int step = plan_last_step(plan); step >= 0; step--) {
        const Object *object = plan_object(plan, step);
        if (object != NULL && object_kind(object) == kind)
            return object;
    }
    return NULL;
}

static const Claim *
claim_in_hand(const ExternalResizer *self, const Plan *plan)
{
    const Object *claim = written(plan, KIND_CLAIM);

    return claim != NULL ? CLAIM_CONST(claim) : resizer_find_claim(self, plan);
}

static const Volume *
volume_in_hand(const ExternalResizer *self, const Plan *plan)
{
    const Object *volume = written(plan, KIND_VOLUME);

    if (volume != NULL)
        return VOLUME_CONST(volume);
    return resizer_find_volume(self, claim_volume_name(claim_in_hand(self, plan)));
}

static void
add_change(Plan *plan, ResizerChange what, const Claim *claim)
{
    plan_change(plan,
                &(PlanChange){.what = (int)what, .key = claim->meta.key, .object = &claim->meta});
}

static void
mark_condition(const ExternalResizer *self,
               Plan *plan,
               ResizeMark *mark,
               const char *type,
               const char *message)
{
    resize_mark_set_condition(mark, type,
                              message == NULL ? NULL : plan_internf(plan, "%s", message),
                              plan_now(plan), self->base.strings);
}

/* RSZ-24: the key comes again with its back-off. On the older path a conflict gives no Event. */
static void
end_failed(const ExternalResizer *self, Plan *plan, const Claim *claim, const char *error)
{
    gboolean is_conflict = plan_code(plan, plan_last_step(plan)) == API_CONFLICT;

    if (self->recovers || !is_conflict)
        plan_event(plan, &claim->meta, "Warning", "VolumeResizeFailed", "%s", error);
    plan_fail(plan, "%s", error);
}

/* ---- After the driver: RSZ-35 ---- */

static void
decide_finished(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const Claim *claim = claim_in_hand(self, plan);
    gboolean is_pending = claim_condition_is_true(claim, CONDITION_FS_RESIZE_PENDING);

    if (plan_has_failed(plan)) {
        end_failed(self, plan, claim,
                   plan_internf(plan, "updating the status of PVC %s failed: %s",
                                claim->meta.key->text, plan_last_message(plan)));
        return;
    }
    plan_because(plan, "RSZ-35.2");
    plan_change_result(plan, CHANGE_CLAIM_WRITTEN, plan_last_step(plan));
    if (is_pending)
        plan_event(plan, &claim->meta, "Normal", "FileSystemResizeRequired",
                   "Require file system resize of volume on node");
    else
        plan_event(plan, &claim->meta, "Normal", "VolumeResizeSuccessful",
                   "Resize volume succeeded");
}

/* @to_node: the node has to do the rest. */
static void
plan_finish(const ExternalResizer *self, Plan *plan, gboolean to_node)
{
    const Claim *claim = claim_in_hand(self, plan);
    const Volume *volume = volume_in_hand(self, plan);
    int step = plan_last_step(plan);
    ResizeMark *mark = plan_new_arg(plan, ResizeMark);

    if (plan_has_failed(plan)) {
        end_failed(self, plan, claim,
                   plan_internf(plan, "updating capacity of PV \"%s\" by resizer \"%s\" failed: %s",
                                claim_volume_name(claim), self->base.driver_name,
                                plan_last_message(plan)));
        return;
    }
    plan_because(plan, "RSZ-35.1");
    plan_change_result(plan, CHANGE_VOLUME_WRITTEN, step);
    if (to_node) {
        mark->keep_conditions = self->recovers; /* else the new one takes the place of the old */
        mark_condition(self, plan, mark, CONDITION_FS_RESIZE_PENDING, MESSAGE_FS_PENDING);
    } else {
        mark->capacity_bytes = volume->capacity_bytes;
    }
    if (self->recovers)
        resize_mark_set_status(mark, to_node ? RESIZE_NODE_PENDING : RESIZE_NONE,
                               self->base.strings);
    plan_patch_status_at(plan, &claim->meta, resize_mark_apply, mark, PLAN_DECIDE);
    plan_then(plan, decide_finished);
}

static void
decide_volume_done(const void *data, Plan *plan)
{
    plan_finish(data, plan, FALSE);
}

static void
decide_volume_to_node(const void *data, Plan *plan)
{
    plan_finish(data, plan, TRUE);
}

typedef struct {
    int64_t capacity_bytes;
    const char *annotation, *before; /* NULL: none */
} VolumeGrowth;

static gboolean
expand_set_capacity(Object *object, const void *data)
{
    const VolumeGrowth *growth = data;
    gboolean changed = VOLUME(object)->capacity_bytes != growth->capacity_bytes;

    VOLUME(object)->capacity_bytes = growth->capacity_bytes;
    if (growth->annotation != NULL && object_annotation(object, growth->annotation) == NULL)
        changed |= object_set_annotation(object, growth->annotation, growth->before);
    return changed;
}

static void
plan_grown(const ExternalResizer *self, Plan *plan, int64_t capacity_bytes, gboolean to_node)
{
    const Claim *claim = claim_in_hand(self, plan);
    const Volume *volume = volume_in_hand(self, plan);
    VolumeGrowth *growth = plan_new_arg(plan, VolumeGrowth);
    char buffer[QUANTITY_BUFFER];

    plan_because(plan, "RSZ-35");
    if (self->recovers) {
        plan_forget(plan, self->final_errors, claim->meta.key);
        plan_forget(plan, self->slow, claim->meta.key);
    }
    if (volume == NULL) { /* deleted meanwhile; the original learns it from its write */
        plan_fail(plan, "persistentvolumes \"%s\" not found", claim_volume_name(claim));
        return;
    }
    growth->capacity_bytes = capacity_bytes;
    if (self->annotates && to_node) {
        growth->annotation = plan_internf(plan, ANNOTATION_PRE_RESIZE_CAPACITY);
        growth->before = plan_internf(plan, "%s", quantity_format(claim->capacity_bytes, buffer));
    }
    plan_patch(plan, volume->meta.key, expand_set_capacity, growth, PLAN_DECIDE);
    plan_then(plan, to_node ? decide_volume_to_node : decide_volume_done);
}

/* ---- The driver refused: RSZ-34 ---- */

static const char *
failure_text(const ExternalResizer *self, Plan *plan, const Claim *claim, const char *error)
{
    return plan_internf(plan, "resize volume \"%s\" by resizer \"%s\" failed: %s",
                        claim_volume_name(claim), self->base.driver_name, error);
}

static void
plan_mark_failed(const ExternalResizer *self,
                 Plan *plan,
                 const Claim *claim,
                 gboolean is_infeasible,
                 const char *error)
{
    ResizeMark *mark = plan_new_arg(plan, ResizeMark);

    mark->keep_conditions = TRUE;
    if (is_infeasible)
        resize_mark_set_status(mark, RESIZE_CONTROLLER_INFEASIBLE, self->base.strings);
    mark_condition(self, plan, mark, CONDITION_CONTROLLER_RESIZE_ERROR,
                   plan_internf(plan, "failed to expand pvc with %s", error));
    int step = plan_patch_status(plan, claim->meta.key, resize_mark_apply, mark, PLAN_GO_ON);
    plan_change_result(plan, CHANGE_CLAIM_WRITTEN, step);
}

static void
plan_refused(const ExternalResizer *self, Plan *plan, CsiCode code, const char *error)
{
    const Claim *claim = claim_in_hand(self, plan);
    ResizeError class = resize_error_class(code);

    plan_because(plan, "RSZ-34");
    if (code == CSI_FAILED_PRECONDITION)
        add_change(plan, CHANGE_IN_USE_ERROR, claim);
    if (self->recovers) {
        if (class != RESIZE_ERROR_INFEASIBLE)
            plan_forget(plan, self->slow, claim->meta.key);
        if (class != RESIZE_ERROR_NOT_FINAL) {
            plan_remember(plan, self->final_errors, claim->meta.key, NULL);
            plan_mark_failed(self, plan, claim, class == RESIZE_ERROR_INFEASIBLE, error);
        }
    }
    const char *text = failure_text(self, plan, claim, error);
    plan_event(plan, &claim->meta, "Warning", "VolumeResizeFailed", "%s", text);
    plan_fail(plan, "%s", text);
}

/* ---- The call: RSZ-33 ---- */

/* With recovery the status has the size; this plan has just written it. An API server without
 * RecoverVolumeExpansionFailure drops it. */
static int64_t
wanted_bytes(const ExternalResizer *self, const Claim *claim)
{
    return self->recovers && claim->allocated_bytes != 0 ? claim->allocated_bytes
                                                         : claim->request_bytes;
}

static void
decide_resized(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    if (response->code != CSI_OK)
        plan_refused(self, plan, response->code, csi_response_error(response, self->base.strings));
    else
        plan_grown(self, plan, response->capacity_bytes, response->node_expansion_required);
}

CsiCapability
resizer_capability(const Volume *volume, gboolean multi_writer, const char **error)
{
    gboolean is_block = volume->volume_mode == VOLUME_BLOCK;

    return (CsiCapability){
        .mode = sidecar_access_mode(volume_access_modes(volume), multi_writer, error),
        .type = is_block ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
        .fs_type = is_block ? NULL : volume->source->fs_type,
        .mount_flags = is_block ? NULL : volume->mount_options,
    };
}

static const SecretReference *
secret_of(const Volume *volume)
{
    return volume == NULL ? NULL : volume_source_secret(volume->source, SECRET_CONTROLLER_EXPAND);
}

/* Whether the plan has read a Secret with anything in it. */
static gboolean
has_secrets(const Plan *plan)
{
    for (int step = plan_last_step(plan); step >= 0; step--) {
        const Object *object = plan_object(plan, step);
        if (object != NULL && object_kind(object) == KIND_SECRET)
            return SECRET(object)->n_keys > 0;
    }
    return FALSE;
}

static void
expand_decide_call(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const CsiResponse *answer = plan_response(plan, plan_last_step(plan));
    const Claim *claim = claim_in_hand(self, plan);
    const Volume *volume = volume_in_hand(self, plan);
    const char *error = NULL;

    if (answer->code != CSI_OK) {
        plan_refused(self, plan, answer->code, csi_response_error(answer, self->base.strings));
        return;
    }
    if (volume == NULL) { /* deleted within the last ms */
        plan_fail(plan, "persistentvolume \"%s\" not found", claim_volume_name(claim));
        return;
    }
    gboolean multi_writer =
        (answer->controller_capabilities & CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER) != 0;
    CsiCapability capability = resizer_capability(volume, multi_writer, &error);
    if (error != NULL) {
        plan_refused(self, plan, CSI_CANCELLED, error); /* not from the driver, so never final */
        return;
    }
    CsiRequest request = {
        .method = CSI_CONTROLLER_EXPAND_VOLUME,
        .timeout_ns = self->options->common.timeout,
        .volume_id = volume->source->handle,
        .required_bytes = wanted_bytes(self, claim),
        .capabilities = &capability,
        .n_capabilities = 1,
        .has_secrets = has_secrets(plan),
    };
    plan_because(plan, "RSZ-33");
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_resized);
}

static void
ask_capabilities(const ExternalResizer *self, Plan *plan)
{
    const CsiRequest request = {.method = CSI_CONTROLLER_GET_CAPABILITIES,
                                .timeout_ns = self->options->common.timeout};

    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, expand_decide_call);
}

/* RSZ-33a: an error is not the driver's, so it is never final. */
static void
decide_secret(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const SecretReference *secret = secret_of(volume_in_hand(self, plan));

    plan_because(plan, "RSZ-33a");
    if (!plan_has_failed(plan) || secret == NULL)
        ask_capabilities(self, plan);
    else
        plan_refused(self, plan, CSI_CANCELLED,
                     plan_internf(plan, "error getting secret %s in namespace %s: %s", secret->name,
                                  secret->namespace, plan_last_message(plan)));
}

/* The status says that the expansion begins. */
static void
expand_decide_marked(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;

    if (plan_has_failed(plan)) { /* the claim may be gone */
        plan_fail(plan, "marking pvc \"%s\" as resizing failed: %s", plan_key(plan)->text,
                  plan_last_message(plan));
        return;
    }
    const Claim *claim = claim_in_hand(self, plan);
    const SecretReference *secret = secret_of(volume_in_hand(self, plan));
    plan_change_result(plan, CHANGE_CLAIM_WRITTEN, plan_last_step(plan));
    if (resizer_is_in_use(self, claim)) {
        const char *text = plan_internf(plan,
                                        "Unable to expand %s because CSI driver %s only supports "
                                        "offline expansion and volume is currently in-use",
                                        claim->meta.key->text, self->base.driver_name);
        plan_because(plan, "RSZ-32");
        plan_event(plan, &claim->meta, "Warning", "VolumeResizeFailed", "%s", text);
        plan_fail(plan, "%s", text);
        return;
    }
    plan_because(plan, "RSZ-33");
    plan_event(plan, &claim->meta, "Normal", "Resizing", "External resizer is resizing volume %s",
               claim_volume_name(claim));
    plan_forget(plan, self->in_use_errors, claim->meta.key);
    if (!self->asks_controller) { /* RSZ-20: only the volume and the status remain to be written */
        plan_grown(self, plan, wanted_bytes(self, claim), TRUE);
        return;
    }
    if (secret == NULL) {
        ask_capabilities(self, plan);
        return;
    }
    plan_because(plan, "RSZ-33a");
    plan_get(plan, objects_key(self->base.objects, KIND_SECRET, secret->namespace, secret->name),
             PLAN_DECIDE);
    plan_then(plan, decide_secret);
}

/* ---- What to ask for ---- */

/* RSZ-31. */
static void
plan_mark(const ExternalResizer *self, Plan *plan, const Claim *claim, int64_t bytes)
{
    ResizeMark *mark = plan_new_arg(plan, ResizeMark);

    plan_because(plan, "RSZ-31");
    mark->keep_conditions = claim->allocated_bytes == bytes;
    mark_condition(self, plan, mark, CONDITION_RESIZING, NULL);
    if (claim->allocated_bytes != bytes) {
        mark->allocated_bytes = bytes;
        resize_mark_set_status(mark, RESIZE_CONTROLLER_IN_PROGRESS, self->base.strings);
    }
    plan_patch_status_at(plan, &claim->meta, resize_mark_apply, mark, PLAN_DECIDE);
    plan_then(plan, expand_decide_marked);
}

void
resizer_plan_expand(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const Claim *claim = resizer_find_claim(self, plan);
    const Volume *volume = resizer_find_volume(self, claim_volume_name(claim));
    gboolean was_slow = resizer_slow_until(self, claim->meta.key) != 0;
    uint32_t facts = (resizer_has_final_error(self, claim->meta.key) ? FAILED : 0u) |
                     (self->asks_controller ? CONTROLLER : 0u);
    const Rule *rule;
    int64_t bytes = new_size(claim, volume, facts, &rule);

    plan_because(plan, "RSZ-30");
    if (claim_resize_status(claim) == RESIZE_CONTROLLER_INFEASIBLE && !was_slow)
        add_change(plan, CHANGE_SLOW, claim);
    plan_because(plan, rule->id);
    if (bytes == 0)
        return;
    if (claim->allocated_bytes == bytes && was_slow) {
        plan_because(plan, "RSZ-31");
        plan_fail(plan, "%s", self->delay_message);
        return;
    }
    plan_mark(self, plan, claim, bytes);
}

void
resizer_plan_resize(const void *data, Plan *plan)
{
    const ExternalResizer *self = data;
    const Claim *claim = resizer_find_claim(self, plan);
    const Volume *volume = resizer_find_volume(self, claim_volume_name(claim));
    ResizeMark *mark = plan_new_arg(plan, ResizeMark);

    plan_because(plan, "RSZ-40");
    if (volume->capacity_bytes >= claim->request_bytes &&
        claim_condition_is_true(claim, CONDITION_FS_RESIZE_PENDING))
        return; /* the node has to do the rest */
    mark_condition(self, plan, mark, CONDITION_RESIZING, NULL);
    plan_patch_status_at(plan, &claim->meta, resize_mark_apply, mark, PLAN_DECIDE);
    plan_then(plan, expand_decide_marked);
}

/* ---- Which claims ---- */

/* Facts of a claim. */
enum {
    KNOWN = 1 << 0,     /* the claim and the volume that it names */
    ANNOTATED = 1 << 1, /* the volume still is, though the node is done with it */
    WANTS = 1 << 2,     /* bound, and asks for more than it has */
    OURS = 1 << 3,      /* the volume is of this driver and bound to this very claim */
    RECOVERS = 1 << 4,  /* RecoverVolumeExpansionFailure is on */
    EXPAND_FACTS_END = 1 << 5,
};

enum {
    LEAVE,
    CLEAN_UP, /* take the annotation off, then look again */
    EXPAND,   /* expandAndRecover() */
    RESIZE,   /* the older path */
};

/* syncPVC() in external-resizer's controller.go. Columns: all of these, none of these, then. */
static const Rule expand_table[] = {
    {"RSZ-22", 0,                               KNOWN,                LEAVE   },
    {"RSZ-22", KNOWN | ANNOTATED,               0,                    CLEAN_UP},
    {"RSZ-22", KNOWN,                           ANNOTATED | WANTS,    LEAVE   },
    {"RSZ-23", KNOWN | WANTS,                   ANNOTATED | OURS,     LEAVE   },
    {"RSZ-30", KNOWN | WANTS | OURS | RECOVERS, ANNOTATED,            EXPAND  },
    {"RSZ-40", KNOWN | WANTS | OURS,            ANNOTATED | RECOVERS, RESIZE  },
};
const RuleTable resizer_expand_rules =
    RULE_TABLE("claims to expand", EXPAND_FACTS_END, expand_table);

gboolean
resizer_supports(const char *driver, const Claim *claim, const Volume *volume)
{
    const VolumeSource *source = volume->source;

    if (source != NULL && source->origin == NULL && g_strcmp0(source->driver, driver) == 0)
        return TRUE;
    return in_tree_plugin_of_driver(driver) != NULL &&
           g_strcmp0(object_annotation(&claim->meta, ANNOTATION_STORAGE_RESIZER), driver) == 0;
}

static gboolean
expand_is_ours(const ExternalResizer *self, const Claim *claim, const Volume *volume)
{
    return resizer_supports(self->base.driver_name, claim, volume) &&
           volume->claim_ref.claim == claim->meta.key &&
           object_uid_equal(volume->claim_ref.uid, claim->meta.uid);
}

static uint32_t
expand_facts(const ExternalResizer *self, const Claim *claim, const Volume *volume)
{
    uint32_t facts = self->recovers ? RECOVERS : 0;

    if (volume == NULL)
        return facts;
    facts |= KNOWN;
    facts |= resizer_needs_cleanup(self, claim, volume) ? ANNOTATED : 0;
    facts |= resizer_needs_expansion(claim) ? WANTS : 0;
    facts |= expand_is_ours(self, claim, volume) ? OURS : 0;
    return facts;
}

static void decide_cleaned_up(const void *data, Plan *plan);

static gboolean
remove_annotation(Object *object, const void *annotation)
{
    return object_set_annotation(object, annotation, NULL);
}

/* @unless: facts that hold no longer */
static void
plan_claim(const ExternalResizer *self, Plan *plan, uint32_t unless)
{
    const Claim *claim = resizer_find_claim(self, plan);
    const Volume *volume =
        claim == NULL ? NULL : resizer_find_volume(self, claim_volume_name(claim));
    uint32_t facts = expand_facts(self, claim, volume) & ~unless;

    switch (plan_judge(plan, &resizer_expand_rules, facts)) {
    case LEAVE:
        return;
    case CLEAN_UP:
        plan_patch(plan, volume->meta.key, remove_annotation,
                   plan_internf(plan, ANNOTATION_PRE_RESIZE_CAPACITY), PLAN_STOP);
        plan_then(plan, decide_cleaned_up);
        return;
    case EXPAND:
        resizer_plan_expand(self, plan);
        return;
    case RESIZE:
        resizer_plan_resize(self, plan);
        return;
    }
    g_assert_not_reached();
}

static void
decide_cleaned_up(const void *data, Plan *plan)
{
    plan_change_result(plan, CHANGE_VOLUME_WRITTEN, plan_last_step(plan));
    plan_claim(data, plan, ANNOTATED);
}

void
resizer_sync(const void *data, Plan *plan)
{
    plan_claim(data, plan, 0);
}
