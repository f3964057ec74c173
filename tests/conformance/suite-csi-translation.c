/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/migration/migration-test.h"
#include "models/api/migration/private.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/known.h"

#include <string.h>

/* In-tree volumes, classes and places as CSI has them, and back. A case that names a plugin asks
 * that one; others ask the library, which looks for the plugin and gives volumes of pods their
 * mode. */

/* Empty mappings and texts are left out of cases, but for a few: see their README. */
static void
remove_empty(json_t *value)
{
    void *iterator, *next;
    json_t *item;
    size_t i;

    json_array_foreach(value, i, item)
        remove_empty(item);
    for (iterator = json_object_iter(value); iterator != NULL; iterator = next) {
        next = json_object_iter_next(value, iterator);
        item = json_object_iter_value(iterator);
        remove_empty(item);
        if (json_is_object(item) && json_object_size(item) == 0)
            json_object_del(value, json_object_iter_key(iterator));
    }
}

/* @found: (owned): NULL: an error, which is expected then */
static void
expect_result(Case *self, const char *path, json_t *found)
{
    gboolean is_error = case_flag(self, "expected.error");
    json_t *expected = json_deep_copy(case_get(self, path));

    if (is_error != (found == NULL))
        case_fail(self, is_error ? "expected an error" : "an error");
    else if (found != NULL) {
        remove_empty(found);
        remove_empty(expected);
        case_expect_json(self, "the result", expected, found);
    }
    json_decref(expected);
    json_decref(found);
}

/* @text: (owned) */
static void
suite_csi_translation_expect_text(Case *self, char *text)
{
    expect_result(self, "expected.result", text == NULL ? NULL : json_string(text));
    g_free(text);
}

static const InTreePlugin *
suite_csi_translation_plugin_of(Case *self, const json_t *source)
{
    const char *name = case_string(self, "args.plugin");
    const InTreePlugin *plugin =
        name != NULL ? in_tree_plugin_find(name) : in_tree_plugin_of_source(source);

    if (name != NULL && plugin == NULL)
        case_fail(self, "no plugin %s", name);
    return plugin;
}

/* ---- Classes and volumes ---- */

static void
run_class(Case *self)
{
    const InTreePlugin *plugin = suite_csi_translation_plugin_of(self, NULL);

    case_known(self, "args", "plugin", "sc");
    if (plugin != NULL)
        expect_result(self, "expected.result",
                      in_tree_plugin_class_to_csi(plugin, case_get(self, "args.sc"), NULL));
}

static void
run_volume(Case *self)
{
    const InTreePlugin *plugin =
        suite_csi_translation_plugin_of(self, case_get(self, "args.pv.spec"));

    case_known(self, "args", "plugin", "pv");
    expect_result(self, "expected.result",
                  plugin == NULL
                      ? NULL
                      : in_tree_plugin_volume_to_csi(plugin, case_get(self, "args.pv"), NULL));
}

static void
run_inline(Case *self)
{
    const InTreePlugin *plugin =
        suite_csi_translation_plugin_of(self, case_get(self, "args.volume"));
    const char *namespace = case_string(self, "args.pod_namespace");
    json_t *found = NULL;

    case_known(self, "args", "plugin", "volume", "pod_namespace");
    if (plugin != NULL)
        found = in_tree_plugin_inline_to_csi(plugin, case_get(self, "args.volume"),
                                             namespace == NULL ? "" : namespace, NULL);
    if (found != NULL && (case_get(self, "args.plugin") == NULL ||
                          plugin == &plugin_gce_pd)) /* else by its parser */
        json_object_set_new(json_object_get(found, "spec"), "volumeMode",
                            json_string("Filesystem"));
    expect_result(self, "expected.result", found);
}

static void
run_back(Case *self)
{
    const char *driver = case_string(self, "args.pv.spec.csi.driver");
    const InTreePlugin *plugin = case_get(self, "args.plugin") != NULL
                                     ? suite_csi_translation_plugin_of(self, NULL)
                                 : driver != NULL ? in_tree_plugin_of_driver(driver)
                                                  : NULL;

    case_known(self, "args", "plugin", "pv");
    expect_result(self, "expected.result",
                  plugin == NULL
                      ? NULL
                      : in_tree_plugin_volume_from_csi(plugin, case_get(self, "args.pv"), NULL));
}

static void
run_repair(Case *self)
{
    const InTreePlugin *plugin = suite_csi_translation_plugin_of(self, NULL);

    case_known(self, "args", "plugin", "driver", "node_id", "volume_handle");
    if (plugin == NULL && case_get(self, "args.driver") != NULL)
        plugin = in_tree_plugin_of_driver(case_string(self, "args.driver"));
    suite_csi_translation_expect_text(
        self, plugin == NULL ? NULL
                             : in_tree_plugin_repair_handle(
                                   plugin, case_text(self, case_get(self, "args"), "volume_handle"),
                                   case_text(self, case_get(self, "args"), "node_id"), NULL));
}

