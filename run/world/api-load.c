/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts requests by client, verb and resource, second by second, for tables and pictures. A row is
 * found by the address of the client's name, since names are interned. Rows keep only the seconds
 * from their first request on. Answers do not arrive in the order of requests: a slightly earlier
 * request counts with the first. */
#include "api-load.h"

#include <inttypes.h>
#include <string.h>

#include "run/files/rows.h"
#include "sim/order.h"
#include "sim/pointer-map.h"

#define CLIENTS_SHOWN 8

typedef struct {
    const char *client;
    ApiLoadRow *rows[N_KINDS + 1][N_API_VERBS]; /* the last: Events */
} Client;

struct ApiLoad {
    Sim *sim;
    GPtrArray *clients;    /* of Client (owned) */
    GHashTable *by_client; /* name -> Client */
    PointerMap by_address; /* the same by the address of a name; a name may have several */
    GPtrArray *rows;       /* of ApiLoadRow (owned) */
    SimLog *seconds;       /* of uint32_t: requests of all clients */
};

/* clang-format off */
const ApiVerbWords api_verb_words[N_API_VERBS] = {
    [API_GET]           = {"GET",    "GET",    "",         "get",    "GET"          },
    [API_LIST]          = {"LIST",   "GET",    "",         "list",   "LIST"         },
    [API_CREATE]        = {"POST",   "POST",   "",         "create", "POST"         },
    [API_UPDATE]        = {"PUT",    "PUT",    "",         "update", "PUT"          },
    [API_UPDATE_STATUS] = {"PUT",    "PUT",    "status",   "update", "PUT status"   },
    [API_PATCH]         = {"PATCH",  "PATCH",  "",         "patch",  "PATCH"        },
    [API_PATCH_STATUS]  = {"PATCH",  "PATCH",  "status",   "patch",  "PATCH status" },
    [API_DELETE]        = {"DELETE", "DELETE", "",         "delete", "DELETE"       },
    [API_BIND]          = {"POST",   "POST",   "binding",  "create", "POST binding" },
    [API_EVICT]         = {"POST",   "POST",   "eviction", "create", "POST eviction"},
};
/* clang-format on */

static void
row_free(void *data)
{
    ApiLoadRow *row = data;

    g_free((char *)row->resource);
    sim_log_free(row->counts);
    g_free(row);
}

static Client *
find_client(ApiLoad *self, const char *name /* interned or static */)
{
    Client *client = pointer_map_get(&self->by_address, name);

    if (client != NULL)
        return client;
    client = g_hash_table_lookup(self->by_client, name);
    if (client == NULL) {
        client = g_new0(Client, 1);
        client->client = name;
        g_ptr_array_add(self->clients, client);
        g_hash_table_insert(self->by_client, (void *)name, client);
    }
    pointer_map_set(&self->by_address, name, client);
    return client;
}

static ApiLoadRow *
api_load_find_row(ApiLoad *self, const char *name, unsigned kind, ApiVerb verb)
{
    Client *client = find_client(self, name);
    ApiLoadRow **place = &client->rows[kind][verb];

    if (*place != NULL)
        return *place;
    ApiLoadRow *row = g_new0(ApiLoadRow, 1);
    const char *subresource = api_verb_words[verb].subresource;
    const char *resource = kind == N_KINDS ? "events" : kind_class((ObjectKind)kind)->resource;
    row->client = client->client;
    row->verb = api_verb_words[verb].verb;
    row->audit = api_verb_words[verb].audit;
    row->resource = g_strconcat(resource, *subresource == '\0' ? "" : "/", subresource, NULL);
    row->counts = sim_log_new(sim_cold(self->sim), sizeof(uint32_t));
    g_ptr_array_add(self->rows, row);
    *place = row;
    return row;
}

static void
count_at(SimLog *counts, int64_t place, uint32_t n)
{
    while (place >= counts->len)
        *(uint32_t *)sim_log_append(counts) = 0;
    sim_log_index(counts, uint32_t, (unsigned)place) += n;
}

static void
api_load_count(ApiLoad *self, ApiLoadRow *row, SimTime arrived_at)
{
    int64_t second = arrived_at / SIM_SECOND;

    if (row->total == 0)
        row->first = second;
    row->total++;
    /* Answers do not arrive in the order of requests: a slightly earlier request counts with the
     * first. */
    count_at(row->counts, MAX(second - row->first, 0), 1);
    count_at(self->seconds, second, 1);
}

static void
api_load_see_request(void *data, const RunRecord *record)
{
    const ApiRequest *request = record->request;
    ApiLoadRow *row = api_load_find_row(data, request->client, request->key->kind, request->verb);

    api_load_count(data, row, record->arrived_at);
    row->failed += record->code != API_OK;
}

static void
api_load_see_event(void *data, const RunRecord *record)
{
    const ApiEventWrite *write = record->event;
    ApiLoad *self = data;
    gboolean has_own_client = strcmp(write->client, "events") == 0;
    const char *client = has_own_client ? write->event.source : write->client;

    api_load_count(self,
                   api_load_find_row(self, client, N_KINDS,
                                     write->index == API_NEW_EVENT ? API_CREATE : API_PATCH),
                   write->arrives_at);
}

