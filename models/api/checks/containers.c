/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of one container: validateContainerCommon() with its callees. Unions (one of several
 * members) differ in their words and in where the fault is told, which a table says. Some lists are
 * told without an index, as in Kubernetes. Names that two containers of a pod must not share are
 * left to pods.c. */
#include "checks-private.h"
#include "sim/order.h"

#include <string.h>

/* ---- Unions: one of several members ---- */

typedef enum {
    UNION_FORBIDDEN, /* "Forbidden" at each member but the first; "Required value" if there is none
                      */
    UNION_INVALID,   /* "Invalid value" of the struct */
    UNION_OPTIONAL,  /* as the first; there may be none */
    UNION_OF_ALL,    /* "Forbidden" of the struct; there may be none */
} UnionStyle;

static const struct {
    const char *type; /* the end of the struct's name */
    UnionStyle style;
    const char *none, *many;
} unions[] = {
    {".core.v1.EnvVarSource",     UNION_INVALID,
     "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`", "may not have more than one field specified at a time"},
    {".core.v1.Probe",            UNION_FORBIDDEN, "must specify a handler type",
     "may not specify more than 1 handler type"                                                                                                        },
    {".core.v1.LifecycleHandler", UNION_FORBIDDEN, "must specify a handler type",
     "may not specify more than 1 handler type"                                                                                                        },
    {".core.v1.Volume",           UNION_OPTIONAL,  "",
     "may not specify more than 1 volume type"                                                                                                         }, /* none: emptyDir */
    {".core.v1.VolumeProjection", UNION_OF_ALL,    "",
     "may not specify more than 1 volume type per source"                                                                                              },
};

/* In the order of their numbers in protobuf, which is mostly that of Kubernetes' checks. */
static int
containers_compare_numbers(const void *a, const void *b)
{
    const SchemaField *x = *(const SchemaField *const *)a, *y = *(const SchemaField *const *)b;

    return ORDER(x->number, y->number);
}

void
check_union(Check *check, const SchemaType *type, const json_t *value)
{
    g_autoptr(GPtrArray) given = g_ptr_array_new();
    gsize row = 0;

    while (row < G_N_ELEMENTS(unions) && !g_str_has_suffix(type->name, unions[row].type))
        row++;
    if (row == G_N_ELEMENTS(unions))
        return;
    for (const SchemaField *field = type->fields; field->name != NULL; field++)
        if (field->checks != NULL && field->checks->is_member && check_has(value, field->name))
            g_ptr_array_add(given, (void *)field); /* only read */
    g_ptr_array_sort(given, containers_compare_numbers);
    if (unions[row].style == UNION_INVALID && given->len != 1) {
        check_fault(check, NULL, "", "Invalid value: \"\": %s",
                    given->len == 0 ? unions[row].none : unions[row].many);
        return;
    }
    if (given->len == 0 && unions[row].style == UNION_FORBIDDEN)
        check_required(check, "", unions[row].none);
    if (unions[row].style == UNION_OF_ALL && given->len > 1) {
        check_forbidden(check, value, "", unions[row].many);
        return;
    }
    for (unsigned i = 1; i < given->len; i++) {
        const char *name = ((const SchemaField *)given->pdata[i])->name;
        check_forbidden(check, json_object_get(value, name), name, unions[row].many);
    }
}

/* ---- Environment ---- */

static void
check_env(Check *check, const json_t *value)
{
    if (check_has(value, "valueFrom") && *json_path_text(value, "value") != '\0')
        check_fault(check, json_object_get(value, "valueFrom"), "valueFrom",
                    "Invalid value: \"\": may not be specified when `value` is not empty");
}

/* Kubernetes says it at the list. */
static void
check_env_from(Check *check, const json_t *container)
{
    const json_t *item;
    size_t i;

    json_array_foreach(json_path_get(container, "envFrom"), i, item) {
        gboolean by_map = check_has(item, "configMapRef"), by_secret = check_has(item, "secretRef");
        if (by_map == by_secret)
            check_fault(check, item, "envFrom", "Invalid value: \"\": %s",
                        by_map ? "may not have more than one field specified at a time"
                               : "must specify one of: `configMapRef` or `secretRef`");
    }
}

