/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which member of CsiRequest, CsiResponse and their parts a field of a CSI message is: a table by
 * place and name, with the kind of value. A member that stands in two structs in the same order is
 * described once, which assertions check. Fields that nobody in Kubernetes reads are left out.
 * messages.c walks over both sides by this table. */
#include "messages-private.h"

#include <string.h>

#include <serve/csi/csi.pb-c.h>

#define IS_PART(Part, second, Whole, a, b)                                                         \
    G_STATIC_ASSERT(G_STRUCT_OFFSET(Whole, b) - G_STRUCT_OFFSET(Whole, a) ==                       \
                    G_STRUCT_OFFSET(Part, second))
IS_PART(CsiSource, kind, CsiRequest, source_id, source_kind);
IS_PART(CsiSource, kind, CsiResponse, source_id, source_kind);
IS_PART(CsiCondition, message, CsiResponse, abnormal, condition_message);
IS_PART(CsiCondition, message, CsiEntry, abnormal, condition_message);

/* clang-format off */
#define AT(Struct, member) .offset = G_STRUCT_OFFSET(Struct, member)
#define MANY(Struct, member) AT(Struct, member), .n_offset = G_STRUCT_OFFSET(Struct, n_##member)
static const CsiField fields[] = {
    {REQUEST, "accessibility_requirements", INSIDE, .inside = REQUEST},
    {REQUEST, "accessible_topology", MAPS, MANY(CsiRequest, requisite)},
    {REQUEST, "capacity_range", INSIDE, .inside = REQUEST},
    {REQUEST, "group_snapshot_id", TEXT, AT(CsiRequest, group_snapshot_id)},
    {REQUEST, "limit_bytes", BYTES, AT(CsiRequest, limit_bytes)},
    {REQUEST, "max_entries", COUNT, AT(CsiRequest, max_entries)},
    {REQUEST, "mutable_parameters", MAP, AT(CsiRequest, mutable_parameters)},
    {REQUEST, "name", TEXT, AT(CsiRequest, name)},
    {REQUEST, "node_id", TEXT, AT(CsiRequest, node_id)},
    {REQUEST, "parameters", MAP, AT(CsiRequest, parameters)},
    {REQUEST, "preferred", MAPS, MANY(CsiRequest, preferred)},
    {REQUEST, "publish_context", MAP, AT(CsiRequest, publish_context)},
    {REQUEST, "readonly", TRUTH, AT(CsiRequest, readonly)},
    {REQUEST, "required_bytes", BYTES, AT(CsiRequest, required_bytes)},
    {REQUEST, "requisite", MAPS, MANY(CsiRequest, requisite)},
    {REQUEST, "secrets", SECRETS, AT(CsiRequest, has_secrets)},
    {REQUEST, "snapshot_id", TEXT, AT(CsiRequest, snapshot_id)},
    {REQUEST, "snapshot_ids", TEXTS, AT(CsiRequest, snapshot_ids)},
    {REQUEST, "source_volume_id", TEXT, AT(CsiRequest, volume_id)},
    {REQUEST, "source_volume_ids", TEXTS, AT(CsiRequest, volume_ids)},
    {REQUEST, "staging_target_path", TEXT, AT(CsiRequest, staging_path)},
    {REQUEST, "starting_token", TEXT, AT(CsiRequest, starting_token)},
    {REQUEST, "target_path", TEXT, AT(CsiRequest, target_path)},
    {REQUEST, "volume_capabilities", CAPABILITIES, MANY(CsiRequest, capabilities)},
    {REQUEST, "volume_capability", CAPABILITIES, MANY(CsiRequest, capabilities)},
    {REQUEST, "volume_content_source", INSIDE, AT(CsiRequest, source_id), .inside = SOURCE},
    {REQUEST, "volume_context", MAP, AT(CsiRequest, volume_context)},
    {REQUEST, "volume_id", TEXT, AT(CsiRequest, volume_id)},
    {REQUEST, "volume_path", TEXT, AT(CsiRequest, target_path)},

    {RESPONSE, "accessible_topology", MAPS, MANY(CsiResponse, accessible_topology)},
    {RESPONSE, "available_capacity", BYTES, AT(CsiResponse, available_bytes)},
    {RESPONSE, "capabilities", FLAGS, AT(CsiResponse, plugin_capabilities), .message = "GetPluginCapabilitiesResponse"},
    {RESPONSE, "capabilities", FLAGS, AT(CsiResponse, controller_capabilities), .message = "ControllerGetCapabilitiesResponse"},
    {RESPONSE, "capabilities", FLAGS, AT(CsiResponse, node_capabilities), .message = "NodeGetCapabilitiesResponse"},
    {RESPONSE, "capabilities", FLAGS, AT(CsiResponse, group_capabilities), .message = "GroupControllerGetCapabilitiesResponse"},
    {RESPONSE, "capacity_bytes", BYTES, AT(CsiResponse, capacity_bytes)},
    {RESPONSE, "confirmed", CONFIRMED, AT(CsiResponse, confirmed)},
    {RESPONSE, "content_source", INSIDE, AT(CsiResponse, source_id), .inside = SOURCE},
    {RESPONSE, "creation_time", TIME, AT(CsiResponse, creation_time)},
    {RESPONSE, "entries", ENTRIES, MANY(CsiResponse, entries)},
    {RESPONSE, "group_snapshot", INSIDE, .inside = RESPONSE},
    {RESPONSE, "group_snapshot_id", TEXT, AT(CsiResponse, group_snapshot_id)},
    {RESPONSE, "max_volumes_per_node", BYTES, AT(CsiResponse, max_volumes_per_node)},
    {RESPONSE, "maximum_volume_size", BYTES_OR_NONE, AT(CsiResponse, maximum_volume_bytes)},
    {RESPONSE, "message", TEXT, AT(CsiResponse, message)},
    {RESPONSE, "minimum_volume_size", BYTES_OR_NONE, AT(CsiResponse, minimum_volume_bytes)},
    {RESPONSE, "name", TEXT, AT(CsiResponse, plugin_name)},
    {RESPONSE, "next_token", TEXT, AT(CsiResponse, next_token)},
    {RESPONSE, "node_expansion_required", TRUTH, AT(CsiResponse, node_expansion_required)},
    {RESPONSE, "node_id", TEXT, AT(CsiResponse, node_id)},
    {RESPONSE, "publish_context", MAP, AT(CsiResponse, publish_context)},
    {RESPONSE, "ready", TRUTH_OR_NONE, AT(CsiResponse, ready)},
    {RESPONSE, "ready_to_use", TRUTH, AT(CsiResponse, ready_to_use)},
    {RESPONSE, "size_bytes", BYTES, AT(CsiResponse, size_bytes)},
    {RESPONSE, "snapshot", INSIDE, .inside = RESPONSE},
    {RESPONSE, "snapshot_id", TEXT, AT(CsiResponse, snapshot_id)},
    {RESPONSE, "snapshots", ENTRIES, MANY(CsiResponse, entries)},
    {RESPONSE, "source_volume_id", TEXT, AT(CsiResponse, volume_id)},
    {RESPONSE, "usage", USAGE},
    {RESPONSE, "vendor_version", TEXT, AT(CsiResponse, vendor_version)},
    {RESPONSE, "volume", INSIDE, .inside = RESPONSE},
    {RESPONSE, "volume_condition", INSIDE, AT(CsiResponse, abnormal), .inside = CONDITION},
    {RESPONSE, "volume_context", MAP, AT(CsiResponse, volume_context)},
    {RESPONSE, "volume_id", TEXT, AT(CsiResponse, volume_id)},

    /* A volume of a list has no topology and no context: they are optional there, and nobody in Kubernetes reads them. */
    {ENTRY, "capacity_bytes", BYTES, AT(CsiEntry, capacity_bytes)},
    {ENTRY, "creation_time", TIME, AT(CsiEntry, creation_time)},
    {ENTRY, "group_snapshot_id", TEXT, AT(CsiEntry, group_snapshot_id)},
    {ENTRY, "published_node_ids", TEXTS, AT(CsiEntry, published_node_ids)},
    {ENTRY, "ready_to_use", TRUTH, AT(CsiEntry, ready_to_use)},
    {ENTRY, "size_bytes", BYTES, AT(CsiEntry, capacity_bytes)},
    {ENTRY, "snapshot", INSIDE, .inside = ENTRY},
    {ENTRY, "snapshot_id", TEXT, AT(CsiEntry, snapshot_id)},
    {ENTRY, "source_volume_id", TEXT, AT(CsiEntry, volume_id)},
    {ENTRY, "status", INSIDE, .inside = ENTRY},
    {ENTRY, "volume", INSIDE, .inside = ENTRY},
    {ENTRY, "volume_condition", INSIDE, AT(CsiEntry, abnormal), .inside = CONDITION},
    {ENTRY, "volume_id", TEXT, AT(CsiEntry, volume_id)},

    {CAPABILITY, "access_mode", INSIDE, .inside = CAPABILITY},
    {CAPABILITY, "block", CASE, AT(CsiCapability, type), .inside = CAPABILITY, .value = CSI_ACCESS_BLOCK},
    {CAPABILITY, "fs_type", TEXT, AT(CsiCapability, fs_type)},
    {CAPABILITY, "mode", COUNT, AT(CsiCapability, mode)},
    {CAPABILITY, "mount", CASE, AT(CsiCapability, type), .inside = CAPABILITY, .value = CSI_ACCESS_MOUNT},
    {CAPABILITY, "mount_flags", TEXTS, AT(CsiCapability, mount_flags)},
    {CAPABILITY, "volume_mount_group", TEXT, AT(CsiCapability, volume_mount_group)},

    {SOURCE, "snapshot", CASE, AT(CsiSource, kind), .inside = SOURCE, .value = CSI_SOURCE_SNAPSHOT},
    {SOURCE, "snapshot_id", TEXT, AT(CsiSource, id)},
    {SOURCE, "volume", CASE, AT(CsiSource, kind), .inside = SOURCE, .value = CSI_SOURCE_VOLUME},
    {SOURCE, "volume_id", TEXT, AT(CsiSource, id)},

    {CONDITION, "abnormal", TRUTH, AT(CsiCondition, abnormal)},
    {CONDITION, "message", TEXT, AT(CsiCondition, message)},
};

