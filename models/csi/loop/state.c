/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* The loop driver's memory: volumes, their places on nodes, targets and snapshots, in tables and as
 * one JSON file each. A record is written in whole under a temporary name. Ids are hashes of names,
 * because names may hold anything (CSI-6) and ids become names of files. Lists are few and are
 * searched from the beginning. */
#include "loop-private.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/api/fields.h"
#include "sim/order.h"
#include "way.h"

/* ---- Capabilities ---- */

static char *
join_list(const StringList *list)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; list != NULL && i < list->n_items; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? "," : "", list->items[i]);
    return g_string_free(text, FALSE);
}

static void
loop_capability_clear(LoopCapability *self)
{
    g_free(self->fs_type);
    g_free(self->mount_flags);
    g_free(self->mount_group);
    *self = (LoopCapability){0};
}

void
loop_capability_set(LoopCapability *self, const CsiCapability *from)
{
    loop_capability_clear(self);
    self->mode = from->mode;
    self->type = from->type;
    self->fs_type = g_strdup(from->fs_type != NULL ? from->fs_type : "");
    self->mount_flags = join_list(from->mount_flags);
    self->mount_group = g_strdup(from->volume_mount_group != NULL ? from->volume_mount_group : "");
}

gboolean
loop_capability_is(const LoopCapability *self, const CsiCapability *other)
{
    LoopCapability copy = {0};

    loop_capability_set(&copy, other);
    gboolean same = self->mode == copy.mode && self->type == copy.type &&
                    g_strcmp0(self->fs_type, copy.fs_type) == 0 &&
                    g_strcmp0(self->mount_flags, copy.mount_flags) == 0 &&
                    g_strcmp0(self->mount_group, copy.mount_group) == 0;
    loop_capability_clear(&copy);
    return same;
}

#define READ_ONLY_MODES (1u << CSI_SINGLE_NODE_READER_ONLY | 1u << CSI_MULTI_NODE_READER_ONLY)

static gboolean
exceeds(const LoopVolume *volume, const CsiCapability *wanted)
{
    gboolean many_nodes = FALSE, writing = FALSE;

    for (CsiAccessMode mode = CSI_SINGLE_NODE_WRITER; mode < CSI_N_MODES; mode++) {
        if ((volume->modes & 1u << mode) == 0)
            continue;
        many_nodes = many_nodes || !csi_access_mode_is_single_node(mode);
        writing = writing || (1u << mode & READ_ONLY_MODES) == 0;
    }
    return (!many_nodes && !csi_access_mode_is_single_node(wanted->mode)) ||
           (!writing && (1u << wanted->mode & READ_ONLY_MODES) == 0) ||
           (volume->types & 1u << wanted->type) == 0;
}

gboolean
loop_volume_exceeded(const LoopVolume *volume, const CsiRequest *request)
{
    for (unsigned i = 0; i < request->n_capabilities; i++)
        if (exceeds(volume, &request->capabilities[i]))
            return TRUE;
    return FALSE;
}

/* ---- Tables ---- */

static void
target_free(void *data)
{
    LoopTarget *target = data;

    g_free(target->path);
    loop_capability_clear(&target->capability);
    g_free(target);
}

static LoopPlace *
place_new(const char *node)
{
    LoopPlace *place = g_new0(LoopPlace, 1);

    place->node = g_strdup(node);
    place->targets = g_ptr_array_new_with_free_func(target_free);
    return place;
}

static void
place_free(void *data)
{
    LoopPlace *place = data;

    g_free(place->node);
    g_free(place->staging_path);
    loop_capability_clear(&place->published);
    loop_capability_clear(&place->staged);
    g_ptr_array_unref(place->targets);
    g_free(place);
}

void
loop_volume_unref(LoopVolume *volume)
{
    if (!ref_count_drop(&volume->refs))
        return;
    g_free(volume->id);
    g_free(volume->name);
    g_free(volume->parameters);
    g_free(volume->source_id);
    g_ptr_array_unref(volume->places);
    g_mutex_clear(&volume->work);
    g_free(volume);
}

LoopVolume *
loop_volume_find(const LoopBackend *self, const char *id)
{
    for (unsigned i = 0; id != NULL && i < self->volumes->len; i++) {
        LoopVolume *volume = self->volumes->pdata[i];
        if (strcmp(volume->id, id) == 0)
            return volume;
    }
    return NULL;
}

