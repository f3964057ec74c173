/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent of a node: syncZV() in zfs-localpv's pkg/mgmt/volume/volume.go. It makes the volume of
 * a LocalVolume at its node's back end, or destroys it; a rule table decides from the object alone.
 * Finalizers of others are waited for. The state that it writes is the outcome: a failed volume has
 * nothing to destroy and is the controller's until it is Pending again (LOC-20, LOC-22). */
#include "local-volume.h"

#include "models/api/local/local-volume.h"
#include "models/plan/plan.h"

#define N_WORKERS 2 /* LOC-20 */

typedef struct {
    Component base;
    Informer *volumes;
    Workers *workers;
    const char *finalizer; /* interned */
} LocalVolumeAgent;

enum {
    THERE = 1 << 0,
    GOING = 1 << 1,  /* it has a deletionTimestamp */
    OTHERS = 1 << 2, /* finalizers of others */
    READY = 1 << 3,
    AGENT_FACTS_END = 1 << 4,
};

enum {
    FORGET,
    DESTROY,
    WAIT_FOR_OTHERS,
    LEAVE,
    MAKE,
};

static const Rule agent_table[] = {
    {"LOC-21.1", 0,                      THERE,         FORGET         },
    {"LOC-21.2", THERE | GOING,          OTHERS,        DESTROY        },
    {"LOC-21.3", THERE | GOING | OTHERS, 0,             WAIT_FOR_OTHERS},
    {"LOC-21.4", THERE | READY,          GOING,         LEAVE          },
    {"LOC-21.5", THERE,                  GOING | READY, MAKE           },
};
static const RuleTable agent_rules = RULE_TABLE("local volumes", AGENT_FACTS_END, agent_table);

static gboolean
has_other_finalizers(const LocalVolumeAgent *self, const Object *object)
{
    for (unsigned i = 0; object->finalizers != NULL && i < object->finalizers->n_items; i++)
        if (object->finalizers->items[i] != self->finalizer)
            return TRUE;
    return FALSE;
}

static uint32_t
agent_facts_of(const LocalVolumeAgent *self, const Object *object)
{
    if (object == NULL)
        return 0;
    return THERE | (object_is_deleted(object) ? GOING : 0) |
           (has_other_finalizers(self, object) ? OTHERS : 0) |
           (LOCAL_VOLUME_CONST(object)->state == LOCAL_VOLUME_READY ? READY : 0);
}

typedef struct {
    LocalVolumeState state;
    const char *finalizer; /* NULL: none */
} AgentOutcome;

static gboolean
set_outcome(Object *object, const void *data)
{
    const AgentOutcome *outcome = data;

    LOCAL_VOLUME(object)->state = outcome->state;
    if (outcome->finalizer != NULL)
        object_add_finalizer(object, outcome->finalizer);
    return TRUE;
}

/* LOC-22: the volume's state is taken; a failed volume has nothing to destroy. */
static void
decide_made(const void *data, Plan *plan)
{
    const LocalVolumeAgent *self = data;
    const Object *const *object = plan_notes(plan);
    AgentOutcome *outcome = plan_new_arg(plan, AgentOutcome);

    plan_because(plan, "LOC-22");
    *outcome = plan_has_failed(plan) ? (AgentOutcome){LOCAL_VOLUME_FAILED, NULL}
                                     : (AgentOutcome){LOCAL_VOLUME_READY, self->finalizer};
    plan_update(plan, *object, set_outcome, outcome, PLAN_STOP);
}

/* A LocalVolume does not tell how it will be used, so it is taken as usable in both ways, on one
 * node. */
static void
make(const LocalVolumeAgent *self, Plan *plan, const Object *object)
{
    static const CsiCapability any[] = {
        {.mode = CSI_SINGLE_NODE_WRITER, .type = CSI_ACCESS_MOUNT},
        {.mode = CSI_SINGLE_NODE_WRITER, .type = CSI_ACCESS_BLOCK},
    };

    *plan_new_notes(plan, const Object *, NULL) = plan_keep(plan, object);
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_CREATE_VOLUME,
                            .served_by = self->base.node_name,
                            .name = object_name(object),
                            .required_bytes = LOCAL_VOLUME_CONST(object)->capacity_bytes,
                            .capabilities = any,
                            .n_capabilities = G_N_ELEMENTS(any)},
              PLAN_DECIDE);
    plan_then(plan, decide_made);
}

static void
destroy(const LocalVolumeAgent *self, Plan *plan, const Object *object)
{
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_DELETE_VOLUME,
                            .served_by = self->base.node_name,
                            .volume_id = object_name(object)},
              PLAN_STOP);
    plan_update(plan, object, edit_remove_finalizer, self->finalizer, PLAN_GONE_IS_FINE);
}

static void
decide_sync(const void *data, Plan *plan)
{
    const LocalVolumeAgent *self = data;
    const Object *object = informer_get(self->volumes, plan_key(plan));

    switch (plan_judge(plan, &agent_rules, agent_facts_of(self, object))) {
    case FORGET:
    case LEAVE: /* only its properties might change */
        return;
    case DESTROY:
        destroy(self, plan, object);
        return;
    case WAIT_FOR_OTHERS:
        plan_fail(plan, "can not destroy, waiting for finalizers to be removed");
        return;
    case MAKE:
        make(self, plan, object);
        return;
    }
    g_assert_not_reached();
}

/* LOC-20: acts on volumes of its own node only; a Failed volume belongs to the controller until it
 * is Pending again. */
static void
agent_volume_changed(void *data, const Object *before, const Object *after)
{
    LocalVolumeAgent *self = data;

    if (after == NULL || LOCAL_VOLUME_CONST(after)->node != self->base.node_name)
        return;
    if (before == NULL || object_is_deleted(after) ||
        LOCAL_VOLUME_CONST(after)->state == LOCAL_VOLUME_PENDING)
        workers_add(self->workers, after->key);
}

#define SELF LocalVolumeAgent
static const ComponentPart parts[] = {
    HAS_TEXT(finalizer, FINALIZER_LOCAL_VOLUME),
    HAS_INFORMER(volumes, KIND_LOCAL_VOLUME, .changed = agent_volume_changed),
    HAS_WORKERS(workers, "ZV", decide_sync, .n_workers = N_WORKERS),
};

static gboolean
agent_runs_on_nodes(const void *options)
{
    (void)options;
    return TRUE;
}

static const ProcessFlag flags[] = {
    {NULL, FLAG_BOOL, 0, NULL, NULL},
};

const ProcessClass local_volume_agent_process = {
    .name = "local-volume-agent",
    .scope = PER_DRIVER,
    .options_size = 0,
    .flags = flags,
    .is_optional = TRUE,
    .runs_on_nodes = agent_runs_on_nodes,
    .startup = offsetof(Timing, sidecar_start), /* as a sidecar, TIM-91 */
};

const ModelClass local_volume_agent_class = {
    .name = "local-volume-agent",
    .process = &local_volume_agent_process,
    .rule_tables = RULE_TABLES(&agent_rules),
    PARTS(parts),
};
