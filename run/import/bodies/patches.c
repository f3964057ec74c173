/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "patches.h"
#include "models/api/fields.h"

#include <glib.h>

json_t *
patch_merged(const json_t *patch, const json_t *now)
{
    json_t *merged, *value;
    const char *key;

    if (!json_is_object(patch) || !json_is_object(now))
        return now == NULL ? json_null() : json_deep_copy(now);
    merged = json_object();
    json_object_foreach((json_t *)patch, key, value) {
        if (*key != '$') /* directives of strategic merge patches */
            json_object_set_new(merged, key, patch_merged(value, json_object_get(now, key)));
    }
    return merged;
}

/* Of a JSON patch: what the object has now at a path, up to the first index of a list. */
static void
add_path(json_t *merged, const char *path, const json_t *now)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    json_t *place = merged;

    for (unsigned i = 1; parts[0] != NULL && parts[i] != NULL; i++) {
        g_auto(GStrv) pieces = g_strsplit(parts[i], "~1", -1);
        g_autofree char *slash = g_strjoinv("/", pieces);
        const json_t *next = json_object_get(now, slash);
        if (parts[i + 1] == NULL || !json_is_object(next)) {
            json_object_set_new(place, slash, next == NULL ? json_null() : json_deep_copy(next));
            return;
        }
        if (json_object_get(place, slash) == NULL)
            json_object_set_new(place, slash, json_object());
        place = json_object_get(place, slash);
        now = next;
    }
}

json_t *
patch_of_operations(const json_t *operations, const json_t *now)
{
    json_t *merged = json_object(), *operation;
    gsize i;

    json_array_foreach((json_t *)operations, i, operation) {
        const char *path = json_path_string(operation, "path");
        const char *from = json_path_string(operation, "from");
        if (path != NULL)
            add_path(merged, path, now);
        if (from != NULL)
            add_path(merged, from, now);
    }
    return merged;
}

void
patch_add_removed(json_t *patch, const json_t *before, const json_t *now)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)before, key, value) {
        if (json_object_get(now, key) == NULL)
            json_object_set_new(patch, key, json_null());
    }
}

json_t *
patch_difference(const json_t *before, const json_t *after)
{
    json_t *patch, *value;
    const char *key;

    if (json_equal(before, after))
        return NULL;
    if (!json_is_object(before) || !json_is_object(after))
        return after == NULL ? json_null() : json_deep_copy(after);
    patch = json_object();
    json_object_foreach((json_t *)after, key, value) {
        json_t *changed = patch_difference(json_object_get(before, key), value);
        if (changed != NULL)
            json_object_set_new(patch, key, changed);
    }
    json_object_foreach((json_t *)before, key, value) {
        if (json_object_get(after, key) == NULL)
            json_object_set_new(patch, key, json_null());
    }
    return patch;
}
