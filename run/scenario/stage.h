/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Stages: durations of the steps in an object's life, between its milestones. The stages of a pod's
 * start follow one another and add up to pod-start. A stage counts only if both milestones were
 * seen. */
#define STAGES(X)                                                                                  \
    X(PROVISION, "provision", "claim: provisioner asked -> volume created")                        \
    X(BIND, "bind", "claim: created -> bound")                                                     \
    X(RESTORE, "restore", "claim with a source: created -> bound; it is in no bind")               \
    X(SNAPSHOT, "snapshot", "VolumeSnapshot: created -> readyToUse")                               \
    X(SCHEDULE, "schedule", "pod: created -> bound to a node")                                     \
    X(ATTACH, "attach", "pod: bound to a node -> its last volume attached")                        \
    X(STAGE, "stage",                                                                              \
      "pod: attached -> its last volume staged; waits for the node's status with it")              \
    X(PUBLISH, "publish", "pod: staged -> its last volume published")                              \
    X(PULL, "pull", "pod: published -> the images of its containers pulled, if that takes time")   \
    X(START, "start", "pod: pulled, or published, or else bound to a node -> Ready")               \
    X(POD_START, "pod-start", "pod: created -> Ready")                                             \
    X(STOP, "stop", "pod: deleted -> gone")                                                        \
    X(DETACH, "detach", "volume: last unpublished on a node -> its VolumeAttachment gone")         \
    X(DELETE, "delete", "volume: released -> gone")

typedef enum {
#define STAGE_MEMBER(member, name, meaning) STAGE_##member,
    STAGES(STAGE_MEMBER)
#undef STAGE_MEMBER
        N_STAGES,
} Stage;

const char *stage_name(Stage stage);
gboolean stage_find(const char *name, Stage *stage);
