/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/import/recorded.h"

/* The stages of a recording, real or simulated: those of run/scenario/stage.h as far as an audit
 * log shows their ends. It shows no calls of drivers: stage, publish and start are one, and detach
 * begins with the deletion of the VolumeAttachment. */
#define REPLAY_STAGES(X)                                                                           \
    X(PROVISION, "provision")   /* claim: provisioner asked -> volume created */                   \
    X(BIND, "bind")             /* claim: created -> bound */                                      \
    X(SCHEDULE, "schedule")     /* pod: created -> bound to a node */                              \
    X(ATTACH, "attach")         /* pod: bound to a node -> its last volume attached */             \
    X(MOUNT, "mount")           /* pod with volumes: its last volume attached -> Ready */          \
    X(START, "start")           /* pod without volumes: bound to a node -> Ready */                \
    X(POD_START, "pod-start")   /* pod: created -> Ready */                                        \
    X(STOP, "stop")             /* pod: deleted -> gone */                                         \
    X(ATTACHMENT, "attachment") /* VolumeAttachment: created -> attached */                        \
    X(DETACH, "detach")         /* VolumeAttachment: deleted -> gone */                            \
    X(EXPAND, "expand")         /* claim: larger request -> larger capacity */                     \
    X(DELETE, "delete")         /* volume: released -> gone */

typedef enum {
#define REPLAY_STAGE_MEMBER(member, name) REPLAY_##member,
    REPLAY_STAGES(REPLAY_STAGE_MEMBER)
#undef REPLAY_STAGE_MEMBER
        N_REPLAY_STAGES,
} ReplayStage;

const char *replay_stage_name(ReplayStage stage);

/* One object's stage. */
typedef struct {
    ReplayStage stage;
    unsigned object; /* in recorded_objects() */
    unsigned last;   /* the object whose time @ends ended it */
    RecordedTime ends;
    const char *workload; /* "shop/StatefulSet/cache": of claims, volumes and attachments that of
                             their pods; interned in the recording of the workloads */
    SimTime from, to;
} ReplayValue;

/* Which workload uses a claim: by "namespace/name". The recording knows it for both sides. */
typedef struct ReplayWorkloads ReplayWorkloads;
/* @recorded: (borrowed): keeps the texts */
ReplayWorkloads *replay_workloads_new(Recorded *recorded);
void replay_workloads_free(ReplayWorkloads *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReplayWorkloads, replay_workloads_free)
/* Adds what the pods of another recording use, unless it is known already. */
void replay_workloads_add(ReplayWorkloads *self, const Recorded *recorded);

/* Returns: (owned): of ReplayValue: all stages whose both ends are in the recording, by object */
GArray *replay_stages(const Recorded *recorded, ReplayWorkloads *workloads);

/* replay-match.c: which object of a simulated recording is which real one. Names that controllers
 * make up differ: pods of a ReplicaSet match by their workload in order of creation, volumes by
 * their claim, attachments by claim and node. @completes: pods and attachments of @recorded that
 * lack claims get those of their match. Returns: (owned): by index of @recorded: the index in
 * @simulated + 1; 0: none */
unsigned *replay_match(Recorded *recorded, const Recorded *simulated, gboolean completes);
