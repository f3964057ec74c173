/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an operator could hand over of a simulated cluster, and what really happened there:
 *
 *   make-bundle SCENARIO SEED LEVEL FROM FOLDER
 *
 * LEVEL: Metadata or RequestResponse; FROM: seconds, before which all passes without a record.
 * Writes audit.log as kube-apiserver does with all stages, dump-0.json at FROM to dump-3.json at
 * the end, SECONDS.prom, and for check-bundle: truth.jsonl (what people did, and the faults) and
 * recorded.json. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utime.h>

#include "models/api/field.h"
#include "run/import/bodies/patches.h"
#include "run/import/recorder.h"
#include "run/results/snapshot.h"

#define VERSION "v1.32.13 (linux/amd64) kubernetes/d4b43f3"
#define ADMIN "kubernetes-admin"
#define DUMPS 4
#define LEASE_RENEWED (10 * SIM_SECOND)
#define SCRAPED (60 * SIM_SECOND)

/* A write as the store saw it, until its request is answered. */
typedef struct {
    SimTime at;
    json_t *before, *after; /* (owned): NULL: none */
} Stored;

typedef struct {
    Run *run;
    FILE *log, *truth;
    const char *folder;
    gboolean has_bodies;
    SimTime from;
    GHashTable *stored;  /* ObjectKey -> GQueue of Stored (owned) */
    GHashTable *stopped; /* faults that began -> name of the node (borrowed) */
    GHashTable *nodes;   /* hash of a kubelet's client -> name (borrowed) */
    unsigned n_events;
} Bundle;

/* The real names of the simulator's clients; see run/import/clients.c. */
static const char *const real_names[][2] = {
    {"persistentvolume-controller", "persistent-volume-binder"                   },
    {"daemonset-controller",        "daemon-set-controller"                      },
    {"vac-protection-controller",   "volumeattributesclass-protection-controller"},
    {"taint-eviction-controller",   "node-controller"                            },
    {"node-lifecycle-controller",   "node-controller"                            },
    {"external-provisioner",        "csi-provisioner"                            },
    {"external-attacher",           "csi-attacher"                               },
    {"external-resizer",            "csi-resizer"                                },
    {"external-snapshotter",        "csi-snapshotter"                            },
    {"default-scheduler",           "kube-scheduler"                             },
    {"events",                      "snapshot-controller"                        }, /* whose writes of claims come from there */
    {"kubelet-heartbeat",           "kubelet"                                    },
};

static const char *
real_name(const char *client)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(real_names); i++)
        if (g_str_equal(real_names[i][0], client))
            return real_names[i][1];
    return client;
}

static void
make_bundle_set_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL && *text != '\0')
        json_object_set_new(object, key, json_string(text));
}

/* ---- One request ---- */

typedef struct {
    const char *client, *node; /* node: of a kubelet; NULL: another */
    const char *verb, *resource, *subresource, *api_version, *namespace, *name, *uid, *version;
    const char *query;
    json_t *request, *response, *status; /* (owned): status: responseStatus; NULL: none */
    SimTime received, done;
} MakeBundleLine;

static void
set_sender(json_t *event, const MakeBundleLine *line)
{
    const char *name = real_name(line->client);
    g_autofree char *user = NULL, *agent = NULL;

    if (g_str_equal(name, "kubectl")) {
        user = g_strdup(ADMIN);
        agent = g_strdup("kubectl/v1.32.4 (linux/amd64) kubernetes/4cb5f07");
    } else if (line->node != NULL) {
        user = g_strconcat("system:node:", line->node, NULL);
        agent = g_strdup("kubelet/" VERSION);
    } else if (g_str_equal(name, "kube-scheduler")) {
        user = g_strdup("system:kube-scheduler");
        agent = g_strdup("kube-scheduler/" VERSION "/scheduler");
    } else if (g_str_equal(name, "kube-controller-manager")) {
        user = g_strdup("system:kube-controller-manager");
        agent = g_strdup("kube-controller-manager/" VERSION "/shared-informers");
    } else if (g_str_has_prefix(name, "csi-") || g_str_equal(name, "snapshot-controller")) {
        user = g_strconcat("system:serviceaccount:csi:", name, NULL);
        agent = g_strconcat(name, "/v0.0.0 (linux/amd64) kubernetes/$Format", NULL);
    } else {
        user = g_strconcat("system:serviceaccount:kube-system:", name, NULL);
        agent = g_strconcat("kube-controller-manager/" VERSION "/", user, NULL);
    }
    json_object_set_new(event, "user", json_pack("{s:s}", "username", user));
    make_bundle_set_text(event, "userAgent", agent);
}

