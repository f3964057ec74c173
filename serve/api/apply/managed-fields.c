/* SPDX-License-Identifier: GPL-3.0-or-later */
/* k8s.io/apimachinery's managedfields/internal/ (a chain of managers), and merge/update.go of
 * structured-merge-diff. All versions of a kind have the same fields here, so nothing is converted.
 */
#include "managed-fields.h"

#include <string.h>

#include "managers.h"
#include "models/api/fields.h"
#include "models/api/patch/patch.h"
#include "typed.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* One write: what all of its steps need. */
typedef struct {
    const SchemaType *type;
    const FieldWriter *writer;
    json_t *ignored;     /* fields that this write cannot change */
    GPtrArray *managers; /* (owned): before, then after it */
    ManagerEntry self;   /* the identity of the writer, borrowed */
} ManagedFieldsWrite;

static void
write_clear(ManagedFieldsWrite *self)
{
    json_decref(self->ignored);
    g_clear_pointer(&self->managers, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ManagedFieldsWrite, write_clear)

static const json_t *
managed_fields_of(const json_t *object)
{
    return json_object_get(json_object_get(object, "metadata"), "managedFields");
}

/* stripMetaManager: nobody manages these. */
static json_t *
without_meta(json_t *set)
{
    static const char *const names[] = {"name",       "namespace",     "creationTimestamp",
                                        "selfLink",   "uid",           "clusterName",
                                        "generation", "managedFields", "resourceVersion"};
    json_t *strip = json_object(), *meta = json_object(), *rest;

    json_object_set_new(strip, "f:apiVersion", json_object());
    json_object_set_new(strip, "f:kind", json_object());
    json_object_set_new(meta, ".", json_object());
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *step = g_strconcat("f:", names[i], NULL);
        json_object_set_new(meta, step, json_object());
    }
    json_object_set_new(strip, "f:metadata", meta);
    rest = field_set_combine(set, strip, FIELD_SET_DIFFERENCE);
    json_decref(strip);
    json_decref(set);
    return rest;
}

static void
write_init(ManagedFieldsWrite *self,
           const json_t *object,
           const SchemaType *type,
           const FieldWriter *writer,
           gboolean applies)
{
    const char *api_version = json_path_string(object, "apiVersion");
    gboolean to_status = g_strcmp0(writer->subresource, "status") == 0;

    *self = (ManagedFieldsWrite){.type = type, .writer = writer, .ignored = json_object()};
    self->self = (ManagerEntry){
        .manager = (char *)(*writer->manager != '\0' ? writer->manager : "unknown"),
        .operation = (char *)(applies ? MANAGED_APPLY : MANAGED_UPDATE),
        .api_version = (char *)(api_version != NULL ? api_version : ""),
        .subresource = (char *)writer->subresource,
        .time = (char *)writer->time,
    };
    /* GetResetFields() of the kinds' strategies */
    if (to_status)
        json_object_set_new(self->ignored, "f:spec", json_object());
    else if (writer->has_status && writer->subresource == NULL)
        json_object_set_new(self->ignored, "f:status", json_object());
}

/* Removes @taken from the set of an entry. */
static void
give_up(ManagerEntry *entry, const json_t *taken)
{
    manager_set(entry, field_set_combine(entry->set, taken, FIELD_SET_DIFFERENCE));
}

static void
exclude(json_t **set, const json_t *without)
{
    json_t *rest = field_set_exclude(*set, without);

    json_decref(*set);
    *set = rest;
}

/* The changes of a write that count. */
static void
write_compare(const ManagedFieldsWrite *self,
              const json_t *before,
              const json_t *after,
              TypedComparison *changes)
{
    comparison_init(changes, before, after, self->type);
    exclude(&changes->added, self->ignored);
    exclude(&changes->modified, self->ignored);
    exclude(&changes->removed, self->ignored);
}

/* The conflicts with one manager. */
typedef struct {
    GPtrArray *conflicts;
    char *manager; /* (owned): manager_text() */
} ConflictList;

