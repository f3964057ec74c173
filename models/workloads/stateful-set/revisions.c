/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/stateful-set/private.h"

/* The history of a StatefulSet's templates: ControllerRevisions; the newest has the highest number.
 */

ObjectKey *
stateful_update_revision(const StatefulSetController *self,
                         const StatefulSet *set,
                         const SetState *state)
{
    const Object *found = revisions_find(&self->revisions, &set->meta, set->template);

    return found != NULL ? (ObjectKey *)found->key : state->revision;
}

const char *
stateful_current_revision(const StatefulSetController *self,
                          const StatefulSet *set,
                          const ObjectKey *update)
{
    if (set->current_revision == NULL || g_strcmp0(set->current_revision, update->name) == 0)
        return update->name;
    const ObjectKey *key = objects_find_key(self->head.base.objects, KIND_CONTROLLER_REVISION,
                                            set->meta.key->namespace, set->current_revision);
    return key != NULL && informer_get(self->revisions.informer, key) != NULL
               ? set->current_revision
               : update->name;
}

gboolean
stateful_plan_revision(const StatefulSetController *self,
                       Plan *plan,
                       const StatefulSet *set,
                       const SetState *state)
{
    ObjectKey *key = stateful_update_revision(self, set, state);

    plan_because(plan, "WL-40");
    return revisions_plan_newest(&self->revisions, self->head.base.objects, plan, &set->meta,
                                 set->template, key);
}

static gboolean
is_live(const StatefulSetController *self,
        const StatefulSet *set,
        const SetStatus *status,
        const Object *revision)
{
    unsigned n;
    const Object *const *pods =
        informer_index_get(self->head.pods_by_controller, set->meta.key, &n);
    const char *name = object_name(revision);

    return g_strcmp0(name, status->current_revision) == 0 ||
           g_strcmp0(name, status->update_revision) == 0 || revision_is_used(name, pods, n);
}

void
stateful_plan_truncation(const StatefulSetController *self,
                         Plan *plan,
                         const StatefulSet *set,
                         const SetStatus *status)
{
    unsigned n;
    const Object *const *revisions = revisions_of(&self->revisions, set->meta.key, &n);
    g_autoptr(GPtrArray) history = NULL;

    if (n <= (unsigned)MAX(set->revision_history_limit, 0))
        return; /* live revisions count here */
    history = g_ptr_array_new();
    for (unsigned i = 0; i < n; i++)
        if (!is_live(self, set, status, revisions[i]))
            g_ptr_array_add(history, (Object *)revisions[i]);
    plan_because(plan, "WL-40");
    revisions_plan_deletions(plan, history,
                             (int64_t)history->len - MAX(set->revision_history_limit, 0));
}
