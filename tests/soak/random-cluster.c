/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-private.h"

#include <string.h>

#include "models/api/claim.h"

/* ---- Nodes ---- */

void
add_nodes(Maker *self)
{
    static const char *const zones[] = {"[a]", "[a, b]", "[a, b, c]"};
    unsigned n_groups = self->is_small ? 1 : between(self, 1, N_GROUPS_MAX);

    self->n_zones = between(self, 1, 3);
    g_string_append(self->spec, "  nodes:\n");
    for (unsigned i = 0; i < n_groups; i++) {
        unsigned count = self->is_small ? between(self, 1, 2) : between(self, 1, 6);
        g_string_append_printf(self->spec,
                               "  - {count: %u, name: n%u-%%d, zones: %s, labels: {group: g%u}, "
                               "allocatable: {cpu: %u, memory: %uGi, pods: %u}",
                               count, i, zones[self->n_zones - 1], i,
                               self->is_easy ? 64 : between(self, 2, 8),
                               self->is_easy ? 256 : between(self, 2, 32),
                               self->is_easy ? 110 : between(self, 3, 110));
        if (has(self, HAS_TAINTS) && i > 0)
            g_string_append_printf(self->spec,
                                   ", taints: [{key: dedicated, value: g%u, effect: %s}]", i,
                                   one_in(self, 2) ? "NoSchedule" : "NoExecute");
        if (has(self, HAS_AUTOSCALER) && one_in(self, 2))
            g_string_append_printf(self->spec,
                                   ", autoscaler: {max: %u, delay: %us, scanInterval: 10s%s}",
                                   count + between(self, 1, 3), between(self, 5, 90),
                                   one_in(self, 2) ? ", attachLimits: known" : "");
        g_string_append(self->spec, "}\n");
        self->n_nodes[i] = count;
    }
    self->n_groups = n_groups;
}

/* ---- Drivers ---- */

static void
add_latency(Maker *self, const char *method, unsigned ms)
{
    switch (below(self, 5)) {
    case 0: /* at once */
        return;
    case 1:
        g_string_append_printf(self->spec, "      %s: %ums\n", method, between(self, 1, ms));
        return;
    case 2:
        g_string_append_printf(self->spec, "      %s: {uniform: [1ms, %ums]}\n", method,
                               between(self, 2, ms));
        return;
    case 3:
        g_string_append_printf(self->spec, "      %s: {exponential: {mean: %ums, max: 60s}}\n",
                               method, between(self, 1, ms));
        return;
    default: /* not forever: tests wait for the end of all calls */
        g_string_append_printf(self->spec,
                               "      %s: {lognormal: {p50: %ums, p99: %ums, max: 60s}}\n", method,
                               between(self, 1, ms), between(self, ms + 1, 20 * ms));
        return;
    }
}

void
add_latencies(Maker *self, gboolean attaches)
{
    g_string_append(self->spec, "    latency:\n      NodeGetInfo: 1ms\n");
    add_latency(self, "CreateVolume", 3000);
    add_latency(self, "DeleteVolume", 2000);
    if (attaches) {
        add_latency(self, "ControllerPublishVolume", 2000);
        add_latency(self, "ControllerUnpublishVolume", 2000);
    }
    add_latency(self, "NodeStageVolume", 1000);
    add_latency(self, "NodePublishVolume", 300);
    add_latency(self, "NodeUnpublishVolume", 300);
    add_latency(self, "NodeUnstageVolume", 500);
    add_latency(self, "ControllerExpandVolume", 2000);
    add_latency(self, "NodeExpandVolume", 500);
    if (has(self, HAS_SNAPSHOTS)) {
        add_latency(self, "CreateSnapshot", 3000);
        add_latency(self, "DeleteSnapshot", 1000);
        add_latency(self, "SnapshotReady", 20000);
    }
}

/* Whether the caller takes the error for "not done": if the driver did it all the same, nobody will
 * undo it (PROV-16, KVM-15). */