static void
check_env_source(Check *check, const json_t *source)
{
    static const char *const paths[] = {"metadata.name",
                                        "metadata.namespace",
                                        "metadata.uid",
                                        "spec.nodeName",
                                        "spec.serviceAccountName",
                                        "status.hostIP",
                                        "status.hostIPs",
                                        "status.podIP",
                                        "status.podIPs",
                                        NULL};
    static const char *const resources[] = {"limits.cpu",
                                            "limits.ephemeral-storage",
                                            "limits.memory",
                                            "requests.cpu",
                                            "requests.ephemeral-storage",
                                            "requests.memory",
                                            NULL};
    const json_t *path = json_path_get(source, "fieldRef.fieldPath");
    const json_t *resource = json_path_get(source, "resourceFieldRef.resource");
    const char *text = json_path_text(source, "fieldRef.fieldPath");

    if (*text != '\0' && !g_strv_contains(paths, text) &&
        !g_str_has_prefix(text, "metadata.annotations['") &&
        !g_str_has_prefix(text, "metadata.labels['"))
        check_fault(check, path, "fieldRef.fieldPath",
                    "Invalid value: \"%s\": error converting fieldPath: field label not supported: "
                    "%s",
                    text, text);
    text = json_path_text(source, "resourceFieldRef.resource");
    if (*text != '\0' && !g_strv_contains(resources, text) &&
        !g_str_has_prefix(text, "limits.hugepages-") &&
        !g_str_has_prefix(text, "requests.hugepages-"))
        check_unsupported(check, resource, "resourceFieldRef.resource", resources);
}

/* ---- Resources ---- */

static gboolean
is_native(const char *resource)
{
    return strchr(resource, '/') == NULL || strstr(resource, "kubernetes.io/") != NULL;
}

/* validateContainerResourceName(). */
static const char *
resource_name_fault(const char *name)
{
    static const char *const standard[] = {"cpu",
                                           "memory",
                                           "ephemeral-storage",
                                           "storage",
                                           "pods",
                                           "services",
                                           "secrets",
                                           "configmaps",
                                           "persistentvolumeclaims",
                                           "resourcequotas",
                                           "replicationcontrollers",
                                           NULL};
    static const char *const of_containers[] = {"cpu", "memory", "ephemeral-storage", NULL};

    if (name_fault_qualified(name) != NULL)
        return name_fault_qualified(name);
    if (strchr(name, '/') == NULL && !g_str_has_prefix(name, "hugepages-")) {
        if (!g_strv_contains(standard, name))
            return "must be a standard resource type or fully qualified";
        return g_strv_contains(of_containers, name) ? NULL
                                                    : "must be a standard resource for containers";
    }
    if (!is_native(name) && g_str_has_prefix(name, "requests."))
        return "doesn't follow extended resource name standard";
    return NULL;
}

static void
check_amount(Check *check, const char *name, const json_t *value, const char *list)
{
    g_autofree char *path = g_strdup_printf("%s[%s]", list, name);
    char canonical[QUANTITY_BUFFER];
    int64_t units, milli;
    const char *fault = resource_name_fault(name);

    if (fault != NULL) {
        check_fault(check, value, path, "Invalid value: \"%s\": %s", name, fault);
        if (name_fault_qualified(name) == NULL && strchr(name, '/') == NULL &&
            g_str_has_prefix(fault, "must be a standard resource type"))
            check_fault(check, value, path,
                        "Invalid value: \"%s\": must be a standard resource for containers", name);
    }
    if (!json_quantity(value, &units, &milli, canonical))
        return;
    if (canonical[0] == '-')
        check_fault(check, value, path, "Invalid value: \"%s\": must be greater than or equal to 0",
                    canonical);
    if (!is_native(name) && milli % 1000 != 0)
        check_fault(check, value, path, "Invalid value: %s: must be an integer", canonical);
}

