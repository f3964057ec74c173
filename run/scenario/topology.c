/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The topology of drivers: its keys, where nodes have their values, and what the CSINodes of a
 * cluster's dump say about it. A field of the scenario is stronger than the CSINodes of the
 * manifests; these are stronger than the profile. A node without a label of a key has the value of
 * another label, by default its zone. A key that no node has a value for is a fault: no volume
 * could be placed. */
#include <string.h>

#include "models/api/fields.h"
#include "scenario-private.h"

/* ---- Reading ---- */

/* The label that gives a key's value on a node without a label of that key. */
static const char *
default_label(const char *key)
{
    const char *slash = strchr(key, '/');
    const char *name = slash != NULL ? slash + 1 : key;

    if (g_str_has_prefix(key, "kubernetes.io/")) /* the kubelet itself sets these */
        return NULL;
    return g_str_equal(name, "region") ? LABEL_REGION : LABEL_ZONE;
}

/* @key is at the reader's place. */
static void
add_key(SchemaReader *reader, TopologyFields *fields, const char *key, const char *label)
{
    const char *fault = key == NULL ? NULL : name_fault_qualified(key);

    if (fault != NULL)
        schema_fault(reader, fault, "\"%s\" is no key of a label", key);
    for (unsigned i = 0; key != NULL && i < fields->n; i++)
        if (g_str_equal(fields->keys[i].key, key))
            schema_fault(reader, NULL, "the key \"%s\" is there already", key);
    if (key != NULL)
        fields->keys[fields->n++] = (ScenarioTopologyKey){(char *)schema_intern(reader, key),
                                                          (char *)schema_intern(reader, label)};
}

static void
read_keys(SchemaReader *reader, const json_t *list, TopologyFields *fields)
{
    for (gsize i = 0; i < json_array_size(list); i++) {
        SchemaPlace place = schema_enter_item(reader, list, i);
        const char *key = NULL;
        schema_read(reader, &schema_string, json_array_get(list, i), &key);
        add_key(reader, fields, key, key == NULL ? NULL : default_label(key));
        schema_leave(reader, place);
    }
}

static void
read_mapping(SchemaReader *reader, const json_t *mapping, TopologyFields *fields)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)mapping, key, value) {
        SchemaPlace place = schema_enter_member(reader, mapping, key);
        const char *label = NULL;
        schema_read(reader, &schema_string, value, &label);
        if (label != NULL)
            add_key(reader, fields, key, label);
        schema_leave(reader, place);
    }
}

static void
read_topology(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    TopologyFields *fields = target;
    gsize n = MAX(json_array_size(value), json_object_size(value));

    *fields = (TopologyFields){.keys = schema_alloc(reader, (n + 1) * sizeof *fields->keys)};
    fields->is_default = json_is_true(value);
    fields->is_mapping = json_is_object(value);
    if (json_is_string(value) && *json_string_value(value) != '\0')
        add_key(reader, fields, json_string_value(value), default_label(json_string_value(value)));
    else if (json_is_array(value) && n > 0)
        read_keys(reader, value, fields);
    else if (json_is_object(value) && n > 0)
        read_mapping(reader, value, fields);
    else if (!json_is_boolean(value))
        schema_fault(reader, type->hint, "must be %s", type->wanted);
}

static json_t *
schema_json_topology(const FileType *type)
{
    (void)type;
    return json_pack("{s:[o, {s:s, s:o}, o, {s:s}]}", "anyOf", json_pack("{s:s}", "type", "string"),
                     "type", "array", "items", json_pack("{s:s}", "type", "string"),
                     schema_json(&schema_string_map), "type", "boolean");
}

/* clang-format off */
const FileType scenario_topology_type = SCHEMA_TYPE("topology",
    "the key of the driver's topology, a list of keys, a mapping from keys to labels of nodes, or false",
    read_topology, schema_json_topology, TopologyFields, .hint = "such as topology.<driver>/zone");
/* clang-format on */

