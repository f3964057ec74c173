/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of one scenario over its replications: stages, expectations, slos, causes, the state
 * at the end; as a table, as summary.json, and as the files of each run. A table names each file
 * and the function that writes it; a file to which nothing is appended is not written. Some parts
 * (slowest pods, requests, findings) tell of the first run only, and say so. */
#include "results.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attribution.h"
#include "availability.h"
#include "chrome-trace.h"
#include "config.h"
#include "event-list.h"
#include "plot-data.h"
#include "result-folder.h"
#include "run/files/rows.h"
#include "run/world/run-private.h"
#include "sim/append.h"
#include "slos.h"

/* An expectation's worst outcome over the replications. */
typedef struct {
    ExpectResult worst;
    unsigned n_met, n_runs;
} ExpectSummary;

/* Numbers of objects at the end. */
typedef struct {
    unsigned pods, pods_ready, pods_pending, claims, claims_bound, volumes, attachments,
        driver_volumes;
} FinalState;

struct Results {
    const Scenario *scenario;
    uint64_t seed;
    unsigned n_runs;
    SimSample samples[N_STAGES];
    GArray *expects; /* of ExpectSummary, one for each expectation of the scenario */
    FinalState final;
    Attribution *attribution;
    Availability *availability;
    Slos *slos;
    GPtrArray *refused;   /* of char * (owned): refused requests of the first run's workload */
    json_t *findings;     /* (owned) (nullable): what is stuck at the end of the first run */
    GString *first_run;   /* the table's text about the first run: slowest pods, requests */
    SimTime virtual_time; /* of the last run */
    uint64_t n_events, n_writes;
    uint64_t n_requests;    /* of the first run */
    unsigned requests_peak; /* of the first run, in one second */
};

Results *
results_new(const Scenario *scenario, uint64_t seed)
{
    Results *self = g_new0(Results, 1);

    self->scenario = scenario;
    self->seed = seed;
    self->attribution = attribution_new();
    self->availability = availability_new();
    self->slos = slos_new(scenario);
    self->first_run = g_string_new(NULL);
    self->refused = g_ptr_array_new_with_free_func(g_free);
    self->expects = g_array_new(FALSE, TRUE, sizeof(ExpectSummary));
    g_array_set_size(self->expects, scenario->n_expects);
    for (unsigned i = 0; i < N_STAGES; i++)
        sim_sample_init(&self->samples[i]);
    return self;
}

void
results_free(Results *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < N_STAGES; i++)
        sim_sample_clear(&self->samples[i]);
    g_array_unref(self->expects);
    attribution_free(self->attribution);
    availability_free(self->availability);
    slos_free(self->slos);
    g_string_free(self->first_run, TRUE);
    g_ptr_array_unref(self->refused);
    json_decref(self->findings);
    g_free(self);
}

static FinalState
final_state(const Run *run)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    Objects *objects = run_objects(run);
    FinalState state = {
        .pods = api_server_count(api, KIND_POD),
        .claims = api_server_count(api, KIND_CLAIM),
        .volumes = api_server_count(api, KIND_VOLUME),
        .attachments = api_server_count(api, KIND_ATTACHMENT),
    };

    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(api_server_get(api, objects_key_at(objects, KIND_POD, i)));
        state.pods_ready += pod != NULL && pod_is_ready(pod);
        state.pods_pending += pod != NULL && pod->phase == POD_PENDING;
    }
    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_CLAIM); i++) {
        const Claim *claim =
            CLAIM_CONST(api_server_get(api, objects_key_at(objects, KIND_CLAIM, i)));
        state.claims_bound += claim != NULL && claim->phase == CLAIM_BOUND;
    }
    for (unsigned i = 0; i < run_scenario(run)->n_drivers; i++)
        state.driver_volumes += run_driver_volumes(run, i);
    return state;
}

static void
add_expect(Results *self, const ExpectResult *result)
{
    unsigned index = (unsigned)(result->expect - self->scenario->expects);
    ExpectSummary *summary = &g_array_index(self->expects, ExpectSummary, index);

    if (summary->n_runs == 0 || (summary->worst.is_met && !result->is_met))
        summary->worst = *result;
    summary->n_runs++;
    summary->n_met += result->is_met;
}

