/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/import/dump.h"
#include "run/import/writes.h"

/* What a request of an audit log without bodies asked for, when no dump shows it either: told by
 * what kubelets and controllers did then. */

/* Whether a pod was gone at once when somebody deleted it (--force): its kubelet never deleted it,
 * but its name was free, or a later dump lacks it. @dumps: of Dump, the oldest first */
gboolean
unseen_was_forced(const Writes *writes, const GPtrArray *dumps, const RecordedWrite *write);
/* The taint of a kubectl taint, as a scenario has it ("key=value:NoExecute", with "-" behind it to
 * remove it). Returns: (owned) */
char *unseen_taint(const Writes *writes, const RecordedWrite *write);
/* A claim, or a pod with the claims that its kubelet looked for. Returns: (owned): NULL: of another
 * kind, or nothing tells */
json_t *unseen_object(const Writes *writes, const GPtrArray *dumps, const RecordedWrite *write);
