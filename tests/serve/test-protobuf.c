/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies that a real kubectl 1.32 sent as protobuf are the objects that it means; damaged ones are
 * refused, or are some object, but never end the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_bodies_are_objects),
        cmocka_unit_test(damaged_bodies_end_nothing),
        cmocka_unit_test(other_bytes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
