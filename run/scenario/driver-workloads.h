/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "models/cluster/model.h"

/* Workloads that run drivers: which containers are sidecars, and whose they are (DP-1). */

/* Returns: NULL: no sidecar that a model knows */
const ProcessClass *workload_sidecar(const json_t *container);
/**
 * workload_likeness:
 * @template: the spec of its pods
 * @name: of the workload
 * Returns: how much the workload tells of the driver: the driver's full name, or the number of
 * letters of that name in the images and the workload's name; 0: nothing
 */
unsigned workload_likeness(const json_t *template, const char *name, const char *driver);
