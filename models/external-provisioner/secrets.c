/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secrets.h"

#include <string.h>

#include "models/api/fields.h"

#define PREFIX "csi.storage.k8s.io/"

/* SEC-1: the keys of a pair of parameters, and their old names. */
typedef struct {
    const char *what;
    const char *name_key, *namespace_key;
    const char *old_name_key, *old_namespace_key; /* NULL: there are none */
} SecretKeys;

static const SecretKeys secret_keys[N_SECRET_USES] = {
    [SECRET_USE_DEFAULT] = {"Default",           PREFIX "secret-name",                    PREFIX "secret-namespace", NULL,                       NULL                                 },
    [SECRET_USE_PROVISIONER] = {"Provisioner",       PREFIX "provisioner-secret-name",
                            PREFIX "provisioner-secret-namespace",                                                   "csiProvisionerSecretName",
                            "csiProvisionerSecretNamespace"                                                                                                                           },
    [SECRET_USE_CONTROLLER_PUBLISH] = {"ControllerPublish", PREFIX "controller-publish-secret-name",
                            PREFIX "controller-publish-secret-namespace",
                            "csiControllerPublishSecretName",                                                                                    "csiControllerPublishSecretNamespace"},
    [SECRET_USE_NODE_STAGE] = {"NodeStage",         PREFIX "node-stage-secret-name",
                            PREFIX "node-stage-secret-namespace",                                                    "csiNodeStageSecretName",
                            "csiNodeStageSecretNamespace"                                                                                                                             },
    [SECRET_USE_NODE_PUBLISH] = {"NodePublish",       PREFIX "node-publish-secret-name",
                            PREFIX "node-publish-secret-namespace",                                                  "csiNodePublishSecretName",
                            "csiNodePublishSecretNamespace"                                                                                                                           },
    [SECRET_USE_CONTROLLER_EXPAND] = {"ControllerExpand",  PREFIX "controller-expand-secret-name",
                            PREFIX "controller-expand-secret-namespace",                                             NULL,                       NULL                                 },
    [SECRET_USE_NODE_EXPAND] = {"NodeExpand",        PREFIX "node-expand-secret-name",
                            PREFIX "node-expand-secret-namespace",                                                   NULL,                       NULL                                 },
};

gboolean
secret_key_is_known(const char *key)
{
    for (unsigned i = 0; i < N_SECRET_USES; i++)
        if (strcmp(key, secret_keys[i].name_key) == 0 ||
            strcmp(key, secret_keys[i].namespace_key) == 0)
            return TRUE;
    return FALSE;
}

/* One half of a pair: the value, and how often it is given. */
static const char *
find_template(const StringMap *parameters, const char *key, const char *old_key, unsigned *n)
{
    const char *value = NULL;

    if (old_key != NULL && string_map_has(parameters, old_key)) {
        value = string_map_get(parameters, old_key);
        ++*n;
    }
    if (string_map_has(parameters, key)) {
        value = string_map_get(parameters, key);
        ++*n;
    }
    return value;
}

/* Returns: (owned) (nullable): why the pair is not sound. No pair: both templates are NULL */
static char *
find_templates(const SecretKeys *keys,
               const StringMap *parameters,
               const char **name,
               const char **namespace)
{
    unsigned n_names = 0, n_namespaces = 0;

    *name = find_template(parameters, keys->name_key, keys->old_name_key, &n_names);
    *namespace =
        find_template(parameters, keys->namespace_key, keys->old_namespace_key, &n_namespaces);
    if (n_names > 1 || n_namespaces > 1)
        return g_strdup_printf(
            "%s secrets specified in parameters with both \"%s\" and \"%s\" keys", keys->what,
            keys->old_name_key, keys->name_key);
    if (n_names != n_namespaces)
        return g_strdup_printf("either name and namespace for %s secrets specified, Both must be "
                               "specified",
                               keys->what);
    if (n_names > 0 && ((*name)[0] == '\0' || (*namespace)[0] == '\0'))
        return g_strdup_printf("%s secrets specified in parameters but value of either namespace "
                               "or name is empty",
                               keys->what);
    return NULL;
}

