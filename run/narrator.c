/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "narrator.h"

#include <string.h>

#include "models/api/claim.h"
#include "models/api/storage.h"
#include "models/api/volume.h"
#include "models/plan.h"
#include "rule-book.h"
#include "snapshot.h"

typedef enum {
    ENTRY_STEP,   /* of a component's plan */
    ENTRY_CALL,   /* a driver has answered */
    ENTRY_CHANGE, /* of an object */
} EntryKind;

typedef struct {
    EntryKind kind;
    SimTime at;
    const ObjectKey *key; /* what it is about; NULL: nothing in particular */
    const char *who;      /* component or driver */
    const char *where;    /* the node of a component that has one; NULL */
    const char *rule;     /* of steps; NULL: none told */
    const char *what;     /* static or interned */
    gboolean is_event;    /* of steps: the reason of an Event */
    SimTime started_at;   /* of calls */
    CsiMethod method;
    CsiCode code;
} Entry;

/* Two objects that belong together: what happens to one concerns the other. */
typedef struct {
    const ObjectKey *a, *b;
} Relation;

struct Narrator {
    Run *run;
    GArray *entries;   /* of Entry, by time */
    GArray *relations; /* of Relation */
};

static void
add_entry(Narrator *self, Entry entry)
{
    entry.at = sim_now(run_sim(self->run));
    g_array_append_val(self->entries, entry);
}

static void
relate(Narrator *self, const ObjectKey *a, const ObjectKey *b)
{
    const Relation relation = {.a = a, .b = b};

    if (a != NULL && b != NULL)
        g_array_append_val(self->relations, relation);
}

static gboolean
is_reason(const char *step)
{
    return g_ascii_isupper(*step);
}

static void
step_seen(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    Narrator *self = data;
    const Entry entry = {.kind = ENTRY_STEP,
                         .key = plan_key(plan),
                         .who = component->class->name,
                         .where = component->node_name,
                         .rule = rule,
                         .what = step,
                         .is_event = is_reason(step)};

    add_entry(self, entry);
}

static const char *
interned(Narrator *self, const char *text)
{
    return strings_intern(objects_strings(run_objects(self->run)), text);
}

/* @volume: NULL or its handle; a claim's new volume is called as it will be named. */
static const ObjectKey *
key_of_call(Narrator *self, const CsiRequest *request)
{
    const char *name = request->name != NULL ? request->name : request->volume_id;

    return name == NULL ? NULL : objects_find_key(run_objects(self->run), KIND_VOLUME, NULL, name);
}

static void
call_answered(void *data, const CsiCallRecord *record)
{
    Narrator *self = data;
    char buffer[SIM_TIME_BUFFER];
    g_autofree char *text = g_strdup_printf(
        "%s: %s (%s)", csi_method_name(record->request->method), csi_code_name(record->answer),
        sim_time_format(sim_now(run_sim(self->run)) - record->started_at, buffer));
    const Entry entry = {.kind = ENTRY_CALL,
                         .key = key_of_call(self, record->request),
                         .who = csi_driver_name(record->driver),
                         .what = interned(self, text),
                         .started_at = record->started_at,
                         .method = record->request->method,
                         .code = record->answer};

    add_entry(self, entry);
}

typedef struct {
    GString *text;
} FieldList;

/* What people look at; all else is a developer's. */
static void
list_field(void *data, const char *path, const char *before, const char *after)
{
    static const char *const told[] = {
        "status.phase",    "spec.nodeName",           "spec.volumeName",
        "status.attached", "status.capacity.storage", "spec.capacity.storage"};
    FieldList *self = data;

    if (strcmp(path, "metadata.deletionTimestamp") == 0)
        g_string_append_printf(self->text, "%sis being deleted", self->text->len > 0 ? ", " : "");
    else if (strcmp(path, "metadata.annotations.volume.kubernetes.io/selected-node") == 0)
        g_string_append_printf(self->text, "%sselected-node: %s", self->text->len > 0 ? ", " : "",
                               after != NULL ? after : "-");
    for (unsigned i = 0; i < G_N_ELEMENTS(told); i++) {
        const char *name = strrchr(told[i], '.') + 1;

        if (strcmp(path, told[i]) != 0)
            continue;
        g_string_append_printf(self->text, "%s%s: ", self->text->len > 0 ? ", " : "",
                               strcmp(name, "storage") == 0 ? "capacity" : name);
        if (before != NULL)
            g_string_append_printf(self->text, "%s -> ", before);
        g_string_append(self->text, after != NULL ? after : "-");
    }
}

/* Pods with their claims, claims with their volumes, volumes with their attachments. Keys are only looked for: one made here would
 * change the order in which a run walks over them. */
