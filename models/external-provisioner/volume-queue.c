/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives volumes the provisioner's finalizer and deletes them at the driver (syncVolume() of
 * sig-storage-lib). A rule table decides from the owner, the reclaim policy, the phase and the
 * deletion timestamp. A volume is not deleted while a VolumeAttachment names it (PROV-34). The
 * driver is asked before the object goes, and the finalizer is taken off last, so storage is never
 * forgotten. */
#include "provisioner.h"

#include <string.h>

#include "models/api/secret.h"
#include "models/external-provisioner/provisioner-test.h"

/* Facts of a volume. */
enum {
    OURS = 1 << 0,        /* PROV-31 */
    KEEPS = 1 << 1,       /* gate HonorPVReclaimPolicy: our finalizer holds volumes */
    DELETES = 1 << 2,     /* reclaim policy Delete */
    TERMINATING = 1 << 3, /* has a deletionTimestamp */
    BOUND = 1 << 4,
    RELEASED = 1 << 5,
    HELD = 1 << 6, /* by our finalizer */
    VOLUME_FACTS_END = 1 << 7,
};

enum {
    LEAVE,
    HOLD,   /* put our finalizer on */
    LET_GO, /* take it off */
    DELETE, /* at the driver, then the object */
    LET_GO_AND_DELETE,
};

/* syncVolume() of sig-storage-lib's controller.go. Columns: all of these, none of these, then. */
static const Rule volume_table[] = {
    {"PROV-31",   0,                                              OURS,                    LEAVE            },
    {"PROV-32.1", OURS | DELETES | KEEPS | BOUND,                 TERMINATING | HELD,      HOLD             },
    {"PROV-32.1", OURS | DELETES | KEEPS | BOUND | TERMINATING,   HELD,                    LEAVE            },
    {"PROV-32.1", OURS | DELETES | KEEPS,                         BOUND | RELEASED | HELD, LEAVE            },
    {"PROV-32.1", OURS | DELETES | KEEPS | HELD,                  RELEASED,                LEAVE            },
    {"PROV-32.2", OURS | HELD,                                    DELETES,                 LET_GO           },
    {"PROV-32.2", OURS,                                           DELETES | HELD,          LEAVE            },
    {"PROV-32.3", OURS | DELETES | HELD,                          KEEPS | RELEASED,        LET_GO           },
    {"PROV-32.3", OURS | DELETES,                                 KEEPS | RELEASED | HELD, LEAVE            },
    {"PROV-32.4", OURS | DELETES | RELEASED | TERMINATING | HELD, KEEPS,                   LET_GO           },
    {"PROV-33.1", OURS | DELETES | KEEPS | RELEASED | HELD,       0,                       DELETE           },
    {"PROV-33.2", OURS | DELETES | RELEASED,                      TERMINATING | HELD,      DELETE           },
    {"PROV-33.2", OURS | DELETES | RELEASED | TERMINATING,        HELD,                    LEAVE            },
    {"PROV-33.3", OURS | DELETES | RELEASED | HELD,               KEEPS | TERMINATING,     LET_GO_AND_DELETE},
};
static const RuleBound volume_bounds[] = {
    {.given = BOUND, .none = RELEASED},
};
const RuleTable provisioner_volume_rules = RULE_TABLE(
    "volumes of the provisioner", VOLUME_FACTS_END, volume_table, RULE_BOUNDS(volume_bounds));

static uint32_t
volume_facts(const ExternalProvisioner *self, const Volume *volume)
{
    uint32_t facts = 0;

    if (volume == NULL)
        return 0;
    facts |= provisioner_owns_volume(self, volume) ? OURS : 0;
    facts |= self->keeps_volumes ? KEEPS : 0;
    facts |= volume->reclaim_policy == RECLAIM_DELETE ? DELETES : 0;
    facts |= object_is_deleted(&volume->meta) ? TERMINATING : 0;
    facts |= volume->phase == VOLUME_BOUND ? BOUND : 0;
    facts |= volume->phase == VOLUME_RELEASED ? RELEASED : 0;
    facts |= object_has_finalizer(&volume->meta, FINALIZER_PROVISIONER) ? HELD : 0;
    return facts;
}

