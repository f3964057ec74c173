/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/apiserver/apiserver-test.h"
#include "run/scenario/scenario.h"
#include "run/world/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* How many events waiting costs: the same pods with the default limits of requests and without any.
 * A line per figure, `name value unit`.
 *
 *   explained [--types] [--alone] [PODS…]
 *
 * Explained are, of the run with limits, as many events as its writes and calls would have cost
 * without limits: the events of the run without limits, by the writes and driver calls that it
 * made, times those of the run with limits. A write is a request that writes, as the API server
 * receives it: POST, PUT, PATCH or DELETE of an object or an Event, refused or not. A call is one
 * of the driver, whichever. What is above that are loops that look again and again while a pod
 * waits; more than twice is too much. With reads it is told, too: a kubelet that tries again reads
 * the claim and the volume again.
 *
 * --types tells how often each type of event, request and call came, instead; --alone leaves the
 * run without limits out. */

#define PODS_PER_NODE 30
#define ALL_READY_AFTER 3000  /* s: without limits */
#define READY_AFTER_A_POD 0.7 /* s: with them; three requests of the attacher at five a second */

typedef struct {
    unsigned pods;
    gboolean is_limited, tells_types;
} ExplainedCase;

/* What a run did. */
typedef struct {
    uint64_t events, writes, reads, calls;
    uint64_t changes; /* of what is stored: the writes that said something new */
    SimTime lasted;
} Costs;

/* How often each type of event fired. */
typedef struct {
    const char *name;
    uint16_t detail; /* of a tick: whose */
    uint64_t n;
} TypeCount;

typedef struct {
    GHashTable *by_type; /* name and detail -> TypeCount */
    GPtrArray *types;    /* of the same (owned) */
    uint64_t calls[CSI_N_METHODS];
    uint64_t n_calls;
} ExplainedCounts;

static void
explained_call_started(void *data, const CsiCallRecord *record)
{
    ExplainedCounts *self = data;

    self->calls[record->request->method]++;
    self->n_calls++;
}

static gboolean
is_read(ApiVerb verb)
{
    return verb == API_GET || verb == API_LIST;
}

static Costs
costs_of(const Run *run, const ExplainedCounts *counts)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    Costs costs = {.events = sim_events_fired(run_sim(run)),
                   .calls = counts->n_calls,
                   .changes = api_server_resource_version(api),
                   .lasted = sim_now(run_sim(run))};

    for (unsigned verb = 0; verb < N_API_VERBS; verb++)
        *(is_read((ApiVerb)verb) ? &costs.reads : &costs.writes) +=
            api_server_n_requests(api, (ApiVerb)verb);
    return costs;
}

static Scenario *
explained_load(const ExplainedCase *of)
{
    double ready_after =
        of->is_limited ? MAX(ALL_READY_AFTER, of->pods * READY_AFTER_A_POD) : ALL_READY_AFTER;
    unsigned nodes = MAX(of->pods / PODS_PER_NODE, 1);
    g_autofree char *file = g_build_filename(KVOLSIM_SRCDIR, "tests/bench/pods.yaml", NULL);
    g_auto(GStrv) set = g_new0(char *, 6);
    g_autoptr(GPtrArray) faults = NULL;

    set[0] = g_strdup_printf("spec.nodes[0].count=%u", nodes);
    set[1] = g_strdup_printf("spec.workload[0].create.count=%u", of->pods);
    set[2] = g_strdup_printf("spec.workload[1].at=%.0fs", ready_after);
    set[3] = g_strdup_printf("spec.workload[2].at=%.0fs", ready_after + 50);
    set[4] = g_strdup_printf("spec.kubernetes.unlimitedQPS=%s", of->is_limited ? "false" : "true");
    const ScenarioOptions options = {.data_dir = KVOLSIM_SRCDIR, .set = (const char *const *)set};
    Scenario *scenario = scenario_load(file, &options, &faults);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *text = file_fault_text(faults->pdata[i]);
        fprintf(stderr, "%s\n", text);
    }
    if (scenario == NULL)
        exit(EXIT_FAILURE);
    return scenario;
}

/* ---- By type ---- */

static guint
type_hash(const void *data)
{
    const TypeCount *type = data;

    return g_direct_hash(type->name) * 31 + type->detail;
}

static gboolean
type_equal(const void *a, const void *b)
{
    const TypeCount *one = a, *other = b;

    return one->name == other->name && one->detail == other->detail;
}

static void
count_next(const Run *run, ExplainedCounts *counts)
{
    SimPending next;

    if (sim_pending(run_sim(run), &next, 1) == 0)
        return;
    TypeCount key = {.name = next.name, .detail = g_str_equal(next.name, "tick") ? next.detail : 0};
    TypeCount *type = g_hash_table_lookup(counts->by_type, &key);
    if (type == NULL) {
        type = g_memdup2(&key, sizeof key);
        g_hash_table_add(counts->by_type, type);
        g_ptr_array_add(counts->types, type);
    }
    type->n++;
}

static int
compare_counts(const void *a, const void *b)
{
    const TypeCount *one = *(TypeCount *const *)a, *other = *(TypeCount *const *)b;

    if (one->n != other->n)
        return one->n > other->n ? -1 : 1;
    return strcmp(one->name, other->name);
}

static void
print_events(const Run *run, const ExplainedCounts *counts, unsigned pods)
{
    g_ptr_array_sort(counts->types, compare_counts);
    for (unsigned i = 0; i < counts->types->len; i++) {
        const TypeCount *type = counts->types->pdata[i];
        printf("%10.2f  %s %s\n", (double)type->n / pods, type->name,
               sim_trace_label_text(sim_trace(run_sim(run)), type->detail));
    }
}

