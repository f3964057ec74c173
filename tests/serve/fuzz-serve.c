/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz-serve [ROUNDS [SEED [SECONDS]]]: requests of all kinds to a served cluster, without sockets.
 * Some of them are put together at random of paths, parameters, types and bodies, and spoilt. The
 * others are writes that may succeed: objects of all kinds at their places, and changes of stored
 * ones, in each way and form of writing. Each is answered once, with a code of HTTP and, if it says
 * so, with JSON. The seed draws the release, too. SECONDS: go on for so long, whatever ROUNDS is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/api/schema/resources.h"
#include "serve/api/protobuf/protobuf.h"
#include "tests/lib/spoil.h"
#include "tests/serve/drawn-objects.h"
#include "tests/serve/socketless.h"

/* %s: the release */
static const char scenario_text[] =
    "apiVersion: kvolsim.io/v1\n"
    "kind: Scenario\n"
    "metadata: {name: fuzz}\n"
    "spec:\n"
    "  until: 24h\n"
    "  kubernetes: {version: '%s'}\n"
    "  nodes: [{count: 3, name: 'node-%%d', zones: [zone-a]}]\n"
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
    Socketless *cluster;
    GRand *random;
    DrawnObjects *objects;
    unsigned n_done, n_refused;
    unsigned long codes[600];
    unsigned long n_written[2]; /* really; by a dry run */
} FuzzServeFuzzer;

static int
fuzz_serve_draw(FuzzServeFuzzer *self, gsize n)
{
    return n > 0 ? g_rand_int_range(self->random, 0, (gint32)n) : 0;
}

#define PICK(self, words) ((words)[fuzz_serve_draw((self), G_N_ELEMENTS(words))])

/* ---- Requests ---- */

static void
append_spoilt(FuzzServeFuzzer *self, GString *text, int one_in)
{
    if (fuzz_serve_draw(self, (gsize)one_in) == 0)
        spoil_text(text, self->random);
}

static char *
random_path(FuzzServeFuzzer *self)
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
    const char *const *row = resources[fuzz_serve_draw(self, G_N_ELEMENTS(resources))];
    gboolean is_cluster = g_strv_contains(cluster, row[1]) || fuzz_serve_draw(self, 20) == 0;
    int kind = fuzz_serve_draw(self, 12);
    GString *path = g_string_new(kind == 0   ? PICK(self, own)
                                 : kind == 1 ? PICK(self, others)
                                             : row[0]);

    if (kind > 1) {
        if (!is_cluster)
            g_string_append_printf(path, "/namespaces/%s",
                                   fuzz_serve_draw(self, 12) > 0 ? "default" : PICK(self, names));
        g_string_append_printf(path, "/%s", row[1]);
        if (fuzz_serve_draw(self, 3) > 0)
            g_string_append_printf(path, "/%s", PICK(self, names));
        if (fuzz_serve_draw(self, 5) == 0)
            g_string_append_printf(path, "/%s", PICK(self, parts));
    }
    append_spoilt(self, path, 20);
    if (!g_utf8_validate(path->str, (gssize)path->len, NULL)) /* a server refuses it */
        g_string_assign(path, "/api/v1/pods");
    return g_string_free(path, FALSE);
}

static GHashTable *
random_query(FuzzServeFuzzer *self)
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

    for (int i = fuzz_serve_draw(self, 4); i > 0; i--) {
        const char *const *row = texts[fuzz_serve_draw(self, G_N_ELEMENTS(texts))];
        GString *value = g_string_new(row[1]);
        append_spoilt(self, value, 6);
        g_hash_table_replace(query, g_strdup(row[0]), g_string_free(value, FALSE));
    }
    return query;
}

/* Returns: (owned): a body: recorded or made, and spoilt */
static char *
random_body(FuzzServeFuzzer *self, gsize *length)
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

    if (fuzz_serve_draw(self, 2) == 0) {
        json_auto_t *body = drawn_objects_next(self->objects);
        json_auto_t *spoilt = fuzz_serve_draw(self, 3) == 0 ? spoil_json(body, self->random) : NULL;
        char *json = json_dumps(spoilt != NULL ? spoilt : body, JSON_ENCODE_ANY);
        text = g_string_new(json);
        free(json);
    } else {
        text = g_string_new(PICK(self, made));
    }
    append_spoilt(self, text, 4);
    *length = text->len;
    return g_string_free(text, FALSE);
}

