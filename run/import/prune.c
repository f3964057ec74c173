/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removes members that no model reads or that may be secret: commands, environment, probes,
 * addresses, contents of Secrets, unknown annotations. Equal contents leave an equal number in an
 * annotation, so that templates which differed still differ and a rollout stays one; of the removed
 * contents only checksums are kept, and only while importing. */
#include "prune.h"
#include "models/api/fields.h"

#include <string.h>

#define PRUNED "kvolsim.io/pruned"

struct Pruner {
    ImportReport *report;
    GHashTable *numbers; /* checksum of what a template lost (owned) -> number */
};

/* Members of a container that models read. All others go: command, args, env, envFrom, lifecycle,
 * probes and so on may hold passwords. */
static const char *const container_kept[] = {
    "name", "image", "resources", "restartPolicy", "volumeMounts", "volumeDevices", "$patch", NULL,
};

static const char *const pod_dropped[] = {
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "hostAliases",
    "hostIPC",
    "hostPID",
    "hostUsers",
    "imagePullSecrets",
    "os",
    "resourceClaims",
    "runtimeClassName",
    "serviceAccount",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    NULL,
};

static const char *const container_lists[] = {"containers", "initContainers", "ephemeralContainers",
                                              NULL};
static const char *const status_lists[] = {"containerStatuses", "initContainerStatuses",
                                           "ephemeralContainerStatuses", NULL};
/* Members of a status: addresses of the network, and lists of images. */
static const char *const status_dropped[] = {"podIP",  "podIPs",    "hostIP",          "hostIPs",
                                             "images", "addresses", "daemonEndpoints", NULL};
/* They tell one machine of the world from all others. */
static const char *const machine_dropped[] = {"machineID", "systemUUID", "bootID", NULL};
static const char *const container_status_dropped[] = {"imageID", "containerID", "user",
                                                       "volumeMounts", NULL};

Pruner *
pruner_new(ImportReport *report)
{
    Pruner *self = g_new0(Pruner, 1);

    self->report = report;
    self->numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return self;
}

void
pruner_free(Pruner *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->numbers);
    g_free(self);
}

/* Removes a member, and keeps it in @lost (nullable). */
static void
drop(json_t *object, const char *member, json_t *lost)
{
    json_t *value = json_object_get(object, member);

    if (value == NULL)
        return;
    if (lost != NULL) {
        json_array_append_new(lost, json_string(member));
        json_array_append(lost, value);
    }
    json_object_del(object, member);
}

static void
drop_all(json_t *object, const char *const *members, json_t *lost)
{
    for (; *members != NULL; members++)
        drop(object, *members, lost);
}

/* Annotations that some model reads: those of Kubernetes and its sidecars, and our own. */
static gboolean
annotation_is_kept(const char *key)
{
    static const char *const told[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                       "kubernetes.io/change-cause", "kubernetes.io/description",
                                       NULL};
    static const char *const domains[] = {"kubernetes.io", "k8s.io", "kvolsim.io", NULL};
    const char *slash = strchr(key, '/');
    g_autofree char *domain = slash != NULL ? g_strndup(key, (gsize)(slash - key)) : g_strdup(key);

    if (g_strv_contains(told, key))
        return FALSE;
    if (strcmp(key, "deprecated.daemonset.template.generation") == 0)
        return TRUE;
    for (unsigned i = 0; slash != NULL && domains[i] != NULL; i++) {
        gsize length = strlen(domain), tail = strlen(domains[i]);
        if (g_str_has_suffix(domain, domains[i]) &&
            (length == tail || domain[length - tail - 1] == '.'))
            return TRUE;
    }
    return FALSE;
}

static void
prune_annotations(Pruner *self, json_t *metadata, json_t *lost)
{
    json_t *annotations = json_object_get(metadata, "annotations"), *value;
    const char *key;
    void *next;

    json_object_foreach_safe(annotations, next, key, value)
    {
        if (!annotation_is_kept(key)) {
            import_report_count(self->report, REPORT_LEFT_OUT, "Annotations that no model reads",
                                NULL);
            drop(annotations, key, lost);
        }
    }
}

static void
prune_container(json_t *container, json_t *lost)
{
    json_t *value;
    const char *member;
    void *next;

    json_object_foreach_safe(container, next, member, value)
    {
        if (!g_strv_contains(container_kept, member))
            drop(container, member, lost);
    }
}

static void
prune_pod_spec(json_t *spec, json_t *lost)
{
    json_t *container;
    gsize i;

    drop_all(spec, pod_dropped, lost);
    for (unsigned list = 0; container_lists[list] != NULL; list++) {
        json_array_foreach(json_object_get(spec, container_lists[list]), i, container) {
            prune_container(container, lost);
        }
    }
}

