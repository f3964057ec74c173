/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ServiceAccount admission: which account a pod runs as, whether that account exists, and the token
 * volume kube-api-access-... that every container mounts. Works on the JSON of a spec, because no
 * model reads these fields. The suffix of the volume's name is drawn from the pod, so that the same
 * pod gets the same name in every run. */
#include "service-account.h"

#include <string.h>

#include "checks.h"
#include "models/api/fields.h"
#include "sim/random.h"

#define MOUNT_PATH "/var/run/secrets/kubernetes.io/serviceaccount"
#define VOLUME_PREFIX "kube-api-access-"
#define BOUND_SINCE 21 /* BoundServiceAccountTokenVolume; before, a Secret of the account */
#define SUFFIX_LENGTH 5

/* Returns: (nullable): %NULL: nobody has ever spoken of such an account */
static const ObjectKey *
account_key(const ApiStore *store, const char *namespace, const char *name)
{
    unsigned resource = objects_resource(store->objects, "", "ServiceAccount", NULL);

    return objects_find_other_key(store->objects, resource, namespace, name);
}

const Object *
service_account_find(const ApiStore *store, const char *namespace, const char *name)
{
    const ObjectKey *key = account_key(store, namespace, name != NULL ? name : "default");

    return key == NULL ? NULL : api_store_get(store, key);
}

static gboolean
is_there(const ApiStore *store, const char *namespace, const char *name)
{
    const ObjectKey *key = account_key(store, namespace, name);

    return key != NULL &&
           (api_store_get(store, key) != NULL || g_hash_table_contains(store->named_accounts, key));
}

/* Controllers make "default" in time: a pod that names no account is never refused. */
ApiCode
service_account_admit(const ApiStore *store, const Pod *pod, GString *message)
{
    const char *namespace = pod->meta.key->namespace, *account = pod->spec->service_account;

    if (store->named_accounts == NULL || account == NULL || *account == '\0' ||
        strcmp(account, "default") == 0 || is_there(store, namespace, account))
        return API_OK;
    g_autofree char *name = admission_name_in_words(pod);
    g_string_printf(message,
                    "pods \"%s\" is forbidden: error looking up service account %s/%s: "
                    "serviceaccount \"%s\" not found",
                    name, namespace, account, account);
    return API_FORBIDDEN;
}

/* As k8s.io/apimachinery's pkg/util/rand makes names, but of the pod. */
static void
append_suffix(GString *name, uint64_t bits)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";

    for (unsigned i = 0; i < SUFFIX_LENGTH; i++, bits /= strlen(letters))
        g_string_append_c(name, letters[bits % strlen(letters)]);
}

/* Returns: (owned): the name of the volume; before 1.21 it is also the name of the Secret, which
 * all pods of the account share */
static GString *
service_account_volume_name(const json_t *spec,
                            const char *account,
                            const ServiceAccountOptions *options)
{
    gboolean is_bound = options->minor >= BOUND_SINCE;
    GString *name = g_string_new(is_bound ? VOLUME_PREFIX : account);
    json_t *volume;
    gsize i;

    json_array_foreach(json_object_get(spec, "volumes"), i, volume) {
        const char *there = json_path_string(volume, "name");
        if (is_bound && there != NULL && g_str_has_prefix(there, VOLUME_PREFIX))
            return g_string_assign(name, there);
    }
    if (!is_bound)
        g_string_append(name, "-token-");
    append_suffix(name, is_bound ? sim_hash_combine(options->uid.high, options->uid.low)
                                 : sim_hash_combine(sim_hash_string(options->key->namespace),
                                                    sim_hash_string(account)));
    return name;
}

/* Returns: (owned) */
static json_t *
new_volume(const char *name, int minor)
{
    if (minor < BOUND_SINCE)
        return json_pack("{s:s, s:{s:i, s:s}}", "name", name, "secret", "defaultMode", 0644,
                         "secretName", name);
    return json_pack("{s:s, s:{s:i, s:[{s:{s:i, s:s}}, {s:{s:[{s:s, s:s}], s:s}},"
                     " {s:{s:[{s:{s:s, s:s}, s:s}]}}]}}",
                     "name", name, "projected", "defaultMode", 0644, "sources",
                     "serviceAccountToken", "expirationSeconds", 3607, "path", "token", "configMap",
                     "items", "key", "ca.crt", "path", "ca.crt", "name", "kube-root-ca.crt",
                     "downwardAPI", "items", "fieldRef", "apiVersion", "v1", "fieldPath",
                     "metadata.namespace", "path", "namespace");
}

static json_t *
member_array(json_t *object, const char *name)
{
    if (!json_is_array(json_object_get(object, name)))
        json_object_set_new(object, name, json_array());
    return json_object_get(object, name);
}

/* A container that mounts something there has its reasons. Returns: whether one got the mount */
static gboolean
mount_in(json_t *containers, const char *volume)
{
    gboolean any = FALSE;
    json_t *container;
    gsize i;

    json_array_foreach(containers, i, container) {
        if (json_list_find(json_object_get(container, "volumeMounts"), "mountPath", MOUNT_PATH) !=
            NULL)
            continue;
        json_array_append_new(member_array(container, "volumeMounts"),
                              json_pack("{s:s, s:s, s:b}", "mountPath", MOUNT_PATH, "name", volume,
                                        "readOnly", TRUE));
        any = TRUE;
    }
    return any;
}

void
service_account_mend(json_t *spec, int minor)
{
    json_t *container, *mount;
    gsize i, k;

    json_array_foreach(json_object_get(spec, "containers"), i, container)
        json_array_foreach(json_object_get(container, "volumeMounts"), k, mount) {
            const char *name = json_path_string(mount, "name");
            if (g_strcmp0(json_path_string(mount, "mountPath"), MOUNT_PATH) == 0 && name != NULL &&
                (minor < BOUND_SINCE || g_str_has_prefix(name, VOLUME_PREFIX)) &&
                json_list_find(json_object_get(spec, "volumes"), "name", name) == NULL)
                json_array_append_new(member_array(spec, "volumes"), new_volume(name, minor));
        }
}

/* shouldAutomount() */
static gboolean
wants_token(const json_t *spec, const json_t *account)
{
    const json_t *own = json_object_get(spec, "automountServiceAccountToken");
    const json_t *of_account = json_object_get(account, "automountServiceAccountToken");

    return !json_is_false(json_is_boolean(own) ? own : of_account);
}

void
service_account_complete(json_t *spec, const ServiceAccountOptions *options)
{
    const json_t *secrets = json_object_get(options->account, "imagePullSecrets");

    json_set_missing(spec, "serviceAccountName", json_string("default"));
    json_set_missing(spec, "serviceAccount",
                     json_incref(json_object_get(spec, "serviceAccountName")));
    if (json_array_size(secrets) > 0)
        json_set_missing(spec, "imagePullSecrets", json_incref((json_t *)secrets));
    if (!wants_token(spec, options->account))
        return;
    g_autoptr(GString) name =
        service_account_volume_name(spec, json_path_string(spec, "serviceAccountName"), options);
    gboolean is_mounted = mount_in(json_object_get(spec, "containers"), name->str);
    is_mounted |= mount_in(json_object_get(spec, "initContainers"), name->str);
    if (is_mounted && json_list_find(json_object_get(spec, "volumes"), "name", name->str) == NULL)
        json_array_append_new(member_array(spec, "volumes"), new_volume(name->str, options->minor));
}
