/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario is loaded in stages: load_file() reads the file and applies --set, load_stages[] are
 * the rest, each a function of the loader. read_fields() takes the whole document through the
 * tables of fields once; later stages build on its structs and never look for a field again, but
 * for profiles, which a driver's own fields override. No stage stops at a fault: the user gets all
 * of them, and sort_faults() brings them into the order of the files. A stage may use what earlier
 * ones have built: drivers need the CSINodes among the manifests, actions the drivers, the checks
 * everything. JSON without positions is read first, as five times faster, and again with positions
 * only for a fault or a warning. */
#include <string.h>

#include "models/api/fields.h"
#include "scenario-private.h"
#include "sim/order.h"

#define API_VERSION "kvolsim.io/v1"
#define DEFAULT_TIMING "timing-1.32"
/* The models follow release 1.32; flags and gates of other releases are known, too. */
#define MINOR_DEFAULT 32

typedef struct {
    FileFault *fault;
    unsigned file; /* its place in the order of reading */
} SortedFault;

static int
fault_compare(const void *a, const void *b, void *data)
{
    const SortedFault *first = a, *second = b;

    (void)data;
    return ORDER(first->file, second->file)
           ?: ORDER(first->fault->line, second->fault->line)
           ?: ORDER(first->fault->column, second->fault->column);
}

/* Sorts by file: the scenario's own file first, others in the order of reading. */
static void
sort_faults(Loader *self)
{
    g_autofree SortedFault *sorted = g_new(SortedFault, self->faults->len + 1);

    for (unsigned i = 0; i < self->faults->len; i++) {
        SortedFault *fault = &sorted[i];
        *fault = (SortedFault){self->faults->pdata[i], 0};
        while (fault->file < self->files->len &&
               !g_str_equal(self->files->pdata[fault->file], fault->fault->file))
            fault->file++;
    }
    g_qsort_with_data(sorted, (int)self->faults->len, sizeof *sorted, fault_compare,
                      NULL); /* stable */
    for (unsigned i = 0; i < self->faults->len; i++)
        self->faults->pdata[i] = sorted[i].fault;
}

/* ---- The scenario's own document ---- */

/* Returns: NULL after a fault */
static const json_t *
find_scenario(Loader *self, const GPtrArray *documents)
{
    const json_t *found = NULL;

    for (unsigned i = 0; i < documents->len; i++) {
        if (!loader_is_scenario(documents->pdata[i]))
            continue;
        if (found != NULL) {
            yaml_positions_find(self->positions, documents->pdata[i], &self->reader.at);
            schema_fault(&self->reader, NULL, "a second Scenario in one file");
        } else {
            found = documents->pdata[i];
        }
    }
    self->reader.at = (YamlPosition){self->files->pdata[0], 0, 0};
    if (found == NULL && !self->is_incomplete)
        schema_fault(&self->reader,
                     "a document with apiVersion: " API_VERSION " and kind: Scenario",
                     "there is no Scenario in this file");
    return found;
}

static void
read_version(Loader *self, const json_t *spec)
{
    const char *version = self->fields.spec.kubernetes.version;
    const json_t *kubernetes = json_object_get(spec, "kubernetes");

    self->scenario.minor_version = MINOR_DEFAULT;
    if (version == NULL)
        return;
    if (!scenario_parse_version(version, &self->scenario.minor_version)) {
        SchemaPlace place = schema_enter_member(&self->reader, spec, "kubernetes");
        schema_fault_member(&self->reader, kubernetes, "version", SCENARIO_VERSIONS,
                            "\"%s\" is not a version of Kubernetes known here", version);
        schema_leave(&self->reader, place);
    }
}

/* The words are Kubernetes' own: a component with such a gate ends at its start. */
static void
check_gate(Loader *self, const json_t *gates, const char *gate, gboolean value)
{
    int minor = self->scenario.minor_version;
    g_autofree char *hint = NULL;
    g_autofree char *fault = release_refuse_gate(minor, gate, value, &hint);

    if (fault != NULL) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        for (unsigned i = 0; hint == NULL && feature_gate_at(i) != NULL; i++)
            g_ptr_array_add(names, (void *)feature_gate_at(i)->name);
        if (hint == NULL)
            hint = name_hint(gate, (const char *const *)names->pdata, names->len);
        schema_fault_member(&self->reader, gates, gate,
                            hint == NULL ? "see docs/rules/feature-gates.md" : hint, "%s", fault);
    } else if (release_ignores_gate(minor, gate, value)) {
        const char *effect = feature_gate_find(gate)->effect;
        SchemaPlace place = schema_enter_member(&self->reader, gates, gate);
        loader_warn(self, &self->reader.at, "spec.kubernetes.featureGates", effect,
                    "feature gate %s changes nothing here", gate);
        schema_leave(&self->reader, place);
    }
}

