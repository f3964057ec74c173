/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "fault-world.h"
#include "tests/lib/test.h"

/* Every fault in every phase of a pod's life: the pod is ready again in the end, and after its
 * deletion only what Kubernetes itself leaves remains. Prints the table. */

typedef enum {
    BEFORE_BIND,
    PROVISIONING,
    ATTACHING,
    MOUNTING,
    RUNNING,
    UNMOUNTING,
    DETACHING,
    DELETING,
    N_PHASES,
} Phase;

static const struct {
    const char *name;
    CsiMethod method; /* the call during which the fault begins; CSI_N_METHODS: none */
} phases[N_PHASES] = {
    [BEFORE_BIND] = {"before bind",  CSI_N_METHODS                  },
    [PROVISIONING] = {"provisioning", CSI_CREATE_VOLUME              },
    [ATTACHING] = {"attaching",    CSI_CONTROLLER_PUBLISH_VOLUME  },
    [MOUNTING] = {"mounting",     CSI_NODE_STAGE_VOLUME          },
    [RUNNING] = {"running",      CSI_N_METHODS                  },
    [UNMOUNTING] = {"unmounting",   CSI_NODE_UNPUBLISH_VOLUME      },
    [DETACHING] = {"detaching",    CSI_CONTROLLER_UNPUBLISH_VOLUME},
    [DELETING] = {"deleting",     CSI_DELETE_VOLUME              },
};

/* NODE stands for the pod's node, now or later. */
typedef struct {
    const char *name;
    const char *fault;  /* NULL: none */
    const char *action; /* two minutes later; NULL: none */
    const char *code;   /* code of three errors of the phase's own method, or of six errors of any
                           method; NULL: none */
} MatrixRow;

#define OUT_OF_SERVICE                                                                             \
    "patch: {kind: Node, name: NODE, patch: {spec: {taints: [{key: "                               \
    "node.kubernetes.io/out-of-service, effect: NoExecute}]}}}"
#define ON_NODE(what) "node: NODE, do: " what
#define OF(component, what) "component: " component ", do: " what
#define OF_SIDECAR(component, what) "component: " component ", driver: csi.lab, do: " what
#define OF_API(what) "component: kube-apiserver, do: " what
#define OF_DRIVER(what) "driver: csi.lab, do: " what

/* clang-format off */
static const MatrixRow rows[] = {
    {.name = "power off, back in 10 min", .fault = ON_NODE("power-off, restartAfter: 10m")},
    {.name = "power off, out of service", .fault = ON_NODE("power-off"), .action = OUT_OF_SERVICE},
    {.name = "reboot", .fault = ON_NODE("reboot")},
    {.name = "shut down", .fault = ON_NODE("shut-down, restartAfter: 3m")},
    {.name = "kubelet stops for 20 s", .fault = ON_NODE("stop-kubelet, restartAfter: 20s")},
    {.name = "kubelet stops for 10 min", .fault = ON_NODE("stop-kubelet, restartAfter: 10m")},
    {.name = "network cut for 20 s", .fault = ON_NODE("cut-network, for: 20s")},
    {.name = "network cut for 10 min", .fault = ON_NODE("cut-network, for: 10m")},
    {.name = "kubelet hangs for 2 min",
     .fault = "component: kubelet, node: NODE, do: hang, for: 2m"},
    {.name = "controller manager crashes", .fault = OF("kube-controller-manager", "restart")},
    {.name = "controller manager hangs", .fault = OF("kube-controller-manager", "hang, for: 2m")},
    {.name = "controller manager loses the lease",
     .fault = OF("kube-controller-manager", "lose-leadership")},
    {.name = "controller manager 100x slower",
     .fault = OF("kube-controller-manager", "slow, factor: 100, for: 3m")},
    {.name = "scheduler crashes", .fault = OF("kube-scheduler", "crash, restartAfter: 30s")},
    {.name = "scheduler hangs", .fault = OF("kube-scheduler", "hang, for: 2m")},
    {.name = "provisioner crashes",
     .fault = OF_SIDECAR("external-provisioner", "crash, restartAfter: 30s")},
    {.name = "provisioner hangs", .fault = OF_SIDECAR("external-provisioner", "hang, for: 2m")},
    {.name = "attacher crashes",
     .fault = OF_SIDECAR("external-attacher", "crash, restartAfter: 30s")},
    {.name = "attacher hangs", .fault = OF_SIDECAR("external-attacher", "hang, for: 2m")},
    {.name = "attacher loses the lease",
     .fault = OF_SIDECAR("external-attacher", "lose-leadership")},
    {.name = "API server away for 5 s", .fault = OF_API("outage, for: 5s")},
    {.name = "API server away for 3 min", .fault = OF_API("outage, for: 3m")},
    {.name = "API server 100x slower", .fault = OF_API("slow, factor: 100, for: 3m")},
    {.name = "watches break", .fault = OF_API("drop-watches")},
    {.name = "a seat of each level", .fault = OF_API("limit-seats, seats: 1, for: 3m")},
    {.name = "driver hangs", .fault = OF_DRIVER("hang, for: 2m")},
    {.name = "driver 10x slower", .fault = OF_DRIVER("slow, factor: 10, for: 3m")},
    {.name = "driver restarts", .fault = OF_DRIVER("restart, restartAfter: 20s")},
    {.name = "node plugin restarts",
     .fault = "driver: csi.lab, node: NODE, do: restart, restartAfter: 20s"},
    {.name = "scheduler 100x slower", .fault = OF("kube-scheduler", "slow, factor: 100, for: 3m")},
    {.name = "provisioner 100x slower",
     .fault = OF_SIDECAR("external-provisioner", "slow, factor: 100, for: 3m")},
    {.name = "attacher 100x slower",
     .fault = OF_SIDECAR("external-attacher", "slow, factor: 100, for: 3m")},
    {.name = "kubelet 100x slower",
     .fault = "component: kubelet, node: NODE, do: slow, factor: 100, for: 3m"},
    {.name = "methods fail: INTERNAL", .code = "INTERNAL"},
    {.name = "methods fail: DEADLINE_EXCEEDED", .code = "DEADLINE_EXCEEDED"},
    {.name = "methods fail: UNAVAILABLE", .code = "UNAVAILABLE"},
    {.name = "methods fail: RESOURCE_EXHAUSTED", .code = "RESOURCE_EXHAUSTED"},
    {.name = "back end loses the volume", .fault = OF_DRIVER("lose-volumes")},
    {.name = "back end keeps volumes", .fault = OF_DRIVER("keep-volumes, for: 10m")},
};
/* clang-format on */

