/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands of `step`: a table with their words, help, functions and completion. Commands that
 * let time pass are in stepper-go.c, actions in stepper-hand.c; the others only look, with
 * kubectl's commands, why and explain. Past the scenario's end a command stops after an hour of
 * virtual time, since loops of components go on for ever. */
#include <string.h>

#include "models/cluster/inspect.h"
#include "rule-book.h"
#include "run/kubectl/kinds.h"
#include "run/kubectl/kubectl.h"
#include "run/results/attribution.h"
#include "run/results/snapshot.h"
#include "sim/strings.h"
#include "stepper-private.h"

/* The most lines of a long list. */
#define LIST_MAX 15

typedef enum {
    COMPLETE_NOTHING,
    COMPLETE_KIND,   /* "pod", then names of pods */
    COMPLETE_OBJECT, /* "pod/web-0" */
    COMPLETE_BREAK,  /* an object, a rule, a method */
} StepperCompletion;

typedef struct {
    const char *name, *short_name; /* NULL: none */
    const char *arguments, *help;
    StepperAnswer (*run)(Stepper *self, char **words);
    StepperCompletion completion;
    gboolean is_raw; /* its arguments are no words in quotes */
} StepperCommand;

static const StepperCommand *command_at(unsigned i);

/* ---- Time ---- */

/* Past the scenario's end nothing else stops a command whose goal is never reached: loops of the
 * components go on for ever. */
static SimTime
stepper_patience(const Stepper *self)
{
    return self->is_over ? sim_time_add(sim_now(run_sim(self->run)), SIM_HOUR) : SIM_TIME_MAX;
}

/* "event", "write 10": tells the last event, or with `trace on` all events */
static StepperAnswer
go_times(Stepper *self, char **words)
{
    static const char *const names[] = {
        [GOAL_EVENT] = "event", [GOAL_WRITE] = "write", [GOAL_DECISION] = "decision"};
    Goal goal = {.kind = GOAL_EVENT, .until = stepper_patience(self)};
    guint64 n = 1;
    StepperAnswer answer = STEPPER_DONE;

    if (words[0] != NULL && !g_ascii_string_to_unsigned(words[0], 10, 1, 1000000, &n, NULL))
        return stepper_refuse(self, "\"%s\" is no number of times", words[0]);
    while (strcmp(self->command, names[goal.kind]) != 0)
        goal.kind++;
    for (guint64 i = 0; i < n && answer == STEPPER_DONE; i++) {
        gboolean was_over = self->is_over;

        answer = stepper_go(self, &goal);
        if (self->is_over != was_over || sim_now(run_sim(self->run)) >= goal.until)
            break;
    }
    return answer;
}

static StepperAnswer
go_to_time(Stepper *self, const char *word)
{
    Goal goal = {.kind = GOAL_TIME};
    SimTime now = sim_now(run_sim(self->run));
    gboolean is_relative = *word == '+';
    g_autoptr(GError) error = NULL;
    char buffer[SIM_TIME_BUFFER];

    if (!sim_time_parse(word + is_relative, &goal.until, &error))
        return stepper_refuse(self, "%s", error->message);
    if (is_relative)
        goal.until = sim_time_add(now, goal.until);
    if (goal.until < now)
        return stepper_refuse(self, "%s is past: it is %s", word, stepper_time(self, buffer));
    return stepper_go(self, &goal);
}

/* "until 12s", "until +500ms", "until pod/app Ready" */
static StepperAnswer
go_until(Stepper *self, char **words)
{
    char buffer[SIM_TIME_BUFFER];
    g_autoptr(GError) error = NULL;

    if (words[0] == NULL)
        return stepper_refuse(self, "until when? (12.5s, +1s, or pod/app Ready)");
    if (strchr(words[0], '/') == NULL)
        return go_to_time(self, words[0]);
    g_autoptr(Condition) condition =
        condition_parse(words[0], words[1] != NULL ? words[1] : "", &error);
    if (condition == NULL)
        return stepper_refuse(self, "%s", error->message);
    if (condition_is_met(condition, self->run)) {
        g_string_append_printf(self->out, "%s (+0s) %s already\n", stepper_time(self, buffer),
                               condition_text(condition));
        return STEPPER_DONE;
    }
    const Goal goal = {
        .kind = GOAL_CONDITION, .until = stepper_patience(self), .condition = condition};
    return stepper_go(self, &goal);
}

