/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ledger.h"

/* File systems of the loop driver: probing, making, growing and mounting them. libblkid probes,
 * libmount mounts, the file systems' own tools make and grow. Errors are LOOP_ERROR with a CsiCode;
 * paths are absolute unless said otherwise. */

typedef struct {
    const char *folders; /* folders of tools before PATH and /sbin, separated by ":"; NULL: none */
} LoopTools;

/* Probes a device. @type: (out) (owned): "ext4"; %NULL: it is empty. Returns: FALSE if unsure: it
 * must not be formatted */
gboolean loop_probe(const char *device, char **type, GError **error);
/* Whether this driver can make and grow this file system. @bytes_min: (out): the smallest */
gboolean loop_type_is_known(const char *type, int64_t *bytes_min);
gboolean loop_format(const LoopTools *tools, const char *device, const char *type, GError **error);
/* LOOP-5: checks a formatted device before it is mounted for writing. Returns: FALSE if errors are
 * left */
gboolean loop_check(const LoopTools *tools, const char *device, const char *type, GError **error);
/* The size of an unmounted ext file system; 0: another type. */
int64_t loop_filesystem_bytes(const char *device);
/* Grows an unmounted file system. xfs grows only while it is mounted: no error here. */
gboolean
loop_grow_offline(const LoopTools *tools, const char *device, const char *type, GError **error);
/* FAILED_PRECONDITION: it cannot grow on this machine while it is in use */
gboolean loop_grow_online(const LoopTools *tools,
                          const char *device,
                          const char *mount_point,
                          const char *type,
                          GError **error);
gboolean loop_can_grow_online(const char *type);

/* Both make and note missing folders; @target is relative to the state folder. */
gboolean loop_mount(LoopLedger *ledger,
                    const char *device,
                    const char *target,
                    const char *type,
                    const char *options,
                    GError **error);
gboolean loop_bind(
    LoopLedger *ledger, const char *source, const char *target, gboolean readonly, GError **error);
/* Unmounts, if it is mounted. @wait_us: how long to try while it is in use. INTERNAL: it still is
 * in use */
gboolean loop_unmount(LoopLedger *ledger, const char *target, gint64 wait_us, GError **error);

typedef struct {
    char *target, *source, *type,
        *root; /* root: the mounted part of the file system: "/", or "/loop3" of a bound device */
    unsigned major, minor;
    gboolean readonly;
} LoopMount;

/* Returns: (owned): of LoopMount (owned): /proc/self/mountinfo, in its order */
GPtrArray *loop_mounts_read(void);
/* Returns: (borrowed): the topmost mount at this target; NULL: none */
const LoopMount *loop_mounts_find(const GPtrArray *mounts, const char *target);

/* Between the two calls nobody can write. Always thaw. */
gboolean loop_freeze(LoopLedger *ledger, const char *mount_point, GError **error);
void loop_thaw(LoopLedger *ledger, const char *mount_point);
