/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attacher.h"

#include <string.h>

/* ---- For attach.c and detach.c ---- */

const Attachment *
attacher_find_attachment(const ExternalAttacher *self, const Plan *plan)
{
    return (const Attachment *)informer_get(self->attachments, plan_key(plan));
}

const Volume *
attacher_find_volume(const ExternalAttacher *self, const char *name)
{
    const ObjectKey *key =
        name == NULL ? NULL : objects_find_key(self->base.objects, KIND_VOLUME, NULL, name);

    return key == NULL ? NULL : VOLUME_CONST(informer_get(self->volumes, key));
}

const char *
attacher_node_id(const ExternalAttacher *self,
                 Plan *plan,
                 const char *node_name,
                 const char **error)
{
    const ObjectKey *key = objects_find_key(self->base.objects, KIND_CSI_NODE, NULL, node_name);
    const CsiNode *csi_node =
        key == NULL ? NULL : (const CsiNode *)informer_get(self->csi_nodes, key);

    if (csi_node == NULL) {
        *error = plan_internf(plan, "csinode.storage.k8s.io \"%s\" not found", node_name);
        return NULL;
    }
    const CsiNodeDriver *entry = csi_node_find_driver(csi_node, self->base.driver_name);
    if (entry == NULL)
        *error = plan_internf(plan, "CSINode %s does not contain driver %s", node_name,
                              self->base.driver_name);
    return entry == NULL ? NULL : entry->node_id;
}

MetadataPatch *
metadata_patch_new(Plan *plan, const Object *in_hand, const char *finalizer, gboolean add)
{
    unsigned n_before = in_hand->finalizers == NULL ? 0 : in_hand->finalizers->n_items;
    MetadataPatch *patch =
        plan_alloc(plan, sizeof(MetadataPatch) + (n_before + 1) * sizeof(patch->finalizers[0]));

    for (unsigned i = 0; i < n_before; i++)
        if (in_hand->finalizers->items[i] != finalizer)
            patch->finalizers[patch->n_finalizers++] = in_hand->finalizers->items[i];
    if (add)
        patch->finalizers[patch->n_finalizers++] = finalizer;
    return patch;
}

gboolean
metadata_patch_apply(Object *object, const void *data)
{
    const MetadataPatch *patch = data;
    g_autoptr(StringList) finalizers = string_list_new(patch->finalizers, patch->n_finalizers);
    gboolean changed =
        patch->node_id != NULL && object_set_annotation(object, patch->node_id_key, patch->node_id);

    if (string_list_equal(finalizers, object->finalizers))
        return changed;
    string_list_unref(object->finalizers);
    object->finalizers = g_steal_pointer(&finalizers);
    return TRUE;
}

const ErrorPatch *
error_patch_new(Plan *plan, const char *message)
{
    ErrorPatch *patch = plan_new_arg(plan, ErrorPatch);

    patch->message = message;
    patch->at = plan_now(plan);
    return patch;
}

/* ---- Attachments ---- */

static gboolean
set_attached_trivially(Object *object, const void *arg)
{
    (void)arg;
    gboolean changed = !ATTACHMENT(object)->attached;

    ATTACHMENT(object)->attached = TRUE;
    return changed;
}

/* EA-30: a driver that needs no attach: say that it is done. */
static void
plan_trivially(Plan *plan, const Attachment *attachment)
{
    plan_because(plan, "EA-30");
    if (!object_is_deleted(&attachment->meta) && !attachment->attached)
        plan_patch_status(plan, plan_key(plan), set_attached_trivially, NULL, PLAN_STOP);
}

static void
decide_attachment(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Attachment *attachment = attacher_find_attachment(self, plan);

    plan_because(plan, "EA-17");
    if (attachment == NULL || attachment->attacher != self->base.driver_name)
        return;
    if (!self->attaches) {
        plan_trivially(plan, attachment);
    } else if (!object_is_deleted(&attachment->meta)) {
        plan_because(plan, "EA-18");
        if (!attachment->attached)
            plan_attach(self, plan, attachment);
    } else {
        plan_because(plan, "EA-23.1");
        if (object_has_finalizer(&attachment->meta, self->finalizer))
            plan_detach(self, plan, attachment);
    }
}

