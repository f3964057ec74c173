/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "run/study/sweep.h"
#include "tests/lib/test.h"

/* Files of sweeps: the points that they make, and what is said of those that are wrong. All are
 * loaded from the folder of the scenarios, so that they find theirs. */

#define HEAD                                                                                       \
    "apiVersion: kvolsim.io/v1\nkind: Sweep\nmetadata: {name: s}\nspec:\n  scenario: "             \
    "burst-100.yaml\n"
#define MEASURES "  measures: [{name: m, stage: pod-start}]\n"
#define COUNT "path: \"spec.workload[0].create.count\""
#define ONE "  parameters: [{name: pods, " COUNT ", values: [1, 2]}]\n"

typedef struct {
    const char *what, *text;
    const char *expected; /* its labels, or its faults */
} FileCase;

static char *folder;

/* Works in a folder that has a scenario. */
static int
file_set_up(void **state)
{
    g_autofree char *scenario =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios", "burst-100.yaml", NULL);
    g_autofree char *text = NULL;

    (void)state;
    folder = g_dir_make_tmp("kvolsim-sweep-XXXXXX", NULL);
    return folder == NULL || g_chdir(folder) != 0 ||
           !g_file_get_contents(scenario, &text, NULL, NULL) ||
           !g_file_set_contents("burst-100.yaml", text, -1, NULL);
}

static int
file_tear_down(void **state)
{
    (void)state;
    g_unlink("sweep.yaml");
    g_unlink("burst-100.yaml");
    g_rmdir(folder);
    g_free(folder);
    return 0;
}
TEST_PROGRAM(file_set_up, file_tear_down);

static Sweep *
file_load(const char *text, char **faults_text)
{
    g_autoptr(GPtrArray) faults = NULL;
    GString *all = g_string_new(NULL);

    assert_true(g_file_set_contents("sweep.yaml", text, -1, NULL));
    Sweep *sweep = sweep_load("sweep.yaml", g_getenv("KVOLSIM_SRCDIR"), &faults);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *line = file_fault_text(faults->pdata[i]);
        g_string_append_printf(all, "%s%s", i > 0 ? "\n" : "", line);
    }
    *faults_text = g_string_free(all, FALSE);
    return sweep;
}

/* clang-format 14 crashes on strings joined with macros in aligned rows */
/* clang-format off */
static const FileCase designs[] = {
    {"a grid: the last parameter changes fastest",
     HEAD MEASURES "  parameters:\n  - {name: pods, " COUNT ", values: [1, 2]}\n  - {name: seed, path: spec.until, values: [1m, 2m]}\n",
     "1 1m; 1 2m; 2 1m; 2 2m"},
    {"a list: first with first",
     HEAD MEASURES "  design: list\n  parameters:\n  - {name: pods, " COUNT ", values: [1, 2]}\n  - {name: t, path: spec.until, values: [1m, 2m]}\n",
     "1 1m; 2 2m"},
    {"labels", HEAD MEASURES "  parameters: [{name: pods, " COUNT ", values: [1, 2], labels: [few, many]}]\n", "few; many"},
    {"a range of numbers",
     HEAD MEASURES "  parameters: [{name: pods, " COUNT ", from: 1, to: 9, steps: 5}]\n", "1; 3; 5; 7; 9"},
    {"a logarithmic range",
     HEAD MEASURES "  parameters: [{name: pods, " COUNT ", from: 1, to: 1000, steps: 4, scale: log}]\n", "1; 10; 100; 1000"},
    {"a range of times",
     HEAD MEASURES "  parameters: [{name: t, path: spec.until, from: 1m, to: 2m, steps: 3}]\n", "1m0s; 1m30s; 2m0s"},
    {"two paths with a value each",
     HEAD MEASURES "  parameters: [{name: pods, paths: [spec.until, \"spec.workload[0].create.count\"], values: [[1m, 2]]}]\n",
     "[\"1m\",2]"},
};

