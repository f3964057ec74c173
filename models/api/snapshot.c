/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of snapshot.storage.k8s.io and groupsnapshot.storage.k8s.io: classes, snapshots, groups
 * and their contents. A group's structs begin with those of a snapshot, so controllers handle both
 * with the same code. readyToUse has three values, as the controllers tell "false" from "not
 * there". Checks are those of the CustomResourceDefinitions: of each source exactly one member. */
#include "snapshot.h"

#include "fields.h"

static const char *const deletion_policies[] = {"Delete", "Retain", NULL};

/* ---- readyToUse: true, false or not there ---- */

static void
readiness_parse(ApiParser *parser, const json_t *value, void *field)
{
    gboolean ready = FALSE;

    field_type_parse(&field_flag, parser, value, &ready);
    *(uint32_t *)field = ready ? SNAPSHOT_READY : SNAPSHOT_NOT_READY;
}

static json_t *
readiness_to_json(const void *field)
{
    uint32_t readiness = *(const uint32_t *)field;

    return readiness != SNAPSHOT_READY && readiness != SNAPSHOT_NOT_READY
               ? NULL
               : json_boolean(readiness == SNAPSHOT_READY);
}

static const FieldType readiness_type = {
    .size = sizeof(uint32_t),
    .parse = readiness_parse,
    .to_json = readiness_to_json,
};

/* ---- VolumeSnapshotClass ---- */

static const Field snapshot_class_fields[] = {
    FIELD("parameters", field_string_map, SnapshotClass, parameters, FIELD_SPEC),
    FIELD("driver", field_string, SnapshotClass, driver, FIELD_REQUIRED),
    FIELD("deletionPolicy", field_string, SnapshotClass, deletion_policy, FIELD_REQUIRED),
    FIELDS_END,
};

static void
snapshot_class_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    (void)object;
    api_parser_check_word(parser, manifest, "deletionPolicy", deletion_policies);
}

const KindClass snapshot_class_kind = {
    .kind = "VolumeSnapshotClass",
    .api_version = "snapshot.storage.k8s.io/v1",
    .resource = "volumesnapshotclasses",
    .size = sizeof(SnapshotClass),
    .fields = snapshot_class_fields,
    .has_generation = TRUE,
    .check = snapshot_class_check,
};

const KindClass group_class_kind = {
    .kind = "VolumeGroupSnapshotClass",
    .api_version = GROUP_SNAPSHOT_API_VERSION,
    .resource = "volumegroupsnapshotclasses",
    .size = sizeof(SnapshotClass),
    .fields = snapshot_class_fields,
    .has_generation = TRUE,
    .check = snapshot_class_check,
};

/* ---- VolumeSnapshot ---- */

/* The members of spec.source: the CustomResourceDefinitions want one of the two. */
static const struct {
    ObjectKind kind;
    const char *first, *second;
} sources[] = {
    {KIND_VOLUME_SNAPSHOT,  "persistentVolumeClaimName", "volumeSnapshotContentName"     },
    {KIND_SNAPSHOT_CONTENT, "volumeHandle",              "snapshotHandle"                },
    {KIND_GROUP_SNAPSHOT,   "selector",                  "volumeGroupSnapshotContentName"},
    {KIND_GROUP_CONTENT,    "volumeHandles",             "groupSnapshotHandles"          },
};

/* Of snapshots, groups and their contents. */
static void
snapshot_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const json_t *spec = json_object_get(manifest, "spec");
    const json_t *source = json_object_get(spec, "source");
    unsigned i = 0;

    while (sources[i].kind != object_kind(object))
        i++;
    gboolean has_first = json_object_get(source, sources[i].first) != NULL;
    gboolean has_second = json_object_get(source, sources[i].second) != NULL;
    if (has_first == has_second) {
        const json_t *where = source != NULL ? source : spec != NULL ? spec : manifest;
        g_autofree char *hint =
            g_strdup_printf("give %s or %s", sources[i].first, sources[i].second);
        api_parser_fault_at(parser, where, "spec.source", hint,
                            "must validate one and only one schema (oneOf). Found %s",
                            has_first ? "2 valid alternatives" : "none valid");
    }
    if (object_kind(object) == KIND_SNAPSHOT_CONTENT || object_kind(object) == KIND_GROUP_CONTENT)
        api_parser_check_word(parser, manifest, "spec.deletionPolicy", deletion_policies);
}

