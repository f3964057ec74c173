/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts that all drivers have in common: names of methods and codes, copies of requests and
 * answers, and calls in flight with their deadlines and observers. A call is answered exactly once,
 * by the driver or by its deadline; the back end may go on after the deadline.
 *
 * An id holds a slot and the slot's generation, so an id of a finished call is never mistaken for a
 * newer call in the same slot. */
#include "csi-backend.h"
#include "models/csi/csi-test.h"

#include <string.h>

/* These tables are in the order of their enums; the first columns prove it. The name of a method
 * stands behind the last slash. */
/* clang-format off */
static const struct {
    CsiMethod method;
    const char *full_name;
    CsiService service;
} methods[CSI_N_METHODS] = {
    {CSI_GET_PLUGIN_INFO,                   "/csi.v1.Identity/GetPluginInfo",                         CSI_IDENTITY},
    {CSI_GET_PLUGIN_CAPABILITIES,           "/csi.v1.Identity/GetPluginCapabilities",                 CSI_IDENTITY},
    {CSI_PROBE,                             "/csi.v1.Identity/Probe",                                 CSI_IDENTITY},
    {CSI_CREATE_VOLUME,                     "/csi.v1.Controller/CreateVolume",                        CSI_CONTROLLER},
    {CSI_DELETE_VOLUME,                     "/csi.v1.Controller/DeleteVolume",                        CSI_CONTROLLER},
    {CSI_CONTROLLER_PUBLISH_VOLUME,         "/csi.v1.Controller/ControllerPublishVolume",             CSI_CONTROLLER},
    {CSI_CONTROLLER_UNPUBLISH_VOLUME,       "/csi.v1.Controller/ControllerUnpublishVolume",           CSI_CONTROLLER},
    {CSI_VALIDATE_VOLUME_CAPABILITIES,      "/csi.v1.Controller/ValidateVolumeCapabilities",          CSI_CONTROLLER},
    {CSI_LIST_VOLUMES,                      "/csi.v1.Controller/ListVolumes",                         CSI_CONTROLLER},
    {CSI_GET_CAPACITY,                      "/csi.v1.Controller/GetCapacity",                         CSI_CONTROLLER},
    {CSI_CONTROLLER_GET_CAPABILITIES,       "/csi.v1.Controller/ControllerGetCapabilities",           CSI_CONTROLLER},
    {CSI_CREATE_SNAPSHOT,                   "/csi.v1.Controller/CreateSnapshot",                      CSI_CONTROLLER},
    {CSI_DELETE_SNAPSHOT,                   "/csi.v1.Controller/DeleteSnapshot",                      CSI_CONTROLLER},
    {CSI_LIST_SNAPSHOTS,                    "/csi.v1.Controller/ListSnapshots",                       CSI_CONTROLLER},
    {CSI_GET_SNAPSHOT,                      "/csi.v1.Controller/GetSnapshot",                         CSI_CONTROLLER},
    {CSI_CONTROLLER_EXPAND_VOLUME,          "/csi.v1.Controller/ControllerExpandVolume",              CSI_CONTROLLER},
    {CSI_CONTROLLER_GET_VOLUME,             "/csi.v1.Controller/ControllerGetVolume",                 CSI_CONTROLLER},
    {CSI_CONTROLLER_MODIFY_VOLUME,          "/csi.v1.Controller/ControllerModifyVolume",              CSI_CONTROLLER},
    {CSI_NODE_STAGE_VOLUME,                 "/csi.v1.Node/NodeStageVolume",                           CSI_NODE},
    {CSI_NODE_UNSTAGE_VOLUME,               "/csi.v1.Node/NodeUnstageVolume",                         CSI_NODE},
    {CSI_NODE_PUBLISH_VOLUME,               "/csi.v1.Node/NodePublishVolume",                         CSI_NODE},
    {CSI_NODE_UNPUBLISH_VOLUME,             "/csi.v1.Node/NodeUnpublishVolume",                       CSI_NODE},
    {CSI_NODE_GET_VOLUME_STATS,             "/csi.v1.Node/NodeGetVolumeStats",                        CSI_NODE},
    {CSI_NODE_EXPAND_VOLUME,                "/csi.v1.Node/NodeExpandVolume",                          CSI_NODE},
    {CSI_NODE_GET_CAPABILITIES,             "/csi.v1.Node/NodeGetCapabilities",                       CSI_NODE},
    {CSI_NODE_GET_INFO,                     "/csi.v1.Node/NodeGetInfo",                               CSI_NODE},
    {CSI_GROUP_CONTROLLER_GET_CAPABILITIES, "/csi.v1.GroupController/GroupControllerGetCapabilities", CSI_GROUP_CONTROLLER},
    {CSI_CREATE_VOLUME_GROUP_SNAPSHOT,      "/csi.v1.GroupController/CreateVolumeGroupSnapshot",      CSI_GROUP_CONTROLLER},
    {CSI_DELETE_VOLUME_GROUP_SNAPSHOT,      "/csi.v1.GroupController/DeleteVolumeGroupSnapshot",      CSI_GROUP_CONTROLLER},
    {CSI_GET_VOLUME_GROUP_SNAPSHOT,         "/csi.v1.GroupController/GetVolumeGroupSnapshot",         CSI_GROUP_CONTROLLER},
};
/* clang-format on */

