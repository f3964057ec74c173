/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The external-provisioner as a component: queues of claims, of volumes, of volumes that could not
 * be stored and of claims being copied. A claim is known by the name that its volume will have.
 * Changes that would lead to an empty sync are not queued: a claim that has its volume and no
 * failures to forget, a volume about which there is nothing to do (PROV-10, PROV-30). The
 * capabilities of the driver decide which informers and queues exist. */
#include "attempt.h"

#include <string.h>

#include "models/cluster/cluster.h"
#include "models/external-provisioner/provisioner-test.h"

#define IDENTITY_NUMBERS 10000 /* the second part of the identity is 0..9999 */
#define LABEL_LENGTH_MAX 63
#define RESYNC_PERIOD (15 * SIM_MINUTE) /* of the claims' informer on a node */
#define UNSAVED_WORKERS 4               /* PROV-18 */
#define NAMESPACE "kube-system"         /* the usual value of the environment's NAMESPACE (CAP-3) */

/* ---- What the informers tell ---- */

/* API-61 */
char *
provisioner_volume_name(const ExternalProvisionerOptions *options, const char *uid)
{
    if (options->volume_name_uuid_length < 0)
        return g_strconcat(options->volume_name_prefix, "-", uid, NULL);

    g_autoptr(GString) digits = g_string_new(uid);
    g_string_replace(digits, "-", "", 0);
    return g_strdup_printf("%s-%.*s", options->volume_name_prefix, options->volume_name_uuid_length,
                           digits->str);
}

static void
note_claim(ExternalProvisioner *self, const Object *claim)
{
    char uid[OBJECT_UID_BUFFER];

    ClaimRecord *record = sim_slots_place(&self->claim_records, claim->key->slot);
    if (record->volume != NULL && object_uid_equal(record->uid, claim->uid))
        return;

    g_autofree char *name =
        provisioner_volume_name(self->options, object_uid_format(claim->uid, uid));
    record->volume = objects_key(self->base.objects, KIND_VOLUME, NULL, name);
    record->uid = claim->uid;
    *(const ObjectKey **)sim_slots_place(&self->claim_keys, record->volume->slot) = claim->key;
}

/* Plans that wait to become its owner need not wait any longer. */
static void
claim_is_gone(ExternalProvisioner *self, const ObjectKey *claim)
{
    const ClaimRecord *record = sim_slots_find(&self->claim_records, claim->slot);

    if (self->own_node != NULL && record != NULL)
        provisioner_wake_candidates(self, record->volume);
}

/* PROV-10. A sync of a claim that has its volume, and no failures to forget, would do nothing. */
static void
external_provisioner_claim_changed(void *data, const Object *before, const Object *after)
{
    ExternalProvisioner *self = data;

    (void)before;
    if (after == NULL) {
        claim_is_gone(self, before->key);
        return;
    }
    if (self->clone_workers != NULL && clone_source_is_queued(CLAIM_CONST(after)) &&
        object_has_finalizer(after, FINALIZER_CLONE)) /* else a sync would do nothing */
        workers_add(self->clone_workers, after->key);
    if (!provisioner_owns_claim(self, CLAIM_CONST(after)))
        return;
    g_hash_table_remove(self->overwritten,
                        after->key); /* CGO-19: the informer is right in the end */
    note_claim(self, after);
    const ObjectKey *volume = provisioner_claim_record(self, after->key)->volume;
    if (self->own_node != NULL)
        provisioner_wake_candidates(self, volume);
    if (claim_volume_name(CLAIM_CONST(after))[0] == '\0' ||
        work_queue_failures(workers_queue(self->claim_workers), volume) > 0)
        workers_add(self->claim_workers, volume);
}

static void
note_attached(ExternalProvisioner *self, const ObjectKey *volume, gboolean found_attached)
{
    if (found_attached || sim_slots_find(&self->found_attached, volume->slot) != NULL)
        *(uint8_t *)sim_slots_place(&self->found_attached, volume->slot) = (uint8_t)found_attached;
}

