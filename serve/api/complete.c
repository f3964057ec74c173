/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members that a real cluster has and that no model needs: addresses, conditions of pressure,
 * container ids, node ports. They are added when an object is printed and are functions of its name
 * and uid, so the same object is printed alike each time, and nothing of it is stored. Counts of a
 * status are printed even if they are zero, as Go's types do. */
#include "complete.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/api/pod-resources.h"
#include "models/apiserver/service-account.h"
#include "serve/api/apply/defaults.h"

/* ---- Addresses: 10.0.0.0/9 are nodes, 10.128.0.0/9 are pods ---- */

#define ADDRESS_BUFFER 16

static const char *
address_of(const ObjectKey *key, char buffer[static ADDRESS_BUFFER])
{
    uint32_t number = key->slot + 1, first = key->kind == KIND_POD ? 128 : 0;

    g_snprintf(buffer, ADDRESS_BUFFER, "10.%u.%u.%u", first + ((number >> 16) & 127),
               (number >> 8) & 255, number & 255);
    return buffer;
}

static void
set_addresses(json_t *status, const char *one, const char *many, const char *address)
{
    json_set_missing(status, one, json_string(address));
    json_set_missing(status, many, json_pack("[{s:s}]", "ip", address));
}

/* ---- Nodes ---- */

/* pkg/kubelet/nodestatus/setters.go */
static const struct {
    const char *type, *reason, *message;
} pressures[] = {
    {"MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
    {"DiskPressure",   "KubeletHasNoDiskPressure",   "kubelet has no disk pressure"           },
    {"PIDPressure",    "KubeletHasSufficientPID",    "kubelet has sufficient PID available"   },
};

/* A node reports no pressure before its Ready condition. */
static void
complete_conditions(json_t *conditions, const char *created)
{
    json_t *condition;
    gsize k;

    json_array_foreach(conditions, k, condition) {
        if (json_is_null(json_object_get(condition, "lastHeartbeatTime")))
            json_object_set_new(condition, "lastHeartbeatTime", json_string(created));
        if (json_is_null(json_object_get(condition, "lastTransitionTime")))
            json_object_set_new(condition, "lastTransitionTime", json_string(created));
    }
    for (gsize i = 0, at = 0; i < G_N_ELEMENTS(pressures); i++)
        if (json_list_find(conditions, "type", pressures[i].type) == NULL)
            json_array_insert_new(
                conditions, at++,
                json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", pressures[i].type, "status",
                          "False", "reason", pressures[i].reason, "message", pressures[i].message,
                          "lastHeartbeatTime", created, "lastTransitionTime", created));
}

/* Made of the node's name. */
static void
set_identities(json_t *info, const char *name)
{
    uint64_t high = sim_hash_string(name), low = sim_hash_combine(high, 1);
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *machine =
        g_strdup_printf("%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", high, low);

    json_object_set_new(info, "machineID", json_string(machine));
    object_uid_format((ObjectUid){high, low}, uid);
    json_object_set_new(info, "systemUUID", json_string(uid));
    object_uid_format((ObjectUid){low, high}, uid);
    json_object_set_new(info, "bootID", json_string(uid));
}

static void
complete_node(const Object *node, json_t *json)
{
    json_t *metadata = json_object_get(json, "metadata"), *status = json_object_get(json, "status");
    const char *created = json_path_string(metadata, "creationTimestamp");
    const char *version = json_path_string(status, "nodeInfo.kubeletVersion");
    char address[ADDRESS_BUFFER];

    json_set_missing(metadata, "annotations", json_object());
    json_set_missing(json_object_get(metadata, "annotations"), "node.alpha.kubernetes.io/ttl",
                     json_string("0"));
    json_set_missing(status, "addresses",
                     json_pack("[{s:s, s:s}, {s:s, s:s}]", "type", "InternalIP", "address",
                               address_of(node->key, address), "type", "Hostname", "address",
                               node->key->name));
    json_set_missing(status, "daemonEndpoints",
                     json_pack("{s:{s:i}}", "kubeletEndpoint", "Port", 10250));
    complete_conditions(json_object_get(status, "conditions"), created);
    json_t *info =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "architecture", "amd64", "operatingSystem", "linux",
                  "containerRuntimeVersion", "containerd://1.7.24", "kernelVersion",
                  "6.1.0-28-amd64", "osImage", "Debian GNU/Linux 12 (bookworm)");
    if (version != NULL)
        json_object_set_new(info, "kubeProxyVersion", json_string(version));
    set_identities(info, node->key->name);
    if (json_is_object(json_object_get(status, "nodeInfo")))
        json_object_update_missing(json_object_get(status, "nodeInfo"), info);
    json_decref(info);
}

