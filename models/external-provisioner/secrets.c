/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "secrets.h"

#include <string.h>

#include "models/volume/secret-template.h"

#define PREFIX "csi.storage.k8s.io/"

/* SEC-1. */
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

/* The values of the tokens in a template. */
typedef struct {
    const char *volume_name;
    const ObjectKey *claim;       /* NULL: none is known */
    const StringMap *annotations; /* the claim's */
} SecretsTemplateValues;

/* A SecretToken. A namespace has no tokens that the claim's owner decides. */
static char *
token_value(const void *data, const char *token, gboolean for_name)
{
    const SecretsTemplateValues *values = data;
    static const char annotation[] = "pvc.annotations['", annotation_end[] = "']";

    if (strcmp(token, "pv.name") == 0)
        return g_strdup(values->volume_name);
    if (values->claim == NULL)
        return NULL;
    if (strcmp(token, "pvc.namespace") == 0)
        return g_strdup(values->claim->namespace);
    if (!for_name)
        return NULL;
    if (strcmp(token, "pvc.name") == 0)
        return g_strdup(values->claim->name);
    if (!g_str_has_prefix(token, annotation) || !g_str_has_suffix(token, annotation_end))
        return NULL;
    g_autofree char *key = g_strndup(token + strlen(annotation),
                                     strlen(token) - strlen(annotation) - strlen(annotation_end));
    return g_strdup(string_map_get(values->annotations, key));
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
    const SecretsTemplateValues values = {volume_name, claim, annotations};
    const char *name, *namespace;

    *reference = (SecretReference){0};
    char *error = secret_find_templates(&secret_keys[use], parameters, &name, &namespace);
    if (error == NULL && name == NULL)
        error =
            secret_find_templates(&secret_keys[SECRET_USE_DEFAULT], parameters, &name, &namespace);
    if (error != NULL || name == NULL)
        return error;
    return secret_resolve_templates(strings, name, namespace, token_value, &values, reference);
}
