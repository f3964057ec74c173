/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/storage.h"

/* Which volume a claim without spec.volumeName takes: FindMatchingVolume() of Kubernetes'
 * component-helpers/storage/volume/pv_helpers.go, which the PV controller (PVC-32) and the
 * scheduler's VolumeBinding (VB-40) share. Pure: reads volumes, changes nothing, keeps nothing.
 *
 * The caller walks its candidates and offers them one by one, so each keeps the cache and index
 * that it has:
 *
 *     VolumeMatch match = {.query = &query};
 *     while ((volume = next_candidate(...)) != NULL && volume_match_offer(&match, volume))
 *         ;
 *     use(match.volume);
 *
 * Of equally large volumes the one with the smallest name wins, whatever the order of the offers
 * (Kubernetes: that of a hash map, PVC-37, VB-41). Only the pre-bound short cut depends on the
 * order, when several volumes are reserved for one claim: the first one offered ends the search. */

/* What a search asks for. All borrowed, must outlive the search. */
typedef struct {
    const Claim *claim;
    gboolean has_node; /* the scheduler: node affinity and access modes are judged, too */
    const StringMap *node_labels;     /* with has_node */
    const ObjectKey *const *excluded; /* volumes that another claim of the pod took on this node */
    unsigned n_excluded;
    gboolean delayed; /* WaitForFirstConsumer: without a node only a pre-bound volume is taken
                         (PVC-32.9) */
    gboolean attributes_classes; /* feature gate VolumeAttributesClass; off in 1.32 */
} MatchQuery;

typedef enum {
    MATCH_SKIP,      /* not this one */
    MATCH_CANDIDATE, /* fits: the smallest of these wins */
    MATCH_RESERVED,  /* pre-bound to the claim and fit: the search ends with it */
    MATCH_NOWHERE,   /* pre-bound to the claim, but the node cannot reach it: the search ends with
                        nothing */
    MATCH_REFUSED, /* the claim names a VolumeAttributesClass and the gate is off: the search is an
                      error */
} MatchVerdict;

/**
 * volume_match_judge:
 * @rule: (out) (nullable): the rule that decided: "PVC-32.10"; static
 * Judges one volume for the claim.
 */
MatchVerdict volume_match_judge(const MatchQuery *query, const Volume *volume, const char **rule);

/* A search under way. Begin with {.query = ...}. */
typedef struct {
    const MatchQuery *query;
    const Volume *volume; /* the best so far; NULL: none */
    gboolean refused;     /* the search ended with an error: MATCH_REFUSED */
} VolumeMatch;

/* Returns: FALSE: the search is over, offer no more; @self has the result. Takes no reference. */
gboolean volume_match_offer(VolumeMatch *self, const Volume *volume);

/* PVC-32.3, PVC-32.14: compares sizes exactly, also sizes beyond 8 EiB, too large for
 * capacity_bytes. */
int volume_compare_capacity(const Volume *a, const Volume *b);

/* PVC-23: whether a claim may be bound to the volume that it names. Returns: %NULL: yes; else the
 * reason in Kubernetes' words; interned in @strings */
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
