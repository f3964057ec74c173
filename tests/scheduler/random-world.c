/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-world.h"
#include "models/api/api-test.h"

#include <string.h>

#define ZONE "topology.kubernetes.io/zone"
#define GIB (INT64_C(1) << 30)
#define HOSTNAME "kubernetes.io/hostname"

/* ---- Draws ---- */

unsigned
random_below(RandomWorld *self, unsigned n)
{
    return (unsigned)g_rand_int_range(self->random, 0, (gint32)n);
}

gboolean
random_one_in(RandomWorld *self, unsigned n)
{
    return random_below(self, n) == 0;
}

static const char *
random_world_intern(RandomWorld *self, const char *text)
{
    return storage_world_intern(&self->base, text);
}

/* One of some words, parted by blanks; "-" stands for none: NULL. */
static const char *
one_of(RandomWorld *self, const char *words)
{
    g_auto(GStrv) list = g_strsplit(words, " ", -1);
    const char *word = list[random_below(self, g_strv_length(list))];

    return strcmp(word, "-") == 0 ? NULL : random_world_intern(self, word);
}

static const char *
numbered(RandomWorld *self, const char *prefix, unsigned number)
{
    return strings_internf(objects_strings(self->base.objects), "%s%u", prefix, number);
}

static void
random_world_set_label(RandomWorld *self, void *object, const char *key, const char *value)
{
    if (value != NULL)
        object_set_label(object, random_world_intern(self, key), value);
}

static SelectRequirement
requirement(RandomWorld *self, const char *key, SelectOperator operator, const char * value)
{
    return (SelectRequirement){
        .key = random_world_intern(self, key),
        .operator= operator,
        .values = value == NULL ? NULL : string_list_new(&value, 1),
    };
}

static LabelSelector *
selector_of(RandomWorld *self, const char *key, const char *value)
{
    SelectRequirement one = requirement(self, key, SELECT_IN, value);

    return label_selector_new(&one, 1);
}

/* By zone, host or disk: In, NotIn, Exists; one term or two. */
static NodeSelector *
random_node_selector(RandomWorld *self)
{
    NodeSelectorTerm terms[2] = {0};
    unsigned n = random_one_in(self, 4) ? 2 : 1;

    for (unsigned i = 0; i < n; i++) {
        SelectRequirement one = requirement(self, ZONE, SELECT_IN, one_of(self, "a b c"));
        switch (random_below(self, 6)) {
        case 0:
            string_list_unref(one.values);
            one =
                requirement(self, HOSTNAME, SELECT_IN, numbered(self, "n", random_below(self, 12)));
            break;
        case 1:
            one.operator= SELECT_NOT_IN;
            break;
        case 2:
            string_list_unref(one.values);
            one = requirement(self, "disk", SELECT_EXISTS, NULL);
            break;
        default:
            break;
        }
        terms[i].expressions = label_selector_new(&one, 1);
    }
    return node_selector_new(terms, n);
}

/* ---- What there is from the start: classes, drivers, capacities, volumes, claims ---- */

static void
random_world_add_class(RandomWorld *self,
                       const char *name,
                       const char *provisioner,
                       BindingMode mode,
                       gboolean is_narrow)
{
    StorageClass *class =
        STORAGE_CLASS(object_new(objects_key(self->base.objects, KIND_STORAGE_CLASS, NULL, name)));

    class->provisioner = random_world_intern(self, provisioner);
    class->binding_mode = mode;
    if (is_narrow) {
        NodeSelectorTerm term = {.expressions = selector_of(self, ZONE, one_of(self, "a b"))};
        class->allowed_topologies = node_selector_new(&term, 1);
    }
    plain_put(self->plain.classes, storage_world_create(&self->base, class));
}

static void
add_classes(RandomWorld *self)
{
    random_world_add_class(self, "now", "csi.a", BINDING_IMMEDIATE, FALSE);
    random_world_add_class(self, "late", "csi.a", BINDING_WAIT_FOR_FIRST_CONSUMER, FALSE);
    random_world_add_class(self, "narrow", "csi.b", BINDING_WAIT_FOR_FIRST_CONSUMER, TRUE);
    random_world_add_class(self, "local", PROVISIONER_NONE, BINDING_WAIT_FOR_FIRST_CONSUMER, FALSE);
    random_world_add_class(self, "old", "kubernetes.io/some-disk", BINDING_WAIT_FOR_FIRST_CONSUMER,
                           FALSE);
}

