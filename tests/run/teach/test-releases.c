/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <glib/gstdio.h>

#include "models/api/fields.h"
#include "models/api/release.h"
#include "release-rows.h"
#include "run/results/snapshot.h"
#include "run/scenario/release-defaults.h"
#include "run/teach/releases.h"
#include "run/world/run.h"

/* Each row is run under the release before its change and under the one with it: something that
 * the row names differs, and as the row says. */

/* ---- A run ---- */

typedef struct {
    const char *method, *what; /* calls that are counted */
    unsigned n_calls;
    const char *rule; /* whose steps are noted */
    GString *steps;
} Watch;

static gboolean
has_key(const StringMap *map, const char *key)
{
    return string_map_get(map, key) != NULL;
}

/* CsiObserver.answered */
static void
call_answered(void *data, const CsiCallRecord *record)
{
    Watch *self = data;
    const CsiRequest *request = record->request;
    gboolean counts = self->what == NULL;

    if (strcmp(csi_method_name(request->method), self->method) != 0)
        return;
    if (g_strcmp0(self->what, "secrets") == 0)
        counts = request->has_secrets;
    else if (g_strcmp0(self->what, "tokens") == 0)
        counts = has_key(request->volume_context, "csi.storage.k8s.io/serviceAccount.tokens");
    else if (g_strcmp0(self->what, "group") == 0)
        counts = request->capabilities[0].volume_mount_group != NULL;
    self->n_calls += counts ? 1 : 0;
}

/* PlanObserver */
static void
note_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    Watch *self = data;

    (void)component, (void)plan;
    if (g_strcmp0(rule, self->rule) == 0 && strstr(self->steps->str, step) == NULL)
        g_string_append_printf(self->steps, "%s%s", self->steps->len > 0 ? "; " : "", step);
}

/* ---- What is seen at the end. Each (owned) ---- */

static char *
text_of(const json_t *value)
{
    if (value == NULL)
        return g_strdup("-");
    if (json_is_string(value))
        return g_strdup(json_string_value(value));
    char *printed = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    char *text = g_strdup(printed);
    free(printed);
    return text;
}

static gboolean
is_named(const json_t *object, const char *kind, const char *name)
{
    return strcmp(json_string_value(json_object_get(object, "kind")), kind) == 0 &&
           g_pattern_match_simple(name, json_string_value(json_path_get(object, "metadata.name")));
}

/* "Pod/web-* status.phase": of the first that is there */
static char *
see_field(const json_t *objects, const char *kind, const char *name, const char *path)
{
    const json_t *object;
    gsize i;

    json_array_foreach((json_t *)objects, i, object)
        if (is_named(object, kind, name))
            return text_of(json_path_get(object, path));
    return g_strdup("gone");
}

/* "count Pod status.phase Running" */
static char *
see_count(const json_t *objects, const char *kind, const char *path, const char *wanted)
{
    const json_t *object;
    unsigned n = 0;
    gsize i;

    json_array_foreach((json_t *)objects, i, object) {
        g_autofree char *text = text_of(json_path_get(object, path));
        n += is_named(object, kind, "*") && strcmp(text, wanted) == 0 ? 1 : 0;
    }
    return g_strdup_printf("%u", n);
}

/* "event Reason message", "event Reason count" */
static char *
see_event(const json_t *objects, const char *reason, const char *path)
{
    const json_t *object;
    gsize i;

    json_array_foreach((json_t *)objects, i, object)
        if (is_named(object, "Event", "*") &&
            g_strcmp0(json_string_value(json_object_get(object, "reason")), reason) == 0)
            return text_of(json_path_get(object, path));
    return g_strdup("none");
}

static char *
see_flag(const Scenario *scenario, const char *process, const char *flag)
{
    GHashTable *of = g_hash_table_lookup(scenario->drivers[0].sidecars, process);

    if (of == NULL && scenario->components != NULL)
        of = g_hash_table_lookup(scenario->components, process);
    const char *text = of == NULL ? NULL : g_hash_table_lookup(of, flag);
    return g_strdup(text == NULL ? "default" : text);
}

static char *
look(const Run *run, const Watch *watch, char *const *words)
{
    const GPtrArray *notes = run_notes(run);
    char *seen;

    if (strcmp(words[0], "calls") == 0)
        return g_strdup_printf("%u", watch->n_calls);
    if (strcmp(words[0], "steps") == 0)
        return g_strdup(watch->steps->len == 0 ? "none" : watch->steps->str);
    if (strcmp(words[0], "notes") == 0)
        return g_strdup(notes->len == 0 ? "none" : notes->pdata[0]);
    if (strcmp(words[0], "flag") == 0)
        return see_flag(run_scenario(run), words[1], words[2]);
    json_t *objects = snapshot_take(run);
    if (strcmp(words[0], "event") == 0)
        seen = see_event(objects, words[1], words[2]);
    else if (strcmp(words[0], "count") == 0)
        seen = see_count(objects, words[1], words[2], words[3]);
    else {
        g_auto(GStrv) object = g_strsplit(words[0], "/", 2);
        seen = see_field(objects, object[0], object[1], words[1]);
    }
    json_decref(objects);
    return seen;
}

/* ---- A row ---- */

