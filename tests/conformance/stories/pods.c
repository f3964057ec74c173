/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/manifest.h"
#include "models/csi/modelled/modelled-test.h"
#include "tests/conformance/stories/story.h"
#include "tests/kubelet/stories.h"

#include <stdlib.h>
#include <string.h>

/* Stories of the kubelet's populator and of its waits for volumes, told with a whole kubelet: what
 * the real tests do to lists and caches by hand, users and containers do here. */

typedef enum {
    RUNNING,
    TERMINATING,
    REMOVED, /* the pod's containers are gone */
} PodState;

typedef struct {
    Case *self;
    World *world;
    /* Given. */
    PodState state;
    gboolean first_pass_done, is_unreadable, is_inline, stays_listed, is_pending;
    gboolean is_unmounted, is_uncertain, is_read_only, is_ephemeral, is_foreign;
    gboolean is_block, pod_is_block;
    int64_t old_bytes, new_bytes;
    const char *group;
    /* Seen. */
    gboolean is_desired[8]; /* after each scan */
    unsigned n_scans;
    unsigned n_published, n_groups;
    gboolean is_failed; /* of the last wait */
    unsigned n_failed;  /* waits */
    SimTime waited;     /* by the last wait */
} PodsStory;

#define STOP_TIME SECONDS(5)

static gboolean
is_desired(World *world)
{
    const NodeVolume *volume = node_world_kubelet(world) == NULL ? NULL : story_volume(world);

    return volume != NULL && volume->n_desired > 0;
}

/* Whether the volume was desired at some moment of @time. */
static gboolean
is_desired_within(World *world, SimTime time)
{
    SimTime end = sim_now(world->sim) + time;

    while (sim_now(world->sim) < end) {
        node_world_run_for(world, 5 * SIM_MS);
        if (is_desired(world))
            return TRUE;
    }
    return FALSE;
}

/* Counts what the driver is asked to mount, and the groups that it is told of. */
static void
pods_see_call(void *data, const CsiCallRecord *record)
{
    PodsStory *self = data;

    if (record->request->method != CSI_NODE_PUBLISH_VOLUME)
        return;
    self->n_published++;
    self->n_groups += record->request->capabilities[0].volume_mount_group != NULL;
}

/* Containers take their time to stop, so that a scan may come in between. */
static void
pods_new_world(PodsStory *self)
{
    SidecarWorldOptions options = {
        .only = &kubelet_class, .seed = 7, .flag = "containerStop", .value = "5s"};

    self->world = world_new(&options);
    csi_driver_add_observer(csi_modelled_driver_base(self->world->driver),
                            &(CsiObserver){.started = pods_see_call, .data = self});
}

static void
run_pod(PodsStory *self)
{
    node_world_add_pod(self->world, "p", "a", "v");
    node_world_run_for(self->world, SECONDS(20));
    if (!pod_is_ready(node_world_pod(self->world, "p")))
        case_fail(self->self, "the pod does not run");
}

/* ---- What is given: a member set to a value ---- */

PHRASE_OF(set_true, offset)
{
    *(gboolean *)((char *)story + offset) = TRUE;
}

PHRASE_OF(pods_set_flag, offset)
{
    *(gboolean *)((char *)story + offset) =
        strcmp(words[1], "true") == 0 || strcmp(words[1], "Block") == 0;
}

PHRASE_OF(set_gib, offset)
{
    *(int64_t *)((char *)story + offset) = GI(atoi(words[1]));
}

PHRASE_OF(set_state, state)
{
    ((PodsStory *)story)->state = (PodState)state;
}

PHRASE(set_group)
{
    ((PodsStory *)story)->group = g_intern_string(words[1]);
}

