/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "packed.h"
#include "timeline-private.h"

/* The flags of a recording that differ from the standard set. */

/* A flag's value, as YAML would read it. */
static json_t *
flag_value(const char *text)
{
    char *end;
    long long number = strtoll(text, &end, 10);

    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(text[0] == 't');
    return *text != '\0' && *end == '\0' ? json_integer(number) : json_string(text);
}

/* "--name=value", or "--name" alone */
static void
add_flag(json_t *flags, const char *argument)
{
    const char *name = argument + strspn(argument, "-");
    g_auto(GStrv) parts = g_strsplit(name, "=", 2);

    if (parts[0] != NULL && strcmp(parts[0], "v") != 0) /* verbosity of the log */
        json_object_set_new(flags, parts[0], flag_value(parts[1] == NULL ? "true" : parts[1]));
}

/* Adds the flags of @component that differ from the standard set: arguments as typed, or a mapping.
 */
static void
add_flags(const Timeline *self, const char *component, json_t *flags)
{
    const json_t *given = json_object_get(json_object_get(self->root, "flags"), component);
    const char *name;
    json_t *value;
    size_t i;

    if (json_is_string(given)) {
        g_auto(GStrv) words = g_strsplit(json_string_value(given), " ", -1);
        for (i = 0; words[i] != NULL; i++)
            if (words[i][0] != '\0')
                add_flag(flags, words[i]);
    }
    json_array_foreach(given, i, value)
        if (json_is_string(value))
            add_flag(flags, json_string_value(value));
    json_object_foreach((json_t *)given, name, value)
        json_object_set(flags, name + strspn(name, "-"), value);
}

gboolean
timeline_check_flags(const Timeline *self, GError **error)
{
    static const char *const components[] = {"kcm",
                                             "kube-controller-manager",
                                             "sched",
                                             "kube-scheduler",
                                             "kubelet",
                                             "kube-apiserver",
                                             "csi-provisioner",
                                             "csi-attacher",
                                             "csi-resizer",
                                             "csi-snapshotter",
                                             "snapshot-controller",
                                             NULL};
    /* An API that is on is one that recordings use. */
    static const char *const of_server[] = {"feature-gates", "runtime-config", NULL};
    json_auto_t *flags = json_object();

    add_flags(self, "kube-apiserver", flags);
    return timeline_check_keys(json_object_get(self->root, "flags"), "flags", components, error) &&
           timeline_check_keys(flags, "kube-apiserver", of_server, error);
}

static const char *
text_of_cluster(const Timeline *self, const char *key)
{
    return json_string_value(json_object_get(json_object_get(self->root, "cluster"), key));
}

/* Of a set of replicas one leads, or all of them work. */
static void
add_replicas(const Timeline *self, json_t *flags)
{
    const json_t *cluster = json_object_get(self->root, "cluster");
    json_t *replicas = json_object_get(cluster, "sidecarReplicas");

    if (replicas != NULL)
        json_object_set(flags, "replicas", replicas);
    if (json_is_true(json_object_get(cluster, "leaderElection")))
        json_object_set_new(flags, "leader-election", json_true());
}

/* Recordings that tell their release have the sidecars of 2026 (golden-136/README.md); those that
 * do not are of 1.32, with the ones that a driver has by itself. */
json_t *
timeline_sidecars_json(const Timeline *self)
{
    static const struct {
        const char *recorded, *sidecar, *version;
    } names[] = {
        {"csi-provisioner", "external-provisioner", "v6.3.0" },
        {"csi-attacher",    "external-attacher",    "v4.12.0"},
        {"csi-resizer",     "external-resizer",     "v2.2.1" },
        {"csi-snapshotter", "external-snapshotter", "v8.6.0" },
    };
    gboolean is_told = text_of_cluster(self, "kubernetesVersion") != NULL;
    json_t *sidecars = json_object();

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        json_t *flags = json_object();
        add_flags(self, names[i].recorded, flags);
        add_replicas(self, flags);
        if (is_told)
            json_object_set_new(flags, "version", json_string(names[i].version));
        if (json_object_size(flags) > 0)
            json_object_set(sidecars, names[i].sidecar, flags);
        json_decref(flags);
    }
    return sidecars;
}