/* PROV-30. The same holds for a volume about which there is nothing to do. */
static void
external_provisioner_volume_changed(void *data, const Object *before, const Object *after)
{
    ExternalProvisioner *self = data;
    WorkQueue *queue = workers_queue(self->volume_workers);

    note_attached(self, (after == NULL ? before : after)->key, FALSE);
    if (after == NULL) {
        work_queue_forget(queue, (ObjectKey *)before->key);
        return;
    }
    if (!provisioner_owns_volume(self, VOLUME_CONST(after)))
        return;
    if (provisioner_has_work(self, VOLUME_CONST(after)) ||
        work_queue_failures(queue, after->key) > 0)
        workers_add(self->volume_workers, after->key);
}

static void
class_changed(void *data, const Object *before, const Object *after)
{
    ExternalProvisioner *self = data;

    (void)before;
    sim_slots_clear(&self->found_attached); /* a class names secrets of deletions */
    if (after == NULL)
        return;
    if (after->key->slot >= self->class_infos->len)
        g_ptr_array_set_size(self->class_infos, (int)after->key->slot + 1);
    gpointer *place = &self->class_infos->pdata[after->key->slot];
    if (*place != NULL)
        g_ptr_array_add(self->old_class_infos, *place);
    *place = class_info_new(self, (const StorageClass *)after);
}

static void
csi_node_changed(void *data, const Object *before, const Object *after)
{
    ExternalProvisioner *self = data;
    InformerIter nodes;

    informer_iter_init(&nodes, self->nodes);
    topology_csi_node_changed(&self->topology, (const CsiNode *)before, (const CsiNode *)after,
                              &nodes);
}

static void
external_provisioner_node_changed(void *data, const Object *before, const Object *after)
{
    ExternalProvisioner *self = data;

    topology_node_changed(&self->topology, (const Node *)before, (const Node *)after);
}

/* ---- Private changes ---- */

static void
attempt_free(void *data)
{
    ProvisionAttempt *attempt = data;

    object_unref(&attempt->claim->meta);
    if (attempt->volume != NULL)
        object_unref(&attempt->volume->meta);
    g_free(attempt);
}

static void
place_free(void *data)
{
    ClaimPlace *place = data;

    object_unref(place->node);
    object_unref(place->csi_node);
    g_free(place);
}

static void
begin_attempt(ExternalProvisioner *self, const PlanChange *change)
{
    ProvisionAttempt *attempt = g_new0(ProvisionAttempt, 1);

    attempt->claim = CLAIM_CONST(object_ref(change->object));
    attempt->class = change->pointer;
    g_hash_table_replace(self->attempts, (void *)change->key, attempt);
}

static void
begin_clean_up(ProvisionAttempt *attempt, const PlanChange *change)
{
    attempt->volume_id = change->text;
    attempt->failure = change->pointer;
    attempt->clean_up_until = change->number;
}

static void
remember_infeasible(ExternalProvisioner *self, const PlanChange *change)
{
    Infeasible *infeasible = g_new(Infeasible, 1);

    *infeasible = (Infeasible){
        .until = sim_time_add(sim_now(self->base.sim), self->options->common.retry_interval_max),
        .class = change->object->uid,
    };
    g_hash_table_replace(self->infeasible, (void *)change->key, infeasible);
}

static void
remember_place(ExternalProvisioner *self, const PlanChange *change)
{
    if (change->object == NULL) {
        g_hash_table_remove(self->places, change->key);
        return;
    }
    ClaimPlace *place = g_new(ClaimPlace, 1);
    *place = (ClaimPlace){object_ref(change->object), object_ref(change->pointer)};
    g_hash_table_replace(self->places, (void *)change->key, place);
}

