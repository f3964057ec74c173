/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/api/fields.h"
#include "models/cluster/model.h"
#include "models/scheduler/disks.h"
#include "models/scheduler/in-tree-limits.h"
#include "tests/lib/test.h"

#include <string.h>

const ModelClass *const model_classes[] = {NULL};

#define EBS "kubernetes.io/aws-ebs"
#define STABLE "node.kubernetes.io/instance-type"
#define BETA "beta.kubernetes.io/instance-type"

/* VF-7 */
static const struct {
    const char *plugin, *label, *type, *told; /* NULL: none */
    int32_t max_pd_vols, limit;
} cases[] = {
    {EBS,                            NULL,   NULL,                 NULL, 0,  39 },
    {EBS,                            STABLE, "m5.large",           NULL, 0,  25 },
    {EBS,                            BETA,   "c5d.xlarge",         NULL, 0,  25 },
    {EBS,                            STABLE, "r5.large",           NULL, 0,  25 },
    {EBS,                            STABLE, "t3.small",           NULL, 0,  25 },
    {EBS,                            STABLE, "z1d.large",          NULL, 0,  25 },
    {EBS,                            STABLE, "m4.large",           NULL, 0,  39 },
    {EBS,                            STABLE, "i3.large",           NULL, 0,  39 },
    {EBS,                            STABLE, "x.t3",               NULL, 0,  25 }, /* as the pattern has it */
    {EBS,                            STABLE, "",                   NULL, 0,  39 },
    {EBS,                            STABLE, "m5.large",           NULL, 7,  7  },
    {EBS,                            STABLE, "m5.large",           "3",  7,  3  },
    {EBS,                            NULL,   NULL,                 "0",  0,  0  },
    {"kubernetes.io/gce-pd",         NULL,   NULL,                 "3",  0,  16 }, /* told of EBS */
    {"kubernetes.io/gce-pd",         STABLE, "n1-standard-1",      NULL, 7,  127}, /* its kubelet says so */
    {"kubernetes.io/gce-pd",         STABLE, "e2-small",           NULL, 0,  15 },
    {"kubernetes.io/azure-disk",     NULL,   NULL,                 NULL, 0,  16 },
    {"kubernetes.io/azure-disk",     NULL,   NULL,                 NULL, 20, 20 },
    {"kubernetes.io/azure-disk",     STABLE, "Standard_D2s_v3",    NULL, 0,  4  }, /* its kubelet says so */
    {"kubernetes.io/azure-disk",     STABLE, "Standard_D16s_v3",   NULL, 7,  32 },
    {"kubernetes.io/azure-disk",     STABLE, "Standard_DS14-4_v2", NULL, 0,  64 },
    {"kubernetes.io/azure-disk",     STABLE, "Standard_D8s_v3",    NULL, 7,  16 }, /* not in the table */
    {"kubernetes.io/azure-disk",     BETA,   "Basic_A1",           NULL, 0,  2  },
    {"kubernetes.io/azure-disk",     STABLE, "Standard_E3",        NULL, 7,  16 }, /* the beginning of others */
    {"kubernetes.io/azure-disk",     STABLE, "m5.large",           NULL, 7,  7  }, /* another cloud's */
    {"kubernetes.io/cinder",         NULL,   NULL,                 NULL, 0,  256},
    {"kubernetes.io/vsphere-volume", NULL,   NULL,                 NULL, 5,  -1 },
    {"ebs.csi.aws.com",              NULL,   NULL,                 NULL, 5,  -1 },
};

static void
in_tree_limits_no_fault(ApiParser *parser,
                        const json_t *where,
                        const char *message,
                        const char *hint)
{
    (void)parser;
    (void)where;
    (void)hint;
    fail_msg("%s", message);
}

/* Returns: (owned) */
static Object *
in_tree_limits_node_of(Objects *objects, unsigned row)
{
    g_autoptr(GString) path = g_string_new(NULL);
    ApiParser parser = {.objects = objects, .report = in_tree_limits_no_fault, .path = path};
    json_t *manifest = json_pack("{s:{s:s}}", "metadata", "name", "n");

    if (cases[row].label != NULL)
        json_object_set_new(json_object_get(manifest, "metadata"), "labels",
                            json_pack("{s:s}", cases[row].label, cases[row].type));
    if (cases[row].told != NULL)
        json_object_set_new(
            manifest, "status",
            json_pack("{s:{s:s}}", "allocatable", "attachable-volumes-aws-ebs", cases[row].told));
    Object *node =
        api_parser_template(&parser, manifest, objects_key(objects, KIND_NODE, NULL, "n"));
    json_decref(manifest);
    return node;
}

