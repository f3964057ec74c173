/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of managers in managedFields: found by name, operation, version and subresource, printed
 * by operation and age (sortEncodedManagedFields()). More than ten updaters are merged, the oldest
 * first, into "ancient-changes", as apimachinery does. One entry that cannot be read spoils the
 * whole list. */
#include "managers.h"

#include <string.h>

#include "models/api/fields.h"

/* DefaultMaxUpdateManagers in k8s.io/apimachinery's managedfields */
#define UPDATERS_MAX 10

static void
managers_entry_free(void *data)
{
    ManagerEntry *self = data;

    g_free(self->manager);
    g_free(self->operation);
    g_free(self->api_version);
    g_free(self->subresource);
    g_free(self->time);
    json_decref(self->set);
    g_free(self);
}

static gboolean
is_apply(const ManagerEntry *self)
{
    return strcmp(self->operation, MANAGED_APPLY) == 0;
}

static int
by_identity(const ManagerEntry *a, const ManagerEntry *b)
{
    int order = strcmp(a->operation, b->operation);

    if (order == 0)
        order = strcmp(a->manager, b->manager);
    if (order == 0 && !is_apply(a))
        order = strcmp(a->api_version, b->api_version);
    return order != 0 ? order : g_strcmp0(a->subresource, b->subresource);
}

/* sortEncodedManagedFields(): by operation, then by age */
static int
by_age(const void *a, const void *b)
{
    const ManagerEntry *x = *(ManagerEntry *const *)a, *y = *(ManagerEntry *const *)b;
    int order = strcmp(x->operation, y->operation);

    if (order == 0)
        order = g_strcmp0(x->time, y->time);
    return order != 0 ? order : by_identity(x, y);
}

ManagerEntry *
managers_find(const GPtrArray *managers, const ManagerEntry *like)
{
    for (guint i = 0; i < managers->len; i++)
        if (by_identity(g_ptr_array_index(managers, i), like) == 0)
            return g_ptr_array_index(managers, i);
    return NULL;
}

ManagerEntry *
managers_get(GPtrArray *managers, const ManagerEntry *like)
{
    ManagerEntry *entry = managers_find(managers, like);

    if (entry != NULL)
        return entry;
    entry = g_new0(ManagerEntry, 1);
    *entry = (ManagerEntry){g_strdup(like->manager),
                            g_strdup(like->operation),
                            g_strdup(like->api_version),
                            g_strdup(like->subresource),
                            NULL,
                            json_object()};
    g_ptr_array_add(managers, entry);
    return entry;
}

void
manager_set(ManagerEntry *self, json_t *set)
{
    json_decref(self->set);
    self->set = set;
}

void
managers_drop_empty(GPtrArray *managers)
{
    for (guint i = managers->len; i-- > 0;)
        if (field_set_is_empty(((ManagerEntry *)managers->pdata[i])->set))
            g_ptr_array_remove_index(managers, i);
}

static const char *
managers_text_of(const json_t *entry, const char *key)
{
    const char *text = json_string_value(json_object_get(entry, key));

    return text != NULL && *text != '\0' ? text : NULL;
}

GPtrArray *
managers_read(const json_t *managed_fields)
{
    g_autoptr(GPtrArray) managers = g_ptr_array_new_with_free_func(managers_entry_free);
    json_t *entry;
    gsize i;

    json_array_foreach((json_t *)managed_fields, i, entry) {
        const char *operation = managers_text_of(entry, "operation"),
                   *manager = managers_text_of(entry, "manager");
        const json_t *fields = json_object_get(entry, "fieldsV1");
        ManagerEntry like = {
            .manager = (char *)(manager != NULL ? manager : ""),
            .operation = (char *)operation,
            .api_version = (char *)managers_text_of(entry, "apiVersion"),
            .subresource = (char *)managers_text_of(entry, "subresource"),
        };

        if (operation == NULL || like.api_version == NULL ||
            (strcmp(operation, MANAGED_APPLY) != 0 && strcmp(operation, MANAGED_UPDATE) != 0) ||
            g_strcmp0(managers_text_of(entry, "fieldsType"), "FieldsV1") != 0)
            return NULL;
        json_t *set = fields != NULL ? field_set_read(fields) : json_object();
        if (set == NULL)
            return NULL;
        ManagerEntry *read = managers_get(managers, &like);
        manager_set(read, set);
        g_free(read->time);
        read->time = g_strdup(managers_text_of(entry, "time"));
    }
    return g_steal_pointer(&managers);
}

json_t *
managers_print(GPtrArray *managers)
{
    json_t *list = json_array();

    g_ptr_array_sort(managers, by_age);
    for (guint i = 0; i < managers->len; i++) {
        const ManagerEntry *entry = g_ptr_array_index(managers, i);
        json_t *printed = json_pack("{s:s, s:s, s:s}", "manager", entry->manager, "operation",
                                    entry->operation, "apiVersion", entry->api_version);

        if (entry->time != NULL)
            json_object_set_new(printed, "time", json_string(entry->time));
        json_object_set_new(printed, "fieldsType", json_string("FieldsV1"));
        json_object_set_new(printed, "fieldsV1", json_sorted(entry->set));
        if (entry->subresource != NULL)
            json_object_set_new(printed, "subresource", json_string(entry->subresource));
        json_array_append_new(list, printed);
    }
    if (json_array_size(list) == 0)
        g_clear_pointer(&list, json_decref);
    return list;
}

void
managers_cap(GPtrArray *managers)
{
    g_autoptr(GPtrArray) updaters = g_ptr_array_new();
    g_autoptr(GHashTable) first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (guint i = 0; i < managers->len; i++)
        if (!is_apply(g_ptr_array_index(managers, i)))
            g_ptr_array_add(updaters, g_ptr_array_index(managers, i));
    g_ptr_array_sort(updaters, by_age);
    guint left = updaters->len;
    for (guint i = 0; i < updaters->len && left > UPDATERS_MAX; i++) {
        ManagerEntry *entry = g_ptr_array_index(updaters, i);
        ManagerEntry *before = g_hash_table_lookup(first, entry->api_version);

        if (before == NULL) { /* it stays by itself, unless a second one of its version goes too */
            g_hash_table_insert(first, g_strdup(entry->api_version), entry);
            continue;
        }
        if (strcmp(before->manager, "ancient-changes") != 0) {
            g_free(before->manager);
            before->manager = g_strdup("ancient-changes");
            g_clear_pointer(&before->subresource, g_free);
        }
        manager_set(before, field_set_combine(before->set, entry->set, FIELD_SET_UNION));
        g_free(before->time);
        before->time = g_strdup(entry->time);
        g_ptr_array_remove(managers, entry);
        left--;
    }
}

char *
manager_text(const ManagerEntry *self)
{
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "\"%s\"", self->manager);
    if (self->subresource != NULL)
        g_string_append_printf(text, " with subresource \"%s\"", self->subresource);
    if (!is_apply(self))
        g_string_append_printf(text, " using %s", self->api_version);
    return g_string_free(text, FALSE);
}
