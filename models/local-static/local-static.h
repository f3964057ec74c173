/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* sig-storage-local-static-provisioner: on each node it makes a PersistentVolume of each disk in a
 * folder, and cleans disks that are released. It runs only if a scenario names it. */

typedef struct {
    SimTime discovery_period, cleaning_time;
    const char *storage_class, *host_dir;
} LocalStaticOptions;

/* LOC-45: whole GiB if there are ten of them, else whole MiB if there are ten of them. */
int64_t local_static_round(int64_t bytes);
/* LOC-43: "local-pv-" and the FNV-1a of file, node and class. Returns: (owned) */
char *local_static_volume_name(const char *file, const char *node, const char *class);

extern const ProcessClass local_static_process;
extern const ModelClass local_static_class;
