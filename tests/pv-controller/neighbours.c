/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "neighbours.h"

gboolean
edit_reserve(Object *object, const void *claim)
{
    const Object *target = claim;

    VOLUME(object)->claim_ref = (ClaimReference){target->key, target->uid, 1};
    return TRUE;
}

gboolean
edit_clear_reference(Object *object, const void *arg)
{
    (void)arg;
    VOLUME(object)->claim_ref = (ClaimReference){0};
    return TRUE;
}

void
annotate(StorageWorld *world, ObjectKey *key, const char *name, const char *value)
{
    StringPair pair = {storage_world_intern(world, name), storage_world_intern(world, value)};

    storage_world_patch(world, key, storage_world_annotate, &pair);
}
