/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attaches the volume of a VolumeAttachment: csiAttach() in csi_handler.go. A rule table checks the
 * source and puts the finalizer on the volume; then come the node's ID, the secret, the
 * attachment's own finalizer and ControllerPublishVolume. All checks come before the attachment's
 * finalizer, so an attachment that fails them can be deleted at once (EA-21). An error is written
 * into the status, and the key backs off. */
#include "attacher.h"

#include "models/external-attacher/attacher-test.h"
#include "models/volume/access-mode.h"

/* ---- What is attached ---- */

/* Facts of the volume of an attachment. */
enum {
    INLINE = 1 << 0, /* it stands in the attachment itself */
    NAMED = 1 << 1,  /* the attachment names an object */
    KNOWN = 1 << 2,  /* ... which is there */
    GOING = 1 << 3,  /* ... and has a deletionTimestamp */
    HELD = 1 << 4,   /* ... and our finalizer */
    ATTACH_FACTS_END = 1 << 5,
};

enum {
    FAIL_BOTH,
    FAIL_NEITHER,
    FAIL_UNKNOWN,
    FAIL_GOING,
    HOLD, /* put our finalizer on the volume first */
    PREPARE,
};

/* csiAttach() in csi_handler.go. Columns: all of these hold, none of these, then. */
static const Rule attach_table[] = {
    {"EA-19.1", INLINE | NAMED,        0,                     FAIL_BOTH   },
    {"EA-19.1", 0,                     INLINE | NAMED,        FAIL_NEITHER},
    {"EA-19.1", NAMED,                 INLINE | KNOWN,        FAIL_UNKNOWN},
    {"EA-19.2", NAMED | KNOWN | GOING, INLINE,                FAIL_GOING  },
    {"EA-19.3", NAMED | KNOWN,         INLINE | GOING | HELD, HOLD        },
    {"EA-19.5", NAMED | KNOWN | HELD,  INLINE | GOING,        PREPARE     },
    {"EA-19.5", INLINE,                NAMED,                 PREPARE     },
};
const RuleTable attacher_attach_rules =
    RULE_TABLE("volumes to attach", ATTACH_FACTS_END, attach_table);

/* @volume: (out): NULL: there is none */
static const Rule *
rule_for(const ExternalAttacher *self, const Attachment *attachment, const Volume **volume)
{
    const Volume *named = attacher_find_volume(self, attachment->volume_name);
    uint32_t facts = 0;

    facts |= attachment->inline_volume != NULL ? INLINE : 0;
    facts |= attachment->volume_name != NULL ? NAMED : 0;
    if (named != NULL) {
        facts |= KNOWN;
        facts |= object_is_deleted(&named->meta) ? GOING : 0;
        facts |= object_has_finalizer(&named->meta, self->finalizer) ? HELD : 0;
    }
    *volume = facts & INLINE ? VOLUME_CONST(attachment->inline_volume) : named;
    return rules_find(&attacher_attach_rules, facts, NULL);
}

/* Returns: (borrowed): NULL: there is a volume */
static const char *
source_error(Plan *plan, const Rule *rule, const Attachment *attachment)
{
    switch (rule->then) {
    case FAIL_BOTH:
        return "both InlineCSIVolumeSource and PersistentVolumeName specified in VA source";
    case FAIL_NEITHER:
        return "neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source";
    case FAIL_UNKNOWN:
        return plan_internf(plan, "persistentvolume \"%s\" not found", attachment->volume_name);
    default:
        return NULL;
    }
}

const Volume *
attacher_volume_of(const ExternalAttacher *self,
                   Plan *plan,
                   const Attachment *attachment,
                   const char **error)
{
    const Volume *volume;
    const Rule *rule = rule_for(self, attachment, &volume);

    *error = source_error(plan, rule, attachment);
    return *error == NULL ? volume : NULL;
}

/* ---- What the attachment is told ---- */

static void
attach_failed(Plan *plan, const char *error)
{
    plan_attachment_failed(plan, FALSE, error, CSI_OK);
}