/* PROV-31. A static volume of the driver is ours too. */
gboolean
provisioner_owns_volume(const ExternalProvisioner *self, const Volume *volume)
{
    const char *by = object_annotation(&volume->meta, ANNOTATION_PROVISIONED_BY);
    const char *driver = self->base.driver_name;

    if (by != NULL ? by == driver : volume->source != NULL && volume->source->driver == driver)
        return TRUE;
    return volume->meta.annotations != NULL &&
           object_annotation(&volume->meta, ANNOTATION_MIGRATED_TO) == driver;
}

gboolean
provisioner_has_work(const ExternalProvisioner *self, const Volume *volume)
{
    return rules_find(&provisioner_volume_rules, volume_facts(self, volume), NULL)->then != LEAVE;
}

/* After the DELETE the volume has a new version; only the cache knows whether our finalizer is left
 * (PROV-36). */
static void
decide_let_go(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Object *volume = informer_get(self->volumes, plan_key(plan));

    plan_because(plan, "PROV-36");
    if (self->keeps_volumes && volume != NULL &&
        object_has_finalizer(volume, FINALIZER_PROVISIONER))
        plan_patch(plan, plan_key(plan), edit_remove_finalizer, self->finalizer, PLAN_GONE_IS_FINE);
}

static void
delete_failed(Plan *plan, const Object *volume, const char *error)
{
    plan_because(plan, "PROV-35");
    if (volume != NULL)
        plan_event(plan, volume, "Warning", "VolumeFailedDelete", "%s", error);
    plan_fail(plan, "%s", error);
}

static void
decide_deleted(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    if (response->code != CSI_OK) {
        delete_failed(plan, informer_get(self->volumes, plan_key(plan)),
                      csi_response_error(response, self->base.strings));
        return;
    }
    plan_because(plan, "PROV-36");
    if (self->capacity != NULL && informer_get(self->volumes, plan_key(plan)) != NULL) {
        PlanChange change = {.what = CHANGE_DELETED,
                             .object = informer_get(self->volumes, plan_key(plan))};
        plan_change(plan, &change);
    }
    plan_delete(plan, plan_key(plan), (ObjectUid){0}, -1,
                PLAN_STOP); /* gone already is an error, too (PROV-45) */
    plan_then(plan, decide_let_go);
}

/* PROV-34. Returns: (borrowed): the error while the volume is attached; NULL: it is not */
static const char *
still_attached(const ExternalProvisioner *self, Plan *plan, const Volume *volume)
{
    unsigned n_attachments = 0;
    const Object *const *attachments =
        self->attachments == NULL ? NULL
                                  : informer_index_get(self->attachments_by_volume,
                                                       object_name(&volume->meta), &n_attachments);

    if (n_attachments == 0)
        return NULL;
    return plan_internf(plan, "persistentvolume %s is still attached to node %s",
                        object_name(&volume->meta),
                        ((const Attachment *)attachments[0])->node_name);
}

gboolean
provisioner_fails_again(void *data, const ObjectKey *volume)
{
    const ExternalProvisioner *self = data;
    const uint8_t *found_attached = sim_slots_find(&self->found_attached, volume->slot);
    unsigned n_attachments;

    return found_attached != NULL && *found_attached && event_recorder_is_full(self->base.events) &&
           informer_index_get(self->attachments_by_volume, volume->name, &n_attachments) != NULL;
}

/* The fact that the volume is attached is noted only where no PATCH may come before it, and where
 * nodes do not matter. */
