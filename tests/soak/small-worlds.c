/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "small-worlds.h"

#include <stddef.h>
#include <string.h>

#define DRIVER "disk.soak.example"

static const char *
small_worlds_driver_of(const char *process)
{
    return strncmp(process, "external-", strlen("external-")) == 0 ? DRIVER : NULL;
}

/* Everything is deleted after the calm that liveness needs. */
#define HEAD(n_nodes, more)                                                                        \
    "# soak: deletes-at=1100\n"                                                                    \
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: small}\n"                         \
    "spec:\n  idleFor: 11m\n"                                                                      \
    "  nodes: [{name: n%d, count: " #n_nodes "}]\n"                                                \
    "  drivers:\n"                                                                                 \
    "  - name: " DRIVER "\n    topology: false\n" more                                             \
    "    latency: {CreateVolume: 1s, ControllerPublishVolume: 500ms, ControllerUnpublishVolume: "  \
    "500ms, NodeStageVolume: 200ms, NodeUnstageVolume: 200ms, DeleteVolume: 500ms}\n"              \
    "  workload:\n"
#define CLAIM(at, class)                                                                           \
    "  - {at: " at ", create: {manifest: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: " \
    "{name: c}, spec: {accessModes: [ReadWriteOnce], storageClassName: " class ", resources: "     \
                                                                               "{requests: "       \
                                                                               "{storage: "        \
                                                                               "1Gi}}}}}}\n"
#define POD(at, name, more)                                                                        \
    "  - {at: " at ", create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: " name       \
    "}, spec: {" more                                                                              \
    "terminationGracePeriodSeconds: 1, containers: [{name: c, image: i, volumeMounts: "            \
    "[{name: v, mountPath: /v}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: "        \
    "c}}]}}}}\n"
#define DELETE(at, kind, name) "  - {at: " at ", delete: {kind: " kind ", name: \"" name "\"}}\n"
#define END_OF_CLAIMS DELETE("1101s", "PersistentVolumeClaim", "*")
#define END DELETE("1100s", "Pod", "*") END_OF_CLAIMS
#define CLASS(name, mode)                                                                          \
    "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: " name               \
    "}\nprovisioner: " DRIVER "\nvolumeBindingMode: " mode "\n"

enum {
    BINDING,
    ATTACHING,
    PROTECTION,
    SNAPSHOTS,
};

const SmallWorld small_worlds[] = {
    [BINDING] = {"binding",
                 {"kube-controller-manager", "external-provisioner"},
                 small_worlds_driver_of, HEAD(1, "") CLAIM("1s", "now") POD("1500ms", "p", "")
                     END CLASS("now", "Immediate")},
    [ATTACHING] = {"attach and detach",
                 {"kube-controller-manager", "external-attacher"},
                 small_worlds_driver_of, HEAD(2, "") CLAIM("0s", "now")
                       POD("2s", "p", "nodeSelector: {kubernetes.io/hostname: n0}, ")
                           DELETE("6s", "Pod", "p")
                               POD("6500ms", "q", "nodeSelector: {kubernetes.io/hostname: n1}, ")
                                   END CLASS("now", "Immediate")},
    [PROTECTION] = {"protection",
                 {"kube-controller-manager", "kube-scheduler"},
                 small_worlds_driver_of, HEAD(1, "") CLAIM("0s", "now") POD(
                        "2s", "p", "") "  - {at: 3500ms, delete: {kind: PersistentVolume, "
                                       "volumeOfClaim: c}}\n" DELETE(
                                           "4s", "PersistentVolumeClaim", "c")
                                           DELETE("8s", "Pod", "p") END CLASS("now", "Immediate")},
    [SNAPSHOTS] =
        {"snapshots",
                 {"snapshot-controller", "external-snapshotter"},
                 small_worlds_driver_of, HEAD(1,
                 "    controllerCapabilities: [CREATE_DELETE_VOLUME, PUBLISH_UNPUBLISH_VOLUME, "
              "CREATE_DELETE_SNAPSHOT, LIST_SNAPSHOTS]\n")
             CLAIM("0s",
                 "now") "  - {at: 3s, create: {manifest: {apiVersion: "
                          "snapshot.storage.k8s.io/v1, kind: "
                          "VolumeSnapshot, metadata: {name: s}, spec: {volumeSnapshotClassName: "
                          "cuts, source: "
                          "{persistentVolumeClaimName: c}}}}}\n" DELETE(
                              "3500ms", "PersistentVolumeClaim", "c")
                              DELETE("60s", "VolumeSnapshot", "s") END_OF_CLAIMS CLASS(
                                  "now", "Immediate") "---\napiVersion: snapshot.storage.k8s.io/v1\nkind: "
                                               "VolumeSnapshotClass\n"
                                               "metadata: {name: cuts}\ndriver: " DRIVER
                                               "\ndeletionPolicy: Delete\n"},
    {0         },
};

/* The first of each pair is what a hasty reader would leave out: a look at the API, the wait for a
 * node, the other node's claim to a volume, the first of two steps. */
const PlantedBug planted_bugs[] = {
    {&small_worlds[BINDING],   "unbound claims", 1, 4},
    {&small_worlds[ATTACHING],                       "detach", 6, 2},
    {&small_worlds[ATTACHING],                        "attach", 3, 5},
    {&small_worlds[PROTECTION],"finalizers of claims", 5, 6},
    {&small_worlds[PROTECTION],                       "finalizers of volumes", 5, 4},
    {&small_worlds[SNAPSHOTS], "claims of snapshots", 2, 3},
    {0                      },
};
