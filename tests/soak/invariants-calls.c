/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants-private.h"
#include "models/csi/modelled/modelled-test.h"
#include "models/volume/plugins.h"

/* ---- CSI calls ---- */

static int
attach_limit(const Invariants *self, const CsiDriver *driver)
{
    const Scenario *scenario = run_scenario(self->run);

    for (unsigned i = 0; i < scenario->n_drivers; i++)
        if (g_str_equal(scenario->drivers[i].name, csi_driver_name(driver)))
            return scenario->drivers[i].attach_limit;
    return 0;
}

static const Volume *
volume_of_handle(const Invariants *self, const CsiDriver *driver, const char *volume_id)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_VOLUME); i++) {
        const Volume *volume = VOLUME_CONST(invariants_stored(self, KIND_VOLUME, i));
        if (volume != NULL && volume->source->handle == volume_id &&
            g_str_equal(volume->source->driver, csi_driver_name(driver)))
            return volume;
    }
    return NULL;
}

/* Whether the Node lists the volume in volumesAttached. */
gboolean
invariants_is_reported(const Invariants *self, const Volume *volume, const char *node_name)
{
    const ObjectKey *key = objects_find_key(self->objects, KIND_NODE, NULL, node_name);
    const Node *node = key == NULL ? NULL : (const Node *)api_server_get(self->api, key);
    const char *name = volume_unique_name(objects_strings(self->objects),
                                          volume_plugin_find(volume->source), volume);

    return node != NULL && string_list_has(node->volumes_attached, name);
}

const Attachment *
invariants_attachment_of(const Invariants *self, const Volume *volume, const char *node)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_ATTACHMENT); i++) {
        const Attachment *attachment =
            (const Attachment *)invariants_stored(self, KIND_ATTACHMENT, i);
        if (attachment != NULL && attachment->node_name == node &&
            attachment->volume_name == volume->meta.key->name)
            return attachment;
    }
    return NULL;
}

/* ADC-60, ADC-61: then the controller gives up, and the attachment is uncertain. */
#define ATTACH_WAIT (2 * SIM_MINUTE)

/* ADC-49, ADC-53: the attachment excludes other nodes, unless the controller has a reason to be
 * uncertain of it (ADC-24). */
gboolean
invariants_keeps_others_away(const Invariants *self, const Volume *volume, const char *node)
{
    Place place = history_place(self->history, volume->source->handle, node);
    const Attachment *attachment = invariants_attachment_of(self, volume, node);
    SimTime now = sim_now(self->sim);

    if (attachment != NULL && !object_is_deleted(&attachment->meta) &&
        history_is_detach_asked(self->history, volume->meta.key->name)) /* ADC-57, ADC-58 */
        return FALSE;
    if (place.detach_failed) /* ADC-58, and OP-2: it is reported again, but uncertain */
        return FALSE;
    if (invariants_is_reported(self, volume,
                               node)) /* ADC-51: the controller itself says that it is certain */
        return TRUE;
    if (place.attach_failed) /* ADC-24, ADC-57 */
        return FALSE;
    if (history_has_crash(self->history, "kube-controller-manager", NULL, place.attach_asked_at,
                          now)) /* ADC-27: not reported, so uncertain */
        return FALSE;
    if (attachment == NULL)
        return TRUE;
    if (attachment->meta.created_at < 0) /* ADC-27: the controller starts with the run, too */
        return FALSE;
    return now - MAX(attachment->meta.created_at, attachment->meta.deleted_at) < ATTACH_WAIT;
}

static void
check_exclusive(Invariants *self, const CsiCallRecord *record, const StringList *nodes)
{
    const CsiRequest *request = record->request;
    const Volume *volume = volume_of_handle(self, record->driver, request->volume_id);

    /* the attacher asks again as long as the attachment is there */
    if (history_place(self->history, request->volume_id, request->node_id).attach_asked_at <
        sim_now(self->sim))
        return;
    /* nor does it matter to an attachment of an imported state which others came after it */
    const Attachment *attachment =
        volume == NULL ? NULL : invariants_attachment_of(self, volume, request->node_id);
    if (attachment != NULL && attachment->meta.created_at < 0)
        return;
    for (unsigned i = 0; volume != NULL && nodes != NULL && i < nodes->n_items; i++)
        if (invariants_keeps_others_away(self, volume, nodes->items[i]))
            invariants_fault(self, "%s attached to %s while it is on %s", request->volume_id,
                             request->node_id, nodes->items[i]);
}

typedef struct {
    const Invariants *self;
    const CsiModelledDriver *driver;
    const CsiDriver *base;
    const char *node;
    unsigned n;
} LimitCount;

/* Whether the scheduler counted the volume: not if the pod is older than the driver's limit (VF-9,
 * VF-W6), nor if its claim was bound late to a volume made by hand, whose class names no driver
 * (VF-5). */
static gboolean
is_counted(const Invariants *self, const CsiDriver *driver, const char *volume_id, const char *node)
{
    const Volume *volume = volume_of_handle(self, driver, volume_id);
    const ObjectKey *class_key =
        volume == NULL
            ? NULL
            : objects_find_key(self->objects, KIND_STORAGE_CLASS, NULL, volume_class(volume));
    const StorageClass *class =
        class_key == NULL ? NULL : (const StorageClass *)api_server_get(self->api, class_key);

    /* VF-3: of an inline volume no attachment is counted, only its pod: see invariants-binding.c */
    if (volume == NULL || history_place(self->history, volume_id, node).came_early)
        return FALSE;
    return class == NULL || class->binding_mode != BINDING_WAIT_FOR_FIRST_CONSUMER ||
           g_str_equal(class->provisioner, csi_driver_name(driver));
}

