/* SPDX-License-Identifier: GPL-3.0-or-later */

/* golden DIR...: replays recordings of a real control plane and compares. A folder holds
 * scenario.yaml, the neutral timeline, and run1, run2, ... with what was seen. Each recorded value
 * must lie within what --seeds simulated runs produce, 20 ms wider (TIM-60); each count of requests
 * and calls within the simulated range; of a burst, each client's k-th request and Event within the
 * simulated k-th, a token wider (TIM-80). */
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorded.h"
#include "simulated.h"
#include "table.h"

#define TOLERANCE_S 0.020     /* TIM-60 */
#define CURVE_TOLERANCE_S 0.2 /* TIM-80: a token of the sidecars' clients */
#define CURVE_MIN 20          /* fewer are no burst: values cover them */
/* If so many runs all took two steps in the other order, that is no chance. */
#define ORDER_MIN 20

typedef struct {
    int n_seeds;
    int n_more;          /* seeds to add where a value is missed; 0: none */
    gboolean is_verbose; /* prints matching values, too */
    gboolean is_quiet;
    gboolean is_table; /* a row of the table in docs/fidelity.md for each folder */
    unsigned n_passed, n_failed, n_skipped;
} Golden;

/* A value: the time from the last of its causes to a moment. Scopes: pod, claim, and the claim's
 * volume. */
typedef struct {
    const char *name;
    const char *to;
    const char *from[2];
} ValueRule;

