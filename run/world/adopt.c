/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The start from a running cluster's objects: the drivers have the volumes and snapshots that
 * objects tell of, and have attached what is attached. What is staged and published on a node its
 * kubelet tells (models/kubelet/volume-manager/adopt.c). */
#include "models/api/local/local-volume.h"
#include "models/api/snapshot.h"
#include "models/api/workload.h"
#include "models/volume/access-mode.h"
#include "run-private.h"

/* Calls @visit for each object of a kind. */
static void
each_object(const Run *self, ObjectKind kind, void (*visit)(const Run *self, const Object *object))
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, kind); i++) {
        const Object *object =
            api_server_get(cluster_api(self->cluster), objects_key_at(self->objects, kind, i));
        if (object != NULL)
            visit(self, object);
    }
}

/* Returns: NULL: no such driver, or it has another back end */
static CsiModelledDriver *
adopt_find_driver(const Run *self, const char *name)
{
    CsiDriver *driver = name == NULL ? NULL : cluster_find_driver(self->cluster, name);

    return driver == NULL ? NULL : csi_modelled_driver_cast(driver);
}

/* ---- The places of a volume ---- */

static gboolean
is_reported(const Run *self, CsiModelledDriver *driver, const char *key)
{
    CsiResponse info;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++)
        if (csi_driver_foresee_node_info(csi_modelled_driver_base(driver),
                                         objects_key_at(self->objects, KIND_NODE, i)->name,
                                         &info) &&
            info.n_accessible_topology > 0 &&
            string_map_get(info.accessible_topology[0], key) != NULL)
            return TRUE;
    return FALSE;
}

/* Whether a node of the driver reports this key. At the start the answers are kept. */
static gboolean
is_topology_key(const Run *self, CsiModelledDriver *driver, const char *key)
{
    const char *name = csi_driver_name(csi_modelled_driver_base(driver));
    g_autofree char *question = g_strdup_printf("%s %s", name, key);
    void *answer;

    if (self->topology_keys != NULL &&
        g_hash_table_lookup_extended(self->topology_keys, question, NULL, &answer))
        return answer != NULL;
    gboolean is_one = is_reported(self, driver, key);
    if (self->topology_keys != NULL)
        g_hash_table_insert(self->topology_keys, g_steal_pointer(&question),
                            GINT_TO_POINTER(is_one));
    return is_one;
}

static void
map_free(void *map)
{
    string_map_unref(map);
}

/* Each place of @places, once with each of the values. Returns: (owned) */
static GPtrArray *
multiply(const GPtrArray *places, const char *key, const StringList *values)
{
    GPtrArray *products = g_ptr_array_new_with_free_func(map_free);

    for (unsigned i = 0; i < places->len; i++)
        for (unsigned j = 0; j < values->n_items; j++)
            g_ptr_array_add(products, string_map_with(places->pdata[i], key, values->items[j]));
    return products;
}

/* A volume has a few places. A key that would make more is left: it could make millions. */
#define PLACES_MAX 1000

/* Adds the places of one term; other labels than the driver's say nothing about the back end. */
static void
add_places(const Run *self,
           CsiModelledDriver *driver,
           const NodeSelectorTerm *term,
           GPtrArray *places)
{
    const LabelSelector *labels = term->expressions;
    g_autoptr(GPtrArray) of_term = g_ptr_array_new_with_free_func(map_free);

    g_ptr_array_add(of_term, NULL);
    for (unsigned i = 0; labels != NULL && i < labels->n_requirements; i++) {
        const SelectRequirement *needs = &labels->requirements[i];
        if (needs->operator!= SELECT_IN || needs->values == NULL || of_term->len *
            needs->values->n_items> PLACES_MAX || !is_topology_key(self, driver, needs->key))
            continue;
        GPtrArray *products = multiply(of_term, needs->key, needs->values);
        g_ptr_array_unref(of_term);
        of_term = products;
    }
    for (unsigned i = 0; i < of_term->len; i++)
        if (of_term->pdata[i] != NULL)
            g_ptr_array_add(places, string_map_ref(of_term->pdata[i]));
}

/* ---- Volumes and snapshots ---- */

