/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each pod has a state at each time. A workload's steps, the changes of states and of the number of
 * pods that it wants, are walked in order of time; between two steps every missing pod has one
 * cause, so the causes add up to the time that was missing. */
#include "availability.h"

#include <string.h>

#include "results.h"
#include "run/files/rows.h"
#include "sim/order.h"

/* ---- States ---- */

enum {
    STATE_NONE,                                       /* it does not count */
    STATE_READY,                                      /* ... */
    STATE_LIVE,                                       /* + cause: it is there, not Ready */
    STATE_GOING = STATE_LIVE + N_AVAILABILITY_CAUSES, /* + cause: it is being deleted */
    N_STATES = STATE_GOING + N_AVAILABILITY_CAUSES,
};

typedef struct {
    SimTime at;
    uint32_t number; /* steps of one instant stay in order */
    uint32_t workload;
    int16_t from, to; /* states of a pod */
    int32_t desired;  /* added to the desired pods; of a workload the number itself */
    gboolean is_total;
} AvailabilityStep;

const char *
availability_cause_name(AvailabilityCause cause)
{
    static const char *const names[] = {
#define CAUSE_NAME(member, text, meaning) [AVAILABILITY_##member] = text,
        AVAILABILITY_CAUSES(CAUSE_NAME)
#undef CAUSE_NAME
    };

    return names[cause];
}

/* ---- Looking back: nodes, drivers, volumes ---- */

typedef struct {
    const Run *run;
    const Readiness *log;
    GHashTable *nodes;     /* interned name -> GArray (owned) of NodeChange */
    GArray *driver_faults; /* of RunFault */
    GArray *steps;         /* of Step */
    SimTime end;
    gboolean goes_on; /* as for for_each_workload() */
} AvailabilityPast;

static void
past_init(AvailabilityPast *self, const Run *run, gboolean goes_on)
{
    const GArray *faults = run_faults(run);

    *self = (AvailabilityPast){
        .run = run, .log = run_readiness(run), .end = sim_now(run_sim(run)), .goes_on = goes_on};
    self->nodes =
        g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, (GDestroyNotify)g_array_unref);
    self->driver_faults = g_array_new(FALSE, FALSE, sizeof(RunFault));
    self->steps = g_array_new(FALSE, FALSE, sizeof(AvailabilityStep));
    for (unsigned i = 0; i < self->log->nodes->len; i++) {
        const NodeChange *change = &g_array_index(self->log->nodes, NodeChange, i);
        GArray *changes = g_hash_table_lookup(self->nodes, change->node);
        if (changes == NULL) {
            changes = g_array_new(FALSE, FALSE, sizeof(NodeChange));
            g_hash_table_insert(self->nodes, (void *)change->node, changes);
        }
        g_array_append_val(changes, *change);
    }
    for (unsigned i = 0; faults != NULL && i < faults->len; i++)
        if (g_array_index(faults, RunFault, i).action->driver != NULL)
            g_array_append_val(self->driver_faults, g_array_index(faults, RunFault, i));
}

static void
past_clear(AvailabilityPast *self)
{
    g_hash_table_unref(self->nodes);
    g_array_unref(self->driver_faults);
    g_array_unref(self->steps);
}

static gboolean
node_is_ready(const AvailabilityPast *self, const char *node, SimTime at)
{
    const GArray *changes = g_hash_table_lookup(self->nodes, node);
    gboolean is_ready = TRUE;

    for (unsigned i = 0; changes != NULL && i < changes->len; i++) {
        const NodeChange *change = &g_array_index(changes, NodeChange, i);
        if (change->at > at)
            break;
        is_ready = change->is_ready;
    }
    return is_ready;
}

static gboolean
driver_is_faulty(const AvailabilityPast *self, SimTime at)
{
    for (unsigned i = 0; i < self->driver_faults->len; i++) {
        const RunFault *fault = &g_array_index(self->driver_faults, RunFault, i);
        if (fault->since <= at && at < fault->until)
            return TRUE;
    }
    return FALSE;
}

