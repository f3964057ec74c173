/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/fields.h"
#include "models/external-provisioner/provisioner-test.h"
#include "models/external-provisioner/provisioner.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/script-driver.h"

#include <string.h>

/* The provisioner's capacity controller: which objects it keeps, which pairs it asks the driver
 * about. */

#define DRIVER "test-driver"
#define LABEL_DRIVER "csi.storage.k8s.io/drivername"
#define LABEL_MANAGED_BY "csi.storage.k8s.io/managed-by"
#define SOON (10 * SIM_SECOND)      /* less than the poll interval */
#define NEXT_POLL (70 * SIM_SECOND) /* more */

typedef struct {
    Case *self;
    const char *driver_name;
    ScriptDriver *driver;
    const json_t *capacity; /* nested by the values of the segment's keys */
    json_t *counts;         /* as soon as all is known, before anything is done about it */
    json_t *updates;        /* name of an object: how often anybody changed it */
} StorageCapacityWorld;

static Capacity *
capacity_of(const StorageCapacityWorld *world)
{
    ExternalProvisioner *provisioner =
        cluster_model(world->self->cluster, &external_provisioner_class, world->driver_name);

    return provisioner == NULL ? NULL : provisioner->capacity;
}

/* ---- The driver ---- */

static void
see_counts(StorageCapacityWorld *world)
{
    const Capacity *capacity = capacity_of(world);
    json_int_t goal = 0, current = 0;

    if (world->counts != NULL || capacity == NULL)
        return;
    for (unsigned i = 0; i < capacity_n_items(capacity); i++) {
        CapacityItemView view;
        if (!capacity_item(capacity, i, &view))
            continue;
        goal++;
        current += view.object != NULL;
    }
    world->counts = json_pack("{s:I, s:I, s:I}", "goal", goal, "current", current, "obsolete",
                              (json_int_t)capacity_n_obsolete(capacity));
}

/* A write, before anybody hears of it. */
static void
write_seen(void *data, const Object *before, const Object *after)
{
    StorageCapacityWorld *world = data;

    see_counts(world);
    if (before == NULL || after == NULL)
        return;
    json_t *updates = json_object_get(world->updates, object_name(after));
    json_object_set_new(world->updates, object_name(after),
                        json_integer(json_integer_value(updates) + 1));
}

static void
suite_storage_capacity_answer(void *data,
                              unsigned number,
                              const CsiRequest *request,
                              CsiResponse *response)
{
    StorageCapacityWorld *world = data;
    const json_t *place = world->capacity;
    const StringMap *segment = request->n_requisite > 0 ? request->requisite[0] : NULL;
    const char *multiplier = string_map_get(request->parameters, "multiplier");

    (void)number;
    see_counts(world);
    for (unsigned i = 0; segment != NULL && i < segment->n_pairs; i++)
        place = json_object_get(place, segment->pairs[i].value);
    if (!json_is_string(place))
        return;
    g_auto(GStrv) parts = g_strsplit(json_string_value(place), ",", 2);
    if (parts[0] == NULL)
        return;
    quantity_parse(parts[0], &response->available_bytes, NULL, NULL);
    if (parts[1] != NULL)
        quantity_parse(parts[1], &response->maximum_volume_bytes, NULL, NULL);
    if (multiplier != NULL)
        response->available_bytes *= g_ascii_strtoll(multiplier, NULL, 10);
}

/* ---- Objects ---- */

/* The tests' own owner is told as "default", or by its name. Returns: NULL: no owner */
static const char *
owner_name(const char *told)
{
    if (told == NULL || strcmp(told, "none") == 0)
        return NULL;
    return strcmp(told, "default") == 0 ? DRIVER : told;
}

/* Returns: (owned): the references to @told */
static json_t *
owners_json(const char *told)
{
    const char *owner = owner_name(told);

    if (owner == NULL)
        return json_array();
    return json_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "apps/v1", "kind", "StatefulSet",
                     "name", owner, "uid", owner, "controller", 1);
}

