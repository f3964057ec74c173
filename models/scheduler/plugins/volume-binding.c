/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VolumeBinding: can the pod's claims be met on a node? Bound claims by their volume's node
 * affinity; late-binding claims by a volume that fits, or by making one. Reserve and PreBind are in
 * binding.c and attempt.c. The names are in claim.h: VB-3 selected node, VB-4 bound by the
 * controller, VB-5 binding completed, VB-6 no provisioner, VB-7 a class in an annotation. */
#include "models/volume/matching.h"
#include "plugins.h"

#include <string.h>

/* Why a node does not do (VB-21: in this order). */
typedef enum {
    CONFLICT_AFFINITY = 1 << 0,  /* VB-T7 */
    CONFLICT_BINDING = 1 << 1,   /* VB-T8 */
    CONFLICT_STORAGE = 1 << 2,   /* VB-T9 */
    CONFLICT_NO_VOLUME = 1 << 3, /* VB-T10 */
    CONFLICT_ERROR = 1 << 4,
} Conflicts;

#define REACH_WORDS_SINCE 33 /* SCH-131 */
#define NO_VOLUMES "node(s) didn't find available persistent volumes to bind"
#define NO_STORAGE "node(s) did not have enough free storage"

/* ---- PreFilter ---- */

/* A claim of the pod, before nodes are looked at. */
enum {
    STORED = 1 << 0,
    EPHEMERAL = 1 << 1, /* of an ephemeral volume */
    LOST = 1 << 2,
    DELETED = 1 << 3,
    FOREIGN = 1 << 4, /* the pod does not own it */
    CHECK_FACTS_END = 1 << 5,
};

typedef enum {
    CHECK_OK,
    CHECK_TELL_MISSING,
    CHECK_TELL_NOT_MADE,
    CHECK_TELL_LOST,
    CHECK_TELL_DELETED,
    CHECK_TELL_FOREIGN,
} CheckAnswer;

/* podHasPVCs() of the plugin VolumeBinding. */
static const Rule claim_table[] = {
    {"VB-T2",   0,                            STORED | EPHEMERAL,         CHECK_TELL_MISSING },
    {"VB-T3",   EPHEMERAL,                    STORED,                     CHECK_TELL_NOT_MADE},
    {"VB-T4",   STORED | LOST,                0,                          CHECK_TELL_LOST    },
    {"VB-T5",   STORED | DELETED,             LOST,                       CHECK_TELL_DELETED },
    {"VB-T6",   STORED | EPHEMERAL | FOREIGN, LOST | DELETED,             CHECK_TELL_FOREIGN },
    {"VB-13.1", STORED | EPHEMERAL,           LOST | DELETED | FOREIGN,   CHECK_OK           },
    {"VB-13.2", STORED,                       LOST | DELETED | EPHEMERAL, CHECK_OK           },
};

const RuleTable scheduler_claim_rules =
    RULE_TABLE("claims of a pod to schedule", CHECK_FACTS_END, claim_table);

static uint32_t
check_facts(const Cycle *cycle, const CycleClaim *claim, const Claim *stored)
{
    uint32_t facts = claim->volume->ephemeral ? EPHEMERAL : 0;

    if (stored == NULL)
        return facts;
    facts |= STORED;
    facts |= stored->phase == CLAIM_LOST ? LOST : 0;
    facts |= object_is_deleted(&stored->meta) ? DELETED : 0;
    facts |= !object_is_controlled_by(&stored->meta, &cycle->pod->meta) ? FOREIGN : 0;
    return facts;
}

/* VB-13: reads the informer, as the lister of Kubernetes (VB-S7). */
static Verdict
volume_binding_check_claim(Cycle *cycle, const CycleClaim *claim)
{
    const Claim *stored = CLAIM_CONST(informer_get(cycle->view->claims, claim->key));
    uint32_t facts = check_facts(cycle, claim, stored);

    switch ((CheckAnswer)rules_find(&scheduler_claim_rules, facts, NULL)->then) {
    case CHECK_OK:
        return VERDICT_OK;
    case CHECK_TELL_MISSING:
        cycle_text(cycle, "persistentvolumeclaim \"%s\" not found", claim->key->name);
        break;
    case CHECK_TELL_NOT_MADE: /* EPH-8 */
        cycle_text(
            cycle,
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"%s\"",
            claim->key->name);
        break;
    case CHECK_TELL_LOST:
        cycle_text(cycle,
                   "persistentvolumeclaim \"%s\" bound to non-existent persistentvolume \"%s\"",
                   claim->key->name, claim_volume_name(stored));
        break;
    case CHECK_TELL_DELETED:
        cycle_text(cycle, "persistentvolumeclaim \"%s\" is being deleted", claim->key->name);
        break;
    case CHECK_TELL_FOREIGN:
        cycle_text(cycle, "PVC %s was not created for pod %s (pod is not owner)", claim->key->text,
                   cycle->pod->meta.key->text);
        break;
    }
    return VERDICT_UNRESOLVABLE;
}

