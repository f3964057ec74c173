/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Manifests: their files, the kinds that are ignored, and the actions that use them. Objects are
 * collected first, of the start and of each action, then changed by --set, then parsed once: for
 * their faults and for the checks of names. A run parses them again into its own objects, so only
 * JSON is kept. Kinds without a model go to the API server as they are. Actions are built in order
 * of time, as each setDriver builds on the one before. */
#include <string.h>

#include "models/api/checks/checks.h"
#include "models/api/fields.h"
#include "models/api/local/volume-filling.h"
#include "models/api/schema/resources.h"
#include "models/api/snapshot.h"
#include "models/api/workload.h"
#include "scenario-private.h"
#include "sim/order.h"
#include "sim/random.h"

#define GENERATED_LETTERS 5 /* API-60 */

/* ---- Kinds that no model knows ---- */

/* Whether the group belongs to others: "monitoring.coreos.com/v1". */
static gboolean
is_custom(const char *api_version)
{
    const char *slash = strchr(api_version, '/');
    const char *dot = strchr(api_version, '.');
    g_autofree char *group =
        slash != NULL ? g_strndup(api_version, (gsize)(slash - api_version)) : NULL;

    return group != NULL && dot != NULL && dot < slash && !g_str_has_suffix(group, ".k8s.io");
}

/* Kinds that no model reads but that are no typing errors; and lists of kinds. */
static gboolean
objects_is_left_out(const char *kind, const char *version)
{
    return loader_knows_kind_effect(kind) || is_custom(version) || g_str_has_suffix(kind, "List");
}

/* ---- Collecting ---- */

/* "StatefulSet/web". Returns: (owned) */
static char *
manifest_path(const json_t *manifest)
{
    const char *kind = json_path_string(manifest, "kind");
    const char *name = json_path_string(manifest, "metadata.name");

    return g_strconcat(kind != NULL ? kind : "?", "/", name != NULL ? name : "?", NULL);
}

static void
report_manifest(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    Loader *self = parser->data;
    const ManifestInfo *info = self->parsing;
    YamlPosition at = info->at;
    g_autofree char *path =
        g_strdup_printf("%s%s%s", info->path, parser->path->len > 0 ? "." : "", parser->path->str);
    gsize prefix = parser->path->len > 0 ? parser->path->len + strlen(": ") : 0;

    if (!yaml_positions_find(self->positions, where, &at))
        yaml_positions_path(self->positions, info->json, parser->path->str, &at);
    file_faults_add(self->faults, &at, path, message + MIN(prefix, strlen(message)), hint);
}

void
loader_check_manifest(ApiParser *parser, const json_t *manifest, const json_t *old)
{
    const ApiCheckOptions options = {.old = old};

    g_clear_pointer(&parser->told, g_hash_table_unref);
    if (json_path_get(manifest, "metadata.uid") == NULL)
        api_check_object(parser, manifest, &options);
}

/* A kind that no model reads: nothing parses it. */
static void
check_ignored(Loader *self, const json_t *manifest, const char *path)
{
    const ManifestInfo info = {.json = manifest, .at = self->reader.at, .path = path};
    ApiParser parser = {.report = report_manifest,
                        .data = self,
                        .path = g_string_new(NULL),
                        .minor = self->scenario.minor_version};

    self->parsing = &info;
    if (api_check_types(&parser, manifest))
        loader_check_manifest(&parser, manifest, NULL);
    self->parsing = NULL;
    g_clear_pointer(&parser.told, g_hash_table_unref);
    g_string_free(parser.path, TRUE);
}

static void
add_manifest(Loader *self, const json_t *manifest, int action)
{
    g_autofree char *path = manifest_path(manifest);
    ManifestInfo info = {
        .json = manifest,
        .action = action,
        .at = self->reader.at,
        .path = schema_intern(&self->reader, path),
    };

    g_array_append_val(self->manifests, info);
}

