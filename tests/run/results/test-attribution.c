/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "models/csi/modelled/modelled-driver.h"
#include "run/results/attribution.h"
#include "run/world/call-log.h"
#include "sim/random.h"
#include "sim/station.h"
#include "sim/token-bucket.h"
#include "tests/lib/test.h"

/* Attribution: causes add up, equal theory where theory has an answer, and name the known
 * bottlenecks of a burst. */

/* ---- Every scenario: to the nanosecond ---- */

static Scenario *
load_file(const char *file, const char *const *set)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"), .set = set};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    if (scenario == NULL)
        fail_msg("%s does not load", file);
    return scenario;
}

static Run *
attribution_execute(const Scenario *scenario, uint64_t seed)
{
    g_autoptr(GError) error = NULL;
    const RunOptions options = {.seed = seed};
    Run *run = run_new(scenario, &options, &error);

    assert_null(error);
    assert_int_equal(run_execute(run), RUN_DONE);
    return run;
}

/* The links of a stage have causes and no gaps, so they add up to it. */
static void
assert_adds_up(const char *file, const StageRecord *record, const GArray *links)
{
    SimTime at = record->to, sum = 0;

    for (unsigned i = 0; i < links->len; i++) {
        const ChainLink *link = &g_array_index(links, ChainLink, i);
        if (link->to != at || link->from >= link->to || link->from < record->from)
            fail_msg("%s: %s of %s: a link is out of place", file, stage_name(record->stage),
                     record->object->text);
        if (link->wait == WAIT_NONE || link->wait >= N_WAITS)
            fail_msg("%s: %s of %s: time passed without a cause", file, stage_name(record->stage),
                     record->object->text);
        sum += link->to - link->from;
        at = link->from;
    }
    if (sum != record->to - record->from)
        fail_msg("%s: %s of %s: %" G_GINT64_FORMAT " ns are missing", file,
                 stage_name(record->stage), record->object->text, record->to - record->from - sum);
}

/* In the table all requests are one cause, all watches, and all thinking. */
static const char *
detail_in_table(const SimTrace *trace, SimWait wait, uint16_t detail)
{
    gboolean is_one = wait == WAIT_API || wait == WAIT_WATCH || wait == WAIT_THINK;

    return is_one ? "" : attribution_detail(trace, wait, detail);
}

/* Takes the links of a chain from the rows of its stage. */
static void
take_links(const SimTrace *trace, const GArray *links, GArray *rows)
{
    for (unsigned i = 0; i < links->len; i++) {
        const ChainLink *link = &g_array_index(links, ChainLink, i);
        const char *detail = detail_in_table(trace, link->wait, link->detail);
        const char *behind_detail = detail_in_table(trace, link->behind, link->behind_detail);
        unsigned k = 0;
        for (; k < rows->len; k++) {
            AttributionRow *row = &g_array_index(rows, AttributionRow, k);
            if (row->wait != link->wait || row->behind != link->behind ||
                !g_str_equal(row->detail, detail) ||
                !g_str_equal(row->behind_detail, behind_detail))
                continue;
            row->total -= link->to - link->from;
            break;
        }
        assert_true(k < rows->len);
    }
}

