/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each method of CSI needs, may refuse, does and answers: a row of the table at the end, and its functions. A check
 * changes nothing but the call's refusal; it is asked as the call arrives and again as the back end is done. */
#include "modelled-internal.h"

#include <string.h>

#define NAME_BYTES_MAX 128 /* CSI-2, CSI-6 */

/* The form of a request */

static gboolean
is_empty(const char *text)
{
    return text == NULL || text[0] == '\0';
}

static const char *
missing_field(const CsiRequest *request, uint32_t flags)
{
    const struct {
        uint32_t flag;
        gboolean missing;
        const char *name;
    } fields[] = {
        {NEEDS_NAME,         is_empty(request->name),                                   "name"             },
        {NEEDS_VOLUME,       is_empty(request->volume_id),                              "volume id"        },
        {NEEDS_NODE,         is_empty(request->node_id),                                "node id"          },
        {NEEDS_CAPABILITY,   request->n_capabilities == 0,                              "volume capability"},
        {NEEDS_STAGING_PATH, is_empty(request->staging_path),                           "staging path"     },
        {NEEDS_TARGET_PATH,  is_empty(request->target_path),                            "target path"      },
        {NEEDS_RANGE,        request->required_bytes <= 0 && request->limit_bytes <= 0, "capacity range"   },
        {NEEDS_SNAPSHOT,     is_empty(request->snapshot_id),                            "snapshot id"      },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++)
        if ((flags & fields[i].flag) != 0 && fields[i].missing)
            return fields[i].name;
    return NULL;
}

/* The capabilities of the service that a method belongs to. */
static uint32_t
service_capabilities(const CsiModelledDriver *driver, CsiService service)
{
    switch (service) {
    case CSI_IDENTITY:
        return driver->options.plugin_capabilities;
    case CSI_CONTROLLER:
        return driver->options.controller_capabilities;
    case CSI_NODE:
        return driver->options.node_capabilities;
    }
    g_assert_not_reached();
}

/* CSI-11: the two younger single-node modes are for drivers that say so. */
static gboolean
mode_is_supported(const CsiModelledDriver *driver, CsiAccessMode mode)
{
    if (mode == CSI_MODE_UNKNOWN || mode >= CSI_N_MODES)
        return FALSE;
    if (mode != CSI_SINGLE_NODE_SINGLE_WRITER && mode != CSI_SINGLE_NODE_MULTI_WRITER)
        return TRUE;
    return (driver->options.controller_capabilities & CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER) !=
               0 ||
           (driver->options.node_capabilities & CSI_NODE_SINGLE_NODE_MULTI_WRITER) != 0;
}

Verdict
modelled_check_request(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const MethodClass *method = modelled_method(request->method);
    CsiService service = csi_method_service(request->method);

    if (service == CSI_CONTROLLER &&
        (driver->options.plugin_capabilities & CSI_PLUGIN_CONTROLLER_SERVICE) == 0)
        return modelled_refuse(call, CSI_UNIMPLEMENTED, "unknown service csi.v1.Controller");
    if ((service_capabilities(driver, service) & method->capability) !=
        method->capability) /* CSI-7 */
        return modelled_refuse(call, CSI_UNIMPLEMENTED, "method %s not implemented",
                               csi_method_name(request->method));
    /* What nodes can do the program behind the controller's socket knows as well. */
    gboolean needs_node =
        service == CSI_NODE &&
        (request->served_by != NULL || request->method != CSI_NODE_GET_CAPABILITIES);
    if (needs_node &&
        (request->served_by == NULL || modelled_node_by_name(driver, request->served_by) == NULL))
        return modelled_refuse(call, CSI_UNAVAILABLE,
                               "connection error: no plugin of %s on node %s", driver->base.name,
                               request->served_by != NULL ? request->served_by : "");

    const char *missing = missing_field(request, method->flags); /* CSI-46 */
    if (missing != NULL)
        return modelled_refuse(call, CSI_INVALID_ARGUMENT, "%s missing in request", missing);
    if ((method->flags & NEEDS_NAME) != 0 && strlen(request->name) > NAME_BYTES_MAX)
        return modelled_refuse(call, CSI_INVALID_ARGUMENT, "name is longer than %d bytes",
                               NAME_BYTES_MAX);
    for (unsigned i = 0; i < request->n_capabilities; i++)
        if (!mode_is_supported(driver, request->capabilities[i].mode))
            return modelled_refuse(call, CSI_INVALID_ARGUMENT, "access mode not supported");
    if (request->required_bytes < 0 || request->limit_bytes < 0)
        return modelled_refuse(call, CSI_INVALID_ARGUMENT, "negative capacity");
    if (driver->options.needs_secrets && (method->flags & TAKES_SECRETS) != 0 &&
        !request->has_secrets)
        return modelled_refuse(call, CSI_UNAUTHENTICATED, "secrets missing in request");
    return VERDICT_GO;
}

/* Capabilities of volumes */

#define READ_ONLY_MODES (1u << CSI_SINGLE_NODE_READER_ONLY | 1u << CSI_MULTI_NODE_READER_ONLY)
#define SINGLE_NODE_MODES                                                                          \
    (1u << CSI_SINGLE_NODE_WRITER | 1u << CSI_SINGLE_NODE_READER_ONLY |                            \
     1u << CSI_SINGLE_NODE_SINGLE_WRITER | 1u << CSI_SINGLE_NODE_MULTI_WRITER)

