/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>

#include "config.h"
#include "run/files/yaml.h"
#include "run/scenario/scenario.h"
#include "tests/lib/test.h"

static char *
source_path(const char *name)
{
    return g_build_filename(g_getenv("KVOLSIM_SRCDIR"), name, NULL);
}

/* Returns: (owned): there must be no fault */
static Scenario *
load_file(const char *file, const char *const *set)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"), .set = set};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *line = file_fault_text(faults->pdata[i]);
        print_error("%s\n", line);
    }
    assert_non_null(scenario);
    return scenario;
}

static Scenario *
load_named(const char *name, const char *const *set)
{
    g_autofree char *file = source_path(name);
    return load_file(file, set);
}

/* Files of a test, gone with it. */
typedef struct {
    char *folder, *file;
} Files;

static Files
files_new(const char *text)
{
    Files self = {.folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL)};

    self.file = g_build_filename(self.folder, "scenario.yaml", NULL);
    assert_true(g_file_set_contents(self.file, text, -1, NULL));
    return self;
}

static void
files_add(const Files *self, const char *name, const char *text)
{
    g_autofree char *file = g_build_filename(self->folder, name, NULL);
    assert_true(g_file_set_contents(file, text, -1, NULL));
}

static void
files_clear(Files *self)
{
    g_autoptr(GDir) dir = g_dir_open(self->folder, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *file = g_build_filename(self->folder, name, NULL);
        g_remove(file);
    }
    g_rmdir(self->folder);
    g_free(self->folder);
    g_free(self->file);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Files, files_clear)

#define HEAD                                                                                       \
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: test}\nspec:\n  until: 60s\n"     \
    "  nodes: [{name: node-1, zones: [a]}]\n"

/* ---- What a scenario says ---- */

TEST(quickstart_is_read)
{
    g_autoptr(Scenario) scenario = load_named("scenarios/quickstart.yaml", NULL);
    const ScenarioNodes *nodes = &scenario->nodes[0];
    const ScenarioDriver *driver = &scenario->drivers[0];
    GHashTable *flags = g_hash_table_lookup(driver->sidecars, "external-provisioner");

    assert_string_equal(scenario->name, "quickstart");
    assert_int_equal(scenario->seed, 1);
    assert_true(scenario->until == 25 * SIM_MINUTE && !scenario->until_idle);
    assert_int_equal(nodes->count, 12);
    assert_int_equal(nodes->first, 1);
    assert_string_equal(nodes->zones[2], "eu-central-1c");
    assert_null(nodes->zones[3]);
    assert_int_equal(driver->attach_limit, 27); /* of the profile */
    assert_int_equal(driver->n_topology, 3);
    assert_string_equal(driver->topology[1].key, "topology.ebs.csi.aws.com/zone");
    assert_string_equal(driver->model.volume_keys->items[0], "topology.kubernetes.io/zone");
    assert_string_equal(g_hash_table_lookup(flags, "kube-api-qps"), "20"); /* of its sidecars */
    assert_non_null(driver->model.latency[CSI_CREATE_VOLUME]);
    assert_int_equal(driver->model.n_limits, 7);
    assert_int_equal(scenario->n_manifests, 3);
    assert_int_equal(scenario->ignored->len, 1);
    assert_true(
        g_str_has_prefix(scenario->ignored->pdata[0], "ConfigMap/postgres-configuration ("));
    assert_int_equal(scenario->actions[1].type, ACTION_DELETE);
    assert_int_equal(scenario->actions[1].kind, KIND_CLAIM);
    assert_string_equal(scenario->actions[1].namespace, "default");
    assert_int_equal(scenario->n_expects, 8);
    assert_string_equal(scenario->expects[0].text, "pods: {ready: true, count: 100}");
    assert_true(scenario->expects[7].at == SIM_TIME_MAX);
    assert_string_equal(scenario->expects[7].driver, "ebs.csi.aws.com");
}

