/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/snapshot-controller/controller.h"

/* What only tests may call from outside of its file. */

/* The sync once the class is known. */
void decide_begin(const void *self, Plan *plan);
/* Appends these finalizers, even if the object has them already. */
void plan_add_finalizers(Plan *plan, gboolean as_source, gboolean as_bound);
/* syncReadySnapshot() and syncUnreadySnapshot(). */
void plan_binding(const SnapshotController *self, Plan *plan);
/* Whether a class is marked as its driver's default. */
gboolean snapshot_class_is_default(const Object *class);
/* Puts the finalizer on the claim, and goes on with the notes' with_claim(). */
void plan_hold_claim(const SnapshotController *self, Plan *plan);
/* SNAP-33: takes the snapshot's own finalizers off, after the claim's; the one as bound stays if
 * the notes have a content that is deleted with the snapshot. A PlanDecide */
void plan_remove_finalizers(const void *self, Plan *plan);
