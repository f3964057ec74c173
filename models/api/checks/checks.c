/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validation of an object as the API server does it: a walk over the object with its type from the
 * schema, which checks the constraints of fields (required, patterns, limits, unions) and calls the
 * rows of the tables for whole structs. A row names the function of Kubernetes that it stands for.
 * Status is not walked: only components write it.
 *
 * Faults are reported to the same parser as those of the typed fields; a fault that was told is not
 * told again. An update runs further rows with the stored object beside the new one. */
#include "checks-private.h"

#include <string.h>

#include "models/api/checks/checks-test.h"
#include "models/api/schema/strict-fields.h"
#include "sim/strings.h"

#define RELEASE_OF_TEXTS 32
/* Only the schemas of custom resources go deeper. */
#define DEPTH_MAX 64

static const CheckRule *const tables[] = {
    check_volume_rules,   check_quota_rules,   check_pod_rules,    check_container_rules,
    check_workload_rules, check_service_rules, check_config_rules, check_definition_rules};
static const CheckRule *const update_tables[] = {check_update_rules, check_pod_update_rules};

/* ---- Faults ---- */

/* Whether all versions of a definition have the same member, and have it at all. */
static gboolean
checks_is_shared(const json_t *versions, const char *name)
{
    const json_t *first = json_object_get(json_array_get(versions, 0), name), *version;
    size_t i;

    json_array_foreach((json_t *)versions, i, version)
        if (first == NULL || !json_equal(first, json_object_get(version, name)))
            return FALSE;
    return first != NULL;
}

void
check_silence(const Check *check, const char *path)
{
    const GString *outer = check->parser->path;

    if (check->parser->told == NULL)
        check->parser->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_hash_table_add(check->parser->told,
                     g_strdup_printf("%s%s%s", outer->str, outer->len > 0 ? "." : "", path));
}

/* Also "spec." of "spec.replicas": the parser does not tell that what is around it is missing. */
static void
note_told(ApiParser *parser, const char *path)
{
    for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.'))
        g_hash_table_add(parser->told, g_strndup(path, (gsize)(dot - path) + 1));
    g_hash_table_add(parser->told, g_strdup(path));
}

/* Where Kubernetes tells a fault: what all versions of a CustomResourceDefinition share is checked
 * where v1beta1 had it. */
static void
hoist(const Check *check, GString *path)
{
    static const struct {
        const char *name, *begin, *to;
    } members[] = {
        {"schema",       "].schema.openAPIV3Schema.", "spec.validation"  },
        {"subresources", "].subresources.",           "spec.subresources"},
    };
    const json_t *versions = json_path_get(check->object, "spec.versions");

    if (g_str_has_prefix(path->str, "spec.taints[")) { /* of Nodes */
        g_string_erase(path, 0, (gssize)strlen("spec"));
        g_string_prepend(path, "metadata");
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
        const char *at = strstr(path->str, members[i].begin);
        if (at == NULL || !g_str_has_prefix(path->str, "spec.versions[") ||
            !checks_is_shared(versions, members[i].name))
            continue;
        g_string_erase(path, 0, at - path->str + (gssize)strlen(members[i].name) + 2);
        g_string_prepend(path, members[i].to);
        return;
    }
}

void
check_report(
    Check *check, const json_t *where, const char *path, const char *hint, const char *words)
{
    ApiParser *parser = check->parser;
    g_autofree char *outer = g_strdup(parser->path->str);
    gsize length = parser->path->len;

    if (*path != '\0' && *path != '[' && length > 0)
        g_string_append_c(parser->path, '.');
    g_string_append(parser->path, path);
    g_autofree char *own_path = g_strdup(parser->path->str);
    hoist(check, parser->path);
    g_autofree char *message = g_strdup_printf("%s: %s", parser->path->str, words);
    if (parser->told == NULL)
        parser->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    /* As field.ErrorList.ToAggregate(): a text is said once. */
    if (g_hash_table_add(parser->told, g_strdup(message))) {
        note_told(parser, parser->path->str);
        note_told(parser, own_path);
        check->n_faults++;
        parser->report(parser, where == NULL || where == check->nothing ? check->place : where,
                       message, hint);
    }
    g_string_assign(parser->path, outer);
}

void
check_fault(Check *check, const json_t *where, const char *path, const char *format, ...)
{
    FORMATTED(words, format);
    check_report(check, where, path, NULL, words);
}

void
check_required(Check *check, const char *path, const char *detail)
{
    check_fault(check, NULL, path, "Required value%s%s", *detail == '\0' ? "" : ": ", detail);
}

