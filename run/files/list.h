/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The files in @folder that end in @suffix. Returns: (owned): their names (char *) without it,
 * sorted; %NULL with @error */
GPtrArray *list_files(const char *folder, const char *suffix, GError **error);