/* No model reads it: the API server keeps it. */
static void
add_other(Loader *self, const json_t *manifest, const char *kind, int action)
{
    const YamlPosition *at = &self->reader.at;
    g_autofree char *path = manifest_path(manifest);

    if (action < 0) {
        json_array_append(self->scenario.others, (json_t *)manifest);
        check_ignored(self, manifest, path);
    } else {
        add_manifest(self, manifest, action);
        g_array_index(self->manifests, ManifestInfo, self->manifests->len - 1).is_other = TRUE;
    }
    loader_tell_kind_effect(self, kind, path);
    g_ptr_array_add(self->scenario.ignored,
                    g_strdup_printf("%s (%s:%u)", path, at->file, at->line));
}

/* Doubles tell whole numbers below it apart. */
#define WHOLE_MAX 9007199254740992.0

static gboolean
is_whole(const json_t *value)
{
    double number = json_real_value(value);

    return json_is_real(value) && number < WHOLE_MAX && number > -WHOLE_MAX &&
           (double)(json_int_t)number == number;
}

/* Helm prints whole numbers from a million on as floats, 1.00065e+09, which kubectl sends as they
 * are meant. The manifest is the loader's own. */
static void
make_numbers_whole(json_t *value)
{
    const char *key;
    json_t *member;
    gsize i;

    json_object_foreach(value, key, member) {
        if (is_whole(member))
            json_object_set_new(value, key, json_integer((json_int_t)json_real_value(member)));
        else
            make_numbers_whole(member);
    }
    json_array_foreach(value, i, member) {
        if (is_whole(member))
            json_array_set_new(value, i, json_integer((json_int_t)json_real_value(member)));
        else
            make_numbers_whole(member);
    }
}

/* What the API server makes of metadata.generateName: letters behind it, here by the number of
 * names made before. Returns: (borrowed): @manifest, or a copy with its name: a file may be read
 * for several actions */
static const json_t *
with_name(Loader *self, const json_t *manifest)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *prefix = json_path_string(manifest, "metadata.generateName");
    const char *given = json_path_string(manifest, "metadata.name");

    if (prefix == NULL || *prefix == '\0' || (given != NULL && *given != '\0'))
        return manifest;
    g_autoptr(GString) name = g_string_new(prefix);
    uint64_t bits = sim_hash_combine(sim_hash_string(prefix), ++self->n_names);
    for (unsigned i = 0; i < GENERATED_LETTERS; i++, bits /= strlen(letters))
        g_string_append_c(name, letters[bits % strlen(letters)]);
    json_t *copy = json_copy((json_t *)manifest); /* only read; the values keep their places */
    json_t *metadata = json_copy(json_object_get(manifest, "metadata"));
    json_object_set_new(metadata, "name", json_string(name->str));
    json_object_set_new(copy, "metadata", metadata);
    g_ptr_array_add(self->made, copy);
    return copy;
}

static void objects_collect(Loader *self, const json_t *manifest, int action);

/* The scenario itself is one of the documents; scenario.c reads it. */
static void
collect_own_kind(Loader *self, const json_t *manifest, const char *kind, int action)
{
    if (g_str_equal(kind, "Lesson") ||
        g_str_equal(kind, "Solution")) /* kinds of teach, see lesson.h */
        return;
    if (!g_str_equal(kind, "Scenario"))
        schema_fault_member(&self->reader, manifest, "kind", "did you mean \"Scenario\"?",
                            "\"%s\" is not known", kind);
    else if (action >= 0)
        schema_fault(&self->reader, NULL, "a Scenario is no Kubernetes object");
}

static void
collect_items(Loader *self, const json_t *list, int action)
{
    const json_t *items = json_object_get(list, "items");

    for (gsize i = 0; i < json_array_size(items); i++) {
        YamlPosition at = self->reader.at;
        yaml_positions_item(self->positions, items, i, &self->reader.at);
        objects_collect(self, json_array_get(items, i), action);
        self->reader.at = at;
    }
}

