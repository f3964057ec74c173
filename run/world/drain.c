/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kubectl drain (WL-110 to WL-112): cordons a node and evicts its pods in parallel. Pods that no
 * option covers prevent the drain as a whole; then nothing is evicted. An eviction that a budget
 * refuses is repeated every 5 s, and an accepted one looked at every second until the pod is gone,
 * both up to the time limit. 404 counts as done. */
#include <string.h>

#include "models/api/workload.h"
#include "run-private.h"
#include "sim/random.h"

#define CLIENT "kubectl"
#define RETRY_DELAY (5 * SIM_SECOND) /* WL-111: after a 429 */
#define POLL_PERIOD SIM_SECOND       /* WL-111: interval between checks whether the pod is gone */

typedef struct {
    Run *run;
    const ScenarioAction *action;
    const char *node;     /* interned */
    GPtrArray *evictions; /* of Eviction (owned) */
    unsigned n_left;      /* pods that are neither gone nor given up */
    SimTime since, gives_up_at;
    uint64_t client_hash;
    void (*over)(void *data);
    void *data;
} Drain;

/* The eviction of one pod. */
typedef struct {
    Drain *drain;
    ObjectKey *pod;
    ObjectUid uid;
    gboolean is_accepted, is_over;
    char *refusal; /* (owned): the API server's last refusal, NULL: none */
} DrainEviction;

static void
eviction_free(void *data)
{
    DrainEviction *self = data;

    g_free(self->refusal);
    g_free(self);
}

static void
drain_free(void *data)
{
    Drain *self = data;

    g_ptr_array_unref(self->evictions);
    g_free(self);
}

static void
send(Drain *self, ApiRequest *request, ApiReply reply, void *data)
{
    request->client = CLIENT;
    request->client_hash = self->client_hash;
    api_server_request(cluster_api(self->run->cluster), request, reply, NULL, data);
}

static void
eviction_over(DrainEviction *eviction)
{
    Drain *self = eviction->drain;

    eviction->is_over = TRUE;
    if (--self->n_left == 0)
        self->over(self->data);
}

static void eviction_ask(DrainEviction *self);

static void
eviction_again(Sim *sim, void *data)
{
    (void)sim;
    eviction_ask(data);
}

static const SimEventType again_event = {
    .name = "workload/drain",
    .fire = eviction_again,
};

/* kubectl checks its time limit between two tries. */
static void
eviction_later(DrainEviction *self, SimTime delay)
{
    Sim *sim = self->drain->run->sim;

    if (sim_now(sim) + delay > self->drain->gives_up_at) {
        run_note(self->drain->run, self->drain->action, "drain of node %s: no time is left for %s",
                 self->drain->node, self->pod->text);
        eviction_over(self);
    } else {
        sim_after(sim, delay, &again_event, self, WAIT_SCENARIO);
    }
}

/* WL-111: a 429 is repeated, 404 counts as done, other errors end the eviction. */
static void
eviction_answered(void *data, const ApiResponse *response)
{
    DrainEviction *self = data;

    if (response->code == API_TOO_MANY || response->code == API_UNREACHABLE) {
        g_free(self->refusal);
        self->refusal = g_strdup(response->message);
        eviction_later(self, RETRY_DELAY);
    } else if (response->code == API_OK) {
        self->is_accepted = TRUE;
        eviction_later(self, POLL_PERIOD);
    } else {
        if (response->code != API_NOT_FOUND)
            run_note(self->drain->run, self->drain->action, "drain of node %s: %s: %s",
                     self->drain->node, self->pod->text, response->message);
        eviction_over(self);
    }
}

static void
pod_answered(void *data, const ApiResponse *response)
{
    DrainEviction *self = data;

    if (response->code == API_OK && object_uid_equal(response->object->uid, self->uid))
        eviction_later(self, POLL_PERIOD);
    else
        eviction_over(self);
}

static void
eviction_ask(DrainEviction *self)
{
    ApiRequest request = {
        .verb = self->is_accepted ? API_GET : API_EVICT,
        .key = self->pod,
        .grace_s = self->drain->action->grace_s,
    };

    send(self->drain, &request, self->is_accepted ? pod_answered : eviction_answered, self);
}

/* ---- Which pods (WL-110) ---- */

typedef enum {
    POD_SKIPPED,
    POD_EVICTED,
    POD_REFUSED, /* without an option for them, drain evicts nothing */
} PodFate;

static gboolean
is_of_daemon_set(const Pod *pod)
{
    const OwnerReference *owner = object_controller(&pod->meta);

    return owner != NULL && strcmp(owner->kind, "DaemonSet") == 0;
}

/* @why: (out): for a refused pod, kubectl's words and the option that would allow it */
static PodFate
pod_fate(const ScenarioAction *action, const Pod *pod, const char **why)
{
    if (object_annotation(&pod->meta, "kubernetes.io/config.mirror") != NULL)
        return POD_SKIPPED;
    *why = "cannot delete DaemonSet-managed Pods (ignoreDaemonSets: true leaves them)";
    if (is_of_daemon_set(pod))
        return action->drain.ignore_daemon_sets ? POD_SKIPPED : POD_REFUSED;
    if (pod_is_terminal(pod))
        return POD_EVICTED;
    *why = "cannot delete Pods with local storage (deleteEmptyDirData: true allows it)";
    if (pod->spec->has_empty_dir && !action->drain.delete_empty_dir)
        return POD_REFUSED;
    *why = "cannot delete Pods that declare no controller (force: true allows it)";
    if (object_controller(&pod->meta) == NULL && !action->drain.force)
        return POD_REFUSED;
    return POD_EVICTED;
}