static StepperAnswer
stepper_go_on(Stepper *self, char **words)
{
    const Goal goal = {.kind = GOAL_END, .until = SIM_TIME_MAX};

    (void)words;
    if (self->is_over)
        return stepper_refuse(self, "the scenario is over; `until TIME` goes on past its end");
    return stepper_go(self, &goal);
}

/* ---- Where to stop ---- */

static gboolean
is_rule(const char *word)
{
    gsize length = strlen(word);

    for (const RuleBookEntry *rule = rule_book; rule->id != NULL; rule++)
        if (strncmp(rule->id, word, length) == 0 && !g_ascii_isdigit(rule->id[length]))
            return TRUE;
    return rule_book_find(word) != NULL;
}

/* Whether a word looks like the reason of an Event, or a method: "FailedScheduling". */
static gboolean
is_reason(const char *word)
{
    for (const char *c = word; *c != '\0'; c++)
        if (!g_ascii_isalpha(*c))
            return FALSE;
    return g_ascii_isupper(*word);
}

static StepperAnswer
add_break(Stepper *self, char **words)
{
    Breakpoint *point;
    ObjectKind kind = KIND_POD;
    const char *pattern = NULL;
    g_autoptr(GError) error = NULL;

    if (words[0] == NULL) {
        if (self->breakpoints->len == 0)
            g_string_append(self->out, "no breakpoints\n");
        for (unsigned i = 0; i < self->breakpoints->len; i++) {
            point = self->breakpoints->pdata[i];
            g_string_append_printf(self->out, "%u  %s\n", point->number, point->text);
        }
        return STEPPER_DONE;
    }
    if (strchr(words[0], '/') != NULL) {
        if (!object_words_parse(words[0], &kind, &pattern, &error))
            return stepper_refuse(self, "%s", error->message);
    } else if (!is_rule(words[0]) && !is_reason(words[0])) {
        return stepper_refuse(self,
                              "\"%s\" is no object (pod/web-0), rule (PVC-21), Event "
                              "(FailedScheduling) or call (CreateVolume)",
                              words[0]);
    }
    point = g_new0(Breakpoint, 1);
    *point = (Breakpoint){++self->n_breakpoints, g_strdup(words[0]),
                          pattern != NULL ? g_strdup(pattern) : NULL, kind};
    g_ptr_array_add(self->breakpoints, point);
    g_string_append_printf(self->out, "breakpoint %u, %s\n", point->number, point->text);
    return STEPPER_DONE;
}

static StepperAnswer
delete_break(Stepper *self, const char *word)
{
    guint64 number = 0;

    if (word == NULL) {
        g_ptr_array_set_size(self->breakpoints, 0);
        return STEPPER_DONE;
    }
    if (!g_ascii_string_to_unsigned(word, 10, 1, G_MAXUINT, &number, NULL))
        return stepper_refuse(self, "\"%s\" is no number of a breakpoint", word);
    for (unsigned i = 0; i < self->breakpoints->len; i++)
        if (((const Breakpoint *)self->breakpoints->pdata[i])->number == number) {
            g_ptr_array_remove_index(self->breakpoints, i);
            return STEPPER_DONE;
        }
    return stepper_refuse(self, "there is no breakpoint %s", word);
}

/* "delete 2" and "delete break" delete breakpoints; "delete pod web-0" deletes an object. */
static StepperAnswer delete (Stepper *self, char **words)
{
    if (words[0] != NULL && strcmp(words[0], "break") == 0)
        return delete_break(self, words[1]);
    if (words[0] != NULL && g_ascii_isdigit(*words[0]))
        return delete_break(self, words[0]);
    return hand_delete(self, words);
}

static StepperAnswer
set_trace(Stepper *self, char **words)
{
    if (words[0] != NULL && strcmp(words[0], "on") != 0 && strcmp(words[0], "off") != 0)
        return stepper_refuse(self, "trace on, or trace off");
    self->is_traced = words[0] != NULL ? strcmp(words[0], "on") == 0 : !self->is_traced;
    return STEPPER_DONE;
}

/* ---- Looking ---- */

