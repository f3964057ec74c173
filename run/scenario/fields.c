/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of a scenario's fields (drivers: driver-fields.c); before them the readers of values
 * that only scenarios have. A row is name, type, place in the struct, flags, default and meaning:
 * it reads the file, finds faults, and makes the JSON Schema and the reference. Checks of several
 * fields stand with their struct; checks that need other parts of the scenario are in the later
 * stages of scenario.c. */
#include <string.h>

#include "models/api/fields.h"
#include "scenario-private.h"

/* ---- Nodes ---- */

static void
node_init(void *target)
{
    *(NodeFields *)target = (NodeFields){
        .nodes = {.count = 1, .autoscaler = {.scan_interval = 10 * SIM_SECOND}}
    };
}

static void
node_check(SchemaReader *reader, const json_t *value, void *target)
{
    NodeFields *fields = target;
    const char *name = fields->nodes.name;

    fields->source = value;
    fields->at = reader->at;
    fields->path = schema_intern(reader, reader->path->str);
    if (name == NULL)
        return;
    const char *place = strstr(name, "%d");
    g_auto(GStrv) parts = g_strsplit(name, "%d", -1);
    g_autofree char *first = g_strjoinv("0", parts);
    const char *fault = name_fault_subdomain(first);

    unsigned count = MAX(fields->nodes.count, fields->nodes.autoscaler.max);

    if (count > 1 && place == NULL)
        schema_fault_member(reader, value, "name", "such as \"node-%d\"",
                            "\"%s\" needs \"%%d\": there are %u nodes", name, count);
    else if (g_strv_length(parts) > 2)
        schema_fault_member(reader, value, "name", NULL, "\"%s\" has \"%%d\" twice", name);
    else if (fault != NULL)
        schema_fault_member(reader, value, "name", fault, "\"%s\" is not a valid name", name);
    else
        return;
    fields->nodes.name = NULL; /* other checks skip this group */
}

/* ---- Workload ---- */

static void
create_init(void *target)
{
    *(CreateFields *)target = (CreateFields){.lasts = -1};
}

/* Checks that there are 24 rates, none negative and not all 0. */
static void
check_daily(SchemaReader *reader, const json_t *value)
{
    const json_t *daily = json_object_get(value, "daily");
    double sum = 0;

    if (!json_is_array(daily))
        return;
    if (json_array_size(daily) != 24)
        schema_fault_member(reader, value, "daily", "one number for each hour of the day",
                            "has %zu numbers, not 24", json_array_size(daily));
    for (size_t i = 0; i < json_array_size(daily); i++) {
        const json_t *item = json_array_get(daily, i);
        if (!json_is_number(item) || json_number_value(item) < 0 ||
            json_number_value(item) > 1000) {
            SchemaPlace place = schema_enter_member(reader, value, "daily");
            SchemaPlace inner = schema_enter_item(reader, daily, i);
            schema_fault(reader, NULL, "must be a number from 0 to 1000");
            schema_leave(reader, inner);
            schema_leave(reader, place);
        } else {
            sum += json_number_value(item);
        }
    }
    if (sum == 0)
        schema_fault_member(reader, value, "daily", NULL, "nothing would ever arrive");
}

/* Fields that need several copies. */
static void
check_needs_count(SchemaReader *reader, const json_t *value)
{
    static const char *const members[] = {"interarrival", "lifetime", "keep", "for"};

    if (json_object_get(value, "count") != NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++)
        if (json_object_get(value, members[i]) != NULL)
            schema_fault_member(reader, value, members[i], NULL, "needs \"count\" beside it");
}

static void
drain_init(void *target)
{
    *(DrainFields *)target = (DrainFields){.grace_s = -1};
}

static void
drain_check(SchemaReader *reader, const json_t *value, void *target)
{
    const DrainFields *fields = target;

    (void)value;
    if ((fields->node == NULL) == (fields->node_of_pod == NULL))
        schema_fault(reader, "node: the name of a node",
                     "say by node or by nodeOfPod what is drained");
}

