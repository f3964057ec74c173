/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The external-health-monitor: turns the condition of volumes, as the driver tells it, into Events
 * of their claims. A driver that lists conditions is asked for all volumes at once; another one is
 * asked volume by volume, from a queue into which a volume is put once (EHM-22). A rule table
 * decides about the Event: abnormal at every look, normal only after an abnormal one that is not
 * older than the Events' lifetime. */
#include "external-health-monitor.h"

#include "models/api/volume.h"
#include "models/plan/plan.h"
#include "models/timing/waits.h"
#include "sim/ticker.h"

#define EVENT_TTL SIM_HOUR /* of Events, kube-apiserver --event-ttl */

/* The last Event of an abnormal volume. */
typedef struct {
    ObjectUid claim;
    SimTime at;
} ExternalHealthMonitorTold;

typedef struct {
    Component base;
    const ExternalHealthMonitorOptions *options; /* borrowed, of the process */
    Sidecar *sidecar;
    Informer *volumes, *claims;
    GHashTable *told; /* ObjectKey of a claim -> Told (owned): its last abnormal Event (EHM-14) */

    SimTicker *lister; /* EHM-10; NULL: the driver cannot list */

    /* EHM-20: else a queue of volumes. */
    SimTicker *adder;
    WorkQueue *queue;
    GHashTable *known; /* ObjectKey of volumes that have been queued: never again (EHM-22) */
    unsigned n_idle;   /* workers that wait for a volume */
    SimEventId dispatch;
} ExternalHealthMonitor;

/* Changes of private state: PlanChange.what. */
typedef enum {
    CHANGE_TOLD,    /* object: the claim that has an abnormal Event */
    CHANGE_CHECKED, /* key: a worker is done with the volume; number: whether it is queued again */
} MonitorChange;

static gboolean
external_health_monitor_is_ours(const ExternalHealthMonitor *self, const Volume *volume)
{
    return volume->source != NULL && volume->source->driver == self->base.driver_name;
}

/* ---- A volume's condition becomes an Event of its claim ---- */

enum {
    ABNORMAL = 1 << 0,
    TOLD = 1 << 1, /* the claim has an Event of an abnormal volume */
    CONDITION_FACTS_END = 1 << 2,
};

enum {
    TELL_NOTHING,
    TELL_ABNORMAL,
    TELL_NORMAL,
};

static const Rule condition_table[] = {
    {"EHM-13", ABNORMAL, 0,               TELL_ABNORMAL},
    {"EHM-14", TOLD,     ABNORMAL,        TELL_NORMAL  },
    {"EHM-14", 0,        ABNORMAL | TOLD, TELL_NOTHING },
};
static const RuleTable condition_rules =
    RULE_TABLE("conditions", CONDITION_FACTS_END, condition_table);

static gboolean
was_told(const ExternalHealthMonitor *self, const Object *claim, SimTime now)
{
    const ExternalHealthMonitorTold *told = g_hash_table_lookup(self->told, claim->key);

    return told != NULL && object_uid_equal(told->claim, claim->uid) && now - told->at < EVENT_TTL;
}

static void
external_health_monitor_tell(const ExternalHealthMonitor *self,
                             Plan *plan,
                             const Volume *volume,
                             const CsiEntry *entry)
{
    const Object *claim = volume->claim_ref.claim == NULL
                              ? NULL
                              : informer_get(self->claims, volume->claim_ref.claim);

    if (claim == NULL)
        return; /* only logged */
    uint32_t facts =
        (entry->abnormal ? ABNORMAL : 0) | (was_told(self, claim, plan_now(plan)) ? TOLD : 0);
    switch (plan_judge(plan, &condition_rules, facts)) {
    case TELL_NOTHING:
        return;
    case TELL_ABNORMAL:
        plan_event(plan, claim, "Warning", "VolumeConditionAbnormal", "%s",
                   entry->condition_message == NULL ? "" : entry->condition_message);
        plan_change(plan, &(PlanChange){.what = CHANGE_TOLD, .object = claim});
        return;
    case TELL_NORMAL:
        plan_event(plan, claim, "Normal", "VolumeConditionNormal",
                   "The Volume returns to the healthy state");
        return;
    }
    g_assert_not_reached();
}

/* ---- All volumes, by ListVolumes ---- */

