/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/metrics.h"
#include "sim/random.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>

/* Series by name and labels, and the text that Prometheus reads. */

/* ---- Numbers ---- */

typedef struct {
    const char *text; /* MET-160 */
    double number;
} NumberCase;

static const NumberCase numbers[] = {
    {"0",                       0                      },
    {"-0",                      -0.0                   },
    {"1",                       1                      },
    {"-1.5",                    -1.5                   },
    {"10",                      10                     },
    {"120000",                  120000                 },
    {"999999",                  999999                 },
    {"1e+06",                   1e6                    },
    {"1.048576e+06",            1048576                },
    {"1.073741824e+09",         1073741824             },
    {"0.1",                     0.1                    },
    {"0.0001",                  0.0001                 },
    {"0.00025",                 0.00025                },
    {"1e-05",                   0.00001                },
    {"1e-08",                   1e-8                   },
    {"9.999999999999999e-06",   9.999999999999999e-06  },
    {"1.5000000000000002e-05",  1.5000000000000002e-05 },
    {"0.30000000000000004",     0.1 + 0.2              },
    {"123456.789",              123456.789             },
    {"9.007199254740992e+15",   9007199254740992.0     },
    {"1e+22",                   1e22                   },
    {"1.7976931348623157e+308", 1.7976931348623157e+308},
    {"5e-324",                  5e-324                 },
};

static void
prints(void **state)
{
    const NumberCase *row = *state;
    g_autoptr(GString) text = g_string_new("x ");

    sim_metrics_append_number(text, row->number);
    assert_string_equal(text->str + 2, row->text);
}
TEST_ROWS(numbers, prints);

/* The rule: one digit more until it reads back as the same number. */
static char *
shortest(double number)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE], format[8];
    int precision = 0;

    do {
        g_snprintf(format, sizeof format, "%%.%de", precision);
        g_ascii_formatd(digits, sizeof digits, format, number);
    } while (g_ascii_strtod(digits, NULL) != number && ++precision < 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (number == 0 || (exponent >= -4 && exponent < 6)) {
        g_snprintf(format, sizeof format, "%%.%df", MAX(precision - exponent, 0));
        g_ascii_formatd(digits, sizeof digits, number == 0 ? "%.0f" : format, number);
    }
    return g_strdup(digits);
}

static void
metrics_check_number(GString *text, double number)
{
    g_autofree char *want = shortest(number);

    g_string_truncate(text, 0);
    sim_metrics_append_number(text, number);
    if (strcmp(text->str, want) != 0)
        fail_msg("%.17g is printed as %s, not %s", number, text->str, want);
}

/* Numbers of all magnitudes, small ones among them; times as sums of nanoseconds; whole numbers;
 * few digits at any place. */
TEST(no_text_is_shorter_and_all_read_as_the_same)
{
    SimStream stream = sim_stream_from(1, 0, "numbers");
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < 17000; i++) {
        uint64_t bits = sim_random_bits(stream, 0, i), small = bits & 0x800FFFFFFFFFFFFF;
        int64_t integer = (int64_t)bits >> (i % 63);
        double number;

        memcpy(&number, &bits, sizeof number);
        if (isfinite(number))
            metrics_check_number(text, number);
        small >>= i % 52;
        memcpy(&number, &small, sizeof number);
        metrics_check_number(text, number);
        metrics_check_number(text, (double)integer * 1e-9);
        metrics_check_number(text, (double)integer);
        metrics_check_number(text, (double)(integer % 100000) / pow(10, i % 20));
        metrics_check_number(text, (double)(integer % 100000) * pow(10, i % 20));
    }
}

/* ---- Series ---- */

static const double bounds[] = {1, 2.5, 0};
static const SimFamily requests = {"requests_total", "How many.", SIM_COUNTER, 1,
                                   "code,verb",      NULL},
                       mounted = {"mounted", "What is.", SIM_COLLECTED, 1, "claim", NULL},
                       sizes = {"sizes", "How large.", SIM_HISTOGRAM, 1, "", bounds},
                       depth = {"depth", "How deep.", SIM_GAUGE, 1e-9, "", NULL};

static SimSeries *
series_of(SimMetrics *metrics,
          const SimFamily *family,
          const char *job,
          const char *one,
          const char *other)
{
    return sim_metrics_series(metrics, family, job, (const char *const[]){one, other});
}

/* The same values give the same series, wherever they stand in memory; other values give others,
 * also if they are the same when joined. */
