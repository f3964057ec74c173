/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli/common/cli.h"
#include "config.h"

/* For teach --serve: a scenario that is served as long as the learner likes. */

typedef struct {
    const char *file;
    char *const *set;           /* as --set; ends with NULL */
    const char *listen, *speed; /* as --listen and --speed; NULL: their defaults */
} ServeTask;

/**
 * serve_task:
 * Serves until Ctrl-C, lets the scenario's time pass to its end, and judges the run by its
 * expectations.
 * @report: gets a line for each; @is_solved: (out): whether all are met
 * Returns: %EXIT_DONE, or why it could not be served
 */
#ifdef WITH_SERVE
ExitCode serve_task(const ServeTask *task, GString *report, gboolean *is_solved);
#else
static inline ExitCode
serve_task(const ServeTask *task, GString *report, gboolean *is_solved)
{
    (void)task;
    (void)report;
    *is_solved = FALSE;
    cli_error("teach: this program was built without serve");
    return EXIT_NOT_PERMITTED;
}
#endif
