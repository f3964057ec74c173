/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/migration/migration.h"
#include "models/apiserver/apiserver-test.h"
#include "models/attach-detach-controller/controller.h"
#include "models/volume/plugins.h"
#include "tests/attach-detach-controller/attach-world.h"
#include "tests/conformance/stories/story.h"

#include <stdlib.h>
#include <string.h>

/* Stories of the attach/detach controller's start, of its populator and of the status of nodes,
 * told with the whole controller: see attach-detach.c. */

typedef struct {
    Case *self;
    StorageWorld world;
    gboolean has_begun;
    const char *node; /* interned; of a dangling attachment */
    gboolean was_attached;
    AttachState state_at_start;
    gboolean has_in_tree_name;  /* ... and whether the volume was known by its in-tree name */
    unsigned n_before, n_after; /* new pods of a restart */
    unsigned n_attach, n_detach;
    gboolean is_desired[4]; /* after each step */
    unsigned n_desired, n_compared;
    /* Patches of nodes: */
    gboolean first_patch_fails;
    const char *only_node; /* interned: no patch of another one succeeds; NULL: all do */
    GPtrArray *patched;    /* interned names: of nodes, in the order of their first patches */
} AttachStartsStory;

static ApiCode
node_is_patched(void *data, const ApiRequest *request, GString *message)
{
    AttachStartsStory *self = data;
    const char *name = request->key->name;
    gboolean fails = self->only_node != NULL && name != self->only_node;

    if (request->verb != API_PATCH_STATUS || request->key->kind != KIND_NODE)
        return API_OK;
    fails = fails || (self->first_patch_fails && self->patched->len == 0);
    if (!g_ptr_array_find(self->patched, name, NULL))
        g_ptr_array_add(self->patched, (void *)name);
    if (!fails)
        return API_OK;
    g_string_assign(message, "refused by the story");
    return API_FORBIDDEN;
}

static void
attach_starts_begin(AttachStartsStory *self)
{
    if (self->has_begun)
        return;
    storage_world_init(&self->world,
                       &(StorageWorldOptions){.only = &attach_detach_controller_class});
    api_server_set_fault(self->world.api, node_is_patched, self);
    self->has_begun = TRUE;
}

/* Everything is attached at once. */
static void
attach_starts_settle(AttachStartsStory *self, SimTime time)
{
    go_on(&self->world, 2 * SIM_SECOND);
    attacher_attaches_all(&self->world);
    go_on(&self->world, time);
    const char *log = storage_world_log(&self->world);
    self->n_attach += count(log, "POST va/");
    self->n_detach += count(log, "DELETE va/");
}

static void
note_desired(AttachStartsStory *self)
{
    if (self->n_desired < G_N_ELEMENTS(self->is_desired))
        self->is_desired[self->n_desired++] = is_desired(&self->world, "vol-1", "node-1");
}

/* ---- What is given ---- */

PHRASE_OF(give_number, offset)
{
    *(unsigned *)((char *)story + offset) = (unsigned)atoi(words[1]);
}

PHRASE(give_attachment)
{
    ((AttachStartsStory *)story)->node = g_intern_string(words[1]);
    ((AttachStartsStory *)story)->was_attached = strcmp(words[2], "true") == 0;
}

PHRASE(give_failing_patch)
{
    ((AttachStartsStory *)story)->first_patch_fails = TRUE;
}

PHRASE(give_migrated)
{
    ((AttachStartsStory *)story)->node = "node-1";
    ((AttachStartsStory *)story)->was_attached = strcmp(words[1], "true") == 0;
}

