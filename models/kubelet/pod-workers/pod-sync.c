/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three steps of a pod: SyncPod, SyncTerminatingPod and SyncTerminatedPod in Kubernetes'
 * pkg/kubelet/kubelet.go, and WaitForAttachAndMount and WaitForUnmount of its volume manager. Each
 * is a PlanDecide: a row of kubelet_sync_rules says what a sync does next, from the worker's state
 * and the time of the last list of containers.
 *
 * A wait for volumes is one poll step: it looks every 300 ms in the original, here whenever
 * pod_worker_wake() says that something has changed, at the instant of the poll that would have
 * seen it. */
#include "pod-worker.h"

#include "models/kubelet/plugin-manager/attach-limits.h"
#include "models/kubelet/runtime/runtime.h"

#define POLL_PERIOD (300 * SIM_MS) /* KVM-3 */
#define POLL_TIMEOUT (123 * SIM_SECOND)
#define SILENT_SINCE 28                          /* REL-24 */
#define RUNTIME_REQUEST_TIMEOUT (2 * SIM_MINUTE) /* CSP-27 */
#define GONE_PERIOD (100 * SIM_MS)               /* KVM-49: the wait for the volumes' directories */

static const Pod *
worker_pod(const PodWorker *self)
{
    return POD_CONST(self->pod);
}

/* ---- Sync ---- */

static gboolean
mount_is_ready(const PodMount *mount)
{
    return mount->volume != NULL && mount->desired && mount->state == MOUNT_DONE;
}

static gboolean
is_all_mounted(const PodWorker *worker)
{
    for (unsigned i = 0; i < worker->n_mounts; i++) {
        if (!mount_is_ready(&worker->mounts[i]))
            return FALSE;
    }
    return worker->shadowed == NULL;
}

/* KVM-19: an error of the pod's volumes ends the wait, even if all of them are mounted. */
static int
volumes_are_mounted(const void *self, const Plan *plan)
{
    const PodWorker *worker = plan_operation(plan);

    (void)self;
    if (worker->errors != NULL)
        return -1;
    return is_all_mounted(worker) ? 1 : 0;
}

gboolean
pod_sync_must_wait(const PodWorker *worker)
{
    return worker->errors == NULL && !is_all_mounted(worker) && !pod_run_has_ended_for_good(worker);
}

gboolean
pod_sync_fails_silently(const Kubelet *self)
{
    return kubelet_release(self)->minor >= SILENT_SINCE && !attach_limits_are_verified(self);
}

static gboolean
is_unmounted(const PodMount *mount)
{
    return !mount_is_ready(mount);
}

static gboolean
is_unattached(const PodMount *mount)
{
    return mount->volume != NULL && mount->volume->attachable && !mount->volume->in_actual;
}

static gboolean
is_unprocessed(const PodMount *mount)
{
    return mount->volume == NULL || !mount->desired;
}

/* As Go prints a sorted list of names: "[a b]". */
static void
append_names(GString *text, const PodWorker *worker, gboolean (*is_one)(const PodMount *mount))
{
    g_autofree const char **names = g_new(const char *, worker->n_mounts + 1);
    unsigned n = 0;

    if (is_one == is_unmounted && worker->shadowed != NULL)
        names[n++] = worker->shadowed;

    for (unsigned i = 0; i < worker->n_mounts; i++) {
        if (is_one(&worker->mounts[i]))
            names[n++] = worker->mounts[i].spec->name;
    }
    qsort(names, n, sizeof *names, strings_compare);
    g_string_append_c(text, '[');
    for (unsigned i = 0; i < n; i++)
        g_string_append_printf(text, "%s%s", i == 0 ? "" : " ", names[i]);
    g_string_append_c(text, ']');
}

/* KVM-19, step 4. Returns: (owned) */
static char *
wait_error(const PodWorker *worker)
{
    GString *text = g_string_new("unmounted volumes=");

    append_names(text, worker, is_unmounted);
    g_string_append(text, ", unattached volumes=");
    append_names(text, worker, is_unattached);
    g_string_append(text, ", failed to process volumes=");
    append_names(text, worker, is_unprocessed);
    g_string_append(text, ": ");
    for (unsigned i = 0; worker->errors != NULL && i < worker->errors->len; i++)
        g_string_append_printf(text, "%s%s", i == 0 ? "" : "; ",
                               (const char *)worker->errors->pdata[i]);
    if (worker->errors == NULL)
        g_string_append(text, kubelet_release(worker->kubelet)->minor < SILENT_SINCE
                                  ? "timed out waiting for the condition"
                                  : "context deadline exceeded");
    return g_string_free(text, FALSE);
}

/* KVM-87. The sync has failed and comes again by KVM-21. */
static void
add_back_off(Plan *plan, const PodWorker *worker)
{
    const Pod *pod = worker_pod(worker);
    const char *name = pod->spec->n_containers > 0 && pod->spec->containers != NULL
                           ? pod->spec->containers[0].name
                           : "";
    char uid[OBJECT_UID_BUFFER];

    plan_event(plan, worker->pod, "Warning", "BackOff",
               "Back-off restarting failed container %s in pod %s_%s(%s)", name,
               object_name(worker->pod), worker->key->namespace,
               object_uid_format(worker->uid, uid));
    plan_fail(plan, "CrashLoopBackOff");
}

