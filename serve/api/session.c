/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A served session as a scenario: each action of a client becomes an item with its time, so
 * `kvolsim run` repeats the session. The record is a scenario file that is valid after each action:
 * an item is appended before the end of the session, and an action without an answer holds up later
 * ones, so items are in their order. If the disk is full, the record stays as it was, and the next
 * action tries again.
 *
 * Clients reach no file of the machine through an item: neither manifests nor profiles by a path.
 */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "models/api/fields.h"

/* The end of the session's text; later ends of the same length overwrite it. */
#define UNTIL_FORMAT "%010" G_GINT64_FORMAT ".%09" G_GINT64_FORMAT "s"

/* An action, and what becomes of it. */
typedef struct {
    ServeSession *session;
    ScenarioAction action;
    json_t *item;                               /* (owned): of the workload */
    char *namespace, *name, *group, *kind_name; /* (owned) */
    const json_t *manifest;                     /* CREATE: the array of manifests */
    gboolean is_answered;
    json_t *(*edit)(void *data, const Object *object);
    SessionAnswered answered;
    void *data;
} SessionAct;

struct ServeSession {
    ServeSessionOptions options;
    const Scenario *base;     /* (borrowed): without any act */
    GPtrArray *acts;          /* of Act (owned) */
    GPtrArray *scenarios;     /* of Scenario (owned): of actions that were read as text */
    json_t *faults;           /* items */
    GPtrArray *fault_actions; /* of ScenarioAction (borrowed), one for each; NULL: of another run */
    unsigned n_written;       /* acts in the record */
    int file;                 /* the record; -1: none */
    off_t until_at;           /* the place of the end in it */
};

static void
act_free(void *data)
{
    SessionAct *self = data;

    json_decref(self->item);
    g_free(self->namespace);
    g_free(self->name);
    g_free(self->group);
    g_free(self->kind_name);
    g_free(self);
}

static Sim *
session_sim(const ServeSession *self)
{
    return run_sim(self->options.run);
}

static char *
session_time_text(SimTime at)
{
    return g_strdup_printf("%" G_GINT64_FORMAT "ns", at);
}

/* ---- The record ---- */

static char *
until_text(const ServeSession *self)
{
    SimTime now = sim_now(session_sim(self));

    return g_strdup_printf(UNTIL_FORMAT, now / SIM_SECOND, now % SIM_SECOND);
}

static gboolean
write_at(const ServeSession *self, const char *text, off_t at)
{
    gsize length = strlen(text), done = 0;

    while (done < length) {
        ssize_t n = at < 0 ? write(self->file, text + done, length - done)
                           : pwrite(self->file, text + done, length - done, at + (off_t)done);
        if (n < 0 && errno != EINTR)
            return FALSE;
        done += n > 0 ? (gsize)n : 0;
    }
    return TRUE;
}

/* @is_first: of the session: a scenario without a workload has none before it. */
static void
append_item(const ServeSession *self, const SessionAct *act, gboolean is_first, GString *text)
{
    const json_t *workload = json_path_get(self->base->document, "spec.workload");
    char *json = json_dumps(act->item, 0);

    g_string_append_printf(text, "%s  - %s\n",
                           is_first && json_array_size(workload) == 0 ? "  workload:\n" : "", json);
    free(json);
}

/* Appends the acts that are answered, in their order; an earlier one without an answer holds up the
 * later ones. If the disk is full, the record stays as it was, and the next act tries again; what
 * is missing at the end of the session is an error then. */
static void
write_answered(ServeSession *self)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *until = until_text(self);
    unsigned n = self->n_written;

    if (self->file < 0)
        return;
    for (; n < self->acts->len; n++) {
        const SessionAct *act = self->acts->pdata[n];
        if (!act->is_answered)
            break;
        append_item(self, act, n == 0, text);
    }
    off_t end = lseek(self->file, 0, SEEK_END);
    if (text->len == 0 || end < 0)
        return;
    if (!write_at(self, text->str, -1)) {
        if (ftruncate(self->file, end) < 0)
            g_debug("the record keeps part of an act: %s", g_strerror(errno));
        return;
    }
    write_at(self, until, self->until_at);
    self->n_written = n;
}

/* Returns: (owned): the session with its first @n acts */
static char *
text_with(const ServeSession *self, unsigned n)
{
    g_autofree char *until = until_text(self);
    g_autofree char *head = scenario_flatten(self->base, until, self->faults);
    GString *text = g_string_new(head);

    for (unsigned i = 0; i < n; i++)
        append_item(self, self->acts->pdata[i], i == 0, text);
    return g_string_free(text, FALSE);
}

