/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The external-attacher as a component, and the common part of attaching and detaching. A queue of
 * VolumeAttachments and one of PersistentVolumes, which lose the finalizer when their last
 * attachment is gone; a rule table decides between the trivial answer (the driver does not attach),
 * attach and detach. An update that only changes an error in the status is not queued, or the
 * sidecar's own write would defeat the back-off (EA-14). */
#include "attacher.h"

#include <string.h>

#include "models/api/migration/migration.h"
#include "models/api/secret.h"
#include "models/external-attacher/attacher-test.h"
#include "models/volume/access-mode.h"

/* ---- What attaching and detaching share ---- */

const Attachment *
attacher_find_attachment(const ExternalAttacher *self, const Plan *plan)
{
    return (const Attachment *)informer_get(self->attachments, plan_key(plan));
}

const Volume *
attacher_find_volume(const ExternalAttacher *self, const char *name)
{
    return VOLUME_CONST(informer_find(self->volumes, NULL, name));
}

const SecretReference *
attacher_secret_of(const Volume *volume)
{
    return volume_source_secret(volume->source, SECRET_CONTROLLER_PUBLISH);
}

void
plan_read_secret(const ExternalAttacher *self, Plan *plan, const Volume *volume)
{
    const SecretReference *secret = attacher_secret_of(volume);

    plan_because(plan, "EA-19.6");
    plan_get(plan, objects_key(self->base.objects, KIND_SECRET, secret->namespace, secret->name),
             PLAN_DECIDE);
}

const Volume *
attacher_volume_with_secret(const ExternalAttacher *self,
                            Plan *plan,
                            const Attachment *attachment,
                            const char **error)
{
    const Volume *volume = attacher_volume_of(self, plan, attachment, error);
    const SecretReference *secret = volume == NULL ? NULL : attacher_secret_of(volume);

    if (volume != NULL && plan_has_failed(plan))
        *error = plan_internf(plan, "failed to load secret \"%s/%s\": %s",
                              secret == NULL ? "" : secret->namespace,
                              secret == NULL ? "" : secret->name, plan_last_message(plan));
    return volume;
}

gboolean
attacher_has_secret(const Plan *plan)
{
    for (int step = plan_last_step(plan); step >= 0; step--) {
        const Object *object = plan_object(plan, step);
        if (object != NULL && object_kind(object) == KIND_SECRET)
            return SECRET(object)->n_keys > 0;
    }
    return FALSE;
}

