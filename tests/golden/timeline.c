/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "timeline.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timeline-private.h"

#define NAMESPACE "lab" /* of all recordings */
#define TOPOLOGY_KEY "topology.lab.example/zone"

void
timeline_report_yaml(
    void *data, const YamlPosition *where, const char *path, const char *message, const char *hint)
{
    GString *text = data;

    (void)path, (void)hint;
    g_string_append_printf(text, "%s:%u: %s; ", where->file, where->line, message);
}

char *
timeline_text(const char *folder, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *packed = g_strconcat(path, ".gz", NULL);
    char *text = NULL;

    if (!g_file_test(packed, G_FILE_TEST_EXISTS))
        return g_file_get_contents(path, &text, NULL, error) ? text : NULL;
    g_autoptr(GFile) file = g_file_new_for_path(packed);
    g_autoptr(GFileInputStream) raw = g_file_read(file, NULL, error);
    if (raw == NULL)
        return NULL;
    g_autoptr(GZlibDecompressor) unpack = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    g_autoptr(GInputStream) plain =
        g_converter_input_stream_new(G_INPUT_STREAM(raw), G_CONVERTER(unpack));
    g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();
    if (g_output_stream_splice(memory, plain, G_OUTPUT_STREAM_SPLICE_NONE, NULL, error) < 0 ||
        !g_output_stream_write_all(memory, "", 1, NULL, NULL, error) ||
        !g_output_stream_close(memory, NULL, error))
        return NULL;
    return g_memory_output_stream_steal_data(G_MEMORY_OUTPUT_STREAM(memory));
}

Timeline *
timeline_read(const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "scenario.yaml", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GString) faults = g_string_new(NULL);
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    const YamlReport report = {timeline_report_yaml, faults};
    gsize length;

    if (!g_file_get_contents(path, &text, &length, error))
        return NULL;
    yaml_read(positions, path, text, length, &report, documents);
    if (documents->len == 0 || faults->len > 0) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s: %s", path,
                    faults->len > 0 ? faults->str : "empty");
        return NULL;
    }
    Timeline *self = g_new0(Timeline, 1);
    self->root = json_incref(documents->pdata[0]);
    self->folder = g_strdup(folder);
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

/* An instant of the recording. */
static json_t *
instant_text(const json_t *seconds)
{
    g_autofree char *text = g_strdup_printf("%.0fms", 1000 * json_number_value(seconds) +
                                                          (double)(TIMELINE_LEAD / SIM_MS));

    return json_string(text);
}

static gboolean
is_cluster_scoped(const char *kind)
{
    static const char *const cluster_scoped[] = {
        "Node", "PersistentVolume", "StorageClass", "CSIDriver", "CSINode", "VolumeAttachment",
        NULL};

    return g_strv_contains(cluster_scoped, kind);
}

/* All other kinds live in the recordings' own namespace. */
static void
put_in_namespace(json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    json_t *metadata = json_object_get(object, "metadata");

    if (kind != NULL && !is_cluster_scoped(kind) && json_object_get(metadata, "namespace") == NULL)
        json_object_set_new(metadata, "namespace", json_string(NAMESPACE));
}

static json_t *
objects_in_namespace(const json_t *list)
{
    json_t *copy = json_deep_copy(list);
    size_t i;
    json_t *object;

    json_array_foreach(copy, i, object)
        put_in_namespace(object);
    return copy;
}

static json_t *
errors_json(const json_t *errors)
{
    json_t *list = json_array();
    size_t i;
    json_t *error;

    json_array_foreach(errors, i, error) {
        int count = (int)json_integer_value(json_object_get(error, "count"));
        json_t *entry = json_pack("{s:O, s:O}", "method", json_object_get(error, "method"), "code",
                                  json_object_get(error, "code"));
        if (count > 0)
            json_object_set_new(entry, "count", json_integer(count));
        if (json_object_get(error, "zone") != NULL)
            json_object_set(entry, "zone", json_object_get(error, "zone"));
        if (json_object_get(error, "message") != NULL)
            json_object_set(entry, "message", json_object_get(error, "message"));
        json_array_append_new(list, entry);
    }
    return list;
}

