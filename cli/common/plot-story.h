/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "config.h"
#include "look.h"

/* Pictures of the story of one object. They need the run itself, not only its results: it is run
 * again. */
typedef struct {
    LookOptions look; /* without --at */
    char *object, *namespace, *from, *to, *scenario, *out;
} PlotStory;

#ifdef WITH_TEACH

/* Returns: whether @picture ("sequence") is one of these */
gboolean plot_story_has(const char *picture);
/* For --help: a line for each. (owned) */
char *plot_story_names(const char *separator);

/**
 * plot_story_draw:
 * @run: the folder of a run's results, or a scenario file
 * @format: "png", "svg", or "mermaid": text for documents, on the standard output
 */
ExitCode
plot_story_draw(const PlotStory *self, const char *run, const char *picture, const char *format);

#else

#define plot_story_has(picture) FALSE
#define plot_story_names(separator) g_strdup("")
#define plot_story_draw(self, run, picture, format) EXIT_NOT_PERMITTED

#endif