static void
makes_points(void **state)
{
    const FileCase *row = *state;
    g_autofree char *faults = NULL;
    g_autoptr(Sweep) sweep = file_load(row->text, &faults);
    g_autoptr(GString) labels = g_string_new(NULL);

    assert_string_equal(faults, "");
    for (unsigned i = 0; i < sweep->n_points; i++) {
        g_autofree char *line = g_strjoinv(" ", (char **)sweep->points[i].labels);
        g_string_append_printf(labels, "%s%s", i > 0 ? "; " : "", line);
    }
    assert_string_equal(labels->str, row->expected);
}
TEST_ROWS(designs, makes_points);

static const FileCase broken[] = {
    {"a scenario", "apiVersion: kvolsim.io/v1\nkind: Scenario\n",
     "sweep.yaml: there must be one document of kind Sweep in this file (kvolsim run takes a scenario)"},
    {"an unknown field", HEAD MEASURES ONE "  replication: 3\n",
     "sweep.yaml:8:3: spec.replication: unknown field (did you mean \"replications\"?)"},
    {"nothing to vary", HEAD MEASURES, "sweep.yaml:5:3: spec: \"parameters\" is missing (Parameters that differ between points)"},
    {"an unknown stage", HEAD ONE "  measures: [{name: m, stage: pod-strat}]\n",
     "sweep.yaml:7:31: spec.measures[0].stage: \"pod-strat\" is not known here (did you mean \"pod-start\"?)"},
    {"an unknown statistic", HEAD ONE "  measures: [{name: m, stage: bind, statistic: q99}]\n",
     "sweep.yaml:7:37: spec.measures[0].statistic: \"q99\" is not known here (mean, min, max, count, or such as p99 or <60s)"},
    {"two measures of a name", HEAD ONE "  measures: [{name: m, stage: bind}, {name: m, stage: stop}]\n",
     "sweep.yaml:7:39: spec.measures[1].name: a second measure of this name"},
    {"a rule about nothing", HEAD MEASURES ONE "  replications: {measure: x}\n",
     "sweep.yaml:8:18: spec.replications.measure: there is no measure \"x\" (one of spec.measures)"},
    {"a width without a measure", HEAD MEASURES ONE "  replications: {relativeWidth: 0.1}\n",
     "sweep.yaml:8:18: spec.replications.relativeWidth: needs a measure beside it (measure: which?)"},
    {"a range without steps", HEAD MEASURES "  parameters: [{name: pods, " COUNT ", from: 1, to: 3}]\n",
     "sweep.yaml:7:16: spec.parameters[0].steps: must tell how many values of the range (such as steps: 5)"},
    {"no samples", HEAD MEASURES ONE "  design: random\n",
     "sweep.yaml:5:3: spec.samples: must tell how many points to draw"},
    {"a list of unequal length",
     HEAD MEASURES "  design: list\n  parameters:\n  - {name: pods, " COUNT ", values: [1, 2]}\n  - {name: t, path: spec.until, values: [1m]}\n",
     "sweep.yaml:10:33: spec.parameters[1].values: in a list, all parameters must have as many values (the first values go together, then the second)"},
    {"a baseline that is no point", HEAD MEASURES ONE "  baseline: {pods: 3}\n",
     "sweep.yaml:8:3: spec.baseline: no point is so (a value for each parameter names one)"},
    {"a value that the scenario does not take", HEAD MEASURES "  parameters: [{name: pods, " COUNT ", values: [1, two]}]\n",
     "sweep.yaml:7:80: spec.parameters[0].values[1]: spec.workload[0].create.count: \"two\" is not a whole number"},
    {"a path that the scenario does not have",
     HEAD MEASURES "  parameters: [{name: pods, path: spec.nods.count, values: [1]}]\n",
     "sweep.yaml:7:61: spec.parameters[0].values[0]: spec.nods: unknown field (did you mean \"nodes\"?)"},
    {"no such scenario", "apiVersion: kvolsim.io/v1\nkind: Sweep\nmetadata: {name: s}\nspec:\n  scenario: none.yaml\n" MEASURES ONE,
     "none.yaml: cannot be read: No such file or directory"},
};
/* clang-format on */