/* validateResourceRequirements(). */
static void
check_requests(Check *check, const json_t *resources)
{
    const json_t *limits = json_path_get(resources, "limits");
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)limits, name, value)
        check_amount(check, name, value, "limits");
    json_object_foreach((json_t *)json_path_get(resources, "requests"), name, value) {
        const json_t *limit = json_object_get(limits, name);
        char text[QUANTITY_BUFFER], limit_text[QUANTITY_BUFFER];
        int64_t units, milli, limit_units, limit_milli;
        gboolean overcommits = is_native(name) && !g_str_has_prefix(name, "hugepages-");

        check_amount(check, name, value, "requests");
        if (!overcommits && limit == NULL)
            check_required(check, "limits", "Limit must be set for non overcommitable resources");
        if (limit == NULL || !json_quantity(value, &units, &milli, text) ||
            !json_quantity(limit, &limit_units, &limit_milli, limit_text))
            continue;
        gboolean exceeds = units > limit_units || (units == limit_units && milli > limit_milli);
        if (!overcommits && strcmp(text, limit_text) != 0)
            check_fault(check, value, "requests",
                        "Invalid value: \"%s\": must be equal to %s limit of %s", text, name,
                        limit_text);
        else if (exceeds)
            check_fault(check, value, "requests",
                        "Invalid value: \"%s\": must be less than or equal to %s limit of %s", text,
                        name, limit_text);
    }
}

/* ---- Mounts ---- */

/* ValidateVolumeMounts(), ValidateVolumeDevices(): @other: the other of the two lists */
static void
check_paths(Check *check,
            const json_t *container,
            const char *list,
            const char *key,
            const char *other,
            const char *other_key)
{
    const json_t *mounts = json_path_get(container, list), *item;
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    size_t i;

    json_array_foreach((json_t *)mounts, i, item) {
        const char *path = json_path_text(item, key), *name = json_path_text(item, "name");
        g_autofree char *at = g_strdup_printf("%s[%zu].%s", list, i, key);
        g_autofree char *name_at = g_strdup_printf("%s[%zu].name", list, i);
        const json_t *others = json_path_get(container, other);
        g_autofree char *detail = g_strdup_printf("must not already exist in %s", other);
        g_autofree char *path_detail =
            g_strdup_printf("must not already exist as a path in %s", other);
        if (*path != '\0' && !g_hash_table_add(seen, (char *)path)) /* only compared */
            check_invalid(check, json_object_get(item, key), at, "must be unique");
        if (*name != '\0' && json_list_find(others, "name", name) != NULL)
            check_invalid(check, json_object_get(item, "name"), name_at, detail);
        if (*path != '\0' && json_list_find(others, other_key, path) != NULL)
            check_invalid(check, json_object_get(item, key), at, path_detail);
    }
}

/* Kubernetes' paths have no index here. */
static void
check_sub_paths(Check *check, const json_t *container)
{
    const json_t *item;
    size_t i;

    json_array_foreach(json_path_get(container, "volumeMounts"), i, item) {
        g_autofree char *at = g_strdup_printf("volumeMounts[%zu].subPathExpr", i);
        const json_t *path = json_path_get(item, "subPath"),
                     *expression = json_path_get(item, "subPathExpr");
        if (path != NULL)
            check_format(check, path, "volumeMounts.subPath", "local-path");
        check_mount_flags(check, container, item);
        if (expression != NULL && path != NULL)
            check_invalid(check, expression, at, "subPathExpr and subPath are mutually exclusive");
        if (expression != NULL)
            check_format(check, expression, "volumeMounts.subPathExpr", "local-path");
    }
}

/* ---- Probes ---- */

static void
check_threshold(Check *check, const json_t *container, const char *probe)
{
    g_autofree char *path = g_strdup_printf("%s.successThreshold", probe);
    const json_t *value = json_path_get(container, path);

    if (json_is_integer(value) && json_integer_value(value) != 1 && json_integer_value(value) != 0)
        check_invalid(check, value, path, "must be 1");
}

static void
check_container(Check *check, const json_t *container)
{
    const json_t *grace = json_path_get(container, "readinessProbe.terminationGracePeriodSeconds");

    check_env_from(check, container);
    check_paths(check, container, "volumeMounts", "mountPath", "volumeDevices", "devicePath");
    check_paths(check, container, "volumeDevices", "devicePath", "volumeMounts", "mountPath");
    check_sub_paths(check, container);
    check_threshold(check, container, "livenessProbe");
    check_threshold(check, container, "startupProbe");
    if (grace != NULL)
        check_invalid(check, grace, "readinessProbe.terminationGracePeriodSeconds",
                      "must not be set for readinessProbes");
}

