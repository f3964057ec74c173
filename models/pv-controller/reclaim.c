/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes whose claim is gone (PVC-75 to PVC-78): retained, left to a deleter outside, deleted by
 * an in-tree plugin, or emptied by a recycler pod. Three rule tables: the policy, then the
 * decisions of the two operations after they have read the volume again. Nothing is destroyed
 * before that read, and only if the claim is still gone according to the private copies. A failed
 * delete sets the phase Failed and backs off; a failed recycling ends well, so every sync tries
 * again. */
#include "models/api/migration/migration.h"
#include "models/cluster/cluster.h"
#include "models/pv-controller/pv-controller-private.h"

#include <string.h>

#define RECYCLER_PREFIX "recycler-for-"
#define RECYCLER_NAMESPACE "default"
/* How long a scrub pod takes to empty its volume once it runs. Assumed: it depends on the contents,
 * and there is no source. */
#define SCRUB_TIME (1 * SIM_SECOND)
/* Kubernetes watches the pod; the model looks when the pod changes, at most this much later. */
#define WATCH_GRAIN (1 * SIM_MS)

/* The first steps of every operation here. */
#define STEP_VOLUME 0 /* reads the volume */
#define STEP_POD 1    /* creates its scrub pod */

static ObjectKey *
recycler_pod_key(const PvController *self, const ObjectKey *volume)
{
    return objects_key(self->base.objects, KIND_POD, RECYCLER_NAMESPACE,
                       strings_internf(self->base.strings, RECYCLER_PREFIX "%s", volume->name));
}

/* PVC-78: as the private copies tell. */
static gboolean
volume_is_released(const PvController *self, const Volume *volume)
{
    const Claim *claim = pv_cache_claim(self->cache, volume->claim_ref.claim);

    if (volume->claim_ref.claim == NULL || !object_uid_is_set(volume->claim_ref.uid))
        return FALSE;
    if (claim == NULL || !pv_refers_to_uid(volume, claim))
        return TRUE;
    const char *name = claim_volume_name(claim);
    return name[0] != '\0' && strcmp(name, object_name(&volume->meta)) != 0;
}

/* NULL: nothing made it, or an empty annotation says nothing. */
static const char *
maker_of(const Volume *volume)
{
    const char *provisioner = object_annotation(&volume->meta, ANNOTATION_PROVISIONED_BY);

    return provisioner == NULL || *provisioner == '\0' ? NULL : provisioner;
}

/* PVC-76: a deleter outside of Kubernetes acts when it sees the phase Released. */
static gboolean
deleter_is_external(const Volume *volume)
{
    const char *provisioner = maker_of(volume);

    if (provisioner != NULL && !pv_is_in_tree(provisioner))
        return TRUE;
    return pv_is_migrated(&volume->meta) ||
           (volume->source != NULL && volume->source->driver != NULL &&
            volume->source->origin == NULL);
}

/* INT-36: findDeletablePlugin(): the plugin that made the volume, otherwise the plugin of its
 * source. */
static CsiDriver *
deleter_of(const PvController *self, const Volume *volume)
{
    const char *provisioner = maker_of(volume);
    const VolumeSource *source = volume_in_process_source(volume);
    const InTreePlugin *plugin = source == NULL ? NULL : source->in_tree;

    if (provisioner == NULL)
        provisioner = plugin == NULL ? NULL : in_tree_plugin_name(plugin);
    return provisioner == NULL ? NULL
                               : cluster_plugin_backend(self->base.cluster, provisioner, NULL);
}

/* The operation fails; the phase says why. If it says so already, only the back-off grows. */
static void
plan_reclaim_failed(Plan *plan, const Volume *volume, const char *reason, const char *message)
{
    if (pv_plan_volume_phase(plan, volume, VOLUME_FAILED, message))
        plan_event(plan, &volume->meta, "Warning", reason, "%s", message);
}

/* The volume as those operations read it. */
enum {
    READ = 1 << 0,
    UNCLAIMED = 1 << 1,  /* still released (PVC-78) */
    GOING = 1 << 2,      /* it is being deleted */
    EXTERNAL = 1 << 3,   /* a deleter outside of Kubernetes is responsible */
    USED = 1 << 4,       /* by pods that go on; no new claim has its claim's name */
    RECYCLABLE = 1 << 5, /* NFS or hostPath */
    DELETABLE = 1 << 4,  /* an in-tree plugin deletes the storage */
    DELETE_FACTS_END = 1 << 5,
    RECYCLE_FACTS_END = 1 << 6,
    RELEASED = READ | UNCLAIMED,
};

