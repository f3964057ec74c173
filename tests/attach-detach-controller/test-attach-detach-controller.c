/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/apiserver/apiserver-test.h"
#include "sim/random.h"
#include "tests/attach-detach-controller/attach-world.h"
#include "tests/lib/same-log.h"
#include "tests/lib/test.h"

#include <string.h>

/* Stories of volumes of driver hostpath.csi.k8s.io on nodes node-1 and node-2. Commits play users,
 * kubelets and the attacher; the requests of the controller are compared, with attachments named
 * after their nodes. */

/* ---- Stories ---- */

typedef struct {
    const char *title;
    void (*tell)(StorageWorld *world);
    const char *log;
    const char *event; /* the last one of its pod; NULL: not looked at */
} AttachDetachControllerStory;

static void
attaches(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    go_on(world, 300 * SIM_MS);
    assert_null(stored_node(world, "node-1")->volumes_attached);
    attacher_says(world, VA_1, TRUE, NULL);
    go_on(world, 10 * SIM_SECOND);

    const Attachment *stored =
        (const Attachment *)api_server_get(world->api, attachment(world, VA_1));
    assert_string_equal(stored->attacher, DRIVER);
    assert_string_equal(stored->node_name, "node-1");
    assert_string_equal(stored->volume_name, "v");
    assert_true(string_list_has(stored_node(world, "node-1")->volumes_attached, UNIQUE("vol-1")));
}

static void
detaches(StorageWorld *world)
{
    attached_pod(world);
    remove_pod(world, "a");
    go_on(world, 10 * SIM_SECOND); /* ADC-44: still in use */
    assert_string_equal(storage_world_log(world), "");
    kubelet_uses(world, "node-1", NULL);
    go_on(world, 10 * SIM_SECOND);
    assert_null(stored_node(world, "node-1")->volumes_attached);
}

/* ADC-31: the containers are over, the pod is still there. */
static void
ended_pod(StorageWorld *world)
{
    attached_pod(world);
    set_phase(world, "a", POD_SUCCEEDED);
    kubelet_uses(world, "node-1", NULL);
    go_on(world, 10 * SIM_SECOND);
}

static void
delete_softly(StorageWorld *world, const char *pod)
{
    ApiRequest request = {
        .verb = API_DELETE, .key = key(world, KIND_POD, pod), .client = "kubectl", .grace_s = 3600};
    ApiResponse response;

    api_server_commit(world->api, &request, &response);
    assert_int_equal(response.code, API_OK);
    kubelet_uses(world, "node-1", NULL);
    go_on(world, 10 * SIM_SECOND);
}

/* ADC-31: it is deleted, and none of its containers runs. */
static void
pending_pod_goes(StorageWorld *world)
{
    attached_pod(world);
    set_phase(world, "a", POD_PENDING);
    storage_world_log(world);
    delete_softly(world, "a");
}

/* A pod that still runs keeps its volumes, even if it is not ready. */
static void
running_pod_goes(StorageWorld *world)
{
    attached_pod(world);
    delete_softly(world, "a");
}

/* ADC-35: the claim's own event attaches. */
static void
claim_is_bound_later(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_reserved(world, ACCESS_RWO);
    storage_world_create(world, storage_world_claim(world, "d", 1, "fast"));
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    storage_world_create(world, storage_world_pod(world, "b", "d", "node-1"));
    go_on(world, SIM_SECOND);
    assert_string_equal(storage_world_log(world), "");
    bind_claim(world, "c", "v");
    go_on(world, SIM_SECOND);
}

/* ADC-36.3: the volume came after all events; the populator finds it within three minutes. */
static gboolean
edit_claim_uid(Object *object, const void *uid)
{
    VOLUME(object)->claim_ref.uid = *(const ObjectUid *)uid;
    return TRUE;
}

