/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "table.h"

#include <stdio.h>
#include <string.h>

/* From the latest of its causes to its end. "%p", "%c": the pod, the claim (and its volume). */
typedef struct {
    const char *name, *to, *from[2];
} Stage;

static const Stage stages[] = {
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
find_value(const Moments *moments, const Stage *stage, const GoldenPair *pair, double *value)
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

/* Over all runs, for the pairs of the first recorded run. Returns: whether there is any */
static gboolean
find_median(const GPtrArray *runs, const Stage *stage, const Moments *of, double *median)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
    double value;

    for (unsigned r = 0; r < runs->len; r++)
        for (unsigned k = 0; k < moments_n_pairs(of); k++)
            if (find_value(runs->pdata[r], stage, moments_pair(of, k), &value))
                g_array_append_val(values, value);
    if (values->len == 0)
        return FALSE;
    g_array_sort(values, by_value);
    *median = g_array_index(values, double, values->len / 2);
    return TRUE;
}

static void
print_seconds(double seconds)
{
    printf(seconds < 0.995 ? "%.2f" : seconds < 99.5 ? "%.3g" : "%.0f", seconds);
}

void
table_print_row(const char *folder,
                const GPtrArray *recorded,
                const GPtrArray *simulated,
                unsigned n_compared,
                unsigned n_missed)
{
    g_autofree char *name = g_path_get_basename(folder);
    double real, drawn;

    printf("| %s | %u | %u | %u |", name, recorded->len, n_compared, n_missed);
    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++) {
        if (find_median(recorded, &stages[i], recorded->pdata[0], &real) &&
            find_median(simulated, &stages[i], recorded->pdata[0], &drawn)) {
            printf(" ");
            print_seconds(real);
            printf(" ");
            print_seconds(drawn);
        }
        printf(" |");
    }
    printf("\n");
}