/* The properties of a driver that may change during a run: latencies, errors, room. */
static void
set_driver_behaviour(json_t *driver, const json_t *given)
{
    json_t *latency = json_object();
    json_t *pools = json_array();
    const char *name;
    json_t *value;

    json_object_foreach(json_object_get(given, "latencyMs"), name, value) {
        g_autofree char *text =
            g_strdup_printf("%" JSON_INTEGER_FORMAT "ms", json_integer_value(value));
        json_object_set_new(latency, name, json_string(text));
    }
    json_object_foreach(json_object_get(given, "zoneCapacity"), name, value)
        json_array_append_new(pools, json_pack("{s:s, s:O}", "zone", name, "capacity", value));
    json_object_set_new(driver, "latency", latency);
    json_object_set_new(driver, "errors", errors_json(json_object_get(given, "errors")));
    if (json_array_size(pools) > 0)
        json_object_set(driver, "pools", pools);
    json_decref(pools);
}

/* The recorder's mock keeps no real state beyond sizes and zones, and answers when its caller gives
 * up (golden/README.md). */
static json_t *
driver_json(const Timeline *self)
{
    const json_t *given = json_object_get(self->root, "driver");
    json_t *driver =
        json_pack("{s:O, s:s, s:b, s:b, s:{s:s}, s:{s:s}}", "name", json_object_get(given, "name"),
                  "lock", "none", "adoptsUnknownVolumes", 1, "abortsWithCaller", 1,
                  "publishContext", "dev", "x", "volumeContext", "lab", "1");

    set_driver_behaviour(driver, given);
    if (json_is_true(json_object_get(given, "topology")))
        json_object_set_new(driver, "topology", json_string(TOPOLOGY_KEY));
    else
        json_object_set_new(driver, "topology", json_false());
    if (json_is_true(json_object_get(given, "noAttach")))
        json_object_set_new(driver, "attachRequired", json_false());
    if (json_object_get(given, "maxVolumesPerNode") != NULL)
        json_object_set(driver, "attachLimitReported", json_object_get(given, "maxVolumesPerNode"));
    if (!json_is_true(json_object_get(given, "nodeExpansion")))
        json_object_set_new(driver, "nodeCapabilities",
                            json_pack("[s, s]", "STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS"));
    json_object_set_new(driver, "sidecars", timeline_sidecars_json(self));
    return driver;
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

static json_t *
nodes_json(const Timeline *self)
{
    json_t *nodes = json_array();
    size_t i;
    json_t *node;

    json_array_foreach(json_object_get(self->root, "nodes"), i, node) {
        json_t *entry = json_pack("{s:O, s:o}", "name", json_object_get(node, "name"), "kubelet",
                                  timeline_kubelet_json(self));
        if (json_object_get(node, "zone") != NULL)
            json_object_set_new(entry, "zones", json_pack("[O]", json_object_get(node, "zone")));
        json_array_append_new(nodes, entry);
    }
    return nodes;
}

static json_t *
target_json(const json_t *step, const char *name)
{
    json_t *target = json_pack("{s:O, s:s}", "kind", json_object_get(step, "kind"), "name", name);

    if (!is_cluster_scoped(json_string_value(json_object_get(step, "kind"))))
        json_object_set_new(target, "namespace", json_string(NAMESPACE));
    if (json_object_get(step, "gracePeriodSeconds") != NULL)
        json_object_set(target, "gracePeriodSeconds", json_object_get(step, "gracePeriodSeconds"));
    return target;
}

static json_t *
matching_json(const json_t *step, const char *kind)
{
    const char *prefix = json_string_value(json_object_get(step, "prefix"));
    g_autofree char *pattern = g_strconcat(
        prefix == NULL ? json_string_value(json_object_get(step, "name")) : prefix, "*", NULL);

    json_t *target =
        json_pack("{s:s, s:s, s:s}", "kind", kind, "namespace", NAMESPACE, "name", pattern);
    if (json_object_get(step, "gracePeriodSeconds") != NULL)
        json_object_set(target, "gracePeriodSeconds", json_object_get(step, "gracePeriodSeconds"));
    return target;
}

/* deletePVOf names the claim by one of these. */
static const char *
claim_of_step(const json_t *step)
{
    static const char *const members[] = {"name", "pvc", "claim"};
    const char *claim = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(members) && claim == NULL; i++)
        claim = json_string_value(json_object_get(step, members[i]));
    return claim == NULL ? "" : claim;
}

