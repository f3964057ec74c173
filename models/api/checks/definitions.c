/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of the objects that extend the API: CustomResourceDefinitions, webhooks and APIServices. A
 * definition's name is made of its plural and its group; exactly one version is stored; a schema is
 * structural, so its root is an object and each part has a type. CEL rules are not looked at. */
#include "checks-private.h"

#include <string.h>

static void
check_definition_name(Check *check, const json_t *definition)
{
    const json_t *name = json_path_get(definition, "metadata.name");
    g_autofree char *wanted =
        g_strdup_printf("%s.%s", json_path_text(definition, "spec.names.plural"),
                        json_path_text(definition, "spec.group"));

    if (name != NULL && strcmp(json_path_text(definition, "metadata.name"), wanted) != 0)
        check_invalid(check, name, "metadata.name", "must be spec.names.plural+\".\"+spec.group");
}

/* A name in lower case, told with @prefix. */
static void
check_1035(Check *check, const json_t *value, const char *path, gboolean any_case)
{
    g_autofree char *lower =
        json_is_string(value) ? g_ascii_strdown(json_string_value(value), -1) : g_strdup("");
    const char *fault =
        *lower == '\0'
            ? NULL
            : check_format_fault(check, "dns-1035", any_case ? lower : json_string_value(value), 0);

    if (fault != NULL)
        check_fault(check, value, path, "Invalid value: \"%s\": %s%s", json_string_value(value),
                    any_case ? "may have mixed case, but should otherwise match: " : "", fault);
}

static void
check_definition_names(Check *check, const json_t *names)
{
    const json_t *item;
    size_t i;

    check_1035(check, json_path_get(names, "plural"), "plural", FALSE);
    check_1035(check, json_path_get(names, "singular"), "singular", FALSE);
    check_1035(check, json_path_get(names, "kind"), "kind", TRUE);
    check_1035(check, json_path_get(names, "listKind"), "listKind", TRUE);
    if (*json_path_text(names, "kind") != '\0' &&
        strcmp(json_path_text(names, "kind"), json_path_text(names, "listKind")) == 0)
        check_invalid(check, json_path_get(names, "listKind"), "listKind",
                      "kind and listKind may not be the same");
    json_array_foreach(json_path_get(names, "shortNames"), i, item) {
        g_autofree char *path = g_strdup_printf("shortNames[%zu]", i);
        check_1035(check, item, path, FALSE);
    }
}

/* The schema's root is an object, and each part has a type: what makes it structural. */
static void
check_version_schema(Check *check, const json_t *version, size_t i)
{
    const json_t *schema = json_path_get(version, "schema.openAPIV3Schema");
    g_autofree char *path = g_strdup_printf("versions[%zu].schema.openAPIV3Schema", i);
    g_autofree char *type_path = g_strconcat(path, ".type", NULL);
    const char *type = json_path_text(schema, "type");

    if (schema == NULL)
        check_required(check, path, "schemas are required");
    else if (*type == '\0')
        check_required(check, type_path, "must not be empty at the root");
    else if (strcmp(type, "object") != 0)
        check_fault(check, json_object_get(schema, "type"), type_path,
                    "Invalid value: \"%s\": must be object at the root", type);
}

static void
check_versions(Check *check, const json_t *spec)
{
    const json_t *versions = json_path_get(spec, "versions"), *version;
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    gboolean are_unique = TRUE;
    unsigned n_stored = 0;
    size_t i;

    json_array_foreach((json_t *)versions, i, version) {
        g_autofree char *path = g_strdup_printf("versions[%zu].name", i);
        n_stored += check_flag(version, "storage");
        are_unique = g_hash_table_add(seen, (char *)json_path_text(version, "name")) && are_unique;
        check_format(check, json_path_get(version, "name"), path, "dns-1035");
        check_version_schema(check, version, i);
    }
    if (!are_unique)
        check_invalid(check, versions, "versions", "must contain unique version names");
    if (n_stored != 1)
        check_invalid(check, versions, "versions",
                      "must have exactly one version marked as storage version");
}

static void
check_definition_spec(Check *check, const json_t *spec)
{
    const json_t *group = json_path_get(spec, "group");
    const char *text = json_path_text(spec, "group");

    if (*text != '\0' && name_fault_subdomain(text) != NULL)
        check_invalid(check, group, "group", name_fault_subdomain(text));
    else if (*text != '\0' && strchr(text, '.') == NULL)
        check_invalid(check, group, "group", "should be a domain with at least one dot");
    if (check_flag(spec, "preserveUnknownFields"))
        check_invalid(check, json_path_get(spec, "preserveUnknownFields"), "preserveUnknownFields",
                      "must be false");
    check_versions(check, spec);
}

/* ValidateCustomResourceDefinitionOpenAPISchema(). */
static void
check_schema(Check *check, const json_t *schema)
{
    static const char *const unsupported[] = {"id",          "additionalItems", "patternProperties",
                                              "definitions", "dependencies",    "$ref"};

    for (gsize i = 0; i < G_N_ELEMENTS(unsupported); i++) {
        const json_t *value = json_object_get(schema, unsupported[i]);
        g_autofree char *detail = g_strdup_printf("%s is not supported", unsupported[i]);
        if (!api_check_same(NULL, value, NULL))
            check_forbidden(check, value, unsupported[i], detail);
    }
    if (check_flag(schema, "uniqueItems"))
        check_forbidden(check, json_object_get(schema, "uniqueItems"), "uniqueItems",
                        "uniqueItems cannot be set to true since the runtime complexity becomes "
                        "quadratic");
    if (strcmp(json_path_text(schema, "type"), "null") == 0)
        check_forbidden(check, json_object_get(schema, "type"), "type",
                        "type cannot be set to null, use nullable as an alternative");
    if (json_object_size(json_object_get(schema, "properties")) > 0 &&
        (json_is_object(json_object_get(schema, "additionalProperties")) ||
         json_is_false(json_object_get(schema, "additionalProperties"))))
        check_forbidden(check, json_object_get(schema, "additionalProperties"),
                        "additionalProperties",
                        "additionalProperties and properties are mutual exclusive");
}

