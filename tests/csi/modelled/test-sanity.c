/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The modelled driver against csi-sanity (docs/rules/csi-driver.md): its checks told as stories,
 * with the content of the back end at the end; the list of checks for any back end (sanity.h); and
 * spoiled answers that the list must notice. */
#include "models/csi/modelled/modelled-test.h"
#include "story.h"
#include "tests/csi/sanity.h"
#include "tests/lib/test.h"

#include <string.h>

#define LONG_16 "abcdefghijklmnop"
#define LONG_128 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16
#define UP_TO_MOUNT "create v 10Gi; attach v n1; stage v n1; mount v n1; "

typedef struct {
    const char *name, *options, *steps;
} SanityStoryCase;

/* clang-format off */
static const SanityStoryCase checks[] = {
    /* Identity */
    {"SAN-1 capabilities are valid", "", "plugin-capabilities"},
    {"SAN-1 Probe is fine", "", "probe; ready 1"},
    {"SAN-1 name", "", "plugin-info"},
    {"SAN-2 ControllerGetCapabilities", "", "controller-capabilities"},
    {"SAN-3 GetCapacity", "capacity", "capacity"},
    /* ListVolumes */
    {"SAN-4 plain call", "list", "list; entries 0"},
    {"SAN-4 invalid token", "list", "list token=invalid-token >ABORTED"},
    {"SAN-4 one more, one less", "list",
     "create a 1Gi; list; entries 1; create b 1Gi; list; entries 2; delete b; list; entries 1"},
    {"SAN-4 tokens stay valid while volumes change", "list",
     "create a; create b; create c; list max=1; entries 1; next 2; create d; delete a; delete b; list token=2 max=1; "
     "entries 1; next 4; list token=next; entries 1; next -"},
    /* CreateVolume */
    {"SAN-5 no name", "", "create - 10Gi >INVALID_ARGUMENT"},
    {"SAN-5 no capabilities", "", "create v 10Gi mode=- >INVALID_ARGUMENT"},
    {"SAN-5 without size", "", "create v; volumes 1"},
    {"SAN-5 with size", "", "create v 10Gi; size 10Gi"},
    {"SAN-5 same name and size: same id", "random-ids",
     "create v 10Gi limit=10Gi; id vol-3dc6c291d8f853e0; create v 10Gi limit=10Gi; id vol-3dc6c291d8f853e0; volumes 1"},
    {"SAN-5 same name, other size", "", "create v 10Gi limit=10Gi; create v 20Gi limit=20Gi >ALREADY_EXISTS; volumes 1"},
    {"SAN-5 name of 128 characters", "", "create " LONG_128 " 10Gi"},
    {"SAN-5 from a snapshot", "",
     "create v 10Gi; snapshot s v; create w 10Gi from=snapshot:s; source s; size 10Gi"},
    {"SAN-5 from an unknown snapshot", "", "create w 10Gi from=snapshot:s >NOT_FOUND"},
    {"SAN-5 from a volume", "clone", "create v 10Gi; create w 10Gi from=volume:v; source v"},
    {"SAN-5 from an unknown volume", "clone", "create w 10Gi from=volume:v >NOT_FOUND"},
    {"SAN-5 with mutable parameters", "mutable=iops", "create v 10Gi mutable=iops:3000"},
    {"SAN-5 bad mutable parameters", "mutable=iops", "create v 10Gi mutable=speed:3000 >INVALID_ARGUMENT; volumes 0"},
    /* DeleteVolume */
    {"SAN-6 no id", "", "delete - >INVALID_ARGUMENT"},
    {"SAN-6 unknown id", "", "delete v"},
    {"SAN-6 normal", "", "create v 10Gi; delete v; volumes 0; used 0"},
    /* ValidateVolumeCapabilities */
    {"SAN-7 no id", "", "validate - >INVALID_ARGUMENT"},
    {"SAN-7 no capabilities", "", "create v 10Gi; validate v mode=- >INVALID_ARGUMENT"},
    {"SAN-7 confirmed", "", "create v 10Gi; validate v; confirmed 1"},
    {"SAN-7 unknown volume", "", "validate v >NOT_FOUND"},
    /* ControllerPublishVolume */
    {"SAN-8 no volume id", "", "attach - n1 >INVALID_ARGUMENT"},
    {"SAN-8 no node id", "", "create v 10Gi; attach v - >INVALID_ARGUMENT"},
    {"SAN-8 no capability", "", "create v 10Gi; attach v n1 mode=- >INVALID_ARGUMENT"},
    {"SAN-8 above the limit of the node", "attach-limit=1",
     "create v; create w; attach v n1; attach w n1 >RESOURCE_EXHAUSTED; published n1 1"},
    {"SAN-8 unknown volume", "", "attach v n1 >NOT_FOUND"},
    {"SAN-8 unknown node", "", "create v 10Gi; attach v n9 >NOT_FOUND"},
    {"SAN-8 other readonly", "publish-readonly",
     "create v 10Gi; attach v n1; attach v n1 ro >ALREADY_EXISTS; published n1 1"},
    {"SAN-9 life of a volume", "", "create v 10Gi; attach v n1; detach v n1; delete v; volumes 0"},
    {"SAN-9 life of a volume, publish repeated", "",
     "create v 10Gi; attach v n1; attach v n1; attach v n1; attach v n1; attach v n1; attach v n1; attach v n1; "
     "attach v n1; attach v n1; attach v n1; published n1 1; detach v n1; published n1 0; delete v; volumes 0"},
    {"SAN-10 no volume id", "", "detach - n1 >INVALID_ARGUMENT"},
    /* Snapshots */
    {"SAN-11 plain", "list-snapshots", "snapshots; entries 0"},
    {"SAN-11 by id", "list-snapshots", "create v; snapshot s v; snapshot t v; snapshots id=s; entries 1"},
    {"SAN-11 unknown id", "list-snapshots", "create v; snapshot s v; snapshots id=t; entries 0"},
    {"SAN-11 by source", "list-snapshots",
     "create v; create w; snapshot s v; snapshot t w; snapshots source=w; entries 1"},
    {"SAN-11 unknown source", "list-snapshots", "create v; snapshot s v; snapshots source=x; entries 0"},
    {"SAN-11 one more, one less", "list-snapshots",
     "create v; snapshot s v; snapshots; entries 1; snapshot t v; snapshots; entries 2; delete-snapshot t; "
     "snapshots; entries 1"},
    {"SAN-11 pages", "list-snapshots",
     "create v; snapshot a v; snapshot b v; snapshot c v; snapshot d v; snapshot e v; snapshots max=2; entries 2; "
     "next 4; snapshots token=next; entries 3; next -"},
    {"SAN-11 invalid token", "list-snapshots", "snapshots token=invalid-token >ABORTED"},
    {"SAN-12 no id", "", "delete-snapshot - >INVALID_ARGUMENT"},
    {"SAN-12 unknown id", "", "delete-snapshot s"},
    {"SAN-12 normal", "", "create v; snapshot s v; delete-snapshot s; snapshots-left 0; delete v"},
    {"SAN-13 no name", "", "create v; snapshot - v >INVALID_ARGUMENT"},
    {"SAN-13 no source", "", "snapshot s - >INVALID_ARGUMENT"},
    {"SAN-13 same name and source", "", "create v; snapshot s v; snapshot s v; snapshots-left 1"},
    {"SAN-13 same name, other source", "",
     "create v; create w; snapshot s v; snapshot s w >ALREADY_EXISTS; snapshots-left 1"},
    {"SAN-13 name of 128 characters", "", "create v; snapshot " LONG_128 " v"},
    /* ControllerExpandVolume */
    {"SAN-14 no id", "", "expand - 20Gi >INVALID_ARGUMENT"},
    {"SAN-14 no range", "", "create v 10Gi; expand v >INVALID_ARGUMENT"},
    {"SAN-14 exactly the target", "", "create v 10Gi; expand v 11Gi; size 11Gi"},
    /* ControllerModifyVolume */
    {"SAN-15 no id", "mutable=iops", "modify - mutable=iops:1 >INVALID_ARGUMENT"},
    {"SAN-15 unknown volume", "mutable=iops", "modify v mutable=iops:1 >NOT_FOUND"},
    {"SAN-15 unknown key", "mutable=iops", "create v; modify v mutable=speed:1 >INVALID_ARGUMENT"},
    {"SAN-15 unknown key, made with parameters", "mutable=iops",
     "create v mutable=iops:1; modify v mutable=speed:1 >INVALID_ARGUMENT"},
    {"SAN-15 success", "mutable=iops", "create v; modify v mutable=iops:2; modify v mutable=iops:2"},
    {"SAN-15 success, made with parameters", "mutable=iops", "create v mutable=iops:1; modify v mutable=iops:2"},
    /* Node */
    {"SAN-17 NodeGetCapabilities", "", "node-capabilities n1"},
    {"SAN-17 NodeGetInfo", "attach-limit=25", "node-info n1; max-volumes 25; in a; node-info n2; in b"},
    {"SAN-18 no volume id", "", "mount - n1 >INVALID_ARGUMENT"},
    {"SAN-18 no target path", "", "create v; mount v n1 target=- >INVALID_ARGUMENT"},
    {"SAN-18 no capability", "", "create v; mount v n1 mode=- >INVALID_ARGUMENT"},
    {"SAN-19 no volume id", "", "unmount - n1 >INVALID_ARGUMENT"},
    {"SAN-19 no target path", "", "unmount v n1 target=- >INVALID_ARGUMENT"},
    {"SAN-19 the target is gone after unpublish", "", UP_TO_MOUNT "targets v n1 1; unmount v n1; targets v n1 0"},
    {"SAN-20 no volume id", "", "stage - n1 >INVALID_ARGUMENT"},
    {"SAN-20 no staging path", "", "create v; stage v n1 path=- >INVALID_ARGUMENT"},
    {"SAN-20 no capability", "", "create v; stage v n1 mode=- >INVALID_ARGUMENT"},
    {"SAN-21 no volume id", "", "unstage - n1 >INVALID_ARGUMENT"},
    {"SAN-21 no staging path", "", "unstage v n1 path=- >INVALID_ARGUMENT"},
    {"SAN-22 no volume id", "", "stats - n1 >INVALID_ARGUMENT"},
    {"SAN-22 no path", "", "stats v n1 target=- >INVALID_ARGUMENT"},
    {"SAN-22 unknown volume", "", "stats v n1 >NOT_FOUND"},
    {"SAN-22 wrong path", "", UP_TO_MOUNT "stats v n1 target=/elsewhere >NOT_FOUND"},
    {"SAN-23 no volume id", "", "grow - n1 20Gi >INVALID_ARGUMENT"},
    {"SAN-23 no path", "", "grow v n1 20Gi target=- >INVALID_ARGUMENT"},
    {"SAN-23 unknown volume", "", "grow v n1 20Gi >NOT_FOUND"},
    {"SAN-23 works after publish", "",
     UP_TO_MOUNT "expand v 11Gi; node-expansion 1; stats v n1; total 10Gi; grow v n1 11Gi; size 11Gi; stats v n1; "
                 "total 11Gi"},
    {"SAN-24 flow", "",
     UP_TO_MOUNT "stats v n1; total 10Gi; unmount v n1; unstage v n1; detach v n1; delete v; volumes 0"},
    {"SAN-24 flow, repeated", "",
     "create v 10Gi; attach v n1; stage v n1; stage v n1; stage v n1; stage v n1; stage v n1; stage v n1; stage v n1; "
     "stage v n1; stage v n1; stage v n1; mount v n1; mount v n1; mount v n1; mount v n1; mount v n1; mount v n1; "
     "mount v n1; mount v n1; mount v n1; mount v n1; targets v n1 1; stats v n1; unmount v n1; unstage v n1; "
     "detach v n1; delete v; volumes 0"},
};
/* clang-format on */

