/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>

#include "models/api/fields.h"
#include "models/api/release.h"
#include "run/files/yaml.h"
#include "run/results/snapshot.h"
#include "run/scenario/release-defaults.h"
#include "run/teach/releases.h"
#include "run/world/run.h"
#include "tests/lib/test.h"

/* Each row is run under the release before its change and under the one with it: something that
 * the row names differs, and as the row says. */

/* ---- A run ---- */

typedef struct {
    const char *method, *what; /* calls that are counted */
    unsigned n_calls;
    const char *rule; /* whose steps are noted */
    GString *steps;
    unsigned n_steps;
} ReleasesWatch;

static gboolean
releases_has_key(const StringMap *map, const char *key)
{
    return string_map_get(map, key) != NULL;
}

/* CsiObserver.answered */
static void
releases_call_answered(void *data, const CsiCallRecord *record)
{
    ReleasesWatch *self = data;
    const CsiRequest *request = record->request;
    gboolean counts = self->what == NULL;

    if (strcmp(csi_method_name(request->method), self->method) != 0)
        return;
    if (g_strcmp0(self->what, "secrets") == 0)
        counts = request->has_secrets;
    else if (g_strcmp0(self->what, "tokens") == 0)
        counts =
            releases_has_key(request->volume_context, "csi.storage.k8s.io/serviceAccount.tokens");
    else if (g_strcmp0(self->what, "group") == 0)
        counts = request->capabilities[0].volume_mount_group != NULL;
    self->n_calls += counts ? 1 : 0;
}

/* PlanObserver */
static void
note_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    ReleasesWatch *self = data;

    (void)component, (void)plan;
    if (g_strcmp0(rule, self->rule) != 0)
        return;
    self->n_steps++;
    if (strstr(self->steps->str, step) == NULL)
        g_string_append_printf(self->steps, "%s%s", self->steps->len > 0 ? "; " : "", step);
}

/* ---- What is seen at the end. Each (owned) ---- */

static char *
releases_text_of(const json_t *value)
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
releases_is_named(const json_t *object, const char *kind, const char *name)
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
        if (releases_is_named(object, kind, name))
            return releases_text_of(json_path_get(object, path));
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
        g_autofree char *text = releases_text_of(json_path_get(object, path));
        n += releases_is_named(object, kind, "*") && strcmp(text, wanted) == 0 ? 1 : 0;
    }
    return g_strdup_printf("%u", n);
}