static void
add_scenario_files(GPtrArray *files, const char *path)
{
    g_autofree char *folder = source_path(path);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(dir)) != NULL)
        if (g_str_has_suffix(name, ".yaml"))
            g_ptr_array_add(files, g_build_filename(folder, name, NULL));
}

/* The paths of all scenarios of the project. */
static GPtrArray *
scenario_files(void)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);

    add_scenario_files(files, "scenarios");
    add_scenario_files(files, "scenarios/published");
    assert_true(files->len > 25);
    return files;
}

TEST(all_scenarios_load)
{
    g_autoptr(GPtrArray) files = scenario_files();

    for (unsigned i = 0; i < files->len; i++) {
        g_autoptr(Scenario) scenario = load_file(files->pdata[i], NULL);
        g_autofree char *named = g_strconcat(scenario->name, ".yaml", NULL);
        g_autofree char *name = g_path_get_basename(files->pdata[i]);
        assert_string_equal(named, name);
        assert_true(scenario->description != NULL && scenario->n_expects > 0);
    }
}

TEST(all_profiles_load)
{
    g_autofree char *folder = source_path("models/profiles");
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(dir)) != NULL) {
        if (!g_str_has_suffix(name, ".yaml") || g_str_has_prefix(name, "timing-"))
            continue;
        g_autofree char *bare = g_strndup(name, strlen(name) - strlen(".yaml"));
        g_autofree char *text =
            g_strdup_printf(HEAD "  drivers: [{name: a.example.com, profile: %s}]\n", bare);
        g_auto(Files) files = files_new(text);
        g_autoptr(Scenario) scenario = load_file(files.file, NULL);
        assert_non_null(scenario->drivers[0].model.latency[CSI_CREATE_VOLUME]);
    }
}

/* TIM-1, 2, 5, 6, 7, 10, 24, 39, 42, 92. */
TEST(timing_is_as_recorded)
{
    g_autoptr(Scenario) scenario = load_named("scenarios/immediate.yaml", NULL);
    const Timing *timing = &scenario->timing;

    assert_int_equal(sim_dist_quantile(timing->write, 0.5), 3500 * SIM_US);
    assert_int_equal(sim_dist_quantile(timing->think, 0.5), 1600 * SIM_US);
    assert_in_range(sim_dist_quantile(timing->write, 0.95) / SIM_US, 9400, 9800);
    assert_true(sim_dist_quantile(timing->watch, 0.0625) ==
                -750 * SIM_US); /* the middle of the early eighth */
    assert_true(sim_dist_quantile(timing->watch, 0.125 + 0.875 / 2) == 1400 * SIM_US);
    assert_true(timing->watch_lead == 1500 * SIM_US);
    assert_true(timing->create_factor == 1 && timing->update_factor == 0.85);
    assert_true(timing->patch_factor == 1.1 && timing->delete_factor == 1.15);
    assert_true(timing->read_factor == 0.6 && timing->not_found_factor == 0.5);
    assert_true(timing->loop_pass == 600 * SIM_US && timing->relist_pass == 1550 * SIM_US);
    assert_true(timing->attach_detach_pass == 720 * SIM_US && timing->status_pass == 25 * SIM_MS);
    assert_in_range(sim_dist_quantile(timing->cycle, 0.5), 149 * SIM_US, 151 * SIM_US);
    assert_in_range(sim_dist_quantile(timing->cycle_filter, 0.5), 209 * SIM_US, 211 * SIM_US);
    assert_true(timing->cycle_node == 6400 && timing->cycle_score == 300 * SIM_US);
    assert_int_equal(sim_dist_quantile(timing->scheduler_start, 0.5), 690 * SIM_MS);
}

