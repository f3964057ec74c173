/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/fields.h"
#include "models/api/workload.h"
#include "scenario-private.h"

/* Whether what one object names is there: at the start, made by the workload, or by a StatefulSet.
 */
typedef struct {
    Loader *loader;
    GHashTable *known;       /* ObjectKey -> its first ManifestInfo */
    GHashTable *class_names; /* classes that volumes have: those need no StorageClass */
    GHashTable *node_names;  /* all nodes */
    GPtrArray *node_list;    /* the same, for patterns */
    GHashTable *driver_names;
} Checker;

/* ---- Faults ---- */

static void fault_at(Checker *self,
                     const ManifestInfo *info,
                     const char *path,
                     const char *hint,
                     const char *format,
                     ...) G_GNUC_PRINTF(5, 6);
static void
fault_at(Checker *self,
         const ManifestInfo *info,
         const char *path,
         const char *hint,
         const char *format,
         ...)
{
    g_autofree char *whole = g_strdup_printf("%s.%s", info->path, path);
    YamlPosition at = info->at;
    va_list arguments;

    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    yaml_positions_path(self->loader->positions, info->json, path, &at);
    file_faults_add(self->loader->faults, &at, whole, message, hint);
}

/* Looking for what was meant costs a look at everything: after so many faults nobody reads the
 * hints. */
#define HINTED_FAULTS_MAX 100
#define HINT_NAMES_MAX 2000

/* What the name may have meant among the manifests' objects of a kind. Returns: (owned): NULL: none
 * is near */
static char *
nearest_object(const Checker *self, ObjectKind kind, const char *name)
{
    const GArray *manifests = self->loader->manifests;
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    if (self->loader->faults->len >= HINTED_FAULTS_MAX)
        return NULL;
    for (unsigned i = 0; i < manifests->len && names->len < HINT_NAMES_MAX; i++) {
        const ManifestInfo *info = &g_array_index(manifests, ManifestInfo, i);
        if (info->object == NULL || object_kind(info->object) != kind)
            continue;
        if (g_str_equal(object_name(info->object), name))
            return g_strdup_printf("there is one in namespace %s", info->object->key->namespace);
        g_ptr_array_add(names, (char *)object_name(info->object));
    }
    return schema_nearest(name, (const char *const *)names->pdata, names->len);
}

/* ---- What is there ---- */

static const ManifestInfo *
known_object(const Checker *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ObjectKey *key = objects_find_key(self->loader->objects, kind, namespace, name);
    return key != NULL ? g_hash_table_lookup(self->known, key) : NULL;
}

/* Made in copies, "web-0" and so on: there is no "web", but for those that are made with it. */
static gboolean
is_numbered(const Checker *self, const ManifestInfo *info)
{
    const ActionFields *actions = self->loader->fields.spec.workload.items;
    return info->action >= 0 && actions[info->action].create.count > 0;
}

/* "web-12" is "web" and 12. Returns: (owned): NULL if it does not end so */
static char *
without_number(const char *name, unsigned *number)
{
    const char *dash = strrchr(name, '-');
    guint64 value;

    if (dash == NULL || !g_ascii_string_to_unsigned(dash + 1, 10, 0, G_MAXUINT, &value, NULL))
        return NULL;
    *number = (unsigned)value;
    return g_strndup(name, (gsize)(dash - name));
}

static gboolean
is_numbered_copy(const Checker *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ActionFields *actions = self->loader->fields.spec.workload.items;
    unsigned number;
    g_autofree char *base = without_number(name, &number);
    const ManifestInfo *info = base != NULL ? known_object(self, kind, namespace, base) : NULL;

    return info != NULL && is_numbered(self, info) && number < actions[info->action].create.count;
}

static gboolean
has_template(const StatefulSet *set, const char *name, gsize length)
{
    for (unsigned i = 0; set->claim_templates != NULL && i < set->claim_templates->n_items; i++) {
        const char *template = set->claim_templates->items[i]->name;
        if (strncmp(template, name, length) == 0 && template[length] == '\0')
            return TRUE;
    }
    return FALSE;
}