/* VB-14 (VB-S1, VB-S2, VB-S3). Returns: FALSE: unbound, and not for the scheduler to bind (VB-T1)
 */
static gboolean
classify_claim(Cycle *cycle, CycleClaim *claim)
{
    claim->claim = CLAIM_CONST(assume_cache_get(cycle->view->binder->claims, claim->key));
    claim->class = cycle_find_class(cycle, claim->claim);
    claim->is_bound = claim_is_fully_bound(claim->claim);
    claim->refused = FALSE;
    claim->reserved = NULL;
    claim->n_candidates = 0;
    if (claim->is_bound) {
        const ObjectKey *key = objects_find_key(cycle->view->objects, KIND_VOLUME, NULL,
                                                claim_volume_name(claim->claim));
        claim->bound =
            key == NULL ? NULL : VOLUME_CONST(assume_cache_get(cycle->view->binder->volumes, key));
        return TRUE;
    }
    return claim->class != NULL && claim->class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER &&
           claim_volume_name(claim->claim)[0] == '\0';
}

/* VB-T12. No class of a real cluster is like that. */
static gboolean
has_no_mode(Cycle *cycle, const CycleClaim *claim)
{
    if (claim->is_bound || claim->class == NULL || claim->class->binding_mode != BINDING_UNSET)
        return FALSE;
    cycle_text(cycle, "VolumeBindingMode not set for StorageClass \"%s\"",
               object_name(&claim->class->meta));
    return TRUE;
}

static gint
compare_volumes(gconstpointer a, gconstpointer b)
{
    const Volume *first = *(const Volume *const *)a, *second = *(const Volume *const *)b;

    return volume_compare_capacity(first, second)
               ?: strcmp(first->meta.key->name, second->meta.key->name);
}

/* One volume of the claim's class, judged by all but the node. Returns: FALSE: the search ends */
static gboolean
offer_volume(Cycle *cycle, CycleClaim *claim, const MatchQuery *query, const Object *stored)
{
    const Volume *volume =
        VOLUME_CONST(assume_cache_get(cycle->view->binder->volumes, stored->key));

    switch (volume_match_judge(query, volume, NULL)) {
    case MATCH_SKIP:
        return TRUE;
    case MATCH_REFUSED:
        claim->refused = TRUE;
        return FALSE;
    case MATCH_RESERVED:
        claim->reserved = volume;
        return FALSE;
    case MATCH_CANDIDATE: /* PVC-32.13 */
        if (access_modes_include(volume->access_modes, claim->claim->access_modes))
            g_ptr_array_add(cycle->candidates, (void *)volume);
        return TRUE;
    }
    g_assert_not_reached();
}

/* VB-16, VB-40: the volumes that the claim could have on a node that reaches them, best first. All
 * but the reach is judged once for all nodes. */
static void
find_candidates(Cycle *cycle, CycleClaim *claim)
{
    const CycleView *view = cycle->view;
    const MatchQuery query = {.claim = claim->claim,
                              .attributes_classes = view->attributes_classes};
    gboolean goes_on = TRUE;
    unsigned n;

    claim->first_candidate = cycle->candidates->len;
    const Object *const *reserved = informer_index_get(view->reserved_volumes, claim->key, &n);
    for (unsigned i = 0; i < n && goes_on; i++) {
        if (volume_class(VOLUME_CONST(reserved[i])) == claim_class(claim->claim))
            goes_on = offer_volume(cycle, claim, &query, reserved[i]);
    }
    const Object *const *of_class =
        informer_index_get(view->free_volumes, claim_class(claim->claim), &n);
    for (unsigned i = 0; i < n && goes_on; i++)
        goes_on = offer_volume(cycle, claim, &query, of_class[i]);

    claim->n_candidates = cycle->candidates->len - claim->first_candidate;
    if (claim->n_candidates > 1)
        qsort(cycle->candidates->pdata + claim->first_candidate, claim->n_candidates,
              sizeof(gpointer), compare_volumes);
}