static void
create_check(SchemaReader *reader, const json_t *value, void *target)
{
    static const char *const paced[] = {"daily", "for"};
    const CreateFields *fields = target;
    const json_t *count = json_object_get(value, "count");

    if (json_is_integer(count) && json_integer_value(count) == 0)
        schema_fault_member(reader, value, "count", NULL, "0 copies are none: at least 1");
    check_needs_count(reader, value);
    for (unsigned i = 0; i < G_N_ELEMENTS(paced); i++)
        if (json_object_get(value, paced[i]) != NULL && fields->interarrival == NULL)
            schema_fault_member(reader, value, paced[i], NULL, "needs \"interarrival\" beside it");
    check_daily(reader, value);
}

static void
target_init(void *target)
{
    *(TargetFields *)target = (TargetFields){.grace_s = -1};
}

static void
action_init(void *target)
{
    *(ActionFields *)target =
        (ActionFields){.restart_after = -1, .lasts = -1, .factor = 1, .replica = REPLICA_LEADER};
}

static void
action_check(SchemaReader *reader, const json_t *value, void *target)
{
    ActionFields *fields = target;

    fields->source = value;
    fields->place = reader->at;
    fields->path = schema_intern(reader, reader->path->str);
}

static void
workload_check(SchemaReader *reader, const json_t *value, void *target)
{
    static const char *const actions[] = {"create", "delete", "patch",     "scale",
                                          "drain",  "taint",  "cordon",    "uncordon",
                                          "evict",  "from",   "setDriver", "expand"};
    unsigned n = 0;

    action_check(reader, value, target);
    for (unsigned i = 0; i < G_N_ELEMENTS(actions); i++)
        n += json_object_get(value, actions[i]) != NULL;
    if (n != 1)
        schema_fault(reader,
                     "one of create, delete, patch, scale, evict, drain, taint, cordon, uncordon, "
                     "setDriver, expand, from",
                     n == 0 ? "nothing is to be done here"
                            : "does %u things at once: make an item of each",
                     n);
}

/* ---- The whole ---- */

gboolean
scenario_parse_version(const char *version, int32_t *minor)
{
    const char *digits = g_str_has_prefix(version, "v") ? version + 1 : version;
    g_auto(GStrv) parts = g_strsplit(digits, ".", 3);
    gint64 number;

    if (g_strv_length(parts) < 2 || !g_str_equal(parts[0], "1") ||
        !g_ascii_string_to_signed(parts[1], 10, SCENARIO_MINOR_MIN, SCENARIO_MINOR_MAX, &number,
                                  NULL))
        return FALSE;
    *minor = (int32_t)number;
    return TRUE;
}

static void
read_version_text(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    int32_t minor;

    if (!schema_expect(reader, type, value, JSON_STRING))
        return;
    if (scenario_parse_version(json_string_value(value), &minor))
        *(int *)target = (int)minor;
    else
        schema_fault(reader, SCENARIO_VERSIONS, "\"%s\" is not a version of Kubernetes known here",
                     json_string_value(value));
}

const FileType scenario_version_type =
    SCHEMA_TEXT("version of Kubernetes",
                "a version",
                read_version_text,
                "{\"type\": \"string\", \"pattern\": \"^v?1\\\\.[0-9]+(\\\\..*)?$\"}",
                int);

/* A time, or "idle": scenario.c reads it. */
static void
read_until(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    SimTime time;

    (void)type;
    if (g_strcmp0(json_string_value(value), "idle") != 0)
        schema_read(reader, &schema_duration, value, &time);
    *(const json_t **)target = value;
}

static void
spec_init(void *target)
{
    *(SpecFields *)target = (SpecFields){.seed = 1,
                                         .recorded_from = UINT_MAX,
                                         .idle_for = 10 * SIM_MINUTE,
                                         .kubernetes.api_server_load = -1};
}

/* ==== The tables: a row for each field ==== */

/* clang-format off */

#define AT(type, member) offsetof(type, member)
#define END {NULL, NULL, 0, 0, NULL, NULL}

static const FileType drivers_type = SCHEMA_LIST(scenario_driver_type);

/* ---- Nodes ---- */

