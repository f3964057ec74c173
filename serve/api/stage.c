/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The content of the page: objects, processes, drivers and the story. Objects have the number of
 * their latest change, so a page asks only for newer ones; objects that are gone are told for a
 * while, and a page from before gets all anew. A run has an id, so a page notices another run on
 * the same server. */
#include "stage.h"

#include <string.h>

#include "models/api/workload.h"
#include "models/cluster/inspect.h"
#include "models/csi/flex-call.h"
#include "models/plan/plan.h"
#include "run/teach/sequence.h"

/* The most calls in flight of a driver that are listed. */
#define CALLS_MAX 40
/* A page is told of the objects that are gone. If there are more than this, the oldest are
 * forgotten, and a page that has not heard of them gets all objects again. */
#define GONE_MAX 4096

/* An object and the number of its latest change. */
typedef struct {
    const ObjectKey *key;
    uint64_t number;
    GList *gone; /* its link in the queue of objects that are gone; NULL: it is there */
} StageMark;

struct ServeStage {
    Run *run; /* (borrowed) */
    const Narrator *narrator;
    GQueue marks;     /* of Mark (owned), by number */
    GQueue gone;      /* links in @marks: objects that are gone, by number */
    GHashTable *find; /* key -> its link in @marks */
    uint64_t id;      /* the run's number: another run on the same server has another */
    uint64_t n_changes;
    uint64_t forgotten; /* the number of the latest mark that was forgotten */
};

/* ---- Objects ---- */

/* The drawn members of an object, by kind. */
static json_t *
stage_pod(const Object *object)
{
    const Pod *pod = POD_CONST(object);
    json_t *claims = json_array();

    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++)
        json_array_append_new(claims, json_string(pod->volumes->items[i].claim_name));
    return json_pack("{s:s, s:b, s:o, s:s*}", "phase", pod_phase_name((PodPhase)pod->phase),
                     "isReady", pod_is_ready(pod), "claims", claims, "node", pod->node_name);
}

static json_t *
stage_claim(const Object *object)
{
    const Claim *claim = CLAIM_CONST(object);

    return json_pack("{s:s, s:s, s:s, s:s*}", "phase", claim_phase_name((ClaimPhase)claim->phase),
                     "volume", claim_volume_name(claim), "class", claim_class(claim),
                     "selectedNode", object_annotation(object, ANNOTATION_SELECTED_NODE));
}

static json_t *
stage_volume(const Object *object)
{
    const Volume *volume = VOLUME_CONST(object);
    const ObjectKey *claim = volume->claim_ref.claim;

    return json_pack("{s:s, s:s, s:s}", "phase", volume_phase_name((VolumePhase)volume->phase),
                     "claim", claim != NULL ? claim->text : "", "class", volume_class(volume));
}

static json_t *
stage_attachment(const Object *object)
{
    const Attachment *attachment = (const Attachment *)object;

    return json_pack("{s:s*, s:s, s:b, s:b}", "node", attachment->node_name, "volume",
                     attachment->volume_name != NULL ? attachment->volume_name : "", "isAttached",
                     attachment->attached, "hasError",
                     attachment->attach_error.message != NULL ||
                         attachment->detach_error.message != NULL);
}

static json_t *
stage_node(const Object *object)
{
    const Node *node = (const Node *)object;
    const char *zone = object_label(object, "topology.kubernetes.io/zone");

    return json_pack("{s:b, s:b, s:s}", "isReady", node->ready.status == CONDITION_TRUE,
                     "isCordoned", node->unschedulable, "zone", zone != NULL ? zone : "");
}

static json_t *
stage_stateful_set(const Object *object)
{
    const StatefulSet *set = (const StatefulSet *)object;

    return json_pack("{s:i, s:i}", "replicas", set->replicas, "ready", set->ready_replicas);
}

static json_t *
stage_deployment(const Object *object)
{
    const Deployment *deployment = (const Deployment *)object;

    return json_pack("{s:i, s:i}", "replicas", deployment->replicas, "ready",
                     deployment->ready_replicas);
}

