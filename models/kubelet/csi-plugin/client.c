/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plugin's side of a CSI call: csi_client.go, getCredentialsFromSecret() of csi_util.go, and
 * the change of files' group after the call, pkg/volume/volume_linux.go. It builds each request
 * from the volume's source, the CSIDriver object and the pod, reads the secret that the volume
 * names, and turns the answer into one of the ends of CsiPluginEnd.
 *
 * The code of an error tells whether the call may have left something behind (KVM-16); the caller
 * then keeps the mount as uncertain. The walk over a volume's files takes time in the plan and is
 * told at the rate of the release (CSP-24). Files are counted, never listed: a volume of a million
 * files costs one addition. */
#include "csi-plugin.h"

#include "models/api/secret.h"
#include "models/kubelet/plugin-manager/plugin-manager.h"

#define WALK_REPORTS_SINCE 33 /* CSP-24 */
#define WALK_FIRST_REPORT (30 * SIM_SECOND)
#define WALK_REPORT_PERIOD (60 * SIM_SECOND)

CsiDriver *
csi_steps_driver(const Kubelet *self, const PendingOperation *operation)
{
    return plugin_registration_driver(self, operation_source(operation)->driver);
}

const CsiDriverObject *
csi_steps_driver_object(const Kubelet *self, const VolumeSource *source)
{
    return (const CsiDriverObject *)informer_find(self->drivers, NULL, source->driver);
}

const char *
csi_steps_not_registered(Plan *plan, const PendingOperation *operation, const char *who)
{
    return plan_internf(
        plan,
        "kubernetes.io/csi: %s: driver name %s not found in the list of registered CSI drivers",
        who, operation_source(operation)->driver);
}

/* ---- Begin and end ---- */

CsiRun *
csi_client_begin(Plan *plan, CsiMethod method, CsiPluginThen then)
{
    CsiRun *run =
        plan_notes(plan); /* used by the function before: a mount stages first, then publishes */

    if (run == NULL)
        run = plan_new_notes(plan, CsiRun, NULL);
    *run = (CsiRun){
        .then = then,
        .method = method,
        .modes = csi_spec_modes(operation_pv(plan_operation(plan))),
        .deadline = plan_now(plan) + CSI_CALLS_TIMEOUT,
        .question = -1,
        .attachment = -1,
    };
    return run;
}

void
csi_client_end(const Kubelet *self, Plan *plan, CsiPluginEnd end, CsiCode code, const char *error)
{
    const CsiRun *run = plan_notes(plan);
    CsiPluginResult result = {end, error, code};

    run->then(self, plan, &result);
}

/* ---- Secrets: CSP-6 ---- */

static const SecretReference *
secret_of(const Kubelet *self, Plan *plan)
{
    const CsiRun *run = plan_notes(plan);
    const VolumeSource *source = operation_source(plan_operation(plan));

    switch ((unsigned)run->method) {
    case CSI_NODE_STAGE_VOLUME:
        return volume_source_secret(source, SECRET_NODE_STAGE);
    case CSI_NODE_PUBLISH_VOLUME:
        return volume_source_secret(source, SECRET_NODE_PUBLISH);
    case CSI_NODE_EXPAND_VOLUME:
        return release_has_gate(kubelet_release(self), "CSINodeExpandSecret")
                   ? volume_source_secret(source, SECRET_NODE_EXPAND)
                   : NULL;
    default:
        return NULL;
    }
}

void
csi_client_add_secret(const Kubelet *self, Plan *plan, PlanDecide then)
{
    const SecretReference *secret = secret_of(self, plan);

    if (secret == NULL) {
        then(self, plan);
        return;
    }
    plan_because(plan, "CSP-6");
    plan_get(plan, objects_key(self->base.objects, KIND_SECRET, secret->namespace, secret->name),
             PLAN_DECIDE);
    plan_then(plan, then);
}

const char *
csi_client_secret_fault(const Kubelet *self, Plan *plan, const SecretReference **reference)
{
    CsiRun *run = plan_notes(plan);

    *reference = secret_of(self, plan);
    if (*reference == NULL)
        return NULL;
    if (plan_has_failed(plan))
        return plan_last_message(plan);
    run->has_secrets = SECRET(plan_object(plan, plan_last_step(plan)))->n_keys > 0;
    return NULL;
}

/* ---- Calls ---- */

static int
client_add_call(const Kubelet *self, Plan *plan, CsiRequest request)
{
    const CsiRun *run = plan_notes(plan);

    request.served_by = self->base.node_name;
    request.deadline = run->deadline;
    return plan_call(plan, csi_steps_driver(self, plan_operation(plan)), &request, PLAN_DECIDE);
}

