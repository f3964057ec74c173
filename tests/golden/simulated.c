/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "simulated.h"

#include <string.h>

#include "models/api/snapshot.h"
#include "models/api/workload.h"
#include "moments-private.h"
#include "run/world/run.h"

/* One run in progress. The meanings of drawn names are known only at its end. */
typedef struct {
    Moments *moments;
    const Run *run;
    GArray *steps;             /* of Step */
    GHashTable *attachments;   /* ObjectKey * of a VolumeAttachment -> name of its volume */
    GHashTable *handles;       /* a driver's id of a volume -> the volume's name */
    int n_own_writes[N_KINDS]; /* changes of objects without a request for them */
} Simulated;

/* A request or a call about one object. */
typedef struct {
    const ObjectKey *key; /* of a claim, volume, attachment or pod; NULL: see @volume */
    char *volume;         /* a driver's id of a volume, or name or id of a snapshot (owned) */
    const char *what;     /* interned */
    double at;
    const CallSeen *call; /* NULL: a request */
    double ended_at;      /* of a call; negative: it failed */
} SimulatedStep;

static void
step_clear(void *data)
{
    g_free(((SimulatedStep *)data)->volume);
}

/* The recordings' names of the clients. */
static const char *
recorded_client(const char *client, char *buffer, size_t size)
{
    static const struct {
        const char *ours, *recorded;
    } names[] = {
        {"kubectl",                       "lab"                     },
        {"kube-scheduler",                "kube-scheduler/scheduler"},
        {"external-provisioner",          "csi-provisioner"         },
        {"external-provisioner/capacity", "csi-provisioner"         },
        {"external-attacher",             "csi-attacher"            },
        {"external-resizer",              "csi-resizer"             },
        {"external-snapshotter",          "csi-snapshotter"         },
        {"snapshot-controller",           "snapshot-controller"     },
        {"events",                        "snapshot-controller"     }, /* its client of core objects */
        {"kube-apiserver",                "kube-apiserver"          },
        {"kubelet",                       "kubelet"                 },
        {"kubelet-heartbeat",             "kubelet"                 },
        {"taint-eviction-controller",     "kcm/node-controller"     },
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

/* Leaves out reads, what the recorder left out, and all that kubelets write into their Nodes except
 * volumes, since it goes with heartbeats. */
static gboolean
is_recorded(const ApiRequest *request)
{
    if (request->verb == API_GET || request->verb == API_LIST ||
        request->key->kind == KIND_SECRET || request->key->kind == KIND_LEASE)
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

/* A claim may never learn the name of its volume: the volume refers to it first. */
static void
simulated_see_volume(const Simulated *self, const Object *after)
{
    const ObjectKey *claim = after == NULL ? NULL : VOLUME_CONST(after)->claim_ref.claim;

    if (claim != NULL)
        moments_label(self->moments, object_name(after), claim->name);
}

static void
know_handles(Simulated *self, const Run *run)
{
    Objects *objects = run_objects(run);

    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_VOLUME); slot++) {
        const Object *volume = api_server_get(cluster_api(run_cluster(run)),
                                              objects_key_at(objects, KIND_VOLUME, slot));
        if (volume == NULL)
            continue;
        know_handle(self, volume);
        simulated_see_volume(self, volume);
    }
}

static void
keep_step(Simulated *self, const ApiRequest *request, const char *what, double at)
{
    const SimulatedStep kept = {.key = request->key, .what = g_intern_string(what), .at = at};

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
simulated_see_request(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
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
    if (code == API_OK && request->verb != API_CREATE)
        self->n_own_writes[request->key->kind]--;
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

    const CallSeen *call = moments_call(method);
    if (call == NULL)
        return;
    /* the driver's code, as recorded */
    char *what = g_strdup_printf("call %s %s", method,
                                 moments_code(csi_code_go_name(record->response->code)));
    const char *of = request->volume_id;
    if (request->method == CSI_CREATE_VOLUME || request->method == CSI_CREATE_SNAPSHOT)
        of = request->name;
    else if (call->scope != NULL)
        of = request->snapshot_id;
    const SimulatedStep kept = {.volume = g_strdup(of),
                                .what = g_intern_string(what),
                                .at = recorded_time(record->started_at),
                                .call = call,
                                .ended_at = record->response->code == CSI_OK
                                                ? recorded_time(sim_now(run_sim(self->run)))
                                                : -1};
    g_array_append_val(self->steps, kept);
    moments_count_one(self->moments, what);
}

static void
add_named(const Simulated *self, const char *scope, const char *label, const char *what)
{
    moments_add(self->moments, g_strdup_printf("%s %s %s", scope, label, what),
                recorded_time(sim_now(run_sim(self->run))));
}

static void
see_end(const Simulated *self,
        const char *scope,
        const char *label,
        const Object *before,
        const Object *after)
{
    if (before != NULL && !object_is_deleted(before) && (after == NULL || object_is_deleted(after)))
        add_named(self, scope, label, "deleted");
    if (after == NULL)
        add_named(self, scope, label, "gone");
}

static void
see_snapshot(const Simulated *self, const Object *before, const Object *after)
{
    const char *label = object_name(after != NULL ? after : before);

    if (before == NULL)
        add_named(self, "snapshot", label, "created");
    if (after != NULL && VOLUME_SNAPSHOT_CONST(after)->readiness == SNAPSHOT_READY &&
        (before == NULL || VOLUME_SNAPSHOT_CONST(before)->readiness != SNAPSHOT_READY))
        add_named(self, "snapshot", label, "ready");
    see_end(self, "snapshot", label, before, after);
}

/* The snapshot that a content is for; its request has the name "snapshot-<uid>". */
static void
label_content(const Simulated *self, const SnapshotContent *content)
{
    const char *name = object_name(&content->meta), *label = content->snapshot.name;
    const char *handle = content->handle != NULL ? content->handle : content->given_handle;
    const char *uid = strchr(name, '-');

    moments_label(self->moments, name, label);
    if (handle != NULL)
        moments_label(self->moments, handle, label);
    if (content->given_handle != NULL || uid == NULL)
        return;
    g_autofree char *asked = g_strconcat("snapshot", uid, NULL);
    moments_label(self->moments, asked, label);
}

static void
see_content(const Simulated *self, const Object *before, const Object *after)
{
    label_content(self, SNAPSHOT_CONTENT_CONST(after != NULL ? after : before));
    const char *label =
        moments_label_of(self->moments, object_name(after != NULL ? after : before));

    if (before == NULL)
        add_named(self, "content", label, "created");
    if (after != NULL && SNAPSHOT_CONTENT_CONST(after)->readiness == SNAPSHOT_READY &&
        (before == NULL || SNAPSHOT_CONTENT_CONST(before)->readiness != SNAPSHOT_READY))
        add_named(self, "content", label, "ready");
    see_end(self, "content", label, before, after);
}

static void
simulated_see_claim(const Simulated *self, const Object *before, const Object *after)
{
    if (before == NULL || after == NULL || CLAIM_CONST(after)->attributes_class == NULL)
        return;
    const char *name = object_name(after);
    g_autofree char *asked = g_strdup_printf("claim %s class-asked", name);
    double asked_at;

    if (g_strcmp0(CLAIM_CONST(before)->attributes_class, CLAIM_CONST(after)->attributes_class) != 0)
        add_named(self, "claim", name, "class-asked");
    if (moments_find(self->moments, asked, &asked_at) &&
        g_strcmp0(CLAIM_CONST(before)->current_attributes_class,
                  CLAIM_CONST(after)->current_attributes_class) != 0)
        add_named(self, "claim", name, "class-shown");
}

static void
simulated_see_write(void *data, const Object *before, const Object *after)
{
    Simulated *self = data;
    ObjectKind kind = object_kind(after != NULL ? after : before);

    if (before != NULL && sim_now(run_sim(self->run)) >= TIMELINE_LEAD)
        self->n_own_writes[kind]++;

    if (before == NULL && kind == KIND_POD)
        moments_label_pod(self->moments, object_name(after),
                          object_label(after, LABEL_POD_TEMPLATE_HASH));
    else if (kind == KIND_VOLUME_SNAPSHOT)
        see_snapshot(self, before, after);
    else if (kind == KIND_SNAPSHOT_CONTENT)
        see_content(self, before, after);
    else if (kind == KIND_CLAIM)
        simulated_see_claim(self, before, after);
    else if (kind == KIND_VOLUME)
        simulated_see_volume(self, after);
}

static void
watch_run(Simulated *self, Run *run)
{
    const CsiObserver observer = {.ended = see_answer, .data = self};

    api_server_observe(cluster_api(run_cluster(run)), simulated_see_write, self);
    know_handles(self, run);
    api_server_observe_requests(cluster_api(run_cluster(run)), simulated_see_request, self);
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
step_label(const Simulated *self, const SimulatedStep *step, const char *name)
{
    const char *label = moments_label_of(self->moments, name);
    const char *number = strchr(label, '#');

    if (number == NULL || strstr(step->what, " create pods ") == NULL)
        return label;
    g_autofree char *base = g_strndup(label, (gsize)(number - label) + 1);
    return g_intern_string(base);
}

/* Calls that are no milestones. */
static void
simulated_add_call(Moments *self, const SimulatedStep *step, const char *scope, const char *label)
{
    if (step->call->scope == NULL && strcmp(step->call->started, "modify-started") != 0)
        return;
    moments_add(self, g_strdup_printf("%s %s %s", scope, label, step->call->started), step->at);
    if (step->ended_at >= 0)
        moments_add(self, g_strdup_printf("%s %s %s", scope, label, step->call->ended),
                    step->ended_at);
}

/* Assigns the stored requests and calls to objects, which are known now. */
static void
name_steps(const Simulated *self)
{
    for (unsigned i = 0; i < self->steps->len; i++) {
        const SimulatedStep *step = &g_array_index(self->steps, SimulatedStep, i);
        const char *scope =
            step->call != NULL && step->call->scope != NULL ? step->call->scope : "volume";
        const char *name = step->volume;
        if (step->key != NULL) {
            scope = moments_scope(kind_class(step->key->kind)->resource);
            name = step->key->name;
        }
        if (step->key != NULL && step->key->kind == KIND_ATTACHMENT)
            name = g_hash_table_lookup(self->attachments, step->key);
        if (step->key == NULL && g_hash_table_contains(self->handles, name))
            name = g_hash_table_lookup(self->handles, name);
        if (name == NULL)
            continue;
        const char *label = step_label(self, step, name);
        moments_add_step(self->moments, scope, label, step->what, step->at);
        if (step->call != NULL)
            simulated_add_call(self->moments, step, scope, label);
    }
}

/* What the API server itself charges while it admits others' requests: it asks itself. */
static void
count_own_writes(const Simulated *self)
{
    static const ObjectKind charged[] = {KIND_RESOURCE_QUOTA, KIND_DISRUPTION_BUDGET};

    for (unsigned i = 0; i < G_N_ELEMENTS(charged); i++)
        for (int n = self->n_own_writes[charged[i]]; n > 0; n--)
            moments_count_one(self->moments, g_strdup_printf("kube-apiserver update %s/status 200",
                                                             kind_class(charged[i])->resource));
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

static int
by_time(const void *a, const void *b)
{
    const ScenarioAction *first = *(const ScenarioAction *const *)a;
    const ScenarioAction *second = *(const ScenarioAction *const *)b;

    return first->at < second->at ? -1 : first->at > second->at;
}

static gboolean
creates_pod(const ScenarioAction *action)
{
    return action->type == ACTION_CREATE &&
           g_strcmp0(json_string_value(json_object_get(action->manifests[0], "kind")), "Pod") == 0;
}

/* Each request leaves at its recorded instant, even if a simulated server takes longer for the one
 * before: otherwise such delays would add up. But the recorder waited for each answer, so no pod is
 * created while the request before it, which mostly creates its claim, is under way. */
static void
perform_all(Run *run, const Scenario *scenario)
{
    g_autoptr(GPtrArray) actions = g_ptr_array_new();
    unsigned claim = 0;
    gboolean has_claim = FALSE;

    for (unsigned i = 0; i < scenario->n_actions; i++)
        g_ptr_array_add(actions, &scenario->actions[i]);
    g_ptr_array_sort(actions, by_time);
    for (unsigned i = 0; i < actions->len; i++) {
        const ScenarioAction *action = actions->pdata[i];
        run_advance(run, MAX(action->at, sim_now(run_sim(run))));
        while (creates_pod(action) && has_claim && !run_has_performed(run, claim))
            if (run_step(run, scenario->until) != RUN_STEP_FIRED)
                return;
        unsigned number = run_perform(run, action, &(RunHand){0});
        has_claim = action->type == ACTION_CREATE && !creates_pod(action);
        claim = number;
    }
}

Moments *
simulated_moments(const Scenario *scenario, uint64_t seed, const GoldenWords *words, GError **error)
{
    const RunOptions options = {.seed = seed};
    g_autoptr(Moments) moments = moments_new();
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(SimulatedStep));
    g_autoptr(GHashTable) attachments = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    g_autoptr(GHashTable) handles = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    Scenario idle = *scenario; /* only this function acts from outside */
    idle.n_actions = 0;
    g_autoptr(Run) run =
        run_new(&idle, &options, error); /* free it first: it still reports calls */
    Simulated self = {.moments = moments,
                      .run = run,
                      .steps = steps,
                      .attachments = attachments,
                      .handles = handles};

    g_array_set_clear_func(steps, step_clear);
    if (run == NULL)
        return NULL;
    watch_run(&self, run);
    perform_all(run, scenario);
    run_advance(run, scenario->until);
    label_volumes(moments, run);
    name_steps(&self);
    count_own_writes(&self);
    take_events(moments, run);
    moments_count_said(moments, words);
    take_milestones(moments, run_milestones(run));
    return g_steal_pointer(&moments);
}
