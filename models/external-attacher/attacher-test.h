/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/external-attacher/attacher.h"

/* What only tests may call from outside of its file. */

/* EA-14: whether a change queues the attachment. EA-7: a driver's name as a part of another name,
 * and the finalizer. EA-28: whether a volume may lose its finalizer. */
gboolean attacher_queues_change(const Attachment *before, const Attachment *after);
char *attacher_sanitize(const char *driver);
char *attacher_finalizer(const char *driver);
gboolean attacher_volume_has_work(const Object *volume, const char *finalizer);
/* EA-19.5. Returns: FALSE with @error */
gboolean attacher_capability(const ExternalAttacher *self,
                             const Volume *volume,
                             CsiCapability *capability,
                             const char **error);
