/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The in-tree plugins azureDisk and azureFile and their CSI drivers: sources, handles, zones and
 * access modes both ways (MIG-40 to MIG-44), as in csi-translation-lib. A share's handle is made of
 * resource group, account, share, name and namespace, so a source can be restored from the handle
 * alone. */
#include <string.h>

#include "models/api/fields.h"
#include "models/api/migration/migration-test.h"
#include "private.h"

/* ---- azureDisk ---- */

#define MANAGED "Managed"

/* A field that the volume has, be it empty. */
static void
copy_field(json_t *attributes, const char *attribute, const json_t *source, const char *field)
{
    if (json_is_string(json_object_get(source, field)))
        json_object_set(attributes, attribute, json_object_get(source, field));
}

/* MIG-40 */
static gboolean
disk_to_csi(const MigrationOrigin *origin, json_t *csi, json_t *attributes, GError **error)
{
    const char *kind = json_path_string(origin->source, "kind");

    (void)csi;
    if (kind != NULL && g_ascii_strcasecmp(kind, MANAGED) != 0)
        return migration_fail(error, "kind(%s) is not supported in csi migration", kind);
    if (origin->volume != NULL || *migration_text(origin->source, "cachingMode") != '\0')
        copy_field(attributes, "cachingmode", origin->source, "cachingMode");
    copy_field(attributes, "fstype", origin->source, "fsType");
    json_object_set_new(attributes, "kind", json_string(MANAGED));
    return TRUE;
}

gboolean
migration_azure_is_managed(const char *uri)
{
    return strlen(uri) <= 4 || g_ascii_strncasecmp(uri, "http", 4) != 0;
}

char *
migration_azure_disk_name(const char *uri, GError **error)
{
    const char *pattern = migration_azure_is_managed(uri)
                              ? ".*/subscriptions/(?:.*)/resourceGroups/(?:.*)/providers/"
                                "Microsoft.Compute/disks/(.+)"
                              : "http(?:.*)://(?:.*)/vhds/(.+)";
    g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;

    if (g_regex_match(regex, uri, 0, &match))
        return g_match_info_fetch(match, 1);
    migration_fail(error, "could not get disk name from %s, correct format: %s", uri, pattern);
    return NULL;
}

/* MIG-41 */
static gboolean
disk_from_csi(json_t *volume, const json_t *csi, json_t *source, GError **error)
{
    g_autofree char *name = migration_azure_disk_name(migration_text(csi, "volumeHandle"), error);
    const char *key;
    json_t *value;

    (void)volume;
    if (name == NULL)
        return FALSE;
    json_object_set_new(source, "diskName", json_string(name));
    json_object_set_new(source, "kind", json_string(MANAGED));
    json_object_foreach(json_object_get(csi, "volumeAttributes"), key, value) {
        if (g_ascii_strcasecmp(key, "cachingmode") == 0)
            migration_set(source, "cachingMode", json_string_value(value));
        else if (g_ascii_strcasecmp(key, "fstype") == 0)
            migration_set(source, "fsType", json_string_value(value));
    }
    return TRUE;
}

