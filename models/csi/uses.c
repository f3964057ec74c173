/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uses.h"

#define PROVISIONER "external-provisioner"
#define ATTACHER "external-attacher"
#define MONITOR "external-health-monitor-controller"
#define RESIZER "external-resizer"
#define SNAPSHOTTER "external-snapshotter"

#define CONTROLLER(bits)                                                                           \
    {                                                                                              \
        .controller = (bits)                                                                       \
    }
#define NODE(bits)                                                                                 \
    {                                                                                              \
        .node = (bits)                                                                             \
    }
#define ANY                                                                                        \
    {                                                                                              \
        0                                                                                          \
    }

#define CREATES CSI_CONTROLLER_CREATE_DELETE_VOLUME
#define PUBLISHES CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME
#define LISTS_PUBLISHED                                                                            \
    (PUBLISHES | CSI_CONTROLLER_LIST_VOLUMES | CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES)
#define CUTS CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT
#define TELLS CSI_CONTROLLER_VOLUME_CONDITION
#define EXPANDS CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY
#define STAGES NODE(CSI_NODE_STAGE_UNSTAGE_VOLUME)
#define NODE_EXPANDS NODE(CSI_NODE_EXPAND_VOLUME_CAPABILITY)
#define ON_NODES_IMMEDIATE (CSI_SETTING_ON_NODES | CSI_SETTING_ON_NODES_IMMEDIATE)

/* In the order of CsiUse: method, caller, case, capabilities, other capabilities that do as well,
 * capabilities that prevent it, settings, rule. clang-format 14 cannot align such rows. */
