/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes decisions of components, answers of drivers and changes, entry by entry, for the story,
 * diagrams and steppers. A plan decides twice, before its time and as it sends: only the second
 * decision counts. A change is ascribed to the last request about its object. Relations (pod and
 * claim, claim and volume) make families. It only looks for keys: a new key would change the order
 * in which a run walks over them. */
#include "narrator-private.h"

#include <string.h>

#include "models/api/claim.h"
#include "models/api/storage.h"
#include "models/api/volume.h"
#include "models/csi/flex-call.h"
#include "models/plan/plan.h"
#include "run/results/snapshot.h"
#include "sim/strings.h"

static void
narrator_add_entry(Narrator *self, Entry entry)
{
    entry.at = sim_now(run_sim(self->run));
    entry.cause = sim_cause(run_sim(self->run));
    *(Entry *)sim_log_append(self->entries) = entry;
}

static void
relate(Narrator *self, const ObjectKey *a, const ObjectKey *b)
{
    const Relation relation = {.a = a, .b = b};

    if (a != NULL && b != NULL)
        *(Relation *)sim_log_append(self->relations) = relation;
}

static gboolean
is_reason(const char *step)
{
    return g_ascii_isupper(*step);
}

/* A plan decides, takes its time, and decides again as it sends the request: only the second
 * decision counts. */
static void
forget_first_thought(Narrator *self, const Plan *plan, const PlanStepView *view)
{
    gpointer index;

    if (!g_hash_table_steal_extended(self->thinking, plan, NULL, &index) || !view->has_thought)
        return;
    sim_log_index(self->entries, Entry, GPOINTER_TO_UINT(index)).is_forgotten = TRUE;
}

static gboolean
is_small_talk(CsiMethod method)
{
    const char *name = csi_method_name(method);

    return strcmp(name, "Probe") == 0 || g_str_has_suffix(name, "Info") ||
           g_str_has_suffix(name, "GetCapabilities") ||
           g_str_has_suffix(name, "PluginCapabilities");
}

static void
narrator_see_step(void *data, const RunRecord *record)
{
    Narrator *self = data;
    const Plan *plan = record->plan;
    const char *rule = record->rule, *step = record->step;
    PlanStepView view;
    CsiMethod method;

    plan_view_step(plan, &view);
    const Entry entry = {.kind = ENTRY_STEP,
                         .key = record->object,
                         .subject = view.key,
                         .who = record->component->class->name,
                         .where = record->component->node_name,
                         .rule = rule,
                         .what = step,
                         .message = view.message,
                         .done_at = TIME_UNSET,
                         .is_warning = view.is_warning,
                         .is_write = view.is_write,
                         .is_idle = view.is_idle,
                         .is_call = csi_method_parse(step, &method) && view.message == NULL,
                         .is_event = is_reason(step)};

    if (entry.is_call && rule == NULL && is_small_talk(method))
        return; /* a starting sidecar, without a rule about an object */
    forget_first_thought(self, plan, &view);
    if ((entry.is_write || entry.is_call) && !view.has_thought)
        g_hash_table_insert(self->thinking, (gpointer)plan, GUINT_TO_POINTER(self->entries->len));
    if (entry.is_write)
        g_hash_table_insert(self->writers, (gpointer)view.key,
                            GUINT_TO_POINTER(self->entries->len + 1));
    narrator_add_entry(self, entry);
}

static const char *
interned(Narrator *self, const char *text)
{
    return strings_intern(objects_strings(run_objects(self->run)), text);
}

/* A call for a new volume carries the volume's future name. */
static const ObjectKey *
key_of_call(Narrator *self, const CsiRequest *request)
{
    const char *name = request->name != NULL ? request->name : request->volume_id;

    return name == NULL ? NULL : objects_find_key(run_objects(self->run), KIND_VOLUME, NULL, name);
}

