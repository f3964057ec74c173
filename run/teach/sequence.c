/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The messages between components about one object and its family, as a diagram: writes, calls and
 * answers, and the news by which a watch made a component act. News are found in the log of causes:
 * the last watch before the entry, unless a request or call of its own came since; each news is
 * drawn once. Long silences get a row, and a long diagram is broken off with their number. */
#include "sequence.h"

#include <string.h>

#include "narrator-private.h"
#include "run/results/attribution.h"
#include "sim/order.h"

#define USER 0
#define API 1
#define TEXT_MAX 72 /* characters in a row */
#define WARNING_MAX 118
#define SILENCE SIM_SECOND

typedef struct {
    const Narrator *narrator;
    const SequenceOptions *options;
    GHashTable *family;
    GHashTable *watched; /* "component commit kind": news already shown */
    Sequence *sequence;
} Drawing;

static unsigned
lane_of(Sequence *self, const char *name)
{
    for (unsigned i = 0; i < self->lanes->len; i++)
        if (strcmp(self->lanes->pdata[i], name) == 0)
            return i;
    g_ptr_array_add(self->lanes, g_strdup(name));
    return self->lanes->len - 1;
}

static unsigned
lane_of_entry(Sequence *self, const Entry *entry)
{
    if (entry->who == NULL)
        return USER;
    g_autofree char *name = entry->where != NULL
                                ? g_strdup_printf("%s %s", entry->who, entry->where)
                                : g_strdup(entry->who);
    return lane_of(self, name);
}

/* Returns: (owned): "pvc/data"; long names, which are checksums or uids, are cut */
static char *
short_key(const ObjectKey *key)
{
    static const char *const kinds[N_KINDS] = {[KIND_CLAIM] = "pvc",
                                               [KIND_VOLUME] = "pv",
                                               [KIND_STORAGE_CLASS] = "sc",
                                               [KIND_STATEFUL_SET] = "sts"};
    const char *dash = strchr(key->name, '-');
    gboolean is_long = strlen(key->name) > 36 && dash != NULL;
    g_autofree char *kind = kinds[key->kind] != NULL
                                ? g_strdup(kinds[key->kind])
                                : g_ascii_strdown(kind_class(key->kind)->kind, -1);

    return is_long ? g_strdup_printf("%s/%.*s...", kind, (int)(dash - key->name) + 5, key->name)
                   : g_strdup_printf("%s/%s", kind, key->name);
}

/* @text: (owned) */
static void
add_message(Drawing *self,
            MessageKind kind,
            SimTime at,
            unsigned from,
            unsigned to,
            SimCauseId cause,
            char *text)
{
    GArray *messages = self->sequence->messages;
    Message message = {.kind = kind,
                       .at = at,
                       .from = from,
                       .to = to,
                       .order = messages->len,
                       .cause = cause,
                       .text = text};

    glong room = kind == MESSAGE_WARNING ? WARNING_MAX : TEXT_MAX;
    if (g_utf8_strlen(text, -1) > room) {
        g_autofree char *head = g_utf8_substring(text, 0, room - 3);

        message.text = g_strconcat(head, "...", NULL);
        g_free(text);
    }
    g_array_append_val(messages, message);
}

/* ---- Watches ---- */

/* Finds the news that made a component act: its last watch event, unless a request or call of its
 * own came since. Returns: FALSE if it acted on something else */
static gboolean
find_news(const Narrator *self, SimCauseId cause, SimTime at, ChainLink *news)
{
    const Run *run = self->run;
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(ChainLink));

    if (run_options(run)->untraced)
        return FALSE;
    attribution_walk(sim_trace(run_sim(run)), cause, MAX(0, at - SIM_MINUTE), at, NULL, links);
    for (unsigned i = 0; i < links->len; i++) {
        const ChainLink *link = &g_array_index(links, ChainLink, i);

        if (link->wait == WAIT_WATCH) {
            *news = *link;
            return TRUE;
        }
        if (link->wait == WAIT_API || link->wait == WAIT_DRIVER || link->wait == WAIT_SCENARIO)
            return FALSE;
    }
    return FALSE;
}

gboolean
sequence_find_news(const Narrator *narrator, unsigned entry, SequenceNews *news)
{
    const Entry *of = &sim_log_index(narrator->entries, Entry, entry);
    gboolean is_change = of->kind == ENTRY_CHANGE;
    ChainLink link = {0};

    if (of->kind == ENTRY_CALL || of->who == NULL ||
        !find_news(narrator, is_change ? of->sent_cause : of->cause,
                   is_change ? of->sent_at : of->at, &link) ||
        link.detail == 0)
        return FALSE;
    *news = (SequenceNews){link.from, link.to, (ObjectKind)(link.detail - 1)};
    return TRUE;
}

