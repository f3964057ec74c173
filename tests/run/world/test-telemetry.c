/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/metrics/metrics.h"
#include "run/world/metric-history.h"
#include "run/world/run.h"
#include "sim/random.h"
#include "tests/lib/test.h"

/* Compares the metrics of objects with a walk over all objects, and the history with the values at
 * each scrape. */

/* ---- The census ---- */

static Scenario *
telemetry_load(const char *name, const char *const *set)
{
    const char *source = g_getenv("KVOLSIM_SRCDIR");
    g_autofree char *file = g_strdup_printf("%s/scenarios/%s.yaml", source, name);
    const ScenarioOptions options = {.data_dir = source, .set = set};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    assert_non_null(scenario);
    return scenario;
}

static const char manager[] = "kube-controller-manager", kubelet[] = "kubelet";

static void
telemetry_count_volume(SimMetrics *plain, const Volume *volume)
{
    unsigned family = volume->phase == VOLUME_BOUND ? METRIC_PV_BOUND : METRIC_PV_UNBOUND;

    sim_series_add(metric_series(plain, METRIC_PV_TOTAL, manager, "N/A",
                                 volume->volume_mode == VOLUME_BLOCK ? "Block" : "Filesystem"),
                   1);
    sim_series_add(metric_series(plain, family, manager, volume_class(volume)), 1);
}

static void
count_claim(SimMetrics *plain, const Claim *claim)
{
    unsigned family = claim->phase == CLAIM_BOUND ? METRIC_PVC_BOUND : METRIC_PVC_UNBOUND;
    const char *class = claim_class(claim);

    sim_series_add(metric_series(plain, family, manager, claim->meta.key->namespace,
                                 class == NULL ? "" : class, ""),
                   1);
}

static void
count_node(SimMetrics *plain, const Node *node)
{
    const char *zone = string_map_get(node->meta.labels, "topology.kubernetes.io/zone");
    const char *region = string_map_get(node->meta.labels, "topology.kubernetes.io/region");
    g_autofree char *key = zone == NULL && region == NULL
                               ? g_strdup("")
                               : g_strdup_printf("%s:\\x00:%s", region == NULL ? "" : region,
                                                 zone == NULL ? "" : zone);

    sim_series_add(metric_series(plain, METRIC_ZONE_SIZE, manager, key), 1);
    sim_series_add(metric_series(plain, METRIC_ZONE_UNHEALTHY, manager, key),
                   node->ready.status != CONDITION_TRUE);
    for (unsigned i = 0; node->volumes_attached != NULL && i < node->volumes_attached->n_items;
         i++) {
        const char *driver = node->volumes_attached->items[i] + strlen("kubernetes.io/csi/");
        g_autofree char *plugin =
            g_strdup_printf("kubernetes.io/csi:%.*s", (int)strcspn(driver, "^"), driver);
        sim_series_add(
            metric_series(plain, METRIC_ADC_VOLUMES, manager, plugin, "actual_state_of_world"), 1);
    }
}

static const Volume *
telemetry_volume_of(const Run *run, const Claim *claim)
{
    ObjectKey *key =
        claim == NULL || claim->volume_name == NULL
            ? NULL
            : objects_find_key(run_objects(run), KIND_VOLUME, NULL, claim->volume_name);

    return key == NULL ? NULL : (const Volume *)api_server_get(cluster_api(run_cluster(run)), key);
}

static void
telemetry_count_pod(SimMetrics *plain, const Run *run, const Pod *pod)
{
    gboolean runs = pod->phase == POD_RUNNING;

    if (pod->node_name == NULL || pod_is_terminal(pod))
        return;
    sim_series_add(metric_series(plain, METRIC_KUBELET_RUNNING, kubelet, NULL), runs);
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        ObjectKey *key = pod_claim_key(run_objects(run), pod, &pod->volumes->items[i]);
        const Claim *claim = (const Claim *)api_server_get(cluster_api(run_cluster(run)), key);
        const Volume *volume = telemetry_volume_of(run, claim);
        if (volume == NULL || volume->source == NULL || volume->source->driver == NULL)
            continue;
        g_autofree char *plugin = g_strconcat("kubernetes.io/csi:", volume->source->driver, NULL);
        sim_series_add(
            metric_series(plain, METRIC_ADC_VOLUMES, manager, plugin, "desired_state_of_world"), 1);
        sim_series_add(metric_series(plain, METRIC_VOLUMES_IN_USE, manager, pod->node_name, plugin),
                       1);
        if (runs)
            sim_series_set(
                metric_series(plain, METRIC_KUBELET_CAPACITY, kubelet, key->namespace, key->name),
                claim->capacity_bytes);
    }
}

