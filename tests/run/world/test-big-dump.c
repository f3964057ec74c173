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

static char *
big_dump_path_of(const char *name)
{
    return g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests/run/world", name, NULL);
}

/* Returns: (owned): the one document of a file */
static json_t *
read_document(const char *name)
{
    g_autofree char *file = big_dump_path_of(name);
    g_autoptr(GPtrArray) documents = read_yaml(file);

    return json_incref(documents->pdata[0]);
}

static json_t *
make_dump(const char *file)
{
    const RunOptions options = {.seed = 1};
    g_autoptr(Scenario) scenario = load_scenario(file);
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    json_auto_t *more = read_document("as-printed.yaml");

    run_advance(run, DUMPED_AT);
    json_auto_t *list = snapshot_take(run);
    return as_printed(list, more);
}

/* Returns: (owned): drain of @n nodes, one after the other, each uncordoned five minutes later */
static json_t *
drain_each(unsigned n)
{
    json_t *items = json_array();

    for (unsigned i = 0; i < n; i++) {
        g_autofree char *node = g_strdup_printf("node-%u", i);
        g_autofree char *at = g_strdup_printf("%us", 60 + 360 * i);
        g_autofree char *later = g_strdup_printf("%us", 60 + 360 * i + 300);
        json_array_append_new(items,
                              json_pack("{s:s, s:{s:s, s:b, s:s}}", "at", at, "drain", "node", node,
                                        "ignoreDaemonSets", TRUE, "timeout", "5m"));
        json_array_append_new(items,
                              json_pack("{s:s, s:{s:s}}", "at", later, "uncordon", "node", node));
    }
    return items;
}

/* Returns: (owned): the scenario of @file with the dump as its start, and the workload of @action
 */
static Scenario *
load_with(const char *folder, const char *file, json_t *action)
{
    g_autofree char *scenario_file = g_build_filename(folder, "scenario.json", NULL);
    json_auto_t *json = read_scenario(file);
    json_t *spec = json_object_get(json, "spec"), *drains = json_object_get(action, "drains");

    json_object_del(spec, "nodes");
    json_object_del(spec, "workload");
    json_object_set_new(spec, "manifests", json_pack("[s]", "objects.json"));
    if (drains != NULL)
        json_object_set_new(spec, "workload", drain_each((unsigned)json_integer_value(drains)));
    json_object_update(spec, action);
    json_object_del(spec, "name");
    json_object_del(spec, "drains");
    g_assert(json_dump_file(json, scenario_file, 0) == 0);
    Scenario *scenario = load_scenario(scenario_file);
    g_unlink(scenario_file);
    return scenario;
}

/* ---- Cases ---- */

static gboolean
big_dump_tell(const char *name, const char *faults)
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
    g_autoptr(GHashTable) table = stories_table(stories, stories);
    g_autoptr(GString) faults = g_string_new(NULL);
    g_hash_table_iter_init(&i, table);
    while (g_hash_table_iter_next(&i, &name, &text))
        g_string_append_printf(faults, "%s\n%s", (char *)name, (char *)text);
    g_autofree char *disagreements = agreement_faults(run);
    g_string_append(faults, disagreements);
    return big_dump_tell("left alone", faults->str);
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
    return big_dump_tell(name, faults->str);
}

static gboolean
check(const char *folder, const char *file, json_t *action)
{
    const char *name = json_string_value(json_object_get(action, "name"));
    g_autoptr(Scenario) scenario = load_with(folder, file, action);

    return scenario != NULL && (name == NULL ? check_quiet(scenario) : check_case(scenario, name));
}

static unsigned
big_dump_count(const json_t *list, const char *kind)
{
    json_t *object;
    unsigned n = 0;
    gsize i;

    json_array_foreach(json_object_get(list, "items"), i, object)
        n += g_strcmp0(json_string_value(json_object_get(object, "kind")), kind) == 0;
    return n;
}

/* test-big-dump [WORD]: only what has this word in its name. KEEP=1 in the environment keeps the
 * dump. */
int
main(int argc, char **argv)
{
    g_autofree char *file = big_dump_path_of("big-cluster.yaml");
    g_autofree char *folder = g_dir_make_tmp("dump-XXXXXX", NULL);
    g_autofree char *objects_file = g_build_filename(folder, "objects.json", NULL);
    json_auto_t *dump = make_dump(file), *actions = read_document("big-dump.yaml");
    json_auto_t *nothing = json_pack("{s:s}", "until", "15m");
    json_t *action;
    gsize i;

    g_assert_cmpuint(big_dump_count(dump, "Node"), ==, 24);
    g_assert_cmpuint(big_dump_count(dump, "PersistentVolumeClaim"), ==, 220);
    g_assert_cmpuint(big_dump_count(dump, "StatefulSet"), ==, 3);
    g_assert_cmpuint(big_dump_count(dump, "ControllerRevision"), ==, 0);
    g_assert(json_dump_file(dump, objects_file, JSON_INDENT(4)) == 0);
    gboolean good = check(folder, file, nothing);
    json_array_foreach(actions, i, action)
        if (argc < 2 || strstr(json_string_value(json_object_get(action, "name")), argv[1]) != NULL)
            good &= check(folder, file, action);
    if (g_getenv("KEEP") == NULL) {
        g_unlink(objects_file);
        g_rmdir(folder);
    }
    return !good;
}
