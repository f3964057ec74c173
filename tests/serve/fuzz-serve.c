/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz-serve [ROUNDS [SEED [SECONDS]]]: requests of all kinds to a served cluster, without sockets:
 * paths, parameters, types and bodies are put together at random and spoilt. Each is answered once,
 * with a code of HTTP and, if it says so, with JSON. SECONDS: go on for so long, whatever ROUNDS
 * is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/files/packed.h"
#include "serve/api/api.h"
#include "tests/lib/spoil.h"

static const char scenario_text[] =
    "apiVersion: kvolsim.io/v1\n"
    "kind: Scenario\n"
    "metadata: {name: fuzz}\n"
    "spec:\n"
    "  until: 24h\n"
    "  nodes: [{count: 3, name: 'node-%d', zones: [zone-a]}]\n"
    "  drivers: [{name: ebs.csi.aws.com, profile: aws-ebs-gp3}]\n"
    "---\n"
    "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: "
    "ebs.csi.aws.com}\n"
    "---\n"
    "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: "
    "{storageClassName: fast,\n"
    " accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n"
    "---\n"
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: "
    "{matchLabels: {app: a}},\n"
    " template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}}}\n";

typedef struct {
    Exchange base;
    unsigned n_answers;
    gboolean is_stream;
} FuzzExchange;

typedef struct {
    Scenario *scenario;
    Run *run;
    ServeClock *clock;
    ServeSession *session;
    ServeApi *api;
    GRand *random;
    GPtrArray *bodies; /* of json_t */
    GPtrArray *streams;
    unsigned n_done, n_refused;
    unsigned long codes[600];
} Fuzzer;

static int
draw(Fuzzer *self, gsize n)
{
    return n > 0 ? g_rand_int_range(self->random, 0, (gint32)n) : 0;
}

#define PICK(self, words) ((words)[draw((self), G_N_ELEMENTS(words))])

/* ---- The other end ---- */

static Fuzzer *fuzzer; /* of the classes' functions, which have no data */

static void
fail(const Exchange *exchange, const char *text)
{
    fprintf(stderr, "%s: %s %s\n%.2000s\n", text, exchange->request.method, exchange->request.path,
            exchange->request.body);
    abort();
}

