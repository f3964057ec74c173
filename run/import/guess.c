/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The content of requests in a log without bodies, from the dumps before and after a request and
 * from the later requests of controllers. A created object is the one in a later dump, set back to
 * its new state, or a sibling whose name differs in its numbers only; replicas, sizes and patches
 * follow from pods made, resizes and differences between dumps. A guess without support is left
 * out; the report counts each by its reason. */
#include "guess.h"

#include <string.h>

#include "models/api/field.h"
#include "models/api/fields.h"
#include "run/import/bodies/patches.h"
#include "run/import/bodies/unseen.h"

/* A dump is taken over some seconds, and its newest time stamp is a little older than itself. */
#define CREATION_SLACK (2 * SIM_SECOND)
/* A controller looks at a changed workload at once; a busy one needs some seconds. */
#define ROLLOUT_WITHIN (10 * SIM_SECOND)

static const Dump *
dump_at(const Guess *self, unsigned i)
{
    return self->dumps->pdata[i];
}

static gboolean
was_made_by(const json_t *object, const RecordedWrite *write)
{
    const char *text = dump_meta(object, "creationTimestamp");
    SimTime time;

    return text != NULL && api_time_parse(text, &time) && ABS(time - write->at) <= CREATION_SLACK;
}

gboolean
guess_was_dumped(const RecordedWrite *write, const Dump *dump)
{
    const json_t *object = dump_find(dump, write->kind->class->kind, write->namespace, write->name);

    return object != NULL && was_made_by(object, write);
}

static void
say(const Guess *self, const char *reason, const RecordedWrite *write)
{
    g_autofree char *example = g_strdup_printf("%s %s%s%s", write->kind->class->kind,
                                               write->namespace != NULL ? write->namespace : "",
                                               write->namespace != NULL ? "/" : "", write->name);

    import_report_count(self->report, REPORT_GUESSED, reason, example);
}

