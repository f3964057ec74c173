/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attach limits that change in place, with the gate MutableCSINodeAllocatableCount:
 * csi_node_updater.go, updateCSIDriver() and VerifyExhaustedResource() in csi_plugin.go (REG-36 to
 * REG-38). For each registered driver whose CSIDriver object names a period, it asks NodeGetInfo
 * on a grid of that period and writes a limit that differs. After a pod's wait for volumes has
 * ended in vain, it reads the attachments of that pod; if one says that the node is full, it
 * updates the limit at once and the pod is rejected.
 *
 * Invariant: one update for each driver at a time; a period that changes moves the grid, not the
 * update under way. */
#include "attach-limits.h"

#include "models/volume/plugins.h"

/* What the decide functions of a plan leave for each other. */
typedef struct {
    const char *driver; /* whose limit is asked for */
    int told;           /* the step of NodeGetInfo */
    unsigned n_tries;   /* of the write */
    unsigned mount;     /* of the pod: the one at hand */
    gboolean is_exhausted;
    PlanDecide done; /* NULL: nothing follows */
} LimitNotes;

static gboolean
is_on(const Kubelet *self)
{
    return release_has_gate(kubelet_release(self), "MutableCSINodeAllocatableCount");
}

/* Returns: 0: the driver's limit stays as it was registered */
static SimTime
period_of(const Kubelet *self, const char *driver)
{
    const Object *object = informer_find(self->drivers, NULL, driver);

    return object == NULL ? 0 : CSI_DRIVER_OBJECT(object)->allocatable_period_s * SIM_SECOND;
}

/* ---- One update: REG-37 ---- */

static void
attach_limits_go_on(const Kubelet *self, Plan *plan)
{
    const LimitNotes *notes = plan_notes(plan);

    if (notes->done != NULL)
        notes->done(self, plan);
}

static void attach_limits_decide_read(const void *data, Plan *plan);

/* The pauses of a registration (REG-20); then the limit stays until the next update. */
static void
attach_limits_decide_written(const void *data, Plan *plan)
{
    static const SimTime pauses[] = {10 * SIM_MS, 50 * SIM_MS, 250 * SIM_MS};
    const Kubelet *self = data;
    LimitNotes *notes = plan_notes(plan);

    if (plan_code(plan, plan_last_step(plan)) == API_OK || notes->n_tries >= G_N_ELEMENTS(pauses)) {
        attach_limits_go_on(self, plan);
        return;
    }
    plan_because(plan, "REG-37");
    plan_wait(plan, pauses[notes->n_tries++], WAIT_BACKOFF);
    plan_get(plan, node_info_csi_node_key(self), PLAN_DECIDE);
    plan_then(plan, attach_limits_decide_read);
}

static void
attach_limits_decide_read(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const LimitNotes *notes = plan_notes(plan);
    const Object *csi_node = plan_object(plan, plan_last_step(plan));

    if (csi_node == NULL) {
        attach_limits_decide_written(self, plan);
        return;
    }
    plan_because(plan, "REG-37");
    plan_update(plan, csi_node, node_info_edit_csi_node,
                plugin_registration_info(self, plan, notes->driver, notes->told), PLAN_DECIDE);
    plan_then(plan, attach_limits_decide_written);
}

static void
attach_limits_decide_told(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    if (response->code != CSI_OK || response->node_id == NULL) {
        attach_limits_go_on(self, plan);
        return;
    }
    plan_because(plan, "REG-37");
    plan_get(plan, node_info_csi_node_key(self), PLAN_DECIDE);
    plan_then(plan, attach_limits_decide_read);
}

static void
plan_update_limit(const Kubelet *self, Plan *plan, LimitNotes *notes)
{
    CsiDriver *driver = plugin_registration_driver(self, notes->driver);
    CsiRequest request = {
        .method = CSI_NODE_GET_INFO,
        .served_by = self->base.node_name,
        .timeout_ns = 120 * SIM_SECOND,
    };

    if (driver == NULL) {
        attach_limits_go_on(self, plan);
        return;
    }
    plan_because(plan, "REG-37");
    notes->told = plan_call(plan, driver, &request, PLAN_DECIDE);
    plan_then(plan, attach_limits_decide_told);
}

/* ---- From time to time: REG-36 ---- */

static void
decide_update(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const NodePlugin *plugin = plan_operation(plan);
    LimitNotes *notes = plan_new_notes(plan, LimitNotes, NULL);

    notes->driver = cluster_driver_name(self->base.cluster, plugin->driver);
    plan_update_limit(self, plan, notes);
}

static void update_later(NodePlugin *plugin);

static void
update_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    (void)data, (void)end, (void)message;
    update_later(plan_done_operation(plan));
}