static void
call_driver(const ExternalProvisioner *self, Plan *plan, const Volume *volume, gboolean has_secret)
{
    const char *error = still_attached(self, plan, volume);
    CsiRequest request = {
        .method = CSI_DELETE_VOLUME,
        .timeout_ns = self->options->common.timeout,
        .volume_id = volume->source->handle,
        .has_secrets = has_secret,
    };

    if (error != NULL) {
        if (self->keeps_volumes && self->own_node == NULL && plan_last_step(plan) < 0)
            plan_change(plan,
                        &(PlanChange){.what = CHANGE_FOUND_ATTACHED, .key = volume->meta.key});
        delete_failed(plan, &volume->meta, error);
        return;
    }
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_deleted);
}

/* The volume is deleted even if its secret is gone already. */
static void
volume_queue_decide_secret_read(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Volume *volume = VOLUME_CONST(informer_get(self->volumes, plan_key(plan)));
    const Secret *secret = SECRET(plan_object(plan, plan_last_step(plan)));

    plan_because(plan, "PROV-34");
    if (volume != NULL)
        call_driver(self, plan, volume, secret != NULL && secret->n_keys > 0);
}

/* Returns: (owned) (nullable): an error; NULL: @secret is set, its name NULL if the volume needs
 * none */
static char *
find_secret(const ExternalProvisioner *self, const Volume *volume, SecretReference *secret)
{
    const StringMap *annotations = volume->meta.annotations;
    const ClassInfo *class;

    *secret = (SecretReference){0};
    const char *name = string_map_get(annotations, ANNOTATION_DELETION_SECRET);
    const char *namespace = string_map_get(annotations, ANNOTATION_DELETION_SECRET_NAMESPACE);
    if (name != NULL && namespace != NULL) {
        if (name[0] != '\0' && namespace[0] != '\0')
            *secret = (SecretReference){namespace, name};
        return NULL;
    }
    if (volume_class(volume)[0] == '\0' ||
        (class = provisioner_class_info(self, volume_class(volume))) == NULL)
        return NULL;
    g_autofree char *error =
        secret_resolve(self->base.strings, SECRET_USE_PROVISIONER, class->class->parameters,
                       object_name(&volume->meta), volume->claim_ref.claim, NULL, secret);
    return error == NULL ? NULL
                         : g_strdup_printf("failed to get secretreference for volume %s: %s",
                                           object_name(&volume->meta), error);
}

void
plan_delete_volume(const ExternalProvisioner *self, Plan *plan, const Volume *volume)
{
    SecretReference secret;

    if (volume == NULL || volume->source == NULL || volume->source->handle == NULL ||
        strcmp(volume->source->plugin, "csi") != 0) {
        delete_failed(plan, volume == NULL ? NULL : &volume->meta, "invalid CSI PV");
        return;
    }
    if (!provisioner_may_delete(self, volume)) {
        plan_because(plan, "NODE-6"); /* another instance will */
        return;
    }
    g_autofree char *error = find_secret(self, volume, &secret);
    if (error != NULL) {
        delete_failed(plan, &volume->meta, plan_internf(plan, "%s", error));
    } else if (secret.name == NULL) {
        call_driver(self, plan, volume, FALSE);
    } else {
        plan_get(plan, objects_key(self->base.objects, KIND_SECRET, secret.namespace, secret.name),
                 PLAN_DECIDE);
        plan_then(plan, volume_queue_decide_secret_read);
    }
}

void
decide_volume(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Volume *volume = VOLUME_CONST(informer_get(self->volumes, plan_key(plan)));

    switch (plan_judge(plan, &provisioner_volume_rules, volume_facts(self, volume))) {
    case LEAVE:
        return;
    case HOLD:
        plan_patch(plan, plan_key(plan), edit_add_finalizer, self->finalizer, PLAN_STOP);
        return;
    case LET_GO:
        plan_patch(plan, plan_key(plan), edit_remove_finalizer, self->finalizer, PLAN_STOP);
        return;
    case LET_GO_AND_DELETE:
        plan_patch(plan, plan_key(plan), edit_remove_finalizer, self->finalizer, PLAN_STOP);
        plan_delete_volume(self, plan, volume);
        return;
    case DELETE:
        plan_delete_volume(self, plan, volume);
        return;
    }
    g_assert_not_reached();
}