/* Returns: (owned): an entry of workload; NULL: not modelled */
static json_t *
step_json(const json_t *step)
{
    const char *what = json_string_value(json_object_get(step, "do"));
    const char *name = json_string_value(json_object_get(step, "name"));
    json_t *entry = json_pack("{s:o}", "at", instant_text(json_object_get(step, "at")));

    if (strcmp(what, "create") == 0) {
        json_object_set_new(
            entry, "create",
            json_pack("{s:o}", "manifest", objects_in_namespace(json_object_get(step, "objects"))));
        return entry;
    }
    if (strcmp(what, "delete") == 0) {
        json_object_set_new(entry, "delete", target_json(step, name));
        return entry;
    }
    if (strcmp(what, "deletePVOf") == 0) {
        json_object_set_new(entry, "delete",
                            json_pack("{s:s, s:s, s:s}", "kind", "PersistentVolume", "namespace",
                                      NAMESPACE, "volumeOfClaim", claim_of_step(step)));
        return entry;
    }
    if (strcmp(what, "patch") == 0) {
        json_t *target = target_json(step, name);
        json_object_set(target, "patch", json_object_get(step, "patch"));
        json_object_set_new(entry, "patch", target);
        return entry;
    }
    if (strcmp(what, "deletePodsMatching") == 0 || strcmp(what, "deletePVCsMatching") == 0) {
        json_object_set_new(
            entry, "delete",
            matching_json(step, what[6 + 2] == 'd' ? "Pod" : "PersistentVolumeClaim"));
        return entry;
    }
    if (strcmp(what, "taintNodeOfPod") == 0) {
        g_autofree char *pattern = g_strconcat(name, "*", NULL);
        json_object_set_new(entry, "patch",
                            json_pack("{s:s, s:s, s:O}", "kind", "Node", "nodeOfPod", pattern,
                                      "patch", json_object_get(step, "patch")));
        return entry;
    }
    if (strcmp(what, "setDriver") == 0) {
        json_t *driver = json_object();
        set_driver_behaviour(driver, json_object_get(step, "driver"));
        json_object_set_new(entry, "setDriver", driver);
        return entry;
    }
    json_decref(entry);
    return NULL;
}

static const char *
process_of(const char *recorded)
{
    static const struct {
        const char *recorded, *process;
    } names[] = {
        {"csi-provisioner", "external-provisioner"   },
        {"csi-attacher",    "external-attacher"      },
        {"csi-resizer",     "external-resizer"       },
        {"kcm",             "kube-controller-manager"},
        {"sched",           "kube-scheduler"         },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_strcmp0(names[i].recorded, recorded) == 0)
            return names[i].process;
    return NULL;
}

/* Steps that stop a process, and steps that start it again. "name" is the process; startKubelet
 * starts all kubelets. */
static const struct {
    const char *stop, *start;
} outages[] = {
    {"killProc",         "startProc"   },
    {"stopKubelet",      "startKubelet"},
    {"stopKubeletOfPod", "startKubelet"},
};

/* Returns: the index in outages; -1 for other steps */
static int
outage_of(const char *what)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(outages); i++)
        if (g_strcmp0(what, outages[i].stop) == 0)
            return (int)i;
    return -1;
}

static gboolean
is_start(const char *what)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(outages); i++)
        if (g_strcmp0(what, outages[i].start) == 0)
            return TRUE;
    return FALSE;
}

/* Returns: (owned): the process of an outage; NULL: not modelled */
static json_t *
outage_json(const json_t *step, int outage)
{
    const json_t *name = json_object_get(step, "name");
    const char *process = outage > 0 ? "kubelet" : process_of(json_string_value(name));

    if (process == NULL)
        return NULL;
    json_t *fault = json_pack("{s:o, s:s, s:s}", "at", instant_text(json_object_get(step, "at")),
                              "component", process, "do", "crash");
    if (g_str_equal(outages[outage].stop, "stopKubelet"))
        json_object_set(fault, "node", json_object_get(step, "node"));
    if (g_str_equal(outages[outage].stop, "stopKubeletOfPod")) {
        g_autofree char *pattern = g_strconcat(json_string_value(name), "*", NULL);
        json_object_set_new(fault, "nodeOfPod", json_string(pattern));
    }
    return fault;
}

