/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "moments.h"

#include <stdlib.h>
#include <string.h>

#define CSI_PREFIX "kubernetes.io/csi/"

struct Moments {
    GHashTable *at;         /* char * -> double * */
    GHashTable *counts;     /* char * -> double * */
    GPtrArray *count_names; /* in the order of first appearance; borrowed from @counts */
    GPtrArray *pairs;       /* of GoldenPair (owned) */
    GHashTable *labels;     /* name of a volume -> name of its claim */
    Curves *curves;         /* (owned) */
};

static void
pair_free(void *data)
{
    GoldenPair *pair = data;

    g_free((char *)pair->pod);
    g_free((char *)pair->claim);
    g_free(pair);
}

Moments *
moments_new(void)
{
    Moments *self = g_new0(Moments, 1);

    self->at = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->curves = curves_new();
    self->count_names = g_ptr_array_new();
    self->pairs = g_ptr_array_new_with_free_func(pair_free);
    return self;
}

void
moments_free(Moments *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->at);
    g_hash_table_unref(self->counts);
    g_hash_table_unref(self->labels);
    curves_free(self->curves);
    g_ptr_array_unref(self->count_names);
    g_ptr_array_unref(self->pairs);
    g_free(self);
}

/* Takes @name. Only the first time counts. */
static void
add(Moments *self, char *name, double at)
{
    if (g_hash_table_contains(self->at, name))
        g_free(name);
    else
        g_hash_table_insert(self->at, name, g_memdup2(&at, sizeof at));
}

/* Takes @name. */
static void
count(Moments *self, char *name)
{
    double *number = g_hash_table_lookup(self->counts, name);

    if (number == NULL) {
        number = g_new0(double, 1);
        g_ptr_array_add(self->count_names, name);
        g_hash_table_insert(self->counts, name, number);
    } else {
        g_free(name);
    }
    ++*number;
}

static void
add_pair(Moments *self, const char *pod, const char *claim)
{
    for (unsigned i = 0; i < self->pairs->len; i++) {
        const GoldenPair *pair = self->pairs->pdata[i];
        if (g_strcmp0(pair->pod, pod) == 0 && g_strcmp0(pair->claim, claim) == 0)
            return;
    }
    GoldenPair *pair = g_new(GoldenPair, 1);
    *pair = (GoldenPair){g_strdup(pod), g_strdup(claim)};
    g_ptr_array_add(self->pairs, pair);
}

static const char *
label_of(const Moments *self, const char *volume)
{
    const char *label = g_hash_table_lookup(self->labels, volume);

    return label == NULL ? volume : label;
}

static void
label_volume(Moments *self, const char *volume, const char *claim)
{
    if (claim != NULL && !g_hash_table_contains(self->labels, volume))
        g_hash_table_insert(self->labels, g_strdup(volume), g_strdup(claim));
}

gboolean
moments_find(const Moments *self, const char *name, double *at)
{
    const double *found = g_hash_table_lookup(self->at, name);

    if (found != NULL)
        *at = *found;
    return found != NULL;
}

unsigned
moments_n_pairs(const Moments *self)
{
    return self->pairs->len;
}

const GoldenPair *
moments_pair(const Moments *self, unsigned i)
{
    return self->pairs->pdata[i];
}

GPtrArray *
moments_counted(const Moments *self)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < self->count_names->len; i++)
        g_ptr_array_add(names, g_strdup(self->count_names->pdata[i]));
    return names;
}

double
moments_count(const Moments *self, const char *name)
{
    const double *number = g_hash_table_lookup(self->counts, name);

    return number == NULL ? 0 : *number;
}

const Curves *
moments_curves(const Moments *self)
{
    return self->curves;
}

/* Takes @name. */
static void
count_request(Moments *self, char *name, double at)
{
    curves_add(self->curves, name, at);
    count(self, name);
}

/* ---- Recorded ---- */

static const char *
text_at(const json_t *object, const char *path)
{
    g_auto(GStrv) keys = g_strsplit(path, "|", -1);

    for (unsigned i = 0; keys[i] != NULL; i++)
        object = json_object_get(object, keys[i]);
    return json_string_value(object);
}

