/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares what import made of a bundle of make-bundle with what happened:
 *
 *   check-bundle actions BUNDLE IMPORTED     each action is in the workload, and no other
 *   check-bundle faults BUNDLE IMPORTED      each outage is found, and no other
 *   check-bundle recorded BUNDLE IMPORTED    the milestones
 *
 * Prints each difference; the status tells whether there was none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/api/field.h"
#include "run/import/import-test.h"
#include "run/import/recorded.h"
#include "run/scenario/scenario.h"

#define ACTION_TOLERANCE (200 * SIM_MS)
#define MILESTONE_TOLERANCE (50 * SIM_MS)
/* A kubelet's death is told by its last request, which may be 10 s before. */
#define FAULT_TOLERANCE (15 * SIM_SECOND)

static const char *
check_bundle_text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The lines of truth.jsonl that have @key. (owned) */
static json_t *
read_truth(const char *folder, const char *key)
{
    g_autofree char *path = g_build_filename(folder, "truth.jsonl", NULL), *text = NULL;
    json_t *all = json_array();

    if (!g_file_get_contents(path, &text, NULL, NULL))
        return all;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        json_t *line = json_loads(lines[i], 0, NULL);
        if (json_object_get(line, key) != NULL)
            json_array_append(all, line);
        json_decref(line);
    }
    return all;
}

static SimTime
check_bundle_time_of(const json_t *truth, SimTime start)
{
    SimTime at = 0;

    api_time_parse(check_bundle_text_of(truth, "at"), &at);
    return at - start;
}

/* ---- Actions ---- */

/* A pod whose name a controller draws is named by a pattern in a workload. */
static gboolean
check_bundle_is_named(const char *told, const char *name)
{
    return told != NULL && g_pattern_match_simple(told, name);
}

static gboolean
is_item(const json_t *item, const json_t *truth, SimTime start)
{
    const char *action = check_bundle_text_of(truth, "action"),
               *name = check_bundle_text_of(truth, "name");
    const json_t *what = json_object_get(item, action);
    double at = g_ascii_strtod(check_bundle_text_of(item, "at"), NULL);
    double since = (double)check_bundle_time_of(truth, start) / (double)SIM_SECOND;

    if (what == NULL && g_str_equal(action, "patch")) /* one request may be told in two ways */
        what = json_object_get(item, "taint");
    if (what == NULL || ABS(at - since) * (double)SIM_SECOND > (double)ACTION_TOLERANCE)
        return FALSE;
    if (check_bundle_text_of(what, "node") != NULL && check_bundle_text_of(what, "name") == NULL)
        return g_strcmp0(check_bundle_text_of(what, "node"), name) == 0;
    if (check_bundle_text_of(what, "volumeOfClaim") != NULL)
        return TRUE;
    if (g_str_equal(action, "create")) {
        const json_t *object = json_object_get(what, "manifest");
        const json_t *metadata = json_object_get(object, "metadata");
        return g_strcmp0(check_bundle_text_of(object, "kind"),
                         check_bundle_text_of(truth, "kind")) == 0 &&
               g_strcmp0(check_bundle_text_of(metadata, "namespace"),
                         check_bundle_text_of(truth, "namespace")) == 0 &&
               g_strcmp0(check_bundle_text_of(metadata, "name"), name) == 0;
    }
    return check_bundle_is_named(check_bundle_text_of(what, "name"), name) &&
           g_strcmp0(check_bundle_text_of(what, "namespace"),
                     check_bundle_text_of(truth, "namespace")) == 0;
}

static gboolean
check_actions(const char *bundle, const char *imported, SimTime start)
{
    g_autofree char *path = g_build_filename(imported, "workload.json", NULL);
    json_t *items = json_load_file(path, 0, NULL), *truths = read_truth(bundle, "action");
    json_t *truth, *item;
    gsize i, k;
    gboolean ok = TRUE;

    json_array_foreach(truths, i, truth) {
        gboolean is_found = FALSE;
        json_array_foreach(items, k, item) {
            if (is_item(item, truth, start)) {
                is_found = TRUE;
                json_array_remove(items, k);
                break;
            }
        }
        int code = (int)json_integer_value(json_object_get(truth, "code"));
        gboolean is_refused = code >= 400 && code != 404 && code != 409 && code != 429;
        if (is_found || is_refused) /* a run refuses for the same reasons only */
            continue;
        printf("missing at %.3f: %s %s %s/%s (%d)\n",
               (double)check_bundle_time_of(truth, start) / (double)SIM_SECOND,
               check_bundle_text_of(truth, "action"), check_bundle_text_of(truth, "kind"),
               check_bundle_text_of(truth, "namespace"), check_bundle_text_of(truth, "name"),
               (int)json_integer_value(json_object_get(truth, "code")));
        ok = FALSE;
    }
    json_array_foreach(items, k, item) {
        g_autofree char *text = json_dumps(item, JSON_COMPACT);
        printf("invented: %.200s\n", text);
        ok = FALSE;
    }
    printf("%zu actions\n", json_array_size(truths));
    json_decref(items);
    json_decref(truths);
    return ok;
}

/* ---- Faults ---- */

static const char *
found_name(const ScenarioAction *action)
{
    return action->instance != NULL && *action->instance != '\0' ? action->instance
                                                                 : action->process;
}