const char *
attacher_node_id(const ExternalAttacher *self,
                 Plan *plan,
                 const char *node_name,
                 const char **error)
{
    const CsiNode *csi_node = (const CsiNode *)informer_find(self->csi_nodes, NULL, node_name);

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

/* CGO-48: the whole list from the cache; it brings back what others have taken off since. */
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

/* A failure, as the status of an attachment tells it. */
typedef struct {
    gboolean is_detach;
    VolumeError error;
} ErrorPatch;

static gboolean
set_error(Object *object, const void *data)
{
    const ErrorPatch *patch = data;

    if (patch->is_detach)
        ATTACHMENT(object)->detach_error = patch->error;
    else
        ATTACHMENT(object)->attach_error = patch->error;
    return TRUE;
}

void
plan_attachment_failed(Plan *plan, gboolean is_detach, const char *error, CsiCode code)
{
    ErrorPatch *patch = plan_new_arg(plan, ErrorPatch);

    *patch = (ErrorPatch){
        is_detach, {.message = error, .at = plan_now(plan), .code = (int32_t)code}
    };
    plan_because(plan, is_detach ? "EA-24" : "EA-22");
    plan_patch_status(plan, plan_key(plan), set_error, patch, PLAN_GO_ON);
    plan_fail(plan, "%s", error);
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

/* Facts of an attachment. */
enum {
    OURS = 1 << 0,     /* it is there, and of this driver */
    ATTACHES = 1 << 1, /* the driver does; else the trivial handler works (EA-11) */
    GOING = 1 << 2,    /* it has a deletionTimestamp */
    ATTACHED = 1 << 3, /* so its status says */
    HELD = 1 << 4,     /* by our finalizer */
    FORCED = 1 << 5,   /* the driver's list says otherwise (EA-25) */
    ATTACHMENT_FACTS_END = 1 << 6,
};

enum {
    LEAVE,
    SAY_ATTACHED,
    ATTACH,
    DETACH,
};

/* syncVA(), and the handlers that it calls. Columns: all of these hold, none of these, then, and
 * one of these. */
static const Rule attachment_table[] = {
    {"EA-17", 0,    OURS,                                  LEAVE       },
    {"EA-30", OURS, ATTACHES | GOING | ATTACHED,           SAY_ATTACHED},
    {"EA-30", OURS, ATTACHES,                              LEAVE,        GOING | ATTACHED},
    {"EA-18",       OURS | ATTACHES | ATTACHED,     GOING | FORCED,          LEAVE   },
    {"EA-19.1",       OURS | ATTACHES,   GOING | ATTACHED,                   ATTACH         },
    {"EA-25",       OURS | ATTACHES | ATTACHED | FORCED,     GOING, ATTACH},
    {"EA-23.1",       OURS | ATTACHES | GOING,   HELD | FORCED,           LEAVE             },
    {"EA-23.2",       OURS | ATTACHES | GOING | HELD,   0,    DETACH},
    {"EA-25",       OURS | ATTACHES | GOING | FORCED,     HELD,    DETACH        },
};
static const RuleTable attachment_rules =
    RULE_TABLE("attachments", ATTACHMENT_FACTS_END, attachment_table);

static uint32_t
attachment_facts(const ExternalAttacher *self, const Attachment *attachment)
{
    uint32_t facts = self->attaches ? ATTACHES : 0;

    if (attachment == NULL || attachment->attacher != self->base.driver_name)
        return facts;
    facts |= OURS;
    facts |= object_is_deleted(&attachment->meta) ? GOING : 0;
    facts |= attachment->attached ? ATTACHED : 0;
    facts |= object_has_finalizer(&attachment->meta, self->finalizer) ? HELD : 0;
    if (self->reconciler != NULL && g_hash_table_contains(self->forced, attachment->meta.key))
        facts |= FORCED;
    return facts;
}

static void
decide_attachment(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Attachment *attachment = attacher_find_attachment(self, plan);
    uint32_t facts = attachment_facts(self, attachment);

    plan_because(plan, "EA-17");
    if (facts & FORCED)
        plan_forget(plan, self->forced, plan_key(plan));
    switch (plan_judge(plan, &attachment_rules, facts)) {
    case LEAVE:
        return;
    case SAY_ATTACHED:
        plan_patch_status(plan, plan_key(plan), set_attached_trivially, NULL, PLAN_STOP);
        return;
    case ATTACH:
        plan_attach(self, plan, attachment);
        return;
    case DETACH:
        plan_detach(self, plan, attachment);
        return;
    }
    g_assert_not_reached();
}

/* EA-14: our own writing of an error must not defeat the back-off. */
static gboolean
is_only_an_error(const Attachment *before, const Attachment *after)
{
    if (after->attach_error.message == NULL && after->detach_error.message == NULL &&
        before->attach_error.message == NULL && before->detach_error.message == NULL)
        return FALSE;
    Attachment copy = *after; /* only compared: the references stay the original's */
    copy.attach_error = before->attach_error;
    copy.detach_error = before->detach_error;
    return object_equal(&before->meta, &copy.meta);
}

gboolean
attacher_queues_change(const Attachment *before, const Attachment *after)
{
    return before == NULL || before->meta.resource_version == after->meta.resource_version ||
           !is_only_an_error(before, after);
}

/* EA-13, EA-14, EA-15 */
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
    if (attacher_queues_change((const Attachment *)before, attachment))
        workers_add(self->attachment_workers, after->key);
}

/* ---- Volumes ---- */

/* Whether the driver has attached the volume once, but no longer does: it attaches a volume of an
 * in-tree plugin while an annotation says so. */
static gboolean
is_rolled_back(const Volume *volume)
{
    const InTreePlugin *plugin = volume->source == NULL ? NULL : volume->source->in_tree;

    return plugin != NULL && g_strcmp0(object_annotation(&volume->meta, ANNOTATION_MIGRATED_TO),
                                       in_tree_plugin_driver(plugin)) != 0;
}

gboolean
attacher_volume_has_work(const Object *volume, const char *finalizer)
{
    return (object_is_deleted(volume) || is_rolled_back(VOLUME_CONST(volume))) &&
           object_has_finalizer(volume, finalizer);
}

static void
external_attacher_decide_volume(const void *data, Plan *plan)
{
    const ExternalAttacher *self = data;
    const Object *volume = informer_get(self->volumes, plan_key(plan));
    unsigned n_attachments = 0;

    plan_because(plan, "EA-28");
    if (volume == NULL || !attacher_volume_has_work(volume, self->finalizer))
        return;
    informer_index_get(self->attachments_by_volume, object_name(volume), &n_attachments);
    if (n_attachments == 0) /* else the deletion of the last attachment queues the volume again */
        plan_patch(plan, plan_key(plan), metadata_patch_apply,
                   metadata_patch_new(plan, volume, self->finalizer, FALSE), PLAN_STOP);
}

/* EA-16 */
static gboolean
volume_has_work(const void *data, const Object *volume)
{
    return attacher_volume_has_work(volume, ((const ExternalAttacher *)data)->finalizer);
}

/* ---- Start and end ---- */

/* EA-7: a character that names do not allow becomes '-', and at the end '-X'. */
char *
attacher_sanitize(const char *driver)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (const char *at = driver; *at != '\0'; at++)
        g_string_append_c(text, g_ascii_isalnum(*at) ? *at : '-');
    if (text->len > 0 && text->str[text->len - 1] == '-')
        g_string_append_c(text, 'X');
    return g_string_free(g_steal_pointer(&text), FALSE);
}

char *
attacher_finalizer(const char *driver)
{
    g_autofree char *name = attacher_sanitize(driver);

    return g_strconcat("external-attacher/", name, NULL);
}