/* VB-51, VB-11: whether the driver wants its capacity objects to be looked at. */
static gboolean
checks_capacity(const Cycle *cycle, const CycleClaim *claim)
{
    const Object *driver = informer_find(cycle->view->csi_drivers, NULL, claim->class->provisioner);

    return driver != NULL && claim->claim->request_bytes != 0 &&
           CSI_DRIVER_OBJECT(driver)->storage_capacity;
}

static int64_t
requested(const Cycle *cycle, unsigned i)
{
    return g_array_index(cycle->claims, CycleClaim, i).claim->request_bytes;
}

/* VB-23: by size; claims of equal size in the order of the pod's volumes. */
static void
add_by_size(Cycle *cycle, unsigned i)
{
    unsigned at = cycle->by_size->len;

    g_array_append_val(cycle->by_size, i);
    unsigned *order = (unsigned *)(void *)cycle->by_size->data;
    for (; at > 0 && requested(cycle, order[at - 1]) > requested(cycle, i); at--)
        order[at] = order[at - 1];
    order[at] = i;
}

static void
prepare_claim(Cycle *cycle, unsigned i)
{
    CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);

    if (claim->is_bound)
        return;
    add_by_size(cycle, i);
    claim->selected_node = object_annotation(&claim->claim->meta, ANNOTATION_SELECTED_NODE);
    claim->checks_capacity = checks_capacity(cycle, claim);
    if (claim->selected_node == NULL)
        find_candidates(cycle, claim);
}

static gboolean
can_provision(const StorageClass *class)
{
    return class->provisioner != NULL && class->provisioner[0] != '\0' &&
           strcmp(class->provisioner, PROVISIONER_NONE) != 0;
}

/* Whether every node will do for this claim. */
static gboolean
is_met_anywhere(const CycleClaim *claim)
{
    const StorageClass *class = claim->class;

    if (claim->is_bound)
        return claim->bound != NULL && volume_node_affinity(claim->bound) == NULL;
    return claim->selected_node == NULL && claim->reserved == NULL && claim->n_candidates == 0 &&
           !claim->refused && !claim->checks_capacity && class->allowed_topologies == NULL &&
           can_provision(class);
}

/* ---- What can be said of all nodes at once ---- */

static LabelIndex *
volume_binding_labels_of(const Cycle *cycle)
{
    return scheduler_cache_labels(cycle->view->cache);
}

static unsigned
n_nodes(const Cycle *cycle)
{
    unsigned n;

    scheduler_cache_nodes(cycle->view->cache, &n);
    return n;
}

/* Offers the candidate to nodes that reach it and have no better one yet. Returns: FALSE: labels
 * alone do not say which nodes reach it */
static gboolean
offer_to_nodes(Cycle *cycle, const CycleClaim *claim, unsigned candidate)
{
    const Volume *volume = cycle->candidates->pdata[claim->first_candidate + candidate];
    unsigned end = n_nodes(cycle);

    node_set_init(&cycle->set, end);
    if (!label_index_add(volume_binding_labels_of(cycle), volume->node_affinity, &cycle->set))
        return FALSE;
    node_set_subtract(&cycle->set, &cycle->covered);
    node_set_unite(&cycle->covered, &cycle->set);
    unsigned *best = &g_array_index(cycle->best, unsigned, claim->first_best);
    for (unsigned place = node_set_next(&cycle->set, 0, end); place < end;
         place = node_set_next(&cycle->set, place + 1, end))
        best[place] = candidate;
    return TRUE;
}

/* The best candidate of each node, so that a node need not walk all candidates. */
static void
find_best_candidates(Cycle *cycle, CycleClaim *claim)
{
    unsigned n = n_nodes(cycle);

    claim->first_best = NO_BEST;
    if (claim->is_bound || claim->n_candidates == 0)
        return;
    claim->first_best = cycle->best->len;
    g_array_set_size(cycle->best, cycle->best->len + n);
    for (unsigned i = 0; i < n; i++)
        g_array_index(cycle->best, unsigned, claim->first_best + i) = claim->n_candidates;
    node_set_init(&cycle->covered, n);
    for (unsigned i = 0; i < claim->n_candidates; i++) {
        if (!offer_to_nodes(cycle, claim, i)) {
            claim->first_best = NO_BEST;
            return;
        }
    }
}

