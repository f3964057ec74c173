/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/csi/modelled/modelled-test.h"
#include "models/kubelet/kubelet-test.h"
#include "models/kubelet/volume-manager/volume-manager.h"
#include "tests/conformance/stories/story.h"
#include "tests/kubelet/stories.h"

#include <stdlib.h>
#include <string.h>

/* Stories of a kubelet that starts anew and finds directories of pods, told with a whole kubelet:
 * what the real tests write to a disk, pods leave there that ran before the kubelet died. */

typedef struct {
    Case *self;
    gboolean block, is_wanted, is_spoilt, set_up_fails;
    unsigned n_pods, n_volumes;
    const char *lost_plugin; /* interned: as the directory calls it; NULL: all plugins are there */
    World *world;
    unsigned n_tear_downs, n_set_ups; /* before the restart */
    GHashTable *staging;              /* name of a volume -> its path, both interned */
} ReconstructStory;

static unsigned
n_tear_downs(const ReconstructStory *self)
{
    return world_count(self->world, "NodeUnpublishVolume", NULL, NULL) +
           world_count(self->world, "NodeUnstageVolume", NULL, NULL);
}

static unsigned
n_set_ups(const ReconstructStory *self)
{
    return world_count(self->world, "NodePublishVolume", NULL, NULL);
}

/* ---- What is given ---- */

static gboolean
is_desired_pod(const ReconstructStory *self, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self->self, "given.desired"), i, item)
        if (g_strcmp0(json_string_value(item), name) == 0)
            return TRUE;
    return FALSE;
}

/* "failed": the one volume whose directory cannot be made sense of. */
PHRASE(give_failed)
{
    ReconstructStory *self = story;

    self->is_spoilt = TRUE;
    self->is_wanted = is_desired_pod(self, words[1]);
}

PHRASE(give_leftover)
{
    ((ReconstructStory *)story)->is_wanted = TRUE;
}

/* Directories of one volume: "pod1/volumes/fake-plugin/pvc-abcdef". Nobody wants them. */
PHRASE(give_disk)
{
    ReconstructStory *self = story;
    const json_t *item;
    size_t i;

    json_array_foreach(case_get(self->self, "given.disk"), i, item) {
        if (!json_is_string(item)) {
            case_fail(self->self, "disk: no path");
            continue;
        }
        g_auto(GStrv) parts = g_strsplit(json_string_value(item), "/", -1);
        if (g_strv_length(parts) == 4 && g_str_has_prefix(parts[2], "missing"))
            self->lost_plugin = g_intern_string(parts[2]);
        self->n_pods = (unsigned)i + 1;
    }
}

PHRASE(give_volumes)
{
    ReconstructStory *self = story;

    self->n_volumes = (unsigned)json_array_size(case_get(self->self, "given.volumes"));
    self->is_wanted = TRUE;
}

PHRASE(give_set_up)
{
    ReconstructStory *self = story;

    self->block = strstr(words[1], "block map") != NULL;
    self->set_up_fails = strcmp(words[2], "fails") == 0;
}

/* clang-format off */
static const Phrase given[] = {
    {"desired: \\[(\"[^\"]+\")?\\]",                              story_nothing, 0},
    {"failed: \\[\"([^\"]+)\"\\]",                                give_failed,   0},
    {"disk: one leftover volume of pod1uid, pod still desired",     give_leftover, 0},
    {"disk: \\[.*\\]",                                            give_disk,     0},
    {"volumes: \\[\"[^\"]+ uncertain attachability\".*\\]",        give_volumes,  0},
    {"node_status: volumesAttached lists only \\S+ with device path \\S+", story_nothing, 0},
    {"driver: (set-up|block map|mount) (fails|works|succeeds)",     give_set_up,   0},
    {NULL,                                                          NULL,          0},
};
/* clang-format on */

/* ---- Steps ---- */

static const char *const volume_names[] = {"v", "w", "x"};
static const char *const pod_names[] = {"p", "q", "r"};

