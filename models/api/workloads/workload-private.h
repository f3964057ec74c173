/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod-private.h"
#include "models/api/workload.h"

/* Shared by the kinds of workloads. Private to models/api. */

extern const FieldType field_int_or_percent;     /* IntOrPercent */
extern const FieldType field_workload_condition; /* WorkloadCondition */
