/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/engine.h"

#include "models/api/fields.h"

#include <stdio.h>
#include <stdlib.h>

/* conformance FILE...: runs the cases of each file. A line for each case that fails; the last line counts.
 * conformance --suites: the names of the suites that it can run. */

static const Suite *const suites[] = {
    &pv_controller_suite,
    &pv_matching_suite,
    &protection_suite,
};

typedef struct {
    unsigned passed, failed, skipped;
} Counts;

static const Suite *
find_suite(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(suites); i++)
        if (g_strcmp0(suites[i]->name, name) == 0)
            return suites[i];
    return NULL;
}

/* Told in words: such a case is a test of its own, which bears the case's id. */
static gboolean
is_story(const json_t *json)
{
    return json_object_get(json, "act") == NULL && json_object_get(json, "given") != NULL;
}

static void
run_one(const json_t *json, Counts *counts)
{
    const Suite *suite = find_suite(json_path_string(json, "suite"));
    g_autoptr(GString) faults = g_string_new(NULL);

    if (json_is_false(json_object_get(json, "portable")) || is_story(json)) {
        counts->skipped++;
        return;
    }
    if (suite == NULL) {
        printf("%s: no suite \"%s\"\n", json_path_string(json, "id"),
               json_path_string(json, "suite"));
        counts->failed++;
        return;
    }
    if (case_run(suite->acts, json, faults)) {
        counts->passed++;
        return;
    }
    printf("%s: %s: %s\n", json_path_string(json, "id"), json_path_string(json, "title"),
           faults->str);
    counts->failed++;
}

static gboolean
run_file(const char *path, Counts *counts)
{
    json_error_t error;
    json_t *cases = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    const json_t *item;
    size_t i;

    if (!json_is_array(cases)) {
        fprintf(stderr, "%s:%d:%d: %s\n", path, error.line, error.column,
                cases == NULL ? error.text : "a list of cases is wanted");
        json_decref(cases);
        return FALSE;
    }
    json_array_foreach(cases, i, item) run_one(item, counts);
    json_decref(cases);
    return TRUE;
}

int
main(int argc, char **argv)
{
    Counts counts = {0};
    gboolean readable = TRUE;

    if (argc == 2 && g_str_equal(argv[1], "--suites")) {
        for (unsigned i = 0; i < G_N_ELEMENTS(suites); i++)
            puts(suites[i]->name);
        return 0;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: conformance FILE...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        readable = run_file(argv[i], &counts) && readable;
    printf("%u passed, %u failed, %u skipped\n", counts.passed, counts.failed, counts.skipped);
    if (!readable)
        return 2;
    return counts.failed == 0 ? 0 : 1;
}
