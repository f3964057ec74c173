/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/lease.h"
#include "models/api/snapshot.h"
#include "models/api/workload.h"
#include "models/cluster/inspect.h"
#include "models/plan/rules.h"
#include "why.h"

/* One question to why.c. Each file follows the waits of some kinds of objects: it collects facts,
 * a table of rules finds the row that applies, and the row ends the chain or goes on to the next
 * object. causes.c lists the causes at which chains end. */
typedef struct {
    const WhyView *view;
    const Run *run;
    const WhyCalls *calls; /* NULL: nobody watched */
    const Cluster *cluster;
    ApiServer *api;
    Objects *objects;
    SimTime now;
    GPtrArray *lists[N_KINDS]; /* of Object (borrowed): the existing objects; NULL: not asked yet */
    GHashTable *users;       /* claim's key -> GPtrArray of Pod that use it; NULL: not asked yet */
    GHashTable *attachments; /* volume's name -> GPtrArray of Attachment; NULL: not asked yet */
    GArray *doings;          /* of Doing */
    GPtrArray *path;         /* of ObjectKey: being asked, against circles */
    Why *why;
} Question;

/* Facts as bits, in the order in which they decide: the row for the first fact that holds applies.
 * .all and .none of a Rule. */
#define WHY_FIRST(fact) (fact), (fact)-1
/* ... and the row where none holds. */
#define WHY_NONE(end) 0, (end)-1

/* ---- Objects ---- */
/* Each returns (borrowed): NULL: there is none. @name: may be NULL or "" */
const Object *
why_get(const Question *self, ObjectKind kind, const char *namespace, const char *name);
/* Returns: (borrowed): of Object: all of the kind, in the order in which they came */
const GPtrArray *why_list(Question *self, ObjectKind kind);
/* The pods that use a claim, and are not over. Returns: (borrowed): of Pod */
const GPtrArray *why_pods_of_claim(Question *self, const Claim *claim);
/* Returns: (borrowed): of Attachment */
const GPtrArray *why_attachments_of(Question *self, const char *volume);
const Claim *why_claim_of(const Question *self, const Pod *pod, const PodVolume *volume);
const Volume *why_volume_of(const Question *self, const Claim *claim);
CsiDriver *why_driver_of(const Question *self, const Volume *volume);
gboolean why_is_registered(const Question *self, const char *driver, const char *node);
/* The first owner of this kind. */
const Object *why_owner(const Question *self, const Object *object, ObjectKind kind);
/* Returns: (owned): of const Pod: pods that this workload owns, or (NULL) all */
GPtrArray *why_pods_owned(Question *self, const Object *owner);
/* The newest Event of this reason about the object. Returns: (borrowed): NULL: none */
const ApiEvent *why_event(const Question *self, const Object *object, const char *reason);

/* ---- Who works on an object ---- */
/* What the component does about the object. Returns: (borrowed): NULL: nothing */
const Doing *why_doing(const Question *self,
                       const ModelClass *class,
                       const char *instance,
                       const ObjectKey *key);
/* Ends the chain if the process does not work: it is down, hangs, has no leader, or the API server
 * is down. @since: of the wait. Returns: whether it did */
gboolean why_ask_process(Question *self, const char *process, const char *instance);
/* Returns: (borrowed): the Lease by which replicas of the process agree; NULL: none */
const Lease *why_lease(Question *self, const char *process, const char *instance);
/* The same if no replica of the process leads. */
gboolean why_ask_lease(Question *self, const char *process, const char *instance);
/* Ends the chain at what the process does about the object: nothing yet, since its workers or its
 * tokens are used up; a back-off; a call under way. @working: the cause if all is well */
gboolean why_ask_work(Question *self,
                      const ModelClass *class,
                      const char *instance,
                      const ObjectKey *key,
                      const char *working);
/* The fault that is under way. @process: NULL: any; of a driver: the node whose plugin is asked,
 * NULL: its controller. Returns: (borrowed): NULL: none */
const RunFault *
why_fault_of(const Question *self, FaultTarget target, const char *process, const char *victim);
/* Ends the chain at a fault that keeps the driver from its work, on @node or (NULL) its controller.
 */
gboolean why_ask_driver_fault(Question *self, const char *driver, const char *node);

/* Returns: (static): the text in the reader's language */
const char *why_words(const Question *self, const char *english) G_GNUC_FORMAT(2);
#define N_(text) text /* for translators: po/ */
/* A selector of nodes or labels, or a map of labels, on one line: "app=db", "zone in (a, b)".
 * Returns: (owned): "" of NULL */
char *why_selector(const json_t *selector);