static Object *
capacity_object(Case *self, const json_t *told, size_t number)
{
    static const char *const members[] = {"capacity", "maximum_volume_size", "storage_class"};
    static const char *const keys[] = {"capacity", "maximumVolumeSize", "storageClassName"};
    const char *managed_by = json_path_string(told, "managed_by");
    const char *uid = json_path_string(told, "uid");
    g_autofree char *name =
        uid != NULL ? g_strdup(uid) : g_strdup_printf("capacity-%u", (unsigned)number);
    json_t *metadata = json_pack("{s:s, s:s}", "name", name, "uid", name);
    json_t *manifest = json_pack("{s:o}", "metadata", metadata);

    if (managed_by != NULL)
        json_object_set_new(metadata, "labels",
                            json_pack("{s:s, s:s}", LABEL_DRIVER,
                                      case_string(self, "config.driver"), LABEL_MANAGED_BY,
                                      managed_by));
    json_object_set_new(metadata, "ownerReferences", owners_json(json_path_string(told, "owner")));
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        if (json_path_get(told, members[i]) != NULL)
            json_object_set(manifest, keys[i], json_object_get(told, members[i]));
    if (json_path_get(told, "topology") != NULL)
        json_object_set_new(manifest, "nodeTopology",
                            json_pack("{s:O}", "matchLabels", json_object_get(told, "topology")));
    Object *object = case_object(self, manifest, KIND_STORAGE_CAPACITY);
    json_decref(manifest);
    return object;
}

static Object *
class_object(Case *self, const json_t *told)
{
    const json_t *parameters = json_path_get(told, "parameters");
    json_t *manifest;

    if (json_object_get(told, "metadata") != NULL)
        return case_object(self, told, KIND_STORAGE_CLASS);
    manifest = json_pack("{s:{s:O}, s:O}", "metadata", "name", json_object_get(told, "name"),
                         "provisioner", json_object_get(told, "provisioner"));
    if (json_object_get(told, "binding") != NULL)
        json_object_set(manifest, "volumeBindingMode", json_object_get(told, "binding"));
    if (parameters != NULL)
        json_object_set(manifest, "parameters", (json_t *)parameters);
    Object *object = case_object(self, manifest, KIND_STORAGE_CLASS);
    json_decref(manifest);
    return object;
}

static void
suite_storage_capacity_commit(Case *self, ApiVerb verb, const Object *object)
{
    ApiRequest request = {
        .verb = verb, .key = (ObjectKey *)object->key, .object = object, .grace_s = -1};
    ApiResponse response;

    api_server_commit(self->api, &request, &response);
}

/* A node, and what the driver says of it, for each segment. */
static void
suite_storage_capacity_add_node(Case *self,
                                const char *name,
                                const json_t *labels,
                                const json_t *topology_keys)
{
    const char *driver = case_string(self, "config.driver");
    json_t *node = json_pack("{s:{s:s, s:O?}}", "metadata", "name", name, "labels", labels);
    json_t *csi_node = json_pack("{s:{s:s}, s:{s:[{s:s, s:s, s:O}]}}", "metadata", "name", name,
                                 "spec", "drivers", "name", driver == NULL ? DRIVER : driver,
                                 "nodeID", name, "topologyKeys", topology_keys);

    suite_storage_capacity_commit(self, API_CREATE, case_object(self, node, KIND_NODE));
    suite_storage_capacity_commit(self, API_CREATE, case_object(self, csi_node, KIND_CSI_NODE));
    json_decref(node);
    json_decref(csi_node);
}

static void
remove_all(Case *self, ObjectKind kind)
{
    for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kind); slot++) {
        const Object *object = api_server_get(self->api, objects_key_at(self->objects, kind, slot));
        if (object != NULL)
            suite_storage_capacity_commit(self, API_DELETE, object);
    }
}

static void
add_segments(Case *self, const json_t *segments, const char *prefix)
{
    const json_t *segment;
    size_t i;

    json_array_foreach(segments, i, segment) {
        g_autofree char *name = g_strdup_printf("%s-%u", prefix, (unsigned)i);
        json_t *keys = json_array(), *value;
        const char *key;
        json_object_foreach((json_t *)segment, key, value)
            json_array_append_new(keys, json_string(key));
        suite_storage_capacity_add_node(self, name, segment, keys);
        json_decref(keys);
    }
}

