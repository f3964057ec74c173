/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "run/teach/narrator.h"

/* A served run as the page draws it: its objects in a few words each, its processes with their
 * queues, the calls in flight, and the story's latest entries. The page asks again and again; an
 * answer has only the changes since the one before. */
typedef struct ServeStage ServeStage;

/* @run: (borrowed), as the next. @narrator: NULL: the run has no story. Returns: (owned) */
ServeStage *serve_stage_new(Run *run, const Narrator *narrator);
/* Before run_free(). */
void serve_stage_free(ServeStage *self);

/* Returns: a number that no other run has: numbers of changes are good for this run alone */
uint64_t serve_stage_id(const ServeStage *self);
/**
 * serve_stage_objects:
 * @since: the number of the latest change that the page knows; 0: none
 * @next: (out): the number of the latest change
 * @is_whole: (out): the answer has all objects, and the page forgets those that it knew
 * Returns: (owned): the objects that have changed after @since
 */
json_t *
serve_stage_objects(const ServeStage *self, uint64_t since, uint64_t *next, gboolean *is_whole);
/* @object: "pod/web-0", in the words of the rows. @namespace: NULL: of an object without one.
 * Returns: (borrowed): NULL: there was never such an object */
const ObjectKey *
serve_stage_find(const ServeStage *self, const char *object, const char *namespace);
/* Returns: (owned): all processes other than the nodes' agents, and the agents that are in trouble
 */
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
