/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "prune.h"

#include <string.h>

void
prune_while_reading(json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    const char *kind = json_string_value(json_object_get(object, "kind"));

    json_object_del(metadata, "managedFields");
    json_object_del(json_object_get(metadata, "annotations"),
                    "kubectl.kubernetes.io/last-applied-configuration");
    if (g_strcmp0(kind, "Secret") == 0) {
        json_object_del(object, "data");
        json_object_del(object, "stringData");
    }
}
