/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/uses.h"
#include "scenario.h"

/* Whether the cluster of a scenario makes the call: by the driver's capabilities, its CSIDriver and
 * the flags of its sidecars. Returns: (owned): why it never does; NULL: it does, in its case */
char *
scenario_driver_call_fault(const Scenario *scenario, const ScenarioDriver *driver, CsiUse use);
