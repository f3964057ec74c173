/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim csi: serves a driver at a socket. Arguments give the parts that the process serves, its
 * back end and its state; the work is done by serve/csi. Signals and scrapes have a thread of their
 * own, so they are answered while the driver is at work. The first signal ends it after its calls,
 * a second one at once. */
#include "cli/common/cli.h"
#include "commands.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/common/loop-folder.h"
#include "serve/csi/server.h"

#define DRAIN_NS (30 * SIM_SECOND) /* what a kubelet gives a pod to end */
#define CALLS_MAX 20000

typedef struct {
    /* As given. */
    char *endpoint, *node, *profile, *scenario, *backend, *state_dir, *seed, *metrics, *name,
        *services, *mount, *mount_root, *log_format, *journal;
    char **topology, **set;
    double speed;
    /* Read from it. */
    Scenario *loaded;
    CsiPluginOptions options;
    CsiLogFormat format;
    gboolean is_loop;
    /* While it serves. */
    CsiServer *server;
    CsiCallsLog *log;
    LoopBackend *devices;
    GMainContext *context; /* of the thread for signals and scrapes */
    GMainLoop *loop;
    int signals;
    gboolean is_terminated;
} CsiCommand;

/* ---- What is given ---- */

static gboolean
cmd_csi_refuse(const char *message)
{
    cli_bad_usage("csi", message);
    return FALSE;
}

static const ScenarioDriver *
cmd_csi_find_driver(const CsiCommand *self)
{
    for (unsigned i = 0; i < self->loaded->n_drivers; i++)
        if (self->name == NULL || strcmp(self->loaded->drivers[i].name, self->name) == 0)
            return &self->loaded->drivers[i];
    cli_error("csi: %s has no driver%s%s", self->loaded->file, self->name != NULL ? " " : "",
              self->name != NULL ? self->name : "");
    return NULL;
}

static gboolean
read_services(CsiCommand *self)
{
    g_auto(GStrv) names =
        g_strsplit(self->services != NULL ? self->services : "controller,node", ",", -1);

    for (unsigned i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], "controller") == 0)
            self->options.has_controller = TRUE;
        else if (strcmp(names[i], "node") == 0)
            self->options.has_node = TRUE;
        else
            return cmd_csi_refuse("--services has controller, node or both");
    }
    if (self->options.has_node && self->node == NULL)
        self->node = g_strdup(g_get_host_name());
    self->options.node = self->options.has_node ? self->node : NULL;
    return TRUE;
}

static gboolean
read_mount(CsiCommand *self)
{
    static const char *const modes[] = {
        [CSI_MOUNT_NONE] = "none",
        [CSI_MOUNT_TMPFS] = "tmpfs",
        [CSI_MOUNT_OFF] = "off",
        [CSI_MOUNT_BIND] = "bind",
    };
    const char *given = self->mount != NULL ? self->mount : "none";

    self->options.mounts.root = self->mount_root != NULL ? self->mount_root : "/";
    for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++) {
        if (strcmp(modes[i], given) != 0)
            continue;
        self->options.mounts.mode = (CsiMountMode)i;
        if (i == CSI_MOUNT_BIND && self->state_dir == NULL)
            return cmd_csi_refuse("--mount bind needs --state-dir for the data");
        return TRUE;
    }
    return cmd_csi_refuse("--mount is none, tmpfs, bind or off");
}

static gboolean
read_arguments(CsiCommand *self, int argc)
{
    if (argc != 1 || self->endpoint == NULL)
        return cmd_csi_refuse("give --endpoint and no other argument");
    if (self->log_format != NULL && !csi_log_format_parse(self->log_format, &self->format))
        return cmd_csi_refuse("--log-format is text, json, mock or none");
    self->is_loop = g_strcmp0(self->backend, "loop") == 0;
    if (self->backend != NULL && !self->is_loop && strcmp(self->backend, "modelled") != 0)
        return cmd_csi_refuse("--backend is modelled or loop");
    if (!(self->speed > 0) || self->speed > 1e6 || (self->is_loop && self->speed != 1))
        return cmd_csi_refuse("--speed is above 0, at most 1000000, and 1 with real devices");
    if (self->scenario != NULL && self->profile != NULL)
        return cmd_csi_refuse("give --profile or --scenario: a scenario names its profile");
    return read_services(self) && read_mount(self);
}