/* Spelled as in gRPC's documentation and by Go's codes.Code.String(). */
static const struct {
    CsiCode code;
    const char *name, *go_name;
} codes[CSI_N_CODES] = {
    {CSI_OK,                  "OK",                  "OK"                },
    {CSI_CANCELLED,           "CANCELLED",           "Canceled"          },
    {CSI_UNKNOWN,             "UNKNOWN",             "Unknown"           },
    {CSI_INVALID_ARGUMENT,    "INVALID_ARGUMENT",    "InvalidArgument"   },
    {CSI_DEADLINE_EXCEEDED,   "DEADLINE_EXCEEDED",   "DeadlineExceeded"  },
    {CSI_NOT_FOUND,           "NOT_FOUND",           "NotFound"          },
    {CSI_ALREADY_EXISTS,      "ALREADY_EXISTS",      "AlreadyExists"     },
    {CSI_PERMISSION_DENIED,   "PERMISSION_DENIED",   "PermissionDenied"  },
    {CSI_RESOURCE_EXHAUSTED,  "RESOURCE_EXHAUSTED",  "ResourceExhausted" },
    {CSI_FAILED_PRECONDITION, "FAILED_PRECONDITION", "FailedPrecondition"},
    {CSI_ABORTED,             "ABORTED",             "Aborted"           },
    {CSI_OUT_OF_RANGE,        "OUT_OF_RANGE",        "OutOfRange"        },
    {CSI_UNIMPLEMENTED,       "UNIMPLEMENTED",       "Unimplemented"     },
    {CSI_INTERNAL,            "INTERNAL",            "Internal"          },
    {CSI_UNAVAILABLE,         "UNAVAILABLE",         "Unavailable"       },
    {CSI_DATA_LOSS,           "DATA_LOSS",           "DataLoss"          },
    {CSI_UNAUTHENTICATED,     "UNAUTHENTICATED",     "Unauthenticated"   },
};

/* CSI-42 */
static const struct {
    CsiAccessMode mode;
    const char *name;
    gboolean single_node;
} modes[CSI_N_MODES] = {
    {CSI_MODE_UNKNOWN,              "UNKNOWN",                   FALSE},
    {CSI_SINGLE_NODE_WRITER,        "SINGLE_NODE_WRITER",        TRUE },
    {CSI_SINGLE_NODE_READER_ONLY,   "SINGLE_NODE_READER_ONLY",   TRUE },
    {CSI_MULTI_NODE_READER_ONLY,    "MULTI_NODE_READER_ONLY",    FALSE},
    {CSI_MULTI_NODE_SINGLE_WRITER,  "MULTI_NODE_SINGLE_WRITER",  FALSE},
    {CSI_MULTI_NODE_MULTI_WRITER,   "MULTI_NODE_MULTI_WRITER",   FALSE},
    {CSI_SINGLE_NODE_SINGLE_WRITER, "SINGLE_NODE_SINGLE_WRITER", TRUE },
    {CSI_SINGLE_NODE_MULTI_WRITER,  "SINGLE_NODE_MULTI_WRITER",  TRUE },
};

const char *
csi_method_name(CsiMethod method)
{
    g_assert(method < CSI_N_METHODS && methods[method].method == method);
    return strrchr(methods[method].full_name, '/') + 1;
}

const char *
csi_method_full_name(CsiMethod method)
{
    g_assert(method < CSI_N_METHODS);
    return methods[method].full_name;
}