static void
count_objects(SimMetrics *plain, const Run *run)
{
    static const ObjectKind kinds[] = {KIND_VOLUME, KIND_CLAIM, KIND_NODE, KIND_POD};

    for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++) {
        for (uint32_t i = 0; i < objects_n_keys(run_objects(run), kinds[k]); i++) {
            const Object *object = api_server_get(cluster_api(run_cluster(run)),
                                                  objects_key_at(run_objects(run), kinds[k], i));
            if (object == NULL)
                continue;
            if (kinds[k] == KIND_VOLUME)
                telemetry_count_volume(plain, (const Volume *)object);
            else if (kinds[k] == KIND_CLAIM)
                count_claim(plain, (const Claim *)object);
            else if (kinds[k] == KIND_NODE)
                count_node(plain, (const Node *)object);
            else
                telemetry_count_pod(plain, run, (const Pod *)object);
        }
    }
}

/* All series of the counted families with a value other than 0, as text. (owned) */
static char *
counts_text(const SimMetrics *metrics)
{
    static const unsigned counted[] = {
        METRIC_PV_TOTAL,    METRIC_PV_BOUND,       METRIC_PV_UNBOUND,      METRIC_PVC_BOUND,
        METRIC_PVC_UNBOUND, METRIC_ADC_VOLUMES,    METRIC_VOLUMES_IN_USE,  METRIC_KUBELET_CAPACITY,
        METRIC_ZONE_SIZE,   METRIC_ZONE_UNHEALTHY, METRIC_KUBELET_RUNNING,
    };
    g_autoptr(GPtrArray) sorted = sim_metrics_sorted(metrics);
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < sorted->len; i++) {
        const SimSeries *series = sorted->pdata[i];
        for (unsigned k = 0; k < G_N_ELEMENTS(counted); k++)
            if (series->family == &metric_families[counted[k]] && series->sum != 0)
                g_string_append_printf(text, "%s{%s} %" G_GINT64_FORMAT "\n", series->family->name,
                                       series->labels, series->sum);
    }
    return g_string_free(text, FALSE);
}

/* MET-111 */
static void
check_health(SimMetrics *metrics)
{
    const GPtrArray *all = sim_metrics_all(metrics);
    GHashTable *by_labels[3];
    static const unsigned families[] = {METRIC_ZONE_SIZE, METRIC_ZONE_UNHEALTHY,
                                        METRIC_ZONE_HEALTH};

    for (unsigned k = 0; k < 3; k++) {
        by_labels[k] = g_hash_table_new(g_str_hash, g_str_equal);
        for (unsigned i = 0; i < all->len; i++) {
            SimSeries *series = all->pdata[i];
            if (series->family == &metric_families[families[k]])
                g_hash_table_insert(by_labels[k], (void *)series->labels, series);
        }
    }
    GHashTableIter iter;
    void *labels, *size;
    g_hash_table_iter_init(&iter, by_labels[0]);
    while (g_hash_table_iter_next(&iter, &labels, &size)) {
        int64_t n = ((SimSeries *)size)->sum,
                unhealthy = ((SimSeries *)g_hash_table_lookup(by_labels[1], labels))->sum;
        assert_int_equal(((SimSeries *)g_hash_table_lookup(by_labels[2], labels))->sum,
                         n == 0 ? 100 : 100 * (n - unhealthy) / n);
    }
    for (unsigned k = 0; k < 3; k++)
        g_hash_table_unref(by_labels[k]);
}

/* Objects are created and deleted, change their class, grow, are shared by pods, exist before;
 * nodes die, leave and join; components crash. The times differ from those of scrapes, so some
 * changes fall between two counts, others together before one. */