static gboolean
has_ephemeral_volume(const PodVolumes *volumes, const char *name)
{
    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
        if (volumes->items[i].ephemeral && g_str_equal(volumes->items[i].name, name))
            return TRUE;
    return FALSE;
}

/* "<template>-<set>-<n>", or "<pod>-<volume>" of a generic ephemeral volume: names may have dashes,
 * so all places are tried. */
static gboolean
is_made_claim(const Checker *self, const char *namespace, const char *name)
{
    unsigned number;
    g_autofree char *base = without_number(name, &number);

    for (const char *dash = base != NULL ? strchr(base, '-') : NULL; dash != NULL;
         dash = strchr(dash + 1, '-')) {
        const ManifestInfo *info = known_object(self, KIND_STATEFUL_SET, namespace, dash + 1);
        if (info != NULL && has_template(STATEFUL_SET(info->object), base, (gsize)(dash - base)))
            return TRUE;
    }
    for (const char *dash = strchr(name, '-'); dash != NULL; dash = strchr(dash + 1, '-')) {
        g_autofree char *pod = g_strndup(name, (gsize)(dash - name));
        const ManifestInfo *info = known_object(self, KIND_POD, namespace, pod);
        if (info != NULL && has_ephemeral_volume(POD_CONST(info->object)->volumes, dash + 1))
            return TRUE;
    }
    return FALSE;
}

/* Whether it makes objects of this kind, whose names are not known before. */
static gboolean
makes(const Object *maker, ObjectKind kind)
{
    if (kind == KIND_REPLICA_SET)
        return object_kind(maker) == KIND_DEPLOYMENT;
    return (kind == KIND_POD || kind == KIND_CLAIM) && workload_template(maker) != NULL;
}

/* "<set>-<n>" of a StatefulSet, "<owner>-..." of all others. */
static gboolean
is_made_object(const Checker *self, ObjectKind kind, const char *namespace, const char *name)
{
    const GArray *manifests = self->loader->manifests;
    unsigned number;
    g_autofree char *base = without_number(name, &number);

    if (kind == KIND_POD && base != NULL &&
        known_object(self, KIND_STATEFUL_SET, namespace, base) != NULL)
        return TRUE;
    for (unsigned i = 0; i < manifests->len; i++) {
        const Object *object = g_array_index(manifests, ManifestInfo, i).object;
        if (object == NULL || object_kind(object) == KIND_STATEFUL_SET || !makes(object, kind) ||
            !g_str_equal(object->key->namespace, namespace))
            continue;
        size_t length = strlen(object_name(object));
        if (strncmp(name, object_name(object), length) == 0 && name[length] == '-')
            return TRUE;
    }
    return FALSE;
}

/* @from: the manifest that names it; NULL: the scenario */
static gboolean
object_exists(const Checker *self,
              ObjectKind kind,
              const char *namespace,
              const char *name,
              const ManifestInfo *from)
{
    const ManifestInfo *info = known_object(self, kind, namespace, name);

    if (info != NULL &&
        (!is_numbered(self, info) || (from != NULL && from->action == info->action)))
        return TRUE;
    return is_numbered_copy(self, kind, namespace, name) ||
           (kind == KIND_CLAIM && is_made_claim(self, namespace, name)) ||
           (namespace != NULL && is_made_object(self, kind, namespace, name)) ||
           (kind == KIND_NODE && g_hash_table_contains(self->node_names, name)) ||
           (kind == KIND_CSI_DRIVER && g_hash_table_contains(self->driver_names, name));
}

/* Why the name, which is in a manifest, is of no object. Returns: (owned): NULL: no idea */
static char *
numbered_hint(const Checker *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ManifestInfo *info = known_object(self, kind, namespace, name);

    if (info == NULL || !is_numbered(self, info))
        return nearest_object(self, kind, name);
    return g_strdup_printf(
        "its copies are \"%s-0\" and so on; references follow only within one create", name);
}

/* ---- Gathering ---- */

static gboolean
is_duplicate(const ManifestInfo *first, const ManifestInfo *second)
{
    return first->action == second->action; /* else it may be made again after it was deleted */
}

