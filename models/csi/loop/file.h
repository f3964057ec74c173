/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ledger.h"

/* Backing files of the loop driver: made, copied, grown and removed so that a file with its final
 * name is complete, even after a crash at any instant. Paths are relative to the state folder.
 * Errors are LOOP_ERROR: RESOURCE_EXHAUSTED where the disk is full. */

/* @sparse: reserve no blocks; otherwise writes to the volume never fail for lack of room, if the
 * file system can reserve */
gboolean loop_file_create(
    LoopLedger *ledger, const char *path, int64_t bytes, gboolean sparse, GError **error);
/**
 * loop_file_copy:
 * Copies @source, to at least @bytes. The copy shares blocks if the file system can (LOOP-2), and
 * keeps holes otherwise.
 * @shared: (out): whether it does; may be %NULL
 */
gboolean loop_file_copy(LoopLedger *ledger,
                        const char *source,
                        const char *path,
                        int64_t bytes,
                        gboolean *shared,
                        GError **error);
/* Makes the file longer; after an error it is unchanged. */
gboolean loop_file_grow(
    const LoopLedger *ledger, const char *path, int64_t bytes, gboolean sparse, GError **error);
gboolean loop_file_remove(LoopLedger *ledger, const char *path, GError **error);
int64_t loop_file_bytes(const LoopLedger *ledger, const char *path); /* -1: there is none */
/* Returns: how many bytes this process can still write to the folder's file system; 0: unknown */
int64_t loop_file_room(const LoopLedger *ledger);

/* Writes a small file under another name, then renames it. @durable: it must survive a power cut */
gboolean loop_file_write(
    LoopLedger *ledger, const char *path, const char *text, gboolean durable, GError **error);
