/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stories.h"

#include <string.h>

#include "models/api/claim.h"
#include "models/api/pod.h"
#include "models/api/snapshot.h"
#include "models/api/storage.h"
#include "models/api/volume.h"
#include "models/api/workload.h"
#include "models/apiserver/apiserver-test.h"
#include "models/csi/csi.h"
#include "sim/strings.h"

typedef struct {
    const char *teller; /* interned: who wrote, or a group of calls */
    char *name;         /* as the run has it */
    char *text;
} StoriesLine;

struct Stories {
    Run *run;
    const char *writer;   /* of the write that is being carried out */
    GArray *instants;     /* of SimTime */
    GPtrArray *lines;     /* of Line */
    GHashTable *plain_of; /* name or uid of the run -> word without draws */
    GHashTable *past;     /* see sort_lines(): before stories_begin(); NULL: nothing */
    GHashTable *creating; /* names of volumes that CreateVolume was not OK for yet */
    GHashTable *places;   /* volume -> its nodes since stories_begin(), of char * */
    GHashTable *place;    /* volume -> its last node ever, interned */
    GHashTable *binding;  /* set of pods, of char *: being bound at stories_begin() */
    GHashTable *returned; /* set of volumes, of char *: since then twice on a node in succession */
    GRegex *words, *times;
    GRegex *numbers; /* NULL: they count */
};

static void
line_free(void *data)
{
    StoriesLine *self = data;

    g_free(self->name);
    g_free(self->text);
    g_free(self);
}

static void
stories_add_line(Stories *self, const char *teller, char *name, char *text)
{
    StoriesLine *line = g_new(StoriesLine, 1);

    *line = (StoriesLine){g_intern_string(teller), name, text};
    g_ptr_array_add(self->lines, line);
}

/* ---- Names ---- */

static void
call_it(Stories *self, const char *name, char *plain)
{
    g_hash_table_replace(self->plain_of, g_strdup(name), plain);
}

static const char *
known_as(const Stories *self, const char *name)
{
    const char *plain = g_hash_table_lookup(self->plain_of, name);

    return plain != NULL ? plain : name;
}

static char *
plain_volume(const Stories *self, const Volume *volume)
{
    if (!g_str_has_prefix(object_name(&volume->meta), "pvc-") || volume->claim_ref.claim == NULL)
        return NULL;
    return g_strdup_printf("pv-of-%s", known_as(self, volume->claim_ref.claim->name));
}

/* An ephemeral claim has the name of its pod. */
static char *
plain_claim(const Object *claim)
{
    const OwnerReference *owner =
        claim->owners == NULL || claim->owners->n_items == 0 ? NULL : &claim->owners->items[0];

    return owner == NULL || !g_str_equal(owner->kind, "Pod") ? NULL : g_strdup("claim-of-pod");
}

static char *
plain_pod(const Object *pod)
{
    for (unsigned i = 0; pod->owners != NULL && i < pod->owners->n_items; i++)
        if (!g_str_equal(pod->owners->items[i].kind, "StatefulSet"))
            return g_strdup_printf("pod-of-%s", pod->owners->items[i].name);
    return NULL;
}

static char *
plain_attachment(const Stories *self, const Attachment *attachment)
{
    return g_strdup_printf("attachment-of-%s", attachment->volume_name == NULL
                                                   ? "inline"
                                                   : known_as(self, attachment->volume_name));
}

/* What to call an object whose name is drawn or made from a uid. Returns: (owned): NULL: its name
 * is its own */