/* CSI-12: the kubelet asks before nearly every call, and never remembers the answer. */
void
csi_client_add_question(const Kubelet *self, Plan *plan)
{
    CsiRun *run = plan_notes(plan);

    run->question = client_add_call(self, plan, (CsiRequest){.method = CSI_NODE_GET_CAPABILITIES});
}

gboolean
csi_client_answered(const Kubelet *self, Plan *plan)
{
    CsiRun *run = plan_notes(plan);

    if (run->question < 0 || plan_code(plan, run->question) != API_OK)
        return FALSE;
    run->can = csi_spec_node_capabilities(plan_response(plan, run->question)->node_capabilities,
                                          kubelet_release(self));
    return TRUE;
}

static int64_t
fs_group_of(const PendingOperation *operation)
{
    return operation->target == NULL ? -1
                                     : POD_CONST(operation->target->worker->pod)->spec->fs_group;
}

/* Of the operation's pod; none without a pod. */
static CsiSelinux
selinux_of(const Kubelet *self, const PendingOperation *operation)
{
    if (operation->target == NULL || operation_is_block(operation))
        return CSI_SELINUX_NONE;
    return csi_spec_selinux(informer_get(self->nodes, self->node_key),
                            csi_steps_driver_object(self, operation_source(operation)),
                            operation_pv(operation),
                            POD_CONST(operation->target->worker->pod)->spec, kubelet_release(self));
}

/* CSP-26: the label as one more mount option. */
static const StringList *
mount_flags(const Kubelet *self, Plan *plan, const CsiRun *run, const StringList *flags)
{
    const PendingOperation *operation = plan_operation(plan);

    if (run->method == CSI_NODE_EXPAND_VOLUME || selinux_of(self, operation) != CSI_SELINUX_MOUNT)
        return flags;
    StringList *longer = string_list_with(
        flags, csi_spec_context_option(self->base.strings,
                                       POD_CONST(operation->target->worker->pod)->spec));
    plan_own(plan, longer, (GDestroyNotify)string_list_unref);
    return longer;
}

static CsiCapability
make_capability(const Kubelet *self, const CsiRun *run, const PendingOperation *operation)
{
    int64_t fs_group = run->method == CSI_NODE_EXPAND_VOLUME ? -1 : fs_group_of(operation);

    return csi_spec_capability(self->base.strings, operation_pv(operation), run->modes, run->can,
                               fs_group);
}

/* CSP-13: a file system is published with its staging path only if the driver stages; a block
 * volume always (KVM-57), and an expansion, too. */
