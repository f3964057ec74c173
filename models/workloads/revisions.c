/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/revisions.h"

#include "models/api/workload.h"

static int64_t
number_of(const Object *revision)
{
    return CONTROLLER_REVISION(revision)->revision;
}

int64_t
revisions_highest(const Object *const *revisions, unsigned n, const ObjectKey *except)
{
    int64_t highest = 0;

    for (unsigned i = 0; i < n; i++)
        if (revisions[i]->key != except)
            highest = MAX(highest, number_of(revisions[i]));
    return highest;
}

static gboolean
edit_number(Object *object, const void *number)
{
    CONTROLLER_REVISION(object)->revision = *(const int64_t *)number;
    return TRUE;
}

void
revision_plan_number(Plan *plan, const Object *revision, int64_t number)
{
    int64_t *arg = plan_new_arg(plan, int64_t);

    *arg = number;
    plan_update(plan, revision, edit_number, arg, PLAN_STOP);
}

void
revisions_plan_deletions(Plan *plan, GPtrArray *revisions, int64_t n)
{
    for (; n > 0 && revisions->len > 0; n--) {
        unsigned lowest = 0;
        for (unsigned i = 1; i < revisions->len; i++)
            if (number_of(revisions->pdata[i]) < number_of(revisions->pdata[lowest]))
                lowest = i;
        const Object *revision = g_ptr_array_remove_index(revisions, lowest);
        plan_delete(plan, revision->key, (ObjectUid){0, 0}, -1, PLAN_GONE_IS_FINE);
    }
}
