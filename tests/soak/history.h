/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* The past of a run, as far as it excuses states that otherwise would be faults. */
typedef struct History History;

History *history_new(const Run *run);
void history_free(History *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(History, history_free)

/* For observers of calls and of writes. */
void history_call_started(History *self, const CsiCallRecord *record);
void history_call_answered(History *self, const CsiCallRecord *record);
void history_saw_write(History *self, const Object *before, const Object *after);
/* A PlanObserver. */
void history_saw_step(
    void *self, const Component *component, const Plan *plan, const char *rule, const char *step);

/* When the scheduler chose a node for the pod the last time; TIME_UNSET: never */
SimTime history_decided_at(const History *self, const ObjectKey *pod);
/* Whether a detach of the volume has ever asked its Node if the volume is safe to detach: if not,
 * the pair is uncertain from then on (ADC-57). */
gboolean history_is_detach_asked(const History *self, const char *volume);
/* When the node's taints or its cordon changed the last time; TIME_UNSET: not since the start */
SimTime history_node_changed_at(const History *self, const char *node);

/* Whether the process died between two instants, both included. @instance: driver or node; NULL:
 * any */
gboolean history_has_crash(
    const History *self, const char *process, const char *instance, SimTime from, SimTime to);

/* Whether the process has ever hung for so long that another replica led. It wakes up with requests
 * that it had decided on before. */
gboolean history_was_deposed(const History *self, const char *process);
/* Whether the node has been silent for so long, by a fault. */
gboolean history_was_silent(const History *self, const char *node, SimTime at_least);
/* Whether the attach/detach controller may have detached volumes that the node still uses: it was
 * silent for six minutes, or out of service, or its Node is gone (ADC-43, ADC-45). */
gboolean history_is_given_up(const History *self, const char *node);

/* ADC-42, ADC-43: the clock begins as the last pod leaves the volume; if it has run out, it is
 * enough that the node is not ready for a moment. */
gboolean history_is_clock_over(const History *self, const char *volume_id, const char *node);

/* The history of a volume on a node; all FALSE or TIME_UNSET if it was never there. */
typedef struct {
    SimTime attach_asked_at; /* the first ControllerPublishVolume after it was surely detached */
    gboolean attach_failed;  /* one of those succeeded, or has no answer */
    gboolean detach_failed;  /* the last ControllerUnpublishVolume succeeded, or has no answer */
    gboolean came_early;     /* attached for a pod that is older than the node's limit */
    SimTime bare_since;      /* perhaps staged, and in no pod's directory; TIME_UNSET: not so */
    SimTime left_at;         /* the last pod has ended or is to go; TIME_UNSET: none has */
} Place;
Place history_place(const History *self, const char *volume_id, const char *node);

/* Whether a claim went before the volume of this name was made of its snapshot: then the
 * provisioner goes on trying, and what the driver has made stays. */
gboolean history_is_source_forgotten(const History *self, const char *name);
/* Whether the volume's attachment to the node has ever said attached. */
gboolean history_was_attached(const History *self, const char *volume, const char *node);
/* When the object was deleted the last time; TIME_UNSET: never. Of pods only. */
SimTime history_gone_at(const History *self, const ObjectKey *pod);
/* When the CronJob was suspended the last time; TIME_UNSET: never */
SimTime history_suspended_at(const History *self, const ObjectKey *cron_job);
/* Since when the node has had some taint NoExecute; TIME_UNSET: it has none */
SimTime history_no_execute_since(const History *self, const char *node);
/* KVM-60: if a kubelet dies while the volume is staged and in no pod, the volume stays staged, and
 * no component knows. */
gboolean history_is_staging_forgotten(const History *self, const char *volume_id, const char *node);
/**
 * history_is_creation_forgotten:
 * @name: of the volume, as CreateVolume was told
 * A provisioner that dies forgets what it asked for. Whoever takes over asks again for each claim
 * that is still there: if the claim has gone by then nobody does.
 */
gboolean history_is_creation_forgotten(const History *self, const char *driver, const char *name);
/* Whether the back end had no room when the volume was to grow the last time. */
gboolean history_is_cramped(const History *self, const char *volume_id);
/* Whether a user has deleted its PersistentVolume with the policy Retain. */
gboolean history_is_kept(const History *self, const char *volume_id);
/* SNAP-41, SNAP-43: if a content is deleted while its CreateSnapshot may be under way the sidecar
 * waits, but nothing wakes it: the content stays. @content: interned name (nullable) */
gboolean history_is_snapshot_forgotten(const History *self, const char *content);
/* When the node reported its limit; TIME_UNSET: not yet */
SimTime history_registered_at(const History *self, const char *driver, const char *node);