static void
fuzz_answer(Exchange *exchange, unsigned code, const char *content_type, GBytes *body)
{
    FuzzExchange *self = (FuzzExchange *)exchange;
    gsize length;
    const char *text = g_bytes_get_data(body, &length);

    if (++self->n_answers > 1 || self->is_stream)
        fail(exchange, "a second answer");
    if (code < 200 || code > 599)
        fail(exchange, "a code that HTTP has not");
    if (g_str_has_prefix(content_type, "application/json")) {
        json_t *json = json_loadb(text, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        if (json == NULL)
            fail(exchange, "an answer that is no JSON");
        json_decref(json);
    }
    fuzzer->codes[code]++;
    fuzzer->n_done += code < 400;
    fuzzer->n_refused += code >= 400;
}

static void
fuzz_stream(Exchange *exchange, const char *content_type)
{
    (void)content_type;
    ((FuzzExchange *)exchange)->is_stream = TRUE;
}

static void
fuzz_wake(Exchange *exchange)
{
    (void)exchange;
}

static const ExchangeClass fuzz_class = {fuzz_answer, fuzz_stream, fuzz_wake};

void
exchange_unref(Exchange *self)
{
    if (self == NULL || --self->refs > 0)
        return;
    g_free((char *)self->request.path);
    g_free((char *)self->request.body);
    g_hash_table_unref(self->request.query);
    g_ptr_array_unref(self->headers);
    g_free(self);
}

/* A client takes some lines, and goes at last. */
static void
serve_streams(Fuzzer *self)
{
    for (unsigned i = self->streams->len; i-- > 0;) {
        Exchange *exchange = self->streams->pdata[i];
        gboolean is_over = FALSE;
        g_autoptr(GBytes) bytes = exchange->stream_class->pull(exchange->stream_data, &is_over);

        if (!is_over && draw(self, 40) > 0)
            continue;
        exchange->is_over = TRUE;
        exchange->stream_class->end(exchange->stream_data);
        exchange->stream_class = NULL;
        g_ptr_array_remove_index_fast(self->streams, i);
        exchange_unref(exchange);
    }
}

/* ---- Requests ---- */

static void
append_spoilt(Fuzzer *self, GString *text, int one_in)
{
    if (draw(self, (gsize)one_in) == 0)
        spoil_text(text, self->random);
}

static char *
random_path(Fuzzer *self)
{
    static const char *const others[] = {"/api",
                                         "/apis",
                                         "/api/v1",
                                         "/apis/apps/v1",
                                         "/openapi/v2",
                                         "/openapi/v3",
                                         "/openapi/v3/apis/apps/v1",
                                         "/version",
                                         "/healthz"};
    static const char *const own[] = {"/kvolsim/v1/clock",        "/kvolsim/v1/why",
                                      "/kvolsim/v1/explain",      "/kvolsim/v1/attribution",
                                      "/kvolsim/v1/faults",       "/kvolsim/v1/actions",
                                      "/kvolsim/v1/sequence",     "/kvolsim/v1/save",
                                      "/kvolsim/v1/not-modelled", "/kvolsim/v1"};
    static const char *const resources[][2] = {
        {"/api/v1",                            "pods"                     },
        {"/api/v1",                            "nodes"                    },
        {"/api/v1",                            "persistentvolumeclaims"   },
        {"/api/v1",                            "persistentvolumes"        },
        {"/api/v1",                            "events"                   },
        {"/api/v1",                            "configmaps"               },
        {"/api/v1",                            "namespaces"               },
        {"/api/v1",                            "services"                 },
        {"/api/v1",                            "bindings"                 },
        {"/apis/apps/v1",                      "deployments"              },
        {"/apis/apps/v1",                      "statefulsets"             },
        {"/apis/apps/v1",                      "replicasets"              },
        {"/apis/storage.k8s.io/v1",            "storageclasses"           },
        {"/apis/storage.k8s.io/v1",            "volumeattachments"        },
        {"/apis/storage.k8s.io/v1",            "csinodes"                 },
        {"/apis/batch/v1",                     "jobs"                     },
        {"/apis/policy/v1",                    "poddisruptionbudgets"     },
        {"/apis/rbac.authorization.k8s.io/v1", "roles"                    },
        {"/apis/events.k8s.io/v1",             "events"                   },
        {"/apis/coordination.k8s.io/v1",       "leases"                   },
        {"/apis/apiextensions.k8s.io/v1",      "customresourcedefinitions"},
        {"/apis/example.com/v1",               "toys"                     },
        {"/apis/authorization.k8s.io/v1",      "selfsubjectaccessreviews" },
    };
    static const char *const names[] = {"data",    "web", "node-0", "node-1", "fast",
                                        "default", "k1",  "a",      "x.y"};
    static const char *const parts[] = {"status", "scale", "eviction", "binding",
                                        "log",    "exec",  "token",    "finalize"};
    static const char *const cluster[] = {
        "nodes",    "persistentvolumes", "namespaces", "storageclasses",
        "csinodes", "volumeattachments", NULL};
    const char *const *row = resources[draw(self, G_N_ELEMENTS(resources))];
    gboolean is_cluster = g_strv_contains(cluster, row[1]) || draw(self, 20) == 0;
    int kind = draw(self, 12);
    GString *path = g_string_new(kind == 0   ? PICK(self, own)
                                 : kind == 1 ? PICK(self, others)
                                             : row[0]);

    if (kind > 1) {
        if (!is_cluster)
            g_string_append_printf(path, "/namespaces/%s",
                                   draw(self, 12) > 0 ? "default" : PICK(self, names));
        g_string_append_printf(path, "/%s", row[1]);
        if (draw(self, 3) > 0)
            g_string_append_printf(path, "/%s", PICK(self, names));
        if (draw(self, 5) == 0)
            g_string_append_printf(path, "/%s", PICK(self, parts));
    }
    append_spoilt(self, path, 20);
    if (!g_utf8_validate(path->str, (gssize)path->len, NULL)) /* a server refuses it */
        g_string_assign(path, "/api/v1/pods");
    return g_string_free(path, FALSE);
}

static GHashTable *
random_query(Fuzzer *self)
{
    static const char *const texts[][2] = {
        {"watch",               "true"                                                   },
        {"limit",               "1"                                                      },
        {"limit",               "-5"                                                     },
        {"continue",            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0"},
        {"resourceVersion",     "1"                                                      },
        {"resourceVersion",     "0"                                                      },
        {"resourceVersion",     "99999999999999999999"                                   },
        {"labelSelector",       "app=a"                                                  },
        {"labelSelector",       "a in (b,c),!d,e!=f"                                     },
        {"labelSelector",       "in )("                                                  },
        {"fieldSelector",       "metadata.name=web"                                      },
        {"fieldSelector",       "spec.nodeName!=node-0,status.phase=Running"             },
        {"dryRun",              "All"                                                    },
        {"fieldManager",        "m"                                                      },
        {"force",               "true"                                                   },
        {"fieldValidation",     "Strict"                                                 },
        {"fieldValidation",     "Ignore"                                                 },
        {"sendInitialEvents",   "true"                                                   },
        {"allowWatchBookmarks", "true"                                                   },
        {"timeoutSeconds",      "1"                                                      },
        {"includeObject",       "Object"                                                 },
        {"includeObject",       "None"                                                   },
        {"gracePeriodSeconds",  "0"                                                      },
        {"propagationPolicy",   "Foreground"                                             },
        {"object",              "pod/web"                                                },
        {"format",              "text"                                                   },
        {"level",               "developer"                                              }
    };
    GHashTable *query = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

    for (int i = draw(self, 4); i > 0; i--) {
        const char *const *row = texts[draw(self, G_N_ELEMENTS(texts))];
        GString *value = g_string_new(row[1]);
        append_spoilt(self, value, 6);
        g_hash_table_replace(query, g_strdup(row[0]), g_string_free(value, FALSE));
    }
    return query;
}

/* Returns: (owned): a body: recorded or made, and spoilt */
static char *
random_body(Fuzzer *self, gsize *length)
{
    static const char *const made[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"spec\": {\"replicas\": 3}}",
        "{\"metadata\": {\"labels\": {\"a\": \"b\"}}}",
        "[{\"op\": \"add\", \"path\": \"/metadata/labels/x\", \"value\": \"y\"}]",
        "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"}, "
        "\"data\": {\"a\": \"b\"}}",
        "{\"metadata\": {\"generateName\": \"k\"}, \"data\": {\"a\": \"b\"}}",
        "{\"metadata\": {\"finalizers\": [\"a/b\"]}}",
        "{\"propagationPolicy\": \"Orphan\", \"preconditions\": {\"uid\": \"x\"}}",
        "{\"speed\": 0}",
        "{\"speed\": \"max\"}",
        "{\"for\": \"1s\"}",
        "{\"step\": \"event\"}",
        "{\"condition\": \"pvc/data Bound\", \"for\": \"1s\"}",
        "{\"node\": \"node-0\", \"do\": \"power-off\", \"restartAfter\": \"1s\"}",
        "{\"drain\": {\"node\": \"node-1\"}}",
        "{\"create\": {\"manifest\": \"/etc/passwd\"}}",
        "{\"target\": {\"name\": \"node-0\"}}",
        "{\"metadata\": {\"name\": \"toys.example.com\"}, \"spec\": {\"group\": \"example.com\", "
        "\"scope\": \"Namespaced\", \"names\":"
        " {\"plural\": \"toys\", \"kind\": \"Toy\"}, \"versions\": [{\"name\": \"v1\", \"served\": "
        "true, \"storage\": true}]}}"};
    GString *text;

    if (draw(self, 2) == 0) {
        json_t *body = self->bodies->pdata[draw(self, self->bodies->len)];
        json_t *spoilt = draw(self, 3) == 0 ? spoil_json(body, self->random) : json_incref(body);
        char *json = json_dumps(spoilt != NULL ? spoilt : body, JSON_ENCODE_ANY);
        text = g_string_new(json);
        free(json);
        json_decref(spoilt);
    } else {
        text = g_string_new(PICK(self, made));
    }
    append_spoilt(self, text, 4);
    *length = text->len;
    return g_string_free(text, FALSE);
}

/* A request that makes sense: an object of a kind at its place, under one of few names. */
static void
make_sound(Fuzzer *self, ExchangeRequest *request)
{
    static const char *const places[][2] = {
        {"Pod",                   "/api/v1/namespaces/default/pods"                        },
        {"PersistentVolumeClaim", "/api/v1/namespaces/default/persistentvolumeclaims"      },
        {"PersistentVolume",      "/api/v1/persistentvolumes"                              },
        {"Service",               "/api/v1/namespaces/default/services"                    },
        {"Node",                  "/api/v1/nodes"                                          },
        {"Deployment",            "/apis/apps/v1/namespaces/default/deployments"           },
        {"StatefulSet",           "/apis/apps/v1/namespaces/default/statefulsets"          },
        {"PodDisruptionBudget",   "/apis/policy/v1/namespaces/default/poddisruptionbudgets"},
    };
    static const char *const names[] = {"data", "web", "a", "b", "c"};
    static const char *const methods[] = {"POST", "POST", "PUT", "PATCH", "DELETE"};
    static const char *const types[] = {"application/merge-patch+json",
                                        "application/strategic-merge-patch+json",
                                        "application/apply-patch+yaml"};
    json_auto_t *object = json_deep_copy(self->bodies->pdata[draw(self, self->bodies->len)]);
    json_t *metadata = json_object_get(object, "metadata");
    const char *kind = json_string_value(json_object_get(object, "kind")),
               *name = PICK(self, names);
    gsize place = 0;

    while (place < G_N_ELEMENTS(places) && g_strcmp0(places[place][0], kind) != 0)
        place++;
    if (place == G_N_ELEMENTS(places) || metadata == NULL)
        return;
    static const char *const dropped[] = {"uid", "resourceVersion", "ownerReferences",
                                          "managedFields", "deletionTimestamp"};
    for (gsize i = 0; i < G_N_ELEMENTS(dropped); i++)
        json_object_del(metadata, dropped[i]);
    json_object_set_new(metadata, "name", json_string(name));
    json_object_set_new(metadata, "namespace", json_string("default"));
    json_t *spoilt = draw(self, 3) == 0 ? spoil_json(object, self->random) : json_incref(object);
    char *text = json_dumps(spoilt != NULL ? spoilt : object, JSON_ENCODE_ANY);
    json_decref(spoilt);
    request->method = PICK(self, methods);
    gboolean is_post = strcmp(request->method, "POST") == 0;
    g_free((char *)request->path);
    g_free((char *)request->body);
    request->path =
        is_post ? g_strdup(places[place][1]) : g_strdup_printf("%s/%s", places[place][1], name);
    request->body = strcmp(request->method, "DELETE") == 0 ? g_strdup("{}") : g_strdup(text);
    request->length = strlen(request->body);
    request->content_type =
        strcmp(request->method, "PATCH") == 0 ? PICK(self, types) : "application/json";
    free(text);
}

static void
fuzz_round(Fuzzer *self)
{
    static const char *const methods[] = {"GET",   "GET",   "GET",    "POST", "PUT",
                                          "PATCH", "PATCH", "DELETE", "HEAD"};
    static const char *const types[] = {"application/json",
                                        "application/json",
                                        "application/yaml",
                                        "application/merge-patch+json",
                                        "application/strategic-merge-patch+json",
                                        "application/json-patch+json",
                                        "application/apply-patch+yaml",
                                        "application/vnd.kubernetes.protobuf",
                                        "",
                                        "text/xml"};
    static const char *const accepts[] = {
        "application/json",
        "*/*",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
        ""};
    FuzzExchange *exchange = g_new0(FuzzExchange, 1);
    gsize length;
    char *body = random_body(self, &length);

    exchange->base = (Exchange){
        .class = &fuzz_class,
        .request = {.method = PICK(self, methods),
                    .path = random_path(self),
                    .query = random_query(self),
                    .accept = PICK(self, accepts),
                    .content_type = PICK(self, types),
                    .user_agent = "fuzz/1",
                    .if_none_match = "",
                    .body = body,
                    .length = length},
        .headers = g_ptr_array_new_with_free_func(g_free),
        .refs = 1
    };
    if (draw(self, 2) == 0)
        make_sound(self, &exchange->base.request);
    serve_api_handle(self->api, exchange_ref(&exchange->base));
    for (unsigned i = 0; i < 20000 && exchange->n_answers == 0 && !exchange->is_stream; i++)
        g_main_context_iteration(NULL, FALSE);
    if (exchange->n_answers == 0 && !exchange->is_stream)
        fail(&exchange->base, "no answer");
    exchange_unref(&exchange->base);
    if (exchange->is_stream && exchange->base.stream_class != NULL)
        g_ptr_array_add(self->streams, exchange);
    else
        exchange_unref(&exchange->base);
    g_main_context_iteration(NULL, FALSE);
    serve_streams(self);
    serve_clock_set_speed(self->clock, 0);
}

/* ---- The whole ---- */

static gboolean
read_bodies(Fuzzer *self)
{
    g_autofree char *path = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "serve",
                                             "recorded-writes.jsonl.xz", NULL);
    g_autofree char *text = NULL;

    if (!packed_get_contents(path, &text, NULL, NULL))
        return FALSE;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        json_t *row = json_loads(*line, 0, NULL);
        if (row != NULL) {
            g_ptr_array_add(self->bodies, json_incref(json_object_get(row, "body")));
            g_ptr_array_add(self->bodies, json_incref(json_object_get(row, "after")));
        }
        json_decref(row);
    }
    return self->bodies->len > 0;
}

