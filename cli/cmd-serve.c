/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim serve: serves the API of a run over HTTP, with its page, or exports the page of a
 * recorded run. Arguments become an engine, or two for a comparison with the same seed; the
 * session's record is written at the end. Ages of objects are computed by clients, so a run starts
 * at the present time unless it is told another one. A token is needed on addresses that others
 * reach. */
#include "commands.h"
#include "serve.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/common/language.h"
#include "cli/common/out-folder.h"
#include "models/api/field.h"
#include "run/results/results.h"
#include "run/teach/lesson.h"
#include "run/why/findings.h"
#include "serve/api/export.h"
#include "serve/api/http/connections.h"
#include "serve/api/http/http.h"

#define DEFAULT_LISTEN "127.0.0.1:8001"
/* Tokens are short: a file longer than this is not read as a whole. */
#define TOKEN_FILE_MAX 65536

typedef struct {
    /* As given. */
    char *listen, *speed_text, *start, *at, *record, *out, *token_file, *tls_cert, *tls_key,
        *kubeconfig, *seed, *versus, *export;
    char **set, **versus_set;
    gboolean no_stories, no_attribution, is_task;
    /* Read from it. */
    char *host, *token, *data_dir;
    guint16 port;
    double speed;
    SimTime begins_at, starts_at; /* starts_at: TIME_UNSET: the scenario's own */
    ScenarioOptions options, versus_options;
    GPtrArray *all_sets; /* of char ** (owned) */
    char *versus_title;
    /* While it serves. */
    ServeEngines *engines;
    HttpServer *server;
    GMainLoop *loop;
    int signals;
    gboolean is_terminated;
} ServeCommand;

/* ---- Arguments ---- */

/* "127.0.0.1:8001", "[::1]:8001", ":8001", "8001" */
static gboolean
read_listen(ServeCommand *self)
{
    const char *text = self->listen != NULL ? self->listen : DEFAULT_LISTEN;
    const char *colon = strrchr(text, ':'), *digits = colon != NULL ? colon + 1 : text;
    gsize length = colon != NULL ? (gsize)(colon - text) : 0;
    guint64 port;

    if (!g_ascii_string_to_unsigned(digits, 10, 0, 65535, &port, NULL)) {
        cli_error("serve: --listen: \"%s\" has no port (as %s)", text, DEFAULT_LISTEN);
        return FALSE;
    }
    self->port = (guint16)port;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']')
        self->host = g_strndup(text + 1, length - 2);
    else
        self->host = length > 0 ? g_strndup(text, length) : g_strdup("127.0.0.1");
    if (http_host_is_loopback(self->host) || self->token_file != NULL)
        return TRUE;
    cli_error("serve: --listen %s: others than this machine could do everything there; give "
              "--token-file FILE, whose token they must have",
              text);
    return FALSE;
}

static gboolean
read_token(ServeCommand *self)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    gsize length;

    if (self->token_file == NULL)
        return TRUE;
    if (!g_file_get_contents(self->token_file, &text, &length, &error)) {
        cli_error("serve: --token-file: %s", error->message);
        return FALSE;
    }
    if (length > TOKEN_FILE_MAX || strlen(text) != length || *g_strstrip(text) == '\0' ||
        strpbrk(text, " \t\r\n") != NULL) {
        cli_error("serve: --token-file: %s does not have one token, a word", self->token_file);
        return FALSE;
    }
    self->token = g_steal_pointer(&text);
    return TRUE;
}

/* Clients count ages by their own clock. */
static gboolean
read_start(ServeCommand *self)
{
    self->starts_at = TIME_UNSET;
    if (!cli_parse_time("--at", self->at, &self->begins_at))
        return FALSE;
    if (self->start == NULL)
        return TRUE;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *now_text = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
    if (!api_time_parse(strcmp(self->start, "now") == 0 ? now_text : self->start,
                        &self->starts_at)) {
        cli_error("serve: --start: \"%s\" is neither \"now\" nor a time, as "
                  "2026-01-01T00:00:00Z",
                  self->start);
        return FALSE;
    }
    return TRUE;
}

