/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "volume-manager.h"

/* Pod workers and the status manager: pkg/kubelet/pod_workers.go, kubelet.go and status/. */

/* What the status manager is to tell about a pod (SEQ-9, SEQ-10). */
typedef enum {
    VIEW_NONE,
    VIEW_WAITING, /* Pending: ContainerCreating */
    VIEW_SANDBOX, /* ... in a sandbox that is there (KVM-103) */
    VIEW_RUNNING,
    VIEW_RESTARTING, /* its containers have ended and will be started again */
    VIEW_ENDED,      /* ... and will not; the phase is told once nothing of it runs (KVM-88) */
    VIEW_SUCCEEDED,
    VIEW_BROKEN,    /* ended with an exit code that is not 0 */
    VIEW_FAILED,    /* its containers never ran */
    VIEW_SHUT_DOWN, /* ended with its machine */
    VIEW_REJECTED,  /* the kubelet never let it in */
    VIEW_EVICTED,
} PodView;

/* KVM-84. */
typedef enum {
    WORKER_SYNC,
    WORKER_TERMINATING,
    WORKER_TERMINATED,
    WORKER_FINISHED, /* nothing is left but the object */
} WorkerStep;

struct PodWorker {
    /* What few pods need stands first, so that what each sync of a waiting pod touches lies
     * together with its mounts at the end. */
    VolumeStats *stats; /* (owned): NULL: nobody asks about its volumes */
    PodUse *use;        /* (owned): what it uses of the node; NULL: nobody tells */
    SimTime evicted_at;
    const char *reason, *message; /* interned: status.reason and message; NULL: those of the view */
    GList report_link;
    ObjectUid uid;
    PodVolumes *volumes; /* (owned): what mounts[].spec lies in */
    SimTime seen_at;     /* status.startTime */
    SimTime viewed_at;
    SimCauseId awaits_by; /* what made it wait in kubelet->awaiting */
    PodView view;
    Kubelet *kubelet;
    ObjectKey *key;
    const Object *pod; /* (owned): the newest seen */
    PodRun *run;       /* (owned): how its containers end by themselves; NULL: they do not */
    Plan *plan;        /* the step under way; NULL: none */
    Plan *aside;       /* (owned): see wait-again.c; NULL: none */
    WorkerStep step;
    /* A node has as many workers as pods, so flags take a byte. */
    bool wants_step;    /* as soon as the pod cache is new enough */
    bool awaits_relist; /* in kubelet->awaiting */
    bool running;       /* its containers */
    bool waits;         /* for its volumes */
    bool has_sandbox;   /* KVM-103; never before 1.36 */
    bool was_running;
    bool over;    /* a sync has seen that its containers ended for good: it is to be torn down */
    bool stopped; /* its runtime is to be removed: nothing of it runs or will */
    /* In kubelet->unprocessed: the populator has not read it since its last sync (KVM-23). */
    bool queued;
    bool rebuilt;            /* found on the disk, and not yet in the API */
    bool gone;               /* the object is not in the API any more */
    bool shut_down;          /* it ends because its machine does */
    bool rejected;           /* the kubelet never let it in, or found no room for its volumes */
    bool evicted, disrupted; /* the latter: with the condition DisruptionTarget */
    bool report_queued;      /* in kubelet->reports */
    bool reporting;
    uint32_t n_retries;      /* of draws */
    int32_t told_generation; /* in the newest report; 0: none yet (KVM-104) */
    const char *shadowed;    /* KVM-106: a volume that never counts as mounted; NULL: none */
    GPtrArray *errors; /* of interned strings: podErrors of desired state (KVM-12); NULL: none */
    SimTime synced_at; /* the end of the last step; TIME_UNSET: none yet */
    SimEventId retry;  /* the next sync after a failed one */
    unsigned n_mounts;
    PodMount mounts[];
};

/* ---- pod-worker.c: from step to step ---- */

#define WAIT_ENDS_SINCE 28 /* REL-25: with its pod */

extern const RuleTable kubelet_step_rules, kubelet_new_pod_rules, kubelet_changed_pod_rules;