/* "%p", "%c", "%v": the pod, the claim, the claim's volume. */
static const ValueRule value_rules[] = {
    {"claim -> selected node",                "claim %c selected-node",      {"pod %p created", "claim %c created"}                      },
    {"selected node -> provisioner asked",
     "claim %c provisioner-asked",                                           {"claim %c selected-node", "claim %c created"}              },
    {"asked -> CreateVolume",                 "volume %c provision-started", {"claim %c provisioner-asked", NULL}                        },
    {"CreateVolume",                          "volume %c provision-ended",   {"volume %c provision-started", NULL}                       },
    {"CreateVolume -> PV",                    "volume %c created",           {"volume %c provision-ended", NULL}                         },
    {"PV -> PV Bound",                        "volume %c bound",             {"volume %c created", NULL}                                 },
    {"PV Bound -> claim Bound",               "claim %c bound",              {"volume %c bound", NULL}                                   },
    {"pod -> scheduled",                      "pod %p scheduled",            {"pod %p created", NULL}                                    },
    {"claim Bound -> scheduled",              "pod %p scheduled",            {"claim %c bound", "pod %p created"}                        },
    {"scheduled -> VolumeAttachment",         "volume %c attach-requested",  {"pod %p scheduled", NULL}                                  },
    {"VolumeAttachment -> ControllerPublish",
     "volume %c attach-started",                                             {"volume %c attach-requested", NULL}                        },
    {"ControllerPublish",                     "volume %c attach-ended",      {"volume %c attach-started", NULL}                          },
    {"ControllerPublish -> attached",         "volume %c attached",          {"volume %c attach-ended", NULL}                            },
    {"attached -> volumesAttached",           "volume %c reported-attached", {"volume %c attached", NULL}                                },
    {"scheduled -> volumesInUse",             "volume %c reported-in-use",   {"pod %p scheduled", NULL}                                  },
    {"both lists -> NodeStage",
     "volume %c stage-started",                                              {"volume %c reported-attached", "volume %c reported-in-use"}},
    {"NodeStage",                             "volume %c staged",            {"volume %c stage-started", NULL}                           },
    {"NodeStage -> NodePublish",              "volume %c publish-started",   {"volume %c staged", NULL}                                  },
    {"NodePublish",                           "volume %c published",         {"volume %c publish-started", NULL}                         },
    {"NodePublish -> Ready",                  "pod %p ready",                {"volume %c published", NULL}                               },
    {"pod start",                             "pod %p ready",                {"pod %p created", NULL}                                    },
    {"pod deleted -> NodeUnpublish",          "volume %c unpublish-started", {"pod %p deleted", NULL}                                    },
    {"NodeUnpublish",                         "volume %c unpublished",       {"volume %c unpublish-started", NULL}                       },
    {"NodeUnpublish -> NodeUnstage",          "volume %c unstage-started",   {"volume %c unpublished", NULL}                             },
    {"NodeUnstage",                           "volume %c unstaged",          {"volume %c unstage-started", NULL}                         },
    {"pod deleted -> gone",                   "pod %p gone",                 {"pod %p deleted", NULL}                                    },
    {"NodeUnstage -> volumesInUse dropped",
     "volume %c reported-not-in-use",                                        {"volume %c unstaged", NULL}                                },
    {"dropped -> volumesAttached dropped",
     "volume %c reported-detached",                                          {"volume %c reported-not-in-use", NULL}                     },
    {"dropped -> VolumeAttachment deleted",
     "volume %c detach-requested",                                           {"volume %c reported-detached", NULL}                       },
    {"deleted -> ControllerUnpublish",
     "volume %c detach-started",                                             {"volume %c detach-requested", NULL}                        },
    {"ControllerUnpublish",                   "volume %c detach-ended",      {"volume %c detach-started", NULL}                          },
    {"ControllerUnpublish -> detached",       "volume %c detached",          {"volume %c detach-ended", NULL}                            },
    {"grown request -> ControllerExpand",
     "volume %c expand-started",                                             {"claim %c expansion-asked", NULL}                          },
    {"ControllerExpand",                      "volume %c expand-ended",      {"volume %c expand-started", NULL}                          },
    {"ControllerExpand -> PV grown",          "volume %c grown",             {"volume %c expand-ended", NULL}                            },
    {"PV grown -> node awaited",              "claim %c node-awaited",       {"volume %c grown", NULL}                                   },
    {"node awaited -> NodeExpand",
     "volume %c node-expand-started",                                        {"claim %c node-awaited", NULL}                             },
    {"NodeExpand",                            "volume %c node-expanded",     {"volume %c node-expand-started", NULL}                     },
    {"NodeExpand -> claim expanded",          "claim %c expanded",           {"volume %c node-expanded", NULL}                           },
    {"claim deleted -> gone",                 "claim %c gone",               {"claim %c deleted", NULL}                                  },
    {"claim gone -> Released",                "volume %c released",          {"claim %c gone", NULL}                                     },
    {"Released -> DeleteVolume",              "volume %c delete-started",    {"volume %c released", NULL}                                },
    {"DeleteVolume",                          "volume %c delete-ended",      {"volume %c delete-started", NULL}                          },
    {"DeleteVolume -> PV deleted",            "volume %c deleted",           {"volume %c delete-ended", NULL}                            },
    {"PV deleted -> gone",                    "volume %c gone",              {"volume %c deleted", NULL}                                 },
};

static char *
fill(const char *pattern, const GoldenPair *pair)
{
    GString *text = g_string_new(pattern);

    g_string_replace(text, "%p", pair->pod == NULL ? "-" : pair->pod, 0);
    g_string_replace(text, "%c", pair->claim == NULL ? "-" : pair->claim, 0);
    return g_string_free(text, FALSE);
}

static gboolean
moment_of(const Moments *moments, const char *pattern, const GoldenPair *pair, double *at)
{
    g_autofree char *name = fill(pattern, pair);

    return moments_find(moments, name, at);
}

/* Returns: FALSE if one end was not seen */
static gboolean
value_of(const Moments *moments, const ValueRule *rule, const GoldenPair *pair, double *value)
{
    double to, from, latest = -1;

    if (!moment_of(moments, rule->to, pair, &to))
        return FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(rule->from) && rule->from[i] != NULL; i++)
        if (moment_of(moments, rule->from[i], pair, &from))
            latest = MAX(latest, from);
    if (latest < 0)
        return FALSE;
    *value = to - latest;
    return TRUE;
}

typedef struct {
    double min, max;
    unsigned n;
} Range;

static void
range_add(Range *range, double value)
{
    range->min = range->n == 0 ? value : MIN(range->min, value);
    range->max = range->n == 0 ? value : MAX(range->max, value);
    range->n++;
}

