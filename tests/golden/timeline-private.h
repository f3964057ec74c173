/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/yaml.h"
#include "timeline.h"

struct Timeline {
    json_t *root; /* (owned): scenario.yaml */
    char *folder;
};

/* A YamlReport of faults into a GString. */
void timeline_report_yaml(
    void *data, const YamlPosition *where, const char *path, const char *message, const char *hint);

/* Returns: (owned): parts of the scenario, from `flags` and `schedulerConfig` */
json_t *timeline_sidecars_json(const Timeline *self);
json_t *timeline_kubelet_json(const Timeline *self);
json_t *timeline_gates_json(const Timeline *self);
json_t *timeline_components_json(const Timeline *self);
