/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ledger.h"

/* Loop devices of this machine (docs/rules/csi-driver.md, section 9). Errors are LOOP_ERROR with a
 * CsiCode. */

/* Whether this process may use them at all. Returns: %FALSE: PERMISSION_DENIED, with what is
 * missing */
gboolean loop_device_permitted(GError **error);

typedef struct {
    int number;
    char *backing_file;  /* as the kernel tells it, without " (deleted)" */
    gboolean is_deleted; /* the backing file has no name any more */
} LoopDevice;

/* Returns: (owned): of LoopDevice (owned): those that are bound, by number */
GPtrArray *loop_devices_list(void);
/* Returns: the device with this backing file (absolute); -1: none */
int loop_device_of(const char *backing_file);

/**
 * loop_device_attach:
 * @path: of the backing file, below the state folder
 * Binds a free device, or finds the one that is bound already: a file bound twice is a file lost
 * (LOOP-19). The caller keeps others from attaching this file at the same time. Returns: its
 * number; -1
 */
int loop_device_attach(LoopLedger *ledger, const char *path, gboolean direct_io, GError **error);
/* Takes it back, and waits until the kernel has let go (LOOP-15). A device that is not bound is
 * fine. INTERNAL: somebody uses it */
gboolean loop_device_detach(LoopLedger *ledger, const char *path, GError **error);
/* After the backing file grew (LOOP-11). */
gboolean loop_device_grow(LoopLedger *ledger, int number, GError **error);
int64_t loop_device_bytes(LoopLedger *ledger, int number); /* -1: cannot be told */
/* The device's name: in /dev, or made below the state folder where /dev has none (LOOP-20). (owned)
 */
char *loop_device_path(LoopLedger *ledger, int number, GError **error);

/* Gives devices back that were made for us, unless somebody uses them: numbers that stand in the
 * ledger (LOOP_NUMBER), and those that came up while a question was under way when the process died
 * (LOOP_ASKED). */
void loop_device_return_numbers(LoopLedger *ledger, const GPtrArray *entries);