static gboolean
read_arguments(ServeCommand *self)
{
    self->speed = 1;
    if (self->speed_text != NULL && !serve_clock_parse_speed(self->speed_text, &self->speed)) {
        cli_error("serve: --speed: \"%s\" is no speed: a number from 0 on, or max",
                  self->speed_text);
        return FALSE;
    }
    if ((self->tls_cert == NULL) != (self->tls_key == NULL)) {
        cli_error("serve: --tls-cert and --tls-key go together");
        return FALSE;
    }
    return read_start(self) && read_listen(self) && read_token(self);
}

/* Joins the settings of all engines, @more of one engine and the seed into one list. Returns:
 * (borrowed): ends with NULL */
static const char *const *
join_sets(ServeCommand *self, char **more, const char *seed)
{
    GPtrArray *set = g_ptr_array_new();

    for (char **each = self->set; each != NULL && *each != NULL; each++)
        g_ptr_array_add(set, g_strdup(*each));
    for (char **each = more; each != NULL && *each != NULL; each++)
        g_ptr_array_add(set, g_strdup(*each));
    if (seed != NULL)
        g_ptr_array_add(set, g_strdup_printf("spec.seed=%s", seed));
    if (self->starts_at != TIME_UNSET) {
        char text[API_TIME_BUFFER];
        api_time_format(self->starts_at - self->begins_at, TRUE, text);
        g_ptr_array_add(set, g_strdup_printf("spec.start=\"%s\"", text));
    }
    g_ptr_array_add(set, NULL);
    g_ptr_array_add(self->all_sets, set->pdata);
    return (const char *const *)g_ptr_array_free(set, FALSE);
}

static Scenario *
cmd_serve_load(const char *file, const ScenarioOptions *options)
{
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, options, &faults);

    cli_print_faults(faults);
    return scenario;
}

/* ---- Words for the user ---- */

static char *
base_url(const ServeCommand *self)
{
    return g_strdup_printf("%s://%s", self->tls_cert != NULL ? "https" : "http",
                           http_server_address(self->server));
}

static void
print_greeting(const ServeCommand *self, const char *file)
{
    g_autofree char *url = base_url(self);
    char speed[32];

    if (self->speed <= 0)
        g_strlcpy(speed, "stands still", sizeof speed);
    else if (self->speed >= SPEED_MAX)
        g_strlcpy(speed, "runs as fast as it goes", sizeof speed);
    else
        g_snprintf(speed, sizeof speed, "runs at %g times", self->speed);
    printf("%s is served at %s; virtual time %s%s\n\n    kubectl --server %s%s get pods -A\n\n"
           "Ctrl-C ends it.\n",
           file, url, speed, self->speed > 0 && self->speed < SPEED_MAX ? " real time." : ".", url,
           self->token != NULL ? " --token TOKEN" : "");
    fflush(stdout);
}

static gboolean
write_kubeconfig(const ServeCommand *self)
{
    g_autofree char *url = base_url(self), *authority = NULL, *token = NULL, *text = NULL;
    g_autoptr(GError) error = NULL;

    if (self->kubeconfig == NULL)
        return TRUE;
    if (self->tls_cert != NULL) {
        g_autofree char *path = g_canonicalize_filename(self->tls_cert, NULL);
        authority = g_strdup_printf("    certificate-authority: %s\n", path);
    } else {
        /* @kubernetes/client-node refuses http without it. */
        authority = g_strdup("    insecure-skip-tls-verify: true\n");
    }
    if (self->token != NULL)
        token = g_strdup_printf("    token: %s\n", self->token);
    text = g_strdup_printf("apiVersion: v1\nkind: Config\ncurrent-context: kvolsim\n"
                           "clusters:\n- name: kvolsim\n  cluster:\n    server: %s\n%s"
                           "users:\n- name: kvolsim\n  user:%s\n%s"
                           "contexts:\n- name: kvolsim\n  context:\n    cluster: kvolsim\n"
                           "    user: kvolsim\n",
                           url, authority, token != NULL ? "" : " {}", token != NULL ? token : "");
    if (g_file_set_contents_full(self->kubeconfig, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
                                 &error))
        return TRUE;
    cli_error("serve: --kubeconfig: %s", error->message);
    return FALSE;
}

