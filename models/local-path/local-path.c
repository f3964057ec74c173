/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local-path-provisioner: a volume is a directory that a helper pod makes or removes on the node
 * (Provision(), Delete() and createHelperPod() in provisioner.go). A rule table decides about a
 * claim; one that asks for more than one node, has a selector or no selected node gets an error.
 * The helper pod is looked at every second until it has succeeded or its time is over; a pod of an
 * earlier attempt serves as well (LOC-32). If the class vanishes meanwhile, the directory stays, as
 * in reality. */
#include "local-path.h"

#include "models/api/container-life.h"
#include "models/api/pod.h"
#include "models/plan/plan.h"
#include "models/timing/waits.h"

#define LOOK_PERIOD SIM_SECOND /* LOC-33 */
#define HELPER_NAME_MAX 128
#define ANNOTATION_NODE "local.path.provisioner/selected-node"
#define LABEL_HOSTNAME "kubernetes.io/hostname"

typedef struct {
    Component base;
    const LocalPathOptions *options; /* borrowed, of the process */
    Informer *claims, *volumes, *classes;
    Workers *claim_workers, *volume_workers;
} LocalPath;

/* The notes of an attempt. */
typedef struct {
    const char *place; /* a new volume's: the node's label */
    const ObjectKey *pod;
    SimTime created_at; /* of the pod */
    PlanDecide succeeded;
} Helper;

/* ---- The helper pod ---- */

static const Object *subject(const LocalPath *self, const Plan *plan);

static void
attempt_failed(const LocalPath *self, Plan *plan, const char *error)
{
    const Object *object = subject(self, plan);

    if (object == NULL)
        return;
    if (object_kind(object) == KIND_CLAIM)
        plan_event(plan, object, "Warning", "ProvisioningFailed",
                   "failed to provision volume with StorageClass \"%s\": %s",
                   claim_class(CLAIM_CONST(object)), error);
    else
        plan_event(plan, object, "Warning", "VolumeFailedDelete", "%s", error);
    plan_fail(plan, "%s", error);
}

static Object *
helper_pod_new(const LocalPath *self, const ObjectKey *key, const char *node)
{
    Strings *strings = self->base.strings;
    Pod *pod = POD(object_new((ObjectKey *)key));

    if (pod->spec == NULL)
        pod->spec = pod_spec_new();
    pod->node_name = node;
    pod->spec->restart_policy = strings_intern(strings, "Never");
    pod->spec->n_containers = 1;
    pod->spec->containers = g_new0(PodContainer, 1);
    pod->spec->containers[0] =
        (PodContainer){.name = strings_intern(strings, "helper-pod"),
                       .image = strings_intern(strings, "docker.io/library/busybox")};
    object_set_annotation(&pod->meta, strings_intern(strings, ANNOTATION_RUNS_FOR),
                          self->options->command_time);
    return &pod->meta;
}

static void
decide_timed_out(const void *data, Plan *plan)
{
    const LocalPath *self = data;

    plan_because(plan, "LOC-33");
    attempt_failed(self, plan,
                   plan_internf(plan, "create process timeout after %d seconds",
                                (int)(self->options->command_timeout / SIM_SECOND)));
}

static void decide_looked(const void *data, Plan *plan);

static void
local_path_look(const void *data, Plan *plan)
{
    const Helper *helper = plan_notes(plan);

    (void)data;
    plan_get(plan, helper->pod, PLAN_DECIDE);
    plan_then(plan, decide_looked);
}

static void
drop_pod(Plan *plan, PlanDecide then)
{
    const Helper *helper = plan_notes(plan);

    plan_delete(plan, helper->pod, (ObjectUid){0, 0}, -1, PLAN_GO_ON);
    plan_then(plan, then);
}

