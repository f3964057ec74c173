/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "modelled-driver.h"

/* The memory of the back end (state.c). */

/* The subject of a call: the entity of its draws. */
typedef struct {
    uint64_t hash;
    uint32_t n_calls[CSI_N_METHODS];
} BackendSubject;

typedef struct {
    BackendSubject subject;
    const char *name, *id;
    StringMap *segments;
    int attach_limit; /* 0: the driver's; negative: none */
    unsigned n_published;
} BackendNode;

typedef struct BackendTarget BackendTarget;
struct BackendTarget {
    BackendTarget *next;
    const char *path;
    gboolean readonly;
    CsiCapability capability;
};

/* A volume on one node: attached, staged, mounted. Usually a volume is on one node and mounted
 * there once, so these are lists. */
typedef struct VolumeNode VolumeNode;
struct VolumeNode {
    VolumeNode *next;
    BackendNode *node;
    gboolean is_published, readonly;
    gboolean is_adopted; /* published before the start: perhaps with other words than known here */
    CsiCapability published;
    const char *staging_path; /* NULL: not staged */
    CsiCapability staged;
    BackendTarget *targets;              /* (owned): oldest first */
    gboolean controller_busy, node_busy; /* a call is in flight */
    unsigned n_calls;                    /* calls in flight about it; it stays until they end */
};

#define NOT_MOUNTED (-1)

/* A volume, also one that was only asked for or is deleted: records are kept, so that repeats find
 * them. There are many, so flags take a byte; only locks are gbooleans. */
typedef struct {
    BackendSubject subject;
    const char *name, *id;
    gboolean busy;         /* a controller call is in flight */
    unsigned n_topologies; /* in @topologies */
    bool exists, was_known;
    bool is_formatted, is_ephemeral, is_abnormal, is_in_use;
    bool has_data, has_own_usage; /* the first mount wrote its data; see usage.c */
    const char *condition_message;
    int64_t capacity_bytes, filesystem_bytes;
    VolumeFilling usage; /* with @has_own_usage */
    int64_t used_bytes;  /* at @filled_at */
    SimTime filled_at;   /* a pod has it mounted and writes since; or NOT_MOUNTED */
    CsiFiles files;      /* now */
    int64_t n_files;     /* once it is filled */
    SimTime created_at;
    uint64_t sequence;     /* order of creation */
    uint32_t modes, types; /* masks of the capabilities that it was made for; 0: any */
    StringMap *parameters, *mutable_parameters;
    const char *source_id;
    StringMap **topologies; /* NULL: everywhere */
    VolumeNode *nodes;      /* (owned): oldest first */
    CsiSourceKind source_kind;
    unsigned n_published, n_snapshots, n_creations;
    GList link; /* in the driver's list of volumes */
} BackendVolume;

typedef struct Snapshot Snapshot;

/* Snapshots of several volumes that were cut together. */
typedef struct {
    BackendSubject subject;
    const char *name, *id;
    gboolean exists, busy;
    unsigned n_creations;
    GPtrArray *members; /* Snapshot, in the order of the request */
} BackendGroup;

struct Snapshot {
    BackendSubject subject;
    const char *name, *id;
    gboolean exists, busy;
    BackendGroup *group;   /* NULL: of none */
    unsigned n_users;      /* volumes that are being made of it */
    BackendVolume *source; /* NULL: unknown, of a snapshot that was taken by hand */
    const char *source_id;
    int64_t size_bytes, used_bytes;
    CsiFiles files; /* of its source, at the cut */
    SimTime created_at, ready_at;
    uint64_t sequence;
    unsigned n_creations;
    StringMap **room; /* the places whose room it takes */
    unsigned n_room;
    GList link;
};

/* Of volumes together: each may have up to 8 EiB. */
typedef __int128 SumBytes;

typedef struct {
    StringMap *segments;
    int64_t bytes;
    SumBytes used_bytes;
} Pool;

