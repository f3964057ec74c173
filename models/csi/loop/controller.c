/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* The controller's calls of the loop driver: files as volumes and snapshots, loop devices as
 * attachments. Room is reserved before a file is made. The record of a volume is written last, so a
 * file without a record belongs to a call that did not finish. All nodes are this machine and share
 * one device. */
#include "loop-private.h"

#include <string.h>

#define SIZE_STEP 4096 /* a device's size is cut down to whole blocks (LOOP-24) */
#define PARAMETER_ALLOCATION "allocation" /* of a StorageClass: "full" (default), "sparse" */

/* ---- Room ---- */

/* With the lock held. */
static int64_t
used_bytes(const LoopBackend *self)
{
    int64_t bytes = self->promised_bytes;

    for (unsigned i = 0; i < self->volumes->len; i++)
        bytes += ((const LoopVolume *)self->volumes->pdata[i])->capacity_bytes;
    for (unsigned i = 0; i < self->snapshots->len; i++)
        bytes += ((const LoopSnapshot *)self->snapshots->pdata[i])->size_bytes;
    return bytes;
}

static int64_t
loop_room(LoopBackend *self)
{
    g_mutex_lock(&self->lock);
    int64_t room = self->options.bytes_max - used_bytes(self);
    g_mutex_unlock(&self->lock);
    return MAX(MIN(room, loop_file_room(self->ledger)), 0);
}

gboolean
loop_room_take(LoopBackend *self, int64_t bytes, gboolean one_more, GError **error)
{
    int64_t free_bytes = loop_file_room(self->ledger);

    g_mutex_lock(&self->lock);
    int64_t room = MIN(self->options.bytes_max - used_bytes(self), free_bytes);
    gboolean fits = bytes <= room;
    gboolean may =
        !one_more || self->volumes->len + self->snapshots->len <= self->options.volumes_max;
    if (fits && may)
        self->promised_bytes += bytes;
    g_mutex_unlock(&self->lock);
    if (!may) /* CSI-47, CSI-55 */
        return loop_refuse(error, CSI_RESOURCE_EXHAUSTED,
                           "there are %u volumes and snapshots, which is the limit",
                           self->options.volumes_max);
    return fits ||
           loop_refuse(error, CSI_RESOURCE_EXHAUSTED,
                       "no room: %" G_GINT64_FORMAT " bytes wanted, %" G_GINT64_FORMAT " left",
                       bytes, MAX(room, 0));
}

static void
loop_room_return(LoopBackend *self, int64_t bytes)
{
    g_mutex_lock(&self->lock);
    self->promised_bytes -= bytes;
    g_mutex_unlock(&self->lock);
}

/* The size for a capacity range, rounded up to 4 KiB; FALSE: OUT_OF_RANGE */
static gboolean
loop_size_for(const LoopBackend *self,
              const CsiRequest *request,
              int64_t at_least,
              int64_t *bytes,
              GError **error)
{
    int64_t wanted = request->required_bytes;

    if (wanted == 0) {
        wanted = MAX(self->options.volume_bytes_default, at_least);
        if (request->limit_bytes > 0)
            wanted = MIN(wanted, request->limit_bytes);
    }
    if (wanted > INT64_MAX - SIZE_STEP)
        return loop_refuse(error, CSI_OUT_OF_RANGE, "%" G_GINT64_FORMAT " bytes are too many",
                           wanted);
    *bytes = (MAX(wanted, at_least) + SIZE_STEP - 1) / SIZE_STEP * SIZE_STEP;
    if (request->limit_bytes == 0 || *bytes <= request->limit_bytes)
        return TRUE;
    return loop_refuse(error, CSI_OUT_OF_RANGE, "no size between the required and the limit bytes");
}

/* ---- CreateVolume ---- */

static char *
parameters_text(const StringMap *parameters)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; parameters != NULL && i < parameters->n_pairs; i++)
        g_string_append_printf(text, "%s=%s\n", parameters->pairs[i].key,
                               parameters->pairs[i].value);
    return g_string_free(text, FALSE);
}

