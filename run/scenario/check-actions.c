/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that actions, expectations and errors of drivers name objects that exist. A name counts as
 * existing if a manifest has it, if spec.nodes makes it, or if a controller may make it: names that
 * a controller chooses are never refused, since a run alone knows them. Patterns must match one
 * known name. A check runs after all actions are built and changes nothing. */
#include <string.h>

#include "check-private.h"

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
        if (object_makes(object, action->kind))
            return TRUE; /* its pods and claims may match */
        if (object_kind(object) == action->kind &&
            (g_pattern_match_simple(action->name, object_name(object)) ||
             g_array_index(manifests, ManifestInfo, i).action >= 0)) /* the copies may match */
            return TRUE;
    }
    return FALSE;
}

/* Controllers choose the names of these objects, so a name in a scenario cannot be checked. */
static gboolean
is_named_by_controllers(ObjectKind kind)
{
    return kind == KIND_VOLUME || kind == KIND_ATTACHMENT || kind == KIND_STORAGE_CAPACITY ||
           kind == KIND_CONTROLLER_REVISION || kind == KIND_CSI_NODE ||
           kind == KIND_SNAPSHOT_CONTENT || kind == KIND_GROUP_CONTENT;
}

static const char *
action_member(ActionType type)
{
    return type == ACTION_DELETE  ? "delete"
           : type == ACTION_PATCH ? "patch"
           : type == ACTION_EVICT ? "evict"
                                  : "scale";
}

static void
check_target(Checker *self, const ScenarioAction *action, const ActionFields *fields)
{
    Loader *loader = self->loader;
    gboolean is_glob = action->name != NULL &&
                       (action->type == ACTION_DELETE || action->type == ACTION_EVICT) &&
                       is_pattern(action->name);

    if (action->name == NULL || is_named_by_controllers(action->kind) || action->code != 0)
        return;
    if (is_glob ? pattern_finds(self, action)
                : checker_has(self, action->kind, action->namespace, action->name, NULL))
        return;

    const char *member = action_member(action->type);
    SchemaJump jump = schema_go(&loader->reader, &fields->place, fields->path);
    SchemaPlace place = schema_enter_member(&loader->reader, fields->source, member);
    g_autofree char *nearest = checker_hint(self, action->kind, action->namespace, action->name);
    schema_fault_member(&loader->reader, json_object_get(fields->source, member), "name", nearest,
                        "there is no %s %s\"%s\"", kind_class(action->kind)->kind,
                        is_glob ? "like " : "", action->name);
    schema_leave(&loader->reader, place);
    schema_come_back(&loader->reader, jump);
}

/* The reader stands at @where. */
static void
check_named_node(Checker *self, const json_t *where, const char *node)
{
    if (node != NULL && !checker_has(self, KIND_NODE, NULL, node, NULL))
        schema_fault_member(&self->loader->reader, where, "node", NULL, "there is no node \"%s\"",
                            node);
}

/* Checks that the zone has a node, at the start or later. */
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

void
checker_check_drivers(Checker *self)
{
    const SchemaList *list = &self->loader->fields.spec.drivers;
    const DriverFields *fields = list->items;

    for (unsigned i = 0; i < list->n; i++)
        if (fields[i].source != NULL)
            check_driver_errors(self, &fields[i]);
}

void
checker_check_expects(Checker *self)
{
    const SchemaList *list = &self->loader->fields.spec.expect;
    const ExpectFields *fields = list->items;
    SchemaReader *reader = &self->loader->reader;

    for (unsigned i = 0; i < list->n; i++) {
        if (fields[i].source == NULL)
            continue;
        SchemaJump jump = schema_go(reader, &fields[i].place, fields[i].path);
        SchemaPlace place = schema_enter_member(reader, fields[i].source, "pods");
        check_named_node(self, json_object_get(fields[i].source, "pods"), fields[i].pods.on_node);
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

/* A pattern may match nodes that are created later in numbered copies. */
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
        action->type == ACTION_SCALE || action->type == ACTION_EVICT)
        check_target(self, action, fields);
    if (action->type == ACTION_PATCH)
        checker_check_patch(self, action, fields);
    if (action->type == ACTION_DRAIN)
        check_drained(self, action, fields);
    if (is_mark(action->type))
        check_marked(self, action, fields);
    SchemaJump jump = schema_go(&loader->reader, &fields->place, fields->path);
    check_named_node(self, fields->source, fields->node);
    check_named_zone(self, fields->source, fields->zone);
    schema_come_back(&loader->reader, jump);
}

void
checker_check_actions(Checker *self)
{
    const SpecFields *spec = &self->loader->fields.spec;
    const Scenario *scenario = &self->loader->scenario;

    for (unsigned i = 0; i < spec->workload.n; i++)
        check_action(self, &scenario->actions[i], (const ActionFields *)spec->workload.items + i);
    for (unsigned i = 0; i < spec->faults.n; i++)
        check_action(self, &scenario->actions[spec->workload.n + i],
                     (const ActionFields *)spec->faults.items + i);
}
