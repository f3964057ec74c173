/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* Two controllers of kube-controller-manager that keep what is in use: the finalizer of a claim
 * goes when no pod uses it any more, that of a volume when it is not Bound. Rules:
 * docs/rules/pvc-pv-protection.md. */
extern const ModelClass pvc_protection_class;
extern const ModelClass pv_protection_class;

/* ---- Between the two ---- */

/* PROT-10, PROT-20: it is deleted and has the finalizer still, or it is not and lacks it. */
gboolean protection_has_work(const Object *object, const char *finalizer);
/* ObjectEdit: @arg is the finalizer, interned. */
gboolean protection_edit_add(Object *object, const void *finalizer);
gboolean protection_edit_remove(Object *object, const void *finalizer);
