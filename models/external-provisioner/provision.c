/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provision() of external-provisioner up to the request for CreateVolume: from a claim to the call;
 * created.c goes on with the answer. A rule table lists the obstacles; then come source, place,
 * secrets and attributes, each read only where the claim or its class asks for it. */
#include "attempt.h"

#include <string.h>

#include "models/api/secret.h"
#include "models/api/snapshot.h"

#define CAPABILITIES_MAX 4 /* one for each access mode */

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

const ProvisionAttempt *
provisioner_attempt(const ExternalProvisioner *self, const Plan *plan)
{
    return g_hash_table_lookup(self->attempts, plan_key(plan));
}

void
provision_failed(const ExternalProvisioner *self,
                 Plan *plan,
                 const Claim *claim,
                 ProvisionState state,
                 const char *error)
{
    PlanChange change = {.what = CHANGE_FAILED, .key = plan_key(plan), .number = state};

    plan_because(plan, "PROV-17");
    plan_change(plan, &change);
    if (sidecar_is_since(&self->options->common, 6, 0, FALSE)) /* SREL-14 */
        plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed", "%s", error);
    else
        plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed",
                   "failed to provision volume with StorageClass \"%s\": %s", claim_class(claim),
                   error);
    if (state == PROVISION_RESCHEDULE)
        attempt_reschedule(self, plan, claim, error);
    else
        attempt_fail(self, plan, claim, state, error);
}

/* ---- The request ---- */

char *
provision_resolve_secret(const ExternalProvisioner *self,
                         const Plan *plan,
                         const Claim *claim,
                         const ClassInfo *class,
                         SecretUse use,
                         SecretReference *reference)
{
    return secret_resolve(self->base.strings, use, class->class->parameters, plan_key(plan)->name,
                          claim->meta.key, claim->meta.annotations, reference);
}

char *
provision_resolve_volume_secrets(const ExternalProvisioner *self,
                                 const Plan *plan,
                                 const Claim *claim,
                                 const ClassInfo *class,
                                 SecretReference *references)
{
    char *error = NULL;

    for (unsigned i = 0; i < N_VOLUME_SECRETS && error == NULL; i++)
        error = provision_resolve_secret(self, plan, claim, class,
                                         SECRET_USE_CONTROLLER_PUBLISH + i, &references[i]);
    return error;
}

const char *
provision_attributes_class(const ExternalProvisioner *self, const Claim *claim)
{
    return self->attributes_classes && is_set(claim->attributes_class) ? claim->attributes_class
                                                                       : NULL;
}

static void *
alloc_in_plan(void *plan, size_t size)
{
    return plan_alloc(plan, size);
}

/* Returns: the node that the volume must reach; NULL: no node is chosen */
static const char *
provision_node_of(const Claim *claim)
{
    return is_set(claim_selected_node(claim)) ? claim_selected_node(claim) : NULL;
}

static const ClaimPlace *
remembered_place(const ExternalProvisioner *self, const Plan *plan)
{
    return self->places == NULL ? NULL : g_hash_table_lookup(self->places, plan_key(plan));
}

/* TOPO-9: from now on the place counts, whatever becomes of the node. */
static void
remember_place(const ExternalProvisioner *self, Plan *plan, const TopologyQuery *query)
{
    if (self->places != NULL && query->csi_node != NULL && query->node != NULL)
        plan_change(plan, &(PlanChange){.what = CHANGE_PLACE,
                                        .key = plan_key(plan),
                                        .object = plan_keep(plan, &query->node->meta),
                                        .pointer = plan_keep(plan, &query->csi_node->meta)});
}

/* TOPO-7; from 6.1 on (SREL-13) a node without a CSINode is given up. */
static void
place_failed(const ExternalProvisioner *self, Plan *plan, const Claim *claim, const char *error)
{
    const char *node = provision_node_of(claim);
    gboolean is_gone = node != NULL && remembered_place(self, plan) == NULL &&
                       provisioner_csi_node(self, node) == NULL &&
                       sidecar_is_since(&self->options->common, 6, 1, FALSE);

    provision_failed(self, plan, claim, is_gone ? PROVISION_RESCHEDULE : PROVISION_NO_CHANGE,
                     error);
}

