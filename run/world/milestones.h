/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "record.h"

/* The milestones of each object with their times: observed at the API server and the drivers, never
 * asked of a model. An object that is imported with a uid passed those that its state shows before
 * the run: a time stamp of a cluster has whole seconds, and only some milestones have one. */

#define MILESTONES(X)                                                                              \
    X(CLAIM_CREATED, "created")                                                                    \
    X(CLAIM_SOURCE_NAMED, "source-named")   /* to be made of a snapshot or another claim */        \
    X(CLAIM_SELECTED, "selected-node")      /* the scheduler chose a node for it */                \
    X(CLAIM_ANNOTATED, "provisioner-asked") /* the storage-provisioner annotation */               \
    X(CLAIM_BOUND, "bound")                                                                        \
    X(CLAIM_LOST, "lost")                                                                          \
    X(CLAIM_EXPANSION_ASKED, "expansion-asked") /* its request grew */                             \
    X(CLAIM_NODE_AWAITED, "node-awaited")       /* NodeResizePending */                            \
    X(CLAIM_EXPANDED, "expanded")               /* its capacity grew */                            \
    X(CLAIM_DELETED, "deleted")                 /* deletionTimestamp */                            \
    X(CLAIM_GONE, "gone")                                                                          \
    X(VOLUME_PROVISION_STARTED, "provision-started") /* the first CreateVolume */                  \
    X(VOLUME_PROVISION_ENDED, "provision-ended")                                                   \
    X(VOLUME_CREATED, "created")                                                                   \
    X(VOLUME_BOUND, "bound")                                                                       \
    X(VOLUME_RELEASED, "released")                                                                 \
    X(VOLUME_DELETE_STARTED, "delete-started")                                                     \
    X(VOLUME_DELETE_ENDED, "delete-ended")                                                         \
    X(VOLUME_DELETED, "deleted")                                                                   \
    X(VOLUME_GONE, "gone")                                                                         \
    X(VOLUME_ATTACH_REQUESTED, "attach-requested") /* its VolumeAttachment was created, or the     \
                                                      controller attaches by itself */             \
    X(VOLUME_ATTACH_STARTED, "attach-started")     /* ControllerPublishVolume */                   \
    X(VOLUME_ATTACH_ENDED, "attach-ended")                                                         \
    X(VOLUME_ATTACHED, "attached")          /* status.attached */                                  \
    X(VOLUME_REPORTED, "reported-attached") /* in the node's volumesAttached */                    \
    X(VOLUME_IN_USE, "reported-in-use")     /* in the node's volumesInUse */                       \
    X(VOLUME_STAGE_STARTED, "stage-started")                                                       \
    X(VOLUME_STAGED, "staged")                                                                     \
    X(VOLUME_PUBLISH_STARTED, "publish-started")                                                   \
    X(VOLUME_PUBLISHED, "published")                                                               \
    X(VOLUME_UNPUBLISH_STARTED, "unpublish-started")                                               \
    X(VOLUME_UNPUBLISHED, "unpublished")                                                           \
    X(VOLUME_UNSTAGE_STARTED, "unstage-started")                                                   \
    X(VOLUME_UNSTAGED, "unstaged")                                                                 \
    X(VOLUME_NOT_IN_USE, "reported-not-in-use")                                                    \
    X(VOLUME_NOT_REPORTED, "reported-detached")                                                    \
    X(VOLUME_DETACH_REQUESTED, "detach-requested") /* its VolumeAttachment is deleted */           \
    X(VOLUME_DETACH_STARTED, "detach-started")                                                     \
    X(VOLUME_DETACH_ENDED, "detach-ended")                                                         \
    X(VOLUME_DETACHED, "detached")             /* its VolumeAttachment is gone */                  \
    X(VOLUME_EXPAND_STARTED, "expand-started") /* ControllerExpandVolume */                        \
    X(VOLUME_EXPAND_ENDED, "expand-ended")                                                         \
    X(VOLUME_GROWN, "grown") /* spec.capacity */                                                   \
    X(VOLUME_NODE_EXPAND_STARTED, "node-expand-started")                                           \
    X(VOLUME_NODE_EXPANDED, "node-expanded")                                                       \
    X(POD_CREATED, "created")                                                                      \
    X(POD_UNSCHEDULABLE, "unschedulable") /* PodScheduled turned False */                          \
    X(POD_SCHEDULED, "scheduled")         /* bound to a node */                                    \
    X(POD_PULLED, "pulled")               /* its images, if that took time */                      \
    X(POD_RUNNING, "running")                                                                      \
    X(POD_READY, "ready")                                                                          \
    X(POD_NOT_READY, "not-ready") /* it was Ready, and runs on */                                  \
    X(POD_DELETED, "deleted")                                                                      \
    X(POD_STOPPED, "stopped") /* a terminal phase */                                               \
    X(POD_GONE, "gone")                                                                            \
    X(SNAPSHOT_CREATED, "created")                                                                 \
    X(SNAPSHOT_CONTENT_CREATED, "content-created")                                                 \
    X(SNAPSHOT_CREATE_STARTED, "create-started") /* CreateSnapshot, also to ask again */           \
    X(SNAPSHOT_CREATE_ENDED, "create-ended")                                                       \
    X(SNAPSHOT_TAKEN, "taken") /* its content has the driver's handle */                           \
    X(SNAPSHOT_READY, "ready") /* status.readyToUse */                                             \
    X(SNAPSHOT_DELETED, "deleted")                                                                 \
    X(SNAPSHOT_GONE, "gone")