#define TRUE_IN(member) set_true, offsetof(PodsStory, member)
/* clang-format off */
static const Phrase given[] = {
    {"first_pass_done: (true|false)",                  pods_set_flag,      offsetof(PodsStory, first_pass_done)},
    {"pod_state: removed",                             set_state,     REMOVED                 },
    {"pod_state: terminating",                         set_state,     TERMINATING             },
    {"pod_state: (?:other|running)",                   set_state,     RUNNING                 },
    {"pod: (?:with one bound claim|mounted desired volume|uses the claim)", story_nothing, 0  },
    {"pod: failed, still listed",                      TRUE_IN(stays_listed)                  },
    {"pod: removed runtime",                           set_state,     REMOVED                 },
    {"mount: uncertain",                               TRUE_IN(is_uncertain)                  },
    {"pod: ephemeral volume",                          TRUE_IN(is_ephemeral)                  },
    {"claim of the expected name without owner reference", TRUE_IN(is_foreign)                },
    {"pod: inline volume",                             TRUE_IN(is_inline)                     },
    {"api: volume missing",                            TRUE_IN(is_unreadable)                 },
    {".*(?:not mounted|actual state (?:is )?(?:cleared|empty)).*", TRUE_IN(is_unmounted)        },
    {"change",                                         story_nothing, 0                       },
    {"size (?:unchanged|grows)|file system|read-write", story_nothing, 0                      },
    {"(?:mounted )?read-only(?: mount)?",              TRUE_IN(is_read_only)                  },
    {"generic ephemeral volume",                       TRUE_IN(is_ephemeral)                  },
    {"(?:raw )?block(?: (?:volume|mode))?",            TRUE_IN(is_block)                      },
    {"(?:old_size_gi): (\\d+)",                        set_gib,       offsetof(PodsStory, old_bytes)},
    {"(?:new_size_gi): (\\d+)",                        set_gib,       offsetof(PodsStory, new_bytes)},
    {"pods: one mounted pod",                          story_nothing, 0                       },
    {"claim: Pending although volumeName is set",      TRUE_IN(is_pending)                    },
    {"volume_mode: (Filesystem|Block)",                pods_set_flag,      offsetof(PodsStory, is_block)},
    {"pod_mode: (Filesystem|Block)",                   pods_set_flag,      offsetof(PodsStory, pod_is_block)},
    {"annotation pv\\.beta\\.kubernetes\\.io/gid: ?(\\w*)", set_group, 0                      },
    {"pod_supplemental_groups: \\[(\\d+)\\]",          story_nothing, 0                       },
    {NULL,                                             NULL,          0                       },
};
/* clang-format on */

/* ---- The populator: steps ---- */

/* The kubelet starts while the pod is in its state already. */
static void
first_pass(PodsStory *self)
{
    story_add_volume(self->world, FALSE);
    node_world_start(self->world);
    run_pod(self);
    cluster_crash(self->world->cluster, "kubelet", "a");
    if (self->state == REMOVED)
        node_world_set_failed(self->world, "p");
    if (self->state != RUNNING)
        node_world_delete_pod(self->world, "p", FALSE);
    cluster_restart(self->world->cluster, "kubelet", "a");
    self->is_desired[self->n_scans++] =
        is_desired_within(self->world, self->state == REMOVED ? SECONDS(30) : SECONDS(3));
}

/* The pod comes to a kubelet that runs for long. */
static void
later_pass(PodsStory *self)
{
    story_add_volume(self->world, FALSE);
    node_world_start(self->world);
    node_world_run_for(self->world, SECONDS(5));
    node_world_add_pod(self->world, "p", "a", "v");
    if (self->state == REMOVED)
        node_world_set_failed(self->world, "p");
    if (self->state == TERMINATING)
        node_world_delete_pod(self->world, "p", FALSE);
    self->is_desired[self->n_scans++] =
        is_desired_within(self->world, self->state == RUNNING ? SIM_SECOND : SECONDS(30));
}

static gboolean
disown(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&object->owners, owner_references_unref);
    return TRUE;
}

static gboolean
unprotect(Object *object, const void *finalizer)
{
    return object_remove_finalizer(object, finalizer);
}

static void
lose_volume(PodsStory *self)
{
    world_edit(self->world, KIND_VOLUME, "v", unprotect,
               world_intern(self->world, "kubernetes.io/pv-protection"));
    world_delete(self->world, KIND_VOLUME, "v");
}

/* The claim belongs to nobody. */
static void
begin_foreign(PodsStory *self)
{
    node_world_add_volume(self->world, "p-v", "csi");
    node_world_start(self->world);
    node_world_add_ephemeral_pod(self->world, "p", "a", "v");
    world_edit(self->world, KIND_CLAIM, "p-v", disown, NULL);
}

