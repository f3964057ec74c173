/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "narrator.h"

/* Why a pod does not run, a claim is not bound, or a snapshot is not ready: the chain of waits,
 * read from the API's objects and Events alone, as an experienced operator would; and the way out.
 */
typedef struct {
    GPtrArray
        *chain; /* char *: "pod/web-0 is Pending: ...", from the requested object to the cause */
    const char *cause;   /* static: "driver-error"; "none": no problem */
    const char *unblock; /* static: a sentence; "" */
    char *blocked; /* "persistentvolumeclaim/data": the last object of the chain; NULL: none */
} Why;

/**
 * why_ask:
 * @object: "pod/web-0", "pvc/data", "volumesnapshot/cut", "volumesnapshotcontent/..."
 * Returns: (owned): %NULL if neither the object nor its StatefulSet exists
 */
Why *why_ask(const Run *run, const char *object);
/* Appends the chain, the cause and the way out, a line each. */
void why_tell(const Why *self, GString *out);
void why_free(Why *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Why, why_free)