static void
gather_object(Checker *self, const ManifestInfo *info)
{
    const ManifestInfo *first = g_hash_table_lookup(self->known, info->object->key);
    const char *class_name;

    if (first == NULL || (is_numbered(self, first) && !is_numbered(self, info))) {
        g_hash_table_insert(self->known, (void *)info->object->key, (void *)info);
    } else if (is_duplicate(first, info)) {
        g_autofree char *hint =
            g_strdup_printf("the first is in %s:%u", first->at.file, first->at.line);
        fault_at(self, info, "metadata.name", hint, "there is a %s \"%s\" already",
                 kind_class(object_kind(info->object))->kind, info->object->key->text);
    }
    if (object_kind(info->object) == KIND_VOLUME &&
        (class_name = VOLUME(info->object)->class_name) != NULL)
        g_hash_table_add(self->class_names, (char *)class_name);
    if (object_kind(info->object) != KIND_NODE)
        return;
    if (info->action < 0 && first == NULL &&
        g_hash_table_contains(self->node_names, object_name(info->object)))
        fault_at(self, info, "metadata.name", NULL, "spec.nodes makes a node \"%s\" too",
                 object_name(info->object));
    g_hash_table_add(self->node_names, (char *)object_name(info->object));
    g_ptr_array_add(self->node_list, (char *)object_name(info->object)); /* only looked at */
}

static void
gather_nodes(Checker *self)
{
    Loader *loader = self->loader;
    const NodeFields *groups = loader->fields.spec.nodes.items;

    for (unsigned i = 0; i < loader->fields.spec.nodes.n; i++) {
        const ScenarioNodes *group = &groups[i].nodes;
        g_auto(GStrv) parts = g_strsplit(group->name != NULL ? group->name : "", "%d", -1);
        unsigned n = MAX(group->count, group->autoscaler.max);
        for (unsigned k = 0; group->name != NULL && k < n; k++) {
            g_autofree char *number = g_strdup_printf("%u", group->first + k);
            g_autofree char *name = g_strjoinv(number, parts);
            const char *kept = schema_intern(&loader->reader, name);
            g_ptr_array_add(self->node_list, (char *)kept); /* only looked at */
            if (!g_hash_table_add(self->node_names, (char *)kept)) {
                SchemaJump jump = schema_go(&loader->reader, &groups[i].at, groups[i].path);
                schema_fault_member(&loader->reader, groups[i].source, "name",
                                    "\"first\" sets the first number",
                                    "there is a node \"%s\" already", name);
                schema_come_back(&loader->reader, jump);
                break;
            }
        }
    }
}

/* ---- Nodes as the API server would judge them ---- */

typedef struct {
    Loader *loader;
    const NodeFields *group;
    const char *member; /* what is to blame; NULL: by the place in the Node */
    unsigned n_known;   /* faults that were found before */
} NodeCheck;