CsiService
csi_method_service(CsiMethod method)
{
    g_assert(method < CSI_N_METHODS);
    return methods[method].service;
}

gboolean
csi_method_parse(const char *name, CsiMethod *method)
{
    for (CsiMethod i = 0; i < CSI_N_METHODS; i++) {
        if (strcmp(csi_method_name(i), name) == 0) {
            *method = i;
            return TRUE;
        }
    }
    return FALSE;
}

const char *
csi_code_name(CsiCode code)
{
    g_assert(code < CSI_N_CODES && codes[code].code == code);
    return codes[code].name;
}

const char *
csi_code_go_name(CsiCode code)
{
    g_assert(code < CSI_N_CODES);
    return codes[code].go_name;
}

gboolean
csi_code_parse(const char *name, CsiCode *code)
{
    for (CsiCode i = 0; i < CSI_N_CODES; i++) {
        if (strcmp(codes[i].name, name) == 0 || strcmp(codes[i].go_name, name) == 0) {
            *code = i;
            return TRUE;
        }
    }
    return FALSE;
}

const char *
csi_access_mode_name(CsiAccessMode mode)
{
    g_assert(mode < CSI_N_MODES && modes[mode].mode == mode);
    return modes[mode].name;
}

gboolean
csi_access_mode_is_single_node(CsiAccessMode mode)
{
    g_assert(mode < CSI_N_MODES);
    return modes[mode].single_node;
}

gboolean
csi_capability_equal(const CsiCapability *a, const CsiCapability *b)
{
    return a->mode == b->mode && a->type == b->type && strings_same(a->fs_type, b->fs_type) &&
           strings_same(a->volume_mount_group, b->volume_mount_group) &&
           string_list_equal(a->mount_flags, b->mount_flags);
}

/* Copies an array to *@place, which has room, and moves *@place behind it. */
static void *
place_array(char **place, const void *items, size_t size)
{
    char *copy = *place;

    if (size == 0)
        return NULL;
    memcpy(copy, items, size);
    *place += size;
    return copy;
}

static void
ref_maps(const StringMap *const *maps, unsigned n_maps)
{
    for (unsigned i = 0; i < n_maps; i++)
        string_map_ref(maps[i]);
}

/* References are counted in the object, which is otherwise immutable. */
static void
unref_map(const StringMap *map)
{
    string_map_unref((StringMap *)map);
}

static void
unref_maps(const StringMap *const *maps, unsigned n_maps)
{
    for (unsigned i = 0; i < n_maps; i++)
        unref_map(maps[i]);
}

static size_t
arrays_size(const CsiRequest *request)
{
    return request->n_capabilities * sizeof *request->capabilities +
           (request->n_requisite + request->n_preferred) * sizeof *request->requisite;
}

/* @place has room for all arrays of @request. */
static void
request_init_copy(CsiRequest *copy, const CsiRequest *request, char *place)
{
    *copy = *request;
    copy->capabilities = place_array(&place, request->capabilities,
                                     request->n_capabilities * sizeof *request->capabilities);
    copy->requisite =
        place_array(&place, request->requisite, request->n_requisite * sizeof *request->requisite);
    copy->preferred =
        place_array(&place, request->preferred, request->n_preferred * sizeof *request->preferred);
    for (unsigned i = 0; i < copy->n_capabilities; i++)
        string_list_ref(copy->capabilities[i].mount_flags);
    ref_maps(copy->requisite, copy->n_requisite);
    ref_maps(copy->preferred, copy->n_preferred);
    string_list_ref(copy->volume_ids);
    string_list_ref(copy->snapshot_ids);
    string_map_ref(copy->parameters);
    string_map_ref(copy->mutable_parameters);
    string_map_ref(copy->publish_context);
    string_map_ref(copy->volume_context);
}

static void
request_unref_all(const CsiRequest *request)
{
    for (unsigned i = 0; i < request->n_capabilities; i++)
        string_list_unref((StringList *)request->capabilities[i].mount_flags);
    unref_maps(request->requisite, request->n_requisite);
    unref_maps(request->preferred, request->n_preferred);
    string_list_unref((StringList *)request->volume_ids);
    string_list_unref((StringList *)request->snapshot_ids);
    unref_map(request->parameters);
    unref_map(request->mutable_parameters);
    unref_map(request->publish_context);
    unref_map(request->volume_context);
}