/* Whether somebody wants more of the volume than it was made for: many nodes, writing, or the other access type. */
static gboolean
capability_exceeds(const Volume *volume, const CsiCapability *wanted)
{
    uint32_t mode = 1u << wanted->mode;

    if (volume->modes != 0) {
        if ((volume->modes & ~SINGLE_NODE_MODES) == 0 && (mode & SINGLE_NODE_MODES) == 0)
            return TRUE;
        if ((volume->modes & ~READ_ONLY_MODES) == 0 && (mode & READ_ONLY_MODES) == 0)
            return TRUE;
    }
    return volume->types != 0 && (volume->types & 1u << wanted->type) == 0;
}

static gboolean
any_capability_exceeds(const Volume *volume, const CsiRequest *request)
{
    for (unsigned i = 0; i < request->n_capabilities; i++)
        if (capability_exceeds(volume, &request->capabilities[i]))
            return TRUE;
    return FALSE;
}

static Verdict
refuse_unknown_volume(ModelledCall *call)
{
    return modelled_refuse(call, CSI_NOT_FOUND, "volume %s not found",
                           call->base.request->volume_id);
}

static gboolean
volume_is_there(const ModelledCall *call)
{
    return modelled_volume_is(call->volume, call->base.request->volume_id);
}

/* Identity */

static void
answer_plugin_info(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    (void)call;
    response->plugin_name = driver->base.name;
    response->vendor_version = driver->options.vendor_version;
}

static void
answer_plugin_capabilities(const CsiModelledDriver *driver,
                           ModelledCall *call,
                           CsiResponse *response)
{
    (void)call;
    response->plugin_capabilities = driver->options.plugin_capabilities;
}

/* CSI-15 */
static void
answer_probe(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    (void)call;
    response->ready = sim_now(driver->base.sim) >= driver->options.ready_at;
}

static void
answer_controller_capabilities(const CsiModelledDriver *driver,
                               ModelledCall *call,
                               CsiResponse *response)
{
    (void)call;
    response->controller_capabilities = driver->options.controller_capabilities;
}

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

/* What the driver would make of a capacity range; the caller compares with the limits. */
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

static Verdict
check_size(const CsiModelledDriver *driver, ModelledCall *call, int64_t bytes)
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

static Verdict
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

static gboolean
has_topology(const CsiModelledDriver *driver)
{
    return (driver->options.plugin_capabilities & CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS) != 0;
}

/* Whether the candidate was tried already: preferred ones are among the requisite (CSI-67). */
static gboolean
is_repeated(const CsiRequest *request, unsigned i)
{
    for (unsigned j = 0; j < i; j++)
        if (string_map_equal(candidate(request, j), candidate(request, i)))
            return TRUE;
    return FALSE;
}

/* The first places that have room, into @places of @n_wanted. Returns: how many were found */
static unsigned
choose_places(const CsiModelledDriver *driver,
              const CsiRequest *request,
              int64_t bytes,
              const StringMap **places,
              unsigned n_wanted)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_candidates(request) && n < n_wanted; i++)
        if (!is_repeated(request, i) && modelled_room(driver, candidate(request, i)) >= bytes)
            places[n++] = candidate(request, i);
    return n;
}

