/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "provisioner.h"

#include <string.h>

#define CAPABILITIES_MAX 4 /* one for each access mode */

/* What a failed attempt leaves behind (PROV-15). */
typedef enum {
    FINISHED,   /* surely nothing: the claim may be forgotten */
    BACKGROUND, /* perhaps a volume in the making: go on, even if the claim goes */
    NO_CHANGE,  /* the back end was not asked */
    RESCHEDULE, /* nothing, and on this node it will stay so */
} ProvisionState;

/* PROV-23: checkError() of external-provisioner's controller.go. All others are final. */
static const ProvisionState code_states[CSI_N_CODES] = {
    [CSI_CANCELLED] = BACKGROUND,          [CSI_DEADLINE_EXCEEDED] = BACKGROUND,
    [CSI_UNAVAILABLE] = BACKGROUND,        [CSI_ABORTED] = BACKGROUND,
    [CSI_RESOURCE_EXHAUSTED] = RESCHEDULE,
};

/* PROV-27: columns: the claim's mode, the driver's without and with SINGLE_NODE_MULTI_WRITER. */
static const struct {
    AccessModes mode;
    CsiAccessMode plain, multi_writer;
} access_modes[CAPABILITIES_MAX] = {
    {ACCESS_RWO,  CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_MULTI_WRITER },
    {ACCESS_ROX,  CSI_MULTI_NODE_READER_ONLY,  CSI_MULTI_NODE_READER_ONLY   },
    {ACCESS_RWX,  CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
    {ACCESS_RWOP, CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_SINGLE_WRITER},
};

/* ---- Which claims ---- */

static const char *
claim_provisioner(const Claim *claim)
{
    const char *name = object_annotation(&claim->meta, ANNOTATION_STORAGE_PROVISIONER);

    return name != NULL ? name
                        : object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_PROVISIONER);
}

gboolean
provisioner_owns_claim(const ExternalProvisioner *self, const Claim *claim)
{
    return claim->meta.annotations != NULL && claim_provisioner(claim) == self->base.driver_name;
}

/* NULL or "": no node. */
static const char *
selected_node(const Claim *claim)
{
    const char *node = object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE);

    return node != NULL ? node : object_annotation(&claim->meta, PROVISIONER_NODE_KEY);
}

static gboolean
is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* The claim as the informer, or an own later write, has it. NULL: gone, or another of the same name. */
static const Claim *
cached_claim(const ExternalProvisioner *self, const ObjectKey *volume)
{
    const ObjectKey *key =
        volume->slot < self->claim_keys->len ? self->claim_keys->pdata[volume->slot] : NULL;

    if (key == NULL || g_array_index(self->claim_records, ClaimRecord, key->slot).volume != volume)
        return NULL;
    const Object *claim = informer_get(self->claims, key);
    const Object *newer = g_hash_table_lookup(self->overwritten, key);
    if (claim != NULL && newer != NULL)
        claim = newer;
    ObjectUid uid = g_array_index(self->claim_records, ClaimRecord, key->slot).uid;
    return claim != NULL && object_uid_equal(claim->uid, uid) ? CLAIM_CONST(claim) : NULL;
}

/* PROV-11 */
static const Claim *
find_claim(const ExternalProvisioner *self, const ObjectKey *volume)
{
    const Claim *claim = cached_claim(self, volume);

    return claim != NULL ? claim : g_hash_table_lookup(self->in_progress, volume);
}

/* ---- How an attempt ends ---- */

static void
change_key(Plan *plan, ProvisionerChange what)
{
    PlanChange change = {.what = what, .key = plan_key(plan)};

    plan_change(plan, &change);
}

static void
change_object(Plan *plan, ProvisionerChange what, const Object *object)
{
    PlanChange change = {.what = what, .key = plan_key(plan), .object = object};

    plan_change(plan, &change);
}

/* PROV-12: no error: the claim is no more in progress. */
static void
finish(const ExternalProvisioner *self, Plan *plan)
{
    if (g_hash_table_contains(self->in_progress, plan_key(plan)))
        change_key(plan, CHANGE_FINISHED);
}

static void
fail(const ExternalProvisioner *self,
     Plan *plan,
     const Claim *claim,
     ProvisionState state,
     const char *error)
{
    if (state == BACKGROUND)
        change_object(plan, CHANGE_IN_PROGRESS, &claim->meta);
    else if (state == FINISHED)
        finish(self, plan);
    plan_fail(plan, "%s", error);
}

