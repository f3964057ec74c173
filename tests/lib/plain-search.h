/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/matching.h"

#include <string.h>

/* FindMatchingVolume() as Kubernetes has it, volume after volume: what the components find with
 * their indexes is held against it. */
static inline const Volume *
plain_search(const MatchQuery *query,
             const Volume *const *volumes,
             unsigned n_volumes,
             gboolean *refused)
{
    const Volume *best = NULL;

    *refused = FALSE;
    for (unsigned i = 0; i < n_volumes; i++) {
        MatchVerdict verdict = volume_match_judge(query, volumes[i], NULL);
        if (verdict == MATCH_RESERVED)
            return volumes[i];
        *refused = verdict == MATCH_REFUSED;
        if (*refused)
            return NULL;
        int order = verdict != MATCH_CANDIDATE ? 1
                    : best == NULL             ? -1
                                               : volume_compare_capacity(volumes[i], best);
        if (order == 0)
            order = strcmp(object_name(&volumes[i]->meta), object_name(&best->meta));
        if (order < 0)
            best = volumes[i];
    }
    return best;
}
