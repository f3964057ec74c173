/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types of fields: how a value is parsed from JSON, printed, compared, and printed over the
 * document that it came from. Strings are interned, so most comparisons are of addresses. A
 * quantity keeps the manifest's words as long as they mean the same: "1G" stays, and 1.5Gi becomes
 * "1536Mi" only when it was changed. */
#include <string.h>

#include "fields.h"
#include "map-json.h"

static void
string_parse(ApiParser *parser, const json_t *value, void *field)
{
    if (api_parser_expect(parser, value, JSON_STRING))
        *(const char **)field = api_parser_intern(parser, json_string_value(value));
}

/* Usually interned; default values are not. */
static gboolean
string_equal(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;

    return x == y || g_strcmp0(x, y) == 0;
}

static json_t *
string_to_json(const void *field)
{
    return json_string(*(const char *const *)field); /* NULL for NULL */
}

const FieldType field_string = {
    .size = sizeof(const char *),
    .equal = string_equal,
    .parse = string_parse,
    .to_json = string_to_json,
};

static void
word_parse(ApiParser *parser, const json_t *value, void *field)
{
    string_parse(parser, value, field);
    if (json_is_string(value) && json_string_length(value) == 0)
        *(const char **)field = NULL;
}

static gboolean
word_equal(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;

    return x == y || strcmp(x == NULL ? "" : x, y == NULL ? "" : y) == 0;
}

static json_t *
word_to_json(const void *field)
{
    const char *text = *(const char *const *)field;

    return text == NULL || text[0] == '\0' ? NULL : json_string(text);
}

const FieldType field_word = {
    .size = sizeof(const char *),
    .equal = word_equal,
    .parse = word_parse,
    .to_json = word_to_json,
};

const FieldType field_text = {
    .size = sizeof(const char *),
    FIELD_INITIAL(const char *, ""),
    .equal = word_equal,
    .parse = string_parse,
    .to_json = word_to_json,
};

const FieldType field_full_text = {
    .size = sizeof(const char *),
    FIELD_INITIAL(const char *, ""),
    .equal = string_equal,
    .parse = string_parse,
    .to_json = string_to_json,
};

static void
bool_parse(ApiParser *parser, const json_t *value, void *field)
{
    if (json_is_boolean(value))
        *(gboolean *)field = json_is_true(value);
    else
        api_parser_invalid(parser, value, "write true or false, without quotes",
                           "must be a boolean");
}

static gboolean
bool_equal(const void *a, const void *b)
{
    return !*(const gboolean *)a == !*(const gboolean *)b;
}

static json_t *
bool_to_json(const void *field)
{
    return json_boolean(*(const gboolean *)field);
}

const FieldType field_bool = {
    .size = sizeof(gboolean),
    .equal = bool_equal,
    .parse = bool_parse,
    .to_json = bool_to_json,
};

static json_t *
flag_to_json(const void *field)
{
    return *(const gboolean *)field ? json_true() : NULL;
}

const FieldType field_flag = {
    .size = sizeof(gboolean),
    .equal = bool_equal,
    .parse = bool_parse,
    .to_json = flag_to_json,
};

static void
field_int_parse(ApiParser *parser, const json_t *value, void *field)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value))
        api_parser_invalid(parser, value, json_is_string(value) ? "write it without quotes" : NULL,
                           "must be an integer");
    else if (number < INT32_MIN || number > INT32_MAX)
        api_parser_invalid(parser, value, NULL, "must fit 32 bits");
    else
        *(int32_t *)field = (int32_t)number;
}

static json_t *
field_int_to_json(const void *field)
{
    return json_integer(*(const int32_t *)field);
}

const FieldType field_int = {
    .size = sizeof(int32_t),
    .parse = field_int_parse,
    .to_json = field_int_to_json,
};

static json_t *
count_to_json(const void *field)
{
    return *(const int32_t *)field == 0 ? NULL : field_int_to_json(field);
}

