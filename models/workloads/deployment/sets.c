/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic over the ReplicaSets of a Deployment, without any request: which set is the new one,
 * how far old sets may shrink and the new one grow within maxSurge and maxUnavailable, and each
 * set's part when the Deployment itself is scaled. Unavailable pods are given up first; available
 * ones only as far as enough others remain. The parts of a scaling are rounded as in Kubernetes,
 * and the biggest set takes the rest. */
#include "models/workloads/deployment/sets.h"

#include <string.h>

#include "models/workloads/pods.h"
#include "sim/order.h"

static const ReplicaSet *
set_at(const GPtrArray *sets, unsigned i)
{
    return sets->pdata[i];
}

static int
compare_creation(const ReplicaSet *a, const ReplicaSet *b)
{
    SimTime at_a = whole_seconds(a->meta.created_at), at_b = whole_seconds(b->meta.created_at);

    return ORDER(at_a, at_b) ?: strcmp(object_name(&a->meta), object_name(&b->meta));
}

static int
compare_set_pointers(const void *a, const void *b)
{
    return compare_creation(*(const ReplicaSet *const *)a, *(const ReplicaSet *const *)b);
}

void
sets_sort_by_creation(GPtrArray *sets)
{
    g_ptr_array_sort(sets, compare_set_pointers);
}

const ReplicaSet *
sets_find_new(const GPtrArray *sets, const Deployment *deployment)
{
    for (unsigned i = 0; i < sets->len; i++)
        if (pod_template_same(set_at(sets, i)->template, deployment->template))
            return set_at(sets, i);
    return NULL;
}

GPtrArray *
sets_active(const GPtrArray *sets)
{
    GPtrArray *active = g_ptr_array_new();

    for (unsigned i = 0; i < sets->len; i++)
        if (set_at(sets, i)->replicas > 0)
            g_ptr_array_add(active, sets->pdata[i]);
    return active;
}

int64_t
set_annotated(const ReplicaSet *set, const char *annotation)
{
    return annotated_number(&set->meta, annotation, 0, -1);
}

int64_t
set_revision(const ReplicaSet *set)
{
    return MAX(set_annotated(set, ANNOTATION_REVISION), 0);
}

int64_t
sets_max_revision(const GPtrArray *sets)
{
    int64_t max = 0;

    for (unsigned i = 0; i < sets->len; i++)
        max = MAX(max, set_revision(set_at(sets, i)));
    return max;
}

SetsSum
sets_sum(const GPtrArray *sets)
{
    SetsSum sum = {0};

    for (unsigned i = 0; i < sets->len; i++) {
        sum.wanted += set_at(sets, i)->replicas;
        sum.there += set_at(sets, i)->status_replicas;
        sum.ready += set_at(sets, i)->ready_replicas;
        sum.available += set_at(sets, i)->available_replicas;
    }
    return sum;
}

int64_t
most_replicas(const Deployment *deployment)
{
    return (int64_t)deployment->replicas + deployment_max_surge(deployment);
}

int32_t
new_set_replicas(const Deployment *deployment, const GPtrArray *all, const ReplicaSet *new_set)
{
    int64_t total = sets_sum(all).wanted;
    int64_t most = most_replicas(deployment);

    if (deployment->recreate)
        return deployment->replicas;
    if (total >= most)
        return new_set->replicas; /* there is no room for more pods */
    return (int32_t)MIN(new_set->replicas + most - total, deployment->replicas);
}

static void
add_scale(GArray *scales, const ReplicaSet *set, int32_t replicas)
{
    SetScale scale = {.set = set, .replicas = replicas};

    g_array_append_val(scales, scale);
}

/* The size of a set after the scales so far. */
static int32_t
scaled_replicas(const GArray *scales, const ReplicaSet *set)
{
    int32_t replicas = set->replicas;

    for (unsigned i = 0; i < scales->len; i++)
        if (g_array_index(scales, SetScale, i).set == set)
            replicas = g_array_index(scales, SetScale, i).replicas;
    return replicas;
}

/* Pods that are not available go first. */
static void
scale_down_unhealthy(GArray *scales, const GPtrArray *old, int64_t most)
{
    int64_t total = 0;

    for (unsigned i = 0; i < old->len && total < most; i++) {
        const ReplicaSet *set = set_at(old, i);
        int64_t number = MIN(most - total, (int64_t)set->replicas - set->available_replicas);
        if (set->replicas == 0 || number <= 0)
            continue;
        add_scale(scales, set, (int32_t)(set->replicas - number));
        total += number;
    }
}

/* Then delete available pods, but keep the minimum available. */
static void
scale_down_healthy(GArray *scales, const GPtrArray *old, int64_t most)
{
    int64_t total = 0;

    for (unsigned i = 0; i < old->len && total < most; i++) {
        int32_t replicas = scaled_replicas(scales, set_at(old, i));
        int64_t number = MIN(replicas, most - total);
        if (number <= 0)
            continue;
        add_scale(scales, set_at(old, i), (int32_t)(replicas - number));
        total += number;
    }
}

GArray *
old_sets_scales(const Deployment *deployment, const GPtrArray *old, const ReplicaSet *new_set)
{
    GArray *scales = g_array_new(FALSE, FALSE, sizeof(SetScale));
    SetsSum before = sets_sum(old);
    int64_t total = before.wanted + new_set->replicas;
    int64_t least = (int64_t)deployment->replicas - deployment_max_unavailable(deployment);
    int64_t most = total - least - ((int64_t)new_set->replicas - new_set->available_replicas);

    if (before.wanted == 0 || most <= 0)
        return scales;
    scale_down_unhealthy(scales, old, most);
    scale_down_healthy(scales, old, before.available + new_set->available_replicas - least);
    return scales;
}

