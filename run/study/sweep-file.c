/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of a sweep: its table of fields, checks that need several fields, and its points. A
 * point is a list of settings in the form of --set, each with its place in the file, so that a
 * fault of the scenario is told at the value that causes it. The baseline is a point that matches
 * its values. */
#include <string.h>

#include "models/api/fields.h"
#include "run/files/input.h"
#include "run/files/packed.h"
#include "sweep-private.h"

#define API_VERSION "kvolsim.io/v1"
#define DEFAULT_REPLICATIONS 10
#define DEFAULT_MAX 1000

typedef struct {
    const char *name, *stage, *statistic, *value;
    const json_t *source;
} MeasureFields;

typedef struct {
    unsigned count, max; /* max 0: not given */
    const char *measure;
    double relative_width; /* 0: not given */
} ReplicationFields;

typedef struct {
    const char *description, *scenario;
    const json_t *set;
    int64_t seed;
    gboolean common_random_numbers;
    int design; /* SweepDesign */
    unsigned samples;
    SchemaList parameters; /* of ParameterFields */
    SchemaList measures;   /* of MeasureFields */
    ReplicationFields replications;
    SimTime warm_up;
    unsigned batches;
    double confidence;
    const json_t *baseline;
} StudyFields;

typedef struct {
    const char *api_version, *kind, *name;
    StudyFields spec;
} SweepFields;

/* ---- Tables ---- */

/* clang-format off */
#define AT(type, member) offsetof(type, member)
#define END {NULL, NULL, 0, 0, NULL, NULL}

static const char *const scale_words[] = {"linear", "log", NULL};
static const FileType scale_type = SCHEMA_ENUM(scale_words);
static const char *const design_words[] = {
    [DESIGN_GRID] = "grid",
    [DESIGN_LIST] = "list",
    [DESIGN_RANDOM] = "random",
    [DESIGN_LATIN_HYPERCUBE] = "latin-hypercube",
    NULL,
};
static const FileType design_type = SCHEMA_ENUM(design_words);
static const char *const stage_words[] = {
#define STAGE_WORD(member, name, meaning) name,
    STAGES(STAGE_WORD)
#undef STAGE_WORD
    NULL,
};
static const char *const value_words[] = {
#define VALUE_WORD(member, name, unit, meaning) name,
    SWEEP_VALUES(VALUE_WORD)
#undef VALUE_WORD
    NULL,
};

static const FileType stage_type = SCHEMA_TYPE("word", "a stage", schema_read_word, schema_json_enum, char *,
    .words = stage_words);
static const FileType value_type = SCHEMA_TYPE("word", "a value", schema_read_word, schema_json_enum, char *,
    .words = value_words);

static void parameter_check(SchemaReader *reader, const json_t *value, void *target);
static void measure_check(SchemaReader *reader, const json_t *value, void *target);
static void measure_init(void *target);
static void replications_init(void *target);
static void replications_check(SchemaReader *reader, const json_t *value, void *target);
static void read_replications(SchemaReader *reader, const FileType *type, const json_t *value, void *target);
static json_t *json_replications(const FileType *type);
static void spec_init(void *target);

static const FileField parameter_fields[] = {
    {"name", &schema_line, AT(ParameterFields, name), SCHEMA_REQUIRED, NULL, "Name in tables and pictures"},
    {"path", &schema_string, AT(ParameterFields, path), 0, NULL, "Path to change, as in --set"},
    {"paths", &schema_strings, AT(ParameterFields, paths), 0, NULL,
     "In place of path: several paths that change together"},
    {"values", &schema_list_any, AT(ParameterFields, values), 0, NULL,
     "Values; with paths, a list as an item has one value for each path"},
    {"labels", &schema_strings, AT(ParameterFields, labels), 0, "the values themselves",
     "Names of the values in tables and pictures"},
    {"from", &schema_any, AT(ParameterFields, from), 0, NULL,
     "In place of values: the lower end of a range, a number or a duration"},
    {"to", &schema_any, AT(ParameterFields, to), 0, NULL, "Upper end of the range"},
    {"steps", &schema_count, AT(ParameterFields, steps), 0, NULL,
     "Number of values in the range, for a grid or list"},
    {"scale", &scale_type, AT(ParameterFields, is_log), 0, "linear",
     "Division of the range: linear or log"},
    END,
};
static const FileType parameter_type = SCHEMA_STRUCT("parameter", parameter_fields, ParameterFields,
    .check = parameter_check);
