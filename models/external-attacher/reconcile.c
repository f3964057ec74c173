/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EA-25 to EA-27: the driver's list of volumes, page by page, is compared with the attachments.
 * Each difference between the list and `status.attached` queues its attachment and forces its sync,
 * even if that seems done; nothing is written here. A driver may list the volume of an in-tree
 * plugin under its whole handle, so both handles are looked for (EA-41). The order of the
 * differences is drawn, because the original walks a map. */
#include "attacher.h"

#include "models/api/migration/migration.h"
#include "models/timing/waits.h"

static void
list_entries(ExternalAttacher *self, const CsiResponse *response)
{
    for (unsigned i = 0; i < response->n_entries; i++)
        if (response->entries[i].volume_id != NULL)
            g_hash_table_replace(self->published, (void *)response->entries[i].volume_id,
                                 string_list_ref(response->entries[i].published_node_ids));
}

static gboolean
is_listed(const ExternalAttacher *self, const char *handle, const char *node_id)
{
    const StringList *nodes = handle == NULL ? NULL : g_hash_table_lookup(self->published, handle);

    return nodes != NULL && string_list_has(nodes, node_id);
}

/* EA-41: a driver may list a volume of an in-tree plugin under its whole handle; modelled ones keep
 * the handle that they were given. Returns: FALSE: the handle cannot be completed (MIG-35) */
static gboolean
is_published(const ExternalAttacher *self,
             const VolumeSource *source,
             const char *node_id,
             gboolean *published)
{
    *published = is_listed(self, source->handle, node_id);
    if (source->in_tree == NULL)
        return TRUE;
    g_autofree char *handle =
        in_tree_plugin_repair_handle(source->in_tree, source->handle, node_id, NULL);
    if (handle != NULL && !*published)
        *published = is_listed(self, strings_find(self->base.strings, handle), node_id);
    return handle != NULL;
}

/* Returns: (borrowed): the node's name for the driver of the attachment, ours or another (EA-27);
 * NULL: unknown */
static const char *
node_id_of(const ExternalAttacher *self, const Attachment *attachment)
{
    const CsiNodeDriver *entry = csi_node_find_driver(
        (const CsiNode *)informer_find(self->csi_nodes, NULL, attachment->node_name),
        attachment->attacher);

    return entry != NULL ? entry->node_id
                         : object_annotation(&attachment->meta, ANNOTATION_NODE_ID);
}

static void
compare_all(ExternalAttacher *self)
{
    SimStream stream = sim_stream(self->base.sim, "external-attacher/reconcile order");
    g_autoptr(GPtrArray) differ = g_ptr_array_new();
    InformerIter attachments;
    const Object *object;

    informer_iter_init(&attachments, self->attachments);
    while ((object = informer_iter_next(&attachments)) != NULL) {
        const Attachment *attachment = (const Attachment *)object;
        const char *node_id = node_id_of(self, attachment);
        const Volume *volume = attachment->inline_volume != NULL
                                   ? VOLUME_CONST(attachment->inline_volume)
                                   : attacher_find_volume(self, attachment->volume_name);
        gboolean published;
        if (node_id == NULL || volume == NULL || volume->source == NULL ||
            volume->source->handle == NULL ||
            !is_published(self, volume->source, node_id, &published) ||
            published == attachment->attached)
            continue;
        g_hash_table_add(self->forced, (void *)object->key);
        g_ptr_array_add(differ, (void *)object->key);
    }
    /* CGO-8: the lister's store is a map. */
    sim_shuffle(differ->pdata, differ->len, object_key_place, stream,
                (uint64_t)sim_now(self->base.sim));
    for (unsigned i = 0; i < differ->len; i++)
        workers_add(self->attachment_workers, differ->pdata[i]);
}

void
reconciler_apply(void *data, const PlanChange *change)
{
    ExternalAttacher *self = data;

    switch ((AttacherChange)change->what) {
    case CHANGE_LIST_BEGIN:
        g_hash_table_remove_all(self->published);
        return;
    case CHANGE_LISTED:
        list_entries(self, change->pointer);
        return;
    case CHANGE_COMPARE:
        compare_all(self);
        return;
    }
    g_assert_not_reached();
}

static void reconcile_decide_listed(const void *data, Plan *plan);

static void
list_volumes(const ExternalAttacher *self, Plan *plan, const char *token)
{
    CsiRequest request = {.method = CSI_LIST_VOLUMES,
                          .timeout_ns = plan_started_at(plan) + self->options->common.timeout -
                                        plan_now(plan),
                          .max_entries = (unsigned)self->options->max_entries,
                          .starting_token = token};

    plan_because(plan, "EA-25");
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, reconcile_decide_listed);
}

static void
reconcile_decide_listed(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "EA-26");
    if (response->code != CSI_OK ||
        plan_now(plan) >= plan_started_at(plan) + self->options->common.timeout) {
        plan_fail(plan, "failed to ListVolumes");
        return;
    }
    plan_change(plan, &(PlanChange){.what = CHANGE_LISTED, .pointer = response});
    if (response->next_token != NULL)
        list_volumes(self, plan, response->next_token);
    else
        plan_change(plan, &(PlanChange){.what = CHANGE_COMPARE});
}

static void
decide_reconcile(const void *data, Plan *plan)
{
    plan_because(plan, "EA-25");
    plan_change(plan, &(PlanChange){.what = CHANGE_LIST_BEGIN});
    list_volumes(data, plan, NULL);
}

static void
reconcile_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    ExternalAttacher *self = data;

    (void)plan;
    (void)end;
    (void)message;
    sim_ticker_end_pass(self->reconciler, TRUE);
}

gboolean
reconciler_pass(void *data)
{
    ExternalAttacher *self = data;
    PlanStart start = {
        .component = &self->base,
        .decide = decide_reconcile,
        .key = objects_key(self->base.objects, KIND_CSI_DRIVER, NULL, self->base.driver_name),
        .done = reconcile_over};

    sim_ticker_begin_long_pass(self->reconciler);
    plan_start(&start);
    return TRUE;
}
