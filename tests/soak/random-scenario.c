/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-scenario.h"

#include <string.h>

#include "sim/random.h"

#define DISK "disk.soak.example" /* volumes that are attached to one node */
#define SAN "san.soak.example"   /* the same by another driver */
#define FILES                                                                                      \
    "files.soak.example" /* volumes that are mounted without attaching, by any number of nodes */

/* When everything is deleted: a hard case may take the longest back-off (5 min of the sidecars) a
 * few times. */
#define DELETE_AT_S (20 * 60)
#define WORK_UNTIL_S 240 /* changes and faults come earlier */
#define N_PODS_MAX 5
#define N_GROUPS_MAX 3
#define N_CLAIMS_MAX 5 /* of a pod */

/* A claim as a pod uses it. */
typedef struct {
    char name[16];
    gboolean is_block;
} ClaimUse;

typedef struct {
    SimStream stream;
    uint64_t n;
    GString *spec, *objects;
    gboolean is_easy, is_small;
    gboolean has_limit; /* of volumes per node */
    unsigned n_zones, n_sets, n_groups, n_shared;
    unsigned n_nodes[N_GROUPS_MAX]; /* by group */
    gboolean has_any_claim;
    unsigned n_pods[N_PODS_MAX], n_claims[N_PODS_MAX]; /* pods, and claims of each, by number */
} Maker;

static unsigned
below(Maker *self, unsigned limit)
{
    return (unsigned)sim_random_below(self->stream, 0, self->n++, limit);
}

static unsigned
between(Maker *self, unsigned low, unsigned high)
{
    return low + below(self, high - low + 1);
}

static gboolean
one_in(Maker *self, unsigned n)
{
    return below(self, n) == 0;
}

#define PICK(self, array) ((array)[below((self), G_N_ELEMENTS(array))])

/* ---- Nodes ---- */

static void
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
                               "allocatable: {cpu: %u, memory: 32Gi, pods: %u}}\n",
                               count, i, zones[self->n_zones - 1], i,
                               self->is_easy ? 64 : between(self, 2, 8),
                               self->is_easy ? 110 : between(self, 3, 110));
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

static void
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
}

/* Whether the caller takes the error for "not done": if the driver did it all the same, nobody will
 * undo it (PROV-16, KVM-15). */
static gboolean
is_final(const char *method, const char *code)
{
    gboolean makes = g_str_equal(method, "CreateVolume");

    if (g_str_equal(code, "RESOURCE_EXHAUSTED"))
        return makes;
    return (g_str_equal(code, "INTERNAL") || g_str_equal(code, "UNKNOWN")) &&
           (makes || g_str_equal(method, "NodeStageVolume") ||
            g_str_equal(method, "NodePublishVolume"));
}

