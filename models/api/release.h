/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/strings.h"

/* The release of Kubernetes in a cluster: data, not an `if`. */
typedef struct {
    int minor;              /* of Kubernetes 1.x: 32 */
    const StringMap *gates; /* (borrowed): gates that the user set: name -> "true", "false" */
} Release;

#define RELEASE_DEFAULT_MINOR 32

/**
 * release_has_gate:
 * @gate: a name in the table of release.c; any other is a bug
 * Returns: the user's setting of the feature gate, or its default in this release
 */
gboolean release_has_gate(const Release *self, const char *gate);
/* Whether some model depends on the feature gate. */
gboolean release_knows_gate(const char *gate);
