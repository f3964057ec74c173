/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "continue.h"
#include "models/csi/modelled/modelled-test.h"
#include "sim/random.h"
#include "stories.h"
#include "tests/soak/invariants.h"

/* Stops scenarios in mid-flight, takes what kubectl would print as the start state of a second
 * scenario, and lets both go on: the rest must be the same, object by object and writer by writer.
 * Not compared are, because no API object holds it:
 * - times, and the order of writes of different writers: phases of loops and latencies are drawn
 *   anew;
 * - which one of equal nodes the scheduler takes; what is attached where then; and whether a volume
 *   is detached and attached again when its pod comes back to the same node;
 * - what the scheduler says of a pod that was being bound: it waits for volumes in its memory;
 * - failed calls: how often something is tried again depends on back-off;
 * - a call whose answer came, but was not written yet: it is made again;
 * - how many pods one status of a workload tells of: its last status is compared.
 * The order across objects is that of the invariants of every cluster.
 *
 *   test-round-trip [--seed N] [--instants M] [-v] [NAME...]    default: the table, one instant
 *
 * KEEP=1 in the environment keeps each second scenario with its dump. */

/* How the objects of a scenario are compared. */
typedef enum {
    EACH,
    ALIKE,  /* it does not count which of several with numbers in their names */
    CHOSEN, /* EACH, but only at the instants in the second table */
    LEFT_OUT,
} How;

/* Scenarios in scenarios/. */
/* clang-format off */
static const struct {
    const char *name;
    How how;
    const char *why; /* it is not EACH, or differs at some other instants */
} cases[] = {
    {"api-server-outage",             EACH,     NULL},
    {"attach-limit",                  EACH,     NULL},
    {"autoscaler-and-limits",         LEFT_OUT, "a dump has no groups of nodes, so there is no autoscaler"},
    {"bind-timeout",                  EACH,     NULL},
    {"burst-100",                     EACH,     NULL},
    {"capacity-exhausted-reschedule", EACH,     "how often a claim without room is tried again"},
    {"cassandra",                     EACH,     NULL},
    {"change-of-class",               EACH,     "the resizer remembers which class was infeasible"},
    {"claim-lost",                    EACH,     NULL},
    {"controller-restart-mid-bind",   EACH,     NULL},
    {"csi-errors",                    EACH,     NULL},
    {"daemons-on-all-nodes",          EACH,     NULL},
    {"daily-churn",                   LEFT_OUT, "a dump has no copies that are still to come or to go"},
    {"default-class-retroactive",     EACH,     NULL},
    {"delete-in-use",                 EACH,     NULL},
    {"disk-evictions",                LEFT_OUT, "no object tells since when a pod writes, nor when a pressure ends"},
    {"drain-a-node",                  EACH,     NULL},
    {"driver-on-some-nodes",          ALIKE,    "which pods get the last places is drawn anew"},
    {"driver-restart",                EACH,     NULL},
    {"elasticsearch",                 EACH,     NULL},
    {"etcd",                          EACH,     NULL},
    {"expand-failed-recovery",        EACH,     NULL},
    {"expand-online",                 EACH,     NULL},
    {"file-storage",                  EACH,     NULL},
    {"group-snapshot",                CHOSEN,   "a restart while members are made keeps the group from it (SNAP-88)"},
    {"immediate",                     EACH,     NULL},
    {"inline-volumes",                EACH,     NULL},
    {"job-policies",                  EACH,     "whether two pods end in one second of the job controller"},
    {"job-with-volumes",              LEFT_OUT, "each pod draws anew whether it fails, and how long it runs"},
    {"kafka",                         EACH,     NULL},
    {"late-csinode",                  LEFT_OUT, "a Node without a CSINode gets one, as after a restart"},
    {"leader-election",               EACH,     NULL},
    {"local-volumes",                 EACH,     NULL},
    {"minio",                         EACH,     NULL},
    {"multi-attach",                  EACH,     NULL},
    {"mysql",                         EACH,     NULL},
    {"node-deployment",               ALIKE,    "which node's provisioner takes a claim is drawn anew"},
    {"node-power-off",                EACH,     NULL},
    {"node-power-off-out-of-service", EACH,     NULL},
    {"node-with-own-attach",          EACH,     NULL},
    {"nodes-under-pressure",          LEFT_OUT, "no object tells when a pressure ends"},
    {"postgresql",                    EACH,     NULL},
    {"prometheus",                    EACH,     NULL},
    {"provision-retry",               EACH,     NULL},
    {"quickstart",                    EACH,     NULL},
    {"quota",                         EACH,     NULL},
    {"read-write-once-pod",           EACH,     NULL},
    {"reclaim-delete",                EACH,     NULL},
    {"reclaim-retain",                EACH,     NULL},
    {"redis",                         EACH,     NULL},
    {"rolling-reboot",                EACH,     NULL},
    {"secrets",                       EACH,     NULL},
    {"six-minute-detach",             EACH,     NULL},
    {"slow-detach",                   EACH,     NULL},
    {"snapshot-and-restore",          EACH,     "a sidecar that starts looks after its snapshots at once"},
    {"statefulset-rollout",           EACH,     NULL},
    {"static-binding",                EACH,     NULL},
    {"storage-capacity",              EACH,     "a capacity is polled while pods are being bound"},
    {"topology-keys",                 EACH,     "how often a pod is tried while nodes are drained"},
    {"validate-statefulset",          EACH,     NULL},
    {"wait-for-first-consumer",       EACH,     NULL},
    {"wffc-vs-immediate",             EACH,     NULL},
    {"wrong-attach-limit",            EACH,     NULL},
    {"zone-mismatch",                 EACH,     NULL},
    {"zone-outage",                   EACH,     "the outage takes the pods of other drawn nodes"},
    {"zookeeper",                     EACH,     NULL},
};
/* clang-format on */

