/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim get, describe and events: kubectl's commands at an instant of a run. The run goes to the
 * instant, and run/kubectl prints its objects. With -w every later change is printed as it is
 * written, until the end of the run; an Event is printed only when the API shows it. Every error is
 * the user's here, so the status is that of bad input. */
#include <stdio.h>
#include <string.h>

#include "cli/common/look.h"
#include "commands.h"
#include "run/kubectl/kubectl.h"
#include "run/results/snapshot.h"

typedef int (*KubectlCommand)(const KubectlRequest *self, char **args);

static void
print_and_clear(GString *text, FILE *to)
{
    fwrite(text->str, 1, text->len, to);
    g_string_truncate(text, 0);
}

typedef struct {
    const Run *run;
    KubectlWatch *watch;
    GString *out;
    gboolean has_event; /* @event was written, but the API does not show it yet */
    gboolean is_new;
    unsigned event;
    ValueTime event_at;
} WatchCommand;

static void
print_event(WatchCommand *self)
{
    if (!self->has_event)
        return;
    self->has_event = FALSE;
    json_auto_t *event = snapshot_event(self->run, self->event);
    kubectl_watch_print(self->watch, self->is_new ? "ADDED" : "MODIFIED", event, self->event_at,
                        self->out);
    print_and_clear(self->out, stdout);
}

/* Called while it is being committed. */
static void
cmd_get_see_event(void *data, const RunRecord *record)
{
    WatchCommand *self = data;
    const ApiEventWrite *write = record->event;

    print_event(self);
    self->has_event = TRUE;
    self->is_new = write->index == API_NEW_EVENT;
    self->event =
        self->is_new ? api_server_n_events(cluster_api(run_cluster(self->run))) : write->index;
    self->event_at = snapshot_now(self->run);
}

static void
cmd_get_see_write(void *data, const RunRecord *record)
{
    WatchCommand *self = data;
    const Object *before = record->before, *after = record->after;

    print_event(self);
    json_auto_t *object = snapshot_object(self->run, after != NULL ? after : before);

    kubectl_watch_print(self->watch,
                        before == NULL  ? "ADDED"
                        : after == NULL ? "DELETED"
                                        : "MODIFIED",
                        object, snapshot_now(self->run), self->out);
    print_and_clear(self->out, stdout);
}

/* get -w: prints the objects at --at, then every change until the end of the run. */
static gboolean
watch(Look *look, const KubectlRequest *request, char **words)
{
    g_autoptr(KubectlWatch) watch = kubectl_watch_new(request, words);
    WatchCommand command = {.run = look->run, .watch = watch, .out = request->out};

    if (watch == NULL)
        return FALSE;
    kubectl_watch_list(watch, request->out);
    print_and_clear(request->out, stdout);
    records_watch(run_records(look->run), RECORD_WRITE, cmd_get_see_write, &command);
    records_watch(run_records(look->run), RECORD_EVENT, cmd_get_see_event, &command);
    run_execute(look->run);
    print_event(&command);
    return TRUE;
}

/* The last of @words is the scenario's file, the words before are for kubectl. */
static ExitCode
look_and_show(const LookOptions *look_options,
              const KubectlOptions *options,
              KubectlCommand command,
              char **words,
              int n)
{
    g_autofree char *file = g_strdup(words[n - 1]);
    g_autoptr(Look) look = look_open(look_options, file);
    const char *at = look_options->at == NULL && options->watch ? "0s" : look_options->at;

    if (look == NULL || !look_advance(look, "--at", at))
        return EXIT_BAD_INPUT;
    words[n - 1] = NULL;
    json_auto_t *list = snapshot_take(look->run);
    g_autoptr(KubectlCluster) cluster = kubectl_cluster_new(list);
    g_autoptr(GString) out = g_string_new(NULL), errors = g_string_new(NULL);
    const KubectlRequest request = {.cluster = cluster,
                                    .options = options,
                                    .now = snapshot_now(look->run),
                                    .out = out,
                                    .errors = errors};
    gboolean is_good =
        options->watch ? watch(look, &request, words) : command(&request, words) == 0;

    print_and_clear(out, stdout);
    fflush(stdout);
    print_and_clear(errors, stderr);
    /* kubectl ends with status 1 after any error. Here each of these errors is the user's: status
     * 2. */
    return is_good ? EXIT_DONE : EXIT_BAD_INPUT;
}

static ExitCode
run_command(int argc,
            char **argv,
            KubectlCommand command,
            int n_min,
            const char *arguments,
            const char *summary)
{
    g_auto(LookOptions) look_options = {0};
    g_auto(KubectlOptions) options = {0};
    g_autofree char *format = NULL;
    const GOptionEntry own[] = {CLI_FORMAT_OPTION(&format), G_OPTION_ENTRY_NULL};
    g_autofree GOptionEntry *kubectl = kubectl_option_entries(&options);
    g_autofree GOptionEntry *more = cli_join_entries(own, kubectl);
    g_autofree GOptionEntry *entries = look_entries(&look_options, more);
    g_autofree char *name = g_strdup(argv[0]);
    gboolean is_json;

    if (!cli_parse(&argc, &argv, entries, arguments, summary,
                   "Columns, words and options are kubectl's own. Times are virtual: 0s is "
                   "spec.start of the scenario.") ||
        !cli_parse_format(name, format, &is_json))
        return EXIT_BAD_INPUT;
    if (argc < n_min + 1)
        return cli_bad_input("%s: %s (see kvolsim %s --help)", name,
                             argc == 1 ? "what, and of which scenario file?"
                                       : "the last word must be a scenario file",
                             name);
    if (options.watch && command != kubectl_get)
        return cli_bad_input("%s: -w is of get only (get events -w)", name);
    if (options.output != NULL && format != NULL)
        return cli_bad_input("%s: give -o or --format", name);
    if (is_json)
        options.output = g_strdup("json");
    if (command == kubectl_describe && options.output != NULL &&
        strcmp(options.output, "json") != 0)
        return cli_bad_input("describe: -o: \"%s\" is not json", options.output);
    kubectl_options_finish(&options);
    return look_and_show(&look_options, &options, command, argv + 1, argc - 1);
}

int
cmd_get(int argc, char **argv)
{
    return run_command(
        argc, argv, kubectl_get, 2, "KIND [NAME…] SCENARIO",
        "Show objects as kubectl get would at an instant of a run, or their changes with -w.");
}

int
cmd_describe(int argc, char **argv)
{
    return run_command(argc, argv, kubectl_describe, 2, "KIND [NAME…] SCENARIO",
                       "Describe objects as kubectl describe would at an instant of a run.");
}

int
cmd_events(int argc, char **argv)
{
    return run_command(argc, argv, kubectl_events, 1, "SCENARIO",
                       "List Events as kubectl events would at an instant of a run.");
}
