/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* A condition of an object, in words: "pod/app Ready", "pvc/data Bound", "va/csi-* attached", "pv/a
 * gone", "pvc/data spec.volumeName=a". The name may be a glob pattern: one object is enough then,
 * but "gone" needs all. */
typedef struct Condition Condition;

#define CONDITION_ERROR (condition_error_quark())
GQuark condition_error_quark(void);

/**
 * condition_parse:
 * @object: "pod/app", by any of kubectl's names of the kind
 * @words: "Ready": a phase, or a condition that is True; "exists", "gone", "deleting", "attached",
 * or "path=value"
 * Returns: (owned): %NULL with a %CONDITION_ERROR
 */
Condition *condition_parse(const char *object, const char *words, GError **error);
void condition_free(Condition *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Condition, condition_free)

/* "pod/app Ready" */
const char *condition_text(const Condition *self);
gboolean condition_concerns(const Condition *self, const ObjectKey *key);
gboolean condition_is_met(const Condition *self, const Run *run);

/* Splits "pvc/data*". @pattern: (out) (borrowed): into @text. Returns: FALSE with @error if there
 * is no such kind */
gboolean
object_words_parse(const char *text, ObjectKind *kind, const char **pattern, GError **error);
