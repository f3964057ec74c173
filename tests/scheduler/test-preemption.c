/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/lib/test.h"
#include "tests/scheduler/scheduler-world.h"

#include <string.h>

/* Pods that make others leave a node. */

const ModelClass *const model_classes[] = {&scheduler_class, NULL};

static void
add_pod_of_priority(
    StorageWorld *world, const char *name, const char *claim, int64_t cpu_milli, int32_t priority)
{
    Pod *pod = new_pod(world, name, claim, cpu_milli);

    pod->spec->priority = priority;
    storage_world_create(world, pod);
}

/* Of 4 CPUs "low" has 3, and since 2 s "high" wants as many. */
static void
start_preemption(StorageWorld *world)
{
    add_nodes(world, one_node);
    storage_world_start(world);
    add_pod_of_priority(world, "low", NULL, 3000, 0);
    storage_world_run(world, 2 * SIM_SECOND);
    add_pod_of_priority(world, "high", NULL, 3000, 1000);
    storage_world_run(world, 3 * SIM_SECOND);
    assert_true(object_is_deleted(&stored_pod(world, "low")->meta));
    assert_string_equal(stored_pod(world, "low")->disruption.reason, "PreemptionByScheduler");
    assert_string_equal(stored_pod(world, "high")->nominated_node, "n1");
}

/* The victim's end brings the pod back at once. */
static void
preemption(StorageWorld *world)
{
    start_preemption(world);
    g_autofree char *events = storage_world_events(world);
    assert_non_null(strstr(events, "Normal Preempted pod/low"));
    storage_world_run(world, 9 * SIM_SECOND);
    assert_null(stored_pod(world, "high")->node_name);
    remove_pod(world, "low");
    storage_world_run(world, 9 * SIM_SECOND + SIM_MS);
    assert_string_equal(stored_pod(world, "high")->node_name, "n1");
}

static gboolean
preemption_edit_disrupted(Object *object, const void *reason)
{
    POD(object)->disruption =
        (PodCondition){.reason = reason, .status = CONDITION_TRUE, .changed_at = 1 * SIM_SECOND};
    return TRUE;
}

/* UpdatePodCondition(): the victim of another gets the scheduler's reason; since when it is to go
 * stays. */
static void
preemption_of_a_disrupted_pod(StorageWorld *world)
{
    add_nodes(world, one_node);
    storage_world_start(world);
    add_pod_of_priority(world, "low", NULL, 3000, 0);
    storage_world_run(world, 2 * SIM_SECOND);
    storage_world_patch_status(world, objects_key(world->objects, KIND_POD, "default", "low"),
                               preemption_edit_disrupted,
                               storage_world_intern(world, "EvictionByEvictionAPI"));
    add_pod_of_priority(world, "high", NULL, 3000, 1000);
    storage_world_run(world, 3 * SIM_SECOND);
    assert_string_equal(stored_pod(world, "low")->disruption.reason, "PreemptionByScheduler");
    assert_int_equal(stored_pod(world, "low")->disruption.changed_at, 1 * SIM_SECOND);
}

/* SCH-93: tried again while the victim is on its way out. */
static void
preemption_goes_on(StorageWorld *world)
{
    start_preemption(world);
    Node *cordoned = new_node(world, "n2", "a");
    cordoned->unschedulable = TRUE;
    storage_world_import(world, cordoned);
    storage_world_run(world, 10 * SIM_SECOND);
    assert_string_equal(stored_pod(world, "high")->nominated_node, "n1");
}

/* SCH-59: the room of a victim is kept for the pod that preempted it. */
static void
preemption_keeps_node(StorageWorld *world)
{
    start_preemption(world);
    add_pod_of_priority(world, "middle", NULL, 3000, 500);
    storage_world_run(world, 9 * SIM_SECOND);
    remove_pod(world, "low");
    storage_world_run(world, 20 * SIM_SECOND);
    assert_string_equal(stored_pod(world, "high")->node_name, "n1");
    assert_null(stored_pod(world, "middle")->node_name);
}

/* SCH-102: no pod is nominated to the node any more. */
static void
nominated_pod_goes(StorageWorld *world)
{
    start_preemption(world);
    add_pod_of_priority(world, "middle", NULL, 3000, 500);
    storage_world_run(world, 4 * SIM_SECOND);
    remove_pod(world, "high");
    remove_pod(world, "low");
    storage_world_run(world, 20 * SIM_SECOND);
    assert_string_equal(stored_pod(world, "middle")->node_name, "n1");
}

/* SCH-93: the pod's policy forbids preemption. */
static void
never_preempts(StorageWorld *world)
{
    add_nodes(world, one_node);
    storage_world_start(world);
    add_pod_of_priority(world, "low", NULL, 3000, 0);
    storage_world_run(world, 2 * SIM_SECOND);
    Pod *pod = new_pod(world, "high", NULL, 3000);
    pod->spec->priority = 1000;
    pod->spec->preemption_policy = PREEMPT_NEVER;
    storage_world_create(world, pod);
    storage_world_run(world, 10 * SIM_SECOND);
}

