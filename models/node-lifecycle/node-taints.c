/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "node-taints.h"

#include <string.h>

#define MANAGED_MAX 3

typedef struct {
    const char *key;
    gboolean is_wanted;
} ManagedTaint;

/* Returns: how many of @managed are looked after with this effect */
static unsigned
list_managed(const WantedTaints *wanted, ManagedTaint *managed)
{
    managed[0] = (ManagedTaint){TAINT_NOT_READY, wanted->not_ready};
    managed[1] = (ManagedTaint){TAINT_UNREACHABLE, wanted->unreachable};
    managed[2] = (ManagedTaint){TAINT_UNSCHEDULABLE, wanted->unschedulable};
    return wanted->effect == TAINT_NO_SCHEDULE ? 3 : 2;
}

gboolean
node_has_taint(const Node *self, const char *key, TaintEffect effect)
{
    for (unsigned i = 0; self->taints != NULL && i < self->taints->n_items; i++) {
        const Taint *taint = &self->taints->items[i];
        if (taint->effect == effect && g_str_equal(taint->key, key))
            return TRUE;
    }
    return FALSE;
}

gboolean
node_has_wanted_taints(const Node *self, const WantedTaints *wanted)
{
    ManagedTaint managed[MANAGED_MAX];
    unsigned n = list_managed(wanted, managed);

    for (unsigned i = 0; i < n; i++)
        if (node_has_taint(self, managed[i].key, wanted->effect) != managed[i].is_wanted)
            return FALSE;
    return TRUE;
}

static gboolean
is_unwanted(const Taint *taint, const ManagedTaint *managed, unsigned n, TaintEffect effect)
{
    for (unsigned i = 0; i < n; i++)
        if (taint->effect == effect && g_str_equal(taint->key, managed[i].key))
            return !managed[i].is_wanted;
    return FALSE;
}

gboolean
node_set_wanted_taints(Object *object, const void *arg)
{
    Node *node = NODE(object);
    const WantedTaints *wanted = arg;
    ManagedTaint managed[MANAGED_MAX];
    unsigned n = list_managed(wanted, managed);
    g_autoptr(GArray) taints = g_array_new(FALSE, FALSE, sizeof(Taint));

    if (node_has_wanted_taints(node, wanted))
        return FALSE;
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (!is_unwanted(&node->taints->items[i], managed, n, wanted->effect))
            g_array_append_val(taints, node->taints->items[i]);
    for (unsigned i = 0; i < n; i++) {
        Taint taint = {strings_intern(wanted->strings, managed[i].key),
                       strings_intern(wanted->strings, ""), wanted->effect, wanted->now};
        if (managed[i].is_wanted && !node_has_taint(node, managed[i].key, wanted->effect))
            g_array_append_val(taints, taint);
    }
    taints_unref(node->taints);
    node->taints =
        taints->len == 0 ? NULL : taints_new((const Taint *)(void *)taints->data, taints->len);
    return TRUE;
}
