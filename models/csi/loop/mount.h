/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ledger.h"

/* File systems of the loop driver: what is on a device, how it gets one, and where it is mounted.
 * libblkid probes, libmount mounts, the file systems' own tools make and grow. Errors are
 * LOOP_ERROR with a CsiCode; paths are absolute unless said otherwise. */

typedef struct {
    const char *folders; /* where tools are looked for before PATH and /sbin, with ":" between;
                            NULL: nowhere else */
} LoopTools;

/* What is on a device. @type: (out) (owned): "ext4"; %NULL: nothing at all. FALSE: cannot be told:
 * it must not be formatted */
gboolean loop_probe(const char *device, char **type, GError **error);
/* Whether this driver can make and grow a file system of this type; the smallest it makes, in
 * bytes. */
gboolean loop_type_is_known(const char *type, int64_t *bytes_min);
gboolean loop_format(const LoopTools *tools, const char *device, const char *type, GError **error);
/* LOOP-5: before a formatted device is mounted for writing. FALSE: errors that could not be
 * repaired */
gboolean loop_check(const LoopTools *tools, const char *device, const char *type, GError **error);
/* The size of an unmounted ext file system; 0: another type. */
int64_t loop_filesystem_bytes(const char *device);
/* Grows what is not mounted; xfs can do so only while it is, which is no error here. */
gboolean
loop_grow_offline(const LoopTools *tools, const char *device, const char *type, GError **error);
/* FAILED_PRECONDITION: this machine does not let it grow while it is in use */
gboolean loop_grow_online(const LoopTools *tools,
                          const char *device,
                          const char *mount_point,
                          const char *type,
                          GError **error);
gboolean loop_can_grow_online(const char *type);

/* Both make and write down what is not there; @target is relative to the state folder. */
gboolean loop_mount(LoopLedger *ledger,
                    const char *device,
                    const char *target,
                    const char *type,
                    const char *options,
                    GError **error);
gboolean loop_bind(
    LoopLedger *ledger, const char *source, const char *target, gboolean readonly, GError **error);
/* Takes a mount back; none there is fine. @wait_us: how long to try while it is in use. INTERNAL:
 * it still is */
gboolean loop_unmount(LoopLedger *ledger, const char *target, gint64 wait_us, GError **error);

typedef struct {
    char *target, *source, *type,
        *root; /* root: what of the file system: "/", or "/loop3" of a bound device */
    unsigned major, minor;
    gboolean readonly;
} LoopMount;

/* Returns: (owned): of LoopMount (owned): /proc/self/mountinfo, in its order */
GPtrArray *loop_mounts_read(void);
/* Returns: (borrowed): the topmost at exactly this target; NULL: none */
const LoopMount *loop_mounts_find(const GPtrArray *mounts, const char *target);

/* Between the two nobody can write; always thaw. */
gboolean loop_freeze(LoopLedger *ledger, const char *mount_point, GError **error);
void loop_thaw(LoopLedger *ledger, const char *mount_point);
