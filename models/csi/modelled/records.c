/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of the back end as JSON, object by object, for a driver that is served over a socket
 * and started again. Times are kept as ns since 1970, because the virtual time of the next process
 * begins anew. A record of an object that exists already is ignored, and so is a place on a node
 * that is no node of the driver any more. */
#include "modelled-private.h"

#include <jansson.h>

#include "models/api/map-json.h"
#include "records.h"

/* ---- To JSON ---- */

static json_t *
maps_json(StringMap *const *maps, unsigned n)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(array, map_to_json(maps[i]));
    return array;
}

static json_t *
records_capability_json(const CsiCapability *capability)
{
    json_t *flags = json_array();

    for (unsigned i = 0; capability->mount_flags != NULL && i < capability->mount_flags->n_items;
         i++)
        json_array_append_new(flags, json_string(capability->mount_flags->items[i]));
    return json_pack("{s:i,s:i,s:s*,s:o,s:s*}", "mode", capability->mode, "type", capability->type,
                     "fsType", capability->fs_type, "flags", flags, "group",
                     capability->volume_mount_group);
}

static json_t *
place_json(const VolumeNode *on)
{
    json_t *targets = json_array();

    for (const BackendTarget *target = on->targets; target != NULL; target = target->next)
        json_array_append_new(targets, json_pack("{s:s,s:b,s:o}", "path", target->path, "readonly",
                                                 target->readonly, "as",
                                                 records_capability_json(&target->capability)));
    return json_pack("{s:s,s:b,s:b,s:b,s:o,s:s*,s:o,s:o}", "node", on->node->name, "published",
                     on->is_published, "readonly", on->readonly, "adopted", on->is_adopted,
                     "publishedAs", records_capability_json(&on->published), "staging",
                     on->staging_path, "stagedAs", records_capability_json(&on->staged), "targets",
                     targets);
}

static json_t *
volume_json(const CsiModelledDriver *self, const BackendVolume *volume, int64_t epoch)
{
    json_t *places = json_array();

    for (const VolumeNode *on = volume->nodes; on != NULL; on = on->next)
        if (on->is_published || on->staging_path != NULL || on->targets != NULL)
            json_array_append_new(places, place_json(on));
    json_t *record = json_pack(
        "{s:s,s:s*,s:b,s:b,s:b,s:b,s:b,s:s*,s:I,s:I,s:b,s:I,s:I,s:I}", "id", volume->id, "name",
        volume->name, "known", volume->was_known, "formatted", volume->is_formatted, "ephemeral",
        volume->is_ephemeral, "inUse", volume->is_in_use, "abnormal", volume->is_abnormal,
        "condition", volume->condition_message, "bytes", (json_int_t)volume->capacity_bytes,
        "filesystem", (json_int_t)volume->filesystem_bytes, "hasData", volume->has_data, "used",
        (json_int_t)modelled_used_bytes(self, volume), "files", (json_int_t)volume->n_files,
        "created", (json_int_t)(epoch + volume->created_at));
    json_object_update_new(
        record, json_pack("{s:I,s:i,s:i,s:o,s:o,s:i,s:s*,s:o,s:o}", "sequence",
                          (json_int_t)volume->sequence, "modes", volume->modes, "types",
                          volume->types, "parameters", map_to_json(volume->parameters), "mutable",
                          map_to_json(volume->mutable_parameters), "sourceKind",
                          volume->source_kind, "source", volume->source_id, "topologies",
                          maps_json(volume->topologies, volume->n_topologies), "places", places));
    return record;
}

static json_t *
snapshot_json(const Snapshot *snapshot, int64_t epoch)
{
    return json_pack("{s:s,s:s*,s:s*,s:I,s:I,s:I,s:I,s:I,s:o}", "id", snapshot->id, "name",
                     snapshot->name, "source", snapshot->source_id, "bytes",
                     (json_int_t)snapshot->size_bytes, "used", (json_int_t)snapshot->used_bytes,
                     "created", (json_int_t)(epoch + snapshot->created_at), "ready",
                     (json_int_t)(snapshot->ready_at == SIM_TIME_MAX ? SIM_TIME_MAX
                                                                     : epoch + snapshot->ready_at),
                     "sequence", (json_int_t)snapshot->sequence, "room",
                     maps_json(snapshot->room, snapshot->n_room));
}

static json_t *
group_json(const BackendGroup *group)
{
    json_t *members = json_array();

    for (unsigned i = 0; i < group->members->len; i++)
        json_array_append_new(members,
                              json_string(((const Snapshot *)group->members->pdata[i])->id));
    return json_pack("{s:s,s:s,s:o}", "id", group->id, "name", group->name, "members", members);
}

static const BackendVolume *
records_find_volume(const CsiModelledDriver *self, const char *name_or_id)
{
    const BackendVolume *volume = pointer_map_get(&self->volumes_by_id, name_or_id);

    if (volume == NULL || !volume->exists)
        volume = pointer_map_get(self->volumes_by_name, name_or_id);
    return volume;
}

