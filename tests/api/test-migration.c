/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Odd texts in what k8s.io/csi-translation-lib translates: the answers of its 1.32. */
#include "models/api/migration/migration.h"
#include "tests/api/api-test.h"
#include "tests/lib/test.h"

#include <string.h>

typedef json_t *(*MigrationTranslate)(const InTreePlugin *plugin,
                                      const json_t *given,
                                      GError **error);

typedef struct {
    const char *name;
    MigrationTranslate translate;
    const char *plugin;   /* without "kubernetes.io/" */
    const char *given;    /* in short: see the wrappers */
    const char *expected; /* NULL: an error */
    const char *error;    /* a part of its text; NULL: any */
} TranslationCase;

/* The source of the PersistentVolume with the source @given, as its spec.csi. */
static json_t *
volume_to_csi(const InTreePlugin *plugin, const json_t *given, GError **error)
{
    json_t *volume = json_pack("{s:{s:s}, s:O}", "metadata", "name", "pv", "spec", given);
    json_t *translated = in_tree_plugin_volume_to_csi(plugin, volume, error), *csi = NULL;

    if (translated != NULL)
        csi = json_incref(json_object_get(json_object_get(translated, "spec"), "csi"));
    json_decref(volume);
    json_decref(translated);
    return csi;
}

/* The same for a volume that stands in a pod of the namespace "web". */
static json_t *
inline_to_csi(const InTreePlugin *plugin, const json_t *given, GError **error)
{
    json_t *translated = in_tree_plugin_inline_to_csi(plugin, given, "web", error), *csi = NULL;

    if (translated != NULL)
        csi = json_incref(json_object_get(json_object_get(translated, "spec"), "csi"));
    json_decref(translated);
    return csi;
}

/* The way back, from spec.csi to the plugin's source. */
static json_t *
volume_from_csi(const InTreePlugin *plugin, const json_t *given, GError **error)
{
    json_t *volume =
        json_pack("{s:{s:s}, s:{s:O}}", "metadata", "name", "pv", "spec", "csi", given);
    json_t *translated = in_tree_plugin_volume_from_csi(plugin, volume, error), *source = NULL;

    if (translated != NULL)
        source = json_incref(
            json_object_get(json_object_get(translated, "spec"), in_tree_plugin_source(plugin)));
    json_decref(volume);
    json_decref(translated);
    return source;
}

static json_t *
class_to_csi(const InTreePlugin *plugin, const json_t *given, GError **error)
{
    return in_tree_plugin_class_to_csi(plugin, given, error);
}