static void
print_requests(const Run *run, unsigned pods)
{
    const GPtrArray *rows = api_load_rows(run_load(run));

    for (unsigned i = 0; i < rows->len; i++) {
        const ApiLoadRow *row = rows->pdata[i];
        printf("%10.2f  %s %s %s\n", (double)row->total / pods, row->client, row->verb,
               row->resource);
    }
}

static void
print_types(const Run *run, const ExplainedCounts *counts, const ExplainedCase *of)
{
    printf("--- events a pod of %u, %s limits\n", of->pods, of->is_limited ? "default" : "no");
    print_events(run, counts, of->pods);
    printf("--- requests a pod\n");
    print_requests(run, of->pods);
    printf("--- calls a pod\n");
    for (unsigned method = 0; method < CSI_N_METHODS; method++)
        if (counts->calls[method] > 0)
            printf("%10.2f  %s\n", (double)counts->calls[method] / of->pods,
                   csi_method_name((CsiMethod)method));
}

/* ---- Runs ---- */

static void
explained_execute(Run *run, ExplainedCounts *counts, gboolean tells_types)
{
    if (!tells_types) {
        run_execute(run);
        return;
    }
    do
        count_next(run, counts);
    while (run_step(run, SIM_TIME_MAX) != RUN_STEP_OVER);
}

static Costs
explained_run_case(const ExplainedCase *of)
{
    g_autoptr(Scenario) scenario = explained_load(of);
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) by_type = g_hash_table_new(type_hash, type_equal);
    g_autoptr(GPtrArray) types = g_ptr_array_new_with_free_func(g_free);
    ExplainedCounts counts = {.by_type = by_type, .types = types};
    g_autoptr(Run) run =
        run_new(scenario, &(RunOptions){.seed = 1, .untraced = !of->tells_types}, &error);

    if (run == NULL) {
        fprintf(stderr, "explained: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
    for (unsigned i = 0; i < cluster_n_drivers(run_cluster(run)); i++)
        csi_driver_add_observer(cluster_driver(run_cluster(run), i),
                                &(CsiObserver){.started = explained_call_started, .data = &counts});
    explained_execute(run, &counts, of->tells_types);
    if (of->tells_types)
        print_types(run, &counts, of);
    return costs_of(run, &counts);
}

static double
user_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

static void
print_costs(const ExplainedCase *of, const Costs *costs, double seconds)
{
    const char *name = of->is_limited ? "default_qps" : "no_limits";

    printf("%s_%u_pods_events_per_pod %.1f events\n", name, of->pods,
           (double)costs->events / of->pods);
    printf("%s_%u_pods_writes_per_pod %.1f requests\n", name, of->pods,
           (double)costs->writes / of->pods);
    printf("%s_%u_pods_changes_per_pod %.1f changes\n", name, of->pods,
           (double)costs->changes / of->pods);
    printf("%s_%u_pods_reads_per_pod %.1f requests\n", name, of->pods,
           (double)costs->reads / of->pods);
    printf("%s_%u_pods_calls_per_pod %.1f calls\n", name, of->pods,
           (double)costs->calls / of->pods);
    printf("%s_%u_pods_virtual %.0f s\n", name, of->pods,
           (double)costs->lasted / (double)SIM_SECOND);
    printf("%s_%u_pods_user %.2f s\n", name, of->pods, seconds);
    fflush(stdout);
}

static Costs
explained_measure(const ExplainedCase *of)
{
    double before = user_seconds();
    Costs costs = explained_run_case(of);

    print_costs(of, &costs, user_seconds() - before);
    return costs;
}

/* Of the run with limits: events that its writes and calls, perhaps reads too, would have cost
 * without. */
static double
explained(const Costs *limited, const Costs *unlimited, gboolean with_reads)
{
    uint64_t there = unlimited->writes + unlimited->calls + (with_reads ? unlimited->reads : 0);
    uint64_t here = limited->writes + limited->calls + (with_reads ? limited->reads : 0);

    return (double)unlimited->events / (double)there * (double)here;
}

static void
print_ratio(unsigned pods, const char *what, const Costs *limited, double events)
{
    printf("default_qps_%u_pods_%s_per_pod %.1f events\n", pods, what, events / pods);
    printf("default_qps_%u_pods_actual_to_%s %.3f x\n", pods, what,
           (double)limited->events / events);
}

static void
explained_compare(unsigned pods, gboolean tells_types, gboolean is_alone)
{
    Costs limited = explained_measure(
        &(ExplainedCase){.pods = pods, .is_limited = TRUE, .tells_types = tells_types});

    if (is_alone)
        return;
    Costs unlimited = explained_measure(&(ExplainedCase){.pods = pods, .tells_types = tells_types});
    print_ratio(pods, "explained", &limited, explained(&limited, &unlimited, FALSE));
    print_ratio(pods, "explained_with_reads", &limited, explained(&limited, &unlimited, TRUE));
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    gboolean tells_types = FALSE, is_alone = FALSE;
    unsigned n_sizes = 0;

    for (int i = 1; i < argc; i++) {
        if (g_str_equal(argv[i], "--types"))
            tells_types = TRUE;
        else if (g_str_equal(argv[i], "--alone"))
            is_alone = TRUE;
        else
            n_sizes++;
    }
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-')
            explained_compare((unsigned)strtoul(argv[i], NULL, 10), tells_types, is_alone);
    if (n_sizes == 0) {
        explained_compare(5000, tells_types, is_alone);
        explained_compare(20000, tells_types, is_alone);
    }
    return EXIT_SUCCESS;
}