void
check_invalid(Check *check, const json_t *value, const char *path, const char *detail)
{
    g_autofree char *text = check_go_value(value);

    check_fault(check, value, path, "Invalid value: %s: %s", text, detail);
}

void
check_forbidden(Check *check, const json_t *where, const char *path, const char *detail)
{
    check_fault(check, where, path, "Forbidden: %s", detail);
}

void
check_duplicate(Check *check, const json_t *value, const char *path)
{
    g_autofree char *text = check_go_value(value);

    check_fault(check, value, path, "Duplicate value: %s", text);
}

char *
check_hint(const char *text, const char *const *words)
{
    return text == NULL || *text == '\0' ? NULL
                                         : name_hint(text, words, g_strv_length((char **)words));
}

void
check_unsupported(Check *check, const json_t *value, const char *path, const char *const *words)
{
    g_autofree char *text = value == NULL ? g_strdup("\"\"") : check_go_value(value);
    g_autofree char *known = g_strjoinv("\", \"", (char **)words); /* only read */
    g_autofree char *message =
        g_strdup_printf("Unsupported value: %s: supported values: \"%s\"", text, known);
    g_autofree char *hint = check_hint(json_string_value(value), words);

    check_report(check, value, path, hint, message);
}

void
check_immutable(Check *check, const char *value_path, const char *told_path)
{
    const json_t *value = json_path_get(check->object, value_path);

    if (!api_check_same(NULL, json_path_get(check->old, value_path), value))
        check_invalid(check, value, told_path, "field is immutable");
}

/* Each of the strings in the list, or the member @key of its structs, may be there once. */
static void
check_unique(Check *check, const json_t *list, const char *key)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    const json_t *item;
    size_t i;

    json_array_foreach((json_t *)list, i, item) {
        const json_t *value = *key == '\0' ? item : json_object_get(item, key);
        g_autofree char *path = g_strdup_printf("[%zu]%s%s", i, *key == '\0' ? "" : ".", key);
        if (!json_is_string(value) || *json_string_value(value) == '\0')
            continue;
        if (!g_hash_table_add(seen, (char *)json_string_value(value))) /* only compared */
            check_duplicate(check, value, path);
    }
}

/* ---- Reading ---- */

gboolean
check_has(const json_t *object, const char *path)
{
    return json_path_get(object, path) != NULL;
}

gboolean
check_flag(const json_t *object, const char *path)
{
    return json_is_true(json_path_get(object, path));
}

/* As Go's %q. */
static void
append_quoted(GString *text, const char *string)
{
    static const char letters[] = "\a\b\f\n\r\t\v\"\\", escapes[] = "abfnrtv\"\\";

    g_string_append_c(text, '"');
    for (const char *at = string; *at != '\0'; at++) {
        const char *escape = strchr(letters, *at);
        if (escape != NULL)
            g_string_append_printf(text, "\\%c", escapes[escape - letters]);
        else if ((guchar)*at < ' ' || *at == 0x7f)
            g_string_append_printf(text, "\\x%02x", (guchar)*at);
        else
            g_string_append_c(text, *at);
    }
    g_string_append_c(text, '"');
}

static void
append_go_map(GString *text, const json_t *map)
{
    json_auto_t *sorted = json_sorted(map);
    const char *separator = "", *key;
    json_t *value;

    g_string_append(text, "map[string]string{");
    json_object_foreach(sorted, key, value) {
        g_string_append(text, separator);
        append_quoted(text, key);
        g_string_append_c(text, ':');
        append_quoted(text, json_string_value(value));
        separator = ", ";
    }
    g_string_append_c(text, '}');
}

static gboolean
are_strings(const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    gboolean are = TRUE;

    json_object_foreach((json_t *)value, key, item)
        are = are && json_is_string(item);
    json_array_foreach((json_t *)value, i, item)
        are = are && json_is_string(item);
    return are;
}

char *
check_go_value(const json_t *value)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (value == NULL || json_is_null(value))
        return g_strdup("\"null\"");
    if (json_is_string(value)) {
        append_quoted(text, json_string_value(value));
    } else if (json_is_object(value) && are_strings(value)) {
        append_go_map(text, value);
    } else if (json_is_array(value) && are_strings(value)) {
        g_string_append(text, "[]string{");
        for (size_t i = 0; i < json_array_size(value); i++) {
            g_string_append(text, i > 0 ? ", " : "");
            append_quoted(text, json_string_value(json_array_get(value, i)));
        }
        g_string_append_c(text, '}');
    } else {
        char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        g_string_append(text, dump);
        free(dump);
    }
    return g_strdup(text->str);
}

/* ---- Constraints ---- */

