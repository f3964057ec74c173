/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a driver: its sidecars, and its plugin on a node. A part is asked for in this order:
 * is the driver known, is the plugin registered, does it come back later, does its process run,
 * does its pod. A driver that runs in modelled pods (docs/rules/driver-pods.md) waits as they do; a
 * DaemonSet that does not tolerate the node's taint is named. */
#include "question.h"

#include <string.h>

#include "models/external-attacher/external-attacher.h"
#include "models/external-provisioner/external-provisioner.h"
#include "models/external-resizer/external-resizer.h"
#include "models/external-snapshotter/external-snapshotter.h"
#include "models/workloads/daemon-set/nodes.h"

/* The cause if a part does not run, and nothing else explains it. */
static const char *
cause_of(const ProcessClass *sidecar)
{
    return sidecar == NULL                            ? "driver-not-registered"
           : sidecar == &external_attacher_process    ? "no-attacher"
           : sidecar == &external_provisioner_process ? "no-provisioner"
           : sidecar == &external_resizer_process     ? "no-resizer"
           : sidecar == &external_snapshotter_process ? "no-snapshotter"
                                                      : "process-down";
}

/* Returns: (borrowed): the workload that has the part; NULL: it needs no pod */
static const DriverWorkload *
workload_of(const Question *self, unsigned driver, const ProcessClass *sidecar)
{
    const DriverWorkload *workload;

    for (unsigned i = 0; (workload = cluster_driver_workload(self->cluster, driver, i)) != NULL;
         i++) {
        gboolean has = sidecar == NULL && workload->has_registrar;
        for (unsigned k = 0; k < workload->n_sidecars; k++)
            has |= workload->sidecars[k] == sidecar;
        if (has)
            return workload;
    }
    return NULL;
}

/* Whether a pod of a DaemonSet is meant for the node, and has not got there. */
static gboolean
is_meant_for(const Pod *pod, const Object *node)
{
    return pod->node_name == NULL && pod->spec->required_nodes != NULL &&
           node_selector_matches(pod->spec->required_nodes, node->labels, object_name(node));
}

/* Returns: (borrowed): its pod on the node, or (without a node) one that does not run; NULL: none
 */
static const Pod *
driver_pod_of(Question *self, const DriverWorkload *workload, const char *node)
{
    const GPtrArray *pods = why_list(self, KIND_POD);
    const Object *there = why_get(self, KIND_NODE, NULL, node);

    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        if (strcmp(pod->meta.key->namespace, workload->namespace) == 0 &&
            pod->meta.labels != NULL && string_map_contains(pod->meta.labels, workload->labels) &&
            (node == NULL ? pod->phase == POD_PENDING
                          : g_strcmp0(pod->node_name, node) == 0 ||
                                (there != NULL && is_meant_for(pod, there))))
            return pod;
    }
    return NULL;
}

/* DS-1. Returns: (borrowed): a taint of the node that the set does not tolerate; NULL: none */
static const Taint *
untolerated(const Question *self, const DaemonSet *set, const Node *node)
{
    Tolerations *tolerations = daemon_tolerations(set, objects_strings(self->objects));
    const Taint *found = NULL;

    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items && found == NULL; i++) {
        const Taint *taint = &node->taints->items[i];
        if (taint->effect != TAINT_PREFER_NO_SCHEDULE &&
            tolerations_find(tolerations, taint) == NULL)
            found = taint;
    }
    tolerations_unref(tolerations);
    return found;
}