/* PROV-20.8. Returns: (borrowed): an error, or NULL */
static const char *
require_topology(const ExternalProvisioner *self,
                 Plan *plan,
                 const Claim *claim,
                 const ClassInfo *class,
                 const char *node,
                 CsiRequest *request)
{
    TopologyRequirement requirement;
    const ClaimPlace *place = node == NULL ? NULL : remembered_place(self, plan);
    TopologyQuery query = {
        .cluster = &self->topology,
        .allowed = &class->allowed,
        .claim_name = object_name(&claim->meta),
        .node_name = node,
        .node = place != NULL  ? NODE(place->node)
                : node == NULL ? NULL
                               : provisioner_node(self, node),
        .csi_node = place != NULL  ? CSI_NODE(place->csi_node)
                    : node == NULL ? NULL
                                   : provisioner_csi_node(self, node),
        .strict = self->options->strict_topology,
        .immediate = self->options->immediate_topology,
        .looks_first = sidecar_is_since(&self->options->common, 6, 0, FALSE),
    };
    g_autofree char *error = topology_require(&query, &requirement, alloc_in_plan, plan);

    plan_because(plan, requirement.rule);
    if (error != NULL)
        return plan_internf(plan, "%s%s",
                            query.looks_first && requirement.is_look_up
                                ? ""
                                : "error generating accessibility requirements: ",
                            error);
    if (place == NULL)
        remember_place(self, plan, &query);
    request->requisite = requirement.requisite;
    request->preferred = requirement.preferred;
    request->n_requisite = request->n_preferred = requirement.n;
    return NULL;
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

/* PROV-21, and --extra-create-metadata. Returns: (owned) */
static StringMap *
make_parameters(const ExternalProvisioner *self,
                const Claim *claim,
                const ClassInfo *class,
                const char *volume_name)
{
    if (!self->options->extra_create_metadata)
        return string_map_ref(class->parameters);
    return sidecar_metadata_parameters(class->parameters, claim->meta.key, volume_name,
                                       self->base.strings);
}

/* PROV-20.10, PROV-21: CreateVolume. */
static void
plan_create_volume(const ExternalProvisioner *self,
                   Plan *plan,
                   const Claim *claim,
                   const ClassInfo *class,
                   CsiRequest *request)
{
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
    CsiCapability capabilities[CAPABILITIES_MAX];
    g_autoptr(StringMap) parameters = make_parameters(self, claim, class, plan_key(plan)->name);

    request->method = CSI_CREATE_VOLUME;
    request->timeout_ns = self->options->common.timeout;
    request->name = plan_key(plan)->name;
    request->required_bytes = claim->request_bytes; /* API-164: whole bytes, rounded up */
    request->parameters = parameters;
    if (attempt != NULL && attempt->claim->meta.key == claim->meta.key) {
        request->has_secrets = attempt->has_secret;
        request->source_kind = attempt->source_kind;
        request->source_id = attempt->source_id;
    }
    request->capabilities =
        make_capabilities(self, claim, class, capabilities, &request->n_capabilities);
    plan_call(plan, self->base.driver, request, PLAN_DECIDE);
    plan_then(plan, provision_decide_created);
}

gboolean
provision_prepare_capacity(const ExternalProvisioner *self,
                           Plan *plan,
                           const Claim *claim,
                           const ClassInfo *class,
                           CsiRequest *request)
{
    CsiCapability *capabilities = plan_alloc(plan, CAPABILITIES_MAX * sizeof *capabilities);

    if (self->has_topology &&
        require_topology(self, plan, claim, class, self->base.node_name, request) != NULL)
        return FALSE;
    request->method = CSI_GET_CAPACITY;
    request->timeout_ns = self->options->common.timeout;
    request->parameters = class->parameters;
    request->preferred = NULL;
    request->n_preferred = 0;
    request->capabilities =
        make_capabilities(self, claim, class, capabilities, &request->n_capabilities);
    return TRUE;
}

/* PROV-20.11: the claim's class of attributes is known. */
static void
decide_with_attributes(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
    const Claim *claim = attempt->claim;
    int step = plan_last_step(plan);
    CsiRequest request = {0};

    plan_because(plan, "PROV-20.11");
    if (plan_has_failed(plan)) {
        provision_failed(self, plan, claim, PROVISION_NO_CHANGE, plan_message(plan, step));
        return;
    }
    const AttributesClass *class = ATTRIBUTES_CLASS_CONST(plan_object(plan, step));
    if (class->driver != self->base.driver_name) {
        provision_failed(self, plan, claim, PROVISION_FINISHED,
                         plan_internf(plan,
                                      "VAC %s referenced in PVC is for driver %s which does not "
                                      "match driver name %s",
                                      claim->attributes_class, class->driver,
                                      self->base.driver_name));
        return;
    }
    const char *error = self->has_topology ? require_topology(self, plan, claim, attempt->class,
                                                              provision_node_of(claim), &request)
                                           : NULL;
    if (error != NULL) {
        place_failed(self, plan, claim, error);
        return;
    }
    request.mutable_parameters = class->parameters;
    plan_create_volume(self, plan, claim, attempt->class, &request);
}

/* The secret of CreateVolume was read, or there is none. */
static void
provision_with_secret(const ExternalProvisioner *self,
                      Plan *plan,
                      const Claim *claim,
                      const ClassInfo *class,
                      CsiRequest *request)
{
    SecretReference references[N_VOLUME_SECRETS];
    g_autofree char *error =
        class->names_secrets
            ? provision_resolve_volume_secrets(self, plan, claim, class, references)
            : NULL;

    if (error != NULL)
        provision_failed(self, plan, claim, PROVISION_NO_CHANGE, plan_internf(plan, "%s", error));
    else if (class->parameter_error != NULL)
        provision_failed(self, plan, claim, PROVISION_FINISHED, class->parameter_error);
    else if (provision_attributes_class(self, claim) != NULL) {
        plan_because(plan, "PROV-20.11");
        plan_get(plan,
                 objects_key(self->base.objects, KIND_ATTRIBUTES_CLASS, NULL,
                             provision_attributes_class(self, claim)),
                 PLAN_DECIDE);
        plan_then(plan, decide_with_attributes);
    } else
        plan_create_volume(self, plan, claim, class, request);
}

static void
decide_with_secret(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
    CsiRequest request = {0};
    const char *error = self->has_topology
                            ? require_topology(self, plan, attempt->claim, attempt->class,
                                               provision_node_of(attempt->claim), &request)
                            : NULL;

    plan_because(plan, "PROV-20.9");
    if (error != NULL)
        place_failed(self, plan, attempt->claim, error);
    else
        provision_with_secret(self, plan, attempt->claim, attempt->class, &request);
}

static void
provision_decide_secret_read(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    int step = plan_last_step(plan);

    plan_because(plan, "SEC-3");
    if (plan_code(plan, step) != API_OK) {
        const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
        SecretReference secret = {0};
        g_free(provision_resolve_secret(self, plan, attempt->claim, attempt->class,
                                        SECRET_USE_PROVISIONER,
                                        &secret)); /* it was resolved for the read */
        provision_failed(self, plan, attempt->claim, PROVISION_NO_CHANGE,
                         plan_internf(plan, "error getting secret %s in namespace %s: %s",
                                      secret.name, secret.namespace, plan_message(plan, step)));
        return;
    }
    if (SECRET(plan_object(plan, step))->n_keys > 0)
        provisioner_change_key(plan, CHANGE_SECRET);
    plan_then(plan, decide_with_secret);
}

/* PROV-20.8 and the rules after it: place, secrets, call. */
static void
plan_placed(const ExternalProvisioner *self, Plan *plan, const Claim *claim, const ClassInfo *class)
{
    CsiRequest request = {0};
    SecretReference secret = {0};
    const char *place_error =
        self->has_topology
            ? require_topology(self, plan, claim, class, provision_node_of(claim), &request)
            : NULL;
    g_autofree char *secret_error =
        place_error == NULL && class->names_secrets
            ? provision_resolve_secret(self, plan, claim, class, SECRET_USE_PROVISIONER, &secret)
            : NULL;

    if (place_error != NULL) {
        place_failed(self, plan, claim, place_error);
    } else if (secret_error != NULL) {
        provision_failed(self, plan, claim, PROVISION_NO_CHANGE,
                         plan_internf(plan, "%s", secret_error));
    } else if (secret.name == NULL) {
        provision_with_secret(self, plan, claim, class, &request);
    } else {
        plan_because(plan, "SEC-3");
        plan_get(plan, objects_key(self->base.objects, KIND_SECRET, secret.namespace, secret.name),
                 PLAN_DECIDE);
        plan_then(plan, provision_decide_secret_read);
    }
}

void
decide_placed(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);

    plan_placed(self, plan, attempt->claim, attempt->class);
}