/* Where a volume is for a pod on one node. */
typedef struct {
    gboolean is_attached, is_elsewhere, is_published;
    gboolean has_attach; /* somebody has asked for its attachment at some time */
} VolumePlace;

/* @milestones: of the volume, the latest first */
static VolumePlace
volume_place(const GArray *milestones, const char *node, SimTime at)
{
    VolumePlace place = {0};
    gboolean knows_attached = FALSE, knows_published = FALSE;
    const char *detached = NULL; /* the last other node that was seen to let it go */

    for (unsigned i = 0; i < milestones->len; i++) {
        const Milestone *milestone = &g_array_index(milestones, Milestone, i);
        gboolean is_here = milestone->node == node;
        if (milestone->kind == MILESTONE_VOLUME_ATTACH_REQUESTED)
            place.has_attach = TRUE;
        if (milestone->at > at)
            continue;
        switch ((unsigned)milestone->kind) {
        case MILESTONE_VOLUME_ATTACHED:
            if (!is_here && milestone->node != detached)
                place.is_elsewhere = TRUE;
            if (is_here && !knows_attached)
                place.is_attached = knows_attached = TRUE;
            break;
        case MILESTONE_VOLUME_DETACHED:
            if (is_here)
                knows_attached = TRUE;
            else
                detached = milestone->node;
            break;
        case MILESTONE_VOLUME_PUBLISHED:
            place.is_published |= is_here && !knows_published && milestone->code == CSI_OK;
            knows_published |= is_here;
            break;
        case MILESTONE_VOLUME_UNPUBLISHED:
            knows_published |= is_here;
            break;
        }
    }
    return place;
}

/* ---- The state of a pod ---- */

/* One pod, its volumes' milestones, and the steps of its life so far. */
typedef struct {
    const ReadinessChange *change; /* the one that holds now */
    GPtrArray *volumes;            /* of GArray (owned) of Milestone; NULL: not looked up yet */
    int16_t state;
    gboolean is_alone;  /* without a controller */
    gboolean is_ever;   /* Ready at some time */
    gboolean is_wanted; /* alone: from the first Ready, or, without one, from the creation */
    uint32_t workload;
} PodLife;

static void
look_up_volumes(const AvailabilityPast *self, PodLife *life)
{
    const Milestones *milestones = run_milestones(self->run);
    const PodRecord *record =
        milestones_find_pod(milestones, life->change->pod, life->change->incarnation);

    life->volumes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (unsigned i = 0; record != NULL && record->volumes != NULL && i < record->volumes->n_items;
         i++) {
        const char *name = record->volumes->items[i].claim_name;
        const ObjectKey *claim = name == NULL ? NULL
                                              : objects_find_key(run_objects(self->run), KIND_CLAIM,
                                                                 record->pod->namespace, name);
        const ObjectKey *volume = claim == NULL ? NULL : milestones_volume_of(milestones, claim);
        if (volume == NULL)
            continue;
        GArray *of_volume = g_array_new(FALSE, FALSE, sizeof(Milestone));
        milestones_of(milestones, volume, of_volume);
        g_ptr_array_add(life->volumes, of_volume);
    }
}

static AvailabilityCause
cause_of_volumes(const AvailabilityPast *self, const PodLife *life, SimTime at)
{
    gboolean is_attached = TRUE, is_published = TRUE;

    for (unsigned i = 0; i < life->volumes->len; i++) {
        VolumePlace place = volume_place(life->volumes->pdata[i], life->change->node, at);
        if (place.is_elsewhere && !place.is_attached)
            return AVAILABILITY_ELSEWHERE;
        is_attached &= place.is_attached || place.is_published || !place.has_attach;
        is_published &= place.is_published;
    }
    if (!is_published && driver_is_faulty(self, at))
        return AVAILABILITY_DRIVER_DOWN;
    return !is_attached    ? AVAILABILITY_NOT_ATTACHED
           : !is_published ? AVAILABILITY_NOT_MOUNTED
                           : AVAILABILITY_STARTING;
}