static const char driver_text[] =
    HEAD "  drivers:\n"
         "  - name: a.example.com\n"
         "    attachRequired: false\n"
         "    latency: {CreateVolume: {uniform: [1s, 3s]}, DeleteVolume: 2s, NodeStageVolume: "
         "{empirical: [[0.5, 1s], [1, 3s]]}}\n"
         "    errors: [{method: CreateVolume, code: Internal, probability: 0.5, zone: a, from: "
         "10s}, {code: UNAVAILABLE, count: 3}]\n"
         "    limits: {concurrent: 20, rate: {qps: 5, burst: 10}}\n"
         "    pools: [{zone: a, capacity: 10Gi}, {topology: {rack: r1}, capacity: 1Ti}]\n"
         "    volumeSize: {min: 1Gi, step: 1Gi}\n"
         "    sidecars: {external-provisioner: {worker-threads: 10, replicas: 1}}\n"
         "    nodePlugin: {nodeSelector: {disk: ssd}, registersAfter: {uniform: [1s, 5s]}}\n"
         "  workload:\n"
         "  - {at: 20s, setDriver: {latency: {CreateVolume: 9s}, attachLimit: 4}}\n"
         "  - {at: 10s, setDriver: {latency: {DeleteVolume: 8s}, errors: []}}\n";

TEST(driver_is_read)
{
    g_auto(Files) files = files_new(driver_text);
    g_autoptr(Scenario) scenario = load_file(files.file, NULL);
    const ScenarioDriver *driver = &scenario->drivers[0];
    const CsiModelledOptions *model = &driver->model;

    assert_int_equal(model->controller_capabilities & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME, 0);
    assert_true(g_strv_contains((const char *const *)driver->absent_sidecars, "external-attacher"));
    assert_true(sim_dist_quantile(model->latency[CSI_CREATE_VOLUME], 0.5) == 2 * SIM_SECOND);
    assert_true(sim_dist_quantile(model->latency[CSI_NODE_STAGE_VOLUME], 0.75) == 2 * SIM_SECOND);
    assert_int_equal(model->errors[0].code, CSI_INTERNAL);
    assert_true(model->errors[0].from == 10 * SIM_SECOND && model->errors[0].probability == 0.5);
    assert_int_equal(model->errors[1].method, CSI_N_METHODS);
    assert_int_equal(model->errors[1].count, 3);
    assert_int_equal(model->limits[0].concurrent, 20);
    assert_int_equal(model->limits[0].burst, 10);
    assert_string_equal(string_map_get(model->pools[0].segments, "topology.a.example.com/zone"),
                        "a");
    assert_string_equal(string_map_get(model->pools[1].segments, "rack"), "r1");
    assert_true(model->pools[0].bytes == INT64_C(10) << 30 && model->volume_bytes_min == INT64_C(1)
                                                                                             << 30);
    assert_non_null(driver->node_plugin.registers_after);
    assert_string_equal(json_string_value(json_object_get(driver->node_selector, "disk")), "ssd");
    assert_false(
        json_is_true(json_object_get(json_object_get(driver->manifest, "spec"), "attachRequired")));
}

/* A later change builds on an earlier one, in the order of time. */
TEST(driver_changes_add_up)
{
    g_auto(Files) files = files_new(driver_text);
    g_autoptr(Scenario) scenario = load_file(files.file, NULL);
    const CsiModelledOptions *at_20s = scenario->actions[0].driver_options,
                             *at_10s = scenario->actions[1].driver_options;

    assert_true(sim_dist_quantile(at_10s->latency[CSI_CREATE_VOLUME], 0.5) == 2 * SIM_SECOND);
    assert_true(sim_dist_quantile(at_10s->latency[CSI_DELETE_VOLUME], 0.5) == 8 * SIM_SECOND);
    assert_int_equal(at_10s->n_errors, 0);
    assert_int_equal(at_10s->attach_limit, 0);
    assert_true(sim_dist_quantile(at_20s->latency[CSI_CREATE_VOLUME], 0.5) == 9 * SIM_SECOND);
    assert_true(sim_dist_quantile(at_20s->latency[CSI_DELETE_VOLUME], 0.5) == 8 * SIM_SECOND);
    assert_int_equal(at_20s->attach_limit, 4);
    assert_int_equal(at_20s->n_limits, 1);
}