/* What a watching client saw of an object last, and sees now. */
typedef struct {
    const json_t *before, *after; /* NULL: not there */
    const char *name;
    double at;
} Seen;

static gboolean
appeared(const Seen *seen, const char *path)
{
    return text_at(seen->after, path) != NULL && text_at(seen->before, path) == NULL;
}

static gboolean
became(const Seen *seen, const char *path, const char *value)
{
    return g_strcmp0(text_at(seen->after, path), value) == 0 &&
           g_strcmp0(text_at(seen->before, path), value) != 0;
}

/* Both were there. */
static gboolean
was_changed(const Seen *seen, const char *path)
{
    const char *before = text_at(seen->before, path), *after = text_at(seen->after, path);

    return before != NULL && after != NULL && strcmp(before, after) != 0;
}

static void
add_named(Moments *self, const Seen *seen, const char *scope, const char *label, const char *what)
{
    add(self, g_strdup_printf("%s %s %s", scope, label, what), seen->at);
}

static void
see_end(Moments *self, const Seen *seen, const char *scope, const char *label)
{
    if (appeared(seen, "metadata|deletionTimestamp") ||
        (seen->after == NULL && text_at(seen->before, "metadata|deletionTimestamp") == NULL))
        add_named(self, seen, scope, label, "deleted");
    if (seen->after == NULL)
        add_named(self, seen, scope, label, "gone");
}

static void
see_claim(Moments *self, const Seen *seen)
{
    if (seen->before == NULL) {
        add_named(self, seen, "claim", seen->name, "created");
        add_pair(self, NULL, seen->name);
    }
    if (appeared(seen, "metadata|annotations|volume.kubernetes.io/selected-node"))
        add_named(self, seen, "claim", seen->name, "selected-node");
    if (appeared(seen, "metadata|annotations|volume.kubernetes.io/storage-provisioner"))
        add_named(self, seen, "claim", seen->name, "provisioner-asked");
    if (became(seen, "status|phase", "Bound"))
        add_named(self, seen, "claim", seen->name, "bound");
    if (was_changed(seen, "spec|resources|requests|storage"))
        add_named(self, seen, "claim", seen->name, "expansion-asked");
    if (became(seen, "status|allocatedResourceStatuses|storage", "NodeResizePending"))
        add_named(self, seen, "claim", seen->name, "node-awaited");
    if (was_changed(seen, "status|capacity|storage"))
        add_named(self, seen, "claim", seen->name, "expanded");
    see_end(self, seen, "claim", seen->name);
}

static void
see_volume(Moments *self, const Seen *seen)
{
    label_volume(self, seen->name, text_at(seen->after, "spec|claimRef|name"));
    const char *label = label_of(self, seen->name);

    if (seen->before == NULL)
        add_named(self, seen, "volume", label, "created");
    if (became(seen, "status|phase", "Bound"))
        add_named(self, seen, "volume", label, "bound");
    if (became(seen, "status|phase", "Released"))
        add_named(self, seen, "volume", label, "released");
    if (was_changed(seen, "spec|capacity|storage"))
        add_named(self, seen, "volume", label, "grown");
    see_end(self, seen, "volume", label);
}

static gboolean
is_ready(const json_t *pod)
{
    const json_t *conditions = json_object_get(json_object_get(pod, "status"), "conditions");
    size_t i;
    json_t *condition;

    json_array_foreach((json_t *)conditions, i,
                       condition) if (g_strcmp0(text_at(condition, "type"), "Ready") ==
                                      0) return g_strcmp0(text_at(condition, "status"), "True") ==
        0;
    return FALSE;
}

static void
pair_pod(Moments *self, const Seen *seen)
{
    const json_t *volumes = json_object_get(json_object_get(seen->after, "spec"), "volumes");
    size_t i;
    json_t *volume;

    json_array_foreach((json_t *)volumes, i, volume)
    {
        const char *claim = text_at(volume, "persistentVolumeClaim|claimName");
        if (claim != NULL)
            add_pair(self, seen->name, claim);
    }
}

