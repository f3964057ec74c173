/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "csi.h"

/* The calls that Kubernetes makes: a row for each method, caller and case, with its conditions.
 * Sidecars and kubelet ask this table whether a driver's capabilities allow a call; `kvolsim
 * profiles show --calls` prints it. */

/* A driver's answers to the three questions for capabilities. */
typedef struct {
    CsiPluginCapabilities plugin;
    CsiControllerCapabilities controller; /* nobody asks without CONTROLLER_SERVICE (CSI-83) */
    CsiNodeCapabilities node;
} CsiCapabilities;

/* Conditions besides capabilities: fields of the CSIDriver object, flags. */
typedef enum {
    CSI_SETTING_ATTACH = 1 << 0,
    CSI_SETTING_PERSISTENT = 1 << 1,
    CSI_SETTING_EPHEMERAL = 1 << 2,
    CSI_SETTING_REPUBLISH = 1 << 3,
    CSI_SETTING_CAPACITY = 1 << 4,
    CSI_SETTING_ON_NODES = 1 << 5,
    CSI_SETTING_ON_NODES_IMMEDIATE = 1 << 6,
    CSI_SETTING_CREATE_WITH_CLASS = 1 << 7,
    CSI_SETTING_MODIFY = 1 << 8,
    CSI_SETTING_STATS = 1 << 9,
    CSI_SETTING_LIVENESS = 1 << 10,
    CSI_SETTING_GROUPS = 1 << 11,
} CsiSettings;

/* "CSIDriver attachRequired is false": what a user reads if a call needs @setting, one bit, and it
 * is off. */
const char *csi_setting_fault(CsiSettings setting);

typedef enum {
    CSI_USE_START_PROBE,
    CSI_USE_LIVENESS,
    CSI_USE_START_INFO,
    CSI_USE_SNAPSHOT_INFO,
    CSI_USE_START_PLUGIN,
    CSI_USE_CREATE,
    CSI_USE_RESTORE,
    CSI_USE_CLONE,
    CSI_USE_CREATE_WITH_CLASS,
    CSI_USE_DELETE,
    CSI_USE_ATTACH,
    CSI_USE_DETACH,
    CSI_USE_VALIDATE,
    CSI_USE_COMPARE,
    CSI_USE_LIST_CONDITIONS,
    CSI_USE_CAPACITY,
    CSI_USE_OWN_CAPACITY,
    CSI_USE_START_CONTROLLER,
    CSI_USE_EXPAND_QUESTION,
    CSI_USE_SNAPSHOT_QUESTION,
    CSI_USE_CREATE_SNAPSHOT,
    CSI_USE_DELETE_SNAPSHOT,
    CSI_USE_LIST_SNAPSHOTS,
    CSI_USE_GET_SNAPSHOT,
    CSI_USE_START_GROUPS,
    CSI_USE_CREATE_GROUP,
    CSI_USE_DELETE_GROUP,
    CSI_USE_GET_GROUP,
    CSI_USE_EXPAND,
    CSI_USE_GET_VOLUME,
    CSI_USE_MODIFY,
    CSI_USE_STAGE,
    CSI_USE_UNSTAGE,
    CSI_USE_PUBLISH,
    CSI_USE_PUBLISH_BLOCK,
    CSI_USE_PUBLISH_INLINE,
    CSI_USE_REPUBLISH,
    CSI_USE_UNPUBLISH,
    CSI_USE_STATS,
    CSI_USE_NODE_EXPAND,
    CSI_USE_NODE_QUESTION,
    CSI_USE_START_NODE,
    CSI_USE_REGISTER,
    CSI_USE_START_PLACE,
    CSI_N_USES,
} CsiUse;

#define CSI_ANY_SIDECAR "sidecars"
#define CSI_KUBELET "kubelet"

typedef struct {
    CsiMethod method;
    const char *by;        /* a process, CSI_ANY_SIDECAR; NULL: nobody */
    const char *when;      /* "a claim gets a new volume" */
    CsiCapabilities needs; /* all of these ... */
    /* ... or all of these; none: there is no other way */
    CsiCapabilities otherwise;
    CsiControllerCapabilities unless; /* any of these: no call */
    CsiSettings settings;             /* all of these */
    const char *rule;
} CsiUseClass;

const CsiUseClass *csi_use_class(CsiUse use);
/* Whether a driver with these capabilities gets the call; other conditions are not looked at. */
gboolean csi_use_is_offered(CsiUse use, const CsiCapabilities *capabilities);

/* The same for a call of the kubelet, which knows the node service only. */
static inline gboolean
csi_use_is_on_node(CsiUse use, CsiNodeCapabilities node)
{
    return csi_use_is_offered(use, &(CsiCapabilities){.node = node});
}
