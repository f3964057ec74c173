/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "simulated.h"

#include <string.h>

#include "models/api/workload.h"
#include "moments-private.h"
#include "run/world/run.h"

/* One run in progress. The meanings of drawn names are known only at its end. */
typedef struct {
    Moments *moments;
    GArray *steps;           /* of Step */
    GHashTable *attachments; /* ObjectKey * of a VolumeAttachment -> name of its volume */
    GHashTable *handles;     /* a driver's id of a volume -> the volume's name */
} Simulated;

/* A request or a call about one object. */
typedef struct {
    const ObjectKey *key; /* of a claim, volume, attachment or pod; NULL: see @volume */
    char *volume;         /* a driver's id of a volume (owned) */
    const char *what;     /* interned */
    double at;
} Step;

static void
step_clear(void *data)
{
    g_free(((Step *)data)->volume);
}

/* The recordings' names of the clients. */
static const char *
recorded_client(const char *client, char *buffer, size_t size)
{
    static const struct {
        const char *ours, *recorded;
    } names[] = {
        {"kubectl",                   "lab"                     },
        {"kube-scheduler",            "kube-scheduler/scheduler"},
        {"external-provisioner",      "csi-provisioner"         },
        {"external-attacher",         "csi-attacher"            },
        {"external-resizer",          "csi-resizer"             },
        {"kubelet",                   "kubelet"                 },
        {"kubelet-heartbeat",         "kubelet"                 },
        {"taint-eviction-controller", "kcm/node-controller"     },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i].ours, client) == 0)
            return names[i].recorded;
    g_snprintf(buffer, size, "kcm/%s", client);
    return buffer;
}

static double
recorded_time(SimTime at)
{
    return (double)(at - TIMELINE_LEAD) / (double)SIM_SECOND;
}

/* Leaves out reads, and all that kubelets write into their Nodes except volumes, since it goes with
 * heartbeats. */
static gboolean
is_recorded(const ApiRequest *request)
{
    if (request->verb == API_GET || request->verb == API_LIST)
        return FALSE;
    return request->verb == API_CREATE || request->key->kind != KIND_NODE ||
           !g_str_equal(request->client, "kubelet");
}

/* The object whose id calls of a driver will carry. */
static void
know_handle(Simulated *self, const Object *volume)
{
    const VolumeSource *source = VOLUME(volume)->source;

    if (source != NULL && source->handle != NULL)
        g_hash_table_insert(self->handles, g_strdup(source->handle), g_strdup(volume->key->name));
}

static void
know_handles(Simulated *self, const Run *run)
{
    Objects *objects = run_objects(run);

    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_VOLUME); slot++) {
        const Object *volume = api_server_get(cluster_api(run_cluster(run)),
                                              objects_key_at(objects, KIND_VOLUME, slot));
        if (volume != NULL)
            know_handle(self, volume);
    }
}

static void
keep_step(Simulated *self, const ApiRequest *request, const char *what, double at)
{
    const Step kept = {.key = request->key, .what = g_intern_string(what), .at = at};

    if (moments_scope(kind_class(request->key->kind)->resource) == NULL)
        return;
    if (request->key->kind == KIND_ATTACHMENT && request->verb == API_CREATE)
        g_hash_table_insert(self->attachments, request->key,
                            g_strdup(ATTACHMENT(request->object)->volume_name));
    if (request->key->kind == KIND_VOLUME && request->verb == API_CREATE)
        know_handle(self, request->object);
    g_array_append_val(self->steps, kept);
}

static void
see_request(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    static const char *const verbs[] = {"get",   "list",  "create", "update", "update",
                                        "patch", "patch", "delete", "create", "create"};
    static const char *const subresources[] = {"", "",        "", "",         "/status",
                                               "", "/status", "", "/binding", "/eviction"};
    Simulated *self = data;
    char buffer[80];

    if (arrived_at < TIMELINE_LEAD)
        return;
    if (!is_recorded(request))
        return;
    char *what =
        g_strdup_printf("%s %s %s%s %d", recorded_client(request->client, buffer, sizeof buffer),
                        verbs[request->verb], kind_class(request->key->kind)->resource,
                        subresources[request->verb], code == API_EXISTS ? 409 : (int)code);
    keep_step(self, request, what, recorded_time(arrived_at));
    moments_add_request(self->moments, what, recorded_time(arrived_at));
}

static void
see_answer(void *data, const CsiCallRecord *record)
{
    Simulated *self = data;
    const CsiRequest *request = record->request;
    const char *method = csi_method_name(request->method);

    if (moments_call(method) == NULL)
        return;
    /* the driver's code, as recorded */
    char *what = g_strdup_printf("call %s %s", method, csi_code_go_name(record->response->code));
    const Step kept = {
        .volume =
            g_strdup(request->method == CSI_CREATE_VOLUME ? request->name : request->volume_id),
        .what = g_intern_string(what),
        .at = recorded_time(record->started_at)};
    g_array_append_val(self->steps, kept);
    moments_count_one(self->moments, what);
}

