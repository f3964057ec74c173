/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/strings.h"

/* The release of Kubernetes in a cluster: data, not an `if`. */
typedef struct Release {
    int minor;              /* of Kubernetes 1.x: 32 */
    const StringMap *gates; /* (borrowed): gates that the user set: name -> "true", "false" */
} Release;

#define RELEASE_DEFAULT_MINOR 32

/* A feature gate of Kubernetes, in all its releases. */
enum { FEATURE_GATE_STAGES = 6 };

typedef struct {
    const char *name;
    struct {
        uint8_t since; /* from release 1.since on; 0: no more stages */
        uint8_t state; /* for feature_gate_state_text() */
    } stages[FEATURE_GATE_STAGES];
    const char *effect; /* here; "always: ...": modelled whatever its setting; NULL: nothing */
} FeatureGate;

/* Returns: (borrowed): NULL: no release has the gate */
const FeatureGate *feature_gate_find(const char *name);
/* All gates, sorted by name. Returns: (borrowed): NULL: @i is behind the last */
const FeatureGate *feature_gate_at(unsigned i);

/**
 * release_has_gate:
 * @name: a name in the table of release.c; any other is a bug
 * Returns: the user's setting of the feature gate, or its default in this release
 */
gboolean release_has_gate(const Release *self, const char *name);
/* Whether some model depends on the feature gate. */
gboolean release_knows_gate(const char *name);
/**
 * release_refuse_gate:
 * @hint: (out) (owned) (nullable): what would be right
 * Returns: (owned): the words in which components of Kubernetes 1.@minor refuse the setting;
 *   NULL: they take it
 */
char *release_refuse_gate(int minor, const char *name, gboolean value, char **hint);
/* Whether the setting is not the default, and no model depends on it. */
gboolean release_ignores_gate(int minor, const char *name, gboolean value);
