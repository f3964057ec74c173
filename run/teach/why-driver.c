/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "why-driver.h"

#include <string.h>

#include "models/api/lease.h"
#include "models/external-attacher/external-attacher.h"
#include "models/external-provisioner/external-provisioner.h"
#include "models/external-snapshotter/external-snapshotter.h"
#include "models/workloads/daemon-set/nodes.h"

/* A driver that is its pods (docs/rules/driver-pods.md): what keeps them from running. */

typedef struct {
    const Run *run;
    unsigned driver; /* its number */
    const char *driver_name, *node;
    GPtrArray *chain;
} Question;

static const Object *
get(const Question *self, ObjectKind kind, const char *namespace, const char *name)
{
    const ObjectKey *key = objects_find_key(run_objects(self->run), kind, namespace, name);

    return key == NULL ? NULL : api_server_get(cluster_api(run_cluster(self->run)), key);
}

static void G_GNUC_PRINTF(2, 3) add_link(const Question *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_ptr_array_add(self->chain, g_strdup_vprintf(format, args));
    va_end(args);
}

/* Returns: (borrowed): a pod of the workload: that on the node, or one that does not run if there
 * is no node; NULL: none */
static const Pod *
find_pod(const Question *self, const DriverWorkload *workload)
{
    const Objects *objects = run_objects(self->run);

    for (uint32_t i = 0; i < objects_n_keys(objects, KIND_POD); i++) {
        const ObjectKey *key = objects_key_at(objects, KIND_POD, i);
        const Object *object = api_server_get(cluster_api(run_cluster(self->run)), key);
        const Pod *pod = POD_CONST(object);
        if (pod != NULL && strcmp(key->namespace, workload->namespace) == 0 &&
            object->labels != NULL && string_map_contains(object->labels, workload->labels) &&
            (self->node != NULL ? g_strcmp0(pod->node_name, self->node) == 0
                                : pod->phase == POD_PENDING))
            return pod;
    }
    return NULL;
}

static const char *
told_by_pod(const Question *self, const Pod *pod)
{
    const char *message = pod->scheduled.message != NULL ? pod->scheduled.message : "";

    add_link(self, "pod/%s is %s%s%s%s%s", object_name(&pod->meta),
             object_is_deleted(&pod->meta) ? "being stopped" : pod_phase_name(pod->phase),
             pod->node_name != NULL ? " on " : "", pod->node_name != NULL ? pod->node_name : "",
             *message != '\0' ? ": " : "", message);
    return "driver-pod-starting";
}

/* DS-1. Returns: (owned): why the set has no pod on the node */
static char *
why_no_daemon(const Question *self, const DaemonSet *set, const Node *node)
{
    g_autoptr(GString) text = g_string_new(NULL);
    Tolerations *tolerations = daemon_tolerations(set, objects_strings(run_objects(self->run)));

    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        const Taint *taint = &node->taints->items[i];
        if (taint->effect != TAINT_PREFER_NO_SCHEDULE &&
            tolerations_find(tolerations, taint) == NULL)
            g_string_append_printf(text, "%s%s%s%s", text->len > 0 ? ", " : "", taint->key,
                                   *taint->value != '\0' ? "=" : "", taint->value);
    }
    tolerations_unref(tolerations);
    return text->len > 0 ? g_strdup_printf(": it does not tolerate the node's taint %s", text->str)
                         : g_strdup("");
}

/* @workload has a part of the driver that does not run. */
static const char *
told_by_workload(const Question *self, const DriverWorkload *workload)
{
    const ObjectKind kind = strcmp(workload->kind, "DaemonSet") == 0    ? KIND_DAEMON_SET
                            : strcmp(workload->kind, "Deployment") == 0 ? KIND_DEPLOYMENT
                                                                        : KIND_STATEFUL_SET;
    const Object *object = get(self, kind, workload->namespace, workload->name);
    const Object *node = self->node == NULL ? NULL : get(self, KIND_NODE, NULL, self->node);
    g_autofree char *name = g_ascii_strdown(workload->kind, -1);
    const Pod *pod = object == NULL ? NULL : find_pod(self, workload);
    g_autofree char *reason =
        object == NULL || node == NULL || kind != KIND_DAEMON_SET
            ? g_strdup("")
            : why_no_daemon(self, DAEMON_SET_CONST(object), (const Node *)node);

    if (pod != NULL)
        return told_by_pod(self, pod);
    if (object == NULL)
        add_link(self, "%s/%s does not exist", name, workload->name);
    else
        add_link(self, "%s/%s has no pod%s%s%s", name, workload->name,
                 self->node != NULL ? " on " : " that runs", self->node != NULL ? self->node : "",
                 reason);
    return "no-driver-pod";
}

static const char *
ask_workloads(const Question *self, const ProcessClass *sidecar)
{
    const DriverWorkload *workload;

    for (unsigned i = 0;
         (workload = cluster_driver_workload(run_cluster(self->run), self->driver, i)) != NULL;
         i++) {
        gboolean is_meant = sidecar == NULL && workload->has_registrar;
        for (unsigned k = 0; k < workload->n_sidecars; k++)
            is_meant |= workload->sidecars[k] == sidecar;
        if (is_meant)
            return told_by_workload(self, workload);
    }
    return NULL;
}

/* The sidecar runs. Whether it waits for another's Lease (DP-4). */
static const char *
ask_election(const Question *self, const ProcessClass *sidecar)
{
    const DriverWorkload *workload =
        cluster_driver_workload(run_cluster(self->run), self->driver, 0);

    if (workload == NULL ||
        !cluster_awaits_leader(run_cluster(self->run), sidecar->name, self->driver_name))
        return NULL;
    g_autofree char *lock = g_strconcat(sidecar->election->lock, self->driver_name, NULL);
    g_autofree char *name = leader_election_name(lock);
    const Object *lease = get(self, KIND_LEASE, workload->namespace, name);
    const char *holder = lease == NULL ? NULL : LEASE_CONST(lease)->holder;
    add_link(self, "no %s leads: the lease/%s %s", sidecar->name, name,
             holder == NULL ? "is free" : "still belongs to a process that is gone");
    return "no-leader";
}

const char *
why_driver(
    const Run *run, const char *cause, const char *driver, const char *node, GPtrArray *chain)
{
    static const struct {
        const char *cause;
        const ProcessClass *sidecar; /* NULL: the plugin on the node */
        gboolean runs;
    } rows[] = {
        {"driver-not-registered", NULL,                          FALSE},
        {"no-attacher",           &external_attacher_process,    FALSE},
        {"no-provisioner",        &external_provisioner_process, FALSE},
        {"no-snapshotter",        &external_snapshotter_process, FALSE},
        {"attaching",             &external_attacher_process,    TRUE },
        {"provisioning",          &external_provisioner_process, TRUE },
    };
    Question self = {.run = run, .driver_name = driver, .node = node, .chain = chain};

    if (driver == NULL || !cluster_find_driver_number(run_cluster(run), driver, &self.driver))
        return NULL;
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (strcmp(rows[i].cause, cause) != 0)
            continue;
        if (rows[i].sidecar != NULL)
            self.node = NULL; /* it may run anywhere */
        return rows[i].runs ? ask_election(&self, rows[i].sidecar)
                            : ask_workloads(&self, rows[i].sidecar);
    }
    return NULL;
}
