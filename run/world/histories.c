/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/revisions.h"
#include "run-private.h"

/* The ControllerRevisions of imported sets, which `kubectl get all` does not list. Without them the
 * controllers would take all pods for pods of an older template, and replace them. */

typedef struct {
    Run *run;
    GHashTable *known;  /* set of ObjectKeys: owners that have a history */
    GHashTable *pod_of; /* ObjectKey of a DaemonSet -> the newest Pod of its template */
} Histories;

static const Object *
histories_stored(const Histories *self, ObjectKind kind, uint32_t slot)
{
    return api_server_get(cluster_api(self->run->cluster),
                          objects_key_at(self->run->objects, kind, slot));
}

static void
find_known(Histories *self)
{
    for (uint32_t i = 0; i < objects_n_keys(self->run->objects, KIND_CONTROLLER_REVISION); i++) {
        const Object *revision = histories_stored(self, KIND_CONTROLLER_REVISION, i);
        const OwnerReference *owner = revision == NULL ? NULL : object_controller(revision);
        if (owner != NULL && owner->key != NULL)
            g_hash_table_add(self->known, (void *)owner->key);
    }
}

/* Whether the pod has the set's template: by the count of templates, else if all of the set's
 * changes were seen by the controller and the pod is the newest. */
static gboolean
may_be_updated(const DaemonSet *set, const Object *pod)
{
    const char *generation = object_annotation(&set->meta, ANNOTATION_TEMPLATE_GENERATION);

    return generation == NULL
               ? set->observed_generation == (int32_t)set->meta.generation
               : g_strcmp0(object_label(pod, LABEL_TEMPLATE_GENERATION), generation) == 0;
}

static void
find_pods(Histories *self)
{
    const ApiServer *api = cluster_api(self->run->cluster);

    for (uint32_t i = 0; i < objects_n_keys(self->run->objects, KIND_POD); i++) {
        const Object *pod = histories_stored(self, KIND_POD, i);
        const OwnerReference *owner = pod == NULL ? NULL : object_controller(pod);
        if (owner == NULL || owner->key == NULL || owner->key->kind != KIND_DAEMON_SET)
            continue;
        const Object *set = api_server_get(api, owner->key);
        const Object *newest = g_hash_table_lookup(self->pod_of, owner->key);
        if (set != NULL && object_label(pod, LABEL_REVISION) != NULL &&
            may_be_updated(DAEMON_SET_CONST(set), pod) &&
            (newest == NULL || pod->created_at > newest->created_at))
            g_hash_table_insert(self->pod_of, (void *)owner->key, (void *)pod);
    }
}

static void
add_revision(const Histories *self,
             const Object *owner,
             const PodTemplate *template,
             const char *name,
             int64_t number)
{
    Objects *objects = self->run->objects;
    ObjectKey *key = objects_key(objects, KIND_CONTROLLER_REVISION, owner->key->namespace, name);
    Object *revision = revision_new(objects, owner, template, key, number);

    revision->created_at = owner->created_at;
    api_server_import(cluster_api(self->run->cluster), revision);
}

/* During an update the template of the current revision is unknown; the template of the update
 * revision is unknown, too, until the controller has seen the last change of the set. */
static void
add_stateful(const Histories *self, const StatefulSet *set)
{
    const char *current = set->current_revision, *update = set->update_revision;
    gboolean is_seen = set->observed_generation == (int32_t)set->meta.generation;
    gboolean is_updating = current != NULL && *current != '\0' && g_strcmp0(current, update) != 0;

    if (update == NULL || *update == '\0')
        return;
    if (is_updating)
        add_revision(self, &set->meta, NULL, current, 1);
    add_revision(self, &set->meta, is_seen ? set->template : NULL, update, is_updating ? 2 : 1);
}

static void
add_daemon(const Histories *self, const DaemonSet *set)
{
    const Object *pod = g_hash_table_lookup(self->pod_of, set->meta.key);

    if (pod != NULL)
        add_revision(self, &set->meta, set->template,
                     strings_internf(objects_strings(self->run->objects), "%s-%s",
                                     object_name(&set->meta), object_label(pod, LABEL_REVISION)),
                     1);
}

void
world_add_histories(Run *run)
{
    Objects *objects = run->objects;
    g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) pod_of = g_hash_table_new(NULL, NULL);
    Histories self = {run, known, pod_of};
    const Object *set;

    find_known(&self);
    find_pods(&self);
    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_STATEFUL_SET); i++)
        if ((set = histories_stored(&self, KIND_STATEFUL_SET, i)) != NULL &&
            !g_hash_table_contains(known, set->key))
            add_stateful(&self, (const StatefulSet *)set);
    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_DAEMON_SET); i++)
        if ((set = histories_stored(&self, KIND_DAEMON_SET, i)) != NULL &&
            !g_hash_table_contains(known, set->key))
            add_daemon(&self, DAEMON_SET_CONST(set));
}