CsiRequest *
csi_request_copy(SimMemory *memory, const CsiRequest *request)
{
    CsiRequest *copy = sim_memory_take(memory, sizeof *copy + arrays_size(request));

    request_init_copy(copy, request, (char *)(copy + 1));
    return copy;
}

void
csi_request_free(SimMemory *memory, CsiRequest *request)
{
    if (request == NULL)
        return;
    request_unref_all(request);
    sim_memory_give(memory, request, sizeof *request + arrays_size(request));
}

static size_t
topology_size(const CsiResponse *response)
{
    return response->n_accessible_topology * sizeof *response->accessible_topology;
}

static size_t
entries_size(const CsiResponse *response)
{
    return response->n_entries * sizeof *response->entries;
}

static size_t
response_size(const CsiResponse *response)
{
    return sizeof *response + topology_size(response) + entries_size(response);
}

CsiResponse *
csi_response_copy(SimMemory *memory, const CsiResponse *response)
{
    CsiResponse *copy = sim_memory_take(memory, response_size(response));
    char *place = (char *)(copy + 1);

    *copy = *response;
    copy->accessible_topology =
        place_array(&place, response->accessible_topology, topology_size(response));
    copy->entries = place_array(&place, response->entries, entries_size(response));
    ref_maps(copy->accessible_topology, copy->n_accessible_topology);
    for (unsigned i = 0; i < copy->n_entries; i++)
        string_list_ref(copy->entries[i].published_node_ids);
    string_map_ref(copy->volume_context);
    string_map_ref(copy->publish_context);
    return copy;
}

void
csi_response_free(SimMemory *memory, CsiResponse *response)
{
    if (response == NULL)
        return;
    unref_maps(response->accessible_topology, response->n_accessible_topology);
    for (unsigned i = 0; i < response->n_entries; i++)
        string_list_unref((StringList *)response->entries[i].published_node_ids);
    unref_map(response->volume_context);
    unref_map(response->publish_context);
    sim_memory_give(memory, response, response_size(response));
}

const char *
csi_response_error(const CsiResponse *response, Strings *strings)
{
    return strings_internf(strings, "rpc error: code = %s desc = %s",
                           csi_code_go_name(response->code),
                           response->message != NULL ? response->message : "");
}

/* A place for a call in flight. Its generation makes ids unique: an id is generation << 32 | place
 * + 1. */
typedef struct {
    CsiCall *call; /* NULL: free */
    uint32_t generation;
    uint32_t next_free; /* if free: place + 1; 0: the last */
} CsiSlot;

static CsiSlot *
slot_at(const CsiDriver *self, unsigned i)
{
    return &g_array_index(self->slots, CsiSlot, i);
}

static CsiCallId
take_slot(CsiDriver *self, CsiCall *call)
{
    if (self->free_slot == 0) {
        g_array_set_size(self->slots, self->slots->len + 1);
        self->free_slot = self->slots->len;
    }
    uint32_t place = self->free_slot;
    CsiSlot *slot = slot_at(self, place - 1);
    self->free_slot = slot->next_free;
    slot->call = call;
    slot->generation++;
    self->n_in_flight++;
    return (CsiCallId)slot->generation << 32 | place;
}

static void
leave_slot(CsiDriver *self, CsiCallId id)
{
    uint32_t place = (uint32_t)(id & UINT32_MAX);
    CsiSlot *slot = slot_at(self, place - 1);

    slot->call = NULL;
    slot->next_free = self->free_slot;
    self->free_slot = place;
    self->n_in_flight--;
}

CsiCall *
csi_driver_find_call(const CsiDriver *self, CsiCallId id)
{
    unsigned place = (unsigned)(id & UINT32_MAX);

    if (place == 0 || place > self->slots->len)
        return NULL;
    CsiSlot *slot = slot_at(self, place - 1);
    return slot->generation == id >> 32 ? slot->call : NULL;
}

const CsiCallRecord *
csi_driver_next_call(const CsiDriver *driver, unsigned *place)
{
    while (*place < driver->slots->len) {
        const CsiCall *call = slot_at(driver, (*place)++)->call;
        if (call != NULL)
            return &call->record;
    }
    return NULL;
}

