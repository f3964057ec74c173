/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Returns: (owned): @text with its control characters, and bytes that are no UTF-8, as "\n",
 * "\x1b": no terminal obeys them, and they begin no line. @keep: those that stay, such as "\n" */
char *printable(const char *text, const char *keep);
