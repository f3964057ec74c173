/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/engine.h"

#include "models/api/fields.h"

#include <stdio.h>
#include <stdlib.h>

/* conformance FILE...: runs the cases of each file. A line for each case that fails; the last line
 * counts. conformance --suites: the names of the suites that it can run. conformance --stories
 * FILE...: the ids of the cases that are told in words, each of which is a test of its own. */

static const Suite *const suites[] = {
    &pv_controller_suite,     &pv_matching_suite,          &protection_suite,
    &external_attacher_suite, &storage_capacity_suite,     &provisioner_topology_suite,
    &scheduler_binding_suite, &scheduler_limits_suite,     &scheduler_restrictions_suite,
    &scheduler_zone_suite,    &external_provisioner_suite, &external_resizer_suite,
    &attach_detach_suite,     &kubelet_volumes_suite,      &volume_operations_suite,
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

/* Told in words: such a case is a test of its own, which bears the case's id. Traces of calls, and
 * what is told in words that are always the same, have a suite that can run them. */
static gboolean
is_story(const json_t *json)
{
    const Suite *suite = find_suite(json_path_string(json, "suite"));

    return json_object_get(json, "act") == NULL && json_object_get(json, "given") != NULL &&
           (suite == NULL || case_find_act(suite->acts, json) == NULL);
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

static void
name_story(const json_t *json, Counts *counts)
{
    (void)counts;
    if (is_story(json) && !json_is_false(json_object_get(json, "portable")))
        puts(json_path_string(json, "id"));
}

static gboolean
run_file(const char *path, void (*run)(const json_t *json, Counts *counts), Counts *counts)
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
    json_array_foreach(cases, i, item)
        run(item, counts);
    json_decref(cases);
    return TRUE;
}

static void
print_suites(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(suites); i++)
        puts(suites[i]->name);
}

int
main(int argc, char **argv)
{
    gboolean readable = TRUE, names_stories = argc > 1 && g_str_equal(argv[1], "--stories");
    Counts counts = {0};

    if (argc < 2) {
        fprintf(stderr, "usage: conformance [--stories] FILE...\n       conformance --suites\n");
        return 2;
    }
    if (g_str_equal(argv[1], "--suites")) {
        print_suites();
        return 0;
    }
    for (int i = 1 + names_stories; i < argc; i++)
        readable = run_file(argv[i], names_stories ? name_story : run_one, &counts) && readable;
    if (!names_stories)
        printf("%u passed, %u failed, %u skipped\n", counts.passed, counts.failed, counts.skipped);
    if (!readable)
        return 2;
    return counts.failed == 0 ? 0 : 1;
}
