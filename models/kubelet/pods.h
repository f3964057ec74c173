/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "volumes.h"

/* The pods of the node, as all rooms of a kubelet know them: pkg/kubelet/pod. Each has a worker
 * (pod-workers/), which alone begins and ends its steps. */

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
    const char *reason, *message; /* interned: status.reason and message; NULL: as in the view */
    GList report_link;
    ObjectUid uid;
    PodVolumes *volumes; /* (owned): what mounts[].spec lies in */
    SimTime seen_at;     /* status.startTime */
    SimTime viewed_at;
    SimCauseId awaits_by; /* what made it wait in PodRuntime.awaiting */
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
    bool awaits_relist; /* in PodRuntime.awaiting */
    bool running;       /* its containers */
    bool waits;         /* for its volumes */
    bool has_sandbox;   /* KVM-103; never before 1.36 */
    bool was_running;
    bool over;    /* a sync has seen that its containers ended for good: it is to be torn down */
    bool stopped; /* its runtime is to be removed: nothing of it runs or will */
    /* In VolumeManager.unprocessed: the populator has not read it since its last sync (KVM-23). */
    bool queued;
    bool rebuilt;            /* found on the disk, and not yet in the API */
    bool gone;               /* the object is not in the API any more */
    bool shut_down;          /* it ends because its machine does */
    bool rejected;           /* the kubelet never let it in, or found no room for its volumes */
    bool evicted, disrupted; /* the latter: with the condition DisruptionTarget */
    bool report_queued;      /* in StatusManager.reports */
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

/* What the rooms below the pod workers ask of them; implemented in pod-workers/pod-worker.c. */
struct PodCalls {
    /* Begins the step that is wanted. */
    void (*start)(PodWorker *self);
    /* Its containers have ended: the next relist sees it. */
    void (*container_ended)(PodWorker *self);
    /* The pod's containers are to end, as its machine is shut down. */
    void (*shut_down)(PodWorker *self);
    /* EVM-33: it is to end, and has failed. @message: interned */
    void (*evict)(PodWorker *self, const char *message, gboolean disrupted);
    /* Its next periodic sync (KVM-8) will find something. */
    void (*sync_in_time)(PodWorker *self);
    /* Frees it if nothing is left of the pod. */
    void (*maybe_free)(PodWorker *self);
};

/* Of this life of the pod. Returns: (borrowed): NULL: none */
PodWorker *pod_worker_find(const Kubelet *self, const Object *pod);
/* IsCriticalPod() in pkg/kubelet/types/pod_update.go. */
gboolean pod_worker_is_critical(const Object *pod);
/* Whether a volume is at least that much mounted. */
gboolean pod_worker_has_mount(const PodWorker *self, MountState at_least);
/* Something that its step under way may wait for has changed. */
void pod_worker_wake(PodWorker *self);

static inline void
pod_worker_maybe_free(PodWorker *self)
{
    self->kubelet->pod_calls->maybe_free(self);
}
