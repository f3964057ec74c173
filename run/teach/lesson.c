/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lesson: a scenario's file with a further document of kind Lesson, its questions and its task. A
 * question's right answer is checked by the commands that find it; the part of their output that
 * counts is taken by line, time or cause. A task is solved if the run with the learner's changes
 * meets the task's expectations, and only changes members that the task allows. A foreign solution
 * may not make more than a lesson needs. */
#include "lesson.h"

#include <stdlib.h>
#include <string.h>

#include "run/files/input.h"
#include "run/files/yaml.h"
#include "run/kubectl/value.h"
#include "stepper.h"

G_DEFINE_QUARK(kvolsim - lesson - error, lesson_error)

#define WITHIN_DEFAULT 0.05
#define FOREIGN_COUNT_MAX 1000     /* the largest lesson has 100 */
#define FOREIGN_EVENTS_MAX 5000000 /* some seconds; the longest lesson has 60,000 */

struct Lesson {
    char *file;
    GPtrArray *documents; /* of json_t (owned): the documents of the file */
    json_t *spec;         /* of the document of kind Lesson */
    const char *language;
    GArray *questions; /* of LessonQuestion */
    LessonTask task;
};

/* ---- Reading ---- */

/* @file: faults name it. Returns: (owned): of json_t; NULL with @error */
static GPtrArray *
read_documents(const char *file, const char *text, gsize length, GError **error)
{
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) faults = file_faults_new();

    if (!yaml_read(positions, file, text, length, faults, documents)) {
        g_autofree char *all = file_faults_text(faults, G_MAXUINT);
        g_set_error_literal(error, LESSON_ERROR, 0, all);
        return NULL;
    }
    return g_steal_pointer(&documents);
}

static json_t *
find_document(const GPtrArray *documents, const char *kind)
{
    for (unsigned i = 0; i < documents->len; i++)
        if (strcmp(value_text(documents->pdata[i], "kind"), kind) == 0)
            return documents->pdata[i];
    return NULL;
}

/* The value is a text, or has a text for each language. */
static const char *
lesson_text_of(const Lesson *self, json_t *parent, const char *key)
{
    json_t *value = json_object_get(parent, key);
    const char *text = json_string_value(json_object_get(value, self->language));

    if (json_is_string(value))
        return json_string_value(value);
    return text != NULL ? text : value_text(value, "en");
}

/* Returns: (owned): the words of a list; NULL without a list */
static char **
lesson_words_of(json_t *parent, const char *key)
{
    json_t *list = json_object_get(parent, key), *item;
    GPtrArray *words;
    gsize i;

    if (!json_is_array(list))
        return NULL;
    words = g_ptr_array_new();
    json_array_foreach(list, i, item)
        g_ptr_array_add(words, json_is_string(item) ? g_strdup(json_string_value(item))
                                                    : json_dumps(item, JSON_ENCODE_ANY));
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(words, FALSE);
}

static void
question_clear(void *data)
{
    LessonQuestion *self = data;

    g_strfreev(self->choices);
    g_strfreev(self->see);
}

/* Returns: FALSE with @error */
static gboolean
read_question(Lesson *self, json_t *json, GError **error)
{
    static const char *const takes[] = {"text", "time", "elapsed", "lines", "cause"};
    const char *take = value_text(json, "take");
    LessonQuestion question = {
        .ask = lesson_text_of(self, json, "ask"),
        .because = lesson_text_of(self, json, "because"),
        .answer = value_text(json, "answer"),
        .choices = lesson_words_of(json, "choices"),
        .see = lesson_words_of(json, "see"),
        .within = json_is_number(json_object_get(json, "within"))
                      ? json_number_value(json_object_get(json, "within"))
                      : WITHIN_DEFAULT,
    };
    gboolean is_known = *take == '\0';

    for (unsigned i = 0; i < G_N_ELEMENTS(takes); i++)
        if (strcmp(takes[i], take) == 0) {
            question.take = (LessonTake)i;
            is_known = TRUE;
        }
    g_array_append_val(self->questions, question);
    if (!is_known || *question.ask == '\0' || *question.answer == '\0' ||
        *question.because == '\0' || question.see == NULL || question.see[0] == NULL) {
        g_set_error(error, LESSON_ERROR, 0,
                    "%s: question %u needs ask, because, an answer that is text, a list see, and "
                    "take: text, "
                    "time, elapsed or lines",
                    self->file, self->questions->len);
        return FALSE;
    }
    return TRUE;
}