static void
sanity_holds(void **state)
{
    const SanityStoryCase *check = *state;
    g_autoptr(DriverStory) story = story_new(check->options);

    story_tell(story, check->name, check->steps);
}
TEST_ROWS(checks, sanity_holds);

/* The list of checks, run against a driver with these options. */

typedef struct {
    DriverStory *story;
    gboolean answered;
    CsiResponse *answer; /* a copy */
    CsiResponse told;    /* the answer as the check sees it */
    CsiMethod spoiled;   /* the method whose answers are spoiled; CSI_N_METHODS: none */
    void (*spoil)(CsiResponse *told);
    gboolean target_stays; /* NodeUnpublishVolume forgets to remove it */
    unsigned n_targets;    /* as counted by target_exists() */
} BackEnd;

static void
modelled_sanity_answered(void *data, const CsiResponse *response)
{
    BackEnd *self = data;

    self->answer = csi_response_copy(sim_memory(story_sim(self->story)), response);
    self->answered = TRUE;
}

static const CsiResponse *
call_and_wait(void *data, const CsiRequest *request)
{
    BackEnd *self = data;

    csi_response_free(sim_memory(story_sim(self->story)), self->answer);
    self->answered = FALSE;
    csi_driver_call(csi_modelled_driver_base(story_driver(self->story)), request,
                    modelled_sanity_answered, self);
    while (!self->answered)
        assert_true(sim_step(story_sim(self->story)));
    self->told = *self->answer;
    if (self->spoiled == request->method)
        self->spoil(&self->told);
    return &self->told;
}