/* A volume that the API server refused: its own workers go on trying. */
static void
remember_unsaved(ExternalProvisioner *self, const ObjectKey *key, const Volume *volume)
{
    g_hash_table_replace(self->unsaved, (void *)key, object_ref(&volume->meta));
    workers_add(self->unsaved_workers, key);
}

static void
external_provisioner_apply_change(void *data, const PlanChange *change)
{
    ExternalProvisioner *self = data;
    ProvisionAttempt *attempt =
        change->key == NULL ? NULL : g_hash_table_lookup(self->attempts, change->key);

    switch ((ProvisionerChange)change->what) {
    case CHANGE_BEGIN:
        begin_attempt(self, change);
        return;
    case CHANGE_SAVING:
        attempt->volume = VOLUME_CONST(object_ref(change->object));
        if (self->capacity != NULL) /* PROV-26 */
            capacity_refresh_volume(self->capacity, attempt->volume);
        return;
    case CHANGE_FAILED:
        attempt->state = (ProvisionState)change->number;
        if (self->capacity != NULL && attempt->state != PROVISION_NO_CHANGE)
            capacity_refresh_class(self->capacity, object_name(&attempt->class->class->meta));
        return;
    case CHANGE_SOURCE:
        attempt->source_kind = (CsiSourceKind)change->number;
        attempt->source_id = change->text;
        return;
    case CHANGE_SECRET:
        attempt->has_secret = TRUE;
        return;
    case CHANGE_CLEAN_UP:
        begin_clean_up(attempt, change);
        return;
    case CHANGE_CLEANED_UP:
        attempt->n_clean_ups++;
        return;
    case CHANGE_OWNER_TRY:
    case CHANGE_OWNER_SEEN:
    case CHANGE_OWNER_FORGET:
        owner_tries_apply(self, change);
        return;
    case CHANGE_FOUND_ATTACHED:
        note_attached(self, change->key, TRUE);
        return;
    case CHANGE_DELETED:
        if (VOLUME_CONST(change->object)->node_affinity != NULL)
            capacity_refresh_volume(self->capacity, VOLUME_CONST(change->object));
        return;
    case CHANGE_CAPACITY_NAMED:
        capacity_named(self->capacity, change->key);
        return;
    case CHANGE_INFEASIBLE:
        remember_infeasible(self, change);
        return;
    case CHANGE_PLACE:
        remember_place(self, change);
        return;
    case CHANGE_OVERWRITE:
        g_hash_table_replace(self->overwritten, (void *)change->key, object_ref(change->object));
        return;
    case CHANGE_UNSAVED:
        remember_unsaved(self, change->key, attempt->volume);
        return;
    }
    g_assert_not_reached();
}

static void
claim_plan_over(void *data, ObjectKey *key, PlanEnd end, const char *message)
{
    ExternalProvisioner *self = data;

    (void)end;
    (void)message;
    g_hash_table_remove(self->attempts, key);
}

/* ---- Start and end ---- */

static void
make_names(ExternalProvisioner *self)
{
    Strings *strings = self->base.strings;
    SimStream stream = sim_stream(self->base.sim, "external-provisioner/identity");
    gboolean is_only = self->base.replica == 0 && self->base.node_name == NULL;
    uint64_t driver = sim_hash_string(is_only ? self->base.driver_name
                                              : process_name(self->base.process)),
             start = (uint64_t)sim_now(self->base.sim);
    int64_t started_ms = api_time_unix(sim_start(self->base.sim), sim_now(self->base.sim)) / SIM_MS;
    ObjectUid host = {sim_random_bits(stream, driver, 2 * start + 1),
                      sim_random_bits(stream, driver, 2 * start)};
    char uid[OBJECT_UID_BUFFER];

    self->identity =
        strings_internf(strings, "%" G_GINT64_FORMAT "-%u-%s%s%s", started_ms,
                        (unsigned)sim_random_below(stream, driver, start, IDENTITY_NUMBERS),
                        self->base.driver_name, self->base.node_name != NULL ? "-" : "",
                        self->base.node_name != NULL ? self->base.node_name : "");
    self->finalizers = string_list_new(&self->finalizer, 1);
    self->has_own_names = strcmp(self->options->volume_name_prefix, "pvc") != 0 ||
                          self->options->volume_name_uuid_length >= 0;

    const char *none = strings_intern(strings, "");
    StringPair pairs[] = {
        {self->provisioned_by_key,               self->base.driver_name},
        { strings_intern(strings,           ANNOTATION_DELETION_SECRET),                   none},
        { strings_intern(strings, ANNOTATION_DELETION_SECRET_NAMESPACE),                   none},
    };
    self->annotations = string_map_new(pairs, G_N_ELEMENTS(pairs));

    /* The source of the library's Events names driver, host and a random uuid. */
    event_recorder_free(self->base.events);
    self->base.events = event_recorder_new(
        self->base.client,
        strings_internf(strings, "%s_%s_%s", self->base.driver_name, sidecar_host_name(&self->base),
                        object_uid_format(host, uid)),
        EVENTS_CORE);
}