Lesson *
lesson_load(const char *file, const char *language, GError **error)
{
    g_autoptr(Lesson) self = g_new0(Lesson, 1);
    g_autofree char *text = NULL;
    json_t *question;
    gsize i, length;

    self->file = g_strdup(file);
    self->language = language;
    self->questions = g_array_new(FALSE, FALSE, sizeof(LessonQuestion));
    g_array_set_clear_func(self->questions, question_clear);
    if (!input_get_contents(file, &text, &length, error))
        return NULL;
    self->documents = read_documents(file, text, length, error);
    if (self->documents == NULL)
        return NULL;
    self->spec = value_at(find_document(self->documents, "Lesson"), "spec");
    if (self->spec == NULL) {
        g_set_error(error, LESSON_ERROR, 0, "%s: there is no document of kind Lesson", file);
        return NULL;
    }
    json_array_foreach(json_object_get(self->spec, "questions"), i, question)
        if (!read_question(self, question, error))
            return NULL;
    self->task.text = lesson_text_of(self, json_object_get(self->spec, "task"), "text");
    self->task.allows = lesson_words_of(json_object_get(self->spec, "task"), "allows");
    if (*lesson_title(self) == '\0' || *lesson_narrative(self) == '\0' ||
        *self->task.text == '\0' || self->task.allows == NULL ||
        value_length(self->spec, "task.expect") == 0 || self->questions->len == 0) {
        g_set_error(error, LESSON_ERROR, 0,
                    "%s: a lesson has a title, a narrative, questions, and a task with text, "
                    "allows and expect",
                    file);
        return NULL;
    }
    return g_steal_pointer(&self);
}

void
lesson_free(Lesson *self)
{
    if (self == NULL)
        return;
    g_clear_pointer(&self->documents, g_ptr_array_unref);
    g_array_unref(self->questions);
    g_strfreev(self->task.allows);
    g_free(self->file);
    g_free(self);
}

const char *
lesson_file(const Lesson *self)
{
    return self->file;
}

const char *
lesson_title(const Lesson *self)
{
    return lesson_text_of(self, self->spec, "title");
}

const char *
lesson_narrative(const Lesson *self)
{
    return lesson_text_of(self, self->spec, "narrative");
}

unsigned
lesson_n_questions(const Lesson *self)
{
    return self->questions->len;
}

const LessonQuestion *
lesson_question(const Lesson *self, unsigned i)
{
    return &g_array_index(self->questions, LessonQuestion, i);
}

const LessonTask *
lesson_task(const Lesson *self)
{
    return &self->task;
}

/* ---- Answers ---- */

gboolean
lesson_is_right(const LessonQuestion *question, const char *given)
{
    g_autofree char *text = g_strstrip(g_strdup(given));
    SimTime right, time;

    if (question->take != TAKE_TIME && question->take != TAKE_ELAPSED)
        return g_ascii_strcasecmp(text, question->answer) == 0;
    if (g_ascii_isdigit(*text) && g_ascii_isdigit(text[strlen(text) - 1])) { /* "8": seconds */
        g_autofree char *seconds = g_strdup_printf("%ss", text);
        return lesson_is_right(question, seconds);
    }
    return sim_time_parse(question->answer, &right, NULL) && sim_time_parse(text, &time, NULL) &&
           (double)llabs(time - right) <= question->within * (double)right;
}

/* Returns: (owned): NULL with @error, which lists the faults */
static Scenario *
teach_lesson_load(const char *file, const ScenarioOptions *options, GError **error)
{
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, options, &faults);
    g_autofree char *text = file_faults_text(faults, G_MAXUINT);

    if (scenario == NULL)
        g_set_error_literal(error, LESSON_ERROR, 0, text);
    return scenario;
}

/* Finds the line of a stop, "12.345s (+1.2s) ...". @line: (out): its start. Returns: (borrowed):
 * its bracket; NULL if no time passed */
static const char *
find_stop(const char *told, const char **line)
{
    const char *bracket = strstr(told, " (+");

    for (*line = bracket; *line != NULL && *line > told && (*line)[-1] != '\n'; (*line)--)
        continue;
    return bracket;
}

