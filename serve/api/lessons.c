/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The course over HTTP: lessons, questions, answers and tasks for the page. Opening a lesson makes
 * its scenario the present. The right answer is told only when it is given or given up, with the
 * output of the commands that find it. A task is solved by the changes in the session, or by a text
 * as `teach --check` takes it. */
#include "lessons.h"

#include <string.h>

#include "api-private.h"
#include "run/teach/course.h"
#include "run/teach/lesson.h"

/* A request about lessons. */
typedef struct {
    ServeEngines *engines;
    Exchange *exchange;
    const char *data_dir; /* (borrowed) */
    const char *language;
    Course *course;
    json_t *body;    /* of a POST */
    unsigned number; /* of the lesson, from 0 */
    Lesson *lesson;  /* NULL: the request is about none */
} LessonRequest;

/* Returns: the member of a POST's body, or the parameter of a GET; %NULL: none */
static const char *
word_of(const LessonRequest *self, const char *name)
{
    return self->body != NULL ? json_string_value(json_object_get(self->body, name))
                              : exchange_query(self->exchange, name);
}

/* ---- What there is to read ---- */

/* Whether the present is this lesson. */
static gboolean
is_open(const LessonRequest *self, unsigned i)
{
    g_autofree char *lesson = course_file(self->course, i);
    g_autofree char *file = g_canonicalize_filename(lesson, NULL);
    g_autofree char *origin = g_canonicalize_filename(serve_engines_origin(self->engines), NULL);

    return strcmp(origin, file) == 0;
}

static void
get_list(LessonRequest *self)
{
    json_t *list = json_array(), *answer = json_pack("{s:o}", "lessons", list);

    for (unsigned i = 0; i < course_n_lessons(self->course); i++) {
        g_autofree char *file = course_file(self->course, i);
        g_autoptr(Lesson) lesson = lesson_load(file, self->language, NULL);
        json_array_append_new(list, json_pack("{s:i, s:s, s:s}", "number", (int)i + 1, "name",
                                              course_name(self->course, i), "title",
                                              lesson != NULL ? lesson_title(lesson) : ""));
        if (is_open(self, i))
            json_object_set_new(answer, "open", json_integer((int)i + 1));
    }
    exchange_answer_json(self->exchange, 200, answer);
}

static json_t *
words_json(char *const *words)
{
    json_t *list = json_array();

    for (; words != NULL && *words != NULL; words++)
        json_array_append_new(list, json_string(*words));
    return list;
}

static json_t *
question_json(const LessonQuestion *question)
{
    json_t *json = json_pack("{s:s}", "ask", question->ask);

    if (question->choices != NULL)
        json_object_set_new(json, "choices", words_json(question->choices));
    return json;
}

static void
get_lesson(LessonRequest *self)
{
    const LessonTask *task = lesson_task(self->lesson);
    json_t *questions = json_array();

    for (unsigned i = 0; i < lesson_n_questions(self->lesson); i++)
        json_array_append_new(questions, question_json(lesson_question(self->lesson, i)));
    exchange_answer_json(self->exchange, 200,
                         json_pack("{s:i, s:s, s:s, s:o, s:{s:s, s:o}}", "number",
                                   (int)self->number + 1, "title", lesson_title(self->lesson),
                                   "narrative", lesson_narrative(self->lesson), "questions",
                                   questions, "task", "text", task->text, "allows",
                                   words_json(task->allows)));
}

/* ---- What a learner does ---- */

static void
post_open(LessonRequest *self)
{
    const char *text = word_of(self, "at");
    g_autoptr(GError) error = NULL;
    SimTime at = 0;

    if (text != NULL && (!sim_time_parse(text, &at, &error) || at < 0))
        exchange_refuse(self->exchange, 400,
                        error != NULL ? error->message : "at: an instant, such as \"42s\"");
    else
        serve_engines_open(self->engines, self->exchange, lesson_file(self->lesson), at);
}

/* The answer comes with its reason and with the output of the commands that find it: when it is
 * right, or when the learner gives up. */
