/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/conformance/engine.h"

/* Compares the outcome with the case; each difference is a case_fail(). */

/* Compares the objects of @kind in the API with a list, if the case has it. As the README says,
 * resource versions, times, texts of messages, and uids that are not in the list do not count. */
void case_expect_objects(Case *self, const char *path, ObjectKind kind);
/* Compares Events as {type, reason}; @in_order FALSE: as sets. */
void case_expect_events(Case *self, const char *path, gboolean in_order);
/* Compares verb, resource, sub-resource and name of each write, in order. */
void case_expect_writes(Case *self, const char *path);
/* Compares expected.error with the end of the last plan. */
void case_expect_error(Case *self, const char *path);
/* @what: for the message. */
void case_expect_json(Case *self, const char *what, const json_t *expected, const json_t *found);
/* For messages; NULL is "nothing". (owned: free()) */
char *case_json_text(const json_t *value);
