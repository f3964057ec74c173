/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provision() of external-provisioner after CreateVolume: from the driver's answer to the
 * PersistentVolume. The code of an error decides how the attempt ends: in the background (the call
 * may still succeed), with a new choice of node, or for good. A volume that is smaller than asked
 * for, or lacks its source, is deleted again, with up to five tries (PROV-24). */
#include "attempt.h"

#define CLEAN_UPS_MAX 5 /* PROV-24 */

/* PROV-23: checkError() of external-provisioner's controller.go. All others are final. */
static const ProvisionState code_states[CSI_N_CODES] = {
    [CSI_CANCELLED] = PROVISION_BACKGROUND,          [CSI_DEADLINE_EXCEEDED] = PROVISION_BACKGROUND,
    [CSI_UNAVAILABLE] = PROVISION_BACKGROUND,        [CSI_ABORTED] = PROVISION_BACKGROUND,
    [CSI_RESOURCE_EXHAUSTED] = PROVISION_RESCHEDULE,
};

/* ---- The volume ---- */

static VolumeSource *
make_source(const ExternalProvisioner *self,
            const Plan *plan,
            const ProvisionAttempt *attempt,
            const CsiResponse *response)
{
    const Claim *claim = attempt->claim;
    VolumeSource source = {
        .plugin = strings_intern(self->base.strings, "csi"),
        .driver = self->base.driver_name,
        .handle = response->volume_id,
        .fs_type = claim->volume_mode == VOLUME_BLOCK ? NULL : attempt->class->fs_type,
        .attributes = string_map_with(response->volume_context, self->identity_key, self->identity),
        .read_only =
            self->options->controller_publish_readonly && claim->access_modes == ACCESS_ROX,
    };

    if (attempt->class->names_secrets) {
        SecretReference references[N_VOLUME_SECRETS] = {{0}};
        /* No error here: they were checked before the call. */
        g_free(provision_resolve_volume_secrets(self, plan, claim, attempt->class, references));
        source.secrets = volume_secrets_new(references);
    }
    return volume_source_new(&source);
}

/* Notes the secret that DeleteVolume will need. Returns: (owned) */
static StringMap *
make_annotations(const ExternalProvisioner *self, const Plan *plan, const ProvisionAttempt *attempt)
{
    Strings *strings = self->base.strings;
    SecretReference secret = {0};
    g_autofree char *error = NULL;

    if (attempt->class->names_secrets)
        error = provision_resolve_secret(self, plan, attempt->claim, attempt->class,
                                         SECRET_USE_PROVISIONER, &secret);
    if (secret.name == NULL)
        return string_map_ref(self->annotations);
    g_autoptr(StringMap) with_name = string_map_with(
        self->annotations, strings_intern(strings, ANNOTATION_DELETION_SECRET), secret.name);
    return string_map_with(with_name, strings_intern(strings, ANNOTATION_DELETION_SECRET_NAMESPACE),
                           secret.namespace);
}

/* PROV-25. Returns: (owned) */
static Volume *
created_volume(const ExternalProvisioner *self,
               const Plan *plan,
               const ProvisionAttempt *attempt,
               const CsiResponse *response)
{
    const Claim *claim = attempt->claim;
    const StorageClass *class = attempt->class->class;
    Volume *volume = VOLUME(object_new(plan_key(plan)));

    volume->meta.annotations = make_annotations(self, plan, attempt);
    if (self->keeps_volumes)
        volume->meta.finalizers = string_list_ref(self->finalizers);
    volume->mount_options = string_list_ref(class->mount_options);
    volume->class_name = object_name(&class->meta);
    volume->capacity_bytes =
        response->capacity_bytes > 0 ? response->capacity_bytes : claim->request_bytes;
    volume->source = make_source(self, plan, attempt, response);
    if (self->has_topology && response->n_accessible_topology > 0)
        volume->node_affinity = node_selector_from_segments(response->accessible_topology,
                                                            response->n_accessible_topology);
    volume->claim_ref =
        (ClaimReference){claim->meta.key, claim->meta.uid, claim->meta.resource_version};
    volume->access_modes = claim->access_modes;
    volume->volume_mode = claim->volume_mode;
    volume->attributes_class = provision_attributes_class(self, claim);
    volume->reclaim_policy = class->reclaim_policy;
    return volume;
}

/* ---- The answer ---- */

/* PROV-24: the volume is deleted again, at once and with a few tries. */
static void decide_cleaned_up(const void *data, Plan *plan);

