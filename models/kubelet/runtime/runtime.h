/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/pods.h"

/* The container runtime, as the kubelet sees it: pkg/kubelet/kuberuntime, images and pleg. */

struct PodRuntime {
    GPtrArray *awaiting; /* workers that wait for a relist */
    SimTicker *relist;
    SimEventId relist_soon; /* KVM-105; 0: none */
    uint16_t relist_label;  /* in the log of causes */
    GPtrArray *images;      /* of const char *, interned: the node's images; NULL: none */
};

/* ---- pod-run.c: containers that end by themselves ---- */

/* Of a pod whose annotations say how long its containers run. */
void pod_run_prepare(PodWorker *worker);
void pod_run_free(PodRun *self);
/* Its containers start now; were found running; did not outlive their machine's power; are stopped
 * before they ended. */
void pod_run_started(PodWorker *worker);
void pod_run_adopted(PodWorker *worker);
void pod_run_lost(PodWorker *worker);
void pod_run_killed(PodWorker *worker);
gboolean pod_run_has_ended(const PodWorker *worker);
/* ... and the restart policy wants no other run. */
gboolean pod_run_has_ended_for_good(const PodWorker *worker);
/* A sync that began at @at does not know of it yet: the containers were listed before. */
gboolean pod_run_has_ended_since(const PodWorker *worker, SimTime at);
/* As its status tells. */
int32_t pod_run_restarts(const PodWorker *worker);
int32_t pod_run_exit_code(const PodWorker *worker); /* of the last run, once it has ended; else 0 */
/* KVM-87: not to be started again yet; and the next time later. */
gboolean pod_run_is_backed_off(const PodWorker *worker);
void pod_run_back_off(PodWorker *worker);

/* KVM-102: the pod has changed from @before: perhaps other images. */
void pod_run_pod_changed(PodWorker *worker, const Pod *before);
/* Whether some container runs with another definition than the pod has now. */
gboolean pod_run_is_redefined(const PodWorker *worker);
/* These containers are stopped, to be started with the pod's present definitions. */
void pod_run_redefine(PodWorker *worker);
/* Returns: (borrowed): the definitions to start; and whether a start under way starts that one */
const PodSpec *pod_run_spec(const PodWorker *worker);
gboolean pod_run_starts(const PodWorker *worker, unsigned container);
/* Whether containers have restarted since the last call: the status has to tell it. */
gboolean pod_run_take_news(PodWorker *worker);
/* Returns: (borrowed) (nullable): Pod.restarts_alone */
const char *pod_run_restarts_alone(const PodWorker *worker);

/* ---- pod-start.c: its sandbox, images and containers ---- */

/* Adds the start of the containers, to the end. */
void pod_start_add(const Kubelet *self, Plan *plan);
void pod_start_add_files_work(Plan *plan, const PodWorker *worker, CsiFilesWork work);
/* The node has its images from now on. */
void pod_start_remember_images(const PodWorker *worker);
/* The pull of an image goes on until @ends, even if the pod goes. */
void pod_start_pulling(Kubelet *self, const char *image, SimTime ends);

/* ---- relist.c: when the runtime is listed ---- */

/* Makes what a node without pods does without. */
void pod_runtime_ensure(Kubelet *self);
void pod_runtime_free(Kubelet *self);
/* KVM-84: whether the runtime was listed since the pod's last step ended. */
gboolean relist_is_newer(const PodWorker *worker);
/* The pod goes on with the next relist. @on_demand: its sync asks for one (KVM-105), if the release
 * does that */
void relist_await(PodWorker *worker, gboolean on_demand);
