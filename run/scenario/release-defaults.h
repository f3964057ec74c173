/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* Defaults of flags and gates in other releases of a program than the simulated ones. */

/* A row of docs/rules/releases.md or sidecar-releases.md: the default has changed. */
typedef struct {
    const char *id;      /* "SREL-1"; NULL ends the table */
    const char *process; /* "external-provisioner" */
    const char *name;    /* of the flag, or of the gate in the flag feature-gates */
    gboolean is_gate;
    int major, minor; /* in this release */
    int kubernetes;   /* ... and only with the API of Kubernetes 1.kubernetes; 0: any */
    const char *before, *then;
} ReleaseDefault;

extern const ReleaseDefault release_defaults[];

#define SIDECAR_VERSION "version" /* beside the flags of a sidecar */
#define FEATURE_GATES "feature-gates"

typedef struct {
    int major, minor;
} ProgramVersion;

/* "v3.6.1", "3.6" */
gboolean program_version_parse(const char *text, ProgramVersion *version);
/* Whether sidecar-releases.md has a row for this process, which then has versions. */
gboolean release_defaults_know(const ProcessClass *class);
/**
 * release_default:
 * @name: of a flag, or of a gate
 * @kubernetes: the cluster's minor version
 * Returns: (nullable) (static): its default in that release; %NULL: no row tells of it
 */
const char *release_default(const ProcessClass *class,
                            const char *name,
                            ProgramVersion version,
                            int kubernetes);
/* release_default_gates: @given: (nullable): what the user sets: "A=true,B=false"; it has priority
 * Returns: (nullable) (owned): the release's defaults followed by @given; %NULL: neither */
char *release_default_gates(const ProcessClass *class,
                            ProgramVersion version,
                            int kubernetes,
                            const char *given);
