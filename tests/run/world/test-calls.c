/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "run/scenario/driver-calls.h"
#include "run/world/run.h"
#include "tests/lib/test.h"

/* The table of calls that Kubernetes makes says what runs do: for each profile, for the driver with
 * all capabilities and settings and without each of them, every-call.yaml makes the calls that the
 * table has, and no others. */

#define SCENARIO "every-call.yaml"

/* ---- The calls of a run ---- */

typedef struct {
    gboolean seen[CSI_N_USES];
    GHashTable *targets; /* where NodePublishVolume has succeeded */
} CallsSeen;

/* Uses that one request cannot tell apart count as the first of them. */
static CsiUse
told_apart(CsiUse use)
{
    switch ((int)use) {
    case CSI_USE_SNAPSHOT_INFO:
        return CSI_USE_START_INFO;
    case CSI_USE_LIST_CONDITIONS:
        return CSI_USE_COMPARE;
    case CSI_USE_OWN_CAPACITY:
        return CSI_USE_CAPACITY;
    case CSI_USE_EXPAND_QUESTION:
    case CSI_USE_SNAPSHOT_QUESTION:
        return CSI_USE_START_CONTROLLER;
    case CSI_USE_START_PLACE:
        return CSI_USE_REGISTER;
    default:
        return use;
    }
}

static CsiUse
use_of_create(const CsiRequest *request)
{
    if (request->source_kind == CSI_SOURCE_SNAPSHOT)
        return CSI_USE_RESTORE;
    if (request->source_kind == CSI_SOURCE_VOLUME)
        return CSI_USE_CLONE;
    return request->mutable_parameters != NULL ? CSI_USE_CREATE_WITH_CLASS : CSI_USE_CREATE;
}

static CsiUse
use_of_publish(const CallsSeen *self, const CsiRequest *request)
{
    if (g_hash_table_contains(self->targets, request->target_path))
        return CSI_USE_REPUBLISH;
    if (g_str_has_prefix(request->volume_id, "csi-"))
        return CSI_USE_PUBLISH_INLINE;
    return request->capabilities[0].type == CSI_ACCESS_BLOCK ? CSI_USE_PUBLISH_BLOCK
                                                             : CSI_USE_PUBLISH;
}

static CsiUse
use_of(const CallsSeen *self, const CsiRequest *request)
{
    gboolean is_on_node = request->served_by != NULL;

    if (request->method == CSI_PROBE)
        return is_on_node ? CSI_USE_LIVENESS : CSI_USE_START_PROBE;
    if (request->method == CSI_NODE_GET_CAPABILITIES)
        return is_on_node ? CSI_USE_NODE_QUESTION : CSI_USE_START_NODE;
    if (request->method == CSI_CREATE_VOLUME)
        return use_of_create(request);
    if (request->method == CSI_NODE_PUBLISH_VOLUME)
        return use_of_publish(self, request);
    for (CsiUse use = 0; use < CSI_N_USES; use++)
        if (csi_use_class(use)->method == request->method)
            return told_apart(use);
    fail_msg("%s is in no row", csi_method_name(request->method));
    return CSI_N_USES;
}

static void
world_calls_call_answered(void *data, const CsiCallRecord *record)
{
    CallsSeen *self = data;
    const CsiRequest *request = record->request;

    self->seen[use_of(self, request)] = TRUE;
    if (request->method == CSI_NODE_PUBLISH_VOLUME && record->answer == CSI_OK)
        g_hash_table_add(self->targets, (void *)request->target_path);
}

/* ---- Comparison ---- */

