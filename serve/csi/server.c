/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: threads and a socket */
/* The gRPC server of a CSI driver, with two threads: one takes gRPC's events, the other works on
 * them and on virtual time, so the engine has no locks. A call has three events (arrived, closed,
 * sent) and is freed after the last. A method asks for its next calls in advance. More calls than
 * the limit are refused at once, and messages have a limit.
 *
 * A stop refuses new calls and waits for those under way for some time; a second stop does not
 * wait. A socket that a dead process left is removed, one that answers is not. */
#include "server.h"

#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITING_PER_METHOD                                                                         \
    16 /* calls of a method that gRPC may hand over before we ask for the next */
#define MESSAGE_BYTES_MAX (1 << 20) /* of a request */
#define METADATA_BYTES_MAX (16 << 10)
#define QUOTA_BYTES (256u << 20) /* of gRPC's own memory; more is refused */
#define STREAMS_MAX 20000        /* calls at once of a connection */
#define TIMER_SLACK_NS 1000      /* the kernel's default of 50 us would delay answers */

G_DEFINE_QUARK(kvolsim - csi - server - error, csi_server_error)

typedef struct ServerCall ServerCall;

typedef enum { CALL_ARRIVED, CALL_CLOSED, CALL_SENT, CALL_UNKNOWN, SERVER_DOWN } EventKind;

/* What gRPC gives back when something is done. */
typedef struct {
    EventKind kind;
    ServerCall *call;
} Tag;

struct ServerCall {
    CsiServer *server;
    CsiMethod method;    /* CSI_N_METHODS: one that we do not have */
    CsiPluginCall *work; /* NULL: not yet, or answered */
    grpc_call *call;
    gpr_timespec deadline;
    grpc_metadata_array metadata;
    grpc_byte_buffer *payload;
    grpc_call_details details; /* of an unknown method */
    int is_cancelled;
    Tag arrived, closed, sent;
    unsigned n_pending; /* of the three */
    gboolean is_closed;
};

typedef struct {
    Tag *tag;
    gboolean ok;
} Event;

struct CsiServer {
    CsiServerOptions options;
    char *path;
    grpc_server *server;
    grpc_completion_queue *queue;
    grpc_resource_quota *quota;
    void *methods[CSI_N_METHODS]; /* gRPC's handles; NULL: not served */
    CsiPlugin *plugin;            /* borrowed, while it runs */
    Tag down;
    GThread *poller;
    unsigned n_calls;
    int64_t ends_by; /* while it stops */
    GMutex lock;
    GCond news, metrics_news; /* of what follows */
    GArray *events;           /* of Event */
    gboolean is_woken, is_running, metrics_wanted;
    unsigned n_stops, n_stops_seen;
    char *metrics; /* (owned): for csi_server_metrics() */
};

/* ---- The socket ---- */

/* Returns: (owned): %NULL with @error */
static char *
server_path_of(const char *endpoint, GError **error)
{
    const char *path = g_str_has_prefix(endpoint, "unix://") ? endpoint + strlen("unix://")
                       : g_str_has_prefix(endpoint, "unix:") ? endpoint + strlen("unix:")
                                                             : endpoint;
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);

    if (path[0] == '\0' || strstr(path, "://") != NULL) {
        g_set_error(error, CSI_SERVER_ERROR, CSI_SERVER_ERROR_ENDPOINT,
                    "%s: give a socket of this machine, such as unix:///run/kvolsim/csi.sock",
                    endpoint);
        return NULL;
    }
    if (strlen(absolute) >= sizeof((struct sockaddr_un *)0)->sun_path) {
        g_set_error(error, CSI_SERVER_ERROR, CSI_SERVER_ERROR_ENDPOINT,
                    "%s: the path of a socket has at most %zu bytes", endpoint,
                    sizeof((struct sockaddr_un *)0)->sun_path - 1);
        return NULL;
    }
    return g_steal_pointer(&absolute);
}

