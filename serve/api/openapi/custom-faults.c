/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults of an object against the schema of its custom resource, in the words of kube-openapi's
 * validation, as the API server reports them: types, limits, words, required members, lists as sets
 * or maps. All faults are told, each with its path. CEL rules are not looked at. metadata is left
 * to the checks of all kinds. */
#include <math.h>
#include <string.h>

#include "custom.h"
#include "models/api/fields.h"

static const char *
type_word(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        break;
    }
    return "null";
}

static void custom_faults_add_fault(GPtrArray *faults, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void
custom_faults_add_fault(GPtrArray *faults, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_ptr_array_add(faults, g_strdup_vprintf(format, args));
    va_end(args);
}

/* Returns: (owned): JSON, as messages show a value */
static char *
shown(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    char *copy = g_strdup(text);

    free(text);
    return copy;
}

static gboolean
fits_type(const json_t *schema, const json_t *value)
{
    const char *type = json_path_string(schema, "type");

    if (json_is_true(json_object_get(schema, "x-kubernetes-int-or-string")))
        return json_is_integer(value) || json_is_string(value);
    if (type == NULL)
        return TRUE;
    return strcmp(type, type_word(value)) == 0 ||
           (strcmp(type, "number") == 0 && json_is_integer(value)) ||
           (strcmp(type, "integer") == 0 && json_is_real(value) &&
            trunc(json_real_value(value)) == json_real_value(value));
}

static void
custom_faults_check_words(const json_t *schema,
                          const json_t *value,
                          const char *path,
                          GPtrArray *faults)
{
    const json_t *words = json_object_get(schema, "enum");
    g_autoptr(GString) list = g_string_new(NULL);
    g_autofree char *text = shown(value);

    for (gsize i = 0; i < json_array_size(words); i++) {
        g_autofree char *word = shown(json_array_get(words, i));
        if (json_equal(json_array_get(words, i), (json_t *)value))
            return;
        g_string_append_printf(list, "%s%s", i > 0 ? ", " : "", word);
    }
    if (words != NULL)
        custom_faults_add_fault(faults, "%s: Unsupported value: %s: supported values: %s", path,
                                text, list->str);
}

static void
custom_faults_check_number(const json_t *schema,
                           const json_t *value,
                           const char *path,
                           GPtrArray *faults)
{
    static const struct {
        const char *limit, *exclusive, *words;
        gboolean is_low;
    } rows[] = {
        {"minimum", "exclusiveMinimum", "greater than", TRUE },
        {"maximum", "exclusiveMaximum", "less than",    FALSE},
    };
    double number = json_number_value(value);

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const json_t *limit = json_object_get(schema, rows[i].limit);
        gboolean is_open = json_is_true(json_object_get(schema, rows[i].exclusive));
        double bound = json_number_value(limit);
        gboolean is_beyond = rows[i].is_low ? number < bound : number > bound;
        g_autofree char *text = shown(value), *bound_text = limit != NULL ? shown(limit) : NULL;
        if (limit != NULL && (is_beyond || (is_open && !(number < bound) && !(number > bound))))
            custom_faults_add_fault(faults, "%s: Invalid value: %s: %s in body should be %s %s%s",
                                    path, text, path, rows[i].words, is_open ? "" : "or equal to ",
                                    bound_text);
    }
}

static void
check_string(const json_t *schema, const json_t *value, const char *path, GPtrArray *faults)
{
    const json_t *most = json_object_get(schema, "maxLength"),
                 *least = json_object_get(schema, "minLength");
    const char *pattern = json_path_string(schema, "pattern"), *string = json_string_value(value);
    glong length = g_utf8_strlen(string, -1);
    g_autofree char *text = shown(value);

    if (most != NULL && length > json_integer_value(most))
        custom_faults_add_fault(faults,
                                "%s: Too long: may not be more than %" JSON_INTEGER_FORMAT " bytes",
                                path, json_integer_value(most));
    if (least != NULL && length < json_integer_value(least))
        custom_faults_add_fault(
            faults,
            "%s: Invalid value: %s: %s in body should be at least %" JSON_INTEGER_FORMAT
            " chars long",
            path, text, path, json_integer_value(least));
    g_autoptr(GRegex) regex = pattern == NULL ? NULL : g_regex_new(pattern, 0, 0, NULL);
    if (regex != NULL && !g_regex_match(regex, string, 0, NULL))
        custom_faults_add_fault(faults, "%s: Invalid value: %s: %s in body should match '%s'", path,
                                text, path, pattern);
}

