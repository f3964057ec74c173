/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sources of volumes: a table of their kinds and of the fields that kubectl prints, in kubectl's
 * order, since only the first source found is described. Kinds whose text depends on more than
 * their fields (CSI, emptyDir, projected, ephemeral) have functions. Values are printed as Go
 * prints them. */
#include <string.h>

#include "describe.h"

typedef enum {
    SHOW_TEXT,      /* "" if it is missing */
    SHOW_TEXT_NONE, /* "<none>" if it is missing */
    SHOW_BOOL,
    SHOW_NUMBER,
    SHOW_NUMBER_NONE,
    SHOW_LIST,     /* [a b] */
    SHOW_COMMAS,   /* a, b */
    SHOW_MAP,      /* map[a:b] */
    SHOW_REFERENCE /* a reference to a secret */
} SourceShow;

#define SOURCE_FIELDS_MAX 11

typedef struct {
    const char *title, *path; /* title with its colon; NULL: no more */
    SourceShow show;
} SourceField;

typedef enum {
    IN_BOTH,
    IN_POD,
    IN_VOLUME,
} SourcePlace;

typedef struct {
    const char *key; /* in the volume: "hostPath" */
    SourcePlace place;
    const char *type, *what; /* "HostPath", "bare host directory volume" */
    SourceField fields[SOURCE_FIELDS_MAX + 1];
} DescribeSourcesKind;

/* clang-format off */
#define FS_TYPE {"FSType:", "fsType", SHOW_TEXT}
#define READ_ONLY {"ReadOnly:", "readOnly", SHOW_BOOL}
#define SECRET {"SecretRef:", "secretRef", SHOW_REFERENCE}