static StepperAnswer
kubectl(Stepper *self, char **words)
{
    json_auto_t *list = snapshot_take(self->run);
    g_autoptr(KubectlCluster) cluster = kubectl_cluster_new(list);
    g_autoptr(GPtrArray) line = g_ptr_array_new();
    const KubectlRequest request = {.cluster = cluster,
                                    .now = snapshot_now(self->run),
                                    .out = self->out,
                                    .errors = self->errors};

    g_ptr_array_add(line, (char *)self->command);
    for (; *words != NULL; words++) {
        if (strcmp(*words, "-w") == 0 || g_str_has_prefix(*words, "--watch"))
            return stepper_refuse(self, "time stands still: `trace on`, and let it pass");
        g_ptr_array_add(line, *words);
    }
    g_ptr_array_add(line, NULL);
    return kubectl_run(&request, (char **)line->pdata) == 0 ? STEPPER_DONE : STEPPER_REFUSED;
}

static StepperAnswer
why(Stepper *self, char **words)
{
    const WhyView view = {self->run, self->calls, self->options.translate};
    g_autoptr(Why) answer = words[0] != NULL ? why_ask(&view, NULL, words[0]) : NULL;

    if (words[0] == NULL)
        why_tell_all(&view, self->out);
    else if (answer == NULL)
        return stepper_refuse(self,
                              "why what? (pod/NAME, pvc/NAME, ...; alone: all that is stuck)");
    else
        why_tell(&view, answer, self->out);
    return STEPPER_DONE;
}

static StepperAnswer
explain(Stepper *self, char **words)
{
    const NarratorOptions telling = {.level = NARRATOR_OPERATOR,
                                     .object = words[0],
                                     .until = SIM_TIME_MAX,
                                     .translate = self->options.translate};

    if (!narrator_tell(self->narrator, &telling, self->out))
        return stepper_refuse(self, "the run has no \"%s\" (as kind/name: pod/web-0, pvc/data)",
                              words[0]);
    return STEPPER_DONE;
}

/* ---- Who would act next ---- */

typedef struct {
    Stepper *stepper;
    unsigned n;
} WhoList;

static void
append_key(GString *out, const ObjectKey *key)
{
    g_autofree char *kind = NULL;

    if (key == NULL)
        return;
    kind = g_ascii_strdown(kind_class(key->kind)->kind, -1);
    g_string_append_printf(out, " %s/%s", kind, key->name);
}

static void
append_component(GString *out, const Doing *doing)
{
    const Component *component = doing->component;

    g_string_append_printf(out, "  %s", component->class->name);
    if (component->node_name != NULL)
        g_string_append_printf(out, " (%s)", component->node_name);
    if (doing->queue != NULL && strcmp(doing->queue, component->class->name) != 0)
        g_string_append_printf(out, ", queue %s", doing->queue);
    g_string_append_c(out, ':');
}

static void
tell_doing(void *data, const Doing *doing)
{
    WhoList *list = data;
    GString *out = list->stepper->out;
    SimTime now = sim_now(run_sim(list->stepper->run));
    char buffer[SIM_TIME_BUFFER];

    if (doing->kind == DOING_PLAN && doing->key == NULL && doing->step == NULL)
        return;
    if (list->n++ >= LIST_MAX)
        return;
    append_component(out, doing);
    append_key(out, doing->key);
    switch (doing->kind) {
    case DOING_PLAN:
        g_string_append_printf(
            out, ", at %s%s%s%s, for %s\n", doing->step != NULL ? doing->step : "its decision",
            doing->rule != NULL ? " (" : "", doing->rule != NULL ? doing->rule : "",
            doing->rule != NULL ? ")" : "",
            sim_time_format((now - doing->at) / SIM_MS * SIM_MS, buffer));
        return;
    case DOING_QUEUED:
        g_string_append(out, ", waits for a worker");
        break;
    case DOING_DELAYED:
        g_string_append_printf(out, ", again in %s",
                               sim_time_format((doing->at - now) / SIM_MS * SIM_MS, buffer));
        break;
    }
    if (doing->failures > 0)
        g_string_append_printf(out, " (failed %u time%s)", doing->failures,
                               doing->failures > 1 ? "s" : "");
    g_string_append_c(out, '\n');
}

