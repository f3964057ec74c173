/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "tests/sidecar/retries.h"
#include "tests/lib/test.h"

#define GRID "0 1000 3000 7000 15000 31000 63000 127000 255000 511000 811000 1111000"

static const RetryCase for_ever = {
    .title = "for ever, at most every 5 min", .code = CSI_INTERNAL, .times = GRID};
static const RetryCase slow_refusal = {.title = "counted from the end of a slow refusal",
                                       .code = CSI_INTERNAL,
                                       .count = 4,
                                       .latency_ms = 2500,
                                       .times = "0 3500 8000 14500 25000",
                                       .succeeds = TRUE};
static const RetryCase other_grid = {.title = "the flags of the grid",
                                     .code = CSI_INTERNAL,
                                     .count = 6,
                                     .flag = "retry-interval-start",
                                     .value = "5s",
                                     .flag2 = "retry-interval-max",
                                     .value2 = "30s",
                                     .times = "0 5000 15000 35000 65000 95000 125000",
                                     .succeeds = TRUE};

static void
obey(World *world, CsiModelledOptions *options)
{
    const RetryCase *row = world->options.driver_arg;

    options->latency[CSI_CREATE_VOLUME] = NULL;
    options->latency[CSI_CONTROLLER_PUBLISH_VOLUME] = NULL;
    options->latency[CSI_CONTROLLER_UNPUBLISH_VOLUME] = NULL;
    options->latency[row->method] =
        row->latency_ms == 0 ? NULL : world_constant(world, row->latency_ms * SIM_MS);
    options->latency[CSI_LATENCY_REPEAT] = world_constant(world, 0);
    options->aborts_with_caller = row->back_end == FORGETS;
    options->lock = row->back_end == UNLOCKED ? CSI_LOCK_NONE : CSI_LOCK_VOLUME;
    if (row->code == CSI_OK)
        return;
    world->errors[0] = (CsiModelledError){
        .method = row->method, .code = row->code, .probability = 1, .count = row->count};
    options->errors = world->errors;
    options->n_errors = 1;
}

World *
retry_world(const RetryCase *row)
{
    return world_new(&(SidecarWorldOptions){.seed = 1,
                                            .driver = obey,
                                            .driver_arg = row,
                                            .flag = row->flag,
                                            .value = row->value,
                                            .flag2 = row->flag2,
                                            .value2 = row->value2});
}

void
assert_attempts(World *world, const RetryCase *row)
{
    const char *method = csi_method_name(row->method);
    g_autofree char *times = world_times(world, method);

    if (g_strcmp0(times, row->times) != 0)
        fail_msg("%s: %s at %s, not %s", row->title, method, times, row->times);
}

static void
try_as(CsiMethod method, const RetryCase *row, void (*try_row)(const RetryCase *row))
{
    RetryCase of_method = *row;

    of_method.method = method;
    try_row(&of_method);
}

void
retry_all(CsiMethod method,
          const RetryCase *cases,
          unsigned n_cases,
          void (*try_row)(const RetryCase *row))
{
    try_as(method, &for_ever, try_row);
    try_as(method, &slow_refusal, try_row);
    try_as(method, &other_grid, try_row);
    for (int code = CSI_OK + 1; code < CSI_N_CODES; code++)
        try_as(method,
               &(RetryCase){
                   .title = csi_code_name((CsiCode)code), .code = (CsiCode)code, .times = GRID},
               try_row);
    for (unsigned i = 0; i < n_cases; i++)
        try_as(method, &cases[i], try_row);
}
