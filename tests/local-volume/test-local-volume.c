/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/local/local-volume.h"
#include "models/local-volume/local-volume.h"
#include "tests/lib/test.h"

#include "tests/sidecar/world-asserts.h"

/* A driver with a controller and an agent on each of the nodes a, b and c. The tests make the calls
 * of its sidecars; a volume takes half a second to make. */

const ModelClass *const model_classes[] = {&local_volume_controller_class,
                                           &local_volume_agent_class, NULL};

static const char *const nodes[] = {"a", "b", "c"};

static void *
local_volume_no_options(void *data, const ProcessClass *class)
{
    (void)data, (void)class;
    return NULL;
}

static void
make_driver(World *world, CsiModelledOptions *options)
{
    const char *failing = world->options.driver_arg;

    options->adopts_unknown_volumes = FALSE;
    options->controller_capabilities |= CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY;
    options->latency[CSI_CREATE_VOLUME] = world_constant(world, 500 * SIM_MS);
    if (failing == NULL)
        return;
    world->errors[0] =
        (CsiModelledError){.method = CSI_CREATE_VOLUME,
                           .code = CSI_RESOURCE_EXHAUSTED,
                           .probability = 1,
                           .node = *failing == '*' ? NULL : world_intern(world, failing)};
    options->errors = world->errors;
    options->n_errors = 1;
}

static World *
new_world_of(void (*driver)(World *, CsiModelledOptions *), const char *failing)
{
    World *world =
        world_new(&(SidecarWorldOptions){.seed = 1, .driver = driver, .driver_arg = failing});

    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++)
        cluster_add_node(world->cluster, nodes[i], local_volume_no_options, NULL);
    world_run(world, 0);
    return world;
}

static World *
local_volume_new_world(const char *failing)
{
    return new_world_of(make_driver, failing);
}

/* The answer to a call. */
typedef struct {
    World *world;
    SimTime at; /* 0: none so far */
    CsiCode code;
    char zone[8]; /* of the volume; "": none */
    int64_t bytes;
} Reply;

static void
local_volume_answered(void *data, const CsiResponse *response)
{
    Reply *reply = data;

    reply->at = sim_now(reply->world->sim);
    reply->code = response->code;
    reply->bytes = response->capacity_bytes;
    if (response->n_accessible_topology > 0)
        g_strlcpy(reply->zone, string_map_get(response->accessible_topology[0], WORLD_ZONE),
                  sizeof reply->zone);
}

/* @wanted: the preferred zones: "bca" */
static void
local_volume_create(World *world, const char *wanted, int64_t bytes, SimTime timeout, Reply *reply)
{
    static const CsiCapability mount = {.mode = CSI_SINGLE_NODE_WRITER};
    const StringMap *places[G_N_ELEMENTS(nodes)];
    unsigned n = (unsigned)strlen(wanted);

    for (unsigned i = 0; i < n; i++) {
        g_autofree char *zone = g_strndup(wanted + i, 1);
        StringPair pair = {world_intern(world, WORLD_ZONE), world_intern(world, zone)};
        places[i] = string_map_new(&pair, 1);
    }
    *reply = (Reply){.world = world};
    csi_driver_call(csi_modelled_driver_base(world->driver),
                    &(CsiRequest){.method = CSI_CREATE_VOLUME,
                                  .name = world_intern(world, "vol"),
                                  .required_bytes = bytes,
                                  .timeout_ns = timeout,
                                  .capabilities = &mount,
                                  .n_capabilities = 1,
                                  .preferred = places,
                                  .n_preferred = n},
                    local_volume_answered, reply);
    for (unsigned i = 0; i < n; i++)
        string_map_unref((StringMap *)places[i]);
}

static void delete (World *world, Reply *reply)
{
    *reply = (Reply){.world = world};
    csi_driver_call(
        csi_modelled_driver_base(world->driver),
        &(CsiRequest){.method = CSI_DELETE_VOLUME, .volume_id = world_intern(world, "vol")},
        local_volume_answered, reply);
}

