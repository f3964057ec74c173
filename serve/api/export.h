/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engine.h"

/**
 * serve_export:
 * @engine: a run at its start, which goes to its end
 * @folder: exists; files in it are replaced
 * Writes the page of a recorded run: files for any web server, or to be opened from disk. They hold
 * the state of each object after each change, the story, and texts about objects.
 * Returns: %FALSE with @error: a file cannot be written
 */
gboolean serve_export(ServeEngine *engine, const char *folder, GError **error);
