/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/compare.h"

#include <stdlib.h>
#include <string.h>

#include "models/api/fields.h"

char *
case_json_text(const json_t *value)
{
    return value == NULL ? g_strdup("nothing")
                         : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
}

void
case_expect_json(Case *self, const char *what, const json_t *expected, const json_t *found)
{
    if (expected == found || json_equal((json_t *)expected, (json_t *)found)) /* only read */
        return;
    char *expected_text = case_json_text(expected), *found_text = case_json_text(found);
    case_fail(self, "%s: expected %s, found %s", what, expected_text, found_text);
    free(expected_text);
    free(found_text);
}

/* Uids that the cases do not tell are ours. */
static void
compare_expect_object(Case *self, const Object *expected, const Object *found)
{
    json_t *wanted = case_comparable(self, expected), *is = case_comparable(self, found);

    if (!object_uid_is_set(expected->uid))
        json_object_del(json_object_get(is, "metadata"), "uid");
    case_expect_json(self, expected->key->text, wanted, is);
    json_decref(wanted);
    json_decref(is);
}

static gboolean
compare_has_key(const GPtrArray *objects, const ObjectKey *key)
{
    for (unsigned i = 0; i < objects->len; i++)
        if (((const Object *)objects->pdata[i])->key == key)
            return TRUE;
    return FALSE;
}

void
case_expect_objects(Case *self, const char *path, ObjectKind kind)
{
    g_autoptr(GPtrArray) expected = case_objects(self, path, kind);

    if (case_get(self, path) == NULL)
        return;
    for (unsigned i = 0; i < expected->len; i++) {
        const Object *wanted = expected->pdata[i];
        const Object *found = api_server_get(self->api, wanted->key);
        if (found == NULL)
            case_fail(self, "%s is not there", wanted->key->text);
        else
            compare_expect_object(self, wanted, found);
    }
    for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kind); slot++) {
        const ObjectKey *key = objects_key_at(self->objects, kind, slot);
        if (api_server_get(self->api, key) != NULL && !compare_has_key(expected, key))
            case_fail(self, "%s should not be there", key->text);
    }
}

static gboolean
compare_list_has(const json_t *list, const json_t *wanted)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        if (json_equal((json_t *)item, (json_t *)wanted))
            return TRUE;
    return FALSE;
}

void
case_expect_events(Case *self, const char *path, gboolean in_order)
{
    const json_t *expected = case_get(self, path), *item;
    gboolean same = TRUE;
    size_t i;

    if (expected == NULL)
        return;
    if (in_order) {
        case_expect_json(self, "events", expected, self->events);
        return;
    }
    json_array_foreach(expected, i, item)
        same = same && compare_list_has(self->events, item);
    json_array_foreach(self->events, i, item)
        same = same && compare_list_has(expected, item);
    if (!same)
        case_expect_json(self, "events", expected, self->events);
}

void
case_expect_writes(Case *self, const char *path)
{
    const json_t *expected = case_get(self, path), *item;
    json_t *found = json_array();
    size_t i;

    json_array_foreach(self->writes, i, item) {
        static const char *const compared[] = {"verb", "resource", "subresource", "name"};
        const char *verb = json_path_string(item, "verb");
        json_t *write = json_object();
        for (unsigned k = 0; k < G_N_ELEMENTS(compared); k++)
            if (json_object_get(item, compared[k]) != NULL)
                json_object_set(write, compared[k], json_object_get(item, compared[k]));
        if (strcmp(verb, "get") != 0 && strcmp(verb, "list") != 0)
            json_array_append(found, write);
        json_decref(write);
    }
    if (expected != NULL)
        case_expect_json(self, "writes", expected, found);
    json_decref(found);
}

void
case_expect_error(Case *self, const char *path)
{
    if (case_get(self, path) == NULL || case_flag(self, path) == self->plan_failed)
        return;
    if (self->plan_failed)
        case_fail(self, "the sync failed: %s", self->plan_message);
    else
        case_fail(self, "the sync did not fail");
}