static void
volume_is_late(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    ObjectUid good = storage_world_stored_volume(world, "v")->claim_ref.uid;
    ObjectUid none = {0, 0};
    storage_world_patch(world, key(world, KIND_VOLUME, "v"), edit_claim_uid, &none);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    go_on(world, SIM_SECOND);
    storage_world_patch(world, key(world, KIND_VOLUME, "v"), edit_claim_uid, &good);
    go_on(world, 100 * SIM_MS);
    assert_string_equal(storage_world_log(world), "");
    go_on(world, 3 * SIM_MINUTE);
}

/* ADC-36.1: the pod went when its claim could not be looked up. */
static void
pod_goes_unseen(StorageWorld *world)
{
    attached_pod(world);
    kubelet_uses(world, "node-1", NULL);
    storage_world_patch_status(world, key(world, KIND_CLAIM, "c"), edit_lost, NULL);
    remove_pod(world, "a");
    go_on(world, SIM_MINUTE + SIM_SECOND);
}

static void
attach_is_not_required(StorageWorld *world)
{
    CsiDriverObject *driver = CSI_DRIVER_OBJECT(object_new(key(world, KIND_CSI_DRIVER, DRIVER)));

    driver->attach_required = FALSE;
    storage_world_create(world, driver);
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    go_on(world, 10 * SIM_SECOND);
}

/* Golden 34: the pod goes while its volume is attached. Told that it is attached, then that it is
 * not. */
static void
pod_goes_during_attach(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    go_on(world, SIM_SECOND);
    remove_pod(world, "a");
    go_on(world, 4 * SIM_SECOND);
    assert_string_equal(storage_world_log(world), ATTACH_1);
    attacher_says(world, VA_1, TRUE, NULL);
    go_on(world, 10 * SIM_SECOND);
}

/* The node is told before the detach; the volume is free for the next node when its
 * VolumeAttachment has gone. */
static void
moves(StorageWorld *world)
{
    attached_pod(world);
    attacher_holds(world, VA_1);
    remove_pod(world, "a");
    create_pod(world, "b", "node-2");
    kubelet_uses(world, "node-1", NULL);
    go_on(world, 10 * SIM_SECOND);
    assert_string_equal(storage_world_log(world), DETACH_1);
    attacher_lets_go(world, VA_1);
    go_on(world, 10 * SIM_SECOND);
    attacher_says(world, VA_2, TRUE, NULL);
    go_on(world, 10 * SIM_SECOND);
}

/* ADC-54: once, however long it takes. */
static void
multi_attach_alone(StorageWorld *world)
{
    attached_pod(world);
    remove_pod(world, "a");
    create_pod(world, "b", "node-2");
    go_on(world, SIM_MINUTE);
}

static void
multi_attach_used(StorageWorld *world)
{
    attached_pod(world);
    create_pod(world, "b", "node-2");
    go_on(world, SIM_MINUTE);
}

static void
shared_volume(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_node(world, "node-2", NULL, NULL);
    create_bound(world, ACCESS_RWO | ACCESS_ROX);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    create_pod(world, "b", "node-2");
    go_on(world, 300 * SIM_MS);
}

/* Two pods on two nodes at once: one operation in the whole cluster, then the other hears that it
 * comes too late. */