/* clang-format off */
static const struct {
    const char *word;                       /* as in "pod/web-0" */
    json_t *(*describe)(const Object *object); /* Returns: (owned) */
} drawn[N_KINDS] = {
    [KIND_POD]          = {"pod",         stage_pod         },
    [KIND_CLAIM]        = {"pvc",         stage_claim       },
    [KIND_VOLUME]       = {"pv",          stage_volume      },
    [KIND_ATTACHMENT]   = {"va",          stage_attachment  },
    [KIND_NODE]         = {"node",        stage_node        },
    [KIND_STATEFUL_SET] = {"statefulset", stage_stateful_set},
    [KIND_DEPLOYMENT]   = {"deployment",  stage_deployment  },
};
/* clang-format on */

/* Returns: (owned) */
static json_t *
row_of(const ServeStage *self, const ObjectKey *key)
{
    const Object *object = api_server_get(cluster_api(run_cluster(self->run)), key);
    json_t *row = json_pack("{s:s, s:s, s:s}", "kind", drawn[key->kind].word, "namespace",
                            key->namespace, "name", key->name);

    if (object == NULL) {
        json_object_set_new(row, "isGone", json_true());
        return row;
    }
    if (object_is_deleted(object))
        json_object_set_new(row, "isDeleting", json_true());
    json_object_set_new(row, "created", json_integer(object->created_at));
    json_object_update_new(row, drawn[key->kind].describe(object));
    return row;
}

static void
forget_oldest(ServeStage *self)
{
    GList *link = g_queue_pop_head(&self->gone);
    StageMark *mark = link->data;

    self->forgotten = mark->number;
    g_hash_table_remove(self->find, mark->key);
    g_queue_delete_link(&self->marks, link);
    g_free(mark);
}

static void
note_change(ServeStage *self, const ObjectKey *key, gboolean is_gone)
{
    GList *link = g_hash_table_lookup(self->find, key);

    if (drawn[key->kind].describe == NULL)
        return;
    if (link == NULL) {
        StageMark *fresh = g_new0(StageMark, 1);
        fresh->key = key;
        link = g_list_alloc();
        link->data = fresh;
        g_hash_table_insert(self->find, (void *)key, link);
    } else {
        g_queue_unlink(&self->marks, link);
    }
    StageMark *mark = link->data;
    mark->number = ++self->n_changes;
    g_queue_push_tail_link(&self->marks, link);
    if (mark->gone != NULL)
        g_queue_delete_link(&self->gone, mark->gone);
    mark->gone = NULL;
    if (!is_gone)
        return;
    g_queue_push_tail(&self->gone, link);
    mark->gone = self->gone.tail;
    if (self->gone.length > GONE_MAX)
        forget_oldest(self);
}

static void
stage_see_write(void *data, const RunRecord *record)
{
    note_change(data, record->object, record->after == NULL);
}

uint64_t
serve_stage_id(const ServeStage *self)
{
    return self->id;
}

json_t *
serve_stage_objects(const ServeStage *self, uint64_t since, uint64_t *next, gboolean *is_whole)
{
    json_t *list = json_array();
    const GList *link = self->marks.tail;

    *is_whole = since == 0 || since < self->forgotten || since > self->n_changes;
    if (*is_whole)
        since = 0;
    while (link != NULL && ((const StageMark *)link->data)->number > since)
        link = link->prev;
    for (link = link != NULL ? link->next : self->marks.head; link != NULL; link = link->next) {
        json_t *row = row_of(self, ((const StageMark *)link->data)->key);
        if (*is_whole && json_object_get(row, "isGone") != NULL)
            json_decref(row);
        else
            json_array_append_new(list, row);
    }
    *next = self->n_changes;
    return list;
}

const ObjectKey *
serve_stage_find(const ServeStage *self, const char *object, const char *namespace)
{
    const char *slash = strchr(object, '/');

    for (unsigned kind = 0; slash != NULL && kind < N_KINDS; kind++) {
        const char *word = drawn[kind].word;
        if (word != NULL && strlen(word) == (gsize)(slash - object) &&
            g_str_has_prefix(object, word))
            return objects_find_key(run_objects(self->run), (ObjectKind)kind,
                                    namespace != NULL ? namespace : "", slash + 1);
    }
    return NULL;
}