/* "event Reason message", "event Reason count" */
static char *
releases_see_event(const json_t *objects, const char *reason, const char *path)
{
    const json_t *object;
    gsize i;

    json_array_foreach((json_t *)objects, i, object)
        if (releases_is_named(object, "Event", "*") &&
            g_strcmp0(json_string_value(json_object_get(object, "reason")), reason) == 0)
            return releases_text_of(json_path_get(object, path));
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

/* "requests pvc-protection LIST pods": of clients that match */
static char *
see_requests(const Run *run, const char *client, const char *verb, const char *resource)
{
    const GPtrArray *rows = api_load_rows(run_load(run));
    uint64_t n = 0;

    for (unsigned i = 0; i < rows->len; i++) {
        const ApiLoadRow *row = rows->pdata[i];
        if (g_pattern_match_simple(client, row->client) && strcmp(row->verb, verb) == 0 &&
            strcmp(row->resource, resource) == 0)
            n += row->total;
    }
    return g_strdup_printf("%" PRIu64, n);
}

static char *
releases_look(const Run *run, const ReleasesWatch *watch, char *const *words)
{
    const GPtrArray *notes = run_notes(run);
    char *seen;

    if (strcmp(words[0], "calls") == 0)
        return g_strdup_printf("%u", watch->n_calls);
    if (strcmp(words[0], "steps") == 0)
        return g_strdup(watch->steps->len == 0 ? "none" : watch->steps->str);
    if (strcmp(words[0], "times") == 0)
        return g_strdup_printf("%u", watch->n_steps);
    if (strcmp(words[0], "notes") == 0)
        return g_strdup(notes->len == 0 ? "none" : notes->pdata[0]);
    if (strcmp(words[0], "flag") == 0)
        return see_flag(run_scenario(run), words[1], words[2]);
    if (strcmp(words[0], "requests") == 0)
        return see_requests(run, words[1], words[2], words[3]);
    json_t *objects = snapshot_take(run);
    if (strcmp(words[0], "event") == 0)
        seen = releases_see_event(objects, words[1], words[2]);
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

static const char *
releases_member(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static int
read_rows(void **state)
{
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autofree char *file =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests/run/teach/releases.yaml", NULL);
    g_autofree char *text = NULL;
    gsize length;

    assert_true(g_file_get_contents(file, &text, &length, NULL));
    assert_true(yaml_read(positions, file, text, length, NULL, documents));
    *state = json_incref(json_object_get(documents->pdata[0], "rows"));
    return 0;
}

static int
free_rows(void **state)
{
    json_decref(*state);
    return 0;
}
TEST_PROGRAM(read_rows, free_rows);

static void
append_document(GString *text, const json_t *document)
{
    char *dumped = json_dumps(document, JSON_COMPACT);

    g_string_append_printf(text, "---\n%s\n", dumped);
    free(dumped);
}

/* Returns: (owned): the name of a file of the row's own */
static char *
write_scenario(const json_t *row)
{
    json_auto_t *scenario =
        json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:[{s:i, s:s, s:[s]}], s:[{s:s, s:{s:s}}]}}",
                  "apiVersion", "kvolsim.io/v1", "kind", "Scenario", "metadata", "name", "row",
                  "spec", "until", "60s", "nodes", "count", 2, "name", "n-%d", "zones", "a",
                  "drivers", "name", "csi.x", "latency", "CreateVolume", "1s");
    g_autoptr(GString) text = g_string_new(NULL);
    const json_t *object;
    gsize i;
    char *file;
    int descriptor = g_file_open_tmp("release-XXXXXX.yaml", &file, NULL);

    assert_non_null(scenario);
    assert_true(descriptor >= 0);
    close(descriptor);
    json_object_update(json_object_get(scenario, "spec"), json_object_get(row, "spec"));
    append_document(text, scenario);
    json_array_foreach(json_object_get(row, "objects"), i, object)
        append_document(text, object);
    assert_true(g_file_set_contents(file, text->str, -1, NULL));
    return file;
}

static void
add_settings(GPtrArray *set, const json_t *settings)
{
    const json_t *setting;
    gsize i;

    json_array_foreach(settings, i, setting)
        g_ptr_array_add(set, g_strdup(json_string_value(setting)));
}

/* @refusal: (out) (owned): why there is none */
static Scenario *
teach_releases_load(
    const json_t *row, const char *file, int minor, const char *of_one, char **refusal)
{
    g_autoptr(GPtrArray) set = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) faults = NULL;

    g_ptr_array_add(set, g_strdup_printf("spec.kubernetes.version=v1.%d", minor));
    add_settings(set, json_object_get(row, "set"));
    add_settings(set, json_object_get(row, of_one));
    g_ptr_array_add(set, NULL);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"),
                                     .set = (const char *const *)set->pdata};
    Scenario *scenario = scenario_load(file, &options, &faults);
    if (scenario == NULL)
        *refusal = g_strconcat("refused: ", ((const FileFault *)faults->pdata[0])->message, NULL);
    return scenario;
}

/* @of_one: "older" or "newer". Returns: (owned): what is seen; "refused: ...": it could not be run
 */