/* The types of file systems must be known, and the volume large enough for them. */
static gboolean
check_types(const LoopBackend *self, const CsiRequest *request, int64_t bytes, GError **error)
{
    for (unsigned i = 0; i < request->n_capabilities; i++) {
        const CsiCapability *capability = &request->capabilities[i];
        const char *type = loop_type_of(self, capability->fs_type);
        int64_t bytes_min;
        if (capability->type == CSI_ACCESS_BLOCK)
            continue;
        if (!loop_type_is_known(type, &bytes_min))
            return loop_refuse(error, CSI_INVALID_ARGUMENT, "no file system %s", type);
        if (bytes < bytes_min)
            return loop_refuse(error, CSI_OUT_OF_RANGE,
                               "%" G_GINT64_FORMAT
                               " bytes are too few for %s, which wants %" G_GINT64_FORMAT,
                               bytes, type, bytes_min);
    }
    return TRUE;
}

static gboolean
read_allocation(const LoopBackend *self,
                const CsiRequest *request,
                gboolean *sparse,
                GError **error)
{
    const char *value = string_map_get(request->parameters, PARAMETER_ALLOCATION);

    *sparse = value == NULL ? self->options.sparse : strcmp(value, "sparse") == 0;
    if (value == NULL || *sparse || strcmp(value, "full") == 0)
        return TRUE;
    return loop_refuse(error, CSI_INVALID_ARGUMENT,
                       "parameter " PARAMETER_ALLOCATION ": \"%s\" is neither full nor sparse",
                       value);
}

/* CSI-16: a repeat that means the same volume; else CSI-47. */
static gboolean
check_same(const LoopVolume *volume, const CsiRequest *request, GError **error)
{
    g_autofree char *parameters = parameters_text(request->parameters);
    const char *differs = NULL;

    if (volume->capacity_bytes < request->required_bytes ||
        (request->limit_bytes > 0 && volume->capacity_bytes > request->limit_bytes))
        differs = "size";
    else if (volume->source_kind != request->source_kind ||
             strcmp(volume->source_id, request->source_id != NULL ? request->source_id : "") != 0)
        differs = "source";
    else if (loop_volume_exceeded(volume, request))
        differs = "capabilities";
    else if (strcmp(volume->parameters, parameters) != 0)
        differs = "parameters";
    return differs == NULL ||
           loop_refuse(error, CSI_ALREADY_EXISTS, "volume %s already exists with another %s",
                       volume->name, differs);
}

/* Keeps the source until loop_source_leave(). */
typedef struct {
    LoopSnapshot *snapshot;
    LoopVolume *volume; /* its `work` is held */
    int64_t bytes;
} Source;

static gboolean
source_enter(LoopBackend *self, const CsiRequest *request, Source *source, GError **error)
{
    gboolean found = request->source_kind == CSI_SOURCE_NONE;

    g_mutex_lock(&self->lock);
    if (request->source_kind == CSI_SOURCE_SNAPSHOT) {
        LoopSnapshot *snapshot = loop_snapshot_find(self, request->source_id);
        found = snapshot != NULL && snapshot->is_there;
        if (found) {
            source->snapshot = snapshot;
            source->bytes = snapshot->size_bytes;
            snapshot->n_users++;
        }
    } else if (request->source_kind == CSI_SOURCE_VOLUME) {
        LoopVolume *volume = loop_volume_find(self, request->source_id);
        found = volume != NULL && volume->is_there;
        if (found) {
            source->volume = volume;
            source->bytes = volume->capacity_bytes;
            ref_count_add(&volume->refs);
        }
    }
    g_mutex_unlock(&self->lock);
    if (!found) /* CSI-47 */
        return loop_refuse(error, CSI_NOT_FOUND, "source %s not found", request->source_id);
    if (source->volume != NULL)
        g_mutex_lock(&source->volume->work);
    return TRUE;
}