/* The reader's place is the manifest. */
static void
objects_collect(Loader *self, const json_t *manifest, int action)
{
    const char *kind = json_path_string(manifest, "kind");
    const char *version = json_path_string(manifest, "apiVersion");
    ObjectKind known;

    if (!json_is_object(manifest)) {
        schema_fault(&self->reader, NULL, "must be a Kubernetes object, not %s",
                     schema_value_words(manifest));
        return;
    }
    if (action < 0 && kind != NULL && !g_str_has_suffix(kind, "List"))
        loader_see_times(self, manifest);
    if (json_path_string(manifest, "metadata.uid") == NULL) /* else a server wrote it */
        make_numbers_whole((json_t *)manifest);
    manifest = with_name(self, manifest);
    gboolean is_readable = kind != NULL && version != NULL;
    if (!is_readable || kind_find(version, kind, &known) || !objects_is_left_out(kind, version)) {
        add_manifest(self, manifest, action); /* the parser reports a missing kind */
    } else if (g_str_has_prefix(version, "kvolsim.io/")) {
        collect_own_kind(self, manifest, kind, action);
    } else if (g_str_has_suffix(kind, "List") &&
               json_is_array(json_object_get(manifest, "items"))) {
        collect_items(self, manifest, action);
    } else {
        add_other(self, manifest, kind, action);
    }
}

static void
collect_documents(Loader *self, const GPtrArray *documents, int action)
{
    for (unsigned i = 0; documents != NULL && i < documents->len; i++) {
        SchemaJump jump = schema_go_file(&self->reader, documents->pdata[i]);
        objects_collect(self, documents->pdata[i], action);
        schema_come_back(&self->reader, jump);
    }
}

/* A file name, an object, or a list of these, at the reader's place. */
static void
collect_value(Loader *self, const json_t *value, int action, gboolean files_only)
{
    if (json_is_array(value)) {
        for (gsize i = 0; i < json_array_size(value); i++) {
            SchemaPlace place = schema_enter_item(&self->reader, value, i);
            const json_t *item = json_array_get(value, i);
            if (json_is_array(item))
                schema_fault(&self->reader, NULL, "must be a file name or an object, not a list");
            else
                collect_value(self, item, action, files_only);
            schema_leave(&self->reader, place);
        }
    } else if (json_is_string(value) && *json_string_value(value) != '\0') {
        collect_documents(self, loader_read_file(self, json_string_value(value)), action);
    } else if (json_is_object(value) && !files_only) {
        SchemaJump jump = schema_go(&self->reader, &self->reader.at, "");
        objects_collect(self, value, action);
        schema_come_back(&self->reader, jump);
    } else {
        schema_fault(&self->reader, NULL, "must be the name of a file%s, not %s",
                     files_only ? "" : " or an object",
                     json_is_string(value) ? "nothing" : schema_value_words(value));
    }
}

static void
collect_created(Loader *self, const json_t *value, int action)
{
    unsigned n = self->manifests->len, n_faults = self->faults->len;

    collect_value(self, value, action, FALSE);
    if (self->manifests->len == n && self->faults->len == n_faults)
        schema_fault(&self->reader, NULL, "there is no object to create");
}

/* ---- Nodes of spec.nodes ---- */

const char *const scenario_kubelet_labels[] = {
    LABEL_OS,           "linux", LABEL_ARCH, "amd64", "beta." LABEL_OS, "linux",
    "beta." LABEL_ARCH, "amd64", NULL,
};

json_t *
scenario_node_manifest(const ScenarioNodes *group, const char *name, const char *zone)
{
    json_t *labels = group->labels == NULL ? json_object() : json_deep_copy(group->labels);
    json_t *annotations =
        group->annotations == NULL ? json_object() : json_deep_copy(group->annotations);

    for (const char *const *label = scenario_kubelet_labels; *label != NULL; label += 2)
        if (json_object_get(labels, label[0]) == NULL)
            json_object_set_new(labels, label[0], json_string(label[1]));
    json_object_set_new(labels, LABEL_HOSTNAME, json_string(name));
    if (zone != NULL && json_object_get(labels, LABEL_ZONE) == NULL)
        json_object_set_new(labels, LABEL_ZONE, json_string(zone));
    json_t *metadata =
        json_pack("{s:s, s:o, s:o}", "name", name, "labels", labels, "annotations", annotations);
    json_t *allocatable = group->allocatable != NULL ? json_incref(group->allocatable)
                                                     : json_pack("{s:s, s:s, s:s}", "cpu", "8",
                                                                 "memory", "32Gi", "pods", "110");
    json_t *status =
        json_pack("{s:O, s:o, s:[{s:s, s:s, s:s, s:s}]}", "capacity", allocatable, "allocatable",
                  allocatable, "conditions", "type", "Ready", "status", "True", "reason",
                  "KubeletReady", "message", "kubelet is posting ready status");
    if (group->kubelet_minor > 0) {
        g_autofree char *version = g_strdup_printf("v1.%d.0", group->kubelet_minor);
        json_object_set_new(status, "nodeInfo", json_pack("{s:s}", "kubeletVersion", version));
    }
    json_t *spec = json_object();
    if (group->taints != NULL)
        json_object_set(spec, "taints", group->taints);
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "apiVersion", "v1", "kind", "Node", "metadata",
                     metadata, "spec", spec, "status", status);
}