/* The driver does not say whether the volume is mounted, and the pod's containers are gone. */
static void
begin_uncertain(PodsStory *self)
{
    const CsiModelledError late = {
        .method = CSI_NODE_PUBLISH_VOLUME, .code = CSI_DEADLINE_EXCEEDED, .probability = 1};

    story_add_volume(self->world, FALSE);
    node_world_start(self->world);
    csi_modelled_driver_set_errors(self->world->driver, &late, 1);
    node_world_add_pod(self->world, "p", "a", "v");
    node_world_run_for(self->world, SECONDS(20));
    const NodeVolume *volume = story_volume(self->world);
    if (volume == NULL || volume->mounts == NULL || volume->mounts->state != MOUNT_UNCERTAIN)
        case_fail(self->self, "the mount is not uncertain");
    node_world_delete_pod(self->world, "p", FALSE);
    node_world_run_for(self->world, STOP_TIME);
}

/* The world as the story begins: a pod with a volume that is mounted, or cannot be read. */
static void
pods_begin(PodsStory *self)
{
    pods_new_world(self);
    if (self->is_foreign || self->is_uncertain) {
        (self->is_foreign ? begin_foreign : begin_uncertain)(self);
        return;
    }
    if (self->is_unreadable) {
        node_world_add_unbound(self->world, "v");
        node_world_bind(self->world, "v");
        lose_volume(self);
        node_world_start(self->world);
        node_world_add_pod(self->world, "p", "a", "v");
        return;
    }
    node_world_add_driver(self->world, TRUE, FALSE);
    story_add_volume(self->world, FALSE);
    node_world_start(self->world);
    run_pod(self);
    if (self->stays_listed)
        node_world_set_failed(self->world, "p");
}

/* Long enough for several passes, shorter than a pod's end. */
PHRASE(scan)
{
    PodsStory *self = story;

    if (self->world == NULL && case_get(self->self, "given.pod_state") != NULL) {
        pods_new_world(self);
        (self->first_pass_done ? later_pass : first_pass)(self);
        return;
    }
    if (self->world == NULL)
        pods_begin(self);
    node_world_run_for(self->world, 1500 * SIM_MS);
    if (self->n_scans < G_N_ELEMENTS(self->is_desired))
        self->is_desired[self->n_scans++] = is_desired(self->world);
}

PHRASE(fail_pod)
{
    PodsStory *self = story;

    pods_begin(self);
    node_world_delete_pod(self->world, "p", TRUE);
}

PHRASE(remove_runtime)
{
    if (((PodsStory *)story)->world == NULL)
        pods_begin(story);
    node_world_run_for(((PodsStory *)story)->world, STOP_TIME);
}

PHRASE(make_unattachable)
{
    PodsStory *self = story;

    if (self->world == NULL)
        pods_begin(self);
    world_delete(self->world, KIND_CSI_DRIVER, WORLD_DRIVER);
    node_world_add_driver(self->world, FALSE, FALSE);
}

PHRASE(lose)
{
    if (((PodsStory *)story)->world == NULL)
        pods_begin(story);
    lose_volume(story);
}

/* A change of the pod; one that is unknown has nothing to change. */
PHRASE(reprocess)
{
    PodsStory *self = story;

    if (self->world == NULL)
        pods_begin(self);
    g_free(world_take_log(self->world));
    if (node_world_pod(self->world, "p") != NULL)
        story_change_pod(self->world, "changed");
}

static void
add_growing_pod(PodsStory *self, const char *volume)
{
    if (self->is_block)
        node_world_add_block_volume(self->world, volume);
    else
        node_world_add_volume(self->world, volume, "csi");
    story_grow_volume(self->world, volume, self->old_bytes);
    if (!self->is_unmounted)
        node_world_attach(self->world, volume, "a");
    node_world_start(self->world);
    if (self->is_read_only)
        node_world_add_reading_pod(self->world, "p", "a", volume);
    else if (self->is_ephemeral)
        node_world_add_ephemeral_pod(self->world, "p", "a", "v");
    else
        node_world_add_pod(self->world, "p", "a", volume);
    node_world_run_for(self->world, SECONDS(20));
    if (pod_is_ready(node_world_pod(self->world, "p")) == self->is_unmounted)
        case_fail(self->self, "the pod is not as given");
}

PHRASE(scan_for_growth)
{
    PodsStory *self = story;
    const char *volume = self->is_ephemeral ? "p-v" : "v";

    pods_new_world(self);
    add_growing_pod(self, volume);
    story_grow_volume(self->world, volume, self->new_bytes);
    story_change_pod(self->world, "changed");
    node_world_run_for(self->world, SECONDS(2));
}