/* ---- Writes that may succeed ---- */

typedef struct {
    const char *method, *type; /* of the body */
} FuzzServeWriteWay;

static char *
fuzz_serve_place_of(const json_t *object, const char *name)
{
    const char *api_version = json_string_value(json_object_get(object, "apiVersion")),
               *kind = json_string_value(json_object_get(object, "kind"));
    const ApiResource *row;
    GString *path = g_string_new(NULL);

    for (unsigned i = 0; (row = api_resource(i)) != NULL; i++)
        if (g_strcmp0(row->api_version, api_version) == 0 && g_strcmp0(row->kind, kind) == 0)
            break;
    g_string_printf(path, "/%s/%s%s/%s",
                    api_version != NULL && strchr(api_version, '/') == NULL ? "api" : "apis",
                    api_version != NULL ? api_version : "v1",
                    row == NULL || row->namespaced ? "/namespaces/default" : "",
                    row != NULL ? row->resource : "toys");
    if (name != NULL)
        g_string_append_printf(path, "/%s", name);
    return g_string_free(path, FALSE);
}

/* Returns: (owned): what a subresource takes */
static json_t *
subresource_body(FuzzServeFuzzer *self, const char *subresource, const char *name)
{
    static const char *const kinds[][3] = {
        {"scale",    "autoscaling/v1",           "Scale"       },
        {"binding",  "v1",                       "Binding"     },
        {"eviction", "policy/v1",                "Eviction"    },
        {"token",    "authentication.k8s.io/v1", "TokenRequest"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(kinds[i][0], subresource) != 0)
            continue;
        json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", kinds[i][1], "kind",
                                 kinds[i][2], "metadata", "name", name, "namespace", "default");
        if (i == 0)
            json_object_set_new(body, "spec",
                                json_pack("{s:i}", "replicas", fuzz_serve_draw(self, 5) - 1));
        else if (i == 1)
            json_object_set_new(body, "target",
                                json_pack("{s:s, s:s}", "kind", "Node", "name", "node-0"));
        drawn_objects_change(self->objects, schema_find(kinds[i][1], kinds[i][2]), body);
        return body;
    }
    return NULL;
}

/* Returns: (owned): a JSON patch of @object */
static json_t *
json_patch_of(FuzzServeFuzzer *self, const json_t *object)
{
    static const char *const kinds[] = {"add", "remove", "replace", "move", "copy", "test"};
    json_t *operations = json_array();

    for (int i = fuzz_serve_draw(self, 4); i >= 0; i--) {
        g_autoptr(GString) path = g_string_new(NULL), from = g_string_new(NULL);

        spoil_append_pointer(path, object, self->random);
        spoil_append_pointer(from, object, self->random);
        json_array_append_new(operations, json_pack("{s:s, s:s, s:s, s:i}", "op", PICK(self, kinds),
                                                    "path", path->str, "from", from->str, "value",
                                                    fuzz_serve_draw(self, 3)));
    }
    return operations;
}

/* The object under a path that the answers before have shown. Returns: (owned): NULL: none */
static json_t *
stored_object(FuzzServeFuzzer *self, const char *path)
{
    GHashTable *query = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    const ExchangeRequest request = {.method = "GET",
                                     .path = g_strdup(path),
                                     .query = query,
                                     .accept = "application/json",
                                     .content_type = "",
                                     .user_agent = "fuzz/1",
                                     .if_none_match = "",
                                     .body = g_strdup("")};

    return socketless_send(self->cluster, request) == 200 ? socketless_answer(self->cluster) : NULL;
}

