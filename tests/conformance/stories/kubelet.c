/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/field.h"
#include "models/apiserver/apiserver-test.h"
#include "models/csi/modelled/modelled-test.h"
#include "models/kubelet/volume-manager/volume-manager.h"
#include "tests/conformance/stories/story.h"
#include "tests/kubelet/stories.h"

#include <stdlib.h>
#include <string.h>

/* Stories of the kubelet's reconciler, told with a whole kubelet: pod "p" comes and goes, where the
 * real tests change desired state by hand. */

typedef struct {
    unsigned n_attached, n_waits, n_staged, n_published, n_unpublished, n_unstaged, n_detached;
    gboolean is_way_back;
} KubeletSteps;

typedef struct {
    Case *self;
    gboolean block, kubelet_attaches, unlisted, republishes, cannot_grow;
    CsiModelledError errors[2];
    unsigned n_errors;
    gboolean on_remount; /* the errors come with the first remount */
    int64_t volume_bytes, status_bytes;
    World *world;
    KubeletSteps steps;
    MountState device, mount;
    gboolean was_due;
} KubeletStory;

static const char *const mount_words[] = {"VolumeNotMounted", "VolumeMountUncertain",
                                          "VolumeMounted"};
static const char *const device_words[] = {"DeviceNotMounted", "DeviceMountUncertain",
                                           "DeviceGloballyMounted"};

/* ---- What is given ---- */

PHRASE_OF(kubelet_set_flag, offset)
{
    *(gboolean *)((char *)story + offset) = strcmp(words[1], "true") == 0;
}

PHRASE(give_mode)
{
    ((KubeletStory *)story)->block = strcmp(words[1], "Block") == 0;
}

PHRASE(give_controller_attach)
{
    ((KubeletStory *)story)->kubelet_attaches = strcmp(words[1], "false") == 0;
}

PHRASE(give_unlisted)
{
    ((KubeletStory *)story)->unlisted = TRUE;
}

static void
add_error(KubeletStory *self, const char *word, CsiMethod method, double count)
{
    CsiCode code = strcmp(word, "timeout") == 0 ? CSI_DEADLINE_EXCEEDED : CSI_INTERNAL;

    self->errors[self->n_errors++] = (CsiModelledError){
        .method = method, .code = code, .probability = 1, .count = (unsigned)count};
}

/* "timeout, then failure on set-up": the last one stays. */
PHRASE(give_failures)
{
    KubeletStory *self = story;
    gboolean is_device = strstr(words[3], "device") != NULL ||
                         (strstr(words[3], "remount") != NULL &&
                          strstr(case_string(self->self, "category"), "Device") != NULL);
    CsiMethod method = is_device ? CSI_NODE_STAGE_VOLUME : CSI_NODE_PUBLISH_VOLUME;

    self->on_remount = strcmp(words[1], "success") == 0;
    if (words[1][0] != '\0' && !self->on_remount)
        add_error(self, words[1], method, 1);
    add_error(self, words[2], method, 0);
}

static int64_t
kubelet_bytes_of(const KubeletStory *self, const char *text)
{
    int64_t bytes = 0;

    if (!quantity_parse(text, &bytes, NULL, NULL))
        case_fail(self->self, "%s is no size", text);
    return bytes;
}

PHRASE_OF(give_size, offset)
{
    *(int64_t *)((char *)story + offset) = kubelet_bytes_of(story, words[1]);
}

PHRASE(give_failing_growth)
{
    KubeletStory *self = story;

    self->volume_bytes = kubelet_bytes_of(self, words[1]);
    self->status_bytes = kubelet_bytes_of(self, words[2]);
    add_error(self, "failure", CSI_NODE_EXPAND_VOLUME, 0);
}

