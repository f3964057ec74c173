/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/strings.h"

/* Which Kubernetes a cluster runs: the release is data, not an `if`. */
typedef struct {
    int minor;              /* of Kubernetes 1.x: 32 */
    const StringMap *gates; /* (borrowed): those that a user set: name -> "true", "false" */
} Release;

#define RELEASE_DEFAULT_MINOR 32

/**
 * release_has_gate:
 * @gate: a name in the table of release.c: nothing here may ask for another
 * Returns: what the user says of the feature gate, else its default in this release
 */
gboolean release_has_gate(const Release *self, const char *gate);