static char *
plain_name(const Stories *self, const Object *object)
{
    ObjectKind kind = object_kind(object);

    if (kind == KIND_VOLUME)
        return plain_volume(self, VOLUME_CONST(object));
    if (kind == KIND_POD)
        return plain_pod(object);
    if (kind == KIND_CLAIM)
        return plain_claim(object);
    if (kind == KIND_SNAPSHOT_CONTENT)
        return g_str_has_prefix(object_name(object), "snapcontent-") ? g_strdup("content") : NULL;
    if (kind == KIND_GROUP_CONTENT)
        return g_strdup("group-content");
    if (kind == KIND_VOLUME_SNAPSHOT)
        return g_str_has_prefix(object_name(object), "snapshot-") ? g_strdup("member") : NULL;
    if (kind == KIND_ATTACHMENT)
        return plain_attachment(self, (const Attachment *)object);
    return kind == KIND_STORAGE_CAPACITY                ? g_strdup("capacity")
           : kind == KIND_NODE || kind == KIND_CSI_NODE ? g_strdup("node")
                                                        : NULL;
}

static void
learn(Stories *self, const Object *object)
{
    char uid[OBJECT_UID_BUFFER];
    char *plain = plain_name(self, object);

    call_it(self, object_uid_format(object->uid, uid), g_strdup("uid"));
    if (plain != NULL)
        call_it(self, object_name(object), plain);
    if (object_kind(object) == KIND_VOLUME && VOLUME_CONST(object)->source != NULL &&
        VOLUME_CONST(object)->source->handle != NULL && plain != NULL)
        call_it(self, VOLUME_CONST(object)->source->handle, g_strdup(plain));
    if (object_kind(object) == KIND_GROUP_SNAPSHOT) {
        g_autofree char *call = g_strdup_printf("groupsnapshot-%s", uid);
        call_it(self, call, g_strdup("handle"));
    }
    if (object_kind(object) == KIND_SNAPSHOT_CONTENT &&
        ((const SnapshotContent *)object)->handle != NULL)
        call_it(self, ((const SnapshotContent *)object)->handle, g_strdup("handle"));
}

static gboolean
put_plain(const GMatchInfo *match, GString *result, void *data)
{
    const Stories *self = data;
    g_autofree char *word = g_match_info_fetch(match, 0);
    const char *plain = g_hash_table_lookup(self->plain_of, word);

    g_string_append(result, plain != NULL ? plain : word);
    return FALSE;
}

char *
stories_plain(Stories *self, const char *text)
{
    g_autofree char *timeless = g_regex_replace_literal(self->times, text, -1, 0, "TIME", 0, NULL);

    char *plain = g_regex_replace_eval(self->words, timeless, -1, 0, 0, put_plain, self, NULL);
    if (self->numbers == NULL)
        return plain;
    char *alike = g_regex_replace_literal(self->numbers, plain, -1, 0, "-N", 0, NULL);
    g_free(plain);
    return alike;
}

/* ---- Writes ---- */

static gboolean
stories_is_left_out(const char *path, const char *before, const char *after)
{
    static const char *const left_out[] = {"metadata.uid",
                                           "metadata.creationTimestamp",
                                           "metadata.finalizers", /* see add_finalizers() */
                                           "spec.claimRef.resourceVersion",
                                           "status.lastPhaseTransitionTime",
                                           NULL};

    return g_strv_contains(left_out, path) ||
           /* how often something fails depends on back-off */
           g_str_has_prefix(path, "status.attachError.") ||
           g_str_has_prefix(path, "status.detachError.") ||
           /* whether a time stamp changes between two writes depends on a full second */
           (before != NULL && after != NULL &&
            (g_str_has_suffix(path, "ime") || g_str_has_suffix(path, "Timestamp")));
}

static void
add_change(void *data, const char *path, const char *before, const char *after)
{
    if (!stories_is_left_out(path, before, after))
        g_string_append_printf(data, "    %s = %s\n", path, after == NULL ? "(gone)" : after);
}

/* Several writers remove their finalizers in any order: what counts is who comes and who goes. */
static void
add_finalizers(GString *text, const StringList *some, const StringList *others, char mark)
{
    for (unsigned i = 0; some != NULL && i < some->n_items; i++)
        if (!string_list_has(others, some->items[i]))
            g_string_append_printf(text, "    finalizer %c %s\n", mark, some->items[i]);
}