json_t *
csi_modelled_driver_record(const CsiModelledDriver *self,
                           CsiRecordKind kind,
                           const char *name_or_id,
                           int64_t epoch)
{
    const BackendVolume *volume;
    const Snapshot *snapshot;
    const BackendGroup *group;

    switch (kind) {
    case CSI_RECORD_VOLUME:
        volume = records_find_volume(self, name_or_id);
        return volume == NULL || !volume->exists ? NULL : volume_json(self, volume, epoch);
    case CSI_RECORD_SNAPSHOT:
        snapshot = g_hash_table_lookup(self->snapshots_by_id, name_or_id);
        if (snapshot == NULL || !snapshot->exists)
            snapshot = g_hash_table_lookup(self->snapshots_by_name, name_or_id);
        return snapshot == NULL || !snapshot->exists ? NULL : snapshot_json(snapshot, epoch);
    case CSI_RECORD_GROUP:
        group = g_hash_table_lookup(self->groups, name_or_id);
        return group == NULL || !group->exists ? NULL : group_json(group);
    }
    g_assert_not_reached();
}

/* ---- From JSON ---- */

typedef struct {
    CsiModelledDriver *driver;
    int64_t epoch;
} RecordsReader;

static const char *
records_text_of(const RecordsReader *self, const json_t *record, const char *key)
{
    return strings_intern(self->driver->base.strings,
                          json_string_value(json_object_get(record, key)));
}

static int64_t
records_number_of(const json_t *record, const char *key)
{
    return json_integer_value(json_object_get(record, key));
}

static gboolean
truth_of(const json_t *record, const char *key)
{
    return json_is_true(json_object_get(record, key));
}

/* Returns: (owned): @n maps */
static StringMap **
maps_of(const RecordsReader *self, const json_t *array, unsigned *n)
{
    *n = (unsigned)json_array_size(array);
    StringMap **maps = *n == 0 ? NULL : g_new0(StringMap *, *n);

    for (unsigned i = 0; i < *n; i++)
        maps[i] = map_from_json(self->driver->base.strings, json_array_get(array, i));
    return maps;
}

/* Returns: its list is (owned) */
static CsiCapability
capability_of(const RecordsReader *self, const json_t *record)
{
    json_t *flags = json_object_get(record, "flags");
    g_autoptr(GPtrArray) items = g_ptr_array_new();
    size_t i;
    json_t *flag;

    json_array_foreach(flags, i, flag)
        g_ptr_array_add(
            items, (void *)strings_intern(self->driver->base.strings, json_string_value(flag)));
    return (CsiCapability){
        .mode = (CsiAccessMode)CLAMP(records_number_of(record, "mode"), 0, CSI_N_MODES - 1),
        .type = (CsiAccessType)CLAMP(records_number_of(record, "type"), 0, CSI_ACCESS_BLOCK),
        .fs_type = records_text_of(self, record, "fsType"),
        .volume_mount_group = records_text_of(self, record, "group"),
        .mount_flags = items->len == 0
                           ? NULL
                           : string_list_new((const char *const *)items->pdata, items->len)};
}

static void
remember_place(const RecordsReader *self, BackendVolume *volume, const json_t *record)
{
    const char *name = records_text_of(self, record, "node");
    BackendNode *node = name == NULL ? NULL : modelled_node_by_name(self->driver, name);
    size_t i;
    json_t *target;

    if (node == NULL) /* it is no node of this driver any more */
        return;
    VolumeNode *on = modelled_volume_node(volume, node);
    CsiCapability as = capability_of(self, json_object_get(record, "publishedAs"));
    if (truth_of(record, "published"))
        modelled_publish(volume, on, &as, truth_of(record, "readonly"));
    on->is_adopted = truth_of(record, "adopted");
    string_list_unref((StringList *)as.mount_flags);
    as = capability_of(self, json_object_get(record, "stagedAs"));
    on->staging_path = records_text_of(self, record, "staging");
    modelled_capability_set(&on->staged, &as);
    string_list_unref((StringList *)as.mount_flags);
    json_array_foreach(json_object_get(record, "targets"), i, target) {
        as = capability_of(self, json_object_get(target, "as"));
        const CsiRequest request = {.target_path = records_text_of(self, target, "path"),
                                    .readonly = truth_of(target, "readonly"),
                                    .capabilities = &as,
                                    .n_capabilities = 1};
        if (request.target_path != NULL)
            modelled_target_add(on, &request);
        string_list_unref((StringList *)as.mount_flags);
    }
    modelled_drop_idle_node(volume, on);
}

