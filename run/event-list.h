/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run.h"

/**
 * event_list:
 * The Events that the API server has at the end, as `kubectl get events -A -o json` prints them: a List by namespace and name,
 * indented by four. Their resourceVersion and managedFields are not modelled; a scheduler's instance is named after its process.
 * Returns: (owned)
 */
char *event_list(const Run *run);