/* Returns: the change behind the news; NULL if its object is outside of the family */
static const Entry *
find_change(const Drawing *self, const ChainLink *news)
{
    const SimLog *entries = self->narrator->entries;

    for (unsigned i = 0; i < entries->len; i++) {
        const Entry *entry = &sim_log_index(entries, Entry, i);

        if (entry->at > news->from)
            break;
        if (entry->at == news->from && entry->kind == ENTRY_CHANGE &&
            entry->key->kind == (ObjectKind)(news->detail - 1) &&
            g_hash_table_contains(self->family, entry->key))
            return entry;
    }
    return NULL;
}

static void
add_news(Drawing *self, SimCauseId cause, SimTime at, unsigned lane)
{
    ChainLink news = {0};

    if (!find_news(self->narrator, cause, at, &news) || news.detail == 0)
        return;
    const Entry *change = find_change(self, &news);
    g_autofree char *once =
        g_strdup_printf("%u %" G_GINT64_FORMAT " %u", lane, (gint64)news.from, news.detail);
    if (change == NULL || !g_hash_table_add(self->watched, g_steal_pointer(&once)))
        return;
    g_autofree char *key = short_key(change->key);
    add_message(self, MESSAGE_WATCH, news.to, API, lane, cause, g_strdup_printf("watch: %s", key));
}

/* ---- Writes ---- */

/* Small changes of storage objects are part of the story; small changes of other kinds are mostly
 * status and left out. */
static gboolean
is_shown(const Entry *change)
{
    return change->change != CHANGE_SMALL || change->key->kind == KIND_CLAIM ||
           change->key->kind == KIND_VOLUME || change->key->kind == KIND_ATTACHMENT;
}

/* Returns: (owned): the text with its uids cut, as in names: "volumeName: pvc-776c..." */
static char *
cut_uids(const char *text)
{
    g_autoptr(GRegex) uid =
        g_regex_new("([0-9a-f]{4})[0-9a-f]{4}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", 0, 0, NULL);

    return g_regex_replace(uid, text, -1, 0, "\\1...", 0, NULL);
}

/* (owned) */
static char *
change_text(const Entry *entry)
{
    g_autofree char *key = short_key(entry->key);
    const char *verb = entry->verb;

    if (verb == NULL)
        verb = entry->change == CHANGE_CREATED                                 ? "create"
               : entry->change == CHANGE_GOING || entry->change == CHANGE_GONE ? "delete"
                                                                               : "update";
    const char *what = *entry->what != '\0'              ? entry->what
                       : entry->change == CHANGE_GONE    ? "gone"
                       : entry->change == CHANGE_GOING   ? "deletionTimestamp"
                       : entry->change == CHANGE_CREATED ? ""
                                                         : entry->parts;
    g_autofree char *short_what = cut_uids(what);
    return g_strdup_printf("%s %s%s%s", verb, key, *what != '\0' ? ": " : "", short_what);
}

/* ---- Calls ---- */

/* Returns: the answer to the call of @step; NULL if none came */
static const Entry *
find_answer(const Drawing *self, unsigned step)
{
    const SimLog *entries = self->narrator->entries;
    const Entry *call = &sim_log_index(entries, Entry, step);

    for (unsigned i = step + 1; i < entries->len; i++) {
        const Entry *entry = &sim_log_index(entries, Entry, i);

        if (entry->kind == ENTRY_CALL && entry->started_at == call->at &&
            strcmp(csi_method_name(entry->method), call->what) == 0)
            return entry;
    }
    return NULL;
}

static unsigned
driver_lane(Drawing *self, const Entry *answer)
{
    const char *name =
        answer != NULL ? answer->who : cluster_driver_name(run_cluster(self->narrator->run), 0);
    g_autofree char *lane = g_strdup_printf("driver %s", name);

    return lane_of(self->sequence, lane);
}

static void
sequence_add_call(Drawing *self, unsigned step)
{
    const Entry *call = &sim_log_index(self->narrator->entries, Entry, step);
    const Entry *answer = find_answer(self, step);
    unsigned lane = lane_of_entry(self->sequence, call), driver = driver_lane(self, answer);

    add_news(self, call->cause, call->at, lane);
    add_message(self, MESSAGE_CALL, call->at, lane, driver, call->cause, g_strdup(call->what));
    if (answer != NULL && answer->at <= self->options->to)
        add_message(self, answer->code == CSI_OK ? MESSAGE_ANSWER : MESSAGE_ERROR, answer->at,
                    driver, lane, answer->cause, g_strdup(answer->what));
}

