/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "node-taints.h"

/* By the bits of ManagedTaint. */
static const char *const managed_keys[] = {
    TAINT_MEMORY_PRESSURE, TAINT_DISK_PRESSURE, TAINT_PID_PRESSURE,  TAINT_NETWORK_UNAVAILABLE,
    TAINT_NOT_READY,       TAINT_UNREACHABLE,   TAINT_UNSCHEDULABLE,
};

/* Returns: its bit; 0: not managed here */
static unsigned
managed_taint(const Taint *taint, TaintEffect effect)
{
    for (unsigned i = 0; taint->effect == effect && i < G_N_ELEMENTS(managed_keys); i++)
        if (g_str_equal(taint->key, managed_keys[i]))
            return effect == TAINT_NO_EXECUTE
                       ? (1u << i) & (MANAGED_NOT_READY | MANAGED_UNREACHABLE)
                       : 1u << i;
    return 0;
}

/* The managed taints that the node has. */
static unsigned
list_managed(const Node *node, TaintEffect effect)
{
    unsigned keys = 0;

    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        keys |= managed_taint(&node->taints->items[i], effect);
    return keys;
}

gboolean
node_has_wanted_taints(const Node *self, const WantedTaints *wanted)
{
    return list_managed(self, wanted->effect) == wanted->keys;
}

gboolean
node_set_wanted_taints(Object *object, const void *arg)
{
    Node *node = NODE(object);
    const WantedTaints *wanted = arg;
    unsigned present = list_managed(node, wanted->effect);
    g_autoptr(GArray) taints = g_array_new(FALSE, FALSE, sizeof(Taint));

    if (present == wanted->keys)
        return FALSE;
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if ((managed_taint(&node->taints->items[i], wanted->effect) & ~wanted->keys) == 0)
            g_array_append_val(taints, node->taints->items[i]);
    for (unsigned i = 0; i < G_N_ELEMENTS(managed_keys); i++) {
        Taint taint = {strings_intern(wanted->strings, managed_keys[i]),
                       strings_intern(wanted->strings, ""), wanted->effect, wanted->now};
        if ((wanted->keys & ~present & 1u << i) != 0)
            g_array_append_val(taints, taint);
    }
    taints_unref(node->taints);
    node->taints =
        taints->len == 0 ? NULL : taints_new((const Taint *)(void *)taints->data, taints->len);
    return TRUE;
}
