/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/files/yaml-private.h"

typedef struct {
    const char *name;
    const char *text;
    const char *json; /* the documents, one a line; NULL: there are faults */
} ReadCase;

/* Scalars as sigs.k8s.io/yaml has them: what kubectl reads must be read alike. */
static const ReadCase read_cases[] = {
    {"mapping",                       "a: 1\nb: {c: [x, z]}\n",                       "{\"a\": 1, \"b\": {\"c\": [\"x\", \"z\"]}}\n"},
    {"json is yaml",                  "{\"a\": [1, 2.5, null, true]}",                "{\"a\": [1, 2.5, null, true]}\n"             },
    {"two documents",                 "a: 1\n---\nb: 2\n",                            "{\"a\": 1}\n{\"b\": 2}\n"                    },
    {"empty documents",               "---\n---\na: 1\n---\n# no\n",                  "{\"a\": 1}\n"                                },
    {"nothing",                       "",                                             ""                                            },
    {"booleans of YAML 1.1",          "[yes, No, on, OFF, y, True]",
     "[true, false, true, false, true, true]\n"                                                                                     },
    {"quoted words are text",         "['yes', \"1\", !!str 5]",                      "[\"yes\", \"1\", \"5\"]\n"                   },
    {"nulls",                         "{a: ~, b: null, c: , d: ''}",
     "{\"a\": null, \"b\": null, \"c\": null, \"d\": \"\"}\n"                                                                       },
    {"integers",                      "[0, -7, +3, 0x1f, 010, 0o17, 0b11, 1_000]",    "[0, -7, 3, 31, 8, 15, 3, 1000]\n"            },
    {"a zero before a point",         "[0.6, 0.75, 00.5]",                            "[0.6, 0.75, 0.5]\n"                          },
    {"floats",                        "[1.5, -2e3, .5, 1e400x]",                      "[1.5, -2000.0, 0.5, \"1e400x\"]\n"           },
    {"texts like numbers",            "[1.2.3, 10Gi, 5s, 1-2, -, 2026-01-01]",
     "[\"1.2.3\", \"10Gi\", \"5s\", \"1-2\", \"-\", \"2026-01-01\"]\n"                                                              },
    {"the biggest integers",          "[9223372036854775807, -9223372036854775808]",
     "[9223372036854775807, -9223372036854775808]\n"                                                                                },
    {"anchors",                       "a: &x {b: 1}\nc: *x\n",                        "{\"a\": {\"b\": 1}, \"c\": {\"b\": 1}}\n"    },
    {"an anchored scalar",            "[&x 5, *x]",                                   "[5, 5]\n"                                    },
    {"merge keys",                    "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n",
     "{\"a\": {\"b\": 1, \"c\": 2}, \"d\": {\"c\": 3, \"b\": 1}}\n"                                                                 },
    {"merged lists",                  "[&x {a: 1}, &y {a: 2, b: 2}, {<<: [*x, *y]}]",
     "[{\"a\": 1}, {\"a\": 2, \"b\": 2}, {\"a\": 1, \"b\": 2}]\n"                                                                   },
    {"keys are text",                 "{1: a, true: b}",                              "{\"1\": \"a\", \"true\": \"b\"}\n"           },
    {"folded text",                   "a: >-\n  x\n  y\n",                            "{\"a\": \"x y\"}\n"                          },
    {"duplicate key",                 "a: 1\na: 2\n",                                 NULL                                          },
    {"unknown alias",                 "a: *x\n",                                      NULL                                          },
    {"an alias in itself",            "a: &x [*x]\n",                                 NULL                                          },
    {"anchors end with the document", "a: &x 1\n---\nb: *x\n",                        NULL                                          },
    {"unknown tag",                   "a: !python/object x\n",                        NULL                                          },
    {"no such number",                "a: .inf\n",                                    NULL                                          },
    {"too big a number",              "a: 1e400\n",                                   NULL                                          },
    {"NUL",                           "a: \"x\\0y\"\n",                               NULL                                          },
    {"a list as key",                 "? [1]\n: 2\n",                                 NULL                                          },
    {"no YAML",                       "a: [1\n",                                      NULL                                          },
};

static void
count_fault(
    void *data, const YamlPosition *where, const char *path, const char *message, const char *hint)
{
    unsigned *n_faults = data;

    (void)where, (void)path, (void)message, (void)hint;
    (*n_faults)++;
}

