/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "timeline.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packed.h"
#include "timeline-private.h"

Timeline *
timeline_read(const char *folder, const char *data_dir, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "scenario.yaml", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GPtrArray) faults = file_faults_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    gsize length;

    if (!g_file_get_contents(path, &text, &length, error))
        return NULL;
    yaml_read(positions, path, text, length, faults, documents);
    if (documents->len == 0 || faults->len > 0) {
        g_autofree char *all = file_faults_text(faults, G_MAXUINT);
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s: %s", path,
                    faults->len > 0 ? all : "empty");
        return NULL;
    }
    Timeline *self = g_new0(Timeline, 1);
    self->root = json_incref(documents->pdata[0]);
    self->folder = g_strdup(folder);
    self->data_dir = data_dir != NULL ? data_dir : KVOLSIM_SRCDIR;
    return self;
}

void
timeline_free(Timeline *self)
{
    if (self == NULL)
        return;
    json_decref(self->root);
    g_free(self->folder);
    g_free(self);
}

json_t *
timeline_duration(double seconds)
{
    return json_sprintf("%.0fus", 1e6 * seconds);
}

json_t *
timeline_instant(double seconds)
{
    return timeline_duration(seconds + (double)TIMELINE_LEAD / (double)SIM_SECOND);
}

gboolean
timeline_check_keys(const json_t *object,
                    const char *what,
                    const char *const *known,
                    GError **error)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) {
        if (g_strv_contains(known, key))
            continue;
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s: the key \"%s\" is not known", what,
                    key);
        return FALSE;
    }
    return TRUE;
}

static const char *
timeline_text_at(const json_t *object, const char *first, const char *second)
{
    const json_t *parent = first == NULL ? object : json_object_get(object, first);

    return json_string_value(json_object_get(parent, second));
}

/* All kinds but those of the whole cluster live in the recordings' own namespace. */
static void
put_in_namespace(json_t *object)
{
    const char *kind = timeline_text_at(object, NULL, "kind");
    json_t *metadata = json_object_get(object, "metadata");
    ObjectKind found;

    if (kind != NULL && (!kind_find(NULL, kind, &found) || kind_class(found)->namespaced) &&
        json_object_get(metadata, "namespace") == NULL)
        json_object_set_new(metadata, "namespace", json_string(NAMESPACE));
}

json_t *
timeline_objects(const json_t *list)
{
    json_t *objects = json_array(), *object;
    size_t i;

    json_array_foreach(list, i, object) {
        json_t *copy = json_deep_copy(object);
        put_in_namespace(copy);
        json_array_append_new(objects, copy);
    }
    return objects;
}

const char **
timeline_node_names(const Timeline *self)
{
    const json_t *nodes = json_object_get(self->root, "nodes");
    const char **names = g_new0(const char *, json_array_size(nodes) + 1);

    for (size_t i = 0; i < json_array_size(nodes); i++)
        names[i] = json_string_value(json_object_get(json_array_get(nodes, i), "name"));
    return names;
}

/* ---- The start ---- */

/* The API server, the kubelet and the controllers set these themselves. */
static gboolean
is_own_taint(const json_t *taint)
{
    const char *key = timeline_text_at(taint, NULL, "key");

    return key != NULL && g_str_has_prefix(key, "node.kubernetes.io/") &&
           strcmp(key, "node.kubernetes.io/out-of-service") != 0;
}

/* What the run before left on a node: resources as reported, taints, and closed for pods. */
static void
take_node_state(json_t *entry, const json_t *recorded, json_t *workload)
{
    static const char *const resources[] = {"cpu", "memory", "pods"};
    const json_t *allocatable = json_object_get(json_object_get(recorded, "status"), "allocatable");
    json_t *spec = json_object_get(recorded, "spec"), *taint;
    json_t *reported = json_object(), *taints = json_array();
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(resources); i++)
        if (json_object_get(allocatable, resources[i]) != NULL)
            json_object_set(reported, resources[i], json_object_get(allocatable, resources[i]));
    json_array_foreach(json_object_get(spec, "taints"), i, taint)
        if (!is_own_taint(taint))
            json_array_append(taints, taint);
    json_object_update_new(entry,
                           json_pack("{s:o, s:o}", "allocatable", reported, "taints", taints));
    if (json_is_true(json_object_get(spec, "unschedulable")))
        json_array_append_new(workload, json_pack("{s:s, s:{s:O}}", "at", "0s", "cordon", "node",
                                                  json_object_get(entry, "name")));
}

