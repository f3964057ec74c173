/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "watch-start.h"

/* For so long later watches find a list... */
#define KEPT_S 2
/* ... and while it is not more changes old than this. */
#define CHANGES_BEHIND_MAX 512

void
watch_start_unref(WatchStart *self)
{
    if (self == NULL || --self->refs > 0)
        return;
    g_ptr_array_unref(self->objects);
    g_datalist_clear(&self->lines);
    g_free(self);
}

static gboolean
see_object(void *data, const char *place, json_t *object)
{
    WatchStart *self = data;

    (void)place;
    g_ptr_array_add(self->objects, object);
    return TRUE;
}

static WatchStart *
start_new(StoreKind *kind)
{
    WatchStart *self = g_new0(WatchStart, 1);

    *self = (WatchStart){.version = store_version(kind),
                         .next = kind->n_changes,
                         .objects = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref),
                         .refs = 1};
    return self;
}

static gboolean
is_fresh(const WatchStart *self, StoreKind *kind)
{
    return self->next == kind->n_changes || (kind->n_changes - self->next <= CHANGES_BEHIND_MAX &&
                                             store_change(kind, self->next) != NULL);
}

static gboolean
on_kept(void *data)
{
    ServeApi *api = data;

    api->start_source = 0;
    g_clear_pointer(&api->starts, g_hash_table_unref);
    return G_SOURCE_REMOVE;
}

WatchStart *
watch_start_get(ServeApi *api, StoreKind *kind, const char *namespace)
{
    g_autofree char *key = g_strdup_printf("%s/%s/%s", kind->group, kind->resource, namespace);
    WatchStart *found = api->starts == NULL ? NULL : g_hash_table_lookup(api->starts, key);

    if (found == NULL || !is_fresh(found, kind)) {
        found = start_new(kind);
        store_list(kind, *namespace == '\0' ? NULL : namespace, NULL, see_object, found);
        if (api->starts == NULL)
            api->starts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                (GDestroyNotify)watch_start_unref);
        g_hash_table_replace(api->starts, g_steal_pointer(&key), found);
        if (api->start_source == 0)
            api->start_source = g_timeout_add_seconds(KEPT_S, on_kept, api);
    }
    found->refs++;
    return found;
}

WatchStart *
watch_start_of_one(StoreKind *kind, const char *namespace, const char *name)
{
    WatchStart *self = start_new(kind);
    json_t *object = store_get(kind, namespace, name);

    if (object != NULL)
        g_ptr_array_add(self->objects, object);
    return self;
}

static void
unref_line(void *line)
{
    if (line != NULL)
        g_bytes_unref(line);
}

GBytes **
watch_start_line(WatchStart *self, GQuark form, unsigned i)
{
    GPtrArray *lines = g_datalist_id_get_data(&self->lines, form);

    if (lines == NULL) {
        lines = g_ptr_array_new_with_free_func(unref_line);
        g_ptr_array_set_size(lines, (int)self->objects->len);
        g_datalist_id_set_data_full(&self->lines, form, lines, (GDestroyNotify)g_ptr_array_unref);
    }
    return (GBytes **)&lines->pdata[i];
}

void
watch_starts_free(ServeApi *api)
{
    if (api->start_source != 0)
        g_source_remove(api->start_source);
    g_clear_pointer(&api->starts, g_hash_table_unref);
}
