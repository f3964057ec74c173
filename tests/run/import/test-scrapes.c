/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scrapes of /metrics, as processes with known latencies would answer them: the mean is kept, the
 * buckets agree, a constant stays one; two scrapes give a difference; processes are told apart
 * whatever the files are called; failures become errors between the scrapes. */
#include "run/import/scrapes/scrapes.h"
#include "tests/lib/test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <utime.h>

#include "models/api/field.h"
#include "run/measure/histograms.h"
#include "sim/distribution.h"

#define DRIVER "csi.example.com"
#define T0_S (API_EPOCH_S + 1000) /* t = 0, in seconds since 1970 */
#define N_FILES 12

/* csiclient's buckets: csi-lib-utils v0.20, metrics.go */
static const double bounds[] = {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600, INFINITY};

/* What a process has counted. */
typedef struct {
    const char *metric, *method, *code;
    double counts[G_N_ELEMENTS(bounds)], sum;
} Counter;

static void
scrapes_count(Counter *self, double seconds)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(bounds); i++)
        self->counts[i] += seconds <= bounds[i] ? 1 : 0;
    self->sum += seconds;
}

static void
count_many(Counter *self, unsigned n, double seconds)
{
    for (unsigned i = 0; i < n; i++)
        scrapes_count(self, seconds);
}

typedef struct {
    char *folder;
    char *files[N_FILES + 1];
    unsigned n_files;
    ImportReport *report;
    Scrapes *scrapes;
    Recorded *recorded; /* NULL: none */
} ScrapesWorld;

static int
scrapes_set_up(void **state)
{
    ScrapesWorld *self = g_new0(ScrapesWorld, 1);

    self->folder = g_dir_make_tmp("scrapes-XXXXXX", NULL);
    self->report = import_report_new();
    *state = self;
    return self->folder == NULL;
}

static int
scrapes_tear_down(void **state)
{
    ScrapesWorld *self = *state;

    for (unsigned i = 0; i < self->n_files; i++) {
        g_unlink(self->files[i]);
        g_free(self->files[i]);
    }
    g_rmdir(self->folder);
    g_free(self->folder);
    import_report_free(self->report);
    scrapes_free(self->scrapes);
    recorded_free(self->recorded);
    g_free(self);
    return 0;
}

/* Labels of @counter, with those before "le". */
static void
append_counter(GString *text, const Counter *counter)
{
    gboolean is_kubernetes = g_str_has_prefix(counter->metric, "storage");
    g_autofree char *labels =
        is_kubernetes
            ? g_strdup_printf("operation_name=\"%s\",status=\"%s\",volume_plugin=\"kubernetes.io/"
                              "csi:" DRIVER "\"",
                              counter->method, counter->code)
            : g_strdup_printf("driver_name=\"" DRIVER
                              "\",grpc_status_code=\"%s\",method_name=\"/csi.v1.Any/%s\"",
                              counter->code, counter->method);

    for (unsigned i = 0; i < G_N_ELEMENTS(bounds); i++) {
        char bound[G_ASCII_DTOSTR_BUF_SIZE] = "+Inf";
        if (isfinite(bounds[i]))
            g_ascii_dtostr(bound, sizeof bound, bounds[i]);
        g_string_append_printf(text, "%s_bucket{%s,le=\"%s\"} %.0f\n", counter->metric, labels,
                               bound, counter->counts[i]);
    }
    g_string_append_printf(text, "%s_sum{%s} %.17g\n", counter->metric, labels, counter->sum);
}

/* A scrape at @at_s of a process that started at @started_s, both in seconds from t = 0. */
static void
scrape(ScrapesWorld *self,
       const char *name,
       int started_s,
       int at_s,
       const Counter *counters,
       unsigned n_counters)
{
    g_autoptr(GString) text = g_string_new("# HELP process_start_time_seconds ...\n");
    struct utimbuf written = {T0_S + at_s, T0_S + at_s};
    char *file = g_build_filename(self->folder, name, NULL);

    g_string_append_printf(text, "process_start_time_seconds %lld\n", (long long)T0_S + started_s);
    g_string_append_printf(text, "process_cpu_seconds_total %d\n", at_s - started_s);
    for (unsigned i = 0; i < n_counters; i++)
        append_counter(text, &counters[i]);
    assert_true(g_file_set_contents(file, text->str, -1, NULL));
    assert_int_equal(g_utime(file, &written), 0);
    assert_true(self->n_files < N_FILES);
    self->files[self->n_files++] = file;
}