static void
run_pods(ReconstructStory *self)
{
    unsigned n = MAX(MIN(MAX(self->n_pods, self->n_volumes), G_N_ELEMENTS(pod_names)), 1);

    if (self->is_spoilt)
        node_world_add_volume(self->world, "v", "local");
    else
        story_add_volume(self->world, self->block);
    for (unsigned i = 1; i < self->n_volumes && i < n; i++) {
        node_world_add_volume(self->world, volume_names[i], "csi");
        node_world_attach(self->world, volume_names[i], "a");
    }
    node_world_start(self->world);
    for (unsigned i = 0; i < n; i++)
        node_world_add_pod(self->world, pod_names[i], "a",
                           volume_names[i < self->n_volumes ? i : 0]);
    node_world_run_for(self->world, SECONDS(20));
    for (unsigned i = 0; i < n; i++)
        if (!pod_is_ready(node_world_pod(self->world, pod_names[i])))
            case_fail(self->self, "pod %s does not run", pod_names[i]);
}

/* As if a plugin that this kubelet does not have had made the directory. */
static void
lose_plugin(ReconstructStory *self, const KubeletDisk *disk)
{
    for (unsigned i = 0; i < disk->directories->len; i++) {
        VolumeDirectory *directory = disk->directories->pdata[i];
        g_auto(GStrv) parts = g_strsplit(directory->path, "/", -1);
        g_free(parts[2]);
        parts[2] = g_strdup(self->lost_plugin);
        g_autofree char *path = g_strjoinv("/", parts);
        directory->path = world_intern(self->world, path);
    }
}

/* The Node lists the first volume only. */
static gboolean
list_first(Object *node, const void *name)
{
    StringList *list = string_list_new((const char *const *)&name, 1);

    string_list_unref(NODE(node)->volumes_attached);
    NODE(node)->volumes_attached = list;
    return TRUE;
}

static void
crash(ReconstructStory *self)
{
    void **disk = node_world_kubelet(self->world)->base.disk;

    cluster_crash(self->world->cluster, "kubelet", "a");
    if (self->is_spoilt)
        volume_directories_spoil(*disk);
    if (self->lost_plugin != NULL)
        lose_plugin(self, *disk);
    if (self->n_volumes > 1)
        world_edit_status(self->world, KIND_NODE, "a", list_first,
                          world_intern(self->world, UNIQUE_V));
    for (unsigned i = 0; i < MAX(self->n_pods, 1) && !self->is_wanted; i++)
        node_world_delete_pod(self->world, pod_names[i], TRUE);
}

static void
note_paths(const ReconstructStory *self)
{
    const GPtrArray *volumes = node_world_kubelet(self->world)->volume_manager->volumes;

    for (unsigned i = 0; i < volumes->len; i++) {
        const NodeVolume *volume = volumes->pdata[i];
        g_hash_table_insert(self->staging, (void *)volume->name, (void *)volume->staging_path);
    }
}

static gboolean
has_read_disk(const Kubelet *kubelet)
{
    return kubelet != NULL && kubelet->volume_manager != NULL &&
           (kubelet->volume_manager->volumes->len > 0 || kubelet->volume_manager->has_unreadable);
}

/* The pods run, then the kubelet starts anew; the story tells what it finds. */
PHRASE_OF(reconstruct, at_once)
{
    const CsiModelledError failure = {
        .method = CSI_NODE_PUBLISH_VOLUME, .code = CSI_INTERNAL, .probability = 1};
    ReconstructStory *self = story;
    SidecarWorldOptions options = {.only = &kubelet_class, .seed = 7};

    self->world = world_new(&options);
    run_pods(self);
    if (self->set_up_fails)
        csi_modelled_driver_set_errors(self->world->driver, &failure, 1);
    note_paths(self);
    crash(self);
    self->n_tear_downs = n_tear_downs(self);
    self->n_set_ups = n_set_ups(self);
    cluster_restart(self->world->cluster, "kubelet", "a");
    for (unsigned i = 0; at_once && i < 1000 && !has_read_disk(node_world_kubelet(self->world));
         i++)
        node_world_run_for(self->world, SIM_MS);
    if (!at_once)
        node_world_run_for(self->world, self->is_spoilt ? SECONDS(20) : SECONDS(5));
}

