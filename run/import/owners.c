/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the ReplicaSets that a dump lacks, from pods that name one as their owner. The template is
 * the Deployment's for the set with the newest pod, else the pod's own spec without its node and
 * its token; the selector has the hash. Other owners that are not in the dump are taken off, or the
 * garbage collector would delete their objects at once. */
#include "owners.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/api/object.h"

#define HASH_LABEL "pod-template-hash"

typedef struct {
    Dump *dump;
    ImportReport *report;
    GHashTable *kinds;  /* of the dump's objects */
    GPtrArray *sets;    /* of Set (owned), in the order of their pods */
    GHashTable *by_uid; /* uid -> Set */
    GHashTable *newest; /* Deployment (json_t) -> Set with the newest pod: that of its template */
} OwnersCompletion;

/* A ReplicaSet that the dump lacks. All JSON is borrowed from the dump. */
typedef struct {
    const json_t *owner, *deployment, *pod; /* deployment: NULL: none; pod: the newest */
    unsigned n_pods;                        /* without those under deletion */
} OwnersSet;

/* Returns: the index of the controller among the owners; -1: there is none */
static int
find_controller(const json_t *owners)
{
    for (size_t i = 0; i < json_array_size(owners); i++)
        if (json_is_true(json_object_get(json_array_get(owners, i), "controller")))
            return (int)i;
    return -1;
}

static gboolean
is_subset(const json_t *labels, const json_t *of)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)labels, key, value)
        if (!json_equal(value, json_object_get(of, key)))
            return FALSE;
    return json_object_size(labels) > 0;
}

static json_t *
deployment_of(const Dump *dump, const json_t *pod)
{
    const json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
    json_t *deployment;

    for (guint i = 0; (deployment = dump_next(dump, "Deployment", &i)) != NULL;) {
        const json_t *selector = json_object_get(json_object_get(deployment, "spec"), "selector");
        if (g_strcmp0(dump_meta(deployment, "namespace"), dump_meta(pod, "namespace")) == 0 &&
            is_subset(json_object_get(selector, "matchLabels"), labels))
            return deployment;
    }
    return NULL;
}

/* ---- A ReplicaSet ---- */

/* Takes off the additions of the API server and the scheduler: the node, and the volume of the
 * token. */
static void
forget_placement(json_t *spec)
{
    json_t *volumes = json_object_get(spec, "volumes");

    json_object_del(spec, "nodeName");
    for (size_t i = json_array_size(volumes); i > 0; i--) {
        const char *name = json_path_string(json_array_get(volumes, i - 1), "name");
        if (name != NULL && g_str_has_prefix(name, "kube-api-access-"))
            json_array_remove(volumes, i - 1);
    }
}

/* Returns: (owned): the template of the Deployment, or what the pod tells of it */
static json_t *
template_of(const json_t *deployment, const json_t *pod)
{
    json_t *template =
        json_deep_copy(json_object_get(json_object_get(deployment, "spec"), "template"));

    if (template != NULL)
        return template;
    json_t *spec = json_deep_copy(json_object_get(pod, "spec"));
    json_t *labels = json_deep_copy(json_object_get(json_object_get(pod, "metadata"), "labels"));
    forget_placement(spec);
    return json_pack("{s:{s:o*}, s:o*}", "metadata", "labels", labels, "spec", spec);
}

/* Returns: (owned): the labels of the selector and the hash */
static json_t *
selector_of(const json_t *deployment, const json_t *pod)
{
    const json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
    const json_t *of_deployment = json_object_get(
        json_object_get(json_object_get(deployment, "spec"), "selector"), "matchLabels");
    json_t *selected = json_deep_copy(of_deployment != NULL ? of_deployment : labels);
    json_t *hash = json_object_get(labels, HASH_LABEL);

    if (json_is_object(selected) && hash != NULL)
        json_object_set(selected, HASH_LABEL, hash);
    return selected;
}

static json_t *
owner_of(const json_t *deployment)
{
    return json_pack("[{s:s, s:s, s:s, s:s?, s:b, s:b}]", "apiVersion", "apps/v1", "kind",
                     "Deployment", "name", dump_meta(deployment, "name"), "uid",
                     dump_meta(deployment, "uid"), "controller", 1, "blockOwnerDeletion", 1);
}

