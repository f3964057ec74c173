/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CreateVolume, DeleteVolume, expansion and modification in the modelled driver. The size is
 * rounded up to the driver's step and compared with the limits; the place is the first wanted one
 * that has room, else one of the driver's own (CSI-67). A repeat that means the same volume
 * succeeds; one that differs in size, source, capability, parameters or place is ALREADY_EXISTS
 * (CSI-47). A volume never shrinks. */
#include "modelled-private.h"

/* CreateVolume */

static int64_t
source_bytes(const ModelledCall *call)
{
    if (call->snapshot != NULL)
        return call->snapshot->size_bytes;
    return call->source_volume != NULL ? call->source_volume->capacity_bytes : 0;
}

/* @bytes rounded up to the driver's step; INT64_MAX if that does not fit. */
static int64_t
round_up(const CsiModelledDriver *driver, int64_t bytes)
{
    int64_t step = driver->options.volume_bytes_step;
    int64_t rest = step > 0 ? bytes % step : 0;

    if (rest == 0)
        return bytes;
    return __builtin_add_overflow(bytes, step - rest, &bytes) ? INT64_MAX : bytes;
}

/* The size that the driver gives for a capacity range; the caller compares it with the limits. */
static int64_t
size_for(const CsiModelledDriver *driver, const CsiRequest *request, int64_t at_least)
{
    int64_t bytes = request->required_bytes;

    if (bytes == 0) {
        bytes = MAX(driver->options.volume_bytes_default, at_least);
        if (request->limit_bytes > 0)
            bytes = MIN(bytes, request->limit_bytes);
    }
    return round_up(driver, MAX(bytes, driver->options.volume_bytes_min));
}

CallVerdict
modelled_check_size(const CsiModelledDriver *driver, ModelledCall *call, int64_t bytes)
{
    const CsiRequest *request = call->base.request;
    int64_t limit = request->limit_bytes;

    if (limit > 0 && (bytes > limit || request->required_bytes > limit))
        return modelled_refuse(call, CSI_OUT_OF_RANGE,
                               "no size between the required and the limit bytes");
    if (driver->options.volume_bytes_max > 0 && bytes > driver->options.volume_bytes_max)
        return modelled_refuse(call, CSI_OUT_OF_RANGE,
                               "requested size %" G_GINT64_FORMAT
                               " exceeds the largest volume of %" G_GINT64_FORMAT " bytes",
                               bytes, driver->options.volume_bytes_max);
    return VERDICT_GO;
}

static gboolean
keys_are_mutable(const CsiModelledDriver *driver, const CsiRequest *request, const char **unknown)
{
    const StringMap *map = request->mutable_parameters;

    for (unsigned i = 0; map != NULL && i < map->n_pairs; i++) {
        if (!string_list_has(driver->options.mutable_keys, map->pairs[i].key)) {
            *unknown = map->pairs[i].key;
            return FALSE;
        }
    }
    return TRUE;
}

static CallVerdict
check_mutable_parameters(const CsiModelledDriver *driver, ModelledCall *call)
{
    const char *unknown;

    if (keys_are_mutable(driver, call->base.request, &unknown)) /* CSI-56 */
        return VERDICT_GO;
    return modelled_refuse(call, CSI_INVALID_ARGUMENT, "unknown mutable parameter %s", unknown);
}

/* CSI-67: the wanted places in order of preference. */
static unsigned
n_candidates(const CsiRequest *request)
{
    return request->n_preferred + request->n_requisite;
}

static const StringMap *
candidate(const CsiRequest *request, unsigned i)
{
    return i < request->n_preferred ? request->preferred[i]
                                    : request->requisite[i - request->n_preferred];
}

/* Returns: (borrowed): the value of @key in a place. A wanted place may lack the key
 * (allowedTopologies has fewer keys); then the value comes from the first node in the place. NULL:
 * no such node */
