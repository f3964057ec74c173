/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Returns: (owned): @text with control characters and bytes that are not UTF-8 as "\n", "\x1b": a
 * terminal obeys none of them, and they begin no line. @keep: control characters that stay, such as
 * "\n" */
char *printable(const char *text, const char *keep);
