/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/results/snapshot.h"

/* What happens to each object of a run: its writes in order, each with its writer, and the calls
 * about each volume. Names and uids that a run draws are replaced by words of their own, so that
 * stories of two runs compare as texts. */
typedef struct Stories Stories;

/* Watches @run from now on. Returns: (owned): freed before the run */
Stories *stories_new(Run *run);
void stories_free(Stories *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stories, stories_free)

/* The instants of writes so far, but for those of heartbeats: of SimTime. */
const GArray *stories_instants(const Stories *self);
/* Forgets what was written so far, but not the names. */
void stories_begin(Stories *self);

/* Returns: (borrowed): the last call of a plain name before stories_begin(); NULL: none */
const char *stories_last_call(const Stories *self, const char *name);
/* @self replaces the names of @other, too: messages name pods that are long gone. */
void stories_share_names(Stories *self, const Stories *other);

/**
 * stories_table:
 * Returns: (owned): of char * by char *: the story of each object, sorted where several have one
 * name; "writes WRITER NAME", "calls METHODS NAME"
 */
GHashTable *stories_table(Stories *self);
/* The same of the present objects: "state NAME". */
GHashTable *stories_state(Stories *self);
/* Returns: (owned): @text with the names of this run replaced */
char *stories_plain(Stories *self, const char *text);
