/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "device.h"
#include "file.h"
#include "loop-backend.h"
#include "mount.h"

/* Within the loop back end: loop-backend.c takes calls; controller.c, snapshot.c and node.c do
 * them; state.c remembers; clean.c takes back.
 *
 * Two locks. The back end's lock guards the tables and all fields of their records; it is held for
 * moments. A volume's `work` is held as long as a call works on the volume (LOOP-34): its holder
 * may read the volume's fields, and takes the other lock, too, to write them. */

typedef struct {
    CsiAccessMode mode;
    CsiAccessType type;
    char *fs_type, *mount_flags, *mount_group; /* never NULL */
} LoopCapability;

typedef struct {
    char *path; /* as given by the caller */
    gboolean readonly;
    LoopCapability capability;
} LoopTarget;

/* A volume on a node. */
typedef struct {
    char *node;
    gboolean is_published, readonly;
    LoopCapability published;
    char *staging_path; /* NULL: not staged */
    LoopCapability staged;
    GPtrArray *targets; /* of LoopTarget */
    gboolean is_busy;   /* a node call is under way */
} LoopPlace;

typedef struct {
    char *id, *name;
    int64_t capacity_bytes;
    uint32_t modes, types; /* masks of the capabilities that it was made for */
    char *parameters;      /* "k=v\n" each, by key */
    CsiSourceKind source_kind;
    char *source_id; /* never NULL */
    gboolean is_sparse;
    int64_t sequence;
    GPtrArray *places; /* of LoopPlace */
    GMutex work;
    RefCount refs;
    gboolean is_there; /* CreateVolume is done, DeleteVolume is not */
    gboolean is_busy;  /* a controller call is under way */
} LoopVolume;

typedef struct {
    char *id, *name, *source_id;
    int64_t size_bytes, created_at, sequence; /* created_at: ns since 1970 */
    unsigned n_users; /* volumes that are being made of it, and its own making */
    gboolean is_there;
} LoopSnapshot;

struct LoopBackend {
    LoopOptions options;
    LoopTools tools;
    LoopLedger *ledger;
    char *state_dir, *tools_folders, *default_type;
    GMutex lock;
    GPtrArray *volumes;   /* of LoopVolume, by sequence */
    GPtrArray *snapshots; /* of LoopSnapshot, by sequence */
    GHashTable
        *known; /* all ids, also of deleted volumes (CSI-31, CSI-33: repeated calls succeed) */
    GPtrArray *nodes; /* of char *, oldest first */
    int64_t sequence;
    int64_t promised_bytes; /* reserved for files that are being made */
};

/* A call on its way through the back end. */
typedef struct {
    const CsiRequest *request;
    LoopAnswer *answer;
    LoopVolume *volume; /* referenced, `work` held; NULL: none of that id */
    LoopPlace *place;   /* of node calls and ControllerPublish */
    gboolean was_known; /* the id was in use */
} LoopCall;

typedef gboolean (*LoopMethod)(LoopBackend *self, LoopCall *call, GError **error);

gboolean loop_refuse_unknown(GError **error, const char *volume_id);
const char *loop_answer_keep(LoopAnswer *self, const char *text);

/* ---- state.c ---- */

void loop_capability_set(LoopCapability *self, const CsiCapability *from);
gboolean loop_capability_is(const LoopCapability *self, const CsiCapability *other);
/* Whether the request exceeds the capabilities that the volume was made for: many nodes, writing,
 * or the other access type. */
gboolean loop_volume_exceeded(const LoopVolume *volume, const CsiRequest *request);

/* With the lock held: */
LoopVolume *loop_volume_find(const LoopBackend *self, const char *id);
LoopVolume *loop_volume_find_name(const LoopBackend *self, const char *name);
LoopVolume *loop_volume_add(LoopBackend *self, const char *name);
void loop_volume_unref(LoopVolume *volume);
void loop_volume_drop(LoopBackend *self, LoopVolume *volume); /* removes it from the table */
LoopSnapshot *loop_snapshot_find(const LoopBackend *self, const char *id);
LoopSnapshot *loop_snapshot_find_name(const LoopBackend *self, const char *name);
LoopSnapshot *loop_snapshot_add(LoopBackend *self, const char *name);
void loop_snapshot_drop(LoopBackend *self, LoopSnapshot *snapshot);
LoopPlace *loop_volume_place(LoopVolume *volume, const char *node); /* made if there is none */
unsigned loop_volume_n_published(const LoopVolume *volume);
LoopTarget *loop_place_target(const LoopPlace *place, const char *path);

/* Relative to the state folder. (owned) */
char *loop_volume_file(const char *id);
char *loop_snapshot_file(const char *id);
char *loop_node_path(const char *node, const char *path); /* NULL: @path leads out of the node */

/* Write records, one file each. The volume's `work` is held. @durable: the record must survive a
 * power cut, as attachments and mounts do not */
gboolean loop_volume_save(LoopBackend *self, LoopVolume *volume, gboolean durable, GError **error);
gboolean loop_snapshot_save(LoopBackend *self, LoopSnapshot *snapshot, GError **error);
void loop_record_remove(LoopBackend *self, const char *file);
/* Reads all records of the folder, and forgets those without a file. */
gboolean loop_state_load(LoopBackend *self, GError **error);

/* ---- The methods ---- */

gboolean loop_create_volume(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_delete_volume(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_controller_publish(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_controller_unpublish(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_validate(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_list_volumes(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_get_volume(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_get_capacity(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_controller_expand(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_create_snapshot(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_delete_snapshot(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_list_snapshots(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_get_snapshot(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_node_stage(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_node_unstage(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_node_publish(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_node_unpublish(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_node_stats(LoopBackend *self, LoopCall *call, GError **error);
gboolean loop_node_expand(LoopBackend *self, LoopCall *call, GError **error);

/* The file system that a capability asks for, or the driver's own. */
const char *loop_type_of(const LoopBackend *self, const char *fs_type);
/* Reserves room for @bytes more, with @one_more for one more file, until the file is there. */
gboolean loop_room_take(LoopBackend *self, int64_t bytes, gboolean one_more, GError **error);
/* Copies a volume's file while nothing is written to it. Its `work` is held. */
gboolean loop_volume_copy(
    LoopBackend *self, const LoopVolume *source, const char *path, int64_t bytes, GError **error);
/* Rows from @token (a sequence number) on, at most max_entries; FALSE: ABORTED: no such token
 * (CSI-54) */
gboolean loop_page_starts(const CsiRequest *request, int64_t *sequence, GError **error);
void loop_answer_add(
    LoopAnswer *answer, const CsiEntry *entry, char **nodes, int64_t sequence, unsigned max);
/* Takes back the mounts of a volume on a node. */
gboolean loop_place_release(LoopBackend *self, LoopPlace *place, GError **error);