static char *
run_row(const json_t *row, int minor, const char *of_one)
{
    const char *name = releases_member(row, "scenario");
    g_autofree char *file =
        name == NULL ? write_scenario(row)
                     : g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios", name, NULL);
    g_auto(GStrv) words = g_strsplit(releases_member(row, "look"), " ", 4);
    char *seen = NULL;
    g_autoptr(Scenario) scenario = teach_releases_load(row, file, minor, of_one, &seen);
    ReleasesWatch watch = {.method = words[1],
                           .what = words[1] == NULL ? NULL : words[2],
                           .rule = words[1],
                           .steps = g_string_new(NULL)};

    if (name == NULL)
        g_unlink(file);
    if (scenario != NULL) {
        g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = 1}, NULL);
        assert_non_null(run);
        if (strcmp(words[0], "calls") == 0)
            csi_driver_add_observer(
                cluster_driver(run_cluster(run), 0),
                &(CsiObserver){.answered = releases_call_answered, .data = &watch});
        if (strcmp(words[0], "steps") == 0 || strcmp(words[0], "times") == 0)
            cluster_observe_plans(run_cluster(run), note_step, &watch);
        assert_int_equal(run_execute(run), RUN_DONE);
        seen = releases_look(run, &watch, words);
    }
    g_string_free(watch.steps, TRUE);
    return seen;
}

static int
release_of(const json_t *row, gboolean newer)
{
    int since = (int)json_integer_value(json_object_get(row, "since"));

    return newer || json_object_get(row, "newer") != NULL ? since : since - 1;
}

static gboolean
is_as_told(const json_t *row, gboolean newer)
{
    int minor = release_of(row, newer);
    const char *wanted = releases_member(row, newer ? "after" : "before");
    g_autofree char *seen = run_row(row, minor, newer ? "newer" : "older");

    if (wanted != NULL && g_strcmp0(seen, wanted) == 0)
        return TRUE;
    print_error("%s at 1.%d%s: %s is \"%s\", not \"%s\"\n",
                json_string_value(json_array_get(json_object_get(row, "ids"), 0)), minor,
                newer ? " (newer)" : "", releases_member(row, "look"), seen, wanted);
    return FALSE;
}

TEST(each_row_shows_its_change)
{
    const json_t *row;
    unsigned n_wrong = 0;
    gsize i;

    json_array_foreach(*state, i, row) {
        assert_string_not_equal(releases_member(row, "before"), releases_member(row, "after"));
        n_wrong += is_as_told(row, FALSE) ? 0 : 1;
        n_wrong += is_as_told(row, TRUE) ? 0 : 1;
    }
    assert_int_equal(n_wrong, 0);
}

/* ---- All rows of the books have one ---- */

static const json_t *
releases_find_row(const json_t *rows, const char *id)
{
    const json_t *row, *each;
    gsize i, k;

    json_array_foreach(rows, i, row)
        json_array_foreach(json_object_get(row, "ids"), k, each)
            if (strcmp(json_string_value(each), id) == 0)
                return row;
    print_error("no row shows %s\n", id);
    return NULL;
}

TEST(each_change_has_a_row)
{
    unsigned n_missing = 0;

    for (const ReleaseChange *change = release_changes; change->id != NULL; change++) {
        const json_t *row = releases_find_row(*state, change->id);
        n_missing += row == NULL ? 1 : 0;
        if (row != NULL)
            assert_int_equal(release_of(row, TRUE), change->since);
    }
    for (const ReleaseDefault *change = release_defaults; change->id != NULL; change++)
        n_missing += releases_find_row(*state, change->id) == NULL ? 1 : 0;
    assert_int_equal(n_missing, 0);
}

/* A gate that some release switches on: with that release. One that is off in all: switched on by
 * hand. */
TEST(each_gate_has_a_row)
{
    const FeatureGate *gate;
    unsigned n_missing = 0;

    for (unsigned i = 0; (gate = feature_gate_at(i)) != NULL; i++) {
        if (!release_knows_gate(gate->name))
            continue;
        const json_t *row = releases_find_row(*state, gate->name);
        n_missing += row == NULL ? 1 : 0;
        if (row == NULL || json_object_get(row, "newer") != NULL)
            continue;
        const Release before = {.minor = release_of(row, FALSE)},
                      with = {.minor = release_of(row, TRUE)};
        if (release_has_gate(&before, gate->name) || !release_has_gate(&with, gate->name))
            fail_msg("%s does not change with 1.%d", gate->name, with.minor);
    }
    assert_int_equal(n_missing, 0);
}
