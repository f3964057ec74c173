/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of the modelled back end: nodes, volumes, snapshots, groups, and the room of its
 * pools. A record is made when a call first names its object, and exists only once a call has
 * created it, so that two calls for one name meet at the same record. Nothing here takes time, and
 * only ids are drawn, from the name and its count, so they are the same in every run of a seed. */
#include "modelled-private.h"
#include "models/csi/modelled/modelled-test.h"

#include <inttypes.h>
#include <string.h>

/* Members of records that own maps and lists. */
static void
set_map(StringMap **place, const StringMap *map)
{
    StringMap *old = *place;

    *place = string_map_ref(map);
    string_map_unref(old);
}

void
modelled_capability_set(CsiCapability *place, const CsiCapability *capability)
{
    const StringList *old = place->mount_flags;

    string_list_ref(capability->mount_flags);
    *place = *capability;
    string_list_unref((StringList *)old);
}

static void
capability_clear(CsiCapability *place)
{
    static const CsiCapability none = {0};

    modelled_capability_set(place, &none);
}

static void
volume_node_free(VolumeNode *self)
{
    modelled_targets_clear(self);
    capability_clear(&self->published);
    capability_clear(&self->staged);
    g_free(self);
}

static void
free_topologies(StringMap ***topologies, unsigned *n_topologies)
{
    for (unsigned i = 0; i < *n_topologies; i++)
        string_map_unref((*topologies)[i]);
    g_clear_pointer(topologies, g_free);
    *n_topologies = 0;
}

static void
volume_forget(BackendVolume *self)
{
    g_clear_pointer(&self->parameters, string_map_unref);
    g_clear_pointer(&self->mutable_parameters, string_map_unref);
    free_topologies(&self->topologies, &self->n_topologies);
}

static void
volume_clear(BackendVolume *self)
{
    VolumeNode *on;

    volume_forget(self);
    while ((on = self->nodes) != NULL) {
        self->nodes = on->next;
        volume_node_free(on);
    }
}

static void
snapshot_free(void *data)
{
    Snapshot *self = data;

    free_topologies(&self->room, &self->n_room);
    g_free(self);
}

static void
group_free(void *data)
{
    BackendGroup *self = data;

    g_ptr_array_unref(self->members);
    g_free(self);
}

static void
node_free(void *data)
{
    BackendNode *self = data;

    string_map_unref(self->segments);
    g_free(self);
}

void
modelled_state_init(CsiModelledDriver *self)
{
    gboolean random_ids = self->options.random_ids;

    self->volumes_by_name = random_ids ? &self->volumes_with_name : &self->volumes_by_id;
    self->snapshots_by_id = g_hash_table_new(NULL, NULL);
    self->snapshots_by_name =
        random_ids ? g_hash_table_new(NULL, NULL) : g_hash_table_ref(self->snapshots_by_id);
    self->all_nodes = g_ptr_array_new();
    self->all_volumes = sim_log_new(sim_cold(self->base.sim), sizeof(BackendVolume *));
    self->all_snapshots = g_ptr_array_new_with_free_func(snapshot_free);
    self->groups = g_hash_table_new(NULL, NULL);
    self->all_groups = g_ptr_array_new_with_free_func(group_free);
}

static void
clear_volumes(CsiModelledDriver *self)
{
    for (unsigned i = 0; self->all_volumes != NULL && i < self->all_volumes->len; i++) {
        BackendVolume *volume = sim_log_index(self->all_volumes, BackendVolume *, i);
        volume_clear(volume);
        sim_cold_give(sim_cold(self->base.sim), volume);
    }
    g_clear_pointer(&self->all_volumes, sim_log_free);
}