/* The first write after @at. */
static unsigned
first_after(const GPtrArray *writes, SimTime at)
{
    unsigned low = 0, high = writes->len;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (((const RecordedWrite *)writes->pdata[middle])->at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether @other is about the same object as @write. */
static gboolean
is_same_object(const RecordedWrite *write, const RecordedWrite *other)
{
    return other->kind == write->kind && other->name == write->name &&
           other->namespace == write->namespace;
}

/* ---- Objects ---- */

/* The name with "#" for each row of digits: "batch-#". (owned) */
static char *
name_pattern(const char *name)
{
    GString *pattern = g_string_new(NULL);

    for (; *name != '\0'; name++)
        if (!g_ascii_isdigit(*name))
            g_string_append_c(pattern, *name);
        else if (pattern->len == 0 || pattern->str[pattern->len - 1] != '#')
            g_string_append_c(pattern, '#');
    return g_string_free(pattern, FALSE);
}

/* Whether a claim waited for a pod: the scheduler chose a node for it. @knows: (out): FALSE:
 * nothing happened to it */
static gboolean
waited_for_pod(const Guess *self, const RecordedWrite *write, gboolean *knows)
{
    const GPtrArray *writes = self->writes->writes;

    *knows = FALSE;
    for (unsigned i = first_after(writes, write->at); i < writes->len; i++) {
        const RecordedWrite *other = writes->pdata[i];
        if (!is_same_object(write, other) || other->code >= 400)
            continue;
        if (g_str_equal(other->verb, "create") || g_str_equal(other->verb, "delete"))
            return FALSE;
        *knows = TRUE;
        if (g_str_equal(other->sender->name, "kube-scheduler"))
            return TRUE;
        if (g_str_equal(other->sender->name, "persistent-volume-binder"))
            return FALSE;
    }
    return FALSE;
}

static const json_t *
guess_class_of(const Guess *self, const json_t *claim)
{
    const char *name = json_path_string(claim, "spec.storageClassName");
    const json_t *found = NULL;

    for (unsigned i = 0; name != NULL && found == NULL && i < self->dumps->len; i++)
        found = dump_find(dump_at(self, i), "StorageClass", NULL, name);
    return found;
}

static gboolean
class_waits(const json_t *class)
{
    return g_strcmp0(json_path_string(class, "volumeBindingMode"), "WaitForFirstConsumer") == 0;
}

/* An object of the same kind and namespace, and of a name that differs in its numbers only. Claims:
 * best one whose class waits for pods as the class of the lost claim did. */
static const json_t *
find_sibling(const Guess *self, const RecordedWrite *write)
{
    g_autofree char *wanted = name_pattern(write->name);
    const json_t *object, *found = NULL;
    gboolean knows = FALSE;
    gboolean waited = write->kind->model == KIND_CLAIM && waited_for_pod(self, write, &knows);

    if (strchr(wanted, '#') == NULL)
        return NULL;
    for (unsigned i = 0; i < self->dumps->len; i++)
        for (guint k = 0;
             (object = dump_next(dump_at(self, i), write->kind->class->kind, &k)) != NULL;) {
            g_autofree char *pattern = name_pattern(dump_meta(object, "name"));
            if (!g_str_equal(pattern, wanted) ||
                g_strcmp0(dump_meta(object, "namespace"), write->namespace) != 0)
                continue;
            if (!knows || class_waits(guess_class_of(self, object)) == waited)
                return object;
            found = object;
        }
    return found;
}

/* A class of the same provisioner that waits for pods, or does not, as the claim's class did. */
static void
guess_set_class(const Guess *self, const RecordedWrite *write, json_t *claim)
{
    const json_t *class = guess_class_of(self, claim), *other;
    gboolean knows, waited = waited_for_pod(self, write, &knows);

    if (!knows || class == NULL || class_waits(class) == waited)
        return;
    for (unsigned i = 0; i < self->dumps->len; i++)
        for (guint k = 0; (other = dump_next(dump_at(self, i), "StorageClass", &k)) != NULL;) {
            if (class_waits(other) != waited || !json_equal(json_object_get(other, "provisioner"),
                                                            json_object_get(class, "provisioner")))
                continue;
            json_object_set_new(json_object_get(claim, "spec"), "storageClassName",
                                json_string(dump_meta(other, "name")));
            say(self, "Classes of created claims by what the scheduler did", write);
            return;
        }
}

/* Replaces @from by @to in all texts of @value. Returns: (owned) */
static json_t *
renamed(const json_t *value, const char *from, const char *to)
{
    const char *key;
    json_t *member, *copy;
    gsize i;

    if (json_is_string(value)) {
        g_auto(GStrv) parts = g_strsplit(json_string_value(value), from, -1);
        g_autofree char *text = g_strjoinv(to, parts);
        return json_string(text);
    }
    if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach((json_t *)value, i, member)
            json_array_append_new(copy, renamed(member, from, to));
        return copy;
    }
    if (!json_is_object(value))
        return json_copy((json_t *)value);
    copy = json_object();
    json_object_foreach((json_t *)value, key, member)
        json_object_set_new(copy, key, renamed(member, from, to));
    return copy;
}

/* Drops what controllers added after the creation. */
static void
make_new(json_t *object, const RecordedWrite *write)
{
    static const char *const marks[] = {
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "volume.beta.kubernetes.io/storage-provisioner",
        "volume.kubernetes.io/storage-provisioner",
        "volume.kubernetes.io/selected-node",
        "deployment.kubernetes.io/revision",
        "kubectl.kubernetes.io/restartedAt",
    };
    json_t *metadata = json_object_get(object, "metadata");
    json_t *spec = json_object_get(object, "spec");

    json_t *template = json_object_get(json_object_get(spec, "template"), "metadata");

    for (unsigned i = 0; i < G_N_ELEMENTS(marks); i++) {
        json_object_del(json_object_get(metadata, "annotations"), marks[i]);
        /* a later restart changes nothing if its mark is there already */
        json_object_del(json_object_get(template, "annotations"), marks[i]);
    }
    if (write->kind->model == KIND_CLAIM)
        json_object_del(spec, "volumeName");
    else if (write->kind->model == KIND_VOLUME)
        json_object_del(spec, "claimRef");
    else if (write->kind->model == KIND_POD)
        json_object_del(spec, "nodeName");
    if (write->kind->model == KIND_NODE) {
        json_object_del(spec, "taints");
        json_object_del(spec, "unschedulable");
    }
}

static gboolean
is_scaling(const RecordedWrite *write)
{
    return write->sender->side == SENDER_OUTSIDE && write->code < 400 &&
           g_str_equal(write->subresource, "scale");
}

void
guess_init(Guess *self, const Writes *writes, const GPtrArray *dumps, ImportReport *report)
{
    *self = (Guess){writes, dumps, report, g_ptr_array_new()};
    for (unsigned i = 0; i < writes->writes->len; i++)
        if (is_scaling(writes->writes->pdata[i]))
            g_ptr_array_add(self->scalings, writes->writes->pdata[i]);
}

void
guess_clear(Guess *self)
{
    g_clear_pointer(&self->scalings, g_ptr_array_unref);
}

/* The next scaling of the same workload after @write; SIM_TIME_MAX: there is none. */
static SimTime
next_scaling(const Guess *self, const RecordedWrite *write)
{
    for (unsigned i = first_after(self->scalings, write->at); i < self->scalings->len; i++) {
        const RecordedWrite *other = self->scalings->pdata[i];
        if (is_same_object(write, other))
            return other->at;
    }
    return SIM_TIME_MAX;
}

/* The greatest number that a pod of a StatefulSet had that was created between two times, plus 1.
 * Of other workloads: how many pods were created. -1: none. @deleted: (out): the least number of a
 * pod that the StatefulSet deleted, or how many; -1: none */
static int
pods_made(const Guess *self, const RecordedWrite *write, SimTime from, SimTime until, int *deleted)
{
    const GPtrArray *writes = self->writes->writes;
    gboolean is_set = write->kind->model == KIND_STATEFUL_SET;
    g_autofree char *prefix = g_strconcat(write->name, "-", NULL);
    int made = -1;

    *deleted = -1;
    for (unsigned i = first_after(writes, from); i < writes->len; i++) {
        const RecordedWrite *pod = writes->pdata[i];
        gint64 number = 0;
        if (pod->at >= until)
            break;
        if (pod->kind->model != KIND_POD || pod->code >= 400 || pod->name == NULL ||
            pod->namespace != write->namespace || *pod->subresource != '\0' ||
            !g_str_has_prefix(pod->name, prefix) ||
            !g_str_has_suffix(pod->sender->name,
                              is_set ? "statefulset-controller" : "set-controller"))
            continue;
        if (is_set &&
            !g_ascii_string_to_signed(pod->name + strlen(prefix), 10, 0, 100000, &number, NULL))
            continue;
        if (g_str_equal(pod->verb, "create"))
            made = is_set ? MAX(made, (int)number + 1) : MAX(made, 0) + 1;
        else if (g_str_equal(pod->verb, "delete"))
            *deleted = !is_set || *deleted < 0 ? (is_set ? (int)number : MAX(*deleted, 0) + 1)
                                               : MIN(*deleted, (int)number);
    }
    return made;
}

/* A dump that is younger than a scaling has the later number: count the pods before. */
static void
set_first_replicas(const Guess *self, const RecordedWrite *write, json_t *object, const Dump *dump)
{
    SimTime scaled = next_scaling(self, write);
    json_t *spec = json_object_get(object, "spec");
    int deleted, made;

    if (json_object_get(spec, "replicas") == NULL || scaled == SIM_TIME_MAX ||
        scaled > dump->newest)
        return;
    made = pods_made(self, write, write->at, scaled, &deleted);
    if (made >= 0)
        json_object_set_new(spec, "replicas", json_integer(made));
    say(self, "Replicas at the creation: as many as there were pods before the first scaling",
        write);
}

/* ---- Sizes ---- */

/* Whether a change of a claim from outside asked for more: the resizer began to work. */
static gboolean
is_growth(const Guess *self, const RecordedWrite *write)
{
    const GPtrArray *writes = self->writes->writes;

    if (write->kind->model != KIND_CLAIM || write->sender->side != SENDER_OUTSIDE ||
        write->code >= 400 || *write->subresource != '\0' ||
        !(g_str_equal(write->verb, "patch") || g_str_equal(write->verb, "update")))
        return FALSE;
    for (unsigned i = first_after(writes, write->at); i < writes->len; i++) {
        const RecordedWrite *other = writes->pdata[i];
        if (!is_same_object(write, other))
            continue;
        if (g_str_equal(other->sender->name, "external-resizer"))
            return TRUE;
        if (other->sender->side == SENDER_OUTSIDE)
            return FALSE;
    }
    return FALSE;
}

static gboolean
is_same_size(const json_t *a, const json_t *b)
{
    int64_t first = 0, second = 0;

    return json_is_string(b) && quantity_parse(json_string_value(a), &first, NULL, NULL) &&
           quantity_parse(json_string_value(b), &second, NULL, NULL) && first == second;
}

/* A claim's size just after a request, when a dump shows what it came to after all: each growth is
 * taken to have doubled it. @until: the dump's time. NULL: the dump has no size. (owned) */
static json_t *
size_after(const Guess *self, const RecordedWrite *write, const json_t *dumped, SimTime until)
{
    const GPtrArray *writes = self->writes->writes;
    const json_t *resources = json_object_get(json_object_get(dumped, "spec"), "resources");
    const char *text = json_path_string(resources, "requests.storage");
    char buffer[QUANTITY_BUFFER];
    int64_t bytes;

    if (text == NULL || !quantity_parse(text, &bytes, NULL, NULL))
        return NULL;
    for (unsigned i = first_after(writes, write->at); i < writes->len; i++) {
        const RecordedWrite *other = writes->pdata[i];
        if (other->at > until)
            break;
        if (is_same_object(write, other) && is_growth(self, other))
            bytes = (bytes + 1) / 2;
    }
    return json_string(quantity_format(bytes, buffer));
}

static void
set_first_size(const Guess *self, const RecordedWrite *write, json_t *object, const Dump *dump)
{
    json_t *resources = json_object_get(json_object_get(object, "spec"), "resources");
    json_t *requests = json_object_get(resources, "requests");
    json_t *size =
        write->kind->model == KIND_CLAIM ? size_after(self, write, object, dump->newest) : NULL;

    if (size != NULL && !is_same_size(size, json_object_get(requests, "storage"))) {
        json_object_set(requests, "storage", size);
        say(self, "Sizes of claims before they grew: half of what they were after it", write);
    }
    json_decref(size);
}

json_t *
guess_object(const Guess *self, const RecordedWrite *write)
{
    const json_t *found = NULL;
    const Dump *dump = NULL;
    json_t *object;

    for (unsigned i = 0; i < self->dumps->len && dump == NULL; i++) {
        const json_t *same =
            dump_find(dump_at(self, i), write->kind->class->kind, write->namespace, write->name);
        if (same != NULL && was_made_by(same, write))
            dump = dump_at(self, i);
        found = same != NULL ? same : found;
    }
    if (dump != NULL) {
        object = json_deep_copy(found);
        set_first_replicas(self, write, object, dump);
        set_first_size(self, write, object, dump);
        say(self, "Created objects as a later dump has them", write);
    } else if (found != NULL) {
        object = json_deep_copy(found);
        say(self, "Created objects as another one of the same name in a dump", write);
    } else {
        found = find_sibling(self, write);
        if (found == NULL) {
            object = unseen_object(self->writes, self->dumps, write);
            if (object != NULL)
                say(self, "Created objects that no dump knows: by what was done with them", write);
            return object;
        }
        object = renamed(found, dump_meta(found, "name"), write->name);
        if (write->kind->model == KIND_CLAIM)
            guess_set_class(self, write, object);
        say(self, "Created objects as one of a like name in a dump", write);
    }
    make_new(object, write);
    return object;
}

/* ---- Scaling ---- */

/* The first dump from @from on that has the object. */
static const json_t *
object_after(const Guess *self, const RecordedWrite *write, SimTime from, SimTime *time)
{
    for (unsigned i = 0; i < self->dumps->len; i++) {
        const json_t *object =
            dump_find(dump_at(self, i), write->kind->class->kind, write->namespace, write->name);
        *time = dump_at(self, i)->newest;
        if (object != NULL && *time >= from)
            return object;
    }
    *time = SIM_TIME_MAX;
    return NULL;
}

/* The last dump before @until that has the object. */
static const json_t *
object_before(const Guess *self, const RecordedWrite *write, SimTime until)
{
    const json_t *found = NULL;

    for (unsigned i = 0; i < self->dumps->len && dump_at(self, i)->newest < until; i++) {
        const json_t *object =
            dump_find(dump_at(self, i), write->kind->class->kind, write->namespace, write->name);
        found = object != NULL ? object : found;
    }
    return found;
}

/* The number of pods of a Deployment or ReplicaSet just before a request: in the first dump, with
 * later creations and deletions. */
static int
pods_before(const Guess *self, const RecordedWrite *write)
{
    g_autoptr(GHashTable) pods = g_hash_table_new(g_str_hash, g_str_equal);
    const GPtrArray *writes = self->writes->writes;
    g_autofree char *prefix = g_strconcat(write->name, "-", NULL);
    const json_t *dumped;

    for (guint i = 0; (dumped = dump_next(dump_at(self, 0), "Pod", &i)) != NULL;)
        if (g_strcmp0(dump_meta(dumped, "namespace"), write->namespace) == 0 &&
            g_str_has_prefix(dump_meta(dumped, "name"), prefix))
            g_hash_table_add(pods, (char *)dump_meta(dumped, "name"));
    for (unsigned i = 0; i < writes->len; i++) {
        const RecordedWrite *pod = writes->pdata[i];
        if (pod->at >= write->at)
            break;
        if (pod->kind->model != KIND_POD || pod->code >= 400 || pod->name == NULL ||
            pod->namespace != write->namespace || !g_str_has_prefix(pod->name, prefix))
            continue;
        if (g_str_equal(pod->verb, "delete") || g_str_equal(pod->subresource, "eviction"))
            g_hash_table_remove(pods, pod->name);
        else if (g_str_equal(pod->verb, "create") && *pod->subresource == '\0')
            g_hash_table_add(pods, (char *)pod->name);
    }
    return (int)g_hash_table_size(pods);
}

int
guess_replicas(const Guess *self, const RecordedWrite *write)
{
    SimTime again = next_scaling(self, write), dumped;
    const json_t *after = object_after(self, write, write->at, &dumped);
    const json_t *number = json_object_get(json_object_get(after, "spec"), "replicas");
    int deleted, made;

    if (json_is_integer(number) && dumped < again) {
        say(self, "Replicas of a scaling as the next dump has them", write);
        return (int)json_integer_value(number);
    }
    made = pods_made(self, write, write->at, again, &deleted);
    if (made < 0 && deleted < 0)
        return -1;
    say(self, "Replicas of a scaling by the pods that came or went after it", write);
    if (write->kind->model == KIND_STATEFUL_SET)
        return made >= 0 ? made : deleted;
    return MAX(0, pods_before(self, write) + MAX(made, 0) - MAX(deleted, 0));
}

/* ---- Patches ---- */

/* A node's taints without those of controllers. (owned) */
static json_t *
own_taints(const json_t *taints)
{
    json_t *own = json_array(), *taint;
    gsize i;

    json_array_foreach((json_t *)taints, i, taint) {
        const char *key = json_path_string(taint, "key");
        if (key != NULL && !g_str_has_prefix(key, "node.kubernetes.io/"))
            json_array_append(own, taint);
    }
    return own;
}

/* Fields of spec that people set: of workloads all. Replicas change by scaling, if there is any. */
static json_t *
own_fields(const Guess *self, const RecordedWrite *write, const json_t *object)
{
    static const char *const of_claims[] = {"resources", "volumeAttributesClassName", NULL};
    static const char *const of_nodes[] = {"unschedulable", NULL};
    ObjectKind kind = write->kind->model;
    const char *const *own = kind == KIND_CLAIM ? of_claims : kind == KIND_NODE ? of_nodes : NULL;
    const json_t *spec = json_object_get(object, "spec");
    const json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");
    json_t *fields = json_object(), *kept = json_object(), *value;
    const char *key;

    json_object_foreach((json_t *)spec, key, value) {
        if (own == NULL || g_strv_contains(own, key))
            json_object_set(kept, key, value);
    }
    for (unsigned i = 0; i < self->scalings->len; i++)
        if (is_same_object(write, self->scalings->pdata[i]))
            json_object_del(kept, "replicas");
    if (kind == KIND_NODE)
        json_object_set_new(kept, "taints", own_taints(json_object_get(spec, "taints")));
    json_object_set_new(fields, "spec", kept);
    json_object_set_new(
        fields, "metadata",
        json_pack("{s:o}", "labels", labels != NULL ? json_deep_copy(labels) : json_object()));
    return fields;
}

/* Whether the volume controller writes the volume's status soon after a change: the volume was made
 * free for another claim. */
static gboolean
becomes_free(const Guess *self, const RecordedWrite *write)
{
    const GPtrArray *writes = self->writes->writes;

    for (unsigned i = first_after(writes, write->at); i < writes->len; i++) {
        const RecordedWrite *other = writes->pdata[i];
        if (other->at > write->at + 2 * SIM_SECOND)
            break;
        if (is_same_object(write, other) &&
            g_str_equal(other->sender->name, "persistent-volume-binder") &&
            g_str_equal(other->subresource, "status"))
            return TRUE;
    }
    return FALSE;
}

/* Of volumes people change the policy, or drop the claim of a Released one. (owned); NULL: nothing
 * tells */
static json_t *
guess_volume_patch(const Guess *self, const RecordedWrite *write)
{
    SimTime time;
    const json_t *before = object_before(self, write, write->at);
    const json_t *after = object_after(self, write, write->at, &time);
    const json_t *old = json_object_get(before, "spec"), *new = json_object_get(after, "spec");
    const json_t *policy = json_object_get(new, "persistentVolumeReclaimPolicy");
    const json_t *first_claim = json_object_get(json_object_get(old, "claimRef"), "uid");
    const json_t *claim = json_object_get(json_object_get(new, "claimRef"), "uid");

    if (becomes_free(self, write) ||
        (first_claim != NULL && new != NULL && !json_equal(first_claim, claim))) {
        say(self, "Changes of volumes that were free after it: without the claim", write);
        return json_pack("{s:{s:n}}", "spec", "claimRef");
    }
    if (policy == NULL || json_equal(policy, json_object_get(old, "persistentVolumeReclaimPolicy")))
        return NULL;
    say(self, "Changes of volumes: the policy that the next dump has", write);
    return json_pack("{s:{s:O}}", "spec", "persistentVolumeReclaimPolicy", policy);
}

/* How often somebody outside had changed the node's mark before: kubectl turns it on and off. */
static gboolean
is_cordoned_before(const Guess *self, const RecordedWrite *write)
{
    const GPtrArray *writes = self->writes->writes;
    const json_t *first = dump_find(dump_at(self, 0), "Node", NULL, write->name);
    gboolean is_cordoned =
        json_is_true(json_object_get(json_object_get(first, "spec"), "unschedulable"));

    for (unsigned i = 0; i < writes->len && writes->pdata[i] != write; i++) {
        const RecordedWrite *other = writes->pdata[i];
        if (is_same_object(write, other) && other->at >= dump_at(self, 0)->newest &&
            other->sender == write->sender && g_str_equal(other->verb, "patch") &&
            *other->subresource == '\0' && other->code < 400 && *other->query == '\0')
            is_cordoned = !is_cordoned;
    }
    return is_cordoned;
}

static json_t *
guess_restart(const Guess *self, const RecordedWrite *write, const char *reason)
{
    char buffer[API_TIME_BUFFER];

    say(self, reason, write);
    return json_pack("{s:{s:{s:{s:{s:s}}}}}", "spec", "template", "metadata", "annotations",
                     "kubectl.kubernetes.io/restartedAt",
                     api_time_format(write->received, FALSE, buffer));
}

/* Whether the controllers began to replace pods after a change of a workload. */
static gboolean
rolls_out(const Guess *self, const RecordedWrite *write)
{
    const GPtrArray *writes = self->writes->writes;
    g_autofree char *prefix = g_strconcat(write->name, "-", NULL);
    ObjectKind made = write->kind->model == KIND_DEPLOYMENT ? KIND_REPLICA_SET : KIND_POD;
    const char *verb = made == KIND_POD ? "delete" : "create";

    for (unsigned i = first_after(writes, write->at); i < writes->len; i++) {
        const RecordedWrite *other = writes->pdata[i];
        if (other->at > write->at + ROLLOUT_WITHIN)
            break;
        if (other->kind->model == made && other->code < 400 && other->name != NULL &&
            other->namespace == write->namespace && other->sender->side == SENDER_MODELLED &&
            other->sender->node == NULL && *other->subresource == '\0' &&
            g_str_equal(other->verb, verb) && g_str_has_prefix(other->name, prefix))
            return TRUE;
    }
    return FALSE;
}

static gboolean
is_workload(const RecordedWrite *write)
{
    return write->kind->model == KIND_DEPLOYMENT || write->kind->model == KIND_STATEFUL_SET ||
           write->kind->model == KIND_DAEMON_SET;
}

/* Of a claim that no dump before has. Returns: (owned): NULL: no dump after has it either */
static json_t *
guess_growth(const Guess *self, const RecordedWrite *write)
{
    SimTime time;
    const json_t *after = object_after(self, write, write->at, &time);
    json_t *size = after == NULL ? NULL : size_after(self, write, after, time);

    if (size == NULL)
        return NULL;
    say(self, "Changes of claims that the resizer followed: to the size of the next dump", write);
    return json_pack("{s:{s:{s:{s:o}}}}", "spec", "resources", "requests", "storage", size);
}

/* Returns: (owned): NULL: the dumps show no change, or there are none */
static json_t *
dumped_change(const Guess *self, const RecordedWrite *write)
{
    SimTime time;
    const json_t *before = object_before(self, write, write->at);
    const json_t *after = object_after(self, write, write->at, &time);

    if (before == NULL || after == NULL)
        return NULL;
    json_t *old = own_fields(self, write, before), *new = own_fields(self, write, after);
    json_t *patch = patch_difference(old, new);
    json_decref(old);
    json_decref(new);
    return patch;
}

json_t *
guess_patch(const Guess *self, const RecordedWrite *write)
{
    gboolean is_kubectl = g_str_equal(write->sender->name, "kubectl");
    json_t *patch;

    if (strstr(write->query, "fieldManager=kubectl-rollout") != NULL)
        return guess_restart(self, write, "Changes by kubectl rollout: taken for a restart");
    /* Only cordon and uncordon name no field manager. */
    if (write->kind->model == KIND_NODE && is_kubectl && *write->query == '\0') {
        say(self, "Changes of nodes by kubectl: taken for cordon and uncordon in turn", write);
        return json_pack("{s:{s:b}}", "spec", "unschedulable", !is_cordoned_before(self, write));
    }
    if (write->kind->model == KIND_VOLUME)
        return guess_volume_patch(self, write);
    patch = dumped_change(self, write);
    if (patch != NULL) {
        say(self, "Changes as the difference between the dumps before and after", write);
        return patch;
    }
    if (is_growth(self, write))
        return guess_growth(self, write);
    return is_workload(write) && rolls_out(self, write)
               ? guess_restart(self, write, "Changes that began a rollout: taken for a restart")
               : NULL;
}