/* Which member of a group a field of its Nodes comes from. */
static const char *
member_of_group(const char *path)
{
    static const struct {
        const char *prefix, *member;
    } members[] = {
        {"metadata.labels",      "labels"     },
        {"metadata.annotations", "annotations"},
        {"spec.taints",          "taints"     },
        {"status.",              "allocatable"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++)
        if (g_str_has_prefix(path, members[i].prefix))
            return members[i].member;
    return "name";
}

/* The same member may have been found at fault before, by its type. */
static gboolean
is_known(const NodeCheck *check, const char *member)
{
    g_autofree char *path = g_strdup_printf("%s.%s", check->group->path, member);

    for (unsigned i = 0; i < check->n_known; i++)
        if (g_str_has_prefix(((const FileFault *)check->loader->faults->pdata[i])->path, path))
            return TRUE;
    return FALSE;
}

static void
report_node(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    const NodeCheck *check = parser->data;
    const char *member = check->member != NULL ? check->member : member_of_group(parser->path->str);
    gsize prefix = parser->path->len > 0 ? parser->path->len + strlen(": ") : 0;

    (void)where;
    if (!is_known(check, member))
        schema_fault_member(&check->loader->reader, check->group->source, member, hint, "%s",
                            message + MIN(prefix, strlen(message)));
}

/* Takes the manifest. */
static void
try_node(NodeCheck *check, json_t *manifest)
{
    Objects *objects = objects_new(0); /* a name that is only tried is no name of an object */
    ApiParser parser = {
        .objects = objects, .report = report_node, .data = check, .path = g_string_new(NULL)};
    Object *node = api_parser_object(&parser, manifest);

    if (node != NULL)
        object_unref(node);
    g_string_free(parser.path, TRUE);
    objects_free(objects);
    json_decref(manifest);
}

static void
check_node_groups(Checker *self)
{
    Loader *loader = self->loader;
    const NodeFields *groups = loader->fields.spec.nodes.items;

    for (unsigned i = 0; i < loader->fields.spec.nodes.n; i++) {
        const ScenarioNodes *group = &groups[i].nodes;
        NodeCheck check = {loader, &groups[i], NULL, loader->faults->len};
        if (group->name == NULL)
            continue;
        SchemaJump jump = schema_go(&loader->reader, &groups[i].at, groups[i].path);
        try_node(&check, scenario_node_manifest(group, "node", NULL));
        check.member = "zones";
        for (unsigned k = 0; group->zones != NULL && group->zones[k] != NULL; k++)
            try_node(&check, scenario_node_manifest(&(ScenarioNodes){0}, "node", group->zones[k]));
        schema_come_back(&loader->reader, jump);
    }
}

/* ---- References in manifests ---- */

static void
check_class(Checker *self, const ManifestInfo *info, const char *class_name, const char *path)
{
    if (class_name == NULL || *class_name == '\0' ||
        known_object(self, KIND_STORAGE_CLASS, NULL, class_name) != NULL ||
        g_hash_table_contains(self->class_names, class_name))
        return;
    g_autofree char *nearest = nearest_object(self, KIND_STORAGE_CLASS, class_name);
    fault_at(self, info, path, nearest != NULL ? nearest : "add its manifest",
             "there is no StorageClass \"%s\"", class_name);
}

static void
check_driver(Checker *self, const ManifestInfo *info, const char *driver, const char *path)
{
    if (driver == NULL || g_hash_table_contains(self->driver_names, driver) ||
        g_str_equal(driver, PROVISIONER_NONE))
        return;
    g_autofree char *hint = loader_driver_hint(self->loader, driver);
    fault_at(self, info, path, hint != NULL ? hint : "add it to spec.drivers",
             "there is no driver \"%s\"", driver);
}

static void
check_node(Checker *self, const ManifestInfo *info, const char *node, const char *path)
{
    if (node != NULL && *node != '\0' && !g_hash_table_contains(self->node_names, node))
        fault_at(self, info, path, "nodes are made by spec.nodes, or are manifests",
                 "there is no node \"%s\"", node);
}

/* Where a pod's volume stands in its manifest. Returns: (owned): a path */
static char *
volume_path(const ManifestInfo *info, const char *spec, const char *volume)
{
    const json_t *value = info->json;
    g_auto(GStrv) keys = g_strsplit(spec, ".", -1);

    for (unsigned i = 0; keys[i] != NULL; i++)
        value = json_object_get(value, keys[i]);
    value = json_object_get(value, "volumes");
    for (gsize i = 0; i < json_array_size(value); i++)
        if (g_strcmp0(json_string_value(json_object_get(json_array_get(value, i), "name")),
                      volume) == 0)
            return g_strdup_printf("%s.volumes[%zu].persistentVolumeClaim.claimName", spec, i);
    return g_strdup_printf("%s.volumes", spec);
}

static void
check_pod_volumes(Checker *self,
                  const ManifestInfo *info,
                  const PodVolumes *volumes,
                  const char *spec)
{
    const char *namespace = info->object->key->namespace;

    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++) {
        const PodVolume *volume = &volumes->items[i];
        if (volume->ephemeral || volume->claim_name == NULL ||
            object_exists(self, KIND_CLAIM, namespace, volume->claim_name, info))
            continue;
        g_autofree char *path = volume_path(info, spec, volume->name);
        g_autofree char *nearest = numbered_hint(self, KIND_CLAIM, namespace, volume->claim_name);
        fault_at(self, info, path, nearest,
                 "there is no PersistentVolumeClaim \"%s\" in namespace %s", volume->claim_name,
                 namespace);
    }
}