TEST(nodes_take_disks)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        Objects *objects = objects_new(1);
        Object *node = in_tree_limits_node_of(objects, i);
        int32_t limit =
            in_tree_limit((const Node *)node, cases[i].plugin, cases[i].max_pd_vols, 20);
        if (limit != cases[i].limit)
            fail_msg("row %u: %d", i, limit);
        object_unref(node);
        objects_free(objects);
    }
}

/* The plugins are not among the default ones since 1.31. */
TEST(later_releases_have_no_limit)
{
    Objects *objects = objects_new(1);
    Object *node = in_tree_limits_node_of(objects, 0);

    assert_int_equal(in_tree_limit((const Node *)node, EBS, 0, 30), 39);
    assert_int_equal(in_tree_limit((const Node *)node, EBS, 0, 31), -1);
    object_unref(node);
    objects_free(objects);
}

/* ---- VF-34: disks that pods name themselves ---- */

typedef struct {
    const char *plugin, *handle, *monitors; /* "m1 m2"; of iSCSI the target; NULL: none */
    gboolean read_only;
} Disk;

/* Returns: (owned) */
static Pod *
pod_with(Objects *objects, const char *name, const Disk *disk)
{
    Strings *strings = objects_strings(objects);
    Pod *pod = POD(object_new(objects_key(objects, KIND_POD, "default", name)));
    g_auto(GStrv) monitors = g_strsplit(disk->monitors == NULL ? "" : disk->monitors, " ", -1);
    StringPair pairs[4];
    unsigned n = 0;

    for (; monitors[n] != NULL; n++)
        pairs[n] = (StringPair){strings_intern(strings, monitors[n]), strings_intern(strings, "")};
    const VolumeSource source = {.plugin = disk->plugin,
                                 .handle = strings_intern(strings, disk->handle),
                                 .attributes = n == 0 ? NULL : string_map_new(pairs, n),
                                 .read_only = disk->read_only,
                                 .is_inline = TRUE};
    const PodVolume volume = {.source = volume_source_new(&source)};
    pod->volumes = pod_volumes_new_with_inline(&volume, 0, 1);
    return pod;
}

TEST(pods_share_no_disk)
{
    static const struct {
        Disk one, other;
        gboolean conflict;
    } rows[] = {
        {{"gcePersistentDisk", "d", NULL, FALSE},   {"gcePersistentDisk", "d", NULL, FALSE}, TRUE },
        {{"gcePersistentDisk", "d", NULL, FALSE},   {"gcePersistentDisk", "e", NULL, FALSE}, FALSE},
        {{"gcePersistentDisk", "d", NULL, TRUE},    {"gcePersistentDisk", "d", NULL, FALSE}, TRUE },
        {{"gcePersistentDisk", "d", NULL, TRUE},    {"gcePersistentDisk", "d", NULL, TRUE},  FALSE},
        {{"gcePersistentDisk", "d", NULL, FALSE},
         {"awsElasticBlockStore", "d", NULL, FALSE},
         FALSE                                                                                    },
        {{"awsElasticBlockStore", "d", NULL, TRUE},
         {"awsElasticBlockStore", "d", NULL, TRUE},
         TRUE                                                                                     },
        {{"iscsi", "d", "iqn-1", FALSE},            {"iscsi", "e", "iqn-1", FALSE},          TRUE },
        {{"iscsi", "d", "iqn-1", FALSE},            {"iscsi", "d", "iqn-2", FALSE},          FALSE},
        {{"rbd", "pool/i", "m1 m2", FALSE},         {"rbd", "pool/i", "m2 m3", FALSE},       TRUE },
        {{"rbd", "pool/i", "m1 m2", FALSE},         {"rbd", "pool/i", "m3", FALSE},          FALSE},
        {{"rbd", "pool/i", "m1", FALSE},            {"rbd", "pool/j", "m1", FALSE},          FALSE},
        {{"rbd", "pool/i", "m1", TRUE},             {"rbd", "pool/i", "m1", TRUE},           FALSE},
        {{"nfs", "d", NULL, FALSE},                 {"nfs", "d", NULL, FALSE},               FALSE},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Objects *objects = objects_new(1);
        Pod *one = pod_with(objects, "one", &rows[i].one);
        Pod *other = pod_with(objects, "other", &rows[i].other);
        if (pods_want_one_disk(one, other) != rows[i].conflict)
            fail_msg("row %u", i);
        assert_int_equal(pod_has_exclusive_disks(one), strcmp(rows[i].one.plugin, "nfs") != 0);
        object_unref(&one->meta);
        object_unref(&other->meta);
        objects_free(objects);
    }
}
