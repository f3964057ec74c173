/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* GoldenWords that mean the same in every run: without drawn names, and without names of nodes,
 * which chance may choose. */
typedef struct GoldenWords GoldenWords;

/* @nodes: names of nodes; borrowed, ends with NULL */
GoldenWords *words_new(const char *const *nodes);
void words_free(GoldenWords *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GoldenWords, words_free)

/* @labels: meanings of drawn names (char * -> char *). Returns: (owned): @text with "<volume of
 * data>" for "pvc-0cc1…", "<node>" for "node-a1", "<attachment>" and "<uid>" */
char *words_without_names(const GoldenWords *self, const char *text, GHashTable *labels);
