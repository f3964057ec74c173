/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The readers of scalars and of their lists, and the types that all tables share. Each reader
 * checks the JSON type, then the bounds of its type, and stores into the target only a value that
 * is sound. 1e3 is a whole number, as in JSON Schema; 0 needs no unit; text has no control
 * characters, since terminals and pictures show it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "models/api/fields.h"
#include "printable.h"
#include "schema-private.h"

#define COUNT_MAX 1000000.0
#define INTEGER_MAX                                                                                \
    9007199254740992.0 /* 2^53: the largest integer that JSON's doubles hold exactly */

/* ---- Scalars ---- */

/* Returns: whether no terminal, table or picture takes a part of @text for a command */
static gboolean
schema_values_is_plain(const char *text, const char *keep)
{
    g_autofree char *shown = printable(text, keep);

    return strcmp(shown, text) == 0;
}

/* A shell takes the quotes of PATH="1.31" away. */
static const char *
quotes_hint(const SchemaReader *self)
{
    return self->at.file != NULL && g_str_has_prefix(self->at.file, "--set ")
               ? "put it in quotes, within those of the shell: 'PATH=\"VALUE\"'"
               : "put it in quotes";
}

static void
schema_values_read_text(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    const char *text = json_string_value(value);

    if (text != NULL && !schema_values_is_plain(text, "\n\t")) {
        schema_fault(self, NULL, "has control characters");
        return;
    }
    if (text != NULL && (*text != '\0' || type->min == 0)) {
        *(const char **)target = schema_intern(self, text);
        return;
    }
    if (text != NULL)
        schema_fault(self, NULL, "must not be empty");
    else if (json_is_boolean(value) || json_is_number(value))
        schema_fault(self, quotes_hint(self), "must be text, not %s", schema_value_words(value));
    else
        schema_fault_not(self, type, value);
}

static void
schema_values_read_line(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    const char *text = json_string_value(value);

    if (text != NULL && strpbrk(text, "\n\t") != NULL)
        schema_fault(self, NULL, "must be one line, without tabs");
    else
        schema_values_read_text(self, type, value, target);
}

static void
read_dns_label(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    const char *text = json_string_value(value),
               *fault = text != NULL && *text != '\0' ? name_fault_dns_label(text) : NULL;

    if (fault == NULL)
        schema_values_read_text(self, type, value, target);
    else
        schema_fault(self, NULL, "is no name: %s", fault);
}

static void
read_bool(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    if (json_is_boolean(value))
        *(int *)target = json_is_true(value);
    else
        schema_fault_not(self, type, value);
}

static gboolean
read_whole(SchemaReader *self, const FileType *type, const json_t *value, int64_t *number)
{
    if (json_is_real(value) && json_real_value(value) >= (double)INT64_MAX) {
        schema_fault(self, NULL, "%.15g is too big: at most %.0f", json_real_value(value),
                     type->max);
        return FALSE;
    }
    if (json_is_real(value) && json_real_value(value) == floor(json_real_value(value)) &&
        json_real_value(value) >= (double)INT64_MIN) {
        *number = (int64_t)json_real_value(value); /* 1e3 and 5.0 are whole, as in JSON Schema */
    } else if (!json_is_integer(value)) {
        schema_fault_not(self, type, value);
        return FALSE;
    } else {
        *number = json_integer_value(value);
    }
    if ((double)*number >= type->min && (double)*number <= type->max)
        return TRUE;
    if ((double)*number < type->min)
        schema_fault(self, NULL, "%" PRId64 " is too small: at least %.0f", *number, type->min);
    else
        schema_fault(self, NULL, "%" PRId64 " is too big: at most %.0f", *number, type->max);
    return FALSE;
}

static void
read_unsigned(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    int64_t number;

    if (read_whole(self, type, value, &number))
        *(unsigned *)target = (unsigned)number;
}

void
schema_read_integer(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    int64_t number;

    if (read_whole(self, type, value, &number))
        *(int64_t *)target = number;
}

static void
read_number(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    double number = json_number_value(value);

    if (json_is_number(value) && number >= type->min && number <= type->max)
        *(double *)target = number;
    else
        schema_fault_not(self, type, value);
}

gboolean
schema_duration_value(SchemaReader *self, const FileType *type, const json_t *value, SimTime *time)
{
    g_autoptr(GError) error = NULL;

    if (json_is_integer(value) && json_integer_value(value) == 0) {
        *time = 0;
        return TRUE;
    }
    if (json_is_number(value)) {
        g_autofree char *text = schema_scalar_text(value);
        g_autofree char *hint = g_strdup_printf("\"%ss\"?", text);
        schema_fault(self, hint, "%s has no unit", text);
        return FALSE;
    }
    if (json_is_string(value) && sim_time_parse(json_string_value(value), time, &error))
        return TRUE;
    if (error != NULL && type == &schema_duration && g_ascii_isdigit(*json_string_value(value)))
        schema_fault(self, NULL, "%s", error->message); /* it is meant as one: what is wrong? */
    else
        schema_fault_not(self, type, value);
    return FALSE;
}

static void
read_duration(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    SimTime time;

    if (!schema_duration_value(self, type, value, &time))
        return;
    if (time < 0)
        schema_fault(self, NULL, "\"%s\" is negative", json_string_value(value));
    else
        *(SimTime *)target = time;
}

static void
read_quantity(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    g_autofree char *text =
        json_is_string(value) || json_is_number(value) ? schema_scalar_text(value) : NULL;
    int64_t number;

    if (text == NULL || !quantity_parse(text, &number, NULL, NULL))
        schema_fault_not(self, type, value);
    else if (number < 0)
        schema_fault(self, NULL, "\"%s\" is negative", text);
    else if (target != NULL)
        *(int64_t *)target = number;
}