/* Returns: (owned): a further client with its own token bucket */
static ApiClient *
make_client(const ExternalProvisioner *self, const char *name, double qps, int32_t burst)
{
    gboolean unlimited = cluster_has_unlimited_qps(self->base.cluster);

    return api_client_new(self->base.process, strings_intern(self->base.strings, name),
                          unlimited ? API_CLIENT_UNLIMITED : qps, (unsigned)burst);
}

/* CAP-3: the value of the label that names the manager of a capacity object. */
static const char *
managed_by(const ExternalProvisioner *self)
{
    const char *node = self->base.node_name;

    if (node == NULL)
        return strings_intern(self->base.strings, "external-provisioner");
    if (strlen("external-provisioner-") + strlen(node) <= LABEL_LENGTH_MAX)
        return strings_internf(self->base.strings, "external-provisioner-%s", node);
    return strings_internf(self->base.strings, "external-provisioner-%08x-%.33s",
                           (unsigned)(sim_hash_string(node) & UINT32_MAX), node);
}

static void
start_capacity(ExternalProvisioner *self)
{
    const ExternalProvisionerOptions *options = self->options;
    Strings *strings = self->base.strings;
    CapacityOptions capacity = {
        .component = &self->base,
        .namespace = strings_intern(strings, NAMESPACE),
        .managed_by = managed_by(self),
        .owners = options->capacity_owners,
        .for_immediate = options->capacity_for_immediate_binding,
        .n_workers = (unsigned)options->capacity_threads,
        .poll_interval = options->capacity_poll_interval,
        .timeout = options->common.timeout,
        .limit = sidecar_rate_limit(&options->common),
        .has_topology = self->has_topology,
        .on_node = self->own_node != NULL,
        .node_segment = sidecar_node_segment(self->sidecar),
    };

    self->capacity_client =
        make_client(self, "external-provisioner/capacity", options->kube_api_capacity_qps,
                    options->kube_api_capacity_burst);
    capacity.client = self->capacity_client;
    self->capacity = capacity_new(&capacity);
}

static gboolean
has_gate(const ExternalProvisioner *self, const char *name)
{
    return process_gate(&external_provisioner_process, self->options->feature_gates, name);
}

static gboolean
driver_has(const ExternalProvisioner *self, CsiControllerCapabilities capability)
{
    return (sidecar_controller_capabilities(self->sidecar) & capability) != 0;
}

/* The driver's capabilities are known, and the informers are synced. */
static void
start_working(void *data)
{
    ExternalProvisioner *self = data;
    const SidecarFlags *flags = &self->options->common;

    self->has_topology = (sidecar_plugin_capabilities(self->sidecar) &
                          CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS) != 0 &&
                         has_gate(self, "Topology");
    self->keeps_volumes = has_gate(self, "HonorPVReclaimPolicy");
    self->attributes_classes = has_gate(self, "VolumeAttributesClass");
    self->multi_writer = driver_has(self, CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER);
    if (self->base.node_name != NULL)
        provisioner_know_node(self);
    else if (self->has_topology)
        topology_init(&self->topology, self->base.driver_name);
    if (driver_has(self, CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT))
        self->snapshot_client = make_client(self, "external-provisioner/snapshots",
                                            flags->kube_api_qps, flags->kube_api_burst);
    component_start(self);
    if (self->options->enable_capacity)
        start_capacity(self);
}

