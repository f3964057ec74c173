/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engine.h"

/* The runs of a server: the present, its past as somebody looks at it, and a variant of the
 * scenario that goes on beside it. A path below /past/ is answered by the past, one below /versus/
 * by the variant, one below /versus/past/ by its past.
 *
 * The past is a run of the session from its start, with all that was done until then: the same
 * bytes as when it was the present. */
typedef struct ServeEngines ServeEngines;

/**
 * serve_engines_new:
 * @present, @variant: (taken); @variant: NULL: none; it goes wherever the present's clock is
 * @record: (borrowed) (nullable): the file to which the present's session is written
 * Returns: (owned): %NULL with @error: the record cannot be written
 */
ServeEngines *
serve_engines_new(ServeEngine *present, ServeEngine *variant, const char *record, GError **error);
/* Answers all that wait for an answer. Before http_server_free(). */
void serve_engines_cancel(ServeEngines *self);
/* After all exchanges are over. */
void serve_engines_free(ServeEngines *self);
/* Returns: (borrowed): until somebody takes up the past */
ServeEngine *serve_engines_present(const ServeEngines *self);
/* Returns: (borrowed): the scenario from which the present began */
const char *serve_engines_origin(const ServeEngines *self);
/* Makes another scenario, as it is at @at, the present, and answers with its clock. */
void serve_engines_open(ServeEngines *self, Exchange *exchange, const char *file, SimTime at);
/* Answers a request, now or later. */
void serve_engines_handle(ServeEngines *self, Exchange *exchange);
