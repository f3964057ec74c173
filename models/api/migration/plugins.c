/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The in-tree plugins whose volume has one identity: EBS, PD, Cinder, Portworx and vSphere, and
 * their CSI drivers (MIG-11 to MIG-14, MIG-30 to MIG-37). A row names the keys and functions in
 * which a plugin differs; translate.c does the rest, alike for all. Where csi-translation-lib loses
 * information, so does this. */
#include <string.h>

#include "models/api/fields.h"
#include "models/api/migration/migration-test.h"
#include "private.h"

#define FS_TYPE_PARAMETER "csi.storage.k8s.io/fstype"

/* MIG-11 */
static gboolean
fs_type_parameter(json_t *parameters, const char *key, const char *given, const char *value)
{
    (void)given;
    if (strcmp(key, "fstype") != 0)
        return FALSE;
    json_object_set_new(parameters, FS_TYPE_PARAMETER, json_string(value));
    return TRUE;
}

/* @none: the text for the whole disk */
static void
partition_to_csi(const json_t *source, json_t *attributes, const char *none)
{
    json_int_t partition = json_integer_value(json_object_get(source, "partition"));
    g_autofree char *text =
        partition == 0 ? g_strdup(none) : g_strdup_printf("%" JSON_INTEGER_FORMAT, partition);

    json_object_set_new(attributes, "partition", json_string(text));
}

/* @none: the text for the whole disk, beside a missing one. Only the lower 32 bits of a number
 * count. */
static gboolean
partition_from_csi(const json_t *csi, json_t *source, const char *none, GError **error)
{
    const char *text = json_path_string(csi, "volumeAttributes.partition");
    gint64 partition = 0;

    if (text != NULL && strcmp(text, none) != 0 &&
        !g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &partition, NULL))
        return migration_fail(error, "failed to convert partition %s to integer", text);
    if ((gint32)partition != 0)
        json_object_set_new(source, "partition", json_integer((gint32)partition));
    return TRUE;
}

/* @region_of_zone: returns (owned): NULL with @error. Returns: (owned): the one region of all */
static char *
one_region(char **zones, char *(*region_of_zone)(const char *zone, GError **error), GError **error)
{
    g_autofree char *region = NULL;

    if (zones[0] == NULL)
        migration_fail(error, "no zones specified");
    for (unsigned i = 0; zones[i] != NULL; i++) {
        g_autofree char *other = region_of_zone(zones[i], error);
        if (other == NULL)
            return NULL;
        if (region != NULL && strcmp(region, other) != 0) {
            migration_fail(error, "multiple or no regions gotten from zones, got: %s, %s", region,
                           other);
            return NULL;
        }
        if (region == NULL)
            region = g_steal_pointer(&other);
    }
    return g_steal_pointer(&region);
}

/* ---- awsElasticBlockStore ---- */

/* MIG-30: "aws://ZONE/vol-1", "aws:///vol-1", "vol-1" */
static char *
ebs_handle(const MigrationOrigin *origin, GError **error)
{
    const char *id = migration_text(origin->source, "volumeID");

    if (!g_str_has_prefix(id, "aws://"))
        return g_strdup(id);
    g_autoptr(GUri) uri = g_uri_parse(id, G_URI_FLAGS_NONE, NULL);
    g_autofree char *name = g_strdup(uri == NULL ? "" : g_uri_get_path(uri));
    char *start = name + strspn(name, "/");
    while (*start != '\0' && start[strlen(start) - 1] == '/')
        start[strlen(start) - 1] = '\0';
    if (!g_str_has_prefix(start, "vol-") || strchr(start, '/') != NULL) {
        migration_fail(error, "failed to translate Kubernetes ID to EBS Volume ID Invalid %s (%s)",
                       uri == NULL ? "disk name" : "format for AWS volume", id);
        return NULL;
    }
    return g_strdup(start);
}

static gboolean
ebs_to_csi(const MigrationOrigin *origin, json_t *csi, json_t *attributes, GError **error)
{
    (void)csi;
    (void)error;
    partition_to_csi(origin->source, attributes, "0");
    return TRUE;
}

static gboolean
ebs_from_csi(json_t *volume, const json_t *csi, json_t *source, GError **error)
{
    (void)volume;
    return partition_from_csi(csi, source, "0", error);
}

