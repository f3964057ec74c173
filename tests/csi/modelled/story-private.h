/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "story.h"

typedef struct {
    DriverStory *story;
    char *step;
    CsiCode expected;
    SimTime started_at;
    gboolean done;
} StoryCall;

struct DriverStory {
    Sim *sim;
    Strings *strings;
    CsiModelledDriver *driver;
    GPtrArray *dists;
    GArray *errors, *limits, *pools;
    GPtrArray *lists; /* of StringList */
    GPtrArray *maps;
    GPtrArray *calls;  /* of StoryCall, in the order made */
    CsiResponse *last; /* a copy of the last answer */
    SimTime last_took;
    const char *title, *step;
};

#define STORY_FAIL(story, ...)                                                                     \
    do {                                                                                           \
        g_autofree char *why = g_strdup_printf(__VA_ARGS__);                                       \
        fail_msg("%s: \"%s\": %s", (story)->title, (story)->step, why);                            \
    } while (0)

/* ---- story-options.c: words of options and calls ---- */

int64_t story_parse_size(const char *text);
SimTime story_parse_time(const char *text);
int story_parse_int(const char *text);
CsiCode story_parse_code(const char *text);
CsiMethod story_parse_method(const char *text);
CsiAccessMode story_parse_mode(const char *text);
const char *story_intern(DriverStory *self, const char *text);
const StringMap *story_pair_map(DriverStory *self, const char *key, const char *value);
const StringMap *story_parse_pair(DriverStory *self, const char *text);
const StringMap *story_zone_map(DriverStory *self, const char *zone);
void story_apply_option(DriverStory *self, CsiModelledOptions *options, const char *word);
