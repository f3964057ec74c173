/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "continue.h"
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
 * - failed calls: how often something is tried again depends on back-off;
 * - a call whose answer came, but was not written yet: it is made again;
 * - how many pods one status of a workload tells of: its last status is compared.
 * The order across objects is that of the invariants of every cluster.
 *
 *   test-round-trip [--seed N] [--instants M] [-v] [SCENARIO...]    default: the table, one instant
 *
 * KEEP=1 in the environment keeps each second scenario with its dump. */

/* Scenarios in scenarios/. */
static const struct {
    const char *name;
    const char *differs; /* what is known to be different; NULL: nothing, so it is checked */
} cases[] = {
    {"api-server-outage",             NULL                                                          },
    {"autoscaler-and-limits",         "a dump has no groups of nodes, so there is no autoscaler"    },
    {"bind-timeout",                  NULL                                                          },
    {"burst-100",                     NULL                                                          },
    {"capacity-exhausted-reschedule", NULL                                                          },
    {"cassandra",                     NULL                                                          },
    {"change-of-class",               NULL                                                          },
    {"claim-lost",                    NULL                                                          },
    {"controller-restart-mid-bind",   NULL                                                          },
    {"csi-errors",                    NULL                                                          },
    {"daemons-on-all-nodes",          NULL                                                          },
    {"default-class-retroactive",     NULL                                                          },
    {"delete-in-use",                 NULL                                                          },
    {"drain-a-node",                  NULL                                                          },
    {"driver-on-some-nodes",          "which pods get the last places is drawn anew"                },
    {"driver-restart",                NULL                                                          },
    {"elasticsearch",                 NULL                                                          },
    {"etcd",                          NULL                                                          },
    {"expand-failed-recovery",        NULL                                                          },
    {"expand-online",                 NULL                                                          },
    {"file-storage",                  NULL                                                          },
    {"immediate",                     NULL                                                          },
    {"inline-volumes",                NULL                                                          },
    {"job-policies",                  NULL                                                          },
    {"job-with-volumes",              "each pod draws anew whether it fails, and how long it runs"  },
    {"kafka",                         NULL                                                          },
    {"leader-election",               NULL                                                          },
    {"local-volumes",                 NULL                                                          },
    {"minio",                         NULL                                                          },
    {"multi-attach",                  NULL                                                          },
    {"mysql",                         NULL                                                          },
    {"node-deployment",               NULL                                                          },
    {"node-power-off",                NULL                                                          },
    {"node-power-off-out-of-service", NULL                                                          },
    {"node-with-own-attach",          NULL                                                          },
    {"nodes-under-pressure",          "no object tells when a pressure ends"                        },
    {"postgresql",                    NULL                                                          },
    {"prometheus",                    NULL                                                          },
    {"provision-retry",               NULL                                                          },
    {"quickstart",                    NULL                                                          },
    {"quota",                         NULL                                                          },
    {"read-write-once-pod",           NULL                                                          },
    {"reclaim-delete",                NULL                                                          },
    {"reclaim-retain",                NULL                                                          },
    {"redis",                         NULL                                                          },
    {"rolling-reboot",                NULL                                                          },
    {"secrets",                       NULL                                                          },
    {"six-minute-detach",             NULL                                                          },
    {"slow-detach",                   NULL                                                          },
    {"snapshot-and-restore",          NULL                                                          },
    {"statefulset-rollout",           NULL                                                          },
    {"static-binding",                NULL                                                          },
    {"storage-capacity",              NULL                                                          },
    {"validate-statefulset",          NULL                                                          },
    {"wait-for-first-consumer",       NULL                                                          },
    {"wffc-vs-immediate",             NULL                                                          },
    {"zone-mismatch",                 NULL                                                          },
    {"zone-outage",                   "the scheduler's choices that no object has yet are made anew"},
    {"zookeeper",                     NULL                                                          },
};

static uint64_t hunt_seed = 1;
static gboolean verbose;

/* ---- The instant ---- */

/* Copies of a CREATE that are still to come are in no dump. */
static gboolean
is_creating(const Scenario *scenario, SimTime at)
{
    for (unsigned i = 0; i < scenario->n_actions; i++) {
        const ScenarioAction *action = &scenario->actions[i];
        gboolean is_long =
            action->interarrival != NULL || action->lifetime != NULL || action->keep > 0;
        SimTime lasts = SIM_SECOND / 2 + action->count * action->n_manifests * SIM_SECOND / 20;
        if (action->type == ACTION_CREATE && at >= action->at &&
            (is_long || at < action->at + lasts))
            return TRUE;
    }
    return FALSE;
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

/* Returns: some instant after a write; SIM_TIME_MAX: none is good */
static SimTime
choose_instant(const Scenario *scenario, uint64_t seed, unsigned number)
{
    const RunOptions options = {.seed = seed};
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    g_autoptr(Stories) stories = stories_new(run);
    g_autoptr(GRand) random =
        g_rand_new_with_seed(g_str_hash(scenario->name) + hunt_seed * 7919 + number);

    run_execute(run);
    const GArray *instants = stories_instants(stories);
    for (unsigned i = 0; i < 200 && instants->len > 0; i++) {
        SimTime at = g_array_index(instants, SimTime, g_rand_int_range(random, 0, instants->len));
        at += (SimTime)(g_rand_double(random) * SIM_SECOND / 2);
        if (at > SIM_SECOND && at < scenario->until && !is_creating(scenario, at) &&
            !is_starting(scenario, at))
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
go_on(const char *file, const Scenario *scenario, SimTime at, uint64_t seed)
{
    const RunOptions options = {.seed = seed};
    g_autofree const char **nodes_of_pods = g_new0(const char *, scenario->n_actions + 1);
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    g_autoptr(Stories) stories = stories_new(run);
    g_autoptr(Invariants) invariants = invariants_new(run);
    g_autoptr(GError) error = NULL;

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
           compare_tables(stories, others, "State", state, state_again);
}

/* Returns: the number of differences */
static unsigned
try(const char *file, unsigned n_instants)
{
    g_autoptr(Scenario) scenario = load_scenario(file);
    unsigned n = 0;

    for (unsigned i = 0; i < n_instants; i++) {
        SimTime at = choose_instant(scenario, 1, i);
        unsigned n_here = at == SIM_TIME_MAX ? 0 : go_on(file, scenario, at, 1);
        if (at == SIM_TIME_MAX)
            g_print("%s: no good instant\n", file);
        else if (n_here > 0 || verbose)
            g_print("%s at %.3f s: %u differences\n", file, (double)at / SIM_SECOND, n_here);
        n += n_here;
    }
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
    g_autoptr(GOptionContext) context = g_option_context_new("[SCENARIO...]");

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, NULL))
        return 2;
    hunt_seed = (uint64_t)seed;
    for (int i = 1; i < argc; i++)
        n += try(argv[i], (unsigned)n_instants);
    for (unsigned i = 0; argc == 1 && i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *file =
            g_strdup_printf("%s/scenarios/%s.yaml", g_getenv("KVOLSIM_SRCDIR"), cases[i].name);
        if (cases[i].differs == NULL)
            n += try(file, (unsigned)n_instants);
    }
    return n > 0;
}