static gboolean
check_faults(const char *bundle, const char *imported, SimTime start)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autofree char *path = g_build_filename(imported, "scenario.yaml", NULL);
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) scenario = scenario_load(path, &options, &faults);
    json_t *truths = read_truth(bundle, "fault"), *truth;
    gboolean ok = scenario != NULL;
    gsize k;

    for (unsigned i = 0; scenario != NULL && i < scenario->n_actions; i++) {
        const ScenarioAction *action = &scenario->actions[i];
        gboolean is_known = action->type != ACTION_FAULT;
        json_array_foreach(truths, k, truth) {
            if (is_known ||
                (g_strcmp0(check_bundle_text_of(truth, "name"), found_name(action)) != 0 &&
                 g_strcmp0(check_bundle_text_of(truth, "name"), action->process) != 0) ||
                ABS(check_bundle_time_of(truth, start) - action->at) > FAULT_TOLERANCE)
                continue;
            is_known = TRUE;
            json_array_remove(truths, k);
            break;
        }
        if (is_known)
            continue;
        printf("invented: fault of %s at %.3f\n", found_name(action),
               (double)action->at / (double)SIM_SECOND);
        ok = FALSE;
    }
    json_array_foreach(truths, k, truth) {
        printf("not found: %s of %s at %.3f\n", check_bundle_text_of(truth, "fault"),
               check_bundle_text_of(truth, "name"),
               (double)check_bundle_time_of(truth, start) / (double)SIM_SECOND);
        ok = FALSE;
    }
    json_decref(truths);
    return ok;
}

/* ---- Milestones ---- */

static const RecordedObject *
check_bundle_find_object(const GPtrArray *objects,
                         const RecordedObject *wanted,
                         unsigned incarnation)
{
    for (unsigned i = 0; i < objects->len; i++) {
        const RecordedObject *object = objects->pdata[i];
        if (object->kind == wanted->kind && g_strcmp0(object->name, wanted->name) == 0 &&
            g_strcmp0(object->namespace, wanted->namespace) == 0 && incarnation-- == 0)
            return object;
    }
    return NULL;
}

static unsigned
incarnation_of(const GPtrArray *objects, unsigned n)
{
    const RecordedObject *wanted = objects->pdata[n];
    unsigned number = 0;

    for (unsigned i = 0; i < n; i++) {
        const RecordedObject *object = objects->pdata[i];
        number += object->kind == wanted->kind && g_strcmp0(object->name, wanted->name) == 0 &&
                  g_strcmp0(object->namespace, wanted->namespace) == 0;
    }
    return number;
}

static unsigned
check_bundle_compare(const RecordedObject *truth, const RecordedObject *told, SimTime shift)
{
    unsigned n_bad = 0;

    for (unsigned i = 0; i < N_RECORDED_TIMES; i++) {
        SimTime a = truth->at[i], b = told == NULL ? TIME_UNSET : told->at[i];
        if ((a == TIME_UNSET) == (b == TIME_UNSET) &&
            (a == TIME_UNSET || ABS(a - b - shift) <= MILESTONE_TOLERANCE))
            continue;
        printf("%s %s/%s %s: %.3f, recorded %.3f\n", recorded_kind_name((RecordedKind)truth->kind),
               truth->namespace != NULL ? truth->namespace : "", truth->name, recorded_time_name(i),
               a == TIME_UNSET ? -1 : (double)(a - shift) / 1e9,
               b == TIME_UNSET ? -1 : (double)b / 1e9);
        n_bad++;
    }
    return n_bad;
}

static gboolean
check_recorded(const char *bundle, const char *imported)
{
    g_autofree char *path = g_build_filename(bundle, "recorded.json", NULL);
    g_autofree char *told_path = g_build_filename(imported, "recorded.json", NULL);
    g_autoptr(Recorded) truth = recorded_read(path, NULL), told = recorded_read(told_path, NULL);
    SimTime begin, start;
    unsigned n_bad = 0;

    if (truth == NULL || told == NULL || !api_time_parse(recorded_start(truth), &begin) ||
        !api_time_parse(recorded_start(told), &start))
        return FALSE;
    const GPtrArray *objects = recorded_objects(truth);
    for (unsigned i = 0; i < objects->len; i++) {
        const RecordedObject *object = objects->pdata[i];
        n_bad += check_bundle_compare(
            object,
            check_bundle_find_object(recorded_objects(told), object, incarnation_of(objects, i)),
            start - begin);
    }
    for (unsigned i = 0; i < recorded_objects(told)->len; i++) {
        const RecordedObject *object = recorded_objects(told)->pdata[i];
        if (check_bundle_find_object(objects, object, incarnation_of(recorded_objects(told), i)) ==
                NULL &&
            printf("%s %s never was\n", recorded_kind_name((RecordedKind)object->kind),
                   object->name))
            n_bad++;
    }
    printf("%u objects, %u milestones differ\n", objects->len, n_bad);
    return n_bad == 0;
}

int
main(int argc, char **argv)
{
    SimTime start;

    if (argc != 4)
        return 2;
    g_autofree char *path = g_build_filename(argv[3], "recorded.json", NULL);
    g_autoptr(Recorded) recorded = recorded_read(path, NULL);
    if (recorded == NULL || !api_time_parse(recorded_start(recorded), &start))
        return 1;
    if (g_str_equal(argv[1], "actions"))
        return !check_actions(argv[2], argv[3], start);
    if (g_str_equal(argv[1], "faults"))
        return !check_faults(argv[2], argv[3], start);
    return !check_recorded(argv[2], argv[3]);
}
