/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/storage.h"

/* Which volume a claim without spec.volumeName takes: FindMatchingVolume() of Kubernetes'
 * component-helpers/storage/volume/pv_helpers.go, which the PV controller (PVC-32) and the
 * scheduler's VolumeBinding (VB-40) share. Pure: reads volumes, changes nothing, keeps nothing.
 *
 * Each of them walks its own index, and judges what it finds there one by one. The smallest
 * candidate wins, of equally large ones the one with the smallest name (Kubernetes: any of them, in
 * the order of a hash map, PVC-37, VB-41).
 */

/* What a search asks for. All borrowed, must outlive the search. */
typedef struct {
    const Claim *claim;
    gboolean delayed; /* WaitForFirstConsumer, and no node is known: only a volume that is reserved
                         for the claim is taken (PVC-32.9) */
    gboolean attributes_classes; /* feature gate VolumeAttributesClass; off in 1.32 */
} MatchQuery;

typedef enum {
    MATCH_SKIP,      /* not this one */
    MATCH_CANDIDATE, /* fits: the smallest such volume is taken */
    MATCH_RESERVED,  /* for the claim, and it fits: the search ends with it, or with nothing if the
                        node cannot reach it */
    MATCH_REFUSED, /* the claim names a VolumeAttributesClass and the gate is off: the search is an
                    error */
} MatchVerdict;

/**
 * volume_match_judge:
 * @rule: (out) (nullable): the rule that decided: "PVC-32.10"; static
 * Judges one volume for the claim.
 */
MatchVerdict volume_match_judge(const MatchQuery *query, const Volume *volume, const char **rule);

/* PVC-32.3, PVC-32.14: compares sizes exactly, also sizes beyond 8 EiB, too large for
 * capacity_bytes. */
int volume_compare_capacity(const Volume *a, const Volume *b);

/* PVC-23: whether a claim may be bound to the volume that it names. Returns: %NULL: yes; otherwise
 * the reason in Kubernetes' words; interned in @strings */
const char *volume_mismatch(const Claim *claim,
                            const Volume *volume,
                            gboolean attributes_classes,
                            Strings *strings);

/* All of @wanted are in @offered. */
static inline gboolean
access_modes_include(uint32_t offered, uint32_t wanted)
{
    return (wanted & ~offered) == 0;
}
