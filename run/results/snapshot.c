/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All objects of a run at an instant, as kubectl would print them. Members and objects that the run
 * does not store are added: Events, kubelets' Leases, the states of containers, the age and release
 * of nodes. Two snapshots are compared by field, without leases and Events, which change all the
 * time. */
#include <inttypes.h>
#include <string.h>

#include "models/api/field.h"
#include "models/api/fields.h"
#include "sim/strings.h"
#include "snapshot.h"

static void
set_time(const Run *run, json_t *object, const char *name, SimTime time, gboolean micro)
{
    char buffer[API_TIME_BUFFER];

    time += sim_start(run_sim(run));
    json_object_set_new(object, name, json_string(api_time_format(time, micro, buffer)));
}

int64_t
snapshot_now(const Run *run)
{
    return api_time_unix(sim_start(run_sim(run)), sim_now(run_sim(run)));
}

static json_t *
involved_object(const ApiEvent *event)
{
    const KindClass *class = kind_class(event->involved->kind);
    char uid[OBJECT_UID_BUFFER];
    json_t *involved = json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", class->api_version, "kind",
                                 class->kind, "name", event->involved->name, "uid",
                                 object_uid_format(event->involved_uid, uid));

    if (event->involved->namespace[0] != '\0')
        json_object_set_new(involved, "namespace", json_string(event->involved->namespace));
    if (event->involved_version != 0) {
        g_autofree char *version = g_strdup_printf("%" PRIu64, event->involved_version);

        json_object_set_new(involved, "resourceVersion", json_string(version));
    }
    return involved;
}

/* API-171: the scheduler's Events are of events.k8s.io, with a time in microseconds, and a series
 * instead of a count. */
static void
set_new_style(const Run *run, json_t *json, const ApiEvent *event)
{
    set_time(run, json, "eventTime", event->first_at, TRUE);
    json_object_set_new(json, "firstTimestamp", json_null());
    json_object_set_new(json, "lastTimestamp", json_null());
    json_object_set_new(
        json, "action",
        json_string(strcmp(event->reason, "Scheduled") == 0 ? "Binding" : "Scheduling"));
    json_object_set_new(json, "reportingComponent", json_string(event->source));
    json_object_set_new(json, "source", json_object());
    if (event->count < 2)
        return;
    json_t *series = json_pack("{s:i}", "count", (int)event->count);
    set_time(run, series, "lastObservedTime", event->last_at, TRUE);
    json_object_set_new(json, "series", series);
}

static void
set_core_style(const Run *run, json_t *json, const ApiEvent *event, const char *host)
{
    json_t *source = json_pack("{s:s}", "component", event->source);

    if (host != NULL)
        json_object_set_new(source, "host", json_string(host));
    json_object_set_new(json, "source", source);
    json_object_set_new(json, "reportingComponent", json_string(event->source));
    set_time(run, json, "firstTimestamp", event->first_at, FALSE);
    set_time(run, json, "lastTimestamp", event->last_at, FALSE);
    json_object_set_new(json, "count", json_integer(event->count));
}

/* Returns: the machine of a kubelet's Event; NULL for other Events, or if it is no longer known */
static const char *
host_of(const Run *run, const ApiEvent *event)
{
    const Object *object = api_server_get(cluster_api(run_cluster(run)), event->involved);

    if (strcmp(event->source, "kubelet") != 0)
        return NULL;
    if (event->involved->kind == KIND_NODE)
        return event->involved->name;
    return event->involved->kind == KIND_POD && object != NULL ? POD_CONST(object)->node_name
                                                               : NULL;
}

/* Objects that no store has get a uid, too, of their names. */
static void
set_uid(json_t *metadata)
{
    uint64_t high = sim_hash_string(json_path_string(metadata, "name"));
    uint64_t low = sim_hash_string(json_path_string(metadata, "namespace"));
    char uid[OBJECT_UID_BUFFER];

    json_object_set_new(
        metadata, "uid",
        json_string(object_uid_format((ObjectUid){high, sim_hash_combine(low, high)}, uid)));
}