TEST(flags_come_from_manifests)
{
    g_auto(Files) files =
        files_new(HEAD "  drivers: [{name: a.example.com, fromManifest: driver.yaml,\n"
                       "    sidecars: {external-attacher: {worker-threads: 7}}}]\n");

    files_add(&files, "driver.yaml",
              "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: controller}\nspec:\n  "
              "template:\n    spec:\n"
              "      containers:\n"
              "      - {name: driver, image: example.com/driver:1, args: [--endpoint=x]}\n"
              "      - name: csi-provisioner\n"
              "        image: registry.k8s.io/sig-storage/csi-provisioner:v5.2.0\n"
              "        args: [--csi-address=$(ADDRESS), --v=5, --feature-gates=Topology=true, "
              "--timeout=60s, --new-flag=1]\n"
              "      - name: attacher\n"
              "        image: registry.k8s.io/sig-storage/csi-attacher@sha256:abc\n"
              "        args: [--worker-threads=100, --kube-api-qps=20]\n");
    g_autoptr(Scenario) scenario = load_file(files.file, NULL);
    GHashTable *provisioner =
        g_hash_table_lookup(scenario->drivers[0].sidecars, "external-provisioner");
    GHashTable *attacher = g_hash_table_lookup(scenario->drivers[0].sidecars, "external-attacher");
    assert_string_equal(g_hash_table_lookup(provisioner, "feature-gates"), "Topology=true");
    assert_string_equal(g_hash_table_lookup(provisioner, "timeout"), "60s");
    assert_string_equal(g_hash_table_lookup(attacher, "kube-api-qps"), "20");
    assert_string_equal(g_hash_table_lookup(attacher, "worker-threads"),
                        "7"); /* the scenario wins */
    assert_int_equal(scenario->ignored->len, 1);
    assert_non_null(strstr(scenario->ignored->pdata[0], "--new-flag"));
}

TEST(manifests_come_from_files)
{
    g_auto(Files) files = files_new(
        HEAD "  manifests: [state.json]\n  workload:\n"
             "  - {at: 1s, create: {manifest: claim.yaml, count: 3, interarrival: 1s}}\n");

    files_add(&files, "state.json",
              "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{\"apiVersion\": \"v1\", "
              "\"kind\": "
              "\"PersistentVolume\", \"metadata\": {\"name\": \"pv-1\"}, \"spec\": {\"capacity\": "
              "{\"storage\": \"1Gi\"}, "
              "\"accessModes\": [\"ReadWriteOnce\"], \"storageClassName\": \"manual\", "
              "\"hostPath\": {\"path\": \"/x\"}}},"
              "{\"apiVersion\": \"monitoring.coreos.com/v1\", \"kind\": \"ServiceMonitor\", "
              "\"metadata\": {\"name\": \"m\"}}]}");
    files_add(&files, "claim.yaml",
              "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  "
              "accessModes: [ReadWriteOnce]\n"
              "  storageClassName: manual\n  resources: {requests: {storage: 1Gi}}\n");
    g_autoptr(Scenario) scenario = load_file(files.file, NULL);
    assert_int_equal(scenario->n_manifests, 1);
    assert_int_equal(scenario->ignored->len, 1);
    assert_true(g_str_has_suffix(scenario->ignored->pdata[0], "state.json:1)"));
    assert_int_equal(scenario->actions[0].count, 3);
    assert_true(scenario->actions[0].numbered);
    assert_non_null(scenario->actions[0].interarrival);
    assert_int_equal(scenario->actions[0].n_manifests, 1);
}

