/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dump.h"

/**
 * drivers_of_dump:
 * The drivers that the dump names: its CSIDrivers, CSINodes, StorageClasses, volumes and
 * VolumeAttachments.
 *
 * Returns: (owned): an array of members of a scenario's drivers[], by name: name, profile,
 * topology, attachLimit, controllerCapabilities, pools
 */
json_t *drivers_of_dump(const Dump *dump, ImportReport *report);
