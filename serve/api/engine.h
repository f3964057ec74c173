/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api.h"

/* A run with its clock, its session, its story and its API. A server has one that is the present,
 * and may have more: its past, and another variant of the scenario. */
typedef struct {
    const ScenarioOptions *load; /* (borrowed): with which scenarios are loaded */
    const char *address;         /* (borrowed): "127.0.0.1:8001": where the server is */
    ServeLanguage language;      /* NULL: all texts are English */
    const char *title;           /* (borrowed): of a variant; NULL: none */
    gboolean no_stories, no_attribution;
    gboolean is_past; /* it is looked at only */
} ServeEngineOptions;

typedef struct {
    ServeEngineOptions options;
    char *file;        /* (owned): of the scenario */
    GHashTable *texts; /* (owned): the file's text, which is nowhere else; NULL: it is a file */
    Scenario *scenario;
    gboolean keeps_scenario; /* somebody else owns it now */
    SimCold *cold;           /* of what the run remembers; NULL: ordinary memory */
    Run *run;
    ServeClock *clock;
    ServeSession *session;
    Narrator *narrator; /* NULL: no stories */
    WhyCalls *calls;
    ServeApi *api;
} ServeEngine;

/**
 * serve_engine_new:
 * @file: from which @scenario was loaded
 * @scenario: (taken)
 * @at: time passes up to here before anybody is served
 * Returns: (owned): it stands still; %NULL with @error: the scenario's parts do not fit together
 */
ServeEngine *serve_engine_new(const ServeEngineOptions *options,
                              const char *file,
                              Scenario *scenario,
                              SimTime at,
                              GError **error);
/* @text: of a scenario that serve_session_text() made, loaded without --set. The rest as above. */
ServeEngine *
serve_engine_new_from_text(const ServeEngineOptions *options, const char *text, GError **error);
/* The same for a file. */
ServeEngine *
serve_engine_new_from_file(const ServeEngineOptions *options, const char *file, GError **error);
/* Answers all waiting requests and ends the watches: clients list again. */
void serve_engine_retire(ServeEngine *self);
/* After all exchanges with it are over. */
void serve_engine_free(ServeEngine *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServeEngine, serve_engine_free)