char *
serve_session_text(const ServeSession *self)
{
    return text_with(self, self->acts->len);
}

static SimTime
item_at(const json_t *item)
{
    SimTime at = 0;

    sim_time_parse(json_path_string(item, "at"), &at, NULL);
    return at;
}

/* Returns: (owned): the scenario's own end, as in its file */
static char *
own_end(const Scenario *scenario)
{
    const char *until = json_path_string(scenario->document, "spec.until"), /* default: idle */
        *idle_for = json_path_string(scenario->document, "spec.idleFor");

    return g_strdup_printf("%s%s%s", until != NULL ? until : "idle",
                           idle_for != NULL ? "\n  idleFor: " : "",
                           idle_for != NULL ? idle_for : "");
}

char *
serve_session_text_until(const ServeSession *self, SimTime at)
{
    json_auto_t *faults = json_array();
    g_autofree char *end = own_end(self->base);
    json_t *item;
    gsize k;

    json_array_foreach(self->faults, k, item)
        if (item_at(item) <= at)
            json_array_append(faults, item);
    g_autofree char *head = scenario_flatten(self->base, end, faults);
    GString *text = g_string_new(head);
    gboolean is_first = TRUE;
    for (unsigned i = 0; i < self->acts->len; i++) {
        const SessionAct *act = self->acts->pdata[i];
        if (item_at(act->item) > at)
            continue;
        append_item(self, act, is_first, text);
        is_first = FALSE;
    }
    return g_string_free(text, FALSE);
}

void
serve_session_inherit(ServeSession *self, const ServeSession *from, SimTime at)
{
    json_t *item;
    gsize k;

    self->base = from->base;
    json_array_foreach(from->faults, k, item)
        if (item_at(item) <= at) {
            json_array_append(self->faults, item);
            g_ptr_array_add(self->fault_actions, NULL);
        }
    for (unsigned i = 0; i < from->acts->len; i++) {
        const SessionAct *old = from->acts->pdata[i];
        if (item_at(old->item) > at)
            continue;
        SessionAct *act = g_new0(SessionAct, 1);
        *act = (SessionAct){.session = self, .item = json_incref(old->item), .is_answered = TRUE};
        g_ptr_array_add(self->acts, act);
    }
}

const Scenario *
serve_session_base(const ServeSession *self)
{
    return self->base;
}

json_t *
serve_session_items(const ServeSession *self)
{
    json_t *list = json_copy(self->faults);

    for (unsigned i = 0; i < self->acts->len; i++)
        json_array_append(list, ((const SessionAct *)self->acts->pdata[i])->item);
    return list;
}

static unsigned
count_answered(const ServeSession *self)
{
    unsigned n = 0;

    while (n < self->acts->len && ((const SessionAct *)self->acts->pdata[n])->is_answered)
        n++;
    return n;
}

/* Writes the whole record again, with its first @n acts. */
static gboolean
write_record(ServeSession *self, unsigned n, GError **error)
{
    const char *path = self->options.record;

    if (path == NULL)
        return TRUE;
    g_autofree char *text = text_with(self, n);
    const char *until = strstr(text, "\n  until: ");
    if (g_file_test(path, G_FILE_TEST_EXISTS) && !g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "%s is no regular file; a record replaces what is there", path);
        return FALSE;
    }
    if (!g_file_set_contents(path, text, -1, error))
        return FALSE;
    if (self->file >= 0)
        close(self->file);
    self->file = open(path, O_WRONLY | O_CLOEXEC);
    if (self->file < 0 || lseek(self->file, 0, SEEK_END) < 0) {
        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "%s: %s", path,
                    g_strerror(errno));
        return FALSE;
    }
    self->until_at = until == NULL ? 0 : (off_t)(until - text) + (off_t)strlen("\n  until: ");
    self->n_written = n;
    return TRUE;
}

/* ---- Acts ---- */

