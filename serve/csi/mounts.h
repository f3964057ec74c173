/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi.h"

/* What a kubelet finds at the target path of a volume. Paths come from callers: they are opened
 * below a root, so that neither ".." nor a symbolic link leads out. */

typedef enum {
    CSI_MOUNT_NONE,  /* a directory, or a file for a block volume */
    CSI_MOUNT_TMPFS, /* a file system in memory, which ends with the target */
    CSI_MOUNT_OFF,   /* nothing: paths are only names */
    CSI_MOUNT_BIND,  /* a folder of the driver, which lives as long as the volume */
} CsiMountMode;

typedef struct {
    CsiMountMode mode;
    const char *root;   /* absolute; may be a symbolic link itself */
    const char *folder; /* of volumes, for BIND; made if there is none */
} CsiMounts;

/* Returns: why no caller may name @path: static; %NULL: it is absolute, and without "." and ".." */
const char *csi_path_fault(const char *path);

/* All errors are LOOP_ERROR-like codes of CSI: GError with the domain of csi_mounts_error_quark()
 * and a CsiCode. */
GQuark csi_mounts_error_quark(void);

/**
 * csi_mounts_publish:
 * @request: a NodePublishVolume that the driver has answered with OK
 * @capacity_bytes: of the volume; 0: unknown
 * @source: an absolute path to bind in any mode; %NULL: as the mode says
 * Can be repeated.
 */
gboolean csi_mounts_publish(const CsiMounts *self,
                            const CsiRequest *request,
                            int64_t capacity_bytes,
                            const char *source,
                            GError **error);
/* The volume has grown: a file system in memory at @path does, too. */
gboolean
csi_mounts_expand(const CsiMounts *self, const char *path, int64_t capacity_bytes, GError **error);
/* Unmounts and removes the target; it may be gone already. */
gboolean csi_mounts_unpublish(const CsiMounts *self, const char *path, GError **error);
/* The volume is deleted: so is its folder of BIND. */
void csi_mounts_forget(const CsiMounts *self, const char *volume_id);
