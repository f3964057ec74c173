/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "csi-plugin.h"
#include "models/kubelet/csi-plugin/csi-plugin-test.h"

/* vol_data.json: saveVolumeData() and ConstructVolumeSpec(). */

#define VOLUME_NAME "specVolID"
#define HANDLE "volumeHandle"
#define DRIVER "driverName"
#define LIFECYCLE_MODE "volumeLifecycleMode"

StringMap *
csi_saved_device_data(Strings *strings, const VolumeSource *source)
{
    const StringPair pairs[] = {
        {strings_intern(strings, HANDLE), source->handle},
        {strings_intern(strings, DRIVER), source->driver},
    };

    return string_map_new(pairs, G_N_ELEMENTS(pairs));
}

/* A block volume's mapper has no lifecycle mode: such a volume is never inline. */
StringMap *
csi_saved_data(Strings *strings, const NodeVolume *node_volume, const char *node)
{
    const Volume *volume = VOLUME_CONST(node_volume->pv);
    const VolumeSource *source = volume->source;
    const char *attachment =
        node_volume->attachment != NULL
            ? node_volume->attachment->name
            : volume_attachment_name(strings, source->driver, source->handle, node);
    g_autoptr(StringMap) device = csi_saved_device_data(strings, source);
    StringPair pairs[] = {
        device->pairs[0],
        device->pairs[1],
        {VOLUME_NAME,    volume->meta.key->name         },
        {"nodeName",     node                           },
        {"attachmentID", attachment                     },
        {LIFECYCLE_MODE, csi_spec_lifecycle_mode(source)},
    };
    unsigned n = G_N_ELEMENTS(pairs) - (volume->volume_mode == VOLUME_BLOCK ? 1 : 0);

    for (unsigned i = 0; i < n; i++)
        pairs[i] = (StringPair){strings_intern(strings, pairs[i].key),
                                strings_intern(strings, pairs[i].value)};
    return string_map_new(pairs, n);
}

Object *
csi_saved_data_volume(const Component *component, const StringMap *data, gboolean is_block)
{
    const char *name = string_map_get(data, VOLUME_NAME);
    const char *mode = string_map_get(data, LIFECYCLE_MODE);
    VolumeSource source = {
        .plugin = "csi",
        .driver = string_map_get(data, DRIVER),
        .handle = string_map_get(data, HANDLE),
    };

    if (name == NULL || source.driver == NULL || source.handle == NULL)
        return NULL;
    source.is_inline = !is_block && g_strcmp0(mode, "Ephemeral") == 0;
    Object *object = object_new(objects_key(component->objects, KIND_VOLUME, NULL, name));
    VOLUME(object)->source = volume_source_new(&source);
    VOLUME(object)->volume_mode = is_block ? VOLUME_BLOCK : VOLUME_FILESYSTEM;
    return object;
}