static json_t *
nodes_json(const Timeline *self, const GoldenReplay *replay, json_t *workload, GError **error)
{
    static const char *const known[] = {"name", "zone", NULL};
    json_auto_t *nodes = json_array();
    size_t i;
    json_t *node;

    json_array_foreach(json_object_get(self->root, "nodes"), i, node) {
        const char *name = timeline_text_at(node, NULL, "name");
        const json_t *recorded = replay_find_initial(replay, "Node", name);
        json_t *entry =
            json_pack("{s:s, s:o}", "name", name, "kubelet", timeline_kubelet_json(self));
        json_array_append_new(nodes, entry);
        if (!timeline_check_keys(node, "nodes", known, error))
            return NULL;
        if (json_object_get(node, "zone") != NULL)
            json_object_set_new(entry, "zones", json_pack("[O]", json_object_get(node, "zone")));
        if (recorded != NULL)
            take_node_state(entry, recorded, workload);
    }
    return json_incref(nodes);
}

/* Kinds of which a watching client sees every object, and which outlast a run. */
static const char *const lasting_kinds[] = {"Pod",
                                            "PersistentVolumeClaim",
                                            "PersistentVolume",
                                            "VolumeAttachment",
                                            "StatefulSet",
                                            "Deployment",
                                            "ReplicaSet",
                                            "VolumeSnapshot",
                                            "VolumeSnapshotContent",
                                            NULL};

static const json_t *
timeline_find_object(const json_t *list, const char *kind, const char *name)
{
    size_t i;
    json_t *object;

    json_array_foreach(list, i, object)
        if (g_strcmp0(timeline_text_at(object, NULL, "kind"), kind) == 0 &&
            g_strcmp0(timeline_text_at(object, "metadata", "name"), name) == 0)
            return object;
    return NULL;
}

/* An initial volume whose claim is of the run before. */
static gboolean
timeline_is_used(const json_t *recorded, const json_t *planned)
{
    const json_t *claim = json_object_get(json_object_get(recorded, "spec"), "claimRef");
    const char *name = timeline_text_at(claim, NULL, "name");

    return timeline_text_at(claim, NULL, "uid") != NULL &&
           timeline_find_object(planned, "PersistentVolumeClaim", name) == NULL;
}

/* Objects that are not the scenario's: the run before left them. */
static void
add_left_over(json_t *initial, const GoldenReplay *replay)
{
    size_t i;
    json_t *line;

    json_array_foreach(replay_initial(replay), i, line) {
        const char *kind = timeline_text_at(line, NULL, "kind"),
                   *name = timeline_text_at(line, NULL, "name");
        ObjectKind found;
        if (!g_strv_contains(lasting_kinds, kind) ||
            timeline_find_object(initial, kind, name) != NULL || !kind_find(NULL, kind, &found))
            continue;
        json_t *object = json_deep_copy(json_object_get(line, "object"));
        json_object_update_new(object, json_pack("{s:s, s:s}", "kind", kind, "apiVersion",
                                                 kind_class(found)->api_version));
        json_array_append_new(initial, object);
    }
}

static json_t *
initial_json(const Timeline *self, const GoldenReplay *replay)
{
    json_t *planned = timeline_objects(json_object_get(self->root, "initial"));
    json_t *initial = json_array(), *object;
    size_t i;

    json_array_foreach(planned, i, object) {
        const char *kind = timeline_text_at(object, NULL, "kind");
        const json_t *recorded =
            replay_find_initial(replay, kind, timeline_text_at(object, "metadata", "name"));
        gboolean is_gone =
            recorded == NULL && replay != NULL && g_strv_contains(lasting_kinds, kind);
        if (!is_gone && !timeline_is_used(recorded, planned))
            json_array_append(initial, object);
    }
    if (replay != NULL)
        add_left_over(initial, replay);
    json_decref(planned);
    return initial;
}