/* clang-format off */
static const CsiUseClass uses[CSI_N_USES] = {
    [CSI_USE_START_PROBE] = {CSI_PROBE, CSI_ANY_SIDECAR, "a sidecar starts, until the driver is ready", ANY, ANY, 0, 0, "EA-10"},
    [CSI_USE_LIVENESS] = {CSI_PROBE, CSI_KUBELET, "livenessprobe is asked, each livenessPeriod", ANY, ANY, 0, CSI_SETTING_LIVENESS, "REG-31"},
    [CSI_USE_START_INFO] = {CSI_GET_PLUGIN_INFO, CSI_ANY_SIDECAR, "a sidecar starts", ANY, ANY, 0, 0, "EA-10"},
    [CSI_USE_SNAPSHOT_INFO] = {CSI_GET_PLUGIN_INFO, SNAPSHOTTER, "before each CreateSnapshot", CONTROLLER(CUTS), ANY, 0, 0, "SNAP-44"},
    [CSI_USE_START_PLUGIN] = {CSI_GET_PLUGIN_CAPABILITIES, CSI_ANY_SIDECAR, "a sidecar starts", ANY, ANY, 0, 0, "EA-10"},
    [CSI_USE_CREATE] = {CSI_CREATE_VOLUME, PROVISIONER, "a claim needs a new volume", CONTROLLER(CREATES), ANY, 0, 0, "PROV-21"},
    [CSI_USE_RESTORE] = {CSI_CREATE_VOLUME, PROVISIONER, "... from a VolumeSnapshot", CONTROLLER(CREATES | CUTS), ANY, 0, 0, "SRC-4"},
    [CSI_USE_CLONE] = {CSI_CREATE_VOLUME, PROVISIONER, "... from another claim", CONTROLLER(CREATES | CSI_CONTROLLER_CLONE_VOLUME), ANY, 0, 0, "SRC-1"},
    [CSI_USE_CREATE_WITH_CLASS] = {CSI_CREATE_VOLUME, PROVISIONER, "... with a VolumeAttributesClass", CONTROLLER(CREATES | CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY), ANY, 0, CSI_SETTING_CREATE_WITH_CLASS, "PROV-20.11"},
    [CSI_USE_DELETE] = {CSI_DELETE_VOLUME, PROVISIONER, "a volume with policy Delete is released, or created too small", ANY, ANY, 0, 0, "PROV-33.2"},
    [CSI_USE_ATTACH] = {CSI_CONTROLLER_PUBLISH_VOLUME, ATTACHER, "a VolumeAttachment is not attached", CONTROLLER(PUBLISHES), ANY, 0, CSI_SETTING_ATTACH, "EA-19.9"},
    [CSI_USE_DETACH] = {CSI_CONTROLLER_UNPUBLISH_VOLUME, ATTACHER, "a VolumeAttachment is deleted", CONTROLLER(PUBLISHES), ANY, 0, CSI_SETTING_ATTACH, "EA-23.4"},
    [CSI_USE_VALIDATE] = {CSI_VALIDATE_VOLUME_CAPABILITIES, NULL, "", ANY, ANY, 0, 0, "CSI-84"},
    [CSI_USE_COMPARE] = {CSI_LIST_VOLUMES, ATTACHER, "each --reconcile-sync, to compare", CONTROLLER(LISTS_PUBLISHED), ANY, 0, CSI_SETTING_ATTACH, "EA-25"},
    [CSI_USE_LIST_CONDITIONS] = {CSI_LIST_VOLUMES, MONITOR, "each --list-volumes-interval, for the conditions of volumes", CONTROLLER(TELLS | CSI_CONTROLLER_LIST_VOLUMES), ANY, 0, 0, "EHM-10"},
    [CSI_USE_CAPACITY] = {CSI_GET_CAPACITY, PROVISIONER, "each --capacity-poll-interval, for each place and each class that waits for a consumer", ANY, ANY, 0, CSI_SETTING_CAPACITY, "CAP-2"},
    [CSI_USE_OWN_CAPACITY] = {CSI_GET_CAPACITY, PROVISIONER, "an instance on a node wants a claim without a node", ANY, ANY, 0, ON_NODES_IMMEDIATE, "NODE-3"},
    [CSI_USE_START_CONTROLLER] = {CSI_CONTROLLER_GET_CAPABILITIES, CSI_ANY_SIDECAR, "a sidecar starts", {.plugin = CSI_PLUGIN_CONTROLLER_SERVICE}, ANY, 0, 0, "EA-10"},
    [CSI_USE_EXPAND_QUESTION] = {CSI_CONTROLLER_GET_CAPABILITIES, RESIZER, "before each ControllerExpandVolume", CONTROLLER(EXPANDS), ANY, 0, 0, "RSZ-33"},
    [CSI_USE_SNAPSHOT_QUESTION] = {CSI_CONTROLLER_GET_CAPABILITIES, SNAPSHOTTER, "the content of a given snapshot is not ready", CONTROLLER(CUTS), ANY, 0, 0, "SNAP-46"},
    [CSI_USE_CREATE_SNAPSHOT] = {CSI_CREATE_SNAPSHOT, SNAPSHOTTER, "a VolumeSnapshot of a claim is new, or not ready", CONTROLLER(CUTS), ANY, 0, 0, "SNAP-44"},
    [CSI_USE_DELETE_SNAPSHOT] = {CSI_DELETE_SNAPSHOT, SNAPSHOTTER, "a VolumeSnapshot with policy Delete is deleted", CONTROLLER(CUTS), ANY, 0, 0, "SNAP-42.1"},
    [CSI_USE_LIST_SNAPSHOTS] = {CSI_LIST_SNAPSHOTS, SNAPSHOTTER, "the content of a given snapshot is not ready", CONTROLLER(CUTS | CSI_CONTROLLER_LIST_SNAPSHOTS), ANY, 0, 0, "SNAP-46"},
    [CSI_USE_GET_SNAPSHOT] = {CSI_GET_SNAPSHOT, NULL, "", ANY, ANY, 0, 0, "CSI-84"},
    [CSI_USE_START_GROUPS] = {CSI_GROUP_CONTROLLER_GET_CAPABILITIES, SNAPSHOTTER, "it starts", ANY, ANY, 0, CSI_SETTING_GROUPS, "SNAP-90"},
    [CSI_USE_CREATE_GROUP] = {CSI_CREATE_VOLUME_GROUP_SNAPSHOT, SNAPSHOTTER, "a VolumeGroupSnapshot is new, or not ready", CONTROLLER(CUTS), ANY, 0, CSI_SETTING_GROUPS, "SNAP-91"},
    [CSI_USE_DELETE_GROUP] = {CSI_DELETE_VOLUME_GROUP_SNAPSHOT, SNAPSHOTTER, "a VolumeGroupSnapshot with policy Delete is deleted", CONTROLLER(CUTS), ANY, 0, CSI_SETTING_GROUPS, "SNAP-91"},
    [CSI_USE_GET_GROUP] = {CSI_GET_VOLUME_GROUP_SNAPSHOT, SNAPSHOTTER, "the content of a given group is not ready", CONTROLLER(CUTS), ANY, 0, CSI_SETTING_GROUPS, "SNAP-91"},
    [CSI_USE_EXPAND] = {CSI_CONTROLLER_EXPAND_VOLUME, RESIZER, "a bound claim asks for more", CONTROLLER(EXPANDS), ANY, 0, 0, "RSZ-33"},
    [CSI_USE_GET_VOLUME] = {CSI_CONTROLLER_GET_VOLUME, MONITOR, "each worker each --monitor-interval, for a volume's condition", CONTROLLER(TELLS | CSI_CONTROLLER_GET_VOLUME_CAPABILITY), ANY, CSI_CONTROLLER_LIST_VOLUMES, 0, "EHM-20"},
    [CSI_USE_MODIFY] = {CSI_CONTROLLER_MODIFY_VOLUME, RESIZER, "a bound claim names another VolumeAttributesClass", CONTROLLER(EXPANDS), {.plugin = CSI_PLUGIN_CONTROLLER_SERVICE, .node = CSI_NODE_EXPAND_VOLUME_CAPABILITY}, 0, CSI_SETTING_MODIFY, "RSZ-66"},
    [CSI_USE_STAGE] = {CSI_NODE_STAGE_VOLUME, CSI_KUBELET, "the first pod on a node wants the volume", STAGES, ANY, 0, 0, "KVM-42"},
    [CSI_USE_UNSTAGE] = {CSI_NODE_UNSTAGE_VOLUME, CSI_KUBELET, "the last pod on a node has left the volume", STAGES, ANY, 0, 0, "KVM-48"},
    [CSI_USE_PUBLISH] = {CSI_NODE_PUBLISH_VOLUME, CSI_KUBELET, "a pod wants the file system of a claim", ANY, ANY, 0, CSI_SETTING_PERSISTENT, "KVM-43"},
    [CSI_USE_PUBLISH_BLOCK] = {CSI_NODE_PUBLISH_VOLUME, CSI_KUBELET, "a pod wants the device of a claim", ANY, ANY, 0, 0, "KVM-57"},
    [CSI_USE_PUBLISH_INLINE] = {CSI_NODE_PUBLISH_VOLUME, CSI_KUBELET, "a pod has an inline volume", ANY, ANY, 0, CSI_SETTING_EPHEMERAL, "CSP-10"},
    [CSI_USE_REPUBLISH] = {CSI_NODE_PUBLISH_VOLUME, CSI_KUBELET, "again at each sync of a pod, 60 to 90 s apart", ANY, ANY, 0, CSI_SETTING_REPUBLISH, "KVM-52"},
    [CSI_USE_UNPUBLISH] = {CSI_NODE_UNPUBLISH_VOLUME, CSI_KUBELET, "a pod ends", ANY, ANY, 0, 0, "KVM-47"},
    [CSI_USE_STATS] = {CSI_NODE_GET_VOLUME_STATS, CSI_KUBELET, "each one to two volumeStatsAggPeriod, for each mounted volume", NODE(CSI_NODE_GET_VOLUME_STATS_CAPABILITY), ANY, 0, CSI_SETTING_STATS, "CSP-21"},
    [CSI_USE_NODE_EXPAND] = {CSI_NODE_EXPAND_VOLUME, CSI_KUBELET, "a mounted volume has grown, or grows at its mount", NODE_EXPANDS, ANY, 0, 0, "KVM-55"},
    [CSI_USE_NODE_QUESTION] = {CSI_NODE_GET_CAPABILITIES, CSI_KUBELET, "before each call but NodeUnpublishVolume", ANY, ANY, 0, 0, "CSP-12"},
    [CSI_USE_START_NODE] = {CSI_NODE_GET_CAPABILITIES, RESIZER, "it starts", {.plugin = CSI_PLUGIN_CONTROLLER_SERVICE}, ANY, EXPANDS, 0, "RSZ-20"},
    [CSI_USE_REGISTER] = {CSI_NODE_GET_INFO, CSI_KUBELET, "the driver registers on a node", ANY, ANY, 0, 0, "REG-18"},
    [CSI_USE_START_PLACE] = {CSI_NODE_GET_INFO, PROVISIONER, "an instance on a node starts", ANY, ANY, 0, CSI_SETTING_ON_NODES, "NODE-6"},
};

