/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* A lesson is a scenario with a document of kind Lesson in the same file: a narrative, questions
 * that the run itself answers, and a task that the learner's solution must meet. See
 * docs/lessons.md. */
typedef struct Lesson Lesson;

#define LESSON_ERROR (lesson_error_quark())
GQuark lesson_error_quark(void);

typedef enum {
    TAKE_TEXT,    /* the output of the last command */
    TAKE_TIME,    /* the time at which it stopped */
    TAKE_ELAPSED, /* the time that passed during the last command */
    TAKE_LINES,   /* the number of lines of its output */
    TAKE_CAUSE,   /* the cause that `why` names */
} LessonTake;

/* Texts are in the language of lesson_load(). The lesson owns all members. */
typedef struct {
    const char *ask, *because;
    const char *answer;
    char **choices; /* ends with NULL; NULL: no choices */
    char **see;     /* commands of the stepper, ends with NULL; the last one gives the answer */
    LessonTake take;
    double within; /* tolerance for times, as a part of the answer */
} LessonQuestion;

typedef struct {
    const char *text;
    char *
        *allows; /* ends with NULL: kinds and glob patterns of paths that a solution may contain */
} LessonTask;

/**
 * lesson_load:
 * @language: "en", "zh"; missing texts fall back to English
 * Returns: (owned): %NULL with a %LESSON_ERROR that names the file
 */
Lesson *lesson_load(const char *file, const char *language, GError **error);
void lesson_free(Lesson *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Lesson, lesson_free)

const char *lesson_file(const Lesson *self);
const char *lesson_title(const Lesson *self);
const char *lesson_narrative(const Lesson *self);
unsigned lesson_n_questions(const Lesson *self);
const LessonQuestion *lesson_question(const Lesson *self, unsigned i);
const LessonTask *lesson_task(const Lesson *self);

/* Whether @given is right. Times have a tolerance; numbers and words must be the same. */
gboolean lesson_is_right(const LessonQuestion *question, const char *given);

/**
 * lesson_see:
 * Runs the lesson and carries out the commands of the question.
 * @told: the output of the last command
 * Returns: (owned): the answer that the run gives; %NULL with a %LESSON_ERROR
 */
char *lesson_see(const Lesson *self,
                 const char *data_dir,
                 const LessonQuestion *question,
                 GString *told,
                 GError **error);

/* What a learner gives in. */
typedef struct {
    const char *file; /* faults name it */
    const char *text; /* NULL: there is none: the lesson as it is */
    gboolean
        is_session; /* a scenario that a served lesson has become; else as docs/lessons.md says */
    gboolean is_foreign; /* it may name no file */
} LessonSolution;

/**
 * lesson_check:
 * Runs the lesson with a solution and judges the task.
 * @report: expectations and findings, a line each
 * Returns: whether the task is solved; %FALSE with a %LESSON_ERROR if the solution is invalid
 * or changes more than it may
 */
gboolean lesson_check(const Lesson *self,
                      const char *data_dir,
                      const LessonSolution *solution,
                      GString *report,
                      GError **error);
/* Returns: (owned): the settings (char *) with which the lesson's scenario has the task's
 * expectations */
GPtrArray *lesson_settings(const Lesson *self);
/* @run: of such a scenario, at its end. @report: as above. Returns: whether the task is solved */
gboolean lesson_judge(const Run *run, GString *report);