/* Puts @object into the body, in a form that fits @type. */
static void
set_body(FuzzServeFuzzer *self, ExchangeRequest *request, const json_t *object)
{
    gboolean is_patch = strcmp(request->method, "PATCH") == 0;
    json_auto_t *spoilt = fuzz_serve_draw(self, 4) == 0 ? spoil_json(object, self->random) : NULL;
    const json_t *body = spoilt != NULL ? spoilt : object;
    g_autoptr(GBytes) bytes = is_patch || fuzz_serve_draw(self, 2) == 0 || !json_is_object(body)
                                  ? NULL
                                  : protobuf_encode(body);
    g_autoptr(GString) text = NULL;

    if (bytes != NULL) {
        text = g_string_new_len(g_bytes_get_data(bytes, NULL), (gssize)g_bytes_get_size(bytes));
        request->content_type = PROTOBUF_TYPE;
    } else {
        char *json = json_dumps(body, JSON_ENCODE_ANY);
        text = g_string_new(json);
        free(json);
        if (!is_patch)
            request->content_type =
                fuzz_serve_draw(self, 4) == 0 ? "application/yaml" : "application/json";
    }
    append_spoilt(self, text, 8);
    g_free((char *)request->body);
    request->length = text->len;
    request->body = g_memdup2(text->str, text->len + 1);
}

static void
set_parameters(FuzzServeFuzzer *self, ExchangeRequest *request)
{
    static const char *const parameters[][2] = {
        {"dryRun",          "All"   },
        {"force",           "true"  },
        {"fieldManager",    "fuzz"  },
        {"fieldValidation", "Strict"}
    };
    gboolean is_apply = strcmp(request->content_type, "application/apply-patch+yaml") == 0;

    if (fuzz_serve_draw(self, 8) > 0)
        g_hash_table_remove_all(request->query);
    for (gsize i = 0; i < G_N_ELEMENTS(parameters); i++)
        if ((i == 0 && fuzz_serve_draw(self, 3) == 0) || (i > 0 && i < 3 && is_apply) ||
            fuzz_serve_draw(self, 10) == 0)
            g_hash_table_replace(request->query, g_strdup(parameters[i][0]),
                                 g_strdup(parameters[i][1]));
}

static const char *
name_for(FuzzServeFuzzer *self, const json_t *object)
{
    static const char *const names[] = {"data", "web", "a"};
    const char *kind = json_string_value(json_object_get(object, "kind"));

    return g_strcmp0(kind, "CustomResourceDefinition") == 0 ? "toys.example.com"
           : g_strcmp0(kind, "Node") == 0                   ? "node-0"
                                                            : PICK(self, names);
}

/* Returns: (owned): what a request of that way has as its body, in place of @object (taken) */
static json_t *
body_for(FuzzServeFuzzer *self, const FuzzServeWriteWay *way, json_t *object)
{
    json_t *body = object;

    if (strcmp(way->type, "application/json-patch+json") == 0)
        body = json_patch_of(self, object);
    else if (strcmp(way->method, "DELETE") == 0)
        body = json_pack("{s:s, s:s, s:i}", "apiVersion", "v1", "kind", "DeleteOptions",
                         "gracePeriodSeconds", fuzz_serve_draw(self, 3) - 1);
    else if (strcmp(way->type, "application/apply-patch+yaml") == 0 && fuzz_serve_draw(self, 8) > 0)
        json_object_del(json_object_get(object, "metadata"), "managedFields");
    if (body != object)
        json_decref(object);
    return body;
}