/* Returns: (owned): the part of a command's output that the question takes */
static char *
lesson_take(const LessonQuestion *question, const char *told)
{
    static const char cause[] = "cause: ";
    const char *line, *bracket = find_stop(told, &line), *found = strstr(told, cause);
    unsigned n_lines = *told != '\0';

    switch (question->take) {
    case TAKE_TEXT:
        return g_strdup(told);
    case TAKE_LINES:
        for (const char *c = told; *c != '\0'; c++)
            n_lines += *c == '\n';
        return g_strdup_printf("%u", n_lines);
    case TAKE_TIME:
        return bracket != NULL ? g_strndup(line, (gsize)(bracket - line)) : g_strdup("");
    case TAKE_ELAPSED:
        return bracket != NULL ? g_strndup(bracket + 3, strcspn(bracket + 3, ")")) : g_strdup("");
    case TAKE_CAUSE:
        found = found != NULL ? found + strlen(cause) : "";
        return g_strndup(found, strcspn(found, ":\n"));
    }
    g_assert_not_reached();
}

/* Carries out commands. @out: the output of the last one. Returns: FALSE with @error if a command
 * is refused */
static gboolean
lesson_carry_out(Stepper *stepper, char **lines, GString *out, GError **error)
{
    g_autoptr(GString) errors = g_string_new(NULL);

    for (; *lines != NULL; lines++) {
        g_string_truncate(out, 0);
        if (stepper_command(stepper, *lines, out, errors) == STEPPER_DONE)
            continue;
        g_set_error(error, LESSON_ERROR, 0, "%s: %s", *lines, g_strchomp(errors->str));
        return FALSE;
    }
    return TRUE;
}

char *
lesson_see(const Lesson *self,
           const char *data_dir,
           const LessonQuestion *question,
           GString *told,
           GError **error)
{
    const ScenarioOptions options = {.data_dir = data_dir};
    g_autoptr(Scenario) scenario = teach_lesson_load(self->file, &options, error);

    if (scenario == NULL)
        return NULL;
    Run *run = run_new(scenario, &(RunOptions){.seed = scenario->seed}, error);
    if (run == NULL)
        return NULL;
    Stepper *stepper =
        stepper_new(&(StepperOptions){.run = run, .file = self->file, .options = options});
    gboolean is_told = lesson_carry_out(stepper, question->see, told, error);
    g_autofree char *text = g_strchomp(g_strdup(told->str));

    run_free(run);
    stepper_free(stepper);
    return is_told ? lesson_take(question, text) : NULL;
}

/* ---- Tasks ---- */

static gboolean
is_allowed(const Lesson *self, const char *what)
{
    for (char **allowed = self->task.allows; *allowed != NULL; allowed++) {
        g_autofree char *pattern = g_strdup(*allowed);

        if (strcmp(pattern, what) == 0 ||
            (g_str_has_prefix(pattern, "spec.") && g_pattern_match_simple(pattern, what)))
            return TRUE;
    }
    return FALSE;
}

static gboolean
lesson_refuse(const Lesson *self, const char *what, GError **error)
{
    g_autofree char *allowed = g_strjoinv(", ", self->task.allows);

    g_set_error(error, LESSON_ERROR, 0, "this task does not permit %s; a solution may have: %s",
                what, allowed);
    return FALSE;
}

static void
add_set(GPtrArray *set, const char *path, json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);

    g_ptr_array_add(set, g_strdup_printf("%s=%s", path, text));
    free(text);
}

/* Adds the changes of a Solution, in the form of --set. Returns: FALSE with @error */
static gboolean
add_changes(const Lesson *self, json_t *solution, GPtrArray *set, GError **error)
{
    gsize n_actions = value_length(find_document(self->documents, "Scenario"), "spec.workload"), i;
    const char *path;
    json_t *value;

    json_object_foreach(json_object_get(solution, "set"), path, value) {
        if (!is_allowed(self, path))
            return lesson_refuse(self, path, error);
        add_set(set, path, value);
    }
    if (value_length(solution, "workload") > 0 && !is_allowed(self, "workload"))
        return lesson_refuse(self, "workload", error);
    json_array_foreach(json_object_get(solution, "workload"), i, value) {
        g_autofree char *place = g_strdup_printf("spec.workload[%zu]", n_actions + i);
        add_set(set, place, value);
    }
    return TRUE;
}

