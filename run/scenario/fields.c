/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/fields.h"
#include "scenario-private.h"
#include "stage.h"

/* The tables of the fields of a scenario, below (drivers: scenario-driver-format.c); before them
 * what reads the values that only scenarios have. */

static const FormatType range_type;

/* ---- Nodes ---- */

static void
node_init(void *target)
{
    *(NodeFields *)target = (NodeFields){
        .nodes = {.count = 1, .autoscaler = {.scan_interval = 10 * SIM_SECOND}}
    };
}

static void
node_check(FormatReader *reader, const json_t *value, void *target)
{
    NodeFields *fields = target;
    const char *name = fields->nodes.name;

    fields->source = value;
    fields->at = reader->at;
    fields->path = format_intern(reader, reader->path->str);
    if (name == NULL)
        return;
    const char *place = strstr(name, "%d");
    g_auto(GStrv) parts = g_strsplit(name, "%d", -1);
    g_autofree char *first = g_strjoinv("0", parts);
    const char *fault = name_fault_subdomain(first);

    unsigned count = MAX(fields->nodes.count, fields->nodes.autoscaler.max);

    if (count > 1 && place == NULL)
        format_fault_member(reader, value, "name", "such as \"node-%d\"",
                            "\"%s\" needs \"%%d\": there are %u nodes", name, count);
    else if (g_strv_length(parts) > 2)
        format_fault_member(reader, value, "name", NULL, "\"%s\" has \"%%d\" twice", name);
    else if (fault != NULL)
        format_fault_member(reader, value, "name", fault, "\"%s\" is not a valid name", name);
    else
        return;
    fields->nodes.name = NULL; /* of no use to other checks */
}

/* ---- Workload ---- */

static void
create_init(void *target)
{
    *(CreateFields *)target = (CreateFields){.lasts = -1};
}

/* 24 rates that are not negative, and not all 0. */
static void
check_daily(FormatReader *reader, const json_t *value)
{
    const json_t *daily = json_object_get(value, "daily");
    double sum = 0;

    if (!json_is_array(daily))
        return;
    if (json_array_size(daily) != 24)
        format_fault_member(reader, value, "daily", "one number for each hour of the day",
                            "has %zu numbers, not 24", json_array_size(daily));
    for (size_t i = 0; i < json_array_size(daily); i++) {
        const json_t *item = json_array_get(daily, i);
        if (!json_is_number(item) || json_number_value(item) < 0 ||
            json_number_value(item) > 1000) {
            FormatPlace place = format_enter_member(reader, value, "daily");
            FormatPlace inner = format_enter_item(reader, daily, i);
            format_fault(reader, NULL, "must be a number from 0 to 1000");
            format_leave(reader, inner);
            format_leave(reader, place);
        } else {
            sum += json_number_value(item);
        }
    }
    if (sum == 0)
        format_fault_member(reader, value, "daily", NULL, "nothing would ever arrive");
}

/* What makes sense of several copies only. */
static void
check_needs_count(FormatReader *reader, const json_t *value)
{
    static const char *const members[] = {"interarrival", "lifetime", "keep", "for"};

    if (json_object_get(value, "count") != NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++)
        if (json_object_get(value, members[i]) != NULL)
            format_fault_member(reader, value, members[i], NULL, "needs \"count\" beside it");
}

static void
drain_init(void *target)
{
    *(DrainFields *)target = (DrainFields){.grace_s = -1};
}

static void
drain_check(FormatReader *reader, const json_t *value, void *target)
{
    const DrainFields *fields = target;

    (void)value;
    if ((fields->node == NULL) == (fields->node_of_pod == NULL))
        format_fault(reader, "node: the name of a node",
                     "say by node or by nodeOfPod what is drained");
}