static char *
uri_of(const MakeBundleLine *line)
{
    const char *name = line->name;

    if (g_str_equal(line->verb, "create") && line->subresource == NULL)
        name = NULL;
    return g_strconcat(strchr(line->api_version, '/') != NULL ? "/apis/" : "/api/",
                       line->api_version, line->namespace != NULL ? "/namespaces/" : "",
                       line->namespace != NULL ? line->namespace : "", "/", line->resource,
                       name != NULL ? "/" : "", name != NULL ? name : "",
                       line->subresource != NULL ? "/" : "",
                       line->subresource != NULL ? line->subresource : "",
                       *line->query != '\0' ? "?" : "", line->query, NULL);
}

static json_t *
reference(const MakeBundleLine *line)
{
    json_t *object = json_pack("{s:s}", "resource", line->resource);
    const char *slash = strchr(line->api_version, '/');

    make_bundle_set_text(object, "namespace", line->namespace);
    make_bundle_set_text(object, "name", line->name);
    make_bundle_set_text(object, "uid", line->uid);
    if (slash != NULL) {
        g_autofree char *group = g_strndup(line->api_version, (gsize)(slash - line->api_version));
        make_bundle_set_text(object, "apiGroup", group);
    }
    make_bundle_set_text(object, "apiVersion", slash != NULL ? slash + 1 : line->api_version);
    make_bundle_set_text(object, "resourceVersion", line->version);
    make_bundle_set_text(object, "subresource", line->subresource);
    return object;
}

static void
set_instant(const Bundle *self, json_t *event, const char *key, SimTime at)
{
    char buffer[API_TIME_BUFFER];

    make_bundle_set_text(event, key,
                         api_time_format(sim_start(run_sim(self->run)) + at, TRUE, buffer));
}

static void
make_bundle_print_json(FILE *file, const json_t *json)
{
    json_dumpf(json, file, JSON_COMPACT);
    fputc('\n', file);
}

/* Takes the bodies and the status. Both stages: the first before the body is read. */
static void
print_line(Bundle *self, MakeBundleLine *line)
{
    g_autofree char *uri = uri_of(line), *id = g_strdup_printf("%08x-0000", ++self->n_events);
    json_t *event =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "kind", "Event", "apiVersion",
                  "audit.k8s.io/v1", "level", self->has_bodies ? "RequestResponse" : "Metadata",
                  "auditID", id, "stage", "RequestReceived", "requestURI", uri, "verb", line->verb);
    MakeBundleLine early = *line;

    if (line->subresource == NULL && g_str_equal(line->verb, "create"))
        early.name = NULL;
    early.uid = early.version = NULL;
    set_sender(event, line);
    json_object_set_new(event, "sourceIPs", json_pack("[s]", "127.0.0.1"));
    json_object_set_new(event, "objectRef", reference(&early));
    set_instant(self, event, "requestReceivedTimestamp", line->received);
    set_instant(self, event, "stageTimestamp", line->received);
    make_bundle_print_json(self->log, event);
    make_bundle_set_text(event, "stage", "ResponseComplete");
    json_object_set_new(event, "objectRef", reference(line));
    json_object_set_new(event, "responseStatus", line->status);
    if (self->has_bodies && line->request != NULL)
        json_object_set(event, "requestObject", line->request);
    if (self->has_bodies && line->response != NULL)
        json_object_set(event, "responseObject", line->response);
    set_instant(self, event, "stageTimestamp", line->done);
    make_bundle_print_json(self->log, event);
    json_decref(event);
    json_decref(line->request);
    json_decref(line->response);
}