static void
tell_timers(Stepper *self)
{
    const SimTrace *trace = sim_trace(run_sim(self->run));
    SimTime now = sim_now(run_sim(self->run));
    SimPending pending[LIST_MAX];
    unsigned n = sim_pending(run_sim(self->run), pending, LIST_MAX);
    char buffer[SIM_TIME_BUFFER];

    g_string_append_printf(self->out, "events to come (%u):\n",
                           sim_events_pending(run_sim(self->run)));
    for (unsigned i = 0; i < n; i++) {
        const char *detail = attribution_detail(trace, pending[i].wait, pending[i].detail);

        g_string_append_printf(self->out, "  in %s: %s",
                               sim_time_format((pending[i].at - now) / SIM_MS * SIM_MS, buffer),
                               pending[i].name);
        if (pending[i].wait != WAIT_NONE)
            g_string_append_printf(self->out, ", after %s%s%s", attribution_wait(pending[i].wait),
                                   *detail != '\0' ? ": " : "", detail);
        g_string_append_c(self->out, '\n');
    }
}

static StepperAnswer
who(Stepper *self, char **words)
{
    WhoList list = {.stepper = self};

    (void)words;
    g_string_append(self->out, "under way, in queues, and in back-off:\n");
    cluster_inspect(run_cluster(self->run), tell_doing, &list);
    if (list.n == 0)
        g_string_append(self->out, "  nobody\n");
    else if (list.n > LIST_MAX)
        g_string_append_printf(self->out, "  and %u more\n", list.n - LIST_MAX);
    tell_timers(self);
    return STEPPER_DONE;
}

/* ---- The table ---- */

static StepperAnswer
help(Stepper *self, char **words)
{
    (void)words;
    for (unsigned i = 0; command_at(i) != NULL; i++) {
        const StepperCommand *command = command_at(i);
        g_autofree char *usage = g_strdup_printf("%s %s", command->name, command->arguments);

        g_string_append_printf(self->out, "  %-31s %s%s%s%s\n", usage, command->help,
                               command->short_name != NULL ? " (" : "",
                               command->short_name != NULL ? command->short_name : "",
                               command->short_name != NULL ? ")" : "");
    }
    return STEPPER_DONE;
}

static StepperAnswer
quit(Stepper *self, char **words)
{
    (void)self, (void)words;
    return STEPPER_QUIT;
}

/* clang-format off */
static const StepperCommand commands[] = {
    {"event", "e", "[N]", "the next event of the simulation", go_times, COMPLETE_NOTHING, FALSE},
    {"write", "w", "[N]", "to the next write of an object", go_times, COMPLETE_NOTHING, FALSE},
    {"decision", "n", "[N]", "to the next thing that a component does", go_times, COMPLETE_NOTHING, FALSE},
    {"until", "u", "TIME | OBJECT STATE", "to 12.5s, by +1s, to pod/app Ready", go_until, COMPLETE_OBJECT,
     FALSE},
    {"continue", "c", "", "to a breakpoint, or the end; Ctrl-C stops", stepper_go_on, COMPLETE_NOTHING, FALSE},
    {"break", "b", "[OBJECT | RULE | WORD]", "stop there: pod/app, PVC-21, FailedMount, CreateVolume",
     add_break, COMPLETE_BREAK, FALSE},
    {"delete", "d", "[break] N | KIND NAME", "a breakpoint; an object, as kubectl does", delete,
     COMPLETE_KIND, FALSE},
    {"trace", NULL, "on | off", "tell everything while time passes", set_trace, COMPLETE_NOTHING, FALSE},
    {"get", "g", "KIND [NAME] [-o ...]", "as kubectl get", kubectl, COMPLETE_KIND, FALSE},
    {"describe", "show", "KIND NAME", "as kubectl describe; also pod/app", kubectl, COMPLETE_KIND, FALSE},
    {"events", NULL, "[--for OBJECT]", "as kubectl events", kubectl, COMPLETE_OBJECT, FALSE},
    {"why", NULL, "[OBJECT]", "why an object is stuck; alone: all that is", why, COMPLETE_OBJECT, FALSE},
    {"explain", NULL, "[OBJECT]", "the story so far, with the rules", explain, COMPLETE_OBJECT, FALSE},
    {"who", NULL, "", "who is at work, and what comes next", who, COMPLETE_NOTHING, FALSE},
    {"create", NULL, "-f FILE | {MANIFEST}", "make objects, as a user", hand_create, COMPLETE_NOTHING, TRUE},
    {"patch", NULL, "KIND NAME -p PATCH", "change an object, by a merge patch", hand_patch, COMPLETE_KIND,
     FALSE},
    {"scale", NULL, "KIND NAME --replicas=N", "of a StatefulSet, Deployment, ReplicaSet", hand_scale,
     COMPLETE_KIND, FALSE},
    {"drain", NULL, "NODE", "evict its pods", hand_drain, COMPLETE_NOTHING, FALSE},
    {"taint", NULL, "NODE KEY=VALUE:EFFECT | KEY-", "as kubectl taint", hand_taint, COMPLETE_NOTHING, FALSE},
    {"cordon", NULL, "NODE", "no new pods for it", hand_mark, COMPLETE_NOTHING, FALSE},
    {"uncordon", NULL, "NODE", "it takes pods again", hand_mark, COMPLETE_NOTHING, FALSE},
    {"fault", NULL, "{node: a, do: power-off}", "break something: an item of spec.faults", hand_item,
     COMPLETE_NOTHING, TRUE},
    {"do", NULL, "{setDriver: {...}}", "anything else: an item of spec.workload", hand_item, COMPLETE_NOTHING,
     TRUE},
    {"help", "?", "", "this list", help, COMPLETE_NOTHING, FALSE},
    {"quit", "q", "", "end", quit, COMPLETE_NOTHING, FALSE},
};
/* clang-format on */