static void
narrator_see_answer(void *data, const RunRecord *record)
{
    Narrator *self = data;
    const CsiCallRecord *call = record->call;
    char buffer[SIM_TIME_BUFFER];
    SimTime now = sim_now(run_sim(self->run));
    g_autofree char *text = g_strdup_printf(
        "%s: %s (%s)", csi_call_name(call->driver, call->request->method),
        csi_code_name(call->answer), sim_time_format(now - call->started_at, buffer));
    const Entry entry = {.kind = ENTRY_CALL,
                         .key = key_of_call(self, call->request),
                         .who = csi_driver_name(call->driver),
                         .what = interned(self, text),
                         .started_at = call->started_at,
                         /* Each component asks every driver these questions as it starts. */
                         .is_small_talk = now == call->started_at && call->answer == CSI_OK &&
                                          is_small_talk(call->request->method),
                         .method = call->request->method,
                         .code = call->answer};

    narrator_add_entry(self, entry);
}

typedef struct {
    GString *text;
    GString *parts;
    gboolean is_going; /* its deletion was requested */
} FieldList;

/* Adds "finalizers" for "metadata.finalizers[0]", once. */
static void
list_part(GString *parts, const char *path)
{
    const char *dot = strchr(path, '.');
    const char *part = dot != NULL ? dot + 1 : path;
    g_autofree char *name = g_strndup(part, strcspn(part, ".["));

    if (strstr(parts->str, name) == NULL)
        g_string_append_printf(parts, "%s%s", parts->len > 0 ? ", " : "", name);
}