/* A step that stops a process and a later one that starts it again make one fault. Returns:
 * (owned): NULL: not modelled */
static json_t *
fault_json(const json_t *steps, size_t at, int outage)
{
    const json_t *step = json_array_get(steps, at);
    const char *name = json_string_value(json_object_get(step, "name"));
    double stopped_at = json_number_value(json_object_get(step, "at"));
    json_t *fault = outage_json(step, outage);

    for (size_t i = at + 1; fault != NULL && i < json_array_size(steps); i++) {
        const json_t *later = json_array_get(steps, i);
        const char *what = json_string_value(json_object_get(later, "do"));
        if (g_strcmp0(what, outages[outage].start) != 0 ||
            (outage == 0 &&
             g_strcmp0(json_string_value(json_object_get(later, "name")), name) != 0))
            continue;
        g_autofree char *text = g_strdup_printf(
            "%.0fms", 1000 * (json_number_value(json_object_get(later, "at")) - stopped_at));
        json_object_set_new(fault, "restartAfter", json_string(text));
        break;
    }
    return fault;
}

static gboolean
add_steps(const Timeline *self, json_t *workload, json_t *faults, GError **error)
{
    const json_t *steps = json_object_get(self->root, "steps");

    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);
        const char *what = json_string_value(json_object_get(step, "do"));
        int outage = outage_of(what);
        if (is_start(what))
            continue;
        json_t *entry = outage >= 0 ? fault_json(steps, i, outage) : step_json(step);
        if (entry == NULL) {
            g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "step \"%s\" is not modelled yet",
                        what);
            return FALSE;
        }
        json_array_append_new(outage >= 0 ? faults : workload, entry);
    }
    return TRUE;
}

static json_t *
scenario_json(const Timeline *self, GError **error)
{
    json_t *workload = json_array(), *faults = json_array();

    if (!add_steps(self, workload, faults, error)) {
        json_decref(workload);
        json_decref(faults);
        return NULL;
    }
    json_t *spec = json_pack("{s:o, s:o, s:o, s:o, s:[o], s:o, s:o}", "until",
                             instant_text(json_object_get(self->root, "end")), "nodes",
                             nodes_json(self), "kubernetes", timeline_gates_json(self),
                             "components", timeline_components_json(self), "drivers",
                             driver_json(self), "workload", workload, "faults", faults);
    return json_pack("{s:s, s:s, s:{s:O}, s:o}", "apiVersion", "kvolsim.io/v1", "kind", "Scenario",
                     "metadata", "name", json_object_get(self->root, "name"), "spec", spec);
}

/* JSON documents one after the other are YAML. */
static char *
scenario_text(const Timeline *self, json_t *scenario)
{
    GString *text = g_string_new(NULL);
    json_t *initial = objects_in_namespace(json_object_get(self->root, "initial"));
    char *document = json_dumps(scenario, JSON_INDENT(1));

    g_string_append_printf(text, "---\n%s\n", document);
    free(document);
    for (size_t i = 0; i < json_array_size(initial); i++) {
        document = json_dumps(json_array_get(initial, i), JSON_INDENT(1));
        g_string_append_printf(text, "---\n%s\n", document);
        free(document);
    }
    json_decref(initial);
    return g_string_free(text, FALSE);
}

static Scenario *
load(const char *file, GError **error)
{
    const ScenarioOptions options = {.data_dir = KVOLSIM_SRCDIR};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    if (scenario == NULL) {
        g_autofree char *text = file_fault_text(faults->pdata[0]);
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s", text);
    }
    return scenario;
}

Scenario *
timeline_scenario(const Timeline *self, GError **error)
{
    json_t *json = scenario_json(self, error);
    g_autofree char *file = NULL;

    if (json == NULL)
        return NULL;
    g_autofree char *text = scenario_text(self, json);
    json_decref(json);
    int descriptor = g_file_open_tmp("golden-XXXXXX.yaml", &file, error);
    if (descriptor < 0)
        return NULL;
    close(descriptor);
    Scenario *scenario = g_file_set_contents(file, text, -1, error) ? load(file, error) : NULL;
    if (g_getenv("GOLDEN_KEEP") == NULL)
        g_unlink(file);
    return scenario;
}
