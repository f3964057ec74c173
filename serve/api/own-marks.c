/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api-private.h"
#include "models/api/fields.h"
#include "run/results/availability.h"

/* /kvolsim/v1/marks: the line of time: faults, actions and outages. */

/* The most actions that are told; a generator is one. */
#define MARKS_MAX 1000

static const char *
action_word(ActionType type)
{
    static const char *const words[] = {
        [ACTION_CREATE] = "create",        [ACTION_DELETE] = "delete",
        [ACTION_PATCH] = "patch",          [ACTION_DRAIN] = "drain",
        [ACTION_TAINT] = "taint",          [ACTION_CORDON] = "cordon",
        [ACTION_UNCORDON] = "uncordon",    [ACTION_SCALE] = "scale",
        [ACTION_EVICT] = "evict",          [ACTION_EXPAND] = "expand",
        [ACTION_SET_DRIVER] = "setDriver", [ACTION_FAULT] = "fault",
    };

    return words[type];
}

/* Returns: (owned) */
static json_t *
action_subject(const ScenarioAction *action)
{
    if (action->type == ACTION_CREATE && action->n_manifests > 0) {
        const json_t *manifest = action->manifests[0];
        const char *kind = json_path_string(manifest, "kind");
        const char *name = json_path_string(manifest, "metadata.name");
        return json_sprintf("%s/%s%s", kind != NULL ? kind : "", name != NULL ? name : "",
                            action->count > 1 || action->n_manifests > 1 ? ", ..." : "");
    }
    if (action->type == ACTION_SET_DRIVER)
        return json_string(action->driver);
    if (action->name == NULL)
        return json_string(action->node_of_pod != NULL ? action->node_of_pod : "");
    return json_sprintf("%s/%s", kind_class(action->kind)->kind, action->name);
}

static void
add_scenario(const Scenario *scenario, json_t *list)
{
    for (unsigned i = 0; i < scenario->n_actions && json_array_size(list) < MARKS_MAX; i++) {
        const ScenarioAction *action = &scenario->actions[i];
        if (action->type != ACTION_FAULT)
            json_array_append_new(list, json_pack("{s:I, s:s, s:o}", "at", (json_int_t)action->at,
                                                  "do", action_word(action->type), "about",
                                                  action_subject(action)));
    }
}

/* An act is {"at": ..., "create": {...}}. */
static void
add_session(const ServeSession *session, json_t *list)
{
    json_auto_t *items = serve_session_items(session);
    json_t *item, *value;
    const char *key;
    gsize i;

    json_array_foreach(items, i, item) {
        SimTime at = 0;
        sim_time_parse(json_path_string(item, "at"), &at, NULL);
        json_object_foreach(item, key, value) {
            const char *name = json_path_string(value, "name");
            if (name == NULL)
                name = json_path_string(value, "node");
            if (name == NULL)
                name = json_path_string(value, "manifest.metadata.name");
            if (json_is_object(value) && json_array_size(list) < MARKS_MAX)
                json_array_append_new(list, json_pack("{s:I, s:s, s:s, s:b}", "at", (json_int_t)at,
                                                      "do", key, "about", name != NULL ? name : "",
                                                      "isByHand", 1));
        }
    }
}

static void
see_outage(void *data, const char *workload, SimTime since, SimTime until)
{
    json_array_append_new(data, json_pack("{s:s, s:I, s:I}", "workload", workload, "since",
                                          (json_int_t)since, "until", (json_int_t)until));
}

void
own_get_marks(ServeApi *self, Exchange *exchange)
{
    const Run *run = self->options.run;
    const Scenario *scenario = serve_session_base(self->options.session);
    json_t *actions = json_array(), *outages = json_array();
    json_t *marks = json_pack("{s:o, s:o, s:o}", "faults", own_faults_json(self), "actions",
                              actions, "outages", outages);

    add_scenario(scenario, actions);
    add_session(self->options.session, actions);
    availability_outages(run, see_outage, outages);
    if (!scenario->until_idle)
        json_object_set_new(marks, "end", json_integer(scenario->until));
    exchange_answer_json(exchange, 200, marks);
}
