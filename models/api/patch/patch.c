/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/api/schema/strict-fields.h"
#include "patch-private.h"

G_DEFINE_QUARK(kvolsim_patch_error, patch_error)

gboolean
patch_refuse(GError **error)
{
    g_set_error(error, PATCH_ERROR, PATCH_INVALID,
                "the server rejected our request due to an error in our request");
    return FALSE;
}

void
patch_wrong_type(GError **error, const char *place, const json_t *value, const char *wanted)
{
    g_set_error(error, PATCH_ERROR, PATCH_BAD_REQUEST,
                "%sjson: cannot unmarshal %s into Go value of type %s", place,
                strict_json_word(value), wanted);
}

void
patch_drop_nulls(json_t *value)
{
    const char *key;
    json_t *member;
    void *next;
    gsize i;

    json_object_foreach_safe(value, next, key, member)
    {
        if (json_is_null(member))
            json_object_del(value, key);
        else
            patch_drop_nulls(member);
    }
    json_array_foreach(value, i, member) {
        patch_drop_nulls(member);
    }
}

json_t *
merge_patch_apply(const json_t *object, const json_t *patch, GError **error)
{
    if (!json_is_object(patch)) {
        patch_wrong_type(error, "error decoding patch: ", patch, "map[string]interface {}");
        return NULL;
    }
    json_t *changed = json_deep_copy(object);
    json_merge_patch(changed, patch);
    return changed;
}

json_t *
merge_patch_make(const json_t *before, const json_t *after)
{
    json_t *patch = json_object(), *value, *old;
    const char *key;

    json_object_foreach((json_t *)after, key, value) {
        old = json_object_get(before, key);
        if (old != NULL && json_equal(old, value))
            continue;
        if (json_is_object(old) && json_is_object(value))
            json_object_set_new(patch, key, merge_patch_make(old, value));
        else
            json_object_set(patch, key, value);
    }
    json_object_foreach((json_t *)before, key, value) {
        if (json_object_get(after, key) == NULL)
            json_object_set_new(patch, key, json_null());
    }
    return patch;
}
