/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* rancher's local-path-provisioner: a provisioner without CSI. A pod on the node makes the
 * directory, another one removes it. It runs only if a scenario names it. */

typedef struct {
    const char *provisioner_name, *namespace, *path;
    int32_t n_workers;
    SimTime command_timeout;
    const char *command_time; /* as of ANNOTATION_RUNS_FOR */
} LocalPathOptions;

extern const ProcessClass local_path_process;
extern const ModelClass local_path_class;