static void
update(Sim *sim, void *data)
{
    NodePlugin *plugin = data;
    Kubelet *self = plugin->kubelet;

    (void)sim;
    plugin->limit_update = 0;
    plugin->limit_updating = TRUE;
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_update,
        .key = self->node_key,
        .operation = plugin,
        .done = update_over,
    });
}

static const SimEventType update_event = {
    .name = "kubelet/update of an attach limit",
    .fire = update,
};

/* A ticker: an instant that comes while an update is under way is left out. */
static void
update_later(NodePlugin *plugin)
{
    Sim *sim = plugin->kubelet->base.sim;

    plugin->limit_updating = FALSE;
    if (plugin->limit_period <= 0)
        return;
    SimTime passed = (sim_now(sim) - plugin->limit_from) % plugin->limit_period;
    plugin->limit_update =
        sim_after(sim, plugin->limit_period - passed, &update_event, plugin, WAIT_POLL);
}

void
attach_limits_sync(NodePlugin *plugin, gboolean is_new)
{
    const Kubelet *self = plugin->kubelet;
    Sim *sim = self->base.sim;

    if (!is_on(self))
        return;
    SimTime period = plugin->registered
                         ? period_of(self, cluster_driver_name(self->base.cluster, plugin->driver))
                         : 0;
    if (period == plugin->limit_period && !is_new)
        return;
    sim_cancel(sim, plugin->limit_update);
    plugin->limit_update = 0;
    plugin->limit_period = period;
    plugin->limit_from = sim_now(sim);
    if (period > 0 && sim_now(sim) == 0) { /* registered at some time before the run */
        SimStream stream = sim_stream(sim, "kubelet/limit update");
        uint64_t entity = sim_hash_combine(self->node_key->hash, plugin->driver);
        plugin->limit_from -= (SimTime)sim_random_below(stream, entity, 0, (uint64_t)period);
    }
    if (!plugin->limit_updating)
        update_later(plugin);
}

static void
driver_changed(void *data, const Object *before, const Object *after)
{
    Kubelet *self = data;

    if (before == after)
        return;
    for (unsigned i = 0; i < self->plugin_manager->n_plugins; i++)
        attach_limits_sync(&self->plugin_manager->plugins[i], FALSE);
}

void
attach_limits_init(Kubelet *self)
{
    if (!is_on(self))
        return;
    self->drivers = process_informer(self->base.process, KIND_CSI_DRIVER, NULL);
    informer_add_handler(self->drivers, driver_changed, self);
}

/* ---- After a failure: REG-38 ---- */

static void decide_attachment(const void *data, Plan *plan);

/* Reads the attachment of the pod's next volume that is not attached. */
static void
plan_next_attachment(const Kubelet *self, Plan *plan, LimitNotes *notes)
{
    const PodWorker *worker = plan_operation(plan);

    for (; notes->mount < worker->n_mounts; notes->mount++) {
        const NodeVolume *volume = worker->mounts[notes->mount].volume;
        const VolumeSource *source = volume == NULL || !volume->attachable || volume->in_actual
                                         ? NULL
                                         : VOLUME_CONST(volume->pv)->source;
        if (source == NULL || source->driver == NULL || period_of(self, source->driver) == 0)
            continue;
        notes->driver = source->driver;
        plan_because(plan, "REG-38");
        plan_get(plan,
                 volume_attachment_key(self->base.objects, source->driver, source->handle,
                                       self->base.node_name),
                 PLAN_DECIDE);
        plan_then(plan, decide_attachment);
        return;
    }
    attach_limits_go_on(self, plan);
}

static void
decide_attachment(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Object *attachment = plan_object(plan, plan_last_step(plan));
    LimitNotes *notes = plan_notes(plan);

    if (attachment == NULL || ATTACHMENT(attachment)->attach_error.code != CSI_RESOURCE_EXHAUSTED) {
        notes->mount++;
        plan_next_attachment(self, plan, notes);
        return;
    }
    notes->is_exhausted = TRUE;
    plan_update_limit(self, plan, notes);
}

gboolean
attach_limits_are_verified(const Kubelet *self)
{
    return kubelet_release(self)->minor >= 34 && is_on(self);
}

gboolean
attach_limits_verify(const Kubelet *self, Plan *plan, PlanDecide done)
{
    if (!attach_limits_are_verified(self))
        return FALSE;
    LimitNotes *notes = plan_new_notes(plan, LimitNotes, NULL);
    notes->done = done;
    plan_next_attachment(self, plan, notes);
    return TRUE;
}

gboolean
attach_limits_are_exhausted(Plan *plan)
{
    return ((const LimitNotes *)plan_notes(plan))->is_exhausted;
}