/* Removes a socket that a dead process left. */
static gboolean
make_way(const char *path, GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;

    if (lstat(path, &status) != 0)
        return TRUE;
    if (!S_ISSOCK(status.st_mode)) {
        g_set_error(error, CSI_SERVER_ERROR, CSI_SERVER_ERROR_IO, "%s: is there, and is no socket",
                    path);
        return FALSE;
    }
    g_strlcpy(address.sun_path, path, sizeof address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    gboolean listens = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    gboolean is_stale = !listens && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    if (!is_stale || unlink(path) != 0) {
        g_set_error(error, CSI_SERVER_ERROR, listens ? CSI_SERVER_ERROR_TAKEN : CSI_SERVER_ERROR_IO,
                    "%s: %s", path, listens ? "another process listens there" : g_strerror(errno));
        return FALSE;
    }
    return TRUE;
}

static gboolean
bind_socket(CsiServer *self, GError **error)
{
    g_autofree char *address = g_strconcat("unix:", self->path, NULL);
    mode_t before = umask(0177);
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    gboolean ok = grpc_server_add_http2_port(self->server, address, credentials) != 0;

    grpc_server_credentials_release(credentials);
    umask(before);
    if (!ok)
        g_set_error(
            error, CSI_SERVER_ERROR, CSI_SERVER_ERROR_IO,
            "%s: no socket can be made there: is there such a folder, which one may write into?",
            self->path);
    return ok;
}

static gboolean
is_served(const CsiServerOptions *options, CsiMethod method)
{
    CsiService service = csi_method_service(method);

    return service == CSI_IDENTITY || (service == CSI_NODE && options->has_node) ||
           (service != CSI_NODE && options->has_controller);
}

static void
make_server(CsiServer *self)
{
    self->quota = grpc_resource_quota_create("callers");
    grpc_resource_quota_resize(self->quota, QUOTA_BYTES);
    grpc_arg args[] = {
        {GRPC_ARG_INTEGER,
         (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
         {.integer = MESSAGE_BYTES_MAX}                                                             },
        {GRPC_ARG_INTEGER, (char *)GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, {.integer = -1}                },
        {GRPC_ARG_INTEGER, (char *)GRPC_ARG_MAX_METADATA_SIZE,       {.integer = METADATA_BYTES_MAX}},
        {GRPC_ARG_INTEGER, (char *)GRPC_ARG_MAX_CONCURRENT_STREAMS,  {.integer = STREAMS_MAX}       },
        {GRPC_ARG_POINTER,
         (char *)GRPC_ARG_RESOURCE_QUOTA,
         {.pointer = {self->quota, grpc_resource_quota_arg_vtable()}}                               },
    };
    const grpc_channel_args channel = {G_N_ELEMENTS(args), args};

    self->server = grpc_server_create(&channel, NULL);
    self->queue = grpc_completion_queue_create_for_next(NULL);
    grpc_server_register_completion_queue(self->server, self->queue, NULL);
    for (unsigned i = 0; i < CSI_N_METHODS; i++)
        if (is_served(&self->options, (CsiMethod)i))
            self->methods[i] =
                grpc_server_register_method(self->server, csi_method_full_name((CsiMethod)i), NULL,
                                            GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
}

CsiServer *
csi_server_new(const CsiServerOptions *options, GError **error)
{
    g_autofree char *path = server_path_of(options->endpoint, error);

    if (path == NULL || !make_way(path, error))
        return NULL;
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    grpc_init();
    CsiServer *self = g_new0(CsiServer, 1);
    self->options = *options;
    self->path = g_steal_pointer(&path);
    self->down.kind = SERVER_DOWN;
    self->events = g_array_new(FALSE, FALSE, sizeof(Event));
    g_mutex_init(&self->lock);
    g_cond_init(&self->news);
    g_cond_init(&self->metrics_news);
    make_server(self);
    if (bind_socket(self, error))
        return self;
    csi_server_free(self);
    return NULL;
}

void
csi_server_free(CsiServer *self)
{
    if (self == NULL)
        return;
    if (self->poller == NULL) { /* it never ran: nobody else empties the queue */
        grpc_server_shutdown_and_notify(self->server, self->queue, &self->down);
        while (
            grpc_completion_queue_next(self->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).tag !=
            &self->down)
            continue;
        grpc_completion_queue_shutdown(self->queue);
        while (grpc_completion_queue_next(self->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
                   .type != GRPC_QUEUE_SHUTDOWN)
            continue;
    }
    grpc_server_destroy(self->server);
    grpc_completion_queue_destroy(self->queue);
    grpc_resource_quota_unref(self->quota);
    grpc_shutdown();
    unlink(self->path);
    g_array_unref(self->events);
    g_mutex_clear(&self->lock);
    g_cond_clear(&self->news);
    g_cond_clear(&self->metrics_news);
    g_free(self->metrics);
    g_free(self->path);
    g_free(self);
}

/* ---- Calls ---- */

static void
server_call_free(ServerCall *self)
{
    if (self->payload != NULL)
        grpc_byte_buffer_destroy(self->payload);
    if (self->call != NULL)
        grpc_call_unref(self->call);
    grpc_metadata_array_destroy(&self->metadata);
    if (self->method == CSI_N_METHODS)
        grpc_call_details_destroy(&self->details);
    g_free(self);
}

/* Asks for the next call of this method. */
static void
expect_call(CsiServer *self, CsiMethod method)
{
    ServerCall *call = g_new0(ServerCall, 1);
    grpc_call_error error;

    *call = (ServerCall){
        .server = self,
        .method = method,
        .arrived = {method == CSI_N_METHODS ? CALL_UNKNOWN : CALL_ARRIVED, call},
        .closed = {CALL_CLOSED,                                           call},
        .sent = {CALL_SENT,                                             call}
    };
    grpc_metadata_array_init(&call->metadata);
    if (method == CSI_N_METHODS) {
        grpc_call_details_init(&call->details);
        error = grpc_server_request_call(self->server, &call->call, &call->details, &call->metadata,
                                         self->queue, self->queue, &call->arrived);
    } else {
        error = grpc_server_request_registered_call(
            self->server, self->methods[method], &call->call, &call->deadline, &call->metadata,
            &call->payload, self->queue, self->queue, &call->arrived);
    }
    if (error != GRPC_CALL_OK)
        server_call_free(call);
}

static void
start_batch(ServerCall *call, const grpc_op *ops, size_t n, Tag *tag)
{
    if (grpc_call_start_batch(call->call, ops, n, tag, NULL) == GRPC_CALL_OK)
        call->n_pending++;
}

static void
send_status(ServerCall *call, CsiCode code, const char *text, grpc_byte_buffer *payload)
{
    grpc_slice details = grpc_slice_from_copied_string(text);
    grpc_op ops[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}};
    unsigned n = 1;

    if (payload != NULL)
        ops[n++] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE, .data.send_message = {payload}};
    ops[n] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
    ops[n].data.send_status_from_server.status = (grpc_status_code)code;
    ops[n++].data.send_status_from_server.status_details = &details;
    start_batch(call, ops, n, &call->sent);
    grpc_slice_unref(details);
}

void
csi_server_answer(void *data, CsiCode code, const char *text, const ProtobufCMessage *message)
{
    ServerCall *call = data;

    call->work = NULL;
    if (call->is_closed)
        return;
    if (message == NULL) {
        send_status(call, code, text, NULL);
        return;
    }
    grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    grpc_byte_buffer *payload = grpc_raw_byte_buffer_create(&slice, 1);
    send_status(call, code, text, payload);
    grpc_byte_buffer_destroy(payload);
    grpc_slice_unref(slice);
}

/* Returns: real time until the caller's deadline; 0: none */
static int64_t
time_left(gpr_timespec deadline)
{
    if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0)
        return 0;
    gpr_timespec left = gpr_time_sub(gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC),
                                     gpr_now(GPR_CLOCK_MONOTONIC));
    return left.tv_sec > INT32_MAX ? 0 : MAX(left.tv_sec * SIM_SECOND + left.tv_nsec, 1);
}

