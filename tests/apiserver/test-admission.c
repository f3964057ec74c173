/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/quota/quota.h"
#include "models/api/workload.h"
#include "tests/lib/test.h"
#include "world.h"

/* The rules of docs/rules/api-server.md: admission, and fields that never change. */

static void
create_class(ApiServerWorld *world, const char *name, gboolean is_default)
{
    Object *class = object_new(objects_key(world->objects, KIND_STORAGE_CLASS, NULL, name));

    if (is_default)
        object_set_annotation(class, world_intern(world, ANNOTATION_DEFAULT_CLASS),
                              world_intern(world, "true"));
    world_create(world, class);
}

static void
admission_nothing(Sim *sim, void *data)
{
    (void)sim, (void)data;
}

static void
pass_time(ApiServerWorld *world, SimTime delay)
{
    static const SimEventType event = {.name = "test/time passes", .fire = admission_nothing};

    sim_after(world->sim, delay, &event, NULL, WAIT_NONE);
    sim_run_until(world->sim, sim_now(world->sim) + delay);
}

/* API-121: the newest by whole seconds, then the smallest name. */
TEST_WITH(world_setup, world_teardown, a_claim_without_class_gets_the_default)
{
    ApiServerWorld *world = *state;

    create_class(world, "old", TRUE);
    pass_time(world, 5 * SIM_SECOND);
    create_class(world, "zebra", TRUE);
    pass_time(world, 100 * SIM_MS); /* the same second */
    create_class(world, "ant", TRUE);
    create_class(world, "aardvark", FALSE);
    assert_string_equal(CLAIM_CONST(world_create(world, world_new_claim(world)).object)->class_name,
                        "ant");
}

/* API-121: before 1.26 several defaults are an error. */
TEST_WITH(world_setup, world_teardown, several_defaults_were_refused)
{
    ApiServerWorld *world = *state;

    world_renew(world, (ApiServerOptions){.refuses_defaults = TRUE});
    create_class(world, "one", TRUE);
    assert_string_equal(CLAIM_CONST(world_create(world, world_new_claim(world)).object)->class_name,
                        "one");
    create_class(world, "two", TRUE);
    Object *claim = object_new(objects_key(world->objects, KIND_CLAIM, "default", "other"));
    ApiResponse response = world_create(world, claim);
    assert_int_equal(response.code, API_FORBIDDEN);
    assert_string_equal(response.message,
                        "persistentvolumeclaims \"other\" is forbidden: Internal error occurred: "
                        "2 default StorageClasses were found");
}

/* ---- Priority ---- */

static ApiResponse
create_priority_class(ApiServerWorld *world,
                      const char *name,
                      int32_t value,
                      PreemptionPolicy policy,
                      gboolean is_default)
{
    Object *object = object_new(objects_key(world->objects, KIND_PRIORITY_CLASS, NULL, name));
    PriorityClass *class = (PriorityClass *)object;

    class->value = value;
    class->preemption_policy = policy;
    class->is_default = is_default;
    return world_create(world, object);
}

typedef struct {
    const char *class;   /* priorityClassName; NULL: none */
    int32_t given;       /* spec.priority; 0: not given */
    const char *refusal; /* NULL: admitted as the rest says */
    const char *becomes;
    int32_t value;
    PreemptionPolicy policy;
} PriorityCase;

#define FORBIDDEN "pods \"p\" is forbidden: "
static const PriorityCase priority_cases[] = {
    {"high",                  0, NULL,          "high", 1000, PREEMPT_NEVER},
    {NULL,                   0,       NULL,                    "usual", 10, PREEMPT_LOWER_PRIORITY},
    {"high",    1000,NULL,"high", 1000, PREEMPT_NEVER},
    {"system-node-critical", 0,  NULL,          "system-node-critical", 2000001000, PREEMPT_LOWER_PRIORITY},
    {"none",                   0,                    FORBIDDEN "no PriorityClass with name none was found"                                               },
    {"high",                       7,
     FORBIDDEN "the integer value of priority (7) must not be provided in pod spec; priority "
               "admission controller computed 1000 from the given PriorityClass name"              },
};

