/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scheduler/scheduler-private.h"
#include "tests/lib/test.h"

#include "sim/sim-test.h"
#include "tests/scheduler/requeue-deeds.h"

#include <string.h>

/* A pod that found no node is tried again at the instant of the rule, and not before. */

const ModelClass *const model_classes[] = {&scheduler_class, NULL};

/* ---- What is there ---- */

static void
add_volume_claim(StorageWorld *world, const char *name, const char *zone, uint32_t modes)
{
    Claim *claim = storage_world_claim(world, name, 5, "");
    Volume *volume = storage_world_volume(world, name, 5, "");

    claim->volume_name = storage_world_intern(world, name);
    claim->access_modes = modes;
    object_set_annotation(&claim->meta, storage_world_intern(world, ANNOTATION_BIND_COMPLETED),
                          storage_world_intern(world, "yes"));
    storage_world_import(world, claim);
    if (zone != NULL)
        set_label(world, volume, ZONE, zone);
    storage_world_import(world, volume);
}

static void
requeue_start(StorageWorld *world, Pod *pod)
{
    storage_world_class(world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_class(world, "local", PROVISIONER_NONE, BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_start(world);
    storage_world_create(world, pod);
}

static void
unbound(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1", "a"));
    storage_world_create(world, storage_world_claim(world, "c", 5, "fast"));
    requeue_start(world, pod_on(world, "p", "c", NULL));
}

/* The driver publishes its capacity, and there is none. */
static void
start_without_capacity(StorageWorld *world, Pod *pod)
{
    CsiDriverObject *driver = CSI_DRIVER_OBJECT(
        object_new(objects_key(world->objects, KIND_CSI_DRIVER, NULL, "csi.test")));
    StorageCapacity *capacity = STORAGE_CAPACITY(
        object_new(objects_key(world->objects, KIND_STORAGE_CAPACITY, "kube-system", "x")));

    driver->storage_capacity = TRUE;
    storage_world_create(world, driver);
    capacity->class_name = storage_world_intern(world, "late");
    capacity->capacity_bytes = GIB;
    capacity->maximum_bytes = -1;
    capacity->topology = label_selector_new(NULL, 0);
    storage_world_create(world, capacity);
    storage_world_import(world, new_node(world, "n1", "a"));
    storage_world_class(world, "late", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_create(world, storage_world_claim(world, "c", 5, "late"));
    requeue_start(world, pod);
}

static void
no_capacity(StorageWorld *world)
{
    start_without_capacity(world, pod_on(world, "p", "c", NULL));
}

/* The pod has a volume of the driver that lives with it, too. */
static void
no_capacity_and_inline(StorageWorld *world)
{
    Pod *pod = pod_on(world, "p", "c", NULL);
    const VolumeSource source = {
        .plugin = "csi", .driver = storage_world_intern(world, "csi.test"), .is_inline = TRUE};
    const PodVolume items[] = {pod->volumes->items[0], {.source = volume_source_new(&source)}};

    pod_volumes_unref(pod->volumes);
    pod->volumes = pod_volumes_new_with_inline(items, 1, 1);
    start_without_capacity(world, pod);
}

static void
other_zone(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1", "a"));
    add_volume_claim(world, "c", "z", ACCESS_RWO);
    requeue_start(world, pod_on(world, "p", "c", NULL));
}

/* One volume a node, and another pod has it; a second is still attached. */
static void
node_full(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1", "a"));
    add_csi_node(world, "n1", 1);
    add_volume_claim(world, "c", NULL, ACCESS_RWO);
    add_volume_claim(world, "d", NULL, ACCESS_RWO);
    storage_world_create(world, pod_on(world, "other", "d", "n1"));
    storage_world_create(world, pod_on(world, "plain", NULL, "n1"));
    Attachment *attachment =
        ATTACHMENT(object_new(objects_key(world->objects, KIND_ATTACHMENT, NULL, "va")));
    attachment->attacher = storage_world_intern(world, "csi.test");
    attachment->node_name = storage_world_intern(world, "n1");
    attachment->volume_name = storage_world_intern(world, "d");
    storage_world_create(world, attachment);
    requeue_start(world, pod_on(world, "p", "c", NULL));
}

static void
claim_taken(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1", "a"));
    add_volume_claim(world, "c", NULL, ACCESS_RWOP);
    storage_world_create(world, pod_on(world, "other", "c", "n1"));
    storage_world_create(world, pod_on(world, "plain", NULL, "n1"));
    requeue_start(world, pod_on(world, "p", "c", NULL));
}

static void
wants_ssd(StorageWorld *world)
{
    Pod *pod = pod_on(world, "p", NULL, NULL);
    StringPair pair = {storage_world_intern(world, "disk"), storage_world_intern(world, "ssd")};

    storage_world_import(world, new_node(world, "n1", "a"));
    pod->spec->node_selector = string_map_new(&pair, 1);
    requeue_start(world, pod);
}

static void
too_large(StorageWorld *world)
{
    Pod *pod = pod_on(world, "p", NULL, NULL);

    storage_world_import(world, new_node(world, "n1", "a"));
    storage_world_create(world, pod_on(world, "other", NULL, "n1"));
    pod->spec->cpu_milli = 4000;
    requeue_start(world, pod);
}

static void
node_tainted(StorageWorld *world)
{
    Node *node = new_node(world, "n1", "a");
    Taint taint = {.key = storage_world_intern(world, "k"),
                   .effect = TAINT_NO_SCHEDULE,
                   .added_at = TIME_UNSET};

    node->taints = taints_new(&taint, 1);
    storage_world_import(world, node);
    requeue_start(world, pod_on(world, "p", NULL, NULL));
}

static void
node_cordoned(StorageWorld *world)
{
    Node *node = new_node(world, "n1", "a");

    node->unschedulable = TRUE;
    storage_world_import(world, node);
    requeue_start(world, pod_on(world, "p", NULL, NULL));
}

static void
gated(StorageWorld *world)
{
    Pod *pod = pod_on(world, "p", NULL, NULL);
    const char *gate = storage_world_intern(world, "wait");

    storage_world_import(world, new_node(world, "n1", "a"));
    pod->spec->scheduling_gates = string_list_new(&gate, 1);
    requeue_start(world, pod);
}

/* The class admits a zone where no node is. */
static void
topology_elsewhere(StorageWorld *world)
{
    StorageClass *class =
        STORAGE_CLASS(object_new(objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "late")));
    StringPair pair = {storage_world_intern(world, ZONE), storage_world_intern(world, "z")};
    g_autoptr(StringMap) segment = string_map_new(&pair, 1);
    const StringMap *segments[] = {segment};

    class->provisioner = storage_world_intern(world, "csi.test");
    class->binding_mode = BINDING_WAIT_FOR_FIRST_CONSUMER;
    class->allowed_topologies = node_selector_from_segments(segments, 1);
    storage_world_create(world, class);
    storage_world_import(world, new_node(world, "n1", "a"));
    add_csi_node(world, "n1", 1);
    storage_world_create(world, storage_world_claim(world, "c", 5, "late"));
    requeue_start(world, pod_on(world, "p", "c", NULL));
}

/* One pod a zone more than in another; zone b's node is cordoned. */
static void
uneven(StorageWorld *world)
{
    Node *cordoned = new_node(world, "n2", "a");
    Pod *pod = app_pod(world, "p", "x", NULL);

    set_label(world, cordoned, ZONE, "b");
    cordoned->unschedulable = TRUE;
    storage_world_import(world, new_node(world, "n1", "a"));
    storage_world_import(world, cordoned);
    storage_world_create(world, app_pod(world, "other", "x", "n1"));
    storage_world_create(world, pod_on(world, "plain", NULL, "n1"));
    pod->spec->spread = g_new0(SpreadConstraint, 1);
    pod->spec->n_spread = 1;
    pod->spec->spread[0] = (SpreadConstraint){.selector = app_selector(world, "x"),
                                              .topology_key = storage_world_intern(world, ZONE),
                                              .max_skew = 1,
                                              .do_not_schedule = TRUE};
    requeue_start(world, pod);
}

static Pod *
pod_with_term(StorageWorld *world, gboolean anti)
{
    Pod *pod = pod_on(world, "p", NULL, NULL);

    pod->spec->pod_terms = g_new0(PodAffinityTerm, 1);
    pod->spec->n_pod_terms = 1;
    pod->spec->pod_terms[0] = (PodAffinityTerm){.selector = app_selector(world, "x"),
                                                .topology_key = storage_world_intern(world, ZONE),
                                                .anti = anti};
    return pod;
}

/* Tolerates the taint of a new node (NL-26), so that the node counts at once. */
static Pod *
tolerates_new_nodes(StorageWorld *world, Pod *pod)
{
    const Toleration toleration = {
        .key = storage_world_intern(world, "node.kubernetes.io/not-ready"),
        .exists = TRUE,
        .effect = -1,
        .seconds = -1,
    };

    pod->spec->tolerations = tolerations_new(&toleration, 1);
    return pod;
}

static void
lonely(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1", "a"));
    storage_world_create(world, app_pod(world, "other", "y", "n1"));
    requeue_start(world, tolerates_new_nodes(world, pod_with_term(world, FALSE)));
}

static void
in_bad_company(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1", "a"));
    storage_world_create(world, app_pod(world, "other", "x", "n1"));
    storage_world_create(world, pod_on(world, "plain", NULL, "n1"));
    requeue_start(world, tolerates_new_nodes(world, pod_with_term(world, TRUE)));
}

/* ---- The table ---- */

typedef struct {
    const char *rule;
    Deed *before, *change;
    gboolean moves;         /* with hints */
    gboolean moves_unasked; /* without (SCH-66, SCH-69) */
    gboolean new_in_132;    /* else 1.31 registers for the event, too */
} RequeueCase;

static const RequeueCase cases[] = {
    {"SCH-S5 nothing happens",       unbound,     nothing,                                    FALSE,                          FALSE         },
    {"SCH-Q1 class",                 unbound,     new_class,                                  TRUE,                           TRUE          },
    {"SCH-Q3 its claim",             unbound,     claim_changes,                              TRUE,                           TRUE          },
    {"SCH-Q3 another claim",         unbound,     other_claim_changes,                        FALSE,                          TRUE          },
    {"SCH-Q4 any volume",            unbound,     new_volume,                                 TRUE,                           TRUE          },
    {"SCH-Q5 node label",            unbound,     node_moves,                                 TRUE,                           TRUE          },
    {"SCH-Q5 new node",              unbound,     node_comes,                                 TRUE,                           TRUE          },
    {"SCH-66 new node, too small",   unbound,     small_node_comes,                           TRUE,                           FALSE         },
    {"SCH-68 taint elsewhere",       unbound,     other_taint,                                TRUE,                           FALSE         },
    {"SCH-Q6 new CSINode",           unbound,     csi_node_comes,                             TRUE,                           TRUE          },
    {"SCH-W18 a pod's own label",    unbound,     pod_changes,                                FALSE,                          TRUE          },
    {"SCH-Q10 capacity grows",       no_capacity, capacity_grows,                             TRUE,                           TRUE          },
    {"SCH-Q10 capacity shrinks",     no_capacity, capacity_shrinks,                           FALSE,                          TRUE          },
    {"SCH-Q11 immediate class",      other_zone,  new_class,                                  FALSE,                          TRUE          },
    {"SCH-Q11 late class",           other_zone,  new_late_class,                             TRUE,                           TRUE          },
    {"SCH-Q12 node label",           other_zone,  node_moves,                                 TRUE,                           TRUE          },
    {"SCH-Q13 its claim",            other_zone,  claim_changes,                              TRUE,                           TRUE          },
    {"SCH-Q14 new volume",           other_zone,  new_volume,                                 TRUE,                           TRUE          },
    {"SCH-Q15 volume's zone",        other_zone,  volume_moves,                               TRUE,                           TRUE          },
    {"SCH-Q15 volume's other label", other_zone,  volume_changes,                             FALSE,                          TRUE          },
    {"SCH-Q16 new CSINode",          node_full,   csi_node_comes,                             TRUE,                           TRUE          },
    {"SCH-W13 limit grows",          node_full,   limit_grows,                                FALSE,                          FALSE         },
    {"SCH-Q17 pod with volume goes", node_full,   other_pod_goes,                             TRUE,                           TRUE          },
    {"SCH-Q17 pod without goes",     node_full,   plain_pod_goes,                             FALSE,                          TRUE          },
    {"SCH-Q18 another claim",        node_full,   other_claim_changes,                        FALSE,                          TRUE          },
    {"SCH-Q19 attachment goes",      node_full,   attachment_goes,                            TRUE,                           TRUE,           TRUE},
    {"SCH-Q20 the claim's pod goes",                              claim_taken,            other_pod_goes,              TRUE,                   TRUE               },
    {"SCH-Q20 another pod goes",                              claim_taken,                plain_pod_goes,                  FALSE,                   TRUE},
    {"SCH-Q21 new node",                              claim_taken,                        node_comes,                          TRUE,                       TRUE            },
    {"SCH-Q22 claim changes",                              claim_taken,                   claim_changes,                     FALSE,                    FALSE},
    {"SCH-Q23 label fits",                              wants_ssd,                      node_gets_ssd,                          TRUE,                      TRUE          },
    {"SCH-Q23 another label",                              wants_ssd,                   node_moves,                       FALSE,                         FALSE },
    {"SCH-Q24 pod goes",                              too_large,                        other_pod_goes,                            TRUE,                     TRUE  },
    {"SCH-Q25 node grows",                              too_large,                      node_grows,                          TRUE,                         TRUE       },
    {"SCH-Q25 small node",                              too_large,                      small_node_comes,                          FALSE,                   FALSE},
    {"SCH-Q27 taint goes",                              node_tainted,                      taint_goes,                       TRUE,                      TRUE              },
    {"SCH-Q27 another taint",                              node_tainted,                   other_taint,                    FALSE,                     FALSE},
    {"SCH-Q29 uncordoned",                              node_cordoned,                      uncordon,                      TRUE,                       TRUE               },
    {"SCH-Q29 label",                              node_cordoned,                           node_moves,                           FALSE,                     TRUE},
    {"SCH-Q2 topologies",                              topology_elsewhere,                       topologies_change,                  TRUE,         TRUE             },
    {"SCH-Q2 class changes else",                              topology_elsewhere,               class_is_annotated,          FALSE,        TRUE},
    {"SCH-Q7 plugins migrate",                              topology_elsewhere,                  plugins_migrate,             TRUE,           TRUE              },
    {"SCH-Q7 CSINode changes else",                              topology_elsewhere,             csi_node_is_annotated,        FALSE,     TRUE},
    {"SCH-Q8 only claims of the driver",                              no_capacity,        driver_stops_checking,          FALSE,            TRUE                   },
    {"SCH-Q8 a volume within the pod",                              no_capacity_and_inline,          driver_stops_checking, TRUE, TRUE},
    {"SCH-Q9 new capacity",                              no_capacity,                     capacity_comes,                       TRUE,                   TRUE               },
    {"SCH-Q28 tolerates",                              node_tainted,                       pod_tolerates_more,                        TRUE,              TRUE},
    {"SCH-Q29 tolerates",                              node_cordoned,                       pod_tolerates_more,                       TRUE,             TRUE               },
    {"SCH-Q31 pod goes",                              uneven,                        other_pod_goes,                               TRUE,                        TRUE},
    {"SCH-Q31 uncounted pod goes",                              uneven,              plain_pod_goes,                     FALSE,                        TRUE                        },
    {"SCH-Q31 counted no more",                              uneven,                 other_pod_changes,                        TRUE,                     TRUE},
    {"SCH-Q31 pod comes",                              uneven,                       app_pod_comes,                              TRUE,                         TRUE                      },
    {"SCH-Q31 uncounted pod comes",                              uneven,             plain_pod_comes,                    FALSE,                       TRUE},
    {"SCH-Q31 node moves",                              uneven,                      node_moves,                             TRUE,                            TRUE                   },
    {"SCH-Q31 node changes else",                              uneven,               node_gets_disk,                      FALSE,                        TRUE},
    {"SCH-Q31 node goes",                              uneven,                       other_node_goes,                              TRUE,                       TRUE           },
    {"SCH-Q31 own label",                              uneven,                       pod_changes_app,                              TRUE,                       TRUE},
    {"SCH-Q32 company comes",                              lonely,                   app_pod_comes,                          TRUE,                         TRUE                 },
    {"SCH-Q32 another comes",                              lonely,                   plain_pod_comes,                          FALSE,                       FALSE},
    {"SCH-Q32 node moves",                              lonely,                      node_moves,                             TRUE,                            TRUE                    },
    {"SCH-Q32 node changes else",                              lonely,               node_gets_disk,                      FALSE,                        TRUE},
    {"SCH-Q32 node comes",                              lonely,                      node_comes,                             TRUE,                            TRUE                  },
    {"SCH-Q32 node of no zone",                              lonely,                 node_without_zone_comes,                        FALSE,               TRUE},
    {"SCH-Q32 bad company goes",                              in_bad_company,                other_pod_goes,               TRUE,                TRUE                             },
    {"SCH-Q32 another goes",                              in_bad_company,                    plain_pod_goes,                   FALSE,                TRUE},
    {"SCH-Q32 bad company changes",                              in_bad_company,             other_pod_changes,            TRUE,             FALSE                                  },
    {"SCH-Q32 anywhere else is fine",                              in_bad_company,           node_without_zone_comes,          TRUE,       TRUE},
    {"SCH-45 gated: nothing frees it",                              gated,          node_comes,                  FALSE,                             FALSE                                               },
    {"SCH-44 gate goes",                              gated,                        gate_goes,                                TRUE,                              TRUE},
};

/* Tries so far, the one that found a node as well. */
static unsigned
n_attempts(const StorageWorld *world)
{
    const Scheduler *scheduler = cluster_model(world->cluster, &scheduler_class, NULL);
    const QueuedPod *entry = scheduling_queue_find(scheduler->queue, pod_key(world, "p"));
    const Object *pod = api_server_get(world->api, pod_key(world, "p"));

    if (entry != NULL)
        return entry->attempts;
    return POD_CONST(pod)->node_name != NULL ? 1000 : 0;
}

typedef enum {
    WITH_HINTS,
    BEFORE_HINTS, /* 1.31 has the gate off */
    WITHOUT_HINTS,
    N_HINT_MODES,
} HintMode;

static gboolean
moves_at_once(const RequeueCase *row, HintMode mode, gboolean *moves_before)
{
    StorageWorldOptions options = {.minor_version = mode == BEFORE_HINTS ? 31 : 32,
                                   .gate_off =
                                       mode == WITHOUT_HINTS ? "SchedulerQueueingHints" : NULL};
    StorageWorld world;

    storage_world_init(&world, &options);
    row->before(&world);
    storage_world_run(&world, SIM_SECOND / 2);
    unsigned first = n_attempts(&world);
    storage_world_run(&world, 5 * SIM_SECOND - 1);
    *moves_before = n_attempts(&world) != first;
    storage_world_run(&world, 5 * SIM_SECOND);
    row->change(&world);
    storage_world_run(&world, 5 * SIM_SECOND + 10 * SIM_MS);
    gboolean moved = n_attempts(&world) != first;
    storage_world_clear(&world);
    return moved;
}

TEST(pods_move_when_the_rule_says)
{
    unsigned n_failed = 0;

    for (unsigned i = 0; i < N_HINT_MODES * G_N_ELEMENTS(cases); i++) {
        const RequeueCase *row = &cases[i / N_HINT_MODES];
        gboolean with_hints = i % N_HINT_MODES == WITH_HINTS, too_early;
        gboolean moved = moves_at_once(row, (HintMode)(i % N_HINT_MODES), &too_early);
        gboolean registers = !row->new_in_132 || i % N_HINT_MODES != BEFORE_HINTS;
        if (!moved == !(with_hints ? row->moves : row->moves_unasked && registers) && !too_early)
            continue;
        print_error("%s, %s hints: %s\n", row->rule, with_hints ? "with" : "without",
                    too_early ? "too early"
                    : moved   ? "moved"
                              : "did not move");
        n_failed++;
    }
    assert_int_equal(n_failed, 0);
}

/* SCH-35, SCH-64, SCH-V1: within its back-off a pod waits for it, and then for the next tick of the
 * flush. */
TEST(back_off_ends_on_a_tick)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    unbound(&world);
    storage_world_run(&world, SIM_SECOND / 2);
    claim_changes(&world);
    storage_world_run(&world, SIM_SECOND / 2 + SIM_MS);
    const Scheduler *scheduler = cluster_model(world.cluster, &scheduler_class, NULL);
    const QueuedPod *entry = scheduling_queue_find(scheduler->queue, pod_key(&world, "p"));
    assert_int_equal(entry->place, PLACE_BACKOFF);
    SimTime failed_at = entry->timestamp;
    for (SimTime at = SIM_SECOND; n_attempts(&world) == 1; at += SIM_MS) {
        storage_world_run(&world, at);
        assert_true(at < failed_at + 2 * SIM_SECOND + SIM_MS);
        if (at < failed_at + SIM_SECOND)
            assert_int_equal(n_attempts(&world), 1);
    }
    storage_world_clear(&world);
}

/* In the log of causes its own claims explain the wait themselves, all else ends a wait for the
 * cluster. */
TEST(waits_are_told)
{
    static const struct {
        Deed *change;
        gboolean is_wait;
    } rows[] = {
        {claim_changes, FALSE},
        {new_volume,    FALSE},
        {node_comes,    TRUE },
        {new_class,     TRUE },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        StorageWorld world;
        storage_world_init(&world, NULL);
        unbound(&world);
        storage_world_run(&world, SIM_SECOND / 2);
        rows[i].change(&world);
        storage_world_run(&world, SIM_SECOND / 2 + SIM_MS);
        const Scheduler *scheduler = cluster_model(world.cluster, &scheduler_class, NULL);
        const QueuedPod *entry = scheduling_queue_find(scheduler->queue, pod_key(&world, "p"));
        assert_int_equal(entry->place, PLACE_BACKOFF);
        SimCause cause = sim_trace_get(sim_trace(world.sim), entry->parked);
        assert_int_equal(cause.wait == WAIT_UNSCHEDULABLE, rows[i].is_wait);
        storage_world_clear(&world);
    }
}

/* A pod that fails just after a tick of the flush, and is helped within its back-off. */
typedef struct {
    const char *title;
    SimTime pass, cycle; /* of the flush; of an attempt */
    int n_ticks[3];      /* to the next attempt, after the second one, the third and the fourth */
} DriftCase;

static const DriftCase drift_cases[] = {
    {"without drift each wait takes a tick more", 0,            100 * SIM_US,  {3, 5, 9}},
    {"two passes are longer than the attempt",    600 * SIM_US, 1100 * SIM_US, {2, 4, 8}},
    {"four are",                                  600 * SIM_US, 1300 * SIM_US, {3, 4, 8}},
    {"eight are",                                 600 * SIM_US, 4700 * SIM_US, {3, 5, 8}},
    {"an attempt takes longer",                   600 * SIM_US, 4900 * SIM_US, {3, 5, 9}},
};

/* SCH-4, SCH-35, TIM-39: a tick comes its period and a pass after the one before, so the back-off
 * of 2, 4 or 8 s may be over at the tick of that number. */
static void
ticks_drift_past_the_back_off(void **state)
{
    const DriftCase *row = *state;
    StorageWorld world;
    SimTime at = 0, failed_at = 0;

    storage_world_init(&world, NULL);
    world.timing.loop_pass = row->pass;
    sim_dist_unref(world.timing.cycle);
    world.timing.cycle = sim_dist_new_constant(row->cycle);
    unbound(&world);
    const Scheduler *scheduler = cluster_model(world.cluster, &scheduler_class, NULL);
    for (unsigned n = 1; n <= 2 + G_N_ELEMENTS(row->n_ticks); n++) {
        while (n_attempts(&world) != n)
            storage_world_run(&world, at += SIM_MS);
        SimTime now = scheduling_queue_find(scheduler->queue, pod_key(&world, "p"))->timestamp;
        if (n > 2)
            assert_int_equal(now - failed_at, row->n_ticks[n - 3] * (SIM_SECOND + row->pass));
        failed_at = now;
        relabel(&world, storage_world_claim_key(&world, "c"), "attempt", n % 2 == 0 ? "x" : "y");
    }
    storage_world_clear(&world);
}
TEST_ROWS(drift_cases, ticks_drift_past_the_back_off);

/* SCH-36, SCH-V2: without any event a pod is tried again after 5 min, on a tick of 30 s. */
TEST(nobody_is_forgotten)
{
    StorageWorld world;
    SimTime at = 300 * SIM_SECOND;

    storage_world_init(&world, NULL);
    unbound(&world);
    storage_world_run(&world, at);
    assert_int_equal(n_attempts(&world), 1);
    storage_world_run(&world, at + 31 * SIM_SECOND);
    assert_int_equal(n_attempts(&world), 2);
    storage_world_clear(&world);
}