static void
take_call(CsiServer *self, ServerCall *call)
{
    const grpc_op close = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
                           .data.recv_close_on_server = {&call->is_cancelled}};
    grpc_byte_buffer_reader reader;

    self->n_calls++;
    start_batch(call, &close, 1, &call->closed);
    if (call->method == CSI_N_METHODS) {
        g_autofree char *name = g_strndup((const char *)GRPC_SLICE_START_PTR(call->details.method),
                                          MIN(GRPC_SLICE_LENGTH(call->details.method), 200));
        g_autofree char *text = g_strdup_printf("unknown method %s", name);
        g_autofree char *plain = g_utf8_make_valid(text, -1);
        send_status(call, CSI_UNIMPLEMENTED, plain, NULL);
        return;
    }
    if (self->n_calls > self->options.calls_max) {
        send_status(call, CSI_RESOURCE_EXHAUSTED, "too many calls at once", NULL);
        return;
    }
    if (call->payload == NULL || !grpc_byte_buffer_reader_init(&reader, call->payload)) {
        send_status(call, CSI_INVALID_ARGUMENT, "there is no request", NULL);
        return;
    }
    grpc_slice bytes = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    grpc_byte_buffer_destroy(g_steal_pointer(&call->payload));
    call->work = csi_plugin_call(self->plugin, call->method, GRPC_SLICE_START_PTR(bytes),
                                 GRPC_SLICE_LENGTH(bytes), time_left(call->deadline), call);
    grpc_slice_unref(bytes);
}

static void
handle(CsiServer *self, const Event *event)
{
    ServerCall *call = event->tag->call;

    switch (event->tag->kind) {
    case CALL_ARRIVED:
    case CALL_UNKNOWN:
        if (!event->ok) { /* the server is going down */
            server_call_free(call);
            return;
        }
        expect_call(self, call->method);
        take_call(self, call);
        break;
    case CALL_CLOSED:
        call->is_closed = TRUE;
        if (call->work != NULL)
            csi_plugin_abandon(self->plugin, g_steal_pointer(&call->work));
        call->n_pending--;
        break;
    case CALL_SENT:
        call->n_pending--;
        break;
    case SERVER_DOWN:
        self->is_running = FALSE;
        return;
    }
    if (call->n_pending == 0) {
        self->n_calls--;
        server_call_free(call);
    }
}

