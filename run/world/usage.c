/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/local/volume-filling.h"
#include "run-private.h"

/* Claims say by an annotation how their volumes fill. The back end, which counts the bytes, hears
 * of it once the claim is bound. */

static void
tell_driver(const Run *self, const Claim *claim)
{
    const char *text = object_annotation(&claim->meta, ANNOTATION_USAGE);
    const Object *pv = world_find(self, KIND_VOLUME, NULL, claim->volume_name);
    const VolumeSource *source = pv == NULL ? NULL : VOLUME_CONST(pv)->source;
    CsiDriver *base = source == NULL || source->driver == NULL
                          ? NULL
                          : cluster_find_driver(self->cluster, source->driver);
    CsiModelledDriver *driver = base == NULL ? NULL : csi_modelled_driver_cast(base);
    VolumeFilling filling;

    if (driver == NULL || (text != NULL && !volume_filling_parse(text, &filling, NULL)))
        return;
    csi_modelled_driver_set_usage(driver, source->handle, text == NULL ? NULL : &filling);
}

static void
usage_see_write(void *data, const RunRecord *record)
{
    const Object *before = record->before, *after = record->after;
    const char *text;

    if (after == NULL || object_kind(after) != KIND_CLAIM ||
        CLAIM_CONST(after)->volume_name == NULL)
        return;
    text = object_annotation(after, ANNOTATION_USAGE);
    if (before == NULL ? text != NULL
                       : text != object_annotation(before, ANNOTATION_USAGE) ||
                             (text != NULL && CLAIM_CONST(before)->volume_name == NULL))
        tell_driver(data, CLAIM_CONST(after));
}

void
usage_begin(Run *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Object *claim = api_server_get(cluster_api(self->cluster),
                                             objects_key_at(self->objects, KIND_CLAIM, i));
        if (claim != NULL)
            usage_see_write(self, &(RunRecord){.after = claim});
    }
    records_watch(self->records, RECORD_WRITE, usage_see_write, self);
}