/* @sets: NULL-terminated changes of the scenario. Returns: the number of differences */
static unsigned
calls_compare(const char *title, const char *const *sets)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"), .set = sets};
    g_autofree char *file =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "run", "world", SCENARIO, NULL);
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) scenario = scenario_load(file, &options, &faults);

    if (scenario == NULL)
        fail_msg("%s: %s", title, ((const FileFault *)faults->pdata[0])->message);
    g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = 1, .untraced = TRUE}, NULL);
    CallsSeen seen = {.targets = g_hash_table_new(g_str_hash, g_str_equal)};
    gboolean predicted[CSI_N_USES] = {FALSE};
    unsigned n_differences = 0;
    assert_non_null(run);
    csi_driver_add_observer(cluster_driver(run_cluster(run), 0),
                            &(CsiObserver){.answered = world_calls_call_answered, .data = &seen});
    assert_int_equal(run_execute(run), RUN_DONE);

    for (CsiUse use = 0; use < CSI_N_USES; use++) {
        g_autofree char *fault = scenario_driver_call_fault(scenario, &scenario->drivers[0], use);
        predicted[told_apart(use)] |= fault == NULL;
    }
    for (CsiUse use = 0; use < CSI_N_USES; use++)
        if (predicted[use] != seen.seen[use]) {
            print_error("%s: %s (%s): the table says %s, the run %s\n", title,
                        csi_method_name(csi_use_class(use)->method), csi_use_class(use)->when,
                        predicted[use] ? "yes" : "no", seen.seen[use] ? "yes" : "no");
            n_differences++;
        }
    g_hash_table_unref(seen.targets);
    return n_differences;
}

/* ---- Capabilities and settings ---- */

/* @without: leave out these */
static char *
capability_list(CsiService service, uint32_t bits, uint32_t without)
{
    static const char *const fields[] = {"pluginCapabilities", "controllerCapabilities",
                                         "nodeCapabilities"};
    GString *text = g_string_new(NULL);

    g_string_printf(text, "spec.drivers[0].%s=[", fields[service]);
    for (unsigned bit = 0; bit < 32; bit++)
        if ((bits & ~without & UINT32_C(1) << bit) != 0)
            g_string_append_printf(text, "%s%s", text->str[text->len - 1] == '[' ? "" : ", ",
                                   scenario_capability_name(service, UINT32_C(1) << bit));
    return g_string_free(g_string_append_c(text, ']'), FALSE);
}

/* The most that a driver can have, by CsiService; topology needs labels, and offline expansion
 * excludes the other. */
static const uint32_t all[] = {
    [CSI_IDENTITY] = CSI_PLUGIN_CONTROLLER_SERVICE | CSI_PLUGIN_EXPANSION_ONLINE,
    [CSI_CONTROLLER] = (1u << 16) - 2,
    [CSI_NODE] = (1u << 7) - 2,
};

/* What must go with a capability (CSI-11). */
static uint32_t
with_dependents(CsiService service, uint32_t bit)
{
    if (service == CSI_CONTROLLER && bit == CSI_CONTROLLER_LIST_VOLUMES)
        return bit | CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES;
    if (service == CSI_CONTROLLER && bit == CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME)
        return bit | CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES;
    return bit;
}

#define PROVISIONER_FLAG(flag) "spec.drivers[0].sidecars.external-provisioner." flag
#define RESIZER_FLAG(flag) "spec.drivers[0].sidecars.external-resizer." flag
#define OBJECT_FIELD(field) "CSIDriver/disk.csi.example.spec." field

/* All settings on but one; the last line has all of them. The deadline of an instance's wait is
 * short. */
static const char *const settings[] = {
    OBJECT_FIELD("requiresRepublish=true"),
    PROVISIONER_FLAG("enable-capacity=true"),
    PROVISIONER_FLAG("feature-gates=VolumeAttributesClass=true"),
    RESIZER_FLAG("feature-gates=VolumeAttributesClass=true"),
    "spec.nodes[0].kubelet.volumeStatsAggPeriod=20s",
    "spec.drivers[0].nodePlugin.livenessPeriod=10s",
};

static const char *const other_settings[] = {
    OBJECT_FIELD("volumeLifecycleModes=[Persistent]"),
    OBJECT_FIELD("volumeLifecycleModes=[Ephemeral]"),
    OBJECT_FIELD("attachRequired=false"),
    PROVISIONER_FLAG("node-deployment=true"),
    "spec.drivers[0].sidecars.external-provisioner=false",
    "spec.drivers[0].sidecars.external-resizer=false",
    "spec.drivers[0].sidecars.external-health-monitor-controller=false",
};