/* API-190. */
TEST_WITH(world_setup, world_teardown, a_pod_gets_the_priority_of_its_class)
{
    ApiServerWorld *world = *state;

    create_priority_class(world, "high", 1000, PREEMPT_NEVER, FALSE);
    create_priority_class(world, "usual", 10, PREEMPT_LOWER_PRIORITY, TRUE);
    for (unsigned i = 0; i < G_N_ELEMENTS(priority_cases); i++) {
        const PriorityCase *row = &priority_cases[i];
        g_autofree char *name = g_strdup_printf("p%u", i);
        Object *pod = object_new(
            objects_key(world->objects, KIND_POD, "default", row->refusal != NULL ? "p" : name));
        PodSpec *spec = pod_spec_new();
        spec->priority_class = row->class == NULL ? NULL : world_intern(world, row->class);
        spec->priority = row->given;
        spec->gives_priority = row->given != 0;
        pod_set_spec(POD(pod), spec, NULL);
        pod_spec_unref(spec);
        ApiResponse response = world_create(world, pod);
        assert_int_equal(response.code, row->refusal != NULL ? API_FORBIDDEN : API_OK);
        if (row->refusal != NULL) {
            assert_string_equal(response.message, row->refusal);
            continue;
        }
        const PodSpec *admitted = POD_CONST(response.object)->spec;
        assert_string_equal(admitted->priority_class, row->becomes);
        assert_int_equal(admitted->priority, row->value);
        assert_int_equal(admitted->preemption_policy, row->policy);
    }
}

/* API-191. */
TEST_WITH(world_setup, world_teardown, one_priority_class_is_the_default)
{
    ApiServerWorld *world = *state;

    assert_int_equal(create_priority_class(world, "a", 1, PREEMPT_NEVER, TRUE).code, API_OK);
    ApiResponse response = create_priority_class(world, "b", 2, PREEMPT_NEVER, TRUE);
    assert_int_equal(response.code, API_FORBIDDEN);
    assert_string_equal(response.message,
                        "priorityclasses.scheduling.k8s.io \"b\" is forbidden: PriorityClass a is "
                        "already marked as default. Only one default can exist");
}

TEST_WITH(world_setup, world_teardown, an_empty_class_stays)
{
    ApiServerWorld *world = *state;
    Object *claim = world_new_claim(world);

    create_class(world, "default", TRUE);
    CLAIM(claim)->class_name = world_intern(world, "");
    assert_string_equal(CLAIM_CONST(world_create(world, claim).object)->class_name, "");
}

static gboolean
admission_set_request(Object *object, const void *bytes)
{
    CLAIM(object)->request_bytes = *(const int64_t *)bytes;
    return TRUE;
}

static gboolean
admission_bind_claim(Object *object, const void *capacity)
{
    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->capacity_bytes = *(const int64_t *)capacity;
    return TRUE;
}

/* API-124, API-131, API-132. */
TEST_WITH(world_setup, world_teardown, requests_grow_only_while_bound_and_never_shrink)
{
    static const int64_t one = 1 << 30, two = INT64_C(2) << 30;
    ApiServerWorld *world = *state;
    Object *claim = world_new_claim(world);

    CLAIM(claim)->class_name = world_intern(world, "fast");
    world_create(world, claim);
    ApiResponse unbound = world_patch(world, world_claim_key(world), admission_set_request, &two);
    assert_int_equal(unbound.code, API_INVALID);
    assert_non_null(strstr(unbound.message, "spec: Forbidden: spec is immutable after creation "
                                            "except resources.requests"));
    world_commit(world, &(ApiRequest){.verb = API_PATCH_STATUS,
                                      .key = world_claim_key(world),
                                      .edit = admission_bind_claim,
                                      .arg = &one});
    ApiResponse refused = world_patch(world, world_claim_key(world), admission_set_request, &two);
    assert_int_equal(refused.code, API_FORBIDDEN); /* there is no class that allows it */
    assert_non_null(
        strstr(refused.message, "the storageclass that provisions the pvc must support resize"));

    Object *class = object_new(objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "fast"));
    STORAGE_CLASS(class)->allow_expansion = TRUE;
    world_create(world, class);
    assert_int_equal(world_patch(world, world_claim_key(world), admission_set_request, &two).code,
                     API_OK);
    assert_int_equal(world_patch(world, world_claim_key(world), admission_set_request, &one).code,
                     API_INVALID);
}

