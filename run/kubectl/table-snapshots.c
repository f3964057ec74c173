/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kinds.h"

/* Rows of the kinds of snapshot.storage.k8s.io: the additionalPrinterColumns of their
 * CustomResourceDefinitions (external-snapshotter v8.2, client/config/crd). What is not there is an
 * empty cell. */

const KindColumn snapshot_columns[] = {
    {"Name",                  FALSE, TRUE },
    {"ReadyToUse",            FALSE, FALSE},
    {"SourcePVC",             FALSE, FALSE},
    {"SourceSnapshotContent", FALSE, FALSE},
    {"RestoreSize",           FALSE, FALSE},
    {"SnapshotClass",         FALSE, FALSE},
    {"SnapshotContent",       FALSE, FALSE},
    {"CreationTime",          FALSE, FALSE},
    {"Age",                   FALSE, FALSE},
    {NULL,                    FALSE, FALSE},
};

const KindColumn snapshot_content_columns[] = {
    {"Name",                    FALSE, TRUE },
    {"ReadyToUse",              FALSE, FALSE},
    {"RestoreSize",             FALSE, FALSE},
    {"DeletionPolicy",          FALSE, FALSE},
    {"Driver",                  FALSE, FALSE},
    {"VolumeSnapshotClass",     FALSE, FALSE},
    {"VolumeSnapshot",          FALSE, FALSE},
    {"VolumeSnapshotNamespace", FALSE, FALSE},
    {"Age",                     FALSE, FALSE},
    {NULL,                      FALSE, FALSE},
};

const KindColumn snapshot_class_columns[] = {
    {"Name",           FALSE, TRUE },
    {"Driver",         FALSE, FALSE},
    {"DeletionPolicy", FALSE, FALSE},
    {"Age",            FALSE, FALSE},
    {NULL,             FALSE, FALSE},
};

static void
add_flag(GPtrArray *cells, json_t *object, const char *path)
{
    json_t *flag = value_at(object, path);

    cell_add(cells, "%s", json_is_true(flag) ? "true" : json_is_false(flag) ? "false" : "");
}

static void
add_text(GPtrArray *cells, json_t *object, const char *path)
{
    cell_add(cells, "%s", value_text(object, path));
}

static void
add_age_of(GPtrArray *cells, json_t *object, const char *path, ValueTime now)
{
    GString *age = g_string_new(NULL);

    if (value_at(object, path) != NULL)
        value_append_age(age, value_time(object, path), now);
    g_ptr_array_add(cells, g_string_free(age, FALSE));
}

void
snapshot_row(GPtrArray *cells, json_t *snapshot, ValueTime now)
{
    add_text(cells, snapshot, "metadata.name");
    add_flag(cells, snapshot, "status.readyToUse");
    add_text(cells, snapshot, "spec.source.persistentVolumeClaimName");
    add_text(cells, snapshot, "spec.source.volumeSnapshotContentName");
    add_text(cells, snapshot, "status.restoreSize");
    add_text(cells, snapshot, "spec.volumeSnapshotClassName");
    add_text(cells, snapshot, "status.boundVolumeSnapshotContentName");
    add_age_of(cells, snapshot, "status.creationTime", now);
    cell_add_age(cells, snapshot, now);
}

void
snapshot_content_row(GPtrArray *cells, json_t *content, ValueTime now)
{
    json_t *bytes = value_at(content, "status.restoreSize");

    add_text(cells, content, "metadata.name");
    add_flag(cells, content, "status.readyToUse");
    if (json_is_integer(bytes))
        cell_add(cells, "%" JSON_INTEGER_FORMAT, json_integer_value(bytes));
    else
        cell_add(cells, "%s", "");
    add_text(cells, content, "spec.deletionPolicy");
    add_text(cells, content, "spec.driver");
    add_text(cells, content, "spec.volumeSnapshotClassName");
    add_text(cells, content, "spec.volumeSnapshotRef.name");
    add_text(cells, content, "spec.volumeSnapshotRef.namespace");
    cell_add_age(cells, content, now);
}

void
snapshot_class_row(GPtrArray *cells, json_t *class, ValueTime now)
{
    add_text(cells, class, "metadata.name");
    add_text(cells, class, "driver");
    add_text(cells, class, "deletionPolicy");
    cell_add_age(cells, class, now);
}
