/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of objects and lengths of stages, from the log of milestones. A walk over all objects finds
 * the first milestone of each kind of an incarnation; a pod's volume stages end with its last
 * volume. A milestone from before the run has no time. A Ready pod has all its volumes, so a
 * missing milestone means that its driver has no such step. Samples are made in the first walk;
 * times only when a caller needs them, as they are large. */
#include "attribution-sums.h"

static SimTime
between(SimTime from, SimTime to)
{
    return from == TIME_UNSET || to == TIME_UNSET ? TIME_UNSET : to - from;
}

/* TIME_UNSET: not seen */
typedef struct {
    SimTime from, to;
} Interval;

static SimTime
volumes_end(const PodTimes *times)
{
    return times->published != TIME_UNSET ? times->published : times->scheduled;
}

static Interval
pod_interval(const PodTimes *times, Stage stage)
{
    switch (stage) {
    case STAGE_SCHEDULE:
        return (Interval){times->created, times->scheduled};
    case STAGE_ATTACH:
        return (Interval){times->scheduled, times->attached};
    case STAGE_STAGE:
        return (Interval){times->attached, times->staged};
    case STAGE_PUBLISH:
        return (Interval){times->staged, times->published};
    case STAGE_PULL:
        return (Interval){volumes_end(times), times->pulled};
    case STAGE_START:
        return (Interval){times->pulled != TIME_UNSET ? times->pulled : volumes_end(times),
                          times->ready};
    case STAGE_POD_START:
        return (Interval){times->created, times->ready};
    case STAGE_STOP:
        return (Interval){times->deleted, times->gone};
    case STAGE_PROVISION:
    case STAGE_BIND:
    case STAGE_RESTORE:
    case STAGE_SNAPSHOT:
    case STAGE_DETACH:
    case STAGE_DELETE:
    case N_STAGES:
        break;
    }
    return (Interval){TIME_UNSET, TIME_UNSET};
}

gboolean
pod_times_interval(const PodTimes *times, Stage stage, SimTime *from, SimTime *to)
{
    Interval interval = pod_interval(times, stage);

    *from = interval.from;
    *to = interval.to;
    return between(interval.from, interval.to) != TIME_UNSET;
}

SimTime
pod_times_stage(const PodTimes *times, Stage stage)
{
    Interval interval = pod_interval(times, stage);

    return between(interval.from, interval.to);
}

/* A walk over all objects. */
typedef struct {
    const Run *run;
    SimSample *samples;        /* gets values, by stage; NULL: not wanted */
    GArray *const *unfinished; /* gets objects that never got there, by stage; NULL: not wanted */
    const Stages *times;       /* gets times; NULL: not wanted */
    GArray *slowest;           /* gets the slowest pods; NULL: not wanted */
    StageRecordTaker take;     /* gets records; NULL: not wanted */
    void *data;
    /* The last object, and its milestones, the latest first. They are scattered over the log, and
     * looked up several times. */
    const ObjectKey *object;
    GArray *milestones; /* (owned) (element-type Milestone) */
} StagesWalk;

/* Loads the milestones of @object. */
static void
stages_look_at(StagesWalk *walk, const ObjectKey *object)
{
    if (object == walk->object)
        return;
    milestones_of(run_milestones(walk->run), object, walk->milestones);
    walk->object = object;
}

/* Returns: when the deletion of the object was asked for; SIM_TIME_MAX: never */
static SimTime
deletion_of(StagesWalk *walk, const StageRecord *value)
{
    stages_look_at(walk, value->object);
    for (unsigned i = 0; i < walk->milestones->len; i++) {
        const Milestone *milestone = &g_array_index(walk->milestones, Milestone, i);
        if (milestone->incarnation == value->incarnation &&
            (milestone->kind == MILESTONE_POD_DELETED ||
             milestone->kind == MILESTONE_CLAIM_DELETED ||
             milestone->kind == MILESTONE_SNAPSHOT_DELETED))
            return milestone->at;
    }
    return SIM_TIME_MAX;
}