static CycleClaim *
claim_at(const Cycle *cycle, unsigned i)
{
    return &g_array_index(cycle->claims, CycleClaim, i);
}

static CycleClaim *
unbound_at(const Cycle *cycle, unsigned k)
{
    return claim_at(cycle, g_array_index(cycle->by_size, unsigned, k));
}

/* SCH-131 */
static const char *
out_of_reach(const Cycle *cycle)
{
    return cycle->view->minor >= REACH_WORDS_SINCE
               ? "node(s) didn't match PersistentVolume's node affinity"
               : "node(s) had volume node affinity conflict";
}

/* VB-20: the nodes that reach all bound volumes. */
static gboolean
narrow_to_bound(Cycle *cycle)
{
    NodeSet *reached = cycle_narrow(cycle, PLUGIN_VOLUME_BINDING, out_of_reach(cycle));

    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = claim_at(cycle, i);
        if (!claim->is_bound)
            continue;
        if (claim->bound == NULL || reached == NULL)
            return FALSE;
        node_set_init(&cycle->set, n_nodes(cycle));
        if (!label_index_add(volume_binding_labels_of(cycle), volume_node_affinity(claim->bound),
                             &cycle->set))
            return FALSE;
        node_set_intersect(reached, &cycle->set);
    }
    cycle_narrow_exactly(cycle, PLUGIN_VOLUME_BINDING);
    return TRUE;
}

/* VB-22: the one node that was selected for the claim. */
static gboolean
narrow_to_selected(Cycle *cycle, const char *node_name)
{
    const ObjectKey *key = objects_find_key(cycle->view->objects, KIND_NODE, NULL, node_name);
    const NodeInfo *node = key == NULL ? NULL : scheduler_cache_find_node(cycle->view->cache, key);
    NodeSet *selected = cycle_narrow(cycle, PLUGIN_VOLUME_BINDING, NO_VOLUMES);

    if (selected == NULL)
        return FALSE;
    node_set_subtract(selected, selected);
    if (node != NULL && node->place != NO_PLACE)
        node_set_add(selected, node->place);
    return TRUE;
}

/* VB-50: where a volume may be made for the claim, and where the back end has room for it. */
static gboolean
narrow_to_provisionable(Cycle *cycle, const CycleClaim *claim)
{
    NodeSet *allowed = cycle_narrow(cycle, PLUGIN_VOLUME_BINDING, NO_VOLUMES);
    unsigned n;

    if (allowed == NULL)
        return FALSE;
    if (!can_provision(claim->class) ||
        (claim->class->allowed_topologies != NULL && claim->class->allowed_topologies->n_terms > 0))
        node_set_subtract(allowed, allowed);
    if (can_provision(claim->class) && !label_index_add(volume_binding_labels_of(cycle),
                                                        claim->class->allowed_topologies, allowed))
        return FALSE;
    if (!claim->checks_capacity)
        return TRUE;
    NodeSet *roomy = cycle_narrow(cycle, PLUGIN_VOLUME_BINDING, NO_STORAGE);
    if (roomy == NULL)
        return FALSE;
    node_set_subtract(roomy, roomy);
    /* CAP-8 */
    const Object *const *capacities =
        informer_index_get(cycle->view->capacities_by_class, claim->class->meta.key->name, &n);
    for (unsigned i = 0; i < n; i++) {
        const StorageCapacity *capacity = STORAGE_CAPACITY(capacities[i]);
        if (storage_capacity_limit(capacity) >= claim->claim->request_bytes &&
            !label_index_add_labels(volume_binding_labels_of(cycle), capacity->topology, roomy))
            return FALSE;
    }
    return TRUE;
}

/* The nodes with a candidate, if no volume can be made for the claim. */
static gboolean
narrow_to_candidates(Cycle *cycle, const CycleClaim *claim)
{
    unsigned n = n_nodes(cycle);
    NodeSet *offered = cycle_narrow(cycle, PLUGIN_VOLUME_BINDING, NO_VOLUMES);

    if (offered == NULL || claim->reserved != NULL ||
        (claim->n_candidates > 0 && claim->first_best == NO_BEST))
        return FALSE;
    node_set_subtract(offered, offered);
    for (unsigned i = 0; claim->n_candidates > 0 && i < n; i++) {
        if (g_array_index(cycle->best, unsigned, claim->first_best + i) < claim->n_candidates)
            node_set_add(offered, i);
    }
    return TRUE;
}

