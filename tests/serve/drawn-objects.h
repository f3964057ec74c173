/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "models/api/schema/schema.h"

/* Objects to write to a server that shall not crash: recorded ones, the wrong and the right ones of
 * tests/api/data, and some made of the types alone, all of them with some fields drawn from their
 * types. The same for the same numbers. */
typedef struct DrawnObjects DrawnObjects;

/* @random: (borrowed). Returns: (owned): NULL if KVOLSIM_SRCDIR has no files to draw from */
DrawnObjects *drawn_objects_new(GRand *random);
void drawn_objects_free(DrawnObjects *self);
/* Returns: (owned): an object with apiVersion, kind and metadata */
json_t *drawn_objects_next(DrawnObjects *self);
/* Returns: the type of an object; NULL: none is known */
const SchemaType *drawn_type(const json_t *object);
/* Sets some fields of @object, which is of @type (nullable), to drawn values. */
void drawn_objects_change(DrawnObjects *self, const SchemaType *type, json_t *object);