/* ---- Whether there can be a request ---- */

/* The obstacles of a claim, and facts of its source. */
enum {
    POPULATED = 1 << 0, /* its source is neither snapshot nor claim: a populator will fill it */
    NO_CLASS = 1 << 1,
    FAR = 1 << 2,           /* its source has a namespace, and the gate is off */
    NO_CONTROLLER = 1 << 3, /* the driver lacks the service, ... */
    NO_CREATION = 1 << 4,   /* ... does not create volumes, ... */
    NO_RESTORE = 1 << 5,    /* ... takes no snapshots, and the source is one, ... */
    NO_CLONE = 1 << 6,      /* ... does not copy volumes, and the source is a claim */
    NO_CHANGE = 1 << 7,     /* ... does not change them, and the claim asks for attributes */
    SELECTS = 1 << 8,       /* the claim has a selector */
    TWO_FS_TYPES = 1 << 9,  /* the class names two file systems */
    SOURCE = 1 << 10,
    FORBIDDEN = 1 << 11,   /* its source is in another namespace, and no ReferenceGrant admits it */
    NAMELESS = 1 << 12,    /* its source has no name */
    WRONG_GROUP = 1 << 13, /* its source is a VolumeSnapshot of another API group */
    CHECK_FACTS_END = 1 << 14,
};