/* Without a wish: the first of the driver's own places that have room. */
static unsigned
choose_pools(const CsiModelledDriver *driver,
             int64_t bytes,
             const StringMap **places,
             unsigned n_wanted)
{
    unsigned n = 0;

    for (unsigned i = 0; i < driver->n_pools && n < n_wanted; i++) {
        const StringMap *segments = driver->pools[i].segments;
        if (segments != NULL && modelled_room(driver, segments) >= bytes)
            places[n++] = segments;
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

/* Finds a place. Returns: FALSE if there is no room; @places none: everywhere */
static gboolean
place_volume(const CsiModelledDriver *driver,
             const CsiRequest *request,
             int64_t bytes,
             const StringMap **places,
             unsigned *n_places)
{
    unsigned n_wanted = driver->options.topologies_per_volume;

    *n_places = 0;
    if (has_topology(driver) && n_candidates(request) > 0) {
        *n_places = choose_places(driver, request, bytes, places, n_wanted);
        return *n_places == n_wanted;
    }
    if (has_topology(driver) && has_segmented_pools(driver)) {
        *n_places = choose_pools(driver, bytes, places, n_wanted);
        return *n_places == n_wanted;
    }
    return modelled_room(driver, NULL) >= bytes;
}

static gboolean
place_is_wanted(const CsiModelledDriver *driver, const Volume *volume, const CsiRequest *request)
{
    if (!has_topology(driver) || request->n_requisite == 0 || volume->n_topologies == 0)
        return TRUE;
    for (unsigned i = 0; i < volume->n_topologies; i++)
        for (unsigned j = 0; j < request->n_requisite; j++)
            if (string_map_contains(volume->topologies[i], request->requisite[j]))
                return TRUE;
    return FALSE;
}

/* CSI-16, CSI-47: a repeat that means the same volume. */
static Verdict
check_existing(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const Volume *volume = call->volume;
    int64_t bytes = volume->capacity_bytes;
    const char *differs = NULL;

    if (bytes < request->required_bytes ||
        (request->limit_bytes > 0 && bytes > request->limit_bytes))
        differs = "size";
    else if (volume->source_kind != request->source_kind ||
             !strings_same(volume->source_id, request->source_id))
        differs = "source";
    else if (any_capability_exceeds(volume, request))
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

static Verdict
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
        sim_now(driver->base.sim) < call->snapshot->ready_at) /* INTERNAL: as host-path does */
        return modelled_refuse(call, CSI_INTERNAL, "snapshot %s is not yet ready to use",
                               request->source_id);
    if (request->required_bytes > 0 &&
        request->required_bytes < source_bytes(call)) /* CSI-47, CSI-70 */
        return modelled_refuse(call, CSI_OUT_OF_RANGE,
                               "requested size is smaller than the source's");
    return VERDICT_GO;
}

static Verdict
check_create_volume(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    g_autofree const StringMap **places =
        g_new(const StringMap *, driver->options.topologies_per_volume);
    unsigned n_places;

    if (check_mutable_parameters(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (call->volume->exists)
        return check_existing(driver, call);
    if (check_source(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    int64_t bytes = size_for(driver, request, source_bytes(call));
    if (check_size(driver, call, bytes) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (!place_volume(driver, request, bytes, places, &n_places))
        return modelled_refuse(call, CSI_RESOURCE_EXHAUSTED,
                               "no room for %" G_GINT64_FORMAT " bytes in the wanted topology",
                               bytes);
    return VERDICT_GO;
}

static void
apply_create_volume(CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    Volume *volume = call->volume;
    g_autofree const StringMap **places =
        g_new(const StringMap *, driver->options.topologies_per_volume);

    volume->name = request->name;
    volume->capacity_bytes = size_for(driver, request, source_bytes(call));
    place_volume(driver, request, volume->capacity_bytes, places, &volume->n_topologies);
    volume->topologies = g_new(StringMap *, volume->n_topologies);
    for (unsigned i = 0; i < volume->n_topologies; i++)
        volume->topologies[i] = string_map_ref(places[i]);
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
}

static void
answer_create_volume(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    const Volume *volume = call->volume;

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
is_on_a_node(const Volume *volume)
{
    for (const VolumeNode *on = volume->nodes; on != NULL; on = on->next)
        if (on->staging_path != NULL || on->targets != NULL)
            return TRUE;
    return FALSE;
}

static Verdict
check_delete_volume(const CsiModelledDriver *driver, ModelledCall *call)
{
    const Volume *volume = call->volume;

    if (!volume_is_there(call)) /* CSI-17 */
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

/* ControllerPublishVolume, ControllerUnpublishVolume */

static int
attach_limit(const CsiModelledDriver *driver, const Node *node)
{
    return node->attach_limit > 0 ? node->attach_limit : driver->options.attach_limit;
}

static gboolean
writes(const CsiCapability *capability, gboolean readonly)
{
    return !readonly && capability->mode != CSI_SINGLE_NODE_READER_ONLY &&
           capability->mode != CSI_MULTI_NODE_READER_ONLY;
}

/* CSI-42: whether two nodes may have the volume at the same time. */
static gboolean
nodes_may_share(const VolumeNode *here, const CsiRequest *request)
{
    const CsiCapability *wanted = &request->capabilities[0];

    if (csi_access_mode_is_single_node(wanted->mode) ||
        csi_access_mode_is_single_node(here->published.mode))
        return FALSE;
    if (wanted->mode == CSI_MULTI_NODE_SINGLE_WRITER)
        return !writes(wanted, request->readonly) || !writes(&here->published, here->readonly);
    return TRUE;
}

static const Node *
node_that_bars(const Volume *volume, const Node *node, const CsiRequest *request)
{
    for (const VolumeNode *on = volume->nodes; on != NULL; on = on->next)
        if (on->is_published && on->node != node && !nodes_may_share(on, request))
            return on->node;
    return NULL;
}

static gboolean
is_accessible(const Volume *volume, const Node *node)
{
    for (unsigned i = 0; i < volume->n_topologies; i++)
        if (string_map_contains(node->segments, volume->topologies[i]))
            return TRUE;
    return volume->n_topologies == 0;
}

/* The import of a cluster does not tell how a volume was attached: anything is the same. */
static gboolean
is_same_publication(const VolumeNode *on, const CsiRequest *request)
{
    if (on->published.mode == CSI_MODE_UNKNOWN)
        return TRUE;
    return on->readonly == request->readonly &&
           csi_capability_equal(&on->published, &request->capabilities[0]);
}

static Verdict
check_controller_publish(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const Volume *volume = call->volume;
    const Node *node = call->node;

    if (!volume_is_there(call)) /* CSI-49 */
        return refuse_unknown_volume(call);
    if (node == NULL || !node->exists)
        return modelled_refuse(call, CSI_NOT_FOUND, "node %s not found", request->node_id);
    if (request->readonly &&
        (driver->options.controller_capabilities & CSI_CONTROLLER_PUBLISH_READONLY) == 0)
        return modelled_refuse(call, CSI_INVALID_ARGUMENT, "read-only publishing is not supported");

    const VolumeNode *here = modelled_find_volume_node(volume, node);
    if (here != NULL && here->is_published) {
        if (is_same_publication(here, request))
            return VERDICT_REPEAT;
        return modelled_refuse(call, CSI_ALREADY_EXISTS,
                               "volume %s is attached to node %s in another way", volume->id,
                               node->id);
    }
    if (capability_exceeds(volume, &request->capabilities[0]))
        return modelled_refuse(call, CSI_INVALID_ARGUMENT,
                               "volume %s was not made for that capability", volume->id);
    if (!is_accessible(volume, node)) /* CSI-68; the spec has no code for it */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s is not accessible from node %s", volume->id, node->id);
    const Node *other = node_that_bars(volume, node, request);
    if (other != NULL)
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s is already attached to node %s", volume->id, other->id);
    int limit = attach_limit(driver, node);
    if (limit > 0 && node->n_published >= (unsigned)limit)
        return modelled_refuse(call, CSI_RESOURCE_EXHAUSTED,
                               "node %s has reached its limit of %d volumes", node->id, limit);
    return VERDICT_GO;
}

static void
apply_controller_publish(CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;

    (void)driver;
    modelled_publish(call->volume, call->volume_node, &request->capabilities[0], request->readonly);
}

static void
answer_controller_publish(const CsiModelledDriver *driver,
                          ModelledCall *call,
                          CsiResponse *response)
{
    (void)call;
    response->publish_context = driver->options.publish_context;
}

/* CSI-19: what is unknown is surely detached, as the model forgets no attachment. */
static Verdict
check_controller_unpublish(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    if (call->base.request->node_id == NULL)
        return call->volume->n_published > 0 ? VERDICT_GO : VERDICT_REPEAT;
    return call->volume_node != NULL && call->volume_node->is_published ? VERDICT_GO
                                                                        : VERDICT_REPEAT;
}

/* CSI-40: also while it is staged there: the node may be dead. */
static void
apply_controller_unpublish(CsiModelledDriver *driver, ModelledCall *call)
{
    Volume *volume = call->volume;

    (void)driver;
    if (call->volume_node != NULL) {
        modelled_unpublish(volume, call->volume_node); /* the record goes with the call */
        return;
    }
    for (VolumeNode *on = volume->nodes, *next; on != NULL; on = next) {
        next = on->next;
        modelled_unpublish(volume, on);
        modelled_drop_idle_node(volume, on);
    }
}

/* Questions to the controller */

static Verdict
check_volume_exists(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    return volume_is_there(call) ? VERDICT_GO : refuse_unknown_volume(call); /* CSI-51 */
}

static void
answer_validate(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    (void)driver;
    response->confirmed = !any_capability_exceeds(call->volume, call->base.request);
    if (!response->confirmed)
        response->message = "the volume was not made for these capabilities";
}

static CsiEntry
volume_entry(const CsiModelledDriver *driver, const Volume *volume)
{
    uint32_t capabilities = driver->options.controller_capabilities;
    CsiEntry entry = {.volume_id = volume->id, .capacity_bytes = volume->capacity_bytes};

    if ((capabilities & CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES) != 0)
        entry.published_node_ids = modelled_published_ids(volume);
    if ((capabilities & CSI_CONTROLLER_VOLUME_CONDITION) != 0) {
        entry.abnormal = volume->is_abnormal;
        entry.condition_message = volume->condition_message;
    }
    return entry;
}

static CsiEntry
snapshot_entry(const CsiModelledDriver *driver, const Snapshot *snapshot)
{
    return (CsiEntry){.volume_id = snapshot->source_id,
                      .capacity_bytes = snapshot->size_bytes,
                      .snapshot_id = snapshot->id,
                      .creation_time = snapshot->created_at,
                      .ready_to_use = sim_now(driver->base.sim) >= snapshot->ready_at};
}

static void
add_entry(ModelledCall *call, CsiEntry entry, CsiResponse *response)
{
    if (call->entries == NULL)
        call->entries = g_array_new(FALSE, FALSE, sizeof(CsiEntry));
    g_array_append_val(call->entries, entry);
    response->entries = (const CsiEntry *)call->entries->data;
    response->n_entries = call->entries->len;
}

/* A token is the place in the order of creation of the first entry of the next page: it stays valid whatever is made or
 * deleted meanwhile. */
static gboolean
parse_token(const char *token, uint64_t *sequence)
{
    *sequence = 0;
    return is_empty(token) || g_ascii_string_to_unsigned(token, 10, 1, G_MAXINT64, sequence, NULL);
}

static Verdict
check_list(const CsiModelledDriver *driver, ModelledCall *call)
{
    const char *token = call->base.request->starting_token;
    uint64_t sequence;

    (void)driver;
    if (parse_token(token, &sequence))
        return VERDICT_GO;
    return modelled_refuse(call, CSI_ABORTED, "invalid starting token %s", token); /* CSI-54 */
}

static gboolean
page_is_full(const ModelledCall *call, const CsiResponse *response)
{
    unsigned max_entries = call->base.request->max_entries;

    return max_entries > 0 && response->n_entries == max_entries;
}

static void
answer_list_volumes(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    uint64_t first;

    parse_token(call->base.request->starting_token, &first);
    for (GList *link = driver->volumes.head; link != NULL; link = link->next) {
        const Volume *volume = link->data;
        if (volume->sequence < first)
            continue;
        if (page_is_full(call, response)) {
            response->next_token =
                strings_internf(driver->base.strings, "%" G_GUINT64_FORMAT, volume->sequence);
            return;
        }
        add_entry(call, volume_entry(driver, volume), response);
    }
}

static gboolean
snapshot_is_wanted(const Snapshot *snapshot, const CsiRequest *request)
{
    if (!is_empty(request->snapshot_id) && !strings_same(snapshot->id, request->snapshot_id))
        return FALSE;
    return is_empty(request->volume_id) || strings_same(snapshot->source_id, request->volume_id);
}

static void
answer_list_snapshots(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    uint64_t first;

    parse_token(call->base.request->starting_token, &first);
    for (GList *link = driver->snapshots.head; link != NULL; link = link->next) {
        const Snapshot *snapshot = link->data;
        if (snapshot->sequence < first || !snapshot_is_wanted(snapshot, call->base.request))
            continue;
        if (page_is_full(call, response)) {
            response->next_token =
                strings_internf(driver->base.strings, "%" G_GUINT64_FORMAT, snapshot->sequence);
            return;
        }
        add_entry(call, snapshot_entry(driver, snapshot), response);
    }
}

static void
answer_get_volume(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    add_entry(call, volume_entry(driver, call->volume), response);
}

/* CSI-69 */
static void
answer_capacity(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    const CsiRequest *request = call->base.request;

    response->available_bytes = request->n_requisite > 0
                                    ? modelled_room(driver, request->requisite[0])
                                    : modelled_room_anywhere(driver);
    response->maximum_volume_bytes = driver->options.volume_bytes_max;
    response->minimum_volume_bytes = driver->options.volume_bytes_min;
}

/* Snapshots */

static Verdict
check_create_snapshot(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const Snapshot *snapshot = call->snapshot;

    if (snapshot->exists && strings_same(snapshot->source_id, request->volume_id))
        return VERDICT_REPEAT; /* CSI-25: the caller asks again until it is ready */
    if (snapshot->exists)      /* CSI-55 */
        return modelled_refuse(call, CSI_ALREADY_EXISTS, "snapshot %s already exists of volume %s",
                               request->name, snapshot->source_id);
    if (!volume_is_there(call))
        return refuse_unknown_volume(call);
    for (unsigned i = 0;
         driver->options.snapshots_take_room && i < MAX(call->volume->n_topologies, 1); i++) {
        const StringMap *place =
            call->volume->n_topologies == 0 ? NULL : call->volume->topologies[i];
        if (modelled_room(driver, place) < call->volume->capacity_bytes)
            return modelled_refuse(call, CSI_RESOURCE_EXHAUSTED, "no room for snapshot %s",
                                   request->name);
    }
    return VERDICT_GO;
}

static void
apply_create_snapshot(CsiModelledDriver *driver, ModelledCall *call)
{
    const SimDist *until_ready = driver->options.latency[CSI_LATENCY_SNAPSHOT_READY];
    SimTime delay = 0;

    if (until_ready != NULL)
        delay = sim_dist_draw(until_ready, driver->latency_streams[CSI_LATENCY_SNAPSHOT_READY],
                              call->entity, call->snapshot->n_creations);
    call->snapshot->source = call->volume;
    call->snapshot->ready_at = sim_time_add(sim_now(driver->base.sim), MAX(delay, 0));
    modelled_snapshot_begin(driver, call->snapshot);
}

static void
answer_create_snapshot(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    const Snapshot *snapshot = call->snapshot;

    response->snapshot_id = snapshot->id;
    response->volume_id = snapshot->source_id;
    response->size_bytes = snapshot->size_bytes;
    response->creation_time = snapshot->created_at;
    response->ready_to_use = sim_now(driver->base.sim) >= snapshot->ready_at;
}

static gboolean
snapshot_is_there(const ModelledCall *call)
{
    return call->snapshot->exists &&
           strings_same(call->snapshot->id, call->base.request->snapshot_id);
}

static Verdict
check_delete_snapshot(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    if (!snapshot_is_there(call)) /* CSI-26 */
        return VERDICT_REPEAT;
    if (call->snapshot->n_users > 0) /* CSI-55 */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "snapshot %s is in use",
                               call->snapshot->id);
    return VERDICT_GO;
}

static void
apply_delete_snapshot(CsiModelledDriver *driver, ModelledCall *call)
{
    modelled_snapshot_end(driver, call->snapshot);
}

static Verdict
check_get_snapshot(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    if (snapshot_is_there(call))
        return VERDICT_GO;
    return modelled_refuse(call, CSI_NOT_FOUND, "snapshot %s not found",
                           call->base.request->snapshot_id);
}

static void
answer_get_snapshot(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    add_entry(call, snapshot_entry(driver, call->snapshot), response);
}

/* Expansion and modification */

static gboolean
expands_offline_only(const CsiModelledDriver *driver)
{
    uint32_t plugin = driver->options.plugin_capabilities;

    return (plugin & CSI_PLUGIN_EXPANSION_OFFLINE) != 0 &&
           (plugin & CSI_PLUGIN_EXPANSION_ONLINE) == 0;
}

static Verdict
check_controller_expand(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const Volume *volume = call->volume;

    if (!volume_is_there(call))
        return refuse_unknown_volume(call);
    if (any_capability_exceeds(volume, request)) /* CSI-53 */
        return modelled_refuse(call, CSI_INVALID_ARGUMENT,
                               "volume %s was not made for that capability", volume->id);
    int64_t bytes =
        round_up(driver, MAX(request->required_bytes, driver->options.volume_bytes_min));
    if (check_size(driver, call, MAX(bytes, volume->capacity_bytes)) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (volume->capacity_bytes >= request->required_bytes) /* CSI-28, CSI-71: size never shrinks */
        return VERDICT_REPEAT;
    if (volume->n_published > 0 && expands_offline_only(driver))
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
    Volume *volume = call->volume;
    int64_t bytes =
        round_up(driver, MAX(call->base.request->required_bytes, driver->options.volume_bytes_min));

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

static Verdict
check_modify(const CsiModelledDriver *driver, ModelledCall *call)
{
    if (!volume_is_there(call))
        return refuse_unknown_volume(call);
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

/* Stage and publish on nodes */

static gboolean
needs_attachment(const CsiModelledDriver *driver)
{
    return (driver->options.controller_capabilities & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME) != 0;
}

static gboolean
needs_staging(const CsiModelledDriver *driver)
{
    return (driver->options.node_capabilities & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0;
}

/* CSI-38, CSI-52: what holds before a volume is staged, or mounted without staging. */
static Verdict
check_usable_here(const CsiModelledDriver *driver, ModelledCall *call)
{
    if (capability_exceeds(call->volume, &call->base.request->capabilities[0]))
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s was not made for that capability", call->volume->id);
    if (needs_attachment(driver) && !call->volume_node->is_published)
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s is not attached to node %s", call->volume->id,
                               call->node->id);
    return VERDICT_GO;
}

static Verdict
check_stage(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const VolumeNode *here = call->volume_node;

    if (!volume_is_there(call))
        return refuse_unknown_volume(call);
    if (check_usable_here(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (here->staging_path == NULL)
        return VERDICT_GO;
    if (!strings_same(here->staging_path, request->staging_path)) /* CSI-77 */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "volume %s is already staged at %s",
                               call->volume->id, here->staging_path);
    if (!csi_capability_equal(&here->staged, &request->capabilities[0]))
        return modelled_refuse(call, CSI_ALREADY_EXISTS,
                               "volume %s is already staged in another way", call->volume->id);
    return VERDICT_REPEAT;
}

static void
apply_stage(CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    call->volume_node->staging_path = call->base.request->staging_path;
    modelled_capability_set(&call->volume_node->staged, &call->base.request->capabilities[0]);
    call->volume->is_formatted = TRUE;
    call->volume->was_known = TRUE;
}

/* CSI-51: an unknown volume is an error even here; one that is deleted meanwhile, or never staged, is not (CSI-31). */
static Verdict
check_known(const CsiModelledDriver *driver, ModelledCall *call)
{
    if (call->volume->was_known || driver->options.adopts_unknown_volumes)
        return VERDICT_GO;
    return refuse_unknown_volume(call);
}

static Verdict
check_unstage(const CsiModelledDriver *driver, ModelledCall *call)
{
    const VolumeNode *here = call->volume_node;

    if (check_known(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (here->staging_path == NULL ||
        !strings_same(here->staging_path, call->base.request->staging_path))
        return VERDICT_REPEAT;
    if (here->targets != NULL) /* CSI-77, LOOP-23 */
        return modelled_refuse(call, CSI_INTERNAL, "volume %s is still published on node %s",
                               call->base.request->volume_id, call->node->id);
    return VERDICT_GO;
}

static void
apply_unstage(CsiModelledDriver *driver, ModelledCall *call)
{
    static const CsiCapability none = {0};

    (void)driver;
    call->volume_node->staging_path = NULL;
    modelled_capability_set(&call->volume_node->staged, &none);
}

/* Returns: NULL: there is none */
static Target *
find_target(const VolumeNode *here, const char *path)
{
    Target *target = here->targets;

    while (target != NULL && !strings_same(target->path, path))
        target = target->next;
    return target;
}

/* CSI-44, CSI-45: whether a volume may be mounted at a second path of its node. */
static gboolean
allows_second_target(const CsiModelledDriver *driver, CsiAccessMode mode)
{
    if (mode == CSI_SINGLE_NODE_WRITER)
        return (driver->options.node_capabilities & CSI_NODE_SINGLE_NODE_MULTI_WRITER) == 0;
    return mode != CSI_SINGLE_NODE_SINGLE_WRITER && mode != CSI_SINGLE_NODE_READER_ONLY;
}

static Verdict
check_second_publish(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const VolumeNode *here = call->volume_node;
    const Target *target = find_target(here, request->target_path);

    if (target != NULL) {
        if (target->readonly == request->readonly &&
            csi_capability_equal(&target->capability, &request->capabilities[0]))
            return VERDICT_REPEAT;
        return modelled_refuse(call, CSI_ALREADY_EXISTS,
                               "volume %s is mounted at %s in another way", call->volume->id,
                               target->path);
    }
    if (here->targets == NULL || allows_second_target(driver, request->capabilities[0].mode))
        return VERDICT_GO;
    return modelled_refuse(call, CSI_FAILED_PRECONDITION, "volume %s is already mounted on node %s",
                           call->volume->id, call->node->id);
}

/* A volume in a pod's own words: made by the mount, gone with it. */
static gboolean
is_ephemeral(const CsiRequest *request)
{
    const char *value = string_map_get(request->volume_context, "csi.storage.k8s.io/ephemeral");

    return value != NULL && strcmp(value, "true") == 0;
}

static Verdict
check_node_publish(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const VolumeNode *here = call->volume_node;

    if (is_ephemeral(request))
        return check_second_publish(driver, call);
    if (!volume_is_there(call))
        return refuse_unknown_volume(call);
    if (!needs_staging(driver)) {
        if (check_usable_here(driver, call) == VERDICT_REFUSE)
            return VERDICT_REFUSE;
        return check_second_publish(driver, call);
    }
    if (is_empty(request->staging_path)) /* CSI-52 */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "staging path missing in request");
    if (here->staging_path == NULL) /* CSI-77 */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "volume %s is not staged",
                               call->volume->id);
    if (!strings_same(here->staging_path, request->staging_path))
        return modelled_refuse(call, CSI_INVALID_ARGUMENT, "volume %s is staged at %s",
                               call->volume->id, here->staging_path);
    if (capability_exceeds(call->volume, &request->capabilities[0]))
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s was not made for that capability", call->volume->id);
    return check_second_publish(driver, call);
}

static void
apply_node_publish(CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;

    if (is_ephemeral(request) && !call->volume->exists) {
        csi_modelled_driver_add_volume(driver, request->volume_id, 0, NULL, 0);
        call->volume->is_ephemeral = TRUE;
    }
    modelled_target_add(call->volume_node, request);
}

static Verdict
check_node_unpublish(const CsiModelledDriver *driver, ModelledCall *call)
{
    if (check_known(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    return find_target(call->volume_node, call->base.request->target_path) == NULL ? VERDICT_REPEAT
                                                                                   : VERDICT_GO;
}

static void
apply_node_unpublish(CsiModelledDriver *driver, ModelledCall *call)
{
    VolumeNode *here = call->volume_node;

    modelled_target_remove(here, find_target(here, call->base.request->target_path));
    if (call->volume->is_ephemeral && here->targets == NULL)
        modelled_volume_end(driver, call->volume);
}

/* What is on a node */

static gboolean
path_is_known(const VolumeNode *here, const char *path)
{
    return (here->staging_path != NULL && strings_same(here->staging_path, path)) ||
           find_target(here, path) != NULL;
}

static Verdict
check_volume_path(ModelledCall *call)
{
    const CsiRequest *request = call->base.request;

    if (!volume_is_there(call))
        return refuse_unknown_volume(call);
    if (!path_is_known(call->volume_node, request->target_path))
        return modelled_refuse(call, CSI_NOT_FOUND, "volume %s is not mounted at %s",
                               request->volume_id, request->target_path);
    return VERDICT_GO;
}

static Verdict
check_stats(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    return check_volume_path(call);
}

#define BYTES_PER_INODE 16384 /* mke2fs.conf: inode_ratio */
#define INODES_RESERVED 11    /* of an empty ext4: its first inode is 11, lost+found */

/* The model knows of no files: a volume is empty. */
static void
answer_stats(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    const Volume *volume = call->volume;

    response->total_bytes = volume->filesystem_bytes;
    response->available_bytes = volume->filesystem_bytes;
    response->total_inodes = volume->filesystem_bytes / BYTES_PER_INODE;
    response->used_inodes = MIN(INODES_RESERVED, response->total_inodes);
    response->available_inodes = response->total_inodes - response->used_inodes;
    if ((driver->options.node_capabilities & CSI_NODE_VOLUME_CONDITION) != 0) {
        response->abnormal = volume->is_abnormal;
        response->condition_message = volume->condition_message;
    }
}

static Verdict
check_node_expand(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const Volume *volume = call->volume;
    const VolumeNode *here = call->volume_node;

    if (check_volume_path(call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (any_capability_exceeds(volume, request)) /* CSI-53 */
        return modelled_refuse(call, CSI_INVALID_ARGUMENT,
                               "volume %s was not made for that capability", volume->id);
    if (volume->filesystem_bytes >=
        MAX(request->required_bytes, volume->capacity_bytes)) /* CSI-37 */
        return VERDICT_REPEAT;
    if (request->required_bytes > volume->capacity_bytes &&
        (driver->options.controller_capabilities & CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY) != 0)
        return modelled_refuse(call, CSI_OUT_OF_RANGE,
                               "the device of volume %s is smaller than that", volume->id);
    if (check_size(driver, call, MAX(request->required_bytes, volume->capacity_bytes)) ==
        VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (expands_offline_only(driver) && here->targets != NULL)
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "the filesystem of volume %s cannot grow while it is in use",
                               volume->id);
    return VERDICT_GO;
}

/* A driver that expands on nodes only grows the volume itself here. */
static void
apply_node_expand(CsiModelledDriver *driver, ModelledCall *call)
{
    Volume *volume = call->volume;
    int64_t bytes = MAX(call->base.request->required_bytes, volume->capacity_bytes);

    modelled_take_room(driver, volume->topologies, volume->n_topologies,
                       bytes - volume->capacity_bytes);
    volume->capacity_bytes = bytes;
    volume->filesystem_bytes = bytes;
}

static void
answer_node_expand(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    (void)driver;
    response->capacity_bytes = call->volume->capacity_bytes;
}

static void
answer_node_capabilities(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    (void)call;
    response->node_capabilities = driver->options.node_capabilities;
}

void
modelled_node_info(const CsiModelledDriver *driver, const Node *node, CsiResponse *response)
{
    int reported = driver->options.attach_limit_reported;

    response->node_id = node->id;
    response->max_volumes_per_node =
        node->attach_limit == 0 && reported > 0 ? reported : attach_limit(driver, node);
    if (has_topology(driver) && node->segments != NULL) {
        response->accessible_topology = (const StringMap *const *)&node->segments;
        response->n_accessible_topology = 1;
    }
}

static void
answer_node_info(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    modelled_node_info(driver, call->node, response);
}

/* CSI-13 to CSI-37, and what each needs (CSI-46). Columns: flags; what it is about, whether one at a time, the
 * capability without which it is not there; check, apply, answer. clang-format 14 cannot align such rows. */
/* clang-format off */
static const MethodClass methods[CSI_N_METHODS] = {
    [CSI_GET_PLUGIN_INFO] = {.answer = answer_plugin_info},
    [CSI_GET_PLUGIN_CAPABILITIES] = {.answer = answer_plugin_capabilities},
    [CSI_PROBE] = {.answer = answer_probe},
    [CSI_CREATE_VOLUME] = {
        NEEDS_NAME | NEEDS_CAPABILITY | TAKES_SECRETS | REACHES_BACK_END,
        SUBJECT_NEW_VOLUME, TRUE, CSI_CONTROLLER_CREATE_DELETE_VOLUME,
        check_create_volume, apply_create_volume, answer_create_volume},
    [CSI_DELETE_VOLUME] = {
        NEEDS_VOLUME | TAKES_SECRETS | REACHES_BACK_END,
        SUBJECT_VOLUME, TRUE, CSI_CONTROLLER_CREATE_DELETE_VOLUME,
        check_delete_volume, apply_delete_volume, NULL},
    [CSI_CONTROLLER_PUBLISH_VOLUME] = {
        NEEDS_VOLUME | NEEDS_NODE | NEEDS_CAPABILITY | TAKES_SECRETS | REACHES_BACK_END | ADOPTS,
        SUBJECT_VOLUME_NODE, TRUE, CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME,
        check_controller_publish, apply_controller_publish, answer_controller_publish},
    [CSI_CONTROLLER_UNPUBLISH_VOLUME] = {
        NEEDS_VOLUME | TAKES_SECRETS | REACHES_BACK_END,
        SUBJECT_VOLUME_NODE, TRUE, CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME,
        check_controller_unpublish, apply_controller_unpublish, NULL},
    [CSI_VALIDATE_VOLUME_CAPABILITIES] = {
        NEEDS_VOLUME | NEEDS_CAPABILITY | TAKES_SECRETS | ADOPTS,
        SUBJECT_VOLUME, FALSE, 0,
        check_volume_exists, NULL, answer_validate},
    [CSI_LIST_VOLUMES] = {
        REACHES_BACK_END,
        SUBJECT_NONE, FALSE, CSI_CONTROLLER_LIST_VOLUMES,
        check_list, NULL, answer_list_volumes},
    [CSI_GET_CAPACITY] = {
        REACHES_BACK_END,
        SUBJECT_NONE, FALSE, CSI_CONTROLLER_GET_CAPACITY,
        NULL, NULL, answer_capacity},
    [CSI_CONTROLLER_GET_CAPABILITIES] = {.answer = answer_controller_capabilities},
    [CSI_CREATE_SNAPSHOT] = {
        NEEDS_NAME | NEEDS_VOLUME | TAKES_SECRETS | REACHES_BACK_END,
        SUBJECT_NEW_SNAPSHOT, TRUE, CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT,
        check_create_snapshot, apply_create_snapshot, answer_create_snapshot},
    [CSI_DELETE_SNAPSHOT] = {
        NEEDS_SNAPSHOT | TAKES_SECRETS | REACHES_BACK_END,
        SUBJECT_SNAPSHOT, TRUE, CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT,
        check_delete_snapshot, apply_delete_snapshot, NULL},
    [CSI_LIST_SNAPSHOTS] = {
        REACHES_BACK_END,
        SUBJECT_NONE, FALSE, CSI_CONTROLLER_LIST_SNAPSHOTS,
        check_list, NULL, answer_list_snapshots},
    [CSI_GET_SNAPSHOT] = {
        NEEDS_SNAPSHOT | REACHES_BACK_END,
        SUBJECT_SNAPSHOT, FALSE, CSI_CONTROLLER_GET_SNAPSHOT_CAPABILITY,
        check_get_snapshot, NULL, answer_get_snapshot},
    [CSI_CONTROLLER_EXPAND_VOLUME] = {
        NEEDS_VOLUME | NEEDS_RANGE | TAKES_SECRETS | REACHES_BACK_END | ADOPTS,
        SUBJECT_VOLUME, TRUE, CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY,
        check_controller_expand, apply_controller_expand, answer_controller_expand},
    [CSI_CONTROLLER_GET_VOLUME] = {
        NEEDS_VOLUME | REACHES_BACK_END,
        SUBJECT_VOLUME, FALSE, CSI_CONTROLLER_GET_VOLUME_CAPABILITY,
        check_volume_exists, NULL, answer_get_volume},
    [CSI_CONTROLLER_MODIFY_VOLUME] = {
        NEEDS_VOLUME | TAKES_SECRETS | REACHES_BACK_END,
        SUBJECT_VOLUME, TRUE, CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY,
        check_modify, apply_modify, NULL},
    [CSI_NODE_STAGE_VOLUME] = {
        NEEDS_VOLUME | NEEDS_STAGING_PATH | NEEDS_CAPABILITY | TAKES_SECRETS | ADOPTS,
        SUBJECT_MOUNT, TRUE, CSI_NODE_STAGE_UNSTAGE_VOLUME,
        check_stage, apply_stage, NULL},
    [CSI_NODE_UNSTAGE_VOLUME] = {
        NEEDS_VOLUME | NEEDS_STAGING_PATH,
        SUBJECT_MOUNT, TRUE, CSI_NODE_STAGE_UNSTAGE_VOLUME,
        check_unstage, apply_unstage, NULL},
    [CSI_NODE_PUBLISH_VOLUME] = {
        NEEDS_VOLUME | NEEDS_TARGET_PATH | NEEDS_CAPABILITY | TAKES_SECRETS | ADOPTS,
        SUBJECT_MOUNT, TRUE, 0,
        check_node_publish, apply_node_publish, NULL},
    [CSI_NODE_UNPUBLISH_VOLUME] = {
        NEEDS_VOLUME | NEEDS_TARGET_PATH,
        SUBJECT_MOUNT, TRUE, 0,
        check_node_unpublish, apply_node_unpublish, NULL},
    [CSI_NODE_GET_VOLUME_STATS] = {
        NEEDS_VOLUME | NEEDS_TARGET_PATH,
        SUBJECT_MOUNT, FALSE, CSI_NODE_GET_VOLUME_STATS_CAPABILITY,
        check_stats, NULL, answer_stats},
    [CSI_NODE_EXPAND_VOLUME] = {
        NEEDS_VOLUME | NEEDS_TARGET_PATH,
        SUBJECT_MOUNT, TRUE, CSI_NODE_EXPAND_VOLUME_CAPABILITY,
        check_node_expand, apply_node_expand, answer_node_expand},
    [CSI_NODE_GET_CAPABILITIES] = {.subject = SUBJECT_NODE, .answer = answer_node_capabilities},
    [CSI_NODE_GET_INFO] = {.subject = SUBJECT_NODE, .answer = answer_node_info},
};
/* clang-format on */

const MethodClass *
modelled_method(CsiMethod method)
{
    return &methods[method];
}
