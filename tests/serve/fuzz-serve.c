/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz-serve [ROUNDS [SEED [SECONDS]]]: requests of all kinds to a served cluster, without sockets:
 * paths, parameters, types and bodies are put together at random and spoilt. Each is answered once,
 * with a code of HTTP and, if it says so, with JSON. SECONDS: go on for so long, whatever ROUNDS
 * is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/files/packed.h"
#include "tests/lib/spoil.h"
#include "tests/serve/socketless.h"

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
    Socketless *cluster;
    GRand *random;
    GPtrArray *bodies; /* of json_t */
    unsigned n_done, n_refused;
    unsigned long codes[600];
} Fuzzer;

static int
draw(Fuzzer *self, gsize n)
{
    return n > 0 ? g_rand_int_range(self->random, 0, (gint32)n) : 0;
}

#define PICK(self, words) ((words)[draw((self), G_N_ELEMENTS(words))])

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

    if (draw(self, 2) == 0)
        make_sound(self, &request);
    unsigned code = socketless_send(self->cluster, request);
    self->codes[code]++;
    self->n_done += code > 0 && code < 400;
    self->n_refused += code >= 400;
    socketless_take_streams(self->cluster, self->random, 40);
    socketless_stop_clock(self->cluster);
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

int
main(int argc, char **argv)
{
    Fuzzer self = {.bodies = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref)};
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    gint64 until = argc > 3 ? g_get_monotonic_time() + atol(argv[3]) * G_USEC_PER_SEC : 0;
    g_autofree char *folder = g_dir_make_tmp("fuzz-serve-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "fuzz.yaml", NULL);

    self.random = g_rand_new_with_seed(argc > 2 ? (guint32)atol(argv[2]) : 1);
    if (g_getenv("KVOLSIM_SRCDIR") == NULL || !read_bodies(&self) ||
        !g_file_set_contents(file, scenario_text, -1, NULL)) {
        fprintf(stderr, "KVOLSIM_SRCDIR has no recorded writes\n");
        return 2;
    }
    self.cluster = socketless_new(file);
    for (long i = 0; i < rounds || g_get_monotonic_time() < until; i++)
        fuzz_round(&self);
    printf("%u requests done, %u refused:", self.n_done, self.n_refused);
    for (unsigned code = 1; code < G_N_ELEMENTS(self.codes); code++)
        if (self.codes[code] > 0)
            printf(" %u (%lu)", code, self.codes[code]);
    putchar('\n');
    socketless_free(self.cluster);
    g_ptr_array_unref(self.bodies);
    g_rand_free(self.random);
    remove(file);
    remove(folder);
    return 0;
}