static void
add_conflict(const char *path, void *data)
{
    ConflictList *list = data;
    FieldConflict *conflict = g_new0(FieldConflict, 1);

    conflict->field = g_strdup(path);
    conflict->message = g_strdup_printf("conflict with %s", list->manager);
    g_ptr_array_add(list->conflicts, conflict);
}

static void
field_conflict_free(void *data)
{
    FieldConflict *self = data;

    g_free(self->field);
    g_free(self->message);
    g_free(self);
}

/* Takes what changed from all managers but @except (nullable). @conflicts: (nullable): gets what
 * was theirs; then nothing is taken if it is not empty. @allowed: (nullable): fields that may be
 * taken all the same */
static void
take_changes(ManagedFieldsWrite *self,
             const ManagerEntry *except,
             const TypedComparison *changes,
             GPtrArray *conflicts,
             const json_t *allowed)
{
    json_t *changed = field_set_combine(changes->modified, changes->added, FIELD_SET_UNION);

    for (guint i = 0; conflicts != NULL && i < self->managers->len; i++) {
        const ManagerEntry *entry = g_ptr_array_index(self->managers, i);
        json_t *theirs = field_set_combine(entry->set, changed, FIELD_SET_INTERSECTION);
        json_t *rest = field_set_combine(theirs, allowed, FIELD_SET_DIFFERENCE);
        ConflictList list = {conflicts, manager_text(entry)};

        if (entry != except)
            field_set_walk(rest, add_conflict, &list);
        g_free(list.manager);
        json_decref(theirs);
        json_decref(rest);
    }
    for (guint i = 0; (conflicts == NULL || conflicts->len == 0) && i < self->managers->len; i++) {
        ManagerEntry *entry = g_ptr_array_index(self->managers, i);

        if (entry == except)
            continue;
        give_up(entry, changed);
        give_up(entry, changes->removed);
    }
    json_decref(changed);
}

/* Records an update by @like. */
static void
record_update(ManagedFieldsWrite *self, const ManagerEntry *like, const TypedComparison *changes)
{
    json_t *changed = field_set_combine(changes->modified, changes->added, FIELD_SET_UNION);

    take_changes(self, NULL, changes, NULL, NULL);
    managers_drop_empty(self->managers);
    json_t *mine = without_meta(changed);
    if (!field_set_is_empty(mine)) {
        ManagerEntry *entry = managers_get(self->managers, like);

        manager_set(entry, field_set_combine(entry->set, mine, FIELD_SET_UNION));
        g_free(entry->time);
        entry->time = g_strdup(like->time);
    }
    json_decref(mine);
    managers_cap(self->managers);
}

/* The empty object that a create begins with. */
static json_t *
empty_object(const json_t *object)
{
    return json_pack("{s:O*, s:O*}", "apiVersion", json_object_get(object, "apiVersion"), "kind",
                     json_object_get(object, "kind"));
}

/* Returns: (owned): a copy of @object without managedFields and nulls */
static json_t *
bare_copy(const json_t *object)
{
    json_t *copy = json_deep_copy(object);

    json_object_del(json_object_get(copy, "metadata"), "managedFields");
    patch_drop_nulls(copy);
    return copy;
}

/* Puts the managers into an object. */
static void
put_managers(ManagedFieldsWrite *self, json_t *object)
{
    json_t *list = managers_print(self->managers), *meta = json_object_get(object, "metadata");

    if (list == NULL)
        return;
    if (!json_is_object(meta)) {
        meta = json_object();
        json_object_set_new(object, "metadata", meta);
    }
    json_object_set_new(meta, "managedFields", list);
}

static gboolean
is_reset(const json_t *managed_fields)
{
    const json_t *only = json_array_get(managed_fields, 0);

    return json_is_array(managed_fields) &&
           (json_array_size(managed_fields) == 0 ||
            (json_array_size(managed_fields) == 1 && json_object_size(only) == 0));
}