/* ---- The whole ---- */

static gboolean
check_root(const Timeline *self, GError **error)
{
    static const char *const known[] = {
        "name",  "description", "runs",    "nodes",           "driver", "moreDrivers", "flags",
        "steps", "initial",     "cluster", "schedulerConfig", "end",    NULL};
    /* audit, users, metricsEvery, dumps and watch tell what else was recorded. */
    static const char *const cluster[] = {"snapshots",
                                          "sidecarReplicas",
                                          "leaderElection",
                                          "nodeCores",
                                          "audit",
                                          "users",
                                          "metricsEvery",
                                          "dumps",
                                          "watch",
                                          "cpus",
                                          "kubernetesVersion",
                                          "kubeletFeatureGates",
                                          NULL};

    return timeline_check_keys(self->root, self->folder, known, error) &&
           timeline_check_keys(json_object_get(self->root, "cluster"), "cluster", cluster, error) &&
           timeline_check_flags(self, error);
}

static json_t *
scenario_json(const Timeline *self, GoldenReplay *replay, GError **error)
{
    json_auto_t *workload = json_array(), *faults = json_array();

    if (!check_root(self, error))
        return NULL;
    json_t *drivers = timeline_drivers_json(self, error);
    json_t *nodes = drivers == NULL ? NULL : nodes_json(self, replay, workload, error);
    if (nodes == NULL || !timeline_add_steps(self, replay, workload, faults, error)) {
        json_decref(drivers);
        json_decref(nodes);
        return NULL;
    }
    double end = json_number_value(json_object_get(self->root, "end"));
    json_t *spec = json_pack("{s:o, s:o, s:o, s:o, s:o, s:O, s:O}", "until", timeline_instant(end),
                             "nodes", nodes, "kubernetes", timeline_kubernetes_json(self),
                             "components", timeline_components_json(self), "drivers", drivers,
                             "workload", workload, "faults", faults);
    return json_pack("{s:s, s:s, s:{s:O}, s:o}", "apiVersion", "kvolsim.io/v1", "kind", "Scenario",
                     "metadata", "name", json_object_get(self->root, "name"), "spec", spec);
}

/* JSON documents one after the other are YAML. */
static char *
scenario_text(const Timeline *self, const GoldenReplay *replay, json_t *scenario)
{
    GString *text = g_string_new(NULL);
    json_auto_t *initial = initial_json(self, replay);
    char *document = json_dumps(scenario, JSON_INDENT(1));

    g_string_append_printf(text, "---\n%s\n", document);
    free(document);
    for (size_t i = 0; i < json_array_size(initial); i++) {
        document = json_dumps(json_array_get(initial, i), JSON_INDENT(1));
        g_string_append_printf(text, "---\n%s\n", document);
        free(document);
    }
    return g_string_free(text, FALSE);
}

static Scenario *
timeline_load(const Timeline *self, const char *file, GError **error)
{
    const ScenarioOptions options = {.data_dir = self->data_dir, .by_hand = TRUE};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    if (scenario == NULL) {
        g_autofree char *text = file_fault_text(faults->pdata[0]);
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s", text);
    }
    return scenario;
}

Scenario *
timeline_scenario(const Timeline *self, const char *run, GError **error)
{
    g_autoptr(GoldenReplay) replay = run == NULL ? NULL : replay_read(run, error);
    g_autofree char *file = NULL;

    if (run != NULL && replay == NULL)
        return NULL;
    json_auto_t *json = scenario_json(self, replay, error);
    if (json == NULL)
        return NULL;
    g_autofree char *text = scenario_text(self, replay, json);
    int descriptor = g_file_open_tmp("golden-XXXXXX.yaml", &file, error);
    if (descriptor < 0)
        return NULL;
    close(descriptor);
    Scenario *scenario =
        g_file_set_contents(file, text, -1, error) ? timeline_load(self, file, error) : NULL;
    if (g_getenv("GOLDEN_KEEP") == NULL)
        g_unlink(file);
    return scenario;
}