static const Attempt *
attempt_of(const ExternalProvisioner *self, const Plan *plan)
{
    return g_hash_table_lookup(self->attempts, plan_key(plan));
}

static void
decide_rescheduled(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    int step = plan_last_step(plan);

    plan_because(plan, "PROV-17");
    if (plan_code(plan, step) != API_OK) {
        fail(self, plan, attempt_of(self, plan)->claim, FINISHED, plan_message(plan, step));
        return;
    }
    plan_change_result(plan, CHANGE_OVERWRITE, step);
    finish(self, plan);
}

static gboolean
remove_selected_node(Object *object, const void *arg)
{
    gboolean changed = object_set_annotation(object, ANNOTATION_SELECTED_NODE, NULL);

    (void)arg;
    return object_set_annotation(object, PROVISIONER_NODE_KEY, NULL) || changed;
}

/* PROV-17: gives the node up, so that the scheduler chooses again. */
static void
reschedule(const ExternalProvisioner *self, Plan *plan, const Claim *claim, const char *error)
{
    if (selected_node(claim) == NULL) {
        fail(self, plan, claim, FINISHED, error);
        return;
    }
    plan_update(plan, &claim->meta, remove_selected_node, NULL, PLAN_DECIDE);
    plan_then(plan, decide_rescheduled);
}

static void
provision_failed(const ExternalProvisioner *self,
                 Plan *plan,
                 const Claim *claim,
                 ProvisionState state,
                 const char *error)
{
    plan_because(plan, "PROV-17");
    plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed",
               "failed to provision volume with StorageClass \"%s\": %s", claim_class(claim),
               error);
    if (state == RESCHEDULE)
        reschedule(self, plan, claim, error);
    else
        fail(self, plan, claim, state, error);
}

/* ---- The volume ---- */

static void
decide_saved(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    ApiCode code = plan_code(plan, plan_last_step(plan));
    const Claim *claim = cached_claim(self, plan_key(plan));

    plan_because(plan, "PROV-18");
    if (code != API_OK && code != API_EXISTS)
        change_key(plan, CHANGE_UNSAVED);
    else if (claim != NULL)
        plan_event(plan, &claim->meta, "Normal", "ProvisioningSucceeded",
                   "Successfully provisioned volume %s", plan_key(plan)->name);
    finish(self, plan);
}

static VolumeSource *
make_source(const ExternalProvisioner *self, const Attempt *attempt, const CsiResponse *response)
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

    return volume_source_new(&source);
}

/* No model reads mount options, so they stand in the manifest only. Returns: (owned): NULL: none */
static json_t *
make_manifest(const StorageClass *class)
{
    if (class->mount_options == NULL)
        return NULL;

    json_t *options = json_array();
    for (unsigned i = 0; i < class->mount_options->n_items; i++)
        json_array_append_new(options, json_string(class->mount_options->items[i]));
    return json_pack("{s:{s:o}}", "spec", "mountOptions", options);
}

/* PROV-25. Returns: (owned) */
static Volume *
make_volume(const ExternalProvisioner *self,
            const Attempt *attempt,
            const CsiResponse *response,
            ObjectKey *key)
{
    const Claim *claim = attempt->claim;
    const StorageClass *class = attempt->class->class;
    Volume *volume = VOLUME(object_new(key));

    volume->meta.annotations = string_map_ref(self->annotations);
    if (self->keeps_volumes)
        volume->meta.finalizers = string_list_ref(self->finalizers);
    volume->meta.manifest = make_manifest(class);
    volume->class_name = object_name(&class->meta);
    volume->capacity_bytes =
        response->capacity_bytes > 0 ? response->capacity_bytes : claim->request_bytes;
    volume->source = make_source(self, attempt, response);
    if (self->has_topology && response->n_accessible_topology > 0)
        volume->node_affinity = node_selector_from_segments(response->accessible_topology,
                                                            response->n_accessible_topology);
    volume->claim_ref =
        (ClaimReference){claim->meta.key, claim->meta.uid, claim->meta.resource_version};
    volume->access_modes = claim->access_modes;
    volume->volume_mode = claim->volume_mode;
    volume->reclaim_policy = class->reclaim_policy;
    return volume;
}

static void
decide_cleaned_up(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;

    plan_because(plan, "PROV-24");
    provision_failed(self, plan, attempt_of(self, plan)->claim, BACKGROUND,
                     "created volume capacity is less than requested capacity");
}