static void
check_scale(Check *check, const json_t *scale)
{
    static const struct {
        const char *field, *prefix, *fault;
    } paths[] = {
        {"specReplicasPath",   ".spec.",   "should be a json path under .spec"  },
        {"statusReplicasPath", ".status.", "should be a json path under .status"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
        const json_t *value = json_path_get(scale, paths[i].field);
        const char *text = json_path_text(scale, paths[i].field);
        if (*text != '\0' && !g_str_has_prefix(text, paths[i].prefix))
            check_invalid(check, value, paths[i].field, paths[i].fault);
    }
}

/* ---- Webhooks ---- */

/* IsFullyQualifiedName(). */
static void
check_webhook_name(Check *check, const json_t *webhook)
{
    const json_t *name = json_path_get(webhook, "name");
    const char *text = json_path_text(webhook, "name"), *dot = strchr(text, '.');

    if (*text != '\0' && name_fault_subdomain(text) != NULL)
        check_invalid(check, name, "name", name_fault_subdomain(text));
    else if (*text != '\0' && (dot == NULL || strchr(dot + 1, '.') == NULL))
        check_invalid(check, name, "name",
                      "should be a domain with at least three segments separated by dots");
}

static void
check_webhook(Check *check, const json_t *webhook)
{
    static const char *const effects[] = {"None", "NoneOnDryRun", NULL};
    const json_t *timeout = json_path_get(webhook, "timeoutSeconds");
    const json_t *effect = json_path_get(webhook, "sideEffects");

    check_webhook_name(check, webhook);
    if (check_has(webhook, "clientConfig.url") == check_has(webhook, "clientConfig.service"))
        check_required(check, "clientConfig", "exactly one of url or service is required");
    if (json_is_integer(timeout) &&
        (json_integer_value(timeout) < 1 || json_integer_value(timeout) > 30))
        check_invalid(check, timeout, "timeoutSeconds",
                      "the timeout value must be between 1 and 30 seconds");
    if (*json_path_text(webhook, "sideEffects") != '\0' &&
        !g_strv_contains(effects, json_string_value(effect)))
        check_unsupported(check, effect, "sideEffects", effects);
}

/* ---- APIServices ---- */

static void
check_priority(Check *check, const json_t *object, const char *path, int most, const char *fault)
{
    json_auto_t *zero = json_integer(0);
    const json_t *value = json_path_get(object, path);
    json_int_t number = json_integer_value(value);

    if (number <= 0 || number > most)
        check_invalid(check, value == NULL ? zero : value, path, fault);
}

/* ValidateAPIService() */
static void
check_api_service(Check *check, const json_t *object)
{
    const char *group = json_path_text(object, "spec.group"),
               *version = json_path_text(object, "spec.version");
    g_autofree char *name = g_strdup_printf("%s.%s", version, group);
    g_autofree char *detail =
        g_strdup_printf("must be `spec.version+\".\"+spec.group`: \"%s\"", name);
    const json_t *insecure = json_path_get(object, "spec.insecureSkipTLSVerify");
    gboolean is_local = !check_has(object, "spec.service");

    if (strcmp(json_path_text(object, "metadata.name"), name) != 0)
        check_invalid(check, json_path_get(object, "metadata.name"), "metadata.name", detail);
    if (*group == '\0' && strcmp(version, "v1") != 0)
        check_required(check, "spec.group",
                       "only v1 may have an empty group and it better be legacy kube");
    check_priority(check, object, "spec.groupPriorityMinimum", 20000,
                   "must be positive and less than 20000");
    check_priority(check, object, "spec.versionPriority", 1000,
                   "must be positive and less than 1000");
    if (check_flag(object, "spec.insecureSkipTLSVerify") && is_local)
        check_invalid(check, insecure, "spec.insecureSkipTLSVerify",
                      "local APIServices may not have insecureSkipTLSVerify");
    else if (check_flag(object, "spec.insecureSkipTLSVerify") &&
             *json_path_text(object, "spec.caBundle") != '\0')
        check_invalid(check, insecure, "spec.insecureSkipTLSVerify",
                      "may not be true if caBundle is present");
}

const CheckRule check_definition_rules[] = {
  /* clang-format off */
    {"ValidateCustomResourceDefinition",              "apiextensions.v1.CustomResourceDefinition",       check_definition_name },
    {"ValidateCustomResourceDefinitionSpec",          "apiextensions.v1.CustomResourceDefinitionSpec",   check_definition_spec },
    {"ValidateCustomResourceDefinitionNames",         "apiextensions.v1.CustomResourceDefinitionNames",  check_definition_names},
    {"ValidateCustomResourceDefinitionOpenAPISchema", "apiextensions.v1.JSONSchemaProps",                check_schema          },
    {"ValidateCustomResourceDefinitionSubresources",  "apiextensions.v1.CustomResourceSubresourceScale", check_scale           },
    {"validateValidatingWebhook",                     "admissionregistration.v1.ValidatingWebhook",      check_webhook         },
    {"validateMutatingWebhook",                       "admissionregistration.v1.MutatingWebhook",        check_webhook         },
    {"ValidateAPIService", "apiregistration.v1.APIService", check_api_service},
    {NULL,                                            NULL,                                              NULL                  },
  /* clang-format on */
};