static void
scenario_check_gates(Loader *self, const json_t *spec)
{
    json_t *gates = self->scenario.feature_gates, *value;
    const char *gate;

    if (gates == NULL)
        return;
    SchemaPlace outer = schema_enter_member(&self->reader, spec, "kubernetes");
    SchemaPlace place =
        schema_enter_member(&self->reader, json_object_get(spec, "kubernetes"), "featureGates");
    json_object_foreach(gates, gate, value) {
        check_gate(self, gates, gate, json_is_true(value));
    }
    schema_leave(&self->reader, place);
    schema_leave(&self->reader, outer);
}

static void
read_until(Loader *self)
{
    const char *until = json_string_value(self->fields.spec.until);
    Scenario *scenario = &self->scenario;

    scenario->idle_for = self->fields.spec.idle_for;
    scenario->until = SIM_TIME_MAX;
    scenario->until_idle = until == NULL || g_str_equal(until, "idle");
    if (!scenario->until_idle)
        sim_time_parse(until, &scenario->until, NULL); /* a fault is reported already */
    if (scenario->until_idle && json_is_integer(self->fields.spec.until)) {
        scenario->until_idle = FALSE;
        if (json_integer_value(self->fields.spec.until) == 0)
            scenario->until = 0;
    }
    if (scenario->until < 0) /* that is reported, and no time is after such an end */
        scenario->until = SIM_TIME_MAX;
}

static void
read_timing(Loader *self, const json_t *spec)
{
    const char *name = self->fields.spec.timing;
    SchemaPlace place = schema_enter_member(&self->reader, spec, "timing");
    const json_t *profile = loader_read_profile(self, name != NULL ? name : DEFAULT_TIMING);

    schema_leave(&self->reader, place);
    if (profile == NULL)
        return;
    SchemaJump jump = schema_go_file(&self->reader, profile);
    Timing exact = {0};
    unsigned n_faults = self->reader.faults->len;

    schema_read(&self->reader, &scenario_timing_type, profile, &exact);
    if (self->reader.faults->len > n_faults) { /* distributions may be missing */
        schema_come_back(&self->reader, jump);
        return;
    }
    if (self->fields.spec.kubernetes.api_server_load >= 0)
        exact.load = self->fields.spec.kubernetes.api_server_load;
    if (self->fields.spec.kubernetes.pod_sandbox != NULL)
        exact.pod_sandbox = self->fields.spec.kubernetes.pod_sandbox;
    if (self->fields.spec.kubernetes.image_pull != NULL)
        exact.image_pull = self->fields.spec.kubernetes.image_pull;
    timing_init_tables(&self->scenario.timing, &exact);
    schema_come_back(&self->reader, jump);
}

static void
copy_nodes(Loader *self)
{
    const SchemaList *list = &self->fields.spec.nodes;
    const NodeFields *fields = list->items;

    self->scenario.nodes = schema_alloc(&self->reader, list->n * sizeof(ScenarioNodes));
    self->scenario.n_nodes = list->n;
    for (unsigned i = 0; i < list->n; i++)
        self->scenario.nodes[i] = fields[i].nodes;
}

static void
read_fields(Loader *self)
{
    if (self->options->keeps_document)
        self->scenario.document = json_deep_copy(self->document);
    yaml_positions_find(self->positions, self->document, &self->reader.at);
    schema_read(&self->reader, &scenario_file_type, self->document, &self->fields);
}