/* Lists whose order means nothing become objects by @key. */
static void
key_list(json_t *object, const char *list, const char *key)
{
    json_t *status = json_object_get(object, "status");
    json_t *items = json_object_get(status, list), *item;
    gsize i;

    if (!json_is_array(items))
        return;
    json_t *keyed = json_object();
    json_array_foreach(items, i, item) {
        json_t *copy = json_copy(item);
        json_object_del(copy, "lastHeartbeatTime");
        json_object_del(copy, "lastTransitionTime");
        json_object_del(copy, "lastProbeTime");
        json_object_set_new(keyed, json_string_value(json_object_get(item, key)), copy);
    }
    json_object_set_new(status, list, keyed);
}

/* Whether the scheduler met another writer depends on latencies. */
static void
drop_conflict(json_t *status)
{
    json_t *conditions = json_object_get(status, "conditions");
    const char *message =
        json_string_value(json_object_get(json_object_get(conditions, "PodScheduled"), "message"));

    if (message != NULL && (strstr(message, "the object has been modified") != NULL ||
                            strstr(message, "is out of sync") != NULL))
        json_object_del(conditions, "PodScheduled");
}

/* Takes @object. Returns: (owned): what is compared of it */
static json_t *
simplify(json_t *object)
{
    json_t *status = json_object_get(object, "status");

    key_list(object, "conditions", "type");
    drop_conflict(status);
    if (json_is_integer(json_object_get(status, "creationTime"))) /* of contents, in ns */
        json_object_set_new(status, "creationTime", json_string("TIME"));
    /* see add_volumes() */
    json_object_del(status, "volumesAttached");
    json_object_del(status, "volumesInUse");
    return object;
}

static const StringList *
volumes_in_use(const Object *node)
{
    return node == NULL ? NULL : ((const Node *)node)->volumes_in_use;
}

static const StringList *
volumes_attached(const Object *node)
{
    return node == NULL ? NULL : ((const Node *)node)->volumes_attached;
}

/* How many volumes one write of a node brings depends on the phases of loops: each volume has its
 * own story. */
static void
add_volumes(Stories *self,
            const char *teller,
            const char *node,
            const StringList *some,
            const StringList *others,
            const char *text)
{
    for (unsigned i = 0; some != NULL && i < some->n_items; i++)
        if (!string_list_has(others, some->items[i]))
            stories_add_line(self, teller, g_strdup_printf("%s on %s", some->items[i], node),
                             g_strdup(text));
}

static void
stories_see_node(Stories *self, const Object *before, const Object *after)
{
    const StringList *used = volumes_in_use(after), *used_before = volumes_in_use(before);
    const StringList *attached = volumes_attached(after);
    const StringList *attached_before = volumes_attached(before);
    const char *node = object_name(after != NULL ? after : before);

    add_volumes(self, "in use", node, used, used_before, "    begins\n");
    add_volumes(self, "in use", node, used_before, used, "    ends\n");
    add_volumes(self, "attached", node, attached, attached_before, "    begins\n");
    add_volumes(self, "attached", node, attached_before, attached, "    ends\n");
}

static char *
story_name(const Object *object)
{
    return g_strdup_printf("%s %s", kind_class(object_kind(object))->kind, object->key->text);
}

/* Notes where the volumes of a pod that gets a node go. */
static void
see_place(Stories *self, const Pod *before, const Pod *after)
{
    if (after == NULL || after->node_name == NULL || (before != NULL && before->node_name != NULL))
        return;
    for (unsigned i = 0; after->volumes != NULL && i < after->volumes->n_items; i++) {
        const ObjectKey *claim =
            pod_claim_key(run_objects(self->run), after, &after->volumes->items[i]);
        char *volume = g_strdup_printf("pv-of-%s", known_as(self, claim->name));
        const char *places = g_hash_table_lookup(self->places, volume);
        g_hash_table_insert(self->places, g_strdup(volume),
                            g_strconcat(places == NULL ? "" : places, " ", after->node_name, NULL));
        if (g_hash_table_lookup(self->place, volume) == g_intern_string(after->node_name))
            g_hash_table_add(self->returned, g_strdup(volume));
        g_hash_table_insert(self->place, volume, (char *)g_intern_string(after->node_name));
    }
}