#define NODE_AT(member) AT(NodeFields, nodes.member)
static const char *const limit_words[] = {[LIMITS_UNLIMITED] = "unlimited", [LIMITS_KNOWN] = "known", [LIMITS_CSI_NODE] = "csi-node", NULL};
static const FileType limit_knowledge_type = SCHEMA_ENUM(limit_words);

#define SCALER_AT(member) NODE_AT(autoscaler.member) - NODE_AT(autoscaler)
static const FileField autoscaler_fields[] = {
    {"max", &schema_count, SCALER_AT(max), SCHEMA_REQUIRED, NULL, "Largest number of nodes in the group"},
    {"scanInterval", &schema_duration, SCALER_AT(scan_interval), 0, "10s",
     "Time between two checks for unschedulable pods"},
    {"delay", &schema_dist, SCALER_AT(delay), 0, "0s", "Time from the decision until the machine has joined"},
    {"attachLimits", &limit_knowledge_type, SCALER_AT(limits), 0, "unlimited",
     "Attach limits of future nodes: unlimited, as the real one assumes without a CSINode; known; or csi-node, those of a node of the group (KEP-5030)"},
    END,
};
static const FileType autoscaler_type = SCHEMA_STRUCT("autoscaler", autoscaler_fields,
    ((ScenarioNodes *)0)->autoscaler);

static const FileField node_fields[] = {
    {"count", &schema_count, NODE_AT(count), 0, "1", "Number of nodes"},
    {"name", &schema_string, NODE_AT(name), SCHEMA_REQUIRED, NULL,
     "Name of a node; %d stands for its number"},
    {"first", &schema_natural, NODE_AT(first), 0, "0", "Number of the first node"},
    {"zones", &schema_strings, NODE_AT(zones), 0, "none",
     "Zones, assigned to the nodes in turn: label topology.kubernetes.io/zone"},
    {"labels", &schema_string_map, NODE_AT(labels), 0, "none", "More labels"},
    {"annotations", &schema_string_map, NODE_AT(annotations), 0, "none", "Annotations"},
    {"taints", &schema_list_any, NODE_AT(taints), 0, "none", "As in a Node"},
    {"allocatable", &schema_resources, NODE_AT(allocatable), 0, "cpu: 8, memory: 32Gi, pods: 110",
     "As in a Node"},
    {"kubeletVersion", &scenario_version_type, NODE_AT(kubelet_minor), 0, "that of the cluster",
     "Release of the kubelets"},
    {"kubelet", &scenario_kubelet_flags_type, NODE_AT(kubelet), 0, "defaults",
     "Fields of KubeletConfiguration"},
    {"autoscaler", &autoscaler_type, NODE_AT(autoscaler), 0, "none",
     "Adds nodes of this kind when pods are unschedulable"},
    END,
};

static const FileType node_type = SCHEMA_STRUCT("nodes", node_fields, NodeFields, .init = node_init,
    .check = node_check);
static const FileType nodes_type = SCHEMA_LIST(node_type);

/* ---- Workload ---- */

static const FileField create_fields[] = {
    {"manifest", &schema_any, AT(CreateFields, manifest), SCHEMA_REQUIRED, NULL,
     "File name, object, or list of these: created one after the other; a Node is a machine that joins"},
    {"count", &schema_natural, AT(CreateFields, count), 0, "once, names as they are",
     "Number of copies: name-0, name-1, ...; references between them follow"},
    {"interarrival", &schema_dist, AT(CreateFields, interarrival), 0, "all at once",
     "Time between two copies; exponential: random arrivals (Poisson)"},
    {"daily", &schema_list_any, AT(CreateFields, daily), 0, "evenly",
     "24 factors of the arrival rate, for each hour of the day from midnight; the run begins at midnight"},
    {"for", &schema_duration, AT(CreateFields, lasts), 0, "until all copies exist",
     "Time between the first and the last possible copy"},
    {"lifetime", &schema_dist, AT(CreateFields, lifetime), 0, "for ever",
     "Time from the last object of a copy to its deletion, last object first"},
    {"keep", &schema_natural, AT(CreateFields, keep), 0, "all",
     "Largest number of copies; beyond it the oldest is deleted: churn at the rate of the arrivals"},
    END,
};