/* clang-format off */
static const Phrase given[] = {
    {"attachment: \\w+ for (\\S+), status attached (true|false)",  give_attachment, 0},
    {"attachment: \\w+ attached (true|false)",                     give_migrated,   0},
    {"node: \\S+ known to the desired state",                      story_nothing,   0},
    {"node: no volumesAttached entry",                             story_nothing,   0},
    {"nodes: 5 nodes with status.volumesAttached and some volumesInUse", story_nothing, 0},
    {"pods: 5 running pods on mynode sharing one disk",            story_nothing,   0},
    {"pod: none|volume: .*|note: .*|nodes: \\[.*\\]",              story_nothing,   0},
    {"pod: running pod on \\S+ with one attachable volume",        story_nothing,   0},
    {"nodes: 5 nodes, each with a stale attached volume in its status", story_nothing, 0},
    {"pods: 5 running pods sharing one disk on mynode",            story_nothing,   0},
    {"new_pods_between_actual_and_desired_population: (\\d+)",     give_number,     offsetof(AttachStartsStory, n_before)},
    {"new_pods_after_desired_population: (\\d+)",                  give_number,     offsetof(AttachStartsStory, n_after)},
    {"first_patch: fails",                                         give_failing_patch, 0},
    {"driver: attachable, later not attachable",                   story_nothing,   0},
    {"pod: running pod with an inline CSI volume",                 story_nothing,   0}, /* CSI's are never attached: a claim's */
    {"attached: \\{.*\\}|both marked as reported attached: true",  story_nothing,   0},
    {NULL,                                                         NULL,            0},
};
/* clang-format on */

/* ---- A restart ---- */

#define IN_TREE_NAME "kubernetes.io/gce-pd/disk"

/* MIG-50: what a PersistentVolume of gcePersistentDisk is for all components. */
static void
create_migrated(StorageWorld *world)
{
    Volume *volume = storage_world_volume(world, "v", 1, "fast");
    VolumeSource origin = {.refs = REF_COUNT_ONE,
                           .plugin = word(world, "gcePersistentDisk"),
                           .handle = word(world, "disk"),
                           .in_tree = in_tree_plugin_find("kubernetes.io/gce-pd")};
    VolumeSource source = {.refs = REF_COUNT_ONE,
                           .plugin = word(world, "csi"),
                           .driver = word(world, DRIVER),
                           .handle = word(world, "vol-1"),
                           .in_tree = origin.in_tree};

    source.origin = volume_source_new(&origin);
    volume_source_unref(volume->source);
    volume->source = volume_source_new(&source);
    storage_world_create(world, volume);
}

PHRASE(dangle)
{
    AttachStartsStory *self = story;

    if (self->node == NULL) {
        case_fail(self->self, "no attachment is given");
        return;
    }
    attach_starts_begin(self);
    ObjectKey *va = volume_attachment_key(self->world.objects, word(&self->world, DRIVER),
                                          word(&self->world, "vol-1"), self->node);
    g_autofree char *name = g_strconcat("va/", va->name, NULL);
    create_node(&self->world, self->node, NULL, NULL);
    if (case_get(self->self, "given.node") != NULL)
        create_migrated(&self->world);
    else
        create_bound(&self->world, ACCESS_RWO);
    import_attachment(&self->world, name, self->node, self->was_attached);
    storage_world_start(&self->world);
    go_on(&self->world, SIM_SECOND);
    const AttachPair *pair = pair_of(&self->world, "vol-1", self->node);
    self->state_at_start = pair == NULL ? ADC_DETACHED : pair->state;
    self->has_in_tree_name = g_hash_table_contains(controller_of(&self->world)->volumes_by_name,
                                                   word(&self->world, IN_TREE_NAME));
    /* The real tests' informers tell of the Node after that. */
    kubelet_uses(&self->world, self->node, UNIQUE("another"));
    go_on(&self->world, SIM_MINUTE);
    const char *log = storage_world_log(&self->world);
    self->n_attach = count(log, "POST va/");
    self->n_detach = count(log, "DELETE va/");
}

/* Five nodes with a volume each that nobody wants any more, five pods with one volume on another
 * node. */
PHRASE(start_anew)
{
    static const char *const shared[] = {"shared", NULL};
    AttachStartsStory *self = story;

    attach_starts_begin(self);
    for (unsigned i = 0; i < 5; i++) {
        g_autofree char *node = g_strdup_printf("node-%u", i);
        g_autofree char *stale = g_strdup_printf("kubernetes.io/csi/" DRIVER "^stale-%u", i);
        create_node(&self->world, node, stale, NULL);
    }
    create_node(&self->world, "mynode", NULL, NULL);
    create_claims(&self->world, shared, ACCESS_RWO);
    for (unsigned i = 0; i < 5; i++) {
        g_autofree char *pod = g_strdup_printf("running-%u", i);
        pod_with_claim(&self->world, pod, "shared", "mynode");
    }
}

