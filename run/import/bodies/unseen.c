/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects and requests of a log without bodies (level Metadata): the pod, the claim, the taint or
 * the forced deletion that the later requests imply. A kubelet looks for a pod's claims in the
 * pod's first seconds, a taint acts at once, and a class suits if the claim's later requests fit
 * it. The remaining members are taken from objects in the dumps. */
#include "unseen.h"
#include "models/api/fields.h"

#include <string.h>

/* A dump is taken that long after a pod's deletion at least, if it is to show that it is gone: a
 * usual grace period has passed. */
#define SURELY_GONE (60 * SIM_SECOND)
/* A kubelet renews its lease every 10 s, and reports its node every 10 s or more. */
#define SILENT_FOR (30 * SIM_SECOND)
/* A kubelet looks for a pod's claims with the first passes over the new pod. */
#define LOOKS_WITHIN (1500 * SIM_MS)
#define EPHEMERAL_WITHIN (10 * SIM_SECOND)
/* Taints act at once. */
#define EVICTS_WITHIN (5 * SIM_SECOND)

static gboolean
is_same_object(const RecordedWrite *write, const RecordedWrite *other)
{
    return other->kind == write->kind && other->name == write->name &&
           other->namespace == write->namespace;
}

static unsigned
unseen_place_of(const Writes *writes, const RecordedWrite *write)
{
    unsigned i = 0;

    while (i < writes->writes->len && writes->writes->pdata[i] != write)
        i++;
    return i;
}

static gboolean
is_on(const RecordedWrite *write, const char *verb, const char *subresource)
{
    return g_str_equal(write->verb, verb) && g_str_equal(write->subresource, subresource);
}

/* ---- Forced deletes ---- */

gboolean
unseen_was_forced(const Writes *writes, const GPtrArray *dumps, const RecordedWrite *write)
{
    if (write->has_body || write->kind->model != KIND_POD || !is_on(write, "delete", "") ||
        write->sender->side != SENDER_OUTSIDE || write->code >= 400)
        return FALSE;
    for (unsigned i = unseen_place_of(writes, write) + 1; i < writes->writes->len; i++) {
        const RecordedWrite *other = writes->writes->pdata[i];
        if (!is_same_object(write, other) || other->code >= 400)
            continue;
        if (is_on(other, "create", "")) /* the name was free */
            return other->at < write->at + SURELY_GONE;
        if (is_on(other, "delete", "") && other->sender->side == SENDER_MODELLED)
            return FALSE;
        if (is_on(other, "patch", "status") && other->sender->node != NULL)
            return FALSE; /* its kubelet stops it */
    }
    for (unsigned i = 0; i < dumps->len; i++) {
        const Dump *dump = dumps->pdata[i];
        if (dump->newest >= write->at + SURELY_GONE)
            return dump_find(dump, "Pod", write->namespace, write->name) == NULL;
    }
    return FALSE;
}

/* ---- Taints ---- */

static gboolean
is_taint(const RecordedWrite *write)
{
    return strstr(write->query, "fieldManager=kubectl-taint") != NULL && write->code < 400;
}

/* Whether the kubelet of the node says nothing around that time. */
static gboolean
is_silent(const Writes *writes, const char *node, SimTime at)
{
    for (unsigned i = 0; i < writes->processes->len; i++) {
        const ProcessWrites *seen = writes->processes->pdata[i];
        if (g_strcmp0(seen->node, node) != 0)
            continue;
        for (unsigned k = 0; k < seen->requests->len; k++)
            if (ABS(g_array_index(seen->requests, SimTime, k) - at) < SILENT_FOR)
                return FALSE;
        return TRUE;
    }
    return FALSE;
}

static gboolean
evicts(const Writes *writes, const RecordedWrite *write)
{
    for (unsigned i = unseen_place_of(writes, write) + 1; i < writes->writes->len; i++) {
        const RecordedWrite *other = writes->writes->pdata[i];
        if (other->at > write->at + EVICTS_WITHIN)
            break;
        if (other->kind->model == KIND_POD && is_on(other, "delete", "") &&
            g_str_equal(other->sender->name, "node-controller"))
            return TRUE;
    }
    return FALSE;
}

