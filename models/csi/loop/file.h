/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ledger.h"

/* Backing files of the loop driver: made, copied, grown and removed so that after a crash at any
 * instant a file of its final name is whole. Paths are relative to the state folder. Errors are
 * LOOP_ERROR: RESOURCE_EXHAUSTED where the disk is full. */

/* @sparse: reserve no blocks; else writing to the volume cannot fail for want of room, where the
 * file system knows how */
gboolean loop_file_create(
    LoopLedger *ledger, const char *path, int64_t bytes, gboolean sparse, GError **error);
/**
 * loop_file_copy:
 * A copy of @source, at least @bytes long, that shares its blocks where the file system can
 * (LOOP-2), else one that leaves out its holes.
 * @shared: (out): whether it does; may be %NULL
 */
gboolean loop_file_copy(LoopLedger *ledger,
                        const char *source,
                        const char *path,
                        int64_t bytes,
                        gboolean *shared,
                        GError **error);
/* Makes it longer, or leaves it as it was. */
gboolean loop_file_grow(
    const LoopLedger *ledger, const char *path, int64_t bytes, gboolean sparse, GError **error);
gboolean loop_file_remove(LoopLedger *ledger, const char *path, GError **error);
int64_t loop_file_bytes(const LoopLedger *ledger, const char *path); /* -1: there is none */
/* What could still be written to the folder's file system, by us; 0: it cannot be told. */
int64_t loop_file_room(const LoopLedger *ledger);

/* Writes a small file whole: under another name first, then renamed. @durable: it has to outlive a
 * power cut, too */
gboolean loop_file_write(
    LoopLedger *ledger, const char *path, const char *text, gboolean durable, GError **error);