static void
count_targets(void *data, const CsiModelledVolume *volume)
{
    BackEnd *self = data;

    self->n_targets += csi_modelled_driver_n_targets(
        story_driver(self->story), volume->id, strings_intern(story_strings(self->story), "n1"));
}

/* The model has no files: the target is there while a volume is published. */
static gboolean
target_exists(void *data, const char *path)
{
    BackEnd *self = data;

    assert_string_equal(path, "/sanity/target");
    self->n_targets = 0;
    csi_modelled_driver_each_volume(story_driver(self->story), count_targets, self);
    return self->n_targets > 0 || self->target_stays;
}

static CsiSanityBackEnd
sanity_of(BackEnd *self, const StringMap *mutable_parameters)
{
    CsiSanityBackEnd sanity;

    csi_sanity_back_end_init(&sanity);
    sanity.call = call_and_wait;
    sanity.path_exists = target_exists;
    sanity.data = self;
    sanity.strings = story_strings(self->story);
    sanity.node_name = strings_intern(sanity.strings, "n1");
    sanity.directory = "/sanity";
    sanity.mutable_parameters = mutable_parameters;
    sanity.tries_node_limit = TRUE;
    return sanity;
}

static StringMap *
iops_map(DriverStory *story)
{
    const StringPair pair = {strings_intern(story_strings(story), "iops"),
                             strings_intern(story_strings(story), "3000")};

    return string_map_new(&pair, 1);
}

