/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/pod.h"
#include "models/api/quota/quota.h"
#include "models/resource-quota-controller/resource-quota-controller.h"
#include "tests/lib/storage-world.h"
#include "tests/lib/test.h"

/* API-157..159, API-193, API-194: quotas and limit ranges for pods and other objects. */

const ModelClass *const model_classes[] = {&resource_quota_controller_class, NULL};

static void
no_faults(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    (void)parser, (void)where, (void)hint;
    fail_msg("%s", message);
}

static Object *
quotas_of_pods_parse(const StorageWorld *world, const char *text)
{
    ApiParser parser = {.objects = world->objects, .report = no_faults, .path = g_string_new(NULL)};
    json_t *json = json_loads(text, 0, NULL);

    if (json == NULL)
        fail_msg("%s", text);
    Object *object = api_parser_object(&parser, json);
    json_decref(json);
    g_string_free(parser.path, TRUE);
    return object;
}

/* @spec: of an object, in JSON; NULL: it has none. Returns: (owned) */
static Object *
object_of(const StorageWorld *world, const char *kind, const char *name, const char *spec)
{
    const char *version = strcmp(kind, "Deployment") == 0 ? "apps/v1" : "v1";
    g_autofree char *text = g_strdup_printf(
        "{\"apiVersion\": \"%s\", \"kind\": \"%s\", \"metadata\": {\"name\": "
        "\"%s\"}%s%s}",
        version, kind, name, spec == NULL ? "" : ", \"spec\": ", spec == NULL ? "" : spec);

    return quotas_of_pods_parse(world, text);
}

static ApiResponse
try_to_create(StorageWorld *world, const char *kind, const char *name, const char *spec)
{
    g_autoptr(Object) object = object_of(world, kind, name, spec);
    ApiResponse response;

    api_server_commit(
        world->api,
        &(ApiRequest){.verb = API_CREATE, .key = (ObjectKey *)object->key, .object = object},
        &response);
    return response;
}

static void
quotas_of_pods_settle(StorageWorld *world)
{
    storage_world_run(world, sim_now(world->sim) + SIM_SECOND);
}

static void
world_with(StorageWorld *world, int minor_version, const char *kind, const char *spec)
{
    storage_world_init(world, &(StorageWorldOptions){.minor_version = minor_version});
    storage_world_start(world);
    storage_world_create(world, object_of(world, kind, "q", spec));
    quotas_of_pods_settle(world);
}

static void
assert_used(const StorageWorld *world, const char *expected)
{
    const ObjectKey *key = objects_key(world->objects, KIND_RESOURCE_QUOTA, "default", "q");
    const ResourceAmounts *used = RESOURCE_QUOTA_CONST(api_server_get(world->api, key))->used;
    g_autoptr(GString) text = g_string_new(NULL);
    char buffer[QUANTITY_BUFFER];

    for (unsigned i = 0; used != NULL && i < used->n_items; i++)
        g_string_append_printf(text, "%s%s=%s", i == 0 ? "" : ",", used->items[i].name,
                               resource_amount_format(&used->items[i], buffer));
    assert_string_equal(text->str, expected);
}

/* ---- Quotas ---- */

#define ONE(resources) "{\"containers\": [{\"name\": \"c\", \"image\": \"i\"" resources "}]}"
#define RESOURCES(text) ", \"resources\": {" text "}"
#define BUSY RESOURCES("\"requests\": {\"cpu\": \"500m\", \"memory\": \"64Mi\"}")

/* A quota, the object that is there, another one; the answer, and the use thereafter. */
typedef struct {
    const char *name, *hard, *kind, *first, *second, *message, *used;
} ChargeCase;

