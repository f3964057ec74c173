/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim teach: lists the lessons, gives one, checks the solution of a task. The learner's results
 * are kept in a file. If it cannot be read or written, they are not kept; lessons work all the
 * same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/cli.h"
#include "cli/common/language.h"
#include "cli/common/paint.h"
#include "commands.h"
#include "run/files/input.h"
#include "run/teach/course.h"
#include "run/teach/lesson.h"
#include "serve.h"

#define TEXT_WIDTH 100
#define TRIES 2 /* for a question, before the answer is printed */

typedef struct {
    char *data_dir; /* (owned) */
    gboolean is_zh;
    Course *course;
    char *state_file;
    GKeyFile *state; /* a group for each lesson: right, questions, solved */
} Teacher;

/* ---- The learner's results ---- */

static void
state_open(Teacher *self)
{
    g_autofree char *folder = g_build_filename(g_get_user_state_dir(), "kvolsim", NULL);

    g_mkdir_with_parents(folder, 0700);
    self->state_file = g_build_filename(folder, "lessons", NULL);
    self->state = g_key_file_new();
    g_key_file_load_from_file(self->state, self->state_file, G_KEY_FILE_KEEP_COMMENTS, NULL);
}

/* Atomic: a reader finds the old state or the new one. */
static void
state_save(const Teacher *self)
{
    g_autoptr(GError) error = NULL;

    if (!g_key_file_save_to_file(self->state, self->state_file, &error))
        cli_error("teach: progress is not remembered: %s", error->message);
}

/* ---- Lessons ---- */

/* Returns: %FALSE with the fault printed: there is no such lesson */
static gboolean
find_lesson(const Teacher *self, const char *word, unsigned *i)
{
    if (course_find(self->course, word, i))
        return TRUE;
    cli_error("teach: there is no lesson \"%s\" (kvolsim teach lists them)", word);
    return FALSE;
}

static Lesson *
open_lesson(const Teacher *self, unsigned i)
{
    g_autofree char *file = course_file(self->course, i);
    g_autoptr(GError) error = NULL;
    Lesson *lesson = lesson_load(file, self->is_zh ? "zh" : "en", &error);

    if (lesson == NULL)
        cli_error("teach: %s", error->message);
    return lesson;
}

static ExitCode
list_lessons(const Teacher *self)
{
    for (unsigned i = 0; i < course_n_lessons(self->course); i++) {
        const char *name = course_name(self->course, i);
        g_autoptr(Lesson) lesson = open_lesson(self, i);

        if (lesson == NULL)
            return EXIT_ERROR;
        int right = g_key_file_get_integer(self->state, name, "right", NULL);
        gboolean is_solved = g_key_file_get_boolean(self->state, name, "solved", NULL);
        printf("%2u  %u/%u %s  %s\n", i + 1,
               (unsigned)CLAMP(right, 0, (int)lesson_n_questions(lesson)),
               lesson_n_questions(lesson),
               is_solved ? (self->is_zh ? "任务已完成" : "task solved")
                         : (self->is_zh ? "          " : "           "),
               lesson_title(lesson));
    }
    printf("%s\n",
           self->is_zh ? "\n`kvolsim teach 1` 开始第一课。" : "\nBegin with: kvolsim teach 1");
    return EXIT_DONE;
}

/* Wraps lines between words. Chinese has no blanks: the terminal wraps it anywhere. */
static void
print_text(const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    glong column = 0;

    for (char **word = words; *word != NULL; word++) {
        glong width = g_utf8_strlen(*word, -1);

        if (column > 0 && column + 1 + width > TEXT_WIDTH) {
            putchar('\n');
            column = 0;
        }
        printf("%s%s", column > 0 ? " " : "", *word);
        column += width + (column > 0);
    }
    putchar('\n');
}

/* ---- Questions ---- */

static void
print_question(const LessonQuestion *question, unsigned number, unsigned n)
{
    printf("\n[%u/%u] %s\n", number, n, question->ask);
    for (unsigned i = 0; question->choices != NULL && question->choices[i] != NULL; i++)
        printf("   %c) %s\n", (char)('a' + i), question->choices[i]);
}

/* "b" stands for the second choice. */
static const char *
meant_by(const LessonQuestion *question, const char *given)
{
    unsigned n = question->choices != NULL ? g_strv_length(question->choices) : 0;

    if (n > 0 && given[0] != '\0' && given[1] == '\0' && given[0] >= 'a' &&
        (unsigned)(given[0] - 'a') < n)
        return question->choices[given[0] - 'a'];
    return given;
}

