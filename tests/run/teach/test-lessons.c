/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "run/teach/course.h"
#include "run/teach/lesson.h"
#include "tests/lib/test.h"

/* Lessons: the run gives each stated answer, each reference solution solves its task, and the
 * lesson as it is does not. */

#define LESSONS_MIN 16

/* Returns: (owned) */
static Course *
open_course(void)
{
    g_autoptr(GError) error = NULL;
    Course *course = course_open(g_getenv("KVOLSIM_SRCDIR"), &error);

    if (course == NULL)
        fail_msg("%s", error->message);
    assert_true(course_n_lessons(course) >= LESSONS_MIN);
    return course;
}

static Lesson *
lessons_load(const Course *course, unsigned i, const char *language)
{
    g_autofree char *file = course_file(course, i);
    g_autoptr(GError) error = NULL;
    Lesson *lesson = lesson_load(file, language, &error);

    if (lesson == NULL)
        fail_msg("%s", error->message);
    return lesson;
}

static void
answer_is_what_the_run_gives(const char *name, const Lesson *lesson, const LessonQuestion *question)
{
    g_autoptr(GString) told = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *seen = lesson_see(lesson, g_getenv("KVOLSIM_SRCDIR"), question, told, &error);

    if (seen == NULL)
        fail_msg("%s: %s", name, error->message);
    if (strcmp(seen, question->answer) != 0)
        fail_msg("%s: \"%s\" is answered \"%s\", but the run gives \"%s\"", name, question->ask,
                 question->answer, seen);
    assert_true(lesson_is_right(question, question->answer));
    assert_false(lesson_is_right(question, "nonsense"));
    assert_false(lesson_is_right(question, ""));
}

/* Exactly one choice is right. */
static void
one_choice_is_right(const LessonQuestion *question)
{
    unsigned n_right = 0;

    for (char **choice = question->choices; choice != NULL && *choice != NULL; choice++)
        n_right += lesson_is_right(question, *choice);
    assert_int_equal(n_right, question->choices != NULL);
}

TEST(stated_answers_are_what_the_runs_give)
{
    g_autoptr(Course) course = open_course();

    for (unsigned i = 0; i < course_n_lessons(course); i++) {
        g_autoptr(Lesson) lesson = lessons_load(course, i, "en");

        assert_true(lesson_n_questions(lesson) >= 3);
        for (unsigned k = 0; k < lesson_n_questions(lesson); k++) {
            answer_is_what_the_run_gives(course_name(course, i), lesson,
                                         lesson_question(lesson, k));
            one_choice_is_right(lesson_question(lesson, k));
        }
    }
}

TEST(reference_solutions_solve_the_tasks_and_nothing_does_not)
{
    const char *data_dir = g_getenv("KVOLSIM_SRCDIR");
    g_autoptr(Course) course = open_course();

    for (unsigned i = 0; i < course_n_lessons(course); i++) {
        g_autoptr(Lesson) lesson = lessons_load(course, i, "en");
        g_autofree char *file = course_solution(course, i), *text = NULL;
        g_autoptr(GString) report = g_string_new(NULL);
        g_autoptr(GError) error = NULL;

        assert_true(g_file_get_contents(file, &text, NULL, NULL));
        gboolean is_solved = lesson_check(
            lesson, data_dir, &(LessonSolution){.file = file, .text = text}, report, &error);
        if (!is_solved)
            fail_msg("%s: %s\n%s", file, error != NULL ? error->message : "", report->str);
        gboolean is_solved_untouched =
            lesson_check(lesson, data_dir, &(LessonSolution){0}, report, &error);
        if (is_solved_untouched || error != NULL)
            fail_msg("%s is solved as it is", course_name(course, i));
    }
}

static gboolean
has_chinese(const char *text)
{
    for (; *text != '\0'; text = g_utf8_next_char(text))
        if (g_unichar_get_script(g_utf8_get_char(text)) == G_UNICODE_SCRIPT_HAN)
            return TRUE;
    return FALSE;
}

static void
assert_languages(const char *english, const char *chinese)
{
    assert_true(*english != '\0' && !has_chinese(english));
    if (!has_chinese(chinese))
        fail_msg("not in Chinese: %s", english);
}

TEST(all_texts_are_there_in_both_languages)
{
    g_autoptr(Course) course = open_course();

    for (unsigned i = 0; i < course_n_lessons(course); i++) {
        g_autoptr(Lesson) english = lessons_load(course, i, "en");
        g_autoptr(Lesson) chinese = lessons_load(course, i, "zh");

        assert_languages(lesson_title(english), lesson_title(chinese));
        assert_languages(lesson_narrative(english), lesson_narrative(chinese));
        assert_languages(lesson_task(english)->text, lesson_task(chinese)->text);
        for (unsigned k = 0; k < lesson_n_questions(english); k++) {
            const LessonQuestion *question = lesson_question(english, k),
                                 *translated = lesson_question(chinese, k);
            assert_languages(question->ask, translated->ask);
            assert_languages(question->because, translated->because);
        }
    }
}