/* clang-format off */
static const ChargeCase charge_cases[] = {
    {"pods", "\"pods\": 1", "Pod", ONE(""), ONE(""),
     "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1", "pods=1"},
    {"objects", "\"count/pods\": 2", "Pod", ONE(""), ONE(""), NULL, "count/pods=2"},
    {"thousandths of processors", "\"requests.cpu\": \"1\"", "Pod", ONE(BUSY), ONE(BUSY), NULL, "requests.cpu=1"},
    {"old names", "\"cpu\": \"900m\", \"memory\": \"1Gi\"", "Pod", ONE(BUSY), ONE(BUSY),
     "pods \"b\" is forbidden: exceeded quota: q, requested: cpu=500m, used: cpu=500m, limited: cpu=900m", "cpu=500m,memory=64Mi"},
    {"a limit is the request", "\"requests.cpu\": 3, \"limits.cpu\": 3", "Pod",
     ONE(RESOURCES("\"limits\": {\"cpu\": 2}")), ONE(RESOURCES("\"limits\": {\"cpu\": \"1500m\"}")),
     "pods \"b\" is forbidden: exceeded quota: q, requested: limits.cpu=1500m,requests.cpu=1500m, "
     "used: limits.cpu=2,requests.cpu=2, limited: limits.cpu=3,requests.cpu=3", "limits.cpu=2,requests.cpu=2"},
    {"devices, pages, scratch",
     "\"requests.example.com/gpu\": 3, \"hugepages-2Mi\": \"4Mi\", \"requests.ephemeral-storage\": \"1Gi\"", "Pod",
     ONE(RESOURCES("\"limits\": {\"example.com/gpu\": 2, \"hugepages-2Mi\": \"2Mi\"}")),
     ONE(RESOURCES("\"limits\": {\"example.com/gpu\": 2}")),
     "pods \"b\" is forbidden: exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=2, "
     "limited: requests.example.com/gpu=3", "hugepages-2Mi=2Mi,requests.ephemeral-storage=0,requests.example.com/gpu=2"},
    {"init containers run before", "\"requests.memory\": \"1Gi\"", "Pod",
     "{\"initContainers\": [{\"name\": \"i\", \"image\": \"i\", \"resources\": {\"requests\": {\"memory\": \"768Mi\"}}}], "
     "\"containers\": [{\"name\": \"c\", \"image\": \"i\"" BUSY "}]}", ONE(BUSY), NULL, "requests.memory=832Mi"},
    {"each container tells", "\"limits.cpu\": 9, \"requests.memory\": \"1Gi\", \"requests.ephemeral-storage\": 0", "Pod", ONE(BUSY), ONE(""),
     "pods \"b\" is forbidden: failed quota: q: must specify limits.cpu for: c; requests.memory for: c",
     "limits.cpu=0,requests.ephemeral-storage=0,requests.memory=0"},
    {"services", "\"services\": 1", "Service", "{}", "{}",
     "services \"b\" is forbidden: exceeded quota: q, requested: services=1, used: services=1, limited: services=1", "services=1"},
    {"node ports", "\"services.nodeports\": 2, \"services.loadbalancers\": 1", "Service",
     "{\"type\": \"LoadBalancer\", \"ports\": [{\"port\": 80}, {\"port\": 81}]}", "{\"type\": \"NodePort\", \"ports\": [{\"port\": 80}]}",
     "services \"b\" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=2, limited: services.nodeports=2",
     "services.loadbalancers=1,services.nodeports=2"},
    {"a balancer without node ports", "\"services.nodeports\": 0", "Service",
     "{\"type\": \"LoadBalancer\", \"allocateLoadBalancerNodePorts\": false, \"ports\": [{\"port\": 80}]}", "{}", NULL, "services.nodeports=0"},
    {"other objects", "\"count/secrets\": 1, \"secrets\": 1", "Secret", NULL, NULL,
     "secrets \"b\" is forbidden: exceeded quota: q, requested: count/secrets=1,secrets=1, used: count/secrets=1,secrets=1, "
     "limited: count/secrets=1,secrets=1", "count/secrets=1,secrets=1"},
    {"by group", "\"count/deployments.apps\": 5, \"count/deployments.extensions\": 0", "Deployment",
     "{\"selector\": {\"matchLabels\": {\"a\": \"b\"}}, \"template\": {\"metadata\": {\"labels\": {\"a\": \"b\"}}, \"spec\": " ONE("") "}}",
     "{\"selector\": {\"matchLabels\": {\"a\": \"b\"}}, \"template\": {\"metadata\": {\"labels\": {\"a\": \"b\"}}, \"spec\": " ONE("") "}}",
     NULL, "count/deployments.apps=2,count/deployments.extensions=0"},
};
/* clang-format on */

static void
objects_are_charged(void **state)
{
    const ChargeCase *test = *state;
    g_autofree char *spec = g_strdup_printf("{\"hard\": {%s}}", test->hard);
    StorageWorld world;

    world_with(&world, 32, "ResourceQuota", spec);
    ApiResponse first = try_to_create(&world, test->kind, "a", test->first);
    if (first.code != API_OK && strstr(test->used, "=0") == NULL)
        fail_msg("%s", first.message);
    ApiResponse second = try_to_create(&world, test->kind, "b", test->second);
    assert_int_equal(second.code, test->message == NULL ? API_OK : API_FORBIDDEN);
    if (test->message != NULL)
        assert_string_equal(second.message, test->message);
    assert_used(&world, test->used);
    storage_world_run(&world, sim_now(world.sim) + 6 * SIM_MINUTE); /* counted anew: the same */
    assert_used(&world, test->used);
    storage_world_clear(&world);
}
TEST_ROWS(charge_cases, objects_are_charged);