static void
judge(Golden *self,
      const char *run,
      const char *what,
      const char *of,
      double value,
      const Range *range,
      double tolerance,
      const char *unit)
{
    gboolean is_good =
        range->n > 0 && value >= range->min - tolerance && value <= range->max + tolerance;

    if (is_good)
        self->n_passed++;
    else
        self->n_failed++;
    if (self->is_quiet || (is_good && !self->is_verbose))
        return;
    printf("  %s %-5s %-38s %-24s recorded %9.3f%s, simulated ", is_good ? "ok  " : "FAIL", run,
           what, of, value, unit);
    if (range->n == 0)
        printf("never\n");
    else
        printf("%9.3f .. %9.3f%s\n", range->min, range->max, unit);
}

static void
compare_values(Golden *self, const char *name, const Moments *recorded, GPtrArray *simulated)
{
    for (unsigned k = 0; k < moments_n_pairs(recorded); k++) {
        const GoldenPair *pair = moments_pair(recorded, k);
        g_autofree char *of = g_strdup_printf("%s/%s", pair->pod == NULL ? "-" : pair->pod,
                                              pair->claim == NULL ? "-" : pair->claim);
        for (unsigned i = 0; i < G_N_ELEMENTS(value_rules); i++) {
            double value, drawn;
            Range range = {0};
            if (!value_of(recorded, &value_rules[i], pair, &value))
                continue;
            for (unsigned s = 0; s < simulated->len; s++)
                if (value_of(simulated->pdata[s], &value_rules[i], pair, &drawn))
                    range_add(&range, drawn);
            judge(self, name, value_rules[i].name, of, value, &range, TOLERANCE_S, " s");
        }
    }
}

static void
compare_counts(Golden *self, const char *name, const Moments *recorded, GPtrArray *simulated)
{
    g_autoptr(GPtrArray) kinds = moments_counted(recorded);

    for (unsigned s = 0; s < simulated->len; s++) {
        g_autoptr(GPtrArray) more = moments_counted(simulated->pdata[s]);
        for (unsigned i = 0; i < more->len; i++)
            if (!g_ptr_array_find_with_equal_func(kinds, more->pdata[i], g_str_equal, NULL))
                g_ptr_array_add(kinds, g_strdup(more->pdata[i]));
    }
    for (unsigned i = 0; i < kinds->len; i++) {
        Range range = {0};
        for (unsigned s = 0; s < simulated->len; s++)
            range_add(&range, moments_count(simulated->pdata[s], kinds->pdata[i]));
        judge(self, name, "count", kinds->pdata[i], moments_count(recorded, kinds->pdata[i]),
              &range, 0, "");
    }
}

/* Returns: the distance of @at, the k-th recorded instant, from the range of the simulated k-th
 * instants */
static double
off_curves(const char *name, unsigned k, double at, const GPtrArray *simulated)
{
    Range range = {0};
    unsigned n;

    for (unsigned s = 0; s < simulated->len; s++) {
        const double *drawn = curves_find(moments_curves(simulated->pdata[s]), name, &n);
        if (k < n)
            range_add(&range, drawn[k]);
    }
    return range.n == 0 ? 0 : MAX(range.min - at, at - range.max);
}

/* Returns: the largest distance of the nearest simulated curve from the recorded one, over common
 * instants */
static double
nearest_curve(const char *name, const double *at, unsigned n_at, const GPtrArray *simulated)
{
    double nearest = G_MAXDOUBLE;
    unsigned n;

    for (unsigned s = 0; s < simulated->len; s++) {
        const double *drawn = curves_find(moments_curves(simulated->pdata[s]), name, &n);
        double farthest = 0;
        for (unsigned k = 0; k < MIN(n, n_at); k++)
            farthest = MAX(farthest, ABS(drawn[k] - at[k]));
        nearest = MIN(nearest, farthest);
    }
    return nearest;
}

/* Whether the curve depends on a token bucket in a burst (TIM-70 to TIM-74); other curves follow
 * loops with phases. */