/* MIG-12 */
static gboolean
ebs_parameter(json_t *parameters, const char *key, const char *given, const char *value)
{
    if (strcmp(key, "iopspergb") != 0)
        return fs_type_parameter(parameters, key, given, value);
    json_object_set_new(parameters, given, json_string(value));
    json_object_set_new(parameters, "allowautoiopspergbincrease", json_string("true"));
    return TRUE;
}

/* MIG-31: "us-west-2a", "us-west-2-lax-1a", "us-east-1-wl1-bos-wlz-1" */
static char *
ebs_region_of_zone(const char *zone, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(zone, "-", -1);
    unsigned n = g_strv_length(parts);

    if ((n == 3 || n == 4) && strlen(parts[n - 1]) == 2)
        return g_strndup(zone, strlen(zone) - 1);
    if (n == 5 || n == 7)
        return g_strdup_printf("%s-%s-%s", parts[0], parts[1], parts[2]);
    migration_fail(error, "Unexpected zone format: %s is not a valid AWS zone", zone);
    return NULL;
}

static char *
ebs_region(char **zones, GError **error)
{
    return one_region(zones, ebs_region_of_zone, error);
}

const InTreePlugin plugin_aws_ebs = {
    .name = "kubernetes.io/aws-ebs",
    .driver = "ebs.csi.aws.com",
    .source = "awsElasticBlockStore",
    .id = "volumeID",
    .class_key = "topology.ebs.csi.aws.com/zone",
    .zone_key = "topology.ebs.csi.aws.com/zone",
    .migration = "CSIMigrationAWS",
    .unregister = "InTreePluginAWSUnregister",
    .gone = 27,
    .flags = PLUGIN_READ_ONLY | PLUGIN_ZONE_PARAMETERS,
    .handle = ebs_handle,
    .to_csi = ebs_to_csi,
    .from_csi = ebs_from_csi,
    .parameter = ebs_parameter,
    .region = ebs_region,
};

/* ---- gcePersistentDisk ---- */

/* "projects/P/zones/Z/disks/D", "projects/P/regions/R/disks/D" */
enum {
    HANDLE_PROJECT = 1,
    HANDLE_KIND,
    HANDLE_PLACE,
    HANDLE_DISK = 5,
    HANDLE_PARTS,
};

#define UNSPECIFIED "UNSPECIFIED"

/* MIG-33: "europe-west1-b" */
static char *
pd_region_of_zone(const char *zone, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(zone, "-", -1);

    if (g_strv_length(parts) == 3)
        return g_strdup_printf("%s-%s", parts[0], parts[1]);
    migration_fail(error, "zone in unexpected format, expected: {locale}-{region}-{zone}, got: %s",
                   zone);
    return NULL;
}

static char *
pd_region(char **zones, GError **error)
{
    return one_region(zones, pd_region_of_zone, error);
}

/* MIG-32 */
static char *
pd_handle(const MigrationOrigin *origin, GError **error)
{
    const char *disk = migration_text(origin->source, "pdName");
    g_auto(GStrv) zones =
        origin->volume == NULL ? g_strsplit("", ",", -1) : topology_zones_of_label(origin->volume);
    unsigned n = g_strv_length(zones);

    if (n > 1) {
        g_autofree char *region = pd_region(zones, error);
        return region == NULL
                   ? NULL
                   : g_strdup_printf("projects/" UNSPECIFIED "/regions/%s/disks/%s", region, disk);
    }
    return g_strdup_printf("projects/" UNSPECIFIED "/zones/%s/disks/%s",
                           n == 0 || *zones[0] == '\0' ? UNSPECIFIED : zones[0], disk);
}

static gboolean
pd_to_csi(const MigrationOrigin *origin, json_t *csi, json_t *attributes, GError **error)
{
    (void)csi;
    (void)error;
    partition_to_csi(origin->source, attributes, "");
    return TRUE;
}

static gboolean
pd_from_csi(json_t *volume, const json_t *csi, json_t *source, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(migration_text(csi, "volumeHandle"), "/", -1);

    (void)volume;
    if (g_strv_length(parts) < HANDLE_PARTS)
        return migration_fail(error,
                              "failed to get id components.Got: %u, wanted %d components or more. ",
                              g_strv_length(parts), HANDLE_PARTS);
    json_object_set_new(source, "pdName", json_string(parts[HANDLE_DISK]));
    return partition_from_csi(csi, source, "", error);
}

