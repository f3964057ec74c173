/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workload of a scenario from the writes of a recording whose senders have no model: creations,
 * deletions, evictions, scalings and patches, at the times of their commits. Names that a run will
 * draw anew are replaced by patterns, volumes by their claims. A request that a cluster refused is
 * kept if a run would refuse it for the same reason. A request without a counterpart in the
 * scenario (missing claims, owners without a model) is left out and reported. */
#include "workload.h"

#include <string.h>

#include "guess.h"
#include "models/api/field.h"
#include "models/api/fields.h"
#include "models/api/patch/patch.h"
#include "models/api/workload.h"
#include "run/import/bodies/patches.h"
#include "run/import/bodies/unseen.h"
#include "sim/append.h"
#include "sim/order.h"

typedef struct {
    SimTime at; /* the commit in the recording */
    unsigned number;
    json_t *json; /* (owned) */
} WorkloadItem;

typedef struct {
    Guess guess;
    const Writes *writes;
    const GPtrArray *dumps;
    const Dump *first;
    SimTime start;
    Pruner *pruner;
    ImportReport *report;
    GArray *items; /* of Item */
    GHashTable
        *pods; /* "namespace/name" -> Made (owned): pods with a drawn name, made in the log */
    GHashTable *nodes;   /* "namespace/name" of pods -> their node */
    GHashTable *claims;  /* volumes made in the log -> "namespace/name" */
    GHashTable *refused; /* "namespace/name" of pods whose eviction was refused */
    GHashTable *known;   /* "Kind namespace/name" of objects that exist in the scenario */
} ImportWorkload;

/* A pod of a controller that draws its name: in a run it has another one. */
typedef struct {
    char *pattern;
    const char *node; /* NULL: not known */
} Made;

static void
made_free(void *data)
{
    Made *self = data;

    g_free(self->pattern);
    g_free(self);
}

static void
workload_count(ImportWorkload *self,
               ReportPart part,
               const char *reason,
               const RecordedWrite *write)
{
    g_autofree char *example = g_strdup_printf(
        "%s %s/%s%s%s%s%s by %s", write->verb, write->kind->class->resource,
        write->name != NULL ? write->name : "?", *write->subresource != '\0' ? "/" : "",
        write->subresource, write->namespace != NULL ? " in " : "",
        write->namespace != NULL ? write->namespace : "", write->sender->name);

    import_report_count(self->report, part, reason, example);
}

static void
leave_out(ImportWorkload *self, const char *reason, const RecordedWrite *write)
{
    workload_count(self, REPORT_LEFT_OUT, reason, write);
}

/* ---- Items ---- */

static json_t *
target_of(const RecordedWrite *write)
{
    json_t *target = json_pack("{s:s}", "kind", write->kind->class->kind);

    if (write->namespace != NULL)
        json_object_set_new(target, "namespace", json_string(write->namespace));
    if (write->name != NULL)
        json_object_set_new(target, "name", json_string(write->name));
    return target;
}

/* Takes @what. */
static void
add_item(ImportWorkload *self, const RecordedWrite *write, const char *action, json_t *what)
{
    char text[48];
    json_t *item = json_object();
    SimTime since = write->received - self->start;

    g_snprintf(text, sizeof text, "%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT "s",
               MAX(since, 0) / SIM_SECOND, MAX(since, 0) % SIM_SECOND / 1000);
    json_object_set_new(item, "at", json_string(text));
    json_object_set_new(item, action, what);
    if (write->code >= 400)
        json_object_set_new(item, "code", json_integer(write->code));
    const WorkloadItem added = {write->at, self->items->len, item};
    g_array_append_val(self->items, added);
}

static char *
known_key(const char *kind, const char *namespace, const char *name)
{
    return g_strdup_printf("%s %s/%s", kind, namespace != NULL ? namespace : "", name);
}

static void
know(ImportWorkload *self, const char *kind, const char *namespace, const char *name)
{
    g_hash_table_add(self->known, known_key(kind, namespace, name));
}

