/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-private.h"

#include <string.h>

/* Changes of what exists already: templates that are updated, classes of attributes, namesakes,
 * volumes that users delete, drivers that fail for minutes; and CronJobs and groups of snapshots.
 */

/* ---- Updates of templates ---- */

static void
append_rolling(Maker *self, const char *kind)
{
    static const char *const numbers[] = {"1", "2", "\"25%\"", "\"50%\""};

    if (g_str_equal(kind, "StatefulSet"))
        g_string_append_printf(self->spec, "rollingUpdate: {partition: %u}", below(self, 3));
    else if (g_str_equal(kind, "DaemonSet") && one_in(self, 2))
        g_string_append_printf(self->spec, "rollingUpdate: {maxSurge: %s, maxUnavailable: 0}",
                               PICK(self, numbers));
    else
        g_string_append_printf(self->spec, "rollingUpdate: {maxUnavailable: %s}",
                               PICK(self, numbers));
}

void
append_update_strategy(Maker *self, const char *kind)
{
    gboolean is_deployment = g_str_equal(kind, "Deployment");

    if (!has(self, HAS_UPDATES))
        return;
    if (one_in(self, 3))
        g_string_append_printf(self->spec, "minReadySeconds: %u, ", between(self, 1, 20));
    if (one_in(self, 3))
        g_string_append_printf(self->spec, "revisionHistoryLimit: %u, ", below(self, 3));
    if (is_deployment && one_in(self, 3))
        g_string_append_printf(self->spec, "progressDeadlineSeconds: %u, ", between(self, 30, 200));
    if (one_in(self, 3))
        return;
    g_string_append(self->spec, is_deployment ? "strategy: {" : "updateStrategy: {");
    if (!is_deployment && one_in(self, 4)) {
        g_string_append(self->spec, "type: OnDelete");
    } else {
        g_string_append(self->spec, "type: RollingUpdate, ");
        append_rolling(self, kind);
    }
    g_string_append(self->spec, "}, ");
}

void
update_template(Maker *self, unsigned at, const char *kind, const char *name, const char *namespace)
{
    for (unsigned i = has(self, HAS_UPDATES) ? between(self, 1, 3) : 0; i > 0; i--)
        g_string_append_printf(self->spec,
                               "  - {at: %us, patch: {kind: %s, name: %s, namespace: %s, patch: "
                               "{spec: {template: {metadata: {labels: {round: r%u}}}}}}}\n",
                               at + below(self, 100), kind, name, namespace, below(self, 3));
}

/* ---- Jobs ---- */

static void
append_job_policies(Maker *self)
{
    switch (below(self, 4)) {
    case 0:
        g_string_append_printf(self->spec,
                               "podFailurePolicy: {rules: [{action: %s, onExitCodes: {operator: "
                               "In, values: [1, 42]}}]}, ",
                               one_in(self, 2) ? "Ignore" : "Count");
        return;
    case 1:
        g_string_append(self->spec, "podReplacementPolicy: Failed, ");
        return;
    case 2:
        g_string_append_printf(self->spec,
                               "completionMode: Indexed, backoffLimitPerIndex: %u, "
                               "maxFailedIndexes: %u, ",
                               below(self, 3), below(self, 2));
        return;
    default:
        g_string_append_printf(
            self->spec, "completionMode: Indexed, successPolicy: {rules: [{succeededCount: 1}]}, ");
        return;
    }
}

void
append_job_options(Maker *self)
{
    if (one_in(self, 4))
        g_string_append_printf(self->spec, "ttlSecondsAfterFinished: %u, ", below(self, 120));
    if (one_in(self, 4))
        g_string_append_printf(self->spec, "activeDeadlineSeconds: %u, ", between(self, 10, 200));
    if (one_in(self, 3))
        append_job_policies(self);
    else if (one_in(self, 2))
        g_string_append(self->spec, "completionMode: Indexed, ");
}

/* It rests before the end, so that all that it made comes to rest, too. */
void
add_cron_job(Maker *self, unsigned number, const char *namespace)
{
    static const char *const policies[] = {"Allow", "Forbid", "Replace"};
    static const char *const schedules[] = {"* * * * *", "*/2 * * * *", "@hourly"};

    g_string_append_printf(
        self->spec,
        "  - at: %ums\n    create:\n      manifest: {apiVersion: batch/v1, kind: CronJob, "
        "metadata: {name: cron%u, namespace: %s}, spec: {schedule: \"%s\", concurrencyPolicy: %s, ",
        below(self, 60 * 1000), number, namespace, PICK(self, schedules), PICK(self, policies));
    if (one_in(self, 2))
        g_string_append_printf(self->spec,
                               "successfulJobsHistoryLimit: %u, failedJobsHistoryLimit: %u, ",
                               below(self, 3), below(self, 3));
    if (one_in(self, 4))
        g_string_append_printf(self->spec, "startingDeadlineSeconds: %u, ", between(self, 1, 60));
    g_string_append_printf(
        self->spec,
        "jobTemplate: {spec: {backoffLimit: %u, template: {metadata: {labels: {app: cron%u}, "
        "annotations: {kvolsim.io/runs-for: %us, kvolsim.io/fails: \"%s\"}}, spec: "
        "{restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}\n",
        below(self, 3), number, between(self, 1, 150), one_in(self, 2) ? "0" : "0.3");
    g_string_append_printf(self->spec,
                           "  - {at: %us, patch: {kind: CronJob, name: cron%u, namespace: %s, "
                           "patch: {spec: {suspend: true}}}}\n",
                           between(self, 300, 600), number, namespace);
}

/* ---- Classes of attributes ---- */

