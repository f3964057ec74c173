/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes that this controller expands itself: expand() in expand_controller.go, with
 * GenerateExpandVolumeFunc() and expandAndRecoverFunction() of operationexecutor (RSZ-14 to
 * RSZ-17).
 */
#include "expand-private.h"

#include "models/api/migration/migration.h"
#include "models/cluster/cluster.h"
#include "models/volume/plugins.h"
#include "models/volume/resize-status.h"

#include <string.h>

#define RECOVERS "RecoverVolumeExpansionFailure"
#define FS_RESIZE_MESSAGE                                                                          \
    "Waiting for user to (re-)start a pod to finish file system resize of volume on node."

/* INT-40, FLX-34: the plugins that expand, and whether the file system is the node's to resize. */
static const struct {
    const char *source;
    gboolean resizes_on_node;
} expandable[] = {
    {"awsElasticBlockStore", TRUE },
    {"azureDisk",            TRUE },
    {"azureFile",            FALSE},
    {"cinder",               TRUE },
    {"flexVolume",           TRUE },
    {"gcePersistentDisk",    TRUE },
    {"glusterfs",            FALSE},
    {"portworxVolume",       FALSE},
    {"rbd",                  TRUE },
};

/* Returns: the row, or its number behind the last one */
static unsigned
expandable_row(const VolumeSource *source)
{
    unsigned row = 0;

    while (row < G_N_ELEMENTS(expandable) && strcmp(expandable[row].source, source->plugin) != 0)
        row++;
    return row;
}

static CsiDriver *
backend_of(const ExpandController *self, const Volume *volume)
{
    return cluster_backend(self->base.cluster, volume_in_process_source(volume), NULL);
}

gboolean
expand_is_in_process(const ExpandController *self, const Volume *volume)
{
    const VolumeSource *source = volume->source;

    return source != NULL && source->origin == NULL && strcmp(source->plugin, "csi") != 0 &&
           expandable_row(source) < G_N_ELEMENTS(expandable) && backend_of(self, volume) != NULL;
}

static gboolean
node_resizes(const Volume *volume)
{
    return volume->volume_mode == VOLUME_FILESYSTEM &&
           expandable[expandable_row(volume->source)].resizes_on_node;
}

/* ---- A sync ---- */

#define STEP_VOLUME 0 /* reads the volume */

/* In the plan's memory: in_process_begin() has its notes. */
typedef struct {
    const Volume *volume; /* as it was read */
    const Claim *claim;   /* as it was written last */
    int64_t bytes;        /* that are asked for */
    gboolean recovers;
} InProcessGrowth;

typedef struct {
    ResizeMark mark;
    const char *resizer_key, *resizer; /* interned; NULL: the annotation stays */
} ClaimMark;

/* ObjectEdit. */
static gboolean
edit_claim(Object *claim, const void *data)
{
    const ClaimMark *mark = data;
    gboolean changed = resize_mark_apply(claim, &mark->mark);

    if (mark->resizer != NULL)
        changed |= object_set_annotation(claim, mark->resizer_key, mark->resizer);
    return changed;
}

/* The conditions of a resize are replaced by @condition. */
static ClaimMark *
claim_mark_new(const ExpandController *self,
               Plan *plan,
               ResizeStatus status,
               const char *condition,
               const char *message)
{
    ClaimMark *mark = plan_new_arg(plan, ClaimMark);

    if (status != 0)
        resize_mark_set_status(&mark->mark, status, self->base.strings);
    if (condition != NULL)
        resize_mark_set_condition(&mark->mark, condition, message, plan_now(plan),
                                  self->base.strings);
    return mark;
}

/* ---- After the call ---- */

typedef struct {
    int64_t bytes;
    const char *key, *before; /* of the annotation; interned */
} VolumeMark;

/* ObjectEdit: UpdatePVSize(). */
static gboolean
edit_volume(Object *object, const void *data)
{
    const VolumeMark *mark = data;

    VOLUME(object)->capacity_bytes = mark->bytes;
    if (object_annotation(object, mark->key) == NULL)
        object_set_annotation(object, mark->key, mark->before);
    return TRUE;
}

static void
plan_volume_size(const ExpandController *self,
                 Plan *plan,
                 const InProcessGrowth *growth,
                 int64_t bytes)
{
    char buffer[32];
    VolumeMark *mark = plan_new_arg(plan, VolumeMark);

    *mark = (VolumeMark){
        .bytes = bytes,
        .key = strings_intern(self->base.strings, ANNOTATION_PRE_RESIZE_CAPACITY),
        .before = strings_intern(self->base.strings,
                                 quantity_format(growth->claim->capacity_bytes, buffer)),
    };
    plan_patch(plan, growth->volume->meta.key, edit_volume, mark, PLAN_STOP);
}