/* ---- Pods ---- */

/* Members that admission (Priority, ServiceAccount) and the controllers of pods set. */
static void
complete_pod_spec(const Run *run, const Object *object, json_t *json)
{
    json_t *metadata = json_object_get(json, "metadata"), *spec = json_object_get(json, "spec");
    const OwnerReference *owner = object->owners == NULL ? NULL : &object->owners->items[0];

    json_set_missing(spec, "preemptionPolicy", json_string("PreemptLowerPriority"));
    json_set_missing(spec, "priority", json_integer(0));
    const Object *account = api_server_account(cluster_api(run_cluster(run)), POD_CONST(object));
    service_account_complete(
        spec, &(ServiceAccountOptions){.key = object->key,
                                       .uid = object->uid,
                                       .account = account == NULL ? NULL : account->manifest,
                                       .minor = run_scenario(run)->minor_version});
    json_set_missing(spec, "enableServiceLinks", json_true());
    if (owner == NULL || owner->key->kind != KIND_STATEFUL_SET)
        return;
    const Object *set = api_server_get(cluster_api(run_cluster(run)), owner->key);
    g_autofree char *prefix = g_strdup_printf("%s-", owner->key->name);
    json_set_missing(metadata, "generateName", json_string(prefix));
    const char *service = set == NULL ? NULL : json_path_string(set->manifest, "spec.serviceName");
    if (service != NULL)
        json_set_missing(spec, "subdomain", json_string(service));
}

/* The mounts as the status tells them, since 1.31. Returns: (owned): NULL: none */
static json_t *
mounts_of(const json_t *container)
{
    json_t *mounts = json_array(), *mount;
    gsize i;

    json_array_foreach(json_object_get(container, "volumeMounts"), i, mount) {
        json_t *told = json_pack("{s:O*, s:O*}", "mountPath", json_object_get(mount, "mountPath"),
                                 "name", json_object_get(mount, "name"));
        if (json_is_true(json_object_get(mount, "readOnly"))) {
            json_object_set_new(told, "readOnly", json_true());
            json_object_set_new(told, "recursiveReadOnly", json_string("Disabled"));
        }
        json_array_append_new(mounts, told);
    }
    if (json_array_size(mounts) > 0)
        return mounts;
    json_decref(mounts);
    return NULL;
}

/* A container's id is made of its pod's, its name and its restarts. Returns: (owned) */
static json_t *
container_id(const json_t *status, const char *uid)
{
    uint64_t hash = sim_hash_combine(sim_hash_string(uid != NULL ? uid : ""),
                                     sim_hash_string(json_path_string(status, "name")));
    GString *id = g_string_new("containerd://");

    hash = sim_hash_combine(hash,
                            (uint64_t)json_integer_value(json_object_get(status, "restartCount")));
    for (uint64_t part = 0; part < 4; part++)
        g_string_append_printf(id, "%016" G_GINT64_MODIFIER "x", sim_hash_combine(hash, part));
    json_t *value = json_string(id->str);
    g_string_free(id, TRUE);
    return value;
}

