/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "why-private.h"

/* A Bound claim asks for another class of attributes. */
static gboolean
ask_class_change(Question *self, json_t *claim)
{
    const char *wanted = value_text(claim, "spec.volumeAttributesClassName");
    const char *status = value_text(claim, "status.modifyVolumeStatus.status");
    const char *error = why_last_event(self, claim, "VolumeModifyFailed");

    if (strcmp(status, "Pending") == 0)
        return why_link(self, "attributes-class-missing", claim,
                        "names the VolumeAttributesClass %s, which did not exist", wanted);
    if (strcmp(status, "Infeasible") == 0)
        return why_link(
            self, "attributes-class-infeasible", claim,
            "cannot have the VolumeAttributesClass %s: %s",
            value_text(claim, "status.modifyVolumeStatus.targetVolumeAttributesClassName"), error);
    if (strcmp(wanted, value_text(claim, "status.currentVolumeAttributesClassName")) == 0)
        return FALSE;
    if (*status == '\0')
        return why_link(self, "no-resizer", claim,
                        "names the VolumeAttributesClass %s, but nobody acts", wanted);
    return why_link(self, *error != '\0' ? why_cause_of_error(error, "driver-error") : "modifying",
                    claim, "becomes %s%s%s", wanted, *error != '\0' ? ": " : "", error);
}

/* A Bound claim asks for a larger size. */
static gboolean
ask_expansion(Question *self, json_t *claim)
{
    const char *status = json_string_value(
        json_object_get(value_at(claim, "status.allocatedResourceStatuses"), "storage"));
    const char *error = why_last_event(self, claim, "VolumeResizeFailed");
    const char *wanted = value_text(claim, "spec.resources.requests.storage");
    json_t *conditions = value_at(claim, "status.conditions");

    if (status != NULL && g_str_has_suffix(status, "Infeasible"))
        return why_link(self, "expansion-infeasible", claim, "cannot have %s: %s", wanted, error);
    if (g_strcmp0(status, "NodeResizePending") == 0 ||
        value_find(conditions, "type", "FileSystemResizePending") != NULL)
        return why_link(self, "unmounted", claim, "grows to %s on its node", wanted);
    if (status == NULL && value_find(conditions, "type", "Resizing") == NULL)
        return FALSE;
    return why_link(self, *error != '\0' ? why_cause_of_error(error, "driver-error") : "expanding",
                    claim, "grows to %s%s%s", wanted, *error != '\0' ? ": " : "", error);
}

gboolean
why_ask_change(Question *self, json_t *claim)
{
    return strcmp(value_text(claim, "status.phase"), "Bound") == 0 &&
           (ask_class_change(self, claim) || ask_expansion(self, claim));
}