static gboolean
is_missing(const json_t *value)
{
    return value == NULL || json_is_null(value) ||
           (json_is_string(value) && *json_string_value(value) == '\0') ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_integer(value) && json_integer_value(value) == 0);
}

static void
checks_check_number(Check *check, const SchemaChecks *checks, const json_t *value, const char *path)
{
    json_int_t number = json_integer_value(value);
    g_autofree char *detail = NULL;

    if ((!json_is_integer(value) && value != NULL) || (number == 0 && checks->zero) ||
        ((!checks->has_min || number >= checks->minimum) &&
         (!checks->has_max || number <= checks->maximum)))
        return;
    if (checks->has_max)
        detail = g_strdup_printf("must be between %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT
                                 ", inclusive",
                                 checks->minimum, checks->maximum);
    else if (checks->minimum == 1)
        detail = g_strdup("must be greater than 0");
    else
        detail =
            g_strdup_printf("must be greater than or equal to %" G_GINT64_FORMAT, checks->minimum);
    json_auto_t *zero = json_integer(0);
    check_invalid(check, value == NULL ? zero : value, path, detail);
}

/* @value: one text or number: the field's, an item's or a map's. NULL: as good as "" */
static void
check_scalar(Check *check,
             const SchemaChecks *checks,
             const SchemaType *type,
             const json_t *value,
             const char *path)
{
    const char *const *words =
        checks != NULL && checks->words != NULL ? checks->words : type->words;

    if (checks != NULL && checks->format != NULL) {
        check_format(check, value, path, checks->format);
        words = NULL;
    }
    if (checks != NULL && checks->ruled)
        words = NULL;
    if (words != NULL && json_is_string(value) && *json_string_value(value) != '\0' &&
        !g_strv_contains(words, json_string_value(value)))
        check_unsupported(check, value, path, words);
    if (checks == NULL)
        return;
    if (checks->has_min || checks->has_max)
        checks_check_number(check, checks, value, path);
    if (checks->bytes_max > 0 && json_string_length(value) > checks->bytes_max)
        check_fault(check, value, path,
                    check->minor >= 32 ? "Too long: may not be more than %u bytes"
                                       : "Too long: must have at most %u bytes",
                    checks->bytes_max);
}

static void
check_members_of(Check *check,
                 const SchemaChecks *checks,
                 const SchemaType *type,
                 const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;

    json_object_foreach((json_t *)value, key, item) {
        g_autofree char *path = g_strdup_printf("[%s]", key);
        check_scalar(check, checks, type->element, item, path);
        json_auto_t *text = json_string(key);
        if (checks != NULL && checks->keys != NULL)
            check_format(check, text, path, checks->keys);
    }
    json_array_foreach((json_t *)value, i, item) {
        g_autofree char *path =
            checks != NULL && checks->whole ? g_strdup("") : g_strdup_printf("[%zu]", i);
        check_scalar(check, checks, type->element, item, path);
    }
}

static void
check_constraints(Check *check, const SchemaField *field, const json_t *value, const json_t *old)
{
    const SchemaChecks *checks = field->checks;
    gboolean is_missing_value =
        field->type->shape == SCHEMA_STRUCT ? value == NULL : is_missing(value);

    if (checks != NULL && checks->immutable != NULL && old != NULL &&
        !api_check_same(field->type, json_object_get(old, field->name), value)) {
        if (*checks->immutable == '\0')
            check_invalid(check, value, "", "field is immutable");
        else
            check_forbidden(check, value, "", checks->immutable);
    }
    if (checks != NULL && checks->required != NULL && is_missing_value &&
        (value != NULL || field->fallback == NULL || strcmp(field->fallback, "\"\"") == 0)) {
        check_required(check, "", checks->required);
        return;
    }
    if (value == NULL && (checks == NULL || !checks->always))
        return;
    if (field->type->shape != SCHEMA_LIST && field->type->shape != SCHEMA_MAP) {
        if (field->type->shape != SCHEMA_STRUCT)
            check_scalar(check, checks, field->type, value, "");
        return;
    }
    check_members_of(check, checks, field->type, value);
    if (checks != NULL && checks->unique != NULL)
        check_unique(check, value, checks->unique);
    if (checks != NULL && checks->items_max > 0 && json_array_size(value) > checks->items_max)
        check_fault(check, value, "", "Too many: %zu: must have at most %u items",
                    json_array_size(value), checks->items_max);
}

/* ---- The walk ---- */

static void check_value(
    Check *check, const SchemaType *type, const json_t *value, const json_t *old, unsigned depth);