void
csi_driver_init(CsiDriver *self,
                const CsiDriverClass *class,
                Sim *sim,
                Strings *strings,
                const char *name,
                const CsiWaits *waits)
{
    self->class = class;
    self->sim = sim;
    self->strings = strings;
    self->name = strings_intern(strings, name);
    self->waits = *waits;
    self->slots = g_array_new(FALSE, TRUE, sizeof(CsiSlot));
    self->observers = g_array_new(FALSE, FALSE, sizeof(CsiObserver));
}

static CsiCall *
call_new(CsiDriver *driver, const CsiRequest *request)
{
    CsiCall *call = sim_memory_take(sim_memory(driver->sim), driver->class->call_size);
    size_t size = arrays_size(request);

    memset(call, 0, driver->class->call_size);
    if (size > sizeof call->own_capability)
        call->arrays = g_malloc(size);
    request_init_copy(&call->own_request, request,
                      call->arrays != NULL ? call->arrays : (char *)&call->own_capability);
    call->driver = driver;
    call->request = &call->own_request;
    return call;
}

static void
csi_call_free(CsiCall *call)
{
    CsiDriver *driver = call->driver;

    driver->class->call_clear(driver, call);
    sim_cancel(driver->sim, call->deadline);
    request_unref_all(call->request);
    g_free(call->arrays);
    sim_memory_give(sim_memory(driver->sim), call, driver->class->call_size);
}

void
csi_driver_free(CsiDriver *self)
{
    if (self == NULL)
        return;
    self->class->close(self);
    for (unsigned i = 0; i < self->slots->len; i++)
        if (slot_at(self, i)->call != NULL)
            csi_call_free(slot_at(self, i)->call);
    self->class->free(self);
    g_array_unref(self->slots);
    g_array_unref(self->observers);
    g_free(self);
}

unsigned
csi_driver_n_volumes(const CsiDriver *self)
{
    return self->class->n_volumes == NULL ? 0 : self->class->n_volumes(self);
}

gboolean
csi_driver_foresee_node_info(CsiDriver *self, const char *node_name, CsiResponse *response)
{
    return self->class->foresee_node_info != NULL &&
           self->class->foresee_node_info(self, node_name, response);
}

gboolean
csi_driver_adopt(CsiDriver *self, const CsiRequest *request)
{
    return self->class->adopt != NULL && self->class->adopt(self, request);
}

void
csi_driver_add_node(CsiDriver *self,
                    const char *name,
                    const char *node_id,
                    const StringMap *segments)
{
    self->class->add_node(self, name, node_id, segments);
}

const char *
csi_driver_name(const CsiDriver *self)
{
    return self->name;
}

unsigned
csi_driver_in_flight(const CsiDriver *self)
{
    return self->n_in_flight;
}

void
csi_driver_add_observer(CsiDriver *self, const CsiObserver *observer)
{
    g_array_append_val(self->observers, *observer);
}

typedef void (*ObserverHook)(void *data, const CsiCallRecord *record);

static void
tell_observers(const CsiDriver *self, const CsiCallRecord *record, size_t hook_offset)
{
    for (unsigned i = 0; i < self->observers->len; i++) {
        const CsiObserver *observer = &g_array_index(self->observers, CsiObserver, i);
        ObserverHook hook = G_STRUCT_MEMBER(ObserverHook, observer, hook_offset);
        if (hook != NULL)
            hook(observer->data, record);
    }
}

static void
note_answer(CsiCall *call, CsiCode code)
{
    call->has_caller = FALSE;
    call->record.answered_at = sim_now(call->driver->sim);
    call->record.answer = code;
    tell_observers(call->driver, &call->record, G_STRUCT_OFFSET(CsiObserver, answered));
}

/* The caller stops waiting; the back end may go on (CSI-5). */
static void
deadline_passed(Sim *sim, void *data)
{
    static const CsiResponse late = {.code = CSI_DEADLINE_EXCEEDED,
                                     .message = "context deadline exceeded"};
    CsiCall *call = data;
    CsiReply reply = call->reply;
    void *reply_data = call->data;

    (void)sim;
    call->deadline = 0;
    note_answer(call, late.code);
    call->driver->class->caller_gone(call->driver, call);
    if (reply != NULL)
        reply(reply_data, &late);
}

static const SimEventType deadline_event = {.name = "csi/deadline", .fire = deadline_passed};

static SimTime
deadline_of(const CsiDriver *self, const CsiRequest *request)
{
    SimTime now = sim_now(self->sim);

    return request->deadline > 0 ? MAX(request->deadline, now)
                                 : sim_time_add(now, request->timeout_ns);
}

