/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why-private.h"

#include <string.h>

static json_t *
find_content(const Question *self, json_t *group)
{
    const char *given = value_text(group, "spec.source.volumeGroupSnapshotContentName");
    g_autofree char *made =
        g_strdup_printf("groupsnapcontent-%s", value_text(group, "metadata.uid"));

    return why_find(self, "VolumeGroupSnapshotContent", NULL, *given != '\0' ? given : made);
}

/* SNAP-88: a member's content has lost its snapshot. */
static gboolean
is_stuck(const Question *self, json_t *content)
{
    const char *handle = value_text(content, "status.volumeGroupSnapshotHandle");
    json_t *object;
    gsize i;

    json_array_foreach(self->objects, i, object)
        if (strcmp(value_text(object, "kind"), "VolumeSnapshotContent") == 0 && *handle != '\0' &&
            strcmp(value_text(object, "status.volumeGroupSnapshotHandle"), handle) == 0 &&
            *value_text(object, "spec.volumeSnapshotRef.uid") == '\0')
            return TRUE;
    return FALSE;
}

/* The words of the group's error, and their causes. */
static const struct {
    const char *words, *cause;
} errors[] = {
    {"not yet bound",           "provisioning"     },
    {"not applied to any PVC",  "claim-missing"    },
    {"snapshot class",          "no-snapshot-class"},
    {"SnapshotClass",           "no-snapshot-class"},
    {"Content is missing",      "content-missing"  },
    {"is bound to a different", "content-taken"    },
};

/* @content: (out) (borrowed): its content, if that is what it waits for
 * Returns: the cause */
static const char *
cause_of_group(const Question *self, json_t *group, json_t **content)
{
    const char *error = value_text(group, "status.error.message");
    json_t *found = find_content(self, group);

    if (found != NULL && is_stuck(self, found))
        return "group-stuck";
    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++)
        if (strstr(error, errors[i].words) != NULL)
            return errors[i].cause;
    if (found == NULL)
        return *error == '\0' ? "group-not-handled" : "driver-error";
    *content = found;
    return "snapshotting";
}

gboolean
why_ask_group(Question *self, json_t *group)
{
    const char *error = value_text(group, "status.error.message");
    const char *pending = why_last_event(self, group, "SnapshotDeletePending");
    json_t *content = NULL;

    if (value_at(group, "metadata.deletionTimestamp") != NULL)
        return why_link(self, *pending != '\0' ? "restore-pending" : "snapshot-deleting", group,
                        "is being deleted%s%s", *pending != '\0' ? ": " : "", pending);
    if (value_is_true(group, "status.readyToUse"))
        return FALSE;
    why_link(self, cause_of_group(self, group, &content), group, "is not ready%s%s",
             *error != '\0' ? ": " : "", error);
    return content == NULL || why_ask_content(self, content) || TRUE;
}
