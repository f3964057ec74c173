/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cycle-world.h"
#include "models/api/api-test.h"
#include "models/api/workload.h"
#include "models/scheduler/scheduler-test.h"
#include "tests/lib/test.h"

#include <string.h>

#define GIB (INT64_C(1) << 30)

const ModelClass *const model_classes[] = {NULL};

/* SCH-54 */
TEST(enough_nodes)
{
    static const struct {
        unsigned n_nodes;
        int32_t percentage;
        unsigned enough;
    } cases[] = {
        {0,     0,   0   },
        {99,    0,   99  },
        {100,   0,   100 },
        {150,   0,   100 },
        {200,   0,   100 },
        {500,   0,   230 },
        {1000,  0,   420 },
        {2000,  0,   680 },
        {5000,  0,   500 },
        {10000, 0,   500 },
        {1000,  70,  700 },
        {1000,  100, 1000},
        {1000,  5,   100 },
        {50,    10,  50  },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_int_equal(feasible_nodes_to_find(cases[i].n_nodes, cases[i].percentage),
                         cases[i].enough);
}

/* SCH-90, SCH-V4, VF-42 */
TEST(reasons_are_sorted_as_text)
{
    const Reason reasons[] = {
        {"node(s) had volume node affinity conflict", NULL, NULL, 2 },
        {"Insufficient cpu",                          NULL, NULL, 10},
        {"node(s) had untolerated taint {%s: %s}",    "a",  "",   3 },
        {"node(s) were unschedulable",                NULL, NULL, 1 },
    };
    g_autofree char *text = reasons_format(reasons, G_N_ELEMENTS(reasons));

    assert_string_equal(text, "1 node(s) were unschedulable, 10 Insufficient cpu, 2 node(s) had "
                              "volume node affinity conflict, 3 "
                              "node(s) had untolerated taint {a: }");
}

/* VF-V3 and its borders. */
TEST(resource_scores)
{
    static const struct {
        int64_t cpu, memory_gib, used_cpu, used_gib, pod_cpu, pod_gib, least, balanced;
    } cases[] = {
        {4000, 8, 1000, 2, 500,  1, 62,  100},
        {4000, 8, 0,    0, 4000, 0, 50,  50 },
        {4000, 8, 4000, 8, 500,  1, 0,   100},
        {4000, 8, 0,    0, 0,    0, 100, 100},
        {0,    8, 0,    4, 0,    0, 50,  100},
        {1000, 8, 0,    0, 333,  1, 76,  89 },
    };
    Pod pod = {.spec = pod_spec_new()};
    Node node = {0};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        node.allocatable = (NodeResources){
            .cpu_milli = cases[i].cpu, .memory_bytes = cases[i].memory_gib * GIB, .pods = 110};
        pod.spec->cpu_milli = cases[i].pod_cpu;
        pod.spec->memory_bytes = cases[i].pod_gib * GIB;
        NodeInfo info = {
            .node = &node,
            .requested_cpu_milli = cases[i].used_cpu,
            .requested_memory_bytes = cases[i].used_gib * GIB,
            .nonzero_cpu_milli = cases[i].used_cpu,
            .nonzero_memory_bytes = cases[i].used_gib * GIB,
        };
        Cycle cycle = {.pod = &pod,
                       .nonzero_cpu_milli = cases[i].pod_cpu,
                       .nonzero_memory_bytes = cases[i].pod_gib * GIB};
        assert_int_equal(least_allocated_score(&cycle, &info), cases[i].least);
        assert_int_equal(balanced_allocation_score(&cycle, &info), cases[i].balanced);
    }
    pod_spec_unref(pod.spec);
}

/* ---- Cycles over a small world ---- */

static void
cycle_set_label(CycleWorld *self, void *object, const char *key, const char *value)
{
    object_set_label(object, storage_world_intern(&self->base, key),
                     storage_world_intern(&self->base, value));
}