static void
race_of_two(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_node(world, "node-2", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    create_pod(world, "b", "node-2");
    go_on(world, 300 * SIM_MS);
    attacher_says(world, VA_1, TRUE, NULL);
    go_on(world, SIM_SECOND);
}

/* ADC-V8. */
static void
dead_node(StorageWorld *world)
{
    attached_pod(world);
    storage_world_patch_status(world, key(world, KIND_NODE, "node-1"), edit_not_ready, NULL);
    remove_pod(world, "a");
    create_pod(world, "b", "node-2");
    go_on(world, 359 * SIM_SECOND);
    assert_string_equal(storage_world_log(world), "");
    go_on(world, 2 * SIM_SECOND);
}

/* ADC-V9: uncertain, the volume no longer holds back the other node, but one operation at a time */
static void
detach_fails_once(StorageWorld *world)
{
    attached_pod(world);
    attacher_holds(world, VA_1);
    storage_world_patch_status(world, key(world, KIND_NODE, "node-1"), edit_not_ready, NULL);
    remove_pod(world, "a");
    create_pod(world, "b", "node-2");
    go_on(world, 360 * SIM_SECOND + 150 * SIM_MS);
    storage_world_patch_status(world, attachment(world, VA_1), edit_detach_error,
                               word(world, "no answer"));
    go_on(world, 700 * SIM_MS);
    assert_string_equal(storage_world_log(world), TELL_1 ", DELETE " VA_1 ", " ATTACH_2);
    attacher_says(world, VA_2, TRUE, NULL);
    attacher_lets_go(world, VA_1);
    go_on(world, 2 * SIM_SECOND);
}

/* ADC-V10. */
static void
stuck_on_a_ready_node(StorageWorld *world)
{
    attached_pod(world);
    remove_pod(world, "a");
    create_pod(world, "b", "node-2");
    go_on(world, 60 * SIM_MINUTE);
}

/* ADC-46: after the six minutes the node is not asked any more. */
static void
released_late(StorageWorld *world)
{
    attached_pod(world);
    remove_pod(world, "a");
    go_on(world, 10 * SIM_MINUTE);
    kubelet_uses(world, "node-1", NULL);
    go_on(world, SIM_SECOND);
}

static void
out_of_service(StorageWorld *world)
{
    attached_pod(world);
    storage_world_patch(world, key(world, KIND_NODE, "node-1"), edit_out_of_service,
                        word(world, "node.kubernetes.io/out-of-service"));
    go_on(world, SIM_MINUTE);
    assert_string_equal(storage_world_log(world), ""); /* the pod is still there */
    remove_pod(world, "a");
    go_on(world, SIM_SECOND);
}

/* ADC-26, ADC-29: attached, not used, no pod: detached in the first pass. */
static void
left_over_at_start(StorageWorld *world)
{
    create_node(world, "node-1", UNIQUE("vol-1"), NULL);
    storage_world_start(world);
    go_on(world, SIM_SECOND);
}

static void
in_use_at_start(StorageWorld *world)
{
    create_node(world, "node-1", UNIQUE("vol-1"), UNIQUE("vol-1"));
    storage_world_start(world);
    go_on(world, SIM_MINUTE);
}

/* ADC-27: a VolumeAttachment that no node tells of. */
static void
attachment_at_start(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    import_attachment(world, VA_1, "node-1", TRUE);
    storage_world_start(world);
    go_on(world, SIM_SECOND);
    assert_string_equal(storage_world_log(world),
                        ""); /* ADC-38: assumed in use, until the node says something */
    kubelet_uses(world, "node-1", UNIQUE("vol-2"));
    go_on(world, SIM_SECOND);
}

/* ADC-28: the pod is there as well: nothing but the node's status, said again. */
static void
running_at_start(StorageWorld *world)
{
    create_node(world, "node-1", UNIQUE("vol-1"), UNIQUE("vol-1"));
    create_bound(world, ACCESS_RWO);
    import_attachment(world, VA_1, "node-1", TRUE);
    create_pod(world, "a", "node-1");
    storage_world_start(world);
    go_on(world, 5 * SIM_MINUTE);
}

/* clang-format off */
static const AttachDetachControllerStory stories[] = {
    {"ADC-V1 attaches", attaches, ATTACH_1 ", " TELL_1,
     "AttachVolume.Attach succeeded for volume \"v\" "},
    {"ADC-45 detaches", detaches, DETACH_1, NULL},
    {"ADC-31 a pod that ended", ended_pod, DETACH_1, NULL},
    {"ADC-31 a pod goes that never ran", pending_pod_goes, DETACH_1, NULL},
    {"ADC-31 a running pod goes", running_pod_goes, "", NULL},
    {"ADC-35 the claim is bound later", claim_is_bound_later, ATTACH_1, NULL},
    {"ADC-36 the volume is late", volume_is_late, ATTACH_1, NULL},
    {"ADC-36 the pod went unseen", pod_goes_unseen, DETACH_1, NULL},
    {"ADC-34 attach is not required", attach_is_not_required, "", NULL},
    {"ADC-38 the pod goes during the attach", pod_goes_during_attach, TELL_1 ", " DETACH_1,
     "AttachVolume.Attach succeeded for volume \"v\" "},
    {"ADC-V2 moves", moves, ATTACH_2 ", " TELL_2, NULL},
    {"ADC-54 nobody uses it any more", multi_attach_alone, "",
     "Multi-Attach error for volume \"v\" Volume is already exclusively attached to one node and can't be attached to another"},
    {"ADC-54 somebody uses it", multi_attach_used, "",
     "Multi-Attach error for volume \"v\" Volume is already used by pod(s) a"},
    {"ADC-53 shared", shared_volume, ATTACH_1 ", " ATTACH_2, NULL},
    {"OP-3 one operation in the cluster", race_of_two, ATTACH_1 ", " TELL_1,
     "Multi-Attach error for volume \"v\" Volume is already used by pod(s) a"},
    {"ADC-V8 a dead node", dead_node, TELL_1 ", DELETE " VA_1 ", " ATTACH_2, NULL},
    {"ADC-V9 a detach fails", detach_fails_once, TELL_2 ", DELETE " VA_1 " 404", NULL},
    {"ADC-V10 stuck on a ready node", stuck_on_a_ready_node, "", NULL},
    {"ADC-46 released late", released_late, TELL_1 ", DELETE " VA_1, NULL},
    {"ADC-43 out of service", out_of_service, TELL_1 ", DELETE " VA_1, NULL},
    {"ADC-29 left over at the start", left_over_at_start,
     TELL_1 ", GET node/node-1, DELETE " VA_1 " 404", NULL},
    {"ADC-26 in use at the start", in_use_at_start, TELL_1, NULL},
    {"ADC-27 an attachment at the start", attachment_at_start, "GET node/node-1, DELETE " VA_1,
     NULL},
    {"ADC-28 running at the start", running_at_start, TELL_1, NULL},
};
/* clang-format on */

static const char *
last_event(const StorageWorld *world)
{
    unsigned n = api_server_n_events(world->api);

    return n == 0 ? "" : api_server_event(world->api, n - 1)->message;
}

static void
tell_story_as(const AttachDetachControllerStory *story, gboolean polling)
{
    StorageWorld world;

    storage_world_init(&world, &(StorageWorldOptions){.polling = polling});
    story->tell(&world);
    assert_string_equal(storage_world_log(&world), story->log);
    if (story->event != NULL)
        assert_string_equal(last_event(&world), story->event);
    storage_world_clear(&world);
}

static void
attach_detach_controller_tell_story(void **state)
{
    tell_story_as(*state, FALSE);
    tell_story_as(*state, TRUE);
}
TEST_ROWS(stories, attach_detach_controller_tell_story);

/* ADC-56: the text of a time-out is kept with the pair; a later one fails and is told as the first,
 * and another pair has its own. waitForVolumeAttachmentWithLister() of csi_attacher.go. */
TEST(time_outs_are_told_alike)
{
#define TIMED_OUT(volume, handle)                                                                  \
    "AttachVolume.Attach failed for volume \"" volume "\" : timed out waiting for "                \
    "external-attacher of " DRIVER " CSI driver to attach volume " handle
    StorageWorld world;

    storage_world_init(&world, NULL);
    create_node(&world, "node-1", NULL, NULL);
    create_bound(&world, ACCESS_RWO);
    create_reserved_as(&world, "c2", "v2", "vol-2", ACCESS_RWO);
    bind_claim(&world, "c2", "v2");
    storage_world_start(&world);
    create_pod(&world, "a", "node-1");
    pod_with_claim(&world, "b", "c2", "node-1");
    go_on(&world, 7 * SIM_MINUTE); /* three times two minutes, and the back-off */
    assert_int_equal(api_server_n_events(world.api), 2);
    for (unsigned i = 0; i < 2; i++) {
        const ApiEvent *event = api_server_event(world.api, i);
        gboolean is_first = strcmp(event->involved->name, "a") == 0;
        assert_string_equal(event->message,
                            is_first ? TIMED_OUT("v", "vol-1") : TIMED_OUT("v2", "vol-2"));
        assert_int_equal(event->count, 3);
    }
    assert_state(&world, "node-1", ADC_UNCERTAIN, FALSE);
    storage_world_clear(&world);
}

/* ---- When ---- */

static const ApiEvent *
find_event(const StorageWorld *world, const char *reason)
{
    for (unsigned i = 0; i < api_server_n_events(world->api); i++)
        if (strcmp(api_server_event(world->api, i)->reason, reason) == 0)
            return api_server_event(world->api, i);
    return NULL;
}

/* When the VolumeAttachment was made: at the first pass after the pod. */
static SimTime
begin_attach(StorageWorld *world)
{
    create_node(world, "node-1", NULL, NULL);
    create_bound(world, ACCESS_RWO);
    storage_world_start(world);
    create_pod(world, "a", "node-1");
    while (api_server_get(world->api, attachment(world, VA_1)) == NULL)
        go_on(world, SIM_MS);
    assert_true(sim_now(world->sim) <= 101 * SIM_MS);
    return api_server_get(world->api, attachment(world, VA_1))->created_at;
}

typedef struct {
    const char *title;
    SimTime attached, seen; /* after the VolumeAttachment was made */
    SimTime latest;         /* with all the jitter there can be */
} PollCase;

static const PollCase poll_cases[] = {
    {"ADC-V5", 300 * SIM_MS,    500 * SIM_MS,    550 * SIM_MS   },
    {"ADC-V6", 600 * SIM_MS,    1025 * SIM_MS,   1130 * SIM_MS  },
    {"ADC-V7", 60 * SIM_SECOND, 60 * SIM_SECOND, 64 * SIM_SECOND},
};

TEST(lister_is_polled)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(poll_cases); i++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            StorageWorld world;
            storage_world_init(&world, &(StorageWorldOptions){.seed = seed});
            SimTime start = begin_attach(&world);
            storage_world_run(&world, start + poll_cases[i].attached);
            attacher_says(&world, VA_1, TRUE, NULL);
            go_on(&world, 10 * SIM_SECOND);
            SimTime seen = find_event(&world, "SuccessfulAttachVolume")->first_at - start;
            assert_in_range(seen, poll_cases[i].seen, poll_cases[i].latest);
            storage_world_clear(&world);
        }
}