/* Before 1.24 the containers have no names (API-159). */
TEST(older_words)
{
    StorageWorld world;

    world_with(&world, 23, "ResourceQuota",
               "{\"hard\": {\"limits.cpu\": 1, \"requests.memory\": \"1Gi\"}}");
    assert_string_equal(try_to_create(&world, "Pod", "a", ONE("")).message,
                        "pods \"a\" is forbidden: failed quota: q: must specify "
                        "limits.cpu,requests.memory");
    storage_world_clear(&world);
}

/* ---- What pods give back (API-153, API-157) ---- */

static gboolean
quotas_of_pods_end_pod(Object *object, const void *unused)
{
    (void)unused;
    ((Pod *)object)->phase = POD_SUCCEEDED;
    return TRUE;
}

static gboolean
bind_pod(Object *object, const void *node)
{
    ((Pod *)object)->node_name = node;
    return TRUE;
}

TEST(ended_pods_use_nothing)
{
    StorageWorld world;

    world_with(&world, 32, "ResourceQuota", "{\"hard\": {\"pods\": 2, \"count/pods\": 2}}");
    try_to_create(&world, "Pod", "a", ONE(""));
    ObjectKey *key = objects_key(world.objects, KIND_POD, "default", "a");
    storage_world_patch_status(&world, key, quotas_of_pods_end_pod, NULL);
    quotas_of_pods_settle(&world);
    assert_used(&world, "count/pods=1,pods=0");
    storage_world_delete(&world, key);
    quotas_of_pods_settle(&world);
    assert_used(&world, "count/pods=0,pods=0");
    storage_world_clear(&world);
}

/* A pod whose kubelet is silent uses nothing once its grace is over, twice: the timestamp has it
 * already. A look at all quotas finds it, every five minutes. */
TEST(overdue_pods_use_nothing)
{
    StorageWorld world;

    world_with(&world, 32, "ResourceQuota", "{\"hard\": {\"pods\": 1, \"count/pods\": 5}}");
    try_to_create(&world, "Pod", "a", ONE(""));
    ObjectKey *key = objects_key(world.objects, KIND_POD, "default", "a");
    storage_world_patch(&world, key, bind_pod, storage_world_intern(&world, "node-1"));
    storage_world_delete(&world, key);
    quotas_of_pods_settle(&world);
    assert_used(&world, "count/pods=1,pods=1");
    storage_world_run(&world, sim_now(world.sim) + 11 * SIM_MINUTE);
    assert_used(&world, "count/pods=1,pods=0");
    assert_int_equal(try_to_create(&world, "Pod", "b", ONE("")).code, API_OK);
    storage_world_clear(&world);
}

/* ---- Scopes (API-158) ---- */

typedef struct {
    const char *scopes, *pod;
    gboolean covered;
} ScopeCase;

#define SELECTOR(name, operator, values)                                                           \
    "\"scopeSelector\": {\"matchExpressions\": [{\"scopeName\": \"" name "\", \"operator\": "      \
    "\""                                                                                           \
    operator"\"" values "}]}"
#define SCOPE(name) "\"scopes\": [\"" name "\"]"
#define OF_CLASS                                                                                   \
    "{\"priorityClassName\": \"system-node-critical\", \"containers\": [{\"name\": "               \
    "\"c\", \"image\": \"i\"}]}"
#define LATE "{\"activeDeadlineSeconds\": 9, \"containers\": [{\"name\": \"c\", \"image\": \"i\"}]}"