/* The same taint comes and goes in turn; the first request tells which it is. */
char *
unseen_taint(const Writes *writes, const RecordedWrite *write)
{
    const RecordedWrite *first = write;
    unsigned n = 0;

    for (unsigned i = 0; i < writes->writes->len && writes->writes->pdata[i] != write; i++) {
        const RecordedWrite *other = writes->writes->pdata[i];
        if (!is_same_object(write, other) || !is_taint(other))
            continue;
        first = n % 2 == 0 ? other : first;
        n++;
    }
    const char *taint = is_silent(writes, write->name, first->at)
                            ? "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
                        : evicts(writes, first) ? "example.com/taint:NoExecute"
                                                : "example.com/taint:NoSchedule";
    return g_strconcat(taint, n % 2 == 0 ? "" : "-", NULL);
}

/* ---- Claims ---- */

static gboolean
has_write_of(const Writes *writes, RecordedKind kind, const char *name, const char *sender)
{
    for (unsigned i = 0; i < writes->writes->len; i++) {
        const RecordedWrite *other = writes->writes->pdata[i];
        if (write_kind_recorded(other->kind) == (int)kind && g_strcmp0(other->name, name) == 0 &&
            g_str_equal(other->sender->name, sender))
            return TRUE;
    }
    return FALSE;
}

/* The later life of a claim. */
typedef struct {
    gboolean waited, attached, deleted; /* deleted: its volume, too */
} ClaimFate;

static ClaimFate
fate_of(const Writes *writes, const RecordedWrite *write)
{
    ClaimFate fate = {FALSE, FALSE, FALSE};
    const char *uid = write->uid;

    for (unsigned i = unseen_place_of(writes, write) + 1; i < writes->writes->len; i++) {
        const RecordedWrite *other = writes->writes->pdata[i];
        if (!is_same_object(write, other) || other->code >= 400)
            continue;
        if (is_on(other, "create", ""))
            break;
        uid = uid != NULL ? uid : other->uid;
        fate.waited |= g_str_equal(other->sender->name, "kube-scheduler");
    }
    if (uid == NULL)
        return fate;
    g_autofree char *volume = g_strconcat("pvc-", uid, NULL);
    fate.attached = has_write_of(writes, RECORDED_VOLUME, volume, "external-attacher");
    fate.deleted = has_write_of(writes, RECORDED_VOLUME, volume, "external-provisioner");
    return fate;
}

static gboolean
is_attachable(const GPtrArray *dumps, const char *driver)
{
    for (unsigned i = 0; driver != NULL && i < dumps->len; i++) {
        const json_t *found = dump_find(dumps->pdata[i], "CSIDriver", NULL, driver);
        if (found != NULL)
            return !json_is_false(
                json_object_get(json_object_get(found, "spec"), "attachRequired"));
    }
    return TRUE;
}

/* How well the class fits the claim's later life: 0 is the worst. */
static int
suits(const GPtrArray *dumps, const json_t *class, const ClaimFate *fate)
{
    const char *mode = json_path_string(class, "volumeBindingMode");
    const char *driver = json_path_string(class, "provisioner");
    const json_t *marks = json_object_get(json_object_get(class, "metadata"), "annotations");
    const char *is_default =
        json_string_value(json_object_get(marks, "storageclass.kubernetes.io/is-default-class"));

    return 4 * ((g_strcmp0(mode, "WaitForFirstConsumer") == 0) == fate->waited) +
           2 * (is_attachable(dumps, driver) == fate->attached) +
           (g_strcmp0(is_default, "true") == 0);
}

static json_t *
make_claim(const Writes *writes, const GPtrArray *dumps, const RecordedWrite *write)
{
    const ClaimFate fate = fate_of(writes, write);
    const char *best = NULL;
    const json_t *class;
    int best_suits = -1;

    for (unsigned i = 0; i < dumps->len; i++)
        for (guint k = 0; (class = dump_next(dumps->pdata[i], "StorageClass", &k)) != NULL;) {
            int n = suits(dumps, class, &fate);
            if (n <= best_suits)
                continue;
            best_suits = n;
            best = dump_meta(class, "name");
        }
    if (best == NULL)
        return NULL;
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:[s], s:s, s:{s:{s:s}}}}", "apiVersion", "v1",
                     "kind", "PersistentVolumeClaim", "metadata", "namespace", write->namespace,
                     "name", write->name, "spec", "accessModes", "ReadWriteOnce",
                     "storageClassName", best, "resources", "requests", "storage", "1Gi");
}