/* The values of the tokens in a template. */
typedef struct {
    const char *volume_name;
    const ObjectKey *claim;       /* NULL: none is known */
    const StringMap *annotations; /* the claim's */
    gboolean for_names;           /* FALSE: a namespace: no tokens that the claim's owner decides */
} TemplateValues;

/* Returns: (owned): NULL: there is no such token */
static char *
token_value(const TemplateValues *values, const char *token)
{
    static const char annotation[] = "pvc.annotations['", annotation_end[] = "']";

    if (strcmp(token, "pv.name") == 0)
        return g_strdup(values->volume_name);
    if (values->claim == NULL)
        return NULL;
    if (strcmp(token, "pvc.namespace") == 0)
        return g_strdup(values->claim->namespace);
    if (!values->for_names)
        return NULL;
    if (strcmp(token, "pvc.name") == 0)
        return g_strdup(values->claim->name);
    if (!g_str_has_prefix(token, annotation) || !g_str_has_suffix(token, annotation_end))
        return NULL;
    g_autofree char *key = g_strndup(token + strlen(annotation),
                                     strlen(token) - strlen(annotation) - strlen(annotation_end));
    return g_strdup(string_map_get(values->annotations, key));
}

/* Like os.Expand(), but for ${...} only. Returns: (owned): NULL with @error: a token is unknown */
static char *
resolve_template(const char *template, const TemplateValues *values, char **error)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (const char *at = template; *at != '\0';) {
        const char *end = g_str_has_prefix(at, "${") ? strchr(at, '}') : NULL;
        if (end == NULL) {
            g_string_append_c(text, *at++);
            continue;
        }
        g_autofree char *token = g_strndup(at + 2, (size_t)(end - at - 2));
        g_autofree char *value = token_value(values, token);
        if (value == NULL) {
            *error = g_strdup_printf("invalid tokens: [\"%s\"]", token);
            return NULL;
        }
        g_string_append(text, value);
        at = end + 1;
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static char *
resolve_part(const char *template, const TemplateValues *values, const char *what, char **error)
{
    g_autofree char *token_error = NULL;
    g_autofree char *text = resolve_template(template, values, &token_error);

    if (text == NULL) {
        *error = g_strdup_printf("error resolving value %s: %s", template, token_error);
        return NULL;
    }
    if ((values->for_names ? name_fault_subdomain(text) : name_fault_dns_label(text)) == NULL)
        return g_steal_pointer(&text);
    if (strcmp(template, text) != 0)
        *error = g_strdup_printf("%s \"%s\" resolved to \"%s\" which is not a valid %s name", what,
                                 template, text, what);
    else
        *error = g_strdup_printf("%s \"%s\" is not a valid %s name", what, text, what);
    return NULL;
}

char *
secret_resolve(Strings *strings,
               SecretUse use,
               const StringMap *parameters,
               const char *volume_name,
               const ObjectKey *claim,
               const StringMap *annotations,
               SecretReference *reference)
{
    const char *name, *namespace;
    TemplateValues values = {volume_name, claim, annotations, FALSE};

    *reference = (SecretReference){0};
    char *error = find_templates(&secret_keys[use], parameters, &name, &namespace);
    if (error == NULL && name == NULL)
        error = find_templates(&secret_keys[SECRET_USE_DEFAULT], parameters, &name, &namespace);
    if (error != NULL || name == NULL)
        return error;

    g_autofree char *resolved_namespace = resolve_part(namespace, &values, "namespace", &error);
    if (resolved_namespace == NULL)
        return error;
    values.for_names = TRUE;
    g_autofree char *resolved_name = resolve_part(name, &values, "secret", &error);
    if (resolved_name == NULL)
        return error;
    reference->namespace = strings_intern(strings, resolved_namespace);
    reference->name = strings_intern(strings, resolved_name);
    return NULL;
}