/* The pod's unbound claims together: can all nodes be told apart at once? */
enum {
    SELECTED = 1 << 0,    /* a node was selected for one */
    PROVISIONED = 1 << 1, /* for one a volume can be made */
    OFFERED = 1 << 2,     /* there is a volume that one could have */
    REFUSED = 1 << 3,     /* the search of one ended with an error */
    NARROW_FACTS_END = 1 << 4,
};

typedef enum {
    NARROW_NOT, /* each node is asked */
    NARROW_TO_SELECTED,
    NARROW_TO_CANDIDATES,
    NARROW_TO_PROVISIONABLE, /* and these are all */
} NarrowAnswer;

static const Rule narrowing_table[] = {
    {"VB-21.1", REFUSED,               0,                                NARROW_NOT             },
    {"VB-21.2", PROVISIONED | OFFERED, REFUSED | SELECTED,               NARROW_NOT             },
    {"VB-22",   SELECTED,              REFUSED,                          NARROW_TO_SELECTED     },
    {"VB-23.1", OFFERED,               REFUSED | SELECTED | PROVISIONED, NARROW_TO_CANDIDATES   },
    {"VB-23.2", 0,                     REFUSED | SELECTED | OFFERED,     NARROW_TO_PROVISIONABLE},
};

const RuleTable scheduler_narrowing_rules =
    RULE_TABLE("nodes that unbound claims leave", NARROW_FACTS_END, narrowing_table);

static uint32_t
narrow_facts(const Cycle *cycle)
{
    uint32_t facts = 0;

    for (unsigned k = 0; k < cycle->by_size->len; k++) {
        const CycleClaim *claim = unbound_at(cycle, k);
        facts |= claim->selected_node != NULL ? SELECTED : 0;
        facts |= can_provision(claim->class) ? PROVISIONED : 0;
        facts |= claim->reserved != NULL || claim->n_candidates > 0 ? OFFERED : 0;
        facts |= claim->refused ? REFUSED : 0;
    }
    return facts;
}

static gboolean
narrow_to_claim(Cycle *cycle, const CycleClaim *claim, NarrowAnswer how)
{
    switch (how) {
    case NARROW_NOT:
        return FALSE;
    case NARROW_TO_SELECTED:
        return claim->selected_node == NULL || narrow_to_selected(cycle, claim->selected_node);
    case NARROW_TO_CANDIDATES:
        return narrow_to_candidates(cycle, claim);
    case NARROW_TO_PROVISIONABLE:
        return narrow_to_provisionable(cycle, claim);
    }
    g_assert_not_reached();
}

/* The nodes that unbound claims leave, if that is known without trying the claims out one after the
 * other. */
static gboolean
narrow_to_unbound(Cycle *cycle)
{
    NarrowAnswer how =
        (NarrowAnswer)rules_find(&scheduler_narrowing_rules, narrow_facts(cycle), NULL)->then;

    if (how == NARROW_NOT)
        return FALSE;
    for (unsigned k = 0; k < cycle->by_size->len; k++)
        if (!narrow_to_claim(cycle, unbound_at(cycle, k), how))
            return FALSE;
    if (how == NARROW_TO_PROVISIONABLE)
        cycle_narrow_exactly(cycle, PLUGIN_VOLUME_BINDING);
    return TRUE;
}

/* Bound and unbound claims together may give a node two reasons (VB-21): then each node is asked */
static void
narrow_nodes(Cycle *cycle)
{
    gboolean bound_matter = FALSE, unbound_matter = FALSE;

    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = claim_at(cycle, i);
        gboolean matters = !is_met_anywhere(claim);
        bound_matter = bound_matter || (claim->is_bound && matters);
        unbound_matter = unbound_matter || (!claim->is_bound && matters);
    }
    if (bound_matter && unbound_matter)
        return;
    if (bound_matter ? !narrow_to_bound(cycle) : !narrow_to_unbound(cycle))
        cycle_widen(cycle, PLUGIN_VOLUME_BINDING);
}

