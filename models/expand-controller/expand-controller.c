/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expand controller: syncHandler() in expand_controller.go, for claims that ask for more than
 * they have. A rule table checks that claim and volume belong together; then the volume is grown by
 * an in-process plugin, handed over to the driver of a migrated plugin by an annotation, or left to
 * the external-resizer with an Event. Nearly all syncs are of claims that were just bound and only
 * look: of these only the token of the GET is taken, so later requests wait as long as they would.
 */
#include "expand-controller.h"

#include "expand-private.h"

#include "models/api/migration/migration.h"
#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/expand-controller/expand-test.h"

#define N_WORKERS 10 /* defaultWorkerCount */

static const Claim *
find_claim(const ExpandController *self, const Plan *plan)
{
    const Object *claim = informer_get(self->claims, plan_key(plan));

    return claim == NULL ? NULL : CLAIM_CONST(claim);
}

enum {
    VOLUME_READ = 1 << 0, /* the claim's volume is there */
    CLAIM_SEEN = 1 << 1,  /* so is the claim, still */
    VOLUME_OURS = 1 << 2, /* the volume is bound to this very claim */
    CLAIM_GROWN = 1 << 3, /* it asks for more than it has, or the volume notes an earlier size */
    EXPAND_FACTS_END = 1 << 4,
};

typedef enum {
    EXPAND_LEAVE,
    EXPAND_TELL,
    EXPAND_FAIL_READ,
    EXPAND_FAIL_UNBOUND,
} ExpandAction;

static const Rule expand_table[] = {
    {"RSZ-11", 0,                                                    VOLUME_READ, EXPAND_FAIL_READ   },
    {"RSZ-11", VOLUME_READ,                                          CLAIM_SEEN,  EXPAND_FAIL_READ   },
    {"RSZ-11", VOLUME_READ | CLAIM_SEEN,                             VOLUME_OURS, EXPAND_FAIL_UNBOUND},
    {"RSZ-11", VOLUME_READ | CLAIM_SEEN | VOLUME_OURS,               CLAIM_GROWN, EXPAND_LEAVE       },
    {"RSZ-13", VOLUME_READ | CLAIM_SEEN | VOLUME_OURS | CLAIM_GROWN, 0,           EXPAND_TELL        },
};

static const RuleTable expand_rules =
    RULE_TABLE("claims to expand", EXPAND_FACTS_END, expand_table);

/* Both may be NULL. */
static const Rule *
expand_controller_judge(const Claim *claim, const Volume *volume)
{
    uint32_t facts = (volume == NULL ? 0u : VOLUME_READ) | (claim == NULL ? 0u : CLAIM_SEEN);

    if (claim != NULL && volume != NULL) {
        if (volume->claim_ref.claim == claim->meta.key &&
            object_uid_equal(volume->claim_ref.uid, claim->meta.uid))
            facts |= VOLUME_OURS;
        if (claim->request_bytes > claim->capacity_bytes ||
            object_annotation(&volume->meta, ANNOTATION_PRE_RESIZE_CAPACITY) != NULL)
            facts |= CLAIM_GROWN;
    }
    return rules_find(&expand_rules, facts, NULL);
}

typedef struct {
    const char *key, *driver; /* interned */
} ResizerMark;

/* ObjectEdit. */
static gboolean
edit_resizer(Object *claim, const void *data)
{
    const ResizerMark *mark = data;

    return object_set_annotation(claim, mark->key, mark->driver);
}

/* MIG-65: the plugin's driver is to expand the volume. */
static void
hand_over(const ExpandController *self, Plan *plan, const Claim *claim, const InTreePlugin *plugin)
{
    Strings *strings = self->base.strings;
    ResizerMark *mark = plan_new_arg(plan, ResizerMark);

    plan_because(plan, "MIG-65");
    plan_event(plan, &claim->meta, "Normal", "ExternalExpanding",
               "CSI migration enabled for %s; waiting for external resizer to expand the pvc",
               in_tree_plugin_name(plugin));
    *mark = (ResizerMark){strings_intern(strings, ANNOTATION_STORAGE_RESIZER),
                          strings_intern(strings, in_tree_plugin_driver(plugin))};
    plan_patch_status_at(plan, &claim->meta, edit_resizer, mark, PLAN_STOP);
}