/* Instants at which there once was a difference, or which are CHOSEN. */
static const struct {
    const char *name;
    double at; /* s */
} found[] = {
    {"attach-limit",         41     }, /* two volumes are leaving, two pods wait for a place */
    {"group-snapshot",       60     }, /* ready */
    {"group-snapshot",       100    }, /* its members cannot be deleted alone */
    {"group-snapshot",       121    }, /* the driver deletes it */
    {"kafka",                6.064  },
    {"minio",                6.394  },
    {"node-with-own-attach", 121.009},
    {"slow-detach",          84.891 },
    {"wrong-attach-limit",   240    }, /* two pods are on a node that is full */
};

static uint64_t hunt_seed = 1;
static gboolean verbose;

/* ---- The instant ---- */

/* Copies of a CREATE that are still to come are in no dump, nor what is still to be deleted. */
static gboolean
is_under_way(const ScenarioAction *action, SimTime at)
{
    gboolean is_random = action->lifetime != NULL || action->daily != NULL || action->keep > 0;
    SimTime each = action->n_manifests * SIM_SECOND / 20;

    if (at < action->at)
        return FALSE;
    if (action->type == ACTION_DELETE || action->type == ACTION_CORDON)
        return at < action->at + SIM_SECOND;
    if (action->interarrival != NULL)
        each += sim_dist_quantile(action->interarrival, 0.99);
    return action->type == ACTION_CREATE &&
           (is_random || at < action->at + SIM_SECOND / 2 + action->count * each);
}

/* While a machine or a driver's pod starts, objects still show what ran there before. */
static gboolean
is_starting(const Scenario *scenario, SimTime at)
{
    for (unsigned i = 0; i < scenario->n_actions; i++) {
        const ScenarioAction *action = &scenario->actions[i];
        SimTime over = action->at + MAX(action->lasts, 0);
        gboolean is_machine =
            action->fault >= FAULT_POWER_OFF && action->fault <= FAULT_STOP_KUBELET;
        gboolean is_plugin =
            action->fault == FAULT_REPLACE_PLUGIN || action->fault == FAULT_KILL_REGISTRAR;
        if (action->type == ACTION_FAULT && (is_machine || is_plugin) &&
            at >= (is_plugin ? action->at : over) && at < over + 3 * SIM_MINUTE)
            return TRUE;
    }
    return FALSE;
}

/* Returns: the number of drivers that have other numbers of snapshots in the end */
static unsigned
compare_drivers(const Run *run, const Run *second)
{
    const Scenario *scenario = run_scenario(run);
    unsigned n = 0;

    for (unsigned i = 0; i < scenario->n_drivers; i++) {
        const char *name = scenario->drivers[i].name;
        CsiDriver *one = cluster_find_driver(run_cluster(run), name),
                  *other = cluster_find_driver(run_cluster(second), name);
        unsigned has = csi_modelled_driver_n_snapshots(csi_modelled_driver_cast(one)),
                 has_now = csi_modelled_driver_n_snapshots(csi_modelled_driver_cast(other));
        if (has != has_now && verbose)
            g_print("%s has %u snapshots, not %u\n", name, has_now, has);
        n += has != has_now;
    }
    return n;
}