/* ---- Processes ---- */

static void
count_delayed(void *data, const ObjectKey *key, SimTime at, unsigned failures)
{
    (void)key;
    (void)at;
    (void)failures;
    ++*(unsigned *)data;
}

static json_t *
queue_json(const Workers *workers)
{
    const WorkQueue *queue = workers_queue((Workers *)workers);
    unsigned n_busy, n = workers_count(workers, &n_busy), length = work_queue_length(queue),
                     listed = 0;

    work_queue_list(queue, count_delayed, &listed);
    return json_pack("{s:s, s:i, s:i, s:i, s:i}", "name", workers_name(workers), "length",
                     (int)length, "delayed", (int)(listed - MIN(listed, length)), "workers", (int)n,
                     "busy", (int)n_busy);
}

static json_t *
component_json(const Component *component)
{
    ApiClientBucket bucket = api_client_bucket(component->client);
    json_t *queues = json_array(), *json;

    for (const GList *link = component->workers.head; link != NULL; link = link->next)
        json_array_append_new(queues, queue_json(link->data));
    json = json_pack("{s:s, s:i, s:o}", "name", component->class->name, "plans",
                     (int)component->plans.length, "queues", queues);
    if (bucket.qps > 0)
        json_object_set_new(json, "client",
                            json_pack("{s:f, s:f, s:f}", "qps", bucket.qps, "burst", bucket.burst,
                                      "tokens", bucket.tokens));
    return json;
}

static const char *
stage_state_of(const ProcessView *process)
{
    return process->is_off        ? "off"
           : !process->is_running ? "down"
           : process->is_hung     ? "hung"
           : process->is_cut_off  ? "cut-off"
                                  : "running";
}

static void
process_seen(void *data, const ProcessView *process)
{
    gboolean is_agent = process->scope == PER_NODE || process->node != NULL;
    const char *state = stage_state_of(process);

    if (is_agent && g_str_equal(state, "running"))
        return;
    json_t *components = json_array();
    for (unsigned i = 0; !is_agent && i < process->components->len; i++)
        json_array_append_new(components, component_json(process->components->pdata[i]));
    json_t *json = json_pack("{s:s, s:s, s:i, s:o}", "name", process->name, "state", state,
                             "replica", (int)process->replica, "components", components);
    const char *node = process->scope == PER_NODE ? process->instance : process->node;
    if (process->scope == PER_DRIVER)
        json_object_set_new(json, "driver", json_string(process->instance));
    if (node != NULL)
        json_object_set_new(json, "node", json_string(node));
    if (process->elects)
        json_object_set_new(json, "leads", json_boolean(process->leads));
    json_array_append_new(data, json);
}

json_t *
serve_stage_processes(const ServeStage *self)
{
    json_t *list = json_array();
    const ApiServer *api = cluster_api(run_cluster(self->run));

    json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:[]}", "name", "kube-apiserver",
                                          "state", api_server_is_down(api) ? "down" : "running",
                                          "replica", 0, "components"));
    cluster_inspect_processes(run_cluster(self->run), process_seen, list);
    return list;
}

/* ---- Drivers ---- */

static json_t *
call_json(const CsiCallRecord *record)
{
    const CsiRequest *request = record->request;
    json_t *json = json_pack("{s:I, s:s, s:I}", "id", (json_int_t)record->id, "method",
                             csi_call_name(record->driver, request->method), "since",
                             (json_int_t)record->started_at);
    const char *about = request->name != NULL ? request->name : request->volume_id;
    const char *node = csi_request_node(request);

    if (about != NULL)
        json_object_set_new(json, "about", json_string(about));
    if (node != NULL)
        json_object_set_new(json, "node", json_string(node));
    return json;
}