/* API-V11, API-132, RSZ-2: recovery by a smaller request, but never down to the present size. */
TEST_WITH(world_setup, world_teardown, requests_shrink_down_to_the_capacity)
{
    static const int64_t ten = INT64_C(10) << 30;
    static const struct {
        int gib;
        ApiCode recovers, keeps;
    } rows[] = {
        {20, API_OK,      API_OK     },
        {15, API_OK,      API_INVALID},
        {10, API_INVALID, API_INVALID},
        {9,  API_INVALID, API_INVALID},
        {30, API_OK,      API_OK     },
    };
    ApiServerWorld *world = *state;

    for (int keeps = 0; keeps < 2; keeps++) {
        world_renew(world, (ApiServerOptions){.keeps_requests = keeps});
        Object *claim = world_new_claim(world);
        Object *class = object_new(objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "fast"));
        CLAIM(claim)->class_name = world_intern(world, "fast");
        STORAGE_CLASS(class)->allow_expansion = TRUE;
        world_create(world, class);
        world_create(world, claim);
        world_commit(world, &(ApiRequest){.verb = API_PATCH_STATUS,
                                          .key = world_claim_key(world),
                                          .edit = admission_bind_claim,
                                          .arg = &ten});
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            int64_t bytes = (int64_t)rows[i].gib << 30;
            ApiResponse response =
                world_patch(world, world_claim_key(world), admission_set_request, &bytes);
            assert_int_equal(response.code, keeps ? rows[i].keeps : rows[i].recovers);
            if (response.code == API_INVALID)
                assert_non_null(strstr(response.message,
                                       keeps ? "spec.resources.requests.storage: Forbidden: field "
                                               "can not be less than previous value"
                                             : "spec.resources.requests.storage: Forbidden: field "
                                               "can not be less than status.capacity"));
        }
    }
}

static gboolean
change_mode(Object *object, const void *data)
{
    (void)data;
    VOLUME(object)->volume_mode = VOLUME_BLOCK;
    return TRUE;
}

static gboolean
change_affinity(Object *object, const void *data)
{
    (void)data;
    node_selector_unref(VOLUME(object)->node_affinity);
    VOLUME(object)->node_affinity = NULL;
    return TRUE;
}

static gboolean
change_policy(Object *object, const void *data)
{
    (void)data;
    VOLUME(object)->reclaim_policy = RECLAIM_DELETE;
    return TRUE;
}

static gboolean
change_provisioner(Object *object, const void *word)
{
    STORAGE_CLASS(object)->provisioner = word;
    return TRUE;
}

static gboolean
change_class_policy(Object *object, const void *data)
{
    (void)data;
    STORAGE_CLASS(object)->reclaim_policy = RECLAIM_RETAIN;
    return TRUE;
}

static gboolean
change_binding_mode(Object *object, const void *data)
{
    (void)data;
    STORAGE_CLASS(object)->binding_mode = BINDING_WAIT_FOR_FIRST_CONSUMER;
    return TRUE;
}

static gboolean
change_parameters(Object *object, const void *word)
{
    StringMap *parameters = string_map_with(STORAGE_CLASS(object)->parameters, word, word);

    string_map_unref(STORAGE_CLASS(object)->parameters);
    STORAGE_CLASS(object)->parameters = parameters;
    return TRUE;
}

static gboolean
change_expansion(Object *object, const void *data)
{
    (void)data;
    STORAGE_CLASS(object)->allow_expansion = TRUE;
    return TRUE;
}

static gboolean
change_attach_required(Object *object, const void *data)
{
    (void)data;
    CSI_DRIVER_OBJECT(object)->attach_required ^= TRUE;
    return TRUE;
}

static gboolean
change_pod_info(Object *object, const void *data)
{
    (void)data;
    CSI_DRIVER_OBJECT(object)->pod_info_on_mount = TRUE;
    return TRUE;
}

static gboolean
admission_change_node(Object *object, const void *word)
{
    ATTACHMENT(object)->node_name = word;
    return TRUE;
}

static gboolean
change_attached(Object *object, const void *data)
{
    (void)data;
    ATTACHMENT(object)->attached = TRUE;
    return TRUE;
}

static gboolean
change_capacity_class(Object *object, const void *word)
{
    STORAGE_CAPACITY(object)->class_name = word;
    return TRUE;
}

static gboolean
change_capacity(Object *object, const void *data)
{
    (void)data;
    STORAGE_CAPACITY(object)->capacity_bytes = 1;
    return TRUE;
}

static gboolean
change_source(Object *object, const void *word)
{
    CLAIM(object)->data_source.kind = word;
    return TRUE;
}

/* API-131, API-134, API-135, API-136: refused changes with their words, and beside each an allowed
 * one. */
