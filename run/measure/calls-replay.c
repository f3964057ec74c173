/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays the journal of a real driver to a modelled one: the same calls at the same times since the
 * first. Ids and paths of the journal are translated into the model's own; values that are not in
 * the journal (sizes of older volumes, sources of snapshots) are assumed. Calls that cannot be made
 * are counted. */
#include "calls-replay.h"

#include <string.h>

#define BYTES_UNKNOWN (INT64_C(1) << 30) /* of a volume that is older than the journal */

typedef struct {
    Sim *sim;
    Strings *strings;
    CsiModelledDriver *driver;
    SimTime start;   /* of the journal's first call */
    GHashTable *ids; /* the id of a volume or snapshot in the journal -> its id here (interned) */
    GHashTable *staging; /* "VOLUME NODE" -> the path where it was staged last (interned) */
} Player;

typedef struct {
    Player *player;
    const CallRow *row;
} CallsReplayStep;

static gboolean
can_be_made(const CallRow *row)
{
    return row->ended_at >= 0 && row->code == CSI_OK;
}

unsigned
calls_replay_left_out(const CallLog *journal)
{
    unsigned n = 0;

    for (unsigned i = 0; i < call_log_n(journal); i++)
        n += !can_be_made(call_log_at(journal, i));
    return n;
}

static const char *
calls_replay_text_of(Player *self, const CallRow *row, const char *field)
{
    return strings_intern(self->strings, json_string_value(json_object_get(row->answer, field)));
}

static int64_t
calls_replay_number_of(const CallRow *row, const char *field)
{
    return json_integer_value(json_object_get(row->answer, field));
}

/* The name here of what the journal calls @id; it is made if nothing made it. */
static const char *
known_volume(Player *self, const char *id)
{
    const char *here = g_hash_table_lookup(self->ids, id);

    if (here != NULL || csi_is_empty(id))
        return here;
    const CsiModelledVolume volume = {.id = strings_intern(self->strings, id),
                                      .capacity_bytes = BYTES_UNKNOWN};
    csi_modelled_driver_add_volume(self->driver, &volume);
    g_hash_table_insert(self->ids, g_strdup(id), (void *)volume.id);
    return volume.id;
}

static const char *
known_snapshot(Player *self, const char *id)
{
    const char *here = g_hash_table_lookup(self->ids, id);

    if (here != NULL || csi_is_empty(id))
        return here;
    const CsiModelledSnapshot snapshot = {
        .id = strings_intern(self->strings, id), .size_bytes = BYTES_UNKNOWN, .is_ready = TRUE};
    csi_modelled_driver_add_snapshot(self->driver, &snapshot);
    g_hash_table_insert(self->ids, g_strdup(id), (void *)snapshot.id);
    return snapshot.id;
}

/* ---- The request, as far as its answer and its subject tell ---- */

static void
fill_creation(Player *self, const CallRow *row, CsiRequest *request)
{
    const char *source = calls_replay_text_of(self, row, "sourceId");

    request->name = strings_intern(self->strings, row->subject);
    request->required_bytes = calls_replay_number_of(row, "capacityBytes");
    request->source_kind = (CsiSourceKind)calls_replay_number_of(row, "sourceKind");
    if (request->source_kind == CSI_SOURCE_SNAPSHOT)
        request->source_id = known_snapshot(self, source);
    else if (request->source_kind == CSI_SOURCE_VOLUME)
        request->source_id = known_volume(self, source);
    const char *id = calls_replay_text_of(self, row, "volumeId");
    if (id != NULL)
        g_hash_table_insert(self->ids, g_strdup(id), (void *)request->name);
}

/* The journal does not say what was cut: each snapshot has a volume of its own here. */
static void
fill_snapshot(Player *self, const CallRow *row, CsiRequest *request)
{
    g_autofree char *source = g_strconcat("source of ", row->subject, NULL);
    const char *id = calls_replay_text_of(self, row, "snapshotId");

    request->name = strings_intern(self->strings, row->subject);
    request->volume_id = known_volume(self, source);
    if (id != NULL)
        g_hash_table_insert(self->ids, g_strdup(id), (void *)request->name);
}

static void
fill_node_call(Player *self, const CallRow *row, CsiRequest *request)
{
    g_autofree char *key = g_strconcat(row->subject, " ", row->node, NULL);
    const char *path = strings_intern(self->strings, row->path);

    request->served_by = strings_intern(self->strings, row->node);
    if (csi_is_empty(row->subject)) /* NodeGetInfo and the like */
        return;
    request->volume_id = known_volume(self, row->subject);
    request->required_bytes = calls_replay_number_of(row, "capacityBytes");
    if (row->method == CSI_NODE_STAGE_VOLUME)
        g_hash_table_insert(self->staging, g_strdup(key), (void *)path);
    request->staging_path =
        row->method == CSI_NODE_STAGE_VOLUME || row->method == CSI_NODE_UNSTAGE_VOLUME
            ? path
            : g_hash_table_lookup(self->staging, key);
    request->target_path = path;
}