/* Returns: FALSE: a pod prevents the drain */
static gboolean
find_pods(Drain *self)
{
    const ApiServer *api = cluster_api(self->run->cluster);
    Objects *objects = self->run->objects;
    const char *why;

    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_POD); slot++) {
        ObjectKey *key = objects_key_at(objects, KIND_POD, slot);
        const Object *pod = api_server_get(api, key);
        if (pod == NULL || g_strcmp0(POD_CONST(pod)->node_name, self->node) != 0)
            continue;
        PodFate fate = pod_fate(self->action, POD_CONST(pod), &why);
        if (fate == POD_REFUSED) {
            run_note(self->run, self->action, "drain of node %s: %s: %s", self->node, why,
                     key->text);
            return FALSE;
        }
        if (fate == POD_SKIPPED)
            continue;
        DrainEviction *eviction = g_new0(DrainEviction, 1);
        *eviction = (DrainEviction){.drain = self, .pod = key, .uid = pod->uid};
        g_ptr_array_add(self->evictions, eviction);
    }
    return TRUE;
}

/* ---- The steps ---- */

static void
pods_listed(void *data, const ApiResponse *response)
{
    Drain *self = data;

    if (response->code != API_OK || !find_pods(self) || self->evictions->len == 0) {
        self->over(self->data);
        return;
    }
    self->n_left = self->evictions->len;
    for (unsigned i = 0; i < self->evictions->len; i++)
        eviction_ask(self->evictions->pdata[i]);
}

static void
node_cordoned(void *data, const ApiResponse *response)
{
    Drain *self = data;

    if (response->code != API_OK) {
        self->over(self->data);
        return;
    }
    ApiRequest request = {.verb = API_LIST,
                          .key = objects_key(self->run->objects, KIND_POD, NULL, "*")};
    send(self, &request, pods_listed, self);
}

static gboolean
edit_cordon(Object *object, const void *arg)
{
    gboolean changed = !NODE(object)->unschedulable;

    (void)arg;
    NODE(object)->unschedulable = TRUE;
    return changed;
}

void
drain_begin(Run *run, const ScenarioAction *action, void (*over)(void *data), void *data)
{
    Drain *self = g_new0(Drain, 1);
    Strings *strings = objects_strings(run->objects);
    const char *node = action->node_of_pod != NULL ? run_node_of_pod(run, action->node_of_pod)
                                                   : strings_intern(strings, action->name);

    *self = (Drain){.run = run, .action = action, .node = node, .over = over, .data = data};
    self->since = sim_now(run->sim);
    self->evictions = g_ptr_array_new_with_free_func(eviction_free);
    self->gives_up_at = action->drain.timeout == 0
                            ? SIM_TIME_MAX
                            : sim_time_add(sim_now(run->sim), action->drain.timeout);
    self->client_hash = sim_hash_combine(sim_hash_string(CLIENT " drain"), action->line);
    g_ptr_array_add(run->drains, self);
    if (node == NULL) {
        run_note_missing(run, action);
        over(data);
        return;
    }
    ApiRequest request = {.verb = API_PATCH,
                          .key = objects_key(run->objects, KIND_NODE, NULL, node),
                          .edit = edit_cordon};
    send(self, &request, node_cordoned, self);
}

static const DrainEviction *
first_left(const Drain *self)
{
    for (unsigned i = 0; i < self->evictions->len; i++) {
        const DrainEviction *eviction = self->evictions->pdata[i];
        if (!eviction->is_over)
            return eviction;
    }
    return NULL;
}

static void
note_left(const Drain *self)
{
    const DrainEviction *eviction = first_left(self);

    if (eviction != NULL)
        run_note(self->run, self->action, "drain of node %s: not over, %u pod%s left: %s: %s",
                 self->node, self->n_left, self->n_left == 1 ? " is" : "s are", eviction->pod->text,
                 eviction->is_accepted       ? "is evicted, but not gone"
                 : eviction->refusal != NULL ? eviction->refusal
                                             : "its eviction is not answered");
}

GArray *
run_drains(const Run *self)
{
    GArray *drains = g_array_new(FALSE, FALSE, sizeof(RunDrain));

    for (unsigned i = 0; i < self->drains->len; i++) {
        const Drain *drain = self->drains->pdata[i];
        const DrainEviction *eviction = first_left(drain);
        const RunDrain item = {
            .node = drain->node,
            .pod = eviction == NULL ? NULL : eviction->pod,
            .refusal = eviction == NULL || eviction->is_accepted ? NULL : eviction->refusal,
            .since = drain->since,
        };
        if (eviction != NULL)
            g_array_append_val(drains, item);
    }
    return drains;
}

void
drains_finish(Run *run)
{
    for (unsigned i = 0; i < run->drains->len; i++)
        note_left(run->drains->pdata[i]);
}

GPtrArray *
drains_new(void)
{
    return g_ptr_array_new_with_free_func(drain_free);
}
