/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cluster/inspect.h"
#include "sim/sim-test.h"
#include "tests/attach-detach-controller/attach-world.h"
#include "tests/lib/test.h"

/* Attaches that time out again and again (retries.c). While plans are observed, each try is an
 * operation with a plan of its own: all else must be the same. */

/* What happened in a world. */
typedef struct {
    GString *text;     /* requests with their times, then Events */
    GString *insights; /* what is under way and to come, again and again; and the log of causes */
    unsigned n_kept;   /* how often a try was found put aside, or repeated */
} RetriesStory;

static void
story_clear(RetriesStory *self)
{
    g_string_free(self->text, TRUE);
    g_string_free(self->insights, TRUE);
}

static void
ignore_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    (void)data, (void)component, (void)plan, (void)rule, (void)step;
}

static void
note_doing(void *data, const Doing *doing)
{
    g_string_append_printf(data, "%s %s %s %s %" G_GINT64_FORMAT " %u\n", doing->component->name,
                           doing->key == NULL ? "" : doing->key->name, doing->step, doing->rule,
                           doing->at, doing->failures);
}

static void
note_insights(const StorageWorld *world, RetriesStory *story)
{
    SimPending pending[40];
    unsigned n = sim_pending(world->sim, pending, G_N_ELEMENTS(pending));

    cluster_inspect(world->cluster, note_doing, story->insights);
    for (unsigned i = 0; i < n; i++)
        g_string_append_printf(story->insights, "%" G_GINT64_FORMAT " %s %u %u\n", pending[i].at,
                               pending[i].name, pending[i].wait, pending[i].detail);
}

static void
note_causes(const StorageWorld *world, RetriesStory *story)
{
    const SimTrace *trace = sim_trace(world->sim);

    for (SimCauseId id = 1; id < sim_trace_length(trace); id++) {
        SimCause cause = sim_trace_get(trace, id);
        g_string_append_printf(story->insights, "%u %" G_GINT64_FORMAT " %u %u %u\n", id, cause.at,
                               cause.parent, cause.wait, cause.detail);
    }
}

static void
note_events(const StorageWorld *world, RetriesStory *story)
{
    for (unsigned i = 0; i < api_server_n_events(world->api); i++) {
        const ApiEvent *event = api_server_event(world->api, i);
        g_string_append_printf(story->text,
                               "\n%s %" G_GUINT64_FORMAT " %s %s x%u %" G_GINT64_FORMAT
                               " %" G_GINT64_FORMAT,
                               event->involved->name, event->involved_uid.low, event->reason,
                               event->message, event->count, event->first_at, event->last_at);
    }
}

static void
count_kept(const StorageWorld *world, RetriesStory *story)
{
    const AttachDetachController *controller = controller_of(world);
    AttachNode *node;

    for (uint32_t slot = 0;
         controller != NULL && (node = adc_next_node(controller, &slot)) != NULL;)
        for (unsigned i = 0; i < node->pairs->len; i++)
            story->n_kept += ((const AttachPair *)node->pairs->pdata[i])->is_steady;
}

/* ---- What may disturb a retry ---- */

static const char *const nodes[] = {"node-1", "node-2"}, *const pods[] = {"a", "b", "d"},
                         *const attachments[] = {VA_1, VA_2};

static void
pod_comes_or_goes(StorageWorld *world, const char *pod, const char *node)
{
    if (api_server_get(world->api, key(world, KIND_POD, pod)) == NULL)
        create_pod(world, pod, node);
    else
        remove_pod(world, pod);
}

/* The next one of the same name, at once. */
static void
pod_is_replaced(StorageWorld *world, const char *pod, const char *node)
{
    if (api_server_get(world->api, key(world, KIND_POD, pod)) != NULL)
        remove_pod(world, pod);
    create_pod(world, pod, node);
}

/* While watches are broken: no event tells of the first pod's end (CGO-15). */
static void
pod_is_replaced_unseen(StorageWorld *world, const char *pod, const char *node)
{
    api_server_break_watches(world->api, 0);
    pod_is_replaced(world, pod, node);
    api_server_repair_watches(world->api, 0, WATCHES_RELIST);
}

static gboolean
edit_claim_uid(Object *object, const void *claim)
{
    ObjectUid *uid = &VOLUME(object)->claim_ref.uid;

    *uid = object_uid_equal(*uid, ((const Claim *)claim)->meta.uid)
               ? (ObjectUid){0, 1}
               : ((const Claim *)claim)->meta.uid;
    return TRUE;
}

