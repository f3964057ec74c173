/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fields.h"
#include "pod.h"

/* Shared by pods, nodes and StatefulSets. Private to models/api. */

extern const FieldType field_node_condition;   /* PodCondition, with a heartbeat */
extern const FieldType field_condition_status; /* uint32_t: ConditionStatus */

/* Of the whole PodSpec. */
extern const FieldType field_affinity_required, field_affinity_preferred,
    field_anti_affinity_required, field_anti_affinity_preferred, field_topology_spread;

/* Reads the containers of a spec with their requests. */
void pod_containers_parse(ApiParser *parser, const json_t *spec_json, PodSpec *spec);
gboolean pod_containers_equal(const PodSpec *a, const PodSpec *b);
/* Returns: (owned): the containers' names and images */
json_t *pod_containers_to_json(const PodSpec *spec);

extern const FieldType field_preemption_policy; /* uint32_t: PreemptionPolicy; OPTIONAL */
gboolean pod_template_equal(const PodTemplate *a, const PodTemplate *b);

/* Reads a claim template with the key @name without a namespace, which no real claim has. Returns:
 * (owned) */
Claim *claim_template_parse(ApiParser *parser, const json_t *value, const char *name);

/* Reports a fault of an annotation; @manifest has it in its metadata. */
void annotation_fault(ApiParser *parser,
                      const json_t *manifest,
                      const char *annotation,
                      const char *hint,
                      const GError *error);
/* Reports faulty annotations about the life of containers and about what they use. */
void pod_check_annotations(ApiParser *parser, const json_t *manifest, const StringMap *annotations);
/* Reports faults of spec.template of the manifest of a workload. */
void workload_check_template(ApiParser *parser, const json_t *manifest, const Object *object);
/* Reports mounts of volumes that are neither in spec.volumes nor among @templates (nullable). */
void pod_check_mounts(ApiParser *parser, const json_t *spec, const ClaimTemplates *templates);
