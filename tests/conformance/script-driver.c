/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/script-driver.h"

#include "models/api/fields.h"
#include "models/api/map-json.h"
#include "models/csi/csi-backend.h"
#include "models/csi/csi-test.h"

#include <string.h>

struct ScriptDriver {
    CsiDriver base;
    ScriptOptions options;
    json_t *calls;
    GArray *kept; /* of Kept */
};

typedef struct {
    void *data;
    GDestroyNotify free_data;
} Kept;

typedef struct {
    CsiCall base;
    SimEventId event;
    gboolean has_come; /* it stands in the list of calls */
    unsigned number;
} ScriptCall;

static const struct {
    const char *name;
    unsigned plugin, controller;
} capabilities[] = {
    {"CONTROLLER_SERVICE",               CSI_PLUGIN_CONTROLLER_SERVICE,               0                                          },
    {"VOLUME_ACCESSIBILITY_CONSTRAINTS", CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS, 0                                          },
    {"CREATE_DELETE_VOLUME",             0,                                           CSI_CONTROLLER_CREATE_DELETE_VOLUME        },
    {"PUBLISH_UNPUBLISH_VOLUME",         0,                                           CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME    },
    {"GET_CAPACITY",                     0,                                           CSI_CONTROLLER_GET_CAPACITY                },
    {"CREATE_DELETE_SNAPSHOT",           0,                                           CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT      },
    {"CLONE_VOLUME",                     0,                                           CSI_CONTROLLER_CLONE_VOLUME                },
    {"PUBLISH_READONLY",                 0,                                           CSI_CONTROLLER_PUBLISH_READONLY            },
    {"LIST_VOLUMES",                     0,                                           CSI_CONTROLLER_LIST_VOLUMES                },
    {"LIST_VOLUMES_PUBLISHED_NODES",     0,                                           CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES},
    {"SINGLE_NODE_MULTI_WRITER",         0,                                           CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER    },
    {"MODIFY_VOLUME",                    0,                                           CSI_CONTROLLER_MODIFY_VOLUME_CAPABILITY    },
};

static unsigned
mask_of(const json_t *names, gboolean plugin)
{
    unsigned mask = 0;
    const json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
        for (unsigned k = 0; k < G_N_ELEMENTS(capabilities); k++) {
            if (g_strcmp0(capabilities[k].name, json_string_value(name)) == 0)
                mask |= plugin ? capabilities[k].plugin : capabilities[k].controller;
        }
    return mask;
}

CsiPluginCapabilities
script_plugin_capabilities(const json_t *names)
{
    return mask_of(names, TRUE);
}

CsiControllerCapabilities
script_controller_capabilities(const json_t *names)
{
    return mask_of(names, FALSE);
}

json_t *
script_map_json(const StringMap *map)
{
    return map_to_json(map);
}

StringMap *
script_map(Case *self, const json_t *object)
{
    return map_from_json(objects_strings(self->objects), object);
}

/* ---- Requests as CSI messages ---- */

static void
set_string(json_t *object, const char *key, const char *value)
{
    if (value != NULL && value[0] != '\0')
        json_object_set_new(object, key, json_string(value));
}

static void
set_object(json_t *object, const char *key, json_t *value)
{
    if (json_object_size(value) > 0 || json_array_size(value) > 0)
        json_object_set_new(object, key, value);
    else
        json_decref(value);
}

static json_t *
script_driver_capability_json(const CsiCapability *capability)
{
    json_t *access = json_object();

    if (capability->type == CSI_ACCESS_MOUNT) {
        const StringList *flags = capability->mount_flags;
        json_t *list = json_array();
        for (unsigned i = 0; flags != NULL && i < flags->n_items; i++)
            json_array_append_new(list, json_string(flags->items[i]));
        set_string(access, "fsType", capability->fs_type);
        set_object(access, "mountFlags", list);
    }
    return json_pack("{s:{s:s}, s:o}", "accessMode", "mode", csi_access_mode_name(capability->mode),
                     capability->type == CSI_ACCESS_MOUNT ? "mount" : "block", access);
}

static json_t *
segments_json(const StringMap *const *segments, unsigned n)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:o}", "segments", script_map_json(segments[i])));
    return list;
}

static void
set_source(json_t *message, const CsiRequest *request)
{
    gboolean is_volume = request->source_kind == CSI_SOURCE_VOLUME;
    json_t *source;

    if (request->source_kind == CSI_SOURCE_NONE)
        return;
    source = json_object();
    set_string(source, is_volume ? "volumeId" : "snapshotId", request->source_id);
    json_object_set_new(message, "volumeContentSource",
                        json_pack("{s:o}", is_volume ? "volume" : "snapshot", source));
}

