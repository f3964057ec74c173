/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSIStorageCapacity objects: one for each pair of a topology segment and a late-binding class of
 * the driver. Nodes and CSINodes form the segments, and a segment lives as long as a node forms it.
 * The queue holds keys of pairs, or names of obsolete objects; a key of a pair asks the driver for
 * its free room and writes the object only if the answer differs. Every poll, and every claim or
 * volume that changed the room, queues pairs again.
 *
 * Invariant: a pair takes at most one object; a second one, or that of a pair that is no longer
 * wanted, is obsolete and deleted (CAP-4). */
#include "provisioner.h"

#include <string.h>

#include "models/api/manifest.h"
#include "models/external-provisioner/provisioner-test.h"
#include "models/metrics/metrics.h"
#include "models/timing/waits.h"
#include "sim/random.h"
#include "sim/ticker.h"

#define LABEL_DRIVER "csi.storage.k8s.io/drivername"
#define LABEL_MANAGED_BY "csi.storage.k8s.io/managed-by"
#define NAME_PREFIX "csisc-"
#define NAME_CHARACTERS 5 /* API-60 */

/* A pair of a segment and a class. Its key stands in the queue, and names no object. */
typedef struct {
    ObjectKey *key;
    const char *class_name;  /* interned */
    StringMap *segment;      /* (owned) */
    const ObjectKey *object; /* as the informer told; NULL: none is known (CAP-4) */
    ObjectUid uid;           /* of @object */
    unsigned n_names;        /* drawn so far */
    gboolean wanted;         /* FALSE: segment or class have gone since */
} CapacityItem;

struct Capacity {
    CapacityOptions options;
    Informer *nodes, *csi_nodes; /* NULL: no topology */
    Informer *classes, *objects;
    Workers *workers;
    SimTicker *poll;
    GPtrArray *items;         /* of CapacityItem, in order of appearance */
    GHashTable *by_key;       /* ObjectKey of the queue -> CapacityItem */
    GHashTable *by_object;    /* ObjectKey of an object -> CapacityItem */
    GHashTable *obsolete;     /* ObjectKey of objects to delete */
    TopologyTerms segments;   /* with the number of nodes that form them */
    GPtrArray *node_segments; /* by the slot of the node: StringMap; see no_segment */
    StringMap *no_segment;    /* marks: the node forms none */
    StringMap *labels;        /* of our objects */
};

/* ---- Items ---- */

static const char *
driver_name(const Capacity *self)
{
    return self->options.component->driver_name;
}

static void
item_free(void *data)
{
    CapacityItem *item = data;

    string_map_unref(item->segment);
    g_free(item);
}

/* Returns: (borrowed): the key of a pair: its text is for the trace */
static ObjectKey *
item_key(const Capacity *self, const char *class_name, const StringMap *segment)
{
    g_autoptr(GString) text = g_string_new(class_name);

    g_string_append_c(text, '{');
    for (unsigned i = 0; segment != NULL && i < segment->n_pairs; i++)
        g_string_append_printf(text, "%s%s=%s", i == 0 ? "" : ",", segment->pairs[i].key,
                               segment->pairs[i].value);
    g_string_append_c(text, '}');
    return objects_key(self->options.component->objects, KIND_STORAGE_CAPACITY, driver_name(self),
                       text->str);
}

static CapacityItem *
item_at(const Capacity *self, unsigned i)
{
    return self->items->pdata[i];
}

static void
add_item(Capacity *self, const char *class_name, const StringMap *segment)
{
    ObjectKey *key = item_key(self, class_name, segment);
    CapacityItem *item = g_hash_table_lookup(self->by_key, key);

    if (item == NULL) {
        item = g_new0(CapacityItem, 1);
        *item = (CapacityItem){
            .key = key, .class_name = class_name, .segment = string_map_ref(segment)};
        g_ptr_array_add(self->items, item);
        g_hash_table_insert(self->by_key, key, item);
    }
    item->wanted = TRUE;
    workers_add(self->workers, key);
}