#define SIZE(member) give_size, offsetof(KubeletStory, member)
/* clang-format off */
static const Phrase given[] = {
    {"attachable: true",                                         story_nothing,          0},
    {"volume_mode: (Filesystem|Block)",                          give_mode,              0},
    {"controller_attach: (true|false)",                          give_controller_attach, 0},
    {"node_status: volume listed in volumesAttached",            story_nothing,          0},
    {"node_status: .*(?:not listed|missing|empty|nothing).*",    give_unlisted,          0},
    {"remount_supported: (true|false)",                          kubelet_set_flag,               offsetof(KubeletStory, republishes)},
    {"driver: (?:(timeout|failure|success), then )?(timeout|failure) on (the device mount|set-up|a remount)", give_failures, 0},
    {"driver: mount works, file system growth fails \\((\\w+) volume, claim status (\\w+)\\)", give_failing_growth, 0},
    {"volume_size: (\\w+)",                                      SIZE(volume_bytes)        },
    {"claim_request: (\\w+)",                                    story_nothing, 0}, /* the node looks at the status */
    {"claim_status: (\\w+)",                                     SIZE(status_bytes)        },
    {NULL,                                                       NULL,                   0},
};
/* clang-format on */

/* ---- Steps ---- */

/* What the kubelet does, by the rules of its plans: a plugin that is no CSI driver leaves no other
 * trace. It waits for nothing, so its wait for the attachment is part of the mount of its device.
 */
static void
count_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    KubeletStory *self = data;
    KubeletSteps *steps = &self->steps;

    (void)component, (void)plan;
    if (rule == NULL)
        return;
    if (!self->kubelet_attaches)
        steps->n_waits += g_str_equal(rule, "KVM-41.4");
    if (!self->kubelet_attaches || !g_str_equal(step, "wait"))
        return;
    steps->n_attached += g_str_equal(rule, "KVM-69") && !steps->is_way_back;
    steps->n_detached += g_str_equal(rule, "KVM-69") && steps->is_way_back;
    steps->n_staged += g_str_equal(rule, "KVM-42");
    steps->n_published += g_str_equal(rule, "KVM-43");
    steps->n_unpublished += g_str_equal(rule, "KVM-47");
    steps->n_unstaged += g_str_equal(rule, "KVM-48");
    steps->n_waits = steps->n_staged;
}

static void
count_calls(KubeletStory *self)
{
    KubeletSteps *steps = &self->steps;

    if (self->kubelet_attaches)
        return;
    steps->n_attached = world_count(self->world, "CREATE VolumeAttachment", NULL, NULL) +
                        world_count(self->world, "ControllerPublishVolume", NULL, NULL);
    steps->n_detached = world_count(self->world, "DELETE VolumeAttachment", NULL, NULL) +
                        world_count(self->world, "ControllerUnpublishVolume", NULL, NULL);
    steps->n_staged = world_count(self->world, "NodeStageVolume", NULL, NULL);
    steps->n_published = world_count(self->world, "NodePublishVolume", NULL, NULL);
    steps->n_unpublished = world_count(self->world, "NodeUnpublishVolume", NULL, NULL);
    steps->n_unstaged = world_count(self->world, "NodeUnstageVolume", NULL, NULL);
}

/* So slow that something may happen in between. */
#define UNSTAGE_TIME SECONDS(5)

static void
set_driver(World *world, CsiModelledOptions *options)
{
    const KubeletStory *self = world->options.driver_arg;

    options->latency[CSI_NODE_UNSTAGE_VOLUME] = world_constant(world, UNSTAGE_TIME);
    if (self->cannot_grow)
        options->node_capabilities &= (CsiNodeCapabilities)~CSI_NODE_EXPAND_VOLUME_CAPABILITY;
}

static gboolean
kubelet_set_capacity(Object *object, const void *bytes)
{
    CLAIM(object)->capacity_bytes = *(const int64_t *)bytes;
    return TRUE;
}

/* The back end's volume first, then the PersistentVolume. */
static void
grow_volume(KubeletStory *self, int64_t bytes)
{
    const CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER,
                                      .type = self->block ? CSI_ACCESS_BLOCK : CSI_ACCESS_MOUNT};
    const CsiRequest request = {.method = CSI_CONTROLLER_EXPAND_VOLUME,
                                .volume_id = world_intern(self->world, "v"),
                                .required_bytes = bytes,
                                .capabilities = &capability,
                                .n_capabilities = 1};

    csi_driver_call(csi_modelled_driver_base(self->world->driver), &request, NULL, NULL);
    story_grow_volume(self->world, "v", bytes);
}