static Node *
new_node(CycleWorld *self, const char *name, const char *zone)
{
    Node *node = NODE(object_new(objects_key(self->base.objects, KIND_NODE, NULL, name)));

    node->allocatable = (NodeResources){.cpu_milli = 4000, .memory_bytes = 8 * GIB, .pods = 110};
    cycle_set_label(self, node, "kubernetes.io/hostname", name);
    if (zone != NULL)
        cycle_set_label(self, node, "topology.kubernetes.io/zone", zone);
    return node;
}

static void
cycle_add_node(CycleWorld *self, const char *name, const char *zone)
{
    storage_world_import(&self->base,
                         new_node(self, name, zone)); /* ready to take pods: as a new one it would
                                                         have a taint (NL-26) */
}

/* A pod with these claims, "c1 c2". */
static Pod *
cycle_new_pod(CycleWorld *self, const char *name, const char *claims)
{
    Pod *pod = storage_world_pod(&self->base, name, NULL, NULL);
    g_auto(GStrv) names = g_strsplit(claims, " ", -1);
    PodVolume volumes[4] = {0};
    unsigned n = 0;

    for (; names[n] != NULL; n++) {
        volumes[n].name = storage_world_intern(&self->base, names[n]);
        volumes[n].claim_name = volumes[n].name;
        volumes[n].mounted = TRUE;
    }
    if (n > 0)
        pod->volumes = pod_volumes_new(volumes, n);
    return pod;
}

/* "c1=a c2=new", sorted as chosen; or the message. (owned) */
static char *
outcome(CycleWorld *self, const Pod *pod)
{
    CycleResult result = cycle_run(self->cycle, pod, 1, 0);
    GString *text = g_string_new(NULL);

    if (result.node_name == NULL) {
        g_string_free(text, TRUE);
        return result.message;
    }
    for (unsigned i = 0; i < self->cycle->choices->len; i++) {
        const VolumeChoice *choice = &g_array_index(self->cycle->choices, VolumeChoice, i);
        g_string_append_printf(text, "%s%s=%s", i == 0 ? "" : " ", choice->claim->name,
                               volume_choice_is_static(choice) ? choice->chosen->key->name : "new");
    }
    return g_string_free(text, FALSE);
}

#define EIB (INT64_C(1) << 60)