static gboolean
exists(const ImportWorkload *self, const char *kind, const char *namespace, const char *name)
{
    g_autofree char *key = known_key(kind, namespace, name);

    return g_hash_table_contains(self->known, key) ||
           dump_find(self->first, kind, namespace, name) != NULL;
}

/* ---- Creates ---- */

/* Owners are objects of the real cluster, or of kinds without a model: a garbage collector would
 * delete the new object at once. */
static void
clean_object(ImportWorkload *self, json_t *object, const RecordedWrite *write)
{
    static const char *const drops[] = {"uid",          "resourceVersion", "creationTimestamp",
                                        "generation",   "generateName",    "deletionTimestamp",
                                        "managedFields"};
    json_t *metadata = json_object_get(object, "metadata");
    json_t *ref = json_object_get(json_object_get(object, "spec"), "claimRef");

    for (unsigned i = 0; i < G_N_ELEMENTS(drops); i++)
        json_object_del(metadata, drops[i]);
    json_object_del(ref, "uid");
    json_object_del(ref, "resourceVersion");
    if (json_object_get(metadata, "ownerReferences") != NULL) {
        json_object_del(metadata, "ownerReferences");
        workload_count(self, REPORT_GUESSED,
                       "Created objects have lost their owners, which the run does not have",
                       write);
    }
    if (write->kind->model != KIND_NODE)
        json_object_del(object, "status");
    pruner_object(self->pruner, object);
}

static json_t *
body_of(const char *text)
{
    return text == NULL ? NULL : json_part_parse(JSON_PART(text));
}

/* A claim that a pod or a template names; a run could never start it. Returns: (borrowed): NULL:
 * all are there */
static const char *
missing_claim(const ImportWorkload *self, const RecordedWrite *write, const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *inner = json_object_get(json_object_get(spec, "template"), "spec");
    const json_t *volumes = json_object_get(inner != NULL ? inner : spec, "volumes");
    json_t *volume;
    gsize i;

    json_array_foreach((json_t *)volumes, i, volume) {
        const char *claim = json_path_string(volume, "persistentVolumeClaim.claimName");
        if (claim != NULL && !exists(self, "PersistentVolumeClaim", write->namespace, claim))
            return claim;
    }
    return NULL;
}

static void
take_create(ImportWorkload *self, const RecordedWrite *write)
{
    json_t *object = body_of(write->code < 400 ? write->response : NULL);

    if (object == NULL || json_object_get(object, "spec") == NULL) {
        json_t *asked = body_of(write->request);
        if (asked != NULL && json_object_get(json_object_get(asked, "metadata"), "name") != NULL) {
            json_decref(object);
            object = asked;
        } else {
            json_decref(asked);
        }
    }
    if (object == NULL && write->name != NULL)
        object = guess_object(&self->guess, write);
    if (object == NULL || write->name == NULL) {
        leave_out(self, "Created objects that no dump knows, and that the log has no body of",
                  write);
        json_decref(object);
        return;
    }
    if (json_object_get(object, "kind") == NULL)
        json_object_set_new(object, "kind", json_string(write->kind->class->kind));
    if (json_object_get(object, "apiVersion") == NULL)
        json_object_set_new(object, "apiVersion",
                            json_string(kind_class(write->kind->model)->api_version));
    const char *claim = missing_claim(self, write, object);
    if (claim != NULL) {
        leave_out(self, "Created objects with a claim that neither a dump nor the workload has",
                  write);
        json_decref(object);
        return;
    }
    clean_object(self, object, write);
    know(self, write->kind->class->kind, write->namespace, write->name);
    add_item(self, write, "create", json_pack("{s:o}", "manifest", object));
}

/* ---- Deletes and evictions ---- */

/* A parameter of the request's URI. Returns: (owned): NULL: it has none */
static char *
query_value(const RecordedWrite *write, const char *name)
{
    g_autoptr(GHashTable) all = g_uri_parse_params(write->query, -1, "&", G_URI_PARAMS_NONE, NULL);

    return all == NULL ? NULL : g_strdup(g_hash_table_lookup(all, name));
}

