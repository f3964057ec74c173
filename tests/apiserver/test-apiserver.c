/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "models/apiserver/apiserver.h"

/* The rules of docs/rules/api-server.md: versions, conflicts, finalizers, graceful deletion,
 * admission, watches. */

typedef struct {
    Sim *sim;
    Objects *objects;
    Timing timing;
    ApiServer *api;
} World;

static const char *
intern(const World *world, const char *text)
{
    return strings_intern(objects_strings(world->objects), text);
}

static int
setup(void **state)
{
    World *world = g_new0(World, 1);
    const SimOptions options = {.seed = 1};

    world->sim = sim_new(&options);
    world->objects = objects_new(1);
    timing_init_instant(&world->timing);
    world->api = api_server_new(&(ApiServerOptions){
        .sim = world->sim, .objects = world->objects, .timing = &world->timing});
    *state = world;
    return 0;
}

static int
teardown(void **state)
{
    World *world = *state;

    api_server_free(world->api);
    sim_free(world->sim);
    objects_free(world->objects);
    timing_clear(&world->timing);
    g_free(world);
    return 0;
}

static ObjectKey *
claim_key(const World *world)
{
    return objects_key(world->objects, KIND_CLAIM, "default", "data");
}

static ObjectKey *
pod_key(const World *world)
{
    return objects_key(world->objects, KIND_POD, "default", "app");
}

static ApiResponse
commit(World *world, const ApiRequest *request)
{
    ApiResponse response;

    api_server_commit(world->api, request, &response);
    return response;
}

static ApiResponse
create(World *world, Object *object)
{
    g_autoptr(Object) owned G_GNUC_UNUSED = object;

    return commit(
        world,
        &(ApiRequest){.verb = API_CREATE, .key = (ObjectKey *)object->key, .object = object});
}

static ApiResponse delete (World *world, ObjectKey *key, int32_t grace_s)
{
    return commit(world, &(ApiRequest){.verb = API_DELETE, .key = key, .grace_s = grace_s});
}

static gboolean
annotate(Object *object, const void *value)
{
    return object_set_annotation(object, "kvolsim.io/test", value);
}

