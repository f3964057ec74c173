/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads audit logs of an API server, line by line, of any size: of each event only the needed
 * members are looked at, in place, without a JSON tree. A request is taken once, by its audit ID
 * and its last stage; a watch has two answers. Lines that are too long or broken are skipped and
 * counted by reason, and times that go back are noted. A list of events as jq prints it is read,
 * too. */
#include "audit.h"

#include <string.h>

#include "models/api/field.h"
#include "run/files/packed.h"

#define LINE_MAX_BYTES (32u << 20) /* a list's body at level RequestResponse may be tens of MiB */

typedef struct {
    AuditSeen seen;
    void *data;
    AuditSummary *summary;
    GHashTable *ids; /* set of 64-bit hashes of audit IDs */
    const char *file;
    guint64 line, n_events; /* of the file */
    SimTime latest;         /* of the file */
    GString *carry;         /* the begin of a line that the next piece of the file ends */
    gboolean is_too_long;   /* the rest of the line is dropped */
    gboolean is_one_value;  /* the file is one value over many lines */
} AuditReader;

const char *
audit_skip_text(AuditSkip skip)
{
    static const char *const texts[] = {
#define AUDIT_SKIP_TEXT(member, text) text,
        AUDIT_SKIPS(AUDIT_SKIP_TEXT)
#undef AUDIT_SKIP_TEXT
    };
    return texts[skip];
}

void
audit_summary_clear(AuditSummary *self)
{
    for (unsigned i = 0; i < N_AUDIT_SKIPS; i++)
        g_free(self->skipped[i].first);
    g_free(self->first_back);
    *self = (AuditSummary){0};
}

static char *
place(const AuditReader *self)
{
    return g_strdup_printf("%s:%" G_GUINT64_FORMAT, self->file, self->line);
}

static void
skip(AuditReader *self, AuditSkip reason)
{
    if (self->summary->skipped[reason].count++ == 0)
        self->summary->skipped[reason].first = place(self);
}

/* ---- One event ---- */

/* Members of an event and of its parts, with their places. */
typedef struct {
    JsonPart kind, version, id, stage, received, staged, user, object, status, code;
    AuditEvent event;
} Parsed;

typedef struct {
    const char *key;
    gsize n_key;
    gsize offset; /* of a JsonPart in Parsed */
    gboolean is_text;
} PartField;

#define PART(member) offsetof(Parsed, member)
#define KEY(text) text, sizeof text - 1
static const PartField event_fields[] = {
    {KEY("kind"),                     PART(kind),           TRUE },
    {KEY("apiVersion"),               PART(version),        TRUE },
    {KEY("auditID"),                  PART(id),             TRUE },
    {KEY("stage"),                    PART(stage),          TRUE },
    {KEY("requestURI"),               PART(event.uri),      TRUE },
    {KEY("verb"),                     PART(event.verb),     TRUE },
    {KEY("user"),                     PART(user),           FALSE},
    {KEY("userAgent"),                PART(event.agent),    TRUE },
    {KEY("objectRef"),                PART(object),         FALSE},
    {KEY("responseStatus"),           PART(status),         FALSE},
    {KEY("requestObject"),            PART(event.request),  FALSE},
    {KEY("responseObject"),           PART(event.response), FALSE},
    {KEY("requestReceivedTimestamp"), PART(received),       TRUE },
    {KEY("stageTimestamp"),           PART(staged),         TRUE },
};
static const PartField user_fields[] = {
    {KEY("username"), PART(event.user), TRUE},
};
static const PartField object_fields[] = {
    {KEY("resource"),        PART(event.resource),         TRUE},
    {KEY("subresource"),     PART(event.subresource),      TRUE},
    {KEY("apiGroup"),        PART(event.group),            TRUE},
    {KEY("namespace"),       PART(event.namespace),        TRUE},
    {KEY("name"),            PART(event.name),             TRUE},
    {KEY("uid"),             PART(event.uid),              TRUE},
    {KEY("resourceVersion"), PART(event.resource_version), TRUE},
};
static const PartField status_fields[] = {
    {KEY("code"),    PART(code),          FALSE},
    {KEY("details"), PART(event.details), FALSE},
};

/* A text that is missing, or is none, is an empty one. */
static void
set_part(Parsed *parsed, const PartField *field, JsonPart value)
{
    JsonPart *part = &G_STRUCT_MEMBER(JsonPart, parsed, field->offset);

    *part = field->is_text ? json_part_string(value) : value;
    if (field->is_text && part->at == NULL)
        *part = (JsonPart){"", 0};
}