void
modelled_state_clear(CsiModelledDriver *self)
{
    g_clear_pointer(&self->all_snapshots, g_ptr_array_unref);
    g_clear_pointer(&self->all_groups, g_ptr_array_unref);
    g_clear_pointer(&self->groups, g_hash_table_unref);
    clear_volumes(self);
    pointer_map_clear(&self->volumes_by_id, NULL);
    pointer_map_clear(&self->volumes_with_name, NULL);
    g_clear_pointer(&self->snapshots_by_id, g_hash_table_unref);
    g_clear_pointer(&self->snapshots_by_name, g_hash_table_unref);
    g_clear_pointer(&self->all_nodes, g_ptr_array_unref);
    pointer_map_clear(&self->nodes_by_id, NULL);
    pointer_map_clear(&self->nodes_by_name, node_free);
}

/* Nodes */

BackendNode *
modelled_node_by_id(const CsiModelledDriver *self, const char *id)
{
    BackendNode *node = pointer_map_get(&self->nodes_by_id, id);

    return node != NULL && strings_same(node->id, id) ? node : NULL;
}

BackendNode *
modelled_node_by_name(const CsiModelledDriver *self, const char *name)
{
    return pointer_map_get(&self->nodes_by_name, name);
}

void
csi_modelled_driver_add_node(CsiModelledDriver *self,
                             const char *name,
                             const char *node_id,
                             const StringMap *segments)
{
    BackendNode *node = pointer_map_get(&self->nodes_by_name, name);

    if (node == NULL) {
        node = g_new0(BackendNode, 1);
        node->name = name;
        node->subject.hash = sim_hash_string(name);
        pointer_map_set(&self->nodes_by_name, name, node);
        g_ptr_array_add(self->all_nodes, node);
    }
    node->id = node_id;
    set_map(&node->segments, segments);
    pointer_map_set(&self->nodes_by_id, node_id, node);
}

static void
forget_mounts(BackendVolume *volume, VolumeNode *on)
{
    on->staging_path = NULL;
    modelled_targets_clear(on);
    modelled_drop_idle_node(volume, on);
}

void
csi_modelled_driver_reboot_node(CsiModelledDriver *self, const char *name)
{
    const BackendNode *node = modelled_node_by_name(self, name);

    for (unsigned i = 0; node != NULL && i < self->all_volumes->len; i++) {
        BackendVolume *volume = sim_log_index(self->all_volumes, BackendVolume *, i);
        VolumeNode *on = modelled_find_volume_node(volume, node);
        if (on == NULL)
            continue;
        forget_mounts(volume, on);
        modelled_usage_settle(self, volume);
        if (volume->is_ephemeral)
            modelled_volume_end(self, volume);
    }
}

void
csi_modelled_driver_set_node_limit(CsiModelledDriver *self, const char *name, int limit)
{
    BackendNode *node = modelled_node_by_name(self, name);

    if (node != NULL)
        node->attach_limit = limit;
}

/* Volumes on nodes */

VolumeNode *
modelled_find_volume_node(const BackendVolume *volume, const BackendNode *node)
{
    VolumeNode *on = volume->nodes;

    while (on != NULL && on->node != node)
        on = on->next;
    return on;
}

VolumeNode *
modelled_volume_node(BackendVolume *volume, BackendNode *node)
{
    VolumeNode **place = &volume->nodes;

    while (*place != NULL && (*place)->node != node)
        place = &(*place)->next;
    if (*place == NULL) {
        *place = g_new0(VolumeNode, 1);
        (*place)->node = node;
    }
    return *place;
}

void
modelled_drop_idle_node(BackendVolume *volume, VolumeNode *on)
{
    gboolean is_idle = !on->controller_busy && !on->node_busy && on->n_calls == 0;
    VolumeNode **place = &volume->nodes;

    if (!is_idle || on->is_published || on->staging_path != NULL || on->targets != NULL)
        return;
    while (*place != on)
        place = &(*place)->next;
    *place = on->next;
    volume_node_free(on);
}

void
modelled_publish(BackendVolume *volume,
                 VolumeNode *on,
                 const CsiCapability *capability,
                 gboolean readonly)
{
    modelled_capability_set(&on->published, capability);
    on->readonly = readonly;
    on->is_adopted = FALSE;
    if (on->is_published)
        return;
    on->is_published = TRUE;
    on->node->n_published++;
    volume->n_published++;
}

