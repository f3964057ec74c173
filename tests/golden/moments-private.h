/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "moments.h"

/* For recorded.c and simulated.c, which tell the same of their runs. */

/* Moments that a driver's call makes; both without the volume: "stage-started", "staged". */
typedef struct {
    const char *method, *started, *ended;
} CallSeen;

/* NULL: such calls are not compared */
const CallSeen *moments_call(const char *method);
/* Under which name the steps of an object of @resource are kept: an attachment's are its volume's.
 * NULL: not kept. */
const char *moments_scope(const char *resource);
/* Whether a node has an image depends on what ran there before the recording; and the recordings'
 * runtime has none to collect. */
gboolean moments_is_about_images(const char *reason);

/* Takes @name. Only the first time counts. */
void moments_add(Moments *self, char *name, double at);
void moments_add_pair(Moments *self, const char *pod, const char *claim);
/* From now on @volume, the name of anything drawn, is called as @claim; NULL: as before. The first
 * holds. */
void moments_label(Moments *self, const char *volume, const char *claim);
/* Five drawn letters end the names of a ReplicaSet's pods, behind the hash of their template, which
 * is no simulated one: they are called by the rest and the order in which they appeared, "web#1",
 * the set "web#". @hash: the label; NULL: no such pod */
void moments_label_pod(Moments *self, const char *pod, const char *hash);
const char *moments_label_of(const Moments *self, const char *volume);
/* Takes @name. */
void moments_count_one(Moments *self, char *name);
/* Takes @name. Of a client's requests, also for its curve. */
void moments_add_request(Moments *self, char *name, double at);
void
moments_add_step(Moments *self, const char *scope, const char *label, const char *what, double at);
/* A new Event. The sidecars' names end in those of the machine and of the process. */
void moments_add_event(Moments *self, const char *source, double at);
/* What was said of an object. @event: its name, of which the last words hold; NULL: never said
 * before */
void moments_add_said(
    Moments *self, const char *event, const char *kind, const char *name, const char *words);
/* At the end, when all labels are known: counts what was said, to the letter, names aside; each
 * text once. */
void moments_count_said(Moments *self, const Words *words);
