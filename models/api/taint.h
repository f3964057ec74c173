/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "object.h"

/* Taints of nodes and tolerations of pods (API-64). Immutable, shared by reference; NULL: absent */

typedef enum {
    TAINT_NO_SCHEDULE,
    TAINT_PREFER_NO_SCHEDULE,
    TAINT_NO_EXECUTE,
} TaintEffect;

typedef struct {
    const char *key, *value; /* interned; value "" when empty */
    TaintEffect effect;
    SimTime added_at; /* TIME_UNSET: none */
} Taint;

REF_LIST(Taints, Taint);

Taints *taints_new(const Taint *items, unsigned n);
void taints_unref(Taints *self);
gboolean taints_equal(const Taints *a, const Taints *b);
/* Returns: (borrowed): the first with @key (NULL: any) and @effect (-1: any); %NULL: none */
const Taint *taints_find(const Taints *self, const char *key, int effect);

typedef struct {
    const char *key; /* interned; "" with EXISTS: every taint */
    const char *value;
    gboolean exists; /* operator Exists; else Equal */
    int effect;      /* a TaintEffect, -1: all */
    int64_t seconds; /* tolerationSeconds; -1: for ever */
} Toleration;

REF_LIST(Tolerations, Toleration);

Tolerations *tolerations_new(const Toleration *items, unsigned n);
Tolerations *tolerations_ref(const Tolerations *self);
void tolerations_unref(Tolerations *self);
gboolean tolerations_equal(const Tolerations *a, const Tolerations *b);
gboolean toleration_tolerates(const Toleration *self, const Taint *taint);
/* Returns: (borrowed): the first that tolerates @taint; %NULL: none */
const Toleration *tolerations_find(const Tolerations *self, const Taint *taint);

extern const FieldType field_taints;      /* Taints * */
extern const FieldType field_tolerations; /* Tolerations * */