/* Its object is obsolete from now on. */
static void
remove_item(Capacity *self, CapacityItem *item)
{
    if (!item->wanted)
        return;
    item->wanted = FALSE;
    if (item->object == NULL)
        return;
    g_hash_table_remove(self->by_object, item->object);
    g_hash_table_add(self->obsolete, (void *)item->object);
    workers_add(self->workers, item->object);
    item->object = NULL;
}

/* CAP-1 */
static gboolean
class_is_ours(const Capacity *self, const StorageClass *class)
{
    return class->provisioner == driver_name(self) &&
           (self->options.for_immediate || class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER);
}

static void
class_changed(void *data, const Object *before, const Object *after)
{
    Capacity *self = data;

    if (after == NULL) {
        for (unsigned i = 0; i < self->items->len; i++)
            if (item_at(self, i)->class_name == object_name(before))
                remove_item(self, item_at(self, i));
        return;
    }
    if (!class_is_ours(self, STORAGE_CLASS(after)))
        return;
    for (unsigned i = 0; i < self->segments.n_terms; i++)
        if (self->segments.terms[i].n_nodes > 0)
            add_item(self, object_name(after), self->segments.terms[i].segment);
}

/* ---- Segments ---- */

static void
segment_appeared(Capacity *self, const StringMap *segment)
{
    InformerIter classes;
    const Object *class;

    informer_iter_init(&classes, self->classes);
    while ((class = informer_iter_next(&classes)) != NULL)
        if (class_is_ours(self, STORAGE_CLASS(class)))
            add_item(self, object_name(class), segment);
}

static void
segment_vanished(Capacity *self, const StringMap *segment)
{
    for (unsigned i = 0; i < self->items->len; i++)
        if (string_map_equal(item_at(self, i)->segment, segment))
            remove_item(self, item_at(self, i));
}

static void
count_segment(Capacity *self, const StringMap *segment, int change)
{
    TopologyTerm *term = topology_terms_add(&self->segments, segment);
    unsigned before = term->n_nodes;

    term->n_nodes = (unsigned)((int)before + change);
    if (before == 0)
        segment_appeared(self, segment);
    else if (term->n_nodes == 0)
        segment_vanished(self, segment);
}

/* Returns: (owned): the segment that a node forms; no_segment: none */
static StringMap *
node_segment(const Capacity *self, const Object *node, const CsiNode *csi_node)
{
    const CsiNodeDriver *entry =
        csi_node == NULL ? NULL : csi_node_find_driver(csi_node, driver_name(self));
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));

    if (node == NULL || entry == NULL)
        return string_map_ref(self->no_segment);
    for (unsigned i = 0; entry->topology_keys != NULL && i < entry->topology_keys->n_items; i++) {
        const char *key = entry->topology_keys->items[i];
        StringPair pair = {key, string_map_get(node->labels, key)};
        if (pair.value == NULL)
            return string_map_ref(self->no_segment);
        g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(const void *)pairs->data, pairs->len);
}

/* Something about the node of this name changed. */
static void
look_at_node(Capacity *self, const char *name)
{
    Objects *objects = self->options.component->objects;
    const ObjectKey *node = objects_key(objects, KIND_NODE, NULL, name);
    const ObjectKey *csi_node = objects_key(objects, KIND_CSI_NODE, NULL, name);

    while (node->slot >= self->node_segments->len)
        g_ptr_array_add(self->node_segments, string_map_ref(self->no_segment));
    StringMap *before = self->node_segments->pdata[node->slot];
    StringMap *after = node_segment(self, informer_get(self->nodes, node),
                                    (const CsiNode *)informer_get(self->csi_nodes, csi_node));
    self->node_segments->pdata[node->slot] = after;
    if (before != after && !(before != self->no_segment && after != self->no_segment &&
                             string_map_equal(before, after))) {
        if (after != self->no_segment)
            count_segment(self, after, 1);
        if (before != self->no_segment)
            count_segment(self, before, -1);
    }
    string_map_unref(before);
}

static void
capacity_node_changed(void *data, const Object *before, const Object *after)
{
    if (before == NULL || after == NULL || before->labels != after->labels)
        look_at_node(data, object_name(after != NULL ? after : before));
}

static void
csi_node_changed(void *data, const Object *before, const Object *after)
{
    look_at_node(data, object_name(after != NULL ? after : before));
}

