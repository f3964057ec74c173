/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine.h"

#include <string.h>

/* Where a run's memory lies, in a file without a name: /tmp may be memory itself. */
static const char *
cold_folder(void)
{
    const char *folder = g_getenv("TMPDIR");

    return folder != NULL && *folder != '\0' ? folder : "/var/tmp";
}

static gboolean
engine_go_on(void *data, SimTime now, uint64_t n_events)
{
    const ServeEngine *self = data;

    (void)now;
    (void)n_events;
    return self->clock == NULL || serve_clock_goes(self->clock);
}

static gboolean
begin_run(ServeEngine *self, SimTime at, GError **error)
{
    const RunOptions options = {.progress = engine_go_on,
                                .progress_data = self,
                                .report_every = SERVE_REPORT_EVERY,
                                .seed = self->scenario->seed,
                                .measured = TRUE,
                                .open_end = TRUE,
                                .untraced = self->options.no_attribution,
                                .cold = self->cold};

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
    self->cold = sim_cold_new(cold_folder());
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
                                                 .language = options->language,
                                                 .is_past = options->is_past});
    return g_steal_pointer(&self);
}

/* Loads a file without the options' --set. @texts: (borrowed) (nullable): has its text */
static ServeEngine *
engine_load(const ServeEngineOptions *options, const char *file, GHashTable *texts, GError **error)
{
    ScenarioOptions load = *options->load;
    ServeEngineOptions plain = *options;
    g_autoptr(GPtrArray) faults = NULL;

    load.set = NULL;
    load.texts = texts;
    load.is_own = texts != NULL;
    plain.load = &load;
    Scenario *scenario = scenario_load(file, &load, &faults);
    if (scenario == NULL) {
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "%s",
                    ((const FileFault *)faults->pdata[0])->message);
        return NULL;
    }
    ServeEngine *self = serve_engine_new(&plain, file, scenario, 0, error);
    if (self == NULL)
        return NULL;
    self->options.load = options->load;
    self->texts = texts != NULL ? g_hash_table_ref(texts) : NULL;
    return self;
}

ServeEngine *
serve_engine_new_from_text(const ServeEngineOptions *options, const char *text, GError **error)
{
    static const char name[] = "session.yaml";
    g_autoptr(GHashTable) texts =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_bytes_unref);

    g_hash_table_insert(texts, (char *)name, g_bytes_new(text, strlen(text)));
    return engine_load(options, name, texts, error);
}

ServeEngine *
serve_engine_new_from_file(const ServeEngineOptions *options, const char *file, GError **error)
{
    return engine_load(options, file, NULL, error);
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
    sim_cold_free(self->cold);
    if (!self->keeps_scenario)
        scenario_free(self->scenario);
    g_clear_pointer(&self->texts, g_hash_table_unref);
    g_free(self->file);
    g_free(self);
}