/* CSP-25, CSP-27. */
static void
add_relabelling(Plan *plan, const PodWorker *worker)
{
    SimTime takes = 0;

    for (unsigned i = 0; i < worker->n_mounts; i++) {
        const CsiFiles *files = worker->mounts[i].files;
        takes += files == NULL ? 0 : files->count * files->per_label;
    }
    if (takes == 0)
        return;
    plan_because(plan, "CSP-25");
    pod_start_add_files_work(plan, worker, CSI_FILES_LABEL);
    if (takes > RUNTIME_REQUEST_TIMEOUT) {
        plan_wait(plan, RUNTIME_REQUEST_TIMEOUT, WAIT_LABEL);
        plan_because(plan, "CSP-27");
        plan_event(plan, worker->pod, "Warning", "Failed", "Error: context deadline exceeded");
        takes -= RUNTIME_REQUEST_TIMEOUT;
    }
    plan_wait(plan, takes, WAIT_LABEL);
}

/* KVM-102: whatever the restart policy says. */
static void
add_restart(const Kubelet *self, Plan *plan, const PodWorker *worker)
{
    const PodSpec *spec = worker_pod(worker)->spec;

    for (unsigned i = 0; i < spec->n_containers; i++)
        if (pod_run_starts(worker, i))
            plan_event(plan, worker->pod, "Normal", "Killing",
                       "Container %s definition changed, will be restarted",
                       spec->containers[i].name);
    kubelet_add_change(plan, CHANGE_REDEFINED, worker, 0);
    plan_wait(plan, self->options->container_stop, WAIT_RUNTIME);
    pod_start_add(self, plan);
}

typedef enum {
    OVER = 1 << 0,    /* its containers have ended for good */
    VOLUMES = 1 << 1, /* it has some, and they were not waited for yet */
    RUNNING = 1 << 2,
    JUST_ENDED = 1 << 3, /* ... which the list of containers does not tell yet */
    BACKED_OFF = 1 << 4,
    REDEFINED = 1 << 5, /* it runs, with another image than the pod has now */
    SYNC_FACTS_END = 1 << 6,
} SyncFacts;

typedef enum {
    LEAVE,
    TELL_END,
    WAIT,
    BACK_OFF,
    RESTART,
    START,
} SyncAction;

/* SyncPod() in kubelet.go, computePodActions() in kuberuntime_manager.go. */
static const Rule sync_table[] = {
    {"KVM-88",  OVER,       0,                                                              TELL_END, 0                   },
    {"KVM-19",  VOLUMES,    OVER,                                                           WAIT,     0                   },
    {"KVM-102", REDEFINED,  OVER | VOLUMES,                                                 RESTART,  0                   },
    {"KVM-85",  0,          OVER | VOLUMES | REDEFINED,                                     LEAVE,    RUNNING | JUST_ENDED},
    {"KVM-87",  BACKED_OFF, OVER | VOLUMES | RUNNING | JUST_ENDED | REDEFINED,              BACK_OFF, 0                   },
    {"KVM-17",  0,          OVER | VOLUMES | RUNNING | JUST_ENDED | BACKED_OFF | REDEFINED, START,    0                   },
};

const RuleTable kubelet_sync_rules =
    RULE_TABLE("kubelet: a pod's sync", SYNC_FACTS_END, sync_table);

static unsigned
sync_facts(const Plan *plan, const PodWorker *worker, gboolean has_waited)
{
    unsigned facts = 0;

    facts |= !has_waited && pod_run_has_ended_for_good(worker) ? OVER : 0;
    facts |= !has_waited && worker->n_mounts > 0 ? VOLUMES : 0;
    facts |= worker->running ? RUNNING : 0;
    facts |= pod_run_has_ended_since(worker, plan_started_at(plan)) ? JUST_ENDED : 0;
    facts |= pod_run_is_backed_off(worker) ? BACKED_OFF : 0;
    facts |= pod_run_is_redefined(worker) ? REDEFINED : 0;
    return facts;
}

static void decide_after_wait(const void *self, Plan *plan);

static void
add_sync(const Kubelet *self, Plan *plan, gboolean has_waited)
{
    const PodWorker *worker = plan_operation(plan);

    switch (
        (SyncAction)plan_judge(plan, &kubelet_sync_rules, sync_facts(plan, worker, has_waited))) {
    case LEAVE:
        return;
    case TELL_END:
        kubelet_add_change(plan, CHANGE_ENDED, worker, 0);
        return;
    case WAIT:
        kubelet_add_change(plan, CHANGE_REPROCESS, worker, 0);
        plan_poll(plan, POLL_PERIOD, POLL_TIMEOUT, TRUE, volumes_are_mounted, PLAN_DECIDE);
        plan_then(plan, decide_after_wait);
        return;
    case BACK_OFF:
        add_back_off(plan, worker);
        return;
    case RESTART:
        add_restart(self, plan, worker);
        return;
    case START:
        add_relabelling(plan, worker);
        pod_start_add(self, plan);
        return;
    }
    g_assert_not_reached();
}

