/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes of an audit log that matter, in the order of their commits, with the facts of their
 * bodies; starts, watches and last requests of processes; and failures of drivers that Events tell.
 * A write's commit is taken near the end of its duration, since admission and etcd come before it.
 * Only kinds that make or are storage and pods are kept; all requests are counted. */
#include "writes.h"

#include <string.h>

#include "body-facts.h"
#include "sim/order.h"

#define WRITE_KIND(kind, class) {&class, kind},
static const WriteKind kinds[] = {OBJECT_KINDS(WRITE_KIND)};

/* Kinds whose writes matter, beside those that make pods. */
static const gboolean matters[N_KINDS] = {
    [KIND_POD] = TRUE,
    [KIND_CLAIM] = TRUE,
    [KIND_VOLUME] = TRUE,
    [KIND_ATTACHMENT] = TRUE,
    [KIND_NODE] = TRUE,
    [KIND_STORAGE_CLASS] = TRUE,
    [KIND_CSI_DRIVER] = TRUE,
    [KIND_DISRUPTION_BUDGET] = TRUE,
    [KIND_RESOURCE_QUOTA] = TRUE,
    [KIND_LIMIT_RANGE] = TRUE,
    [KIND_VOLUME_SNAPSHOT] = TRUE,
    [KIND_SNAPSHOT_CONTENT] = TRUE,
    [KIND_SNAPSHOT_CLASS] = TRUE,
    [KIND_ATTRIBUTES_CLASS] = TRUE,
};

static gboolean
kind_matters(const WriteKind *kind)
{
    return matters[kind->model] || kind->class->workload != NULL;
}

int
write_kind_recorded(const WriteKind *kind)
{
    switch ((int)kind->model) {
    case KIND_POD:
        return RECORDED_POD;
    case KIND_CLAIM:
        return RECORDED_CLAIM;
    case KIND_VOLUME:
        return RECORDED_VOLUME;
    case KIND_ATTACHMENT:
        return RECORDED_ATTACHMENT;
    default:
        return -1;
    }
}

const WriteKind *
write_kind_named(const char *kind)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (kind_matters(&kinds[i]) && g_str_equal(kinds[i].class->kind, kind))
            return &kinds[i];
    return NULL;
}

typedef struct {
    Writes *writes;
    SimTime start;
    Recorded *recorded;
    ImportReport *report;
    GHashTable *processes; /* node or process -> ProcessWrites (borrowed) */
    GString *text;
} WritesCollector;

static void
write_free(void *data)
{
    RecordedWrite *self = data;

    g_free(self->claims);
    g_free(self->request);
    g_free(self->response);
    g_free(self);
}

static void
process_seen_free(void *data)
{
    ProcessWrites *self = data;

    g_array_unref(self->requests);
    g_array_unref(self->ends);
    g_array_unref(self->starts);
    g_free(self);
}

void
writes_free(Writes *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->writes);
    g_array_unref(self->failures);
    g_array_unref(self->looks);
    g_ptr_array_unref(self->processes);
    senders_free(self->senders);
    strings_free(self->strings);
    audit_summary_clear(&self->summary);
    g_free(self);
}

/* ---- Processes ---- */

/* An informer begins with all objects of its kind: a list from the cache, or a watch that begins
 * with all. One that lost its place asks from there on. Lists of one namespace are other questions.
 */
static gboolean
is_start(const AuditEvent *event)
{
    g_autofree char *uri = g_strndup(event->uri.at, event->uri.length);

    if (strstr(uri, "/namespaces/") != NULL)
        return FALSE;
    return json_part_equals(event->verb, "list")
               ? strstr(uri, "resourceVersion=0") != NULL
               : json_part_equals(event->verb, "watch") &&
                     strstr(uri, "sendInitialEvents=true") != NULL;
}

static void
see_process(WritesCollector *self, const Sender *sender, const AuditEvent *event)
{
    const char *key = sender->node != NULL ? sender->node : sender->process; /* interned */
    ProcessWrites *seen = g_hash_table_lookup(self->processes, key);

    if (seen == NULL) {
        seen = g_new0(ProcessWrites, 1);
        *seen = (ProcessWrites){.name = sender->process, .node = sender->node};
        seen->requests = g_array_new(FALSE, FALSE, sizeof(SimTime));
        seen->ends = g_array_new(FALSE, FALSE, sizeof(SimTime));
        seen->starts = g_array_new(FALSE, FALSE, sizeof(SimTime));
        g_ptr_array_add(self->writes->processes, seen);
        g_hash_table_insert(self->processes, (char *)key, seen);
    }
    if (event->watch_end != TIME_UNSET)
        g_array_append_val(seen->ends, event->watch_end);
    if (event->is_repeated)
        return;
    g_array_append_val(seen->requests, event->received);
    if (event->resource.length > 0 && event->code < 400 && is_start(event))
        g_array_append_val(seen->starts, event->received);
}

