/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "replay.h"
#include "run/files/file-fault.h"
#include "timeline.h"

#define NAMESPACE "lab" /* of all recordings */

struct Timeline {
    json_t *root; /* (owned): scenario.yaml */
    char *folder;
    const char *data_dir;
};

/* @seconds: of the recording. Returns: (owned): an instant of the scenario */
json_t *timeline_instant(double seconds);
/* Returns: (owned): a duration */
json_t *timeline_duration(double seconds);
/* @known: ends with NULL. Returns: FALSE with an error that names the first other key of @object */
gboolean timeline_check_keys(const json_t *object,
                             const char *what,
                             const char *const *known,
                             GError **error);
/* Returns: (owned): copies of those objects that a model knows or ignores, each with its namespace;
 * prints the others */
json_t *timeline_objects(const json_t *list);

/* Returns: (owned): spec.drivers; NULL with an error if a setting is not known */
json_t *timeline_drivers_json(const Timeline *self, GError **error);
/* Returns: (owned): the settings that may change during a run; NULL with an error */
json_t *timeline_driver_change_json(const json_t *given, GError **error);

/* Adds the steps to the lists spec.workload and spec.faults. @replay: the recorded instants; NULL:
 * the planned ones. Returns: FALSE with an error if a step is not known */
gboolean timeline_add_steps(
    const Timeline *self, GoldenReplay *replay, json_t *workload, json_t *faults, GError **error);
/* The same for a step that runs a real kubectl. */
gboolean
timeline_add_kubectl(const json_t *step, GoldenReplay *replay, json_t *workload, GError **error);
/* Returns: the planned instant of the first step @what for the driver on @node (seconds); negative:
 * there is none */
double timeline_step_at(const Timeline *self, const char *what, const char *node, double after);

/* Returns: FALSE with an error if a component or flag of `flags` is not known */
gboolean timeline_check_flags(const Timeline *self, GError **error);
/* Returns: (owned): parts of the scenario, from `flags`, `cluster` and `schedulerConfig` */
json_t *timeline_sidecars_json(const Timeline *self);
json_t *timeline_kubelet_json(const Timeline *self);
json_t *timeline_kubernetes_json(const Timeline *self);
json_t *timeline_components_json(const Timeline *self);