static const Field volume_snapshot_fields[] = {
    /* clang-format off */
    FIELD("spec.source.persistentVolumeClaimName", field_word, VolumeSnapshot, claim_name, FIELD_SPEC),
    FIELD("spec.source.volumeSnapshotContentName", field_word, VolumeSnapshot, content_name, FIELD_SPEC),
    FIELD("spec.volumeSnapshotClassName", field_word, VolumeSnapshot, class_name, FIELD_SPEC),
    FIELD("status.boundVolumeSnapshotContentName", field_word, VolumeSnapshot, bound_content, FIELD_STATUS),
    FIELD("status.readyToUse", readiness_type, VolumeSnapshot, readiness, FIELD_STATUS),
    FIELD("status.restoreSize", field_size, VolumeSnapshot, restore_bytes, FIELD_STATUS),
    FIELD("status.creationTime", field_time, VolumeSnapshot, created_at, FIELD_STATUS),
    FIELD("status.volumeGroupSnapshotName", field_word, VolumeSnapshot, group_name, FIELD_STATUS),
    FIELD("status.error", field_volume_error, VolumeSnapshot, error, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

const KindClass volume_snapshot_kind = {
    .kind = "VolumeSnapshot",
    .api_version = "snapshot.storage.k8s.io/v1",
    .resource = "volumesnapshots",
    .size = sizeof(VolumeSnapshot),
    .fields = volume_snapshot_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .check = snapshot_check,
};

/* ---- VolumeGroupSnapshot ---- */

static const Field group_snapshot_fields[] = {
    /* clang-format off */
    FIELD("spec.source.selector", field_label_selector, GroupSnapshot, selector, FIELD_SPEC),
    FIELD("spec.source.volumeGroupSnapshotContentName", field_word, GroupSnapshot, base.content_name, FIELD_SPEC),
    FIELD("spec.volumeGroupSnapshotClassName", field_word, GroupSnapshot, base.class_name, FIELD_SPEC),
    FIELD("status.boundVolumeGroupSnapshotContentName", field_word, GroupSnapshot, base.bound_content, FIELD_STATUS),
    FIELD("status.readyToUse", readiness_type, GroupSnapshot, base.readiness, FIELD_STATUS),
    FIELD("status.creationTime", field_time, GroupSnapshot, base.created_at, FIELD_STATUS),
    FIELD("status.error", field_volume_error, GroupSnapshot, base.error, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

const KindClass group_snapshot_kind = {
    .kind = "VolumeGroupSnapshot",
    .api_version = GROUP_SNAPSHOT_API_VERSION,
    .resource = "volumegroupsnapshots",
    .size = sizeof(GroupSnapshot),
    .fields = group_snapshot_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .check = snapshot_check,
};

gboolean
volume_snapshot_has_status(const VolumeSnapshot *self)
{
    return self->bound_content != NULL || self->readiness != SNAPSHOT_READINESS_UNSET ||
           self->created_at != TIME_UNSET || self->restore_bytes > 0 || self->group_name != NULL ||
           self->error.message != NULL;
}

/* ---- VolumeSnapshotContent ---- */

static const Field snapshot_content_fields[] = {
    /* clang-format off */
    FIELD("spec.driver", field_string, SnapshotContent, driver, FIELD_REQUIRED),
    FIELD("spec.deletionPolicy", field_word, SnapshotContent, deletion_policy, FIELD_SPEC),
    FIELD("spec.volumeSnapshotClassName", field_word, SnapshotContent, class_name, FIELD_SPEC),
    FIELD("spec.source.volumeHandle", field_word, SnapshotContent, volume_handle, FIELD_SPEC),
    FIELD("spec.source.snapshotHandle", field_word, SnapshotContent, given_handle, FIELD_SPEC),
    FIELD("spec.sourceVolumeMode", field_word, SnapshotContent, source_volume_mode, FIELD_SPEC),
    FIELD("spec.volumeSnapshotRef.namespace", field_word, SnapshotContent, snapshot.namespace, FIELD_SPEC),
    FIELD("spec.volumeSnapshotRef.name", field_word, SnapshotContent, snapshot.name, FIELD_SPEC),
    FIELD("spec.volumeSnapshotRef.uid", field_uid, SnapshotContent, snapshot.uid, FIELD_SPEC),
    FIELD("status.snapshotHandle", field_word, SnapshotContent, handle, FIELD_STATUS),
    FIELD("status.readyToUse", readiness_type, SnapshotContent, readiness, FIELD_STATUS),
    FIELD("status.restoreSize", field_int64, SnapshotContent, restore_bytes, FIELD_STATUS),
    FIELD("status.creationTime", field_int64, SnapshotContent, created_ns, FIELD_STATUS),
    FIELD("status.volumeGroupSnapshotHandle", field_word, SnapshotContent, group_handle, FIELD_STATUS),
    FIELD("status.error", field_volume_error, SnapshotContent, error, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

const KindClass snapshot_content_kind = {
    .kind = "VolumeSnapshotContent",
    .api_version = "snapshot.storage.k8s.io/v1",
    .resource = "volumesnapshotcontents",
    .size = sizeof(SnapshotContent),
    .fields = snapshot_content_fields,
    .has_generation = TRUE,
    .check = snapshot_check,
};

/* ---- VolumeGroupSnapshotContent ---- */

/* status.creationTime: a time there, and nanoseconds in a VolumeSnapshotContent. */
static void
cut_time_parse(ApiParser *parser, const json_t *value, void *field)
{
    SimTime at = TIME_UNSET;

    field_type_parse(&field_time, parser, value, &at);
    if (at != TIME_UNSET)
        *(int64_t *)field = api_time_unix(parser->start, at);
}

static json_t *
cut_time_print(const void *field, const json_t *manifest, SimTime start)
{
    int64_t unix_ns = *(const int64_t *)field;
    SimTime at = unix_ns - api_time_unix(start, 0);

    return unix_ns < 0 ? NULL : field_type_to_json(&field_time, &at, manifest, start);
}

static const FieldType cut_time_type = {
    .size = sizeof(int64_t),
    FIELD_INITIAL(int64_t, -1),
    .parse = cut_time_parse,
    .print = cut_time_print,
};

/* A list of structs with two strings, as a list of strings. */
static void
pairs_parse(ApiParser *parser, const json_t *value, void *field)
{
    g_autofree const char **items = g_new0(const char *, 2 * json_array_size(value));
    StringList **list = field;
    unsigned n = 0;

    if (!api_parser_expect(parser, value, JSON_ARRAY))
        return;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *pair = json_array_get(value, i);
        const char *volume = json_path_string(pair, "volumeHandle");
        const char *snapshot = json_path_string(pair, "snapshotHandle");
        items[n++] = api_parser_intern(parser, volume == NULL ? "" : volume);
        items[n++] = api_parser_intern(parser, snapshot == NULL ? "" : snapshot);
    }
    string_list_unref(*list);
    *list = string_list_new(items, n);
}

static json_t *
pairs_to_json(const void *field)
{
    const StringList *list = *(StringList *const *)field;
    json_t *array = list == NULL ? NULL : json_array();

    for (unsigned i = 0; list != NULL && i + 1 < list->n_items; i += 2)
        json_array_append_new(array, json_pack("{s:s, s:s}", "snapshotHandle", list->items[i + 1],
                                               "volumeHandle", list->items[i]));
    return array;
}

static const FieldType pairs_type = {
    FIELD_SHARED(string_list),
    .parse = pairs_parse,
    .to_json = pairs_to_json,
};

static const Field group_content_fields[] = {
    /* clang-format off */
    FIELD("spec.source.volumeHandles", field_string_list, GroupContent, volume_handles, FIELD_SPEC),
    FIELD("spec.source.groupSnapshotHandles.volumeSnapshotHandles", field_string_list, GroupContent, given_snapshots, FIELD_SPEC),
    FIELD("status.volumeSnapshotHandlePairList", pairs_type, GroupContent, pairs, FIELD_STATUS),
    FIELD("spec.driver", field_string, GroupContent, base.driver, FIELD_REQUIRED),
    FIELD("spec.deletionPolicy", field_word, GroupContent, base.deletion_policy, FIELD_SPEC),
    FIELD("spec.volumeGroupSnapshotClassName", field_word, GroupContent, base.class_name, FIELD_SPEC),
    FIELD("spec.source.groupSnapshotHandles.volumeGroupSnapshotHandle", field_word, GroupContent, base.given_handle, FIELD_SPEC),
    FIELD("spec.volumeGroupSnapshotRef.namespace", field_word, GroupContent, base.snapshot.namespace, FIELD_SPEC),
    FIELD("spec.volumeGroupSnapshotRef.name", field_word, GroupContent, base.snapshot.name, FIELD_SPEC),
    FIELD("spec.volumeGroupSnapshotRef.uid", field_uid, GroupContent, base.snapshot.uid, FIELD_SPEC),
    FIELD("status.volumeGroupSnapshotHandle", field_word, GroupContent, base.handle, FIELD_STATUS),
    FIELD("status.readyToUse", readiness_type, GroupContent, base.readiness, FIELD_STATUS),
    FIELD("status.creationTime", cut_time_type, GroupContent, base.created_ns, FIELD_STATUS),
    FIELD("status.error", field_volume_error, GroupContent, base.error, FIELD_STATUS),
    FIELD("status.restoreSize", field_int64, GroupContent, base.restore_bytes, FIELD_STATUS | FIELD_INTERNAL),
    FIELDS_END,
    /* clang-format on */
};

const KindClass group_content_kind = {
    .kind = "VolumeGroupSnapshotContent",
    .api_version = GROUP_SNAPSHOT_API_VERSION,
    .resource = "volumegroupsnapshotcontents",
    .size = sizeof(GroupContent),
    .fields = group_content_fields,
    .has_generation = TRUE,
    .check = snapshot_check,
};

gboolean
snapshot_content_has_status(const SnapshotContent *self)
{
    return self->handle != NULL || self->readiness != SNAPSHOT_READINESS_UNSET ||
           self->created_ns >= 0 || self->restore_bytes >= 0 || self->group_handle != NULL ||
           self->error.message != NULL;
}

gboolean
snapshot_content_is_of(const SnapshotContent *self, const VolumeSnapshot *snapshot)
{
    const Object *meta = &snapshot->meta;

    return self->snapshot.name == meta->key->name &&
           self->snapshot.namespace == meta->key->namespace &&
           object_uid_equal(self->snapshot.uid, meta->uid);
}