static gboolean
is_throttled(const char *name)
{
    static const char *const clients[] = {
        "csi-",
        "kcm/persistent-volume-binder",
        "events csi",
        "events persistentvolume-controller",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(clients); i++)
        if (g_str_has_prefix(name, clients[i]))
            return TRUE;
    return FALSE;
}

static void
compare_curve(
    Golden *self, const char *run, const char *name, const Moments *recorded, GPtrArray *simulated)
{
    unsigned n, worst = 0;
    const double *at = curves_find(moments_curves(recorded), name, &n);
    double off = 0;

    for (unsigned k = 0; k < n; k++) {
        double more = off_curves(name, k, at[k], simulated);
        if (more > off) {
            off = more;
            worst = k;
        }
    }
    gboolean is_good = off <= CURVE_TOLERANCE_S;
    if (is_good)
        self->n_passed++;
    else
        self->n_failed++;
    if (self->is_quiet || (is_good && !self->is_verbose))
        return;
    printf("  %s %-5s curve of %u: %s: at most %.3f s outside, the %u. at %.3f s; the nearest run "
           "is within %.3f s\n",
           is_good ? "ok  " : "FAIL", run, n, name, off, worst + 1, at[worst],
           nearest_curve(name, at, n, simulated));
}

static void
compare_curves(Golden *self, const char *run, const Moments *recorded, GPtrArray *simulated)
{
    g_autoptr(GPtrArray) names = curves_names(moments_curves(recorded));

    for (unsigned i = 0; i < names->len; i++) {
        unsigned n;
        curves_find(moments_curves(recorded), names->pdata[i], &n);
        if (n >= CURVE_MIN && is_throttled(names->pdata[i]))
            compare_curve(self, run, names->pdata[i], recorded, simulated);
    }
}

/* Where rules fix an order, no run has another: a pair that no simulated run has in this order is a
 * fault. */
static void
judge_order(Golden *self, const char *run, const char *pod, const char *claim, const GArray *pairs)
{
    gboolean is_good = TRUE;

    for (unsigned i = 0; i < pairs->len; i++) {
        const OrderPair *pair = &g_array_index(pairs, OrderPair, i);
        if (pair->n_same > 0 || pair->n_both < ORDER_MIN)
            continue;
        is_good = FALSE;
        if (!self->is_quiet)
            printf("  FAIL %-5s order of %s, %s: recorded %s (%u.) at %.3f s before %s (%u.) at "
                   "%.3f s, in %u simulated runs always after\n",
                   run, pod, claim, pair->first.what, pair->first.nth, pair->first.at,
                   pair->then.what, pair->then.nth, pair->then.at, pair->n_both);
    }
    if (is_good)
        self->n_passed++;
    else
        self->n_failed++;
}

static void
steps_free(void *steps)
{
    g_array_unref(steps);
}

/* The writes and calls about a pod and its claim, in order. */
static void
compare_orders(Golden *self, const char *run, const Moments *recorded, GPtrArray *simulated)
{
    for (unsigned k = 0; k < moments_n_pairs(recorded); k++) {
        g_autofree char *pod = fill("pod %p", moments_pair(recorded, k));
        g_autofree char *claim = fill("claim %c", moments_pair(recorded, k));
        g_autofree char *volume = fill("volume %c", moments_pair(recorded, k));
        const char *const objects[] = {pod, claim, volume, NULL};
        g_autoptr(GArray) steps = orders_of(moments_orders(recorded), objects);
        g_autoptr(GPtrArray) drawn = g_ptr_array_new_with_free_func(steps_free);
        for (unsigned s = 0; s < simulated->len; s++)
            g_ptr_array_add(drawn, orders_of(moments_orders(simulated->pdata[s]), objects));
        g_autoptr(GArray) pairs = orders_compare(steps, drawn);
        judge_order(self, run, pod, claim, pairs);
    }
}

static GPtrArray *
simulate(const Golden *self, const Scenario *scenario, const Words *words)
{
    GPtrArray *all = g_ptr_array_new_with_free_func((GDestroyNotify)moments_free);

    for (int seed = 1; seed <= self->n_seeds; seed++) {
        g_autoptr(GError) error = NULL;
        Moments *moments = simulated_moments(scenario, (uint64_t)seed, words, &error);
        if (moments == NULL) {
            printf("  %s\n", error->message);
            break;
        }
        g_ptr_array_add(all, moments);
    }
    return all;
}