/* Adds the fields that people look at; the others are for developers. */
static void
list_field(void *data, const char *path, const char *before, const char *after)
{
    static const char *const told[] = {
        "status.phase",    "spec.nodeName",           "spec.volumeName",
        "status.attached", "status.capacity.storage", "spec.capacity.storage"};
    FieldList *self = data;

    list_part(self->parts, path);
    if (strcmp(path, "metadata.deletionTimestamp") == 0)
        self->is_going = before == NULL;
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

/* Relates pods and claims, claims and volumes, volumes and attachments. Only looks for keys: a new
 * key would change the order in which a run walks over them. */
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

/* Returns: (static): the STATUS of a claim or volume in kubectl; NULL for other kinds, or without
 * an object */
static const char *
narrator_state_of(const Object *object)
{
    if (object == NULL || (object->key->kind != KIND_CLAIM && object->key->kind != KIND_VOLUME))
        return NULL;
    if (object->deleted_at != TIME_UNSET)
        return "Terminating";
    return object->key->kind == KIND_CLAIM ? claim_phase_name(CLAIM_CONST(object)->phase)
                                           : volume_phase_name(VOLUME_CONST(object)->phase);
}

/* The longest time from the removal of the last finalizer to the removal of the object. */
#define GOES_AFTER (50 * SIM_MS)

/* Finds the component whose request made the change: the last one sent about the object. One
 * request may make two changes: the last finalizer goes, then the object. Users have no plan. */
static void
find_writer(Narrator *self, Entry *change)
{
    guint index = GPOINTER_TO_UINT(g_hash_table_lookup(self->writers, change->key));
    SimTime now = sim_now(run_sim(self->run));

    if (change->change == CHANGE_GONE)
        g_hash_table_remove(self->writers, change->key);
    if (index == 0)
        return;
    Entry *step = &sim_log_index(self->entries, Entry, index - 1);
    if (step->done_at != TIME_UNSET && step->done_at != now &&
        (change->change != CHANGE_GONE || now - step->done_at > GOES_AFTER))
        return;
    step->done_at = now;
    change->who = step->who;
    change->where = step->where;
    change->rule = step->rule;
    change->verb = step->what;
    change->sent_at = step->at;
    change->sent_cause = step->cause;
}

static void
narrator_see_write(void *data, const RunRecord *record)
{
    Narrator *self = data;
    const Object *before = record->before, *after = record->after;
    g_autoptr(GString) text = g_string_new(NULL), parts = g_string_new(NULL);
    FieldList fields = {.text = text, .parts = parts};
    Entry entry = {.kind = ENTRY_CHANGE,
                   .key = record->object,
                   .subject = record->object,
                   .state_before = narrator_state_of(before),
                   .state = narrator_state_of(after)};

    if (after != NULL)
        find_relations(self, after);
    if (before != NULL && after != NULL) {
        SimTime start = sim_start(run_sim(self->run));
        json_t *old_json = object_to_json_at(before, start);
        json_t *new_json = object_to_json_at(after, start);

        snapshot_compare_fields(old_json, new_json, list_field, &fields);
        json_decref(old_json);
        json_decref(new_json);
    }
    entry.change = before == NULL    ? CHANGE_CREATED
                   : after == NULL   ? CHANGE_GONE
                   : fields.is_going ? CHANGE_GOING
                   : text->len > 0   ? CHANGE_FIELDS
                                     : CHANGE_SMALL;
    entry.what = interned(self, text->str);
    entry.parts = interned(self, parts->str);
    find_writer(self, &entry);
    narrator_add_entry(self, entry);
}

Narrator *
narrator_new(Run *run)
{
    Narrator *self = g_new0(Narrator, 1);

    self->run = run;
    self->entries = sim_log_new(run_options(run)->cold, sizeof(Entry));
    self->relations = sim_log_new(run_options(run)->cold, sizeof(Relation));
    self->thinking = g_hash_table_new(NULL, NULL);
    self->writers = g_hash_table_new(NULL, NULL);
    records_watch(run_records(run), RECORD_STEP, narrator_see_step, self);
    records_watch(run_records(run), RECORD_WRITE, narrator_see_write, self);
    records_watch(run_records(run), RECORD_CALL_ANSWERED, narrator_see_answer, self);
    return self;
}

void
narrator_free(Narrator *self)
{
    if (self == NULL)
        return;
    sim_log_free(self->entries);
    sim_log_free(self->relations);
    g_hash_table_unref(self->thinking);
    g_hash_table_unref(self->writers);
    g_free(self);
}

const ObjectKey *
narrator_find_object(const Narrator *self, const char *namespace, const char *text)
{
    const char *slash = strchr(text, '/');
    const gboolean is_any = namespace == NULL || *namespace == '\0';
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

            if (strcmp(key->name, slash + 1) == 0 &&
                (is_any || *key->namespace == '\0' || strcmp(key->namespace, namespace) == 0))
                return key;
        }
    }
    return NULL;
}

