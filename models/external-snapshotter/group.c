/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshotter.h"

/* The driver's calls for a group (SNAP-91). */

static const GroupContent *
group_content_of(Plan *plan)
{
    return GROUP_CONTENT_CONST(snapshotter_content(plan));
}

CsiRequest
group_creation_request(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_notes(plan);
    char uid[OBJECT_UID_BUFFER];

    return (CsiRequest){
        .method = CSI_CREATE_VOLUME_GROUP_SNAPSHOT,
        .deadline = sync->deadline,
        .name = plan_internf(plan, "%s-%s", self->options->group_name_prefix,
                             object_uid_format(sync->content->snapshot.uid, uid)),
        .volume_ids = group_content_of(plan)->volume_handles,
        .parameters = sync->parameters,
        .has_secrets = sync->has_secrets,
    };
}

static void
unref_list(void *list)
{
    string_list_unref(list);
}

/* The driver's snapshots: of the pairs in the status every second item. Returns: (borrowed): by the
 * plan */
static StringList *
snapshots_of(Plan *plan)
{
    const StringList *pairs = group_content_of(plan)->pairs;
    StringList *list = NULL;

    if (pairs == NULL)
        return group_content_of(plan)->given_snapshots;
    g_autofree const char **items = g_new(const char *, pairs->n_items / 2);
    for (unsigned i = 0; i < pairs->n_items / 2; i++)
        items[i] = pairs->items[2 * i + 1];
    list = string_list_new(items, pairs->n_items / 2);
    plan_own(plan, list, unref_list);
    return list;
}

CsiRequest
group_deletion_request(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_notes(plan);

    return (CsiRequest){
        .method = CSI_DELETE_VOLUME_GROUP_SNAPSHOT,
        .timeout_ns = self->options->common.timeout,
        .group_snapshot_id = sync->content->handle,
        .snapshot_ids = snapshots_of(plan),
        .has_secrets = sync->has_secrets,
    };
}

CsiRequest
group_look_request(const ExternalSnapshotter *self, Plan *plan)
{
    const SnapshotterSync *sync = plan_notes(plan);
    const SnapshotContent *content = sync->content;

    (void)self;
    return (CsiRequest){
        .method = CSI_GET_VOLUME_GROUP_SNAPSHOT,
        .deadline = sync->deadline,
        .group_snapshot_id = content->handle != NULL ? content->handle : content->given_handle,
        .snapshot_ids = group_content_of(plan)->given_snapshots,
        .has_secrets = sync->has_secrets,
    };
}

SnapshotAnswer
group_answer(const ExternalSnapshotter *self, Plan *plan, const CsiResponse *response)
{
    g_autofree const char **items = g_new(const char *, 2 * response->n_entries + 1);

    (void)self;
    for (unsigned i = 0; i < response->n_entries; i++) {
        items[2 * i] = response->entries[i].volume_id;
        items[2 * i + 1] = response->entries[i].snapshot_id;
    }
    StringList *pairs =
        response->n_entries == 0 ? NULL : string_list_new(items, 2 * response->n_entries);
    plan_own(plan, pairs, unref_list);
    return (SnapshotAnswer){
        .handle = response->group_snapshot_id,
        .is_ready = response->ready_to_use,
        .created_at = response->creation_time,
        .pairs = pairs,
    };
}

const char *
group_volumes_text(Plan *plan, const SnapshotContent *content)
{
    const StringList *handles = GROUP_CONTENT_CONST(content)->volume_handles;
    g_autoptr(GString) text = g_string_new("[");

    for (unsigned i = 0; handles != NULL && i < handles->n_items; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? " " : "", handles->items[i]);
    return plan_internf(plan, "%s]", text->str);
}
