/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugin-manager.h"

#include <string.h>

/* A driver that takes a taint from its Node once it is registered there, as aws-ebs-csi-driver does
 * with ebs.csi.aws.com/agent-not-ready: pkg/driver/node.go, removeTaintInBackground(),
 * removeNotReadyTaint() and checkAllocatable() (REG-39, REG-40). */

#define INITIAL_DELAY SIM_SECOND
#define FIRST_PAUSE (500 * SIM_MS)
#define N_TRIES 10u

typedef struct {
    const char *driver, *key;
    unsigned n_tries;
} TaintNotes;

gboolean
startup_taint_edit(Object *object, const void *key)
{
    Node *node = NODE(object);
    g_autoptr(GArray) taints = g_array_new(FALSE, FALSE, sizeof(Taint));

    if (taints_find(node->taints, key, -1) == NULL)
        return FALSE;
    for (unsigned i = 0; i < node->taints->n_items; i++)
        if (strcmp(node->taints->items[i].key, key) != 0)
            g_array_append_val(taints, node->taints->items[i]);
    taints_unref(node->taints);
    node->taints =
        taints->len == 0 ? NULL : taints_new((const Taint *)(void *)taints->data, taints->len);
    return TRUE;
}

static void decide_node(const void *data, Plan *plan);

/* REG-39: ten tries, with pauses of 0.5 s, 1 s, 2 s, ... between them. */
static void
startup_taint_try_again(const Kubelet *self, Plan *plan)
{
    TaintNotes *notes = plan_notes(plan);

    if (++notes->n_tries >= N_TRIES)
        return;
    plan_because(plan, "REG-39");
    plan_wait(plan, FIRST_PAUSE << (notes->n_tries - 1), WAIT_BACKOFF);
    plan_get(plan, self->node_key, PLAN_DECIDE);
    plan_then(plan, decide_node);
}

static void
startup_taint_decide_written(const void *data, Plan *plan)
{
    if (plan_code(plan, plan_last_step(plan)) != API_OK)
        startup_taint_try_again(data, plan);
}

/* REG-40: not before the driver's limit is known. */
static void
decide_csi_node(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const TaintNotes *notes = plan_notes(plan);
    const Object *csi_node = plan_object(plan, plan_last_step(plan));
    const Object *node = plan_object(plan, plan_last_step(plan) - 1);
    const CsiNodeDriver *entry =
        csi_node == NULL ? NULL : csi_node_find_driver((const CsiNode *)csi_node, notes->driver);

    if (entry == NULL || entry->allocatable_count < 0) {
        startup_taint_try_again(self, plan);
        return;
    }
    if (taints_find(((const Node *)node)->taints, notes->key, -1) == NULL)
        return;
    plan_because(plan, "REG-40");
    plan_patch(plan, self->node_key, startup_taint_edit, notes->key, PLAN_DECIDE);
    plan_then(plan, startup_taint_decide_written);
}

static void
decide_node(const void *data, Plan *plan)
{
    const Kubelet *self = data;

    if (plan_object(plan, plan_last_step(plan)) == NULL) {
        startup_taint_try_again(self, plan);
        return;
    }
    plan_because(plan, "REG-40");
    plan_get(plan, node_info_csi_node_key(self), PLAN_DECIDE);
    plan_then(plan, decide_csi_node);
}

static void
decide_watch(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const NodePlugin *plugin = plan_operation(plan);
    TaintNotes *notes = plan_new_notes(plan, TaintNotes, NULL);

    notes->driver = cluster_driver_name(self->base.cluster, plugin->driver);
    notes->key = cluster_node_plugin(self->base.cluster, plugin->driver)->removes_taint;
    plan_because(plan, "REG-39");
    plan_wait(plan, INITIAL_DELAY, WAIT_STARTUP);
    plan_get(plan, self->node_key, PLAN_DECIDE);
    plan_then(plan, decide_node);
}

void
startup_taint_begin(NodePlugin *plugin)
{
    Kubelet *self = plugin->kubelet;

    if (cluster_node_plugin(self->base.cluster, plugin->driver)->removes_taint == NULL)
        return;
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_watch,
        .key = self->node_key,
        .operation = plugin,
    });
}