static void
add_driver(RandomWorld *self, const char *name)
{
    CsiDriverObject *driver =
        CSI_DRIVER_OBJECT(object_new(objects_key(self->base.objects, KIND_CSI_DRIVER, NULL, name)));

    driver->storage_capacity = random_one_in(self, 2);
    plain_put(self->plain.drivers, storage_world_create(&self->base, driver));
}

static void
add_capacity(RandomWorld *self, unsigned i)
{
    StorageCapacity *capacity = STORAGE_CAPACITY(object_new(objects_key(
        self->base.objects, KIND_STORAGE_CAPACITY, "kube-system", numbered(self, "capacity", i))));

    capacity->class_name = one_of(self, "late narrow");
    capacity->capacity_bytes = random_one_in(self, 5) ? -1 : (int64_t)random_below(self, 12) * GIB;
    capacity->maximum_bytes = random_one_in(self, 2) ? -1 : (int64_t)random_below(self, 12) * GIB;
    if (!random_one_in(self, 6))
        capacity->topology = random_one_in(self, 3)
                                 ? label_selector_new(NULL, 0)
                                 : selector_of(self, ZONE, one_of(self, "a b c"));
    plain_put(self->plain.capacities, storage_world_create(&self->base, capacity));
}

static Volume *
random_volume(RandomWorld *self, const char *name)
{
    Volume *volume = storage_world_volume(&self->base, name, (int)random_below(self, 12) + 1,
                                          one_of(self, "local local late narrow"));

    if (!random_one_in(self, 3))
        volume->node_affinity = random_node_selector(self);
    if (random_one_in(self, 3))
        random_world_set_label(self, volume, ZONE, one_of(self, "a b a__b a__"));
    volume->source->driver = one_of(self, "csi.a csi.b -");
    volume->access_modes = ACCESS_RWO | (random_one_in(self, 2) ? ACCESS_RWOP : 0);
    volume->volume_mode = random_one_in(self, 10) ? VOLUME_BLOCK : VOLUME_FILESYSTEM;
    volume->phase = random_one_in(self, 8) ? VOLUME_RELEASED : VOLUME_AVAILABLE;
    if (random_one_in(self, 12))
        volume->meta.deleted_at = 0;
    return volume;
}

static void
store_volume(RandomWorld *self, Volume *volume)
{
    const ObjectKey *key = volume->meta.key;

    storage_world_import(&self->base, volume);
    plain_put(self->plain.volumes, api_server_get(self->base.api, key));
}

static void
add_free_volume(RandomWorld *self)
{
    store_volume(self, random_volume(self, numbered(self, "v", ++self->n_volumes)));
}

/* The volume that a claim names, or, unless it @names one, that is kept for it. */
static void
add_volume_of_claim(RandomWorld *self, const Claim *claim, gboolean names)
{
    Volume *volume =
        random_volume(self, names ? claim->volume_name : numbered(self, "v", ++self->n_volumes));

    volume->claim_ref.claim = claim->meta.key;
    if (names || random_one_in(self, 2))
        volume->claim_ref.uid = claim->meta.uid;
    if (!names && claim->class_name != NULL)
        volume->class_name = claim->class_name;
    store_volume(self, volume);
}

static void
random_world_annotate(RandomWorld *self, Claim *claim, const char *key, const char *value)
{
    object_set_annotation(&claim->meta, random_world_intern(self, key),
                          random_world_intern(self, value));
}

/* How far a claim is. Returns: whether it names a volume that is there */
static gboolean
draw_state(RandomWorld *self, Claim *claim)
{
    const char *volume_name = numbered(self, "of-claim-", self->n_claims);

    switch (random_below(self, 16)) {
    case 0: /* its volume is lost */
        claim->phase = CLAIM_LOST;
        claim->volume_name = volume_name;
        return FALSE;
    case 1:
        if (random_one_in(self, 3))
            claim->meta.deleted_at = 0;
        return FALSE;
    case 2: /* named, and not bound yet */
        claim->volume_name = random_one_in(self, 2) ? volume_name : NULL;
        return FALSE;
    case 3:
    case 4:
        random_world_annotate(self, claim, ANNOTATION_SELECTED_NODE,
                              numbered(self, "n", random_below(self, 8)));
        return FALSE;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9: /* bound, but the volume may have gone */
        random_world_annotate(self, claim, ANNOTATION_BIND_COMPLETED, "yes");
        claim->phase = CLAIM_BOUND;
        claim->volume_name = volume_name;
        return !random_one_in(self, 12);
    default:
        return FALSE;
    }
}

