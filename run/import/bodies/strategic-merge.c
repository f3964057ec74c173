/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "strategic-merge.h"

#include <string.h>

/* patchMergeKey in k8s.io/api/core/v1/types.go; ownerReferences: in meta/v1 */
static const struct {
    const char *list, *key;
} merge_keys[] = {
    {"containers",                "name"         },
    {"initContainers",            "name"         },
    {"ephemeralContainers",       "name"         },
    {"volumes",                   "name"         },
    {"env",                       "name"         },
    {"imagePullSecrets",          "name"         },
    {"resourceClaims",            "name"         },
    {"volumeMounts",              "mountPath"    },
    {"volumeDevices",             "devicePath"   },
    {"ports",                     "containerPort"},
    {"hostAliases",               "ip"           },
    {"topologySpreadConstraints", "topologyKey"  },
    {"taints",                    "key"          },
    {"conditions",                "type"         },
    {"ownerReferences",           "uid"          },
};

static const char *
merge_key(const char *list)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(merge_keys); i++)
        if (strcmp(merge_keys[i].list, list) == 0)
            return merge_keys[i].key;
    return NULL;
}

static gboolean
is_directive(const json_t *value, const char *directive)
{
    return g_strcmp0(json_string_value(json_object_get(value, "$patch")), directive) == 0;
}

/* Merges one item of a patch into the list. */
static void
merge_item(json_t *list, const json_t *item, const char *key)
{
    gsize place = 0;

    while (
        place < json_array_size(list) &&
        !json_equal(json_object_get(json_array_get(list, place), key), json_object_get(item, key)))
        place++;
    gboolean is_there = place < json_array_size(list);
    if (is_directive(item, "delete")) {
        if (is_there)
            json_array_remove(list, place);
    } else if (is_there) {
        json_array_set_new(list, place, strategic_merge(json_array_get(list, place), item));
    } else {
        json_array_append_new(list, json_deep_copy(item));
    }
}

/* Returns: (owned) */
static json_t *
merge_list(const json_t *list, const json_t *patch, const char *name)
{
    const char *key = merge_key(name);
    json_t *merged, *item;
    gsize i;

    if (key == NULL || !json_is_array(list) || is_directive(json_array_get(patch, 0), "replace"))
        return json_deep_copy(patch);
    merged = json_deep_copy(list);
    json_array_foreach((json_t *)patch, i, item) {
        merge_item(merged, item, key);
    }
    return merged;
}

json_t *
strategic_merge(const json_t *object, const json_t *patch)
{
    json_t *merged, *value;
    const char *name;

    if (!json_is_object(patch))
        return json_deep_copy(patch);
    merged = json_is_object(object) ? json_deep_copy(object) : json_object();
    json_object_foreach((json_t *)patch, name, value) {
        if (*name == '$')
            continue;
        if (json_is_null(value))
            json_object_del(merged, name);
        else if (json_is_array(value))
            json_object_set_new(merged, name,
                                merge_list(json_object_get(merged, name), value, name));
        else
            json_object_set_new(merged, name,
                                strategic_merge(json_object_get(merged, name), value));
    }
    return merged;
}
