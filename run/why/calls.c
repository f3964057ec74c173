/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calls.h"

struct WhyCalls {
    GHashTable *by_text; /* "driver method subject node" -> WhyCall (owned) */
    Strings *strings;
};

static char *
calls_text_of(const CsiDriver *driver, CsiMethod method, const char *subject, const char *node)
{
    return g_strdup_printf("%s %d %s %s", csi_driver_name(driver), method,
                           subject == NULL ? "" : subject, node == NULL ? "" : node);
}

static const char *
subject_of(const CsiRequest *request)
{
    if (request->method == CSI_CREATE_VOLUME || request->method == CSI_CREATE_SNAPSHOT ||
        request->method == CSI_CREATE_VOLUME_GROUP_SNAPSHOT)
        return request->name;
    return request->method == CSI_DELETE_SNAPSHOT ? request->snapshot_id : request->volume_id;
}

/* Judges an answer. A run without failures only compares its code. */
static void
note_answer(WhyCalls *self, const CsiCallRecord *record, const char *node)
{
    g_autofree char *text =
        calls_text_of(record->driver, record->request->method, subject_of(record->request), node);
    WhyCall *call = g_hash_table_lookup(self->by_text, text);

    if (record->answer == CSI_OK) {
        g_hash_table_remove(self->by_text, text);
        return;
    }
    if (call == NULL) {
        call = g_new0(WhyCall, 1);
        call->method = record->request->method;
        call->failing_since = record->answered_at;
        g_hash_table_insert(self->by_text, g_steal_pointer(&text), call);
    }
    call->code = record->answer;
    call->n_failures++;
    call->message = NULL;
    if (record->response != NULL && record->response->code == record->answer &&
        record->response->message != NULL)
        call->message = strings_intern(self->strings, record->response->message);
}

/* A call counts for its node, and for any. */
static void
calls_see_answer(void *data, const RunRecord *record)
{
    WhyCalls *self = data;
    const CsiCallRecord *call = record->call;
    const char *node = csi_request_node(call->request);

    if (call->answer == CSI_OK && g_hash_table_size(self->by_text) == 0)
        return;
    note_answer(self, call, NULL);
    if (node != NULL)
        note_answer(self, call, node);
}

WhyCalls *
why_calls_new(Run *run)
{
    WhyCalls *self = g_new0(WhyCalls, 1);

    self->strings = objects_strings(run_objects(run));
    self->by_text = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    records_watch(run_records(run), RECORD_CALL_ANSWERED, calls_see_answer, self);
    return self;
}

void
why_calls_free(WhyCalls *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->by_text);
    g_free(self);
}

const WhyCall *
why_calls_find(const WhyCalls *self,
               const CsiDriver *driver,
               CsiMethod method,
               const char *subject,
               const char *node)
{
    if (self == NULL || driver == NULL)
        return NULL;
    g_autofree char *text = calls_text_of(driver, method, subject, node);
    return g_hash_table_lookup(self->by_text, text);
}

const CsiCallRecord *
why_calls_under_way(const CsiDriver *driver,
                    CsiMethod method,
                    const char *subject,
                    const char *node)
{
    const CsiCallRecord *record, *first = NULL;
    unsigned place = 0;

    while (driver != NULL && (record = csi_driver_next_call(driver, &place)) != NULL) {
        if (record->request->method == method &&
            (subject == NULL || g_strcmp0(subject_of(record->request), subject) == 0) &&
            (node == NULL || g_strcmp0(csi_request_node(record->request), node) == 0) &&
            (first == NULL || record->started_at < first->started_at))
            first = record;
    }
    return first;
}