static GPtrArray *
read_text(YamlPositions *positions, const char *text, unsigned *n_faults)
{
    GPtrArray *documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    const YamlReport report = {count_fault, n_faults};
    gboolean ok;

    *n_faults = 0;
    ok = yaml_read(positions, "test.yaml", text, strlen(text), &report, documents);
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
    g_autoptr(GPtrArray) documents = read_text(positions, row->text, &n_faults);

    for (unsigned i = 0; i < documents->len; i++) {
        char *line = json_dumps(documents->pdata[i], JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        g_string_append_printf(lines, "%s\n", line);
        free(line);
    }
    assert_int_equal(n_faults > 0, row->json == NULL);
    if (row->json != NULL)
        assert_string_equal(lines->str, row->json);
}

typedef struct {
    const char *path;
    unsigned line, column;
} PlaceCase;

static void
knows_places(void **state)
{
    static const char *const text = "a: 1\nb:\n  c: true\n  d: [x, null, {e: false}]\nf: &x {g: "
                                    "7}\nh: *x\ni0: true\ni1: true\n";
    static const PlaceCase cases[] = {
        {"",         1, 1 },
        {"a",        1, 4 },
        {"b",        3, 3 },
        {"b.c",      3, 6 }, /* true is one value everywhere: it goes by its place */
        {"b.d[0]",   4, 7 },
        {"b.d[1]",   4, 10},
        {"b.d[2].e", 4, 20},
        {"b.d[9]",   4, 6 }, /* as far as the path leads */
        {"b.x.y",    3, 3 },
        {"h.g",      5, 11}, /* what an alias shares stands at the anchor */
        {"i0",       7, 5 },
        {"i1",       8, 5 }, /* names that are nearly alike */
    };
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    unsigned n_faults;
    g_autoptr(GPtrArray) documents = read_text(positions, text, &n_faults);
    YamlPosition at;

    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        assert_true(yaml_positions_path(positions, documents->pdata[0], cases[i].path, &at));
        assert_int_equal(at.line, cases[i].line);
        assert_int_equal(at.column, cases[i].column);
    }
    assert_true(yaml_positions_key(positions, documents->pdata[0], "b", &at));
    assert_int_equal(at.line, 2);
    assert_int_equal(at.column, 1);
}

/* ---- Two readers ---- */

/* Texts as programs print them, and how much of each is read without libyaml. */
typedef struct {
    const char *name, *text;
    const char *rest; /* begins what libyaml reads; NULL: nothing */
} PlainCase;

#define CLAIM                                                                                      \
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  annotations:\n"                     \
    "    pv.kubernetes.io/bind-completed: \"yes\"\n  creationTimestamp: "                          \
    "\"2026-01-01T00:00:00Z\"\n"                                                                   \
    "  finalizers:\n  - kubernetes.io/pvc-protection\n  labels: {app: web, tier: 'st''ore'}\n"     \
    "  name: data-0\nspec:\n  accessModes:\n  - ReadWriteOnce\n  resources:\n    requests:\n"      \
    "      storage: 1Gi\n  volumeMode: Filesystem\nstatus: {}\n"

static const PlainCase plain_cases[] = {
    {"a claim",                  CLAIM,                                                               NULL       },
    {"documents",                "---\n" CLAIM "---\n---\n# a comment\na: 1\n",                       NULL       },
    {"a list of kubectl",
     "apiVersion: v1\nitems:\n- kind: A\n  spec:\n    n: -1\n    on: true\n"
     "- kind: B\n  list:\n  - 1.5\n  - null\n  - x y\nkind: List\n",                                  NULL       },
    {"JSON",
     "{\n    \"a\": [\n        1,\n        \"x\\n\\u00e9\\\"\"\n    ],\n"
     "    \"b\": {},\n    \"c\":{\"d\":null,\"e\":-2.5e+3,\"f\":true}\n}\n",                          NULL       },
    {"text as it stands",        "a: |\n  {\"x\": 1}\n\n    y: # z\nb: |-\n  1\n  2\nc:\n- |\n  z\n",
     NULL                                                                                                        },
    {"nothing behind a key",     "a:\nb:\n  c:\n  d: ~\n",                                            NULL       },
    {"blocks further in",        "a:\n    - b: 1\n      c:\n        - d\n    - e: {f: [g, h]}\n",     NULL       },
    {"keys in quotes",           "\"a: b\": 1\n'c': 2\nf:metadata: {}\n.: x\n",                       NULL       },
    {"only a comment",           "# nothing\n",                                                       NULL       },
    {"a comment behind a value", "a: 1\n---\nb: 2 # two\n",                                           "---\nb: 2"},
    {"an empty line in quotes",  "a:\n  b: 1\n   2  3\n    x\n  c: 'x: y  \n\n    z'\n",              "a:\n  b"  },
    {"a list behind a mapping",
     "a:\n  b: one\n    2: 3x\n  c: 'x: ''y''\n    z'\n- \"u\\n  \n  v\"\n",                          "a:\n  b"  },
    {"long messages",
     "a:\n  b: one\n    two\n   three\n  c: 'x: ''y''\n    z'\nd:\n- \"u\\n  \n  v\"\n- 1\n  2\n",    NULL       },
    {"an empty line in a text",  "a: 1\n---\nb: x\n\n  y\n---\nc: 3\n",                               "---\nb: x"},
    {"an anchor",                "a: &x 1\nb: *x\n",                                                  "a: &x"    },
    {"a key twice",              "a: 1\n---\nb: 1\nb: 2\n",                                           "---\nb: 1"},
    {"no such number",           "a: .inf\n",                                                         "a: .inf"  },
    {"a slip of the pen",        "a: 1\n---\nb: [1\n",                                                "---\nb: ["},
    {"other letters",            "a: 1\n---\nb: \xc3\xa9\n",                                          "a: 1"     },
    {"no line break at the end", "a: 1",                                                              "a: 1"     },
};

