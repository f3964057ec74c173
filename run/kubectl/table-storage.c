/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of the storage kinds, as the API server prints them (pkg/printers/internalversion of
 * Kubernetes 1.32), and of snapshots, from the additionalPrinterColumns of their
 * CustomResourceDefinitions (external-snapshotter v8.2, client/config/crd). */

#include "kinds.h"

void
cell_value(Cell *cell)
{
    if (cell->value != NULL)
        value_append_go(cell->text, cell->value);
}

void
cell_age(Cell *cell)
{
    if (cell->value != NULL)
        value_append_age(cell->text, value_time(cell->object, cell->column->path), cell->now);
}

static void
cell_joined(Cell *cell)
{
    value_append_joined(cell->text, cell->value, ",");
}

void
append_access_modes(GString *out, json_t *modes)
{
    static const struct {
        const char *mode, *text;
    } table[] = {
        {"ReadWriteOnce",    "RWO" },
        {"ReadOnlyMany",     "ROX" },
        {"ReadWriteMany",    "RWX" },
        {"ReadWriteOncePod", "RWOP"},
    };
    gboolean is_first = TRUE;

    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        if (!value_has_word(modes, table[i].mode))
            continue;
        g_string_append_printf(out, "%s%s", is_first ? "" : ",", table[i].text);
        is_first = FALSE;
    }
}

const char *
class_name_of(json_t *object)
{
    json_t *old = json_object_get(value_at(object, "metadata.annotations"),
                                  "volume.beta.kubernetes.io/storage-class");

    return old != NULL ? json_string_value(old) : value_text(object, "spec.storageClassName");
}

/* The phase, unless the object is being deleted. */
static void
cell_phase(Cell *cell)
{
    g_string_append(cell->text, value_at(cell->object, "metadata.deletionTimestamp") != NULL
                                    ? "Terminating"
                                    : value_text(cell->object, "status.phase"));
}

static void
cell_quantity(Cell *cell)
{
    value_append_quantity(cell->text, cell->value);
}

static void
cell_modes(Cell *cell)
{
    append_access_modes(cell->text, cell->value);
}

/* Empty until the claim has a volume. */
static void
cell_bound_quantity(Cell *cell)
{
    if (*value_text(cell->object, "spec.volumeName") != '\0')
        cell_quantity(cell);
}

static void
cell_bound_modes(Cell *cell)
{
    if (*value_text(cell->object, "spec.volumeName") != '\0')
        cell_modes(cell);
}

static void
cell_class(Cell *cell)
{
    g_string_append(cell->text, class_name_of(cell->object));
}

/* For fields that may hold an empty text. */
static void
cell_optional(Cell *cell)
{
    g_string_append(cell->text,
                    cell->value == NULL ? "<unset>" : value_text(cell->object, cell->column->path));
}

const KindColumn claim_columns[] = {
    {"Name",                  cell_value,          "metadata.name",                  "",          COLUMN_NAME},
    {"Status",                cell_phase,          "",                               "",          0          },
    {"Volume",                cell_value,          "spec.volumeName",                "",          0          },
    {"Capacity",              cell_bound_quantity, "status.capacity.storage",        "",          0          },
    {"Access Modes",          cell_bound_modes,    "status.accessModes",             "",          0          },
    {"StorageClass",          cell_class,          "",                               "",          0          },
    {"VolumeAttributesClass", cell_optional,       "spec.volumeAttributesClassName", "",          0          },
    {"Age",                   cell_age,            "metadata.creationTimestamp",     "<unknown>", 0          },
    {"VolumeMode",            cell_optional,       "spec.volumeMode",                "",          COLUMN_WIDE},
    {NULL,                    NULL,                NULL,                             NULL,        0          },
};

static void
cell_claim(Cell *cell)
{
    if (cell->value != NULL)
        g_string_append_printf(cell->text, "%s/%s", value_text(cell->value, "namespace"),
                               value_text(cell->value, "name"));
}

const KindColumn volume_columns[] = {
    {"Name",                  cell_value,    "metadata.name",                      "",          COLUMN_NAME},
    {"Capacity",              cell_quantity, "spec.capacity.storage",              "",          0          },
    {"Access Modes",          cell_modes,    "spec.accessModes",                   "",          0          },
    {"Reclaim Policy",        cell_value,    "spec.persistentVolumeReclaimPolicy", "",          0          },
    {"Status",                cell_phase,    "",                                   "",          0          },
    {"Claim",                 cell_claim,    "spec.claimRef",                      "",          0          },
    {"StorageClass",          cell_class,    "",                                   "",          0          },
    {"VolumeAttributesClass", cell_optional, "spec.volumeAttributesClassName",     "",          0          },
    {"Reason",                cell_value,    "status.reason",                      "",          0          },
    {"Age",                   cell_age,      "metadata.creationTimestamp",         "<unknown>", 0          },
    {"VolumeMode",            cell_optional, "spec.volumeMode",                    "",          COLUMN_WIDE},
    {NULL,                    NULL,          NULL,                                 NULL,        0          },
};