const FieldType field_count = {
    .size = sizeof(int32_t),
    .parse = field_int_parse,
    .to_json = count_to_json,
};

static json_t *
int_or_unset_to_json(const void *field)
{
    return *(const int32_t *)field < 0 ? NULL : field_int_to_json(field);
}

const FieldType field_int_or_unset = {
    .size = sizeof(int32_t),
    FIELD_INITIAL(int32_t, -1),
    .parse = field_int_parse,
    .to_json = int_or_unset_to_json,
};

static void
int64_parse(ApiParser *parser, const json_t *value, void *field)
{
    if (json_is_integer(value))
        *(int64_t *)field = json_integer_value(value);
    else
        api_parser_invalid(parser, value, NULL, "must be an integer");
}

json_t *
field_int64_to_json(const void *field)
{
    int64_t value = *(const int64_t *)field;

    return value < 0 ? NULL : json_integer(value);
}

const FieldType field_int64 = {
    .size = sizeof(int64_t),
    FIELD_INITIAL(int64_t, -1),
    .parse = int64_parse,
    .to_json = field_int64_to_json,
};

/* Returns: (owned): a quantity's text, which may be a number in JSON; NULL if it can be none */
static char *
quantity_text(const json_t *value)
{
    if (json_is_string(value))
        return g_strdup(json_string_value(value));
    if (!json_is_number(value))
        return NULL;
    /* A double prints 0.1 with 17 digits; the writer meant at most 15. */
    char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    char *text = g_strdup(dumped);
    free(dumped);
    return text;
}

static gboolean
quantity_field_parse(ApiParser *parser, const json_t *value, int64_t *units, int64_t *milli)
{
    g_autofree char *text = quantity_text(value);
    g_autoptr(GError) error = NULL;

    if (text == NULL) {
        api_parser_invalid(parser, value, NULL,
                           "must be a quantity, such as \"10Gi\", \"500m\" or 2");
        return FALSE;
    }
    if (quantity_parse(text, units, milli, &error))
        return TRUE;
    api_parser_invalid(parser, value,
                       "write a number and n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei",
                       error->message);
    return FALSE;
}

gboolean
json_quantity(const json_t *value, int64_t *units, int64_t *milli, char *canonical)
{
    g_autofree char *text = value == NULL ? NULL : quantity_text(value);

    return text != NULL && quantity_parse(text, units, milli, NULL) &&
           quantity_canonical(text, canonical, NULL);
}

gboolean
api_parser_quantity(ApiParser *self, const json_t *value, int64_t *units, char *canonical)
{
    return quantity_field_parse(self, value, units, NULL) &&
           json_quantity(value, units, NULL, canonical);
}

void
api_parser_check_positive(ApiParser *self, const json_t *value, int64_t quantity)
{
    char buffer[QUANTITY_BUFFER];
    int64_t units;

    if (quantity <= 0 && json_quantity(value, &units, NULL, buffer))
        api_parser_invalid(self, value, NULL, "must be greater than zero");
}

static void
quantity_units_parse(ApiParser *parser, const json_t *value, void *field)
{
    int64_t units;

    if (quantity_field_parse(parser, value, &units, NULL))
        *(int64_t *)field = units;
}

static json_t *
quantity_units_to_json(const void *field)
{
    char buffer[QUANTITY_BUFFER];
    int64_t value = *(const int64_t *)field;

    return value < 0 ? NULL : json_string(quantity_format(value, buffer));
}

/* Keeps the manifest's words if they still mean the same: "1G" stays, "1.5Gi" becomes "1536Mi". */
static json_t *
quantity_keep(const json_t *manifest, int64_t wanted, gboolean is_milli)
{
    char buffer[QUANTITY_BUFFER];
    int64_t units, milli;

    return json_quantity(manifest, &units, &milli, buffer) && (is_milli ? milli : units) == wanted
               ? json_string(buffer)
               : NULL;
}

static json_t *
quantity_units_over(const void *field, const json_t *manifest)
{
    json_t *kept = quantity_keep(manifest, *(const int64_t *)field, FALSE);

    return kept != NULL ? kept : quantity_units_to_json(field);
}