LoopVolume *
loop_volume_find_name(const LoopBackend *self, const char *name)
{
    for (unsigned i = 0; i < self->volumes->len; i++) {
        LoopVolume *volume = self->volumes->pdata[i];
        if (strcmp(volume->name, name) == 0)
            return volume;
    }
    return NULL;
}

/* Names may hold anything (CSI-6), ids become names of files. */
static char *
id_for(const char *prefix, const char *name)
{
    g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);

    hash[16] = '\0';
    return g_strconcat(prefix, hash, NULL);
}

static LoopVolume *
volume_new(const char *id, const char *name, int64_t sequence)
{
    LoopVolume *volume = g_new0(LoopVolume, 1);

    volume->id = g_strdup(id);
    volume->name = g_strdup(name);
    volume->parameters = g_strdup("");
    volume->source_id = g_strdup("");
    volume->sequence = sequence;
    volume->places = g_ptr_array_new_with_free_func(place_free);
    volume->refs = REF_COUNT_ONE;
    g_mutex_init(&volume->work);
    return volume;
}

LoopVolume *
loop_volume_add(LoopBackend *self, const char *name)
{
    g_autofree char *id = id_for("vol-", name);
    LoopVolume *volume = volume_new(id, name, ++self->sequence);

    g_ptr_array_add(self->volumes, volume);
    g_hash_table_add(self->known, g_steal_pointer(&id));
    return volume;
}

void
loop_volume_drop(LoopBackend *self, LoopVolume *volume)
{
    volume->is_there = FALSE;
    g_ptr_array_remove(self->volumes, volume); /* gives its reference back */
}

static void
snapshot_free(void *data)
{
    LoopSnapshot *snapshot = data;

    g_free(snapshot->id);
    g_free(snapshot->name);
    g_free(snapshot->source_id);
    g_free(snapshot);
}

LoopSnapshot *
loop_snapshot_find(const LoopBackend *self, const char *id)
{
    for (unsigned i = 0; id != NULL && i < self->snapshots->len; i++) {
        LoopSnapshot *snapshot = self->snapshots->pdata[i];
        if (strcmp(snapshot->id, id) == 0)
            return snapshot;
    }
    return NULL;
}

LoopSnapshot *
loop_snapshot_find_name(const LoopBackend *self, const char *name)
{
    for (unsigned i = 0; i < self->snapshots->len; i++) {
        LoopSnapshot *snapshot = self->snapshots->pdata[i];
        if (strcmp(snapshot->name, name) == 0)
            return snapshot;
    }
    return NULL;
}

LoopSnapshot *
loop_snapshot_add(LoopBackend *self, const char *name)
{
    LoopSnapshot *snapshot = g_new0(LoopSnapshot, 1);

    snapshot->id = id_for("snap-", name);
    snapshot->name = g_strdup(name);
    snapshot->sequence = ++self->sequence;
    g_ptr_array_add(self->snapshots, snapshot);
    return snapshot;
}

void
loop_snapshot_drop(LoopBackend *self, LoopSnapshot *snapshot)
{
    g_ptr_array_remove(self->snapshots, snapshot);
    snapshot_free(snapshot);
}

LoopPlace *
loop_volume_place(LoopVolume *volume, const char *node)
{
    for (unsigned i = 0; i < volume->places->len; i++) {
        LoopPlace *place = volume->places->pdata[i];
        if (strcmp(place->node, node) == 0)
            return place;
    }
    LoopPlace *place = place_new(node);
    g_ptr_array_add(volume->places, place);
    return place;
}

unsigned
loop_volume_n_published(const LoopVolume *volume)
{
    unsigned n = 0;

    for (unsigned i = 0; i < volume->places->len; i++)
        n += ((const LoopPlace *)volume->places->pdata[i])->is_published ? 1 : 0;
    return n;
}

LoopTarget *
loop_place_target(const LoopPlace *place, const char *path)
{
    for (unsigned i = 0; i < place->targets->len; i++) {
        LoopTarget *target = place->targets->pdata[i];
        if (strcmp(target->path, path) == 0)
            return target;
    }
    return NULL;
}

/* ---- Paths ---- */

char *
loop_volume_file(const char *id)
{
    return g_strdup_printf(LOOP_VOLUMES "/%s.img", id);
}

char *
loop_snapshot_file(const char *id)
{
    return g_strdup_printf(LOOP_SNAPSHOTS "/%s.img", id);
}

