/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workloads/job-policy.h"
#include "pod.h"

/* Kinds that make pods, besides StatefulSets: apps/v1 and batch/v1; and budgets of disruption. */

/* An IntOrString field: 1 or "25%". */
typedef struct {
    int32_t value;
    gboolean is_percent;
    gboolean is_set; /* FALSE: not given */
} IntOrPercent;

/* Its number out of @total; a percentage is rounded up or down. */
int32_t int_or_percent_of(const IntOrPercent *self, int32_t total, gboolean round_up);

/* A condition of a workload's status. Some kinds have the time of the last update beside that of
 * the last change. */
typedef struct {
    const char *reason; /* NULL: none */
    const char *message;
    SimTime changed_at; /* lastTransitionTime; TIME_UNSET: none */
    SimTime updated_at; /* lastUpdateTime, of a Deployment; TIME_UNSET: none */
    uint32_t status;    /* ConditionStatus; CONDITION_ABSENT: there is none */
} WorkloadCondition;

gboolean workload_condition_equal(const WorkloadCondition *a, const WorkloadCondition *b);

typedef struct {
    Object meta;
    LabelSelector *selector;
    PodTemplate *template;
    int32_t replicas; /* default 1 */
    int32_t min_ready_s;
    int32_t revision_history_limit; /* default 10 */
    int32_t progress_deadline_s;    /* default 600 */
    gboolean paused;
    uint32_t recreate;                       /* strategy.type: 0 RollingUpdate, 1 Recreate */
    IntOrPercent max_surge, max_unavailable; /* default 25 % */
    int32_t observed_generation, status_replicas, updated_replicas, ready_replicas,
        available_replicas, unavailable_replicas;
    int32_t collision_count;
    WorkloadCondition available, progressing, replica_failure;
} Deployment;

typedef struct {
    Object meta;
    LabelSelector *selector;
    PodTemplate *template;
    int32_t replicas; /* default 1 */
    int32_t min_ready_s;
    int32_t observed_generation, status_replicas, fully_labeled_replicas, ready_replicas,
        available_replicas;
    WorkloadCondition replica_failure;
} ReplicaSet;

typedef struct {
    Object meta;
    LabelSelector *selector;
    PodTemplate *template;
    int32_t min_ready_s;
    int32_t revision_history_limit;          /* default 10 */
    uint32_t on_delete;                      /* updateStrategy.type: 0 RollingUpdate, 1 OnDelete */
    IntOrPercent max_surge, max_unavailable; /* default 0 and 1 */
    int32_t observed_generation, current_scheduled, misscheduled, desired_scheduled, ready,
        available, unavailable, updated_scheduled;
} DaemonSet;

typedef struct {
    Object meta;
    LabelSelector *selector; /* NULL before the creation: the server chooses one */
    PodTemplate *template;
    int32_t parallelism; /* default 1 */
    /* negative: none, any success ends the Job; default 1 unless parallelism is given */
    int32_t completions;
    int32_t backoff_limit;     /* default 6 */
    int32_t active_deadline_s; /* negative: none */
    int32_t ttl_s;             /* ttlSecondsAfterFinished; negative: none */
    gboolean suspend, manual_selector;
    uint32_t replace_when_failed; /* podReplacementPolicy: 0 TerminatingOrFailed, 1 Failed */
    uint32_t indexed;             /* completionMode: 0 NonIndexed, 1 Indexed */
    int32_t backoff_limit_per_index, max_failed_indexes; /* negative: none */
    const char *managed_by;                              /* NULL: this controller */
    FailurePolicy *failure_policy;
    SuccessPolicy *success_policy;
    StringList *uncounted_succeeded,
        *uncounted_failed;         /* uids of pods that are over and not counted yet */
    const char *completed_indexes; /* "0-2,5"; NULL: none */
    const char *failed_indexes;    /* the same; "": none, NULL: not in the status */
    int32_t active, ready, succeeded, failed, terminating;
    SimTime started_at, completed_at; /* TIME_UNSET: not yet */
    WorkloadCondition complete, has_failed, suspended, failure_target, success_met;
} Job;

typedef struct {
    Object meta;
    const char *schedule;        /* "@daily", "30 2 * * *": cron-schedule.h */
    const char *time_zone;       /* NULL: of kube-controller-manager, here UTC */
    int32_t starting_deadline_s; /* negative: none */
    uint32_t concurrency;        /* concurrencyPolicy: CronConcurrency */
    gboolean suspend;
    int32_t successful_limit, failed_limit; /* history limits: default 3 and 1 */
    Object *job_template;                   /* a Job without a name of its own */
    StringList *active; /* Jobs under way: cron_active_new(), in the order of their creation */
    SimTime scheduled_at, successful_at; /* the last ones; TIME_UNSET: none */
} CronJob;

typedef enum {
    CRON_ALLOW,
    CRON_FORBID,
    CRON_REPLACE,
} CronConcurrency;