/* Each ends by itself, by its count. */
static void
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
                                          "ControllerUnpublishVolume"};
    static const char *const codes[] = {"INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED",
                                        "ABORTED",  "UNKNOWN",     "RESOURCE_EXHAUSTED"};
    unsigned n = between(self, 1, 4);

    if (one_in(self, 3))
        return;
    g_string_append(self->spec, "    errors:\n");
    for (unsigned i = 0; i < n; i++) {
        const char *method = methods[below(self, attaches ? 10 : 8)];
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

static void
add_components(Maker *self)
{
    static const char *const names[] = {"kube-controller-manager", "kube-scheduler"};

    if (one_in(self, 2))
        return;
    g_string_append(self->spec, "  components:\n");
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

static void
add_driver(Maker *self, const char *name, gboolean attaches)
{
    gboolean has_topology = attaches && !one_in(self, 4);

    g_string_append_printf(self->spec, "  - name: %s\n    attachRequired: %s\n", name,
                           attaches ? "true" : "false");
    g_string_append(self->spec, has_topology
                                    ? topologies[between(self, 0, G_N_ELEMENTS(topologies) - 1)]
                                    : "    topology: false\n");
    if (attaches && self->has_limit)
        g_string_append_printf(self->spec, "    attachLimit: %u\n", between(self, 1, 6));
    add_latencies(self, attaches);
    add_errors(self, attaches);
    add_limits(self);
    g_string_append_printf(
        self->spec,
        "    sidecars:\n      external-provisioner: {feature-gates: "
        "Topology=%s, worker-threads: %u, kube-api-qps: %u, kube-api-burst: %u%s}\n",
        has_topology ? "true" : "false", between(self, 1, 100), between(self, 2, 20),
        between(self, 5, 40), draw_replicas(self));
    if (attaches)
        g_string_append_printf(self->spec, "      external-attacher: {worker-threads: %u%s}\n",
                               between(self, 1, 20), draw_replicas(self));
    g_string_append_printf(self->spec, "      external-resizer: {workers: %u%s}\n",
                           between(self, 1, 10), draw_replicas(self));
    if (one_in(self, 4))
        g_string_append(self->spec, "    nodePlugin: {registersAfter: {uniform: [100ms, 20s]}}\n");
    g_string_append_printf(self->objects,
                           "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: "
                           "%s}\nspec: {attachRequired: %s, fsGroupPolicy: None}\n",
                           name, attaches ? "true" : "false");
}

/* ---- Objects that exist from the start ---- */

static void
add_class(Maker *self, const char *name, const char *provisioner, const char *mode)
{
    g_string_append_printf(self->objects,
                           "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: "
                           "{name: %s}\nprovisioner: %s\nvolumeBindingMode: %s\nreclaimPolicy: "
                           "Delete\nallowVolumeExpansion: %s\n",
                           name, provisioner, mode, one_in(self, 4) ? "false" : "true");
}

static const char *
binding_mode(Maker *self)
{
    return one_in(self, 2) ? "Immediate" : "WaitForFirstConsumer";
}

static void
add_static_volumes(Maker *self)
{
    unsigned n = between(self, 4, 12);

    for (unsigned i = 0; i < n; i++)
        g_string_append_printf(
            self->objects,
            "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: static-%u}\nspec:\n"
            "  capacity: {storage: %uGi}\n  accessModes: [ReadWriteOnce%s]\n"
            "  persistentVolumeReclaimPolicy: Retain\n  storageClassName: %s\n"
            "  volumeMode: %s\n  csi: {driver: " DISK ", volumeHandle: static-%u}\n",
            i, between(self, 1, 5), one_in(self, 4) ? ", ReadWriteMany" : "",
            one_in(self, 2) ? "by-hand" : "by-hand-wffc", one_in(self, 5) ? "Block" : "Filesystem",
            i);
}

/* ---- What is done ---- */

static const char *
class_of(Maker *self)
{
    switch (below(self, self->is_easy ? 5 : 7)) {
    case 0:
    case 1:
        return "wffc";
    case 2:
        return "immediate";
    case 3:
        return "files";
    case 4:
        return "san";
    case 5:
        return "by-hand";
    default:
        return "by-hand-wffc";
    }
}

/* A claim for one pod only may block other pods for good: not used where all must become ready. */
static void
append_claim_spec(Maker *self, GString *text, const char *class, gboolean is_block)
{
    const char *mode = "ReadWriteOnce";

    if (g_str_equal(class, "files"))
        mode = "ReadWriteMany";
    else if (!self->is_easy && one_in(self, 6))
        mode = "ReadWriteOncePod";
    g_string_append_printf(text,
                           "{accessModes: [%s], storageClassName: %s, volumeMode: %s, resources: "
                           "{requests: {storage: %uGi}}}",
                           mode, class, is_block ? "Block" : "Filesystem", between(self, 1, 3));
}

static gboolean
draw_block(Maker *self, const char *class)
{
    return one_in(self, 5) && !g_str_equal(class, "files");
}

static void
append_uses(GString *text, const ClaimUse *claims, unsigned n_claims, gboolean is_block)
{
    const char *comma = "";

    g_string_append(text, is_block ? "volumeDevices: [" : "volumeMounts: [");
    for (unsigned i = 0; i < n_claims; i++) {
        if (claims[i].is_block != is_block)
            continue;
        g_string_append_printf(text, "%s{name: %s, %s: /v%u}", comma, claims[i].name,
                               is_block ? "devicePath" : "mountPath", i);
        comma = ", ";
    }
    g_string_append(text, "]");
}

static void
append_pod_spec(
    Maker *self, GString *text, const ClaimUse *claims, unsigned n_claims, gboolean is_template)
{
    g_string_append(text, "{");
    if (one_in(self, 4) && (!self->is_easy || self->n_groups == 1))
        g_string_append_printf(text, "nodeSelector: {group: g%u}, ", below(self, self->n_groups));
    if (one_in(self, 3))
        g_string_append_printf(text, "terminationGracePeriodSeconds: %u, ", below(self, 30));
    if (!self->is_easy && one_in(self, 3)) /* it may preempt other pods */
        g_string_append_printf(text, "priority: %u, ", below(self, 3));
    g_string_append_printf(text,
                           "containers: [{name: c, image: i, resources: {requests: {cpu: %um}}, ",
                           between(self, 10, 500));
    append_uses(text, claims, n_claims, FALSE);
    g_string_append(text, ", ");
    append_uses(text, claims, n_claims, TRUE);
    g_string_append(text, "}], volumes: [");
    for (unsigned i = 0; i < n_claims && !is_template; i++)
        g_string_append_printf(text, "%s{name: %s, persistentVolumeClaim: {claimName: %s}}",
                               i == 0 ? "" : ", ", claims[i].name, claims[i].name);
    g_string_append(text, "]}");
}

/* A class for a claim of a pod. Volumes of class immediate land in any zone: so that an easy pod
 * finds a node, it has at most one of them, and then no claims that are bound late. */
static const char *
class_for_pod(Maker *self, gboolean *has_immediate)
{
    const char *class = class_of(self);
    gboolean is_immediate = g_str_equal(class, "immediate");

    if (self->is_easy && *has_immediate && !g_str_equal(class, "files"))
        class = "files";
    *has_immediate |= is_immediate;
    return class;
}

/* Copies of a pod with claims of their own. */
static void
add_pods(Maker *self, unsigned number)
{
    unsigned count = self->is_small ? between(self, 1, 2) : between(self, 1, 8);
    unsigned n_claims = below(self, 4), n_uses = 0;
    ClaimUse uses[N_CLAIMS_MAX];
    gboolean has_immediate = FALSE;

    self->n_pods[number] = count;
    self->n_claims[number] = n_claims;
    self->has_any_claim |= n_claims > 0;
    g_string_append_printf(self->spec, "  - at: %ums\n    create:\n      count: %u\n",
                           below(self, 60 * 1000), count);
    if (one_in(self, 2))
        g_string_append_printf(self->spec, "      interarrival: {exponential: {mean: %ums}}\n",
                               between(self, 1, 5000));
    g_string_append(self->spec, "      manifest:\n");
    for (; n_uses < n_claims; n_uses++) {
        const char *class = class_for_pod(self, &has_immediate);
        ClaimUse *use = &uses[n_uses];
        g_snprintf(use->name, sizeof use->name, "c%u-%u", number, n_uses);
        use->is_block = draw_block(self, class);
        g_string_append_printf(self->spec,
                               "      - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: "
                               "{name: %s}, spec: ",
                               use->name);
        append_claim_spec(self, self->spec, class, use->is_block);
        g_string_append(self->spec, "}\n");
    }
    if (self->n_shared > 0 && one_in(self, 3)) {
        uses[n_uses].is_block = FALSE;
        g_snprintf(uses[n_uses].name, sizeof uses[n_uses].name, "shared-%u",
                   below(self, self->n_shared));
        n_uses++;
    }
    g_string_append_printf(
        self->spec, "      - {apiVersion: v1, kind: Pod, metadata: {name: p%u}, spec: ", number);
    append_pod_spec(self, self->spec, uses, n_uses, FALSE);
    g_string_append(self->spec, "}\n");
}

static void
add_shared_claim(Maker *self)
{
    self->has_any_claim = TRUE;
    g_string_append_printf(
        self->spec,
        "  - at: %ums\n    create:\n      manifest: {apiVersion: v1, kind: PersistentVolumeClaim, "
        "metadata: {name: shared-%u}, spec: ",
        below(self, 20 * 1000), self->n_shared++);
    append_claim_spec(self, self->spec, !self->is_easy && one_in(self, 3) ? "wffc" : "files",
                      FALSE);
    g_string_append(self->spec, "}\n");
}

static void
add_stateful_set(Maker *self)
{
    static const char *const names[] = {"data", "log"};
    const char *classes[G_N_ELEMENTS(names)];
    ClaimUse uses[G_N_ELEMENTS(names)];
    unsigned number = self->n_sets++, n_templates = between(self, 1, 2);

    self->has_any_claim = TRUE;
    g_string_append_printf(
        self->spec,
        "  - at: %ums\n    create:\n      manifest:\n        apiVersion: apps/v1\n        kind: "
        "StatefulSet\n        metadata: {name: set%u}\n        spec:\n"
        "          replicas: %u\n          serviceName: s\n          "
        "podManagementPolicy: %s\n          selector: {matchLabels: {app: set%u}}\n",
        below(self, 30 * 1000), number, between(self, 1, self->is_small ? 2 : 6),
        one_in(self, 2) ? "Parallel" : "OrderedReady", number);
    g_string_append_printf(self->spec,
                           "          template: {metadata: {labels: {app: set%u}}, spec: ", number);
    for (unsigned i = 0; i < n_templates; i++) {
        classes[i] = class_of(self);
        if (self->is_easy)
            classes[i] = i == 0 ? "wffc" : "files";
        g_strlcpy(uses[i].name, names[i], sizeof uses[i].name);
        uses[i].is_block = draw_block(self, classes[i]);
    }
    append_pod_spec(self, self->spec, uses, n_templates, TRUE);
    g_string_append(self->spec, "}\n          volumeClaimTemplates:\n");
    for (unsigned i = 0; i < n_templates; i++) {
        g_string_append_printf(self->spec, "          - {metadata: {name: %s}, spec: ", names[i]);
        append_claim_spec(self, self->spec, classes[i], uses[i].is_block);
        g_string_append(self->spec, "}\n");
    }
}

/* ---- Changes while it lives ---- */

/* Returns: a copy of a claim; "" if there is none */
static void
draw_claim(Maker *self, unsigned n_pods, char *name, size_t size)
{
    unsigned pods = n_pods == 0 ? 0 : below(self, n_pods);

    name[0] = '\0';
    if (self->n_sets > 0 && one_in(self, 3))
        g_snprintf(name, size, "data-set%u-%u", below(self, self->n_sets), below(self, 4));
    else if (n_pods > 0 && self->n_claims[pods] > 0)
        g_snprintf(name, size, "c%u-%u-%u", pods, below(self, self->n_claims[pods]),
                   below(self, self->n_pods[pods]));
}

static void
grow_claim(Maker *self, unsigned n_pods, unsigned at)
{
    char name[32];

    draw_claim(self, n_pods, name, sizeof name);
    if (name[0] != '\0')
        g_string_append_printf(
            self->spec,
            "  - {at: %us, patch: {kind: PersistentVolumeClaim, name: %s, patch: "
            "{spec: {resources: {requests: {storage: %uGi}}}}}}\n",
            at, name, between(self, 2, 9));
}

static void
label_pod(Maker *self, unsigned n_pods, unsigned at)
{
    unsigned pods = n_pods == 0 ? 0 : below(self, n_pods);

    if (n_pods > 0)
        g_string_append_printf(self->spec,
                               "  - {at: %us, patch: {kind: Pod, name: p%u-%u, patch: {metadata: "
                               "{labels: {round: r%u}}}}}\n",
                               at, pods, below(self, self->n_pods[pods]), below(self, 3));
}

/* The node takes no pods for a while. */
static void
cordon_node(Maker *self, unsigned at)
{
    unsigned group = below(self, self->n_groups), number = below(self, self->n_nodes[group]);
    unsigned until = at + between(self, 1, 60);

    for (unsigned i = 0; i < 2; i++)
        g_string_append_printf(self->spec,
                               "  - {at: %us, patch: {kind: Node, name: n%u-%u, patch: {spec: "
                               "{unschedulable: %s}}}}\n",
                               i == 0 ? at : until, group, number, i == 0 ? "true" : "false");
}

/* The driver is slow for a while, and some calls fail. */
static void
change_driver(Maker *self, unsigned at)
{
    static const char *const drivers[] = {DISK, SAN, FILES};
    unsigned which = below(self, G_N_ELEMENTS(drivers));

    g_string_append_printf(self->spec, "  - at: %us\n    setDriver:\n      name: %s\n", at,
                           drivers[which]);
    GString *spec = g_steal_pointer(&self->spec);
    g_autoptr(GString) options = self->spec = g_string_new(NULL);
    add_latencies(self, which < 2);
    add_errors(self, which < 2);
    self->spec = spec;
    g_auto(GStrv) lines = g_strsplit(options->str, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL && lines[i][0] != '\0'; i++)
        g_string_append_printf(self->spec, "  %s\n", lines[i]);
}

static void
delete_pods(Maker *self, unsigned n_pods, unsigned at)
{
    if (n_pods > 0)
        g_string_append_printf(self->spec, "  - {at: %us, delete: {kind: Pod, name: p%u-*%s}}\n",
                               at, below(self, n_pods),
                               one_in(self, 4) ? ", gracePeriodSeconds: 0" : "");
}

static void
change_set(Maker *self, unsigned at)
{
    if (self->n_sets == 0)
        return;
    if (one_in(self, 2))
        g_string_append_printf(self->spec, "  - {at: %us, scale: {name: set%u, replicas: %u}}\n",
                               at, below(self, self->n_sets), below(self, self->is_small ? 3 : 8));
    else
        g_string_append_printf(self->spec, "  - {at: %us, delete: {kind: Pod, name: set%u-%u}}\n",
                               at, below(self, self->n_sets), below(self, 3));
}

/* Claims in use wait for their pods. */
static void
delete_claims(Maker *self, unsigned n_pods, unsigned at)
{
    unsigned pods = n_pods == 0 ? 0 : below(self, n_pods);

    if (n_pods > 0 && !self->is_easy && self->n_claims[pods] > 0)
        g_string_append_printf(
            self->spec, "  - {at: %us, delete: {kind: PersistentVolumeClaim, name: c%u-*}}\n", at,
            pods);
}

/* Deletes and grows some objects while the rest stays. */
static void
add_changes(Maker *self, unsigned n_pods)
{
    unsigned n = below(self, 8);

    for (unsigned i = 0; i < n; i++) {
        unsigned at = between(self, 1, WORK_UNTIL_S);
        switch (below(self, 9)) {
        case 0:
            delete_pods(self, n_pods, at);
            break;
        case 1:
        case 2:
            change_set(self, at);
            break;
        case 3:
            delete_claims(self, n_pods, at);
            break;
        case 4:
        case 5:
            grow_claim(self, n_pods, at);
            break;
        case 6:
            label_pod(self, n_pods, at);
            break;
        case 7:
            cordon_node(self, at);
            break;
        default:
            change_driver(self, at);
            break;
        }
    }
}

static void
add_end(Maker *self, unsigned n_pods)
{
    static const char format[] = "  - {at: %us, delete: {kind: %s, name: \"*\"}}\n";

    if (self->n_sets > 0)
        g_string_append_printf(self->spec, format, DELETE_AT_S, "StatefulSet");
    if (n_pods > 0)
        g_string_append_printf(self->spec, format, DELETE_AT_S + below(self, 2), "Pod");
    if (self->has_any_claim)
        g_string_append_printf(self->spec, format, DELETE_AT_S + below(self, 60),
                               "PersistentVolumeClaim");
}

/* Crashed processes come back soon: before a silent node would lose its volumes (6 min). */
static void
add_faults(Maker *self)
{
    unsigned n = one_in(self, 2) ? 0 : between(self, 1, 5);

    if (n > 0)
        g_string_append(self->spec, "  faults:\n");
    for (unsigned i = 0; i < n; i++) {
        unsigned at_ms =
            between(self, 1, (one_in(self, 4) ? DELETE_AT_S + 60 : WORK_UNTIL_S) * 1000);
        unsigned restart_ms = between(self, 1, 40 * 1000);
        static const char *const sidecars[] = {"external-provisioner", "external-attacher",
                                               "external-resizer"};
        static const char *const drivers[] = {DISK, SAN, FILES};
        unsigned group = below(self, self->n_groups);
        g_autofree char *what = NULL;
        switch (below(self, 6)) {
        case 0:
            what = g_strdup("component: kube-controller-manager");
            break;
        case 1:
            what = g_strdup("component: kube-scheduler");
            break;
        case 2:
        case 3:
            what = g_strdup_printf("component: kubelet, node: n%u-%u", group,
                                   below(self, self->n_nodes[group]));
            break;
        default:
            what = g_strdup_printf("component: %s, driver: %s", PICK(self, sidecars),
                                   PICK(self, drivers));
            break;
        }
        g_string_append_printf(self->spec, "  - {at: %ums, %s, do: crash, restartAfter: %ums}\n",
                               at_ms, what, restart_ms);
    }
}

/* Faults that only disturb or end soon: before a silent node would lose its volumes. */
static char *
draw_trouble(Maker *self, unsigned group)
{
    static const char *const drivers[] = {DISK, SAN, FILES};
    unsigned node = below(self, self->n_nodes[group]), s = between(self, 1, 30);

    switch (below(self, 12)) {
    case 0:
        return g_strdup_printf("node: n%u-%u, do: reboot, restartAfter: %us", group, node, s);
    case 1:
        return g_strdup_printf("node: n%u-%u, do: cut-network, for: %us", group, node, s);
    case 2:
        return g_strdup_printf("component: kubelet, node: n%u-%u, do: hang, for: %us", group, node,
                               s);
    case 3:
        return g_strdup_printf("component: kube-controller-manager, do: hang, for: %us", s);
    case 4:
        return g_strdup_printf("component: kube-scheduler, do: slow, factor: 100, for: %us", s);
    case 5:
        return g_strdup_printf("component: kube-apiserver, do: outage, for: %us", s);
    case 6:
        return g_strdup_printf("component: kube-apiserver, do: slow, factor: 50, for: %us", s);
    case 7:
        return g_strdup("component: kube-apiserver, do: drop-watches");
    case 8:
        return g_strdup_printf("component: kube-apiserver, do: limit-seats, seats: 1, for: %us", s);
    case 9:
        return g_strdup_printf("driver: %s, do: hang, for: %us", PICK(self, drivers), s);
    case 10:
        return g_strdup_printf("driver: %s, do: slow, factor: 5, for: %us", PICK(self, drivers), s);
    default:
        return g_strdup_printf("driver: %s, do: restart, restartAfter: %us", PICK(self, drivers),
                               s);
    }
}

/* The API server refuses requests only between the workload's actions: a refused action is lost,
 * like any user's. */
static void
add_troubles(Maker *self, gboolean is_first)
{
    unsigned n = one_in(self, 2) ? 0 : between(self, 1, 4);

    if (n > 0 && is_first)
        g_string_append(self->spec, "  faults:\n");
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *what = draw_trouble(self, below(self, self->n_groups));
        gboolean refuses = strstr(what, "outage") != NULL || strstr(what, "seats") != NULL;
        unsigned from_s = refuses || one_in(self, 3) ? WORK_UNTIL_S + 65 : 1;
        g_string_append_printf(self->spec, "  - {at: %ums, %s}\n",
                               from_s * 1000 + below(self, 300 * 1000), what);
    }
}

static void
add_work(Maker *self)
{
    unsigned n_pods = self->is_small ? between(self, 1, 2) : below(self, N_PODS_MAX + 1);

    g_string_append(self->spec, "  workload:\n");
    while (self->n_shared < 2 && one_in(self, 2))
        add_shared_claim(self);
    for (unsigned i = 0; i < n_pods; i++)
        add_pods(self, i);
    for (unsigned i = n_pods == 0 ? 1 : below(self, self->is_small ? 2 : 4); i > 0; i--)
        add_stateful_set(self);
    add_changes(self, n_pods);
    add_end(self, n_pods);
}

RandomScenario *
random_scenario_new(guint64 seed)
{
    RandomScenario *result = g_new0(RandomScenario, 1);
    g_autoptr(GString) objects = g_string_new(NULL);
    Maker self = {.stream = sim_stream_from(seed, 0, "soak/scenario"),
                  .spec = g_string_new(NULL),
                  .objects = objects};

    self.is_easy = one_in(&self, 3);
    self.is_small = one_in(&self, 3);
    self.has_limit = !self.is_easy && one_in(&self, 2);
    g_string_append_printf(
        self.spec,
        "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: soak-%" G_GUINT64_FORMAT
        "}\nspec:\n  seed: %" G_GUINT64_FORMAT "\n  until: idle\n  idleFor: 15m\n",
        seed, seed);
    if (one_in(&self, 4))
        g_string_append(self.spec, "  kubernetes: {version: \"1.32\", unlimitedQPS: true}\n");
    add_nodes(&self);
    add_components(&self);
    g_string_append(self.spec, "  drivers:\n");
    add_driver(&self, DISK, TRUE);
    add_driver(&self, SAN, TRUE);
    add_driver(&self, FILES, FALSE);
    add_class(&self, "wffc", DISK, "WaitForFirstConsumer");
    add_class(&self, "immediate", DISK, "Immediate");
    add_class(&self, "san", SAN, self.is_easy ? "WaitForFirstConsumer" : binding_mode(&self));
    add_class(&self, "files", FILES, binding_mode(&self));
    add_class(&self, "by-hand", "kubernetes.io/no-provisioner", "Immediate");
    add_class(&self, "by-hand-wffc", "kubernetes.io/no-provisioner", "WaitForFirstConsumer");
    add_static_volumes(&self);
    add_work(&self);
    gsize before = self.spec->len;
    add_faults(&self);
    add_troubles(&self, self.spec->len == before);
    g_string_append(self.spec, objects->str);
    result->text = g_string_free(self.spec, FALSE);
    result->is_easy = self.is_easy;
    result->is_small = self.is_small;
    result->delete_at_s = DELETE_AT_S;
    return result;
}

void
random_scenario_free(RandomScenario *self)
{
    if (self == NULL)
        return;
    g_free(self->text);
    g_free(self);
}