/* ADC-V4, ADC-62: the error stays, so each try fails at its first look, half a second later. */
TEST(error_that_lasts)
{
    static const SimTime tries_ms[] = {500, 1500, 3000, 5500, 10000, 18500, 35000};
    StorageWorld world;

    storage_world_init(&world, NULL);
    SimTime start = begin_attach(&world);
    attacher_says(&world, VA_1, FALSE, "rpc error: code = Internal desc = no");
    for (unsigned i = 0; i < G_N_ELEMENTS(tries_ms); i++) {
        storage_world_run(&world, start + tries_ms[i] * SIM_MS - 1);
        const ApiEvent *event = find_event(&world, "FailedAttachVolume");
        assert_int_equal(event == NULL ? 0 : event->count, i);
        go_on(&world, (i + 1) * 160 * SIM_MS);
        assert_int_equal(find_event(&world, "FailedAttachVolume")->count, i + 1);
    }
    assert_string_equal(last_event(&world),
                        "AttachVolume.Attach failed for volume \"v\" : rpc error: "
                        "code = Internal desc = no");
    storage_world_clear(&world);
}

/* ADC-60.3. */
TEST(attacher_is_away)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    SimTime start = begin_attach(&world);
    go_on(&world, 3 * SIM_MINUTE);
    assert_int_equal(find_event(&world, "FailedAttachVolume")->first_at - start, 2 * SIM_MINUTE);
    storage_world_clear(&world);
}