TEST_WITH(world_setup, world_teardown, some_fields_never_change)
{
    static const struct {
        ObjectKind kind;
        ObjectEdit edit;
        const char *message; /* a part; NULL: allowed */
    } cases[] = {
        {KIND_VOLUME,           change_mode,            "\"x\" is invalid: volumeMode: Invalid"  },
        {KIND_VOLUME,           change_affinity,
         "nodeAffinity: Invalid value: field is immutable, except for updating from beta label to "
         "GA"                                                                                    },
        {KIND_VOLUME,           change_policy,          NULL                                     },
        {KIND_STORAGE_CLASS,    change_provisioner,
         "StorageClass.storage.k8s.io \"x\" is invalid: provisioner: Forbidden: updates to "
         "provisioner "
         "are forbidden."                                                                        },
        {KIND_STORAGE_CLASS,    change_class_policy,    "updates to reclaimPolicy are forbidden."},
        {KIND_STORAGE_CLASS,    change_parameters,      "updates to parameters are forbidden."   },
        {KIND_STORAGE_CLASS,    change_binding_mode,    "volumeBindingMode: Invalid value"       },
        {KIND_STORAGE_CLASS,    change_expansion,       NULL                                     },
        {KIND_CSI_DRIVER,       change_attach_required, "spec.attachedRequired: Invalid value"   },
        {KIND_CSI_DRIVER,       change_pod_info,        NULL                                     },
        {KIND_ATTACHMENT,       admission_change_node,
         "VolumeAttachment.storage.k8s.io \"x\" is invalid: spec: Invalid value: field is "
         "immutable"                                                                             },
        {KIND_ATTACHMENT,       change_attached,        NULL                                     },
        {KIND_STORAGE_CAPACITY, change_capacity_class,  "storageClassName: Invalid value"        },
        {KIND_STORAGE_CAPACITY, change_capacity,        NULL                                     },
        {KIND_CLAIM,            change_source,          "spec is immutable after creation"       },
    };
    ApiServerWorld *world = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        ObjectKey *key = objects_key(world->objects, cases[i].kind,
                                     kind_class(cases[i].kind)->namespaced ? "default" : NULL, "x");
        Object *object = object_new(key);
        if (cases[i].kind == KIND_VOLUME)
            VOLUME(object)->node_affinity = node_selector_new(NULL, 0);
        if (api_server_get(world->api, key) == NULL)
            world_create(world, object_ref(object));
        object_unref(object);
        ApiResponse response =
            world_patch(world, key, cases[i].edit, world_intern(world, "another"));
        assert_int_equal(response.code, cases[i].message == NULL ? API_OK : API_INVALID);
        if (cases[i].message != NULL)
            assert_non_null(strstr(response.message, cases[i].message));
    }
}

/* API-180, API-181, API-182: the strategy of claims changes a new claim before it is stored. */
TEST_WITH(world_setup, world_teardown, the_server_drops_and_copies_fields)
{
    static const struct {
        const char *group, *kind, *namespace;
        uint32_t given, stored; /* DataSourceForm */
    } rows[] = {
        {NULL,                      "PersistentVolumeClaim", NULL, DATA_SOURCE_OLD, DATA_SOURCE_OLD | DATA_SOURCE_REF},
        {"snapshot.storage.k8s.io", "VolumeSnapshot",        NULL, DATA_SOURCE_REF,
         DATA_SOURCE_OLD | DATA_SOURCE_REF                                                                           },
        {"other.example",           "Other",                 NULL, DATA_SOURCE_OLD, 0                                },
        {"other.example",           "Other",                 NULL, DATA_SOURCE_REF, DATA_SOURCE_OLD | DATA_SOURCE_REF},
        {NULL,                      "PersistentVolumeClaim", "ns", DATA_SOURCE_REF, 0                                },
    };
    ApiServerWorld *world = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *name = g_strdup_printf("c%u", i);
        Object *claim = object_new(objects_key(world->objects, KIND_CLAIM, "default", name));
        CLAIM(claim)->attributes_class = world_intern(world, "gold");
        CLAIM(claim)->data_source = (DataSource){
            world_intern(world, rows[i].group), world_intern(world, rows[i].kind),
            world_intern(world, rows[i].namespace), world_intern(world, "x"), rows[i].given};
        const Claim *stored = CLAIM_CONST(world_create(world, claim).object);
        assert_null(stored->attributes_class); /* the gate is off */
        assert_int_equal(stored->data_source.forms, rows[i].stored);
        assert_int_equal(stored->data_source.kind != NULL, rows[i].stored != 0);
    }
}

enum {
    CURRENT = 1 << 0, /* status.currentVolumeAttributesClassName */
    MODIFY = 1 << 1,
    ALLOCATED = 1 << 2,
    RESIZE = 1 << 3,
    ALL = CURRENT | MODIFY | ALLOCATED | RESIZE,
};

typedef struct {
    const ApiServerWorld *world;
    uint32_t fields;
} StatusFields;

