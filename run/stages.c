/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stages.h"

static const struct {
    const char *name, *meaning;
} stage_table[] = {
#define STAGE_ROW(member, name, meaning) {name, meaning},
    STAGES(STAGE_ROW)
#undef STAGE_ROW
};

const char *
stage_name(Stage stage)
{
    return stage_table[stage].name;
}

const char *
stage_meaning(Stage stage)
{
    return stage_table[stage].meaning;
}

gboolean
stage_find(const char *name, Stage *stage)
{
    for (unsigned i = 0; i < N_STAGES; i++)
        if (g_str_equal(stage_table[i].name, name)) {
            *stage = (Stage)i;
            return TRUE;
        }
    return FALSE;
}

static SimTime
between(SimTime from, SimTime to)
{
    return from == TIME_UNSET || to == TIME_UNSET ? TIME_UNSET : to - from;
}

/* From when to when; TIME_UNSET: not seen. */
typedef struct {
    SimTime from, to;
} Interval;

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
    case STAGE_START:
        return (Interval){times->published != TIME_UNSET ? times->published : times->scheduled,
                          times->ready};
    case STAGE_POD_START:
        return (Interval){times->created, times->ready};
    case STAGE_STOP:
        return (Interval){times->deleted, times->gone};
    case STAGE_PROVISION:
    case STAGE_BIND:
    case STAGE_DETACH:
    case STAGE_DELETE:
    case N_STAGES:
        break;
    }
    return (Interval){TIME_UNSET, TIME_UNSET};
}

SimTime
pod_times_stage(const PodTimes *times, Stage stage)
{
    Interval interval = pod_interval(times, stage);

    return between(interval.from, interval.to);
}

/* Takes in a stage both of whose ends were seen. */
static void
add_record(Stages *self, const StageRecord *value)
{
    SimTime length = between(value->from, value->to);

    if (length == TIME_UNSET)
        return;
    sim_sample_add(&self->samples[value->stage], length);
    g_array_append_vals(self->records, value, 1);
}

/* What stands for a milestone that never came. */
static const Milestone never = {.at = TIME_UNSET};

/* The first milestone of @kind that came to @object in this incarnation; &never: none. */
static const Milestone *
first_milestone(const Milestones *log,
                const ObjectKey *object,
                unsigned incarnation,
                MilestoneKind kind)
{
    const Milestone *first = &never;

    for (uint32_t i = milestones_last(log, object); i != 0;) {
        const Milestone *milestone = milestones_at(log, i - 1);
        if (milestone->kind == kind && milestone->incarnation == incarnation &&
            milestone->code == CSI_OK)
            first = milestone;
        i = milestone->previous;
    }
    return first;
}

static SimTime
first_time(const Milestones *log, const ObjectKey *object, unsigned incarnation, MilestoneKind kind)
{
    return first_milestone(log, object, incarnation, kind)->at;
}

/* The last milestone of @kind, not after @limit, of a volume on @node; &never: none. */
static const Milestone *
last_on_node(const Milestones *log,
             const ObjectKey *volume,
             const char *node,
             MilestoneKind kind,
             SimTime limit)
{
    for (uint32_t i = milestones_last(log, volume); i != 0;) {
        const Milestone *milestone = milestones_at(log, i - 1);
        if (milestone->kind == kind && milestone->node == node && milestone->code == CSI_OK &&
            milestone->at <= limit)
            return milestone;
        i = milestone->previous;
    }
    return &never;
}

/* A point in a pod's start: when the last of its volumes got there, not before the point before. TIME_UNSET if one never did;
 * volumes of drivers without that step (@optional) are passed over. @cause: (out): of the last one */
static SimTime
volumes_reached(const Run *run,
                const PodRecord *record,
                const PodTimes *times,
                MilestoneKind kind,
                SimTime before,
                gboolean optional,
                SimCauseId *cause)
{
    const Milestones *log = run_milestones(run);
    SimTime limit = times->ready != TIME_UNSET ? times->ready : SIM_TIME_MAX;
    SimTime reached = before;

    for (unsigned i = 0; i < record->volumes->n_items; i++) {
        const PodVolume *volume = &record->volumes->items[i];
        const ObjectKey *claim = objects_find_key(run_objects(run), KIND_CLAIM,
                                                  record->pod->namespace, volume->claim_name);
        const ObjectKey *target = claim == NULL ? NULL : milestones_volume_of(log, claim);
        const Milestone *milestone =
            target == NULL ? &never : last_on_node(log, target, times->node, kind, limit);
        if (milestone->at == TIME_UNSET && !optional)
            return TIME_UNSET;
        if (milestone->at != TIME_UNSET && milestone->at > reached) {
            reached = milestone->at;
            *cause = milestone->cause;
        }
    }
    return reached;
}

