/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* One case under way: what can be asked of it without the world of engine.h. */
typedef struct Case Case;

/* A difference: the case has failed. */
void case_fail(Case *self, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* ---- The fields of the case. Paths such as "expected.events". ---- */

/* Returns: (borrowed): NULL: absent or null */
const json_t *case_get(const Case *self, const char *path);
const char *case_string(const Case *self, const char *path);
/* Returns: (borrowed): the text at @path of @json, a part of the case; "" after a case_fail() if
 * there is none */
const char *case_text(Case *self, const json_t *json, const char *path);
gboolean case_flag(const Case *self, const char *path); /* FALSE if absent */
/* A feature gate of the case; "any" counts as @default_value. */
gboolean case_gate(const Case *self, const char *name, gboolean default_value);
