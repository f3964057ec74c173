/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Desired and actual state in one structure: nodes, volumes, and pairs of them. A pair knows the
 * pods that want it, whether it is attached, detached or uncertain, and when its detach was first
 * wanted. Every change that could alter the answer of a pass queues the pair, and an exclusive
 * volume that comes free queues its other pairs. A pair that is neither wanted nor attached nor
 * busy is freed. */
#include "controller.h"

#include <string.h>

#include "models/volume/plugins.h"
#include "sim/order.h"
#include "sim/random.h"
#include "sim/ticker.h"

#define CSI_PREFIX "kubernetes.io/csi/"

static void
pair_free(AttachPair *pair)
{
    g_slist_free(pair->pods);
    g_clear_slist(&pair->told, (GDestroyNotify)object_unref);
    g_free(pair);
}

void
attach_volume_free(void *data)
{
    AttachVolume *volume = data;

    for (GSList *link = volume->pairs; link != NULL; link = link->next)
        pair_free(link->data);
    g_slist_free(volume->pairs);
    object_unref(volume->inline_spec);
    g_free(volume);
}

void
attach_node_free(void *data)
{
    AttachNode *node = data;

    if (node->report_due != 0)
        sim_cancel(((AttachDetachController *)node->controller)->base.sim, node->report_due);
    string_list_unref(node->in_use);
    string_list_unref(node->report);
    g_ptr_array_unref(node->pairs);
    g_free(node);
}

AttachNode *
adc_next_node(const AttachDetachController *self, uint32_t *slot)
{
    while (*slot < objects_n_keys(self->base.objects, KIND_NODE)) {
        const ObjectKey *key = objects_key_at(self->base.objects, KIND_NODE, (*slot)++);
        AttachNode *node = adc_find_node(self, key->name);
        if (node != NULL)
            return node;
    }
    return NULL;
}

void
adc_cancel_timers(AttachDetachController *self)
{
    AttachNode *node;

    for (uint32_t slot = 0; (node = adc_next_node(self, &slot)) != NULL;)
        for (unsigned i = 0; i < node->pairs->len; i++)
            sim_cancel(self->base.sim, ((AttachPair *)node->pairs->pdata[i])->timer);
}

AttachNode *
adc_find_node(const AttachDetachController *self, const char *name)
{
    return g_hash_table_lookup(self->nodes_by_name, name);
}

AttachNode *
adc_node(AttachDetachController *self, const char *name)
{
    AttachNode *node = adc_find_node(self, name);

    if (node == NULL) {
        node = g_new0(AttachNode, 1);
        node->controller = self;
        node->name = name;
        node->hash = sim_hash_string(name);
        node->pairs = g_ptr_array_new();
        g_hash_table_insert(self->nodes_by_name, (void *)name, node);
        objects_key(self->base.objects, KIND_NODE, NULL,
                    name); /* so that adc_cancel_timers() finds it */
    }
    return node;
}

AttachVolume *
adc_volume_named(AttachDetachController *self,
                 const char *name,
                 const char *driver,
                 const char *handle)
{
    AttachVolume *volume = g_hash_table_lookup(self->volumes_by_name, name);

    if (volume == NULL) {
        volume = g_new0(AttachVolume, 1);
        volume->name = name;
        volume->hash = sim_hash_string(name);
        volume->driver = driver;
        volume->handle = handle;
        g_hash_table_insert(self->volumes_by_name, (void *)name, volume);
    }
    return volume;
}

AttachVolume *
adc_volume(AttachDetachController *self, const char *driver, const char *handle)
{
    return adc_volume_named(self,
                            strings_internf(self->base.strings, CSI_PREFIX "%s^%s", driver, handle),
                            driver, handle);
}

AttachVolume *
adc_volume_by_name(AttachDetachController *self, const char *unique_name)
{
    g_autofree char *driver = NULL;
    const char *handle = volume_unique_name_parse(unique_name, &driver);

    if (handle == NULL)
        return NULL;
    return adc_volume_named(self, strings_intern(self->base.strings, unique_name),
                            strings_intern(self->base.strings, driver),
                            strings_intern(self->base.strings, handle));
}

AttachPair *
adc_find_pair(const AttachVolume *volume, const AttachNode *node)
{
    for (const GSList *link = volume->pairs; link != NULL; link = link->next)
        if (((AttachPair *)link->data)->node == node)
            return link->data;
    return NULL;
}