static const FileType parameters_type = SCHEMA_LIST(parameter_type);

static const FileField measure_fields[] = {
    {"name", &schema_line, AT(MeasureFields, name), SCHEMA_REQUIRED, NULL, "Name in tables and pictures"},
    {"stage", &stage_type, AT(MeasureFields, stage), 0, NULL, "Duration of a stage"},
    {"statistic", &schema_string, AT(MeasureFields, statistic), 0, "mean",
     "mean, min, max, count, a quantile such as p99, or <60s: the share below 60 s"},
    {"value", &value_type, AT(MeasureFields, value), 0, NULL,
     "In place of a stage: a number for the whole run; see Values"},
    END,
};
static const FileType measure_type = SCHEMA_STRUCT("measure", measure_fields, MeasureFields,
    .init = measure_init, .check = measure_check);
static const FileType measures_type = SCHEMA_LIST(measure_type);

static const FileField replications_fields[] = {
    {"count", &schema_count, AT(ReplicationFields, count), 0, "10",
     "Number of runs of each point; with a measure: the minimum"},
    {"measure", &schema_string, AT(ReplicationFields, measure), 0, NULL,
     "Measure whose mean needs a narrow confidence interval; runs are added until then"},
    {"relativeWidth", &schema_probability, AT(ReplicationFields, relative_width), 0, "0.05",
     "Narrow enough: half the interval is at most this share of the mean"},
    {"max", &schema_count, AT(ReplicationFields, max), 0, "1000", "Largest number of runs"},
    END,
};
static const FileType replications_mapping = SCHEMA_STRUCT("replications", replications_fields,
    ReplicationFields, .init = replications_init, .check = replications_check);
static const FileType replications_type = SCHEMA_TYPE("count, or mapping", "a whole number or a mapping",
    read_replications, json_replications, ReplicationFields, .item = &replications_mapping);

static const FileField spec_fields[] = {
    {"description", &schema_text, AT(StudyFields, description), 0, NULL, "The question"},
    {"scenario", &schema_string, AT(StudyFields, scenario), SCHEMA_REQUIRED, NULL,
     "File of the scenario, relative to this file's folder"},
    {"set", &schema_object, AT(StudyFields, set), 0, "nothing",
     "Changes at every point: path: value, as in --set"},
    {"seed", &schema_integer, AT(StudyFields, seed), 0, "1", "Seed of all runs and of random points"},
    {"commonRandomNumbers", &schema_bool, AT(StudyFields, common_random_numbers), 0, "true",
     "Replication r draws the same random numbers at every point, so that differences show sooner"},
    {"design", &design_type, AT(StudyFields, design), 0, "grid",
     "grid: every combination; list: first values together, then second ones; random, latin-hypercube: "
     "samples"},
    {"samples", &schema_count, AT(StudyFields, samples), 0, NULL,
     "Points of a random or latin-hypercube design"},
    {"parameters", &parameters_type, AT(StudyFields, parameters), SCHEMA_REQUIRED, NULL,
     "Parameters that differ between points"},
    {"replications", &replications_type, AT(StudyFields, replications), 0, "10",
     "Number of runs of each point"},
    {"warmUp", &schema_duration, AT(StudyFields, warm_up), 0, "0s", "Objects created earlier do not count"},
    {"batches", &schema_natural, AT(StudyFields, batches), 0, "0: none",
     "Batch means: number of parts of each run for intervals; for long runs"},
    {"confidence", &schema_quantile, AT(StudyFields, confidence), 0, "0.95", "Confidence level of intervals"},
    {"measures", &measures_type, AT(StudyFields, measures), SCHEMA_REQUIRED, NULL, "Measures"},
    {"baseline", &schema_object, AT(StudyFields, baseline), 0, "none",
     "Point to compare all others with: parameter: value"},
    END,
};
static const FileType spec_type = SCHEMA_STRUCT("spec", spec_fields, StudyFields, .init = spec_init);