static void
see_pod(Moments *self, const Seen *seen)
{
    if (seen->before == NULL) {
        add_named(self, seen, "pod", seen->name, "created");
        pair_pod(self, seen);
    }
    if (appeared(seen, "spec|nodeName"))
        add_named(self, seen, "pod", seen->name, "scheduled");
    if (is_ready(seen->after) && !is_ready(seen->before))
        add_named(self, seen, "pod", seen->name, "ready");
    see_end(self, seen, "pod", seen->name);
}

static void
see_attachment(Moments *self, const Seen *seen)
{
    const json_t *any = seen->after != NULL ? seen->after : seen->before;
    const char *label = label_of(self, text_at(any, "spec|source|persistentVolumeName"));
    gboolean is_attached =
        json_is_true(json_object_get(json_object_get(seen->after, "status"), "attached"));
    gboolean was_attached =
        json_is_true(json_object_get(json_object_get(seen->before, "status"), "attached"));

    if (seen->before == NULL)
        add_named(self, seen, "volume", label, "attach-requested");
    if (is_attached && !was_attached)
        add_named(self, seen, "volume", label, "attached");
    if (appeared(seen, "metadata|deletionTimestamp"))
        add_named(self, seen, "volume", label, "detach-requested");
    if (seen->after == NULL)
        add_named(self, seen, "volume", label, "detached");
}

/* The volume of "kubernetes.io/csi/<driver>^<handle>"; of dynamic volumes the handle is the name. */
static const char *
volume_of_unique_name(const Moments *self, const char *name)
{
    const char *caret = name == NULL ? NULL : strchr(name, '^');

    return caret == NULL || !g_str_has_prefix(name, CSI_PREFIX) ? NULL : label_of(self, caret + 1);
}

static gboolean
list_has(const json_t *list, const char *name)
{
    size_t i;
    json_t *item;

    json_array_foreach((json_t *)list, i, item)
    {
        const char *text = json_is_string(item) ? json_string_value(item) : text_at(item, "name");
        if (g_strcmp0(text, name) == 0)
            return TRUE;
    }
    return FALSE;
}

static void
see_list(Moments *self,
         const Seen *seen,
         const char *field,
         const json_t *has,
         const json_t *has_not,
         const char *what)
{
    const json_t *list = json_object_get(json_object_get(has, "status"), field);
    const json_t *other = json_object_get(json_object_get(has_not, "status"), field);
    size_t i;
    json_t *item;

    json_array_foreach((json_t *)list, i, item)
    {
        const char *text = json_is_string(item) ? json_string_value(item) : text_at(item, "name");
        const char *label = volume_of_unique_name(self, text);
        if (label != NULL && !list_has(other, text))
            add_named(self, seen, "volume", label, what);
    }
}

static void
see_node(Moments *self, const Seen *seen)
{
    if (seen->before == NULL || seen->after == NULL)
        return;
    see_list(self, seen, "volumesInUse", seen->after, seen->before, "reported-in-use");
    see_list(self, seen, "volumesInUse", seen->before, seen->after, "reported-not-in-use");
    see_list(self, seen, "volumesAttached", seen->after, seen->before, "reported-attached");
    see_list(self, seen, "volumesAttached", seen->before, seen->after, "reported-detached");
}

/* The sidecars' names end in those of the machine and of the process. */
static void
add_event(Moments *self, const char *source, double at)
{
    g_autofree char *component = g_strndup(source, strcspn(source, "_"));
    g_autofree char *name = g_strconcat("events ", component, NULL);

    curves_add(self->curves, name, at);
}

/* What the scheduler says of a pod, to the letter: each text counts once. */
static void
add_refusal(Moments *self, const char *reason, const char *pod, const char *text)
{
    if (g_strcmp0(reason, "FailedScheduling") != 0)
        return;
    g_autofree char *name = g_strdup_printf("%s: \"%s\"", pod, text);
    if (moments_count(self, name) == 0)
        count(self, g_steal_pointer(&name));
}