/* In the order of kubectl, which describes only the first source that it finds. */
static const DescribeSourcesKind sources[] = {
    {"hostPath", IN_BOTH, "HostPath", "bare host directory volume",
     {{"Path:", "path", SHOW_TEXT}, {"HostPathType:", "type", SHOW_TEXT_NONE}}},
    {"gcePersistentDisk", IN_BOTH, "GCEPersistentDisk", "a Persistent Disk resource in Google Compute Engine",
     {{"PDName:", "pdName", SHOW_TEXT}, FS_TYPE, {"Partition:", "partition", SHOW_NUMBER}, READ_ONLY}},
    {"awsElasticBlockStore", IN_BOTH, "AWSElasticBlockStore", "a Persistent Disk resource in AWS",
     {{"VolumeID:", "volumeID", SHOW_TEXT}, FS_TYPE, {"Partition:", "partition", SHOW_NUMBER}, READ_ONLY}},
    {"gitRepo", IN_POD, "GitRepo", "a volume that is pulled from git when the pod is created",
     {{"Repository:", "repository", SHOW_TEXT}, {"Revision:", "revision", SHOW_TEXT}}},
    {"secret", IN_POD, "Secret", "a volume populated by a Secret",
     {{"SecretName:", "secretName", SHOW_TEXT}, {"Optional:", "optional", SHOW_BOOL}}},
    {"configMap", IN_POD, "ConfigMap", "a volume populated by a ConfigMap",
     {{"Name:", "name", SHOW_TEXT}, {"Optional:", "optional", SHOW_BOOL}}},
    {"nfs", IN_BOTH, "NFS", "an NFS mount that lasts the lifetime of a pod",
     {{"Server:", "server", SHOW_TEXT}, {"Path:", "path", SHOW_TEXT}, READ_ONLY}},
    {"iscsi", IN_BOTH, "ISCSI",
     "an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod",
     {{"TargetPortal:", "targetPortal", SHOW_TEXT}, {"IQN:", "iqn", SHOW_TEXT}, {"Lun:", "lun", SHOW_NUMBER},
      {"ISCSIInterface", "iscsiInterface", SHOW_TEXT}, FS_TYPE, READ_ONLY, {"Portals:", "portals", SHOW_LIST},
      {"DiscoveryCHAPAuth:", "chapAuthDiscovery", SHOW_BOOL},
      {"SessionCHAPAuth:", "chapAuthSession", SHOW_BOOL}, SECRET,
      {"InitiatorName:", "initiatorName", SHOW_TEXT_NONE}}},
    {"glusterfs", IN_POD, "Glusterfs", "a Glusterfs mount on the host that shares a pod's lifetime",
     {{"EndpointsName:", "endpoints", SHOW_TEXT}, {"Path:", "path", SHOW_TEXT}, READ_ONLY}},
    {"glusterfs", IN_VOLUME, "Glusterfs", "a Glusterfs mount on the host that shares a pod's lifetime",
     {{"EndpointsName:", "endpoints", SHOW_TEXT}, {"EndpointsNamespace:", "endpointsNamespace", SHOW_TEXT},
      {"Path:", "path", SHOW_TEXT}, READ_ONLY}},
    {"persistentVolumeClaim", IN_POD, "PersistentVolumeClaim",
     "a reference to a PersistentVolumeClaim in the same namespace",
     {{"ClaimName:", "claimName", SHOW_TEXT}, READ_ONLY}},
    {"rbd", IN_BOTH, "RBD", "a Rados Block Device mount on the host that shares a pod's lifetime",
     {{"CephMonitors:", "monitors", SHOW_LIST}, {"RBDImage:", "image", SHOW_TEXT}, FS_TYPE,
      {"RBDPool:", "pool", SHOW_TEXT}, {"RadosUser:", "user", SHOW_TEXT}, {"Keyring:", "keyring", SHOW_TEXT},
      SECRET, READ_ONLY}},
    {"quobyte", IN_BOTH, "Quobyte", "a Quobyte mount on the host that shares a pod's lifetime",
     {{"Registry:", "registry", SHOW_TEXT}, {"Volume:", "volume", SHOW_TEXT}, READ_ONLY}},
    {"azureDisk", IN_BOTH, "AzureDisk", "an Azure Data Disk mount on the host and bind mount to the pod",
     {{"DiskName:", "diskName", SHOW_TEXT}, {"DiskURI:", "diskURI", SHOW_TEXT}, {"Kind: ", "kind", SHOW_TEXT},
      FS_TYPE, {"CachingMode:", "cachingMode", SHOW_TEXT}, READ_ONLY}},
    {"vsphereVolume", IN_BOTH, "vSphereVolume", "a Persistent Disk resource in vSphere",
     {{"VolumePath:", "volumePath", SHOW_TEXT}, FS_TYPE,
      {"StoragePolicyName:", "storagePolicyName", SHOW_TEXT}}},
    {"cinder", IN_BOTH, "Cinder", "a Persistent Disk resource in OpenStack",
     {{"VolumeID:", "volumeID", SHOW_TEXT}, FS_TYPE, READ_ONLY, SECRET}},
    {"photonPersistentDisk", IN_BOTH, "PhotonPersistentDisk", "a Persistent Disk resource in photon platform",
     {{"PdID:", "pdID", SHOW_TEXT}, FS_TYPE}},
    {"portworxVolume", IN_BOTH, "PortworxVolume", "a Portworx Volume resource",
     {{"VolumeID:", "volumeID", SHOW_TEXT}}},
    {"scaleIO", IN_POD, "ScaleIO", "a persistent volume backed by a block device in ScaleIO",
     {{"Gateway:", "gateway", SHOW_TEXT}, {"System:", "system", SHOW_TEXT},
      {"Protection Domain:", "protectionDomain", SHOW_TEXT}, {"Storage Pool:", "storagePool", SHOW_TEXT},
      {"Storage Mode:", "storageMode", SHOW_TEXT}, {"VolumeName:", "volumeName", SHOW_TEXT}, FS_TYPE,
      READ_ONLY}},
    {"scaleIO", IN_VOLUME, "ScaleIO", "a persistent volume backed by a block device in ScaleIO",
     {{"Gateway:", "gateway", SHOW_TEXT}, {"System:", "system", SHOW_TEXT},
      {"Protection Domain:", "protectionDomain", SHOW_TEXT}, {"Storage Pool:", "storagePool", SHOW_TEXT},
      {"Storage Mode:", "storageMode", SHOW_TEXT}, {"VolumeName:", "volumeName", SHOW_TEXT},
      {"SecretName:", "secretRef.name", SHOW_TEXT}, {"SecretNamespace:", "secretRef.namespace", SHOW_TEXT},
      FS_TYPE, READ_ONLY}},
    {"local", IN_VOLUME, "LocalVolume", "a persistent volume backed by local storage on a node",
     {{"Path:", "path", SHOW_TEXT}}},
    {"cephfs", IN_BOTH, "CephFS", "a CephFS mount on the host that shares a pod's lifetime",
     {{"Monitors:", "monitors", SHOW_LIST}, {"Path:", "path", SHOW_TEXT}, {"User:", "user", SHOW_TEXT},
      {"SecretFile:", "secretFile", SHOW_TEXT}, SECRET, READ_ONLY}},
    {"storageos", IN_BOTH, "StorageOS", "a StorageOS Persistent Disk resource",
     {{"VolumeName:", "volumeName", SHOW_TEXT}, {"VolumeNamespace:", "volumeNamespace", SHOW_TEXT}, FS_TYPE,
      READ_ONLY}},
    {"fc", IN_BOTH, "FC", "a Fibre Channel disk",
     {{"TargetWWNs:", "targetWWNs", SHOW_COMMAS}, {"LUN:", "lun", SHOW_NUMBER_NONE}, FS_TYPE, READ_ONLY}},
    {"azureFile", IN_POD, "AzureFile", "an Azure File Service mount on the host and bind mount to the pod",
     {{"SecretName:", "secretName", SHOW_TEXT}, {"ShareName:", "shareName", SHOW_TEXT}, READ_ONLY}},
    {"azureFile", IN_VOLUME, "AzureFile", "an Azure File Service mount on the host and bind mount to the pod",
     {{"SecretName:", "secretName", SHOW_TEXT}, {"SecretNamespace:", "secretNamespace", SHOW_TEXT},
      {"ShareName:", "shareName", SHOW_TEXT}, READ_ONLY}},
    {"flexVolume", IN_BOTH, "FlexVolume",
     "a generic volume resource that is provisioned/attached using an exec based plugin",
     {{"Driver:", "driver", SHOW_TEXT}, FS_TYPE, SECRET, READ_ONLY, {"Options:", "options", SHOW_MAP}}},
    {"flocker", IN_BOTH, "Flocker", "a Flocker volume mounted by the Flocker agent",
     {{"DatasetName:", "datasetName", SHOW_TEXT}, {"DatasetUUID:", "datasetUUID", SHOW_TEXT}}},
    {"image", IN_POD, "Image", "a container image or OCI artifact",
     {{"Reference:", "reference", SHOW_TEXT}, {"PullPolicy:", "pullPolicy", SHOW_TEXT}}},
};
/* clang-format on */