/* Returns: (owned): the managers before an update: the ones that the client sent, otherwise the
 * ones of @live */
static GPtrArray *
managers_before(const json_t *live, const json_t *written, const FieldWriter *writer)
{
    GPtrArray *managers = NULL;
    const json_t *sent = managed_fields_of(written);

    if (writer->subresource == NULL && is_reset(sent))
        return managers_read(NULL);
    if (writer->subresource == NULL && json_array_size(sent) > 0)
        managers = managers_read(sent);
    if (managers == NULL)
        managers = managers_read(managed_fields_of(live));
    return managers != NULL ? managers : managers_read(NULL);
}

json_t *
managed_fields_update(const json_t *live,
                      const json_t *written,
                      const SchemaType *type,
                      const FieldWriter *writer)
{
    json_t *before = live != NULL ? bare_copy(live) : empty_object(written);
    json_t *after = bare_copy(written);
    g_auto(ManagedFieldsWrite) write = {0};

    write_init(&write, written, type, writer, FALSE);
    write.managers = managers_before(live, written, writer);
    /* skipNonAppliedManager: an object that nobody manages stays so. */
    if (live == NULL || write.managers->len > 0) {
        g_auto(TypedComparison) changes = {0};

        write_compare(&write, before, after, &changes);
        record_update(&write, &write.self, &changes);
    }
    put_managers(&write, after);
    json_decref(before);
    return after;
}

/* prune() in merge/update.go: removes what the manager applied last time, does not apply now, and
 * nobody else has. @last: (nullable). Returns: (owned) */
static json_t *
prune(const ManagedFieldsWrite *self, json_t *merged, const json_t *last)
{
    json_t *managed = json_object(), *next;

    if (last == NULL || field_set_is_empty(last)) {
        json_decref(managed);
        return merged;
    }
    for (guint i = 0; i < self->managers->len; i++) {
        next = field_set_combine(managed, ((ManagerEntry *)self->managers->pdata[i])->set,
                                 FIELD_SET_UNION);
        json_decref(managed);
        managed = next;
    }
    json_t *fields = typed_field_set(merged, self->type);
    json_t *all = typed_with_named(fields, self->type);
    json_t *old = typed_with_named(last, self->type);
    json_t *owned = typed_with_named(managed, self->type);

    /* Fields that stay: not applied last time, or owned by another manager. */
    json_t *pruned = typed_remove(merged, old, self->type);
    json_t *kept_fields = typed_field_set(pruned, self->type);
    json_t *kept = typed_with_named(kept_fields, self->type);
    json_t *stays = field_set_combine(kept, owned, FIELD_SET_UNION);
    json_t *goes = field_set_combine(all, stays, FIELD_SET_DIFFERENCE);
    json_decref(pruned);
    pruned = typed_remove(merged, goes, self->type);

    /* Dangling ones stay, too: only what was applied last time goes. */
    json_t *left_fields = typed_field_set(pruned, self->type);
    json_t *left = typed_with_named(left_fields, self->type);
    json_t *gone = field_set_combine(all, left, FIELD_SET_DIFFERENCE);
    json_t *mine = field_set_combine(gone, old, FIELD_SET_INTERSECTION);
    json_decref(pruned);
    pruned = typed_remove(merged, mine, self->type);

    json_t *const done[] = {fields, all,         old,  owned, kept_fields, kept,    stays,
                            goes,   left_fields, left, gone,  mine,        managed, merged};
    for (gsize i = 0; i < G_N_ELEMENTS(done); i++)
        json_decref(done[i]);
    return pruned != NULL ? pruned : json_object();
}

/* allowedConflictsFromLastApplied(): fields that client-side apply set, and that nobody changed
 * since: kubectl may take them. Returns: (owned): NULL: none */