void
add_attributes_classes(Maker *self)
{
    static const char *const names[] = {"silver", "gold"};

    for (unsigned i = 0; has(self, HAS_MODIFICATIONS) && i < G_N_ELEMENTS(names); i++)
        g_string_append_printf(self->objects,
                               "---\napiVersion: storage.k8s.io/v1beta1\nkind: "
                               "VolumeAttributesClass\nmetadata: {name: %s}\ndriverName: " DISK
                               "\nparameters: {iops: \"%u\"}\n",
                               names[i], 100 + i);
}

void
modify_claim(Maker *self, unsigned at)
{
    char name[32];

    draw_claim(self, name, sizeof name);
    if (has(self, HAS_MODIFICATIONS) && name[0] != '\0')
        g_string_append_printf(self->spec,
                               "  - {at: %us, patch: {kind: PersistentVolumeClaim, name: %s, "
                               "patch: {spec: {volumeAttributesClassName: %s}}}}\n",
                               at, name, one_in(self, 2) ? "silver" : "gold");
}

/* ---- Groups of snapshots ---- */

void
add_group_snapshots(Maker *self)
{
    unsigned n_claims = between(self, 1, 3), at = between(self, 10, WORK_UNTIL_S);

    g_string_append(self->objects,
                    "---\napiVersion: groupsnapshot.storage.k8s.io/v1beta1\nkind: "
                    "VolumeGroupSnapshotClass\nmetadata: {name: groups}\ndriver: " DISK
                    "\ndeletionPolicy: Delete\n");
    self->has_any_claim = TRUE;
    g_string_append_printf(
        self->spec,
        "  - at: %us\n    create:\n      count: %u\n      manifest: {apiVersion: v1, kind: "
        "PersistentVolumeClaim, metadata: {name: member, labels: {group: db}}, spec: {accessModes: "
        "[ReadWriteOnce], storageClassName: immediate, resources: {requests: {storage: 1Gi}}}}\n",
        below(self, 60), n_claims);
    g_string_append_printf(
        self->spec,
        "  - at: %us\n    create:\n      manifest: {apiVersion: "
        "groupsnapshot.storage.k8s.io/v1beta1, kind: VolumeGroupSnapshot, metadata: {name: group}, "
        "spec: {volumeGroupSnapshotClassName: groups, source: {selector: {matchLabels: {group: "
        "db}}}}}\n",
        at);
    /* SNAP-89: a group that is not ready may cost many requests a second, for ever */
    g_string_append_printf(self->spec,
                           "  - {at: %us, delete: {kind: VolumeGroupSnapshot, name: group}}\n",
                           at + between(self, 5, 120));
}

/* ---- Namesakes ---- */

void
recreate_set(Maker *self, unsigned at)
{
    unsigned number = self->n_sets == 0 ? 0 : below(self, self->n_sets);

    if (!has(self, HAS_NAMESAKES) || self->n_sets == 0)
        return;
    g_string_append_printf(self->spec, "  - {at: %us, delete: {kind: StatefulSet, name: set%u}}\n",
                           at, number);
    g_string_append_printf(self->spec, "  - at: %ums\n", at * 1000 + below(self, 5000));
    append_stateful_set(self, number);
}

/* Claims of pods; the pods come again, too. */
void
recreate_claims(Maker *self, unsigned at)
{
    unsigned pods = self->n_copies == 0 ? 0 : below(self, self->n_copies);

    if (!has(self, HAS_NAMESAKES) || self->n_copies == 0 || self->n_claims[pods] == 0)
        return;
    g_string_append_printf(self->spec, "  - {at: %us, delete: {kind: Pod, name: p%u-*}}\n", at,
                           pods);
    g_string_append_printf(self->spec,
                           "  - {at: %us, delete: {kind: PersistentVolumeClaim, name: c%u-*}}\n",
                           at, pods);
    for (unsigned i = between(self, 1, 3); i > 0; i--) {
        at += between(self, 1, 40);
        g_string_append_printf(self->spec, "  - at: %us\n%s", at, self->pods_again[pods]);
    }
}

/* ---- What users and drivers do to volumes ---- */

void
delete_volume(Maker *self, unsigned at)
{
    if (has(self, HAS_LOST_VOLUMES))
        g_string_append_printf(self->spec,
                               "  - {at: %us, delete: {kind: PersistentVolume, name: %s-%u*}}\n",
                               at, one_in(self, 2) ? "static" : "pvc", below(self, 10));
}

/* Until the errors are over, each call of the method fails. */
void
break_driver(Maker *self, unsigned at)
{
    static const char *const drivers[] = {DISK, SAN, FILES};
    static const char *const methods[] = {"CreateVolume",
                                          "DeleteVolume",
                                          "NodeStageVolume",
                                          "NodePublishVolume",
                                          "NodeUnstageVolume",
                                          "NodeUnpublishVolume",
                                          "ControllerExpandVolume",
                                          "ControllerPublishVolume",
                                          "ControllerUnpublishVolume"};
    unsigned which = below(self, G_N_ELEMENTS(drivers));

    if (!has(self, HAS_LONG_ERRORS))
        return;
    g_string_append_printf(
        self->spec, "  - {at: %us, setDriver: {name: %s, errors: [{method: %s, code: %s}]}}\n", at,
        drivers[which], methods[below(self, which < 2 ? 9 : 7)],
        one_in(self, 2) ? "UNAVAILABLE" : "INTERNAL");
    if (self->n_copies > 0) /* pods that go meanwhile may leave volumes behind */
        g_string_append_printf(self->spec, "  - {at: %us, delete: {kind: Pod, name: p%u-*}}\n",
                               at + below(self, 30), below(self, self->n_copies));
    g_string_append_printf(self->spec, "  - {at: %us, setDriver: {name: %s, errors: []}}\n",
                           at + between(self, 300, 900), drivers[which]);
}
