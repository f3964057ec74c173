/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/kubelet-names.h"
#include "models/api/fields.h"
#include "models/kubelet/pod-workers/pod-worker.h"

#include <string.h>

#define FAKE_PLUGIN "fake-plugin"
#define FAKE_DEVICE FAKE_PLUGIN "/fake-device1"
#define NAMELESS "nameless"

/* "plugin/device" as the model has it. Returns: interned */
const char *
kubelet_model_name(Strings *strings, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "/", 2);
    gboolean is_nameless = parts[1] == NULL;

    return strings_internf(strings, "kubernetes.io/csi/%s^%s", is_nameless ? NAMELESS : parts[0],
                           parts[is_nameless ? 0 : 1]);
}

/* Each pod has its own. The last part of the name is the pod's uid and the volume's name in its
 * spec. */
static const char *
basic_name(Strings *strings, const NodeVolume *volume)
{
    const PodMount *mount = volume->mounts;
    char uid[OBJECT_UID_BUFFER];

    if (mount == NULL)
        return "";
    const char *last = strrchr(volume->name, '/') + 1;
    object_uid_format(mount->worker->uid, uid);
    return strings_internf(strings, UNATTACHED_PLUGIN "/%s%s",
                           g_str_has_prefix(last, uid) ? object_name(mount->worker->pod) : "?",
                           last + MIN(strlen(uid), strlen(last)));
}

/* The way back. */
const char *
kubelet_trace_name(Strings *strings, const NodeVolume *volume)
{
    const VolumeSource *source = VOLUME_CONST(volume->pv)->source;

    if (source->driver == NULL)
        return basic_name(strings, volume);
    if (strcmp(source->driver, NAMELESS) == 0)
        return source->handle;
    return strings_internf(strings, "%s/%s", source->driver, source->handle);
}

/* Where a step names the volume, itself or by its spec. */
static const char *
named_volume(const json_t *args)
{
    static const char *const places[] = {"volumeName", "arg0.volume", "opts.volume",
                                         "markVolumeOpts.volume"};

    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++)
        if (json_path_string(args, places[i]) != NULL)
            return json_path_string(args, places[i]);
    return NULL;
}

/* Where a spec tells no source, its name is that of its plugin. */
gboolean
kubelet_has_no_source(const json_t *args)
{
    return json_is_null(json_object_get(json_object_get(args, "volumeSpec"), "source"));
}

/* Returns: (owned) */
char *
kubelet_volume_of_step(const json_t *args)
{
    const char *named = named_volume(args);
    const char *persistent = json_path_string(args, "volumeSpec.persistent_volume");
    const char *in_pod = json_path_string(args, "volumeSpec.Volume.name");
    const char *spec = json_path_string(args, "volumeSpec.name");

    if (named != NULL)
        return g_strdup(named);
    if (persistent != NULL)
        return g_strdup_printf(UNATTACHED_PLUGIN "/%s", persistent);
    if (in_pod != NULL)
        return g_strdup_printf(FAKE_PLUGIN "/%s", in_pod);
    if (spec != NULL && kubelet_has_no_source(args))
        return g_strdup_printf("%s/%s", spec, spec);
    return g_strdup(FAKE_DEVICE);
}

const char *
kubelet_first_of(const json_t *args, const char *const *places, unsigned n_places)
{
    for (unsigned i = 0; i < n_places; i++)
        if (json_path_string(args, places[i]) != NULL)
            return json_path_string(args, places[i]);
    return NULL;
}

const char *
kubelet_pod_of_step(const json_t *args)
{
    static const char *const places[] = {"podName", "arg0.pod", "opts.pod", "markVolumeOpts.pod"};

    return kubelet_first_of(args, places, G_N_ELEMENTS(places));
}

/* The volume's name in its pod. */
const char *
kubelet_outer_name_of_step(const json_t *args)
{
    static const char *const places[] = {"outerVolumeSpecName", "volumeSpecName", "arg0.outer_name",
                                         "opts.outer_name", "markVolumeOpts.outer_name"};

    return kubelet_first_of(args, places, G_N_ELEMENTS(places));
}

void
kubelet_set_source(json_t *spec, const char *name, gboolean has_source)
{
    g_auto(GStrv) parts = g_strsplit(name, "/", 2);
    gboolean is_nameless = parts[1] == NULL;

    if (!has_source && strcmp(parts[0], UNATTACHED_PLUGIN) == 0)
        json_object_set_new(spec, "hostPath", json_pack("{s:s}", "path", "/"));
    else
        json_object_set_new(spec, "csi",
                            json_pack("{s:s, s:s}", "driver", is_nameless ? NAMELESS : parts[0],
                                      "volumeHandle", parts[is_nameless ? 0 : 1]));
}