static gboolean
runs_on_node(const void *data)
{
    return ((const ExternalProvisioner *)data)->base.node_name != NULL;
}

static gboolean
watches_nodes(const void *data)
{
    return !runs_on_node(data) && ((const ExternalProvisioner *)data)->has_topology;
}

static gboolean
publishes(const void *data)
{
    return driver_has(data, CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME);
}

static gboolean
clones(const void *data)
{
    return driver_has(data, CSI_CONTROLLER_CLONE_VOLUME);
}

static gboolean
reads_grants(const void *data)
{
    return has_gate(data, "CrossNamespaceVolumeDataSource");
}

static void
external_provisioner_init(void *data)
{
    ExternalProvisioner *self = data;

    self->claim_records.element_size = sizeof(ClaimRecord);
    self->claim_records.cold = self->claim_keys.cold = sim_cold(self->base.sim);
    self->claim_keys.element_size = sizeof(const ObjectKey *);
    self->found_attached.element_size = sizeof(uint8_t);
    if (sidecar_is_since(&self->options->common, 6, 0, FALSE)) {
        self->infeasible = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        self->places = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, place_free);
    }
    make_names(self);
    self->sidecar = sidecar_new(&(SidecarOptions){
        .component = &self->base,
        .n_sync_polls = 2, /* TIM-90 */
        .ready = start_working,
        .identity = self->identity,
        .asks_node = self->base.node_name != NULL,
    });
}

static void
external_provisioner_clear(void *data)
{
    ExternalProvisioner *self = data;

    topology_clear(&self->topology);
    sim_slots_clear(&self->claim_records);
    sim_slots_clear(&self->claim_keys);
    sim_slots_clear(&self->found_attached);
}

#define SELF ExternalProvisioner
static const ComponentPart parts[] = {
    HAS_OPTIONS(options),
    HAS_TEXT(identity_key, "storage.kubernetes.io/csiProvisionerIdentity"),
    HAS_TEXT(provisioned_by_key, ANNOTATION_PROVISIONED_BY),
    HAS_TEXT(finalizer, FINALIZER_PROVISIONER),
    HAS_TEXT(clone_finalizer, FINALIZER_CLONE),
    HAS_STATE(sidecar, NULL, sidecar_free),
    HAS_STATE(capacity, NULL, capacity_free),
    HAS_STATE(capacity_client, NULL, api_client_free),
    HAS_STATE(snapshot_client, NULL, api_client_free),
    HAS_TABLE(attempts, attempt_free),
    HAS_TABLE(in_progress, object_unref),
    HAS_STATE(infeasible, NULL, g_hash_table_unref),
    HAS_STATE(places, NULL, g_hash_table_unref),
    HAS_TABLE(unsaved, object_unref),
    HAS_TABLE(overwritten, object_unref),
    HAS_TABLE(owner_tries, owner_tries_free),
    HAS_STATE(own_node, NULL, object_unref),
    HAS_STATE(own_csi_node, NULL, object_unref),
    HAS_ARRAY(class_infos, class_info_free),
    HAS_ARRAY(old_class_infos, class_info_free),
    HAS_STATE(annotations, NULL, string_map_unref),
    HAS_STATE(finalizers, NULL, string_list_unref),
    HAS_INFORMER(classes, KIND_STORAGE_CLASS, .changed = class_changed),
    PARTS_IF(watches_nodes),
    HAS_INFORMER(nodes, KIND_NODE, .changed = external_provisioner_node_changed),
    HAS_INFORMER(csi_nodes, KIND_CSI_NODE, .changed = csi_node_changed),
    PARTS_IF(publishes),
    HAS_INFORMER(attachments,
                 KIND_ATTACHMENT,
                 WITH_INDEX(attachments_by_volume, index_attachments_by_volume)),
    PARTS_IF(reads_grants),
    HAS_INFORMER(grants, KIND_REFERENCE_GRANT),
    PARTS_IF(NULL),
    HAS_INFORMER(claims, KIND_CLAIM, .changed = external_provisioner_claim_changed),
    HAS_INFORMER(volumes, KIND_VOLUME, .changed = external_provisioner_volume_changed),
    HAS_WORKERS(claim_workers, "claims", decide_claim, SIDECAR_WORKERS, .done = claim_plan_over),
    HAS_WORKERS(volume_workers,
                "volumes",
                decide_volume,
                SIDECAR_WORKERS,
                .fails_again = provisioner_fails_again),
    HAS_WORKERS(unsaved_workers, "unsavedpvs", decide_unsaved, .n_workers = UNSAVED_WORKERS),
    PARTS_IF(clones),
    HAS_INFORMER(claims, KIND_CLAIM, WITH_INDEX(clones, index_clones)),
    HAS_WORKERS(clone_workers,
                "clone-protection",
                decide_clone_source,
                .n_flag = offsetof(ExternalProvisionerOptions, cloning_protection_threads),
                .limit_of = sidecar_rate_limit),
    PARTS_IF(runs_on_node),
    HAS_TICKER(resync,
               "external-provisioner/resync",
               provisioner_resync_pass,
               .period = RESYNC_PERIOD,
               .phase = ticker_phase_period,
               .number = 1),
};