static void
check_stateful_set(Checker *self, const ManifestInfo *info)
{
    const StatefulSet *set = STATEFUL_SET(info->object);

    for (unsigned i = 0; set->claim_templates != NULL && i < set->claim_templates->n_items; i++) {
        g_autofree char *path =
            g_strdup_printf("spec.volumeClaimTemplates[%u].spec.storageClassName", i);
        check_class(self, info, set->claim_templates->items[i]->claim->class_name, path);
    }
    if (set->template != NULL && set->replicas > 0)
        check_pod_volumes(self, info, set->template->volumes, "spec.template.spec");
}

static void
check_template(Checker *self, const ManifestInfo *info)
{
    const PodTemplate *template = workload_template(info->object);

    if (template != NULL)
        check_pod_volumes(self, info, template->volumes, "spec.template.spec");
}

static void
check_claim(Checker *self, const ManifestInfo *info)
{
    const Claim *claim = CLAIM_CONST(info->object);
    const char *volume = claim_volume_name(claim);

    check_class(self, info, claim->class_name, "spec.storageClassName");
    if (*volume == '\0' || claim->phase == CLAIM_LOST ||
        known_object(self, KIND_VOLUME, NULL, volume) != NULL)
        return;
    g_autofree char *nearest = nearest_object(self, KIND_VOLUME, volume);
    fault_at(self, info, "spec.volumeName", nearest, "there is no PersistentVolume \"%s\"", volume);
}

static void
check_volume(Checker *self, const ManifestInfo *info)
{
    const Volume *volume = VOLUME_CONST(info->object);

    if (volume->source != NULL)
        check_driver(self, info, volume->source->driver, "spec.csi.driver");
}

static void
check_attachment(Checker *self, const ManifestInfo *info)
{
    const Attachment *attachment = ATTACHMENT(info->object);

    check_driver(self, info, attachment->attacher, "spec.attacher");
    check_node(self, info, attachment->node_name, "spec.nodeName");
    if (attachment->volume_name != NULL &&
        known_object(self, KIND_VOLUME, NULL, attachment->volume_name) == NULL)
        fault_at(self, info, "spec.source.persistentVolumeName", NULL,
                 "there is no PersistentVolume \"%s\"", attachment->volume_name);
}

static void
check_pod(Checker *self, const ManifestInfo *info)
{
    check_pod_volumes(self, info, POD_CONST(info->object)->volumes, "spec");
    check_node(self, info, POD_CONST(info->object)->node_name, "spec.nodeName");
}

static void
check_storage_class(Checker *self, const ManifestInfo *info)
{
    check_driver(self, info, STORAGE_CLASS(info->object)->provisioner, "provisioner");
}

static void
check_csi_node(Checker *self, const ManifestInfo *info)
{
    check_node(self, info, object_name(info->object), "metadata.name");
}

/* CSIDrivers may be of drivers that no scenario has: a real cluster has more than one looks at. */
static void (*const checks[N_KINDS])(Checker *self, const ManifestInfo *info) = {
    [KIND_POD] = check_pod,
    [KIND_CLAIM] = check_claim,
    [KIND_VOLUME] = check_volume,
    [KIND_STATEFUL_SET] = check_stateful_set,
    [KIND_ATTACHMENT] = check_attachment,
    [KIND_STORAGE_CLASS] = check_storage_class,
    [KIND_CSI_NODE] = check_csi_node,
    [KIND_DEPLOYMENT] = check_template,
    [KIND_REPLICA_SET] = check_template,
    [KIND_DAEMON_SET] = check_template,
    [KIND_JOB] = check_template,
};

static void
check_manifest(Checker *self, const ManifestInfo *info)
{
    /* What a cluster printed is a state, dangling names and all; what a user writes is meant. */
    if (!object_uid_is_set(info->object->uid) && checks[object_kind(info->object)] != NULL)
        checks[object_kind(info->object)](self, info);
}

/* ---- References in the scenario ---- */

static gboolean
is_pattern(const char *name)
{
    return strpbrk(name, "*?") != NULL;
}

