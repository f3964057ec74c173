/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides whether the cluster of a scenario ever makes a CSI call, and why not: from the uses of
 * calls (models/csi/uses.h), the driver's capabilities and the settings that its CSIDriver, its
 * StorageClasses and the flags of its sidecars come to. The reasons are ordered: a setting, then a
 * capability, then a caller that does not run. */
#include "driver-calls.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/external-provisioner/external-provisioner.h"
#include "models/external-resizer/external-resizer.h"
#include "models/external-snapshotter/external-snapshotter.h"
#include "models/kubelet/kubelet.h"

/* ---- Settings ---- */

/* @flags: flag -> text, checked; NULL: all default. Returns: (owned) */
static void *
driver_calls_options_of(const ProcessClass *class, GHashTable *flags, Strings *strings)
{
    void *options = process_options_new(class, strings);

    for (const ProcessFlag *flag = class->flags; flags != NULL && flag->name != NULL; flag++) {
        const char *text = g_hash_table_lookup(flags, flag->name);
        if (text != NULL)
            process_flag_set(flag, options, text, strings, NULL);
    }
    return options;
}

static GHashTable *
flags_of(GHashTable *processes, const char *process)
{
    return processes == NULL ? NULL : g_hash_table_lookup(processes, process);
}

/* Returns: (borrowed): the spec of the driver's CSIDriver object */
static const json_t *
object_spec(const Scenario *scenario, const ScenarioDriver *driver)
{
    for (unsigned i = 0; i < scenario->n_manifests; i++) {
        const json_t *manifest = scenario->manifests[i];
        const char *kind = json_path_string(manifest, "kind");
        const char *name = json_path_string(manifest, "metadata.name");
        if (g_strcmp0(kind, "CSIDriver") == 0 && g_strcmp0(name, driver->name) == 0)
            return json_object_get(manifest, "spec");
    }
    return json_object_get(driver->manifest, "spec");
}

static gboolean
lists(const json_t *list, const char *text)
{
    for (gsize i = 0; i < json_array_size(list); i++)
        if (g_strcmp0(json_string_value(json_array_get(list, i)), text) == 0)
            return TRUE;
    return FALSE;
}

static CsiSettings
object_settings(const json_t *spec)
{
    const json_t *attach = json_object_get(spec, "attachRequired");
    const json_t *modes = json_object_get(spec, "volumeLifecycleModes");
    CsiSettings settings = 0;

    settings |= json_is_false(attach) ? 0 : CSI_SETTING_ATTACH;
    settings |= modes == NULL || lists(modes, "Persistent") ? CSI_SETTING_PERSISTENT : 0;
    settings |= lists(modes, "Ephemeral") ? CSI_SETTING_EPHEMERAL : 0;
    settings |=
        json_is_true(json_object_get(spec, "requiresRepublish")) ? CSI_SETTING_REPUBLISH : 0;
    return settings;
}

static CsiSettings
provisioner_settings(const ScenarioDriver *driver, Strings *strings)
{
    g_autofree ExternalProvisionerOptions *options = driver_calls_options_of(
        &external_provisioner_process,
        flags_of(driver->sidecars, external_provisioner_process.name), strings);
    CsiSettings settings = 0;

    settings |= options->enable_capacity ? CSI_SETTING_CAPACITY : 0;
    settings |= options->node_deployment ? CSI_SETTING_ON_NODES : 0;
    settings |= options->node_deployment_immediate_binding ? CSI_SETTING_ON_NODES_IMMEDIATE : 0;
    if (process_gate(&external_provisioner_process, options->feature_gates,
                     "VolumeAttributesClass"))
        settings |= CSI_SETTING_CREATE_WITH_CLASS;
    return settings;
}

static CsiSettings
resizer_settings(const ScenarioDriver *driver, Strings *strings)
{
    g_autofree ExternalResizerOptions *options =
        driver_calls_options_of(&external_resizer_process,
                                flags_of(driver->sidecars, external_resizer_process.name), strings);

    return process_gate(&external_resizer_process, options->feature_gates, "VolumeAttributesClass")
               ? CSI_SETTING_MODIFY
               : 0;
}