static Claim *
random_claim(RandomWorld *self, const char *name)
{
    Claim *claim =
        storage_world_claim(&self->base, name, (int)random_below(self, 12) + 1,
                            one_of(self, "late late narrow local local old now late gone"));

    if (random_one_in(self, 6))
        claim->access_modes = ACCESS_RWOP;
    if (random_one_in(self, 15))
        claim->selector = selector_of(self, ZONE, one_of(self, "a b"));
    return claim;
}

static void
store_claim(RandomWorld *self, Claim *claim)
{
    gboolean has_volume = draw_state(self, claim);
    const ObjectKey *key = claim->meta.key;

    claim->meta.uid = objects_uid(self->base.objects, key, 1);
    storage_world_import(&self->base, claim);
    claim = CLAIM((Object *)api_server_get(self->base.api, key));
    plain_put(self->plain.claims, &claim->meta);
    if (has_volume || (claim->volume_name == NULL && random_one_in(self, 5)))
        add_volume_of_claim(self, claim, has_volume);
}

/* ---- Pods ---- */

/* One claim at most is shared with other pods: no pod names a claim twice. */
static void
draw_volumes(RandomWorld *self, Pod *pod)
{
    PodVolume volumes[3] = {0};
    unsigned n = self->has_priorities && !random_one_in(self, 4) ? 0 : random_below(self, 4);

    for (unsigned i = 0; i < n; i++) {
        gboolean is_shared = i == 0 && self->n_claims > 0 && random_one_in(self, 2);
        gboolean is_ephemeral = !is_shared && random_one_in(self, 8);
        volumes[i].name = numbered(self, "data", i);
        volumes[i].ephemeral = is_ephemeral;
        volumes[i].claim_name = numbered(
            self, "c", is_shared ? random_below(self, self->n_claims) + 1 : self->n_claims + 1);
        if (is_ephemeral)
            volumes[i].claim_name = strings_internf(objects_strings(self->base.objects), "%s-%s",
                                                    pod->meta.key->name, volumes[i].name);
        self->n_claims += is_shared ? 0 : 1;
        if (is_shared || random_one_in(self, 40))
            continue; /* it may be one that is missing */
        Claim *claim = random_claim(self, volumes[i].claim_name);
        if (is_ephemeral && !random_one_in(self, 5))
            object_set_owner(&claim->meta, &pod->meta, TRUE, TRUE);
        store_claim(self, claim);
    }
    if (n > 0)
        pod->volumes = pod_volumes_new(volumes, n);
}

static void
draw_terms(RandomWorld *self, PodSpec *spec)
{
    unsigned n = random_one_in(self, 5) ? 1 + random_below(self, 3) : 0;

    if (n == 0)
        return;
    spec->pod_terms = g_new0(PodAffinityTerm, n);
    spec->n_pod_terms = n;
    for (unsigned i = 0; i < n; i++) {
        PodAffinityTerm *term = &spec->pod_terms[i];
        const char *namespace = one_of(self, "default other");
        term->selector = random_one_in(self, 3)
                             ? selector_of(self, "tier", one_of(self, "front back"))
                             : selector_of(self, "app", one_of(self, "x y"));
        term->topology_key = random_one_in(self, 2) ? random_world_intern(self, ZONE)
                                                    : random_world_intern(self, HOSTNAME);
        term->anti = !random_one_in(self, 2);
        term->weight = random_one_in(self, 4) ? 10 : 0;
        term->namespaces = random_one_in(self, 4) ? string_list_new(&namespace, 1) : NULL;
    }
}

static void
draw_spread(RandomWorld *self, PodSpec *spec)
{
    unsigned n = random_one_in(self, 5) ? 1 + random_below(self, 2) : 0;

    if (n == 0)
        return;
    spec->spread = g_new0(SpreadConstraint, n);
    spec->n_spread = n;
    for (unsigned i = 0; i < n; i++) {
        spec->spread[i] = (SpreadConstraint){
            .selector = selector_of(self, "app", one_of(self, "x y")),
            .topology_key = random_one_in(self, 2) ? random_world_intern(self, ZONE)
                                                   : random_world_intern(self, HOSTNAME),
            .max_skew = 1 + (int32_t)random_below(self, 2),
            .min_domains = (int32_t)random_below(self, 4),
            .do_not_schedule = !random_one_in(self, 3),
        };
    }
}