static void
set_grace(const RecordedWrite *write, json_t *what)
{
    json_t *options = body_of(write->request);
    const json_t *inner = json_object_get(options, "deleteOptions");
    const json_t *grace = json_object_get(inner != NULL ? inner : options, "gracePeriodSeconds");
    g_autofree char *text = query_value(write, "gracePeriodSeconds");

    if (json_is_integer(grace))
        json_object_set_new(what, "gracePeriodSeconds", json_integer(json_integer_value(grace)));
    else if (text != NULL)
        json_object_set_new(what, "gracePeriodSeconds",
                            json_integer(g_ascii_strtoll(text, NULL, 10)));
    json_decref(options);
}

/* The name that a pod of the recording has in a run. */
static void
set_pod_name(ImportWorkload *self, const RecordedWrite *write, json_t *what, gboolean wants_one)
{
    g_autofree char *key = g_strdup_printf("%s/%s", write->namespace, write->name);
    const Made *made = write->kind->model == KIND_POD ? g_hash_table_lookup(self->pods, key) : NULL;

    if (made == NULL)
        return;
    json_object_set_new(what, "name", json_string(made->pattern));
    if (made->node != NULL)
        json_object_set_new(what, "node", json_string(made->node));
    if (wants_one)
        json_object_set_new(what, "one", json_true());
    workload_count(
        self, REPORT_GUESSED,
        "Pods whose name a controller draws: a pod of the same controller on the same node", write);
}

/* A volume that was made during the recording has another name in a run, but the same claim. */
static void
set_volume_name(ImportWorkload *self, const RecordedWrite *write, json_t *what)
{
    const char *claim =
        write->kind->model == KIND_VOLUME &&
                dump_find(self->first, "PersistentVolume", NULL, write->name) == NULL
            ? g_hash_table_lookup(self->claims, write->name)
            : NULL;

    if (claim == NULL)
        return;
    g_auto(GStrv) parts = g_strsplit(claim, "/", 2);
    json_object_del(what, "name");
    json_object_set_new(what, "namespace", json_string(parts[0]));
    json_object_set_new(what, "volumeOfClaim", json_string(parts[1]));
}

/* In the background is what happens to most objects anyway. */
static void
set_propagation(const RecordedWrite *write, json_t *what)
{
    json_t *options = body_of(write->request);
    g_autofree char *text = query_value(write, "propagationPolicy");
    const char *policy = json_path_string(options, "propagationPolicy");

    policy = policy != NULL ? policy : text;
    if (g_strcmp0(policy, "Orphan") == 0 || g_strcmp0(policy, "Foreground") == 0)
        json_object_set_new(what, "propagationPolicy", json_string(policy));
    json_decref(options);
}

static void
take_delete(ImportWorkload *self, const RecordedWrite *write)
{
    json_t *what;

    what = target_of(write);
    set_grace(write, what);
    set_propagation(write, what);
    if (unseen_was_forced(self->writes, self->dumps, write)) {
        json_object_set_new(what, "gracePeriodSeconds", json_integer(0));
        workload_count(self, REPORT_GUESSED, "Deletes of pods that were gone at once: --force",
                       write);
    }
    set_pod_name(self, write, what, TRUE);
    set_volume_name(self, write, what);
    add_item(self, write, "delete", what);
}

static void
take_collection(ImportWorkload *self, const RecordedWrite *write)
{
    g_autofree char *selector = query_value(write, "labelSelector");
    json_t *what;

    if (selector != NULL && *selector != '\0') {
        leave_out(self, "Deletes by label, of which the log does not tell the objects", write);
        return;
    }
    what = target_of(write);
    json_object_set_new(what, "name", json_string("*"));
    set_grace(write, what);
    add_item(self, write, "delete", what);
}

/* A drain repeats what a budget refuses. If the first try succeeds in a run, the next ones must not
 * find the pod that replaces it, which is on another node. */
static void
set_node_of_refused(ImportWorkload *self, const RecordedWrite *write, json_t *what)
{
    g_autofree char *key = g_strdup_printf("%s/%s", write->namespace, write->name);
    const char *node = g_hash_table_lookup(self->nodes, key);

    if (write->code == 429)
        g_hash_table_add(self->refused, g_strdup(key));
    if (node != NULL && g_hash_table_contains(self->refused, key))
        json_object_set_new(what, "node", json_string(node));
}