static int16_t
state_at(const AvailabilityPast *self, const PodLife *life, SimTime at)
{
    const ReadinessChange *change = life->change;
    gboolean is_lost = change->node != NULL && !node_is_ready(self, change->node, at);

    if ((change->seen & POD_SEEN_OVER) != 0)
        return STATE_NONE;
    if ((change->seen & POD_SEEN_DELETED) != 0)
        return STATE_GOING + (is_lost                                    ? AVAILABILITY_NODE_LOST
                              : (change->seen & POD_SEEN_DISRUPTED) != 0 ? AVAILABILITY_EVICTED
                                                                         : AVAILABILITY_STOPPING);
    if ((change->seen & POD_SEEN_READY) != 0)
        return STATE_READY;
    if (is_lost)
        return STATE_LIVE + AVAILABILITY_NODE_LOST;
    if (change->node == NULL)
        return STATE_LIVE + ((change->seen & POD_SEEN_REFUSED) != 0 ? AVAILABILITY_UNSCHEDULABLE
                                                                    : AVAILABILITY_SCHEDULING);
    return (int16_t)(STATE_LIVE + (int)cause_of_volumes(self, life, at));
}

static void
set_state(AvailabilityPast *self, PodLife *life, SimTime at, int16_t state)
{
    AvailabilityStep step = {.at = at, .number = self->steps->len, .workload = life->workload};

    if (life->is_alone && !life->is_wanted &&
        (life->is_ever ? state != STATE_READY : state == STATE_NONE || state >= STATE_GOING))
        return;
    if (life->is_alone && (state == STATE_NONE || state >= STATE_GOING)) {
        step.desired = life->state != STATE_NONE ? -1 : 0;
        state = STATE_NONE;
    }
    if (life->is_alone && !life->is_wanted)
        step.desired = 1;
    life->is_wanted = TRUE;
    if (state == life->state)
        return;
    step.from = life->state;
    step.to = state;
    g_array_append_val(self->steps, step);
    life->state = state;
}

static void
add_between(GArray *times, SimTime at, SimTime from, SimTime to)
{
    if (at > from && at < to)
        g_array_append_val(times, at);
}

/* The times between @from and @to at which the state of a pod without news of its own may change.
 */
static void
collect_times(
    const AvailabilityPast *self, const PodLife *life, SimTime from, SimTime to, GArray *times)
{
    const GArray *nodes =
        life->change->node == NULL ? NULL : g_hash_table_lookup(self->nodes, life->change->node);

    for (unsigned i = 0; nodes != NULL && i < nodes->len; i++)
        add_between(times, g_array_index(nodes, NodeChange, i).at, from, to);
    if (life->change->node == NULL || (life->change->seen & POD_SEEN_DELETED) != 0)
        return;
    for (unsigned i = 0; i < life->volumes->len; i++) {
        const GArray *milestones = life->volumes->pdata[i];
        for (unsigned k = 0; k < milestones->len; k++)
            add_between(times, g_array_index(milestones, Milestone, k).at, from, to);
    }
    for (unsigned i = 0; i < self->driver_faults->len; i++) {
        add_between(times, g_array_index(self->driver_faults, RunFault, i).since, from, to);
        add_between(times, g_array_index(self->driver_faults, RunFault, i).until, from, to);
    }
}

/* @change holds until @to. */
static void
live_on(AvailabilityPast *self, PodLife *life, const ReadinessChange *change, SimTime to)
{
    const unsigned fixed = POD_SEEN_OVER | POD_SEEN_READY;

    life->change = change;
    if (life->volumes == NULL && change->node != NULL)
        look_up_volumes(self, life);
    set_state(self, life, change->at, state_at(self, life, change->at));
    if ((change->seen & POD_SEEN_DELETED) == 0 && (change->seen & fixed) != 0)
        return;
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(SimTime));
    collect_times(self, life, change->at, to, times);
    g_array_sort(times, times_compare);
    for (unsigned i = 0; i < times->len; i++) {
        SimTime at = g_array_index(times, SimTime, i);
        set_state(self, life, at, state_at(self, life, at));
    }
}