/* Objects that Kubernetes leaves behind or never repairs, with the reason. */
typedef struct {
    const char *row;
    Phase first, last;
    const char *rest;  /* in the end */
    gboolean is_ready; /* the pod, before its deletion */
    const char *rule;
} Leak;

/* clang-format off */
static const Leak leaks[] = {
    {"back end loses the volume", ATTACHING, MOUNTING, "", FALSE,
     "what is not there is not attached or mounted, however often it is tried; a bound claim gets no other volume"},
    {"back end keeps volumes", DELETING, DELETING, "in-driver", TRUE,
     "CSI-17: DeleteVolume said OK, and nobody asks again"},
};
/* clang-format on */

typedef struct {
    SimTime at[N_PHASES];
    char *node;
    Sim *sim;
} MatrixTimeline;

static void
matrix_see_write(void *data, const Object *before, const Object *after)
{
    MatrixTimeline *self = data;

    if (before == NULL && object_kind(after) == KIND_POD)
        self->at[BEFORE_BIND] = sim_now(self->sim) + SIM_MS;
}

static void
matrix_see_call(void *data, const CsiCallRecord *record)
{
    MatrixTimeline *self = data;

    for (unsigned i = 0; i < N_PHASES; i++)
        if (phases[i].method == record->request->method && self->at[i] == 0)
            self->at[i] = (record->started_at + record->ended_at) / 2;
}

/* The times of the phases without a fault. */
static MatrixTimeline
undisturbed(uint64_t seed)
{
    g_autoptr(Scenario) scenario = fault_world_new("", "");
    Run *run = run_new(scenario, &(RunOptions){.seed = seed}, NULL);
    MatrixTimeline self = {0};
    const CsiObserver observer = {.ended = matrix_see_call, .data = &self};

    assert_non_null(run);
    self.sim = run_sim(run);
    api_server_observe(cluster_api(run_cluster(run)), matrix_see_write, &self);
    csi_driver_add_observer(cluster_find_driver(run_cluster(run), "csi.lab"), &observer);
    sim_run_until(run_sim(run), SCALE_DOWN_AT - SIM_SECOND);
    assert_true(fault_world_is_ready(run));
    self.node = g_strdup(fault_world_pod(run)->node_name);
    self.at[RUNNING] = 5 * SIM_MINUTE;
    assert_int_equal(run_execute(run), RUN_DONE);
    g_autofree char *rest = fault_world_rest(run);
    assert_string_equal(rest, "");
    for (unsigned i = 0; i < N_PHASES; i++)
        assert_true(self.at[i] > 0);
    run_free(run);
    return self;
}

static char *
replace(const char *text, const char *node)
{
    g_auto(GStrv) parts = g_strsplit(text, "NODE", -1);

    return g_strjoinv(node, parts);
}

static char *
line(SimTime at, const char *text, const char *node)
{
    g_autofree char *words = replace(text, node);

    return g_strdup_printf("  - {at: %" G_GINT64_FORMAT "ms, %s}\n", at / SIM_MS, words);
}