static void
reads_plainly(void **state)
{
    const PlainCase *row = *state;
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    YamlBuilder builder;
    unsigned n_faults = 0, line;
    const YamlReport report = {count_fault, &n_faults};

    yaml_builder_init(&builder, positions, "test.yaml", &report, documents);
    gsize n_read = yaml_read_plain(&builder, row->text, strlen(row->text), &line);
    yaml_builder_clear(&builder);
    assert_int_equal(n_faults, 0);
    if (row->rest == NULL) {
        assert_int_equal(n_read, strlen(row->text));
        return;
    }
    assert_true(g_str_has_prefix(row->text + n_read, row->rest));
    unsigned n_lines = 1;
    for (gsize i = 0; i < n_read; i++)
        n_lines += row->text[i] == '\n';
    assert_int_equal(line, n_lines);
}

/* All that a reader says of a text: values, their places and keys' places, faults; the first line
 * is @first_line. */
typedef struct {
    GString *said;
    unsigned first_line;
} Account;

static void
add_fault(
    void *data, const YamlPosition *where, const char *path, const char *message, const char *hint)
{
    Account *self = data;

    g_string_append_printf(self->said, "fault %u:%u %s: %s (%s)\n", where->line - self->first_line,
                           where->column, path, message, hint != NULL ? hint : "");
}

static void
add_place(Account *self, const char *of, gboolean is_known, const YamlPosition *at)
{
    if (is_known)
        g_string_append_printf(self->said, "%s %u:%u\n", of, at->line - self->first_line,
                               at->column);
    else
        g_string_append_printf(self->said, "%s nowhere\n", of);
}

static void
add_places(Account *self, YamlPositions *positions, json_t *value)
{
    YamlPosition at = {0};
    const char *key;
    json_t *member;
    gsize i;

    json_object_foreach(value, key, member)
    {
        add_place(self, key, yaml_positions_key(positions, value, key, &at), &at);
        add_place(self, "is", yaml_positions_member(positions, value, key, &at), &at);
        add_places(self, positions, member);
    }
    json_array_foreach(value, i, member)
    {
        add_place(self, "item", yaml_positions_item(positions, value, i, &at), &at);
        add_places(self, positions, member);
    }
}

/* Returns: (owned) */
static char *
account_of(const char *text, unsigned first_line)
{
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    Account self = {g_string_new(NULL), first_line};
    const YamlReport report = {add_fault, &self};

    yaml_read(positions, "test.yaml", text, strlen(text), &report, documents);
    for (unsigned i = 0; i < documents->len; i++) {
        YamlPosition at = {0};
        char *dumped = json_dumps(documents->pdata[i], JSON_ENCODE_ANY);
        g_string_append_printf(self.said, "%s\n", dumped);
        free(dumped);
        add_place(&self, "document", yaml_positions_find(positions, documents->pdata[i], &at), &at);
        add_places(&self, positions, documents->pdata[i]);
    }
    return g_string_free(self.said, FALSE);
}

