/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/metrics/metrics.h"
#include "node-world.h"
#include "tests/lib/test.h"

/* Options of mounts: SELinux labels of two pods that share a volume, and what the metrics of the
 * kubelet tell (CSP-28); and options that a plugin does not take. */

static gboolean
enforce(Object *object, const void *arg)
{
    (void)arg;
    return object_set_annotation(object, ANNOTATION_SELINUX, "true");
}

static gboolean
mount_with_label(Object *object, const void *arg)
{
    (void)arg;
    CSI_DRIVER_OBJECT(object)->selinux_mount = TRUE;
    return TRUE;
}

/* @level: NULL: the pod has none */
static void
labels_add_pod(World *world, const char *name, const char *level)
{
    node_world_add_pod(world, name, "a", "one");
    Object *pod = object_edit(world_get(world, KIND_POD, name));
    PodSpec *spec = pod_spec_with_tolerations(POD(pod)->spec, POD(pod)->spec->tolerations);
    spec->selinux.level = world_intern(world, level);
    pod_set_spec(POD(pod), spec, POD(pod)->volumes);
    pod_spec_unref(spec);
    api_server_import(world->api, pod);
}

/* Returns: of the volumes that are ReadWriteMany; 0 also if nothing is told */
static int
told(World *world, const char *metric)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *line = g_strdup_printf("\n%s{", metric);

    sim_metrics_append_text(sim_metrics(world->sim), text);
    const char *at = strstr(text->str, line);
    return at == NULL ? 0 : atoi(strchr(at, '}') + 1);
}

TEST(pods_share_a_volume)
{
    static const struct {
        const char *first, *second; /* levels */
        int admitted, warnings;
    } rows[] = {
        {"s0:c1,c2", "s0:c1,c2", 1, 0},
        {"s0:c1,c2", "s0:c3,c4", 1, 1},
        {"s0:c1,c2", NULL,       1, 1},
        {NULL,       NULL,       0, 0},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(World) world = world_new(&(SidecarWorldOptions){.seed = 1, .measured = TRUE});
        world_edit(world, KIND_NODE, "a", enforce, NULL);
        node_world_add_driver(world, FALSE, FALSE);
        world_edit(world, KIND_CSI_DRIVER, WORLD_DRIVER, mount_with_label, NULL);
        node_world_add_volume(world, "one", "csi");
        node_world_set_access_modes(world, "one", ACCESS_RWX);
        node_world_start(world);
        labels_add_pod(world, "first", rows[i].first);
        node_world_run_for(world, SIM_MINUTE);
        labels_add_pod(world, "second", rows[i].second);
        node_world_run_for(world, SIM_MINUTE);
        assert_int_equal(told(world, "volume_manager_selinux_volumes_admitted_total"),
                         rows[i].admitted);
        assert_int_equal(
            told(world, "volume_manager_selinux_volume_context_mismatch_warnings_total"),
            rows[i].warnings);
    }
}

/* KVM-41.2 */
typedef struct {
    const char *plugin;
    const char *annotation, *option; /* NULL: none */
    gboolean is_mounted;
} OptionsCase;

static const OptionsCase options_cases[] = {
    {"hostPath",       NULL,   NULL,   TRUE },
    {"hostPath",       NULL,   "sync", FALSE},
    {"hostPath",       "sync", NULL,   FALSE},
    {"hostPath",       "",     "sync", TRUE }, /* the annotation counts, and lists none */
    {"portworxVolume", "a,b",  NULL,   FALSE},
    {"nfs",            "a,b",  "sync", TRUE },
    {"local",          "a,b",  "sync", TRUE },
};

static gboolean
add_options(Object *object, const void *arg)
{
    const OptionsCase *row = arg;

    if (row->annotation != NULL)
        object_set_annotation(object, "volume.beta.kubernetes.io/mount-options", row->annotation);
    VOLUME(object)->mount_options = row->option == NULL ? NULL : string_list_new(&row->option, 1);
    return TRUE;
}

TEST(mount_options_that_the_plugin_does_not_take)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(options_cases); i++) {
        g_autoptr(World) world = world_new(&(SidecarWorldOptions){.seed = 1});
        OptionsCase row = options_cases[i];

        row.annotation = row.annotation == NULL ? NULL : world_intern(world, row.annotation);
        row.option = row.option == NULL ? NULL : world_intern(world, row.option);
        node_world_add_volume(world, "v", row.plugin);
        world_edit(world, KIND_VOLUME, "v", add_options, &row);
        node_world_start(world);
        node_world_add_pod(world, "p", "a", "v");
        node_world_run_for(world, 2 * SIM_SECOND);
        g_autofree char *events = world_events(world, world_key(world, KIND_POD, "p"));
        if (row.is_mounted)
            assert_true(pod_is_ready(node_world_pod(world, "p")));
        else
            assert_string_equal(events,
                                "FailedMount x3: MountVolume.MountOptionSupport check failed for "
                                "volume \"v\" : mount options are not supported for this "
                                "volume type");
    }
}