static const ScopeCase scope_cases[] = {
    {SCOPE("Terminating"),               LATE,                        TRUE                                                       },
    {SCOPE("Terminating"),               ONE(""),                     FALSE                                                      },
    {SCOPE("NotTerminating"),            LATE,                        FALSE                                                      },
    {SCOPE("BestEffort"),                ONE(""),                     TRUE                                                       },
    {SCOPE("BestEffort"),                ONE(BUSY),                   FALSE                                                      },
    {SCOPE("NotBestEffort"),             ONE(BUSY),                   TRUE                                                       },
    {SELECTOR("PriorityClass",           "In",                        ", \"values\": [\"system-node-critical\"]"),                 OF_CLASS, TRUE},
    {SELECTOR("PriorityClass",                              "In",                                                         ", \"values\": [\"other\"]"),                                                                                             OF_CLASS, FALSE},
    {SELECTOR("PriorityClass",      "NotIn",", \"values\": [\"other\"]"),OF_CLASS, TRUE},
    {SELECTOR("PriorityClass",           "Exists",                          ""),                                                                                         OF_CLASS, TRUE},
    {SELECTOR("PriorityClass",                              "Exists",                                                         ""),                                                                                             ONE(""), FALSE},
    {SELECTOR("PriorityClass",                               "DoesNotExist",                         ""),ONE(""), TRUE},
    {SCOPE("CrossNamespacePodAffinity"),           ONE(""), FALSE},
    {SCOPE("CrossNamespacePodAffinity"),
     "{\"affinity\": {\"podAntiAffinity\": {\"requiredDuringSchedulingIgnoredDuringExecution\": "
     "[{\"topologyKey\": \"zone\", \"namespaces\": [\"other\"]}]}}, \"containers\": [{\"name\": "
     "\"c\", \"image\": \"i\"}]}",                                                        TRUE                                                                                           },
    {SCOPE("Terminating\", \"BestEffort"),                               LATE,                           TRUE                                                                                          },
    {SCOPE("Terminating\", \"NotBestEffort"), LATE,           FALSE                                                                },
    {SCOPE("VolumeAttributesClass"), ONE(""),                                    FALSE                                   },
};

TEST(scopes_choose_pods)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(scope_cases); i++) {
        g_autofree char *spec =
            g_strdup_printf("{\"hard\": {\"pods\": 0}, %s}", scope_cases[i].scopes);
        StorageWorld world;
        world_with(&world, 34, "ResourceQuota", spec);
        ApiCode code = try_to_create(&world, "Pod", "a", scope_cases[i].pod).code;
        if (code != (scope_cases[i].covered ? API_FORBIDDEN : API_OK))
            fail_msg("%s: %s", scope_cases[i].scopes, scope_cases[i].pod);
        assert_used(&world, "pods=0");
        storage_world_clear(&world);
    }
}

/* ---- LimitRanges (API-193, API-194) ---- */

/* A LimitRange, a pod's container; the answer, or what the container gets. */
typedef struct {
    const char *name, *limits, *container, *message, *resources, *annotation;
} QuotasOfPodsLimitCase;

#define CONTAINER(text) "{\"type\": \"Container\", " text "}"

/* clang-format off */
static const QuotasOfPodsLimitCase limit_cases[] = {
    {"defaults", CONTAINER("\"default\": {\"cpu\": \"1\", \"memory\": \"1Gi\"}, \"defaultRequest\": {\"cpu\": \"0.5\"}"), "", NULL,
     "{\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}",
     "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c"},
    {"max is the default", CONTAINER("\"max\": {\"cpu\": \"2\"}, \"min\": {\"cpu\": \"100m\"}"), "", NULL,
     "{\"requests\":{\"cpu\":\"2\"},\"limits\":{\"cpu\":\"2\"}}",
     "LimitRanger plugin set: cpu request for container c; cpu limit for container c"},
    {"min is the default", CONTAINER("\"min\": {\"cpu\": \"100m\"}"), "", NULL,
     "{\"requests\":{\"cpu\":\"100m\"},\"limits\":{}}", "LimitRanger plugin set: cpu request for container c"},
    {"the container's own stay", CONTAINER("\"default\": {\"cpu\": \"1\"}"), RESOURCES("\"limits\": {\"cpu\": \"3\"}"), NULL,
     "{\"limits\":{\"cpu\":\"3\"}}", NULL},
    {"too little", CONTAINER("\"min\": {\"memory\": \"1Gi\"}"), BUSY,
     "pods \"a\" is forbidden: minimum memory usage per Container is 1Gi, but request is 64Mi", NULL, NULL},
    {"too much", CONTAINER("\"max\": {\"cpu\": \"1\", \"memory\": \"1Gi\"}"),
     RESOURCES("\"limits\": {\"cpu\": \"1500m\", \"memory\": \"2Gi\"}"),
     "pods \"a\" is forbidden: [maximum cpu usage per Container is 1, but limit is 1500m, "
     "maximum memory usage per Container is 1Gi, but limit is 2Gi]", NULL, NULL},
    {"a ratio", CONTAINER("\"maxLimitRequestRatio\": {\"cpu\": \"3\"}"),
     RESOURCES("\"requests\": {\"cpu\": \"500m\"}, \"limits\": {\"cpu\": \"2\"}"),
     "pods \"a\" is forbidden: cpu max limit to request ratio per Container is 3, but provided ratio is 4.000000", NULL, NULL},
    {"a ratio of nothing", CONTAINER("\"maxLimitRequestRatio\": {\"memory\": \"2\"}"), "",
     "pods \"a\" is forbidden: memory max limit to request ratio per Container is 2, but no request is specified or request is 0", NULL, NULL},
    {"a pod in all", "{\"type\": \"Pod\", \"max\": {\"memory\": \"100Mi\"}}", RESOURCES("\"limits\": {\"memory\": \"128Mi\"}"),
     "pods \"a\" is forbidden: maximum memory usage per Pod is 100Mi, but limit is 128Mi", NULL, NULL},
    {"a pod without a limit", "{\"type\": \"Pod\", \"max\": {\"memory\": \"100Mi\"}}", BUSY,
     "pods \"a\" is forbidden: maximum memory usage per Pod is 100Mi.  No limit is specified", NULL, NULL},
};
/* clang-format on */

