/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way of a call through the modelled driver. It arrives: its form is checked, its volume
 * locked, its luck drawn. It is served: past the limits, for as long as its latency. It is done:
 * checked again, as the world may have changed, carried out, answered. */
#include "modelled-private.h"
#include "sim/strings.h"

CallVerdict
modelled_refuse(ModelledCall *call, CsiCode code, const char *format, ...)
{
    FORMATTED(message, format);
    call->refusal_code = code;
    call->refusal = strings_intern(call->base.driver->strings, message);
    return VERDICT_REFUSE;
}

static void
schedule(ModelledCall *call, SimTime at, const SimEventType *type, SimWait wait)
{
    call->event = sim_at_detail(driver_of(call)->base.sim, at, type, call, wait,
                                CSI_WAIT_DETAIL(call->base.request->method));
}

static void
wait_is_over(Sim *sim, void *data)
{
    ModelledCall *call = data;

    (void)sim;
    call->event = 0;
    modelled_begin(call);
}

static const SimEventType wait_is_over_event = {.name = "csi/unlocked", .fire = wait_is_over};

/* All that wait begin again, in their order: the first takes the lock, the others wait again. */
static void
unlock(CsiModelledDriver *self, ModelledCall *call)
{
    gboolean *lock = g_steal_pointer(&call->lock);

    *lock = FALSE;
    for (GList *link = self->waiting.head, *next; link != NULL; link = next) {
        ModelledCall *waiting = link->data;
        next = link->next;
        if (waiting->awaited != lock)
            continue;
        waiting->awaited = NULL;
        g_queue_delete_link(&self->waiting, link);
        schedule(waiting, sim_now(self->base.sim), &wait_is_over_event, self->base.waits.throttled);
    }
}

/* The lock is a member of an object that its holder keeps alive. */
static CallVerdict
wait_for_lock(CsiModelledDriver *self, ModelledCall *call, gboolean *lock)
{
    if (call->volume_node != NULL)
        call->volume_node->n_calls--;
    call->volume_node = NULL;
    call->awaited = lock;
    g_queue_push_tail(&self->waiting, call);
    return VERDICT_REFUSE;
}

/* Gives back the call's place in queues, its servers, its lock and its uses. A second time is
 * fine. */
static void
call_release(ModelledCall *call)
{
    CsiModelledDriver *self = driver_of(call);

    sim_cancel(self->base.sim, call->event);
    call->event = 0;
    if (G_UNLIKELY(self->sharing != NULL))
        modelled_share_no_more(self, call);
    if (call->lock != NULL)
        unlock(self, call);
    if (G_UNLIKELY(call->awaited != NULL))
        g_queue_remove(&self->waiting, call);
    call->awaited = NULL;
    if (call->uses_snapshot)
        call->snapshot->n_users--;
    call->uses_snapshot = FALSE;
    if (G_UNLIKELY(self->trouble != NULL))
        modelled_trouble_forget(self, call);
    if (call->volume_node != NULL) {
        call->volume_node->n_calls--;
        modelled_drop_idle_node(call->volume, call->volume_node);
        call->volume_node = NULL;
    }
    limits_leave(call);
}

static void
call_finish(ModelledCall *call, const CsiResponse *response)
{
    call_release(call);
    csi_call_finish(&call->base, response);
}

static void
finish_with_error(ModelledCall *call, CsiCode code, const char *message)
{
    CsiResponse response = {.code = code, .message = message};

    call_finish(call, &response);
}

static void
call_refused(Sim *sim, void *data)
{
    ModelledCall *call = data;

    (void)sim;
    call->event = 0;
    finish_with_error(call, call->refusal_code, call->refusal);
}

static const SimEventType refused_event = {.name = "csi/refused", .fire = call_refused};

/* The back end is done with the call. Even if the caller has given up, the effect stays, and a
 * retry will find it. This is how real clusters leak volumes. */
void
modelled_end(Sim *sim, void *data)
{
    ModelledCall *call = data;
    CsiModelledDriver *self = driver_of(call);
    const MethodClass *method = modelled_method(call->base.request->method);
    CsiResponse response = {.code = CSI_OK};

    (void)sim;
    call->event = 0;
    if (G_UNLIKELY(self->sharing != NULL))
        modelled_share_no_more(self, call);
    if (G_UNLIKELY(self->trouble != NULL) && modelled_trouble_at_end(self, call))
        return;
    if (call->fails && !call->error_after_effect) {
        finish_with_error(call, call->error_code, call->error_message);
        return;
    }
    CallVerdict verdict = method->check == NULL ? VERDICT_GO : method->check(self, call);
    if (verdict == VERDICT_REFUSE) {
        finish_with_error(call, call->refusal_code, call->refusal);
        return;
    }
    if (verdict == VERDICT_GO && method->apply != NULL) {
        method->apply(self, call);
        limits_count_change(self->limits, call);
    }
    if (call->fails) {
        finish_with_error(call, call->error_code, call->error_message);
        return;
    }
    if (method->answer != NULL)
        method->answer(self, call, &response);
    call_finish(call, &response);
}