/* ---- Objects ---- */

static gboolean
is_managed(const Capacity *self, const Object *object)
{
    return string_map_contains(object->labels, self->labels);
}

/* matchLabels only: we never write expressions. */
static StringMap *
object_segment(const StorageCapacity *object)
{
    const LabelSelector *topology = object->topology;
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));

    for (unsigned i = 0; topology != NULL && i < topology->n_requirements; i++) {
        const SelectRequirement *requirement = &topology->requirements[i];
        StringPair pair = {requirement->key,
                           requirement->values == NULL ? NULL : requirement->values->items[0]};
        if (requirement->operator== SELECT_IN && pair.value != NULL)
            g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(const void *)pairs->data, pairs->len);
}

/* CAP-4: an object is new. Its pair takes it, or it is obsolete. */
static void
object_appeared(Capacity *self, const Object *object)
{
    g_autoptr(StringMap) segment = object_segment((const StorageCapacity *)object);
    const char *class_name = ((const StorageCapacity *)object)->class_name;
    CapacityItem *item = g_hash_table_lookup(self->by_key, item_key(self, class_name, segment));

    if (item != NULL && item->wanted && item->object == NULL) {
        item->object = object->key;
        item->uid = object->uid;
        g_hash_table_insert(self->by_object, (void *)object->key, item);
        return;
    }
    g_hash_table_add(self->obsolete, (void *)object->key);
    workers_add(self->workers, object->key);
}

static void
capacity_object_changed(void *data, const Object *before, const Object *after)
{
    Capacity *self = data;
    const Object *object = after != NULL ? after : before;
    CapacityItem *item = g_hash_table_lookup(self->by_object, object->key);

    if (after == NULL || !is_managed(self, after)) { /* CAP-9 */
        g_hash_table_remove(self->obsolete, object->key);
        if (item == NULL)
            return;
        g_hash_table_remove(self->by_object, object->key);
        item->object = NULL;
        workers_add(self->workers, item->key); /* somebody else took it */
    } else if (item == NULL) {
        object_appeared(self, after);
    }
}

static int64_t
maximum_of(const CsiResponse *response)
{
    return response->maximum_volume_bytes > 0 ? response->maximum_volume_bytes : -1;
}

/* CAP-3. Returns: (owned) */
static Object *
make_object(const Capacity *self, CapacityItem *item, const CsiResponse *response)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    const Component *component = self->options.component;
    SimStream stream = sim_stream(component->sim, "external-provisioner/capacity-names");
    uint64_t entity = self->options.on_node
                          ? sim_hash_combine(item->key->hash, sim_hash_string(component->node_name))
                          : item->key->hash;
    char name[] = NAME_PREFIX "xxxxx";

    for (unsigned i = 0; i < NAME_CHARACTERS; i++)
        name[strlen(NAME_PREFIX) + i] = alphabet[sim_random_below(
            stream, entity, (uint64_t)item->n_names * NAME_CHARACTERS + i, sizeof alphabet - 1)];
    Object *object = object_new(
        objects_key(component->objects, KIND_STORAGE_CAPACITY, self->options.namespace, name));
    unsigned n_pairs = item->segment == NULL ? 0 : item->segment->n_pairs;
    g_autofree SelectRequirement *requirements = g_new0(SelectRequirement, n_pairs + 1);
    for (unsigned i = 0; i < n_pairs; i++)
        requirements[i] = (SelectRequirement){item->segment->pairs[i].key, SELECT_IN,
                                              string_list_new(&item->segment->pairs[i].value, 1)};
    object->labels = string_map_ref(self->labels);
    object->owners = owner_references_ref(self->options.owners);
    STORAGE_CAPACITY(object)->class_name = item->class_name;
    STORAGE_CAPACITY(object)->topology = label_selector_new(requirements, n_pairs);
    STORAGE_CAPACITY(object)->capacity_bytes = response->available_bytes;
    STORAGE_CAPACITY(object)->maximum_bytes = maximum_of(response);
    return object;
}

typedef struct {
    int64_t capacity_bytes, maximum_bytes;
    OwnerReferences *owners;
} CapacityEdit;

