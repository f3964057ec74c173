/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "run-private.h"

/* kubectl taint, cordon and uncordon of a Node (kubectl/pkg/cmd/taint, cmd/drain). As in kubectl,
 * new taints come before the old ones, and nothing is changed if one of the changes is impossible.
 */

static gboolean
is_it(const ScenarioTaint *wanted, const Taint *taint)
{
    return (wanted->effect < 0 || (TaintEffect)wanted->effect == taint->effect) &&
           strcmp(wanted->key, taint->key) == 0;
}

static gboolean
has_taint(const Node *node, const ScenarioTaint *wanted)
{
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (is_it(wanted, &node->taints->items[i]))
            return TRUE;
    return FALSE;
}

/* Whether one of the wanted taints, to add or to remove, is this one. */
static gboolean
mark_node_is_named(const ScenarioAction *action, const Taint *taint, gboolean goes)
{
    for (unsigned i = 0; i < action->taints.n; i++)
        if (action->taints.items[i].goes == goes && is_it(&action->taints.items[i], taint))
            return TRUE;
    return FALSE;
}

/* Returns: FALSE: impossible; the reason is appended to @refusal */
static gboolean
can_be_done(const ScenarioAction *action, const Node *node, GString *refusal)
{
    for (unsigned i = 0; i < action->taints.n; i++) {
        const ScenarioTaint *wanted = &action->taints.items[i];
        gboolean is_there = has_taint(node, wanted);
        if (wanted->goes && !is_there)
            g_string_append_printf(refusal, "node %s has no taint %s", object_name(&node->meta),
                                   wanted->key);
        else if (!wanted->goes && is_there && !action->taints.overwrite)
            g_string_append_printf(refusal,
                                   "node %s already has a taint %s with this effect (overwrite: "
                                   "true changes it)",
                                   object_name(&node->meta), wanted->key);
        else
            continue;
        return FALSE;
    }
    return TRUE;
}

static gboolean
set_taints(Strings *strings, const ScenarioAction *action, Node *node, GString *refusal)
{
    g_autoptr(GArray) taints = g_array_new(FALSE, FALSE, sizeof(Taint));

    if (!can_be_done(action, node, refusal))
        return FALSE;
    for (unsigned i = 0; i < action->taints.n; i++) {
        const ScenarioTaint *wanted = &action->taints.items[i];
        Taint taint = {.added_at = TIME_UNSET};
        if (wanted->goes)
            continue;
        taint.key = strings_intern(strings, wanted->key);
        taint.value = strings_intern(strings, wanted->value);
        taint.effect = (TaintEffect)wanted->effect;
        g_array_append_val(taints, taint);
    }
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (!mark_node_is_named(action, &node->taints->items[i], FALSE) &&
            !mark_node_is_named(action, &node->taints->items[i], TRUE))
            g_array_append_val(taints, node->taints->items[i]);
    taints_unref(node->taints);
    node->taints =
        taints->len == 0 ? NULL : taints_new((const Taint *)(void *)taints->data, taints->len);
    return TRUE;
}

gboolean
node_mark(Strings *strings, const ScenarioAction *action, Node *node, GString *refusal)
{
    gboolean cordons = action->type == ACTION_CORDON;

    if (action->type == ACTION_TAINT)
        return set_taints(strings, action, node, refusal);
    if ((node->unschedulable != FALSE) == cordons) /* kubectl: "already cordoned" */
        return FALSE;
    node->unschedulable = cordons;
    return TRUE;
}
