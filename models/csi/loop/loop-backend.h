/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ledger.h"

/* The CSI services on real devices of this machine: a backing file for each volume, a loop device
 * where it is attached, a file system where it is staged, a bind mount where it is published, all
 * below one state folder. Calls block, and come from any number of threads. A "node" is a folder:
 * the path /var/lib/kubelet/x of node n is nodes/n/var/lib/kubelet/x. The rules of the methods are
 * those of the modelled driver (docs/rules/csi-driver.md). */
typedef struct LoopBackend LoopBackend;

typedef struct {
    const char *state_dir; /* absolute */
    unsigned volumes_max;  /* volumes and snapshots together; 0: 1000 */
    int64_t bytes_max;     /* of all of them; 0: the free space less a margin of 1 GiB or a tenth */
    int64_t volume_bytes_default; /* when the caller names none; 0: 64 MiB */
    int attach_limit;             /* volumes per node; 0: none */
    const char *default_type;     /* of file systems; NULL: ext4 */
    gboolean sparse;              /* reserve no room for volumes */
    gboolean buffered;            /* no direct I/O to backing files */
    gint64 busy_wait_us;          /* how long to wait for a mount in use; 0: 1 s */
    /* folders of mkfs and the like, separated by ":"; NULL: /usr/sbin:/sbin:... */
    const char *tools;
} LoopOptions;

/**
 * loop_backend_open:
 * Takes the state folder, and recovers after a process that died there (LOOP-32): records with
 * files are adopted, with their attachments and mounts; everything else is taken back. Returns:
 * (owned): %NULL with %LOOP_ERROR: PERMISSION_DENIED: not on this machine, or not in this folder
 */
LoopBackend *loop_backend_open(const LoopOptions *options, GError **error);
/* No call may be under way. Volumes stay for the next process that opens the folder. */
void loop_backend_close(LoopBackend *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LoopBackend, loop_backend_close)
LoopLedger *loop_backend_ledger(LoopBackend *self);

/* The node plugin runs on node @name. Volumes are only attached to known nodes. */
void loop_backend_add_node(LoopBackend *self, const char *name);

/* An answer owns its strings; response.volume_context, publish_context and topology are not set. */
typedef struct {
    CsiResponse response;
    const char *device;     /* ControllerPublishVolume: the device */
    GStringChunk *strings;  /* NULL: none */
    GArray *entries;        /* of CsiEntry: response.entries; NULL: none */
    GPtrArray *entry_nodes; /* of GStrv: each entry's published nodes */
} LoopAnswer;

void loop_answer_clear(LoopAnswer *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LoopAnswer, loop_answer_clear)

/* Carries out the request at once. @answer: (out): cleared by the caller. @request: its maps and
 * lists are not changed or kept. */
void loop_backend_call(LoopBackend *self, const CsiRequest *request, LoopAnswer *answer);

/* Where @path of @node is on this machine. (owned) */
char *loop_backend_node_path(const LoopBackend *self, const char *node, const char *path);

/* Calls @visit with the path on this machine at which the volume is published; it cannot be
 * unpublished meanwhile. Returns: FALSE if it is not published any more */
gboolean loop_backend_visit_target(
    LoopBackend *self,
    const char *volume_id,
    const char *node,
    const char *target_path,
    void (*visit)(void *data, const char *volume_id, const char *path, gboolean is_block),
    void *data);

/* A device or mount that should be on this machine, by the back end's tables. */
typedef struct {
    char *volume_id, *backing_file;
    int device;          /* -1: not attached */
    char *node, *target; /* of a mount: absolute; NULL: of an attachment */
    gboolean readonly, is_block;
} LoopFact;

unsigned loop_backend_n_volumes(LoopBackend *self);

/* ---- kvolsim loop ---- */

/* An entry of a ledger that is on this machine. */
typedef struct {
    LoopDeed deed;
    char *what;  /* a path, or "loop12" */
    char *state; /* "mounted", "loop3", "64 MiB" */
} LoopRemain;

/* Returns: (owned): of LoopRemain (owned): the entries of the ledger that are on this machine;
 * %NULL as loop_ledger_read() */
GPtrArray *loop_remains_list(const char *state_dir, GError **error);
/**
 * loop_remains_clean:
 * Takes back everything in the ledger of @state_dir, last first, and nothing else. It can be called
 * again after any failure.
 * @wait_us: how long to wait for devices and mounts in use
 * @report: (nullable): called for each entry that could not be taken back, and for files of others
 * in the folder Returns: %FALSE if something is left, or with @error: PERMISSION_DENIED, ABORTED
 * and so on
 */
gboolean loop_remains_clean(const char *state_dir,
                            gint64 wait_us,
                            void (*report)(void *data, const char *text),
                            void *data,
                            GError **error);