/* ---- The whole ---- */

static gboolean
on_signal(int fd, GIOCondition condition, void *data)
{
    ServeCommand *self = data;
    struct signalfd_siginfo signal;

    (void)condition;
    if (read(fd, &signal, sizeof signal) == sizeof signal) {
        self->is_terminated = signal.ssi_signo == SIGTERM;
        g_main_loop_quit(self->loop);
    }
    return G_SOURCE_CONTINUE;
}

/* Watches of ten thousand clients need as many descriptors. */
static void
raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = MIN(limit.rlim_max, HTTP_CONNECTIONS_MAX + 256);
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void
swap(GPtrArray **a, GPtrArray **b)
{
    GPtrArray *kept = *a;

    *a = *b;
    *b = kept;
}

/* The recorded scenario keeps the session's identity, so its results are those of a replay. */
static void
take_identity(ServeCommand *self)
{
    const ScenarioOptions options = {.data_dir = self->data_dir};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) recorded =
        self->record == NULL ? NULL : scenario_load(self->record, &options, &faults);
    Scenario *scenario = serve_engines_present(self->engines)->scenario;

    if (recorded == NULL)
        return;
    memcpy(scenario->hash, recorded->hash, sizeof recorded->hash);
    swap(&scenario->warnings, &recorded->warnings);
    swap(&scenario->ignored, &recorded->ignored);
}

static ExitCode
write_results(ServeCommand *self)
{
    g_autoptr(OutFolder) out = self->out == NULL ? NULL : out_folder_new(self->out);
    g_autoptr(GError) error = NULL;

    if (self->out == NULL)
        return EXIT_DONE;
    if (out == NULL)
        return EXIT_ERROR;
    take_identity(self);
    const ServeEngine *engine = serve_engines_present(self->engines);
    Run *run = engine->run;
    run_finish(run);
    g_autoptr(Stages) stages = stages_new(run);
    g_autoptr(Results) results = results_new(engine->scenario, run_options(run)->seed);
    results_add(results, run, stages);
    results_set_findings(results, why_findings(&(WhyView){.run = run, .calls = engine->calls}));
    g_autofree char *folder = out_folder_of_replication(out, 0, 1);
    if (folder == NULL || !results_write_run(run, stages, folder, &error) ||
        !results_write_summary(results, out_folder_partial(out), &error))
        return folder == NULL ? EXIT_ERROR : cli_fail("%s", error->message);
    return out_folder_finish(out);
}

/* Returns: (owned): %NULL: the input is bad, and the user knows */
static ServeEngine *
make_engine(const ServeCommand *self,
            const char *file,
            const ScenarioOptions *load_options,
            const char *title)
{
    const ServeEngineOptions options = {
        .load = load_options,
        .address = self->server != NULL ? http_server_address(self->server) : "",
        .language = language_for,
        .title = title,
        .no_stories = self->no_stories,
        .no_attribution = self->no_attribution};
    g_autoptr(GError) error = NULL;
    Scenario *scenario = cmd_serve_load(file, load_options);

    if (scenario == NULL)
        return NULL;
    ServeEngine *engine = serve_engine_new(&options, file, scenario, self->begins_at, &error);
    if (engine == NULL)
        cli_error("%s: %s", file, error->message);
    return engine;
}

/* Makes the engine of the other variant, which has the same seed. Returns: %FALSE: the input is bad
 */
static gboolean
make_variant(ServeCommand *self, const char *file, uint64_t seed, ServeEngine **variant)
{
    g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, seed);

    if (self->versus == NULL && self->versus_set == NULL)
        return TRUE;
    self->versus_options = self->options;
    self->versus_options.set = join_sets(self, self->versus_set, text);
    if (self->versus_set != NULL)
        self->versus_title = g_strjoinv(", ", self->versus_set);
    *variant = make_engine(self, self->versus != NULL ? self->versus : file, &self->versus_options,
                           self->versus_title);
    return *variant != NULL;
}