static void
stories_see_write(void *data, const Object *before, const Object *after)
{
    Stories *self = data;
    const Object *object = after != NULL ? after : before;
    json_auto_t *old = before == NULL ? json_object() : simplify(object_to_json(before));
    json_auto_t *new = after == NULL ? json_object() : simplify(object_to_json(after));
    g_autoptr(GString) text = g_string_new(NULL);

    learn(self, object);
    if (object_kind(object) == KIND_LEASE)
        return;
    if (object_kind(object) == KIND_NODE)
        stories_see_node(self, before, after);
    if (object_kind(object) == KIND_POD)
        see_place(self, POD_CONST(before), POD_CONST(after));
    /* One write tells of all pods that changed since the last one: how many depends on latencies.
     * The last status is compared as state. */
    if (workload_template(object) != NULL || object_kind(object) == KIND_DISRUPTION_BUDGET) {
        json_object_del(old, "status");
        json_object_del(new, "status");
    }
    if (after != NULL)
        snapshot_compare_fields(old, new, add_change, text);
    add_finalizers(text, before == NULL ? NULL : before->finalizers,
                   after == NULL ? NULL : after->finalizers, '-');
    add_finalizers(text, after == NULL ? NULL : after->finalizers,
                   before == NULL ? NULL : before->finalizers, '+');
    if (after == NULL) /* whoever wrote last */
        stories_add_line(self, "server", story_name(object), g_strdup("    removed\n"));
    if (text->len == 0)
        return;
    SimTime now = sim_now(run_sim(self->run));
    g_array_append_val(self->instants, now);
    stories_add_line(self, self->writer == NULL ? "?" : self->writer, story_name(object),
                     g_string_free(g_steal_pointer(&text), FALSE));
}

/* No fault: only looks who writes. */
static ApiCode
stories_see_request(void *data, const ApiRequest *request, GString *message)
{
    Stories *self = data;

    (void)message;
    self->writer = request->client;
    return API_OK;
}

/* ---- Calls ---- */

static void
see_begin(void *data, const CsiCallRecord *record)
{
    Stories *self = data;

    if (record->request->method == CSI_CREATE_VOLUME)
        g_hash_table_add(self->creating, g_strdup(record->request->name));
}

static void
stories_see_call(void *data, const CsiCallRecord *record)
{
    Stories *self = data;
    const CsiRequest *request = record->request;
    const char *volume = request->volume_id != NULL ? request->volume_id : request->name;

    if (volume == NULL || request->method == CSI_VALIDATE_VOLUME_CAPABILITIES ||
        request->method == CSI_NODE_GET_VOLUME_STATS || record->answer != CSI_OK)
        return; /* how often something fails depends on back-off, which no object holds */
    if (request->method == CSI_CREATE_VOLUME)
        g_hash_table_remove(self->creating, request->name);
    stories_add_line(self, "calls",
                     request->served_by == NULL
                         ? g_strdup_printf("volume %s", volume)
                         : g_strdup_printf("volume %s on %s", volume, request->served_by),
                     g_strdup_printf("    %s %s\n", csi_method_name(request->method),
                                     request->target_path != NULL ? request->target_path : ""));
}