/* Which points its volumes passed. A pod that is Ready has all it needs: what has no such milestone had no such step. */
static void
find_volume_times(const Run *run, const PodRecord *record, PodTimes *times)
{
    gboolean is_ready = times->ready != TIME_UNSET;

    times->attached = volumes_reached(run, record, times, MILESTONE_VOLUME_ATTACHED,
                                      times->scheduled, is_ready, &times->causes[STAGE_ATTACH]);
    if (times->attached != TIME_UNSET)
        times->staged = volumes_reached(run, record, times, MILESTONE_VOLUME_STAGED,
                                        times->attached, is_ready, &times->causes[STAGE_STAGE]);
    if (times->staged != TIME_UNSET)
        times->published = volumes_reached(run, record, times, MILESTONE_VOLUME_PUBLISHED,
                                           times->staged, is_ready, &times->causes[STAGE_PUBLISH]);
}

static void
record_pod_stage(Stages *self, const PodTimes *times, Stage stage)
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

    add_record(self, &value);
}

static void
add_pod(Stages *self, const Run *run, const PodRecord *record)
{
    const Milestones *log = run_milestones(run);
    const ObjectKey *pod = record->pod;
    unsigned incarnation = record->incarnation;
    const Milestone *scheduled = first_milestone(log, pod, incarnation, MILESTONE_POD_SCHEDULED);
    const Milestone *ready = first_milestone(log, pod, incarnation, MILESTONE_POD_READY);
    const Milestone *gone = first_milestone(log, pod, incarnation, MILESTONE_POD_GONE);
    PodTimes times = {.pod = pod,
                      .incarnation = incarnation,
                      .node = scheduled->node,
                      .created = first_time(log, pod, incarnation, MILESTONE_POD_CREATED),
                      .scheduled = scheduled->at,
                      .attached = TIME_UNSET,
                      .staged = TIME_UNSET,
                      .published = TIME_UNSET,
                      .ready = ready->at,
                      .deleted = first_time(log, pod, incarnation, MILESTONE_POD_DELETED),
                      .gone = gone->at};

    times.causes[STAGE_SCHEDULE] = scheduled->cause;
    times.causes[STAGE_START] = times.causes[STAGE_POD_START] = ready->cause;
    times.causes[STAGE_STOP] = gone->cause;
    if (times.scheduled != TIME_UNSET && record->volumes != NULL)
        find_volume_times(run, record, &times);
    g_array_append_val(self->pods, times);
    static const Stage stages[] = {STAGE_SCHEDULE, STAGE_ATTACH,    STAGE_STAGE, STAGE_PUBLISH,
                                   STAGE_START,    STAGE_POD_START, STAGE_STOP};
    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++)
        record_pod_stage(self, &times, stages[i]);
}

static void
add_claim(Stages *self, const Run *run, const ObjectKey *claim, unsigned incarnation)
{
    const Milestones *log = run_milestones(run);
    const Milestone *bound = first_milestone(log, claim, incarnation, MILESTONE_CLAIM_BOUND);
    const Milestone *created = &never;
    ClaimTimes times = {
        .claim = claim,
        .incarnation = incarnation,
        .created = first_time(log, claim, incarnation, MILESTONE_CLAIM_CREATED),
        .asked = first_time(log, claim, incarnation, MILESTONE_CLAIM_ANNOTATED),
        .bound = bound->at,
        .deleted = first_time(log, claim, incarnation, MILESTONE_CLAIM_DELETED),
        .gone = first_time(log, claim, incarnation, MILESTONE_CLAIM_GONE),
    };

    times.volume = times.bound == TIME_UNSET ? NULL : milestones_volume_of(log, claim);
    if (times.volume != NULL)
        created =
            first_milestone(log, times.volume, times.volume->incarnation, MILESTONE_VOLUME_CREATED);
    times.volume_created = created->at;
    g_array_append_val(self->claims, times);
    StageRecord bind = {.stage = STAGE_BIND,
                        .object = claim,
                        .incarnation = incarnation,
                        .from = times.created,
                        .to = times.bound,
                        .cause = bound->cause,
                        .scheduled = TIME_UNSET};
    add_record(self, &bind);
    StageRecord provision = {.stage = STAGE_PROVISION,
                             .object = claim,
                             .incarnation = incarnation,
                             .from = times.asked,
                             .to = times.volume_created,
                             .cause = created->cause,
                             .scheduled = TIME_UNSET};
    if (times.volume_created == TIME_UNSET || times.volume_created >= times.asked)
        add_record(self, &provision);
}

