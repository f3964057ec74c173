/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pvc-pv-protection/pvc-pv-protection.h"

#include "models/api/storage.h"
#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"

/* The finalizer of a VolumeAttributesClass goes when no volume and no claim names it. */

#define NAMES_MAX 3 /* of a claim: wanted, current, and the target of a change */

typedef struct {
    Protection head;
    Informer *classes, *volumes, *claims; /* NULL: the gate is off */
    InformerIndex *volumes_by_class, *claims_by_class;
    Workers *workers;
} VacProtection;

/* The classes that a volume or claim names: VAC-12. */
static unsigned
class_names(const Object *object, const char **names)
{
    unsigned n = 0;
    const char *all[NAMES_MAX] = {0};

    if (object == NULL)
        return 0;
    if (object_kind(object) == KIND_VOLUME) {
        all[0] = VOLUME_CONST(object)->attributes_class;
    } else {
        const Claim *claim = CLAIM_CONST(object);
        all[0] = claim->attributes_class;
        all[1] = claim->current_attributes_class;
        all[2] = claim->modify_target;
    }
    for (unsigned i = 0; i < NAMES_MAX; i++)
        if (all[i] != NULL && all[i][0] != '\0')
            names[n++] = all[i];
    return n;
}

static void
index_by_class(InformerIndex *index, const Object *object, Objects *objects)
{
    const char *names[NAMES_MAX];
    unsigned n = class_names(object, names);

    (void)objects;
    for (unsigned i = 0; i < n; i++)
        index_emit(index, names[i]);
}

static gboolean
vac_protection_is_used(const VacProtection *self, const char *name)
{
    unsigned n_volumes, n_claims;

    informer_index_get(self->volumes_by_class, name, &n_volumes);
    informer_index_get(self->claims_by_class, name, &n_claims);
    return n_volumes + n_claims > 0;
}

/* processVAC(). */
static const Rule class_table[] = {
    {"VAC-10", 0,                        SEEN,            FINALIZER_STAYS },
    {"VAC-10", SEEN | GUARDED,           GOING,           FINALIZER_STAYS },
    {"VAC-10", DELETED,                  GUARDED,         FINALIZER_STAYS },
    {"VAC-11", SEEN,                     GOING | GUARDED, FINALIZER_ADD   },
    {"VAC-11", DELETED | GUARDED,        USED,            FINALIZER_REMOVE},
    {"VAC-12", DELETED | GUARDED | USED, 0,               FINALIZER_STAYS },
};

static const RuleTable class_rules =
    RULE_TABLE("finalizers of VolumeAttributesClasses", VOLUME_FACTS_END, class_table);

static void
decide_class(const void *component, Plan *plan)
{
    const VacProtection *self = component;
    const Object *seen = informer_get(self->classes, plan_key(plan));
    gboolean is_named = seen != NULL && vac_protection_is_used(self, object_name(seen));

    protection_plan(&self->head, plan, seen, is_named, &class_rules);
}

/* VAC-13: the classes that it no longer names. A new volume or claim queues none. */
static void
user_event(void *component, const Object *before, const Object *after)
{
    VacProtection *self = component;
    const char *old[NAMES_MAX], *new[NAMES_MAX];
    unsigned n_old = class_names(before, old), n_new = class_names(after, new);

    for (unsigned i = 0; i < n_old; i++) {
        unsigned k = 0;
        while (k < n_new && new[k] != old[i])
            k++;
        if (k == n_new)
            workers_add(self->workers,
                        objects_key(self->head.base.objects, KIND_ATTRIBUTES_CLASS, NULL, old[i]));
    }
}

#define SELF VacProtection
static const ComponentPart parts[] = {
    HAS_TEXT(head.finalizer, FINALIZER_VAC_PROTECTION),
    PARTS_IF_GATE("VolumeAttributesClass"),
    HAS_INFORMER(classes, KIND_ATTRIBUTES_CLASS, WAKES_IF(workers, protection_has_work)),
    HAS_INFORMER(
        volumes, KIND_VOLUME, WITH_INDEX(volumes_by_class, index_by_class), .changed = user_event),
    HAS_INFORMER(
        claims, KIND_CLAIM, WITH_INDEX(claims_by_class, index_by_class), .changed = user_event),
    HAS_WORKERS(workers, "vac_protection", decide_class, .n_workers = 1),
};

const ModelClass vac_protection_class = {
    KCM_MODEL("vac-protection-controller"),
    .rule_tables = RULE_TABLES(&class_rules),
    PARTS(parts),
};