/* isOwnedByUs() in capacity.go: other owners do not matter. */
static gboolean
is_owned_by(const Object *object, const OwnerReference *owner)
{
    for (unsigned i = 0; object->owners != NULL && i < object->owners->n_items; i++)
        if (object->owners->items[i].controller &&
            object_uid_equal(object->owners->items[i].uid, owner->uid))
            return TRUE;
    return FALSE;
}

static gboolean
capacity_set_capacity(Object *object, const void *arg)
{
    const CapacityEdit *edit = arg;
    StorageCapacity *capacity = STORAGE_CAPACITY(object);
    const OwnerReference *owner = edit->owners == NULL ? NULL : &edit->owners->items[0];
    gboolean owned = owner == NULL || is_owned_by(object, owner);

    if (capacity->capacity_bytes == edit->capacity_bytes &&
        capacity->maximum_bytes == edit->maximum_bytes && owned)
        return FALSE;
    capacity->capacity_bytes = edit->capacity_bytes;
    capacity->maximum_bytes = edit->maximum_bytes;
    if (!owned) {
        OwnerReferences *owners = owner_references_with(object->owners, owner);
        owner_references_unref(object->owners);
        object->owners = owners;
    }
    return TRUE;
}

/* ---- The queue ---- */

static const Capacity *
capacity_of(const void *component)
{
    return ((const ExternalProvisioner *)component)->capacity;
}

static void
write_capacity(const Capacity *self, Plan *plan, CapacityItem *item, const CsiResponse *response)
{
    const Object *known = item->object == NULL ? NULL : informer_get(self->objects, item->object);

    plan_use_client(plan, self->options.client);
    if (known == NULL) {
        plan_create(plan, make_object(self, item, response), PLAN_STOP);
        plan_change(plan, &(PlanChange){.what = CHANGE_CAPACITY_NAMED, .key = item->key});
        return;
    }
    CapacityEdit *edit = plan_new_arg(plan, CapacityEdit);
    *edit = (CapacityEdit){response->available_bytes, maximum_of(response), self->options.owners};
    plan_update(plan, known, capacity_set_capacity, edit, PLAN_STOP);
}

/* CAP-2: the driver has answered. */
static void
decide_answered(const void *data, Plan *plan)
{
    const ExternalProvisioner *provisioner = data;
    const Capacity *self = capacity_of(data);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));
    CapacityItem *item = g_hash_table_lookup(self->by_key, plan_key(plan));

    plan_because(plan, "CAP-2");
    if (response->code != CSI_OK)
        plan_fail(plan, "CSI GetCapacity for %s: %s", plan_key(plan)->name,
                  csi_response_error(response, provisioner->base.strings));
    else if (item->wanted)
        write_capacity(self, plan, item, response);
}

static const StorageClass *
capacity_class_of(const Capacity *self, const CapacityItem *item)
{
    return (const StorageClass *)informer_find(self->classes, NULL, item->class_name);
}

static void
ask_driver(const Capacity *self, Plan *plan, const CapacityItem *item)
{
    const StringMap *segment = item->segment;
    CsiRequest request = {.method = CSI_GET_CAPACITY,
                          .timeout_ns = self->options.timeout,
                          .parameters = capacity_class_of(self, item)->parameters};

    if (segment != NULL) {
        request.requisite = &segment;
        request.n_requisite = 1;
    }
    plan_call(plan, self->options.component->driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_answered);
}

/* syncItem() and deleteCapacity() in capacity.go: a key stands for a pair, or names an object. */
static void
decide_capacity(const void *data, Plan *plan)
{
    const Capacity *self = capacity_of(data);
    const CapacityItem *item = g_hash_table_lookup(self->by_key, plan_key(plan));
    const Object *object = item != NULL ? NULL : informer_get(self->objects, plan_key(plan));

    plan_because(plan, item != NULL ? "CAP-2" : "CAP-4");
    if (item != NULL && item->wanted && capacity_class_of(self, item) != NULL) {
        ask_driver(self, plan, item);
    } else if (object != NULL && g_hash_table_contains(self->obsolete, plan_key(plan))) {
        plan_use_client(plan, self->options.client);
        plan_delete(plan, plan_key(plan), object->uid, -1, PLAN_GONE_IS_FINE);
    }
}