static gboolean
is_final(const char *method, const char *code)
{
    gboolean makes = g_str_equal(method, "CreateVolume") || g_str_equal(method, "CreateSnapshot");

    if (g_str_equal(code, "RESOURCE_EXHAUSTED"))
        return makes;
    return (g_str_equal(code, "INTERNAL") || g_str_equal(code, "UNKNOWN")) &&
           (makes || g_str_equal(method, "NodeStageVolume") ||
            g_str_equal(method, "NodePublishVolume"));
}

/* Each ends by itself, by its count. */
void
add_errors(Maker *self, gboolean attaches)
{
    static const char *const methods[] = {"CreateVolume",
                                          "DeleteVolume",
                                          "NodeStageVolume",
                                          "NodePublishVolume",
                                          "NodeUnpublishVolume",
                                          "NodeUnstageVolume",
                                          "ControllerExpandVolume",
                                          "NodeExpandVolume",
                                          "ControllerPublishVolume",
                                          "ControllerUnpublishVolume",
                                          "CreateSnapshot",
                                          "DeleteSnapshot"};
    static const char *const codes[] = {"INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED",
                                        "ABORTED",  "UNKNOWN",     "RESOURCE_EXHAUSTED"};
    unsigned n = between(self, 1, 4), n_attaching = has(self, HAS_SNAPSHOTS) ? 12 : 10;

    if (one_in(self, 3))
        return;
    g_string_append(self->spec, "    errors:\n");
    for (unsigned i = 0; i < n; i++) {
        const char *method = methods[below(self, attaches ? n_attaching : 8)];
        const char *code = PICK(self, codes);
        unsigned count = between(self, 1, 3);
        gboolean may_lie = !is_final(method, code);
        g_string_append_printf(self->spec, "    - {method: %s, code: %s, count: %u%s%s}\n", method,
                               code, count, one_in(self, 3) && may_lie ? ", afterEffect: true" : "",
                               one_in(self, 3) ? ", probability: 0.5" : "");
    }
}

static void
add_limits(Maker *self)
{
    if (one_in(self, 3)) /* a few slow calls must not block all others for 20 minutes */
        g_string_append_printf(self->spec, "    limits: {concurrent: %u}\n",
                               between(self, 1, 5) * (self->is_easy ? 10 : 1));
    else if (one_in(self, 3))
        g_string_append_printf(self->spec, "    limits: {rate: {qps: %u, burst: %u}}\n",
                               between(self, 1, 10), between(self, 1, 10));
}

/* Replicas of a sidecar need leader election: without it all work, and undo each other's work. */
static const char *
draw_replicas(Maker *self)
{
    static const char *const replicas[] = {"",
                                           "",
                                           "",
                                           ", leader-election: true",
                                           ", leader-election: true, replicas: 2",
                                           ", leader-election: true, replicas: 3"};

    return PICK(self, replicas);
}

void
add_components(Maker *self)
{
    static const char *const names[] = {"kube-controller-manager", "kube-scheduler"};
    gboolean is_plain = one_in(self, 2);

    if (!is_plain || has(self, HAS_GROUPS))
        g_string_append(self->spec, "  components:\n");
    if (has(self, HAS_GROUPS))
        g_string_append(self->spec,
                        "    snapshot-controller: {feature-gates: CSIVolumeGroupSnapshot=true}\n");
    if (is_plain)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        g_string_append_printf(self->spec, "    %s: {replicas: %u}\n", names[i],
                               between(self, 1, 3));
}

/* Keys of nodes, and of volumes. */
static const char *const topologies[] = {
    "",
    "    topology: [topology.kubernetes.io/zone, x.example/zone, kubernetes.io/os]\n"
    "    volumeTopology: [topology.kubernetes.io/zone]\n",
    "    topology: {x.example/zone: topology.kubernetes.io/zone, x.example/node: metadata.name}\n"
    "    volumeTopology: [x.example/zone]\n",
};