/* ---- Nodes and their labels ---- */

/* Every node has them: the kubelet sets these labels. */
static gboolean
is_of_kubelet(const char *label)
{
    return g_str_equal(label, LABEL_HOSTNAME) || g_str_equal(label, LABEL_OS) ||
           g_str_equal(label, LABEL_ARCH) || g_str_equal(label, TOPOLOGY_NODE_NAME);
}

static gboolean
group_has(const ScenarioNodes *group, const char *label)
{
    return is_of_kubelet(label) || json_object_get(group->labels, label) != NULL ||
           (group->zones != NULL && g_str_equal(label, LABEL_ZONE));
}

static gboolean
node_has(const Object *node, const char *label)
{
    return is_of_kubelet(label) || object_label(node, label) != NULL;
}

/* Whether some node of the scenario has a label, now or once it is created. @label: NULL: whether
 * there is a node at all */
static gboolean
some_node_has(const Loader *self, const char *label)
{
    for (unsigned i = 0; i < self->scenario.n_nodes; i++)
        if (label == NULL || group_has(&self->scenario.nodes[i], label))
            return TRUE;
    for (unsigned i = 0; i < self->manifests->len; i++) {
        const Object *object = g_array_index(self->manifests, ManifestInfo, i).object;
        if (object != NULL && object_kind(object) == KIND_NODE &&
            (label == NULL || node_has(object, label)))
            return TRUE;
    }
    return FALSE;
}

/* ---- CSINodes of the manifests ---- */

static char **
keys_of(SchemaReader *reader, const StringList *list)
{
    char **keys = schema_alloc(reader, ((list == NULL ? 0 : list->n_items) + 1) * sizeof *keys);

    for (unsigned i = 0; list != NULL && i < list->n_items; i++)
        keys[i] = (char *)schema_intern(reader, list->items[i]);
    return keys;
}

/* Objects of the initial state. */
static const Object *
initial_object(const Loader *self, unsigned i, ObjectKind kind)
{
    const ManifestInfo *info = &g_array_index(self->manifests, ManifestInfo, i);

    return info->object != NULL && info->action < 0 && object_kind(info->object) == kind
               ? info->object
               : NULL;
}

static void
read_csi_node(Loader *self, const CsiNode *csi_node, ScenarioDriver *driver)
{
    const char *node = schema_intern(&self->reader, object_name(&csi_node->meta));
    const CsiNodeDriver *entry = csi_node_find_driver(csi_node, driver->name);

    if (entry == NULL) {
        g_hash_table_add(driver->absent_on, (char *)node);
        return;
    }
    ScenarioNodeInfo *info = schema_alloc(&self->reader, sizeof *info);
    info->node_id = (char *)schema_intern(&self->reader, entry->node_id);
    info->keys = keys_of(&self->reader, entry->topology_keys);
    info->limit = entry->allocatable_count;
    g_hash_table_insert(driver->node_infos, (char *)node, info);
}

/* A driver on some CSINodes is not on the others. */
static void
read_csi_nodes(Loader *self, ScenarioDriver *driver)
{
    driver->node_infos = g_hash_table_new(g_str_hash, g_str_equal);
    driver->absent_on = g_hash_table_new(g_str_hash, g_str_equal);
    g_ptr_array_add(self->reader.tables, driver->node_infos);
    g_ptr_array_add(self->reader.tables, driver->absent_on);
    for (unsigned i = 0; i < self->manifests->len; i++) {
        const Object *object = initial_object(self, i, KIND_CSI_NODE);
        if (object != NULL)
            read_csi_node(self, (const CsiNode *)object, driver);
    }
    if (g_hash_table_size(driver->node_infos) == 0)
        driver->node_infos = driver->absent_on = NULL;
}

/* Where the nodes of the manifests have the values of a key from, for nodes that join later.
 * Returns: NULL: not known */