void
capacity_named(Capacity *self, const ObjectKey *key)
{
    ((CapacityItem *)g_hash_table_lookup(self->by_key, key))->n_names++;
}

/* ---- Refreshing ---- */

static uint64_t
item_place(const void *item, SimStream stream, uint64_t walk)
{
    return object_key_place(((const CapacityItem *)item)->key, stream, walk);
}

/* CAP-5: the items stand in a map. @only: NULL: all */
static void
queue_items(Capacity *self,
            gboolean (*only)(const CapacityItem *item, const void *arg),
            const void *arg)
{
    Sim *sim = self->options.component->sim;
    SimStream stream = sim_stream(sim, "external-provisioner/capacity order");
    g_autoptr(GPtrArray) items = g_ptr_array_new();

    for (unsigned i = 0; i < self->items->len; i++)
        if (item_at(self, i)->wanted && (only == NULL || only(item_at(self, i), arg)))
            g_ptr_array_add(items, item_at(self, i));
    sim_shuffle(items->pdata, items->len, item_place, stream, (uint64_t)sim_now(sim));
    for (unsigned i = 0; i < items->len; i++)
        workers_add(self->workers, ((CapacityItem *)items->pdata[i])->key);
}

static gboolean
is_of_class(const CapacityItem *item, const void *class_name)
{
    return item->class_name == class_name;
}

static gboolean
is_of_segment(const CapacityItem *item, const void *segment)
{
    return string_map_equal(item->segment, segment);
}

void
capacity_refresh_class(Capacity *self, const char *class_name)
{
    queue_items(self, is_of_class, class_name);
}

gboolean
capacity_term_segment(const NodeSelectorTerm *term, StringMap **segment)
{
    const LabelSelector *expressions = term->expressions;
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));

    *segment = NULL;
    if (term->field_name != NULL)
        return FALSE;
    for (unsigned i = 0; expressions != NULL && i < expressions->n_requirements; i++) {
        const SelectRequirement *requirement = &expressions->requirements[i];
        if (requirement->operator!= SELECT_IN || requirement->values == NULL ||
            requirement->values->n_items != 1)
            return FALSE;
        StringPair pair = {requirement->key, requirement->values->items[0]};
        g_array_append_val(pairs, pair);
    }
    *segment = string_map_new((const StringPair *)(const void *)pairs->data, pairs->len);
    return TRUE;
}

void
capacity_refresh_affinity(Capacity *self, const NodeSelector *affinity)
{
    for (unsigned i = 0; i < affinity->n_terms; i++) {
        g_autoptr(StringMap) segment = NULL;
        if (capacity_term_segment(&affinity->terms[i], &segment))
            queue_items(self, is_of_segment, segment);
    }
}

void
capacity_refresh_volume(Capacity *self, const Volume *volume)
{
    if (volume->node_affinity != NULL)
        capacity_refresh_affinity(self, volume->node_affinity);
    else
        capacity_refresh_class(self, volume_class(volume));
}

/* CAP-5: every poll asks the driver about all items. The loop never sleeps. */
static gboolean
poll_capacity(void *data)
{
    queue_items(data, NULL, NULL);
    return TRUE;
}

/* ---- Start and end ---- */

static void
mark_unref(void *segment)
{
    string_map_unref(segment);
}

static void
make_labels(Capacity *self)
{
    Strings *strings = self->options.component->strings;
    StringPair pairs[] = {
        {strings_intern(strings, LABEL_DRIVER),     driver_name(self)       },
        {strings_intern(strings, LABEL_MANAGED_BY), self->options.managed_by},
    };

    self->labels = string_map_new(pairs, G_N_ELEMENTS(pairs));
    self->no_segment = string_map_new(pairs, 1);
}

