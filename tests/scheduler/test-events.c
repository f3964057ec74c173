/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scheduler/events.h"
#include "tests/lib/test.h"

#include "tests/lib/storage-world.h"

const ModelClass *const model_classes[] = {NULL};

/* What happens to an object: made, changed, gone. */
typedef enum {
    ADDED,
    CHANGED,
    GONE,
} EventsFate;

typedef void (*EventsChange)(StorageWorld *world, Object *object);

static void
events_set_label(StorageWorld *world, Object *object, const char *key, const char *value)
{
    object_set_label(object, storage_world_intern(world, key), storage_world_intern(world, value));
}

static void
be_fast(StorageWorld *world, Object *node)
{
    events_set_label(world, node, "disk", "ssd");
}

static void
be_elsewhere(StorageWorld *world, Object *object)
{
    events_set_label(world, object, "topology.kubernetes.io/zone", "b");
}

static void
be_larger(StorageWorld *world, Object *node)
{
    (void)world;
    NODE(node)->allocatable.cpu_milli *= 2;
}

static void
be_smaller(StorageWorld *world, Object *node)
{
    (void)world;
    NODE(node)->allocatable.cpu_milli /= 2;
}

static void
set_limit(StorageWorld *world, Object *csi_node, int32_t limit)
{
    const char *driver = storage_world_intern(world, "csi.test");
    const CsiNodeDriver entry = {.name = driver, .node_id = driver, .allocatable_count = limit};

    csi_node_set_driver(CSI_NODE(csi_node), driver, &entry);
}

static void
take_more(StorageWorld *world, Object *csi_node)
{
    set_limit(world, csi_node, 3);
}

/* The driver is new, and its limit is 0 as before. */
static void
take_none(StorageWorld *world, Object *csi_node)
{
    set_limit(world, csi_node, 0);
}

static void
be_cordoned(StorageWorld *world, Object *node)
{
    (void)world;
    NODE(node)->unschedulable = TRUE;
}

static void
be_tainted(StorageWorld *world, Object *node)
{
    Taint taint = {.key = storage_world_intern(world, "k"),
                   .value = storage_world_intern(world, "v"),
                   .effect = TAINT_NO_SCHEDULE,
                   .added_at = TIME_UNSET};

    NODE(node)->taints = taints_new(&taint, 1);
}

static void
be_annotated(StorageWorld *world, Object *object)
{
    object_set_annotation(object, storage_world_intern(world, "a"),
                          storage_world_intern(world, "b"));
}

static void
have_room(StorageWorld *world, Object *capacity)
{
    (void)world;
    STORAGE_CAPACITY(capacity)->capacity_bytes = INT64_C(1) << 40;
}

static void
have_none(StorageWorld *world, Object *capacity)
{
    (void)world;
    STORAGE_CAPACITY(capacity)->capacity_bytes = 0;
}

typedef struct {
    const char *rule; /* NULL: it does not help */
    PluginId plugin;
    EventResource resource;
    const char *name; /* of the object */
    EventsFate fate;
    EventsChange change;
} HintCase;

