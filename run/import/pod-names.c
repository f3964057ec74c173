/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "writes.h"

/* A log without bodies has no name of a pod whose controller left the choice to the API server. The
 * scheduler is the next to name it: it takes the pods of a namespace in the order of their
 * creation, so names are given out in that order. */

typedef struct {
    GHashTable *seen;   /* "namespace/name" of pods that were named */
    GHashTable *queues; /* namespace -> GQueue of RecordedWrite (borrowed) without a name */
    Strings *strings;
} PodNames;

static GQueue *
queue_of(PodNames *self, const char *namespace)
{
    GQueue *queue = g_hash_table_lookup(self->queues, namespace);

    if (queue == NULL) {
        queue = g_queue_new();
        g_hash_table_insert(self->queues, (char *)namespace, queue);
    }
    return queue;
}

/* The API server appends five letters. */
static gboolean
pod_names_is_drawn(const char *name)
{
    const char *dash = strrchr(name, '-');

    return dash != NULL && strlen(dash) == 6;
}

static void
pod_names_see_pod(PodNames *self, RecordedWrite *write)
{
    gboolean creates = g_str_equal(write->verb, "create") && *write->subresource == '\0';
    gboolean is_scheduling = g_str_equal(write->sender->name, "kube-scheduler");

    if (write->namespace == NULL)
        return;
    if (write->name == NULL) {
        if (creates)
            g_queue_push_tail(queue_of(self, write->namespace), write);
        return;
    }
    const char *key = strings_internf(self->strings, "%s/%s", write->namespace, write->name);
    if (!g_hash_table_add(self->seen, (char *)key) || !is_scheduling ||
        !pod_names_is_drawn(write->name))
        return;
    RecordedWrite *created = g_queue_pop_head(queue_of(self, write->namespace));
    if (created != NULL) {
        created->name = write->name;
        created->uid = write->uid;
    }
}

void
writes_name_pods(Writes *self)
{
    PodNames names = {
        .seen = g_hash_table_new(g_direct_hash, g_direct_equal), /* interned */
        .queues =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_queue_free),
        .strings = self->strings,
    };

    for (unsigned i = 0; i < self->writes->len; i++) {
        RecordedWrite *write = self->writes->pdata[i];
        if (write->kind->model == KIND_POD && write->code < 400)
            pod_names_see_pod(&names, write);
    }
    g_hash_table_unref(names.seen);
    g_hash_table_unref(names.queues);
}
