/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/quota/quota.h"
#include "models/resource-quota-controller/resource-quota-controller.h"
#include "sim/random.h"
#include "tests/lib/same-log.h"
#include "tests/lib/storage-world.h"
#include "tests/lib/test.h"

/* API-150..155: admission by quotas and limit ranges, and the controller that counts. */

const ModelClass *const model_classes[] = {&resource_quota_controller_class, NULL};

#define GI(n) ((int64_t)(n) << 30)

static void
no_faults(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    (void)parser, (void)where, (void)hint;
    fail_msg("%s", message);
}

static Object *
resource_quota_controller_parse(const StorageWorld *world, const char *text)
{
    ApiParser parser = {.objects = world->objects, .report = no_faults, .path = g_string_new(NULL)};
    json_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    Object *object = api_parser_object(&parser, json);
    json_decref(json);
    g_string_free(parser.path, TRUE);
    return object;
}

/* @spec: of the quota q of the namespace default. */
static void
create_quota(StorageWorld *world, const char *spec)
{
    g_autofree char *text = g_strdup_printf(
        "{\"apiVersion\": \"v1\", \"kind\": \"ResourceQuota\", \"metadata\": {\"name\": \"q\"}, "
        "\"spec\": %s}",
        spec);

    storage_world_create(world, resource_quota_controller_parse(world, text));
}

static const ResourceQuota *
stored_quota(const StorageWorld *world)
{
    const ObjectKey *key = objects_key(world->objects, KIND_RESOURCE_QUOTA, "default", "q");

    return RESOURCE_QUOTA_CONST(api_server_get(world->api, key));
}

/* "persistentvolumeclaims=2,requests.storage=3Gi" */
static char *
used_text(const StorageWorld *world)
{
    const ResourceAmounts *used = stored_quota(world)->used;
    GString *text = g_string_new(NULL);
    char buffer[QUANTITY_BUFFER];

    for (unsigned i = 0; used != NULL && i < used->n_items; i++)
        g_string_append_printf(text, "%s%s=%s", i == 0 ? "" : ",", used->items[i].name,
                               resource_amount_format(&used->items[i], buffer));
    return g_string_free(text, FALSE);
}

static void
assert_used(const StorageWorld *world, const char *expected)
{
    g_autofree char *text = used_text(world);

    assert_string_equal(text, expected);
}

static ApiResponse
resource_quota_controller_commit(StorageWorld *world, const ApiRequest *request)
{
    ApiResponse response;

    api_server_commit(world->api, request, &response);
    return response;
}

/* Takes @object. */
static ApiResponse
try_to_create(StorageWorld *world, void *object)
{
    g_autoptr(Object) owned = object;

    return resource_quota_controller_commit(
        world, &(ApiRequest){.verb = API_CREATE, .key = (ObjectKey *)owned->key, .object = owned});
}

static ApiResponse
try_claim(StorageWorld *world, const char *name, int gib, const char *class)
{
    return try_to_create(world, storage_world_claim(world, name, gib, class));
}

static void
resource_quota_controller_settle(StorageWorld *world)
{
    storage_world_run(world, sim_now(world->sim) + SIM_SECOND);
}

/* A world with a quota that is counted already. */
static void
world_with_quota(StorageWorld *world, const StorageWorldOptions *options, const char *spec)
{
    storage_world_init(world, options);
    storage_world_class(world, "gold", "csi.test", BINDING_IMMEDIATE);
    storage_world_start(world);
    create_quota(world, spec);
    resource_quota_controller_settle(world);
    storage_world_log(world);
}

/* API-153: hard and used appear in the status by one PUT. Until then nothing is in force, and
 * nothing charged. */