static const char *
value_in(const CsiModelledDriver *driver, const StringMap *wanted, const char *key)
{
    const char *value = string_map_get(wanted, key);

    for (unsigned i = 0; value == NULL && i < driver->all_nodes->len; i++) {
        const BackendNode *node = driver->all_nodes->pdata[i];
        if (string_map_contains(node->segments, wanted))
            value = string_map_get(node->segments, key);
    }
    return value;
}

/* The driver's own keys of a wanted place (CSI-82). Returns: (owned) */
static StringMap *
own_place(const CsiModelledDriver *driver, const StringMap *wanted)
{
    const StringList *keys = driver->options.volume_keys;
    StringMap *place = NULL;

    if (keys == NULL)
        return string_map_ref(wanted);
    for (unsigned i = 0; i < keys->n_items; i++) {
        const char *key = keys->items[i];
        StringMap *longer = string_map_with(place, key, value_in(driver, wanted, key));
        string_map_unref(place);
        place = longer;
    }
    return place != NULL ? place : string_map_ref(wanted);
}

static gboolean
is_among(const StringMap *place, StringMap *const *places, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (string_map_equal(places[i], place))
            return TRUE;
    return FALSE;
}

/* The first places that have room, into @places of @n_wanted. Returns: how many were found */
static unsigned
choose_places(const CsiModelledDriver *driver,
              const CsiRequest *request,
              int64_t bytes,
              StringMap **places,
              unsigned n_wanted)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_candidates(request) && n < n_wanted; i++) {
        g_autoptr(StringMap) place = own_place(driver, candidate(request, i));
        if (!is_among(place, places, n) && modelled_room(driver, place) >= bytes)
            places[n++] = g_steal_pointer(&place);
    }
    return n;
}

/* Without a topology requirement: the first of the driver's own places that have room. */
static unsigned
choose_pools(const CsiModelledDriver *driver, int64_t bytes, StringMap **places, unsigned n_wanted)
{
    unsigned n = 0;

    for (unsigned i = 0; i < driver->n_pools && n < n_wanted; i++) {
        const StringMap *segments = driver->pools[i].segments;
        if (segments != NULL && modelled_room(driver, segments) >= bytes)
            places[n++] = string_map_ref(segments);
    }
    return n;
}

static gboolean
has_segmented_pools(const CsiModelledDriver *driver)
{
    for (unsigned i = 0; i < driver->n_pools; i++)
        if (driver->pools[i].segments != NULL)
            return TRUE;
    return FALSE;
}

/* A call on a node that names no place makes a volume of that node, as the agents of local drivers
 * do. Returns: (nullable) (owned) */
static StringMap *
serving_place(const CsiModelledDriver *driver, const CsiRequest *request)
{
    const BackendNode *node =
        request->served_by == NULL ? NULL : modelled_node_by_name(driver, request->served_by);

    return node == NULL || node->segments == NULL || n_candidates(request) > 0
               ? NULL
               : own_place(driver, node->segments);
}

/* Finds places, which the caller unrefs. Returns: FALSE if there is no room; no @places:
 * everywhere */
static gboolean
place_volume(const CsiModelledDriver *driver,
             const CsiRequest *request,
             int64_t bytes,
             StringMap **places,
             unsigned *n_places)
{
    unsigned n_wanted = driver->options.topologies_per_volume;
    g_autoptr(StringMap) serving = serving_place(driver, request);

    *n_places = 0;
    if (modelled_has_topology(driver) && serving != NULL) {
        if (modelled_room(driver, serving) < bytes)
            return FALSE;
        places[(*n_places)++] = g_steal_pointer(&serving);
        return TRUE;
    }
    if (modelled_has_topology(driver) && n_candidates(request) > 0) {
        *n_places = choose_places(driver, request, bytes, places, n_wanted);
        return *n_places == n_wanted;
    }
    if (modelled_has_topology(driver) && has_segmented_pools(driver)) {
        *n_places = choose_pools(driver, bytes, places, n_wanted);
        return *n_places == n_wanted;
    }
    return modelled_room(driver, NULL) >= bytes;
}

