/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/snapshots/snapshot-case.h"

#include "models/api/fields.h"
#include "models/api/snapshot.h"
#include "models/client/process-private.h"

#include <string.h>

/* ---- The case's own form ---- */

#define DRIVERS_TIME "(time given by the driver)"

/* Lists of objects in a case. */
static const struct {
    const char *name;
    ObjectKind kind;
} lists[] = {
    {"snapshots",              KIND_VOLUME_SNAPSHOT },
    {"contents",               KIND_SNAPSHOT_CONTENT},
    {"snapshot_classes",       KIND_SNAPSHOT_CLASS  },
    {"group_snapshots",        KIND_GROUP_SNAPSHOT  },
    {"group_contents",         KIND_GROUP_CONTENT   },
    {"group_snapshot_classes", KIND_GROUP_CLASS     },
    {"claims",                 KIND_CLAIM           },
    {"volumes",                KIND_VOLUME          },
    {"secrets",                KIND_SECRET          },
};

/* The uid that an object with this uid in the case gets. */
static const char *
own_uid(Case *self, const char *uid, char *buffer)
{
    json_t *manifest = json_pack("{s:{s:s}}", "metadata", "uid", uid);
    const Object *object = case_object(self, manifest, KIND_SNAPSHOT_CONTENT);

    json_decref(manifest);
    return object_uid_format(object->uid, buffer);
}

/* Returns: (owned): NULL: it stays as it is */
static char *
adapt_name(Case *self, const char *text)
{
    /* Of contents, and of the driver's snapshots. */
    static const char *const prefixes[] = {"snapcontent-", "groupsnapcontent-", "snapshot-"};
    const char *slash = strchr(text, '/'), *name = slash == NULL ? text : slash + 1;
    g_autofree char *folder = g_strndup(text, (gsize)(name - text)); /* "contents/" */
    char uid[OBJECT_UID_BUFFER];

    for (unsigned i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        const char *rest = name + strlen(prefixes[i]);
        if (g_str_has_prefix(name, prefixes[i]) && rest[0] != '\0')
            return g_strconcat(folder, prefixes[i], own_uid(self, rest, uid), NULL);
    }
    return NULL;
}

/* Returns: (owned) */
static json_t *
adapt(Case *self, const json_t *value, const char *kind)
{
    const char *text = json_string_value(value), *key;
    json_t *adapted, *item;
    size_t i;

    if (text != NULL && strcmp(text, DRIVERS_TIME) == 0)
        return g_strcmp0(kind, "VolumeSnapshot") == 0 ? json_string("2020-01-01T00:00:00Z")
                                                      : json_integer(SNAPSHOT_CASE_TIME);
    if (text != NULL) {
        g_autofree char *name = adapt_name(self, text);
        return json_string(name == NULL ? text : name);
    }
    if (json_is_array(value)) {
        adapted = json_array();
        json_array_foreach(value, i, item)
            json_array_append_new(adapted, adapt(self, item, kind));
        return adapted;
    }
    if (!json_is_object(value))
        return json_deep_copy(value);
    if (json_is_string(json_object_get(value, "kind")))
        kind = json_string_value(json_object_get(value, "kind"));
    adapted = json_object();
    json_object_foreach((json_t *)value, key, item) /* only read */
    {
        json_object_set_new(adapted, key, adapt(self, item, kind));
    }
    return adapted;
}

SnapshotCase
snapshot_case_begin(Case *self)
{
    SnapshotCase begun = {self, self->json, adapt(self, self->json, NULL)};

    self->json = begun.adapted;
    return begun;
}

void
snapshot_case_end(SnapshotCase *snapshot_case)
{
    snapshot_case->self->json = snapshot_case->told;
    json_decref(snapshot_case->adapted);
}

/* ---- What it says ---- */