static void
calls_replay_fill(Player *self, const CallRow *row, CsiRequest *request)
{
    switch ((int)row->method) {
    case CSI_CREATE_VOLUME:
        fill_creation(self, row, request);
        return;
    case CSI_CREATE_SNAPSHOT:
        fill_snapshot(self, row, request);
        return;
    case CSI_DELETE_SNAPSHOT:
    case CSI_GET_SNAPSHOT:
        request->snapshot_id = known_snapshot(self, row->subject);
        return;
    default:
        if (csi_method_service(row->method) == CSI_NODE) {
            fill_node_call(self, row, request);
            return;
        }
        request->volume_id = known_volume(self, row->subject);
        request->node_id =
            csi_is_empty(row->node) ? NULL : strings_intern(self->strings, row->node);
        request->required_bytes = calls_replay_number_of(row, "capacityBytes");
        return;
    }
}

static void
make_call(Sim *sim, void *data)
{
    g_autofree CallsReplayStep *step = data;
    const CsiCapability capability = {.mode = CSI_MULTI_NODE_MULTI_WRITER};
    CsiRequest request = {
        .method = step->row->method, .capabilities = &capability, .n_capabilities = 1};

    (void)sim;
    calls_replay_fill(step->player, step->row, &request);
    csi_driver_call(csi_modelled_driver_base(step->player->driver), &request, NULL, NULL);
}

static const SimEventType make_call_event = {
    .name = "replay/call", .fire = make_call, .free_data = g_free};

/* ---- The driver ---- */

static gboolean
open_driver(Player *self, const CallLog *journal, const CsiModelledOptions *given, GError **error)
{
    CsiModelledOptions options = csi_modelled_options_copy(self->strings, given);

    options.random_ids = FALSE;
    options.needs_secrets = FALSE;
    options.n_pools = 0;
    options.plugin_capabilities &= ~(unsigned)CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS;
    self->driver = csi_modelled_driver_new(self->sim, self->strings, &options, error);
    csi_modelled_options_clear(&options);
    for (unsigned i = 0; self->driver != NULL && i < call_log_n(journal); i++) {
        const char *node = call_log_at(journal, i)->node;
        if (!csi_is_empty(node) && g_hash_table_add(self->ids, g_strconcat("node ", node, NULL))) {
            const char *name = strings_intern(self->strings, node);
            csi_modelled_driver_add_node(self->driver, name, name, NULL);
        }
    }
    return self->driver != NULL;
}

static void
schedule(Player *self, const CallLog *journal)
{
    for (unsigned i = 0; i < call_log_n(journal); i++) {
        const CallRow *row = call_log_at(journal, i);
        if (!can_be_made(row))
            continue;
        CallsReplayStep *step = g_new(CallsReplayStep, 1);
        *step = (CallsReplayStep){self, row};
        sim_at(self->sim, row->started_at - self->start, &make_call_event, step, 0);
    }
}

static SimTime
first_start(const CallLog *journal)
{
    SimTime first = SIM_TIME_MAX;

    for (unsigned i = 0; i < call_log_n(journal); i++)
        first = MIN(first, call_log_at(journal, i)->started_at);
    return first;
}

CallLog *
calls_replay(const CallLog *journal,
             const CsiModelledOptions *options,
             uint64_t seed,
             unsigned replication,
             GError **error)
{
    const SimOptions sim = {.seed = seed, .replication = replication, .untraced = TRUE};
    Player self = {.sim = sim_new(&sim),
                   .strings = strings_new(),
                   .start = first_start(journal),
                   .ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                   .staging = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
    g_autoptr(CallLog) log = call_log_new();

    if (open_driver(&self, journal, options, error)) {
        call_log_watch(log, csi_modelled_driver_base(self.driver), NULL, NULL);
        schedule(&self, journal);
        while (sim_step(self.sim))
            continue;
        csi_driver_free(csi_modelled_driver_base(self.driver));
    } else {
        g_clear_pointer(&log, call_log_free);
    }
    sim_free(self.sim);
    strings_free(self.strings);
    g_hash_table_unref(self.ids);
    g_hash_table_unref(self.staging);
    return g_steal_pointer(&log);
}
