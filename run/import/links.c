/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what a cluster printed; nothing of a run comes here */
/* Links between recorded objects that the log does not tell: the claim of a volume, and the volume
 * of an attachment. An attachment's name is a checksum of handle, driver and node, so it is
 * computed for the volumes of the dumps, up to a number of pairs; else the volume is one of the
 * last pod that came to the node before, by names that contain the pod's. */
#include "links.h"

#include <string.h>

#include "models/api/fields.h"
#include "sim/append.h"
#include "sim/order.h"

/* Pairs of a volume and a node whose attachment's name is computed; more would take seconds. */
#define PAIRS_MAX 500000

typedef struct {
    Recorded *recorded;
    const GPtrArray *objects; /* of RecordedObject */
    const Writes *writes;
    const GPtrArray *dumps;
    GHashTable *claims;     /* volume -> "namespace/name" */
    GHashTable *pods;       /* node -> GPtrArray of RecordedObject: its pods, by time */
    GHashTable *spaces;     /* namespace -> GPtrArray of RecordedObject: its claims */
    GHashTable *attachable; /* volumes that an external-attacher has changed */
    GHashTable *attached;   /* "node volume" -> RecordedObject: the last attachment */
} Links;

static const char *
links_text_at(const json_t *object, const char *section, const char *key)
{
    return json_string_value(json_object_get(json_object_get(object, section), key));
}

static void
links_append(GHashTable *table, const char *key, RecordedObject *object)
{
    GPtrArray *list = g_hash_table_lookup(table, key);

    if (list == NULL) {
        list = g_ptr_array_new();
        g_hash_table_insert(table, (char *)key, list);
    }
    g_ptr_array_add(list, object);
}

static const char *
claim_text(Links *self, const char *namespace, const char *name)
{
    g_autofree char *text = g_strdup_printf("%s/%s", namespace, name);

    return recorded_text(self->recorded, text);
}

/* ---- Claims of volumes ---- */

static void
see_dumped_volumes(Links *self)
{
    const json_t *volume;

    for (unsigned i = 0; i < self->dumps->len; i++)
        for (guint k = 0;
             (volume = dump_next(self->dumps->pdata[i], "PersistentVolume", &k)) != NULL;) {
            const json_t *ref = json_object_get(json_object_get(volume, "spec"), "claimRef");
            const char *name = json_path_string(ref, "name");
            const char *namespace = json_path_string(ref, "namespace");
            if (name != NULL && namespace != NULL)
                g_hash_table_insert(
                    self->claims, (char *)recorded_text(self->recorded, dump_meta(volume, "name")),
                    (char *)claim_text(self, namespace, name));
        }
}

static void
see_objects(Links *self)
{
    for (unsigned i = 0; i < self->objects->len; i++) {
        RecordedObject *object = self->objects->pdata[i];
        if (object->kind == RECORDED_CLAIM) {
            links_append(self->spaces, object->namespace, object);
            if (object->volume != NULL)
                g_hash_table_insert(self->claims, (char *)object->volume,
                                    (char *)claim_text(self, object->namespace, object->name));
        } else if (object->kind == RECORDED_VOLUME && object->claim != NULL) {
            g_hash_table_insert(self->claims, (char *)object->name, (char *)object->claim);
        } else if (object->kind == RECORDED_POD && object->node != NULL) {
            links_append(self->pods, object->node, object);
        }
    }
}

/* ---- Volumes of attachments ---- */

/* The attach/detach controller names an attachment after the handle, the driver and the node. */
static char *
attachment_name(const json_t *volume, const char *node)
{
    const json_t *csi = json_object_get(json_object_get(volume, "spec"), "csi");
    const char *handle = json_path_string(csi, "volumeHandle");
    const char *driver = json_path_string(csi, "driver");

    if (handle == NULL || driver == NULL)
        return NULL;
    g_autofree char *text = g_strconcat(handle, driver, node, NULL);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    return g_strconcat("csi-", sum, NULL);
}

