/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/pod-ranks.h"

#include <stdlib.h>

#include "models/workloads/pods.h"
#include "sim/order.h"

#define ANNOTATION_DELETION_COST "controller.kubernetes.io/pod-deletion-cost"

/* Pending before unknown before running. */
static int
phase_rank(const Pod *pod)
{
    switch ((PodPhase)pod->phase) {
    case POD_PENDING:
        return 0;
    case POD_UNKNOWN:
        return 1;
    case POD_RUNNING:
        return 2;
    case POD_SUCCEEDED:
    case POD_FAILED:
        break;
    }
    return 0;
}

static int
compare_uids(const Pod *a, const Pod *b)
{
    ObjectUid x = a->meta.uid, y = b->meta.uid;

    return ORDER(x.high, y.high) ?: ORDER(x.low, y.low);
}

/* The power of two below an age in nanoseconds; -1 for age 0. */
static int
age_bucket(SimTime since, SimTime now)
{
    SimTime age = now - whole_seconds(since);

    return age <= 0 ? -1 : 63 - __builtin_clzll((unsigned long long)age);
}

/* The younger first, by powers of two; pods of the same power by uid. */
static int
compare_ages(const Pod *a, const Pod *b, SimTime since_a, SimTime since_b, SimTime now)
{
    if (whole_seconds(since_a) == whole_seconds(since_b))
        return 0;
    return ORDER(age_bucket(since_a, now), age_bucket(since_b, now)) ?: compare_uids(a, b);
}

static int64_t
deletion_cost(const Pod *pod)
{
    return annotated_number(&pod->meta, ANNOTATION_DELETION_COST, INT32_MIN, 0);
}

typedef struct {
    SimTime now;
    gboolean by_cost;
} Order;

/* WL-77: the columns in turn. */
static int
compare_ranks(const void *x, const void *y, void *data)
{
    const RankedPod *rank_a = x, *rank_b = y;
    const Pod *a = rank_a->pod, *b = rank_b->pod;
    const Order *order = data;
    SimTime now = order->now;
    const int columns[] = {
        ORDER(a->node_name != NULL, b->node_name != NULL),
        ORDER(phase_rank(a), phase_rank(b)),
        ORDER(pod_is_ready(a), pod_is_ready(b)),
        order->by_cost ? ORDER(deletion_cost(a), deletion_cost(b)) : 0,
        ORDER(rank_b->n_on_node, rank_a->n_on_node),
        pod_is_ready(a) && pod_is_ready(b)
            ? compare_ages(a, b, a->ready.changed_at, b->ready.changed_at, now)
            : 0,
        ORDER(b->restarts, a->restarts),
        compare_ages(a, b, a->meta.created_at, b->meta.created_at, now),
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(columns); i++)
        if (columns[i] != 0)
            return columns[i];
    return compare_uids(a, b); /* in Kubernetes the order of such a pair is random */
}

void
pod_ranks_sort(RankedPod *pods, unsigned n, SimTime now, const Release *release)
{
    Order order = {now, release_has_gate(release, "PodDeletionCost")};

    g_qsort_with_data(pods, (int)n, sizeof *pods, compare_ranks, &order);
}