json_t *
snapshot_event(const Run *run, unsigned index)
{
    const ApiEvent *event = api_server_event(cluster_api(run_cluster(run)), index);
    const char *namespace = event->involved->namespace;
    int64_t unix_ns = api_time_unix(sim_start(run_sim(run)), event->first_at);
    g_autofree char *name =
        g_strdup_printf("%s.%" PRIx64, event->involved->name, (uint64_t)unix_ns);
    json_t *json = json_pack("{s:s, s:s, s:{s:s, s:s}, s:o, s:s, s:s, s:s}", "apiVersion", "v1",
                             "kind", "Event", "metadata", "name", name, "namespace",
                             *namespace == '\0' ? "default" : namespace, "involvedObject",
                             involved_object(event), "type", event->type, "reason", event->reason,
                             "message", event->message);

    set_time(run, json_object_get(json, "metadata"), "creationTimestamp", event->written_at, FALSE);
    set_uid(json_object_get(json, "metadata"));
    if (event->involved_version != 0)
        set_new_style(run, json, event);
    else
        set_core_style(run, json, event, host_of(run, event));
    return json;
}

json_t *
snapshot_lease(const Run *run, const char *node)
{
    SimTime renewed_at = cluster_last_renewal(run_cluster(run), node);
    const ObjectKey *key = objects_find_key(run_objects(run), KIND_NODE, NULL, node);
    const Object *object = key == NULL ? NULL : api_server_get(cluster_api(run_cluster(run)), key);
    json_t *lease =
        json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:i}}", "apiVersion", "coordination.k8s.io/v1",
                  "kind", "Lease", "metadata", "name", node, "namespace", "kube-node-lease", "spec",
                  "holderIdentity", node, "leaseDurationSeconds", 40);

    /* a lease is as old as its node: one that the scenario has from its start, as the run */
    set_time(run, json_object_get(lease, "metadata"), "creationTimestamp",
             object == NULL || object->created_at == TIME_UNSET ? 0 : object->created_at, FALSE);
    set_time(run, json_object_get(lease, "spec"), "renewTime", renewed_at, TRUE);
    set_uid(json_object_get(lease, "metadata"));
    return lease;
}

/* Returns: (owned): the state of all containers of a pod, with its reason: "terminated", "running"
 * or "waiting". The reason of the Ready condition tells of containers that ended or restart. */
static json_t *
container_state(const Pod *pod, json_t *started_at)
{
    const char *reason = pod->ready.reason == NULL ? "" : pod->ready.reason;
    gboolean has_failed = pod->phase == POD_FAILED || strcmp(reason, "PodFailed") == 0;

    if (pod_is_terminal(pod) || has_failed || strcmp(reason, "PodCompleted") == 0)
        return json_pack("{s:{s:i, s:s}}", "terminated", "exitCode",
                         pod->exit_code != 0 ? pod->exit_code : has_failed, "reason",
                         has_failed ? "Error" : "Completed");
    if (pod->phase == POD_RUNNING && strcmp(reason, "ContainersNotReady") == 0 && pod->restarts > 0)
        return json_pack("{s:{s:s}}", "waiting", "reason", "CrashLoopBackOff");
    if (pod->phase == POD_RUNNING)
        return json_pack("{s:{s:O*}}", "running", "startedAt", started_at);
    return json_pack("{s:{s:s}}", "waiting", "reason", "ContainerCreating");
}

/* KVM-102. */
static json_int_t
restarts_alone(const Pod *pod, gsize container)
{
    const char *text = pod->restarts_alone;

    for (; text != NULL && container > 0; container--)
        text = strchr(text + 1, ' ');
    return text == NULL ? 0 : g_ascii_strtoll(text, NULL, 10);
}

/* Returns: (owned): a container's status as of now. @known: the status in the initial state
 * (nullable): what it says stays as long as the container is in the same state */