/* PROV-24: a volume that is too small goes at once. */
static void
clean_up(const ExternalProvisioner *self, Plan *plan, const CsiResponse *response)
{
    CsiRequest request = {.method = CSI_DELETE_VOLUME,
                          .timeout_ns = self->options->timeout,
                          .volume_id = response->volume_id};

    plan_because(plan, "PROV-24");
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_cleaned_up);
}

static void
decide_created(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Attempt *attempt = attempt_of(self, plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    if (response->code != CSI_OK) {
        ProvisionState state = code_states[response->code];
        if (state == RESCHEDULE && (!self->has_topology || !is_set(selected_node(attempt->claim))))
            state = FINISHED;
        provision_failed(self, plan, attempt->claim, state,
                         csi_response_error(response, self->base.strings));
        return;
    }
    if (response->capacity_bytes > 0 && response->capacity_bytes < attempt->claim->request_bytes) {
        clean_up(self, plan, response);
        return;
    }
    Volume *volume = make_volume(self, attempt, response, plan_key(plan));
    plan_because(plan, "PROV-14.7");
    change_object(plan, CHANGE_SAVING, &volume->meta);
    plan_create(plan, &volume->meta, PLAN_DECIDE);
    plan_then(plan, decide_saved);
}

/* ---- The request ---- */

static void *
alloc_in_plan(void *plan, size_t size)
{
    return plan_alloc(plan, size);
}

static const Object *
cached_by_name(const ExternalProvisioner *self,
               Informer *informer,
               ObjectKind kind,
               const char *name)
{
    const ObjectKey *key = objects_find_key(self->base.objects, kind, NULL, name);

    return key == NULL ? NULL : informer_get(informer, key);
}

/* PROV-20.8. Returns: (borrowed): an error, or NULL */
static const char *
require_topology(const ExternalProvisioner *self,
                 Plan *plan,
                 const Claim *claim,
                 const ClassInfo *class,
                 CsiRequest *request)
{
    const char *node = is_set(selected_node(claim)) ? selected_node(claim) : NULL;
    TopologyRequirement requirement;
    TopologyQuery query = {
        .cluster = &self->topology,
        .allowed = &class->allowed,
        .claim_name = object_name(&claim->meta),
        .node_name = node,
        .node = node == NULL ? NULL : NODE(cached_by_name(self, self->nodes, KIND_NODE, node)),
        .csi_node = node == NULL
                        ? NULL
                        : CSI_NODE(cached_by_name(self, self->csi_nodes, KIND_CSI_NODE, node)),
        .strict = self->options->strict_topology,
        .immediate = self->options->immediate_topology,
    };
    g_autofree char *error = topology_require(&query, &requirement, alloc_in_plan, plan);

    plan_because(plan, requirement.rule);
    if (error != NULL)
        return plan_internf(plan, "error generating accessibility requirements: %s", error);
    request->requisite = requirement.requisite;
    request->preferred = requirement.preferred;
    request->n_requisite = request->n_preferred = requirement.n;
    return NULL;
}

/* PROV-20.3, PROV-20.4: where the data is to come from. What makes a source ready comes with the snapshot controllers; until
 * then it never is. */
static const char *
check_source(const ExternalProvisioner *self, Plan *plan, const Claim *claim, ProvisionState *state)
{
    gboolean snapshot = g_strcmp0(claim->data_source.kind, "VolumeSnapshot") == 0;
    CsiControllerCapabilities needed =
        snapshot ? CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT : CSI_CONTROLLER_CLONE_VOLUME;

    *state = FINISHED;
    if ((sidecar_controller_capabilities(self->sidecar) & needed) == 0)
        return snapshot ? "CSI driver does not support snapshot restore: controller "
                          "CREATE_DELETE_SNAPSHOT capability is not reported"
                        : "CSI driver does not support clone operations: controller CLONE_VOLUME "
                          "capability is not reported";
    *state = NO_CHANGE;
    return snapshot ? plan_internf(plan,
                                   "error getting handle for DataSource Type VolumeSnapshot by "
                                   "Name %s: snapshot %s not bound",
                                   claim->data_source.name, claim->data_source.name)
                    : plan_internf(plan,
                                   "error getting handle for DataSource Type PersistentVolumeClaim "
                                   "by Name %s: claim in dataSource not bound or invalid",
                                   claim->data_source.name);
}

/* PROV-20. Returns: (borrowed): why there can be no request, and in @state what that leaves; NULL: there can */
static const char *
check_claim(const ExternalProvisioner *self,
            Plan *plan,
            const Claim *claim,
            const ClassInfo *class,
            ProvisionState *state)
{
    CsiControllerCapabilities capabilities = sidecar_controller_capabilities(self->sidecar);

    *state = FINISHED;
    if ((capabilities & CSI_CONTROLLER_CREATE_DELETE_VOLUME) == 0)
        return "CSI driver does not support dynamic provisioning: controller CREATE_DELETE_VOLUME "
               "capability is not reported";
    if (claim->selector != NULL)
        return "claim Selector is not supported";
    if (claim->data_source.kind != NULL)
        return check_source(self, plan, claim, state);
    return class->parameter_error;
}

static const CsiCapability *
make_capabilities(const ExternalProvisioner *self,
                  const Claim *claim,
                  const ClassInfo *class,
                  CsiCapability *capabilities,
                  unsigned *n)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(access_modes); i++) {
        if ((claim->access_modes & access_modes[i].mode) == 0)
            continue;
        CsiCapability *capability = &capabilities[(*n)++];
        *capability = (CsiCapability){.mode = self->multi_writer ? access_modes[i].multi_writer
                                                                 : access_modes[i].plain};
        if (claim->volume_mode == VOLUME_BLOCK) {
            capability->type = CSI_ACCESS_BLOCK;
            continue;
        }
        capability->fs_type = class->fs_type;
        capability->mount_flags = class->class->mount_options;
    }
    return capabilities;
}