/* Two actions make pods and claims of the same names, one after the other: each names its own. */
TEST(copies_may_come_again)
{
#define COPIES                                                                                     \
    "    create:\n      count: 2\n      manifest:\n"                                               \
    "      - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: "         \
    "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n"                     \
    "      - {apiVersion: v1, kind: Pod, metadata: {name: app}, spec: {containers: [{name: c, "    \
    "image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, "                   \
    "persistentVolumeClaim: {claimName: data}}]}}\n"
    g_auto(Files) files = files_new(HEAD "  workload:\n  - at: 1s\n" COPIES "  - at: 9s\n" COPIES);

    g_autoptr(Scenario) scenario = load_file(files.file, NULL);
    assert_int_equal(scenario->n_actions, 2);
#undef COPIES
}

/* API-60: the same file twice makes two names. As Helm prints them: null in a map of texts, floats
 * for whole numbers. */
TEST(names_are_made_of_prefixes)
{
    g_auto(Files) files = files_new(HEAD "  workload:\n  - create: {manifest: pod.yaml}\n"
                                         "  - create: {manifest: pod.yaml}\n");

    files_add(&files, "pod.yaml",
              "{apiVersion: v1, kind: Pod, metadata: {generateName: a-, labels: {b: null}}, spec: "
              "{securityContext: {runAsUser: 1.00065e+09}, containers: [{name: c, image: i}]}}\n");
    g_autoptr(Scenario) scenario = load_file(files.file, NULL);
    const char *names[2];
    for (unsigned i = 0; i < 2; i++) {
        const json_t *metadata = json_object_get(scenario->actions[i].manifests[0], "metadata");
        names[i] = json_string_value(json_object_get(metadata, "name"));
        assert_true(g_str_has_prefix(names[i], "a-"));
        assert_int_equal(strlen(names[i]), strlen("a-") + 5);
    }
    assert_string_not_equal(names[0], names[1]);
}

/* WL-22: a claim of the template takes the place of the volume of its name, whatever that names. */
TEST(claim_templates_replace_volumes)
{
#define SET(volume)                                                                                \
    HEAD "---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {"             \
         "selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {"         \
         "containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /v}]}], "        \
         "volumes: [{name: " volume ", persistentVolumeClaim: {claimName: nowhere}}]}}, "          \
         "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], "   \
         "resources: {requests: {storage: 1Gi}}}}]}}\n"
    g_auto(Files) replaced = files_new(SET("data")), other = files_new(SET("more"));
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;

    g_autoptr(Scenario) scenario = load_file(replaced.file, NULL);
    assert_int_equal(scenario->n_manifests, 1);
    assert_null(scenario_load(other.file, &options, &faults));
#undef SET
}

/* JSON is read without the places of its values until a fault wants one. */
TEST(faults_in_json_have_places)
{
    g_auto(Files) files = files_new(HEAD "  manifests: [state.json]\n");

    files_add(&files, "state.json",
              "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n"
              "  {\"apiVersion\": \"v1\", \"kind\": \"PersistentVolumeClaim\",\n"
              "   \"metadata\": {\"name\": \"data\"},\n"
              "   \"spec\": {\"acessModes\": []}}]}\n");
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) scenario = scenario_load(files.file, &options, &faults);
    assert_null(scenario);
    const FileFault *fault = faults->pdata[faults->len - 1];
    assert_true(g_str_has_suffix(fault->file, "state.json"));
    assert_int_equal(fault->line, 4);
    assert_int_equal(fault->column, 27);
}