/* ---- Failures of drivers ---- */

/* The reason of an Event, the words in its message, and the call that failed (csi's own names). */
typedef struct {
    const char *reason, *words, *method;
} FailureWords;

static const FailureWords failure_words[] = {
    {"ProvisioningFailed", "",                        "CreateVolume"           },
    {"VolumeFailedDelete", "",                        "DeleteVolume"           },
    {"FailedAttachVolume", "AttachVolume.Attach",     "ControllerPublishVolume"},
    {"FailedMount",        "MountVolume.MountDevice", "NodeStageVolume"        },
    {"FailedMount",        "MountVolume.SetUp",       "NodePublishVolume"      },
    {"VolumeResizeFailed", "NodeExpand",              "NodeExpandVolume"       },
    {"VolumeResizeFailed", "",                        "ControllerExpandVolume" },
};

/* Answers that are no fault of the driver: the caller gave up, or asks while a call is under way.
 */
static const char *const no_faults[] = {"DeadlineExceeded", "Aborted", "Canceled", NULL};

/* "rpc error: code = Internal desc = ...". Returns: (owned): NULL: it has no code */
static char *
code_of(const char *message)
{
    const char *code = strstr(message, "rpc error: code = ");

    if (code == NULL)
        return NULL;
    code += strlen("rpc error: code = ");
    return g_strndup(code, strcspn(code, " "));
}

/* Events name their source "csi.example.com_host_uid". */
static const char *
writes_driver_of(Strings *strings, JsonPart event)
{
    JsonPart component = json_part_string(json_part_get(event, "reportingComponent"));
    const char *under;

    if (component.length == 0)
        component = json_part_string(json_part_path(event, "source", "component", NULL));
    if (component.length == 0 || (under = memchr(component.at, '_', component.length)) == NULL)
        return NULL;
    component.length = (gsize)(under - component.at);
    return body_intern(strings, component);
}

static void
see_failure(WritesCollector *self, const AuditEvent *event, SimTime at)
{
    Strings *strings = self->writes->strings;
    JsonPart reason = json_part_get(event->response, "reason"), body = event->response;
    const FailureWords *words = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(failure_words) && words == NULL; i++)
        if (json_part_is(reason, failure_words[i].reason))
            words = &failure_words[i];
    if (words == NULL)
        return;
    JsonPart text = json_part_get(body, "message");
    g_autofree char *message = json_part_text(text.at != NULL ? text : json_part_get(body, "note"));
    g_autofree char *code = message == NULL ? NULL : code_of(message);
    if (code == NULL || g_strv_contains(no_faults, code))
        return;
    while (words < failure_words + G_N_ELEMENTS(failure_words) &&
           (!json_part_is(reason, words->reason) || strstr(message, words->words) == NULL))
        words++;
    if (words == failure_words + G_N_ELEMENTS(failure_words))
        return;
    const char *volume = strstr(message, "volume \"");
    g_autofree char *volume_name =
        volume == NULL ? NULL : g_strndup(volume + 8, strcspn(volume + 8, "\""));
    const DriverFailure failure = {
        .at = at,
        .driver = writes_driver_of(strings, body),
        .method = words->method,
        .code = strings_intern(strings, code),
        .volume = volume_name != NULL ? strings_intern(strings, volume_name) : NULL,
    };
    g_array_append_val(self->writes->failures, failure);
}

/* ---- Writes ---- */

static gboolean
is_write(JsonPart verb)
{
    static const char *const verbs[] = {"create", "update", "patch", "delete", "deletecollection"};

    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (json_part_equals(verb, verbs[i]))
            return TRUE;
    return FALSE;
}

/* Most of a write's time passes before its commit: it waits for admission and for etcd, and then
 * only its answer is written. */
static SimTime
commit_time(const AuditEvent *event)
{
    return event->received + (event->done - event->received) / 4 * 3;
}

