/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registration of drivers on a node: the operations of pkg/kubelet/pluginmanager, csi_plugin.go's
 * RegisterPlugin(), nodeinfomanager.go. A registration asks the registrar, then NodeGetInfo, then
 * writes Node and CSINode, each with the tries of REG-20; the end of one takes both writes back.
 * It decides from the driver's answer, the cached Node and what it reads live.
 *
 * When the cluster starts, drivers are registered already. Registration's writes are then part of
 * the initial state: plans make them at once. A driver with a `registersAfter` registers as on a
 * running node. */
#include "attach-limits.h"

static PluginNodeInfo *
plan_info(const Kubelet *self, Plan *plan, int call)
{
    return plugin_registration_info(self, plan, plugin_name(self, plan_operation(plan)), call);
}

/* ---- With the cluster's start ---- */

enum { INFO_AT_ONCE, NODE_AT_ONCE, CSI_NODE_AT_ONCE }; /* steps */

static void
decide_install_at_once(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Object *node = plan_object(plan, NODE_AT_ONCE);
    const Object *csi_node = plan_object(plan, CSI_NODE_AT_ONCE);
    PluginNodeInfo *info = plan_info(self, plan, INFO_AT_ONCE);
    const NodePlugin *plugin = plan_operation(plan);
    const char *taint = cluster_node_plugin(self->base.cluster, plugin->driver)->removes_taint;

    info->only_if_absent = TRUE;
    if (node == NULL)
        return;
    if (node_info_find_collision(node, info->segments) == NULL)
        plan_patch(plan, self->node_key, node_info_edit_node, info, PLAN_GO_ON);
    if (taint != NULL) /* REG-41 */
        plan_patch(plan, self->node_key, startup_taint_edit, taint, PLAN_GO_ON);
    if (csi_node != NULL) {
        plan_patch(plan, csi_node->key, node_info_edit_csi_node, info, PLAN_GO_ON);
        return;
    }
    Object *created = node_info_new_csi_node(self, node);
    node_info_edit_csi_node(created, info);
    plan_create(plan, created, PLAN_GO_ON);
}

/* Fails if the driver's answer is not known beforehand; then the kubelet asks it. */
void
plugin_registration_decide_at_once(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const NodePlugin *plugin = plan_operation(plan);
    CsiRequest request = {.method = CSI_NODE_GET_INFO, .served_by = self->base.node_name};

    plan_call(plan, cluster_driver(self->base.cluster, plugin->driver), &request, PLAN_STOP);
    plan_get(plan, self->node_key, PLAN_GO_ON);
    plan_get(plan, node_info_csi_node_key(self), PLAN_GO_ON);
    plan_then(plan, decide_install_at_once);
}

static void
decide_create_csi_node(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Object *node = informer_get(self->nodes, self->node_key);

    if (node != NULL && plan_has_failed(plan))
        plan_create(plan, node_info_first_csi_node(self, node), PLAN_STOP);
}

/* Unless a registration or an import has written one. */
void
plugin_registration_decide_first_csi_node(const void *data, Plan *plan)
{
    plan_get(plan, node_info_csi_node_key(data), PLAN_DECIDE);
    plan_then(plan, decide_create_csi_node);
}

/* ---- As a kubelet starts: REG-25 ---- */

/* For edits that only need the strings. */
static PluginNodeInfo *
no_info(const Kubelet *self, Plan *plan)
{
    PluginNodeInfo *info = plan_new_arg(plan, PluginNodeInfo);

    info->strings = self->base.strings;
    info->migrated = cluster_migrated_plugins(self->base.cluster, self->base.node_name);
    return info;
}

static void
decide_initialize(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    int step = plan_last_step(plan);
    const Object *csi_node = plan_object(plan, step);

    plan_because(plan, "REG-25");
    if (csi_node != NULL)
        plan_update(plan, csi_node, node_info_set_migrated, no_info(self, plan), PLAN_GO_ON);
    else if (plan_code(plan, step) == API_NOT_FOUND)
        plan_create(plan, node_info_first_csi_node(self, informer_get(self->nodes, self->node_key)),
                    PLAN_EXISTS_IS_FINE);
}