/* clang-format off */
static const Phrase steps[] = {
    {"clean orphans|reconstruct",                                         reconstruct,   FALSE},
    {"reconstruct at start-up",                                           reconstruct,   TRUE},
    {"volume marked attached|populator finished|device paths known|reconcile once", story_nothing, 0},
    {"reconcile: read the node status",                                   story_nothing, 0},
    {NULL,                                                                NULL,          0},
};
/* clang-format on */

/* ---- Then ---- */

static const NodeVolume *
only_volume(const ReconstructStory *self)
{
    const NodeVolume *volume = story_volume(self->world);

    if (volume == NULL || volume->mounts == NULL)
        case_fail(self->self, "the kubelet knows no mounted volume");
    return volume == NULL || volume->mounts == NULL ? NULL : volume;
}

PHRASE(then_unmounts)
{
    ReconstructStory *self = story;

    story_expect_count(self->self, "unmounts",
                       node_world_kubelet(self->world)->volume_manager->n_cleaned_up, words[1]);
}

PHRASE(then_uncertain)
{
    ReconstructStory *self = story;
    const NodeVolume *volume = only_volume(self);

    if (volume != NULL &&
        (volume->mounts->state != MOUNT_UNCERTAIN || volume->mounts->next != NULL))
        case_fail(self->self, "the mount is not uncertain");
    if (world_count(self->world, "NodePublishVolume INTERNAL", NULL, NULL) == 0)
        case_fail(self->self, "the driver was not asked");
}

PHRASE(then_certain)
{
    ReconstructStory *self = story;
    const NodeVolume *volume = only_volume(self);

    if (volume != NULL && volume->mounts->state != MOUNT_DONE)
        case_fail(self->self, "the mount is not certain");
}

PHRASE_OF(then_n_mounts, state)
{
    ReconstructStory *self = story;
    const GPtrArray *volumes = node_world_kubelet(self->world)->volume_manager->volumes;
    unsigned n = 0;

    for (unsigned i = 0; i < volumes->len; i++)
        for (const PodMount *mount = ((NodeVolume *)volumes->pdata[i])->mounts; mount != NULL;
             mount = mount->next)
            n += mount->state == (MountState)state;
    story_expect_count(self->self, "mounts", n, words[1]);
}

/* "pod1": the first one. */
PHRASE(then_rebuilt)
{
    ReconstructStory *self = story;
    const NodeVolume *volume = only_volume(self);
    unsigned n = 0;

    for (const PodMount *mount = volume == NULL ? NULL : volume->mounts; mount != NULL;
         mount = mount->next)
        n += strcmp(mount->worker->key->name, pod_names[0]) == 0 && mount->rebuilt;
    if (n != 1)
        case_fail(self->self, "%u rebuilt mounts of the pod", n);
}

/* CSI volumes have no device path; the Node's list says the same of them: whether they are
 * attached.
 */
PHRASE(then_asks_node)
{
    ReconstructStory *self = story;
    const NodeVolume *volume = only_volume(self);

    if (volume != NULL && (!volume->attachability_uncertain ||
                           !node_world_kubelet(self->world)->volume_manager->awaits_node))
        case_fail(self->self, "the Node is not asked");
}

PHRASE(then_nothing_known)
{
    ReconstructStory *self = story;

    if (node_world_kubelet(self->world)->volume_manager->volumes->len > 0)
        case_fail(self->self, "the kubelet knows a volume");
}