static gboolean
finalize(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

static gboolean
unfinalize(Object *object, const void *finalizer)
{
    return object_remove_finalizer(object, finalizer);
}

static ApiResponse
patch(World *world, ObjectKey *key, ObjectEdit edit, const void *arg)
{
    return commit(world, &(ApiRequest){.verb = API_PATCH, .key = key, .edit = edit, .arg = arg});
}

static ApiResponse
put(World *world, const Object *base, ObjectEdit edit, const void *arg, ApiVerb verb)
{
    g_autoptr(Object) object = object_edit(base);

    edit(object, arg);
    return commit(world,
                  &(ApiRequest){.verb = verb, .key = (ObjectKey *)base->key, .object = object});
}

static Object *
new_claim(const World *world)
{
    Object *object = object_new(claim_key(world));

    CLAIM(object)->access_modes = ACCESS_RWO;
    CLAIM(object)->request_bytes = 1 << 30;
    return object;
}

static Object *
new_pod(const World *world, const char *node)
{
    Object *object = object_new(pod_key(world));

    POD(object)->node_name = node == NULL ? NULL : intern(world, node);
    return object;
}

/* API-1, API-4. */
static void
each_write_has_a_new_version_and_each_incarnation_a_new_uid(void **state)
{
    World *world = *state;
    const Object *first = create(world, new_claim(world)).object;
    uint64_t version = first->resource_version;
    ObjectUid uid = first->uid;

    const Object *second = patch(world, claim_key(world), annotate, intern(world, "a")).object;
    assert_true(second->resource_version > version);
    patch(world, claim_key(world), unfinalize, FINALIZER_PVC_PROTECTION);
    delete (world, claim_key(world), -1);
    assert_null(api_server_get(world->api, claim_key(world)));
    assert_false(object_uid_equal(create(world, new_claim(world)).object->uid, uid));
}

/* API-2, API-W1; CGO-46. */
static void
a_write_without_effect_makes_no_version(void **state)
{
    World *world = *state;
    const Object *stored = create(world, new_claim(world)).object;
    uint64_t version = api_server_resource_version(world->api);

    patch(world, claim_key(world), annotate, NULL);
    put(world, stored, annotate, NULL, API_UPDATE);
    assert_int_equal(api_server_resource_version(world->api), version);
    assert_ptr_equal(api_server_get(world->api, claim_key(world)), stored);
}

static gboolean
scale(Object *object, const void *value)
{
    (void)value;
    STATEFUL_SET(object)->replicas++;
    return TRUE;
}

static gboolean
count_ready(Object *object, const void *value)
{
    (void)value;
    STATEFUL_SET(object)->ready_replicas++;
    return TRUE;
}

static gboolean
own(Object *object, const void *owner)
{
    object_set_owner(object, owner, TRUE, TRUE);
    return TRUE;
}

/* As an edit that writes what is there already. */
static gboolean
claim_to_change(Object *object, const void *value)
{
    (void)object, (void)value;
    return TRUE;
}

/* API-3: what makes a new version, and what of it a new generation. */
static const struct {
    const char *what;
    ApiVerb verb;
    ObjectEdit edit;
    unsigned versions, generations;
} generation_cases[] = {
    {"PATCH of the spec",              API_PATCH,         scale,           1, 1},
    {"PATCH of metadata",              API_PATCH,         annotate,        1, 0},
    {"PATCH of the owner",             API_PATCH,         own,             1, 0},
    {"PATCH that changes nothing",     API_PATCH,         claim_to_change, 0, 0},
    {"PATCH of the status",            API_PATCH_STATUS,  count_ready,     1, 0},
    {"PUT of the spec",                API_UPDATE,        scale,           1, 1},
    {"PUT of metadata",                API_UPDATE,        annotate,        1, 0},
    {"PUT of the owner",               API_UPDATE,        own,             1, 0},
    {"PUT that changes nothing",       API_UPDATE,        claim_to_change, 0, 0},
    {"PUT that tries the status",      API_UPDATE,        count_ready,     0, 0},
    {"PUT of the status",              API_UPDATE_STATUS, count_ready,     1, 0},
    {"PUT .../status that tries spec", API_UPDATE_STATUS, scale,           0, 0},
    {"PUT .../status of metadata",     API_UPDATE_STATUS, annotate,        1, 0},
};

static void
a_generation_counts_changes_of_the_spec(void **state)
{
    World *world = *state;
    ObjectKey *key = objects_key(world->objects, KIND_STATEFUL_SET, "default", "web");
    g_autoptr(Object) claim = object_ref(create(world, new_claim(world)).object);

    for (unsigned i = 0; i < G_N_ELEMENTS(generation_cases); i++) {
        create(world, object_new(key));
        g_autoptr(Object) before = object_ref(api_server_get(world->api, key));
        ApiVerb verb = generation_cases[i].verb;
        ObjectEdit edit = generation_cases[i].edit;
        const void *arg = edit == own ? (const void *)claim : intern(world, "a");
        ApiResponse response =
            verb == API_UPDATE || verb == API_UPDATE_STATUS
                ? put(world, before, edit, arg, verb)
                : commit(world, &(ApiRequest){.verb = verb, .key = key, .edit = edit, .arg = arg});

        print_message("%s\n", generation_cases[i].what);
        assert_int_equal(response.code, API_OK);
        assert_int_equal(before->generation, 1);
        assert_int_equal(response.object->generation, 1 + generation_cases[i].generations);
        assert_int_equal(response.object->resource_version,
                         before->resource_version + generation_cases[i].versions);
        assert_int_equal(object_controller(response.object) != NULL, edit == own);
        delete (world, key, -1);
    }
}

/* API-10, API-11, API-12, API-13, API-V13; CGO-45, CGO-47. */
static void
writers_conflict_by_version(void **state)
{
    World *world = *state;
    g_autoptr(Object) base = object_ref(create(world, new_claim(world)).object);

    assert_int_equal(create(world, new_claim(world)).code, API_EXISTS);
    assert_int_equal(put(world, base, annotate, intern(world, "first"), API_UPDATE).code, API_OK);
    ApiResponse second = put(world, base, annotate, intern(world, "second"), API_UPDATE);
    assert_int_equal(second.code, API_CONFLICT);
    assert_string_equal(second.message, "Operation cannot be fulfilled on persistentvolumeclaims "
                                        "\"data\": the object has been modified; please apply "
                                        "your changes to the latest version and try again");
    assert_int_equal(patch(world, claim_key(world), annotate, intern(world, "third")).code, API_OK);

    g_autoptr(Object) unconditional = object_edit(base);
    unconditional->resource_version = 0;
    assert_int_equal(put(world, unconditional, annotate, intern(world, "last"), API_UPDATE).code,
                     API_OK);
}

/* API-13: a patch that carries a version behaves like an update; DELETE with a uid of another
 * incarnation conflicts (API-14). */
static void
preconditions_hold(void **state)
{
    World *world = *state;
    g_autoptr(Object) base = object_ref(create(world, new_claim(world)).object);
    ApiRequest request = {.verb = API_PATCH,
                          .key = claim_key(world),
                          .edit = annotate,
                          .arg = intern(world, "a"),
                          .resource_version = base->resource_version + 1};

    assert_int_equal(commit(world, &request).code, API_CONFLICT);
    request = (ApiRequest){
        .verb = API_DELETE, .key = claim_key(world), .uid = {1, 2}
    };
    assert_int_equal(commit(world, &request).code, API_CONFLICT);
    request.uid = base->uid;
    assert_int_equal(commit(world, &request).code, API_OK);
}

/* API-S2, API-S3, API-S4, API-S5, API-S6, API-50 to API-53, API-W3, API-W4; CGO-49, PROT-2, API-57.
 */
static void
finalizers_hold_an_object_until_the_last_goes(void **state)
{
    World *world = *state;

    create(world, new_claim(world)); /* with kubernetes.io/pvc-protection (API-123) */
    patch(world, claim_key(world), finalize, intern(world, "example.com/mine"));
    assert_int_equal(delete (world, claim_key(world), -1).code, API_OK);
    assert_true(object_is_deleted(api_server_get(world->api, claim_key(world))));

    uint64_t version = api_server_resource_version(world->api);
    assert_int_equal(delete (world, claim_key(world), -1).code,
                     API_OK); /* the second changes nothing */
    assert_int_equal(api_server_resource_version(world->api), version);
    assert_int_equal(create(world, new_claim(world)).code, API_EXISTS);

    ApiResponse late = patch(world, claim_key(world), finalize, intern(world, "example.com/late"));
    assert_int_equal(late.code, API_INVALID);
    assert_non_null(
        strstr(late.message, "no new finalizers can be added if the object is being deleted"));

    patch(world, claim_key(world), unfinalize, "example.com/mine");
    assert_non_null(api_server_get(world->api, claim_key(world)));
    patch(world, claim_key(world), unfinalize, FINALIZER_PVC_PROTECTION);
    assert_null(api_server_get(world->api, claim_key(world)));
    assert_int_equal(patch(world, claim_key(world), annotate, intern(world, "a")).code,
                     API_NOT_FOUND);
}

/* WL-90, WL-91, API-S7. */
static void
pods_are_given_their_grace(void **state)
{
    World *world = *state;

    create(world, new_pod(world, "node-1"));
    delete (world, pod_key(world), -1);
    const Object *pod = api_server_get(world->api, pod_key(world));
    assert_int_equal(pod->deletion_grace_s, 30); /* terminationGracePeriodSeconds' default */
    assert_int_equal(pod->deleted_at, 30 * SIM_SECOND);

    delete (world, pod_key(world), 60); /* may only get shorter */
    assert_int_equal(api_server_get(world->api, pod_key(world))->deletion_grace_s, 30);
    delete (world, pod_key(world), 5);
    assert_int_equal(api_server_get(world->api, pod_key(world))->deletion_grace_s, 5);
    delete (world, pod_key(world), 0);
    assert_null(api_server_get(world->api, pod_key(world)));

    create(world, new_pod(world, NULL)); /* no kubelet has it: at once */
    delete (world, pod_key(world), -1);
    assert_null(api_server_get(world->api, pod_key(world)));
}

/* API-19, API-22. */
static void
a_pod_is_bound_once(void **state)
{
    World *world = *state;
    ApiRequest bind = {
        .verb = API_BIND, .key = pod_key(world), .node_name = intern(world, "node-1")};

    assert_int_equal(commit(world, &bind).code, API_NOT_FOUND);
    create(world, new_pod(world, NULL));
    assert_int_equal(commit(world, &bind).code, API_OK);
    const Pod *pod = POD_CONST(api_server_get(world->api, pod_key(world)));
    assert_string_equal(pod->node_name, "node-1");
    assert_int_equal(pod->scheduled.status, CONDITION_TRUE);
    ApiResponse again = commit(world, &bind);
    assert_int_equal(again.code, API_CONFLICT);
    assert_non_null(strstr(again.message, "pod app is already assigned to node \"node-1\""));
}

static gboolean
set_phase_and_class(Object *object, const void *class_name)
{
    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->class_name = class_name;
    return TRUE;
}

/* API-18, CGO-44. */
static void
status_and_spec_are_written_apart(void **state)
{
    World *world = *state;
    g_autoptr(Object) base = object_ref(create(world, new_claim(world)).object);

    put(world, base, set_phase_and_class, intern(world, "fast"), API_UPDATE_STATUS);
    const Claim *claim = CLAIM_CONST(api_server_get(world->api, claim_key(world)));
    assert_int_equal(claim->phase, CLAIM_BOUND);
    assert_null(claim->class_name);

    put(world, &claim->meta, set_phase_and_class, intern(world, "fast"), API_UPDATE);
    claim = CLAIM_CONST(api_server_get(world->api, claim_key(world)));
    assert_string_equal(claim->class_name, "fast"); /* once, from nil (API-122) */
}

static void
create_class(World *world, const char *name, gboolean is_default)
{
    Object *class = object_new(objects_key(world->objects, KIND_STORAGE_CLASS, NULL, name));

    if (is_default)
        object_set_annotation(class, intern(world, ANNOTATION_DEFAULT_CLASS),
                              intern(world, "true"));
    create(world, class);
}

static void
nothing(Sim *sim, void *data)
{
    (void)sim, (void)data;
}

static void
pass_time(World *world, SimTime delay)
{
    static const SimEventType event = {.name = "test/time passes", .fire = nothing};

    sim_after(world->sim, delay, &event, NULL, WAIT_NONE);
    sim_run_until(world->sim, sim_now(world->sim) + delay);
}

/* API-121: the newest by whole seconds, then the smallest name. */
static void
a_claim_without_class_gets_the_default(void **state)
{
    World *world = *state;

    create_class(world, "old", TRUE);
    pass_time(world, 5 * SIM_SECOND);
    create_class(world, "zebra", TRUE);
    pass_time(world, 100 * SIM_MS); /* the same second */
    create_class(world, "ant", TRUE);
    create_class(world, "aardvark", FALSE);
    assert_string_equal(CLAIM_CONST(create(world, new_claim(world)).object)->class_name, "ant");
}

/* API-121: before 1.26 nobody chose. */
static void
several_defaults_were_refused(void **state)
{
    World *world = *state;

    api_server_free(world->api);
    world->api = api_server_new(&(ApiServerOptions){.sim = world->sim,
                                                    .objects = world->objects,
                                                    .timing = &world->timing,
                                                    .refuses_defaults = TRUE});
    create_class(world, "one", TRUE);
    assert_string_equal(CLAIM_CONST(create(world, new_claim(world)).object)->class_name, "one");
    create_class(world, "two", TRUE);
    Object *claim = object_new(objects_key(world->objects, KIND_CLAIM, "default", "other"));
    ApiResponse response = create(world, claim);
    assert_int_equal(response.code, API_FORBIDDEN);
    assert_string_equal(response.message,
                        "persistentvolumeclaims \"other\" is forbidden: Internal error occurred: "
                        "2 default StorageClasses were found");
}

static void
an_empty_class_stays(void **state)
{
    World *world = *state;
    Object *claim = new_claim(world);

    create_class(world, "default", TRUE);
    CLAIM(claim)->class_name = intern(world, "");
    assert_string_equal(CLAIM_CONST(create(world, claim).object)->class_name, "");
}

static gboolean
set_request(Object *object, const void *bytes)
{
    CLAIM(object)->request_bytes = *(const int64_t *)bytes;
    return TRUE;
}

static gboolean
bind_claim(Object *object, const void *capacity)
{
    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->capacity_bytes = *(const int64_t *)capacity;
    return TRUE;
}

/* API-124, API-131, API-132. */
static void
requests_grow_only_while_bound_and_never_shrink(void **state)
{
    static const int64_t one = 1 << 30, two = INT64_C(2) << 30;
    World *world = *state;
    Object *claim = new_claim(world);

    CLAIM(claim)->class_name = intern(world, "fast");
    create(world, claim);
    assert_int_equal(patch(world, claim_key(world), set_request, &two).code, API_FORBIDDEN);
    commit(world,
           &(ApiRequest){
               .verb = API_PATCH_STATUS, .key = claim_key(world), .edit = bind_claim, .arg = &one});
    ApiResponse refused = patch(world, claim_key(world), set_request, &two);
    assert_int_equal(refused.code, API_FORBIDDEN); /* the class does not allow it: there is none */
    assert_non_null(
        strstr(refused.message, "the storageclass that provisions the pvc must support resize"));

    Object *class = object_new(objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "fast"));
    STORAGE_CLASS(class)->allow_expansion = TRUE;
    create(world, class);
    assert_int_equal(patch(world, claim_key(world), set_request, &two).code, API_OK);
    assert_int_equal(patch(world, claim_key(world), set_request, &one).code, API_INVALID);
}