static void
local_volume_expand(World *world, int64_t bytes, Reply *reply)
{
    *reply = (Reply){.world = world};
    csi_driver_call(csi_modelled_driver_base(world->driver),
                    &(CsiRequest){.method = CSI_CONTROLLER_EXPAND_VOLUME,
                                  .volume_id = world_intern(world, "vol"),
                                  .required_bytes = bytes},
                    local_volume_answered, reply);
}

static const LocalVolume *
local_volume(World *world)
{
    const ObjectKey *key = objects_key(world->objects, KIND_LOCAL_VOLUME, "kube-system", "vol");

    return LOCAL_VOLUME_CONST(api_server_get(world->api, key));
}

/* ---- LOC-13..16, LOC-18: where a volume is made, and when that is known ---- */

typedef struct {
    const char *name;
    const char *wanted;  /* zones */
    const char *failing; /* the node that cannot make volumes; "*": none can; NULL: all can */
    const char *dead;    /* the node without an agent */
    SimTime timeout;
    CsiCode code;
    const char *zone;
    int at_ms;
    int gone_ms; /* the LocalVolume is gone by then; 0: it stays */
} CreateCase;

/* clang-format off */
static const CreateCase create_cases[] = {
    {"the first node",                 "abc", NULL, NULL, 0,                       CSI_OK,                "a", 1000,  0},
    {"only a wanted node",             "b",   NULL, NULL, 0,                       CSI_OK,                "b", 1000,  0},
    {"order is not the caller's",      "cb",  NULL, NULL, 0,                       CSI_OK,                "b", 1000,  0},
    {"the next node",                  "abc", "a",  NULL, 0,                       CSI_OK,                "b", 2000,  0},
    {"no next node",                   "a",   "a",  NULL, 0,                       CSI_INTERNAL,          "",  1000,  1000},
    {"none can",                       "abc", "*",  NULL, 0,                       CSI_INTERNAL,          "",  3000,  3000},
    {"no place wanted",                "",    NULL, NULL, 0,                       CSI_INTERNAL,          "",  0,     1},
    {"a dead node has no successor",   "abc", NULL, "a",  0,                       CSI_INTERNAL,          "",  10000, 10000},
    {"the time of a dead one counts",  "abc", "a",  "b",  0,                       CSI_INTERNAL,          "",  11000, 11000},
    {"the caller waits no longer",     "abc", NULL, "a",  4 * SIM_SECOND,          CSI_DEADLINE_EXCEEDED, "",  4000,  4000},
    {"... and the driver stops later", "abc", NULL, "a",  4 * SIM_SECOND + SIM_MS, CSI_DEADLINE_EXCEEDED, "",  4001,  5000},
};
/* clang-format on */

static void
a_node_is_chosen(void **state)
{
    const CreateCase *row = *state;
    g_autoptr(World) world = local_volume_new_world(row->failing);
    Reply reply;

    if (row->dead != NULL)
        cluster_power_off(world->cluster, row->dead);
    local_volume_create(world, row->wanted, 1, row->timeout, &reply);
    if (row->at_ms > 0)
        world_run(world, row->at_ms * SIM_MS - 1);
    assert_int_equal(reply.at, 0);
    world_run(world, row->at_ms * SIM_MS);
    assert_int_equal(reply.code, row->code);
    assert_string_equal(reply.zone, row->zone);
    if (row->timeout > 0 && row->gone_ms > row->at_ms)
        assert_non_null(local_volume(world));
    world_run(world, MAX(row->gone_ms, row->at_ms) * SIM_MS);
    assert_int_equal(local_volume(world) == NULL, row->gone_ms > 0);
    if (row->gone_ms == 0)
        assert_int_equal(local_volume(world)->state, LOCAL_VOLUME_READY);
    assert_int_equal(csi_modelled_driver_n_volumes(world->driver), row->gone_ms == 0);
}
TEST_ROWS(create_cases, a_node_is_chosen);

/* ---- LOC-10: what a second CreateVolume finds ---- */