static void
see_event(Moments *self, const Seen *seen)
{
    const char *source = text_at(seen->after, "reportingController");

    if (seen->before != NULL || seen->after == NULL || source == NULL)
        return;
    add_event(self, source, seen->at);
    add_refusal(self, text_at(seen->after, "reason"),
                text_at(json_object_get(seen->after, "involvedObject"), "name"),
                text_at(seen->after, "message"));
}

static const struct {
    const char *kind;
    void (*see)(Moments *self, const Seen *seen);
} kinds_seen[] = {
    {"Event",                 see_event     },
    {"PersistentVolumeClaim", see_claim     },
    {"PersistentVolume",      see_volume    },
    {"Pod",                   see_pod       },
    {"VolumeAttachment",      see_attachment},
    {"Node",                  see_node      },
};

static void
read_watch_line(Moments *self, const json_t *line, GHashTable *known)
{
    const char *kind = text_at(line, "kind"), *name = text_at(line, "name");
    gboolean is_deleted = g_strcmp0(text_at(line, "type"), "DELETED") == 0;
    g_autofree char *key = g_strdup_printf("%s/%s", kind, name);
    json_t *object = json_object_get(line, "object");
    json_t *before = g_hash_table_lookup(known, key);
    Seen seen = {before, is_deleted ? NULL : object, name,
                 json_number_value(json_object_get(line, "t"))};

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds_seen); i++) {
        if (g_strcmp0(kinds_seen[i].kind, kind) != 0)
            continue;
        if (!json_is_true(json_object_get(line, "initial")))
            kinds_seen[i].see(self, &seen);
        if (is_deleted)
            g_hash_table_remove(known, key);
        else
            g_hash_table_insert(known, g_steal_pointer(&key), json_incref(object));
        return;
    }
}

static void
json_unref(void *json)
{
    json_decref(json);
}

static const struct {
    const char *method, *started, *ended;
} calls_seen[] = {
    {"CreateVolume",              "provision-started",   "provision-ended"},
    {"DeleteVolume",              "delete-started",      "delete-ended"   },
    {"ControllerPublishVolume",   "attach-started",      "attach-ended"   },
    {"ControllerUnpublishVolume", "detach-started",      "detach-ended"   },
    {"NodeStageVolume",           "stage-started",       "staged"         },
    {"NodePublishVolume",         "publish-started",     "published"      },
    {"NodeUnpublishVolume",       "unpublish-started",   "unpublished"    },
    {"NodeUnstageVolume",         "unstage-started",     "unstaged"       },
    {"ControllerExpandVolume",    "expand-started",      "expand-ended"   },
    {"NodeExpandVolume",          "node-expand-started", "node-expanded"  },
};

static void
read_call_line(Moments *self, const json_t *line, GHashTable *known)
{
    const char *method = text_at(line, "method"), *volume = text_at(line, "volume");
    gboolean is_ok = g_strcmp0(text_at(line, "code"), "OK") == 0;

    (void)known;
    for (unsigned i = 0; volume != NULL && i < G_N_ELEMENTS(calls_seen); i++) {
        if (g_strcmp0(calls_seen[i].method, method) != 0)
            continue;
        const char *label = label_of(self, volume);
        add(self, g_strdup_printf("volume %s %s", label, calls_seen[i].started),
            json_number_value(json_object_get(line, "t")));
        if (is_ok)
            add(self, g_strdup_printf("volume %s %s", label, calls_seen[i].ended),
                json_number_value(json_object_get(line, "t_end")));
        count(self, g_strdup_printf("call %s %s", method, text_at(line, "code")));
    }
}

