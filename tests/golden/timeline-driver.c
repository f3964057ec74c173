/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "timeline-private.h"

/* The recorder's mock drivers. */

#define TOPOLOGY_KEY "topology.lab.example/zone"
#define NEVER_S 1e6

static json_t *
errors_json(const json_t *errors, GError **error)
{
    static const char *const known[] = {"method", "code", "count", "zone", "message", NULL};
    static const char *const copied[] = {"method", "code", "zone", "message"};
    json_auto_t *list = json_array();
    size_t i;
    json_t *given;

    json_array_foreach(errors, i, given) {
        int count = (int)json_integer_value(json_object_get(given, "count"));
        json_t *entry = json_object();
        json_array_append_new(list, entry);
        if (!timeline_check_keys(given, "errors of a driver", known, error))
            return NULL;
        if (count > 0)
            json_object_set_new(entry, "count", json_integer(count));
        for (unsigned k = 0; k < G_N_ELEMENTS(copied); k++)
            if (json_object_get(given, copied[k]) != NULL)
                json_object_set(entry, copied[k], json_object_get(given, copied[k]));
    }
    return json_incref(list);
}

/* The mock says "not ready" to the first N calls; the model's snapshots are ready after a time.
 * csi-snapshotter asks again after 1 s, 2 s, 4 s, ..., so between two calls any time does. */
static json_t *
ready_after(const json_t *given, int n_polls)
{
    double latency =
        json_number_value(json_object_get(json_object_get(given, "latencyMs"), "CreateSnapshot")) /
        1000;
    double pause = 1, seconds = 0;

    for (int i = 1; i < n_polls; i++, pause *= 2)
        seconds += pause + latency;
    return timeline_duration(seconds + (pause + latency) / 2);
}

static json_t *
latency_json(const json_t *given)
{
    json_t *latency = json_object();
    int n_polls = (int)json_integer_value(json_object_get(given, "snapshotReadyAfterPolls"));
    const char *name;
    json_t *value;

    json_object_foreach(json_object_get(given, "latencyMs"), name, value)
        json_object_set_new(latency, name, timeline_duration(json_number_value(value) / 1000));
    if (n_polls > 0)
        json_object_set_new(latency, "SnapshotReady", ready_after(given, n_polls));
    return latency;
}

json_t *
timeline_driver_change_json(const json_t *given, GError **error)
{
    static const char *const known[] = {"name",          "latencyMs",
                                        "errors",        "topology",
                                        "noAttach",      "maxVolumesPerNode",
                                        "nodeExpansion", "zoneCapacity",
                                        "snapshots",     "clone",
                                        "modifyVolume",  "snapshotReadyAfterPolls",
                                        "lateRegister",  NULL};
    json_auto_t *pools = json_array();
    const char *zone;
    json_t *capacity;

    if (!timeline_check_keys(given, "driver", known, error))
        return NULL;
    json_t *errors = errors_json(json_object_get(given, "errors"), error);
    if (errors == NULL)
        return NULL;
    json_object_foreach(json_object_get(given, "zoneCapacity"), zone, capacity)
        json_array_append_new(pools, json_pack("{s:s, s:O}", "zone", zone, "capacity", capacity));
    json_t *change = json_pack("{s:O*, s:o, s:o}", "name", json_object_get(given, "name"),
                               "latency", latency_json(given), "errors", errors);
    if (json_array_size(pools) > 0)
        json_object_set(change, "pools", pools);
    return change;
}

static void
add_words(json_t *list, const char *const *words)
{
    for (unsigned i = 0; words[i] != NULL; i++)
        json_array_append_new(list, json_string(words[i]));
}

/* Capabilities of the controller service beyond the model's own choice. Returns: (owned): NULL:
 * none
 */
static json_t *
capabilities_json(const json_t *given)
{
    static const struct {
        const char *key;
        const char *capabilities[3];
    } rows[] = {
        {"snapshots",    {"CREATE_DELETE_SNAPSHOT", "LIST_SNAPSHOTS", NULL}},
        {"clone",        {"CLONE_VOLUME", NULL}                            },
        {"modifyVolume", {"MODIFY_VOLUME", NULL}                           },
        {"zoneCapacity", {"GET_CAPACITY", NULL}                            },
    };
    json_auto_t *more = json_array();

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const json_t *value = json_object_get(given, rows[i].key);
        if (json_is_true(value) || json_is_object(value))
            add_words(more, rows[i].capabilities);
    }
    if (json_array_size(more) == 0)
        return NULL;
    add_words(more, (const char *const[]){"CREATE_DELETE_VOLUME", "EXPAND_VOLUME", NULL});
    if (!json_is_true(json_object_get(given, "noAttach")))
        add_words(more, (const char *const[]){"PUBLISH_UNPUBLISH_VOLUME", NULL});
    return json_incref(more);
}