/* Only stages that every object of its kind goes through: a pod without volumes has no attach. */
static void
add_unfinished(StagesWalk *walk, const StageRecord *value)
{
    const unsigned whole = 1u << STAGE_PROVISION | 1u << STAGE_BIND | 1u << STAGE_RESTORE |
                           1u << STAGE_SNAPSHOT | 1u << STAGE_SCHEDULE | 1u << STAGE_POD_START |
                           1u << STAGE_STOP | 1u << STAGE_DELETE;
    Unfinished unfinished = {value->object, value->incarnation, value->from,
                             sim_now(run_sim(walk->run))};

    if (walk->unfinished == NULL || value->from == TIME_UNSET || value->to != TIME_UNSET ||
        (whole >> value->stage & 1) == 0)
        return;
    if (value->stage != STAGE_STOP && value->stage != STAGE_DELETE)
        unfinished.until = MIN(unfinished.until, deletion_of(walk, value));
    g_array_append_val(walk->unfinished[value->stage], unfinished);
}

/* Equal ones stay in their order. */
static void
add_slowest(GArray *slowest, const StageRecord *value)
{
    unsigned i = slowest->len;

    if (value->stage != STAGE_POD_START)
        return;
    for (; i > 0; i--) {
        const StageRecord *other = &g_array_index(slowest, StageRecord, i - 1);
        if (other->to - other->from >= value->to - value->from)
            break;
    }
    if (i == STAGES_SLOWEST)
        return;
    g_array_insert_vals(slowest, i, value, 1);
    g_array_set_size(slowest, MIN(slowest->len, STAGES_SLOWEST));
}

/* Adds a stage, if both of its ends were seen. */
static void
add_record(StagesWalk *walk, const StageRecord *value)
{
    SimTime length = between(value->from, value->to);

    if (length == TIME_UNSET) {
        add_unfinished(walk, value);
        return;
    }
    if (walk->samples != NULL)
        sim_sample_add(&walk->samples[value->stage], length);
    if (walk->slowest != NULL)
        add_slowest(walk->slowest, value);
    if (walk->take != NULL)
        walk->take(walk->data, value);
}

/* A milestone that never came: it has no object. */
static const Milestone never = {.at = TIME_UNSET};

/* Whether the object passed the milestone before the run, so that its time is unknown. */
static gboolean
is_past(const Milestone *milestone)
{
    return milestone->at == TIME_UNSET && milestone->object != NULL;
}

/* The first milestone of each kind of an object's incarnation; never: .at is TIME_UNSET. */
typedef struct {
    const ObjectKey *object;
    unsigned incarnation;
    Milestone of[N_MILESTONES]; /* set for the kinds of the object alone */
} Firsts;

/* @first, @last: the kinds to find */
static void
find_firsts(StagesWalk *walk,
            const ObjectKey *object,
            unsigned incarnation,
            MilestoneKind first,
            MilestoneKind last,
            Firsts *firsts)
{
    stages_look_at(walk, object);
    firsts->object = object;
    firsts->incarnation = incarnation;
    for (unsigned kind = first; kind <= (unsigned)last; kind++)
        firsts->of[kind] = never;
    for (unsigned i = 0; i < walk->milestones->len; i++) {
        const Milestone *milestone = &g_array_index(walk->milestones, Milestone, i);
        if (milestone->incarnation == incarnation && milestone->code == CSI_OK)
            firsts->of[milestone->kind] = *milestone;
    }
}

/* Adds a stage of the object that lasts from @from to a milestone. */
static void
add_stage(StagesWalk *walk, const Firsts *firsts, Stage stage, SimTime from, MilestoneKind to)
{
    add_record(walk, &(StageRecord){.stage = stage,
                                    .object = firsts->object,
                                    .incarnation = firsts->incarnation,
                                    .from = from,
                                    .to = firsts->of[to].at,
                                    .cause = firsts->of[to].cause,
                                    .scheduled = TIME_UNSET});
}

