/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that parse a manifest as the API server would, only to find its faults: Nodes of
 * spec.nodes, and objects after a patch of the workload. The objects that the parser makes are
 * thrown away; the faults are moved to the field of the scenario that caused them. A patch is
 * checked only on an object that is sound without it: else its faults would be told twice. */
#include <string.h>

#include "check-private.h"
#include "models/api/fields.h"

/* @old: (nullable): what the manifest replaces */
static void
try_manifest(const json_t *manifest,
             const json_t *old,
             void (*report)(ApiParser *, const json_t *, const char *, const char *),
             void *data)
{
    Objects *objects = objects_new(0); /* the names are only tried, not used */
    ApiParser parser = {
        .objects = objects, .report = report, .data = data, .path = g_string_new(NULL)};

    loader_check_manifest(&parser, manifest, old);
    object_unref(api_parser_object(&parser, manifest));
    g_clear_pointer(&parser.told, g_hash_table_unref);
    g_string_free(parser.path, TRUE);
    objects_free(objects);
}

/* ---- Nodes as the API server would judge them ---- */

typedef struct {
    Loader *loader;
    const NodeFields *group;
    const char *member; /* the member at fault; NULL: found by the path in the Node */
    unsigned n_known;   /* number of earlier faults */
} NodeCheck;

/* The member of a group that a field of its Nodes comes from. */
static const char *
member_of_group(const char *path)
{
    static const struct {
        const char *prefix, *member;
    } members[] = {
        {"metadata.labels",      "labels"     },
        {"metadata.annotations", "annotations"},
        {"spec.taints",          "taints"     },
        {"metadata.taints",      "taints"     },
        {"status.",              "allocatable"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++)
        if (g_str_has_prefix(path, members[i].prefix))
            return members[i].member;
    return "name";
}

/* Whether the member has an earlier fault, by its type. */
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
    try_manifest(manifest, NULL, report_node, check);
    json_decref(manifest);
}

/* Kubernetes' version skew policy: kubelets may be older than the API server, never newer. */
static void
check_kubelet(Loader *loader, const NodeFields *group)
{
    if (group->nodes.kubelet_minor > loader->scenario.minor_version)
        schema_fault_member(&loader->reader, group->source, "kubeletVersion",
                            "raise kubernetes.version, or leave it out",
                            "kubelets of 1.%d are newer than the API server, which is of 1.%d",
                            group->nodes.kubelet_minor, loader->scenario.minor_version);
}

void
checker_check_nodes(Checker *self)
{
    Loader *loader = self->loader;
    const NodeFields *groups = loader->fields.spec.nodes.items;

    for (unsigned i = 0; i < loader->fields.spec.nodes.n; i++) {
        const ScenarioNodes *group = &groups[i].nodes;
        NodeCheck check = {loader, &groups[i], NULL, loader->faults->len};
        if (group->name == NULL)
            continue;
        SchemaJump jump = schema_go(&loader->reader, &groups[i].at, groups[i].path);
        check_kubelet(loader, &groups[i]);
        try_node(&check, scenario_node_manifest(group, "node", NULL));
        check.member = "zones";
        for (unsigned k = 0; group->zones != NULL && group->zones[k] != NULL; k++)
            try_node(&check, scenario_node_manifest(&(ScenarioNodes){0}, "node", group->zones[k]));
        schema_come_back(&loader->reader, jump);
    }
}

/* ---- Patches ---- */

typedef struct {
    Checker *checker;
    const ActionFields *fields;
} PatchCheck;

/* The position of the value in the patch; else of the whole patch. */
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
check_parsed_count_fault(ApiParser *parser,
                         const json_t *where,
                         const char *message,
                         const char *hint)
{
    (void)where, (void)message, (void)hint;
    ++*(unsigned *)parser->data;
}

void
checker_check_patch(Checker *self, const ScenarioAction *action, const ActionFields *fields)
{
    const ManifestInfo *info =
        action->name == NULL ? NULL
                             : checker_find(self, action->kind, action->namespace, action->name);

    unsigned n_faults = 0;

    if (info == NULL || info->object == NULL || action->patch == NULL)
        return;
    try_manifest(info->json, NULL, check_parsed_count_fault, &n_faults);
    if (n_faults > 0)
        return;
    PatchCheck check = {self, fields};
    json_t *merged = json_deep_copy(info->json);
    json_merge_patch(merged, action->patch);
    try_manifest(merged, info->json, report_patch, &check);
    json_decref(merged);
}