/* The driver tells how much room each zone has; it is enough for a while. */
static void
add_pools(Maker *self)
{
    g_string_append(self->spec, "    pools:\n");
    for (unsigned i = 0; i < self->n_zones; i++)
        g_string_append_printf(self->spec, "    - {zone: %c, capacity: %uGi}\n", 'a' + (int)i,
                               between(self, 3, 40));
}

static void
add_capabilities(Maker *self, gboolean has_capacity)
{
    if (has(self, HAS_SNAPSHOTS | HAS_MODIFICATIONS) || has_capacity)
        g_string_append_printf(
            self->spec,
            "    controllerCapabilities: [CREATE_DELETE_VOLUME, PUBLISH_UNPUBLISH_VOLUME, "
            "EXPAND_VOLUME%s%s%s]\n",
            has(self, HAS_SNAPSHOTS) ? ", CREATE_DELETE_SNAPSHOT, LIST_SNAPSHOTS, CLONE_VOLUME"
                                     : "",
            has_capacity ? ", GET_CAPACITY" : "",
            has(self, HAS_MODIFICATIONS) ? ", MODIFY_VOLUME" : "");
    if (has(self, HAS_MODIFICATIONS))
        g_string_append(self->spec, "    mutableParameters: [iops]\n");
    if (has(self, HAS_GROUPS))
        g_string_append(self->spec,
                        "    groupCapabilities: [CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT]\n");
}

void
add_driver(Maker *self, const char *name, gboolean attaches)
{
    gboolean has_topology = attaches && !one_in(self, 4);
    gboolean has_capacity = has(self, HAS_CAPACITY) && has_topology && one_in(self, 2);

    g_string_append_printf(self->spec, "  - name: %s\n    attachRequired: %s\n", name,
                           attaches ? "true" : "false");
    g_string_append(self->spec, has_topology
                                    ? topologies[between(self, 0, G_N_ELEMENTS(topologies) - 1)]
                                    : "    topology: false\n");
    if (attaches)
        add_capabilities(self, has_capacity);
    if (has_capacity)
        add_pools(self);
    if (attaches && self->has_limit)
        g_string_append_printf(self->spec, "    attachLimit: %u\n", between(self, 1, 6));
    add_latencies(self, attaches);
    add_errors(self, attaches);
    add_limits(self);
    g_string_append_printf(
        self->spec,
        "    sidecars:\n      external-provisioner: {feature-gates: "
        "\"Topology=%s,VolumeAttributesClass=true\", worker-threads: %u, kube-api-qps: %u, "
        "kube-api-burst: %u%s%s}\n",
        has_topology ? "true" : "false", between(self, 1, 100), between(self, 2, 20),
        between(self, 5, 40), draw_replicas(self),
        has_capacity ? ", enable-capacity: true, capacity-ownerref-level: -1, "
                       "capacity-poll-interval: 30s"
                     : "");
    if (attaches)
        g_string_append_printf(self->spec, "      external-attacher: {worker-threads: %u%s}\n",
                               between(self, 1, 20), draw_replicas(self));
    g_string_append_printf(self->spec,
                           "      external-resizer: {workers: %u, feature-gates: "
                           "VolumeAttributesClass=true%s}\n",
                           between(self, 1, 10), draw_replicas(self));
    if (attaches && has(self, HAS_GROUPS))
        g_string_append(self->spec, "      external-snapshotter: {feature-gates: "
                                    "CSIVolumeGroupSnapshot=true}\n");
    if (one_in(self, 4))
        g_string_append(self->spec, "    nodePlugin: {registersAfter: {uniform: [100ms, 20s]}}\n");
    g_string_append_printf(self->objects,
                           "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: "
                           "%s}\nspec: {attachRequired: %s, fsGroupPolicy: None%s}\n",
                           name, attaches ? "true" : "false",
                           has_capacity ? ", storageCapacity: true" : "");
}