ObjectKey *
snapshot_case_subject(Case *self, const char *path)
{
    const char *text = case_string(self, path);
    const char *slash = text == NULL ? NULL : strchr(text, '/');

    for (unsigned i = 0; slash != NULL && i < G_N_ELEMENTS(lists); i++) {
        g_autofree char *list = g_strdup_printf("initial.%s", lists[i].name);
        if (strncmp(text, lists[i].name, (size_t)(slash - text)) != 0 ||
            lists[i].name[slash - text] != '\0')
            continue;
        ObjectKey *key = case_find_key(self, list, lists[i].kind, slash + 1);
        if (key != NULL)
            return key;
    }
    case_fail(self, "%s: no such object: %s", path, text == NULL ? "(none)" : text);
    return NULL;
}

/* ---- Before ---- */

/* inject.before_sync: somebody has deleted the object, of which the caches have not heard. */
static gboolean
is_deleted_before(Case *self, const ObjectKey *key)
{
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self, "inject.before_sync"), i, item) {
        if (g_strcmp0(json_path_string(item, "verb"), "delete") != 0 ||
            g_strcmp0(json_path_string(item, "where"), "api") != 0)
            case_fail(self, "unknown: inject.before_sync");
        if (g_strcmp0(json_path_string(item, "resource"), kind_class(key->kind)->resource) == 0 &&
            g_strcmp0(json_path_string(item, "name"), key->name) == 0)
            return TRUE;
    }
    return FALSE;
}

/* Empty values are not in the cases, though a status that is there and empty differs from none. A
 * patch of a field of the status tells that it was there. */
static gboolean
has_empty_status(Case *self, const Object *object)
{
    const json_t *write, *operation;
    size_t i, k;

    if (object_kind(object) != KIND_SNAPSHOT_CONTENT ||
        snapshot_content_has_status(SNAPSHOT_CONTENT_CONST(object)))
        return FALSE;
    json_array_foreach(case_get(self, "observed.writes"), i, write) {
        if (g_strcmp0(json_path_string(write, "name"), object_name(object)) != 0)
            continue;
        json_array_foreach(json_object_get(write, "patch"), k, operation) {
            const char *path = json_path_string(operation, "path");
            if (path != NULL && g_str_has_prefix(path, "/status/"))
                return TRUE;
        }
    }
    return FALSE;
}

void
snapshot_case_import(Case *self, const char *list, Process *process, ObjectStore *store)
{
    g_autofree char *path = g_strdup_printf("initial.%s", list);
    g_autoptr(GPtrArray) objects = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(lists) && objects == NULL; i++)
        if (strcmp(lists[i].name, list) == 0)
            objects = case_objects(self, path, lists[i].kind);
    g_assert(objects != NULL);
    for (unsigned i = 0; i < objects->len; i++) {
        Object *object = objects->pdata[i];
        const Object *stored = object;
        if (has_empty_status(self, object))
            SNAPSHOT_CONTENT(object)->readiness = SNAPSHOT_STATUS_EMPTY;
        if (!is_deleted_before(self, object->key)) {
            case_import_object(self, object, CASE_API);
            stored = api_server_get(self->api, object->key);
        }
        if (process != NULL)
            informer_put(process_informer(process, object_kind(object), NULL), stored);
        if (store != NULL)
            object_store_update(store, stored);
    }
}

/* ---- After ---- */

/* Takes away what differs without a meaning: the kind of a reference, which models do not keep; a
 * source's volume mode, which is Filesystem if it is missing; the times of snapshots. Returns:
 * @json
 */
static json_t *
comparable(json_t *json)
{
    json_t *spec = json_object_get(json, "spec"), *status = json_object_get(json, "status");
    static const char *const references[] = {"volumeSnapshotRef", "volumeGroupSnapshotRef"};

    for (unsigned i = 0; i < G_N_ELEMENTS(references); i++) {
        json_t *reference = json_object_get(spec, references[i]);
        json_object_del(reference, "apiVersion");
        json_object_del(reference, "kind");
        json_object_del(reference, "resourceVersion");
    }
    if (g_strcmp0(json_path_string(json, "spec.sourceVolumeMode"), "Filesystem") == 0)
        json_object_del(spec, "sourceVolumeMode");
    if (json_object_get(status, "creationTime") != NULL)
        json_object_set_new(status, "creationTime", json_true());
    return json;
}