/* ---- Parsing, for the checks ---- */

static gboolean
is_of_snapshots(const Object *object)
{
    return strstr(kind_class(object_kind(object))->api_version, SNAPSHOT_API_GROUP "/") != NULL;
}

/* An annotation may be anywhere: in templates of pods and of claims. */
static gboolean
tells_usage(const json_t *value)
{
    gboolean found = json_object_get(value, ANNOTATION_USAGE) != NULL;
    const char *name;
    json_t *member;
    gsize i;

    json_object_foreach((json_t *)value, name, member)
        found = found || tells_usage(member);
    json_array_foreach((json_t *)value, i, member)
        found = found || tells_usage(member);
    return found;
}

static void
parse_manifests(Loader *self)
{
    ApiParser parser = {
        .objects = self->objects,
        .report = report_manifest,
        .data = self,
        .path = g_string_new(NULL),
        .minor = self->scenario.minor_version,
    };

    for (unsigned i = 0; i < self->manifests->len; i++) {
        ManifestInfo *info = &g_array_index(self->manifests, ManifestInfo, i);
        self->parsing = info;
        g_string_truncate(parser.path, 0);
        loader_check_manifest(&parser, info->json, NULL);
        parser.takes_others = info->is_other;
        info->object = api_parser_object(&parser, info->json);
        if (info->is_other) /* nothing else is checked */
            g_clear_pointer(&info->object, object_unref);
        if (info->object != NULL)
            loader_tell_effects(self, info);
        self->scenario.has_snapshots |= info->object != NULL && is_of_snapshots(info->object);
        self->scenario.has_usage = self->scenario.has_usage || tells_usage(info->json);
    }
    g_string_free(parser.path, TRUE);
    g_clear_pointer(&parser.told, g_hash_table_unref);
}

void
loader_collect_file(Loader *self, const GPtrArray *documents)
{
    collect_documents(self, documents, -1);
    loader_apply_object_sets(self);
    parse_manifests(self);
}

void
loader_collect_manifests(Loader *self)
{
    const ActionFields *actions = self->fields.spec.workload.items;
    SchemaJump jump;

    collect_documents(self, self->documents, -1);
    if (self->fields.spec.manifests != NULL) {
        yaml_positions_find(self->positions, self->fields.spec.manifests, &self->reader.at);
        jump = schema_go(&self->reader, &self->reader.at, "spec.manifests");
        collect_value(self, self->fields.spec.manifests, -1, TRUE);
        schema_come_back(&self->reader, jump);
    }
    for (unsigned i = 0; i < self->fields.spec.workload.n; i++) {
        const json_t *create = json_object_get(actions[i].source, "create");
        if (actions[i].create.manifest == NULL)
            continue;
        jump = schema_go(&self->reader, &actions[i].place, actions[i].path);
        SchemaPlace outer = schema_enter_member(&self->reader, actions[i].source, "create");
        SchemaPlace inner = schema_enter_member(&self->reader, create, "manifest");
        collect_created(self, actions[i].create.manifest, (int)i);
        schema_leave(&self->reader, inner);
        schema_leave(&self->reader, outer);
        schema_come_back(&self->reader, jump);
    }
    loader_apply_object_sets(self);
    parse_manifests(self);
}

/* ---- Actions ---- */