Verdict
volume_binding_pre_filter(Cycle *cycle)
{
    gboolean all_ours = TRUE;

    if (cycle->claims->len == 0) /* VB-12 */
        return VERDICT_SKIP;
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        Verdict verdict =
            volume_binding_check_claim(cycle, &g_array_index(cycle->claims, CycleClaim, i));
        if (verdict != VERDICT_OK)
            return verdict;
    }
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        all_ours = classify_claim(cycle, claim) && all_ours;
        if (has_no_mode(cycle, claim))
            return VERDICT_ERROR;
    }
    if (!all_ours) {
        cycle_text(cycle, "pod has unbound immediate PersistentVolumeClaims");
        return VERDICT_UNRESOLVABLE;
    }
    g_array_set_size(cycle->by_size, 0);
    g_ptr_array_set_size(cycle->candidates, 0);
    g_array_set_size(cycle->best, 0);
    gboolean node_matters = FALSE;
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        prepare_claim(cycle, i);
        find_best_candidates(cycle, claim_at(cycle, i));
        node_matters = node_matters || !is_met_anywhere(claim_at(cycle, i));
    }
    if (node_matters)
        narrow_nodes(cycle);
    return node_matters ? VERDICT_OK : VERDICT_ANY_NODE;
}

/* ---- Filter ---- */

/* VB-20. The first that fails decides. */
static Conflicts
check_bound_claims(const Cycle *cycle, const NodeInfo *node)
{
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        if (!claim->is_bound)
            continue;
        if (claim->bound == NULL)
            return CONFLICT_NO_VOLUME;
        if (!node_selector_matches(volume_node_affinity(claim->bound), node->node->meta.labels,
                                   NULL))
            return CONFLICT_AFFINITY;
    }
    return 0;
}

/* PVC-32.1: by another claim of the pod. */
static gboolean
is_taken(const Cycle *cycle, const Volume *volume)
{
    for (unsigned i = 0; i < cycle->taken->len; i++) {
        if (cycle->taken->pdata[i] == volume->meta.key)
            return TRUE;
    }
    return FALSE;
}

/* VB-40.7..9, VB-41: the candidates come smallest first, so the first in reach is the best. */
static const Volume *
match_on_node(const Cycle *cycle, const CycleClaim *claim, const NodeInfo *node)
{
    const StringMap *labels = node->node->meta.labels;

    if (claim->reserved != NULL) /* PVC-32.8: no other claim can take it */
        return node_selector_matches(claim->reserved->node_affinity, labels, NULL) ? claim->reserved
                                                                                   : NULL;
    unsigned first = claim->first_best == NO_BEST || node->place == NO_PLACE
                         ? 0
                         : g_array_index(cycle->best, unsigned, claim->first_best + node->place);
    for (unsigned i = first; i < claim->n_candidates; i++) {
        const Volume *volume = cycle->candidates->pdata[claim->first_candidate + i];
        if (!is_taken(cycle, volume) && node_selector_matches(volume->node_affinity, labels, NULL))
            return volume;
    }
    return NULL;
}

int64_t
storage_capacity_limit(const StorageCapacity *capacity)
{
    return capacity->maximum_bytes >= 0 ? capacity->maximum_bytes : capacity->capacity_bytes;
}

/* VB-51, VB-53. Each claim alone (VB-52). */
static gboolean
has_enough_storage(const Cycle *cycle, const CycleClaim *claim, const NodeInfo *node)
{
    unsigned n;
    const Object *const *capacities =
        informer_index_get(cycle->view->capacities_by_class, claim->class->meta.key->name, &n);

    for (unsigned i = 0; i < n; i++) {
        const StorageCapacity *capacity = STORAGE_CAPACITY(capacities[i]);
        if (storage_capacity_limit(capacity) >= claim->claim->request_bytes &&
            label_selector_matches(capacity->topology, node->node->meta.labels))
            return TRUE;
    }
    return FALSE;
}

/* VB-50: can a volume be made that the node reaches? */
static Conflicts
check_provisioning(const Cycle *cycle, const CycleClaim *claim, const NodeInfo *node)
{
    const StorageClass *class = claim->class;

    if (!can_provision(class))
        return CONFLICT_BINDING;
    if (class->allowed_topologies != NULL && class->allowed_topologies->n_terms > 0 &&
        !node_selector_matches(class->allowed_topologies, node->node->meta.labels, NULL))
        return CONFLICT_BINDING;
    if (claim->checks_capacity && !has_enough_storage(cycle, claim, node))
        return CONFLICT_STORAGE;
    return 0;
}