typedef struct {
    const char *name;
    int at_ms;
    int64_t bytes;
    CsiCode code;
} RepeatCase;

static const RepeatCase repeat_cases[] = {
    {"LOC-10.5: all done",           2000, 1 << 20, CSI_OK            },
    {"LOC-10.5: rounded to one MiB", 2000, 1,       CSI_OK            },
    {"LOC-10.4: under way",          700,  1 << 20, CSI_OK            },
    {"LOC-10.4: not yet Ready",      100,  1 << 20, CSI_ABORTED       },
    {"LOC-10.3: another size",       2000, 2 << 20, CSI_ALREADY_EXISTS},
};

static void
a_repeat_is_known(void **state)
{
    const RepeatCase *row = *state;
    g_autoptr(World) world = local_volume_new_world(NULL);
    Reply first, second;

    local_volume_create(world, "abc", 1 << 20, 0, &first);
    world_run(world, row->at_ms * SIM_MS);
    local_volume_create(world, "abc", row->bytes, 0, &second);
    world_run(world, row->at_ms * SIM_MS);
    assert_int_equal(second.at, row->at_ms * SIM_MS);
    assert_int_equal(second.code, row->code);
    assert_string_equal(second.zone, row->code == CSI_OK ? "a" : "");
}
TEST_ROWS(repeat_cases, a_repeat_is_known);

/* ---- LOC-17, LOC-21, LOC-22: deletion ---- */

TEST(a_dead_node_keeps_its_volume)
{
    g_autoptr(World) world = local_volume_new_world(NULL);
    Reply reply;

    local_volume_create(world, "a", 1, 0, &reply);
    world_run(world, 200 * SIM_MS);
    delete (world, &reply); /* LOC-17.3 */
    world_run(world, 300 * SIM_MS);
    assert_int_equal(reply.code, CSI_INTERNAL);
    world_run(world, 2 * SIM_SECOND);
    cluster_power_off(world->cluster, "a");
    delete (world, &reply); /* LOC-17.4 */
    world_run(world, SIM_MINUTE);
    assert_int_equal(reply.at, 2 * SIM_SECOND);
    assert_int_equal(reply.code, CSI_OK);
    assert_true(object_is_deleted(&local_volume(world)->meta));
    delete (world, &reply); /* LOC-17.2 */
    world_run(world, 2 * SIM_MINUTE);
    assert_int_equal(reply.code, CSI_OK);
    assert_int_equal(csi_modelled_driver_n_volumes(world->driver), 1);
    cluster_power_on(world->cluster, "a");
    world_run(world, 3 * SIM_MINUTE);
    assert_null(local_volume(world));
    assert_int_equal(csi_modelled_driver_n_volumes(world->driver), 0);
    delete (world, &reply); /* LOC-17.1 */
    world_run(world, 4 * SIM_MINUTE);
    assert_int_equal(reply.code, CSI_OK);
}

