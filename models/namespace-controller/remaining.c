/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The remaining content of a namespace that is being deleted: the number of objects by resource and
 * by finalizer, and the conditions that tell of them. The texts are sorted as in Kubernetes, so
 * that the same content always gives the same message. The namespace is empty if nothing was
 * counted and no request failed. */
#include "models/namespace-controller/remaining.h"
#include "sim/strings.h"

#include <string.h>

/* A finalizer, and how many objects have it. */
typedef struct {
    const char *name; /* interned */
    unsigned n;
} Finalizer;

void
remaining_init(Remaining *self, const Objects *objects)
{
    *self = (Remaining){.objects = objects,
                        .others = g_array_new(FALSE, TRUE, sizeof(unsigned)),
                        .finalizers = g_array_new(FALSE, FALSE, sizeof(Finalizer)),
                        .faults = g_ptr_array_new_with_free_func(g_free)};
}

void
remaining_clear(void *data)
{
    Remaining *self = data;

    g_clear_pointer(&self->others, g_array_unref);
    g_clear_pointer(&self->finalizers, g_array_unref);
    g_clear_pointer(&self->faults, g_ptr_array_unref);
}

static void
count_finalizer(GArray *finalizers, const char *name)
{
    const Finalizer added = {name, 1};

    for (unsigned i = 0; i < finalizers->len; i++)
        if (g_array_index(finalizers, Finalizer, i).name == name) {
            g_array_index(finalizers, Finalizer, i).n++;
            return;
        }
    g_array_append_val(finalizers, added);
}

void
remaining_add(Remaining *self, const Object *object)
{
    const ObjectKey *key = object->key;

    self->n_objects[key->kind]++;
    if (key->resource >= self->others->len)
        g_array_set_size(self->others, key->resource + 1u);
    g_array_index(self->others, unsigned, key->resource)++; /* those with a model: at 0 */
    for (unsigned i = 0; object->finalizers != NULL && i < object->finalizers->n_items; i++)
        count_finalizer(self->finalizers, object->finalizers->items[i]);
}

gboolean
remaining_is_empty(const Remaining *self)
{
    for (unsigned i = 0; i < N_KINDS; i++)
        if (self->n_objects[i] > 0)
            return FALSE;
    return self->faults->len == 0;
}

/* "persistentvolumeclaims. has 1 resource instances": resource, a dot, and the API group. (owned)
 */
static char *
resource_text(const char *resource, const char *group, unsigned n)
{
    return g_strdup_printf("%s.%.*s has %u resource instances", resource,
                           strchr(group, '/') != NULL ? (int)strcspn(group, "/") : 0, group, n);
}

/* Takes @texts. (owned): sorted, with commas between them */
static char *
join_sorted(GPtrArray *texts)
{
    char *joined;

    g_ptr_array_sort(texts, strings_compare);
    g_ptr_array_add(texts, NULL);
    joined = g_strjoinv(", ", (char **)texts->pdata);
    g_ptr_array_unref(texts);
    return joined;
}

static char *
content_text(const Remaining *self)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < KIND_OTHER; i++) {
        const KindClass *class = kind_class((ObjectKind)i);
        if (self->n_objects[i] > 0)
            g_ptr_array_add(texts,
                            resource_text(class->resource, class->api_version, self->n_objects[i]));
    }
    for (unsigned i = 1; i < self->others->len; i++) {
        const ObjectResource *row = objects_resource_at(self->objects, i);
        unsigned n = g_array_index(self->others, unsigned, i);
        g_autofree char *version = g_strconcat(row->group, "/", NULL);
        if (n > 0)
            g_ptr_array_add(texts, resource_text(row->resource, version, n));
    }
    return join_sorted(texts);
}

static char *
finalizers_text(const Remaining *self)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < self->finalizers->len; i++) {
        const Finalizer *finalizer = &g_array_index(self->finalizers, Finalizer, i);
        g_ptr_array_add(
            texts, g_strdup_printf("%s in %u resource instances", finalizer->name, finalizer->n));
    }
    return join_sorted(texts);
}

static gboolean
set(WorkloadCondition *condition,
    gboolean is_true,
    const char *reason,
    const char *message,
    SimTime now)
{
    uint32_t status = is_true ? CONDITION_TRUE : CONDITION_FALSE;

    if (condition->status == status && g_strcmp0(condition->reason, reason) == 0 &&
        g_strcmp0(condition->message, message) == 0)
        return FALSE;
    *condition = (WorkloadCondition){reason, message, now, TIME_UNSET, status};
    return TRUE;
}

gboolean
remaining_conditions(const Remaining *self,
                     Strings *strings,
                     SimTime now,
                     WorkloadCondition *conditions)
{
    g_autofree char *content = content_text(self), *finalizers = finalizers_text(self);
    gboolean has_content = *content != '\0', has_finalizers = *finalizers != '\0';
    gboolean has_failed = self->faults->len > 0;
    gboolean changed = FALSE;

#define SET(place, is_true, reason, ...)                                                           \
    changed |= set(&conditions[place], is_true, strings_intern(strings, reason),                   \
                   strings_internf(strings, __VA_ARGS__), now)
    SET(NAMESPACE_DISCOVERY_FAILURE, FALSE, "ResourcesDiscovered",
        "All resources successfully discovered");
    SET(NAMESPACE_PARSING_FAILURE, FALSE, "ParsedGroupVersions",
        "All legacy kube types successfully parsed");
    if (has_failed)
        SET(NAMESPACE_CONTENT_FAILURE, TRUE, "ContentDeletionFailed",
            "Failed to delete all resource types, %u remaining: %s", self->faults->len,
            (const char *)self->faults->pdata[0]);
    else
        SET(NAMESPACE_CONTENT_FAILURE, FALSE, "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization");
    if (has_content)
        SET(NAMESPACE_CONTENT_REMAINING, TRUE, "SomeResourcesRemain",
            "Some resources are remaining: %s", content);
    else
        SET(NAMESPACE_CONTENT_REMAINING, FALSE, "ContentRemoved",
            "All content successfully removed");
    if (has_finalizers)
        SET(NAMESPACE_FINALIZERS_REMAINING, TRUE, "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: %s", finalizers);
    else
        SET(NAMESPACE_FINALIZERS_REMAINING, FALSE, "ContentHasNoFinalizers",
            "All content-preserving finalizers finished");
#undef SET
    return changed;
}