/* Prints the command that shows the answer, and its output. Returns: FALSE: the fault is printed */
static gboolean
print_proof(const Teacher *self, const Lesson *lesson, const LessonQuestion *question)
{
    g_autoptr(GString) told = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *seen = lesson_see(lesson, self->data_dir, question, told, &error);

    if (seen == NULL) {
        cli_error("teach: %s", error->message);
        return FALSE;
    }
    printf("  $ kvolsim step %s", lesson_file(lesson));
    for (char **line = question->see; *line != NULL; line++)
        printf(" -c '%s'", *line);
    printf("\n%s%s", told->str, g_str_has_suffix(told->str, "\n") ? "" : "\n");
    return TRUE;
}

typedef enum {
    ANSWERED_RIGHT,
    ANSWERED_WRONG,
    ANSWERED_NOT, /* the end of the input */
} Answered;

static Answered
cmd_teach_ask(const Teacher *self, const LessonQuestion *question)
{
    char *line = NULL;
    size_t capacity = 0;
    Answered answered = ANSWERED_WRONG;

    for (unsigned try = 0; try < TRIES && answered == ANSWERED_WRONG; try++) {
        if (isatty(STDIN_FILENO))
            fputs("> ", stdout);
        fflush(stdout);
        if (getline(&line, &capacity, stdin) < 0) {
            answered = ANSWERED_NOT;
            putchar('\n');
            break;
        }
        g_strstrip(line);
        if (lesson_is_right(question, meant_by(question, line)))
            answered = ANSWERED_RIGHT;
        else if (try + 1 < TRIES)
            puts(self->is_zh ? "不对，再试一次。" : "No. Once more.");
    }
    free(line);
    return answered;
}

/* Returns: the number of right answers; -1: something failed */
static int
ask_all(const Teacher *self, const Lesson *lesson)
{
    unsigned n = lesson_n_questions(lesson);
    int n_right = 0;

    for (unsigned i = 0; i < n; i++) {
        const LessonQuestion *question = lesson_question(lesson, i);

        print_question(question, i + 1, n);
        Answered answered = cmd_teach_ask(self, question);
        if (answered == ANSWERED_NOT)
            break;
        n_right += answered == ANSWERED_RIGHT;
        if (answered == ANSWERED_RIGHT)
            printf("%s%s\n", self->is_zh ? "对。" : "Right. ", question->because);
        else
            printf("%s%s%s%s\n", self->is_zh ? "答案是 " : "It is ", question->answer,
                   self->is_zh ? "。" : ". ", question->because);
        if (!print_proof(self, lesson, question))
            return -1;
    }
    return n_right;
}

static ExitCode
give_lesson(Teacher *self, const char *word)
{
    unsigned i;
    g_autoptr(Lesson) lesson = find_lesson(self, word, &i) ? open_lesson(self, i) : NULL;
    int n_right;

    if (lesson == NULL)
        return EXIT_BAD_INPUT;
    printf("%s\n\n", lesson_title(lesson));
    print_text(lesson_narrative(lesson));
    printf("%s kvolsim step %s\n", self->is_zh ? "自己看：" : "Look around:", lesson_file(lesson));
    const char *name = course_name(self->course, i);
    n_right = ask_all(self, lesson);
    if (n_right < 0)
        return EXIT_ERROR;
    if (n_right >
        g_key_file_get_integer(self->state, name, "right", NULL)) /* the best time counts */
        g_key_file_set_integer(self->state, name, "right", n_right);
    state_save(self);
    printf("\n%s %s\n", self->is_zh ? "任务：" : "Task:", lesson_task(lesson)->text);
    printf("  $ kvolsim teach --check %s solution.yaml\n", name);
    return n_right == (int)lesson_n_questions(lesson) ? EXIT_DONE : EXIT_NOT_MET;
}

/* ---- Tasks ---- */

/* Tells, and remembers, whether the task is solved. */
static ExitCode
tell_result(Teacher *self, const char *name, const GString *report, gboolean is_solved)
{
    plain_print(stdout, report->str);
    if (is_solved) {
        puts(self->is_zh ? "任务已完成。" : "Solved.");
        g_key_file_set_boolean(self->state, name, "solved", TRUE);
        state_save(self);
    } else {
        puts(self->is_zh ? "还没有完成。" : "Not yet.");
    }
    return is_solved ? EXIT_DONE : EXIT_NOT_MET;
}

static ExitCode
check_solution(Teacher *self, const char *word, const char *file)
{
    g_autofree char *text = NULL;
    unsigned i;
    g_autoptr(Lesson) lesson = find_lesson(self, word, &i) ? open_lesson(self, i) : NULL;
    g_autoptr(GString) report = g_string_new(NULL);
    g_autoptr(GError) error = NULL;

    if (lesson == NULL)
        return EXIT_BAD_INPUT;
    gboolean is_solved =
        input_get_contents(file, &text, NULL, &error) &&
        lesson_check(lesson, self->data_dir, &(LessonSolution){.file = file, .text = text}, report,
                     &error);
    if (error != NULL)
        return cli_bad_input("teach: %s", error->message);
    return tell_result(self, course_name(self->course, i), report, is_solved);
}