static json_t *
allowed_from_last_applied(const ManagedFieldsWrite *self, const json_t *live)
{
    const char *text = json_string_value(json_object_get(
        json_object_get(json_object_get(live, "metadata"), "annotations"), LAST_APPLIED));
    json_t *last = text != NULL ? json_loads(text, 0, NULL) : NULL, *allowed = NULL;
    const char *version = json_path_string(last, "apiVersion");

    if (g_strcmp0(version, self->self.api_version) == 0) {
        g_auto(TypedComparison) changes = {0};
        comparison_init(&changes, last, live, self->type);
        allowed = typed_field_set(last, self->type);
        const json_t *different[] = {changes.modified, changes.added, changes.removed};
        for (gsize i = 0; i < G_N_ELEMENTS(different); i++) {
            json_t *rest = field_set_combine(allowed, different[i], FIELD_SET_DIFFERENCE);
            json_decref(allowed);
            allowed = rest;
        }
    }
    json_decref(last);
    return allowed;
}

/* Sets the error of conflicts, as getConflictMessage() words it. */
static void
report_conflicts(const GPtrArray *conflicts, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const char *last = NULL;

    if (conflicts->len == 1) {
        const FieldConflict *only = g_ptr_array_index(conflicts, 0);

        g_set_error(error, PATCH_ERROR, 409, "Apply failed with 1 conflict: %s: %s", only->message,
                    only->field);
        return;
    }
    for (guint i = 0; i < conflicts->len; i++) {
        const FieldConflict *conflict = g_ptr_array_index(conflicts, i);

        if (g_strcmp0(last, conflict->message) != 0)
            g_string_append_printf(text, "%sconflicts%s:", i > 0 ? "\n" : "",
                                   conflict->message + strlen("conflict"));
        g_string_append_printf(text, "\n- %s", conflict->field);
        last = conflict->message;
    }
    g_set_error(error, PATCH_ERROR, 409, "Apply failed with %u conflicts: %s", conflicts->len,
                text->str);
}

static int
by_manager(const void *a, const void *b)
{
    const FieldConflict *x = *(FieldConflict *const *)a, *y = *(FieldConflict *const *)b;

    return strcmp(x->message, y->message);
}

/* Returns: FALSE if the body cannot be applied. */
static gboolean
check_applied(const json_t *live, const json_t *applied, const SchemaType *type, GError **error)
{
    const char *version = json_path_string(applied, "apiVersion");
    const char *wanted = json_path_string(live, "apiVersion");
    const char *kind = json_path_string(applied, "kind");
    const json_t *meta = json_object_get(applied, "metadata");
    const char *name = json_path_string(meta, "name");
    const char *namespace = json_path_string(meta, "namespace");
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) text = g_string_new(NULL);

    if (wanted != NULL && g_strcmp0(version, wanted) != 0) {
        g_set_error(error, PATCH_ERROR, 400,
                    "Incorrect version specified in apply patch. Specified patch version: %s, "
                    "expected: %s",
                    version != NULL ? version : "", wanted);
        return FALSE;
    }
    if (json_object_get(meta, "managedFields") != NULL) {
        g_set_error(error, PATCH_ERROR, 400, "metadata.managedFields must be nil");
        return FALSE;
    }
    typed_check(applied, type, faults);
    if (faults->len == 0)
        return TRUE;
    if (faults->len > 1)
        g_string_append(text, "errors:");
    for (guint i = 0; i < faults->len; i++)
        g_string_append_printf(text, "%s%s", faults->len > 1 ? "\n  " : "",
                               (char *)faults->pdata[i]);
    g_set_error(error, PATCH_ERROR, 500,
                "failed to create typed patch object (%s/%s; %s%s, Kind=%s): %s",
                namespace != NULL ? namespace : "", name != NULL ? name : "",
                version != NULL && strchr(version, '/') != NULL ? "" : "/",
                version != NULL ? version : "", kind != NULL ? kind : "", text->str);
    return FALSE;
}