/* Makes a write of @request: an object, or its subresource, under one of few names. */
static void
make_write(FuzzServeFuzzer *self, ExchangeRequest *request)
{
    static const char *const others[] = {"status", "status",   "scale", "binding",
                                         "resize", "eviction", "token", "ephemeralcontainers"};
    static const FuzzServeWriteWay ways[] = {
        {"POST",   ""                                      },
        {"PUT",    ""                                      },
        {"PATCH",  "application/merge-patch+json"          },
        {"PATCH",  "application/strategic-merge-patch+json"},
        {"PATCH",  "application/apply-patch+yaml"          },
        {"PATCH",  "application/json-patch+json"           },
        {"DELETE", ""                                      },
    };
    json_t *object = drawn_objects_next(self->objects);
    const char *name = name_for(self, object);
    const char *subresource = fuzz_serve_draw(self, 4) == 0 ? PICK(self, others) : NULL;
    g_autofree char *path = fuzz_serve_place_of(object, name),
                    *folder = fuzz_serve_place_of(object, NULL);
    json_t *stored = stored_object(self, path);
    const FuzzServeWriteWay way =
        stored == NULL && fuzz_serve_draw(self, 4) > 0 ? ways[0] : PICK(self, ways);
    gboolean is_new = subresource == NULL && strcmp(way.method, "POST") == 0;

    json_object_set_new(json_object_get(object, "metadata"), "name", json_string(name));
    if (stored != NULL && !is_new && fuzz_serve_draw(self, 3) > 0) {
        drawn_objects_change(self->objects, drawn_type(object), stored);
        json_decref(object);
        object = json_incref(stored);
    }
    json_decref(stored);
    json_t *other = subresource != NULL ? subresource_body(self, subresource, name) : NULL;
    if (other != NULL) {
        json_decref(object);
        object = other;
    }
    json_auto_t *body = body_for(self, &way, object);
    request->method = way.method;
    request->content_type = way.type;
    g_free((char *)request->path);
    request->path = subresource != NULL ? g_strdup_printf("%s/%s", path, subresource)
                                        : g_strdup(is_new ? folder : path);
    set_body(self, request, body);
    set_parameters(self, request);
}

static void
fuzz_round(FuzzServeFuzzer *self)
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
    gsize length;
    char *body = random_body(self, &length);
    ExchangeRequest request = {.method = PICK(self, methods),
                               .path = random_path(self),
                               .query = random_query(self),
                               .accept = PICK(self, accepts),
                               .content_type = PICK(self, types),
                               .user_agent = "fuzz/1",
                               .if_none_match = "",
                               .body = body,
                               .length = length};

    if (fuzz_serve_draw(self, 3) > 0)
        make_write(self, &request);
    gboolean is_dry = g_hash_table_contains(request.query, "dryRun"),
             is_write = strcmp(request.method, "GET") != 0;
    unsigned code = socketless_send(self->cluster, request);
    self->codes[code]++;
    if (is_write && code >= 200 && code < 300)
        self->n_written[is_dry]++;
    self->n_done += code > 0 && code < 400;
    self->n_refused += code >= 400;
    socketless_take_streams(self->cluster, self->random, 40);
    socketless_stop_clock(self->cluster);
}

/* ---- The whole ---- */

int
main(int argc, char **argv)
{
    static const char *const releases[] = {"1.36", "1.32", "1.18", "1.25"};
    FuzzServeFuzzer self = {0};
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    guint32 seed = argc > 2 ? (guint32)atol(argv[2]) : 1;
    gint64 until = argc > 3 ? g_get_monotonic_time() + atol(argv[3]) * G_USEC_PER_SEC : 0;
    g_autofree char *scenario =
        g_strdup_printf(scenario_text, releases[seed % G_N_ELEMENTS(releases)]);
    g_autofree char *folder = g_dir_make_tmp("fuzz-serve-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "fuzz.yaml", NULL);

    self.random = g_rand_new_with_seed(seed);
    self.objects = drawn_objects_new(self.random);
    if (self.objects == NULL || !g_file_set_contents(file, scenario, -1, NULL)) {
        fprintf(stderr, "KVOLSIM_SRCDIR has no objects to write\n");
        return 2;
    }
    self.cluster = socketless_new(file);
    for (long i = 0; i < rounds || g_get_monotonic_time() < until; i++)
        fuzz_round(&self);
    printf("%u requests done, %u refused:", self.n_done, self.n_refused);
    for (unsigned code = 1; code < G_N_ELEMENTS(self.codes); code++)
        if (self.codes[code] > 0)
            printf(" %u (%lu)", code, self.codes[code]);
    printf("; %lu written, %lu by dry runs\n", self.n_written[0], self.n_written[1]);
    socketless_free(self.cluster);
    drawn_objects_free(self.objects);
    g_rand_free(self.random);
    remove(file);
    remove(folder);
    return 0;
}