/* Tables whose rows end in NULL make clang-format 14 crash. */
/* clang-format off */
static const TranslationCase cases[] = {
    /* MIG-30: the id is an URL */
    {"an EBS id with a query", volume_to_csi, "aws-ebs",
     "{'awsElasticBlockStore': {'volumeID': 'aws://us-west-2a/vol-1?x=y#z'}}",
     "{'driver': 'ebs.csi.aws.com', 'volumeHandle': 'vol-1', 'volumeAttributes': {'partition': '0'}}",
     NULL},
    {"an EBS id with an escape", volume_to_csi, "aws-ebs",
     "{'awsElasticBlockStore': {'volumeID': 'aws:///vol-%41'}}",
     "{'driver': 'ebs.csi.aws.com', 'volumeHandle': 'vol-A', 'volumeAttributes': {'partition': '0'}}",
     NULL},
    {"an EBS id with a bad escape", volume_to_csi, "aws-ebs",
     "{'awsElasticBlockStore': {'volumeID': 'aws://us-west-2a/vol-%zz'}}", NULL,
     "Invalid disk name"},
    {"an EBS id below a folder", volume_to_csi, "aws-ebs",
     "{'awsElasticBlockStore': {'volumeID': 'aws://us-west-2a/x/vol-1'}}", NULL,
     "Invalid format for AWS volume (aws://us-west-2a/x/vol-1)"},
    {"an EBS id of another scheme", volume_to_csi, "aws-ebs",
     "{'awsElasticBlockStore': {'volumeID': 'gce://vol-1', 'partition': 3}}",
     "{'driver': 'ebs.csi.aws.com', 'volumeHandle': 'gce://vol-1',"
     " 'volumeAttributes': {'partition': '3'}}",
     NULL},
    /* Only Google's disks may have an empty partition */
    {"an empty partition of EBS", volume_from_csi, "aws-ebs",
     "{'volumeHandle': 'vol-1', 'volumeAttributes': {'partition': ''}}", NULL,
     "failed to convert partition"},
    {"no partition of EBS", volume_from_csi, "aws-ebs", "{'volumeHandle': 'vol-1'}",
     "{'volumeID': 'vol-1'}", NULL},
    {"an empty partition of PD", volume_from_csi, "gce-pd",
     "{'volumeHandle': 'projects/p/zones/z/disks/d/more', 'volumeAttributes': {'partition': ''}}",
     "{'pdName': 'd'}", NULL},
    {"a partition of more than 32 bits", volume_from_csi, "gce-pd",
     "{'volumeHandle': 'projects/p/zones/z/disks/d', 'volumeAttributes': {'partition': '4294967297'}}",
     "{'pdName': 'd', 'partition': 1}", NULL},
    {"a partition that is no number", volume_from_csi, "gce-pd",
     "{'volumeHandle': 'projects/p/zones/z/disks/d', 'volumeAttributes': {'partition': 'p1'}}", NULL,
     "partition p1"},
    {"a handle of PD that is too short", volume_from_csi, "gce-pd", "{'volumeHandle': 'd'}", NULL,
     "Got: 1, wanted 6 components or more"},
    /* MIG-40: fields of Azure's disks that are empty and yet there */
    {"empty fields of a disk", volume_to_csi, "azure-disk",
     "{'azureDisk': {'diskURI': 'u', 'cachingMode': '', 'fsType': '', 'kind': 'MANAGED'}}",
     "{'driver': 'disk.csi.azure.com', 'volumeHandle': 'u',"
     " 'volumeAttributes': {'cachingmode': '', 'fstype': '', 'kind': 'Managed'}}",
     NULL},
    {"the same in a pod", inline_to_csi, "azure-disk",
     "{'name': 'v', 'azureDisk': {'diskURI': 'u', 'cachingMode': '', 'fsType': ''}}",
     "{'driver': 'disk.csi.azure.com', 'volumeHandle': 'u',"
     " 'volumeAttributes': {'fstype': '', 'kind': 'Managed'}}",
     NULL},
    /* MIG-42: a namespace that is given and empty is no reason to ask the claim */
    {"an empty namespace of a secret", volume_to_csi, "azure-file",
     "{'azureFile': {'shareName': 's', 'secretName': 'n', 'secretNamespace': ''},"
     " 'claimRef': {'namespace': 'web'}}",
     NULL, "could not find a secret namespace"},
    /* MIG-10 */
    {"empty zones", class_to_csi, "aws-ebs", "{'parameters': {'zones': ''}}",
     "{'allowedTopologies': [{'matchLabelExpressions':"
     " [{'key': 'topology.ebs.csi.aws.com/zone', 'values': ['']}]}]}",
     NULL},
    {"a zone with a comma", class_to_csi, "gce-pd", "{'parameters': {'Zone': 'a,b', 'Type': 't'}}",
     "{'parameters': {'Type': 't'}, 'allowedTopologies': [{'matchLabelExpressions':"
     " [{'key': 'topology.gke.io/zone', 'values': ['a,b']}]}]}",
     NULL},
    {"zones with blanks", class_to_csi, "azure-disk", "{'parameters': {'ZONES': 'west-1, 2,2'}}",
     "{'allowedTopologies': [{'matchLabelExpressions': [{'key': 'topology.disk.csi.azure.com/zone',"
     " 'values': ['west-1', ' 2', '']}]}]}",
     NULL},
    {"zones of a plugin without them", class_to_csi, "cinder",
     "{'parameters': {'zone': 'a', 'availability': 'nova', 'FSType': 'xfs'}}",
     "{'parameters': {'zone': 'a', 'availability': 'nova', 'csi.storage.k8s.io/fstype': 'xfs'}}",
     NULL},
};
/* clang-format on */

static void
translates_as_the_library(void **state)
{
    const TranslationCase *c = *state;
    g_autofree char *name = g_strconcat("kubernetes.io/", c->plugin, NULL);
    g_autoptr(GError) error = NULL;
    json_t *given = api_test_json(c->given);
    json_t *expected = c->expected == NULL ? NULL : api_test_json(c->expected);
    json_t *found = c->translate(in_tree_plugin_find(name), given, &error);

    if (found == NULL && expected != NULL)
        fail_msg("%s", error->message);
    if (found != NULL && !json_equal(found, expected))
        fail_msg("found %s", json_dumps(found, JSON_SORT_KEYS));
    if (c->error != NULL && strstr(error->message, c->error) == NULL)
        fail_msg("the error is \"%s\"", error->message);
    json_decref(given);
    json_decref(expected);
    json_decref(found);
}
TEST_ROWS(cases, translates_as_the_library);