gboolean
class_is_default(json_t *class)
{
    static const char *const marks[] = {"storageclass.kubernetes.io/is-default-class",
                                        "storageclass.beta.kubernetes.io/is-default-class"};
    json_t *annotations = value_at(class, "metadata.annotations");

    for (unsigned i = 0; i < G_N_ELEMENTS(marks); i++)
        if (g_strcmp0(json_string_value(json_object_get(annotations, marks[i])), "true") == 0)
            return TRUE;
    return FALSE;
}

static void
cell_class_name(Cell *cell)
{
    g_string_append_printf(cell->text, "%s%s", value_text(cell->object, cell->column->path),
                           class_is_default(cell->object) ? " (default)" : "");
}

const KindColumn class_columns[] = {
    {"Name",                 cell_class_name, "metadata.name",              "",          COLUMN_NAME },
    {"Provisioner",          cell_value,      "provisioner",                "",          0           },
    {"ReclaimPolicy",        cell_value,      "reclaimPolicy",              "Delete",    0           },
    {"VolumeBindingMode",    cell_value,      "volumeBindingMode",          "Immediate", 0           },
    {"AllowVolumeExpansion", cell_value,      "allowVolumeExpansion",       "false",     COLUMN_TYPED},
    {"Age",                  cell_age,        "metadata.creationTimestamp", "<unknown>", 0           },
    {NULL,                   NULL,            NULL,                         NULL,        0           },
};

const KindColumn attachment_columns[] = {
    {"Name",     cell_value, "metadata.name",                    "",          COLUMN_NAME   },
    {"Attacher", cell_value, "spec.attacher",                    "",          0             },
    {"PV",       cell_value, "spec.source.persistentVolumeName", "",          0             },
    {"Node",     cell_value, "spec.nodeName",                    "",          0             },
    {"Attached", cell_value, "status.attached",                  "false",     COLUMN_BOOLEAN},
    {"Age",      cell_age,   "metadata.creationTimestamp",       "<unknown>", 0             },
    {NULL,       NULL,       NULL,                               NULL,        0             },
};

void
cell_length(Cell *cell)
{
    g_string_append_printf(cell->text, "%" G_GSIZE_FORMAT,
                           value_length(cell->object, cell->column->path));
}

const KindColumn csi_node_columns[] = {
    {"Name",    cell_value,  "metadata.name",              "",          COLUMN_NAME   },
    {"Drivers", cell_length, "spec.drivers",               "",          COLUMN_INTEGER},
    {"Age",     cell_age,    "metadata.creationTimestamp", "<unknown>", 0             },
    {NULL,      NULL,        NULL,                         NULL,        0             },
};

static void
cell_audiences(Cell *cell)
{
    json_t *token;
    gsize i;

    json_array_foreach(cell->value, i, token)
        g_string_append_printf(cell->text, "%s%s", i > 0 ? "," : "", value_text(token, "audience"));
}

const KindColumn csi_driver_columns[] = {
    {"Name",              cell_value,     "metadata.name",              "",          COLUMN_NAME   },
    {"AttachRequired",    cell_value,     "spec.attachRequired",        "true",      COLUMN_BOOLEAN},
    {"PodInfoOnMount",    cell_value,     "spec.podInfoOnMount",        "false",     COLUMN_BOOLEAN},
    {"StorageCapacity",   cell_value,     "spec.storageCapacity",       "false",     COLUMN_BOOLEAN},
    {"TokenRequests",     cell_audiences, "spec.tokenRequests",         "<unset>",   0             },
    {"RequiresRepublish", cell_value,     "spec.requiresRepublish",     "false",     COLUMN_BOOLEAN},
    {"Modes",             cell_joined,    "spec.volumeLifecycleModes",  "<none>",    0             },
    {"Age",               cell_age,       "metadata.creationTimestamp", "<unknown>", 0             },
    {NULL,                NULL,           NULL,                         NULL,        0             },
};

const KindColumn attributes_class_columns[] = {
    {"Name",       cell_value, "metadata.name",              "",          COLUMN_NAME},
    {"DriverName", cell_value, "driverName",                 "",          0          },
    {"Age",        cell_age,   "metadata.creationTimestamp", "<unknown>", 0          },
    {NULL,         NULL,       NULL,                         NULL,        0          },
};

const KindColumn local_volume_columns[] = {
    {"Name",   cell_value, "metadata.name",              "",          COLUMN_NAME},
    {"Node",   cell_value, "spec.ownerNodeID",           "",          0          },
    {"Size",   cell_value, "spec.capacity",              "",          0          },
    {"Status", cell_value, "status.state",               "",          0          },
    {"Age",    cell_age,   "metadata.creationTimestamp", "<unknown>", 0          },
    {NULL,     NULL,       NULL,                         NULL,        0          },
};