/* Every other node says that it uses its volume. */
PHRASE(populate_actual)
{
    AttachStartsStory *self = story;

    start_anew(story, words, argument);
    for (unsigned i = 0; i < 5; i += 2) {
        g_autofree char *node = g_strdup_printf("node-%u", i);
        g_autofree char *stale = g_strdup_printf("kubernetes.io/csi/" DRIVER "^stale-%u", i);
        kubelet_uses(&self->world, node, stale);
    }
}

PHRASE(populate_desired)
{
    AttachStartsStory *self = story;

    storage_world_start(&self->world);
    go_on(&self->world, SIM_MS); /* before the reconciler's first pass */
}

/* New pods, each with a volume of its own, each on another node. */
PHRASE_OF(attach_starts_add_pods, is_second)
{
    AttachStartsStory *self = story;
    unsigned n = is_second ? self->n_after : self->n_before;

    if (!self->has_begun)
        start_anew(story, words, 0);
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("new-%d-%u", is_second, i);
        g_autofree char *node = g_strdup_printf("node-%u", (i + (is_second ? 3 : 1)) % 5);
        const char *const claims[] = {word(&self->world, name), NULL};
        create_claims(&self->world, claims, ACCESS_RWO);
        pod_with_claim(&self->world, name, name, node);
    }
}

PHRASE(attach_starts_start)
{
    if (!((AttachStartsStory *)story)->has_begun)
        start_anew(story, words, 0);
    storage_world_start(&((AttachStartsStory *)story)->world);
}

PHRASE(attach_starts_run)
{
    if (!((AttachStartsStory *)story)->has_begun)
        attach_starts_start(story, words, 0);
    attach_starts_settle(story, 7 * SIM_MINUTE);
}

/* ---- The populator, and the status of nodes ---- */

/* A pod that runs and whose volume is attached; later a driver that asks for attaching again, which
 * brings its volumes back (ADC-36.3). */
PHRASE(scan)
{
    AttachStartsStory *self = story;

    if (!self->has_begun) {
        attach_starts_begin(self);
        attached_pod(&self->world);
    } else if (api_server_get(self->world.api, key(&self->world, KIND_CSI_DRIVER, DRIVER)) !=
               NULL) {
        storage_world_remove(&self->world, key(&self->world, KIND_CSI_DRIVER, DRIVER));
        go_on(&self->world, 3 * SIM_MINUTE + SIM_SECOND);
    }
    note_desired(self);
}

/* ADC-36.2 */
PHRASE(end_attaching)
{
    AttachStartsStory *self = story;

    if (!self->has_begun)
        scan(story, words, argument);
    driver_object(&self->world, FALSE);
}

PHRASE(scan_again)
{
    AttachStartsStory *self = story;

    if (!self->has_begun)
        scan(story, words, argument);
    go_on(&self->world, SIM_MINUTE + SIM_SECOND);
    note_desired(self);
}

/* Nobody does that by hand; a driver that asks for no attach any more has the same effect
 * (ADC-36.2). */
PHRASE(undesire)
{
    AttachStartsStory *self = story;

    if (!self->has_begun)
        scan(story, words, argument);
    end_attaching(story, words, argument);
    scan_again(story, words, argument);
}

/* ADC-36.1: unseen, so that only the scan finds it. */
PHRASE(attach_starts_delete_pod)
{
    AttachStartsStory *self = story;

    if (!self->has_begun)
        scan(story, words, argument);
    storage_world_patch_status(&self->world, key(&self->world, KIND_CLAIM, "c"), edit_lost, NULL);
    remove_pod(&self->world, "a");
    go_on(&self->world, SIM_MINUTE + SIM_SECOND);
    note_desired(self);
}

/* A pod for each node and volume; all are attached at once, so that one pass patches all nodes. */
static void
attach_to_nodes(AttachStartsStory *self)
{
    const char *node;
    json_t *volume;

    attach_starts_begin(self);
    json_object_foreach((json_t *)case_get(self->self, "given.attached"), node, volume) {
        const char *const claims[] = {word(&self->world, json_string_value(volume)), NULL};
        create_node(&self->world, node, NULL, NULL);
        create_claims(&self->world, claims, ACCESS_RWO);
    }
    storage_world_start(&self->world);
    json_object_foreach((json_t *)case_get(self->self, "given.attached"), node, volume)
        pod_with_claim(&self->world, node, json_string_value(volume), node);
    go_on(&self->world, 2 * SIM_SECOND);
    attacher_attaches_all(&self->world);
}

