/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Kinds of waits in the log of causes: why time passed. Results use these names; append only. */
#define WAITS(X)                                                                                   \
    X(WAIT_NONE, "none")                                                                           \
    X(WAIT_SCENARIO, "scenario")          /* until the time an action was planned for */           \
    X(WAIT_THINK, "component")            /* the component's own time, TIM-10 */                   \
    X(WAIT_THROTTLE, "client throttling") /* the client's token bucket, CGO-40 */                  \
    X(WAIT_API, "API latency")            /* a request, arrival to response */                     \
    X(WAIT_WATCH, "watch delay")          /* commit to informer */                                 \
    X(WAIT_QUEUE, "work queue")           /* in a work queue while a worker was free */            \
    X(WAIT_WORKERS, "all workers busy")   /* in a work queue, or for a busy key */                 \
    X(WAIT_BACKOFF, "retry back-off")                                                              \
    X(WAIT_POLL, "poll or tick")               /* rounding up to the next pass of a loop */        \
    X(WAIT_SCHEDULER_QUEUE, "scheduler queue") /* behind other pods */                             \
    X(WAIT_UNSCHEDULABLE, "unschedulable")     /* no node fits */                                  \
    X(WAIT_DRIVER, "driver latency")                                                               \
    X(WAIT_DRIVER_THROTTLE, "driver throttling") /* its rate and concurrency limits */             \
    X(WAIT_RUNTIME, "container runtime")         /* kubelet's own steps: PLEG, start, stop */      \
    X(WAIT_STARTUP, "start-up")                  /* of a process or a plugin */                    \
    X(WAIT_GROUP, "change of files' group")      /* fsGroup, CSP-22 */                             \
    X(WAIT_LABEL, "SELinux relabelling")         /* by the container runtime, CSP-25 */            \
    X(WAIT_IMAGE, "image pull")                  /* and for earlier pulls of the node, KVM-100 */

typedef enum {
#define WAIT_MEMBER(member, text) member,
    WAITS(WAIT_MEMBER)
#undef WAIT_MEMBER
        N_WAITS,
} WaitKind;