static void
set_sizes(KubeletStory *self)
{
    if (self->volume_bytes > 0)
        grow_volume(self, self->volume_bytes);
    if (self->status_bytes > 0)
        world_edit_status(self->world, KIND_CLAIM, "v", kubelet_set_capacity, &self->status_bytes);
}

static void
set_errors(KubeletStory *self)
{
    csi_modelled_driver_set_errors(self->world->driver, self->errors, self->n_errors);
}

/* The end of the title tells the driver's answer to a growth. */
static void
set_growth_errors(KubeletStory *self)
{
    const char *title = case_string(self->self, "title");

    if (self->n_errors > 0 || self->volume_bytes == 0 || title == NULL)
        return;
    if (g_str_has_suffix(title, "in use"))
        self->errors[self->n_errors++] = (CsiModelledError){
            .method = CSI_NODE_EXPAND_VOLUME, .code = CSI_FAILED_PRECONDITION, .probability = 1};
    else if (strstr(title, "support") != NULL)
        self->cannot_grow = TRUE;
    else if (!g_str_has_suffix(title, "driver expands"))
        case_fail(self->self, "not understood: %s", title);
}

static void
kubelet_begin(KubeletStory *self)
{
    SidecarWorldOptions options = {
        .only = &kubelet_class, .seed = 7, .driver = set_driver, .driver_arg = self};

    set_growth_errors(self);
    if (self->kubelet_attaches)
        options.flag = "enableControllerAttachDetach", options.value = "false";
    self->world = world_new(&options);
    cluster_observe_plans(self->world->cluster, count_step, self);
    if (self->kubelet_attaches) {
        node_world_add_other_volume(self->world, "v", self->block ? "iscsi" : "flexVolume",
                                    self->block);
    } else {
        node_world_add_driver(self->world, TRUE, self->republishes);
        if (!self->unlisted)
            story_add_volume(self->world, self->block);
        else if (self->block)
            node_world_add_block_volume(self->world, "v");
        else
            node_world_add_volume(self->world, "v", "csi");
    }
    set_sizes(self);
    if (!self->on_remount)
        set_errors(self);
    node_world_start(self->world);
}

PHRASE(desire)
{
    KubeletStory *self = story;

    kubelet_begin(self);
    node_world_add_pod(self->world, "p", "a", "v");
}

/* The Node's status cannot be written, so its volumesInUse never has the volume. */
static ApiCode
refuse_status(void *data, const ApiRequest *request, GString *message)
{
    (void)data;
    if (request->verb != API_PATCH_STATUS || request->key->kind != KIND_NODE)
        return API_OK;
    g_string_assign(message, "refused by the story");
    return API_FORBIDDEN;
}

PHRASE(desire_unreported)
{
    KubeletStory *self = story;

    kubelet_begin(self);
    api_server_set_fault(self->world->api, refuse_status, self);
    node_world_add_pod(self->world, "p", "a", "v");
}

PHRASE(kubelet_run)
{
    KubeletStory *self = story;

    if (self->world == NULL)
        kubelet_begin(self);
    node_world_run_for(self->world, self->steps.is_way_back ? UNSTAGE_TIME / 2 : SECONDS(20));
}

PHRASE(run_until_mounted)
{
    KubeletStory *self = story;

    kubelet_run(story, words, argument);
    if (!pod_is_ready(node_world_pod(self->world, "p")))
        case_fail(self->self, "the volume is not mounted");
}

PHRASE(undesire)
{
    KubeletStory *self = story;

    if (self->world == NULL)
        desire(story, words, argument);
    count_calls(self);
    self->steps.is_way_back = TRUE;
    if (node_world_pod(self->world, "p") == NULL)
        case_fail(self->self, "nothing is desired");
    else
        node_world_delete_pod(self->world, "p", FALSE);
}

