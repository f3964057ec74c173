/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "check-private.h"

/* ---- Gathering ---- */

static gboolean
is_duplicate(const ManifestInfo *first, const ManifestInfo *second)
{
    return first->action == second->action; /* an object of another action may be created after the
                                               first was deleted */
}

static void
gather_object(Checker *self, const ManifestInfo *info)
{
    const ManifestInfo *first = g_hash_table_lookup(self->known, info->object->key);
    const char *class_name;

    if (first == NULL || (checker_is_numbered(self, first) && !checker_is_numbered(self, info))) {
        g_hash_table_insert(self->known, (void *)info->object->key, (void *)info);
    } else if (is_duplicate(first, info)) {
        g_autofree char *hint =
            g_strdup_printf("the first is in %s:%u", first->at.file, first->at.line);
        checker_fault(self, info, "metadata.name", hint, "there is a %s \"%s\" already",
                      kind_class(object_kind(info->object))->kind, info->object->key->text);
    }
    if (object_kind(info->object) == KIND_VOLUME &&
        (class_name = VOLUME(info->object)->class_name) != NULL)
        g_hash_table_add(self->class_names, (char *)class_name);
    if (object_kind(info->object) != KIND_NODE)
        return;
    if (info->action < 0 && first == NULL &&
        g_hash_table_contains(self->node_names, object_name(info->object)))
        checker_fault(self, info, "metadata.name", NULL, "spec.nodes makes a node \"%s\" too",
                      object_name(info->object));
    g_hash_table_add(self->node_names, (char *)object_name(info->object));
    g_ptr_array_add(self->node_list, (char *)object_name(info->object)); /* borrowed */
}

static void
gather_nodes(Checker *self)
{
    Loader *loader = self->loader;
    const NodeFields *groups = loader->fields.spec.nodes.items;

    for (unsigned i = 0; i < loader->fields.spec.nodes.n; i++) {
        const ScenarioNodes *group = &groups[i].nodes;
        g_auto(GStrv) parts = g_strsplit(group->name != NULL ? group->name : "", "%d", -1);
        unsigned n = MAX(group->count, group->autoscaler.max);
        for (unsigned k = 0; group->name != NULL && k < n; k++) {
            g_autofree char *number = g_strdup_printf("%u", group->first + k);
            g_autofree char *name = g_strjoinv(number, parts);
            const char *kept = schema_intern(&loader->reader, name);
            g_ptr_array_add(self->node_list, (char *)kept); /* borrowed */
            if (!g_hash_table_add(self->node_names, (char *)kept)) {
                SchemaJump jump = schema_go(&loader->reader, &groups[i].at, groups[i].path);
                schema_fault_member(&loader->reader, groups[i].source, "name",
                                    "\"first\" sets the first number",
                                    "there is a node \"%s\" already", name);
                schema_come_back(&loader->reader, jump);
                break;
            }
        }
    }
}

/* ---- All checks ---- */

static void
checker_init(Checker *self, Loader *loader)
{
    *self = (Checker){
        .loader = loader,
        .known = g_hash_table_new(NULL, NULL),
        .class_names = g_hash_table_new(g_str_hash, g_str_equal),
        .node_names = g_hash_table_new(g_str_hash, g_str_equal),
        .driver_names = g_hash_table_new(g_str_hash, g_str_equal),
        .node_list = g_ptr_array_new(),
    };
}

static void
checker_clear(Checker *self)
{
    g_hash_table_unref(self->known);
    g_hash_table_unref(self->class_names);
    g_hash_table_unref(self->node_names);
    g_hash_table_unref(self->driver_names);
    g_ptr_array_unref(self->node_list);
}

static void
gather_objects(Checker *self)
{
    const GArray *manifests = self->loader->manifests;

    for (unsigned i = 0; i < manifests->len; i++)
        if (g_array_index(manifests, ManifestInfo, i).object != NULL)
            gather_object(self, &g_array_index(manifests, ManifestInfo, i));
}

void
loader_check_duplicates(Loader *loader)
{
    Checker self;

    checker_init(&self, loader);
    gather_objects(&self);
    checker_clear(&self);
}

void
loader_check_references(Loader *loader)
{
    Checker self;

    checker_init(&self, loader);
    gather_nodes(&self);
    checker_check_nodes(&self);
    for (unsigned i = 0; i < loader->scenario.n_drivers; i++)
        if (loader->scenario.drivers[i].name != NULL)
            g_hash_table_add(self.driver_names, loader->scenario.drivers[i].name);
    const char *local_path = scenario_local_path_provisioner(&loader->scenario);
    if (local_path != NULL)
        g_hash_table_add(self.driver_names, (char *)local_path);
    gather_objects(&self);
    for (unsigned i = 0; i < loader->manifests->len; i++)
        if (g_array_index(loader->manifests, ManifestInfo, i).object != NULL)
            checker_check_manifest(&self, &g_array_index(loader->manifests, ManifestInfo, i));
    checker_check_drivers(&self);
    loader_check_topology(loader);
    checker_check_actions(&self);
    checker_check_expects(&self);
    checker_clear(&self);
}