TEST(counts_are_those_of_a_walk)
{
    static const char *const one_goes[] = {"spec.workload[2].delete.name=web-1", NULL};
    static const struct {
        const char *name;
        const char *const *set;
    } cases[] = {
        {"quickstart",                    NULL    },
        {"static-binding",                NULL    },
        {"file-storage",                  NULL    },
        {"file-storage",                  one_goes}, /* the claim stays with five others */
        {"local-volumes",                 NULL    },
        {"expand-online",                 NULL    },
        {"zone-outage",                   NULL    },
        {"rolling-reboot",                NULL    },
        {"autoscaler-and-limits",         NULL    },
        {"delete-in-use",                 NULL    },
        {"claim-lost",                    NULL    },
        {"default-class-retroactive",     NULL    },
        {"job-with-volumes",              NULL    },
        {"daily-churn",                   NULL    },
        {"node-power-off-out-of-service", NULL    },
        {"controller-restart-mid-bind",   NULL    },
        {"reclaim-retain",                NULL    },
    };
    unsigned n_counts = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Scenario) scenario = telemetry_load(cases[i].name, cases[i].set);
        g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = 1, .measured = TRUE}, NULL);
        SimMetrics *metrics = sim_metrics(run_sim(run));
        for (SimTime at = SIM_SECOND; at < 1000 * SIM_SECOND; at += 2 * SIM_SECOND + at / 7) {
            g_autoptr(SimMetrics) plain = sim_metrics_new(NULL);
            assert_int_equal(run_advance(run, at), RUN_DONE);
            sim_metrics_collect(metrics, sim_now(run_sim(run)));
            count_objects(plain, run);
            g_autofree char *found = counts_text(metrics), *want = counts_text(plain);
            if (strcmp(found, want) != 0)
                fail_msg("%s at %.3f s:\n%snot\n%s", cases[i].name, (double)at / SIM_SECOND, found,
                         want);
            check_health(metrics);
            n_counts += *want != '\0';
        }
    }
    assert_true(n_counts > 300);
}

/* ---- The history ---- */

static const double bounds[] = {1, 0};
static const SimFamily families[] = {
    {"adds_total",   "Counts.",           SIM_COUNTER,   1,    "name", NULL  },
    {"depth",        "Goes up and down.", SIM_GAUGE,     1e-9, "name", NULL  },
    {"held",         "Is there or not.",  SIM_COLLECTED, 1,    "name", NULL  },
    {"took_seconds", "Lasts.",            SIM_HISTOGRAM, 1e-9, "name", bounds},
};

#define N_SERIES 24
#define EPOCH 1000

/* The simple way: all values at every scrape. */
typedef struct {
    SimTime at;
    gboolean is_there[N_SERIES];
    int64_t sums[N_SERIES];
    uint64_t counts[N_SERIES];
} TelemetryRecord;

static void
append_sample(GString *text,
              const SimSeries *series,
              const char *name,
              const char *suffix,
              const char *extra,
              double value,
              SimTime at)
{
    g_string_append_printf(text, "%s%s{%s%s} ", name, suffix, series->labels, extra);
    sim_metrics_append_number(text, value);
    g_string_append_printf(text, " %d.%03d\n", (int)(EPOCH + at / SIM_SECOND),
                           (int)(at % SIM_SECOND / SIM_MS));
}

static void
append_record(GString *text, const SimSeries *series, const TelemetryRecord *record)
{
    double count = (double)record->counts[series->number];
    double sum = (double)record->sums[series->number] * series->family->unit;

    if (!record->is_there[series->number] || (series->family == &families[2] && sum == 0))
        return;
    if (series->family == &families[0]) {
        append_sample(text, series, "adds", "_total", "", sum, record->at);
    } else if (series->family == &families[3]) {
        append_sample(text, series, "took_seconds", "_bucket", ",le=\"+Inf\"", count, record->at);
        append_sample(text, series, "took_seconds", "_count", "", count, record->at);
        append_sample(text, series, "took_seconds", "_sum", "", sum, record->at);
    } else {
        append_sample(text, series, series->family->name, "", "", sum, record->at);
    }
}

