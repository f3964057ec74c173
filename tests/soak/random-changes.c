/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-private.h"

#include <string.h>

/* ---- Changes while it lives ---- */

/* Returns: a copy of a claim; "" if there is none */
void
draw_claim(Maker *self, char *name, size_t size)
{
    unsigned pods = self->n_copies == 0 ? 0 : below(self, self->n_copies);

    name[0] = '\0';
    if (self->n_sets > 0 && one_in(self, 3))
        g_snprintf(name, size, "data-set%u-%u", below(self, self->n_sets), below(self, 4));
    else if (self->n_copies > 0 && self->n_claims[pods] > 0)
        g_snprintf(name, size, "c%u-%u-%u", pods, below(self, self->n_claims[pods]),
                   below(self, self->n_pods[pods]));
}

static void
grow_claim(Maker *self, unsigned at)
{
    char name[32];

    draw_claim(self, name, sizeof name);
    if (name[0] != '\0')
        g_string_append_printf(
            self->spec,
            "  - {at: %us, patch: {kind: PersistentVolumeClaim, name: %s, patch: "
            "{spec: {resources: {requests: {storage: %uGi}}}}}}\n",
            at, name, between(self, 2, 9));
}

static void
label_pod(Maker *self, unsigned at)
{
    unsigned pods = self->n_copies == 0 ? 0 : below(self, self->n_copies);

    if (self->n_copies > 0)
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
delete_pods(Maker *self, unsigned at)
{
    if (self->n_copies > 0)
        g_string_append_printf(self->spec, "  - {at: %us, delete: {kind: Pod, name: p%u-*%s}}\n",
                               at, below(self, self->n_copies),
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
delete_claims(Maker *self, unsigned at)
{
    unsigned pods = self->n_copies == 0 ? 0 : below(self, self->n_copies);

    if (self->n_copies > 0 && !self->is_easy && self->n_claims[pods] > 0)
        g_string_append_printf(
            self->spec, "  - {at: %us, delete: {kind: PersistentVolumeClaim, name: c%u-*}}\n", at,
            pods);
}

static void
change_reclaiming(Maker *self, unsigned at)
{
    char name[32];

    draw_claim(self, name, sizeof name);
    if (has(self, HAS_RETAIN) && name[0] != '\0')
        g_string_append_printf(self->spec,
                               "  - {at: %us, patch: {kind: PersistentVolume, volumeOfClaim: %s, "
                               "patch: {spec: {persistentVolumeReclaimPolicy: %s}}}}\n",
                               at, name, one_in(self, 2) ? "Retain" : "Delete");
}

/* A node is emptied, and open again later. */
static void
drain_node(Maker *self, unsigned at)
{
    unsigned group = below(self, self->n_groups), number = below(self, self->n_nodes[group]);

    if (!has(self, HAS_DRAINS))
        return;
    g_string_append_printf(self->spec,
                           "  - {at: %us, drain: {node: n%u-%u, ignoreDaemonSets: true, "
                           "deleteEmptyDirData: true, force: true, timeout: 2m}}\n",
                           at, group, number);
    g_string_append_printf(self->spec, "  - {at: %us, uncordon: {node: n%u-%u}}\n",
                           at + between(self, 10, 200), group, number);
}

/* A volume that claims may have waited for. */
static void
add_late_volume(Maker *self, unsigned at)
{
    g_string_append_printf(self->spec,
                           "  - at: %us\n    create:\n      manifest: {apiVersion: v1, kind: "
                           "PersistentVolume, metadata: {name: late-%u}, spec: ",
                           at, self->n_late);
    append_static_spec(self, self->spec, 100 + self->n_late++);
    g_string_append(self->spec, "}\n");
}

static void
taint_node(Maker *self, unsigned at)
{
    unsigned group = below(self, self->n_groups), number = below(self, self->n_nodes[group]);
    static const char format[] = "  - {at: %us, taint: {node: n%u-%u, taints: [\"soak%s\"]}}\n";

    if (!has(self, HAS_TAINTS))
        return;
    g_string_append_printf(self->spec, format, at, group, number,
                           one_in(self, 2) ? "=x:NoExecute" : "=x:NoSchedule");
    g_string_append_printf(self->spec, format, at + between(self, 10, 100), group, number, "-");
}

static void
update_set(Maker *self, unsigned at)
{
    char name[16];

    if (self->n_sets == 0)
        return;
    g_snprintf(name, sizeof name, "set%u", below(self, self->n_sets));
    update_template(self, at, "StatefulSet", name, "default");
}

/* Deletes and grows some objects while the rest stays. */
void
add_changes(Maker *self)
{
    static void (*const changes[])(Maker *, unsigned) = {
        delete_pods,     change_set,        change_set,    delete_claims, grow_claim,
        grow_claim,      label_pod,         cordon_node,   change_driver, drain_node,
        add_late_volume, change_reclaiming, taint_node,    update_set,    modify_claim,
        recreate_set,    recreate_claims,   delete_volume, break_driver};

    static void (*const rare[])(Maker *, unsigned) = {update_set,      modify_claim,  recreate_set,
                                                      recreate_claims, delete_volume, break_driver};

    for (unsigned i = below(self, 12); i > 0; i--) {
        unsigned at = between(self, 1, WORK_UNTIL_S);
        PICK(self, changes)(self, at);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(rare); i++) /* do nothing without their features */
        rare[i](self, between(self, 30, WORK_UNTIL_S));
}

void
add_end(Maker *self)
{
    static const char format[] = "  - {at: %us, delete: {kind: %s, name: \"*\"}} # end\n";

    if (self->n_sets > 0)
        g_string_append_printf(self->spec, format, self->delete_at_s, "StatefulSet");
    end_extras(self);
    if (self->n_copies > 0)
        g_string_append_printf(self->spec, format, self->delete_at_s + below(self, 2), "Pod");
    if (self->has_any_claim)
        g_string_append_printf(self->spec, format, self->delete_at_s + below(self, 60),
                               "PersistentVolumeClaim");
}