/* ---- The world ---- */

static void *
suite_storage_capacity_options_of(void *data, const ProcessClass *class)
{
    Case *self = data;
    ExternalProvisionerOptions *options;

    if (class != &external_provisioner_process)
        return NULL;
    options = process_options_new(class, objects_strings(self->objects));
    options->enable_capacity = TRUE;
    options->capacity_for_immediate_binding =
        case_get(self, "config") == NULL || case_flag(self, "config.immediate_binding");
    json_t *manifest = json_pack("{s:{s:o}}", "metadata", "ownerReferences",
                                 owners_json(case_string(self, "config.owner")));
    options->capacity_owners = case_object(self, manifest, KIND_NODE)->owners;
    json_decref(manifest);
    return options;
}

static void
suite_storage_capacity_world_begin(StorageCapacityWorld *world, Case *self)
{
    static const WorldOptions options = {.only = &external_provisioner_class, .live = TRUE};
    NodePluginOptions plugin = {.preregistered = TRUE};
    ScriptOptions script = {
        .plugin = CSI_PLUGIN_CONTROLLER_SERVICE | CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS,
        .controller = CSI_CONTROLLER_CREATE_DELETE_VOLUME | CSI_CONTROLLER_GET_CAPACITY,
        .answer = suite_storage_capacity_answer,
        .data = world,
    };
    const char *driver = case_string(self, "config.driver");
    const json_t *item;
    size_t i;

    *world = (StorageCapacityWorld){.self = self,
                                    .capacity = case_get(self, "initial.driver_capacity_by_layer"),
                                    .updates = json_object()};
    world->driver_name = driver == NULL ? DRIVER : driver;
    case_world_new(self, &options);
    json_array_foreach(case_get(self, "initial.classes"), i, item)
        case_import_object(self, class_object(self, item), CASE_API);
    json_array_foreach(case_get(self, "initial.objects"), i, item)
        case_import_object(self, capacity_object(self, item, i), CASE_API);
    add_segments(self, case_get(self, "initial.segments"), "first");
    world->driver = script_driver_new(self, world->driver_name, &script);
    cluster_add_driver(self->cluster, script_driver_base(world->driver), world->driver_name,
                       &plugin, suite_storage_capacity_options_of, self);
}

static void
suite_storage_capacity_world_start(StorageCapacityWorld *world)
{
    static const WorldOptions options = {.only = &external_provisioner_class, .live = TRUE};

    api_server_observe(world->self->api, write_seen, world);
    case_start(world->self, &options);
    case_forget(world->self);
    case_wait(world->self, SOON);
    see_counts(world);
}

static void
suite_storage_capacity_world_end(StorageCapacityWorld *world)
{
    cluster_free(world->self->cluster);
    world->self->cluster = NULL;
    csi_driver_free(script_driver_base(world->driver));
    json_decref(world->counts);
    json_decref(world->updates);
}

/* ---- Comparing ---- */

static json_t *
quantity_json(int64_t bytes)
{
    char text[QUANTITY_BUFFER];

    return bytes < 0 ? json_null() : json_string(quantity_format(bytes, text));
}

static json_t *
topology_json(const StorageCapacity *object)
{
    json_t *labels = json_object();

    for (unsigned i = 0; object->topology != NULL && i < object->topology->n_requirements; i++)
        json_object_set_new(labels, object->topology->requirements[i].key,
                            json_string(object->topology->requirements[i].values->items[0]));
    return labels;
}

/* Returns: (owned): as the cases tell it */
static json_t *
told_object(const StorageCapacityWorld *world, const Object *object)
{
    const StorageCapacity *capacity = (const StorageCapacity *)object;
    const OwnerReference *owner = object_controller(object);

    const json_t *updates = json_object_get(world->updates, object_name(object));

    return json_pack("{s:o, s:o, s:s?, s:s?, s:s, s:o, s:I}", "capacity",
                     quantity_json(capacity->capacity_bytes), "maximum_volume_size",
                     quantity_json(capacity->maximum_bytes), "managed_by",
                     object_label(object, LABEL_MANAGED_BY), "owner",
                     owner == NULL ? NULL : owner->name, "storage_class", capacity->class_name,
                     "topology", topology_json(capacity), "revision", json_integer_value(updates));
}

