/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a server says of itself: discovery equals that of a real 1.32.13; OpenAPI has a type for
 * each kind, whole references, and what kubectl looks for. */
#include <string.h>

#include "run/files/packed.h"
#include "serve/api/openapi/custom.h"
#include "serve/api/openapi/openapi.h"
#include "tests/lib/test.h"

static const ServedApis all_apis;

/* Whether a cluster without further definitions and gates serves it. */
static gboolean
is_built_in(const ApiResource *resource, const void *data)
{
    (void)data;
    return !resource->is_off && !resource->type->custom;
}

TEST(discovery_equals_the_recording)
{
    g_autofree char *path = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "serve",
                                             "recorded-discovery.json.xz", NULL);
    const ServedApis served = {.minor = 32, .serves = is_built_in};
    g_autofree char *text = NULL;

    assert_true(packed_get_contents(path, &text, NULL, NULL));
    json_t *recorded = json_loads(text, 0, NULL);
    for (int legacy = 0; legacy < 2; legacy++) {
        json_t *ours = discovery_aggregated(&served, legacy);
        char *a = json_dumps(ours, JSON_COMPACT);
        char *b = json_dumps(json_object_get(recorded, legacy ? "/api" : "/apis"), JSON_COMPACT);
        assert_string_equal(a, b);
        free(a);
        free(b);
        json_decref(ours);
    }
    json_decref(recorded);
}

/* Versions that not all releases from 1.18 to 1.36 serve by default, with a resource and the first
 * and the last release. Sources: the Deprecated API Migration Guide of kubernetes.io; the
 * changelogs of 1.19 to 1.36 (ServiceCIDR and IPAddress: 1.33; resource.k8s.io: 1.34; policies for
 * mutations: 1.36; flowcontrol: 1.20, 1.23, 1.26, 1.29). */
static const struct {
    const char *version, *resource;
    int first, last;
} served_by[] = {
    {"admissionregistration.k8s.io/v1beta1", "validatingwebhookconfigurations", 18, 21},
    {"admissionregistration.k8s.io/v1",      "validatingadmissionpolicies",     30, 36},
    {"admissionregistration.k8s.io/v1",      "mutatingadmissionpolicies",       36, 36},
    {"apiextensions.k8s.io/v1beta1",         "customresourcedefinitions",       18, 21},
    {"apiregistration.k8s.io/v1beta1",       "apiservices",                     18, 21},
    {"authentication.k8s.io/v1beta1",        "tokenreviews",                    18, 21},
    {"authentication.k8s.io/v1",             "selfsubjectreviews",              28, 36},
    {"authorization.k8s.io/v1beta1",         "subjectaccessreviews",            18, 21},
    {"autoscaling/v2beta1",                  "horizontalpodautoscalers",        18, 24},
    {"autoscaling/v2beta2",                  "horizontalpodautoscalers",        18, 25},
    {"autoscaling/v2",                       "horizontalpodautoscalers",        23, 36},
    {"batch/v1beta1",                        "cronjobs",                        18, 24},
    {"batch/v1",                             "cronjobs",                        21, 36},
    {"certificates.k8s.io/v1beta1",          "certificatesigningrequests",      18, 21},
    {"certificates.k8s.io/v1",               "certificatesigningrequests",      19, 36},
    {"coordination.k8s.io/v1beta1",          "leases",                          18, 21},
    {"discovery.k8s.io/v1beta1",             "endpointslices",                  18, 24},
    {"discovery.k8s.io/v1",                  "endpointslices",                  21, 36},
    {"events.k8s.io/v1beta1",                "events",                          18, 24},
    {"events.k8s.io/v1",                     "events",                          19, 36},
    {"extensions/v1beta1",                   "ingresses",                       18, 21},
    {"flowcontrol.apiserver.k8s.io/v1beta1", "flowschemas",                     20, 25},
    {"flowcontrol.apiserver.k8s.io/v1beta2", "flowschemas",                     23, 28},
    {"flowcontrol.apiserver.k8s.io/v1beta3", "flowschemas",                     26, 31},
    {"flowcontrol.apiserver.k8s.io/v1",      "flowschemas",                     29, 36},
    {"networking.k8s.io/v1beta1",            "ingresses",                       18, 21},
    {"networking.k8s.io/v1beta1",            "ingressclasses",                  18, 21},
    {"networking.k8s.io/v1",                 "ingresses",                       19, 36},
    {"networking.k8s.io/v1",                 "servicecidrs",                    33, 36},
    {"networking.k8s.io/v1",                 "ipaddresses",                     33, 36},
    {"node.k8s.io/v1beta1",                  "runtimeclasses",                  18, 24},
    {"node.k8s.io/v1",                       "runtimeclasses",                  20, 36},
    {"policy/v1beta1",                       "poddisruptionbudgets",            18, 24},
    {"policy/v1beta1",                       "podsecuritypolicies",             18, 24},
    {"policy/v1",                            "poddisruptionbudgets",            21, 36},
    {"rbac.authorization.k8s.io/v1beta1",    "clusterroles",                    18, 21},
    {"resource.k8s.io/v1",                   "resourceclaims",                  34, 36},
    {"scheduling.k8s.io/v1beta1",            "priorityclasses",                 18, 21},
    {"storage.k8s.io/v1beta1",               "storageclasses",                  18, 21},
    {"storage.k8s.io/v1beta1",               "csistoragecapacities",            21, 26},
    {"storage.k8s.io/v1",                    "csistoragecapacities",            24, 36},
    {"storage.k8s.io/v1",                    "volumeattributesclasses",         34, 36},
    {"v1",                                   "pods/resize",                     33, 36},
    {"v1",                                   "pods/ephemeralcontainers",        23, 36},
 /* always there: what else a release may serve */
    {"apps/v1",                              "deployments",                     18, 36},
    {"apps/v1",                              "statefulsets",                    18, 36},
    {"authorization.k8s.io/v1",              "subjectaccessreviews",            18, 36},
    {"autoscaling/v1",                       "horizontalpodautoscalers",        18, 36},
    {"coordination.k8s.io/v1",               "leases",                          18, 36},
    {"rbac.authorization.k8s.io/v1",         "roles",                           18, 36},
    {"scheduling.k8s.io/v1",                 "priorityclasses",                 18, 36},
    {"apiextensions.k8s.io/v1",              "customresourcedefinitions",       18, 36},
    {"apiregistration.k8s.io/v1",            "apiservices",                     18, 36},
    {"storage.k8s.io/v1",                    "csinodes",                        18, 36},
    {"admissionregistration.k8s.io/v1",      "mutatingwebhookconfigurations",   18, 36},
    {"authentication.k8s.io/v1",             "tokenreviews",                    18, 36},
    {"batch/v1",                             "jobs",                            18, 36},
    {"networking.k8s.io/v1",                 "networkpolicies",                 18, 36},
};