static gboolean
add_finalizer(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

static gboolean
drop_finalizer(Object *object, const void *finalizer)
{
    return object_remove_finalizer(object, finalizer);
}

static void
edit_volume(World *world, ObjectEdit edit)
{
    ApiResponse response;

    api_server_commit(world->api,
                      &(ApiRequest){.verb = API_PATCH,
                                    .key = (ObjectKey *)local_volume(world)->meta.key,
                                    .edit = edit,
                                    .arg = world_intern(world, "test.example/keep"),
                                    .client = "test"},
                      &response);
    assert_int_equal(response.code, API_OK);
}

/* LOC-21.3 */
TEST(other_finalizers_come_first)
{
    g_autoptr(World) world = local_volume_new_world(NULL);
    Reply reply;

    local_volume_create(world, "a", 1, 0, &reply);
    world_run(world, 2 * SIM_SECOND);
    edit_volume(world, add_finalizer);
    delete (world, &reply);
    world_run(world, SIM_MINUTE);
    assert_int_equal(csi_modelled_driver_n_volumes(world->driver), 1);
    edit_volume(world, drop_finalizer);
    world_run(world, 2 * SIM_MINUTE);
    assert_null(local_volume(world));
    assert_int_equal(csi_modelled_driver_n_volumes(world->driver), 0);
}

static void
fail_one_deletion(World *world, CsiModelledOptions *options)
{
    make_driver(world, options);
    world->errors[0] = (CsiModelledError){
        .method = CSI_DELETE_VOLUME, .code = CSI_INTERNAL, .probability = 1, .count = 1};
    options->errors = world->errors;
    options->n_errors = 1;
}

/* LOC-21.3: waiting for them is an error that is tried again: after a minute of that the back-off
 * of a deletion that fails is long. */
TEST(waiting_counts_as_failing)
{
    g_autoptr(World) world = new_world_of(fail_one_deletion, NULL);
    Reply reply;

    local_volume_create(world, "a", 1, 0, &reply);
    world_run(world, 2 * SIM_SECOND);
    edit_volume(world, add_finalizer);
    delete (world, &reply);
    world_run(world, SIM_MINUTE);
    edit_volume(world, drop_finalizer);
    world_run(world, SIM_MINUTE + 10 * SIM_SECOND);
    assert_int_equal(csi_modelled_driver_n_volumes(world->driver), 1);
    world_run(world, 3 * SIM_MINUTE);
    assert_null(local_volume(world));
    assert_int_equal(csi_modelled_driver_n_volumes(world->driver), 0);
}

/* ---- LOC-19 ---- */

#define GIB ((int64_t)1 << 30)

typedef struct {
    const char *name;
    int64_t bytes;
    int64_t wanted; /* 0: there is no such volume */
    CsiCode code;
    int64_t size; /* of the answer and of the LocalVolume */
} ExpandCase;

static const ExpandCase expand_cases[] = {
    {"grows, rounded up",  3 * GIB / 2, 5 * GIB / 2, CSI_OK,       3 * GIB},
    {"is large enough",    3 * GIB / 2, 2 * GIB,     CSI_OK,       2 * GIB},
    {"is never made less", 2 * GIB,     1 * GIB,     CSI_OK,       2 * GIB},
    {"is not there",       0,           1 * GIB,     CSI_INTERNAL, 0      },
};

static void
a_volume_grows(void **state)
{
    const ExpandCase *row = *state;
    g_autoptr(World) world = local_volume_new_world(NULL);
    Reply made, grown;

    if (row->bytes > 0)
        local_volume_create(world, "a", row->bytes, 0, &made);
    world_run(world, 5 * SIM_SECOND);
    local_volume_expand(world, row->wanted, &grown);
    world_run(world, 10 * SIM_SECOND);
    assert_int_equal(grown.at, 5 * SIM_SECOND);
    assert_int_equal(grown.code, row->code);
    assert_int_equal(grown.bytes, row->size);
    if (row->bytes > 0)
        assert_int_equal(local_volume(world)->capacity_bytes, row->size);
}
TEST_ROWS(expand_cases, a_volume_grows);

/* ---- The controller's own process ---- */

TEST(calls_end_with_the_controller)
{
    g_autoptr(World) world = local_volume_new_world(NULL);
    Reply during, after, again;

    local_volume_create(world, "a", 1, 0, &during);
    world_run(world, 300 * SIM_MS);
    cluster_crash(world->cluster, "local-volume-controller", WORLD_DRIVER);
    local_volume_create(world, "a", 1, 0, &after);
    world_run(world, SIM_SECOND);
    assert_int_equal(during.code, CSI_UNAVAILABLE);
    assert_int_equal(during.at, 300 * SIM_MS);
    assert_int_equal(after.code, CSI_UNAVAILABLE);
    cluster_restart(world->cluster, "local-volume-controller", WORLD_DRIVER);
    world_run(world, SIM_MINUTE);
    local_volume_create(world, "a", 1, 0, &again); /* the agent went on: LOC-10.5 */
    world_run(world, SIM_MINUTE);
    assert_int_equal(again.code, CSI_OK);
    assert_int_equal(again.at, SIM_MINUTE);
}