static const FileField metadata_fields[] = {
    {"name", &schema_dns_label, 0, SCHEMA_REQUIRED, NULL, "Name of the sweep"},
    END,
};
static const FileType metadata_type = SCHEMA_STRUCT("metadata", metadata_fields, ((SweepFields *)0)->name);

static const FileField sweep_fields[] = {
    {"apiVersion", &schema_string, AT(SweepFields, api_version), SCHEMA_REQUIRED, NULL, "kvolsim.io/v1"},
    {"kind", &schema_string, AT(SweepFields, kind), SCHEMA_REQUIRED, NULL, "Sweep"},
    {"metadata", &metadata_type, AT(SweepFields, name), SCHEMA_REQUIRED, NULL, "Its name"},
    {"spec", &spec_type, AT(SweepFields, spec), SCHEMA_REQUIRED, NULL, "Content"},
    END,
};
static const FileType sweep_type = SCHEMA_STRUCT("Sweep", sweep_fields, SweepFields);
/* clang-format on */

char *
sweep_reference(void)
{
    GString *text = g_string_new(NULL);

    schema_reference(&spec_type, "spec", 2, text);
    return g_string_free(text, FALSE);
}

json_t *
sweep_schema(void)
{
    return schema_json_document(&sweep_type, "sweep");
}

/* ---- What single fields cannot tell ---- */

static void
spec_init(void *target)
{
    StudyFields *spec = target;

    spec->seed = 1;
    spec->common_random_numbers = TRUE;
    spec->confidence = 0.95;
    replications_init(&spec->replications);
}

static void
measure_init(void *target)
{
    ((MeasureFields *)target)->statistic = "mean";
}

static void
measure_check(SchemaReader *reader, const json_t *value, void *target)
{
    MeasureFields *fields = target;
    SweepMeasure parsed;

    fields->source = value;
    if ((fields->stage == NULL) == (fields->value == NULL) &&
        json_object_get(value, "stage") == NULL && json_object_get(value, "value") == NULL)
        schema_fault(reader, "such as stage: pod-start", "needs a stage or a value");
    else if (fields->stage != NULL && fields->value != NULL)
        schema_fault_member(reader, value, "value", NULL, "there is a stage already");
    if (!sweep_statistic_parse(fields->statistic, &parsed))
        schema_fault_member(reader, value, "statistic",
                            "mean, min, max, count, or such as p99 or <60s",
                            "\"%s\" is not known here", fields->statistic);
    else if (fields->value != NULL && json_object_get(value, "statistic") != NULL)
        schema_fault_member(reader, value, "statistic", NULL, "only a stage has statistics");
}

static void
replications_init(void *target)
{
    ReplicationFields *fields = target;

    fields->count = DEFAULT_REPLICATIONS;
}

static void
replications_check(SchemaReader *reader, const json_t *value, void *target)
{
    ReplicationFields *fields = target;

    if (fields->measure == NULL && json_object_get(value, "relativeWidth") != NULL)
        schema_fault_member(reader, value, "relativeWidth", "measure: which?",
                            "needs a measure beside it");
    if (fields->measure == NULL && json_object_get(value, "max") != NULL)
        schema_fault_member(reader, value, "max", "count is the number of runs",
                            "needs a measure beside it");
    if (fields->max != 0 && fields->max < fields->count)
        schema_fault_member(reader, value, "max", NULL, "%u is less than count, %u", fields->max,
                            fields->count);
    if (fields->measure != NULL && fields->count < 2)
        schema_fault_member(reader, value, "count", NULL,
                            "one run tells nothing about the width: at least 2");
}

