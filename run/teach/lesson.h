/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* A lesson: a scenario, and in the same file a document of kind Lesson with a narrative, questions
 * whose answers the run itself gives, and a task that a solution of the learner's meets or not.
 * docs/lessons.md tells how to write one. */
typedef struct Lesson Lesson;

#define LESSON_ERROR (lesson_error_quark())
GQuark lesson_error_quark(void);

typedef enum {
    TAKE_TEXT,    /* what the last command prints */
    TAKE_TIME,    /* the time at which it stopped */
    TAKE_ELAPSED, /* ... and how long that was after the command before */
    TAKE_LINES,   /* the number of lines that it prints */
    TAKE_CAUSE,   /* the cause that `why` names */
} LessonTake;

/* Texts are in the language asked for at lesson_load(). All is the lesson's. */
typedef struct {
    const char *ask, *because;
    const char *answer;
    char **choices; /* ends with NULL; NULL: none are given */
    char **see; /* commands of the stepper, ends with NULL: what the last one tells is the answer */
    LessonTake take;
    double within; /* of times: this part of the answer more or less is right, too */
} LessonQuestion;

typedef struct {
    const char *text;
    char **allows; /* ends with NULL: kinds, and glob patterns of paths, that a solution may have */
} LessonTask;

/**
 * lesson_load:
 * @language: "en", "zh"; what there is not is told in English
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

/* Whether @given is right: of times within some tolerance, of numbers and words the same. */
gboolean lesson_is_right(const LessonQuestion *question, const char *given);

/**
 * lesson_see:
 * Runs the lesson and carries out the commands of the question.
 * @told: what the last command printed
 * Returns: (owned): the answer that the run gives; %NULL with a %LESSON_ERROR
 */
char *lesson_see(const Lesson *self,
                 const char *data_dir,
                 const LessonQuestion *question,
                 GString *told,
                 GError **error);

/**
 * lesson_check:
 * Runs the lesson with a solution and judges the task.
 * @solution: a file; %NULL: the lesson as it is
 * @report: what was expected and found, or what is wrong with the solution, a line each
 * Returns: whether the task is solved; %FALSE with a %LESSON_ERROR if the solution is no sound or
 * no allowed one
 */
gboolean lesson_check(const Lesson *self,
                      const char *data_dir,
                      const char *solution,
                      GString *report,
                      GError **error);