static void
scrapes_read_all(ScrapesWorld *self)
{
    g_autoptr(GError) error = NULL;

    self->scrapes = scrapes_read((const char *const *)self->files, self->report, &error);
    if (self->scrapes == NULL)
        fail_msg("%s", error->message);
}

static char *
latency_text(ScrapesWorld *self)
{
    json_auto_t *latency = scrapes_latency(self->scrapes, DRIVER, self->report);

    return latency == NULL ? g_strdup("none")
                           : json_dumps(latency, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

static void
assert_latency(ScrapesWorld *self, const char *wanted)
{
    g_autofree char *text = latency_text(self);

    assert_string_equal(text, wanted);
}

static void
assert_errors(ScrapesWorld *self, const char *wanted)
{
    json_auto_t *errors = scrapes_errors(self->scrapes, DRIVER, (T0_S - API_EPOCH_S) * SIM_SECOND,
                                         self->recorded, self->report);
    g_autofree char *text = errors == NULL
                                ? g_strdup("none")
                                : json_dumps(errors, JSON_COMPACT | JSON_REAL_PRECISION(9));

    assert_string_equal(text, wanted);
}

#define SIDECAR(method)                                                                            \
    {                                                                                              \
        "csi_sidecar_operations_seconds", method, "OK", {0}, 0                                     \
    }

/* A latency on the bound of a bucket, with 4 ms of the sidecar: all calls are in (2.5, 5]. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, a_constant_stays_one)
{
    ScrapesWorld *self = *state;
    Counter create = SIDECAR("CreateVolume");

    count_many(&create, 24, 2.504);
    scrape(self, "a", -100, 0, &create, 1);
    scrapes_read_all(self);
    assert_latency(self, "{\"CreateVolume\":\"2.504s\"}");
}

/* Half of them just below the bound of a bucket, half just above. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, a_constant_on_a_bound_stays_one)
{
    ScrapesWorld *self = *state;
    Counter create = SIDECAR("CreateVolume");

    for (unsigned i = 0; i < 60; i++)
        scrapes_count(&create, 0.995 + 0.01 * i / 60);
    scrape(self, "a", -100, 0, &create, 1);
    scrapes_read_all(self);
    g_autofree char *text = latency_text(self);
    if (strcmp(text, "{\"CreateVolume\":\"999.9ms\"}") != 0)
        fail_msg("%s", text);
}

/* (owned): a lognormal with this mean and cv */
static SimDist *
lognormal(double mean, double cv)
{
    const SimDistArg args[] = {
        {.name = "mean", .is_time = TRUE, .time = (SimTime)(mean * SIM_SECOND)},
        {.name = "cv",              .number = cv                 },
    };

    return sim_dist_new("lognormal", args, G_N_ELEMENTS(args), NULL);
}

TEST_WITH(scrapes_set_up, scrapes_tear_down, a_lognormal_is_found)
{
    ScrapesWorld *self = *state;
    Counter create = SIDECAR("CreateVolume");
    g_autoptr(SimDist) dist = lognormal(3, 0.7);
    const unsigned n = 2000;

    for (unsigned i = 0; i < n; i++)
        scrapes_count(&create, sim_dist_quantile(dist, (i + 0.5) / n) / 1e9);
    scrape(self, "a", -100, 0, &create, 1);
    scrapes_read_all(self);
    json_auto_t *latency = scrapes_latency(self->scrapes, DRIVER, self->report);
    const json_t *found = json_object_get(json_object_get(latency, "CreateVolume"), "lognormal");
    SimTime mean;
    assert_true(sim_time_parse(json_string_value(json_object_get(found, "mean")), &mean, NULL));
    assert_true(fabs((double)mean / 1e9 - create.sum / n) < 1e-3 * create.sum / n);
    assert_true(fabs(json_number_value(json_object_get(found, "cv")) - 0.7) < 0.05);
}

/* The mean and the share below each bound of an empirical distribution. */
static void
check_empirical(const json_t *quantiles, const Counter *counter)
{
    double total = counter->counts[G_N_ELEMENTS(bounds) - 1], mean = 0, q = 0, x = 0;

    for (gsize i = 0; i < json_array_size(quantiles); i++) {
        const json_t *knot = json_array_get(quantiles, i);
        double next = json_number_value(json_array_get(knot, 0));
        SimTime time;
        assert_true(sim_time_parse(json_string_value(json_array_get(knot, 1)), &time, NULL));
        double y = (double)time / 1e9;
        assert_true(i == 0 ? next == 0 : next > q);
        assert_true(y >= x);
        mean += i == 0 ? 0 : (next - q) * (x + y) / 2;
        q = next;
        x = y;
        if (i % 2 == 0)
            continue;
        for (unsigned k = 0; k < G_N_ELEMENTS(bounds); k++) /* the end of a bucket's calls */
            if (counter->counts[k] / total == q) {
                assert_true(y <= bounds[k]);
                break;
            }
    }
    assert_true(q == 1);
    assert_true(fabs(mean - counter->sum / total) < 2e-3 * mean);
}

TEST_WITH(scrapes_set_up, scrapes_tear_down, two_humps_keep_buckets_and_mean)
{
    ScrapesWorld *self = *state;
    Counter create = SIDECAR("CreateVolume");

    count_many(&create, 700, 0.3);
    count_many(&create, 300, 55);
    scrape(self, "a", -100, 0, &create, 1);
    scrapes_read_all(self);
    json_auto_t *latency = scrapes_latency(self->scrapes, DRIVER, self->report);
    const json_t *found = json_object_get(json_object_get(latency, "CreateVolume"), "empirical");
    assert_non_null(found);
    check_empirical(json_object_get(found, "quantiles"), &create);
}

/* All calls are in one bucket, (2.5, 5]; ten scrapes tell that they differ. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, means_between_scrapes_show_the_spread)
{
    ScrapesWorld *self = *state;
    Counter create = SIDECAR("CreateVolume");

    scrape(self, "0", -100, 0, &create, 1);
    for (unsigned i = 1; i <= 10; i++) {
        g_autofree char *name = g_strdup_printf("%u", i);
        scrapes_count(&create, i % 2 == 0 ? 2.8 : 4.2);
        scrape(self, name, -100, (int)(60 * i), &create, 1);
    }
    scrapes_read_all(self);
    /* the standard deviation of ten calls: 0.738 of 3.5 */
    assert_latency(self, "{\"CreateVolume\":{\"lognormal\":{\"mean\":\"3.5s\",\"cv\":0.211}}}");
}

/* Few calls of two kinds: no lognormal, though there are only 35 of them. Minutes with calls of one
 * kind alone tell where they are. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, few_calls_of_two_kinds_stay_apart)
{
    ScrapesWorld *self = *state;
    Counter create = SIDECAR("CreateVolume");

    scrape(self, "0", -100, 0, &create, 1);
    for (unsigned i = 1; i <= 7; i++) {
        g_autofree char *name = g_strdup_printf("%u", i);
        count_many(&create, 5, i == 4 ? 9 : 1.8);
        scrape(self, name, -100, (int)(60 * i), &create, 1);
    }
    scrapes_read_all(self);
    json_auto_t *latency = scrapes_latency(self->scrapes, DRIVER, self->report);
    const json_t *found = json_object_get(json_object_get(latency, "CreateVolume"), "empirical");
    assert_non_null(found);
    check_empirical(json_object_get(found, "quantiles"), &create);
    g_autofree char *text = json_dumps(found, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(text, "{\"quantiles\":[[0.0,\"1.8s\"],[0.857143,\"1.8s\"],[0.857286,"
                              "\"9s\"],[1.0,\"9s\"]]}");
}

/* Names and the order of the files mean nothing. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, two_scrapes_give_the_difference)
{
    ScrapesWorld *self = *state;
    Counter create = SIDECAR("CreateVolume");

    count_many(&create, 5, 20);
    scrape(self, "z", -100, 0, &create, 1);
    count_many(&create, 5, 0.8);
    scrape(self, "a", -100, 600, &create, 1);
    char *later = self->files[1];
    self->files[1] = self->files[0];
    self->files[0] = later;
    scrapes_read_all(self);
    assert_latency(self, "{\"CreateVolume\":\"800ms\"}");
}

/* Its counters begin at 0 again; what it counted before its end counts, too. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, a_restart_is_no_difference)
{
    ScrapesWorld *self = *state;
    Counter create = SIDECAR("CreateVolume"), again = SIDECAR("CreateVolume");

    count_many(&create, 5, 20);
    scrape(self, "a-0", -100, 0, &create, 1);
    count_many(&create, 2, 0.8);
    scrape(self, "a-1", -100, 60, &create, 1);
    count_many(&again, 8, 0.9);
    scrape(self, "a-2", 90, 120, &again, 1);
    scrapes_read_all(self);
    assert_latency(self, "{\"CreateVolume\":\"880ms\"}"); /* (2 * 0.8 + 8 * 0.9) / 10 */
}