static void
add_failed_mount(Plan *plan, const PodWorker *worker)
{
    g_autofree char *text = wait_error(worker);

    plan_event(plan, worker->pod, "Warning", "FailedMount", "Unable to attach or mount volumes: %s",
               text);
}

/* @code: of the wait */
static void
fail_wait(Plan *plan, ApiCode code)
{
    const PodWorker *worker = plan_operation(plan);

    plan_because(plan, "KVM-20"); /* a time-out leaves no event, from 1.28 on */
    if (code != API_TIMEOUT || kubelet_release(worker->kubelet)->minor < SILENT_SINCE)
        add_failed_mount(plan, worker);
    if (worker->errors != NULL)
        kubelet_add_change(plan, CHANGE_CLEAR_ERRORS, worker, 0);
    plan_fail_with(plan, "unable to attach or mount volumes");
}

/* REG-38: rejectPod() in kubelet.go. */
static void
decide_verified(const void *self, Plan *plan)
{
    const PodWorker *worker = plan_operation(plan);

    (void)self;
    if (!attach_limits_are_exhausted(plan)) {
        fail_wait(plan, API_TIMEOUT);
        return;
    }
    g_autofree char *text = wait_error(worker);
    const char *why =
        plan_internf(plan, "Node has reached its volume attachment limit, rejecting pod. %s", text);
    plan_because(plan, "REG-38");
    plan_event(plan, worker->pod, "Warning", "VolumeAttachmentLimitExceeded", "%s", why);
    plan_change(
        plan, &(PlanChange){.what = CHANGE_REJECTED, .pointer = plan_operation(plan), .text = why});
}

static void
decide_after_wait(const void *self, Plan *plan)
{
    const PodWorker *worker = plan_operation(plan);
    ApiCode code = plan_code(plan, plan_last_step(plan));

    if (worker->step != WORKER_SYNC) { /* REL-25: it was to end meanwhile */
        plan_fail(plan, "context canceled");
        return;
    }
    if (kubelet_release(worker->kubelet)->minor < WAIT_ENDS_SINCE)
        kubelet_add_change(plan, CHANGE_WAITED, worker, 0);
    if (code == API_OK || (code == API_TIMEOUT && is_all_mounted(worker))) {
        add_sync(self, plan, TRUE);
        return;
    }
    if (code != API_TIMEOUT || !attach_limits_verify(self, plan, decide_verified))
        fail_wait(plan, code);
}

void
pod_sync_decide(const void *self, Plan *plan)
{
    plan_because(plan, "KVM-18");
    kubelet_add_change(plan, CHANGE_STATUS, plan_operation(plan), 0);
    add_sync(self, plan, FALSE);
}

/* ---- The way back ---- */

void
pod_sync_decide_terminating(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PodWorker *worker = plan_operation(plan);
    const Pod *pod = worker_pod(worker);

    if (pod->disruption.status != CONDITION_ABSENT && !pod->disruption_first) {
        plan_because(plan, "WL-95");
        kubelet_add_change(plan, CHANGE_STATUS, worker, 0);
    } else if (release_has_gate(kubelet_release(self), "PodObservedGenerationTracking")) {
        plan_because(plan, "KVM-104");
        kubelet_add_change(plan, CHANGE_STATUS, worker, 0);
    }
    if (worker->rejected && worker->reason != NULL && !worker->over) {
        plan_because(plan, "EVM-40");
        plan_event(plan, &pod->meta, "Warning", worker->reason, "%s", worker->message);
    }
    plan_because(plan, "WL-92");
    if (worker->running) {
        for (unsigned i = 0; i < pod->spec->n_containers && pod->spec->containers != NULL; i++)
            plan_event(plan, &pod->meta, "Normal", "Killing", "Stopping container %s",
                       pod->spec->containers[i].name);
        plan_wait(plan, self->options->container_stop, WAIT_RUNTIME);
    }
    kubelet_add_change(plan, CHANGE_STOPPED, worker, 0);
}

static int
no_volume_is_mounted(const void *self, const Plan *plan)
{
    (void)self;
    return pod_worker_has_mount(plan_operation(plan), MOUNT_DONE) ? 0 : 1;
}

static int
no_volume_is_left(const void *self, const Plan *plan)
{
    (void)self;
    return pod_worker_has_mount(plan_operation(plan), MOUNT_UNCERTAIN) ? 0 : 1;
}

void
pod_sync_decide_terminated(const void *self, Plan *plan)
{
    const PodWorker *worker = plan_operation(plan);

    (void)self;
    plan_because(plan, "KVM-49");
    if (worker->n_mounts > 0) {
        plan_poll(plan, POLL_PERIOD, POLL_TIMEOUT, TRUE, no_volume_is_mounted, PLAN_STOP);
        plan_poll(plan, GONE_PERIOD, SIM_TIME_MAX, TRUE, no_volume_is_left, PLAN_STOP);
    }
    kubelet_add_change(plan, CHANGE_FINISHED, worker, 0);
}
