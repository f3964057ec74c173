/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod-private.h"
#include "models/api/workload.h"

/* Shared by the kinds of workloads. Private to models/api. */

extern const FieldType field_int_or_percent;     /* IntOrPercent */
extern const FieldType field_workload_condition; /* WorkloadCondition */

/* Reports a negative number at @path. */
void workload_check_not_negative(ApiParser *parser, const json_t *manifest, const char *path);

typedef struct {
    const PodTemplate *template;
    const ClaimTemplates *claim_templates; /* NULL: none */
} TemplateCheck;

/* Reports faults of spec.template of @manifest. */
void workload_check_template(ApiParser *parser, const json_t *manifest, const TemplateCheck *check);