static const char *
label_of_key(const Loader *self, const char *key)
{
    for (unsigned i = 0; i < self->manifests->len; i++) {
        const Object *node = initial_object(self, i, KIND_NODE);
        const char *value = node == NULL ? NULL : object_label(node, key);
        if (value == NULL)
            continue;
        if (g_str_equal(value, object_name(node)))
            return TOPOLOGY_NODE_NAME;
        return g_strcmp0(value, object_label(node, LABEL_ZONE)) == 0 ? LABEL_ZONE : NULL;
    }
    return NULL;
}

/* The keys of all CSINodes, in the order of the manifests. */
static void
take_keys(Loader *self, const ScenarioDriver *driver, TopologyFields *topology)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();

    for (unsigned i = 0; i < self->manifests->len; i++) {
        const Object *object = initial_object(self, i, KIND_CSI_NODE);
        const ScenarioNodeInfo *info =
            object == NULL ? NULL : g_hash_table_lookup(driver->node_infos, object_name(object));
        for (unsigned k = 0; info != NULL && info->keys[k] != NULL; k++)
            if (!g_ptr_array_find_with_equal_func(all, info->keys[k], g_str_equal, NULL))
                g_ptr_array_add(all, info->keys[k]);
    }
    *topology = (TopologyFields){
        .keys = schema_alloc(&self->reader, (all->len + 1) * sizeof *topology->keys)};
    for (unsigned i = 0; i < all->len; i++)
        topology->keys[topology->n++] = (ScenarioTopologyKey){.key = all->pdata[i]};
}

/* Nodes that join later have the limit of the first CSINode; the others have their own. */
static void
take_limit(Loader *self, const ScenarioDriver *driver, DriverFields *fields)
{
    for (unsigned i = 0; i < self->manifests->len; i++) {
        const Object *object = initial_object(self, i, KIND_CSI_NODE);
        const ScenarioNodeInfo *info =
            object == NULL ? NULL : g_hash_table_lookup(driver->node_infos, object_name(object));
        if (info == NULL)
            continue;
        int limit = MAX(info->limit, 0); /* -1: none */
        if (fields->model.attach_limit_reported > 0)
            fields->model.attach_limit_reported = limit;
        else
            fields->model.attach_limit = limit;
        return;
    }
}

/* ---- Building ---- */

static gboolean
scenario_topology_has_key(const ScenarioDriver *driver, const char *key)
{
    for (unsigned i = 0; i < driver->n_topology; i++)
        if (g_str_equal(driver->topology[i].key, key))
            return TRUE;
    return FALSE;
}

/* The keys in the place of the driver's newest volume in the manifests: older releases of a driver
 * may have had others. Returns: NULL: there is no such volume, or its keys are not the driver's */
static char **
volume_keys(Loader *self, const ScenarioDriver *driver)
{
    const Volume *newest = NULL;

    for (unsigned i = 0; i < self->manifests->len; i++) {
        const Volume *volume = (const Volume *)initial_object(self, i, KIND_VOLUME);
        if (volume != NULL && volume->source != NULL && volume->node_affinity != NULL &&
            g_strcmp0(volume->source->driver, driver->name) == 0 &&
            volume->node_affinity->n_terms > 0 &&
            (newest == NULL || volume->meta.created_at > newest->meta.created_at))
            newest = volume;
    }
    const LabelSelector *place =
        newest == NULL ? NULL : newest->node_affinity->terms[0].expressions;
    if (place == NULL)
        return NULL;
    char **keys = schema_alloc(&self->reader, (place->n_requirements + 1) * sizeof *keys);
    for (unsigned i = 0; i < place->n_requirements; i++) {
        keys[i] = (char *)schema_intern(&self->reader, place->requirements[i].key);
        if (!scenario_topology_has_key(driver, keys[i]))
            return NULL;
    }
    return keys;
}

