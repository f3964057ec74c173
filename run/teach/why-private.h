/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "run/kubectl/value.h"
#include "why.h"

/* One question to why.c. Each file why-*.c follows the waits of one kind of object; why-causes.c
 * lists the causes at which they end. */
typedef struct {
    const Run *run;
    json_t *objects; /* all objects and Events */
    Why *why;
    /* The driver that was asked about last, and the node it is needed on; NULL: none */
    const char *driver, *node;
} Question;

/* Ends the chain with the cause. Returns: TRUE */
gboolean why_because(Question *self, const char *id);
/* Adds a link to the chain. @cause: NULL: the chain goes on. Returns: TRUE */
gboolean why_link(Question *self, const char *cause, json_t *object, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* Returns: the cause behind the error of a driver or of its caller; @other: none that is known */
const char *why_cause_of_error(const char *message, const char *other);

/* @namespace: NULL: any */
json_t *why_find(const Question *self, const char *kind, const char *namespace, const char *name);
/* Returns: the text of the object's newest Event with this reason; "" if there is none */
const char *why_last_event(const Question *self, json_t *object, const char *reason);
/* Returns: (owned): the claim of a pod's volume; NULL if the volume has none */
char *why_claim_name(json_t *pod, json_t *volume);

/* Each returns whether the object blocks; then the chain has its links and a cause. */

/* @has_pod: the question is about its pod */
gboolean why_ask_claim(Question *self, json_t *claim, gboolean has_pod);
/* What a Bound claim asks for, and has not */
gboolean why_ask_change(Question *self, json_t *claim);
gboolean why_ask_snapshot(Question *self, json_t *snapshot);
gboolean why_ask_content(Question *self, json_t *content);
gboolean why_ask_group(Question *self, json_t *group);
gboolean why_ask_pod(Question *self, json_t *pod);
/* Volumes in use of a claim or a pod that waits for nothing: full or abnormal */
gboolean why_ask_health(Question *self, json_t *object);
/* The volumes of a pod on its node */
gboolean why_ask_mount(Question *self, json_t *pod, const char *node);
/* "web-3" does not exist: its StatefulSet waits for web-2, or a quota refuses the claim. */
gboolean why_ask_missing_pod(Question *self, const char *name);