static const struct {
    CsiSettings setting;
    const char *fault;
} setting_faults[] = {
    {CSI_SETTING_ATTACH,             "attachRequired is false"},
    {CSI_SETTING_PERSISTENT,         "CSIDriver volumeLifecycleModes has no Persistent"},
    {CSI_SETTING_EPHEMERAL,          "CSIDriver volumeLifecycleModes has no Ephemeral"},
    {CSI_SETTING_REPUBLISH,          "CSIDriver requiresRepublish is false"},
    {CSI_SETTING_CAPACITY,           "external-provisioner runs without --enable-capacity"},
    {CSI_SETTING_ON_NODES,           "external-provisioner runs without --node-deployment"},
    {CSI_SETTING_ON_NODES_IMMEDIATE, "--node-deployment-immediate-binding is false"},
    {CSI_SETTING_CREATE_WITH_CLASS,  "external-provisioner runs without VolumeAttributesClass in --feature-gates"},
    {CSI_SETTING_MODIFY,             "external-resizer runs without VolumeAttributesClass in --feature-gates"},
    {CSI_SETTING_STATS,              "no kubelet has a volumeStatsAggPeriod"},
    {CSI_SETTING_LIVENESS,           "nodePlugin has no livenessPeriod"},
    {CSI_SETTING_GROUPS,             "external-snapshotter runs without CSIVolumeGroupSnapshot in --feature-gates"},
};
/* clang-format on */

const char *
csi_setting_fault(CsiSettings setting)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(setting_faults); i++)
        if (setting_faults[i].setting == setting)
            return setting_faults[i].fault;
    g_assert_not_reached();
}

const CsiUseClass *
csi_use_class(CsiUse use)
{
    return &uses[use];
}

static gboolean
has_all(const CsiCapabilities *capabilities, const CsiCapabilities *needs)
{
    /* CSI-83 */
    gboolean knows_controller = (capabilities->plugin & CSI_PLUGIN_CONTROLLER_SERVICE) != 0;
    uint32_t controller = knows_controller ? capabilities->controller : 0;

    return (needs->plugin & ~(uint32_t)capabilities->plugin) == 0 &&
           (needs->controller & ~controller) == 0 &&
           (needs->node & ~(uint32_t)capabilities->node) == 0;
}

gboolean
csi_use_is_offered(CsiUse use, const CsiCapabilities *capabilities)
{
    const CsiUseClass *class = &uses[use];
    const CsiCapabilities *other = &class->otherwise;
    gboolean has_other = (other->plugin | other->controller | other->node) != 0;

    return (capabilities->controller & class->unless) == 0 &&
           (has_all(capabilities, &class->needs) || (has_other && has_all(capabilities, other)));
}