/* A solution may not remove the task: other changes than the allowed ones are errors. */
TEST(what_a_task_does_not_allow_is_refused)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: big}\n",
         "PersistentVolumeClaim"                                                             },
        {"apiVersion: kvolsim.io/v1\nkind: Solution\nset: {spec.until: 1s}\n",   "spec.until"},
        {"apiVersion: kvolsim.io/v1\nkind: Solution\nworkload:\n- {at: 1s, delete: {kind: Pod, "
         "name: a}}\n",                                                 "workload"  },
        {"apiVersion: kvolsim.io/v1\nkind: Scenario\n",                          "Scenario"  },
        {"kind: [\n",                                                            ":"         },
        {"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\nspec: {capacity: {storage: "
         "many}}\n",                                                    "many"      },
    };
    g_autoptr(Course) course = open_course();
    g_autoptr(Lesson) lesson = lessons_load(course, 0, "en");

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) report = g_string_new(NULL);
        g_autoptr(GError) error = NULL;

        assert_false(lesson_check(lesson, g_getenv("KVOLSIM_SRCDIR"),
                                  &(LessonSolution){.file = "solution.yaml", .text = cases[i].text},
                                  report, &error));
        assert_non_null(error);
        assert_non_null(strstr(error->message, cases[i].word));
    }
}

/* A stranger's solution reads nothing but lessons, and is no larger than these; a learner's own may
 * name files. */
TEST(a_foreign_solution_reaches_no_file_and_is_small)
{
    static const struct {
        const char *item, *word;
    } cases[] = {
        {"{at: 60s, create: {manifest: /etc/hostname}}",               "no file can be named here"},
        {"{at: 60s, create: {manifest: ../../../../../etc/hostname}}", "no file can be named here"},
        {"{at: 60s, create: {manifest: [../../../etc/hostname]}}",     "no file can be named here"},
        {"{at: 60s, create: {count: 1001, manifest: {apiVersion: v1, kind: Pod, metadata: {name: "
         "a}, spec: {containers: [{name: a}]}}}}",            "at most 1000"             },
    };
    g_autoptr(Course) course = open_course();
    unsigned i;

    assert_true(course_find(course, "expansion", &i));
    g_autoptr(Lesson) lesson = lessons_load(course, i, "en");
    for (gsize k = 0; k < G_N_ELEMENTS(cases); k++) {
        g_autofree char *text = g_strdup_printf(
            "apiVersion: kvolsim.io/v1\nkind: Solution\nworkload:\n- %s\n", cases[k].item);
        g_autoptr(GString) report = g_string_new(NULL);
        g_autoptr(GError) error = NULL;

        assert_false(lesson_check(
            lesson, g_getenv("KVOLSIM_SRCDIR"),
            &(LessonSolution){.file = "solution.yaml", .text = text, .is_foreign = TRUE}, report,
            &error));
        assert_non_null(strstr(error->message, cases[k].word));
    }
}

TEST(lessons_are_found_by_number_and_name)
{
    static const char *const words[] = {"9", "09", "09-expansion", "expansion"};
    g_autoptr(Course) course = open_course();
    unsigned i;

    for (gsize k = 0; k < G_N_ELEMENTS(words); k++)
        assert_true(course_find(course, words[k], &i) && i == 8);
    assert_false(course_find(course, "0", &i));
    assert_false(course_find(course, "99", &i));
    assert_false(course_find(course, "../solutions/09-expansion", &i));
}

TEST(times_are_right_within_bounds)
{
    const LessonQuestion question = {.answer = "10s", .take = TAKE_TIME, .within = 0.05},
                         word = {.answer = "Pending", .take = TAKE_TEXT};
    static const struct {
        const char *given;
        gboolean is_right;
    } cases[] = {
        {"10s",    TRUE },
        {" 10 ",   TRUE }, /* seconds */
        {"10.4s",  TRUE },
        {"9600ms", TRUE },
        {"10.6s",  FALSE},
        {"9.4",    FALSE},
        {"10m",    FALSE},
        {"-10s",   FALSE},
        {"s",      FALSE},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_int_equal(lesson_is_right(&question, cases[i].given), cases[i].is_right);
    assert_true(lesson_is_right(&word, "pending"));
    assert_false(lesson_is_right(&word, "Bound"));
}
