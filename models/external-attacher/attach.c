/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attacher.h"

#include "models/volume/access-mode.h"

CsiAccessMode
attacher_access_mode(uint32_t modes, gboolean multi_writer, const char **error)
{
    return sidecar_access_mode(modes, multi_writer, error);
}

static gboolean
set_attach_error(Object *object, const void *data)
{
    const ErrorPatch *patch = data;

    ATTACHMENT(object)->attach_error = (AttachmentError){patch->message, patch->at};
    return TRUE;
}

/* EA-22: whatever went wrong, and even if this cannot be written, the key comes again. */
static void
attach_failed(Plan *plan, const char *error)
{
    plan_because(plan, "EA-22");
    plan_patch_status(plan, plan_key(plan), set_attach_error, error_patch_new(plan, error),
                      PLAN_GO_ON);
    plan_fail(plan, "%s", error);
}

static gboolean
set_attached(Object *object, const void *publish_context)
{
    Attachment *attachment = ATTACHMENT(object);
    const AttachmentError none = {NULL, TIME_UNSET};

    if (attachment->attached && attachment->attach_error.message == NULL &&
        string_map_equal(attachment->metadata, publish_context))
        return FALSE;
    attachment->attached = TRUE;
    string_map_unref(attachment->metadata);
    attachment->metadata = string_map_ref(publish_context);
    attachment->attach_error = none;
    return TRUE;
}

static void
decide_published(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    if (response->code != CSI_OK) {
        attach_failed(plan, csi_response_error(response, self->base.strings));
        return;
    }
    plan_because(plan, "EA-19.10");
    plan_patch_status(plan, plan_key(plan), set_attached, response->publish_context, PLAN_STOP);
}

/* EA-19.9 */
static void
publish(const ExternalAttacher *self, Plan *plan, const Volume *volume, const char *node_id)
{
    const VolumeSource *source = volume->source;
    const char *error;
    CsiCapability capability = {
        .mode = attacher_access_mode(volume->access_modes, self->multi_writer, &error)};

    if (volume->volume_mode == VOLUME_BLOCK)
        capability.type = CSI_ACCESS_BLOCK;
    else
        capability.fs_type = source->fs_type != NULL && source->fs_type[0] != '\0'
                                 ? source->fs_type
                                 : self->options->default_fstype;

    CsiRequest request = {
        .method = CSI_CONTROLLER_PUBLISH_VOLUME,
        .timeout_ns = self->options->timeout,
        .volume_id = source->handle,
        .node_id = node_id,
        .capabilities = &capability,
        .n_capabilities = 1,
        .readonly = self->passes_read_only && source->read_only,
        .volume_context = source->attributes,
    };
    plan_because(plan, "EA-19.9");
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_published);
}

static const Volume *
volume_of(const ExternalAttacher *self, const Plan *plan)
{
    const Attachment *attachment = attacher_find_attachment(self, plan);

    return attachment == NULL ? NULL : attacher_find_volume(self, attachment->volume_name);
}

/* After the patch of the attachment. */
static void
decide_publish(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    int step = plan_last_step(plan);
    const Attachment *attachment = ATTACHMENT(plan_object(plan, step));

    if (plan_code(plan, step) != API_OK) {
        attach_failed(plan, plan_internf(plan, "could not save VolumeAttachment: %s",
                                         plan_message(plan, step)));
        return;
    }
    const Volume *volume = attacher_find_volume(self, attachment->volume_name);
    if (volume == NULL) /* deleted within the last ms; the real one still has its copy */
        attach_failed(
            plan, plan_internf(plan, "persistentvolume \"%s\" not found", attachment->volume_name));
    else
        publish(self, plan, volume, object_annotation(&attachment->meta, ANNOTATION_NODE_ID));
}

/* EA-19.5 to EA-19.8: the checks come before the finalizer, so that an attachment that fails here can go at once (EA-21). */
static void
prepare(const ExternalAttacher *self,
        Plan *plan,
        const Attachment *attachment,
        const Volume *volume)
{
    const char *error = NULL;

    attacher_access_mode(volume->access_modes, self->multi_writer, &error);
    if (error == NULL && (volume->source == NULL || volume->source->driver == NULL))
        error = "persistent volume has no CSI source";
    const char *node_id =
        error != NULL ? NULL : attacher_node_id(self, plan, attachment->node_name, &error);
    if (error != NULL) {
        attach_failed(plan, error);
        return;
    }
    if (object_has_finalizer(&attachment->meta, self->finalizer) &&
        object_annotation(&attachment->meta, ANNOTATION_NODE_ID) == node_id) {
        publish(self, plan, volume, node_id);
        return;
    }
    MetadataPatch *patch = metadata_patch_new(plan, &attachment->meta, self->finalizer, TRUE);
    patch->node_id_key = self->node_id_key;
    patch->node_id = node_id;
    plan_because(plan, "EA-19.8");
    plan_patch(plan, plan_key(plan), metadata_patch_apply, patch, PLAN_DECIDE);
    plan_then(plan, decide_publish);
}

/* After the patch of the volume. */
static void
decide_prepare(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Attachment *attachment = attacher_find_attachment(self, plan);
    int step = plan_last_step(plan);

    if (plan_code(plan, step) != API_OK)
        attach_failed(plan, plan_internf(plan, "could not add PersistentVolume finalizer: %s",
                                         plan_message(plan, step)));
    else if (attachment == NULL)
        plan_fail(plan, "volumeattachment \"%s\" not found", plan_key(plan)->name);
    else
        prepare(self, plan, attachment, VOLUME_CONST(plan_object(plan, step)));
}

void
plan_attach(const ExternalAttacher *self, Plan *plan, const Attachment *attachment)
{
    const Volume *volume = volume_of(self, plan);

    plan_because(plan, "EA-19.1");
    if (attachment->volume_name == NULL) {
        attach_failed(
            plan,
            "neither InlineVolumeSpec nor PersistentVolumeName specified in VolumeAttachment.Spec");
    } else if (volume == NULL) {
        attach_failed(
            plan, plan_internf(plan, "persistentvolume \"%s\" not found", attachment->volume_name));
    } else if (object_is_deleted(&volume->meta)) {
        attach_failed(plan, plan_internf(plan, "PersistentVolume \"%s\" is marked for deletion",
                                         attachment->volume_name));
    } else if (object_has_finalizer(&volume->meta, self->finalizer)) {
        prepare(self, plan, attachment, volume);
    } else {
        plan_because(plan, "EA-19.3");
        plan_patch(plan, volume->meta.key, metadata_patch_apply,
                   metadata_patch_new(plan, &volume->meta, self->finalizer, TRUE), PLAN_DECIDE);
        plan_then(plan, decide_prepare);
    }
}