static void
plugins_volume_binding_choose(Cycle *cycle, const CycleClaim *claim, const Object *chosen)
{
    VolumeChoice choice = {.claim = claim->key, .chosen = chosen};

    g_array_append_val(cycle->choices, choice);
}

/* VB-23: claims without a selected node take a volume if one is left; the others wait for
 * provisioning. */
static Conflicts
match_claims(Cycle *cycle, const NodeInfo *node)
{
    for (unsigned k = 0; k < cycle->by_size->len; k++) {
        const CycleClaim *claim =
            &g_array_index(cycle->claims, CycleClaim, g_array_index(cycle->by_size, unsigned, k));
        if (claim->selected_node != NULL)
            continue;
        if (claim->refused) {
            cycle_text(
                cycle,
                "unsupported volumeAttributesClassName is set on claim %s when the feature-gate "
                "VolumeAttributesClass is disabled",
                claim->key->text);
            return CONFLICT_ERROR;
        }
        const Volume *volume = match_on_node(cycle, claim, node);
        if (volume == NULL)
            continue;
        g_ptr_array_add(cycle->taken, (void *)volume->meta.key);
        plugins_volume_binding_choose(cycle, claim, &volume->meta);
    }
    return 0;
}

static gboolean
has_choice(const Cycle *cycle, const CycleClaim *claim)
{
    for (unsigned i = 0; i < cycle->choices->len; i++) {
        if (g_array_index(cycle->choices, VolumeChoice, i).claim == claim->key)
            return TRUE;
    }
    return FALSE;
}

/* The remaining claims need new volumes: first claims with a selected node (VB-23), then the
 * unmatched ones by size. */
static Conflicts
provision_claims(Cycle *cycle, const NodeInfo *node)
{
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        Conflicts conflicts = claim->is_bound || claim->selected_node == NULL
                                  ? 0
                                  : check_provisioning(cycle, claim, node);
        if (conflicts != 0)
            return conflicts;
        if (!claim->is_bound && claim->selected_node != NULL)
            plugins_volume_binding_choose(cycle, claim, &claim->claim->meta);
    }
    for (unsigned k = 0; k < cycle->by_size->len; k++) {
        const CycleClaim *claim =
            &g_array_index(cycle->claims, CycleClaim, g_array_index(cycle->by_size, unsigned, k));
        if (claim->selected_node != NULL || has_choice(cycle, claim))
            continue;
        Conflicts conflicts = check_provisioning(cycle, claim, node);
        if (conflicts != 0)
            return conflicts;
        plugins_volume_binding_choose(cycle, claim, &claim->claim->meta);
    }
    return 0;
}

/* VB-21..24 (VB-S4, VB-S5, VB-S6); what is chosen stays in cycle->choices (VB-25). */
static Conflicts
check_unbound_claims(Cycle *cycle, const NodeInfo *node)
{
    g_array_set_size(cycle->choices, 0);
    g_ptr_array_set_size(cycle->taken, 0);
    for (unsigned k = 0; k < cycle->by_size->len; k++) {
        const CycleClaim *claim =
            &g_array_index(cycle->claims, CycleClaim, g_array_index(cycle->by_size, unsigned, k));
        if (claim->selected_node != NULL && strcmp(claim->selected_node, node->key->name) != 0)
            return CONFLICT_BINDING;
    }
    Conflicts conflicts = match_claims(cycle, node);
    return conflicts != 0 ? conflicts : provision_claims(cycle, node);
}

Verdict
volume_binding_filter(Cycle *cycle, const NodeInfo *node)
{
    Conflicts conflicts = check_bound_claims(cycle, node) | check_unbound_claims(cycle, node);

    if (conflicts == 0)
        return VERDICT_OK;
    if ((conflicts & CONFLICT_ERROR) != 0)
        return VERDICT_ERROR;
    if ((conflicts & CONFLICT_AFFINITY) != 0)
        cycle_reason(cycle, out_of_reach(cycle));
    if ((conflicts & CONFLICT_BINDING) != 0)
        cycle_reason(cycle, NO_VOLUMES);
    if ((conflicts & CONFLICT_STORAGE) != 0)
        cycle_reason(cycle, NO_STORAGE);
    if ((conflicts & CONFLICT_NO_VOLUME) != 0)
        cycle_reason(cycle,
                     "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
    return VERDICT_UNRESOLVABLE;
}

void
volume_binding_choose(Cycle *cycle, const NodeInfo *node)
{
    check_unbound_claims(cycle, node);
}
