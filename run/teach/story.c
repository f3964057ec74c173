/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tells the narrator's entries as a story: times, waits, rules and actions, for beginners, users or
 * developers, as text or JSON. A rule is told in full at its first use for an object. A silence is
 * explained by its longest wait in the log of causes. The story of an object is that of its family.
 * Words are translated as they are told. */
#include "narrator-private.h"

#include <string.h>

#include "rule-book.h"
#include "run/results/attribution.h"

#define N_(text) text /* for translators: po/ */

typedef struct {
    const NarratorOptions *options;
    const Narrator *narrator;
    GString *out;
    GHashTable *told;  /* "rule object" told so far */
    json_t *list;      /* the entries, for programs; NULL: for people */
    const Entry *last; /* the entry before; NULL: none */
} Telling;

static const char *words(const Telling *self, const char *english) G_GNUC_FORMAT(2);

static const char *
words(const Telling *self, const char *english)
{
    return self->options->translate != NULL ? self->options->translate(english) : english;
}

/* Enough of an attachment's checksum to tell it from others. */
#define CHECKSUM_SHOWN 12

char *
narrator_key_text(const ObjectKey *key, gboolean is_short)
{
    g_autofree char *kind = NULL;

    if (key == NULL)
        return NULL;
    kind = g_ascii_strdown(kind_class(key->kind)->kind, -1);
    if (strcmp(key->name, "*") == 0)
        return g_strdup(kind_class(key->kind)->resource);
    if (is_short && key->kind == KIND_ATTACHMENT && strlen(key->name) > 2 * CHECKSUM_SHOWN)
        return g_strdup_printf("%s/%.*s...", kind, CHECKSUM_SHOWN, key->name);
    return g_strdup_printf("%s/%s", kind, key->name);
}

static char *
key_text(const Telling *self, const ObjectKey *key)
{
    return narrator_key_text(key, self->options->level < NARRATOR_DEVELOPER);
}

/* ---- What time was needed for ---- */

/* A wait in an observer's words; the detail follows in brackets. */
static const char *
wait_words(SimWait wait)
{
    switch ((WaitKind)wait) {
    case WAIT_SCENARIO:
        return N_("nothing to do until somebody acts from outside");
    case WAIT_THINK:
        return N_("the component is at work");
    case WAIT_THROTTLE:
        return N_("the client has used up its requests per second");
    case WAIT_API:
        return N_("the API server is at work");
    case WAIT_WATCH:
        return N_("the news is on its way to who watches");
    case WAIT_QUEUE:
        return N_("it lies in a work queue");
    case WAIT_WORKERS:
        return N_("all workers are busy");
    case WAIT_BACKOFF:
        return N_("a pause before the next try (back-off)");
    case WAIT_POLL:
        return N_("until a loop looks again");
    case WAIT_SCHEDULER_QUEUE:
        return N_("other pods are scheduled first");
    case WAIT_UNSCHEDULABLE:
        return N_("no node can take the pod");
    case WAIT_DRIVER:
        return N_("the driver is at work");
    case WAIT_DRIVER_THROTTLE:
        return N_("the driver takes no more calls now");
    case WAIT_RUNTIME:
        return N_("containers start or stop");
    case WAIT_STARTUP:
        return N_("a process or plugin starts");
    case WAIT_GROUP:
        return N_("the volume's files get the pod's group");
    case WAIT_LABEL:
        return N_("the volume's files get the pod's SELinux label");
    case WAIT_IMAGE:
        return N_("the node pulls images");
    case WAIT_NONE:
    case N_WAITS:
        break;
    }
    return N_("the component is at work");
}

void
narrator_append_wait(const Narrator *self,
                     SimCauseId cause,
                     SimTime from,
                     SimTime to,
                     const char *(*translate)(const char *english),
                     GString *out)
{
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(ChainLink));
    const ChainLink *longest = NULL;
    const SimTrace *trace = run_options(self->run)->untraced ? NULL : sim_trace(run_sim(self->run));

    if (trace == NULL)
        return;
    attribution_walk(trace, cause, from, to, NULL, links);
    for (unsigned i = 0; i < links->len; i++) {
        const ChainLink *link = &g_array_index(links, ChainLink, i);

        if (longest == NULL || link->to - link->from > longest->to - longest->from)
            longest = link;
    }
    if (longest == NULL)
        return;

    const char *detail = attribution_detail(trace, longest->wait, longest->detail);
    const char *text = wait_words(longest->wait);
    g_string_append(out, translate != NULL ? translate(text) : text);
    if (*detail != '\0')
        g_string_append_printf(out, " (%s)", detail);
}