ApiLoad *
api_load_new(Records *records, Sim *sim)
{
    ApiLoad *self = g_new0(ApiLoad, 1);

    self->sim = sim;
    self->clients = g_ptr_array_new_with_free_func(g_free);
    self->by_client = g_hash_table_new(g_str_hash, g_str_equal);
    self->rows = g_ptr_array_new_with_free_func(row_free);
    self->seconds = sim_log_new(sim_cold(sim), sizeof(uint32_t));
    records_watch(records, RECORD_REQUEST, api_load_see_request, self);
    records_watch(records, RECORD_EVENT, api_load_see_event, self);
    return self;
}

void
api_load_free(ApiLoad *self)
{
    if (self == NULL)
        return;
    pointer_map_clear(&self->by_address, NULL);
    g_hash_table_unref(self->by_client);
    g_ptr_array_unref(self->clients);
    g_ptr_array_unref(self->rows);
    sim_log_free(self->seconds);
    g_free(self);
}

const GPtrArray *
api_load_rows(const ApiLoad *self)
{
    return self->rows;
}

unsigned
api_load_peak(const ApiLoad *self, uint64_t *total)
{
    unsigned peak = 0;

    *total = 0;
    for (unsigned i = 0; i < self->seconds->len; i++) {
        uint32_t requests = sim_log_index(self->seconds, uint32_t, i);
        peak = MAX(peak, requests);
        *total += requests;
    }
    return peak;
}

/* ---- The table ---- */

typedef struct {
    const char *client;
    uint64_t total, writes;
    unsigned peak, busy; /* maximum per second; seconds with requests */
    const ApiLoadRow *largest;
} ClientLoad;

static int
compare_loads(const void *a, const void *b)
{
    const ClientLoad *one = a, *other = b;

    return ORDER(other->total, one->total) ?: strcmp(one->client, other->client);
}

/* The requests of one client, of all verbs and resources. */
static ClientLoad
client_load(const ApiLoad *self, const Client *client)
{
    ClientLoad load = {.client = client->client};
    g_autoptr(SimLog) seconds = sim_log_new(NULL, sizeof(uint32_t));

    for (unsigned i = 0; i < self->rows->len; i++) {
        const ApiLoadRow *row = self->rows->pdata[i];
        if (row->client != client->client)
            continue;
        load.total += row->total;
        if (strcmp(row->verb, "GET") != 0 && strcmp(row->verb, "LIST") != 0)
            load.writes += row->total;
        if (load.largest == NULL || row->total > load.largest->total)
            load.largest = row;
        for (unsigned k = 0; k < row->counts->len; k++)
            count_at(seconds, row->first + k, sim_log_index(row->counts, uint32_t, k));
    }
    for (unsigned i = 0; i < seconds->len; i++) {
        load.peak = MAX(load.peak, sim_log_index(seconds, uint32_t, i));
        load.busy += sim_log_index(seconds, uint32_t, i) > 0;
    }
    return load;
}

void
api_load_append_table(const ApiLoad *self, GString *text)
{
    g_autoptr(GArray) loads = g_array_new(FALSE, FALSE, sizeof(ClientLoad));
    uint64_t total;
    unsigned peak = api_load_peak(self, &total);

    if (total == 0)
        return;
    for (unsigned i = 0; i < self->clients->len; i++) {
        ClientLoad load = client_load(self, self->clients->pdata[i]);
        g_array_append_val(loads, load);
    }
    g_array_sort(loads, compare_loads);
    g_string_append_printf(text, "\n%-28s %9s %9s %8s %12s  %s\n", "API REQUESTS OF", "REQUESTS",
                           "WRITES", "MOST/s", "MEAN/s BUSY", "MOSTLY");
    for (unsigned i = 0; i < loads->len && i < CLIENTS_SHOWN; i++) {
        const ClientLoad *load = &g_array_index(loads, ClientLoad, i);
        g_string_append_printf(text, "%-28s %9" PRIu64 " %9" PRIu64 " %8u %12.1f  %s %s\n",
                               load->client, load->total, load->writes, load->peak,
                               (double)load->total / load->busy, load->largest->verb,
                               load->largest->resource);
    }
    g_string_append_printf(text, "%-28s %9" PRIu64 " %9s %8u\n", "all", total, "", peak);
}

/* clang-format off */
static const ColumnType column_verb = {"{\"type\": \"string\", \"pattern\": \"^[A-Z]+$\"}", FALSE, "word"};
#define cell_verb cell_text
#define REQUEST_COLUMNS(X) \
    X("second",   count,   "seconds", "when they arrived; a second without requests has no row", (uint64_t)(row->first + k)) \
    X("client",   text,    NULL,      "the client's name", row->client) \
    X("verb",     verb,    NULL,      "as in metrics: `GET`, `LIST`, `PATCH`, ...", row->verb) \
    X("resource", text,    NULL,      "the resource, with its subresource", row->resource) \
    X("requests", ordinal, NULL,      "the number of answered requests and of writes of Events", requests)
const ResultTable requests_table = RESULT_TABLE("requests.csv", "kvolsim run: requests to the API server in each second", NULL, REQUEST_COLUMNS(COLUMN));
/* clang-format on */

void
api_load_append_csv(const ApiLoad *self, ResultFile *file)
{
    row_header(file, &requests_table);
    for (unsigned i = 0; i < self->rows->len; i++) {
        const ApiLoadRow *row = self->rows->pdata[i];
        for (unsigned k = 0; k < row->counts->len; k++) {
            uint32_t requests = sim_log_index(row->counts, uint32_t, k);
            if (requests == 0)
                continue;
            REQUEST_COLUMNS(CSV_CELL);
            row_end(file);
        }
    }
}