/* ---- Writes in the store ---- */

static void
stored_free(void *data)
{
    Stored *self = data;

    json_decref(self->before);
    json_decref(self->after);
    g_free(self);
}

static void
queue_free(void *data)
{
    g_queue_free_full(data, stored_free);
}

static void
make_bundle_see_write(void *data, const Object *before, const Object *after)
{
    Bundle *self = data;
    const ObjectKey *key = (after != NULL ? after : before)->key;
    GQueue *queue = g_hash_table_lookup(self->stored, key);
    Stored *stored = g_new(Stored, 1);

    *stored = (Stored){sim_now(run_sim(self->run)),
                       before == NULL ? NULL : snapshot_object(self->run, before),
                       after == NULL ? NULL : snapshot_object(self->run, after)};
    if (queue == NULL) {
        queue = g_queue_new();
        g_hash_table_insert(self->stored, (void *)key, queue);
    }
    g_queue_push_tail(queue, stored);
}

/* The first write of the object since the request arrived; NULL: it changed nothing. (owned) */
static Stored *
take_stored(Bundle *self, const ApiRequest *request, SimTime arrived_at)
{
    GQueue *queue = g_hash_table_lookup(self->stored, request->key);

    while (queue != NULL && !g_queue_is_empty(queue)) {
        Stored *stored = g_queue_pop_head(queue);
        if (stored->at >= arrived_at)
            return stored;
        stored_free(stored);
    }
    return NULL;
}

/* ---- Requests ---- */

static const struct {
    const char *verb, *subresource;
} verb_words[N_API_VERBS] = {
    [API_GET] = {"get",    NULL      },
    [API_LIST] = {"list",   NULL      },
    [API_CREATE] = {"create", NULL      },
    [API_UPDATE] = {"update", NULL      },
    [API_UPDATE_STATUS] = {"update", "status"  },
    [API_PATCH] = {"patch",  NULL      },
    [API_PATCH_STATUS] = {"patch",  "status"  },
    [API_DELETE] = {"delete", NULL      },
    [API_BIND] = {"create", "binding" },
    [API_EVICT] = {"create", "eviction"},
};

static const json_t *
make_bundle_member(const json_t *object, const char *section, const char *key)
{
    return json_object_get(json_object_get(object, section), key);
}

/* What kubectl sent to change an object. (owned) */
static json_t *
patch_of(const Stored *stored)
{
    static const char *const maps[] = {"labels", "annotations"};
    json_t *patch = json_object(), *metadata = json_object();
    json_t *spec = patch_difference(json_object_get(stored->before, "spec"),
                                    json_object_get(stored->after, "spec"));

    if (spec != NULL)
        json_object_set_new(patch, "spec", spec);
    for (unsigned i = 0; i < G_N_ELEMENTS(maps); i++) {
        json_t *changed = patch_difference(make_bundle_member(stored->before, "metadata", maps[i]),
                                           make_bundle_member(stored->after, "metadata", maps[i]));
        if (changed != NULL)
            json_object_set_new(metadata, maps[i], changed);
    }
    if (json_object_size(metadata) > 0)
        json_object_set(patch, "metadata", metadata);
    json_decref(metadata);
    return patch;
}

