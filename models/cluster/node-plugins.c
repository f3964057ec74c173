/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster-private.h"
#include "models/csi/modelled/modelled-driver.h"

/* Drivers' pods on nodes, as the kubelet sees them: the socket of a pod's registrar (REG-2 to
 * REG-5). All registrars listen from the start, but for drivers in Pods of the cluster (DP-2), so
 * only pods that were touched are stored. */

static const char *
pod_name(const Cluster *self, unsigned driver, const char *node)
{
    return strings_internf(objects_strings(self->options.objects), "%s/%s",
                           cluster_driver_name(self, driver), node);
}

NodePluginPod
cluster_plugin_pod(const Cluster *self, unsigned driver, const char *node)
{
    const Driver *of = self->drivers->pdata[driver];
    const NodePluginPod *pod =
        self->plugin_pods == NULL
            ? NULL
            : g_hash_table_lookup(self->plugin_pods, pod_name(self, driver, node));
    NodePluginPod result = {.registrar = REGISTRAR_LISTENS, .socket = 1};

    if (pod != NULL)
        result = *pod;
    else if (of->plugin_in_pods)
        result.registrar = REGISTRAR_GONE;
    result.in_pod = of->plugin_in_pods;
    result.lacks_pod = driver_pods_lack_plugin(self, driver, node);
    return result;
}

void
cluster_set_registrar(Cluster *self, unsigned driver, const char *node, RegistrarState state)
{
    const Instance *agent = cluster_node_agent(self, node);
    NodePluginPod *pod = g_new(NodePluginPod, 1);

    *pod = cluster_plugin_pod(self, driver, node);
    pod->registrar = state;
    if (state == REGISTRAR_LISTENS || state == REGISTRAR_HANGS)
        pod->socket++; /* replaces the old one */
    if (self->plugin_pods == NULL)
        self->plugin_pods = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    g_hash_table_insert(self->plugin_pods, (void *)pod_name(self, driver, node), pod);
    if (agent != NULL)
        instance_tell_machine_event(
            agent, &(MachineEvent){.what = MACHINE_PLUGIN_CHANGED, .driver = driver});
}

gboolean
cluster_find_driver_number(const Cluster *self, const char *name, unsigned *driver)
{
    for (*driver = 0; *driver < self->drivers->len; (*driver)++)
        if (g_strcmp0(cluster_driver_name(self, *driver), name) == 0)
            return TRUE;
    return FALSE;
}

typedef struct {
    const Cluster *cluster;
    unsigned driver;
    const char *node; /* interned */
} Restart;

static void
is_back(Sim *sim, void *data)
{
    const Restart *restart = data;

    (void)sim;
    if (!driver_pods_lack_plugin(restart->cluster, restart->driver, restart->node))
        csi_modelled_driver_set_away(
            csi_modelled_driver_cast(cluster_driver(restart->cluster, restart->driver)),
            restart->node, FALSE);
    g_free(data);
}

static const SimEventType back_event = {
    .name = "cluster/driver's container is back", .fire = is_back, .free_data = g_free};

void
cluster_restart_plugin(Cluster *self, unsigned driver, const char *node, SimTime delay)
{
    CsiModelledDriver *modelled = csi_modelled_driver_cast(cluster_driver(self, driver));

    if (modelled == NULL) /* other back ends do not run as containers here */
        return;
    Restart *restart = g_new(Restart, 1);
    *restart = (Restart){self, driver, node};
    csi_modelled_driver_set_away(modelled, node, TRUE);
    csi_modelled_driver_cut_calls(modelled, node);
    sim_after(self->options.sim, delay, &back_event, restart, WAIT_RUNTIME);
}
