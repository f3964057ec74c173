/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi.h"

/* The state folder of the loop driver and its ledger: a list of everything made on this machine.
 * Each deed is noted before it is done. After a crash another process knows what to take back, and
 * leaves everything else alone. Safe for threads. The ledger is a text file of lines "+ DEED WHAT"
 * (about to be done) and "- DEED WHAT" (taken back). It is not flushed to the disk: it must survive
 * only the death of the process. After a power cut devices and mounts are gone anyway. */
typedef struct LoopLedger LoopLedger;

/* Folders below the state folder. */
#define LOOP_VOLUMES "volumes"
#define LOOP_SNAPSHOTS "snapshots"
#define LOOP_NODES "nodes"

/* Errors about real devices; the code is a CsiCode. */
#define LOOP_ERROR (loop_error_quark())
GQuark loop_error_quark(void);
/* Sets @error. Returns: %FALSE */
gboolean loop_refuse(GError **error, CsiCode code, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* The same, with the message of an errno after the text: ENOSPC and EDQUOT are RESOURCE_EXHAUSTED,
 * others are INTERNAL. */
gboolean loop_refuse_errno(GError **error, int code, const char *format, ...) G_GNUC_PRINTF(3, 4);

typedef enum {
    LOOP_FOLDER,  /* a path below the state folder */
    LOOP_FILE,    /* likewise */
    LOOP_BINDING, /* a loop device with this backing file, a path likewise */
    LOOP_MOUNT,   /* a mount point, likewise */
    LOOP_FREEZE,  /* of the filesystem mounted at this path, likewise */
    LOOP_ASKED,   /* the kernel may make a loop device besides these: "0-7" */
    LOOP_NUMBER,  /* a loop device of this number was made for us */
    LOOP_N_DEEDS,
} LoopDeed;

const char *loop_deed_name(LoopDeed deed);
/* Whether it is about a path below the state folder. */
gboolean loop_ledger_has_path(LoopDeed deed);

/**
 * loop_ledger_open:
 * @folder: absolute; made if it is not there
 * Locks the folder until loop_ledger_free(). Refuses a folder that is not empty and was not made by
 * this driver, and one that other users may write to. Returns: (owned): %NULL with
 * PERMISSION_DENIED: not ours; ABORTED: another process has it; INTERNAL
 */
LoopLedger *loop_ledger_open(const char *folder, GError **error);
void loop_ledger_free(LoopLedger *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LoopLedger, loop_ledger_free)
/* Forgets the ledger after all deeds were taken back, and removes the folder if we made it. */
void loop_ledger_retire(LoopLedger *self);

const char *loop_ledger_folder(const LoopLedger *self); /* without links and a slash at the end */
/* Returns: (owned): @path below the folder */
char *loop_ledger_path(const LoopLedger *self, const char *path);
/* Whether the folders above @path, which is below @folder, are folders on its file system to which
 * nobody but us may write; a link leads elsewhere. Those that are not there do no harm. Returns:
 * %FALSE with PERMISSION_DENIED, or INTERNAL */
gboolean loop_ledger_check_path(const char *folder, const char *path, GError **error);
/* Call it before the deed. Returns: %FALSE if it could not be noted, or if its path fails
 * loop_ledger_check_path(): then do not do it */
gboolean loop_ledger_do(LoopLedger *self, LoopDeed deed, const char *what, GError **error);
/* Call it after the deed was taken back, or if it did not happen. */
void loop_ledger_undo(LoopLedger *self, LoopDeed deed, const char *what);

typedef struct {
    LoopDeed deed;
    char *what;
} LoopEntry;

/* Reads the ledger of @folder, in order, without a lock. @n_strange: (out) (optional): how many
 * lines no ledger of ours has; nothing is done about them. Returns: (owned): of LoopEntry (owned);
 * %NULL: PERMISSION_DENIED: the folder is not ours; NOT_FOUND: there is none */
GPtrArray *loop_ledger_read(const char *folder, unsigned *n_strange, GError **error);
/* Whether a process works in @folder. */
gboolean loop_ledger_is_taken(const char *folder);

/* Makes a folder below the state folder, with the folders above it, and notes each. @path:
 * relative */
gboolean loop_ledger_make_folder(LoopLedger *self, const char *path, GError **error);
/* Removes a file or empty folder that we made. It may be gone, or contain files of others. */
gboolean loop_ledger_remove(LoopLedger *self, LoopDeed deed, const char *path, GError **error);
/* fsync() of a folder below the state folder. */
gboolean loop_ledger_flush_folder(const LoopLedger *self, const char *path, GError **error);