Stories *
stories_new(Run *run)
{
    Stories *self = g_new0(Stories, 1);
    Cluster *cluster = run_cluster(run);

    self->run = run;
    self->instants = g_array_new(FALSE, FALSE, sizeof(SimTime));
    self->lines = g_ptr_array_new_with_free_func(line_free);
    self->plain_of = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->creating = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->place = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->returned = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->binding = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    self->words = g_regex_new("[A-Za-z0-9][A-Za-z0-9.-]*", G_REGEX_OPTIMIZE, 0, NULL);
    /* also the identity that a provisioner gives itself when it starts */
    self->times = g_regex_new("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z|\\d{13}-\\d+-",
                              G_REGEX_OPTIMIZE, 0, NULL);
    api_server_observe(cluster_api(cluster), stories_see_write, self);
    api_server_set_fault(cluster_api(cluster), stories_see_request, self);
    for (unsigned i = 0; i < run_scenario(run)->n_drivers; i++) {
        const CsiObserver observer = {
            .started = see_begin, .answered = stories_see_call, .data = self};
        csi_driver_add_observer(cluster_find_driver(cluster, run_scenario(run)->drivers[i].name),
                                &observer);
    }
    Objects *objects = run_objects(run);
    for (unsigned kind = 0; kind < KIND_OTHER; kind++) /* old Events are no state */
        for (uint32_t slot = 0; slot < objects_n_keys(objects, (ObjectKind)kind); slot++) {
            const Object *object = api_server_get(cluster_api(cluster),
                                                  objects_key_at(objects, (ObjectKind)kind, slot));
            if (object != NULL)
                learn(self, object);
        }
    return self;
}

void
stories_free(Stories *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->instants);
    g_ptr_array_unref(self->lines);
    g_hash_table_unref(self->plain_of);
    g_clear_pointer(&self->past, g_hash_table_unref);
    g_hash_table_unref(self->creating);
    g_hash_table_unref(self->places);
    g_hash_table_unref(self->place);
    g_hash_table_unref(self->returned);
    g_hash_table_unref(self->binding);
    g_regex_unref(self->words);
    g_regex_unref(self->times);
    g_clear_pointer(&self->numbers, g_regex_unref);
    g_free(self);
}

void
stories_share_names(Stories *self, const Stories *other)
{
    GHashTableIter i;
    void *name, *plain;

    g_hash_table_iter_init(&i, other->plain_of);
    while (g_hash_table_iter_next(&i, &name, &plain))
        if (!g_hash_table_contains(self->plain_of, name))
            call_it(self, name, g_strdup(plain));
}

void
stories_make_alike(Stories *self)
{
    self->numbers = g_regex_new("-\\d+\\b", G_REGEX_OPTIMIZE, 0, NULL);
}

gboolean
stories_has_orphans(const Stories *self)
{
    Objects *objects = run_objects(self->run);
    unsigned n_wanted = 0;

    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_CLAIM); slot++) {
        const Object *claim = api_server_get(cluster_api(run_cluster(self->run)),
                                             objects_key_at(objects, KIND_CLAIM, slot));
        char uid[OBJECT_UID_BUFFER];
        g_autofree char *name =
            claim == NULL ? NULL : g_strdup_printf("pvc-%s", object_uid_format(claim->uid, uid));
        n_wanted += name != NULL && g_hash_table_contains(self->creating, name);
    }
    return g_hash_table_size(self->creating) > n_wanted;
}

const GArray *
stories_instants(const Stories *self)
{
    return self->instants;
}

static void
free_story(void *story)
{
    g_ptr_array_unref(story);
}

/* Appends a line (taken), but no repeat of the last @periods lines: a loop of retries turns more
 * often or less. */
static void
stories_append(GPtrArray *story, char *text, unsigned periods)
{
    unsigned n = story->len;

    g_ptr_array_add(story, text);
    for (unsigned period = 1; period <= periods; period++) {
        gboolean repeats = n + 1 >= 2 * period;
        for (unsigned i = 0; repeats && i < period; i++)
            repeats = g_str_equal(story->pdata[n - i], story->pdata[n - i - period]);
        if (repeats) {
            g_ptr_array_set_size(story, (int)(n + 1 - period));
            return;
        }
    }
}

/* Whether a call only repeats the last one before stories_begin(). */
static gboolean
repeats_past(const Stories *self, const char *name, const char *text)
{
    const GPtrArray *past = self->past == NULL || !g_str_has_suffix(name, "| calls")
                                ? NULL
                                : g_hash_table_lookup(self->past, name);

    return past != NULL && g_str_equal(past->pdata[past->len - 1], text);
}