typedef struct {
    Object meta;
    LabelSelector *selector;
    StringMap *disrupted; /* status.disruptedPods: name -> when, RFC 3339 */
    IntOrPercent min_available, max_unavailable;
    uint32_t always_allow; /* unhealthyPodEvictionPolicy: 0 IfHealthyBudget, 1 AlwaysAllow */
    int32_t observed_generation, current_healthy, desired_healthy, expected_pods,
        disruptions_allowed;
    WorkloadCondition allowed; /* DisruptionAllowed */
} DisruptionBudget;

typedef struct {
    Object meta;
    int32_t value;
    uint32_t preemption_policy; /* PreemptionPolicy */
    gboolean is_default;        /* globalDefault */
} PriorityClass;

typedef struct {
    Object meta;
    StringMap *selector; /* NULL: none, so it chooses no pods */
} Service;

/* Whether every cluster has a PriorityClass of this name: system-node-critical and
 * system-cluster-critical. They need no object here. @value: (out) */
gboolean priority_class_of_system(const char *name, int32_t *value);

#define SERVICE_CONST(object) ((const Service *)(object))
#define PRIORITY_CLASS_CONST(object) ((const PriorityClass *)(object))
#define DAEMON_SET(object) ((DaemonSet *)(object))
#define DAEMON_SET_CONST(object) ((const DaemonSet *)(object))
#define JOB(object) ((Job *)(object))
#define JOB_CONST(object) ((const Job *)(object))
#define CRON_JOB(object) ((CronJob *)(object))
#define CRON_JOB_CONST(object) ((const CronJob *)(object))
#define DISRUPTION_BUDGET(object) ((DisruptionBudget *)(object))
#define DISRUPTION_BUDGET_CONST(object) ((const DisruptionBudget *)(object))

#define DEPLOYMENT(object) ((Deployment *)(object))
#define DEPLOYMENT_CONST(object) ((const Deployment *)(object))
#define REPLICA_SET(object) ((ReplicaSet *)(object))
#define REPLICA_SET_CONST(object) ((const ReplicaSet *)(object))

/* WL-84: a finalizer that keeps a Job's pod until it is counted. */
#define FINALIZER_JOB_TRACKING "batch.kubernetes.io/job-tracking"
#define INDEX_OF_JOB                                                                               \
    "batch.kubernetes.io/job-completion-index" /* annotation and label of an Indexed Job's pod */

#define INDEX_FAILURES                                                                             \
    "batch.kubernetes.io/job-index-failure-count" /* annotation: of its index, before this pod */
#define INDEX_IGNORED_FAILURES "batch.kubernetes.io/job-index-ignored-failure-count"
#define JOB_CONTROLLER_NAME "kubernetes.io/job-controller"

/* Whether a controller outside Kubernetes makes its pods. */
gboolean job_is_managed_elsewhere(const Job *self);
/* WL-86: terminating pods are replaced only when they are over. */
gboolean job_replaces_only_failed(const Job *self);
/* Whether it is Complete or Failed. */
gboolean job_is_finished(const Job *self);

/* A reference in CronJob.active: "UID NAMESPACE NAME". (owned) */
char *cron_active_new(const Object *job);
/* Its parts. @name: (out) (borrowed) from @item. Returns: its uid */
ObjectUid cron_active_split(const char *item, const char **name);

#define LABEL_POD_TEMPLATE_HASH "pod-template-hash"

/* DS-32: the API server counts the changes of a DaemonSet's template, and pods have the count that
 * they were made with. */
#define ANNOTATION_TEMPLATE_GENERATION "deprecated.daemonset.template.generation"
#define LABEL_TEMPLATE_GENERATION "pod-template-generation"

/* WL-23, WL-70: how many replicas more or fewer a rolling update of a Deployment may have. If both
 * are 0, which would stop it, one replica may be missing. */
int32_t deployment_max_surge(const Deployment *self);
int32_t deployment_max_unavailable(const Deployment *self);

/* Returns: (nullable) (borrowed): the template of its pods; %NULL: the kind makes none */
const PodTemplate *workload_template(const Object *object);
/* Returns: (nullable) (borrowed): the selector of its pods; %NULL: the kind makes none */
const LabelSelector *workload_selector(const Object *object);
/* Returns: the number of pods that it wants for good; -1: the kind wants none for good */
int32_t workload_wanted(const Object *object);
gboolean kind_scales(ObjectKind kind); /* it has spec.replicas */
void workload_scale(Object *object, int32_t replicas);
/* Whether this client of kube-controller-manager is the controller of a kind that makes pods.
 * @kind: (out) */
gboolean workload_kind_of_controller(const char *controller, ObjectKind *kind);

/* Returns: (owned): the same template with other labels (taken) */
PodTemplate *pod_template_with_labels(const PodTemplate *self, StringMap *labels);
/* Whether two templates make the same pods, without regard to the label of the template's hash. */
gboolean pod_template_same(const PodTemplate *a, const PodTemplate *b);
/* A hash of the printed template: it survives the way through the API. */
uint32_t pod_template_hash(const PodTemplate *self);
