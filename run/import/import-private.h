/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dump.h"
#include "import.h"
#include "report.h"

/* The import, by file: dump.c reads the dumps; prune.c drops what is not needed; drivers.c finds
 * the drivers, flags.c flags in args, scrapes.c latencies; audit*.c, clients.c, requests.c,
 * workload.c and recording.c read the audit log; scenario-text.c writes scenario.yaml; anonymize.c
 * replaces names; import.c goes through the steps. */
typedef struct {
    const ImportOptions *options;
    ImportReport *report; /* (owned) */
    GPtrArray *dumps;     /* (owned): of Dump, the oldest first */
    const Dump *first;    /* the start state (borrowed) */
    SimTime start;        /* t = 0, as api_time_parse() gives it */
    SimTime until;        /* length of the run */
    json_t *spec;         /* (owned): of the scenario, as it is written */
} Import;