static const Claim *
adopt_claim_of(const Run *self, const Volume *volume)
{
    const ObjectKey *key = volume->claim_ref.claim;
    const Object *claim = key == NULL ? NULL : api_server_get(cluster_api(self->cluster), key);

    return claim != NULL && volume_is_bound_to(volume, CLAIM_CONST(claim)) ? CLAIM_CONST(claim)
                                                                           : NULL;
}

/* The source of the volume's copy, if it is still there. */
static void
find_source(const Run *self, const Claim *claim, CsiModelledVolume *past)
{
    const DataSource *source = &claim->data_source;
    const char *namespace =
        source->namespace != NULL ? source->namespace : claim->meta.key->namespace;

    if (g_strcmp0(source->kind, "VolumeSnapshot") == 0) {
        const Object *snapshot = world_find(self, KIND_VOLUME_SNAPSHOT, namespace, source->name);
        const Object *content = snapshot == NULL
                                    ? NULL
                                    : world_find(self, KIND_SNAPSHOT_CONTENT, NULL,
                                                 VOLUME_SNAPSHOT_CONST(snapshot)->bound_content);
        past->source_id = content == NULL ? NULL : SNAPSHOT_CONTENT_CONST(content)->handle;
        past->source_kind = past->source_id == NULL ? CSI_SOURCE_NONE : CSI_SOURCE_SNAPSHOT;
    } else if (g_strcmp0(source->kind, "PersistentVolumeClaim") == 0) {
        const Object *other = world_find(self, KIND_CLAIM, namespace, source->name);
        const Object *pv = other == NULL ? NULL
                                         : world_find(self, KIND_VOLUME, NULL,
                                                      claim_volume_name(CLAIM_CONST(other)));
        past->source_id = pv == NULL || VOLUME_CONST(pv)->source == NULL
                              ? NULL
                              : VOLUME_CONST(pv)->source->handle;
        past->source_kind = past->source_id == NULL ? CSI_SOURCE_NONE : CSI_SOURCE_VOLUME;
    }
}

/* NULL: no driver of the run has it */
static CsiModelledDriver *
driver_of_volume(const Run *self, const Volume *volume)
{
    CsiModelledDriver *driver =
        volume->source == NULL ? NULL : adopt_find_driver(self, volume->source->driver);

    if (driver == NULL) {
        CsiDriver *base = cluster_backend(self->cluster, volume_in_process_source(volume), NULL);
        driver = base == NULL ? NULL : csi_modelled_driver_cast(base);
    }
    return driver;
}

static void
adopt_volume(const Run *self, const Object *object)
{
    const Volume *volume = VOLUME_CONST(object);
    CsiModelledDriver *driver = driver_of_volume(self, volume);
    const NodeSelector *affinity = volume->node_affinity;
    const Claim *claim = adopt_claim_of(self, volume);
    g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(map_free);

    if (driver == NULL)
        return;
    for (unsigned i = 0; affinity != NULL && i < affinity->n_terms; i++)
        add_places(self, driver, &affinity->terms[i], places);
    CsiModelledVolume past = {
        .id = volume_backend_id(volume),
        .capacity_bytes = volume->capacity_bytes,
        .topologies = (const StringMap *const *)places->pdata,
        .n_topologies = places->len,
    };
    if (claim != NULL) { /* the node's part of an expansion is still to come */
        past.filesystem_bytes = MIN(claim->capacity_bytes, volume->capacity_bytes);
        past.n_files = claim_files(claim);
        find_source(self, claim, &past);
    }
    csi_modelled_driver_add_volume(driver, &past);
}

/* ---- The resources of drivers for the nodes' own disks: LOC-23 ---- */

/* Returns: (borrowed): the name of the node that reports this place; NULL: none */
static const char *
node_of_place(const Run *self, CsiDriver *driver, const StringMap *place)
{
    CsiResponse info;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++) {
        const char *node = objects_key_at(self->objects, KIND_NODE, i)->name;
        if (csi_driver_foresee_node_info(driver, node, &info) && info.n_accessible_topology > 0 &&
            string_map_equal(info.accessible_topology[0], place))
            return node;
    }
    return NULL;
}

