/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is made of measured samples: how calls slow each other down is found again in samples that
 * were made so, files come back as they went, and two calibrations are as far apart as they were
 * made. */
#include "run/measure/calibration.h"
#include "tests/lib/test.h"

#include "run/measure/measure-test.h"
#include "sim/random.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define TEAMS 60 /* of each number of workers */
#define KIND ((CsiLatency)CSI_NODE_STAGE_VOLUME)

static int
compare_samples(const void *a, const void *b)
{
    double x = ((const CalibrationSample *)a)->began, y = ((const CalibrationSample *)b)->began;

    return x < y ? -1 : x > y;
}

/* @n calls of this much work begin at once, and share. */
static void
share(GArray *samples, double began, const double *work, unsigned n, CsiSlowdown slowdown)
{
    double left[8], now = 0;
    unsigned n_left = n;

    memcpy(left, work, n * sizeof *left);
    while (n_left > 0) {
        unsigned next = 0;
        for (unsigned i = 0; i < n; i++)
            if (left[i] > 0 && (left[next] <= 0 || left[i] < left[next]))
                next = i;
        double factor = n_left > slowdown.undisturbed
                            ? pow(n_left / slowdown.undisturbed, slowdown.exponent)
                            : 1;
        double done = left[next];
        now += done * factor;
        for (unsigned i = 0; i < n; i++) {
            if (left[i] <= 0)
                continue;
            left[i] -= done;
            if (i != next)
                continue;
            left[i] = 0;
            const CalibrationSample sample = {
                .kind = KIND, .workers = n, .in_flight = n, .began = began, .seconds = now};
            g_array_append_val(samples, sample);
            n_left--;
        }
    }
}

/* Work of 10 ms at the median, of a spread as measured. */
static double
work_of(unsigned number)
{
    SimStream stream = sim_stream_from(7, 0, "test/work");
    double u = sim_random_uniform(stream, number, 0);

    return 0.01 * pow(u / (1 - u), 0.4);
}

static GArray *
make_samples(CsiSlowdown slowdown, double scale, unsigned seed)
{
    static const unsigned workers[] = {1, 2, 4, 8};
    GArray *samples = g_array_new(FALSE, FALSE, sizeof(CalibrationSample));
    unsigned number = seed * 100000;
    double now = 0;

    for (unsigned i = 0; i < TEAMS; i++) {
        for (unsigned k = 0; k < G_N_ELEMENTS(workers); k++) {
            double work[8];
            for (unsigned m = 0; m < workers[k]; m++)
                work[m] = scale * work_of(number++);
            share(samples, now, work, workers[k], slowdown);
            now += 100;
        }
    }
    g_array_sort(samples, compare_samples);
    return samples;
}

static const CsiSlowdown slowdowns[] = {
    {-0.5, 1},
    {0,    1},
    {0.3,  1},
    {0.8,  1},
    {1,    1},
    {1,    2},
    {0.6,  2},
    {1,    4}
};

TEST(finds_the_slowdown)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(slowdowns); i++) {
        g_autoptr(GArray) samples = make_samples(slowdowns[i], 1, 1);
        g_autoptr(CalibrationShares) shares = calibration_shares_new(samples);
        CsiSlowdown found = calibration_shares_fit(shares, KIND);
        for (unsigned n = 2; n <= 8; n *= 2)
            if (fabs(log(csi_slowdown_factor(found, n) / csi_slowdown_factor(slowdowns[i], n))) >
                0.2)
                fail_msg("found %g beyond %g for %g beyond %g", found.exponent, found.undisturbed,
                         slowdowns[i].exponent, slowdowns[i].undisturbed);
        assert_true(calibration_shares_fit(shares, (CsiLatency)CSI_CREATE_VOLUME).exponent == 0);
    }
}

/* With the right exponent each call's work comes out, to the digit. */
TEST(takes_company_out)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(slowdowns); i++) {
        double work[] = {0.01, 0.02, 0.05, 0.055};
        g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(CalibrationSample));
        share(samples, 3, work, G_N_ELEMENTS(work), slowdowns[i]);
        g_autoptr(CalibrationShares) shares = calibration_shares_new(samples);
        g_autoptr(GArray) alone = calibration_shares_alone(shares, KIND, 0, slowdowns[i]);
        assert_int_equal(alone->len, G_N_ELEMENTS(work));
        for (unsigned k = 0; k < alone->len; k++)
            assert_true(fabs(g_array_index(alone, double, k) - work[k]) < 1e-9);
    }
}

/* Samples of others, without times and numbers, have no slowdown. */
TEST(knows_nothing_of_plain_samples)
{
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(CalibrationSample));

    for (unsigned i = 0; i < 50; i++) {
        const CalibrationSample sample = {.kind = KIND, .seconds = work_of(i)};
        g_array_append_val(samples, sample);
    }
    g_autoptr(CalibrationShares) shares = calibration_shares_new(samples);
    assert_true(calibration_shares_fit(shares, KIND).exponent == 0);
    g_autoptr(GArray) alone = calibration_shares_alone(shares, KIND, 0, (CsiSlowdown){0});
    for (unsigned i = 0; i < 50; i++)
        assert_true(fabs(g_array_index(alone, double, i) - work_of(i)) < 1e-12);
}

TEST(files_come_back)
{
    g_autofree char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "samples.csv", NULL);
    g_autoptr(GArray) samples = make_samples((CsiSlowdown){0.5, 1}, 1, 1);
    g_autoptr(GError) error = NULL;

    assert_true(calibration_write(samples, file, "a test", &error));
    g_autoptr(GArray) again = calibration_read(file, &error);
    assert_non_null(again);
    assert_int_equal(again->len, samples->len);
    for (unsigned i = 0; i < samples->len; i++) {
        const CalibrationSample *a = &g_array_index(samples, CalibrationSample, i);
        const CalibrationSample *b = &g_array_index(again, CalibrationSample, i);
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->workers, b->workers);
        assert_true(fabs(a->began - b->began) < 1e-6 && fabs(a->seconds - b->seconds) < 1e-6);
    }
    g_unlink(file);
    g_rmdir(folder);
}

static const CsiSlowdown alone = {0, 1};

/* As many samples of the other as there are: the same machine's are near, those of one that is half
 * as fast are not. */
TEST(tells_noise)
{
    g_autoptr(GArray) first = make_samples(alone, 1, 1);
    g_autoptr(GArray) second = make_samples(alone, 1, 2);
    g_autoptr(GArray) slower = make_samples(alone, 2, 3);
    g_autoptr(GArray) alike = calibration_compare(first, second);
    g_autoptr(GArray) apart = calibration_compare(first, slower);
    CalibrationNoise noise, few, more;

    assert_int_equal(alike->len, 1);
    assert_true(g_array_index(alike, CalibrationDifference, 0).ks < 0.08);
    double ratio = g_array_index(apart, CalibrationDifference, 0).p50[1] /
                   g_array_index(apart, CalibrationDifference, 0).p50[0];
    assert_true(fabs(ratio - 2) < 0.3);
    assert_true(calibration_noise(first, second, KIND, 60, &noise));
    assert_true(calibration_noise(first, second, KIND, 20, &few));
    assert_true(calibration_noise(first, slower, KIND, 60, &more));
    assert_true(noise.ratio > 1 && noise.ratio < 1.4 && noise.ks < 0.25);
    assert_true(few.ratio > noise.ratio && few.ks > noise.ks); /* fewer samples say less */
    assert_true(more.ratio > 1.9 && more.ks > 0.4);
    assert_false(calibration_noise(first, second, (CsiLatency)CSI_CREATE_VOLUME, 60, &noise));
}