static gboolean
set_status_fields(Object *object, const void *data)
{
    const StatusFields *set = data;
    Claim *claim = CLAIM(object);
    const char *text = world_intern(set->world, "gold");

    claim->current_attributes_class = (set->fields & CURRENT) != 0 ? text : NULL;
    claim->modify_status = claim->modify_target = (set->fields & MODIFY) != 0 ? text : NULL;
    claim->allocated_bytes = (set->fields & ALLOCATED) != 0 ? 50 : 0;
    claim->resize_status = (set->fields & RESIZE) != 0 ? text : NULL;
    return TRUE;
}

static uint32_t
status_fields(const Claim *claim)
{
    return (claim->current_attributes_class != NULL ? CURRENT : 0) |
           (claim->modify_status != NULL ? MODIFY : 0) |
           (claim->allocated_bytes != 0 ? ALLOCATED : 0) |
           (claim->resize_status != NULL ? RESIZE : 0);
}

/* API-180: a field of status whose gate is off is dropped, unless the claim has it already. */
TEST_WITH(world_setup, world_teardown, fields_of_status_have_gates)
{
    static const struct {
        int minor;
        uint32_t before, stored; /* all are written */
    } rows[] = {
        {31, 0,         0                 }, /* both gates are off */
        {31, CURRENT,   CURRENT           },
        {31, MODIFY,    MODIFY            },
        {31, ALLOCATED, ALLOCATED         },
        {31, RESIZE,    RESIZE            },
        {31, ALL,       ALL               },
        {32, 0,         ALLOCATED | RESIZE}, /* RecoverVolumeExpansionFailure is on */
        {34, 0,         ALL               }, /* VolumeAttributesClass, too */
    };
    ApiServerWorld *world = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Release release = {.minor = rows[i].minor};
        const StatusFields before = {world, rows[i].before}, all = {world, ALL};
        world_renew(world, (ApiServerOptions){.release = &release});
        Object *claim = world_new_claim(world);
        set_status_fields(claim, &before);
        api_server_import(world->api, claim);
        const Object *base = api_server_get(world->api, world_claim_key(world));
        assert_int_equal(world_put(world, base, set_status_fields, &all, API_UPDATE_STATUS).code,
                         API_OK);
        const Object *stored = api_server_get(world->api, world_claim_key(world));
        assert_int_equal(status_fields(CLAIM_CONST(stored)), rows[i].stored);
    }
}

/* API-20: admission comes before the store, which alone knows the name. */
TEST_WITH(world_setup, world_teardown, a_name_in_use_is_told_last)
{
    static const struct {
        int64_t max_bytes; /* of the LimitRange; 0: there is none */
        int64_t bytes;
        ApiCode code;
    } rows[] = {
        {0,  50, API_EXISTS   },
        {40, 30, API_EXISTS   },
        {40, 50, API_FORBIDDEN},
    };
    ApiServerWorld *world = *state;

    world_create(world, world_new_claim(world));
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        ObjectKey *key = objects_key(world->objects, KIND_LIMIT_RANGE, "default", "limits");
        if (rows[i].max_bytes > 0 && api_server_get(world->api, key) == NULL) {
            Object *range = object_new(key);
            ((LimitRange *)range)->max_bytes = rows[i].max_bytes;
            world_create(world, range);
        }
        Object *claim = world_new_claim(world);
        CLAIM(claim)->request_bytes = rows[i].bytes;
        assert_int_equal(world_create(world, claim).code, rows[i].code);
    }
}

/* API-189 */
TEST_WITH(world_setup, world_teardown, pods_alone_need_a_release_that_knows_them)
{
    static const struct {
        int minor;
        uint32_t modes;
        ApiCode code;
    } rows[] = {
        {22, ACCESS_RWO,  API_OK     },
        {26, ACCESS_RWOP, API_INVALID},
        {27, ACCESS_RWOP, API_OK     },
        {32, ACCESS_RWO,  API_OK     },
        {32, ACCESS_RWOP, API_OK     },
    };
    ApiServerWorld *world = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Release release = {.minor = rows[i].minor};
        world_renew(world, (ApiServerOptions){.release = &release});
        Object *claim = world_new_claim(world);
        Object *volume = object_new(objects_key(world->objects, KIND_VOLUME, NULL, "v"));
        CLAIM(claim)->access_modes = VOLUME(volume)->access_modes = rows[i].modes;
        assert_int_equal(world_create(world, claim).code, rows[i].code);
        assert_int_equal(world_create(world, volume).code, rows[i].code);
    }
}