/* With all capabilities, those of @without left out, and all settings but @no_setting (-1: all);
 * @more: NULL: none. */
static unsigned
compare_without(const char *title, const uint32_t *without, int no_setting, const char *more)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new();
    g_autoptr(GPtrArray) lists = g_ptr_array_new_with_free_func(g_free);

    for (CsiService service = CSI_IDENTITY; service <= CSI_NODE; service++) {
        g_ptr_array_add(
            lists, capability_list(service, all[service], without == NULL ? 0 : without[service]));
        g_ptr_array_add(sets, lists->pdata[service]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(settings); i++)
        if ((int)i != no_setting)
            g_ptr_array_add(sets, (char *)settings[i]);
    g_ptr_array_add(sets, (char *)more);
    g_ptr_array_add(sets, NULL);
    return calls_compare(title, (const char *const *)sets->pdata);
}

TEST(calls_follow_capabilities)
{
    unsigned n = compare_without("all capabilities", NULL, -1, NULL);

    for (CsiService service = CSI_IDENTITY; service <= CSI_NODE; service++)
        for (unsigned bit = 0; bit < 32; bit++) {
            uint32_t without[CSI_NODE + 1] = {0};
            if ((all[service] & UINT32_C(1) << bit) == 0)
                continue;
            without[service] = with_dependents(service, UINT32_C(1) << bit);
            if (without[CSI_IDENTITY] == CSI_PLUGIN_CONTROLLER_SERVICE)
                without[CSI_CONTROLLER] = all[CSI_CONTROLLER];
            n += compare_without(scenario_capability_name(service, UINT32_C(1) << bit), without, -1,
                                 NULL);
        }
    n += compare_without("no expansion at all",
                         (uint32_t[]){CSI_PLUGIN_EXPANSION_ONLINE,
                                      CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY,
                                      CSI_NODE_EXPAND_VOLUME_CAPABILITY},
                         -1, NULL);
    n += compare_without("nothing", all, -1, NULL);
    assert_int_equal(n, 0);
}

TEST(calls_follow_settings)
{
    /* A list of published nodes contradicts attachRequired: false. */
    const uint32_t unlisted[] = {0, CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES, 0};
    unsigned n = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(settings); i++)
        n += compare_without(settings[i], NULL, (int)i, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(other_settings); i++)
        n += compare_without(other_settings[i], unlisted, -1, other_settings[i]);
    assert_int_equal(n, 0);
}

TEST(calls_follow_profiles)
{
    g_autofree char *folder =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "models", "profiles", NULL);
    g_autoptr(GDir) profiles = g_dir_open(folder, 0, NULL);
    const char *name;
    unsigned n_profiles = 0, n = 0;

    while ((name = g_dir_read_name(profiles)) != NULL) {
        if (!g_str_has_suffix(name, ".yaml") || g_str_has_prefix(name, "timing-"))
            continue;
        g_autofree char *profile = g_build_filename(folder, name, NULL);
        g_autofree char *set = g_strdup_printf("spec.drivers[0].profile=%s", profile);
        g_autofree char *text = NULL;
        g_autofree char *attach = NULL;
        assert_true(g_file_get_contents(profile, &text, NULL, NULL));
        attach =
            g_strdup_printf(OBJECT_FIELD("attachRequired=%s"),
                            strstr(text, "\nattachRequired: false") == NULL ? "true" : "false");
        n += calls_compare(name, (const char *const[]){set, attach, NULL});
        n_profiles++;
    }
    assert_true(n_profiles > 20);
    assert_int_equal(n, 0);
}

TEST(every_method_has_a_row)
{
    gboolean has_row[CSI_N_METHODS] = {FALSE};

    for (CsiUse use = 0; use < CSI_N_USES; use++) {
        const CsiUseClass *class = csi_use_class(use);
        assert_non_null(class->rule);
        assert_non_null(class->when);
        has_row[class->method] = TRUE;
    }
    for (CsiMethod method = 0; method < CSI_N_METHODS; method++)
        if (!has_row[method])
            fail_msg("%s has no row", csi_method_name(method));
}
