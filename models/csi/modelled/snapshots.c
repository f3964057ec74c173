/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots are cut, reported and deleted. */
#include "modelled-private.h"

/* Snapshots */

static CallVerdict
check_create_snapshot(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const Snapshot *snapshot = call->snapshot;

    if (snapshot->exists && strings_same(snapshot->source_id, request->volume_id))
        return VERDICT_REPEAT; /* CSI-25: the caller asks again until it is ready */
    if (snapshot->exists)      /* CSI-55 */
        return modelled_refuse(call, CSI_ALREADY_EXISTS, "snapshot %s already exists of volume %s",
                               request->name, snapshot->source_id);
    if (!modelled_volume_is_there(call))
        return modelled_refuse_unknown_volume(call);
    for (unsigned i = 0;
         driver->options.snapshots_take_room && i < MAX(call->volume->n_topologies, 1); i++) {
        const StringMap *place =
            call->volume->n_topologies == 0 ? NULL : call->volume->topologies[i];
        if (modelled_room(driver, place) < call->volume->capacity_bytes)
            return modelled_refuse(call, CSI_RESOURCE_EXHAUSTED, "no room for snapshot %s",
                                   request->name);
    }
    return VERDICT_GO;
}

SimTime
modelled_snapshot_takes(const CsiModelledDriver *self, const Snapshot *snapshot)
{
    const SimDist *until_ready = self->options.latency[CSI_LATENCY_SNAPSHOT_READY];

    if (until_ready == NULL)
        return 0;
    return MAX(sim_dist_draw(until_ready, self->latency_streams[CSI_LATENCY_SNAPSHOT_READY],
                             snapshot->subject.hash, snapshot->n_creations),
               0);
}

static void
apply_create_snapshot(CsiModelledDriver *driver, ModelledCall *call)
{
    Snapshot *snapshot = call->snapshot;

    snapshot->source = call->volume;
    snapshot->source_id = call->volume->id;
    snapshot->size_bytes = call->volume->capacity_bytes;
    snapshot->ready_at =
        sim_time_add(sim_now(driver->base.sim), modelled_snapshot_takes(driver, snapshot));
    modelled_snapshot_begin(driver, snapshot, NULL);
}

static void
answer_create_snapshot(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    const Snapshot *snapshot = call->snapshot;

    response->snapshot_id = snapshot->id;
    response->volume_id = snapshot->source_id;
    response->size_bytes = snapshot->size_bytes;
    response->creation_time = snapshot->created_at;
    response->ready_to_use = sim_now(driver->base.sim) >= snapshot->ready_at;
}

static gboolean
snapshot_is_there(const ModelledCall *call)
{
    return call->snapshot->exists &&
           strings_same(call->snapshot->id, call->base.request->snapshot_id);
}

static CallVerdict
check_delete_snapshot(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    if (!snapshot_is_there(call)) /* CSI-26 */
        return VERDICT_REPEAT;
    if (call->snapshot->group != NULL) /* CSI-97 */
        return modelled_refuse(call, CSI_INVALID_ARGUMENT,
                               "snapshot %s is part of group snapshot %s", call->snapshot->id,
                               call->snapshot->group->id);
    if (call->snapshot->n_users > 0) /* CSI-55 */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "snapshot %s is in use",
                               call->snapshot->id);
    return VERDICT_GO;
}

static void
apply_delete_snapshot(CsiModelledDriver *driver, ModelledCall *call)
{
    modelled_snapshot_end(driver, call->snapshot);
}

static CallVerdict
check_get_snapshot(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    if (snapshot_is_there(call))
        return VERDICT_GO;
    return modelled_refuse(call, CSI_NOT_FOUND, "snapshot %s not found",
                           call->base.request->snapshot_id);
}

static void
answer_get_snapshot(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    modelled_add_entry(call, modelled_snapshot_entry(driver, call->snapshot), response);
}

/* Columns as in MethodClass; clang-format 14 cannot align such rows. */
/* clang-format off */
const MethodClass modelled_create_snapshot = {
    NEEDS_NAME | NEEDS_VOLUME | TAKES_SECRETS | REACHES_BACK_END,
    SUBJECT_NEW_SNAPSHOT, TRUE, CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT,
    check_create_snapshot, apply_create_snapshot, answer_create_snapshot,
};

const MethodClass modelled_delete_snapshot = {
    NEEDS_SNAPSHOT | TAKES_SECRETS | REACHES_BACK_END,
    SUBJECT_SNAPSHOT, TRUE, CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT,
    check_delete_snapshot, apply_delete_snapshot, NULL,
};

const MethodClass modelled_get_snapshot = {
    NEEDS_SNAPSHOT | REACHES_BACK_END,
    SUBJECT_SNAPSHOT, FALSE, CSI_CONTROLLER_GET_SNAPSHOT_CAPABILITY,
    check_get_snapshot, NULL, answer_get_snapshot,
};
/* clang-format on */
