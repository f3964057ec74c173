/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "models/api/object.h"
#include "models/cluster/model.h"
#include "run/scenario/effects.h"

/* docs/fields.md against the fields that Kubernetes knows: api-fields.txt has a line "KIND PATH"
 * for each. */

static GStrv lines;

static int
read_lines(void **state)
{
    const char *source = g_getenv("KVOLSIM_SRCDIR");
    g_autofree char *text = NULL;

    (void)state;
    assert_non_null(source);
    g_autofree char *path =
        g_build_filename(source, "tests", "run", "scenario", "api-fields.txt", NULL);
    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    lines = g_strsplit(g_strchomp(text), "\n", -1);
    return 0;
}

static int
free_lines(void **state)
{
    (void)state;
    g_strfreev(lines);
    return 0;
}

/* Splits a line. Returns: FALSE for a comment */
static gboolean
read_line(const char *line, char **kind, const char **path)
{
    if (*line == '#')
        return FALSE;
    *path = strchr(line, ' ') + 1;
    *kind = g_strndup(line, (gsize)(*path - 1 - line));
    return TRUE;
}

/* ReplicationControllers are refused, see later_kinds in run/scenario/objects.c. */
static gboolean
is_refused_or_known(const char *kind)
{
    ObjectKind found;

    return g_str_equal(kind, "ReplicationController") || kind_find(NULL, kind, &found);
}

static gboolean
has_a_class(const char *kind, const char *path)
{
    const ProcessClass *process = process_class_find(kind);

    if (process != NULL)
        return process_class_flag(process, path) != NULL || flag_effect_find(kind, path) != NULL;
    return field_effect_find(kind, path) != NULL ||
           (g_str_equal(kind, "Kinds") && is_refused_or_known(path));
}

static void
each_field_has_a_class(void **state)
{
    unsigned n_missing = 0;

    (void)state;
    for (unsigned i = 0; lines[i] != NULL; i++) {
        const char *path;
        g_autofree char *kind = NULL;
        if (!read_line(lines[i], &kind, &path) || has_a_class(kind, path))
            continue;
        print_message("docs/fields.md lacks %s\n", lines[i]);
        n_missing++;
    }
    assert_int_equal(n_missing, 0);
}

/* "spec.hard[requests.cpu]" is in the field "spec.hard". */
static gboolean
row_is_of_line(const FieldEffect *row, const char *kind, const char *path)
{
    const char *bracket = strchr(row->path, '[');
    size_t length = strlen(row->path);

    if (!g_str_equal(row->kind, kind))
        return FALSE;
    if (bracket != NULL && bracket[1] != ']')
        return strncmp(row->path, path, (size_t)(bracket - row->path)) == 0;
    return strncmp(row->path, path, length) == 0 && strchr(".[", path[length]) != NULL;
}

static void
each_row_is_a_field(void **state)
{
    unsigned n_wrong = 0;

    (void)state;
    for (unsigned i = 0; i < n_field_effects; i++) {
        const FieldEffect *row = &field_effects[i];
        gboolean found = g_str_equal(row->kind, "Flags") || process_class_find(row->kind) != NULL;
        for (unsigned j = 0; lines[j] != NULL && !found; j++) {
            const char *path;
            g_autofree char *kind = NULL;
            found = read_line(lines[j], &kind, &path) && row_is_of_line(row, kind, path);
        }
        if (!found)
            print_message("no field of Kubernetes: %s %s\n", row->kind, row->path);
        n_wrong += !found;
    }
    assert_int_equal(n_wrong, 0);
}

/* Of two rows for one path only the first would count. */
static void
each_row_stands_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < n_field_effects; i++)
        for (unsigned j = 0; j < i; j++)
            assert_false(g_str_equal(field_effects[i].kind, field_effects[j].kind) &&
                         g_str_equal(field_effects[i].path, field_effects[j].path) &&
                         field_effects[i].value == NULL && field_effects[j].value == NULL);
}

/* Nobody would hear of such a row. */
static void
no_row_is_of_a_modelled_flag(void **state)
{
    (void)state;
    for (unsigned i = 0; i < n_field_effects; i++) {
        const ProcessClass *process = process_class_find(field_effects[i].kind);
        if (process != NULL && process_class_flag(process, field_effects[i].path) != NULL)
            fail_msg("%s has the flag %s", process->name, field_effects[i].path);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_has_a_class),
        cmocka_unit_test(each_row_is_a_field),
        cmocka_unit_test(each_row_stands_once),
        cmocka_unit_test(no_row_is_of_a_modelled_flag),
    };

    return cmocka_run_group_tests(tests, read_lines, free_lines);
}
