/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "operation-executor.h"

/* The entries of nestedpendingoperations: OP-1 to OP-6. */

static gboolean
keys_match(const PodMount *a, const PodMount *b)
{
    return a == b || a == NULL || b == NULL;
}

gboolean
volume_operation_is_pending(const NodeVolume *volume, const PodMount *mount)
{
    for (const PendingOperation *entry = volume->operations; entry != NULL; entry = entry->next) {
        if (entry->running && keys_match(entry->key, mount))
            return TRUE;
    }
    return FALSE;
}

gboolean
volume_operation_works_on(const NodeVolume *volume, const PodMount *mount)
{
    for (const PendingOperation *entry = volume->operations; entry != NULL; entry = entry->next) {
        if (entry->running && entry->target == mount)
            return TRUE;
    }
    return FALSE;
}

/* If several match: a running one, otherwise one with an equal key, otherwise the first. */
PendingOperation *
pending_operation_find(const NodeVolume *volume, const PodMount *key)
{
    PendingOperation *exact = NULL, *first = NULL;

    for (PendingOperation *entry = volume->operations; entry != NULL; entry = entry->next) {
        if (!keys_match(entry->key, key))
            continue;
        if (entry->running)
            return entry;
        if (entry->key == key && exact == NULL)
            exact = entry;
        if (first == NULL)
            first = entry;
    }
    return exact != NULL ? exact : first;
}

PendingOperation *
pending_operation_new(NodeVolume *volume, OperationName name)
{
    PendingOperation *entry = g_new0(PendingOperation, 1), **end = &volume->operations;

    while (*end != NULL)
        end = &(*end)->next;
    *end = entry;
    entry->volume = volume;
    entry->name = name;
    return entry;
}

void
pending_operation_remove(PendingOperation *entry)
{
    PendingOperation **place = &entry->volume->operations;

    while (*place != entry)
        place = &(*place)->next;
    *place = entry->next;
    g_free(entry);
}

void
volume_operation_forget(NodeVolume *volume, const PodMount *mount)
{
    PendingOperation *next;

    for (PendingOperation *entry = volume->operations; entry != NULL; entry = next) {
        next = entry->next;
        if (!entry->running && entry->key == mount)
            pending_operation_remove(entry);
        else if (entry->target == mount && !entry->running)
            entry->target = NULL;
    }
}