static gboolean
place_is_wanted(const CsiModelledDriver *driver,
                const BackendVolume *volume,
                const CsiRequest *request)
{
    if (!modelled_has_topology(driver) || request->n_requisite == 0 || volume->n_topologies == 0)
        return TRUE;
    for (unsigned i = 0; i < volume->n_topologies; i++)
        for (unsigned j = 0; j < request->n_requisite; j++)
            if (string_map_contains(volume->topologies[i], request->requisite[j]) ||
                string_map_contains(request->requisite[j], volume->topologies[i]))
                return TRUE;
    return FALSE;
}

/* CSI-16, CSI-47: a repeat that means the same volume. */
static CallVerdict
check_existing(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const BackendVolume *volume = call->volume;
    int64_t bytes = volume->capacity_bytes;
    const char *differs = NULL;

    if (bytes < request->required_bytes ||
        (request->limit_bytes > 0 && bytes > request->limit_bytes))
        differs = "size";
    else if (volume->source_kind != request->source_kind ||
             !strings_same(volume->source_id, request->source_id))
        differs = "source";
    else if (modelled_any_capability_exceeds(volume, request))
        differs = "capabilities";
    else if (!string_map_equal(volume->parameters, request->parameters))
        differs = "parameters";
    else if (!place_is_wanted(driver, volume, request))
        differs = "topology";
    if (differs == NULL)
        return VERDICT_REPEAT;
    return modelled_refuse(call, CSI_ALREADY_EXISTS, "volume %s already exists with another %s",
                           request->name, differs);
}

static CallVerdict
check_source(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    uint32_t needs = request->source_kind == CSI_SOURCE_SNAPSHOT
                         ? CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT
                         : CSI_CONTROLLER_CLONE_VOLUME;

    if (request->source_kind == CSI_SOURCE_NONE)
        return VERDICT_GO;
    if ((driver->options.controller_capabilities & needs) == 0)
        return modelled_refuse(call, CSI_INVALID_ARGUMENT, "volume content source not supported");
    if (request->source_kind == CSI_SOURCE_SNAPSHOT &&
        (call->snapshot == NULL || !call->snapshot->exists))
        return modelled_refuse(call, CSI_NOT_FOUND, "snapshot %s not found", request->source_id);
    if (request->source_kind == CSI_SOURCE_VOLUME &&
        (call->source_volume == NULL ||
         !modelled_volume_is(call->source_volume, request->source_id)))
        return modelled_refuse(call, CSI_NOT_FOUND, "source volume %s not found",
                               request->source_id);
    if (call->snapshot != NULL &&
        sim_now(driver->base.sim) < call->snapshot->ready_at) /* INTERNAL, as in host-path */
        return modelled_refuse(call, CSI_INTERNAL, "snapshot %s is not yet ready to use",
                               request->source_id);
    if (request->required_bytes > 0 &&
        request->required_bytes < source_bytes(call)) /* CSI-47, CSI-70 */
        return modelled_refuse(call, CSI_OUT_OF_RANGE,
                               "requested size is smaller than the source's");
    return VERDICT_GO;
}

static gboolean
has_place(const CsiModelledDriver *driver, const CsiRequest *request, int64_t bytes)
{
    g_autofree StringMap **places = g_new(StringMap *, driver->options.topologies_per_volume);
    unsigned n_places;
    gboolean found = place_volume(driver, request, bytes, places, &n_places);

    for (unsigned i = 0; i < n_places; i++)
        string_map_unref(places[i]);
    return found;
}

