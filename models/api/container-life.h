/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/distribution.h"
#include "sim/strings.h"

/* How long a pod's containers run and how they end. No manifest tells that, so annotations do,
 * which only this program reads. Without them containers run until they are stopped. */

#define ANNOTATION_RUNS_FOR                                                                        \
    "kvolsim.io/runs-for" /* "30s", "uniform 10s 1m", "lognormal p50=30s p99=5m" */
#define ANNOTATION_EXIT_CODE                                                                       \
    "kvolsim.io/exit-code" /* "1"; "1 1 0": of the first run, the second, and all later ones */
#define ANNOTATION_FAILS                                                                           \
    "kvolsim.io/fails" /* "0.1": the share of runs that end with that code; the others with 0 */

#define EXIT_CODES_MAX 16

typedef struct {
    SimDist *runs_for; /* owned; NULL: for ever */
    double fails;      /* 0..1 */
    unsigned n_codes;
    uint8_t codes[EXIT_CODES_MAX];
} ContainerLife;

/**
 * container_life_parse:
 * @annotations: (nullable): of a pod, or of a template
 * @life: (out): to be cleared; empty on error
 * @annotation: (out) (optional): static: the faulty one
 * Returns: %FALSE with %SIM_ERROR_INVALID, in the user's words
 */
gboolean container_life_parse(const StringMap *annotations,
                              ContainerLife *life,
                              const char **annotation,
                              GError **error);
void container_life_clear(ContainerLife *self);
/* Whether there is anything to parse. */
gboolean container_life_is_told(const StringMap *annotations);
/* How long its @n-th run (from 0) takes, and how it ends: draws from @stream. Only for containers
 * that end. */
SimTime
container_life_run(const ContainerLife *self, SimStream stream, uint64_t entity, uint32_t n);
int
container_life_exit_code(const ContainerLife *self, SimStream stream, uint64_t entity, uint32_t n);