static gboolean
suite_storage_capacity_is_told(const json_t *wanted, const json_t *found)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)wanted, key, value) {
        const json_t *is = json_object_get(found, key);
        gboolean same =
            strcmp(key, "owner") == 0
                ? g_strcmp0(owner_name(json_string_value(value)), json_string_value(is)) == 0
                : strcmp(key, "uid") == 0 || json_equal(value, is);
        if (!same)
            return FALSE;
    }
    return TRUE;
}

/* A set. Objects that the case began with are told by uid, too, which is their name here. */
static void
expect_objects(const StorageCapacityWorld *world, const json_t *expected)
{
    Case *self = world->self;
    json_t *found = json_array();
    gboolean same;

    for (uint32_t slot = 0; slot < objects_n_keys(self->objects, KIND_STORAGE_CAPACITY); slot++) {
        const Object *object =
            api_server_get(self->api, objects_key_at(self->objects, KIND_STORAGE_CAPACITY, slot));
        if (object != NULL)
            json_array_append_new(found, told_object(world, object));
    }
    same = json_array_size(expected) == json_array_size(found);
    for (size_t i = 0; i < json_array_size(expected) && same; i++) {
        gboolean is_there = FALSE;
        for (size_t k = 0; k < json_array_size(found); k++)
            is_there |= suite_storage_capacity_is_told(json_array_get(expected, i),
                                                       json_array_get(found, k));
        same = is_there;
    }
    if (!same)
        case_expect_json(self, "objects", expected, found);
    json_decref(found);
}

/* ---- Acts ---- */

static void
change_classes(Case *self, const json_t *classes)
{
    const json_t *item;
    size_t i;

    remove_all(self, KIND_STORAGE_CLASS);
    json_array_foreach(classes, i, item)
        suite_storage_capacity_commit(self, API_CREATE, class_object(self, item));
}

static const json_t *
find_uid(const json_t *list, const char *uid)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        if (g_strcmp0(json_path_string(item, "metadata.uid"), uid) == 0)
            return item;
    return NULL;
}

/* @before: NULL: it is new */
static void
put_object(Case *self, const json_t *told, const Object *before)
{
    json_t *manifest = json_deep_copy(told), *metadata = json_object_get(manifest, "metadata");

    if (before != NULL)
        json_object_del(metadata, "uid");
    json_object_set_new(
        metadata, "name",
        json_string(before != NULL ? object_name(before) : json_path_string(told, "metadata.uid")));
    json_object_set_new(metadata, "namespace",
                        json_string(before != NULL ? before->key->namespace : "default"));
    json_object_set_new(metadata, "ownerReferences",
                        owners_json(case_string(self, "config.owner")));
    suite_storage_capacity_commit(self, before != NULL ? API_UPDATE : API_CREATE,
                                  case_object(self, manifest, KIND_STORAGE_CAPACITY));
    json_decref(manifest);
}

/* Somebody else deletes, changes and makes objects: @told are those that are there from now on.
 * Those that the controller made are numbered by the cases as they came. */
static void
change_objects(Case *self, const json_t *told)
{
    g_autoptr(GHashTable) made = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const json_t *item;
    size_t i;

    json_array_foreach(self->writes, i, item) {
        if (g_strcmp0(json_path_string(item, "verb"), "create") != 0)
            continue;
        char *uid = g_strdup_printf("CSISC-UID-%u", g_hash_table_size(made) + 1);
        const ObjectKey *key =
            objects_find_key(self->objects, KIND_STORAGE_CAPACITY,
                             json_path_string(item, "namespace"), json_path_string(item, "name"));
        const Object *object = api_server_get(self->api, key);
        g_hash_table_insert(made, uid, (void *)object);
        if (object != NULL && find_uid(told, uid) == NULL)
            suite_storage_capacity_commit(self, API_DELETE, object);
    }
    json_array_foreach(told, i, item) {
        const char *uid = json_path_string(item, "metadata.uid");
        if (uid != NULL)
            put_object(self, item, g_hash_table_lookup(made, uid));
    }
}

