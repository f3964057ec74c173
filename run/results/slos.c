/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Service level objectives: the share of a group's objects that passed a stage in time, or the
 * availability of workloads. Groups are chosen by namespace and by the labels that a pod had at its
 * creation. An object that never got there counts as infinitely late, unless its time was not over
 * at the end of the run. */
#include "slos.h"

#include <string.h>

#include "attribution.h"
#include "run/scenario/labels.h"

/* The times of one slo's stage, of its objects alone. */
typedef struct {
    SimSample values; /* with SIM_TIME_MAX for objects that never got there */
    unsigned n_never;
} Judged;

struct Slos {
    const Scenario *scenario;
    Judged *judged; /* one for each slo */
};

Slos *
slos_new(const Scenario *scenario)
{
    Slos *self = g_new0(Slos, 1);

    self->scenario = scenario;
    self->judged = g_new0(Judged, scenario->n_slos + 1);
    for (unsigned i = 0; i < scenario->n_slos; i++)
        sim_sample_init(&self->judged[i].values);
    return self;
}

void
slos_free(Slos *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->scenario->n_slos; i++)
        sim_sample_clear(&self->judged[i].values);
    g_free(self->judged);
    g_free(self);
}

/* ---- Groups of objects ---- */

/* Returns: (nullable) (borrowed): the labels of a pod at its creation */
static const StringMap *
slos_labels_of(const Run *run, const ObjectKey *pod, unsigned incarnation)
{
    const PodRecord *record = milestones_find_pod(run_milestones(run), pod, incarnation);

    return record == NULL ? NULL : record->labels;
}

static gboolean
is_of_group(const ScenarioSlo *slo, const Run *run, const ObjectKey *object, unsigned incarnation)
{
    if (slo->name != NULL && !g_pattern_match_simple(slo->name, object->name))
        return FALSE;
    if (slo->namespace != NULL && strcmp(slo->namespace, object->namespace) != 0)
        return FALSE;
    return slo->labels == NULL ||
           labels_match(slo->labels, slos_labels_of(run, object, incarnation));
}

static gboolean
has_group(const ScenarioSlo *slo)
{
    return slo->name != NULL || slo->namespace != NULL || slo->labels != NULL;
}

static void
add_stage(Judged *judged, const ScenarioSlo *slo, Stage stage, const Run *run, const Stages *stages)
{
    const GArray *values = stages->samples[stage].values;
    const GArray *records = has_group(slo) ? stages_records(stages) : NULL;

    for (unsigned i = 0; records == NULL && i < values->len; i++)
        sim_sample_add(&judged->values, g_array_index(values, SimTime, i));
    for (unsigned i = 0; records != NULL && i < records->len; i++) {
        const StageRecord *record = &g_array_index(records, StageRecord, i);
        if (record->stage == stage && is_of_group(slo, run, record->object, record->incarnation))
            sim_sample_add(&judged->values, record->to - record->from);
    }
    for (unsigned i = 0; i < stages->unfinished[stage]->len; i++) {
        const Unfinished *object = &g_array_index(stages->unfinished[stage], Unfinished, i);
        if (object->until - object->from < slo->below ||
            !is_of_group(slo, run, object->object, object->incarnation))
            continue; /* it may still have come in time */
        sim_sample_add(&judged->values, SIM_TIME_MAX);
        judged->n_never++;
    }
}

void
slos_add(Slos *self, const Run *run, const Stages *stages)
{
    for (unsigned i = 0; i < self->scenario->n_slos; i++) {
        const ScenarioSlo *slo = &self->scenario->slos[i];
        Stage stage;
        if (slo->stage != NULL && stage_find(slo->stage, &stage))
            add_stage(&self->judged[i], slo, stage, run, stages);
    }
}

/* ---- The judgement ---- */

static SloResult
judge_workloads(const ScenarioSlo *slo, const Availability *availability)
{
    SloResult result = {.slo = slo, .share = 1};

    for (unsigned i = 0; i < availability->rows->len; i++) {
        const AvailabilityRow *row = &g_array_index(availability->rows, AvailabilityRow, i);
        if (!g_pattern_match_simple(slo->availability, row->name))
            continue;
        if (result.worst == NULL || availability_share(row) < result.share) {
            result.worst = row->name;
            result.share = availability_share(row);
        }
    }
    result.is_met = result.worst != NULL && result.share >= slo->at_least;
    return result;
}

