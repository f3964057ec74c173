/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/conformance/engine.h"

/* The external-resizer's acts about changes of attributes, resizer-modify.c. */
void run_modify(Case *self);
void run_mark_modify_status(Case *self);
void run_mark_modify_error(Case *self);
void run_mark_modify_over(Case *self);

/* ---- For all acts of the resizer, suite-external-resizer.c ---- */

/* Whether @path of the case is @found; nothing if the case does not have it. */
void resizer_expect_flag(Case *self, const char *path, gboolean found);
void resizer_expect_objects(Case *self, const char *path, ObjectKind kind);
/* observed.writes, without the patches. */
void resizer_expect_writes(Case *self);
/* An ApiFault: refuses all writes of volumes, and records the others. */
ApiCode resizer_refuse_volumes(void *self, const ApiRequest *request, GString *message);