/* The manifests of one action, or of the start; they stand together. */
static const json_t *const *
manifests_of(Loader *self, int action, unsigned *n)
{
    unsigned n_all = 0;

    for (unsigned i = 0; i < self->manifests->len; i++)
        n_all += g_array_index(self->manifests, ManifestInfo, i).action == action;
    const json_t **manifests = schema_alloc(&self->reader, n_all * sizeof *manifests);
    *n = 0;
    for (unsigned i = 0; i < self->manifests->len; i++) {
        const ManifestInfo *info = &g_array_index(self->manifests, ManifestInfo, i);
        if (info->action == action)
            manifests[(*n)++] = info->json;
    }
    return manifests;
}

/* A kind without a model. Returns: FALSE: Kubernetes has no kind of that name, and apiVersion names
 * no other group */
static gboolean
find_other(Loader *self, const TargetFields *target, ScenarioAction *action)
{
    const ApiResource *row = NULL, *other;
    const char *slash = target->api_version == NULL ? NULL : strchr(target->api_version, '/');
    g_autofree char *group =
        slash == NULL ? NULL : g_strndup(target->api_version, (gsize)(slash - target->api_version));

    for (unsigned i = 0; target->api_version == NULL && (other = api_resource(i)) != NULL; i++)
        if (row == NULL && strcmp(other->kind, target->kind) == 0)
            row = other;
    if (row == NULL && target->api_version == NULL)
        return FALSE;
    action->kind = KIND_OTHER;
    action->other_kind = (char *)target->kind;
    action->other_group = (char *)(row != NULL     ? row->group
                                   : group != NULL ? schema_intern(&self->reader, group)
                                                   : "");
    return TRUE;
}

static gboolean
find_kind(Loader *self, const TargetFields *target, const json_t *where, ScenarioAction *action)
{
    const char *names[KIND_OTHER];

    if (target->kind == NULL || kind_find(target->api_version, target->kind, &action->kind) ||
        find_other(self, target, action))
        return target->kind != NULL;
    for (unsigned i = 0; i < KIND_OTHER; i++)
        names[i] = kind_class((ObjectKind)i)->kind;
    g_autofree char *nearest = name_hint(target->kind, names, KIND_OTHER);
    schema_fault_member(&self->reader, where, "kind", nearest, "no model knows the kind \"%s\"",
                        target->kind);
    return FALSE;
}

/* A custom resource is in a namespace if it is told which. */
static gboolean
is_namespaced(const TargetFields *target, const ScenarioAction *action)
{
    const ApiResource *row = action->kind == KIND_OTHER
                                 ? api_resource_of_kind(action->other_group, action->other_kind)
                                 : NULL;

    if (action->kind != KIND_OTHER)
        return kind_class(action->kind)->namespaced;
    return row != NULL ? row->namespaced : target->namespace != NULL;
}

static gboolean
build_target(Loader *self, const TargetFields *target, const char *member, ScenarioAction *action)
{
    const ActionFields *fields = self->acting;
    SchemaPlace place = schema_enter_member(&self->reader, fields->source, member);
    const json_t *where = json_object_get(fields->source, member);
    gboolean ok = find_kind(self, target, where, action);
    gboolean namespaced = ok && is_namespaced(target, action);

    if (ok && target->namespace != NULL && !namespaced && target->volume_of_claim == NULL)
        schema_fault_member(&self->reader, where, "namespace", NULL, "a %s belongs to no namespace",
                            target->kind);
    action->namespace = (char *)(!namespaced                 ? NULL
                                 : target->namespace != NULL ? target->namespace
                                                             : "default");
    action->name = (char *)(ok ? target->name : NULL);
    action->grace_s = (int32_t)target->grace_s;
    action->propagation = (ApiPropagation)target->propagation;
    action->patch = (json_t *)target->patch;
    action->subresource = (ScenarioSubresource)target->subresource;
    self->scenario.has_usage = self->scenario.has_usage || tells_usage(target->patch);
    action->replicas = (int32_t)target->replicas;
    action->on_node = (char *)target->node;
    action->one = target->one;
    schema_leave(&self->reader, place);
    return ok;
}