/* Returns: (owned): the lines of each story: GPtrArray of char * by name and teller */
static GHashTable *
sort_lines(Stories *self)
{
    GHashTable *stories = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_story);

    for (unsigned i = 0; i < self->lines->len; i++) {
        const StoriesLine *line = self->lines->pdata[i];
        g_autofree char *key = g_strdup_printf("%s | %s", line->name, line->teller);
        char *text = stories_plain(self, line->text);
        if (g_hash_table_lookup(stories, key) == NULL)
            g_hash_table_insert(stories, g_strdup(key), g_ptr_array_new_with_free_func(g_free));
        GPtrArray *story = g_hash_table_lookup(stories, key);
        if (story->len == 0 && repeats_past(self, key, text))
            g_free(text);
        else
            stories_append(story, text, 1);
    }
    return stories;
}

/* A scheduler that is in the middle of it holds a place for the pod and waits for its volumes. A
 * scheduler that finds such a pod may say first that it fits nowhere. */
static gboolean
is_being_bound(const Stories *self, const Pod *pod)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Object *claim = pod->volumes->items[i].source != NULL
                                  ? NULL
                                  : api_server_get(cluster_api(run_cluster(self->run)),
                                                   pod_claim_key(run_objects(self->run), pod,
                                                                 &pod->volumes->items[i]));
        if (claim != NULL && object_annotation(claim, ANNOTATION_SELECTED_NODE) != NULL)
            return pod->node_name == NULL;
    }
    return FALSE;
}

static void
see_bindings(Stories *self)
{
    Objects *objects = run_objects(self->run);

    g_hash_table_remove_all(self->binding);
    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_POD); slot++) {
        const ObjectKey *key = objects_key_at(objects, KIND_POD, slot);
        const Object *pod = api_server_get(cluster_api(run_cluster(self->run)), key);
        if (pod != NULL && is_being_bound(self, POD_CONST(pod)))
            g_hash_table_add(self->binding, g_strdup_printf("Pod %s | kube-scheduler", key->text));
    }
}

void
stories_begin(Stories *self)
{
    g_clear_pointer(&self->past, g_hash_table_unref);
    self->past = sort_lines(self);
    g_ptr_array_set_size(self->lines, 0);
    g_hash_table_remove_all(self->places);
    g_hash_table_remove_all(self->returned);
    see_bindings(self);
}

/* ---- Tables ---- */

/* Joins the stories (of GString by name) of objects with one plain name, sorted. */
static GHashTable *
join(Stories *self, GHashTable *by_name)
{
    g_autoptr(GHashTable) groups =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    GHashTable *result = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter i;
    void *name, *value;

    g_hash_table_iter_init(&i, by_name);
    while (g_hash_table_iter_next(&i, &name, &value)) {
        char *plain = stories_plain(self, name);
        GPtrArray *group = g_hash_table_lookup(groups, plain);
        if (group == NULL) {
            group = g_ptr_array_new_with_free_func(g_free);
            g_hash_table_insert(groups, g_strdup(plain), group);
        }
        g_ptr_array_add(group, stories_plain(self, ((GString *)value)->str));
        g_free(plain);
    }
    g_hash_table_iter_init(&i, groups);
    while (g_hash_table_iter_next(&i, &name, &value)) {
        GPtrArray *group = value;
        GString *text = g_string_new(NULL);
        g_ptr_array_sort(group, strings_compare);
        for (unsigned k = 0; k < group->len; k++)
            g_string_append_printf(text, "%s%s", k == 0 ? "" : "    --\n", (char *)group->pdata[k]);
        g_hash_table_insert(result, g_strdup(name), g_string_free(text, FALSE));
    }
    return result;
}

static void
free_text(void *data)
{
    g_string_free(data, TRUE);
}

/* The scheduler draws one of equal nodes. Where that came out differently, a volume may move in one
 * run and stay in the other. Where a pod comes back to the same node, a race of loops decides
 * whether its volume is detached in between. */