/* What kubectl printed is a state: names may dangle, controllers may have been at work. */
TEST(imports_may_dangle)
{
    g_auto(Files) files = files_new(HEAD "  manifests: [state.json]\n");

    files_add(
        &files, "state.json",
        "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{\"apiVersion\": \"v1\", "
        "\"kind\": "
        "\"PersistentVolumeClaim\", \"metadata\": {\"name\": \"data\", \"uid\": "
        "\"3f0c9dfc-1d2e-4b8a-9c5e-0123456789ab\"}, \"spec\": {\"accessModes\": "
        "[\"ReadWriteOnce\"], "
        "\"storageClassName\": \"gone\", \"volumeName\": \"gone\", \"resources\": {\"requests\": "
        "{\"storage\": \"1Gi\"}}}}, {\"apiVersion\": \"storage.k8s.io/v1\", \"kind\": "
        "\"StorageClass\", "
        "\"provisioner\": \"x.example.com\", \"metadata\": "
        "{\"name\": \"web\", \"uid\": \"3f0c9dfc-1d2e-4b8a-9c5e-0123456789ac\"}}]}");
    g_autoptr(Scenario) scenario = load_file(files.file, NULL);
    assert_int_equal(scenario->n_manifests, 2);
    assert_int_equal(scenario->warnings->len, 1); /* of the class */
}

/* ---- --set ---- */

static int64_t
get_replicas(const Scenario *scenario)
{
    const json_t *spec = json_object_get(scenario->manifests[2], "spec");
    return json_integer_value(json_object_get(spec, "replicas"));
}

TEST(sets_change_what_they_name)
{
    const char *const set[] = {
        "spec.nodes[0].count=5.0", /* as whole as 5 */
        "spec.drivers[0].attachLimit=3",
        "spec.drivers[0].latency.CreateVolume={constant: 7s}",
        "spec.kubernetes.unlimitedQPS=true",
        "spec.kubernetes.apiServerLoad=0.1",
        "spec.drivers[0].sidecars.external-attacher.kube-api-qps=100",
        "spec.components.kube-controller-manager.kube-api-qps=50",
        "StatefulSet/postgres.spec.replicas=20",
        "StorageClass/gp3.metadata.annotations[storageclass.kubernetes.io/"
        "is-default-class]=\"false\"",
        NULL,
    };
    g_autoptr(Scenario) plain = load_named("scenarios/quickstart.yaml", NULL);
    g_autoptr(Scenario) scenario = load_named("scenarios/quickstart.yaml", set);
    GHashTable *attacher = g_hash_table_lookup(scenario->drivers[0].sidecars, "external-attacher");

    assert_int_equal(scenario->nodes[0].count, 5);
    assert_int_equal(scenario->drivers[0].attach_limit, 3);
    assert_true(sim_dist_quantile(scenario->drivers[0].model.latency[CSI_CREATE_VOLUME], 0.9) ==
                7 * SIM_SECOND);
    assert_true(scenario->unlimited_qps);
    assert_true(scenario->timing.load == 0.1 && plain->timing.load == 0.5);
    assert_string_equal(g_hash_table_lookup(attacher, "kube-api-qps"), "100");
    assert_string_equal(g_hash_table_lookup(attacher, "timeout"),
                        "60s"); /* the profile's others stay */
    assert_int_equal(get_replicas(scenario), 20);
    assert_int_equal(get_replicas(plain), 100);
    assert_string_not_equal(scenario->hash, plain->hash);
}

typedef struct {
    const char *set, *fault;
} SetCase;