/* EA-14: our own writing of an error must not defeat the back-off. */
static gboolean
is_only_an_error(const Attachment *before, const Attachment *after)
{
    if (after->attach_error.message == NULL && after->detach_error.message == NULL &&
        before->attach_error.message == NULL && before->detach_error.message == NULL)
        return FALSE;
    return before->attached == after->attached &&
           string_map_equal(before->metadata, after->metadata) &&
           before->meta.deleted_at == after->meta.deleted_at &&
           string_list_equal(before->meta.finalizers, after->meta.finalizers) &&
           string_map_equal(before->meta.annotations, after->meta.annotations) &&
           string_map_equal(before->meta.labels, after->meta.labels);
}

static void
attachment_changed(void *data, const Object *before, const Object *after)
{
    ExternalAttacher *self = data;
    const Attachment *attachment = (const Attachment *)(after != NULL ? after : before);

    if (attachment->attacher != self->base.driver_name)
        return; /* EA-17 would drop it */
    if (after == NULL) {
        const Volume *volume = attacher_find_volume(self, attachment->volume_name);
        if (volume != NULL)
            workers_add(self->volume_workers, volume->meta.key); /* EA-15 */
        return;
    }
    if (before == NULL || before->resource_version == after->resource_version ||
        !is_only_an_error((const Attachment *)before, attachment))
        workers_add(self->attachment_workers, after->key);
}

/* ---- Volumes ---- */

static void
decide_volume(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Object *volume = informer_get(self->volumes, plan_key(plan));
    unsigned n_attachments = 0;

    plan_because(plan, "EA-28");
    if (volume == NULL || !object_is_deleted(volume) ||
        !object_has_finalizer(volume, self->finalizer))
        return;
    informer_index_get(self->attachments_by_volume, object_name(volume), &n_attachments);
    if (n_attachments == 0) /* else the deletion of the last one brings the volume here again */
        plan_patch(plan, plan_key(plan), metadata_patch_apply,
                   metadata_patch_new(plan, volume, self->finalizer, FALSE), PLAN_STOP);
}

/* EA-16 */
static void
volume_changed(void *data, const Object *before, const Object *after)
{
    ExternalAttacher *self = data;

    (void)before;
    if (after != NULL && object_is_deleted(after) && object_has_finalizer(after, self->finalizer))
        workers_add(self->volume_workers, after->key);
}

/* ---- Start and end ---- */

/* EA-7: what a finalizer may not contain becomes '-'; at the end, '-X'. */
static const char *
make_finalizer(const ExternalAttacher *self)
{
    g_autoptr(GString) text = g_string_new("external-attacher/");

    for (const char *at = self->base.driver_name; *at != '\0'; at++)
        g_string_append_c(text, g_ascii_isalnum(*at) ? *at : '-');
    if (text->str[text->len - 1] == '-')
        g_string_append_c(text, 'X');
    return strings_intern(self->base.strings, text->str);
}

static Workers *
make_workers(ExternalAttacher *self, const char *name, PlanDecide sync)
{
    const ExternalAttacherOptions *options = self->options;
    WorkersOptions workers = {
        .name = name,
        .n_workers = (unsigned)options->worker_threads,
        .limit = {.base = options->retry_interval_start, .max = options->retry_interval_max},
        .retry = TRUE,
        .sync = sync,
    };

    return workers_new(&self->base, &workers);
}

/* The driver has told what it can do, and the informers are synced. */
static void
start_working(void *data)
{
    ExternalAttacher *self = data;
    Process *process = self->base.process;
    CsiControllerCapabilities capabilities = sidecar_controller_capabilities(self->sidecar);

    self->attaches = (capabilities & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME) != 0;
    self->passes_read_only = (capabilities & CSI_CONTROLLER_PUBLISH_READONLY) != 0;
    self->multi_writer = (capabilities & CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER) != 0;
    self->attachment_workers = make_workers(self, "csi-attacher-va", decide_attachment);
    self->volume_workers = make_workers(self, "csi-attacher-pv", decide_volume);

    self->csi_nodes = process_informer(process, KIND_CSI_NODE, NULL);
    self->volumes = process_informer(process, KIND_VOLUME, NULL);
    self->attachments = process_informer(process, KIND_ATTACHMENT, NULL);
    self->attachments_by_volume =
        informer_add_index(self->attachments, index_attachments_by_volume);
    informer_add_handler(self->attachments, attachment_changed, self);
    informer_add_handler(self->volumes, volume_changed, self);
}