/* A letter that is none of ASCII leaves the whole text to libyaml. */
static void
readers_agree_on(const char *text)
{
    g_autofree char *for_libyaml = g_strconcat("# \xc3\xa9\n", text, NULL);
    g_autofree char *plain = account_of(text, 1);
    g_autofree char *other = account_of(for_libyaml, 2);

    if (!g_str_equal(plain, other))
        print_message("%s\n", text);
    assert_string_equal(plain, other);
}

static gboolean
is_all_plain(const char *text)
{
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    YamlBuilder builder;
    unsigned line;

    yaml_builder_init(&builder, positions, "test.yaml", NULL, documents);
    gsize n_read = yaml_read_plain(&builder, text, strlen(text), &line);
    yaml_builder_clear(&builder);
    return n_read == strlen(text);
}

static void
spoil(GString *text, GRand *random)
{
    static const char letters[] = "-:#'\"{}[],&*!|>%@? \n\t\\x1.~<=y";
    static const char *const pieces[] = {
        "\n---\n", "\n...\n", ": ",  " #",  "- ",   "\n  ", "null", "0x1f", "{}",  "[]",
        "|\n ",    "|-\n",    "'':", "\"",  "\n\n", "? ",   "<<: ", "1_0",  ".5",  "\\u0041",
        "---",     "\n- ",    "a: ", "\n#", "- - ", ",",    ":\n",  "  ",   "1e3", "&a ",
    };
    gint32 at = g_rand_int_range(random, 0, (gint32)text->len), left = (gint32)text->len - at;
    gint32 few = g_rand_int_range(random, 1, 4);
    const char *end;

    switch (g_rand_int_range(random, 0, 6)) {
    case 0:
        g_string_erase(text, at, MIN(few, left));
        break;
    case 1:
        g_string_insert_c(text, at, letters[g_rand_int_range(random, 0, sizeof letters - 1)]);
        break;
    case 2:
        text->str[at] = letters[g_rand_int_range(random, 0, sizeof letters - 1)];
        break;
    case 3:
        g_string_insert(text, at, pieces[g_rand_int_range(random, 0, G_N_ELEMENTS(pieces))]);
        break;
    case 4: /* a piece again, elsewhere */
        end = memchr(text->str + at, '\n', (gsize)left);
        if (end != NULL) {
            g_autofree char *piece = g_strndup(text->str + at, (gsize)(end + 1 - (text->str + at)));
            g_string_insert(text, g_rand_int_range(random, 0, (gint32)text->len), piece);
        }
        break;
    default: /* a line further in or out */
        while (at > 0 && text->str[at - 1] != '\n')
            at--;
        if (g_rand_boolean(random) || text->str[at] != ' ')
            g_string_insert_c(text, at, ' ');
        else
            g_string_erase(text, at, 1);
        break;
    }
    if (text->len == 0)
        g_string_append_c(text, '\n');
}

#define SPOILT_PER_TEXT 3000

/* Whatever is written: the values, places and faults are those of libyaml. */
static void
readers_agree(void **state)
{
    GRand *random = g_rand_new_with_seed(1);
    unsigned n_plain = 0;

    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(read_cases); i++)
        readers_agree_on(read_cases[i].text);
    for (unsigned i = 0; i < G_N_ELEMENTS(plain_cases); i++) {
        const char *text = plain_cases[i].text;
        readers_agree_on(text);
        if (!g_str_is_ascii(text))
            continue;
        for (unsigned k = 0; k < SPOILT_PER_TEXT; k++) {
            g_autoptr(GString) spoilt = g_string_new(text);
            for (gint32 n = g_rand_int_range(random, 1, 4); n > 0; n--)
                spoil(spoilt, random);
            readers_agree_on(spoilt->str);
            n_plain += is_all_plain(spoilt->str);
        }
    }
    g_rand_free(random);
    assert_true(n_plain > SPOILT_PER_TEXT); /* not all were left to libyaml */
}

int
main(void)
{
    struct CMUnitTest tests[G_N_ELEMENTS(read_cases) + G_N_ELEMENTS(plain_cases) + 2];
    unsigned n = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(read_cases); i++)
        tests[n++] = (struct CMUnitTest){
            .name = read_cases[i].name,
            .test_func = reads,
            .initial_state = (void *)&read_cases[i],
        };
    for (unsigned i = 0; i < G_N_ELEMENTS(plain_cases); i++)
        tests[n++] = (struct CMUnitTest){
            .name = plain_cases[i].name,
            .test_func = reads_plainly,
            .initial_state = (void *)&plain_cases[i],
        };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(knows_places);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(readers_agree);
    return _cmocka_run_group_tests("yaml", tests, n, NULL, NULL);
}