typedef enum {
    RECLAIMED_LEAVE,
    RECLAIMED_FAIL,
    RECLAIMED_TELL_USED,
    RECLAIMED_SCRUB,  /* by a pod */
    RECLAIMED_DELETE, /* by a plugin */
} ReclaimedAction;

#define HONOR "HonorPVReclaimPolicy"

/* deleteVolumeOperation(). */
static const Rule delete_table[] = {
    {"PVC-76.1", 0,                            READ,                         RECLAIMED_LEAVE,  .gate = NULL    },
    {"PVC-76.2", READ,                         UNCLAIMED,                    RECLAIMED_LEAVE,  .gate = NULL    },
    {"PVC-76.3", RELEASED | EXTERNAL,          0,                            RECLAIMED_LEAVE,  .gate = NULL    },
    {"PVC-76.4", RELEASED,                     EXTERNAL | GOING | DELETABLE, RECLAIMED_FAIL,   .gate = NULL    },
    {"PVC-76.5", RELEASED | GOING,             EXTERNAL | DELETABLE,         RECLAIMED_FAIL,   .gate = HONOR   },
    {"PVC-76.5", RELEASED | GOING,             EXTERNAL,                     RECLAIMED_LEAVE,  .no_gate = HONOR},
    {"INT-36.1", RELEASED | DELETABLE,         EXTERNAL | GOING,             RECLAIMED_DELETE, .gate = NULL    },
    {"INT-36.2", RELEASED | DELETABLE | GOING, EXTERNAL,                     RECLAIMED_DELETE, .gate = HONOR   },
};

const RuleTable pv_delete_rules = RULE_TABLE("volumes to delete", DELETE_FACTS_END, delete_table);

/* recycleVolumeOperation(). */
static const Rule recycle_table[] = {
    {"PVC-77.1", 0,                     READ,              RECLAIMED_LEAVE    },
    {"PVC-77.2", READ,                  UNCLAIMED,         RECLAIMED_LEAVE    },
    {"PVC-77.3", RELEASED | USED,       0,                 RECLAIMED_TELL_USED},
    {"PVC-77.4", RELEASED,              USED | RECYCLABLE, RECLAIMED_FAIL     },
    {"PVC-77.5", RELEASED | RECYCLABLE, USED,              RECLAIMED_SCRUB    },
};

const RuleTable pv_recycle_rules =
    RULE_TABLE("volumes to recycle", RECYCLE_FACTS_END, recycle_table);

/* The facts that both operations ask for. @volume: as it was read; NULL: gone, or an error */
static uint32_t
reclaimed_facts(const PvController *self, const Volume *volume)
{
    if (volume == NULL)
        return 0;
    return READ | (volume_is_released(self, volume) ? UNCLAIMED : 0u);
}

static uint32_t
delete_facts(const PvController *self, const Volume *volume)
{
    uint32_t facts = reclaimed_facts(self, volume);

    facts |= volume != NULL && object_is_deleted(&volume->meta) ? GOING : 0;
    facts |= volume != NULL && deleter_is_external(volume) ? EXTERNAL : 0;
    facts |= volume != NULL && deleter_of(self, volume) != NULL ? DELETABLE : 0;
    return facts;
}

static void
plan_delete_failed(Plan *plan, const Volume *volume, const char *why)
{
    plan_reclaim_failed(plan, volume, "VolumeFailedDelete", why);
    plan_fail(plan, "%s", why);
}

/* INT-37: the finalizer goes, then the object. */
static void
plan_forget_volume(const PvController *self, Plan *plan, const Volume *volume)
{
    plan_because(plan, "INT-37");
    if (release_has_gate(self->release, HONOR))
        plan_update(plan, &volume->meta, edit_remove_finalizer, self->words.in_tree_finalizer,
                    PLAN_STOP);
    plan_delete(plan, volume->meta.key, (ObjectUid){0}, -1, PLAN_GO_ON);
}

/* Attached, or the driver still works on it: clouds have one answer for both. */
static gboolean
is_in_use(CsiCode code)
{
    return code == CSI_FAILED_PRECONDITION || code == CSI_ABORTED;
}