static void
create_check(FormatReader *reader, const json_t *value, void *target)
{
    static const char *const paced[] = {"daily", "for"};
    const CreateFields *fields = target;
    const json_t *count = json_object_get(value, "count");

    if (json_is_integer(count) && json_integer_value(count) == 0)
        format_fault_member(reader, value, "count", NULL, "0 copies are none: at least 1");
    check_needs_count(reader, value);
    for (unsigned i = 0; i < G_N_ELEMENTS(paced); i++)
        if (json_object_get(value, paced[i]) != NULL && fields->interarrival == NULL)
            format_fault_member(reader, value, paced[i], NULL, "needs \"interarrival\" beside it");
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
action_check(FormatReader *reader, const json_t *value, void *target)
{
    ActionFields *fields = target;

    fields->source = value;
    fields->place = reader->at;
    fields->path = format_intern(reader, reader->path->str);
}

static void
workload_check(FormatReader *reader, const json_t *value, void *target)
{
    static const char *const actions[] = {"create", "delete", "patch",    "scale",    "drain",
                                          "taint",  "cordon", "uncordon", "setDriver"};
    unsigned n = 0;

    action_check(reader, value, target);
    for (unsigned i = 0; i < G_N_ELEMENTS(actions); i++)
        n += json_object_get(value, actions[i]) != NULL;
    if (n != 1)
        format_fault(
            reader,
            "one of create, delete, patch, scale, drain, taint, cordon, uncordon, setDriver",
            n == 0 ? "nothing is to be done here" : "does %u things at once: make an item of each",
            n);
}

/* ---- What is expected ---- */

static void
slo_init(void *target)
{
    *(SloFields *)target = (SloFields){.quantile = 1};
}

static void
slo_check(FormatReader *reader, const json_t *value, void *target)
{
    (void)value;
    ((SloFields *)target)->place = reader->at;
}

/* 3, or {min: 2, max: 4}. */
static void
read_count(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    CountFields *count = target;

    (void)type;
    if (!json_is_object(value)) {
        format_read(reader, &format_integer, value, &count->min);
        count->max = count->min;
        return;
    }
    *count = (CountFields){0, INT64_MAX};
    format_read_fields(reader, range_type.fields, value, count, FALSE);
    if (count->min > count->max)
        format_fault(reader, NULL, "\"min\" is greater than \"max\"");
}

static json_t *
schema_count(const FormatType *type)
{
    (void)type;
    return json_pack("{s:[o, o]}", "anyOf", format_schema_integer(&format_integer),
                     format_schema_struct(&range_type));
}

static void
expected_init(void *target)
{
    *(ExpectedFields *)target = (ExpectedFields){
        .ready = -1, .capacity = -1, .count = {-1, -1}
    };
}

static void
expected_check(FormatReader *reader, const json_t *value, void *target)
{
    (void)reader;
    (void)value;
    ((ExpectedFields *)target)->is_given = TRUE;
}

/* A word of a table, kept as text. */
static void
read_word(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    int which = -1;

    format_read_enum(reader, type, value, &which);
    if (which >= 0)
        *(const char **)target = type->words[which];
}

static void
expect_init(void *target)
{
    *(ExpectFields *)target = (ExpectFields){.at = SIM_TIME_MAX};
}

static void
expect_check(FormatReader *reader, const json_t *value, void *target)
{
    ExpectFields *fields = target;

    fields->source = value;
    fields->place = reader->at;
    fields->path = format_intern(reader, reader->path->str);
    if (json_object_size(value) == (json_object_get(value, "at") != NULL))
        format_fault(reader, "one of pods, claims, volumes, attachments, nodes, driverVolumes",
                     "nothing is expected here");
}

/* ---- The whole ---- */

static json_t *
schema_until(const FormatType *type)
{
    (void)type;
    return json_pack("{s:s}", "type", "string");
}

/* A time, or "idle": read by scenario.c. */
static void
read_until(FormatReader *reader, const FormatType *type, const json_t *value, void *target)
{
    SimTime time;

    (void)type;
    if (g_strcmp0(json_string_value(value), "idle") != 0)
        format_read(reader, &format_duration, value, &time);
    *(const json_t **)target = value;
}

static void
spec_init(void *target)
{
    *(SpecFields *)target = (SpecFields){.seed = 1, .idle_for = 10 * SIM_MINUTE};
}

/* ==== The tables: a row for each field ==== */

/* clang-format off */

#define AT(type, member) offsetof(type, member)
#define END {NULL, NULL, 0, 0, NULL, NULL}

static const FormatType drivers_type = FORMAT_LIST(scenario_driver_format);

/* ---- Nodes ---- */

#define NODE_AT(member) AT(NodeFields, nodes.member)
static const char *const limit_words[] = {"unlimited", "known", NULL};
static const FormatType limit_knowledge_type = FORMAT_ENUM(limit_words);

#define SCALER_AT(member) NODE_AT(autoscaler.member) - NODE_AT(autoscaler)
static const FormatField autoscaler_fields[] = {
    {"max", &format_count, SCALER_AT(max), FORMAT_REQUIRED, NULL, "Nodes of the group at most"},
    {"scanInterval", &format_duration, SCALER_AT(scan_interval), 0, "10s", "Between two looks at pods that no node takes"},
    {"delay", &format_dist, SCALER_AT(delay), 0, "0s", "From the decision until the machine has joined"},
    {"attachLimits", &limit_knowledge_type, SCALER_AT(knows_limits), 0, "unlimited", "What it thinks of volumes on a node that is not there yet: unlimited, as the real one without a CSINode, or known"},
    END,
};
static const FormatType autoscaler_type = FORMAT_STRUCT("autoscaler", autoscaler_fields, ((ScenarioNodes *)0)->autoscaler);

static const FormatField node_fields[] = {
    {"count", &format_count, NODE_AT(count), 0, "1", "How many nodes"},
    {"name", &format_string, NODE_AT(name), FORMAT_REQUIRED, NULL, "With %d for the number"},
    {"first", &format_natural, NODE_AT(first), 0, "0", "The first node's number"},
    {"zones", &format_strings, NODE_AT(zones), 0, "none", "Dealt round: label topology.kubernetes.io/zone"},
    {"labels", &format_string_map, NODE_AT(labels), 0, "none", "More labels"},
    {"annotations", &format_string_map, NODE_AT(annotations), 0, "none", "Annotations"},
    {"taints", &format_list_any, NODE_AT(taints), 0, "none", "As in a Node"},
    {"allocatable", &format_resources, NODE_AT(allocatable), 0, "cpu: 8, memory: 32Gi, pods: 110", "As in a Node"},
    {"kubelet", &scenario_kubelet_flags_format, NODE_AT(kubelet), 0, "defaults", "Fields of KubeletConfiguration"},
    {"autoscaler", &autoscaler_type, NODE_AT(autoscaler), 0, "none", "More nodes of this kind come when pods are unschedulable"},
    END,
};

static const FormatType node_type = FORMAT_STRUCT("nodes", node_fields, NodeFields, .init = node_init, .check = node_check);
static const FormatType nodes_type = FORMAT_LIST(node_type);

/* ---- Workload ---- */

static const FormatField create_fields[] = {
    {"manifest", &format_any, AT(CreateFields, manifest), FORMAT_REQUIRED, NULL, "File name, object, or list of these: created one after the other; a Node is a machine that joins"},
    {"count", &format_natural, AT(CreateFields, count), 0, "once, names as they are", "So many copies: name-0, name-1, ...; references between them follow"},
    {"interarrival", &format_dist, AT(CreateFields, interarrival), 0, "all at once", "Time between two copies; exponential: they come at random (Poisson)"},
    {"daily", &format_list_any, AT(CreateFields, daily), 0, "evenly", "24 numbers: how many times as fast copies arrive in each hour of the day, from midnight; the run begins at midnight"},
    {"for", &format_duration, AT(CreateFields, lasts), 0, "until all are there", "No copy arrives later than so long after the first"},
    {"lifetime", &format_dist, AT(CreateFields, lifetime), 0, "for ever", "How long after its last object a copy is deleted again, the last object first"},
    {"keep", &format_natural, AT(CreateFields, keep), 0, "all", "When there are more copies than so many, the oldest is deleted: churn at the rate of the arrivals"},
    END,
};

static const FormatType create_type = FORMAT_STRUCT("create", create_fields, CreateFields, .init = create_init, .check = create_check);

#define TARGET_FIELDS(kinds) \
    {"kind", &format_string, AT(TargetFields, kind), FORMAT_REQUIRED, NULL, kinds}, \
    {"namespace", &format_string, AT(TargetFields, namespace), 0, "default", "Of the object"}

static const FormatType grace_type = {.name = "whole number", .wanted = "a whole number of seconds", .read = format_read_integer, .schema = format_schema_integer, .size = sizeof(int64_t), .min = 0, .max = 1e6};

static const FormatField delete_fields[] = {
    TARGET_FIELDS("As in manifests"),
    {"name", &format_string, AT(TargetFields, name), 0, NULL, "With * and ? of several objects; of a PersistentVolume this or volumeOfClaim"},
    {"volumeOfClaim", &format_string, AT(TargetFields, volume_of_claim), 0, NULL, "Of kind PersistentVolume: that of the claim of this name"},
    {"gracePeriodSeconds", &grace_type, AT(TargetFields, grace_s), 0, "the object's", "As kubectl delete --grace-period"},
    END,
};
static const FormatType delete_type = FORMAT_STRUCT("delete", delete_fields, TargetFields, .init = target_init);

static const FormatField patch_fields[] = {
    TARGET_FIELDS("As in manifests"),
    {"name", &format_string, AT(TargetFields, name), 0, NULL, "Of the object; of a Node this or nodeOfPod"},
    {"nodeOfPod", &format_string, AT(TargetFields, node_of_pod), 0, NULL, "Of kind Node: the node that the pod of this name (* and ? match) is on by then"},
    {"patch", &format_object, AT(TargetFields, patch), FORMAT_REQUIRED, NULL, "A merge patch"},
    END,
};
static const FormatType patch_type = FORMAT_STRUCT("patch", patch_fields, TargetFields, .init = target_init);

static const FormatField scale_fields[] = {
    {"kind", &format_string, AT(TargetFields, kind), 0, "StatefulSet", "Or Deployment, ReplicaSet"},
    {"namespace", &format_string, AT(TargetFields, namespace), 0, "default", "Of the object"},
    {"name", &format_string, AT(TargetFields, name), FORMAT_REQUIRED, NULL, "Of the object"},
    {"replicas", &format_natural, AT(TargetFields, replicas), FORMAT_REQUIRED, NULL, "How many from now on"},
    END,
};
static const FormatField drain_fields[] = {
    {"node", &format_string, AT(DrainFields, node), 0, NULL, "Its name; this or nodeOfPod"},
    {"nodeOfPod", &format_string, AT(DrainFields, node_of_pod), 0, NULL, "The node that the pod of this name (* and ? match) is on by then"},
    {"ignoreDaemonSets", &format_bool, AT(DrainFields, ignore_daemon_sets), 0, "false", "Leave pods of DaemonSets; else nothing is evicted where there are some"},
    {"deleteEmptyDirData", &format_bool, AT(DrainFields, delete_empty_dir), 0, "false", "Evict pods with an emptyDir as well; else nothing is evicted where there are some"},
    {"force", &format_bool, AT(DrainFields, force), 0, "false", "Evict pods that nobody controls as well; else nothing is evicted where there are some"},
    {"gracePeriodSeconds", &grace_type, AT(DrainFields, grace_s), 0, "the pod's", "As kubectl drain --grace-period"},
    {"timeout", &format_duration, AT(DrainFields, timeout), 0, "0s: none", "After this time it gives up"},
    END,
};
static const FormatType drain_type = FORMAT_STRUCT("drain", drain_fields, DrainFields, .init = drain_init, .check = drain_check);

static const FormatType scale_type = FORMAT_STRUCT("scale", scale_fields, TargetFields, .init = target_init);

static const FormatField workload_fields[] = {
    {"at", &format_duration, AT(ActionFields, at), 0, "0s", "When"},
    {"create", &create_type, AT(ActionFields, create), 0, NULL, "Objects appear"},
    {"delete", &delete_type, AT(ActionFields, delete), 0, NULL, "Objects are deleted, as kubectl delete does"},
    {"patch", &patch_type, AT(ActionFields, patch), 0, NULL, "An object is changed"},
    {"scale", &scale_type, AT(ActionFields, scale), 0, NULL, "A StatefulSet, Deployment or ReplicaSet grows or shrinks"},
    {"drain", &drain_type, AT(ActionFields, drain), 0, NULL, "A node's pods are evicted, as kubectl drain does"},
    {"taint", &scenario_taint_format, AT(ActionFields, taint), 0, NULL, "A node is tainted, or no more, as kubectl taint does"},
    {"cordon", &scenario_cordon_format, AT(ActionFields, cordon), 0, NULL, "A node takes no new pods, as kubectl cordon does"},
    {"uncordon", &scenario_uncordon_format, AT(ActionFields, uncordon), 0, NULL, "It takes pods again"},
    {"setDriver", &scenario_set_driver_format, AT(ActionFields, set_driver), 0, NULL, "A driver behaves otherwise from now on"},
    END,
};
static const FormatType action_type = FORMAT_STRUCT("action", workload_fields, ActionFields, .init = action_init, .check = workload_check);
static const FormatType workload_type = FORMAT_LIST(action_type);

static const FormatField fault_fields[] = {
    {"at", &format_duration, AT(ActionFields, at), 0, "0s", "When"},
    {"component", &format_string, AT(ActionFields, component), 0, NULL, "The process that it happens to, or kube-apiserver"},
    {"driver", &format_string, AT(ActionFields, driver), 0, "the only driver", "The driver that it happens to; of a component: whose sidecar"},
    {"node", &format_string, AT(ActionFields, node), 0, NULL, "The node that it happens to; of a component or driver: on which"},
    {"zone", &format_string, AT(ActionFields, zone), 0, NULL, "The same for all nodes of this zone"},
    {"replica", &format_natural, AT(ActionFields, replica), 0, "who leads, else 0", "Of several replicas: 0, 1, ..."},
    {"nodeOfPod", &format_string, AT(ActionFields, pod_of_node), 0, NULL, "The node that the pod of this name (* and ? match) is on by then"},
    {"do", &format_string, AT(ActionFields, what), FORMAT_REQUIRED, NULL, "What happens: see Faults"},
    {"restartAfter", &format_duration, AT(ActionFields, restart_after), 0, "never; reboot: 1m; restart of a driver: 1s", "What died is started again after this time"},
    {"for", &format_duration, AT(ActionFields, lasts), 0, "for ever", "How long it lasts"},
    {"factor", &format_rate, AT(ActionFields, factor), 0, NULL, "slow: how many times slower"},
    {"seats", &format_count, AT(ActionFields, seats), 0, NULL, "limit-seats: requests that the API server serves at once (600 in real clusters)"},
    {"claim", &format_string, AT(ActionFields, claim), 0, "all", "lose-volumes: of the claims of this name (* and ? match)"},
    END,
};
static const FormatType fault_type = FORMAT_STRUCT("fault", fault_fields, ActionFields, .init = action_init, .check = action_check);
static const FormatType faults_type = FORMAT_LIST(fault_type);

/* ---- Expectations ---- */

static const char *const stages[] = {
#define STAGE_WORD(member, name, meaning) name,
    STAGES(STAGE_WORD)
#undef STAGE_WORD
    NULL,
};

static const FormatType stage_type = {.name = "word", .wanted = "a stage", .read = read_word, .schema = format_schema_enum, .words = stages, .size = sizeof(char *)};

static const FormatField slo_fields[] = {
    {"stage", &stage_type, AT(SloFields, stage), FORMAT_REQUIRED, NULL, "Of the path to a ready pod and back"},
    {"quantile", &format_quantile, AT(SloFields, quantile), 0, "1: the longest", "Of all that passed through the stage"},
    {"below", &format_duration, AT(SloFields, below), FORMAT_REQUIRED, NULL, "It must take less than this"},
    END,
};

static const FormatType slo_type = FORMAT_STRUCT("slo", slo_fields, SloFields, .init = slo_init, .check = slo_check);
static const FormatType slos_type = FORMAT_LIST(slo_type);

static const FormatField range_fields[] = {
    {"min", &format_integer, AT(CountFields, min), 0, "0", "At least"},
    {"max", &format_integer, AT(CountFields, max), 0, "any", "At most"},
    END,
};

static const FormatType range_type = FORMAT_STRUCT("range", range_fields, CountFields);

static const FormatType count_type = {.name = "whole number, or {min, max}", .wanted = "a whole number or a range", .read = read_count, .schema = schema_count, .size = sizeof(CountFields)};

#define PHASES(of, ...) \
    static const char *const of##_phases[] = {__VA_ARGS__, NULL}; \
    static const FormatType of##_phase = {.name = "word", .wanted = "a phase", .read = read_word, .schema = format_schema_enum, .words = of##_phases, .size = sizeof(char *)}

PHASES(pod, "Pending", "Running", "Succeeded", "Failed", "Unknown");
PHASES(claim, "Pending", "Bound", "Lost");
PHASES(volume, "Pending", "Available", "Bound", "Released", "Failed");

#define EXPECTED_COUNT {"count", &count_type, AT(ExpectedFields, count), FORMAT_REQUIRED, NULL, "How many there should be"}
#define EXPECTED_NAME {"name", &format_string, AT(ExpectedFields, name), 0, "any", "With * and ? for several"}

static const FormatField expected_pods[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"phase", &pod_phase, AT(ExpectedFields, phase), 0, "any", "status.phase"},
    {"ready", &format_tristate, AT(ExpectedFields, ready), 0, "any", "Condition Ready"},
    {"reason", &format_string, AT(ExpectedFields, reason), 0, "any", "A part of the message of condition PodScheduled, or of the status' reason"},
    {"node", &format_string, AT(ExpectedFields, node), 0, "any", "Pods of this node"},
    {"zone", &format_string, AT(ExpectedFields, zone), 0, "any", "Pods of this zone's nodes"},
    END,
};
static const FormatField expected_claims[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"phase", &claim_phase, AT(ExpectedFields, phase), 0, "any", "status.phase"},
    {"capacity", &format_quantity, AT(ExpectedFields, capacity), 0, "any", "status.capacity.storage"},
    {"resizeStatus", &format_string, AT(ExpectedFields, resize_status), 0, "any", "status.allocatedResourceStatuses.storage; none: not set"},
    END,
};
static const FormatField expected_volumes[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"phase", &volume_phase, AT(ExpectedFields, phase), 0, "any", "status.phase"},
    {"capacity", &format_quantity, AT(ExpectedFields, capacity), 0, "any", "spec.capacity.storage"},
    END,
};
static const FormatField expected_attachments[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"node", &format_string, AT(ExpectedFields, node), 0, "any", "Of this node"},
    {"attached", &format_tristate, AT(ExpectedFields, ready), 0, "any", "status.attached"},
    END,
};
static const FormatField expected_nodes[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    END,
};
static const FormatField expected_jobs[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"phase", &format_string, AT(ExpectedFields, phase), 0, "any", "Running, Suspended, Complete, Failed"},
    END,
};
static const FormatField expected_snapshots[] = {
    EXPECTED_COUNT,
    EXPECTED_NAME,
    {"ready", &format_tristate, AT(ExpectedFields, ready), 0, "any", "status.readyToUse"},
    END,
};
static const FormatField expected_driver_volumes[] = {
    EXPECTED_COUNT,
    {"driver", &format_string, AT(ExpectedFields, driver), 0, "the only driver", "Whose back end is looked into"},
    END,
};

