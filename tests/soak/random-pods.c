/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-private.h"

#include <string.h>

/* ---- What is done ---- */

static const char *
random_pods_class_of(Maker *self)
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
void
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
append_uses(GString *text, const RandomClaimUse *claims, unsigned n_claims, gboolean is_block)
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
append_affinity(Maker *self, GString *text, const char *app)
{
    static const char *const keys[] = {"kubernetes.io/hostname", "topology.kubernetes.io/zone"};
    const char *key = PICK(self, keys);

    switch (below(self, 4)) {
    case 0:
        g_string_append_printf(
            text,
            "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{topologyKey: %s, labelSelector: {matchLabels: {app: %s}}}]}}, ",
            key, app);
        return;
    case 1:
        g_string_append_printf(
            text,
            "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: "
            "5, podAffinityTerm: {topologyKey: %s, labelSelector: {matchLabels: {app: %s}}}}]}}, ",
            key, app);
        return;
    case 2:
        g_string_append_printf(
            text,
            "topologySpreadConstraints: [{maxSkew: 1, topologyKey: %s, whenUnsatisfiable: %s, "
            "labelSelector: {matchLabels: {app: %s}}}], ",
            key, one_in(self, 2) ? "DoNotSchedule" : "ScheduleAnyway", app);
        return;
    default:
        g_string_append_printf(
            text,
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "{nodeSelectorTerms: [{matchExpressions: [{key: group, operator: In, values: [g%u]}]}, "
            "{matchExpressions: [{key: group, operator: In, values: [g%u]}]}]}}}, ",
            below(self, self->n_groups), below(self, self->n_groups));
        return;
    }
}

void
append_placement(Maker *self, GString *text, const char *app)
{
    if (one_in(self, 4) && (!self->is_easy || self->n_groups == 1))
        g_string_append_printf(text, "nodeSelector: {group: g%u}, ", below(self, self->n_groups));
    if (has(self, HAS_TAINTS) && one_in(self, 2))
        g_string_append_printf(text, "tolerations: [{key: dedicated, operator: Exists%s}], ",
                               one_in(self, 3) ? ", effect: NoExecute, tolerationSeconds: 60" : "");
    if (has(self, HAS_AFFINITY) && one_in(self, 2))
        append_affinity(self, text, app);
}

static void
append_pod_spec(Maker *self,
                GString *text,
                const char *app,
                const RandomClaimUse *claims,
                unsigned n_claims,
                gboolean is_template)
{
    g_string_append(text, "{");
    append_placement(self, text, app);
    if (one_in(self, 3))
        g_string_append_printf(text, "terminationGracePeriodSeconds: %u, ", below(self, 30));
    if (!self->is_easy && one_in(self, 3)) /* it may preempt other pods */
        g_string_append_printf(text, "priority: %u, ", below(self, 3));
    g_string_append_printf(
        text,
        "containers: [{name: c, image: i, resources: {requests: {cpu: %um, memory: "
        "%uMi}}, ",
        between(self, 10, 500), between(self, 16, 1024));
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
    const char *class = random_pods_class_of(self);
    gboolean is_immediate = g_str_equal(class, "immediate");

    if (self->is_easy && *has_immediate && !g_str_equal(class, "files"))
        class = "files";
    *has_immediate |= is_immediate;
    return class;
}

