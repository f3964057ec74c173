/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sqlite3.h>
#include <string.h>

#include "fuzz.h"
#include "models/api/patch/patch.h"
#include "models/api/schema/strict-fields.h"
#include "models/csi/loop/ledger.h"
#include "run/kubectl/cluster.h"
#include "run/kubectl/json-path.h"
#include "run/results/result-folder.h"
#include "run/scenario/labels.h"
#include "run/teach/stepper.h"
#include "serve/api/apply/managed-fields.h"
#include "serve/api/apply/managers.h"

/* ---- Of kubectl ---- */

static const char objects_text[] =
    "{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": ["
    "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"web-0\", "
    "\"namespace\": \"default\", \"labels\": {\"app\": \"web\", \"tier\": \"front\"}},"
    " \"spec\": {\"nodeName\": \"n\", \"containers\": [{\"name\": \"a\"}, {\"name\": \"b\", "
    "\"ports\": [1, 2.5, null, true]}]}},"
    "{\"apiVersion\": \"v1\", \"kind\": \"PersistentVolumeClaim\", \"metadata\": {\"name\": "
    "\"data\", \"namespace\": \"default\"}, \"status\": {\"phase\": \"Bound\"}}]}";

void
take_json_path(const char *text, gsize length)
{
    json_auto_t *objects = json_loads(objects_text, 0, NULL);
    g_autoptr(JsonPath) path = json_path_parse(text, NULL),
                        relaxed = json_path_parse_relaxed(text, NULL);
    g_autoptr(GString) out = g_string_new(NULL);

    (void)length;
    if (path != NULL) {
        json_path_print(path, objects, out, NULL);
        json_path_print_json(path, objects, out, NULL);
    }
    if (relaxed != NULL) {
        g_autoptr(GPtrArray) found = json_path_find(relaxed, objects, NULL);
    }
}

void
take_selector(const char *text, gsize length)
{
    json_auto_t *objects = json_loads(objects_text, 0, NULL);
    json_t *pod = json_array_get(json_object_get(objects, "items"), 0);
    json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
    g_autofree char *fault = NULL;
    gboolean matches;

    (void)length;
    if (label_selector_text_matches(text, labels, &matches, &fault) != (fault == NULL))
        fuzz_fail("a selector with a fault is none without");
    field_selector_text_matches(text, pod);
    if (labels_text_fault(text) == NULL)
        labels_match(text, NULL);
}

void
take_kubectl(const char *text, gsize length)
{
    const char *rest = memchr(text, '\n', length);
    gsize n = rest != NULL ? (gsize)(rest - text) : length;
    g_autofree char *line = g_strndup(text, n);
    json_auto_t *list = rest == NULL ? NULL : json_loadb(rest, length - n, JSON_ALLOW_NUL, NULL);
    g_auto(GStrv) words = NULL;

    if (list == NULL)
        list = json_loads(objects_text, 0, NULL);
    if (!g_shell_parse_argv(line, NULL, &words, NULL))
        return;
    g_autoptr(KubectlCluster) cluster = kubectl_cluster_new(list);
    g_autoptr(GString) out = g_string_new(NULL), errors = g_string_new(NULL);
    const KubectlRequest request = {
        .cluster = cluster, .now = 1800000000, .out = out, .errors = errors};

    kubectl_run(&request, words);
}

/* ---- Patches ---- */

static json_t *
apply(const json_t *live, const json_t *body, const SchemaType *type, gboolean force)
{
    const FieldWriter writer = {
        .manager = "fuzz", .time = "2026-01-01T00:00:00Z", .has_status = TRUE};
    g_autoptr(GPtrArray) conflicts = NULL;

    return managed_fields_apply(live, body, type, &writer, force, &conflicts, NULL);
}

static void
check_patched(const json_t *live, json_t *patched, const SchemaType *type)
{
    const FieldWriter writer = {
        .manager = "fuzz", .time = "2026-01-01T00:00:00Z", .has_status = TRUE};
    const char *version = json_string_value(json_object_get(patched, "apiVersion"));

    /* a request without apiVersion gets no further than its decoder */
    if (version != NULL && *version != '\0') {
        g_free(strict_type_error(type, patched));
        strict_prune(type, 0, patched);
        json_auto_t *stored = managed_fields_update(live, patched, type, &writer);
        g_autoptr(GPtrArray) managers =
            managers_read(json_object_get(json_object_get(stored, "metadata"), "managedFields"));
        if (managers == NULL)
            fuzz_fail("the managers are faulty");
    }
    json_decref(patched);
}

void
take_patch(const char *text, gsize length)
{
    const char *second = memchr(text, '\n', length);
    gsize n = second != NULL ? (gsize)(second - text) : length;
    json_auto_t *live = json_loadb(text, n, JSON_ALLOW_NUL, NULL);
    json_auto_t *body = json_loadb(text + n, length - n, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);

    if (!json_is_object(live) || body == NULL)
        return;
    const SchemaType *type = schema_find(json_string_value(json_object_get(live, "apiVersion")),
                                         json_string_value(json_object_get(live, "kind")));
    json_auto_t *before = json_deep_copy(live);
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);

    strict_fields(type, 0, text + n, length - n, faults);
    json_decref(apply(live, body, type, TRUE));
    json_decref(apply(live, body, type, FALSE));
    check_patched(live, json_patch_apply(live, body, NULL), type);
    check_patched(live, merge_patch_apply(live, body, NULL), type);
    check_patched(live, strategic_merge_apply(live, body, type, NULL), type);
    if (!json_equal(live, before))
        fuzz_fail("the stored object changed");
}