static gboolean
ask_driver_pod(Question *self, const DriverWorkload *workload, const char *node_name)
{
    const ObjectKind kind = strcmp(workload->kind, "DaemonSet") == 0    ? KIND_DAEMON_SET
                            : strcmp(workload->kind, "Deployment") == 0 ? KIND_DEPLOYMENT
                                                                        : KIND_STATEFUL_SET;
    const Object *set = why_get(self, kind, workload->namespace, workload->name);
    const Object *node = why_get(self, KIND_NODE, NULL, node_name);
    const Pod *pod = driver_pod_of(self, workload, node_name);
    const Taint *taint = set == NULL || node == NULL || kind != KIND_DAEMON_SET
                             ? NULL
                             : untolerated(self, DAEMON_SET_CONST(set), (const Node *)node);

    if (pod != NULL)
        return why_ask_pod(self, pod) || why_because(self, "starting");
    if (set == NULL) {
        g_autofree char *lower = g_ascii_strdown(workload->kind, -1);
        g_autofree char *name = g_strdup_printf("%s/%s", lower, workload->name);
        why_link_named(self, name, TIME_UNSET, "does not exist, and has the driver's containers");
    } else if (taint != NULL) {
        why_link(self, set, TIME_UNSET,
                 "has no pod on %s: it does not tolerate the node's taint %s%s%s", node_name,
                 taint->key, *taint->value != '\0' ? "=" : "", taint->value);
    } else if (node_name != NULL) {
        why_link(self, set, TIME_UNSET, "has no pod on %s", node_name);
    } else {
        why_link(self, set, TIME_UNSET, "has no pod that runs");
    }
    return why_because(self, "no-driver-pod");
}

/* The plugin on a node registers late, or does not run there by the driver's own settings. */
static gboolean
ask_plugin(Question *self, unsigned driver, const char *name, const char *node)
{
    g_autofree char *label = g_strconcat("driver/", name, NULL);
    NodePluginPod pod = cluster_plugin_pod(self->cluster, driver, node);
    const RunFault *fault = why_fault_of(self, FAULT_OF_DRIVER, node, name);

    if (!cluster_plugin_runs_on(self->cluster, driver, node))
        why_link_named(self, label, TIME_UNSET, "has no plugin on %s", node);
    else if (pod.registrar != REGISTRAR_LISTENS)
        why_link_named(self, label, fault == NULL ? TIME_UNSET : fault->since,
                       pod.registrar == REGISTRAR_HANGS
                           ? N_("has a plugin on %s whose registrar is hanging")
                           : N_("has a plugin on %s whose registrar is gone"),
                       node);
    else
        why_link_named(self, label, TIME_UNSET, "has a plugin on %s that has not registered yet",
                       node);
    return why_until(self, "driver-not-registered", fault == NULL ? SIM_TIME_MAX : fault->until);
}

gboolean
why_ask_driver(Question *self, const char *name, const ProcessClass *sidecar, const char *node)
{
    unsigned driver;
    g_autofree char *label = g_strconcat("driver/", name, NULL);

    if (!cluster_find_driver_number(self->cluster, name, &driver)) {
        why_link_named(self, label, TIME_UNSET, "does not exist");
        return why_because(self, cause_of(sidecar));
    }
    const DriverWorkload *workload = workload_of(self, driver, sidecar);
    if (sidecar == NULL) {
        if (why_is_registered(self, name, node))
            return FALSE;
        return workload != NULL && driver_pod_of(self, workload, node) == NULL
                   ? ask_driver_pod(self, workload, node)
               : workload != NULL && !pod_is_ready(driver_pod_of(self, workload, node))
                   ? ask_driver_pod(self, workload, node)
                   : ask_plugin(self, driver, name, node);
    }
    const CsiModelledDriver *modelled =
        csi_modelled_driver_cast(cluster_driver(self->cluster, driver));
    if (modelled != NULL && csi_modelled_driver_ready_at(modelled) > self->now) {
        why_link_named(self, label, TIME_UNSET, "is not ready, as its answer to Probe tells");
        return why_until(self, "driver-down", csi_modelled_driver_ready_at(modelled));
    }
    g_autofree char *on_node = g_strdup_printf("%s/%s", name, node == NULL ? "" : node);
    if (node != NULL && cluster_has_process(self->cluster, sidecar->name, on_node))
        return why_ask_process(self, sidecar->name, on_node);
    if (cluster_is_running(self->cluster, sidecar->name, name))
        return why_ask_process(self, sidecar->name, name);
    if (workload != NULL)
        return ask_driver_pod(self, workload, NULL);
    const RunFault *fault = why_fault_of(self, FAULT_OF_PROCESS, sidecar->name, name);
    if (fault == NULL)
        why_link_named(self, label, TIME_UNSET, "has no %s that runs", sidecar->name);
    else
        why_link_named(self, label, fault->since, "has no %s that runs, since the fault \"%s\"",
                       sidecar->name, scenario_fault_name(fault->action->fault));
    return why_until(self, cause_of(sidecar), fault == NULL ? SIM_TIME_MAX : fault->until);
}