static void
external_attacher_init(void *data)
{
    ExternalAttacher *self = data;
    SidecarOptions options = {
        .component = &self->base,
        .probe_timeout_ns =
            ((const ExternalAttacherOptions *)self->base.options)->timeout, /* EA-3 */
        .n_sync_polls = 1,                                                  /* TIM-91 */
        .ready = start_working,
    };

    self->options = self->base.options;
    self->finalizer = make_finalizer(self);
    self->node_id_key = strings_intern(self->base.strings, ANNOTATION_NODE_ID);
    self->sidecar = sidecar_new(&options);
}

static void
external_attacher_clear(void *data)
{
    ExternalAttacher *self = data;

    sidecar_free(self->sidecar);
    workers_free(self->attachment_workers);
    workers_free(self->volume_workers);
}

static double
client_qps(const void *data, unsigned *burst)
{
    const ExternalAttacherOptions *options = data;

    *burst = (unsigned)options->kube_api_burst;
    return options->kube_api_qps;
}

#define FLAG(name, type, member, value, help)                                                      \
    {                                                                                              \
        name, type, offsetof(ExternalAttacherOptions, member), value, help                         \
    }

static const ProcessFlag flags[] = {
    FLAG("worker-threads",
         FLAG_INT,
         worker_threads,
         "10",
         "Attachments, and volumes, worked on at once (EA-1)"),
    FLAG("kube-api-qps",
         FLAG_NUMBER,
         kube_api_qps,
         "5",
         "Requests per second to the API server (EA-38)"),
    FLAG("kube-api-burst",
         FLAG_INT,
         kube_api_burst,
         "10",
         "Requests that may exceed that rate at once"),
    FLAG("retry-interval-start",
         FLAG_DURATION,
         retry_interval_start,
         "1s",
         "Wait after a first failure; doubles with each (EA-2)"),
    FLAG("retry-interval-max",
         FLAG_DURATION,
         retry_interval_max,
         "5m",
         "Longest wait after a failure"),
    FLAG("timeout", FLAG_DURATION, timeout, "15s", "Deadline of a call of the driver (EA-3)"),
    FLAG("default-fstype",
         FLAG_STRING,
         default_fstype,
         "",
         "File system when the volume names none"),
    FLAG("reconcile-sync",
         FLAG_DURATION,
         reconcile_sync,
         "1m",
         "Between two comparisons with ListVolumes (EA-25)"),
    FLAG("resync", FLAG_DURATION, resync, "10m", "All objects are looked at again (EA-4)"),
    FLAG("max-entries", FLAG_INT, max_entries, "0", "Page size of ListVolumes; 0: all"),
    FLAG("leader-election",
         FLAG_BOOL,
         leader_election,
         "false",
         "One of several replicas works (EA-5)"),
    FLAG("leader-election-lease-duration",
         FLAG_DURATION,
         leader_election_lease_duration,
         "15s",
         "How long a silent leader is respected"),
    FLAG("leader-election-renew-deadline",
         FLAG_DURATION,
         leader_election_renew_deadline,
         "10s",
         "How long a leader tries to renew"),
    FLAG("leader-election-retry-period",
         FLAG_DURATION,
         leader_election_retry_period,
         "5s",
         "Between two tries"),
    {0},
};

const ProcessClass external_attacher_process = {
    .name = "external-attacher",
    .scope = PER_DRIVER,
    .options_size = sizeof(ExternalAttacherOptions),
    .flags = flags,
    .startup =
        30 * SIM_MS, /* TIM-91: to the first Probe; then the driver's answers and one sync poll */
};

const ModelClass external_attacher_class = {
    .name = "external-attacher",
    .process = &external_attacher_process,
    .size = sizeof(ExternalAttacher),
    .client_qps = client_qps,
    .init = external_attacher_init,
    .clear = external_attacher_clear,
    .apply_change = NULL,
};