static void
subscribe(Capacity *self)
{
    Process *process = self->options.component->process;

    self->classes = process_informer(process, KIND_STORAGE_CLASS, NULL);
    self->objects = process_informer(process, KIND_STORAGE_CAPACITY, NULL);
    if (self->options.has_topology && self->options.on_node) {
        count_segment(self, self->options.node_segment, 1);
    } else if (self->options.has_topology) {
        self->nodes = process_informer(process, KIND_NODE, NULL);
        self->csi_nodes = process_informer(process, KIND_CSI_NODE, NULL);
        informer_add_handler(self->nodes, capacity_node_changed, self);
        informer_add_handler(self->csi_nodes, csi_node_changed, self);
    } else {
        count_segment(self, NULL, 1); /* all nodes are one place */
    }
    informer_add_handler(self->classes, class_changed, self);
    informer_add_handler(self->objects, capacity_object_changed,
                         self); /* when the pairs are known */
}

/* MET-78, before a scrape: the series sum up all drivers. */
static void
capacity_measure(void *data)
{
    const Capacity *self = data;
    SimMetrics *metrics = sim_metrics(self->options.component->sim);
    const char *job = process_job(self->options.component->process);
    int64_t n_wanted = 0, n_there = 0;

    for (unsigned i = 0; i < self->items->len; i++) {
        const CapacityItem *item = item_at(self, i);
        n_wanted += item->wanted;
        n_there += item->wanted && item->object != NULL;
    }
    sim_series_add(metric_series(metrics, METRIC_CAPACITY_GOAL, job, NULL), n_wanted);
    sim_series_add(metric_series(metrics, METRIC_CAPACITY_CURRENT, job, NULL), n_there);
    sim_series_add(metric_series(metrics, METRIC_CAPACITY_OBSOLETE, job, NULL),
                   g_hash_table_size(self->obsolete));
}

Capacity *
capacity_new(const CapacityOptions *options)
{
    Capacity *self = g_new0(Capacity, 1);
    WorkersOptions workers = {.name = "csistoragecapacity",
                              .n_workers = options->n_workers,
                              .limit = options->limit,
                              .retry = TRUE,
                              .sync = decide_capacity};
    SimTickerOptions poll = {.name = "external-provisioner/capacity",
                             .period = options->poll_interval,
                             .cost = process_timing(options->component->process)->loop_pass,
                             .phase = 0,
                             .order = options->component->order,
                             .wait = WAIT_POLL,
                             .pass = poll_capacity,
                             .self = self};

    self->options = *options;
    self->items = g_ptr_array_new_with_free_func(item_free);
    self->by_key = g_hash_table_new(NULL, NULL);
    self->by_object = g_hash_table_new(NULL, NULL);
    self->obsolete = g_hash_table_new(NULL, NULL);
    self->node_segments = g_ptr_array_new_with_free_func(mark_unref);
    make_labels(self);
    self->workers = workers_new(options->component, &workers);
    subscribe(self);
    self->poll = sim_ticker_new(options->component->sim, &poll);
    sim_ticker_wake(self->poll);
    sim_metrics_add_collector(sim_metrics(options->component->sim), capacity_measure, self);
    return self;
}

void
capacity_free(Capacity *self)
{
    if (self == NULL)
        return;
    sim_metrics_remove_collector(sim_metrics(self->options.component->sim), self);
    sim_ticker_free(self->poll);
    g_ptr_array_unref(self->items);
    g_hash_table_unref(self->by_key);
    g_hash_table_unref(self->by_object);
    g_hash_table_unref(self->obsolete);
    g_ptr_array_unref(self->node_segments);
    topology_terms_clear(&self->segments);
    string_map_unref(self->no_segment);
    string_map_unref(self->labels);
    g_free(self);
}

unsigned
capacity_n_items(const Capacity *self)
{
    return self->items->len;
}

gboolean
capacity_item(const Capacity *self, unsigned i, CapacityItemView *view)
{
    const CapacityItem *item = item_at(self, i);

    *view = (CapacityItemView){item->key, item->class_name, item->segment, item->object};
    return item->wanted;
}

unsigned
capacity_n_obsolete(const Capacity *self)
{
    return g_hash_table_size(self->obsolete);
}

const TopologyTerms *
capacity_segments(const Capacity *self)
{
    return &self->segments;
}

void
capacity_hold(Capacity *self)
{
    workers_hold(self->workers);
}

WorkQueue *
capacity_queue(const Capacity *self)
{
    return workers_queue(self->workers);
}