/* Returns: the last milestone of @kind of a volume on @node, not after @limit; or never */
static Milestone
last_on_node(
    StagesWalk *walk, const ObjectKey *volume, const char *node, MilestoneKind kind, SimTime limit)
{
    stages_look_at(walk, volume);
    for (unsigned i = 0; i < walk->milestones->len; i++) {
        const Milestone *milestone = &g_array_index(walk->milestones, Milestone, i);
        if (milestone->kind == kind && milestone->node == node && milestone->code == CSI_OK &&
            milestone->at <= limit)
            return *milestone;
    }
    return never;
}

/* The pod's @i-th volume: first volumes of claims, then inline volumes. NULL: not bound yet */
static const ObjectKey *
volume_of_pod(const Run *run, const PodRecord *record, unsigned i)
{
    const PodVolumes *volumes = record->volumes;

    if (i >= volumes->n_items)
        return record->inline_volumes[i - volumes->n_items];
    const ObjectKey *claim = objects_find_key(run_objects(run), KIND_CLAIM, record->pod->namespace,
                                              volumes->items[i].claim_name);
    return claim == NULL ? NULL : milestones_volume_of(run_milestones(run), claim);
}

/* Returns: when the last volume of a pod reached a point of the pod's start, but not before the
 * point before (TIME_UNSET: before the run); TIME_UNSET if one never did, or all did so before the
 * run. @optional: skip volumes whose driver has no such step.
 * @cause: (out): of the last volume */
static SimTime
volumes_reached(StagesWalk *walk,
                const PodRecord *record,
                const PodTimes *times,
                MilestoneKind kind,
                SimTime before,
                gboolean optional,
                SimCauseId *cause)
{
    const Run *run = walk->run;
    SimTime limit = times->ready != TIME_UNSET ? times->ready : SIM_TIME_MAX;
    SimTime reached = before;

    for (unsigned i = 0; i < record->volumes->n_items + record->volumes->n_inline; i++) {
        const ObjectKey *target = volume_of_pod(run, record, i);
        const Milestone milestone =
            target == NULL ? never : last_on_node(walk, target, times->node, kind, limit);
        if (milestone.at == TIME_UNSET && !optional && !is_past(&milestone))
            return TIME_UNSET;
        if (milestone.at != TIME_UNSET && milestone.at > reached) {
            reached = milestone.at;
            *cause = milestone.cause;
        }
    }
    return reached;
}

/* Finds the points that a pod's volumes passed. A Ready pod has all volumes, so a missing milestone
 * means that the driver has no such step. */
static void
find_volume_times(StagesWalk *walk, const PodRecord *record, PodTimes *times)
{
    gboolean is_ready = times->ready != TIME_UNSET, is_old = times->scheduled == TIME_UNSET;

    times->attached = volumes_reached(walk, record, times, MILESTONE_VOLUME_ATTACHED,
                                      times->scheduled, is_ready, &times->causes[STAGE_ATTACH]);
    if (times->attached != TIME_UNSET || is_old)
        times->staged = volumes_reached(walk, record, times, MILESTONE_VOLUME_STAGED,
                                        times->attached, is_ready, &times->causes[STAGE_STAGE]);
    if (times->staged != TIME_UNSET || is_old)
        times->published = volumes_reached(walk, record, times, MILESTONE_VOLUME_PUBLISHED,
                                           times->staged, is_ready, &times->causes[STAGE_PUBLISH]);
}

static void
record_pod_stage(StagesWalk *walk, const PodTimes *times, Stage stage)
{
    Interval interval = pod_interval(times, stage);
    StageRecord value = {
        .stage = stage,
        .object = times->pod,
        .incarnation = times->incarnation,
        .from = interval.from,
        .to = interval.to,
        .cause = times->causes[stage],
        .scheduled = stage == STAGE_POD_START ? times->scheduled : TIME_UNSET,
        .scheduled_by = times->causes[STAGE_SCHEDULE],
    };

    add_record(walk, &value);
}

