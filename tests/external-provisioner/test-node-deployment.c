/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/external-provisioner/external-provisioner.h"
#include "tests/lib/test.h"
#include "tests/sidecar/world.h"

/* NODE-1..6: a provisioner on each of the nodes a, b and c, each in the zone of its name. */

const ModelClass *const model_classes[] = {&external_provisioner_class, NULL};

static const char *const nodes[] = {"a", "b", "c"};

static void *
node_deployment_no_options(void *data, const ProcessClass *class)
{
    (void)data, (void)class;
    return NULL;
}

static World *
node_deployment_new_world(const SidecarWorldOptions *options)
{
    SidecarWorldOptions all = *options;

    all.flag = "node-deployment";
    all.value = "true";
    World *world = world_new(&all);
    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++)
        cluster_add_node(world->cluster, nodes[i], node_deployment_no_options, NULL);
    world_run(world, 0);
    return world;
}

static void
node_deployment_add_class(World *world, BindingMode mode)
{
    world_create(world, &world_class(world, "class", mode, RECLAIM_DELETE)->meta);
}

static void
node_deployment_add_claim(World *world, const char *name, const char *node)
{
    world_create(world, &world_claim(world, name, "class", node)->meta);
}

static const char *
owner(World *world, const char *claim)
{
    return object_annotation(world_get(world, KIND_CLAIM, claim), ANNOTATION_SELECTED_NODE);
}

static const Volume *
node_deployment_volume_of(World *world, const char *claim)
{
    char uid[OBJECT_UID_BUFFER];
    const char *name = strings_internf(
        world->strings, "pvc-%s", object_uid_format(world_get(world, KIND_CLAIM, claim)->uid, uid));

    return VOLUME_CONST(world_get(world, KIND_VOLUME, name));
}

/* The zone that the volume's node affinity names. */
static const char *
zone_of(const Volume *volume)
{
    const NodeSelector *affinity = volume->node_affinity;

    assert_int_equal(affinity->n_terms, 1);
    return affinity->terms[0].expressions->requirements[0].values->items[0];
}

/* NODE-1: the node that the scheduler chose handles the claim, at once; the others do nothing. */
TEST(the_chosen_node_makes_the_volume)
{
    g_autoptr(World) world = node_deployment_new_world(&(SidecarWorldOptions){.seed = 1});
    SimTime first;

    node_deployment_add_class(world, BINDING_WAIT_FOR_FIRST_CONSUMER);
    node_deployment_add_claim(world, "data", "b");
    world_run(world, 10 * SIM_SECOND);
    assert_int_equal(world_count(world, "CreateVolume", &first, NULL), 1);
    assert_int_equal(first, 0);
    assert_string_equal(zone_of(node_deployment_volume_of(world, "data")), "b");
    assert_int_equal(world_count(world, "UPDATE PersistentVolumeClaim", NULL, NULL), 0);
}

/* NODE-1, NODE-2: no instance takes a claim that waits for a pod; without the flag no instance
 * takes any other claim either. */
