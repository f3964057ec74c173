/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks.h"

#include "models/api/field.h"
#include "models/api/workload.h"

/* The pods' eviction sub-resource: a deletion that asks the PodDisruptionBudgets first (WL-113). */

/* Returns: the budget that selects the pod, NULL: none; @n: (out): how many select it */
static const DisruptionBudget *
find_budget(const ApiStore *self, const Pod *pod, unsigned *n)
{
    Objects *objects = self->objects;
    const DisruptionBudget *found = NULL;

    *n = 0;
    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_DISRUPTION_BUDGET); i++) {
        const ObjectKey *key = objects_key_at(objects, KIND_DISRUPTION_BUDGET, i);
        const Object *budget = api_store_get(self, key);
        if (budget == NULL || key->namespace != pod->meta.key->namespace ||
            !label_selector_matches(DISRUPTION_BUDGET_CONST(budget)->selector, pod->meta.labels))
            continue;
        ++*n;
        if (found == NULL)
            found = DISRUPTION_BUDGET_CONST(budget);
    }
    return found;
}

/* A pod that is over, has not begun or is being deleted: its eviction disrupts nothing. */
static gboolean
is_no_disruption(const Pod *pod)
{
    return pod_is_terminal(pod) || pod->phase == POD_PENDING || object_is_deleted(&pod->meta);
}

/* An unready pod may go if the budget is met without it, or always allows it. */
static gboolean
may_go_unhealthy(const DisruptionBudget *budget, const Pod *pod)
{
    if (pod_is_ready(pod))
        return FALSE;
    return budget->always_allow ||
           (budget->current_healthy >= budget->desired_healthy && budget->desired_healthy > 0);
}

static ApiCode
eviction_refuse(const DisruptionBudget *budget, GString *message)
{
    g_string_assign(message, "Cannot evict pod as it would violate the pod's disruption budget.");
    if (budget->observed_generation >= (int32_t)budget->meta.generation)
        g_string_append_printf(message,
                               " The disruption budget %s needs %d healthy pods and has %d "
                               "currently",
                               object_name(&budget->meta), budget->desired_healthy,
                               budget->current_healthy);
    return API_TOO_MANY;
}

/* The pod counts as gone until it is deleted, for at most two minutes. */
static void
charge(ApiStore *self, const DisruptionBudget *budget, const Pod *pod)
{
    Strings *strings = objects_strings(self->objects);
    Object *after = object_edit(&budget->meta);
    DisruptionBudget *charged = DISRUPTION_BUDGET(after);
    g_autoptr(StringMap) before = charged->disrupted;
    char buffer[API_TIME_BUFFER];

    charged->disruptions_allowed--;
    charged->disrupted = string_map_with(
        before, object_name(&pod->meta),
        strings_intern(strings,
                       api_time_format(sim_start(self->sim) + sim_now(self->sim), FALSE, buffer)));
    api_store_write(self, after);
}

ApiCode
eviction_admit(ApiStore *self, const Pod *pod, GString *message)
{
    unsigned n;
    const DisruptionBudget *budget = find_budget(self, pod, &n);

    if (budget == NULL || is_no_disruption(pod))
        return API_OK;
    if (n > 1) {
        g_string_assign(message, "This pod has more than one PodDisruptionBudget, which the "
                                 "eviction subresource does not support.");
        return API_ERROR;
    }
    if (may_go_unhealthy(budget, pod))
        return API_OK;
    if (budget->observed_generation < (int32_t)budget->meta.generation ||
        budget->disruptions_allowed <= 0)
        return eviction_refuse(budget, message);
    charge(self, budget, pod);
    return API_OK;
}

gboolean
eviction_tell(const ApiStore *self, Pod *pod)
{
    Strings *strings = objects_strings(self->objects);
    const PodCondition condition = {
        .status = CONDITION_TRUE,
        .reason = strings_intern(strings, "EvictionByEvictionAPI"),
        .message = strings_intern(strings, "Eviction API: evicting"),
        .changed_at = sim_now(self->sim),
    };

    return self->marks_victims && pod_set_disruption(pod, &condition);
}