static void
says_what_is_wrong(void **state)
{
    const FileCase *row = *state;
    g_autofree char *faults = NULL;
    g_autoptr(Sweep) sweep = file_load(row->text, &faults);

    assert_null(sweep);
    assert_string_equal(faults, row->expected);
}
TEST_ROWS(broken, says_what_is_wrong);

/* A Latin hypercube has one point in each of n equal parts of every parameter's range. */
TEST(hypercube_hits_every_part_once)
{
    static const char text[] =
        HEAD MEASURES "  design: latin-hypercube\n  samples: 20\n  parameters:\n"
                      "  - {name: a, path: spec.idleFor, from: 0s, to: 20s}\n"
                      "  - {name: b, path: spec.until, from: 100s, to: 120s}\n";
    g_autofree char *faults = NULL;
    g_autoptr(Sweep) sweep = file_load(text, &faults);
    unsigned n_apart = 0;

    assert_string_equal(faults, "");
    assert_int_equal(sweep->n_points, 20);
    for (unsigned k = 0; k < 2; k++) {
        uint32_t parts = 0;
        for (unsigned i = 0; i < 20; i++) {
            SimTime time;
            assert_true(sim_time_parse(sweep->points[i].labels[k], &time, NULL));
            unsigned part = (unsigned)(time / SIM_SECOND) - 100 * k;
            assert_int_equal(parts >> part & 1, 0);
            parts |= UINT32_C(1) << part;
            n_apart += part != i;
        }
        assert_int_equal(parts, (1 << 20) - 1);
    }
    assert_true(n_apart > 20); /* and not in order */
}

/* What decides a row changes who the sweep is; what does not leaves it alone. */
TEST(identity_is_what_decides_rows)
{
    static const struct {
        const char *more;
        gboolean is_same;
    } cases[] = {
        {"",                                              TRUE },
        {"  replications: {count: 30}\n",                 TRUE },
        {"  confidence: 0.99\n",                          TRUE },
        {"  description: other words\n",                  TRUE },
        {"  seed: 2\n",                                   FALSE},
        {"  warmUp: 1s\n",                                FALSE},
        {"  batches: 5\n",                                FALSE},
        {"  commonRandomNumbers: false\n",                FALSE},
        {"  set: {spec.kubernetes.unlimitedQPS: true}\n", FALSE},
    };
    g_autofree char *none = NULL;
    g_autoptr(Sweep) plain = file_load(HEAD MEASURES ONE, &none);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strconcat(HEAD MEASURES ONE, cases[i].more, NULL);
        g_autofree char *faults = NULL;
        g_autoptr(Sweep) sweep = file_load(text, &faults);
        assert_string_equal(faults, "");
        assert_int_equal(strcmp(sweep->identity, plain->identity) == 0, cases[i].is_same);
    }
}

/* Those that come with the program are sound. */
TEST(ours_are_sound)
{
    g_autofree char *sweeps =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios", "sweeps", NULL);
    g_autoptr(GDir) dir = g_dir_open(sweeps, 0, NULL);
    const char *name;
    unsigned n = 0;

    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *file = g_build_filename(sweeps, name, NULL);
        g_autoptr(GPtrArray) faults = NULL;
        g_autoptr(Sweep) sweep = sweep_load(file, g_getenv("KVOLSIM_SRCDIR"), &faults);
        if (faults->len > 0) {
            g_autofree char *text = file_fault_text(faults->pdata[0]);
            fail_msg("%s", text);
        }
        n++;
    }
    assert_true(n >= 4);
}

/* docs/sweeps.md has the table of all fields. */
TEST(documented)
{
    g_autofree char *file = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "docs", "sweeps.md", NULL);
    g_autofree char *reference = sweep_reference();
    g_autofree char *text = NULL;

    assert_true(g_file_get_contents(file, &text, NULL, NULL));
    if (strstr(text, reference) == NULL) {
        fputs(reference, stderr); /* longer than cmocka prints */
        fail_msg("docs/sweeps.md should have the tables above");
    }
}
