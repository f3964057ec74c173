/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The differences between two releases for a scenario: both are run, and the rules that acted,
 * feature gates, migrating plugins and changed defaults between them are listed, with the stages
 * and expectations of both runs. A rule counts only if it acted in one of the runs; a gate or
 * default that the scenario sets is the same in both. */
#include "releases.h"

#include <string.h>

#include "models/api/migration/migration.h"
#include "models/api/release.h"
#include "models/cluster/cluster.h"
#include "run/results/results.h"
#include "run/results/stages.h"
#include "run/scenario/release-defaults.h"
#include "run/scenario/scenario.h"

/* The results of one release. */
typedef struct {
    int minor;
    Scenario *scenario;
    Results *results;
    GHashTable *rules; /* set of the ids of rules that acted; static */
    unsigned n_expects, n_met;
    uint64_t n_writes;
} ReleasesOutcome;

struct ReleaseComparison {
    ReleasesOutcome outcomes[2]; /* the older release first */
};

static void
outcome_clear(ReleasesOutcome *self)
{
    g_clear_pointer(&self->results, results_free);
    g_clear_pointer(&self->scenario, scenario_free);
    g_clear_pointer(&self->rules, g_hash_table_unref);
}

void
release_comparison_free(ReleaseComparison *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(self->outcomes); i++)
        outcome_clear(&self->outcomes[i]);
    g_free(self);
}

/* ---- The runs ---- */

static void
note_rule(void *data, const RunRecord *record)
{
    ReleasesOutcome *self = data;

    if (record->rule != NULL)
        g_hash_table_add(self->rules, (void *)record->rule);
}

static gboolean
releases_load(ReleasesOutcome *self,
              const char *file,
              const char *data_dir,
              const char *const *set,
              GPtrArray **faults)
{
    g_autoptr(GPtrArray) changes = g_ptr_array_new();
    g_autofree char *version = g_strdup_printf("spec.kubernetes.version=v1.%d", self->minor);

    for (unsigned i = 0; set != NULL && set[i] != NULL; i++)
        g_ptr_array_add(changes, (void *)set[i]);
    g_ptr_array_add(changes, version);
    g_ptr_array_add(changes, NULL);
    const ScenarioOptions options = {.data_dir = data_dir,
                                     .set = (const char *const *)changes->pdata};
    self->scenario = scenario_load(file, &options, faults);
    return self->scenario != NULL;
}

static gboolean
releases_execute(ReleasesOutcome *self, GError **error)
{
    const RunOptions options = {.seed = self->scenario->seed};
    g_autoptr(Run) run = run_new(self->scenario, &options, error);

    if (run == NULL)
        return FALSE;
    records_watch(run_records(run), RECORD_STEP, note_rule, self);
    run_execute(run);
    g_autoptr(Stages) stages = stages_new(run);
    results_add(self->results, run, stages);
    const ExpectResult *expects = run_expects(run, &self->n_expects);
    for (unsigned i = 0; i < self->n_expects; i++)
        self->n_met += expects[i].is_met ? 1 : 0;
    return TRUE;
}

ReleaseComparison *
release_comparison_new(const char *file,
                       const char *data_dir,
                       const int minors[2],
                       const char *const *set,
                       GPtrArray **faults,
                       GError **error)
{
    g_autoptr(ReleaseComparison) self = g_new0(ReleaseComparison, 1);

    for (unsigned i = 0; i < G_N_ELEMENTS(self->outcomes); i++) {
        ReleasesOutcome *outcome = &self->outcomes[i];
        outcome->minor = i == 0 ? MIN(minors[0], minors[1]) : MAX(minors[0], minors[1]);
        outcome->rules = g_hash_table_new(g_str_hash, g_str_equal);
        if (!releases_load(outcome, file, data_dir, set, faults))
            return NULL;
        g_ptr_array_unref(g_steal_pointer(faults));
        outcome->results = results_new(outcome->scenario, outcome->scenario->seed);
        if (!releases_execute(outcome, error))
            return NULL;
    }
    return g_steal_pointer(&self);
}

/* ---- What lies between them ---- */

static gboolean
acted(const ReleaseComparison *self, const char *rules)
{
    g_auto(GStrv) ids = g_strsplit(rules, ", ", -1);

    for (unsigned i = 0; ids[i] != NULL; i++)
        for (unsigned k = 0; k < G_N_ELEMENTS(self->outcomes); k++)
            if (g_hash_table_contains(self->outcomes[k].rules, ids[i]))
                return TRUE;
    return FALSE;
}

