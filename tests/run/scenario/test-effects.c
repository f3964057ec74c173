/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/object.h"
#include "models/api/schema/resources.h"
#include "models/api/schema/schema.h"
#include "models/cluster/model.h"
#include "run/scenario/effects.h"
#include "run/scenario/scenario-test.h"
#include "tests/lib/test.h"

/* docs/fields.md against the fields that Kubernetes 1.18 to 1.36 know (the types of
 * models/api/schema), and the flags of processes: api-flags.txt has a line "PROCESS FLAG" for
 * each. */

static GStrv lines;

static int
read_lines(void **state)
{
    const char *source = g_getenv("KVOLSIM_SRCDIR");
    g_autofree char *text = NULL;

    (void)state;
    assert_non_null(source);
    g_autofree char *path =
        g_build_filename(source, "tests", "run", "scenario", "api-flags.txt", NULL);
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
TEST_PROGRAM(read_lines, free_lines);

/* Splits a line. Returns: FALSE for a comment */
static gboolean
effects_read_line(const char *line, char **kind, const char **path)
{
    if (*line == '#')
        return FALSE;
    *path = strchr(line, ' ') + 1;
    *kind = g_strndup(line, (gsize)(*path - 1 - line));
    return TRUE;
}

/* Kinds of the page that no API has: parts of others. */
static const SchemaType *
type_of(const char *kind)
{
    const SchemaType *pod_spec = schema_member(schema_find("v1", "Pod"), "spec");
    ObjectKind found;

    if (g_str_equal(kind, "Container"))
        return schema_member(pod_spec, "containers")->element;
    if (g_str_equal(kind, "Metadata"))
        return schema_member(schema_find("v1", "Pod"), "metadata");
    return kind_find(NULL, kind, &found)
               ? schema_find(kind_class(found)->api_version, kind_class(found)->kind)
               : NULL;
}

/* A class holds for all below. Returns: how many fields have none */
static unsigned
count_missing(const char *kind, const SchemaType *type, const char *path)
{
    unsigned n = 0;

    if (*path != '\0' && field_effect_find(kind, path) != NULL)
        return 0;
    if (type->shape == SCHEMA_LIST) {
        g_autofree char *items = g_strconcat(path, "[]", NULL);
        return count_missing(kind, type->element, items);
    }
    if (type->shape != SCHEMA_STRUCT) {
        print_message("docs/fields.md lacks %s %s\n", kind, path);
        return 1;
    }
    for (const SchemaField *field = type->fields; field->name != NULL; field++) {
        g_autofree char *inner = g_strconcat(path, *path != '\0' ? "." : "", field->name, NULL);
        if (!g_strv_contains((const char *const[]){"apiVersion", "kind", "metadata", NULL}, inner))
            n += count_missing(kind, field->type, inner);
    }
    return n;
}

TEST(each_field_has_a_class)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    unsigned n_missing = 0, n_kinds = 0;

    for (unsigned i = 0; i < n_field_effects; i++) {
        const SchemaType *type = type_of(field_effects[i].kind);
        if (type == NULL || !g_hash_table_add(seen, (void *)field_effects[i].kind))
            continue;
        n_missing += count_missing(field_effects[i].kind, type, "");
        n_kinds++;
    }
    assert_int_equal(n_missing, 0);
    assert_true(n_kinds > 30);
}

TEST(each_kind_has_a_class)
{
    const ApiResource *row;
    ObjectKind found;
    unsigned n_missing = 0;

    for (unsigned i = 0; (row = api_resource(i)) != NULL; i++) {
        if (strstr(row->verbs, "create") == NULL || /* made by the server */
            kind_find(NULL, row->kind, &found) || field_effect_find("Kinds", row->kind) != NULL)
            continue;
        print_message("docs/fields.md lacks Kinds %s\n", row->kind);
        n_missing++;
    }
    assert_int_equal(n_missing, 0);
}