/* ---- Handles ---- */

static void
run_ebs_id(Case *self)
{
    json_t *source = json_pack("{s:O}", "volumeID", case_get(self, "args.kubernetes_id"));

    case_known(self, "args", "kubernetes_id");
    suite_csi_translation_expect_text(
        self, plugin_aws_ebs.handle(&(MigrationOrigin){.source = source}, NULL));
    json_decref(source);
}

static void
run_region(Case *self)
{
    g_autoptr(GPtrArray) zones = g_ptr_array_new();
    const json_t *zone;
    size_t i;

    case_known(self, "args", "zones");
    json_array_foreach(case_get(self, "args.zones"), i, zone)
        g_ptr_array_add(zones, (char *)json_string_value(zone));
    g_ptr_array_add(zones, NULL);
    suite_csi_translation_expect_text(self, plugin_aws_ebs.region((char **)zones->pdata, NULL));
}

static void
run_is_managed(Case *self)
{
    case_known(self, "args", "disk_uri");
    case_expect_flag(
        self, "expected.result",
        migration_azure_is_managed(case_text(self, case_get(self, "args"), "disk_uri")));
}

static void
run_disk_name(Case *self)
{
    case_known(self, "args", "disk_uri");
    suite_csi_translation_expect_text(
        self, migration_azure_disk_name(case_text(self, case_get(self, "args"), "disk_uri"), NULL));
}

static void
run_account(Case *self)
{
    case_known(self, "args", "secret_name");
    suite_csi_translation_expect_text(
        self,
        migration_azure_account(case_text(self, case_get(self, "args"), "secret_name"), NULL));
}

static void
run_share(Case *self)
{
    g_auto(GStrv) parts =
        migration_azure_share(case_text(self, case_get(self, "args"), "id"), NULL);
    json_t *found = parts == NULL ? NULL : json_array();

    case_known(self, "args", "id");
    for (unsigned i = 0; parts != NULL && i < 4; i++)
        json_array_append_new(found, json_string(i < g_strv_length(parts) ? parts[i] : ""));
    expect_result(self, "expected.result", found);
}

static void
run_modes(Case *self)
{
    const json_t *modes = case_get(self, "args.ams");

    case_known(self, "args", "ams");
    if (modes != NULL)
        expect_result(self, "expected.result", migration_gce_modes(modes));
}

/* ---- Places ---- */

static InTreePlugin
plugin_with_key(Case *self)
{
    const char *parser = case_string(self, "args.region_parser");

    return (InTreePlugin){
        .zone_key = case_text(self, case_get(self, "args"), "csi_topology_key"),
        .region = g_strcmp0(parser, "gce") == 0   ? plugin_gce_pd.region
                  : g_strcmp0(parser, "aws") == 0 ? plugin_aws_ebs.region
                                                  : NULL,
    };
}

static void
run_topology_to_csi(Case *self)
{
    InTreePlugin plugin = plugin_with_key(self);
    json_t *volume = json_deep_copy(case_get(self, "args.pv"));

    case_known(self, "args", "pv", "csi_topology_key");
    topology_to_csi(volume, &plugin);
    expect_result(self, "expected.pv", volume);
}

static void
run_topology_from_csi(Case *self)
{
    InTreePlugin plugin = plugin_with_key(self);
    json_t *volume = json_deep_copy(case_get(self, "args.pv"));

    case_known(self, "args", "pv", "csi_topology_key", "region_parser");
    if (!topology_from_csi(volume, &plugin, NULL))
        g_clear_pointer(&volume, json_decref);
    expect_result(self, "expected.pv", volume);
}

static void
run_terms(Case *self)
{
    case_known(self, "args", "key", "terms");
    expect_result(self, "expected.result",
                  topology_translate_terms(case_get(self, "args.terms"),
                                           case_text(self, case_get(self, "args"), "key")));
}

static void
run_add_topology(Case *self)
{
    json_t *volume = json_deep_copy(case_get(self, "args.pv"));
    g_autoptr(GPtrArray) zones = g_ptr_array_new();
    const json_t *zone;
    size_t i;

    case_known(self, "args", "pv", "topology_key", "zones");
    json_array_foreach(case_get(self, "args.zones"), i, zone)
        g_ptr_array_add(zones, (char *)json_string_value(zone));
    g_ptr_array_add(zones, NULL);
    if (!topology_add(volume, case_text(self, case_get(self, "args"), "topology_key"),
                      (char **)zones->pdata, NULL))
        g_clear_pointer(&volume, json_decref);
    expect_result(self, "expected.pv", volume);
}

static void
run_replace_topology(Case *self)
{
    json_t *volume = json_deep_copy(case_get(self, "args.pv"));

    case_known(self, "args", "pv", "old_key", "new_key");
    topology_replace(volume, case_text(self, case_get(self, "args"), "old_key"),
                     case_text(self, case_get(self, "args"), "new_key"));
    expect_result(self, "expected.pv", volume);
}