static gboolean
is_between(const ReleaseComparison *self, int since)
{
    return since > self->outcomes[0].minor && since <= self->outcomes[1].minor;
}

/* Without the gates that the scenario sets: they are the same in both. */
static Release
release_of(const ReleasesOutcome *outcome)
{
    return (Release){outcome->minor, NULL};
}

/* Returns: 1: switched on by the newer release; -1: off; 0: as before, or modelled whatever it says
 */
static int
gate_change(const ReleaseComparison *self, const FeatureGate *gate)
{
    const Release older = release_of(&self->outcomes[0]), newer = release_of(&self->outcomes[1]);

    if (gate->effect == NULL || g_str_has_prefix(gate->effect, "always") ||
        json_object_get(self->outcomes[0].scenario->feature_gates, gate->name) != NULL)
        return 0;
    return release_has_gate(&newer, gate->name) - release_has_gate(&older, gate->name);
}

static gboolean
plugin_migrates(const ReleaseComparison *self, const InTreePlugin *plugin)
{
    const Release older = release_of(&self->outcomes[0]), newer = release_of(&self->outcomes[1]);

    return !in_tree_plugin_is_migrated(plugin, &older) &&
           in_tree_plugin_is_migrated(plugin, &newer);
}

/* Whether a driver of the scenario serves the plugin. */
static gboolean
has_plugin(const ReleaseComparison *self, const InTreePlugin *plugin)
{
    const Scenario *scenario = self->outcomes[0].scenario;

    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (strcmp(scenario->drivers[i].name, in_tree_plugin_name(plugin)) == 0 ||
            strcmp(scenario->drivers[i].name, in_tree_plugin_driver(plugin)) == 0)
            return TRUE;
    return FALSE;
}

/* Whether a process of Kubernetes has another default, which the scenario does not replace. */
static gboolean
default_changes(const ReleaseComparison *self, const ReleaseDefault *row)
{
    GHashTable *flags_of = self->outcomes[0].scenario->components;
    GHashTable *flags = flags_of == NULL ? NULL : g_hash_table_lookup(flags_of, row->process);

    return g_str_has_prefix(row->id, "REL-") && is_between(self, row->minor) &&
           (flags == NULL || !g_hash_table_contains(flags, row->name));
}

/* ---- Telling ---- */

static void
append_measure(GString *text, const char *name, const char *a, const char *b)
{
    g_string_append_printf(text, "%-14s %14s %14s%s\n", name, a, b, strcmp(a, b) == 0 ? "" : "  *");
}

/* In whole milliseconds. */
static SimTime
median(SimSample *sample)
{
    return (sim_sample_quantile(sample, 0.5) + SIM_MS / 2) / SIM_MS * SIM_MS;
}

static void
append_outcomes(const ReleaseComparison *self, GString *text)
{
    const ReleasesOutcome *a = &self->outcomes[0], *b = &self->outcomes[1];
    g_autofree char *from = g_strdup_printf("1.%d", a->minor),
                    *to = g_strdup_printf("1.%d", b->minor);
    g_autofree char *met_a = g_strdup_printf("%u of %u", a->n_met, a->n_expects);
    g_autofree char *met_b = g_strdup_printf("%u of %u", b->n_met, b->n_expects);

    g_string_append_printf(text, "%-14s %14s %14s\n", "RELEASE", from, to);
    for (Stage stage = 0; stage < N_STAGES; stage++) {
        SimSample *of_a = results_stage(a->results, stage),
                  *of_b = results_stage(b->results, stage);
        char time_a[SIM_TIME_BUFFER] = "-", time_b[SIM_TIME_BUFFER] = "-";
        if (sim_sample_count(of_a) + sim_sample_count(of_b) == 0)
            continue;
        if (sim_sample_count(of_a) > 0)
            sim_time_format(median(of_a), time_a);
        if (sim_sample_count(of_b) > 0)
            sim_time_format(median(of_b), time_b);
        append_measure(text, stage_name(stage), time_a, time_b);
    }
    if (a->n_expects > 0)
        append_measure(text, "expectations", met_a, met_b);
}

