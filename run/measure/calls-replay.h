/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/modelled/modelled-driver.h"
#include "run/world/call-log.h"
#include "validation.h"

/* The calls of a journal, made once more to a modelled driver at the same times: what would another
 * back end have made of them? */

/* Calls that can be made again: those that ended well. A failed one tells too little of its
 * request. Returns: how many others there are */
unsigned calls_replay_left_out(const CallLog *journal);

/**
 * calls_replay:
 * @journal: (borrowed)
 * @options: of the driver. Places and ids of volumes do not matter here: each node reaches each
 * volume, and a volume's id is its name. Volumes that are older than the journal exist
 * Returns: (owned): the journal of the simulation; %NULL with %SIM_ERROR_INVALID
 */
CallLog *calls_replay(const CallLog *journal,
                      const CsiModelledOptions *options,
                      uint64_t seed,
                      unsigned replication,
                      GError **error);