/* Prints a reference to a secret as Go's protobuf types do. */
static void
append_reference(GString *out, json_t *reference, gboolean is_persistent)
{
    if (reference == NULL)
        g_string_append(out, "nil");
    else if (is_persistent)
        g_string_append_printf(out, "&SecretReference{Name:%s,Namespace:%s,}",
                               value_text(reference, "name"), value_text(reference, "namespace"));
    else
        g_string_append_printf(out, "&LocalObjectReference{Name:%s,}",
                               value_text(reference, "name"));
}

static void
append_field(GString *out, const SourceField *field, json_t *source, gboolean is_persistent)
{
    json_t *value = value_at(source, field->path);

    switch (field->show) {
    case SHOW_TEXT:
        g_string_append(out, value_text(source, field->path));
        return;
    case SHOW_TEXT_NONE:
        g_string_append(out, value != NULL ? value_text(source, field->path) : "<none>");
        return;
    case SHOW_BOOL:
        g_string_append(out, json_is_true(value) ? "true" : "false");
        return;
    case SHOW_NUMBER_NONE:
    case SHOW_NUMBER:
        if (value == NULL && field->show == SHOW_NUMBER_NONE)
            g_string_append(out, "<none>");
        else
            g_string_append_printf(out, "%" PRId64, value_integer(source, field->path, 0));
        return;
    case SHOW_LIST:
        g_string_append_c(out, '[');
        value_append_joined(out, value, " ");
        g_string_append_c(out, ']');
        return;
    case SHOW_COMMAS:
        value_append_joined(out, value, ", ");
        return;
    case SHOW_MAP:
        if (value == NULL)
            g_string_append(out, "map[]");
        else
            value_append_go(out, value);
        return;
    case SHOW_REFERENCE:
        append_reference(out, value, is_persistent);
        return;
    }
    g_assert_not_reached();
}

static void
put_type(Description *self, const char *type, const char *what)
{
    put(self, 2, "Type:\t%s (%s)\n", type, what);
}

static void
put_csi(Description *self, json_t *csi, gboolean is_persistent)
{
    json_t *attributes = value_at(csi, "volumeAttributes");
    g_auto(GStrv) keys = value_keys(attributes);

    put_type(self, "CSI", "a Container Storage Interface (CSI) volume source");
    put_text(self, 2, "Driver", value_text(csi, "driver"));
    put_text(self, 2, "FSType", value_text(csi, "fsType"));
    if (is_persistent)
        put_text(self, 2, "VolumeHandle", value_text(csi, "volumeHandle"));
    put_text(self, 2, "ReadOnly", value_is_true(csi, "readOnly") ? "true" : "false");
    put(self, 2, "VolumeAttributes:\t");
    if (keys[0] == NULL)
        put(self, 0, "<none>\n");
    for (unsigned i = 0; keys[i] != NULL; i++) {
        g_autofree char *line = g_strdup_printf(
            "%s=%s", keys[i], json_string_value(json_object_get(attributes, keys[i])));

        if (i > 0) {
            put(self, 2, "%s", ""); /* kubectl indents the empty name, too */
            put(self, 2, "\t");
        }
        if (strlen(line) > 140)
            put(self, 2, "%.140s...\n", line);
        else
            put(self, 2, "%s\n", line);
    }
}