/* Copies of a pod with claims of their own. */
void
add_pods(Maker *self, unsigned number)
{
    unsigned count = self->is_small ? between(self, 1, 2) : between(self, 1, 8);
    unsigned n_claims = below(self, 4), n_uses = 0;
    RandomClaimUse uses[N_CLAIMS_MAX];
    gboolean has_immediate = FALSE;
    char app[16];

    self->n_pods[number] = count;
    self->n_claims[number] = n_claims;
    self->has_any_claim |= n_claims > 0;
    g_string_append_printf(self->spec, "  - at: %ums\n", below(self, 60 * 1000));
    gsize start = self->spec->len;
    g_string_append_printf(self->spec, "    create:\n      count: %u\n", count);
    if (one_in(self, 2))
        g_string_append_printf(self->spec, "      interarrival: {exponential: {mean: %ums}}\n",
                               between(self, 1, 5000));
    g_string_append(self->spec, "      manifest:\n");
    for (; n_uses < n_claims; n_uses++) {
        const char *class = class_for_pod(self, &has_immediate);
        RandomClaimUse *use = &uses[n_uses];
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
        self->spec,
        "      - {apiVersion: v1, kind: Pod, metadata: {name: p%u, labels: {app: p%u}}, spec: ",
        number, number);
    g_snprintf(app, sizeof app, "p%u", number);
    append_pod_spec(self, self->spec, app, uses, n_uses, FALSE);
    g_string_append(self->spec, "}\n");
    self->pods_again[number] = g_strdup(self->spec->str + start);
}

void
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
append_retention(Maker *self)
{
    static const char *const policies[] = {"Retain", "Delete"};

    if (has(self, HAS_UPDATES) && one_in(self, 2))
        g_string_append_printf(
            self->spec, "persistentVolumeClaimRetentionPolicy: {whenDeleted: %s, whenScaled: %s}, ",
            PICK(self, policies), PICK(self, policies));
    if (has(self, HAS_UPDATES) && one_in(self, 4))
        g_string_append_printf(self->spec, "ordinals: {start: %u}, ", between(self, 1, 2));
}

static void
make_stateful_set(Maker *self, unsigned number)
{
    static const char *const names[] = {"data", "log"};
    const char *classes[G_N_ELEMENTS(names)];
    RandomClaimUse uses[G_N_ELEMENTS(names)];
    unsigned n_templates = between(self, 1, 2);
    char app[16];

    self->has_any_claim = TRUE;
    g_string_append_printf(
        self->spec,
        "    create:\n      manifest:\n        apiVersion: apps/v1\n        kind: "
        "StatefulSet\n        metadata: {name: set%u}\n        spec: {replicas: %u, serviceName: "
        "s, "
        "podManagementPolicy: %s, selector: {matchLabels: {app: set%u}}, ",
        number, between(self, 1, self->is_small ? 2 : 6),
        one_in(self, 2) ? "Parallel" : "OrderedReady", number);
    append_update_strategy(self, "StatefulSet");
    append_retention(self);
    g_string_append_printf(self->spec,
                           "template: {metadata: {labels: {app: set%u}}, spec: ", number);
    for (unsigned i = 0; i < n_templates; i++) {
        classes[i] = random_pods_class_of(self);
        if (self->is_easy)
            classes[i] = i == 0 ? "wffc" : "files";
        g_strlcpy(uses[i].name, names[i], sizeof uses[i].name);
        uses[i].is_block = draw_block(self, classes[i]);
    }
    g_snprintf(app, sizeof app, "set%u", number);
    append_pod_spec(self, self->spec, app, uses, n_templates, TRUE);
    g_string_append(self->spec, "}, volumeClaimTemplates: [");
    for (unsigned i = 0; i < n_templates; i++) {
        g_string_append_printf(self->spec, "%s{metadata: {name: %s}, spec: ", i == 0 ? "" : ", ",
                               names[i]);
        append_claim_spec(self, self->spec, classes[i], uses[i].is_block);
        g_string_append(self->spec, "}");
    }
    g_string_append(self->spec, "]}\n");
}

void
append_stateful_set(Maker *self, unsigned number)
{
    g_string_append(self->spec, self->sets_again[number]);
}

void
add_stateful_set(Maker *self)
{
    unsigned number = self->n_sets++;

    g_string_append_printf(self->spec, "  - at: %ums\n", below(self, 30 * 1000));
    gsize start = self->spec->len;
    make_stateful_set(self, number);
    self->sets_again[number] = g_strdup(self->spec->str + start);
}