static gboolean
set_attached(Object *object, const void *publish_context)
{
    Attachment *attachment = ATTACHMENT(object);
    const VolumeError none = {.at = TIME_UNSET};

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
        plan_attachment_failed(plan, FALSE, csi_response_error(response, self->base.strings),
                               self->tells_codes ? response->code : CSI_OK);
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
        .mode = sidecar_access_mode(volume_access_modes(volume), self->multi_writer, error)};
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
publish(const ExternalAttacher *self, Plan *plan, const Volume *volume, const char *node_id)
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
        .timeout_ns = self->options->common.timeout,
        .volume_id = source->handle,
        .node_id = node_id,
        .capabilities = &capability,
        .n_capabilities = 1,
        .readonly = self->passes_read_only && source->read_only,
        .has_secrets = attacher_has_secret(plan),
        .volume_context = source->attributes,
    };
    plan_because(plan, "EA-19.9");
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_published);
}

/* After the patch of the attachment. */
static void
decide_publish(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Attachment *attachment = ATTACHMENT(plan_object(plan, plan_last_step(plan)));
    const char *error = NULL;

    if (plan_has_failed(plan)) {
        attach_failed(plan, plan_internf(plan, "could not save VolumeAttachment: %s",
                                         plan_last_message(plan)));
        return;
    }
    /* NULL if it was deleted within the last ms; the original still has a copy */
    const Volume *volume = attacher_volume_of(self, plan, attachment, &error);
    if (volume == NULL)
        attach_failed(plan, error);
    else
        publish(self, plan, volume, object_annotation(&attachment->meta, ANNOTATION_NODE_ID));
}

/* EA-19.7, EA-19.8: the checks come before the finalizer, so that an attachment that fails here can
 * go at once (EA-21). */
static void
prepare_with_secret(const ExternalAttacher *self,
                    Plan *plan,
                    const Attachment *attachment,
                    const Volume *volume)
{
    const char *error = NULL;
    const char *node_id = attacher_node_id(self, plan, attachment->node_name, &error);

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

static void
attach_decide_secret_read(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Attachment *attachment = attacher_find_attachment(self, plan);
    const char *error = NULL;

    if (attachment == NULL)
        return;
    const Volume *volume = attacher_volume_with_secret(self, plan, attachment, &error);
    if (error != NULL)
        attach_failed(plan, error);
    else
        prepare_with_secret(self, plan, attachment, volume);
}

/* EA-19.5, EA-19.6 */
static void
attach_prepare(const ExternalAttacher *self,
               Plan *plan,
               const Attachment *attachment,
               const Volume *volume)
{
    CsiCapability capability;
    const char *error;

    if (!attacher_capability(self, volume, &capability, &error)) {
        attach_failed(plan, error);
    } else if (attacher_secret_of(volume) != NULL) {
        plan_read_secret(self, plan, volume);
        plan_then(plan, attach_decide_secret_read);
    } else {
        prepare_with_secret(self, plan, attachment, volume);
    }
}

/* After the patch of the volume. */
static void
decide_prepare(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Attachment *attachment = attacher_find_attachment(self, plan);

    if (plan_has_failed(plan))
        attach_failed(plan, plan_internf(plan, "could not add PersistentVolume finalizer: %s",
                                         plan_last_message(plan)));
    else if (attachment == NULL)
        plan_fail(plan, "volumeattachment \"%s\" not found", plan_key(plan)->name);
    else
        attach_prepare(self, plan, attachment,
                       VOLUME_CONST(plan_object(plan, plan_last_step(plan))));
}

void
plan_attach(const ExternalAttacher *self, Plan *plan, const Attachment *attachment)
{
    const Volume *volume;
    const Rule *rule = rule_for(self, attachment, &volume);

    plan_because(plan, rule->id);
    switch (rule->then) {
    case FAIL_BOTH:
    case FAIL_NEITHER:
    case FAIL_UNKNOWN:
        attach_failed(plan, source_error(plan, rule, attachment));
        return;
    case FAIL_GOING:
        attach_failed(plan, plan_internf(plan, "PersistentVolume \"%s\" is marked for deletion",
                                         attachment->volume_name));
        return;
    case HOLD:
        plan_patch(plan, volume->meta.key, metadata_patch_apply,
                   metadata_patch_new(plan, &volume->meta, self->finalizer, TRUE), PLAN_DECIDE);
        plan_then(plan, decide_prepare);
        return;
    case PREPARE:
        attach_prepare(self, plan, attachment, volume);
        return;
    }
    g_assert_not_reached();
}
