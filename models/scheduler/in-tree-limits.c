/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "in-tree-limits.h"

#include <string.h>

/* VF-7: EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits (nodevolumelimits/non_csi.go). */

#define NO_PLUGINS_SINCE 31 /* not among the default plugins any more */
#define EBS_MAX 39
#define EBS_NITRO_MAX 25 /* m5, c5, r5, t3, z1d */

static const struct {
    const char *plugin;
    NodeDisks disks;
    int32_t limit; /* the default */
} limits[] = {
    {"kubernetes.io/aws-ebs",    NODE_EBS_DISKS,    EBS_MAX},
    {"kubernetes.io/azure-disk", NODE_AZURE_DISKS,  16     },
    {"kubernetes.io/cinder",     NODE_CINDER_DISKS, 256    },
    {"kubernetes.io/gce-pd",     NODE_GCE_DISKS,    16     },
};

static int
row_of(const char *plugin)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(limits); i++)
        if (strcmp(limits[i].plugin, plugin) == 0)
            return (int)i;
    return -1;
}

gboolean
in_tree_limit_counts(const InTreePlugin *plugin)
{
    return plugin != NULL && row_of(in_tree_plugin_name(plugin)) >= 0;
}

/* The pattern of Kubernetes is ^[cmr]5.*|t3|z1d: the last two may stand anywhere. */
static gboolean
is_nitro(const Node *node)
{
    const char *type = object_label(&node->meta, "node.kubernetes.io/instance-type");

    if (type == NULL)
        type = object_label(&node->meta, "beta.kubernetes.io/instance-type");
    if (type == NULL)
        return FALSE;
    return (strchr("cmr", type[0]) != NULL && type[0] != '\0' && type[1] == '5') ||
           strstr(type, "t3") != NULL || strstr(type, "z1d") != NULL;
}

int32_t
in_tree_limit(const Node *node, const char *driver, int32_t max_pd_vols, int minor)
{
    int row = row_of(driver);

    if (row < 0 || minor >= NO_PLUGINS_SINCE)
        return -1;
    if (node->allocatable.has_disks[limits[row].disks])
        return node->allocatable.disks[limits[row].disks];
    if (max_pd_vols > 0)
        return max_pd_vols;
    return limits[row].disks == NODE_EBS_DISKS && is_nitro(node) ? EBS_NITRO_MAX
                                                                 : limits[row].limit;
}