static SloResult
slos_judge(Slos *self, unsigned i, const Availability *availability)
{
    const ScenarioSlo *slo = &self->scenario->slos[i];
    Judged *judged = &self->judged[i];
    SloResult result = {.slo = slo};

    if (slo->availability != NULL)
        return judge_workloads(slo, availability);
    result.count = sim_sample_count(&judged->values);
    result.n_never = judged->n_never;
    result.value = sim_sample_quantile(&judged->values, slo->quantile);
    result.is_met = result.count > 0 && result.value < slo->below;
    return result;
}

gboolean
slos_are_met(Slos *self, const Availability *availability)
{
    for (unsigned i = 0; i < self->scenario->n_slos; i++)
        if (!slos_judge(self, i, availability).is_met)
            return FALSE;
    return TRUE;
}

/* ---- Printing ---- */

static json_t *
json_of_stage(const SloResult *result)
{
    const ScenarioSlo *slo = result->slo;
    gboolean has_value = result->count > 0 && result->value != SIM_TIME_MAX;

    return json_pack("{s:s, s:s*, s:s*, s:s*, s:f, s:f, s:o, s:i, s:i, s:b}", "stage", slo->stage,
                     "name", slo->name, "namespace", slo->namespace, "labels", slo->labels,
                     "quantile", slo->quantile, "below", report_seconds(slo->below), "value",
                     has_value ? json_real(report_seconds(result->value)) : json_null(), "count",
                     (int)result->count, "never", (int)result->n_never, "met", result->is_met);
}

static json_t *
json_of_workload(const SloResult *result)
{
    return json_pack("{s:s, s:f, s:s*, s:o, s:b}", "availability", result->slo->availability,
                     "atLeast", result->slo->at_least, "workload", result->worst, "value",
                     result->worst == NULL ? json_null() : json_real(result->share), "met",
                     result->is_met);
}

json_t *
slos_json(Slos *self, const Availability *availability)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < self->scenario->n_slos; i++) {
        SloResult result = slos_judge(self, i, availability);
        json_array_append_new(list, result.slo->stage != NULL ? json_of_stage(&result)
                                                              : json_of_workload(&result));
    }
    return list;
}

static void
append_stage(GString *text, const SloResult *result)
{
    const ScenarioSlo *slo = result->slo;
    char buffer[32];

    g_string_append_printf(text, "p%g of %s", slo->quantile * 100, slo->stage);
    if (has_group(slo))
        g_string_append_printf(
            text, " (%s%s%s%s%s)", slo->name != NULL ? slo->name : "objects",
            slo->namespace != NULL ? " in " : "", slo->namespace != NULL ? slo->namespace : "",
            slo->labels != NULL ? " with " : "", slo->labels != NULL ? slo->labels : "");
    g_string_append_printf(text, " below %s: ", short_time(slo->below, buffer, sizeof buffer));
    if (result->count == 0) {
        g_string_append(text, "no such stage was seen\n");
        return;
    }
    g_string_append(text, result->value == SIM_TIME_MAX
                              ? "never"
                              : short_time(result->value, buffer, sizeof buffer));
    g_string_append_printf(text, " of %u", result->count);
    if (result->n_never > 0)
        g_string_append_printf(text, ", %u of which never got there", result->n_never);
    g_string_append(text, "\n");
}

static void
append_workload(GString *text, const SloResult *result)
{
    g_string_append_printf(text, "availability of %s at least %g %%: ", result->slo->availability,
                           100 * result->slo->at_least);
    if (result->worst == NULL)
        g_string_append(text, "there is no such workload\n");
    else if (strcmp(result->worst, result->slo->availability) == 0)
        g_string_append_printf(text, "%.6g %%\n", 100 * result->share);
    else
        g_string_append_printf(text, "%.6g %%, %s\n", 100 * result->share, result->worst);
}

void
slos_append(Slos *self, const Availability *availability, GString *text)
{
    for (unsigned i = 0; i < self->scenario->n_slos; i++) {
        SloResult result = slos_judge(self, i, availability);
        g_string_append_printf(text, "slo     %s  ", result.is_met ? "met    " : "NOT MET");
        if (result.slo->stage != NULL)
            append_stage(text, &result);
        else
            append_workload(text, &result);
    }
}