#define ALL_CAPABILITIES                                                                           \
    "list published-nodes capacity list-snapshots get-snapshot clone publish-readonly get "        \
    "condition mutable=iops attach-limit=3 "

/* Checks of missing capabilities are skipped, and no others. */
typedef struct {
    const char *name, *options;
    unsigned n_skipped;
} SanityDriverCase;

/* clang-format off */
static const SanityDriverCase drivers[] = {
    {"a driver that can do all but group snapshots",   ALL_CAPABILITIES,                                                                          6},
    {"SAN-5 ids that are not names",                   ALL_CAPABILITIES "random-ids",                                                             6},
    {"a driver that takes its time",                   ALL_CAPABILITIES "latency=CreateVolume:2s latency=NodeStageVolume:1s latency=Refusal:5ms", 6},
    {"a driver that has room for one thing at a time", ALL_CAPABILITIES "limit=concurrent=1",                                                     6},
    {"CSI-39 a driver without attaching",              "list capacity list-snapshots get-snapshot clone get condition mutable=iops no-attach",    16},
    {"CSI-39 a driver without staging",                ALL_CAPABILITIES "no-stage",                                                               11},
    {"a driver that only expands on nodes",            ALL_CAPABILITIES "no-expand",                                                              9},
    {"the driver as it comes",                         "",                                                                                        29},
};
/* clang-format on */

static void
driver_is_sane(void **state)
{
    const SanityDriverCase *driver = *state;
    unsigned n_skipped = 0;
    BackEnd back_end = {.story = story_new(driver->options), .spoiled = CSI_N_METHODS};
    g_autoptr(StringMap) iops = iops_map(back_end.story);
    CsiSanityBackEnd sanity = sanity_of(&back_end, iops);

    for (unsigned i = 0; i < csi_sanity_n_checks(); i++) {
        g_autoptr(GString) why = g_string_new(NULL);
        CsiSanityResult result = csi_sanity_check(i, &sanity, why);
        if (result == CSI_SANITY_FAILED)
            fail_msg("%s: %s", csi_sanity_check_name(i), why->str);
        n_skipped += result == CSI_SANITY_SKIPPED;
        assert_int_equal(csi_modelled_driver_n_volumes(story_driver(back_end.story)), 0);
        assert_int_equal(csi_modelled_driver_n_snapshots(story_driver(back_end.story)), 0);
    }
    assert_int_equal(n_skipped, driver->n_skipped);
    csi_response_free(sim_memory(story_sim(back_end.story)), back_end.answer);
    story_free(back_end.story);
}
TEST_ROWS(drivers, driver_is_sane);

