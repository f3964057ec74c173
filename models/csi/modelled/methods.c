/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The form of requests, checks that several methods share, and the table of methods. A request is
 * checked in the order of the specification: service, method, node, required fields, sizes of
 * names, access modes, secrets. A method without its capability is UNIMPLEMENTED (CSI-7). The
 * checks change nothing, so a call may be judged when it arrives. */
#include "modelled-private.h"

#include <string.h>

#define NAME_BYTES_MAX 128 /* CSI-2, CSI-6 */

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
    case CSI_GROUP_CONTROLLER:
        return driver->options.group_capabilities;
    }
    g_assert_not_reached();
}

/* CSI-11: the two newer single-node modes need a capability of the driver. */
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

CallVerdict
modelled_check_request(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const MethodClass *method = modelled_method(request->method);
    CsiService service = csi_method_service(request->method);

    if (service == CSI_CONTROLLER &&
        (driver->options.plugin_capabilities & CSI_PLUGIN_CONTROLLER_SERVICE) == 0)
        return modelled_refuse(call, CSI_UNIMPLEMENTED, "unknown service csi.v1.Controller");
    if (service == CSI_GROUP_CONTROLLER &&
        (driver->options.plugin_capabilities & CSI_PLUGIN_GROUP_CONTROLLER_SERVICE) == 0)
        return modelled_refuse(call, CSI_UNIMPLEMENTED, "unknown service csi.v1.GroupController");
    if ((service_capabilities(driver, service) & method->capability) !=
        method->capability) /* CSI-7 */
        return modelled_refuse(call, CSI_UNIMPLEMENTED, "method %s not implemented",
                               csi_method_name(request->method));
    /* The program behind the controller's socket also knows the capabilities of nodes. */
    gboolean needs_node = service == CSI_NODE && (request->served_by != NULL ||
                                                  request->method != CSI_NODE_GET_CAPABILITIES);
    if (needs_node &&
        (request->served_by == NULL || modelled_node_by_name(driver, request->served_by) == NULL))
        return modelled_refuse(call, CSI_UNAVAILABLE,
                               "connection error: no plugin of %s on node %s", driver->base.name,
                               request->served_by != NULL ? request->served_by : "");

    const char *missing = csi_request_missing(request, method->flags); /* CSI-46 */
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

gboolean
modelled_capability_exceeds(const BackendVolume *volume, const CsiCapability *wanted)
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

gboolean
modelled_any_capability_exceeds(const BackendVolume *volume, const CsiRequest *request)
{
    for (unsigned i = 0; i < request->n_capabilities; i++)
        if (modelled_capability_exceeds(volume, &request->capabilities[i]))
            return TRUE;
    return FALSE;
}

CallVerdict
modelled_refuse_unknown_volume(ModelledCall *call)
{
    return modelled_refuse(call, CSI_NOT_FOUND, "volume %s not found",
                           call->base.request->volume_id);
}

gboolean
modelled_volume_is_there(const ModelledCall *call)
{
    return modelled_volume_is(call->volume, call->base.request->volume_id);
}

CallVerdict
modelled_check_volume_exists(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    return modelled_volume_is_there(call) ? VERDICT_GO
                                          : modelled_refuse_unknown_volume(call); /* CSI-51 */
}

/* Properties of the driver */

gboolean
modelled_has_topology(const CsiModelledDriver *driver)
{
    return (driver->options.plugin_capabilities & CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS) != 0;
}

gboolean
modelled_expands_offline_only(const CsiModelledDriver *driver)
{
    uint32_t plugin = driver->options.plugin_capabilities;

    return (plugin & CSI_PLUGIN_EXPANSION_OFFLINE) != 0 &&
           (plugin & CSI_PLUGIN_EXPANSION_ONLINE) == 0;
}

int
modelled_attach_limit(const CsiModelledDriver *driver, const BackendNode *node)
{
    return node->attach_limit != 0 ? MAX(node->attach_limit, 0) : driver->options.attach_limit;
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

static const MethodClass modelled_get_plugin_info = {.answer = answer_plugin_info};
static const MethodClass modelled_get_plugin_capabilities = {.answer = answer_plugin_capabilities};
static const MethodClass modelled_probe = {.answer = answer_probe};
static const MethodClass modelled_controller_get_capabilities = {
    .answer = answer_controller_capabilities};

/* CSI-13 to CSI-37 */
static const MethodClass *const methods[CSI_N_METHODS] = {
    [CSI_GET_PLUGIN_INFO] = &modelled_get_plugin_info,
    [CSI_GET_PLUGIN_CAPABILITIES] = &modelled_get_plugin_capabilities,
    [CSI_PROBE] = &modelled_probe,
    [CSI_CREATE_VOLUME] = &modelled_create_volume,
    [CSI_DELETE_VOLUME] = &modelled_delete_volume,
    [CSI_CONTROLLER_PUBLISH_VOLUME] = &modelled_controller_publish_volume,
    [CSI_CONTROLLER_UNPUBLISH_VOLUME] = &modelled_controller_unpublish_volume,
    [CSI_VALIDATE_VOLUME_CAPABILITIES] = &modelled_validate_volume_capabilities,
    [CSI_LIST_VOLUMES] = &modelled_list_volumes,
    [CSI_GET_CAPACITY] = &modelled_get_capacity,
    [CSI_CONTROLLER_GET_CAPABILITIES] = &modelled_controller_get_capabilities,
    [CSI_CREATE_SNAPSHOT] = &modelled_create_snapshot,
    [CSI_DELETE_SNAPSHOT] = &modelled_delete_snapshot,
    [CSI_LIST_SNAPSHOTS] = &modelled_list_snapshots,
    [CSI_GET_SNAPSHOT] = &modelled_get_snapshot,
    [CSI_CONTROLLER_EXPAND_VOLUME] = &modelled_controller_expand_volume,
    [CSI_CONTROLLER_GET_VOLUME] = &modelled_controller_get_volume,
    [CSI_CONTROLLER_MODIFY_VOLUME] = &modelled_controller_modify_volume,
    [CSI_NODE_STAGE_VOLUME] = &modelled_node_stage_volume,
    [CSI_NODE_UNSTAGE_VOLUME] = &modelled_node_unstage_volume,
    [CSI_NODE_PUBLISH_VOLUME] = &modelled_node_publish_volume,
    [CSI_NODE_UNPUBLISH_VOLUME] = &modelled_node_unpublish_volume,
    [CSI_NODE_GET_VOLUME_STATS] = &modelled_node_get_volume_stats,
    [CSI_NODE_EXPAND_VOLUME] = &modelled_node_expand_volume,
    [CSI_NODE_GET_CAPABILITIES] = &modelled_node_get_capabilities,
    [CSI_NODE_GET_INFO] = &modelled_node_get_info,
    [CSI_GROUP_CONTROLLER_GET_CAPABILITIES] = &modelled_group_get_capabilities,
    [CSI_CREATE_VOLUME_GROUP_SNAPSHOT] = &modelled_create_group,
    [CSI_DELETE_VOLUME_GROUP_SNAPSHOT] = &modelled_delete_group,
    [CSI_GET_VOLUME_GROUP_SNAPSHOT] = &modelled_get_group,
};

const MethodClass *
modelled_method(CsiMethod method)
{
    return methods[method];
}