/* Equal contents get equal numbers. Only their checksums are kept. */
static unsigned
prune_number_of(Pruner *self, const json_t *lost)
{
    g_autofree char *text = json_dumps(lost, JSON_COMPACT | JSON_SORT_KEYS);
    char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    void *number = g_hash_table_lookup(self->numbers, sum);

    if (number == NULL) {
        number = GUINT_TO_POINTER(g_hash_table_size(self->numbers) + 1);
        g_hash_table_insert(self->numbers, sum, number);
    } else {
        g_free(sum);
    }
    return GPOINTER_TO_UINT(number);
}

static void
prune_mark(Pruner *self, json_t *template, const json_t *lost)
{
    json_t *metadata = json_object_get(template, "metadata"), *annotations;
    g_autofree char *number = g_strdup_printf("%u", prune_number_of(self, lost));

    if (!json_is_object(metadata)) {
        metadata = json_object();
        json_object_set_new(template, "metadata", metadata);
    }
    annotations = json_object_get(metadata, "annotations");
    if (!json_is_object(annotations)) {
        annotations = json_object();
        json_object_set_new(metadata, "annotations", annotations);
    }
    json_object_set_new(annotations, PRUNED, json_string(number));
}

/* A pod template: of a workload, or of its ControllerRevision. */
static void
prune_template(Pruner *self, json_t *template)
{
    json_t *lost = json_array();

    if (json_is_object(template)) {
        prune_annotations(self, json_object_get(template, "metadata"), lost);
        prune_pod_spec(json_object_get(template, "spec"), lost);
        if (json_array_size(lost) > 0)
            prune_mark(self, template, lost);
    }
    json_decref(lost);
}

static void
prune_status(json_t *status)
{
    json_t *container;
    gsize i;

    drop_all(status, status_dropped, NULL);
    drop_all(json_object_get(status, "nodeInfo"), machine_dropped, NULL);
    for (unsigned list = 0; status_lists[list] != NULL; list++) {
        json_array_foreach(json_object_get(status, status_lists[list]), i, container) {
            drop_all(container, container_status_dropped, NULL);
            json_object_del(json_object_get(json_object_get(container, "state"), "terminated"),
                            "message");
            json_object_del(json_object_get(json_object_get(container, "lastState"), "terminated"),
                            "message");
        }
    }
}

/* Only its name and namespace are needed: a driver fails without the Secret. */
static void
prune_secret(Pruner *self, json_t *secret)
{
    json_t *metadata = json_object_get(secret, "metadata");

    import_report_count(self->report, REPORT_TAKEN, "Secrets, as names without contents", NULL);
    json_object_del(secret, "data");
    json_object_del(secret, "stringData");
    json_object_del(metadata, "annotations");
    json_object_del(metadata, "labels");
}

void
pruner_object(Pruner *self, json_t *object)
{
    json_t *spec = json_object_get(object, "spec"), *data = json_object_get(object, "data");
    json_t *template = json_object_get(spec, "template");
    json_t *revised = json_object_get(json_object_get(data, "spec"), "template");
    const char *kind = json_path_string(object, "kind");

    if (g_strcmp0(kind, "Secret") == 0)
        prune_secret(self, object);
    json_object_del(json_object_get(object, "metadata"), "managedFields");
    json_object_del(json_object_get(object, "metadata"), "selfLink");
    prune_annotations(self, json_object_get(object, "metadata"), NULL);
    prune_pod_spec(spec, NULL);
    prune_template(self, template);
    if (g_strcmp0(kind, "ControllerRevision") == 0)
        prune_template(self, revised);
    prune_status(json_object_get(object, "status"));
}

void
prune_while_reading(json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata"), *container;
    const char *kind = json_path_string(object, "kind");
    gsize i;

    json_object_del(metadata, "managedFields");
    json_object_del(json_object_get(metadata, "annotations"),
                    "kubectl.kubernetes.io/last-applied-configuration");
    json_object_del(json_object_get(object, "status"), "images"); /* of a node: 10 KB and more */
    if (g_strcmp0(kind, "Secret") == 0) {
        json_object_del(object, "data");
        json_object_del(object, "stringData");
    }
    if (g_strcmp0(kind, "Pod") != 0) /* a template's are told apart later */
        return;
    for (unsigned list = 0; container_lists[list] != NULL; list++) {
        json_array_foreach(json_object_get(json_object_get(object, "spec"), container_lists[list]),
                           i, container) {
            json_object_del(container, "env");
            json_object_del(container, "envFrom");
        }
    }
}
