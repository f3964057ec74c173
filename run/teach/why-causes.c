/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why-private.h"

#include <string.h>

/* A cause, and the way out. */
typedef struct {
    const char *id, *unblock;
} Cause;

/* clang-format off */
static const Cause causes[] = {
    {"none", ""},
    {"anti-affinity", "Add a node that has no such pod, or loosen the pod's affinity."},
    {"attach-limit", "Add a node, or delete a pod whose volume takes a place on one."},
    {"attaching", "Nothing is wrong yet: the driver is at work."},
    {"attributes-class-infeasible",
     "The driver cannot have these parameters: let the claim name its former class, or one that is possible."},
    {"attributes-class-missing",
     "Create the VolumeAttributesClass; then change the claim once more, because a new class wakes nobody."},
    {"changed-too-often",
     "The back end lets a volume change only so often: wait. The call is repeated on its own."},
    {"changing-group",
     "Nothing is wrong: the kubelet visits every file. Set fsGroupChangePolicy: OnRootMismatch, so that it does "
     "so only once, or let the driver do it (VOLUME_MOUNT_GROUP, fsGroupPolicy: None)."},
    {"claim-deleting", "The claim is being deleted; once it is gone, create it again."},
    {"claim-lost", "The volume is gone and its data with it: delete the claim and create a new one."},
    {"claim-missing", "Create the claim."},
    {"class-missing", "Create the StorageClass, or name one that is there."},
    {"content-missing", "The snapshot names a VolumeSnapshotContent that does not exist: create it, or correct the snapshot."},
    {"content-taken",
     "The content belongs to another snapshot, or names no such one: correct its spec.volumeSnapshotRef."},
    {"cordoned", "Uncordon a node, or add one."},
    {"driver-error", "The driver refuses: mend what it complains of. The call is repeated on its own."},
    {"driver-full", "The back end has no room: make some, or let the pod go to another zone."},
    {"driver-not-registered",
     "The driver's plugin is not running on the node: start it there, or keep the pod away."},
    {"driver-pod-starting", "The driver's own pod does not run yet: help it as any other pod."},
    {"driver-slow",
     "Calls take longer than their deadline: raise --timeout of the sidecar, or mend the driver."},
    {"expanding", "Nothing is wrong yet: the driver is at work."},
    {"expansion-infeasible", "The back end cannot have this size: ask for less, but for more than the volume has."},
    {"gated", "Whoever set the pod's scheduling gate must remove it."},
    {"group-not-handled",
     "Nobody handles groups: start snapshot-controller and csi-snapshotter with "
     "--feature-gates=CSIVolumeGroupSnapshot=true."},
    {"group-stuck",
     "The group was not ready at once, and this release cannot take up the snapshots that it has made (SNAP-88): "
     "delete the group; external-snapshotter 8.5 mends it."},
    {"in-group", "The snapshot belongs to a group: delete the VolumeGroupSnapshot, and it goes, too."},
    {"inline-refused",
     "The driver takes no inline volumes: list Ephemeral in its CSIDriver if it can have them, or use a claim."},
    {"modifying", "Nothing is wrong yet: the driver is at work."},
    {"mount-error",
     "The node cannot mount the volume: mend what the message tells. It is tried again on its own."},
    {"mounting", "Nothing is wrong yet: the kubelet is at work."},
    {"multi-attach",
     "The volume may be on one node only: delete the pod that uses it there; if that node is dead, taint it "
     "out-of-service."},
    {"no-attacher", "No external-attacher serves this driver: deploy it."},
    {"no-class", "Name a StorageClass in the claim, or make one the default."},
    {"no-consumer", "The class waits for a pod: create one that uses the claim."},
    {"no-driver-pod",
     "The driver's own pods do not run: create them, let them tolerate the node's taints and match its labels."},
    {"no-leader",
     "Nothing is wrong: another replica of the driver's controller leads once the Lease has expired."},
    {"no-provisioner",
     "No external-provisioner serves this class: deploy it, or correct the class's provisioner."},
    {"no-resizer",
     "No external-resizer does this for the driver: deploy it; for a class, with VolumeAttributesClass in its "
     "--feature-gates."},
    {"no-snapshot-class",
     "Name a VolumeSnapshotClass of the volume's driver, or mark exactly one of them as the default."},
    {"no-snapshotter", "No csi-snapshotter serves this driver: deploy it."},
    {"no-volume", "Create a PersistentVolume that fits the claim, or use a class that provisions."},
    {"node-not-ready", "The node's kubelet is silent: mend it. Pods elsewhere wait until this one is gone."},
    {"node-selector", "No node has the labels that the pod asks for: label one, or correct the pod."},
    {"ordered", "The StatefulSet makes its pods one after the other: help the one before."},
    {"provisioning", "Nothing is wrong yet: the driver is making the volume."},
    {"quota", "The namespace's quota is used up: raise it, or delete claims."},
    {"relabelling",
     "Nothing is wrong: the container runtime labels every file for SELinux. Let the driver mount with the label "
     "(seLinuxMount: true in its CSIDriver), and give the pod a level in seLinuxOptions."},
    {"resources", "Add a node, or ask for less."},
    {"restore-pending", "Claims are being made of the snapshot: it goes once they are bound, or gone."},
    {"rwop-in-use", "The claim is for one pod only: delete the other pod."},
    {"scheduling", "Nothing is wrong yet: the scheduler has not decided."},
    {"secret-missing", "Create the Secret that the message names. It is tried again on its own."},
    {"snapshot-deleting", "The snapshot is being deleted."},
    {"snapshot-missing", "Create the VolumeSnapshot, or correct the claim's source."},
    {"snapshot-not-on-node",
     "The content has no label of a node, so no node's csi-snapshotter sees it: start the "
     "snapshot-controller with --enable-distributed-snapshotting."},
    {"snapshot-secret-missing",
     "Create the Secret that the annotations of the VolumeSnapshotContent name. It is tried again on its own."},
    {"snapshotting", "Nothing is wrong yet: the driver is at work, and is asked again after 1 s, 2 s, 4 s, ..."},
    {"source-not-granted",
     "Create a ReferenceGrant in the source's namespace for claims of this one."},
    {"starting", "Nothing is wrong yet: the containers are being started."},
    {"storage-capacity",
     "No segment has so much room (CSIStorageCapacity): make some, or ask for less. Without such an object there is no "
     "room: let the provisioner publish them (--enable-capacity; the driver needs GET_CAPACITY)."},
    {"taint", "Let the pod tolerate the taint, or remove it."},
    {"terminating", "The pod is being stopped."},
    {"unmounted", "The file system grows on a node: start a pod with the claim."},
    {"volume-abnormal",
     "Look after the volume where it is stored. Nothing in Kubernetes reacts: the gate CSIVolumeHealth and the "
     "external-health-monitor only tell."},
    {"volume-deleting", "The volume is being deleted and will go: give the pod another claim."},
    {"volume-full",
     "Writes fail: delete data, or ask for a larger size (allowVolumeExpansion: true of the class). Kubernetes tells only "
     "in the metric kubelet_volume_stats_available_bytes."},
    {"volume-missing",
     "The claim names a PersistentVolume that does not exist: create it, or correct the claim."},
    {"volume-taken", "The claim names a PersistentVolume that belongs to another claim: name another one."},
    {"volume-zone", "The volume is in a zone where the pod may not run: add a node there, or move the data."},
};
/* clang-format on */

