/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's controller: CreateVolume and DeleteVolume in zfs-localpv's pkg/driver/controller.go,
 * ProvisionVolume in pkg/zfs/volume.go. It tries one node after the other: writes a LocalVolume,
 * and looks every second until the node's agent has answered, ten seconds are over or the caller's
 * deadline is. It asks the API server itself: there are no informers. All errors are INTERNAL, as
 * the driver says it. Before giving up it takes the LocalVolume back, so that no later call finds a
 * resource of a node that cannot. */
#include "local-volume.h"
#include "placement.h"

#include "models/api/fields.h"
#include "models/cluster/cluster.h"
#include "models/plan/plan.h"
#include "models/timing/waits.h"

#define LOOK_PERIOD SIM_SECOND /* LOC-14 */
#define SERVED                                                                                     \
    (1u << CSI_CREATE_VOLUME | 1u << CSI_DELETE_VOLUME | 1u << CSI_CONTROLLER_EXPAND_VOLUME)
#define NODE_TIMEOUT (10 * SIM_SECOND) /* LOC-15 */

typedef struct {
    Component base;
    const LocalVolumeControllerOptions *options; /* borrowed, of the process */
} LocalVolumeController;

/* A call of a sidecar: the operation of a plan. */
typedef struct {
    SimMemory *memory; /* borrowed */
    CsiCallId id;
    CsiRequest *request; /* (owned) */
    SimTime deadline;    /* of the caller */
} ServedCall;

/* The notes of a CreateVolume. */
typedef struct {
    LocalCandidate *candidates; /* in the order in which they are tried */
    unsigned n, next;
    SimTime tried_at; /* the last one */
    const char *error;
} Placement;

/* Changes of private state: PlanChange.what. */
enum {
    ANSWER, /* pointer: the response of plan_done_operation() */
};

typedef struct {
    CsiCallId id;
    CsiResponse response;
} ControllerAnswer;

static void
plan_answer(Plan *plan, const CsiResponse *response)
{
    const ServedCall *call = plan_operation(plan);
    ControllerAnswer *answer = plan_new_arg(plan, ControllerAnswer);

    *answer = (ControllerAnswer){call->id, *response};
    plan_change(plan, &(PlanChange){.what = ANSWER, .pointer = answer});
}

static void
controller_refuse(Plan *plan, CsiCode code, const char *message)
{
    plan_answer(plan, &(CsiResponse){.code = code, .message = message});
}

static void
answer_ok(Plan *plan)
{
    plan_answer(plan, &(CsiResponse){.code = CSI_OK});
}

/* ---- One node after the other ---- */

static void try_next_node(Plan *plan);

static void
decide_gave_up(const void *data, Plan *plan)
{
    const Placement *placement = plan_notes(plan);

    (void)data;
    plan_fail(plan, "not able to provision the volume: %s", placement->error);
}

/* LOC-15, LOC-16: no later call may find the resource of a node that cannot. */
static void
give_up(Plan *plan, const char *rule, const char *error)
{
    ((Placement *)plan_notes(plan))->error = error;
    plan_because(plan, rule);
    plan_delete(plan, plan_key(plan), (ObjectUid){0, 0}, -1, PLAN_GO_ON);
    plan_then(plan, decide_gave_up);
}

static void
node_failed(Plan *plan, const char *error)
{
    const Placement *placement = plan_notes(plan);

    if (placement->next < placement->n)
        try_next_node(plan);
    else
        give_up(plan, "LOC-16", error);
}

enum {
    THERE = 1 << 0,
    READY = 1 << 1,
    FAILED = 1 << 2,
    LOOK_FACTS_END = 1 << 3,
};

enum {
    NODE_FAILED,
    NODE_IS_DONE,
    LOOK_AGAIN,
};

static const Rule look_table[] = {
    {"LOC-14.1", 0,              THERE,          NODE_FAILED },
    {"LOC-14.2", THERE | READY,  0,              NODE_IS_DONE},
    {"LOC-14.3", THERE | FAILED, READY,          NODE_FAILED },
    {"LOC-14.4", THERE,          READY | FAILED, LOOK_AGAIN  },
};
static const RuleTable look_rules = RULE_TABLE("looks", LOOK_FACTS_END, look_table);

static void controller_look(const void *data, Plan *plan);

