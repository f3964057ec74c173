/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/local-path/local-path.h"
#include "tests/lib/test.h"

#include "models/apiserver/apiserver-test.h"
#include "tests/sidecar/world-asserts.h"

/* The provisioner alone; the test is the kubelet that ends its helper pods. */

const ModelClass *const model_classes[] = {&local_path_class, NULL};

#define NAMESPACE "local-path-storage"

static World *
local_path_new_world(BindingMode mode)
{
    World *world = world_new(
        &(SidecarWorldOptions){.seed = 1, .flag = "provisioner-name", .value = WORLD_DRIVER});

    world_create(world, &world_class(world, "class", mode, RECLAIM_DELETE)->meta);
    return world;
}

static const char *
local_path_volume_name(World *world)
{
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *name = g_strconcat(
        "pvc-", object_uid_format(world_get(world, KIND_CLAIM, "data")->uid, uid), NULL);

    return world_intern(world, name);
}

static const Pod *
helper(World *world, const char *action, const char *volume)
{
    g_autofree char *name = g_strdup_printf("helper-pod-%s-%s", action, volume);
    const ObjectKey *key = objects_find_key(world->objects, KIND_POD, NAMESPACE, name);

    return key == NULL ? NULL : POD_CONST(api_server_get(world->api, key));
}

static gboolean
succeed(Object *object, const void *arg)
{
    (void)arg;
    POD(object)->phase = POD_SUCCEEDED;
    return TRUE;
}

static void
local_path_end_pod(World *world, const Pod *pod)
{
    ApiResponse response;

    assert_non_null(pod);
    api_server_commit(world->api,
                      &(ApiRequest){.verb = API_PATCH_STATUS,
                                    .key = (ObjectKey *)pod->meta.key,
                                    .edit = succeed,
                                    .client = "kubelet"},
                      &response);
    assert_int_equal(response.code, API_OK);
}

/* ---- LOC-32 to LOC-36: a volume comes and goes ---- */

static gboolean
set_released(Object *object, const void *arg)
{
    (void)arg;
    VOLUME(object)->phase = VOLUME_RELEASED;
    return TRUE;
}

TEST(a_volume_comes_and_goes)
{
    g_autoptr(World) world = local_path_new_world(BINDING_WAIT_FOR_FIRST_CONSUMER);

    world_create(world, &world_claim(world, "data", "class", "b")->meta);
    const char *name = local_path_volume_name(world);
    world_run(world, 1500 * SIM_MS);
    assert_string_equal(helper(world, "create", name)->node_name, "b");
    local_path_end_pod(world, helper(world, "create", name));
    world_run(world, 5 * SIM_SECOND);
    const Volume *volume = VOLUME_CONST(world_get(world, KIND_VOLUME, name));
    assert_non_null(volume);
    assert_string_equal(volume->source->plugin, "hostPath");
    assert_true(strstr(volume->source->handle, "_default_data") != NULL);
    assert_int_equal(volume->node_affinity->n_terms, 1);
    assert_times(world, "CREATE PersistentVolume", "2000");
    world_edit_status(world, KIND_VOLUME, name, set_released, NULL);
    world_run(world, 6500 * SIM_MS);
    assert_string_equal(helper(world, "delete", name)->node_name, "b");
    local_path_end_pod(world, helper(world, "delete", name));
    world_run(world, 10 * SIM_SECOND);
    assert_true(object_is_deleted(world_get(world, KIND_VOLUME, name)));
    assert_times(world, "DELETE PersistentVolume", "7000");
}

static ApiCode
refuse_a_volume(void *data, const ApiRequest *request, GString *message)
{
    unsigned *n_left = data;

    if (request->key->kind != KIND_VOLUME || request->verb != API_CREATE || *n_left == 0)
        return API_OK;
    (*n_left)--;
    g_string_assign(message, "refused by the test");
    return API_ERROR;
}

/* LOC-37: 15 s after the volume was refused all is done again. */
TEST(a_volume_is_refused)
{
    g_autoptr(World) world = local_path_new_world(BINDING_WAIT_FOR_FIRST_CONSUMER);
    unsigned n_refusals = 1;

    api_server_set_fault(world->api, refuse_a_volume, &n_refusals);
    world_create(world, &world_claim(world, "data", "class", "b")->meta);
    const char *name = local_path_volume_name(world);
    world_run(world, 1500 * SIM_MS);
    local_path_end_pod(world, helper(world, "create", name));
    world_run(world, 10 * SIM_SECOND);
    assert_null(world_get(world, KIND_VOLUME, name));
    world_run(world, 17500 * SIM_MS);
    local_path_end_pod(world, helper(world, "create", name));
    world_run(world, 20 * SIM_SECOND);
    assert_non_null(world_get(world, KIND_VOLUME, name));
}