/* clang-format off */
static const Phrase populator_steps[] = {
    {"scan(?: again| new pods| for deleted pods)?",    scan,              0},
    {"scan new pods with the populator warmed up",     scan_for_growth,   0},
    {"pod processed|actual state catches up",          story_nothing,     0},
    {"volume disappears from the API",                 lose,              0},
    {"request reprocessing",                           reprocess,         0},
    {"pod fails and leaves the pod list",              fail_pod,          0},
    {"runtime marked removed",                         remove_runtime,    0},
    {"driver becomes non-attachable",                  make_unattachable, 0},
    {NULL,                                             NULL,              0},
};
/* clang-format on */

/* ---- The populator: then ---- */

#define SCANS(first, last) ((first) | (last) << 4)

PHRASE(then_desired)
{
    PodsStory *self = story;
    unsigned first = (unsigned)argument & 0xf, last = (unsigned)argument >> 4;

    for (unsigned i = first; i <= last; i++)
        if (i >= self->n_scans || !self->is_desired[i])
            case_fail(self->self, "not desired after scan %u", i + 1);
}

PHRASE(then_listed)
{
    PodsStory *self = story;

    if (self->n_scans == 0 || self->is_desired[0] != (strcmp(words[1], "present") == 0))
        case_fail(self->self, "it is %s", words[1]);
}

PHRASE(then_gone)
{
    PodsStory *self = story;

    if (is_desired(self->world))
        case_fail(self->self, "still desired");
}

PHRASE(then_pod_gone)
{
    PodsStory *self = story;

    then_gone(story, words, argument);
    node_world_run_for(self->world, SECONDS(30));
    if (node_world_kubelet(self->world)->workers->len > 0)
        case_fail(self->self, "the kubelet still knows the pod");
}

PHRASE(then_no_mark)
{
    PodsStory *self = story;

    if (node_world_kubelet(self->world)->volume_manager->unprocessed->len > 0)
        case_fail(self->self, "a pod is still to be processed");
}

/* It was read once, with an error, and is not read again; what is desired stays so. */
PHRASE(then_processed)
{
    PodsStory *self = story;

    node_world_run_for(self->world, SECONDS(5));
    unsigned n = world_count(self->world, "GET PersistentVolume 404", NULL, NULL);
    if (n != 1 || !is_desired(self->world) || self->n_scans < 2)
        case_fail(self->self, "read %u times, %sdesired", n, is_desired(self->world) ? "" : "not ");
}

PHRASE(then_not_processed)
{
    PodsStory *self = story;

    if (is_desired(self->world))
        case_fail(self->self, "the pod was processed");
    if (self->is_unreadable &&
        world_count(self->world, "GET PersistentVolume 404", NULL, NULL) == 0)
        case_fail(self->self, "the volume was not read");
}

/* The pod's wait ends with it, and an Event tells it. */
PHRASE(then_foreign)
{
    PodsStory *self = story;
    g_autofree char *events = world_events(self->world, world_key(self->world, KIND_POD, "p"));

    if (strstr(events, ", failed to process volumes=[v]: PVC default/p-v was not created for pod "
                       "default/p (pod is not owner)") == NULL)
        case_fail(self->self, "events: %s", events);
}

PHRASE(then_read_again)
{
    PodsStory *self = story;
    unsigned n = world_count(self->world, "GET PersistentVolume 404", NULL, NULL);

    then_not_processed(story, words, argument);
    node_world_run_for(self->world, SECONDS(40));
    if (world_count(self->world, "GET PersistentVolume 404", NULL, NULL) == n)
        case_fail(self->self, "it is not read again");
}

PHRASE(then_unattachable)
{
    PodsStory *self = story;
    const NodeVolume *volume = story_volume(self->world);

    if (!is_desired(self->world) || volume->attachable)
        case_fail(self->self, "not desired, or attachable");
}

PHRASE(then_grows)
{
    PodsStory *self = story;
    const NodeVolume *volume = story_volume(self->world);
    gboolean grows = volume != NULL && volume->mounts != NULL &&
                     volume->mounts->state == MOUNT_DONE && volume_expansion_is_due(volume) &&
                     !volume->mounts->spec->read_only;

    if (grows != argument)
        case_fail(self->self, "needs resize: %s", grows ? "yes" : "no");
}