/* Wrong answers, and the check that must notice: a list that accepts them proves nothing. */

static void
says_fine(CsiResponse *told)
{
    told->code = CSI_OK;
}

static void
says_internal(CsiResponse *told)
{
    told->code = CSI_INTERNAL;
    told->message = "spoiled";
}

static void
says_nothing(CsiResponse *told)
{
    told->message = NULL;
}

static void
too_small(CsiResponse *told)
{
    told->capacity_bytes = 1;
}

static void
one_byte_more(CsiResponse *told)
{
    told->capacity_bytes++;
}

static void
forgets_source(CsiResponse *told)
{
    told->source_kind = CSI_SOURCE_NONE;
}

static void
does_not_confirm(CsiResponse *told)
{
    told->confirmed = FALSE;
}

static void
lists_nothing(CsiResponse *told)
{
    told->n_entries = 0;
}

static void
has_no_more_pages(CsiResponse *told)
{
    told->next_token = NULL;
}

static void
has_no_node_id(CsiResponse *told)
{
    told->node_id = "";
}

static void
has_negative_limit(CsiResponse *told)
{
    told->max_volumes_per_node = -1;
}

static void
has_no_topology(CsiResponse *told)
{
    told->n_accessible_topology = 0;
}

static void
has_bad_name(CsiResponse *told)
{
    told->plugin_name = "-driver.example";
}

static void
has_odd_capabilities(CsiResponse *told)
{
    told->plugin_capabilities |= 1 << 9;
    told->controller_capabilities |= 1 << 20;
    told->node_capabilities |= 1 << 20;
}

static void
has_group_snapshots(CsiResponse *told)
{
    told->plugin_capabilities |= 1 << 3;
}

static void
has_no_usage(CsiResponse *told)
{
    told->total_bytes = 0;
}

typedef struct {
    const char *check;
    CsiMethod spoiled;
    void (*spoil)(CsiResponse *told);
} SpoiledCase;

