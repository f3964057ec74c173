/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "exchange.h"

/* The page at /: files built into the program. The browser fetches from this server only, and runs
 * no script but these files. */

/* Whether a request is for one of the page's files, which have nothing of the run in them. @accept:
 * of the request: a script that asks for / wants the list of paths that an API server has there. */
gboolean page_has(const char *path, const char *accept);
/* Returns: FALSE: the request is not for the page */
gboolean page_answer(Exchange *exchange);
