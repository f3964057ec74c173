/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* What has happened in a run so far, as far as it makes true what otherwise would be a fault. */
typedef struct History History;

History *history_new(const Run *run);
void history_free(History *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(History, history_free)

/* As observers hear of calls and of writes. */
void history_call_started(History *self, const CsiCallRecord *record);
void history_call_answered(History *self, const CsiCallRecord *record);
void history_saw_write(History *self, const Object *before, const Object *after);

/* Whether the process died at some instant of these, its ends included. @instance: driver or node;
 * NULL: any */
gboolean history_has_crash(
    const History *self, const char *process, const char *instance, SimTime from, SimTime to);

/* What is known of a volume on a node; all FALSE or TIME_UNSET if nothing ever happened to it
 * there. */
typedef struct {
    SimTime
        attach_asked_at;    /* the first ControllerPublishVolume since it was surely not attached */
    gboolean attach_failed; /* one of those did, or has no answer */
    gboolean detach_failed; /* the last ControllerUnpublishVolume did, or has no answer */
    gboolean came_early;    /* attached for a pod that is older than the node's limit */
    SimTime bare_since;     /* perhaps staged, and in no pod's directory; TIME_UNSET: not so */
} Place;
Place history_place(const History *self, const char *volume_id, const char *node);

/* KVM-60: a kubelet that dies while the volume is staged and in no pod leaves it so, and nobody
 * knows. */
gboolean history_is_staging_forgotten(const History *self, const char *volume_id, const char *node);
/**
 * history_is_creation_forgotten:
 * @name: of the volume, as CreateVolume was told
 * A provisioner that dies forgets what it asked for. Whoever takes over asks again for each claim
 * that is still there: if the claim has gone by then nobody does.
 */
gboolean history_is_creation_forgotten(const History *self, const char *driver, const char *name);
/* When the node told its limit: TIME_UNSET: not yet */
SimTime history_registered_at(const History *self, const char *driver, const char *node);