static CsiSettings
snapshotter_settings(const ScenarioDriver *driver)
{
    GHashTable *flags = flags_of(driver->sidecars, "external-snapshotter");
    const char *gates = flags == NULL ? NULL : g_hash_table_lookup(flags, "feature-gates");

    return process_gate(&external_snapshotter_process, gates, "CSIVolumeGroupSnapshot")
               ? CSI_SETTING_GROUPS
               : 0;
}

static gboolean
asks_for_stats(GHashTable *flags, Strings *strings)
{
    g_autofree KubeletOptions *options = driver_calls_options_of(&kubelet_process, flags, strings);

    return options->volume_stats_agg_period > 0;
}

static CsiSettings
settings_of(const Scenario *scenario, const ScenarioDriver *driver)
{
    Strings *strings = strings_new();
    CsiSettings settings = object_settings(object_spec(scenario, driver)) |
                           provisioner_settings(driver, strings) |
                           resizer_settings(driver, strings) | snapshotter_settings(driver);

    if (asks_for_stats(flags_of(scenario->components, kubelet_process.name), strings))
        settings |= CSI_SETTING_STATS;
    for (unsigned i = 0; i < scenario->n_nodes; i++)
        if (asks_for_stats(scenario->nodes[i].kubelet, strings))
            settings |= CSI_SETTING_STATS;
    settings |= driver->node_plugin.liveness_period > 0 ? CSI_SETTING_LIVENESS : 0;
    strings_free(strings);
    return settings;
}

/* ---- Why not ---- */

static gboolean
is_absent(const ScenarioDriver *driver, const char *process)
{
    return driver->absent_sidecars != NULL &&
           g_strv_contains((const char *const *)driver->absent_sidecars, process);
}

/* Returns: (owned): why the caller does not run; NULL: it does */
static char *
caller_fault(const ScenarioDriver *driver, const char *by)
{
    if (by == NULL)
        return g_strdup("no part of Kubernetes makes this call");
    if (!g_str_equal(by, CSI_ANY_SIDECAR))
        return is_absent(driver, by) ? g_strdup_printf("%s does not run", by) : NULL;
    for (unsigned i = 0; model_classes[i] != NULL; i++) {
        const ProcessClass *class = model_classes[i]->process;
        if (class->scope == PER_DRIVER && !is_absent(driver, class->name))
            return NULL;
    }
    return g_strdup("no sidecar runs");
}

static void
add_missing(GString *text, CsiService service, uint32_t needs, uint32_t has)
{
    for (unsigned bit = 0; bit < 32; bit++)
        if ((needs & ~has & UINT32_C(1) << bit) != 0)
            g_string_append_printf(text, "%s%s%s", text->len == 0 ? "" : ", ",
                                   service == CSI_NODE ? "node " : "",
                                   scenario_capability_name(service, UINT32_C(1) << bit));
}

/* Returns: (owned): the capabilities that the call needs and the driver has not */
static char *
capability_fault(const CsiCapabilities *has, const CsiUseClass *use)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const CsiCapabilities *needs = &use->needs, *otherwise = &use->otherwise;
    uint32_t service = needs->controller != 0 ? CSI_PLUGIN_CONTROLLER_SERVICE : 0;

    if ((has->controller & use->unless) != 0)
        return g_strdup_printf("the driver has %s",
                               scenario_capability_name(CSI_CONTROLLER, use->unless));
    add_missing(text, CSI_IDENTITY, needs->plugin | service, has->plugin);
    add_missing(text, CSI_CONTROLLER, needs->controller, has->controller);
    add_missing(text, CSI_NODE, needs->node, has->node);
    if (otherwise->node != 0)
        g_string_append_printf(text, ", or node %s",
                               scenario_capability_name(CSI_NODE, otherwise->node));
    return g_strdup_printf("the driver lacks %s", text->str);
}

char *
scenario_driver_call_fault(const Scenario *scenario, const ScenarioDriver *driver, CsiUse use)
{
    const CsiUseClass *class = csi_use_class(use);
    const CsiCapabilities has = {
        .plugin = driver->model.plugin_capabilities,
        .controller = driver->model.controller_capabilities,
        .node = driver->model.node_capabilities,
    };
    uint32_t missing = class->settings & ~(uint32_t)settings_of(scenario, driver);

    if (missing != 0) /* the first one of them */
        return g_strdup(csi_setting_fault((CsiSettings)(missing & -missing)));
    if (!csi_use_is_offered(use, &has))
        return capability_fault(&has, class);
    return caller_fault(driver, class->by);
}
