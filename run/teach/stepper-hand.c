/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions by hand: one item of spec.workload or spec.faults, read and checked like the items of the
 * scenario's file, and carried out now. Words as kubectl's (create, delete, patch, scale, drain)
 * become such items. An answer is waited for by letting time pass, 10 s at most, because without
 * the API server there may be none; a late answer is told during a later command. */
#include <string.h>

#include "stepper-private.h"

/* How long to wait for an answer: without the API server there may be none. */
#define PATIENCE (10 * SIM_SECOND)

static const char *
reason_of(ApiCode code)
{
    switch (code) {
    case API_OK:
        return "";
    case API_FORBIDDEN:
        return "Forbidden";
    case API_NOT_FOUND:
        return "NotFound";
    case API_CONFLICT:
        return "Conflict";
    case API_EXISTS:
        return "AlreadyExists";
    case API_INVALID:
        return "Invalid";
    case API_ERROR:
        return "InternalError";
    case API_TOO_MANY:
        return "TooManyRequests";
    case API_UNREACHABLE:
        return "ServiceUnavailable";
    case API_TIMEOUT:
        return "Timeout";
    }
    return "";
}

/* kubectl's words. */
static const char *
word_for(ActionType type)
{
    switch (type) {
    case ACTION_CREATE:
        return "created";
    case ACTION_DELETE:
        return "deleted";
    case ACTION_PATCH:
        return "patched";
    case ACTION_SCALE:
        return "scaled";
    case ACTION_EVICT:
        return "evicted";
    case ACTION_TAINT:
        return "tainted";
    case ACTION_CORDON:
        return "cordoned";
    case ACTION_UNCORDON:
        return "uncordoned";
    case ACTION_DRAIN:
    case ACTION_EXPAND:
    case ACTION_SET_DRIVER:
    case ACTION_FAULT:
        break;
    }
    return "done";
}

typedef struct {
    Stepper *stepper;
    const ScenarioAction *action;
} HandAct;

/* An answer may come late, during a later command. */
static void
stepper_hand_answered(void *data, const ObjectKey *key, const ApiResponse *response)
{
    const HandAct *act = data;
    Stepper *self = act->stepper;
    g_autofree char *kind = g_ascii_strdown(kind_class(key->kind)->kind, -1);

    self->n_answers++;
    if (response->code == API_OK) {
        g_string_append_printf(self->out, "%s/%s %s\n", kind, key->name,
                               word_for(act->action->type));
        return;
    }
    self->n_refusals++;
    g_string_append_printf(self->errors, "Error from server (%s): %s\n", reason_of(response->code),
                           response->message != NULL ? response->message : "");
}

/* Whether the node of a fault exists. A scenario's file is checked when it is read; actions by hand
 * only now. */
static gboolean
victim_is_there(const Stepper *self, const ScenarioAction *action)
{
    const ObjectKey *key;

    if (action->type != ACTION_FAULT || action->process != NULL || action->instance == NULL)
        return TRUE;
    key = objects_find_key(run_objects(self->run), KIND_NODE, NULL, action->instance);
    return key != NULL && api_server_get(cluster_api(run_cluster(self->run)), key) != NULL;
}

/* The other actions go on by themselves, without an answer. */
static gboolean
is_asked_for(ActionType type)
{
    return type != ACTION_DRAIN && type != ACTION_EXPAND && type != ACTION_SET_DRIVER &&
           type != ACTION_FAULT;
}