static void
source_leave(LoopBackend *self, Source *source)
{
    if (source->volume != NULL)
        g_mutex_unlock(&source->volume->work);
    g_mutex_lock(&self->lock);
    if (source->volume != NULL)
        loop_volume_unref(source->volume);
    if (source->snapshot != NULL)
        source->snapshot->n_users--;
    g_mutex_unlock(&self->lock);
}

static gboolean
controller_fill(LoopBackend *self,
                const LoopVolume *volume,
                const Source *source,
                int64_t bytes,
                gboolean sparse,
                GError **error)
{
    g_autofree char *path = loop_volume_file(volume->id);

    if (source->volume != NULL)
        return loop_volume_copy(self, source->volume, path, bytes, error);
    if (source->snapshot != NULL) {
        g_autofree char *from = loop_snapshot_file(source->snapshot->id);
        return loop_file_copy(self->ledger, from, path, bytes, NULL, error);
    }
    return loop_file_create(self->ledger, path, bytes, sparse, error);
}

static void
describe(LoopBackend *self,
         LoopVolume *volume,
         const CsiRequest *request,
         int64_t bytes,
         gboolean sparse)
{
    g_mutex_lock(&self->lock);
    volume->capacity_bytes = bytes;
    volume->is_sparse = sparse;
    for (unsigned i = 0; i < request->n_capabilities; i++) {
        volume->modes |= 1u << request->capabilities[i].mode;
        volume->types |= 1u << request->capabilities[i].type;
    }
    g_free(volume->parameters);
    g_free(volume->source_id);
    volume->parameters = parameters_text(request->parameters);
    volume->source_kind = request->source_kind;
    volume->source_id = g_strdup(request->source_id != NULL ? request->source_id : "");
    self->promised_bytes -= bytes; /* from now on the volume counts itself */
    g_mutex_unlock(&self->lock);
}

/* LOOP-1: the record is written last; a file without a record belongs to an unfinished call. */
static gboolean
controller_make_volume(LoopBackend *self,
                       LoopVolume *volume,
                       const CsiRequest *request,
                       const Source *source,
                       GError **error)
{
    int64_t bytes = 0;
    gboolean sparse;

    if (request->source_kind != CSI_SOURCE_NONE && request->required_bytes > 0 &&
        request->required_bytes < source->bytes)
        return loop_refuse(error, CSI_OUT_OF_RANGE, "the source is larger"); /* CSI-47 */
    if (!loop_size_for(self, request, source->bytes, &bytes, error) ||
        !check_types(self, request, bytes, error) ||
        !read_allocation(self, request, &sparse, error) ||
        !loop_room_take(self, bytes, TRUE, error))
        return FALSE;
    if (!controller_fill(self, volume, source, bytes, sparse, error)) {
        loop_room_return(self, bytes);
        return FALSE;
    }
    describe(self, volume, request, bytes, sparse);
    if (!loop_volume_save(self, volume, TRUE, error)) {
        g_autofree char *path = loop_volume_file(volume->id);
        loop_file_remove(self->ledger, path, NULL);
        return FALSE;
    }
    g_mutex_lock(&self->lock);
    volume->is_there = TRUE;
    g_mutex_unlock(&self->lock);
    return TRUE;
}

gboolean
loop_create_volume(LoopBackend *self, LoopCall *call, GError **error)
{
    const CsiRequest *request = call->request;
    CsiResponse *response = &call->answer->response;
    LoopVolume *volume = call->volume;
    Source source = {0};

    if (request->mutable_parameters != NULL) /* CSI-56 */
        return loop_refuse(error, CSI_INVALID_ARGUMENT, "there are no mutable parameters");
    if (volume->is_there) {
        if (!check_same(volume, request, error))
            return FALSE;
    } else {
        if (!source_enter(self, request, &source, error))
            return FALSE;
        gboolean made = controller_make_volume(self, volume, request, &source, error);
        source_leave(self, &source);
        if (!made)
            return FALSE;
    }
    response->volume_id = loop_answer_keep(call->answer, volume->id);
    response->capacity_bytes = volume->capacity_bytes;
    response->source_kind = request->source_kind;
    response->source_id = loop_answer_keep(call->answer, request->source_id);
    return TRUE;
}

