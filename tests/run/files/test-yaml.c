/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "run/files/file-fault.h"
#include "tests/lib/test.h"

typedef struct {
    const char *name;
    const char *text;
    const char *json; /* the documents, one per line; NULL: a fault */
} ReadCase;

/* Scalars resolve as in sigs.k8s.io/yaml, which kubectl uses. */
/* clang-format off */
static const ReadCase read_cases[] = {
    {"mapping", "a: 1\nb: {c: [x, z]}\n", "{\"a\": 1, \"b\": {\"c\": [\"x\", \"z\"]}}\n"},
    {"json is yaml", "{\"a\": [1, 2.5, null, true]}", "{\"a\": [1, 2.5, null, true]}\n"},
    {"two documents", "a: 1\n---\nb: 2\n", "{\"a\": 1}\n{\"b\": 2}\n"},
    {"empty documents", "---\n---\na: 1\n---\n# no\n", "{\"a\": 1}\n"},
    {"nothing", "", ""},
    {"booleans of YAML 1.1", "[yes, No, on, OFF, y, True]",
     "[true, false, true, false, true, true]\n"},
    {"quoted words are text", "['yes', \"1\", !!str 5]", "[\"yes\", \"1\", \"5\"]\n"},
    {"nulls", "{a: ~, b: null, c: , d: ''}",
     "{\"a\": null, \"b\": null, \"c\": null, \"d\": \"\"}\n"},
    {"integers", "[0, -7, +3, 0x1f, 010, 0o17, 0b11, 1_000]", "[0, -7, 3, 31, 8, 15, 3, 1000]\n"},
    {"a zero before a point", "[0.6, 0.75, 00.5]", "[0.6, 0.75, 0.5]\n"},
    {"floats", "[1.5, -2e3, .5, 1e400x]", "[1.5, -2000.0, 0.5, \"1e400x\"]\n"},
    {"texts like numbers", "[1.2.3, 10Gi, 5s, 1-2, -, 2026-01-01]",
     "[\"1.2.3\", \"10Gi\", \"5s\", \"1-2\", \"-\", \"2026-01-01\"]\n"},
    {"the biggest integers", "[9223372036854775807, -9223372036854775808]",
     "[9223372036854775807, -9223372036854775808]\n"},
    {"anchors", "a: &x {b: 1}\nc: *x\n", "{\"a\": {\"b\": 1}, \"c\": {\"b\": 1}}\n"},
    {"an anchored scalar", "[&x 5, *x]", "[5, 5]\n"},
    {"merge keys", "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n",
     "{\"a\": {\"b\": 1, \"c\": 2}, \"d\": {\"c\": 3, \"b\": 1}}\n"},
    {"merged lists", "[&x {a: 1}, &y {a: 2, b: 2}, {<<: [*x, *y]}]",
     "[{\"a\": 1}, {\"a\": 2, \"b\": 2}, {\"a\": 1, \"b\": 2}]\n"},
    {"keys are text", "{1: a, true: b}", "{\"1\": \"a\", \"true\": \"b\"}\n"},
    {"folded text", "a: >-\n  x\n  y\n", "{\"a\": \"x y\"}\n"},
    {"duplicate key", "a: 1\na: 2\n", NULL},
    {"unknown alias", "a: *x\n", NULL},
    {"an alias in itself", "a: &x [*x]\n", NULL},
    {"anchors end with the document", "a: &x 1\n---\nb: *x\n", NULL},
    {"unknown tag", "a: !python/object x\n", NULL},
    {"no such number", "a: .inf\n", NULL},
    {"too big a number", "a: 1e400\n", NULL},
    {"NUL", "a: \"x\\0y\"\n", NULL},
    {"a list as key", "? [1]\n: 2\n", NULL},
    {"no YAML", "a: [1\n", NULL},
};
/* clang-format on */

static GPtrArray *
yaml_read_text(YamlPositions *positions, const char *text, unsigned *n_faults)
{
    GPtrArray *documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autoptr(GPtrArray) faults = file_faults_new();
    gboolean ok = yaml_read(positions, "test.yaml", text, strlen(text), faults, documents);

    *n_faults = faults->len;
    assert_int_equal(ok, *n_faults == 0);
    return documents;
}