/* API-V11, API-132, RSZ-2: recovery by a smaller request, but never as small as what is there. */
static void
requests_shrink_down_to_the_capacity(void **state)
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
    World *world = *state;

    for (int keeps = 0; keeps < 2; keeps++) {
        api_server_free(world->api);
        world->api = api_server_new(&(ApiServerOptions){.sim = world->sim,
                                                        .objects = world->objects,
                                                        .timing = &world->timing,
                                                        .keeps_requests = keeps});
        Object *claim = new_claim(world);
        Object *class = object_new(objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "fast"));
        CLAIM(claim)->class_name = intern(world, "fast");
        STORAGE_CLASS(class)->allow_expansion = TRUE;
        create(world, class);
        create(world, claim);
        commit(world, &(ApiRequest){.verb = API_PATCH_STATUS,
                                    .key = claim_key(world),
                                    .edit = bind_claim,
                                    .arg = &ten});
        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
            int64_t bytes = (int64_t)rows[i].gib << 30;
            ApiResponse response = patch(world, claim_key(world), set_request, &bytes);
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
change_node(Object *object, const void *word)
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

/* API-131, API-134, API-135, API-136: what is refused, and with which words; and beside each a
 * change that is not. */
static void
some_fields_never_change(void **state)
{
    static const struct {
        ObjectKind kind;
        ObjectEdit edit;
        const char *message; /* a part; NULL: allowed */
    } cases[] = {
        {KIND_VOLUME,           change_mode,            "spec.volumeMode: Invalid value"         },
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
        {KIND_ATTACHMENT,       change_node,
         "VolumeAttachment.storage.k8s.io \"x\" is invalid: spec: Invalid value: field is "
         "immutable"                                                                             },
        {KIND_ATTACHMENT,       change_attached,        NULL                                     },
        {KIND_STORAGE_CAPACITY, change_capacity_class,  "storageClassName: Invalid value"        },
        {KIND_STORAGE_CAPACITY, change_capacity,        NULL                                     },
        {KIND_CLAIM,            change_source,          "spec is immutable after creation"       },
    };
    World *world = *state;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        ObjectKey *key = objects_key(world->objects, cases[i].kind,
                                     kind_class(cases[i].kind)->namespaced ? "default" : NULL, "x");
        Object *object = object_new(key);
        if (cases[i].kind == KIND_VOLUME)
            VOLUME(object)->node_affinity = node_selector_new(NULL, 0);
        if (api_server_get(world->api, key) == NULL)
            create(world, object_ref(object));
        object_unref(object);
        ApiResponse response = patch(world, key, cases[i].edit, intern(world, "another"));
        assert_int_equal(response.code, cases[i].message == NULL ? API_OK : API_INVALID);
        if (cases[i].message != NULL)
            assert_non_null(strstr(response.message, cases[i].message));
    }
}