static void
decide_looked(const void *data, Plan *plan)
{
    const LocalPath *self = data;
    const Helper *helper = plan_notes(plan);
    const Pod *pod = POD_CONST(plan_object(plan, plan_last_step(plan)));

    plan_because(plan, "LOC-33");
    if (pod != NULL && pod->phase == POD_SUCCEEDED) {
        drop_pod(plan, helper->succeeded);
    } else if (pod == NULL ||
               plan_now(plan) + LOOK_PERIOD - helper->created_at > self->options->command_timeout) {
        drop_pod(plan, decide_timed_out);
    } else {
        plan_wait(plan, LOOK_PERIOD, WAIT_POLL);
        plan_then(plan, local_path_look);
    }
}

static void
decide_pod_is_there(const void *data, Plan *plan)
{
    ApiCode code = plan_code(plan, plan_last_step(plan));

    if (code != API_OK && code != API_EXISTS) {
        attempt_failed(data, plan, plan_last_message(plan));
        return;
    }
    ((Helper *)plan_notes(plan))->created_at = plan_now(plan);
    local_path_look(data, plan);
}

/* LOC-32: a pod of an earlier attempt is used, too. @action: "create" or "delete" */
static void
run_helper(const LocalPath *self,
           Plan *plan,
           const char *action,
           const char *volume,
           const char *node,
           PlanDecide succeeded)
{
    g_autofree char *name = g_strdup_printf("helper-pod-%s-%s", action, volume);
    Helper *helper =
        plan_notes(plan) != NULL ? plan_notes(plan) : plan_new_notes(plan, Helper, NULL);

    if (strlen(name) > HELPER_NAME_MAX)
        name[HELPER_NAME_MAX] = '\0';
    *helper = (Helper){.place = helper->place,
                       .pod = objects_key(self->base.objects, KIND_POD, self->options->namespace,
                                          strings_intern(self->base.strings, name)),
                       .succeeded = succeeded};
    plan_because(plan, "LOC-32");
    plan_create(plan, helper_pod_new(self, helper->pod, node), PLAN_DECIDE);
    plan_then(plan, decide_pod_is_there);
}

/* ---- Claims ---- */

static const ObjectKey *
volume_key(const LocalPath *self, const Object *claim)
{
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *name = g_strconcat("pvc-", object_uid_format(claim->uid, uid), NULL);

    return objects_key(self->base.objects, KIND_VOLUME, NULL,
                       strings_intern(self->base.strings, name));
}

static const StorageClass *
local_path_class_of(const LocalPath *self, const Claim *claim)
{
    return (const StorageClass *)informer_find(self->classes, NULL, claim_class(claim));
}

static VolumeSource *
make_source(const LocalPath *self, const Claim *claim, const char *volume)
{
    Strings *strings = self->base.strings;
    const char *type = object_annotation(&claim->meta, "volumeType");
    gboolean is_local = type != NULL && g_ascii_strcasecmp(type, "local") == 0;

    return volume_source_new(&(VolumeSource){
        .plugin = strings_intern(strings, is_local ? "local" : "hostPath"),
        .handle = strings_internf(strings, "%s/%s_%s_%s", self->options->path, volume,
                                  claim->meta.key->namespace, object_name(&claim->meta)),
    });
}

/* LOC-34 */
static Object *
local_path_make_volume(const LocalPath *self, const Claim *claim, const char *place_name)
{
    Strings *strings = self->base.strings;
    const StorageClass *class = local_path_class_of(self, claim);
    Volume *volume = VOLUME(object_new((ObjectKey *)volume_key(self, &claim->meta)));
    StringPair pair = {strings_intern(strings, LABEL_HOSTNAME), place_name};
    g_autoptr(StringMap) place = string_map_new(&pair, 1);
    const StringMap *places[] = {place};

    object_set_annotation(&volume->meta, strings_intern(strings, ANNOTATION_PROVISIONED_BY),
                          self->options->provisioner_name);
    object_set_annotation(&volume->meta, strings_intern(strings, ANNOTATION_NODE),
                          object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE));
    volume->class_name = object_name(&class->meta);
    volume->mount_options = string_list_ref(class->mount_options);
    volume->capacity_bytes = claim->request_bytes;
    volume->source = make_source(self, claim, object_name(&volume->meta));
    volume->node_affinity = node_selector_from_segments(places, 1);
    volume->claim_ref =
        (ClaimReference){claim->meta.key, claim->meta.uid, claim->meta.resource_version};
    volume->access_modes = claim->access_modes;
    volume->volume_mode = VOLUME_FILESYSTEM;
    volume->reclaim_policy = class->reclaim_policy;
    return &volume->meta;
}