static void
begin(Fuzzer *self, const char *file)
{
    static ScenarioOptions options;
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;

    options = (ScenarioOptions){.data_dir = g_getenv("KVOLSIM_SRCDIR"), .keeps_document = TRUE};
    self->scenario = scenario_load(file, &options, &faults);
    if (self->scenario == NULL)
        g_error("%s", ((FileFault *)faults->pdata[0])->message);
    self->run = run_new(self->scenario,
                        &(RunOptions){.seed = 1, .measured = TRUE, .open_end = TRUE}, &error);
    g_assert_no_error(error);
    self->clock = serve_clock_new(self->run, 0);
    self->session = serve_session_new(
        &(ServeSessionOptions){
            .run = self->run, .clock = self->clock, .scenario = file, .options = options},
        &error);
    g_assert_no_error(error);
    self->api = serve_api_new(&(ServeApiOptions){
        .run = self->run, .clock = self->clock, .session = self->session, .address = "fuzz"});
}

static void
end(Fuzzer *self)
{
    serve_session_cancel(self->session);
    for (unsigned i = 0; i < self->streams->len; i++) {
        Exchange *exchange = self->streams->pdata[i];
        exchange->stream_class->end(exchange->stream_data);
        exchange_unref(exchange);
    }
    g_ptr_array_unref(self->streams);
    serve_api_free(self->api);
    serve_clock_free(self->clock);
    run_free(self->run);
    serve_session_free(self->session);
    scenario_free(self->scenario);
    g_ptr_array_unref(self->bodies);
    g_rand_free(self->random);
}