static void
invariants_calls_count_volume(void *data, const CsiModelledVolume *volume)
{
    LimitCount *count = data;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(count->driver, volume->id);

    if (string_list_has(nodes, count->node))
        count->n += is_counted(count->self, count->base, volume->id, count->node) ? 1 : 0;
}

/* VF-3: the scheduler keeps the limit. */
static void
check_limit(Invariants *self, const CsiCallRecord *record, const CsiModelledDriver *driver)
{
    const CsiRequest *request = record->request;
    int limit = attach_limit(self, record->driver);
    LimitCount count = {self, driver, record->driver, request->node_id, 0};

    if (limit == 0 || !is_counted(self, record->driver, request->volume_id, request->node_id))
        return;
    csi_modelled_driver_each_volume(driver, invariants_calls_count_volume, &count);
    if (count.n >= (unsigned)limit)
        invariants_fault(self, "%s attached to %s, which has its %d volumes", request->volume_id,
                         request->node_id, limit);
}

static void
check_attach_call(Invariants *self, const CsiCallRecord *record)
{
    const CsiModelledDriver *driver = csi_modelled_driver_cast((CsiDriver *)record->driver);
    const CsiRequest *request = record->request;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(driver, request->volume_id);

    if (string_list_has(nodes, request->node_id))
        return;
    if (csi_access_mode_is_single_node(request->capabilities[0].mode))
        check_exclusive(self, record, nodes);
    check_limit(self, record, driver);
}

/* KVM-36, KVM-41: only attached volumes are staged. */
static void
check_stage_call(Invariants *self, const CsiCallRecord *record)
{
    const CsiModelledDriver *driver = csi_modelled_driver_cast((CsiDriver *)record->driver);
    const CsiRequest *request = record->request;
    const ObjectKey *key =
        objects_find_key(self->objects, KIND_CSI_DRIVER, NULL, csi_driver_name(record->driver));
    const CsiDriverObject *object =
        key == NULL ? NULL : (const CsiDriverObject *)api_server_get(self->api, key);
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(driver, request->volume_id);

    if ((object == NULL || object->attach_required) && !string_list_has(nodes, request->served_by))
        invariants_fault(self, "%s staged on %s, where it is not attached", request->volume_id,
                         request->served_by);
}

void
invariants_call_started(void *data, const CsiCallRecord *record)
{
    Invariants *self = data;
    const CsiModelledDriver *driver = csi_modelled_driver_cast((CsiDriver *)record->driver);
    const CsiRequest *request = record->request;

    history_call_started(self->history, record);
    if (request->method == CSI_CONTROLLER_PUBLISH_VOLUME) {
        check_attach_call(self, record);
    } else if (request->method == CSI_NODE_STAGE_VOLUME) {
        check_stage_call(self, record);
    } else if (request->method == CSI_NODE_UNSTAGE_VOLUME) {
        if (csi_modelled_driver_n_targets(driver, request->volume_id, request->served_by) > 0)
            invariants_fault(self, "%s unstaged on %s, where a pod has it", request->volume_id,
                             request->served_by);
    } else if (request->method == CSI_CONTROLLER_UNPUBLISH_VOLUME) {
        if (csi_modelled_driver_is_staged(driver, request->volume_id, request->node_id) &&
            !history_is_staging_forgotten(self->history, request->volume_id, request->node_id) &&
            !history_is_clock_over(self->history, request->volume_id, request->node_id) &&
            !history_is_given_up(self->history, request->node_id))
            invariants_fault(self, "%s detached from %s, where it is staged", request->volume_id,
                             request->node_id);
    } else if (request->method == CSI_DELETE_VOLUME) {
        g_autoptr(StringList) nodes =
            csi_modelled_driver_published_nodes(driver, request->volume_id);
        if (nodes != NULL)
            invariants_fault(self, "%s deleted while it is on %s", request->volume_id,
                             nodes->items[0]);
    }
}

void
invariants_call_answered(void *data, const CsiCallRecord *record)
{
    Invariants *self = data;

    history_call_answered(self->history, record);
    invariants_check_pace(self, record);
}

/* KVM-41, VF-30: a volume for one pod is in one at most. */
static void
check_publish_end(Invariants *self, const CsiCallRecord *record)
{
    const CsiRequest *request = record->request;
    const Volume *volume = volume_of_handle(self, record->driver, request->volume_id);
    unsigned n = 0;

    if (volume == NULL || volume->access_modes != ACCESS_RWOP)
        return;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++) {
        const char *node = objects_key_at(self->objects, KIND_NODE, i)->name;
        if (!history_is_given_up(self->history, node))
            n += csi_modelled_driver_n_targets(
                csi_modelled_driver_cast((CsiDriver *)record->driver), request->volume_id, node);
    }
    if (n > 1)
        invariants_fault(self, "%s is in %u pods", request->volume_id, n);
}

void
invariants_call_ended(void *data, const CsiCallRecord *record)
{
    Invariants *self = data;
    const CsiRequest *request = record->request;

    if (request->method == CSI_NODE_PUBLISH_VOLUME)
        check_publish_end(self, record);
    if (request->method != CSI_CONTROLLER_PUBLISH_VOLUME ||
        !csi_access_mode_is_single_node(request->capabilities[0].mode))
        return;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(
        csi_modelled_driver_cast((CsiDriver *)record->driver), request->volume_id);
    if (nodes != NULL && nodes->n_items > 1)
        invariants_fault(self, "%s is on %u nodes", request->volume_id, nodes->n_items);
}