/* A driver without any word about its topology has one if the nodes have zones. */
static void
take_default(Loader *self, const ScenarioDriver *driver, TopologyFields *topology)
{
    g_autofree char *key = g_strdup_printf("topology.%s/zone", driver->name);

    if (topology->is_default || some_node_has(self, LABEL_ZONE) || some_node_has(self, key) ||
        !some_node_has(self, NULL)) {
        topology->keys = schema_alloc(&self->reader, sizeof *topology->keys);
        topology->n = 1;
        topology->keys[0].key = (char *)schema_intern(&self->reader, key);
        topology->keys[0].label = (char *)LABEL_ZONE;
    }
}

static gboolean
is_said(const DriverFields *fields, const char *member)
{
    return json_object_get(fields->source, member) != NULL;
}

static void
build_volume_topology(Loader *self, DriverFields *fields, ScenarioDriver *driver)
{
    if (is_said(fields, "volumeTopology")) {
        for (unsigned i = 0; fields->volume_topology != NULL && fields->volume_topology[i] != NULL;
             i++)
            if (*fields->volume_topology[i] != '\0' &&
                !scenario_topology_has_key(driver, fields->volume_topology[i]))
                schema_fault_member(&self->reader, fields->source, "volumeTopology", NULL,
                                    "\"%s\" is no key of the driver's topology",
                                    fields->volume_topology[i]);
        return;
    }
    char **of_volumes = driver->node_infos != NULL ? volume_keys(self, driver) : NULL;
    if (of_volumes != NULL)
        fields->volume_topology = of_volumes;
    /* the profile's keys are those of the profile's topology */
    for (unsigned i = 0; fields->volume_topology != NULL && fields->volume_topology[i] != NULL; i++)
        if (!scenario_topology_has_key(driver, fields->volume_topology[i]))
            fields->volume_topology = NULL;
}

void
loader_build_topology(Loader *self, DriverFields *fields, ScenarioDriver *driver)
{
    TopologyFields *topology = &fields->topology;

    read_csi_nodes(self, driver);
    driver->says_topology = is_said(fields, "topology");
    driver->says_limit = is_said(fields, "attachLimit") || is_said(fields, "attachLimitReported");
    if (driver->node_infos != NULL && !driver->says_topology)
        take_keys(self, driver, topology);
    else if (topology->keys == NULL || topology->is_default)
        take_default(self, driver, topology);
    if (driver->node_infos != NULL && !topology->is_mapping)
        for (unsigned i = 0; i < topology->n; i++)
            if (some_node_has(self, topology->keys[i].key))
                topology->keys[i].label = (char *)label_of_key(self, topology->keys[i].key);
    if (driver->node_infos != NULL && !driver->says_limit)
        take_limit(self, driver, fields);
    if (is_said(fields, "nodePlugin"))
        driver->absent_on = NULL;
    driver->topology = topology->keys;
    driver->n_topology = topology->n;
    build_volume_topology(self, fields, driver);
}

const char *
loader_zone_key(const ScenarioDriver *driver)
{
    const StringList *of_volumes = driver->model.volume_keys;

    for (unsigned i = 0; of_volumes != NULL && i < of_volumes->n_items; i++)
        if (g_str_has_suffix(of_volumes->items[i], "zone"))
            return of_volumes->items[i];
    for (unsigned i = 0; i < driver->n_topology; i++)
        if (g_str_has_suffix(driver->topology[i].key, "zone"))
            return driver->topology[i].key;
    return driver->n_topology > 0 ? driver->topology[0].key : NULL;
}

/* ---- Checks ---- */

/* A key with "node" in its name stands for single nodes; its value should not be the zone. */
static gboolean
is_of_nodes(const ScenarioTopologyKey *key)
{
    const char *slash = strchr(key->key, '/');
    const char *name = slash != NULL ? slash : key->key;

    return g_strcmp0(key->label, LABEL_ZONE) == 0 &&
           (strstr(name, "node") != NULL || strstr(name, "host") != NULL);
}

