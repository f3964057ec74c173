/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks.h"
#include "models/api/namespace.h"

static ApiCode
check_namespace(const ApiStore *self, const Object *object, GString *message)
{
    if (!kind_class(object_kind(object))->namespaced ||
        objects_n_keys(self->objects, KIND_NAMESPACE) == 0)
        return API_OK;
    const char *name = object->key->namespace;
    const ObjectKey *key = objects_find_key(self->objects, KIND_NAMESPACE, NULL, name);
    if (key == NULL || key->incarnation == 0)
        return API_OK;
    const Object *found = api_store_get(self, key);
    if (found == NULL) {
        g_string_printf(message, "namespaces \"%s\" not found", name);
        return API_NOT_FOUND;
    }
    if (!object_is_deleted(found))
        return API_OK;
    g_string_printf(message,
                    "%s \"%s\" is forbidden: unable to create new content in namespace %s because "
                    "it is being terminated",
                    kind_class(object_kind(object))->resource, object_name(object), name);
    return API_FORBIDDEN;
}

static void
complete(const ApiStore *self, Object *object)
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
        complete(self, object);
    return check_namespace(self, object, message);
}