gboolean
stories_places_differ(const Stories *self, const Stories *other, const char *name)
{
    const char *volume = strstr(name, "pv-of-");
    g_autofree char *word = volume == NULL ? NULL : g_strndup(volume, strcspn(volume, " |"));

    if (g_hash_table_contains(self->binding, name))
        return TRUE;
    return word != NULL && (g_hash_table_contains(self->returned, word) ||
                            g_strcmp0(g_hash_table_lookup(self->places, word),
                                      g_hash_table_lookup(other->places, word)) != 0);
}

static gboolean
stories_is_same(
    const GPtrArray *a, unsigned from_a, const GPtrArray *b, unsigned from_b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!g_str_equal(a->pdata[from_a + i], b->pdata[from_b + i]))
            return FALSE;
    return TRUE;
}

/* Returns: how many calls at the beginning of @story repeat the end of @past, so that @future
 * follows; 0: none */
static unsigned
count_repeats(const GPtrArray *story, const GPtrArray *past, const GPtrArray *future)
{
    unsigned n = story->len - (future == NULL ? 0 : MIN(future->len, story->len));

    return past != NULL && n <= past->len && stories_is_same(story, 0, past, past->len - n, n) &&
                   (future == NULL || (n + future->len == story->len &&
                                       stories_is_same(story, n, future, 0, future->len)))
               ? n
               : 0;
}

GHashTable *
stories_table(Stories *self, Stories *original)
{
    g_autoptr(GHashTable) futures = sort_lines(original);
    g_autoptr(GHashTable) stories = sort_lines(self);
    g_autoptr(GHashTable) by_name =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_text);
    GHashTableIter iter;
    void *name, *value;

    g_hash_table_iter_init(&iter, stories);
    while (g_hash_table_iter_next(&iter, &name, &value)) {
        const GPtrArray *story = value;
        unsigned i = self == original || !g_str_has_suffix(name, "| calls")
                         ? 0
                         : count_repeats(story, g_hash_table_lookup(original->past, name),
                                         g_hash_table_lookup(futures, name));
        g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
        GString *text = g_string_new(NULL);
        while (i < story->len)
            stories_append(lines, g_strdup(story->pdata[i++]), 2);
        for (i = 0; i < lines->len; i++)
            g_string_append_printf(text, "  -\n%s", (char *)lines->pdata[i]);
        if (text->len > 0)
            g_hash_table_insert(by_name, g_strdup(name), text);
        else
            g_string_free(text, TRUE);
    }
    return join(self, by_name);
}

/* Volumes of nodes, whichever nodes these are. */
static void
add_in_use(GHashTable *by_name, const Object *object)
{
    const StringList *volumes =
        object_kind(object) == KIND_NODE ? ((const Node *)object)->volumes_in_use : NULL;

    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
        g_hash_table_insert(by_name, g_strdup_printf("in use %s", volumes->items[i]),
                            g_string_new("in use\n"));
}

GHashTable *
stories_state(Stories *self)
{
    g_autoptr(GHashTable) by_name =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_text);
    Objects *objects = run_objects(self->run);

    for (unsigned kind = 0; kind < KIND_OTHER; kind++) /* old Events are no state */
        for (uint32_t slot = 0; slot < objects_n_keys(objects, (ObjectKind)kind); slot++) {
            const ObjectKey *key = objects_key_at(objects, (ObjectKind)kind, slot);
            const Object *object = api_server_get(cluster_api(run_cluster(self->run)), key);
            if (object == NULL || kind == KIND_LEASE)
                continue;
            json_auto_t *json = simplify(snapshot_object(self->run, object));
            json_auto_t *nothing = json_object();
            GString *text = g_string_new(NULL);
            snapshot_compare_fields(nothing, json, add_change, text);
            add_in_use(by_name, object);
            g_hash_table_insert(
                by_name, g_strdup_printf("%s %s", kind_class((ObjectKind)kind)->kind, key->text),
                text);
        }
    return join(self, by_name);
}
