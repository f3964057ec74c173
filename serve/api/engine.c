/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine.h"

#include <glib/gstdio.h>
#include <unistd.h>

static gboolean
go_on(void *data, SimTime now, uint64_t n_events)
{
    const ServeEngine *self = data;

    (void)now;
    (void)n_events;
    return self->clock == NULL || serve_clock_goes(self->clock);
}

static gboolean
begin_run(ServeEngine *self, SimTime at, GError **error)
{
    const RunOptions options = {.progress = go_on,
                                .progress_data = self,
                                .report_every = SERVE_REPORT_EVERY,
                                .seed = self->scenario->seed,
                                .measured = TRUE,
                                .open_end = TRUE,
                                .untraced = self->options.no_attribution};

    self->run = run_new(self->scenario, &options, error);
    if (self->run == NULL)
        return FALSE;
    if (!self->options.no_stories)
        self->narrator = narrator_new(self->run);
    self->calls = why_calls_new(self->run);
    if (at > 0)
        run_advance(self->run, at);
    return TRUE;
}

ServeEngine *
serve_engine_new(const ServeEngineOptions *options,
                 const char *file,
                 Scenario *scenario,
                 SimTime at,
                 GError **error)
{
    g_autoptr(ServeEngine) self = g_new0(ServeEngine, 1);

    *self = (ServeEngine){.options = *options, .file = g_strdup(file), .scenario = scenario};
    if (!begin_run(self, at, error))
        return NULL;
    self->clock = serve_clock_new(self->run, 0);
    self->session = serve_session_new(&(ServeSessionOptions){.run = self->run,
                                                             .clock = self->clock,
                                                             .scenario = self->file,
                                                             .options = *options->load},
                                      NULL);
    self->api = serve_api_new(&(ServeApiOptions){.run = self->run,
                                                 .clock = self->clock,
                                                 .session = self->session,
                                                 .narrator = self->narrator,
                                                 .calls = self->calls,
                                                 .address = options->address,
                                                 .is_past = options->is_past});
    return g_steal_pointer(&self);
}

/* Returns: (owned): a file with @text; %NULL with @error */
static char *
write_temporary(const char *text, GError **error)
{
    g_autofree char *path = NULL;
    int file = g_file_open_tmp("kvolsim-XXXXXX.yaml", &path, error);

    if (file < 0)
        return NULL;
    close(file);
    if (!g_file_set_contents(path, text, -1, error)) {
        g_unlink(path);
        return NULL;
    }
    return g_steal_pointer(&path);
}

ServeEngine *
serve_engine_new_from_text(const ServeEngineOptions *options, const char *text, GError **error)
{
    ScenarioOptions load = *options->load;
    ServeEngineOptions plain = *options;
    g_autofree char *path = write_temporary(text, error);
    g_autoptr(GPtrArray) faults = NULL;
    ServeEngine *self = NULL;

    if (path == NULL)
        return NULL;
    load.set = NULL; /* the text has the changed values */
    plain.load = &load;
    Scenario *scenario = scenario_load(path, &load, &faults);
    if (scenario != NULL)
        self = serve_engine_new(&plain, path, scenario, 0, error);
    else
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "%s",
                    ((const FileFault *)faults->pdata[0])->message);
    if (self == NULL) {
        g_unlink(path);
        return NULL;
    }
    self->options.load = options->load;
    self->is_temporary = TRUE;
    return self;
}

void
serve_engine_retire(ServeEngine *self)
{
    serve_session_cancel(self->session);
    serve_clock_stop(self->clock);
    serve_api_retire(self->api);
}

void
serve_engine_free(ServeEngine *self)
{
    if (self == NULL)
        return;
    if (self->session != NULL)
        serve_session_cancel(self->session);
    g_clear_pointer(&self->clock, serve_clock_free);
    serve_api_free(self->api);
    why_calls_free(self->calls);
    narrator_free(self->narrator);
    run_free(self->run);
    serve_session_free(self->session);
    scenario_free(self->scenario);
    if (self->is_temporary)
        g_unlink(self->file);
    g_free(self->file);
    g_free(self);
}