TEST(each_flag_has_a_class)
{
    unsigned n_missing = 0;

    for (unsigned i = 0; lines[i] != NULL; i++) {
        const char *flag;
        g_autofree char *process = NULL;
        if (!effects_read_line(lines[i], &process, &flag) ||
            process_class_flag(process_class_find(process), flag) != NULL ||
            flag_effect_find(process, flag) != NULL)
            continue;
        print_message("docs/fields.md lacks %s\n", lines[i]);
        n_missing++;
    }
    assert_int_equal(n_missing, 0);
}

/* "spec.hard[requests.cpu]" is in the field "spec.hard". */
static gboolean
is_field(const SchemaType *type, const char *path)
{
    g_auto(GStrv) names = g_strsplit(path, ".", -1);

    for (char **name = names; *name != NULL; name++) {
        const char *bracket = strchr(*name, '[');
        g_autofree char *bare = g_strndup(*name, strcspn(*name, "["));

        while (type != NULL && type->element != NULL)
            type = type->element;
        type = schema_member(type, bare);
        if (type == NULL)
            return FALSE;
        if (type->shape == SCHEMA_ANY || (bracket != NULL && bracket[1] != ']'))
            return TRUE;
    }
    return TRUE;
}

static gboolean
is_kind(const char *kind)
{
    /* of alpha versions, and of others' definitions */
    static const char *const others[] = {"ClusterTrustBundle", "StorageVersion",
                                         "StorageVersionMigration", "VolumePopulator", NULL};
    const ApiResource *row;

    if (g_strv_contains(others, kind))
        return TRUE;

    for (unsigned i = 0; (row = api_resource(i)) != NULL; i++)
        if (g_str_equal(row->kind, kind))
            return TRUE;
    return FALSE;
}

static const SchemaType *
ephemeral_container(void)
{
    return schema_member(schema_member(schema_find("v1", "Pod"), "spec"), "ephemeralContainers")
        ->element;
}

static gboolean
is_flag(const char *process, const char *wanted)
{
    gboolean found = FALSE;

    for (unsigned i = 0; lines[i] != NULL && !found; i++) {
        const char *flag;
        g_autofree char *owner = NULL;
        found = effects_read_line(lines[i], &owner, &flag) && g_str_equal(owner, process) &&
                g_str_has_prefix(flag, wanted);
    }
    return found;
}

TEST(each_row_is_a_field)
{
    unsigned n_wrong = 0;

    for (unsigned i = 0; i < n_field_effects; i++) {
        const FieldEffect *row = &field_effects[i];
        const SchemaType *type = type_of(row->kind);
        gboolean found =
            g_str_equal(row->kind, "Flags") || process_class_find(row->kind) != NULL ||
            (g_str_equal(row->kind, "Kinds") && is_kind(row->path)) || is_field(type, row->path) ||
            (g_str_equal(row->kind, "Container") && is_field(ephemeral_container(), row->path)) ||
            is_flag(row->kind, row->path);
        if (!found)
            print_message("no field of Kubernetes: %s %s\n", row->kind, row->path);
        n_wrong += !found;
    }
    assert_int_equal(n_wrong, 0);
}

/* Of two rows for one path only the first would count. */
TEST(each_row_stands_once)
{
    for (unsigned i = 0; i < n_field_effects; i++)
        for (unsigned j = 0; j < i; j++)
            assert_false(g_str_equal(field_effects[i].kind, field_effects[j].kind) &&
                         g_str_equal(field_effects[i].path, field_effects[j].path) &&
                         field_effects[i].value == NULL && field_effects[j].value == NULL);
}

/* Nobody would hear of such a row. */
TEST(no_row_is_of_a_modelled_flag)
{
    for (unsigned i = 0; i < n_field_effects; i++) {
        const ProcessClass *process = process_class_find(field_effects[i].kind);
        if (process != NULL && process_class_flag(process, field_effects[i].path) != NULL)
            fail_msg("%s has the flag %s", process->name, field_effects[i].path);
    }
}
