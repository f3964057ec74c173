/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operations of in-tree plugins and FlexVolume, which run inside the kubelet or the attach/detach
 * controller. An operation is a list of calls, one after the other; an in-tree plugin's operation
 * is the CSI call that does the same work (INT-3), a FlexVolume's are those of flex_calls.
 *
 * What a FlexVolume driver does not support is remembered until its files change (FLX-46). */
#include "in-process.h"

#include "models/api/claim.h"

#include <string.h>

/* ---- What is known of FlexVolume drivers ---- */

typedef struct {
    const char *name;
    unsigned n_changes;   /* of its files when init was called */
    uint32_t unsupported; /* mask of 1 << FlexCall */
} FlexDriver;

struct FlexDrivers {
    GArray *drivers; /* of FlexDriver: those whose init has been called */
};

FlexDrivers *
flex_drivers_new(void)
{
    FlexDrivers *self = g_new(FlexDrivers, 1);

    self->drivers = g_array_new(FALSE, FALSE, sizeof(FlexDriver));
    return self;
}

void
flex_drivers_free(FlexDrivers *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->drivers);
    g_free(self);
}

static FlexDriver *
in_process_find_driver(const FlexDrivers *self, const char *name)
{
    for (unsigned i = 0; self != NULL && i < self->drivers->len; i++) {
        FlexDriver *driver = &g_array_index(self->drivers, FlexDriver, i);
        if (driver->name == name)
            return driver;
    }
    return NULL;
}

/* FLX-46: what was known of other files is forgotten. */
static const FlexDriver *
known_driver(const InProcessWork *work)
{
    const FlexDriver *driver = in_process_find_driver(work->known, work->flex_driver);

    return driver != NULL && driver->n_changes == work->flex_changes ? driver : NULL;
}

/* PlanChange.number: the changes of the driver's files above a mask of calls. */
#define CALL_BITS 12
G_STATIC_ASSERT(FLEX_N_CALLS <= CALL_BITS);

void
in_process_note(FlexDrivers *known, const PlanChange *change)
{
    FlexDriver *driver = in_process_find_driver(known, change->text);

    if (driver == NULL) {
        const FlexDriver fresh = {change->text, 0, 0};
        g_array_append_val(known->drivers, fresh);
        driver = in_process_find_driver(known, change->text);
    }
    if (driver->n_changes != (unsigned)(change->number >> CALL_BITS))
        *driver = (FlexDriver){change->text, (unsigned)(change->number >> CALL_BITS), 0};
    driver->unsupported |= (uint32_t)change->number & ((1u << CALL_BITS) - 1);
}

/* ---- Calls ---- */

CsiAccessMode
in_process_access_mode(uint32_t modes)
{
    if ((modes & ACCESS_RWX) != 0)
        return CSI_MULTI_NODE_MULTI_WRITER;
    return (modes & (ACCESS_RWO | ACCESS_RWOP)) != 0 ? CSI_SINGLE_NODE_WRITER
                                                     : CSI_MULTI_NODE_READER_ONLY;
}

CsiAccessMode
in_process_volume_mode(const Volume *volume)
{
    gboolean reads_only = volume->source != NULL && volume->source->read_only;

    return in_process_access_mode(volume->access_modes != 0 || reads_only ? volume->access_modes
                                                                          : ACCESS_RWO);
}

#define CALLS_MAX 6

/* Notes of the plan. */
typedef struct {
    InProcessWork work;
    CsiCapability capability;
    FlexCall calls[CALLS_MAX];
    unsigned at, n_calls;
    gboolean by_default;
    const char *device;
    int64_t bytes;
} InProcessRun;