json_t *
serve_stage_drivers(const ServeStage *self)
{
    const Cluster *cluster = run_cluster(self->run);
    json_t *list = json_array();

    for (unsigned i = 0; i < cluster_n_drivers(cluster); i++) {
        const CsiDriver *driver = cluster_driver(cluster, i);
        json_t *calls = json_array();
        const CsiCallRecord *record;
        unsigned place = 0;
        while (json_array_size(calls) < CALLS_MAX &&
               (record = csi_driver_next_call(driver, &place)) != NULL)
            json_array_append_new(calls, call_json(record));
        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:i, s:o}", "name", csi_driver_name(driver),
                                        "inFlight", (int)csi_driver_in_flight(driver), "volumes",
                                        (int)run_driver_volumes(self->run, i), "calls", calls));
    }
    return list;
}

/* ---- The story ---- */

static void
stage_set_text(json_t *json, const char *name, const char *text)
{
    if (text != NULL && *text != '\0')
        json_object_set_new(json, name, json_string(text));
}

static json_t *
entry_json(const ServeStage *self, unsigned number, const NarratorSight *sight)
{
    const char *kind = sight->is_answer  ? "answer"
                       : !sight->is_step ? "change"
                       : sight->is_call  ? "call"
                                         : "step";
    json_t *json = json_pack("{s:i, s:s, s:I}", "number", (int)number, "kind", kind, "at",
                             (json_int_t)sight->at);
    SequenceNews news;

    if (sight->since != sight->at)
        json_object_set_new(json, "since", json_integer(sight->since));
    stage_set_text(json, "who", sight->who);
    stage_set_text(json, "where", sight->where);
    stage_set_text(json, "rule", sight->rule);
    stage_set_text(json, "what", sight->what);
    stage_set_text(json, "message", sight->message);
    stage_set_text(json, "verb", sight->is_new ? "create" : sight->is_gone ? "gone" : sight->verb);
    if (sight->key != NULL) {
        const char *word = drawn[sight->key->kind].word;
        json_object_set_new(json, "object",
                            json_sprintf("%s/%s",
                                         word != NULL ? word : kind_class(sight->key->kind)->kind,
                                         sight->key->name));
        stage_set_text(json, "namespace", sight->key->namespace);
    }
    if (sight->is_failure || sight->is_warning)
        json_object_set_new(json, "isTrouble", json_true());
    if ((sight->is_call || !sight->is_step) && sequence_find_news(self->narrator, number, &news))
        json_object_set_new(json, "news",
                            json_pack("{s:I, s:I, s:s}", "sent", (json_int_t)news.sent_at,
                                      "arrived", (json_int_t)news.arrived_at, "kind",
                                      kind_class(news.kind)->kind));
    return json;
}

json_t *
serve_stage_story(const ServeStage *self, unsigned since, unsigned limit, unsigned *next)
{
    json_t *list = json_array();
    unsigned n = self->narrator != NULL ? narrator_n_seen(self->narrator) : 0, first = n;

    for (unsigned told = 0; first > since && told < limit; first--)
        told += !narrator_seen(self->narrator, first - 1).is_small;
    for (unsigned i = first; i < n; i++) {
        NarratorSight sight = narrator_seen(self->narrator, i);
        if (!sight.is_small)
            json_array_append_new(list, entry_json(self, i, &sight));
    }
    *next = n;
    return list;
}

/* ---- The whole ---- */

ServeStage *
serve_stage_new(Run *run, const Narrator *narrator)
{
    ServeStage *self = g_new0(ServeStage, 1);
    Objects *objects = run_objects(run);
    ApiServer *api = cluster_api(run_cluster(run));

    *self = (ServeStage){.run = run,
                         .id = (uint64_t)g_get_real_time(),
                         .narrator = narrator,
                         .find = g_hash_table_new(NULL, NULL)};
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        for (uint32_t slot = 0; slot < objects_n_keys(objects, (ObjectKind)kind); slot++) {
            const ObjectKey *key = objects_key_at(objects, (ObjectKind)kind, slot);
            if (api_server_get(api, key) != NULL)
                note_change(self, key, FALSE);
        }
    records_watch(run_records(run), RECORD_WRITE, stage_see_write, self);
    return self;
}

void
serve_stage_free(ServeStage *self)
{
    if (self == NULL)
        return;
    g_queue_clear_full(&self->marks, g_free);
    g_queue_clear(&self->gone);
    g_hash_table_unref(self->find);
    g_free(self);
}