enum {
    FAIL_NO_CLASS,
    FAIL_FAR,
    FAIL_FORBIDDEN,
    FAIL_NAMELESS,
    FAIL_WRONG_GROUP,
    FAIL_NO_CONTROLLER,
    FAIL_NO_CREATION,
    FAIL_NO_RESTORE,
    FAIL_NO_CLONE,
    FAIL_NO_CHANGE,
    FAIL_SELECTS,
    FAIL_FS_TYPES,
    LEAVE_TO_POPULATOR,
    FIND_SOURCE,
    FIND_PLACE,
};

#define REFUSED (NO_CLASS | FAR | FORBIDDEN)
#define BARRED (REFUSED | NAMELESS | WRONG_GROUP | POPULATED)
#define UNABLE (NO_CONTROLLER | NO_CREATION | NO_RESTORE | NO_CLONE | NO_CHANGE)

/* prepareProvision() of external-provisioner's controller.go, up to the first request. Columns: all
 * of these hold, none of these, then. */
static const Rule check_table[] = {
    {"PROV-20.1",  NO_CLASS,      0,                                                 FAIL_NO_CLASS     },
    {"PROV-20.2",  FAR,           NO_CLASS,                                          FAIL_FAR          },
    {"SRC-6",      FORBIDDEN,     NO_CLASS | FAR,                                    FAIL_FORBIDDEN    },
    {"PROV-20.12", NAMELESS,      REFUSED,                                           FAIL_NAMELESS     },
    {"PROV-20.13", WRONG_GROUP,   REFUSED | NAMELESS,                                FAIL_WRONG_GROUP  },
    {"PROV-20.3",  POPULATED,     REFUSED | NAMELESS | WRONG_GROUP,                  LEAVE_TO_POPULATOR},
    {"PROV-20.4",  NO_CONTROLLER, BARRED,                                            FAIL_NO_CONTROLLER},
    {"PROV-20.4",  NO_CREATION,   BARRED | NO_CONTROLLER,                            FAIL_NO_CREATION  },
    {"PROV-20.4",  NO_RESTORE,    BARRED | NO_CONTROLLER | NO_CREATION,              FAIL_NO_RESTORE   },
    {"PROV-20.4",  NO_CLONE,      BARRED | NO_CONTROLLER | NO_CREATION,              FAIL_NO_CLONE     },
    {"PROV-20.4",  NO_CHANGE,     BARRED | (UNABLE & ~NO_CHANGE),                    FAIL_NO_CHANGE    },
    {"PROV-20.5",  SELECTS,       BARRED | UNABLE,                                   FAIL_SELECTS      },
    {"PROV-20.6",  TWO_FS_TYPES,  BARRED | UNABLE | SELECTS,                         FAIL_FS_TYPES     },
    {"PROV-20.7",  SOURCE,        BARRED | UNABLE | SELECTS | TWO_FS_TYPES,          FIND_SOURCE       },
    {"PROV-20.8",  0,             BARRED | UNABLE | SELECTS | TWO_FS_TYPES | SOURCE, FIND_PLACE        },
};
static const RuleBound check_bounds[] = {
    {.given = NO_RESTORE, .none = NO_CLONE},
};
const RuleTable provisioner_check_rules =
    RULE_TABLE("claims to provision", CHECK_FACTS_END, check_table, RULE_BOUNDS(check_bounds));

/* The kind decides, whatever its group. */
static uint32_t
source_facts(const ExternalProvisioner *self, const DataSource *source)
{
    uint32_t facts = SOURCE;

    if (source->kind == NULL)
        return 0;
    facts |= is_set(source->namespace) && self->grants == NULL ? FAR : 0;
    facts |= is_set(source->name) ? 0 : NAMELESS;
    if (strcmp(source->kind, "VolumeSnapshot") == 0)
        facts |= g_strcmp0(source->api_group, SNAPSHOT_API_GROUP) == 0 ? 0 : WRONG_GROUP;
    else if (strcmp(source->kind, "PersistentVolumeClaim") != 0)
        facts |= POPULATED;
    return facts;
}