static void
stages_add_pod(StagesWalk *walk, const PodRecord *record)
{
    Firsts firsts;

    find_firsts(walk, record->pod, record->incarnation, MILESTONE_POD_CREATED, MILESTONE_POD_GONE,
                &firsts);
    const Milestone *scheduled = &firsts.of[MILESTONE_POD_SCHEDULED];
    const Milestone *ready = &firsts.of[MILESTONE_POD_READY];
    const Milestone *gone = &firsts.of[MILESTONE_POD_GONE];
    PodTimes times = {.pod = record->pod,
                      .incarnation = record->incarnation,
                      .node = scheduled->node,
                      .created = firsts.of[MILESTONE_POD_CREATED].at,
                      .scheduled = scheduled->at,
                      .attached = TIME_UNSET,
                      .staged = TIME_UNSET,
                      .published = TIME_UNSET,
                      .pulled = firsts.of[MILESTONE_POD_PULLED].at,
                      .ready = ready->at,
                      .deleted = firsts.of[MILESTONE_POD_DELETED].at,
                      .gone = gone->at};

    times.causes[STAGE_SCHEDULE] = scheduled->cause;
    times.causes[STAGE_PULL] = firsts.of[MILESTONE_POD_PULLED].cause;
    times.causes[STAGE_START] = times.causes[STAGE_POD_START] = ready->cause;
    times.causes[STAGE_STOP] = gone->cause;
    if (scheduled->object != NULL && !is_past(ready) && record->volumes != NULL)
        find_volume_times(walk, record, &times);
    if (walk->times != NULL)
        g_array_append_val(walk->times->pods, times);
    static const Stage stages[] = {STAGE_SCHEDULE, STAGE_ATTACH, STAGE_STAGE,     STAGE_PUBLISH,
                                   STAGE_PULL,     STAGE_START,  STAGE_POD_START, STAGE_STOP};
    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++)
        record_pod_stage(walk, &times, stages[i]);
}

static void
stages_add_claim(StagesWalk *walk, const ObjectKey *claim, unsigned incarnation)
{
    const Milestones *log = run_milestones(walk->run);
    Firsts firsts, of_volume;

    find_firsts(walk, claim, incarnation, MILESTONE_CLAIM_CREATED, MILESTONE_CLAIM_GONE, &firsts);
    of_volume.of[MILESTONE_VOLUME_CREATED] = never;
    const ObjectKey *volume =
        firsts.of[MILESTONE_CLAIM_BOUND].object == NULL ? NULL : milestones_volume_of(log, claim);
    if (volume != NULL)
        find_firsts(walk, volume, volume->incarnation, MILESTONE_VOLUME_CREATED,
                    MILESTONE_VOLUME_CREATED, &of_volume);
    firsts.of[MILESTONE_VOLUME_CREATED] = of_volume.of[MILESTONE_VOLUME_CREATED];
    ClaimTimes times = {
        .claim = claim,
        .incarnation = incarnation,
        .volume = volume,
        .is_restored = firsts.of[MILESTONE_CLAIM_SOURCE_NAMED].object != NULL,
        .created = firsts.of[MILESTONE_CLAIM_CREATED].at,
        .asked = firsts.of[MILESTONE_CLAIM_ANNOTATED].at,
        .volume_created = firsts.of[MILESTONE_VOLUME_CREATED].at,
        .bound = firsts.of[MILESTONE_CLAIM_BOUND].at,
        .deleted = firsts.of[MILESTONE_CLAIM_DELETED].at,
        .gone = firsts.of[MILESTONE_CLAIM_GONE].at,
    };

    if (walk->times != NULL)
        g_array_append_val(walk->times->claims, times);
    add_stage(walk, &firsts, times.is_restored ? STAGE_RESTORE : STAGE_BIND, times.created,
              MILESTONE_CLAIM_BOUND);
    if (times.volume_created == TIME_UNSET || times.volume_created >= times.asked)
        add_stage(walk, &firsts, STAGE_PROVISION, times.asked, MILESTONE_VOLUME_CREATED);
}