void
modelled_unpublish(BackendVolume *volume, VolumeNode *on)
{
    if (!on->is_published)
        return;
    on->is_published = FALSE;
    capability_clear(&on->published);
    on->node->n_published--;
    volume->n_published--;
}

void
modelled_target_add(VolumeNode *on, const CsiRequest *request)
{
    BackendTarget *target = g_new0(BackendTarget, 1), **place = &on->targets;

    while (*place != NULL)
        place = &(*place)->next;
    *place = target;
    target->path = request->target_path;
    target->readonly = request->readonly;
    modelled_capability_set(&target->capability, &request->capabilities[0]);
}

void
modelled_target_remove(VolumeNode *on, BackendTarget *target)
{
    BackendTarget **place = &on->targets;

    while (*place != target)
        place = &(*place)->next;
    *place = target->next;
    capability_clear(&target->capability);
    g_free(target);
}

void
modelled_targets_clear(VolumeNode *on)
{
    while (on->targets != NULL)
        modelled_target_remove(on, on->targets);
}

StringList *
modelled_published_ids(const BackendVolume *volume)
{
    g_autoptr(GPtrArray) ids = g_ptr_array_new();

    for (const VolumeNode *on = volume->nodes; on != NULL; on = on->next)
        if (on->is_published)
            g_ptr_array_add(ids, (void *)on->node->id);
    return string_list_new((const char *const *)ids->pdata, ids->len);
}

/* Room */

static gboolean
pool_holds(const Pool *pool, const StringMap *topology)
{
    return string_map_contains(topology, pool->segments);
}

static int64_t
pool_room(const Pool *pool)
{
    return (int64_t)MAX(pool->bytes - pool->used_bytes, 0);
}

int64_t
modelled_room(const CsiModelledDriver *self, const StringMap *topology)
{
    int64_t room = INT64_MAX;

    for (unsigned i = 0; i < self->n_pools; i++)
        if (pool_holds(&self->pools[i], topology))
            room = MIN(room, pool_room(&self->pools[i]));
    return room;
}

int64_t
modelled_room_anywhere(const CsiModelledDriver *self)
{
    int64_t everywhere = modelled_room(self, NULL); /* of pools without segments */
    int64_t sum = 0;
    gboolean has_places = FALSE;

    for (unsigned i = 0; i < self->n_pools; i++) {
        const Pool *pool = &self->pools[i];
        if (pool->segments == NULL)
            continue;
        has_places = TRUE;
        if (__builtin_add_overflow(sum, pool_room(pool), &sum))
            sum = INT64_MAX;
    }
    return has_places ? MIN(sum, everywhere) : everywhere;
}

void
modelled_take_room(CsiModelledDriver *self,
                   StringMap *const *topologies,
                   unsigned n_topologies,
                   int64_t bytes)
{
    self->used_bytes += bytes;
    for (unsigned i = 0; i < self->n_pools; i++) {
        Pool *pool = &self->pools[i];
        if (n_topologies == 0 && pool->segments == NULL)
            pool->used_bytes += bytes;
        for (unsigned j = 0; j < n_topologies; j++)
            if (pool_holds(pool, topologies[j]))
                pool->used_bytes += bytes;
    }
}

static void
free_pools(CsiModelledDriver *self)
{
    for (unsigned i = 0; i < self->n_pools; i++)
        string_map_unref(self->pools[i].segments);
    g_clear_pointer(&self->pools, g_free);
    self->n_pools = 0;
}

void
csi_modelled_driver_set_pools(CsiModelledDriver *self,
                              const CsiModelledPool *pools,
                              unsigned n_pools)
{
    free_pools(self);
    self->pools = n_pools == 0 ? NULL : g_new0(Pool, n_pools);
    self->n_pools = n_pools;
    for (unsigned i = 0; i < n_pools; i++)
        self->pools[i] =
            (Pool){.segments = string_map_ref(pools[i].segments), .bytes = pools[i].bytes};
    if (self->all_volumes == NULL)
        return;

    self->used_bytes = 0;
    for (GList *link = self->volumes.head; link != NULL; link = link->next) {
        const BackendVolume *volume = link->data;
        modelled_take_room(self, volume->topologies, volume->n_topologies, volume->capacity_bytes);
    }
    for (GList *link = self->snapshots.head; link != NULL && self->options.snapshots_take_room;
         link = link->next) {
        const Snapshot *snapshot = link->data;
        modelled_take_room(self, snapshot->room, snapshot->n_room, snapshot->size_bytes);
    }
}