static gboolean
openapi_list_has(const json_t *list, const char *name)
{
    const json_t *resources = json_object_get(list, "resources");

    for (gsize i = 0; i < json_array_size(resources); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(resources, i), "name")),
                   name) == 0)
            return TRUE;
    return FALSE;
}

TEST(releases_serve_what_they_served)
{
    for (int minor = 18; minor <= 36; minor++) {
        const ServedApis served = {.minor = minor, .serves = is_built_in};
        g_autoptr(GHashTable) versions = g_hash_table_new(g_str_hash, g_str_equal);
        json_auto_t *groups = discovery_groups(&served);
        gsize n = 1, i; /* the legacy group is not in the list */
        json_t *group;

        for (gsize k = 0; k < G_N_ELEMENTS(served_by); k++) {
            const char *slash = strchr(served_by[k].version, '/');
            g_autofree char *name = g_strndup(
                served_by[k].version, slash == NULL ? 0 : (gsize)(slash - served_by[k].version));
            json_auto_t *list = discovery_resources(
                &served, name, slash == NULL ? served_by[k].version : slash + 1);
            gboolean wanted = served_by[k].first <= minor && minor <= served_by[k].last;

            if (openapi_list_has(list, served_by[k].resource) != wanted)
                fail_msg("1.%d: %s %s", minor, served_by[k].version, served_by[k].resource);
            if (wanted)
                g_hash_table_add(versions, (void *)served_by[k].version);
        }
        json_array_foreach(json_object_get(groups, "groups"), i, group)
            n += json_array_size(json_object_get(group, "versions"));
        if (minor < 23) /* no row of v1 holds */
            g_hash_table_add(versions, (void *)"v1");
        assert_int_equal(n, g_hash_table_size(versions));
    }
}

