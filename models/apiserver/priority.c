/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks.h"
#include "models/api/workload.h"

#include <string.h>

/* The admission plugin Priority: what a pod's PriorityClass makes of its spec. */

static const PriorityClass *
class_at(const ApiStore *store, uint32_t i)
{
    return PRIORITY_CLASS_CONST(
        api_store_get(store, objects_key_at(store->objects, KIND_PRIORITY_CLASS, i)));
}

/* API-190: of several the one with the smallest value. */
static const PriorityClass *
default_class(const ApiStore *store)
{
    const PriorityClass *found = NULL;

    for (uint32_t i = 0; i < objects_n_keys(store->objects, KIND_PRIORITY_CLASS); i++) {
        const PriorityClass *class = class_at(store, i);
        if (class != NULL && class->is_default && (found == NULL || class->value < found->value))
            found = class;
    }
    return found;
}

static const PriorityClass *
find_class(const ApiStore *store, const char *name)
{
    for (uint32_t i = 0; i < objects_n_keys(store->objects, KIND_PRIORITY_CLASS); i++) {
        const PriorityClass *class = class_at(store, i);
        if (class != NULL && object_name(&class->meta) == name)
            return class;
    }
    return NULL;
}

static PodPriority
priority_of(const PriorityClass *class)
{
    return (PodPriority){object_name(&class->meta), class->value, class->preemption_policy};
}

char *
admission_name_in_words(const Pod *pod)
{
    const OwnerReference *controller = object_controller(&pod->meta);

    return controller == NULL || strcmp(controller->kind, "StatefulSet") == 0
               ? g_strdup(object_name(&pod->meta))
               : g_strconcat(controller->name, "-", NULL);
}

ApiCode
priority_admit(const ApiStore *store, const Pod *pod, PodPriority *priority, GString *message)
{
    const PodSpec *spec = pod->spec;
    const PriorityClass *class = spec->priority_class == NULL
                                     ? default_class(store)
                                     : find_class(store, spec->priority_class);

    g_autofree char *name = NULL;

    *priority = (PodPriority){spec->priority_class, spec->priority, spec->preemption_policy};
    if (class != NULL) {
        *priority = priority_of(class);
    } else if (spec->priority_class != NULL &&
               !priority_class_of_system(spec->priority_class, &priority->value)) {
        name = admission_name_in_words(pod);
        g_string_printf(message,
                        "pods \"%s\" is forbidden: no PriorityClass with name %s was found", name,
                        spec->priority_class);
        return API_FORBIDDEN;
    }
    if (!spec->gives_priority || spec->priority == priority->value)
        return API_OK;
    name = admission_name_in_words(pod);
    g_string_printf(message,
                    "pods \"%s\" is forbidden: the integer value of priority (%d) must not be "
                    "provided in pod spec; priority admission controller computed %d from the "
                    "given PriorityClass name",
                    name, spec->priority, priority->value);
    return API_FORBIDDEN;
}

ApiCode
priority_check_class(const ApiStore *store, const PriorityClass *class, GString *message)
{
    const PriorityClass *other = class->is_default ? default_class(store) : NULL;

    if (other == NULL || other->meta.key == class->meta.key)
        return API_OK;
    g_string_printf(message,
                    "priorityclasses.scheduling.k8s.io \"%s\" is forbidden: PriorityClass %s is "
                    "already marked as default. Only one default can exist",
                    object_name(&class->meta), object_name(&other->meta));
    return API_FORBIDDEN;
}