CsiCallId
csi_driver_call(CsiDriver *self, const CsiRequest *request, CsiReply reply, void *data)
{
    g_assert(request->method < CSI_N_METHODS);
    CsiCall *call = call_new(self, request);

    call->reply = reply;
    call->data = data;
    call->has_caller = TRUE;
    CsiCallId id = take_slot(self, call);
    call->record = (CsiCallRecord){.driver = self,
                                   .id = id,
                                   .request = call->request,
                                   .started_at = sim_now(self->sim),
                                   .cause = sim_cause(self->sim),
                                   .answered_at = SIM_TIME_MAX};
    tell_observers(self, &call->record, G_STRUCT_OFFSET(CsiObserver, started));
    if (request->deadline > 0 || request->timeout_ns > 0)
        call->deadline = sim_at_detail(self->sim, deadline_of(self, request), &deadline_event, call,
                                       self->waits.latency, CSI_WAIT_DETAIL(request->method));
    self->starting = TRUE;
    self->class->start(self, call);
    self->starting = FALSE;
    return id;
}

void
csi_driver_abandon(CsiDriver *self, CsiCallId id)
{
    CsiCall *call = csi_driver_find_call(self, id);

    if (call == NULL || !call->has_caller)
        return;
    call->has_caller = FALSE;
    call->reply = NULL;
    sim_cancel(self->sim, call->deadline);
    call->deadline = 0;
    self->class->caller_gone(self, call);
}

void
csi_call_disconnect(CsiCall *call, const CsiResponse *response)
{
    CsiReply reply = call->reply;
    void *data = call->data;

    if (!call->has_caller)
        return;
    sim_cancel(call->driver->sim, call->deadline);
    call->deadline = 0;
    note_answer(call, response->code);
    if (reply != NULL)
        reply(data, response);
}

GArray *
csi_driver_calls(const CsiDriver *self)
{
    GArray *ids = g_array_new(FALSE, FALSE, sizeof(CsiCallId));

    for (unsigned i = 0; i < self->slots->len; i++)
        if (slot_at(self, i)->call != NULL)
            g_array_append_val(ids, slot_at(self, i)->call->record.id);
    return ids;
}

void
csi_call_finish(CsiCall *call, const CsiResponse *response)
{
    CsiDriver *self = call->driver;
    CsiReply reply = call->has_caller ? call->reply : NULL;

    g_assert(!self->starting); /* the caller does not know the call's id yet */
    g_assert(response->code == CSI_OK || response->message != NULL); /* CSI-7 */
    call->record.response = response;
    call->record.ended_at = sim_now(self->sim);
    if (call->has_caller)
        note_answer(call, response->code);
    tell_observers(self, &call->record, G_STRUCT_OFFSET(CsiObserver, ended));
    leave_slot(self, call->record.id);
    if (reply != NULL)
        reply(call->data, response);
    csi_call_free(call);
}

const char *
csi_request_missing(const CsiRequest *request, uint32_t needs)
{
    const struct {
        uint32_t need;
        gboolean missing;
        const char *name;
    } fields[] = {
        {NEEDS_NAME,         csi_is_empty(request->name),                               "name"             },
        {NEEDS_VOLUME,       csi_is_empty(request->volume_id),                          "volume id"        },
        {NEEDS_NODE,         csi_is_empty(request->node_id),                            "node id"          },
        {NEEDS_CAPABILITY,   request->n_capabilities == 0,                              "volume capability"},
        {NEEDS_STAGING_PATH, csi_is_empty(request->staging_path),                       "staging path"     },
        {NEEDS_TARGET_PATH,  csi_is_empty(request->target_path),                        "target path"      },
        {NEEDS_RANGE,        request->required_bytes <= 0 && request->limit_bytes <= 0, "capacity range"   },
        {NEEDS_SNAPSHOT,     csi_is_empty(request->snapshot_id),                        "snapshot id"      },
        {NEEDS_VOLUMES,      request->volume_ids == NULL,                               "source volume ids"},
        {NEEDS_GROUP,        csi_is_empty(request->group_snapshot_id),                  "group snapshot id"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(fields); i++)
        if ((needs & fields[i].need) != 0 && fields[i].missing)
            return fields[i].name;
    return NULL;
}
