/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of ConfigMaps, Secrets, roles and bindings, taints of Nodes, autoscalers and other objects
 * that people write and that components at most read. Values of binary data are measured after
 * base64 is decoded, and both kinds of data count towards 1 MiB. The API server's defaults
 * (roleRef, subjects, stringData) count as set before the check. */
#include "checks-private.h"

#include <string.h>

#include "models/api/schema/strict-fields.h"

#define DATA_BYTES_MAX 1048576 /* core.MaxSecretSize */

static void
check_size(Check *check, size_t n_bytes, const char *path)
{
    if (n_bytes > DATA_BYTES_MAX)
        check_fault(check, NULL, path,
                    check->minor >= 32 ? "Too long: may not be more than %d bytes"
                                       : "Too long: must have at most %d bytes",
                    DATA_BYTES_MAX);
}

/* Reports a value that is no base64 in the decoder's words. Returns: the number of bytes */
static size_t
check_bytes(Check *check, const json_t *data, const char *path)
{
    size_t n_bytes = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)data, key, value) {
        g_autofree char *at = g_strdup_printf("%s[%s]", path, key);
        long fault = json_is_string(value) ? strict_base64_fault(json_string_value(value)) : -1;
        if (fault >= 0)
            check_fault(check, value, at, "illegal base64 data at input byte %ld", fault);
        n_bytes += json_string_length(value) / 4 * 3;
    }
    return n_bytes;
}

static void
check_config_map(Check *check, const json_t *map)
{
    const json_t *data = json_path_get(map, "data"), *binary = json_path_get(map, "binaryData");
    size_t n_bytes = check_bytes(check, binary, "binaryData");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)data, key, value) {
        g_autofree char *path = g_strdup_printf("data[%s]", key);
        n_bytes += json_string_length(value);
        if (json_object_get(binary, key) != NULL)
            check_fault(check, value, path,
                        "Invalid value: \"%s\": duplicate of key present in binaryData", key);
    }
    check_size(check, n_bytes, "");
}

/* ---- Secrets ---- */

/* The keys that a type needs. */
static const struct {
    const char *type, *key;
    gboolean is_alternative; /* one of the type's keys is enough */
} secret_keys[] = {
    {"kubernetes.io/dockercfg",        ".dockercfg",        FALSE},
    {"kubernetes.io/dockerconfigjson", ".dockerconfigjson", FALSE},
    {"kubernetes.io/basic-auth",       "username",          TRUE },
    {"kubernetes.io/basic-auth",       "password",          TRUE },
    {"kubernetes.io/ssh-auth",         "ssh-privatekey",    FALSE},
    {"kubernetes.io/tls",              "tls.crt",           FALSE},
    {"kubernetes.io/tls",              "tls.key",           FALSE},
};

/* stringData becomes data before anything is checked. */
static gboolean
secret_has(const json_t *secret, const char *key)
{
    return json_object_get(json_path_get(secret, "data"), key) != NULL ||
           json_object_get(json_path_get(secret, "stringData"), key) != NULL;
}

static void
check_secret_keys(Check *check, const json_t *secret)
{
    const char *type = json_path_text(secret, "type");
    gboolean has_one = FALSE;

    for (gsize i = 0; i < G_N_ELEMENTS(secret_keys); i++)
        has_one = has_one || (strcmp(secret_keys[i].type, type) == 0 &&
                              secret_has(secret, secret_keys[i].key));
    for (gsize i = 0; i < G_N_ELEMENTS(secret_keys); i++) {
        g_autofree char *path = g_strdup_printf("data[%s]", secret_keys[i].key);
        if (strcmp(secret_keys[i].type, type) == 0 && !secret_has(secret, secret_keys[i].key) &&
            !(secret_keys[i].is_alternative && has_one))
            check_required(check, path, "");
    }
    if (strcmp(type, "kubernetes.io/service-account-token") == 0 &&
        json_object_get(json_path_get(secret, "metadata.annotations"),
                        "kubernetes.io/service-account.name") == NULL)
        check_required(check, "metadata.annotations[kubernetes.io/service-account.name]", "");
}