/* Terms name their nodes, too: some or all, with or without their labels. */
static void
name_nodes(RandomWorld *self, NodeSelector *selector)
{
    for (unsigned i = 0; i < selector->n_terms; i++) {
        if (random_one_in(self, 4))
            continue;
        selector->terms[i].field_name = numbered(self, "n", random_below(self, 12));
        if (!random_one_in(self, 3))
            g_clear_pointer(&selector->terms[i].expressions, label_selector_unref);
    }
}

static void
draw_tolerations(RandomWorld *self, PodSpec *spec)
{
    Toleration toleration = {.key = random_world_intern(self, "k"),
                             .value = one_of(self, "v w"),
                             .exists = random_one_in(self, 2),
                             .effect = random_one_in(self, 2) ? -1 : TAINT_NO_SCHEDULE,
                             .seconds = -1};

    if (!random_one_in(self, 4))
        return;
    if (random_one_in(self, 4)) {
        toleration.key = random_world_intern(self, "");
        toleration.exists = TRUE;
    }
    spec->tolerations = tolerations_new(&toleration, 1);
}

static Pod *
random_pod(RandomWorld *self)
{
    const char *namespace = random_one_in(self, 8) ? "other" : "default";
    ObjectKey *key =
        objects_key(self->base.objects, KIND_POD, namespace, numbered(self, "p", ++self->n_pods));
    Pod *pod = POD(object_new(key));
    PodSpec *spec = pod->spec = pod->spec == NULL ? pod_spec_new() : pod->spec;

    pod->meta.uid = objects_uid(self->base.objects, key, 1);
    random_world_set_label(self, pod, "app", one_of(self, "x y -"));
    random_world_set_label(self, pod, "tier", one_of(self, "front back -"));
    spec->n_containers = 1;
    spec->priority = self->has_priorities ? (int32_t)random_below(self, 3) * 100 : 0;
    spec->preemption_policy = random_one_in(self, 10) ? PREEMPT_NEVER : PREEMPT_LOWER_PRIORITY;
    spec->cpu_milli = random_one_in(self, self->has_priorities ? 6 : 2)
                          ? 0
                          : (int64_t)random_below(self, 4) * 250;
    spec->memory_bytes = random_one_in(self, 2) ? 0 : (int64_t)random_below(self, 3) * GIB / 2;
    if (random_one_in(self, 6))
        spec->required_nodes = random_node_selector(self);
    if (spec->required_nodes != NULL && random_one_in(self, 3))
        name_nodes(self, spec->required_nodes);
    if (random_one_in(self, 10)) {
        StringPair pair = {random_world_intern(self, "disk"), one_of(self, "ssd hdd")};
        spec->node_selector = string_map_new(&pair, 1);
    }
    draw_tolerations(self, spec);
    draw_terms(self, spec);
    draw_spread(self, spec);
    if (strcmp(namespace, "default") == 0)
        draw_volumes(self, pod);
    return pod;
}

/* ---- Nodes and what changes ---- */

static void
draw_node(RandomWorld *self, Node *node)
{
    const Taint taint = {.key = random_world_intern(self, "k"),
                         .value = one_of(self, "v w -"),
                         .effect = random_one_in(self, 3) ? TAINT_NO_EXECUTE : TAINT_NO_SCHEDULE,
                         .added_at = TIME_UNSET};

    node->allocatable = (NodeResources){
        .cpu_milli = 500 + (int64_t)random_below(self, self->has_priorities ? 2 : 5) * 500,
        .memory_bytes = (int64_t)(1 + random_below(self, 4)) * GIB,
        .pods = random_one_in(self, 6) ? 1 + (int32_t)random_below(self, 2) : 110,
    };
    node->unschedulable = random_one_in(self, 12);
    g_clear_pointer(&node->taints, taints_unref);
    if (random_one_in(self, 8))
        node->taints = taints_new(&taint, 1);
    object_set_label(&node->meta, random_world_intern(self, "disk"), one_of(self, "ssd hdd -"));
}