/* CGO-8: the lister's store is a map. Returns: (owned): the volumes of the driver */
static GPtrArray *
list_ours(const ExternalHealthMonitor *self, SimTime now)
{
    SimStream stream = sim_stream(self->base.sim, "external-health-monitor/volumes");
    GPtrArray *volumes = g_ptr_array_new();
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, self->volumes);
    while ((object = informer_iter_next(&iter)) != NULL)
        if (external_health_monitor_is_ours(self, VOLUME_CONST(object)))
            g_ptr_array_add(volumes, (void *)object);
    sim_shuffle(volumes->pdata, volumes->len, object_place, stream, (uint64_t)now);
    return volumes;
}

static void
tell_all(const ExternalHealthMonitor *self, Plan *plan)
{
    g_autoptr(GHashTable) entries = g_hash_table_new(NULL, NULL); /* interned id -> CsiEntry */
    g_autoptr(GPtrArray) volumes = list_ours(self, plan_now(plan));

    for (int page = 0; page <= plan_last_step(plan); page++) {
        const CsiResponse *response = plan_response(plan, page);
        for (unsigned i = 0; i < response->n_entries; i++)
            g_hash_table_replace(entries, (void *)response->entries[i].volume_id,
                                 (void *)&response->entries[i]);
    }
    for (unsigned i = 0; i < volumes->len; i++) {
        const Volume *volume = volumes->pdata[i];
        const CsiEntry *entry = g_hash_table_lookup(entries, volume->source->handle);
        if (volume->phase == VOLUME_BOUND && entry != NULL)
            external_health_monitor_tell(self, plan, volume, entry);
    }
}

static void decide_page(const void *data, Plan *plan);

static void
list_volumes(const ExternalHealthMonitor *self, Plan *plan, const char *token)
{
    plan_because(plan, "EHM-10");
    plan_call(plan, self->base.driver,
              &(CsiRequest){.method = CSI_LIST_VOLUMES,
                            .deadline = plan_started_at(plan) + self->options->common.timeout,
                            .starting_token = token},
              PLAN_DECIDE);
    plan_then(plan, decide_page);
}

static void
decide_page(const void *data, Plan *plan)
{
    const ExternalHealthMonitor *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "EHM-11");
    if (response->code != CSI_OK)
        plan_fail(plan, "failed to list volumes: %s", plan_last_message(plan));
    else if (response->next_token != NULL)
        list_volumes(self, plan, response->next_token);
    else
        tell_all(self, plan);
}

static void
decide_list(const void *data, Plan *plan)
{
    list_volumes(data, plan, NULL);
}

static void
list_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    ExternalHealthMonitor *self = data;

    (void)plan, (void)end, (void)message;
    sim_ticker_end_pass(self->lister, TRUE);
}

static gboolean
list_pass(void *data)
{
    ExternalHealthMonitor *self = data;

    sim_ticker_begin_long_pass(self->lister);
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_list,
        .key = objects_key(self->base.objects, KIND_CSI_DRIVER, NULL, self->base.driver_name),
        .done = list_over,
    });
    return TRUE;
}

/* ---- One volume after the other, by ControllerGetVolume ---- */

enum {
    THERE = 1 << 0,
    GOING = 1 << 1, /* it has a deletionTimestamp */
    BOUND = 1 << 2,
    VOLUME_FACTS_END = 1 << 3,
};

enum {
    FORGET,
    LEAVE, /* and never queue it again */
    CHECK,
};

static const Rule volume_table[] = {
    {"EHM-21.1", 0,             THERE,         FORGET},
    {"EHM-21.2", THERE | GOING, 0,             LEAVE },
    {"EHM-21.3", THERE,         GOING | BOUND, LEAVE },
    {"EHM-21.4", THERE | BOUND, GOING,         CHECK },
};
static const RuleTable volume_rules = RULE_TABLE("volumes", VOLUME_FACTS_END, volume_table);

/* The worker rests after each volume; the volume waits for the next one. */
static void
end_check(const ExternalHealthMonitor *self, Plan *plan, gboolean again)
{
    plan_change(plan,
                &(PlanChange){.what = CHANGE_CHECKED, .key = plan_key(plan), .number = again});
    /* A wait of 0 would never let time pass. */
    plan_wait(plan, MAX(self->options->monitor_interval, SIM_MS), WAIT_POLL);
}

static void
decide_checked(const void *data, Plan *plan)
{
    const ExternalHealthMonitor *self = data;
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));
    const Volume *const *volume = plan_notes(plan);

    plan_because(plan, "EHM-23");
    if (response->code == CSI_OK && response->n_entries > 0)
        external_health_monitor_tell(self, plan, *volume, response->entries);
    end_check(self, plan, TRUE);
}

