/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The way to a path below a folder, as far as it can be trusted: step by step from descriptor to
 * descriptor, through no symbolic link and never upwards. Renaming a folder meanwhile cannot lead
 * it elsewhere. */

typedef enum {
    LOOP_WAY_ANY = 0,
    /* All folders are on the file system of the first, our own, and nobody else may write there. */
    LOOP_WAY_OURS = 1 << 0,
} LoopWayRules;

/**
 * loop_way_open_parent:
 * @folder: where the way starts; it may itself be reached by links, but not be one
 * @path: relative; parts are names, neither empty nor "." nor ".."
 * Returns: the folder of the last part, open as O_PATH; -1 with errno. ENOENT: it is not there;
 * ENOTDIR, ELOOP, EXDEV, EINVAL: the way leads elsewhere
 */
int loop_way_open_parent(const char *folder, const char *path, LoopWayRules rules);

/* Opens a file of a stranger's folder for reading. Returns: a descriptor; -1 with errno: EINVAL,
 * ELOOP: a pipe, device, folder or link, which might never end or be somebody else's; ENXIO: a
 * socket */
int loop_way_open_file(const char *path);

/* Whether @path belongs to the paths that loop_way_open_parent() opens. */
gboolean loop_way_is_well_formed(const char *path);
/* Whether @code is one of the four that say that a way leads elsewhere. */
gboolean loop_way_leads_elsewhere(int code);