static void
post_answer(LessonRequest *self)
{
    const json_t *place = json_object_get(self->body, "question");
    const char *given = word_of(self, "answer");
    g_autoptr(GString) told = g_string_new(NULL);
    g_autoptr(GError) error = NULL;

    if (!json_is_integer(place) || json_integer_value(place) < 0 ||
        json_integer_value(place) >= lesson_n_questions(self->lesson)) {
        exchange_refuse(self->exchange, 400, "question: a number, from 0 on");
        return;
    }
    const LessonQuestion *question =
        lesson_question(self->lesson, (unsigned)json_integer_value(place));
    gboolean is_right = given != NULL && lesson_is_right(question, given);
    if (given != NULL && !is_right) {
        exchange_answer_json(self->exchange, 200, json_pack("{s:b}", "isRight", FALSE));
        return;
    }
    g_autofree char *seen = lesson_see(self->lesson, self->data_dir, question, told, &error);
    if (seen == NULL)
        exchange_refuse(self->exchange, 500, error->message);
    else
        exchange_answer_json(self->exchange, 200,
                             json_pack("{s:b, s:s, s:s, s:o, s:s}", "isRight", is_right, "answer",
                                       question->answer, "because", question->because, "commands",
                                       words_json(question->see), "told", told->str));
}

/* The task is solved by what the session did, or by a text as `teach --check` takes it. */
static void
post_check(LessonRequest *self)
{
    const char *text = word_of(self, "solution");
    g_autofree char *session =
        text == NULL ? serve_session_text(serve_engines_present(self->engines)->session) : NULL;
    const LessonSolution solution = {.file = "solution.yaml",
                                     .text = text != NULL ? text : session,
                                     .is_session = text == NULL,
                                     .is_foreign = TRUE};
    g_autoptr(GString) report = g_string_new(NULL);
    g_autoptr(GError) error = NULL;

    if (text == NULL && !is_open(self, self->number)) {
        exchange_refuse(self->exchange, 409,
                        "another scenario is served: open the lesson first, or give a solution");
        return;
    }
    gboolean is_solved = lesson_check(self->lesson, self->data_dir, &solution, report, &error);
    if (error != NULL)
        exchange_refuse(self->exchange, 400, error->message);
    else
        exchange_answer_json(self->exchange, 200,
                             json_pack("{s:b, s:s}", "isSolved", is_solved, "report", report->str));
}

/* ---- Paths ---- */

static const struct {
    const char *path, *method;
    gboolean is_about_one;
    void (*answer)(LessonRequest *self);
} ways[] = {
    {"/kvolsim/v1/lessons",       "GET",  FALSE, get_list   },
    {"/kvolsim/v1/lesson",        "GET",  TRUE,  get_lesson },
    {"/kvolsim/v1/lesson/open",   "POST", TRUE,  post_open  },
    {"/kvolsim/v1/lesson/answer", "POST", TRUE,  post_answer},
    {"/kvolsim/v1/lesson/check",  "POST", TRUE,  post_check },
};

/* Returns: %FALSE: it is refused */
static gboolean
find_lesson(LessonRequest *self)
{
    const char *word = word_of(self, "lesson");
    g_autoptr(GError) error = NULL;

    if (word == NULL || !course_find(self->course, word, &self->number)) {
        exchange_refuse(self->exchange, 404,
                        "there is no such lesson (lesson: its number as a text, or its name)");
        return FALSE;
    }
    g_autofree char *file = course_file(self->course, self->number);
    self->lesson = lesson_load(file, self->language, &error);
    if (self->lesson == NULL)
        exchange_refuse(self->exchange, 500, error->message);
    return self->lesson != NULL;
}

/* Returns: %FALSE: it is refused */
static gboolean
read_request(LessonRequest *self, gboolean has_body)
{
    g_autoptr(GError) error = NULL;
    json_t *refusal = NULL;

    self->data_dir = serve_engines_present(self->engines)->options.load->data_dir;
    self->course = course_open(self->data_dir, &error);
    if (self->course == NULL) {
        exchange_refuse(self->exchange, 500, error->message);
        return FALSE;
    }
    if (has_body && (self->body = body_read(self->exchange, NULL, &refusal)) == NULL) {
        exchange_answer_json(self->exchange, 400, refusal);
        return FALSE;
    }
    self->language = g_strcmp0(word_of(self, "lang"), "zh") == 0 ? "zh" : "en";
    return TRUE;
}

gboolean
lessons_answer(ServeEngines *engines, Exchange *exchange)
{
    const char *method = exchange->request.method;
    LessonRequest self = {.engines = engines, .exchange = exchange};
    gsize i = 0;

    while (i < G_N_ELEMENTS(ways) && strcmp(ways[i].path, exchange->request.path) != 0)
        i++;
    if (i == G_N_ELEMENTS(ways))
        return FALSE;
    if (strcmp(method, ways[i].method) != 0)
        exchange_answer_json(exchange, 405, status_method_not_allowed());
    else if (read_request(&self, strcmp(method, "POST") == 0) &&
             (!ways[i].is_about_one || find_lesson(&self)))
        ways[i].answer(&self);
    lesson_free(self.lesson);
    json_decref(self.body);
    course_free(self.course);
    return TRUE;
}