TEST(nobody_takes)
{
    static const struct {
        BindingMode mode;
        const char *flag, *value;
    } cases[] = {
        {BINDING_WAIT_FOR_FIRST_CONSUMER, NULL,                                "true" },
        {BINDING_IMMEDIATE,               "node-deployment-immediate-binding", "false"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(World) world = node_deployment_new_world(
            &(SidecarWorldOptions){.seed = 1, .flag2 = cases[i].flag, .value2 = cases[i].value});
        node_deployment_add_class(world, cases[i].mode);
        node_deployment_add_claim(world, "data", NULL);
        world_run(world, 300 * SIM_SECOND);
        assert_int_equal(world_count(world, "CreateVolume", NULL, NULL), 0);
        assert_null(owner(world, "data"));
    }
}

/* NODE-2, NODE-4: of three that wait up to 20 s each one writes its name, and only that one makes
 * the volume; as slow requests and watches go, sometimes after another one's name was refused. */
TEST(one_node_takes_the_claim)
{
    unsigned n_owned[G_N_ELEMENTS(nodes)] = {0};

    for (uint64_t seed = 1; seed <= 60; seed++) {
        g_autoptr(World) world = node_deployment_new_world(
            &(SidecarWorldOptions){.seed = seed, .recorded_timing = TRUE});
        SimTime written_at, created_at;
        node_deployment_add_class(world, BINDING_IMMEDIATE);
        node_deployment_add_claim(world, "data", NULL);
        world_run(world, 60 * SIM_SECOND);
        assert_int_equal(world_count(world, "UPDATE PersistentVolumeClaim", NULL, &written_at), 1);
        assert_int_equal(world_count(world, "CreateVolume", &created_at, NULL), 1);
        assert_true(written_at <= 20 * SIM_SECOND + 100 * SIM_MS);
        assert_true(created_at > written_at);
        assert_string_equal(zone_of(node_deployment_volume_of(world, "data")),
                            owner(world, "data"));
        for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++)
            n_owned[i] += g_str_equal(owner(world, "data"), nodes[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++)
        assert_in_range(n_owned[i], 8, 40); /* chances are equal */
}

/* NODE-4: with hardly any wait they all write at once. All but one are refused, see the owner, and
 * give up. */
TEST(in_a_crowd_one_wins)
{
    unsigned n_refused = 0;

    for (uint64_t seed = 1; seed <= 30; seed++) {
        g_autoptr(World) world =
            node_deployment_new_world(&(SidecarWorldOptions){.seed = seed,
                                                             .recorded_timing = TRUE,
                                                             .flag2 = "node-deployment-base-delay",
                                                             .value2 = "1ms"});
        node_deployment_add_class(world, BINDING_IMMEDIATE);
        for (unsigned i = 0; i < 10; i++)
            node_deployment_add_claim(
                world, world_intern(world, (const char[]){(char)('k' + i), '\0'}), NULL);
        world_run(world, 60 * SIM_SECOND);
        assert_int_equal(world_count(world, "UPDATE PersistentVolumeClaim", NULL, NULL), 10);
        n_refused += world_count(world, "UPDATE PersistentVolumeClaim 409", NULL, NULL);
        assert_int_equal(world_count(world, "CreateVolume", NULL, NULL), 10);
        assert_int_equal(world_count(world, "CREATE PersistentVolume", NULL, NULL), 10);
    }
    assert_true(n_refused > 30);
}

/* allowedTopologies: only nodes there compete (NODE-2). */
TEST(only_allowed_nodes_compete)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        g_autoptr(World) world = node_deployment_new_world(&(SidecarWorldOptions){.seed = seed});
        StorageClass *class = world_class(world, "class", BINDING_IMMEDIATE, RECLAIM_DELETE);
        StringPair pair = {world_intern(world, WORLD_ZONE), world_intern(world, "c")};
        g_autoptr(StringMap) segment = string_map_new(&pair, 1);
        const StringMap *segments[] = {segment};
        class->allowed_topologies = node_selector_from_segments(segments, 1);
        world_create(world, &class->meta);
        node_deployment_add_claim(world, "data", NULL);
        world_run(world, 60 * SIM_SECOND);
        assert_string_equal(owner(world, "data"), "c");
    }
}

static CsiModelledPool pools[3];

static void
room_in_b_only(World *world, CsiModelledOptions *options)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++) {
        StringPair pair = {world_intern(world, WORLD_ZONE), world_intern(world, nodes[i])};
        pools[i] = (CsiModelledPool){.segments = string_map_new(&pair, 1),
                                     .bytes = i == 1 ? INT64_C(2) << 30 : 1};
    }
    options->pools = pools;
    options->n_pools = G_N_ELEMENTS(pools);
    options->controller_capabilities |= CSI_CONTROLLER_GET_CAPACITY;
}

/* NODE-3: an instance without room does not try. */
TEST(who_has_no_room_does_not_try)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        g_autoptr(World) world = node_deployment_new_world(
            &(SidecarWorldOptions){.seed = seed, .driver = room_in_b_only});
        for (unsigned i = 0; i < G_N_ELEMENTS(pools); i++)
            string_map_unref((StringMap *)pools[i].segments); /* the driver has its own */
        node_deployment_add_class(world, BINDING_IMMEDIATE);
        node_deployment_add_claim(world, "data", NULL);
        world_run(world, 60 * SIM_SECOND);
        assert_string_equal(owner(world, "data"), "b");
        assert_int_equal(world_count(world, "CreateVolume", NULL, NULL), 1);
    }
}

