/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gated-fields.h"

#include <string.h>

typedef struct {
    ObjectKind kind;
    const char *path;
    const char *gate;
    int since; /* the gate has the field from 1.since on; 0: as long as there is a gate */
} GatedField;

typedef struct {
    ObjectKind kind;
    const Field *field;
} OffField;

struct GatedFields {
    unsigned n;
    OffField off[];
};

/* dropDisabledFields() of the kinds' strategies. Claims: claim-strategy.c; pods share their fields,
 * so theirs are in admission.c. */
/* clang-format off */
static const GatedField rows[] = {
    {KIND_CRON_JOB,          "spec.timeZone",                             "CronJobTimeZone",                0 },
    {KIND_CSI_DRIVER,        "spec.fsGroupPolicy",                        "CSIVolumeFSGroupPolicy",         0 },
    {KIND_CSI_DRIVER,        "spec.nodeAllocatableUpdatePeriodSeconds",   "MutableCSINodeAllocatableCount", 0 },
    {KIND_CSI_DRIVER,        "spec.preventPodSchedulingIfMissing",        "VolumeLimitScaling",             36},
    {KIND_CSI_DRIVER,        "spec.requiresRepublish",                    "CSIServiceAccountToken",         0 },
    {KIND_CSI_DRIVER,        "spec.storageCapacity",                      "CSIStorageCapacity",             0 },
    {KIND_CSI_DRIVER,        "spec.tokenRequests",                        "CSIServiceAccountToken",         0 },
    {KIND_DAEMON_SET,        "spec.updateStrategy.rollingUpdate.maxSurge", "DaemonSetUpdateSurge",          0 },
    {KIND_DISRUPTION_BUDGET, "spec.unhealthyPodEvictionPolicy",           "PDBUnhealthyPodEvictionPolicy",  0 },
    {KIND_JOB,               "spec.backoffLimitPerIndex",                 "JobBackoffLimitPerIndex",        0 },
    {KIND_JOB,               "spec.completionMode",                       "IndexedJob",                     0 },
    {KIND_JOB,               "spec.managedBy",                            "JobManagedBy",                   0 },
    {KIND_JOB,               "spec.maxFailedIndexes",                     "JobBackoffLimitPerIndex",        0 },
    {KIND_JOB,               "spec.podFailurePolicy",                     "JobPodFailurePolicy",            0 },
    {KIND_JOB,               "spec.podReplacementPolicy",                 "JobPodReplacementPolicy",        0 },
    {KIND_JOB,               "spec.successPolicy",                        "JobSuccessPolicy",               0 },
    {KIND_JOB,               "spec.suspend",                              "SuspendJob",                     0 },
    {KIND_STATEFUL_SET,      "spec.minReadySeconds",                      "StatefulSetMinReadySeconds",     0 },
    {KIND_STATEFUL_SET,      "spec.ordinals.start",                       "StatefulSetStartOrdinal",        0 },
    {KIND_STATEFUL_SET,      "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "StatefulSetAutoDeletePVC", 0},
    {KIND_STATEFUL_SET,      "spec.persistentVolumeClaimRetentionPolicy.whenScaled",  "StatefulSetAutoDeletePVC", 0},
};
/* clang-format on */

static const Field *
find_field(ObjectKind kind, const char *path)
{
    const Field *field = kind_class(kind)->fields;

    while (strcmp(field->path, path) != 0)
        field++;
    return field;
}

GatedFields *
gated_fields_new(const Release *release)
{
    GatedFields *self = g_malloc0(sizeof *self + G_N_ELEMENTS(rows) * sizeof self->off[0]);

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
        if (!release_has_gate(release, rows[i].gate) || release->minor < rows[i].since)
            self->off[self->n++] = (OffField){rows[i].kind, find_field(rows[i].kind, rows[i].path)};
    return self;
}

void
gated_fields_free(GatedFields *self)
{
    g_free(self);
}

static void *
gated_fields_value_of(const Field *field, const Object *object)
{
    return (char *)object + field->offset;
}

static gboolean
differ(const Field *field, const Object *a, const Object *b)
{
    return !field_equal(field->type, gated_fields_value_of(field, a),
                        gated_fields_value_of(field, b));
}

void
gated_fields_drop(const GatedFields *self, Object *object, const Object *before)
{
    for (unsigned i = 0; i < self->n; i++) {
        const Field *field = self->off[i].field;
        if (self->off[i].kind != object_kind(object))
            continue;
        g_autoptr(Object) blank = object_new((ObjectKey *)object->key);
        if (differ(field, object, blank) && (before == NULL || !differ(field, before, blank)))
            field_copy(field->type, gated_fields_value_of(field, object),
                       gated_fields_value_of(field, blank));
    }
}