static void
describe_first_run(Results *self, const Run *run, const Stages *stages)
{
    const GPtrArray *notes = run_notes(run);

    for (unsigned i = 0; i < notes->len; i++)
        g_ptr_array_add(self->refused, g_strdup(notes->pdata[i]));
    attribution_append_slowest(run, stages, self->first_run);
    if (run_load(run) == NULL)
        return;
    api_load_append_table(run_load(run), self->first_run);
    self->requests_peak = api_load_peak(run_load(run), &self->n_requests);
}

void
results_add(Results *self, const Run *run, const Stages *stages)
{
    unsigned n_expects;
    const ExpectResult *expects = run_expects(run, &n_expects);

    for (unsigned i = 0; i < n_expects; i++)
        add_expect(self, &expects[i]);
    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        const GArray *values = stages->samples[stage].values;
        for (unsigned i = 0; i < values->len; i++)
            sim_sample_add(&self->samples[stage], g_array_index(values, SimTime, i));
    }
    attribution_add(self->attribution, run, stages);
    availability_add(self->availability, run);
    slos_add(self->slos, run, stages);
    if (self->n_runs == 0)
        describe_first_run(self, run, stages);
    self->n_runs++;
    self->final = final_state(run);
    self->virtual_time = sim_now(run_sim(run));
    self->n_events += sim_events_fired(run_sim(run));
    self->n_writes += api_server_resource_version(cluster_api(run_cluster(run)));
}

void
results_set_findings(Results *self, json_t *findings)
{
    json_decref(self->findings);
    self->findings = findings;
}

SimSample *
results_stage(Results *self, Stage stage)
{
    return &self->samples[stage];
}

static gboolean
expect_is_met(const ExpectSummary *summary)
{
    return summary->n_runs > 0 && summary->n_met == summary->n_runs;
}

gboolean
results_are_good(Results *self)
{
    if (!slos_are_met(self->slos, self->availability))
        return FALSE;
    for (unsigned i = 0; i < self->expects->len; i++)
        if (!expect_is_met(&g_array_index(self->expects, ExpectSummary, i)))
            return FALSE;
    return TRUE;
}

/* ---- summary.json ---- */

/* Seconds; fifteen digits hold eleven days to the nanosecond. */
static json_t *
json_seconds(SimTime time)
{
    return json_real((double)time / (double)SIM_SECOND);
}

static json_t *
json_stage(SimSample *values)
{
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "count", (int)sim_sample_count(values),
                     "mean", json_seconds(sim_sample_mean(values)), "p50",
                     json_seconds(sim_sample_quantile(values, 0.5)), "p90",
                     json_seconds(sim_sample_quantile(values, 0.9)), "p99",
                     json_seconds(sim_sample_quantile(values, 0.99)), "max",
                     json_seconds(sim_sample_max(values)));
}

static json_t *
json_expects(Results *self)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < self->expects->len; i++) {
        const ExpectSummary *summary = &g_array_index(self->expects, ExpectSummary, i);
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:I, s:b}", "expect", self->scenario->expects[i].text, "at",
                            json_seconds(summary->worst.at), "found",
                            (json_int_t)summary->worst.count, "met", expect_is_met(summary)));
    }
    return list;
}

static json_t *
json_final(const FinalState *state)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "pods", (int)state->pods,
                     "podsReady", (int)state->pods_ready, "podsPending", (int)state->pods_pending,
                     "claims", (int)state->claims, "claimsBound", (int)state->claims_bound,
                     "volumes", (int)state->volumes, "volumeAttachments", (int)state->attachments,
                     "driverVolumes", (int)state->driver_volumes);
}

/* Returns: NULL if requests were not counted */
static json_t *
json_requests(const Results *self)
{
    return self->n_requests == 0 ? NULL
                                 : json_pack("{s:I, s:i}", "total", (json_int_t)self->n_requests,
                                             "mostInASecond", (int)self->requests_peak);
}

/* Returns: NULL if there are none */
static json_t *
json_warnings(const Scenario *scenario)
{
    json_t *list = scenario->warnings->len == 0 ? NULL : json_array();

    for (unsigned i = 0; i < scenario->warnings->len; i++)
        json_array_append_new(list, json_string(scenario->warnings->pdata[i]));
    return list;
}