static const FormatType expected_pods_type = FORMAT_STRUCT("pods", expected_pods, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_claims_type = FORMAT_STRUCT("claims", expected_claims, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_volumes_type = FORMAT_STRUCT("volumes", expected_volumes, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_attachments_type = FORMAT_STRUCT("attachments", expected_attachments, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_nodes_type = FORMAT_STRUCT("nodes", expected_nodes, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_jobs_type = FORMAT_STRUCT("jobs", expected_jobs, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_snapshots_type = FORMAT_STRUCT("snapshots", expected_snapshots, ExpectedFields, .init = expected_init, .check = expected_check);
static const FormatType expected_driver_volumes_type = FORMAT_STRUCT("volumes of a driver", expected_driver_volumes, ExpectedFields, .init = expected_init, .check = expected_check);

static const FormatField expect_fields[] = {
    {"at", &format_duration, AT(ExpectFields, at), 0, "the end", "When"},
    {"pods", &expected_pods_type, AT(ExpectFields, pods), 0, NULL, "Pods"},
    {"claims", &expected_claims_type, AT(ExpectFields, claims), 0, NULL, "PersistentVolumeClaims"},
    {"volumes", &expected_volumes_type, AT(ExpectFields, volumes), 0, NULL, "PersistentVolumes"},
    {"attachments", &expected_attachments_type, AT(ExpectFields, attachments), 0, NULL, "VolumeAttachments"},
    {"nodes", &expected_nodes_type, AT(ExpectFields, nodes), 0, NULL, "Nodes"},
    {"jobs", &expected_jobs_type, AT(ExpectFields, jobs), 0, NULL, "Jobs"},
    {"snapshots", &expected_snapshots_type, AT(ExpectFields, snapshots), 0, NULL, "VolumeSnapshots"},
    {"driverVolumes", &expected_driver_volumes_type, AT(ExpectFields, driver_volumes), 0, NULL, "Volumes that the driver's back end has"},
    END,
};

static const FormatType expect_type = FORMAT_STRUCT("expectation", expect_fields, ExpectFields, .init = expect_init, .check = expect_check);
static const FormatType expects_type = FORMAT_LIST(expect_type);

/* ---- The whole ---- */

#define KUBERNETES_AT(member) (AT(SpecFields, kubernetes.member) - AT(SpecFields, kubernetes))
static const FormatField kubernetes_fields[] = {
    {"version", &format_string, KUBERNETES_AT(version), 0, "1.32", "In quotes: 1.30 is a number"},
    {"featureGates", &format_bool_map, KUBERNETES_AT(feature_gates), 0, "the version's defaults", "By their names"},
    {"unlimitedQPS", &format_bool, KUBERNETES_AT(unlimited_qps), 0, "false", "No client throttling anywhere"},
    END,
};
static const FormatType kubernetes_type = FORMAT_STRUCT("kubernetes", kubernetes_fields, ((SpecFields *)0)->kubernetes);

static const FormatType until_type = {.name = "duration, or idle", .wanted = "a duration, or \"idle\"", .read = read_until, .schema = schema_until, .size = sizeof(json_t *)};

static const FormatField spec_fields[] = {
    {"description", &format_text, AT(SpecFields, description), 0, NULL, "What it shows"},
    {"seed", &format_integer, AT(SpecFields, seed), 0, "1", "Of all that is drawn"},
    {"until", &until_type, AT(SpecFields, until), 0, "idle", "The end, in virtual time; idle: when nothing but Events and heartbeats changed for a while"},
    {"idleFor", &format_duration, AT(SpecFields, idle_for), 0, "10m", "How long that while is"},
    {"kubernetes", &kubernetes_type, AT(SpecFields, kubernetes), 0, NULL, "The cluster's version"},
    {"timing", &format_string, AT(SpecFields, timing), 0, "timing-1.32", "Profile of the machinery's own times"},
    {"nodes", &nodes_type, AT(SpecFields, nodes), 0, "those of the manifests", "Nodes, in groups"},
    {"drivers", &drivers_type, AT(SpecFields, drivers), 0, "none", "CSI drivers"},
    {"components", &scenario_components_format, AT(SpecFields, components), 0, "defaults", "Flags of the control plane, by their real names"},
    {"manifests", &format_any, AT(SpecFields, manifests), 0, "none", "Files of objects that exist from the start, beside the documents of this file"},
    {"workload", &workload_type, AT(SpecFields, workload), 0, "none", "What happens from outside"},
    {"faults", &faults_type, AT(SpecFields, faults), 0, "none", "What breaks"},
    {"slo", &slos_type, AT(SpecFields, slo), 0, "none", "Times that must be kept"},
    {"expect", &expects_type, AT(SpecFields, expect), 0, "none", "What must be there, and when"},
    END,
};

static const FormatType spec_type = FORMAT_STRUCT("spec", spec_fields, SpecFields, .init = spec_init);

#define METADATA_AT(member) (AT(ScenarioFields, metadata.member) - AT(ScenarioFields, metadata))
static const FormatField metadata_fields[] = {
    {"name", &format_string, METADATA_AT(name), FORMAT_REQUIRED, NULL, "Of the scenario"},
    {"labels", &format_string_map, METADATA_AT(labels), 0, NULL, "Not read"},
    {"annotations", &format_string_map, METADATA_AT(annotations), 0, NULL, "Not read"},
    END,
};
static const FormatType metadata_type = FORMAT_STRUCT("metadata", metadata_fields, ((ScenarioFields *)0)->metadata);

static const FormatField scenario_fields[] = {
    {"apiVersion", &format_string, AT(ScenarioFields, api_version), FORMAT_REQUIRED, NULL, "kvolsim.io/v1"},
    {"kind", &format_string, AT(ScenarioFields, kind), FORMAT_REQUIRED, NULL, "Scenario"},
    {"metadata", &metadata_type, AT(ScenarioFields, metadata), FORMAT_REQUIRED, NULL, "Its name"},
    {"spec", &spec_type, AT(ScenarioFields, spec), FORMAT_REQUIRED, NULL, "What it is about"},
    END,
};
const FormatType scenario_format = FORMAT_STRUCT("Scenario", scenario_fields, ScenarioFields);

/* models/profiles/timing-*.yaml */
static const FormatField timing_fields[] = {
    {"write", &format_dist, AT(Timing, write), FORMAT_REQUIRED, NULL, "A write, arrival to response"},
    {"think", &format_dist, AT(Timing, think), FORMAT_REQUIRED, NULL, "A component's own time before a request or call"},
    {"watch", &format_dist, AT(Timing, watch), FORMAT_REQUIRED, NULL, "A watch event, from the end of the response"},
    {"createFactor", &format_rate, AT(Timing, create_factor), FORMAT_REQUIRED, NULL, "Of write, for POST"},
    {"updateFactor", &format_rate, AT(Timing, update_factor), FORMAT_REQUIRED, NULL, "For PUT"},
    {"patchFactor", &format_rate, AT(Timing, patch_factor), FORMAT_REQUIRED, NULL, "For PATCH"},
    {"deleteFactor", &format_rate, AT(Timing, delete_factor), FORMAT_REQUIRED, NULL, "For DELETE"},
    {"readFactor", &format_rate, AT(Timing, read_factor), FORMAT_REQUIRED, NULL, "For GET and LIST"},
    {"notFoundFactor", &format_rate, AT(Timing, not_found_factor), FORMAT_REQUIRED, NULL, "For what is answered with 404"},
    {"eventFactor", &format_rate, AT(Timing, event_factor), FORMAT_REQUIRED, NULL, "For an Event"},
    {"stallRate", &format_rate, AT(Timing, stall_rate), FORMAT_REQUIRED, NULL, "From so many requests a second on, one may be held up"},
    {"stallChance", &format_probability, AT(Timing, stall_chance), FORMAT_REQUIRED, NULL, "The chance of that"},
    {"stall", &format_dist, AT(Timing, stall), FORMAT_REQUIRED, NULL, "How long then"},
    {"watchOrder", &format_probability, AT(Timing, watch_order), FORMAT_REQUIRED, NULL, "The chance that a watch event waits for those of other kinds sent to its client before"},
    {"watchLead", &format_duration, AT(Timing, watch_lead), FORMAT_REQUIRED, NULL, "How long before the end of the response a write is committed at most"},
    END,
};
const FormatType scenario_timing_format = FORMAT_STRUCT("timing", timing_fields, Timing);

/* clang-format on */
