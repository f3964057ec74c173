/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "moments.h"

/* For recorded.c and simulated.c, which describe their runs in the same words. */

/* The moments of a driver's call, without the volume: "stage-started", "staged". */
typedef struct {
    const char *method, *started, *ended;
    const char *scope; /* "content": about a snapshot; NULL: about a volume */
} CallSeen;

/* NULL: such calls are not compared */
const CallSeen *moments_call(const char *method);
/* Returns: the code, as far as it is the driver's: when its caller gives up, it may see that first
 * as the end of the call or as the end of its time */
const char *moments_code(const char *code);
/* Returns: the name for the steps of an object of @resource: an attachment uses its volume's; NULL:
 * not kept */
const char *moments_scope(const char *resource);
/* Images on a node depend on the time before the recording; and the recordings' runtime collects
 * none. */
gboolean moments_is_about_images(const char *reason);

/* Takes @name. Keeps only the first time. */
void moments_add(Moments *self, char *name, double at);
void moments_add_pair(Moments *self, const char *pod, const char *claim);
void moments_add_snapshot(Moments *self, const char *name);
/* From now on @volume, any drawn name, stands for @claim; NULL: as before. The first call counts */
void moments_label(Moments *self, const char *volume, const char *claim);
/* Names of a ReplicaSet's pods end in the hash of their template, which is not simulated, and five
 * drawn letters. Names them by the rest and the order of appearance, "web#1", and the set "web#".
 * @hash: the label; NULL: no such pod */
void moments_label_pod(Moments *self, const char *pod, const char *hash);
const char *moments_label_of(const Moments *self, const char *volume);
/* Takes @name. */
void moments_count_one(Moments *self, char *name);
/* Takes @name. Adds requests of a client to its curve, too. */
void moments_add_request(Moments *self, char *name, double at);
void
moments_add_step(Moments *self, const char *scope, const char *label, const char *what, double at);
/* A new Event. Names of sidecars end in the names of machine and process. */
void moments_add_event(Moments *self, const char *source, double at);
/* The message of an Event about an object. @event: its name; its last message counts; NULL: a new
 * Event */
void moments_add_said(
    Moments *self, const char *event, const char *kind, const char *name, const char *words);
/* Call at the end, when all labels are known: counts each message once, without names. */
void moments_count_said(Moments *self, const GoldenWords *words);
