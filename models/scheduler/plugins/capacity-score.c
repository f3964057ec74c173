/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scheduler/scheduler-test.h"
#include "plugins.h"

/* VolumeBinding's score, behind the gate VolumeCapacityPriority: how much of the free volumes that
 * a node offers would be used (VB-61). */

#define SCORE_UNIT 10 /* scores in the configuration go to 10, scores of plugins to 100 */

gboolean
capacity_shape_parse(const char *text, GArray *shape)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);

    for (unsigned i = 0; items[i] != NULL; i++) {
        g_auto(GStrv) parts = g_strsplit(items[i], ":", -1);
        ShapePoint point;
        if (g_strv_length(parts) != 2 ||
            !g_ascii_string_to_signed(parts[0], 10, 0, 100, &point.utilization, NULL) ||
            !g_ascii_string_to_signed(parts[1], 10, 0, 10, &point.score, NULL) ||
            (i > 0 && g_array_index(shape, ShapePoint, i - 1).utilization >= point.utilization))
            return FALSE;
        point.score *= SCORE_UNIT;
        g_array_append_val(shape, point);
    }
    return TRUE;
}

/* Straight lines between the points, flat before the first and after the last. */
static int64_t
shape_at(const ShapePoint *shape, unsigned n, int64_t utilization)
{
    for (unsigned i = 0; i < n; i++) {
        if (utilization > shape[i].utilization)
            continue;
        if (i == 0)
            return shape[0].score;
        const ShapePoint *from = &shape[i - 1];
        return from->score + (shape[i].score - from->score) * (utilization - from->utilization) /
                                 (shape[i].utilization - from->utilization);
    }
    return shape[n - 1].score;
}

int64_t
capacity_score(const ClassUse *uses, unsigned n, const ShapePoint *shape, unsigned n_points)
{
    int64_t sum = 0;

    if (n == 0)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        gboolean is_full =
            uses[i].capacity_bytes == 0 || uses[i].requested_bytes > uses[i].capacity_bytes;
        /* Bytes times 100 may be more than an int64_t holds. */
        int64_t utilization =
            is_full ? 100
                    : (int64_t)((__int128)uses[i].requested_bytes * 100 / uses[i].capacity_bytes);
        sum += shape_at(shape, n_points, utilization);
    }
    return (2 * sum + n) / (2 * (int64_t)n); /* rounded to the nearest */
}

static void
use_volume(GArray *uses, const char *class, const Volume *volume, const Claim *claim)
{
    for (unsigned i = 0; i < uses->len; i++) {
        ClassUse *use = &g_array_index(uses, ClassUse, i);
        if (use->class != class)
            continue;
        /* sim_time_add() saturates */
        use->requested_bytes = sim_time_add(use->requested_bytes, claim->request_bytes);
        use->capacity_bytes = sim_time_add(use->capacity_bytes, volume->capacity_bytes);
        return;
    }
    ClassUse use = {class, claim->request_bytes, volume->capacity_bytes};
    g_array_append_val(uses, use);
}

/* By what the node was found to offer. */
int64_t
volume_binding_score(Cycle *cycle, const NodeInfo *node)
{
    g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(ClassUse));

    volume_binding_choose(cycle, node);
    for (unsigned i = 0; i < cycle->choices->len; i++) {
        const VolumeChoice *choice = &g_array_index(cycle->choices, VolumeChoice, i);
        if (!volume_choice_is_static(choice))
            continue;
        const Volume *volume = VOLUME_CONST(choice->chosen);
        use_volume(uses, volume_class(volume), volume,
                   CLAIM_CONST(assume_cache_get(cycle->view->binder->claims, choice->claim)));
    }
    return capacity_score((const ClassUse *)(void *)uses->data, uses->len, cycle->view->shape,
                          cycle->view->n_shape);
}

static gboolean
offers_volume(Cycle *cycle, const NodeInfo *node)
{
    volume_binding_choose(cycle, node);
    for (unsigned i = 0; i < cycle->choices->len; i++) {
        if (volume_choice_is_static(&g_array_index(cycle->choices, VolumeChoice, i)))
            return TRUE;
    }
    return FALSE;
}

/* VB-60, VB-61 */
gboolean
volume_binding_pre_score(Cycle *cycle)
{
    for (unsigned i = 0; cycle->view->n_shape > 0 && i < cycle->feasible->len; i++) {
        if (offers_volume(cycle, cycle->feasible->pdata[i]))
            return TRUE;
    }
    return FALSE;
}