json_t *
results_summary(Results *self)
{
    const Scenario *scenario = self->scenario;
    json_t *stages = json_object();
    json_t *ignored = json_array(), *refused = json_array();

    for (unsigned i = 0; i < N_STAGES; i++)
        if (sim_sample_count(&self->samples[i]) > 0)
            json_object_set_new(stages, stage_name((Stage)i), json_stage(&self->samples[i]));
    for (unsigned i = 0; i < scenario->ignored->len; i++)
        json_array_append_new(ignored, json_string(scenario->ignored->pdata[i]));
    for (unsigned i = 0; i < self->refused->len; i++)
        json_array_append_new(refused, json_string(self->refused->pdata[i]));
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:i, s:o, s:I, s:I, s:o, s:o*, s:o*, s:o*, s:o, s:o, s:o, "
        "s:O*, s:o*, s:o, s:o}",
        "version", results_version(), "scenario", scenario->name, "scenarioHash", scenario->hash,
        "seed", (json_int_t)self->seed, "replications", (int)self->n_runs, "virtualSeconds",
        json_seconds(self->virtual_time), "events", (json_int_t)self->n_events, "apiWrites",
        (json_int_t)self->n_writes, "stages", stages, "attribution",
        attribution_json(self->attribution), "availability", availability_json(self->availability),
        "apiRequests", json_requests(self), "final", json_final(&self->final), "slo",
        slos_json(self->slos, self->availability), "expect", json_expects(self), "findings",
        json_array_size(self->findings) > 0 ? self->findings : NULL, "warnings",
        json_warnings(scenario), "ignored", ignored, "refused", refused);
}

/* ---- The table ---- */

static void
append_times(GString *text, SimSample *values)
{
    const SimTime columns[] = {sim_sample_mean(values), sim_sample_quantile(values, 0.5),
                               sim_sample_quantile(values, 0.9), sim_sample_quantile(values, 0.99),
                               sim_sample_max(values)};
    char buffer[32];

    for (unsigned i = 0; i < G_N_ELEMENTS(columns); i++)
        g_string_append_printf(text, " %10s", short_time(columns[i], buffer, sizeof buffer));
}

static void
append_stages(GString *text, Results *self)
{
    g_string_append_printf(text, "%-10s %8s %10s %10s %10s %10s %10s\n", "STAGE", "COUNT", "MEAN",
                           "P50", "P90", "P99", "MAX");
    for (unsigned i = 0; i < N_STAGES; i++) {
        SimSample *values = &self->samples[i];
        if (sim_sample_count(values) == 0)
            continue;
        g_string_append_printf(text, "%-10s %8u", stage_name((Stage)i), sim_sample_count(values));
        append_times(text, values);
        g_string_append(text, "\n");
    }
}

static void
append_expects(GString *text, Results *self)
{
    for (unsigned i = 0; i < self->expects->len; i++) {
        const ExpectSummary *summary = &g_array_index(self->expects, ExpectSummary, i);
        g_string_append_printf(text,
                               "expect  %s  %s: ", expect_is_met(summary) ? "met    " : "NOT MET",
                               self->scenario->expects[i].text);
        if (summary->n_runs == 0)
            g_string_append(text, "the run ended before\n");
        else
            g_string_append_printf(text, "found %" PRId64 "\n", summary->worst.count);
    }
}

char *
results_table(Results *self)
{
    GString *text = g_string_new(NULL);
    char buffer[SIM_TIME_BUFFER];
    const FinalState *final = &self->final;

    g_string_append_printf(text, "%s, seed %" PRIu64, self->scenario->name, self->seed);
    if (self->n_runs > 1)
        g_string_append_printf(text, ", %u replications", self->n_runs);
    g_string_append_printf(text, ": %s of virtual time, %" PRIu64 " events\n\n",
                           sim_time_format(self->virtual_time / SIM_MS * SIM_MS, buffer),
                           self->n_events);
    append_stages(text, self);
    attribution_append_table(self->attribution, text);
    availability_append_table(self->availability, text);
    g_string_append(text, self->first_run->str);
    g_string_append_printf(
        text,
        "\nAt the end: %u pod%s (%u ready, %u pending), %u claim%s (%u bound), %u volume%s, "
        "%u volume attachment%s, %u volume%s in drivers\n",
        final->pods, plural(final->pods), final->pods_ready, final->pods_pending, final->claims,
        plural(final->claims), final->claims_bound, final->volumes, plural(final->volumes),
        final->attachments, plural(final->attachments), final->driver_volumes,
        plural(final->driver_volumes));
    slos_append(self->slos, self->availability, text);
    append_expects(text, self);
    json_auto_t *summary = results_summary(self);
    results_append_notices(summary, text);
    return g_string_free(text, FALSE);
}

/* ---- Files ---- */

/* How long a pod that had been Ready was not, before its deletion was asked for. Returns:
 * TIME_UNSET: it was never Ready */