const FieldType field_quantity = {
    .size = sizeof(int64_t),
    .parse = quantity_units_parse,
    .to_json = quantity_units_to_json,
    .over = quantity_units_over,
};

static json_t *
size_to_json(const void *field)
{
    return *(const int64_t *)field == 0 ? NULL : quantity_units_to_json(field);
}

static json_t *
size_over(const void *field, const json_t *manifest)
{
    return *(const int64_t *)field == 0 ? NULL : quantity_units_over(field, manifest);
}

const FieldType field_size = {
    .size = sizeof(int64_t),
    .parse = quantity_units_parse,
    .to_json = size_to_json,
    .over = size_over,
};

static void
milli_parse(ApiParser *parser, const json_t *value, void *field)
{
    int64_t units, milli;

    if (quantity_field_parse(parser, value, &units, &milli))
        *(int64_t *)field = milli;
}

static json_t *
milli_to_json(const void *field)
{
    char buffer[QUANTITY_BUFFER];

    return json_string(quantity_format_milli(*(const int64_t *)field, buffer));
}

static json_t *
milli_over(const void *field, const json_t *manifest)
{
    json_t *kept = quantity_keep(manifest, *(const int64_t *)field, TRUE);

    return kept != NULL ? kept : milli_to_json(field);
}

const FieldType field_milli = {
    .size = sizeof(int64_t),
    .parse = milli_parse,
    .to_json = milli_to_json,
    .over = milli_over,
};

static void
time_parse(ApiParser *parser, const json_t *value, void *field)
{
    SimTime time;

    if (!api_parser_expect(parser, value, JSON_STRING))
        return;
    if (api_time_parse(json_string_value(value), &time))
        *(SimTime *)field = sim_time_add(time, -parser->start);
    else
        api_parser_invalid(parser, value, "write it as in \"2026-01-01T00:00:00Z\"",
                           "must be a time as in RFC 3339");
}

static json_t *
time_print(const void *field, const json_t *manifest, SimTime start)
{
    char buffer[API_TIME_BUFFER];
    SimTime time = *(const SimTime *)field;

    (void)manifest;
    return time == TIME_UNSET ? NULL : json_string(api_time_format(start + time, FALSE, buffer));
}

const FieldType field_time = {
    .size = sizeof(SimTime),
    FIELD_INITIAL(SimTime, TIME_UNSET),
    .parse = time_parse,
    .print = time_print,
};

static json_t *
micro_time_print(const void *field, const json_t *manifest, SimTime start)
{
    char buffer[API_TIME_BUFFER];
    SimTime time = *(const SimTime *)field;

    (void)manifest;
    return time == TIME_UNSET ? NULL : json_string(api_time_format(start + time, TRUE, buffer));
}

const FieldType field_micro_time = {
    .size = sizeof(SimTime),
    FIELD_INITIAL(SimTime, TIME_UNSET),
    .parse = time_parse,
    .print = micro_time_print,
};

StringMap *
map_from_json(Strings *strings, const json_t *object)
{
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) {
        StringPair pair = {strings_intern(strings, key),
                           strings_intern(strings, json_string_value(value))};
        if (pair.value != NULL)
            g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(const void *)pairs->data, pairs->len);
}

json_t *
map_to_json(const StringMap *map)
{
    json_t *object = json_object();

    for (unsigned i = 0; map != NULL && i < map->n_pairs; i++)
        json_object_set_new(object, map->pairs[i].key, json_string(map->pairs[i].value));
    return object;
}