static SessionAct *
act_new(ServeSession *self, ActionType type, const SessionTarget *target, json_t *item)
{
    SessionAct *act = g_new0(SessionAct, 1);
    SimTime now = sim_now(session_sim(self));
    g_autofree char *at = session_time_text(now);

    *act = (SessionAct){.session = self, .item = item};
    json_object_set_new(item, "at", json_string(at));
    if (target != NULL) {
        act->namespace = g_strdup(target->namespace);
        act->name = g_strdup(target->name);
        act->group = g_strdup(target->group);
        act->kind_name = g_strdup(target->kind_name);
    }
    act->action = (ScenarioAction){
        .type = type,
        .at = now,
        .file = "session",
        .count = 1,
        .lasts_arriving = -1,
        .grace_s = -1,
        .lasts = -1,
        .kind = target != NULL ? target->kind : KIND_POD,
        .namespace = act->namespace,
        .name = act->name,
        .other_group = act->group,
        .other_kind = act->kind_name,
    };
    g_ptr_array_add(self->acts, act);
    return act;
}

static void
act_answered(void *data, const ObjectKey *key, const ApiResponse *response)
{
    SessionAct *act = data;
    ServeSession *self = act->session;

    (void)key;
    if (act->is_answered)
        return; /* it was cancelled */
    act->is_answered = TRUE;
    if (response->code != API_OK)
        json_object_set_new(
            act->item, "code",
            json_integer(response->code == API_EXISTS ? API_CONFLICT : (int)response->code));
    serve_clock_release(self->options.clock);
    if (act->answered != NULL)
        act->answered(act->data, response);
    write_answered(self);
}

static json_t *
act_edit(void *data, const Object *object)
{
    SessionAct *act = data;
    json_t *patch = act->edit(act->data, object);

    if (patch != NULL)
        json_object_set(json_object_get(act->item, "patch"), "patch", patch);
    return patch;
}

static void
perform(SessionAct *act, SessionAnswered answered, void *data)
{
    ServeSession *self = act->session;
    const RunHand hand = {
        .answered = act_answered, .edit = act->edit != NULL ? act_edit : NULL, .data = act};

    act->answered = answered;
    act->data = data;
    serve_clock_hold(self->options.clock);
    run_perform(self->options.run, &act->action, &hand);
}

void
serve_session_create(ServeSession *self, json_t *object, SessionAnswered answered, void *data)
{
    json_t *item = json_pack("{s:{s:o}}", "create", "manifest", object);
    SessionAct *act = act_new(self, ACTION_CREATE, NULL, item);

    act->manifest = object;
    act->action.manifests = &act->manifest;
    act->action.n_manifests = 1;
    perform(act, answered, data);
}

/* Returns: (owned): {kind, namespace, name} */
static json_t *
session_target_json(const SessionTarget *target)
{
    gboolean is_other = target->kind == KIND_OTHER;
    json_t *json = json_pack("{s:s, s:s}", "kind",
                             is_other ? target->kind_name : kind_class(target->kind)->kind, "name",
                             target->name);

    if (is_other)
        json_object_set_new(json, "apiVersion", json_string(target->api_version));
    if (*target->namespace != '\0')
        json_object_set_new(json, "namespace", json_string(target->namespace));
    return json;
}

void
serve_session_patch(ServeSession *self,
                    const SessionTarget *target,
                    ScenarioSubresource subresource,
                    json_t *(*edit)(void *data, const Object *object),
                    SessionAnswered answered,
                    void *data)
{
    static const char *const words[] = {
        [SUBRESOURCE_STATUS] = "status", [SUBRESOURCE_BINDING] = "binding"};
    json_t *fields = session_target_json(target);

    json_object_set_new(fields, "patch", json_object());
    if (subresource != SUBRESOURCE_NONE)
        json_object_set_new(fields, "subresource", json_string(words[subresource]));
    SessionAct *act = act_new(self, ACTION_PATCH, target, json_pack("{s:o}", "patch", fields));
    act->action.subresource = subresource;
    act->edit = edit;
    perform(act, answered, data);
}

void
serve_session_bind(ServeSession *self,
                   const SessionTarget *target,
                   const char *node,
                   SessionAnswered answered,
                   void *data)
{
    json_t *fields = session_target_json(target),
           *patch = json_pack("{s:{s:s}}", "spec", "nodeName", node);

    json_object_set_new(fields, "patch", patch);
    json_object_set_new(fields, "subresource", json_string("binding"));
    SessionAct *act = act_new(self, ACTION_PATCH, target, json_pack("{s:o}", "patch", fields));
    act->action.subresource = SUBRESOURCE_BINDING;
    act->action.patch = patch;
    perform(act, answered, data);
}