static uint32_t
check_facts(const ExternalProvisioner *self, const Claim *claim, const ClassInfo *class)
{
    const DataSource *source = &claim->data_source;
    CsiPluginCapabilities plugin = sidecar_plugin_capabilities(self->sidecar);
    CsiControllerCapabilities controller = sidecar_controller_capabilities(self->sidecar);
    uint32_t facts = source_facts(self, source);

    facts |= class == NULL ? NO_CLASS : 0;
    facts |= self->grants == NULL || source_is_granted(self, claim) ? 0 : FORBIDDEN;
    facts |= plugin & CSI_PLUGIN_CONTROLLER_SERVICE ? 0 : NO_CONTROLLER;
    facts |= controller & CSI_CONTROLLER_CREATE_DELETE_VOLUME ? 0 : NO_CREATION;
    if (g_strcmp0(source->kind, "VolumeSnapshot") == 0)
        facts |= controller & CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT ? 0 : NO_RESTORE;
    if (g_strcmp0(source->kind, "PersistentVolumeClaim") == 0)
        facts |= controller & CSI_CONTROLLER_CLONE_VOLUME ? 0 : NO_CLONE;
    if (provision_attributes_class(self, claim) != NULL)
        facts |= controller & CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY ? 0 : NO_CHANGE;
    facts |= claim->selector != NULL ? SELECTS : 0;
    facts |= class != NULL && class->fs_type_error != NULL ? TWO_FS_TYPES : 0;
    return facts;
}

/* PROV-20: checks the claim, then goes on to the driver. */
static void
plan_provision(const ExternalProvisioner *self,
               Plan *plan,
               const Claim *claim,
               const ClassInfo *class)
{
    static const char *const errors[] = {
        [FAIL_NO_CLASS] = "storage class was nil",
        [FAIL_FAR] = "dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource "
                     "feature is disabled",
        [FAIL_NO_CONTROLLER] = "CSI driver does not support dynamic provisioning: plugin "
                               "CONTROLLER_SERVICE capability is not reported",
        [FAIL_NO_CREATION] = "CSI driver does not support dynamic provisioning: controller "
                             "CREATE_DELETE_VOLUME capability is not reported",
        [FAIL_NO_RESTORE] = "CSI driver does not support snapshot restore: controller "
                            "CREATE_DELETE_SNAPSHOT capability is not reported",
        [FAIL_NO_CLONE] = "CSI driver does not support clone operations: controller CLONE_VOLUME "
                          "capability is not reported",
        [FAIL_NO_CHANGE] = "CSI driver does not support VolumeAttributesClass: controller "
                           "MODIFY_VOLUME capability is not reported",
        [FAIL_SELECTS] = "claim Selector is not supported",
    };
    const Rule *rule = rules_find(&provisioner_check_rules, check_facts(self, claim, class), NULL);

    switch (rule->then) {
    case LEAVE_TO_POPULATOR:
        plan_because(plan, rule->id);
        plan_event(plan, &claim->meta, "Normal", "Provisioning",
                   "Assuming an external populator will provision the volume");
        attempt_finish(self, plan);
        return;
    case FIND_SOURCE:
        plan_source(plan, claim);
        return;
    case FIND_PLACE:
        plan_placed(self, plan, claim, class);
        return;
    case FAIL_FORBIDDEN:
        provision_failed(self, plan, claim, PROVISION_FINISHED,
                         plan_internf(plan,
                                      "accessing %s/%s of %s dataSource from %s isn't allowed",
                                      claim->data_source.namespace, claim->data_source.name,
                                      claim->data_source.kind, claim->meta.key->text));
        return;
    case FAIL_NAMELESS:
        provision_failed(
            self, plan, claim, PROVISION_FINISHED,
            plan_internf(plan, "the PVC source not found for PVC %s", object_name(&claim->meta)));
        return;
    case FAIL_WRONG_GROUP:
        provision_failed(
            self, plan, claim, PROVISION_FINISHED,
            plan_internf(plan,
                         "the PVC source does not belong to the right APIGroup. "
                         "Expected " SNAPSHOT_API_GROUP ", Got %s",
                         is_set(claim->data_source.api_group) ? claim->data_source.api_group : ""));
        return;
    case FAIL_FS_TYPES:
        provision_failed(self, plan, claim, PROVISION_FINISHED, class->fs_type_error);
        return;
    default:
        provision_failed(self, plan, claim, PROVISION_FINISHED, errors[rule->then]);
        return;
    }
}

void
decide_provision(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);

    plan_provision(self, plan, attempt->claim, attempt->class);
}