static void
put_empty_dir(Description *self, json_t *source)
{
    const char *limit = value_text(source, "sizeLimit");

    put_type(self, "EmptyDir", "a temporary directory that shares a pod's lifetime");
    put_text(self, 2, "Medium", value_text(source, "medium"));
    put_text(self, 2, "SizeLimit", *limit != '\0' && strcmp(limit, "0") != 0 ? limit : "<unset>");
}

static void
put_downward(Description *self, json_t *source)
{
    json_t *item;
    gsize i;

    put_type(self, "DownwardAPI", "a volume populated by information about the pod");
    put(self, 2, "Items:\n");
    json_array_foreach(value_at(source, "items"), i, item) {
        if (value_at(item, "fieldRef") != NULL)
            put(self, 3, "%s -> %s\n", value_text(item, "fieldRef.fieldPath"),
                value_text(item, "path"));
        if (value_at(item, "resourceFieldRef") != NULL)
            put(self, 3, "%s -> %s\n", value_text(item, "resourceFieldRef.resource"),
                value_text(item, "path"));
    }
}

/* kubectl 1.32.4 prints the address of "optional" instead of its value: nobody can foretell it. */
static void
put_optional(Description *self, const char *title, json_t *source)
{
    json_t *optional = value_at(source, "optional");

    put(self, 2, "%s:\t%s\n", title,
        optional == NULL         ? "<nil>"
        : json_is_true(optional) ? "true"
                                 : "false");
}

static void
put_projected(Description *self, json_t *source)
{
    json_t *item;
    gsize i;

    put_type(self, "Projected", "a volume that contains injected data from multiple sources");
    json_array_foreach(value_at(source, "sources"), i, item) {
        json_t *secret = value_at(item, "secret"), *map = value_at(item, "configMap");
        json_t *token = value_at(item, "serviceAccountToken");

        if (secret != NULL) {
            put_text(self, 2, "SecretName", value_text(secret, "name"));
            put_optional(self, "SecretOptionalName", secret);
        } else if (value_at(item, "downwardAPI") != NULL) {
            put_text(self, 2, "DownwardAPI", "true");
        } else if (map != NULL) {
            put_text(self, 2, "ConfigMapName", value_text(map, "name"));
            put_optional(self, "ConfigMapOptional", map);
        } else if (token != NULL) {
            put(self, 2, "TokenExpirationSeconds:\t%" PRId64 "\n",
                value_integer(token, "expirationSeconds", 3600));
        }
    }
}

static void
put_ephemeral(Description *self, json_t *source)
{
    json_t *template = value_at(source, "volumeClaimTemplate");

    put_type(self, "EphemeralVolume",
             "an inline specification for a volume that gets created and deleted with the pod");
    if (template == NULL)
        return;
    self->indent += 2;
    describe_claim_spec(self, template, FALSE);
    self->indent -= 2;
}

void
describe_volume_source(Description *self, json_t *spec, gboolean is_persistent)
{
    static const struct {
        const char *key;
        void (*put)(Description *self, json_t *source);
    } others[] = {
        {"emptyDir",    put_empty_dir},
        {"downwardAPI", put_downward },
        {"projected",   put_projected},
        {"ephemeral",   put_ephemeral},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(sources); i++) {
        const DescribeSourcesKind *kind = &sources[i];
        json_t *source = value_at(spec, kind->key);

        if (source == NULL || kind->place == (is_persistent ? IN_POD : IN_VOLUME))
            continue;
        put_type(self, kind->type, kind->what);
        for (const SourceField *field = kind->fields;
             field < kind->fields + SOURCE_FIELDS_MAX && field->title != NULL; field++) {
            g_autoptr(GString) text = g_string_new(NULL);

            append_field(text, field, source, is_persistent);
            put(self, 2, "%s\t%s\n", field->title, text->str);
        }
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
        json_t *source = value_at(spec, others[i].key);

        if (source != NULL) {
            others[i].put(self, source);
            return;
        }
    }
    json_t *csi = value_at(spec, "csi");
    if (csi != NULL)
        put_csi(self, csi, is_persistent);
    else
        put(self, 1, "<unknown>\n");
}