/* ---- DeleteVolume ---- */

static gboolean
controller_is_used(const LoopVolume *volume)
{
    for (unsigned i = 0; i < volume->places->len; i++) {
        const LoopPlace *place = volume->places->pdata[i];
        if (place->is_published || place->staging_path != NULL || place->targets->len > 0)
            return TRUE;
    }
    return FALSE;
}

gboolean
loop_delete_volume(LoopBackend *self, LoopCall *call, GError **error)
{
    LoopVolume *volume = call->volume;

    if (volume == NULL || !volume->is_there) /* CSI-17 */
        return TRUE;
    if (controller_is_used(volume)) /* CSI-48 */
        return loop_refuse(error, CSI_FAILED_PRECONDITION, "volume %s is in use", volume->id);
    g_autofree char *path = loop_volume_file(volume->id);
    /* A device that a killed process left may still hold its blocks (LOOP-21). */
    if (!loop_device_detach(self->ledger, path, error) ||
        !loop_file_remove(self->ledger, path, error))
        return FALSE;
    loop_record_remove(self, path);
    g_mutex_lock(&self->lock);
    loop_volume_drop(self, volume);
    g_mutex_unlock(&self->lock);
    return TRUE;
}

/* ---- Attaching ---- */

static unsigned
n_published_on(LoopBackend *self, const char *node)
{
    unsigned n = 0;

    g_mutex_lock(&self->lock);
    for (unsigned i = 0; i < self->volumes->len; i++)
        n += loop_volume_place(self->volumes->pdata[i], node)->is_published ? 1 : 0;
    g_mutex_unlock(&self->lock);
    return n;
}

/* CSI-49. Returns: FALSE with @error */
static gboolean
check_publish(LoopBackend *self, LoopCall *call, GError **error)
{
    const CsiRequest *request = call->request;
    const LoopVolume *volume = call->volume;
    const LoopPlace *here = call->place;

    if (loop_volume_exceeded(volume, request))
        return loop_refuse(error, CSI_FAILED_PRECONDITION,
                           "volume %s was not made for that capability", volume->id);
    if (here->is_published && (here->readonly != request->readonly ||
                               !loop_capability_is(&here->published, &request->capabilities[0])))
        return loop_refuse(error, CSI_ALREADY_EXISTS,
                           "volume %s is attached to node %s in another way", volume->id,
                           here->node);
    for (unsigned i = 0; i < volume->places->len; i++) {
        const LoopPlace *other = volume->places->pdata[i];
        if (other != here && other->is_published &&
            (csi_access_mode_is_single_node(request->capabilities[0].mode) ||
             csi_access_mode_is_single_node(other->published.mode)))
            return loop_refuse(error, CSI_FAILED_PRECONDITION, "volume %s is attached to node %s",
                               volume->id, other->node);
    }
    if (!here->is_published && self->options.attach_limit > 0 &&
        n_published_on(self, here->node) >= (unsigned)self->options.attach_limit)
        return loop_refuse(error, CSI_RESOURCE_EXHAUSTED, "node %s takes no more than %d volumes",
                           here->node, self->options.attach_limit);
    return TRUE;
}