/* Returns: some instant after a write; SIM_TIME_MAX: none is good */
static SimTime
choose_instant(const Scenario *scenario, unsigned number)
{
    const RunOptions options = {.seed = 1};
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    g_autoptr(Stories) stories = stories_new(run);
    g_autoptr(GRand) random =
        g_rand_new_with_seed(g_str_hash(scenario->name) + hunt_seed * 7919 + number);

    run_execute(run);
    const GArray *instants = stories_instants(stories);
    for (unsigned i = 0; i < 200 && instants->len > 0; i++) {
        SimTime at = g_array_index(instants, SimTime, g_rand_int_range(random, 0, instants->len));
        at += (SimTime)(g_rand_double(random) * SIM_SECOND / 2);
        gboolean is_good = at > SIM_SECOND && at < scenario->until && !is_starting(scenario, at);
        for (unsigned k = 0; k < scenario->n_actions; k++)
            is_good &= !is_under_way(&scenario->actions[k], at);
        if (is_good)
            return at;
    }
    return SIM_TIME_MAX;
}

/* Lets the run go to @at; notes on the way which nodes the actions mean. */
static void
go_to(Run *run, SimTime at, const char **nodes_of_pods)
{
    const Scenario *scenario = run_scenario(run);

    for (;;) {
        SimTime next = at;
        for (unsigned i = 0; i < scenario->n_actions; i++) {
            const ScenarioAction *action = &scenario->actions[i];
            if (action->at > sim_now(run_sim(run)) && action->at < next)
                next = action->at;
        }
        run_advance(run, next - 1);
        for (unsigned i = 0; i < scenario->n_actions; i++) {
            const ScenarioAction *action = &scenario->actions[i];
            const char *pod =
                action->type == ACTION_FAULT ? action->pod_of_instance : action->node_of_pod;
            g_autoptr(GPatternSpec) pattern = pod == NULL ? NULL : g_pattern_spec_new(pod);
            Objects *objects = run_objects(run);
            for (uint32_t slot = 0;
                 pattern != NULL && action->at == next && nodes_of_pods[i] == NULL &&
                 slot < objects_n_keys(objects, KIND_POD);
                 slot++) {
                const ObjectKey *key = objects_key_at(objects, KIND_POD, slot);
                const Object *object = api_server_get(cluster_api(run_cluster(run)), key);
                if (object != NULL && POD_CONST(object)->node_name != NULL &&
                    g_pattern_spec_match_string(pattern, key->name))
                    nodes_of_pods[i] = g_intern_string(POD_CONST(object)->node_name);
            }
        }
        run_advance(run, next);
        if (next == at)
            return;
    }
}

/* ---- Comparison ---- */

/* Prints the lines of @a that @b has not. */
static void
print_lines(const char *mark, const char *a, const char *b)
{
    g_auto(GStrv) lines = g_strsplit(a == NULL ? "" : a, "\n", -1);
    g_auto(GStrv) others = g_strsplit(b == NULL ? "" : b, "\n", -1);

    for (char **line = lines; *line != NULL; line++) {
        char **other = others;
        while (*other != NULL && !g_str_equal(*line, *other))
            other++;
        if (*other == NULL)
            g_print("  %s %s\n", mark, *line);
        else
            (*other)[0] = '\0'; /* each line is used once */
    }
}

static unsigned
compare_tables(const Stories *stories,
               const Stories *others,
               const char *what,
               GHashTable *expected,
               GHashTable *got)
{
    g_autoptr(GHashTable) all = g_hash_table_new(g_str_hash, g_str_equal);
    GHashTableIter iter;
    void *name;
    unsigned n = 0;

    g_hash_table_iter_init(&iter, expected);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        g_hash_table_add(all, name);
    g_hash_table_iter_init(&iter, got);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        g_hash_table_add(all, name);
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(all), (GCompareFunc)strcmp);
    for (GList *i = names; i != NULL; i = i->next) {
        const char *a = g_hash_table_lookup(expected, i->data);
        const char *b = g_hash_table_lookup(got, i->data);
        if (g_strcmp0(a, b) == 0 || stories_places_differ(stories, others, i->data))
            continue;
        n++;
        if (!verbose)
            continue;
        g_print("%s of %s%s\n", what, (char *)i->data,
                a == NULL   ? ": only in the rest"
                : b == NULL ? ": only in the original"
                            : "");
        print_lines("-", a, b);
        print_lines("+", b, a);
    }
    return n;
}

