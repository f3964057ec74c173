/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks-private.h"

#include <string.h>

/* Volumes of pods: validateVolumeSource() and what it calls. Members that a source needs are
 * "+required" in kubernetes.types. */

#define MODE_MAX 0777

static void
check_mode(Check *check, const json_t *value, const char *name)
{
    const json_t *mode = json_path_get(value, name);

    if (json_is_integer(mode) &&
        (json_integer_value(mode) < 0 || json_integer_value(mode) > MODE_MAX))
        check_invalid(check, mode, name,
                      "must be a number between 0 and 0777 (octal), both inclusive");
}

static void
check_source_with_mode(Check *check, const json_t *source)
{
    check_mode(check, source, "defaultMode");
}

/* ValidateLocalNonReservedPath(). */
static void
check_key_to_path(Check *check, const json_t *item)
{
    const char *path = json_path_text(item, "path");

    check_mode(check, item, "mode");
    if (g_str_has_prefix(path, "..") && path[2] != '/' && path[2] != '\0')
        check_invalid(check, json_path_get(item, "path"), "path", "must not start with '..'");
}

/* Kubernetes tells faults of files at the list's parent. */
static void
check_downward_file(Check *check, const json_t *file)
{
    gboolean by_field = check_has(file, "fieldRef"),
             by_resource = check_has(file, "resourceFieldRef");

    check_mode(check, file, "mode");
    if (!by_field && !by_resource)
        check_required(check, "", "one of fieldRef and resourceFieldRef is required");
    if (by_field && by_resource)
        check_fault(
            check, file, "",
            "Invalid value: \"resource\": fieldRef and resourceFieldRef can not be specified "
            "simultaneously");
    if (by_resource && *json_path_text(file, "resourceFieldRef.containerName") == '\0')
        check_required(check, "resourceFieldRef.containerName", "");
}

static void
check_empty_dir(Check *check, const json_t *source)
{
    const char *limit = json_path_text(source, "sizeLimit");

    if (*limit == '-' && strpbrk(limit, "123456789") != NULL)
        check_forbidden(check, json_path_get(source, "sizeLimit"), "sizeLimit",
                        "SizeLimit field must be a valid resource quantity");
}

static void
check_nfs(Check *check, const json_t *source)
{
    const char *path = json_path_text(source, "path");

    if (*path != '/')
        check_fault(check, json_path_get(source, "path"), "path",
                    "Invalid value: \"%s\": must be an absolute path", path);
}

static void
check_iscsi(Check *check, const json_t *source)
{
    const char *name = json_path_text(source, "iqn");

    if (*name != '\0' && !g_str_has_prefix(name, "iqn") && !g_str_has_prefix(name, "eui") &&
        !g_str_has_prefix(name, "naa"))
        check_invalid(check, json_path_get(source, "iqn"), "iqn",
                      "must be valid format starting with iqn, eui, or naa");
    if ((check_flag(source, "chapAuthDiscovery") || check_flag(source, "chapAuthSession")) &&
        !check_has(source, "secretRef"))
        check_required(check, "secretRef", "");
}

static void
check_token(Check *check, const json_t *source)
{
    const json_t *seconds = json_path_get(source, "expirationSeconds");

    if (json_is_integer(seconds) && json_integer_value(seconds) < 10 * 60)
        check_invalid(check, seconds, "expirationSeconds",
                      "may not specify a duration less than 10 minutes");
    if (json_integer_value(seconds) > INT64_C(1) << 32)
        check_invalid(check, seconds, "expirationSeconds",
                      "may not specify a duration larger than 2^32 seconds");
}

/* validateMountPropagation(), validateMountRecursiveReadOnly(): without the mount's index. */
void
check_mount_flags(Check *check, const json_t *container, const json_t *mount)
{
    static const char *const modes[] = {"Disabled", "Enabled", "IfPossible", NULL};
    const char *propagation = json_path_text(mount, "mountPropagation"),
               *recursive = json_path_text(mount, "recursiveReadOnly");

    if (strcmp(propagation, "Bidirectional") == 0 &&
        !check_flag(container, "securityContext.privileged"))
        check_forbidden(check, json_path_get(mount, "mountPropagation"),
                        "volumeMounts.mountPropagation",
                        "Bidirectional mount propagation is available only to privileged "
                        "containers");
    if (*recursive == '\0' || strcmp(recursive, "Disabled") == 0)
        return;
    if (!g_strv_contains(modes, recursive))
        check_unsupported(check, json_path_get(mount, "recursiveReadOnly"),
                          "volumeMounts.recursiveReadOnly", modes);
    else if (!check_flag(mount, "readOnly"))
        check_forbidden(check, mount, "volumeMounts.recursiveReadOnly",
                        "may only be specified when readOnly is true");
}

const CheckRule check_volume_rules[] = {
  /* clang-format off */
    {"validateConfigMapVolumeSource",   "core.v1.ConfigMapVolumeSource",         check_source_with_mode},
    {"validateSecretVolumeSource",      "core.v1.SecretVolumeSource",            check_source_with_mode},
    {"validateDownwardAPIVolumeSource", "core.v1.DownwardAPIVolumeSource",       check_source_with_mode},
    {"validateProjectedVolumeSource",   "core.v1.ProjectedVolumeSource",         check_source_with_mode},
    {"validateKeyToPath",               "core.v1.KeyToPath",                     check_key_to_path     },
    {"validateDownwardAPIVolumeFile",   "core.v1.DownwardAPIVolumeFile",         check_downward_file   },
    {"validateVolumeSource",            "core.v1.EmptyDirVolumeSource",          check_empty_dir       },
    {"validateNFSVolumeSource",         "core.v1.NFSVolumeSource",               check_nfs             },
    {"validateISCSIVolumeSource",       "core.v1.ISCSIVolumeSource",             check_iscsi           },
    {"validateProjectionSources",       "core.v1.ServiceAccountTokenProjection", check_token           },
    {NULL,                              NULL,                                    NULL                  },
  /* clang-format on */
};