/* Two sidecars start in the same second; one has counted more of the same call. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, processes_are_told_apart)
{
    ScrapesWorld *self = *state;
    Counter one[] = {SIDECAR("Probe"), SIDECAR("CreateVolume")};
    Counter other[] = {SIDECAR("Probe"), SIDECAR("CreateVolume")};

    scrapes_count(&one[0], 0.0021);
    count_many(&one[1], 1, 1.1);
    scrapes_count(&other[0], 0.0022);
    count_many(&other[1], 3, 2);
    scrape(self, "one", -100, 0, one, 2);
    scrape(self, "other", -100, 1, other, 2);
    scrapes_read_all(self);
    assert_latency(self, "{\"CreateVolume\":\"1.775s\"}"); /* a difference would be 2 s */
}

/* Nearest to the driver first; an operation that lasts longer only where nothing else is. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, operations_are_the_last_resort)
{
    ScrapesWorld *self = *state;
    Counter counters[] = {
        {"storage_operation_duration_seconds", "volume_attach",           "success", {0}, 0},
        {"storage_operation_duration_seconds", "volume_mount",            "success", {0}, 0},
        {"storage_operation_duration_seconds", "unmount_device",          "success", {0}, 0},
        {"csi_operations_seconds",             "NodePublishVolume",       "OK",      {0}, 0},
        {"csi_sidecar_operations_seconds",     "ControllerPublishVolume", "OK",      {0}, 0},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(counters); i++)
        scrapes_count(&counters[i], 5 - i);
    scrape(self, "a", -100, 0, counters, G_N_ELEMENTS(counters));
    scrapes_read_all(self);
    assert_latency(self, "{\"ControllerPublishVolume\":\"1s\",\"NodeUnstageVolume\":\"3s\","
                         "\"NodePublishVolume\":\"2s\"}");
    g_autofree char *report = import_report_text(self->report, TRUE);
    assert_non_null(strstr(report, "lasts longer than the call"));
}

TEST_WITH(scrapes_set_up, scrapes_tear_down, failures_become_errors)
{
    ScrapesWorld *self = *state;
    Counter counters[] = {
        {"csi_sidecar_operations_seconds", "CreateVolume", "Internal",         {0}, 0},
        {"csi_sidecar_operations_seconds", "CreateVolume", "DeadlineExceeded", {0}, 0},
    };

    count_many(&counters[0], 7, 1); /* long before: of no concern */
    scrape(self, "0", -100, 0, counters, 2);
    count_many(&counters[1], 3, 10);
    scrape(self, "1", -100, 60, counters, 2);
    count_many(&counters[0], 9, 1);
    scrape(self, "2", -100, 120, counters, 2);
    scrapes_read_all(self);
    assert_latency(self, "none");
    assert_errors(self, "[{\"method\":\"CreateVolume\",\"code\":\"INTERNAL\",\"count\":9,\"from\":"
                        "\"1m0s\",\"until\":\"2m0s\"}]");
    g_autofree char *report = import_report_text(self->report, TRUE);
    assert_non_null(strstr(report, "3 calls of CreateVolume ended with DEADLINE_EXCEEDED"));
}