PHRASE(then_failed)
{
    ReconstructStory *self = story;
    const GPtrArray *disk = kubelet_disk(node_world_kubelet(self->world))->directories;
    unsigned n = 0;

    for (unsigned i = 0; i < disk->len; i++)
        n += ((VolumeDirectory *)disk->pdata[i])->failed;
    if (n != 1)
        case_fail(self->self, "%u directories have failed", n);
}

/* "fake-device1": the first one */
PHRASE_OF(then_attachable, expected)
{
    ReconstructStory *self = story;
    const char *name = volume_names[MIN(atoi(words[1]), (int)G_N_ELEMENTS(volume_names)) - 1];
    g_autofree char *unique = g_strconcat("kubernetes.io/csi/" WORLD_DRIVER "^", name, NULL);
    const NodeVolume *volume =
        node_volume_find(node_world_kubelet(self->world), world_intern(self->world, unique));

    if (volume == NULL || volume->attachability_uncertain || volume->attachable != expected)
        case_fail(self->self, "%s: %s", name,
                  volume == NULL                    ? "not known"
                  : volume->attachability_uncertain ? "uncertain"
                  : volume->attachable              ? "attachable"
                                                    : "not attachable");
}

PHRASE(then_paths_kept)
{
    ReconstructStory *self = story;
    const GPtrArray *volumes = node_world_kubelet(self->world)->volume_manager->volumes;

    for (unsigned i = 0; i < volumes->len; i++) {
        const NodeVolume *volume = volumes->pdata[i];
        if (g_strcmp0(volume->staging_path, g_hash_table_lookup(self->staging, volume->name)) != 0)
            case_fail(self->self, "%s: another path", volume->name);
    }
}

PHRASE(then_no_tear_down)
{
    ReconstructStory *self = story;
    unsigned n = n_tear_downs(self) - self->n_tear_downs;

    if (n > 0)
        case_fail(self->self, "%u tear-downs", n);
}

PHRASE(then_set_ups)
{
    ReconstructStory *self = story;

    story_expect_count(self->self, "set-ups", n_set_ups(self) - self->n_set_ups, words[1]);
}

/* clang-format off */
static const Phrase then[] = {
    {"(\\d+) unmounts?",                                             then_unmounts,     0},
    {"still uncertain(?: \\(0 certain, 1 possible mount\\))?",       then_uncertain,    0},
    {"(?:now )?(?:mounted|certain)(?: \\(1 certain.*\\)| after one reconcile)?", then_certain, 0},
    {"(\\d+) set-up calls?",                                         then_set_ups,      0},
    {"(\\d+) certain mounts?",                                       then_n_mounts,     MOUNT_DONE},
    {"(\\d+) uncertain mounts?",                                     then_n_mounts,     MOUNT_UNCERTAIN},
    {"one possibly mounted volume for pod1, flagged as reconstructed", then_rebuilt,     0},
    {"device path must be fetched from the node status for .*",      then_asks_node,    0},
    {"nothing in the actual state",                                  then_nothing_known, 0},
    {"\\S+ listed as failed reconstruction",                         then_failed,       0},
    {"fake-device(\\d+): attachable",                                then_attachable,   TRUE},
    {"fake-device(\\d+): not attachable",                            then_attachable,   FALSE},
    {"device path \\S+",                                             story_nothing,     0}, /* CSI volumes have none */
    {"(?:device mount path kept as|keeps its) reconstructed(?: device path)?", then_paths_kept, 0},
    {"no tear-down calls",                                           then_no_tear_down, 0},
    {NULL,                                                           NULL,              0},
};
/* clang-format on */

void
story_kubelet_reconstruct(Case *case_)
{
    ReconstructStory self = {.self = case_, .staging = g_hash_table_new(NULL, NULL)};

    story_tell(case_, "given", given, &self);
    story_tell(case_, "steps", steps, &self);
    if (self.world != NULL)
        story_tell(case_, "then", then, &self);
    else
        case_fail(case_, "nothing was reconstructed");
    g_clear_pointer(&self.world, world_free);
    g_hash_table_unref(self.staging);
}
