/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/revisions.h"

#include <string.h>

#include "models/workloads/pods.h"

static int64_t
revisions_number_of(const Object *revision)
{
    return CONTROLLER_REVISION(revision)->revision;
}

const Object *const *
revisions_of(const Revisions *self, const ObjectKey *owner, unsigned *n)
{
    return informer_index_get(self->by_owner, owner, n);
}

const Object *
revisions_find(const Revisions *self, const Object *owner, const PodTemplate *template)
{
    unsigned n;
    const Object *const *all = revisions_of(self, owner->key, &n);
    const Object *found = NULL;

    for (unsigned i = 0; i < n; i++) {
        const PodTemplate *own = CONTROLLER_REVISION(all[i])->template;
        if (object_is_controlled_by(all[i], owner) && own != NULL &&
            field_equal(&field_pod_template, &own, &template) &&
            (found == NULL || revisions_number_of(all[i]) > revisions_number_of(found)))
            found = all[i];
    }
    return found;
}

ObjectKey *
revision_key(Objects *objects, const ObjectKey *owner, const PodTemplate *template)
{
    return objects_key(objects, KIND_CONTROLLER_REVISION, owner->namespace,
                       strings_internf(objects_strings(objects), "%s-%08x", owner->name,
                                       pod_template_hash(template)));
}

Object *
revision_new(Objects *objects,
             const Object *owner,
             const PodTemplate *template,
             ObjectKey *key,
             int64_t number)
{
    const char *label =
        object_kind(owner) == KIND_DAEMON_SET ? LABEL_REVISION : LABEL_STATEFUL_HASH;
    const char *dash = strrchr(key->name, '-');
    Object *object = object_new(key);

    CONTROLLER_REVISION(object)->revision = number;
    if (template != NULL) {
        CONTROLLER_REVISION(object)->template = pod_template_ref(template);
        object->labels = string_map_ref(template->labels);
    }
    object_set_label(object, strings_intern(objects_strings(objects), label),
                     strings_intern(objects_strings(objects), dash == NULL ? "" : dash + 1));
    object_set_owner(object, owner, TRUE, TRUE);
    return object;
}

static gboolean
edit_number(Object *object, const void *number)
{
    CONTROLLER_REVISION(object)->revision = *(const int64_t *)number;
    return TRUE;
}

gboolean
revisions_plan_newest(const Revisions *self,
                      Objects *objects,
                      Plan *plan,
                      const Object *owner,
                      const PodTemplate *template,
                      ObjectKey *key)
{
    unsigned n;
    const Object *const *all = revisions_of(self, owner->key, &n);
    const Object *own = informer_get(self->informer, key);
    int64_t *number = plan_new_arg(plan, int64_t);

    *number = 1;
    for (unsigned i = 0; i < n; i++)
        if (all[i]->key != key)
            *number = MAX(*number, revisions_number_of(all[i]) + 1);
    if (own == NULL)
        plan_create(plan, revision_new(objects, owner, template, key, *number),
                    PLAN_EXISTS_IS_FINE);
    else if (revisions_number_of(own) < *number) /* an older template has come back */
        plan_update(plan, own, edit_number, number, PLAN_STOP);
    else
        return FALSE;
    return TRUE;
}

gboolean
revision_is_used(const char *revision, const Object *const *pods, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (g_strcmp0(object_label(pods[i], LABEL_REVISION), revision) == 0)
            return TRUE;
    return FALSE;
}

void
revisions_plan_deletions(Plan *plan, GPtrArray *revisions, int64_t n)
{
    for (; n > 0 && revisions->len > 0; n--) {
        unsigned lowest = 0;
        for (unsigned i = 1; i < revisions->len; i++)
            if (revisions_number_of(revisions->pdata[i]) <
                revisions_number_of(revisions->pdata[lowest]))
                lowest = i;
        const Object *revision = g_ptr_array_remove_index(revisions, lowest);
        plan_delete(plan, revision->key, (ObjectUid){0, 0}, -1, PLAN_GONE_IS_FINE);
    }
}