static void
put_node(RandomWorld *self, Node *node)
{
    scheduler_cache_set_node(self->cache, node->meta.key, node);
    plain_put(self->plain.nodes, &node->meta);
    object_unref(&node->meta);
}

static void
random_world_add_node(RandomWorld *self)
{
    const char *name = numbered(self, "n", self->n_nodes++);
    Node *node = NODE(object_new(objects_key(self->base.objects, KIND_NODE, NULL, name)));

    if (!random_one_in(self, 20))
        random_world_set_label(self, node, HOSTNAME, name);
    random_world_set_label(self, node, ZONE, one_of(self, "a a b b c -"));
    draw_node(self, node);
    put_node(self, node);
}

const Object *
random_any_of(RandomWorld *self, const GPtrArray *objects)
{
    return objects->len == 0 ? NULL : objects->pdata[random_below(self, objects->len)];
}

static void
random_world_change_node(RandomWorld *self)
{
    const Object *before = random_any_of(self, self->plain.nodes);

    if (before == NULL)
        return;
    Node *node = NODE(object_edit(before));
    draw_node(self, node);
    if (random_one_in(self, 3))
        object_set_label(&node->meta, random_world_intern(self, ZONE), one_of(self, "a b c"));
    put_node(self, node);
}

/* Pods that are there stay, as they do until somebody deletes them. */
static void
remove_node(RandomWorld *self)
{
    const Object *node = random_any_of(self, self->plain.nodes);

    if (node == NULL)
        return;
    scheduler_cache_set_node(self->cache, node->key, NULL);
    plain_remove(self->plain.nodes, node->key);
}

static void
set_limits(RandomWorld *self)
{
    const Object *node = random_any_of(self, self->plain.nodes);
    CsiNodeDriver drivers[2] = {
        {.name = random_world_intern(self, "csi.a"),
         .allocatable_count = (int32_t)random_below(self, 4) - 1},
        {.name = random_world_intern(self, "csi.b"),
         .allocatable_count = (int32_t)random_below(self, 4) - 1},
    };

    if (node == NULL)
        return;
    CsiNode *csi_node =
        CSI_NODE(object_new(objects_key(self->base.objects, KIND_CSI_NODE, NULL, node->key->name)));
    csi_node->drivers = csi_node_drivers_new(drivers, 1 + random_below(self, 2));
    scheduler_cache_set_csi_node(self->cache, node->key, csi_node);
    plain_put(self->plain.csi_nodes, &csi_node->meta);
    object_unref(&csi_node->meta);
}

static void
attach(RandomWorld *self)
{
    const Object *node = random_any_of(self, self->plain.nodes);
    const Object *volume = random_any_of(self, self->plain.volumes);

    if (node == NULL || volume == NULL)
        return;
    Attachment *attachment = ATTACHMENT(object_new(objects_key(
        self->base.objects, KIND_ATTACHMENT, NULL, numbered(self, "va", ++self->n_attachments))));
    attachment->attacher = one_of(self, "csi.a csi.b");
    attachment->node_name = node->key->name;
    attachment->volume_name = volume->key->name;
    scheduler_cache_attachment_changed(self->cache, NULL, &attachment->meta);
    plain_put(self->plain.attachments, &attachment->meta);
    object_unref(&attachment->meta);
}

static void
random_world_detach(RandomWorld *self)
{
    const Object *attachment = random_any_of(self, self->plain.attachments);

    if (attachment == NULL)
        return;
    scheduler_cache_attachment_changed(self->cache, attachment, NULL);
    plain_remove(self->plain.attachments, attachment->key);
}

void
random_place_pod(RandomWorld *self, const Pod *pod, const char *node_name)
{
    g_autoptr(Object) placed = object_edit(&pod->meta);

    POD(placed)->node_name = node_name;
    POD(placed)->started_at =
        random_one_in(self, 3) ? TIME_UNSET : (SimTime)random_below(self, 3) * SIM_SECOND;
    scheduler_cache_add_pod(self->cache, POD(placed), node_name, NULL);
    plain_put(self->plain.pods, placed);
}

static void
place_new_pod(RandomWorld *self)
{
    const Object *node = random_any_of(self, self->plain.nodes);
    const Object *pod = random_any_of(self, self->waiting);

    if (node == NULL || pod == NULL)
        return;
    plain_remove(self->plain.nominated, pod->key);
    scheduler_cache_nominate(self->cache, POD_CONST(pod), NULL);
    random_place_pod(self, POD_CONST(pod), node->key->name);
    g_ptr_array_remove(self->waiting, (void *)pod);
}