static gboolean
remember_volume(const RecordsReader *self, const json_t *record, const char *id)
{
    CsiModelledDriver *driver = self->driver;
    const char *name = records_text_of(self, record, "name");
    BackendVolume *volume =
        name != NULL ? modelled_volume_by_name(driver, name) : modelled_volume_by_id(driver, id);
    size_t i;
    json_t *place;

    if (volume->exists || modelled_find_volume(driver, id) != NULL)
        return FALSE;
    volume->capacity_bytes = records_number_of(record, "bytes");
    volume->modes = (uint32_t)records_number_of(record, "modes");
    volume->types = (uint32_t)records_number_of(record, "types");
    volume->parameters =
        map_from_json(self->driver->base.strings, json_object_get(record, "parameters"));
    volume->mutable_parameters =
        map_from_json(self->driver->base.strings, json_object_get(record, "mutable"));
    volume->source_kind =
        (CsiSourceKind)CLAMP(records_number_of(record, "sourceKind"), 0, CSI_SOURCE_VOLUME);
    volume->source_id = records_text_of(self, record, "source");
    volume->topologies =
        maps_of(self, json_object_get(record, "topologies"), &volume->n_topologies);
    modelled_volume_begin(driver, volume, id);
    volume->filesystem_bytes = records_number_of(record, "filesystem");
    volume->is_formatted = truth_of(record, "formatted");
    volume->is_ephemeral = truth_of(record, "ephemeral");
    volume->is_in_use = truth_of(record, "inUse");
    volume->is_abnormal = truth_of(record, "abnormal");
    volume->condition_message = records_text_of(self, record, "condition");
    volume->has_data = truth_of(record, "hasData");
    volume->used_bytes = records_number_of(record, "used");
    volume->n_files = records_number_of(record, "files");
    volume->created_at = records_number_of(record, "created") - self->epoch;
    volume->sequence = (uint64_t)records_number_of(record, "sequence");
    driver->last_sequence = MAX(driver->last_sequence, volume->sequence);
    json_array_foreach(json_object_get(record, "places"), i, place)
        remember_place(self, volume, place);
    modelled_usage_settle(driver, volume);
    return TRUE;
}

static gboolean
remember_snapshot(const RecordsReader *self, const json_t *record, const char *id)
{
    CsiModelledDriver *driver = self->driver;
    const char *name = records_text_of(self, record, "name");
    Snapshot *snapshot = name != NULL ? modelled_snapshot_by_name(driver, name)
                                      : modelled_snapshot_by_id(driver, id);
    int64_t ready = records_number_of(record, "ready");

    if (snapshot->exists || modelled_find_snapshot(driver, id) != NULL)
        return FALSE;
    snapshot->source_id = records_text_of(self, record, "source");
    snapshot->source =
        snapshot->source_id == NULL ? NULL : modelled_find_volume(driver, snapshot->source_id);
    snapshot->size_bytes = records_number_of(record, "bytes");
    snapshot->ready_at = ready == SIM_TIME_MAX ? SIM_TIME_MAX : ready - self->epoch;
    modelled_snapshot_begin(driver, snapshot, id);
    snapshot->used_bytes = records_number_of(record, "used");
    snapshot->created_at = records_number_of(record, "created") - self->epoch;
    snapshot->sequence = (uint64_t)records_number_of(record, "sequence");
    driver->last_sequence = MAX(driver->last_sequence, snapshot->sequence);
    if (snapshot->room == NULL) { /* its source is gone */
        snapshot->room = maps_of(self, json_object_get(record, "room"), &snapshot->n_room);
        if (driver->options.snapshots_take_room)
            modelled_take_room(driver, snapshot->room, snapshot->n_room, snapshot->size_bytes);
    }
    return TRUE;
}

static gboolean
remember_group(const RecordsReader *self, const json_t *record, const char *id)
{
    CsiModelledDriver *driver = self->driver;
    const char *name = records_text_of(self, record, "name");
    BackendGroup *group = modelled_group(driver, name != NULL ? name : id);
    size_t i;
    json_t *member;

    if (group->exists)
        return FALSE;
    modelled_group_begin(driver, group, id);
    json_array_foreach(json_object_get(record, "members"), i, member) {
        Snapshot *snapshot = modelled_find_snapshot(
            driver, strings_intern(driver->base.strings, json_string_value(member)));
        if (snapshot != NULL)
            modelled_group_add(group, snapshot);
    }
    return TRUE;
}

gboolean
csi_modelled_driver_remember(CsiModelledDriver *driver,
                             CsiRecordKind kind,
                             const json_t *record,
                             int64_t epoch)
{
    const RecordsReader self = {driver, epoch};
    const char *id = records_text_of(&self, record, "id");

    if (csi_is_empty(id))
        return FALSE;
    switch (kind) {
    case CSI_RECORD_VOLUME:
        return remember_volume(&self, record, id);
    case CSI_RECORD_SNAPSHOT:
        return remember_snapshot(&self, record, id);
    case CSI_RECORD_GROUP:
        return remember_group(&self, record, id);
    }
    g_assert_not_reached();
}