/* kubectl's commands that patch: what they send tells which it was. Returns: the truth's action */
static const char *
take_patch(MakeBundleLine *line, const Stored *stored)
{
    json_t *patch = stored == NULL ? json_object() : patch_of(stored);
    const json_t *spec = json_object_get(patch, "spec");
    const char *action = "patch";

    line->request = patch;
    line->query = "fieldManager=kubectl-patch";
    if (json_object_get(spec, "template") != NULL && json_object_size(spec) == 1)
        line->query = "fieldManager=kubectl-rollout";
    if (json_object_get(spec, "unschedulable") != NULL || stored == NULL) {
        line->query = "";
        action = json_is_true(json_object_get(spec, "unschedulable")) ? "cordon" : "uncordon";
    } else if (json_object_get(spec, "taints") != NULL) {
        line->query = "fieldManager=kubectl-taint";
    } else if (json_object_get(spec, "replicas") != NULL && json_object_size(spec) == 1) {
        line->query = "";
        line->subresource = "scale";
        action = "scale";
    }
    return action;
}

static json_t *
delete_options(const ApiRequest *request)
{
    json_t *options = json_pack("{s:s, s:s}", "kind", "DeleteOptions", "apiVersion", "v1");

    if (request->grace_s >= 0)
        json_object_set_new(options, "gracePeriodSeconds", json_integer(request->grace_s));
    if (g_str_equal(request->client, "kubectl"))
        make_bundle_set_text(options, "propagationPolicy", "Background");
    if (request->verb == API_EVICT)
        return json_pack("{s:s, s:o}", "kind", "Eviction", "deleteOptions", options);
    return options;
}

/* An object that is gone at once: most kinds answer with a Status, which tells its uid. */
static void
take_gone(const Bundle *self, MakeBundleLine *line, const Stored *stored, ObjectKind kind)
{
    json_t *metadata = json_object_get(stored->before, "metadata");

    if (kind == KIND_POD || kind == KIND_CLAIM || kind == KIND_VOLUME) {
        line->response = json_incref(stored->before);
        if (json_object_get(metadata, "deletionTimestamp") == NULL)
            set_instant(self, metadata, "deletionTimestamp", stored->at);
        json_object_set_new(metadata, "deletionGracePeriodSeconds", json_integer(0));
        json_object_del(metadata, "finalizers");
        return;
    }
    json_object_set_new(line->status, "details",
                        json_pack("{s:O, s:O}", "name", json_object_get(metadata, "name"), "uid",
                                  json_object_get(metadata, "uid")));
    line->response = json_pack("{s:s, s:O}", "kind", "Status", "details",
                               json_object_get(line->status, "details"));
}

/* A name that the API server drew is not in the request. */
static gboolean
make_bundle_is_drawn(const char *client, ObjectKind kind)
{
    return kind == KIND_POD &&
           (g_str_equal(client, "replicaset-controller") ||
            g_str_equal(client, "daemonset-controller") || g_str_equal(client, "job-controller"));
}

static void
tell_truth(
    Bundle *self, const MakeBundleLine *line, const char *action, const char *kind, unsigned code)
{
    json_t *truth = json_pack("{s:s, s:s, s:s, s:i}", "action", action, "kind", kind, "name",
                              line->name, "code", (int)code);

    make_bundle_set_text(truth, "namespace", line->namespace);
    set_instant(self, truth, "at", line->received);
    make_bundle_print_json(self->truth, truth);
    json_decref(truth);
}

/* Code 1409 is AlreadyExists. */
static unsigned
code_of(ApiCode code, ApiVerb verb)
{
    gboolean creates = verb == API_CREATE || verb == API_BIND || verb == API_EVICT;

    return code == API_OK ? (creates ? 201 : 200) : (unsigned)code % 1000;
}