/* ---- Scaling of the deployment itself ---- */

/* The only active set; if none is active, the latest. NULL: several sets are active, or there is no
 * set */
static const ReplicaSet *
active_or_latest(const GPtrArray *old, const ReplicaSet *new_set)
{
    g_autoptr(GPtrArray) active = sets_active(old);

    if (new_set != NULL && new_set->replicas > 0)
        g_ptr_array_add(active, (ReplicaSet *)new_set);
    if (active->len == 1)
        return active->pdata[0];
    if (active->len > 1)
        return NULL;
    if (new_set != NULL)
        return new_set;
    return old->len == 0 ? NULL : set_at(old, old->len - 1);
}

static gboolean
is_saturated(const Deployment *deployment, const ReplicaSet *set)
{
    return set != NULL && set->replicas == deployment->replicas &&
           set_annotated(set, ANNOTATION_DESIRED) == deployment->replicas &&
           set->available_replicas == deployment->replicas;
}

/* Rounds half away from zero. */
static int64_t
divide_rounded(int64_t a, int64_t b)
{
    return a / b + (a % b >= b - a % b);
}

/* The part of a change that a set takes, in proportion to its size. */
static int64_t
set_fraction(const Deployment *deployment, const ReplicaSet *set)
{
    if (deployment->replicas == 0)
        return -(int64_t)set->replicas;
    int64_t before = set_annotated(set, ANNOTATION_MAX);
    if (before <= 0)
        before = deployment->status_replicas;
    if (before <= 0)
        return 0;
    return divide_rounded(set->replicas * most_replicas(deployment), before) - set->replicas;
}

/* The bigger set first. Of two equal sets the newer comes first when pods are added, otherwise the
 * older. */
static int
compare_size(const void *a, const void *b, void *grows)
{
    const ReplicaSet *x = *(const ReplicaSet *const *)a, *y = *(const ReplicaSet *const *)b;

    return ORDER(y->replicas, x->replicas)
               ?: *(const gboolean *)grows ? compare_creation(y, x)
                                           : compare_creation(x, y);
}

/* Each set takes its part; the biggest one also takes the rest. */
static void
scale_in_proportion(const Deployment *deployment, GPtrArray *all, GArray *scales)
{
    int64_t allowed = deployment->replicas > 0 ? most_replicas(deployment) : 0;
    int64_t to_add = allowed - sets_sum(all).wanted, added = 0;
    gboolean grows = to_add > 0;

    g_ptr_array_sort_with_data(all, compare_size, &grows);
    for (unsigned i = 0; i < all->len; i++) {
        int64_t left = to_add - added, part = set_fraction(deployment, set_at(all, i));
        if (left == 0 || set_at(all, i)->replicas == 0)
            part = 0;
        part = to_add > 0 ? MIN(part, left) : MAX(part, left);
        add_scale(scales, set_at(all, i), (int32_t)(set_at(all, i)->replicas + part));
        added += part;
    }
    if (scales->len > 0 && to_add != 0) {
        SetScale *first = &g_array_index(scales, SetScale, 0);
        first->replicas = (int32_t)MAX(first->replicas + to_add - added, 0);
    }
}

enum {
    LONE = 1 << 0,      /* one set gets all pods: the only active set, otherwise the latest */
    FITS = 1 << 1,      /* ... and has the right size */
    SATURATED = 1 << 2, /* the new set has all pods, and they are available */
    RECREATE = 1 << 3,
    SCALING_FACTS_END = 1 << 4,
};

typedef enum {
    SCALING_NOTHING,
    SCALING_RESIZE, /* that one set */
    SCALING_EMPTY,  /* the old sets */
    SCALING_SHARE,  /* all take their part */
} ScalingAction;

/* scale() of sync.go. */
static const Rule scaling_table[] = {
    {"WL-71", LONE,        FITS,                        SCALING_RESIZE },
    {"WL-71", LONE | FITS, 0,                           SCALING_NOTHING},
    {"WL-71", SATURATED,   LONE,                        SCALING_EMPTY  },
    {"WL-73", RECREATE,    LONE | SATURATED,            SCALING_NOTHING},
    {"WL-71", 0,           LONE | SATURATED | RECREATE, SCALING_SHARE  },
};

const RuleTable deployment_scaling_rules =
    RULE_TABLE("scaling of Deployments", SCALING_FACTS_END, scaling_table);

GArray *
scaling_event_scales(const Deployment *deployment, const GPtrArray *old, const ReplicaSet *new_set)
{
    GArray *scales = g_array_new(FALSE, FALSE, sizeof(SetScale));
    const ReplicaSet *only = active_or_latest(old, new_set);
    g_autoptr(GPtrArray) active = sets_active(old);
    unsigned facts = (only != NULL ? LONE : 0) |
                     (only != NULL && only->replicas == deployment->replicas ? FITS : 0) |
                     (is_saturated(deployment, new_set) ? SATURATED : 0) |
                     (deployment->recreate ? RECREATE : 0);

    switch ((ScalingAction)rules_find(&deployment_scaling_rules, facts, NULL)->then) {
    case SCALING_NOTHING:
        break;
    case SCALING_RESIZE:
        add_scale(scales, only, deployment->replicas);
        break;
    case SCALING_EMPTY:
        for (unsigned i = 0; i < active->len; i++)
            add_scale(scales, set_at(active, i), 0);
        break;
    case SCALING_SHARE:
        if (new_set != NULL && new_set->replicas > 0)
            g_ptr_array_add(active, (ReplicaSet *)new_set);
        scale_in_proportion(deployment, active, scales);
        break;
    }
    return scales;
}
