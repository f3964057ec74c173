/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "run/teach/narrator.h"

/* What the page draws of a served run: its objects in a few words each, its processes with their
 * queues, the calls in flight, and the story's latest entries. The page asks again and again, and
 * is told only what has changed. */
typedef struct ServeStage ServeStage;

/* @run: (borrowed), as the next. @narrator: NULL: nobody tells the run. Returns: (owned) */
ServeStage *serve_stage_new(Run *run, const Narrator *narrator);
/* Before run_free(). */
void serve_stage_free(ServeStage *self);

/* Returns: (owned): the objects that have changed after the change number @since (0: all there
 * are). @next: (out): the number of the latest change */
json_t *serve_stage_objects(const ServeStage *self, uint64_t since, uint64_t *next);
/* Returns: (owned): the processes but for the nodes' agents; and these as far as they are in
 * trouble */
json_t *serve_stage_processes(const ServeStage *self);
/* Returns: (owned): the drivers with their calls in flight, a limited number of each */
json_t *serve_stage_drivers(const ServeStage *self);
/**
 * serve_stage_story:
 * @since: the first entry to tell
 * @limit: the most entries: older ones are left out
 * @next: (out): the number of the next entry
 * Returns: (owned): the story's entries, as the level "operator" has them
 */
json_t *serve_stage_story(const ServeStage *self, unsigned since, unsigned limit, unsigned *next);