/* Returns: FALSE: the text is broken */
static gboolean
read_parts(JsonPart object, const PartField *fields, unsigned n_fields, Parsed *parsed)
{
    JsonWalk walk;
    JsonPart key, value;

    for (unsigned i = 0; i < n_fields; i++)
        set_part(parsed, &fields[i], (JsonPart){NULL, 0});
    if (!json_walk_begin(&walk, object))
        return object.at == NULL;
    while (json_walk_next(&walk, &key, &value))
        for (unsigned i = 0; i < n_fields; i++)
            if (key.length == fields[i].n_key && memcmp(key.at, fields[i].key, key.length) == 0)
                set_part(parsed, &fields[i], value);
    return !walk.is_broken;
}

static gboolean
read_time(JsonPart part, SimTime *time)
{
    char text[64];

    if (part.at == NULL || part.length >= sizeof text)
        return FALSE;
    memcpy(text, part.at, part.length);
    text[part.length] = '\0';
    return api_time_parse(text, time);
}

/* Returns: whether the request was seen before */
static gboolean
is_known(AuditReader *self, JsonPart id)
{
    guint64 hash = G_GUINT64_CONSTANT(0xcbf29ce484222325); /* FNV-1a */

    if (id.length == 0)
        return FALSE;
    for (gsize i = 0; i < id.length; i++)
        hash = (hash ^ (guchar)id.at[i]) * G_GUINT64_CONSTANT(0x100000001b3);
    return !g_hash_table_add(self->ids, (gpointer)(guintptr)(hash ^ hash >> 32));
}

static void
note_times(AuditReader *self, const AuditEvent *event)
{
    AuditSummary *summary = self->summary;

    summary->first = MIN(summary->first, event->received);
    summary->last = MAX(summary->last, event->done);
    /* The log is written in the order of the answers. */
    if (event->done < self->latest - SIM_SECOND && summary->n_back++ == 0)
        summary->first_back = place(self);
    self->latest = MAX(self->latest, event->done);
}

static void
take_event(AuditReader *self, Parsed *parsed)
{
    AuditEvent *event = &parsed->event;
    gboolean is_watch = json_part_equals(event->verb, "watch");
    gint64 code = 0;

    self->n_events++;
    if (json_part_equals(parsed->stage, "RequestReceived")) {
        skip(self, AUDIT_SKIP_RECEIVED);
        return;
    }
    if (event->verb.length == 0 || !read_time(parsed->received, &event->received)) {
        skip(self, AUDIT_SKIP_INCOMPLETE);
        return;
    }
    gboolean is_repeated = is_known(self, parsed->id);
    if (is_repeated && !is_watch) {
        skip(self, AUDIT_SKIP_TWICE);
        return;
    }
    if (!read_time(parsed->staged, &event->done) || event->done < event->received)
        event->done = event->received;
    event->watch_end = TIME_UNSET;
    if (is_watch) { /* answered twice: at its begin and at its end */
        if (json_part_equals(parsed->stage, "ResponseComplete"))
            event->watch_end = event->done;
        event->done = event->received;
    }
    event->is_repeated = is_repeated;
    json_part_integer(parsed->code, &code);
    event->code = (int)CLAMP(code, 0, 999);
    event->file = self->file;
    event->line = self->line;
    if (is_repeated) {
        if (event->watch_end != TIME_UNSET)
            self->seen(event, self->data);
        return;
    }
    note_times(self, event);
    self->summary->n_seen++;
    self->summary->n_bodies += event->response.at != NULL;
    self->seen(event, self->data);
}

/* ---- Lines ---- */

/* Of a single event, or of one in a list, which has the kind and version for all of its items.
 * @list: NULL: it is in none */
