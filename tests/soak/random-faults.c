/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-private.h"

#include <string.h>

/* Crashed processes come back soon: before a silent node would lose its volumes (6 min). */
static void
add_crashes(Maker *self)
{
    unsigned n = one_in(self, 2) ? 0 : between(self, 1, 5);

    for (unsigned i = 0; i < n; i++) {
        unsigned at_ms =
            between(self, 1, (one_in(self, 4) ? self->delete_at_s + 60 : WORK_UNTIL_S) * 1000);
        unsigned restart_ms = between(self, 1, 40 * 1000);
        static const char *const sidecars[] = {"external-provisioner", "external-attacher",
                                               "external-resizer"};
        static const char *const drivers[] = {DISK, SAN, FILES};
        unsigned group = below(self, self->n_groups);
        g_autofree char *what = NULL;
        switch (below(self, has(self, HAS_SNAPSHOTS) ? 8 : 6)) {
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
        case 6:
            what = g_strdup("component: snapshot-controller");
            break;
        case 7:
            what = g_strdup("component: external-snapshotter, driver: " DISK);
            break;
        default:
            what = g_strdup_printf("component: %s, driver: %s", PICK(self, sidecars),
                                   PICK(self, drivers));
            break;
        }
        g_string_append_printf(self->faults, "  - {at: %ums, %s, do: crash, restartAfter: %ums}\n",
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

/* The kinds that no other world has. */
static char *
draw_rare_trouble(Maker *self, unsigned group)
{
    static const char *const troubles[] = {"memory-pressure", "disk-pressure", "pid-pressure",
                                           "network-unavailable"};
    static const char *const drivers[] = {DISK, SAN, FILES};
    unsigned node = below(self, self->n_nodes[group]), s = between(self, 1, 60);
    const char *driver = PICK(self, drivers);

    switch (below(self, 9)) {
    case 0:
    case 1:
        return g_strdup_printf("node: n%u-%u, do: %s, for: %us", group, node, PICK(self, troubles),
                               s);
    case 2:
        return g_strdup_printf("driver: %s, node: n%u-%u, do: replace-pod, restartAfter: %us",
                               driver, group, node, s);
    case 3:
        return g_strdup_printf("driver: %s, node: n%u-%u, do: kill-registrar", driver, group, node);
    case 4:
        return g_strdup_printf("driver: %s, node: n%u-%u, do: restart, restartAfter: %us", driver,
                               group, node, s);
    case 5:
        return g_strdup_printf("node: n%u-%u, do: shut-down, restartAfter: %us", group, node, s);
    case 6:
        return g_strdup("component: kube-controller-manager, do: restart");
    case 7:
        return g_strdup_printf("component: external-attacher, driver: %s, do: hang, for: %us",
                               driver, s);
    default:
        return g_strdup_printf("driver: %s, do: abnormal-volumes, for: %us", driver, s);
    }
}

/* The API server refuses requests only between the workload's actions: a refused action is lost,
 * like any user's. */
static void
add_troubles(Maker *self)
{
    gboolean has_many = has(self, HAS_MANY_FAULTS);
    unsigned n = has_many ? between(self, 5, 12) : one_in(self, 2) ? 0 : between(self, 1, 4);

    for (unsigned i = 0; i < n; i++) {
        unsigned group = below(self, self->n_groups);
        g_autofree char *what = has_many && one_in(self, 2) ? draw_rare_trouble(self, group)
                                                            : draw_trouble(self, group);
        gboolean refuses = strstr(what, "outage") != NULL || strstr(what, "seats") != NULL;
        unsigned from_s = refuses || one_in(self, 3) ? WORK_UNTIL_S + 65 : 1;
        g_string_append_printf(self->faults, "  - {at: %ums, %s}\n",
                               from_s * 1000 + below(self, 300 * 1000), what);
    }
}

/* A node is silent for longer than the six minutes of the attach/detach controller. */
static void
lose_node(Maker *self, unsigned group, unsigned number)
{
    unsigned at = between(self, 60, 300), s = between(self, 370, 1000);

    switch (below(self, 5)) {
    case 0:
        g_string_append_printf(self->faults,
                               "  - {at: %us, node: n%u-%u, do: stop-kubelet, restartAfter: %us}\n",
                               at, group, number, s);
        break;
    case 1:
        g_string_append_printf(self->faults,
                               "  - {at: %us, node: n%u-%u, do: cut-network, for: %us}\n", at,
                               group, number, s);
        break;
    case 2: /* for good */
        g_string_append_printf(self->faults, "  - {at: %us, node: n%u-%u, do: power-off}\n", at,
                               group, number);
        g_string_append_printf(self->spec, "  - {at: %us, delete: {kind: Node, name: n%u-%u}}\n",
                               at + s, group, number);
        return;
    default:
        g_string_append_printf(self->faults,
                               "  - {at: %us, node: n%u-%u, do: power-off, restartAfter: %us}\n",
                               at, group, number, s);
        break;
    }
    if (has(self, HAS_OUT_OF_SERVICE) && one_in(self, 2)) {
        static const char taint[] = "  - {at: %us, taint: {node: n%u-%u, taints: "
                                    "[\"node.kubernetes.io/out-of-service%s\"]}}\n";
        g_string_append_printf(self->spec, taint, at + between(self, 30, 300), group, number,
                               "=nodeshutdown:NoExecute");
        g_string_append_printf(self->spec, taint, at + s + 60, group, number, "-");
    } else if (one_in(self, 3)) { /* somebody helps: its pods go at once */
        g_string_append_printf(self->spec,
                               "  - {at: %us, delete: {kind: Pod, name: \"*\", node: n%u-%u, "
                               "gracePeriodSeconds: 0}}\n",
                               at + between(self, 30, 350), group, number);
    }
}

void
add_faults(Maker *self)
{
    add_crashes(self);
    add_troubles(self);
    if (has(self, HAS_LOST_NODES))
        for (unsigned i = between(self, 1, 2); i > 0; i--) {
            unsigned group = below(self, self->n_groups);
            lose_node(self, group, below(self, self->n_nodes[group]));
        }
}
