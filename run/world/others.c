/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "run-private.h"

/* Objects that no model reads, as they are at the cluster's beginning: objects of manifests, and
 * objects that controllers have made in each namespace. */

static const char *const first_namespaces[] = {"default", "kube-node-lease", "kube-public",
                                               "kube-system"};

/* Returns: FALSE with @self->error */
static gboolean
add_manifests(Run *self)
{
    json_t *manifest;
    gsize i;

    json_array_foreach(self->scenario->others, i, manifest) {
        Object *object = world_parse(self, manifest);
        if (object == NULL)
            return FALSE;
        if (api_server_get(cluster_api(self->cluster), object->key) == NULL)
            api_server_place(cluster_api(self->cluster), object);
        else
            object_unref(object); /* twice in the files: the first one stays */
    }
    return TRUE;
}

/* Every cluster has it; it leads to the API server. */
static void
add_service(Run *self)
{
    json_auto_t *service = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s}},"
        " s:{s:s, s:[s], s:s, s:[s], s:s, s:[{s:s, s:i, s:s, s:i}], s:s, s:s}}",
        "apiVersion", "v1", "kind", "Service", "metadata", "name", "kubernetes", "namespace",
        "default", "labels", "component", "apiserver", "provider", "kubernetes", "spec",
        "clusterIP", "10.96.0.1", "clusterIPs", "10.96.0.1", "internalTrafficPolicy", "Cluster",
        "ipFamilies", "IPv4", "ipFamilyPolicy", "SingleStack", "ports", "name", "https", "port",
        443, "protocol", "TCP", "targetPort", 6443, "sessionAffinity", "None", "type", "ClusterIP");

    if (world_find(self, KIND_SERVICE, "default", "kubernetes") == NULL)
        api_server_place(cluster_api(self->cluster), world_parse(self, service));
}

/* The namespaces of every cluster, and the namespaces that the objects are in. */
static void
add_namespaces(Run *self)
{
    ApiServer *api = cluster_api(self->cluster);

    for (gsize i = 0; i < G_N_ELEMENTS(first_namespaces); i++)
        api_server_add_namespace(api, first_namespaces[i]);
    for (ObjectKind kind = 0; kind < N_KINDS; kind++)
        for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kind); slot++) {
            const ObjectKey *key = objects_key_at(self->objects, kind, slot);
            if (*key->namespace != '\0' && api_server_get(api, key) != NULL)
                api_server_add_namespace(api, key->namespace);
        }
}

/* Returns: (nullable): the account that a manifest's pods name */
static const char *
named_account(const json_t *manifest)
{
    static const char *const paths[] = {"spec.serviceAccountName",
                                        "spec.template.spec.serviceAccountName",
                                        "spec.jobTemplate.spec.template.spec.serviceAccountName"};
    const char *name = NULL;

    for (gsize i = 0; name == NULL && i < G_N_ELEMENTS(paths); i++)
        name = json_path_string(manifest, paths[i]);
    return name;
}

/* An account that a manifest of the beginning names may be named, whether or not the files have it.
 */
static void
add_accounts(Run *self)
{
    ApiServer *api = cluster_api(self->cluster);

    api_server_check_accounts(api, NULL, NULL);
    for (unsigned i = 0; i < self->scenario->n_manifests; i++) {
        const json_t *manifest = self->scenario->manifests[i];
        const char *namespace = json_path_string(manifest, "metadata.namespace");
        api_server_check_accounts(api, namespace != NULL ? namespace : "default",
                                  named_account(manifest));
    }
}

gboolean
world_add_others(Run *self)
{
    if (!add_manifests(self))
        return FALSE;
    add_accounts(self);
    add_namespaces(self);
    add_service(self);
    return TRUE;
}