static void
take_eviction(ImportWorkload *self, const RecordedWrite *write)
{
    json_t *what = json_pack("{s:s, s:s}", "namespace", write->namespace, "name", write->name);

    set_grace(write, what);
    set_pod_name(self, write, what, FALSE);
    set_node_of_refused(self, write, what);
    add_item(self, write, "evict", what);
}

/* ---- Changes ---- */

static json_t *
patch_from_update(ImportWorkload *self, const RecordedWrite *write, const json_t *now)
{
    json_t *patch = json_pack("{s:{}}", "metadata");
    json_t *metadata = json_object_get(patch, "metadata");
    const json_t *before =
        dump_find(self->first, write->kind->class->kind, write->namespace, write->name);
    static const char *const maps[] = {"labels", "annotations"};

    for (unsigned i = 0; i < G_N_ELEMENTS(maps); i++) {
        const json_t *map = json_object_get(json_object_get(now, "metadata"), maps[i]);
        json_t *changed = map == NULL ? json_object() : json_deep_copy(map);
        patch_add_removed(changed, json_object_get(json_object_get(before, "metadata"), maps[i]),
                          map);
        json_object_set_new(metadata, maps[i], changed);
    }
    if (json_object_get(now, "spec") == NULL) /* not all kinds have one */
        return patch;
    json_t *spec = json_deep_copy(json_object_get(now, "spec"));
    patch_add_removed(spec, json_object_get(before, "spec"), json_object_get(now, "spec"));
    json_object_set_new(patch, "spec", spec);
    return patch;
}

/* Members that the API server and the controllers set. */
static void
clean_patch(ImportWorkload *self, json_t *patch)
{
    static const char *const drops[] = {"uid",        "resourceVersion", "creationTimestamp",
                                        "generation", "ownerReferences", "managedFields",
                                        "name",       "namespace"};
    static const char *const sections[] = {"labels", "annotations"};
    json_t *metadata = json_object_get(patch, "metadata");

    json_object_del(patch, "status");
    json_object_del(patch, "apiVersion");
    json_object_del(patch, "kind");
    for (unsigned i = 0; i < G_N_ELEMENTS(drops); i++)
        json_object_del(metadata, drops[i]);
    pruner_object(self->pruner, patch);
    for (unsigned i = 0; i < G_N_ELEMENTS(sections); i++)
        if (json_object_size(json_object_get(metadata, sections[i])) == 0 &&
            !json_is_null(json_object_get(metadata, sections[i])))
            json_object_del(metadata, sections[i]);
    if (metadata != NULL && json_object_size(metadata) == 0)
        json_object_del(patch, "metadata");
}

/* Returns: (owned): what a strategic merge patch makes of @before, or, where its kind takes none, a
 * merge patch */
static json_t *
patched(const json_t *before, const json_t *asked)
{
    const SchemaType *type =
        schema_find(json_path_string(before, "apiVersion"), json_path_string(before, "kind"));
    json_t *now = strategic_merge_apply(before, asked, type, NULL);

    return now != NULL ? now : merge_patch_apply(before, asked, NULL);
}

/* Returns: (owned): NULL: nothing tells */
static json_t *
patch_of(ImportWorkload *self, const RecordedWrite *write)
{
    json_t *asked = body_of(write->request), *now = body_of(write->response), *patch;

    if (write->response == NULL && asked == NULL)
        return guess_patch(&self->guess, write);
    const json_t *before =
        dump_find(self->first, write->kind->class->kind, write->namespace, write->name);
    if (now == NULL && before != NULL && json_is_object(asked) &&
        g_str_equal(write->verb, "patch")) /* a log of level Request */
        now = patched(before, asked);
    if (g_str_equal(write->verb, "update"))
        patch = patch_from_update(self, write, now != NULL ? now : asked);
    else if (now == NULL)
        patch = json_is_array(asked) ? NULL : json_incref(asked);
    else if (json_is_array(asked))
        patch = patch_of_operations(asked, now);
    else
        patch = asked == NULL ? patch_from_update(self, write, now) : patch_merged(asked, now);
    json_decref(asked);
    json_decref(now);
    return patch;
}

