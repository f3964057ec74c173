/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* sig-storage-local-static-provisioner: on each node it makes a PersistentVolume of each disk in a
 * folder, and cleans disks that are released. It runs only if a scenario names it. */

typedef struct {
    SimTime discovery_period, cleaning_time;
    const char *storage_class, *host_dir;
} LocalStaticOptions;

extern const ProcessClass local_static_process;
extern const ModelClass local_static_class;