static void
decide_stored(const void *data, Plan *plan)
{
    const LocalPath *self = data;
    const Object *claim = informer_get(self->claims, plan_key(plan));
    ApiCode code = plan_code(plan, plan_last_step(plan));

    if (claim == NULL)
        return;
    plan_because(plan, "LOC-34");
    if (code != API_OK && code != API_EXISTS)
        plan_fail(plan, "%s", plan_last_message(plan));
    else
        plan_event(plan, claim, "Normal", "ProvisioningSucceeded",
                   "Successfully provisioned volume %s", volume_key(self, claim)->name);
}

static void
decide_directory_made(const void *data, Plan *plan)
{
    const LocalPath *self = data;
    const Helper *helper = plan_notes(plan);
    const Object *claim = informer_get(self->claims, plan_key(plan));

    if (claim == NULL || local_path_class_of(self, CLAIM_CONST(claim)) == NULL)
        return; /* as in reality, the directory stays */
    plan_because(plan, "LOC-34");
    plan_create(plan, local_path_make_volume(self, CLAIM_CONST(claim), helper->place), PLAN_DECIDE);
    plan_then(plan, decide_stored);
}

static gboolean
remove_selected_node(Object *object, const void *arg)
{
    (void)arg;
    return object_set_annotation(object, ANNOTATION_SELECTED_NODE, NULL);
}

static void
decide_node_of_claim(const void *data, Plan *plan)
{
    const LocalPath *self = data;
    const Object *claim = informer_get(self->claims, plan_key(plan));
    const Object *node = plan_object(plan, plan_last_step(plan));
    const char *name = claim == NULL ? NULL : object_annotation(claim, ANNOTATION_SELECTED_NODE);

    if (name == NULL)
        return;
    if (node != NULL) {
        const char *label = object_label(node, LABEL_HOSTNAME);
        plan_new_notes(plan, Helper, NULL);
        ((Helper *)plan_notes(plan))->place = label != NULL ? label : name;
        run_helper(self, plan, "create", volume_key(self, claim)->name, name,
                   decide_directory_made);
    } else if (plan_code(plan, plan_last_step(plan)) == API_NOT_FOUND) {
        plan_because(plan, "LOC-31.4");
        plan_update(plan, claim, remove_selected_node, NULL, PLAN_STOP);
        attempt_failed(self, plan, plan_internf(plan, "node \"%s\" not found", name));
    } else {
        attempt_failed(self, plan, plan_last_message(plan));
    }
}

enum {
    WANTED = 1 << 0,     /* unbound, ours, and its class does not wait for a consumer any more */
    MADE = 1 << 1,       /* its volume is known */
    CLASSED = 1 << 2,    /* its class is known */
    SELECTS = 1 << 3,    /* it has a selector */
    SHARED = 1 << 4,     /* it asks for more than ReadWriteOnce or ReadWriteOncePod */
    HAS_A_NODE = 1 << 5, /* the scheduler has chosen one */
    CLAIM_FACTS_END = 1 << 6,
};

enum {
    LEAVE,
    NO_CLASS,
    NO_SELECTORS,
    ONE_NODE_ONLY,
    NO_NODE,
    MAKE,
};

static const Rule claim_table[] = {
    {"LOC-30",   0,                             WANTED,                               LEAVE        },
    {"LOC-30",   WANTED | MADE,                 0,                                    LEAVE        },
    {"LOC-30",   WANTED,                        MADE | CLASSED,                       NO_CLASS     },
    {"LOC-31.1", WANTED | CLASSED | SELECTS,    MADE,                                 NO_SELECTORS },
    {"LOC-31.2", WANTED | CLASSED | SHARED,     MADE | SELECTS,                       ONE_NODE_ONLY},
    {"LOC-31.3", WANTED | CLASSED,              MADE | SELECTS | SHARED | HAS_A_NODE, NO_NODE      },
    {"LOC-32",   WANTED | CLASSED | HAS_A_NODE, MADE | SELECTS | SHARED,              MAKE         },
};
static const RuleTable claim_rules =
    RULE_TABLE("claims of local paths", CLAIM_FACTS_END, claim_table);

