/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Common parts of the snapshot controller and the external-snapshotter: the kinds of single and
 * group snapshots side by side, annotations, error texts, and the parameters of a class with the
 * secrets that they name. */
#include "snapshots.h"

#include <string.h>

static const SnapshotKinds single = {
    .snapshot = KIND_VOLUME_SNAPSHOT,
    .content = KIND_SNAPSHOT_CONTENT,
    .class = KIND_SNAPSHOT_CLASS,
    .prefix = "",
    .noun = "snapshot",
    .api_group = SNAPSHOT_API_GROUP,
    .bound_finalizer = FINALIZER_SNAPSHOT_BOUND,
    .content_finalizer = FINALIZER_SNAPSHOT_CONTENT,
    .being_created = ANNOTATION_SNAPSHOT_BEING_CREATED,
    .being_deleted = ANNOTATION_SNAPSHOT_BEING_DELETED,
    .secret_name = ANNOTATION_SNAPSHOT_SECRET_NAME,
    .secret_namespace = ANNOTATION_SNAPSHOT_SECRET_NAMESPACE,
    .is_default = ANNOTATION_DEFAULT_SNAPSHOT_CLASS,
    .secret = SNAPSHOT_SECRET,
    .get_secret = SNAPSHOT_SECRET_LIST,
};

static const SnapshotKinds group = {
    .snapshot = KIND_GROUP_SNAPSHOT,
    .content = KIND_GROUP_CONTENT,
    .class = KIND_GROUP_CLASS,
    .prefix = "Group",
    .noun = "group snapshot",
    .api_group = GROUP_SNAPSHOT_API_GROUP,
    .bound_finalizer = FINALIZER_GROUP_BOUND,
    .content_finalizer = FINALIZER_GROUP_CONTENT,
    .being_created = ANNOTATION_GROUP_BEING_CREATED,
    .being_deleted = ANNOTATION_GROUP_BEING_DELETED,
    .secret_name = ANNOTATION_GROUP_SECRET_NAME,
    .secret_namespace = ANNOTATION_GROUP_SECRET_NAMESPACE,
    .is_default = ANNOTATION_DEFAULT_GROUP_CLASS,
    .secret = SNAPSHOT_SECRET_GROUP,
    .get_secret = SNAPSHOT_SECRET_GROUP_GET,
};

const SnapshotKinds *
snapshot_kinds_of(ObjectKind kind)
{
    return kind == group.snapshot || kind == group.content || kind == group.class ? &group
                                                                                  : &single;
}

static gboolean
is_of_group(const SnapshotContent *content)
{
    return object_kind(&content->meta) == KIND_GROUP_CONTENT;
}

gboolean
snapshot_content_is_dynamic(const SnapshotContent *content)
{
    return is_of_group(content) ? GROUP_CONTENT_CONST(content)->volume_handles != NULL
                                : content->volume_handle != NULL;
}

gboolean
snapshot_content_is_given(const SnapshotContent *content)
{
    return content->given_handle != NULL ||
           (is_of_group(content) && GROUP_CONTENT_CONST(content)->given_snapshots != NULL);
}

const char *
snapshot_class_error(Plan *plan, const char *class_name)
{
    const SnapshotKinds *kinds = plan_kinds(plan);

    return plan_internf(plan, "volume%ssnapshotclass.%s \"%s\" not found",
                        kinds == &group ? "group" : "", kinds->api_group, class_name);
}

const char *
snapshot_update_error(Plan *plan, const char *object_name, const char *error)
{
    return plan_internf(plan, "snapshot controller failed to update %s on API server: %s",
                        object_name, error);
}

const char *
snapshot_no_class_error(Plan *plan, const char *object_name)
{
    const char *noun = plan_kinds(plan)->noun;

    return plan_internf(plan, "failed to take %s %s without a %s class", noun, object_name, noun);
}

const char *
snapshot_group(const VolumeSnapshot *snapshot)
{
    const OwnerReferences *owners = snapshot->meta.owners;

    for (unsigned i = 0; owners != NULL && i < owners->n_items; i++)
        if (g_strcmp0(owners->items[i].kind, "VolumeGroupSnapshot") == 0 &&
            g_strcmp0(owners->items[i].api_version, "groupsnapshot.storage.k8s.io/v1beta1") == 0)
            return owners->items[i].name;
    return NULL;
}

