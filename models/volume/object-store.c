/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "object-store.h"

struct ObjectStore {
    GHashTable *copies; /* ObjectKey -> Object (owned); never walked */
};

static void
copy_free(void *object)
{
    object_unref(object);
}

ObjectStore *
object_store_new(void)
{
    ObjectStore *self = g_new0(ObjectStore, 1);

    self->copies = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, copy_free);
    return self;
}

void
object_store_free(ObjectStore *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->copies);
    g_free(self);
}

const Object *
object_store_get(const ObjectStore *self, const ObjectKey *key)
{
    return key == NULL ? NULL : g_hash_table_lookup(self->copies, key);
}

gboolean
object_store_is_newer(const ObjectStore *self, const Object *object)
{
    const Object *copy = object_store_get(self, object->key);

    return copy != NULL && copy->resource_version > object->resource_version;
}

void
object_store_update(ObjectStore *self, const Object *object)
{
    if (!object_store_is_newer(self, object))
        g_hash_table_replace(self->copies, (void *)object->key, (void *)object_ref(object));
}

void
object_store_fill(ObjectStore *self, const Informer *informer)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, informer);
    while ((object = informer_iter_next(&iter)) != NULL)
        object_store_update(self, object);
}

void
object_store_remove(ObjectStore *self, const ObjectKey *key)
{
    g_hash_table_remove(self->copies, key);
}
