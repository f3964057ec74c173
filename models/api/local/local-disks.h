/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/sim.h"

/* The disks in a node's discovery folder, for the static provisioner. No manifest tells them: an
 * annotation of the Node does, which only this program reads. */

#define ANNOTATION_DISKS                                                                           \
    "kvolsim.io/disks" /* "10Gi 10Gi 50Gi": the files disk-0, disk-1, disk-2                       \
                        */
#define LOCAL_DISKS_MAX 64

/**
 * local_disks_parse:
 * @text: (nullable): none
 * @bytes: (out) (array of LOCAL_DISKS_MAX): their sizes
 * Returns: their number; -1 with %SIM_ERROR_INVALID, in the user's words
 */
int local_disks_parse(const char *text, int64_t *bytes, GError **error);