/* The disk is large enough: RSZ-15. */
static void
plan_finish(const ExpandController *self, Plan *plan, const InProcessGrowth *growth, int64_t bytes)
{
    ClaimMark *mark;

    if (node_resizes(growth->volume)) {
        mark = claim_mark_new(self, plan, growth->recovers ? RESIZE_NODE_PENDING : 0,
                              CONDITION_FS_RESIZE_PENDING,
                              strings_intern(self->base.strings, FS_RESIZE_MESSAGE));
    } else {
        mark = claim_mark_new(self, plan, growth->recovers ? RESIZE_NONE : 0, NULL, NULL);
        mark->mark.capacity_bytes = bytes;
    }
    plan_patch_status(plan, growth->claim->meta.key, edit_claim, mark, PLAN_STOP);
}

static void
plan_failed(const ExpandController *self,
            Plan *plan,
            const InProcessGrowth *growth,
            const InProcessResult *result)
{
    const ObjectKey *key = growth->claim->meta.key;
    const char *error =
        plan_internf(plan, "error expanding volume \"%s\" of plugin \"%s\": %s", key->text,
                     volume_plugin_find(growth->volume->source)->name, result->error);

    if (growth->recovers && resize_error_class(result->code) == RESIZE_ERROR_INFEASIBLE) {
        ClaimMark *mark = claim_mark_new(self, plan, RESIZE_CONTROLLER_INFEASIBLE,
                                         CONDITION_CONTROLLER_RESIZE_ERROR,
                                         strings_intern(self->base.strings, error));
        mark->mark.keep_conditions = TRUE;
        plan_patch_status(plan, key, edit_claim, mark, PLAN_GO_ON);
    }
    plan_event(plan, &growth->claim->meta, "Warning", "VolumeResizeFailed", "%s", error);
    plan_fail(plan, "%s", error);
}

/* InProcessThen. */
static void
called(const void *component, Plan *plan, const InProcessResult *result)
{
    const ExpandController *self = component;
    const InProcessGrowth *growth = result->data;

    plan_because(plan, "RSZ-15");
    if (result->error != NULL) {
        plan_failed(self, plan, growth, result);
        return;
    }
    int64_t bytes = MAX(result->bytes, growth->bytes);
    plan_volume_size(self, plan, growth, bytes);
    plan_finish(self, plan, growth, bytes);
}

static void
plan_call_plugin(const ExpandController *self, Plan *plan, const InProcessGrowth *growth)
{
    const Volume *volume = growth->volume;
    const CsiCapability capability = {
        .mode = in_process_access_mode(volume->access_modes),
        .type = volume->volume_mode == VOLUME_BLOCK ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
    };

    in_process_begin(self, plan,
                     &(InProcessWork){
                         .driver = backend_of(self, volume),
                         .flex_driver = volume->source->flex_driver,
                         .operation = FLEX_EXPAND_VOLUME,
                         .known = self->flex_drivers,
                         .note = CHANGE_EXPANDING_DRIVER,
                         .request = {.volume_id = volume_backend_id(volume),
                                     .required_bytes = growth->bytes,
                                     .capabilities = &capability,
                                     .n_capabilities = 1},
                         .then = called,
                         .data = growth,
    });
}

/* ---- Before the call ---- */

/* The claim says that its expansion is under way. */
static void
in_process_decide_marked(const void *component, Plan *plan)
{
    const ExpandController *self = component;
    const Claim *claim = CLAIM_CONST(plan_object(plan, plan_last_step(plan)));
    InProcessGrowth *growth = plan_new_arg(plan, InProcessGrowth);

    plan_because(plan, "RSZ-14");
    *growth = (InProcessGrowth){
        .volume = VOLUME_CONST(plan_object(plan, STEP_VOLUME)),
        .claim = claim,
        .recovers = release_has_gate(cluster_release(self->base.cluster), RECOVERS),
    };
    growth->bytes = growth->recovers ? claim->allocated_bytes : claim->request_bytes;
    if (growth->recovers || growth->volume->capacity_bytes < growth->bytes)
        plan_call_plugin(self, plan, growth);
    else
        plan_finish(self, plan, growth, growth->bytes);
}

static void
plan_begin(const ExpandController *self, Plan *plan, const InProcessGrowth *growth)
{
    ClaimMark *mark = claim_mark_new(
        self, plan, growth->recovers ? RESIZE_CONTROLLER_IN_PROGRESS : 0, CONDITION_RESIZING, NULL);

    mark->mark.allocated_bytes = growth->recovers ? growth->bytes : 0;
    mark->resizer_key = strings_intern(self->base.strings, ANNOTATION_STORAGE_RESIZER);
    mark->resizer =
        strings_intern(self->base.strings, volume_plugin_find(growth->volume->source)->name);
    plan_patch_status_at(plan, &growth->claim->meta, edit_claim, mark, PLAN_STOP);
    plan_then(plan, in_process_decide_marked);
}

enum {
    DISK_LARGE = 1 << 0, /* the volume has the size that the claim asks for */
    IN_CONTROLLER = 1 << 1,
    ON_NODE = 1 << 2, /* NodeResizePending or NodeResizeInProgress */
    NODE_GAVE_UP = 1 << 3,
    HAS_TARGET = 1 << 4, /* status.allocatedResources */
    RECOVERY_FACTS_END = 1 << 5,
};

