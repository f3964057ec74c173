/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "config.h"
#include "results.h"

const char *
results_version(void)
{
    return PACKAGE_VERSION;
}

void
results_append_header(GString *text, const Run *run, const char *before, const char *after)
{
    const Scenario *scenario = run_scenario(run);

    g_string_append_printf(text,
                           "%skvolsim %s scenario %s hash %s seed %" PRIu64 " replication %u%s\n",
                           before, results_version(), scenario->name, scenario->hash,
                           run_options(run)->seed, run_options(run)->replication, after);
}