static void
make_bundle_see_request(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    Bundle *self = data;
    const KindClass *class = kind_class(request->key->kind);
    const char *action = verb_words[request->verb].verb;
    gboolean is_write = request->verb != API_GET && request->verb != API_LIST;
    gboolean is_people = g_str_equal(request->client, "kubectl");
    Stored *stored = is_write && code == API_OK ? take_stored(self, request, arrived_at) : NULL;
    json_t *now = stored == NULL ? NULL : stored->after != NULL ? stored->after : stored->before;
    unsigned http = code_of(code, request->verb);
    MakeBundleLine line = {
        .client = request->client,
        .node = g_hash_table_lookup(self->nodes, &request->client_hash),
        .verb = action,
        .subresource = verb_words[request->verb].subresource,
        .resource = class->resource,
        .api_version = class->api_version,
        .namespace = class->namespaced ? request->key->namespace : NULL,
        .name = request->key->name,
        .query = "",
        .status = json_pack("{s:{}, s:i}", "metadata", "code", (int)http),
        .received = arrived_at,
        .done = sim_now(run_sim(self->run)),
    };

    if (http == API_UNREACHABLE || http == API_TIMEOUT) { /* no server wrote a line */
        json_decref(line.status);
        g_clear_pointer(&stored, stored_free);
        return;
    }
    if (request->verb == API_UPDATE || request->verb == API_UPDATE_STATUS) {
        line.uid = json_string_value(make_bundle_member(now, "metadata", "uid"));
        line.version = json_string_value(make_bundle_member(stored == NULL ? NULL : stored->before,
                                                            "metadata", "resourceVersion"));
    } else if (request->verb == API_BIND) {
        line.uid = json_string_value(make_bundle_member(now, "metadata", "uid"));
        line.request = json_pack("{s:s, s:{s:s, s:s}}", "kind", "Binding", "target", "kind", "Node",
                                 "name", request->node_name);
    } else if (request->verb == API_DELETE || request->verb == API_EVICT) {
        line.request = delete_options(request);
        action = request->verb == API_EVICT ? "evict" : "delete";
    } else if (is_people && request->verb == API_PATCH) {
        action = take_patch(&line, stored);
    } else if (request->verb == API_CREATE && is_people) {
        line.query = "fieldManager=kubectl-create&fieldValidation=Strict";
    }
    if (is_people && is_write && (stored != NULL || http != 200)) /* kubectl sends no empty patch */
        tell_truth(self, &line, action, class->kind, http);
    if (request->verb == API_CREATE && make_bundle_is_drawn(request->client, request->key->kind))
        line.name = NULL;
    gboolean has_object = stored != NULL && request->verb != API_BIND && request->verb != API_EVICT;
    if (has_object && stored->after == NULL)
        take_gone(self, &line, stored, request->key->kind);
    else if (has_object && g_strcmp0(line.subresource, "scale") != 0)
        line.response = json_incref(stored->after);
    print_line(self, &line);
    g_clear_pointer(&stored, stored_free);
}

static void
make_bundle_see_event(void *data, const ApiEventWrite *write, SimTime responds_at)
{
    Bundle *self = data;
    gboolean is_new = write->index == API_NEW_EVENT;
    gboolean has_own = g_str_equal(write->client, "events");
    unsigned n = api_server_n_events(cluster_api(run_cluster(self->run)));
    unsigned index = is_new ? n - 1 : write->index;
    const char *namespace = write->event.involved->namespace;
    json_t *body = index < n ? snapshot_event(self->run, index) : NULL;
    const char *client = has_own ? write->event.source : write->client;
    MakeBundleLine line = {
        .client = client,
        .node = g_str_equal(real_name(client), "kubelet")
                    ? json_string_value(make_bundle_member(body, "source", "host"))
                    : NULL,
        .verb = is_new ? "create" : "patch",
        .resource = "events",
        .api_version = "v1",
        .namespace = *namespace != '\0' ? namespace : "default",
        .query = "",
        .name = json_string_value(make_bundle_member(body, "metadata", "name")),
        .response = body,
        .status = json_pack("{s:{}, s:i}", "metadata", "code", is_new ? 201 : 200),
        .received = MIN(write->arrives_at, sim_now(run_sim(self->run))),
        .done = responds_at,
    };

    print_line(self, &line);
}

