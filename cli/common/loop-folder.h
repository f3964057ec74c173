/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "models/csi/loop/loop-backend.h"

/* The state folder of the loop driver, for calibrate, validate and loop. */

#define LOOP_FOLDER_DEFAULT "/var/lib/kvolsim"
/* A row of GOptionEntry: --state-dir into @to */
#define LOOP_FOLDER_OPTION(to)                                                                     \
    CLI_OPTION("state-dir", FILENAME, to,                                                          \
               "The folder of the loop driver (default: " LOOP_FOLDER_DEFAULT ")", "DIR")
#define LOOP_FOLDER_WAIT_US (10 * G_USEC_PER_SEC) /* for tools of a killed process to end */

/* Prints an error of the loop driver (LOOP_ERROR). Returns: the exit code for it */
ExitCode loop_folder_fail(const char *command, const GError *error);
/* Opens a folder without volumes, and removes other remains of a dead process there.
 * Returns: (owned): NULL with @error */
LoopBackend *loop_folder_open(const LoopOptions *options, GError **error);
/* Closes it, and removes what an interrupted run left there. Returns: FALSE: something is still
 * there, and that was printed */
gboolean loop_folder_close(LoopBackend *backend);
