/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which PersistentVolume a handle or a unique name means: driver calls know handles, nodes know
 * unique names, attachments know object names. Volumes that stand in pods get a key of their own. A
 * name that was added stays, since calls and detaches come after the object is gone. */
#include "volume-names.h"

#include "models/volume/plugins.h"
#include "sim/pointer-map.h"

/* The volumes of one driver, by its own ids. */
typedef struct {
    const CsiDriver *driver;
    PointerMap by_handle; /* interned volume id -> ObjectKey of the volume */
} DriverVolumes;

struct VolumeNames {
    const Cluster *cluster;
    Objects *objects;
    GPtrArray *drivers; /* of DriverVolumes (owned) */
    PointerMap by_name; /* interned unique name -> ObjectKey of the volume */
};

static void
driver_volumes_free(void *data)
{
    DriverVolumes *driver = data;

    pointer_map_clear(&driver->by_handle, NULL);
    g_free(driver);
}

VolumeNames *
volume_names_new(const Cluster *cluster, Objects *objects)
{
    VolumeNames *self = g_new0(VolumeNames, 1);

    self->cluster = cluster;
    self->objects = objects;
    self->drivers = g_ptr_array_new_with_free_func(driver_volumes_free);
    return self;
}

void
volume_names_free(VolumeNames *self)
{
    if (self == NULL)
        return;
    pointer_map_clear(&self->by_name, NULL);
    g_ptr_array_unref(self->drivers);
    g_free(self);
}

/* Returns: NULL: no volume of the driver is known */
static DriverVolumes *
volumes_of_driver(const VolumeNames *self, const CsiDriver *driver)
{
    for (unsigned i = 0; i < self->drivers->len; i++)
        if (((DriverVolumes *)self->drivers->pdata[i])->driver == driver)
            return self->drivers->pdata[i];
    return NULL;
}

/* @driver: NULL: not a driver of the cluster */
static void
add_names(VolumeNames *self,
          ObjectKey *volume,
          const char *unique_name,
          const CsiDriver *driver,
          const char *id)
{
    if (unique_name != NULL)
        pointer_map_set(&self->by_name, unique_name, volume);
    if (id == NULL || driver == NULL)
        return;
    DriverVolumes *volumes = volumes_of_driver(self, driver);
    if (volumes == NULL) {
        volumes = g_new0(DriverVolumes, 1);
        volumes->driver = driver;
        g_ptr_array_add(self->drivers, volumes);
    }
    pointer_map_set(&volumes->by_handle, id, volume);
}

static const char *
csi_name(const VolumeNames *self, const VolumeSource *source)
{
    return strings_internf(objects_strings(self->objects), "kubernetes.io/csi/%s^%s",
                           source->driver, source->handle);
}

/* @name: of the PersistentVolume, or of the volume in its pod */
static void
add_source(VolumeNames *self, ObjectKey *volume, const VolumeSource *source, const char *name)
{
    const VolumeSource *in_process =
        source->origin != NULL || source->driver != NULL ? source->origin : source;
    const CsiDriver *backend =
        in_process == NULL ? NULL : cluster_backend(self->cluster, in_process, NULL);

    if (source->driver != NULL)
        add_names(self, volume, csi_name(self, source),
                  cluster_find_driver(self->cluster, source->driver), source->handle);
    if (backend != NULL) /* INT-2 */
        add_names(self, volume,
                  volume_source_unique_name(objects_strings(self->objects), in_process, name),
                  backend, volume_source_backend_id(in_process, name));
}

void
volume_names_add(VolumeNames *self, const Volume *volume)
{
    if (volume->source != NULL)
        add_source(self, (ObjectKey *)volume->meta.key, volume->source, object_name(&volume->meta));
}

static const ObjectKey *
add_inline(VolumeNames *self, const Pod *pod, const PodVolume *volume)
{
    Strings *strings = objects_strings(self->objects);
    VolumeSource source = *volume->source;

    if (source.is_inline)
        source.handle = volume_inline_handle(strings, pod->meta.uid, volume->name);
    const char *name = source.is_inline ? source.handle : source.inline_name;
    if (name == NULL)
        name = volume_source_unique_name(strings, &source, volume->name);
    ObjectKey *key =
        objects_key(self->objects, KIND_VOLUME, NULL, name != NULL ? name : volume->name);
    add_source(self, key, &source, volume->name);
    return key;
}

const ObjectKey **
volume_names_add_pod(VolumeNames *self, const Pod *pod)
{
    const PodVolumes *volumes = pod->volumes;

    if (volumes == NULL || volumes->n_inline == 0)
        return NULL;
    const ObjectKey **keys = g_new(const ObjectKey *, volumes->n_inline);
    for (unsigned i = 0; i < volumes->n_inline; i++)
        keys[i] = add_inline(self, pod, &volumes->items[volumes->n_items + i]);
    return keys;
}

const ObjectKey *
volume_names_of_id(const VolumeNames *self, const CsiDriver *driver, const char *id)
{
    const DriverVolumes *volumes = volumes_of_driver(self, driver);

    return volumes == NULL ? NULL : pointer_map_get(&volumes->by_handle, id);
}

const ObjectKey *
volume_names_of_unique_name(const VolumeNames *self, const char *name)
{
    return pointer_map_get(&self->by_name, name);
}

const ObjectKey *
volume_names_of_attachment(const VolumeNames *self, const Attachment *attachment)
{
    if (attachment->volume_name != NULL)
        return objects_key(self->objects, KIND_VOLUME, NULL, attachment->volume_name);
    return attachment->inline_volume == NULL
               ? NULL
               : volume_names_of_unique_name(
                     self, csi_name(self, VOLUME_CONST(attachment->inline_volume)->source));
}