TEST(a_new_quota_is_counted_first)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    storage_world_start(&world);
    create_quota(&world, "{\"hard\": {\"requests.storage\": \"5Gi\", \"pods\": 3}}");
    assert_int_equal(try_claim(&world, "a", 4, "gold").code, API_OK);
    assert_int_equal(try_claim(&world, "b", 4, "gold").code, API_OK);
    assert_null(stored_quota(&world)->status_hard);
    resource_quota_controller_settle(&world);
    assert_string_equal(storage_world_log(&world), "PUT/st other/q");
    assert_used(&world, "pods=0,requests.storage=8Gi");
    assert_true(
        resource_amounts_equal(stored_quota(&world)->status_hard, stored_quota(&world)->hard));
    assert_int_equal(try_claim(&world, "c", 1, "gold").code, API_FORBIDDEN);
    storage_world_clear(&world);
}

/* API-151, API-152: a claim of 2Gi of class gold, where another such claim exists already. */
TEST(claims_are_charged_or_refused)
{
    static const struct {
        const char *hard, *message, *used;
    } cases[] = {
        {"\"requests.storage\": \"4Gi\"",                                           NULL,                                                    "requests.storage=4Gi"          },
        {"\"requests.storage\": \"3Gi\"",
         "exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: "
         "requests.storage=3Gi",                                                                                                             "requests.storage=2Gi"          },
        {"\"requests.storage\": \"4G\"",
         "exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: "
         "requests.storage=4G",                                                                                                              "requests.storage=2Gi"          },
        {"\"persistentvolumeclaims\": 2",                                           NULL,                                                    "persistentvolumeclaims=2"      },
        {"\"count/persistentvolumeclaims\": \"1\"",
         "exceeded quota: q, requested: count/persistentvolumeclaims=1, used: "
         "count/persistentvolumeclaims=1, limited: count/persistentvolumeclaims=1",                                                          "count/persistentvolumeclaims=1"},
        {"\"gold.storageclass.storage.k8s.io/requests.storage\": \"1Gi\"",
         "exceeded quota: q, requested: gold.storageclass.storage.k8s.io/requests.storage=2Gi, "
         "used: gold.storageclass.storage.k8s.io/requests.storage=2Gi, limited: "
         "gold.storageclass.storage.k8s.io/requests.storage=1Gi",                                                                            "gold.storageclass.storage.k8s.io/requests."
         "storage=2Gi"                                                                                      },
        {"\"silver.storageclass.storage.k8s.io/requests.storage\": 0",              NULL,
         "silver.storageclass.storage.k8s.io/requests.storage=0"                                                                                                             },
        {"\"old.storageclass.storage.k8s.io/persistentvolumeclaims\": 0",           NULL,
         "old.storageclass.storage.k8s.io/persistentvolumeclaims=0"                                                                                                          },
 /* sorted, and only what is exceeded */
        {"\"requests.storage\": \"3Gi\", \"persistentvolumeclaims\": 1, "
         "\"gold.storageclass.storage.k8s.io/persistentvolumeclaims\": 5", "exceeded quota: q, requested: persistentvolumeclaims=1,requests.storage=2Gi, used: "
         "persistentvolumeclaims=1,requests.storage=2Gi, limited: "
         "persistentvolumeclaims=1,requests.storage=3Gi", "gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,persistentvolumeclaims=1,"
         "requests.storage=2Gi"  },
        {"\"requests.cpu\": 0, \"pods\": 0",                                        NULL,                                                    "pods=0,requests.cpu=0"         },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *spec = g_strdup_printf("{\"hard\": {%s}}", cases[i].hard);
        StorageWorld world;
        storage_world_init(&world, NULL);
        storage_world_create(&world, storage_world_claim(&world, "first", 2, "gold"));
        create_quota(&world, spec);
        storage_world_start(&world);
        resource_quota_controller_settle(&world);
        ApiResponse response = try_claim(&world, "second", 2, "gold");
        assert_int_equal(response.code, cases[i].message == NULL ? API_OK : API_FORBIDDEN);
        if (cases[i].message != NULL) {
            g_autofree char *message = g_strdup_printf(
                "persistentvolumeclaims \"second\" is forbidden: %s", cases[i].message);
            assert_string_equal(response.message, message);
        }
        assert_used(&world, cases[i].used);
        resource_quota_controller_settle(
            &world); /* the controller agrees with what admission charged */
        assert_used(&world, cases[i].used);
        storage_world_clear(&world);
    }
}