static gboolean
pattern_finds(const Checker *self, const ScenarioAction *action)
{
    const GArray *manifests = self->loader->manifests;

    for (unsigned i = 0; i < manifests->len; i++) {
        const Object *object = g_array_index(manifests, ManifestInfo, i).object;
        if (object == NULL)
            continue;
        if (makes(object, action->kind))
            return TRUE; /* its pods and claims may match */
        if (object_kind(object) == action->kind &&
            (g_pattern_match_simple(action->name, object_name(object)) ||
             g_array_index(manifests, ManifestInfo, i).action >= 0)) /* numbered perhaps */
            return TRUE;
    }
    return FALSE;
}

/* Kinds whose objects controllers name: what a scenario says of them cannot be judged. */
static gboolean
is_named_by_controllers(ObjectKind kind)
{
    return kind == KIND_VOLUME || kind == KIND_ATTACHMENT || kind == KIND_STORAGE_CAPACITY ||
           kind == KIND_CONTROLLER_REVISION || kind == KIND_CSI_NODE ||
           kind == KIND_SNAPSHOT_CONTENT;
}

static const char *
action_member(ActionType type)
{
    return type == ACTION_DELETE ? "delete" : type == ACTION_PATCH ? "patch" : "scale";
}

static void
check_target(Checker *self, const ScenarioAction *action, const ActionFields *fields)
{
    Loader *loader = self->loader;
    gboolean is_glob =
        action->name != NULL && action->type == ACTION_DELETE && is_pattern(action->name);

    if (action->name == NULL || is_named_by_controllers(action->kind))
        return;
    if (is_glob ? pattern_finds(self, action)
                : object_exists(self, action->kind, action->namespace, action->name, NULL))
        return;

    const char *member = action_member(action->type);
    SchemaJump jump = schema_go(&loader->reader, &fields->place, fields->path);
    SchemaPlace place = schema_enter_member(&loader->reader, fields->source, member);
    g_autofree char *nearest = numbered_hint(self, action->kind, action->namespace, action->name);
    schema_fault_member(&loader->reader, json_object_get(fields->source, member), "name", nearest,
                        "there is no %s %s\"%s\"", kind_class(action->kind)->kind,
                        is_glob ? "like " : "", action->name);
    schema_leave(&loader->reader, place);
    schema_come_back(&loader->reader, jump);
}

/* ---- Patches ---- */

typedef struct {
    Checker *checker;
    const ActionFields *fields;
} PatchCheck;

/* Where the value stands in the patch; else the patch as a whole. */
static void
report_patch(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    const PatchCheck *check = parser->data;
    Loader *loader = check->checker->loader;
    YamlPosition at = check->fields->place;
    g_autofree char *path =
        g_strdup_printf("%s.patch.patch.%s", check->fields->path, parser->path->str);
    gsize prefix = parser->path->len > 0 ? parser->path->len + strlen(": ") : 0;

    yaml_positions_find(loader->positions,
                        json_object_get(json_object_get(check->fields->source, "patch"), "patch"),
                        &at);
    yaml_positions_find(loader->positions, where, &at);
    file_faults_add(loader->faults, &at, path, message + MIN(prefix, strlen(message)), hint);
}

static void
count_fault(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    (void)where, (void)message, (void)hint;
    ++*(unsigned *)parser->data;
}

static void
try_manifest(const json_t *manifest,
             void (*report)(ApiParser *, const json_t *, const char *, const char *),
             void *data)
{
    Objects *objects = objects_new(0); /* a name that is only tried is no name of an object */
    ApiParser parser = {
        .objects = objects, .report = report, .data = data, .path = g_string_new(NULL)};
    Object *object = api_parser_object(&parser, manifest);

    if (object != NULL)
        object_unref(object);
    g_string_free(parser.path, TRUE);
    objects_free(objects);
}

/* What it makes of a sound object of a manifest must be one. Of others the run tells. */
static void
check_patch(Checker *self, const ScenarioAction *action, const ActionFields *fields)
{
    const ManifestInfo *info =
        action->name == NULL ? NULL
                             : known_object(self, action->kind, action->namespace, action->name);

    unsigned n_faults = 0;

    if (info == NULL || info->object == NULL || action->patch == NULL)
        return;
    try_manifest(info->json, count_fault, &n_faults);
    if (n_faults > 0)
        return;
    PatchCheck check = {self, fields};
    json_t *merged = json_deep_copy(info->json);
    json_merge_patch(merged, action->patch);
    try_manifest(merged, report_patch, &check);
    json_decref(merged);
}

