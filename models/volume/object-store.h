/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/client/informer.h"

/* A controller's own copies beside its informers (API-77, SNAP-1). Right after a write the copy is
 * newer than the informer's; after a deletion only the copy is left. */
typedef struct ObjectStore ObjectStore;

ObjectStore *object_store_new(void);
void object_store_free(ObjectStore *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ObjectStore, object_store_free)

/* Returns: (borrowed): valid until the store changes; NULL: there is no copy. @key may be NULL */
const Object *object_store_get(const ObjectStore *self, const ObjectKey *key);
/* Whether the copy is newer than @object. */
gboolean object_store_is_newer(const ObjectStore *self, const Object *object);
/* Keeps @object (referenced), unless the copy is newer. */
void object_store_update(ObjectStore *self, const Object *object);
/* The same for all that @informer has. */
void object_store_fill(ObjectStore *self, const Informer *informer);
void object_store_remove(ObjectStore *self, const ObjectKey *key);