/* ---- What the simulator has not: leases, and the reads of a process that starts ---- */

/* The node that a fault is about. NULL: none, or several */
static const char *
find_node(const Bundle *self, const ScenarioAction *action)
{
    const Objects *objects = run_objects(self->run);

    if (action->pod_of_instance == NULL)
        return action->instance;
    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_POD); slot++) {
        const ObjectKey *key = objects_key_at(objects, KIND_POD, slot);
        const Object *pod = api_server_get(cluster_api(run_cluster(self->run)), key);
        if (pod != NULL && POD_CONST(pod)->node_name != NULL &&
            g_pattern_match_simple(action->pod_of_instance, key->name))
            return POD_CONST(pod)->node_name;
    }
    return NULL;
}

static gboolean
stops_node(const Bundle *self, const ScenarioAction *action, const char *node)
{
    const char *stopped = g_hash_table_lookup(self->stopped, action);

    return stopped != NULL && g_pattern_match_simple(stopped, node) &&
           (action->fault == FAULT_STOP_KUBELET || action->fault == FAULT_POWER_OFF ||
            action->fault == FAULT_SHUT_DOWN || action->fault == FAULT_CUT_NETWORK);
}

static gboolean
is_up(const Bundle *self, const char *node, SimTime at)
{
    const Scenario *scenario = run_scenario(self->run);

    for (unsigned i = 0; i < scenario->n_actions; i++) {
        const ScenarioAction *action = &scenario->actions[i];
        if (stops_node(self, action, node) && at >= action->at &&
            (action->lasts < 0 || at < action->at + action->lasts))
            return FALSE;
    }
    return TRUE;
}

static uint64_t
kubelet_hash(const char *node, const char *client)
{
    g_autofree char *process = g_strconcat("kubelet/", node, NULL);

    return sim_hash_combine(sim_hash_string(process), sim_hash_string(client));
}

/* Each node at another phase. */
static void
renew_leases(Bundle *self, SimTime now)
{
    GHashTableIter iter;
    void *hash, *name;

    g_hash_table_iter_init(&iter, self->nodes);
    while (g_hash_table_iter_next(&iter, &hash, &name)) {
        const char *node = name;
        const ObjectKey *key = objects_find_key(run_objects(self->run), KIND_NODE, NULL, node);
        SimTime phase = (SimTime)(sim_hash_string(node) % 10) * SIM_SECOND;
        if (now % LEASE_RENEWED != phase || !is_up(self, node, now) || key == NULL ||
            api_server_get(cluster_api(run_cluster(self->run)), key) == NULL ||
            *(const uint64_t *)hash != kubelet_hash(node, "kubelet"))
            continue;
        MakeBundleLine line = {
            .client = "kubelet",
            .node = node,
            .verb = "update",
            .resource = "leases",
            .api_version = "coordination.k8s.io/v1",
            .namespace = "kube-node-lease",
            .name = node,
            .query = "timeout=10s",
            .status = json_pack("{s:{}, s:i}", "metadata", "code", 200),
            .received = now,
            .done = now + 4 * SIM_MS,
        };
        print_line(self, &line);
    }
}

/* The informers of a process that starts begin with all objects of their kinds. */
static void
print_start(Bundle *self, const char *client, const char *node, SimTime at)
{
    static const ObjectKind kinds[] = {KIND_POD,  KIND_CLAIM,    KIND_VOLUME,
                                       KIND_NODE, KIND_CSI_NODE, KIND_ATTACHMENT};

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        MakeBundleLine line = {
            .client = client,
            .node = node,
            .verb = "list",
            .resource = kind_class(kinds[i])->resource,
            .api_version = kind_class(kinds[i])->api_version,
            .query = "limit=500&resourceVersion=0",
            .status = json_pack("{s:{}, s:i}", "metadata", "code", 200),
            .received = at + 5 * (SimTime)i * SIM_MS,
            .done = at + 5 * (SimTime)i * SIM_MS + 2 * SIM_MS,
        };
        print_line(self, &line);
    }
}