/* validateEphemeralContainers(): allowedEphemeralContainerFields has all other fields. */
static void
check_ephemeral(Check *check, const json_t *container)
{
    static const char *const refused[] = {"lifecycle",      "livenessProbe",      "ports",
                                          "readinessProbe", "resizePolicy",       "resources",
                                          "restartPolicy",  "restartPolicyRules", "startupProbe"};
    static const char *const of_mounts[] = {"subPath", "subPathExpr"};
    static const char detail[] = "cannot be set for an Ephemeral Container";
    const json_t *mount;
    size_t k;

    check_container(check, container);
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
        const json_t *value = json_object_get(container, refused[i]);
        if (!api_check_same(NULL, value, NULL))
            check_forbidden(check, value, refused[i], detail);
    }
    json_array_foreach(json_path_get(container, "volumeMounts"), k, mount)
        for (gsize i = 0; i < G_N_ELEMENTS(of_mounts); i++) {
            g_autofree char *path = g_strdup_printf("volumeMounts[%zu].%s", k, of_mounts[i]);
            if (*json_path_text(mount, of_mounts[i]) != '\0')
                check_forbidden(check, json_object_get(mount, of_mounts[i]), path, detail);
        }
}

static void
check_http_get(Check *check, const json_t *value)
{
    const json_t *header;
    size_t i;

    json_array_foreach(json_path_get(value, "httpHeaders"), i, header)
        check_format(check, json_path_get(header, "name"), "httpHeaders", "http-header");
}

/* ValidateSecurityContext(). */
static void
check_security(Check *check, const json_t *value)
{
    const json_t *escalates = json_path_get(value, "allowPrivilegeEscalation"), *item;
    size_t i;

    if (!json_is_false(escalates))
        return;
    if (check_flag(value, "privileged"))
        check_invalid(check, value, "",
                      "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    json_array_foreach(json_path_get(value, "capabilities.add"), i, item)
        if (g_strcmp0(json_string_value(item), "CAP_SYS_ADMIN") == 0)
            check_invalid(check, value, "",
                          "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                          "CAP_SYS_ADMIN");
}

/* validateSeccompProfileField(), ValidateAppArmorProfileField(). */
static void
check_profile(Check *check, const json_t *value)
{
    gboolean is_local = strcmp(json_path_text(value, "type"), "Localhost") == 0;
    gboolean is_seccomp = g_str_has_suffix(check->parser->path->str, "seccompProfile");
    const json_t *profile = json_path_get(value, "localhostProfile");
    g_autofree char *detail = g_strdup_printf("%s when %s type is Localhost",
                                              is_local ? "must be set" : "can only be set",
                                              is_seccomp ? "seccomp" : "AppArmor");

    if (is_local && *json_path_text(value, "localhostProfile") == '\0')
        check_required(check, "localhostProfile", detail);
    else if (is_local && is_seccomp)
        check_format(check, profile, "localhostProfile", "local-path");
    else if (!is_local && profile != NULL)
        check_invalid(check, profile, "localhostProfile", detail);
}

const CheckRule check_container_rules[] = {
    {"validateContainerCommon",               "core.v1.Container",            check_container },
    {"validateEphemeralContainers",           "core.v1.EphemeralContainer",   check_ephemeral },
    {"ValidateEnv",                           "core.v1.EnvVar",               check_env       },
    {"validateEnvVarValueFrom",               "core.v1.EnvVarSource",         check_env_source},
    {"ValidateContainerResourceRequirements", "core.v1.ResourceRequirements", check_requests  },
    {"validateHTTPGetAction",                 "core.v1.HTTPGetAction",        check_http_get  },
    {"ValidateSecurityContext",               "core.v1.SecurityContext",      check_security  },
    {"validateSeccompProfileField",           "core.v1.SeccompProfile",       check_profile   },
    {"ValidateAppArmorProfileField",          "core.v1.AppArmorProfile",      check_profile   },
    {NULL,                                    NULL,                           NULL            },
};