void
plugin_registration_decide_look_for_csi_node(const void *data, Plan *plan)
{
    plan_because(plan, "REG-25");
    plan_get(plan, node_info_csi_node_key(data), PLAN_DECIDE);
    plan_then(plan, decide_initialize);
}

/* ---- On a running node: REG-15 to REG-20, REG-24 ---- */

static PluginNodeInfo *
told_info(const Kubelet *self, Plan *plan)
{
    const NodePlugin *plugin = plan_operation(plan);

    return plan_info(self, plan, plugin->info_step);
}

static void decide_withdraw(const void *data, Plan *plan);

/* REG-18: once the driver is in the list of drivers, an error takes all back, and the registrar
 * hears of it. */
static void
add_withdrawal(const Kubelet *self, Plan *plan, const char *failure)
{
    plan_change(plan, &(PlanChange){.what = CHANGE_REGISTRATION_FAILED,
                                    .pointer = plan_operation(plan),
                                    .text = failure});
    kubelet_add_change(plan, CHANGE_UNREGISTERED, plan_operation(plan), 0);
    plan_get(plan, node_info_csi_node_key(self), PLAN_DECIDE);
    plan_then(plan, decide_withdraw);
}

/* REG-20: up to four tries of each write, each after a new read of @key. All drivers that register
 * at once write the same CSINode. @failure: of the last try */
static void
plugin_registration_try_again(
    const Kubelet *self, Plan *plan, ObjectKey *key, PlanDecide decide, const char *failure)
{
    static const SimTime pauses[] = {10 * SIM_MS, 50 * SIM_MS, 250 * SIM_MS};
    const NodePlugin *plugin = plan_operation(plan);

    if (plugin->n_tries >= G_N_ELEMENTS(pauses)) {
        add_withdrawal(self, plan, failure);
        return;
    }
    SimStream stream = sim_stream(self->base.sim, "kubelet/registration back-off");
    uint64_t entity = sim_hash_combine(self->node_key->hash, plugin->driver);
    SimTime pause = pauses[plugin->n_tries];
    uint64_t jitter =
        sim_random_below(stream, entity, plugin->n_tries, (uint64_t)(pause / 10)); /* 10 % */
    plan_because(plan, "REG-20");
    kubelet_add_change(plan, CHANGE_REGISTRATION_TRIED, plugin, plugin->n_tries + 1);
    plan_wait(plan, pause + (SimTime)jitter, WAIT_BACKOFF);
    plan_get(plan, key, PLAN_DECIDE);
    plan_then(plan, decide);
}

static void decide_csi_node(const void *data, Plan *plan);

static void
decide_csi_node_written(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    int step = plan_last_step(plan);

    if (plan_code(plan, step) != API_OK)
        plugin_registration_try_again(self, plan, node_info_csi_node_key(self), decide_csi_node,
                                      plan_message(plan, step));
}

/* One write creates the CSINode if it is missing, another one changes it (REG-23). */
static void
decide_csi_node(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    int step = plan_last_step(plan);

    plan_because(plan, "REG-23");
    switch ((unsigned)plan_code(plan, step)) {
    case API_OK:
        plan_update(plan, plan_object(plan, step), node_info_edit_csi_node, told_info(self, plan),
                    PLAN_DECIDE);
        break;
    case API_NOT_FOUND:
        step = plan_create(plan,
                           node_info_new_csi_node(self, informer_get(self->nodes, self->node_key)),
                           PLAN_DECIDE);
        plan_update_result(plan, step, node_info_edit_csi_node, told_info(self, plan), PLAN_DECIDE);
        break;
    default:
        decide_csi_node_written(self, plan);
        return;
    }
    plan_then(plan, decide_csi_node_written);
}

static void decide_install(const void *data, Plan *plan);

static void
decide_node_written(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    int step = plan_last_step(plan);

    if (plan_code(plan, step) != API_OK) {
        plugin_registration_try_again(self, plan, self->node_key, decide_install,
                                      plan_message(plan, step));
        return;
    }
    kubelet_add_change(plan, CHANGE_REGISTRATION_TRIED, plan_operation(plan), 0);
    plan_get(plan, node_info_csi_node_key(self), PLAN_DECIDE);
    plan_then(plan, decide_csi_node);
}