static void
do_step(StorageCapacityWorld *world, const json_t *step, unsigned number)
{
    Case *self = world->self;
    gboolean polls = json_object_get(step, "driver_capacity_after") != NULL;
    g_autofree char *prefix = g_strdup_printf("step%u", number);

    if (json_object_get(step, "segments_after") != NULL) {
        remove_all(self, KIND_CSI_NODE);
        remove_all(self, KIND_NODE);
        add_segments(self, json_object_get(step, "segments_after"), prefix);
    }
    if (json_object_get(step, "capacity_objects_after_change") != NULL)
        change_objects(self, json_object_get(step, "capacity_objects_after_change"));
    if (polls)
        world->capacity = json_object_get(step, "driver_capacity_after");
    if (g_strcmp0(json_path_string(step, "change"), "storage classes") == 0)
        change_classes(self, json_object_get(step, "classes_after"));
    case_wait(self, polls ? NEXT_POLL : SOON);
    expect_objects(world, json_object_get(step, "expected_objects"));
}

static json_int_t
count_managed(Case *self)
{
    json_int_t n = 0;

    for (uint32_t slot = 0; slot < objects_n_keys(self->objects, KIND_STORAGE_CAPACITY); slot++) {
        const Object *object =
            api_server_get(self->api, objects_key_at(self->objects, KIND_STORAGE_CAPACITY, slot));
        n += object != NULL &&
             g_strcmp0(object_label(object, LABEL_MANAGED_BY), "external-provisioner") == 0;
    }
    return n;
}

static void
run_controller(Case *self)
{
    StorageCapacityWorld world;
    const json_t *step;
    size_t i;

    suite_storage_capacity_world_begin(&world, self);
    suite_storage_capacity_world_start(&world);
    case_expect_json(self, "counts", case_get(self, "expected.counts_after_prepare"), world.counts);
    expect_objects(&world, case_get(self, "expected.objects"));
    json_array_foreach(case_get(self, "steps"), i, step)
        do_step(&world, step, (unsigned)i);
    if (count_managed(self) != json_integer_value(case_get(self, "expected.final_managed_count")))
        case_fail(self, "%d objects are managed at the end", (int)count_managed(self));
    suite_storage_capacity_world_end(&world);
}