static void
decide_check(const void *data, Plan *plan)
{
    const ExternalHealthMonitor *self = data;
    const Object *object = informer_get(self->volumes, plan_key(plan));
    uint32_t facts = 0;

    if (object != NULL)
        facts = THERE | (object_is_deleted(object) ? GOING : 0) |
                (VOLUME_CONST(object)->phase == VOLUME_BOUND ? BOUND : 0);
    switch (plan_judge(plan, &volume_rules, facts)) {
    case FORGET:
        plan_forget(plan, self->known, plan_key(plan));
        end_check(self, plan, FALSE);
        return;
    case LEAVE:
        end_check(self, plan, FALSE);
        return;
    case CHECK:
        *plan_new_notes(plan, const Volume *, NULL) = VOLUME_CONST(plan_keep(plan, object));
        plan_call(plan, self->base.driver,
                  &(CsiRequest){.method = CSI_CONTROLLER_GET_VOLUME,
                                .volume_id = VOLUME_CONST(object)->source->handle,
                                .timeout_ns = self->options->common.timeout},
                  PLAN_DECIDE);
        plan_then(plan, decide_checked);
        return;
    }
    g_assert_not_reached();
}

static void queue_ready(void *data);

static void
check_over(void *data, Plan *plan, PlanEnd end, const char *message)
{
    ExternalHealthMonitor *self = data;

    (void)plan, (void)end, (void)message;
    self->n_idle++;
    queue_ready(self);
}

static void
hand_out(Sim *sim, void *data)
{
    ExternalHealthMonitor *self = data;
    SimCauseId added_by;
    ObjectKey *key;

    (void)sim;
    self->dispatch = 0;
    while (self->n_idle > 0 && (key = work_queue_get(self->queue, &added_by)) != NULL) {
        self->n_idle--;
        plan_start(&(PlanStart){
            .component = &self->base, .decide = decide_check, .key = key, .done = check_over});
    }
}

static const SimEventType hand_out_event = {
    .name = "external-health-monitor/hand out",
    .fire = hand_out,
};

/* Workers of models/plan/ rest with their key in hand; these have put it back, and the next worker
 * takes it. */
static void
queue_ready(void *data)
{
    ExternalHealthMonitor *self = data;

    if (self->dispatch == 0 && self->n_idle > 0)
        self->dispatch = sim_after(self->base.sim, 0, &hand_out_event, self, WAIT_NONE);
}

static void
queue_volume(ExternalHealthMonitor *self, const Object *volume)
{
    g_hash_table_add(self->known, (void *)volume->key);
    work_queue_add(self->queue, (ObjectKey *)volume->key);
}

/* EHM-22: adds volumes that are neither queued nor dropped. */
static gboolean
add_pass(void *data)
{
    ExternalHealthMonitor *self = data;
    g_autoptr(GPtrArray) volumes = list_ours(self, sim_now(self->base.sim));

    for (unsigned i = 0; i < volumes->len; i++) {
        const Object *volume = volumes->pdata[i];
        if (!g_hash_table_contains(self->known, volume->key))
            queue_volume(self, volume);
    }
    return TRUE;
}

/* EHM-22: a new volume is bound only if it was there before the monitor. */
static void
external_health_monitor_volume_changed(void *data, const Object *before, const Object *after)
{
    ExternalHealthMonitor *self = data;

    if (before == NULL && external_health_monitor_is_ours(self, VOLUME_CONST(after)) &&
        VOLUME_CONST(after)->phase == VOLUME_BOUND)
        queue_volume(self, after);
}

/* ---- Start and end ---- */

static void
external_health_monitor_apply_change(void *data, const PlanChange *change)
{
    ExternalHealthMonitor *self = data;
    ExternalHealthMonitorTold *told;

    switch ((MonitorChange)change->what) {
    case CHANGE_TOLD:
        told = g_new(ExternalHealthMonitorTold, 1);
        *told = (ExternalHealthMonitorTold){change->object->uid, sim_now(self->base.sim)};
        g_hash_table_replace(self->told, (void *)change->object->key, told);
        return;
    case CHANGE_CHECKED:
        if (change->number)
            work_queue_add(self->queue, (ObjectKey *)change->key);
        work_queue_done(self->queue, (ObjectKey *)change->key);
        return;
    }
    g_assert_not_reached();
}

static gboolean
lists(const void *data)
{
    return sidecar_offers(((const ExternalHealthMonitor *)data)->sidecar, CSI_USE_LIST_CONDITIONS);
}

static gboolean
asks(const void *data)
{
    return !lists(data) &&
           sidecar_offers(((const ExternalHealthMonitor *)data)->sidecar, CSI_USE_GET_VOLUME);
}

