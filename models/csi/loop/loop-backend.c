/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: the loop driver works on the real machine */
/* The loop driver's back end: methods by number, the form of requests, and one change of a volume
 * at a time, of the controller and on each node (CSI-46): another call is answered ABORTED. Methods
 * run in threads. The common lock guards the tables only; each volume has a lock of its own for the
 * work on the machine.
 *
 * At its start it takes unfinished deeds back, last first, and adopts volumes of earlier runs
 * (LOOP-32): files without a record go, and devices that the machine has lost are attached again at
 * the next staging. */
#include "loop-private.h"
#include "models/csi/loop/loop-test.h"

#include <string.h>

#define GIB (INT64_C(1) << 30)
#define NAME_BYTES_MAX 128 /* CSI-2, CSI-6 */

gboolean
loop_refuse_unknown(GError **error, const char *volume_id)
{
    return loop_refuse(error, CSI_NOT_FOUND, "volume %s not found", volume_id); /* CSI-51 */
}

/* ---- Answers ---- */

const char *
loop_answer_keep(LoopAnswer *self, const char *text)
{
    if (self->strings == NULL)
        self->strings = g_string_chunk_new(256);
    return text == NULL ? NULL : g_string_chunk_insert(self->strings, text);
}

static void
nodes_free(void *nodes)
{
    g_strfreev(nodes);
}

void
loop_answer_add(
    LoopAnswer *answer, const CsiEntry *entry, char **nodes, int64_t sequence, unsigned max)
{
    if (answer->entries == NULL) {
        answer->entries = g_array_new(FALSE, FALSE, sizeof(CsiEntry));
        answer->entry_nodes = g_ptr_array_new_with_free_func(nodes_free);
    }
    if (max > 0 && answer->entries->len == max) {
        if (answer->response.next_token == NULL) {
            g_autofree char *token = g_strdup_printf("%" G_GINT64_FORMAT, sequence);
            answer->response.next_token = loop_answer_keep(answer, token);
        }
        g_strfreev(nodes);
        return;
    }
    CsiEntry copy = *entry;
    copy.volume_id = loop_answer_keep(answer, entry->volume_id);
    copy.snapshot_id = loop_answer_keep(answer, entry->snapshot_id);
    copy.condition_message = loop_answer_keep(answer, entry->condition_message);
    g_array_append_val(answer->entries, copy);
    g_ptr_array_add(answer->entry_nodes, nodes);
}

void
loop_answer_clear(LoopAnswer *self)
{
    if (self->strings != NULL)
        g_string_chunk_free(self->strings);
    if (self->entries != NULL) {
        g_array_unref(self->entries);
        g_ptr_array_unref(self->entry_nodes);
    }
    *self = (LoopAnswer){0};
}

/* ---- Opening ---- */

/* The device of a record may be gone, because the machine was restarted. Its mounts are gone,
 * too. */
static void
forget_lost_places(LoopVolume *volume)
{
    for (unsigned i = 0; i < volume->places->len; i++) {
        LoopPlace *place = volume->places->pdata[i];
        g_clear_pointer(&place->staging_path, g_free);
        g_ptr_array_set_size(place->targets, 0);
    }
}

/* LOOP-32 (5), (8). Attachments stay in the records; staging the volume attaches its device
 * again. */
static void
adopt_volume(LoopBackend *self, LoopVolume *volume)
{
    g_autofree char *path = loop_volume_file(volume->id);
    g_autofree char *full = loop_ledger_path(self->ledger, path);

    if (loop_device_of(full) < 0)
        forget_lost_places(volume);
}

static gboolean
is_wanted_mount(LoopBackend *self, const char *path)
{
    for (unsigned i = 0; i < self->volumes->len; i++) {
        const LoopVolume *volume = self->volumes->pdata[i];
        for (unsigned k = 0; k < volume->places->len; k++) {
            const LoopPlace *place = volume->places->pdata[k];
            g_autofree char *staged = place->staging_path == NULL
                                          ? NULL
                                          : loop_node_path(place->node, place->staging_path);
            if (g_strcmp0(staged, path) == 0)
                return TRUE;
            for (unsigned t = 0; t < place->targets->len; t++) {
                const LoopTarget *target = place->targets->pdata[t];
                g_autofree char *at = loop_node_path(place->node, target->path);
                if (g_strcmp0(at, path) == 0)
                    return TRUE;
            }
        }
    }
    return FALSE;
}