static const FileType create_type = SCHEMA_STRUCT("create", create_fields, CreateFields,
    .init = create_init, .check = create_check);

#define TARGET_FIELDS(kinds) \
    {"kind", &schema_string, AT(TargetFields, kind), SCHEMA_REQUIRED, NULL, kinds}, \
    {"apiVersion", &schema_string, AT(TargetFields, api_version), 0, "as Kubernetes serves the kind", \
     "For kinds of CustomResourceDefinitions"}, \
    {"namespace", &schema_string, AT(TargetFields, namespace), 0, "default", "Namespace of the object"}

static const FileType grace_type = SCHEMA_TYPE("whole number", "a whole number of seconds",
    schema_read_integer, schema_json_integer, int64_t, .min = 0, .max = 1e6);

static const char *const propagation_words[] = {
    [API_BACKGROUND] = "Background", [API_FOREGROUND] = "Foreground", [API_ORPHAN] = "Orphan", NULL};
static const FileType propagation_type = SCHEMA_ENUM(propagation_words);

static const FileField delete_fields[] = {
    TARGET_FIELDS("As in manifests"),
    {"name", &schema_string, AT(TargetFields, name), 0, NULL,
     "Name of the object, with * and ? for several; for a PersistentVolume this or volumeOfClaim"},
    {"volumeOfClaim", &schema_string, AT(TargetFields, volume_of_claim), 0, NULL,
     "For kind PersistentVolume: name of the claim of the volume"},
    {"gracePeriodSeconds", &grace_type, AT(TargetFields, grace_s), 0, "the object's",
     "As kubectl delete --grace-period"},
    {"propagationPolicy", &propagation_type, AT(TargetFields, propagation), 0, "Background",
     "As kubectl delete --cascade: whether the objects that it owns go later, first, or stay"},
    {"node", &schema_string, AT(TargetFields, node), 0, "any", "For kind Pod: only pods on this node"},
    {"one", &schema_bool, AT(TargetFields, one), 0, "false",
     "Only the first object that matches and is not being deleted"},
    END,
};
static const FileField evict_fields[] = {
    {"namespace", &schema_string, AT(TargetFields, namespace), 0, "default", "Namespace of the pod"},
    {"name", &schema_string, AT(TargetFields, name), SCHEMA_REQUIRED, NULL,
     "Name of the pod; with * and ? the first pod that matches and is not being deleted"},
    {"node", &schema_string, AT(TargetFields, node), 0, "any", "Only pods on this node"},
    {"gracePeriodSeconds", &grace_type, AT(TargetFields, grace_s), 0, "the pod's",
     "As kubectl drain --grace-period"},
    END,
};
static const FileType evict_type = SCHEMA_STRUCT("evict", evict_fields, TargetFields,
    .init = target_init);
static const FileType delete_type = SCHEMA_STRUCT("delete", delete_fields, TargetFields,
    .init = target_init);

static const char *const subresource_words[] = {
    [SUBRESOURCE_NONE] = "none", [SUBRESOURCE_STATUS] = "status", [SUBRESOURCE_BINDING] = "binding", NULL};
static const FileType subresource_type = SCHEMA_ENUM(subresource_words);

static const FileField patch_fields[] = {
    TARGET_FIELDS("As in manifests"),
    {"name", &schema_string, AT(TargetFields, name), 0, NULL,
     "Name of the object; for a Node this or nodeOfPod"},
    {"nodeOfPod", &schema_string, AT(TargetFields, node_of_pod), 0, NULL,
     "For kind Node: name of a pod (* and ? match) on that node at that time"},
    {"volumeOfClaim", &schema_string, AT(TargetFields, volume_of_claim), 0, NULL,
     "For kind PersistentVolume: name of the claim of the volume"},
    {"patch", &schema_object, AT(TargetFields, patch), SCHEMA_REQUIRED, NULL, "A merge patch"},
    {"subresource", &subresource_type, AT(TargetFields, subresource), 0, "none",
     "Part of the object that is written; binding: of a Pod, to the node spec.nodeName of the patch"},
    END,
};
static const FileType patch_type = SCHEMA_STRUCT("patch", patch_fields, TargetFields, .init = target_init);

