/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * json_syntax_fault: reads a text as Go's encoding/json scans it (scanner.go)
 * Returns: (owned): what is wrong, in Go's words: "unexpected end of JSON input"; %NULL: it is JSON
 */
char *json_syntax_fault(const char *text, gsize length);
