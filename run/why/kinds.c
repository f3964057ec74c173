/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects that do not wait themselves, but have others wait for them: classes, CSINodes, drivers,
 * processes and their Leases, quotas. The answer for such an object is the fault of the part that
 * serves it. A driver is looked at as a whole: its faults, each sidecar that the cluster has, and
 * its plugin on each node. */
#include "question.h"

#include <string.h>

#include "models/api/field.h"
#include "models/api/quota/quota.h"
#include "models/external-attacher/external-attacher.h"
#include "models/external-provisioner/external-provisioner.h"
#include "models/external-resizer/external-resizer.h"
#include "models/external-snapshotter/external-snapshotter.h"

static const ProcessClass *const sidecars[] = {
    &external_provisioner_process,
    &external_attacher_process,
    &external_resizer_process,
    &external_snapshotter_process,
};

/* A part of the driver that the cluster has, and that does not work. */
static gboolean
ask_driver(Question *self, const char *driver)
{
    const GPtrArray *nodes = why_list(self, KIND_NODE);

    if (why_ask_driver_fault(self, driver, NULL))
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(sidecars); i++)
        if ((cluster_is_running(self->cluster, sidecars[i]->name, driver) ||
             why_fault_of(self, FAULT_OF_PROCESS, sidecars[i]->name, driver) != NULL) &&
            why_ask_driver(self, driver, sidecars[i], NULL))
            return TRUE;
    for (unsigned i = 0; i < nodes->len; i++) {
        const Node *node = nodes->pdata[i];
        if (!why_is_silent(node) &&
            why_get(self, KIND_CSI_NODE, NULL, object_name(&node->meta)) != NULL &&
            why_ask_driver(self, driver, NULL, object_name(&node->meta)))
            return TRUE;
    }
    return FALSE;
}

/* A class is served by a sidecar of its driver. */
static gboolean
ask_class(Question *self, const Object *object)
{
    const ObjectKind kind = object->key->kind;
    const char *driver = kind == KIND_STORAGE_CLASS      ? STORAGE_CLASS(object)->provisioner
                         : kind == KIND_ATTRIBUTES_CLASS ? ((const AttributesClass *)object)->driver
                                                         : ((const SnapshotClass *)object)->driver;
    const ProcessClass *sidecar = kind == KIND_STORAGE_CLASS      ? &external_provisioner_process
                                  : kind == KIND_ATTRIBUTES_CLASS ? &external_resizer_process
                                                                  : &external_snapshotter_process;

    if (driver == NULL || g_str_has_prefix(driver, "kubernetes.io/"))
        return FALSE;
    const unsigned n_links = self->why->chain->len;
    why_link(self, object, object->created_at, "is served by %s", driver);
    if (why_ask_driver(self, driver, sidecar, NULL))
        return TRUE;
    g_ptr_array_set_size(self->why->chain, (int)n_links);
    return FALSE;
}

/* The plugins that a node lacks. */
static gboolean
ask_csi_node(Question *self, const Object *object)
{
    const char *node = object_name(object);

    for (unsigned i = 0; i < cluster_n_drivers(self->cluster); i++)
        if (!cluster_node_plugin(self->cluster, i)->in_process &&
            cluster_plugin_runs_on(self->cluster, i, node) &&
            why_ask_driver(self, csi_driver_name(cluster_driver(self->cluster, i)), NULL, node))
            return TRUE;
    return FALSE;
}

static gboolean
ask_lease(Question *self, const Object *object)
{
    const char *name = object_name(object);

    if (strcmp(object->key->namespace, "kube-node-lease") == 0) {
        const Object *node = why_get(self, KIND_NODE, NULL, name);
        return node != NULL && why_ask_node(self, (const Node *)node);
    }
    for (unsigned i = 0; i < cluster_n_drivers(self->cluster); i++) {
        const char *driver = csi_driver_name(cluster_driver(self->cluster, i));
        for (unsigned k = 0; k < G_N_ELEMENTS(sidecars); k++) {
            const Lease *lease = why_lease(self, sidecars[k]->name, driver);
            if (lease != NULL && &lease->meta == object)
                return why_ask_process(self, sidecars[k]->name, driver);
        }
    }
    return why_lease(self, name, NULL) != NULL && why_ask_process(self, name, NULL);
}

static gboolean
ask_quota(Question *self, const Object *object)
{
    const ResourceQuota *quota = RESOURCE_QUOTA_CONST(object);
    char limit[QUANTITY_BUFFER];

    for (unsigned i = 0; quota->status_hard != NULL && i < quota->status_hard->n_items; i++) {
        const ResourceAmount *hard = &quota->status_hard->items[i];
        const ResourceAmount *used = resource_amounts_find(quota->used, hard->name);
        if (used == NULL || used->value < hard->value)
            continue;
        why_link(self, object, TIME_UNSET, "is used up: %s of %s",
                 resource_amount_format(hard, limit), hard->name);
        return why_because(self, "quota");
    }
    return FALSE;
}

gboolean
why_ask_other(Question *self, const Object *object)
{
    switch ((int)object->key->kind) {
    case KIND_STORAGE_CLASS:
    case KIND_ATTRIBUTES_CLASS:
    case KIND_SNAPSHOT_CLASS:
    case KIND_GROUP_CLASS:
        return ask_class(self, object);
    case KIND_CSI_NODE:
        return ask_csi_node(self, object);
    case KIND_CSI_DRIVER:
        return ask_driver(self, object_name(object));
    case KIND_LEASE:
        return ask_lease(self, object);
    case KIND_RESOURCE_QUOTA:
        return ask_quota(self, object);
    default:
        return FALSE;
    }
}

gboolean
why_ask_named(Question *self, const char *name, gboolean *exists)
{
    const char *slash = strchr(name, '/');
    g_autofree char *kind = slash == NULL ? NULL : g_strndup(name, (gsize)(slash - name));
    unsigned number;

    *exists = FALSE;
    if (g_strcmp0(kind, "driver") == 0) {
        *exists = cluster_find_driver_number(self->cluster, slash + 1, &number);
        return *exists && ask_driver(self, slash + 1);
    }
    if (g_strcmp0(kind, "lease") == 0) { /* heartbeats.h: the nodes' Leases are no objects here */
        const Object *node = why_get(self, KIND_NODE, NULL, slash + 1);
        *exists = node != NULL;
        return *exists && why_ask_node(self, (const Node *)node);
    }
    if (g_strcmp0(kind, "process") != 0)
        return FALSE;
    const char *instance = strchr(slash + 1, '/');
    g_autofree char *process = instance == NULL
                                   ? g_strdup(slash + 1)
                                   : g_strndup(slash + 1, (gsize)(instance - slash - 1));
    *exists = cluster_has_process(self->cluster, process, instance == NULL ? NULL : instance + 1);
    return *exists && why_ask_process(self, process, instance == NULL ? NULL : instance + 1);
}