static void
decide_deleted(const void *component, Plan *plan)
{
    const Volume *volume = VOLUME_CONST(plan_object(plan, STEP_VOLUME));
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "INT-36");
    if (response->code == CSI_OK) {
        plan_forget_volume(component, plan, volume);
    } else if (is_in_use(response->code)) { /* the plugin needs more time */
        plan_event(plan, &volume->meta, "Normal", "VolumeDelete", "%s", response->message);
        plan_fail(plan, "%s", response->message);
    } else {
        plan_delete_failed(plan, volume, plan_internf(plan, "%s", response->message));
    }
}

static void
decide_delete_known(const void *component, Plan *plan)
{
    const PvController *self = component;
    const Volume *volume = (const Volume *)plan_object(plan, plan_last_step(plan));
    const Rule *rule = rules_find(&pv_delete_rules, delete_facts(self, volume), self->release);
    CsiRequest request = {.method = CSI_DELETE_VOLUME};

    plan_because(plan, rule->then == RECLAIMED_DELETE ? "INT-36" : "PVC-76");
    switch ((ReclaimedAction)rule->then) {
    case RECLAIMED_DELETE:
        request.volume_id = volume_backend_id(volume);
        plan_call(plan, deleter_of(self, volume), &request, PLAN_DECIDE);
        plan_then(plan, decide_deleted);
        return;
    case RECLAIMED_FAIL:
        plan_delete_failed(
            plan, volume,
            plan_internf(
                plan,
                "error getting deleter volume plugin for volume \"%s\": no volume plugin matched",
                object_name(&volume->meta)));
        return;
    case RECLAIMED_LEAVE:
    case RECLAIMED_TELL_USED:
    case RECLAIMED_SCRUB:
        return;
    }
    g_assert_not_reached();
}

/* The operation delete-...: reads the volume before anything is lost. */
static void
reclaim_decide_delete(const void *component, Plan *plan)
{
    (void)component;
    plan_because(plan, "PVC-76");
    plan_get(plan, plan_key(plan), PLAN_DECIDE);
    plan_then(plan, decide_delete_known);
}

/* ---- Recycling: PVC-77 ---- */

/* A pod that empties the volume, as RecycleVolumeByWatchingPodUntilCompletion() makes it. */
static Object *
recycler_pod_new(const PvController *self, const ObjectKey *volume)
{
    Strings *strings = self->base.strings;
    Pod *pod = POD(object_new(recycler_pod_key(self, volume)));

    if (pod->spec == NULL)
        pod->spec = pod_spec_new();
    pod->spec->restart_policy = strings_intern(strings, "Never");
    pod->spec->n_containers = 1;
    pod->spec->containers = g_new0(PodContainer, 1);
    pod->spec->containers[0] = (PodContainer){
        .name = strings_intern(strings, "pv-recycler"),
        .image = strings_intern(strings, "registry.k8s.io/debian-base:v2.0.0"),
    };
    return &pod->meta;
}

static void
plan_recycle_failed(Plan *plan, const Volume *volume, const char *why)
{
    /* The operation ends well, so there is no back-off: every sync tries again. */
    plan_reclaim_failed(plan, volume, "VolumeFailedRecycle",
                        plan_internf(plan, "Recycle failed: %s", why));
}

/* The scrub pod is deleted; the volume, as it was read at first, is free. */
static void
decide_recycled(const void *component, Plan *plan)
{
    const Volume *volume = VOLUME_CONST(plan_object(plan, STEP_VOLUME));

    (void)component;
    plan_because(plan, "PVC-77");
    plan_event(plan, &volume->meta, "Normal", "VolumeRecycled", "Volume recycled");
    pv_plan_unbind(plan, volume);
}

static void
decide_recycle_given_up(const void *component, Plan *plan)
{
    const PvController *self = component;
    const Object *pod = informer_get(self->pods, recycler_pod_key(self, plan_key(plan)));
    gboolean failed = pod != NULL && POD_CONST(pod)->phase == POD_FAILED;

    plan_because(plan, "PVC-77");
    plan_recycle_failed(plan, VOLUME_CONST(plan_object(plan, STEP_VOLUME)),
                        failed ? "pod failed, pod.Status.Message unknown"
                               : "recycler pod was deleted");
}