static const SimEventType done_event = {.name = "csi/done", .fire = modelled_end};

void
modelled_schedule_end(ModelledCall *call, SimTime at)
{
    schedule(call, at, &done_event, driver_of(call)->base.waits.latency);
}

void
modelled_serve(ModelledCall *call)
{
    CsiModelledDriver *self = driver_of(call);

    if (G_UNLIKELY(self->sharing != NULL) && call->latency > 0)
        modelled_share(self, call);
    else
        modelled_schedule_end(call, sim_time_add(sim_now(self->base.sim), call->latency));
}

/* Arrival */

static void
call_find_volume(CsiModelledDriver *self, ModelledCall *call, gboolean adopts)
{
    const CsiRequest *request = call->base.request;

    call->volume = modelled_volume_by_id(self, request->volume_id);
    if (adopts && self->options.adopts_unknown_volumes &&
        !modelled_volume_is(call->volume, request->volume_id))
        csi_modelled_driver_add_volume(
            self, &(CsiModelledVolume){.id = request->volume_id,
                                       .capacity_bytes = request->required_bytes});
    call->subject = &call->volume->subject;
}

/* Finds the subject of the call. Its records exist afterwards, even if the volume or snapshot does
 * not. */
static void
find_subject(CsiModelledDriver *self, ModelledCall *call, const MethodClass *method)
{
    const CsiRequest *request = call->base.request;
    gboolean adopts = (method->flags & ADOPTS) != 0;

    call->subject = &self->subject;
    if (request->served_by != NULL)
        call->node = modelled_node_by_name(self, request->served_by);
    switch (method->subject) {
    case SUBJECT_NONE:
        break;
    case SUBJECT_NODE: /* NULL: capabilities, from the controller's socket */
        if (call->node != NULL)
            call->subject = &call->node->subject;
        break;
    case SUBJECT_NEW_VOLUME:
        call->volume = modelled_volume_by_name(self, request->name);
        call->subject = &call->volume->subject;
        if (request->source_kind == CSI_SOURCE_SNAPSHOT)
            call->snapshot = modelled_find_snapshot(self, request->source_id);
        else if (request->source_kind == CSI_SOURCE_VOLUME)
            call->source_volume = modelled_find_volume(self, request->source_id);
        break;
    case SUBJECT_VOLUME:
        call_find_volume(self, call, adopts);
        break;
    case SUBJECT_VOLUME_NODE:
        call_find_volume(self, call, adopts);
        call->node = request->node_id == NULL ? NULL : modelled_node_by_id(self, request->node_id);
        break;
    case SUBJECT_MOUNT:
        call_find_volume(self, call, adopts);
        break;
    case SUBJECT_NEW_SNAPSHOT:
        call->snapshot = modelled_snapshot_by_name(self, request->name);
        call->volume = modelled_volume_by_id(self, request->volume_id);
        call->subject = &call->snapshot->subject;
        break;
    case SUBJECT_SNAPSHOT:
        call->snapshot = modelled_snapshot_by_id(self, request->snapshot_id);
        call->subject = &call->snapshot->subject;
        break;
    case SUBJECT_NEW_GROUP:
    case SUBJECT_GROUP:
        call->group =
            modelled_group(self, method->subject == SUBJECT_NEW_GROUP ? request->name
                                                                      : request->group_snapshot_id);
        call->subject = &call->group->subject;
        break;
    }
    call->entity = call->subject->hash;
    if (call->volume != NULL && call->node != NULL) {
        call->entity = sim_hash_combine(call->entity, call->node->subject.hash);
        call->volume_node = modelled_volume_node(call->volume, call->node);
        call->volume_node->n_calls++;
    }
}

/* CSI-46: one call at a time; the node plugin is another process than the controller's, and each
 * knows only its own calls. */
static gboolean *
lock_of(const CsiModelledDriver *self, ModelledCall *call, const MethodClass *method)
{
    if (!method->locks || self->options.lock == CSI_LOCK_NONE)
        return NULL;
    switch (method->subject) {
    case SUBJECT_MOUNT:
        return &call->volume_node->node_busy;
    case SUBJECT_NEW_SNAPSHOT:
    case SUBJECT_SNAPSHOT:
        return &call->snapshot->busy;
    case SUBJECT_NEW_GROUP:
    case SUBJECT_GROUP:
        return &call->group->busy;
    case SUBJECT_VOLUME_NODE:
        if (self->options.lock == CSI_LOCK_VOLUME_AND_NODE && call->volume_node != NULL)
            return &call->volume_node->controller_busy;
        return &call->volume->busy;
    case SUBJECT_NEW_VOLUME:
    case SUBJECT_VOLUME:
        return &call->volume->busy;
    case SUBJECT_NONE:
    case SUBJECT_NODE:
        break;
    }
    return NULL;
}