/* 5, or {count: 5, ...}. */
static void
read_replications(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    ReplicationFields *fields = target;

    if (json_is_object(value)) {
        schema_read(reader, type->item, value, target);
        return;
    }
    replications_init(fields);
    schema_read(reader, &schema_count, value, &fields->count);
}

static json_t *
json_replications(const FileType *type)
{
    return json_pack("{s:[o, o]}", "anyOf", schema_json(&schema_count),
                     schema_json_struct(type->item));
}

static gboolean
read_end(SchemaReader *reader,
         const json_t *parameter,
         const char *member,
         const json_t *end,
         gboolean is_time,
         double *number)
{
    SimTime time;

    if (is_time && json_is_string(end) && sim_time_parse(json_string_value(end), &time, NULL) &&
        time >= 0) {
        *number = (double)time;
        return TRUE;
    }
    if (!is_time && json_is_number(end)) {
        *number = json_number_value(end);
        return TRUE;
    }
    schema_fault_member(reader, parameter, member, is_time ? "such as 1.5s" : NULL, "is not a %s",
                        is_time ? "duration" : "number");
    return FALSE;
}

static void
check_range(SchemaReader *reader, const json_t *value, ParameterFields *fields)
{
    if (fields->from == NULL || fields->to == NULL) {
        schema_fault(reader, "such as values: [1, 10, 100]", "needs values, or from and to");
        return;
    }
    fields->is_time = json_is_string(fields->from);
    fields->is_whole = json_is_integer(fields->from) && json_is_integer(fields->to);
    if (!read_end(reader, value, "from", fields->from, fields->is_time, &fields->low) ||
        !read_end(reader, value, "to", fields->to, fields->is_time, &fields->high))
        return;
    if (fields->low >= fields->high)
        schema_fault_member(reader, value, "to", NULL, "is not above from");
    if (fields->is_log && fields->low <= 0)
        schema_fault_member(reader, value, "from", NULL, "a logarithmic range begins above zero");
}

/* With paths, a value that is a list has one item for each path. */
static void
check_values(SchemaReader *reader, const json_t *value, ParameterFields *fields)
{
    SchemaPlace place = schema_enter_member(reader, value, "values");

    if (json_array_size(fields->values) == 0)
        schema_fault(reader, NULL, "there are no values");
    if (fields->labels != NULL && g_strv_length(fields->labels) != json_array_size(fields->values))
        schema_fault(reader, "one for each value", "%u labels for %zu values",
                     g_strv_length(fields->labels), json_array_size(fields->values));
    for (gsize i = 0; i < json_array_size(fields->values); i++) {
        const json_t *item = json_array_get(fields->values, i);
        SchemaPlace inner = schema_enter_item(reader, fields->values, i);
        if (fields->paths != NULL && json_is_array(item) &&
            json_array_size(item) != fields->n_paths)
            schema_fault(reader, "one for each path, or one for all", "%zu values for %u paths",
                         json_array_size(item), fields->n_paths);
        schema_leave(reader, inner);
    }
    schema_leave(reader, place);
}