static json_t *
container_status(const Pod *pod, gsize i, json_t *container, json_t *known, json_t *started_at)
{
    json_int_t restarts = pod->restarts + restarts_alone(pod, i);
    /* the kubelet's report stays even while the node, and so the pod, is not ready */
    const char *image = json_path_string(container, "image");
    gboolean is_ready = pod->phase == POD_RUNNING && pod->containers_ready.status == CONDITION_TRUE;
    json_t *status =
        known != NULL
            ? json_copy(known)
            : json_pack("{s:O, s:s, s:s, s:{}}", "name", json_object_get(container, "name"),
                        "image", image != NULL ? image : "", "imageID", "", "lastState");
    json_auto_t *state = container_state(pod, started_at);
    const char *word = json_object_iter_key(json_object_iter(state));

    json_object_set_new(status, "ready", json_boolean(is_ready));
    json_object_set_new(
        status, "restartCount",
        json_integer(json_integer_value(json_object_get(known, "restartCount")) + restarts));
    if (json_object_get(json_object_get(known, "state"), word) == NULL) {
        json_object_set(status, "state", state);
        json_object_set_new(status, "started", json_boolean(strcmp(word, "running") == 0));
    }
    return status;
}

static json_t *
find_by_name(json_t *items, json_t *name)
{
    json_t *item;
    gsize i;

    json_array_foreach(items, i, item)
        if (json_equal(json_object_get(item, "name"), name))
            return item;
    return NULL;
}

/* Adds the states of containers, as a container runtime would report them. Containers start and
 * stop together here, so the pod's phase and conditions tell them. */
static void
complete_pod(json_t *json, const Pod *pod)
{
    json_t *status = json_object_get(json, "status"), *container;
    json_t *containers = json_object_get(json_object_get(json, "spec"), "containers");
    json_t *started_at = json_object_get(status, "startTime");
    json_t *known = json_object_get(status, "containerStatuses");
    gsize i;

    if (started_at == NULL)
        return;
    json_t *statuses = json_array();
    json_array_foreach(containers, i, container)
        json_array_append_new(
            statuses,
            container_status(pod, i, container,
                             find_by_name(known, json_object_get(container, "name")), started_at));
    json_object_set_new(status, "containerStatuses", statuses);
}

static const Release *
node_release(const Run *run, const json_t *node)
{
    const char *name = json_path_string(node, "metadata.name");

    return cluster_node_release(run_cluster(run),
                                strings_intern(objects_strings(run_objects(run)), name));
}

/* Nodes of the scenario are as old as the run, and their kubelets have its release. */
static void
complete_node(json_t *json, const Run *run)
{
    json_t *metadata = json_object_get(json, "metadata"), *status = json_object_get(json, "status");
    int minor = node_release(run, json)->minor, given;
    const char *told = json_path_string(status, "nodeInfo.kubeletVersion");
    g_autofree char *version = g_strdup_printf("v1.%d.0", minor);

    if (json_object_get(metadata, "creationTimestamp") == NULL)
        set_time(run, metadata, "creationTimestamp", 0, FALSE);
    if (json_is_object(status) && told == NULL)
        json_object_set_new(status, "nodeInfo", json_pack("{s:s}", "kubeletVersion", version));
    else if (told != NULL && scenario_parse_version(told, &given) && given != minor) /* upgraded */
        json_object_set_new(json_object_get(status, "nodeInfo"), "kubeletVersion",
                            json_string(version));
}

json_t *
snapshot_object(const Run *run, const Object *object)
{
    json_t *json = object_to_json_at(object, sim_start(run_sim(run)));

    if (object_kind(object) == KIND_POD)
        complete_pod(json, POD_CONST(object));
    else if (object_kind(object) == KIND_NODE)
        complete_node(json, run);
    return json;
}

gboolean
snapshot_is_old_lease(const Run *run, const ObjectKey *key)
{
    return key->kind == KIND_LEASE && strcmp(key->namespace, "kube-node-lease") == 0 &&
           objects_find_key(run_objects(run), KIND_NODE, NULL, key->name) != NULL;
}