/* ---- Watches ---- */

typedef struct {
    GString *seen;
    SimTime last_at;
    uint64_t last_version;
    World *world;
} Watcher;

static void
see(void *data, WatchType type, const Object *object)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
    Watcher *watcher = data;

    g_string_append_printf(watcher->seen, "%s%s %s", watcher->seen->len == 0 ? "" : ", ",
                           types[type], object_name(object));
    assert_true(object->resource_version > watcher->last_version); /* API-70 */
    watcher->last_version = object->resource_version;
    watcher->last_at = sim_now(watcher->world->sim);
}

/* API-71, CGO-11: no version is left out. API-S1 to S5, WL-90: an unbound pod goes by two writes.
 */
static void
watches_see_every_version_in_order(void **state)
{
    World *world = *state;
    Watcher watcher = {.seen = g_string_new(NULL), .world = world};
    ApiWatch *pods = api_server_watch(world->api, KIND_POD, NULL, 1, see, &watcher);

    create(world, new_pod(world, NULL));
    patch(world, pod_key(world), annotate, intern(world, "a"));
    patch(world, pod_key(world), annotate, intern(world, "a"));
    delete (world, pod_key(world), -1);
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(watcher.seen->str, "ADDED app, MODIFIED app, MODIFIED app, DELETED app");
    api_watch_free(pods);
    g_string_free(watcher.seen, TRUE);
}