/* One pass. */
PHRASE(update_statuses)
{
    AttachStartsStory *self = story;

    attach_to_nodes(self);
    for (unsigned i = 0; i < 1000 && self->patched->len == 0; i++)
        go_on(&self->world, SIM_MS);
    go_on(&self->world, SIM_MS);
}

/* No other node's status can be written. */
PHRASE(update_status)
{
    AttachStartsStory *self = story;

    attach_starts_begin(self);
    self->only_node = word(&self->world, words[1]);
    attach_to_nodes(self);
    go_on(&self->world, SIM_SECOND);
}

/* clang-format off */
static const Phrase steps[] = {
    {"start the controller",                             dangle,          0},
    {"populate the actual state from nodes",             populate_actual, 0},
    {"populate the desired state from pods",             populate_desired, 0},
    {"populate actual state",                            start_anew,      0},
    {"add first group of pods",                          attach_starts_add_pods,        FALSE},
    {"populate desired state",                           attach_starts_start,           0},
    {"add second group",                                 attach_starts_add_pods,        TRUE},
    {"run reconciler and populator",                     attach_starts_run,             0},
    {"scan active pods(?: again)?",                      scan,            0},
    {"delete the pod/volume pair by hand",               undesire,        0},
    {"delete the pod object and scan for deleted pods",  attach_starts_delete_pod,      0},
    {"driver becomes non-attachable",                    end_attaching,   0},
    {"scan for deleted pods",                            scan_again,      0},
    {"update all node statuses",                         update_statuses, 0},
    {"update (\\S+) only",                               update_status,   0},
    {NULL,                                               NULL,            0},
};

/* clang-format on */

/* ---- Then ---- */

PHRASE(now_attached)
{
    AttachStartsStory *self = story;

    story_expect_count(self->self, "attaches", self->n_attach, words[1]);
}

PHRASE(now_detached)
{
    AttachStartsStory *self = story;

    story_expect_count(self->self, "detaches", self->n_detach, words[1]);
}

/* The results stand in the order of the steps. */
PHRASE_OF(then_desired, wanted)
{
    AttachStartsStory *self = story;
    unsigned i = self->n_compared++;

    if (i >= self->n_desired || self->is_desired[i] != wanted)
        case_fail(self->self, "after step %u: %sdesired", i + 1, wanted ? "not " : "");
}

PHRASE(then_listed)
{
    AttachStartsStory *self = story;
    const Node *node = stored_node(&self->world, words[1]);
    const StringList *list = node == NULL ? NULL : node->volumes_attached;
    g_autofree char *name = g_strconcat("kubernetes.io/csi/" DRIVER "^", words[2], NULL);

    if (list == NULL ? words[2][0] != '\0'
                     : list->n_items != 1 || strcmp(list->items[0], name) != 0)
        case_fail(self->self, "%s has %u volumes", words[1], list == NULL ? 0 : list->n_items);
}

static const AttachNode *
patched_node(const AttachStartsStory *self, unsigned i)
{
    if (i < self->patched->len)
        return adc_find_node(controller_of(&self->world), self->patched->pdata[i]);
    case_fail(self->self, "only %u nodes were patched", self->patched->len);
    return NULL;
}

static unsigned
n_listed(const AttachStartsStory *self, const AttachNode *node)
{
    const Node *stored = node == NULL ? NULL : stored_node(&self->world, node->name);

    return stored == NULL || stored->volumes_attached == NULL ? 0
                                                              : stored->volumes_attached->n_items;
}

PHRASE(then_first_failed)
{
    AttachStartsStory *self = story;
    const AttachNode *node = patched_node(self, 0);

    if (node != NULL && (n_listed(self, node) > 0 || !node->needs_update))
        case_fail(self->self, "%s: %u volumes, %s", node->name, n_listed(self, node),
                  node->needs_update ? "to be told" : "told");
}

PHRASE(then_second_lists)
{
    AttachStartsStory *self = story;

    story_expect_count(self->self, "volumes", n_listed(self, patched_node(self, 1)), words[1]);
}

PHRASE(then_untold)
{
    AttachStartsStory *self = story;
    const AttachNode *node =
        adc_find_node(controller_of(&self->world), word(&self->world, words[1]));

    if (node == NULL || !node->needs_update)
        case_fail(self->self, "%s has been told", words[1]);
}