gboolean
snapshot_lacks_group(const VolumeSnapshot *snapshot)
{
    return snapshot->group_name != NULL && snapshot_group(snapshot) == NULL;
}

static gboolean
snapshots_annotate(Object *object, const void *data)
{
    const StringPair *pair = data;

    return object_set_annotation(object, pair->key, pair->value);
}

int
plan_annotate(
    Plan *plan, const ObjectKey *key, const char *annotation, const char *value, PlanErrors errors)
{
    StringPair *pair = plan_new_arg(plan, StringPair);

    *pair = (StringPair){plan_internf(plan, "%s", annotation),
                         value == NULL ? NULL : plan_internf(plan, "%s", value)};
    return plan_patch(plan, key, snapshots_annotate, pair, errors);
}

/* ---- The parameters of a class ---- */

#define PREFIX "csi.storage.k8s.io/"
#define KEYS(what, call)                                                                           \
    {                                                                                              \
        what, PREFIX call "-secret-name", PREFIX call "-secret-namespace", NULL, NULL              \
    }

const SecretKeys snapshot_secret_keys[N_SNAPSHOT_SECRETS] = {
    [SNAPSHOT_SECRET] = KEYS("Snapshotter", "snapshotter"),
    [SNAPSHOT_SECRET_LIST] = KEYS("SnapshotterList", "snapshotter-list"),
    [SNAPSHOT_SECRET_GROUP] = KEYS("GroupSnapshotter", "group-snapshotter"),
    [SNAPSHOT_SECRET_GROUP_GET] = KEYS("GroupSnapshotterGet", "group-snapshotter-get"),
};

typedef struct {
    const char *kind; /* "volumesnapshot", "volumegroupsnapshot" */
    const char *content;
    const ObjectKey *snapshot; /* NULL: none is known */
} SnapshotsTemplateValues;

/* A SecretToken. */
static char *
token_value(const void *data, const char *token, gboolean for_name)
{
    const SnapshotsTemplateValues *values = data;

    if (!g_str_has_prefix(token, values->kind))
        return NULL;
    token += strlen(values->kind);
    if (strcmp(token, "content.name") == 0)
        return g_strdup(values->content);
    if (values->snapshot == NULL)
        return NULL;
    if (strcmp(token, ".namespace") == 0)
        return g_strdup(values->snapshot->namespace);
    return for_name && strcmp(token, ".name") == 0 ? g_strdup(values->snapshot->name) : NULL;
}

char *
snapshot_secret_resolve(Strings *strings,
                        SnapshotSecret use,
                        const StringMap *parameters,
                        const char *content,
                        const ObjectKey *snapshot,
                        SecretReference *reference)
{
    const SnapshotsTemplateValues values = {
        use >= SNAPSHOT_SECRET_GROUP ? "volumegroupsnapshot" : "volumesnapshot", content, snapshot};
    const char *name, *namespace;

    *reference = (SecretReference){0};
    g_autofree char *error =
        secret_find_templates(&snapshot_secret_keys[use], parameters, &name, &namespace);
    if (error != NULL)
        return g_strdup_printf("failed to get name and namespace template from params: %s", error);
    if (name == NULL)
        return NULL;
    return secret_resolve_templates(strings, name, namespace, token_value, &values, reference);
}

static gboolean
is_known_key(const char *key)
{
    for (unsigned i = 0; i < N_SNAPSHOT_SECRETS; i++)
        if (strcmp(key, snapshot_secret_keys[i].name_key) == 0 ||
            strcmp(key, snapshot_secret_keys[i].namespace_key) == 0)
            return TRUE;
    return FALSE;
}

StringMap *
snapshot_driver_parameters(const StringMap *parameters, char **error)
{
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));

    for (unsigned i = 0; parameters != NULL && i < parameters->n_pairs; i++) {
        const char *key = parameters->pairs[i].key;
        if (!g_str_has_prefix(key, PREFIX)) {
            g_array_append_val(pairs, parameters->pairs[i]);
        } else if (!is_known_key(key)) {
            *error = g_strdup_printf(
                "found unknown parameter key \"%s\" with reserved namespace " PREFIX, key);
            return NULL;
        }
    }
    return string_map_new((const StringPair *)(const void *)pairs->data, pairs->len);
}
