/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The node service of the modelled driver: volumes are staged, published and grown on a node. The
 * order of calls is enforced as by a careful driver: no publication without staging, none on a node
 * that is not attached, no unstaging below a publication (CSI-77). Repeats with equal arguments
 * succeed, others are ALREADY_EXISTS. A driver that only expands on nodes takes the room here. */
#include "modelled-private.h"

#include <string.h>

/* Stage and publish on nodes */

static gboolean
needs_attachment(const CsiModelledDriver *driver)
{
    return (driver->options.controller_capabilities & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME) != 0;
}

static gboolean
needs_staging(const CsiModelledDriver *driver)
{
    return (driver->options.node_capabilities & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0;
}

/* CSI-38, CSI-52: checks before a volume is staged, or mounted without staging. */
static CallVerdict
check_usable_here(const CsiModelledDriver *driver, ModelledCall *call)
{
    if (modelled_capability_exceeds(call->volume, &call->base.request->capabilities[0]))
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s was not made for that capability", call->volume->id);
    if (needs_attachment(driver) && !call->volume_node->is_published)
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s is not attached to node %s", call->volume->id,
                               call->node->id);
    return VERDICT_GO;
}

static CallVerdict
check_stage(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const VolumeNode *here = call->volume_node;

    if (!modelled_volume_is_there(call))
        return modelled_refuse_unknown_volume(call);
    if (check_usable_here(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (here->staging_path == NULL)
        return VERDICT_GO;
    if (!strings_same(here->staging_path, request->staging_path)) /* CSI-77 */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "volume %s is already staged at %s",
                               call->volume->id, here->staging_path);
    if (!csi_capability_equal(&here->staged, &request->capabilities[0]))
        return modelled_refuse(call, CSI_ALREADY_EXISTS,
                               "volume %s is already staged in another way", call->volume->id);
    return VERDICT_REPEAT;
}

static void
apply_stage(CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    call->volume_node->staging_path = call->base.request->staging_path;
    modelled_capability_set(&call->volume_node->staged, &call->base.request->capabilities[0]);
    call->volume->is_formatted = TRUE;
    call->volume->was_known = TRUE;
}

/* CSI-51: an unknown volume is an error even here; a deleted volume, or one that was never staged,
 * is not (CSI-31). */
static CallVerdict
check_known(const CsiModelledDriver *driver, ModelledCall *call)
{
    if (call->volume->was_known || driver->options.adopts_unknown_volumes)
        return VERDICT_GO;
    return modelled_refuse_unknown_volume(call);
}

static CallVerdict
check_unstage(const CsiModelledDriver *driver, ModelledCall *call)
{
    const VolumeNode *here = call->volume_node;

    if (check_known(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (here->staging_path == NULL ||
        !strings_same(here->staging_path, call->base.request->staging_path))
        return VERDICT_REPEAT;
    if (here->targets != NULL) /* CSI-77, LOOP-23 */
        return modelled_refuse(call, CSI_INTERNAL, "volume %s is still published on node %s",
                               call->base.request->volume_id, call->node->id);
    return VERDICT_GO;
}

static void
apply_unstage(CsiModelledDriver *driver, ModelledCall *call)
{
    static const CsiCapability none = {0};

    (void)driver;
    call->volume_node->staging_path = NULL;
    modelled_capability_set(&call->volume_node->staged, &none);
}

/* Returns: NULL: there is none */
static BackendTarget *
find_target(const VolumeNode *here, const char *path)
{
    BackendTarget *target = here->targets;

    while (target != NULL && !strings_same(target->path, path))
        target = target->next;
    return target;
}

/* CSI-44, CSI-45: whether a volume may be mounted at a second path of its node. */
static gboolean
allows_second_target(const CsiModelledDriver *driver, CsiAccessMode mode)
{
    if (mode == CSI_SINGLE_NODE_WRITER)
        return (driver->options.node_capabilities & CSI_NODE_SINGLE_NODE_MULTI_WRITER) == 0;
    return mode != CSI_SINGLE_NODE_SINGLE_WRITER && mode != CSI_SINGLE_NODE_READER_ONLY;
}

static CallVerdict
check_second_publish(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const VolumeNode *here = call->volume_node;
    const BackendTarget *target = find_target(here, request->target_path);

    if (target != NULL) {
        if (target->readonly == request->readonly &&
            csi_capability_equal(&target->capability, &request->capabilities[0]))
            return VERDICT_REPEAT;
        return modelled_refuse(call, CSI_ALREADY_EXISTS,
                               "volume %s is mounted at %s in another way", call->volume->id,
                               target->path);
    }
    if (here->targets == NULL || allows_second_target(driver, request->capabilities[0].mode))
        return VERDICT_GO;
    return modelled_refuse(call, CSI_FAILED_PRECONDITION, "volume %s is already mounted on node %s",
                           call->volume->id, call->node->id);
}

gboolean
modelled_is_ephemeral(const CsiRequest *request)
{
    const char *value = string_map_get(request->volume_context, "csi.storage.k8s.io/ephemeral");

    return value != NULL && strcmp(value, "true") == 0;
}

static CallVerdict
check_node_publish(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const VolumeNode *here = call->volume_node;

    if (modelled_is_ephemeral(request))
        return check_second_publish(driver, call);
    if (!modelled_volume_is_there(call))
        return modelled_refuse_unknown_volume(call);
    if (request->is_in_process && csi_is_empty(request->staging_path)) /* INT-22 */
        return check_second_publish(driver, call);
    if (!needs_staging(driver)) {
        if (check_usable_here(driver, call) == VERDICT_REFUSE)
            return VERDICT_REFUSE;
        return check_second_publish(driver, call);
    }
    if (csi_is_empty(request->staging_path)) /* CSI-52 */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "staging path missing in request");
    if (here->staging_path == NULL) /* CSI-77 */
        return modelled_refuse(call, CSI_FAILED_PRECONDITION, "volume %s is not staged",
                               call->volume->id);
    if (!strings_same(here->staging_path, request->staging_path))
        return modelled_refuse(call, CSI_INVALID_ARGUMENT, "volume %s is staged at %s",
                               call->volume->id, here->staging_path);
    if (modelled_capability_exceeds(call->volume, &request->capabilities[0]))
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "volume %s was not made for that capability", call->volume->id);
    return check_second_publish(driver, call);
}

static void
apply_node_publish(CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;

    if (modelled_is_ephemeral(request) && !call->volume->exists) {
        csi_modelled_driver_add_volume(driver, &(CsiModelledVolume){.id = request->volume_id});
        call->volume->is_ephemeral = TRUE;
        call->volume->files.count = 0;
    }
    if (call->volume->is_in_use)
        modelled_files_fill(call->volume);
    call->volume->is_in_use = TRUE;
    modelled_target_add(call->volume_node, request);
    modelled_usage_settle(driver, call->volume);
}

static void
answer_node_publish(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    (void)driver;
    response->files = call->volume->n_files == 0 ? NULL : &call->volume->files;
}

static CallVerdict
check_node_unpublish(const CsiModelledDriver *driver, ModelledCall *call)
{
    if (check_known(driver, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    return find_target(call->volume_node, call->base.request->target_path) == NULL ? VERDICT_REPEAT
                                                                                   : VERDICT_GO;
}

static void
apply_node_unpublish(CsiModelledDriver *driver, ModelledCall *call)
{
    VolumeNode *here = call->volume_node;

    modelled_target_remove(here, find_target(here, call->base.request->target_path));
    modelled_usage_settle(driver, call->volume);
    modelled_files_fill(call->volume);
    if (call->volume->is_ephemeral && here->targets == NULL)
        modelled_volume_end(driver, call->volume);
}

/* Statistics and expansion */

static gboolean
path_is_known(const VolumeNode *here, const char *path)
{
    return (here->staging_path != NULL && strings_same(here->staging_path, path)) ||
           find_target(here, path) != NULL;
}

static CallVerdict
check_volume_path(ModelledCall *call)
{
    const CsiRequest *request = call->base.request;

    if (!modelled_volume_is_there(call))
        return modelled_refuse_unknown_volume(call);
    if (!path_is_known(call->volume_node, request->target_path))
        return modelled_refuse(call, CSI_NOT_FOUND, "volume %s is not mounted at %s",
                               request->volume_id, request->target_path);
    return VERDICT_GO;
}

/* Whether @path is the kubelet's own link to a block volume: it is named after the pod, as the
 * target is (KVM-72). The driver would find the device behind it. */
static gboolean
is_device_link(const VolumeNode *here, const char *path)
{
    for (const BackendTarget *target = here == NULL ? NULL : here->targets; target != NULL;
         target = target->next) {
        const char *name = strrchr(target->path, '/');
        if (target->capability.type == CSI_ACCESS_BLOCK && name != NULL &&
            g_str_has_suffix(path, name))
            return TRUE;
    }
    return FALSE;
}

static CallVerdict
check_stats(const CsiModelledDriver *driver, ModelledCall *call)
{
    (void)driver;
    return modelled_volume_is_there(call) &&
                   is_device_link(call->volume_node, call->base.request->target_path)
               ? VERDICT_GO
               : check_volume_path(call);
}

static void
answer_stats(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    const BackendVolume *volume = call->volume;

    if ((driver->options.node_capabilities & CSI_NODE_VOLUME_CONDITION) != 0) {
        response->abnormal = volume->is_abnormal;
        response->condition_message = volume->condition_message;
    }
    response->total_bytes = volume->filesystem_bytes;
    if (is_device_link(call->volume_node, call->base.request->target_path))
        return; /* a device has a size, and no files */
    response->used_bytes = modelled_used_bytes(driver, volume);
    response->available_bytes = volume->filesystem_bytes - response->used_bytes;
    response->total_inodes = volume->filesystem_bytes / BYTES_PER_INODE;
    response->used_inodes = modelled_used_inodes(driver, volume);
    response->available_inodes = response->total_inodes - response->used_inodes;
}

static CallVerdict
check_node_expand(const CsiModelledDriver *driver, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const BackendVolume *volume = call->volume;
    const VolumeNode *here = call->volume_node;

    if (check_volume_path(call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (modelled_any_capability_exceeds(volume, request)) /* CSI-53 */
        return modelled_refuse(call, CSI_INVALID_ARGUMENT,
                               "volume %s was not made for that capability", volume->id);
    if (volume->filesystem_bytes >=
        MAX(request->required_bytes, volume->capacity_bytes)) /* CSI-37 */
        return VERDICT_REPEAT;
    if (request->required_bytes > volume->capacity_bytes &&
        (driver->options.controller_capabilities & CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY) != 0)
        return modelled_refuse(call, CSI_OUT_OF_RANGE,
                               "the device of volume %s is smaller than that", volume->id);
    if (modelled_check_size(driver, call, MAX(request->required_bytes, volume->capacity_bytes)) ==
        VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (modelled_expands_offline_only(driver) && here->targets != NULL)
        return modelled_refuse(call, CSI_FAILED_PRECONDITION,
                               "the filesystem of volume %s cannot grow while it is in use",
                               volume->id);
    return VERDICT_GO;
}

/* A driver that only expands on nodes grows the volume here. */
static void
apply_node_expand(CsiModelledDriver *driver, ModelledCall *call)
{
    BackendVolume *volume = call->volume;
    int64_t bytes = MAX(call->base.request->required_bytes, volume->capacity_bytes);

    modelled_usage_settle(driver, volume);
    modelled_take_room(driver, volume->topologies, volume->n_topologies,
                       bytes - volume->capacity_bytes);
    volume->capacity_bytes = bytes;
    volume->filesystem_bytes = bytes;
}

static void
answer_node_expand(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    (void)driver;
    response->capacity_bytes = call->volume->capacity_bytes;
}

static void
answer_node_capabilities(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    (void)call;
    response->node_capabilities = driver->options.node_capabilities;
}

void
modelled_node_info(const CsiModelledDriver *driver, const BackendNode *node, CsiResponse *response)
{
    int reported = driver->options.attach_limit_reported;

    response->node_id = node->id;
    response->max_volumes_per_node =
        node->attach_limit == 0 && reported > 0 ? reported : modelled_attach_limit(driver, node);
    if (modelled_has_topology(driver) && node->segments != NULL) {
        response->accessible_topology = (const StringMap *const *)&node->segments;
        response->n_accessible_topology = 1;
    }
}

static void
answer_node_info(const CsiModelledDriver *driver, ModelledCall *call, CsiResponse *response)
{
    modelled_node_info(driver, call->node, response);
}

/* Columns as in MethodClass; clang-format 14 cannot align such rows. */
/* clang-format off */
const MethodClass modelled_node_stage_volume = {
    NEEDS_VOLUME | NEEDS_STAGING_PATH | NEEDS_CAPABILITY | TAKES_SECRETS | ADOPTS,
    SUBJECT_MOUNT, TRUE, CSI_NODE_STAGE_UNSTAGE_VOLUME,
    check_stage, apply_stage, NULL,
};

const MethodClass modelled_node_unstage_volume = {
    NEEDS_VOLUME | NEEDS_STAGING_PATH,
    SUBJECT_MOUNT, TRUE, CSI_NODE_STAGE_UNSTAGE_VOLUME,
    check_unstage, apply_unstage, NULL,
};

const MethodClass modelled_node_publish_volume = {
    NEEDS_VOLUME | NEEDS_TARGET_PATH | NEEDS_CAPABILITY | TAKES_SECRETS | ADOPTS,
    SUBJECT_MOUNT, TRUE, 0,
    check_node_publish, apply_node_publish, answer_node_publish,
};

const MethodClass modelled_node_unpublish_volume = {
    NEEDS_VOLUME | NEEDS_TARGET_PATH,
    SUBJECT_MOUNT, TRUE, 0,
    check_node_unpublish, apply_node_unpublish, NULL,
};

const MethodClass modelled_node_get_volume_stats = {
    NEEDS_VOLUME | NEEDS_TARGET_PATH,
    SUBJECT_MOUNT, FALSE, CSI_NODE_GET_VOLUME_STATS_CAPABILITY,
    check_stats, NULL, answer_stats,
};

const MethodClass modelled_node_expand_volume = {
    NEEDS_VOLUME | NEEDS_TARGET_PATH,
    SUBJECT_MOUNT, TRUE, CSI_NODE_EXPAND_VOLUME_CAPABILITY,
    check_node_expand, apply_node_expand, answer_node_expand,
};

const MethodClass modelled_node_get_capabilities = {
    .subject = SUBJECT_NODE, .answer = answer_node_capabilities,
};

const MethodClass modelled_node_get_info = {
    .subject = SUBJECT_NODE, .answer = answer_node_info,
};
/* clang-format on */