/* Whether a foreign solution would make more than a lesson needs, of whatever is counted. */
static gboolean
is_too_much(const json_t *value)
{
    const char *key;
    json_t *member;
    gsize i;

    json_array_foreach((json_t *)value, i, member)
        if (is_too_much(member))
            return TRUE;
    json_object_foreach((json_t *)value, key, member)
        if (is_too_much(member) ||
            (g_str_has_suffix(key, "count") && json_number_value(member) > FOREIGN_COUNT_MAX))
            return TRUE;
    return FALSE;
}

/* Reads a solution. Returns: FALSE with @error if it changes more than it may */
static gboolean
read_solution(const Lesson *self, const LessonSolution *solution, GPtrArray *set, GError **error)
{
    g_autoptr(GPtrArray) documents =
        read_documents(solution->file, solution->text, strlen(solution->text), error);

    if (documents == NULL)
        return FALSE;
    for (unsigned i = 0; i < documents->len; i++) {
        const char *kind = value_text(documents->pdata[i], "kind");

        if (solution->is_foreign && is_too_much(documents->pdata[i])) {
            g_set_error(error, LESSON_ERROR, 0, "a count here is at most %d", FOREIGN_COUNT_MAX);
            return FALSE;
        }
        if (strcmp(kind, "Solution") == 0) {
            if (!add_changes(self, documents->pdata[i], set, error))
                return FALSE;
        } else if (!is_allowed(self, kind)) {
            return lesson_refuse(self, *kind != '\0' ? kind : "a document without a kind", error);
        }
    }
    return TRUE;
}

gboolean
lesson_judge(const Run *run, GString *report)
{
    unsigned n;
    const ExpectResult *results = run_expects(run, &n);
    gboolean is_solved = n > 0; /* none: the run ended too early */

    for (unsigned i = 0; i < n; i++) {
        char at[SIM_TIME_BUFFER];

        is_solved &= results[i].is_met;
        g_string_append_printf(report, "%-7s  at %s %s: found %" G_GINT64_FORMAT "\n",
                               results[i].is_met ? "met" : "NOT MET",
                               sim_time_format(results[i].at, at), results[i].expect->text,
                               results[i].count);
    }
    return is_solved;
}

GPtrArray *
lesson_settings(const Lesson *self)
{
    GPtrArray *set = g_ptr_array_new_with_free_func(g_free);

    add_set(set, "spec.expect", value_at(self->spec, "task.expect"));
    return set;
}

static gboolean
is_small(void *data, SimTime now, uint64_t n_events)
{
    (void)data;
    (void)now;
    return n_events < FOREIGN_EVENTS_MAX;
}

gboolean
lesson_check(const Lesson *self,
             const char *data_dir,
             const LessonSolution *solution,
             GString *report,
             GError **error)
{
    g_autoptr(GPtrArray) set = lesson_settings(self);
    g_autoptr(GHashTable) texts =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_bytes_unref);
    const char *text = solution->text;
    gboolean is_overlay = text != NULL && !solution->is_session;

    if (is_overlay && !read_solution(self, solution, set, error))
        return FALSE;
    if (solution->is_session) /* it ends where it is now */
        add_set(set, "spec.until",
                value_at(find_document(self->documents, "Scenario"), "spec.until"));
    g_ptr_array_add(set, NULL);
    if (text != NULL)
        g_hash_table_insert(texts, (char *)solution->file, g_bytes_new(text, strlen(text)));
    const ScenarioOptions options = {.data_dir = data_dir,
                                     .set = (const char *const *)set->pdata,
                                     .overlay = is_overlay ? solution->file : NULL,
                                     .texts = texts,
                                     .set_is_foreign = TRUE,
                                     .is_confined = solution->is_foreign};
    g_autoptr(Scenario) scenario =
        teach_lesson_load(solution->is_session ? solution->file : self->file, &options, error);
    if (scenario == NULL)
        return FALSE;
    const RunOptions run_options = {.seed = scenario->seed,
                                    .progress = solution->is_foreign ? is_small : NULL};
    g_autoptr(Run) run = run_new(scenario, &run_options, error);
    if (run == NULL)
        return FALSE;
    if (run_execute(run) == RUN_DONE)
        return lesson_judge(run, report);
    g_set_error(error, LESSON_ERROR, 0, "that is more than a lesson needs: the run is given up");
    return FALSE;
}
