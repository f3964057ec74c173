/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "seen.h"
#include "tests/lib/test.h"

/* The actions taint, cordon and uncordon: their effect on a node, and their messages when they
 * fail. */

#define TAINT(rest) "  - {at: 10s, taint: {" rest "}}\n"

typedef struct {
    const char *title;
    const char *actions;
    const char *taints; /* of n-0 in the end; it begins with old=x:NoSchedule */
    const char *note;   /* part of the message; NULL: nothing */
} MarkCase;

/* clang-format off */
static const MarkCase cases[] = {
    {"a taint is put before those that are there", TAINT("node: n-0, taints: [\"a=b:NoSchedule\"]"),
     "a=b:NoSchedule old=x:NoSchedule", NULL},
    {"several at once, and one goes",
     TAINT("node: n-0, taints: [\"a:PreferNoSchedule\", old-, \"b=1:NoExecute\"]"),
     "a:PreferNoSchedule b=1:NoExecute", NULL},
    {"the same key with another effect is another taint",
     TAINT("node: n-0, taints: [\"old=y:PreferNoSchedule\"]"),
     "old=y:PreferNoSchedule old=x:NoSchedule", NULL},
    {"one that is there stays as it is",
     TAINT("node: n-0, taints: [\"old=y:NoSchedule\", \"a:NoSchedule\"]"), "old=x:NoSchedule",
     "node n-0 already has a taint old with this effect (overwrite: true changes it)"},
    {"unless it is to be changed",
     TAINT("node: n-0, taints: [\"old=y:NoSchedule\"], overwrite: true"), "old=y:NoSchedule", NULL},
    {"one that goes", TAINT("node: n-0, taints: [\"old:NoSchedule-\"]"), "", NULL},
    {"one that goes, of all effects",
     TAINT("node: n-0, taints: [\"old:PreferNoSchedule\"]") "  - {at: 11s, taint: {node: n-0, taints: [old-]}}\n",
     "", NULL},
    {"what is not there cannot go, and nothing else happens",
     TAINT("node: n-0, taints: [\"a:NoSchedule\", \"old:NoExecute-\"]"), "old=x:NoSchedule",
     "node n-0 has no taint old"},
    {"of several nodes", TAINT("node: \"n-*\", taints: [old-]"), "", NULL},
    {"of a pod's node", TAINT("nodeOfPod: \"ap*\", taints: [old-]"), "", NULL},
    {"of a pod that is nowhere", TAINT("nodeOfPod: nobody, taints: [old-]"), "old=x:NoSchedule",
     "there is no pod like nobody on a node"},
    {"cordoned", "  - {at: 10s, cordon: {node: n-0}}\n",
     "old=x:NoSchedule node.kubernetes.io/unschedulable:NoSchedule", NULL},
    {"cordoned twice is cordoned",
     "  - {at: 10s, cordon: {nodeOfPod: app}}\n  - {at: 11s, cordon: {node: n-0}}\n",
     "old=x:NoSchedule node.kubernetes.io/unschedulable:NoSchedule", NULL},
    {"uncordoned",
     "  - {at: 10s, cordon: {node: \"*\"}}\n  - {at: 20s, uncordon: {node: \"n-?\"}}\n",
     "old=x:NoSchedule", NULL},
    {"nobody answers", "  - {at: 45s, cordon: {node: n-0}}\n", "old=x:NoSchedule",
     "connection lost"},
};
/* clang-format on */

static char *
taints_text(const Node *node)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        const Taint *taint = &node->taints->items[i];
        g_string_append_printf(text, "%s%s%s%s:%s", i == 0 ? "" : " ", taint->key,
                               *taint->value == '\0' ? "" : "=", taint->value,
                               effects[taint->effect]);
    }
    return g_string_free(text, FALSE);
}

static void
nodes_are_marked(void **state)
{
    const MarkCase *row = *state;
    g_autofree char *spec = g_strconcat(
        "  until: 1m\n"
        "  nodes: [{count: 3, name: n-%d, taints: [{key: old, value: x, effect: NoSchedule}]}]\n"
        "  faults: [{at: 40s, component: kube-apiserver, do: outage, for: 8s}]\n"
        "  workload:\n  - at: 0s\n    create:\n      manifest:\n" POD_ON("app", "n-0"),
        row->actions, NULL);
    g_autoptr(Scenario) scenario = scenario_of(spec);
    Seen *seen = seen_new(scenario, 1);
    const Node *node = (const Node *)seen_object(seen, KIND_NODE, "n-0");
    g_autofree char *taints = taints_text(node);
    const GPtrArray *notes = run_notes(seen->run);

    assert_string_equal(taints, row->taints);
    assert_int_equal(node->unschedulable != FALSE, strstr(row->taints, "unschedulable") != NULL);
    assert_int_equal(notes->len, row->note == NULL ? 0 : 1);
    if (row->note != NULL && strstr(notes->pdata[0], row->note) == NULL)
        fail_msg("%s", (const char *)notes->pdata[0]);
    seen_free(seen);
}
TEST_ROWS(cases, nodes_are_marked);

/* NL-27: the kubelet tells of it in its next round, 10.4 s later at most. */
TEST(the_kubelet_tells)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 40s\n  nodes: [{count: 2, name: n-%d}]\n"
                    "  workload:\n"
                    "  - {at: 10s, cordon: {node: n-0}}\n  - {at: 25s, uncordon: {node: n-0}}\n");

    for (uint64_t seed = 1; seed <= 10; seed++) {
        Seen *seen = seen_new(scenario, seed);
        assert_within(seen_event_at(seen, "n-0", "NodeNotSchedulable"), 10 * SIM_SECOND, 0, 10.5);
        assert_within(seen_event_at(seen, "n-0", "NodeSchedulable"), 25 * SIM_SECOND, 0, 10.5);
        assert_int_equal(seen_n_events(seen, "n-0", "NodeNotSchedulable",
                                       "Node n-0 status is now: NodeNotSchedulable"),
                         1);
        assert_true(seen_event_at(seen, "n-1", "NodeNotSchedulable") == TIME_UNSET);
        seen_free(seen);
    }
}
