/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* A CSI driver for the disks of the nodes, as openebs/zfs-localpv and lvm-localpv: its controller
 * chooses a node and writes a LocalVolume; the agent on that node makes the volume. Both run only
 * if a scenario names them among the driver's sidecars. */

typedef struct {
    const char *scheduler; /* for classes that name none */
} LocalVolumeControllerOptions;

extern const ProcessClass local_volume_controller_process, local_volume_agent_process;
extern const ModelClass local_volume_controller_class, local_volume_agent_class;