/* All nodes are this machine: they share one device (LOOP-19). */
gboolean
loop_controller_publish(LoopBackend *self, LoopCall *call, GError **error)
{
    LoopVolume *volume = call->volume;

    if (volume == NULL || !volume->is_there)
        return loop_refuse_unknown(error, call->request->volume_id);
    if (!check_publish(self, call, error))
        return FALSE;
    g_autofree char *path = loop_volume_file(volume->id);
    int number = loop_device_attach(self->ledger, path, !self->options.buffered, error);
    if (number < 0)
        return FALSE;
    if (!call->place->is_published) {
        g_mutex_lock(&self->lock);
        call->place->is_published = TRUE;
        call->place->readonly = call->request->readonly;
        loop_capability_set(&call->place->published, &call->request->capabilities[0]);
        g_mutex_unlock(&self->lock);
        if (!loop_volume_save(self, volume, FALSE, error))
            return FALSE;
    }
    g_autofree char *device = g_strdup_printf("/dev/loop%d", number);
    call->answer->device = loop_answer_keep(call->answer, device);
    return TRUE;
}

/* A node without the device has no mounts of it either. */
static gboolean
unpublish_place(LoopBackend *self, LoopVolume *volume, LoopPlace *place, GError **error)
{
    if (!place->is_published)
        return TRUE;
    if (!loop_place_release(self, place, error))
        return FALSE;
    g_mutex_lock(&self->lock);
    gboolean is_last = loop_volume_n_published(volume) == 1;
    g_mutex_unlock(&self->lock);
    g_autofree char *path = loop_volume_file(volume->id);
    if (is_last && !loop_device_detach(self->ledger, path, error))
        return FALSE;
    g_mutex_lock(&self->lock);
    place->is_published = FALSE;
    g_mutex_unlock(&self->lock);
    return TRUE;
}

gboolean
loop_controller_unpublish(LoopBackend *self, LoopCall *call, GError **error)
{
    LoopVolume *volume = call->volume;
    const char *node = call->request->node_id;
    gboolean done = TRUE;

    if (volume == NULL || !volume->is_there) /* CSI-19: surely detached */
        return TRUE;
    for (unsigned i = 0; done && i < volume->places->len; i++) {
        LoopPlace *place = volume->places->pdata[i];
        if (node == NULL || node[0] == '\0' || strcmp(place->node, node) == 0)
            done = unpublish_place(self, volume, place, error);
    }
    return loop_volume_save(self, volume, FALSE, done ? error : NULL) && done;
}

/* ---- Questions ---- */

gboolean
loop_validate(LoopBackend *self, LoopCall *call, GError **error)
{
    (void)self;
    if (call->volume == NULL || !call->volume->is_there)
        return loop_refuse_unknown(error, call->request->volume_id);
    call->answer->response.confirmed = !loop_volume_exceeded(call->volume, call->request);
    return TRUE;
}

gboolean
loop_page_starts(const CsiRequest *request, int64_t *sequence, GError **error)
{
    char *end;

    *sequence = 0;
    if (request->starting_token == NULL || request->starting_token[0] == '\0')
        return TRUE;
    *sequence = g_ascii_strtoll(request->starting_token, &end, 10);
    return (*end == '\0' && *sequence > 0) ||
           loop_refuse(error, CSI_ABORTED, "no such token: %s", request->starting_token);
}

/* With the lock held. */
static void
add_volume_entry(LoopBackend *self, LoopAnswer *answer, const LoopVolume *volume, unsigned max)
{
    g_autofree char *path = loop_volume_file(volume->id);
    g_autoptr(GPtrArray) nodes = g_ptr_array_new();
    gboolean is_lost = loop_file_bytes(self->ledger, path) < 0;
    const CsiEntry entry = {.volume_id = volume->id,
                            .capacity_bytes = volume->capacity_bytes,
                            .abnormal = is_lost,
                            .condition_message = is_lost ? "its backing file is gone" : NULL};

    for (unsigned i = 0; i < volume->places->len; i++) {
        const LoopPlace *place = volume->places->pdata[i];
        if (place->is_published)
            g_ptr_array_add(nodes, g_strdup(place->node));
    }
    g_ptr_array_add(nodes, NULL);
    loop_answer_add(answer, &entry, (char **)g_ptr_array_free(g_steal_pointer(&nodes), FALSE),
                    volume->sequence, max);
}

