/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/daemon-set/private.h"

/* History: ControllerRevisions, named after the template's hash. constructHistory() and
 * cleanupHistory() of update.go. */

static ObjectKey *
revision_key(const DaemonSetController *self, const DaemonSync *sync)
{
    return objects_key(self->head.base.objects, KIND_CONTROLLER_REVISION,
                       sync->set->meta.key->namespace,
                       strings_internf(self->head.base.strings, "%s-%s",
                                       object_name(&sync->set->meta), sync->hash));
}

/* DS-30: makes the template's revision, or numbers it as the newest if an older template has come
 * back. */
void
daemon_plan_revision(const DaemonSetController *self, Plan *plan, const DaemonSync *sync)
{
    unsigned n;
    const Object *const *all =
        informer_index_get(self->revisions_by_controller, sync->set->meta.key, &n);
    ObjectKey *key = revision_key(self, sync);
    const Object *own = informer_get(self->revisions, key);
    int64_t number = revisions_highest(all, n, key) + 1;

    plan_because(plan, "DS-30");
    if (own == NULL) {
        Object *object = object_new(key);
        CONTROLLER_REVISION(object)->revision = number;
        CONTROLLER_REVISION(object)->template = pod_template_ref(sync->set->template);
        object->labels = string_map_ref(sync->set->template->labels);
        object_set_label(object, strings_intern(self->head.base.strings, LABEL_REVISION),
                         sync->hash);
        object_set_owner(object, &sync->set->meta, TRUE, TRUE);
        plan_create(plan, object, PLAN_EXISTS_IS_FINE);
    } else if (CONTROLLER_REVISION(own)->revision < number) {
        revision_plan_number(plan, own, number);
    }
}

static gboolean
is_live(const DaemonSync *sync, const Object *revision)
{
    const char *hash = object_label(revision, LABEL_REVISION);

    for (unsigned i = 0; i < sync->claimed.owned->len; i++)
        if (g_strcmp0(object_label(sync->claimed.owned->pdata[i], LABEL_REVISION), hash) == 0)
            return TRUE;
    return g_strcmp0(hash, sync->hash) == 0;
}

void
daemon_plan_history(const DaemonSetController *self, Plan *plan, const DaemonSync *sync)
{
    unsigned n;
    const Object *const *all =
        informer_index_get(self->revisions_by_controller, sync->set->meta.key, &n);
    int64_t n_excess = (int64_t)n - 1 - sync->set->revision_history_limit;
    g_autoptr(GPtrArray) dead = NULL;

    if (n_excess <= 0)
        return;
    dead = g_ptr_array_new();
    for (unsigned i = 0; i < n; i++)
        if (!is_live(sync, all[i]))
            g_ptr_array_add(dead, (Object *)all[i]);
    plan_because(plan, "DS-31");
    revisions_plan_deletions(plan, dead, n_excess);
}