/* Removes files without a record: a call of the last process was not finished. */
static gboolean
is_wanted_file(LoopBackend *self, const char *path)
{
    for (unsigned i = 0; i < self->volumes->len; i++) {
        const LoopVolume *volume = self->volumes->pdata[i];
        g_autofree char *file = loop_volume_file(volume->id);
        if (g_str_has_prefix(path, file) && !g_str_has_suffix(path, ".partial"))
            return TRUE;
    }
    for (unsigned i = 0; i < self->snapshots->len; i++) {
        const LoopSnapshot *snapshot = self->snapshots->pdata[i];
        g_autofree char *file = loop_snapshot_file(snapshot->id);
        if (g_str_has_prefix(path, file) && !g_str_has_suffix(path, ".partial"))
            return TRUE;
    }
    return !g_str_has_prefix(path, LOOP_VOLUMES "/") && !g_str_has_prefix(path, LOOP_SNAPSHOTS "/");
}

/* LOOP-32, in its order: takes unfinished deeds back, last first. */
static gboolean
recover(LoopBackend *self, GError **error)
{
    g_autoptr(GPtrArray) entries = loop_ledger_read(self->state_dir, NULL, error);

    if (entries == NULL)
        return FALSE;
    for (unsigned i = entries->len; i > 0; i--) {
        const LoopEntry *entry = entries->pdata[i - 1];
        if (entry->deed == LOOP_FREEZE)
            loop_thaw(self->ledger, entry->what);
        if (entry->deed == LOOP_MOUNT && !is_wanted_mount(self, entry->what) &&
            !loop_unmount(self->ledger, entry->what, self->options.busy_wait_us, error))
            return FALSE;
    }
    for (unsigned i = entries->len; i > 0; i--) {
        const LoopEntry *entry = entries->pdata[i - 1];
        if (entry->deed == LOOP_BINDING && !is_wanted_file(self, entry->what) &&
            !loop_device_detach(self->ledger, entry->what, error))
            return FALSE;
        if (entry->deed == LOOP_FILE && !is_wanted_file(self, entry->what) &&
            !loop_ledger_remove(self->ledger, LOOP_FILE, entry->what, error))
            return FALSE;
    }
    for (unsigned i = 0; i < self->volumes->len; i++)
        adopt_volume(self, self->volumes->pdata[i]);
    return TRUE;
}

static void
set_defaults(LoopBackend *self, const LoopOptions *options)
{
    self->options = *options;
    self->default_type = g_strdup(options->default_type != NULL ? options->default_type : "ext4");
    self->options.volumes_max = options->volumes_max != 0 ? options->volumes_max : 1000;
    self->options.volume_bytes_default =
        options->volume_bytes_default != 0 ? options->volume_bytes_default : 64 << 20;
    int64_t bytes_min = 0;
    loop_type_is_known(self->default_type, &bytes_min);
    self->options.volume_bytes_default = MAX(self->options.volume_bytes_default, bytes_min);
    self->options.busy_wait_us =
        options->busy_wait_us != 0 ? options->busy_wait_us : G_USEC_PER_SEC;
    self->tools_folders = g_strdup(options->tools);
    self->tools.folders = self->tools_folders;
    self->state_dir = g_strdup(loop_ledger_folder(self->ledger));
}

static void
snapshots_free(GPtrArray *snapshots, LoopBackend *self)
{
    while (snapshots->len > 0)
        loop_snapshot_drop(self, snapshots->pdata[0]);
    g_ptr_array_unref(snapshots);
}

LoopBackend *
loop_backend_open(const LoopOptions *options, GError **error)
{
    g_autoptr(LoopBackend) self = g_new0(LoopBackend, 1);

    g_mutex_init(&self->lock);
    self->volumes = g_ptr_array_new_with_free_func((GDestroyNotify)loop_volume_unref);
    self->snapshots = g_ptr_array_new();
    self->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->nodes = g_ptr_array_new_with_free_func(g_free);
    if (!loop_device_permitted(error))
        return NULL;
    self->ledger = loop_ledger_open(options->state_dir, error);
    if (self->ledger == NULL)
        return NULL;
    set_defaults(self, options);
    if (!loop_state_load(self, error) || !recover(self, error))
        return NULL;
    if (self->options.bytes_max == 0) {
        int64_t room = loop_file_room(self->ledger);
        self->options.bytes_max = MAX(room - MIN(room / 10, GIB), 0);
    }
    return g_steal_pointer(&self);
}