gboolean
loop_list_volumes(LoopBackend *self, LoopCall *call, GError **error)
{
    int64_t from;

    if (!loop_page_starts(call->request, &from, error))
        return FALSE;
    g_mutex_lock(&self->lock);
    for (unsigned i = 0; i < self->volumes->len; i++) {
        const LoopVolume *volume = self->volumes->pdata[i];
        if (volume->is_there && volume->sequence >= from)
            add_volume_entry(self, call->answer, volume, call->request->max_entries);
    }
    g_mutex_unlock(&self->lock);
    return TRUE;
}

gboolean
loop_get_volume(LoopBackend *self, LoopCall *call, GError **error)
{
    if (call->volume == NULL || !call->volume->is_there)
        return loop_refuse_unknown(error, call->request->volume_id);
    g_mutex_lock(&self->lock);
    add_volume_entry(self, call->answer, call->volume, 0);
    g_mutex_unlock(&self->lock);
    return TRUE;
}

/* CSI-69 */
gboolean
loop_get_capacity(LoopBackend *self, LoopCall *call, GError **error)
{
    (void)error;
    call->answer->response.available_bytes = loop_room(self);
    call->answer->response.maximum_volume_bytes = call->answer->response.available_bytes;
    call->answer->response.minimum_volume_bytes = SIZE_STEP;
    return TRUE;
}

/* ---- ControllerExpandVolume ---- */

/* Whether a mounted file system would have to grow, but cannot on this machine. */
static gboolean
needs_offline(const LoopBackend *self, const LoopVolume *volume)
{
    for (unsigned i = 0; i < volume->places->len; i++) {
        const LoopPlace *place = volume->places->pdata[i];
        if (place->is_published && place->published.type == CSI_ACCESS_MOUNT &&
            !loop_can_grow_online(loop_type_of(self, place->published.fs_type)))
            return TRUE;
    }
    return FALSE;
}

static gboolean
controller_grow(LoopBackend *self, LoopVolume *volume, int64_t bytes, GError **error)
{
    g_autofree char *path = loop_volume_file(volume->id);
    int64_t more = bytes - volume->capacity_bytes;

    if (!loop_room_take(self, more, FALSE, error))
        return FALSE;
    if (!loop_file_grow(self->ledger, path, bytes, volume->is_sparse, error)) {
        loop_room_return(self, more);
        return FALSE;
    }
    g_mutex_lock(&self->lock);
    volume->capacity_bytes = bytes;
    self->promised_bytes -= more;
    g_mutex_unlock(&self->lock);
    return loop_volume_save(self, volume, TRUE, error);
}

gboolean
loop_controller_expand(LoopBackend *self, LoopCall *call, GError **error)
{
    const CsiRequest *request = call->request;
    LoopVolume *volume = call->volume;
    int64_t bytes = 0;

    if (volume == NULL || !volume->is_there)
        return loop_refuse_unknown(error, request->volume_id);
    if (loop_volume_exceeded(volume, request)) /* CSI-53 */
        return loop_refuse(error, CSI_INVALID_ARGUMENT,
                           "volume %s was not made for that capability", volume->id);
    if (!loop_size_for(self, request, volume->capacity_bytes, &bytes, error))
        return FALSE;
    if (bytes > volume->capacity_bytes && needs_offline(self, volume)) /* CSI-53, CSI-71 */
        return loop_refuse(error, CSI_FAILED_PRECONDITION,
                           "volume %s is published; it expands offline only: growing it in use "
                           "needs CAP_SYS_RESOURCE",
                           volume->id);
    if (bytes > volume->capacity_bytes && !controller_grow(self, volume, bytes, error))
        return FALSE;
    call->answer->response.capacity_bytes = volume->capacity_bytes;
    call->answer->response.node_expansion_required = TRUE;
    return TRUE;
}