const KindColumn created_columns[] = {
    {"Name",       cell_value, "metadata.name",              "",   COLUMN_NAME},
    {"Created At", cell_value, "metadata.creationTimestamp", "",   0          },
    {NULL,         NULL,       NULL,                         NULL, 0          },
};

const KindColumn age_columns[] = {
    {"Name", cell_value, "metadata.name",              "",          COLUMN_NAME},
    {"Age",  cell_age,   "metadata.creationTimestamp", "<unknown>", 0          },
    {NULL,   NULL,       NULL,                         NULL,        0          },
};

const KindColumn snapshot_columns[] = {
    {"Name",                  cell_value, "metadata.name",                         "",          COLUMN_NAME   },
    {"ReadyToUse",            cell_value, "status.readyToUse",                     "",          COLUMN_BOOLEAN},
    {"SourcePVC",             cell_value, "spec.source.persistentVolumeClaimName", "",          0             },
    {"SourceSnapshotContent", cell_value, "spec.source.volumeSnapshotContentName", "",          0             },
    {"RestoreSize",           cell_value, "status.restoreSize",                    "",          0             },
    {"SnapshotClass",         cell_value, "spec.volumeSnapshotClassName",          "",          0             },
    {"SnapshotContent",       cell_value, "status.boundVolumeSnapshotContentName", "",          0             },
    {"CreationTime",          cell_age,   "status.creationTime",                   "",          0             },
    {"Age",                   cell_age,   "metadata.creationTimestamp",            "<unknown>", 0             },
    {NULL,                    NULL,       NULL,                                    NULL,        0             },
};

const KindColumn snapshot_content_columns[] = {
    {"Name",                    cell_value, "metadata.name",                    "",          COLUMN_NAME   },
    {"ReadyToUse",              cell_value, "status.readyToUse",                "",          COLUMN_BOOLEAN},
    {"RestoreSize",             cell_value, "status.restoreSize",               "",          COLUMN_INTEGER},
    {"DeletionPolicy",          cell_value, "spec.deletionPolicy",              "",          0             },
    {"Driver",                  cell_value, "spec.driver",                      "",          0             },
    {"VolumeSnapshotClass",     cell_value, "spec.volumeSnapshotClassName",     "",          0             },
    {"VolumeSnapshot",          cell_value, "spec.volumeSnapshotRef.name",      "",          0             },
    {"VolumeSnapshotNamespace", cell_value, "spec.volumeSnapshotRef.namespace", "",          0             },
    {"Age",                     cell_age,   "metadata.creationTimestamp",       "<unknown>", 0             },
    {NULL,                      NULL,       NULL,                               NULL,        0             },
};

const KindColumn snapshot_class_columns[] = {
    {"Name",           cell_value, "metadata.name",              "",          COLUMN_NAME},
    {"Driver",         cell_value, "driver",                     "",          0          },
    {"DeletionPolicy", cell_value, "deletionPolicy",             "",          0          },
    {"Age",            cell_age,   "metadata.creationTimestamp", "<unknown>", 0          },
    {NULL,             NULL,       NULL,                         NULL,        0          },
};

const KindColumn group_snapshot_columns[] = {
  /* clang-format off */
    {"Name", cell_value, "metadata.name", "", COLUMN_NAME},
    {"ReadyToUse", cell_value, "status.readyToUse", "", COLUMN_BOOLEAN},
    {"VolumeGroupSnapshotClass", cell_value, "spec.volumeGroupSnapshotClassName", "", 0},
    {"VolumeGroupSnapshotContent", cell_value, "status.boundVolumeGroupSnapshotContentName", "", 0},
    {"CreationTime", cell_age, "status.creationTime", "", 0},
    {"Age", cell_age, "metadata.creationTimestamp", "<unknown>", 0},
    {NULL, NULL, NULL, NULL, 0},
  /* clang-format on */
};

const KindColumn group_content_columns[] = {
  /* clang-format off */
    {"Name", cell_value, "metadata.name", "", COLUMN_NAME},
    {"ReadyToUse", cell_value, "status.readyToUse", "", COLUMN_BOOLEAN},
    {"DeletionPolicy", cell_value, "spec.deletionPolicy", "", 0},
    {"Driver", cell_value, "spec.driver", "", 0},
    {"VolumeGroupSnapshotClass", cell_value, "spec.volumeGroupSnapshotClassName", "", 0},
    {"VolumeGroupSnapshotNamespace", cell_value, "spec.volumeGroupSnapshotRef.namespace", "", 0},
    {"VolumeGroupSnapshot", cell_value, "spec.volumeGroupSnapshotRef.name", "", 0},
    {"Age", cell_age, "metadata.creationTimestamp", "<unknown>", 0},
    {NULL, NULL, NULL, NULL, 0},
  /* clang-format on */
};
