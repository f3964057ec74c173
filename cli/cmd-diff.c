/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli/common/look.h"
#include "commands.h"
#include "run/kubectl/kubectl.h"
#include "run/results/snapshot.h"

static void
print_field(void *data, const char *path, const char *before, const char *after)
{
    (void)data;
    if (before == NULL)
        printf("    + %s: %s\n", path, after);
    else if (after == NULL)
        printf("    - %s: %s\n", path, before);
    else
        printf("    %s: %s -> %s\n", path, before, after);
}

static void
print_change(const SnapshotChange *change)
{
    json_t *object = change->after != NULL ? change->after : change->before;
    const char *namespace = value_text(object, "metadata.namespace");
    g_autofree char *kind = g_ascii_strdown(value_text(object, "kind"), -1);

    printf("%c %s/%s",
           change->before == NULL  ? '+'
           : change->after == NULL ? '-'
                                   : '~',
           kind, value_text(object, "metadata.name"));
    if (*namespace != '\0' && strcmp(namespace, "default") != 0)
        printf(" (namespace %s)", namespace);
    putchar('\n');
    if (change->before != NULL && change->after != NULL)
        snapshot_compare_fields(change->before, change->after, print_field, NULL);
}

static void
add_field(void *data, const char *path, const char *before, const char *after)
{
    json_array_append_new(
        data, json_pack("{s:s, s:s?, s:s?}", "path", path, "before", before, "after", after));
}

/* {change, kind, namespace, name, fields: [{path, before, after}]}: of fields, null is none. */
static json_t *
change_as_json(const SnapshotChange *change)
{
    json_t *object = change->after != NULL ? change->after : change->before;
    json_t *fields = json_array();

    if (change->before != NULL && change->after != NULL)
        snapshot_compare_fields(change->before, change->after, add_field, fields);
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "change",
                     change->before == NULL  ? "added"
                     : change->after == NULL ? "deleted"
                                             : "changed",
                     "kind", value_text(object, "kind"), "namespace",
                     value_text(object, "metadata.namespace"), "name",
                     value_text(object, "metadata.name"), "fields", fields);
}

static void
print_changes(const GArray *changes, gboolean is_json)
{
    json_auto_t *list = json_array();

    for (unsigned i = 0; i < changes->len; i++)
        if (is_json)
            json_array_append_new(list, change_as_json(&g_array_index(changes, SnapshotChange, i)));
        else
            print_change(&g_array_index(changes, SnapshotChange, i));
    if (is_json)
        cli_print_json(list);
}

/* The objects at two instants of one run. */
static ExitCode
cmd_diff_compare(const LookOptions *options,
                 const char *file,
                 const char *from,
                 const char *to,
                 gboolean is_json)
{
    g_autoptr(Look) look = look_open(options, file);

    if (look == NULL || !look_advance(look, "--from", from != NULL ? from : "0s"))
        return EXIT_BAD_INPUT;
    json_auto_t *before = snapshot_take(look->run);
    if (!look_advance(look, "--to", to))
        return EXIT_BAD_INPUT;
    json_auto_t *after = snapshot_take(look->run);
    g_autoptr(GArray) changes = snapshot_compare(before, after);
    print_changes(changes, is_json);
    return EXIT_DONE;
}

int
cmd_diff(int argc, char **argv)
{
    g_auto(LookOptions) options = {0};
    g_autofree char *from = NULL, *to = NULL, *format = NULL;
    gboolean is_json;
    const GOptionEntry more[] = {
        CLI_OPTION("from", STRING, &from, "The first instant (default: 0s)", "TIME"),
        CLI_OPTION("to", STRING, &to, "The second instant (default: the end of the run)", "TIME"),
        CLI_FORMAT_OPTION(&format),
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *entries = look_entries(&options, more);

    if (!cli_parse(
            &argc, &argv, entries + 1 /* no --at */, "SCENARIO",
            "Show how objects differ between two instants of a run.",
            "New objects are marked +, deleted objects -, changed objects ~ with their fields.") ||
        !cli_parse_format("diff", format, &is_json))
        return EXIT_BAD_INPUT;
    if (argc != 2)
        return cli_bad_usage("diff", "give one scenario file, --from and --to");
    return cmd_diff_compare(&options, argv[1], from, to, is_json);
}