static const FileField scale_fields[] = {
    {"kind", &schema_string, AT(TargetFields, kind), 0, "StatefulSet",
     "StatefulSet, Deployment or ReplicaSet"},
    {"namespace", &schema_string, AT(TargetFields, namespace), 0, "default", "Namespace of the object"},
    {"name", &schema_string, AT(TargetFields, name), SCHEMA_REQUIRED, NULL, "Name of the object"},
    {"replicas", &schema_natural, AT(TargetFields, replicas), SCHEMA_REQUIRED, NULL,
     "New number of replicas"},
    END,
};
static const FileField drain_fields[] = {
    {"node", &schema_string, AT(DrainFields, node), 0, NULL, "Name of the node; this or nodeOfPod"},
    {"nodeOfPod", &schema_string, AT(DrainFields, node_of_pod), 0, NULL,
     "Name of a pod (* and ? match) on that node at that time"},
    {"ignoreDaemonSets", &schema_bool, AT(DrainFields, ignore_daemon_sets), 0, "false",
     "Leave pods of DaemonSets; otherwise such a pod blocks all evictions"},
    {"deleteEmptyDirData", &schema_bool, AT(DrainFields, delete_empty_dir), 0, "false",
     "Evict pods with an emptyDir, too; otherwise such a pod blocks all evictions"},
    {"force", &schema_bool, AT(DrainFields, force), 0, "false",
     "Evict pods without a controller, too; otherwise such a pod blocks all evictions"},
    {"gracePeriodSeconds", &grace_type, AT(DrainFields, grace_s), 0, "the pod's",
     "As kubectl drain --grace-period"},
    {"timeout", &schema_duration, AT(DrainFields, timeout), 0, "0s: none",
     "Time after which the drain gives up"},
    END,
};
static const FileType drain_type = SCHEMA_STRUCT("drain", drain_fields, DrainFields, .init = drain_init,
    .check = drain_check);

static const FileType scale_type = SCHEMA_STRUCT("scale", scale_fields, TargetFields, .init = target_init);

static const FileField workload_fields[] = {
    {"at", &schema_duration, AT(ActionFields, at), 0, "0s", "Time"},
    {"create", &create_type, AT(ActionFields, create), 0, NULL, "Create objects"},
    {"delete", &delete_type, AT(ActionFields, delete), 0, NULL,
     "Delete objects, like kubectl delete"},
    {"patch", &patch_type, AT(ActionFields, patch), 0, NULL, "Change an object"},
    {"scale", &scale_type, AT(ActionFields, scale), 0, NULL,
     "Scale a StatefulSet, Deployment or ReplicaSet"},
    {"evict", &evict_type, AT(ActionFields, evict), 0, NULL,
     "Ask once for the eviction of a pod; a budget may refuse it"},
    {"drain", &drain_type, AT(ActionFields, drain), 0, NULL,
     "Evict the pods of a node, like kubectl drain"},
    {"taint", &scenario_taint_type, AT(ActionFields, taint), 0, NULL,
     "Add or remove taints of a node, like kubectl taint"},
    {"cordon", &scenario_cordon_type, AT(ActionFields, cordon), 0, NULL,
     "Close a node for new pods, like kubectl cordon"},
    {"uncordon", &scenario_uncordon_type, AT(ActionFields, uncordon), 0, NULL,
     "Open a node for new pods again"},
    {"expand", &scenario_expand_type, AT(ActionFields, expand), 0, NULL,
     "Expand claims that are nearly full, from then on, like pvc-autoresizer"},
    {"setDriver", &scenario_set_driver_type, AT(ActionFields, set_driver), 0, NULL,
     "Change the behaviour of a driver"},
    {"from", &schema_string, AT(ActionFields, from), 0, NULL,
     "File with a list of such items, which take this item's place"},
    {"code", &schema_natural, AT(ActionFields, code), 0, "any success",
     "HTTP code of a request that failed in a recording: noted if it ends otherwise in the run"},
    END,
};
static const FileType action_type = SCHEMA_STRUCT("action", workload_fields, ActionFields,
    .init = action_init, .check = workload_check);