#define AT(member) offsetof(ExternalProvisionerOptions, member)

G_STATIC_ASSERT(offsetof(ExternalProvisionerOptions, common) == 0); /* SIDECAR_FLAGS */
static const ProcessFlag flags[] = {
    SIDECAR_FLAGS("worker-threads",
                  "100",
                  "Claims, and volumes, processed at once (PROV-42)",
                  "10s",
                  "Deadline of a call of the driver (PROV-22)"),
    {"volume-name-prefix",                FLAG_STRING,     AT(volume_name_prefix),                "pvc",
       "Name of a volume: <prefix>-<uid of the claim>"                                                                                           },
    {"volume-name-uuid-length",           FLAG_SIGNED_INT, AT(volume_name_uuid_length),           "-1",
       "Digits of the claim's uid in the volume's name; -1: all, with dashes"                                                                    },
    {"extra-create-metadata",             FLAG_BOOL,       AT(extra_create_metadata),             "false",
       "Pass the names of claim and volume to the driver (PROV-21)"                                                                              },
    {"immediate-topology",                FLAG_BOOL,       AT(immediate_topology),                "true",
       "Pass the cluster's topology when no node is chosen (TOPO-3)"                                                                             },
    {"strict-topology",                   FLAG_BOOL,       AT(strict_topology),                   "false",
       "Pass the chosen node's topology only (TOPO-2)"                                                                                           },
    {"default-fstype",                    FLAG_STRING,     AT(default_fstype),                    "",
       "File system when the class names none"                                                                                                   },
    {"controller-publish-readonly",       FLAG_BOOL,       AT(controller_publish_readonly),       "false",
       "ReadOnlyMany volumes are attached read-only (PROV-25)"                                                                                   },
    {"feature-gates",                     FLAG_STRING,     AT(feature_gates),                     "",
       "Topology=true,HonorPVReclaimPolicy=true,VolumeAttributesClass=false,"
     "CrossNamespaceVolumeDataSource=false"                                                                                                      },
    {"enable-capacity",                   FLAG_BOOL,       AT(enable_capacity),                   "false",
       "Publish CSIStorageCapacity objects (CAP-1)"                                                                                              },
    {"capacity-for-immediate-binding",    FLAG_BOOL,       AT(capacity_for_immediate_binding),    "false",
       "Also for classes with immediate binding (CAP-1)"                                                                                         },
    {"capacity-poll-interval",            FLAG_DURATION,   AT(capacity_poll_interval),            "1m",
       "Time between two checks of the capacity (CAP-5)"                                                                                         },
    {"capacity-threads",                  FLAG_INT,        AT(capacity_threads),                  "1",     "Capacities checked at once (CAP-5)"},
    {"kube-api-capacity-qps",             FLAG_NUMBER,     AT(kube_api_capacity_qps),             "1",
       "As kube-api-qps, for the capacity client"                                                                                                },
    {"kube-api-capacity-burst",           FLAG_INT,        AT(kube_api_capacity_burst),           "5",
       "As kube-api-burst, for the capacity client"                                                                                              },
    {"cloning-protection-threads",        FLAG_INT,        AT(cloning_protection_threads),        "1",
       "Copied claims checked at once (SRC-3)"                                                                                                   },
    {"prevent-volume-mode-conversion",    FLAG_BOOL,       AT(prevent_volume_mode_conversion),    "true",
       "A volume from a snapshot keeps the mode of its source (SRC-4)"                                                                           },
    {"capacity-ownerref-level",           FLAG_SIGNED_INT, AT(capacity_ownerref_level),           "1",
       "Level of the pod's owner that owns the objects (CAP-3)"                                                                                  },
    SIDECAR_ELECTION_FLAGS(ExternalProvisionerOptions),
    {"node-deployment",                   FLAG_BOOL,       AT(node_deployment),                   "false",
       "Run one instance on each node with the driver's plugin (NODE-1)"                                                                         },
    {"node-deployment-immediate-binding", FLAG_BOOL,       AT(node_deployment_immediate_binding), "true",
       "Instances also take claims of Immediate classes (NODE-2)"                                                                                },
    {"node-deployment-base-delay",        FLAG_DURATION,   AT(node_deployment_base_delay),        "20s",
       "Longest wait of an instance before it takes a claim (NODE-2)"                                                                            },
    {"node-deployment-max-delay",         FLAG_DURATION,   AT(node_deployment_max_delay),         "60s",
       "... after several tries (NODE-2)"                                                                                                        },
    {NULL,                                FLAG_BOOL,       0,                                     NULL,    NULL                                },
};