void
loop_backend_close(LoopBackend *self)
{
    if (self == NULL)
        return;
    g_ptr_array_unref(self->volumes);
    snapshots_free(self->snapshots, self);
    g_hash_table_unref(self->known);
    g_ptr_array_unref(self->nodes);
    loop_ledger_free(self->ledger);
    g_mutex_clear(&self->lock);
    g_free(self->state_dir);
    g_free(self->tools_folders);
    g_free(self->default_type);
    g_free(self);
}

LoopLedger *
loop_backend_ledger(LoopBackend *self)
{
    return self->ledger;
}

void
loop_backend_add_node(LoopBackend *self, const char *name)
{
    g_mutex_lock(&self->lock);
    if (!g_ptr_array_find_with_equal_func(self->nodes, name, g_str_equal, NULL))
        g_ptr_array_add(self->nodes, g_strdup(name));
    g_mutex_unlock(&self->lock);
}

char *
loop_backend_node_path(const LoopBackend *self, const char *node, const char *path)
{
    g_autofree char *relative = loop_node_path(node, path);

    return relative == NULL ? NULL : loop_ledger_path(self->ledger, relative);
}

gboolean
loop_backend_visit_target(
    LoopBackend *self,
    const char *volume_id,
    const char *node,
    const char *target_path,
    void (*visit)(void *data, const char *volume_id, const char *path, gboolean is_block),
    void *data)
{
    g_autofree char *path = loop_backend_node_path(self, node, target_path);

    g_mutex_lock(&self->lock);
    LoopVolume *volume = loop_volume_find(self, volume_id);
    if (volume != NULL)
        ref_count_add(&volume->refs);
    g_mutex_unlock(&self->lock);
    if (volume == NULL)
        return FALSE;

    g_mutex_lock(&volume->work);
    g_mutex_lock(&self->lock);
    const LoopTarget *target = loop_place_target(loop_volume_place(volume, node), target_path);
    gboolean is_there = target != NULL;
    gboolean is_block = is_there && target->capability.type == CSI_ACCESS_BLOCK;
    g_mutex_unlock(&self->lock);
    if (is_there)
        visit(data, volume_id, path, is_block);
    g_mutex_unlock(&volume->work);

    g_mutex_lock(&self->lock);
    loop_volume_unref(volume);
    g_mutex_unlock(&self->lock);
    return is_there;
}

const char *
loop_type_of(const LoopBackend *self, const char *fs_type)
{
    return fs_type != NULL && fs_type[0] != '\0' ? fs_type : self->default_type;
}

/* ---- Facts ---- */

static void
fact_free(void *data)
{
    LoopFact *fact = data;

    g_free(fact->volume_id);
    g_free(fact->backing_file);
    g_free(fact->node);
    g_free(fact->target);
    g_free(fact);
}

static void
add_fact(LoopBackend *self,
         GPtrArray *facts,
         const LoopVolume *volume,
         const LoopPlace *place,
         const char *path,
         const LoopFact *what)
{
    g_autofree char *file = loop_volume_file(volume->id);
    LoopFact *fact = g_memdup2(what, sizeof *what);

    fact->volume_id = g_strdup(volume->id);
    fact->backing_file = loop_ledger_path(self->ledger, file);
    fact->device = loop_device_of(fact->backing_file);
    fact->node = g_strdup(place->node);
    fact->target = path == NULL ? NULL : loop_backend_node_path(self, place->node, path);
    g_ptr_array_add(facts, fact);
}

static void
add_place_facts(LoopBackend *self,
                GPtrArray *facts,
                const LoopVolume *volume,
                const LoopPlace *place)
{
    if (place->is_published)
        add_fact(self, facts, volume, place, NULL, &(LoopFact){0});
    if (place->staging_path != NULL && place->staged.type == CSI_ACCESS_MOUNT)
        add_fact(self, facts, volume, place, place->staging_path, &(LoopFact){0});
    for (unsigned i = 0; i < place->targets->len; i++) {
        const LoopTarget *target = place->targets->pdata[i];
        add_fact(self, facts, volume, place, target->path,
                 &(LoopFact){.readonly = target->readonly,
                             .is_block = target->capability.type == CSI_ACCESS_BLOCK});
    }
}