char *
release_comparison_text(const ReleaseComparison *self)
{
    g_autoptr(GString) text = g_string_new(NULL), other = g_string_new(NULL);
    const FeatureGate *gate;
    const InTreePlugin *plugin;

    append_outcomes(self, text);
    g_string_append_printf(text, "\nChanges that acted in one of the runs:\n");
    gsize length = text->len;
    for (const ReleaseChange *row = release_changes; row->id != NULL; row++)
        if (is_between(self, row->since))
            g_string_append_printf(acted(self, row->rules) ? text : other, "  1.%d %s (%s): %s\n",
                                   row->since, row->id, row->rules, row->text);
    for (unsigned i = 0; (plugin = in_tree_plugin_at(i)) != NULL; i++)
        if (plugin_migrates(self, plugin))
            g_string_append_printf(has_plugin(self, plugin) ? text : other,
                                   "  volumes of %s go to %s (docs/rules/migration.md)\n",
                                   in_tree_plugin_name(plugin), in_tree_plugin_driver(plugin));
    for (const ReleaseDefault *row = release_defaults; row->id != NULL; row++)
        if (default_changes(self, row))
            g_string_append_printf(text, "  1.%d %s: %s of every %s is %s; before, %s.\n",
                                   row->minor, row->id, row->name, row->process, row->then,
                                   row->before);
    if (text->len == length)
        g_string_append(text, "  none\n");
    for (unsigned i = 0; (gate = feature_gate_at(i)) != NULL; i++) {
        int change = gate_change(self, gate);
        if (change != 0)
            g_string_append_printf(other, "  gate %s is %s: %s\n", gate->name,
                                   change > 0 ? "on" : "off", gate->effect);
    }
    if (other->len > 0)
        g_string_append_printf(text, "\nOther changes between 1.%d and 1.%d:\n%s",
                               self->outcomes[0].minor, self->outcomes[1].minor, other->str);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static json_t *
outcome_json(const ReleasesOutcome *self)
{
    json_t *stages = json_object();

    for (Stage stage = 0; stage < N_STAGES; stage++) {
        SimSample *sample = results_stage(self->results, stage);
        if (sim_sample_count(sample) > 0)
            json_object_set_new(stages, stage_name(stage),
                                json_pack("{s:I, s:f}", "count",
                                          (json_int_t)sim_sample_count(sample), "p50",
                                          (double)sim_sample_quantile(sample, 0.5) / SIM_SECOND));
    }
    return json_pack("{s:i, s:o, s:{s:I, s:I}}", "minor", self->minor, "stages", stages,
                     "expectations", "all", (json_int_t)self->n_expects, "met",
                     (json_int_t)self->n_met);
}

json_t *
release_comparison_json(const ReleaseComparison *self)
{
    json_t *changes = json_array(), *gates = json_array(), *migrated = json_array(),
           *defaults = json_array();
    const FeatureGate *gate;
    const InTreePlugin *plugin;

    for (const ReleaseChange *row = release_changes; row->id != NULL; row++)
        if (is_between(self, row->since))
            json_array_append_new(changes,
                                  json_pack("{s:s, s:i, s:s, s:s, s:b}", "id", row->id, "since",
                                            row->since, "rules", row->rules, "text", row->text,
                                            "acted", acted(self, row->rules)));
    for (unsigned i = 0; (gate = feature_gate_at(i)) != NULL; i++)
        if (gate_change(self, gate) != 0)
            json_array_append_new(gates,
                                  json_pack("{s:s, s:b, s:s}", "name", gate->name, "on",
                                            gate_change(self, gate) > 0, "effect", gate->effect));
    for (unsigned i = 0; (plugin = in_tree_plugin_at(i)) != NULL; i++)
        if (plugin_migrates(self, plugin))
            json_array_append_new(migrated, json_string(in_tree_plugin_name(plugin)));
    for (const ReleaseDefault *row = release_defaults; row->id != NULL; row++)
        if (default_changes(self, row))
            json_array_append_new(defaults,
                                  json_pack("{s:s, s:i, s:s, s:s, s:s, s:s}", "id", row->id,
                                            "since", row->minor, "process", row->process, "flag",
                                            row->name, "before", row->before, "then", row->then));
    return json_pack("{s:[o, o], s:o, s:o, s:o, s:o}", "releases", outcome_json(&self->outcomes[0]),
                     outcome_json(&self->outcomes[1]), "changes", changes, "defaults", defaults,
                     "gates", gates, "migrated", migrated);
}