static SimTime
not_ready_time(const Run *run, const PodTimes *pod, GArray *milestones)
{
    SimTime sum = 0, since = TIME_UNSET;
    gboolean was_ready = pod->created == TIME_UNSET; /* of a dump: perhaps */
    SimTime end = MIN(pod->deleted == TIME_UNSET ? SIM_TIME_MAX : pod->deleted,
                      pod->gone == TIME_UNSET ? sim_now(run_sim(run)) : pod->gone);

    milestones_of(run_milestones(run), pod->pod, milestones);
    for (unsigned i = milestones->len; i-- > 0;) {
        const Milestone *milestone = &g_array_index(milestones, Milestone, i);
        if (milestone->incarnation != pod->incarnation || milestone->at > end)
            continue;
        was_ready |= milestone->kind == MILESTONE_POD_READY;
        if (milestone->kind == MILESTONE_POD_NOT_READY)
            since = milestone->at;
        else if (since != TIME_UNSET && (milestone->kind == MILESTONE_POD_READY ||
                                         milestone->kind == MILESTONE_POD_STOPPED)) {
            sum += milestone->at - since;
            since = TIME_UNSET;
        }
    }
    return !was_ready ? TIME_UNSET : since == TIME_UNSET ? sum : sum + MAX(end - since, 0);
}

/* clang-format off */
static const ColumnType column_object_kind = {"{\"enum\": [\"pod\", \"claim\", \"volume\", \"snapshot\"]}", FALSE, "`pod`, `claim`, `volume`, `snapshot`"};
#define cell_object_kind cell_text

/* The values: of a pod, a claim, a volume, a snapshot. */
#define OBJECT_COLUMNS(X) \
    X("kind",        object_kind, NULL,      "the object's kind", \
      "pod", "claim", "volume", "snapshot") \
    X("namespace",   maybe_text,  NULL,      "its namespace; a volume has none", \
      pod->pod->namespace, claim->claim->namespace, volume->volume->namespace, snapshot->snapshot->namespace) \
    X("name",        text,        NULL,      "its name", \
      pod->pod->name, claim->claim->name, volume->volume->name, snapshot->snapshot->name) \
    X("incarnation", ordinal,     NULL,      "1 for the first object of this name, 2 for the next one", \
      pod->incarnation, claim->incarnation, volume->incarnation, snapshot->incarnation) \
    X("on",          maybe_text,  NULL,      "a pod's node; a claim's bound volume", \
      pod->node, claim->volume == NULL ? NULL : claim->volume->name, NULL, NULL) \
    X("created",     time,        "seconds", "when it was created; a volume: when its PersistentVolume was", \
      pod->created, claim->created, volume->created, snapshot->created) \
    X("scheduled",   time,        "seconds", "when a pod was bound to a node", \
      pod->scheduled, TIME_UNSET, TIME_UNSET, TIME_UNSET) \
    X("attached",    time,        "seconds", "when a pod's last volume was attached", \
      pod->attached, TIME_UNSET, TIME_UNSET, TIME_UNSET) \
    X("staged",      time,        "seconds", "when a pod's last volume was staged", \
      pod->staged, TIME_UNSET, TIME_UNSET, TIME_UNSET) \
    X("published",   time,        "seconds", "when a pod's last volume was published", \
      pod->published, TIME_UNSET, TIME_UNSET, TIME_UNSET) \
    X("ready",       time,        "seconds", "when a pod was Ready, a claim with a source Bound, a snapshot `readyToUse`", \
      pod->ready, claim->is_restored ? claim->bound : TIME_UNSET, TIME_UNSET, snapshot->ready) \
    X("asked",       time,        "seconds", "when the PV controller asked a provisioner for a claim, a volume's first CreateVolume began, a snapshot's content was created", \
      TIME_UNSET, claim->asked, volume->provision_started, snapshot->content_created) \
    X("provisioned", time,        "seconds", "when a claim's PersistentVolume was created, a volume's CreateVolume ended, a snapshot's content had the driver's handle", \
      TIME_UNSET, claim->volume_created, volume->provision_ended, snapshot->taken) \
    X("bound",       time,        "seconds", "when a claim or a volume was Bound", \
      TIME_UNSET, claim->bound, volume->bound, TIME_UNSET) \
    X("deleted",     time,        "seconds", "its deletionTimestamp; a volume: when it was released", \
      pod->deleted, claim->deleted, volume->released, snapshot->deleted) \
    X("gone",        time,        "seconds", "when it was gone", \
      pod->gone, claim->gone, volume->gone, snapshot->gone) \
    X("not ready",   maybe_span,  "seconds", "how long a pod was not Ready, from its first Ready until its deletion was asked for; empty: it never was Ready", \
      not_ready_time(stages->run, pod, milestones), TIME_UNSET, TIME_UNSET, TIME_UNSET)