#define METHOD(message) {&csi__v1__##message##_request__descriptor, &csi__v1__##message##_response__descriptor}
static const CsiMessageTypes methods[CSI_N_METHODS] = {
    [CSI_GET_PLUGIN_INFO] = METHOD(get_plugin_info),
    [CSI_GET_PLUGIN_CAPABILITIES] = METHOD(get_plugin_capabilities),
    [CSI_PROBE] = METHOD(probe),
    [CSI_CREATE_VOLUME] = METHOD(create_volume),
    [CSI_DELETE_VOLUME] = METHOD(delete_volume),
    [CSI_CONTROLLER_PUBLISH_VOLUME] = METHOD(controller_publish_volume),
    [CSI_CONTROLLER_UNPUBLISH_VOLUME] = METHOD(controller_unpublish_volume),
    [CSI_VALIDATE_VOLUME_CAPABILITIES] = METHOD(validate_volume_capabilities),
    [CSI_LIST_VOLUMES] = METHOD(list_volumes),
    [CSI_GET_CAPACITY] = METHOD(get_capacity),
    [CSI_CONTROLLER_GET_CAPABILITIES] = METHOD(controller_get_capabilities),
    [CSI_CREATE_SNAPSHOT] = METHOD(create_snapshot),
    [CSI_DELETE_SNAPSHOT] = METHOD(delete_snapshot),
    [CSI_LIST_SNAPSHOTS] = METHOD(list_snapshots),
    [CSI_GET_SNAPSHOT] = METHOD(get_snapshot),
    [CSI_CONTROLLER_EXPAND_VOLUME] = METHOD(controller_expand_volume),
    [CSI_CONTROLLER_GET_VOLUME] = METHOD(controller_get_volume),
    [CSI_CONTROLLER_MODIFY_VOLUME] = METHOD(controller_modify_volume),
    [CSI_NODE_STAGE_VOLUME] = METHOD(node_stage_volume),
    [CSI_NODE_UNSTAGE_VOLUME] = METHOD(node_unstage_volume),
    [CSI_NODE_PUBLISH_VOLUME] = METHOD(node_publish_volume),
    [CSI_NODE_UNPUBLISH_VOLUME] = METHOD(node_unpublish_volume),
    [CSI_NODE_GET_VOLUME_STATS] = METHOD(node_get_volume_stats),
    [CSI_NODE_EXPAND_VOLUME] = METHOD(node_expand_volume),
    [CSI_NODE_GET_CAPABILITIES] = METHOD(node_get_capabilities),
    [CSI_NODE_GET_INFO] = METHOD(node_get_info),
    [CSI_GROUP_CONTROLLER_GET_CAPABILITIES] = METHOD(group_controller_get_capabilities),
    [CSI_CREATE_VOLUME_GROUP_SNAPSHOT] = METHOD(create_volume_group_snapshot),
    [CSI_DELETE_VOLUME_GROUP_SNAPSHOT] = METHOD(delete_volume_group_snapshot),
    [CSI_GET_VOLUME_GROUP_SNAPSHOT] = METHOD(get_volume_group_snapshot),
};
/* clang-format on */

const CsiField *
csi_message_field(CsiPlace place, const char *message, const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++)
        if (fields[i].place == place && strcmp(fields[i].name, name) == 0 &&
            (fields[i].message == NULL || strcmp(fields[i].message, message) == 0))
            return &fields[i];
    return NULL;
}

const CsiMessageTypes *
csi_message_types(CsiMethod method)
{
    return &methods[method];
}
