/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/csi/flex-call.h"
#include "plan-private.h"

#include <string.h>

/* What a plan is doing, in words: for observers and for questions from outside. */

const char *
plan_step_text(const Step *step)
{
    static const char *const verbs[] = {"get",          "list",          "create",
                                        "update",       "update status", "patch",
                                        "patch status", "delete",        "bind"};

    switch ((StepKind)step->kind) {
    case STEP_REQUEST:
        return verbs[step->write.request.verb];
    case STEP_CALL:
        return csi_call_name(step->call.driver, step->call.request->method);
    case STEP_EVENT:
        return step->event.reason;
    case STEP_CHANGE:
        return "change";
    case STEP_START:
        return "start";
    case STEP_GATHER:
        return "gather";
    case STEP_WAIT:
        return "wait";
    case STEP_POLL:
        return "poll";
    }
    g_assert_not_reached();
}

void
plan_under_way(const Plan *self, const char **step_text, const char **rule)
{
    const Step *step = self->cursor < self->n_steps ? plan_step(self, self->cursor) : NULL;

    *step_text = step != NULL ? plan_step_text(step) : NULL;
    *rule = step != NULL ? step->rule : self->rule;
}

void
plan_view_step(const Plan *self, PlanStepView *view)
{
    const Step *step = plan_step(self, self->cursor);

    *view = (PlanStepView){.has_thought = self->thought};
    if (step->kind == STEP_REQUEST) {
        view->key = step->write.request.key;
        view->is_idle = step->write.is_noop;
        view->is_write = !step->write.is_noop && step->write.request.verb != API_GET &&
                         step->write.request.verb != API_LIST;
    } else if (step->kind == STEP_EVENT) {
        view->key = step->event.object->key;
        view->message = step->event.message;
        view->is_warning = strcmp(step->event.type, "Warning") == 0;
    }
}
