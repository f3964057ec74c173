/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The ephemeral-volume controller of kube-controller-manager: makes the claims of pods' generic
 * ephemeral volumes. Rules: docs/rules/ephemeral-volume.md. */
extern const ModelClass ephemeral_volume_class;

/* ---- For tests of single syncs ---- */

typedef struct Plan Plan;
