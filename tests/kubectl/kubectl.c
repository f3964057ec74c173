/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kubectl DIR...: answers the command lines of DIR/commands.txt from DIR/objects.json at the
 * recorded times, and compares with what the real kubectl printed (DIR/FILE.out). Output is a diff
 * for each failure; the last line is N passed, N failed, N skipped.
 *
 * An age is told at some instant between the times before and after a command. Where these give
 * different texts, each line must be right for one of the instants at which an age can change. */
#include <stdio.h>
#include <string.h>

#include "run/kubectl/kubectl-test.h"
#include "run/kubectl/kubectl.h"

#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)

typedef struct {
    unsigned n_passed, n_failed, n_skipped;
} KubectlTally;

/* Splits words as a shell. Recordings have no quotes, so JSON and templates stay whole if blanks
 * are the only separators. */
static char **
split_words(const char *line)
{
    g_autofree char *stripped = g_strstrip(g_strdup(line));

    return g_strsplit(stripped, " ", -1);
}

static void
print_diff(const char *name, const char *expected, const char *actual)
{
    g_auto(GStrv) left = g_strsplit(expected, "\n", -1);
    g_auto(GStrv) right = g_strsplit(actual, "\n", -1);
    unsigned n_left = g_strv_length(left), n_right = g_strv_length(right), n_told = 0;

    printf("%s: differs\n", name);
    for (unsigned i = 0; i < MAX(n_left, n_right) && n_told < 12; i++) {
        const char *a = i < n_left ? left[i] : NULL, *b = i < n_right ? right[i] : NULL;

        if (g_strcmp0(a, b) == 0)
            continue;
        if (a != NULL)
            printf("%4u - %s\n", i + 1, a);
        if (b != NULL)
            printf("%4u + %s\n", i + 1, b);
        n_told++;
    }
}

/* Returns: (owned): the output and errors of a command at @now; NULL for other commands */
static char *
kubectl_answer(const KubectlCluster *cluster, const char *command, ValueTime now)
{
    g_auto(GStrv) words = split_words(command);
    g_autoptr(GString) out = g_string_new(NULL), errors = g_string_new(NULL);
    KubectlRequest request = {.cluster = cluster, .now = now, .out = out, .errors = errors};

    if (g_strcmp0(words[0], "kubectl") != 0 || kubectl_run(&request, words + 1) < 0)
        return NULL;
    g_string_append(out, errors->str);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* Whether each line equals that of one of @answers, which have the same number of lines. */
static gboolean
mixed_matches(GPtrArray *answers, const char *expected)
{
    g_auto(GStrv) lines = g_strsplit(expected, "\n", -1);
    g_autoptr(GPtrArray) split = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    unsigned n = g_strv_length(lines);

    for (unsigned a = 0; a < answers->len; a++) {
        g_ptr_array_add(split, g_strsplit(answers->pdata[a], "\n", -1));
        if (g_strv_length(split->pdata[a]) != n)
            return FALSE;
    }
    for (unsigned i = 0; i < n; i++) {
        gboolean is_found = FALSE;

        for (unsigned a = 0; a < answers->len && !is_found; a++)
            is_found = strcmp(((char **)split->pdata[a])[i], lines[i]) == 0;
        if (!is_found)
            return FALSE;
    }
    return TRUE;
}

static void
check_command(KubectlTally *tally,
              const KubectlCluster *cluster,
              const char *name,
              const char *expected,
              ValueTime before,
              ValueTime after,
              const char *command)
{
    g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(g_free);

    /* Ages of whole seconds change at whole seconds, those of Events with microseconds at any time:
     * steps of 20 ms are enough. */
    for (ValueTime now = before;; now = MIN(now + 20 * MS, after)) {
        char *text = kubectl_answer(cluster, command, now);

        if (text == NULL) {
            tally->n_skipped++;
            printf("%s: skipped: %s\n", name, command);
            return;
        }
        g_ptr_array_add(answers, text);
        if (strcmp(text, expected) == 0) {
            tally->n_passed++;
            return;
        }
        if (now == after)
            break;
    }
    if (mixed_matches(answers, expected)) {
        tally->n_passed++;
        return;
    }
    tally->n_failed++;
    print_diff(name, expected, answers->pdata[0]);
}

/* Returns: (owned): the watch events of `get KIND -w`, from DIR/watch-KIND.jsonl */
static char *
read_stream(const char *folder, char **words)
{
    for (unsigned i = 2; words[i] != NULL; i++) {
        g_autofree char *name = g_strdup_printf("watch-%s.jsonl", words[i]);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        char *text;

        if (g_file_get_contents(path, &text, NULL, NULL))
            return text;
    }
    return NULL;
}

/* @expected: lines of receipt time, tab, text. Prints each object of the stream at the time of its
 * line, less the API server's delay. The first objects of a watch are printed together. */
static gboolean
watch_matches(
    const char *stream, char **words, const char *expected, ValueTime early, GString *told)
{
    g_auto(KubectlOptions) options = {0};
    g_autofree GOptionEntry *entries = kubectl_option_entries(&options);
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_auto(GStrv) rest = g_strdupv(words + 1), objects = g_strsplit(stream, "\n", -1);
    g_auto(GStrv) lines = g_strsplit(expected, "\n", -1);
    g_autoptr(GString) errors = g_string_new(NULL), out = g_string_new(NULL),
                       wanted = g_string_new(NULL);
    KubectlRequest request = {.options = &options, .errors = errors};

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse_strv(context, &rest, NULL))
        return FALSE;
    g_autoptr(KubectlWatch) watch = kubectl_watch_new(&request, rest + 1);
    if (watch == NULL)
        return FALSE;
    for (unsigned i = 1; lines[i] != NULL && *lines[i] != '\0'; i++) {
        const char *tab = strchr(lines[i], '\t');
        g_autofree char *time = g_strndup(lines[i], (gsize)(tab - lines[i]));
        json_auto_t *event = objects[i - 1] != NULL ? json_loads(objects[i - 1], 0, NULL) : NULL;

        if (event == NULL)
            return FALSE;
        kubectl_watch_print(watch, value_text(event, "type"), value_at(event, "object"),
                            value_time_parse(time) - early, out);
    }
    for (unsigned i = 0; lines[i] != NULL && *lines[i] != '\0'; i++)
        g_string_append_printf(wanted, "%s\n", strchr(lines[i], '\t') + 1);
    if (strcmp(out->str, wanted->str) == 0)
        return TRUE;
    g_string_assign(told, out->str);
    return FALSE;
}