static void
check_secret(Check *check, const json_t *secret)
{
    size_t n_bytes = check_bytes(check, json_path_get(secret, "data"), "data");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)json_path_get(secret, "stringData"), key, value) {
        g_autofree char *path = g_strdup_printf("data[%s]", key);
        json_auto_t *text = json_string(key);
        check_format(check, text, path, "config-key");
        n_bytes += json_string_length(value);
    }
    check_size(check, n_bytes, "data");
    check_secret_keys(check, secret);
}

/* ---- Roles ---- */

/* validatePolicyRule(). */
static void
check_policy_rule(Check *check, const json_t *rule)
{
    const json_t *urls = json_path_get(rule, "nonResourceURLs");
    size_t n_groups = json_array_size(json_path_get(rule, "apiGroups")),
           n_resources = json_array_size(json_path_get(rule, "resources")),
           n_names = json_array_size(json_path_get(rule, "resourceNames"));

    if (json_array_size(urls) > 0) {
        if (strcmp(json_path_text(check->object, "kind"), "Role") == 0)
            check_invalid(check, urls, "nonResourceURLs",
                          "namespaced rules cannot apply to non-resource URLs");
        if (n_groups + n_resources + n_names > 0)
            check_invalid(check, urls, "nonResourceURLs",
                          "rules cannot apply to both regular resources and non-resource URLs");
        return;
    }
    if (n_groups == 0)
        check_required(check, "apiGroups", "resource rules must supply at least one api group");
    if (n_resources == 0)
        check_required(check, "resources", "resource rules must supply at least one resource");
}

/* The defaults of roleRef and subjects are set before the check. */
static void
check_binding(Check *check, const json_t *binding)
{
    static const char *const groups[] = {"rbac.authorization.k8s.io", NULL};
    static const char *const kinds[] = {"Role", "ClusterRole", NULL};
    gboolean is_of_cluster = strcmp(json_path_text(binding, "kind"), "ClusterRoleBinding") == 0;
    const json_t *group = json_path_get(binding, "roleRef.apiGroup"),
                 *kind = json_path_get(binding, "roleRef.kind");

    if (*json_path_text(binding, "roleRef.apiGroup") != '\0' &&
        strcmp(json_string_value(group), groups[0]) != 0)
        check_unsupported(check, group, "roleRef.apiGroup", groups);
    if (!g_strv_contains(is_of_cluster ? kinds + 1 : kinds,
                         json_path_text(binding, "roleRef.kind")))
        check_unsupported(check, kind, "roleRef.kind", is_of_cluster ? kinds + 1 : kinds);
}

static void
check_subject(Check *check, const json_t *subject)
{
    static const char *const groups[] = {"rbac.authorization.k8s.io", NULL};
    static const char *const none[] = {"", NULL};
    static const char *const kinds[] = {"ServiceAccount", "User", "Group", NULL};
    const char *kind = json_path_text(subject, "kind"),
               *given = json_path_text(subject, "apiGroup");
    const json_t *group = json_path_get(subject, "apiGroup");

    if (strcmp(kind, "ServiceAccount") == 0) {
        if (*json_path_text(subject, "name") != '\0')
            check_format(check, json_path_get(subject, "name"), "name", "dns-subdomain");
        if (*given != '\0')
            check_unsupported(check, group, "apiGroup", none);
        if (strcmp(json_path_text(check->object, "kind"), "ClusterRoleBinding") == 0 &&
            *json_path_text(subject, "namespace") == '\0')
            check_required(check, "namespace", "");
    } else if (!g_strv_contains(kinds, kind)) {
        check_unsupported(check, json_path_get(subject, "kind"), "kind", kinds);
    } else if (*given != '\0' && strcmp(given, groups[0]) != 0) {
        check_unsupported(check, group, "apiGroup", groups);
    }
}

/* ---- Nodes ---- */