/* LOC-35: nobody cleans a node that is gone. */
TEST(a_node_is_gone)
{
    g_autoptr(World) world = local_path_new_world(BINDING_WAIT_FOR_FIRST_CONSUMER);

    world_create(world, &world_claim(world, "data", "class", "b")->meta);
    const char *name = local_path_volume_name(world);
    world_run(world, SIM_SECOND / 2);
    local_path_end_pod(world, helper(world, "create", name));
    world_run(world, 5 * SIM_SECOND);
    world_delete(world, KIND_NODE, "b");
    world_edit_status(world, KIND_VOLUME, name, set_released, NULL);
    world_run(world, 6 * SIM_SECOND);
    assert_true(object_is_deleted(world_get(world, KIND_VOLUME, name)));
    assert_null(helper(world, "delete", name));
}

/* ---- LOC-33, LOC-37: a node that does not answer ---- */

TEST(a_dead_node_is_waited_for)
{
    g_autoptr(World) world = local_path_new_world(BINDING_WAIT_FOR_FIRST_CONSUMER);

    world_create(world, &world_claim(world, "data", "class", "b")->meta);
    world_run(world, 119500 * SIM_MS);
    assert_times(world, "DELETE Pod", "");
    world_run(world, 134 * SIM_SECOND);
    assert_times(world, "DELETE Pod", "120000");
    assert_times(world, "CREATE Pod", "0");
    world_run(world, 136 * SIM_SECOND);
    assert_times(world, "CREATE Pod", "0 135000");
}

/* ---- LOC-30, LOC-31: claims that get no directory ---- */

typedef struct {
    const char *name;
    BindingMode mode;
    uint32_t access_modes;
    gboolean selects;
    const char *node;  /* NULL: none is chosen */
    const char *event; /* of the claim after a second; "": none */
} RefusalCase;

#define FAILED                                                                                     \
    "Provisioning x1: External provisioner is provisioning volume for claim "                      \
    "\"default/data\"; ProvisioningFailed x1: failed to provision volume with "                    \
    "StorageClass \"class\": "

/* clang-format off */
static const RefusalCase refusal_cases[] = {
    {"LOC-30: waits for a consumer", BINDING_WAIT_FOR_FIRST_CONSUMER, ACCESS_RWO, FALSE, NULL, ""},
    {"LOC-31.1", BINDING_WAIT_FOR_FIRST_CONSUMER, ACCESS_RWO, TRUE, "a",
     FAILED "claim.Spec.Selector is not supported"},
    {"LOC-31.2", BINDING_WAIT_FOR_FIRST_CONSUMER, ACCESS_RWX, FALSE, "a",
     FAILED "NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes"},
    {"LOC-31.3", BINDING_IMMEDIATE, ACCESS_RWO, FALSE, NULL,
     FAILED "configuration error, no node was specified"},
    {"LOC-31.4", BINDING_WAIT_FOR_FIRST_CONSUMER, ACCESS_RWO, FALSE, "z",
     FAILED "node \"z\" not found"},
};
/* clang-format on */

static void
a_claim_is_refused(void **state)
{
    const RefusalCase *row = *state;
    g_autoptr(World) world = local_path_new_world(row->mode);
    Claim *claim = world_claim(world, "data", "class", row->node);

    claim->access_modes = row->access_modes;
    if (row->selects)
        claim->selector = label_selector_new(NULL, 0);
    world_create(world, &claim->meta);
    world_run(world, SIM_SECOND);
    assert_events_of(world, world_key(world, KIND_CLAIM, "data"), row->event);
    assert_int_equal(world_count(world, "CREATE Pod", NULL, NULL), 0);
    if (row->node != NULL && *row->node == 'z')
        assert_null(
            object_annotation(world_get(world, KIND_CLAIM, "data"), ANNOTATION_SELECTED_NODE));
}
TEST_ROWS(refusal_cases, a_claim_is_refused);