static StringMap *
string_map_read(ApiParser *parser, const json_t *value)
{
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));
    const char *key;
    json_t *item;

    if (!api_parser_expect(parser, value, JSON_OBJECT))
        return NULL;
    json_object_foreach((json_t *)value, key, item) {
        gsize length = api_parser_enter(parser, key);
        if (json_is_null(item) || api_parser_expect(parser, item, JSON_STRING)) {
            StringPair pair = {
                api_parser_intern(parser, key),
                api_parser_intern(parser, json_is_null(item) ? "" : json_string_value(item)),
            }; /* to Go's decoder, null is the zero value */
            g_array_append_val(pairs, pair);
        }
        api_parser_leave(parser, length);
    }
    return string_map_new((const StringPair *)(const void *)pairs->data, pairs->len);
}

void
field_string_map_parse(ApiParser *parser, const json_t *value, void *field)
{
    StringMap **map = field;

    string_map_unref(*map);
    *map = string_map_read(parser, value);
}

json_t *
field_map_to_json(const void *field)
{
    const StringMap *map = *(StringMap *const *)field;

    return map == NULL ? NULL : map_to_json(map);
}

const FieldType field_string_map = {
    FIELD_SHARED(string_map),
    .parse = field_string_map_parse,
    .to_json = field_map_to_json,
};

static void
labels_parse(ApiParser *parser, const json_t *value, void *field)
{
    const char *key;
    json_t *item;

    field_string_map_parse(parser, value, field);
    json_object_foreach((json_t *)value, key, item) {
        const char *fault = name_fault_qualified(key);
        if (fault != NULL)
            api_parser_fault(parser, item, NULL, "Invalid value: \"%s\": %s", key, fault);
        fault = json_is_string(item) ? name_fault_label_value(json_string_value(item)) : NULL;
        if (fault != NULL)
            api_parser_invalid(parser, item, NULL, fault);
    }
}

const FieldType field_labels = {
    FIELD_SHARED(string_map),
    .parse = labels_parse,
    .to_json = field_map_to_json,
};

const FieldType field_string_list = {
    FIELD_SHARED(string_list),
    .item = &field_full_text,
};

/* An item of a StringList, as a struct. */
typedef struct {
    const char *name;
} NameItem;

static const Field name_fields[] = {
    FIELD("name", field_full_text, NameItem, name, FIELD_REQUIRED),
    FIELDS_END,
};

const FieldType field_names = {FIELD_LIST(NameItem, name_fields), .keyed = TRUE};

json_t *
keyed_items_over(json_t *fresh, const char *key, const json_t *manifest)
{
    for (size_t i = 0; i < json_array_size(fresh); i++) {
        json_t *old =
            json_list_find(manifest, key, json_path_string(json_array_get(fresh, i), key));
        if (old != NULL)
            json_array_set(fresh, i, old);
    }
    return fresh;
}

static void
uid_parse(ApiParser *parser, const json_t *value, void *field)
{
    if (!api_parser_expect(parser, value, JSON_STRING))
        return;
    if (json_string_length(value) > 0 && !object_uid_parse(json_string_value(value), field))
        api_parser_invalid(parser, value, NULL, "must be a UUID");
}

json_t *
field_uid_to_json(const void *field)
{
    char buffer[OBJECT_UID_BUFFER];
    ObjectUid uid = *(const ObjectUid *)field;

    return object_uid_is_set(uid) ? json_string(object_uid_format(uid, buffer)) : NULL;
}

const FieldType field_uid = {
    .size = sizeof(ObjectUid),
    .parse = uid_parse,
    .to_json = field_uid_to_json,
};

static void
null_parse(ApiParser *parser G_GNUC_UNUSED,
           const json_t *value G_GNUC_UNUSED,
           void *field G_GNUC_UNUSED)
{
}

static json_t *
null_over(const void *field G_GNUC_UNUSED, const json_t *manifest)
{
    return manifest == NULL ? json_null() : json_incref((json_t *)manifest); /* only counted */
}

static json_t *
blank_over(const void *field, const json_t *manifest)
{
    (void)field;
    return manifest == NULL ? json_string("") : json_incref((json_t *)manifest); /* only counted */
}

const FieldType field_blank = {.parse = null_parse, .over = blank_over};

const FieldType field_null = {
    .parse = null_parse,
    .over = null_over,
};