/* A pod "p" with claim "c", a node selector disk=ssd and 3 CPUs; the node has 4. */
static const HintCase cases[] = {
    {"SCH-Q1",  PLUGIN_VOLUME_BINDING,      EVENT_CLASS,      "s",     ADDED,   NULL        },
    {NULL,      PLUGIN_VOLUME_BINDING,      EVENT_CLASS,      "s",     CHANGED, be_annotated},
    {"SCH-Q3",  PLUGIN_VOLUME_BINDING,      EVENT_CLAIM,      "c",     CHANGED, be_annotated},
    {NULL,      PLUGIN_VOLUME_BINDING,      EVENT_CLAIM,      "d",     ADDED,   NULL        },
    {NULL,      PLUGIN_VOLUME_BINDING,      EVENT_CLAIM,      "c",     GONE,    NULL        },
    {"SCH-Q4",  PLUGIN_VOLUME_BINDING,      EVENT_VOLUME,     "v",     CHANGED, be_annotated},
    {"SCH-Q5",  PLUGIN_VOLUME_BINDING,      EVENT_NODE,       "n",     CHANGED, be_elsewhere},
    {"SCH-Q5",  PLUGIN_VOLUME_BINDING,      EVENT_NODE,       "n",     CHANGED, be_tainted  },
    {NULL,      PLUGIN_VOLUME_BINDING,      EVENT_NODE,       "n",     CHANGED, be_larger   },
    {"SCH-Q10", PLUGIN_VOLUME_BINDING,      EVENT_CAPACITY,   "q",     CHANGED, have_room   },
    {NULL,      PLUGIN_VOLUME_BINDING,      EVENT_CAPACITY,   "q",     CHANGED, have_none   },
    {"SCH-Q15", PLUGIN_VOLUME_ZONE,         EVENT_VOLUME,     "v",     CHANGED, be_elsewhere},
    {NULL,      PLUGIN_VOLUME_ZONE,         EVENT_VOLUME,     "v",     CHANGED, be_annotated},
    {NULL,      PLUGIN_NODE_VOLUME_LIMITS,  EVENT_CSI_NODE,   "n",     CHANGED, be_annotated},
    {"SCH-Q35", PLUGIN_NODE_VOLUME_LIMITS,  EVENT_CSI_NODE,   "n",     CHANGED, take_more   },
    {NULL,      PLUGIN_NODE_VOLUME_LIMITS,  EVENT_CSI_NODE,   "n",     CHANGED, take_none   },
    {"SCH-Q17", PLUGIN_NODE_VOLUME_LIMITS,  EVENT_POD,        "other", GONE,    NULL        },
    {"SCH-Q19", PLUGIN_NODE_VOLUME_LIMITS,  EVENT_ATTACHMENT, "a",     GONE,    NULL        },
    {"SCH-Q20", PLUGIN_VOLUME_RESTRICTIONS, EVENT_POD,        "other", GONE,    NULL        },
    {"SCH-Q23", PLUGIN_NODE_AFFINITY,       EVENT_NODE,       "n",     CHANGED, be_fast     },
    {NULL,      PLUGIN_NODE_AFFINITY,       EVENT_NODE,       "n",     CHANGED, be_elsewhere},
    {"SCH-68",  PLUGIN_NODE_AFFINITY,       EVENT_NODE,       "n",     CHANGED, be_tainted  },
    {"SCH-Q24", PLUGIN_NODE_RESOURCES_FIT,  EVENT_POD,        "other", GONE,    NULL        },
    {"SCH-Q25", PLUGIN_NODE_RESOURCES_FIT,  EVENT_NODE,       "n",     CHANGED, be_larger   },
    {NULL,      PLUGIN_NODE_RESOURCES_FIT,  EVENT_NODE,       "n",     CHANGED, be_smaller  },
    {"SCH-Q25", PLUGIN_NODE_RESOURCES_FIT,  EVENT_NODE,       "n",     ADDED,   NULL        },
    {NULL,      PLUGIN_TAINT_TOLERATION,    EVENT_NODE,       "n",     CHANGED, be_tainted  },
    {"SCH-Q27", PLUGIN_TAINT_TOLERATION,    EVENT_NODE,       "n",     ADDED,   NULL        },
    {NULL,      PLUGIN_TAINT_TOLERATION,    EVENT_NODE,       "n",     ADDED,   be_tainted  },
    {NULL,      PLUGIN_NODE_UNSCHEDULABLE,  EVENT_NODE,       "n",     CHANGED, be_cordoned },
    {NULL,      PLUGIN_NODE_UNSCHEDULABLE,  EVENT_NODE,       "n",     ADDED,   be_cordoned },
    {"SCH-Q30", PLUGIN_NODE_NAME,           EVENT_NODE,       "n",     ADDED,   NULL        },
    {"SCH-Q30", PLUGIN_NODE_NAME,           EVENT_NODE,       "n",     CHANGED, be_tainted  },
    {NULL,      PLUGIN_NODE_NAME,           EVENT_NODE,       "n",     CHANGED, be_larger   },
};

static ObjectKind
events_kind_of(EventResource resource)
{
    static const ObjectKind kinds[] = {
        [EVENT_NODE] = KIND_NODE,
        [EVENT_POD] = KIND_POD,
        [EVENT_OWN_POD] = KIND_POD,
        [EVENT_CLAIM] = KIND_CLAIM,
        [EVENT_VOLUME] = KIND_VOLUME,
        [EVENT_CLASS] = KIND_STORAGE_CLASS,
        [EVENT_CSI_NODE] = KIND_CSI_NODE,
        [EVENT_CAPACITY] = KIND_STORAGE_CAPACITY,
        [EVENT_ATTACHMENT] = KIND_ATTACHMENT,
    };

    return kinds[resource];
}

static Object *
new_object(StorageWorld *world, EventResource resource, const char *name)
{
    ObjectKind kind = events_kind_of(resource);

    if (kind == KIND_POD)
        return &storage_world_pod(world, name, "c", "n")->meta;
    const char *namespace = kind_class(kind)->namespaced ? "default" : NULL;
    Object *object = object_new(objects_key(world->objects, kind, namespace, name));
    if (kind == KIND_NODE)
        NODE(object)->allocatable = (NodeResources){.cpu_milli = 4000, .pods = 110};
    if (kind == KIND_STORAGE_CAPACITY) {
        STORAGE_CAPACITY(object)->capacity_bytes = 1000;
        STORAGE_CAPACITY(object)->maximum_bytes = -1;
    }
    return object;
}

