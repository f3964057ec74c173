/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/**
 * agreement_faults:
 * At rest all parts of a cluster agree: pods are Ready, the drivers' attachments are those of the
 * VolumeAttachments, mounts are those of the pods, and a volume is on one node unless its access
 * mode says otherwise.
 * Returns: (owned): a line for each fault; "" if there are none
 */
char *agreement_faults(const Run *run);
