/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which a cycle looks at nodes: zones take turns (SCH-56). Each zone keeps its nodes
 * in the order of their arrival; the common order is made again only before a cycle that follows a
 * change. A change of order gives all nodes new places, so answers that are kept by place are
 * dropped with it. */
#include "cache-private.h"

#include <string.h>

/* SCH-56: the beta labels win. */
static const char *
zone_label(const Node *node, const char *beta, const char *label)
{
    const char *value = object_label(&node->meta, beta);

    if (value == NULL)
        value = object_label(&node->meta, label);
    return value == NULL ? "" : value;
}

static const char *
region_of(const Node *node)
{
    return zone_label(node, "failure-domain.beta.kubernetes.io/region",
                      "topology.kubernetes.io/region");
}

static const char *
zone_name_of(const Node *node)
{
    return zone_label(node, "failure-domain.beta.kubernetes.io/zone",
                      "topology.kubernetes.io/zone");
}

static gboolean
zone_is_of(const Zone *zone, const char *region, const char *name)
{
    return strcmp(zone->region, region) == 0 && strcmp(zone->zone, name) == 0;
}

static Zone *
zone_of(SchedulerCache *self, const Node *node)
{
    const char *region = region_of(node), *name = zone_name_of(node);

    for (unsigned i = 0; i < self->zones->len; i++) {
        if (zone_is_of(self->zones->pdata[i], region, name))
            return self->zones->pdata[i];
    }
    Zone *zone = g_new0(Zone, 1);
    zone->region = region;
    zone->zone = name;
    zone->nodes = g_ptr_array_new();
    g_ptr_array_add(self->zones, zone);
    return zone;
}

void
cache_leave_zone(SchedulerCache *self, NodeInfo *node)
{
    Zone *zone = zone_of(self, node->node);

    g_ptr_array_remove(zone->nodes, node);
    node->place = NO_PLACE;
    if (zone->nodes->len == 0)
        g_ptr_array_remove(self->zones, zone);
    self->order_is_old = TRUE;
}

void
cache_enter_zone(SchedulerCache *self, NodeInfo *node)
{
    g_ptr_array_add(zone_of(self, node->node)->nodes, node);
    self->order_is_old = TRUE;
}

/* Whether the node repels some pods. */
static gboolean
is_special(const Node *node)
{
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        if (node->taints->items[i].effect != TAINT_PREFER_NO_SCHEDULE)
            return TRUE;
    }
    return node->unschedulable;
}

void
cache_mark_special(SchedulerCache *self, const NodeInfo *node)
{
    node_set_remove(&self->special, node->place);
    if (is_special(node->node))
        node_set_add(&self->special, node->place);
}

static void
take_turns(SchedulerCache *self)
{
    gboolean found = TRUE;

    g_ptr_array_set_size(self->order, 0);
    for (unsigned turn = 0; found; turn++) {
        found = FALSE;
        for (unsigned i = 0; i < self->zones->len; i++) {
            const Zone *zone = self->zones->pdata[i];
            if (turn < zone->nodes->len) {
                g_ptr_array_add(self->order, zone->nodes->pdata[turn]);
                found = TRUE;
            }
        }
    }
}

/* Places have changed: all that was known by place is forgotten. */
static void
renumber_places(SchedulerCache *self)
{
    node_set_init(&self->special, self->order->len);
    for (unsigned i = 0; i < self->order->len; i++) {
        NodeInfo *node = self->order->pdata[i];
        node->place = i;
        cache_mark_special(self, node);
    }
    for (unsigned i = 0; i < N_MEMOS; i++)
        self->memos[i].number = 0;
    self->labels_are_old = TRUE;
}

NodeInfo *const *
scheduler_cache_nodes(SchedulerCache *self, unsigned *n)
{
    if (self->order_is_old) {
        take_turns(self);
        renumber_places(self);
        self->order_is_old = FALSE;
    }
    *n = self->order->len;
    return (NodeInfo *const *)self->order->pdata;
}

const NodeSet *
scheduler_cache_special_nodes(const SchedulerCache *self)
{
    return &self->special;
}

static const StringMap *
labels_at(const void *data, unsigned place)
{
    const SchedulerCache *self = data;
    const NodeInfo *node = self->order->pdata[place];

    return node->node->meta.labels;
}

LabelIndex *
scheduler_cache_labels(SchedulerCache *self)
{
    unsigned n;

    scheduler_cache_nodes(self, &n);
    if (self->labels_are_old)
        label_index_reset(self->labels, labels_at, self, n);
    self->labels_are_old = FALSE;
    return self->labels;
}
void
cache_zone_free(Zone *self)
{
    g_ptr_array_unref(self->nodes);
    g_free(self);
}
/* Whether a node keeps its turn (SCH-56). */
gboolean
cache_same_zone(const Node *a, const Node *b)
{
    if (a == NULL || b == NULL)
        return FALSE;
    return a->meta.labels == b->meta.labels || (strcmp(region_of(a), region_of(b)) == 0 &&
                                                strcmp(zone_name_of(a), zone_name_of(b)) == 0);
}
