/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/release.h"
#include "models/api/storage.h"

/* The table of volume plugins (VPL-15), and the names on which the controllers and the kubelet
 * agree. */
typedef struct {
    const char *source;        /* its key in PersistentVolume.spec: "csi" */
    const char *name;          /* "kubernetes.io/csi" */
    gboolean attachable;       /* CSI: unless the CSIDriver says attachRequired: false */
    gboolean device_mountable; /* mounted once per node, then into each pod */
    gboolean node_expandable;  /* a mount looks whether the claim has grown (KVM-54) */
    gboolean is_inline;        /* for volumes that stand in a pod (CSP-4) */
    gboolean takes_options; /* SupportsMountOption(): others refuse a mount with any (KVM-41.2) */
    int gone;               /* release 1.gone is without it (INT-42); 0: none is */
} VolumePlugin;

/* Of a FlexVolume driver whose init says that it does not attach (FLX-33) */
extern const VolumePlugin volume_plugin_flex_mounts_only;

/* Returns: (borrowed): %NULL: no volume plugin matched (VPL-19) */
const VolumePlugin *volume_plugin_find(const VolumeSource *source);
/* INT-42: no component of the release has it. Plugins that can migrate: in_tree_plugin_is_gone() */
gboolean volume_plugin_is_gone(const VolumePlugin *self, const Release *release);
/* Whether a plugin has this name, as directories have it. */
gboolean volume_plugin_exists(const char *name);
gboolean volume_plugin_is_csi(const VolumePlugin *self);
/* VPL-15, last word on attachability. @driver: the CSIDriver object, NULL: there is none, so attach
 * is required. */
gboolean volume_plugin_is_attachable(const VolumePlugin *self, const CsiDriverObject *driver);

/**
 * volume_mount_options:
 * @system: options that the caller always adds; NULL: none
 * Returns: (owned): the options of a mount by a plugin other than CSI: from the old annotation,
 * else from the PersistentVolume, and @system; each once. NULL: none. CSI drivers get
 * spec.mountOptions only
 */
StringList *volume_mount_options(Strings *strings, const Volume *volume, const StringList *system);

/* The unique name of a volume that is attachable or device-mountable (KVM-12), as Node status lists
 * it: "kubernetes.io/csi/DRIVER^HANDLE". Interned. */
const char *volume_unique_name(Strings *strings, const VolumePlugin *plugin, const Volume *volume);
/* The same of a source, of a volume of this name. */
const char *
volume_source_unique_name(Strings *strings, const VolumeSource *source, const char *name);
/* The handle of a CSI volume that stands in a pod under this name (CSP-10). Interned */
const char *volume_inline_handle(Strings *strings, ObjectUid pod, const char *name);
/* @driver: (out) (owned). Returns: the handle in the unique name of a CSI volume; NULL: it is none
 */
const char *volume_unique_name_parse(const char *name, char **driver);
/* "csi-" and the SHA-256 of handle, driver and node (ADC-59). Returns: interned */
const char *
volume_attachment_name(Strings *strings, const char *driver, const char *handle, const char *node);
/* The VolumeAttachment of a CSI volume and a node. */
ObjectKey *
volume_attachment_key(Objects *objects, const char *driver, const char *handle, const char *node);