/* Volumes and snapshots */

static BackendVolume *
volume_record(CsiModelledDriver *self, PointerMap *table, const char *key, gboolean is_name)
{
    BackendVolume *volume = pointer_map_get(table, key);

    if (volume != NULL)
        return volume;
    volume = memset(sim_cold_take(sim_cold(self->base.sim), sizeof *volume), 0, sizeof *volume);
    volume->subject.hash = sim_hash_string(key);
    volume->name = is_name ? key : NULL;
    volume->id = is_name ? NULL : key;
    volume->link.data = volume;
    pointer_map_set(table, key, volume);
    *(BackendVolume **)sim_log_append(self->all_volumes) = volume;
    return volume;
}

BackendVolume *
modelled_volume_by_name(CsiModelledDriver *self, const char *name)
{
    return volume_record(self, self->volumes_by_name, name, TRUE);
}

BackendVolume *
modelled_volume_by_id(CsiModelledDriver *self, const char *id)
{
    return volume_record(self, &self->volumes_by_id, id, FALSE);
}

gboolean
modelled_volume_is(const BackendVolume *volume, const char *id)
{
    return volume->exists && strings_same(volume->id, id);
}

BackendVolume *
modelled_find_volume(const CsiModelledDriver *self, const char *id)
{
    BackendVolume *volume = pointer_map_get(&self->volumes_by_id, id);

    return volume != NULL && modelled_volume_is(volume, id) ? volume : NULL;
}

static Snapshot *
snapshot_record(CsiModelledDriver *self, GHashTable *table, const char *key)
{
    Snapshot *snapshot = g_hash_table_lookup(table, key);

    if (snapshot != NULL)
        return snapshot;
    snapshot = g_new0(Snapshot, 1);
    snapshot->subject.hash = sim_hash_string(key);
    snapshot->link.data = snapshot;
    g_hash_table_insert(table, (void *)key, snapshot);
    g_ptr_array_add(self->all_snapshots, snapshot);
    return snapshot;
}

Snapshot *
modelled_snapshot_by_name(CsiModelledDriver *self, const char *name)
{
    Snapshot *snapshot = snapshot_record(self, self->snapshots_by_name, name);

    snapshot->name = name;
    return snapshot;
}

Snapshot *
modelled_snapshot_by_id(CsiModelledDriver *self, const char *id)
{
    return snapshot_record(self, self->snapshots_by_id, id);
}

Snapshot *
modelled_find_snapshot(const CsiModelledDriver *self, const char *id)
{
    Snapshot *snapshot = id == NULL ? NULL : g_hash_table_lookup(self->snapshots_by_id, id);

    return snapshot != NULL && snapshot->exists && strings_same(snapshot->id, id) ? snapshot : NULL;
}

/* The id of the n-th volume or snapshot of this name: its name, or a draw that is the same in every
 * run of this seed. */
static const char *
make_id(const CsiModelledDriver *self,
        const char *prefix,
        const char *name,
        const BackendSubject *subject,
        unsigned n)
{
    if (!self->options.random_ids)
        return name;
    return strings_internf(self->base.strings, "%s-%016" PRIx64, prefix,
                           sim_random_bits(self->id_stream,
                                           sim_hash_combine(subject->hash, sim_hash_string(prefix)),
                                           n));
}

