/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: prints doubles */
#include "replay.h"
#include "run/measure/fit.h"
#include "sim/order.h"

#define POINTS_MAX 200 /* of a curve: more would cover each other */

/* ---- Timelines ---- */

static void
append_time(GString *text, SimTime at)
{
    if (at == TIME_UNSET)
        g_string_append(text, " NaN");
    else
        g_string_append_printf(text, " %.4f", (double)at / (double)SIM_SECOND);
}

/* When the last volume of each pod was attached. Returns: (owned): by object; TIME_UNSET: unknown
 */
static SimTime *
attached_times(const Replay *self, ReplaySide side)
{
    const GArray *values = replay_values(self, side);
    unsigned n = recorded_objects(replay_side(self, side))->len;
    SimTime *attached = g_new(SimTime, n + 1);

    for (unsigned i = 0; i < n; i++)
        attached[i] = TIME_UNSET;
    for (unsigned i = 0; i < values->len; i++) {
        const ReplayValue *value = &g_array_index(values, ReplayValue, i);
        if (value->stage == REPLAY_ATTACH)
            attached[value->object] = value->to;
    }
    return attached;
}

/* "recorded 3 shop/cache-0 created scheduled attached ready deleted gone" */
static void
append_pod(const Replay *self,
           ReplaySide side,
           const SimTime *attached,
           unsigned object,
           unsigned row,
           GString *text)
{
    const RecordedObject *pod = recorded_objects(replay_side(self, side))->pdata[object];
    const RecordedTime shown[] = {RECORDED_CREATED, RECORDED_SCHEDULED, N_RECORDED_TIMES,
                                  RECORDED_READY,   RECORDED_DELETED,   RECORDED_GONE};

    g_string_append_printf(text, "%d %u %s/%s", (int)side, row, pod->namespace, pod->name);
    for (unsigned i = 0; i < G_N_ELEMENTS(shown); i++)
        append_time(text, shown[i] == N_RECORDED_TIMES ? attached[object] : pod->at[shown[i]]);
    g_string_append_c(text, '\n');
}

static gboolean
starts(const RecordedObject *object)
{
    return object->kind == RECORDED_POD && object->at[RECORDED_CREATED] != TIME_UNSET;
}

static int
compare_created(const void *a, const void *b, void *data)
{
    const GPtrArray *objects = data;
    const RecordedObject *x = objects->pdata[*(const unsigned *)a],
                         *y = objects->pdata[*(const unsigned *)b];

    return ORDER(x->at[RECORDED_CREATED], y->at[RECORDED_CREATED]);
}

/* The pods that one side saw begin, in order of creation. Returns: (owned): of unsigned */
static GArray *
pods_of(const Recorded *side)
{
    const GPtrArray *objects = recorded_objects(side);
    GArray *pods = g_array_new(FALSE, FALSE, sizeof(unsigned));

    for (unsigned i = 0; i < objects->len; i++)
        if (starts(objects->pdata[i]))
            g_array_append_val(pods, i);
    g_array_sort_with_data(pods, compare_created, (void *)objects);
    return pods;
}

/* A row for each recorded pod and its match, then rows for the other simulated pods. */
static void
append_timelines(const Replay *self, GString *text)
{
    g_autofree SimTime *real_attached = attached_times(self, REPLAY_RECORDED);
    g_autofree SimTime *model_attached = attached_times(self, REPLAY_SIMULATED);
    g_autoptr(GArray) real = pods_of(replay_side(self, REPLAY_RECORDED));
    g_autoptr(GArray) model = pods_of(replay_side(self, REPLAY_SIMULATED));
    g_autoptr(GHashTable) drawn = g_hash_table_new(NULL, NULL);
    unsigned row = 0;

    for (unsigned i = 0; i < real->len; i++) {
        unsigned object = g_array_index(real, unsigned, i);
        unsigned match = replay_match_of(self, object);
        append_pod(self, REPLAY_RECORDED, real_attached, object, ++row, text);
        if (match == 0)
            continue;
        g_hash_table_add(drawn, GUINT_TO_POINTER(match));
        append_pod(self, REPLAY_SIMULATED, model_attached, match - 1, row, text);
    }
    for (unsigned i = 0; i < model->len; i++) {
        unsigned object = g_array_index(model, unsigned, i);
        if (!g_hash_table_contains(drawn, GUINT_TO_POINTER(object + 1)))
            append_pod(self, REPLAY_SIMULATED, model_attached, object, ++row, text);
    }
}

/* ---- Quantiles ---- */

static void
append_quantile_block(const ReplayRow *row, GString *text)
{
    const GArray *real = row->values[REPLAY_RECORDED], *model = row->values[REPLAY_SIMULATED];
    unsigned n = MIN(real->len, POINTS_MAX);

    g_string_append_printf(text, "\n\n%s %u %u %s\n", replay_stage_name(row->stage), row->n[0],
                           row->n[1], replay_verdict_word(row->verdict));
    for (unsigned i = 0; i < n; i++) {
        double q = (i + 0.5) / n;
        g_string_append_printf(text, "%.4f %.6f %.6f\n", q,
                               fit_quantile((const double *)real->data, real->len, q),
                               fit_quantile((const double *)model->data, model->len, q));
    }
}

char *
replay_plot_data(const Replay *self)
{
    GString *text =
        g_string_new("# side row pod created scheduled attached ready deleted gone; then "
                     "for each stage: q recorded simulated\n");

    append_timelines(self, text);
    for (unsigned i = 0; i < replay_rows(self)->len; i++) {
        const ReplayRow *row = replay_rows(self)->pdata[i];
        if (row->workload == NULL && row->n[REPLAY_RECORDED] > 0 && row->n[REPLAY_SIMULATED] > 0)
            append_quantile_block(row, text);
    }
    return g_string_free(text, FALSE);
}