static void
apply_rules(Check *check, const char *type, const json_t *value)
{
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        for (const CheckRule *rule = tables[i]; rule->type != NULL; rule++)
            if (g_str_has_suffix(type, rule->type) &&
                type[strlen(type) - strlen(rule->type) - 1] == '.')
                rule->check(check, value);
}

static void
check_field(
    Check *check, const SchemaField *field, const json_t *object, const json_t *old, unsigned depth)
{
    const json_t *value = json_path_get(object, field->name);
    const json_t *inner = old == NULL ? NULL : json_object_get(old, field->name);
    gsize length = api_parser_enter(check->parser, field->name);

    check_constraints(check, field, value, old);
    if (value == NULL && g_strcmp0(field->fallback, "{}") == 0)
        value = check->nothing;
    if (value != NULL)
        check_value(check, field->type, value, inner, depth + 1);
    api_parser_leave(check->parser, length);
}

void
check_struct(
    Check *check, const SchemaType *type, const json_t *object, const json_t *old, unsigned depth)
{
    const json_t *outer = check->place;

    if (!json_is_object(object))
        return; /* the parser or the decoder tells */
    if (object != check->nothing)
        check->place = object;
    for (const SchemaField *field = type->fields; field != NULL && field->name != NULL; field++)
        if ((depth > 0 || (strcmp(field->name, "status") != 0)) &&
            strcmp(field->name, "metadata") != 0)
            check_field(check, field, object, old, depth);
    if (type->name != NULL) {
        check_union(check, type, object);
        apply_rules(check, type->name, object);
    }
    check->place = outer;
}

static void
check_value(
    Check *check, const SchemaType *type, const json_t *value, const json_t *old, unsigned depth)
{
    const char *key;
    json_t *item;
    size_t i;

    if (depth > DEPTH_MAX)
        return;
    if (type->shape == SCHEMA_STRUCT) {
        check_struct(check, type, value, old, depth);
    } else if (type->shape == SCHEMA_LIST && type->element->shape == SCHEMA_STRUCT) {
        json_array_foreach((json_t *)value, i, item) {
            gsize length = api_parser_enter_index(check->parser, (unsigned)i);
            check_struct(check, type->element, item, NULL, depth);
            api_parser_leave(check->parser, length);
        }
    } else if (type->shape == SCHEMA_MAP && type->element->shape == SCHEMA_STRUCT) {
        json_object_foreach((json_t *)value, key, item) {
            gsize length = api_parser_enter_member(check->parser, key);
            check_struct(check, type->element, item, NULL, depth);
            api_parser_leave(check->parser, length);
        }
    }
}

Check
check_begin(ApiParser *parser, const json_t *object)
{
    g_clear_pointer(&parser->told, g_hash_table_unref);
    return (Check){.parser = parser,
                   .object = object,
                   .place = object,
                   .nothing = json_object(),
                   .minor = parser->minor == 0 ? RELEASE_OF_TEXTS : parser->minor};
}

static void
apply_update_rules(Check *check)
{
    const char *type = check->type == NULL ? NULL : check->type->name;

    for (gsize i = 0; type != NULL && i < G_N_ELEMENTS(update_tables); i++)
        for (const CheckRule *rule = update_tables[i]; rule->type != NULL; rule++)
            if (g_str_has_suffix(type, rule->type) &&
                type[strlen(type) - strlen(rule->type) - 1] == '.')
                rule->check(check, check->object);
}

unsigned
api_check_object(ApiParser *parser, const json_t *object, const ApiCheckOptions *options)
{
    Check check = check_begin(parser, object);

    check.type =
        schema_find(json_path_string(object, "apiVersion"), json_path_string(object, "kind"));
    if (check.type != NULL && check.type->custom)
        check.type = NULL;
    if (options != NULL) {
        check.old = options->old;
        check.subresource = options->subresource;
    }
    /* An unknown kind may be a custom resource's. */
    if (check.type != NULL || strchr(json_path_text(object, "apiVersion"), '.') != NULL) {
        check_metadata(&check);
        if (check.type != NULL && g_strcmp0(check.subresource, "status") != 0)
            check_struct(&check, check.type, object, check.old, 0);
        if (check.old != NULL)
            apply_update_rules(&check);
    }
    json_decref(check.nothing);
    return check.n_faults;
}

gboolean
api_check_types(ApiParser *parser, const json_t *object)
{
    const SchemaType *type =
        schema_find(json_path_string(object, "apiVersion"), json_path_string(object, "kind"));
    g_autofree char *fault = type == NULL || type->custom ? NULL : strict_type_error(type, object);

    if (fault != NULL)
        parser->report(parser, object, fault, NULL);
    return fault == NULL;
}