/* The first recorder's container runtime was part of the kubelet's process; the second recorder,
 * which also wrote down when a run began, has a runtime of its own. */
json_t *
timeline_kubelet_json(const Timeline *self)
{
    g_autofree char *first = g_build_filename(self->folder, "run1", NULL);
    json_t *flags =
        json_pack("{s:b}", "containersOutliveKubelet", packed_exists(first, "start.json"));

    add_flags(self, "kubelet", flags);
    json_object_del(flags, "feature-gates");
    return flags;
}

/* The known part of a KubeSchedulerConfiguration: some of its own fields, and the arguments of
 * VolumeBinding. */
static void
add_scheduler_config(const json_t *config, json_t *flags)
{
    static const char *const own[] = {"percentageOfNodesToScore", "podInitialBackoffSeconds",
                                      "podMaxBackoffSeconds"};
    const json_t *profile = json_array_get(json_object_get(config, "profiles"), 0);
    size_t i;
    json_t *plugin;

    for (i = 0; i < G_N_ELEMENTS(own); i++)
        if (json_object_get(config, own[i]) != NULL)
            json_object_set(flags, own[i], json_object_get(config, own[i]));
    json_array_foreach(json_object_get(profile, "pluginConfig"), i, plugin) {
        const json_t *timeout =
            json_object_get(json_object_get(plugin, "args"), "bindTimeoutSeconds");
        if (timeout != NULL)
            json_object_set(flags, "bindTimeoutSeconds", (json_t *)timeout);
    }
}

/* The file is given as text or as JSON. Returns: (owned) */
static json_t *
scheduler_config(const Timeline *self)
{
    json_t *config = json_object_get(self->root, "schedulerConfig");
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autoptr(YamlPositions) positions = yaml_positions_new();

    if (!json_is_string(config))
        return json_incref(config);
    yaml_read(positions, "schedulerConfig", json_string_value(config), json_string_length(config),
              NULL, documents);
    return documents->len == 0 ? NULL : json_incref(documents->pdata[0]);
}

/* The model has one set of gates for control plane and kubelets. @given: (nullable):
 * "A=true,B=false"
 */
static void
take_gates(const char *given, json_t *gates)
{
    g_auto(GStrv) words = g_strsplit(given == NULL ? "" : given, ",", -1);

    for (unsigned i = 0; words[i] != NULL; i++)
        add_flag(gates, words[i]);
}

json_t *
timeline_kubernetes_json(const Timeline *self)
{
    static const char *const components[] = {
        "kcm", "kube-controller-manager", "sched", "kube-scheduler", "kubelet", "kube-apiserver"};
    json_t *gates = json_object();

    for (unsigned i = 0; i < G_N_ELEMENTS(components); i++) {
        json_t *flags = json_object();
        add_flags(self, components[i], flags);
        take_gates(json_string_value(json_object_get(flags, "feature-gates")), gates);
        json_decref(flags);
    }
    take_gates(text_of_cluster(self, "kubeletFeatureGates"), gates);
    return json_pack("{s:o, s:s*}", "featureGates", gates, "version",
                     text_of_cluster(self, "kubernetesVersion"));
}

json_t *
timeline_components_json(const Timeline *self)
{
    json_t *manager = json_object(), *scheduler = json_object(), *snapshots = json_object();
    json_t *config = scheduler_config(self);

    add_flags(self, "kcm", manager);
    add_flags(self, "kube-controller-manager", manager);
    add_scheduler_config(config, scheduler);
    add_flags(self, "sched", scheduler);
    add_flags(self, "kube-scheduler", scheduler);
    json_object_del(manager, "feature-gates");
    json_object_del(scheduler, "feature-gates");
    json_decref(config);
    add_flags(self, "snapshot-controller", snapshots);
    add_replicas(self, snapshots);
    return json_pack("{s:o, s:o, s:o}", "kube-controller-manager", manager, "kube-scheduler",
                     scheduler, "snapshot-controller", snapshots);
}