static void
take_body(RecordedWrite *self, const AuditEvent *event, Strings *strings)
{
    JsonPart response = event->response;

    self->body = (BodyFacts){.requested_bytes = -1, .capacity_bytes = -1};
    if (response.at != NULL && self->code < 400) {
        /* An object that is gone at once is answered by a Status. */
        if (json_part_is(json_part_get(response, "kind"), self->kind->class->kind)) {
            self->has_body = TRUE;
            body_facts_read(&self->body, self->kind, response, strings);
            JsonPart metadata = json_part_get(response, "metadata");
            g_autofree char *text = json_part_text(json_part_get(metadata, "resourceVersion"));
            self->resource_version = text != NULL ? g_ascii_strtoull(text, NULL, 10) : 0;
            if (self->name == NULL)
                self->name =
                    body_intern(strings, json_part_string(json_part_get(metadata, "name")));
            if (self->uid == NULL)
                self->uid = body_intern(strings, json_part_string(json_part_get(metadata, "uid")));
            if (self->kind->model == KIND_POD && g_str_equal(self->verb, "create"))
                self->claims = body_claims_of_pod(response, strings);
        } else if (g_str_equal(self->verb, "delete")) {
            self->has_body = TRUE;
            self->body.facts = FACT_DELETED | FACT_GONE;
        }
    }
    if (self->uid == NULL)
        self->uid = body_intern(strings, json_part_string(json_part_get(event->details, "uid")));
}

static gboolean
is_group_of(JsonPart group, const char *api_version)
{
    const char *slash = strchr(api_version, '/');
    g_autofree char *own = g_strndup(api_version, slash == NULL ? 0 : (gsize)(slash - api_version));

    return json_part_equals(group, own);
}

static const WriteKind *
find_kind(const AuditEvent *event)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (kind_matters(&kinds[i]) &&
            json_part_equals(event->resource, kinds[i].class->resource) &&
            is_group_of(event->group, kinds[i].class->api_version))
            return &kinds[i];
    return NULL;
}

static gboolean
is_kept_whole(const RecordedWrite *self)
{
    return self->sender->side == SENDER_OUTSIDE ||
           (self->sender->node != NULL && self->kind->model == KIND_NODE &&
            g_str_equal(self->verb, "create"));
}

/* Go writes "&" as an escape. */
static const char *
query_of(Strings *strings, JsonPart uri)
{
    g_autofree char *text =
        uri.length == 0 ? NULL : json_part_text((JsonPart){uri.at - 1, uri.length + 2});
    const char *query = text == NULL ? NULL : strchr(text, '?');

    return query == NULL ? "" : strings_intern(strings, query + 1);
}

static void
add_write(WritesCollector *self,
          const AuditEvent *event,
          const WriteKind *kind,
          const Sender *sender)
{
    Strings *strings = self->writes->strings;
    RecordedWrite *write = g_new0(RecordedWrite, 1);
    const char *subresource = body_intern(strings, event->subresource);

    *write = (RecordedWrite){
        .received = event->received,
        .done = event->done,
        .at = commit_time(event),
        .sender = sender,
        .kind = kind,
        .verb = body_intern(strings, event->verb),
        .subresource = subresource != NULL ? subresource : "",
        .namespace = body_intern(strings, event->namespace),
        .name = body_intern(strings, event->name),
        .uid = body_intern(strings, event->uid),
        .query = "",
        .code = event->code,
    };
    if (!kind_class(kind->model)->namespaced)
        write->namespace = NULL;
    take_body(write, event, strings);
    if (is_kept_whole(write)) {
        write->request = body_copy(event->request);
        write->response = body_copy(event->response);
        write->query = query_of(strings, event->uri);
    } else if (g_str_equal(write->subresource, "binding")) {
        JsonPart node = json_part_path(event->request, "target", "name", NULL);
        write->body.node = body_intern(strings, json_part_string(node));
    }
    g_ptr_array_add(self->writes->writes, write);
}

static void
count_request(WritesCollector *self, const AuditEvent *event, const Sender *sender)
{
    Strings *strings = self->writes->strings;
    const char *verb = body_intern(strings, event->verb);

    g_string_truncate(self->text, 0);
    g_string_append_len(self->text, event->resource.at, (gssize)event->resource.length);
    if (event->subresource.length > 0) {
        g_string_append_c(self->text, '/');
        g_string_append_len(self->text, event->subresource.at, (gssize)event->subresource.length);
    }
    recorded_count_requests(self->recorded, sender->name, verb, self->text->str, 1,
                            event->code >= 400);
}

