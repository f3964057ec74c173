/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "disks.h"

typedef struct {
    const char *plugin;
    gboolean (*is_same)(const VolumeSource *a, const VolumeSource *b);
    gboolean shares_readers; /* two that only read get along */
} DiskKind;

static gboolean
same_handle(const VolumeSource *a, const VolumeSource *b)
{
    return a->handle == b->handle;
}

/* The portal may differ. */
static gboolean
same_target(const VolumeSource *a, const VolumeSource *b)
{
    return string_map_equal(a->attributes, b->attributes);
}

/* Pool and image, and a monitor in common. */
static gboolean
same_image(const VolumeSource *a, const VolumeSource *b)
{
    if (a->handle != b->handle)
        return FALSE;
    for (unsigned i = 0; a->attributes != NULL && i < a->attributes->n_pairs; i++)
        if (string_map_has(b->attributes, a->attributes->pairs[i].key))
            return TRUE;
    return FALSE;
}

static const DiskKind disk_kinds[] = {
    {"gcePersistentDisk",    same_handle, TRUE },
    {"awsElasticBlockStore", same_handle, FALSE},
    {"iscsi",                same_target, TRUE },
    {"rbd",                  same_image,  TRUE },
};

static const DiskKind *
disks_kind_of(const VolumeSource *source)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(disk_kinds); i++)
        if (g_strcmp0(disk_kinds[i].plugin, source->plugin) == 0)
            return &disk_kinds[i];
    return NULL;
}

/* The pod's @i-th inline volume in the order of its spec; NULL: the end. */
static const VolumeSource *
inline_source(const Pod *pod, unsigned i)
{
    const PodVolumes *volumes = pod->volumes;

    if (volumes == NULL || i >= volumes->n_inline)
        return NULL;
    const VolumeSource *source = volumes->items[volumes->n_items + i].source;
    return source->origin != NULL ? source->origin : source;
}

gboolean
pod_has_exclusive_disks(const Pod *self)
{
    const VolumeSource *source;

    for (unsigned i = 0; (source = inline_source(self, i)) != NULL; i++)
        if (disks_kind_of(source) != NULL)
            return TRUE;
    return FALSE;
}

static gboolean
conflict(const VolumeSource *a, const VolumeSource *b)
{
    const DiskKind *kind = disks_kind_of(a);

    return kind != NULL && kind == disks_kind_of(b) && kind->is_same(a, b) &&
           !(kind->shares_readers && a->read_only && b->read_only);
}

gboolean
pods_want_one_disk(const Pod *self, const Pod *other)
{
    const VolumeSource *ours, *theirs;

    for (unsigned i = 0; (ours = inline_source(self, i)) != NULL; i++)
        for (unsigned j = 0; (theirs = inline_source(other, j)) != NULL; j++)
            if (conflict(ours, theirs))
                return TRUE;
    return FALSE;
}
