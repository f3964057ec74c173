/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/conformance/engine.h"

/* Fails the case if the object at @path has another key than these. @names: ends with NULL */
void case_expect_known(Case *self, const char *path, const char *const *names);
#define case_known(self, path, ...)                                                                \
    case_expect_known((self), (path), (const char *const[]){__VA_ARGS__, NULL})
/* Compares a boolean of the case with what was found; the case must have it. */
void case_expect_flag(Case *self, const char *path, gboolean found);