static Pod *
new_waiting_pod(StorageWorld *world)
{
    Pod *pod = storage_world_pod(world, "p", "c", NULL);
    StringPair pair = {storage_world_intern(world, "disk"), storage_world_intern(world, "ssd")};

    pod->spec->cpu_milli = 3000;
    pod->spec->node_selector = string_map_new(&pair, 1);
    return pod;
}

TEST(events_help_whom_they_help)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const HintCase *row = &cases[i];
        StorageWorld world;

        storage_world_init(&world, NULL);
        Pod *pod = new_waiting_pod(&world);
        g_autoptr(Object) before = new_object(&world, row->resource, row->name);
        g_autoptr(Object) after = object_edit(before);
        if (row->change != NULL)
            row->change(&world, after);
        ClusterEvent event = cluster_event(row->resource, row->fate == ADDED ? NULL : before,
                                           row->fate == GONE ? NULL : after, 33);
        const char *rule = cluster_event_helps(&event, pod, UINT32_C(1) << row->plugin);
        if (g_strcmp0(rule, row->rule) != 0)
            fail_msg("row %u: %s, not %s", i, rule == NULL ? "no" : rule,
                     row->rule == NULL ? "no" : row->rule);
        assert_null(cluster_event_helps(&event, pod, 0));
        if (rule != NULL)
            assert_true((cluster_event_plugins(&event) & (UINT32_C(1) << row->plugin)) != 0);
        object_unref(&pod->meta);
        g_clear_pointer(&before, object_unref);
        g_clear_pointer(&after, object_unref);
        storage_world_clear(&world);
    }
}

/* SCH-Q35: before 1.33 a growing limit is no event for pods that found no place for their volumes.
 */
TEST(old_releases_ignore_limits)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    g_autoptr(Object) before = new_object(&world, EVENT_CSI_NODE, "n");
    g_autoptr(Object) after = object_edit(before);
    take_more(&world, after);
    for (int minor = 32; minor <= 33; minor++) {
        ClusterEvent event = cluster_event(EVENT_CSI_NODE, before, after, minor);
        assert_int_equal((cluster_event_plugins(&event) >> PLUGIN_NODE_VOLUME_LIMITS) & 1,
                         minor == 33);
    }
    g_clear_pointer(&before, object_unref);
    g_clear_pointer(&after, object_unref);
    storage_world_clear(&world);
}

/* SCH-66, AdmissionCheck(): requests, labels, taints and the name of the node. */
TEST(pods_fit_on_changed_nodes)
{
    static const struct {
        int64_t cpu_milli, memory_mib;
        int n_pods;            /* on the node, which takes 3; they have 3 of 4 CPUs, 3 of 4 GiB */
        const char *node_name; /* that the pod asks for */
        gboolean fits;
    } rows[] = {
        {0,    0,    2, NULL,    TRUE },
        {1000, 1024, 2, NULL,    TRUE },
        {1001, 1024, 2, NULL,    FALSE},
        {1000, 1025, 2, NULL,    FALSE},
        {0,    0,    3, NULL,    FALSE},
        {1000, 1024, 2, "n",     TRUE },
        {1000, 1024, 2, "other", FALSE},
    };
    StorageWorld world;

    storage_world_init(&world, NULL);
    g_autoptr(Object) before = new_object(&world, EVENT_NODE, "n");
    g_autoptr(Object) after = object_edit(before);
    NODE(after)->allocatable =
        (NodeResources){.cpu_milli = 4000, .memory_bytes = INT64_C(4) << 30, .pods = 3};
    ClusterEvent event = cluster_event(EVENT_NODE, before, after, 32);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Pod *pod = storage_world_pod(&world, "p", NULL, rows[i].node_name);
        const NodeInfo info = {.node = (const Node *)after,
                               .n_pods = rows[i].n_pods,
                               .requested_cpu_milli = 3000,
                               .requested_memory_bytes = INT64_C(3) << 30};
        pod->spec->cpu_milli = rows[i].cpu_milli;
        pod->spec->memory_bytes = rows[i].memory_mib << 20;
        if (cluster_event_fits(&event, pod, &info) != rows[i].fits)
            fail_msg("row %u", i);
        object_unref(&pod->meta);
    }
    g_clear_pointer(&before, object_unref);
    g_clear_pointer(&after, object_unref);
    storage_world_clear(&world);
}