void
serve_session_delete(ServeSession *self,
                     const SessionTarget *target,
                     int32_t grace_s,
                     ApiPropagation propagation,
                     SessionAnswered answered,
                     void *data)
{
    static const char *const words[] = {
        [API_BACKGROUND] = NULL, [API_FOREGROUND] = "Foreground", [API_ORPHAN] = "Orphan"};
    json_t *fields = session_target_json(target);

    if (grace_s >= 0)
        json_object_set_new(fields, "gracePeriodSeconds", json_integer(grace_s));
    if (propagation != API_BACKGROUND)
        json_object_set_new(fields, "propagationPolicy", json_string(words[propagation]));
    SessionAct *act = act_new(self, ACTION_DELETE, target, json_pack("{s:o}", "delete", fields));
    act->action.grace_s = grace_s;
    act->action.propagation = propagation;
    perform(act, answered, data);
}

void
serve_session_evict(ServeSession *self,
                    const SessionTarget *target,
                    int32_t grace_s,
                    SessionAnswered answered,
                    void *data)
{
    json_t *fields = session_target_json(target);

    json_object_del(fields, "kind");
    if (grace_s >= 0)
        json_object_set_new(fields, "gracePeriodSeconds", json_integer(grace_s));
    SessionAct *act = act_new(self, ACTION_EVICT, target, json_pack("{s:o}", "evict", fields));
    act->action.grace_s = grace_s;
    act->action.one = TRUE;
    perform(act, answered, data);
}

/* ---- Actions as text ---- */

/* Returns: (owned): the scenario with this item as its only action; NULL with @error */
static Scenario *
read_item(const ServeSession *self, const char *list, const json_t *item, GError **error)
{
    g_autoptr(GPtrArray) set = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) faults = NULL;
    ScenarioOptions options = self->options.options;
    char *json = json_dumps(item, 0);

    for (unsigned i = 0; options.set != NULL && options.set[i] != NULL; i++)
        g_ptr_array_add(set, g_strdup(options.set[i]));
    g_ptr_array_add(set, g_strdup("spec.workload=[]"));
    g_ptr_array_add(set, g_strdup("spec.faults=[]"));
    g_ptr_array_add(set, g_strdup("spec.expect=[]"));
    g_ptr_array_add(set, g_strdup_printf("spec.%s=[%s]", list, json));
    g_ptr_array_add(set, NULL);
    free(json);
    options.set = (const char *const *)set->pdata;
    options.by_hand = TRUE;
    options.keeps_document = FALSE;
    Scenario *scenario = scenario_load(self->options.scenario, &options, &faults);
    if (scenario == NULL) {
        const FileFault *fault = faults->pdata[0];
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "%s%s%s%s%s%s", fault->path,
                    *fault->path != '\0' ? ": " : "", fault->message,
                    fault->hint != NULL ? " (" : "", fault->hint != NULL ? fault->hint : "",
                    fault->hint != NULL ? ")" : "");
    }
    return scenario;
}

/* Clients reach no file of the machine: neither manifests nor profiles by a path. */
static gboolean
names_file(const json_t *value)
{
    static const char *const members[] = {"profile", "timing"};
    const char *key;
    json_t *member;
    gsize i;

    json_array_foreach((json_t *)value, i, member)
        if (names_file(member))
            return TRUE;
    json_object_foreach((json_t *)value, key, member) {
        const char *text = json_string_value(member);
        for (gsize k = 0; text != NULL && k < G_N_ELEMENTS(members); k++)
            if (strcmp(members[k], key) == 0 &&
                (strchr(text, '/') != NULL || g_str_has_suffix(text, ".yaml")))
                return TRUE;
        if (strcmp(key, "create") == 0 || strcmp(key, "from") == 0 ||
            strcmp(key, "fromManifest") == 0 || names_file(member))
            return TRUE;
    }
    return FALSE;
}