/* Else the real process ends and starts again and again (EHM-2). */
static gboolean
works(const void *data)
{
    return lists(data) || asks(data);
}

static void
external_health_monitor_init(void *data)
{
    ExternalHealthMonitor *self = data;

    self->sidecar = sidecar_new(&(SidecarOptions){
        .component = &self->base,
        .n_sync_polls = 1,
        .ready = component_start,
    });
}

static void
external_health_monitor_filled(void *data)
{
    ExternalHealthMonitor *self = data;

    if (!asks(self))
        return;
    self->n_idle = (unsigned)self->options->common.n_workers;
    self->queue = work_queue_new(&(WorkQueueOptions){
        .sim = self->base.sim,
        .name = "csi-monitor-pv-queue",
        .job = process_job(self->base.process),
        .ready = queue_ready,
        .self = self,
    });
}

static void
external_health_monitor_clear(void *data)
{
    ExternalHealthMonitor *self = data;

    sim_cancel(self->base.sim, self->dispatch);
}

#define AT(member) offsetof(ExternalHealthMonitorOptions, member)

#define SELF ExternalHealthMonitor
static const ComponentPart parts[] = {
    HAS_OPTIONS(options),
    HAS_STATE(sidecar, NULL, sidecar_free),
    HAS_STATE(queue, NULL, work_queue_free),
    HAS_TABLE(told, g_free),
    HAS_TABLE(known, NULL),
    PARTS_IF(works),
    HAS_INFORMER(volumes, KIND_VOLUME),
    HAS_INFORMER(claims, KIND_CLAIM),
    PARTS_IF(lists),
    HAS_TICKER(lister,
               "external-health-monitor/list",
               list_pass,
               .period_flag = AT(list_volumes_interval),
               .is_awake = TRUE),
    PARTS_IF(asks),
    HAS_INFORMER(volumes, KIND_VOLUME, .changed = external_health_monitor_volume_changed),
    HAS_TICKER(adder,
               "external-health-monitor/add volumes",
               add_pass,
               .period_flag = AT(volume_list_add_interval),
               .is_awake = TRUE),
};

G_STATIC_ASSERT(offsetof(ExternalHealthMonitorOptions, common) == 0); /* SIDECAR_FLAG */
static const ProcessFlag flags[] = {
    SIDECAR_CLIENT_FLAGS,
    SIDECAR_FLAG("worker-threads",
                 FLAG_INT,
                 n_workers,
                 "10",
                 "Volumes asked for at once by ControllerGetVolume (EHM-20)"),
    SIDECAR_FLAG("timeout", FLAG_DURATION, timeout, "15s", "Deadline of a check (EHM-3)"),
    {"monitor-interval",         FLAG_DURATION, AT(monitor_interval),         "1m",
                                                                               "Rest of a worker after each ControllerGetVolume (EHM-20)"                         },
    {"list-volumes-interval",    FLAG_DURATION, AT(list_volumes_interval),    "5m",
                                                                               "Time between two passes by ListVolumes (EHM-10)"                                  },
    {"volume-list-add-interval", FLAG_DURATION, AT(volume_list_add_interval), "5m",
                                                                               "Time between two searches for volumes to queue (EHM-22)"                          },
    SIDECAR_ELECTION_FLAGS(ExternalHealthMonitorOptions),
    {NULL,                       FLAG_BOOL,     0,                            NULL, NULL},
};

static const ProcessElection election = {
    .offset = offsetof(ExternalHealthMonitorOptions, election),
    .lock = "external-health-monitor-leader-", /* EHM-4 */
    .has_host_name = TRUE,
};

const ProcessClass external_health_monitor_process = {
    SIDECAR_PROCESS(
        "external-health-monitor-controller", ExternalHealthMonitorOptions, flags, election),
    .is_optional = TRUE,                        /* EHM-1 */
    .startup = offsetof(Timing, sidecar_start), /* as the attacher's, TIM-91 */
};

const ModelClass external_health_monitor_class = {
    SIDECAR_MODEL("external-health-monitor-controller", external_health_monitor_process),
    .event_source = "csi-pv-monitor-controller", /* EHM-5 */
    .event_style = EVENTS_CORE,
    .before_driver = '-',
    .rule_tables = RULE_TABLES(&condition_rules, &volume_rules),
    PARTS(parts),
    .init = external_health_monitor_init,
    .filled = external_health_monitor_filled,
    .clear = external_health_monitor_clear,
    .apply_change = external_health_monitor_apply_change,
};
