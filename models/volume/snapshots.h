/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/snapshot.h"
#include "models/plan/plan.h"

/* What the snapshot-controller and the sidecar external-snapshotter share, as the two programs of
 * the external-snapshotter project do. */

/* Errors in the words of external-snapshotter. Returns: (borrowed): interned */
const char *snapshot_class_error(Plan *plan, const char *class_name);
const char *snapshot_update_error(Plan *plan, const char *object_name, const char *error);
/* A snapshot or a content that needs a class has none. */
const char *snapshot_no_class_error(Plan *plan, const char *object_name);

/* Sets an annotation, or takes it off (@value NULL). Returns: the step */
int plan_annotate(
    Plan *plan, const ObjectKey *key, const char *annotation, const char *value, PlanErrors errors);