/* @is: (owned) */
static void
snapshot_case_expect_object(Case *self, const Object *wanted, json_t *is)
{
    json_t *should = comparable(case_comparable(self, wanted));

    if (!object_uid_is_set(wanted->uid))
        json_object_del(json_object_get(is, "metadata"), "uid");
    case_expect_json(self, wanted->key->text, should, comparable(is));
    json_decref(should);
    json_decref(is);
}

static gboolean
is_listed(const GPtrArray *objects, const ObjectKey *key)
{
    for (unsigned i = 0; i < objects->len; i++)
        if (((const Object *)objects->pdata[i])->key == key)
            return TRUE;
    return FALSE;
}

static void
expect_objects(Case *self, const char *path, ObjectKind kind)
{
    g_autoptr(GPtrArray) expected = case_objects(self, path, kind);

    for (unsigned i = 0; i < expected->len; i++) {
        const Object *wanted = expected->pdata[i];
        const Object *found = api_server_get(self->api, wanted->key);
        if (found != NULL)
            snapshot_case_expect_object(self, wanted, case_comparable(self, found));
        else if (!object_is_deleted(wanted) || wanted->finalizers != NULL)
            case_fail(self, "%s is not there", wanted->key->text);
    }
    for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kind); slot++) {
        const ObjectKey *key = objects_key_at(self->objects, kind, slot);
        const Object *found = api_server_get(self->api, key);
        if (found != NULL && !object_is_deleted(found) && !is_listed(expected, key))
            case_fail(self, "%s should not be there", key->text);
    }
}

/* The part of a write that says which one it is. Returns: (owned) */
static json_t *
write_word(const json_t *write)
{
    return json_pack("{s:O*, s:O*, s:O*, s:O*, s:O*}", "verb", json_object_get(write, "verb"),
                     "resource", json_object_get(write, "resource"), "subresource",
                     json_object_get(write, "subresource"), "namespace",
                     json_object_get(write, "namespace"), "name", json_object_get(write, "name"));
}

/* Patches have another form here: only their effects are compared. */
static void
expect_written_object(Case *self, const json_t *wanted, const json_t *found)
{
    const json_t *object = json_object_get(found, "object");

    wanted = json_object_get(wanted, "object");
    if (wanted == NULL)
        return;
    if (object == NULL)
        case_fail(self, "a write without an object");
    else
        snapshot_case_expect_object(self, case_object_of_manifest(self, wanted),
                                    json_deep_copy(object));
}

static void
expect_writes(Case *self)
{
    const json_t *told = case_get(self, "observed.writes"), *item;
    json_t *expected = json_array(), *found = json_array();
    size_t i;

    json_array_foreach(told, i, item)
        json_array_append_new(expected, write_word(item));
    json_array_foreach(self->writes, i, item) {
        const char *verb = json_path_string(item, "verb");
        if (strcmp(verb, "get") == 0 || strcmp(verb, "list") == 0)
            continue;
        expect_written_object(self, json_array_get(told, json_array_size(found)), item);
        json_array_append_new(found, write_word(item));
    }
    if (told != NULL)
        case_expect_json(self, "writes", expected, found);
    json_decref(expected);
    json_decref(found);
}

static void
expect_secret_reads(Case *self)
{
    json_t *found = json_array(), *none = json_array();
    const json_t *item, *expected = case_get(self, "observed.secret_reads");
    size_t i;

    json_array_foreach(self->writes, i, item)
        if (g_strcmp0(json_path_string(item, "verb"), "get") == 0 &&
            g_strcmp0(json_path_string(item, "resource"), "secrets") == 0)
            json_array_append(found, (json_t *)item);
    case_expect_json(self, "secret reads", expected == NULL ? none : expected, found);
    json_decref(found);
    json_decref(none);
}

void
snapshot_case_compare(Case *self)
{

    case_known(self, "observed", "writes", "secret_reads");
    case_expect_error(self, "expected.error");
    case_expect_events(self, "expected.events", TRUE);
    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_autofree char *path = g_strdup_printf("expected.%s", lists[i].name);
        if (case_get(self, path) != NULL)
            expect_objects(self, path, lists[i].kind);
    }
    expect_writes(self);
    expect_secret_reads(self);
}