void
schema_read_enum(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    const char *text = json_string_value(value);
    unsigned n = 0;

    for (; type->words[n] != NULL; n++)
        if (g_strcmp0(type->words[n], text) == 0) {
            *(int *)target = (int)n;
            return;
        }
    g_autofree char *nearest = text != NULL ? name_hint(text, type->words, n) : NULL;
    g_autofree char *all = g_strjoinv(", ", (char **)type->words);
    g_autofree char *known = g_strdup_printf("one of %s", all);
    if (text != NULL)
        schema_fault(self, nearest != NULL ? nearest : known, "\"%s\" is not known here", text);
    else
        schema_fault(self, known, "must be a word, not %s", schema_value_words(value));
}

void
schema_read_word(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    int which = -1;

    schema_read_enum(self, type, value, &which);
    if (which >= 0)
        *(const char **)target = type->words[which];
}

/* ---- Lists and mappings of scalars ---- */

static void
read_strings(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    if (!schema_expect(self, type, value, JSON_ARRAY))
        return;

    gsize n = json_array_size(value);
    const char **strings = schema_alloc(self, (n + 1) * sizeof *strings);
    for (gsize i = 0; i < n; i++) {
        SchemaPlace place = schema_enter_item(self, value, i);
        strings[i] = "";
        schema_read(self, &schema_string, json_array_get(value, i), &strings[i]);
        schema_leave(self, place);
    }
    *(const char ***)target = strings;
}

static void
schema_values_read_json(SchemaReader *self, const FileType *type, const json_t *value, void *target)
{
    const char *key;
    json_t *member;

    if (type == &schema_any ||
        schema_expect(self, type, value, type == &schema_list_any ? JSON_ARRAY : JSON_OBJECT))
        *(const json_t **)target = value;
    if (type->item == NULL || !json_is_object(value))
        return;
    json_object_foreach((json_t *)value, key, member) {
        union {
            int64_t number;
            int truth;
            const char *text;
        } scratch;
        SchemaPlace place = schema_enter_member(self, value, key);
        schema_read(self, type->item, member, &scratch);
        schema_leave(self, place);
    }
}

/* ---- The types ---- */

#define NUMBER(type_name, what, reader, json, c_type, low, high)                                   \
    SCHEMA_TYPE(type_name, what, reader, json, c_type, .min = (low), .max = (high))
#define WHOLE(type_name, low, high)                                                                \
    NUMBER(type_name, "a whole number", read_unsigned, schema_json_integer, unsigned, low, high)
#define REAL(type_name, what, low, high)                                                           \
    NUMBER(type_name, what, read_number, schema_json_number, double, low, high)
#define MAPPING(type_name, of)                                                                     \
    SCHEMA_TYPE(type_name, "a mapping", schema_values_read_json, schema_json_map, json_t *,        \
                .item = (of))

const FileType schema_string =
    SCHEMA_TYPE("text", "text", schema_values_read_text, schema_json_string, char *, .min = 1);
const FileType schema_line =
    SCHEMA_TYPE("text", "text", schema_values_read_line, schema_json_string, char *, .min = 1);
const FileType schema_dns_label = SCHEMA_TEXT(
    "DNS label",
    "a DNS label",
    read_dns_label,
    "{\"type\": \"string\", \"pattern\": \"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\", \"maxLength\": 63}",
    char *,
    .min = 1);
const FileType schema_text =
    SCHEMA_TYPE("text", "text", schema_values_read_text, schema_json_string, char *);
const FileType schema_bool =
    SCHEMA_TEXT("true or false", "true or false", read_bool, "{\"type\": \"boolean\"}", gboolean);
const FileType schema_tristate =
    SCHEMA_TEXT("true or false", "true or false", read_bool, "{\"type\": \"boolean\"}", int);
const FileType schema_count = WHOLE("count", 1, COUNT_MAX);
const FileType schema_natural = WHOLE("whole number", 0, COUNT_MAX);
const FileType schema_integer = NUMBER("whole number",
                                       "a whole number",
                                       schema_read_integer,
                                       schema_json_integer,
                                       int64_t,
                                       0,
                                       INTEGER_MAX);
const FileType schema_probability =
    REAL("probability", "a probability: more than 0, at most 1", 1e-12, 1);
const FileType schema_part = REAL("part", "a part: from 0 to 1", 0, 1);
const FileType schema_quantile = REAL("quantile", "a quantile: from 0 to 1", 0, 1);
const FileType schema_rate = REAL("number", "a number from 0 to 1000000", 0, COUNT_MAX);
const FileType schema_exponent = REAL("exponent", "an exponent from -4 to 4", -4, 4);
const FileType schema_duration = SCHEMA_TYPE("duration",
                                             "a duration",
                                             read_duration,
                                             schema_json_ref,
                                             SimTime,
                                             .hint = "such as 1.5s, 250ms or 1h30m");
const FileType schema_quantity = SCHEMA_TYPE(
    "quantity", "a quantity", read_quantity, schema_json_ref, int64_t, .hint = "such as 10Gi");
const FileType schema_strings = SCHEMA_TEXT(
    "list of text", "a list", read_strings, SCHEMA_OF_STRINGS, char **, .hint = "such as [a, b]");
const FileType schema_any =
    SCHEMA_TEXT("anything", "a value", schema_values_read_json, "{}", json_t *);
const FileType schema_list_any =
    SCHEMA_TEXT("list", "a list", schema_values_read_json, "{\"type\": \"array\"}", json_t *);
const FileType schema_object = MAPPING("mapping", NULL);
const FileType schema_string_map = MAPPING("mapping of text", &schema_text);
const FileType schema_resources = MAPPING("mapping of quantities", &schema_quantity);
const FileType schema_bool_map = MAPPING("mapping of true or false", &schema_bool);