static void
tell_fault(Bundle *self, const ScenarioAction *action, const char *node)
{
    static const char *const names[] = {
        [FAULT_CRASH] = "crash",
        [FAULT_POWER_OFF] = "power-off",
        [FAULT_SHUT_DOWN] = "shut-down",
        [FAULT_STOP_KUBELET] = "stop-kubelet",
        [FAULT_CUT_NETWORK] = "cut-network",
    };
    const char *name = action->fault < G_N_ELEMENTS(names) ? names[action->fault] : NULL;
    json_t *truth = json_pack("{s:s, s:f}", "fault", name != NULL ? name : "other", "lasts",
                              (double)action->lasts / (double)SIM_SECOND);

    make_bundle_set_text(truth, "name", node != NULL ? node : action->process);
    set_instant(self, truth, "at", action->at);
    make_bundle_print_json(self->truth, truth);
    json_decref(truth);
}

/* The faults that begin or end in the second from @now on. */
static void
see_faults(Bundle *self, SimTime now)
{
    const Scenario *scenario = run_scenario(self->run);

    for (unsigned i = 0; i < scenario->n_actions; i++) {
        const ScenarioAction *action = &scenario->actions[i];
        gboolean is_node = action->type == ACTION_FAULT && action->process == NULL;
        if (action->type != ACTION_FAULT)
            continue;
        if (action->at >= now && action->at < now + SIM_SECOND) {
            if (is_node || action->fault == FAULT_STOP_KUBELET)
                g_hash_table_insert(self->stopped, (void *)action, (char *)find_node(self, action));
            tell_fault(self, action, g_hash_table_lookup(self->stopped, action));
        }
        const char *node = g_hash_table_lookup(self->stopped, action);
        SimTime end = action->at + action->lasts;
        gboolean restarts = action->fault == FAULT_CRASH || action->fault == FAULT_STOP_KUBELET ||
                            action->fault == FAULT_POWER_OFF;
        if (restarts && (node != NULL || action->process != NULL) && action->lasts >= 0 &&
            end >= now && end < now + SIM_SECOND)
            print_start(self, node != NULL ? "kubelet" : action->process, node, end + 20 * SIM_MS);
    }
}

/* ---- Files ---- */

static gboolean
write_dump(const Bundle *self, unsigned number)
{
    g_autofree char *path = g_strdup_printf("%s/dump-%u.json", self->folder, number);
    json_t *list = json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items",
                             snapshot_take(self->run));
    gboolean ok = json_dump_file(list, path, JSON_INDENT(1)) == 0;

    json_decref(list);
    return ok;
}

static gboolean
write_scrape(const Bundle *self)
{
    SimTime since = (sim_now(run_sim(self->run)) - self->from) / SIM_SECOND;
    g_autofree char *name = g_strdup_printf("%04d.prom", (int)since);
    g_autoptr(ResultFile) file = result_file_new(self->folder, name);

    telemetry_append_text(run_telemetry(self->run), file);
    /* a scrape has no time in it but that of its file */
    g_autofree char *path = g_build_filename(self->folder, name, NULL);
    gint64 now = snapshot_now(self->run) / SIM_SECOND;
    const struct utimbuf times = {now, now};
    return result_file_finish(file, NULL) && g_utime(path, (struct utimbuf *)&times) == 0;
}

/* Times of the recorder are since t = 0 of the run, those of a bundle since its first dump. */
static gboolean
write_recorded(const Bundle *self, Recorder *recorder, SimTime until)
{
    Recorded *recorded = recorder_recorded(recorder);
    const GPtrArray *objects = recorded_objects(recorded);
    char buffer[API_TIME_BUFFER];

    for (unsigned i = 0; i < objects->len; i++) {
        RecordedObject *object = objects->pdata[i];
        for (unsigned k = 0; k < N_RECORDED_TIMES; k++)
            if (object->at[k] != TIME_UNSET)
                object->at[k] -= self->from;
    }
    recorded_set_span(recorded,
                      api_time_format(sim_start(run_sim(self->run)) + self->from, TRUE, buffer),
                      until - self->from);
    return recorded_write(recorded, self->folder, NULL);
}

