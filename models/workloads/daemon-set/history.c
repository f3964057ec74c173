/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/daemon-set/private.h"

/* History: ControllerRevisions, named after the template's hash. constructHistory() and
 * cleanupHistory() of update.go. */

/* The revision of an imported set has the hash that Kubernetes gave it. */
void
daemon_find_revision(const DaemonSetController *self, DaemonSync *sync)
{
    const DaemonSet *set = sync->set;
    const Object *found = revisions_find(&self->revisions, &set->meta, set->template);
    const char *hash = found == NULL ? NULL : object_label(found, LABEL_REVISION);

    sync->revision = hash != NULL
                         ? (ObjectKey *)found->key
                         : revision_key(self->head.base.objects, set->meta.key, set->template);
    sync->hash = hash != NULL ? hash
                              : strings_internf(self->head.base.strings, "%08x",
                                                pod_template_hash(set->template));
}

/* DS-30: makes the template's revision, or numbers it as the newest if an older template has come
 * back. */
void
daemon_plan_revision(const DaemonSetController *self, Plan *plan, const DaemonSync *sync)
{
    const DaemonSet *set = sync->set;

    plan_because(plan, "DS-30");
    revisions_plan_newest(&self->revisions, self->head.base.objects, plan, &set->meta,
                          set->template, sync->revision);
}

static gboolean
is_live(const DaemonSync *sync, const Object *revision)
{
    const char *hash = object_label(revision, LABEL_REVISION);

    return revision_is_used(hash, (const Object *const *)sync->claimed.owned->pdata,
                            sync->claimed.owned->len) ||
           g_strcmp0(hash, sync->hash) == 0;
}

void
daemon_plan_history(const DaemonSetController *self, Plan *plan, const DaemonSync *sync)
{
    unsigned n;
    const Object *const *all = revisions_of(&self->revisions, sync->set->meta.key, &n);
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