TEST(wrong_sets_are_faults)
{
    /* clang-format off */
    static const SetCase cases[] = {
        {"spec.nodes[0].count",       "--set spec.nodes[0].count: there is no \"=\" (as in --set spec.nodes[0].count=10)"},
        {"spec.nodes[0].count=many",  "--set spec.nodes[0].count=many: spec.nodes[0].count: \"many\" is not a whole number"},
        {"spec.nodes[9].count=1",     "--set spec.nodes[9].count=1: spec.nodes[9].count: there is no such place in the file (as in --set spec.nodes[0].count=10)"},
        {"spec.until=5",              "--set spec.until=5: spec.until: 5 has no unit (\"5s\"?)"},
        {"spec.until=-5s",            "--set spec.until=-5s: spec.until: \"-5s\" is negative"},
        {"spec.nodes[0].count=1e-3",  "--set spec.nodes[0].count=1e-3: spec.nodes[0].count: \"0.001\" is not a whole number"},
        {"spec.drivers[0].profile=premium", "--set spec.drivers[0].profile=premium: spec.drivers[0].profile: there is no profile \"premium\" (kvolsim profiles lists them; a file's name has a / or .yaml)"},
        {"spec.sede=1",               "--set spec.sede=1: spec.sede: unknown field (did you mean \"seed\"?)"},
        {"spec.nodes[0].zones=[yes]", "--set spec.nodes[0].zones=[yes]: spec.nodes[0].zones[0]: must be text, not true (put it in quotes, within those of the shell: 'PATH=\"VALUE\"')"},
        {"spec..x=1",                 "--set spec..x=1: spec..x: is no path (as in --set spec.nodes[0].count=10)"},
        {"Pod/web.spec.x=1",          "--set Pod/web.spec.x=1: Pod/web.spec.x: there is no such object in the manifests (as in --set spec.nodes[0].count=10)"},
        {"StatefulSet/postgres.spec.replicas=-1", "--set StatefulSet/postgres.spec.replicas=-1: StatefulSet/postgres.spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
    };
    /* clang-format on */
    g_autofree char *file = source_path("scenarios/quickstart.yaml");

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *const set[] = {cases[i].set, NULL};
        const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"), .set = set};
        g_autoptr(GPtrArray) faults = NULL;
        g_autoptr(Scenario) scenario = scenario_load(file, &options, &faults);
        assert_null(scenario);
        assert_int_equal(faults->len, 1);
        g_autofree char *text = file_fault_text(faults->pdata[0]);
        assert_string_equal(text, cases[i].fault);
    }
}

/* What an anchor shares is changed in the one place that is named. */
TEST(sets_leave_aliases_alone)
{
    const char *const set[] = {"spec.nodes[1].labels.disk=hdd", NULL};
    g_auto(Files) files = files_new(
        "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: test}\nspec:\n  until: 1s\n"
        "  nodes:\n  - {name: a, labels: &l {disk: ssd}}\n  - {name: b, labels: *l}\n");
    g_autoptr(Scenario) scenario = load_file(files.file, set);

    assert_string_equal(json_string_value(json_object_get(scenario->nodes[0].labels, "disk")),
                        "ssd");
    assert_string_equal(json_string_value(json_object_get(scenario->nodes[1].labels, "disk")),
                        "hdd");
}

TEST(missing_file_is_a_fault)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) scenario = scenario_load("no/such.yaml", &options, &faults);

    assert_null(scenario);
    g_autofree char *text = file_fault_text(faults->pdata[0]);
    assert_string_equal(text, "no/such.yaml: cannot be read: No such file or directory");
}

/* ---- For editors and readers ---- */

static gboolean scenario_fits(const json_t *schema, const json_t *root, const json_t *value);

static gboolean
type_fits(const char *type, const json_t *value)
{
    return g_str_equal(type, "object")    ? json_is_object(value)
           : g_str_equal(type, "array")   ? json_is_array(value)
           : g_str_equal(type, "string")  ? json_is_string(value)
           : g_str_equal(type, "integer") ? json_is_integer(value)
           : g_str_equal(type, "number")  ? json_is_number(value)
                                          : json_is_boolean(value);
}

static gboolean
types_fit(const json_t *types, const json_t *value)
{
    gboolean any = FALSE;

    for (gsize i = 0; i < json_array_size(types); i++)
        any |= type_fits(json_string_value(json_array_get(types, i)), value);
    return json_is_array(types) ? any : type_fits(json_string_value(types), value);
}