/* ---- Two threads ---- */

static void *
poll_queue(void *data)
{
    CsiServer *self = data;

    for (;;) {
        grpc_event event =
            grpc_completion_queue_next(self->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN)
            return NULL;
        const Event news = {event.tag, event.success != 0};
        g_mutex_lock(&self->lock);
        g_array_append_val(self->events, news);
        g_cond_signal(&self->news);
        g_mutex_unlock(&self->lock);
    }
}

/* Waits for news or for @due. @events: empty; swapped with the news */
static void
wait_for_news(CsiServer *self, int64_t due, GArray **events)
{
    int64_t until_us = due == INT64_MAX ? INT64_MAX : due / SIM_US + 1;

    g_mutex_lock(&self->lock);
    while (self->events->len == 0 && !self->is_woken && self->n_stops == self->n_stops_seen &&
           !self->metrics_wanted) {
        if (until_us == INT64_MAX)
            g_cond_wait(&self->news, &self->lock);
        else if (!g_cond_wait_until(&self->news, &self->lock, until_us))
            break;
    }
    self->is_woken = FALSE;
    GArray *news = self->events;
    self->events = *events;
    *events = news;
    if (self->metrics_wanted) {
        g_free(self->metrics);
        self->metrics = csi_plugin_metrics(self->plugin);
        self->metrics_wanted = FALSE;
        g_cond_broadcast(&self->metrics_news);
    }
    g_mutex_unlock(&self->lock);
}

static void
see_stops(CsiServer *self)
{
    g_mutex_lock(&self->lock);
    unsigned n = self->n_stops;
    g_mutex_unlock(&self->lock);
    if (n > 0 && self->n_stops_seen == 0) {
        self->ends_by = csi_plugin_clock() + self->options.drain_ns;
        grpc_server_shutdown_and_notify(self->server, self->queue, &self->down);
    }
    self->n_stops_seen = n;
    if (n > 1 || (n > 0 && csi_plugin_clock() >= self->ends_by)) {
        grpc_server_cancel_all_calls(self->server);
        self->ends_by = INT64_MAX;
    }
}

static void
server_begin(CsiServer *self, CsiPlugin *plugin)
{
    self->plugin = plugin;
    self->is_running = TRUE;
    self->ends_by = INT64_MAX;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
    grpc_server_start(self->server);
    for (unsigned i = 0; i < CSI_N_METHODS; i++)
        for (unsigned k = 0; k < WAITING_PER_METHOD && self->methods[i] != NULL; k++)
            expect_call(self, (CsiMethod)i);
    expect_call(self, CSI_N_METHODS);
    self->poller = g_thread_new("csi-grpc", poll_queue, self);
}

void
csi_server_run(CsiServer *self, CsiPlugin *plugin)
{
    GArray *events = g_array_new(FALSE, FALSE, sizeof(Event));

    server_begin(self, plugin);
    int64_t due = csi_plugin_turn(plugin);
    while (self->is_running) {
        wait_for_news(self, MIN(due, self->ends_by), &events);
        see_stops(self);
        for (unsigned i = 0; i < events->len; i++)
            handle(self, &g_array_index(events, Event, i));
        g_array_set_size(events, 0);
        due = csi_plugin_turn(plugin);
    }
    grpc_completion_queue_shutdown(self->queue);
    g_thread_join(self->poller);
    for (unsigned i = 0; i < self->events->len; i++)
        handle(self, &g_array_index(self->events, Event, i));
    csi_plugin_turn(plugin);
    g_array_unref(events);
    g_mutex_lock(&self->lock);
    self->plugin = NULL;
    self->metrics_wanted = FALSE;
    g_cond_broadcast(&self->metrics_news);
    g_mutex_unlock(&self->lock);
}

void
csi_server_wake(void *data)
{
    CsiServer *self = data;

    g_mutex_lock(&self->lock);
    self->is_woken = TRUE;
    g_cond_signal(&self->news);
    g_mutex_unlock(&self->lock);
}

void
csi_server_stop(CsiServer *self)
{
    g_mutex_lock(&self->lock);
    self->n_stops++;
    g_cond_signal(&self->news);
    g_mutex_unlock(&self->lock);
}

char *
csi_server_metrics(CsiServer *self)
{
    g_mutex_lock(&self->lock);
    g_clear_pointer(&self->metrics, g_free);
    self->metrics_wanted = self->plugin != NULL;
    g_cond_signal(&self->news);
    while (self->metrics_wanted)
        g_cond_wait(&self->metrics_news, &self->lock);
    char *text = g_steal_pointer(&self->metrics);
    g_mutex_unlock(&self->lock);
    return text;
}
