/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "store-private.h"

/* Stores an object unless there is one of its name. @object: (taken) */
static void
add(ServeStore *self, const char *resource, const char *namespace, json_t *object)
{
    const ApiResource *row;
    StoreKind *kind = serve_store_kind(self, "", "v1", resource, &row);
    char time[API_TIME_BUFFER];
    json_auto_t *there = store_get(kind, namespace, json_path_string(object, "metadata.name"));

    if (there != NULL || kind->keeper != KEPT_PLAIN)
        json_decref(object);
    else if (!self->is_built) /* as old as the cluster */
        json_object_set_new(
            json_object_get(store_put(kind, object), "metadata"), "creationTimestamp",
            json_string(api_time_format(sim_start(run_sim(self->run)), FALSE, time)));
    else
        store_put(kind, object);
}

void
store_add_first_objects_in(ServeStore *self, const char *namespace)
{
    add(self, "serviceaccounts", namespace,
        json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "ServiceAccount",
                  "metadata", "name", "default", "namespace", namespace));
    add(self, "configmaps", namespace,
        json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                  "metadata", "name", "kube-root-ca.crt", "namespace", namespace, "data", "ca.crt",
                  "")); /* nobody signs anything here */
}

void
serve_store_restore(ServeStore *self, const char *namespace)
{
    if (*namespace != '\0' && serve_store_has_namespace(self, namespace))
        store_add_first_objects_in(self, namespace);
}

static int
compare_names(const void *a, const void *b, void *data)
{
    (void)data;
    return g_strcmp0(*(const char *const *)a, *(const char *const *)b);
}

void
store_add_first_objects(ServeStore *self)
{
    g_autoptr(GHashTable) names = store_namespaces(self);
    unsigned n;
    g_autofree const char **sorted = (const char **)g_hash_table_get_keys_as_array(names, &n);

    /* Uids and versions are given in turn. */
    g_qsort_with_data(sorted, (int)n, sizeof *sorted, compare_names, NULL);
    for (unsigned i = 0; i < n; i++)
        if (serve_store_has_namespace(self, sorted[i]))
            store_add_first_objects_in(self, sorted[i]);
    self->is_built = TRUE;
}

json_t *
store_first_service(const ServeStore *self)
{
    char time[API_TIME_BUFFER], uid[OBJECT_UID_BUFFER];
    uint64_t hash = sim_hash_string("service/kubernetes");

    return json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s}},"
        " s:{s:s, s:[s], s:s, s:[s], s:s, s:[{s:s, s:i, s:s, s:i}], s:s, s:s},"
        " s:{s:{}}}",
        "apiVersion", "v1", "kind", "Service", "metadata", "name", "kubernetes", "namespace",
        "default", "uid", object_uid_format((ObjectUid){hash, sim_hash_combine(hash, 1)}, uid),
        "resourceVersion", "1", "creationTimestamp",
        api_time_format(sim_start(run_sim(self->run)), FALSE, time), "labels", "component",
        "apiserver", "provider", "kubernetes", "spec", "clusterIP", "10.96.0.1", "clusterIPs",
        "10.96.0.1", "internalTrafficPolicy", "Cluster", "ipFamilies", "IPv4", "ipFamilyPolicy",
        "SingleStack", "ports", "name", "https", "port", 443, "protocol", "TCP", "targetPort", 6443,
        "sessionAffinity", "None", "type", "ClusterIP", "status", "loadBalancer");
}