static const FileType workload_type = SCHEMA_LIST(action_type);

static const FileField fault_fields[] = {
    {"at", &schema_duration, AT(ActionFields, at), 0, "0s", "Time"},
    {"component", &schema_string, AT(ActionFields, component), 0, NULL,
     "Process to strike, or kube-apiserver"},
    {"driver", &schema_string, AT(ActionFields, driver), 0, "the only driver",
     "Driver to strike; for a component: the driver of the sidecar"},
    {"node", &schema_string, AT(ActionFields, node), 0, NULL,
     "Node to strike; for a component or driver: its node"},
    {"zone", &schema_string, AT(ActionFields, zone), 0, NULL, "Zone whose nodes are all struck"},
    {"replica", &schema_natural, AT(ActionFields, replica), 0, "the leader, else 0",
     "Number of the replica: 0, 1, ..."},
    {"nodeOfPod", &schema_string, AT(ActionFields, pod_of_node), 0, NULL,
     "Name of a pod (* and ? match) on that node at that time"},
    {"do", &schema_string, AT(ActionFields, what), SCHEMA_REQUIRED, NULL, "Kind of fault: see Faults"},
    {"restartAfter", &schema_duration, AT(ActionFields, restart_after), 0,
     "never; reboot: 1m; restart of a driver: 1s", "Time after which a dead process or machine starts again"},
    {"for", &schema_duration, AT(ActionFields, lasts), 0, "for ever", "Duration of the fault"},
    {"factor", &schema_rate, AT(ActionFields, factor), 0, NULL, "slow: factor of all durations"},
    {"seats", &schema_count, AT(ActionFields, seats), 0, NULL,
     "limit-seats: number of requests that the API server serves at once (600 in real clusters)"},
    {"claim", &schema_string, AT(ActionFields, claim), 0, "all",
     "lose-volumes, abnormal-volumes: name of the claims (* and ? match) of the volumes"},
    {"message", &schema_string, AT(ActionFields, message), 0, "the volume is damaged",
     "abnormal-volumes: message of the volumes' condition"},
    {"version", &scenario_version_type, AT(ActionFields, minor), 0, "as before",
     "stop-kubelet: release of the kubelet that starts again"},
    END,
};
static const FileType fault_type = SCHEMA_STRUCT("fault", fault_fields, ActionFields, .init = action_init,
    .check = action_check);
static const FileType faults_type = SCHEMA_LIST(fault_type);

/* ---- The whole ---- */

#define KUBERNETES_AT(member) (AT(SpecFields, kubernetes.member) - AT(SpecFields, kubernetes))
static const FileField kubernetes_fields[] = {
    {"version", &schema_string, KUBERNETES_AT(version), 0, "1.32",
     "Version in quotes, because 1.30 is a number"},
    {"featureGates", &schema_bool_map, KUBERNETES_AT(feature_gates), 0, "the version's defaults",
     "Feature gates by name"},
    {"unlimitedQPS", &schema_bool, KUBERNETES_AT(unlimited_qps), 0, "false", "No client throttling anywhere"},
    {"apiServerLoad", &schema_part, KUBERNETES_AT(api_server_load), 0, "the timing's (0.5)",
     "Part of a request's duration for which later requests wait; the more cores the API server has, the less. 0: none wait"},
    {"podSandbox", &schema_dist, KUBERNETES_AT(pod_sandbox), 0, "the timing's (0s)",
     "Time for a pod's sandbox with its network, after its volumes are mounted"},
    {"imagePull", &schema_dist, KUBERNETES_AT(image_pull), 0, "the timing's (0s)",
     "Time to pull an image: once for each node, one after the other"},
    END,
};
static const FileType kubernetes_type = SCHEMA_STRUCT("kubernetes", kubernetes_fields,
    ((SpecFields *)0)->kubernetes);

static const FileType until_type =
    SCHEMA_TEXT("duration, or idle", "a duration, or \"idle\"", read_until, "{\"type\": \"string\"}", json_t *);