static void
tell_wait(Telling *self, SimCauseId cause, SimTime from, SimTime to)
{
    narrator_append_wait(self->narrator, cause, from, to, self->options->translate, self->out);
}

/* Shorter silences are not mentioned. */
static SimTime
silence_told(NarratorLevel level)
{
    return level == NARRATOR_BEGINNER ? SIM_SECOND : 300 * SIM_MS;
}

static void
tell_silence(Telling *self, const Entry *entry)
{
    SimTime from = self->last != NULL ? self->last->at : entry->at;
    char duration[SHORT_TIME_BUFFER];

    if (entry->at - from < silence_told(self->options->level))
        return;
    g_string_append_printf(self->out, "               ... %s: ",
                           short_time(entry->at - from, duration, sizeof duration));
    tell_wait(self, entry->cause, from, entry->at);
    g_string_append_c(self->out, '\n');
}

/* ---- Entries ---- */

/* Tells a rule in full at its first use for an object; in the story of one object, only at its
 * first use. */
static void
tell_rule(Telling *self, const Entry *entry)
{
    g_autofree char *id = NULL;
    const RuleBookEntry *rule;
    const char *sentence;

    if (entry->rule == NULL)
        return;
    id = g_strdup_printf("%s %s", entry->rule,
                         entry->key != NULL && self->options->object == NULL ? entry->key->text
                                                                             : "");
    if (!g_hash_table_add(self->told, g_strdup(id)))
        return;
    rule = rule_book_find(entry->rule);
    sentence = rule_book_words(entry->rule);
    g_string_append(self->out, "               ");
    if (self->options->level > NARRATOR_BEGINNER)
        g_string_append_printf(self->out, "%s: ", entry->rule);
    g_string_append(self->out, sentence != NULL ? words(self, sentence) : "?");
    if (self->options->level == NARRATOR_DEVELOPER && rule != NULL) {
        if (sentence != rule->sentence)
            g_string_append_printf(self->out, "\n               \"%s\"", rule->sentence);
        g_string_append_printf(self->out, " [docs/rules/%s]", rule->book);
    }
    g_string_append_c(self->out, '\n');
}

static void
tell_time(Telling *self, SimTime at)
{
    g_string_append_printf(self->out, "%9" G_GINT64_FORMAT ".%03us  ", (gint64)(at / SIM_SECOND),
                           (unsigned)(at % SIM_SECOND / SIM_MS));
}

static void
append_who(GString *out, const Entry *entry)
{
    g_string_append(out, entry->who);
    if (entry->where != NULL)
        g_string_append_printf(out, " (%s)", entry->where);
}

/* "updates the status of pod/app" */
static void
append_action(Telling *self, const Entry *entry)
{
    static const struct {
        const char *step, *words;
    } actions[] = {
        {"create",        N_("creates %s")              },
        {"update",        N_("updates %s")              },
        {"update status", N_("updates the status of %s")},
        {"patch",         N_("patches %s")              },
        {"patch status",  N_("patches the status of %s")},
        {"delete",        N_("deletes %s")              },
        {"bind",          N_("binds %s to its node")    },
        {"get",           N_("reads %s")                },
        {"list",          N_("lists %s")                },
    };
    g_autofree char *subject = key_text(self, entry->subject);

    if (entry->message != NULL) {
        g_string_append_printf(self->out, "%s %s: %s",
                               entry->is_warning ? words(self, N_("Warning"))
                                                 : words(self, N_("Event")),
                               entry->what, entry->message);
        return;
    }
    if (entry->is_call) {
        g_string_append_printf(self->out, words(self, N_("calls the driver: %s")), entry->what);
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(actions) && subject != NULL; i++)
        if (strcmp(actions[i].step, entry->what) == 0) {
            g_autofree char *format = g_strdup(words(self, actions[i].words));
            char *place = strstr(format, "%s");

            if (place == NULL)
                break;
            *place = '\0';
            g_string_append_printf(self->out, "%s%s%s", format, subject, place + 2);
            if (entry->is_idle)
                g_string_append_printf(self->out, " (%s)",
                                       words(self, N_("nothing to change: not sent")));
            return;
        }
    g_string_append(self->out, entry->what);
}

