/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/status-write.h"

static void
decide_retry(const void *data, Plan *plan)
{
    const StatusWrite *self = plan_notes(plan);

    (void)data;
    plan_update_status(plan, plan_object(plan, plan_last_step(plan)), self->edit, self->status,
                       self->retry_errors);
    plan_then(plan, self->next);
}

static void
decide_after_write(const void *data, Plan *plan)
{
    const StatusWrite *self = plan_notes(plan);

    if (!plan_has_failed(plan)) {
        self->next(data, plan);
        return;
    }
    plan_get(plan, plan_key(plan), PLAN_STOP);
    plan_then(plan, decide_retry);
}

void
status_write_plan(const StatusWrite *self, Plan *plan, const Object *base)
{
    plan_update_status(plan, base, self->edit, self->status, PLAN_DECIDE);
    plan_then(plan, decide_after_write);
}