static gboolean
azure_is_number(const char *text)
{
    return *text != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* MIG-15: in regions without zones, "0" is a fault domain and the driver's zone is "". */
static void
disk_finish_class(json_t *class)
{
    json_t *term, *requirement, *value;
    size_t i, k, m;

    json_array_foreach(json_object_get(class, "allowedTopologies"), i, term)
        json_array_foreach(json_object_get(term, "matchLabelExpressions"), k, requirement) {
            if (strcmp(migration_text(requirement, "key"), plugin_azure_disk.class_key) != 0)
                continue;
            json_t *values = json_object_get(requirement, "values");
            json_array_foreach(values, m, value)
                if (json_is_string(value) && azure_is_number(json_string_value(value)))
                    json_array_set_new(values, m, json_string(""));
        }
}

const InTreePlugin plugin_azure_disk = {
    .name = "kubernetes.io/azure-disk",
    .driver = "disk.csi.azure.com",
    .source = "azureDisk",
    .id = "diskURI",
    .class_key = "topology.disk.csi.azure.com/zone",
    .migration = "CSIMigrationAzureDisk",
    .unregister = "InTreePluginAzureDiskUnregister",
    .gone = 27,
    .flags = PLUGIN_READ_ONLY | PLUGIN_ZONE_PARAMETERS | PLUGIN_NAMED_BY_HANDLE,
    .to_csi = disk_to_csi,
    .from_csi = disk_from_csi,
    .finish_class = disk_finish_class,
};

/* ---- azureFile ---- */

#define RESOURCE_GROUP "kubernetes.io/azure-file-resource-group"
#define DEFAULT_NAMESPACE "default"

char *
migration_azure_account(const char *secret, GError **error)
{
    g_autoptr(GRegex) regex = g_regex_new("azure-storage-account-(.+)-secret", 0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;

    if (g_regex_match(regex, secret, 0, &match))
        return g_match_info_fetch(match, 1);
    migration_fail(error,
                   "could not get account name from %s, correct format: "
                   "azure-storage-account-(.+)-secret",
                   secret);
    return NULL;
}

/* MIG-42: where the secret is. Returns: (borrowed): "": nowhere */
static const char *
secret_namespace(const MigrationOrigin *origin)
{
    const json_t *given = json_object_get(origin->source, "secretNamespace");

    if (origin->volume == NULL)
        return *origin->namespace != '\0' ? origin->namespace : DEFAULT_NAMESPACE;
    return json_is_string(given)
               ? json_string_value(given)
               : migration_text(json_path_get(origin->volume, "spec.claimRef"), "namespace");
}

/* MIG-43: "GROUP#ACCOUNT#SHARE#NAME#NAMESPACE" */
static char *
file_handle(const MigrationOrigin *origin, GError **error)
{
    const char *secret = migration_text(origin->source, "secretName");
    const char *namespace = secret_namespace(origin);
    g_autofree char *account = migration_azure_account(secret, NULL);

    if (*namespace == '\0') {
        migration_fail(error,
                       "could not find a secret namespace in PersistentVolumeSource or ClaimRef");
        return NULL;
    }
    return g_strdup_printf(
        "%s#%s#%s#%s#%s",
        migration_text(json_path_get(origin->volume, "metadata.annotations"), RESOURCE_GROUP),
        account != NULL ? account : secret, migration_text(origin->source, "shareName"),
        origin->name, namespace);
}

static gboolean
file_to_csi(const MigrationOrigin *origin, json_t *csi, json_t *attributes, GError **error)
{
    (void)error;
    json_object_del(csi, "fsType");
    json_object_set_new(attributes, "sharename",
                        json_string(migration_text(origin->source, "shareName")));
    json_object_set_new(
        csi, "nodeStageSecretRef",
        migration_secret(migration_text(origin->source, "secretName"), secret_namespace(origin)));
    return TRUE;
}

char **
migration_azure_share(const char *handle, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(handle, "#", -1);

    if (g_strv_length(parts) >= 3)
        return g_steal_pointer(&parts);
    migration_fail(error, "error parsing volume id: \"%s\", should at least contain two #", handle);
    return NULL;
}

/* Members that the source lacks, from the handle. */
static gboolean
fill_from_handle(json_t *volume, const char *handle, json_t *source, GError **error)
{
    g_auto(GStrv) parts = NULL;

    if (*migration_text(source, "shareName") != '\0' &&
        *migration_text(source, "secretName") != '\0')
        return TRUE;
    if ((parts = migration_azure_share(handle, error)) == NULL)
        return FALSE;
    if (*migration_text(source, "shareName") == '\0')
        json_object_set_new(source, "shareName", json_string(parts[2]));
    if (*migration_text(source, "secretName") == '\0') {
        g_autofree char *secret = g_strdup_printf("azure-storage-account-%s-secret", parts[1]);
        json_object_set_new(source, "secretName", json_string(secret));
    }
    if (*parts[0] != '\0')
        json_object_set_new(migration_member(migration_member(volume, "metadata"), "annotations"),
                            RESOURCE_GROUP, json_string(parts[0]));
    return TRUE;
}

/* MIG-44 */
static gboolean
file_from_csi(json_t *volume, const json_t *csi, json_t *source, GError **error)
{
    static const struct {
        const char *attribute, *field;
    } fields[] = {
        {"sharename",       "shareName"      },
        {"secretname",      "secretName"     },
        {"secretnamespace", "secretNamespace"}
    };
    const json_t *secret = json_object_get(csi, "nodeStageSecretRef");
    const char *key;
    json_t *value;

    json_object_del(source, "fsType");
    json_object_foreach(json_object_get(csi, "volumeAttributes"), key, value)
        for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++)
            if (g_ascii_strcasecmp(key, fields[i].attribute) == 0)
                json_object_set(source, fields[i].field, value);
    if (*migration_text(secret, "name") != '\0') {
        json_object_set(source, "secretName", json_object_get(secret, "name"));
        json_object_set_new(source, "secretNamespace",
                            json_string(migration_text(secret, "namespace")));
    }
    if (!fill_from_handle(volume, migration_text(csi, "volumeHandle"), source, error))
        return FALSE;
    if (json_object_get(source, "secretNamespace") == NULL)
        json_object_set_new(source, "secretNamespace", json_string(DEFAULT_NAMESPACE));
    return TRUE;
}

/* Its classes stay as they are. */
const InTreePlugin plugin_azure_file = {
    .name = "kubernetes.io/azure-file",
    .driver = "file.csi.azure.com",
    .source = "azureFile",
    .migration = "CSIMigrationAzureFile",
    .unregister = "InTreePluginAzureFileUnregister",
    .gone = 30,
    .flags = PLUGIN_READ_ONLY | PLUGIN_NAMED_BY_HANDLE | PLUGIN_SHARED,
    .handle = file_handle,
    .to_csi = file_to_csi,
    .from_csi = file_from_csi,
};
