/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random-private.h"

/* Workloads beside pods and StatefulSets, snapshots and copies, quotas and budgets. */

#define TEAM "team" /* the namespace of all these, with HAS_NAMESPACES */

static const char *
namespace_of(const Maker *self)
{
    return has(self, HAS_NAMESPACES) ? TEAM : "default";
}

/* An action that creates an object of the extras' namespace; its spec follows, then "}". */
static void
begin_object(Maker *self, const char *version, const char *kind, const char *name, unsigned number)
{
    g_string_append_printf(self->spec,
                           "  - at: %ums\n    create:\n      manifest:\n        {apiVersion: %s, "
                           "kind: %s, metadata: {name: %s%u, namespace: %s}, spec: ",
                           below(self, 60 * 1000), version, kind, name, number, namespace_of(self));
}

static void
end_object(Maker *self)
{
    g_string_append(self->spec, "}\n");
}

/* A pod that has volumes without claims of its own making. */
static void
append_template(Maker *self, const char *app, gboolean ends)
{
    gboolean is_ephemeral = has(self, HAS_EPHEMERAL) && one_in(self, 2);
    gboolean is_inline = has(self, HAS_INLINE) && one_in(self, 2);
    static const char *const classes[] = {"wffc", "files"};

    g_string_append_printf(self->spec, "template: {metadata: {labels: {app: %s}", app);
    if (ends)
        g_string_append_printf(
            self->spec, ", annotations: {kvolsim.io/runs-for: %us, kvolsim.io/fails: \"%s\"}",
            between(self, 1, 60), one_in(self, 2) ? "0" : "0.2");
    g_string_append(self->spec, "}, spec: {");
    if (ends)
        g_string_append(self->spec, "restartPolicy: Never, ");
    append_placement(self, self->spec, app);
    g_string_append_printf(self->spec,
                           "containers: [{name: c, image: i, resources: {requests: {cpu: %um}}, "
                           "volumeMounts: [%s%s%s]}], volumes: [",
                           between(self, 10, 300), is_ephemeral ? "{name: e, mountPath: /e}" : "",
                           is_ephemeral && is_inline ? ", " : "",
                           is_inline ? "{name: i, mountPath: /i}" : "");
    if (is_ephemeral) {
        g_string_append(self->spec, "{name: e, ephemeral: {volumeClaimTemplate: {spec: ");
        append_claim_spec(self, self->spec, PICK(self, classes), FALSE);
        g_string_append(self->spec, "}}}");
    }
    if (is_inline)
        g_string_append_printf(self->spec, "%s{name: i, csi: {driver: " INLINE "}}",
                               is_ephemeral ? ", " : "");
    g_string_append(self->spec, "]}}");
}

static void
add_deployment(Maker *self, unsigned number)
{
    g_autofree char *app = g_strdup_printf("deployment%u", number);

    begin_object(self, "apps/v1", "Deployment", "deployment", number);
    g_string_append_printf(
        self->spec, "{replicas: %u, %sselector: {matchLabels: {app: %s}}, ", between(self, 1, 5),
        one_in(self, 3) && !has(self, HAS_UPDATES) ? "strategy: {type: Recreate}, " : "", app);
    append_update_strategy(self, "Deployment");
    append_template(self, app, FALSE);
    g_string_append(self->spec, "}");
    end_object(self);
    update_template(self, 61, "Deployment", app, namespace_of(self));
    if (one_in(self, 2))
        g_string_append_printf(self->spec,
                               "  - {at: %us, patch: {kind: Deployment, name: %s, namespace: %s, "
                               "patch: {spec: {template: {metadata: {labels: {round: r2}}}}}}}\n",
                               between(self, 61, WORK_UNTIL_S), app, namespace_of(self));
}

static void
add_daemon_set(Maker *self, unsigned number)
{
    g_autofree char *app = g_strdup_printf("daemons%u", number);

    begin_object(self, "apps/v1", "DaemonSet", "daemons", number);
    g_string_append_printf(self->spec, "{selector: {matchLabels: {app: %s}}, ", app);
    append_update_strategy(self, "DaemonSet");
    append_template(self, app, FALSE);
    g_string_append(self->spec, "}");
    end_object(self);
    update_template(self, 61, "DaemonSet", app, namespace_of(self));
}