static void
expand_controller_decide_volume(const void *data, Plan *plan)
{
    const Claim *claim = find_claim(data, plan);
    const Volume *volume = VOLUME_CONST(plan_object(plan, plan_last_step(plan)));
    const Rule *rule = expand_controller_judge(claim, volume);

    plan_because(plan, rule->id);
    switch ((ExpandAction)rule->then) {
    case EXPAND_LEAVE:
        return;
    case EXPAND_TELL:
        if (expand_is_in_process(data, volume))
            expand_plan_in_process(data, plan, claim, volume);
        else if (volume->source != NULL && volume->source->origin != NULL)
            hand_over(data, plan, claim, volume->source->in_tree);
        else
            plan_event(plan, &claim->meta, "Normal", "ExternalExpanding",
                       "waiting for an external controller to expand this PVC");
        return;
    case EXPAND_FAIL_READ:
        plan_fail(plan, "%s", plan_has_failed(plan) ? plan_last_message(plan) : "");
        return;
    case EXPAND_FAIL_UNBOUND:
        plan_fail(plan, "persistent Volume is not bound to PVC being updated : %s",
                  claim->meta.key->text);
        return;
    }
    g_assert_not_reached();
}

void
expand_controller_sync(const void *data, Plan *plan)
{
    const ExpandController *self = data;
    const Claim *claim = find_claim(self, plan);

    plan_because(plan, "RSZ-11");
    if (claim == NULL)
        return;
    if (*claim_volume_name(claim) == '\0') { /* nothing is sent */
        plan_fail(plan, "resource name may not be empty");
        return;
    }
    plan_get(plan, objects_key(self->base.objects, KIND_VOLUME, NULL, claim_volume_name(claim)),
             PLAN_DECIDE);
    plan_then(plan, expand_controller_decide_volume);
}

/* Nearly all syncs are of claims that were bound just now, at the size they asked for: one GET and
 * nothing more. Only its token is taken then, so that later requests wait as long as they would. */
static gboolean
sync_would_only_look(const ExpandController *self, const Claim *claim)
{
    const Object *volume = informer_find(self->volumes, NULL, claim_volume_name(claim));

    return expand_controller_judge(claim, VOLUME_CONST(volume))->then == EXPAND_LEAVE;
}

/* RSZ-10. */
static void
expand_controller_claim_changed(void *data, const Object *before, const Object *after)
{
    ExpandController *self = data;
    const Claim *was = before == NULL ? NULL : CLAIM_CONST(before);
    const Claim *claim = after == NULL ? NULL : CLAIM_CONST(after);

    if (claim == NULL || claim->phase != CLAIM_BOUND)
        return;
    if (was != NULL && claim->request_bytes <= was->request_bytes &&
        claim->capacity_bytes <= was->capacity_bytes)
        return;
    if (sync_would_only_look(self, claim))
        api_client_reserve(self->base.client);
    else
        workers_add(self->workers, after->key);
}

static void
expand_controller_apply_change(void *data, const PlanChange *change)
{
    ExpandController *self = data;

    in_process_note(self->flex_drivers, change); /* CHANGE_EXPANDING_DRIVER */
}

#define SELF ExpandController
static const ComponentPart parts[] = {
    HAS_STATE(flex_drivers, flex_drivers_new, flex_drivers_free),
    HAS_INFORMER(volumes, KIND_VOLUME),
    HAS_INFORMER(claims, KIND_CLAIM, .changed = expand_controller_claim_changed),
    HAS_WORKERS(workers, "volume_expand", expand_controller_sync, .n_workers = N_WORKERS),
};

const ModelClass expand_controller_class = {
    KCM_MODEL("expand-controller"),
    .event_source = "volume_expand",
    .event_style = EVENTS_CORE,
    .rule_tables = RULE_TABLES(&expand_rules, &expand_recovery_rules),
    PARTS(parts),
    .apply_change = expand_controller_apply_change,
};