/* MIG-34 */
json_t *
migration_gce_modes(const json_t *modes)
{
    gboolean is_read = json_list_has(modes, "ReadOnlyMany") &&
                       !json_list_has(modes, "ReadWriteOnce") &&
                       !json_list_has(modes, "ReadWriteMany");

    return json_pack("[s]", is_read ? "ReadOnlyMany" : "ReadWriteOnce");
}

static void
pd_finish_volume(json_t *volume)
{
    json_t *spec = json_object_get(volume, "spec"), *modes = json_object_get(spec, "accessModes");

    if (modes != NULL)
        json_object_set_new(spec, "accessModes", migration_gce_modes(modes));
}

/* MIG-35 */
static char *
pd_repair(const char *handle, const char *node_id, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(handle, "/", -1);
    g_auto(GStrv) node = g_strsplit(node_id, "/", -1);
    g_autofree char *region = NULL;

    if (g_strv_length(parts) < HANDLE_PARTS) {
        migration_fail(error,
                       "volume handle has wrong number of elements; got %u, wanted %d or more",
                       g_strv_length(parts), HANDLE_PARTS);
        return NULL;
    }
    if (strcmp(parts[HANDLE_PROJECT], UNSPECIFIED) != 0)
        return g_strdup(handle);
    if (g_strv_length(node) < HANDLE_PARTS) {
        migration_fail(error, "node handle has wrong number of elements; got %u, wanted %d or more",
                       g_strv_length(node), HANDLE_PARTS);
        return NULL;
    }
    const char *place = parts[HANDLE_PLACE];
    if (strcmp(parts[HANDLE_KIND], "regions") == 0) {
        if (strcmp(place, UNSPECIFIED) == 0)
            place = region = pd_region_of_zone(node[HANDLE_PLACE], error);
    } else if (strcmp(parts[HANDLE_KIND], "zones") == 0) {
        if (strcmp(place, UNSPECIFIED) == 0)
            place = node[HANDLE_PLACE];
    } else {
        migration_fail(error,
                       "expected volume handle to have zones or regions regionality value, got: %s",
                       parts[HANDLE_KIND]);
        place = NULL;
    }
    return place == NULL ? NULL
                         : g_strdup_printf("projects/%s/%s/%s/disks/%s", node[HANDLE_PROJECT],
                                           parts[HANDLE_KIND], place, parts[HANDLE_DISK]);
}

const InTreePlugin plugin_gce_pd = {
    .name = "kubernetes.io/gce-pd",
    .driver = "pd.csi.storage.gke.io",
    .source = "gcePersistentDisk",
    .id = "pdName",
    .class_key = "topology.gke.io/zone",
    .zone_key = "topology.gke.io/zone",
    .migration = "CSIMigrationGCE",
    .unregister = "InTreePluginGCEUnregister",
    .gone = 28,
    .flags = PLUGIN_READ_ONLY | PLUGIN_ZONE_PARAMETERS | PLUGIN_READERS | PLUGIN_NAMED_BY_ID,
    .handle = pd_handle,
    .to_csi = pd_to_csi,
    .from_csi = pd_from_csi,
    .parameter = fs_type_parameter,
    .finish_volume = pd_finish_volume,
    .region = pd_region,
    .repair = pd_repair,
};

/* ---- cinder ---- */

const InTreePlugin plugin_cinder = {
    .name = "kubernetes.io/cinder",
    .driver = "cinder.csi.openstack.org",
    .source = "cinder",
    .id = "volumeID",
    .class_key = "topology.cinder.csi.openstack.org/zone",
    .zone_key = "topology.cinder.csi.openstack.org/zone",
    .migration = "CSIMigrationOpenStack",
    .unregister = "InTreePluginOpenStackUnregister",
    .gone = 26,
    .flags = PLUGIN_READ_ONLY,
    .parameter = fs_type_parameter,
};

/* ---- portworxVolume ---- */

#define AUTH_NAME "openstorage.io/auth-secret-name"
#define AUTH_NAMESPACE "openstorage.io/auth-secret-namespace"

/* MIG-36: the secret of all calls. */
static gboolean
portworx_to_csi(const MigrationOrigin *origin, json_t *csi, json_t *attributes, GError **error)
{
    static const char *const calls[] = {"controllerPublishSecretRef", "nodeStageSecretRef",
                                        "nodePublishSecretRef", "controllerExpandSecretRef",
                                        "nodeExpandSecretRef"};
    const json_t *annotations =
        json_object_get(json_object_get(origin->volume, "metadata"), "annotations");

    (void)attributes;
    (void)error;
    if (json_object_get(annotations, AUTH_NAME) == NULL ||
        json_object_get(annotations, AUTH_NAMESPACE) == NULL)
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(calls); i++)
        json_object_set_new(csi, calls[i],
                            migration_secret(migration_text(annotations, AUTH_NAME),
                                             migration_text(annotations, AUTH_NAMESPACE)));
    return TRUE;
}