static void
decide_looked(const void *data, Plan *plan)
{
    const LocalVolume *volume = LOCAL_VOLUME_CONST(plan_object(plan, plan_last_step(plan)));
    uint32_t facts = 0;

    (void)data;
    if (volume != NULL)
        facts = THERE | (volume->state == LOCAL_VOLUME_READY ? READY : 0) |
                (volume->state == LOCAL_VOLUME_FAILED ? FAILED : 0);
    switch (plan_judge(plan, &look_rules, facts)) {
    case NODE_FAILED:
        node_failed(plan, "volume creation failed");
        return;
    case NODE_IS_DONE:
        answer_ok(plan);
        return;
    case LOOK_AGAIN:
        plan_wait(plan, LOOK_PERIOD, WAIT_POLL);
        plan_then(plan, controller_look);
        return;
    }
    g_assert_not_reached();
}

static void
controller_look(const void *data, Plan *plan)
{
    const Placement *placement = plan_notes(plan);
    const ServedCall *call = plan_operation(plan);
    SimTime now = plan_now(plan);

    (void)data;
    if (now >= call->deadline || now - placement->tried_at >= NODE_TIMEOUT) {
        give_up(plan, "LOC-15", "timeout reached");
        return;
    }
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_looked);
}

static void
controller_decide_written(const void *data, Plan *plan)
{
    if (plan_has_failed(plan))
        node_failed(plan, plan_last_message(plan));
    else
        controller_look(data, plan);
}

typedef struct {
    const char *node, *pool;
    int64_t bytes;
} ControllerWanted;

static gboolean
set_wanted(Object *object, const void *data)
{
    const ControllerWanted *wanted = data;
    LocalVolume *volume = LOCAL_VOLUME(object);

    volume->node = wanted->node;
    volume->pool = wanted->pool;
    volume->capacity_bytes = wanted->bytes;
    volume->state = LOCAL_VOLUME_PENDING;
    return TRUE;
}

static void
decide_write(const void *data, Plan *plan)
{
    Placement *placement = plan_notes(plan);
    const ServedCall *call = plan_operation(plan);
    const Object *found = plan_object(plan, plan_last_step(plan));
    ControllerWanted *wanted = plan_new_arg(plan, ControllerWanted);

    (void)data;
    *wanted = (ControllerWanted){placement->candidates[placement->next - 1].node,
                                 local_parameter(call->request->parameters, "poolname"),
                                 local_round_capacity(call->request->required_bytes)};
    placement->tried_at = plan_now(plan);
    plan_because(plan, "LOC-13");
    if (found != NULL) {
        plan_update(plan, found, set_wanted, wanted, PLAN_DECIDE);
    } else {
        Object *object = object_new(plan_key(plan));
        set_wanted(object, wanted);
        plan_create(plan, object, PLAN_DECIDE);
    }
    plan_then(plan, controller_decide_written);
}

static void
try_next_node(Plan *plan)
{
    ((Placement *)plan_notes(plan))->next++;
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_write);
}

/* ---- The choice among nodes ---- */

static void
decide_order(const void *data, Plan *plan)
{
    const LocalVolumeController *self = data;
    const ServedCall *call = plan_operation(plan);
    Placement *placement = plan_notes(plan);
    const char *name = local_parameter(call->request->parameters, "scheduler");
    const char *pool = local_parameter(call->request->parameters, "poolname");
    LocalScheduler scheduler = local_scheduler_of(name != NULL ? name : self->options->scheduler);
    const Object *volume;
    uint32_t slot = 0;

    plan_because(plan, "LOC-12");
    while ((volume = plan_list_next(plan, plan_last_step(plan), &slot)) != NULL)
        local_weigh(placement->candidates, placement->n, LOCAL_VOLUME_CONST(volume), pool,
                    scheduler);
    local_order(placement->candidates, placement->n);
    try_next_node(plan);
}

static void
decide_candidates(const void *data, Plan *plan)
{
    const ServedCall *call = plan_operation(plan);
    Placement *placement = plan_notes(plan);
    unsigned n = plan_list_length(plan, plan_last_step(plan));
    const Object *node;
    uint32_t slot = 0;

    (void)data;
    placement->candidates = plan_alloc(plan, MAX(n, 1) * sizeof(LocalCandidate));
    while ((node = plan_list_next(plan, plan_last_step(plan), &slot)) != NULL) {
        if (local_is_wanted(call->request, node->labels))
            placement->candidates[placement->n++] = (LocalCandidate){.node = object_name(node)};
    }
    if (placement->n == 0) {
        plan_because(plan, "LOC-18");
        plan_fail(plan, "scheduler failed, node list is empty for creating the PV");
        return;
    }
    plan_list(plan, KIND_LOCAL_VOLUME, PLAN_STOP);
    plan_then(plan, decide_order);
}

/* ---- CreateVolume ---- */

enum {
    IS_THERE = 1 << 0,
    GOING = 1 << 1, /* it has a deletionTimestamp */
    FITS = 1 << 2,  /* the same size */
    IS_READY = 1 << 3,
    FOUND_FACTS_END = 1 << 4,
};

