/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attribution.h"
#include "availability.h"

static json_t *
json_causes(const AvailabilityRow *row)
{
    json_t *causes = json_object();

    for (unsigned i = 0; i < N_AVAILABILITY_CAUSES; i++)
        if (row->missing[i] > 0)
            json_object_set_new(causes, availability_cause_name((AvailabilityCause)i),
                                json_real(availability_seconds(row->missing[i])));
    return causes;
}

json_t *
availability_json(const Availability *self)
{
    json_t *list = self->rows->len == 0 ? NULL : json_array();

    for (unsigned i = 0; i < self->rows->len; i++) {
        const AvailabilityRow *row = &g_array_index(self->rows, AvailabilityRow, i);
        json_array_append_new(
            list,
            json_pack(
                "{s:s, s:f, s:f, s:f, s:i, s:f, s:f, s:f, s:b, s:o}", "workload", row->name,
                "availability", availability_share(row), "desiredPodSeconds",
                availability_seconds(row->desired), "notReadyPodSeconds",
                availability_seconds(availability_missing(row)), "outages", (int)row->n_outages,
                "longestOutage", availability_seconds((PodTime)row->longest), "meanOutage",
                row->n_outages == 0 ? 0.0
                                    : availability_seconds((PodTime)row->down) / row->n_outages,
                "outageShare", row->measured == 0 ? 0.0 : (double)row->down / (double)row->measured,
                "started", row->n_started == row->n_runs, "causes", json_causes(row)));
    }
    return list;
}

static AvailabilityCause
main_cause(const AvailabilityRow *row)
{
    AvailabilityCause most = 0;

    for (unsigned i = 1; i < N_AVAILABILITY_CAUSES; i++)
        if (row->missing[i] > row->missing[most])
            most = (AvailabilityCause)i;
    return most;
}

#define TABLE_ROWS_MAX 10

static void
append_row(const AvailabilityRow *row, GString *text)
{
    char longest[32], mean[32], down[32];
    PodTime missing = availability_missing(row);
    AvailabilityCause cause = main_cause(row);

    g_string_append_printf(
        text, "%-28s %9.4f %% %10s %8u %10s %10s  %s, %.0f %%\n", row->name,
        100 * availability_share(row),
        short_time((SimTime)MIN(missing, (PodTime)G_MAXINT64), down, sizeof down), row->n_outages,
        short_time(row->longest, longest, sizeof longest),
        short_time(row->down / MAX(row->n_outages, 1), mean, sizeof mean),
        availability_cause_name(cause), 100 * (double)row->missing[cause] / (double)missing);
}

void
availability_append_table(const Availability *self, GString *text)
{
    unsigned n = 0, n_rows = 0;

    for (unsigned i = 0; i < self->rows->len; i++)
        n_rows += availability_missing(&g_array_index(self->rows, AvailabilityRow, i)) > 0;
    if (n_rows == 0)
        return;
    g_string_append_printf(text, "\n%-28s %11s %10s %8s %10s %10s  %s\n", "WORKLOAD", "AVAILABLE",
                           "NOT READY", "OUTAGES", "LONGEST", "MEAN", "MOSTLY");
    for (unsigned i = 0; i < self->rows->len && n < TABLE_ROWS_MAX; i++) {
        const AvailabilityRow *row = &g_array_index(self->rows, AvailabilityRow, i);
        if (availability_missing(row) == 0)
            continue;
        append_row(row, text);
        n++;
    }
    if (n < n_rows)
        g_string_append_printf(text, "and %u more workloads\n", n_rows - n);
}