const ResultTable objects_table = RESULT_TABLE("objects.csv", "kvolsim run: the times of the milestones of each object", NULL, OBJECT_COLUMNS(COLUMN));
/* clang-format on */

#define POD_CELL(name, type, unit, meaning, pod, claim, volume, snapshot)                          \
    CSV_CELL(name, type, unit, meaning, pod)
#define CLAIM_CELL(name, type, unit, meaning, pod, claim, volume, snapshot)                        \
    CSV_CELL(name, type, unit, meaning, claim)
#define VOLUME_CELL(name, type, unit, meaning, pod, claim, volume, snapshot)                       \
    CSV_CELL(name, type, unit, meaning, volume)
#define SNAPSHOT_CELL(name, type, unit, meaning, pod, claim, volume, snapshot)                     \
    CSV_CELL(name, type, unit, meaning, snapshot)

static void
append_pod_rows(const Stages *stages, gboolean older, ResultFile *file)
{
    const GArray *pods = stages_pods(stages);
    g_autoptr(GArray) milestones = g_array_new(FALSE, FALSE, sizeof(Milestone));

    for (unsigned i = 0; i < pods->len; i++) {
        const PodTimes *pod = &g_array_index(pods, PodTimes, i);
        if ((pod->created == TIME_UNSET) != older)
            continue;
        OBJECT_COLUMNS(POD_CELL);
        row_end(file);
    }
}

static void
objects_csv(const Run *run, const Stages *stages, ResultFile *file)
{
    const GArray *claims = stages_claims(stages), *volumes = stages_volumes(stages),
                 *snapshots = stages_snapshots(stages);

    results_append_header(file->text, run, "# ", "");
    row_header(file, &objects_table);
    append_pod_rows(stages, FALSE, file);
    append_pod_rows(stages, TRUE, file); /* than the run: a picture of starts leaves them out */
    for (unsigned i = 0; i < claims->len; i++) {
        const ClaimTimes *claim = &g_array_index(claims, ClaimTimes, i);
        OBJECT_COLUMNS(CLAIM_CELL);
        row_end(file);
    }
    for (unsigned i = 0; i < volumes->len; i++) {
        const VolumeTimes *volume = &g_array_index(volumes, VolumeTimes, i);
        OBJECT_COLUMNS(VOLUME_CELL);
        row_end(file);
    }
    for (unsigned i = 0; i < snapshots->len; i++) {
        const SnapshotTimes *snapshot = &g_array_index(snapshots, SnapshotTimes, i);
        OBJECT_COLUMNS(SNAPSHOT_CELL);
        row_end(file);
    }
}

/* clang-format off */
static const ColumnType column_maybe_code = {"{\"type\": \"string\", \"pattern\": \"^[A-Z_]+$\"}", TRUE, "word"};
#define member_maybe_code member_maybe_text

#define MILESTONE_COLUMNS(X) \
    X("t",           instant,    "seconds", "when the object reached it", milestone.at) \
    X("kind",        text,       NULL,      "the object's kind, as in Kubernetes", kind_class(object->kind)->kind) \
    X("namespace",   maybe_text, NULL,      "its namespace, if the kind has namespaces", object->namespace) \
    X("name",        text,       NULL,      "its name", object->name) \
    X("incarnation", count,      NULL,      "as in `objects.csv`; 0: the volume does not exist yet", milestone.incarnation) \
    X("milestone",   slug,       NULL,      "the name of the milestone", milestone_name((MilestoneKind)milestone.kind)) \
    X("node",        maybe_text, NULL,      "the node of a volume's milestone; the node that a pod is bound to", milestone.node) \
    X("code",        maybe_code, NULL,      "the gRPC code of a driver call that failed", milestone.code == CSI_OK ? NULL : csi_code_name((CsiCode)milestone.code))
const ResultTable milestones_table = RESULT_TABLE("milestones.jsonl", "kvolsim run: all milestones in order", NULL, MILESTONE_COLUMNS(COLUMN));
/* clang-format on */