GPtrArray *
loop_backend_facts(LoopBackend *self)
{
    GPtrArray *facts = g_ptr_array_new_with_free_func(fact_free);

    g_mutex_lock(&self->lock);
    for (unsigned i = 0; i < self->volumes->len; i++) {
        const LoopVolume *volume = self->volumes->pdata[i];
        for (unsigned k = 0; k < volume->places->len; k++)
            add_place_facts(self, facts, volume, volume->places->pdata[k]);
    }
    g_mutex_unlock(&self->lock);
    return facts;
}

unsigned
loop_backend_n_volumes(LoopBackend *self)
{
    unsigned n = 0;

    g_mutex_lock(&self->lock);
    for (unsigned i = 0; i < self->volumes->len; i++)
        n += ((const LoopVolume *)self->volumes->pdata[i])->is_there ? 1 : 0;
    g_mutex_unlock(&self->lock);
    return n;
}

/* ---- Identity ---- */

#define CONTROLLER_CAPABILITIES                                                                    \
    (CSI_CONTROLLER_CREATE_DELETE_VOLUME | CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME |               \
     CSI_CONTROLLER_LIST_VOLUMES | CSI_CONTROLLER_GET_CAPACITY |                                   \
     CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT | CSI_CONTROLLER_LIST_SNAPSHOTS |                       \
     CSI_CONTROLLER_CLONE_VOLUME | CSI_CONTROLLER_PUBLISH_READONLY |                               \
     CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY | CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES |       \
     CSI_CONTROLLER_VOLUME_CONDITION | CSI_CONTROLLER_GET_VOLUME_CAPABILITY |                      \
     CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER | CSI_CONTROLLER_GET_SNAPSHOT_CAPABILITY)
#define NODE_CAPABILITIES                                                                          \
    (CSI_NODE_STAGE_UNSTAGE_VOLUME | CSI_NODE_GET_VOLUME_STATS_CAPABILITY |                        \
     CSI_NODE_EXPAND_VOLUME_CAPABILITY | CSI_NODE_VOLUME_CONDITION |                               \
     CSI_NODE_SINGLE_NODE_MULTI_WRITER)

static gboolean
plugin_info(LoopBackend *self, LoopCall *call, GError **error)
{
    (void)self, (void)error;
    call->answer->response.vendor_version = "1.0.0";
    return TRUE;
}

/* Whether volumes can grow while they are in use depends on the permissions of this process
 * (LOOP-11). */
static gboolean
plugin_capabilities(LoopBackend *self, LoopCall *call, GError **error)
{
    (void)error;
    call->answer->response.plugin_capabilities =
        CSI_PLUGIN_CONTROLLER_SERVICE |
        (loop_can_grow_online(self->default_type) ? CSI_PLUGIN_EXPANSION_ONLINE
                                                  : CSI_PLUGIN_EXPANSION_OFFLINE);
    return TRUE;
}

static gboolean
probe(LoopBackend *self, LoopCall *call, GError **error)
{
    (void)self;
    if (!loop_device_permitted(NULL)) /* CSI-15 */
        return loop_refuse(error, CSI_FAILED_PRECONDITION, "loop devices are refused");
    call->answer->response.ready = TRUE;
    return TRUE;
}

static gboolean
controller_capabilities(LoopBackend *self, LoopCall *call, GError **error)
{
    (void)self, (void)error;
    call->answer->response.controller_capabilities = CONTROLLER_CAPABILITIES;
    return TRUE;
}

static gboolean
node_capabilities(LoopBackend *self, LoopCall *call, GError **error)
{
    (void)self, (void)error;
    call->answer->response.node_capabilities = NODE_CAPABILITIES;
    return TRUE;
}

static gboolean
node_info(LoopBackend *self, LoopCall *call, GError **error)
{
    (void)error;
    call->answer->response.node_id = loop_answer_keep(call->answer, call->request->served_by);
    call->answer->response.max_volumes_per_node = self->options.attach_limit;
    return TRUE;
}

/* ---- Calls ---- */

/* Beside CsiNeeds. */
typedef enum {
    BY_NAME = 1 << 8, /* the volume of this name; a record is made if there is none */
    CHANGES = 1 << 9, /* one at a time for a volume: of the controller, and on each node (CSI-46) */
    ON_NODE = 1 << 10,
} LoopBackendMethodFlags;

