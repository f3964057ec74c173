/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The group controller's service: snapshots of several volumes, cut at one instant (CSI-95 to
 * CSI-98). Room is checked for all members before the first is made, so a group exists as a whole
 * or not at all. Members that are asked for have to be exactly the group's (CSI-97). */
#include "modelled-private.h"

#include <string.h>

static gboolean
group_is_there(const ModelledCall *call)
{
    return call->group->exists &&
           strings_same(call->group->id, call->base.request->group_snapshot_id);
}

/* Whether the group is of exactly these volumes, in any order. */
static gboolean
is_of_volumes(const BackendGroup *group, const StringList *volumes)
{
    if (volumes->n_items != group->members->len)
        return FALSE;
    for (unsigned i = 0; i < group->members->len; i++)
        if (!string_list_has(volumes, ((const Snapshot *)group->members->pdata[i])->source_id))
            return FALSE;
    return TRUE;
}

/* The bytes of snapshots in @place if every volume up to the one numbered @last is copied. */
static int64_t
bytes_at(const CsiModelledDriver *driver,
         const StringList *volumes,
         unsigned last,
         const StringMap *place)
{
    int64_t bytes = 0;

    for (unsigned i = 0; i <= last; i++) {
        const BackendVolume *volume = modelled_find_volume(driver, volumes->items[i]);
        gboolean is_there = volume->n_topologies == 0;
        for (unsigned k = 0; k < volume->n_topologies; k++)
            is_there |= string_map_equal(volume->topologies[k], place);
        bytes += is_there ? volume->capacity_bytes : 0;
    }
    return bytes;
}

static CallVerdict
check_room(const CsiModelledDriver *driver, ModelledCall *call, unsigned which)
{
    const CsiRequest *request = call->base.request;
    const BackendVolume *volume = modelled_find_volume(driver, request->volume_ids->items[which]);

    for (unsigned i = 0; i < MAX(volume->n_topologies, 1); i++) {
        const StringMap *place = volume->n_topologies == 0 ? NULL : volume->topologies[i];
        if (modelled_room(driver, place) < bytes_at(driver, request->volume_ids, which, place))
            return modelled_refuse(call, CSI_RESOURCE_EXHAUSTED, "no room for group snapshot %s",
                                   request->name);
    }
    return VERDICT_GO;
}

/* CSI-95 */
static CallVerdict
check_create_group(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;

    if (call->group->exists && is_of_volumes(call->group, request->volume_ids))
        return VERDICT_REPEAT;
    if (call->group->exists)
        return modelled_refuse(call, CSI_ALREADY_EXISTS,
                               "group snapshot %s already exists of other volumes", request->name);
    for (unsigned i = 0; i < request->volume_ids->n_items; i++)
        if (modelled_find_volume(driver, request->volume_ids->items[i]) == NULL)
            return modelled_refuse(call, CSI_NOT_FOUND, "volume %s not found",
                                   request->volume_ids->items[i]);
    for (unsigned i = 0; driver->options.snapshots_take_room && i < request->volume_ids->n_items;
         i++)
        if (check_room(driver, call, i) == VERDICT_REFUSE)
            return VERDICT_REFUSE;
    return VERDICT_GO;
}

static void
apply_create_group(CsiModelledDriver *driver, ModelledCall *call)
{
    const StringList *volumes = call->base.request->volume_ids;

    modelled_group_begin(driver, call->group, NULL);
    for (unsigned i = 0; i < volumes->n_items; i++) {
        BackendVolume *source = modelled_find_volume(driver, volumes->items[i]);
        Snapshot *snapshot = modelled_snapshot_by_name(
            driver, strings_internf(driver->base.strings, "%s-%u", call->group->name, i));
        snapshot->source = source;
        snapshot->source_id = source->id;
        snapshot->size_bytes = source->capacity_bytes;
        snapshot->ready_at =
            sim_time_add(sim_now(driver->base.sim), modelled_snapshot_takes(driver, snapshot));
        modelled_snapshot_begin(driver, snapshot, NULL);
        modelled_group_add(call->group, snapshot);
    }
}

/* CSI-96 */
static void
answer_group(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    const BackendGroup *group = call->group;

    response->group_snapshot_id = group->id;
    response->ready_to_use = TRUE;
    for (unsigned i = 0; i < group->members->len; i++) {
        CsiEntry entry = modelled_snapshot_entry(driver, group->members->pdata[i]);
        response->creation_time = entry.creation_time;
        response->ready_to_use &= entry.ready_to_use;
        modelled_add_entry(call, entry, response);
    }
}

static CallVerdict
check_ids(ModelledCall *call)
{
    const StringList *ids = call->base.request->snapshot_ids;
    unsigned n_found = 0;

    for (unsigned i = 0; i < call->group->members->len; i++)
        n_found += ids != NULL &&
                   string_list_has(ids, ((const Snapshot *)call->group->members->pdata[i])->id);
    if (n_found == call->group->members->len && ids->n_items == n_found) /* CSI-97 */
        return VERDICT_GO;
    return modelled_refuse(call, CSI_INVALID_ARGUMENT,
                           "snapshot ids do not match those of group snapshot %s", call->group->id);
}

static CallVerdict
check_delete_group(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    if (!group_is_there(call))
        return VERDICT_REPEAT;
    for (unsigned i = 0; i < call->group->members->len; i++)
        if (((const Snapshot *)call->group->members->pdata[i])->n_users > 0)
            return modelled_refuse(call, CSI_FAILED_PRECONDITION, "group snapshot %s is in use",
                                   call->group->id);
    return check_ids(call);
}

static void
apply_delete_group(CsiModelledDriver *driver, ModelledCall *call)
{
    modelled_group_end(driver, call->group);
}

static CallVerdict
check_get_group(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    if (!group_is_there(call))
        return modelled_refuse(call, CSI_NOT_FOUND, "group snapshot %s not found",
                               call->base.request->group_snapshot_id);
    return check_ids(call);
}

static void
answer_group_capabilities(const CsiModelledDriver *driver,
                          ModelledCall *call,
                          CsiResponse *response)
{
    (void)call;
    response->group_capabilities = driver->options.group_capabilities;
}

/* Columns as in MethodClass; clang-format 14 cannot align such rows. */
/* clang-format off */
const MethodClass modelled_group_get_capabilities = {.answer = answer_group_capabilities};

const MethodClass modelled_create_group = {
    NEEDS_NAME | NEEDS_VOLUMES | TAKES_SECRETS | REACHES_BACK_END,
    SUBJECT_NEW_GROUP, TRUE, CSI_GROUP_SNAPSHOT,
    check_create_group, apply_create_group, answer_group,
};

const MethodClass modelled_delete_group = {
    NEEDS_GROUP | TAKES_SECRETS | REACHES_BACK_END,
    SUBJECT_GROUP, TRUE, CSI_GROUP_SNAPSHOT,
    check_delete_group, apply_delete_group, NULL,
};

const MethodClass modelled_get_group = {
    NEEDS_GROUP | TAKES_SECRETS | REACHES_BACK_END,
    SUBJECT_GROUP, FALSE, CSI_GROUP_SNAPSHOT,
    check_get_group, NULL, answer_group,
};
/* clang-format on */