/* ---- Steps ---- */

/* The changes of one pod follow each other: the next change of each. */
static void
availability_add_pods(AvailabilityPast *self)
{
    const SimLog *changes = self->log->changes;
    g_autofree uint32_t *next = g_new0(uint32_t, changes->len + 1);
    g_autofree gboolean *is_later = g_new0(gboolean, changes->len + 1);
    g_autoptr(GHashTable) last = g_hash_table_new(g_direct_hash, g_direct_equal);

    for (unsigned i = 0; i < changes->len; i++) {
        const ReadinessChange *change = &sim_log_index(changes, ReadinessChange, i);
        uint32_t before;
        if (change->pod == NULL)
            continue;
        before = GPOINTER_TO_UINT(g_hash_table_lookup(last, change->pod));
        if (before != 0 && sim_log_index(changes, ReadinessChange, before - 1).incarnation ==
                               change->incarnation) {
            next[before - 1] = i + 1;
            is_later[i] = TRUE;
        }
        g_hash_table_insert(last, (void *)change->pod, GUINT_TO_POINTER(i + 1));
    }
    for (unsigned i = 0; i < changes->len; i++) {
        const ReadinessChange *change = &sim_log_index(changes, ReadinessChange, i);
        if (change->pod == NULL || is_later[i])
            continue;
        uint32_t workload = readiness_resolve(self->log, change->workload);
        PodLife life = {.workload = workload};
        life.is_alone =
            g_array_index(self->log->workloads, ReadinessWorkload, workload).key == NULL;
        life.is_ever = self->goes_on;
        for (uint32_t k = i + 1; k != 0; k = next[k - 1])
            life.is_ever |=
                (sim_log_index(changes, ReadinessChange, k - 1).seen & POD_SEEN_READY) != 0;
        for (uint32_t k = i + 1; k != 0; k = next[k - 1]) {
            const ReadinessChange *now = &sim_log_index(changes, ReadinessChange, k - 1);
            SimTime to = next[k - 1] == 0
                             ? self->end
                             : sim_log_index(changes, ReadinessChange, next[k - 1] - 1).at;
            live_on(self, &life, now, to);
        }
        g_clear_pointer(&life.volumes, g_ptr_array_unref);
    }
}

static void
add_workloads(AvailabilityPast *self)
{
    for (unsigned i = 0; i < self->log->changes->len; i++) {
        const ReadinessChange *change = &sim_log_index(self->log->changes, ReadinessChange, i);
        AvailabilityStep step = {.at = change->at,
                                 .number = self->steps->len,
                                 .workload = readiness_resolve(self->log, change->workload),
                                 .desired = change->desired,
                                 .is_total = TRUE};
        if (change->pod == NULL)
            g_array_append_val(self->steps, step);
    }
}

static int
compare_steps(const void *a, const void *b)
{
    const AvailabilityStep *one = a, *other = b;

    return ORDER(one->workload, other->workload)
           ?: ORDER(one->at, other->at)
           ?: ORDER(one->number, other->number);
}

/* ---- The walk over the steps of one workload ---- */

typedef struct {
    const AvailabilityStep *steps;
    unsigned n, i;
    SimTime at, end;
    int32_t desired, states[N_STATES];
    gboolean is_alone; /* pods without a controller: each counts from its own time on */
} AvailabilityWalk;

/* Takes all steps of the next instant. Returns: FALSE: there are none */
static gboolean
walk_on(AvailabilityWalk *self)
{
    if (self->i == self->n)
        return FALSE;
    self->at = self->steps[self->i].at;
    for (; self->i < self->n && self->steps[self->i].at == self->at; self->i++) {
        const AvailabilityStep *step = &self->steps[self->i];
        self->desired = step->is_total ? step->desired : self->desired + step->desired;
        if (step->from != step->to) {
            self->states[step->from]--;
            self->states[step->to]++;
        }
    }
    return TRUE;
}