static void
a_node_s_watch_sees_its_pods_only(void **state)
{
    World *world = *state;
    Watcher one = {.seen = g_string_new(NULL), .world = world},
            other = {.seen = g_string_new(NULL), .world = world};
    ApiWatch *first = api_server_watch(world->api, KIND_POD, intern(world, "node-1"), 1, see, &one);
    ApiWatch *second =
        api_server_watch(world->api, KIND_POD, intern(world, "node-2"), 2, see, &other);

    create(world, new_pod(world, NULL));
    commit(world, &(ApiRequest){.verb = API_BIND,
                                .key = pod_key(world),
                                .node_name = intern(world, "node-1")});
    sim_run_until(world->sim, SIM_SECOND);
    assert_int_equal(one.seen->len > 0, TRUE);
    assert_int_equal(other.seen->len, 0);
    api_watch_free(first);
    api_watch_free(second);
    g_string_free(one.seen, TRUE);
    g_string_free(other.seen, TRUE);
}

/* TIM-1, TIM-7: recorded delays, order kept over a thousand writes; some events come before the
 * writer's answer. */
typedef struct {
    World *world;
    SimTime answered_at;
    unsigned n_before;
} Race;

static void
answered(void *data, const ApiResponse *response)
{
    Race *race = data;

    (void)response;
    race->answered_at = sim_now(race->world->sim);
}