AttachPair *
adc_pair(AttachVolume *volume, AttachNode *node)
{
    AttachPair *pair = adc_find_pair(volume, node);

    if (pair == NULL) {
        for (GSList *link = volume->pairs; link != NULL; link = link->next)
            adc_disturb(link->data);
        pair = g_new0(AttachPair, 1);
        pair->controller = node->controller;
        pair->volume = volume;
        pair->node = node;
        pair->volume_hash = volume->hash;
        pair->node_hash = node->hash;
        pair->detach_requested_at = TIME_UNSET;
        volume->pairs = g_slist_append(volume->pairs, pair);
        g_ptr_array_add(node->pairs, pair);
    }
    return pair;
}

ObjectKey *
adc_attachment_key(AttachDetachController *self, AttachPair *pair)
{
    if (pair->attachment != NULL)
        return pair->attachment;
    const char *driver = pair->volume->driver; /* of other volumes there is no such object */
    pair->attachment = volume_attachment_key(self->base.objects, driver == NULL ? "" : driver,
                                             pair->volume->handle, pair->node->name);
    g_hash_table_insert(self->pairs_by_attachment, pair->attachment, pair);
    return pair->attachment;
}

static OperationKey
operation_key(const AttachPair *pair, gboolean is_exclusive)
{
    return (OperationKey){.volume = pair->volume->name,
                          .node = is_exclusive ? NULL : pair->node->name};
}

OperationKey
adc_attach_key(const AttachPair *pair)
{
    return operation_key(pair, pair->volume->is_exclusive);
}

OperationKey
adc_detach_key(const AttachPair *pair)
{
    return operation_key(pair, pair->volume->is_exclusive && pair->volume->has_spec);
}

gboolean
adc_is_in_use(const AttachPair *pair)
{
    return string_list_has_interned(pair->node->in_use, pair->volume->name);
}

GPtrArray *
adc_pods_of(const AttachDetachController *self, const AttachPair *pair)
{
    SimStream stream = sim_stream(self->base.sim, "attach-detach-controller/pod order");
    GPtrArray *pods = g_ptr_array_new();

    for (const GSList *link = pair->pods; link != NULL; link = link->next)
        g_ptr_array_add(pods, link->data);
    sim_shuffle(pods->pdata, pods->len, object_key_place, stream,
                (uint64_t)sim_now(self->base.sim));
    return pods;
}

OperationKey
adc_key_under_way(const AttachPair *pair)
{
    return operation_key(pair, !pair->is_for_node);
}

Plan *
adc_plan(const AttachDetachController *self, const AttachPair *pair)
{
    return pair->is_under_way ? operations_plan(self->operations, adc_key_under_way(pair)) : NULL;
}

void
adc_settle(AttachDetachController *self, AttachPair *pair)
{
    AttachVolume *volume = pair->volume;

    if (attach_pair_is_wanted(pair) || pair->state != ADC_DETACHED || pair->is_queued ||
        pair->is_under_way)
        return;
    if (self->looking_at != NULL) { /* the pass may point at it */
        adc_queue(self, pair);
        return;
    }
    sim_cancel(self->base.sim, pair->timer);
    if (pair->attachment != NULL)
        g_hash_table_remove(self->pairs_by_attachment, pair->attachment);
    volume->pairs = g_slist_remove(volume->pairs, pair);
    g_ptr_array_remove(pair->node->pairs, pair);
    pair_free(pair);
    if (volume->pairs == NULL)
        g_hash_table_remove(self->volumes_by_name, volume->name);
}