/* Each detach lasts from the last NodeUnpublish on a node to the end of the VolumeAttachment. */
static void
record_detaches(StagesWalk *walk, const ObjectKey *volume, unsigned incarnation)
{
    stages_look_at(walk, volume);
    for (unsigned i = 0; i < walk->milestones->len; i++) {
        const Milestone milestone = g_array_index(walk->milestones, Milestone, i);
        if (milestone.kind != MILESTONE_VOLUME_DETACHED)
            continue;
        const Milestone unpublished =
            last_on_node(walk, volume, milestone.node, MILESTONE_VOLUME_UNPUBLISHED, milestone.at);
        StageRecord detach = {.stage = STAGE_DETACH,
                              .object = volume,
                              .incarnation = incarnation,
                              .node = milestone.node,
                              .from = unpublished.at,
                              .to = milestone.at,
                              .cause = milestone.cause,
                              .scheduled = TIME_UNSET};
        add_record(walk, &detach);
    }
}

static void
stages_add_volume(StagesWalk *walk, const ObjectKey *volume, unsigned incarnation)
{
    Firsts began, firsts;

    /* Provisioning makes the next incarnation. */
    find_firsts(walk, volume, incarnation - 1, MILESTONE_VOLUME_PROVISION_STARTED,
                MILESTONE_VOLUME_PROVISION_ENDED, &began);
    find_firsts(walk, volume, incarnation, MILESTONE_VOLUME_CREATED, MILESTONE_VOLUME_GONE,
                &firsts);
    VolumeTimes times = {
        .volume = volume,
        .incarnation = incarnation,
        .provision_started = began.of[MILESTONE_VOLUME_PROVISION_STARTED].at,
        .provision_ended = began.of[MILESTONE_VOLUME_PROVISION_ENDED].at,
        .created = firsts.of[MILESTONE_VOLUME_CREATED].at,
        .bound = firsts.of[MILESTONE_VOLUME_BOUND].at,
        .released = firsts.of[MILESTONE_VOLUME_RELEASED].at,
        .gone = firsts.of[MILESTONE_VOLUME_GONE].at,
    };

    if (walk->times != NULL)
        g_array_append_val(walk->times->volumes, times);
    add_stage(walk, &firsts, STAGE_DELETE, times.released, MILESTONE_VOLUME_GONE);
    record_detaches(walk, volume, incarnation);
}

static void
add_snapshot(StagesWalk *walk, const ObjectKey *snapshot, unsigned incarnation)
{
    Firsts firsts;

    find_firsts(walk, snapshot, incarnation, MILESTONE_SNAPSHOT_CREATED, MILESTONE_SNAPSHOT_GONE,
                &firsts);
    SnapshotTimes times = {
        .snapshot = snapshot,
        .incarnation = incarnation,
        .created = firsts.of[MILESTONE_SNAPSHOT_CREATED].at,
        .content_created = firsts.of[MILESTONE_SNAPSHOT_CONTENT_CREATED].at,
        .taken = firsts.of[MILESTONE_SNAPSHOT_TAKEN].at,
        .ready = firsts.of[MILESTONE_SNAPSHOT_READY].at,
        .deleted = firsts.of[MILESTONE_SNAPSHOT_DELETED].at,
        .gone = firsts.of[MILESTONE_SNAPSHOT_GONE].at,
    };

    if (walk->times != NULL)
        g_array_append_val(walk->times->snapshots, times);
    add_stage(walk, &firsts, STAGE_SNAPSHOT, times.created, MILESTONE_SNAPSHOT_READY);
}

