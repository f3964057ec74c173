/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fields.h"
#include "pod.h"

/* What pods, nodes and StatefulSets share. Private to models/api. */

extern const FieldType field_pod_condition;  /* PodCondition */
extern const FieldType field_node_condition; /* PodCondition, with a heartbeat */
extern const FieldType field_names;          /* StringList *: [{name}] */

/* Whether a container of a pod's spec has @volume in @list: "volumeMounts" or "volumeDevices". */
gboolean pod_json_mounts(const json_t *spec, const char *list, const char *volume);
/* Reports annotations about the life of containers that make no sense; @manifest is what has them
 * in its metadata. */
void pod_check_life(ApiParser *parser, const json_t *manifest, const StringMap *annotations);
/* Reports mounts of volumes that are neither in spec.volumes nor among @templates (nullable). */
void pod_check_mounts(ApiParser *parser, const json_t *spec, const ClaimTemplates *templates);