static void
parameter_check(SchemaReader *reader, const json_t *value, void *target)
{
    ParameterFields *fields = target;

    fields->source = value;
    fields->n_paths = fields->paths != NULL ? g_strv_length(fields->paths) : 1;
    if (fields->path == NULL && fields->n_paths == (fields->paths == NULL ? 1 : 0))
        schema_fault(reader, "as in --set: spec.nodes[0].count", "needs a path");
    if (fields->path != NULL && fields->paths != NULL)
        schema_fault_member(reader, value, "paths", NULL, "there is a path already");
    fields->all_paths = schema_alloc(reader, (fields->n_paths + 1) * sizeof(char *));
    for (unsigned i = 0; i < fields->n_paths; i++)
        fields->all_paths[i] = fields->paths != NULL  ? fields->paths[i]
                               : fields->path != NULL ? fields->path
                                                      : "";
    if (fields->values == NULL)
        check_range(reader, value, fields);
    else if (fields->from != NULL || fields->to != NULL || fields->steps != 0)
        schema_fault_member(reader, value, "values", NULL, "a range has no values: leave one out");
    else
        check_values(reader, value, fields);
}

/* ---- The study as a whole ---- */

typedef struct {
    SweepFile *file;
    SchemaReader *reader;
    const json_t *spec; /* as in the file */
    const StudyFields *fields;
} Builder;

static void
fault_spec(const Builder *self, const char *member, const char *hint, const char *message)
{
    schema_fault_member(self->reader, self->spec, member, hint, "%s", message);
}

/* Of a member of one of the parameters or measures. */
static void
fault_item(const Builder *self,
           const char *list,
           unsigned i,
           const char *member,
           const char *hint,
           const char *message)
{
    const json_t *items = json_object_get(self->spec, list);
    SchemaPlace place = schema_enter_member(self->reader, self->spec, list);
    SchemaPlace inner = schema_enter_item(self->reader, items, i);

    schema_fault_member(self->reader, json_array_get(items, i), member, hint, "%s", message);
    schema_leave(self->reader, inner);
    schema_leave(self->reader, place);
}

static void
build_measures(Builder *self)
{
    const MeasureFields *fields = self->fields->measures.items;

    for (unsigned i = 0; i < self->fields->measures.n; i++) {
        SweepMeasure measure = {.name = fields[i].name, .unit = ""};
        measure.is_stage = fields[i].stage != NULL;
        if (measure.is_stage) {
            stage_find(fields[i].stage, &measure.stage);
            sweep_statistic_parse(fields[i].statistic, &measure);
        } else {
            while (fields[i].value != NULL &&
                   !g_str_equal(sweep_value_name(measure.value), fields[i].value))
                measure.value++;
            measure.unit = sweep_value_unit(measure.value);
        }
        for (unsigned k = 0; k < i; k++)
            if (g_str_equal(fields[k].name, fields[i].name))
                fault_item(self, "measures", i, "name", NULL, "a second measure of this name");
        sweep_file_add_measure(self->file, &measure);
    }
    if (self->fields->measures.n == 0)
        fault_spec(self, "measures", NULL, "there is nothing to measure");
}

static void
build_replications(Builder *self)
{
    const ReplicationFields *fields = &self->fields->replications;
    const json_t *source = json_object_get(self->spec, "replications");
    Sweep *sweep = &self->file->sweep;

    sweep->replications = (SweepReplications){
        .count = fields->count,
        .max = MAX(fields->max != 0 ? fields->max : DEFAULT_MAX, fields->count),
        .measure = -1,
        .relative_width = fields->relative_width > 0 ? fields->relative_width : 0.05,
    };
    if (fields->measure == NULL)
        return;
    for (unsigned i = 0; i < sweep->n_measures; i++)
        if (g_strcmp0(sweep->measures[i].name, fields->measure) == 0)
            sweep->replications.measure = (int)i;
    if (sweep->replications.measure >= 0)
        return;
    SchemaPlace place = schema_enter_member(self->reader, self->spec, "replications");
    schema_fault_member(self->reader, source, "measure", "one of spec.measures",
                        "there is no measure \"%s\"", fields->measure);
    schema_leave(self->reader, place);
}