static gboolean
local_path_is_wanted(const LocalPath *self, const Claim *claim)
{
    const char *provisioner = object_annotation(&claim->meta, ANNOTATION_STORAGE_PROVISIONER);
    const StorageClass *class = local_path_class_of(self, claim);

    if (provisioner == NULL)
        provisioner = object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_PROVISIONER);
    return claim_volume_name(claim)[0] == '\0' && provisioner == self->options->provisioner_name &&
           (class == NULL || class->binding_mode != BINDING_WAIT_FOR_FIRST_CONSUMER ||
            object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE) != NULL);
}

static uint32_t
claim_facts(const LocalPath *self, const Claim *claim)
{
    if (claim == NULL || !local_path_is_wanted(self, claim))
        return 0;
    return WANTED | (informer_get(self->volumes, volume_key(self, &claim->meta)) ? MADE : 0) |
           (local_path_class_of(self, claim) != NULL ? CLASSED : 0) |
           (claim->selector != NULL ? SELECTS : 0) |
           ((claim->access_modes & ~(uint32_t)(ACCESS_RWO | ACCESS_RWOP)) != 0 ? SHARED : 0) |
           (object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE) != NULL ? HAS_A_NODE : 0);
}

static void
local_path_decide_claim(const void *data, Plan *plan)
{
    const LocalPath *self = data;
    const Object *claim = informer_get(self->claims, plan_key(plan));
    int verdict = plan_judge(plan, &claim_rules, claim_facts(self, CLAIM_CONST(claim)));

    if (verdict == LEAVE)
        return;
    if (verdict == NO_CLASS) {
        plan_fail(plan, "storageClass \"%s\" not found", claim_class(CLAIM_CONST(claim)));
        return;
    }
    plan_event(plan, claim, "Normal", "Provisioning",
               "External provisioner is provisioning volume for claim \"%s\"", claim->key->text);
    switch (verdict) {
    case NO_SELECTORS:
        attempt_failed(self, plan, "claim.Spec.Selector is not supported");
        return;
    case ONE_NODE_ONLY:
        attempt_failed(self, plan,
                       "NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access "
                       "modes");
        return;
    case NO_NODE:
        attempt_failed(self, plan, "configuration error, no node was specified");
        return;
    case MAKE:
        plan_get(plan,
                 objects_key(self->base.objects, KIND_NODE, NULL,
                             object_annotation(claim, ANNOTATION_SELECTED_NODE)),
                 PLAN_DECIDE);
        plan_then(plan, decide_node_of_claim);
        return;
    }
    g_assert_not_reached();
}

static gboolean
claim_is_wanted(const void *self, const Object *claim)
{
    return local_path_is_wanted(self, CLAIM_CONST(claim));
}

/* ---- Volumes ---- */

static const char *
local_path_node_of(const Volume *volume)
{
    return object_annotation(&volume->meta, ANNOTATION_NODE);
}

static gboolean
is_to_go(const void *data, const Object *object)
{
    const LocalPath *self = data;
    const Volume *volume = VOLUME_CONST(object);

    return volume->phase == VOLUME_RELEASED && volume->reclaim_policy == RECLAIM_DELETE &&
           !object_is_deleted(object) && local_path_node_of(volume) != NULL &&
           object_annotation(object, ANNOTATION_PROVISIONED_BY) == self->options->provisioner_name;
}

static void
local_path_delete_volume(const void *data, Plan *plan)
{
    (void)data;
    plan_because(plan, "LOC-36");
    plan_delete(plan, plan_key(plan), (ObjectUid){0, 0}, -1, PLAN_GONE_IS_FINE);
}