unsigned
attach_pairs_from(const GPtrArray *pairs, uint64_t place)
{
    unsigned low = 0, high = pairs->len;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (((const AttachPair *)pairs->pdata[middle])->place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ADC-71: GetAttachedVolumes() walks a map of volumes, each with a map of its nodes. */
static void
draw_place(const AttachDetachController *self, AttachPair *pair)
{
    pair->place = sim_map_place(self->detach_order, (uint64_t)self->pass_began_at,
                                pair->volume_hash, pair->node_hash);
}

static int
state_compare_places(const void *a, const void *b)
{
    const AttachPair *first = *(AttachPair *const *)a, *second = *(AttachPair *const *)b;

    return ORDER(first->place, second->place);
}

void
adc_begin_walk(AttachDetachController *self)
{
    GPtrArray *pairs = g_steal_pointer(&self->queued);

    self->queued = g_ptr_array_new();
    self->looking_at = pairs;
    self->pass_began_at = sim_now(self->base.sim);
    for (unsigned i = 0; i < pairs->len; i++) {
        AttachPair *pair = pairs->pdata[i];
        pair->is_queued = FALSE;
        draw_place(self, pair);
    }
    g_ptr_array_sort(pairs, state_compare_places);
}

void
adc_queue(AttachDetachController *self, AttachPair *pair)
{
    if (!pair->is_queued) {
        pair->is_queued = TRUE;
        adc_attachment_key(self, pair);
        if (self->looking_at != NULL)
            draw_place(self, pair);
        g_ptr_array_insert(
            self->queued,
            self->looking_at == NULL ? -1 : (int)attach_pairs_from(self->queued, pair->place),
            pair);
    }
    pair->queued_by = sim_cause(self->base.sim);
    sim_ticker_wake(self->reconciler);
}

void
adc_queue_all(AttachDetachController *self)
{
    AttachNode *node;

    for (uint32_t slot = 0; (node = adc_next_node(self, &slot)) != NULL;)
        for (unsigned i = 0; i < node->pairs->len; i++)
            adc_queue(self, node->pairs->pdata[i]);
}

gboolean
adc_delete_pod_somewhere(AttachDetachController *self, const ObjectKey *pod)
{
    AttachNode *node;

    for (uint32_t slot = 0; (node = adc_next_node(self, &slot)) != NULL;)
        for (unsigned i = 0; i < node->pairs->len; i++) {
            AttachPair *pair = node->pairs->pdata[i];
            if (g_slist_find(pair->pods, pod) == NULL)
                continue;
            adc_delete_pod(self, pair, pod);
            return TRUE;
        }
    return FALSE;
}

static void
timer_fire(Sim *sim, void *data)
{
    AttachPair *pair = data;

    (void)sim;
    pair->timer = 0;
    adc_queue(pair->controller, pair);
}

static const SimEventType timer_event = {
    .name = "attach-detach/look again",
    .fire = timer_fire,
};

void
adc_queue_at(AttachDetachController *self, AttachPair *pair, SimTime at)
{
    sim_cancel(self->base.sim, pair->timer);
    pair->timer = sim_at_detail(self->base.sim, MAX(at, sim_now(self->base.sim)), &timer_event,
                                pair, WAIT_BACKOFF, self->base.label);
}

void
adc_manage_node(AttachNode *node)
{
    node->is_managed = TRUE;
}

gboolean
adc_delete_node(AttachNode *node)
{
    for (unsigned i = 0; i < node->pairs->len; i++)
        if (attach_pair_is_wanted(node->pairs->pdata[i]))
            return FALSE;
    node->is_managed = FALSE;
    return TRUE;
}

gboolean
adc_add_pod(AttachDetachController *self, AttachPair *pair, const ObjectKey *pod)
{
    if (!pair->node->is_managed)
        return FALSE;
    if (g_slist_find(pair->pods, pod) == NULL) {
        adc_disturb(pair);
        pair->pods = g_slist_append(pair->pods, (void *)pod);
        adc_queue(self, pair);
    }
    return TRUE;
}

void
adc_delete_pod(AttachDetachController *self, AttachPair *pair, const ObjectKey *pod)
{
    GSList *link = g_slist_find(pair->pods, pod);

    if (link == NULL)
        return;
    adc_disturb(pair);
    pair->pods = g_slist_delete_link(pair->pods, link);
    if (pair->pods == NULL)
        pair->multi_attach_reported = FALSE;
    adc_queue(self, pair);
}

/* Other nodes may wait for an exclusive volume to be free. */
static void
queue_others(AttachDetachController *self, const AttachPair *pair)
{
    for (GSList *link = pair->volume->pairs; link != NULL; link = link->next)
        if (link->data != pair)
            adc_queue(self, link->data);
}

static void
node_reported(Sim *sim, void *data)
{
    AttachNode *node = data;
    AttachDetachController *self = node->controller;
    const Object *object = informer_find(self->nodes, NULL, node->name);

    (void)sim;
    node->report_due = 0;
    if (object != NULL)
        adc_set_in_use(self, node, ((const Node *)object)->volumes_in_use);
}

static const SimEventType node_reported_event = {
    .name = "attach-detach-controller/node reported",
    .fire = node_reported,
};

/* ADC-72: after a failed attach the volume is assumed to be in use until a Node event says
 * otherwise. The kubelet reports its node every 5 min at the latest (nodeStatusReportFrequency);
 * the model leaves these reports out, as they change nothing else, and does here what one would do.
 */
static void
wait_for_report(AttachDetachController *self, AttachNode *node)
{
    SimStream stream = sim_stream(self->base.sim, "attach-detach-controller/node report");

    if (node->report_due != 0)
        return;
    uint64_t delay = sim_random_below(stream, sim_hash_string(node->name), node->n_reports++,
                                      (uint64_t)(5 * SIM_MINUTE));
    node->report_due =
        sim_after(self->base.sim, (SimTime)delay, &node_reported_event, node, WAIT_POLL);
}

void
adc_set_attached(AttachDetachController *self,
                 AttachPair *pair,
                 gboolean has_spec,
                 const char *device_path,
                 gboolean confirmed)
{
    adc_disturb(pair);
    pair->volume->has_spec = has_spec;
    pair->volume->device_path = device_path;
    if (pair->state == ADC_DETACHED) { /* assumed in use until the node says otherwise */
        StringList *in_use = string_list_with(pair->node->in_use, pair->volume->name);
        string_list_unref(pair->node->in_use);
        pair->node->in_use = in_use;
        pair->detach_requested_at = TIME_UNSET;
        if (!confirmed)
            wait_for_report(self, pair->node);
    }
    pair->state = confirmed ? ADC_ATTACHED : ADC_UNCERTAIN;
    if (confirmed)
        adc_report(self, pair, TRUE);
    else
        queue_others(self, pair); /* it no longer blocks them (ADC-24) */
    adc_queue(self, pair);
}

static gboolean
is_attached_anywhere(const AttachVolume *volume)
{
    for (const GSList *link = volume->pairs; link != NULL; link = link->next)
        if (((const AttachPair *)link->data)->state != ADC_DETACHED)
            return TRUE;
    return FALSE;
}

void
adc_set_detached(AttachDetachController *self, AttachPair *pair)
{
    if (pair->state == ADC_DETACHED)
        return;
    adc_disturb(pair);
    adc_report(self, pair, FALSE);
    pair->state = ADC_DETACHED;
    pair->detach_requested_at = TIME_UNSET;
    if (!is_attached_anywhere(pair->volume)) {
        pair->volume->has_spec = FALSE;
        pair->volume->device_path = NULL;
    }
    queue_others(self, pair);
    adc_queue(self, pair);
}

static void
node_is_outdated(AttachDetachController *self, AttachNode *node)
{
    if (!node->needs_update)
        g_ptr_array_add(self->nodes_to_update, node);
    node->needs_update = TRUE;
    sim_ticker_wake(self->reconciler);
}

gboolean
adc_report(AttachDetachController *self, AttachPair *pair, gboolean attached)
{
    AttachNode *node = pair->node;

    if (pair->state == ADC_DETACHED ||
        string_list_has_interned(node->report, pair->volume->name) == attached)
        return FALSE;
    StringList *report = attached ? string_list_with(node->report, pair->volume->name)
                                  : string_list_without(node->report, pair->volume->name);
    string_list_unref(node->report);
    node->report = report;
    node->has_report = TRUE;
    node_is_outdated(self, node);
    return TRUE;
}

gboolean
adc_report_again(AttachDetachController *self, AttachNode *node)
{
    if (node->has_report)
        node_is_outdated(self, node);
    return node->has_report;
}

gboolean
adc_begin_report(AttachDetachController *self, AttachNode *node)
{
    gboolean was_needed = node->needs_update;

    node->needs_update = FALSE;
    g_ptr_array_remove(self->nodes_to_update, node);
    return was_needed;
}

SimTime
adc_request_detach(AttachDetachController *self, AttachPair *pair)
{
    if (pair->state == ADC_DETACHED)
        return -1;
    if (pair->detach_requested_at == TIME_UNSET)
        pair->detach_requested_at = sim_now(self->base.sim);
    return sim_now(self->base.sim) - pair->detach_requested_at;
}

void
adc_reset_detach_request(AttachPair *pair)
{
    pair->detach_requested_at = TIME_UNSET;
}

void
adc_set_in_use(AttachDetachController *self, AttachNode *node, const StringList *in_use)
{
    gboolean changed = !string_list_equal(node->in_use, in_use);
    StringList *list = string_list_ref(in_use);

    string_list_unref(node->in_use);
    node->in_use = list;
    for (unsigned i = 0; changed && i < node->pairs->len; i++) {
        AttachPair *pair = node->pairs->pdata[i];
        if (!attach_pair_is_wanted(pair))
            adc_queue(self, pair);
    }
}
