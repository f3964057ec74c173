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

    ATTACHMENT(object)->attach_error = (VolumeError){patch->message, patch->at};
    return TRUE;
}

static void
attach_failed(Plan *plan, const char *error)
{
    plan_attachment_failed(plan, "EA-22", set_attach_error, error);
}

static gboolean
set_attached(Object *object, const void *publish_context)
{
    Attachment *attachment = ATTACHMENT(object);
    const VolumeError none = {NULL, TIME_UNSET};

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

gboolean
attacher_capability(const ExternalAttacher *self,
                    const Volume *volume,
                    CsiCapability *capability,
                    const char **error)
{
    const VolumeSource *source = volume->source;

    *error = NULL;
    *capability = (CsiCapability){
        .mode = attacher_access_mode(volume->access_modes, self->multi_writer, error)};
    if (*error == NULL && (source == NULL || source->driver == NULL))
        *error = "persistent volume has no CSI source";
    if (*error != NULL)
        return FALSE;
    if (volume->volume_mode == VOLUME_BLOCK) {
        capability->type = CSI_ACCESS_BLOCK;
        return TRUE;
    }
    capability->mount_flags = volume->mount_options;
    capability->fs_type = source->fs_type != NULL && source->fs_type[0] != '\0'
                              ? source->fs_type
                              : self->options->default_fstype;
    return TRUE;
}

/* EA-19.9 */
static void
publish(const ExternalAttacher *self,
        Plan *plan,
        const Volume *volume,
        const char *node_id,
        gboolean has_secret)
{
    const VolumeSource *source = volume->source;
    const char *error;
    CsiCapability capability;

    if (!attacher_capability(self, volume, &capability, &error)) {
        attach_failed(plan, error);
        return;
    }
    CsiRequest request = {
        .method = CSI_CONTROLLER_PUBLISH_VOLUME,
        .timeout_ns = self->options->timeout,
        .volume_id = source->handle,
        .node_id = node_id,
        .capabilities = &capability,
        .n_capabilities = 1,
        .readonly = self->passes_read_only && source->read_only,
        .has_secrets = has_secret,
        .volume_context = source->attributes,
    };
    plan_because(plan, "EA-19.9");
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_published);
}

/* After the patch of the attachment. */
static void
publish_patched(const ExternalAttacher *self, Plan *plan, gboolean has_secret)
{
    int step = plan_last_step(plan);
    const Attachment *attachment = ATTACHMENT(plan_object(plan, step));
    const char *error = NULL;

    if (plan_code(plan, step) != API_OK) {
        attach_failed(plan, plan_internf(plan, "could not save VolumeAttachment: %s",
                                         plan_message(plan, step)));
        return;
    }
    /* deleted within the last ms, perhaps; the real one still has its copy */
    const Volume *volume = attacher_volume_of(self, plan, attachment, &error);
    if (volume == NULL)
        attach_failed(plan, error);
    else
        publish(self, plan, volume, object_annotation(&attachment->meta, ANNOTATION_NODE_ID),
                has_secret);
}

static void
decide_publish(const void *data, Plan *plan)
{
    publish_patched(data, plan, FALSE);
}

static void
decide_publish_with_secret(const void *data, Plan *plan)
{
    publish_patched(data, plan, TRUE);
}

/* EA-19.7, EA-19.8: the checks come before the finalizer, so that an attachment that fails here can
 * go at once (EA-21). */
static void
prepare_with_secret(const ExternalAttacher *self,
                    Plan *plan,
                    const Attachment *attachment,
                    const Volume *volume,
                    gboolean has_secret)
{
    const char *error = NULL;
    const char *node_id = attacher_node_id(self, plan, attachment->node_name, &error);

    if (error != NULL) {
        attach_failed(plan, error);
        return;
    }
    if (object_has_finalizer(&attachment->meta, self->finalizer) &&
        object_annotation(&attachment->meta, ANNOTATION_NODE_ID) == node_id) {
        publish(self, plan, volume, node_id, has_secret);
        return;
    }
    MetadataPatch *patch = metadata_patch_new(plan, &attachment->meta, self->finalizer, TRUE);
    patch->node_id_key = self->node_id_key;
    patch->node_id = node_id;
    plan_because(plan, "EA-19.8");
    plan_patch(plan, plan_key(plan), metadata_patch_apply, patch, PLAN_DECIDE);
    plan_then(plan, has_secret ? decide_publish_with_secret : decide_publish);
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
        attach_failed(plan, error);
    else
        prepare_with_secret(self, plan, attachment, volume, has_data);
}

/* EA-19.5, EA-19.6 */
static void
prepare(const ExternalAttacher *self,
        Plan *plan,
        const Attachment *attachment,
        const Volume *volume)
{
    CsiCapability capability;
    const char *error;

    if (!attacher_capability(self, volume, &capability, &error))
        attach_failed(plan, error);
    else if (plan_read_secret(self, plan, volume))
        plan_then(plan, decide_secret_read);
    else
        prepare_with_secret(self, plan, attachment, volume, FALSE);
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
    const char *error = NULL;
    const Volume *volume = attacher_volume_of(self, plan, attachment, &error);

    plan_because(plan, "EA-19.1");
    if (volume == NULL) {
        attach_failed(plan, error);
    } else if (object_is_deleted(&volume->meta)) {
        attach_failed(plan, plan_internf(plan, "PersistentVolume \"%s\" is marked for deletion",
                                         attachment->volume_name));
    } else if (attachment->inline_volume != NULL ||
               object_has_finalizer(&volume->meta, self->finalizer)) {
        prepare(self, plan, attachment, volume);
    } else {
        plan_because(plan, "EA-19.3");
        plan_patch(plan, volume->meta.key, metadata_patch_apply,
                   metadata_patch_new(plan, &volume->meta, self->finalizer, TRUE), PLAN_DECIDE);
        plan_then(plan, decide_prepare);
    }
}