static gboolean
remove_protection(Object *object, const void *data)
{
    (void)data;
    return object_remove_finalizer(object, FINALIZER_PVC_PROTECTION);
}

/* API-153: the usage of a claim is given back when the controller has seen that the claim is gone,
 * not before. A claim that is only marked for deletion counts (API-151). */
TEST(only_the_controller_gives_back)
{
    StorageWorld world;

    world_with_quota(&world, NULL, "{\"hard\": {\"persistentvolumeclaims\": 1}}");
    try_claim(&world, "a", 1, "gold");
    resource_quota_controller_settle(&world);
    storage_world_delete(&world, storage_world_claim_key(&world, "a"));
    resource_quota_controller_settle(&world);
    assert_used(&world, "persistentvolumeclaims=1");
    storage_world_patch(&world, storage_world_claim_key(&world, "a"), remove_protection, NULL);
    assert_null(storage_world_stored_claim(&world, "a"));
    assert_int_equal(try_claim(&world, "b", 1, "gold").code, API_FORBIDDEN);
    resource_quota_controller_settle(&world);
    assert_used(&world, "persistentvolumeclaims=0");
    assert_int_equal(try_claim(&world, "b", 1, "gold").code, API_OK);
    storage_world_clear(&world);
}

/* API-20: a name that is taken is found out after admission has charged. With the next change of
 * any claim the controller sets it right from 1.32 on; before, only a claim that goes, or its look
 * at all quotas every five minutes. */
TEST(a_name_that_is_taken_is_charged)
{
    static const struct {
        int minor_version;
        gboolean right_after_a_change;
    } cases[] = {
        {32, TRUE },
        {31, FALSE},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        StorageWorld world;
        StringPair note = {0};
        world_with_quota(&world, &(StorageWorldOptions){.minor_version = cases[i].minor_version},
                         "{\"hard\": {\"persistentvolumeclaims\": 2}}");
        note.key = storage_world_intern(&world, "example.com/note");
        note.value = storage_world_intern(&world, "x");
        try_claim(&world, "a", 1, "gold");
        resource_quota_controller_settle(&world);
        assert_int_equal(try_claim(&world, "a", 1, "gold").code, API_EXISTS);
        resource_quota_controller_settle(&world);
        assert_used(&world, "persistentvolumeclaims=2");
        assert_int_equal(try_claim(&world, "a", 1, "gold").code, API_FORBIDDEN);
        storage_world_patch(&world, storage_world_claim_key(&world, "a"), storage_world_annotate,
                            &note);
        resource_quota_controller_settle(&world);
        assert_used(&world, cases[i].right_after_a_change ? "persistentvolumeclaims=1"
                                                          : "persistentvolumeclaims=2");
        storage_world_run(&world, sim_now(world.sim) + 301 * SIM_SECOND);
        assert_used(&world, "persistentvolumeclaims=1");
        storage_world_clear(&world);
    }
}

static gboolean
be_bound(Object *object, const void *data)
{
    (void)data;
    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->capacity_bytes = CLAIM(object)->request_bytes;
    return TRUE;
}

static gboolean
resource_quota_controller_set_request(Object *object, const void *bytes)
{
    CLAIM(object)->request_bytes = *(const int64_t *)bytes;
    return TRUE;
}

static gboolean
set_allocated(Object *object, const void *bytes)
{
    CLAIM(object)->allocated_bytes = *(const int64_t *)bytes;
    return TRUE;
}

static gboolean
allow_expansion(Object *object, const void *data)
{
    (void)data;
    STORAGE_CLASS(object)->allow_expansion = TRUE;
    return TRUE;
}

static ApiResponse
try_request(StorageWorld *world, const char *name, int64_t bytes)
{
    return resource_quota_controller_commit(
        world, &(ApiRequest){.verb = API_PATCH,
                             .key = storage_world_claim_key(world, name),
                             .edit = resource_quota_controller_set_request,
                             .arg = &bytes});
}

