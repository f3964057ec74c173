/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes: their fields and checks. Resources are read as amounts of cpu, memory, pods and the
 * attachable disks of four clouds; resources of device plugins stay in the document, as no model
 * reads them. status.capacity is read first, into the same member as allocatable, since the API
 * server takes it for allocatable if that is missing. */
#include "local/local-disks.h"
#include "local/machine-use.h"
#include "pod-private.h"

#include <string.h>

/* A number of things. */
static void
amount_parse(ApiParser *parser, const json_t *value, void *field)
{
    int64_t number = *(int32_t *)field;

    field_type_parse(&field_quantity, parser, value, &number);
    *(int32_t *)field = (int32_t)CLAMP(number, 0, INT32_MAX);
}

static json_t *
amount_to_json(const void *field)
{
    int32_t number = *(const int32_t *)field;

    return number < 0 ? NULL : json_sprintf("%d", number);
}

static const FieldType amount_type = {
    .size = sizeof(int32_t),
    .parse = amount_parse,
    .to_json = amount_to_json,
};

/* Device plugins add resources of any name; no model reads them. */
#define DISKS(name, disks_kind)                                                                    \
    FIELD_FROM("attachable-volumes-" name, amount_type, NodeResources, disks[disks_kind],          \
               FIELD_SPEC, -1)
static const Field resource_fields[] = {
    FIELD("cpu", field_milli, NodeResources, cpu_milli, FIELD_SPEC),
    FIELD("memory", field_quantity, NodeResources, memory_bytes, FIELD_SPEC),
    FIELD("pods", amount_type, NodeResources, pods, FIELD_SPEC),
    DISKS("aws-ebs", NODE_EBS_DISKS),
    DISKS("azure-disk", NODE_AZURE_DISKS),
    DISKS("cinder", NODE_CINDER_DISKS),
    DISKS("gce-pd", NODE_GCE_DISKS),
    FIELDS_END,
};
#undef DISKS

static gboolean
resources_equal(const void *a, const void *b)
{
    return fields_equal(resource_fields, a, b);
}

static json_t *
resources_over(const void *field, const json_t *manifest)
{
    const NodeResources *resources = field;

    if (resources->cpu_milli == 0 && resources->memory_bytes == 0 && resources->pods == 0)
        return json_incref((json_t *)manifest); /* only counted */
    return fields_to_json(resource_fields, resources, manifest);
}

static const FieldType allocatable_type = {
    FIELD_STRUCT(NodeResources, resource_fields),
    .equal = resources_equal,
    .over = resources_over,
};

/* status.capacity: the API server takes it for allocatable if that is missing. So it is read first,
 * into the same member. */
static json_t *
capacity_over(const void *field, const json_t *manifest)
{
    return manifest == NULL ? resources_over(field, NULL)
                            : json_incref((json_t *)manifest); /* only counted */
}

static const FieldType capacity_type = {
    FIELD_STRUCT(NodeResources, resource_fields),
    .equal = resources_equal,
    .over = capacity_over,
};

typedef struct {
    const char *name;
} AttachedVolume;

static const Field attached_fields[] = {
    FIELD("name", field_full_text, AttachedVolume, name, FIELD_REQUIRED),
    FIELD_WHOLE("devicePath", field_blank, FIELD_SPEC),
    FIELDS_END,
};

static const FieldType attached_type = {FIELD_LIST(AttachedVolume, attached_fields), .keyed = TRUE};

#define TROUBLE(name, trouble)                                                                     \
    FIELD("status.conditions[" name "]", field_node_condition, Node, troubles[trouble],            \
          FIELD_STATUS)
static const Field node_fields[] = {
    FIELD("spec.taints", field_taints, Node, taints, FIELD_SPEC),
    FIELD("status.volumesInUse", field_string_list, Node, volumes_in_use, FIELD_STATUS),
    FIELD("status.volumesAttached", attached_type, Node, volumes_attached, FIELD_STATUS),
    FIELD("spec.unschedulable", field_flag, Node, unschedulable, FIELD_SPEC),
    FIELD("spec.providerID", field_word, Node, provider_id, FIELD_SPEC),
    FIELD("status.capacity", capacity_type, Node, allocatable, FIELD_STATUS),
    FIELD("status.allocatable", allocatable_type, Node, allocatable, FIELD_STATUS),
    /* Stands before its condition, which prints null if there is none. */
    FIELD(
        "status.conditions[Ready].lastHeartbeatTime", field_time, Node, heartbeat_at, FIELD_STATUS),
    FIELD("status.conditions[Ready]", field_node_condition, Node, ready, FIELD_STATUS),
    TROUBLE("MemoryPressure", NODE_MEMORY_PRESSURE),
    TROUBLE("DiskPressure", NODE_DISK_PRESSURE),
    TROUBLE("PIDPressure", NODE_PID_PRESSURE),
    TROUBLE("NetworkUnavailable", NODE_NETWORK_UNAVAILABLE),
    FIELDS_END,
};
#undef TROUBLE

static void
node_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const char *disks = string_map_get(object->annotations, ANNOTATION_DISKS);
    const char *capacity = string_map_get(object->annotations, ANNOTATION_CAPACITY);
    const char *uses = string_map_get(object->annotations, ANNOTATION_USES);
    g_autoptr(GError) disks_error = NULL;
    g_autoptr(GError) capacity_error = NULL;
    g_autoptr(GError) uses_error = NULL;
    int64_t bytes[LOCAL_DISKS_MAX];
    MachineCapacity parsed;

    if (disks != NULL && local_disks_parse(disks, bytes, &disks_error) < 0)
        annotation_fault(parser, manifest, ANNOTATION_DISKS, "for example \"10Gi 10Gi 50Gi\"",
                         disks_error);
    if (capacity != NULL && !machine_capacity_parse(capacity, &parsed, &capacity_error))
        annotation_fault(parser, manifest, ANNOTATION_CAPACITY,
                         "for example \"memory=16Gi disk=100Gi inodes=6M pids=32k\"",
                         capacity_error);
    g_free(uses == NULL ? NULL : machine_uses_parse(uses, FALSE, &uses_error));
    if (uses_error != NULL)
        annotation_fault(parser, manifest, ANNOTATION_USES,
                         "for example \"memory start=1Gi; disk start=1Gi step=100Mi every=1m\"",
                         uses_error);
}

const KindClass node_kind = {
    .kind = "Node",
    .api_version = "v1",
    .resource = "nodes",
    .size = sizeof(Node),
    .fields = node_fields,
    .check = node_check,
};
