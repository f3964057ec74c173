/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/pods.h"

/* The eviction manager: pkg/kubelet/eviction/eviction_manager.go. It measures only what a scenario
 * tells: a machine's capacity, and what the machine and its pods use of it
 * (models/api/local/machine-use.h). */

extern const RuleTable kubelet_eviction_rules, kubelet_local_limit_rules, kubelet_admit_rules;

/* Reads the Node whenever its annotations change. */
void eviction_init(Kubelet *self);
void eviction_clear(Kubelet *self);
/* Whether flags make thresholds. Returns: FALSE with SIM_ERROR_INVALID */
gboolean eviction_check_flags(const void *kubelet_options, GError **error);

/* ---- What uses something ---- */

/* Reads the pod's annotation; again, if it has changed. */
void eviction_pod_told(PodWorker *worker);
/* Its containers have started or stopped, or its volumes are gone. */
void eviction_pod_changed(PodWorker *worker);
void eviction_free_use(PodUse *use); /* NULL is fine */

/* ---- A look, by pressure.c ---- */

/* Returns: a mask of 1 << NodeTrouble: the machine's shortages as measured now */
unsigned eviction_look(Kubelet *self);
/* After a look: evicts pods if it must. */
void eviction_act(Kubelet *self);
/* The next look that could see something else; SIM_TIME_MAX: none before a change */
SimTime eviction_next(const Kubelet *self);
/* The instant from which looks are counted; TIME_UNSET: the kubelet's start. */
SimTime eviction_origin(const Kubelet *self);
/* Pods are being evicted: the next look comes after that. */
gboolean eviction_is_busy(const Kubelet *self);

/* ---- Plans ---- */

/* CHANGE_EVICTED: the pod is to end, and its condition says why. */
void eviction_apply(Kubelet *self, const PlanChange *change);
/* EVM-40: whether the pod may come under this pressure. Returns: (borrowed): interned: why not;
 * NULL: it may */
const char *eviction_refusal(const Kubelet *self, const Object *pod);