static StepperAnswer
perform(Stepper *self, const ScenarioAction *action)
{
    gboolean asks = is_asked_for(action->type);
    SimTime now = sim_now(run_sim(self->run));
    Goal goal = {.kind = GOAL_ANSWER,
                 .until = asks ? sim_time_add(now, PATIENCE) : now,
                 .only_begins = !asks};
    HandAct *act = g_new(HandAct, 1);

    *act = (HandAct){self, action};
    g_ptr_array_add(self->acts, act);
    if (!victim_is_there(self, action))
        return stepper_refuse(self, "there is no node \"%s\"", action->instance);
    self->n_answers = self->n_refusals = 0;
    goal.performer =
        run_perform(self->run, action, &(RunHand){.answered = stepper_hand_answered, .data = act});
    StepperAnswer answer = stepper_go(self, &goal);
    if (!asks)
        g_string_append(self->out, "begun\n");
    if (asks && self->n_answers == 0 && run_has_performed(self->run, goal.performer))
        return stepper_refuse(self, "there is no such object");
    return self->n_refusals > 0 ? STEPPER_REFUSED : answer;
}

/* @list: "workload" or "faults"; @item: YAML of one item, without `at` */
static StepperAnswer
read_and_perform(Stepper *self, const char *list, const char *item)
{
    g_autoptr(GPtrArray) set = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) faults = NULL;
    ScenarioOptions options = self->options.options;
    const char *braces = strchr(item, '{');

    if (braces == NULL || strspn(item, " \t") != (gsize)(braces - item))
        return stepper_refuse(self, "%s is a mapping in braces: {...}", list);
    for (unsigned i = 0; options.set != NULL && options.set[i] != NULL; i++)
        g_ptr_array_add(set, g_strdup(options.set[i]));
    g_ptr_array_add(set, g_strdup("spec.workload=[]"));
    g_ptr_array_add(set, g_strdup("spec.faults=[]"));
    g_ptr_array_add(set, g_strdup("spec.expect=[]"));
    g_ptr_array_add(set, g_strdup_printf("spec.%s=[{at: 0s, %s]", list, braces + 1));
    g_ptr_array_add(set, NULL);
    options.set = (const char *const *)set->pdata;
    options.by_hand = TRUE;
    Scenario *scenario = scenario_load(self->options.file, &options, &faults);

    for (unsigned i = 0; i < faults->len; i++) {
        const FileFault *fault = faults->pdata[i];

        g_string_append_printf(
            self->errors, "%s%s%s%s%s%s\n", fault->path, *fault->path != '\0' ? ": " : "",
            fault->message, fault->hint != NULL ? " (" : "", fault->hint != NULL ? fault->hint : "",
            fault->hint != NULL ? ")" : "");
    }
    if (scenario == NULL)
        return STEPPER_REFUSED;
    g_ptr_array_add(self->scenarios, scenario);
    if (scenario->n_actions != 1)
        return stepper_refuse(self, "one thing at a time");
    return perform(self, &scenario->actions[0]);
}

static StepperAnswer
perform_json(Stepper *self, json_t *item)
{
    char *text = item == NULL ? NULL : json_dumps(item, 0);

    if (text == NULL)
        return stepper_refuse(self, "this is no UTF-8");
    StepperAnswer answer = read_and_perform(self, "workload", text);

    free(text);
    return answer;
}

/* ---- Words as kubectl's ---- */

/* Reads "pod web-0" or "pod/web-0". @rest: (out): the words after it. Returns: FALSE after an error
 * message */
static gboolean
read_target(Stepper *self, char **words, char **kind, char **name, char ***rest)
{
    char *slash = words[0] != NULL ? strchr(words[0], '/') : NULL;
    g_autofree char *word =
        slash != NULL ? g_strndup(words[0], (gsize)(slash - words[0])) : g_strdup(words[0]);
    g_autofree char *object = NULL;
    ObjectKind found;
    const char *pattern;
    g_autoptr(GError) error = NULL;

    if (word == NULL || (slash == NULL && words[1] == NULL)) {
        stepper_refuse(self, "of what? (as pod web-0, or pod/web-0)");
        return FALSE;
    }
    object = g_strdup_printf("%s/%s", word, slash != NULL ? slash + 1 : words[1]);
    if (!object_words_parse(object, &found, &pattern, &error)) {
        stepper_refuse(self, "%s", error->message);
        return FALSE;
    }
    *kind = g_strdup(kind_class(found)->kind);
    *name = g_strdup(pattern);
    *rest = words + (slash != NULL ? 1 : 2);
    return TRUE;
}

