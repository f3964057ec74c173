/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/lib/spoil.h"

/* All values below @value that stand in an object or a list, with their owners. */
typedef struct {
    json_t *owner;
    const char *name; /* of a member; NULL: an item */
    size_t index;
} SpoilPlace;

static void
find_places(json_t *value, GArray *places)
{
    const char *name;
    json_t *item;
    size_t i;

    json_object_foreach(value, name, item) {
        g_array_append_val(places, ((SpoilPlace){value, name, 0}));
        find_places(item, places);
    }
    json_array_foreach(value, i, item) {
        g_array_append_val(places, ((SpoilPlace){value, NULL, i}));
        find_places(item, places);
    }
}

json_t *
spoil_json(const json_t *json, GRand *random)
{
    g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(SpoilPlace));
    json_t *copy = json_deep_copy(json);
    json_t *others[] = {json_null(),   json_string(""), json_string("?"), json_integer(-1),
                        json_object(), json_array(),    json_true()};
    unsigned which = (unsigned)g_rand_int_range(random, 0, 2 * G_N_ELEMENTS(others));

    find_places(copy, places);
    if (places->len > 0) {
        const SpoilPlace *place = &g_array_index(
            places, SpoilPlace, (guint)g_rand_int_range(random, 0, (gint32)places->len));
        if (which >= G_N_ELEMENTS(others) && place->name != NULL)
            json_object_del(place->owner, place->name);
        else if (which >= G_N_ELEMENTS(others))
            json_array_remove(place->owner, place->index);
        else if (place->name != NULL)
            json_object_set(place->owner, place->name, others[which]);
        else
            json_array_set(place->owner, place->index, others[which]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(others); i++)
        json_decref(others[i]);
    return copy;
}

void
spoil_text(GString *text, GRand *random)
{
    static const char *const words[] = {"{",  "}",   "[",    "]",       "\"",      ":",
                                        ",",  "\\",  "\n",   "\xff",    "1e999",   "-0",
                                        "\t", "- ",  "null", "\\u0000", "\\ud800", "&a [*a]",
                                        "#",  "---", "+Inf", "NaN",     "%d%s",    "\xc3\x28"};
    gsize n = text->len;

    if (n == 0)
        return;
    gsize at = (gsize)g_rand_int_range(random, 0, (gint32)MIN(n, G_MAXINT32));
    gsize some = (gsize)g_rand_int_range(random, 1, 64);
    some = MIN(some, n - at);
    switch (g_rand_int_range(random, 0, 6)) {
    case 0:
        text->str[at] = (char)g_rand_int_range(random, 0, 256);
        break;
    case 1:
        g_string_erase(text, (gssize)at, (gssize)some);
        break;
    case 2: {
        g_autofree char *again = g_strndup(text->str + at, some);
        g_string_insert_len(text, (gssize)at, again, (gssize)some);
        break;
    }
    case 3:
        g_string_truncate(text, at);
        break;
    default:
        g_string_insert(text, (gssize)at, words[g_rand_int_range(random, 0, G_N_ELEMENTS(words))]);
    }
}

void
spoil_append_pointer(GString *pointer, const json_t *value, GRand *random)
{
    static const char *const names[] = {"-", "0", "-1", "new", "~1", ""};

    while (g_rand_int_range(random, 0, 5) > 0) {
        gint32 n = (gint32)(json_object_size(value) + json_array_size(value));

        if (n == 0 || g_rand_int_range(random, 0, 12) == 0) {
            g_string_append_printf(pointer, "/%s",
                                   names[g_rand_int_range(random, 0, G_N_ELEMENTS(names))]);
            return;
        }
        gint32 place = g_rand_int_range(random, 0, n);
        if (json_is_array(value)) {
            g_string_append_printf(pointer, "/%d", place);
            value = json_array_get(value, (gsize)place);
            continue;
        }
        void *member = json_object_iter((json_t *)value);
        while (place-- > 0)
            member = json_object_iter_next((json_t *)value, member);
        g_auto(GStrv) parts = g_strsplit(json_object_iter_key(member), "/", -1);
        g_autofree char *key = g_strjoinv("~1", parts);
        g_string_append_printf(pointer, "/%s", key);
        value = json_object_iter_value(member);
    }
}
