/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of volumes and snapshots, one volume, and the room that is left. A page's token is the
 * place, in the order of creation, of the next page's first entry: it stays valid while entries are
 * made or deleted. A token that is no number is ABORTED (CSI-54). The capabilities of the driver
 * decide about the members of an entry. */
#include "modelled-private.h"

static CsiEntry
volume_entry(const CsiModelledDriver *driver, const BackendVolume *volume)
{
    uint32_t capabilities = driver->options.controller_capabilities;
    CsiEntry entry = {.volume_id = volume->id, .capacity_bytes = volume->capacity_bytes};

    if ((capabilities & CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES) != 0)
        entry.published_node_ids = modelled_published_ids(volume);
    if ((capabilities & CSI_CONTROLLER_VOLUME_CONDITION) != 0) {
        entry.abnormal = volume->is_abnormal;
        entry.condition_message = volume->condition_message;
    }
    return entry;
}

CsiEntry
modelled_snapshot_entry(const CsiModelledDriver *driver, const Snapshot *snapshot)
{
    return (CsiEntry){.volume_id = snapshot->source_id,
                      .capacity_bytes = snapshot->size_bytes,
                      .snapshot_id = snapshot->id,
                      .group_snapshot_id = snapshot->group == NULL ? NULL : snapshot->group->id,
                      .creation_time = snapshot->created_at,
                      .ready_to_use = sim_now(driver->base.sim) >= snapshot->ready_at};
}

void
modelled_add_entry(ModelledCall *call, CsiEntry entry, CsiResponse *response)
{
    if (call->entries == NULL)
        call->entries = g_array_new(FALSE, FALSE, sizeof(CsiEntry));
    g_array_append_val(call->entries, entry);
    response->entries = (const CsiEntry *)call->entries->data;
    response->n_entries = call->entries->len;
}

/* A token is the place in the order of creation of the first entry of the next page: it stays valid
 * whatever is made or deleted meanwhile. */
static gboolean
parse_token(const char *token, uint64_t *sequence)
{
    *sequence = 0;
    return csi_is_empty(token) ||
           g_ascii_string_to_unsigned(token, 10, 1, G_MAXINT64, sequence, NULL);
}

static CallVerdict
check_list(const CsiModelledDriver *driver, ModelledCall *call)
{
    const char *token = call->base.request->starting_token;
    uint64_t sequence;

    (void)driver;
    if (parse_token(token, &sequence))
        return VERDICT_GO;
    return modelled_refuse(call, CSI_ABORTED, "invalid starting token %s", token); /* CSI-54 */
}

static gboolean
page_is_full(const ModelledCall *call, const CsiResponse *response)
{
    unsigned max_entries = call->base.request->max_entries;

    return max_entries > 0 && response->n_entries == max_entries;
}

static void
answer_list_volumes(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    uint64_t first;

    parse_token(call->base.request->starting_token, &first);
    for (GList *link = driver->volumes.head; link != NULL; link = link->next) {
        const BackendVolume *volume = link->data;
        if (volume->sequence < first)
            continue;
        if (page_is_full(call, response)) {
            response->next_token =
                strings_internf(driver->base.strings, "%" G_GUINT64_FORMAT, volume->sequence);
            return;
        }
        modelled_add_entry(call, volume_entry(driver, volume), response);
    }
}

static gboolean
snapshot_is_wanted(const Snapshot *snapshot, const CsiRequest *request)
{
    if (!csi_is_empty(request->snapshot_id) && !strings_same(snapshot->id, request->snapshot_id))
        return FALSE;
    return csi_is_empty(request->volume_id) ||
           strings_same(snapshot->source_id, request->volume_id);
}

static void
answer_list_snapshots(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    uint64_t first;

    parse_token(call->base.request->starting_token, &first);
    for (GList *link = driver->snapshots.head; link != NULL; link = link->next) {
        const Snapshot *snapshot = link->data;
        if (snapshot->sequence < first || !snapshot_is_wanted(snapshot, call->base.request))
            continue;
        if (page_is_full(call, response)) {
            response->next_token =
                strings_internf(driver->base.strings, "%" G_GUINT64_FORMAT, snapshot->sequence);
            return;
        }
        modelled_add_entry(call, modelled_snapshot_entry(driver, snapshot), response);
    }
}

static void
answer_get_volume(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    modelled_add_entry(call, volume_entry(driver, call->volume), response);
}

/* CSI-69 */
static void
answer_capacity(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    const CsiRequest *request = call->base.request;

    response->available_bytes = request->n_requisite > 0
                                    ? modelled_room(driver, request->requisite[0])
                                    : modelled_room_anywhere(driver);
    response->maximum_volume_bytes = driver->options.volume_bytes_max;
    response->minimum_volume_bytes = driver->options.volume_bytes_min;
}

/* Columns as in MethodClass; clang-format 14 cannot align such rows. */
/* clang-format off */
const MethodClass modelled_list_volumes = {
    REACHES_BACK_END,
    SUBJECT_NONE, FALSE, CSI_CONTROLLER_LIST_VOLUMES,
    check_list, NULL, answer_list_volumes,
};

const MethodClass modelled_list_snapshots = {
    REACHES_BACK_END,
    SUBJECT_NONE, FALSE, CSI_CONTROLLER_LIST_SNAPSHOTS,
    check_list, NULL, answer_list_snapshots,
};

const MethodClass modelled_controller_get_volume = {
    NEEDS_VOLUME | REACHES_BACK_END,
    SUBJECT_VOLUME, FALSE, CSI_CONTROLLER_GET_VOLUME_CAPABILITY,
    modelled_check_volume_exists, NULL, answer_get_volume,
};

const MethodClass modelled_get_capacity = {
    REACHES_BACK_END,
    SUBJECT_NONE, FALSE, CSI_CONTROLLER_GET_CAPACITY,
    NULL, NULL, answer_capacity,
};
/* clang-format on */