static const FileField spec_fields[] = {
    {"description", &schema_text, AT(SpecFields, description), 0, NULL, "Purpose of the scenario"},
    {"seed", &schema_integer, AT(SpecFields, seed), 0, "1", "Seed of all random draws"},
    {"until", &until_type, AT(SpecFields, until), 0, "idle",
     "End of the run, in virtual time; idle: when only Events and heartbeats have changed for idleFor"},
    {"idleFor", &schema_duration, AT(SpecFields, idle_for), 0, "10m", "Length of that idle time"},
    {"start", &schema_text, AT(SpecFields, start), 0, "newest time of objects with a uid",
     "Time of the cluster's clocks at t = 0, as in 2026-01-01T00:00:00Z"},
    {"recordedFrom", &schema_natural, AT(SpecFields, recorded_from), 0, "none",
     "Number of the first item of the workload, from 0, that a session of `serve` recorded: what clients did then, to objects of controllers, too"},
    {"kubernetes", &kubernetes_type, AT(SpecFields, kubernetes), 0, NULL, "The cluster's version"},
    {"timing", &schema_string, AT(SpecFields, timing), 0, "timing-1.32",
     "Profile with the durations of requests and loops"},
    {"nodes", &nodes_type, AT(SpecFields, nodes), 0, "nodes of the manifests", "Nodes, in groups"},
    {"drivers", &drivers_type, AT(SpecFields, drivers), 0, "none", "CSI drivers"},
    {"components", &scenario_components_type, AT(SpecFields, components), 0, "defaults",
     "Flags of the control plane, by their real names; `kubelet`: of the kubelets of Nodes in manifests"},
    {"manifests", &schema_any, AT(SpecFields, manifests), 0, "none",
     "Files with more objects that exist from the start"},
    {"workload", &workload_type, AT(SpecFields, workload), 0, "none", "Actions from outside"},
    {"faults", &faults_type, AT(SpecFields, faults), 0, "none", "Faults"},
    {"slo", &scenario_slos_type, AT(SpecFields, slo), 0, "none", "Time limits that the run must meet"},
    {"expect", &scenario_expects_type, AT(SpecFields, expect), 0, "none", "Expected states, with their times"},
    END,
};

static const FileType spec_type = SCHEMA_STRUCT("spec", spec_fields, SpecFields, .init = spec_init);

#define METADATA_AT(member) (AT(ScenarioFields, metadata.member) - AT(ScenarioFields, metadata))
static const FileField metadata_fields[] = {
    {"name", &schema_dns_label, METADATA_AT(name), SCHEMA_REQUIRED, NULL, "Name of the scenario"},
    {"labels", &schema_string_map, METADATA_AT(labels), 0, NULL, "Ignored"},
    {"annotations", &schema_string_map, METADATA_AT(annotations), 0, NULL, "Ignored"},
    END,
};
static const FileType metadata_type = SCHEMA_STRUCT("metadata", metadata_fields,
    ((ScenarioFields *)0)->metadata);

static const FileField scenario_fields[] = {
    {"apiVersion", &schema_string, AT(ScenarioFields, api_version), SCHEMA_REQUIRED, NULL, "kvolsim.io/v1"},
    {"kind", &schema_string, AT(ScenarioFields, kind), SCHEMA_REQUIRED, NULL, "Scenario"},
    {"metadata", &metadata_type, AT(ScenarioFields, metadata), SCHEMA_REQUIRED, NULL, "Its name"},
    {"spec", &spec_type, AT(ScenarioFields, spec), SCHEMA_REQUIRED, NULL, "Content"},
    END,
};
const FileType scenario_file_type = SCHEMA_STRUCT("Scenario", scenario_fields, ScenarioFields);

