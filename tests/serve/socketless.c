/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "socketless.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Exchange base;
    unsigned code; /* of the answer; 0: none yet */
    gboolean is_stream;
    json_t *json; /* (owned): of the answer */
} SocketlessExchange;

struct Socketless {
    ScenarioOptions options;
    Scenario *scenario;
    Run *run;
    ServeClock *clock;
    ServeSession *session;
    ServeApi *api;
    GPtrArray *streams; /* of Exchange */
    json_t *answer;     /* (nullable): of the last request */
};

G_GNUC_NORETURN
static void
socketless_fail(const Exchange *exchange, const char *text)
{
    fprintf(stderr, "%s: %s %s\n%.2000s\n", text, exchange->request.method, exchange->request.path,
            exchange->request.body);
    abort();
}

/* ---- The other end ---- */

static void
take_answer(Exchange *exchange, unsigned code, const char *content_type, GBytes *body)
{
    SocketlessExchange *self = (SocketlessExchange *)exchange;
    gsize length;
    const char *text = g_bytes_get_data(body, &length);

    if (self->code != 0 || self->is_stream)
        socketless_fail(exchange, "a second answer");
    if (code < 200 || code > 599)
        socketless_fail(exchange, "a code that HTTP has not");
    if (g_str_has_prefix(content_type, "application/json")) {
        json_t *json = json_loadb(text, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        if (json == NULL)
            socketless_fail(exchange, "an answer that is no JSON");
        self->json = json;
    }
    self->code = code;
}

static void
take_stream(Exchange *exchange, const char *content_type)
{
    (void)content_type;
    ((SocketlessExchange *)exchange)->is_stream = TRUE;
}

static void
take_wake(Exchange *exchange)
{
    (void)exchange;
}

static const ExchangeClass socketless_class = {take_answer, take_stream, take_wake};

void
exchange_unref(Exchange *self)
{
    if (self == NULL || --self->refs > 0)
        return;
    g_free((char *)self->request.path);
    g_free((char *)self->request.body);
    g_hash_table_unref(self->request.query);
    g_ptr_array_unref(self->headers);
    json_decref(((SocketlessExchange *)self)->json);
    g_free(self);
}

void
socketless_take_streams(Socketless *self, GRand *random, int end_one_in)
{
    for (unsigned i = self->streams->len; i-- > 0;) {
        Exchange *exchange = self->streams->pdata[i];
        gboolean is_over = FALSE;
        g_autoptr(GBytes) bytes = exchange->stream_class->pull(exchange->stream_data, &is_over);

        if (!is_over && g_rand_int_range(random, 0, end_one_in) > 0)
            continue;
        exchange->is_over = TRUE;
        exchange->stream_class->end(exchange->stream_data);
        exchange->stream_class = NULL;
        g_ptr_array_remove_index_fast(self->streams, i);
        exchange_unref(exchange);
    }
}

unsigned
socketless_send(Socketless *self, ExchangeRequest request)
{
    SocketlessExchange *exchange = g_new0(SocketlessExchange, 1);

    exchange->base = (Exchange){.class = &socketless_class,
                                .request = request,
                                .headers = g_ptr_array_new_with_free_func(g_free),
                                .refs = 1};
    serve_api_handle(self->api, exchange_ref(&exchange->base));
    for (unsigned i = 0; i < 20000 && exchange->code == 0 && !exchange->is_stream; i++)
        g_main_context_iteration(NULL, FALSE);
    unsigned code = exchange->code;
    if (code == 0 && !exchange->is_stream)
        socketless_fail(&exchange->base, "no answer");
    json_decref(self->answer);
    self->answer = json_incref(exchange->json);
    exchange_unref(&exchange->base);
    if (exchange->is_stream && exchange->base.stream_class != NULL)
        g_ptr_array_add(self->streams, exchange);
    else
        exchange_unref(&exchange->base);
    g_main_context_iteration(NULL, FALSE);
    return code;
}

json_t *
socketless_answer(const Socketless *self)
{
    return json_incref(self->answer);
}

void
socketless_stop_clock(Socketless *self)
{
    serve_clock_set_speed(self->clock, 0);
}

/* ---- The cluster ---- */

Socketless *
socketless_new(const char *file)
{
    Socketless *self = g_new0(Socketless, 1);
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;

    self->streams = g_ptr_array_new();
    self->options =
        (ScenarioOptions){.data_dir = g_getenv("KVOLSIM_SRCDIR"), .keeps_document = TRUE};
    self->scenario = scenario_load(file, &self->options, &faults);
    if (self->scenario == NULL)
        g_error("%s", ((FileFault *)faults->pdata[0])->message);
    self->run = run_new(self->scenario,
                        &(RunOptions){.seed = 1, .measured = TRUE, .open_end = TRUE}, &error);
    g_assert_no_error(error);
    self->clock = serve_clock_new(self->run, 0);
    self->session = serve_session_new(
        &(ServeSessionOptions){
            .run = self->run, .clock = self->clock, .scenario = file, .options = self->options},
        &error);
    g_assert_no_error(error);
    self->api = serve_api_new(&(ServeApiOptions){
        .run = self->run, .clock = self->clock, .session = self->session, .address = "fuzz"});
    return self;
}

void
socketless_free(Socketless *self)
{
    serve_session_cancel(self->session);
    for (unsigned i = 0; i < self->streams->len; i++) {
        Exchange *exchange = self->streams->pdata[i];
        exchange->stream_class->end(exchange->stream_data);
        exchange_unref(exchange);
    }
    g_ptr_array_unref(self->streams);
    serve_api_free(self->api);
    serve_clock_free(self->clock);
    run_free(self->run);
    serve_session_free(self->session);
    scenario_free(self->scenario);
    json_decref(self->answer);
    g_free(self);
}