PHRASE(then_all_told)
{
    AttachStartsStory *self = story;

    if (controller_of(&self->world)->nodes_to_update->len > 0)
        case_fail(self->self, "nodes are left");
}

PHRASE(then_detached)
{
    AttachStartsStory *self = story;
    const AttachPair *pair = pair_of(&self->world, "vol-1", words[1]);

    if (g_strcmp0(words[1], self->node) != 0 || self->state_at_start != ADC_UNCERTAIN)
        case_fail(self->self, "state %d at the start on %s", (int)self->state_at_start, self->node);
    if (pair != NULL && pair->state != ADC_DETACHED)
        case_fail(self->self, "state %d at the end", (int)pair->state);
    story_expect_count(self->self, "detaches", self->n_detach, "1");
}

/* What a node lists is attached, and in use if the node says so. */
PHRASE_OF(then_nodes_are_believed, asks_use)
{
    AttachStartsStory *self = story;

    for (unsigned i = 0; i < 5; i++) {
        g_autofree char *node = g_strdup_printf("node-%u", i);
        g_autofree char *handle = g_strdup_printf("stale-%u", i);
        const AttachPair *pair = pair_of(&self->world, handle, node);
        if (pair == NULL || pair->state != ADC_ATTACHED)
            case_fail(self->self, "%s is not attached to %s", handle, node);
        else if (asks_use && adc_is_in_use(pair) != (i % 2 == 0))
            case_fail(self->self, "%s: in use, or not, against the node's word", handle);
    }
}

PHRASE(then_shared_is_desired)
{
    AttachStartsStory *self = story;

    if (!is_desired(&self->world, "shared", "mynode"))
        case_fail(self->self, "the pods' volume is not desired");
}

PHRASE(then_uncertain)
{
    AttachStartsStory *self = story;

    if (self->state_at_start != ADC_UNCERTAIN)
        case_fail(self->self, "state %d at the start", (int)self->state_at_start);
}

PHRASE(then_no_in_tree_name)
{
    AttachStartsStory *self = story;

    if (self->has_in_tree_name)
        case_fail(self->self, "%s is known", IN_TREE_NAME);
}

/* clang-format off */
static const Phrase then[] = {
    {"(\\d+) attached volumes \\(one shared plus one per new pod\\)",              now_attached,  0},
    {"(\\d+) detached volumes \\(the stale ones\\)",                              now_detached,  0},
    {"\\w+ is (?:put into the actual state as uncertain and )?detached from (\\S+)", then_detached, 0},
    {"no attach for it()",                                                        now_attached,  0},
    {"failed node: volumesAttached empty and still listed as needing a report",   then_first_failed, 0},
    {"other node: (\\d+) entry",                                                  then_second_lists, 0},
    {"the pass goes on to the second node after the failure",                     story_nothing, 0}, /* the other node's entry shows it */
    {"(\\S+) still listed as needing a report",                                   then_untold,   0},
    {"volume desired(?: again| after the first scan)?",                                                 then_desired,  TRUE},
    {"volume not desired(?: after the second)?",                                                       then_desired,  FALSE},
    {"(\\S+) volumesAttached = \\[(.*)\\]",                                       then_listed,   0},
    {"every status.volumesAttached entry is Attached in the actual state",         then_nodes_are_believed, FALSE},
    {"mounted-by-node of each entry equals its presence in status.volumesInUse",   then_nodes_are_believed, TRUE},
    {"every pod volume exists in the desired state",                              then_shared_is_desired, 0},
    {"state of the CSI unique name is Uncertain",                                 then_uncertain, 0},
    {"the in-tree unique name is unknown \\(Detached\\)",                         then_no_in_tree_name, 0},
    {"nothing left to report",                                                    then_all_told, 0},
    {NULL,                                                                        NULL,          0},
};
/* clang-format on */

void
story_attach_starts(Case *case_)
{
    AttachStartsStory self = {.self = case_, .patched = g_ptr_array_new()};

    story_tell(case_, "given", given, &self);
    story_tell(case_, "steps", steps, &self);
    if (self.has_begun) {
        story_tell(case_, "then", then, &self);
        storage_world_clear(&self.world);
    } else {
        case_fail(case_, "nothing was done");
    }
    g_ptr_array_unref(self.patched);
}