/* While the volume is not the claim's, pods go unseen (ADC-36). */
static void
volume_is_lost_or_found(StorageWorld *world)
{
    storage_world_patch(world, storage_world_volume_key(world, "v"), edit_claim_uid,
                        storage_world_stored_claim(world, "c"));
}

static void
node_comes_or_goes(StorageWorld *world, const char *node)
{
    if (stored_node(world, node) == NULL)
        create_node(world, node, NULL, NULL);
    else
        node_is_gone(world, node);
}

static void
attacher_acts(StorageWorld *world, const char *va, uint64_t how)
{
    const Object *stored = api_server_get(world->api, attachment(world, va));

    if (stored == NULL || object_is_deleted(stored))
        return;
    if (how == 0)
        storage_world_delete(world, attachment(world, va));
    else if (how == 1)
        storage_world_remove(world, attachment(world, va));
    else if (how == 2)
        attacher_holds(world, va);
    else
        attacher_says(world, va, how == 3, how == 4 ? "no" : NULL);
}

static void
disturb(StorageWorld *world, SimStream stream, uint64_t i)
{
    const char *node = nodes[sim_random_below(stream, 1, i, 2)];
    const char *pod = pods[sim_random_below(stream, 2, i, 3)];
    const char *va = attachments[sim_random_below(stream, 3, i, 2)];

    switch (sim_random_below(stream, 4, i, 16)) {
    case 0:
    case 1:
    case 2:
        pod_comes_or_goes(world, pod, node);
        break;
    case 3:
        pod_is_replaced(world, pod, node);
        break;
    case 4:
        pod_is_replaced_unseen(world, pod, node);
        break;
    case 5:
        volume_is_lost_or_found(world);
        break;
    case 6:
        node_comes_or_goes(world, node);
        break;
    case 7:
        kubelet_uses(world, "node-1", i % 3 == 0 ? UNIQUE("vol-1") : NULL);
        break;
    case 8:
        cluster_crash(world->cluster, "kube-controller-manager", NULL);
        cluster_restart(world->cluster, "kube-controller-manager", NULL);
        break;
    default:
        attacher_acts(world, va, sim_random_below(stream, 5, i, 6));
        break;
    }
}

/* Some hours in which a pod's attach times out, with something in between now and then. */
static RetriesStory
disturbed_hours(uint64_t seed, gboolean is_observed)
{
    StorageWorld world;
    RetriesStory story = {g_string_new(NULL), g_string_new(NULL), 0};

    storage_world_init(
        &world,
        &(StorageWorldOptions){.seed = seed, .throttled = seed % 3 == 0, .slow = seed % 4 != 0});
    if (is_observed)
        cluster_observe_plans(world.cluster, ignore_step, NULL);
    SimStream stream = sim_stream(world.sim, "test");
    world.log_times = TRUE;
    create_node(&world, "node-1", NULL, NULL);
    create_node(&world, "node-2", NULL, NULL);
    create_bound(&world, seed % 2 == 0 ? ACCESS_RWO : ACCESS_RWX);
    storage_world_start(&world);
    create_pod(&world, "a", "node-1");
    for (unsigned i = 0; i < 30; i++) {
        for (unsigned k = 0; k < 4; k++) {
            go_on(&world, (SimTime)sim_random_below(stream, 0, 4 * i + k, 5 * SIM_MINUTE));
            count_kept(&world, &story);
            note_insights(&world, &story);
        }
        if (stored_node(&world, "node-1") == NULL)
            create_node(&world, "node-1", NULL, NULL);
        disturb(&world, stream, i);
    }
    g_string_append(story.text, storage_world_log(&world));
    note_events(&world, &story);
    note_causes(&world, &story);
    storage_world_clear(&world);
    return story;
}

TEST(a_kept_try_is_like_a_new_one)
{
    unsigned n_kept = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        RetriesStory kept = disturbed_hours(seed, FALSE), ordinary = disturbed_hours(seed, TRUE);
        assert_string_equal(kept.text->str, ordinary.text->str);
        assert_string_equal(kept.insights->str, ordinary.insights->str);
        n_kept += kept.n_kept;
        assert_int_equal(ordinary.n_kept, 0);
        story_clear(&kept);
        story_clear(&ordinary);
    }
    assert_true(n_kept > 5000);
}