/* ---- Polling equals sleeping ---- */

/* A random hour: pods come and go on two nodes, kubelets and the attacher answer when they like. */
static char *
random_hour(uint64_t seed, gboolean polling)
{
    static const char *const nodes[] = {"node-1", "node-2"}, *const pods[] = {"a", "b", "d"},
                             *const attachments[] = {VA_1, VA_2};
    StorageWorld world;

    storage_world_init(&world,
                       &(StorageWorldOptions){.seed = seed, .polling = polling, .slow = TRUE});
    SimStream stream = sim_stream(world.sim, "test");
    world.log_times = TRUE;
    create_node(&world, "node-1", NULL, NULL);
    create_node(&world, "node-2", seed % 3 == 0 ? UNIQUE("vol-1") : NULL, NULL);
    create_bound(&world, seed % 2 == 0 ? ACCESS_RWO : ACCESS_RWX);
    storage_world_start(&world);
    for (unsigned i = 0; i < 120; i++) {
        const char *pod = pods[sim_random_below(stream, 1, i, 3)];
        const char *node = nodes[sim_random_below(stream, 2, i, 2)];
        const char *va = attachments[sim_random_below(stream, 3, i, 2)];
        const Object *stored = api_server_get(world.api, attachment(&world, va));
        switch (sim_random_below(stream, 0, i, 6)) {
        case 0:
        case 1:
            if (api_server_get(world.api, key(&world, KIND_POD, pod)) == NULL)
                create_pod(&world, pod, node);
            else
                remove_pod(&world, pod);
            break;
        case 2:
            kubelet_uses(&world, node, i % 3 == 0 ? UNIQUE("vol-1") : NULL);
            break;
        case 3:
        case 4:
            if (stored != NULL && !object_is_deleted(stored))
                attacher_says(&world, va, TRUE, NULL);
            break;
        default:
            if (stored != NULL && !object_is_deleted(stored) &&
                !((const Attachment *)stored)->attached)
                attacher_says(&world, va, FALSE, "no");
            break;
        }
        go_on(&world, (SimTime)sim_random_below(stream, 4, i, 60 * SIM_SECOND));
    }
    char *log = g_strdup(storage_world_log(&world));
    storage_world_clear(&world);
    return log;
}

