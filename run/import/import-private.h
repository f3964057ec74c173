/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "anonymize.h"
#include "dump.h"
#include "import.h"
#include "prune.h"
#include "recorded.h"
#include "report.h"
#include "writes.h"

/* The import, by file: dump.c reads the dumps; prune.c drops what is not needed; drivers.c finds
 * the drivers, flags/ flags in args, scrapes/ latencies and errors; start/ tells what the dump
 * lacks; audit.c, clients.c, writes.c, recording.c and workload.c read the audit log; yaml-print.c
 * writes scenario.yaml; anonymize.c replaces names; import.c goes through the steps. */
typedef struct {
    const ImportOptions *options;
    ImportReport *report;   /* (owned) */
    Pruner *pruner;         /* (owned) */
    GPtrArray *dumps;       /* (owned): of Dump, the oldest first */
    const Dump *first;      /* the start state (borrowed) */
    SimTime start;          /* t = 0, as api_time_parse() gives it */
    SimTime until;          /* length of the run */
    json_t *spec;           /* (owned): of the scenario; see yaml-print.h for comments */
    json_t *drivers;        /* of spec (borrowed) */
    json_t *objects;        /* (owned): an array: the start state, pruned */
    Anonymizer *anonymizer; /* (owned): NULL: names stay */
    Recorded *recorded;     /* (owned): NULL: no audit log */
    Writes *writes;         /* (owned): of the audit log; NULL: none */
    char *timing;           /* (owned): of timing.yaml; NULL: the usual one */
    json_t *workload;       /* (owned): of workload.json; NULL: no audit log */
} Import;