typedef enum {
#define MILESTONE_MEMBER(member, text) MILESTONE_##member,
    MILESTONES(MILESTONE_MEMBER)
#undef MILESTONE_MEMBER
        N_MILESTONES,
} MilestoneKind;

const char *milestone_name(MilestoneKind kind);

/* A driver call by its milestones: its start, and the end of each try. */
typedef struct {
    CsiMethod method;
    MilestoneKind started, ended;
} MilestoneCall;

/* Returns: (static): the call that @kind begins or ends; NULL: none */
const MilestoneCall *milestone_call(MilestoneKind kind);

/* A milestone. The log begins with those before the run; then it is in order of time, and the
 * milestones of one object are chained. This is a copy: the log itself is packed. */
typedef struct {
    const ObjectKey *object;
    const char
        *node; /* interned: of milestones of a volume on a node, and of POD_SCHEDULED; NULL: none */
    SimTime at;           /* TIME_UNSET: at an unknown time before the run */
    uint32_t previous;    /* the previous milestone of the same object: index + 1; 0: none */
    SimCauseId cause;     /* its cause, for attribution */
    uint16_t incarnation; /* of the object */
    uint8_t kind;         /* MilestoneKind */
    uint8_t code;         /* of calls: CsiCode */
} Milestone;

/* Data of a pod besides its milestones, from its creation. */
typedef struct {
    const ObjectKey *pod;
    PodVolumes *volumes;
    /* (owned): the volumes that stand in the pod, as if they were PersistentVolumes; NULL: none */
    const ObjectKey **inline_volumes;
    StringMap *labels; /* at its creation */
    uint16_t incarnation;
    uint32_t previous; /* the record of the pod of this name before it: index + 1; 0: none */
} PodRecord;

typedef struct Milestones Milestones;

/* Watches @cluster's API server and its drivers from now on. Returns: (owned) */
Milestones *milestones_new(Cluster *cluster, Records *records, Sim *sim, Objects *objects);
void milestones_free(Milestones *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Milestones, milestones_free)

unsigned milestones_count(const Milestones *self);
Milestone milestones_at(const Milestones *self, unsigned i);
/* The last milestone of an object: index + 1; 0: none. */
uint32_t milestones_last(const Milestones *self, const ObjectKey *object);
/* Fills @milestones with the milestones of an object, the latest first. */
void milestones_of(const Milestones *self, const ObjectKey *object, GArray *milestones);
unsigned milestones_n_pods(const Milestones *self);
const PodRecord *milestones_pod(const Milestones *self, unsigned i);
/* Returns: (borrowed) (nullable): the record of this incarnation of a pod */
const PodRecord *
milestones_find_pod(const Milestones *self, const ObjectKey *pod, unsigned incarnation);
/* The last volume that a claim was bound to; NULL: none. */
const ObjectKey *milestones_volume_of(const Milestones *self, const ObjectKey *claim);
/* The time of the last change of any object except Events. */
SimTime milestones_last_change(const Milestones *self);
