/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorded.h"

#include <jansson.h>
#include <string.h>

#include "moments-private.h"
#include "packed.h"

#define CSI_PREFIX "kubernetes.io/csi/"

static const char *
recorded_text_at(const json_t *object, const char *path)
{
    g_auto(GStrv) keys = g_strsplit(path, "|", -1);

    for (unsigned i = 0; keys[i] != NULL; i++)
        object = json_object_get(object, keys[i]);
    return json_string_value(object);
}

/* An object as a watching client saw it last, and sees it now. */
typedef struct {
    const json_t *before, *after; /* NULL: does not exist */
    const char *name;
    double at;
} RecordedSeen;

static gboolean
appeared(const RecordedSeen *seen, const char *path)
{
    return recorded_text_at(seen->after, path) != NULL &&
           recorded_text_at(seen->before, path) == NULL;
}

static gboolean
became(const RecordedSeen *seen, const char *path, const char *value)
{
    return g_strcmp0(recorded_text_at(seen->after, path), value) == 0 &&
           g_strcmp0(recorded_text_at(seen->before, path), value) != 0;
}

/* Both exist. */
static gboolean
was_changed(const RecordedSeen *seen, const char *path)
{
    const char *before = recorded_text_at(seen->before, path),
               *after = recorded_text_at(seen->after, path);

    return before != NULL && after != NULL && strcmp(before, after) != 0;
}

static void
add_named(
    Moments *self, const RecordedSeen *seen, const char *scope, const char *label, const char *what)
{
    moments_add(self, g_strdup_printf("%s %s %s", scope, label, what), seen->at);
}

static void
see_end(Moments *self, const RecordedSeen *seen, const char *scope, const char *label)
{
    if (appeared(seen, "metadata|deletionTimestamp") ||
        (seen->after == NULL &&
         recorded_text_at(seen->before, "metadata|deletionTimestamp") == NULL))
        add_named(self, seen, scope, label, "deleted");
    if (seen->after == NULL)
        add_named(self, seen, scope, label, "gone");
}

