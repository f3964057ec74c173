/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The objects that kubectl's commands read: sorted by kind and key as the API server lists them,
 * and the arguments that choose among them ("pvc/data", "pods,pvc", "all"). Selectors are applied
 * while listing. Messages about unknown kinds and missing objects have kubectl's words. Nothing is
 * copied: objects are borrowed from the snapshot. */
#include <string.h>

#include "cluster.h"

struct KubectlCluster {
    GPtrArray **objects; /* (owned): of json_t (borrowed), by kind */
};

/* The API server lists objects by their keys in its store: namespace/name in byte order. */
static int
cluster_compare_keys(const void *a, const void *b)
{
    json_t *const *left = a, *const *right = b;
    g_autofree char *x = g_strconcat(value_text(*left, "metadata.namespace"), "/",
                                     value_text(*left, "metadata.name"), NULL);
    g_autofree char *y = g_strconcat(value_text(*right, "metadata.namespace"), "/",
                                     value_text(*right, "metadata.name"), NULL);

    return strcmp(x, y);
}

static unsigned
index_of(const KubectlKind *kind)
{
    return (unsigned)(kind - kubectl_kind_at(0));
}

KubectlCluster *
kubectl_cluster_new(json_t *list)
{
    KubectlCluster *self = g_new0(KubectlCluster, 1);
    json_t *object;
    gsize n;

    self->objects = g_new0(GPtrArray *, kubectl_n_kinds());
    for (unsigned i = 0; i < kubectl_n_kinds(); i++)
        self->objects[i] = g_ptr_array_new();
    json_array_foreach(list, n, object) {
        const KubectlKind *kind = kubectl_kind_of(object);

        if (kind != NULL)
            g_ptr_array_add(self->objects[index_of(kind)], object);
    }
    for (unsigned i = 0; i < kubectl_n_kinds(); i++)
        g_ptr_array_sort(self->objects[i], cluster_compare_keys);
    return self;
}

void
kubectl_cluster_free(KubectlCluster *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < kubectl_n_kinds(); i++)
        g_ptr_array_unref(self->objects[i]);
    g_free(self->objects);
    g_free(self);
}

GPtrArray *
cluster_objects(const KubectlCluster *self, const KubectlKind *kind)
{
    return self->objects[index_of(kind)];
}

json_t *
cluster_find(const KubectlCluster *self,
             const KubectlKind *kind,
             const char *namespace,
             const char *name)
{
    GPtrArray *objects = cluster_objects(self, kind);

    for (unsigned i = 0; i < objects->len; i++)
        if (strcmp(value_text(objects->pdata[i], "metadata.name"), name) == 0 &&
            (!kind->is_namespaced ||
             strcmp(value_text(objects->pdata[i], "metadata.namespace"), namespace) == 0))
            return objects->pdata[i];
    return NULL;
}

const char *
request_namespace(const KubectlRequest *self)
{
    if (self->options->all_namespaces)
        return NULL;
    return self->options->namespace != NULL ? self->options->namespace : "default";
}

gboolean
request_selects(const KubectlRequest *self, const KubectlKind *kind, json_t *object, char **fault)
{
    const KubectlOptions *options = self->options;
    const char *namespace = request_namespace(self);
    gboolean matches = TRUE;

    if (kind->is_namespaced && namespace != NULL &&
        strcmp(value_text(object, "metadata.namespace"), namespace) != 0)
        return FALSE;
    if (options->selector != NULL &&
        !label_selector_text_matches(options->selector, value_at(object, "metadata.labels"),
                                     &matches, fault))
        return FALSE;
    return matches && (options->field_selector == NULL ||
                       field_selector_text_matches(options->field_selector, object));
}

GPtrArray *
request_objects(const KubectlRequest *self, const KubectlKind *kind)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new();
    GPtrArray *objects = cluster_objects(self->cluster, kind);

    for (unsigned i = 0; i < objects->len; i++) {
        g_autofree char *fault = NULL;

        if (request_selects(self, kind, objects->pdata[i], &fault))
            g_ptr_array_add(found, objects->pdata[i]);
        if (fault != NULL) {
            g_string_append_printf(self->errors, "error: %s\n", fault);
            return NULL;
        }
    }
    return g_steal_pointer(&found);
}