static void
set_volume_of_claim(const TargetFields *target, ScenarioAction *action)
{
    action->volume_of_claim = (char *)target->volume_of_claim;
    if (target->volume_of_claim != NULL)
        action->namespace = (char *)(target->namespace != NULL ? target->namespace : "default");
}

static void
build_delete(Loader *self, ScenarioAction *action)
{
    const TargetFields *target = &self->acting->delete;

    action->type = ACTION_DELETE;
    if (!build_target(self, target, "delete", action))
        return;
    SchemaPlace place = schema_enter_member(&self->reader, self->acting->source, "delete");
    if (target->volume_of_claim != NULL && action->kind != KIND_VOLUME)
        schema_fault(&self->reader, "kind: PersistentVolume",
                     "volumeOfClaim is of PersistentVolumes only");
    else if ((target->name == NULL) == (target->volume_of_claim == NULL))
        schema_fault(&self->reader, "name: of the object",
                     "say by name, or of a PersistentVolume by volumeOfClaim, what is deleted");
    schema_leave(&self->reader, place);
    set_volume_of_claim(target, action);
}

static void
build_patch(Loader *self, ScenarioAction *action)
{
    const TargetFields *target = &self->acting->patch;

    action->type = ACTION_PATCH;
    if (!build_target(self, target, "patch", action))
        return;
    SchemaPlace place = schema_enter_member(&self->reader, self->acting->source, "patch");
    if (target->node_of_pod != NULL && action->kind != KIND_NODE)
        schema_fault(&self->reader, "kind: Node", "nodeOfPod is of Nodes only");
    if (target->volume_of_claim != NULL && action->kind != KIND_VOLUME)
        schema_fault(&self->reader, "kind: PersistentVolume",
                     "volumeOfClaim is of PersistentVolumes only");
    else if ((target->name == NULL) ==
             (target->node_of_pod == NULL && target->volume_of_claim == NULL))
        schema_fault(&self->reader, "name: of the object",
                     "say by name, or of a Node by nodeOfPod, what is patched");
    if (target->subresource == SUBRESOURCE_BINDING &&
        (action->kind != KIND_POD || json_path_string(target->patch, "spec.nodeName") == NULL))
        schema_fault(&self->reader, "patch: {spec: {nodeName: node-0}}",
                     "a binding is of a Pod, and its patch names the node");
    schema_leave(&self->reader, place);
    action->node_of_pod = (char *)target->node_of_pod;
    set_volume_of_claim(target, action);
}

static void
build_evict(Loader *self, ScenarioAction *action)
{
    TargetFields target = self->acting->evict;

    target.kind = "Pod";
    target.one = TRUE;
    action->type = ACTION_EVICT;
    build_target(self, &target, "evict", action);
}

static void
build_scale(Loader *self, ScenarioAction *action)
{
    TargetFields target = self->acting->scale;

    if (target.kind == NULL)
        target.kind = "StatefulSet";
    action->type = ACTION_SCALE;
    if (build_target(self, &target, "scale", action) && !kind_scales(action->kind))
        schema_fault(&self->reader, "a kind with spec.replicas can, such as a StatefulSet",
                     "a %s cannot be scaled", target.kind);
}

static void
build_create(Loader *self, int number, ScenarioAction *action)
{
    const CreateFields *create = &self->acting->create;

    action->type = ACTION_CREATE;
    action->manifests = manifests_of(self, number, &action->n_manifests);
    action->count = MAX(create->count, 1);
    action->numbered = create->count > 0;
    action->interarrival = create->interarrival;
    action->lifetime = create->lifetime;
    action->lasts_arriving = create->lasts;
    action->keep = create->keep;
    if (create->daily != NULL) {
        action->daily = schema_alloc(&self->reader, 24 * sizeof(double));
        for (size_t i = 0; i < 24; i++)
            action->daily[i] = json_number_value(json_array_get(create->daily, i));
    }
}

static void
build_drain(Loader *self, ScenarioAction *action)
{
    const DrainFields *drain = &self->acting->drain;

    action->type = ACTION_DRAIN;
    action->kind = KIND_NODE;
    action->name = (char *)drain->node;
    action->node_of_pod = (char *)drain->node_of_pod;
    action->grace_s = (int32_t)drain->grace_s;
    action->drain.ignore_daemon_sets = drain->ignore_daemon_sets;
    action->drain.delete_empty_dir = drain->delete_empty_dir;
    action->drain.force = drain->force;
    action->drain.timeout = drain->timeout;
}

