/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checks of csi-sanity (docs/rules/csi-driver.md, section 10) that a driver without group snapshots can meet. A
 * check whose capability is missing is skipped there; here the options of the row give the capability. */
#include "story.h"

#include <string.h>

#define LONG_16 "abcdefghijklmnop"
#define LONG_128 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16
#define UP_TO_MOUNT "create v 10Gi; attach v n1; stage v n1; mount v n1; "

typedef struct {
    const char *name, *options, *steps;
} StoryCase;

/* clang-format off */
static const StoryCase checks[] = {
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
holds(void **state)
{
    const StoryCase *check = *state;
    g_autoptr(Story) story = story_new(check->options);

    story_tell(story, check->name, check->steps);
}

int
main(void)
{
    struct CMUnitTest tests[G_N_ELEMENTS(checks)];

    for (unsigned i = 0; i < G_N_ELEMENTS(checks); i++)
        tests[i] = (struct CMUnitTest){
            .name = checks[i].name, .test_func = holds, .initial_state = (void *)&checks[i]};
    return _cmocka_run_group_tests("csi-sanity", tests, G_N_ELEMENTS(tests), NULL, NULL);
}
