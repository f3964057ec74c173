/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/volume/plugins.h"
#include "tests/lib/test.h"

#include <string.h>

/* The table of volume plugins, and the names that they give volumes. */

typedef struct {
    Objects *objects;
    Volume *volume;
} PluginsFixture;

static const char *
plugins_intern(const PluginsFixture *fixture, const char *text)
{
    return strings_intern(objects_strings(fixture->objects), text);
}

static void
plugins_setup(PluginsFixture *fixture, const char *plugin, const char *driver, const char *handle)
{
    fixture->objects = objects_new(1);
    fixture->volume = VOLUME(object_new(objects_key(fixture->objects, KIND_VOLUME, NULL, "pv")));
    VolumeSource source = {.refs = REF_COUNT_ONE,
                           .plugin = plugins_intern(fixture, plugin),
                           .driver = plugins_intern(fixture, driver),
                           .handle = plugins_intern(fixture, handle)};
    fixture->volume->source = volume_source_new(&source);
}

static void
teardown(PluginsFixture *fixture)
{
    object_unref(&fixture->volume->meta);
    objects_free(fixture->objects);
}

/* Only to CSI a CSIDriver object and its fields matter. */
static const struct {
    const char *source;
    gboolean attachable, without_attach, device_mountable;
    const char *handle, *name;
} plugins[] = {
    {"csi",        TRUE,  FALSE, TRUE,  "vol-1",        "kubernetes.io/csi/d^vol-1"       },
    {"flexVolume", TRUE,  TRUE,  TRUE,  NULL,           "kubernetes.io/flexvolume/pv"     },
    {"iscsi",      TRUE,  TRUE,  TRUE,  "portal:iqn:0", "kubernetes.io/iscsi/portal:iqn:0"},
    {"fc",         TRUE,  TRUE,  TRUE,  NULL,           "kubernetes.io/fc/pv"             },
    {"local",      FALSE, FALSE, TRUE,  "/mnt/a",       "kubernetes.io/local-volume/pv"   },
    {"nfs",        FALSE, FALSE, FALSE, "server/path",  "kubernetes.io/nfs/server/path"   },
    {"hostPath",   FALSE, FALSE, FALSE, NULL,           "kubernetes.io/host-path/pv"      },
};

/* VPL-15: attachable without a CSIDriver, with one that requires attaching, with one that does not;
 * VPL-7: the name. */
TEST(which_steps_a_volume_takes)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(plugins); i++) {
        CsiDriverObject required = {.attach_required = TRUE},
                        free_of_it = {.attach_required = FALSE};
        PluginsFixture fixture;
        plugins_setup(&fixture, plugins[i].source, "d", plugins[i].handle);
        const VolumePlugin *plugin = volume_plugin_find(fixture.volume->source);
        assert_non_null(plugin);
        assert_int_equal(volume_plugin_is_attachable(plugin, NULL), plugins[i].attachable);
        assert_int_equal(volume_plugin_is_attachable(plugin, &required), plugins[i].attachable);
        assert_int_equal(volume_plugin_is_attachable(plugin, &free_of_it),
                         plugins[i].without_attach);
        assert_int_equal(plugin->device_mountable, plugins[i].device_mountable);
        assert_string_equal(
            volume_unique_name(objects_strings(fixture.objects), plugin, fixture.volume),
            plugins[i].name);
        teardown(&fixture);
    }
}

/* VPL-19. */
TEST(unknown_plugins_match_none)
{
    PluginsFixture fixture;

    plugins_setup(&fixture, "gitRepo", NULL, NULL);
    assert_null(volume_plugin_find(fixture.volume->source));
    assert_null(volume_plugin_find(NULL));
    teardown(&fixture);
}

static const struct {
    const char *driver, *handle, *node, *name;
} attachments[] = {
    {"hostpath.csi.k8s.io", "vol-1", "node-1",
     "csi-a5a2e67339ab5660a390dc86be397e784322823ff01f40cf2c01a72c3cab1374"},
    {"hostpath.csi.k8s.io", "vol-1", "node-2",
     "csi-de92e057dcc6e2a31722562aac96e242269f00b90d7b9b9aff22075d21627d9e"},
};

/* ADC-59. */
TEST(names_of_attachments)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(attachments); i++) {
        Objects *objects = objects_new(1);
        const ObjectKey *key = volume_attachment_key(objects, attachments[i].driver,
                                                     attachments[i].handle, attachments[i].node);
        assert_string_equal(key->name, attachments[i].name);
        assert_ptr_equal(volume_attachment_key(objects, attachments[i].driver,
                                               attachments[i].handle, attachments[i].node),
                         key);
        objects_free(objects);
    }
}

/* INT-42: the release before has the plugin, and this one has not. */
static const struct {
    const char *source;
    int gone;
} removals[] = {
    {"scaleIO",   22},
    {"flocker",   25},
    {"quobyte",   25},
    {"storageos", 25},
    {"glusterfs", 26},
    {"cephfs",    31},
    {"rbd",       31},
};

TEST(releases_lose_plugins)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(removals); i++) {
        const VolumeSource source = {.plugin = removals[i].source};
        const VolumePlugin *plugin = volume_plugin_find(&source);
        const Release with = {.minor = removals[i].gone - 1}, without = {.minor = removals[i].gone};
        assert_non_null(plugin);
        assert_false(volume_plugin_is_gone(plugin, &with));
        assert_true(volume_plugin_is_gone(plugin, &without));
    }
    const VolumeSource nfs = {.plugin = "nfs"};
    const Release newest = {.minor = 36};
    assert_false(volume_plugin_is_gone(volume_plugin_find(&nfs), &newest));
}
