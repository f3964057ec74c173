/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include <glib.h>
#include <glib/gstdio.h>

#include "agreement.h"
#include "as-printed.h"
#include "continue.h"
#include "run/results/snapshot.h"
#include "stories.h"
#include "tests/soak/invariants.h"

/* A dump of 24 nodes with 220 claims, as a real server prints it, is a start state that holds:
 * nothing moves by itself, and whatever an operator does to the cluster ends well. */

#define DUMPED_AT (9 * SIM_MINUTE) /* the big cluster is at rest */

/* TOUCH: a rolling update; GROW: an expansion. */
#define TOUCH(kind, namespace, name)                                                               \
    "{\"at\": \"1m\", \"patch\": {\"kind\": \"" kind "\", \"namespace\": \"" namespace             \
    "\", \"name\": \"" name "\", \"patch\": {\"spec\": {\"template\": {\"metadata\": "             \
    "{\"annotations\": {\"kubectl.kubernetes.io/restartedAt\": \"now\"}}}}}}}"
#define GROW(namespace, name)                                                                      \
    "{\"at\": \"1m\", \"patch\": {\"kind\": \"PersistentVolumeClaim\", \"namespace\": \"" namespace \
    "\", \"name\": \"" name                                                                        \
    "\", \"patch\": {\"spec\": {\"resources\": {\"requests\": {\"storage\": \"30Gi\"}}}}}}"

static const struct {
    const char *name;
    const char *items; /* of the workload; NULL: made by drain_all() */
    const char *until;
} cases[] = {
    {"rolling restart of all",
     TOUCH("StatefulSet", "shop", "orders") ", " TOUCH("StatefulSet", "shop", "queue") ", " TOUCH(
         "StatefulSet", "logs", "search") ", " TOUCH("Deployment", "shop",
                                                     "web") ", " TOUCH("DaemonSet", "logs",
                                                                       "collector"),
     "2h"},
    {"each node is drained in turn", NULL, "3h"},
    {"a node loses power for ten minutes",
     "{\"at\": \"1m\", \"fault\": {\"node\": \"node-3\", \"do\": \"power-off\", "
     "\"restartAfter\": \"10m\"}}",
     "1h"},
    {"a node loses power for good, and is taken out of service",
     "{\"at\": \"1m\", \"fault\": {\"node\": \"node-3\", \"do\": \"power-off\"}}, "
     "{\"at\": \"5m\", \"patch\": {\"kind\": \"Node\", \"name\": \"node-3\", \"patch\": "
     "{\"spec\": {\"taints\": [{\"key\": \"node.kubernetes.io/out-of-service\", \"effect\": "
     "\"NoExecute\"}]}}}}",
     "1h"},
    {"a node restarts", "{\"at\": \"1m\", \"fault\": {\"node\": \"node-5\", \"do\": \"reboot\"}}",
     "30m"},
    {"volumes in use grow", GROW("shop", "data-orders-0") ", " GROW("shop", "log-orders-7") ", " GROW(
                                "shop", "data-queue-3") ", " GROW("logs", "index-search-11"),
     "30m"},
};

/* Returns: (owned): drain, and uncordon after three minutes, of each node */
static char *
drain_all(void)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < 24; i++)
        g_string_append_printf(text,
                               "%s{\"at\": \"%us\", \"drain\": {\"node\": \"node-%u\", "
                               "\"ignoreDaemonSets\": true, \"timeout\": \"5m\"}}, {\"at\": "
                               "\"%us\", \"uncordon\": {\"node\": \"node-%u\"}}",
                               i == 0 ? "" : ", ", 60 + 360 * i, i, 60 + 360 * i + 310, i);
    return g_string_free(text, FALSE);
}

/* ---- The dump ---- */

static json_t *
make_dump(const char *file)
{
    const RunOptions options = {.seed = 1};
    g_autoptr(Scenario) scenario = load_scenario(file);
    g_autoptr(Run) run = run_new(scenario, &options, NULL);

    run_advance(run, DUMPED_AT);
    json_auto_t *list = snapshot_take(run);
    return as_printed(list);
}