/* API-193, API-194. */
static void
limits_are_set_and_checked(void **state)
{
    const QuotasOfPodsLimitCase *test = *state;
    g_autofree char *spec = g_strdup_printf("{\"limits\": [%s]}", test->limits);
    g_autofree char *pod = g_strdup_printf(ONE("%s"), test->container);
    StorageWorld world;

    world_with(&world, 32, "LimitRange", spec);
    ApiResponse response = try_to_create(&world, "Pod", "a", pod);
    assert_int_equal(response.code, test->message == NULL ? API_OK : API_FORBIDDEN);
    if (test->message != NULL) {
        assert_string_equal(response.message, test->message);
        storage_world_clear(&world);
        return;
    }
    const Object *stored =
        api_server_get(world.api, objects_key(world.objects, KIND_POD, "default", "a"));
    json_t *json = object_to_json(stored), *expected = json_loads(test->resources, 0, NULL);
    json_t *container =
        json_array_get(json_object_get(json_object_get(json, "spec"), "containers"), 0);
    if (!json_equal(json_object_get(container, "resources"), expected))
        fail_msg("%s", json_dumps(container, 0));
    const char *annotation = object_annotation(stored, "kubernetes.io/limit-ranger");
    assert_int_equal(g_strcmp0(annotation, test->annotation), 0);
    json_decref(json);
    json_decref(expected);
    storage_world_clear(&world);
}
TEST_ROWS(limit_cases, limits_are_set_and_checked);

/* Pods of one template still share their spec. */
TEST(limited_specs_are_shared)
{
    StorageWorld world;
    const PodSpec *specs[2];

    world_with(&world, 32, "LimitRange",
               "{\"limits\": [" CONTAINER("\"default\": {\"cpu\": \"1\"}") "]}");
    Object *template = object_of(&world, "Pod", "t", ONE(""));
    for (unsigned i = 0; i < 2; i++) {
        ObjectKey *key = objects_key(world.objects, KIND_POD, "default", i == 0 ? "a" : "b");
        storage_world_create(&world, object_edit_as(template, key));
        specs[i] = POD_CONST(api_server_get(world.api, key))->spec;
    }
    assert_ptr_equal(specs[0], specs[1]);
    assert_ptr_not_equal(specs[0], POD_CONST(template)->spec);
    object_unref(template);
    storage_world_clear(&world);
}

/* The scheduler and quotas count what the LimitRange gave, and the LimitRange comes first. */
TEST(defaults_count)
{
    StorageWorld world;

    world_with(&world, 32, "ResourceQuota", "{\"hard\": {\"requests.cpu\": 2, \"limits.cpu\": 9}}");
    storage_world_create(
        &world, object_of(&world, "LimitRange", "l",
                          "{\"limits\": [" CONTAINER("\"default\": {\"cpu\": \"1500m\"}") "]}"));
    assert_int_equal(try_to_create(&world, "Pod", "a", ONE("")).code, API_OK);
    assert_used(&world, "limits.cpu=1500m,requests.cpu=1500m");
    const Object *stored =
        api_server_get(world.api, objects_key(world.objects, KIND_POD, "default", "a"));
    assert_int_equal(((const Pod *)stored)->spec->cpu_milli, 1500);
    assert_int_equal(try_to_create(&world, "Pod", "b", ONE("")).code, API_FORBIDDEN);
    storage_world_clear(&world);
}
