/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a server says of itself: discovery equals that of a real 1.32.13; OpenAPI has a type for
 * each kind, whole references, and what kubectl looks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "run/files/packed.h"
#include "serve/api/openapi/custom.h"
#include "serve/api/openapi/openapi.h"

static const ServedApis all_apis;

/* Whether a cluster without further definitions serves it. */
static gboolean
is_built_in(const ApiResource *resource, const void *data)
{
    static const char *const others[] = {"volumeattributesclasses", "referencegrants",
                                         "localvolumes"};

    (void)data;
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        if (strcmp(resource->resource, others[i]) == 0)
            return FALSE;
    return strstr(resource->group, "snapshot") == NULL &&
           strcmp(resource->group, "metrics.k8s.io") != 0;
}

static void
discovery_equals_the_recording(void **state)
{
    g_autofree char *path = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "serve",
                                             "recorded-discovery.json.xz", NULL);
    const ServedApis served = {.serves = is_built_in};
    g_autofree char *text = NULL;

    (void)state;
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

/* The plain documents name the same resources as the aggregated one. */
static void
plain_discovery_has_the_same(void **state)
{
    json_t *aggregated = discovery_aggregated(&all_apis, FALSE),
           *groups = discovery_groups(&all_apis);
    json_t *item, *version;
    gsize i, j;

    (void)state;
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

static void
documents_are_whole(void **state)
{
    json_t *index = openapi_v3_index(&all_apis), *address, *v2 = openapi_v2(&all_apis);
    const char *path;
    gsize n_types = 0;

    (void)state;
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

static void
parts_of_documents(void **state)
{
    json_t *custom = json_loads(definition, 0, NULL);
    g_autoptr(CustomResources) resources = custom_resources_new(custom);
    const ServedApis served = {.custom = resources};

    (void)state;
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(discovery_equals_the_recording),
        cmocka_unit_test(plain_discovery_has_the_same),
        cmocka_unit_test(documents_are_whole),
        cmocka_unit_test(parts_of_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