/* MIG-13 */
static gboolean
portworx_parameter(json_t *parameters, const char *key, const char *given, const char *value)
{
    static const char *const calls[] = {"provisioner",  "controller-publish", "node-stage",
                                        "node-publish", "controller-expand",  "node-expand"};
    const char *end = strcmp(key, AUTH_NAME) == 0        ? "name"
                      : strcmp(key, AUTH_NAMESPACE) == 0 ? "namespace"
                                                         : NULL;

    (void)given;
    for (unsigned i = 0; end != NULL && i < G_N_ELEMENTS(calls); i++) {
        g_autofree char *name = g_strdup_printf("csi.storage.k8s.io/%s-secret-%s", calls[i], end);
        json_object_set_new(parameters, name, json_string(value));
    }
    return end != NULL;
}

static void
portworx_finish_class(json_t *class)
{
    json_object_set_new(class, "provisioner", json_string(plugin_portworx.driver));
}

const InTreePlugin plugin_portworx = {
    .name = "kubernetes.io/portworx-volume",
    .driver = "pxd.portworx.com",
    .source = "portworxVolume",
    .id = "volumeID",
    .migration = "CSIMigrationPortworx",
    .unregister = "InTreePluginPortworxUnregister",
    .gone = 36,
    .flags = PLUGIN_READERS,
    .to_csi = portworx_to_csi,
    .parameter = portworx_parameter,
    .finish_class = portworx_finish_class,
};

/* ---- vsphereVolume ---- */

#define POLICY "storagepolicyname"
#define INITIAL_PATH "initialvolumefilepath"

static gboolean
vsphere_to_csi(const MigrationOrigin *origin, json_t *csi, json_t *attributes, GError **error)
{
    (void)csi;
    (void)error;
    migration_set(attributes, POLICY, migration_text(origin->source, "storagePolicyName"));
    return TRUE;
}

/* MIG-37: the driver tells the path; the handle is an id that the plugin does not know. */
static gboolean
vsphere_from_csi(json_t *volume, const json_t *csi, json_t *source, GError **error)
{
    (void)volume;
    (void)error;
    json_object_del(source, "volumePath");
    json_object_del(source, "readOnly");
    migration_set(source, "volumePath",
                  migration_text(json_object_get(csi, "volumeAttributes"), INITIAL_PATH));
    return TRUE;
}

/* MIG-14: a parameter that is not listed is dropped. */
static gboolean
vsphere_parameter(json_t *parameters, const char *key, const char *given, const char *value)
{
    static const char *const known[] = {
        "datastore",        "diskformat",  "hostfailurestotolerate", "forceprovisioning",
        "cachereservation", "diskstripes", "objectspacereservation", "iopslimit"};

    if (fs_type_parameter(parameters, key, given, value))
        return TRUE;
    if (strcmp(key, POLICY) == 0)
        json_object_set_new(parameters, POLICY, json_string(value));
    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++)
        if (strcmp(key, known[i]) == 0) {
            g_autofree char *name = g_strconcat(key, "-migrationparam", NULL);
            json_object_set_new(parameters, name, json_string(value));
        }
    return TRUE;
}

static void
vsphere_finish_class(json_t *class)
{
    json_object_set_new(migration_member(class, "parameters"), "csimigration", json_string("true"));
}

const InTreePlugin plugin_vsphere = {
    .name = "kubernetes.io/vsphere-volume",
    .driver = "csi.vsphere.vmware.com",
    .source = "vsphereVolume",
    .id = "volumePath",
    .class_key = "topology.csi.vmware.com/zone",
    .zone_key = "topology.csi.vmware.com/zone",
    .region_key = "topology.csi.vmware.com/region",
    .migration = "CSIMigrationvSphere",
    .unregister = "InTreePluginvSphereUnregister",
    .gone = 30,
    .to_csi = vsphere_to_csi,
    .from_csi = vsphere_from_csi,
    .parameter = vsphere_parameter,
    .finish_class = vsphere_finish_class,
};
