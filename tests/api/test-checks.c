/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-test.h"
#include "tests/lib/test.h"

#include <string.h>

#include "models/api/checks/checks-private.h"
#include "models/api/checks/checks-test.h"

/* What an API server refuses: each constraint of kubernetes.types is broken once and just kept
 * once; each line of data/invalid-objects.jsonl has exactly its faults, and mended it has none. */

/* ---- Constraints: made from the table ---- */

/* A text of each format, and one that is none. */
static const struct {
    const char *format, *good, *bad;
} formats[] = {
    {"any-case-name",     "A.b/C",           "a b"             },
    {"cidr",              "10.0.0.0/8",      "10.0.0.0"        },
    {"config-key",        "a.b_c-D",         "a/b"             },
    {"csi-driver",        "A.b",             "a b"             },
    {"dns-1035",          "a-1",             "1-a"             },
    {"dns-label",         "1-a",             "a.b"             },
    {"dns-subdomain",     "1.a-b",           "a..b"            },
    {"domain-path",       "a.b/c",           "a.b"             },
    {"env-name",          "A-1",             "A=1"             },
    {"host",              "*.a.b",           "10.1.1.1"        },
    {"http-header",       "X-A",             "X A"             },
    {"ip",                "2001:db8::1",     "1.2.3"           },
    {"label-value",       "a_B",             "-a"              },
    {"local-path",        "a/b",             "/a"              },
    {"no-backsteps",      "/a/..b",          "/a/../b"         },
    {"path-segment",      "system:a",        "a/b"             },
    {"port",              "http",            "Http"            },
    {"port-name",         "fifteen-letters", "sixteen-letters1"},
    {"qualified-name",    "a.b/C_d",         "a.b/"            },
    {"selector-operator", "NotIn",           "Not"             },
};

static const char *
format_text(const char *format, gboolean is_good)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].format, format) == 0)
            return is_good ? formats[i].good : formats[i].bad;
    fail_msg("no texts of the format %s", format);
    return NULL;
}

static const char *const *
checks_words_of(const SchemaField *field)
{
    const SchemaType *type = field->type->element != NULL ? field->type->element : field->type;

    return field->checks != NULL && field->checks->words != NULL ? field->checks->words
                                                                 : type->words;
}

/* Returns: (owned): a value that keeps the field's constraints */
static json_t *
good_value(const SchemaField *field, const SchemaType *type)
{
    const SchemaChecks *checks = field->checks;

    switch (type->shape) {
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
        return json_integer(checks->has_min ? MAX(checks->minimum, 1) : 1);
    case SCHEMA_BOOL:
        return json_true();
    case SCHEMA_INT_OR_STRING:
        return json_integer(1);
    case SCHEMA_QUANTITY:
        return json_string("1");
    case SCHEMA_STRUCT:
    case SCHEMA_ANY:
        return json_pack("{s:s}", "a", "b");
    case SCHEMA_LIST:
        return json_pack("[o]", good_value(field, type->element));
    case SCHEMA_MAP:
        return json_pack("{s:o}", checks->keys != NULL ? format_text(checks->keys, TRUE) : "a",
                         good_value(field, type->element));
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        if (checks->format != NULL)
            return json_string(format_text(checks->format, TRUE));
        return json_string(checks_words_of(field) != NULL ? checks_words_of(field)[0] : "a");
    }
    return NULL;
}

/* A scalar of the field, within a list or map if the field is one. */
static json_t *
in_shape(const SchemaType *type, json_t *value /* taken */)
{
    return type->shape == SCHEMA_LIST  ? json_pack("[o]", value)
           : type->shape == SCHEMA_MAP ? json_pack("{s:o}", "a", value)
                                       : value;
}

typedef struct {
    const SchemaType *type;
    const SchemaField *field;
} ConstraintRow;

/* Returns: whether a struct with this value of the field alone has a fault there that begins with
 * @words. @value: (taken) (nullable) */
