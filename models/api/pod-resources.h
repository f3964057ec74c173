/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

/* What the containers of a pod ask for, of any resource. Models read only processors and memory, so
 * the rest is read from the manifest when somebody counts it: quotas and limit ranges. */

/* A quantity in a manifest. */
typedef struct {
    int64_t value, milli; /* whole units, thousandths; rounded up */
    gboolean decimal;     /* else printed with binary suffixes: 10Gi */
} PodAmount;

/* @text: of a container's or a LimitRange's resources. Returns: FALSE: it is none */
gboolean pod_amount_read(const json_t *text, PodAmount *amount);

/* A container's limit, or its request: a missing one is its limit (SetDefaults_Pod()). Returns:
 * FALSE: it has none */
gboolean
container_amount(const json_t *container, gboolean limit, const char *resource, PodAmount *amount);
/* PodRequests() and PodLimits() of Kubernetes' component-helpers/resource. Returns: FALSE: no
 * container has any */
gboolean
pod_spec_amount(const PodSpec *self, gboolean limit, const char *resource, PodAmount *amount);
/* GetPodQOS(). @spec: a pod's, in JSON. Returns: "BestEffort", "Burstable" or "Guaranteed" */
const char *pod_json_quality(const json_t *spec);

/* Returns: (owned): a copy with this manifest, which differs in the containers' resources alone;
 * takes it */
PodSpec *pod_spec_with_resources(const PodSpec *self, json_t *manifest);