/* (owned): a file of the row's own */
static char *
write_scenario(const ReleaseRow *row)
{
    const char *nodes = strstr(row->scenario, "nodes:") != NULL
                            ? ""
                            : "nodes: [{count: 2, name: n-%d, zones: [a]}], ";
    const char *drivers = strstr(row->scenario, "drivers:") != NULL
                              ? ""
                              : "drivers: [{name: csi.x, latency: {CreateVolume: 1s}}], ";
    g_autofree char *text = g_strconcat(
        "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: row}\nspec: {", nodes, drivers,
        row->scenario, "}\n", row->objects != NULL ? row->objects : "", NULL);
    char *file;
    int descriptor = g_file_open_tmp("release-XXXXXX.yaml", &file, NULL);

    assert_true(descriptor >= 0);
    close(descriptor);
    assert_true(g_file_set_contents(file, text, -1, NULL));
    return file;
}

static Scenario *
load(const ReleaseRow *row, const char *file, int minor, const char *settings)
{
    g_autofree char *version = g_strdup_printf("spec.kubernetes.version=v1.%d", minor);
    g_autofree char *all = g_strconcat(version, settings != NULL ? "; " : "", settings, NULL);
    g_auto(GStrv) set = g_strsplit(all, "; ", -1);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"),
                                     .set = (const char *const *)set};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    if (scenario == NULL) {
        g_autofree char *fault = file_fault_text(faults->pdata[0]);
        print_error("%s at 1.%d: %s\n", row->ids, minor, fault);
    }
    return scenario;
}

/* Returns: (owned): %NULL: it could not be run */
static char *
run_row(const ReleaseRow *row, int minor, const char *settings)
{
    gboolean is_file = g_str_has_suffix(row->scenario, ".yaml");
    g_autofree char *file = is_file ? g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios",
                                                       row->scenario, NULL)
                                    : write_scenario(row);
    g_auto(GStrv) words = g_strsplit(row->look, " ", 4);
    g_autoptr(Scenario) scenario = load(row, file, minor, settings);
    Watch watch = {.method = words[1], .what = words[1] == NULL ? NULL : words[2],
                   .rule = words[1], .steps = g_string_new(NULL)};
    char *seen = NULL;

    if (!is_file)
        g_unlink(file);
    if (scenario != NULL) {
        g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = 1, .untraced = TRUE}, NULL);
        assert_non_null(run);
        if (strcmp(words[0], "calls") == 0)
            csi_driver_add_observer(cluster_driver(run_cluster(run), 0),
                                    &(CsiObserver){.answered = call_answered, .data = &watch});
        if (strcmp(words[0], "steps") == 0)
            cluster_observe_plans(run_cluster(run), note_step, &watch);
        assert_int_equal(run_execute(run), RUN_DONE);
        seen = look(run, &watch, words);
    }
    g_string_free(watch.steps, TRUE);
    return seen;
}

static gboolean
is_as_told(const ReleaseRow *row, gboolean newer, const char *wanted)
{
    int minor = newer || row->newer != NULL ? row->since : row->since - 1;
    g_autofree char *seen = run_row(row, minor, newer ? row->newer : row->older);

    if (g_strcmp0(seen, wanted) == 0)
        return TRUE;
    print_error("%s at 1.%d%s: %s is \"%s\", not \"%s\"\n", row->ids, minor, newer ? " (newer)" : "",
                row->look, seen, wanted);
    return FALSE;
}

static void
each_row_shows_its_change(void **state)
{
    unsigned n_wrong = 0;

    (void)state;
    for (const ReleaseRow *row = release_rows; row->ids != NULL; row++) {
        assert_true(strcmp(row->before, row->after) != 0);
        n_wrong += is_as_told(row, FALSE, row->before) ? 0 : 1;
        n_wrong += is_as_told(row, TRUE, row->after) ? 0 : 1;
    }
    assert_int_equal(n_wrong, 0);
}

/* ---- All rows of the books have one ---- */

static const ReleaseRow *
find_row(const char *id)
{
    for (const ReleaseRow *row = release_rows; row->ids != NULL; row++) {
        g_auto(GStrv) ids = g_strsplit(row->ids, " ", -1);
        if (g_strv_contains((const char *const *)ids, id))
            return row;
    }
    print_error("no row shows %s\n", id);
    return NULL;
}

static void
each_change_has_a_row(void **state)
{
    unsigned n_missing = 0;

    (void)state;
    for (const ReleaseChange *change = release_changes; change->id != NULL; change++) {
        const ReleaseRow *row = find_row(change->id);
        n_missing += row == NULL ? 1 : 0;
        if (row != NULL)
            assert_int_equal(row->since, change->since);
    }
    for (const ReleaseDefault *change = release_defaults; change->id != NULL; change++)
        n_missing += find_row(change->id) == NULL ? 1 : 0;
    assert_int_equal(n_missing, 0);
}

/* A gate that some release switches on: with that release. One that is off in all: switched on by
 * hand. */
static void
each_gate_has_a_row(void **state)
{
    const FeatureGate *gate;
    unsigned n_missing = 0;

    (void)state;
    for (unsigned i = 0; (gate = feature_gate_at(i)) != NULL; i++) {
        if (!release_knows_gate(gate->name))
            continue;
        const ReleaseRow *row = find_row(gate->name);
        n_missing += row == NULL ? 1 : 0;
        if (row == NULL || row->newer != NULL)
            continue;
        const Release before = {.minor = row->since - 1}, with = {.minor = row->since};
        if (release_has_gate(&before, gate->name) || !release_has_gate(&with, gate->name))
            fail_msg("%s does not change with 1.%d", gate->name, row->since);
    }
    assert_int_equal(n_missing, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_shows_its_change),
        cmocka_unit_test(each_change_has_a_row),
        cmocka_unit_test(each_gate_has_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