TEST(series_are_found_by_all_their_values)
{
    g_autoptr(SimMetrics) metrics = sim_metrics_new(NULL);
    SimSeries *first = series_of(metrics, &requests, "a", "200", "GET");
    char code[] = "200", verb[] = "GET", job[] = "a";

    assert_ptr_equal(series_of(metrics, &requests, job, code, verb), first);
    assert_ptr_not_equal(series_of(metrics, &requests, "b", "200", "GET"), first);
    assert_ptr_not_equal(series_of(metrics, &requests, "a", "200G", "ET"), first);
    assert_ptr_not_equal(series_of(metrics, &requests, "a2", "00", "GET"), first);
    assert_ptr_not_equal(series_of(metrics, &requests, "a", "", "200GET"), first);
    assert_ptr_not_equal(series_of(metrics, &mounted, "a", "200", NULL), first);
    assert_int_equal(sim_metrics_all(metrics)->len, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(((SimSeries *)sim_metrics_all(metrics)->pdata[i])->number, i);
    assert_null(sim_metrics_series(NULL, &requests, "a", (const char *const[]){"200", "GET"}));
}

TEST(many_series_stay_apart)
{
    g_autoptr(SimMetrics) metrics = sim_metrics_new(NULL);

    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned i = 0; i < 5000; i++) {
            g_autofree char *name = g_strdup_printf("claim-%u", i);
            SimSeries *series = series_of(metrics, &mounted, "kubelet", name, NULL);
            assert_int_equal(series->number, i);
            assert_int_equal(series->sum, turn * i);
            sim_series_set(series, i);
        }
    }
    assert_int_equal(sim_metrics_all(metrics)->len, 5000);
    sim_metrics_clear(metrics, &requests);
    assert_int_equal(series_of(metrics, &mounted, "kubelet", "claim-7", NULL)->sum, 7);
    sim_metrics_clear(metrics, &mounted);
    assert_int_equal(series_of(metrics, &mounted, "kubelet", "claim-7", NULL)->sum, 0);
}

/* MET-160, MET-161: families and labels in order, values escaped, cumulative buckets; no samples of
 * collected gauges that are 0, and no family without a sample. */
TEST(text_is_as_prometheus_has_it)
{
    g_autoptr(SimMetrics) metrics = sim_metrics_new(NULL);
    g_autoptr(GString) text = g_string_new(NULL);

    sim_series_add(series_of(metrics, &requests, "b\"\\\n", "200", "GET"), 3);
    sim_series_add(series_of(metrics, &requests, "a", "200", "GET"), 1000000);
    sim_series_set(series_of(metrics, &depth, "a", NULL, NULL), 1500000000);
    SimSeries *size = series_of(metrics, &sizes, "a", NULL, NULL), *claim;
    sim_series_observe(size, 1);
    sim_series_observe(size, 2);
    sim_series_observe(size, 3);
    claim = series_of(metrics, &mounted, "kubelet", "data", NULL);
    series_of(metrics, &mounted, "kubelet", "none", NULL);
    sim_metrics_append_text(metrics, text);
    assert_string_equal(text->str,
                        "# HELP depth How deep.\n"
                        "# TYPE depth gauge\n"
                        "depth{job=\"a\"} 1.5\n"
                        "# HELP requests_total How many.\n"
                        "# TYPE requests_total counter\n"
                        "requests_total{code=\"200\",job=\"a\",verb=\"GET\"} 1e+06\n"
                        "requests_total{code=\"200\",job=\"b\\\"\\\\\\n\",verb=\"GET\"} 3\n"
                        "# HELP sizes How large.\n"
                        "# TYPE sizes histogram\n"
                        "sizes_bucket{job=\"a\",le=\"1\"} 1\n"
                        "sizes_bucket{job=\"a\",le=\"2.5\"} 2\n"
                        "sizes_bucket{job=\"a\",le=\"+Inf\"} 3\n"
                        "sizes_sum{job=\"a\"} 6\n"
                        "sizes_count{job=\"a\"} 3\n");
    sim_series_set(claim, 7);
    g_string_truncate(text, 0);
    sim_metrics_append_text(metrics, text);
    assert_non_null(
        strstr(text->str, "# TYPE mounted gauge\nmounted{claim=\"data\",job=\"kubelet\"} 7\n# "));
}

typedef struct {
    GString *calls;
    char name;
} MetricsCaller;

static void
call(void *data)
{
    const MetricsCaller *caller = data;

    g_string_append_c(caller->calls, caller->name);
}

TEST(collectors_are_called_in_the_order_added)
{
    g_autoptr(SimMetrics) metrics = sim_metrics_new(NULL);
    g_autoptr(GString) calls = g_string_new(NULL);
    MetricsCaller callers[] = {
        {calls, 'a'},
        {calls, 'b'},
        {calls, 'c'}
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(callers); i++)
        sim_metrics_add_collector(metrics, call, &callers[i]);
    sim_metrics_collect(metrics, 0);
    sim_metrics_remove_collector(metrics, &callers[1]);
    sim_metrics_remove_collector(metrics, &callers[1]);
    sim_metrics_collect(metrics, 0);
    sim_metrics_add_collector(metrics, call, &callers[1]);
    sim_metrics_collect(metrics, 0);
    assert_string_equal(calls->str, "abcacacb");
    sim_metrics_remove_collector(NULL, &callers[0]);
}
