/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --set path=value: "spec.nodes[0].count=10" in the scenario, "StatefulSet/web.spec.replicas=5" in
 * a manifest. Values are YAML. The document is changed before it is read, so a --set has the same
 * checks as the file, and a fault of its value names the option as its file. Values that aliases
 * share are copied along the path, so that only one place changes. */
#include <string.h>

#include "scenario-private.h"
#include "sim/strings.h"

typedef struct {
    Loader *loader;
    const char *text; /* "path=value" */
    YamlPosition at;
} ScenarioSet;

static void set_fault(const ScenarioSet *self, const char *path, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
static void
set_fault(const ScenarioSet *self, const char *path, const char *format, ...)
{
    FORMATTED(message, format);
    file_faults_add(self->loader->faults, &self->at, path, message,
                    "as in --set spec.nodes[0].count=10");
}

/* Returns: (owned): NULL after a fault; its positions are "--set" */
static json_t *
set_value(ScenarioSet *self, const char *text)
{
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);

    if (!yaml_read_words(self->loader->positions, self->at.file, text, strlen(text),
                         self->loader->faults, documents))
        return NULL;
    if (documents->len > 1) {
        set_fault(self, "", "the value must be one YAML value");
        return NULL;
    }
    return documents->len == 0 ? json_null() : json_incref(documents->pdata[0]);
}

/* A step of the path: a key or an index. */
typedef struct {
    char *key; /* (owned): NULL: an index */
    gsize index;
} SetStep;

static void
step_clear(void *data)
{
    g_free(((SetStep *)data)->key);
}

/* "spec.nodes[0].count", or "metadata.annotations[volume.kubernetes.io/x]": brackets also take keys
 * with dots. Returns: (owned): of Step; NULL if it is no path */
static GArray *
path_steps(const char *path, const char *end)
{
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(SetStep));

    g_array_set_clear_func(steps, step_clear);
    while (path < end) {
        SetStep step = {0};
        const char *stop = path;
        if (*path == '[') {
            while (stop < end && *stop != ']')
                stop++;
            if (stop == end)
                return NULL;
            g_autofree char *inside = g_strndup(path + 1, (gsize)(stop - path - 1));
            guint64 index;
            if (g_ascii_string_to_unsigned(inside, 10, 0, G_MAXUINT, &index, NULL))
                step.index = (gsize)index;
            else
                step.key = g_steal_pointer(&inside);
            stop++;
        } else {
            if (steps->len > 0 && *path != '.') /* "nodes[0]count" */
                return NULL;
            path += *path == '.';
            stop = path;
            while (stop < end && *stop != '.' && *stop != '[')
                stop++;
            step.key = g_strndup(path, (gsize)(stop - path));
            if (stop == path) {
                g_free(step.key);
                return NULL;
            }
        }
        g_array_append_val(steps, step);
        path = stop;
    } /* cppcheck-suppress memleak; the array has the key */
    return steps->len > 0 ? g_steal_pointer(&steps) : NULL;
}

/* The value at a step, copied if others share it. Returns: (borrowed): NULL: there is none */
static json_t *
own_child(ScenarioSet *self, json_t *parent, const SetStep *step)
{
    json_t *child = step->key != NULL ? json_object_get(parent, step->key)
                                      : json_array_get(parent, step->index);

    if (child == NULL || json_is_null(child)) {
        if (step->key == NULL || !json_is_object(parent))
            return NULL;
        child = json_object(); /* adds a missing mapping, such as spec.kubernetes for
                                  "spec.kubernetes.version=1.32" */
        json_object_set_new(parent, step->key, child);
        yaml_positions_copy(self->loader->positions, parent, child);
        return child;
    }
    if (!json_is_object(child) && !json_is_array(child))
        return NULL;
    json_t *copy = json_copy(child);
    yaml_positions_copy(self->loader->positions, child, copy);
    if (step->key != NULL)
        json_object_set_new(parent, step->key, copy);
    else
        json_array_set_new(parent, step->index, copy);
    return copy;
}

