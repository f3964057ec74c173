/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "api-private.h"
#include "models/cluster/inspect.h"
#include "models/plan/plan.h"
#include "run/results/attribution.h"
#include "run/results/availability.h"

/* /kvolsim/v1/figures: the run's figures as if it ended now. */

/* Points of a distribution, from the shortest to the longest. */
#define QUANTILES 21
/* The latest seconds of a client's requests that are told one by one. */
#define SECONDS_SHOWN 60

static json_t *
distribution_json(SimSample *sample)
{
    json_t *points = json_array();

    for (int i = 0; i < QUANTILES; i++)
        json_array_append_new(
            points, json_integer(sim_sample_quantile(sample, (double)i / (QUANTILES - 1))));
    return json_pack("{s:i, s:I, s:I, s:I, s:o}", "count", (int)sim_sample_count(sample), "p50",
                     (json_int_t)sim_sample_quantile(sample, 0.5), "p99",
                     (json_int_t)sim_sample_quantile(sample, 0.99), "max",
                     (json_int_t)sim_sample_max(sample), "quantiles", points);
}

static json_t *
stages_json(Stages *stages)
{
    json_t *json = json_object();

    for (int i = 0; i < N_STAGES; i++)
        if (sim_sample_count(&stages->samples[i]) > 0)
            json_object_set_new(json, stage_name((Stage)i), distribution_json(&stages->samples[i]));
    return json;
}

/* ---- Requests by client ---- */

/* Adds the requests of a row to those of its client. @seconds: by second of the run */
static void
add_requests(json_t *client, const ApiLoadRow *row, GArray *seconds)
{
    json_object_set_new(client, "total",
                        json_integer(json_integer_value(json_object_get(client, "total")) +
                                     (json_int_t)row->total));
    for (unsigned i = 0; i < row->counts->len; i++) {
        int64_t second = row->first + i;
        if (second >= seconds->len)
            g_array_set_size(seconds, (unsigned)second + 1);
        g_array_index(seconds, uint32_t, second) += sim_log_index(row->counts, uint32_t, i);
    }
}

static void
finish_client(json_t *client, const GArray *seconds, int64_t now)
{
    json_t *latest = json_array();
    uint32_t peak = 0;

    for (unsigned i = 0; i < seconds->len; i++)
        peak = MAX(peak, g_array_index(seconds, uint32_t, i));
    for (int64_t second = MAX(now - SECONDS_SHOWN + 1, 0); second <= now; second++)
        json_array_append_new(
            latest,
            json_integer(second < seconds->len ? g_array_index(seconds, uint32_t, second) : 0));
    json_object_set_new(client, "peak", json_integer(peak));
    json_object_set_new(client, "latest", latest);
}

static void
see_process(void *data, const ProcessView *process)
{
    for (unsigned i = 0; i < process->components->len; i++) {
        const Component *component = process->components->pdata[i];
        const ApiClient *client = component->client;
        json_t *json = json_object_get(data, api_client_name(client));
        ApiClientBucket bucket = api_client_bucket(client);
        if (json == NULL || bucket.qps <= 0)
            continue;
        json_object_set_new(json, "qps", json_real(bucket.qps));
        json_object_set_new(json, "burst", json_real(bucket.burst));
    }
}

/* Returns: (owned): by name: total, peak of one second, latest seconds, limit */
static json_t *
clients_json(const Run *run)
{
    const ApiLoad *load = run_load(run);
    json_t *clients = json_object();
    int64_t now = sim_now(run_sim(run)) / SIM_SECOND;

    if (load == NULL)
        return clients;
    const GPtrArray *rows = api_load_rows(load);
    for (unsigned i = 0; i < rows->len; i++) {
        const char *name = ((const ApiLoadRow *)rows->pdata[i])->client;
        if (json_object_get(clients, name) != NULL)
            continue;
        g_autoptr(GArray) seconds = g_array_new(FALSE, TRUE, sizeof(uint32_t));
        json_t *client = json_object();
        json_object_set_new(clients, name, client);
        for (unsigned k = i; k < rows->len; k++) {
            const ApiLoadRow *row = rows->pdata[k];
            if (strcmp(row->client, name) == 0)
                add_requests(client, row, seconds);
        }
        finish_client(client, seconds, now);
    }
    cluster_inspect_processes(run_cluster(run), see_process, clients);
    return clients;
}

/* ---- All ---- */

static void
set_unless_null(json_t *json, const char *name, json_t *value /* taken */)
{
    if (value != NULL)
        json_object_set_new(json, name, value);
}

void
own_get_figures(ServeApi *self, Exchange *exchange)
{
    const Run *run = self->options.run;
    g_autoptr(Stages) stages = stages_new(run);
    g_autoptr(Availability) availability = availability_new();
    g_autoptr(Attribution) attribution = attribution_new();
    json_t *json =
        json_pack("{s:o, s:o}", "stages", stages_json(stages), "clients", clients_json(run));

    availability_add(availability, run);
    attribution_add(attribution, run, stages);
    set_unless_null(json, "availability", availability_json(availability));
    set_unless_null(json, "attribution", attribution_json(attribution));
    exchange_answer_json(exchange, 200, json);
}
