/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "continue.h"

#include <glib/gstdio.h>
#include <string.h>

#include "models/api/field.h"
#include "run/files/yaml.h"
#include "run/results/snapshot.h"

static void
print_faults(const GPtrArray *faults)
{
    for (unsigned i = 0; faults != NULL && i < faults->len; i++) {
        g_autofree char *text = file_fault_text(faults->pdata[i]);
        g_printerr("%s\n", text);
    }
}

Scenario *
load_scenario(const char *file)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"), .by_hand = TRUE};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    print_faults(faults);
    return scenario;
}

GPtrArray *
read_yaml(const char *file)
{
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    GPtrArray *documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autofree char *text = NULL;
    gsize length;

    g_assert(g_file_get_contents(file, &text, &length, NULL));
    g_assert(yaml_read(positions, file, text, length, NULL, documents));
    return documents;
}

json_t *
read_scenario(const char *file)
{
    g_autoptr(GPtrArray) documents = read_yaml(file);

    for (unsigned i = 0; i < documents->len; i++)
        if (g_strcmp0(json_string_value(json_object_get(documents->pdata[i], "kind")),
                      "Scenario") == 0)
            return json_deep_copy(documents->pdata[i]);
    g_assert_not_reached();
}

static void
write_json(const char *file, const json_t *json)
{
    g_assert(json_dump_file(json, file, JSON_INDENT(1)) == 0);
}

/* ---- Actions ---- */

/* Whether pods are still to be evicted from a cordoned node: others only have to end. */
static gboolean
is_draining(const Run *run, const char *node)
{
    Objects *objects = run_objects(run);
    const Object *object =
        api_server_get(cluster_api(run_cluster(run)), objects_key(objects, KIND_NODE, NULL, node));

    if (object == NULL || !((const Node *)object)->unschedulable)
        return FALSE;
    for (uint32_t slot = 0; slot < objects_n_keys(objects, KIND_POD); slot++) {
        const Object *pod =
            api_server_get(cluster_api(run_cluster(run)), objects_key_at(objects, KIND_POD, slot));
        if (pod != NULL && g_strcmp0(POD_CONST(pod)->node_name, node) == 0 &&
            !object_is_deleted(pod) && !pod_is_terminal(POD_CONST(pod)))
            return TRUE;
    }
    return FALSE;
}

/* Whether an action that began before goes on, or has left a trace that no object holds. @node: of
 * the pod that it names; NULL: it names none */
static gboolean
goes_on(const Run *run, const ScenarioAction *action, const char *node)
{
    if (action->type == ACTION_FAULT)
        return action->lasts < 0 || action->at + action->lasts > sim_now(run_sim(run));
    if (action->type == ACTION_DRAIN)
        return is_draining(run, node != NULL ? node : action->name);
    return action->type == ACTION_SET_DRIVER;
}

static void
copy_actions(Rest *self, const Run *run, const char *const *nodes_of_pods)
{
    const Scenario *scenario = run_scenario(run);
    SimTime now = sim_now(run_sim(run));

    self->actions = g_new(ScenarioAction, scenario->n_actions + 1);
    self->scenario->n_actions = 0;
    for (unsigned i = 0; i < scenario->n_actions; i++) {
        ScenarioAction action = scenario->actions[i];
        if (action.at <= now && !goes_on(run, &action, nodes_of_pods[i]))
            continue;
        if (action.at <= now && nodes_of_pods[i] != NULL) {
            char *node = g_strdup(nodes_of_pods[i]);
            g_ptr_array_add(self->texts, node);
            if (action.type == ACTION_FAULT) {
                action.instance = node;
                action.pod_of_instance = NULL;
            } else {
                action.name = node;
                action.node_of_pod = NULL;
            }
        }
        if (action.at <= now && action.lasts >= 0)
            action.lasts -= now - action.at;
        action.at = MAX(action.at - now, 0);
        self->actions[self->scenario->n_actions++] = action;
    }
    self->scenario->actions = self->actions;
}

/* Errors of the drivers that come and go by the clock. */
static void
shift_errors(Scenario *scenario, SimTime now)
{
    for (unsigned i = 0; i < scenario->n_drivers; i++) {
        const CsiModelledOptions *model = &scenario->drivers[i].model;
        for (unsigned k = 0; k < model->n_errors; k++) {
            CsiModelledError *error = (CsiModelledError *)&model->errors[k];
            error->from = MAX(error->from - now, 0);
            if (error->until != 0)
                error->until = MAX(error->until - now, 1);
        }
    }
}

static gboolean
load_rest(Rest *self, const char *file, const Run *run, const char *folder)
{
    static const char *const gone[] = {"nodes", "workload", "faults", "expect", "slo", "manifests"};
    g_autofree char *scenario_file = g_build_filename(folder, "scenario.json", NULL);
    g_autofree char *objects_file = g_build_filename(folder, "objects.json", NULL);
    json_auto_t *json = read_scenario(file);
    json_t *spec = json_object_get(json, "spec");
    json_auto_t *list = json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items",
                                  snapshot_take(run));

    for (unsigned i = 0; i < G_N_ELEMENTS(gone); i++)
        json_object_del(spec, gone[i]);
    char start[API_TIME_BUFFER];

    json_object_set_new(
        spec, "start",
        json_string(api_time_format(sim_start(run_sim(run)) + sim_now(run_sim(run)), TRUE, start)));
    json_object_set_new(spec, "manifests", json_pack("[s]", "objects.json"));
    write_json(scenario_file, json);
    write_json(objects_file, list);
    self->scenario = load_scenario(scenario_file);
    if (g_getenv("KEEP") == NULL) {
        g_unlink(scenario_file);
        g_unlink(objects_file);
    }
    return self->scenario != NULL;
}

Rest *
rest_new(const char *file, const Run *run, const char *const *nodes_of_pods)
{
    g_autoptr(Rest) self = g_new0(Rest, 1);
    g_autofree char *folder = g_dir_make_tmp("rest-XXXXXX", NULL);
    const Scenario *scenario = run_scenario(run);
    SimTime now = sim_now(run_sim(run));

    self->texts = g_ptr_array_new_with_free_func(g_free);
    if (g_getenv("KEEP") != NULL)
        g_printerr("kept: %s\n", folder);
    if (!load_rest(self, file, run, folder))
        return NULL;
    g_rmdir(folder);
    copy_actions(self, run, nodes_of_pods);
    shift_errors(self->scenario, now);
    self->scenario->start = scenario->start + now;
    self->scenario->until = scenario->until_idle ? scenario->until : scenario->until - now;
    self->scenario->has_snapshots |= scenario->has_snapshots;
    return g_steal_pointer(&self);
}

void
rest_free(Rest *self)
{
    if (self == NULL)
        return;
    if (self->scenario != NULL) {
        self->scenario->actions = NULL; /* the loader made none */
        self->scenario->n_actions = 0;
        scenario_free(self->scenario);
    }
    g_free(self->actions);
    g_ptr_array_unref(self->texts);
    g_free(self);
}