/* ---- Pods ---- */

/* The first report of its kubelet. NULL: there is none */
static const RecordedWrite *
first_report(const Writes *writes, const RecordedWrite *write)
{
    for (unsigned i = unseen_place_of(writes, write) + 1; i < writes->writes->len; i++) {
        const RecordedWrite *other = writes->writes->pdata[i];
        if (!is_same_object(write, other) || other->code >= 400)
            continue;
        if (is_on(other, "create", ""))
            return NULL;
        if (is_on(other, "patch", "status") && other->sender->node != NULL)
            return other;
    }
    return NULL;
}

/* The claims of a pod's ephemeral volumes, which begin with its name and are made right after it;
 * the rest of the name is the volume's. */
static void
add_ephemeral(json_t *volumes,
              GHashTable *names,
              const Writes *writes,
              const GPtrArray *dumps,
              const RecordedWrite *pod)
{
    g_autofree char *prefix = g_strconcat(pod->name, "-", NULL);

    for (unsigned i = unseen_place_of(writes, pod) + 1; i < writes->writes->len; i++) {
        const RecordedWrite *made = writes->writes->pdata[i];
        if (made->at > pod->at + EPHEMERAL_WITHIN)
            break;
        if (made->kind->model != KIND_CLAIM || !is_on(made, "create", "") || made->name == NULL ||
            made->code >= 400 || made->namespace != pod->namespace ||
            !g_str_equal(made->sender->name, "ephemeral-volume-controller") ||
            !g_str_has_prefix(made->name, prefix))
            continue;
        json_t *claim = make_claim(writes, dumps, made);
        json_t *spec = json_object_get(claim, "spec");
        if (spec != NULL && g_hash_table_add(names, (char *)made->name))
            json_array_append_new(volumes, json_pack("{s:s, s:{s:{s:O}}}", "name",
                                                     made->name + strlen(prefix), "ephemeral",
                                                     "volumeClaimTemplate", "spec", spec));
        json_decref(claim);
    }
}

/* The claims that the kubelet looked for next; a pod that came with another one has that one's,
 * too.
 */
static json_t *
claims_of_pod(const Writes *writes,
              const GPtrArray *dumps,
              const RecordedWrite *pod,
              const RecordedWrite *report)
{
    json_t *volumes = json_array();
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

    add_ephemeral(volumes, names, writes, dumps, pod);
    for (unsigned i = 0; i < writes->looks->len; i++) {
        const ClaimLook *look = &g_array_index(writes->looks, ClaimLook, i);
        if (look->at < report->received || look->at > report->received + LOOKS_WITHIN ||
            g_strcmp0(look->node, report->sender->node) != 0 ||
            g_strcmp0(look->namespace, report->namespace) != 0 ||
            !g_hash_table_add(names, (char *)look->name))
            continue;
        g_autofree char *volume = g_strdup_printf("volume-%u", g_hash_table_size(names));
        json_array_append_new(volumes, json_pack("{s:s, s:{s:s}}", "name", volume,
                                                 "persistentVolumeClaim", "claimName", look->name));
    }
    return volumes;
}

static json_t *
make_pod(const Writes *writes, const GPtrArray *dumps, const RecordedWrite *write)
{
    const RecordedWrite *report = first_report(writes, write);

    if (report == NULL)
        return NULL;
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:[{s:s, s:s}], s:o}}", "apiVersion", "v1",
                     "kind", "Pod", "metadata", "namespace", write->namespace, "name", write->name,
                     "spec", "containers", "name", "main", "image", "pause:1", "volumes",
                     claims_of_pod(writes, dumps, write, report));
}

json_t *
unseen_object(const Writes *writes, const GPtrArray *dumps, const RecordedWrite *write)
{
    if (write->code >= 400 || write->has_body || write->namespace == NULL)
        return NULL;
    return write->kind->model == KIND_CLAIM ? make_claim(writes, dumps, write)
           : write->kind->model == KIND_POD ? make_pod(writes, dumps, write)
                                            : NULL;
}