void pod_worker_on_pod(void *self, const Object *before, const Object *after);
void pod_worker_free(void *worker);
/* Begins the step that is wanted. */
void pod_worker_start(PodWorker *self);
void pod_worker_apply(const PlanChange *change);
/* Whether a volume is at least that much mounted. */
gboolean pod_worker_has_mount(const PodWorker *self, MountState at_least);
/* Its step is over, and has failed: KVM-21. */
void pod_worker_fail(PodWorker *self);
/* Something that its step under way may wait for has changed. */
void pod_worker_wake(PodWorker *self);
/* Of this life of the pod. Returns: (borrowed): NULL: none */
PodWorker *pod_worker_find(const Kubelet *self, const Object *pod);
/* For a pod that is known by its directories alone. */
PodWorker *pod_worker_rebuild(Kubelet *self, const Object *pod);
/* All pods are known: if this one is not, it has gone. */
void pod_worker_sources_ready(PodWorker *self);
/* Frees it if nothing is left of the pod. */
void pod_worker_maybe_free(PodWorker *self);
/* Its next periodic sync (KVM-8) will find something. */
void pod_worker_sync_in_time(PodWorker *self);
/* Its machine is shut down: it is to end. */
void pod_worker_shut_down(PodWorker *self);
/* EVM-33: it is to end, and has failed. @message: interned */
void pod_worker_evict(PodWorker *self, const char *message, gboolean disrupted);
/* IsCriticalPod() in pkg/kubelet/types/pod_update.go. */
gboolean pod_worker_is_critical(const Object *pod);
void pod_worker_add_error(PodWorker *self, const char *text);
void pod_worker_clear_errors(PodWorker *self);
/* Its containers have ended: the next relist sees it. */
void pod_worker_container_ended(PodWorker *self);

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
/* Whether containers were started anew since this was asked last: the status is to tell it. */
gboolean pod_run_take_news(PodWorker *worker);
/* Returns: (borrowed) (nullable): Pod.restarts_alone */
const char *pod_run_restarts_alone(const PodWorker *worker);

/* ---- volume-stats.c: how full its volumes are ---- */

void volume_stats_pod_added(Kubelet *kubelet);
void volume_stats_free(VolumeStats *self); /* of a pod; NULL is fine */
/* Before a scrape: sets the gauges of its volumes (KVM-73). */
void volume_stats_measure(const PodWorker *worker);
void volume_stats_apply(const Kubelet *kubelet, const PlanChange *change);

/* ---- pod-sync.c: PlanDecides of a worker's steps ---- */

extern const RuleTable kubelet_sync_rules; /* KVM-17 */

/* A sync would wait for the pod's volumes now; and if they are not mounted in time, it would fail
 * without a word (KVM-20). */
gboolean pod_sync_must_wait(const PodWorker *worker);
gboolean pod_sync_fails_silently(const Kubelet *self);

void pod_sync_decide(const void *self, Plan *plan);
void pod_sync_decide_terminating(const void *self, Plan *plan);
void pod_sync_decide_terminated(const void *self, Plan *plan);

/* ---- pod-start.c: its sandbox, images and containers ---- */

/* Adds the start of the containers, to the end. */
void pod_start_add(const Kubelet *self, Plan *plan);
void pod_start_add_files_work(Plan *plan, const PodWorker *worker, CsiFilesWork work);
/* The node has its images from now on. */
void pod_start_remember_images(const PodWorker *worker);
void pod_start_pulling(Kubelet *self, const char *image, SimTime ends);

/* ---- wait-again.c: syncs that wait for volumes again and again ---- */

/* PlanStart.timed_out of a worker's step. */
gboolean pod_wait_timed_out(void *kubelet, Plan *plan);
/* Begins the sync that is due, if its last plan was put aside. Returns: FALSE: it begins as usual
 */
gboolean pod_wait_again(PodWorker *worker);

/* ---- pod-status.c: the status manager ---- */

extern const RuleTable kubelet_view_rules; /* SEQ-9, SEQ-10 */

/* Looks at what the worker has to tell by now; tells it if that is new, or if it has finished. */
void pod_status_changed(PodWorker *worker);
/* Somebody else wrote its status: the kubelet tells again what it knows. */
void pod_status_reconcile(PodWorker *worker);