/* detach: from the last NodeUnpublish on a node to the end of the VolumeAttachment, each time that happened. */
static void
record_detaches(Stages *self, const Milestones *log, const ObjectKey *volume, unsigned incarnation)
{
    for (uint32_t i = milestones_last(log, volume); i != 0;) {
        const Milestone *milestone = milestones_at(log, i - 1);
        i = milestone->previous;
        if (milestone->kind != MILESTONE_VOLUME_DETACHED)
            continue;
        const Milestone *unpublished =
            last_on_node(log, volume, milestone->node, MILESTONE_VOLUME_UNPUBLISHED, milestone->at);
        StageRecord detach = {.stage = STAGE_DETACH,
                              .object = volume,
                              .incarnation = incarnation,
                              .node = milestone->node,
                              .from = unpublished->at,
                              .to = milestone->at,
                              .cause = milestone->cause,
                              .scheduled = TIME_UNSET};
        add_record(self, &detach);
    }
}

static void
add_volume(Stages *self, const Run *run, const ObjectKey *volume, unsigned incarnation)
{
    const Milestones *log = run_milestones(run);
    const Milestone *gone = first_milestone(log, volume, incarnation, MILESTONE_VOLUME_GONE);
    VolumeTimes times = {
        .volume = volume,
        .incarnation = incarnation,
        .provision_started =
            first_time(log, volume, incarnation - 1, MILESTONE_VOLUME_PROVISION_STARTED),
        .provision_ended =
            first_time(log, volume, incarnation - 1, MILESTONE_VOLUME_PROVISION_ENDED),
        .created = first_time(log, volume, incarnation, MILESTONE_VOLUME_CREATED),
        .bound = first_time(log, volume, incarnation, MILESTONE_VOLUME_BOUND),
        .released = first_time(log, volume, incarnation, MILESTONE_VOLUME_RELEASED),
        .gone = gone->at,
    };
    StageRecord delete = {.stage = STAGE_DELETE,
                          .object = volume,
                          .incarnation = incarnation,
                          .from = times.released,
                          .to = times.gone,
                          .cause = gone->cause,
                          .scheduled = TIME_UNSET};

    g_array_append_val(self->volumes, times);
    add_record(self, &delete);
    record_detaches(self, log, volume, incarnation);
}

Stages *
stages_new(const Run *run)
{
    const Milestones *log = run_milestones(run);
    Stages *self = g_new0(Stages, 1);

    self->pods = g_array_new(FALSE, FALSE, sizeof(PodTimes));
    self->claims = g_array_new(FALSE, FALSE, sizeof(ClaimTimes));
    self->volumes = g_array_new(FALSE, FALSE, sizeof(VolumeTimes));
    self->records = g_array_new(FALSE, FALSE, sizeof(StageRecord));
    for (unsigned i = 0; i < N_STAGES; i++)
        sim_sample_init(&self->samples[i]);
    for (unsigned i = 0; i < milestones_n_pods(log); i++)
        add_pod(self, run, milestones_pod(log, i));
    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone *milestone = milestones_at(log, i);
        if (milestone->kind == MILESTONE_CLAIM_CREATED)
            add_claim(self, run, milestone->object, milestone->incarnation);
        else if (milestone->kind == MILESTONE_VOLUME_CREATED)
            add_volume(self, run, milestone->object, milestone->incarnation);
    }
    return self;
}

void
stages_free(Stages *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->pods);
    g_array_unref(self->claims);
    g_array_unref(self->volumes);
    g_array_unref(self->records);
    for (unsigned i = 0; i < N_STAGES; i++)
        sim_sample_clear(&self->samples[i]);
    g_free(self);
}