/* VF-50, VF-80: sizes up to the end of int64, and sums beyond it: pods that name their node. */
TEST(sizes_beyond_8_eib)
{
    static const struct {
        int node_eib, used_eib, n_used, pod_eib; /* 8: the largest that there is */
        const char *reason;                      /* NULL: it fits */
    } cases[] = {
        {8, 0, 0, 8, NULL                 },
        {7, 0, 0, 8, "Insufficient memory"},
        {8, 7, 1, 1, "Insufficient memory"}, /* one byte short */
        {8, 4, 1, 3, NULL                 },
        {8, 5, 2, 1, "Insufficient memory"},
        {1, 8, 2, 1, NULL                 }, /* 16 EiB have wrapped to nothing, as in Go */
        {8, 5, 2, 0, NULL                 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        CycleWorld world;
        Pod *used[2];

        cycle_world_init(&world);
        Node *node = new_node(&world, "n", "a");
        node->allocatable.memory_bytes =
            cases[i].node_eib == 8 ? INT64_MAX : cases[i].node_eib * EIB;
        storage_world_import(&world.base, node);
        cycle_world_start(&world);
        for (int k = 0; k < cases[i].n_used; k++) {
            used[k] = cycle_new_pod(&world, k == 0 ? "first" : "second", "");
            used[k]->spec->memory_bytes =
                cases[i].used_eib == 8 ? INT64_MAX : cases[i].used_eib * EIB;
            scheduler_cache_add_pod(world.cache, used[k], "n", NULL);
        }
        Pod *pod = cycle_new_pod(&world, "p", "");
        pod->spec->memory_bytes = cases[i].pod_eib == 8 ? INT64_MAX : cases[i].pod_eib * EIB;
        g_autofree char *text = outcome(&world, pod);
        if (cases[i].reason == NULL ? *text != '\0' : strstr(text, cases[i].reason) == NULL)
            fail_msg("case %u: %s", i, text);
        object_unref(&pod->meta);
        for (int k = 0; k < cases[i].n_used; k++)
            object_unref(&used[k]->meta);
        cycle_world_clear(&world);
    }
}

#define NO_VOLUMES                                                                                 \
    "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind. "        \
    "preemption: 0/1 nodes are "                                                                   \
    "available: 1 Preemption is not helpful for scheduling."

typedef struct {
    const char *title, *provisioner;
    int first_gib, second_gib; /* of the claims; 0: no second */
    const char *outcome;
} CycleMatchCase;

static const CycleMatchCase match_cases[] = {
    {"VB-V1 sorted by size",        PROVISIONER_NONE, 8,  4,  "c2=a c1=b"  },
    {"VB-V1 two of a size",         PROVISIONER_NONE, 6,  6,  "c1=b c2=c"  },
    {"VB-V1 too large",             PROVISIONER_NONE, 11, 0,  NO_VOLUMES   },
    {"VB-V1 too large, and made",   "csi.test",       11, 0,  "c1=new"     },
    {"VB-24 one matched, one made", "csi.test",       11, 4,  "c2=a c1=new"},
    {"VB-23 never the same",        PROVISIONER_NONE, 9,  10, "c1=b c2=c"  },
    {"VB-24 all or nothing",        PROVISIONER_NONE, 11, 4,  NO_VOLUMES   },
};

static void
add_available_volume(CycleWorld *self, const char *name, int gib)
{
    Volume *volume = storage_world_volume(&self->base, name, gib, "late");

    volume->phase = VOLUME_AVAILABLE;
    storage_world_import(&self->base, volume);
}

TEST(claims_are_matched)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(match_cases); i++) {
        const CycleMatchCase *row = &match_cases[i];
        CycleWorld world;

        cycle_world_init(&world);
        cycle_add_node(&world, "n", "a");
        storage_world_class(&world.base, "late", row->provisioner, BINDING_WAIT_FOR_FIRST_CONSUMER);
        add_available_volume(&world, "c", 10);
        add_available_volume(&world, "b", 10);
        add_available_volume(&world, "a", 5);
        storage_world_create(&world.base,
                             storage_world_claim(&world.base, "c1", row->first_gib, "late"));
        if (row->second_gib > 0)
            storage_world_create(&world.base,
                                 storage_world_claim(&world.base, "c2", row->second_gib, "late"));
        cycle_world_start(&world);
        Pod *pod = cycle_new_pod(&world, "p", row->second_gib > 0 ? "c1 c2" : "c1");
        g_autofree char *text = outcome(&world, pod);
        if (strcmp(text, row->outcome) != 0)
            fail_msg("%s: %s", row->title, text);
        object_unref(&pod->meta);
        cycle_world_clear(&world);
    }
}

/* VB-40, PVC-32.5: with the gate VolumeAttributesClass a volume of the same class; without it the
 * claim has none. */
TEST(attributes_are_matched)
{
    for (unsigned on = 0; on <= 1; on++) {
        CycleWorld world;

        cycle_world_init(&world);
        cycle_add_node(&world, "n", "a");
        storage_world_class(&world.base, "late", PROVISIONER_NONE, BINDING_WAIT_FOR_FIRST_CONSUMER);
        Volume *gold = storage_world_volume(&world.base, "gold", 10, "late");
        Claim *claim = storage_world_claim(&world.base, "c1", 4, "late");
        gold->phase = VOLUME_AVAILABLE;
        gold->attributes_class = storage_world_intern(&world.base, "gold");
        claim->attributes_class = gold->attributes_class;
        storage_world_import(&world.base, gold);
        add_available_volume(&world, "plain", 5);
        storage_world_import(&world.base, claim);
        cycle_world_start(&world);
        world.view.attributes_classes = on;
        Pod *pod = cycle_new_pod(&world, "p", "c1");
        g_autofree char *text = outcome(&world, pod);
        if (on)
            assert_string_equal(text, "c1=gold");
        else
            assert_non_null(strstr(text, "unsupported volumeAttributesClassName is set on claim"));
        object_unref(&pod->meta);
        cycle_world_clear(&world);
    }
}