/* ---- The stepper ---- */

#define CALLS_MAX 200 /* of is_interrupted(): a line may ask for years */

static gboolean
is_enough(void *data)
{
    return ++*(unsigned *)data > CALLS_MAX;
}

void
take_step(const char *text, gsize length)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"),
                                     .keeps_document = TRUE};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) scenario = scenario_load("base.yaml", &options, &faults);
    g_auto(GStrv) lines = g_strsplit(text, "\n", 20);
    g_autoptr(GString) out = g_string_new(NULL), errors = g_string_new(NULL);
    unsigned n_calls = 0;

    (void)length;
    if (scenario == NULL)
        fuzz_fail("base.yaml has a fault");
    Run *run = run_new(scenario, &(RunOptions){.seed = 1}, NULL);
    Stepper *stepper = stepper_new(&(StepperOptions){.run = run,
                                                     .file = "base.yaml",
                                                     .options = options,
                                                     .is_interrupted = is_enough,
                                                     .data = &n_calls});
    for (char **line = lines; *line != NULL; line++)
        if (stepper_command(stepper, *line, out, errors) == STEPPER_QUIT)
            break;
    g_strfreev(stepper_complete(stepper, text, 0, (unsigned)strlen(text)));
    run_free(run); /* first: it borrows the actions of the stepper */
    stepper_free(stepper);
}

/* ---- Files that depend on others ---- */

static int
stop(void *data)
{
    return ++*(unsigned *)data > 100;
}

void
take_sql(const char *text, gsize length)
{
    g_autofree char *good = NULL;
    gsize n;
    unsigned n_steps = 0;
    sqlite3 *db = NULL;

    (void)length;
    if (!g_file_get_contents("db.sqlite", &good, &n, NULL))
        fuzz_fail("there is no db.sqlite");
    fuzz_write("input.sqlite", good, n);
    if (sqlite3_open("input.sqlite", &db) != SQLITE_OK)
        fuzz_fail("no database");
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0); /* no other file */
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
    sqlite3_progress_handler(db, 10000, stop, &n_steps);
    sqlite3_exec(db, text, NULL, NULL, NULL);
    sqlite3_close(db);
}

void
put_hash(const char *text, gsize length)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) scenario = scenario_load("base.yaml", &options, &faults);
    const char *at = g_strstr_len(text, (gssize)length, "HASH");
    g_autoptr(GString) journal = g_string_new_len(text, (gssize)length);

    if (at != NULL) {
        g_string_erase(journal, at - text, 4);
        g_string_insert(journal, at - text, scenario->hash);
    }
    fuzz_write("input.jsonl", journal->str, journal->len);
}

void
put_ledger(const char *text, gsize length)
{
    g_autofree char *here = g_get_current_dir();
    g_autofree char *folder = g_build_filename(here, "state", NULL);
    g_autoptr(LoopLedger) ledger = loop_ledger_open(folder, NULL);

    if (ledger == NULL)
        fuzz_fail("no state folder");
    fuzz_write("state/ledger", text, length);
}

void
seal_results(const char *text, gsize length)
{
    const char *const names[] = {"objects.csv"};
    json_auto_t *index = json_load_file("run/summary.json", 0, NULL);

    (void)text, (void)length;
    if (!result_folder_seal(index, "run", names, 1, NULL) ||
        json_dump_file(index, "run/summary.json", JSON_REAL_PRECISION(15)) != 0)
        fuzz_fail("the results cannot be sealed");
}