static void
room_nowhere(World *world, CsiModelledOptions *options)
{
    room_in_b_only(world, options);
    pools[1].bytes = 1;
}

/* NODE-3: a claim that nobody could take is looked at again with the informers' resync. */
TEST(nobody_has_room)
{
    g_autoptr(World) world =
        node_deployment_new_world(&(SidecarWorldOptions){.seed = 1, .driver = room_nowhere});

    for (unsigned i = 0; i < G_N_ELEMENTS(pools); i++)
        string_map_unref((StringMap *)pools[i].segments);
    node_deployment_add_class(world, BINDING_IMMEDIATE);
    node_deployment_add_claim(world, "data", NULL);
    world_run(world, 14 * 60 * SIM_SECOND);
    assert_int_equal(world_count(world, "GetCapacity", NULL, NULL), 3);
    world_run(world, 17 * 60 * SIM_SECOND);
    assert_int_equal(world_count(world, "GetCapacity", NULL, NULL), 6);
    assert_int_equal(world_count(world, "CreateVolume", NULL, NULL), 0);
    assert_null(owner(world, "data"));
}

/* A claim that goes while all wait is nobody's. */
TEST(a_claim_that_goes_is_nobodys)
{
    g_autoptr(World) world = node_deployment_new_world(&(SidecarWorldOptions){.seed = 1});

    node_deployment_add_class(world, BINDING_IMMEDIATE);
    node_deployment_add_claim(world, "data", NULL);
    world_edit(world, KIND_CLAIM, "data", (ObjectEdit)object_remove_finalizer,
               FINALIZER_PVC_PROTECTION);
    world_delete(world, KIND_CLAIM, "data");
    world_run(world, 120 * SIM_SECOND);
    assert_int_equal(world_count(world, "CreateVolume", NULL, NULL), 0);
    assert_int_equal(world_count(world, "UPDATE PersistentVolumeClaim", NULL, NULL), 0);
}

static gboolean
node_deployment_release(Object *object, const void *data)
{
    (void)data;
    VOLUME(object)->phase = VOLUME_RELEASED;
    return TRUE;
}

/* NODE-6: a volume is deleted where it can be reached. */
TEST(only_its_node_deletes_a_volume)
{
    g_autoptr(World) world = node_deployment_new_world(&(SidecarWorldOptions){.seed = 1});

    node_deployment_add_class(world, BINDING_WAIT_FOR_FIRST_CONSUMER);
    node_deployment_add_claim(world, "data", "c");
    world_run(world, 10 * SIM_SECOND);
    const char *name = object_name(&node_deployment_volume_of(world, "data")->meta);
    world_edit_status(world, KIND_VOLUME, name, node_deployment_release, NULL);
    world_run(world, 60 * SIM_SECOND);
    assert_int_equal(world_count(world, "DeleteVolume", NULL, NULL), 1);
    assert_true(
        object_is_deleted(world_get(world, KIND_VOLUME, name))); /* its protection is left */
}

/* Waiting sleeps between events, and finds out as soon as one that looks every 200 ms. */
TEST(sleeping_is_as_good_as_looking)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        char *logs[2];
        for (int polling = 0; polling < 2; polling++) {
            g_autoptr(World) world = node_deployment_new_world(
                &(SidecarWorldOptions){.seed = seed, .recorded_timing = TRUE, .polling = polling});
            node_deployment_add_class(world, BINDING_IMMEDIATE);
            node_deployment_add_claim(world, "one", NULL);
            node_deployment_add_claim(world, "two", NULL);
            world_run(world, 60 * SIM_SECOND);
            logs[polling] = world_take_log(world);
        }
        assert_string_equal(logs[0], logs[1]);
        g_free(logs[0]);
        g_free(logs[1]);
    }
}