/* Returns: %FALSE: what is wrong was printed */
static gboolean
cmd_csi_load(CsiCommand *self)
{
    CsiPluginOptions *options = &self->options;

    self->loaded =
        self->scenario != NULL
            ? cli_load_scenario(self->scenario, self->set)
            : cli_load_profile(self->profile != NULL ? self->profile : "generic",
                               self->name != NULL ? self->name : "csi.kvolsim.io", self->set);
    if (self->loaded == NULL || (options->driver = cmd_csi_find_driver(self)) == NULL ||
        !cli_parse_seed(self->seed, self->loaded, &options->seed))
        return FALSE;
    options->scenario = self->loaded;
    options->has_scenario_nodes = self->scenario != NULL;
    options->topology = self->topology;
    options->speed = self->speed;
    options->journal = self->journal;
    options->profile = self->scenario != NULL  ? NULL
                       : self->profile != NULL ? self->profile
                                               : "generic";
    options->state_folder = self->is_loop ? NULL : self->state_dir;
    options->mounts.folder =
        self->state_dir == NULL ? NULL : g_build_filename(self->state_dir, "volumes", NULL);
    return TRUE;
}

/* ---- Signals and scrapes: a thread of their own ---- */

static gboolean
on_signal(int fd, GIOCondition condition, void *data)
{
    CsiCommand *self = data;
    struct signalfd_siginfo signal;

    (void)condition;
    while (read(fd, &signal, sizeof signal) == sizeof signal) {
        self->is_terminated = signal.ssi_signo == SIGTERM;
        csi_server_stop(self->server);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean
on_scrape(GThreadedSocketService *service,
          GSocketConnection *connection,
          GObject *source,
          void *data)
{
    CsiCommand *self = data;
    char request[4096];
    GInputStream *from = g_io_stream_get_input_stream(G_IO_STREAM(connection));
    GOutputStream *to = g_io_stream_get_output_stream(G_IO_STREAM(connection));

    (void)service, (void)source;
    g_socket_set_timeout(g_socket_connection_get_socket(connection), 5);
    gssize n = g_input_stream_read(from, request, sizeof request - 1, NULL, NULL);
    request[MAX(n, 0)] = '\0';
    g_autofree char *text =
        g_str_has_prefix(request, "GET /metrics") ? csi_server_metrics(self->server) : NULL;
    g_autofree char *answer = g_strdup_printf(
        "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %zu\r\n"
        "Connection: close\r\n\r\n%s",
        text != NULL ? "200 OK" : "404 Not Found", text != NULL ? strlen(text) : 0,
        text != NULL ? text : "");
    g_output_stream_write_all(to, answer, strlen(answer), NULL, NULL, NULL);
    return TRUE;
}

/* Returns: (owned): %NULL: what is wrong was printed */
static GSocketService *
open_metrics(CsiCommand *self)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GSocketConnectable) address = g_network_address_parse(self->metrics, 9100, &error);
    g_autoptr(GSocketService) service = g_threaded_socket_service_new(4);
    g_autoptr(GInetAddress) host =
        address == NULL ? NULL
                        : g_inet_address_new_from_string(
                              g_network_address_get_hostname(G_NETWORK_ADDRESS(address)));
    g_autoptr(GSocketAddress) at =
        host == NULL ? NULL
                     : g_inet_socket_address_new(
                           host, g_network_address_get_port(G_NETWORK_ADDRESS(address)));
    g_autoptr(GSocketAddress) bound = NULL;

    if (at == NULL ||
        !g_socket_listener_add_address(G_SOCKET_LISTENER(service), at, G_SOCKET_TYPE_STREAM,
                                       G_SOCKET_PROTOCOL_TCP, NULL, &bound, &error)) {
        cli_error("csi: --metrics %s: %s", self->metrics,
                  error != NULL ? error->message
                                : "give an address and a port, such as 127.0.0.1:9100");
        return NULL;
    }
    csi_calls_log_note(self->log, "metrics: http://%s:%u/metrics",
                       g_network_address_get_hostname(G_NETWORK_ADDRESS(address)),
                       g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(bound)));
    g_signal_connect(service, "run", G_CALLBACK(on_scrape), self);
    return g_steal_pointer(&service);
}

