/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: a socket */
/* A gRPC client of CSI drivers, for runs against drivers that are other processes. Calls of all
 * connections share one completion queue and answer on the thread that waits, so the run needs no
 * lock. Closing cancels calls that are under way, and later answers are dropped. A wait that must
 * not last takes a time in the past, since gRPC would else wait for a millisecond. */
#include "client.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <string.h>

typedef struct {
    grpc_channel *channel;
    void *methods[CSI_N_METHODS]; /* gRPC's handles */
} ClientConnection;

struct CsiClient {
    grpc_completion_queue *queue;
    GArray *connections; /* of Connection */
    unsigned n_calls;
    gboolean is_closing;
};

typedef struct {
    grpc_call *call;
    CsiClientReply reply;
    void *data;
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *answer;
    grpc_status_code status;
    grpc_slice details;
} CsiClientCall;

CsiClient *
csi_client_new(void)
{
    CsiClient *self = g_new0(CsiClient, 1);

    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    grpc_init();
    self->queue = grpc_completion_queue_create_for_next(NULL);
    self->connections = g_array_new(FALSE, FALSE, sizeof(ClientConnection));
    return self;
}

unsigned
csi_client_connect(CsiClient *self, const char *endpoint)
{
    const char *path = g_str_has_prefix(endpoint, "unix://") ? endpoint + strlen("unix://")
                       : g_str_has_prefix(endpoint, "unix:") ? endpoint + strlen("unix:")
                                                             : endpoint;
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);
    g_autofree char *target = g_strconcat("unix:", absolute, NULL);
    grpc_arg args[] = {
        {GRPC_ARG_INTEGER, (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, {.integer = -1}},
        {GRPC_ARG_INTEGER, (char *)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,  {.integer = 1} },
    };
    const grpc_channel_args channel = {G_N_ELEMENTS(args), args};
    grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
    ClientConnection connection = {.channel = grpc_channel_create(target, credentials, &channel)};

    grpc_channel_credentials_release(credentials);
    for (unsigned i = 0; i < CSI_N_METHODS; i++)
        connection.methods[i] = grpc_channel_register_call(
            connection.channel, csi_method_full_name((CsiMethod)i), NULL, NULL);
    g_array_append_val(self->connections, connection);
    return self->connections->len - 1;
}

static void
csi_client_call_free(CsiClientCall *self)
{
    if (self->answer != NULL)
        grpc_byte_buffer_destroy(self->answer);
    grpc_metadata_array_destroy(&self->initial);
    grpc_metadata_array_destroy(&self->trailing);
    grpc_slice_unref(self->details);
    grpc_call_unref(self->call);
    g_free(self);
}

void
csi_client_free(CsiClient *self)
{
    if (self == NULL)
        return;
    self->is_closing = TRUE;
    for (unsigned i = 0; i < self->connections->len; i++) /* cancels its calls */
        grpc_channel_destroy(g_array_index(self->connections, ClientConnection, i).channel);
    while (self->n_calls > 0)
        csi_client_wait(self, g_get_monotonic_time() + G_USEC_PER_SEC);
    grpc_completion_queue_shutdown(self->queue);
    while (grpc_completion_queue_next(self->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).type !=
           GRPC_QUEUE_SHUTDOWN)
        continue;
    grpc_completion_queue_destroy(self->queue);
    grpc_shutdown();
    g_array_unref(self->connections);
    g_free(self);
}

void
csi_client_call(CsiClient *self,
                unsigned connection,
                CsiMethod method,
                const ProtobufCMessage *message,
                int64_t timeout_ns,
                CsiClientReply reply,
                void *data)
{
    const ClientConnection *to = &g_array_index(self->connections, ClientConnection, connection);
    CsiClientCall *call = g_new0(CsiClientCall, 1);
    gpr_timespec deadline = timeout_ns == 0
                                ? gpr_inf_future(GPR_CLOCK_REALTIME)
                                : gpr_time_add(gpr_now(GPR_CLOCK_REALTIME),
                                               gpr_time_from_nanos(timeout_ns, GPR_TIMESPAN));
    grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    grpc_byte_buffer *payload = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA,                                                  .flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY},
        {.op = GRPC_OP_SEND_MESSAGE,                                                           .data.send_message = {payload}               },
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT                                                },
        {.op = GRPC_OP_RECV_INITIAL_METADATA,                                      .data.recv_initial_metadata = {&call->initial}                                             },
        {.op = GRPC_OP_RECV_MESSAGE,                                                .data.recv_message = {&call->answer}},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {&call->trailing, &call->status, &call->details, NULL}                                             },
    };

    call->reply = reply;
    call->data = data;
    call->details = grpc_empty_slice();
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    call->call =
        grpc_channel_create_registered_call(to->channel, NULL, GRPC_PROPAGATE_DEFAULTS, self->queue,
                                            to->methods[method], deadline, NULL);
    self->n_calls++;
    grpc_call_error error = grpc_call_start_batch(call->call, ops, G_N_ELEMENTS(ops), call, NULL);
    g_assert(error == GRPC_CALL_OK); /* the batch is right */
    grpc_byte_buffer_destroy(payload);
    grpc_slice_unref(slice);
}

static void
give_reply(CsiClient *self, CsiClientCall *call)
{
    grpc_byte_buffer_reader reader;
    grpc_slice bytes = grpc_empty_slice();
    char *text = grpc_slice_to_c_string(call->details);

    self->n_calls--;
    if (call->answer != NULL && grpc_byte_buffer_reader_init(&reader, call->answer)) {
        bytes = grpc_byte_buffer_reader_readall(&reader);
        grpc_byte_buffer_reader_destroy(&reader);
    }
    if (!self->is_closing)
        call->reply(call->data,
                    (unsigned)call->status < CSI_N_CODES ? (CsiCode)call->status : CSI_UNKNOWN,
                    text, GRPC_SLICE_START_PTR(bytes), GRPC_SLICE_LENGTH(bytes));
    grpc_slice_unref(bytes);
    gpr_free(text);
    csi_client_call_free(call);
}

gboolean
csi_client_wait(CsiClient *self, int64_t until_us)
{
    int64_t left_us = until_us - g_get_monotonic_time();
    /* Not now, but past: gRPC waits at least for a millisecond. */
    gpr_timespec until = left_us <= 0 ? gpr_inf_past(GPR_CLOCK_MONOTONIC)
                                      : gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                                     gpr_time_from_micros(left_us, GPR_TIMESPAN));
    gboolean any = FALSE;

    for (;;) {
        grpc_event event = grpc_completion_queue_next(self->queue, until, NULL);
        if (event.type != GRPC_OP_COMPLETE)
            return any;
        any = TRUE;
        give_reply(self, event.tag);
        until = gpr_inf_past(GPR_CLOCK_MONOTONIC);
    }
}