typedef struct {
    const char *title;
    int gib;
    const char *node_zone, *capacity_zone; /* NULL: no capacity object */
    gboolean opted_in;
    const char *outcome;
} CapacityCase;

#define NO_STORAGE                                                                                 \
    "0/1 nodes are available: 1 node(s) did not have enough free storage. preemption: 0/1 nodes "  \
    "are available: 1 "                                                                            \
    "Preemption is not helpful for scheduling."

static const CapacityCase capacity_cases[] = {
    {"VB-V2 larger than the largest volume", 60, "a", "a",  TRUE,  NO_STORAGE},
    {"VB-V2 as large",                       50, "a", "a",  TRUE,  "c1=new"  },
    {"VB-51 in another zone",                50, "b", "a",  TRUE,  NO_STORAGE},
    {"VB-53 nothing known",                  50, "a", NULL, TRUE,  NO_STORAGE},
    {"VB-51 not asked for",                  60, "a", "a",  FALSE, "c1=new"  },
};

static void
add_capacity(CycleWorld *self, const char *zone)
{
    StorageCapacity *capacity = STORAGE_CAPACITY(
        object_new(objects_key(self->base.objects, KIND_STORAGE_CAPACITY, "kube-system", "x")));
    const char *value = storage_world_intern(&self->base, zone);
    SelectRequirement requirement = {
        .key = storage_world_intern(&self->base, "topology.kubernetes.io/zone"),
        .operator= SELECT_IN,
        .values = string_list_new(&value, 1)};

    capacity->class_name = storage_world_intern(&self->base, "late");
    capacity->capacity_bytes = 100 * GIB;
    capacity->maximum_bytes = 50 * GIB;
    capacity->topology = label_selector_new(&requirement, 1);
    storage_world_create(&self->base, capacity);
}

TEST(capacity_is_checked)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(capacity_cases); i++) {
        const CapacityCase *row = &capacity_cases[i];
        CycleWorld world;

        cycle_world_init(&world);
        cycle_add_node(&world, "n", row->node_zone);
        storage_world_class(&world.base, "late", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
        CsiDriverObject *driver = CSI_DRIVER_OBJECT(
            object_new(objects_key(world.base.objects, KIND_CSI_DRIVER, NULL, "csi.test")));
        driver->storage_capacity = row->opted_in;
        storage_world_create(&world.base, driver);
        if (row->capacity_zone != NULL)
            add_capacity(&world, row->capacity_zone);
        storage_world_create(&world.base, storage_world_claim(&world.base, "c1", row->gib, "late"));
        cycle_world_start(&world);
        Pod *pod = cycle_new_pod(&world, "p", "c1");
        g_autofree char *text = outcome(&world, pod);
        if (strcmp(text, row->outcome) != 0)
            fail_msg("%s: %s", row->title, text);
        object_unref(&pod->meta);
        cycle_world_clear(&world);
    }
}