static unsigned
check_scenario(const char *file, uint64_t seed)
{
    g_autoptr(Scenario) scenario = load_file(file, NULL);
    g_autoptr(Run) run = attribution_execute(scenario, seed);
    g_autoptr(Stages) stages = stages_new(run);
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(ChainLink));
    g_autoptr(ChainReader) reader = chain_reader_new(sim_trace(run_sim(run)));
    g_autoptr(Attribution) attribution = attribution_new();
    g_autoptr(GPtrArray) rows_left = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    SimTime sum_of_rows;

    attribution_add(attribution, run, stages);
    for (unsigned stage = 0; stage < N_STAGES; stage++)
        g_ptr_array_add(rows_left, attribution_rows(attribution, (Stage)stage, &sum_of_rows));
    const GArray *records = stages_records(stages);
    for (unsigned i = 0; i < records->len; i++) {
        const StageRecord *record = &g_array_index(records, StageRecord, i);
        g_array_set_size(links, 0);
        attribution_chain(reader, record, links);
        assert_adds_up(file, record, links);
        g_array_set_size(links, 0); /* with the parts of waits for workers */
        attribution_walk(sim_trace(run_sim(run)), record->cause, record->from, record->to,
                         &(ChainAnchor){record->scheduled, record->scheduled_by}, links);
        assert_adds_up(file, record, links);
        take_links(sim_trace(run_sim(run)), links, rows_left->pdata[record->stage]);
    }
    /* The sums are those of the chains, though computed in another way, and lose nothing. */
    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        const GArray *rows = rows_left->pdata[stage];
        for (unsigned i = 0; i < rows->len; i++)
            assert_int_equal(g_array_index(rows, AttributionRow, i).total, 0);
    }
    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        SimTime sum, bottlenecks_sum, values = 0;
        g_autoptr(GArray) rows = attribution_rows(attribution, (Stage)stage, &sum);
        g_autoptr(GArray) bottlenecks =
            attribution_bottlenecks(attribution, (Stage)stage, &bottlenecks_sum);
        for (unsigned i = 0; i < stages->samples[stage].values->len; i++)
            values += g_array_index(stages->samples[stage].values, SimTime, i);
        assert_int_equal(sum, values);
        assert_int_equal(bottlenecks_sum, values);
    }
    return records->len;
}

static void
check_folder(const char *name, unsigned *n_records)
{
    g_autofree char *path = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), name, NULL);
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *entry;

    assert_non_null(folder);
    while ((entry = g_dir_read_name(folder)) != NULL) {
        g_autofree char *file = g_build_filename(path, entry, NULL);
        if (!g_str_has_suffix(entry, ".yaml"))
            continue;
        for (uint64_t seed = 1; seed <= 2; seed++)
            *n_records += check_scenario(file, seed);
    }
}

TEST(causes_add_up_in_every_scenario)
{
    unsigned n_records = 0;

    check_folder("scenarios", &n_records);
    check_folder("scenarios/published", &n_records);
    assert_true(n_records > 5000);
}

/* ---- Closed forms, on the bare engine ---- */

typedef struct AttributionLine AttributionLine;

typedef struct {
    AttributionLine *line;
    SimTime arrived_at, done_at;
    SimCauseId done_by;
} AttributionJob;

struct AttributionLine {
    Sim *sim;
    SimStation *station;
    SimTime service;
    GArray *jobs; /* of Job; never grows */
};

static void
job_done(Sim *sim, void *data)
{
    AttributionJob *job = data;

    job->done_at = sim_now(sim);
    job->done_by = sim_cause(sim);
    sim_station_done(job->line->station);
}

static void
job_serve(void *self, void *job)
{
    static const SimEventType done = {.name = "done", .fire = job_done};
    const AttributionLine *line = self;

    sim_after(line->sim, line->service, &done, job, WAIT_DRIVER);
}

static void
job_arrives(Sim *sim, void *data)
{
    AttributionJob *job = data;

    (void)sim;
    sim_station_submit(job->line->station, job);
}

static const SimEventType arrives = {.name = "arrives", .fire = job_arrives};

static SimTime
attribution_time_of(const GArray *links, WaitKind wait)
{
    SimTime sum = 0;

    for (unsigned i = 0; i < links->len; i++) {
        const ChainLink *link = &g_array_index(links, ChainLink, i);
        sum += link->wait == wait ? link->to - link->from : 0;
    }
    return sum;
}

/* One worker, constant service, Poisson arrivals at 80 %. Each job's wait is Lindley's recursion to
 * the nanosecond; the mean is Pollaczek's and Khinchine's rho D / (2 (1 - rho)) = 2 D, within 5 %
 * of 200,000 jobs. */