static const StepperCommand *
command_at(unsigned i)
{
    return i < G_N_ELEMENTS(commands) ? &commands[i] : NULL;
}

static const StepperCommand *
find_command(const char *word)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(commands[i].name, word) == 0 || g_strcmp0(commands[i].short_name, word) == 0)
            return &commands[i];
    return NULL;
}

Stepper *
stepper_new(const StepperOptions *options)
{
    Stepper *self = g_new0(Stepper, 1);

    self->options = *options;
    self->run = options->run;
    self->narrator = narrator_new(options->run);
    self->calls = why_calls_new(options->run);
    self->breakpoints = g_ptr_array_new_with_free_func((GDestroyNotify)breakpoint_free);
    self->scenarios = g_ptr_array_new_with_free_func((GDestroyNotify)scenario_free);
    self->acts = g_ptr_array_new_with_free_func(g_free);
    self->changes = g_string_new(NULL);
    self->reason = g_string_new(NULL);
    stepper_watch(self);
    return self;
}

void
stepper_free(Stepper *self)
{
    if (self == NULL)
        return;
    why_calls_free(self->calls);
    narrator_free(self->narrator);
    g_ptr_array_unref(self->breakpoints);
    g_ptr_array_unref(self->scenarios);
    g_ptr_array_unref(self->acts);
    g_string_free(self->changes, TRUE);
    g_string_free(self->reason, TRUE);
    g_free(self);
}

/* Splits a line as a shell does; a mapping in braces stays whole. Returns: (owned): NULL after an
 * error message */
static char **
split_words(Stepper *self, const StepperCommand *command, const char *rest)
{
    char **words = NULL;
    g_autoptr(GError) error = NULL;

    if (*rest == '\0' || (command->is_raw && *rest == '{'))
        return g_new0(char *, 1);
    if (!g_shell_parse_argv(rest, NULL, &words, &error))
        stepper_refuse(self, "%s", error->message);
    return words;
}

StepperAnswer
stepper_command(Stepper *self, const char *line, GString *out, GString *errors)
{
    g_autofree char *text = g_strstrip(g_strdup(line));
    gsize length = strcspn(text, " \t");
    g_autofree char *word = g_strndup(text, length);
    const char *rest = text + length + strspn(text + length, " \t");
    const StepperCommand *command = find_command(word);

    self->out = out;
    self->errors = errors;
    if (*text == '\0' || *text == '#')
        return STEPPER_DONE;
    if (!g_utf8_validate(text, -1, NULL))
        return stepper_refuse(self, "a command is text in UTF-8");
    if (command == NULL)
        return stepper_refuse(self, "there is no command \"%s\" (help lists them)", word);
    g_auto(GStrv) words = split_words(self, command, rest);
    self->command = command->name;
    self->rest = rest;
    return words == NULL ? STEPPER_REFUSED : command->run(self, words);
}

/* ---- Completion ---- */

typedef struct {
    const char *text; /* the beginning of the word */
    GPtrArray *found;
} Candidates;