static const char *
collision_text(Plan *plan, const Object *node, const StringPair *collision)
{
    return plan_internf(plan,
                        "detected topology value collision: driver reported "
                        "\"%s\":\"%s\" but existing label is \"%s\":\"%s\"",
                        collision->key, collision->value, collision->key,
                        object_label(node, collision->key));
}

/* REG-21: a patch of the status includes metadata. */
static void
decide_install(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Object *node = plan_object(plan, plan_last_step(plan));
    const PluginNodeInfo *info = told_info(self, plan);
    const StringPair *collision =
        node == NULL ? NULL : node_info_find_collision(node, info->segments);

    plan_because(plan, "REG-21");
    if (node == NULL) {
        plugin_registration_try_again(self, plan, self->node_key, decide_install,
                                      plan_last_message(plan));
    } else if (collision != NULL) {
        plugin_registration_try_again(self, plan, self->node_key, decide_install,
                                      collision_text(plan, node, collision));
    } else if (node_info_needs_patch(node, info)) {
        plan_patch_status(plan, self->node_key, node_info_edit_node, info, PLAN_DECIDE);
        plan_then(plan, decide_node_written);
    } else {
        decide_node_written(self, plan);
    }
}

static void
plugin_registration_decide_told(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "REG-20");
    if (response->code != CSI_OK || response->node_id == NULL) {
        const char *failure = response->code != CSI_OK ? plan_last_message(plan)
                                                       : "error adding CSI driver node info: "
                                                         "nodeID should not be empty";
        add_withdrawal(self, plan, failure);
        return;
    }
    plan_get(plan, self->node_key, PLAN_DECIDE);
    plan_then(plan, decide_install);
}

static RegistrarState
registrar_of(const Kubelet *self, const NodePlugin *plugin)
{
    return cluster_plugin_pod(self->base.cluster, plugin->driver, self->base.node_name).registrar;
}

/* The registrar has given its driver's name: from now on mounts may use the driver. */
static void
add_node_info(const Kubelet *self, Plan *plan)
{
    static const char *const versions[] = {"1.0.0", NULL}; /* of node-driver-registrar */
    const NodePlugin *plugin = plan_operation(plan);
    g_autofree char *fault = plugin_versions_fault(versions, NULL);

    if (fault != NULL) {
        plan_fail(plan, "%s", fault);
        return;
    }
    CsiRequest request = {
        .method = CSI_NODE_GET_INFO,
        .served_by = self->base.node_name,
        .timeout_ns = 120 * SIM_SECOND, /* REG-18 */
    };

    plan_because(plan, "REG-18");
    kubelet_add_change(plan, CHANGE_CONNECTED, plan_operation(plan),
                       plan_last_step(plan) + 2); /* this is the next step */
    plan_call(plan, cluster_driver(self->base.cluster, plugin->driver), &request, PLAN_DECIDE);
    plan_then(plan, plugin_registration_decide_told);
}

static int
somebody_listens(const void *self, const Plan *plan)
{
    RegistrarState state = registrar_of(self, plan_operation(plan));

    return state == REGISTRAR_LISTENS || state == REGISTRAR_HANGS;
}

/* REG-15: the registrar is called: 10 s for the connection, 1 s for GetInfo. */
void
plugin_registration_decide_register(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const NodePlugin *plugin = plan_operation(plan);

    switch (registrar_of(self, plugin)) {
    case REGISTRAR_LISTENS:
        add_node_info(self, plan);
        return;
    case REGISTRAR_HANGS:
        plan_because(plan, "REG-15");
        plan_wait(plan, SIM_SECOND, WAIT_RUNTIME);
        plan_fail(plan, "failed to get plugin info using RPC GetInfo");
        return;
    case REGISTRAR_DEAD:
    case REGISTRAR_GONE: /* gRPC's back-off: 1 s, 1.6 s, 2.56 s, ... each 20 % more or less */
        plan_because(plan, "REG-15");
        plan_poll_growing(plan, 800 * SIM_MS, 1600, 0.5, 120 * SIM_SECOND, 10 * SIM_SECOND,
                          somebody_listens, PLAN_STOP);
        plan_then(plan, plugin_registration_decide_register);
        return;
    }
    g_assert_not_reached();
}