static void
add_job(Maker *self, unsigned number)
{
    g_autofree char *app = g_strdup_printf("job%u", number);

    begin_object(self, "batch/v1", "Job", "job", number);
    g_string_append_printf(self->spec, "{completions: %u, parallelism: %u, backoffLimit: %u, ",
                           between(self, 1, 5), between(self, 1, 3), below(self, 4));
    append_job_options(self);
    append_template(self, app, TRUE);
    g_string_append(self->spec, "}");
    end_object(self);
}

/* A pod that uses a claim of the default namespace that was made from another volume. @deleted: the
 * snapshot that goes soon afterwards has this name and the number; NULL: none does */
static void
add_copy(Maker *self,
         const char *name,
         const char *class,
         const char *source,
         const char *deleted,
         unsigned number)
{
    unsigned at = between(self, 30, WORK_UNTIL_S);

    g_string_append_printf(
        self->spec,
        "  - at: %us\n    create:\n      manifest:\n      - {apiVersion: v1, kind: "
        "PersistentVolumeClaim, metadata: {name: %s}, spec: {accessModes: [ReadWriteOnce], "
        "storageClassName: %s, resources: {requests: {storage: %uGi}}, dataSource: {%s}}}\n",
        at, name, class, between(self, 3, 4), source);
    if (one_in(self, 2))
        g_string_append_printf(
            self->spec,
            "      - {apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: "
            "c, image: i, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, "
            "persistentVolumeClaim: {claimName: %s}}]}}\n",
            name, name);
    if (deleted != NULL)
        g_string_append_printf(self->spec,
                               "  - {at: %us, delete: {kind: VolumeSnapshot, name: %s%u}}\n",
                               at + below(self, 20), deleted, number);
}

static void
add_snapshots(Maker *self)
{
    unsigned n = between(self, 1, 4);

    g_string_append_printf(
        self->objects,
        "---\napiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshotClass\nmetadata: {name: "
        "cuts}\ndriver: " DISK "\ndeletionPolicy: Delete\n");
    self->has_any_claim = TRUE;
    for (unsigned i = 0; i < n; i++) {
        const char *class = one_in(self, 2) ? "wffc" : "immediate";
        g_autofree char *source = g_strdup_printf("source%u", i);
        unsigned at = between(self, 1, WORK_UNTIL_S);
        g_string_append_printf(
            self->spec,
            "  - at: %us\n    create:\n      manifest: {apiVersion: v1, kind: "
            "PersistentVolumeClaim, metadata: {name: %s}, spec: {accessModes: [ReadWriteOnce], "
            "storageClassName: immediate, resources: {requests: {storage: %uGi}}}}\n",
            below(self, 60), source, between(self, 1, 3));
        g_string_append_printf(
            self->spec,
            "  - at: %us\n    create:\n      manifest: {apiVersion: snapshot.storage.k8s.io/v1, "
            "kind: VolumeSnapshot, metadata: {name: cut%u}, spec: {volumeSnapshotClassName: cuts, "
            "source: {persistentVolumeClaimName: %s}}}\n",
            at, i, source);
        if (one_in(self, 2)) {
            g_autofree char *name = g_strdup_printf("restored%u", i);
            g_autofree char *cut = g_strdup_printf(
                "apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: cut%u", i);
            add_copy(self, name, class, cut, one_in(self, 3) ? "cut" : NULL, i);
        }
        if (one_in(self, 2)) {
            g_autofree char *name = g_strdup_printf("clone%u", i);
            g_autofree char *claim =
                g_strdup_printf("kind: PersistentVolumeClaim, name: %s", source);
            add_copy(self, name, class, claim, NULL, i);
        }
        if (one_in(self, 3))
            g_string_append_printf(self->spec,
                                   "  - {at: %us, delete: {kind: VolumeSnapshot, name: cut%u}}\n",
                                   at + below(self, 60), i);
        if (one_in(self, 4))
            g_string_append_printf(
                self->spec, "  - {at: %us, delete: {kind: PersistentVolumeClaim, name: %s}}\n",
                at + below(self, 30), source);
    }
    self->n_snapshots = n;
}