/* PROV-21. Returns: (owned): with what --extra-create-metadata adds */
static StringMap *
make_parameters(const ExternalProvisioner *self,
                const Claim *claim,
                const ClassInfo *class,
                const char *volume_name)
{
    if (!self->options->extra_create_metadata)
        return string_map_ref(class->parameters);

    Strings *strings = self->base.strings;
    g_autoptr(StringMap) with_claim =
        string_map_with(class->parameters, strings_intern(strings, "csi.storage.k8s.io/pvc/name"),
                        object_name(&claim->meta));
    g_autoptr(StringMap) with_namespace =
        string_map_with(with_claim, strings_intern(strings, "csi.storage.k8s.io/pvc/namespace"),
                        claim->meta.key->namespace);
    return string_map_with(with_namespace, strings_intern(strings, "csi.storage.k8s.io/pv/name"),
                           volume_name);
}

/* PROV-14.5: CreateVolume, at once: no token is needed (PROV-42). */
static void
provision(const ExternalProvisioner *self, Plan *plan, const Claim *claim, const ClassInfo *class)
{
    CsiCapability capabilities[CAPABILITIES_MAX];
    g_autoptr(StringMap) parameters = make_parameters(self, claim, class, plan_key(plan)->name);
    CsiRequest request = {
        .method = CSI_CREATE_VOLUME,
        .timeout_ns = self->options->timeout,
        .name = plan_key(plan)->name,
        .required_bytes = claim->request_bytes,
        .parameters = parameters,
        .has_secrets = class->has_secrets,
    };
    ProvisionState state;

    plan_event(plan, &claim->meta, "Normal", "Provisioning",
               "External provisioner is provisioning volume for claim \"%s\"",
               claim->meta.key->text);
    const char *error = check_claim(self, plan, claim, class, &state);
    if (error == NULL && self->has_topology) {
        error = require_topology(self, plan, claim, class, &request);
        state = NO_CHANGE; /* TOPO-7 */
    }
    if (error != NULL) {
        provision_failed(self, plan, claim, state, error);
        return;
    }
    request.capabilities =
        make_capabilities(self, claim, class, capabilities, &request.n_capabilities);
    plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_created);
}

/* PROV-20.3: somebody else fills a volume from a source that is neither snapshot nor claim. */
static gboolean
is_for_populator(const DataSource *source)
{
    if (source->kind == NULL ||
        (strcmp(source->kind, "PersistentVolumeClaim") == 0 && !is_set(source->api_group)))
        return FALSE;
    return strcmp(source->kind, "VolumeSnapshot") != 0 ||
           g_strcmp0(source->api_group, "snapshot.storage.k8s.io") != 0;
}

/* ---- The operation ---- */

static void
node_is_gone(const ExternalProvisioner *self, Plan *plan, const Claim *claim)
{
    const char *error = plan_internf(plan, "node \"%s\" not found", selected_node(claim));

    plan_because(plan, "PROV-14.3");
    plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed", "%s", error);
    reschedule(self, plan, claim, error);
}