static const char *
make_finalizer(const ExternalAttacher *self)
{
    g_autofree char *text = attacher_finalizer(self->base.driver_name);

    return strings_intern(self->base.strings, text);
}

/* The driver's capabilities are known, and the informers are synced. */
static void
start_working(void *data)
{
    ExternalAttacher *self = data;
    CsiControllerCapabilities capabilities = sidecar_controller_capabilities(self->sidecar);

    self->attaches = sidecar_offers(self->sidecar, CSI_USE_ATTACH);
    self->passes_read_only = (capabilities & CSI_CONTROLLER_PUBLISH_READONLY) != 0;
    self->multi_writer = (capabilities & CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER) != 0;
    component_start(&self->base);
}

static gboolean
compares(const void *data)
{
    return sidecar_offers(((const ExternalAttacher *)data)->sidecar, CSI_USE_COMPARE);
}

static void
external_attacher_init(void *data)
{
    ExternalAttacher *self = data;

    self->tells_codes = process_gate(&external_attacher_process, self->options->feature_gates,
                                     "MutableCSINodeAllocatableCount");
    self->marks_first = !sidecar_is_since(&self->options->common, 4, 9, TRUE);
    self->finalizer = make_finalizer(self);
    self->sidecar = sidecar_new(&(SidecarOptions){
        .component = &self->base,
        .n_sync_polls = 1, /* TIM-91 */
        .ready = start_working,
    });
}

#define SELF ExternalAttacher
static const ComponentPart parts[] = {
    HAS_OPTIONS(options),
    HAS_TEXT(node_id_key, ANNOTATION_NODE_ID),
    HAS_STATE(sidecar, NULL, sidecar_free),
    HAS_TABLE(published, string_list_unref),
    HAS_TABLE(forced, NULL),
    HAS_INFORMER(csi_nodes, KIND_CSI_NODE),
    HAS_INFORMER(volumes, KIND_VOLUME),
    HAS_INFORMER(attachments,
                 KIND_ATTACHMENT,
                 WITH_INDEX(attachments_by_volume, index_attachments_by_volume),
                 .changed = attachment_changed),
    HAS_INFORMER(volumes, KIND_VOLUME, WAKES_IF(volume_workers, volume_has_work)),
    HAS_WORKERS(attachment_workers, "csi-attacher-va", decide_attachment, SIDECAR_WORKERS),
    HAS_WORKERS(
        volume_workers, "csi-attacher-pv", external_attacher_decide_volume, SIDECAR_WORKERS),
    PARTS_IF(compares), /* TIM-59 */
    HAS_TICKER(reconciler,
               "external-attacher/reconcile",
               reconciler_pass,
               .period_flag = offsetof(ExternalAttacherOptions, reconcile_sync),
               .is_awake = TRUE),
};

#define AT(member) offsetof(ExternalAttacherOptions, member)

G_STATIC_ASSERT(offsetof(ExternalAttacherOptions, common) == 0); /* SIDECAR_FLAGS */
static const ProcessFlag flags[] = {
    SIDECAR_FLAGS("worker-threads",
                  "10",
                  "Attachments, and volumes, processed at once (EA-1)",
                  "15s",
                  "Deadline of a call of the driver (EA-3)"),
    {"default-fstype", FLAG_STRING,   AT(default_fstype), "",
       "File system when the volume names none"                                                                   },
    {"reconcile-sync", FLAG_DURATION, AT(reconcile_sync), "1m",
       "Time between two comparisons with ListVolumes (EA-25)"                                                    },
    {"resync",         FLAG_DURATION, AT(resync),         "10m", "Time between two checks of all objects (EA-4)"},
    {"max-entries",    FLAG_INT,      AT(max_entries),    "0",   "Page size of ListVolumes; 0: all"             },
    {"feature-gates",  FLAG_STRING,   AT(feature_gates),  "",
       "MutableCSINodeAllocatableCount: errors tell the code of the call (EA-40)"                                 },
    SIDECAR_ELECTION_FLAGS(ExternalAttacherOptions),
    {NULL,             FLAG_BOOL,     0,                  NULL,  NULL                                           },
};

static const ProcessGate gates[] = {
    {"MutableCSINodeAllocatableCount", TRUE },
    {NULL,                             FALSE},
};

static const ProcessElection election = {
    .offset = offsetof(ExternalAttacherOptions, election),
    .lock = "external-attacher-leader-", /* EA-5 */
    .has_host_name = TRUE,
};

const ProcessClass external_attacher_process = {
    SIDECAR_PROCESS("external-attacher", ExternalAttacherOptions, flags, election), .gates = gates,
    .startup = offsetof(
        Timing, sidecar_start), /* TIM-91: to the first Probe; answers and one sync poll follow */
};

const ModelClass external_attacher_class = {
    SIDECAR_MODEL("external-attacher", external_attacher_process),
    .rule_tables = RULE_TABLES(&attachment_rules, &attacher_attach_rules, &access_mode_rules),
    PARTS(parts),
    .init = external_attacher_init,
    .apply_change = reconciler_apply,
};