/* (owned) */
static char *
plain_text(const SimMetrics *metrics, const GArray *records)
{
    static const char *const headers[] = {
        "# HELP adds Counts.\n# TYPE adds counter\n",
        "# HELP depth Goes up and down.\n# TYPE depth gauge\n",
        "# HELP held Is there or not.\n# TYPE held gauge\n",
        "# HELP took_seconds Lasts.\n# TYPE took_seconds histogram\n"};
    g_autoptr(GPtrArray) sorted = sim_metrics_sorted(metrics);
    GString *text = g_string_new(NULL);

    for (unsigned f = 0; f < G_N_ELEMENTS(families); f++) {
        g_autoptr(GString) samples = g_string_new(NULL);
        for (unsigned i = 0; i < sorted->len; i++)
            for (unsigned k = 0; k < records->len; k++)
                if (((SimSeries *)sorted->pdata[i])->family == &families[f])
                    append_record(samples, sorted->pdata[i],
                                  &g_array_index(records, TelemetryRecord, k));
        if (samples->len > 0)
            g_string_append_printf(text, "%s%s", headers[f], samples->str);
    }
    g_string_append(text, "# EOF\n");
    return g_string_free(text, FALSE);
}

/* A counter only grows; other values are 0 at times. Most stay the same from scrape to scrape, and
 * some series begin late. */
static void
change_some(SimMetrics *metrics, SimStream stream, unsigned scrape)
{
    for (unsigned i = 0; i < MIN(scrape + 4, N_SERIES); i++) {
        g_autofree char *name = g_strdup_printf("series-%u", i);
        SimSeries *series =
            sim_metrics_series(metrics, &families[i % 4], "test", (const char *const[]){name});
        uint64_t bits = sim_random_bits(stream, i, scrape);
        if (bits % 4 != 0)
            continue;
        if (i % 4 == 0)
            sim_series_add(series, (int64_t)(bits >> 8) % 5);
        else if (i % 4 == 3)
            sim_series_observe(series, (int64_t)(bits >> 30));
        else
            sim_series_set(series, (int64_t)((bits >> 8) % 3) * (int64_t)((bits >> 16) % 1000000));
    }
}

/* MET-161. Scrapes at every interval, which doubles when there are sixty: scrapes at its odd
 * multiples are removed. */
TEST(history_is_what_each_scrape_found)
{
    static const unsigned n_scrapes[] = {0, 1, 5, 59, 60, 61, 90, 200};

    for (unsigned turn = 0; turn < G_N_ELEMENTS(n_scrapes); turn++) {
        g_autoptr(SimMetrics) metrics = sim_metrics_new(NULL);
        g_autoptr(MetricHistory) history = metric_history_new(metrics, NULL);
        g_autoptr(GArray) records = g_array_new(FALSE, FALSE, sizeof(TelemetryRecord));
        g_autoptr(GString) text = g_string_new(NULL);
        SimStream stream = sim_stream_from(turn, 0, "history");
        SimTime interval = 15 * SIM_SECOND;
        for (unsigned scrape = 0; scrape < n_scrapes[turn]; scrape++) {
            TelemetryRecord record = {.at = metric_history_next_scrape(history)};
            assert_int_equal(record.at % interval, 0);
            change_some(metrics, stream, scrape);
            metric_history_scrape(history);
            for (unsigned i = 0; i < sim_metrics_all(metrics)->len; i++) {
                const SimSeries *series = sim_metrics_all(metrics)->pdata[i];
                record.is_there[i] = TRUE;
                record.sums[i] = series->sum;
                record.counts[i] = series->count;
            }
            g_array_append_val(records, record);
            if (records->len < 60)
                continue;
            interval *= 2;
            for (unsigned k = records->len; k-- > 0;)
                if (g_array_index(records, TelemetryRecord, k).at % interval != 0)
                    g_array_remove_index(records, k);
        }
        change_some(metrics, stream, 1000); /* changes after the last scrape are not reported */
        ResultFile file = {.text = text};
        metric_history_append(history, EPOCH, &file);
        g_autofree char *want = plain_text(metrics, records);
        assert_string_equal(text->str, want);
    }
}