static void
find_relations(Narrator *self, const Object *object)
{
    Objects *objects = run_objects(self->run);
    const ObjectKey *key = object->key;
    const char *volume = NULL;

    if (key->kind == KIND_POD) {
        const PodVolumes *volumes = POD_CONST(object)->volumes;

        for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
            if (volumes->items[i].claim_name != NULL)
                relate(self, key,
                       objects_find_key(objects, KIND_CLAIM, key->namespace,
                                        volumes->items[i].claim_name));
    } else if (key->kind == KIND_CLAIM) {
        volume = CLAIM_CONST(object)->volume_name;
    } else if (key->kind == KIND_ATTACHMENT) {
        volume = ((const Attachment *)object)->volume_name;
    }
    if (volume != NULL)
        relate(self, key, objects_find_key(objects, KIND_VOLUME, NULL, volume));
    if (object->owners != NULL)
        for (unsigned i = 0; i < object->owners->n_items; i++)
            relate(self, key, object->owners->items[i].key);
}

static void
object_changed(void *data, const Object *before, const Object *after)
{
    Narrator *self = data;
    const Object *object = after != NULL ? after : before;
    FieldList fields = {.text = g_string_new(before == NULL  ? "is created"
                                             : after == NULL ? "is gone"
                                                             : NULL)};
    Entry entry = {.kind = ENTRY_CHANGE, .key = object->key};

    if (after != NULL)
        find_relations(self, after);
    if (before != NULL && after != NULL) {
        json_t *old_json = object_to_json(before), *new_json = object_to_json(after);

        snapshot_compare_fields(old_json, new_json, list_field, &fields);
        json_decref(old_json);
        json_decref(new_json);
    }
    if (fields.text->len > 0) {
        entry.what = interned(self, fields.text->str);
        add_entry(self, entry);
    }
    g_string_free(fields.text, TRUE);
}

Narrator *
narrator_new(Run *run)
{
    Narrator *self = g_new0(Narrator, 1);
    Cluster *cluster = run_cluster(run);
    const CsiObserver observer = {.answered = call_answered, .data = self};

    self->run = run;
    self->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    self->relations = g_array_new(FALSE, FALSE, sizeof(Relation));
    cluster_observe_plans(cluster, step_seen, self);
    api_server_observe(cluster_api(cluster), object_changed, self);
    for (unsigned i = 0; i < cluster_n_drivers(cluster); i++)
        csi_driver_add_observer(cluster_driver(cluster, i), &observer);
    return self;
}

void
narrator_free(Narrator *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->entries);
    g_array_unref(self->relations);
    g_free(self);
}

/* "pod/web-0", of any namespace. NULL: no such object */
static const ObjectKey *
find_object(const Narrator *self, const char *text)
{
    const char *slash = strchr(text, '/');
    Objects *objects = run_objects(self->run);

    for (unsigned kind = 0; kind < N_KINDS && slash != NULL; kind++) {
        static const char *const short_names[N_KINDS] = {[KIND_CLAIM] = "pvc",
                                                         [KIND_VOLUME] = "pv",
                                                         [KIND_STORAGE_CLASS] = "sc",
                                                         [KIND_STATEFUL_SET] = "sts"};
        const KindClass *class = kind_class((ObjectKind)kind);
        g_autofree char *word = g_ascii_strdown(text, (gssize)(slash - text));
        g_autofree char *singular = g_ascii_strdown(class->kind, -1);

        if (strcmp(word, singular) != 0 && strcmp(word, class->resource) != 0 &&
            g_strcmp0(word, short_names[kind]) != 0)
            continue;
        for (uint32_t slot = 0; slot < objects_n_keys(objects, (ObjectKind)kind); slot++) {
            const ObjectKey *key = objects_key_at(objects, (ObjectKind)kind, slot);

            if (strcmp(key->name, slash + 1) == 0)
                return key;
        }
    }
    return NULL;
}

/* The object and all that belongs to it. Pods of the same claim do not belong to each other, nor what belongs to those. (owned) */
static GHashTable *
family_of(const Narrator *self, const ObjectKey *key)
{
    GHashTable *family = g_hash_table_new(NULL, NULL);
    gboolean has_grown = TRUE;

    g_hash_table_add(family, (ObjectKey *)key);
    while (has_grown) {
        has_grown = FALSE;
        for (unsigned i = 0; i < self->relations->len; i++) {
            const Relation *relation = &g_array_index(self->relations, Relation, i);
            gboolean has_a = g_hash_table_contains(family, relation->a),
                     has_b = g_hash_table_contains(family, relation->b);
            const ObjectKey *other = has_a ? relation->b : relation->a;

            if (has_a == has_b || (other->kind == KIND_POD && key->kind == KIND_POD) ||
                (other->kind == KIND_STATEFUL_SET && key->kind != KIND_STATEFUL_SET) ||
                other->kind == KIND_NODE)
                continue;
            g_hash_table_add(family, (ObjectKey *)other);
            has_grown = TRUE;
        }
    }
    return family;
}