static void
sequence_add_entry(Drawing *self, unsigned index)
{
    const Entry *entry = &sim_log_index(self->narrator->entries, Entry, index);
    Sequence *sequence = self->sequence;
    gboolean is_ours =
        (entry->key != NULL && g_hash_table_contains(self->family, entry->key)) ||
        (entry->subject != NULL && g_hash_table_contains(self->family, entry->subject));

    if (!is_ours || entry->is_forgotten)
        return;
    if (entry->kind == ENTRY_CHANGE && is_shown(entry)) {
        unsigned lane = lane_of_entry(sequence, entry);

        if (lane != USER)
            add_news(self, entry->sent_cause, entry->sent_at, lane);
        add_message(self, MESSAGE_WRITE, entry->at, lane, API, entry->cause, change_text(entry));
    } else if (entry->kind == ENTRY_STEP && entry->is_call &&
               strstr(entry->what, "Capabilities") == NULL) {
        sequence_add_call(self, index);
    } else if (entry->kind == ENTRY_STEP && entry->is_warning) {
        add_message(self, MESSAGE_WARNING, entry->at, lane_of_entry(sequence, entry), API,
                    entry->cause, g_strdup_printf("Warning %s: %s", entry->what, entry->message));
    }
}

/* ---- The whole ---- */

static int
compare_messages(const void *a, const void *b)
{
    const Message *one = a, *other = b;

    return ORDER(one->at, other->at) ?: ORDER(one->order, other->order);
}

static void
message_clear(void *data)
{
    g_free(((Message *)data)->text);
}

/* Moves the drivers to the right edge. */
static void
move_drivers_right(Sequence *self)
{
    g_autofree unsigned *place = g_new(unsigned, self->lanes->len);
    GPtrArray *lanes = g_ptr_array_new_with_free_func(g_free);

    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < self->lanes->len; i++)
            if (g_str_has_prefix(self->lanes->pdata[i], "driver ") == (pass == 1)) {
                place[i] = lanes->len;
                g_ptr_array_add(lanes, g_strdup(self->lanes->pdata[i]));
            }
    for (unsigned i = 0; i < self->messages->len; i++) {
        Message *message = &g_array_index(self->messages, Message, i);

        message->from = place[message->from];
        message->to = place[message->to];
    }
    g_ptr_array_unref(self->lanes);
    self->lanes = lanes;
}

static void
break_off(Sequence *self, unsigned messages_max)
{
    unsigned n_left = self->messages->len - messages_max;
    const Message *last = &g_array_index(self->messages, Message, self->messages->len - 1);
    char until[SIM_TIME_BUFFER];
    Message more = {.kind = MESSAGE_MORE,
                    .at = g_array_index(self->messages, Message, messages_max).at,
                    .from = USER,
                    .to = API};

    more.text = g_strdup_printf("%u more messages until %s: choose with --from and --to", n_left,
                                sim_time_format(last->at / SIM_MS * SIM_MS, until));
    g_array_set_size(self->messages, messages_max);
    g_array_append_val(self->messages, more);
}

static void
add_silences(const Narrator *narrator, Sequence *self)
{
    for (unsigned i = 1; i < self->messages->len; i++) {
        const Message *message = &g_array_index(self->messages, Message, i);
        SimTime from = g_array_index(self->messages, Message, i - 1).at;
        char duration[SHORT_TIME_BUFFER];

        if (message->at - from < SILENCE || message->kind == MESSAGE_MORE)
            continue;
        g_autoptr(GString) text = g_string_new(NULL);
        g_string_append_printf(text,
                               "%s: ", short_time(message->at - from, duration, sizeof duration));
        narrator_append_wait(narrator, message->cause, from, message->at, NULL, text);
        const Message silence = {.kind = MESSAGE_SILENCE,
                                 .at = from,
                                 .from = USER,
                                 .to = API,
                                 .text = g_strdup(text->str)};
        g_array_insert_val(self->messages, i, silence);
        i++;
    }
}