/* models/profiles/timing-*.yaml */
static const FileField timing_fields[] = {
    {"write", &schema_dist, AT(Timing, write), SCHEMA_REQUIRED, NULL, "A write, arrival to response"},
    {"think", &schema_dist, AT(Timing, think), SCHEMA_REQUIRED, NULL,
     "A component's own time before a request or call"},
    {"watch", &schema_dist, AT(Timing, watch), SCHEMA_REQUIRED, NULL,
     "A watch event, from the end of the response"},
    {"createFactor", &schema_rate, AT(Timing, create_factor), SCHEMA_REQUIRED, NULL,
     "Factor of write for POST"},
    {"updateFactor", &schema_rate, AT(Timing, update_factor), SCHEMA_REQUIRED, NULL, "Factor for PUT"},
    {"patchFactor", &schema_rate, AT(Timing, patch_factor), SCHEMA_REQUIRED, NULL, "Factor for PATCH"},
    {"deleteFactor", &schema_rate, AT(Timing, delete_factor), SCHEMA_REQUIRED, NULL, "Factor for DELETE"},
    {"readFactor", &schema_rate, AT(Timing, read_factor), SCHEMA_REQUIRED, NULL, "Factor for GET and LIST"},
    {"notFoundFactor", &schema_rate, AT(Timing, not_found_factor), SCHEMA_REQUIRED, NULL,
     "Factor for answers with 404"},
    {"eventFactor", &schema_rate, AT(Timing, event_factor), SCHEMA_REQUIRED, NULL, "Factor for an Event"},
    {"load", &schema_part, AT(Timing, load), SCHEMA_REQUIRED, NULL,
     "Part of a request's duration that is work, for which later requests wait; 0: none wait"},
    {"sidecarStart", &schema_dist, AT(Timing, sidecar_start), SCHEMA_REQUIRED, NULL,
     "From the start of a sidecar to its first call, after a crash"},
    {"schedulerStart", &schema_dist, AT(Timing, scheduler_start), SCHEMA_REQUIRED, NULL,
     "From the start of kube-scheduler to its first work"},
    {"managerStart", &schema_dist, AT(Timing, manager_start), SCHEMA_REQUIRED, NULL,
     "From the start of kube-controller-manager to its first work"},
    {"kubeletStart", &schema_dist, AT(Timing, kubelet_start), SCHEMA_REQUIRED, NULL,
     "From the start of a kubelet to its first call"},
    {"podSandbox", &schema_dist, AT(Timing, pod_sandbox), 0, "0s",
     "A pod's sandbox with its network, after its volumes are mounted"},
    {"imagePull", &schema_dist, AT(Timing, image_pull), 0, "0s",
     "The pull of an image that the node does not have"},
    {"watchOrder", &schema_probability, AT(Timing, watch_order), SCHEMA_REQUIRED, NULL,
     "Probability that a watch event waits for earlier events of other kinds to the same client"},
    {"watchLead", &schema_duration, AT(Timing, watch_lead), SCHEMA_REQUIRED, NULL,
     "Longest time from the commit of a write to the end of the response"},
    {"cycle", &schema_dist, AT(Timing, cycle), SCHEMA_REQUIRED, NULL,
     "A scheduling cycle that ends before it looks at nodes"},
    {"cycleFilter", &schema_dist, AT(Timing, cycle_filter), SCHEMA_REQUIRED, NULL,
     "What it takes longer if it looks at nodes"},
    {"cycleNode", &schema_duration, AT(Timing, cycle_node), SCHEMA_REQUIRED, NULL, "... for each node"},
    {"cycleScore", &schema_duration, AT(Timing, cycle_score), SCHEMA_REQUIRED, NULL,
     "... if it chooses among several nodes"},
    {"loopPass", &schema_duration, AT(Timing, loop_pass), SCHEMA_REQUIRED, NULL,
     "An idle pass of a loop and its timer's lateness, beside the loop's period"},
    {"attachDetachPass", &schema_duration, AT(Timing, attach_detach_pass), SCHEMA_REQUIRED, NULL,
     "The same of the attach/detach controller's reconciler"},
    {"relistPass", &schema_duration, AT(Timing, relist_pass), SCHEMA_REQUIRED, NULL,
     "The same of a kubelet's relist"},
    {"statusPass", &schema_duration, AT(Timing, status_pass), SCHEMA_REQUIRED, NULL,
     "The same of a kubelet's report of its Node's status"},
    END,
};
const FileType scenario_timing_type = SCHEMA_STRUCT("timing", timing_fields, Timing);

/* clang-format on */