PHRASE(wait_until_detached)
{
    KubeletStory *self = story;

    if (self->world == NULL)
        desire(story, words, argument);
    node_world_run_for(self->world, 5 * SIM_MINUTE);
    g_autofree char *in_use = node_world_in_use(self->world);
    if (in_use[0] != '\0')
        case_fail(self->self, "still in use: %s", in_use);
}

/* KVM-52: the volume is published anew from time to time. */
PHRASE(remount)
{
    KubeletStory *self = story;

    if (self->world == NULL)
        desire(story, words, argument);
    if (!pod_is_ready(node_world_pod(self->world, "p")))
        case_fail(self->self, "the first mount has failed");
    set_errors(self);
    node_world_run_for(self->world, SECONDS(100));
}

PHRASE(kubelet_look)
{
    KubeletStory *self = story;

    if (self->world == NULL)
        desire(story, words, argument);
    const NodeVolume *volume = story_volume(self->world);
    if (volume == NULL || volume->mounts == NULL) {
        case_fail(self->self, "the node has no such volume");
        return;
    }
    self->device = volume->device;
    self->mount = volume->mounts->state;
}

PHRASE(desire_again)
{
    KubeletStory *self = story;

    if (self->world == NULL)
        desire(story, words, argument);
    if (csi_driver_in_flight(csi_modelled_driver_base(self->world->driver)) != 1)
        case_fail(self->self, "the device is not being unmounted");
    node_world_add_pod(self->world, "q", "a", "v");
    self->steps.is_way_back = FALSE;
}

PHRASE(resize)
{
    KubeletStory *self = story;

    if (self->world == NULL)
        desire(story, words, argument);
    grow_volume(self, kubelet_bytes_of(self, words[1]));
    story_change_pod(self->world, "changed");
}

/* The next sync of the pod finds it. */
PHRASE(ask_for_resize)
{
    KubeletStory *self = story;

    if (self->world == NULL)
        desire(story, words, argument);
    for (unsigned i = 0; i < 2000 && !self->was_due; i++) {
        node_world_run_for(self->world, SIM_MS);
        const NodeVolume *volume = story_volume(self->world);
        self->was_due = volume != NULL && volume_expansion_is_due(volume);
    }
}

/* clang-format off */
static const Phrase steps[] = {
    {"desire (?:one pod/volume|the volume)",          desire,              0},
    {"desire one pod/volume, not reported in use",    desire_unreported,   0},
    {"(?:mark it )?reported in use",                  story_nothing,       0},
    {"run(?: again| until the device is mounted)?",   kubelet_run,                 0},
    {"run until mounted",                             run_until_mounted,   0},
    {"run(?: the reconciler)? with empty caches",     kubelet_run,                 0},
    {"stop",                                          story_nothing,       0},
    {"remove it from the desired state",              undesire,            0},
    {"wait until detached",                           wait_until_detached, 0},
    {"request a remount after the first success",     remount,             0},
    {"check the (?:device|pod mount) state",          kubelet_look,                0},
    {"during the device unmount desire it again",     desire_again,        0},
    {"set desired volume size to (\\w+)",             resize,              0},
    {"ask whether the pod is in the volume with the new size", ask_for_resize, 0},
    {NULL,                                            NULL,                0},
};
/* clang-format on */

/* ---- Then ---- */

static void
expect_count(KubeletStory *self, const char *what, unsigned n, const char *text)
{
    if (n != (unsigned)atoi(text))
        case_fail(self->self, "%s: %u", what, n);
}

PHRASE_OF(then_calls, offset)
{
    KubeletStory *self = story;

    count_calls(self);
    expect_count(self, words[1], *(unsigned *)((char *)&self->steps + offset), words[2]);
}

/* @offset: of the state that was looked at. */
PHRASE_OF(then_state, offset)
{
    KubeletStory *self = story;
    MountState state = *(MountState *)((char *)self + offset);
    const char *found =
        offset == offsetof(KubeletStory, device) ? device_words[state] : mount_words[state];

    if (strcmp(words[1], found) != 0)
        case_fail(self->self, "the state is %s", found);
}

