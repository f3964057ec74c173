/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/field.h"
#include "scenario.h"

/* A scenario as one file. */

/* Members that name files; a path is relative to the scenario's folder. */
static gboolean
names_file(const char *key)
{
    return strcmp(key, "profile") == 0 || strcmp(key, "timing") == 0 ||
           strcmp(key, "fromManifest") == 0;
}

/* @folder: absolute. Returns: (owned): the absolute path; NULL: the value is none */
static json_t *
absolute(const char *folder, const char *name)
{
    if (g_path_is_absolute(name) || (strchr(name, '/') == NULL && !g_str_has_suffix(name, ".yaml")))
        return NULL;
    g_autofree char *path = g_canonicalize_filename(name, folder);
    return json_string(path);
}

static void
make_paths_absolute(json_t *value, const char *folder)
{
    const char *key;
    json_t *member;
    void *next;
    gsize i;

    json_array_foreach(value, i, member)
        make_paths_absolute(member, folder);
    json_object_foreach_safe(value, next, key, member)
    {
        json_t *path = json_is_string(member) && names_file(key)
                           ? absolute(folder, json_string_value(member))
                           : NULL;
        if (path != NULL)
            json_object_set_new(value, key, path);
        else
            make_paths_absolute(member, folder);
    }
}

static void
append_value(GString *text, const char *before, const json_t *value)
{
    char *json = json_dumps(value, JSON_ENCODE_ANY);

    g_string_append_printf(text, "%s%s\n", before, json);
    free(json);
}

static gboolean
is_replaced(const char *key)
{
    static const char *const keys[] = {"until",    "idleFor",      "start", "manifests",
                                       "workload", "recordedFrom", "faults"};

    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return TRUE;
    return FALSE;
}

/* Items create the objects themselves, not files with them. */
static void
append_workload(GString *text, const Scenario *self, json_t *items)
{
    json_t *item;
    gsize i;

    if (json_array_size(items) > 0)
        g_string_append(text, "  workload:\n");
    json_array_foreach(items, i, item) {
        const ScenarioAction *action = &self->actions[i];
        json_t *create = json_object_get(item, "create"), *manifests = json_array();

        for (unsigned k = 0; create != NULL && k < action->n_manifests; k++)
            json_array_append(manifests, (json_t *)action->manifests[k]);
        if (create != NULL)
            json_object_set(create, "manifest", manifests);
        json_decref(manifests);
        append_value(text, "  - ", item);
    }
}

char *
scenario_flatten(const Scenario *self, const char *until, const json_t *faults)
{
    GString *text = g_string_new(NULL);
    g_autofree char *given = g_path_get_dirname(self->file);
    g_autofree char *folder = g_canonicalize_filename(given, NULL);
    json_auto_t *document = json_deep_copy(self->document), *all_faults = json_array();
    json_t *spec = json_object_get(document, "spec"), *value;
    char start[API_TIME_BUFFER];
    const char *key;

    make_paths_absolute(spec, folder);
    json_array_extend(all_faults, json_object_get(spec, "faults"));
    json_array_extend(all_faults, (json_t *)faults);
    for (unsigned i = 0; i < self->n_manifests; i++)
        append_value(text, "---\n", self->manifests[i]);
    for (gsize i = 0; i < json_array_size(self->others); i++)
        append_value(text, "---\n", json_array_get(self->others, i));
    g_string_append(text, "---\n");
    json_object_foreach(document, key, value) {
        if (strcmp(key, "spec") != 0) {
            g_autofree char *before = g_strdup_printf("%s: ", key);
            append_value(text, before, value);
        }
    }
    g_string_append_printf(text, "spec:\n  recordedFrom: %u\n  until: %s\n  start: \"%s\"\n",
                           self->recorded_from != UINT_MAX
                               ? self->recorded_from
                               : (unsigned)json_array_size(json_object_get(spec, "workload")),
                           until, api_time_format(self->start, TRUE, start));
    json_object_foreach(spec, key, value) {
        g_autofree char *before = g_strdup_printf("  %s: ", key);
        if (!is_replaced(key))
            append_value(text, before, value);
    }
    append_value(text, "  faults: ", all_faults);
    append_workload(text, self, json_object_get(spec, "workload"));
    return g_string_free(text, FALSE);
}
