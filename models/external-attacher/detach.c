/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attacher.h"

static gboolean
set_detach_error(Object *object, const void *data)
{
    const ErrorPatch *patch = data;

    ATTACHMENT(object)->detach_error = (VolumeError){patch->message, patch->at};
    return TRUE;
}

static void
detach_failed(Plan *plan, const char *error)
{
    plan_attachment_failed(plan, "EA-24", set_detach_error, error);
}

static gboolean
set_detached(Object *object, const void *arg)
{
    Attachment *attachment = ATTACHMENT(object);
    gboolean changed = attachment->attached || attachment->metadata != NULL ||
                       attachment->detach_error.message != NULL;

    (void)arg;
    attachment->attached = FALSE;
    g_clear_pointer(&attachment->metadata, string_map_unref);
    attachment->detach_error = (VolumeError){NULL, TIME_UNSET};
    return changed;
}

static void
decide_marked(const void *data, Plan *plan)
{
    int step = plan_last_step(plan);

    (void)data;
    if (plan_code(plan, step) != API_OK && plan_code(plan, step) != API_NOT_FOUND)
        detach_failed(
            plan, plan_internf(plan, "could not mark as detached: %s", plan_message(plan, step)));
}

static void
decide_let_go(const void *data, Plan *plan)
{
    int step = plan_last_step(plan);

    (void)data;
    if (plan_code(plan, step) != API_OK && plan_code(plan, step) != API_NOT_FOUND) {
        decide_marked(data, plan);
        return;
    }
    plan_because(plan, "EA-23.6");
    plan_patch_status(plan, plan_key(plan), set_detached, NULL, PLAN_GONE_IS_FINE | PLAN_DECIDE);
    plan_then(plan, decide_marked);
}

/* The finalizer goes first: one that is still there with `attached` false asks for another
 * Unpublish. */
static void
decide_unpublished(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));
    const Attachment *attachment = attacher_find_attachment(self, plan);

    if (response->code != CSI_OK) {
        detach_failed(plan, csi_response_error(response, self->base.strings));
        return;
    }
    if (attachment == NULL)
        return;
    plan_because(plan, "EA-23.5");
    plan_patch(plan, plan_key(plan), metadata_patch_apply,
               metadata_patch_new(plan, &attachment->meta, self->finalizer, FALSE), PLAN_DECIDE);
    plan_then(plan, decide_let_go);
}

static void
unpublish(const ExternalAttacher *self,
          Plan *plan,
          const Attachment *attachment,
          const Volume *volume,
          gboolean has_secret)
{
    const char *error = NULL;
    const char *node_id = attacher_node_id(self, plan, attachment->node_name, &error);

    if (node_id == NULL)
        node_id = object_annotation(&attachment->meta, ANNOTATION_NODE_ID);
    if (node_id == NULL) {
        plan_because(plan, "EA-23.3");
        detach_failed(plan, error);
        return;
    }
    CsiRequest request = {
        .method = CSI_CONTROLLER_UNPUBLISH_VOLUME,
        .timeout_ns = self->options->timeout,
        .volume_id = volume->source == NULL ? NULL : volume->source->handle,
        .node_id = node_id,
        .has_secrets = has_secret,
    };
    plan_because(plan, "EA-23.4");
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_unpublished);
}

static void
decide_secret_read(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Attachment *attachment = attacher_find_attachment(self, plan);
    const char *error = NULL;
    gboolean has_data = FALSE;

    if (attachment == NULL)
        return;
    const Volume *volume = attacher_volume_of(self, plan, attachment, &error);
    if (volume != NULL)
        error = attacher_secret_error(plan, volume, &has_data);
    if (error != NULL)
        detach_failed(plan, error);
    else
        unpublish(self, plan, attachment, volume, has_data);
}

void
plan_detach(const ExternalAttacher *self, Plan *plan, const Attachment *attachment)
{
    const char *error = NULL;
    const Volume *volume = attacher_volume_of(self, plan, attachment, &error);

    plan_because(plan, "EA-23.2");
    if (volume == NULL)
        detach_failed(plan, error);
    else if (plan_read_secret(self, plan, volume))
        plan_then(plan, decide_secret_read);
    else
        unpublish(self, plan, attachment, volume, FALSE);
}