static void
know_kubelets(Bundle *self)
{
    static const char *const clients[] = {"kubelet", "kubelet-heartbeat"};
    const Objects *objects = run_objects(self->run);

    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_NODE); slot++)
        for (unsigned i = 0; i < G_N_ELEMENTS(clients); i++) {
            const char *node = objects_key_at(objects, KIND_NODE, slot)->name;
            uint64_t hash = kubelet_hash(node, clients[i]);
            g_hash_table_insert(self->nodes, g_memdup2(&hash, sizeof hash), (char *)node);
        }
}

static gboolean
make_bundle_record(Bundle *self, SimTime until)
{
    g_autoptr(Recorder) recorder = recorder_new(self->run);
    ApiServer *api = cluster_api(run_cluster(self->run));
    gboolean ok = write_dump(self, 0);
    unsigned n = 1;

    api_server_observe(api, make_bundle_see_write, self);
    api_server_observe_requests(api, make_bundle_see_request, self);
    api_server_observe_events(api, make_bundle_see_event, self);
    for (SimTime now = self->from; now < until && ok; now += SIM_SECOND) {
        if ((now - self->from) % SCRAPED == 0)
            ok = write_scrape(self);
        know_kubelets(self);
        renew_leases(self, now);
        see_faults(self, now);
        run_advance(self->run, MIN(now + SIM_SECOND, until));
        if (now + SIM_SECOND >= self->from + (until - self->from) * n / (DUMPS - 1))
            ok = ok && write_dump(self, n++);
    }
    return ok && write_scrape(self) && write_recorded(self, recorder, until);
}

static FILE *
open_file(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);

    return fopen(path, "w");
}

static SimTime
end_of(const Scenario *scenario, const RunOptions *options)
{
    if (scenario->until != SIM_TIME_MAX)
        return scenario->until;
    g_autoptr(Run) run = run_new(scenario, options, NULL);
    run_execute(run);
    return sim_now(run_sim(run));
}

int
main(int argc, char **argv)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;

    if (argc != 6)
        return 2;
    g_autoptr(Scenario) scenario = scenario_load(argv[1], &options, &faults);
    const RunOptions run_options = {
        .seed = (uint64_t)atoll(argv[2]), .untraced = TRUE, .measured = TRUE};
    g_autoptr(Run) run = scenario == NULL ? NULL : run_new(scenario, &run_options, &error);
    if (run == NULL) {
        fprintf(stderr, "%s\n", error != NULL ? error->message : "not sound");
        return 1;
    }
    Bundle self = {
        .run = run,
        .folder = argv[5],
        .log = open_file(argv[5], "audit.log"),
        .truth = open_file(argv[5], "truth.jsonl"),
        .has_bodies = g_str_equal(argv[3], "RequestResponse"),
        .from = (SimTime)(atof(argv[4]) * (double)SIM_SECOND),
        .stopped = g_hash_table_new(NULL, NULL),
        .stored = g_hash_table_new_full(NULL, NULL, NULL, queue_free),
        .nodes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
    };
    gboolean ok = self.log != NULL && self.truth != NULL;
    if (ok) {
        SimTime until = end_of(scenario, &run_options);
        run_advance(run, self.from);
        ok = make_bundle_record(&self, until);
        ok &= fclose(self.log) == 0 && fclose(self.truth) == 0;
    }
    g_hash_table_unref(self.stopped);
    g_hash_table_unref(self.stored);
    g_hash_table_unref(self.nodes);
    return !ok;
}
