/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detaches the volume of a VolumeAttachment: csiDetach() in csi_handler.go.
 * ControllerUnpublishVolume, then the finalizer goes before the status is written: a finalizer
 * beside `attached: false` would ask for another Unpublish. Releases before 4.9 write in the other
 * order and may ask the driver twice (SREL-12). The node's ID is the one that was noted at the
 * attach, since the CSINode may be gone (EA-8). */
#include "attacher.h"

static void
detach_failed(Plan *plan, const char *error)
{
    plan_attachment_failed(plan, TRUE, error, CSI_OK);
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
    attachment->detach_error = (VolumeError){.at = TIME_UNSET};
    return changed;
}

static void
detach_decide_marked(const void *data, Plan *plan)
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
        detach_decide_marked(data, plan);
        return;
    }
    plan_because(plan, "EA-23.6");
    plan_patch_status(plan, plan_key(plan), set_detached, NULL, PLAN_GONE_IS_FINE | PLAN_DECIDE);
    plan_then(plan, detach_decide_marked);
}

/* Before 4.9 (SREL-12): the status is written, and now the finalizer goes. If that fails, or the
 * next look is early, the driver is asked once more. */
static void
decide_marked_first(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Object *marked = plan_object(plan, plan_last_step(plan));

    detach_decide_marked(data, plan);
    if (marked == NULL || !object_has_finalizer(marked, self->finalizer))
        return;
    plan_because(plan, "EA-23.9");
    plan_patch(plan, plan_key(plan), metadata_patch_apply,
               metadata_patch_new(plan, marked, self->finalizer, FALSE),
               PLAN_GONE_IS_FINE | PLAN_DECIDE);
    plan_then(plan, detach_decide_marked);
}

/* The finalizer goes first: a finalizer beside `attached` false would ask for another Unpublish. */
static void
decide_unpublished(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));
    const Attachment *attachment = attacher_find_attachment(self, plan);

    if (response->code != CSI_OK) {
        plan_attachment_failed(plan, TRUE, csi_response_error(response, self->base.strings),
                               self->tells_codes ? response->code : CSI_OK);
        return;
    }
    if (attachment == NULL)
        return;
    if (!object_has_finalizer(&attachment->meta, self->finalizer) && !attachment->attached) {
        plan_because(plan, "EA-23.7");
        return;
    }
    if (self->marks_first) {
        plan_because(plan, "EA-23.8");
        plan_patch_status(plan, plan_key(plan), set_detached, NULL,
                          PLAN_GONE_IS_FINE | PLAN_DECIDE);
        plan_then(plan, decide_marked_first);
        return;
    }
    plan_because(plan, "EA-23.5");
    plan_patch(plan, plan_key(plan), metadata_patch_apply,
               metadata_patch_new(plan, &attachment->meta, self->finalizer, FALSE), PLAN_DECIDE);
    plan_then(plan, decide_let_go);
}

static void
unpublish(const ExternalAttacher *self, Plan *plan, const Volume *volume, const char *node_id)
{
    CsiRequest request = {
        .method = CSI_CONTROLLER_UNPUBLISH_VOLUME,
        .timeout_ns = self->options->common.timeout,
        .volume_id = volume->source == NULL ? NULL : volume->source->handle,
        .node_id = node_id,
        .has_secrets = attacher_has_secret(plan),
    };

    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_unpublished);
}

static void detach_decide_secret_read(const void *data, Plan *plan);

/* csiDetach() in csi_handler.go. */
static void
detach_detach(const ExternalAttacher *self,
              Plan *plan,
              const Attachment *attachment,
              gboolean secret_is_read)
{
    const char *no_volume, *no_node = NULL;
    const Volume *volume = attacher_volume_of(self, plan, attachment, &no_volume);
    const char *node_id = attacher_node_id(self, plan, attachment->node_name, &no_node);
    const char *noted = object_annotation(&attachment->meta, ANNOTATION_NODE_ID); /* EA-8 */

    if (volume == NULL) {
        plan_because(plan, "EA-23.2");
        detach_failed(plan, no_volume);
    } else if (!secret_is_read && attacher_secret_of(volume) != NULL) {
        plan_read_secret(self, plan, volume);
        plan_then(plan, detach_decide_secret_read);
    } else if (node_id == NULL && noted == NULL) {
        plan_because(plan, "EA-23.3");
        detach_failed(plan, no_node);
    } else {
        plan_because(plan, "EA-23.4");
        unpublish(self, plan, volume, node_id != NULL ? node_id : noted);
    }
}

static void
detach_decide_secret_read(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Attachment *attachment = attacher_find_attachment(self, plan);
    const char *error = NULL;

    if (attachment == NULL)
        return;
    attacher_volume_with_secret(self, plan, attachment, &error);
    if (error != NULL)
        detach_failed(plan, error);
    else
        detach_detach(self, plan, attachment, TRUE);
}

void
plan_detach(const ExternalAttacher *self, Plan *plan, const Attachment *attachment)
{
    detach_detach(self, plan, attachment, FALSE);
}
