/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "table.h"

#include <stdio.h>
#include <string.h>

/* From the latest of its causes to its end. "%p", "%c": the pod, the claim (and its volume). */
typedef struct {
    const char *name, *to, *from[2];
} TableStage;

static const TableStage stages[] = {
    {"provision", "volume %c created",   {"claim %c provisioner-asked", NULL}                        },
    {"bind",      "claim %c bound",      {"claim %c created", NULL}                                  },
    {"schedule",  "pod %p scheduled",    {"pod %p created", NULL}                                    },
    {"attach",    "volume %c attached",  {"pod %p scheduled", NULL}                                  },
    {"stage",     "volume %c staged",    {"volume %c reported-attached", "volume %c reported-in-use"}},
    {"publish",   "volume %c published", {"volume %c staged", NULL}                                  },
    {"start",     "pod %p ready",        {"volume %c published", NULL}                               },
    {"pod start", "pod %p ready",        {"pod %p created", NULL}                                    },
    {"pod end",   "pod %p gone",         {"pod %p deleted", NULL}                                    },
    {"detach",    "volume %c detached",  {"volume %c unstaged", "pod %p gone"}                       },
    {"delete",    "volume %c gone",      {"claim %c deleted", "volume %c detached"}                  },
};

struct Table {
    const Moments *recorded; /* of the run that is compared */
    unsigned n_runs;
    GArray *real[G_N_ELEMENTS(stages)]; /* of double: over all runs */
    GArray *drawn[G_N_ELEMENTS(stages)];
};

Table *
table_new(void)
{
    Table *self = g_new0(Table, 1);

    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++) {
        self->real[i] = g_array_new(FALSE, FALSE, sizeof(double));
        self->drawn[i] = g_array_new(FALSE, FALSE, sizeof(double));
    }
    return self;
}

void
table_free(Table *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++) {
        g_array_unref(self->real[i]);
        g_array_unref(self->drawn[i]);
    }
    g_free(self);
}

void
table_print_head(void)
{
    printf("| Recording | Runs | Compared | Missed |");
    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++)
        printf(" %s |", stages[i].name);
    printf("\n|---|---|---|---|");
    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++)
        printf("---|");
    printf("\n");
}

static gboolean
find_moment(const Moments *moments, const char *pattern, const GoldenPair *pair, double *at)
{
    g_autoptr(GString) name = g_string_new(pattern);

    g_string_replace(name, "%p", pair->pod == NULL ? "-" : pair->pod, 0);
    g_string_replace(name, "%c", pair->claim == NULL ? "-" : pair->claim, 0);
    return moments_find(moments, name->str, at);
}

static gboolean
find_value(const Moments *moments, const TableStage *stage, const GoldenPair *pair, double *value)
{
    double to, from, latest = -1;

    if (!find_moment(moments, stage->to, pair, &to))
        return FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(stage->from) && stage->from[i] != NULL; i++)
        if (find_moment(moments, stage->from[i], pair, &from))
            latest = MAX(latest, from);
    *value = to - latest;
    return latest >= 0;
}

static int
by_value(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return first < second ? -1 : first > second;
}

static void
add_values(const Table *self, const Moments *moments, GArray *const *values)
{
    double value;

    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++)
        for (unsigned k = 0; k < moments_n_pairs(self->recorded); k++)
            if (find_value(moments, &stages[i], moments_pair(self->recorded, k), &value))
                g_array_append_val(values[i], value);
}

void
table_add_recorded(Table *self, const Moments *recorded)
{
    self->recorded = recorded;
    self->n_runs++;
    add_values(self, recorded, self->real);
}

void
table_add_simulated(Table *self, const Moments *simulated)
{
    add_values(self, simulated, self->drawn);
}

static void
print_median(GArray *values)
{
    g_array_sort(values, by_value);
    double seconds = g_array_index(values, double, values->len / 2);
    printf(seconds < 0.995 ? " %.2f" : seconds < 99.5 ? " %.3g" : " %.0f", seconds);
}

void
table_print_row(const Table *self, const char *name, unsigned n_compared, unsigned n_missed)
{
    printf("| %s | %u | %u | %u |", name, self->n_runs, n_compared, n_missed);
    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++) {
        if (self->real[i]->len > 0 && self->drawn[i]->len > 0) {
            print_median(self->real[i]);
            print_median(self->drawn[i]);
        }
        printf(" |");
    }
    printf("\n");
}
