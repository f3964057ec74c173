/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/**
 * why_driver:
 * @cause: of why-causes.c, about a driver that runs in pods
 * @driver: its name; @node: where a pod or claim waits for it; %NULL: on no node in particular
 * @chain: gets more links
 * Returns: the cause behind @cause: the driver's own pods, or their election; %NULL: none
 */
const char *why_driver(
    const Run *run, const char *cause, const char *driver, const char *node, GPtrArray *chain);
