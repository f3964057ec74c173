/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "draws.h"
#include "method.h"
#include "sim/pointer-map.h"

/* The driver's parts: state.h remembers, method.h judges, call.h, limits.h and luck.h let calls
 * take their time; faults.c and slowdown.c disturb them. */

typedef struct DriverTrouble DriverTrouble; /* faults.c */
typedef struct Sharing Sharing;             /* slowdown.c */

struct CsiModelledDriver {
    CsiDriver base;
    CsiModelledOptions options; /* without its arrays, which follow */
    Limits *limits;
    ErrorState *errors;
    unsigned n_errors;
    Pool *pools;
    unsigned n_pools;
    BackendSubject subject; /* of calls without another subject */
    SimStream latency_streams[CSI_N_LATENCIES], error_streams[CSI_N_METHODS], id_stream;
    PointerMap nodes_by_name, nodes_by_id; /* interned -> BackendNode; the first owns */
    GPtrArray *all_nodes;                  /* the same, in the order of appearance */
    /* interned -> BackendVolume, owned by @all_volumes; one table if ids are names */
    PointerMap volumes_by_id, volumes_with_name;
    PointerMap *volumes_by_name; /* one of the two */
    GHashTable *snapshots_by_id, *snapshots_by_name;
    GHashTable *groups;        /* interned name or id -> BackendGroup */
    GPtrArray *all_groups;     /* (owned) */
    SimLog *all_volumes;       /* of BackendVolume * (owned), also of deleted ones */
    GPtrArray *all_snapshots;  /* ... (owned) */
    GQueue waiting;            /* of ModelledCall: each waits until another call releases a lock */
    GQueue volumes, snapshots; /* existing ones, in the order of creation */
    uint64_t last_sequence;
    SumBytes used_bytes;
    gboolean closing;
    gboolean keeps_volumes;  /* DeleteVolume does nothing */
    DriverTrouble *trouble;  /* (owned): NULL: none so far */
    Sharing *sharing;        /* (owned): NULL: calls do not slow each other down */
    uint32_t served_methods; /* mask of 1 << CsiMethod: a component is the driver's controller */
    CsiServe serve;          /* NULL: it does not run */
    void *server;            /* borrowed */
};

/* ---- Faults (faults.c) ---- */

/* A call arrives. Returns: whether faults deal with it */
gboolean modelled_trouble_on_arrival(CsiModelledDriver *self, ModelledCall *call);
/* The back end is done with the call. Returns: whether it has to wait */
gboolean modelled_trouble_at_end(CsiModelledDriver *self, ModelledCall *call);
/* The call ends, for any reason. */
void modelled_trouble_forget(CsiModelledDriver *self, const ModelledCall *call);
double modelled_trouble_slowness(const CsiModelledDriver *self);
void modelled_trouble_free(DriverTrouble *self);

/* ---- A controller that is a component (served.c) ---- */

/* Returns: whether a component answers the call */
gboolean modelled_hand_over(CsiModelledDriver *self, ModelledCall *call);

/* ---- How full volumes are (usage.c) ---- */

#define BYTES_PER_INODE 16384 /* mke2fs.conf: inode_ratio */
#define INODES_RESERVED 11    /* of an empty ext4: its first inode is 11, lost+found */

int64_t modelled_used_bytes(const CsiModelledDriver *self, const BackendVolume *volume);
gboolean modelled_is_full(const CsiModelledDriver *self, const BackendVolume *volume);
int64_t modelled_used_inodes(const CsiModelledDriver *self, const BackendVolume *volume);
/* Counts what was written until now: before the size or the way of filling changes, and after a
 * change of mounts. */
void modelled_usage_settle(const CsiModelledDriver *self, BackendVolume *volume);
/* A new volume is empty, or has the data of its source. */
void modelled_usage_begin(CsiModelledDriver *self, BackendVolume *volume);

/* ---- Calls that are served at once (slowdown.c) ---- */

/* (owned) NULL: no method is slowed down */
Sharing *modelled_sharing_new(const CsiModelledOptions *options);
void modelled_sharing_free(Sharing *self);
/* The call, of some latency, is served from now on. */
void modelled_share(CsiModelledDriver *self, ModelledCall *call);
void modelled_share_no_more(CsiModelledDriver *self,
                            ModelledCall *call); /* a second time is fine */
