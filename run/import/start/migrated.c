/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "migrated.h"

#include <string.h>

#include "models/api/claim.h"
#include "models/api/fields.h"

#define LABEL_ZONE "topology.kubernetes.io/zone"
#define LABEL_ZONE_BETA "failure-domain.beta.kubernetes.io/zone"

/* The plugins of csi-translation-lib's plugins/. */
static const struct {
    const char *provisioner, *driver;
    const char *source, *id; /* members of a PersistentVolume's spec, and of that */
    const char *zone_key;    /* of the driver's topology; NULL: it keeps that of the volume */
} plugins[] = {
    {"kubernetes.io/aws-ebs",         "ebs.csi.aws.com",          "awsElasticBlockStore", "volumeID",
     "topology.ebs.csi.aws.com/zone"                                                                        },
    {"kubernetes.io/azure-disk",      "disk.csi.azure.com",       "azureDisk",            "diskURI",
     "topology.disk.csi.azure.com/zone"                                                                     },
    {"kubernetes.io/azure-file",      "file.csi.azure.com",       "azureFile",            "shareName",  NULL},
    {"kubernetes.io/cinder",          "cinder.csi.openstack.org", "cinder",               "volumeID",
     "topology.cinder.csi.openstack.org/zone"                                                               },
    {"kubernetes.io/gce-pd",          "pd.csi.storage.gke.io",    "gcePersistentDisk",    "pdName",
     "topology.gke.io/zone"                                                                                 },
    {"kubernetes.io/portworx-volume", "pxd.portworx.com",         "portworxVolume",       "volumeID",   NULL},
    {"kubernetes.io/vsphere-volume",  "csi.vsphere.vmware.com",   "vsphereVolume",        "volumePath", NULL},
};

static const char *
annotation(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(json_path_get(object, "metadata.annotations"), key));
}

static gboolean
is_zone(const char *key)
{
    return g_strcmp0(key, LABEL_ZONE) == 0 || g_strcmp0(key, LABEL_ZONE_BETA) == 0;
}

/* Calls @see with each requirement of the volume's node affinity. */
static void
each_requirement(const json_t *volume, void (*see)(json_t *requirement, void *data), void *data)
{
    const json_t *terms = json_path_get(volume, "spec.nodeAffinity.required.nodeSelectorTerms");
    const json_t *term;
    json_t *requirement;
    gsize i, k;

    json_array_foreach(terms, i, term) {
        const json_t *requirements = json_object_get(term, "matchExpressions");
        json_array_foreach(requirements, k, requirement) {
            see(requirement, data);
        }
    }
}

static void
see_zones(json_t *requirement, void *data)
{
    const json_t **zones = data;

    if (*zones == NULL && is_zone(json_string_value(json_object_get(requirement, "key"))))
        *zones = json_object_get(requirement, "values");
}

static void
replace_key(json_t *requirement, void *data)
{
    const char *key = data;

    if (is_zone(json_string_value(json_object_get(requirement, "key"))))
        json_object_set_new(requirement, "key", json_string(key));
}

/* Of GCE, whose disks do not name their place: a disk with two zones is its region's.
 * Returns: (owned) */
static char *
handle_of_disk(const json_t *volume, const char *disk)
{
    const json_t *zones = NULL;

    each_requirement(volume, see_zones, &zones);
    const char *zone = json_string_value(json_array_get(zones, 0));
    if (zone == NULL)
        zone = json_string_value(
            json_object_get(json_path_get(volume, "metadata.labels"), LABEL_ZONE));
    if (zone == NULL)
        zone = "UNSPECIFIED";
    const char *letter = json_array_size(zones) > 1 ? strrchr(zone, '-') : NULL;
    return letter != NULL ? g_strdup_printf("projects/UNSPECIFIED/regions/%.*s/disks/%s",
                                            (int)(letter - zone), zone, disk)
                          : g_strdup_printf("projects/UNSPECIFIED/zones/%s/disks/%s", zone, disk);
}

