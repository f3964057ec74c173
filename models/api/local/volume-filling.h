/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/sim.h"
#include "sim/strings.h"

/* How a volume fills while a pod has it mounted (CSI-92, CSI-93). No manifest tells that: fields of
 * a driver do, or an annotation of a claim, which only this program reads. */

#define ANNOTATION_USAGE "kvolsim.io/usage" /* "start=1Gi step=100Mi every=1m fileSize=64Ki" */

/* All zero: it stays empty. */
typedef struct {
    int64_t start_bytes; /* written at the first mount */
    int64_t step_bytes;  /* written after each @every of being mounted */
    SimTime every;       /* positive if @step_bytes is */
    int64_t file_bytes;  /* size of a file; 0: all bytes are in files that exist already */
} VolumeFilling;

/* Returns: %FALSE with %SIM_ERROR_INVALID, in the user's words */
gboolean volume_filling_parse(const char *text, VolumeFilling *filling, GError **error);
/* Returns: the reason why it makes no sense; NULL: it does */
const char *volume_filling_fault(const VolumeFilling *self);
