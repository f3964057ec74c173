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

/* Objects whose names differ in a number are alike from now on: it does not count which of them
 * something happens to, only to how many. */
void stories_make_alike(Stories *self);

/* Whether a driver is asked for a volume whose claim is gone: no object tells of it. */
gboolean stories_has_orphans(const Stories *self);
/* @self replaces the names of @other, too: messages name pods that are long gone. */
void stories_share_names(Stories *self, const Stories *other);

/**
 * stories_table:
 * @original: of the run that @self goes on from, or @self. Calls that it made before its
 * stories_begin() may be made again: their answers were not in any object yet.
 * Returns: (owned): of char * by char *: the story of each object, sorted where several have one
 * name; "Pod default/a | kubelet", "volume a | calls"
 */
GHashTable *stories_table(Stories *self, Stories *original);
/* Whether a story is about a volume that pods took to other nodes in @other. */
gboolean stories_places_differ(const Stories *self, const Stories *other, const char *name);
/* The same as stories_table() of the present objects. */
GHashTable *stories_state(Stories *self);
/* Returns: (owned): @text with the names of this run replaced */
char *stories_plain(Stories *self, const char *text);
