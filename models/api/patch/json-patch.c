/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RFC 6902 with the liberties of the library that the API server uses (evanphx/json-patch v4.12.0,
 * patch.go): negative indexes count from the end of a list, replace adds a member that is not
 * there, test finds null where nothing is. */
#include <string.h>

#include "models/api/fields.h"
#include "patch-private.h"

/* AccumulatedCopySizeLimit: the API server sets it to the longest body, 3 MiB (k8s.io/apiserver's
 * server/config.go). */
#define COPIED_BYTES_MAX (3u << 20)

/* The container of the value at a pointer, and the last part of the pointer. */
typedef struct {
    json_t *container; /* (borrowed) */
    char *key;         /* (owned) */
    unsigned depth;    /* of the value: how many containers are around it */
} JsonPatchPlace;

static void
place_clear(JsonPatchPlace *self)
{
    g_free(self->key);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(JsonPatchPlace, place_clear)

/* Undoes the escapes of a part of a pointer: "~1" is "/", "~0" is "~". */
static char *
unescape(const char *part)
{
    GString *text = g_string_new(NULL);

    for (const char *p = part; *p != '\0'; p++) {
        if (p[0] == '~' && (p[1] == '0' || p[1] == '1'))
            g_string_append_c(text, *++p == '1' ? '/' : '~');
        else
            g_string_append_c(text, *p);
    }
    return g_string_free(text, FALSE);
}

/* Reads an index of a list of @size items that may have one more: @more. */
static gboolean
list_index(const char *key, gsize size, gboolean more, gsize *index)
{
    gint64 number;
    gint64 places = (gint64)size + (more ? 1 : 0);

    if (more && strcmp(key, "-") == 0) {
        *index = size;
        return TRUE;
    }
    if (places == 0 || !g_ascii_string_to_signed(key, 10, -places, places - 1, &number, NULL))
        return FALSE;
    *index = (gsize)(number < 0 ? number + places : number);
    return TRUE;
}

/* Returns: (borrowed): the member or item @key; NULL: there is none */
static json_t *
member_at(const json_t *container, const char *key)
{
    gsize index;

    if (json_is_object(container))
        return json_object_get(container, key);
    return list_index(key, json_array_size(container), FALSE, &index)
               ? json_array_get(container, index)
               : NULL;
}

/* Returns: FALSE if @pointer leads through something that is not there. */
static gboolean
place_find(json_t *document, const char *pointer, JsonPatchPlace *place)
{
    g_auto(GStrv) parts = g_strsplit(pointer, "/", -1);
    guint n = g_strv_length(parts);

    if (n < 2 || n > JSON_PATCH_DEPTH_MAX)
        return FALSE;
    place->depth = n - 1;
    place->container = document;
    for (guint i = 1; i + 1 < n; i++) {
        g_autofree char *key = unescape(parts[i]);

        place->container = member_at(place->container, key);
    }
    place->key = unescape(parts[n - 1]);
    return json_is_object(place->container) || json_is_array(place->container);
}

/* Whether objects and lists of @value are in each other at most @depth deep. */
static gboolean
is_within(const json_t *value, unsigned depth)
{
    const char *key;
    json_t *member;
    gsize i;

    if (depth == 0 && (json_is_object(value) || json_is_array(value)))
        return FALSE;
    json_object_foreach((json_t *)value, key, member)
        if (!is_within(member, depth - 1))
            return FALSE;
    json_array_foreach((json_t *)value, i, member)
        if (!is_within(member, depth - 1))
            return FALSE;
    return TRUE;
}

/* @is_new: a list gets one item more. */
static gboolean
place_set(const JsonPatchPlace *place, json_t *value, gboolean is_new)
{
    gsize index;

    if (!is_within(value, JSON_PATCH_DEPTH_MAX - place->depth))
        return FALSE;
    if (json_is_object(place->container))
        return json_object_set(place->container, place->key, value) == 0;
    return list_index(place->key, json_array_size(place->container), is_new, &index) &&
           (is_new ? json_array_insert(place->container, index, value)
                   : json_array_set(place->container, index, value)) == 0;
}

static gboolean
place_remove(const JsonPatchPlace *place)
{
    gsize index;

    if (json_is_object(place->container))
        return json_object_del(place->container, place->key) == 0;
    return list_index(place->key, json_array_size(place->container), FALSE, &index) &&
           json_array_remove(place->container, index) == 0;
}

/* Replaces the whole document, which stays the same json_t. */
static gboolean
replace_document(json_t *document, const json_t *value)
{
    json_t *copy;

    if (!json_is_object(value))
        return FALSE;
    copy = json_deep_copy(value);
    json_object_clear(document);
    json_object_update(document, copy);
    json_decref(copy);
    return TRUE;
}

static gboolean
values_equal(const json_t *found, const json_t *value)
{
    if (found == NULL || json_is_null(found))
        return value == NULL || json_is_null(value);
    return value != NULL && json_equal(found, value);
}

/* Counts what copies add. Returns: FALSE if that is too much */
static gboolean
count_copy(const json_t *value, gsize *copied_bytes)
{
    *copied_bytes += json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
    return *copied_bytes <= COPIED_BYTES_MAX;
}

/* Copies the value at @from to @to. @copied_bytes: NULL: moves it. */
static gboolean
take_over(json_t *document, const char *from, const char *to, gsize *copied_bytes)
{
    g_auto(JsonPatchPlace) source = {0}, target = {0};

    if (from == NULL || !place_find(document, from, &source))
        return FALSE;
    json_t *value = json_deep_copy(member_at(source.container, source.key));
    gboolean done =
        (value != NULL || json_is_object(source.container)) &&
        (copied_bytes != NULL ? count_copy(value, copied_bytes) : place_remove(&source));
    if (value == NULL)
        value = json_null();
    done = done && place_find(document, to, &target) && place_set(&target, value, TRUE);
    json_decref(value);
    return done;
}

static gboolean
json_patch_carry_out(json_t *document, const json_t *operation, gsize *copied_bytes)
{
    const char *kind = json_path_string(operation, "op");
    const char *path = json_path_string(operation, "path");
    json_t *value = json_object_get(operation, "value");
    g_auto(JsonPatchPlace) place = {0};

    if (kind == NULL || path == NULL)
        return FALSE;
    if (strcmp(kind, "move") == 0 || strcmp(kind, "copy") == 0)
        return take_over(document, json_path_string(operation, "from"), path,
                         *kind == 'c' ? copied_bytes : NULL);
    if (*path == '\0' && strcmp(kind, "replace") == 0)
        return replace_document(document, value);
    if (*path == '\0' && strcmp(kind, "test") == 0)
        return values_equal(document, value);
    if (!place_find(document, path, &place))
        return FALSE;
    if (strcmp(kind, "remove") == 0)
        return place_remove(&place);
    if (strcmp(kind, "test") == 0)
        return values_equal(member_at(place.container, place.key), value);

    /* Values stay apart from the patch: a later operation may change them. */
    gboolean done = FALSE;
    value = value != NULL ? json_deep_copy(value) : json_null();
    if (strcmp(kind, "add") == 0)
        done = place_set(&place, value, TRUE);
    else if (strcmp(kind, "replace") == 0)
        done = place_set(&place, value, FALSE);
    json_decref(value);
    return done;
}

json_t *
json_patch_apply(const json_t *object, const json_t *operations, GError **error)
{
    json_t *operation;
    gsize i, copied_bytes = 0;

    if (!json_is_array(operations)) {
        patch_wrong_type(error, "error decoding patch: ", operations, "[]handlers.jsonPatchOp");
        return NULL;
    }
    if (json_array_size(operations) > JSON_PATCH_OPERATIONS_MAX) {
        g_set_error(error, PATCH_ERROR, PATCH_TOO_LARGE,
                    "The allowed maximum operations in a JSON patch is %d, got %zu",
                    JSON_PATCH_OPERATIONS_MAX, json_array_size(operations));
        return NULL;
    }
    json_t *changed = json_deep_copy(object);
    json_array_foreach((json_t *)operations, i, operation) {
        if (!json_is_object(operation))
            patch_wrong_type(error, "error decoding patch: ", operation, "handlers.jsonPatchOp");
        else if (json_patch_carry_out(changed, operation, &copied_bytes))
            continue;
        else
            patch_refuse(error);
        json_decref(changed);
        return NULL;
    }
    patch_drop_nulls(changed);
    return changed;
}