static void
build_spec(Loader *self)
{
    const ScenarioFields *fields = &self->fields;
    const json_t *document = self->document, *spec = json_object_get(document, "spec");
    Scenario *scenario = &self->scenario;

    if (fields->api_version != NULL && !g_str_equal(fields->api_version, API_VERSION))
        schema_fault_member(&self->reader, document, "apiVersion", "it is " API_VERSION,
                            "\"%s\" is not known", fields->api_version);
    scenario->name = (char *)fields->metadata.name;
    scenario->description = (char *)fields->spec.description;
    scenario->seed = (uint64_t)fields->spec.seed;
    scenario->recorded_from = fields->spec.recorded_from;
    scenario->feature_gates = (json_t *)fields->spec.kubernetes.feature_gates;
    scenario->unlimited_qps = fields->spec.kubernetes.unlimited_qps;
    scenario->components = fields->spec.components;

    SchemaPlace place = schema_enter_member(&self->reader, document, "spec");
    read_version(self, spec);
    scenario_check_gates(self, spec);
    read_until(self);
    read_timing(self, spec);
    copy_nodes(self);
    self->scenario.slos = self->fields.spec.slo.items;
    self->scenario.n_slos = self->fields.spec.slo.n;
    loader_check_local_components(self, spec);
    schema_leave(&self->reader, place);
}

/* ---- Loading ---- */

static void
manifest_info_clear(void *data)
{
    ManifestInfo *info = data;
    object_unref(g_steal_pointer(&info->object));
}

static void
loader_free(Loader *self)
{
    g_array_unref(self->manifests);
    g_clear_pointer(&self->objects, objects_free);
    timing_clear(&self->scenario.timing);
    json_decref(self->scenario.document);
    json_decref(self->scenario.others);
    schema_reader_clear(&self->reader);
    g_clear_pointer(&self->scenario.ignored, g_ptr_array_unref);
    g_clear_pointer(&self->scenario.warnings, g_ptr_array_unref);
    g_ptr_array_unref(self->warnings);
    g_ptr_array_unref(self->made);
    g_hash_table_unref(self->files_read);
    g_ptr_array_unref(self->files);
    yaml_positions_free(self->positions);
    g_string_free(self->directory, TRUE);
    g_checksum_free(self->checksum);
    g_free(self);
}

static void
warn_at_place(SchemaReader *reader, const char *message)
{
    loader_warn(reader->warn_data, &reader->at, reader->path->str, NULL, "%s", message);
}

static Loader *
loader_new(const char *file, const ScenarioOptions *options, GHashTable *texts, GPtrArray *faults)
{
    Loader *self = g_new0(Loader, 1);
    g_autofree char *directory = g_path_get_dirname(file);

    self->texts = texts;
    self->options = options;
    self->faults = faults;
    self->positions = yaml_positions_new();
    schema_reader_init(&self->reader, self->positions, faults);
    self->reader.warn = warn_at_place;
    self->reader.warn_data = self;
    self->files = g_ptr_array_new_with_free_func(g_free);
    self->files_read =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    self->made = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    self->directory = g_string_new(g_str_equal(directory, ".") ? "" : directory);
    self->checksum = g_checksum_new(G_CHECKSUM_SHA256);
    self->manifests = g_array_new(FALSE, FALSE, sizeof(ManifestInfo));
    g_array_set_clear_func(self->manifests, manifest_info_clear);
    self->objects = objects_new(1);
    self->newest = TIME_UNSET;
    self->scenario.ignored = g_ptr_array_new_with_free_func(g_free);
    self->scenario.warnings = g_ptr_array_new_with_free_func(g_free);
    self->scenario.others = json_array();
    self->warnings = loader_warnings_new();
    self->scenario.file = (char *)schema_intern(&self->reader, file);
    return self;
}

static void
check_references(Loader *self)
{
    if (!self->is_incomplete && !self->options->by_hand &&
        self->fields.spec.recorded_from == UINT_MAX)
        loader_check_references(self);
}

static void (*const load_stages[])(Loader *self) = {
    loader_include_workload,  /* files of items take their places in spec.workload */
    read_fields,              /* the document becomes structs */
    build_spec,               /* release, gates, timing, nodes, slos */
    loader_collect_manifests, /* objects of the start and of each action, parsed for the checks */
    loader_read_start,        /* the time stamp of t = 0 */
    loader_build_drivers,
    loader_build_actions, /* workload and faults */
    loader_build_expects,
    check_references, /* each name refers to something */
};

static gboolean
has_manifest(const GPtrArray *documents)
{
    for (unsigned i = 0; i < documents->len; i++)
        if (loader_is_scenario(documents->pdata[i]))
            return FALSE;
    return documents->len > 0;
}