/* VF-93: the node's CSINode has no driver. */
TEST(missing_drivers_keep_pods_away)
{
    static const struct {
        int minor;
        gboolean has_gate, has_object, asks, passes;
    } cases[] = {
        {34, FALSE, TRUE,  TRUE,  TRUE },
        {35, FALSE, TRUE,  FALSE, TRUE },
        {35, TRUE,  TRUE,  FALSE, FALSE}, /* 1.35: every driver with an object */
        {35, TRUE,  FALSE, FALSE, TRUE },
        {36, TRUE,  TRUE,  FALSE, TRUE },
        {36, TRUE,  TRUE,  TRUE,  FALSE},
        {36, FALSE, TRUE,  TRUE,  TRUE },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        CycleWorld world;

        cycle_world_init(&world);
        cycle_add_node(&world, "n", "a");
        storage_world_class(&world.base, "late", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
        if (cases[i].has_object) {
            CsiDriverObject *driver = CSI_DRIVER_OBJECT(
                object_new(objects_key(world.base.objects, KIND_CSI_DRIVER, NULL, "csi.test")));
            driver->prevents_scheduling_if_missing = cases[i].asks;
            storage_world_import(&world.base, driver);
        }
        storage_world_create(&world.base, storage_world_claim(&world.base, "c1", 1, "late"));
        cycle_world_start(&world);
        world.view.scales_limits = cases[i].has_gate;
        world.view.minor = cases[i].minor;
        Pod *pod = cycle_new_pod(&world, "p", "c1");
        g_autofree char *text = outcome(&world, pod);
        assert_string_equal(
            text,
            cases[i].passes
                ? "c1=new"
                : "0/1 nodes are available: 1 csi.test CSI driver is not installed on the node. "
                  "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming "
                  "pod.");
        object_unref(&pod->meta);
        cycle_world_clear(&world);
    }
}

/* VF-V6 */
TEST(zones_of_volumes)
{
    static const struct {
        const char *node_zone;
        gboolean passes;
    } cases[] = {
        {"a",  TRUE },
        {"b",  TRUE },
        {"c",  FALSE},
        {NULL, TRUE }
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        CycleWorld world;

        cycle_world_init(&world);
        cycle_add_node(&world, "n", cases[i].node_zone);
        Claim *claim = storage_world_claim(&world.base, "c1", 5, "");
        claim->volume_name = storage_world_intern(&world.base, "v");
        object_set_annotation(&claim->meta,
                              storage_world_intern(&world.base, ANNOTATION_BIND_COMPLETED),
                              storage_world_intern(&world.base, "yes"));
        storage_world_create(&world.base, claim);
        Volume *volume = storage_world_volume(&world.base, "v", 5, "");
        cycle_set_label(&world, volume, "topology.kubernetes.io/zone", "a__ b");
        storage_world_create(&world.base, volume);
        cycle_world_start(&world);
        Pod *pod = cycle_new_pod(&world, "p", "c1");
        g_autofree char *text = outcome(&world, pod);
        assert_string_equal(
            text,
            cases[i].passes
                ? ""
                : "0/1 nodes are available: 1 node(s) had no available volume zone. preemption: "
                  "0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
        object_unref(&pod->meta);
        cycle_world_clear(&world);
    }
}

static StatefulSet *
new_set(CycleWorld *self)
{
    StatefulSet *set = STATEFUL_SET(
        object_new(objects_key(self->base.objects, KIND_STATEFUL_SET, "default", "web")));
    const char *value = storage_world_intern(&self->base, "web");
    SelectRequirement requirement = {.key = storage_world_intern(&self->base, "app"),
                                     .operator= SELECT_IN,
                                     .values = string_list_new(&value, 1)};

    set->selector = label_selector_new(&requirement, 1);
    return set;
}

/* A Service that selects KEY=VALUE; "": no selector. */
static void
create_service(CycleWorld *self, const char *namespace, const char *name, const char *label)
{
    Object *service = object_new(objects_key(self->base.objects, KIND_SERVICE, namespace, name));
    g_auto(GStrv) parts = g_strsplit(label, "=", 2);

    if (label[0] != '\0') {
        StringPair pair = {storage_world_intern(&self->base, parts[0]),
                           storage_world_intern(&self->base, parts[1])};
        ((Service *)service)->selector = string_map_new(&pair, 1);
    }
    storage_world_create(&self->base, service);
}

typedef struct {
    ObjectKind owner;             /* N_KINDS: nobody */
    gboolean says_so;             /* the pod has a constraint of its own */
    const char *service, *second; /* what Services select */
    unsigned n;
    gboolean counts_any_web; /* a pod app=web without tier=front, too */
} SpreadCase;

static Pod *
spread_pod(CycleWorld *world, const SpreadCase *row, StatefulSet *set, const Object *owner)
{
    Pod *pod = cycle_new_pod(world, "web-0", "");

    cycle_set_label(world, pod, "app", "web");
    cycle_set_label(world, pod, "tier", "front");
    if (owner != NULL)
        object_set_owner(&pod->meta, owner, TRUE, TRUE);
    if (row->says_so) {
        pod->spec->n_spread = 1;
        pod->spec->spread = g_new0(SpreadConstraint, 1);
        pod->spec->spread[0] = (SpreadConstraint){
            .selector = label_selector_ref(set->selector),
            .topology_key = storage_world_intern(&world->base, "topology.kubernetes.io/zone"),
            .max_skew = 1,
        };
    }
    return pod;
}

static const Object *
spread_owner(CycleWorld *world, ObjectKind kind, StatefulSet *set)
{
    if (kind == N_KINDS)
        return NULL;
    Object *owner = object_new(objects_key(world->base.objects, kind, "default", "web"));
    if (kind == KIND_REPLICA_SET)
        REPLICA_SET(owner)->selector = label_selector_ref(set->selector);
    else if (kind == KIND_STATEFUL_SET)
        STATEFUL_SET(owner)->selector = label_selector_ref(set->selector);
    return storage_world_create(&world->base, owner);
}

static void
spread_case(const SpreadCase *row)
{
    CycleWorld world;

    cycle_world_init(&world);
    cycle_add_node(&world, "a", "a");
    cycle_add_node(&world, "b", "b");
    StatefulSet *set = new_set(&world);
    const Object *owner = spread_owner(&world, row->owner, set);
    create_service(&world, "elsewhere", "web", "app=web");
    if (row->service != NULL)
        create_service(&world, "default", "first", row->service);
    if (row->second != NULL)
        create_service(&world, "default", "second", row->second);
    cycle_world_start(&world);
    Pod *pod = spread_pod(&world, row, set, owner);
    cycle_run(world.cycle, pod, 1, 0);
    assert_int_equal(world.cycle->spread->len, row->n);
    if (row->n == 2) {
        const SpreadState *nodes = &g_array_index(world.cycle->spread, SpreadState, 0);
        const SpreadState *zones = &g_array_index(world.cycle->spread, SpreadState, 1);
        assert_true(nodes->is_hostname && !zones->is_hostname);
        assert_int_equal(nodes->max_skew, 3);
        assert_int_equal(zones->max_skew, 5);
        assert_false(nodes->do_not_schedule || zones->do_not_schedule);
        assert_true(nodes->matches_itself && zones->matches_itself);
        Pod *other = cycle_new_pod(&world, "other", "");
        cycle_set_label(&world, other, "app", "web");
        assert_int_equal(pod_counter_counts_pod(nodes->counter, other), row->counts_any_web);
        object_unref(&other->meta);
    }
    object_unref(&set->meta);
    object_unref(&pod->meta);
    cycle_world_clear(&world);
}

/* VF-62, the defaults of PodTopologySpread: pods of ReplicaSets and StatefulSets, and pods that a
 * Service of their namespace selects, are spread over nodes (maxSkew 3) and zones (5), and neither
 * keeps a pod from a node; all others only as they say themselves. What owner and Services select
 * must all hold. */
TEST(who_is_spread_by_default)
{
    static const SpreadCase cases[] = {
        {KIND_REPLICA_SET,  FALSE, NULL,         NULL,         2, TRUE },
        {KIND_STATEFUL_SET, FALSE, NULL,         NULL,         2, TRUE },
        {KIND_JOB,          FALSE, NULL,         NULL,         0, FALSE},
        {N_KINDS,           FALSE, NULL,         NULL,         0, FALSE},
        {KIND_REPLICA_SET,  TRUE,  NULL,         NULL,         1, FALSE},
        {N_KINDS,           TRUE,  NULL,         NULL,         1, FALSE},
        {N_KINDS,           FALSE, "app=web",    NULL,         2, TRUE },
        {KIND_JOB,          FALSE, "app=web",    NULL,         2, TRUE },
        {N_KINDS,           FALSE, "app=db",     NULL,         0, FALSE},
        {N_KINDS,           FALSE, "",           NULL,         0, FALSE},
        {N_KINDS,           FALSE, "app=web",    "tier=front", 2, FALSE},
        {N_KINDS,           FALSE, "app=web",    "app=web",    2, TRUE },
        {KIND_STATEFUL_SET, FALSE, "tier=front", NULL,         2, FALSE},
        {KIND_STATEFUL_SET, FALSE, "app=db",     NULL,         2, TRUE },
        {N_KINDS,           TRUE,  "app=web",    NULL,         1, FALSE},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        spread_case(&cases[i]);
}

/* VF-V4: the second pod of a set stays away from the first. */
TEST(sets_are_spread)
{
    CycleWorld world;

    cycle_world_init(&world);
    cycle_add_node(&world, "a", "a");
    cycle_add_node(&world, "b", "b");
    cycle_add_node(&world, "c", "c");
    const Object *set = storage_world_create(&world.base, new_set(&world));
    cycle_world_start(&world);
    Pod *first = cycle_new_pod(&world, "web-0", ""), *second = cycle_new_pod(&world, "web-1", "");
    cycle_set_label(&world, first, "app", "web");
    cycle_set_label(&world, second, "app", "web");
    object_set_owner(&second->meta, set, TRUE, TRUE);
    scheduler_cache_add_pod(world.cache, first, "a", NULL);

    CycleResult result = cycle_run(world.cycle, second, 1, 0);
    assert_string_not_equal(result.node_name, "a");
    assert_int_equal(world.cycle->spread->len, 2);
    int64_t scores[3];
    for (unsigned i = 0; i < 3; i++)
        scores[i] = topology_spread_score(world.cycle, world.cycle->feasible->pdata[i]);
    assert_int_equal(scores[0], 9);
    assert_int_equal(scores[1], 6);
    assert_int_equal(scores[2], 6);
    topology_spread_normalise(world.cycle, scores, 3);
    assert_int_equal(scores[0], 66);
    assert_int_equal(scores[1], 100);
    object_unref(&first->meta);
    object_unref(&second->meta);
    cycle_world_clear(&world);
}

/* VF-64: pods on a node that lacks a label of the pod's own constraints do not count in its zone,
 * though these constraints are soft. */
TEST(nodes_without_a_label_do_not_count)
{
    static const char *const nodes[][3] = {
        {"a", "a", "1" },
        {"b", "b", "2" },
        {"x", "a", NULL}
    };
    static const char *const keys[] = {"topology.kubernetes.io/zone", "rack"};
    CycleWorld world;
    Pod *others[3];

    cycle_world_init(&world);
    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++) {
        Node *node = new_node(&world, nodes[i][0], nodes[i][1]);
        if (nodes[i][2] != NULL)
            cycle_set_label(&world, node, "rack", nodes[i][2]);
        storage_world_import(&world.base, node);
    }
    StatefulSet *set = new_set(&world);
    cycle_world_start(&world);
    for (unsigned i = 0; i < G_N_ELEMENTS(others); i++) {
        g_autofree char *name = g_strdup_printf("web-%u", i);
        others[i] = cycle_new_pod(&world, name, "");
        cycle_set_label(&world, others[i], "app", "web");
        scheduler_cache_add_pod(world.cache, others[i], i == 0 ? "b" : "x", NULL);
    }
    Pod *pod = cycle_new_pod(&world, "web-3", "");
    cycle_set_label(&world, pod, "app", "web");
    pod->spec->n_spread = G_N_ELEMENTS(keys);
    pod->spec->spread = g_new0(SpreadConstraint, G_N_ELEMENTS(keys));
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        pod->spec->spread[i] =
            (SpreadConstraint){.selector = label_selector_ref(set->selector),
                               .topology_key = storage_world_intern(&world.base, keys[i]),
                               .max_skew = 1};
    cycle_run(world.cycle, pod, 1, 0);
    for (unsigned i = 0; i < world.cycle->feasible->len; i++) {
        const NodeInfo *node = world.cycle->feasible->pdata[i];
        char name = node->node->meta.key->name[0];
        if (name != 'x') /* of "b": log 4 for the zone and for the rack */
            assert_int_equal(topology_spread_score(world.cycle, node), name == 'a' ? 0 : 3);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(others); i++)
        object_unref(&others[i]->meta);
    object_unref(&pod->meta);
    object_unref(&set->meta);
    cycle_world_clear(&world);
}

/* SCH-56: zones take turns. */
TEST(zones_take_turns)
{
    static const char *const nodes[][2] = {
        {"1", "a"},
        {"2", "a"},
        {"3", "b"},
        {"4", "a"},
        {"5", "c"},
        {"6", "b"}
    };
    g_autoptr(GString) order = g_string_new(NULL);
    CycleWorld world;
    unsigned n;

    cycle_world_init(&world);
    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++)
        cycle_add_node(&world, nodes[i][0], nodes[i][1]);
    cycle_world_start(&world);
    NodeInfo *const *list = scheduler_cache_nodes(world.cache, &n);
    for (unsigned i = 0; i < n; i++)
        g_string_append(order, list[i]->key->name);
    assert_string_equal(order->str, "135264");
    cycle_world_clear(&world);
}

/* SCH-W10: each of the best nodes is drawn about equally often. */
TEST(ties_are_drawn)
{
    unsigned n_chosen[3] = {0};
    CycleWorld world;

    cycle_world_init(&world);
    cycle_add_node(&world, "0", "a");
    cycle_add_node(&world, "1", "a");
    cycle_add_node(&world, "2", "a");
    cycle_world_start(&world);
    for (uint32_t attempt = 1; attempt <= 3000; attempt++) {
        Pod *pod = cycle_new_pod(&world, "p", "");
        CycleResult result = cycle_run(world.cycle, pod, attempt, 0);
        n_chosen[result.node_name[0] - '0']++;
        object_unref(&pod->meta);
    }
    for (unsigned i = 0; i < 3; i++)
        assert_in_range(n_chosen[i], 900, 1100);
    cycle_world_clear(&world);
}

/* GetNonzeroRequests(): scores take a container that asks for nothing as 100 millicores and 200
 * MiB.
 */
TEST(containers_count_without_requests)
{
    static const struct {
        int64_t cpu_milli, memory_mib;
        unsigned n_containers;
        int64_t scored_cpu_milli, scored_mib;
    } cases[] = {
        {0,   0,  1, 100, 200},
        {0,   0,  2, 200, 400},
        {500, 0,  1, 500, 200},
        {0,   64, 1, 100, 64 },
        {500, 64, 1, 500, 64 },
    };
    PodSpec *spec = pod_spec_new();

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        int64_t cpu_milli, memory_bytes;
        spec->cpu_milli = cases[i].cpu_milli;
        spec->memory_bytes = cases[i].memory_mib << 20;
        spec->n_containers = cases[i].n_containers;
        pod_nonzero_requests(spec, &cpu_milli, &memory_bytes);
        assert_int_equal(cpu_milli, cases[i].scored_cpu_milli);
        assert_int_equal(memory_bytes, cases[i].scored_mib << 20);
    }
    spec->n_containers = 0;
    pod_spec_unref(spec);
}

/* VF-73: NormalizeScore() of interpodaffinity: from 0 for the least to 100 for the most. */
TEST(affinity_scores_are_spread)
{
    static const struct {
        int64_t scores[3], normal[3];
    } cases[] = {
        {{0, 0, 0},    {0, 0, 0}   },
        {{7, 7, 7},    {0, 0, 0}   },
        {{10, 20, 40}, {0, 33, 100}},
        {{-5, 5, 0},   {0, 100, 50}},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        int64_t scores[3] = {cases[i].scores[0], cases[i].scores[1], cases[i].scores[2]};
        pod_affinity_normalise(NULL, scores, 3);
        assert_memory_equal(scores, cases[i].normal, sizeof scores);
    }
}