/* The volume and the node by the attachment's name, if a dump has the volume. */
static void
compute_names(Links *self)
{
    g_autoptr(GHashTable) unknown = g_hash_table_new(g_str_hash, g_str_equal);
    const json_t *volume, *node;
    unsigned n_pairs = 0;

    for (unsigned i = 0; i < self->objects->len; i++) {
        RecordedObject *object = self->objects->pdata[i];
        if (object->kind == RECORDED_ATTACHMENT && object->volume == NULL)
            links_append(unknown, object->name, object);
    }
    for (unsigned i = 0; i < self->dumps->len && g_hash_table_size(unknown) > 0; i++)
        for (guint k = 0;
             (volume = dump_next(self->dumps->pdata[i], "PersistentVolume", &k)) != NULL;)
            for (guint n = 0; n_pairs++ < PAIRS_MAX &&
                              (node = dump_next(self->dumps->pdata[i], "Node", &n)) != NULL;) {
                const char *node_name = dump_meta(node, "name");
                g_autofree char *name = attachment_name(volume, node_name);
                GPtrArray *found = name != NULL ? g_hash_table_lookup(unknown, name) : NULL;
                for (unsigned f = 0; found != NULL && f < found->len; f++) {
                    RecordedObject *object = found->pdata[f];
                    object->volume = recorded_text(self->recorded, dump_meta(volume, "name"));
                    object->node = recorded_text(self->recorded, node_name);
                }
            }
    GHashTableIter all;
    void *list;
    g_hash_table_iter_init(&all, unknown); /* only freed: the order does not matter */
    while (g_hash_table_iter_next(&all, NULL, &list))
        g_ptr_array_unref(list);
}

static gboolean
lives_at(const RecordedObject *object, SimTime at)
{
    SimTime gone = object->at[RECORDED_GONE], created = object->at[RECORDED_CREATED];

    return (created == TIME_UNSET || created <= at) && (gone == TIME_UNSET || gone > at);
}

/* Whether a pod may use the claim. Without its volumes the names tell: claims of StatefulSets and
 * of ephemeral volumes have the name of their pod in theirs. */
static gboolean
uses(const RecordedObject *pod, const RecordedObject *claim)
{
    if (pod->claims != NULL)
        return g_strv_contains(pod->claims, claim->name);
    g_autofree char *suffix = g_strconcat("-", pod->name, NULL);
    g_autofree char *prefix = g_strconcat(pod->name, "-", NULL);
    return g_str_equal(claim->name, pod->name) || g_str_has_suffix(claim->name, suffix) ||
           g_str_has_prefix(claim->name, prefix);
}

static gboolean
is_free(Links *self, const RecordedObject *attachment, const char *volume)
{
    g_autofree char *key = g_strdup_printf("%s %s", attachment->node, volume);
    const RecordedObject *other = g_hash_table_lookup(self->attached, key);
    SimTime end = other == NULL ? 0 : other->at[RECORDED_DETACHED];

    return g_hash_table_contains(self->attachable, volume) &&
           (other == NULL ||
            (end != TIME_UNSET && end <= attachment->at[RECORDED_ATTACH_REQUESTED]));
}

static const char *
volume_of_pod(Links *self, const RecordedObject *pod, const RecordedObject *attachment)
{
    const GPtrArray *claims = g_hash_table_lookup(self->spaces, pod->namespace);
    SimTime at = attachment->at[RECORDED_ATTACH_REQUESTED];

    for (unsigned i = 0; claims != NULL && i < claims->len; i++) {
        const RecordedObject *claim = claims->pdata[i];
        if (claim->volume != NULL && lives_at(claim, at) && uses(pod, claim) &&
            is_free(self, attachment, claim->volume))
            return claim->volume;
    }
    return NULL;
}

/* A volume of the pod that came to the node last before. */
static void
guess_volume(Links *self, RecordedObject *attachment)
{
    const GPtrArray *pods =
        attachment->node != NULL ? g_hash_table_lookup(self->pods, attachment->node) : NULL;
    SimTime at = attachment->at[RECORDED_ATTACH_REQUESTED];
    const RecordedObject *best = NULL;
    const char *volume;

    for (unsigned i = 0; pods != NULL && i < pods->len; i++) {
        const RecordedObject *pod = pods->pdata[i];
        SimTime scheduled = pod->at[RECORDED_SCHEDULED];
        if (scheduled == TIME_UNSET || scheduled > at || !lives_at(pod, at) ||
            (best != NULL && best->at[RECORDED_SCHEDULED] > scheduled) ||
            (volume = volume_of_pod(self, pod, attachment)) == NULL)
            continue;
        best = pod;
        attachment->volume = volume;
    }
}