static void
make_set(OwnersCompletion *self, const OwnersSet *set)
{
    gboolean is_newest =
        set->deployment != NULL && g_hash_table_lookup(self->newest, set->deployment) == set;
    json_t *selector = selector_of(set->deployment, set->pod);
    json_t *template = template_of(is_newest ? set->deployment : NULL, set->pod);
    json_t *labels = json_object_get(json_object_get(template, "metadata"), "labels");
    json_t *hash = json_object_get(selector, HASH_LABEL);
    json_t *metadata =
        json_pack("{s:O, s:O, s:s?, s:s?}", "name", json_object_get(set->owner, "name"), "uid",
                  json_object_get(set->owner, "uid"), "namespace", dump_meta(set->pod, "namespace"),
                  "creationTimestamp", dump_meta(set->pod, "creationTimestamp"));

    if (hash != NULL)
        json_object_set(labels, HASH_LABEL, hash);
    json_object_set(metadata, "labels", labels);
    if (set->deployment != NULL)
        json_object_set_new(metadata, "ownerReferences", owner_of(set->deployment));
    dump_add(self->dump,
             json_pack("{s:s, s:s, s:o, s:{s:I, s:{s:o*}, s:o}, s:{s:I}}", "apiVersion", "apps/v1",
                       "kind", "ReplicaSet", "metadata", metadata, "spec", "replicas",
                       (json_int_t)set->n_pods, "selector", "matchLabels", selector, "template",
                       template, "status", "replicas", (json_int_t)set->n_pods));
    import_report_count(self->report, REPORT_GUESSED,
                        "ReplicaSets that the dump lacks: made of their pods and Deployments",
                        json_path_string(set->owner, "name"));
}

static gboolean
is_newer(const json_t *pod, const json_t *than)
{
    return g_strcmp0(dump_meta(pod, "creationTimestamp"), dump_meta(than, "creationTimestamp")) > 0;
}

static void
owners_see_pod(OwnersCompletion *self, const json_t *owner, const json_t *pod)
{
    const char *uid = json_path_string(owner, "uid");
    OwnersSet *set = g_hash_table_lookup(self->by_uid, uid);

    if (set == NULL) {
        set = g_new(OwnersSet, 1);
        *set =
            (OwnersSet){.owner = owner, .deployment = deployment_of(self->dump, pod), .pod = pod};
        g_ptr_array_add(self->sets, set);
        g_hash_table_insert(self->by_uid, (char *)uid, set);
    }
    if (is_newer(pod, set->pod))
        set->pod = pod;
    if (dump_meta(pod, "deletionTimestamp") == NULL)
        set->n_pods++;
    if (set->deployment == NULL)
        return;
    const OwnersSet *newest = g_hash_table_lookup(self->newest, set->deployment);
    if (newest == NULL || is_newer(set->pod, newest->pod))
        g_hash_table_insert(self->newest, (json_t *)set->deployment, set);
}

/* ---- All objects ---- */

static gboolean
is_lost(const OwnersCompletion *self, const json_t *owner)
{
    const char *kind = json_path_string(owner, "kind");
    const char *version = json_path_string(owner, "apiVersion");
    const char *uid = json_path_string(owner, "uid");
    ObjectKind known;

    return kind != NULL && version != NULL && uid != NULL &&
           json_is_string(json_object_get(owner, "name")) && kind_find(version, kind, &known) &&
           !g_hash_table_contains(self->kinds, kind);
}

static void
import_owners_complete(OwnersCompletion *self, json_t *object)
{
    json_t *owners = json_object_get(json_object_get(object, "metadata"), "ownerReferences");
    int which = find_controller(owners);
    const json_t *owner = which < 0 ? NULL : json_array_get(owners, (size_t)which);

    if (owner == NULL || !is_lost(self, owner))
        return;
    if (strcmp(json_path_string(owner, "kind"), "ReplicaSet") == 0 &&
        strcmp(dump_kind(object), "Pod") == 0) {
        owners_see_pod(self, owner, object);
        return;
    }
    g_autofree char *reason =
        g_strdup_printf("Objects of a %s that the dump lacks: they stay, and nobody replaces them",
                        json_path_string(owner, "kind"));
    import_report_count(self->report, REPORT_GUESSED, reason, dump_meta(object, "name"));
    json_array_remove(owners, (size_t)which);
}

void
owners_complete(Dump *dump, ImportReport *report)
{
    g_autoptr(GHashTable) kinds = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) by_uid = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) newest = g_hash_table_new(NULL, NULL);
    g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);
    OwnersCompletion self = {dump, report, kinds, sets, by_uid, newest};

    for (guint i = 0; i < dump->objects->len; i++)
        g_hash_table_add(kinds, (char *)dump_kind(dump->objects->pdata[i]));
    for (guint i = 0; i < dump->objects->len; i++)
        import_owners_complete(&self, dump->objects->pdata[i]);
    for (guint i = 0; i < sets->len; i++)
        make_set(&self, sets->pdata[i]);
}