/* PROV-14.3: without topology nodes are not watched, so each attempt asks for its node. */
static void
decide_with_node(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Attempt *attempt = attempt_of(self, plan);
    int step = plan_last_step(plan);

    if (plan_code(plan, step) == API_OK) {
        plan_because(plan, "PROV-14.4");
        provision(self, plan, attempt->claim, attempt->class);
    } else if (plan_code(plan, step) == API_NOT_FOUND) {
        node_is_gone(self, plan, attempt->claim);
    } else {
        const char *error =
            plan_internf(plan, "failed to get target node: %s", plan_message(plan, step));
        plan_event(plan, &attempt->claim->meta, "Warning", "ProvisioningFailed", "%s", error);
        fail(self, plan, attempt->claim, NO_CHANGE, error);
    }
}

static void
provision_on_node(const ExternalProvisioner *self,
                  Plan *plan,
                  const Claim *claim,
                  const ClassInfo *class)
{
    const char *node = selected_node(claim);

    if (node != NULL && !self->has_topology) {
        plan_because(plan, "PROV-14.3");
        plan_get(plan, objects_key(self->base.objects, KIND_NODE, NULL, node), PLAN_DECIDE);
        plan_then(plan, decide_with_node);
    } else if (node != NULL && cached_by_name(self, self->nodes, KIND_NODE, node) == NULL) {
        node_is_gone(self, plan, claim);
    } else {
        plan_because(plan, "PROV-14.4");
        provision(self, plan, claim, class);
    }
}

/* PROV-14.1: the name looked for ignores --volume-name-prefix. */
static gboolean
is_provisioned(const ExternalProvisioner *self, const ObjectKey *volume)
{
    const ObjectKey *key = volume;

    if (strcmp(self->options->volume_name_prefix, "pvc") != 0) {
        g_autofree char *name =
            g_strconcat("pvc", volume->name + strlen(self->options->volume_name_prefix), NULL);
        key = objects_find_key(self->base.objects, KIND_VOLUME, NULL, name);
    }
    return key != NULL && informer_get(self->volumes, key) != NULL;
}

/* PROV-13: a claim that has a volume, or waits for a pod, is none of our business. */
static gboolean
should_provision(const ExternalProvisioner *self, const Claim *claim, const ClassInfo *class)
{
    if (claim_volume_name(claim)[0] != '\0' || !provisioner_owns_claim(self, claim))
        return FALSE;
    return class == NULL || class->class->binding_mode != BINDING_WAIT_FOR_FIRST_CONSUMER ||
           is_set(object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE));
}

void
decide_claim(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Claim *claim = find_claim(self, plan_key(plan));
    const ClassInfo *class =
        claim == NULL ? NULL : provisioner_class_info(self, claim_class(claim));

    if (claim == NULL)
        return; /* PROV-11 */
    if (!should_provision(self, claim, class)) {
        plan_because(plan, "PROV-13");
        finish(self, plan);
        return;
    }
    if (class == NULL) {
        plan_because(plan, "PROV-13.4");
        plan_fail(plan, "storageClass \"%s\" not found", claim_class(claim));
        return;
    }
    if (is_provisioned(self, plan_key(plan)) ||
        class->class->provisioner != self->base.driver_name) {
        plan_because(plan, "PROV-14.1");
        finish(self, plan);
        return;
    }
    if (is_for_populator(&claim->data_source)) {
        plan_because(plan, "PROV-20.3");
        plan_event(plan, &claim->meta, "Normal", "Provisioning",
                   "Assuming an external populator will provision the volume");
        finish(self, plan);
        return;
    }
    PlanChange begin = {
        .what = CHANGE_BEGIN, .key = plan_key(plan), .object = &claim->meta, .pointer = class};
    plan_change(plan, &begin);
    provision_on_node(self, plan, claim, class);
}

/* ---- Volumes that could not be stored ---- */

static void
decide_unsaved_stored(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);
    const Claim *claim = cached_claim(self, plan_key(plan));

    plan_because(plan, "PROV-18");
    if (code != API_OK && code != API_EXISTS) {
        plan_fail(plan, "%s", plan_message(plan, step));
        return;
    }
    change_key(plan, CHANGE_SAVED);
    if (claim != NULL)
        plan_event(plan, &claim->meta, "Normal", "ProvisioningSucceeded",
                   "Successfully provisioned volume %s", plan_key(plan)->name);
}

void
decide_unsaved(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Volume *volume = g_hash_table_lookup(self->unsaved, plan_key(plan));

    plan_because(plan, "PROV-18");
    if (volume == NULL)
        return;
    plan_create(plan, object_ref(&volume->meta), PLAN_DECIDE);
    plan_then(plan, decide_unsaved_stored);
}