/* Begins before the phase, so that its own call is included. */
static char *
failing_methods(const MatrixRow *row, Phase phase, const MatrixTimeline *timeline)
{
    g_autofree char *change = NULL;

    if (phases[phase].method != CSI_N_METHODS) {
        change = g_strdup_printf(
            "setDriver: {name: csi.lab, errors: [{method: %s, code: %s, count: 3}]}",
            csi_method_name(phases[phase].method), row->code);
        return line(SIM_SECOND, change, timeline->node);
    }
    change =
        g_strdup_printf("setDriver: {name: csi.lab, errors: [{code: %s, count: 6}]}", row->code);
    return line(timeline->at[phase], change, timeline->node);
}

static char *
action_of(const MatrixRow *row, Phase phase, const MatrixTimeline *timeline)
{
    if (row->code != NULL)
        return failing_methods(row, phase, timeline);
    return row->action == NULL
               ? g_strdup("")
               : line(timeline->at[phase] + 2 * SIM_MINUTE, row->action, timeline->node);
}

static const Leak *
find_leak(const MatrixRow *row, Phase phase)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(leaks); i++)
        if (g_str_equal(leaks[i].row, row->name) && phase >= leaks[i].first &&
            phase <= leaks[i].last)
            return &leaks[i];
    return NULL;
}

static void
count_failed_call(void *data, const CsiCallRecord *record)
{
    *(unsigned *)data += record->response->code != CSI_OK;
}

/* Returns: whether the run ended as expected */
static gboolean
try_cell(const MatrixRow *row, Phase phase, const MatrixTimeline *timeline, uint64_t seed)
{
    g_autofree char *fault =
        row->fault == NULL ? g_strdup("") : line(timeline->at[phase], row->fault, timeline->node);
    g_autofree char *action = action_of(row, phase, timeline);
    g_autoptr(Scenario) scenario = fault_world_new(fault, action);
    Run *run = run_new(scenario, &(RunOptions){.seed = seed}, NULL);
    const Leak *leak = find_leak(row, phase);
    unsigned n_failed = 0;
    const CsiObserver observer = {.ended = count_failed_call, .data = &n_failed};

    assert_non_null(run);
    csi_driver_add_observer(cluster_find_driver(run_cluster(run), "csi.lab"), &observer);
    sim_run_until(run_sim(run), SCALE_DOWN_AT - SIM_SECOND);
    gboolean is_ready = fault_world_is_ready(run);
    assert_int_equal(run_execute(run), RUN_DONE);
    g_autofree char *rest = fault_world_rest(run);
    gboolean is_good = is_ready == (leak == NULL || leak->is_ready) &&
                       g_str_equal(rest, leak == NULL ? "" : leak->rest) &&
                       (row->code == NULL || n_failed >= 3);
    if (!is_good)
        fprintf(stderr, "%s, %s, seed %u: %s, left: \"%s\"\n%s%s", row->name, phases[phase].name,
                (unsigned)seed, is_ready ? "was ready" : "was not ready", rest, fault, action);
    run_free(run);
    return is_good;
}

TEST(every_fault_in_every_phase)
{
    static const uint64_t seeds[] = {1, 2, 3};
    unsigned n_bad = 0;
    MatrixTimeline timelines[G_N_ELEMENTS(seeds)];

    for (unsigned i = 0; i < G_N_ELEMENTS(seeds); i++)
        timelines[i] = undisturbed(seeds[i]);
    printf("# %-36s", "");
    for (unsigned phase = 0; phase < N_PHASES; phase++)
        printf(" %-12s", phases[phase].name);
    printf("\n");
    for (unsigned row = 0; row < G_N_ELEMENTS(rows); row++) {
        printf("# %-36s", rows[row].name);
        for (unsigned phase = 0; phase < N_PHASES; phase++) {
            gboolean is_good = TRUE;
            for (unsigned i = 0; i < G_N_ELEMENTS(seeds); i++)
                is_good &= try_cell(&rows[row], (Phase)phase, &timelines[i], seeds[i]);
            const Leak *leak = find_leak(&rows[row], (Phase)phase);
            printf(" %-12s", !is_good ? "WRONG" : leak == NULL ? "ok" : "leaks");
            n_bad += !is_good;
        }
        printf("\n");
        fflush(stdout);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(leaks); i++)
        printf("# %s, %s to %s: left is \"%s\" (%s)\n", leaks[i].row, phases[leaks[i].first].name,
               phases[leaks[i].last].name, leaks[i].rest, leaks[i].rule);
    for (unsigned i = 0; i < G_N_ELEMENTS(seeds); i++)
        g_free(timelines[i].node);
    assert_int_equal(n_bad, 0);
}