/* clang-format off */
static const SpoiledCase spoiled_cases[] = {
    {"SAN-1 capabilities are known and valid", CSI_GET_PLUGIN_CAPABILITIES, has_odd_capabilities},
    {"SAN-1 Probe", CSI_PROBE, says_internal},
    {"SAN-1 name", CSI_GET_PLUGIN_INFO, has_bad_name},
    {"SAN-2 capabilities are known", CSI_CONTROLLER_GET_CAPABILITIES, has_odd_capabilities},
    {"SAN-3 capacity", CSI_GET_CAPACITY, says_internal},
    {"SAN-4 invalid token", CSI_LIST_VOLUMES, says_fine},
    {"SAN-4 one more, one less", CSI_LIST_VOLUMES, lists_nothing},
    {"SAN-5 no name", CSI_CREATE_VOLUME, says_fine},
    {"SAN-5 no name", CSI_CREATE_VOLUME, says_nothing},
    {"SAN-5 with size", CSI_CREATE_VOLUME, too_small},
    {"SAN-5 same name, other size", CSI_CREATE_VOLUME, says_fine},
    {"SAN-5 name of 128 bytes", CSI_CREATE_VOLUME, says_internal},
    {"SAN-5 from a snapshot", CSI_CREATE_VOLUME, forgets_source},
    {"SAN-5 from an unknown snapshot", CSI_CREATE_VOLUME, says_fine},
    {"SAN-5 from a volume", CSI_CREATE_VOLUME, forgets_source},
    {"SAN-5 bad mutable parameters", CSI_CREATE_VOLUME, says_fine},
    {"SAN-6 unknown id", CSI_DELETE_VOLUME, says_internal},
    {"SAN-6 normal", CSI_DELETE_VOLUME, says_internal},
    {"SAN-7 no capabilities", CSI_VALIDATE_VOLUME_CAPABILITIES, says_fine},
    {"SAN-7 confirmed", CSI_VALIDATE_VOLUME_CAPABILITIES, does_not_confirm},
    {"SAN-8 above the limit of the node", CSI_CONTROLLER_PUBLISH_VOLUME, says_fine},
    {"SAN-8 unknown node", CSI_CONTROLLER_PUBLISH_VOLUME, says_fine},
    {"SAN-8 other readonly", CSI_CONTROLLER_PUBLISH_VOLUME, says_fine},
    {"SAN-9 life of a volume", CSI_CONTROLLER_UNPUBLISH_VOLUME, says_internal},
    {"SAN-9 life of a volume, publish repeated", CSI_CONTROLLER_PUBLISH_VOLUME, says_internal},
    {"SAN-11 by id", CSI_LIST_SNAPSHOTS, lists_nothing},
    {"SAN-11 by source", CSI_LIST_SNAPSHOTS, lists_nothing},
    {"SAN-11 one more, one less", CSI_LIST_SNAPSHOTS, lists_nothing},
    {"SAN-11 pages", CSI_LIST_SNAPSHOTS, has_no_more_pages},
    {"SAN-11 pages", CSI_LIST_SNAPSHOTS, lists_nothing},
    {"SAN-12 unknown id", CSI_DELETE_SNAPSHOT, says_internal},
    {"SAN-13 same name, other source", CSI_CREATE_SNAPSHOT, says_fine},
    {"SAN-14 no range", CSI_CONTROLLER_EXPAND_VOLUME, says_fine},
    {"SAN-14 exactly the target", CSI_CONTROLLER_EXPAND_VOLUME, one_byte_more},
    {"SAN-15 unknown key", CSI_CONTROLLER_MODIFY_VOLUME, says_fine},
    {"SAN-15 unknown key, made with parameters", CSI_CONTROLLER_MODIFY_VOLUME, says_fine},
    {"SAN-15 success", CSI_CONTROLLER_MODIFY_VOLUME, says_internal},
    {"SAN-16 delete unknown id", CSI_GET_PLUGIN_CAPABILITIES, has_group_snapshots},
    {"SAN-17 NodeGetCapabilities", CSI_NODE_GET_CAPABILITIES, has_odd_capabilities},
    {"SAN-17 NodeGetInfo", CSI_NODE_GET_INFO, has_no_node_id},
    {"SAN-17 NodeGetInfo", CSI_NODE_GET_INFO, has_negative_limit},
    {"SAN-17 NodeGetInfo", CSI_NODE_GET_INFO, has_no_topology},
    {"SAN-18 no capability", CSI_NODE_PUBLISH_VOLUME, says_fine},
    {"SAN-19 the target goes", CSI_N_METHODS, NULL},
    {"SAN-20 no staging path", CSI_NODE_STAGE_VOLUME, says_fine},
    {"SAN-21 no staging path", CSI_NODE_UNSTAGE_VOLUME, says_fine},
    {"SAN-22 wrong path", CSI_NODE_GET_VOLUME_STATS, says_fine},
    {"SAN-23 works after publish", CSI_NODE_EXPAND_VOLUME, says_internal},
    {"SAN-24 flow", CSI_NODE_GET_VOLUME_STATS, has_no_usage},
    {"SAN-24 flow, stage and publish repeated", CSI_NODE_STAGE_VOLUME, says_internal},
    {"SAN-25 last first", CSI_NODE_UNPUBLISH_VOLUME, says_internal},
};
/* clang-format on */

static unsigned
find_check(const char *name)
{
    unsigned i = 0;

    while (strcmp(csi_sanity_check_name(i), name) != 0)
        i++; /* asserts past the end */
    return i;
}

/* "SAN-25" is no check of its own: a check fails if its effect cannot be undone. */
static const char *
check_of(const SpoiledCase *spoiled)
{
    return g_str_has_prefix(spoiled->check, "SAN-25") ? "SAN-22 wrong path" : spoiled->check;
}

static void
spoiled_answers_are_noticed(void **state)
{
    const SpoiledCase *spoiled = *state;
    BackEnd back_end = {.story = story_new(ALL_CAPABILITIES),
                        .spoiled = spoiled->spoiled,
                        .spoil = spoiled->spoil,
                        .target_stays = spoiled->spoil == NULL};
    g_autoptr(StringMap) iops = iops_map(back_end.story);
    CsiSanityBackEnd sanity = sanity_of(&back_end, iops);
    g_autoptr(GString) why = g_string_new(NULL);

    assert_int_equal(csi_sanity_check(find_check(check_of(spoiled)), &sanity, why),
                     CSI_SANITY_FAILED);
    assert_true(why->len > 0);
    csi_response_free(sim_memory(story_sim(back_end.story)), back_end.answer);
    story_free(back_end.story);
}
TEST_ROWS(spoiled_cases, spoiled_answers_are_noticed);