char *
loop_node_path(const char *node, const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);

    if (strchr(node, '/') != NULL || node[0] == '.' || path[0] != '/' ||
        g_strv_contains((const char *const *)parts, ".."))
        return NULL;
    return g_strconcat(LOOP_NODES "/", node, path, NULL);
}

/* ---- Records ---- */

static json_t *
state_capability_json(const LoopCapability *capability)
{
    return json_pack("{s:i,s:i,s:s,s:s,s:s}", "mode", capability->mode, "type", capability->type,
                     "fsType", capability->fs_type != NULL ? capability->fs_type : "", "flags",
                     capability->mount_flags != NULL ? capability->mount_flags : "", "group",
                     capability->mount_group != NULL ? capability->mount_group : "");
}

static json_t *
place_json(const LoopPlace *place)
{
    json_t *targets = json_array();

    for (unsigned i = 0; i < place->targets->len; i++) {
        const LoopTarget *target = place->targets->pdata[i];
        json_array_append_new(targets, json_pack("{s:s,s:b,s:o}", "path", target->path, "readonly",
                                                 target->readonly, "capability",
                                                 state_capability_json(&target->capability)));
    }
    return json_pack("{s:s,s:b,s:b,s:o,s:s*,s:o,s:o}", "node", place->node, "published",
                     place->is_published, "readonly", place->readonly, "publishedAs",
                     state_capability_json(&place->published), "staged", place->staging_path,
                     "stagedAs", state_capability_json(&place->staged), "targets", targets);
}

static gboolean
save(LoopBackend *self, const char *file, json_t *record, gboolean durable, GError **error)
{
    g_autofree char *path = g_strconcat(file, ".json", NULL);
    char *text = json_dumps(record, JSON_INDENT(1));
    gboolean done = loop_file_write(self->ledger, path, text, durable, error);

    free(text);
    json_decref(record);
    return done;
}

gboolean
loop_volume_save(LoopBackend *self, LoopVolume *volume, gboolean durable, GError **error)
{
    g_autofree char *file = loop_volume_file(volume->id);
    json_t *places = json_array();

    g_mutex_lock(&self->lock);
    for (unsigned i = 0; i < volume->places->len; i++)
        json_array_append_new(places, place_json(volume->places->pdata[i]));
    json_t *record =
        json_pack("{s:s,s:s,s:I,s:i,s:i,s:s,s:i,s:s,s:b,s:I,s:o}", "id", volume->id, "name",
                  volume->name, "capacityBytes", (json_int_t)volume->capacity_bytes, "modes",
                  (int)volume->modes, "types", (int)volume->types, "parameters", volume->parameters,
                  "sourceKind", volume->source_kind, "source", volume->source_id, "sparse",
                  volume->is_sparse, "sequence", (json_int_t)volume->sequence, "places", places);
    g_mutex_unlock(&self->lock);
    return save(self, file, record, durable, error);
}

gboolean
loop_snapshot_save(LoopBackend *self, LoopSnapshot *snapshot, GError **error)
{
    g_autofree char *file = loop_snapshot_file(snapshot->id);

    return save(
        self, file,
        json_pack("{s:s,s:s,s:s,s:I,s:I,s:I}", "id", snapshot->id, "name", snapshot->name, "source",
                  snapshot->source_id, "sizeBytes", (json_int_t)snapshot->size_bytes, "createdAt",
                  (json_int_t)snapshot->created_at, "sequence", (json_int_t)snapshot->sequence),
        TRUE, error);
}

void
loop_record_remove(LoopBackend *self, const char *file)
{
    g_autofree char *path = g_strconcat(file, ".json", NULL);

    loop_ledger_remove(self->ledger, LOOP_FILE, path, NULL);
}

/* ---- Reading them again ---- */

static int64_t
state_number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static LoopCapability
read_capability(const json_t *json)
{
    return (LoopCapability){
        .mode = (CsiAccessMode)CLAMP(state_number_of(json, "mode"), 0, CSI_N_MODES - 1),
        .type =
            state_number_of(json, "type") == CSI_ACCESS_BLOCK ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
        .fs_type = g_strdup(json_path_text(json, "fsType")),
        .mount_flags = g_strdup(json_path_text(json, "flags")),
        .mount_group = g_strdup(json_path_text(json, "group")),
    };
}

