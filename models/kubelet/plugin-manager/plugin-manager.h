/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/kubelet-private.h"

/* The plugin manager: pkg/kubelet/pluginmanager, and what registration writes. */

/* A container of a driver's pod: when it may be started again (REG-4). */
typedef struct {
    SimTime started_at;
    unsigned n_exits; /* since it ran for long */
} PluginContainer;

/* How a plugin stands on this node, REG §State machine. */
struct NodePlugin {
    Kubelet *kubelet;
    unsigned driver;     /* of the cluster */
    gboolean registered; /* in the list of registered drivers: mounts may use it */
    SimEventId event;    /* its registrar begins */
    unsigned n_tries;    /* to write the Node, then the CSINode (REG-20) */
    int info_step;       /* of the registration's plan: NodeGetInfo */
    const char *failure; /* interned: why the registration that is being withdrawn failed */
    /* Numbers of its registrar's socket: of the socket that is there, and of the socket that is
     * registered, well or in vain (REG-16). 0: none */
    unsigned desired, actual;
    gboolean running; /* an operation */
    Plan *plan;       /* its plan, once it has begun */
    SimTime backoff;  /* 0: the last operation did not fail */
    SimTime failed_at;
    SimEventId restart; /* of its registrar, which has exited */
    PluginContainer registrar_container, driver_container;
    uint64_t n_draws;
    SimEventId limit_update; /* 0: none, or one is under way */
    SimTime limit_period;    /* 0: the limit stays (REG-36) */
    SimTime limit_from;
    gboolean limit_updating;
    SimEventId probe; /* the next liveness probe; 0: none, or one is under way */
    SimTime probed_from;
    unsigned n_failed_probes;                /* in a row */
    SimSeries *desired_count, *actual_count; /* MET-98; NULL: not measured yet */
};

struct PluginManager {
    NodePlugin *plugins; /* (owned): that run on this node */
    unsigned n_plugins;
    SimTicker *loop; /* NULL: not needed yet */
};

/* ---- plugin-manager.c: desired and actual state, reconciler ---- */

/* Makes the plugins of this node, and registers them or waits for their sockets. */
void plugin_manager_init(Kubelet *self);
/* Cancels what they wait for, and frees them. */
void plugin_manager_clear(Kubelet *self);
/* MET-98: before a scrape. */
void plugin_manager_measure(const Kubelet *self);
void plugin_manager_changed(Kubelet *self, unsigned driver); /* MACHINE_PLUGIN_CHANGED */

/* ---- plugin-container.c: containers that exit and start again ---- */

/* The pod that its containers run in. */
NodePluginPod plugin_manager_pod_of(const NodePlugin *plugin);
/* From a container's exit to its next start. */
SimTime container_restart_delay(NodePlugin *plugin, PluginContainer *container);
/* The registrar has exited: it starts again after its back-off, or with its pod. */
void plugin_container_restart_registrar(NodePlugin *plugin);
/* The kubelet told the registrar that its registration failed (REG-4). */
void plugin_manager_registrar_exits(NodePlugin *plugin);

/* ---- plugin-registration.c ---- */

/* PlanDecides of operations. */
void plugin_registration_decide_register(const void *self, Plan *plan);
void plugin_registration_decide_unregister(const void *self, Plan *plan);
/* ... of a kubelet that starts with the cluster: without the driver's answer; the CSINode of a node
 * without drivers. */
void plugin_registration_decide_at_once(const void *self, Plan *plan);
void plugin_registration_decide_first_csi_node(const void *self, Plan *plan);
/* ... and of one that starts later. */
void plugin_registration_decide_look_for_csi_node(const void *self, Plan *plan);
/* Changes of a plugin by its operations. */
void plugin_registration_apply(const PlanChange *change);

/* CSP-15: whether a driver that speaks these versions of CSI may register. @versions: ends with
 * NULL. @existing: the versions of a registered driver of this name; NULL: there is none. Returns:
 * (owned): why not; NULL: it may */
char *plugin_versions_fault(const char *const *versions, const char *const *existing);

/* ---- plugin-liveness.c ---- */

void plugin_liveness_begin(NodePlugin *plugin); /* if its driver is probed */
void plugin_liveness_apply(NodePlugin *plugin, gboolean is_well);

/* ---- startup-taint.c ---- */

/* The driver's container has started: it takes its taint away (REG-39). */
void startup_taint_begin(NodePlugin *plugin);
gboolean startup_taint_edit(Object *node, const void *key); /* an ObjectEdit */

/* ---- node-info.c: edits of a Node and its CSINode ---- */

/* NodeGetInfo's answer, and which driver gave it. */
typedef struct {
    Strings *strings;
    const char *migrated; /* cluster_migrated_plugins() */
    const char *driver;
    const char *node_id;
    int32_t count;             /* -1: no limit */
    const StringMap *segments; /* borrowed */
    gboolean only_if_absent;   /* an imported CSINode knows better */
} PluginNodeInfo;

/* Of its driver: interned */
const char *plugin_name(const Kubelet *self, const NodePlugin *plugin);
/* Returns: (borrowed): NULL: not in the list of registered drivers */
CsiDriver *plugin_registration_driver(const Kubelet *self, const char *driver);
/* From the answer of NodeGetInfo in step @call, which it borrows from. */
PluginNodeInfo *
plugin_registration_info(const Kubelet *self, Plan *plan, const char *driver, int call);
/* Of the CSINode of this node. */
ObjectKey *node_info_csi_node_key(const Kubelet *self);
/* It goes with its Node. Returns: (owned) */
Object *node_info_new_csi_node(const Kubelet *self, const Object *node);
/* REG-25. Returns: (owned): the CSINode of a node without drivers */
Object *node_info_first_csi_node(const Kubelet *self, const Object *node);
/* ObjectEdits: of a PluginNodeInfo */
gboolean node_info_set_migrated(Object *csi_node, const void *info);
gboolean node_info_edit_node(Object *node, const void *info);
gboolean node_info_edit_csi_node(Object *csi_node, const void *info);
gboolean node_info_withdraw_from_node(Object *node, const void *info);
gboolean node_info_withdraw_from_csi_node(Object *csi_node, const void *info);
/* Whether the Node lacks something of the answer. */
gboolean node_info_needs_patch(const Object *node, const PluginNodeInfo *info);
/* REG-21: a label with another value. Returns: (borrowed): NULL: none */
const StringPair *node_info_find_collision(const Object *node, const StringMap *segments);