static void
recorded_see_claim(Moments *self, const RecordedSeen *seen)
{
    double asked_at;

    if (seen->before == NULL) {
        add_named(self, seen, "claim", seen->name, "created");
        moments_add_pair(self, NULL, seen->name);
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
    if (seen->before != NULL && (was_changed(seen, "spec|volumeAttributesClassName") ||
                                 appeared(seen, "spec|volumeAttributesClassName")))
        add_named(self, seen, "claim", seen->name, "class-asked");
    g_autofree char *asked = g_strdup_printf("claim %s class-asked", seen->name);
    if (moments_find(self, asked, &asked_at) &&
        (was_changed(seen, "status|currentVolumeAttributesClassName") ||
         appeared(seen, "status|currentVolumeAttributesClassName")))
        add_named(self, seen, "claim", seen->name, "class-shown");
    see_end(self, seen, "claim", seen->name);
}

static void
label_volume(Moments *self, const char *name, const json_t *volume)
{
    const char *handle = recorded_text_at(volume, "spec|csi|volumeHandle");

    moments_label(self, name, recorded_text_at(volume, "spec|claimRef|name"));
    if (handle != NULL)
        moments_label(self, handle, recorded_text_at(volume, "spec|claimRef|name"));
}

static void
recorded_see_volume(Moments *self, const RecordedSeen *seen)
{
    label_volume(self, seen->name, seen->after);
    const char *label = moments_label_of(self, seen->name);

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

    json_array_foreach((json_t *)conditions, i, condition)
        if (g_strcmp0(recorded_text_at(condition, "type"), "Ready") == 0)
            return g_strcmp0(recorded_text_at(condition, "status"), "True") == 0;
    return FALSE;
}

static void
pair_pod(Moments *self, const RecordedSeen *seen)
{
    const json_t *volumes = json_object_get(json_object_get(seen->after, "spec"), "volumes");
    size_t i;
    json_t *volume;

    json_array_foreach((json_t *)volumes, i, volume) {
        const char *claim = recorded_text_at(volume, "persistentVolumeClaim|claimName");
        if (claim != NULL)
            moments_add_pair(self, moments_label_of(self, seen->name), claim);
    }
}

static void
recorded_see_pod(Moments *self, const RecordedSeen *seen)
{
    moments_label_pod(self, seen->name,
                      recorded_text_at(seen->after, "metadata|labels|pod-template-hash"));
    const char *label = moments_label_of(self, seen->name);

    if (seen->before == NULL) {
        add_named(self, seen, "pod", label, "created");
        pair_pod(self, seen);
    }
    if (appeared(seen, "spec|nodeName"))
        add_named(self, seen, "pod", label, "scheduled");
    if (is_ready(seen->after) && !is_ready(seen->before))
        add_named(self, seen, "pod", label, "ready");
    see_end(self, seen, "pod", label);
}

static void
recorded_see_attachment(Moments *self, const RecordedSeen *seen)
{
    const json_t *any = seen->after != NULL ? seen->after : seen->before;
    const char *label =
        moments_label_of(self, recorded_text_at(any, "spec|source|persistentVolumeName"));
    moments_label(self, seen->name, label);
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

/* Returns: the volume of "kubernetes.io/csi/<driver>^<handle>"; for dynamic volumes the handle is
 * the name */
static const char *
volume_of_unique_name(const Moments *self, const char *name)
{
    const char *caret = name == NULL ? NULL : strchr(name, '^');

    return caret == NULL || !g_str_has_prefix(name, CSI_PREFIX) ? NULL
                                                                : moments_label_of(self, caret + 1);
}

static gboolean
recorded_list_has(const json_t *list, const char *name)
{
    size_t i;
    json_t *item;

    json_array_foreach((json_t *)list, i, item) {
        const char *text =
            json_is_string(item) ? json_string_value(item) : recorded_text_at(item, "name");
        if (g_strcmp0(text, name) == 0)
            return TRUE;
    }
    return FALSE;
}

static void
see_list(Moments *self,
         const RecordedSeen *seen,
         const char *field,
         const json_t *has,
         const json_t *has_not,
         const char *what)
{
    const json_t *list = json_object_get(json_object_get(has, "status"), field);
    const json_t *other = json_object_get(json_object_get(has_not, "status"), field);
    size_t i;
    json_t *item;

    json_array_foreach((json_t *)list, i, item) {
        const char *text =
            json_is_string(item) ? json_string_value(item) : recorded_text_at(item, "name");
        const char *label = volume_of_unique_name(self, text);
        if (label != NULL && !recorded_list_has(other, text))
            add_named(self, seen, "volume", label, what);
    }
}

static void
recorded_see_node(Moments *self, const RecordedSeen *seen)
{
    if (seen->before == NULL || seen->after == NULL)
        return;
    see_list(self, seen, "volumesInUse", seen->after, seen->before, "reported-in-use");
    see_list(self, seen, "volumesInUse", seen->before, seen->after, "reported-not-in-use");
    see_list(self, seen, "volumesAttached", seen->after, seen->before, "reported-attached");
    see_list(self, seen, "volumesAttached", seen->before, seen->after, "reported-detached");
}

static void
recorded_see_event(Moments *self, const RecordedSeen *seen)
{
    const char *source = recorded_text_at(seen->after, "reportingController");

    if (seen->after == NULL)
        return;
    if (seen->before == NULL && source != NULL)
        moments_add_event(self, source, seen->at);
    if (moments_is_about_images(recorded_text_at(seen->after, "reason")))
        return;
    const json_t *involved = json_object_get(seen->after, "involvedObject");
    g_autofree char *words = g_strdup_printf("%s %s \"%s\"", recorded_text_at(seen->after, "type"),
                                             recorded_text_at(seen->after, "reason"),
                                             recorded_text_at(seen->after, "message"));
    const char *name = recorded_text_at(involved, "name"); /* snapshot-controller forgets some */
    moments_add_said(self, seen->name, recorded_text_at(involved, "kind"), name == NULL ? "" : name,
                     words);
}

static gboolean
became_ready(const RecordedSeen *seen)
{
    return json_is_true(json_object_get(json_object_get(seen->after, "status"), "readyToUse")) &&
           !json_is_true(json_object_get(json_object_get(seen->before, "status"), "readyToUse"));
}

static void
see_snapshot(Moments *self, const RecordedSeen *seen)
{
    if (seen->before == NULL) {
        add_named(self, seen, "snapshot", seen->name, "created");
        moments_add_snapshot(self, seen->name);
    }
    if (became_ready(seen))
        add_named(self, seen, "snapshot", seen->name, "ready");
    see_end(self, seen, "snapshot", seen->name);
}

/* The snapshot that a content is for; its request has the name "snapshot-<uid>". */
static void
label_content(Moments *self, const char *name, const json_t *content)
{
    const char *snapshot = recorded_text_at(content, "spec|volumeSnapshotRef|name");
    const char *uid = recorded_text_at(content, "spec|volumeSnapshotRef|uid");
    const char *handle = recorded_text_at(content, "status|snapshotHandle");
    const char *given = recorded_text_at(content, "spec|source|snapshotHandle");

    moments_label(self, name, snapshot);
    if (handle != NULL || given != NULL)
        moments_label(self, handle != NULL ? handle : given, snapshot);
    if (uid == NULL)
        return;
    g_autofree char *asked = g_strconcat("snapshot-", uid, NULL);
    moments_label(self, asked, snapshot);
}

static void
see_content(Moments *self, const RecordedSeen *seen)
{
    label_content(self, seen->name, seen->after);
    const char *label = moments_label_of(self, seen->name);

    if (seen->before == NULL)
        add_named(self, seen, "content", label, "created");
    if (became_ready(seen))
        add_named(self, seen, "content", label, "ready");
    see_end(self, seen, "content", label);
}

static const struct {
    const char *kind;
    void (*see)(Moments *self, const RecordedSeen *seen);
} kinds_seen[] = {
    {"Event",                 recorded_see_event     },
    {"PersistentVolumeClaim", recorded_see_claim     },
    {"PersistentVolume",      recorded_see_volume    },
    {"Pod",                   recorded_see_pod       },
    {"VolumeAttachment",      recorded_see_attachment},
    {"Node",                  recorded_see_node      },
    {"VolumeSnapshot",        see_snapshot           },
    {"VolumeSnapshotContent", see_content            },
};

/* A run being read. */
typedef struct {
    Moments *moments;
    GHashTable *known; /* "kind/name" -> json_t: what a watching client saw last */
} RecordedReading;

/* What was there before has no moments, but perhaps a drawn name. */
static void
see_initial(Moments *self, const char *kind, const char *name, const json_t *object)
{
    if (strcmp(kind, "PersistentVolume") == 0)
        label_volume(self, name, object);
    else if (strcmp(kind, "VolumeSnapshotContent") == 0)
        label_content(self, name, object);
}

static void
read_watch_line(void *data, json_t *line)
{
    const RecordedReading *self = data;
    const char *kind = recorded_text_at(line, "kind"), *name = recorded_text_at(line, "name");
    gboolean is_deleted = g_strcmp0(recorded_text_at(line, "type"), "DELETED") == 0;
    g_autofree char *key = g_strdup_printf("%s/%s", kind, name);
    json_t *object = json_object_get(line, "object");
    json_t *before = g_hash_table_lookup(self->known, key);
    RecordedSeen seen = {before, is_deleted ? NULL : object, name,
                         json_number_value(json_object_get(line, "t"))};

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds_seen); i++) {
        if (g_strcmp0(kinds_seen[i].kind, kind) != 0)
            continue;
        if (json_is_true(json_object_get(line, "initial")))
            see_initial(self->moments, kind, name, object);
        else
            kinds_seen[i].see(self->moments, &seen);
        if (is_deleted)
            g_hash_table_remove(self->known, key);
        else
            g_hash_table_insert(self->known, g_steal_pointer(&key), json_incref(object));
        return;
    }
}