static int
compare_requests(const void *a, const void *b)
{
    SimTime first = (*(RecordedObject *const *)a)->at[RECORDED_ATTACH_REQUESTED];
    SimTime second = (*(RecordedObject *const *)b)->at[RECORDED_ATTACH_REQUESTED];

    return ORDER(first, second);
}

static void
link_attachments(Links *self)
{
    g_autoptr(GPtrArray) attachments = g_ptr_array_new();
    unsigned n_unknown = 0;

    for (unsigned i = 0; i < self->objects->len; i++) {
        RecordedObject *object = self->objects->pdata[i];
        if (object->kind == RECORDED_ATTACHMENT)
            g_ptr_array_add(attachments, object);
    }
    g_ptr_array_sort(attachments, compare_requests);
    for (unsigned i = 0; i < attachments->len; i++) {
        RecordedObject *object = attachments->pdata[i];
        if (object->volume == NULL && object->at[RECORDED_ATTACH_REQUESTED] != TIME_UNSET)
            guess_volume(self, object);
        n_unknown += object->volume == NULL;
        if (object->volume == NULL || object->node == NULL)
            continue;
        g_autofree char *key = g_strdup_printf("%s %s", object->node, object->volume);
        g_hash_table_insert(self->attached, g_steal_pointer(&key), object);
    }
    if (n_unknown == 0)
        return;
    g_autofree char *text =
        g_strdup_printf("the volumes of %u attachment%s", n_unknown, plural(n_unknown));
    recorded_miss(self->recorded, text);
}

/* ---- All ---- */

static void
free_list(void *list)
{
    g_ptr_array_unref(list);
}

static void
see_attachable(Links *self)
{
    for (unsigned i = 0; i < self->writes->writes->len; i++) {
        const RecordedWrite *write = self->writes->writes->pdata[i];
        if (write_kind_recorded(write->kind) == RECORDED_VOLUME && write->name != NULL &&
            g_str_equal(write->sender->name, "external-attacher"))
            g_hash_table_add(self->attachable, (char *)write->name);
    }
    for (unsigned i = 0; i < self->dumps->len; i++) {
        const json_t *attachment;
        for (guint k = 0;
             (attachment = dump_next(self->dumps->pdata[i], "VolumeAttachment", &k)) != NULL;) {
            const char *volume = links_text_at(json_object_get(attachment, "spec"), "source",
                                               "persistentVolumeName");
            if (volume != NULL)
                g_hash_table_add(self->attachable, (char *)volume);
        }
    }
}

void
recording_link(Recorded *recorded, const Writes *writes, const GPtrArray *dumps)
{
    Links self = {
        .recorded = recorded,
        .objects = recorded_objects(recorded),
        .writes = writes,
        .dumps = dumps,
        .claims = g_hash_table_new(g_str_hash, g_str_equal),
        .pods = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_list),
        .spaces = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_list),
        .attachable = g_hash_table_new(g_str_hash, g_str_equal),
        .attached = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
    };

    see_dumped_volumes(&self);
    see_objects(&self);
    see_attachable(&self);
    compute_names(&self);
    link_attachments(&self);
    for (unsigned i = 0; i < self.objects->len; i++) {
        RecordedObject *object = self.objects->pdata[i];
        const char *volume = object->kind == RECORDED_VOLUME       ? object->name
                             : object->kind == RECORDED_ATTACHMENT ? object->volume
                                                                   : NULL;
        if (volume != NULL && object->claim == NULL)
            object->claim = g_hash_table_lookup(self.claims, volume);
    }
    g_hash_table_unref(self.claims);
    g_hash_table_unref(self.pods);
    g_hash_table_unref(self.spaces);
    g_hash_table_unref(self.attachable);
    g_hash_table_unref(self.attached);
}
