/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks.h"

#include <string.h>

#include "models/api/namespace.h"

ApiCode
namespace_takes(const ApiStore *self, const char *name)
{
    const ObjectKey *key = objects_n_keys(self->objects, KIND_NAMESPACE) == 0
                               ? NULL
                               : objects_find_key(self->objects, KIND_NAMESPACE, NULL, name);

    const Object *found = key == NULL ? NULL : api_store_get(self, key);

    if (found != NULL)
        return object_is_deleted(found) ? API_FORBIDDEN : API_OK;
    return key != NULL && key->incarnation > 0 ? API_NOT_FOUND : API_OK;
}

static ApiCode
check_namespace(const ApiStore *self, const Object *object, GString *message)
{
    const char *name = object->key->namespace;
    ApiCode code = *name != '\0' ? namespace_takes(self, name) : API_OK;

    if (code == API_NOT_FOUND)
        g_string_printf(message, "namespaces \"%s\" not found", name);
    else if (code == API_FORBIDDEN)
        g_string_printf(message,
                        "%s \"%s\" is forbidden: unable to create new content in namespace %s "
                        "because it is being terminated",
                        objects_resource_name(self->objects, object->key), object_name(object),
                        name);
    return code;
}

gboolean
namespace_is_immortal(const Object *object)
{
    return object_kind(object) == KIND_NAMESPACE &&
           (strcmp(object_name(object), "default") == 0 ||
            strcmp(object_name(object), "kube-system") == 0 ||
            strcmp(object_name(object), "kube-public") == 0);
}

static void
namespaces_complete(const ApiStore *self, Object *object)
{
    Strings *strings = objects_strings(self->objects);
    const char *finalizer = strings_intern(strings, FINALIZER_KUBERNETES);

    if (NAMESPACE(object)->finalizers == NULL)
        NAMESPACE(object)->finalizers = string_list_new(&finalizer, 1);
    object_set_label(object, strings_intern(strings, LABEL_NAMESPACE_NAME), object_name(object));
}

ApiCode
namespace_admit(const ApiStore *self, Object *object, GString *message)
{
    if (object_kind(object) == KIND_NAMESPACE)
        namespaces_complete(self, object);
    return check_namespace(self, object, message);
}

/* Stores an object without admission. @keeps_revision: it is as old as the cluster */
static void
namespaces_add(ApiStore *self, Object *object /* taken */, gboolean keeps_revision)
{
    ObjectKey *key = (ObjectKey *)object->key;
    uint64_t revision = self->revision;

    object->uid = objects_uid(self->objects, key, ++key->incarnation);
    object->created_at = sim_now(self->sim);
    if (keeps_revision)
        self->revision = 0;
    object_unref(
        api_store_commit(self, WATCH_ADDED, object, sim_now(self->sim), key->n_requests++));
    if (keeps_revision)
        self->revision = MAX(revision, 1);
}

static void
furnish(ApiStore *self, const char *namespace, gboolean keeps_revision)
{
    static const struct {
        const char *kind, *name;
        gboolean has_certificate;
    } rows[] = {
        {"ServiceAccount", "default",          FALSE},
        {"ConfigMap",      "kube-root-ca.crt", TRUE }
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        unsigned resource = objects_resource(self->objects, "", rows[i].kind, NULL);
        ObjectKey *key = objects_other_key(self->objects, resource, namespace, rows[i].name);
        if (api_store_get(self, key) != NULL)
            continue;
        Object *object = object_new(key);
        object->manifest = json_pack("{s:s, s:s}", "apiVersion", "v1", "kind", rows[i].kind);
        if (rows[i].has_certificate) /* nobody signs anything here */
            json_object_set_new(object->manifest, "data", json_pack("{s:s}", "ca.crt", ""));
        namespaces_add(self, object, keeps_revision);
    }
}

void
namespace_furnish(ApiStore *self, const char *name)
{
    if (!self->is_dry && namespace_takes(self, name) == API_OK)
        furnish(self, name, FALSE);
}

void
namespace_imply(ApiStore *self, const char *name, gboolean is_old)
{
    if (self->is_dry)
        return;
    ObjectKey *key = objects_key(self->objects, KIND_NAMESPACE, NULL, name);
    if (key->incarnation > 0 || api_store_get(self, key) != NULL)
        return;
    Object *object = object_new(key);
    namespaces_complete(self, object);
    namespaces_add(self, object, is_old);
    furnish(self, name, is_old);
}