/* Returns: (owned): the scenario with the dump as its start */
static Scenario *
load_with(const char *folder, const char *file, const char *items, const char *until)
{
    g_autofree char *scenario_file = g_build_filename(folder, "scenario.json", NULL);
    g_autofree char *list = g_strdup_printf("[%s]", items);
    json_auto_t *json = read_scenario(file);
    json_t *spec = json_object_get(json, "spec");

    json_object_del(spec, "nodes");
    json_object_set_new(spec, "until", json_string(until));
    json_object_set_new(spec, "manifests", json_pack("[s]", "objects.json"));
    json_t *workload = json_loads(list, 0, NULL);
    json_t *faults = json_array();
    for (gsize i = json_array_size(workload); i-- > 0;)
        if (json_object_get(json_array_get(workload, i), "fault") != NULL) {
            json_t *fault = json_object_get(json_array_get(workload, i), "fault");
            json_object_set(fault, "at", json_object_get(json_array_get(workload, i), "at"));
            json_array_append(faults, fault);
            json_array_remove(workload, i);
        }
    json_object_set_new(spec, "workload", workload);
    json_object_set_new(spec, "faults", faults);
    g_assert(json_dump_file(json, scenario_file, 0) == 0);
    Scenario *scenario = load_scenario(scenario_file);
    g_unlink(scenario_file);
    return scenario;
}

/* ---- Cases ---- */

static gboolean
tell(const char *name, const char *faults)
{
    g_print("%s: %s\n", name, *faults == '\0' ? "well" : "FAILED");
    if (*faults != '\0')
        g_print("%.6000s", faults);
    return *faults == '\0';
}

/* Nothing happens in a cluster that is left alone: no write and no call. */
static gboolean
check_quiet(const Scenario *scenario)
{
    const RunOptions options = {.seed = 1};
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    g_autoptr(Stories) stories = stories_new(run);
    GHashTableIter i;
    void *name, *text;

    run_execute(run);
    g_autoptr(GHashTable) table = stories_table(stories);
    g_autoptr(GString) faults = g_string_new(NULL);
    g_hash_table_iter_init(&i, table);
    while (g_hash_table_iter_next(&i, &name, &text))
        g_string_append_printf(faults, "%s\n%s", (char *)name, (char *)text);
    g_autofree char *disagreements = agreement_faults(run);
    g_string_append(faults, disagreements);
    return tell("left alone", faults->str);
}

static gboolean
check_case(const Scenario *scenario, const char *name)
{
    const RunOptions options = {.seed = 1};
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    g_autoptr(Invariants) invariants = invariants_new(run);

    run_execute(run);
    invariants_check_ready(invariants);
    invariants_check_settled(invariants);
    g_autofree char *disagreements = agreement_faults(run);
    g_autoptr(GString) faults = g_string_new(invariants_faults(invariants));
    for (unsigned i = 0; i < run_notes(run)->len; i++)
        g_string_append_printf(faults, "%s\n", (char *)run_notes(run)->pdata[i]);
    g_string_append(faults, disagreements);
    return tell(name, faults->str);
}

int
main(int argc, char **argv)
{
    g_autofree char *file =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests/run/world/big-cluster.yaml", NULL);
    g_autofree char *folder = g_dir_make_tmp("dump-XXXXXX", NULL);
    g_autofree char *objects_file = g_build_filename(folder, "objects.json", NULL);
    json_auto_t *dump = make_dump(file);
    gboolean good = TRUE;

    g_assert(json_dump_file(dump, objects_file, JSON_INDENT(4)) == 0);
    {
        g_autoptr(Scenario) scenario = load_with(folder, file, "", "15m");
        good = scenario != NULL && check_quiet(scenario);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        if (argc > 1 && strstr(cases[i].name, argv[1]) == NULL)
            continue;
        g_autofree char *items = cases[i].items == NULL ? drain_all() : g_strdup(cases[i].items);
        g_autoptr(Scenario) scenario = load_with(folder, file, items, cases[i].until);
        if (scenario == NULL || !check_case(scenario, cases[i].name))
            good = FALSE;
    }
    if (g_getenv("KEEP") == NULL) {
        g_unlink(objects_file);
        g_rmdir(folder);
    }
    return !good;
}
