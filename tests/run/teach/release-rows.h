/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* What a release changes, seen in a run of a small scenario: a row for each row of
 * docs/rules/releases.md and sidecar-releases.md, and for each feature gate with an effect. */
typedef struct {
    const char *ids; /* "REL-13 RetroactiveDefaultStorageClass": the rows that it shows */
    int since;       /* run at 1.since-1 and at 1.since; with @newer: at 1.since, twice */
    const char *older, *newer; /* settings, divided by "; ", of either run; NULL: none */
    const char *scenario;      /* a file of scenarios/, or the fields of spec */
    const char *objects;       /* ... and the objects that are there at the start */
    const char *look;          /* see look() in test-releases.c */
    const char *before, *after; /* what is seen */
} ReleaseRow;

extern const ReleaseRow release_rows[]; /* ends with NULL ids */