static const ProcessGate gates[] = {
    {"Topology",                       TRUE },
    {"HonorPVReclaimPolicy",           TRUE },
    {"VolumeAttributesClass",          FALSE},
    {"CrossNamespaceVolumeDataSource", FALSE},
    {NULL,                             FALSE},
};

static const ProcessElection election = {
    .offset = offsetof(ExternalProvisionerOptions, election),
    .lock = "",
};

/* NODE-1 */
static gboolean
external_provisioner_runs_on_nodes(const void *options)
{
    return ((const ExternalProvisionerOptions *)options)->node_deployment;
}

const ProcessClass external_provisioner_process = {
    SIDECAR_PROCESS("external-provisioner", ExternalProvisionerOptions, flags, election),
    .gates = gates, .runs_on_nodes = external_provisioner_runs_on_nodes,
    .startup = offsetof(
        Timing, sidecar_start), /* TIM-90: to the first Probe; answers and two sync polls follow */
};

const ModelClass external_provisioner_class = {
    SIDECAR_MODEL("external-provisioner", external_provisioner_process),
    .event_source = "external-provisioner",
    .event_style = EVENTS_CORE,
    .rule_tables = RULE_TABLES(&provisioner_claim_rules,
                               &provisioner_check_rules,
                               &provisioner_clone_rules,
                               &topology_rules,
                               &provisioner_volume_rules),
    PARTS(parts),
    .init = external_provisioner_init,
    .clear = external_provisioner_clear,
    .apply_change = external_provisioner_apply_change,
};
