/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <string.h>

#include "storage-world.h"
#include "tests/lib/test.h"

/* What happens in a cluster, and all that a controller then sends and tells. */
typedef struct {
    const char *title;
    void (*tell)(StorageWorld *world);
    const char *log;    /* NULL: not looked at */
    const char *events; /* the same */
} StorageStory;

/* Each in a cluster of its own. */
static inline void
tell_storage_stories(const StorageStory *stories, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        StorageWorld world;

        storage_world_init(&world, NULL);
        stories[i].tell(&world);
        const char *log = storage_world_log(&world);
        g_autofree char *events = storage_world_events(&world);
        if (stories[i].log != NULL && strcmp(log, stories[i].log) != 0)
            fail_msg("%s: sent %s", stories[i].title, log);
        if (stories[i].events != NULL && strcmp(events, stories[i].events) != 0)
            fail_msg("%s: told %s", stories[i].title, events);
        storage_world_clear(&world);
    }
}