/* The pod is deleted in any case. */
static void
decide_scrubbed(const void *component, Plan *plan)
{
    const PvController *self = component;
    gboolean is_scrubbed = plan_code(plan, plan_last_step(plan)) == API_OK;

    plan_because(plan, "PVC-77");
    if (is_scrubbed)
        plan_wait(plan, SCRUB_TIME, WAIT_NONE);
    plan_delete(plan, recycler_pod_key(self, plan_key(plan)), (ObjectUid){0}, -1, PLAN_GO_ON);
    plan_then(plan, is_scrubbed ? decide_recycled : decide_recycle_given_up);
}

/* PlanCondition: the container has started; it ends well after SCRUB_TIME. */
static int
scrub_pod_runs(const void *component, const Plan *plan)
{
    const PvController *self = component;
    const ObjectKey *key = recycler_pod_key(self, plan_key(plan));
    const Object *seen = informer_get(self->pods, key);

    if (seen == NULL) { /* not yet, or no more */
        const ObjectUid *gone = g_hash_table_lookup(self->gone_scrub_pods, key);
        return gone != NULL && object_uid_equal(*gone, plan_object(plan, STEP_POD)->uid) ? -1 : 0;
    }
    switch ((PodPhase)POD_CONST(seen)->phase) {
    case POD_RUNNING:
    case POD_SUCCEEDED:
        return 1;
    case POD_FAILED:
        return -1;
    case POD_PENDING:
    case POD_UNKNOWN:
        return 0;
    }
    g_assert_not_reached();
}

static void
decide_pod_created(const void *component, Plan *plan)
{
    const PvController *self = component;
    int step = plan_last_step(plan);
    const Volume *volume = VOLUME_CONST(plan_object(plan, STEP_VOLUME));

    plan_because(plan, "PVC-77");
    if (plan_code(plan, step) == API_OK) {
        plan_poll(plan, WATCH_GRAIN, SIM_TIME_MAX, FALSE, scrub_pod_runs, PLAN_DECIDE);
        plan_then(plan, decide_scrubbed);
        return;
    }
    if (plan_code(plan, step) ==
        API_EXISTS) { /* left behind by a controller that died: the next sync finds none */
        plan_delete(plan, recycler_pod_key(self, plan_key(plan)), (ObjectUid){0}, -1, PLAN_GO_ON);
        plan_recycle_failed(plan, volume, "old recycler pod found, will retry later");
        return;
    }
    plan_recycle_failed(plan, volume,
                        plan_internf(plan, "unexpected error creating recycler pod:  %s",
                                     plan_message(plan, step)));
}

/* Pods that go on and name the claim. Returns: (owned): "default/a,default/b"; NULL: none */
static char *
pods_that_use(const PvController *self, const ObjectKey *claim)
{
    unsigned n_pods;
    const Object *const *pods = informer_index_get(self->pods_by_claim, claim, &n_pods);
    GString *names = g_string_new(NULL);

    for (unsigned i = 0; i < n_pods; i++)
        if (!pod_is_terminal(POD_CONST(pods[i])))
            g_string_append_printf(names, "%s%s", names->len == 0 ? "" : ",", pods[i]->key->text);
    return g_string_free(names, names->len == 0);
}

static gboolean
is_recyclable(const Volume *volume)
{
    const char *plugin = volume->source == NULL ? NULL : volume->source->plugin;

    return g_strcmp0(plugin, "nfs") == 0 || g_strcmp0(plugin, "hostPath") == 0;
}

static void
decide_recycle_known(const void *component, Plan *plan)
{
    const PvController *self = component;
    const Volume *volume = VOLUME_CONST(plan_object(plan, STEP_VOLUME));
    const ObjectKey *claim = volume == NULL ? NULL : volume->claim_ref.claim;
    g_autofree char *users = claim == NULL ? NULL : pods_that_use(self, claim);
    uint32_t facts = reclaimed_facts(self, volume);

    /* A new claim of that name has another volume: its pods do not matter. */
    facts |= users != NULL && pv_cache_claim(self->cache, claim) == NULL ? USED : 0;
    facts |= volume != NULL && is_recyclable(volume) ? RECYCLABLE : 0;
    plan_because(plan, "PVC-77");
    switch ((ReclaimedAction)rules_find(&pv_recycle_rules, facts, NULL)->then) {
    case RECLAIMED_LEAVE:
        return;
    case RECLAIMED_FAIL:
        plan_reclaim_failed(plan, volume, "VolumeFailedRecycle",
                            plan_internf(plan, "No recycler plugin found for the volume!"));
        return;
    case RECLAIMED_TELL_USED:
        plan_event(plan, &volume->meta, "Normal", "VolumeFailedRecycle",
                   "Volume is used by pods: %s", users);
        return;
    case RECLAIMED_DELETE: /* not of this table */
        return;
    case RECLAIMED_SCRUB:
        plan_create(plan, recycler_pod_new(self, volume->meta.key), PLAN_DECIDE);
        plan_then(plan, decide_pod_created);
        return;
    }
    g_assert_not_reached();
}