/* kubectl cordon and uncordon. */
static gboolean
take_cordon(ImportWorkload *self, const RecordedWrite *write, const json_t *patch)
{
    const json_t *spec = json_object_get(patch, "spec");
    const json_t *mark = json_object_get(spec, "unschedulable");

    if (write->kind->model != KIND_NODE || mark == NULL || json_object_size(spec) != 1 ||
        json_object_size(patch) != 1)
        return FALSE;
    add_item(self, write, json_is_true(mark) ? "cordon" : "uncordon",
             json_pack("{s:s}", "node", write->name));
    return TRUE;
}

/* kubectl taint of a log without bodies. */
static gboolean
take_taint(ImportWorkload *self, const RecordedWrite *write)
{
    if (write->kind->model != KIND_NODE || strstr(write->query, "kubectl-taint") == NULL)
        return FALSE;
    g_autofree char *taint = unseen_taint(self->writes, write);
    add_item(self, write, "taint", json_pack("{s:s, s:[s]}", "node", write->name, "taints", taint));
    workload_count(self, REPORT_GUESSED, "Taints of nodes by what happened then", write);
    return TRUE;
}

static void
take_change(ImportWorkload *self, const RecordedWrite *write)
{
    if (write->code == 201) { /* server-side apply of a new object */
        take_create(self, write);
        return;
    }
    if (write->request == NULL && write->response == NULL && take_taint(self, write))
        return;
    json_t *patch = patch_of(self, write);
    if (patch == NULL) {
        leave_out(self, "Changes that neither the log nor a dump tells", write);
        return;
    }
    clean_patch(self, patch);
    if (json_object_size(patch) == 0) {
        leave_out(self, "Changes of what no model reads", write);
    } else if (!take_cordon(self, write, patch)) {
        json_t *what = target_of(write);
        json_object_set(what, "patch", patch);
        set_volume_name(self, write, what);
        add_item(self, write, "patch", what);
    }
    json_decref(patch);
}

static void
take_scale(ImportWorkload *self, const RecordedWrite *write)
{
    json_t *asked = body_of(write->response != NULL ? write->response : write->request);
    const json_t *number = json_object_get(json_object_get(asked, "spec"), "replicas");
    int replicas = json_is_integer(number) ? (int)json_integer_value(number)
                                           : guess_replicas(&self->guess, write);

    json_decref(asked);
    if (replicas < 0) {
        leave_out(self, "Scaling to a number that neither the log nor a dump tells", write);
        return;
    }
    json_t *what = target_of(write);
    json_object_set_new(what, "replicas", json_integer(replicas));
    add_item(self, write, "scale", what);
}

/* ---- One write ---- */

/* A node that joins is made by its own kubelet; all else comes from outside. */
static gboolean
is_workload(const RecordedWrite *write)
{
    if (write->kind->model == KIND_NODE && write->sender->node != NULL)
        return g_str_equal(write->verb, "create") && write->code < 400;
    return write->sender->side == SENDER_OUTSIDE && !g_str_equal(write->verb, "get");
}

/* A run refuses requests with the codes 404, 409 and 429 as a cluster does. It has no
 * authorization, webhooks or time-outs, which refuse others. */
static gboolean
is_same_failure(const RecordedWrite *write)
{
    gboolean creates = g_str_equal(write->verb, "create");

    return write->code == 404 || (write->code == 409 && creates) || write->code == 429;
}

/* A dump takes some seconds after its newest time stamp. */
static gboolean
is_in_dump(const ImportWorkload *self, const RecordedWrite *write)
{
    gboolean creates = g_str_equal(write->verb, "create") && *write->subresource == '\0';

    if (write->at < self->start)
        return TRUE;
    if (write->resource_version > 0 && write->uid != NULL) {
        const json_t *object = dump_find_uid(self->first, write->uid);
        const char *version = object == NULL ? NULL : dump_meta(object, "resourceVersion");
        return version != NULL && g_ascii_strtoull(version, NULL, 10) >= write->resource_version;
    }
    return creates && write->name != NULL && guess_was_dumped(write, self->first);
}