/* Whether each line is right for one of several delays of the watch. */
static gboolean
watch_mixed_matches(const char *stream, char **words, const char *expected)
{
    g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) lines = g_strsplit(expected, "\n", -1);
    g_autoptr(GString) wanted = g_string_new(NULL);

    for (unsigned i = 0; lines[i] != NULL && *lines[i] != '\0'; i++)
        g_string_append_printf(wanted, "%s\n", strchr(lines[i], '\t') + 1);
    for (ValueTime early = 0; early <= 100 * MS; early += 20 * MS) {
        g_autoptr(GString) told = g_string_new(NULL);

        if (watch_matches(stream, words, expected, early, told))
            return TRUE;
        g_ptr_array_add(answers, g_strdup(told->str));
    }
    return mixed_matches(answers, wanted->str);
}

static void
check_watch(KubectlTally *tally,
            const char *folder,
            const char *name,
            const char *expected,
            const char *command)
{
    g_auto(GStrv) words = split_words(command);
    g_autofree char *stream = read_stream(folder, words);
    g_autoptr(GString) told = g_string_new(NULL);

    if (stream == NULL) {
        tally->n_skipped++;
        printf("%s: skipped: no stream of objects\n", name);
    } else if (watch_matches(stream, words, expected, 0, told) ||
               watch_mixed_matches(stream, words, expected)) {
        tally->n_passed++;
    } else {
        tally->n_failed++;
        print_diff(name, expected, told->str);
    }
}

static gboolean
is_watch(const char *command)
{
    g_auto(GStrv) words = split_words(command);

    return g_strv_contains((const char *const *)words, "-w");
}

static void
check_folder(KubectlTally *tally, const char *folder)
{
    g_autofree char *commands_path = g_build_filename(folder, "commands.txt", NULL);
    g_autofree char *objects_path = g_build_filename(folder, "objects.json", NULL);
    g_autofree char *commands = NULL;
    json_auto_t *list = json_load_file(objects_path, 0, NULL);
    g_autoptr(KubectlCluster) cluster = kubectl_cluster_new(value_at(list, "items"));
    g_autoptr(GError) error = NULL;

    if (!g_file_get_contents(commands_path, &commands, NULL, &error)) {
        printf("%s\n", error->message);
        tally->n_failed++;
        return;
    }
    g_auto(GStrv) lines = g_strsplit(commands, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        g_auto(GStrv) fields = g_strsplit(lines[i], "\t", 4);
        g_autofree char *path = NULL, *expected = NULL;

        if (g_strv_length(fields) < 4)
            continue;
        path = g_build_filename(folder, fields[0], NULL);
        if (!g_file_get_contents(path, &expected, NULL, NULL)) {
            printf("%s: skipped: no such file\n", path);
            tally->n_skipped++;
        } else if (is_watch(fields[3])) {
            check_watch(tally, folder, path, expected, fields[3]);
        } else if (list == NULL || value_time_parse(fields[1]) == VALUE_TIME_NONE) {
            printf("%s: skipped: no objects or time\n", path);
            tally->n_skipped++;
        } else {
            check_command(tally, cluster, path, expected, value_time_parse(fields[1]),
                          value_time_parse(fields[2]), fields[3]);
        }
    }
}

int
main(int argc, char **argv)
{
    KubectlTally tally = {0};

    for (int i = 1; i < argc; i++)
        check_folder(&tally, argv[i]);
    printf("%u passed, %u failed, %u skipped\n", tally.n_passed, tally.n_failed, tally.n_skipped);
    return tally.n_failed == 0 && argc > 1 ? 0 : 1;
}
