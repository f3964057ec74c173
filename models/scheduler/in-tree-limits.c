/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "in-tree-limits.h"

#include <string.h>

/* VF-7: EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits (nodevolumelimits/non_csi.go). */

#define NO_PLUGINS_SINCE 31 /* not among the default plugins any more */
#define EBS_MAX 39
#define EBS_NITRO_MAX 25 /* m5, c5, r5, t3, z1d */
#define GCE_MAX 127      /* VF-7, as GCE_SMALL_MAX: gce_pd.go, GetVolumeLimits() */
#define GCE_SMALL_MAX 15

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

/* Returns: (nullable) */
static const char *
instance_type(const Node *node)
{
    const char *type = object_label(&node->meta, "node.kubernetes.io/instance-type");

    return type != NULL ? type : object_label(&node->meta, "beta.kubernetes.io/instance-type");
}

/* The pattern of Kubernetes is ^[cmr]5.*|t3|z1d: the last two may stand anywhere. */
static gboolean
is_nitro(const char *type)
{
    return (strchr("cmr", type[0]) != NULL && type[0] != '\0' && type[1] == '5') ||
           strstr(type, "t3") != NULL || strstr(type, "z1d") != NULL;
}

/* A kubelet with Google's cloud provider tells its Node: a machine with a type has one. */
static int32_t
told_by_google(const char *type)
{
    static const char *const small[] = {"f1-micro", "g1-small", "e2-micro", "e2-small",
                                        "e2-medium"};

    for (unsigned i = 0; i < G_N_ELEMENTS(small); i++)
        if (strcmp(type, small[i]) == 0)
            return GCE_SMALL_MAX;
    return GCE_MAX;
}

int32_t
in_tree_limit(const Node *node, const char *driver, int32_t max_pd_vols, int minor)
{
    int row = row_of(driver);
    const char *type = instance_type(node);

    if (row < 0 || minor >= NO_PLUGINS_SINCE)
        return -1;
    if (node->allocatable.has_disks[limits[row].disks])
        return node->allocatable.disks[limits[row].disks];
    if (limits[row].disks == NODE_GCE_DISKS && type != NULL)
        return told_by_google(type);
    if (max_pd_vols > 0)
        return max_pd_vols;
    return limits[row].disks == NODE_EBS_DISKS && type != NULL && is_nitro(type)
               ? EBS_NITRO_MAX
               : limits[row].limit;
}
