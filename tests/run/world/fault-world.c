/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fault-world.h"
#include "models/csi/modelled/modelled-test.h"

#include <glib/gstdio.h>
#include <unistd.h>

static const char base[] =
    "apiVersion: kvolsim.io/v1\n"
    "kind: Scenario\n"
    "metadata: {name: faults}\n"
    "spec:\n"
    "  until: 3h\n"
    "  nodes: [{count: 3, name: n-%d, zones: [a], kubelet: {shutdownGracePeriod: 30s, "
    "shutdownGracePeriodCriticalPods: 10s}}]\n"
    "  drivers:\n"
    "  - name: csi.lab\n"
    "    latency: {CreateVolume: 4s, DeleteVolume: 4s, ControllerPublishVolume: 4s, "
    "ControllerUnpublishVolume: 4s, NodeStageVolume: 4s, NodePublishVolume: 400ms, "
    "NodeUnpublishVolume: 4s, NodeUnstageVolume: 4s}\n"
    "    sidecars:\n"
    "      external-attacher: {leader-election: true, replicas: 2}\n"
    "  components: {kube-controller-manager: {replicas: 2}}\n";

static const char work[] =
    "  - at: 60s\n"
    "    create:\n"
    "      manifest:\n"
    "      - apiVersion: apps/v1\n"
    "        kind: StatefulSet\n"
    "        metadata: {name: web}\n"
    "        spec:\n"
    "          replicas: 1\n"
    "          serviceName: web\n"
    "          selector: {matchLabels: {app: web}}\n"
    "          template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, "
    "volumeMounts: [{name: d, mountPath: /d}]}]}}\n"
    "          volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], "
    "storageClassName: sc, resources: {requests: {storage: 1Gi}}}}]\n"
    "  - {at: 40m, scale: {name: web, replicas: 0}}\n"
    "  - {at: 60m, delete: {kind: PersistentVolumeClaim, name: d-web-0}}\n";

static const char class[] = "---\n"
                            "apiVersion: storage.k8s.io/v1\n"
                            "kind: StorageClass\n"
                            "metadata: {name: sc}\n"
                            "provisioner: csi.lab\n"
                            "volumeBindingMode: WaitForFirstConsumer\n";

Scenario *
fault_world_new(const char *faults, const char *actions)
{
    g_autofree char *file = NULL;
    g_autofree char *text = g_strconcat(base, *faults == '\0' ? "" : "  faults:\n", faults,
                                        "  workload:\n", work, actions, class, NULL);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) found = NULL;
    int descriptor = g_file_open_tmp("faults-XXXXXX.yaml", &file, NULL);

    g_assert(descriptor >= 0);
    close(descriptor);
    g_assert(g_file_set_contents(file, text, -1, NULL));
    Scenario *scenario = scenario_load(file, &options, &found);
    for (unsigned i = 0; i < found->len; i++) {
        g_autofree char *fault = file_fault_text(found->pdata[i]);
        g_printerr("%s\n", fault);
    }
    g_unlink(file);
    g_assert(scenario != NULL);
    return scenario;
}

static const Object *
fault_world_stored(const Run *run, ObjectKind kind, uint32_t slot)
{
    return api_server_get(cluster_api(run_cluster(run)),
                          objects_key_at(run_objects(run), kind, slot));
}

const Pod *
fault_world_pod(const Run *run)
{
    for (uint32_t i = 0; i < objects_n_keys(run_objects(run), KIND_POD); i++)
        if (fault_world_stored(run, KIND_POD, i) != NULL)
            return POD_CONST(fault_world_stored(run, KIND_POD, i));
    return NULL;
}

gboolean
fault_world_is_ready(const Run *run)
{
    const Pod *pod = fault_world_pod(run);

    return pod != NULL && pod_is_ready(pod) && !object_is_deleted(&pod->meta);
}

typedef struct {
    const Run *run;
    const CsiModelledDriver *driver;
    GString *text;
} FaultWorldRest;

static void
fault_world_add(GString *text, const char *what)
{
    g_string_append_printf(text, "%s%s", text->len == 0 ? "" : " ", what);
}

static void
fault_world_add_volume(void *data, const CsiModelledVolume *volume)
{
    const FaultWorldRest *rest = data;
    unsigned n_staged = 0, n_targets = 0;

    for (uint32_t i = 0; i < objects_n_keys(run_objects(rest->run), KIND_NODE); i++) {
        const char *node = objects_key_at(run_objects(rest->run), KIND_NODE, i)->name;
        n_staged += csi_modelled_driver_is_staged(rest->driver, volume->id, node);
        n_targets += csi_modelled_driver_n_targets(rest->driver, volume->id, node);
    }
    fault_world_add(rest->text, "in-driver");
    if (volume->n_published > 0)
        fault_world_add(rest->text, "attached");
    if (n_staged > 0)
        fault_world_add(rest->text, "staged");
    if (n_targets > 0)
        fault_world_add(rest->text, "mounted");
}

static void
add_nodes(const Run *run, GString *text)
{
    for (uint32_t i = 0; i < objects_n_keys(run_objects(run), KIND_NODE); i++) {
        const Node *node = (const Node *)fault_world_stored(run, KIND_NODE, i);
        if (node == NULL)
            continue;
        if (node->volumes_attached != NULL && node->volumes_attached->n_items > 0)
            fault_world_add(text, "volumesAttached");
        /* The last status of a dead kubelet stays. */
        if (node->volumes_in_use != NULL && node->volumes_in_use->n_items > 0 &&
            node->ready.status != CONDITION_UNKNOWN)
            fault_world_add(text, "volumesInUse");
    }
}

char *
fault_world_rest(const Run *run)
{
    static const ObjectKind kinds[] = {KIND_POD, KIND_CLAIM, KIND_VOLUME, KIND_ATTACHMENT};
    GString *text = g_string_new(NULL);
    CsiModelledDriver *driver =
        csi_modelled_driver_cast(cluster_find_driver(run_cluster(run), "csi.lab"));
    FaultWorldRest rest = {run, driver, text};

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        for (uint32_t slot = 0; slot < objects_n_keys(run_objects(run), kinds[i]); slot++)
            if (fault_world_stored(run, kinds[i], slot) != NULL)
                fault_world_add(text, kind_class(kinds[i])->kind);
    csi_modelled_driver_each_volume(driver, fault_world_add_volume, &rest);
    add_nodes(run, text);
    return g_string_free(text, FALSE);
}

unsigned
fault_world_n_events(const Run *run, const char *reason)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    unsigned n = 0;

    for (unsigned i = 0; i < api_server_n_events(api); i++)
        n += g_str_equal(api_server_event(api, i)->reason, reason) ? api_server_event(api, i)->count
                                                                   : 0;
    return n;
}