static ExitCode
cmd_serve_begin(ServeCommand *self, const char *file)
{
    const HttpServerOptions http = {.host = self->host,
                                    .port = self->port,
                                    .token = self->token,
                                    .tls_certificate = self->tls_cert,
                                    .tls_key = self->tls_key};
    g_autoptr(GError) error = NULL;
    g_autoptr(ServeEngine) present = NULL;
    ServeEngine *variant = NULL;

    self->data_dir = cli_data_dir();
    self->options = (ScenarioOptions){.data_dir = self->data_dir,
                                      .set = join_sets(self, NULL, self->seed),
                                      .keeps_document = TRUE};
    raise_limit();
    self->server = http_server_new(&http, &error);
    if (self->server == NULL)
        return cli_fail("serve: %s", error->message);
    present = make_engine(self, file, &self->options, NULL);
    if (present == NULL || !make_variant(self, file, present->scenario->seed, &variant))
        return EXIT_BAD_INPUT;
    ServeClock *clock = present->clock;
    self->engines = serve_engines_new(g_steal_pointer(&present), variant, self->record, &error);
    if (self->engines == NULL)
        return cli_fail("serve: --record: %s", error->message);
    serve_clock_set_speed(clock, self->speed);
    http_server_serve(self->server, self->engines);
    return write_kubeconfig(self) ? EXIT_DONE : EXIT_ERROR;
}

static void
cmd_serve_clear(ServeCommand *self)
{
    if (self->engines != NULL)
        serve_engines_cancel(self->engines);
    http_server_free(self->server);
    serve_engines_free(self->engines);
    g_clear_pointer(&self->loop, g_main_loop_unref);
    g_clear_pointer(&self->all_sets, g_ptr_array_unref);
    g_free(self->host);
    g_free(self->token);
    g_free(self->versus_title);
    g_free(self->data_dir);
}

/* The rest of the scenario's time passes, so that the task can be judged. */
static void
finish_task(const ServeCommand *self)
{
    const ServeEngine *engine = serve_engines_present(self->engines);
    SimTime end = engine->scenario->until_idle ? 0 : engine->scenario->until;

    if (sim_now(run_sim(engine->run)) < end)
        run_advance(engine->run, end);
    run_finish(engine->run);
}

/* Runs the scenario to its end, and writes the page of the recorded run. */
static ExitCode export(ServeCommand *self, const char *file)
{
    g_autoptr(OutFolder) out = out_folder_new(self->export);
    g_autoptr(GError) error = NULL;
    g_autoptr(ServeEngine) engine = NULL;

    if (out == NULL)
        return EXIT_ERROR;
    self->data_dir = cli_data_dir();
    self->options =
        (ScenarioOptions){.data_dir = self->data_dir, .set = join_sets(self, NULL, self->seed)};
    engine = make_engine(self, file, &self->options, NULL);
    if (engine == NULL)
        return EXIT_BAD_INPUT;
    if (!serve_export(engine, out_folder_partial(out), &error))
        return cli_fail("serve: --export: %s", error->message);
    ExitCode code = out_folder_finish(out);
    if (code == EXIT_DONE)
        printf("%s/index.html\n", self->export);
    return code;
}

static ExitCode
cmd_serve_serve(ServeCommand *self, const char *file)
{
    g_autoptr(GError) error = NULL;
    ExitCode code = cmd_serve_begin(self, file);

    if (code != EXIT_DONE)
        return code;
    self->loop = g_main_loop_new(NULL, FALSE);
    self->signals = cli_open_signals(0);
    guint source = g_unix_fd_add(self->signals, G_IO_IN, on_signal, self);
    print_greeting(self, file);
    g_main_loop_run(self->loop);
    g_source_remove(source);
    close(self->signals);
    serve_engines_cancel(self->engines);
    if (self->is_task) {
        finish_task(self);
        return EXIT_DONE;
    }
    if (!serve_session_finish(serve_engines_present(self->engines)->session, &error))
        return cli_fail("serve: --record: %s", error->message);
    code = write_results(self);
    return code != EXIT_DONE ? code : self->is_terminated ? EXIT_TERMINATED : EXIT_INTERRUPTED;
}