static const struct {
    LoopMethod run; /* NULL: UNIMPLEMENTED */
    unsigned flags;
} methods[CSI_N_METHODS] = {
  /* clang-format off */
    [CSI_GET_PLUGIN_INFO]               = {plugin_info,               0},
    [CSI_GET_PLUGIN_CAPABILITIES]       = {plugin_capabilities,       0},
    [CSI_PROBE]                         = {probe,                     0},
    [CSI_CREATE_VOLUME]                 = {loop_create_volume,        NEEDS_NAME | NEEDS_CAPABILITY | BY_NAME | CHANGES},
    [CSI_DELETE_VOLUME]                 = {loop_delete_volume,        NEEDS_VOLUME | CHANGES},
    [CSI_CONTROLLER_PUBLISH_VOLUME]     = {loop_controller_publish,   NEEDS_VOLUME | NEEDS_NODE | NEEDS_CAPABILITY | CHANGES},
    [CSI_CONTROLLER_UNPUBLISH_VOLUME]   = {loop_controller_unpublish, NEEDS_VOLUME | CHANGES},
    [CSI_VALIDATE_VOLUME_CAPABILITIES]  = {loop_validate,             NEEDS_VOLUME | NEEDS_CAPABILITY},
    [CSI_LIST_VOLUMES]                  = {loop_list_volumes,         0},
    [CSI_GET_CAPACITY]                  = {loop_get_capacity,         0},
    [CSI_CONTROLLER_GET_CAPABILITIES]   = {controller_capabilities,   0},
    [CSI_CREATE_SNAPSHOT]               = {loop_create_snapshot,      NEEDS_NAME | NEEDS_VOLUME | CHANGES},
    [CSI_DELETE_SNAPSHOT]               = {loop_delete_snapshot,      NEEDS_SNAPSHOT},
    [CSI_LIST_SNAPSHOTS]                = {loop_list_snapshots,       0},
    [CSI_GET_SNAPSHOT]                  = {loop_get_snapshot,         NEEDS_SNAPSHOT},
    [CSI_CONTROLLER_EXPAND_VOLUME]      = {loop_controller_expand,    NEEDS_VOLUME | NEEDS_RANGE | CHANGES},
    [CSI_CONTROLLER_GET_VOLUME]         = {loop_get_volume,           NEEDS_VOLUME},
    [CSI_NODE_STAGE_VOLUME]             = {loop_node_stage,           NEEDS_VOLUME | NEEDS_STAGING_PATH | NEEDS_CAPABILITY | CHANGES | ON_NODE},
    [CSI_NODE_UNSTAGE_VOLUME]           = {loop_node_unstage,         NEEDS_VOLUME | NEEDS_STAGING_PATH | CHANGES | ON_NODE},
    [CSI_NODE_PUBLISH_VOLUME]           = {loop_node_publish,         NEEDS_VOLUME | NEEDS_TARGET_PATH | NEEDS_CAPABILITY | CHANGES | ON_NODE},
    [CSI_NODE_UNPUBLISH_VOLUME]         = {loop_node_unpublish,       NEEDS_VOLUME | NEEDS_TARGET_PATH | CHANGES | ON_NODE},
    [CSI_NODE_GET_VOLUME_STATS]         = {loop_node_stats,           NEEDS_VOLUME | NEEDS_TARGET_PATH | ON_NODE},
    [CSI_NODE_EXPAND_VOLUME]            = {loop_node_expand,          NEEDS_VOLUME | NEEDS_TARGET_PATH | CHANGES | ON_NODE},
    [CSI_NODE_GET_CAPABILITIES]         = {node_capabilities,         0},
    [CSI_NODE_GET_INFO]                 = {node_info,                 ON_NODE},
  /* clang-format on */
};

static gboolean
knows_node(LoopBackend *self, const char *name)
{
    g_mutex_lock(&self->lock);
    gboolean known =
        name != NULL && g_ptr_array_find_with_equal_func(self->nodes, name, g_str_equal, NULL);
    g_mutex_unlock(&self->lock);
    return known;
}

