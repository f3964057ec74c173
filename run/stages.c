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

SimTime
pod_times_stage(const PodTimes *times, Stage stage)
{
    switch (stage) {
    case STAGE_SCHEDULE:
        return between(times->created, times->scheduled);
    case STAGE_ATTACH:
        return between(times->scheduled, times->attached);
    case STAGE_STAGE:
        return between(times->attached, times->staged);
    case STAGE_PUBLISH:
        return between(times->staged, times->published);
    case STAGE_START:
        return between(times->published != TIME_UNSET ? times->published : times->scheduled,
                       times->ready);
    case STAGE_POD_START:
        return between(times->created, times->ready);
    case STAGE_STOP:
        return between(times->deleted, times->gone);
    case STAGE_PROVISION:
    case STAGE_BIND:
    case STAGE_DETACH:
    case STAGE_DELETE:
    case N_STAGES:
        break;
    }
    return TIME_UNSET;
}

static void
sample(Stages *self, Stage stage, SimTime value)
{
    if (value != TIME_UNSET)
        sim_sample_add(&self->samples[stage], value);
}

/* The first time that @kind came to @object in this incarnation; TIME_UNSET: never. */
static SimTime
first_time(const Milestones *log,
           const ObjectKey *object,
           unsigned incarnation,
           MilestoneKind kind,
           const char **node)
{
    SimTime at = TIME_UNSET;

    for (uint32_t i = milestones_last(log, object); i != 0;) {
        const Milestone *milestone = milestones_at(log, i - 1);
        if (milestone->kind == kind && milestone->incarnation == incarnation &&
            milestone->code == CSI_OK) {
            at = milestone->at;
            if (node != NULL)
                *node = milestone->node;
        }
        i = milestone->previous;
    }
    return at;
}

/* The last time, not after @limit, that @kind came to a volume on @node; TIME_UNSET: never. */
static SimTime
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
            return milestone->at;
        i = milestone->previous;
    }
    return TIME_UNSET;
}

/* A point in a pod's start: when the last of its volumes got there, not before the point before. TIME_UNSET if one never did;
 * volumes of drivers without that step (@optional) are passed over. */
static SimTime
volumes_reached(const Run *run,
                const PodRecord *record,
                const PodTimes *times,
                MilestoneKind kind,
                SimTime before,
                gboolean optional)
{
    const Milestones *log = run_milestones(run);
    SimTime limit = times->ready != TIME_UNSET ? times->ready : SIM_TIME_MAX;
    SimTime reached = before;

    for (unsigned i = 0; i < record->volumes->n_items; i++) {
        const PodVolume *volume = &record->volumes->items[i];
        const ObjectKey *claim = objects_find_key(run_objects(run), KIND_CLAIM,
                                                  record->pod->namespace, volume->claim_name);
        const ObjectKey *target = claim == NULL ? NULL : milestones_volume_of(log, claim);
        SimTime at =
            target == NULL ? TIME_UNSET : last_on_node(log, target, times->node, kind, limit);
        if (at == TIME_UNSET && !optional)
            return TIME_UNSET;
        if (at != TIME_UNSET)
            reached = MAX(reached, at);
    }
    return reached;
}

static void
add_pod(Stages *self, const Run *run, const PodRecord *record)
{
    const Milestones *log = run_milestones(run);
    const ObjectKey *pod = record->pod;
    unsigned incarnation = record->incarnation;
    PodTimes times = {.pod = pod,
                      .incarnation = incarnation,
                      .attached = TIME_UNSET,
                      .staged = TIME_UNSET,
                      .published = TIME_UNSET};

    times.created = first_time(log, pod, incarnation, MILESTONE_POD_CREATED, NULL);
    times.scheduled = first_time(log, pod, incarnation, MILESTONE_POD_SCHEDULED, &times.node);
    times.ready = first_time(log, pod, incarnation, MILESTONE_POD_READY, NULL);
    times.deleted = first_time(log, pod, incarnation, MILESTONE_POD_DELETED, NULL);
    times.gone = first_time(log, pod, incarnation, MILESTONE_POD_GONE, NULL);
    if (times.scheduled != TIME_UNSET && record->volumes != NULL) {
        /* A pod that is Ready has all it needs: what has no such milestone had no such step. */
        gboolean is_ready = times.ready != TIME_UNSET;
        times.attached = volumes_reached(run, record, &times, MILESTONE_VOLUME_ATTACHED,
                                         times.scheduled, is_ready);
        if (times.attached != TIME_UNSET)
            times.staged = volumes_reached(run, record, &times, MILESTONE_VOLUME_STAGED,
                                           times.attached, is_ready);
        if (times.staged != TIME_UNSET)
            times.published = volumes_reached(run, record, &times, MILESTONE_VOLUME_PUBLISHED,
                                              times.staged, is_ready);
    }
    g_array_append_val(self->pods, times);
    static const Stage stages[] = {STAGE_SCHEDULE, STAGE_ATTACH,    STAGE_STAGE, STAGE_PUBLISH,
                                   STAGE_START,    STAGE_POD_START, STAGE_STOP};
    for (unsigned i = 0; i < G_N_ELEMENTS(stages); i++)
        sample(self, stages[i], pod_times_stage(&times, stages[i]));
}