static void
add_local_volume(const Run *self, const Volume *volume, const char *node)
{
    const ObjectKey *key = objects_key(self->objects, KIND_LOCAL_VOLUME, LOCAL_VOLUME_NAMESPACE,
                                       volume->source->handle);
    const StorageClass *class =
        STORAGE_CLASS(world_find(self, KIND_STORAGE_CLASS, NULL, volume->class_name));
    ApiResponse response;

    if (api_server_get(cluster_api(self->cluster), key) != NULL)
        return;
    g_autoptr(Object) object = object_new((ObjectKey *)key);
    LocalVolume *local = LOCAL_VOLUME(object);
    local->node = node;
    local->pool = class == NULL ? NULL : string_map_get(class->parameters, "poolname");
    local->capacity_bytes = volume->capacity_bytes;
    local->state = LOCAL_VOLUME_READY;
    object_add_finalizer(object,
                         strings_intern(objects_strings(self->objects), FINALIZER_LOCAL_VOLUME));
    api_server_commit(
        cluster_api(self->cluster),
        &(ApiRequest){
            .verb = API_CREATE, .key = (ObjectKey *)key, .object = object, .client = "initial"},
        &response);
}

static void
adopt_local(const Run *self, const Object *object)
{
    const Volume *volume = VOLUME_CONST(object);
    const NodeSelector *affinity = volume->node_affinity;
    CsiModelledDriver *driver =
        volume->source == NULL ? NULL : adopt_find_driver(self, volume->source->driver);
    g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(map_free);

    if (driver == NULL || volume->source->handle == NULL ||
        !cluster_has_process(self->cluster, "local-volume-controller", volume->source->driver))
        return;
    for (unsigned i = 0; affinity != NULL && i < affinity->n_terms; i++)
        add_places(self, driver, &affinity->terms[i], places);
    const char *node =
        places->len == 0 ? NULL
                         : node_of_place(self, csi_modelled_driver_base(driver), places->pdata[0]);
    if (node != NULL)
        add_local_volume(self, volume, node);
}

/* The disks that pods name themselves: their back end has them, as people made them. */
static void
adopt_inline(const Run *self, const PodVolumes *volumes)
{
    for (unsigned i = 0; volumes != NULL && i < volumes->n_inline; i++) {
        const PodVolume *volume = &volumes->items[volumes->n_items + i];
        if (volume->source->is_inline)
            continue;
        g_autoptr(Object) pv =
            pod_volume_as_volume(self->objects, volume, cluster_release(self->cluster));
        adopt_volume(self, pv);
    }
}

static void
adopt_pod(const Run *self, const Object *pod)
{
    adopt_inline(self, POD_CONST(pod)->volumes);
}

static void
adopt_template(const Run *self, const Object *object)
{
    const PodTemplate *template = workload_template(object);

    if (template != NULL)
        adopt_inline(self, template->volumes);
}

/* @content: of the snapshot, or of its group */
static CsiModelledSnapshot
past_snapshot(const Run *self, const SnapshotContent *content, const char *id)
{
    return (CsiModelledSnapshot){
        .id = id,
        .source_id = content->volume_handle,
        .size_bytes = MAX(content->restore_bytes, 0),
        .created_at = content->created_ns < 0
                          ? sim_now(self->sim)
                          : content->created_ns - api_time_unix(sim_start(self->sim), 0),
        .is_ready = content->readiness != SNAPSHOT_NOT_READY,
    };
}

/* Returns: (borrowed): the name of the call that made the snapshot */
static const char *
call_name(const Run *self, const char *prefix, const SnapshotContent *content)
{
    char uid[OBJECT_UID_BUFFER];

    return strings_internf(objects_strings(self->objects), "%s-%s", prefix,
                           object_uid_format(content->snapshot.uid, uid));
}

/* CreateSnapshot has been answered, or the snapshot was taken by hand. */
static void
adopt_snapshot(const Run *self, const Object *object)
{
    const SnapshotContent *content = SNAPSHOT_CONTENT_CONST(object);
    CsiModelledDriver *driver = adopt_find_driver(self, content->driver);
    const char *handle = content->given_handle != NULL ? content->given_handle : content->handle;

    if (driver == NULL || handle == NULL)
        return;
    CsiModelledSnapshot past = past_snapshot(self, content, handle);
    past.name = content->volume_handle == NULL ? NULL : call_name(self, "snapshot", content);
    csi_modelled_driver_add_snapshot(driver, &past);
}