void
add_inline_driver(Maker *self)
{
    g_string_append(self->spec,
                    "  - name: " INLINE "\n    attachRequired: false\n    topology: false\n"
                    "    nodeCapabilities: [SINGLE_NODE_MULTI_WRITER]\n    latency:\n");
    add_latency(self, "NodePublishVolume", 300);
    add_latency(self, "NodeUnpublishVolume", 300);
    g_string_append(self->spec, "      NodeGetInfo: 1ms\n");
    g_string_append(self->objects,
                    "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: " INLINE
                    "}\nspec: {attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: "
                    "[Ephemeral]}\n");
}

/* ---- Objects that exist from the start ---- */

void
add_disk_driver(Maker *self)
{
    g_string_append_printf(self->spec, "  - name: " EBS "\n    attachLimit: %u\n    latency:\n",
                           between(self, 1, 4));
    g_string_append(self->spec, "      NodeGetInfo: 1ms\n");
    add_latency(self, "ControllerPublishVolume", 2000);
    add_latency(self, "ControllerUnpublishVolume", 2000);
}

static void
random_cluster_add_class(Maker *self, const char *name, const char *provisioner, const char *mode)
{
    gboolean retains = has(self, HAS_RETAIN) && g_str_equal(name, "san");

    g_string_append_printf(self->objects,
                           "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: "
                           "{name: %s}\nprovisioner: %s\nvolumeBindingMode: %s\nreclaimPolicy: "
                           "%s\nallowVolumeExpansion: %s\n",
                           name, provisioner, mode, retains ? "Retain" : "Delete",
                           one_in(self, 4) ? "false" : "true");
}

static const char *
binding_mode(Maker *self)
{
    return one_in(self, 2) ? "Immediate" : "WaitForFirstConsumer";
}

void
add_classes(Maker *self)
{
    random_cluster_add_class(self, "wffc", DISK, "WaitForFirstConsumer");
    random_cluster_add_class(self, "immediate", DISK, "Immediate");
    random_cluster_add_class(self, "san", SAN,
                             self->is_easy ? "WaitForFirstConsumer" : binding_mode(self));
    random_cluster_add_class(self, "files", FILES, binding_mode(self));
    random_cluster_add_class(self, "by-hand", PROVISIONER_NONE, "Immediate");
    random_cluster_add_class(self, "by-hand-wffc", PROVISIONER_NONE, "WaitForFirstConsumer");
}

void
append_static_spec(Maker *self, GString *text, unsigned number)
{
    g_string_append_printf(text,
                           "{capacity: {storage: %uGi}, accessModes: [ReadWriteOnce%s], "
                           "persistentVolumeReclaimPolicy: Retain, storageClassName: %s, "
                           "volumeMode: %s, csi: {driver: " DISK ", volumeHandle: static-%u}",
                           between(self, 1, 5), one_in(self, 4) ? ", ReadWriteMany" : "",
                           one_in(self, 2) ? "by-hand" : "by-hand-wffc",
                           one_in(self, 5) ? "Block" : "Filesystem", number);
    if (has(self, HAS_VOLUME_AFFINITY) && one_in(self, 2))
        g_string_append_printf(
            text,
            ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: %s, "
            "operator: In, values: [%s]}]}]}}",
            one_in(self, 2) ? "kubernetes.io/hostname" : "group",
            one_in(self, 2) ? "g0, n0-0" : "g1, n0-1, n1-0");
    g_string_append(text, "}");
}

void
add_static_volumes(Maker *self)
{
    unsigned n = between(self, 4, 12);

    for (unsigned i = 0; i < n; i++) {
        g_string_append_printf(self->objects,
                               "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: "
                               "static-%u}\nspec: ",
                               i);
        append_static_spec(self, self->objects, i);
        g_string_append(self->objects, "\n");
    }
}