static CallVerdict
take_lock(CsiModelledDriver *self, ModelledCall *call, const MethodClass *method)
{
    gboolean *lock = lock_of(self, call, method);

    if (lock == NULL)
        return VERDICT_GO;
    if (*lock && self->options.lock_waits)
        return wait_for_lock(self, call, lock);
    if (*lock) {
        const CsiRequest *request = call->base.request;
        const char *what = request->name != NULL                ? request->name
                           : request->snapshot_id != NULL       ? request->snapshot_id
                           : request->group_snapshot_id != NULL ? request->group_snapshot_id
                                                                : request->volume_id;
        return modelled_refuse(call, CSI_ABORTED,
                               "an operation with the given name or id %s already exists", what);
    }
    *lock = TRUE;
    call->lock = lock;
    return VERDICT_GO;
}

/* CSI-85 */
static CallVerdict
check_changes(const CsiModelledDriver *self, ModelledCall *call)
{
    const CsiModelledLimit *limit = limits_used_up(self->limits, call);

    if (limit == NULL)
        return VERDICT_GO;
    g_autoptr(GString) message = g_string_new(limit->per_volume.message);
    if (message->len == 0)
        g_string_append(message, "volume {volume} has changed too often");
    g_string_replace(message, "{volume}", call->base.request->volume_id, 0);
    return modelled_refuse(call, limit->per_volume.code, "%s", message->str);
}

static CallVerdict
arrive(CsiModelledDriver *self, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const MethodClass *method = modelled_method(request->method);

    if (modelled_check_request(self, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    find_subject(self, call, method);
    if (take_lock(self, call, method) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    call->n = call->subject->n_calls[request->method]++;

    CallVerdict verdict = method->check == NULL ? VERDICT_GO : method->check(self, call);
    if (verdict == VERDICT_GO)
        verdict = check_changes(self, call);
    if (verdict == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (request->method == CSI_CREATE_VOLUME && call->snapshot != NULL) {
        call->snapshot->n_users++;
        call->uses_snapshot = TRUE;
    }
    unsigned latency = luck_latency_kind(self, call, verdict);
    call->latency = luck_latency(self, call, latency);
    call->slowdown = self->options.slowdown[latency];
    if (G_UNLIKELY(self->trouble != NULL))
        call->latency = (SimTime)((double)call->latency * modelled_trouble_slowness(self));
    luck_error(self, call);
    return verdict;
}

void
modelled_begin(ModelledCall *call)
{
    CsiModelledDriver *self = driver_of(call);

    if (G_UNLIKELY(self->served_methods != 0) && modelled_hand_over(self, call))
        return;
    if (arrive(self, call) != VERDICT_REFUSE) {
        limits_enter(self->limits, call);
        return;
    }
    if (call->awaited != NULL)
        return;
    SimTime delay = luck_latency(self, call, CSI_LATENCY_REFUSAL);
    schedule(call, sim_time_add(sim_now(self->base.sim), delay), &refused_event,
             self->base.waits.latency);
}

void
modelled_fail(ModelledCall *call, CsiCode code, const char *message, SimTime delay)
{
    CsiModelledDriver *self = driver_of(call);

    call->refusal_code = code;
    call->refusal = message;
    schedule(call, sim_time_add(sim_now(self->base.sim), delay), &refused_event,
             self->base.waits.latency);
}

void
modelled_fail_now(ModelledCall *call, CsiCode code, const char *message)
{
    finish_with_error(call, code, message);
}

void
modelled_start(CsiDriver *driver, CsiCall *base)
{
    CsiModelledDriver *self = (CsiModelledDriver *)driver;
    ModelledCall *call = (ModelledCall *)base;

    if (G_LIKELY(self->trouble == NULL) || !modelled_trouble_on_arrival(self, call))
        modelled_begin(call);
}

/* CSI-5: a call outlives its caller, unless the driver gives up as the context of the call ends. */
void
modelled_caller_gone(CsiDriver *driver, CsiCall *base)
{
    if (((CsiModelledDriver *)driver)->options.aborts_with_caller)
        finish_with_error((ModelledCall *)base, CSI_CANCELLED, "context canceled");
}

void
modelled_call_clear(CsiDriver *driver, CsiCall *base)
{
    ModelledCall *call = (ModelledCall *)base;

    (void)driver;
    call_release(call);
    for (unsigned i = 0; call->entries != NULL && i < call->entries->len; i++)
        string_list_unref(
            (StringList *)g_array_index(call->entries, CsiEntry, i).published_node_ids);
    g_clear_pointer(&call->entries, g_array_unref);
}
