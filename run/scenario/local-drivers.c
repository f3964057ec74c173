/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/container-life.h"
#include "models/api/fields.h"
#include "models/local-path/local-path.h"
#include "models/local-volume/local-volume.h"
#include "scenario-private.h"

/* What drivers for the disks of nodes need beside their flags. */

static const char *
flag_text(GHashTable *flags, const ProcessClass *class, const char *name)
{
    const char *text = flags == NULL ? NULL : g_hash_table_lookup(flags, name);

    return text != NULL ? text : process_class_flag(class, name)->default_value;
}

/* The real driver takes any other word for the default (LOC-12). */
static void
check_scheduler(Loader *self, const json_t *where, GHashTable *flags)
{
    static const char *const schedulers[] = {"CapacityWeighted", "VolumeWeighted"};
    const char *text = flag_text(flags, &local_volume_controller_process, "scheduler");

    for (unsigned i = 0; i < G_N_ELEMENTS(schedulers); i++)
        if (g_str_equal(text, schedulers[i]))
            return;
    g_autofree char *nearest = name_hint(text, schedulers, G_N_ELEMENTS(schedulers));
    schema_fault_member(&self->reader, where, "sidecars",
                        nearest != NULL ? nearest : "CapacityWeighted or VolumeWeighted",
                        "%s has no scheduler \"%s\"", local_volume_controller_process.name, text);
}

void
loader_check_local_driver(Loader *self, const DriverFields *fields, const ScenarioDriver *driver)
{
    GHashTable *processes = driver->sidecars;
    const char *const names[] = {local_volume_controller_process.name,
                                 local_volume_agent_process.name};
    gboolean has[G_N_ELEMENTS(names)];

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        has[i] = g_hash_table_contains(processes, names[i]);
    if (!has[0] && !has[1])
        return;
    if (has[0] != has[1]) {
        schema_fault_member(&self->reader, fields->source, "sidecars",
                            "the controller chooses a node, the agent there makes the volume",
                            "%s needs %s beside it", names[has[0] ? 0 : 1], names[has[0] ? 1 : 0]);
        return;
    }
    if (driver->n_topology == 0)
        schema_fault_member(&self->reader, fields->source, "sidecars",
                            "for example topology: {topology.example.com/node: metadata.name}",
                            "%s needs a driver with topology: it chooses among places", names[0]);
    if (driver->model.random_ids)
        schema_fault_member(&self->reader, fields->source, "randomIds", NULL,
                            "%s names volumes after their claims", names[0]);
    check_scheduler(self, fields->source, g_hash_table_lookup(processes, names[0]));
}

void
loader_check_local_components(Loader *self, const json_t *spec)
{
    GHashTable *components = self->scenario.components;
    GHashTable *flags =
        components == NULL ? NULL : g_hash_table_lookup(components, local_path_process.name);
    StringPair pair = {ANNOTATION_RUNS_FOR, NULL};
    g_autoptr(GError) error = NULL;
    const char *annotation;
    ContainerLife life;

    if (flags == NULL)
        return;
    pair.value = flag_text(flags, &local_path_process, "commandTime");
    g_autoptr(StringMap) annotations = string_map_new(&pair, 1);
    if (container_life_parse(annotations, &life, &annotation, &error)) {
        container_life_clear(&life);
        return;
    }
    SchemaPlace outer = schema_enter_member(&self->reader, spec, "components");
    schema_fault_member(&self->reader, json_object_get(spec, "components"), local_path_process.name,
                        "for example 100ms", "commandTime \"%s\": %s", pair.value, error->message);
    schema_leave(&self->reader, outer);
}

const char *
scenario_local_path_provisioner(const Scenario *scenario)
{
    GHashTable *flags = scenario->components == NULL
                            ? NULL
                            : g_hash_table_lookup(scenario->components, local_path_process.name);

    return flags == NULL ? NULL : flag_text(flags, &local_path_process, "provisioner-name");
}