/* The reader stands at @where. */
static void
check_named_node(Checker *self, const json_t *where, const char *node)
{
    if (node != NULL && !object_exists(self, KIND_NODE, NULL, node, NULL))
        schema_fault_member(&self->loader->reader, where, "node", NULL, "there is no node \"%s\"",
                            node);
}

/* Whether a node is there from the start, or comes, that is in the zone. */
static void
check_named_zone(Checker *self, const json_t *where, const char *zone)
{
    const Scenario *scenario = &self->loader->scenario;
    const GArray *manifests = self->loader->manifests;
    gboolean found = zone == NULL;

    for (unsigned i = 0; !found && i < scenario->n_nodes; i++)
        found = scenario->nodes[i].zones != NULL &&
                g_strv_contains((const char *const *)scenario->nodes[i].zones, zone);
    for (unsigned i = 0; !found && i < manifests->len; i++) {
        const Object *object = g_array_index(manifests, ManifestInfo, i).object;
        found = object != NULL && object_kind(object) == KIND_NODE &&
                g_strcmp0(object_label(object, LABEL_ZONE), zone) == 0;
    }
    if (!found)
        schema_fault_member(&self->loader->reader, where, "zone", NULL, "no node is in zone \"%s\"",
                            zone);
}

static void
check_driver_errors(Checker *self, const DriverFields *fields)
{
    const CsiModelledError *errors = fields->errors.items;
    const json_t *list = json_object_get(fields->source, "errors");
    SchemaReader *reader = &self->loader->reader;
    SchemaJump jump = schema_go(reader, &fields->at, fields->path);
    SchemaPlace outer = schema_enter_member(reader, fields->source, "errors");

    for (unsigned i = 0; i < fields->errors.n && i < json_array_size(list); i++) {
        SchemaPlace inner = schema_enter_item(reader, list, i);
        check_named_node(self, json_array_get(list, i), errors[i].node);
        schema_leave(reader, inner);
    }
    schema_leave(reader, outer);
    schema_come_back(reader, jump);
}

static void
check_drivers(Checker *self)
{
    const SchemaList *list = &self->loader->fields.spec.drivers;
    const DriverFields *fields = list->items;

    for (unsigned i = 0; i < list->n; i++)
        if (fields[i].source != NULL)
            check_driver_errors(self, &fields[i]);
}

static void
check_expects(Checker *self)
{
    const SchemaList *list = &self->loader->fields.spec.expect;
    const ExpectFields *fields = list->items;
    SchemaReader *reader = &self->loader->reader;

    for (unsigned i = 0; i < list->n; i++) {
        if (fields[i].source == NULL)
            continue;
        SchemaJump jump = schema_go(reader, &fields[i].place, fields[i].path);
        SchemaPlace place = schema_enter_member(reader, fields[i].source, "pods");
        check_named_node(self, json_object_get(fields[i].source, "pods"), fields[i].pods.node);
        schema_leave(reader, place);
        schema_come_back(reader, jump);
    }
}

static void
check_drained(Checker *self, const ScenarioAction *action, const ActionFields *fields)
{
    SchemaReader *reader = &self->loader->reader;
    SchemaJump jump = schema_go(reader, &fields->place, fields->path);
    SchemaPlace place = schema_enter_member(reader, fields->source, "drain");

    check_named_node(self, json_object_get(fields->source, "drain"), action->name);
    schema_leave(reader, place);
    schema_come_back(reader, jump);
}

static gboolean
is_mark(ActionType type)
{
    return type == ACTION_TAINT || type == ACTION_CORDON || type == ACTION_UNCORDON;
}

/* A pattern may be of nodes that are made in numbers later. */
static gboolean
node_pattern_finds(const Checker *self, const ScenarioAction *action)
{
    g_autoptr(GPatternSpec) pattern = g_pattern_spec_new(action->name);

    for (unsigned i = 0; i < self->node_list->len; i++)
        if (g_pattern_spec_match_string(pattern, self->node_list->pdata[i]))
            return TRUE;
    return pattern_finds(self, action);
}