static CallVerdict
check_create_volume(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;

    if (check_mutable_parameters(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (call->volume->exists)
        return check_existing(driver, call);
    if (check_source(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    int64_t bytes = size_for(driver, request, source_bytes(call));
    if (modelled_check_size(driver, call, bytes) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (!has_place(driver, request, bytes))
        return modelled_refuse(call, CSI_RESOURCE_EXHAUSTED,
                               "no room for %" G_GINT64_FORMAT " bytes in the wanted topology",
                               bytes);
    return VERDICT_GO;
}

static void
apply_create_volume(CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    BackendVolume *volume = call->volume;

    volume->name = request->name;
    volume->capacity_bytes = size_for(driver, request, source_bytes(call));
    volume->topologies = g_new(StringMap *, driver->options.topologies_per_volume);
    place_volume(driver, request, volume->capacity_bytes, volume->topologies,
                 &volume->n_topologies);
    volume->parameters = string_map_ref(request->parameters);
    volume->mutable_parameters = string_map_ref(request->mutable_parameters);
    volume->source_kind = request->source_kind;
    volume->source_id = request->source_id;
    volume->modes = volume->types = 0;
    for (unsigned i = 0; i < request->n_capabilities; i++) {
        volume->modes |= 1u << request->capabilities[i].mode;
        volume->types |= 1u << request->capabilities[i].type;
    }
    modelled_volume_begin(driver, volume, NULL);
    volume->is_formatted = request->source_kind !=
                           CSI_SOURCE_NONE; /* a copy has its source's filesystem, grown (CSI-16) */
    if (call->snapshot != NULL)
        modelled_files_begin(driver, volume, call->snapshot->files);
    else if (call->source_volume != NULL)
        modelled_files_begin(driver, volume, modelled_files_of_copy(call->source_volume));
}

static void
answer_create_volume(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    const BackendVolume *volume = call->volume;

    response->volume_id = volume->id;
    response->capacity_bytes = volume->capacity_bytes;
    response->accessible_topology = (const StringMap *const *)volume->topologies;
    response->n_accessible_topology = volume->n_topologies;
    response->volume_context = driver->options.volume_context;
    response->source_kind = volume->source_kind;
    response->source_id = volume->source_id;
}

/* DeleteVolume */

static gboolean
is_on_a_node(const BackendVolume *volume)
{
    for (const VolumeNode *on = volume->nodes; on != NULL; on = on->next)
        if (on->staging_path != NULL || on->targets != NULL)
            return TRUE;
    return FALSE;
}

static CallVerdict
check_delete_volume(const CsiModelledDriver *driver, ModelledCall *call)
{
    const BackendVolume *volume = call->volume;

    if (!modelled_volume_is_there(call)) /* CSI-17 */
        return VERDICT_REPEAT;
    if (volume->n_published > 0 ||
        (driver->options.checks_mounts && is_on_a_node(volume))) /* CSI-48 */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "volume %s is still in use",
                               volume->id);
    if (driver->options.keeps_snapshot_sources && volume->n_snapshots > 0)
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "volume %s has dependent snapshots",
                               volume->id);
    return VERDICT_GO;
}

static void
apply_delete_volume(CsiModelledDriver *driver, ModelledCall *call)
{
    if (!driver->keeps_volumes)
        modelled_volume_end(driver, call->volume);
}

/* Expansion and modification */

static CallVerdict
check_controller_expand(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const BackendVolume *volume = call->volume;

    if (!modelled_volume_is_there(call))
        return modelled_refuse_unknown_volume(call);
    if (modelled_any_capability_exceeds(volume, request)) /* CSI-53 */
        return modelled_refuse(call, CSI_INVALID_ARGUMENT,
                               "volume %s was not made for that capability", volume->id);
    int64_t bytes =
        round_up(driver, MAX(request->required_bytes, driver->options.volume_bytes_min));
    if (modelled_check_size(driver, call, MAX(bytes, volume->capacity_bytes)) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (volume->capacity_bytes >= request->required_bytes) /* CSI-28, CSI-71: size never shrinks */
        return VERDICT_REPEAT;
    if (volume->n_published > 0 && modelled_expands_offline_only(driver))
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s is published; it expands offline only", volume->id);
    for (unsigned i = 0; i < MAX(volume->n_topologies, 1); i++) {
        const StringMap *place = volume->n_topologies == 0 ? NULL : volume->topologies[i];
        if (modelled_room(driver, place) < bytes - volume->capacity_bytes) /* CSI-65 */
            return modelled_refuse(call, CSI_RESOURCE_EXHAUSTED, "no room to expand volume %s",
                                   volume->id);
    }
    return VERDICT_GO;
}

static void
apply_controller_expand(CsiModelledDriver *driver, ModelledCall *call)
{
    BackendVolume *volume = call->volume;
    int64_t bytes =
        round_up(driver, MAX(call->base.request->required_bytes, driver->options.volume_bytes_min));

    modelled_usage_settle(driver, volume);
    modelled_take_room(driver, volume->topologies, volume->n_topologies,
                       bytes - volume->capacity_bytes);
    volume->capacity_bytes = bytes;
    if ((driver->options.node_capabilities & CSI_NODE_EXPAND_VOLUME_CAPABILITY) == 0)
        volume->filesystem_bytes = bytes;
}

static void
answer_controller_expand(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    response->capacity_bytes = call->volume->capacity_bytes;
    response->node_expansion_required =
        (driver->options.node_capabilities & CSI_NODE_EXPAND_VOLUME_CAPABILITY) != 0;
}

static CallVerdict
check_modify(const CsiModelledDriver *driver, ModelledCall *call)
{
    if (!modelled_volume_is_there(call))
        return modelled_refuse_unknown_volume(call);
    if (check_mutable_parameters(driver, call) == VERDICT_REFUSE) /* CSI-29: all or nothing */
        return VERDICT_REFUSE;
    return string_map_contains(call->volume->mutable_parameters,
                               call->base.request->mutable_parameters)
               ? VERDICT_REPEAT
               : VERDICT_GO;
}

static void
apply_modify(CsiModelledDriver *driver, ModelledCall *call)
{
    const StringMap *change = call->base.request->mutable_parameters;

    (void)driver;
    for (unsigned i = 0; i < change->n_pairs; i++) {
        StringMap *old = call->volume->mutable_parameters;
        call->volume->mutable_parameters =
            string_map_with(old, change->pairs[i].key, change->pairs[i].value);
        string_map_unref(old);
    }
}

/* Columns as in MethodClass; clang-format 14 cannot align such rows. */
/* clang-format off */
const MethodClass modelled_create_volume = {
    NEEDS_NAME | NEEDS_CAPABILITY | TAKES_SECRETS | REACHES_BACK_END,
    SUBJECT_NEW_VOLUME, TRUE, CSI_CONTROLLER_CREATE_DELETE_VOLUME,
    check_create_volume, apply_create_volume, answer_create_volume,
};

const MethodClass modelled_delete_volume = {
    NEEDS_VOLUME | TAKES_SECRETS | REACHES_BACK_END,
    SUBJECT_VOLUME, TRUE, CSI_CONTROLLER_CREATE_DELETE_VOLUME,
    check_delete_volume, apply_delete_volume, NULL,
};

const MethodClass modelled_controller_expand_volume = {
    NEEDS_VOLUME | NEEDS_RANGE | TAKES_SECRETS | REACHES_BACK_END | ADOPTS,
    SUBJECT_VOLUME, TRUE, CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY,
    check_controller_expand, apply_controller_expand, answer_controller_expand,
};

const MethodClass modelled_controller_modify_volume = {
    NEEDS_VOLUME | TAKES_SECRETS | REACHES_BACK_END,
    SUBJECT_VOLUME, TRUE, CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY,
    check_modify, apply_modify, NULL,
};
/* clang-format on */