GHashTable *
narrator_family(const Narrator *self, const ObjectKey *key)
{
    GHashTable *family = g_hash_table_new(NULL, NULL);
    gboolean has_grown = TRUE;

    g_hash_table_add(family, (ObjectKey *)key);
    while (has_grown) {
        has_grown = FALSE;
        for (unsigned i = 0; i < self->relations->len; i++) {
            const Relation *relation = &sim_log_index(self->relations, Relation, i);
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

gboolean
narrator_is_told(const Entry *entry, NarratorLevel level)
{
    static const char *const quiet[] = {"change", "start", "gather", "wait", "poll", "get", "list"};

    if (entry->is_forgotten)
        return FALSE;
    if (level == NARRATOR_DEVELOPER)
        return entry->kind != ENTRY_CHANGE || entry->change != CHANGE_SMALL;
    if (entry->kind == ENTRY_CALL)
        return !entry->is_small_talk;
    if (entry->kind == ENTRY_CHANGE)
        return entry->change != CHANGE_SMALL;
    if (entry->is_idle || (level == NARRATOR_BEGINNER && !entry->is_event) ||
        (entry->is_call && strstr(entry->what, "Capabilities") != NULL))
        return FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(quiet); i++)
        if (strcmp(entry->what, quiet[i]) == 0)
            return FALSE;
    return TRUE;
}

unsigned
narrator_n_seen(const Narrator *self)
{
    return self->entries->len;
}

NarratorSight
narrator_seen(const Narrator *self, unsigned i)
{
    const Entry *entry = &sim_log_index(self->entries, Entry, i);
    gboolean is_change = entry->kind == ENTRY_CHANGE;

    return (NarratorSight){.at = entry->at,
                           .key = entry->key,
                           .who = entry->who,
                           .where = entry->where,
                           .rule = entry->rule,
                           .what = entry->what,
                           .message = entry->message,
                           .verb = entry->verb,
                           .since = entry->kind == ENTRY_CALL         ? entry->started_at
                                    : is_change && entry->who != NULL ? entry->sent_at
                                                                      : entry->at,
                           .is_step = entry->kind == ENTRY_STEP,
                           .is_answer = entry->kind == ENTRY_CALL,
                           .is_call = entry->is_call,
                           .is_warning = entry->is_warning,
                           .is_failure = entry->kind == ENTRY_CALL && entry->code != CSI_OK,
                           .is_new = is_change && entry->change == CHANGE_CREATED,
                           .is_gone = is_change && entry->change == CHANGE_GONE,
                           .is_small = !narrator_is_told(entry, NARRATOR_OPERATOR),
                           .is_decision = entry->kind == ENTRY_STEP &&
                                          narrator_is_told(entry, NARRATOR_OPERATOR)};
}

GPtrArray *
narrator_rules(const Narrator *self)
{
    GPtrArray *rules = g_ptr_array_new();
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < self->entries->len; i++) {
        const Entry *entry = &sim_log_index(self->entries, Entry, i);

        if (entry->rule != NULL && g_hash_table_add(known, (char *)entry->rule))
            g_ptr_array_add(rules, (char *)entry->rule);
    }
    g_ptr_array_sort(rules, strings_compare);
    return rules;
}

SimTime
narrator_next_step(const Narrator *self,
                   const char *namespace,
                   const char *object,
                   SimTime after,
                   const char **who,
                   const char **what)
{
    const ObjectKey *key = narrator_find_object(self, namespace, object);
    g_autoptr(GHashTable) family = key != NULL ? narrator_family(self, key) : NULL;

    for (unsigned i = 0; family != NULL && i < self->entries->len; i++) {
        const Entry *entry = &sim_log_index(self->entries, Entry, i);

        if (entry->at <= after || entry->kind != ENTRY_STEP ||
            !narrator_is_told(entry, NARRATOR_OPERATOR) || entry->key == NULL ||
            !g_hash_table_contains(family, entry->key))
            continue;
        *who = entry->who;
        *what = entry->what;
        return entry->at;
    }
    return SIM_TIME_MAX;
}

/* Returns: the component that made the call */
static const char *
caller_of(const Narrator *self, unsigned call)
{
    const char *method = csi_method_name(sim_log_index(self->entries, Entry, call).method);

    for (unsigned i = call; i-- > 0;) {
        const Entry *entry = &sim_log_index(self->entries, Entry, i);

        if (entry->kind == ENTRY_STEP && strcmp(entry->what, method) == 0)
            return entry->who;
    }
    return "";
}

/* Adds the reasons of the caller's Events and of all failures, from entry @first to @end, each
 * once. */
static void
add_reasons(
    const Narrator *self, const char *caller, unsigned first, unsigned end, GPtrArray *reasons)
{
    CsiMethod method;

    for (unsigned i = first; i < end; i++) {
        const Entry *entry = &sim_log_index(self->entries, Entry, i);

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
        const Entry *entry = &sim_log_index(self->entries, Entry, i);

        if (entry->kind != ENTRY_CALL || entry->method != method)
            continue;
        if (is_found) {
            const Entry *before = &sim_log_index(self->entries, Entry, failed);

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