static const char *
staging_path_of(const CsiRun *run, const PendingOperation *operation)
{
    gboolean can_stage = (run->can & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0;

    if (run->method == CSI_NODE_PUBLISH_VOLUME && !operation_is_block(operation) && !can_stage)
        return NULL;
    return operation->volume->staging_path;
}

static void
fill_publish(const Kubelet *self, Plan *plan, CsiRequest *request)
{
    const PendingOperation *operation = plan_operation(plan);
    const PodMount *mount = operation->target;
    const VolumeSource *source = operation_source(operation);
    StringMap *context =
        csi_spec_context(self->base.strings, source, csi_steps_driver_object(self, source),
                         POD_CONST(mount->worker->pod), plan_run_start(plan) + plan_now(plan));

    plan_own(plan, context, (GDestroyNotify)string_map_unref);
    request->volume_context = context;
    request->readonly = mount->spec->read_only || source->read_only;
}

static gboolean
undoes(CsiMethod method)
{
    return method == CSI_NODE_UNSTAGE_VOLUME || method == CSI_NODE_UNPUBLISH_VOLUME;
}

/* Of which volume, and where. */
static CsiRequest
begin_request(const CsiRun *run, const PendingOperation *operation)
{
    CsiRequest request = {
        .method = run->method,
        .volume_id = operation_source(operation)->handle,
    };

    if (run->method != CSI_NODE_UNPUBLISH_VOLUME)
        request.staging_path = staging_path_of(run, operation);
    if (run->method != CSI_NODE_STAGE_VOLUME && run->method != CSI_NODE_UNSTAGE_VOLUME)
        request.target_path = operation->target->target_path;
    return request;
}

static CsiRequest
make_request(const Kubelet *self, Plan *plan, const CsiRun *run)
{
    const PendingOperation *operation = plan_operation(plan);
    CsiRequest request = begin_request(run, operation);

    request.has_secrets = run->has_secrets;
    request.required_bytes = run->bytes;
    request.publish_context = run->context;
    if (!undoes(run->method)) {
        CsiCapability *capability = plan_new_arg(plan, CsiCapability);
        *capability = make_capability(self, run, operation);
        capability->mount_flags = mount_flags(self, plan, run, capability->mount_flags);
        request.capabilities = capability;
        request.n_capabilities = 1;
    }
    if (run->method == CSI_NODE_STAGE_VOLUME)
        request.volume_context = operation_source(operation)->attributes;
    if (run->method == CSI_NODE_PUBLISH_VOLUME)
        fill_publish(self, plan, &request);
    return request;
}

/* KVM-15: whether the driver may still carry out the call. */
static gboolean
is_undecided(CsiCode code)
{
    switch ((unsigned)code) {
    case CSI_CANCELLED:
    case CSI_DEADLINE_EXCEEDED:
    case CSI_UNAVAILABLE:
    case CSI_RESOURCE_EXHAUSTED:
    case CSI_ABORTED:
        return TRUE;
    default:
        return FALSE;
    }
}

/* CSP-8. A driver that takes the group has done it. */
static gboolean
changes_group(const Kubelet *self, Plan *plan)
{
    const CsiRun *run = plan_notes(plan);
    const PendingOperation *operation = plan_operation(plan);
    const VolumeSource *source = operation_source(operation);

    if (run->method != CSI_NODE_PUBLISH_VOLUME || operation_is_block(operation) ||
        (run->can & CSI_NODE_VOLUME_MOUNT_GROUP) != 0)
        return FALSE;
    return csi_spec_changes_group(operation_pv(operation), source->fs_type, fs_group_of(operation),
                                  csi_spec_fs_group_policy(csi_steps_driver_object(self, source)),
                                  operation->target->spec->read_only || source->read_only);
}

static void
set_work(Plan *plan, CsiFiles *files, CsiFilesWork work)
{
    plan_change(plan, &(PlanChange){.what = CHANGE_FILES_WORK, .pointer = files, .number = work});
}

typedef struct {
    PodMount *mount;
    CsiFiles *files;
} MountedFiles;

/* CSP-25: the containers' start labels them, unless they are only read. */
static void
remember_files(Plan *plan)
{
    MountedFiles *mounted = plan_new_arg(plan, MountedFiles);

    mounted->mount = ((const PendingOperation *)plan_operation(plan))->target;
    mounted->files = plan_response(plan, plan_last_step(plan))->files;
    if (!mounted->mount->spec->read_only)
        plan_change(plan, &(PlanChange){.what = CHANGE_FILES_MOUNTED, .pointer = mounted});
}

void
csi_client_apply(const PlanChange *change)
{
    CsiFiles *files = (CsiFiles *)change->pointer;
    const MountedFiles *mounted = change->pointer;

    if (change->what == CHANGE_FILES_GROUP)
        files->group = change->number;
    else if (change->what == CHANGE_FILES_WORK)
        files->work = (CsiFilesWork)change->number;
    else
        mounted->mount->files = mounted->files;
}

/* The root's group comes last: a walk that a dead kubelet leaves has changed nothing there. */
static void
decide_changed(const void *data, Plan *plan)
{
    const CsiRun *run = plan_notes(plan);

    if (run->files != NULL) {
        plan_change(plan, &(PlanChange){.what = CHANGE_FILES_GROUP,
                                        .pointer = run->files,
                                        .number = fs_group_of(plan_operation(plan))});
        set_work(plan, run->files, CSI_FILES_IDLE);
    }
    csi_client_end(data, plan, CSI_PLUGIN_DONE, CSI_OK, NULL);
}

static void decide_walking(const void *data, Plan *plan);

/* CSP-24: 30 s after the beginning, and then once a minute. */
static void
add_walk(const Kubelet *self, Plan *plan)
{
    const CsiRun *run = plan_notes(plan);
    SimTime now = plan_now(plan);
    SimTime next = now + (now == run->walk_from ? WALK_FIRST_REPORT : WALK_REPORT_PERIOD);
    gboolean tells = kubelet_release(self)->minor >= WALK_REPORTS_SINCE && next < run->walk_until;

    plan_wait(plan, (tells ? next : run->walk_until) - now, WAIT_GROUP);
    plan_then(plan, tells ? decide_walking : decide_changed);
}

static void
decide_walking(const void *data, Plan *plan)
{
    const CsiRun *run = plan_notes(plan);
    const PodMount *mount = ((const PendingOperation *)plan_operation(plan))->target;
    const char *directory = csi_spec_walked_directory(mount->target_path);
    SimTime took = plan_now(plan) - run->walk_from;

    plan_because(plan, "CSP-24");
    if (took == WALK_FIRST_REPORT)
        plan_event(plan, mount->worker->pod, "Warning", "VolumePermissionChangeInProgress",
                   "Setting volume ownership for %s is taking longer than expected, consider using "
                   "OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/"
                   "security-context/#configure-volume-permission-and-ownership-change-policy-for-"
                   "pods",
                   directory);
    else
        plan_event(plan, mount->worker->pod, "Warning", "VolumePermissionChangeInProgress",
                   "Setting volume ownership for %s, processed %" G_GINT64_FORMAT " files.",
                   directory, took / run->files->per_file);
    add_walk(data, plan);
}

/* CSP-22, CSP-23. */
static void
add_change(const Kubelet *self, Plan *plan)
{
    CsiRun *run = plan_notes(plan);
    const PodMount *mount = ((const PendingOperation *)plan_operation(plan))->target;
    SimTime takes = MOUNT_CALL;

    run->files = plan_response(plan, plan_last_step(plan))->files;
    plan_because(plan, "CSP-8");
    if (run->files == NULL) {
        plan_wait(plan, takes, WAIT_RUNTIME);
        plan_then(plan, decide_changed);
        return;
    }
    gboolean walks;
    plan_because(plan, csi_spec_walks(POD_CONST(mount->worker->pod)->spec, run->files,
                                      kubelet_release(self), &walks));
    if (!walks) {
        csi_client_end(self, plan, CSI_PLUGIN_DONE, CSI_OK, NULL);
        return;
    }
    run->walk_from = plan_now(plan);
    run->walk_until = run->walk_from + takes + run->files->count * run->files->per_file;
    set_work(plan, run->files, CSI_FILES_GROUP);
    add_walk(self, plan);
}

static void
decide_called(const void *data, Plan *plan)
{
    const CsiRun *run = plan_notes(plan);
    CsiCode code = plan_response(plan, plan_last_step(plan))->code;

    if (code == CSI_OK && run->method == CSI_NODE_PUBLISH_VOLUME &&
        selinux_of(data, plan_operation(plan)) == CSI_SELINUX_RELABEL)
        remember_files(plan);
    if (code == CSI_OK && changes_group(data, plan))
        add_change(data, plan);
    else if (code == CSI_OK)
        csi_client_end(data, plan, CSI_PLUGIN_DONE, code, NULL);
    else
        csi_client_end(data, plan,
                       !undoes(run->method) && is_undecided(code) ? CSI_PLUGIN_UNCERTAIN
                                                                  : CSI_PLUGIN_FAILED,
                       code, plan_last_message(plan));
}

static void
client_decide_call(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const CsiRun *run = plan_notes(plan);

    if (run->question >= 0 && !csi_client_answered(self, plan)) {
        csi_client_end(self, plan, CSI_PLUGIN_FAILED, CSI_OK, plan_last_message(plan));
        return;
    }
    if (run->method == CSI_NODE_PUBLISH_VOLUME)
        kubelet_add_change(plan, CHANGE_DIRECTORY, plan_operation(plan), MOUNT_NONE);
    client_add_call(self, plan, make_request(self, plan, run));
    plan_then(plan, decide_called);
}

/* CSP-13: what the call must have. */
static CsiNeeds
needs_of(CsiMethod method)
{
    switch ((unsigned)method) {
    case CSI_NODE_STAGE_VOLUME:
    case CSI_NODE_UNSTAGE_VOLUME:
        return NEEDS_VOLUME | NEEDS_STAGING_PATH;
    default:
        return NEEDS_VOLUME | NEEDS_TARGET_PATH;
    }
}

void
csi_client_add_call(const Kubelet *self, Plan *plan)
{
    CsiRun *run = plan_notes(plan);
    CsiRequest request = begin_request(run, plan_operation(plan));
    const char *missing = csi_request_missing(&request, needs_of(run->method));

    if (missing != NULL) {
        plan_because(plan, "CSP-13");
        csi_client_end(self, plan, CSI_PLUGIN_FAILED, CSI_OK,
                       plan_internf(plan, "missing %s", missing));
        return;
    }
    if (undoes(run->method)) {
        run->question = -1;
        client_decide_call(self, plan);
        return;
    }
    csi_client_add_question(self, plan);
    plan_then(plan, client_decide_call);
}