static gboolean
is_same_object(const json_t *a, const json_t *b)
{
    const json_t *a_data = json_object_get(a, "metadata"), *b_data = json_object_get(b, "metadata");
    const char *a_space = json_path_string(a_data, "namespace"),
               *b_space = json_path_string(b_data, "namespace");

    return json_equal(json_object_get(a, "kind"), json_object_get(b, "kind")) &&
           json_equal(json_object_get(a_data, "name"), json_object_get(b_data, "name")) &&
           g_str_equal(a_space != NULL ? a_space : "default",
                       b_space != NULL ? b_space : "default");
}

/* An object of the overlay replaces the same object of the file. */
static void
apply_overlay(Loader *self, GPtrArray *documents)
{
    GPtrArray *overlay =
        self->options->overlay != NULL ? loader_read_path(self, self->options->overlay) : NULL;

    for (unsigned i = 0; overlay != NULL && i < overlay->len; i++) {
        json_t *manifest = overlay->pdata[i];
        unsigned k = 0;

        while (k < documents->len && !is_same_object(documents->pdata[k], manifest))
            k++;
        json_incref(manifest);
        if (k < documents->len) {
            json_decref(documents->pdata[k]);
            documents->pdata[k] = manifest;
        } else {
            g_ptr_array_add(documents, manifest);
        }
    }
}

static void
load_file(Loader *self, const char *file, gboolean may_be_manifests)
{
    self->reader.at = (YamlPosition){self->scenario.file, 0, 0};
    GPtrArray *documents = loader_read_path(self, file);
    if (documents == NULL)
        return;
    apply_overlay(self, documents);
    loader_apply_sets(self, documents);
    if (may_be_manifests && has_manifest(documents)) {
        loader_collect_file(self, documents);
        loader_check_duplicates(self);
        return;
    }
    self->documents = documents;
    self->document = find_scenario(self, documents);
    for (unsigned i = 0; i < G_N_ELEMENTS(load_stages) && self->document != NULL; i++)
        load_stages[i](self);
}

static Loader *
load_once(const char *file,
          const ScenarioOptions *options,
          gboolean is_check,
          gboolean is_located,
          GHashTable *texts,
          GPtrArray *faults)
{
    Loader *self = loader_new(file, options, texts, faults);

    self->is_located = is_located;
    if (is_check)
        g_clear_pointer(&self->checksum, g_checksum_free); /* a check needs no hash */
    load_file(self, file, is_check);
    loader_tell_warnings(self);
    self->texts = NULL;
    return self;
}

/* Reads JSON without positions first. If a position is needed, for a fault, a warning or an ignored
 * object, the files are read again with positions. */
static Loader *
scenario_load_stages(const char *file,
                     const ScenarioOptions *options,
                     gboolean is_check,
                     GPtrArray **faults)
{
    g_autoptr(GHashTable) texts =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);

    *faults = file_faults_new();
    Loader *self = load_once(file, options, is_check, FALSE, texts, *faults);
    if (self->lacks_places &&
        ((*faults)->len > 0 || self->warnings->len > 0 || self->scenario.ignored->len > 0)) {
        loader_free(self);
        g_ptr_array_set_size(*faults, 0);
        self = load_once(file, options, is_check, TRUE, texts, *faults);
    }
    sort_faults(self);
    return self;
}

Scenario *
scenario_load(const char *file, const ScenarioOptions *options, GPtrArray **faults)
{
    Loader *self = scenario_load_stages(file, options, FALSE, faults);

    g_strlcpy(self->scenario.hash, g_checksum_get_string(self->checksum),
              sizeof self->scenario.hash);
    if ((*faults)->len > 0) {
        loader_free(self);
        return NULL;
    }
    /* Only the checks need them, and dumps make them large. */
    g_array_set_size(self->manifests, 0);
    g_clear_pointer(&self->objects, objects_free); /* each run has its own */
    g_clear_pointer(&self->positions, yaml_positions_free);
    return &self->scenario;
}

Scenario *
scenario_check(const char *file, const ScenarioOptions *options, GPtrArray **faults)
{
    return &scenario_load_stages(file, options, TRUE, faults)->scenario;
}

void
scenario_free(Scenario *self)
{
    if (self != NULL)
        loader_free((Loader *)self);
}

/* ---- For editors ---- */

json_t *
scenario_schema(void)
{
    return schema_json_document(&scenario_file_type, "scenario");
}

char *
scenario_reference(void)
{
    GString *text = g_string_new(NULL);

    schema_reference(scenario_file_type.fields[3].type, "spec", 2,
                     text); /* apiVersion, kind and metadata need no section */
    return g_string_free(text, FALSE);
}