/* ---- The way back: REG-19, REG-24 ---- */

static void
decide_withdrawn(const void *data, Plan *plan)
{
    const NodePlugin *plugin = plan_operation(plan);

    (void)data;
    if (plugin->failure == NULL)
        return;
    plan_because(plan, "REG-4");
    kubelet_add_change(plan, CHANGE_REFUSED, plan_operation(plan), 0);
    plan_fail(plan, "RegisterPlugin error -- plugin registration failed with err: %s",
              plugin->failure);
}

static const PluginNodeInfo *
withdrawn_info(const Kubelet *self, Plan *plan)
{
    PluginNodeInfo *info = no_info(self, plan);

    info->driver = plugin_name(self, plan_operation(plan));
    return info;
}

/* Topology labels stay. */
static void
decide_withdraw_from_node(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Object *node = plan_object(plan, plan_last_step(plan));
    const PluginNodeInfo *info = withdrawn_info(self, plan);
    g_autoptr(Object) copy = node == NULL ? NULL : object_edit(node);

    plan_because(plan, "REG-24");
    if (copy == NULL || !node_info_withdraw_from_node(copy, info)) {
        decide_withdrawn(self, plan);
        return;
    }
    plan_patch_status(plan, self->node_key, node_info_withdraw_from_node, info, PLAN_GO_ON);
    plan_then(plan, decide_withdrawn);
}

/* A CSINode that is gone is fine. After a conflict it tries again. */
static void
decide_withdraw(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    int step = plan_last_step(plan);
    const Object *csi_node = plan_object(plan, step);

    plan_because(plan, "REG-24");
    if (csi_node != NULL && csi_node_find_driver((const CsiNode *)csi_node,
                                                 plugin_name(self, plan_operation(plan))) != NULL) {
        plan_update(plan, csi_node, node_info_withdraw_from_csi_node, withdrawn_info(self, plan),
                    PLAN_GO_ON);
        plan_get(plan, node_info_csi_node_key(self), PLAN_DECIDE);
        plan_then(plan, decide_withdraw);
        return;
    }
    plan_get(plan, self->node_key, PLAN_DECIDE);
    plan_then(plan, decide_withdraw_from_node);
}

void
plugin_registration_decide_unregister(const void *data, Plan *plan)
{
    const Kubelet *self = data;

    plan_because(plan, "REG-19");
    kubelet_add_change(plan, CHANGE_FORGOTTEN, plan_operation(plan), 0);
    plan_get(plan, node_info_csi_node_key(self), PLAN_DECIDE);
    plan_then(plan, decide_withdraw);
}

void
plugin_registration_apply(const PlanChange *change)
{
    NodePlugin *plugin = (NodePlugin *)change->pointer;

    switch ((unsigned)change->what) {
    case CHANGE_CONNECTED: /* REG-15.6: a later failure is final for this socket (REG-16) */
        plugin->actual = plugin->desired;
        plugin->registered = TRUE;
        plugin->failure = NULL;
        plugin->info_step = (int)change->number;
        attach_limits_sync(plugin, TRUE);
        return;
    case CHANGE_UNREGISTERED:
        plugin->registered = FALSE;
        attach_limits_sync(plugin, FALSE);
        return;
    case CHANGE_FORGOTTEN:
        plugin->actual = 0;
        plugin->registered = FALSE;
        plugin->failure = NULL;
        attach_limits_sync(plugin, FALSE);
        return;
    case CHANGE_PROBED:
        plugin_liveness_apply(plugin, change->number != 0);
        return;
    case CHANGE_REFUSED:
        plugin_manager_registrar_exits(plugin);
        return;
    case CHANGE_REGISTRATION_FAILED:
        plugin->failure = change->text;
        return;
    default:
        plugin->n_tries = (unsigned)change->number;
        return;
    }
}