static gboolean
is_told(const Entry *entry, NarratorLevel level)
{
    static const char *const quiet[] = {"change", "start", "gather", "wait", "poll", "get", "list"};

    if (entry->kind != ENTRY_STEP || level == NARRATOR_DEVELOPER)
        return TRUE;
    if (level == NARRATOR_BEGINNER && !entry->is_event)
        return FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(quiet); i++)
        if (strcmp(entry->what, quiet[i]) == 0)
            return FALSE;
    return TRUE;
}

typedef struct {
    const NarratorOptions *options;
    GString *out;
    GHashTable *told;  /* "rule object" that were told */
    const Entry *last; /* the entry told before; NULL: none */
} Telling;

static const char *
words(const Telling *self, const char *english)
{
    return self->options->translate != NULL ? self->options->translate(english) : english;
}

static void
append_key(GString *out, const ObjectKey *key)
{
    g_autofree char *kind = NULL;

    if (key == NULL)
        return;
    kind = g_ascii_strdown(kind_class(key->kind)->kind, -1);
    g_string_append_printf(out, "%s/%s", kind, key->name);
}

/* A rule is told in full the first time that it is applied to an object. */
static void
tell_rule(Telling *self, const Entry *entry)
{
    g_autofree char *id = NULL;
    const RuleBookEntry *rule;

    if (entry->rule == NULL)
        return;
    id = g_strdup_printf("%s %s", entry->rule, entry->key != NULL ? entry->key->text : "");
    if (!g_hash_table_add(self->told, g_strdup(id)))
        return;
    rule = rule_book_find(entry->rule);
    g_string_append(self->out, "               ");
    if (self->options->level > NARRATOR_BEGINNER)
        g_string_append_printf(self->out, "%s: ", entry->rule);
    g_string_append(self->out, rule != NULL ? words(self, rule->sentence) : "?");
    if (self->options->level == NARRATOR_DEVELOPER && rule != NULL)
        g_string_append_printf(self->out, " [docs/rules/%s]", rule->book);
    g_string_append_c(self->out, '\n');
}

static void
tell_time(Telling *self, SimTime at)
{
    g_string_append_printf(self->out, "%9" G_GINT64_FORMAT ".%03us  ", (gint64)(at / SIM_SECOND),
                           (unsigned)(at % SIM_SECOND / SIM_MS));
}

/* A component decides, takes its time, and decides afresh as the request leaves: the same step twice, a few ms apart. */
#define SECOND_THOUGHT (50 * SIM_MS)

static gboolean
is_second_thought(const Telling *self, const Entry *entry)
{
    const Entry *last = self->last;

    return self->options->level < NARRATOR_DEVELOPER && last != NULL && entry->kind == ENTRY_STEP &&
           last->kind == ENTRY_STEP && entry->at - last->at <= SECOND_THOUGHT &&
           last->who == entry->who && last->key == entry->key && last->where == entry->where &&
           last->rule == entry->rule && last->what == entry->what;
}

static void
tell_entry(Telling *self, const Entry *entry)
{
    const Entry *last = self->last;
    gboolean goes_on = last != NULL && entry->kind == ENTRY_STEP && last->kind == ENTRY_STEP &&
                       last->at == entry->at && last->who == entry->who &&
                       last->key == entry->key && last->rule == entry->rule &&
                       last->where == entry->where;

    if (is_second_thought(self, entry))
        return;
    self->last = entry;
    if (goes_on) {
        g_string_truncate(self->out, self->out->len - 1);
        g_string_append_printf(self->out, ", %s\n", entry->what);
        return;
    }
    tell_time(self, entry->at);
    switch (entry->kind) {
    case ENTRY_STEP:
        g_string_append(self->out, entry->who);
        if (entry->where != NULL)
            g_string_append_printf(self->out, " (%s)", entry->where);
        g_string_append(self->out, ", ");
        append_key(self->out, entry->key);
        g_string_append_c(self->out, '\n');
        tell_rule(self, entry);
        if (self->options->level > NARRATOR_BEGINNER && entry->rule != NULL)
            g_string_append_printf(self->out, "               %s: -> %s\n", entry->rule,
                                   entry->what);
        else
            g_string_append_printf(self->out, "               -> %s\n", entry->what);
        return;
    case ENTRY_CALL:
        g_string_append_printf(self->out, "%s %s %s\n", words(self, "driver"), entry->who,
                               entry->what);
        return;
    case ENTRY_CHANGE:
        append_key(self->out, entry->key);
        g_string_append_printf(self->out, " %s\n", words(self, entry->what));
        return;
    }
    g_assert_not_reached();
}