static void
clean_up(const ExternalProvisioner *self, Plan *plan, const char *volume_id, SimTime until)
{
    CsiRequest request = {.method = CSI_DELETE_VOLUME,
                          .timeout_ns = until - plan_now(plan),
                          .volume_id = volume_id,
                          .has_secrets = provisioner_attempt(self, plan)->has_secret};

    plan_because(plan, "PROV-24");
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_cleaned_up);
}

static void
decide_cleaned_up(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));
    const char *error = attempt->failure;

    plan_because(plan, "PROV-24");
    if (response->code != CSI_OK && attempt->n_clean_ups + 1 < CLEAN_UPS_MAX &&
        plan_now(plan) < attempt->clean_up_until) {
        provisioner_change_key(plan, CHANGE_CLEANED_UP);
        clean_up(self, plan, attempt->volume_id, attempt->clean_up_until);
        return;
    }
    if (response->code != CSI_OK)
        error =
            plan_internf(plan, "%s. Cleanup of volume %s failed, volume is orphaned: %s", error,
                         plan_key(plan)->name, csi_response_error(response, self->base.strings));
    provision_failed(self, plan, attempt->claim, PROVISION_BACKGROUND, error);
}

/* PROV-24. Returns: (borrowed): why the volume is not as asked for; NULL: it is */
static const char *
check_response(Plan *plan, const ProvisionAttempt *attempt, const CsiResponse *response)
{
    if (response->capacity_bytes > 0 && response->capacity_bytes < attempt->claim->request_bytes)
        return plan_internf(plan,
                            "created volume capacity %" G_GINT64_FORMAT
                            " less than requested capacity %" G_GINT64_FORMAT,
                            response->capacity_bytes, attempt->claim->request_bytes);
    if (attempt->source_kind != CSI_SOURCE_NONE && response->source_kind == CSI_SOURCE_NONE)
        return "volume content source missing";
    return NULL;
}

static void
created_wrongly(const ExternalProvisioner *self,
                Plan *plan,
                const CsiResponse *response,
                const char *error)
{
    SimTime until = plan_now(plan) + self->options->common.timeout;
    PlanChange change = {.what = CHANGE_CLEAN_UP,
                         .key = plan_key(plan),
                         .text = response->volume_id,
                         .pointer = strings_intern(self->base.strings, error),
                         .number = until};

    plan_change(plan, &change);
    clean_up(self, plan, response->volume_id, until);
}

/* PROV-47: isInfeasibleError() of the library. */
static void
tell_infeasible(const ExternalProvisioner *self,
                Plan *plan,
                const ProvisionAttempt *attempt,
                const char *error)
{
    PlanChange failed = {
        .what = CHANGE_FAILED, .key = plan_key(plan), .number = PROVISION_FINISHED};

    plan_because(plan, "PROV-47");
    plan_change(plan, &failed);
    plan_change(plan, &(PlanChange){.what = CHANGE_INFEASIBLE,
                                    .key = plan_key(plan),
                                    .object = &attempt->class->class->meta});
    plan_event(plan, &attempt->claim->meta, "Warning", "ProvisioningFailed",
               "Volume provisioning failed with infeasible error. Retries will be delayed. %s",
               error);
    attempt_fail(self, plan, attempt->claim, PROVISION_FINISHED, error);
}

void
provision_decide_created(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    ProvisionState state =
        response->code == CSI_OK ? PROVISION_FINISHED : code_states[response->code];

    if (self->places != NULL && state != PROVISION_BACKGROUND)
        provisioner_change_key(plan, CHANGE_PLACE);
    if (response->code != CSI_OK) {
        if (state == PROVISION_RESCHEDULE &&
            (!self->has_topology || !is_set(claim_selected_node(attempt->claim))))
            state = PROVISION_FINISHED;
        const char *why = csi_response_error(response, self->base.strings);
        if (response->code == CSI_INVALID_ARGUMENT && self->infeasible != NULL)
            tell_infeasible(self, plan, attempt, why);
        else
            provision_failed(self, plan, attempt->claim, state, why);
        return;
    }
    const char *error = check_response(plan, attempt, response);
    if (error != NULL) {
        created_wrongly(self, plan, response, error);
        return;
    }
    Volume *volume = provisioner_migrate_volume(
        self, attempt->class, created_volume(self, plan, attempt, response), &error);
    if (error != NULL) { /* MIG-72 */
        object_unref(&volume->meta);
        created_wrongly(self, plan, response, error);
        return;
    }
    attempt_save(plan, volume);
}