static void
add_parameters(const json_t *objects, json_t *names)
{
    size_t i;
    json_t *object, *value;
    const char *name;

    json_array_foreach(objects, i, object) {
        if (g_strcmp0(json_string_value(json_object_get(object, "kind")),
                      "VolumeAttributesClass") != 0)
            continue;
        json_object_foreach(json_object_get(object, "parameters"), name, value)
            json_array_append_new(names, json_string(name));
    }
}

/* The mock takes any parameter; the model wants their names. */
static json_t *
mutable_parameters(const Timeline *self)
{
    json_t *names = json_array(), *step;
    size_t i;

    add_parameters(json_object_get(self->root, "initial"), names);
    json_array_foreach(json_object_get(self->root, "steps"), i, step)
        add_parameters(json_object_get(step, "objects"), names);
    return names;
}

/* A driver that registers late does so on each node with the first step for it; the earliest sets
 * the plugin's time, timeline-steps.c delays the others. */
static json_t *
plugin_json(const Timeline *self)
{
    g_autofree const char **nodes = timeline_node_names(self);
    double first = NEVER_S;

    for (unsigned i = 0; nodes[i] != NULL; i++) {
        double at = timeline_step_at(self, "registerDriver", nodes[i], 0);
        if (at >= 0)
            first = MIN(first, at);
    }
    return json_pack("{s:o}", "registersAfter", timeline_instant(first));
}

/* The mock keeps no real state beyond sizes and zones, and answers when its caller gives up
 * (golden/README.md). */
static json_t *
driver_json(const Timeline *self, const json_t *given, GError **error)
{
    json_t *driver = timeline_driver_change_json(given, error);

    if (driver == NULL)
        return NULL;
    json_object_update_new(driver,
                           json_pack("{s:s, s:b, s:b, s:{s:s}, s:{s:s}}", "lock", "none",
                                     "adoptsUnknownVolumes", 1, "abortsWithCaller", 1,
                                     "publishContext", "dev", "x", "volumeContext", "lab", "1"));
    json_object_set_new(driver, "topology",
                        json_is_true(json_object_get(given, "topology")) ? json_string(TOPOLOGY_KEY)
                                                                         : json_false());
    if (json_is_true(json_object_get(given, "noAttach")))
        json_object_set_new(driver, "attachRequired", json_false());
    if (json_object_get(given, "maxVolumesPerNode") != NULL)
        json_object_set(driver, "attachLimitReported", json_object_get(given, "maxVolumesPerNode"));
    if (!json_is_true(json_object_get(given, "nodeExpansion")))
        json_object_set_new(driver, "nodeCapabilities",
                            json_pack("[s, s]", "STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS"));
    json_t *capabilities = capabilities_json(given);
    if (capabilities != NULL)
        json_object_set_new(driver, "controllerCapabilities", capabilities);
    if (json_is_true(json_object_get(given, "modifyVolume")))
        json_object_set_new(driver, "mutableParameters", mutable_parameters(self));
    if (json_is_true(json_object_get(given, "lateRegister")))
        json_object_set_new(driver, "nodePlugin", plugin_json(self));
    json_object_set_new(driver, "sidecars", timeline_sidecars_json(self));
    return driver;
}

json_t *
timeline_drivers_json(const Timeline *self, GError **error)
{
    json_auto_t *drivers = json_array();
    size_t i;
    json_t *given;
    json_t *driver = driver_json(self, json_object_get(self->root, "driver"), error);

    if (driver == NULL)
        return NULL;
    json_array_append_new(drivers, driver);
    json_array_foreach(json_object_get(self->root, "moreDrivers"), i, given) {
        driver = driver_json(self, given, error);
        if (driver == NULL)
            return NULL;
        json_array_append_new(drivers, driver);
    }
    return json_incref(drivers);
}