/* clang-format off */
static const Phrase populator_then[] = {
    {"volume of the pod is (absent|present) in the desired state", then_listed, 0},
    {"pod is still marked as processed",                      then_processed,     0},
    {"pod not processed",                                     then_not_processed, 0},
    {"one pod error: claim was not created for this pod",     then_foreign,       0},
    {"pod not counted as seen with success",                  then_read_again,    0},
    {"after the first scan still processed and desired",      then_desired,       SCANS(0, 0)},
    {"(?:volume )?still desired after the first scan",        then_desired,       SCANS(0, 0)},
    {"volume still desired after the first two scans",        then_desired,       SCANS(0, 1)},
    {"after runtime removal not processed",                   then_gone,          0},
    {"volume, pod and mount request gone",                    then_pod_gone,      0},
    {"gone after the runtime is removed",                     then_gone,          0},
    {"reprocess mark of an unknown pod is dropped",           then_no_mark,       0},
    {"volume still desired, now flagged not attachable",      then_unattachable,  0},
    {"volume marked as needing resize",                       then_grows,         TRUE},
    {"volume not marked as needing resize",                   then_grows,         FALSE},
    {NULL,                                                    NULL,               0},
};
/* clang-format on */

static void
pods_tell(Case *case_, const Phrase *steps, const Phrase *then)
{
    PodsStory self = {.self = case_, .old_bytes = GI(1), .new_bytes = GI(1)};

    story_tell(case_, "given", given, &self);
    story_tell(case_, "steps", steps, &self);
    if (self.world == NULL) {
        case_fail(case_, "nothing was done");
        return;
    }
    story_tell(case_, "then", then, &self);
    world_free(self.world);
}

void
story_kubelet_populator(Case *case_)
{
    pods_tell(case_, populator_steps, populator_then);
}

/* ---- The wait for volumes: steps ---- */

PHRASE(wait_for_mount)
{
    PodsStory *self = story;

    pods_new_world(self);
    story_add_volume(self->world, self->is_block);
    if (self->group != NULL)
        story_annotate_volume(self->world, "pv.beta.kubernetes.io/gid", self->group);
    node_world_start(self->world);
    node_world_add_pod_as(self->world, "p", "v", self->pod_is_block);
    node_world_run_for(self->world, SECONDS(20));
    self->is_failed = !pod_is_ready(node_world_pod(self->world, "p"));
}

/* KVM-3, KVM-49: at most 2 min 3 s, longer than any single call (KVM-5). Only the title tells that
 * the volume stays mounted: then the unmount waits for a remount that hangs. */
PHRASE(wait_for_unmount)
{
    PodsStory *self = story;
    const char *title = case_string(self->self, "title");

    pods_new_world(self);
    node_world_add_driver(self->world, TRUE, TRUE);
    story_add_volume(self->world, FALSE);
    node_world_start(self->world);
    run_pod(self);
    if (title != NULL && g_str_has_suffix(title, "times out")) {
        const CsiModelledError slow[] = {
            {.method = CSI_NODE_PUBLISH_VOLUME,
             .code = CSI_INTERNAL,
             .probability = 1,
             .latency = world_constant(self->world, SECONDS(110))},
            {.method = CSI_NODE_UNPUBLISH_VOLUME,
             .code = CSI_INTERNAL,
             .probability = 1,
             .latency = world_constant(self->world, SECONDS(60)) },
        };
        csi_modelled_driver_set_errors(self->world->driver, slow, G_N_ELEMENTS(slow));
        story_change_pod(self->world, "changed");
        node_world_run_for(self->world, SECONDS(3));
    }
    node_world_delete_pod(self->world, "p", FALSE);
    node_world_run_for(self->world, STOP_TIME + SECONDS(123));
    self->is_failed = node_world_pod(self->world, "p") != NULL;
}

static void
unattached(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->controller_capabilities &=
        (CsiControllerCapabilities)~CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME;
}

/* The volume needs no attachment, so that only the claim is waited for. */
PHRASE(wait_for_pending_claim)
{
    PodsStory *self = story;
    SidecarWorldOptions options = {.only = &kubelet_class, .seed = 7, .driver = unattached};

    self->world = world_new(&options);
    node_world_add_driver(self->world, FALSE, FALSE);
    node_world_add_unbound(self->world, "v");
    node_world_start(self->world);
    node_world_add_pod(self->world, "p", "a", "v");
    node_world_run_for(self->world, SECONDS(40));
    const PodWorker *worker = node_world_kubelet(self->world)->workers->pdata[0];
    self->is_failed = !pod_is_ready(node_world_pod(self->world, "p"));
    self->n_failed = worker->n_retries;
}