static void
read_place(LoopVolume *volume, const json_t *json)
{
    LoopPlace *place = loop_volume_place(volume, json_path_text(json, "node"));
    const json_t *targets = json_object_get(json, "targets");

    place->is_published = json_is_true(json_object_get(json, "published"));
    place->readonly = json_is_true(json_object_get(json, "readonly"));
    place->published = read_capability(json_object_get(json, "publishedAs"));
    place->staged = read_capability(json_object_get(json, "stagedAs"));
    place->staging_path = g_strdup(json_path_string(json, "staged"));
    for (gsize i = 0; i < json_array_size(targets); i++) {
        const json_t *from = json_array_get(targets, i);
        LoopTarget *target = g_new0(LoopTarget, 1);
        target->path = g_strdup(json_path_text(from, "path"));
        target->readonly = json_is_true(json_object_get(from, "readonly"));
        target->capability = read_capability(json_object_get(from, "capability"));
        g_ptr_array_add(place->targets, target);
    }
}

static void
state_read_volume(LoopBackend *self, const json_t *json)
{
    LoopVolume *volume = volume_new(json_path_text(json, "id"), json_path_text(json, "name"),
                                    state_number_of(json, "sequence"));
    const json_t *places = json_object_get(json, "places");

    volume->capacity_bytes = state_number_of(json, "capacityBytes");
    volume->modes = (uint32_t)state_number_of(json, "modes");
    volume->types = (uint32_t)state_number_of(json, "types");
    volume->source_kind = (CsiSourceKind)state_number_of(json, "sourceKind");
    volume->is_sparse = json_is_true(json_object_get(json, "sparse"));
    g_free(volume->parameters);
    g_free(volume->source_id);
    volume->parameters = g_strdup(json_path_text(json, "parameters"));
    volume->source_id = g_strdup(json_path_text(json, "source"));
    volume->is_there = TRUE;
    for (gsize i = 0; i < json_array_size(places); i++)
        read_place(volume, json_array_get(places, i));
    g_ptr_array_add(self->volumes, volume);
    g_hash_table_add(self->known, g_strdup(volume->id));
    self->sequence = MAX(self->sequence, volume->sequence);
}

static void
read_snapshot(LoopBackend *self, const json_t *json)
{
    LoopSnapshot *snapshot = loop_snapshot_add(self, json_path_text(json, "name"));

    snapshot->source_id = g_strdup(json_path_text(json, "source"));
    snapshot->size_bytes = state_number_of(json, "sizeBytes");
    snapshot->created_at = state_number_of(json, "createdAt");
    snapshot->sequence = state_number_of(json, "sequence");
    snapshot->is_there = TRUE;
    self->sequence = MAX(self->sequence, snapshot->sequence);
}

static void
load_folder(LoopBackend *self,
            const char *path,
            void (*read)(LoopBackend *self, const json_t *json))
{
    g_autofree char *full = loop_ledger_path(self->ledger, path);
    g_autoptr(GDir) folder = g_dir_open(full, 0, NULL);
    const char *name;

    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *file = g_build_filename(full, name, NULL);
        int fd = g_str_has_suffix(name, ".img.json") ? loop_way_open_file(file) : -1;
        json_t *record = fd == -1 ? NULL : json_loadfd(fd, 0, NULL);
        if (json_is_object(record))
            read(self, record);
        json_decref(record);
        if (fd != -1)
            close(fd);
    }
}

static int
compare_volumes(const void *a, const void *b)
{
    const LoopVolume *x = *(LoopVolume *const *)a, *y = *(LoopVolume *const *)b;

    return ORDER(x->sequence, y->sequence);
}

static int
compare_snapshots(const void *a, const void *b)
{
    const LoopSnapshot *x = *(LoopSnapshot *const *)a, *y = *(LoopSnapshot *const *)b;

    return ORDER(x->sequence, y->sequence);
}

gboolean
loop_state_load(LoopBackend *self, GError **error)
{
    if (!loop_ledger_make_folder(self->ledger, LOOP_VOLUMES, error) ||
        !loop_ledger_make_folder(self->ledger, LOOP_SNAPSHOTS, error) ||
        !loop_ledger_make_folder(self->ledger, LOOP_NODES, error))
        return FALSE;
    load_folder(self, LOOP_VOLUMES, state_read_volume);
    load_folder(self, LOOP_SNAPSHOTS, read_snapshot);
    g_ptr_array_sort(self->volumes, compare_volumes);
    g_ptr_array_sort(self->snapshots, compare_snapshots);
    return TRUE;
}