static void
decide_node_read(const void *data, Plan *plan)
{
    const LocalPath *self = data;
    const Object *volume = informer_get(self->volumes, plan_key(plan));

    plan_because(plan, "LOC-35");
    if (volume == NULL)
        return;
    if (plan_code(plan, plan_last_step(plan)) == API_NOT_FOUND)
        local_path_delete_volume(data, plan);
    else
        run_helper(self, plan, "delete", object_name(volume),
                   local_path_node_of(VOLUME_CONST(volume)), local_path_delete_volume);
}

static void
local_path_decide_volume(const void *data, Plan *plan)
{
    const LocalPath *self = data;
    const Object *volume = informer_get(self->volumes, plan_key(plan));

    plan_because(plan, "LOC-35");
    if (volume == NULL || !is_to_go(self, volume))
        return;
    plan_get(
        plan,
        objects_key(self->base.objects, KIND_NODE, NULL, local_path_node_of(VOLUME_CONST(volume))),
        PLAN_DECIDE);
    plan_then(plan, decide_node_read);
}

static const Object *
subject(const LocalPath *self, const Plan *plan)
{
    const ObjectKey *key = plan_key(plan);

    return informer_get(key->kind == KIND_CLAIM ? self->claims : self->volumes, key);
}

/* ---- Start ---- */

static double
local_path_client_qps(const void *options, unsigned *burst)
{
    (void)options;
    *burst = 10;
    return 5; /* client-go's defaults */
}

#define AT(member) offsetof(LocalPathOptions, member)

#define SELF LocalPath
#define WORKERS                                                                                    \
    .n_flag = AT(n_workers), .retries_max = 15,                                                    \
    .limit = {.base = 15 * SIM_SECOND,                                                             \
              .max = 1000 * SIM_SECOND,                                                            \
              .bucket_qps = 10,                                                                    \
              .bucket_burst = 100} /* LOC-37 */

static const ComponentPart parts[] = {
    HAS_OPTIONS(options),
    HAS_INFORMER(classes, KIND_STORAGE_CLASS),
    HAS_INFORMER(claims, KIND_CLAIM, WAKES_IF(claim_workers, claim_is_wanted)),
    HAS_INFORMER(volumes, KIND_VOLUME, WAKES_IF(volume_workers, is_to_go)),
    HAS_WORKERS(claim_workers, "claims", local_path_decide_claim, WORKERS),
    HAS_WORKERS(volume_workers, "volumes", local_path_decide_volume, WORKERS),
};

/* clang-format off */
static const ProcessFlag flags[] = {
    {"provisioner-name", FLAG_STRING, AT(provisioner_name), "rancher.io/local-path",
     "Provisioner of its classes (LOC-30)"},
    {"namespace", FLAG_STRING, AT(namespace), "local-path-storage", "Namespace of helper pods"},
    {"path", FLAG_STRING, AT(path), "/opt/local-path-provisioner",
     "Folder on all nodes, as nodePathMap's default"},
    {"worker-threads", FLAG_INT, AT(n_workers), "4", "Claims, and volumes, handled at once"},
    {"cmdTimeoutSeconds", FLAG_DURATION, AT(command_timeout), "120s",
     "Time for a helper pod (LOC-33)"},
    {"commandTime", FLAG_STRING, AT(command_time), "100ms",
     "Simulated: how long the helper's command runs, as the annotation kvolsim.io/runs-for"},
    {NULL, FLAG_BOOL, 0, NULL, NULL},
};
/* clang-format on */

const ProcessClass local_path_process = {
    .name = "local-path-provisioner",
    .scope = PER_CLUSTER,
    .options_size = sizeof(LocalPathOptions),
    .flags = flags,
    .is_optional = TRUE,
    .startup = offsetof(Timing, sidecar_start), /* as a sidecar, TIM-91 */
};

const ModelClass local_path_class = {
    .name = "local-path-provisioner",
    .process = &local_path_process,
    .event_source = "rancher.io/local-path",
    .event_style = EVENTS_CORE,
    .client_qps = local_path_client_qps,
    .rule_tables = RULE_TABLES(&claim_rules),
    PARTS(parts),
};