static void
watch_events_race_with_answers(void **state)
{
    World *world = *state;
    Watcher watcher = {.seen = g_string_new(NULL), .world = world};
    Race race = {.world = world};
    unsigned n = 1000;

    sim_dist_unref(world->timing.write);
    sim_dist_unref(world->timing.watch);
    world->timing.write = sim_dist_new_lognormal(2500 * SIM_US, 0.75, SIM_MS);
    world->timing.watch = sim_dist_new_uniform(-1500 * SIM_US, 5 * SIM_MS);
    world->timing.watch_lead = 1500 * SIM_US;
    create(world, new_claim(world));
    ApiWatch *claims = api_server_watch(world->api, KIND_CLAIM, NULL, 1, see, &watcher);
    for (unsigned i = 0; i < n; i++) {
        const char *value = strings_internf(objects_strings(world->objects), "%u", i);
        ApiRequest request = {.verb = API_PATCH,
                              .key = claim_key(world),
                              .edit = annotate,
                              .arg = value,
                              .client = "test"};
        api_server_request(world->api, &request, answered, NULL, &race);
        sim_run_until(world->sim, sim_now(world->sim) + SIM_SECOND);
        race.n_before += watcher.last_at < race.answered_at;
    }
    api_watch_free(claims);
    assert_in_range(race.n_before, n / 10, n / 2); /* 1.5 of 6.5 ms lie before the answer */
    g_string_free(watcher.seen, TRUE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_write_has_a_new_version_and_each_incarnation_a_new_uid),
        TEST(a_write_without_effect_makes_no_version),
        TEST(a_generation_counts_changes_of_the_spec),
        TEST(writers_conflict_by_version),
        TEST(preconditions_hold),
        TEST(finalizers_hold_an_object_until_the_last_goes),
        TEST(pods_are_given_their_grace),
        TEST(a_pod_is_bound_once),
        TEST(status_and_spec_are_written_apart),
        TEST(a_claim_without_class_gets_the_default),
        TEST(an_empty_class_stays),
        TEST(requests_grow_only_while_bound_and_never_shrink),
        TEST(requests_shrink_down_to_the_capacity),
        TEST(some_fields_never_change),
        TEST(several_defaults_were_refused),
        TEST(watches_see_every_version_in_order),
        TEST(a_node_s_watch_sees_its_pods_only),
        TEST(watch_events_race_with_answers),
    };

    return cmocka_run_group_tests_name("API server", tests, NULL, NULL);
}