/* Names that the scenario will know: made by controllers, the checks find them. */
static gboolean
is_target_there(ImportWorkload *self, const RecordedWrite *write)
{
    return write->code >= 400 ||
           exists(self, write->kind->class->kind, write->namespace, write->name);
}

static void
take_write(ImportWorkload *self, const RecordedWrite *write)
{
    gboolean creates = g_str_equal(write->verb, "create");
    gboolean is_whole = *write->subresource == '\0';
    g_autofree char *dry_run = query_value(write, "dryRun");

    if (dry_run != NULL) {
        leave_out(self, "Requests that only ask what would happen (dryRun)", write);
    } else if (write->code >= 400 && !is_same_failure(write)) {
        leave_out(self, "Requests that the cluster refused for reasons that a run does not have",
                  write);
    } else if (creates && is_whole) {
        take_create(self, write);
    } else if (g_str_equal(write->verb, "deletecollection")) {
        take_collection(self, write);
    } else if (write->name == NULL) {
        leave_out(self, "Requests without a name", write);
    } else if (creates && !g_str_equal(write->subresource, "eviction")) {
        leave_out(self, "Sub-resources that no model has", write);
    } else if (!is_target_there(self, write) && (creates || write->code != 201)) {
        leave_out(self, "Requests about objects that neither a dump nor the workload has", write);
    } else if (creates) {
        take_eviction(self, write);
    } else if (g_str_equal(write->subresource, "scale")) {
        take_scale(self, write);
    } else if (!is_whole) {
        leave_out(self, "Sub-resources that no model has", write);
    } else if (g_str_equal(write->verb, "delete")) {
        take_delete(self, write);
    } else {
        take_change(self, write);
    }
}

/* ---- What controllers made ---- */

/* "web-5f85df69d4-kmddg" of a Deployment has another hash in a run, too. */
static char *
pattern_of(const RecordedWrite *write)
{
    const char *name = write->name, *dash = strrchr(name, '-');
    g_autofree char *owner = dash == NULL ? NULL : g_strndup(name, (gsize)(dash - name));
    const char *hash = owner == NULL ? NULL : strrchr(owner, '-');

    if (owner == NULL)
        return NULL;
    if (g_str_equal(write->sender->name, "replicaset-controller") && hash != NULL)
        return g_strdup_printf("%.*s-*-?????", (int)(hash - owner), owner);
    return g_strdup_printf("%s-?????", owner);
}

/* Whether the scenario has the workload that an object was made for, as its name tells: "cache-0"
 * and "data-cache-0" are of the StatefulSet "cache". Objects of others will not be there. */
static gboolean
maker_exists(const ImportWorkload *self, const RecordedWrite *write)
{
    const char *dash = strrchr(write->name, '-');
    gboolean found = FALSE;
    ObjectKind maker;

    if (dash == NULL || write->kind->model == KIND_CONTROLLER_REVISION ||
        !workload_kind_of_controller(write->sender->name, &maker))
        return TRUE;
    const char *kind = kind_class(maker)->kind;
    g_autofree char *name = g_strndup(write->name, (gsize)(dash - write->name));
    for (const char *part = name; !found && part != NULL;) {
        found = exists(self, kind, write->namespace, part);
        dash = strrchr(part, '-'); /* pods of an indexed Job have their index behind its name */
        if (!found && dash != NULL && g_str_equal(kind, "Job")) {
            g_autofree char *job = g_strndup(part, (gsize)(dash - part));
            found = exists(self, kind, write->namespace, job);
        }
        part = strchr(part, '-');
        part = part != NULL ? part + 1 : NULL;
    }
    return found;
}