json_t *
snapshot_take(const Run *run)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    Objects *objects = run_objects(run);
    json_t *list = json_array();

    for (unsigned kind = 0; kind < N_KINDS; kind++)
        for (uint32_t slot = 0; slot < objects_n_keys(objects, (ObjectKind)kind); slot++) {
            const ObjectKey *key = objects_key_at(objects, (ObjectKind)kind, slot);
            const Object *object = api_server_get(api, key);

            if (object == NULL || snapshot_is_old_lease(run, key))
                continue;
            json_array_append_new(list, snapshot_object(run, object));
            if (kind == KIND_NODE)
                json_array_append_new(list, snapshot_lease(run, key->name));
        }
    for (unsigned i = 0; i < api_server_n_events(api); i++)
        if (api_server_event(api, i)->count > 0) /* else recorded, but never written */
            json_array_append_new(list, snapshot_event(run, i));
    return list;
}

static char *
identity_of(json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    const char *namespace = json_path_string(metadata, "namespace");

    return g_strdup_printf("%s %s/%s", json_path_string(object, "kind"),
                           namespace != NULL ? namespace : "", json_path_string(metadata, "name"));
}

/* Leaves out leases and Events, which change all the time. */
static gboolean
is_compared(json_t *object)
{
    const char *kind = json_path_string(object, "kind");

    return g_strcmp0(kind, "Event") != 0 && g_strcmp0(kind, "Lease") != 0;
}

GArray *
snapshot_compare(json_t *before, json_t *after)
{
    GArray *changes = g_array_new(FALSE, FALSE, sizeof(SnapshotChange));
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    json_t *object;
    gsize i;

    json_array_foreach(after, i, object)
        g_hash_table_insert(known, identity_of(object), object);
    json_array_foreach(before, i, object) {
        g_autofree char *identity = identity_of(object);
        SnapshotChange change = {.before = object, .after = g_hash_table_lookup(known, identity)};

        g_hash_table_remove(known, identity);
        if (is_compared(object) &&
            (change.after == NULL || !json_equal(change.before, change.after)))
            g_array_append_val(changes, change);
    }
    json_array_foreach(after, i, object) {
        g_autofree char *identity = identity_of(object);
        SnapshotChange change = {.after = object};

        if (is_compared(object) && g_hash_table_contains(known, identity))
            g_array_append_val(changes, change);
    }
    return changes;
}

/* Returns: (owned): the names of both maps, sorted */
static GPtrArray *
member_names(json_t *a, json_t *b)
{
    GPtrArray *names = g_ptr_array_new();
    const char *name;
    json_t *value;

    json_object_foreach(a, name, value)
        g_ptr_array_add(names, (char *)name);
    json_object_foreach(b, name, value)
        if (json_object_get(a, name) == NULL)
            g_ptr_array_add(names, (char *)name);
    g_ptr_array_sort(names, strings_compare);
    return names;
}

/* Returns: (owned): JSON, but strings without quotes; NULL for NULL */
static char *
snapshot_text_of(json_t *value)
{
    if (value == NULL)
        return NULL;
    if (json_is_string(value))
        return g_strdup(json_string_value(value));
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    char *copy = g_strdup(text);
    free(text);
    return copy;
}

static void
compare_values(GString *path, json_t *before, json_t *after, SnapshotField field, void *data)
{
    gsize length = path->len;

    if (strcmp(path->str, "metadata.resourceVersion") == 0 ||
        (before != NULL && json_equal(before, after)))
        return;
    if ((before == NULL || json_is_object(before)) && (after == NULL || json_is_object(after))) {
        g_autoptr(GPtrArray) names = member_names(before, after);

        for (unsigned i = 0; i < names->len; i++) {
            g_string_append_printf(path, "%s%s", length > 0 ? "." : "", (char *)names->pdata[i]);
            compare_values(path, json_object_get(before, names->pdata[i]),
                           json_object_get(after, names->pdata[i]), field, data);
            g_string_truncate(path, length);
        }
        return;
    }
    g_autofree char *old_text = snapshot_text_of(before), *new_text = snapshot_text_of(after);
    field(data, path->str, old_text, new_text);
}

void
snapshot_compare_fields(json_t *before, json_t *after, SnapshotField field, void *data)
{
    g_autoptr(GString) path = g_string_new(NULL);

    compare_values(path, before, after, field, data);
}