static unsigned
round_trip_go_on(const char *file, const Scenario *scenario, SimTime at, gboolean is_alike)
{
    const RunOptions options = {.seed = 1};
    g_autofree const char **nodes_of_pods = g_new0(const char *, scenario->n_actions + 1);
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    g_autoptr(Stories) stories = stories_new(run);
    g_autoptr(Invariants) invariants = invariants_new(run);
    g_autoptr(GError) error = NULL;

    if (is_alike)
        stories_make_alike(stories);
    go_to(run, at, nodes_of_pods);
    if (stories_has_orphans(stories))
        return 0;
    stories_begin(stories);
    g_autoptr(Rest) rest = rest_new(file, run, nodes_of_pods);
    if (rest == NULL)
        return 1;
    run_execute(run);

    g_autoptr(Run) second = run_new(rest->scenario, &options, &error);
    if (second == NULL) {
        g_print("no world: %s\n", error->message);
        return 1;
    }
    g_autoptr(Stories) others = stories_new(second);
    g_autoptr(Invariants) again = invariants_new(second);
    run_execute(second);
    stories_share_names(others, stories);
    if (is_alike)
        stories_make_alike(others);
    g_autoptr(GHashTable) writes = stories_table(stories, stories),
                          writes_again = stories_table(others, stories);
    g_autoptr(GHashTable) state = stories_state(stories), state_again = stories_state(others);
    /* They keep the order across objects: bound before mounted, attached before staged, ... Some
     * scenarios break them on purpose. */
    gboolean is_broken =
        *invariants_faults(invariants) == '\0' && *invariants_faults(again) != '\0';
    if (is_broken && verbose)
        g_print("%s", invariants_faults(again));
    return is_broken + compare_tables(stories, others, "Writes", writes, writes_again) +
           compare_tables(stories, others, "State", state, state_again) +
           compare_drivers(run, second);
}

/* @at: SIM_TIME_MAX: none is good. Returns: the number of differences */
static unsigned
try(unsigned which, const Scenario *scenario, const char *file, SimTime at)
{
    const char *name = cases[which].name, *why = cases[which].why;

    if (at == SIM_TIME_MAX) {
        g_print("%s: no good instant\n", name);
        return 0;
    }
    unsigned n = round_trip_go_on(file, scenario, at, cases[which].how == ALIKE);
    if (n > 0 || verbose)
        g_print("%s at %.3f s: %u differences%s%s\n", name, (double)at / SIM_SECOND, n,
                n > 0 && why != NULL ? ": " : "", n > 0 && why != NULL ? why : "");
    return n;
}

/* Returns: the number of differences */
static unsigned
try_case(unsigned which, unsigned n_instants)
{
    g_autofree char *file =
        g_strdup_printf("%s/scenarios/%s.yaml", g_getenv("KVOLSIM_SRCDIR"), cases[which].name);
    g_autoptr(Scenario) scenario = load_scenario(file);
    unsigned n = 0;

    for (unsigned i = 0; i < n_instants && cases[which].how != CHOSEN; i++)
        n += try(which, scenario, file, choose_instant(scenario, i));
    for (unsigned i = 0; i < G_N_ELEMENTS(found); i++)
        if (g_str_equal(found[i].name, cases[which].name))
            n += try(which, scenario, file, (SimTime)(found[i].at * SIM_SECOND));
    return n;
}

int
main(int argc, char **argv)
{
    int seed = 1, n_instants = 1;
    unsigned n = 0;
    const GOptionEntry entries[] = {
        {"seed",     0,   0, G_OPTION_ARG_INT,  &seed,       "Of the instants",   "N" },
        {"instants", 0,   0, G_OPTION_ARG_INT,  &n_instants, "Of each scenario",  "N" },
        {"verbose",  'v', 0, G_OPTION_ARG_NONE, &verbose,    "Print differences", NULL},
        {NULL,       0,   0, G_OPTION_ARG_NONE, NULL,        NULL,                NULL}
    };
    g_autoptr(GOptionContext) context = g_option_context_new("[NAME...]");

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, NULL))
        return 2;
    hunt_seed = (uint64_t)seed;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        gboolean is_wanted = argc == 1 && cases[i].how != LEFT_OUT;
        for (int k = 1; k < argc; k++)
            is_wanted |= g_str_equal(argv[k], cases[i].name);
        if (is_wanted)
            n += try_case(i, (unsigned)n_instants);
    }
    return n > 0;
}
