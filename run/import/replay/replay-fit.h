/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "replay.h"

/* Fits the latencies of drivers to a recording. An audit log shows no calls, so a call's latency is
 * taken from the stage that it is the largest part of: simulate, compare the stage's medians,
 * change the latency by the difference, again; then its spread. Objects fall into two halves by a
 * hash of their name: one half fits, the other one tests. */

typedef struct ReplayFit ReplayFit;

/**
 * replay_fit_new:
 * @recording: path of recorded.json
 * @options: of the replay to be fitted; its file and data_dir outlive the fit
 * Returns: (owned): NULL with an error as of replay_new() or recorded_read()
 */
ReplayFit *replay_fit_new(const char *recording, const ReplayOptions *options, GError **error);
void replay_fit_free(ReplayFit *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReplayFit, replay_fit_free)

/* Returns: (borrowed): the replay with the fitted latencies */
const Replay *replay_fit_replay(const ReplayFit *self);
/* The scenario file with these latencies, without its comments. Returns: (owned): NULL with @error:
 * it cannot be read any more */
char *replay_fit_scenario(const ReplayFit *self, GError **error);
/* For people; for programs. (owned) */
char *replay_fit_table(const ReplayFit *self);
json_t *replay_fit_json(const ReplayFit *self);
