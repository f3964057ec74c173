/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "as-printed.h"

#include <glib.h>
#include <string.h>

static const char *const not_dumped[] = {"ControllerRevision", "Lease", NULL};

static const char *
as_printed_text_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- Hashes ---- */

/* Another hash than kvolsim's own for each revision and template. */
static void
find_hashes(json_t *list, GHashTable *hashes)
{
    json_t *object;
    gsize i;

    json_array_foreach(list, i, object) {
        json_t *metadata = json_object_get(object, "metadata");
        const char *kind = as_printed_text_of(object, "kind");
        const char *name = as_printed_text_of(metadata, "name");
        if (g_strcmp0(kind, "ControllerRevision") == 0 || g_strcmp0(kind, "ReplicaSet") == 0) {
            const char *hash = strrchr(name, '-') + 1;
            g_hash_table_insert(hashes, g_strdup(hash), g_strreverse(g_strdup(hash)));
        }
    }
}

static char *
replace_all(const char *text, const char *from, const char *to)
{
    g_auto(GStrv) parts = g_strsplit(text, from, -1);

    return g_strjoinv(to, parts);
}

/* Takes @list. Returns: (owned) */
static json_t *
with_other_hashes(json_t *list)
{
    g_autoptr(GHashTable) hashes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter i;
    void *from, *to;
    char *text = json_dumps(list, JSON_COMPACT), *copy = g_strdup(text);

    free(text);
    find_hashes(list, hashes);
    json_decref(list);
    g_hash_table_iter_init(&i, hashes);
    while (g_hash_table_iter_next(&i, &from, &to)) {
        char *next = replace_all(copy, from, to);
        g_free(copy);
        copy = next;
    }
    list = json_loads(copy, 0, NULL);
    g_free(copy);
    return list;
}

/* ---- Fields ---- */

static void
complete_containers(json_t *spec)
{
    json_t *container;
    gsize i;

    json_array_foreach(json_object_get(spec, "containers"), i, container) {
        json_object_set_new(container, "imagePullPolicy", json_string("IfNotPresent"));
        json_object_set_new(container, "terminationMessagePath",
                            json_string("/dev/termination-log"));
        json_object_set_new(container, "terminationMessagePolicy", json_string("File"));
        if (json_object_get(container, "resources") == NULL)
            json_object_set_new(container, "resources", json_object());
    }
}

static void
complete_statuses(json_t *status)
{
    json_t *container;
    gsize i;

    json_array_foreach(json_object_get(status, "containerStatuses"), i, container) {
        json_object_set_new(container, "containerID", json_string("containerd://0f1e"));
        json_object_set_new(container, "imageID", json_string("big.example/image@sha256:0f1e"));
        json_object_set_new(container, "lastState", json_object());
        json_object_set_new(container, "started", json_true());
    }
}

/* Nodes have four conditions with heartbeats. */
static void
complete_conditions(json_t *status, const char *now)
{
    static const char *const troubles[] = {"MemoryPressure", "DiskPressure", "PIDPressure"};
    json_t *conditions = json_object_get(status, "conditions"), *condition;
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(troubles); i++)
        json_array_insert_new(conditions, i,
                              json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", troubles[i], "status",
                                        "False", "reason", "KubeletHasSufficient", "message",
                                        "kubelet has sufficient", "lastTransitionTime", now));
    json_array_foreach(conditions, i, condition)
        json_object_set_new(condition, "lastHeartbeatTime", json_string(now));
}

static void
add_managed_fields(json_t *metadata, const char *manager, const char *subresource)
{
    json_t *fields = json_object_get(metadata, "managedFields");

    if (fields == NULL) {
        fields = json_array();
        json_object_set_new(metadata, "managedFields", fields);
    }
    json_t *entry =
        json_pack("{s:s, s:s, s:{s:{s:{s:{}, s:{}}}}, s:s, s:s, s:O*}", "apiVersion", "v1",
                  "fieldsType", "FieldsV1", "fieldsV1", "f:metadata", "f:annotations", ".",
                  "f:pv.kubernetes.io/bind-completed", "manager", manager, "operation", "Update",
                  "time", json_object_get(metadata, "creationTimestamp"));
    if (subresource != NULL)
        json_object_set_new(entry, "subresource", json_string(subresource));
    json_array_append_new(fields, entry);
}

static void
as_printed_complete(json_t *object, json_t *more, const char *now)
{
    json_t *spec = json_object_get(object, "spec"), *status = json_object_get(object, "status");
    const char *kind = as_printed_text_of(object, "kind");

    if (json_object_get(more, kind) != NULL)
        g_assert(json_object_update_recursive(object, json_object_get(more, kind)) == 0);
    if (g_str_equal(kind, "Node"))
        complete_conditions(status, now);
    if (g_str_equal(kind, "Pod")) {
        complete_containers(spec);
        complete_statuses(status);
    }
    complete_containers(json_object_get(json_object_get(spec, "template"), "spec"));
    add_managed_fields(json_object_get(object, "metadata"), "kubectl-client-side-apply", NULL);
    add_managed_fields(json_object_get(object, "metadata"), "kube-controller-manager", "status");
}

json_t *
as_printed(json_t *list, json_t *more)
{
    json_t *items = with_other_hashes(json_incref(list)), *object;
    const char *now = "";
    gsize i;

    json_array_foreach(items, i, object) {
        const char *renewed = as_printed_text_of(json_object_get(object, "spec"), "renewTime");
        if (renewed != NULL && strcmp(renewed, now) > 0)
            now = renewed;
    }
    json_t *kept = json_array();
    json_array_foreach(items, i, object) {
        as_printed_complete(object, more, now);
        if (!g_strv_contains(not_dumped, as_printed_text_of(object, "kind")))
            json_array_append(kept, object);
    }
    json_decref(items);
    return json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "v1", "kind", "List", "metadata",
                     "resourceVersion", "", "items", kept);
}