/* ---- Links ---- */
/* Adds a link: of an object, or of anything else by its name ("driver/csi.example.com"). */
void why_link(Question *self, const Object *object, SimTime since, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
void why_link_named(Question *self, const char *name, SimTime since, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* Ends the chain: its last link is the object at fault. Returns: TRUE */
gboolean why_because(Question *self, const char *cause);
/* The same, with the time when it ends by itself */
gboolean why_until(Question *self, const char *cause, SimTime ends_at);
/* The same, of a driver's answer */
gboolean why_because_code(Question *self, const WhyCall *call);
/* A failed call of the driver. Ends the chain. Returns: FALSE: there is none */
gboolean why_ask_call(
    Question *self, const char *driver, CsiMethod method, const char *subject, const char *node);

typedef gboolean WhyAsk(Question *self, const Object *object);
/* Asks the object, unless it is being asked already: then something waits for itself by this way,
 * and another way is tried. */
gboolean why_once(Question *self, const Object *object, WhyAsk *ask);

/* ---- The kinds. Each returns whether the object waits; then the chain has its links and a cause
 */
gboolean why_ask_object(Question *self, const Object *object);
gboolean why_ask_pod(Question *self, const Pod *pod);
/* Since when the pod has been on its node: a pod that names its node is not scheduled. */
SimTime why_placed_at(const Pod *pod);
gboolean why_ask_unscheduled(Question *self, const Pod *pod);
/* The claims of a pod; with @node, also their volumes on it */
gboolean why_ask_mounts(Question *self, const Pod *pod);
/* Whether the node is not Ready; a machine that has just joined has no such condition yet. */
gboolean why_is_silent(const Node *node);
gboolean why_ask_node(Question *self, const Node *node);
/* @pod: (nullable): the question is about it */
gboolean why_ask_claim(Question *self, const Claim *claim, const Pod *pod);
/* Whether its class waits for a pod, and no node is chosen yet. */
gboolean why_awaits_pod(Question *self, const Claim *claim);
/* No PersistentVolume fits an unbound claim (at @node, if it is not NULL). Returns: FALSE: one does
 */
gboolean why_ask_no_volume(Question *self, const Claim *claim, const Node *node);
gboolean why_ask_change(Question *self, const Claim *claim);
/* A volume that its provisioner is to delete. */
gboolean why_ask_deleter(Question *self, const Volume *volume);
/* ... which is a directory of local-path-provisioner */
gboolean why_ask_directory(Question *self, const Volume *volume);
gboolean why_ask_volume(Question *self, const Volume *volume);
/* The nodes that still have a volume which is to go. */
gboolean why_ask_attachments(Question *self, const Volume *volume);
/* What keeps the volume on @node (nullable): a pod, a mount, a silent kubelet. */
gboolean why_ask_holder(Question *self, const Volume *volume, const Node *node);
/* local.c: a claim's volume by anything but a CSI driver's external-provisioner */
gboolean why_ask_other_provisioner(Question *self,
                                   const Claim *claim,
                                   const StorageClass *class,
                                   const char *volume);
/* @node: that the scheduler has chosen; NULL: none */
gboolean
why_ask_local_volume(Question *self, const char *driver, const char *name, const char *node);
/* ... attached and mounted by Kubernetes itself */
gboolean why_ask_in_process(Question *self, const Pod *pod, const Volume *volume);
gboolean why_ask_health(Question *self, const Claim *claim);
gboolean why_ask_attachment(Question *self, const Attachment *attachment);
gboolean why_ask_snapshot(Question *self, const VolumeSnapshot *snapshot);
gboolean why_ask_content(Question *self, const SnapshotContent *content);
gboolean why_ask_group(Question *self, const GroupSnapshot *group);
/* workload.c */
gboolean why_ask_stateful_set(Question *self, const Object *workload);
gboolean why_ask_deployment(Question *self, const Object *workload);
gboolean why_ask_replica_set(Question *self, const Object *workload);
gboolean why_ask_daemon_set(Question *self, const Object *workload);
gboolean why_ask_job(Question *self, const Object *workload);
gboolean why_ask_cron_job(Question *self, const Object *workload);
/* kinds.c: classes, CSINodes, CSIDrivers, Leases, quotas */
gboolean why_ask_other(Question *self, const Object *object);
/* "driver/NAME", "process/NAME[/INSTANCE]". @exists: (out): whether there is one */
gboolean why_ask_named(Question *self, const char *name, gboolean *exists);
gboolean why_ask_budget(Question *self, const DisruptionBudget *budget);
/* The quota or limit that refuses a claim of this template (nullable) in the owner's namespace. */
gboolean why_ask_refusal(Question *self, const Object *owner, const Claim *template);
/* An object that is being deleted: finds what holds it. */
gboolean why_ask_deletion(Question *self, const Object *object);
/* When the deletion was asked for: deletionTimestamp is later by the grace period. */
SimTime why_deleted_since(const Object *object);
/* A finalizer that no component of Kubernetes removes. */
gboolean why_ask_finalizer(Question *self, const Object *object);
/* "web-3" does not exist: its StatefulSet waits for web-2, or a quota refuses the claim. Returns:
 * FALSE: nobody would make it */
gboolean why_ask_missing_pod(Question *self, const char *namespace, const char *name);
/* A part of a driver does not run: a sidecar (on @node, if it runs on each), or (NULL) its plugin
 * on @node. Ends the chain. */
gboolean
why_ask_driver(Question *self, const char *driver, const ProcessClass *sidecar, const char *node);

/* ---- causes.c ---- */
typedef struct {
    const char *id, *unblock;
    const char *command; /* for why_command(); NULL: none */
    WhyMood mood;
} Cause;
const Cause *why_cause_find(const char *id);

/* Fills a row's command in: {kind}, {name}, {namespace} are of the object at fault, {waiter} is the
 * object that waits for it, {find} tells where a process is. Returns: (owned): NULL: there is none
 */
char *why_command(const char *command, const Why *why);

/* The tables, for the tests' walk; ends with NULL. */
extern const RuleTable why_pod_rules, why_claim_rules;
extern const RuleTable *const why_tables[];