ExitCode
serve_task(const ServeTask *task, GString *report, gboolean *is_solved)
{
    ServeCommand self = {.listen = g_strdup(task->listen),
                         .speed_text = g_strdup(task->speed),
                         .set = g_strdupv((char **)task->set),
                         .all_sets = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev),
                         .is_task = TRUE};
    ExitCode code = read_arguments(&self) ? cmd_serve_serve(&self, task->file) : EXIT_BAD_INPUT;

    if (code == EXIT_DONE)
        *is_solved = lesson_judge(serve_engines_present(self.engines)->run, report);
    cmd_serve_clear(&self);
    g_free(self.listen);
    g_free(self.speed_text);
    g_strfreev(self.set);
    return code;
}

int
cmd_serve(int argc, char **argv)
{
    ServeCommand self = {.all_sets = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev)};
    const GOptionEntry entries[] = {
        CLI_OPTION("listen", STRING, &self.listen,
                   "Address and port; port 0: a free one (default: " DEFAULT_LISTEN ")",
                   "ADDRESS:PORT"),
        CLI_OPTION("speed", STRING, &self.speed_text,
                   "Virtual by real time: 1 (default), 60, max; 0: time stands still", "N"),
        CLI_OPTION("start", STRING, &self.start,
                   "The cluster's clock as it is first served: now, or a time as "
                   "2026-01-01T00:00:00Z",
                   "TIME"),
        CLI_OPTION("at", STRING, &self.at, "Serve from this time of the run on", "TIME"),
        CLI_OPTION("record", FILENAME, &self.record,
                   "Write what clients do as a scenario, which repeats it", "FILE"),
        CLI_OPTION("out", FILENAME, &self.out, "Write results into this folder at the end", "DIR"),
        CLI_OPTION("export", FILENAME, &self.export,
                   "Serve nothing: run the scenario, and write the page of the run as files",
                   "DIR"),
        CLI_OPTION("kubeconfig", FILENAME, &self.kubeconfig, "Write a kubeconfig for this server",
                   "FILE"),
        CLI_OPTION("token-file", FILENAME, &self.token_file,
                   "Callers must have the token in this file", "FILE"),
        CLI_OPTION("tls-cert", FILENAME, &self.tls_cert, "Serve HTTPS with this certificate (PEM)",
                   "FILE"),
        CLI_OPTION("tls-key", FILENAME, &self.tls_key, "... and this key (PEM)", "FILE"),
        CLI_OPTION("seed", STRING, &self.seed, "Use this seed instead of the scenario's", "N"),
        CLI_OPTION("set", STRING_ARRAY, &self.set,
                   "Change a value of the scenario, e.g. spec.nodes[0].count=5", "PATH=VALUE"),
        CLI_OPTION("versus", FILENAME, &self.versus,
                   "Serve this scenario with the same seed beside the first, below /versus/",
                   "SCENARIO"),
        CLI_OPTION("versus-set", STRING_ARRAY, &self.versus_set,
                   "... or the first one with a changed value", "PATH=VALUE"),
        CLI_OPTION("no-stories", NONE, &self.no_stories,
                   "Do not keep what explain and sequence tell: less memory", NULL),
        CLI_OPTION("no-attribution", NONE, &self.no_attribution,
                   "Do not record causes, nor tell where the time went: less memory", NULL),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(
            &argc, &argv, entries, "SCENARIO",
            "Serve a simulated cluster: the real kubectl, a browser and other clients work on "
            "it, and its\nclock is yours.",
            "Without a client the run is the one of `kvolsim run`. Time stops at the "
            "scenario's end until\nsomebody acts. /kvolsim/v1/ has the clock, why, explain, "
            "faults and more (docs/serve.md).\nExit status: 130 after Ctrl-C, 143 after "
            "SIGTERM, 1 I/O error, 2 bad input.") &&
        cli_has_one("serve", argc, "scenario") && read_arguments(&self))
        code = self.export != NULL ? export(&self, argv[1]) : cmd_serve_serve(&self, argv[1]);
    cmd_serve_clear(&self);
    cli_free_values(entries);
    return code;
}