/* The call of CSI that an in-tree plugin's operation is for the driver (INT-3). */
static const CsiMethod methods[FLEX_N_OPERATIONS] = {
    [FLEX_ATTACH] = CSI_CONTROLLER_PUBLISH_VOLUME,
    [FLEX_CHECK_ATTACHED] = CSI_VALIDATE_VOLUME_CAPABILITIES,
    [FLEX_DETACH] = CSI_CONTROLLER_UNPUBLISH_VOLUME,
    [FLEX_MOUNT_DEVICE] = CSI_NODE_STAGE_VOLUME,
    [FLEX_UNMOUNT_DEVICE] = CSI_NODE_UNSTAGE_VOLUME,
    [FLEX_SET_UP] = CSI_NODE_PUBLISH_VOLUME,
    [FLEX_TEAR_DOWN] = CSI_NODE_UNPUBLISH_VOLUME,
    [FLEX_EXPAND_VOLUME] = CSI_CONTROLLER_EXPAND_VOLUME,
    [FLEX_EXPAND_FILE_SYSTEM] = CSI_NODE_EXPAND_VOLUME,
};

/* The calls of each operation, in order; the first two of an attach and of a mount of a device
 * depend on what is known (FLX-14). */
/* clang-format off */
static const FlexCall flex_calls[FLEX_N_OPERATIONS][3] = {
    [FLEX_ATTACH] = {FLEX_CALL_ATTACH, FLEX_N_CALLS},
    [FLEX_CHECK_ATTACHED] = {FLEX_CALL_IS_ATTACHED, FLEX_N_CALLS},
    [FLEX_DETACH] = {FLEX_CALL_DETACH, FLEX_N_CALLS},
    [FLEX_MOUNT_DEVICE] = {FLEX_CALL_MOUNT_DEVICE, FLEX_N_CALLS},
    [FLEX_UNMOUNT_DEVICE] = {FLEX_CALL_UNMOUNT_DEVICE, FLEX_N_CALLS},
    [FLEX_SET_UP] = {FLEX_CALL_MOUNT, FLEX_N_CALLS},
    [FLEX_TEAR_DOWN] = {FLEX_CALL_UNMOUNT, FLEX_N_CALLS},
    [FLEX_EXPAND_VOLUME] = {FLEX_CALL_GET_VOLUME_NAME, FLEX_CALL_EXPAND_VOLUME, FLEX_N_CALLS},
    [FLEX_EXPAND_FILE_SYSTEM] = {FLEX_CALL_EXPAND_FS, FLEX_N_CALLS},
};
/* clang-format on */

/* FLX-30: Kubernetes mounts, unmounts or resizes by itself if the driver does not support the call.
 */
static gboolean
is_done_by_default(FlexCall call)
{
    return call == FLEX_CALL_MOUNT_DEVICE || call == FLEX_CALL_UNMOUNT_DEVICE ||
           call == FLEX_CALL_MOUNT || call == FLEX_CALL_UNMOUNT || call == FLEX_CALL_EXPAND_FS;
}

static void
add_flex_call(InProcessRun *run, FlexCall call)
{
    const FlexDriver *known = known_driver(&run->work);

    if (known != NULL && (known->unsupported & (1u << call)) != 0) {
        run->by_default |= is_done_by_default(call);
        return; /* FLX-23 */
    }
    run->calls[run->n_calls++] = call;
}

static void
list_flex_calls(InProcessRun *run)
{
    const FlexOperation operation = run->work.operation;
    const FlexCall *calls = flex_calls[operation];

    if (known_driver(&run->work) == NULL)
        add_flex_call(run, FLEX_CALL_INIT); /* FLX-41 */
    if (operation == FLEX_MOUNT_DEVICE && run->work.waits_for_attach)
        add_flex_call(run, FLEX_CALL_WAIT_FOR_ATTACH);
    if (operation == FLEX_ATTACH || operation == FLEX_MOUNT_DEVICE)
        add_flex_call(run, FLEX_CALL_GET_VOLUME_NAME); /* FLX-14 */
    for (; *calls != FLEX_N_CALLS; calls++)
        add_flex_call(run, *calls);
}

