/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* The input of one recorded run: the requests of the clients outside of the cluster, the choices of
 * its steps, and the objects of its start. */
typedef struct GoldenReplay GoldenReplay;

/* @run: a folder with api.jsonl, watch.jsonl and perhaps steps.jsonl. Returns: (owned): NULL with
 * an error if one can't be read */
GoldenReplay *replay_read(const char *run, GError **error);
void replay_free(GoldenReplay *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GoldenReplay, replay_free)

/* A request in words of api.jsonl. */
typedef struct {
    const char *client;          /* "lab" or "kubectl" */
    const char *verb, *resource; /* NULL: any */
    const char *name;            /* NULL: any */
    gboolean is_prefix;          /* @name is only the beginning */
    double from, until;          /* seconds */
} ReplayAsked;

/* Returns: (borrowed): the first such request, each only once; NULL: there is none. @self may be
 * NULL */
const json_t *replay_take(GoldenReplay *self, const ReplayAsked *asked);
/* Returns: (borrowed): the line of steps.jsonl of the step @what, each only once; NULL: there is
 * none. @self may be NULL */
const json_t *replay_take_step(GoldenReplay *self, const char *what);
/* Returns: (borrowed): the objects of the start: a list of lines of watch.jsonl */
const json_t *replay_initial(const GoldenReplay *self);
/* Returns: (borrowed): an object of the start; NULL: there is none. @self may be NULL */
const json_t *replay_find_initial(const GoldenReplay *self, const char *kind, const char *name);
