/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ControllerPublishVolume and ControllerUnpublishVolume of the modelled driver, and
 * ValidateVolumeCapabilities. Whether a second node may have the volume follows from both access
 * modes and from the writers (CSI-42); a limit of the node, its topology and an equal repeat are
 * checked, too. No attachment is forgotten, so an unknown one is detached (CSI-19). Unpublishing
 * works even while the volume is staged: the node may be dead (CSI-40). */
#include "modelled-private.h"

/* ControllerPublishVolume, ControllerUnpublishVolume */

static gboolean
writes(const CsiCapability *capability, gboolean readonly)
{
    return !readonly && capability->mode != CSI_SINGLE_NODE_READER_ONLY &&
           capability->mode != CSI_MULTI_NODE_READER_ONLY;
}

/* CSI-42: whether two nodes may have the volume at the same time. */
static gboolean
nodes_may_share(const VolumeNode *here, const CsiRequest *request)
{
    const CsiCapability *wanted = &request->capabilities[0];

    if (csi_access_mode_is_single_node(wanted->mode) ||
        csi_access_mode_is_single_node(here->published.mode))
        return FALSE;
    if (wanted->mode == CSI_MULTI_NODE_SINGLE_WRITER)
        return !writes(wanted, request->readonly) || !writes(&here->published, here->readonly);
    return TRUE;
}

static const BackendNode *
node_that_bars(const BackendVolume *volume, const BackendNode *node, const CsiRequest *request)
{
    for (const VolumeNode *on = volume->nodes; on != NULL; on = on->next)
        if (on->is_published && on->node != node && !nodes_may_share(on, request))
            return on->node;
    return NULL;
}

static gboolean
is_accessible(const BackendVolume *volume, const BackendNode *node)
{
    for (unsigned i = 0; i < volume->n_topologies; i++)
        if (string_map_contains(node->segments, volume->topologies[i]))
            return TRUE;
    return volume->n_topologies == 0;
}

static gboolean
is_same_publication(const VolumeNode *on, const CsiRequest *request)
{
    return on->is_adopted || (on->readonly == request->readonly &&
                              csi_capability_equal(&on->published, &request->capabilities[0]));
}

static CallVerdict
check_controller_publish(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const BackendVolume *volume = call->volume;
    const BackendNode *node = call->node;

    if (!modelled_volume_is_there(call)) /* CSI-49 */
        return modelled_refuse_unknown_volume(call);
    if (node == NULL)
        return modelled_refuse(call, CSI_NOT_FOUND, "node %s not found", request->node_id);
    if (request->readonly &&
        (driver->options.controller_capabilities & CSI_CONTROLLER_PUBLISH_READONLY) == 0)
        return modelled_refuse(call, CSI_INVALID_ARGUMENT, "read-only publishing is not supported");

    const VolumeNode *here = modelled_find_volume_node(volume, node);
    if (here != NULL && here->is_published) {
        if (is_same_publication(here, request))
            return VERDICT_REPEAT;
        return modelled_refuse(call, CSI_ALREADY_EXISTS,
                               "volume %s is attached to node %s in another way", volume->id,
                               node->id);
    }
    if (modelled_capability_exceeds(volume, &request->capabilities[0]))
        return modelled_refuse(call, CSI_INVALID_ARGUMENT,
                               "volume %s was not made for that capability", volume->id);
    if (!is_accessible(volume, node)) /* CSI-68; the spec has no code for it */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s is not accessible from node %s", volume->id, node->id);
    const BackendNode *other = node_that_bars(volume, node, request);
    if (other != NULL)
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s is already attached to node %s", volume->id, other->id);
    int limit = modelled_attach_limit(driver, node);
    if (limit > 0 && node->n_published >= (unsigned)limit)
        return modelled_refuse(call, CSI_RESOURCE_EXHAUSTED,
                               "node %s has reached its limit of %d volumes", node->id, limit);
    return VERDICT_GO;
}

static void
apply_controller_publish(CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;

    (void)driver;
    modelled_publish(call->volume, call->volume_node, &request->capabilities[0], request->readonly);
}

static void
answer_controller_publish(const CsiModelledDriver *driver,
                          ModelledCall *call,
                          CsiResponse *response)
{
    (void)call;
    response->publish_context = driver->options.publish_context;
}

/* CSI-19: the model forgets no attachment, so an unknown one is detached. */
static CallVerdict
check_controller_unpublish(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    if (call->base.request->node_id == NULL)
        return call->volume->n_published > 0 ? VERDICT_GO : VERDICT_REPEAT;
    return call->volume_node != NULL && call->volume_node->is_published ? VERDICT_GO
                                                                        : VERDICT_REPEAT;
}

/* CSI-40: also while it is staged there: the node may be dead. */
static void
apply_controller_unpublish(CsiModelledDriver *driver, ModelledCall *call)
{
    BackendVolume *volume = call->volume;

    (void)driver;
    if (call->volume_node != NULL) {
        modelled_unpublish(volume, call->volume_node); /* the record goes with the call */
        return;
    }
    for (VolumeNode *on = volume->nodes, *next; on != NULL; on = next) {
        next = on->next;
        modelled_unpublish(volume, on);
        modelled_drop_idle_node(volume, on);
    }
}

/* Questions to the controller */

static void
answer_validate(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    (void)driver;
    response->confirmed = !modelled_any_capability_exceeds(call->volume, call->base.request);
    if (!response->confirmed)
        response->message = "the volume was not made for these capabilities";
}

/* Columns as in MethodClass; clang-format 14 cannot align such rows. */
/* clang-format off */
const MethodClass modelled_controller_publish_volume = {
    NEEDS_VOLUME | NEEDS_NODE | NEEDS_CAPABILITY | TAKES_SECRETS | REACHES_BACK_END | ADOPTS,
    SUBJECT_VOLUME_NODE, TRUE, CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME,
    check_controller_publish, apply_controller_publish, answer_controller_publish,
};

const MethodClass modelled_controller_unpublish_volume = {
    NEEDS_VOLUME | TAKES_SECRETS | REACHES_BACK_END,
    SUBJECT_VOLUME_NODE, TRUE, CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME,
    check_controller_unpublish, apply_controller_unpublish, NULL,
};

const MethodClass modelled_validate_volume_capabilities = {
    NEEDS_VOLUME | NEEDS_CAPABILITY | TAKES_SECRETS | ADOPTS,
    SUBJECT_VOLUME, FALSE, 0,
    modelled_check_volume_exists, NULL, answer_validate,
};
/* clang-format on */