/* The wait that begins next. */
PHRASE(pods_bind_claim)
{
    PodsStory *self = story;
    if (self->world == NULL)
        wait_for_pending_claim(story, words, argument);
    const PodWorker *worker = node_world_kubelet(self->world)->workers->pdata[0];
    SimTime published = 0;

    node_world_bind(self->world, "v");
    while (worker->plan == NULL)
        node_world_run_for(self->world, 10 * SIM_MS);
    SimTime begun = sim_now(self->world->sim);
    node_world_run_for(self->world, SECONDS(2));
    world_count(self->world, "NodePublishVolume", &published, NULL);
    self->is_failed = !pod_is_ready(node_world_pod(self->world, "p"));
    self->waited = published - begun;
}

/* clang-format off */
static const Phrase manager_steps[] = {
    {"wait for attach and mount|mount",                           wait_for_mount,         0},
    {"ask for extra groups",                                      story_nothing,          0},
    {"wait for unmount of all pods",                              wait_for_unmount,       0},
    {"wait for attach and mount, repeated every \\d+ ms",         wait_for_pending_claim, 0},
    {"after a delay the claim phase becomes Bound",               pods_bind_claim,             0},
    {NULL,                                                        NULL,                   0},
};
/* clang-format on */

/* ---- The wait for volumes: then ---- */

PHRASE(then_error)
{
    PodsStory *self = story;

    if (self->is_failed != (strcmp(words[1], "True") == 0))
        case_fail(self->self, "the wait %s", self->is_failed ? "fails" : "succeeds");
}

PHRASE(then_n_mounted)
{
    PodsStory *self = story;
    const NodeVolume *volume = story_volume(self->world);
    unsigned n = 0;

    for (const PodMount *mount = volume == NULL ? NULL : volume->mounts; mount != NULL;
         mount = mount->next)
        n += mount->state == MOUNT_DONE;
    if (n != (unsigned)atoi(words[1]))
        case_fail(self->self, "%u mounted volumes", n);
}

PHRASE_OF(then_in_use, is_in_use)
{
    PodsStory *self = story;
    g_autofree char *in_use = node_world_in_use(self->world);

    if (strcmp(in_use, is_in_use ? UNIQUE_V : "") != 0)
        case_fail(self->self, "in use: %s", in_use);
}

PHRASE(then_not_mounted)
{
    PodsStory *self = story;

    if (self->n_published > 0)
        case_fail(self->self, "the volume was mounted");
}

PHRASE(then_waits_fail)
{
    PodsStory *self = story;

    if (self->n_failed < 2)
        case_fail(self->self, "%u waits failed", self->n_failed);
}

PHRASE(then_later_succeeds)
{
    PodsStory *self = story;

    if (self->is_failed || self->waited > SECONDS(atoi(words[1])))
        case_fail(self->self, "it does not succeed in time");
}

/* Groups are no part of the model: a volume's annotation adds none, neither to calls nor to pods.
 */
PHRASE(then_groups)
{
    PodsStory *self = story;

    if (words[1][0] != '\0' || self->n_groups > 0 || self->n_published != 1)
        case_fail(self->self, "groups are not modelled");
}

/* clang-format off */
static const Phrase manager_then[] = {
    {"error (True|False)",                                                  then_error,          0    },
    {"mounted volumes of the pod: (\\d+)",                                  then_n_mounted,      0    },
    {"volumes in use: contains the volume and no volume is missing",        then_in_use,         TRUE },
    {"volumes in use: mount did not happen",                                then_not_mounted,    0    },
    {"volumes in use: (?:empty|none|does not contain the volume).*",        then_in_use,         FALSE},
    {"extra groups = \\[(.*)\\]",                                           then_groups,         0    },
    {"the waits fail while the claim is Pending",                           then_waits_fail,     0    },
    {"a later wait within (\\d+) s succeeds",                               then_later_succeeds, 0    },
    {NULL,                                                                  NULL,                0    },
};
/* clang-format on */

void
story_kubelet_manager(Case *case_)
{
    const char *pod = case_string(case_, "given.pod");

    if (pod != NULL && g_str_has_prefix(pod, "five volumes"))
        story_kubelet_failures(case_);
    else
        pods_tell(case_, manager_steps, manager_then);
}
