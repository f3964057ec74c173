/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller.h"

/* Node status volumesAttached: loses a volume before it is detached, gains it after it is attached
 * (ADC-45, ADC-51, ADC-52). */

typedef struct {
    const StringList *volumes;
} ReportArg;

/* ADC-51. */
static gboolean
set_volumes_attached(Object *object, const void *data)
{
    const ReportArg *arg = data;
    Node *node = NODE(object);
    StringList *list = string_list_ref(arg->volumes);

    if (string_list_equal(node->volumes_attached, list)) {
        string_list_unref(list);
        return FALSE;
    }
    string_list_unref(node->volumes_attached);
    node->volumes_attached = list;
    return TRUE;
}

/* Volumes that are attached from now on go into the next patch. */
static void
plan_node_is_told(Plan *plan, const AttachNode *node)
{
    plan_change(plan, &(PlanChange){.what = CHANGE_NODE_UPDATED, .pointer = node});
}

static int
plan_node_status(const AttachDetachController *self,
                 Plan *plan,
                 const AttachNode *node,
                 StringList *volumes /* taken */)
{
    ReportArg *arg = plan_new_arg(plan, ReportArg);
    const ObjectKey *key = objects_key(self->base.objects, KIND_NODE, NULL, node->name);

    arg->volumes = volumes;
    plan_own(plan, volumes, (GDestroyNotify)string_list_unref);
    return plan_patch_status(plan, key, set_volumes_attached, arg, PLAN_GO_ON);
}

void
adc_plan_volume_leaves(const AttachDetachController *self, Plan *plan, const AttachPair *pair)
{
    plan_change(plan, &(PlanChange){.what = CHANGE_UNREPORT, .pointer = pair});
    plan_node_is_told(plan, pair->node);
    plan_node_status(self, plan, pair->node,
                     string_list_without(pair->node->report, pair->volume->name));
}

/* ADC-52. */
static void
decide_after_reports(const void *data, Plan *plan)
{
    const AttachDetachController *self = data;

    plan_because(plan, "ADC-52");
    for (unsigned i = 0; i < self->reports->len; i++) {
        const NodeReport *report = &g_array_index(self->reports, NodeReport, i);
        ApiCode code = plan_code(plan, report->step);
        if (code != API_OK && code != API_NOT_FOUND)
            plan_change(plan, &(PlanChange){.what = CHANGE_NODE_OUTDATED, .pointer = report->node});
    }
}

static uint64_t
node_place(const void *node, SimStream stream, uint64_t walk)
{
    return sim_random_bits(stream, ((const AttachNode *)node)->hash, walk);
}

/* ADC-51. All flags are cleared and all lists made before the first patch leaves: the next pass
 * reports volumes that are attached while patches are under way. */
void
adc_plan_reports(const AttachDetachController *self, Plan *plan)
{
    SimStream stream = sim_stream(self->base.sim, "attach-detach-controller/report order");

    if (self->nodes_to_update->len == 0)
        return;
    g_autoptr(GPtrArray) nodes = g_ptr_array_copy(self->nodes_to_update, NULL, NULL);
    plan_because(plan, "ADC-51");
    sim_shuffle(nodes->pdata, nodes->len, node_place, stream, (uint64_t)plan_now(plan));
    for (unsigned i = 0; i < nodes->len; i++)
        plan_node_is_told(plan, nodes->pdata[i]);
    for (unsigned i = 0; i < nodes->len; i++) {
        const AttachNode *node = nodes->pdata[i];
        int step = plan_node_status(self, plan, node, string_list_ref(node->report));
        plan_change(plan, &(PlanChange){.what = CHANGE_REPORTED, .pointer = node, .number = step});
    }
    plan_then(plan, decide_after_reports);
}