/* Of which volumes the members are only the group's status tells. */
static void
adopt_group(const Run *self, const Object *object)
{
    const GroupContent *group = GROUP_CONTENT_CONST(object);
    const SnapshotContent *content = &group->base;
    const StringList *members = group->pairs != NULL ? group->pairs : group->given_snapshots;
    const char *handle = content->given_handle != NULL ? content->given_handle : content->handle;
    CsiModelledDriver *driver = adopt_find_driver(self, content->driver);
    g_autoptr(GPtrArray) ids = g_ptr_array_new();

    if (driver == NULL || handle == NULL || members == NULL)
        return;
    for (unsigned i = group->pairs != NULL; i < members->n_items;
         i += group->pairs != NULL ? 2 : 1) {
        CsiModelledSnapshot past = past_snapshot(self, content, members->items[i]);

        if (group->pairs != NULL)
            past.source_id = members->items[i - 1];
        csi_modelled_driver_add_snapshot(driver, &past);
        g_ptr_array_add(ids, (void *)past.id);
    }
    csi_modelled_driver_add_group(
        driver, handle,
        group->volume_handles == NULL ? NULL : call_name(self, "groupsnapshot", content),
        (const char *const *)ids->pdata, ids->len);
}

void
world_adopt_source(const Run *self, const Object *object)
{
    if (object_kind(object) == KIND_VOLUME)
        adopt_volume(self, object);
    if (object_kind(object) == KIND_SNAPSHOT_CONTENT)
        adopt_snapshot(self, object);
    if (object_kind(object) == KIND_GROUP_CONTENT)
        adopt_group(self, object);
    if (object_kind(object) == KIND_POD)
        adopt_pod(self, object);
    adopt_template(self, object);
}

/* ---- What is attached ---- */

static void
adopt_attachment(const Run *self, const Object *object)
{
    const Attachment *attachment = (const Attachment *)object;
    CsiModelledDriver *driver = adopt_find_driver(self, attachment->attacher);
    const Object *pv = attachment->inline_volume != NULL
                           ? attachment->inline_volume
                           : world_find(self, KIND_VOLUME, NULL, attachment->volume_name);
    const Volume *volume = VOLUME_CONST(pv);
    const char *error = NULL;
    CsiResponse info;

    if (!attachment->attached || driver == NULL || pv == NULL || volume->source == NULL ||
        !csi_driver_foresee_node_info(csi_modelled_driver_base(driver), attachment->node_name,
                                      &info))
        return;
    const CsiCapability capability = {
        .mode = sidecar_access_mode(volume_access_modes(volume), FALSE, &error),
        .type = volume->volume_mode == VOLUME_BLOCK ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT,
    };
    csi_driver_adopt(csi_modelled_driver_base(driver),
                     &(CsiRequest){.method = CSI_CONTROLLER_PUBLISH_VOLUME,
                                   .volume_id = volume->source->handle,
                                   .node_id = info.node_id,
                                   .capabilities = &capability,
                                   .n_capabilities = 1,
                                   .readonly = volume->source->read_only});
}

void
world_adopt(Run *self)
{
    self->topology_keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    each_object(self, KIND_VOLUME, adopt_volume);
    each_object(self, KIND_VOLUME, adopt_local);
    each_object(self, KIND_GROUP_CONTENT, adopt_group);
    each_object(self, KIND_SNAPSHOT_CONTENT, adopt_snapshot);
    for (ObjectKind kind = 0; kind < N_KINDS; kind++)
        each_object(self, kind, kind == KIND_POD ? adopt_pod : adopt_template);
    each_object(self, KIND_ATTACHMENT, adopt_attachment);
    g_clear_pointer(&self->topology_keys, g_hash_table_unref);
}

/* ---- Nodes that are silent ---- */

/* KVM-97: the node controller has lost the kubelet. It stays away until a fault of the scenario
 * ends. */
static void
silence(const Run *self, const Object *node)
{
    if (((const Node *)node)->ready.status == CONDITION_UNKNOWN)
        cluster_crash(self->cluster, "kubelet", object_name(node));
}

void
world_adopt_silence(const Run *self)
{
    each_object(self, KIND_NODE, silence);
}
