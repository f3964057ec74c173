/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* The PersistentVolume controller ("persistentvolume-binder") of kube-controller-manager: pairs
 * claims and volumes, asks provisioners for volumes, reclaims volumes whose claim is gone. Rules:
 * docs/rules/pv-controller.md. */
extern const ModelClass pv_controller_class;