TEST(one_worker_is_md1)
{
    const unsigned n = 200000;
    const SimTime service = 800 * SIM_MS;
    Sim *sim = sim_new(&(SimOptions){.seed = 1});
    AttributionLine line = {.sim = sim,
                            .service = service,
                            .jobs = g_array_sized_new(FALSE, TRUE, sizeof(AttributionJob), n)};
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(ChainLink));
    g_autoptr(SimDist) gaps = sim_dist_new(
        "exponential", &(SimDistArg){.name = "mean", .is_time = TRUE, .time = SIM_SECOND}, 1, NULL);
    SimStream stream = sim_stream(sim, "arrivals");
    SimTime at = 0, free_at = 0;
    double total = 0;

    line.station = sim_station_new(sim, 1, job_serve, &line, WAIT_WORKERS);
    g_array_set_size(line.jobs, n);
    for (unsigned i = 0; i < n; i++) {
        AttributionJob *job = &g_array_index(line.jobs, AttributionJob, i);
        at += sim_dist_draw(gaps, stream, 1, i);
        *job = (AttributionJob){.line = &line, .arrived_at = at};
        sim_at(sim, at, &arrives, job, WAIT_SCENARIO);
    }
    sim_run_until(sim, SIM_TIME_MAX - 1);
    for (unsigned i = 0; i < n; i++) {
        const AttributionJob *job = &g_array_index(line.jobs, AttributionJob, i);
        SimTime wait = MAX(0, free_at - job->arrived_at);
        free_at = job->arrived_at + wait + service;
        g_array_set_size(links, 0);
        attribution_walk(sim_trace(sim), job->done_by, job->arrived_at, job->done_at, NULL, links);
        assert_int_equal(attribution_time_of(links, WAIT_WORKERS), wait);
        assert_int_equal(attribution_time_of(links, WAIT_DRIVER), service);
        total += (double)wait;
    }
    double theory = 0.8 * (double)service / (2 * (1 - 0.8));
    assert_true(total / n > 0.95 * theory && total / n < 1.05 * theory);
    sim_station_free(line.station);
    sim_free(sim);
    g_array_unref(line.jobs);
}

typedef struct {
    SimTime sent_at;
    SimCauseId sent_by;
} AttributionRequest;

static void
request_sent(Sim *sim, void *data)
{
    AttributionRequest *request = data;

    request->sent_at = sim_now(sim);
    request->sent_by = sim_cause(sim);
}

/* 100 requests at once, at 5 a second with a burst of 10: request k waits (k - 10) / 5 s for its
 * token, and for no other cause. */
TEST(a_token_bucket_is_a_token_bucket)
{
    static const SimEventType sent = {.name = "sent", .fire = request_sent};
    Sim *sim = sim_new(&(SimOptions){.seed = 1});
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(ChainLink));
    SimTokenBucket bucket;
    AttributionRequest requests[100];

    sim_token_bucket_init(&bucket, 5, 10);
    for (unsigned i = 0; i < G_N_ELEMENTS(requests); i++)
        sim_at(sim, sim_token_bucket_reserve(&bucket, 0), &sent, &requests[i], WAIT_THROTTLE);
    sim_run_until(sim, SIM_TIME_MAX - 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(requests); i++) {
        g_array_set_size(links, 0);
        attribution_walk(sim_trace(sim), requests[i].sent_by, 0, requests[i].sent_at, NULL, links);
        assert_int_equal(attribution_time_of(links, WAIT_THROTTLE),
                         i < 10 ? 0 : (SimTime)(i - 9) * SIM_SECOND / 5);
        assert_int_equal(links->len, i < 10 ? 0 : 1);
    }
    sim_free(sim);
}

/* ---- Closed forms, in a whole cluster ---- */