static void
writes_see_event(const AuditEvent *event, void *data)
{
    WritesCollector *self = data;
    Strings *strings = self->writes->strings;
    const Sender *sender = senders_find(self->writes->senders, event->user.at, event->user.length,
                                        event->agent.at, event->agent.length);

    if (sender->process != NULL)
        see_process(self, sender, event);
    if (event->resource.length == 0 || event->is_repeated)
        return;
    if (event->received >= self->start)
        count_request(self, event, sender);
    /* A kubelet asks for the attachment of its node by name: the only place where a log without
     * bodies has both. */
    gboolean is_look = sender->node != NULL &&
                       json_part_equals(event->resource, "volumeattachments") &&
                       json_part_equals(event->verb, "get");
    if (sender->node != NULL && json_part_equals(event->resource, "persistentvolumeclaims") &&
        json_part_equals(event->verb, "get")) {
        const ClaimLook look = {event->received, sender->node,
                                body_intern(strings, event->namespace),
                                body_intern(strings, event->name)};
        if (look.namespace != NULL && look.name != NULL)
            g_array_append_val(self->writes->looks, look);
        return;
    }
    if (!is_look && !is_write(event->verb))
        return;
    if (json_part_equals(event->resource, "events")) {
        if (event->code < 400 && event->received >= self->start)
            see_failure(self, event, commit_time(event));
        return;
    }
    const WriteKind *kind = find_kind(event);
    gboolean is_lost = kind != NULL && kind_class(kind->model)->namespaced &&
                       event->namespace.length == 0; /* no API server writes that */
    if (is_lost)
        import_report_count(self->report, REPORT_LEFT_OUT,
                            "Audit log: requests without a namespace", kind->class->resource);
    else if (kind != NULL)
        add_write(self, event, kind, sender);
    else if (sender->side == SENDER_OUTSIDE && event->received >= self->start)
        import_report_count(self->report, REPORT_LEFT_OUT,
                            "Writes of people and tools to kinds that no model knows",
                            body_intern(strings, event->resource));
}

static int
compare_writes(const void *a, const void *b)
{
    const RecordedWrite *first = *(const RecordedWrite *const *)a,
                        *second = *(const RecordedWrite *const *)b;

    return ORDER(first->at, second->at) ?: ORDER(first->done, second->done);
}

static int
compare_failures(const void *a, const void *b)
{
    const DriverFailure *first = a, *second = b;

    return ORDER(first->at, second->at);
}

static void
report_summary(const AuditSummary *summary, ImportReport *report)
{
    import_report_say(report, REPORT_TAKEN,
                      "Audit log: %" G_GUINT64_FORMAT " requests, %" G_GUINT64_FORMAT
                      " of them with the answer's body.",
                      summary->n_seen, summary->n_bodies);
    for (unsigned i = 0; i < N_AUDIT_SKIPS; i++)
        if (summary->skipped[i].count > 0)
            import_report_say(
                report, REPORT_LEFT_OUT, "Audit log: %" G_GUINT64_FORMAT " %s (the first: %s).",
                summary->skipped[i].count, audit_skip_text(i), summary->skipped[i].first);
    if (summary->n_back > 0)
        import_report_say(report, REPORT_GUESSED,
                          "Audit log: the clock ran back by more than a second %" G_GUINT64_FORMAT
                          " times (the first: %s); requests are in the order of their time stamps.",
                          summary->n_back, summary->first_back);
}

Writes *
writes_read(const char *const *files,
            SimTime start,
            Recorded *recorded,
            ImportReport *report,
            GError **error)
{
    g_autoptr(Writes) self = g_new0(Writes, 1);
    WritesCollector collector = {
        .writes = self, .start = start, .recorded = recorded, .report = report};

    self->strings = strings_new();
    self->senders = senders_new();
    self->writes = g_ptr_array_new_with_free_func(write_free);
    self->failures = g_array_new(FALSE, FALSE, sizeof(DriverFailure));
    self->looks = g_array_new(FALSE, FALSE, sizeof(ClaimLook));
    self->processes = g_ptr_array_new_with_free_func(process_seen_free);
    collector.text = g_string_new(NULL);
    collector.processes = g_hash_table_new(g_str_hash, g_str_equal);
    gboolean ok = audit_read(files, writes_see_event, &collector, &self->summary, error);
    g_string_free(collector.text, TRUE);
    g_hash_table_unref(collector.processes);
    if (ok && self->summary.n_seen == 0)
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s: the audit log is empty", files[0]);
    if (!ok || self->summary.n_seen == 0)
        return NULL;
    g_ptr_array_sort(self->writes, compare_writes);
    g_array_sort(self->failures, compare_failures);
    for (unsigned i = 0; i < self->processes->len; i++) {
        ProcessWrites *seen = self->processes->pdata[i];
        g_array_sort(seen->requests, times_compare);
        g_array_sort(seen->ends, times_compare);
        g_array_sort(seen->starts, times_compare);
    }
    writes_name_pods(self);
    report_summary(&self->summary, report);
    return g_steal_pointer(&self);
}
