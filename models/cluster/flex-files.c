/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster-private.h"

/* The directories of FlexVolume drivers on machines (FLX-45): all exist from the start, so only the
 * touched ones are stored. */

typedef struct {
    gboolean is_gone;
    unsigned n_changes;
} FlexFiles;

#define EVERYWHERE "*"
#define CONTROL_PLANE "" /* the machine of kube-controller-manager */

static FlexFiles *
find_files(const Cluster *self, const char *driver, const char *machine)
{
    g_autofree char *key = g_strconcat(driver, "\n", machine, NULL);

    return self->flex_files == NULL ? NULL : g_hash_table_lookup(self->flex_files, key);
}

static FlexFiles *
make_files(Cluster *self, const char *driver, const char *machine)
{
    FlexFiles *files = find_files(self, driver, machine);

    if (files == NULL) {
        if (self->flex_files == NULL)
            self->flex_files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        files = g_new0(FlexFiles, 1);
        g_hash_table_insert(self->flex_files, g_strconcat(driver, "\n", machine, NULL), files);
    }
    return files;
}

gboolean
cluster_has_flex_driver(const Cluster *self, const char *driver, const char *node)
{
    const FlexFiles *here = find_files(self, driver, node == NULL ? CONTROL_PLANE : node);
    const FlexFiles *all = find_files(self, driver, EVERYWHERE);

    return (here == NULL || !here->is_gone) && (all == NULL || !all->is_gone);
}

unsigned
cluster_flex_driver_changes(const Cluster *self, const char *driver, const char *node)
{
    const FlexFiles *here = find_files(self, driver, node == NULL ? CONTROL_PLANE : node);
    const FlexFiles *all = find_files(self, driver, EVERYWHERE);

    return (here == NULL ? 0 : here->n_changes) + (all == NULL ? 0 : all->n_changes);
}

void
cluster_set_flex_driver(Cluster *self, const char *driver, const char *node, gboolean is_there)
{
    FlexFiles *files = make_files(self, driver, node == NULL ? EVERYWHERE : node);

    files->is_gone = !is_there;
    files->n_changes++;
    for (unsigned i = 0; i < self->instances->len; i++) {
        const Instance *instance = self->instances->pdata[i];
        if (node == NULL || instance == cluster_node_agent(self, node))
            instance_tell_machine_event(instance, &(MachineEvent){.what = MACHINE_FLEX_CHANGED});
    }
}