/* Returns: whether the container has run */
static gboolean
complete_container(const Run *run, const json_t *pod, json_t *status)
{
    const json_t *state = json_object_get(status, "state");
    const json_t *container = json_list_find(json_path_get(pod, "spec.containers"), "name",
                                             json_path_string(status, "name"));
    gboolean is_running = json_object_get(state, "running") != NULL;
    gboolean has_run = is_running || json_object_get(state, "terminated") != NULL;
    json_t *image = json_object_get(status, "image");

    json_set_missing(status, "lastState", json_object());
    json_set_missing(status, "started", json_boolean(is_running));
    json_set_missing(status, "imageID", json_string(""));
    json_t *mounts = run_scenario(run)->minor_version >= 31 ? mounts_of(container) : NULL;
    if (mounts != NULL)
        json_set_missing(status, "volumeMounts", mounts);
    if (!has_run)
        return FALSE;
    if (*json_path_string(status, "imageID") == '\0')
        json_object_set(status, "imageID", image);
    json_set_missing(status, "containerID",
                     container_id(status, json_path_string(pod, "metadata.uid")));
    return TRUE;
}

/* PodObservedGenerationTracking: the kubelet tells the generation that it sees. The scheduler's
 * condition stays with the first. */
static void
complete_observed(const Object *object, json_t *status)
{
    json_t *condition;
    gsize i;

    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        gboolean is_first = g_strcmp0(json_path_string(condition, "type"), "PodScheduled") == 0;
        json_set_missing(condition, "observedGeneration",
                         json_integer(is_first ? 1 : object->generation));
    }
    if (json_object_get(status, "startTime") != NULL)
        json_set_missing(status, "observedGeneration", json_integer(object->generation));
}

static void
complete_pod_status(const Run *run, const Object *object, json_t *json)
{
    json_t *status = json_object_get(json, "status"), *container;
    const json_t *spec = json_object_get(json, "spec");
    const char *node_name = json_path_string(spec, "nodeName");
    const ObjectKey *node =
        node_name == NULL ? NULL : objects_find_key(run_objects(run), KIND_NODE, NULL, node_name);
    char address[ADDRESS_BUFFER];
    gboolean has_run = FALSE;
    gsize i;

    json_set_missing(status, "qosClass", json_string(pod_json_quality(spec)));
    if (object->generation > 0 &&
        release_has_gate(cluster_release(run_cluster(run)), "PodObservedGenerationTracking"))
        complete_observed(object, status);
    json_array_foreach(json_object_get(status, "containerStatuses"), i, container)
        has_run |= complete_container(run, json, container);
    if (node == NULL || json_object_get(status, "startTime") == NULL)
        return;
    set_addresses(status, "hostIP", "hostIPs", address_of(node, address));
    if (has_run)
        set_addresses(
            status, "podIP", "podIPs",
            address_of(json_is_true(json_object_get(spec, "hostNetwork")) ? node : object->key,
                       address));
}

/* ---- Workloads ---- */

/* A template has no time, and Kubernetes' types tell it so. */
static void
complete_template(json_t *spec)
{
    json_t *template = json_object_get(spec, "template");

    if (!json_is_object(template))
        return;
    json_set_missing(template, "metadata", json_object());
    json_set_missing(json_object_get(template, "metadata"), "creationTimestamp", json_null());
}

void
complete_templates(json_t *json)
{
    json_t *spec = json_object_get(json, "spec"), *template;
    gsize i;

    complete_template(spec);
    complete_template(json_object_get(json_object_get(spec, "jobTemplate"), "spec"));
    json_array_foreach(json_object_get(spec, "volumeClaimTemplates"), i, template) {
        json_set_missing(json_object_get(template, "metadata"), "creationTimestamp", json_null());
        json_set_missing(template, "status", json_pack("{s:s}", "phase", "Pending"));
    }
}

/* Completes a status: adds the members that Kubernetes' types print even if they are zero. @type:
 * (nullable): the type of the whole object */
