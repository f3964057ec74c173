/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "exchange.h"

/* The page at /: files built into the program. The browser may fetch from this server only, and
 * runs no script that is not one of these files. */

/* Whether @path is one of the page's: they have nothing of the run in them. */
gboolean page_has(const char *path);
/* Returns: FALSE: the request is none for the page */
gboolean page_answer(Exchange *exchange);