/* Until when the present numbers hold. */
static SimTime
walk_until(const AvailabilityWalk *self)
{
    return self->i == self->n ? self->end : self->steps[self->i].at;
}

static int32_t
missing_pods(const AvailabilityWalk *self)
{
    return MAX(self->desired - self->states[STATE_READY], 0);
}

/* Pods that are there explain what is missing before pods that are being deleted; the rest has not
 * been created. */
static void
charge(AvailabilityRow *row, const AvailabilityWalk *walk, SimTime length)
{
    int32_t missing = missing_pods(walk);

    for (int i = 0; i < 2 * N_AVAILABILITY_CAUSES; i++) {
        int32_t n = MIN(missing, walk->states[STATE_LIVE + i]);
        row->missing[i % N_AVAILABILITY_CAUSES] += (PodTime)n * (PodTime)length;
        missing -= n;
    }
    row->missing[AVAILABILITY_NOT_CREATED] += (PodTime)missing * (PodTime)length;
}

static AvailabilityWalk
walk_new(const AvailabilityPast *self, unsigned first, unsigned n, gboolean is_alone)
{
    return (AvailabilityWalk){.steps = &g_array_index(self->steps, AvailabilityStep, first),
                              .n = n,
                              .end = self->end,
                              .is_alone = is_alone};
}

/* Returns: when all pods were Ready for the first time; TIME_UNSET: never */
static SimTime
first_complete(AvailabilityWalk walk)
{
    while (walk_on(&walk))
        if (walk.desired > 0 && missing_pods(&walk) == 0)
            return walk.at;
    return TIME_UNSET;
}

static void
availability_measure(AvailabilityRow *row, AvailabilityWalk walk)
{
    const SimTime complete = first_complete(walk), begin = walk.is_alone ? 0 : complete;
    SimTime outage = 0;

    row->n_runs++;
    row->n_started += complete != TIME_UNSET;
    while (walk_on(&walk)) {
        SimTime length = walk_until(&walk) - walk.at;
        if (length == 0 || (begin != TIME_UNSET && walk.at < begin) || walk.desired == 0) {
            outage = walk.desired == 0 ? 0 : outage;
            continue;
        }
        row->measured += length;
        row->desired += (PodTime)walk.desired * (PodTime)length;
        if (missing_pods(&walk) == 0) {
            outage = 0;
            continue;
        }
        row->n_outages += outage == 0;
        outage += length;
        row->down += length;
        row->longest = MAX(row->longest, outage);
        charge(row, &walk, length);
    }
}

/* ---- Rows ---- */

static char *
workload_name(const ReadinessWorkload *workload)
{
    const char *kind = workload->key == NULL ? "Pod" : kind_class(workload->key->kind)->kind;
    const char *name = workload->key == NULL ? "*" : workload->key->name;

    return strcmp(workload->namespace, "default") == 0
               ? g_strdup_printf("%s/%s", kind, name)
               : g_strdup_printf("%s/%s/%s", kind, workload->namespace, name);
}

static void
row_clear(void *data)
{
    g_free(((AvailabilityRow *)data)->name);
}

Availability *
availability_new(void)
{
    Availability *self = g_new0(Availability, 1);

    self->rows = g_array_new(FALSE, TRUE, sizeof(AvailabilityRow));
    g_array_set_clear_func(self->rows, row_clear);
    return self;
}

void
availability_free(Availability *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->rows);
    g_free(self);
}

/* Returns: (nullable) (borrowed): the row of this name */
static const AvailabilityRow *
availability_find(const Availability *self, const char *name)
{
    for (unsigned i = 0; i < self->rows->len; i++)
        if (strcmp(g_array_index(self->rows, AvailabilityRow, i).name, name) == 0)
            return &g_array_index(self->rows, AvailabilityRow, i);
    return NULL;
}