static void
see_write(void *data, const Object *before, const Object *after)
{
    const Simulated *self = data;

    if (before == NULL && object_kind(after) == KIND_POD)
        moments_label_pod(self->moments, object_name(after),
                          object_label(after, LABEL_POD_TEMPLATE_HASH));
}

static void
watch_run(Simulated *self, Run *run)
{
    const CsiObserver observer = {.ended = see_answer, .data = self};

    api_server_observe(cluster_api(run_cluster(run)), see_write, self);
    know_handles(self, run);
    api_server_observe_requests(cluster_api(run_cluster(run)), see_request, self);
    for (unsigned i = 0; i < cluster_n_drivers(run_cluster(run)); i++)
        csi_driver_add_observer(cluster_driver(run_cluster(run), i), &observer);
}

static void
label_volumes(Moments *self, const Run *run)
{
    Objects *objects = run_objects(run);

    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_CLAIM); slot++) {
        const ObjectKey *claim = objects_key_at(objects, KIND_CLAIM, slot);
        const ObjectKey *volume = milestones_volume_of(run_milestones(run), claim);
        if (volume != NULL)
            moments_label(self, volume->name, claim->name);
    }
}

/* The request that creates a pod does not know its drawn name yet. */
static const char *
step_label(const Simulated *self, const Step *step, const char *name)
{
    const char *label = moments_label_of(self->moments, name);
    const char *number = strchr(label, '#');

    if (number == NULL || strstr(step->what, " create pods ") == NULL)
        return label;
    g_autofree char *base = g_strndup(label, (gsize)(number - label) + 1);
    return g_intern_string(base);
}

/* Assigns the stored requests and calls to objects, which are known now. */
static void
name_steps(const Simulated *self)
{
    for (unsigned i = 0; i < self->steps->len; i++) {
        const Step *step = &g_array_index(self->steps, Step, i);
        const char *scope = "volume", *name = step->volume;
        if (step->key != NULL) {
            scope = moments_scope(kind_class(step->key->kind)->resource);
            name = step->key->name;
        }
        if (step->key != NULL && step->key->kind == KIND_ATTACHMENT)
            name = g_hash_table_lookup(self->attachments, step->key);
        if (step->key == NULL && g_hash_table_contains(self->handles, name))
            name = g_hash_table_lookup(self->handles, name);
        if (name != NULL)
            moments_add_step(self->moments, scope, step_label(self, step, name), step->what,
                             step->at);
    }
}

static const char *
scope_of(ObjectKind kind)
{
    if (kind == KIND_POD)
        return "pod";
    return kind == KIND_CLAIM ? "claim" : "volume";
}

static void
take_events(Moments *self, const Run *run)
{
    const ApiServer *api = cluster_api(run_cluster(run));

    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        const ApiEvent *event = api_server_event(api, i);
        if (event->written_at >= TIMELINE_LEAD)
            moments_add_event(self, event->source, recorded_time(event->written_at));
        if (event->last_at < TIMELINE_LEAD || moments_is_about_images(event->reason))
            continue;
        g_autofree char *words =
            g_strdup_printf("%s %s \"%s\"", event->type, event->reason, event->message);
        moments_add_said(self, NULL, kind_class(event->involved->kind)->kind, event->involved->name,
                         words);
    }
}

static void
take_milestones(Moments *self, const Milestones *log)
{
    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone milestone = milestones_at(log, i);
        if (milestone.at < TIMELINE_LEAD || milestone.code != CSI_OK)
            continue;
        const char *label = milestone.object->kind == KIND_CLAIM
                                ? milestone.object->name
                                : moments_label_of(self, milestone.object->name);
        moments_add(self,
                    g_strdup_printf("%s %s %s", scope_of(milestone.object->kind), label,
                                    milestone_name((MilestoneKind)milestone.kind)),
                    recorded_time(milestone.at));
    }
}

Moments *
simulated_moments(const Scenario *scenario, uint64_t seed, const Words *words, GError **error)
{
    const RunOptions options = {.seed = seed};
    g_autoptr(Moments) moments = moments_new();
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(Step));
    g_autoptr(GHashTable) attachments = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    g_autoptr(GHashTable) handles = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    Simulated self = {moments, steps, attachments, handles};
    g_autoptr(Run) run =
        run_new(scenario, &options, error); /* free it first: it still reports calls */

    g_array_set_clear_func(steps, step_clear);
    if (run == NULL)
        return NULL;
    watch_run(&self, run);
    run_execute(run);
    label_volumes(moments, run);
    name_steps(&self);
    take_events(moments, run);
    moments_count_said(moments, words);
    take_milestones(moments, run_milestones(run));
    return g_steal_pointer(&moments);
}
