/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "release.h"

#include <string.h>

/* The feature gates that change anything here, and the first release in which each is on by default
 * (pkg/features/kube_features.go). */
#define NEVER INT_MAX
static const struct {
    const char *name;
    int on_since;
} gates[] = {
    {"AnyVolumeDataSource",            24   },
    {"CrossNamespaceVolumeDataSource", NEVER},
    {"GenericEphemeralVolume",         21   },
    {"HonorPVReclaimPolicy",           31   },
    {"RecoverVolumeExpansionFailure",  32   },
    {"SchedulerQueueingHints",         32   },
    {"VolumeAttributesClass",          34   },
    {"VolumeCapacityPriority",         NEVER},
};

gboolean
release_has_gate(const Release *self, const char *gate)
{
    const char *text = string_map_get(self->gates, gate);

    if (text != NULL)
        return strcmp(text, "true") == 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(gates); i++)
        if (strcmp(gates[i].name, gate) == 0)
            return self->minor >= gates[i].on_since;
    g_assert_not_reached();
}

gboolean
release_knows_gate(const char *gate)
{
    gboolean known = FALSE;

    for (unsigned i = 0; !known && i < G_N_ELEMENTS(gates); i++)
        known = strcmp(gates[i].name, gate) == 0;
    return known;
}