/* API-152: an expansion is charged for what it adds. API-151: what is allocated counts when less is
 * asked for again. */
TEST(expansion_needs_room)
{
    StorageWorld world;
    const int64_t allocated = GI(4);

    world_with_quota(&world, NULL, "{\"hard\": {\"requests.storage\": \"5Gi\"}}");
    storage_world_patch(&world, objects_key(world.objects, KIND_STORAGE_CLASS, NULL, "gold"),
                        allow_expansion, NULL);
    try_claim(&world, "a", 2, "gold");
    storage_world_patch_status(&world, storage_world_claim_key(&world, "a"), be_bound, NULL);
    ApiResponse response = try_request(&world, "a", GI(6));
    assert_int_equal(response.code, API_FORBIDDEN);
    assert_string_equal(response.message,
                        "persistentvolumeclaims \"a\" is forbidden: exceeded quota: q, requested: "
                        "requests.storage=4Gi, used: requests.storage=2Gi, limited: "
                        "requests.storage=5Gi");
    assert_int_equal(try_request(&world, "a", GI(4)).code, API_OK);
    assert_used(&world, "requests.storage=4Gi");
    storage_world_patch_status(&world, storage_world_claim_key(&world, "a"), set_allocated,
                               &allocated);
    assert_int_equal(try_request(&world, "a", GI(3)).code, API_OK);
    resource_quota_controller_settle(&world);
    assert_used(&world, "requests.storage=4Gi");
    storage_world_clear(&world);
}

/* API-151: with any scope a quota holds for no claim, and counts none. */
TEST(scopes_match_no_claim)
{
    StorageWorld world;

    world_with_quota(&world, NULL,
                     "{\"hard\": {\"persistentvolumeclaims\": 0}, \"scopes\": [\"Terminating\"]}");
    assert_int_equal(try_claim(&world, "a", 1, "gold").code, API_OK);
    resource_quota_controller_settle(&world);
    assert_used(&world, "persistentvolumeclaims=0");
    storage_world_clear(&world);
}

static gboolean
resource_quota_controller_set_class(Object *object, const void *name)
{
    CLAIM(object)->class_name = name;
    return TRUE;
}

/* API-122, API-152: the class that a claim gets later has to have room for it. */
TEST(a_class_set_later_is_charged)
{
    static const struct {
        const char *hard;
        ApiCode code;
    } cases[] = {
        {"{\"hard\": {\"gold.storageclass.storage.k8s.io/persistentvolumeclaims\": 1}}", API_OK},
        {"{\"hard\": {\"gold.storageclass.storage.k8s.io/persistentvolumeclaims\": 0}}",
         API_FORBIDDEN                                                                         },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        StorageWorld world;
        world_with_quota(&world, NULL, cases[i].hard);
        assert_int_equal(try_claim(&world, "a", 1, NULL).code, API_OK);
        ApiResponse response = resource_quota_controller_commit(
            &world, &(ApiRequest){.verb = API_PATCH,
                                  .key = storage_world_claim_key(&world, "a"),
                                  .edit = resource_quota_controller_set_class,
                                  .arg = storage_world_intern(&world, "gold")});
        assert_int_equal(response.code, cases[i].code);
        storage_world_clear(&world);
    }
}

