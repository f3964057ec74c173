/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes of a real kubectl 1.32, recorded between it and a real API server: creates, patches of all
 * types, server-side apply after client-side apply. What they make of the stored object, and of its
 * managedFields, equals the server's answer. A line of the file is one write: method, content type,
 * manager, the object before (null: a create), the body, the answer. */
#include <string.h>

#include "models/api/patch/patch.h"
#include "run/files/packed.h"
#include "serve/api/apply/defaults.h"
#include "serve/api/apply/managed-fields.h"
#include "tests/lib/test.h"

static const char *
recorded_writes_text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Removes what the server counts itself. */
static void
strip(json_t *object)
{
    json_t *meta = json_object_get(object, "metadata"), *entry;
    gsize i;

    json_object_del(meta, "resourceVersion");
    json_object_del(meta, "generation");
    json_array_foreach(json_object_get(meta, "managedFields"), i, entry) {
        json_object_del(entry, "time");
    }
    patch_drop_nulls(object);
}

/* When the server carried out the write: the latest time of all managers. */
static const char *
time_of_write(const json_t *row)
{
    const json_t *meta = json_object_get(json_object_get(row, "after"), "metadata");
    const char *time = "2026-11-22T16:00:00Z";
    json_t *entry;
    gsize i;

    json_array_foreach(json_object_get(meta, "managedFields"), i, entry) {
        if (g_strcmp0(recorded_writes_text_of(entry, "time"), time) > 0 &&
            recorded_writes_text_of(entry, "subresource") == NULL)
            time = recorded_writes_text_of(entry, "time");
    }
    return time;
}

/* Of a created object: what admission and the server itself added to it. */
static void
remove_admitted(json_t *object)
{
    static const char *const admitted[] = {
        "tolerations", "priority",   "preemptionPolicy", "serviceAccount", "serviceAccountName",
        "clusterIP",   "clusterIPs", "ipFamilies",       "ipFamilyPolicy"};
    static const char *const made[] = {"finalizers", "uid", "creationTimestamp",
                                       "namespace" /* of the path */};

    for (gsize i = 0; i < G_N_ELEMENTS(made); i++)
        json_object_del(json_object_get(object, "metadata"), made[i]);
    for (gsize i = 0; i < G_N_ELEMENTS(admitted); i++)
        json_object_del(json_object_get(object, "spec"), admitted[i]);
    json_object_del(object, "status");
}

/* Returns: (owned): the object that the write stores */
static json_t *
recorded_writes_carry_out(const json_t *row, const SchemaType *type, GError **error)
{
    const json_t *live = json_object_get(row, "live"), *body = json_object_get(row, "body");
    const char *content = recorded_writes_text_of(row, "type"),
               *manager = recorded_writes_text_of(row, "manager");
    g_autofree char *agent = manager_of_user_agent(recorded_writes_text_of(row, "agent"));
    FieldWriter writer = {.manager = manager != NULL ? manager : agent,
                          .time = time_of_write(row),
                          .has_status = schema_field(type, "status") != NULL};
    GPtrArray *conflicts = NULL;
    json_t *patched;

    if (!json_is_object(live))
        live = NULL;
    if (strcmp(content, "application/apply-patch+yaml") == 0) {
        patched =
            managed_fields_apply(live, body, type, &writer,
                                 json_is_true(json_object_get(row, "force")), &conflicts, error);
        defaults_set(patched, type);
        return patched;
    }
    if (strcmp(content, "application/json-patch+json") == 0)
        patched = json_patch_apply(live, body, error);
    else if (strcmp(content, "application/merge-patch+json") == 0)
        patched = merge_patch_apply(live, body, error);
    else if (strcmp(content, "application/strategic-merge-patch+json") == 0)
        patched = strategic_merge_apply(live, body, type, error);
    else
        patched = json_deep_copy(body);
    if (patched == NULL)
        return NULL;
    defaults_set(patched, type);
    json_t *stored = managed_fields_update(live, patched, type, &writer);
    json_decref(patched);
    return stored;
}

static void
check_row(const json_t *row)
{
    const json_t *after = json_object_get(row, "after");
    const SchemaType *type = schema_find(recorded_writes_text_of(after, "apiVersion"),
                                         recorded_writes_text_of(after, "kind"));
    g_autoptr(GError) error = NULL;
    json_t *stored = recorded_writes_carry_out(row, type, &error), *wanted = json_deep_copy(after);

    if (stored == NULL)
        fail_msg("%s %s: %s", recorded_writes_text_of(row, "label"),
                 recorded_writes_text_of(row, "uri"), error->message);
    gboolean is_create = !json_is_object(json_object_get(row, "live"));

    strip(stored);
    strip(wanted);
    if (is_create) {
        remove_admitted(stored);
        remove_admitted(wanted);
    }
    if (!json_equal(stored, wanted)) {
        g_autofree char *ours = json_dumps(stored, JSON_SORT_KEYS);
        g_autofree char *real = json_dumps(wanted, JSON_SORT_KEYS);
        g_printerr("OURS %s\nREAL %s\n", ours, real); /* cmocka cuts long messages */
        fail_msg("%s %s", recorded_writes_text_of(row, "label"),
                 recorded_writes_text_of(row, "uri"));
    }
    json_decref(stored);
    json_decref(wanted);
}

TEST(recorded_writes_give_the_recorded_answers)
{
    g_autofree char *path = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "serve",
                                             "recorded-writes.jsonl.xz", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;

    if (!packed_get_contents(path, &text, NULL, &error))
        fail_msg("%s", error->message);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; **line != '\0'; line++) {
        json_t *row = json_loads(*line, 0, NULL);

        check_row(row);
        json_decref(row);
    }
}
