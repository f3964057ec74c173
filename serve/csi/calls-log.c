/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: lines carry the time of day */
#include "calls-log.h"
#include "sim/strings.h"

#include <string.h>

struct CsiCallsLog {
    CsiLogFormat format;
    FILE *to;
};

static const char *const format_names[] = {[CSI_LOG_TEXT] = "text",
                                           [CSI_LOG_JSON] = "json",
                                           [CSI_LOG_MOCK] = "mock",
                                           [CSI_LOG_NONE] = "none"};

gboolean
csi_log_format_parse(const char *name, CsiLogFormat *format)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(format_names); i++) {
        if (strcmp(format_names[i], name) != 0)
            continue;
        *format = (CsiLogFormat)i;
        return TRUE;
    }
    return FALSE;
}

CsiCallsLog *
csi_calls_log_new(CsiLogFormat format, FILE *to)
{
    CsiCallsLog *self = g_new0(CsiCallsLog, 1);

    self->format = format;
    self->to = to;
    return self;
}

void
csi_calls_log_free(CsiCallsLog *self)
{
    g_free(self);
}

static char *
time_of_day(void)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();

    return g_date_time_format(now, "%Y-%m-%dT%H:%M:%S.%fZ");
}

static void
calls_log_print_json(CsiCallsLog *self, const char *prefix, json_t *line)
{
    g_autofree char *text = json_dumps(line, JSON_COMPACT);

    fprintf(self->to, "%s%s\n", prefix, text);
    json_decref(line);
}

/* csi-test, driver/driver.go, logGRPC(). */
static json_t *
mock_line(const CsiLoggedCall *call)
{
    g_autofree char *error = NULL;
    json_t *full = json_null();

    if (call->code != CSI_OK) {
        error = g_strdup_printf("rpc error: code = %s desc = %s", csi_code_go_name(call->code),
                                call->text);
        full = json_pack("{s:i,s:s}", "code", call->code, "message", call->text);
    }
    return json_pack("{s:s,s:o,s:o,s:s,s:o}", "Method", csi_method_full_name(call->method),
                     "Request", csi_message_json(call->message), "Response",
                     call->answer != NULL ? csi_message_json(call->answer) : json_null(), "Error",
                     error != NULL ? error : "", "FullError", full);
}

static const char *
subject_of(const CsiRequest *request)
{
    const char *const texts[] = {request->name, request->volume_id, request->snapshot_id,
                                 request->group_snapshot_id};

    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++)
        if (texts[i] != NULL)
            return texts[i];
    return "-";
}

/* Bytes of callers do not get to a terminal. */
static char *
printable(const char *text)
{
    g_autofree char *escaped = g_strescape(text, "\"");

    return g_strdup(escaped);
}

void
csi_calls_log_add(CsiCallsLog *self, const CsiLoggedCall *call)
{
    if (self->format == CSI_LOG_NONE)
        return;
    if (self->format == CSI_LOG_MOCK) {
        calls_log_print_json(self, "gRPCCall: ", mock_line(call));
        return;
    }
    g_autofree char *now = time_of_day();
    if (self->format == CSI_LOG_JSON) {
        json_t *line =
            json_pack("{s:s,s:s,s:s,s:f,s:o}", "time", now, "method",
                      csi_method_full_name(call->method), "code", csi_code_name(call->code),
                      "seconds", call->seconds, "request", csi_message_json(call->message));
        if (call->code != CSI_OK)
            json_object_set_new(line, "error", json_string(call->text));
        calls_log_print_json(self, "", line);
        return;
    }
    g_autofree char *subject = printable(subject_of(call->request));
    g_autofree char *text = printable(call->code == CSI_OK ? "" : call->text);
    fprintf(self->to, "%s %s %s %s %.6fs%s%s\n", now, csi_method_name(call->method), subject,
            csi_code_name(call->code), call->seconds, text[0] == '\0' ? "" : " ", text);
}

void
csi_calls_log_note(CsiCallsLog *self, const char *format, ...)
{
    if (self->format == CSI_LOG_NONE)
        return;
    FORMATTED(text, format);
    g_autofree char *now = time_of_day();
    if (self->format == CSI_LOG_JSON)
        calls_log_print_json(self, "", json_pack("{s:s,s:s}", "time", now, "note", text));
    else
        fprintf(self->to, "%s %s\n", now, text);
    fflush(self->to);
}

void
csi_calls_log_flush(CsiCallsLog *self)
{
    fflush(self->to);
}