static gboolean
check_request(LoopBackend *self, const CsiRequest *request, GError **error)
{
    unsigned flags = methods[request->method].flags;
    const char *missing = csi_request_missing(request, flags);

    if (methods[request->method].run == NULL) /* CSI-7 */
        return loop_refuse(error, CSI_UNIMPLEMENTED, "method %s not implemented",
                           csi_method_name(request->method));
    if ((flags & ON_NODE) != 0 && !knows_node(self, request->served_by))
        return loop_refuse(error, CSI_UNAVAILABLE, "connection error: no plugin on node %s",
                           request->served_by != NULL ? request->served_by : "");
    if (missing != NULL) /* CSI-46 */
        return loop_refuse(error, CSI_INVALID_ARGUMENT, "%s missing in request", missing);
    if ((flags & NEEDS_NAME) != 0 && strlen(request->name) > NAME_BYTES_MAX)
        return loop_refuse(error, CSI_INVALID_ARGUMENT, "name is longer than %d bytes",
                           NAME_BYTES_MAX);
    for (unsigned i = 0; i < request->n_capabilities; i++)
        if (request->capabilities[i].mode == CSI_MODE_UNKNOWN ||
            request->capabilities[i].mode >= CSI_N_MODES)
            return loop_refuse(error, CSI_INVALID_ARGUMENT, "access mode not supported");
    if (request->required_bytes < 0 || request->limit_bytes < 0)
        return loop_refuse(error, CSI_INVALID_ARGUMENT, "negative capacity");
    if ((flags & NEEDS_NODE) != 0 && !knows_node(self, request->node_id)) /* CSI-49 */
        return loop_refuse(error, CSI_NOT_FOUND, "node %s not found", request->node_id);
    return TRUE;
}

/* Finds the volume and locks it for this kind of call. Returns: FALSE with ABORTED (CSI-46) if
 * another call has it */
static gboolean
enter(LoopBackend *self, LoopCall *call, GError **error)
{
    const CsiRequest *request = call->request;
    unsigned flags = methods[request->method].flags;
    gboolean free = TRUE;

    g_mutex_lock(&self->lock);
    if ((flags & BY_NAME) != 0) {
        call->volume = loop_volume_find_name(self, request->name);
        if (call->volume == NULL)
            call->volume = loop_volume_add(self, request->name);
    } else if ((flags & NEEDS_VOLUME) != 0) {
        call->volume = loop_volume_find(self, request->volume_id);
        call->was_known = g_hash_table_contains(self->known, request->volume_id);
    }
    if (call->volume != NULL && (flags & (ON_NODE | NEEDS_NODE)) != 0)
        call->place = loop_volume_place(call->volume, (flags & ON_NODE) != 0 ? request->served_by
                                                                             : request->node_id);
    if (call->volume != NULL && (flags & CHANGES) != 0) {
        gboolean *busy = (flags & ON_NODE) != 0 ? &call->place->is_busy : &call->volume->is_busy;
        free = !*busy;
        *busy = TRUE;
    }
    if (call->volume != NULL && free)
        ref_count_add(&call->volume->refs);
    g_mutex_unlock(&self->lock);
    return free || loop_refuse(error, CSI_ABORTED, "an operation is pending for volume %s",
                               call->volume->id);
}

static void
leave(LoopBackend *self, LoopCall *call)
{
    unsigned flags = methods[call->request->method].flags;

    if (call->volume == NULL)
        return;
    g_mutex_lock(&self->lock);
    if ((flags & CHANGES) != 0) {
        if ((flags & ON_NODE) != 0)
            call->place->is_busy = FALSE;
        else
            call->volume->is_busy = FALSE;
    }
    if ((flags & BY_NAME) != 0 && !call->volume->is_there)
        loop_volume_drop(self, call->volume);
    loop_volume_unref(call->volume);
    g_mutex_unlock(&self->lock);
}

void
loop_backend_call(LoopBackend *self, const CsiRequest *request, LoopAnswer *answer)
{
    LoopCall call = {.request = request, .answer = answer};
    g_autoptr(GError) error = NULL;

    if (check_request(self, request, &error) && enter(self, &call, &error)) {
        if (call.volume != NULL)
            g_mutex_lock(&call.volume->work);
        methods[request->method].run(self, &call, &error);
        if (call.volume != NULL)
            g_mutex_unlock(&call.volume->work);
        leave(self, &call);
    }
    if (error != NULL) {
        answer->response.code = (CsiCode)error->code;
        answer->response.message = loop_answer_keep(answer, error->message);
    }
    if (answer->entries != NULL) {
        answer->response.entries = (const CsiEntry *)answer->entries->data;
        answer->response.n_entries = answer->entries->len;
    }
}