/* Checks that the parameters fit the design. */
static gboolean
check_design(Builder *self)
{
    const ParameterFields *parameters = self->fields->parameters.items;
    unsigned n = self->fields->parameters.n;
    SweepDesign design = (SweepDesign)self->fields->design;
    gboolean is_drawn = design == DESIGN_RANDOM || design == DESIGN_LATIN_HYPERCUBE;
    guint n_before = self->reader->faults->len;

    if (is_drawn != (self->fields->samples > 0))
        fault_spec(self, "samples", NULL,
                   is_drawn ? "must tell how many points to draw"
                            : "only random and latin-hypercube designs have samples");
    for (unsigned i = 0; i < n; i++) {
        if (parameters[i].values == NULL && !is_drawn && parameters[i].steps == 0)
            fault_item(self, "parameters", i, "steps", "such as steps: 5",
                       "must tell how many values of the range");
        for (unsigned k = 0; k < i; k++)
            if (g_str_equal(parameters[i].name, parameters[k].name))
                fault_item(self, "parameters", i, "name", NULL, "a second parameter of this name");
        if (design == DESIGN_LIST && sweep_design_size(design, &parameters[i], 1, 0) !=
                                         sweep_design_size(design, &parameters[0], 1, 0))
            fault_item(self, "parameters", i, "values",
                       "the first values go together, then the second",
                       "in a list, all parameters must have as many values");
    }
    return self->reader->faults->len == n_before;
}

/* The value as YAML takes it; text keeps its quotes, so that "1.35" stays text. (owned) */
static char *
value_text(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    char *copy = g_strdup(text);

    free(text);
    return copy;
}

/* (owned) */
static char *
value_label(const json_t *value)
{
    char *text = schema_scalar_text(value);

    return text != NULL ? text : value_text(value);
}

static void
setting_place_free(void *data)
{
    g_free(((SettingPlace *)data)->path);
    g_free(data);
}

/* Adds "path=value", and remembers its place in the file. */
static void
add_setting(Builder *self,
            GPtrArray *set,
            const char *path,
            const json_t *value,
            const YamlPosition *at,
            const char *place)
{
    g_autofree char *text = value_text(value);
    char *setting = g_strdup_printf("%s=%s", path, text);

    g_ptr_array_add(set, setting);
    if (g_hash_table_contains(self->file->places, setting))
        return;
    SettingPlace *known = g_new(SettingPlace, 1);
    *known = (SettingPlace){*at, g_strdup(place)};
    g_hash_table_insert(self->file->places, g_strdup(setting), known);
}

/* Sets all paths of a parameter to its value at a point. Returns: (owned): the value's label */
static char *
add_parameter_settings(Builder *self, unsigned i, unsigned point, unsigned n_points, GPtrArray *set)
{
    const ParameterFields *all = self->fields->parameters.items;
    const ParameterFields *parameter = &all[i];
    int index;
    const json_t *value =
        sweep_design_value(self->file, (SweepDesign)self->fields->design, all,
                           self->fields->parameters.n, i, point, n_points, &index);
    YamlPosition at = self->reader->at;

    yaml_positions_find(self->reader->positions, parameter->source, &at);
    if (index >= 0)
        yaml_positions_item(self->reader->positions, parameter->values, (gsize)index, &at);
    g_autofree char *place = index >= 0
                                 ? g_strdup_printf("spec.parameters[%u].values[%d]", i, index)
                                 : g_strdup_printf("spec.parameters[%u]", i);
    for (unsigned k = 0; k < parameter->n_paths; k++) {
        const json_t *each =
            parameter->paths != NULL && json_is_array(value) ? json_array_get(value, k) : value;
        add_setting(self, set, parameter->all_paths[k], each, &at, place);
    }
    return index >= 0 && parameter->labels != NULL ? g_strdup(parameter->labels[index])
                                                   : value_label(value);
}

static void
add_fixed_settings(Builder *self, GPtrArray *set)
{
    const char *path;
    json_t *value;

    json_object_foreach((json_t *)self->fields->set, path, value) {
        YamlPosition at = self->reader->at;
        g_autofree char *place = g_strdup_printf("spec.set.%s", path);
        yaml_positions_member(self->reader->positions, self->fields->set, path, &at);
        add_setting(self, set, path, value, &at, place);
    }
}