static void
add_disk_pods(Maker *self)
{
    unsigned n = between(self, 2, 8);

    for (unsigned i = 0; i < n; i++) {
        g_string_append_printf(
            self->spec,
            "  - at: %us\n    create:\n      manifest: {apiVersion: v1, kind: Pod, metadata: "
            "{name: disks%u}, spec: {",
            below(self, 120), i);
        append_placement(self, self->spec, "disks");
        g_string_append_printf(
            self->spec,
            "containers: [{name: c, image: i, volumeMounts: [{name: a, mountPath: /a}, {name: b, "
            "mountPath: /b}]}], volumes: [{name: a, awsElasticBlockStore: {volumeID: vol-%u}}, "
            "{name: b, awsElasticBlockStore: {volumeID: vol-%u}}]}}\n",
            2 * i, 2 * i + 1);
        if (one_in(self, 2))
            g_string_append_printf(self->spec,
                                   "  - {at: %us, delete: {kind: Pod, name: disks%u}}\n",
                                   between(self, 120, WORK_UNTIL_S), i);
    }
}

static void
add_limits_of_users(Maker *self)
{
    if (has(self, HAS_QUOTA))
        g_string_append_printf(
            self->objects,
            "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\nspec:\n  hard: "
            "{requests.storage: %uGi, persistentvolumeclaims: \"%u\"}\n",
            between(self, 4, 40), between(self, 2, 20));
    for (unsigned i = 0; has(self, HAS_DRAINS) && i < self->n_sets; i++)
        g_string_append_printf(
            self->objects,
            "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: budget%u}\n"
            "spec: {%s, selector: {matchLabels: {app: set%u}}}\n",
            i, one_in(self, 2) ? "maxUnavailable: 1" : "minAvailable: 1", i);
}

void
add_extras(Maker *self)
{
    static const struct {
        Feature feature;
        void (*add)(Maker *, unsigned);
    } kinds[] = {
        {HAS_DEPLOYMENTS, add_deployment},
        {HAS_DAEMONS,     add_daemon_set},
        {HAS_JOBS,        add_job       }
    };

    if (has(self, HAS_NAMESPACES))
        g_string_append(self->objects,
                        "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " TEAM "}\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        for (unsigned n = has(self, kinds[i].feature) ? between(self, 1, 2) : 0; n > 0; n--)
            kinds[i].add(self, n);
    if (has(self, HAS_SNAPSHOTS))
        add_snapshots(self);
    if (has(self, HAS_DISKS))
        add_disk_pods(self);
    if (has(self, HAS_CRON))
        for (unsigned n = between(self, 1, 2); n > 0; n--)
            add_cron_job(self, n, namespace_of(self));
    if (has(self, HAS_GROUPS))
        add_group_snapshots(self);
    add_limits_of_users(self);
}

void
end_extras(Maker *self)
{
    static const struct {
        Feature feature;
        const char *kind;
    } kinds[] = {
        {HAS_DEPLOYMENTS, "Deployment"},
        {HAS_DAEMONS,     "DaemonSet" },
        {HAS_CRON,        "CronJob"   },
        {HAS_JOBS,        "Job"       }
    };

    if (has(self, HAS_NAMESPACES) && one_in(self, 2))
        g_string_append_printf(self->spec,
                               "  - {at: %us, delete: {kind: Namespace, name: " TEAM "}} # end\n",
                               self->delete_at_s);
    else
        for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
            if (has(self, kinds[i].feature))
                g_string_append_printf(
                    self->spec,
                    "  - {at: %us, delete: {kind: %s, name: \"*\", namespace: %s}} # end\n",
                    self->delete_at_s + below(self, 20), kinds[i].kind, namespace_of(self));
    if (has(self, HAS_SNAPSHOTS))
        g_string_append_printf(self->spec,
                               "  - {at: %us, delete: {kind: VolumeSnapshot, name: \"*\"}} # end\n",
                               self->delete_at_s + below(self, 60));
    if (has(self, HAS_GROUPS))
        g_string_append_printf(
            self->spec, "  - {at: %us, delete: {kind: VolumeGroupSnapshot, name: \"*\"}} # end\n",
            self->delete_at_s + below(self, 60));
    if (self->n_copies == 0 && has(self, HAS_SNAPSHOTS | HAS_DISKS))
        g_string_append_printf(self->spec,
                               "  - {at: %us, delete: {kind: Pod, name: \"*\"}} # end\n",
                               self->delete_at_s);
}