/* A release has the fields that it had: PersistentVolumeClaimSpec, ObjectMeta. */
TEST(releases_have_their_fields)
{
    static const struct {
        const char *type, *field;
        int first, last;
    } rows[] = {
        {"io.k8s.api.core.v1.PersistentVolumeClaimSpec",    "dataSourceRef",             22, 36},
        {"io.k8s.api.core.v1.PersistentVolumeClaimSpec",    "volumeAttributesClassName", 29, 36},
        {"io.k8s.api.core.v1.PersistentVolumeClaimSpec",    "storageClassName",          18, 36},
        {"io.k8s.api.core.v1.Container",                    "restartPolicyRules",        34, 36},
        {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "managedFields",             18, 36},
        {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "clusterName",               18, 24},
    };

    for (int minor = 18; minor <= 36; minor++) {
        const ServedApis served = {.minor = minor, .serves = is_built_in};
        json_auto_t *document = openapi_v3_document(&served, "api/v1");
        const json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");

        for (gsize k = 0; k < G_N_ELEMENTS(rows); k++) {
            const json_t *fields =
                json_object_get(json_object_get(schemas, rows[k].type), "properties");
            gboolean wanted = rows[k].first <= minor && minor <= rows[k].last;
            if ((json_object_get(fields, rows[k].field) != NULL) != wanted)
                fail_msg("1.%d: %s.%s", minor, rows[k].type, rows[k].field);
        }
    }
}

/* The plain documents name the same resources as the aggregated one. */
TEST(plain_discovery_has_the_same)
{
    json_t *aggregated = discovery_aggregated(&all_apis, FALSE),
           *groups = discovery_groups(&all_apis);
    json_t *item, *version;
    gsize i, j;

    assert_int_equal(json_array_size(json_object_get(groups, "groups")),
                     json_array_size(json_object_get(aggregated, "items")));
    json_array_foreach(json_object_get(aggregated, "items"), i, item) {
        const char *group =
            json_string_value(json_object_get(json_object_get(item, "metadata"), "name"));
        json_t *own = discovery_group(&all_apis, group);

        assert_string_equal(json_string_value(json_object_get(own, "kind")), "APIGroup");
        json_array_foreach(json_object_get(item, "versions"), j, version) {
            json_t *list = discovery_resources(
                &all_apis, group, json_string_value(json_object_get(version, "version")));
            gsize n = 0, k;
            json_t *resource;

            json_array_foreach(json_object_get(version, "resources"), k, resource) {
                n += 1 + json_array_size(json_object_get(resource, "subresources"));
            }
            assert_int_equal(json_array_size(json_object_get(list, "resources")), n);
            json_decref(list);
        }
        json_decref(own);
    }
    assert_null(discovery_group(&all_apis, "nothing.example.com"));
    assert_null(discovery_resources(&all_apis, "apps", "v2"));
    json_decref(aggregated);
    json_decref(groups);
}

/* Every reference of a document leads to a type in it. */
static void
check_references(const json_t *value, const json_t *schemas)
{
    const char *key;
    json_t *member;
    gsize i;

    json_object_foreach((json_t *)value, key, member) {
        if (strcmp(key, "$ref") == 0 && json_is_string(member))
            assert_non_null(json_object_get(schemas, strrchr(json_string_value(member), '/') + 1));
        check_references(member, schemas);
    }
    json_array_foreach((json_t *)value, i, member) {
        check_references(member, schemas);
    }
}

/* The patch of each resource takes fieldValidation: else kubectl validates by itself (queryparam.go
 * in cli-runtime). */
static void
check_patches(const json_t *paths)
{
    const char *path;
    json_t *methods, *parameter;
    gsize i;

    json_object_foreach((json_t *)paths, path, methods) {
        const json_t *patch = json_object_get(methods, "patch");
        gboolean found = patch == NULL;

        json_array_foreach(json_object_get(patch, "parameters"), i, parameter) {
            found = found || g_strcmp0(json_string_value(json_object_get(parameter, "name")),
                                       "fieldValidation") == 0;
        }
        assert_true(found);
        if (patch == NULL)
            continue;
        const json_t *types = json_object_get(json_object_get(patch, "requestBody"), "content");
        gboolean merges = json_object_get(types, "application/strategic-merge-patch+json") != NULL;

        assert_true(types != NULL || json_object_get(patch, "consumes") != NULL); /* version 2 */
        if (types != NULL && strstr(path, "snapshot.storage") != NULL)
            assert_false(merges);
        if (types != NULL && strncmp(path, "/apis/apps/", 11) == 0)
            assert_true(merges);
    }
}