static void
build_points(Builder *self)
{
    const ParameterFields *parameters = self->fields->parameters.items;
    unsigned n = self->fields->parameters.n;
    unsigned n_points =
        sweep_design_size((SweepDesign)self->fields->design, parameters, n, self->fields->samples);

    if (n_points == 0) {
        fault_spec(self, "parameters", NULL, "are more than a million combinations");
        return;
    }
    for (unsigned i = 0; i < n; i++)
        sweep_file_add_parameter(self->file, parameters[i].name,
                                 (const char *const *)parameters[i].all_paths);
    for (unsigned point = 0; point < n_points; point++) {
        g_autoptr(GPtrArray) set = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GPtrArray) labels = g_ptr_array_new_with_free_func(g_free);
        add_fixed_settings(self, set);
        for (unsigned i = 0; i < n; i++)
            g_ptr_array_add(labels, add_parameter_settings(self, i, point, n_points, set));
        g_ptr_array_add(set, NULL);
        g_ptr_array_add(labels, NULL);
        sweep_file_add_point(self->file, (const char *const *)set->pdata,
                             (const char *const *)labels->pdata);
    }
}

/* ---- The baseline ---- */

static gboolean
point_matches(const Builder *self, const SweepPoint *point)
{
    const Sweep *sweep = &self->file->sweep;

    for (unsigned i = 0; i < sweep->n_parameters; i++) {
        const json_t *wanted = json_object_get(self->fields->baseline, sweep->parameters[i].name);
        g_autofree char *label = wanted == NULL ? NULL : value_label(wanted);
        if (label != NULL && !g_str_equal(label, point->labels[i]))
            return FALSE;
    }
    return TRUE;
}

static void
check_baseline_names(Builder *self)
{
    const Sweep *sweep = &self->file->sweep;
    const char *name;
    json_t *value;

    SchemaPlace place = schema_enter_member(self->reader, self->spec, "baseline");
    json_object_foreach((json_t *)self->fields->baseline, name, value) {
        gboolean is_known = FALSE;
        for (unsigned i = 0; i < sweep->n_parameters; i++)
            is_known |= g_str_equal(sweep->parameters[i].name, name);
        if (!is_known)
            schema_fault_member(self->reader, self->fields->baseline, name, NULL,
                                "there is no such parameter");
    }
    schema_leave(self->reader, place);
}

static void
build_baseline(Builder *self)
{
    Sweep *sweep = &self->file->sweep;
    unsigned n_found = 0;

    if (self->fields->baseline == NULL)
        return;
    check_baseline_names(self);
    for (unsigned i = 0; i < sweep->n_points; i++)
        if (point_matches(self, &sweep->points[i]) && n_found++ == 0)
            sweep->baseline = (int)i;
    if (n_found != 1)
        fault_spec(self, "baseline", "a value for each parameter names one",
                   n_found == 0 ? "no point is so" : "more than one point is so");
}