typedef enum {
    RECOVERY_LEAVE,      /* the kubelet is to act */
    RECOVERY_RETRY_NODE, /* the kubelet may try again */
    RECOVERY_TO_TARGET,
    RECOVERY_TO_REQUEST,
} RecoveryAction;

/* expandAndRecoverFunction(). */
static const Rule recovery_table[] = {
    {"RSZ-16.1", DISK_LARGE | ON_NODE,                    0,                                      RECOVERY_LEAVE,      0                      },
    {"RSZ-16.2", DISK_LARGE | NODE_GAVE_UP,               0,                                      RECOVERY_RETRY_NODE, 0                      },
    {"RSZ-16.3", DISK_LARGE | HAS_TARGET | IN_CONTROLLER, 0,                                      RECOVERY_TO_TARGET,  0                      },
    {"RSZ-16.4", DISK_LARGE | IN_CONTROLLER,              HAS_TARGET,                             RECOVERY_TO_REQUEST, 0                      },
    {"RSZ-16.4", DISK_LARGE,                              ON_NODE | NODE_GAVE_UP | IN_CONTROLLER, RECOVERY_TO_REQUEST, 0                      },
    {"RSZ-16.5", HAS_TARGET,                              DISK_LARGE,                             RECOVERY_TO_TARGET,  IN_CONTROLLER | ON_NODE},
    {"RSZ-16.6", HAS_TARGET,                              DISK_LARGE | IN_CONTROLLER | ON_NODE,   RECOVERY_TO_REQUEST, 0                      },
    {"RSZ-16.6", 0,                                       DISK_LARGE | HAS_TARGET,                RECOVERY_TO_REQUEST, 0                      },
};

static const RuleBound recovery_bounds[] = {
    {.given = ON_NODE,       .none = IN_CONTROLLER | NODE_GAVE_UP},
    {.given = IN_CONTROLLER, .none = NODE_GAVE_UP                },
};

const RuleTable expand_recovery_rules = RULE_TABLE("expansion by the controller itself",
                                                   RECOVERY_FACTS_END,
                                                   recovery_table,
                                                   RULE_BOUNDS(recovery_bounds));

static uint32_t
recovery_facts(const Claim *claim, const Volume *volume)
{
    ResizeStatus status = claim_resize_status(claim);
    uint32_t facts = volume->capacity_bytes >= claim->request_bytes ? DISK_LARGE : 0;

    facts |= status == RESIZE_CONTROLLER_IN_PROGRESS ? IN_CONTROLLER : 0;
    facts |= (status & (RESIZE_NODE_PENDING | RESIZE_NODE_IN_PROGRESS)) != 0 ? ON_NODE : 0;
    facts |= status == RESIZE_NODE_INFEASIBLE ? NODE_GAVE_UP : 0;
    facts |= claim->allocated_bytes > 0 ? HAS_TARGET : 0;
    return facts;
}

static void
plan_recovering(const ExpandController *self, Plan *plan, InProcessGrowth *growth)
{
    const Claim *claim = growth->claim;

    switch ((RecoveryAction)plan_judge(plan, &expand_recovery_rules,
                                       recovery_facts(claim, growth->volume))) {
    case RECOVERY_LEAVE:
        return;
    case RECOVERY_RETRY_NODE:
        plan_finish(self, plan, growth, claim->request_bytes);
        return;
    case RECOVERY_TO_TARGET:
        growth->bytes = claim->allocated_bytes;
        plan_begin(self, plan, growth);
        return;
    case RECOVERY_TO_REQUEST:
        plan_begin(self, plan, growth);
        return;
    }
    g_assert_not_reached();
}

/* ObjectEdit. */
static gboolean
edit_forget_size(Object *volume, const void *key)
{
    return object_set_annotation(volume, key, NULL);
}

void
expand_plan_in_process(const ExpandController *self,
                       Plan *plan,
                       const Claim *claim,
                       const Volume *volume)
{
    const char *key = strings_intern(self->base.strings, ANNOTATION_PRE_RESIZE_CAPACITY);
    InProcessGrowth *growth = plan_new_arg(plan, InProcessGrowth);

    plan_because(plan, "RSZ-17");
    if (claim->capacity_bytes >= volume->capacity_bytes &&
        claim->request_bytes <= volume->capacity_bytes &&
        object_annotation(&volume->meta, key) != NULL) {
        plan_patch(plan, volume->meta.key, edit_forget_size, key, PLAN_STOP);
        return;
    }
    *growth = (InProcessGrowth){
        .volume = volume,
        .claim = CLAIM_CONST(plan_keep(plan, &claim->meta)),
        .bytes = claim->request_bytes,
        .recovers = release_has_gate(cluster_release(self->base.cluster), RECOVERS),
    };
    plan_because(plan, "RSZ-14");
    if (growth->recovers)
        plan_recovering(self, plan, growth);
    else
        plan_begin(self, plan, growth);
}