/* validateNodeTaints(). */
static void
check_taints(Check *check, const json_t *spec)
{
    const json_t *taints = json_path_get(spec, "taints"), *taint;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    size_t i;

    json_array_foreach((json_t *)taints, i, taint) {
        const char *key = json_path_text(taint, "key"), *effect = json_path_text(taint, "effect");
        g_autofree char *path = g_strdup_printf("taints[%zu]", i);
        if (!g_hash_table_add(seen, g_strdup_printf("%s:%s", effect, key)))
            check_fault(check, taint, path,
                        "Duplicate value: core.Taint{Key:\"%s\", Value:\"%s\", Effect:\"%s\", "
                        "TimeAdded:<nil>}: taints must be unique by key and effect pair",
                        key, json_path_text(taint, "value"), effect);
    }
}

/* ---- Autoscalers ---- */

static void
check_autoscaler(Check *check, const json_t *spec)
{
    const json_t *least = json_path_get(spec, "minReplicas"),
                 *most = json_path_get(spec, "maxReplicas");
    json_int_t number = least == NULL ? 1 : json_integer_value(least); /* the default */

    if (json_is_integer(least) && number < 1)
        check_invalid(check, least, "minReplicas", "must be greater than or equal to 1");
    if (json_is_integer(most) && json_integer_value(most) < number)
        check_invalid(check, most, "maxReplicas", "must be greater than or equal to `minReplicas`");
}

/* validateMetricSpec(). */
static void
check_metric(Check *check, const json_t *metric)
{
    static const char *const types[] = {"ContainerResource", "External", "Object", "Pods",
                                        "Resource",          NULL};
    static const char *const members[] = {"containerResource", "external", "object", "pods",
                                          "resource"};
    const char *type = json_path_text(metric, "type");

    if (*type == '\0')
        return;
    if (!g_strv_contains(types, type)) {
        check_unsupported(check, json_path_get(metric, "type"), "type", types);
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(members); i++) {
        gboolean is_wanted = strcmp(types[i], type) == 0;
        if (is_wanted && !check_has(metric, members[i]))
            check_required(check, members[i],
                           "must populate information for the given metric source");
        if (!is_wanted && check_has(metric, members[i]))
            check_forbidden(check, json_path_get(metric, members[i]), members[i],
                            "must populate the given metric source only");
    }
}

/* validateMetricTarget(). */
static void
check_metric_target(Check *check, const json_t *target)
{
    static const char *const types[] = {"Utilization", "Value", "AverageValue", NULL};
    const json_t *utilization = json_path_get(target, "averageUtilization");
    const char *type = json_path_text(target, "type");

    if (*type == '\0')
        check_required(check, "type", "must specify a metric target type");
    if (!g_strv_contains(types, type))
        check_fault(check, json_path_get(target, "type"), "type",
                    "Invalid value: \"%s\": must be either Utilization, Value, or AverageValue",
                    type);
    if (json_is_integer(utilization) && json_integer_value(utilization) < 1)
        check_invalid(check, utilization, "averageUtilization", "must be greater than 0");
}

const CheckRule check_config_rules[] = {
    {"ValidateConfigMap",                   "core.v1.ConfigMap",                          check_config_map   },
    {"ValidateSecret",                      "core.v1.Secret",                             check_secret       },
    {"validateNodeTaints",                  "core.v1.NodeSpec",                           check_taints       },
    {"validatePolicyRule",                  "rbac.v1.PolicyRule",                         check_policy_rule  },
    {"ValidateRoleBinding",                 "rbac.v1.RoleBinding",                        check_binding      },
    {"ValidateClusterRoleBinding",          "rbac.v1.ClusterRoleBinding",                 check_binding      },
    {"validateRoleBindingSubject",          "rbac.v1.Subject",                            check_subject      },
    {"validateHorizontalPodAutoscalerSpec", "autoscaling.v1.HorizontalPodAutoscalerSpec",
     check_autoscaler                                                                                        },
    {"validateHorizontalPodAutoscalerSpec", "autoscaling.v2.HorizontalPodAutoscalerSpec",
     check_autoscaler                                                                                        },
    {"validateMetricSpec",                  "autoscaling.v2.MetricSpec",                  check_metric       },
    {"validateMetricTarget",                "autoscaling.v2.MetricTarget",                check_metric_target},
    {NULL,                                  NULL,                                         NULL               },
};