static void
in_process_end(
    const void *self, Plan *plan, const InProcessRun *run, CsiCode code, const char *error)
{
    const InProcessResult result = {
        .error = error,
        .code = code,
        .by_default = run->by_default,
        .device = run->device == NULL ? "" : run->device,
        .bytes = run->bytes,
        .after = run->work.after,
        .data = run->work.data,
    };

    run->work.then(self, plan, &result);
}

static void in_process_add_call(const void *self, Plan *plan, InProcessRun *run);

/* FLX-20, FLX-30. Returns: whether the call counts as done */
static gboolean
flex_answered(Plan *plan, InProcessRun *run, const CsiResponse *response)
{
    FlexCall call = run->calls[run->at];
    gboolean unsupported = response->code == CSI_UNIMPLEMENTED && call != FLEX_CALL_INIT;

    if (response->code != CSI_OK && !unsupported)
        return FALSE;
    if (call == FLEX_CALL_INIT || unsupported)
        plan_change(plan, &(PlanChange){.what = run->work.note,
                                        .text = run->work.flex_driver,
                                        .number = ((int64_t)run->work.flex_changes << CALL_BITS) |
                                                  (unsupported ? 1 << call : 0)});
    run->by_default |= unsupported && is_done_by_default(call);
    return TRUE;
}

/* INT-41: the node resizes the file system by itself if the driver has no call for it. */
static gboolean
in_tree_answered(InProcessRun *run, const CsiResponse *response)
{
    if (run->work.operation == FLEX_EXPAND_FILE_SYSTEM && response->code == CSI_UNIMPLEMENTED)
        run->by_default = TRUE;
    return response->code == CSI_OK || run->by_default;
}

static void
decide_answered(const void *self, Plan *plan)
{
    InProcessRun *run = plan_notes(plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));
    gboolean is_flex = run->work.flex_driver != NULL;
    gboolean is_done =
        is_flex ? flex_answered(plan, run, response) : in_tree_answered(run, response);

    plan_because(plan, is_flex ? "FLX-20" : "INT-3");
    if (!is_done) {
        const char *message = response->message == NULL ? "" : response->message;
        in_process_end(self, plan, run, response->code,
                       is_flex
                           ? plan_internf(plan, "%s command failed, status: Failure, reason: %s",
                                          flex_call_name(run->calls[run->at]), message)
                           : plan_internf(plan, "%s", message));
        return;
    }
    run->bytes = response->capacity_bytes;
    run->at++;
    in_process_add_call(self, plan, run);
}

static void
in_process_add_call(const void *self, Plan *plan, InProcessRun *run)
{
    CsiRequest request = run->work.request;
    gboolean is_flex = run->work.flex_driver != NULL;

    if (run->work.driver == NULL || run->at >= (is_flex ? run->n_calls : 1)) {
        in_process_end(self, plan, run, CSI_OK, NULL);
        return;
    }
    request.is_in_process = TRUE;
    request.method = is_flex ? flex_call_method(run->calls[run->at]) : methods[run->work.operation];
    if (run->work.request.n_capabilities > 0)
        request.capabilities = &run->capability;
    if (csi_method_service(request.method) != CSI_NODE)
        request.served_by = NULL;
    plan_because(plan, is_flex ? "FLX-1" : "INT-3");
    plan_call(plan, run->work.driver, &request, PLAN_DECIDE);
    plan_then(plan, decide_answered);
}

void
in_process_begin(const void *self, Plan *plan, const InProcessWork *work)
{
    InProcessRun *run = plan_notes(plan); /* a device mount and a pod mount before the operation */

    if (run == NULL)
        run = plan_new_notes(plan, InProcessRun, NULL);
    *run = (InProcessRun){.work = *work, .device = work->device};
    if (work->request.n_capabilities > 0)
        run->capability = work->request.capabilities[0];
    if (work->flex_driver != NULL && work->driver != NULL)
        list_flex_calls(run);
    in_process_add_call(self, plan, run);
}