static void
json_unref(void *json)
{
    json_decref(json);
}

/* The snapshot of a call: the recorder's field, or what is asked for. */
static const char *
snapshot_of_call(const json_t *line)
{
    const char *asked = recorded_text_at(line, "request|name");

    if (asked != NULL)
        return asked;
    asked = recorded_text_at(line, "request|snapshotId");
    return asked != NULL ? asked : recorded_text_at(line, "snapshot");
}

static void
read_call_line(void *data, json_t *line)
{
    Moments *self = ((const RecordedReading *)data)->moments;
    const char *method = recorded_text_at(line, "method");
    const CallSeen *call = moments_call(method);
    gboolean is_ok = g_strcmp0(recorded_text_at(line, "code"), "OK") == 0;
    double at = json_number_value(json_object_get(line, "t"));

    if (call == NULL)
        return;
    const char *scope = call->scope != NULL ? call->scope : "volume";
    const char *of =
        call->scope != NULL ? snapshot_of_call(line) : recorded_text_at(line, "volume");
    if (of == NULL)
        return;
    const char *label = moments_label_of(self, of);
    moments_add(self, g_strdup_printf("%s %s %s", scope, label, call->started), at);
    if (is_ok)
        moments_add(self, g_strdup_printf("%s %s %s", scope, label, call->ended),
                    json_number_value(json_object_get(line, "t_end")));
    char *what =
        g_strdup_printf("call %s %s", method, moments_code(recorded_text_at(line, "code")));
    moments_add_step(self, scope, label, what, at);
    moments_count_one(self, what);
}

