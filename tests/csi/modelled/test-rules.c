/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The modelled driver against the rules of docs/rules/csi-driver.md: life cycle, codes, limits,
 * capacity, topology. */
#include "story.h"
#include "tests/lib/test.h"

#define STAGED "create v; attach v n1; stage v n1; "
#define MOUNTED STAGED "mount v n1; "
#define ANY_MODE(mode)                                                                             \
    "create v mode=" mode "; attach v n1 mode=" mode "; stage v n1 mode=" mode "; "

typedef struct {
    const char *name, *options, *steps;
} RulesStoryCase;

/* clang-format off */
static const RulesStoryCase cases[] = {
    /* Life cycle */
    {"CSI-38 there and back", "",
     MOUNTED "staged v n1 1; mount v n1 target=/other mode=SNMW; targets v n1 2; unmount v n1; unmount v n1 target=/other; "
             "unstage v n1; detach v n1; delete v; volumes 0; used 0"},
    {"CSI-38 stage before attach", "", "create v; stage v n1 >FAILED_PRECONDITION"},
    {"CSI-38 stage where it is not attached", "", "create v; attach v n1; stage v n2 >FAILED_PRECONDITION"},
    {"CSI-39 without staging", "no-stage",
     "create v; mount v n1 >FAILED_PRECONDITION; attach v n1; mount v n1; stage v n1 >UNIMPLEMENTED; unmount v n1"},
    {"CSI-39 without attaching", "no-attach", "create v; attach v n1 >UNIMPLEMENTED; stage v n1; mount v n1; delete v"},
    {"CSI-39 without both", "no-attach no-stage", "create v; mount v n1; mount v n2; unmount v n2; targets v n2 0"},
    {"CSI-39 a volume made by hand", "adopts", "attach v n1; stage v n1; mount v n1; volumes 1; unmount w n1; unstage w n1"},
    {"CSI-40 detached while staged, the node being dead", "", MOUNTED "detach v n1; published n1 0; attach v n2"},
    {"CSI-48 deleted while attached", "", "create v; attach v n1; delete v >FAILED_PRECONDITION; volumes 1"},
    {"CSI-48 deleted while mounted", "no-attach checks-mounts",
     "create v; stage v n1; delete v >FAILED_PRECONDITION; unstage v n1; delete v"},
    {"CSI-48 deleted with snapshots", "keeps-sources",
     "create v; snapshot s v; delete v >FAILED_PRECONDITION; delete-snapshot s; delete v"},
    {"CSI-17 snapshots survive", "", "create v; snapshot s v; delete v; snapshots-left 1; create w from=snapshot:s"},
    {"CSI-19 detach from all nodes", "", "create v mode=RWX; attach v n1 mode=RWX; attach v n2 mode=RWX; detach v; published n1 0; published n2 0"},
    {"CSI-19 detach what is unknown", "", "detach v n1; create v; detach v n9; detach v n1"},
    {"CSI-31 unstage what is not staged", "", "create v; unstage v n1; unmount v n1"},
    {"CSI-51 unstage what was never known", "", "unstage v n1 >NOT_FOUND; unmount v n1 >NOT_FOUND"},
    {"CSI-31 unstage what is deleted meanwhile", "no-attach", "create v; stage v n1; delete v; unstage v n1; staged v n1 0"},
    {"CSI-77 unstage while mounted", "", MOUNTED "unstage v n1 >INTERNAL; staged v n1 1"},
    {"a node that restarts", "", MOUNTED "reboot n1; staged v n1 0; targets v n1 0; published n1 1; stage v n1; mount v n1"},
    {"a volume in a pod's own words", "no-attach no-stage",
     "mount csi-1 n1 inline; volumes 1; mount csi-1 n1 inline; unmount csi-1 n1; volumes 0; unmount csi-1 n1"},
    {"and its node restarts", "no-attach no-stage", "mount csi-1 n1 inline; mount csi-2 n2 inline; reboot n1; volumes 1; unmount csi-1 n1; mount csi-1 n1 inline; volumes 2"},
    {"CSI-3, CSI-41 each call once more", "",
     "create v; create v; attach v n1; attach v n1; stage v n1; stage v n1; mount v n1; mount v n1; targets v n1 1; unmount v n1; unmount v n1; "
     "unstage v n1; unstage v n1; detach v n1; detach v n1; published n1 0; delete v; delete v; volumes 0"},
    {"CSI-4 two calls about one volume", "latency=ControllerPublishVolume:1s", "create v; &attach v n1; attach v n1 >ABORTED; join; attach v n1; published n1 1"},
    {"CSI-14, CSI-24, CSI-35 capabilities are told by all instances", "", "plugin-capabilities; controller-capabilities; node-capabilities n1; node-capabilities n2"},
    {"CSI-18, CSI-30, CSI-32 a capability is needed", "",
     "create v; attach v n1 mode=- >INVALID_ARGUMENT; published n1 0; attach v n1; stage v n1 mode=- >INVALID_ARGUMENT; staged v n1 0; stage v n1; "
     "mount v n1 mode=- >INVALID_ARGUMENT; targets v n1 0; mount v n1; targets v n1 1"},
    {"CSI-20 what the volume was made for", "", "create v; validate v; confirmed 1; validate v mode=RWX; confirmed 0"},
    {"CSI-21 a list in pages", "list", "create a; create b; list max=1; entries 1; next 2; list token=next; entries 1; next -"},
    {"CSI-23 room of a place", "capacity pool=a:10Gi pool=b:20Gi", "capacity requisite=a; available 10Gi; capacity requisite=b; available 20Gi; capacity; available 30Gi"},
    /* CreateVolume */
    {"CSI-16 another size within the range", "", "create v 5Gi; create v 3Gi limit=5Gi; size 5Gi; create v 6Gi >ALREADY_EXISTS"},
    {"CSI-16 other parameters", "", "create v parameter=type:ssd; create v parameter=type:ssd; create v parameter=type:hdd >ALREADY_EXISTS"},
    {"CSI-16 other capabilities", "", "create v; create v mode=RWX >ALREADY_EXISTS; create v block >ALREADY_EXISTS"},
    {"CSI-16 another topology", "", "create v zones=a; create v zones=a; in a; create v zones=b >ALREADY_EXISTS"},
    {"CSI-16 another source", "", "create v; snapshot s v; create w from=snapshot:s; create w from=snapshot:s; create w >ALREADY_EXISTS"},
    {"CSI-47 source kind not supported", "no-snapshots", "create w from=snapshot:s >INVALID_ARGUMENT; create w from=volume:v >INVALID_ARGUMENT"},
    {"CSI-47 smaller than its source", "clone", "create v 5Gi; snapshot s v; create w 4Gi from=snapshot:s >OUT_OF_RANGE; create x 4Gi from=volume:v >OUT_OF_RANGE"},
    {"CSI-70 as large as its source", "clone", "create v 5Gi; snapshot s v; create w from=snapshot:s; size 5Gi; create x from=volume:v; size 5Gi"},
    {"CSI-47 too large", "max=10Gi", "create v 11Gi >OUT_OF_RANGE; create v 10Gi"},
    {"CSI-47 too small for the limit", "min=4Gi", "create v 1Gi limit=2Gi >OUT_OF_RANGE; create v 1Gi; size 4Gi"},
    {"CSI-47 rounded up beyond the limit", "step=1Gi", "create v 1Mi; size 1Gi; create w 1Mi limit=2Mi >OUT_OF_RANGE"},
    {"CSI-47 required above the limit", "", "create v 2Gi limit=1Gi >OUT_OF_RANGE"},
    {"CSI-47 no room", "pool=-:10Gi", "create v 6Gi; create w 6Gi >RESOURCE_EXHAUSTED; delete v; create w 6Gi; used 6Gi"},
    {"CSI-46 a negative size", "", "create v -1 >INVALID_ARGUMENT"},
    {"CSI-46 a mode that is not supported", "no-multi-writer no-node-multi-writer", "create v mode=RWOP >INVALID_ARGUMENT; create v mode=none >INVALID_ARGUMENT; create v mode=RWO"},
    {"CSI-46 no secrets", "needs-secrets", "create v >UNAUTHENTICATED; create v secrets; list >UNIMPLEMENTED; attach v n1 >UNAUTHENTICATED"},
    {"CSI-7 not implemented", "no-create", "create v >UNIMPLEMENTED; list >UNIMPLEMENTED; capacity >UNIMPLEMENTED; get v >UNIMPLEMENTED; modify v >UNIMPLEMENTED; snapshots >UNIMPLEMENTED; get-snapshot s >UNIMPLEMENTED"},
    {"CSI-15 not ready yet", "ready-at=5s", "probe; ready 0; until 5s; probe; ready 1"},
    /* Access modes */
    {"CSI-49 single node: elsewhere", "", "create v; attach v n1; attach v n2 >FAILED_PRECONDITION; published n2 0"},
    {"CSI-49 single node, many writers: elsewhere", "", ANY_MODE("SNMW") "attach v n2 mode=SNMW >FAILED_PRECONDITION"},
    {"CSI-49 single node reader: elsewhere", "", ANY_MODE("SNRO") "attach v n2 mode=SNRO >FAILED_PRECONDITION"},
    {"CSI-42 many nodes", "", ANY_MODE("RWX") "attach v n2 mode=RWX; published n2 1"},
    {"CSI-42 many readers", "", ANY_MODE("ROX") "attach v n2 mode=ROX; published n2 1"},
    {"CSI-42 one writer", "publish-readonly", ANY_MODE("MNSW") "attach v n2 mode=MNSW >FAILED_PRECONDITION; attach v n2 mode=MNSW ro"},
    {"CSI-49 here, other capability", "", "create v; attach v n1; attach v n1 mode=SNMW >ALREADY_EXISTS; attach v n1 fs=xfs >ALREADY_EXISTS"},
    {"CSI-46 read-only is not supported", "", "create v; attach v n1 ro >INVALID_ARGUMENT"},
    {"attach what was not made for it", "", "create v; attach v n1 block >INVALID_ARGUMENT; attach v n1 mode=RWX >INVALID_ARGUMENT"},
    /* Second NodePublish: CSI-44, column by column */
    {"CSI-44 same target, same words", "", MOUNTED "mount v n1; targets v n1 1"},
    {"CSI-44 same target, other words", "", MOUNTED "mount v n1 ro >ALREADY_EXISTS; mount v n1 fs=xfs >ALREADY_EXISTS"},
    {"CSI-44 other target, RWO", "", MOUNTED "mount v n1 target=/b >FAILED_PRECONDITION"},
    {"CSI-45 other target, RWO, without many writers", "no-node-multi-writer", MOUNTED "mount v n1 target=/b; targets v n1 2"},
    {"CSI-44 other target, RWOP", "", ANY_MODE("RWOP") "mount v n1 mode=RWOP; mount v n1 mode=RWOP target=/b >FAILED_PRECONDITION"},
    {"CSI-44 other target, reader", "", ANY_MODE("SNRO") "mount v n1 mode=SNRO; mount v n1 mode=SNRO target=/b >FAILED_PRECONDITION"},
    {"CSI-44 other target, many writers", "", ANY_MODE("SNMW") "mount v n1 mode=SNMW; mount v n1 mode=SNMW target=/b; targets v n1 2"},
    {"CSI-44 other target, many nodes", "", ANY_MODE("RWX") "mount v n1 mode=RWX; mount v n1 mode=RWX target=/b"},
    /* Stage and publish */
    {"CSI-51 unknown volumes", "", "stage v n1 >NOT_FOUND; mount v n1 >NOT_FOUND; expand v 1Gi >NOT_FOUND; grow v n1 1Gi >NOT_FOUND"},
    {"CSI-52 staged in another way", "", STAGED "stage v n1 fs=xfs >ALREADY_EXISTS"},
    {"CSI-77 staged elsewhere", "", STAGED "stage v n1 path=/other >FAILED_PRECONDITION"},
    {"CSI-77 mounted from elsewhere", "", STAGED "mount v n1 path=/other >INVALID_ARGUMENT"},
    {"CSI-52 no staging path", "", STAGED "mount v n1 path=- >FAILED_PRECONDITION"},
    {"CSI-52 not staged", "", "create v; attach v n1; mount v n1 >FAILED_PRECONDITION"},
    {"CSI-52 more than it was made for", "", "create v; attach v n1; stage v n1 mode=RWX >FAILED_PRECONDITION; stage v n1; mount v n1 block >FAILED_PRECONDITION"},
    {"no plugin on that node", "", "create v; stage v n9 >UNAVAILABLE; stage v - >UNAVAILABLE"},
    /* Expansion */
    {"CSI-28 large enough already", "", "create v 5Gi; expand v 4Gi; size 5Gi; expand v 5Gi; size 5Gi"},
    {"CSI-53 too large", "max=10Gi", "create v 5Gi; expand v 11Gi >OUT_OF_RANGE; size 0"},
    {"CSI-53 below the volume", "", "create v 5Gi; expand v 4Gi limit=4Gi >OUT_OF_RANGE"},
    {"CSI-85 one change in an hour", "limit=ControllerExpandVolume:changes=1:within=1h",
     "create v 1Gi; expand v 9Gi limit=8Gi >OUT_OF_RANGE; expand v 2Gi; expand v 3Gi >RESOURCE_EXHAUSTED; expand v 2Gi; create w; expand w 2Gi; until 59m; expand v 3Gi >RESOURCE_EXHAUSTED; until 61m; expand v 3Gi"},
    {"CSI-85 two changes in an hour", "limit=changes=2:within=1h", "create v 1Gi; expand v 2Gi; until 40m; expand v 3Gi; expand v 4Gi >RESOURCE_EXHAUSTED; until 61m; expand v 4Gi; expand v 5Gi >RESOURCE_EXHAUSTED"},
    {"CSI-53 published, only offline", "offline", "create v 5Gi; attach v n1; expand v 6Gi >FAILED_PRECONDITION; detach v n1; expand v 6Gi"},
    {"CSI-53 the filesystem grows offline only", "offline",
     "create v 5Gi; expand v 6Gi; attach v n1; stage v n1; mount v n1; grow v n1 6Gi >FAILED_PRECONDITION; unmount v n1; grow v n1 6Gi target=/staging; size 6Gi"},
    {"CSI-53 node: larger than the device", "", "create v 5Gi; attach v n1; stage v n1; mount v n1; grow v n1 6Gi >OUT_OF_RANGE"},
    {"CSI-37 node alone expands", "no-expand pool=-:10Gi", "create v 5Gi; attach v n1; stage v n1; mount v n1; grow v n1 6Gi; size 6Gi; used 6Gi; expand v 7Gi >UNIMPLEMENTED"},
    {"CSI-71 no node expansion", "no-node-expand", "create v 5Gi; expand v 6Gi; node-expansion 0; attach v n1; stage v n1; grow v n1 6Gi >UNIMPLEMENTED"},
    {"CSI-65 no room to expand", "pool=-:10Gi", "create v 5Gi; expand v 11Gi >RESOURCE_EXHAUSTED; expand v 10Gi; used 10Gi; delete v; used 0"},
    {"CSI-28 rounded up", "step=1Gi", "create v 1Gi; expand v 1500Mi; size 2Gi"},
    /* Snapshots */
    {"CSI-25 not ready at once", "latency=SnapshotReady:60s",
     "create v; snapshot s v; ready 0; snapshot s v; ready 0; create w from=snapshot:s >INTERNAL; until 60s; snapshot s v; ready 1; create w from=snapshot:s"},
    {"CSI-25 of an unknown volume", "", "snapshot s v >NOT_FOUND"},
    {"CSI-55 no space", "pool=-:10Gi snapshots-take-room", "create v 6Gi; snapshot s v >RESOURCE_EXHAUSTED; delete v; create v 5Gi; snapshot s v; used 10Gi; delete-snapshot s; used 5Gi"},
    {"CSI-55 in use", "latency=CreateVolumeFromSnapshot:10s",
     "create v; snapshot s v; &create w from=snapshot:s; delete-snapshot s >FAILED_PRECONDITION; join; delete-snapshot s"},
    {"CSI-95 of several volumes", "group-service groups",
     "group-capabilities; create v; create w; group g v,w; entries 2; ready 1; snapshots-left 2; group g w,v; entries 2; snapshots-left 2; "
     "group g v >ALREADY_EXISTS; get-group g g-0,g-1; entries 2; create x from=snapshot:g-1"},
    {"CSI-95 all or none", "group-service groups", "create v; group g v,w >NOT_FOUND; snapshots-left 0; get-group g g-0 >NOT_FOUND"},
    {"CSI-95 room for all of them", "group-service groups snapshots-take-room pool=-:10Gi",
     "create v 3Gi; create w 3Gi; group g v,w >RESOURCE_EXHAUSTED; snapshots-left 0; delete w; create w 2Gi; group g v,w; used 10Gi"},
    {"CSI-96 ready once all are", "group-service groups latency=SnapshotReady:60s", "create v; group g v; ready 0; until 60s; get-group g g-0; ready 1"},
    {"CSI-97 only as a whole", "group-service groups list-snapshots",
     "create v; create w; group g v,w; delete-snapshot g-0 >INVALID_ARGUMENT; delete-group g g-0 >INVALID_ARGUMENT; delete-group g g-0,x >INVALID_ARGUMENT; "
     "get-group g g-0 >INVALID_ARGUMENT; snapshots; entries 2; delete-group g g-1,g-0; snapshots; entries 0; delete-group g g-1,g-0; group g v; entries 1"},
    {"CSI-97 in use", "group-service groups latency=CreateVolumeFromSnapshot:10s",
     "create v; group g v; &create w from=snapshot:g-0; delete-group g g-0 >FAILED_PRECONDITION; join; delete-group g g-0"},
    {"CSI-98 no such service", "", "create v; group-capabilities >UNIMPLEMENTED; group g v >UNIMPLEMENTED"},
    {"CSI-98 no such capability", "group-service", "create v; group-capabilities; group g v >UNIMPLEMENTED"},
    {"CSI-95 needs a name and volumes", "group-service groups", "create v; group - v >INVALID_ARGUMENT; group g >INVALID_ARGUMENT; get-group - >INVALID_ARGUMENT"},
    {"GetSnapshot", "get-snapshot", "get-snapshot s >NOT_FOUND; create v; snapshot s v; get-snapshot s; entries 1"},
    {"CSI-22 ControllerGetVolume", "get condition published-nodes", "get v >NOT_FOUND; create v; attach v n1; abnormal v; get v; entries 1"},
    /* Topology and capacity */
    {"CSI-67 preferred first", "", "create v zones=b,a; in b"},
    {"CSI-67 the next with room", "pool=a:5Gi pool=b:20Gi", "create v 10Gi zones=a,b; in b; create w 4Gi zones=a,b; in a"},
    {"CSI-67 none possible", "pool=a:5Gi pool=b:5Gi", "create v 10Gi zones=a,b >RESOURCE_EXHAUSTED; create v 10Gi requisite=a >RESOURCE_EXHAUSTED"},
    {"CSI-67 two places", "places=2 pool=a:10Gi pool=b:10Gi", "create v 6Gi zones=a,b; create w 6Gi zones=a,b >RESOURCE_EXHAUSTED; create x 4Gi zones=a >RESOURCE_EXHAUSTED; delete v; create w 6Gi zones=b,a; in b"},
    {"CSI-67 no wish: the first pool with room", "pool=a:5Gi pool=b:20Gi", "create v 10Gi; in b"},
    {"CSI-67 no pools, no wish", "", "create v; in -"},
    {"CSI-68 no topology", "no-topology", "create v zones=a; in -; attach v n2"},
    {"CSI-68 not accessible from there", "", "create v zones=a; attach v n2 >FAILED_PRECONDITION; attach v n1"},
    {"CSI-68 all keys of its place count", "", "create v zones=a+linux; attach v n2 >FAILED_PRECONDITION; attach v n1; create w zones=a+windows; attach w n1 >FAILED_PRECONDITION"},
    {"CSI-82 own keys of a wanted place", "keys=zone", "create v zones=a+windows; in a; attach v n2 >FAILED_PRECONDITION; attach v n1"},
    {"CSI-82 one of the node's keys", "keys=os", "create v zones=a+linux; in -; attach v n2"},
    {"CSI-82 a repeat compares own keys", "keys=zone", "create v zones=a+linux; create v zones=a+linux,b+linux; create v zones=b+linux >ALREADY_EXISTS"},
    {"CSI-82 a missing key is that of a node there", "keys=zone", "create v requisite=+linux; in a; attach v n1"},
    {"CSI-82 two places with different own keys", "keys=zone places=2",
     "create v zones=a+linux,a+windows >RESOURCE_EXHAUSTED; create v zones=a+linux,a+windows,b+linux; attach v n2"},
    {"CSI-82 pools of own keys", "keys=zone pool=a:5Gi pool=b:20Gi", "create v 10Gi zones=a+linux,b+linux; in b; create w 4Gi zones=a+linux; in a; create x 4Gi zones=a+linux >RESOURCE_EXHAUSTED"},
    {"CSI-69 capacity per zone", "capacity pool=a:5Gi pool=b:20Gi max=8Gi",
     "capacity requisite=a; available 5Gi; largest 8Gi; create v 3Gi zones=a; capacity requisite=a; available 2Gi; capacity requisite=b; available 20Gi; capacity; available 22Gi"},
    {"CSI-69 capacity of all", "capacity pool=-:10Gi pool=a:8Gi", "create v 3Gi zones=a; capacity; available 5Gi; capacity requisite=a; available 5Gi"},
    /* Limits of nodes */
    {"CSI-36 what is told is not what holds", "attach-limit=1 reported=3", "node-info n1; max-volumes 3; create v; create w; attach v n1; attach w n1 >RESOURCE_EXHAUSTED; detach v n1; attach w n1"},
    {"CSI-49 the limit counts attachments of a node", "attach-limit=1", "create v; create w; attach v n1; attach w n2; published n1 1; published n2 1"},
    {"CSI-49 a race for the last place", "attach-limit=1 latency=ControllerPublishVolume:2s",
     "create v; create w; &attach v n1; attach w n1 >RESOURCE_EXHAUSTED; took 2s; published n1 1; join"},
    /* One at a time */
    {"CSI-46 two creates", "latency=CreateVolume:2s", "&create v; create v >ABORTED; took 0s; join; create v; volumes 1"},
    {"CSI-46 two deletes", "latency=DeleteVolume:2s", "create v; &delete v; delete v >ABORTED; join"},
    {"CSI-46 attach during delete", "latency=DeleteVolume:2s", "create v; &delete v; attach v n1 >ABORTED; join"},
    {"CSI-46 two stages", "latency=NodeStageVolume:2s", "create v; attach v n1; &stage v n1; stage v n1 >ABORTED; join"},
    {"CSI-46 stages on two nodes", "latency=NodeStageVolume:2s", "create v mode=RWX; attach v n1 mode=RWX; attach v n2 mode=RWX; &stage v n1 mode=RWX; stage v n2 mode=RWX; join"},
    {"CSI-46 attach to two nodes", "latency=ControllerPublishVolume:2s", "create v mode=RWX; &attach v n1 mode=RWX; attach v n2 mode=RWX >ABORTED; join"},
    {"a lock per volume and node", "lock=node latency=ControllerPublishVolume:2s", "create v mode=RWX; &attach v n1 mode=RWX; &attach v n2 mode=RWX; attach v n1 mode=RWX >ABORTED; join; published n2 1"},
    {"no lock: the second finds the first", "lock=none latency=CreateVolume:2s", "&create v; create v; join; volumes 1"},
    {"no lock: two single-node attaches", "lock=none latency=ControllerPublishVolume:2s", "create v; &attach v n1; attach v n2 >FAILED_PRECONDITION; took 2s; join"},
    /* How full volumes are */
    {"CSI-92 a volume is empty until a pod mounts it", "min=5Gi usage=1Gi:1Gi:1m:0", STAGED "until 9m; mount v n1; stats v n1; written 1Gi; inodes 11; available 4Gi"},
    {"CSI-92 it fills step by step while it is mounted", "min=5Gi usage=1Gi:1Gi:1m:0", MOUNTED "until 59s; stats v n1; written 1Gi; until 61s; stats v n1; written 2Gi; until 3m1s; stats v n1; written 4Gi"},
    {"CSI-92 and not while it is not", "min=5Gi usage=0:1Gi:1m:0",
     MOUNTED "until 90s; unmount v n1; until 10m; mount v n1; until 10m59s; stats v n1; written 1Gi; until 11m1s; stats v n1; written 2Gi"},
    {"CSI-92 nor while its machine is off", "min=5Gi usage=0:1Gi:1m:0", MOUNTED "until 150s; reboot n1; until 10m; stage v n1; mount v n1; stats v n1; written 2Gi"},
    {"CSI-92 nor does it begin anew", "min=5Gi usage=1Gi:1Gi:1m:0", MOUNTED "until 61s; unmount v n1; mount v n1; stats v n1; written 2Gi"},
    {"CSI-93 a full volume takes no more, and what it refused is lost", "min=5Gi usage=0:1Gi:1m:0",
     MOUNTED "until 20m; stats v n1; written 5Gi; available 0; expand v 8Gi; grow v n1 8Gi; stats v n1; written 5Gi; available 3Gi; until 21m1s; stats v n1; written 6Gi"},
    {"CSI-93 more at the start than fits", "min=5Gi usage=9Gi:0:0s:0", MOUNTED "stats v n1; written 5Gi; available 0"},
    {"CSI-93 an expansion before the file system has grown helps nobody", "min=5Gi usage=0:1Gi:1m:0", MOUNTED "until 20m; expand v 8Gi; stats v n1; total 5Gi; available 0"},
    {"CSI-93 files need inodes", "min=5Gi usage=0:1Gi:1m:1Mi", MOUNTED "until 61s; stats v n1; inodes 1035; available 4Gi"},
    {"CSI-93 which run out first if files are small", "min=5Gi usage=0:1Gi:1m:4096", MOUNTED "until 9m; stats v n1; inodes 327680; written 1342132224"},
    {"CSI-94 a clone has its source's data", "clone min=5Gi usage=1Gi:1Gi:1m:0", MOUNTED "until 61s; create w from=volume:v; attach w n1; stage w n1; mount w n1; stats w n1; written 2Gi"},
    {"CSI-94 a restored volume has the snapshot's", "min=5Gi usage=1Gi:1Gi:1m:0",
     MOUNTED "until 61s; snapshot s v; until 5m; create w from=snapshot:s; attach w n1; stage w n1; mount w n1; stats w n1; written 2Gi"},
    {"CSI-46 two snapshots of a name", "latency=CreateSnapshot:2s", "create v; &snapshot s v; snapshot s v >ABORTED; join"},
};
/* clang-format on */

static void
rules_holds(void **state)
{
    const RulesStoryCase *story_case = *state;
    g_autoptr(DriverStory) story = story_new(story_case->options);

    story_tell(story, story_case->name, story_case->steps);
}
TEST_ROWS(cases, rules_holds);