void
modelled_volume_begin(CsiModelledDriver *self, BackendVolume *volume, const char *id)
{
    if (id == NULL)
        id = make_id(self, "vol", volume->name, &volume->subject, volume->n_creations);
    volume->id = id;
    volume->exists = volume->was_known = TRUE;
    volume->is_formatted = volume->is_in_use = FALSE;
    volume->is_abnormal = FALSE;
    volume->condition_message = NULL;
    volume->created_at = sim_now(self->base.sim);
    volume->sequence = ++self->last_sequence;
    volume->n_creations++;
    volume->filesystem_bytes = volume->capacity_bytes;
    modelled_usage_begin(self, volume);
    modelled_files_begin(self, volume, (CsiFiles){.group = -1});
    pointer_map_set(&self->volumes_by_id, id, volume);
    g_queue_push_tail_link(&self->volumes, &volume->link);
    modelled_take_room(self, volume->topologies, volume->n_topologies, volume->capacity_bytes);
}

void
modelled_volume_end(CsiModelledDriver *self, BackendVolume *volume)
{
    modelled_take_room(self, volume->topologies, volume->n_topologies, -volume->capacity_bytes);
    g_queue_unlink(&self->volumes, &volume->link);
    volume->exists = FALSE;
    volume->is_ephemeral = FALSE;
    volume->source_kind = CSI_SOURCE_NONE;
    volume->source_id = NULL;
    volume_forget(volume);
}

void
modelled_snapshot_begin(CsiModelledDriver *self, Snapshot *snapshot, const char *id)
{
    BackendVolume *source = snapshot->source;

    if (id == NULL)
        id = make_id(self, "snap", snapshot->name, &snapshot->subject, snapshot->n_creations);
    snapshot->id = id;
    snapshot->exists = TRUE;
    snapshot->created_at = sim_now(self->base.sim);
    snapshot->sequence = ++self->last_sequence;
    snapshot->n_creations++;
    g_hash_table_insert(self->snapshots_by_id, (void *)snapshot->id, snapshot);
    g_queue_push_tail_link(&self->snapshots, &snapshot->link);
    if (source == NULL)
        return;
    source->n_snapshots++;
    snapshot->used_bytes = modelled_used_bytes(self, source);
    snapshot->files = modelled_files_of_copy(source);
    snapshot->n_room = source->n_topologies;
    snapshot->room = source->n_topologies == 0 ? NULL : g_new0(StringMap *, source->n_topologies);
    for (unsigned i = 0; i < source->n_topologies; i++)
        snapshot->room[i] = string_map_ref(source->topologies[i]);
    if (self->options.snapshots_take_room)
        modelled_take_room(self, snapshot->room, snapshot->n_room, snapshot->size_bytes);
}

void
modelled_snapshot_end(CsiModelledDriver *self, Snapshot *snapshot)
{
    if (self->options.snapshots_take_room)
        modelled_take_room(self, snapshot->room, snapshot->n_room, -snapshot->size_bytes);
    g_queue_unlink(&self->snapshots, &snapshot->link);
    if (snapshot->source != NULL)
        snapshot->source->n_snapshots--;
    snapshot->exists = FALSE;
    free_topologies(&snapshot->room, &snapshot->n_room);
}

BackendGroup *
modelled_group(CsiModelledDriver *self, const char *name_or_id)
{
    BackendGroup *group = g_hash_table_lookup(self->groups, name_or_id);

    if (group != NULL)
        return group;
    group = g_new0(BackendGroup, 1);
    group->subject.hash = sim_hash_string(name_or_id);
    group->name = name_or_id;
    group->members = g_ptr_array_new();
    g_hash_table_insert(self->groups, (void *)name_or_id, group);
    g_ptr_array_add(self->all_groups, group);
    return group;
}

void
modelled_group_begin(CsiModelledDriver *self, BackendGroup *group, const char *id)
{
    if (id == NULL)
        id = make_id(self, "group", group->name, &group->subject, group->n_creations);
    group->id = id;
    group->exists = TRUE;
    group->n_creations++;
    g_hash_table_insert(self->groups, (void *)id, group);
}

void
modelled_group_add(BackendGroup *group, Snapshot *snapshot)
{
    snapshot->group = group;
    g_ptr_array_add(group->members, snapshot);
}