/* Calls @visit for the steps of each workload that has some.
 * @goes_on: the run is not over: a pod alone counts from its first Ready, even if that is to come
 */
static void
for_each_workload(const Run *run,
                  gboolean goes_on,
                  void (*visit)(void *data, const char *name, AvailabilityWalk walk),
                  void *data)
{
    AvailabilityPast past;

    past_init(&past, run, goes_on);
    add_workloads(&past);
    availability_add_pods(&past);
    g_array_sort(past.steps, compare_steps);
    for (unsigned first = 0, end; first < past.steps->len; first = end) {
        uint32_t workload = g_array_index(past.steps, AvailabilityStep, first).workload;
        for (end = first; end < past.steps->len &&
                          g_array_index(past.steps, AvailabilityStep, end).workload == workload;)
            end++;
        const ReadinessWorkload *of =
            &g_array_index(past.log->workloads, ReadinessWorkload, workload);
        g_autofree char *name = workload_name(of);
        visit(data, name, walk_new(&past, first, end - first, of->key == NULL));
    }
    past_clear(&past);
}

typedef struct {
    OutageSeen see;
    void *data;
} OutageVisit;

static void
tell_outages(void *data, const char *name, AvailabilityWalk walk)
{
    const OutageVisit *visit = data;
    SimTime begin = walk.is_alone ? 0 : first_complete(walk), since = TIME_UNSET;

    while (begin != TIME_UNSET && walk_on(&walk)) {
        gboolean is_missing = walk.at >= begin && walk.desired > 0 && missing_pods(&walk) > 0;
        if (is_missing && since == TIME_UNSET)
            since = walk.at;
        if (!is_missing && since != TIME_UNSET && walk.at > since)
            visit->see(visit->data, name, since, walk.at);
        if (!is_missing)
            since = TIME_UNSET;
    }
    if (since != TIME_UNSET && walk.end > since)
        visit->see(visit->data, name, since, walk.end);
}

void
availability_outages(const Run *run, OutageSeen see, void *data)
{
    for_each_workload(run, TRUE, tell_outages, &(OutageVisit){see, data});
}

static void
add_row(void *data, const char *name, AvailabilityWalk walk)
{
    Availability *self = data;
    AvailabilityRow *row = (AvailabilityRow *)availability_find(self, name);

    if (row == NULL) {
        AvailabilityRow added = {.name = g_strdup(name)};
        g_array_append_val(self->rows, added);
        row = &g_array_index(self->rows, AvailabilityRow, self->rows->len - 1);
    }
    availability_measure(row, walk);
}

void
availability_add(Availability *self, const Run *run)
{
    for_each_workload(run, FALSE, add_row, self);
}

PodTime
availability_missing(const AvailabilityRow *row)
{
    PodTime sum = 0;

    for (unsigned i = 0; i < N_AVAILABILITY_CAUSES; i++)
        sum += row->missing[i];
    return sum;
}

static double
share(PodTime missing, PodTime desired)
{
    return desired == 0 ? 1 : (double)(desired - missing) / (double)desired;
}

double
availability_share(const AvailabilityRow *row)
{
    return share(availability_missing(row), row->desired);
}

double
availability_total_share(const Availability *self)
{
    PodTime missing = 0, desired = 0;

    for (unsigned i = 0; i < self->rows->len; i++) {
        missing += availability_missing(&g_array_index(self->rows, AvailabilityRow, i));
        desired += g_array_index(self->rows, AvailabilityRow, i).desired;
    }
    return share(missing, desired);
}

double
availability_seconds(PodTime time)
{
    return (double)time / (double)SIM_SECOND;
}

double
availability_total_missing_s(const Availability *self)
{
    PodTime missing = 0;

    for (unsigned i = 0; i < self->rows->len; i++)
        missing += availability_missing(&g_array_index(self->rows, AvailabilityRow, i));
    return availability_seconds(missing);
}

/* ---- Files ---- */

