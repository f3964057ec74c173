/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* docs/fields.md: what kvolsim does with the fields of Kubernetes' objects. */

typedef enum {
    FIELD_MODELLED,
    FIELD_NOT_MODELLED, /* its text is the effect */
    FIELD_NO_EFFECT,
    FIELD_LEFT_OUT, /* the README tells of it */
    FIELD_AS,       /* its text names the kind whose rows apply to its contents */
} FieldEffectClass;

typedef struct {
    const char *kind;
    const char *path; /* "spec.containers[].image"; "spec.hard[requests.cpu]": of a map */
    FieldEffectClass class;
    const char *text;  /* NULL: none */
    const char *value; /* NULL: the row holds for all values; else for all but this one */
} FieldEffect;

extern const FieldEffect field_effects[];
extern const unsigned n_field_effects;

/* The same for a flag that the models of @process do not have. */
const FieldEffect *flag_effect_find(const char *process, const char *flag);