static void
compare_run(Golden *self, const char *name, const Moments *recorded, GPtrArray *simulated)
{
    compare_values(self, name, recorded, simulated);
    compare_counts(self, name, recorded, simulated);
    compare_curves(self, name, recorded, simulated);
    compare_orders(self, name, recorded, simulated);
}

/* Returns: (owned): the recorded runs (Moments); prints why others cannot be read */
static GPtrArray *
read_runs(Golden *self, const char *folder, const Words *words)
{
    GPtrArray *runs = g_ptr_array_new_with_free_func((GDestroyNotify)moments_free);

    for (unsigned i = 1;; i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *name = g_strdup_printf("run%u", i);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (!g_file_test(path, G_FILE_TEST_IS_DIR))
            break;
        Moments *recorded = recorded_moments(path, words, &error);
        if (recorded != NULL) {
            g_ptr_array_add(runs, recorded);
            continue;
        }
        printf("  FAIL %s: %s\n", path, error->message);
        self->n_failed++;
    }
    return runs;
}

static void
compare_runs(Golden *self, const char *folder, const Timeline *timeline, const Scenario *scenario)
{
    g_autofree const char **nodes = timeline_node_names(timeline);
    g_autoptr(Words) words = words_new(nodes);
    g_autoptr(GPtrArray) simulated = simulate(self, scenario, words);
    g_autoptr(GPtrArray) runs = read_runs(self, folder, words);
    unsigned n_before = self->n_passed + self->n_failed, n_failed = self->n_failed;

    for (unsigned i = 0; i < runs->len; i++) {
        g_autofree char *name = g_strdup_printf("run%u", i + 1);
        compare_run(self, name, runs->pdata[i], simulated);
    }
    if (self->is_table && runs->len > 0)
        table_print_row(folder, runs, simulated, self->n_passed + self->n_failed - n_before,
                        self->n_failed - n_failed);
}

/* If a phase decides N values, one or two lie beyond those of 200 seeds by chance, for N = 200:
 * more seeds decide. */
static void
compare_folder(Golden *self, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Timeline) timeline = timeline_read(folder, &error);
    g_autoptr(Scenario) scenario = timeline == NULL ? NULL : timeline_scenario(timeline, &error);
    Golden tried = *self;

    if (!self->is_table)
        printf("%s\n", folder);
    if (scenario == NULL) {
        fprintf(self->is_table ? stderr : stdout, "  skipped: %s\n", error->message);
        self->n_skipped++;
        return;
    }
    tried.is_quiet = self->is_table || self->n_more > self->n_seeds;
    compare_runs(&tried, folder, timeline, scenario);
    if (!self->is_table && tried.is_quiet && tried.n_failed > self->n_failed) {
        tried = *self;
        tried.n_seeds = self->n_more;
        compare_runs(&tried, folder, timeline, scenario);
    }
    self->n_passed = tried.n_passed;
    self->n_failed = tried.n_failed;
}

int
main(int argc, char **argv)
{
    Golden self = {.n_seeds = 200};
    const GOptionEntry entries[] = {
        {"seeds",   0,   0, G_OPTION_ARG_INT,  &self.n_seeds,    "Simulated runs that make the range", "N" },
        {"more",    0,   0, G_OPTION_ARG_INT,  &self.n_more,     "So many where a value is missed",    "N" },
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &self.is_verbose, "Also print what agrees",             NULL},
        {"table",   0,   0, G_OPTION_ARG_NONE, &self.is_table,   "A table in Markdown instead",        NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GOptionContext) context =
        g_option_context_new("DIR... - compare with recordings of a real control plane");
    g_autoptr(GError) error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "golden: %s\n", error->message);
        return 2;
    }
    if (self.is_table)
        table_print_head();
    for (int i = 1; i < argc; i++)
        compare_folder(&self, argv[i]);
    printf("%u passed, %u failed, %u skipped\n", self.n_passed, self.n_failed, self.n_skipped);
    return self.n_failed > 0;
}