/* The managers before an apply; an object that nobody manages got all its fields before. */
static void
read_managers(ManagedFieldsWrite *self, const json_t *live)
{
    self->managers = managers_read(managed_fields_of(live));
    if (self->managers == NULL)
        self->managers = managers_read(NULL);
    if (live == NULL || self->managers->len > 0)
        return;
    g_auto(TypedComparison) changes = {0};
    json_t *before = empty_object(live), *after = bare_copy(live);
    ManagerEntry like = self->self;

    like.manager = (char *)"before-first-apply";
    like.operation = (char *)MANAGED_UPDATE;
    write_compare(self, before, after, &changes);
    record_update(self, &like, &changes);
    json_decref(before);
    json_decref(after);
}

/* lastAppliedUpdater: keeps client-side apply's annotation up to date. */
static void
update_last_applied(json_t *object, const json_t *applied)
{
    json_t *annotations = json_object_get(json_object_get(object, "metadata"), "annotations");
    const char *before = json_string_value(json_object_get(annotations, LAST_APPLIED));

    if (before == NULL || *before == '\0')
        return;
    json_t *copy = json_deep_copy(applied);
    json_object_del(json_object_get(json_object_get(copy, "metadata"), "annotations"),
                    LAST_APPLIED);
    char *plain = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
    g_autofree char *text = g_strconcat(plain, "\n", NULL);
    json_object_set_new(annotations, LAST_APPLIED, json_string(text));
    free(plain);
    json_decref(copy);
}

/* Takes the fields that @after changes, if their managers allow it. Returns: FALSE: conflicts */
static gboolean
take_applied(ManagedFieldsWrite *self,
             const ManagerEntry *mine,
             const json_t *before,
             const json_t *after,
             gboolean force,
             GPtrArray **conflicts,
             GError **error)
{
    g_auto(TypedComparison) changes = {0};
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(field_conflict_free);
    json_t *allowed = NULL;

    write_compare(self, before, after, &changes);
    if (!force && strcmp(self->self.manager, "kubectl") == 0)
        allowed = allowed_from_last_applied(self, before);
    take_changes(self, mine, &changes, force ? NULL : found, allowed);
    json_decref(allowed);
    managers_drop_empty(self->managers);
    if (found->len == 0)
        return TRUE;
    g_ptr_array_sort(found, by_manager);
    report_conflicts(found, error);
    *conflicts = g_steal_pointer(&found);
    return FALSE;
}

json_t *
managed_fields_apply(const json_t *live,
                     const json_t *applied,
                     const SchemaType *type,
                     const FieldWriter *writer,
                     gboolean force,
                     GPtrArray **conflicts,
                     GError **error)
{
    g_auto(ManagedFieldsWrite) write = {0};

    *conflicts = NULL;
    if (!check_applied(live, applied, type, error))
        return NULL;
    write_init(&write, applied, type, writer, TRUE);
    read_managers(&write, live);
    json_t *before = live != NULL ? bare_copy(live) : empty_object(applied);
    json_t *fields = typed_field_set(applied, type), *after = typed_merge(before, applied, type);
    ManagerEntry *mine = managers_get(write.managers, &write.self);
    json_t *last = json_incref(mine->set);

    exclude(&fields, write.ignored);
    manager_set(mine, fields);
    g_free(mine->api_version);
    mine->api_version = g_strdup(write.self.api_version);
    after = prune(&write, after, last);
    patch_drop_nulls(after);
    gboolean done = take_applied(&write, mine, before, after, force, conflicts, error);
    if (done) {
        ManagerEntry *entry = managers_find(write.managers, &write.self);

        /* Nothing changed: the entry keeps its time. */
        if (entry != NULL && !json_equal(before, after)) {
            g_free(entry->time);
            entry->time = g_strdup(writer->time);
        }
        if (entry != NULL)
            manager_set(entry, without_meta(json_incref(entry->set)));
        managers_drop_empty(write.managers);
        put_managers(&write, after);
        if (strcmp(write.self.manager, "kubectl") == 0)
            update_last_applied(after, applied);
    }
    json_decref(before);
    json_decref(last);
    if (!done)
        g_clear_pointer(&after, json_decref);
    return after;
}