PHRASE(then_no_back_off)
{
    KubeletStory *self = story;
    const NodeVolume *volume = story_volume(self->world);

    if (volume == NULL || volume->n_desired == 0 || volume->operations != NULL)
        case_fail(self->self, "not desired, or a failure is remembered");
}

PHRASE(then_due)
{
    KubeletStory *self = story;

    if (self->was_due != argument)
        case_fail(self->self, "resize-required: %s", self->was_due ? "yes" : "no");
}

PHRASE(then_grown)
{
    KubeletStory *self = story;
    const NodeVolume *volume = story_volume(self->world);

    if (volume == NULL || volume->mounts == NULL || volume_expansion_is_due(volume) ||
        volume->mounts->state != MOUNT_DONE)
        case_fail(self->self, "it has not grown");
}

PHRASE(then_mounted_again)
{
    KubeletStory *self = story;
    const Pod *pod = node_world_pod(self->world, "q");

    if (pod == NULL || !pod_is_ready(pod) ||
        world_count(self->world, "NodeStageVolume", NULL, NULL) != 2)
        case_fail(self->self, "it is not mounted again");
}

/* CSI volumes have no device path: what counts is that the wait finds the attachment. */
PHRASE(then_finds_attachment)
{
    KubeletStory *self = story;
    g_autofree char *in_use = node_world_in_use(self->world);

    if (self->steps.n_waits != 2 || strcmp(in_use, UNIQUE_V) != 0 ||
        world_count(self->world, "GET VolumeAttachment 404", NULL, NULL) > 0)
        case_fail(self->self, "%u waits, in use: %s", self->steps.n_waits, in_use);
}

#define CALLS(member) then_calls, offsetof(KubeletSteps, member)
/* clang-format off */
static const Phrase then[] = {
    {"driver calls",                                           story_nothing,         0},
    {"(attach) (\\d+)",                                        CALLS(n_attached)       },
    {"(wait_for_attach) (\\d+)",                               CALLS(n_waits)          },
    {"(mount_device) (\\d+)",                                  CALLS(n_staged)         },
    {"(set_up|map_pod_device) (\\d+)",                         CALLS(n_published)      },
    {"(tear_down) (\\d+)",                                     CALLS(n_unpublished)    },
    {"(tear_down_device|unmap_device|unmount_device) (\\d+)",  CALLS(n_unstaged)       },
    {"(detach) (\\d+)",                                        CALLS(n_detached)       },
    {"((?:unmount|tear down) device calls|device unmount calls): (\\d+)", CALLS(n_unstaged)},
    {"(pod unmount calls): (\\d+)",                            CALLS(n_unpublished)    },
    {"device state: (\\w+)",                                   then_state,            offsetof(KubeletStory, device)},
    {"mount state: (\\w+)",                                    then_state,            offsetof(KubeletStory, mount)},
    {"no backoff is recorded: the operation may be tried again at once", then_no_back_off, 0},
    {"answer is resize-required",                              then_due,              TRUE},
    {"no resize-required answer(?:: an in-use failure was remembered)?", then_due,    FALSE},
    {"after the run the pod is in the volume with the new size and no error", then_grown, 0},
    {"the following wait-for-attach still gets the device path from the node status \\(not an empty one\\)", then_finds_attachment, 0},
    {"(?:the )?volume is mounted again",                       then_mounted_again,    0},
    {NULL,                                                     NULL,                  0},
};
/* clang-format on */

void
story_kubelet_reconciler(Case *case_)
{
    KubeletStory self = {.self = case_};

    story_tell(case_, "given", given, &self);
    story_tell(case_, "steps", steps, &self);
    if (self.world == NULL) {
        case_fail(case_, "nothing was run");
        return;
    }
    node_world_run_for(self.world, SECONDS(30));
    story_tell(case_, "then", then, &self);
    world_free(self.world);
}
