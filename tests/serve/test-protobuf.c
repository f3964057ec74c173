/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies that a real kubectl 1.32 sent as protobuf are the objects that it means, and so are some
 * that were made by hand (options of requests in any group, values of several types, messages
 * within messages). Damaged ones are refused, or are some object, but never end the program. Each
 * field of each kind that discovery serves has a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <gio/gio.h>

#include "models/api/schema/resources.h"
#include "serve/api/protobuf/protobuf.h"
#include "sim/random.h"

/* Returns: (owned): of {body: base64, object} */
static json_t *
read_cases(void)
{
    g_autofree char *path = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "serve",
                                             "protobuf-bodies.json", NULL);
    json_t *cases = json_load_file(path, 0, NULL);

    assert_true(json_array_size(cases) >= 4);
    return cases;
}

static guchar *
body_of(const json_t *row, gsize *length)
{
    return g_base64_decode(json_string_value(json_object_get(row, "body")), length);
}

static void
recorded_bodies_are_objects(void **state)
{
    json_auto_t *cases = read_cases();
    json_t *row;
    gsize i;

    (void)state;
    json_array_foreach(cases, i, row) {
        g_autoptr(GError) error = NULL;
        gsize length;
        g_autofree guchar *bytes = body_of(row, &length);
        json_auto_t *found = protobuf_decode(bytes, length, &error);
        const json_t *wanted = json_object_get(row, "object");

        assert_null(error);
        if (!json_equal(found, wanted))
            fail_msg("%s", json_dumps(found, JSON_SORT_KEYS));
    }
}

static void
decode_spoilt(const guchar *bytes, gsize length)
{
    g_autoptr(GError) error = NULL;
    g_autofree guchar *copy = g_memdup2(bytes, MAX(length, 1)); /* nothing lies behind it */
    json_auto_t *found = protobuf_decode(copy, length, &error);

    assert_true((found == NULL) == (error != NULL));
}

static void
damaged_bodies_end_nothing(void **state)
{
    const SimStream stream = sim_stream_from(1, 0, "test/protobuf");

    json_auto_t *cases = read_cases();
    json_t *row;
    gsize i;

    (void)state;
    json_array_foreach(cases, i, row) {
        gsize length;
        g_autofree guchar *bytes = body_of(row, &length);

        for (gsize cut = 0; cut < length; cut++)
            decode_spoilt(bytes, cut);
        for (unsigned round = 0; round < 2000; round++) {
            g_autofree guchar *copy = g_memdup2(bytes, length);
            for (unsigned k = 0; k < 3; k++) {
                uint64_t bits = sim_random_bits(stream, i * 10000 + round, k);
                copy[bits % length] = (guchar)(bits >> 32);
            }
            decode_spoilt(copy, length);
        }
    }
}

static void
other_bytes_are_refused(void **state)
{
    static const char *const wrong[] = {
        "e30=", "azhzAA==", "azhzABL/////fw==", "azhzABc=", "azhzAAoECgJ2MQ==",
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        gsize length;
        g_autofree guchar *bytes = g_base64_decode(wrong[i], &length);
        assert_null(protobuf_decode(bytes, length, &error));
        assert_non_null(error);
    }
}

/* A VolumeSnapshot, a Nothing of apps/v1. */
static void
kinds_without_numbers_are_not_read(void **state)
{
    static const char *const bodies[] = {
        "azhzAAosChpzbmFwc2hvdC5zdG9yYWdlLms4cy5pby92MRIOVm9sdW1lU25hcHNob3QSAA==",
        "azhzAAoSCgdhcHBzL3YxEgdOb3RoaW5nEgA="};

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(bodies); i++) {
        g_autoptr(GError) error = NULL;
        gsize length;
        g_autofree guchar *bytes = g_base64_decode(bodies[i], &length);
        assert_null(protobuf_decode(bytes, length, &error));
        assert_true(g_error_matches(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED));
    }
}

/* @within: what is being looked at: types have fields of their own type */
static void
check_numbers(const SchemaType *type, gboolean is_kind, GHashTable *within)
{
    while (type->element != NULL)
        type = type->element;
    const SchemaField *fields = type->choices != NULL ? type->choices : type->fields;
    g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);

    if (fields == NULL || !g_hash_table_add(within, (gpointer)type))
        return;
    for (const SchemaField *field = fields; field->name != NULL; field++) {
        if (is_kind && g_strv_contains((const char *[]){"apiVersion", "kind", NULL}, field->name))
            continue;
        if (field->number == 0)
            fail_msg("%s.%s has no number", type->name, field->name);
        if (!g_hash_table_add(numbers, GUINT_TO_POINTER(field->message << 16 | field->number)))
            fail_msg("%s.%s has the number of another field", type->name, field->name);
        check_numbers(field->type, FALSE, within);
    }
}

static void
served_kinds_have_numbers(void **state)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    const ApiResource *row;

    (void)state;
    for (unsigned i = 0; (row = api_resource(i)) != NULL; i++) {
        g_autofree char *api_version = *row->group == '\0'
                                           ? g_strdup(row->version)
                                           : g_strconcat(row->group, "/", row->version, NULL);
        const SchemaType *type = schema_find(api_version, row->kind);

        if (type == NULL && !g_str_has_prefix(row->group, "local."))
            fail_msg("%s %s has no type", api_version, row->kind);
    }
    for (const SchemaKind *kind = schema_kinds; kind->kind != NULL; kind++)
        if (!kind->type->custom)
            check_numbers(kind->type, TRUE, seen);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_bodies_are_objects),
        cmocka_unit_test(damaged_bodies_end_nothing),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(kinds_without_numbers_are_not_read),
        cmocka_unit_test(served_kinds_have_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