static void
build(SweepFile *self, const char *data_dir, const json_t *document, const SweepFields *fields)
{
    Builder builder = {self, &self->reader, json_object_get(document, "spec"), &fields->spec};
    g_autofree char *folder = g_path_get_dirname(self->sweep.file);
    const char *scenario = fields->spec.scenario;
    Sweep *sweep = &self->sweep;

    if (!g_str_equal(fields->api_version, API_VERSION))
        schema_fault_member(&self->reader, document, "apiVersion", "it is " API_VERSION,
                            "\"%s\" is not known", fields->api_version);
    g_autofree char *path = input_scenario_path(folder, data_dir, scenario);
    sweep->name = fields->name;
    sweep->description = fields->spec.description;
    sweep->scenario_file = schema_intern(&self->reader, path);
    sweep->seed = (uint64_t)fields->spec.seed;
    sweep->independent = !fields->spec.common_random_numbers;
    sweep->warm_up = fields->spec.warm_up;
    sweep->batches = fields->spec.batches;
    sweep->confidence = fields->spec.confidence;

    SchemaPlace place = schema_enter_member(&self->reader, document, "spec");
    if (!input_is_below(path, folder) && !input_is_below(path, data_dir))
        fault_spec(&builder, "scenario", "put the sweep beside it, or above it",
                   "is outside of the sweep's folder");
    else if (!input_check_regular(path, NULL))
        fault_spec(&builder, "scenario", NULL, "is no regular file");
    if (sweep->confidence < 0.5 || sweep->confidence > 0.999)
        fault_spec(&builder, "confidence", NULL, "must be from 0.5 to 0.999");
    if (sweep->batches == 1)
        fault_spec(&builder, "batches", NULL, "one batch is the run: at least 2");
    build_measures(&builder);
    build_replications(&builder);
    if (check_design(&builder)) {
        build_points(&builder);
        build_baseline(&builder);
    }
    schema_leave(&self->reader, place);
}

/* ---- Loading ---- */

static gboolean
read_documents(SweepFile *self, const char *file, GPtrArray *faults)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    gsize length;

    if (packed_get_contents(file, &text, &length, &error))
        return yaml_read(self->positions, self->sweep.file, text, length, faults, self->documents);
    const char *why = strstr(error->message, ": ");
    schema_fault(&self->reader, NULL, "cannot be read: %s", why != NULL ? why + 2 : error->message);
    return FALSE;
}

static void
sweep_file_load(SweepFile *self, const char *file, const char *data_dir, GPtrArray *faults)
{
    SweepFields fields = {0};

    self->sweep.file = schema_intern(&self->reader, file);
    self->reader.at = (YamlPosition){self->sweep.file, 0, 0};
    if (!read_documents(self, file, faults))
        return;
    const json_t *document = self->documents->len > 0 ? self->documents->pdata[0] : NULL;
    const char *kind = json_path_string(document, "kind");
    if (self->documents->len != 1 || g_strcmp0(kind, "Sweep") != 0) {
        gboolean is_scenario = g_strcmp0(kind, "Scenario") == 0;
        schema_fault(&self->reader,
                     is_scenario ? "kvolsim run takes a scenario"
                                 : "apiVersion: " API_VERSION " and kind: Sweep",
                     "there must be one document of kind Sweep in this file");
        return;
    }
    yaml_positions_find(self->positions, document, &self->reader.at);
    schema_read(&self->reader, &sweep_type, document, &fields);
    if (faults->len == 0)
        build(self, data_dir, document, &fields);
}

gboolean
sweep_is_in_file(const char *file)
{
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autofree char *text = NULL;
    gboolean is_found = FALSE;
    gsize length;

    if (!packed_get_contents(file, &text, &length, NULL) ||
        memmem(text, length, "Sweep", 5) == NULL)
        return FALSE; /* a dump need not be read twice */
    yaml_read(positions, file, text, length, NULL, documents);
    for (unsigned i = 0; i < documents->len; i++)
        is_found |= g_strcmp0(json_path_string(documents->pdata[i], "kind"), "Sweep") == 0;
    return is_found;
}

Sweep *
sweep_load(const char *file, const char *data_dir, GPtrArray **faults)
{
    SweepFile *self = sweep_file_new();

    *faults = file_faults_new();
    self->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, setting_place_free);
    schema_reader_init(&self->reader, self->positions, *faults);
    sweep_file_load(self, file, data_dir, *faults);
    if ((*faults)->len == 0)
        sweep_finish(&self->sweep, data_dir, *faults);
    if ((*faults)->len == 0)
        return &self->sweep;
    sweep_free(&self->sweep);
    return NULL;
}
