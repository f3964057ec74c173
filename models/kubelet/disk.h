/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kubelet-private.h"

/* An image that was pulled, or is being pulled: the disk keeps it. */
typedef struct {
    const char *name; /* interned */
    SimTime there_at;
} PulledImage;

/* A volume's directory in its pod's, with its vol_data.json: there from before it is published
 * until after it has been unpublished. The kubelet finds its path and its file when it starts; here
 * the pod's object stands for the pod, too. */
typedef struct {
    const char *path;   /* "<uid>/volumes/<plugin>/<name>", or with volumeDevices; interned */
    const Object *pod;  /* (owned) */
    const char *volume; /* its name in the pod; interned */
    StringMap *data;    /* (owned): CSI: the file */
    const Object *pv;   /* (owned): of other plugins, which have no file; else NULL */
    gboolean is_spoilt; /* the file cannot be read any more (KVM-62) */
    /* As the kubelet's start has found it. */
    const char *plugin, *name; /* interned */
    gboolean is_block;
    gboolean failed; /* it could not be rebuilt, and was not cleaned up yet */
} VolumeDirectory;

/* What its node's disk keeps, across restarts and power cuts. */
typedef struct {
    GPtrArray *directories; /* of VolumeDirectory */
    GArray *images;         /* of PulledImage, by name */
    SimTime pulls_until;    /* the end of all pulls that were asked for */
} KubeletDisk;

KubeletDisk *kubelet_disk(const Kubelet *self); /* makes it if there is none */
void kubelet_free_disk(void *disk);
