/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits of in-tree disks on a node: EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits
 * (nodevolumelimits/non_csi.go, VF-7), default plugins until 1.30. The first number that exists
 * counts: the one in the Node's status, the one that the cloud's kubelet would report for the
 * instance type, KUBE_MAX_PD_VOLS, the default of the plugin. */
#include "in-tree-limits.h"

#include <string.h>

#define NO_PLUGINS_SINCE 31 /* not among the default plugins any more */
#define EBS_MAX 39
#define EBS_NITRO_MAX 25 /* m5, c5, r5, t3, z1d */
#define AZURE_MAX 16
#define GCE_MAX 127 /* VF-7, as GCE_SMALL_MAX: gce_pd.go, GetVolumeLimits() */
#define GCE_SMALL_MAX 15

static const struct {
    const char *plugin;
    NodeDisks disks;
    int32_t limit; /* the default */
} limits[] = {
    {"kubernetes.io/aws-ebs",    NODE_EBS_DISKS,    EBS_MAX  },
    {"kubernetes.io/azure-disk", NODE_AZURE_DISKS,  AZURE_MAX},
    {"kubernetes.io/cinder",     NODE_CINDER_DISKS, 256      },
    {"kubernetes.io/gce-pd",     NODE_GCE_DISKS,    16       },
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

/* VF-7: the sizes of machines whose number is not 16, as of 1.22; without Standard_ in front
 * (azure_dd_max_disk_count.go, maxDataDiskCountMap). */
/* clang-format off */
static const struct {
    int32_t limit;
    const char *sizes;
} azure_sizes[] = {
    {1,
     "A0 BASIC_A0 DC1S_V2"},
    {2,
     "A1 A1_V2 B1LS B1MS B1S BASIC_A1 DC2S DC2S_V2"},
    {4,
     "A2 A2M_V2 A2_V2 A5 B2MS B2S BASIC_A2 D1 D1_V2 D2AS_V4 D2A_V4 D2DS_V4 D2D_V4 D2S_V3 "
     "D2S_V4 D2_V3 D2_V4 DC4S DC4S_V2 DS1 DS1_V2 E2AS_V4 E2A_V4 E2DS_V4 E2D_V4 E2S_V3 "
     "E2S_V4 E2_V3 E2_V4 F1 F1S F2S_V2 HB60RS HC44RS"},
    {8,
     "A3 A4M_V2 A4_V2 A6 B4MS BASIC_A3 D11 D11_V2 D11_V2_PROMO D2 D2_V2 D2_V2_PROMO "
     "D4AS_V4 D4A_V4 D4DS_V4 D4D_V4 D4S_V3 D4S_V4 D4_V3 D4_V4 DC8_V2 DS11 DS11-1_V2 "
     "DS11_V2 DS11_V2_PROMO DS2 DS2_V2 DS2_V2_PROMO E4-2DS_V4 E4-2S_V3 E4-2S_V4 E4AS_V4 "
     "E4A_V4 E4DS_V4 E4D_V4 E4S_V3 E4S_V4 E4_V3 E4_V4 F2 F2S F4S_V2 G1 GS1 HB120RS_V2 "
     "M8-2MS M8-4MS M8MS ND40RS_V2 NP10S NV4AS_V4"},
    {12,
     "NC6S_V2 NC6S_V3 ND6S NV12S_V3 NV6S_V2 PB6S"},
    {24,
     "NC12S_V2 NC12S_V3 NC6 NC6_PROMO ND12S NV12S_V2 NV24S_V3 NV6 NV6_PROMO"},
    {32,
     "A10 A8 B16MS B20MS D13 D13_V2 D13_V2_PROMO D16AS_V4 D16A_V4 D16DS_V4 D16D_V4 "
     "D16S_V3 D16S_V4 D16_V3 D16_V4 D32AS_V4 D32A_V4 D32DS_V4 D32D_V4 D32S_V3 D32S_V4 "
     "D32_V3 D32_V4 D4 D48AS_V4 D48A_V4 D48DS_V4 D48D_V4 D48S_V3 D48S_V4 D48_V3 D48_V4 "
     "D4_V2 D4_V2_PROMO D64AS_V4 D64A_V4 D64DS_V4 D64D_V4 D64S_V3 D64S_V4 D64_V3 D64_V4 "
     "D96AS_V4 D96A_V4 DS13 DS13-2_V2 DS13-4_V2 DS13_V2 DS13_V2_PROMO DS4 DS4_V2 "
     "DS4_V2_PROMO E16-4DS_V4 E16-4S_V3 E16-4S_V4 E16-8DS_V4 E16-8S_V3 E16-8S_V4 "
     "E16AS_V4 E16A_V4 E16DS_V4 E16D_V4 E16S_V3 E16S_V4 E16_V3 E16_V4 E20AS_V4 E20A_V4 "
     "E20DS_V4 E20D_V4 E20S_V3 E20S_V4 E20_V3 E20_V4 E32-16DS_V4 E32-16S_V3 E32-16S_V4 "
     "E32-8DS_V4 E32-8S_V3 E32-8S_V4 E32AS_V4 E32A_V4 E32DS_V4 E32D_V4 E32S_V3 E32S_V4 "
     "E32_V3 E32_V4 E48AS_V4 E48A_V4 E48DS_V4 E48D_V4 E48S_V3 E48S_V4 E48_V3 E48_V4 "
     "E64-16DS_V4 E64-16S_V3 E64-16S_V4 E64-32DS_V4 E64-32S_V3 E64-32S_V4 E64AS_V4 "
     "E64A_V4 E64DS_V4 E64D_V4 E64IS_V3 E64I_V3 E64S_V3 E64S_V4 E64_V3 E64_V4 E96AS_V4 "
     "E96A_V4 F16S_V2 F32S_V2 F48S_V2 F64S_V2 F72S_V2 F8 F8S G3 GS3 H8 H8M H8M_PROMO "
     "H8_PROMO L16S_V2 L32S_V2 L48S_V2 L64S_V2 L80S_V2 L8S M32-16MS M32-8MS M32LS M32MS "
     "M32TS NC24RS_V2 NC24RS_V3 NC24S_V2 NC24S_V3 ND24RS ND24S ND40S_V3 NP40S NV16AS_V4 "
     "NV24S_V2 NV32AS_V4 NV48S_V3"},
    {48,
     "NC12 NC12_PROMO NV12 NV12_PROMO"},
    {64,
     "A11 A9 D14 D14_V2 D14_V2_PROMO D15_V2 D5_V2 D5_V2_PROMO DS14 DS14-4_V2 DS14-8_V2 "
     "DS14_V2 DS14_V2_PROMO DS15_V2 DS5_V2 DS5_V2_PROMO F16 F16S G4 G5 GS4 GS4-4 GS4-8 "
     "GS5 GS5-16 GS5-8 H16 H16M H16MR H16MR_PROMO H16M_PROMO H16R H16R_PROMO H16_PROMO "
     "L16S L32S M128 M128-32MS M128-64MS M128M M128MS M128S M208MS_V2 M208S_V2 "
     "M416-208MS_V2 M416-208S_V2 M416MS_V2 M416S_V2 M64 M64-16MS M64-32MS M64LS M64M "
     "M64MS M64S NC24 NC24R NC24R_PROMO NC24_PROMO NV24 NV24_PROMO"},
};
/* clang-format on */

static gboolean
has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; length > 0 && (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return TRUE;
    return FALSE;
}

/* A kubelet with Azure's cloud provider reports a limit by the machine's size. Returns: -1: not one
 * of Azure's machines. */
static int32_t
told_by_azure(const char *type)
{
    g_autofree char *upper = g_ascii_strup(type, -1);
    const char *size = g_str_has_prefix(upper, "STANDARD_") ? upper + strlen("STANDARD_") : upper;

    if (size == upper && !g_str_has_prefix(upper, "BASIC_"))
        return -1;
    for (unsigned i = 0; i < G_N_ELEMENTS(azure_sizes); i++)
        if (has_word(azure_sizes[i].sizes, size))
            return azure_sizes[i].limit;
    return AZURE_MAX;
}

/* The limit for the cloud's disks that the kubelet of a machine of this type reports. Returns: -1:
 * none */
static int32_t
told_by_cloud(NodeDisks disks, const char *type)
{
    if (type == NULL)
        return -1;
    return disks == NODE_GCE_DISKS     ? told_by_google(type)
           : disks == NODE_AZURE_DISKS ? told_by_azure(type)
                                       : -1;
}

int32_t
in_tree_limit(const Node *node, const char *driver, int32_t max_pd_vols, int minor)
{
    int row = row_of(driver);
    const char *type = instance_type(node);

    if (row < 0 || minor >= NO_PLUGINS_SINCE)
        return -1;
    if (node->allocatable.disks[limits[row].disks] >= 0)
        return node->allocatable.disks[limits[row].disks];
    int32_t told = told_by_cloud(limits[row].disks, type);
    if (told >= 0)
        return told;
    if (max_pd_vols > 0)
        return max_pd_vols;
    return limits[row].disks == NODE_EBS_DISKS && type != NULL && is_nitro(type)
               ? EBS_NITRO_MAX
               : limits[row].limit;
}