/* API-154, API-155: the words of LimitRange, which is asked before the quota. */
TEST(limit_ranges_bound_the_request)
{
    static const struct {
        int gib;
        const char *message;
    } cases[] = {
        {1, "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"},
        {2, NULL                                                                        },
        {5, NULL                                                                        },
        {6, "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        StorageWorld world;
        world_with_quota(&world, NULL, "{\"hard\": {\"requests.storage\": \"5Gi\"}}");
        storage_world_create(
            &world,
            resource_quota_controller_parse(
                &world,
                "{\"apiVersion\": \"v1\", \"kind\": \"LimitRange\", \"metadata\": {\"name\": "
                "\"r\"}, \"spec\": {\"limits\": [{\"type\": \"Container\", \"default\": {\"cpu\": "
                "1}}, {\"type\": \"PersistentVolumeClaim\", \"min\": {\"storage\": \"2Gi\"}, "
                "\"max\": {\"storage\": \"5Gi\"}}]}}"));
        ApiResponse response = try_claim(&world, "a", cases[i].gib, "gold");
        assert_int_equal(response.code, cases[i].message == NULL ? API_OK : API_FORBIDDEN);
        if (cases[i].message != NULL) {
            g_autofree char *message =
                g_strdup_printf("persistentvolumeclaims \"a\" is forbidden: %s", cases[i].message);
            assert_string_equal(response.message, message);
        }
        storage_world_clear(&world);
    }
}

/* API-154: a claim from before a LimitRange cannot be changed any more, except its status, and once
 * it is deleted. */
TEST(older_claims_are_bounded_too)
{
    StorageWorld world;
    ApiRequest change;

    storage_world_init(&world, NULL);
    change = (ApiRequest){
        .verb = API_PATCH,
        .key = storage_world_claim_key(&world, "a"),
        .edit = storage_world_annotate,
        .arg = &(StringPair){storage_world_intern(&world, "example.com/note"),
                             storage_world_intern(&world, "x")}
    };
    try_claim(&world, "a", 1, "gold");
    storage_world_create(&world,
                         resource_quota_controller_parse(
                             &world, "{\"apiVersion\": \"v1\", \"kind\": \"LimitRange\", "
                                     "\"metadata\": {\"name\": \"r\"}, \"spec\": {\"limits\": "
                                     "[{\"type\": \"PersistentVolumeClaim\", \"min\": "
                                     "{\"storage\": \"2Gi\"}}]}}"));
    assert_int_equal(resource_quota_controller_commit(&world, &change).code, API_FORBIDDEN);
    storage_world_patch_status(&world, change.key, be_bound, NULL);
    assert_int_equal(storage_world_stored_claim(&world, "a")->phase, CLAIM_BOUND);
    storage_world_delete(&world, change.key);
    assert_int_equal(resource_quota_controller_commit(&world, &change).code, API_OK);
    storage_world_clear(&world);
}

static int64_t
stored_bytes(const StorageWorld *world)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_CLAIM); i++) {
        const Object *claim =
            api_server_get(world->api, objects_key_at(world->objects, KIND_CLAIM, i));
        bytes += claim == NULL ? 0 : CLAIM_CONST(claim)->request_bytes;
    }
    return bytes;
}

/* One random life of twelve claims under a quota; with slow requests and watches the controller is
 * behind all the time. */
static char *
resource_quota_controller_live(uint64_t seed, gboolean polling)
{
    StorageWorld world;
    char buffer[QUANTITY_BUFFER];

    world_with_quota(
        &world,
        &(StorageWorldOptions){.seed = seed, .polling = polling, .slow = TRUE, .throttled = TRUE},
        "{\"hard\": {\"requests.storage\": \"20Gi\"}}");
    SimStream stream = sim_stream(world.sim, "test/quota");
    for (unsigned i = 0; i < 200; i++) {
        g_autofree char *name =
            g_strdup_printf("c%u", (unsigned)sim_random_below(stream, 1, i, 12));
        if (sim_random_below(stream, 2, i, 3) > 0)
            try_claim(&world, name, 1 + (int)sim_random_below(stream, 3, i, 6), "gold");
        else if (storage_world_stored_claim(&world, name) != NULL)
            storage_world_remove(&world, storage_world_claim_key(&world, name));
        storage_world_run(&world, sim_now(world.sim) +
                                      (SimTime)sim_random_below(stream, 4, i, 20) * SIM_MS);
    }
    storage_world_run(&world, sim_now(world.sim) + 302 * SIM_SECOND);
    g_autofree char *used = used_text(&world);
    g_autofree char *expected =
        g_strdup_printf("requests.storage=%s", quantity_format(stored_bytes(&world), buffer));
    assert_string_equal(used, expected);
    char *log = g_strdup_printf("%s %s", used, storage_world_log(&world));
    storage_world_clear(&world);
    return log;
}