static void
add_claim(Stages *self, const Run *run, const ObjectKey *claim, unsigned incarnation)
{
    const Milestones *log = run_milestones(run);
    ClaimTimes times = {.claim = claim, .incarnation = incarnation, .volume_created = TIME_UNSET};

    times.created = first_time(log, claim, incarnation, MILESTONE_CLAIM_CREATED, NULL);
    times.asked = first_time(log, claim, incarnation, MILESTONE_CLAIM_ANNOTATED, NULL);
    times.bound = first_time(log, claim, incarnation, MILESTONE_CLAIM_BOUND, NULL);
    times.deleted = first_time(log, claim, incarnation, MILESTONE_CLAIM_DELETED, NULL);
    times.gone = first_time(log, claim, incarnation, MILESTONE_CLAIM_GONE, NULL);
    times.volume = times.bound == TIME_UNSET ? NULL : milestones_volume_of(log, claim);
    if (times.volume != NULL)
        times.volume_created = first_time(log, times.volume, times.volume->incarnation,
                                          MILESTONE_VOLUME_CREATED, NULL);
    g_array_append_val(self->claims, times);
    sample(self, STAGE_BIND, between(times.created, times.bound));
    if (times.volume_created == TIME_UNSET || times.volume_created >= times.asked)
        sample(self, STAGE_PROVISION, between(times.asked, times.volume_created));
}

/* detach: from the last NodeUnpublish on a node to the end of the VolumeAttachment, each time that happened. */
static void
sample_detaches(Stages *self, const Milestones *log, const ObjectKey *volume)
{
    for (uint32_t i = milestones_last(log, volume); i != 0;) {
        const Milestone *milestone = milestones_at(log, i - 1);
        if (milestone->kind == MILESTONE_VOLUME_DETACHED)
            sample(self, STAGE_DETACH,
                   between(last_on_node(log, volume, milestone->node, MILESTONE_VOLUME_UNPUBLISHED,
                                        milestone->at),
                           milestone->at));
        i = milestone->previous;
    }
}

static void
add_volume(Stages *self, const Run *run, const ObjectKey *volume, unsigned incarnation)
{
    const Milestones *log = run_milestones(run);
    VolumeTimes times = {.volume = volume, .incarnation = incarnation};

    times.provision_started =
        first_time(log, volume, incarnation - 1, MILESTONE_VOLUME_PROVISION_STARTED, NULL);
    times.provision_ended =
        first_time(log, volume, incarnation - 1, MILESTONE_VOLUME_PROVISION_ENDED, NULL);
    times.created = first_time(log, volume, incarnation, MILESTONE_VOLUME_CREATED, NULL);
    times.bound = first_time(log, volume, incarnation, MILESTONE_VOLUME_BOUND, NULL);
    times.released = first_time(log, volume, incarnation, MILESTONE_VOLUME_RELEASED, NULL);
    times.gone = first_time(log, volume, incarnation, MILESTONE_VOLUME_GONE, NULL);
    g_array_append_val(self->volumes, times);
    sample(self, STAGE_DELETE, between(times.released, times.gone));
    sample_detaches(self, log, volume);
}

Stages *
stages_new(const Run *run)
{
    const Milestones *log = run_milestones(run);
    Stages *self = g_new0(Stages, 1);

    self->pods = g_array_new(FALSE, FALSE, sizeof(PodTimes));
    self->claims = g_array_new(FALSE, FALSE, sizeof(ClaimTimes));
    self->volumes = g_array_new(FALSE, FALSE, sizeof(VolumeTimes));
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
    for (unsigned i = 0; i < N_STAGES; i++)
        sim_sample_clear(&self->samples[i]);
    g_free(self);
}