/* A claim that was asked for and provisioned at these seconds; @created_s 0: never */
static void
record_claim(ScrapesWorld *self, const char *name, double asked_s, double created_s)
{
    RecordedObject *claim = recorded_add(self->recorded, RECORDED_CLAIM, "shop", name);

    claim->volume = recorded_text(self->recorded, name);
    claim->at[RECORDED_ASKED] = (SimTime)(asked_s * SIM_SECOND);
    if (created_s == 0)
        return;
    RecordedObject *volume = recorded_add(self->recorded, RECORDED_VOLUME, NULL, name);
    volume->driver = DRIVER;
    volume->at[RECORDED_CREATED] = (SimTime)(created_s * SIM_SECOND);
}

/* Failures between 60 and 120 s, of calls that last 1 s. */
static void
scrape_failures(ScrapesWorld *self)
{
    Counter counters[] = {
        {"csi_sidecar_operations_seconds", "CreateVolume", "Internal", {0}, 0},
        SIDECAR("CreateVolume"),
    };

    self->recorded = recorded_new();
    count_many(&counters[1], 3, 1);
    scrape(self, "1", -100, 60, counters, 2);
    count_many(&counters[0], 5, 1);
    scrape(self, "2", -100, 120, counters, 2);
    scrapes_read_all(self);
}

