/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dump.h"
#include "writes.h"

/* Makes a recording of the writes of an audit log: milestones of pods, claims, volumes and
 * attachments. What bodies do not tell is concluded from sender, verb and order. */
void recording_make(Recorded *recorded,
                    const Writes *writes,
                    const GPtrArray *dumps,
                    SimTime start,
                    ImportReport *report);