static void
reads(void **state)
{
    const ReadCase *row = *state;
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GString) lines = g_string_new(NULL);
    unsigned n_faults;
    g_autoptr(GPtrArray) documents = yaml_read_text(positions, row->text, &n_faults);

    for (unsigned i = 0; i < documents->len; i++) {
        char *line = json_dumps(documents->pdata[i], JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        g_string_append_printf(lines, "%s\n", line);
        free(line);
    }
    assert_int_equal(n_faults > 0, row->json == NULL);
    if (row->json != NULL)
        assert_string_equal(lines->str, row->json);
}
TEST_ROWS(read_cases, reads);

typedef struct {
    const char *path;
    unsigned line, column;
} PlaceCase;

TEST(knows_places)
{
    static const char *const text = "a: 1\nb:\n  c: true\n  d: [x, null, {e: false}]\nf: &x {g: "
                                    "7}\nh: *x\ni0: true\ni1: true\n";
    static const PlaceCase cases[] = {
        {"",         1, 1 },
        {"a",        1, 4 },
        {"b",        3, 3 },
        {"b.c",      3, 6 }, /* true is one value everywhere: it is found by its place */
        {"b.d[0]",   4, 7 },
        {"b.d[1]",   4, 10},
        {"b.d[2].e", 4, 20},
        {"b.d[9]",   4, 6 }, /* as far as the path exists */
        {"b.x.y",    3, 3 },
        {"h.g",      5, 11}, /* the value of an alias has the position of its anchor */
        {"i0",       7, 5 },
        {"i1",       8, 5 }, /* similar names */
    };
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    unsigned n_faults;
    g_autoptr(GPtrArray) documents = yaml_read_text(positions, text, &n_faults);
    YamlPosition at;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        assert_true(yaml_positions_path(positions, documents->pdata[0], cases[i].path, &at));
        assert_int_equal(at.line, cases[i].line);
        assert_int_equal(at.column, cases[i].column);
    }
    assert_true(yaml_positions_key(positions, documents->pdata[0], "b", &at));
    assert_int_equal(at.line, 2);
    assert_int_equal(at.column, 1);
}

/* ---- JSON by jansson ---- */

typedef struct {
    const char *name, *text;
    gboolean is_json;
} JsonCase;

/* clang-format off */
static const JsonCase json_cases[] = {
    {"JSON: an object",            "{\n  \"a\": [1, -2.5e+3, \"x\\n\\u00e9\\\"\"],\n  \"b\": {\"c\": null, \"d\": true}\n}\n", TRUE},
    {"JSON: a list",               "[{\"on\": \"yes\"}, {\"y\": \"010\"}, 9223372036854775807]",                               TRUE},
    {"JSON: letters of all kinds", "{\"a\": \"\xc3\xa9\\/\\t\"}",                                                              TRUE},
    {"JSON: YAML in brackets",     "{a: 1}",                                                                                   FALSE},
    {"JSON: a mapping",            "a: 1\n",                                                                                   FALSE},
    {"JSON: two documents",        "{\"a\": 1}\n---\n{\"b\": 2}\n",                                                            FALSE},
    {"JSON: a key twice",          "{\"a\": 1, \"a\": 2}",                                                                     FALSE},
    {"JSON: NUL",                  "{\"a\": \"\\u0000\"}",                                                                     FALSE},
    {"JSON: a comma too many",     "{\"a\": [1,],}",                                                                           FALSE},
    {"JSON: an integer too big",   "[9223372036854775808]",                                                                    FALSE},
    {"JSON: nothing",              "",                                                                                         FALSE},
};
/* clang-format on */

/* jansson reads the same values as libyaml, or leaves the text to libyaml. */
static void
reads_json(void **state)
{
    const JsonCase *row = *state;
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    unsigned n_faults;

    assert_int_equal(yaml_read_json(row->text, strlen(row->text), found), row->is_json);
    assert_int_equal(found->len, row->is_json);
    if (!row->is_json)
        return;
    g_autoptr(GPtrArray) documents = yaml_read_text(positions, row->text, &n_faults);
    assert_int_equal(n_faults, 0);
    assert_int_equal(documents->len, 1);
    assert_true(json_equal(found->pdata[0], documents->pdata[0]));
}
TEST_ROWS(json_cases, reads_json);