static const char small_cluster[] =
    "apiVersion: kvolsim.io/v1\n"
    "kind: Scenario\n"
    "metadata: {name: small}\n"
    "spec:\n"
    "  until: 10m\n"
    "  nodes: [{name: node-a, zones: [a]}]\n"
    "  drivers:\n"
    "  - name: csi.lab.example\n"
    "    latency: {CreateVolume: 1s}\n"
    "    %s\n"
    "    sidecars:\n"
    "      external-provisioner: {%s}\n"
    "  components: {kube-controller-manager: {kube-api-qps: 10000, kube-api-burst: 10000}}\n"
    "  workload:\n"
    "  - at: 1s\n"
    "    create:\n"
    "      count: %u\n"
    "      manifest:\n"
    "        apiVersion: v1\n"
    "        kind: PersistentVolumeClaim\n"
    "        metadata: {name: c}\n"
    "        spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: "
    "{storage: 1Gi}}}\n"
    "---\n"
    "apiVersion: storage.k8s.io/v1\n"
    "kind: StorageClass\n"
    "metadata: {name: fast}\n"
    "provisioner: csi.lab.example\n";

static Run *
run_small(Scenario **scenario, const char *driver, const char *provisioner, unsigned count)
{
    g_autofree char *text = g_strdup_printf(small_cluster, driver, provisioner, count);
    g_autofree char *file = NULL;
    g_autoptr(GError) error = NULL;
    int fd = g_file_open_tmp("kvolsim-XXXXXX.yaml", &file, &error);

    assert_true(fd >= 0);
    close(fd);
    assert_true(g_file_set_contents(file, text, -1, &error));
    *scenario = load_file(file, NULL);
    remove(file);
    return attribution_execute(*scenario, 1);
}

static SimTime
total_of(const Attribution *attribution, Stage stage, WaitKind wait, const char *detail)
{
    SimTime sum, total = 0;
    g_autoptr(GArray) rows = attribution_rows(attribution, stage, &sum);

    for (unsigned i = 0; i < rows->len; i++) {
        const AttributionRow *row = &g_array_index(rows, AttributionRow, i);
        if (row->wait == wait && g_str_has_prefix(row->detail, detail))
            total += row->total;
    }
    return total;
}

static void
attribute_small(Attribution *attribution, const char *driver, const char *provisioner, unsigned n)
{
    Scenario *scenario = NULL;
    Run *run = run_small(&scenario, driver, provisioner, n);
    Stages *stages = stages_new(run);

    assert_int_equal(sim_sample_count(&stages->samples[STAGE_PROVISION]), n);
    attribution_add(attribution, run, stages);
    stages_free(stages);
    run_free(run);
    scenario_free(scenario);
}

/* 20 claims at once, one worker, a second each: claim k waits for k - 1 claims before it, 190 s in
 * all, and takes a second itself. Besides, each claim takes some milliseconds of requests. */
TEST(one_worker_thread_is_waited_for)
{
    g_autoptr(Attribution) attribution = attribution_new();
    SimTime sum;

    attribute_small(attribution, "attachLimit: 9",
                    "worker-threads: 1, kube-api-qps: 10000, kube-api-burst: 10000", 20);
    SimTime waited = total_of(attribution, STAGE_PROVISION, WAIT_WORKERS, "external-provisioner/");
    assert_int_equal(total_of(attribution, STAGE_PROVISION, WAIT_DRIVER, "CreateVolume"),
                     20 * SIM_SECOND);
    assert_true(waited > 190 * SIM_SECOND && waited < 192 * SIM_SECOND);
    g_autoptr(GArray) bottlenecks = attribution_bottlenecks(attribution, STAGE_PROVISION, &sum);
    const AttributionRow *worst = &g_array_index(bottlenecks, AttributionRow, 0);
    g_autofree char *advice = attribution_advice(worst);
    assert_int_equal(worst->wait, WAIT_WORKERS);
    assert_non_null(strstr(advice, "--worker-threads"));
}

/* The same with 100 workers and 5 requests a second after a burst of 10: POST k (from 0) is sent (k
 * - 9) / 5 s late; Events in between take more. */
