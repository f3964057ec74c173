/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/csi/modelled/modelled-test.h"
#include "tests/conformance/stories/story.h"
#include "tests/kubelet/stories.h"

#include <string.h>

/* The story of a pod whose volumes fail in different ways. */

typedef struct {
    Case *self;
    World *world;
    gboolean is_failed;
} FailuresStory;

static char *
names_of(const char *text)
{
    g_auto(GStrv) names = g_strsplit(text, " and ", -1);

    return g_strjoinv(" ", names);
}

/* "one whose device mount fails, A and B attachable but never attached, C and D without any
 * driver": the first one is called vol1 */
PHRASE(give_five)
{
    static const CsiModelledError error = {
        .method = CSI_NODE_STAGE_VOLUME, .code = CSI_INTERNAL, .probability = 1};
    const SidecarWorldOptions options = {.only = &kubelet_class, .seed = 7};
    FailuresStory *self = story;
    g_autofree char *unattached_names = names_of(words[1]), *driverless = names_of(words[2]);
    g_autofree char *all = g_strdup_printf("vol1 %s %s", unattached_names, driverless);
    g_auto(GStrv) names = g_strsplit(all, " ", -1);

    self->world = world_new(&options);
    for (unsigned i = 0; names[i] != NULL; i++)
        node_world_add_volume(self->world, names[i],
                              strstr(driverless, names[i]) != NULL ? "unheard-of" : "csi");
    node_world_attach(self->world, "vol1", "a");
    csi_modelled_driver_set_errors(self->world->driver, &error, 1);
    node_world_start(self->world);
    node_world_add_pod(self->world, "p", "a", all);
}

PHRASE(wait_long)
{
    FailuresStory *self = story;

    node_world_run_for(self->world, SECONDS(31));
    self->is_failed = !pod_is_ready(node_world_pod(self->world, "p"));
}

PHRASE(then_error_lists)
{
    FailuresStory *self = story;
    g_autofree char *unattached_names = names_of(words[1]), *failed = names_of(words[2]);
    g_autofree char *text = g_strdup_printf(
        "unattached volumes=[%s], failed to process volumes=[%s]: ", unattached_names, failed);
    g_autofree char *events = world_events(self->world, world_key(self->world, KIND_POD, "p"));

    if (!self->is_failed || strstr(events, text) == NULL)
        case_fail(self->self, "\"%s\" is not in \"%s\"", text, events);
}

/* clang-format off */
static const Phrase given[] = {
    {"pod: five volumes: one whose device mount fails, (.+) attachable but never attached, (.+) without any driver",
     give_five, 0},
    {NULL, NULL, 0},
};
/* clang-format on */

/* clang-format off */
static const Phrase steps[] = {
    {"wait for attach and mount", wait_long, 0},
    {NULL,                        NULL,      0},
};
/* clang-format on */

/* clang-format off */
static const Phrase then[] = {
    {"wait fails", story_nothing, 0},
    {"the error lists unattached volumes (\\w+ and \\w+) and volumes that failed processing (\\w+ and \\w+), each list sorted by name",
     then_error_lists, 0},
    {NULL, NULL, 0},
};
/* clang-format on */

void
story_kubelet_failures(Case *case_)
{
    FailuresStory self = {.self = case_};

    story_tell(case_, "given", given, &self);
    if (self.world == NULL)
        return;
    story_tell(case_, "steps", steps, &self);
    story_tell(case_, "then", then, &self);
    world_free(self.world);
}