static const Cause *
cause_of(const char *id)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(causes); i++)
        if (strcmp(causes[i].id, id) == 0)
            return &causes[i];
    g_assert_not_reached();
}

gboolean
why_because(Question *self, const char *id)
{
    const Cause *cause = cause_of(id);

    self->why->cause = cause->id;
    self->why->unblock = cause->unblock;
    return TRUE;
}

/* The words of drivers and of their callers. After a timeout, the call goes on in the driver, and
 * the next call meets it. */
static const struct {
    const char *words, *cause;
} refusal_words[] = {
    {"DeadlineExceeded",                    "driver-slow"            },
    {"already exists",                      "driver-slow"            },
    {"VolumeModificationRateExceeded",      "changed-too-often"      },
    {"has changed too often",               "changed-too-often"      },
    {"ResourceExhausted",                   "driver-full"            },
    {"secrets \"",                          "secret-missing"         },
    {"cannot get credentials for",          "snapshot-secret-missing"},
    {"not found in the list of registered", "driver-not-registered"  },
    {"does not contain driver",             "driver-not-registered"  },
    {"not supported by driver",             "inline-refused"         },
};

const char *
why_cause_of_error(const char *message, const char *other)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(refusal_words); i++)
        if (strstr(message, refusal_words[i].words) != NULL)
            return refusal_words[i].cause;
    if (strstr(message, "CSINode") != NULL && strstr(message, "topology") != NULL)
        return "driver-not-registered";
    return other;
}