static void
complete_status(json_t *json, const SchemaType *type)
{
    const SchemaType *status_type = schema_member(type, "status");
    json_t *status;

    if (status_type == NULL || status_type->shape != SCHEMA_STRUCT)
        return;
    json_set_missing(json, "status", json_object());
    status = json_object_get(json, "status");
    for (const SchemaField *field = status_type->fields; field->name != NULL; field++) {
        SchemaShape shape = field->type->shape;
        if (g_strcmp0(field->fallback, "{}") == 0)
            json_set_missing(status, field->name, json_object());
        else if (field->required && (shape == SCHEMA_INT32 || shape == SCHEMA_INT64))
            json_set_missing(status, field->name, json_integer(0));
        else if (field->required && shape == SCHEMA_BOOL)
            json_set_missing(status, field->name, json_false());
    }
}

/* Ports of 30000 to 32767, of the service's name. */
static void
complete_node_ports(uint64_t hash, json_t *spec)
{
    gboolean is_balanced = g_strcmp0(json_path_string(spec, "type"), "LoadBalancer") == 0;
    json_t *port;
    gsize i;

    json_set_missing(spec, "externalTrafficPolicy", json_string("Cluster"));
    if (is_balanced)
        json_set_missing(spec, "allocateLoadBalancerNodePorts", json_true());
    if (is_balanced && json_is_false(json_object_get(spec, "allocateLoadBalancerNodePorts")))
        return;
    json_array_foreach(json_object_get(spec, "ports"), i, port)
        json_set_missing(port, "nodePort", json_integer(30000 + (json_int_t)((hash + i) % 2768)));
}

/* An address of 10.96.0.0/12, of the service's name; "None" stays. */
static void
complete_service(const Object *service, json_t *json)
{
    json_t *spec = json_object_get(json, "spec");
    uint64_t hash = sim_hash_string(service->key->text);
    g_autofree char *address =
        g_strdup_printf("10.%u.%u.%u", 96 + (unsigned)(hash >> 16 & 15),
                        (unsigned)(hash >> 8 & 255), 1 + (unsigned)((hash & 255) % 254));

    defaults_set(json, schema_find("v1", "Service")); /* a scenario's own has none */
    if (g_strcmp0(json_path_string(spec, "type"), "ExternalName") == 0)
        return;
    if (g_strcmp0(json_path_string(spec, "type"), "ClusterIP") != 0)
        complete_node_ports(hash, spec);
    json_set_missing(spec, "clusterIP", json_string(address));
    json_set_missing(spec, "clusterIPs", json_pack("[O]", json_object_get(spec, "clusterIP")));
    json_set_missing(spec, "ipFamilies", json_pack("[s]", "IPv4"));
    json_set_missing(spec, "ipFamilyPolicy", json_string("SingleStack"));
    json_set_missing(json, "status", json_object());
    json_set_missing(json_object_get(json, "status"), "loadBalancer", json_object());
}

/* pkg/controller/disruption tells no message, and the generation that it saw. */
static void
complete_budget(json_t *json)
{
    json_t *status = json_object_get(json, "status"), *condition;
    json_t *generation = json_object_get(status, "observedGeneration");
    gsize i;

    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        json_set_missing(condition, "message", json_string(""));
        if (generation != NULL)
            json_set_missing(condition, "observedGeneration", json_incref(generation));
    }
}

void
complete_object(const Run *run, const Object *object, json_t *json)
{
    ObjectKind kind = object_kind(object);

    if (kind == KIND_DISRUPTION_BUDGET)
        complete_budget(json);
    complete_templates(json);
    if (object->created_at < 0 && object->created_at != TIME_UNSET) /* of a dump */
        return;
    const SchemaType *type =
        schema_find(json_path_string(json, "apiVersion"), json_path_string(json, "kind"));
    defaults_set(json, type);
    complete_status(json, type);
    if (kind == KIND_NODE) {
        complete_node(object, json);
    } else if (kind == KIND_POD) {
        complete_pod_spec(run, object, json);
        complete_pod_status(run, object, json);
    } else if (kind == KIND_STATEFUL_SET) {
        json_set_missing(json_object_get(json, "status"), "collisionCount", json_integer(0));
    } else if (kind == KIND_SERVICE) {
        complete_service(object, json);
    }
}