typedef struct {
    char *namespace, *patch, *file;
    int64_t grace_s, replicas; /* -1: not given */
    gboolean force;
} HandOptions;

static void
hand_options_clear(HandOptions *self)
{
    g_free(self->namespace);
    g_free(self->patch);
    g_free(self->file);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HandOptions, hand_options_clear)

/* Returns: FALSE after an error message */
static gboolean
read_options(Stepper *self, char **words, HandOptions *options)
{
    *options = (HandOptions){.grace_s = -1, .replicas = -1};
    gint64 grace = -1, replicas = -1;
    const GOptionEntry entries[] = {
        {"namespace",    'n', 0, G_OPTION_ARG_STRING,   &options->namespace, NULL, NULL},
        {"patch",        'p', 0, G_OPTION_ARG_STRING,   &options->patch,     NULL, NULL},
        {"filename",     'f', 0, G_OPTION_ARG_FILENAME, &options->file,      NULL, NULL},
        {"grace-period", 0,   0, G_OPTION_ARG_INT64,    &grace,              NULL, NULL},
        {"replicas",     0,   0, G_OPTION_ARG_INT64,    &replicas,           NULL, NULL},
        {"force",        0,   0, G_OPTION_ARG_NONE,     &options->force,     NULL, NULL},
        {NULL,           0,   0, G_OPTION_ARG_NONE,     NULL,                NULL, NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GPtrArray) line = g_ptr_array_new();
    g_auto(GStrv) rest = NULL;
    g_autoptr(GError) error = NULL;

    g_ptr_array_add(line, (char *)"step");
    for (; *words != NULL; words++)
        g_ptr_array_add(line, *words);
    g_ptr_array_add(line, NULL);
    rest = g_strdupv((char **)line->pdata);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_help_enabled(context, FALSE);
    if (!g_option_context_parse_strv(context, &rest, &error)) {
        stepper_refuse(self, "%s", error->message);
        return FALSE;
    }
    if (rest[1] != NULL) {
        stepper_refuse(self, "what is \"%s\"?", rest[1]);
        return FALSE;
    }
    options->grace_s = grace;
    options->replicas = replicas;
    return TRUE;
}

static json_t *
stepper_hand_target_json(const char *kind, const char *name, const HandOptions *options)
{
    json_t *target = json_pack("{s:s, s:s}", "kind", kind, "name", name);

    if (options->namespace != NULL)
        json_object_set_new(target, "namespace", json_string(options->namespace));
    return target;
}

/* "create -f FILE", "create {kind: Pod, ...}" */
StepperAnswer
hand_create(Stepper *self, char **words)
{
    g_auto(HandOptions) options = {0};

    if (*self->rest == '{') {
        g_autofree char *item = g_strdup_printf("{create: {manifest: %s}}", self->rest);
        return read_and_perform(self, "workload", item);
    }
    if (!read_options(self, words, &options))
        return STEPPER_REFUSED;
    if (options.file == NULL)
        return stepper_refuse(self, "create what? (-f FILE, or {kind: Pod, ...})");
    g_autofree char *path = g_canonicalize_filename(options.file, NULL);
    json_auto_t *item = json_pack("{s:{s:s}}", "create", "manifest", path);
    if (item == NULL)
        return stepper_refuse(self, "the file's name is no UTF-8");
    return perform_json(self, item);
}

StepperAnswer
hand_delete(Stepper *self, char **words)
{
    g_auto(HandOptions) options = {0};
    g_autofree char *kind = NULL, *name = NULL;
    char **more;

    if (!read_target(self, words, &kind, &name, &more) || !read_options(self, more, &options))
        return STEPPER_REFUSED;
    json_t *target = stepper_hand_target_json(kind, name, &options);
    if (options.force || options.grace_s >= 0)
        json_object_set_new(target, "gracePeriodSeconds",
                            json_integer(options.force ? 0 : options.grace_s));
    json_auto_t *item = json_pack("{s:o}", "delete", target);
    return perform_json(self, item);
}

StepperAnswer
hand_patch(Stepper *self, char **words)
{
    g_auto(HandOptions) options = {0};
    g_autofree char *kind = NULL, *name = NULL, *target_text = NULL, *item = NULL;
    char **more;

    if (!read_target(self, words, &kind, &name, &more) || !read_options(self, more, &options))
        return STEPPER_REFUSED;
    if (options.patch == NULL)
        return stepper_refuse(self, "patch it how? (-p '{spec: {...}}')");
    json_auto_t *target = stepper_hand_target_json(kind, name, &options);
    target_text = json_dumps(target, 0);
    target_text[strlen(target_text) - 1] = '\0'; /* goes on with the patch */
    item = g_strdup_printf("{patch: %s, patch: %s}}", target_text, options.patch);
    return read_and_perform(self, "workload", item);
}

StepperAnswer
hand_scale(Stepper *self, char **words)
{
    g_auto(HandOptions) options = {0};
    g_autofree char *kind = NULL, *name = NULL;
    char **more;

    if (!read_target(self, words, &kind, &name, &more) || !read_options(self, more, &options))
        return STEPPER_REFUSED;
    if (options.replicas < 0)
        return stepper_refuse(self, "to how many? (--replicas=3)");
    json_t *target = stepper_hand_target_json(kind, name, &options);
    json_object_set_new(target, "replicas", json_integer(options.replicas));
    json_auto_t *item = json_pack("{s:o}", "scale", target);
    return perform_json(self, item);
}

StepperAnswer
hand_drain(Stepper *self, char **words)
{
    if (words[0] == NULL || words[1] != NULL)
        return stepper_refuse(self, "drain which node?");
    json_auto_t *item = json_pack("{s:{s:s, s:b, s:b}}", "drain", "node", words[0],
                                  "ignoreDaemonSets", TRUE, "deleteEmptyDirData", TRUE);
    return perform_json(self, item);
}

/* "taint node-1 dedicated=db:NoSchedule", "taint node-1 dedicated-": also "taint node node-1 ...",
 * as kubectl has it. */
StepperAnswer
hand_taint(Stepper *self, char **words)
{
    json_t *taints = json_array();
    gboolean overwrites = FALSE;

    if (g_strcmp0(words[0], "node") == 0 || g_strcmp0(words[0], "nodes") == 0)
        words++;
    for (unsigned i = 1; words[0] != NULL && words[i] != NULL; i++) {
        if (strcmp(words[i], "--overwrite") == 0)
            overwrites = TRUE;
        else
            json_array_append_new(taints, json_string(words[i]));
    }
    if (json_array_size(taints) == 0) {
        json_decref(taints);
        return stepper_refuse(self, "taint which node how? (as node-1 dedicated=db:NoSchedule)");
    }
    json_auto_t *item = json_pack("{s:{s:s, s:o, s:b}}", "taint", "node", words[0], "taints",
                                  taints, "overwrite", overwrites);
    return perform_json(self, item);
}

/* "cordon node-1", "uncordon node-1" */
StepperAnswer
hand_mark(Stepper *self, char **words)
{
    if (words[0] == NULL || words[1] != NULL)
        return stepper_refuse(self, "%s which node?", self->command);
    json_auto_t *item = json_pack("{s:{s:s}}", self->command, "node", words[0]);
    return perform_json(self, item);
}

/* "fault {node: node-1, do: power-off}": an item of spec.faults; "do {setDriver: {...}}": an item
 * of spec.workload */
StepperAnswer
hand_item(Stepper *self, char **words)
{
    (void)words;
    return read_and_perform(self, strcmp(self->command, "fault") == 0 ? "faults" : "workload",
                            self->rest);
}