static void
tell_step(Telling *self, const Entry *entry)
{
    const Entry *last = self->last;
    gboolean goes_on = last != NULL && last->kind == ENTRY_STEP && last->at == entry->at &&
                       last->who == entry->who && last->key == entry->key &&
                       last->where == entry->where;

    if (!goes_on) {
        g_autofree char *key = key_text(self, entry->key);

        tell_time(self, entry->at);
        append_who(self->out, entry);
        if (key != NULL)
            g_string_append_printf(self->out, ", %s", key);
        g_string_append_c(self->out, '\n');
    }
    tell_rule(self, entry);
    g_string_append(self->out, "               ");
    if (self->options->level > NARRATOR_BEGINNER && entry->rule != NULL)
        g_string_append_printf(self->out, "%s: ", entry->rule);
    g_string_append(self->out, "-> ");
    append_action(self, entry);
    g_string_append_c(self->out, '\n');
}

/* "is created, phase: Pending" */
static void
append_change(Telling *self, const Entry *entry)
{
    if (entry->change == CHANGE_CREATED)
        g_string_append(self->out, words(self, N_("is created")));
    else if (entry->change == CHANGE_GONE)
        g_string_append(self->out, words(self, N_("is gone")));
    else if (entry->change == CHANGE_GOING)
        g_string_append(self->out, words(self, N_("is being deleted")));
    if (*entry->what != '\0')
        g_string_append_printf(self->out, "%s%s", entry->change == CHANGE_FIELDS ? "" : ", ",
                               entry->what);
}

static void
tell_change(Telling *self, const Entry *entry)
{
    g_autofree char *key = key_text(self, entry->key);

    tell_time(self, entry->at);
    g_string_append_printf(self->out, "%s ", key);
    append_change(self, entry);
    if (entry->who != NULL) {
        g_string_append(self->out, " (");
        g_string_append(self->out, words(self, N_("by")));
        g_string_append_c(self->out, ' ');
        append_who(self->out, entry);
        g_string_append_c(self->out, ')');
    }
    g_string_append_c(self->out, '\n');
    /* beginners do not see the request, so give the reason here */
    if (self->options->level == NARRATOR_BEGINNER)
        tell_rule(self, entry);
}

static void
tell_entry(Telling *self, const Entry *entry)
{
    tell_silence(self, entry);
    switch (entry->kind) {
    case ENTRY_STEP:
        tell_step(self, entry);
        break;
    case ENTRY_CALL:
        tell_time(self, entry->at);
        g_string_append_printf(self->out, "%s %s %s\n", words(self, N_("driver")), entry->who,
                               entry->what);
        break;
    case ENTRY_CHANGE:
        tell_change(self, entry);
        break;
    }
    self->last = entry;
}

/* @next: the first entry after the end of the story; NULL if the run has none */
static void
tell_now(Telling *self, const Entry *next)
{
    SimTime now = self->options->until, since = self->last != NULL ? self->last->at : 0;
    char duration[SHORT_TIME_BUFFER];

    tell_time(self, now);
    g_string_append_printf(self->out, "%s ", words(self, N_("now:")));
    if (next == NULL) {
        g_string_append_printf(
            self->out, "%s\n",
            words(self, N_("nothing more happens for 10 minutes, if nobody does anything")));
        return;
    }
    g_string_append_printf(self->out, words(self, N_("waiting for %s")),
                           short_time(now - since, duration, sizeof duration));
    g_string_append(self->out, ": ");
    tell_wait(self, next->cause, since, next->at);
    g_string_append_c(self->out, '\n');
    g_string_append(self->out, "               ");
    g_string_append_printf(self->out, words(self, N_("next, in %s:")),
                           short_time(next->at - now, duration, sizeof duration));
    g_string_append_c(self->out, '\n');
    self->last = NULL; /* the time until then is already told */
    tell_entry(self, next);
}

