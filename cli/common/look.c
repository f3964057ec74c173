/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "look.h"

GOptionEntry *
look_entries(LookOptions *options, const GOptionEntry *more)
{
    const GOptionEntry entries[] = {
        CLI_OPTION("at", STRING, &options->at,
                   "The virtual time to look at (default: the end of the run)", "TIME"),
        CLI_OPTION("seed", STRING, &options->seed, "Use this seed instead of the scenario's", "N"),
        CLI_OPTION("set", STRING_ARRAY, &options->set,
                   "Change a value of the scenario, e.g. spec.nodes[0].count=5", "PATH=VALUE"),
        G_OPTION_ENTRY_NULL,
    };

    return cli_join_entries(entries, more);
}

void
look_options_clear(LookOptions *options)
{
    g_free(options->at);
    g_free(options->seed);
    g_strfreev(options->set);
}

Look *
look_open(const LookOptions *options, const char *file)
{
    g_autoptr(Look) self = g_new0(Look, 1);
    g_autoptr(GError) error = NULL;
    uint64_t seed;

    self->scenario = cli_load_scenario(file, options->set);
    if (self->scenario == NULL || !cli_parse_seed(options->seed, self->scenario, &seed))
        return NULL;

    const RunOptions run_options = {.seed = seed, .replication = options->replication};
    self->run = run_new(self->scenario, &run_options, &error);
    if (self->run == NULL) {
        cli_error("%s: %s", file, error->message);
        return NULL;
    }
    return g_steal_pointer(&self);
}

void
look_close(Look *self)
{
    if (self == NULL)
        return;
    run_free(self->run);
    scenario_free(self->scenario);
    g_free(self);
}

gboolean
look_advance(Look *self, const char *option, const char *time)
{
    char now[SIM_TIME_BUFFER], end[SIM_TIME_BUFFER];
    SimTime at;

    if (time == NULL) {
        run_execute(self->run);
        return TRUE;
    }
    if (!cli_parse_time(option, time, &at))
        return FALSE;
    if (at < sim_now(run_sim(self->run))) {
        cli_error("%s: %s is before %s", option, time,
                  sim_time_format(sim_now(run_sim(self->run)), now));
        return FALSE;
    }
    if (!self->scenario->until_idle && at > self->scenario->until) {
        cli_error("%s: the run ends at %s (spec.until)", option,
                  sim_time_format(self->scenario->until, end));
        return FALSE;
    }
    run_advance(self->run, at);
    return TRUE;
}