gboolean
serve_session_act(ServeSession *self, const char *list, const json_t *item, GError **error)
{
    json_auto_t *timed = json_deep_copy(item);

    if (!json_is_object(item) || names_file(item)) {
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "an item of %s is an object%s", list,
                    json_is_object(item) ? " that names no file" : "");
        return FALSE;
    }
    json_object_set_new(timed, "at", json_string("0s"));
    Scenario *scenario = read_item(self, list, timed, error);
    if (scenario == NULL)
        return FALSE;
    g_ptr_array_add(self->scenarios, scenario);
    if (scenario->n_actions != 1) {
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "one thing at a time");
        return FALSE;
    }
    serve_clock_next_instant(self->options.clock);
    g_autofree char *at = session_time_text(sim_now(session_sim(self)));
    json_object_set_new(timed, "at", json_string(at));
    run_perform(self->options.run, &scenario->actions[0], &(RunHand){0});
    if (strcmp(list, "faults") == 0) {
        json_array_append(self->faults, timed);
        g_ptr_array_add(self->fault_actions, &scenario->actions[0]);
        return write_record(self, count_answered(self), error);
    }
    SessionAct *act = g_new0(SessionAct, 1);
    *act = (SessionAct){.session = self, .item = json_incref(timed), .is_answered = TRUE};
    g_ptr_array_add(self->acts, act);
    write_answered(self);
    return TRUE;
}

/* Returns: whether a fault may tell its end in that word */
static gboolean
takes_end(const ServeSession *self, const json_t *item, const char *word)
{
    static const char *const words[] = {"for", "restartAfter"};
    json_auto_t *copy = json_copy((json_t *)item);
    g_autoptr(Scenario) scenario = NULL;

    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        json_object_del(copy, words[i]);
    json_object_set_new(copy, "at", json_string("0s")); /* its own may be past the scenario's end */
    json_object_set_new(copy, word, json_string("1s"));
    scenario = read_item(self, "faults", copy, NULL);
    return scenario != NULL;
}

gboolean
serve_session_end_fault(ServeSession *self, unsigned number, GError **error)
{
    const GArray *faults = run_faults(self->options.run);
    const RunFault *fault =
        faults == NULL || number >= faults->len ? NULL : &g_array_index(faults, RunFault, number);
    json_t *item = NULL;

    for (unsigned i = 0; fault != NULL && i < self->fault_actions->len; i++)
        if (self->fault_actions->pdata[i] == fault->action)
            item = json_array_get(self->faults, i);
    const char *word = item == NULL                            ? NULL
                       : takes_end(self, item, "restartAfter") ? "restartAfter"
                       : takes_end(self, item, "for")          ? "for"
                                                               : NULL;
    if (word == NULL) {
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "%s",
                    fault == NULL  ? "there is no such fault"
                    : item == NULL ? "the fault is the scenario's own, and ends as that says"
                                   : "this fault has no end");
        return FALSE;
    }
    serve_clock_next_instant(self->options.clock);
    g_autofree char *lasted = session_time_text(sim_now(session_sim(self)) - fault->since);
    if (!run_end_fault(self->options.run, number)) {
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "the fault is over");
        return FALSE;
    }
    json_object_del(item, "for");
    json_object_set_new(item, word, json_string(lasted));
    return write_record(self, count_answered(self), error);
}

/* ---- The whole ---- */

ServeSession *
serve_session_new(const ServeSessionOptions *options, GError **error)
{
    ServeSession *self = g_new0(ServeSession, 1);

    *self =
        (ServeSession){.options = *options,
                       .base = run_scenario(options->run),
                       .acts = g_ptr_array_new_with_free_func(act_free),
                       .scenarios = g_ptr_array_new_with_free_func((GDestroyNotify)scenario_free),
                       .faults = json_array(),
                       .fault_actions = g_ptr_array_new(),
                       .file = -1};
    if (!write_record(self, 0, error))
        g_clear_pointer(&self, serve_session_free);
    return self;
}

void
serve_session_free(ServeSession *self)
{
    if (self == NULL)
        return;
    if (self->file >= 0)
        close(self->file);
    g_ptr_array_unref(self->acts);
    g_ptr_array_unref(self->scenarios);
    json_decref(self->faults);
    g_ptr_array_unref(self->fault_actions);
    g_free(self);
}

void
serve_session_cancel(ServeSession *self)
{
    const ApiResponse gone = {.code = API_UNREACHABLE, .message = "the server goes"};

    for (unsigned i = 0; i < self->acts->len; i++) {
        SessionAct *act = self->acts->pdata[i];
        SessionAnswered answered = g_steal_pointer(&act->answered);
        if (!act->is_answered && answered != NULL)
            answered(act->data, &gone);
        act->is_answered = TRUE;
    }
}

gboolean
serve_session_record(ServeSession *self, const char *path, GError **error)
{
    self->options.record = path;
    return write_record(self, count_answered(self), error);
}

gboolean
serve_session_finish(ServeSession *self, GError **error)
{
    return write_record(self, self->acts->len, error);
}
