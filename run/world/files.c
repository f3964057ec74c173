/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run-private.h"

/* Files in volumes beyond the driver's option: a claim's own number, and the group that the pods of
 * an imported cluster have given them. */

static CsiModelledDriver *
files_driver_of(const Run *self, const VolumeSource *source)
{
    CsiDriver *driver = source == NULL || source->driver == NULL
                            ? NULL
                            : cluster_find_driver(self->cluster, source->driver);

    return driver == NULL ? NULL : csi_modelled_driver_cast(driver);
}

/* The volume has found its claim: an annotation that tells something counts from now on. */
static void
files_see_write(void *data, const RunRecord *record)
{
    const Object *before = record->before, *after = record->after;
    const Run *self = data;

    if (after == NULL || object_kind(after) != KIND_VOLUME)
        return;
    const Volume *volume = VOLUME_CONST(after);
    const ObjectKey *key = volume->claim_ref.claim;
    CsiModelledDriver *driver = files_driver_of(self, volume->source);
    if (driver == NULL || key == NULL ||
        (before != NULL && VOLUME_CONST(before)->claim_ref.claim == key))
        return;
    const Object *claim = api_server_get(cluster_api(self->cluster), key);
    int64_t n_files = claim == NULL ? -1 : claim_files(CLAIM_CONST(claim));
    if (n_files >= 0)
        csi_modelled_driver_set_files(driver, volume->source->handle, n_files);
}

void
world_watch_files(Run *self)
{
    records_watch(self->records, RECORD_WRITE, files_see_write, self);
}

static void
adopt_group(const Run *self, const Pod *pod)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const PodVolume *item = &pod->volumes->items[i];
        const ObjectKey *key = pod_claim_key(self->objects, pod, item);
        const Object *claim = key == NULL ? NULL : api_server_get(cluster_api(self->cluster), key);
        const Object *pv = claim == NULL ? NULL
                                         : world_find(self, KIND_VOLUME, NULL,
                                                      claim_volume_name(CLAIM_CONST(claim)));
        CsiModelledDriver *driver =
            pv == NULL ? NULL : files_driver_of(self, VOLUME_CONST(pv)->source);
        CsiFiles *files = driver == NULL
                              ? NULL
                              : csi_modelled_driver_files(driver, VOLUME_CONST(pv)->source->handle);
        if (files != NULL)
            files->group = pod->spec->fs_group;
    }
}

void
world_adopt_groups(Run *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Object *pod =
            api_server_get(cluster_api(self->cluster), objects_key_at(self->objects, KIND_POD, i));
        if (pod != NULL && POD_CONST(pod)->phase == POD_RUNNING &&
            POD_CONST(pod)->spec->fs_group >= 0)
            adopt_group(self, POD_CONST(pod));
    }
}