BackendNode *modelled_node_by_id(const CsiModelledDriver *self, const char *id);
BackendNode *modelled_node_by_name(const CsiModelledDriver *self, const char *name);
/* The record, made if there is none. */
BackendVolume *modelled_volume_by_name(CsiModelledDriver *self, const char *name);
BackendVolume *modelled_volume_by_id(CsiModelledDriver *self, const char *id);
Snapshot *modelled_snapshot_by_name(CsiModelledDriver *self, const char *name);
Snapshot *modelled_snapshot_by_id(CsiModelledDriver *self, const char *id);
Snapshot *modelled_find_snapshot(const CsiModelledDriver *self, const char *id);
/* The record of the group with this name or id, made if there is none. */
BackendGroup *modelled_group(CsiModelledDriver *self, const char *name_or_id);
/* The group exists from now on, without a snapshot. @id: NULL: the driver makes one up */
void modelled_group_begin(CsiModelledDriver *self, BackendGroup *group, const char *id);
void modelled_group_add(BackendGroup *group, Snapshot *snapshot);
/* ... with all its snapshots */
void modelled_group_end(CsiModelledDriver *self, BackendGroup *group);
BackendVolume *modelled_find_volume(const CsiModelledDriver *self, const char *id);
/* Whether @id still names the volume of this record. */
gboolean modelled_volume_is(const BackendVolume *volume, const char *id);

VolumeNode *modelled_volume_node(BackendVolume *volume,
                                 BackendNode *node); /* made if there is none */
VolumeNode *modelled_find_volume_node(const BackendVolume *volume,
                                      const BackendNode *node); /* NULL: none */
void modelled_drop_idle_node(BackendVolume *volume,
                             VolumeNode *on); /* unless there is something to remember */

/* Room for @bytes more in this place: INT64_MAX without a pool. */
int64_t modelled_room(const CsiModelledDriver *self, const StringMap *topology);
int64_t modelled_room_anywhere(const CsiModelledDriver *self);
void modelled_take_room(CsiModelledDriver *self,
                        StringMap *const *topologies,
                        unsigned n_topologies,
                        int64_t bytes);

/* files.c, CSI-90. The file system of a new volume, which begins with @files. */
void modelled_files_begin(const CsiModelledDriver *self, BackendVolume *volume, CsiFiles files);
CsiFiles modelled_files_of_copy(const BackendVolume *source);
/* Its files are there from now on. */
void modelled_files_fill(BackendVolume *volume);

/* The volume exists from now on; the caller has set its properties. */
void modelled_volume_begin(CsiModelledDriver *self, BackendVolume *volume, const char *id);
void modelled_volume_end(CsiModelledDriver *self, BackendVolume *volume);
/* @id: NULL: the driver makes one up */
void modelled_snapshot_begin(CsiModelledDriver *self, Snapshot *snapshot, const char *id);
/* Returns: the time from the cut of this snapshot until it is ready */
SimTime modelled_snapshot_takes(const CsiModelledDriver *self, const Snapshot *snapshot);
/* See csi_driver_adopt(). */
gboolean modelled_adopt(CsiDriver *driver, const CsiRequest *request);
void modelled_snapshot_end(CsiModelledDriver *self, Snapshot *snapshot);
void modelled_publish(BackendVolume *volume,
                      VolumeNode *on,
                      const CsiCapability *capability,
                      gboolean readonly);
void modelled_unpublish(BackendVolume *volume, VolumeNode *on);
/* with references */
void modelled_capability_set(CsiCapability *place, const CsiCapability *capability);
void modelled_target_add(VolumeNode *on, const CsiRequest *request);
void modelled_target_remove(VolumeNode *on, BackendTarget *target);
void modelled_targets_clear(VolumeNode *on);
StringList *modelled_published_ids(const BackendVolume *volume);

void modelled_state_init(CsiModelledDriver *self);
void modelled_state_clear(CsiModelledDriver *self);