TEST(tokens_are_waited_for)
{
    g_autoptr(Attribution) attribution = attribution_new();

    attribute_small(attribution, "attachLimit: 9", "kube-api-qps: 5, kube-api-burst: 10", 40);
    SimTime waited = total_of(attribution, STAGE_PROVISION, WAIT_THROTTLE, "external-provisioner");
    SimTime theory = 0;
    for (unsigned k = 10; k < 40; k++)
        theory += (SimTime)(k - 9) * SIM_SECOND / 5;
    /* Provisioning Events use up the burst within the second of CreateVolume, which gives five
     * tokens back. */
    assert_true(waited >= theory - 40 * SIM_SECOND && waited <= theory + 40 * 4 * SIM_SECOND);
    assert_int_equal(total_of(attribution, STAGE_PROVISION, WAIT_DRIVER, "CreateVolume"),
                     40 * SIM_SECOND);
}

/* CreateVolume fails three times for each claim. Retries come after 1, 2 and 4 s (PROV-33), 7 s in
 * all, and take a second each. */
TEST(retries_are_waited_for)
{
    g_autoptr(Attribution) attribution = attribution_new();

    attribute_small(attribution,
                    "errors: [{method: CreateVolume, code: INTERNAL, probability: 1, count: 3, "
                    "perVolume: true}]",
                    "kube-api-qps: 10000, kube-api-burst: 10000", 5);
    assert_int_equal(total_of(attribution, STAGE_PROVISION, WAIT_BACKOFF, "external-provisioner/"),
                     5 * 7 * SIM_SECOND);
    assert_int_equal(total_of(attribution, STAGE_PROVISION, WAIT_DRIVER, "CreateVolume"),
                     5 * 4 * SIM_SECOND);
}

/* ---- The known bottlenecks ---- */

static void
assert_bottleneck(
    const char *const *set, unsigned n_seeds, Stage stage, WaitKind wait, const char *detail)
{
    g_autofree char *file =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios/burst-100.yaml", NULL);
    g_autoptr(Scenario) scenario = load_file(file, set);
    g_autoptr(Attribution) attribution = attribution_new();
    SimTime sum;

    for (uint64_t seed = 1; seed <= n_seeds; seed++) {
        g_autoptr(Run) run = attribution_execute(scenario, seed);
        g_autoptr(Stages) stages = stages_new(run);
        attribution_add(attribution, run, stages);
    }
    g_autoptr(GArray) rows = attribution_bottlenecks(attribution, stage, &sum);
    const AttributionRow *worst = &g_array_index(rows, AttributionRow, 0);
    if (worst->wait != wait || !g_str_has_prefix(worst->detail, detail))
        fail_msg("%s: %s: %s, not %s", stage_name(stage), attribution_wait(worst->wait),
                 worst->detail, detail);
}

/* TIM-70, TIM-72: the sidecars' five requests a second; without those limits the kubelets'
 * ten-second rounds. */
TEST(a_burst_waits_for_its_sidecars)
{
    static const char *const lifted[] = {
        "spec.drivers[0].sidecars.external-provisioner.kube-api-qps=1000",
        "spec.drivers[0].sidecars.external-provisioner.kube-api-burst=2000",
        "spec.drivers[0].sidecars.external-attacher.kube-api-qps=1000",
        "spec.drivers[0].sidecars.external-attacher.kube-api-burst=2000",
        "spec.components.kube-controller-manager.kube-api-qps=1000",
        "spec.components.kube-controller-manager.kube-api-burst=2000",
        NULL,
    };

    for (unsigned n = 1; n <= 10; n += 9) {
        assert_bottleneck(NULL, n, STAGE_POD_START, WAIT_THROTTLE, "external-attacher");
        assert_bottleneck(NULL, n, STAGE_PROVISION, WAIT_THROTTLE, "external-provisioner");
    }
    assert_bottleneck(lifted, 20, STAGE_POD_START, WAIT_POLL, "kubelet/node status");
}