/* ---- Who migrates ---- */

static void
run_driver_migrates(Case *self)
{
    case_known(self, "args", "csi_plugin_name");
    case_expect_flag(self, "expected.result",
                     in_tree_plugin_of_driver(
                         case_text(self, case_get(self, "args"), "csi_plugin_name")) != NULL);
}

static void
run_plugin_migrates(Case *self)
{
    case_known(self, "args", "in_tree_plugin_name");
    case_expect_flag(self, "expected.result",
                     in_tree_plugin_find(
                         case_text(self, case_get(self, "args"), "in_tree_plugin_name")) != NULL);
}

static void
run_name_of_plugin(Case *self)
{
    const InTreePlugin *plugin =
        in_tree_plugin_of_driver(case_text(self, case_get(self, "args"), "plugin_name"));

    case_known(self, "args", "plugin_name");
    suite_csi_translation_expect_text(self, plugin == NULL ? NULL
                                                           : g_strdup(in_tree_plugin_name(plugin)));
}

static void
run_name_of_driver(Case *self)
{
    const InTreePlugin *plugin =
        in_tree_plugin_find(case_text(self, case_get(self, "args"), "plugin_name"));

    case_known(self, "args", "plugin_name");
    suite_csi_translation_expect_text(
        self, plugin == NULL ? NULL : g_strdup(in_tree_plugin_driver(plugin)));
}

/* (owned): the case's gates, as the user's of release 1.32 */
static StringMap *
gates_of(Case *self, Strings *strings)
{
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(StringPair));
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)case_get(self, "feature_gates"), name, value) {
        StringPair pair = {strings_intern(strings, name),
                           strings_intern(strings, json_is_true(value) ? "true" : "false")};
        g_array_append_val(pairs, pair);
    }
    return string_map_new((const StringPair *)(void *)pairs->data, pairs->len);
}

static void
run_status(Case *self)
{
    Strings *strings = strings_new();
    StringMap *gates = gates_of(self, strings);
    Release release = {.minor = 32, .gates = gates};
    const InTreePlugin *plugin = suite_csi_translation_plugin_of(self, NULL);

    case_known(self, "args", "plugin");
    case_expect_flag(self, "expected.migration_enabled",
                     plugin != NULL && in_tree_plugin_is_migrated(plugin, &release));
    case_expect_flag(self, "expected.migration_complete",
                     plugin != NULL && in_tree_plugin_is_gone(plugin, &release));
    string_map_unref(gates);
    strings_free(strings);
}

static void
run_is_migratable(Case *self)
{
    Strings *strings = strings_new();
    StringMap *gates = gates_of(self, strings);
    Release release = {.minor = 32, .gates = gates};
    const json_t *volume = case_get(self, "args.spec.volume");
    const InTreePlugin *plugin = in_tree_plugin_of_source(
        volume != NULL ? volume : case_get(self, "args.spec.persistent_volume.spec"));

    case_known(self, "args.spec", "persistent_volume", "volume");
    case_expect_flag(self, "expected.migratable",
                     plugin != NULL && in_tree_plugin_is_migrated(plugin, &release));
    string_map_unref(gates);
    strings_free(strings);
}

static const Act translation_acts[] = {
    {"translate_in_tree_storage_class_to_csi", run_class            },
    {"translate_in_tree_pv_to_csi",            run_volume           },
    {"translate_in_tree_inline_volume_to_csi", run_inline           },
    {"translate_csipv_to_in_tree",             run_back             },
    {"repair_volume_handle",                   run_repair           },
    {"ebs_volume_id",                          run_ebs_id           },
    {"aws_region_from_zones",                  run_region           },
    {"azure_is_managed_disk",                  run_is_managed       },
    {"azure_disk_name",                        run_disk_name        },
    {"azure_storage_account_name",             run_account          },
    {"azure_file_share_info",                  run_share            },
    {"gce_backward_compatible_access_modes",   run_modes            },
    {"translate_topology_from_in_tree_to_csi", run_topology_to_csi  },
    {"translate_topology_from_csi_to_in_tree", run_topology_from_csi},
    {"translate_allowed_topologies",           run_terms            },
    {"add_topology",                           run_add_topology     },
    {"replace_topology",                       run_replace_topology },
    {"is_migrated_csi_driver_by_name",         run_driver_migrates  },
    {"is_migratable_intree_plugin_by_name",    run_plugin_migrates  },
    {"get_in_tree_name_from_csi_name",         run_name_of_plugin   },
    {"get_csi_name_from_in_tree_name",         run_name_of_driver   },
    {"is_migratable",                          run_is_migratable    },
    {"migration_status",                       run_status           },
    {NULL,                                     NULL                 },
};

const Suite csi_translation_suite = {"csi_translation", translation_acts};