enum {
    PLACE,
    OTHER_SIZE,
    IN_PROGRESS,
    REPEAT,
};

static const Rule found_table[] = {
    {"LOC-10.1", 0,                          IS_THERE,         PLACE      },
    {"LOC-10.2", IS_THERE | GOING,           0,                PLACE      },
    {"LOC-10.3", IS_THERE,                   GOING | FITS,     OTHER_SIZE },
    {"LOC-10.4", IS_THERE | FITS,            GOING | IS_READY, IN_PROGRESS},
    {"LOC-10.5", IS_THERE | FITS | IS_READY, GOING,            REPEAT     },
};
static const RuleTable found_rules = RULE_TABLE("found volumes", FOUND_FACTS_END, found_table);

static uint32_t
found_facts(const LocalVolume *volume, int64_t bytes)
{
    if (volume == NULL)
        return 0;
    return IS_THERE | (object_is_deleted(&volume->meta) ? GOING : 0) |
           (volume->capacity_bytes == bytes ? FITS : 0) |
           (volume->state == LOCAL_VOLUME_READY ? IS_READY : 0);
}

static void
decide_found(const void *data, Plan *plan)
{
    const ServedCall *call = plan_operation(plan);
    const LocalVolume *volume = LOCAL_VOLUME_CONST(plan_object(plan, plan_last_step(plan)));
    int64_t bytes = local_round_capacity(call->request->required_bytes);

    (void)data;
    plan_new_notes(plan, Placement, NULL);
    if (call->request->source_kind != CSI_SOURCE_NONE) {
        controller_refuse(plan, CSI_INVALID_ARGUMENT, "volume content source not supported");
        return;
    }
    switch (plan_judge(plan, &found_rules, found_facts(volume, bytes))) {
    case PLACE:
        plan_list(plan, KIND_NODE, PLAN_STOP);
        plan_then(plan, decide_candidates);
        return;
    case OTHER_SIZE:
        controller_refuse(plan, CSI_ALREADY_EXISTS,
                          plan_internf(plan, "volume %s already present", call->request->name));
        return;
    case IN_PROGRESS:
        controller_refuse(
            plan, CSI_ABORTED,
            plan_internf(plan, "volume %s request already pending", call->request->name));
        return;
    case REPEAT:
        answer_ok(plan);
        return;
    }
    g_assert_not_reached();
}

/* ---- DeleteVolume ---- */

enum {
    DELETED,
    DELETE_IT,
    NOT_READY,
};

static const Rule delete_table[] = {
    {"LOC-17.1", 0,                   IS_THERE,         DELETED  },
    {"LOC-17.2", IS_THERE | GOING,    0,                DELETED  },
    {"LOC-17.3", IS_THERE,            GOING | IS_READY, NOT_READY},
    {"LOC-17.4", IS_THERE | IS_READY, GOING,            DELETE_IT},
};
static const RuleTable delete_rules = RULE_TABLE("deletions", FOUND_FACTS_END, delete_table);

static void
controller_decide_delete(const void *data, Plan *plan)
{
    const Object *object = plan_object(plan, plan_last_step(plan));

    (void)data;
    switch (plan_judge(plan, &delete_rules, found_facts(LOCAL_VOLUME_CONST(object), 0))) {
    case NOT_READY:
        plan_fail(plan, "can not delete, volume creation is in progress");
        return;
    case DELETE_IT:
        plan_delete(plan, plan_key(plan), (ObjectUid){0, 0}, -1, PLAN_GONE_IS_FINE);
        break;
    case DELETED:
        break;
    }
    answer_ok(plan);
}

/* ---- ControllerExpandVolume: LOC-19 ---- */

static gboolean
controller_set_capacity(Object *object, const void *data)
{
    LOCAL_VOLUME(object)->capacity_bytes = *(const int64_t *)data;
    return TRUE;
}

static void
decide_grown(const void *data, Plan *plan)
{
    (void)data;
    plan_answer(plan, plan_response(plan, plan_last_step(plan)));
}

/* In zfs-localpv the node's plugin grows the volume in NodeExpandVolume. */
static void
local_volume_controller_grow(const LocalVolumeController *self, Plan *plan, const char *node)
{
    const ServedCall *call = plan_operation(plan);
    CsiRequest request = *call->request;

    request.served_by = node; /* so it goes to the back end */
    request.required_bytes = local_round_capacity(request.required_bytes);
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_grown);
}

