/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A study in memory, read from a file or made by a command: parameters, points, measures. All
 * points are checked before the first run: a fault of the scenario is moved to the setting that
 * causes it, and equal faults of many points are told once. The identity covers everything that
 * decides the content of a row, but not the number of rows: more replications may come later. */
#include <string.h>

#include "run/results/results.h"
#include "sweep-private.h"

SweepFile *
sweep_file_new(void)
{
    SweepFile *self = g_new0(SweepFile, 1);

    self->positions = yaml_positions_new();
    self->documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    self->made = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    self->parameters = g_array_new(FALSE, TRUE, sizeof(SweepParameter));
    self->points = g_array_new(FALSE, TRUE, sizeof(SweepPoint));
    self->measures = g_array_new(FALSE, TRUE, sizeof(SweepMeasure));
    self->sweep.seed = 1;
    self->sweep.confidence = 0.95;
    self->sweep.replications = (SweepReplications){.count = 1, .max = 1, .measure = -1};
    self->sweep.baseline = -1;
    return self;
}

void
sweep_free(Sweep *sweep)
{
    SweepFile *self = (SweepFile *)sweep;

    if (self == NULL)
        return;
    g_clear_pointer(&self->places, g_hash_table_unref);
    g_array_unref(self->parameters);
    g_array_unref(self->points);
    g_array_unref(self->measures);
    g_ptr_array_unref(self->made);
    schema_reader_clear(&self->reader);
    g_ptr_array_unref(self->documents);
    yaml_positions_free(self->positions);
    g_free(self);
}

/* Returns: (borrowed from @self): a copy */
static const char *const *
copy_strings(SweepFile *self, const char *const *strings)
{
    guint n = g_strv_length((char **)strings);
    const char **copy = schema_alloc(&self->reader, (n + 1) * sizeof *copy);

    for (guint i = 0; i < n; i++)
        copy[i] = schema_intern(&self->reader, strings[i]);
    return copy;
}

void
sweep_file_add_parameter(SweepFile *self, const char *name, const char *const *paths)
{
    SweepParameter parameter = {schema_intern(&self->reader, name), copy_strings(self, paths)};

    g_array_append_val(self->parameters, parameter);
    self->sweep.parameters = (SweepParameter *)self->parameters->data;
    self->sweep.n_parameters = self->parameters->len;
}

unsigned
sweep_file_add_point(SweepFile *self, const char *const *set, const char *const *labels)
{
    SweepPoint point = {.set = copy_strings(self, set), .labels = copy_strings(self, labels)};

    g_array_append_val(self->points, point);
    self->sweep.points = (SweepPoint *)self->points->data;
    self->sweep.n_points = self->points->len;
    return self->points->len - 1;
}

void
sweep_file_add_measure(SweepFile *self, const SweepMeasure *measure)
{
    g_array_append_vals(self->measures, measure, 1);
    self->sweep.measures = (SweepMeasure *)self->measures->data;
    self->sweep.n_measures = self->measures->len;
}

/* ---- Made by a command ---- */

Sweep *
sweep_new(const char *name, const char *scenario_file)
{
    SweepFile *self = sweep_file_new();

    schema_reader_init(&self->reader, self->positions, NULL);
    self->sweep.file = self->sweep.scenario_file = schema_intern(&self->reader, scenario_file);
    self->sweep.name = schema_intern(&self->reader, name);
    return &self->sweep;
}

void
sweep_add_parameter(Sweep *self, const char *name, const char *const *paths)
{
    sweep_file_add_parameter((SweepFile *)self, name, paths);
}

unsigned
sweep_add_point(Sweep *self, const char *const *set, const char *const *labels)
{
    return sweep_file_add_point((SweepFile *)self, set, labels);
}

void
sweep_add_stage(Sweep *sweep, const char *name, Stage stage, const char *statistic)
{
    SweepFile *self = (SweepFile *)sweep;
    SweepMeasure measure = {
        .name = schema_intern(&self->reader, name), .is_stage = TRUE, .stage = stage};

    if (!sweep_statistic_parse(statistic, &measure))
        g_assert_not_reached();
    sweep_file_add_measure(self, &measure);
}

void
sweep_add_value(Sweep *sweep, const char *name, SweepValueKind value)
{
    SweepFile *self = (SweepFile *)sweep;
    SweepMeasure measure = {.name = schema_intern(&self->reader, name),
                            .unit = sweep_value_unit(value),
                            .value = value};

    sweep_file_add_measure(self, &measure);
}

/* ---- Checked as a whole ---- */

#define FAULTS_MAX 50 /* a grid of a thousand points has the same fault a thousand times */

/* The setting that causes a fault: the fault names its path, or a place below it
 * ("spec.nods.count=3" makes spec.nods). Returns: NULL: the fault is in the scenario itself */