static void
offer(Candidates *self, const char *word)
{
    if (g_str_has_prefix(word, self->text) &&
        !g_ptr_array_find_with_equal_func(self->found, word, g_str_equal, NULL))
        g_ptr_array_add(self->found, g_strdup(word));
}

/* Returns: the short name that people type; NULL: none */
static const char *
short_kind(const KubectlKind *kind)
{
    static const char *const typed[] = {"pvc", "pv", "sc", "sts"};

    for (unsigned i = 0; i < G_N_ELEMENTS(typed); i++)
        if (kubectl_kind_find(typed[i]) == kind)
            return typed[i];
    return NULL;
}

/* @with_kind: offers "pod/app", else "app" */
static void
offer_objects(const Stepper *self,
              Candidates *candidates,
              const KubectlKind *kind,
              gboolean with_kind)
{
    Objects *objects = run_objects(self->run);
    g_autofree char *lower = g_ascii_strdown(kind->kind, -1);
    const char *prefix = short_kind(kind) != NULL ? short_kind(kind) : lower;
    ObjectKind found;

    for (uint32_t slot = 0;
         kind_find(NULL, kind->kind, &found) && slot < objects_n_keys(objects, found); slot++) {
        const ObjectKey *key = objects_key_at(objects, found, slot);
        g_autofree char *name =
            with_kind ? g_strdup_printf("%s/%s", prefix, key->name) : g_strdup(key->name);

        if (api_server_get(cluster_api(run_cluster(self->run)), key) != NULL)
            offer(candidates, name);
    }
}

static void
offer_kinds(Candidates *candidates)
{
    for (unsigned i = 0; i < kubectl_n_kinds(); i++) {
        const KubectlKind *kind = kubectl_kind_at(i);
        g_autofree char *lower = g_ascii_strdown(kind->kind, -1);

        offer(candidates, lower);
        if (short_kind(kind) != NULL)
            offer(candidates, short_kind(kind));
    }
}

static void
offer_words_to_break(Candidates *candidates)
{
    static const char *const reasons[] = {"FailedScheduling",   "ProvisioningFailed",
                                          "FailedAttachVolume", "FailedMount",
                                          "Scheduled",          "SuccessfulAttachVolume"};

    for (unsigned i = 0; i < G_N_ELEMENTS(reasons); i++)
        offer(candidates, reasons[i]);
    for (unsigned i = 0; i < CSI_N_METHODS; i++)
        offer(candidates, csi_method_name((CsiMethod)i));
    for (const RuleBookEntry *rule = rule_book; rule->id != NULL; rule++)
        if (*candidates->text != '\0')
            offer(candidates, rule->id);
}

/* Offers words after the name of a command. */
static void
offer_arguments(const Stepper *self,
                Candidates *candidates,
                const StepperCommand *command,
                char **before)
{
    const KubectlKind *kind = g_strv_length(before) > 1 ? kubectl_kind_find(before[1]) : NULL;
    gboolean wants_object =
        command->completion == COMPLETE_OBJECT || command->completion == COMPLETE_BREAK;

    if (command->completion == COMPLETE_KIND && kind != NULL) {
        offer_objects(self, candidates, kind, FALSE);
        return;
    }
    if (command->completion == COMPLETE_KIND && strchr(candidates->text, '/') == NULL)
        offer_kinds(candidates);
    else if (command->completion == COMPLETE_KIND || wants_object)
        for (unsigned i = 0; i < kubectl_n_kinds(); i++)
            offer_objects(self, candidates, kubectl_kind_at(i), TRUE);
    if (command->completion == COMPLETE_BREAK)
        offer_words_to_break(candidates);
}

char **
stepper_complete(const Stepper *self, const char *line, unsigned start, unsigned end)
{
    g_autofree char *head = g_strstrip(g_strndup(line, start));
    g_autofree char *text = g_strndup(line + start, end - start);
    Candidates candidates = {.text = text, .found = g_ptr_array_new()};
    g_auto(GStrv) before = g_strsplit_set(head, " \t", -1);
    const StepperCommand *command = *head != '\0' ? find_command(before[0]) : NULL;

    if (*head == '\0')
        for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++)
            offer(&candidates, commands[i].name);
    else if (command != NULL)
        offer_arguments(self, &candidates, command, before);
    g_ptr_array_sort(candidates.found, strings_compare);
    g_ptr_array_add(candidates.found, NULL);
    return (char **)g_ptr_array_free(candidates.found, FALSE);
}
