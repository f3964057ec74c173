/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/external-snapshotter/snapshotter.h"

/* What only tests may call from outside of its file. */

/* SNAP-41. */
gboolean snapshotter_queues_change(const SnapshotContent *before, const SnapshotContent *after);
