/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/pods.h"

/* Pod workers: pkg/kubelet/pod_workers.go, kubelet.go. */

/* ---- pod-worker.c: from step to step ---- */

#define WAIT_ENDS_SINCE 28 /* REL-25: with its pod */

extern const RuleTable kubelet_step_rules, kubelet_new_pod_rules, kubelet_changed_pod_rules;

extern const PodCalls pod_worker_calls;
/* An InformerHandler: a pod of this node came, changed or went. */
void pod_worker_on_pod(void *self, const Object *before, const Object *after);
/* Cancels what it waits for. Its mounts are in no list any more. */
void pod_worker_free(void *worker);
/* CHANGE_STATUS to CHANGE_FINISHED, by the steps of the pod. */
void pod_worker_apply(const PlanChange *change);
/* Its step is over, and has failed: KVM-21. */
void pod_worker_fail(PodWorker *self);
/* For a pod that is known by its directories alone. */
PodWorker *pod_worker_rebuild(Kubelet *self, const Object *pod);
/* All pods are known: if this one is not, it has gone. */
void pod_worker_sources_ready(PodWorker *self);

/* ---- pod-sync.c: PlanDecides of a worker's steps ---- */

extern const RuleTable kubelet_sync_rules; /* KVM-17 */

/* A sync would wait for the pod's volumes now; and if they are not mounted in time, it would fail
 * without a word (KVM-20). */
gboolean pod_sync_must_wait(const PodWorker *worker);
gboolean pod_sync_fails_silently(const Kubelet *self);

void pod_sync_decide(const void *self, Plan *plan);
void pod_sync_decide_terminating(const void *self, Plan *plan);
void pod_sync_decide_terminated(const void *self, Plan *plan);

/* ---- wait-again.c: syncs that wait for volumes again and again ---- */

/* PlanStart.timed_out of a worker's step. */
gboolean pod_wait_timed_out(void *kubelet, Plan *plan);
/* Begins the sync that is due, if its last plan was put aside. Returns: FALSE: it begins as usual
 */
gboolean pod_wait_again(PodWorker *worker);
