/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/conformance/case.h"

/* Cases that are told in words. Their sentences come from few forms, with names and numbers in
 * them: a table of phrases says what each form means. A sentence is one phrase, or several that
 * ", ", "; ", ": " or " and " joins; of several readings the one with the longest phrases counts. A
 * sentence without a meaning fails the case. */
typedef struct {
    const char *pattern; /* a regular expression for the whole phrase */
    /* @words: the text, then its groups, "" for one that is missing; at least 4, NULL at the end.
     */
    void (*run)(void *story, char **words, int argument);
    int argument;
} Phrase;

/* What a phrase does: PHRASE(begin_pod) { ... }, with @story, @words and @argument, which
 * PHRASE_OF(then_state, state) calls otherwise. */
#define PHRASE(name) PHRASE_OF(name, argument)
#define PHRASE_OF(name, argument)                                                                  \
    static void name(G_GNUC_UNUSED void *story, G_GNUC_UNUSED char **words,                        \
                     G_GNUC_UNUSED int argument)

/* Gives each sentence of a list its meaning, in order; of an object, also of one in
 * the list, the sentences "name: value". @phrases: up to a NULL pattern. @story: for their
 * functions. */
void story_tell(Case *self, const char *path, const Phrase *phrases, void *story);
/* For phrases that change nothing. */
void story_nothing(void *story, char **words, int argument);

/* The case fails if @found is not the number that @expected has in digits. */
void story_expect_count(Case *self, const char *what, unsigned found, const char *expected);

/* The categories that are told so. */
void story_kubelet_reconciler(Case *self);
void story_kubelet_reconstruct(Case *self);
void story_kubelet_populator(Case *self);
void story_kubelet_manager(Case *self);
void story_kubelet_failures(Case *self); /* one of the manager */
void story_attach_detach(Case *self);
void story_attach_starts(Case *self);
void story_operations(Case *self);
void story_pv_controller(Case *self);
void story_assume_cache(Case *self);