static void *
wait_aside(void *data)
{
    CsiCommand *self = data;

    g_main_context_push_thread_default(self->context);
    g_main_loop_run(self->loop);
    g_main_context_pop_thread_default(self->context);
    return NULL;
}

/* ---- Serving ---- */

static ExitCode
serve_plugin(CsiCommand *self, CsiPlugin *plugin)
{
    g_autoptr(GSource) source = g_unix_fd_source_new(self->signals, G_IO_IN);
    g_autoptr(GSocketService) metrics = NULL;

    self->context = g_main_context_new();
    self->loop = g_main_loop_new(self->context, FALSE);
    g_source_set_callback(source, G_SOURCE_FUNC(on_signal), self, NULL);
    g_source_attach(source, self->context);
    g_main_context_push_thread_default(self->context);
    metrics = self->metrics != NULL ? open_metrics(self) : NULL;
    g_main_context_pop_thread_default(self->context);
    if (self->metrics != NULL && metrics == NULL)
        return EXIT_BAD_INPUT;
    GThread *aside = g_thread_new("csi-aside", wait_aside, self);
    csi_calls_log_note(self->log, "%s listens on %s",
                       self->name != NULL ? self->name : self->options.driver->name,
                       self->endpoint);
    csi_server_run(self->server, plugin);
    if (metrics != NULL)
        g_socket_service_stop(metrics);
    g_main_loop_quit(self->loop);
    g_thread_join(aside);
    return self->is_terminated ? EXIT_TERMINATED : EXIT_INTERRUPTED;
}

static ExitCode
serve_driver(CsiCommand *self)
{
    const CsiServerOptions server = {.endpoint = self->endpoint,
                                     .has_controller = self->options.has_controller,
                                     .has_node = self->options.has_node,
                                     .calls_max = CALLS_MAX,
                                     .drain_ns = DRAIN_NS};
    g_autoptr(GError) error = NULL;

    self->server = csi_server_new(&server, &error);
    if (self->server == NULL) {
        cli_error("csi: %s", error->message);
        return g_error_matches(error, CSI_SERVER_ERROR, CSI_SERVER_ERROR_ENDPOINT) ? EXIT_BAD_INPUT
                                                                                   : EXIT_ERROR;
    }
    self->options.answer = csi_server_answer;
    self->options.wake = csi_server_wake;
    self->options.wake_data = self->server;
    self->options.log = self->log;
    self->options.backend = self->devices;
    g_autoptr(CsiPlugin) plugin = csi_plugin_new(&self->options, &error);
    if (plugin == NULL) {
        cli_error("csi: %s", error->message);
        return error->domain == SIM_ERROR ? EXIT_BAD_INPUT : EXIT_ERROR;
    }
    return serve_plugin(self, plugin);
}

static ExitCode
cmd_csi_serve(CsiCommand *self)
{
    g_autoptr(GError) error = NULL;
    ExitCode code;

    self->signals = cli_open_signals(0); /* before the first thread */
    self->log = csi_calls_log_new(self->format, stdout);
    if (self->is_loop) {
        const LoopOptions loop = {.state_dir = self->state_dir != NULL ? self->state_dir
                                                                       : LOOP_FOLDER_DEFAULT,
                                  .attach_limit = self->options.driver->attach_limit};
        self->devices = loop_backend_open(&loop, &error);
        if (self->devices == NULL)
            return loop_folder_fail("csi", error);
    }
    code = serve_driver(self);
    csi_server_free(self->server);
    if (self->devices != NULL)
        loop_backend_close(self->devices);
    return code;
}

