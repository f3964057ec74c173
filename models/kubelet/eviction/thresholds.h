/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

/* Eviction thresholds, and the order of pods: pkg/kubelet/eviction/helpers.go. */

typedef enum {
    SIGNAL_MEMORY,
    SIGNAL_NODEFS,
    SIGNAL_NODEFS_INODES,
    SIGNAL_IMAGEFS,
    SIGNAL_IMAGEFS_INODES,
    SIGNAL_PIDS,
    N_SIGNALS,
} EvictionSignal;

/* Why a pod is evicted: a signal, or one of its own limits. */
typedef enum {
    CAUSE_EMPTY_DIR = N_SIGNALS,
    CAUSE_POD,
    CAUSE_CONTAINER,
    N_EVICTION_CAUSES,
} EvictionCause;

/* A quantity, or a share of the capacity. */
typedef struct {
    int64_t quantity;
    float share; /* negative: a quantity */
} ThresholdValue;

typedef struct {
    EvictionSignal signal;
    ThresholdValue value, reclaim; /* reclaim: what an eviction must win beside (EVM-12) */
    SimTime grace;                 /* 0: a hard threshold */
} Threshold;

#define THRESHOLDS_MAX (2 * N_SIGNALS)

typedef struct {
    unsigned n;
    Threshold items[THRESHOLDS_MAX]; /* hard ones first, each by its signal */
} Thresholds;

/* The kubelet's settings, each "name=value,name=value". */
typedef struct {
    const char *hard, *soft, *soft_grace, *reclaim;
    const char *hard_defaults; /* count where @hard tells nothing; NULL: not merged */
} ThresholdSettings;

/* What is seen of a signal. */
typedef struct {
    int64_t capacity, available; /* capacity -1: not known */
} Observation;

/* Returns: %FALSE with %SIM_ERROR_INVALID: a setting is faulty, or a soft threshold has no grace */
gboolean thresholds_parse(Thresholds *self, const ThresholdSettings *settings, GError **error);
/* The quantity below which the threshold is met. */
int64_t threshold_quantity(ThresholdValue value, int64_t capacity);
/* Returns: a mask of thresholds that are met; @with_reclaim: until enough was won back */
unsigned
thresholds_met(const Thresholds *self, const Observation *observations, gboolean with_reclaim);
/* The condition that it makes true. */
NodeTrouble signal_condition(EvictionSignal signal);
/* "memory", "ephemeral-storage", "inodes", "pids" */
const char *signal_resource(EvictionSignal signal);
/* @cause: an EvictionSignal or EvictionCause. Returns: (static): the label eviction_signal */
const char *eviction_cause_name(unsigned cause);

/* The rank of a pod among the pods that may be evicted. */
typedef struct {
    gboolean exceeds; /* it uses more than it asked for */
    int32_t priority;
    int64_t excess; /* usage less request */
} EvictionRank;

/* Returns: negative: @a goes first */
int eviction_rank_compare(const EvictionRank *a, const EvictionRank *b);
