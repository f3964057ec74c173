/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of options: each run, and each process that serves callers, has its own table of strings.
 */
#include "modelled-driver.h"

static StringMap *
copy_map(Strings *strings, const StringMap *map)
{
    if (map == NULL)
        return NULL;
    g_autofree StringPair *pairs = g_new(StringPair, map->n_pairs);
    for (unsigned i = 0; i < map->n_pairs; i++)
        pairs[i] = (StringPair){strings_intern(strings, map->pairs[i].key),
                                strings_intern(strings, map->pairs[i].value)};
    return string_map_new(pairs, map->n_pairs);
}

static StringList *
copy_list(Strings *strings, const StringList *list)
{
    if (list == NULL)
        return NULL;
    g_autofree const char **items = g_new(const char *, list->n_items);
    for (unsigned i = 0; i < list->n_items; i++)
        items[i] = strings_intern(strings, list->items[i]);
    return string_list_new(items, list->n_items);
}

CsiModelledOptions
csi_modelled_options_copy(Strings *strings, const CsiModelledOptions *options)
{
    CsiModelledOptions copy = *options;
    CsiModelledError *errors = g_memdup2(options->errors, options->n_errors * sizeof *errors);
    CsiModelledPool *pools = g_memdup2(options->pools, options->n_pools * sizeof *pools);

    for (unsigned i = 0; i < options->n_errors; i++) {
        errors[i].message = strings_intern(strings, errors[i].message);
        errors[i].zone = strings_intern(strings, errors[i].zone);
        errors[i].node = strings_intern(strings, errors[i].node);
    }
    for (unsigned i = 0; i < options->n_pools; i++)
        pools[i].segments = copy_map(strings, pools[i].segments);
    copy.errors = errors;
    copy.pools = pools;
    copy.name = strings_intern(strings, options->name);
    copy.vendor_version = strings_intern(strings, options->vendor_version);
    copy.volume_keys = copy_list(strings, options->volume_keys);
    copy.mutable_keys = copy_list(strings, options->mutable_keys);
    copy.volume_context = copy_map(strings, options->volume_context);
    copy.publish_context = copy_map(strings, options->publish_context);
    return copy;
}

void
csi_modelled_options_clear(CsiModelledOptions *copy)
{
    for (unsigned i = 0; i < copy->n_pools; i++)
        string_map_unref((StringMap *)copy->pools[i].segments);
    g_free((void *)copy->pools);
    g_free((void *)copy->errors);
    string_list_unref((StringList *)copy->volume_keys);
    string_list_unref((StringList *)copy->mutable_keys);
    string_map_unref((StringMap *)copy->volume_context);
    string_map_unref((StringMap *)copy->publish_context);
}