static gboolean
concerns(const Entry *entry, GHashTable *family)
{
    return family == NULL || (entry->key != NULL && g_hash_table_contains(family, entry->key)) ||
           (entry->subject != NULL && entry->subject != entry->key && entry->kind == ENTRY_STEP &&
            (entry->is_write || entry->message != NULL) &&
            g_hash_table_contains(family, entry->subject));
}

/* Hands the entries of the story to @tell. Returns: whether the run has the object; @next: the
 * first entry after the end of the story, NULL: none */
static gboolean
walk_story(Telling *self, void (*tell)(Telling *self, const Entry *entry), const Entry **next)
{
    const NarratorOptions *options = self->options;
    const SimLog *entries = self->narrator->entries;
    const ObjectKey *key =
        options->object != NULL
            ? narrator_find_object(self->narrator, options->namespace, options->object)
            : NULL;
    g_autoptr(GHashTable) family = key != NULL ? narrator_family(self->narrator, key) : NULL;

    *next = NULL;
    if (options->object != NULL && key == NULL)
        return FALSE;
    for (unsigned i = options->first; i < entries->len && *next == NULL; i++) {
        const Entry *entry = &sim_log_index(entries, Entry, i);

        if (!concerns(entry, family) || !narrator_is_told(entry, options->level))
            continue;
        if (entry->at > options->until)
            *next = entry;
        else
            tell(self, entry);
    }
    return TRUE;
}

gboolean
narrator_tell(const Narrator *self, const NarratorOptions *options, GString *out)
{
    g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    Telling telling = {.options = options, .narrator = self, .out = out, .told = told};
    const Entry *next;

    if (!walk_story(&telling, tell_entry, &next))
        return FALSE;
    if (options->until != SIM_TIME_MAX)
        tell_now(&telling, next);
    return TRUE;
}

/* ---- For programs ---- */

/* Returns: (owned): the longest wait from @from to the entry; null if it is too short to be told */
static json_t *
wait_json(const Telling *self, SimTime from, const Entry *entry)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (entry->at - from < silence_told(self->options->level))
        return json_null();
    narrator_append_wait(self->narrator, entry->cause, from, entry->at, self->options->translate,
                         text);
    return json_pack("{s:I, s:s}", "ns", (json_int_t)(entry->at - from), "text", text->str);
}

static json_t *
entry_json(Telling *self, const Entry *entry, SimTime from)
{
    static const char *const kinds[] = {"step", "answer", "change"};
    g_autofree char *object = narrator_key_text(entry->key, FALSE);
    g_autofree char *subject = narrator_key_text(entry->subject, FALSE);
    const char *sentence = entry->rule != NULL ? rule_book_words(entry->rule) : NULL;

    g_string_truncate(self->out, 0);
    if (entry->kind == ENTRY_STEP)
        append_action(self, entry);
    else if (entry->kind == ENTRY_CHANGE)
        append_change(self, entry);
    else
        g_string_append(self->out, entry->what);
    return json_pack("{s:I, s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s, s:o}", "atNs",
                     (json_int_t)entry->at, "kind", kinds[entry->kind], "by", entry->who, "node",
                     entry->where, "object", object, "namespace",
                     entry->key != NULL && *entry->key->namespace != '\0' ? entry->key->namespace
                                                                          : NULL,
                     "subject", subject, "rule", entry->rule, "because",
                     sentence != NULL ? words(self, sentence) : NULL, "text", self->out->str,
                     "wait", wait_json(self, from, entry));
}

static void
story_add_entry(Telling *self, const Entry *entry)
{
    json_array_append_new(self->list,
                          entry_json(self, entry, self->last != NULL ? self->last->at : entry->at));
    self->last = entry;
}

json_t *
narrator_json(const Narrator *self, const NarratorOptions *options)
{
    g_autoptr(GString) text = g_string_new(NULL);
    json_auto_t *list = json_array();
    Telling telling = {.options = options, .narrator = self, .out = text, .list = list};
    const Entry *next;

    if (!walk_story(&telling, story_add_entry, &next))
        return NULL;
    const SimTime since = telling.last != NULL ? telling.last->at : 0;
    return json_pack("{s:O, s:o, s:o}", "entries", list, "untilNs",
                     options->until == SIM_TIME_MAX ? json_null() : json_integer(options->until),
                     "next", next == NULL ? json_null() : entry_json(&telling, next, since));
}