Sequence *
sequence_new(const Narrator *narrator, const SequenceOptions *options)
{
    const ObjectKey *key = narrator_find_object(narrator, options->namespace, options->object);
    g_autoptr(GHashTable) family = key != NULL ? narrator_family(narrator, key) : NULL;
    g_autoptr(GHashTable) watched = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(Sequence) self = g_new0(Sequence, 1);
    Drawing drawing = {narrator, options, family, watched, self};

    self->lanes = g_ptr_array_new_with_free_func(g_free);
    self->messages = g_array_new(FALSE, TRUE, sizeof(Message));
    g_array_set_clear_func(self->messages, message_clear);
    if (key == NULL)
        return NULL;
    lane_of(self, "user");
    lane_of(self, "API server");
    for (unsigned i = 0; i < narrator->entries->len; i++) {
        const Entry *entry = &sim_log_index(narrator->entries, Entry, i);

        if (entry->at >= options->from && entry->at <= options->to)
            sequence_add_entry(&drawing, i);
    }
    g_array_sort(self->messages, compare_messages);
    if (options->messages_max != 0 && self->messages->len > options->messages_max)
        break_off(self, options->messages_max);
    add_silences(narrator, self);
    move_drivers_right(self);
    return g_steal_pointer(&self);
}

void
sequence_free(Sequence *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->lanes);
    g_array_unref(self->messages);
    g_free(self);
}

/* ---- For gnuplot ---- */

/* Replaces characters that would end a column or a string. */
static void
append_text(GString *out, const char *text)
{
    for (; *text != '\0'; text++)
        g_string_append_c(out, *text == '\t' || *text == '\n' ? ' ' : *text == '"' ? '\'' : *text);
}

static void
append_seconds(GString *out, SimTime at)
{
    g_string_append_printf(out, "%" G_GINT64_FORMAT ".%03u s", (gint64)(at / SIM_SECOND),
                           (unsigned)(at % SIM_SECOND / SIM_MS));
}

char *
sequence_table(const Sequence *self, const char *header)
{
    static const char *const kinds[] = {
        [MESSAGE_WRITE] = "write",     [MESSAGE_WATCH] = "watch", [MESSAGE_CALL] = "call",
        [MESSAGE_ANSWER] = "answer",   [MESSAGE_ERROR] = "error", [MESSAGE_WARNING] = "warning",
        [MESSAGE_SILENCE] = "silence", [MESSAGE_MORE] = "more"};
    GString *out = g_string_new(header);

    for (unsigned i = 0; i < self->lanes->len; i++)
        g_string_append_printf(out, "%u\t%s\n", i, (const char *)self->lanes->pdata[i]);
    g_string_append(out, "\n\n");
    for (unsigned i = 0; i < self->messages->len; i++) {
        const Message *message = &g_array_index(self->messages, Message, i);

        g_string_append_printf(out, "%u\t%s\t%u\t%u\t", i, kinds[message->kind], message->from,
                               message->to);
        append_seconds(out, message->at);
        g_string_append_c(out, '\t');
        append_text(out, message->text);
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}

/* ---- For documents ---- */

/* Characters that end a line of Mermaid or begin an entity. */
static void
append_mermaid(GString *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == ';' || *text == '#')
            g_string_append_printf(out, "#%d;", *text);
        else
            g_string_append_c(out, *text == '\n' ? ' ' : *text);
}

char *
sequence_mermaid(const Sequence *self, const char *header)
{
    static const char *const arrows[] = {
        [MESSAGE_WRITE] = "->>",   [MESSAGE_WATCH] = "-->>", [MESSAGE_CALL] = "->>",
        [MESSAGE_ANSWER] = "-->>", [MESSAGE_ERROR] = "--x",  [MESSAGE_WARNING] = "-x"};
    GString *out = g_string_new("sequenceDiagram\n");

    g_string_append_printf(out, "    %%%% %s", header);
    for (unsigned i = 0; i < self->lanes->len; i++)
        g_string_append_printf(out, "    participant p%u as %s\n", i,
                               (const char *)self->lanes->pdata[i]);
    for (unsigned i = 0; i < self->messages->len; i++) {
        const Message *message = &g_array_index(self->messages, Message, i);

        if (message->kind == MESSAGE_SILENCE || message->kind == MESSAGE_MORE) {
            g_string_append_printf(out, "    Note over p0,p%u: ", self->lanes->len - 1);
        } else {
            g_string_append_printf(out, "    p%u%sp%u: ", message->from, arrows[message->kind],
                                   message->to);
            append_seconds(out, message->at);
            g_string_append_c(out, ' ');
        }
        append_mermaid(out, message->text);
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}

const char *
sequence_kind_name(MessageKind kind)
{
    static const char *const names[] = {
        [MESSAGE_WRITE] = "write",     [MESSAGE_WATCH] = "watch", [MESSAGE_CALL] = "call",
        [MESSAGE_ANSWER] = "answer",   [MESSAGE_ERROR] = "error", [MESSAGE_WARNING] = "warning",
        [MESSAGE_SILENCE] = "silence", [MESSAGE_MORE] = "more",
    };

    return names[kind];
}