/* The clients of a recording that stand for one in a simulated run: kubectl is a user's client,
 * too; and each node has a kubelet. */
static const char *
client_in_common(const char *client)
{
    if (g_str_has_prefix(client, "kubelet/"))
        return "kubelet";
    if (g_str_has_prefix(client, "csi-provisioner") ||
        g_str_has_prefix(client, "external-provisioner"))
        return "csi-provisioner";
    return strcmp(client, "kubectl") == 0 ? "lab" : client;
}

static void
read_request_line(void *data, json_t *line)
{
    Moments *self = ((const RecordedReading *)data)->moments;
    const char *from = recorded_text_at(line, "client"),
               *client = client_in_common(from == NULL ? "" : from);
    const char *given = recorded_text_at(line, "subresource"),
               *subresource = given == NULL ? "" : given;
    int code = (int)json_integer_value(json_object_get(line, "code"));

    char *what =
        g_strdup_printf("%s %s %s%s%s %d", client, recorded_text_at(line, "verb"),
                        recorded_text_at(line, "resource"), subresource[0] == '\0' ? "" : "/",
                        subresource, code == 201 ? 200 : code);
    double at = json_number_value(json_object_get(line, "t"));

    const char *scope = moments_scope(recorded_text_at(line, "resource"));
    if (scope != NULL && recorded_text_at(line, "name") != NULL)
        moments_add_step(self, scope, moments_label_of(self, recorded_text_at(line, "name")), what,
                         at);
    moments_add_request(self, what, at);
}

Moments *
recorded_moments(const char *folder, const GoldenWords *words, GError **error)
{
    g_autoptr(Moments) self = moments_new();
    g_autoptr(GHashTable) known =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, json_unref);
    RecordedReading reading = {self, known};

    if (!packed_lines(folder, "watch.jsonl", NULL, read_watch_line, &reading, error) ||
        !packed_lines(folder, "csi.jsonl", NULL, read_call_line, &reading, error) ||
        !packed_lines(folder, "api.jsonl", NULL, read_request_line, &reading, error))
        return NULL;
    moments_count_said(self, words);
    return g_steal_pointer(&self);
}