static void
decide_resized(const void *data, Plan *plan)
{
    const Object *object = plan_object(plan, plan_last_step(plan));

    if (plan_has_failed(plan))
        plan_fail(plan, "failed to update the volume: %s", plan_last_message(plan));
    else
        local_volume_controller_grow(data, plan, LOCAL_VOLUME_CONST(object)->node);
}

static void
decide_expand(const void *data, Plan *plan)
{
    const ServedCall *call = plan_operation(plan);
    const LocalVolume *volume = LOCAL_VOLUME_CONST(plan_object(plan, plan_last_step(plan)));
    int64_t *bytes = plan_new_arg(plan, int64_t);

    (void)data;
    plan_because(plan, "LOC-19");
    *bytes = local_round_capacity(call->request->required_bytes);
    if (volume == NULL) {
        plan_fail(plan, "failed to get the volume %s", call->request->volume_id);
    } else if (volume->capacity_bytes >= *bytes) {
        plan_answer(plan, &(CsiResponse){.code = CSI_OK, .capacity_bytes = volume->capacity_bytes});
    } else {
        plan_update(plan, &volume->meta, controller_set_capacity, bytes, PLAN_DECIDE);
        plan_then(plan, decide_resized);
    }
}

/* ---- Calls ---- */

static PlanDecide
deciding(CsiMethod method)
{
    return method == CSI_CREATE_VOLUME   ? decide_found
           : method == CSI_DELETE_VOLUME ? controller_decide_delete
                                         : decide_expand;
}

static void
controller_decide_call(const void *data, Plan *plan)
{
    const ServedCall *call = plan_operation(plan);

    (void)data;
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, deciding(call->request->method));
}

static void
served_call_free(void *data)
{
    ServedCall *self = data;

    csi_request_free(self->memory, self->request);
    g_free(self);
}

/* Errors of requests and of plan_fail(): the driver says INTERNAL to all of them. */
static void
call_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    const ServedCall *call = plan_done_operation(plan);

    if (end == PLAN_FAILED)
        cluster_answer_call(data, call->id,
                            &(CsiResponse){.code = CSI_INTERNAL, .message = message});
}

static void
controller_serve(void *data, CsiCallId id, const CsiRequest *request)
{
    LocalVolumeController *self = data;
    const char *name = request->method == CSI_CREATE_VOLUME ? request->name : request->volume_id;
    ServedCall *call = g_new(ServedCall, 1);
    SimTime now = sim_now(self->base.sim);

    *call = (ServedCall){.memory = sim_memory(self->base.sim), .id = id, .deadline = SIM_TIME_MAX};
    call->request = csi_request_copy(call->memory, request);
    if (request->deadline > 0)
        call->deadline = request->deadline;
    else if (request->timeout_ns > 0)
        call->deadline = sim_time_add(now, request->timeout_ns);
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = controller_decide_call,
        .key = objects_key(self->base.objects, KIND_LOCAL_VOLUME, LOCAL_VOLUME_NAMESPACE, name),
        .operation = call,
        .free_operation = served_call_free,
        .done = call_over,
    });
}

static void
controller_apply_change(void *data, const PlanChange *change)
{
    const ControllerAnswer *answer = change->pointer;

    g_assert(change->what == ANSWER);
    cluster_answer_call(data, answer->id, &answer->response);
}

static void
controller_init(void *data)
{
    LocalVolumeController *self = data;

    self->options = self->base.options;
    cluster_serve_calls(&self->base, SERVED, controller_serve);
}

static void
controller_clear(void *data)
{
    LocalVolumeController *self = data;

    cluster_serve_calls(&self->base, SERVED, NULL);
}

static const ProcessFlag flags[] = {
    PROCESS_FLAG("scheduler",
                 FLAG_STRING,
                 LocalVolumeControllerOptions,
                 scheduler,
                 "CapacityWeighted",
                 "Choice among nodes for classes that name none: CapacityWeighted or "
                 "VolumeWeighted (LOC-12)"),
    {NULL, FLAG_BOOL, 0, NULL, NULL},
};

const ProcessClass local_volume_controller_process = {
    .name = "local-volume-controller",
    .scope = PER_DRIVER,
    .options_size = sizeof(LocalVolumeControllerOptions),
    .flags = flags,
    .is_optional = TRUE,
    .startup = offsetof(Timing, sidecar_start), /* as a sidecar, TIM-91 */
};

const ModelClass local_volume_controller_class = {
    .name = "local-volume-controller",
    .process = &local_volume_controller_process,
    .size = sizeof(LocalVolumeController),
    .rule_tables = RULE_TABLES(&found_rules, &look_rules, &delete_rules),
    .init = controller_init,
    .clear = controller_clear,
    .apply_change = controller_apply_change,
};