/* "[layer0: foo layer1: X]" */
static char *
segment_text(const StringMap *segment)
{
    g_autoptr(GString) text = g_string_new("[");

    for (unsigned i = 0; segment != NULL && i < segment->n_pairs; i++)
        g_string_append_printf(text, "%s%s: %s", i == 0 ? "" : " ", segment->pairs[i].key,
                               segment->pairs[i].value);
    g_string_append_c(text, ']');
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static json_t *
queued_items(const Capacity *capacity)
{
    json_t *queued = json_array();
    const ObjectKey *key;
    SimCauseId cause;

    while ((key = work_queue_get(capacity_queue(capacity), &cause)) != NULL)
        for (unsigned i = 0; i < capacity_n_items(capacity); i++) {
            CapacityItemView view;
            if (!capacity_item(capacity, i, &view) || view.key != key)
                continue;
            g_autofree char *segment = segment_text(view.segment);
            json_array_append_new(
                queued, json_pack("{s:s, s:s}", "class", view.class_name, "segment", segment));
        }
    return queued;
}

static void
expect_queued(Case *self, const json_t *found)
{
    const json_t *expected = case_get(self, "expected.queued");
    gboolean same = json_array_size(expected) == json_array_size(found);

    for (size_t i = 0; i < json_array_size(expected); i++) {
        gboolean is_there = FALSE;
        for (size_t k = 0; k < json_array_size(found); k++)
            is_there |= json_equal(json_array_get(expected, i), json_array_get(found, k));
        same = same && is_there;
    }
    if (!same)
        case_expect_json(self, "queued", expected, found);
}

static void
run_refresh(Case *self)
{
    StorageCapacityWorld world;
    const char *class_name = case_string(self, "args.class");
    g_autoptr(StringMap) segment = script_map(self, case_get(self, "args.topology"));

    suite_storage_capacity_world_begin(&world, self);
    suite_storage_capacity_world_start(&world);
    Capacity *capacity = capacity_of(&world);
    capacity_hold(capacity);
    if (class_name != NULL)
        capacity_refresh_class(capacity,
                               strings_intern(objects_strings(self->objects), class_name));
    if (segment != NULL) {
        const StringMap *segments[] = {segment};
        NodeSelector *affinity = node_selector_from_segments(segments, 1);
        capacity_refresh_affinity(capacity, affinity);
        node_selector_unref(affinity);
    }
    json_t *found = queued_items(capacity);
    expect_queued(self, found);
    json_decref(found);
    suite_storage_capacity_world_end(&world);
}

static void
add_told_node(Case *self, const json_t *told)
{
    const char *name = json_path_string(told, "name");
    json_t *node = json_pack("{s:{s:s, s:O}}", "metadata", "name", name, "labels",
                             json_object_get(told, "labels"));
    json_t *drivers = json_array();
    const json_t *all = json_path_get(told, "driver_keys");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)all, key, value)
        json_array_append_new(drivers, json_pack("{s:s, s:s, s:O}", "name", key, "nodeID", name,
                                                 "topologyKeys", value));
    json_t *csi_node =
        json_pack("{s:{s:s}, s:{s:o}}", "metadata", "name", name, "spec", "drivers", drivers);
    if (json_is_true(json_object_get(told, "node_object")))
        suite_storage_capacity_commit(self, API_CREATE, case_object(self, node, KIND_NODE));
    if (json_is_true(json_object_get(told, "csinode_object")))
        suite_storage_capacity_commit(self, API_CREATE, case_object(self, csi_node, KIND_CSI_NODE));
    json_decref(node);
    json_decref(csi_node);
}

static void
run_segments(Case *self)
{
    StorageCapacityWorld world;
    json_t *found = json_array();
    const json_t *told;
    size_t i;

    suite_storage_capacity_world_begin(&world, self);
    json_array_foreach(case_get(self, "initial.nodes"), i, told)
        add_told_node(self, told);
    suite_storage_capacity_world_start(&world);
    const TopologyTerms *segments = capacity_segments(capacity_of(&world));
    for (unsigned k = 0; k < segments->n_terms; k++)
        if (segments->terms[k].n_nodes > 0)
            json_array_append_new(found, script_map_json(segments->terms[k].segment));
    case_expect_json(self, "segments", case_get(self, "expected.segments"), found);
    json_decref(found);
    suite_storage_capacity_world_end(&world);
}

static void
run_term(Case *self)
{
    json_t *manifest = json_pack("{s:{s:{s:{s:[O]}}}}", "spec", "nodeAffinity", "required",
                                 "nodeSelectorTerms", case_get(self, "args.term"));
    const Volume *volume = VOLUME(case_object(self, manifest, KIND_VOLUME));
    g_autoptr(StringMap) segment = NULL;
    json_t *found = json_array();
    if (volume->node_affinity == NULL || volume->node_affinity->n_terms == 0) {
        case_fail(self, "no term");
        json_decref(manifest);
        json_decref(found);
        return;
    }
    gboolean is_segment = capacity_term_segment(&volume->node_affinity->terms[0], &segment);

    if (is_segment == case_flag(self, "expected.error"))
        case_fail(self, is_segment ? "no error" : "an error");
    for (unsigned i = 0; segment != NULL && i < segment->n_pairs; i++)
        json_array_append_new(found, json_pack("{s:s, s:s}", "key", segment->pairs[i].key, "value",
                                               segment->pairs[i].value));
    case_expect_json(self, "segment", case_get(self, "expected.segment"), found);
    json_decref(found);
    json_decref(manifest);
}

static const Act storage_capacity_acts[] = {
    {"prepare, process queue", run_controller},
    {"refresh",                run_refresh   },
    {"nodeTopologySegments",   run_segments  },
    {"termToSegment",          run_term      },
    {NULL,                     NULL          },
};

const Suite storage_capacity_suite = {"storage_capacity", storage_capacity_acts};
