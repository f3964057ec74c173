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

    if (key == NULL || key->incarnation == 0)
        return API_OK;
    const Object *found = api_store_get(self, key);
    return found == NULL ? API_NOT_FOUND : object_is_deleted(found) ? API_FORBIDDEN : API_OK;
}

static ApiCode
check_namespace(const ApiStore *self, const Object *object, GString *message)
{
    const KindClass *class = kind_class(object_kind(object));
    const char *name = object->key->namespace;
    ApiCode code = class->namespaced ? namespace_takes(self, name) : API_OK;

    if (code == API_NOT_FOUND)
        g_string_printf(message, "namespaces \"%s\" not found", name);
    else if (code == API_FORBIDDEN)
        g_string_printf(message,
                        "%s \"%s\" is forbidden: unable to create new content in namespace %s "
                        "because it is being terminated",
                        class->resource, object_name(object), name);
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