static gboolean
members_fit(const json_t *schema, const json_t *root, const json_t *value)
{
    const json_t *rest = json_object_get(schema, "additionalProperties");
    const char *key;
    json_t *member;

    for (gsize i = 0; i < json_array_size(json_object_get(schema, "required")); i++)
        if (json_object_get(value, json_string_value(json_array_get(
                                       json_object_get(schema, "required"), i))) == NULL)
            return FALSE;
    json_object_foreach((json_t *)value, key, member) {
        const json_t *property = json_object_get(json_object_get(schema, "properties"), key);
        if (property == NULL && json_is_false(rest)) {
            print_error("%s is not in the schema\n", key);
            return FALSE;
        }
        property = property != NULL ? property : rest;
        if (json_is_object(property) && !scenario_fits(property, root, member)) {
            print_error("%s does not fit\n", key);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean
any_fits(const json_t *schemas, const json_t *root, const json_t *value, gboolean as_value)
{
    for (gsize i = 0; i < json_array_size(schemas); i++)
        if (as_value ? json_equal(json_array_get(schemas, i), value)
                     : scenario_fits(json_array_get(schemas, i), root, value))
            return TRUE;
    return FALSE;
}

/* As much of JSON Schema as ours needs. */
static gboolean
scenario_fits(const json_t *schema, const json_t *root, const json_t *value)
{
    const json_t *items = json_object_get(schema, "items"), *any = json_object_get(schema, "anyOf");
    const json_t *words = json_object_get(schema, "enum"), *type = json_object_get(schema, "type");
    const char *ref = json_string_value(json_object_get(schema, "$ref"));

    if (ref != NULL)
        return scenario_fits(
            json_object_get(json_object_get(root, "$defs"), ref + strlen("#/$defs/")), root, value);
    if (type != NULL && !types_fit(type, value))
        return FALSE;
    if ((any != NULL && !any_fits(any, root, value, FALSE)) ||
        (words != NULL && !any_fits(words, root, value, TRUE)))
        return FALSE;
    for (gsize i = 0; items != NULL && i < json_array_size(value); i++)
        if (!scenario_fits(items, root, json_array_get(value, i)))
            return FALSE;
    return !json_is_object(value) || members_fit(schema, root, value);
}

/* The first document of each. */
static void
assert_fit(json_t *schema, const GPtrArray *files)
{
    for (unsigned i = 0; i < files->len; i++) {
        const char *file = files->pdata[i];
        g_autofree char *text = NULL;
        g_autoptr(YamlPositions) positions = yaml_positions_new();
        g_autoptr(GPtrArray) documents =
            g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
        gsize length;
        assert_true(g_file_get_contents(file, &text, &length, NULL));
        assert_true(yaml_read(positions, file, text, length, NULL, documents));
        assert_true(scenario_fits(schema, schema, documents->pdata[0]));
    }
}

TEST(scenarios_fit_the_schema)
{
    g_autoptr(GPtrArray) files = scenario_files();
    json_t *schema = scenario_schema();

    assert_fit(schema, files);
    json_decref(schema);
}

#ifdef WITH_STUDY

#include "run/study/sweep.h"

/* So do sweeps theirs; what is no sweep does not. */
TEST(sweeps_fit_the_schema)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    json_t *schema = sweep_schema();
    json_t *other =
        json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "kvolsim.io/v1", "kind", "Sweep",
                  "metadata", "name", "s", "spec", "scenari", "burst-100.yaml");

    add_scenario_files(files, "scenarios/sweeps");
    assert_true(files->len >= 6);
    assert_fit(schema, files);
    assert_false(scenario_fits(schema, schema, other));
    json_decref(other);
    json_decref(schema);
}

#endif

/* docs/scenario-format.md ends with what the tables say. To bring it up to date: kvolsim schema
 * --reference. */
TEST(the_reference_is_up_to_date)
{
    g_autofree char *file = source_path("docs/scenario-format.md");
    g_autofree char *text = NULL;
    g_autofree char *reference = scenario_reference();

    assert_true(g_file_get_contents(file, &text, NULL, NULL));
    assert_true(g_str_has_suffix(text, reference));
}