static gboolean
checks_is_told(const ConstraintRow *row, json_t *value, json_t *old /* taken */, const char *words)
{
    g_autoptr(ApiTest) test = api_test_new();
    json_auto_t *object = json_object(), *before = old == NULL ? NULL : json_object();
    g_autofree char *begin = g_strdup_printf("%s%s%s", row->field->name,
                                             g_str_has_prefix(words, "[") ? "" : ": ", words);
    gboolean found = FALSE;

    if (value != NULL)
        json_object_set_new(object, row->field->name, value);
    if (old != NULL)
        json_object_set_new(before, row->field->name, old);
    Check check = check_begin(&test->parser, object);
    check_struct(&check, row->type, object, before, 1);
    json_decref(check.nothing);
    g_auto(GStrv) lines = g_strsplit(test->faults->str, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        found = found || g_str_has_prefix(*line, begin);
    g_clear_pointer(&test->parser.told, g_hash_table_unref);
    return found;
}

/* Whether any fault is told of the field, or below it. */
static gboolean
is_refused(const ConstraintRow *row, json_t *value)
{
    static const char *const reasons[] = {"Required",  "Invalid", "Unsupported", "Too", "Forbidden",
                                          "Duplicate", "["};

    for (unsigned i = 0; i < G_N_ELEMENTS(reasons); i++)
        if (checks_is_told(row, json_incref(value), NULL, reasons[i])) {
            print_message("%s.%s: %s\n", row->type->name, row->field->name, reasons[i]);
            json_decref(value);
            return TRUE;
        }
    json_decref(value);
    return FALSE;
}

static void
break_number(const ConstraintRow *row)
{
    const SchemaChecks *checks = row->field->checks;
    const SchemaType *type = row->field->type;
    const char *words = type->shape == SCHEMA_LIST ? "[0]: Invalid value" : "Invalid value";
    gint64 below = checks->minimum - 1;

    if (checks->has_min && (below != 0 || !checks->zero) &&
        (below != 0 || checks->required == NULL))
        assert_true(checks_is_told(row, in_shape(type, json_integer(below)), NULL, words));
    if (checks->has_min && (checks->minimum != 0 || checks->required == NULL))
        assert_false(is_refused(row, in_shape(type, json_integer(checks->minimum))));
    if (checks->has_max) {
        assert_true(
            checks_is_told(row, in_shape(type, json_integer(checks->maximum + 1)), NULL, words));
        assert_false(is_refused(row, in_shape(type, json_integer(checks->maximum))));
    }
    if (checks->zero)
        assert_false(is_refused(row, json_integer(0)));
}

/* The place of a fault of an item or a map's value. */
static char *
told_place(const SchemaField *field, const char *words)
{
    return g_strdup_printf("%s%s%s",
                           field->checks->whole                ? ""
                           : field->type->shape == SCHEMA_LIST ? "[0]"
                           : field->type->shape == SCHEMA_MAP  ? "[a]"
                                                               : "",
                           field->type->element != NULL && !field->checks->whole ? ": " : "",
                           words);
}

static void
break_text(const ConstraintRow *row)
{
    const SchemaField *field = row->field;
    const SchemaChecks *checks = field->checks;
    const char *const *words = checks_words_of(field);
    g_autofree char *invalid = told_place(field, "Invalid value"),
                    *unsupported = told_place(field, "Unsupported value");

    if (checks->format != NULL) {
        assert_true(checks_is_told(
            row, in_shape(field->type, json_string(format_text(checks->format, FALSE))), NULL,
            invalid));
        assert_false(
            is_refused(row, in_shape(field->type, json_string(format_text(checks->format, TRUE)))));
    } else if (words != NULL && !checks->ruled) {
        assert_true(checks_is_told(row, in_shape(field->type, json_string("Sometimes")), NULL,
                                   unsupported));
        for (unsigned i = 0; words[i] != NULL; i++)
            if (*words[i] != '\0')
                assert_false(is_refused(row, in_shape(field->type, json_string(words[i]))));
    }
    if (checks->keys != NULL) {
        const char *bad = format_text(checks->keys, FALSE);
        g_autofree char *place = g_strdup_printf("[%s]: Invalid value", bad);
        assert_true(checks_is_told(row, json_pack("{s:s}", bad, "YQ=="), NULL, place));
    }
    if (checks->bytes_max > 0) {
        g_autofree char *text = g_strnfill(checks->bytes_max + 1, 'a');
        assert_true(checks_is_told(row, json_string(text), NULL, "Too long"));
    }
}

static void
break_list(const ConstraintRow *row)
{
    const SchemaField *field = row->field;
    const char *key = field->checks->unique;

    if (key != NULL) {
        g_autofree char *place =
            g_strdup_printf("[1]%s%s: Duplicate value", *key == '\0' ? "" : ".", key);
        json_t *twice = *key == '\0' ? json_pack("[s, s]", "a", "a")
                                     : json_pack("[{s:s}, {s:s}]", key, "a", key, "a");
        assert_true(checks_is_told(row, twice, NULL, place));
        json_t *once = json_pack("[{s:s}, {s:s}]", key, "a", key, "b");
        assert_false(checks_is_told(row, once, NULL, place));
    }
    if (field->checks->items_max > 0) {
        json_t *list = json_array();
        for (unsigned i = 0; i < field->checks->items_max; i++)
            json_array_append_new(list, good_value(field, field->type->element));
        assert_false(checks_is_told(row, json_deep_copy(list), NULL, "Too many"));
        json_array_append_new(list, good_value(field, field->type->element));
        assert_true(checks_is_told(row, list, NULL, "Too many"));
    }
}

TEST(each_constraint_is_kept_and_broken)
{
    const SchemaType *type;
    unsigned n = 0;

    for (unsigned i = 0; (type = schema_struct(i)) != NULL; i++)
        for (const SchemaField *field = type->fields; field != NULL && field->name != NULL;
             field++) {
            const ConstraintRow row = {type, field};
            const SchemaChecks *checks = field->checks;
            if (checks == NULL)
                continue;
            n++;
            if (checks->required != NULL)
                assert_true(checks_is_told(&row, NULL, NULL, "Required value"));
            if (checks->always)
                assert_true(checks_is_told(&row, NULL, NULL, "Invalid value"));
            if (!checks->is_member)
                assert_false(
                    checks_is_told(&row, good_value(field, field->type), NULL, "Required value"));
            if (checks->immutable != NULL)
                assert_true(
                    checks_is_told(&row, good_value(field, field->type), json_string("other"),
                                   *checks->immutable == '\0' ? "Invalid value" : "Forbidden"));
            if (checks->has_min || checks->has_max)
                break_number(&row);
            break_text(&row);
            break_list(&row);
        }
    assert_true(n > 200);
}

TEST(formats_tell_texts_apart)
{
    const Check check = {.minor = 32};

    for (unsigned i = 0; i < G_N_ELEMENTS(formats); i++) {
        const char *name = formats[i].format;
        if (strcmp(name, "port") == 0)
            name = "port-name"; /* the texts among ports */
        assert_null(check_format_fault(&check, name, formats[i].good, 0));
        assert_non_null(check_format_fault(&check, name, formats[i].bad, 0));
    }
}

/* ---- Objects ---- */

static void
report_without_hint(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    ApiTest *test = parser->data;

    (void)where;
    (void)hint;
    g_string_append_printf(test->faults, "%s\n", message);
}

TEST(invalid_objects_and_their_neighbours)
{
    const char *srcdir = g_getenv("KVOLSIM_SRCDIR");
    g_autofree char *path = g_build_filename(srcdir == NULL ? "." : srcdir,
                                             "tests/api/data/invalid-objects.jsonl", NULL);
    g_autofree char *text = NULL;
    unsigned n_wrong = 0;

    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; **line != '\0'; line++) {
        g_autoptr(ApiTest) test = api_test_new();
        g_autoptr(GString) expected = g_string_new(NULL);
        json_auto_t *row = json_loads(*line, 0, NULL);
        const json_t *faults = json_object_get(row, "faults");
        json_t *object = json_object_get(row, "object");
        for (size_t i = 0; i < json_array_size(faults); i++)
            g_string_append_printf(expected, "%s\n", json_string_value(json_array_get(faults, i)));
        test->parser.report = report_without_hint;
        api_check_object(&test->parser, object, NULL);
        gboolean is_parsers = test->faults->len == 0; /* models/api's parser tells it */
        if (!is_parsers && strcmp(test->faults->str, expected->str) != 0) {
            print_error("%s:\n%s", json_string_value(json_object_get(row, "name")),
                        test->faults->str);
            n_wrong++;
        }
        g_string_truncate(test->faults, 0);
        json_merge_patch(object, json_object_get(row, "mend"));
        api_check_object(&test->parser, object, NULL);
        if (test->faults->len > 0) {
            print_error("%s, mended:\n%s", json_string_value(json_object_get(row, "name")),
                        test->faults->str);
            n_wrong++;
        }
        g_clear_pointer(&test->parser.told, g_hash_table_unref);
    }
    assert_int_equal(n_wrong, 0);
}