static void
cmd_csi_clear(CsiCommand *self)
{
    g_clear_pointer(&self->loop, g_main_loop_unref);
    g_clear_pointer(&self->context, g_main_context_unref);
    csi_calls_log_free(self->log);
    g_free((char *)self->options.mounts.folder);
    scenario_free(self->loaded);
}

int
cmd_csi(int argc, char **argv)
{
    CsiCommand self = {.speed = 1, .signals = -1};
    const GOptionEntry entries[] = {
        CLI_OPTION("endpoint", STRING, &self.endpoint, "The socket to make: unix:///path/csi.sock",
                   "SOCKET"),
        CLI_OPTION("node-id", STRING, &self.node,
                   "The node of the node service (default: the host's name)", "NAME"),
        CLI_OPTION("profile", FILENAME, &self.profile,
                   "Latencies, limits and capabilities of this back end (default: generic)",
                   "NAME|FILE"),
        CLI_OPTION("scenario", FILENAME, &self.scenario,
                   "Take the driver, its errors and faults, and the nodes from a scenario", "FILE"),
        CLI_OPTION("drivername", STRING, &self.name,
                   "The driver's name, or which one of the scenario", "NAME"),
        CLI_OPTION("services", STRING, &self.services, "controller, node or both (default)",
                   "LIST"),
        CLI_OPTION("backend", STRING, &self.backend,
                   "modelled (default), or loop: real devices, as root", "BACKEND"),
        CLI_OPTION("state-dir", FILENAME, &self.state_dir,
                   "Remember volumes in this folder; with real devices their folder", "DIR"),
        CLI_OPTION(
            "mount", STRING, &self.mount,
            "What a pod finds with the modelled back end: none (default), tmpfs, bind; off: paths "
            "are only names",
            "MODE"),
        CLI_OPTION("mount-root", FILENAME, &self.mount_root,
                   "Target paths lie below this folder (default: /)", "DIR"),
        CLI_OPTION("topology", STRING_ARRAY, &self.topology,
                   "A topology segment of the node; can be repeated", "KEY=VALUE"),
        CLI_OPTION("metrics", STRING, &self.metrics, "Serve metrics for Prometheus here",
                   "ADDRESS:PORT"),
        CLI_OPTION("log-format", STRING, &self.log_format,
                   "text (default), json, none, or mock: as csi-test's mock driver", "FORMAT"),
        CLI_OPTION("journal", FILENAME, &self.journal,
                   "Write each call into this file, for kvolsim replay and fit", "FILE"),
        CLI_OPTION("speed", DOUBLE, &self.speed, "Virtual by real time, for tests (default: 1)",
                   "N"),
        CLI_OPTION("seed", STRING, &self.seed, "The seed of latencies and errors", "N"),
        CLI_OPTION("set", STRING_ARRAY, &self.set,
                   "Change a value, e.g. spec.drivers[0].attachLimit=3", "PATH=VALUE"),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(&argc, &argv, entries, "",
                  "Serve the fake driver on a CSI socket, for sidecars, kubelets and csi-sanity.",
                  "Calls take the time that the profile says, with its limits and errors. See "
                  "docs/csi-driver.md.\n"
                  "SIGTERM: calls are answered first. Exit status: 143 after SIGTERM, 130 after "
                  "Ctrl-C, 1 I/O error, or somebody\n"
                  "listens there already, 2 bad input, 4 not permitted on this machine.") &&
        read_arguments(&self, argc) && cmd_csi_load(&self))
        code = cmd_csi_serve(&self);
    cmd_csi_clear(&self);
    cli_free_values(entries);
    return code;
}