static void
check_marked(Checker *self, const ScenarioAction *action, const ActionFields *fields)
{
    static const char *const members[] = {
        [ACTION_TAINT] = "taint",
        [ACTION_CORDON] = "cordon",
        [ACTION_UNCORDON] = "uncordon",
    };
    SchemaReader *reader = &self->loader->reader;
    const json_t *where = json_object_get(fields->source, members[action->type]);
    SchemaJump jump = schema_go(reader, &fields->place, fields->path);
    SchemaPlace place = schema_enter_member(reader, fields->source, members[action->type]);

    if (action->name == NULL || !is_pattern(action->name))
        check_named_node(self, where, action->name);
    else if (!node_pattern_finds(self, action))
        schema_fault_member(reader, where, "node", NULL, "there is no node like \"%s\"",
                            action->name);
    schema_leave(reader, place);
    schema_come_back(reader, jump);
}

static void
check_action(Checker *self, const ScenarioAction *action, const ActionFields *fields)
{
    Loader *loader = self->loader;

    if (fields->source == NULL)
        return;
    if (action->type == ACTION_DELETE || action->type == ACTION_PATCH ||
        action->type == ACTION_SCALE)
        check_target(self, action, fields);
    if (action->type == ACTION_PATCH)
        check_patch(self, action, fields);
    if (action->type == ACTION_DRAIN)
        check_drained(self, action, fields);
    if (is_mark(action->type))
        check_marked(self, action, fields);
    SchemaJump jump = schema_go(&loader->reader, &fields->place, fields->path);
    check_named_node(self, fields->source, fields->node);
    check_named_zone(self, fields->source, fields->zone);
    schema_come_back(&loader->reader, jump);
}

static void
check_actions(Checker *self)
{
    const SpecFields *spec = &self->loader->fields.spec;
    const Scenario *scenario = &self->loader->scenario;

    for (unsigned i = 0; i < spec->workload.n; i++)
        check_action(self, &scenario->actions[i], (const ActionFields *)spec->workload.items + i);
    for (unsigned i = 0; i < spec->faults.n; i++)
        check_action(self, &scenario->actions[spec->workload.n + i],
                     (const ActionFields *)spec->faults.items + i);
}

static void
checker_init(Checker *self, Loader *loader)
{
    *self = (Checker){
        .loader = loader,
        .known = g_hash_table_new(NULL, NULL),
        .class_names = g_hash_table_new(g_str_hash, g_str_equal),
        .node_names = g_hash_table_new(g_str_hash, g_str_equal),
        .driver_names = g_hash_table_new(g_str_hash, g_str_equal),
        .node_list = g_ptr_array_new(),
    };
}

static void
checker_clear(Checker *self)
{
    g_hash_table_unref(self->known);
    g_hash_table_unref(self->class_names);
    g_hash_table_unref(self->node_names);
    g_hash_table_unref(self->driver_names);
    g_ptr_array_unref(self->node_list);
}

static void
gather_objects(Checker *self)
{
    const GArray *manifests = self->loader->manifests;

    for (unsigned i = 0; i < manifests->len; i++)
        if (g_array_index(manifests, ManifestInfo, i).object != NULL)
            gather_object(self, &g_array_index(manifests, ManifestInfo, i));
}

void
loader_check_duplicates(Loader *loader)
{
    Checker self;

    checker_init(&self, loader);
    gather_objects(&self);
    checker_clear(&self);
}

void
loader_check_references(Loader *loader)
{
    Checker self;

    checker_init(&self, loader);
    gather_nodes(&self);
    check_node_groups(&self);
    for (unsigned i = 0; i < loader->scenario.n_drivers; i++)
        if (loader->scenario.drivers[i].name != NULL)
            g_hash_table_add(self.driver_names, loader->scenario.drivers[i].name);
    gather_objects(&self);
    for (unsigned i = 0; i < loader->manifests->len; i++)
        if (g_array_index(loader->manifests, ManifestInfo, i).object != NULL)
            check_manifest(&self, &g_array_index(loader->manifests, ManifestInfo, i));
    check_drivers(&self);
    check_actions(&self);
    check_expects(&self);
    checker_clear(&self);
}