static void
check_key(Loader *self, const DriverFields *fields, const ScenarioTopologyKey *key)
{
    gboolean is_zone = g_strcmp0(key->label, LABEL_ZONE) == 0 || g_str_equal(key->key, LABEL_ZONE);
    const char *member = is_said(fields, "topology")  ? "topology"
                         : is_said(fields, "profile") ? "profile"
                                                      : "name";
    g_autofree char *by_name =
        g_strdup_printf("topology: {%s: " TOPOLOGY_NODE_NAME "} takes the node's name", key->key);

    if (some_node_has(self, key->key))
        return;
    if (is_of_nodes(key))
        schema_fault_member(&self->reader, fields->source, member, by_name,
                            "no node has the label \"%s\" of the driver's topology", key->key);
    else if (key->label != NULL && some_node_has(self, key->label))
        return;
    else if (is_zone)
        schema_fault_member(&self->reader, fields->source, member,
                            "write zones: [zone-a] in spec.nodes, or topology: false if every node "
                            "reaches every volume",
                            "no node has a zone for the key \"%s\" of the driver's topology",
                            key->key);
    else if (key->label != NULL)
        schema_fault_member(&self->reader, fields->source, member, by_name,
                            "no node has the label \"%s\" for the key \"%s\"", key->label,
                            key->key);
    else
        schema_fault_member(&self->reader, fields->source, member, by_name,
                            "no node has the label \"%s\" of the driver's topology", key->key);
}

/* @group: NULL: @node */
static gboolean
has_a_place(const ScenarioDriver *driver, const ScenarioNodes *group, const Object *node)
{
    for (unsigned i = 0; i < driver->n_topology; i++) {
        const char *labels[] = {driver->topology[i].key, driver->topology[i].label};
        for (unsigned k = 0; k < G_N_ELEMENTS(labels); k++)
            if (labels[k] != NULL &&
                (group != NULL ? group_has(group, labels[k]) : node_has(node, labels[k])))
                return TRUE;
    }
    return driver->n_topology == 0;
}

/* Some nodes have zones, others do not. */
static void
warn_of_nodes(Loader *self, const ScenarioDriver *driver)
{
    static const char *const message = "no zone or other label for the topology of driver \"%s\": "
                                       "it makes no volumes for pods there";
    const NodeFields *groups = self->fields.spec.nodes.items;

    for (unsigned i = 0; i < self->scenario.n_nodes && driver->node_selector == NULL; i++)
        if (!has_a_place(driver, &self->scenario.nodes[i], NULL))
            loader_warn(self, &groups[i].at, groups[i].path, NULL, message, driver->name);
    for (unsigned i = 0; i < self->manifests->len && driver->node_selector == NULL; i++) {
        const ManifestInfo *info = &g_array_index(self->manifests, ManifestInfo, i);
        if (initial_object(self, i, KIND_NODE) != NULL && !has_a_place(driver, NULL, info->object))
            loader_warn(self, &info->at, info->path, NULL, message, driver->name);
    }
}

void
loader_check_topology(Loader *self)
{
    const DriverFields *fields = self->fields.spec.drivers.items;

    for (unsigned i = 0; i < self->scenario.n_actions; i++)
        if (self->scenario.actions[i].type == ACTION_PATCH &&
            self->scenario.actions[i].kind == KIND_NODE)
            return; /* it may set the labels */
    for (unsigned i = 0; i < self->scenario.n_drivers && some_node_has(self, NULL); i++) {
        const ScenarioDriver *driver = &self->scenario.drivers[i];
        if (driver->name == NULL || (driver->node_infos != NULL && !driver->says_topology))
            continue;
        SchemaJump jump = schema_go(&self->reader, &fields[i].at, fields[i].path);
        unsigned n_faults = self->faults->len;
        for (unsigned k = 0; k < driver->n_topology; k++)
            check_key(self, &fields[i], &driver->topology[k]);
        if (self->faults->len == n_faults)
            warn_of_nodes(self, driver);
        schema_come_back(&self->reader, jump);
    }
}