TEST(polling_equals_sleeping)
{
    assert_sleeping_equals_polling(random_hour, 20, "DELETE");
}

/* ---- Many nodes are told at once ---- */

#define N_VOLUMES 18

static const char *const crowd_nodes[] = {"node-1", "node-2", "node-3",
                                          "node-4", "node-5", "node-6"};

static const char *
crowd_node(unsigned volume)
{
    return crowd_nodes[volume % G_N_ELEMENTS(crowd_nodes)];
}

/* A pod, its claim and its volume for each number; the nodes take turns. */
static void
create_crowd(StorageWorld *world)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(crowd_nodes); i++)
        create_node(world, crowd_nodes[i], NULL, NULL);
    for (unsigned i = 0; i < N_VOLUMES; i++) {
        g_autofree char *claim = g_strdup_printf("c%u", i), *handle = g_strdup_printf("vol-%u", i);
        create_reserved_as(world, claim, handle, handle, ACCESS_RWO);
        bind_claim(world, claim, handle);
    }
    storage_world_start(world);
    for (unsigned i = 0; i < N_VOLUMES; i++) {
        g_autofree char *claim = g_strdup_printf("c%u", i), *pod = g_strdup_printf("p%u", i);
        storage_world_create(world, storage_world_pod(world, pod, claim, crowd_node(i)));
    }
}

/* The attacher is done with each in its own time, within half a second. */
static void
attach_crowd(StorageWorld *world)
{
    SimStream stream = sim_stream(world->sim, "test");

    for (unsigned step = 0; step < 500; step++) {
        go_on(world, SIM_MS);
        for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_ATTACHMENT); i++) {
            ObjectKey *va = objects_key_at(world->objects, KIND_ATTACHMENT, i);
            const Attachment *stored = (const Attachment *)api_server_get(world->api, va);
            AttachAnswer answer = {TRUE, NULL};
            if (stored != NULL && !stored->attached &&
                sim_random_below(stream, i, step, 500 - step) == 0)
                storage_world_patch_status(world, va, edit_attached, &answer);
        }
    }
    go_on(world, 5 * SIM_SECOND);
}