static void
take_value(AuditReader *self, JsonPart text, const Parsed *list)
{
    Parsed parsed = {0};
    JsonPart item;
    JsonWalk walk;

    if (!read_parts(text, event_fields, G_N_ELEMENTS(event_fields), &parsed)) {
        skip(self, *text.at == '{' ? AUDIT_SKIP_TRUNCATED : AUDIT_SKIP_BROKEN);
        return;
    }
    gboolean is_bare = list != NULL && parsed.kind.length == 0 && parsed.version.length == 0;
    if (!g_str_has_prefix((is_bare ? list : &parsed)->version.at, "audit.k8s.io/")) {
        skip(self, AUDIT_SKIP_FOREIGN);
    } else if (json_part_equals(parsed.kind, "EventList") && list == NULL) {
        if (json_walk_begin(&walk, json_part_get(text, "items")))
            while (json_walk_next(&walk, NULL, &item))
                take_value(self, item, &parsed);
    } else if (!is_bare && !json_part_equals(parsed.kind, "Event")) {
        skip(self, AUDIT_SKIP_FOREIGN);
    } else {
        if (!read_parts(parsed.user, user_fields, G_N_ELEMENTS(user_fields), &parsed) ||
            !read_parts(parsed.object, object_fields, G_N_ELEMENTS(object_fields), &parsed) ||
            !read_parts(parsed.status, status_fields, G_N_ELEMENTS(status_fields), &parsed))
            skip(self, AUDIT_SKIP_BROKEN);
        else
            take_event(self, &parsed);
    }
}

static void
take_line(AuditReader *self, const char *line, gsize length)
{
    while (length > 0 && g_ascii_isspace(*line))
        line++, length--;
    while (length > 0 && g_ascii_isspace(line[length - 1]))
        length--;
    if (length == 0)
        return;
    if (*line == '{') {
        take_value(self, (JsonPart){line, length}, NULL);
        return;
    }
    skip(self, AUDIT_SKIP_BROKEN);
}

static void
end_line(AuditReader *self, const char *text, gsize length)
{
    self->line++;
    self->summary->lines++;
    if (self->is_too_long) {
        skip(self, AUDIT_SKIP_LONG);
    } else if (self->carry->len > 0) {
        g_string_append_len(self->carry, text, (gssize)length);
        take_line(self, self->carry->str, self->carry->len);
    } else {
        take_line(self, text, length);
    }
    self->is_too_long = FALSE;
    g_string_truncate(self->carry, 0);
}

static void
audit_keep(AuditReader *self, const char *text, gsize length)
{
    self->is_too_long |= self->carry->len + length > LINE_MAX_BYTES;
    if (self->is_too_long)
        g_string_truncate(self->carry, 0);
    else
        g_string_append_len(self->carry, text, (gssize)length);
}

static void
take_piece(AuditReader *self, const char *text, gsize length)
{
    const char *end = text + length, *line_end;

    /* "{" alone on the first line: a list as jq or kubectl print it. */
    if (self->line == 0 && self->carry->len == 0 && length > 1 && text[0] == '{' &&
        (text[1] == '\n' || text[1] == '\r'))
        self->is_one_value = TRUE;
    while (!self->is_one_value && (line_end = memchr(text, '\n', (gsize)(end - text))) != NULL) {
        end_line(self, text, (gsize)(line_end - text));
        text = line_end + 1;
    }
    audit_keep(self, text, (gsize)(end - text));
}

static gboolean
audit_read_file(AuditReader *self, GError **error)
{
    g_autoptr(PackedFile) file = packed_file_open(self->file, error);
    const char *piece;
    gssize length;

    if (file == NULL)
        return FALSE;
    while ((length = packed_file_next(file, &piece, error)) > 0) {
        self->summary->bytes += (gsize)length;
        take_piece(self, piece, (gsize)length);
    }
    if (length < 0)
        return FALSE;
    if (self->carry->len > 0 || self->is_too_long)
        end_line(self, "", 0);
    if (self->n_events > 0 || self->line == 0)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                "%s:1: is no audit log: none of its %" G_GUINT64_FORMAT
                " lines is an event of audit.k8s.io; a dump is given without --audit",
                self->file, self->line);
    return FALSE;
}

gboolean
audit_read(
    const char *const *files, AuditSeen seen, void *data, AuditSummary *summary, GError **error)
{
    g_autoptr(GHashTable) ids = g_hash_table_new(g_direct_hash, g_direct_equal);
    gboolean ok = TRUE;

    *summary = (AuditSummary){.first = SIM_TIME_MAX, .last = INT64_MIN};
    for (unsigned i = 0; ok && files[i] != NULL; i++) {
        AuditReader reader = {.seen = seen, .data = data, .summary = summary, .ids = ids};
        reader.file = files[i];
        reader.latest = INT64_MIN + SIM_SECOND;
        reader.carry = g_string_new(NULL);
        ok = audit_read_file(&reader, error);
        g_string_free(reader.carry, TRUE);
    }
    return ok;
}