static const SettingPlace *
find_place(const SweepFile *self, const SweepPoint *point, const FileFault *fault)
{
    gsize length = strlen(fault->path);

    if (self->places == NULL)
        return NULL;
    if (g_str_has_prefix(fault->file, "--set "))
        return g_hash_table_lookup(self->places, fault->file + strlen("--set "));
    for (unsigned i = 0; length > 0 && point->set[i] != NULL; i++)
        if (strncmp(point->set[i], fault->path, length) == 0 &&
            strchr(".[=", point->set[i][length]) != NULL)
            return g_hash_table_lookup(self->places, point->set[i]);
    return NULL;
}

/* Reports a fault of the scenario's loader at the setting's place in the sweep. */
static void
move_fault(const SweepFile *self, const SweepPoint *point, FileFault *fault)
{
    const SettingPlace *place = find_place(self, point, fault);

    if (place == NULL)
        return;
    char *message = *fault->path == '\0' ? g_strdup(fault->message)
                                         : g_strdup_printf("%s: %s", fault->path, fault->message);
    g_free(fault->file);
    g_free(fault->path);
    g_free(fault->message);
    fault->file = g_strdup(place->at.file);
    fault->line = place->at.line;
    fault->column = place->at.column;
    fault->path = g_strdup(place->path);
    fault->message = message;
    if (g_strcmp0(fault->hint, "as in --set spec.nodes[0].count=10") == 0)
        g_clear_pointer(&fault->hint, g_free);
}

/* Adds the new faults. */
static void
keep_faults(const SweepFile *self,
            const SweepPoint *point,
            GPtrArray *found,
            GHashTable *known,
            GPtrArray *faults)
{
    for (unsigned i = 0; i < found->len; i++) {
        FileFault *fault = g_steal_pointer(&found->pdata[i]);
        move_fault(self, point, fault);
        if (g_hash_table_add(known, file_fault_text(fault)) && faults->len < FAULTS_MAX)
            g_ptr_array_add(faults, fault);
        else
            file_fault_free(fault);
    }
}

static void
check_points(SweepFile *self, const char *data_dir, GPtrArray *faults)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (unsigned i = 0; i < self->sweep.n_points && faults->len < FAULTS_MAX; i++) {
        SweepPoint *point = &self->sweep.points[i];
        const ScenarioOptions options = {
            .data_dir = data_dir, .set = point->set, .set_is_foreign = TRUE};
        g_autoptr(GPtrArray) found = NULL;
        g_autoptr(Scenario) scenario = scenario_load(self->sweep.scenario_file, &options, &found);
        keep_faults(self, point, found, known, faults);
        if (scenario != NULL)
            g_strlcpy(point->hash, scenario->hash, sizeof point->hash);
    }
}

static void
hash_text(GChecksum *checksum, const char *text)
{
    g_checksum_update(checksum, (const guchar *)text, (gssize)strlen(text) + 1);
}

static void
hash_number(GChecksum *checksum, int64_t number)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, number);

    hash_text(checksum, text);
}

/* The identity covers everything that decides the content of a row. The number of rows is not part
 * of it: more replications may come later. */
static void
identify(Sweep *self)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);

    hash_text(checksum, results_version());
    hash_number(checksum, (int64_t)self->seed);
    hash_number(checksum, self->independent);
    hash_number(checksum, self->warm_up);
    hash_number(checksum, self->batches);
    for (unsigned i = 0; i < self->n_parameters; i++)
        hash_text(checksum, self->parameters[i].name);
    for (unsigned i = 0; i < self->n_points; i++) {
        hash_text(checksum, self->points[i].hash);
        for (unsigned k = 0; k < self->n_parameters; k++)
            hash_text(checksum, self->points[i].labels[k]);
    }
    for (unsigned i = 0; i < self->n_measures; i++) {
        const SweepMeasure *measure = &self->measures[i];
        hash_text(checksum, measure->name);
        hash_number(checksum, measure->is_stage);
        hash_text(checksum, measure->is_stage ? stage_name(measure->stage)
                                              : sweep_value_name(measure->value));
        hash_number(checksum, measure->statistic);
        hash_number(checksum, (int64_t)(measure->quantile * 1e9 + 0.5));
        hash_number(checksum, measure->below);
    }
    g_strlcpy(self->identity, g_checksum_get_string(checksum), sizeof self->identity);
}

gboolean
sweep_finish(Sweep *sweep, const char *data_dir, GPtrArray *faults)
{
    SweepFile *self = (SweepFile *)sweep;

    check_points(self, data_dir, faults);
    if (faults->len > 0)
        return FALSE;
    identify(sweep);
    return TRUE;
}