void
modelled_group_end(CsiModelledDriver *self, BackendGroup *group)
{
    for (unsigned i = 0; i < group->members->len; i++) {
        Snapshot *snapshot = group->members->pdata[i];
        snapshot->group = NULL;
        modelled_snapshot_end(self, snapshot);
    }
    g_ptr_array_set_size(group->members, 0);
    group->exists = FALSE;
}

gboolean
csi_modelled_driver_set_condition(CsiModelledDriver *self,
                                  const char *volume_id,
                                  gboolean abnormal,
                                  const char *message)
{
    BackendVolume *volume = modelled_find_volume(self, volume_id);

    if (volume == NULL)
        return FALSE;
    volume->is_abnormal = abnormal;
    volume->condition_message = strings_intern(self->base.strings, message);
    return TRUE;
}

/* Queries */

unsigned
csi_modelled_driver_n_volumes(const CsiModelledDriver *self)
{
    return self->volumes.length;
}

unsigned
csi_modelled_driver_n_snapshots(const CsiModelledDriver *self)
{
    return self->snapshots.length;
}

int64_t
csi_modelled_driver_used_bytes(const CsiModelledDriver *self)
{
    return (int64_t)MIN(self->used_bytes, INT64_MAX);
}

static CsiModelledVolume
volume_view(const CsiModelledDriver *self, const BackendVolume *volume)
{
    return (CsiModelledVolume){.id = volume->id,
                               .name = volume->name,
                               .capacity_bytes = volume->capacity_bytes,
                               .filesystem_bytes = volume->filesystem_bytes,
                               .source_kind = volume->source_kind,
                               .source_id = volume->source_id,
                               .created_at = volume->created_at,
                               .topologies = (const StringMap *const *)volume->topologies,
                               .n_topologies = volume->n_topologies,
                               .n_published = volume->n_published,
                               .used_bytes = modelled_used_bytes(self, volume),
                               .is_full = modelled_is_full(self, volume),
                               .condition = volume->is_abnormal ? volume->condition_message : NULL};
}

void
csi_modelled_driver_each_volume(const CsiModelledDriver *self,
                                void (*visit)(void *data, const CsiModelledVolume *volume),
                                void *data)
{
    for (GList *link = self->volumes.head; link != NULL; link = link->next) {
        CsiModelledVolume view = volume_view(self, link->data);
        visit(data, &view);
    }
}

gboolean
csi_modelled_driver_get_volume(const CsiModelledDriver *self,
                               const char *volume_id,
                               CsiModelledVolume *volume)
{
    const BackendVolume *found = modelled_find_volume(self, volume_id);

    if (found != NULL && volume != NULL)
        *volume = volume_view(self, found);
    return found != NULL;
}

StringList *
csi_modelled_driver_published_nodes(const CsiModelledDriver *self, const char *volume_id)
{
    const BackendVolume *volume = modelled_find_volume(self, volume_id);

    return volume == NULL ? NULL : modelled_published_ids(volume);
}

unsigned
csi_modelled_driver_n_published(const CsiModelledDriver *self, const char *node_name)
{
    const BackendNode *node = modelled_node_by_name(self, node_name);

    return node == NULL ? 0 : node->n_published;
}

static const VolumeNode *
find_on(const CsiModelledDriver *self, const char *volume_id, const char *node_name)
{
    const BackendVolume *volume = pointer_map_get(&self->volumes_by_id, volume_id);
    const BackendNode *node = modelled_node_by_name(self, node_name);

    return volume == NULL || node == NULL ? NULL : modelled_find_volume_node(volume, node);
}

gboolean
csi_modelled_driver_is_staged(const CsiModelledDriver *self,
                              const char *volume_id,
                              const char *node_name)
{
    const VolumeNode *on = find_on(self, volume_id, node_name);

    return on != NULL && on->staging_path != NULL;
}

unsigned
csi_modelled_driver_n_targets(const CsiModelledDriver *self,
                              const char *volume_id,
                              const char *node_name)
{
    const VolumeNode *on = find_on(self, volume_id, node_name);
    unsigned n = 0;

    for (const BackendTarget *target = on == NULL ? NULL : on->targets; target != NULL;
         target = target->next)
        n++;
    return n;
}