static void
read_request_line(Moments *self, const json_t *line, GHashTable *known)
{
    const char *client = text_at(line, "client"), *subresource = text_at(line, "subresource");
    g_autofree char *bare = g_strndup(
        client, g_str_has_prefix(client, "kubelet/") ? strlen("kubelet") : strlen(client));
    int code = (int)json_integer_value(json_object_get(line, "code"));

    (void)known;
    count_request(self,
                  g_strdup_printf("%s %s %s%s%s %d", bare, text_at(line, "verb"),
                                  text_at(line, "resource"), subresource[0] == '\0' ? "" : "/",
                                  subresource, code == 201 ? 200 : code),
                  json_number_value(json_object_get(line, "t")));
}

static gboolean
read_lines(Moments *self,
           const char *folder,
           const char *name,
           void (*read_line)(Moments *, const json_t *, GHashTable *),
           GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *text = NULL;
    g_autoptr(GHashTable) known =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, json_unref);

    if (!g_file_get_contents(path, &text, NULL, error))
        return FALSE;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        json_t *line = lines[i][0] == '\0' ? NULL : json_loads(lines[i], 0, NULL);
        if (line != NULL)
            read_line(self, line, known);
        json_decref(line);
    }
    return TRUE;
}

gboolean
moments_read_recording(Moments *self, const char *folder, const Timeline *timeline, GError **error)
{
    (void)timeline;
    return read_lines(self, folder, "watch.jsonl", read_watch_line, error) &&
           read_lines(self, folder, "csi.jsonl", read_call_line, error) &&
           read_lines(self, folder, "api.jsonl", read_request_line, error);
}

/* ---- Simulated ---- */

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

/* Reads are not, and of what kubelets write into their Nodes only their volumes, which goes with the heartbeats. */
static gboolean
is_recorded(const ApiRequest *request)
{
    if (request->verb == API_GET || request->verb == API_LIST)
        return FALSE;
    return request->verb == API_CREATE || request->key->kind != KIND_NODE ||
           !g_str_equal(request->client, "kubelet");
}

static void
see_request(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    static const char *const verbs[] = {"get",   "list",  "create", "update", "update",
                                        "patch", "patch", "delete", "create"};
    static const char *const subresources[] = {"", "",        "", "",        "/status",
                                               "", "/status", "", "/binding"};
    Moments *self = data;
    char buffer[80];

    if (arrived_at < TIMELINE_LEAD)
        return;
    if (!is_recorded(request))
        return;
    count_request(
        self,
        g_strdup_printf("%s %s %s%s %d", recorded_client(request->client, buffer, sizeof buffer),
                        verbs[request->verb], kind_class(request->key->kind)->resource,
                        subresources[request->verb], code == API_EXISTS ? 409 : (int)code),
        recorded_time(arrived_at));
}

static void
see_answer(void *data, const CsiCallRecord *record)
{
    Moments *self = data;
    const char *method = csi_method_name(record->request->method);
    const char *code = csi_code_go_name(record->response->code); /* the driver's, as recorded */

    for (unsigned i = 0; i < G_N_ELEMENTS(calls_seen); i++)
        if (strcmp(calls_seen[i].method, method) == 0)
            count(self, g_strdup_printf("call %s %s", method, code));
}

void
moments_watch_run(Moments *self, Run *run)
{
    CsiObserver observer = {.ended = see_answer, .data = self};

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
            label_volume(self, volume->name, claim->name);
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
        if (event->written_at < TIMELINE_LEAD)
            continue;
        add_event(self, event->source, recorded_time(event->written_at));
        add_refusal(self, event->reason, event->involved->name, event->message);
    }
}

void
moments_take_run(Moments *self, const Run *run, const Timeline *timeline)
{
    const Milestones *log = run_milestones(run);

    (void)timeline;
    label_volumes(self, run);
    take_events(self, run);
    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone *milestone = milestones_at(log, i);
        if (milestone->at < TIMELINE_LEAD || milestone->code != CSI_OK)
            continue;
        const char *label = milestone->object->kind == KIND_VOLUME
                                ? label_of(self, milestone->object->name)
                                : milestone->object->name;
        add(self,
            g_strdup_printf("%s %s %s", scope_of(milestone->object->kind), label,
                            milestone_name((MilestoneKind)milestone->kind)),
            recorded_time(milestone->at));
    }
}