/* VF-33: the pod that has the only claim has to give it up. */
static void
preemption_for_a_claim(StorageWorld *world)
{
    Claim *claim = storage_world_claim(world, "c", 5, "");

    add_nodes(world, one_node);
    claim->access_modes = ACCESS_RWOP;
    storage_world_create(world, claim);
    provision(world, "c", "v", NULL);
    storage_world_start(world);
    add_pod_of_priority(world, "low", "c", 100, 0);
    storage_world_run(world, 2 * SIM_SECOND);
    add_pod_of_priority(world, "high", "c", 100, 1000);
    storage_world_run(world, 3 * SIM_SECOND);
    remove_pod(world, "low");
    storage_world_run(world, 20 * SIM_SECOND);
    assert_string_equal(stored_pod(world, "high")->node_name, "n1");
}

/* Three volumes are all that the node takes; the fourth pod is more important than the first. */
static void
start_preemption_for_volumes(StorageWorld *world)
{
    start_attach_limit(world);
    remove_pod(world, "p4");
    storage_world_run(world, 6 * SIM_SECOND);
}

static void
preemption_for_a_volume(StorageWorld *world)
{
    start_preemption_for_volumes(world);
    add_pod_of_priority(world, "high", "c4", 100, 1000);
    storage_world_run(world, 7 * SIM_SECOND);
    const char *victim = object_is_deleted(&stored_pod(world, "p1")->meta)   ? "p1"
                         : object_is_deleted(&stored_pod(world, "p2")->meta) ? "p2"
                                                                             : "p3";
    remove_pod(world, victim);
    storage_world_run(world, 20 * SIM_SECOND);
    assert_string_equal(stored_pod(world, "high")->node_name, "n1");
}

/* VF-4, VF-W4: an attached volume counts without its pod, so no victim would help, and none goes */
static void
preemption_leaves_attachments(StorageWorld *world)
{
    static const char *const volumes[] = {"c1", "c2", "c3"};

    start_preemption_for_volumes(world);
    for (unsigned i = 0; i < G_N_ELEMENTS(volumes); i++) {
        Attachment *attachment =
            ATTACHMENT(object_new(objects_key(world->objects, KIND_ATTACHMENT, NULL, volumes[i])));
        attachment->attacher = storage_world_intern(world, "csi.test");
        attachment->node_name = storage_world_intern(world, "n1");
        attachment->volume_name = storage_world_intern(world, volumes[i]);
        storage_world_create(world, attachment);
    }
    add_pod_of_priority(world, "high", "c4", 100, 1000);
    storage_world_run(world, 20 * SIM_SECOND);
}

#define LACKS(n, reasons, preemption) "0/" n " nodes are available: " reasons "." preemption
#define SMALL LACKS("1", "1 Insufficient cpu", "")
#define LINGERS                                                                                    \
    LACKS("2", "1 Insufficient cpu, 1 node(s) were unschedulable",                                 \
          " preemption: not eligible due to a terminating pod on the nominated node.")
#define NEVER                                                                                      \
    LACKS("1", "1 Insufficient cpu", " preemption: not eligible due to preemptionPolicy=Never.")
#define HAS_CLAIM                                                                                  \
    LACKS("1",                                                                                     \
          "1 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "    \
          "access mode",                                                                           \
          "")
#define FULL_NODE LACKS("1", "1 node(s) exceed max volume count", "")
#define STILL_FULL                                                                                 \
    LACKS("1", "1 node(s) exceed max volume count",                                                \
          " preemption: 0/1 nodes are available: 1 node(s) exceed max volume count.")
#define ATTACHED "BIND pod/p1, BIND pod/p2, BIND pod/p3, PATCH/st pod/p4"
#define PREEMPTED "BIND pod/low, PATCH/st pod/low, DELETE pod/low, PATCH/st pod/high"
#define PREEMPTED_BOUND PREEMPTED ", BIND pod/high"
#define PREEMPTED_AGAIN PREEMPTED ", PATCH/st pod/high"
#define ATTACHED_ONLY ATTACHED ", PATCH/st pod/high"

static const SchedulerStory stories[] = {
    {"SCH-114 preemption",         preemption,                    PREEMPTED_BOUND,                   SMALL     },
    {"SCH-114 disrupted before",   preemption_of_a_disrupted_pod, PREEMPTED,                         SMALL     },
    {"SCH-93 the victim lingers",  preemption_goes_on,            PREEMPTED_AGAIN,                   LINGERS   },
    {"SCH-59 the node is kept",    preemption_keeps_node,         NULL,                              NULL      },
    {"SCH-102 nominated pod goes", nominated_pod_goes,            NULL,                              NULL      },
    {"SCH-93 Never",               never_preempts,                "BIND pod/low, PATCH/st pod/high", NEVER     },
    {"VF-33 one pod, preempted",   preemption_for_a_claim,        PREEMPTED_BOUND,                   HAS_CLAIM },
    {"SCH-110 a volume goes",      preemption_for_a_volume,       NULL,                              FULL_NODE },
    {"VF-4 attachments stay",      preemption_leaves_attachments, ATTACHED_ONLY,                     STILL_FULL},
};

TEST(stories_are_told)
{
    unsigned n_failed = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(stories); i++)
        n_failed += !story_is_told(&stories[i], FALSE) + !story_is_told(&stories[i], TRUE);
    assert_int_equal(n_failed, 0);
}