/* In the end the status shows the actual usage; and a loop that never sleeps comes to the same. */
TEST(the_status_comes_right)
{
    assert_sleeping_equals_polling(resource_quota_controller_live, 20, "");
}

/* ---- API-156: classes of attributes ---- */

/* Columns; clang-format 14 cannot align such rows. */
/* clang-format off */
static const struct {
    const char *title, *scopes;
    const char *spec, *current, *target; /* classes of the claim */
    gboolean covered;
} scope_rows[] = {
    {"In: the class it wants",      "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'In', 'values': ['gold', 'platinum']}]}}", "gold", NULL, NULL, TRUE},
    {"In: the class it has",        "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'In', 'values': ['gold']}]}}", "silver", "gold", NULL, TRUE},
    {"In: the class under way",     "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'In', 'values': ['gold']}]}}", "silver", "silver", "gold", TRUE},
    {"In: another class",           "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'In', 'values': ['gold']}]}}", "silver", "silver", NULL, FALSE},
    {"In: no class",                "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'In', 'values': ['gold']}]}}", NULL, NULL, NULL, FALSE},
    {"NotIn: no class",             "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'NotIn', 'values': ['gold']}]}}", NULL, NULL, NULL, TRUE},
    {"NotIn: one other is enough",  "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'NotIn', 'values': ['gold']}]}}", "silver", "gold", NULL, TRUE},
    {"NotIn: only that",            "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'NotIn', 'values': ['gold']}]}}", "gold", "gold", NULL, FALSE},
    {"DoesNotExist: a class",       "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'DoesNotExist'}]}}", "gold", NULL, NULL, FALSE},
    {"DoesNotExist: no class",      "{'scopeSelector': {'matchExpressions': [{'scopeName': 'VolumeAttributesClass', 'operator': 'DoesNotExist'}]}}", NULL, NULL, NULL, TRUE},
    {"scopes: a class",             "{'scopes': ['VolumeAttributesClass']}", "gold", NULL, NULL, TRUE},
    {"scopes: no class",            "{'scopes': ['VolumeAttributesClass']}", NULL, NULL, NULL, FALSE},
    {"two scopes, one of pods",     "{'scopes': ['VolumeAttributesClass', 'BestEffort']}", "gold", NULL, NULL, FALSE},
    {"a scope of pods",             "{'scopes': ['BestEffort']}", NULL, NULL, NULL, FALSE},
    {"none",                        "{}", "gold", NULL, NULL, TRUE},
};
/* clang-format on */

TEST(scopes_cover_claims_by_class)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(scope_rows); i++) {
        g_autoptr(GString) text = g_string_new(scope_rows[i].scopes);
        g_string_replace(text, "'", "\"", 0);
        g_string_insert(text, 0,
                        "{\"apiVersion\": \"v1\", \"kind\": \"ResourceQuota\", \"metadata\": "
                        "{\"name\": \"q\"}, \"spec\": ");
        g_string_append_c(text, '}');
        g_autoptr(Object) quota = resource_quota_controller_parse(&world, text->str);
        const Claim claim = {.attributes_class = scope_rows[i].spec,
                             .current_attributes_class = scope_rows[i].current,
                             .modify_target = scope_rows[i].target};
        if (resource_quota_covers(RESOURCE_QUOTA_CONST(quota), KIND_CLAIM, &claim.meta, TRUE) !=
            scope_rows[i].covered)
            fail_msg("%s", scope_rows[i].title);
        gboolean has_scope = strlen(scope_rows[i].scopes) > 2;
        if (has_scope &&
            resource_quota_covers(RESOURCE_QUOTA_CONST(quota), KIND_CLAIM, &claim.meta, FALSE))
            fail_msg("%s: before 1.33", scope_rows[i].title);
    }
    storage_world_clear(&world);
}
