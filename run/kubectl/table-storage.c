/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "kinds.h"

/* Rows of the storage kinds, as the API server prints them (pkg/printers/internalversion of
 * Kubernetes 1.32). */

#define COLUMN_NAME                                                                                \
    {                                                                                              \
        "Name", FALSE, TRUE                                                                        \
    }
#define COLUMN_AGE                                                                                 \
    {                                                                                              \
        "Age", FALSE, FALSE                                                                        \
    }
#define COLUMNS_END                                                                                \
    {                                                                                              \
        NULL, FALSE, FALSE                                                                         \
    }

void
cell_add(GPtrArray *cells, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_ptr_array_add(cells, g_strdup_vprintf(format, args));
    va_end(args);
}

static void
cell_take(GPtrArray *cells, GString *text)
{
    g_ptr_array_add(cells, g_string_free(text, FALSE));
}

void
cell_add_age(GPtrArray *cells, json_t *object, ValueTime now)
{
    GString *age = g_string_new(NULL);

    value_append_age(age, value_time(object, "metadata.creationTimestamp"), now);
    cell_take(cells, age);
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

static const char *
text_or(json_t *object, const char *path, const char *missing)
{
    return value_at(object, path) != NULL ? value_text(object, path) : missing;
}

/* The phase, or that it is being deleted. */
static const char *
phase_of(json_t *object)
{
    return value_at(object, "metadata.deletionTimestamp") != NULL
               ? "Terminating"
               : value_text(object, "status.phase");
}

const KindColumn claim_columns[] = {
    COLUMN_NAME,
    {"Status",                FALSE, FALSE},
    {"Volume",                FALSE, FALSE},
    {"Capacity",              FALSE, FALSE},
    {"Access Modes",          FALSE, FALSE},
    {"StorageClass",          FALSE, FALSE},
    {"VolumeAttributesClass", FALSE, FALSE},
    COLUMN_AGE,
    {"VolumeMode",            TRUE,  FALSE},
    COLUMNS_END,
};

void
claim_row(GPtrArray *cells, json_t *claim, ValueTime now)
{
    const char *volume = value_text(claim, "spec.volumeName");
    GString *capacity = g_string_new(NULL), *modes = g_string_new(NULL);

    cell_add(cells, "%s", value_text(claim, "metadata.name"));
    cell_add(cells, "%s", phase_of(claim));
    cell_add(cells, "%s", volume);
    if (*volume != '\0') {
        append_access_modes(modes, value_at(claim, "status.accessModes"));
        value_append_quantity(capacity, value_at(claim, "status.capacity.storage"));
    }
    cell_take(cells, capacity);
    cell_take(cells, modes);
    cell_add(cells, "%s", class_name_of(claim));
    cell_add(cells, "%s", text_or(claim, "spec.volumeAttributesClassName", "<unset>"));
    cell_add_age(cells, claim, now);
    cell_add(cells, "%s", text_or(claim, "spec.volumeMode", "<unset>"));
}

const KindColumn volume_columns[] = {
    COLUMN_NAME,
    {"Capacity",              FALSE, FALSE},
    {"Access Modes",          FALSE, FALSE},
    {"Reclaim Policy",        FALSE, FALSE},
    {"Status",                FALSE, FALSE},
    {"Claim",                 FALSE, FALSE},
    {"StorageClass",          FALSE, FALSE},
    {"VolumeAttributesClass", FALSE, FALSE},
    {"Reason",                FALSE, FALSE},
    COLUMN_AGE,
    {"VolumeMode",            TRUE,  FALSE},
    COLUMNS_END,
};

void
volume_row(GPtrArray *cells, json_t *volume, ValueTime now)
{
    json_t *claim = value_at(volume, "spec.claimRef");
    GString *capacity = g_string_new(NULL), *modes = g_string_new(NULL);

    cell_add(cells, "%s", value_text(volume, "metadata.name"));
    value_append_quantity(capacity, value_at(volume, "spec.capacity.storage"));
    cell_take(cells, capacity);
    append_access_modes(modes, value_at(volume, "spec.accessModes"));
    cell_take(cells, modes);
    cell_add(cells, "%s", value_text(volume, "spec.persistentVolumeReclaimPolicy"));
    cell_add(cells, "%s", phase_of(volume));
    cell_add(cells, "%s%s%s", value_text(claim, "namespace"), claim != NULL ? "/" : "",
             value_text(claim, "name"));
    cell_add(cells, "%s", class_name_of(volume));
    cell_add(cells, "%s", text_or(volume, "spec.volumeAttributesClassName", "<unset>"));
    cell_add(cells, "%s", value_text(volume, "status.reason"));
    cell_add_age(cells, volume, now);
    cell_add(cells, "%s", text_or(volume, "spec.volumeMode", "<unset>"));
}

const KindColumn class_columns[] = {
    COLUMN_NAME,
    {"Provisioner",          FALSE, FALSE},
    {"ReclaimPolicy",        FALSE, FALSE},
    {"VolumeBindingMode",    FALSE, FALSE},
    {"AllowVolumeExpansion", FALSE, FALSE},
    COLUMN_AGE,
    COLUMNS_END,
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

void
class_row(GPtrArray *cells, json_t *class, ValueTime now)
{
    cell_add(cells, "%s%s", value_text(class, "metadata.name"),
             class_is_default(class) ? " (default)" : "");
    cell_add(cells, "%s", value_text(class, "provisioner"));
    cell_add(cells, "%s", text_or(class, "reclaimPolicy", "Delete"));
    cell_add(cells, "%s", text_or(class, "volumeBindingMode", "Immediate"));
    cell_add(cells, "%s", value_is_true(class, "allowVolumeExpansion") ? "true" : "false");
    cell_add_age(cells, class, now);
}

const KindColumn attachment_columns[] = {
    COLUMN_NAME,
    {"Attacher", FALSE, FALSE},
    {"PV",       FALSE, FALSE},
    {"Node",     FALSE, FALSE},
    {"Attached", FALSE, FALSE},
    COLUMN_AGE,
    COLUMNS_END,
};

void
attachment_row(GPtrArray *cells, json_t *attachment, ValueTime now)
{
    cell_add(cells, "%s", value_text(attachment, "metadata.name"));
    cell_add(cells, "%s", value_text(attachment, "spec.attacher"));
    cell_add(cells, "%s", value_text(attachment, "spec.source.persistentVolumeName"));
    cell_add(cells, "%s", value_text(attachment, "spec.nodeName"));
    cell_add(cells, "%s", value_is_true(attachment, "status.attached") ? "true" : "false");
    cell_add_age(cells, attachment, now);
}

const KindColumn csi_node_columns[] = {
    COLUMN_NAME,
    {"Drivers", FALSE, FALSE},
    COLUMN_AGE,
    COLUMNS_END,
};

void
csi_node_row(GPtrArray *cells, json_t *node, ValueTime now)
{
    cell_add(cells, "%s", value_text(node, "metadata.name"));
    cell_add(cells, "%" G_GSIZE_FORMAT, value_length(node, "spec.drivers"));
    cell_add_age(cells, node, now);
}

const KindColumn csi_driver_columns[] = {
    COLUMN_NAME,
    {"AttachRequired",    FALSE, FALSE},
    {"PodInfoOnMount",    FALSE, FALSE},
    {"StorageCapacity",   FALSE, FALSE},
    {"TokenRequests",     FALSE, FALSE},
    {"RequiresRepublish", FALSE, FALSE},
    {"Modes",             FALSE, FALSE},
    COLUMN_AGE,
    COLUMNS_END,
};

void
csi_driver_row(GPtrArray *cells, json_t *driver, ValueTime now)
{
    json_t *tokens = value_at(driver, "spec.tokenRequests"), *token;
    json_t *modes = value_at(driver, "spec.volumeLifecycleModes");
    GString *audiences = g_string_new(json_array_size(tokens) == 0 ? "<unset>" : NULL);
    GString *words = g_string_new(json_array_size(modes) == 0 ? "<none>" : NULL);
    gsize i;

    cell_add(cells, "%s", value_text(driver, "metadata.name"));
    cell_add(cells, "%s",
             json_is_false(value_at(driver, "spec.attachRequired")) ? "false" : "true");
    cell_add(cells, "%s", value_is_true(driver, "spec.podInfoOnMount") ? "true" : "false");
    cell_add(cells, "%s", value_is_true(driver, "spec.storageCapacity") ? "true" : "false");
    json_array_foreach(tokens, i, token)
        g_string_append_printf(audiences, "%s%s", i > 0 ? "," : "", value_text(token, "audience"));
    cell_take(cells, audiences);
    cell_add(cells, "%s", value_is_true(driver, "spec.requiresRepublish") ? "true" : "false");
    value_append_joined(words, modes, ",");
    cell_take(cells, words);
    cell_add_age(cells, driver, now);
}

const KindColumn created_columns[] = {
    COLUMN_NAME,
    {"Created At", FALSE, FALSE},
    COLUMNS_END,
};

void
created_row(GPtrArray *cells, json_t *object, ValueTime now)
{
    (void)now;
    cell_add(cells, "%s", value_text(object, "metadata.name"));
    cell_add(cells, "%s", value_text(object, "metadata.creationTimestamp"));
}