static void
milestones_jsonl(const Run *run, const Stages *stages, ResultFile *file)
{
    const Milestones *log = run_milestones(run);

    (void)stages;
    results_append_header(file->text, run, "{\"run\":\"", "\"}");
    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone milestone = milestones_at(log, i);
        const ObjectKey *object = milestone.object;
        if (milestone.at == TIME_UNSET)
            continue;
        row_open(file, '{');
        MILESTONE_COLUMNS(JSON_MEMBER);
        row_close(file, '}');
        row_end(file);
    }
}

static void
requests_csv(const Run *run, const Stages *stages, ResultFile *file)
{
    (void)stages;
    if (run_load(run) == NULL)
        return;
    results_append_header(file->text, run, "# ", "");
    api_load_append_csv(run_load(run), file);
}

static void
metrics_prom(const Run *run, const Stages *stages, ResultFile *file)
{
    (void)stages;
    if (run_telemetry(run) == NULL)
        return;
    results_append_header(file->text, run, "# ", "");
    telemetry_append_text(run_telemetry(run), file);
}

static void
open_metrics(const Run *run, const Stages *stages, ResultFile *file)
{
    (void)stages;
    if (run_telemetry(run) != NULL)
        telemetry_append_open_metrics(run_telemetry(run), file);
}

/* The files of a run. A file to which nothing is appended is not written. The last ones are written
 * by kvolsim validate. */
static const struct {
    const char *name;
    /* NULL: written elsewhere */
    void (*write)(const Run *run, const Stages *stages, ResultFile *file);
} run_files[] = {
    {"objects.csv",                objects_csv               },
    {"milestones.jsonl",           milestones_jsonl          },
    {"events.jsonl",               events_jsonl              },
    {"availability.csv",           availability_csv          },
    {"availability-over-time.csv", availability_over_time_csv},
    {"attribution.csv",            attribution_csv           },
    {"chains.jsonl",               attribution_chains        },
    {"requests.csv",               requests_csv              },
    {"metrics.prom",               metrics_prom              },
    {"metrics.openmetrics.txt",    open_metrics              },
    {"trace.json",                 chrome_trace              },
    {"events.json",                event_list                },
    {"waits.csv",                  plot_waits                },
    {"distributions.csv",          plot_distributions        },
    {"over-time.csv",              plot_over_time            },
    {"node-volumes.csv",           plot_node_volumes         },
    {"client-rates.csv",           plot_client_rates         },
    {"binding-modes.csv",          plot_binding_modes        },
    {"journal.jsonl",              NULL                      },
    {"qq.dat",                     NULL                      },
};

void
results_remove_run(const char *folder)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(run_files); i++) {
        g_autofree char *path = g_build_filename(folder, run_files[i].name, NULL);
        remove(path);
    }
}

static gboolean
results_go_on(void *data)
{
    const Run *run = data;
    const RunOptions *options = run_options(run);

    return options->progress == NULL ||
           options->progress(options->progress_data, sim_now(run_sim(run)),
                             sim_events_fired(run_sim(run)));
}

gboolean
results_write_run(const Run *run, const Stages *stages, const char *folder, GError **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(run_files) && run_files[i].write != NULL; i++) {
        g_autoptr(ResultFile) file = result_file_new(folder, run_files[i].name);
        file->go_on = results_go_on;
        file->go_on_data = (Run *)run;
        run_files[i].write(run, stages, file);
        if (!result_file_finish(file, error))
            return FALSE;
    }
    return TRUE;
}

/* Adds the files that are in @of_run, by their paths below @folder. */
static void
add_written(GPtrArray *names, const char *folder, const char *of_run)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(run_files); i++) {
        g_autofree char *path = g_build_filename(of_run, run_files[i].name, NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            g_ptr_array_add(names, g_strdup(path + strlen(folder) + 1));
    }
}

/* The files of all replications: "replication-0/objects.csv". (owned) */
static GPtrArray *
written_files(const Results *self, const char *folder)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

    add_written(names, folder, folder);
    for (unsigned i = 0; i < self->n_runs && self->n_runs > 1; i++) {
        g_autofree char *of_run = result_folder_of_replication(folder, i, self->n_runs);
        add_written(names, folder, of_run);
    }
    return names;
}

gboolean
results_write_summary(Results *self, const char *folder, GError **error)
{
    json_auto_t *summary = results_summary(self);
    g_autoptr(GPtrArray) names = written_files(self, folder);

    if (!result_folder_seal(summary, folder, (const char *const *)names->pdata, names->len, error))
        return FALSE;
    char *text = json_dumps(summary, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    free(text);
    return result_file_write(folder, "summary.json", line, error);
}
