/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dump.h"
#include "writes.h"

/* Fills in the volumes of attachments, and the claims of volumes and attachments, that the log does
 * not tell at once. */
void recording_link(Recorded *recorded, const Writes *writes, const GPtrArray *dumps);