TEST(documents_are_whole)
{
    json_t *index = openapi_v3_index(&all_apis), *address, *v2 = openapi_v2(&all_apis);
    const char *path;
    gsize n_types = 0;

    json_object_foreach(json_object_get(index, "paths"), path, address) {
        json_t *document = openapi_v3_document(&all_apis, path);
        const json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");

        assert_true(g_str_has_prefix(
            json_string_value(json_object_get(address, "serverRelativeURL")), "/openapi/v3/ap"));
        check_references(document, schemas);
        check_patches(json_object_get(document, "paths"));
        n_types += json_object_size(schemas);
        json_decref(document);
    }
    assert_true(n_types > 500);
    check_references(v2, json_object_get(v2, "definitions"));
    check_patches(json_object_get(v2, "paths"));
    assert_null(openapi_v3_document(&all_apis, "apis/apps/v2"));
    json_decref(index);
    json_decref(v2);
}

/* Parts of documents, by the way of keys to them. */
/* clang-format off */
static const struct {
    const char *path, *way, *value;
} parts[] = {
    {"api/v1", "io.k8s.api.core.v1.Container/properties/ports/x-kubernetes-list-map-keys",
     "[\"containerPort\", \"protocol\"]"},
    {"api/v1", "io.k8s.api.core.v1.PodSpec/properties/volumes/x-kubernetes-patch-strategy",
     "\"merge,retainKeys\""},
    {"api/v1", "io.k8s.api.core.v1.PodSpec/properties/tolerations/x-kubernetes-list-type",
     "\"atomic\""},
    {"api/v1", "io.k8s.api.core.v1.PersistentVolumeClaim/x-kubernetes-group-version-kind",
     "[{\"group\": \"\", \"version\": \"v1\", \"kind\": \"PersistentVolumeClaim\"}]"},
    {"api/v1", "io.k8s.api.core.v1.PersistentVolumeClaimSpec/properties/volumeMode/enum",
     "[\"Block\", \"Filesystem\"]"},
    {"api/v1", "io.k8s.api.core.v1.PersistentVolumeSpec/properties/claimRef/x-kubernetes-map-type",
     "\"granular\""},
    {"apis/apps/v1", "io.k8s.api.apps.v1.DeploymentSpec/required", "[\"selector\", \"template\"]"},
    {"apis/apps/v1", "io.k8s.api.autoscaling.v1.Scale/type", "\"object\""},
    {"apis/example.com/v1", "com.example.v1.Thing/properties/spec/type", "\"string\""},
    {"apis/example.com/v1", "com.example.v1.Thing/properties/metadata/$ref",
     "\"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta\""},
};
/* clang-format on */

static const char definition[] =
    "[{\"spec\": {\"group\": \"example.com\", \"scope\": \"Namespaced\", \"names\": {\"plural\": "
    "\"things\", "
    "\"kind\": \"Thing\", \"shortNames\": [\"th\"]}, \"versions\": [{\"name\": \"v1\", \"served\": "
    "true, "
    "\"subresources\": {\"status\": {}}, \"schema\": {\"openAPIV3Schema\": {\"type\": \"object\", "
    "\"properties\": {\"spec\": {\"type\": \"string\"}}}}}, {\"name\": \"v1alpha1\", \"served\": "
    "false}]}}]";

TEST(parts_of_documents)
{
    json_t *custom = json_loads(definition, 0, NULL);
    g_autoptr(CustomResources) resources = custom_resources_new(custom);
    const ServedApis served = {.custom = resources};

    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
        json_t *document = openapi_v3_document(&served, parts[i].path);
        const json_t *at = json_object_get(json_object_get(document, "components"), "schemas");
        g_auto(GStrv) keys = g_strsplit(parts[i].way, "/", -1);

        for (char **key = keys; *key != NULL; key++)
            at = json_object_get(at, *key);
        char *text = at != NULL ? json_dumps(at, JSON_ENCODE_ANY) : strdup("nothing");
        if (strcmp(text, parts[i].value) != 0)
            fail_msg("%s: %s", parts[i].way, text);
        free(text);
        json_decref(document);
    }
    json_t *list = discovery_resources(&served, "example.com", "v1");
    char *text = json_dumps(list, JSON_COMPACT);
    assert_string_equal(
        text,
        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"example.com/v1\","
        "\"resources\":[{\"name\":\"things\",\"singularName\":\"thing\",\"namespaced\":true,"
        "\"kind\":\"Thing\","
        "\"verbs\":[\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"create\","
        "\"update\",\"watch\"],"
        "\"shortNames\":[\"th\"],\"storageVersionHash\":\"MkkTy7bNlnM=\"},{\"name\":\"things/"
        "status\",\"singularName\":\"\",\"namespaced\":true,"
        "\"kind\":\"Thing\",\"verbs\":[\"get\",\"patch\",\"update\"]}]}");
    free(text);
    json_decref(list);
}