static void
target_free(void *data)
{
    KubectlTarget *self = data;

    g_clear_pointer(&self->names, g_ptr_array_unref);
    g_free(self);
}

static KubectlTarget *
add_target(GPtrArray *targets, const KubectlKind *kind)
{
    KubectlTarget *target = g_new0(KubectlTarget, 1);

    target->kind = kind;
    g_ptr_array_add(targets, target);
    return target;
}

const KubectlKind *
request_kind(const KubectlRequest *self, const char *word)
{
    const KubectlKind *kind = kubectl_kind_find(word);

    if (kind == NULL)
        g_string_append_printf(self->errors,
                               "error: the server doesn't have a resource type \"%s\"\n", word);
    return kind;
}

/* "pvc/data pod/web-0" */
static gboolean
read_pairs(const KubectlRequest *self, char **args, GPtrArray *targets)
{
    for (unsigned i = 0; args[i] != NULL; i++) {
        char *slash = strchr(args[i], '/');

        if (slash == NULL) {
            g_string_append(
                self->errors,
                "error: there is no need to specify a resource type as a separate argument "
                "when passing arguments in resource/name form (e.g. 'kubectl get "
                "resource/<resource_name>' instead of 'kubectl get resource "
                "resource/<resource_name>'\n");
            return FALSE;
        }
        g_autofree char *word = g_strndup(args[i], (gsize)(slash - args[i]));
        const KubectlKind *kind = request_kind(self, word);
        if (kind == NULL)
            return FALSE;
        KubectlTarget *target = add_target(targets, kind);
        target->names = g_ptr_array_new();
        g_ptr_array_add(target->names, slash + 1);
    }
    return TRUE;
}

static gboolean
read_kinds(const KubectlRequest *self, char **args, GPtrArray *targets)
{
    g_auto(GStrv) words = g_strsplit(args[0], ",", -1);

    for (unsigned i = 0; words[i] != NULL; i++) {
        const KubectlKind *kind = request_kind(self, words[i]);

        if (kind == NULL)
            return FALSE;
        KubectlTarget *target = add_target(targets, kind);
        if (args[1] == NULL)
            continue;
        target->names = g_ptr_array_new();
        for (char **name = args + 1; *name != NULL; name++)
            g_ptr_array_add(target->names, *name);
    }
    return TRUE;
}

GPtrArray *
request_targets(const KubectlRequest *self, char **args, gboolean *several)
{
    g_autoptr(GPtrArray) targets = g_ptr_array_new_with_free_func(target_free);

    *several = FALSE;
    if (args[0] == NULL) {
        g_string_append(self->errors, "error: You must specify the type of resource to get. Use "
                                      "\"kubectl api-resources\" for a complete list of supported "
                                      "resources.\n");
        return NULL;
    }
    if (strcmp(args[0], "all") == 0) {
        for (unsigned i = 0; i < kubectl_n_kinds(); i++)
            if (kubectl_kind_at(i)->is_in_all)
                add_target(targets, kubectl_kind_at(i));
        *several = TRUE;
        return g_steal_pointer(&targets);
    }
    if (strchr(args[0], '/') != NULL ? !read_pairs(self, args, targets)
                                     : !read_kinds(self, args, targets))
        return NULL;
    for (unsigned i = 1; i < targets->len; i++)
        if (((KubectlTarget *)targets->pdata[i])->kind !=
            ((KubectlTarget *)targets->pdata[0])->kind)
            *several = TRUE;
    return g_steal_pointer(&targets);
}

void
tell_nothing_found(const KubectlRequest *self, gboolean in_namespace)
{
    if (in_namespace)
        g_string_append_printf(self->errors, "No resources found in %s namespace.\n",
                               request_namespace(self));
    else
        g_string_append(self->errors, "No resources found\n");
}

void
tell_not_found(const KubectlRequest *self, const KubectlKind *kind, const char *name)
{
    g_autofree char *resource = kubectl_kind_resource(kind);

    g_string_append_printf(self->errors, "Error from server (NotFound): %s \"%s\" not found\n",
                           resource, name);
}