static void
build_workload_action(Loader *self, int number, ScenarioAction *action)
{
    const ActionFields *fields = self->acting;
    const char *driver = NULL;

    if (json_object_get(fields->source, "create") != NULL) {
        build_create(self, number, action);
    } else if (json_object_get(fields->source, "delete") != NULL) {
        build_delete(self, action);
    } else if (json_object_get(fields->source, "patch") != NULL) {
        build_patch(self, action);
    } else if (json_object_get(fields->source, "scale") != NULL) {
        build_scale(self, action);
    } else if (json_object_get(fields->source, "evict") != NULL) {
        build_evict(self, action);
    } else if (json_object_get(fields->source, "drain") != NULL) {
        build_drain(self, action);
    } else if (json_object_get(fields->source, "expand") != NULL) {
        loader_build_expand(&fields->expand, action);
    } else if (json_object_get(fields->source, "taint") != NULL) {
        loader_build_mark(ACTION_TAINT, &fields->taint, action);
    } else if (json_object_get(fields->source, "cordon") != NULL) {
        loader_build_mark(ACTION_CORDON, &fields->cordon, action);
    } else if (json_object_get(fields->source, "uncordon") != NULL) {
        loader_build_mark(ACTION_UNCORDON, &fields->uncordon, action);
    } else if (fields->set_driver != NULL) {
        action->type = ACTION_SET_DRIVER;
        action->driver_options = loader_change_driver(self, fields, &driver);
        action->driver = (char *)driver;
    }
}

static void
build_action(Loader *self, const ActionFields *fields, int number, ScenarioAction *action)
{
    SchemaJump jump = schema_go(&self->reader, &fields->place, fields->path);

    self->acting = fields;
    action->at = fields->at;
    action->file = schema_intern(&self->reader, fields->place.file);
    action->line = fields->place.line;
    action->lasts = -1;
    action->grace_s = -1;
    action->code = fields->code;
    if (number >= 0)
        build_workload_action(self, number, action);
    else
        loader_build_fault(self, action);
    if (fields->at > self->scenario.until && self->fields.spec.recorded_from == UINT_MAX)
        schema_fault_member(&self->reader, fields->source, "at", NULL,
                            "is after the end of the run");
    schema_come_back(&self->reader, jump);
}

static int
objects_compare_times(const void *a, const void *b, void *data)
{
    const ActionFields *first = *(const ActionFields *const *)a;
    const ActionFields *second = *(const ActionFields *const *)b;

    (void)data;
    return ORDER(first->at, second->at);
}

/* In order of time, because a later setDriver builds on an earlier one. */
static void
build_workload(Loader *self)
{
    const SchemaList *list = &self->fields.spec.workload;
    const ActionFields *fields = list->items;
    g_autofree const ActionFields **order = g_new(const ActionFields *, list->n + 1);

    for (unsigned i = 0; i < list->n; i++)
        order[i] = &fields[i];
    g_qsort_with_data(order, (int)list->n, sizeof *order, objects_compare_times, NULL); /* stable */
    for (unsigned i = 0; i < list->n; i++) {
        int number = (int)(order[i] - fields);
        if (order[i]->source != NULL)
            build_action(self, order[i], number, &self->scenario.actions[number]);
    }
}

void
loader_build_actions(Loader *self)
{
    const SpecFields *spec = &self->fields.spec;
    const ActionFields *faults = spec->faults.items;
    Scenario *scenario = &self->scenario;

    scenario->manifests = manifests_of(self, -1, &scenario->n_manifests);
    scenario->n_actions = spec->workload.n + spec->faults.n;
    scenario->actions = schema_alloc(&self->reader, scenario->n_actions * sizeof(ScenarioAction));
    build_workload(self);
    for (unsigned i = 0; i < spec->faults.n; i++)
        if (faults[i].source != NULL)
            build_action(self, &faults[i], -1, &scenario->actions[spec->workload.n + i]);
}