static gboolean
set_child(ScenarioSet *self, json_t *parent, const SetStep *step, json_t *value)
{
    gsize size = json_array_size(parent);

    if (step->key != NULL && json_is_object(parent)) {
        json_object_set(parent, step->key, value);
        yaml_positions_place(self->loader->positions, parent, step->key, 0, value, &self->at);
        return TRUE;
    }
    if (step->key != NULL || !json_is_array(parent) || step->index > size)
        return FALSE;
    if (step->index == size) /* appends an item */
        json_array_append(parent, value);
    else
        json_array_set(parent, step->index, value);
    yaml_positions_place(self->loader->positions, parent, NULL, step->index, value, &self->at);
    return TRUE;
}

static void
apply(ScenarioSet *self, json_t *root, const char *path, const char *equals)
{
    g_autoptr(GArray) steps = path_steps(path, equals);
    g_autofree char *whole = g_strndup(path, (gsize)(equals - path));
    json_t *at = root;

    if (steps == NULL) {
        set_fault(self, whole, "is no path");
        return;
    }
    json_t *value = set_value(self, equals + 1);
    if (value == NULL)
        return;
    for (unsigned i = 0; i + 1 < steps->len && at != NULL; i++)
        at = own_child(self, at, &g_array_index(steps, SetStep, i));
    if (at == NULL || !set_child(self, at, &g_array_index(steps, SetStep, steps->len - 1), value))
        set_fault(self, whole, "there is no such place in the file");
    json_decref(value);
}

/* Whether the path is of an object ("StatefulSet/web.spec.replicas"), not of the scenario
 * ("spec.seed"). */
static gboolean
is_of_object(const char *text, const char *equals)
{
    gsize length = strcspn(text, "/.[");
    return text + length < equals && text[length] == '/';
}

static gboolean
set_begin(Loader *loader, unsigned i, ScenarioSet *set, const char **equals)
{
    const char *text = loader->options->set[i];
    g_autofree char *file = g_strdup_printf("--set %s", text);

    *set = (ScenarioSet){
        .loader = loader, .text = text, .at = {schema_intern(&loader->reader, file), 0, 0}
    };
    *equals = strchr(text, '=');
    return *equals != NULL;
}

void
loader_apply_sets(Loader *self, GPtrArray *documents)
{
    for (unsigned i = 0; self->options->set != NULL && self->options->set[i] != NULL; i++) {
        ScenarioSet set;
        const char *equals;
        json_t *scenario = NULL;

        loader_hash(self, self->options->set[i], strlen(self->options->set[i]) + 1);
        if (!set_begin(self, i, &set, &equals)) {
            set_fault(&set, "", "there is no \"=\"");
            continue;
        }
        for (unsigned k = 0; k < documents->len; k++)
            if (loader_is_scenario(documents->pdata[k]))
                scenario = documents->pdata[k];
        if (!is_of_object(set.text, equals) && scenario != NULL)
            apply(&set, scenario, set.text, equals);
    }
}

void
loader_apply_object_sets(Loader *self)
{
    for (unsigned i = 0; self->options->set != NULL && self->options->set[i] != NULL; i++) {
        ScenarioSet set;
        const char *equals;
        unsigned n_found = 0;

        if (!set_begin(self, i, &set, &equals) || !is_of_object(set.text, equals))
            continue;
        for (unsigned k = 0; k < self->manifests->len; k++) {
            const ManifestInfo *info = &g_array_index(self->manifests, ManifestInfo, k);
            gsize length = strlen(info->path);
            if (strncmp(set.text, info->path, length) != 0 || set.text[length] != '.')
                continue;
            apply(&set, (json_t *)info->json, set.text + length, equals);
            n_found++;
        }
        g_autofree char *name = g_strndup(set.text, (gsize)(equals - set.text));
        if (n_found == 0)
            set_fault(&set, name, "there is no such object in the manifests");
    }
}