static void
remove_pod(RandomWorld *self)
{
    const Object *pod = random_any_of(self, self->plain.pods);

    if (pod == NULL)
        return;
    scheduler_cache_remove_pod(self->cache,
                               scheduler_cache_find_pod(self->cache, pod->key, pod->uid));
    plain_remove(self->plain.pods, pod->key);
}

/* It goes, or its labels change. */
static void
change_pod(RandomWorld *self)
{
    const Object *before = random_any_of(self, self->plain.pods);

    if (before == NULL)
        return;
    g_autoptr(Object) pod = object_edit(before);
    if (random_one_in(self, 2))
        pod->deleted_at = 0;
    else
        object_set_label(pod, random_world_intern(self, "app"), one_of(self, "x y"));
    scheduler_cache_add_pod(self->cache, POD(pod), POD(pod)->node_name, NULL);
    plain_put(self->plain.pods, pod);
}

static void
random_world_nothing(RandomWorld *self)
{
    (void)self;
}

void
random_change_something(RandomWorld *self)
{
    static void (*const changes[])(RandomWorld *) = {
        random_world_nothing,
        random_world_nothing,
        random_world_change_node,
        random_world_add_node,
        remove_node,
        set_limits,
        set_limits,
        attach,
        random_world_detach,
        place_new_pod,
        remove_pod,
        change_pod,
    };

    changes[random_below(self, G_N_ELEMENTS(changes))](self);
}

/* ---- A cluster ---- */

static void
random_world_begin(RandomWorld *self)
{
    ProcessOptions options = {self->base.sim, self->base.objects, self->base.api,
                              &self->base.timing, "kube-scheduler"};

    self->process = process_new(&options);
    cycle_view_init(&self->view, self->process, self->base.sim, self->base.objects);
    self->view.min_domains = TRUE;
    CacheOptions cache_options = {
        .sources = {self->base.objects, self->view.claims, self->view.volumes, self->view.classes,
                    self->view.release},
        .attachments = process_informer(self->process, KIND_ATTACHMENT, NULL),
        .strings = objects_strings(self->base.objects),
    };
    self->cache = scheduler_cache_new(&cache_options);
    self->binder.claims = assume_cache_new(self->view.claims, "v1.PersistentVolumeClaim");
    self->binder.volumes = assume_cache_new(self->view.volumes, "v1.PersistentVolume");
    self->binder.objects = self->base.objects;
    self->view.cache = self->cache;
    self->view.binder = &self->binder;
    self->cycle = cycle_new(&self->view);
}

void
random_world_init(RandomWorld *self, guint32 seed)
{
    *self = (RandomWorld){.random = g_rand_new_with_seed(seed)};
    storage_world_init(&self->base, NULL);
    plain_cluster_init(&self->plain);
    self->waiting = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
    self->story = g_string_new(NULL);
    self->is_large = random_one_in(self, 100);
    self->has_priorities = random_one_in(self, 2);

    add_classes(self);
    add_driver(self, "csi.a");
    add_driver(self, "csi.b");
    for (unsigned i = random_below(self, 6); i > 0; i--)
        add_capacity(self, i);
    for (unsigned i = random_below(self, 10); i > 0; i--)
        add_free_volume(self);
    for (unsigned i = 4 + random_below(self, self->has_priorities ? 24 : 12); i > 0; i--)
        g_ptr_array_add(self->waiting, random_pod(self));
    random_world_begin(self);
    for (unsigned i = self->is_large ? 100 + random_below(self, 60) : random_below(self, 12); i > 0;
         i--) {
        random_world_add_node(self);
        if (random_one_in(self, 2))
            set_limits(self);
    }
    for (unsigned i = random_below(self, self->has_priorities ? 20 : 5); i > 0; i--)
        place_new_pod(self);
}

void
random_world_clear(RandomWorld *self)
{
    cycle_free(self->cycle);
    scheduler_cache_free(self->cache);
    assume_cache_free(self->binder.claims);
    assume_cache_free(self->binder.volumes);
    process_free(self->process);
    g_ptr_array_unref(self->waiting);
    plain_cluster_clear(&self->plain);
    g_rand_free(self->random);
    g_string_free(self->story, TRUE);
    storage_world_clear(&self->base);
}
