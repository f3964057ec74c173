/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/external-resizer/resizer.h"

/* What only tests may call from outside of its file. */

/* MIG-66: CanSupport() of csi_resizer.go: whether the driver's resizer works on the claim. */
gboolean resizer_supports(const char *driver, const Claim *claim, const Volume *volume);
/* The expansion of a claim with recovery, and without (RSZ-40). */
void resizer_plan_expand(const void *self, Plan *plan);
void resizer_plan_resize(const void *self, Plan *plan);
/* The capability of a volume in a request. @error: (out): why there is none; NULL: there is one */
CsiCapability resizer_capability(const Volume *volume, gboolean multi_writer, const char **error);
/* ObjectEdits. @class: interned */
gboolean modify_mark_apply(Object *claim, const void *mark);
gboolean modify_volume_apply(Object *volume, const void *class);
/* @target: the class, for MODIFY_IN_PROGRESS and MODIFY_COMPLETED. @error: of the driver; NULL:
 * none
 */
void modify_mark_init(ModifyMark *self,
                      ModifyStep step,
                      const char *target,
                      const char *error,
                      SimTime now,
                      Strings *strings);
void resizer_watch_volumes(ExternalResizer *self); /* before the first sync */
