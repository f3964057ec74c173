/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/local/volume-filling.h"
#include "models/api/pod.h"

/* A machine's memory, disk and process ids, and their users (EVM-1 to EVM-5). No manifest tells
 * that, so it stands in annotations that only this program reads. */

#define ANNOTATION_CAPACITY                                                                        \
    "kvolsim.io/capacity" /* of a Node: "memory=16Gi disk=100Gi inodes=6M images=50Gi pids=32k" */
/* Of a pod, or of a Node for all that is no pod. Parts end with ";", each as ANNOTATION_USAGE has
 * it: "memory start=1Gi; disk start=2Gi step=100Mi every=1m; emptyDir/cache start=1Gi" */
#define ANNOTATION_USES "kvolsim.io/uses"

typedef enum {
    USE_MEMORY,
    USE_DISK,   /* of a pod: what its first container writes beside its volumes */
    USE_IMAGES, /* of a machine: its images */
    USE_PIDS,
    USE_EMPTY_DIR, /* of a pod */
} UseKind;

#define USE_NAME_MAX 64

typedef struct {
    UseKind kind;
    char volume[USE_NAME_MAX]; /* of USE_EMPTY_DIR; else empty */
    VolumeFilling filling;
} MachineUse;

typedef struct {
    unsigned n;
    MachineUse items[];
} MachineUses;

/* Bytes or numbers; -1: unknown, so nobody watches it. */
typedef struct {
    int64_t memory, disk, inodes, pids;
    int64_t images, image_inodes; /* of a disk that images and containers have of their own */
} MachineCapacity;
#define MACHINE_CAPACITY_UNKNOWN                                                                   \
    {                                                                                              \
        -1, -1, -1, -1, -1, -1                                                                     \
    }

/**
 * machine_uses_parse:
 * @of_pod: the annotation of a pod, not of a Node
 * Returns: (owned): to be freed; %NULL with %SIM_ERROR_INVALID, in the user's words
 */
MachineUses *machine_uses_parse(const char *text, gboolean of_pod, GError **error);
/* Returns: %FALSE with %SIM_ERROR_INVALID, in the user's words */
gboolean machine_capacity_parse(const char *text, MachineCapacity *capacity, GError **error);
/* Bytes or numbers that are used after this age; and the files that they lie in. */
int64_t machine_use_at(const MachineUse *self, SimTime age);
int64_t machine_use_files(const MachineUse *self, int64_t bytes);
/* The age after @age at which it changes; SIM_TIME_MAX: it does not */
SimTime machine_use_next(const MachineUse *self, SimTime age);

/* Requests and limits of local storage, which a pod's manifest tells. Bytes; limits: -1 is none. */
typedef struct {
    int64_t request, limit;                                   /* of all containers */
    int64_t first_request, first_limit, first_memory_request; /* of the first container */
    const char *first_limit_text;                             /* borrowed from the manifest */
    gboolean asks_nothing; /* no container has a request or limit of cpu or memory: BestEffort */
} PodLocalLimits;

void pod_local_limits_read(const PodSpec *spec, PodLocalLimits *limits);

/* An emptyDir. */
typedef struct {
    int64_t limit;          /* sizeLimit; -1: none */
    const char *limit_text; /* borrowed from @spec */
    gboolean in_memory;
} PodEmptyDir;

/* @spec: a pod's manifest. Returns: %FALSE: the pod has no emptyDir of this name */
gboolean pod_empty_dir_read(const json_t *spec, const char *name, PodEmptyDir *dir);