static void
cell_pod_time(GString *text, PodTime time)
{
    append_unsigned(text, (uint64_t)(time / (PodTime)SIM_SECOND));
    g_string_append_printf(text, ".%09u", (unsigned)(time % (PodTime)SIM_SECOND));
}

/* clang-format off */
#define column_pod_time column_span
#define WORKLOAD_COLUMNS(X) \
    X("workload",       text,     NULL,          "kind and name: `StatefulSet/web`; in another namespace `StatefulSet/shop/web`", row->name) \
    X("started",        yes_no,   NULL,          "1: all of its pods were Ready at some time", row->n_started) \
    X("desired",        pod_time, "pod seconds", "the time of the pods that it wants", row->desired) \
    X("not ready",      pod_time, "pod seconds", "the time of pods that were missing", availability_missing(row)) \
    X("outages",        count,    NULL,          "the number of times in which pods were missing", row->n_outages) \
    X("longest outage", span,     "seconds",     "the longest of these times", row->longest) \
    X("in outages",     span,     "seconds",     "all these times together", row->down) \
    X("measured",       span,     "seconds",     "how long the workload was measured", row->measured)
#define CAUSE_COLUMN(member, text, meaning)                                                        \
    {text, &column_pod_time, "pod seconds", "missing because " meaning},
const ResultTable availability_table = RESULT_TABLE("availability.csv", "kvolsim run: how long pods of each workload were missing", NULL, WORKLOAD_COLUMNS(COLUMN) AVAILABILITY_CAUSES(CAUSE_COLUMN));
/* clang-format on */

void
availability_csv(const Run *run, const Stages *stages, ResultFile *file)
{
    g_autoptr(Availability) self = availability_new();

    (void)stages;
    availability_add(self, run);
    if (self->rows->len == 0)
        return;
    results_append_header(file->text, run, "# ", "");
    row_header(file, &availability_table);
    for (unsigned i = 0; i < self->rows->len; i++) {
        const AvailabilityRow *row = &g_array_index(self->rows, AvailabilityRow, i);
        WORKLOAD_COLUMNS(CSV_CELL);
        for (unsigned k = 0; k < N_AVAILABILITY_CAUSES; k++) {
            row_item(file);
            cell_pod_time(file->text, row->missing[k]);
        }
        row_end(file);
    }
}

/* clang-format off */
#define READY_COLUMNS(X) \
    X("workload", text,  NULL,      "as in `availability.csv`", name) \
    X("from",     span,  "seconds", "when one of the numbers changed", from) \
    X("until",    span,  "seconds", "when the next one changed", at) \
    X("desired",  count, "pods",    "wanted in this time", desired) \
    X("ready",    count, "pods",    "Ready in this time", ready)
const ResultTable availability_over_time_table = RESULT_TABLE("availability-over-time.csv", "kvolsim run: how many pods each workload wanted, and how many were Ready", NULL, READY_COLUMNS(COLUMN));
/* clang-format on */

/* A row for each time in which neither number changes. */
static void
append_walk(void *data, const char *name, AvailabilityWalk walk)
{
    ResultFile *file = data;
    int32_t desired = 0, ready = 0;
    SimTime from = TIME_UNSET;

    for (gboolean goes_on = TRUE; goes_on;) {
        goes_on = walk_on(&walk);
        SimTime at = goes_on ? walk.at : walk.end;
        if (goes_on && walk.desired == desired && walk.states[STATE_READY] == ready)
            continue;
        if (from != TIME_UNSET && at > from && (desired > 0 || ready > 0)) {
            READY_COLUMNS(CSV_CELL);
            row_end(file);
        }
        from = at;
        desired = walk.desired;
        ready = walk.states[STATE_READY];
    }
}

void
availability_over_time_csv(const Run *run, const Stages *stages, ResultFile *file)
{
    (void)stages;
    if (run_readiness(run)->workloads->len == 0)
        return;
    results_append_header(file->text, run, "# ", "");
    row_header(file, &availability_over_time_table);
    for_each_workload(run, FALSE, append_walk, file);
}
