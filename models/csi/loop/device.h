/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ledger.h"

/* Loop devices of this machine (docs/rules/csi-driver.md, section 9). Errors are LOOP_ERROR with a
 * CsiCode. */

/* Returns: whether this process may use them; %FALSE with PERMISSION_DENIED, which tells the
 * reason */
gboolean loop_device_permitted(GError **error);

/* Whether this process has a capability, such as CAP_SYS_ADMIN. */
gboolean loop_has_capability(unsigned capability);

typedef struct {
    int number;
    char *backing_file;  /* as the kernel prints it, without " (deleted)" */
    gboolean is_deleted; /* the backing file has no name any more */
} LoopDevice;

/* Returns: (owned): of LoopDevice (owned): the bound devices, by number */
GPtrArray *loop_devices_list(void);
/* Whether @full (absolute) is the backing file: by name or by inode. The kernel prints the path
 * in the mount namespace of the process at its binding; a later container has another path. */
gboolean loop_device_has(const LoopDevice *self, const char *full);
/* Returns: the device with this backing file (absolute); -1: none */
int loop_device_of(const char *backing_file);

/**
 * loop_device_attach:
 * @path: of the backing file, below the state folder
 * Binds a free device, or finds the device that is bound already: a file bound twice loses data
 * (LOOP-19). The caller makes sure that nobody attaches this file at the same time. Returns: its
 * number; -1
 */
int loop_device_attach(LoopLedger *ledger, const char *path, gboolean direct_io, GError **error);
/* Unbinds the device, and waits until the kernel has released it (LOOP-15); it may be unbound
 * already. INTERNAL: it is in use */
gboolean loop_device_detach(LoopLedger *ledger, const char *path, GError **error);
/* Tells the kernel that the backing file has grown (LOOP-11). */
gboolean loop_device_grow(LoopLedger *ledger, int number, GError **error);
int64_t loop_device_bytes(LoopLedger *ledger, int number); /* -1: unknown */
/* The device: in /dev, or made below the state folder where /dev has none (LOOP-20). (owned) */
char *loop_device_path(LoopLedger *ledger, int number, GError **error);

/* Removes devices that the kernel made for us, unless they are in use: the numbers in the ledger
 * (LOOP_NUMBER), and numbers that appeared during a request whose process died before it noted them
 * (LOOP_ASKED). */
void loop_device_return_numbers(LoopLedger *ledger, const GPtrArray *entries);