/* The task is done on a served cluster, with kubectl. */
static ExitCode
serve_lesson(Teacher *self, const char *word, const char *listen, const char *speed)
{
    unsigned i;
    g_autoptr(Lesson) lesson = find_lesson(self, word, &i) ? open_lesson(self, i) : NULL;
    g_autoptr(GString) report = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    gboolean is_solved = FALSE;

    if (lesson == NULL)
        return EXIT_BAD_INPUT;
    g_autoptr(GPtrArray) set = lesson_settings(lesson);
    g_ptr_array_add(set, NULL);
    printf("%s\n\n", lesson_title(lesson));
    print_text(lesson_narrative(lesson));
    printf("%s %s\n\n", self->is_zh ? "任务：" : "Task:", lesson_task(lesson)->text);
    ExitCode code =
        serve_task(&(ServeTask){lesson_file(lesson), (char *const *)set->pdata, listen, speed},
                   report, &is_solved);
    if (code != EXIT_DONE)
        return code;
    return tell_result(self, course_name(self->course, i), report, is_solved);
}

static ExitCode
show_solution(Teacher *self, const char *word)
{
    unsigned i;
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;

    if (!find_lesson(self, word, &i))
        return EXIT_BAD_INPUT;
    g_autofree char *path = course_solution(self->course, i);
    if (!g_file_get_contents(path, &text, NULL, &error))
        return cli_fail("teach: %s", error->message);
    fputs(text, stdout);
    return EXIT_DONE;
}

static ExitCode
teach(Teacher *self, int argc, char **argv, gboolean check, gboolean solution)
{
    if (check && argc == 3)
        return check_solution(self, argv[1], argv[2]);
    if (solution && argc == 2)
        return show_solution(self, argv[1]);
    if (!check && !solution && argc == 2)
        return give_lesson(self, argv[1]);
    if (!check && !solution && argc == 1)
        return list_lessons(self);
    return cli_bad_input("teach: %s (see kvolsim teach --help)",
                         check ? "give --check LESSON SOLUTION.yaml" : "give one lesson");
}

int
cmd_teach(int argc, char **argv)
{
    gboolean check = FALSE, solution = FALSE, serve = FALSE;
    g_autofree char *language = NULL, *listen = NULL, *speed = NULL;
    g_autoptr(GError) error = NULL;
    Translation translate;
    const GOptionEntry entries[] = {
        CLI_OPTION("check", NONE, &check, "Check a solution of the lesson's task", NULL),
        CLI_OPTION("solution", NONE, &solution, "Print a solution of the lesson's task", NULL),
        CLI_OPTION("serve", NONE, &serve,
                   "Do the lesson's task with kubectl on a served cluster; Ctrl-C ends it", NULL),
        CLI_OPTION("listen", STRING, &listen, "With --serve: address and port", "ADDRESS:PORT"),
        CLI_OPTION("speed", STRING, &speed, "With --serve: virtual by real time (default: 1)", "N"),
        CLI_OPTION("lang", STRING, &language, "en or zh (default: from $LANG)", "LANG"),
        G_OPTION_ENTRY_NULL,
    };
    Teacher self = {0};

    if (!cli_parse(
            &argc, &argv, entries, "[LESSON [SOLUTION]]",
            "Learn the life of PersistentVolumes and their claims, lesson by lesson. Without "
            "LESSON: list the lessons.",
            "LESSON: its number or name. SOLUTION: a file of manifests, which replace or add "
            "objects, and of a\n"
            "document of kind Solution, whose `set` and `workload` change the scenario; --solution "
            "shows an example.\n"
            "Answers are read from the standard input, one per line. Exit status: 3 if an\n"
            "answer was wrong or missing, or the task is not solved. Progress is kept in "
            "$XDG_STATE_HOME/kvolsim/lessons.") ||
        !language_choose(language, &translate))
        return EXIT_BAD_INPUT;
    self.is_zh = translate != NULL; /* lessons have their own texts */
    self.data_dir = cli_data_dir();
    self.course = course_open(self.data_dir, &error);
    if (self.course == NULL)
        return cli_fail("teach: %s", error->message);
    state_open(&self);
    ExitCode code = serve && !check && !solution && argc == 2
                        ? serve_lesson(&self, argv[1], listen, speed)
                    : serve ? cli_bad_input("teach: give one lesson (see kvolsim teach --help)")
                            : teach(&self, argc, argv, check, solution);
    g_key_file_unref(self.state);
    g_free(self.state_file);
    course_free(self.course);
    g_free(self.data_dir);
    return code;
}