/* Returns: (owned): what makes an item of a list its own; NULL: anything */
static json_t *
item_key(const json_t *schema, const json_t *item)
{
    const char *type = json_path_string(schema, "x-kubernetes-list-type");
    const json_t *keys = json_object_get(schema, "x-kubernetes-list-map-keys");
    json_t *key;

    if (g_strcmp0(type, "set") == 0)
        return json_incref((json_t *)item);
    if (g_strcmp0(type, "map") != 0 || !json_is_object(item))
        return NULL;
    key = json_object();
    for (gsize i = 0; i < json_array_size(keys); i++) {
        const char *name = json_string_value(json_array_get(keys, i));
        if (name != NULL && json_object_get(item, name) != NULL)
            json_object_set(key, name, json_object_get(item, name));
    }
    return key;
}

static void
check_list(const json_t *schema, const json_t *list, const char *path, GPtrArray *faults)
{
    const json_t *most = json_object_get(schema, "maxItems"),
                 *least = json_object_get(schema, "minItems");
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gsize n = json_array_size(list);

    if (most != NULL && (json_int_t)n > json_integer_value(most))
        custom_faults_add_fault(
            faults, "%s: Too many: %zu: must have at most %" JSON_INTEGER_FORMAT " items", path, n,
            json_integer_value(most));
    if (least != NULL && (json_int_t)n < json_integer_value(least))
        custom_faults_add_fault(
            faults,
            "%s: Invalid value: %zu: %s in body should have at least %" JSON_INTEGER_FORMAT
            " items",
            path, n, path, json_integer_value(least));
    for (gsize i = 0; i < n; i++) {
        g_autofree char *at = g_strdup_printf("%s[%zu]", path, i);
        json_auto_t *key = item_key(schema, json_array_get(list, i));
        custom_check(json_object_get(schema, "items"), json_array_get(list, i), at, faults);
        if (key != NULL && !g_hash_table_add(seen, shown(key))) {
            g_autofree char *text = shown(key);
            custom_faults_add_fault(faults, "%s: Duplicate value: %s", at, text);
        }
    }
}

static void
check_object(const json_t *schema, const json_t *object, const char *path, GPtrArray *faults)
{
    const json_t *required = json_object_get(schema, "required"),
                 *properties = json_object_get(schema, "properties"),
                 *others = json_object_get(schema, "additionalProperties");
    const char *name;
    json_t *member;

    for (gsize i = 0; i < json_array_size(required); i++) {
        name = json_string_value(json_array_get(required, i));
        if (name != NULL && json_object_get(object, name) == NULL)
            custom_faults_add_fault(faults, "%s%s%s: Required value", path,
                                    *path != '\0' ? "." : "", name);
    }
    json_object_foreach((json_t *)object, name, member) {
        const json_t *inner = json_object_get(properties, name);
        g_autofree char *at = *path == '\0'   ? g_strdup(name)
                              : inner != NULL ? g_strdup_printf("%s.%s", path, name)
                                              : g_strdup_printf("%s[%s]", path, name);
        if (inner == NULL && json_is_object(others))
            inner = others;
        if (inner != NULL && !(*path == '\0' && strcmp(name, "metadata") == 0))
            custom_check(inner, member, at, faults);
    }
}

void
custom_check(const json_t *schema, const json_t *value, const char *path, GPtrArray *faults)
{
    if (json_is_null(value) && json_is_true(json_object_get(schema, "nullable")))
        return;
    if (!fits_type(schema, value)) {
        const char *given = type_word(value);
        const char *wanted = json_path_string(schema, "type");
        custom_faults_add_fault(
            faults, "%s: Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", path, given,
            path, wanted != NULL ? wanted : "integer,string", given);
        return;
    }
    custom_faults_check_words(schema, value, path, faults);
    if (json_is_number(value))
        custom_faults_check_number(schema, value, path, faults);
    else if (json_is_string(value))
        check_string(schema, value, path, faults);
    else if (json_is_array(value))
        check_list(schema, value, path, faults);
    else if (json_is_object(value))
        check_object(schema, value, path, faults);
}