static json_t *
request_json(const CsiRequest *request)
{
    json_t *message = json_object(), *modes = json_array(), *places = json_object();

    set_string(message, "name", request->name);
    set_string(message, "volumeId", request->volume_id);
    set_string(message, "nodeId", request->node_id);
    set_string(message, "snapshotId", request->snapshot_id);
    if (request->required_bytes > 0) {
        g_autofree char *bytes = g_strdup_printf("%" G_GINT64_FORMAT, request->required_bytes);
        json_object_set_new(message, "capacityRange", json_pack("{s:s}", "requiredBytes", bytes));
    }
    for (unsigned i = 0; i < request->n_capabilities; i++)
        json_array_append_new(modes, script_driver_capability_json(&request->capabilities[i]));
    set_object(message, "volumeCapabilities", modes);
    set_object(message, "parameters", script_map_json(request->parameters));
    set_object(message, "mutableParameters", script_map_json(request->mutable_parameters));
    set_object(message, "volumeContext", script_map_json(request->volume_context));
    set_object(places, "requisite", segments_json(request->requisite, request->n_requisite));
    set_object(places, "preferred", segments_json(request->preferred, request->n_preferred));
    set_object(message, "accessibilityRequirements", places);
    set_source(message, request);
    if (request->readonly)
        json_object_set_new(message, "readonly", json_true());
    if (request->has_secrets)
        json_object_set_new(message, "secrets", json_true());
    return message;
}

/* ---- The back end ---- */

static void
answer_start(const ScriptDriver *self, CsiResponse *response)
{
    response->ready = TRUE;
    response->plugin_name = self->base.name;
    response->plugin_capabilities = self->options.plugin;
    response->controller_capabilities = self->options.controller;
}

static gboolean
is_question(CsiMethod method)
{
    return csi_method_service(method) == CSI_IDENTITY || method == CSI_CONTROLLER_GET_CAPABILITIES;
}

static void call_due(Sim *sim, void *data);

static const SimEventType due_event = {
    .name = "conformance/answer",
    .fire = call_due,
};

/* Notes the call. Returns: how long its answer takes */
static SimTime
take_call(ScriptDriver *self, ScriptCall *call)
{
    const CsiRequest *request = call->base.request;

    call->has_come = TRUE;
    call->number = (unsigned)json_array_size(self->calls);
    json_array_append_new(self->calls,
                          json_pack("{s:s, s:o}", "call", csi_method_name(request->method),
                                    "request", request_json(request)));
    return self->options.delay == NULL ? 0 : self->options.delay(self->options.data, call->number);
}

static void
call_due(Sim *sim, void *data)
{
    ScriptCall *call = data;
    ScriptDriver *self = (ScriptDriver *)call->base.driver;
    const CsiRequest *request = call->base.request;
    CsiResponse response = {.code = CSI_OK};

    call->event = 0;
    if (is_question(request->method)) {
        answer_start(self, &response);
    } else {
        SimTime delay = call->has_come ? 0 : take_call(self, call);
        if (delay > 0) {
            call->event = sim_after(sim, delay, &due_event, call, WAIT_DRIVER);
            return;
        }
        if (self->options.answer != NULL)
            self->options.answer(self->options.data, call->number, request, &response);
    }
    csi_call_finish(&call->base, &response);
}

static void
script_start(CsiDriver *driver, CsiCall *call)
{
    ((ScriptCall *)call)->event = sim_after(driver->sim, 0, &due_event, call, WAIT_DRIVER);
}

static void
script_caller_gone(CsiDriver *driver, CsiCall *call)
{
    (void)driver;
    (void)call;
}

static void
script_call_clear(CsiDriver *driver, CsiCall *call)
{
    sim_cancel(driver->sim, ((ScriptCall *)call)->event);
}

static void
script_close(CsiDriver *driver)
{
    (void)driver;
}

static void
script_free(CsiDriver *driver)
{
    ScriptDriver *self = (ScriptDriver *)driver;

    for (unsigned i = 0; i < self->kept->len; i++)
        g_array_index(self->kept, Kept, i).free_data(g_array_index(self->kept, Kept, i).data);
    g_array_unref(self->kept);
    json_decref(self->calls);
}

static const CsiDriverClass script_class = {
    .name = "script",
    .call_size = sizeof(ScriptCall),
    .start = script_start,
    .caller_gone = script_caller_gone,
    .call_clear = script_call_clear,
    .close = script_close,
    .free = script_free,
};

ScriptDriver *
script_driver_new(Case *self, const char *name, const ScriptOptions *options)
{
    static const CsiWaits waits = {WAIT_DRIVER, WAIT_DRIVER_THROTTLE};
    Strings *strings = objects_strings(self->objects);
    ScriptDriver *driver = g_new0(ScriptDriver, 1);

    csi_driver_init(&driver->base, &script_class, self->sim, strings, strings_intern(strings, name),
                    &waits);
    driver->options = *options;
    driver->calls = json_array();
    driver->kept = g_array_new(FALSE, FALSE, sizeof(Kept));
    return driver;
}

CsiDriver *
script_driver_base(ScriptDriver *self)
{
    return &self->base;
}

json_t *
script_driver_calls(const ScriptDriver *self)
{
    return self->calls;
}

void *
script_driver_keep(ScriptDriver *self, void *data, GDestroyNotify free_data)
{
    Kept kept = {data, free_data};

    if (data != NULL)
        g_array_append_val(self->kept, kept);
    return data;
}