static void
see_made(ImportWorkload *self, const RecordedWrite *write)
{
    gboolean is_pod = write->kind->model == KIND_POD;

    if (write->code >= 400 || write->name == NULL || write->sender->side == SENDER_OUTSIDE)
        return;
    g_autofree char *key = g_strdup_printf("%s/%s", write->namespace, write->name);
    const char *node = write->body.node != NULL ? write->body.node : write->sender->node;
    if (is_pod && node != NULL)
        g_hash_table_insert(self->nodes, g_strdup(key), (char *)node);
    if (write->kind->model == KIND_CLAIM && write->uid != NULL &&
        g_str_equal(write->verb, "update")) /* a provisioner calls its volume after the claim */
        g_hash_table_insert(self->claims, g_strconcat("pvc-", write->uid, NULL), g_strdup(key));
    Made *made = is_pod ? g_hash_table_lookup(self->pods, key) : NULL;
    if (made != NULL && made->node == NULL)
        made->node = node;
    if (!g_str_equal(write->verb, "create") || *write->subresource != '\0' ||
        !maker_exists(self, write))
        return;
    know(self, write->kind->class->kind, write->namespace, write->name);
    if (write->body.claim != NULL)
        g_hash_table_insert(self->claims, g_strdup(write->name), g_strdup(write->body.claim));
    gboolean is_drawn = is_pod && !g_str_equal(write->sender->name, "statefulset-controller");
    char *pattern = is_drawn ? pattern_of(write) : NULL;
    if (pattern == NULL)
        return;
    made = g_new0(Made, 1);
    made->pattern = pattern;
    g_hash_table_insert(self->pods, g_steal_pointer(&key), made);
}

/* Claims come first: pods that name them may be created before them. */
static gboolean
is_new_claim(const RecordedWrite *write)
{
    return write->kind->model == KIND_CLAIM && is_workload(write) &&
           g_str_equal(write->verb, "create");
}

static int
compare_items(const void *a, const void *b)
{
    const WorkloadItem *first = a, *second = b;

    return ORDER(first->at, second->at) ?: ORDER(first->number, second->number);
}

/* Takes the items. Returns: (owned): a list, by time */
static json_t *
sorted_items(GArray *items)
{
    json_t *list = json_array();

    g_array_sort(items, compare_items);
    for (unsigned i = 0; i < items->len; i++)
        json_array_append_new(list, g_array_index(items, WorkloadItem, i).json);
    g_array_unref(items);
    return list;
}

json_t *
workload_make(const Writes *writes,
              const GPtrArray *dumps,
              SimTime start,
              Pruner *pruner,
              ImportReport *report)
{
    const json_t *pod;
    ImportWorkload self = {
        .writes = writes,
        .dumps = dumps,
        .first = dumps->pdata[0],
        .start = start,
        .pruner = pruner,
        .report = report,
        .items = g_array_new(FALSE, FALSE, sizeof(WorkloadItem)),
        .pods = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, made_free),
        .nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .claims = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .refused = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
    };

    for (guint i = 0; (pod = dump_next(self.first, "Pod", &i)) != NULL;) {
        const char *node = json_path_string(pod, "spec.nodeName");
        if (node != NULL)
            g_hash_table_insert(
                self.nodes,
                g_strdup_printf("%s/%s", dump_meta(pod, "namespace"), dump_meta(pod, "name")),
                (char *)node);
    }
    guess_init(&self.guess, writes, dumps, report);
    for (unsigned i = 0; i < writes->writes->len; i++) {
        const RecordedWrite *write = writes->writes->pdata[i];
        if (is_new_claim(write) && !is_in_dump(&self, write))
            take_write(&self, write);
    }
    for (unsigned i = 0; i < writes->writes->len; i++) {
        const RecordedWrite *write = writes->writes->pdata[i];
        if (is_in_dump(&self, write))
            continue;
        see_made(&self, write);
        if (is_workload(write) && !is_new_claim(write))
            take_write(&self, write);
    }
    json_t *items = sorted_items(self.items);
    import_report_say(report, REPORT_TAKEN, "Workload: %zu request%s of people and tools.",
                      json_array_size(items), plural(json_array_size(items)));
    guess_clear(&self.guess);
    g_hash_table_unref(self.pods);
    g_hash_table_unref(self.nodes);
    g_hash_table_unref(self.claims);
    g_hash_table_unref(self.refused);
    g_hash_table_unref(self.known);
    return items;
}
