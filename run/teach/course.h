/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The lessons of a data folder in their order: scenarios/lessons/NN-NAME.yaml. */
typedef struct Course Course;

/* Returns: (owned): %NULL with @error: the folder cannot be read */
Course *course_open(const char *data_dir, GError **error);
void course_free(Course *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Course, course_free)

unsigned course_n_lessons(const Course *self);
/* @i: from 0. Returns: (borrowed): "01-static-binding" */
const char *course_name(const Course *self, unsigned i);
/* Returns: (owned): the lesson's file */
char *course_file(const Course *self, unsigned i);
/* Returns: (owned): the file of its task's solution */
char *course_solution(const Course *self, unsigned i);
/**
 * course_find:
 * @word: "1", "01", "01-static-binding" or "static-binding"
 * @i: (out)
 * Returns: whether there is such a lesson
 */
gboolean course_find(const Course *self, const char *word, unsigned *i);