static void
walk_objects(StagesWalk *walk)
{
    const Milestones *log = run_milestones(walk->run);

    for (unsigned i = 0; i < milestones_n_pods(log); i++)
        stages_add_pod(walk, milestones_pod(log, i));
    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone milestone = milestones_at(log, i);
        if (milestone.kind == MILESTONE_CLAIM_CREATED)
            stages_add_claim(walk, milestone.object, milestone.incarnation);
        else if (milestone.kind == MILESTONE_VOLUME_CREATED)
            stages_add_volume(walk, milestone.object, milestone.incarnation);
        else if (milestone.kind == MILESTONE_SNAPSHOT_CREATED)
            add_snapshot(walk, milestone.object, milestone.incarnation);
    }
}

static void
walk_all(StagesWalk *walk)
{
    walk->milestones = g_array_new(FALSE, FALSE, sizeof(Milestone));
    walk_objects(walk);
    g_array_unref(walk->milestones);
}

static void
add_to_sums(void *sums, const StageRecord *record)
{
    attribution_sums_add(sums, record);
}

Stages *
stages_new(const Run *run)
{
    Stages *self = g_new0(Stages, 1);

    self->run = run;
    self->pods = g_array_new(FALSE, FALSE, sizeof(PodTimes));
    self->claims = g_array_new(FALSE, FALSE, sizeof(ClaimTimes));
    self->volumes = g_array_new(FALSE, FALSE, sizeof(VolumeTimes));
    self->snapshots = g_array_new(FALSE, FALSE, sizeof(SnapshotTimes));
    self->records = g_array_new(FALSE, FALSE, sizeof(StageRecord));
    self->slowest = g_array_new(FALSE, FALSE, sizeof(StageRecord));
    if (!run_options(run)->untraced)
        self->sums = attribution_sums_new(sim_trace(run_sim(run)));
    for (unsigned i = 0; i < N_STAGES; i++) {
        sim_sample_init(&self->samples[i]);
        self->unfinished[i] = g_array_new(FALSE, FALSE, sizeof(Unfinished));
    }
    /* Measured runs write result files, which need times, too: one walk does all. */
    walk_all(&(StagesWalk){.run = run,
                           .samples = self->samples,
                           .unfinished = self->unfinished,
                           .times = run_options(run)->measured ? self : NULL,
                           .slowest = self->slowest,
                           .take = self->sums != NULL ? add_to_sums : NULL,
                           .data = self->sums});
    attribution_sums_end(self->sums);
    return self;
}

void
stages_each(const Stages *self, StageRecordTaker take, void *data)
{
    walk_all(&(StagesWalk){.run = self->run, .take = take, .data = data});
}

static void
keep_record(void *records, const StageRecord *record)
{
    g_array_append_vals(records, record, 1);
}

const GArray *
stages_records(const Stages *self)
{
    if (self->records->len == 0)
        stages_each(self, keep_record, self->records);
    return self->records;
}

/* Times are large, and most callers need only samples. */
static void
make_times(const Stages *self)
{
    if (self->pods->len + self->claims->len + self->volumes->len + self->snapshots->len == 0)
        walk_all(&(StagesWalk){.run = self->run, .times = self});
}

const GArray *
stages_pods(const Stages *self)
{
    make_times(self);
    return self->pods;
}

const GArray *
stages_claims(const Stages *self)
{
    make_times(self);
    return self->claims;
}

const GArray *
stages_volumes(const Stages *self)
{
    make_times(self);
    return self->volumes;
}

const GArray *
stages_snapshots(const Stages *self)
{
    make_times(self);
    return self->snapshots;
}

void
stages_free(Stages *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->pods);
    g_array_unref(self->claims);
    g_array_unref(self->volumes);
    g_array_unref(self->snapshots);
    g_array_unref(self->records);
    g_array_unref(self->slowest);
    attribution_sums_free(self->sums);
    for (unsigned i = 0; i < N_STAGES; i++) {
        sim_sample_clear(&self->samples[i]);
        g_array_unref(self->unfinished[i]);
    }
    g_free(self);
}