/* One claim is served at 64 s, one asks at 70 s and has to wait, others are served from 100 s on.
 */
TEST_WITH(scrapes_set_up, scrapes_tear_down, a_recording_tells_the_phase)
{
    ScrapesWorld *self = *state;

    scrape_failures(self);
    record_claim(self, "before", 64, 65.1);
    record_claim(self, "waits", 70, 103);
    record_claim(self, "waits-longer", 80, 110);
    record_claim(self, "after", 101, 102.1);
    assert_errors(self, "[{\"method\":\"CreateVolume\",\"code\":\"INTERNAL\",\"from\":"
                        "\"1m7s\",\"until\":\"1m40.1s\"}]");
}

/* Some calls failed while others did not: that is no phase. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, single_failures_are_counted)
{
    ScrapesWorld *self = *state;

    scrape_failures(self);
    record_claim(self, "waits", 70, 80);
    record_claim(self, "good", 82, 83);
    record_claim(self, "waits-too", 90, 99);
    assert_errors(self, "[{\"method\":\"CreateVolume\",\"code\":\"INTERNAL\",\"count\":5,\"from\":"
                        "\"1m0s\",\"until\":\"2m0s\"}]");
}

/* A single scrape of an old process does not say when they failed. */
TEST_WITH(scrapes_set_up, scrapes_tear_down, old_failures_are_told)
{
    ScrapesWorld *self = *state;
    Counter counter = {"csi_sidecar_operations_seconds", "CreateVolume", "Internal", {0}, 0};

    count_many(&counter, 7, 1);
    scrape(self, "0", -10000, 60, &counter, 1);
    scrapes_read_all(self);
    assert_errors(self, "none");
    g_autofree char *report = import_report_text(self->report, TRUE);
    assert_non_null(strstr(report, "7 calls of CreateVolume failed with INTERNAL"));
}

/* ---- Bad input ---- */

/* clang-format off */
static const struct {
    const char *name, *text, *fault; /* the fault without the file's name */
} broken[] = {
    {"no scrape", "<html>\n",
     ":1: no sample of Prometheus' text format (such as: name{label=\"value\"} 12)"},
    {"cut off",
     "csi_operations_seconds_bucket{driver_name=\"a\",grpc_status_code=\"OK\",method_name=\"/a/NodeStageVolume\",le=\"0.1\"} 1\n",
     ": the buckets of csi_operations_seconds for NodeStageVolume are broken or cut off"},
    {"within a line", "csi_operations_seconds_bucket{a=\"b",
     ":1: no sample of Prometheus' text format (such as: name{label=\"value\"} 12)"},
};
/* clang-format on */

TEST_WITH(scrapes_set_up, scrapes_tear_down, says_what_is_wrong)
{
    ScrapesWorld *self = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(broken); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *file = g_build_filename(self->folder, "broken", NULL);
        const char *const files[] = {file, NULL};
        g_autofree char *wanted = g_strconcat(file, broken[i].fault, NULL);
        assert_true(g_file_set_contents(file, broken[i].text, -1, NULL));
        assert_null(scrapes_read(files, self->report, &error));
        assert_string_equal(error->message, wanted);
        g_unlink(file);
    }
}