gboolean
narrator_tell(const Narrator *self, const NarratorOptions *options, GString *out)
{
    const ObjectKey *key = options->object != NULL ? find_object(self, options->object) : NULL;
    g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) family = NULL;
    Telling telling = {.options = options, .out = out, .told = told};

    if (options->object != NULL && key == NULL)
        return FALSE;
    if (key != NULL)
        family = family_of(self, key);
    for (unsigned i = 0; i < self->entries->len; i++) {
        const Entry *entry = &g_array_index(self->entries, Entry, i);

        if (entry->at > options->until)
            break;
        if ((family != NULL &&
             (entry->key == NULL || !g_hash_table_contains(family, entry->key))) ||
            !is_told(entry, options->level))
            continue;
        tell_entry(&telling, entry);
    }
    return TRUE;
}

static int
compare_ids(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

GPtrArray *
narrator_rules(const Narrator *self)
{
    GPtrArray *rules = g_ptr_array_new();
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < self->entries->len; i++) {
        const Entry *entry = &g_array_index(self->entries, Entry, i);

        if (entry->rule != NULL && g_hash_table_add(known, (char *)entry->rule))
            g_ptr_array_add(rules, (char *)entry->rule);
    }
    g_ptr_array_sort(rules, compare_ids);
    return rules;
}

SimTime
narrator_next_step(
    const Narrator *self, const char *object, SimTime after, const char **who, const char **what)
{
    const ObjectKey *key = find_object(self, object);
    g_autoptr(GHashTable) family = key != NULL ? family_of(self, key) : NULL;

    for (unsigned i = 0; family != NULL && i < self->entries->len; i++) {
        const Entry *entry = &g_array_index(self->entries, Entry, i);

        if (entry->at <= after || entry->kind != ENTRY_STEP || !is_told(entry, NARRATOR_OPERATOR) ||
            entry->key == NULL || !g_hash_table_contains(family, entry->key))
            continue;
        *who = entry->who;
        *what = entry->what;
        return entry->at;
    }
    return SIM_TIME_MAX;
}

/* The component whose step the call was. */
static const char *
caller_of(const Narrator *self, unsigned call)
{
    const char *method = csi_method_name(g_array_index(self->entries, Entry, call).method);

    for (unsigned i = call; i-- > 0;) {
        const Entry *entry = &g_array_index(self->entries, Entry, i);

        if (entry->kind == ENTRY_STEP && strcmp(entry->what, method) == 0)
            return entry->who;
    }
    return "";
}

/* Reasons of the caller's own Events, and of anybody's failures, from the entry @first to @end, each once. */
static void
add_reasons(
    const Narrator *self, const char *caller, unsigned first, unsigned end, GPtrArray *reasons)
{
    CsiMethod method;

    for (unsigned i = first; i < end; i++) {
        const Entry *entry = &g_array_index(self->entries, Entry, i);

        if (entry->kind == ENTRY_STEP && entry->is_event &&
            !csi_method_parse(entry->what, &method) &&
            (strcmp(entry->who, caller) == 0 || strstr(entry->what, "Failed") != NULL) &&
            !g_ptr_array_find_with_equal_func(reasons, entry->what, g_str_equal, NULL))
            g_ptr_array_add(reasons, (char *)entry->what);
    }
}

gboolean
narrator_retries(const Narrator *self, CsiMethod method, CsiCode code, NarratorRetries *retries)
{
    unsigned failed = 0;
    gboolean is_found = FALSE;

    *retries = (NarratorRetries){.reasons = g_ptr_array_new()};
    for (unsigned i = 0; i < self->entries->len; i++) {
        const Entry *entry = &g_array_index(self->entries, Entry, i);

        if (entry->kind != ENTRY_CALL || entry->method != method)
            continue;
        if (is_found) {
            const Entry *before = &g_array_index(self->entries, Entry, failed);

            if (retries->n_delays < G_N_ELEMENTS(retries->delays))
                retries->delays[retries->n_delays++] = entry->started_at - before->at;
            add_reasons(self, retries->caller, failed, i, retries->reasons);
        }
        if (entry->code != code)
            break;
        is_found = TRUE;
        failed = i;
        retries->caller = caller_of(self, i);
    }
    if (is_found && retries->n_delays == 0)
        add_reasons(self, retries->caller, failed, self->entries->len, retries->reasons);
    return is_found;
}

const RuleBookEntry *
rule_book_find(const char *id)
{
    g_autofree char *name = g_strdup(id);

    for (;;) {
        for (const RuleBookEntry *entry = rule_book; entry->id != NULL; entry++)
            if (strcmp(entry->id, name) == 0)
                return entry;

        gsize length = strlen(name);
        char *dot = strrchr(name, '.');
        if (length > 0 && g_ascii_islower(name[length - 1]))
            name[length - 1] = '\0';
        else if (dot != NULL)
            *dot = '\0';
        else
            return NULL;
    }
}