static void
assert_crowd_is_reported(const StorageWorld *world)
{
    for (unsigned i = 0; i < N_VOLUMES; i++) {
        g_autofree char *name = g_strdup_printf(UNIQUE("vol-%u"), i);
        assert_true(string_list_has(stored_node(world, crowd_node(i))->volumes_attached,
                                    word(world, name)));
    }
}

/* ADC-51: a volume that is attached while another node is told is reported in the next pass. */
TEST(all_are_reported)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        StorageWorld world;
        storage_world_init(&world, &(StorageWorldOptions){.seed = seed, .slow = TRUE});
        create_crowd(&world);
        attach_crowd(&world);
        assert_crowd_is_reported(&world);
        storage_world_clear(&world);
    }
}

/* Every second status of a Node is refused. */
static ApiCode
refuse_some(void *data, const ApiRequest *request, GString *message)
{
    unsigned *n = data;

    if (request->key->kind != KIND_NODE || request->verb != API_PATCH_STATUS || (*n)++ % 2 == 1)
        return API_OK;
    g_string_assign(message, "etcdserver: request timed out");
    return API_TIMEOUT;
}

/* ADC-52: a node that could not be told is told in the next pass. */
TEST(refused_reports_come_again)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        StorageWorld world;
        unsigned n = 0;
        storage_world_init(&world, &(StorageWorldOptions){.seed = seed, .slow = TRUE});
        create_crowd(&world);
        api_server_set_fault(world.api, refuse_some, &n);
        attach_crowd(&world);
        assert_true(n > 2);
        assert_crowd_is_reported(&world);
        storage_world_clear(&world);
    }
}

static void
pod_comes_or_goes(StorageWorld *world, unsigned i)
{
    g_autofree char *claim = g_strdup_printf("c%u", i), *pod = g_strdup_printf("p%u", i);

    if (api_server_get(world->api, key(world, KIND_POD, pod)) != NULL)
        remove_pod(world, pod);
    else
        storage_world_create(world, storage_world_pod(world, pod, claim, crowd_node(i)));
}

/* A minute in which much happens while passes wait for their patches. */
static char *
crowded_minute(uint64_t seed, gboolean polling)
{
    StorageWorld world;

    storage_world_init(&world,
                       &(StorageWorldOptions){.seed = seed, .polling = polling, .slow = TRUE});
    world.log_times = TRUE;
    create_crowd(&world);
    attach_crowd(&world);
    SimStream stream = sim_stream(world.sim, "test");
    for (unsigned i = 0; i < 600; i++) {
        unsigned volume = (unsigned)sim_random_below(stream, 1, i, N_VOLUMES);
        g_autofree char *name = g_strdup_printf(UNIQUE("vol-%u"), volume);
        if (sim_random_below(stream, 0, i, 3) == 0)
            kubelet_uses(&world, crowd_node(volume), i % 2 == 0 ? name : NULL);
        else
            pod_comes_or_goes(&world, volume);
        go_on(&world, (SimTime)sim_random_below(stream, 2, i, 100 * SIM_MS));
        for (uint32_t slot = 0; slot < objects_n_keys(world.objects, KIND_ATTACHMENT); slot++) {
            ObjectKey *va = objects_key_at(world.objects, KIND_ATTACHMENT, slot);
            const Attachment *stored = (const Attachment *)api_server_get(world.api, va);
            AttachAnswer answer = {TRUE, NULL};
            if (stored != NULL && !stored->attached)
                storage_world_patch_status(&world, va, edit_attached, &answer);
        }
    }
    char *log = g_strdup(storage_world_log(&world));
    storage_world_clear(&world);
    return log;
}

/* Pairs that change while a pass is under way are looked at in their turn, as by a loop that walks
 * over all of them. */
TEST(changes_during_a_pass)
{
    assert_sleeping_equals_polling(crowded_minute, 10, "");
}