int
main(int argc, char **argv)
{
    Fuzzer self = {.bodies = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref),
                   .streams = g_ptr_array_new()};
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    gint64 until = argc > 3 ? g_get_monotonic_time() + atol(argv[3]) * G_USEC_PER_SEC : 0;
    g_autofree char *folder = g_dir_make_tmp("fuzz-serve-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "fuzz.yaml", NULL);

    fuzzer = &self;
    self.random = g_rand_new_with_seed(argc > 2 ? (guint32)atol(argv[2]) : 1);
    if (g_getenv("KVOLSIM_SRCDIR") == NULL || !read_bodies(&self) ||
        !g_file_set_contents(file, scenario_text, -1, NULL)) {
        fprintf(stderr, "KVOLSIM_SRCDIR has no recorded writes\n");
        return 2;
    }
    begin(&self, file);
    for (long i = 0; i < rounds || g_get_monotonic_time() < until; i++)
        fuzz_round(&self);
    printf("%u requests done, %u refused:", self.n_done, self.n_refused);
    for (unsigned code = 0; code < G_N_ELEMENTS(self.codes); code++)
        if (self.codes[code] > 0)
            printf(" %u (%lu)", code, self.codes[code]);
    putchar('\n');
    end(&self);
    remove(file);
    remove(folder);
    return 0;
}