static void
decide_recycle(const void *component, Plan *plan)
{
    (void)component;
    plan_because(plan, "PVC-77");
    plan_get(plan, plan_key(plan), PLAN_DECIDE); /* STEP_VOLUME */
    plan_then(plan, decide_recycle_known);
}

void
pv_recycler_event(void *component, const Object *before, const Object *after)
{
    const PvController *self = component;
    const char *name = object_name(after != NULL ? after : before);

    if (!g_str_has_prefix(name, RECYCLER_PREFIX))
        return;
    if (after == NULL)
        g_hash_table_insert(self->gone_scrub_pods, (void *)before->key,
                            g_memdup2(&before->uid, sizeof before->uid));
    const ObjectKey *key =
        objects_find_key(self->base.objects, KIND_VOLUME, NULL, name + strlen(RECYCLER_PREFIX));
    const Volume *volume = pv_cache_volume(self->cache, key);
    Plan *plan = volume == NULL ? NULL
                                : operations_plan(self->operations,
                                                  pv_operation_key(pv_recycle, &volume->meta));
    if (plan != NULL)
        plan_wake(plan);
}

/* ---- The policy: PVC-75 ---- */

/* How a volume is reclaimed. */
enum {
    MIGRATED = 1 << 0, /* to CSI: this controller leaves it alone */
    RETAIN = 1 << 1,
    DELETE = 1 << 2,
    RECYCLE = 1 << 3,
    POLICY_FACTS_END = 1 << 4,
};

typedef enum {
    RECLAIM_LEAVE,
    RECLAIM_START_DELETE,
    RECLAIM_START_RECYCLE,
} ReclaimAction;

/* reclaimVolume(). */
static const Rule policy_table[] = {
    {"PVC-75.1", MIGRATED, 0,        RECLAIM_LEAVE        },
    {"PVC-75.2", RETAIN,   MIGRATED, RECLAIM_LEAVE        },
    {"PVC-75.3", DELETE,   MIGRATED, RECLAIM_START_DELETE },
    {"PVC-75.4", RECYCLE,  MIGRATED, RECLAIM_START_RECYCLE},
};

static const RuleBound policy_bounds[] = {
    {.one_of = RETAIN | DELETE | RECYCLE},
};

const RuleTable pv_policy_rules =
    RULE_TABLE("reclaim policies", POLICY_FACTS_END, policy_table, RULE_BOUNDS(policy_bounds));

/* The operation's verb; NULL: the volume stays. */
static const char *
reclaim_operation(const Volume *volume)
{
    static const uint32_t policies[] = {
        [RECLAIM_RETAIN] = RETAIN,
        [RECLAIM_DELETE] = DELETE,
        [RECLAIM_RECYCLE] = RECYCLE,
    };
    static const char *const operations[] = {
        [RECLAIM_LEAVE] = NULL,
        [RECLAIM_START_DELETE] = pv_delete,
        [RECLAIM_START_RECYCLE] = pv_recycle,
    };
    uint32_t facts = policies[volume->reclaim_policy];

    facts |= pv_is_migrated(&volume->meta) ? MIGRATED : 0;
    return operations[rules_find(&pv_policy_rules, facts, NULL)->then];
}

gboolean
pv_is_being_reclaimed(const PvController *self, const Volume *volume)
{
    const char *verb = reclaim_operation(volume);

    return verb != NULL &&
           operations_is_running(self->operations, pv_operation_key(verb, &volume->meta));
}

gboolean
pv_plan_reclaim(const PvController *self, Plan *plan, const Volume *volume)
{
    const char *verb = reclaim_operation(volume);

    if (verb == NULL)
        return FALSE;
    if (verb == pv_delete)
        pv_plan_time_operation(self, plan, verb, &volume->meta);
    pv_plan_operation(self, plan, verb, &volume->meta,
                      volume->reclaim_policy == RECLAIM_DELETE ? reclaim_decide_delete
                                                               : decide_recycle);
    return TRUE;
}