/* Returns: (owned): as the volume's driver calls it. EBS volumes may have a zone in front. */
static char *
handle_of(const json_t *volume, unsigned plugin, const char *id)
{
    if (strcmp(plugins[plugin].id, "pdName") == 0)
        return handle_of_disk(volume, id);
    return g_strdup(g_str_has_prefix(id, "aws://") ? strrchr(id, '/') + 1 : id);
}

/* Returns: whether it was one of @plugin's */
static gboolean
translate_volume(const Dump *dump, json_t *volume, unsigned plugin)
{
    json_t *spec = json_object_get(volume, "spec");
    const json_t *source = json_object_get(spec, plugins[plugin].source);
    const char *id = json_path_string(source, plugins[plugin].id);
    const char *driver = plugins[plugin].driver, *zone_key = plugins[plugin].zone_key;
    json_t *annotations = json_object_get(json_object_get(volume, "metadata"), "annotations");

    if (id == NULL || g_strcmp0(annotation(volume, ANNOTATION_MIGRATED_TO), driver) != 0)
        return FALSE;
    g_autofree char *handle = handle_of(volume, plugin, id);
    json_t *csi = json_pack("{s:s, s:s}", "driver", driver, "volumeHandle", handle);
    if (json_object_get(source, "fsType") != NULL)
        json_object_set(csi, "fsType", json_object_get(source, "fsType"));
    json_object_set_new(spec, "csi", csi);
    json_object_del(spec, plugins[plugin].source);
    json_object_del(annotations, ANNOTATION_MIGRATED_TO);
    if (json_object_get(annotations, ANNOTATION_PROVISIONED_BY) != NULL)
        json_object_set_new(annotations, ANNOTATION_PROVISIONED_BY, json_string(driver));
    if (zone_key != NULL && dump_has_node_label(dump, zone_key))
        each_requirement(volume, replace_key, (void *)zone_key);
    return TRUE;
}

static void
translate_class(const Dump *dump, json_t *class, unsigned plugin)
{
    if (g_strcmp0(json_path_string(class, "provisioner"), plugins[plugin].provisioner) == 0 &&
        dump_find(dump, "CSIDriver", NULL, plugins[plugin].driver) != NULL)
        json_object_set_new(class, "provisioner", json_string(plugins[plugin].driver));
}

static void
translate_claim(json_t *claim, unsigned plugin)
{
    json_t *annotations = json_object_get(json_object_get(claim, "metadata"), "annotations"),
           *value;
    const char *key;
    void *next;

    json_object_foreach_safe(annotations, next, key, value)
    {
        if (g_strcmp0(json_string_value(value), plugins[plugin].provisioner) == 0 &&
            g_str_has_suffix(key, "/storage-provisioner"))
            json_object_set_new(annotations, key, json_string(plugins[plugin].driver));
    }
}

static void
translate(const Dump *dump, json_t *object, unsigned plugin, ImportReport *report)
{
    const char *kind = dump_kind(object);

    if (strcmp(kind, "PersistentVolume") == 0) {
        if (!translate_volume(dump, object, plugin) || report == NULL)
            return;
        g_autofree char *reason =
            g_strdup_printf("Volumes of %s, taken as those of %s", plugins[plugin].provisioner,
                            plugins[plugin].driver);
        import_report_count(report, REPORT_TAKEN, reason, dump_meta(object, "name"));
    } else if (strcmp(kind, "StorageClass") == 0)
        translate_class(dump, object, plugin);
    else if (strcmp(kind, "PersistentVolumeClaim") == 0)
        translate_claim(object, plugin);
}

void
migrated_translate(const Dump *dump, ImportReport *report)
{
    for (unsigned i = 0; i < dump->objects->len; i++)
        for (unsigned plugin = 0; plugin < G_N_ELEMENTS(plugins); plugin++)
            translate(dump, dump->objects->pdata[i], plugin, report);
}