/* Keeping the log does not change the run. */
TEST(attribution_changes_nothing)
{
    g_autofree char *file =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios/quickstart.yaml", NULL);
    g_autoptr(Scenario) scenario = load_file(file, NULL);
    g_autoptr(Run) traced = attribution_execute(scenario, 3);
    const RunOptions options = {.seed = 3, .untraced = TRUE};
    g_autoptr(Run) untraced = run_new(scenario, &options, NULL);
    g_autoptr(Attribution) attribution = attribution_new();
    SimTime sum;

    assert_int_equal(run_execute(untraced), RUN_DONE);
    assert_int_equal(sim_events_fired(run_sim(traced)), sim_events_fired(run_sim(untraced)));
    const Milestones *one = run_milestones(traced), *other = run_milestones(untraced);
    assert_int_equal(milestones_count(one), milestones_count(other));
    for (unsigned i = 0; i < milestones_count(one); i++)
        assert_int_equal(milestones_at(one, i).at, milestones_at(other, i).at);
    g_autoptr(Stages) stages = stages_new(untraced);
    attribution_add(attribution, untraced, stages);
    g_autoptr(GArray) rows = attribution_rows(attribution, STAGE_POD_START, &sum);
    assert_int_equal(rows->len, 0);
}

/* ---- Calls played back ---- */

typedef struct {
    CallLog *log;
    gboolean is_replay;
    CsiDriver *driver;
    CsiDriverClass without_foresight; /* answers NodeGetInfo by a call, as a played back driver */
} Playback;

static CsiDriver *
open_watched(
    void *data, Sim *sim, Strings *strings, const ScenarioDriver *driver, const CsiWaits *waits)
{
    Playback *self = data;
    CsiModelledOptions options = driver->model;

    options.waits = *waits;
    self->driver = self->is_replay
                       ? call_log_replay(self->log, sim, strings, driver->name, waits)
                       : (CsiDriver *)csi_modelled_driver_new(sim, strings, &options, NULL);
    if (self->is_replay)
        return self->driver;
    self->without_foresight = *self->driver->class;
    self->without_foresight.foresee_node_info = NULL;
    self->driver->class = &self->without_foresight;
    call_log_watch(self->log, self->driver, NULL, NULL);
    return self->driver;
}

/* The causes of a run, whose driver's calls are kept in @self or come from there. */
static GString *
causes_of(Playback *self, const Scenario *scenario)
{
    const RunOptions options = {.seed = 1, .open_driver = open_watched, .hook_data = self};
    g_autoptr(GError) error = NULL;
    g_autoptr(Run) run = run_new(scenario, &options, &error);
    g_autoptr(Attribution) attribution = attribution_new();
    GString *text = g_string_new(NULL);

    assert_null(error);
    assert_int_equal(run_execute(run), RUN_DONE);
    if (self->is_replay)
        if (call_log_difference(self->driver) != NULL)
            fail_msg("%s", call_log_difference(self->driver));
    g_autoptr(Stages) stages = stages_new(run);
    attribution_add(attribution, run, stages);
    attribution_append_table(attribution, text);
    return text;
}

/* A driver that plays calls back, as the one with real devices, names the same methods as the
 * modelled one. */
TEST(calls_have_one_numbering)
{
    g_autofree char *file = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios",
                                             "validate-statefulset.yaml", NULL);
    g_autoptr(Scenario) scenario = load_file(file, NULL);
    Playback playback = {.log = call_log_new()};
    g_autoptr(GString) modelled = causes_of(&playback, scenario);

    playback.is_replay = TRUE;
    g_autoptr(GString) replayed = causes_of(&playback, scenario);
    assert_non_null(strstr(modelled->str, "driver latency: NodePublishVolume"));
    assert_string_equal(replayed->str, modelled->str);
    call_log_free(playback.log);
}
