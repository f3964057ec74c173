/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stages of recorded objects, in the same way for both sides: times between two milestones of one
 * object, or of a pod and the attachments of its claims. A stage counts only if both ends were
 * seen, in this order. A Ready pod has all volumes, so an attachment that was not seen is older
 * than the pod, or its driver needs none. Claims and volumes count for the workload of their pod.
 */
#include "replay-stages.h"

const char *
replay_stage_name(ReplayStage stage)
{
    static const char *const names[] = {
#define REPLAY_STAGE_NAME(member, name) name,
        REPLAY_STAGES(REPLAY_STAGE_NAME)
#undef REPLAY_STAGE_NAME
    };

    return names[stage];
}

/* ---- Workloads ---- */

struct ReplayWorkloads {
    Recorded *texts;
    GHashTable *of_claim; /* "namespace/claim" (owned) -> workload, interned in texts */
};

static const char *
workload_of_pod(ReplayWorkloads *self, const RecordedObject *pod)
{
    g_autofree char *text = g_strdup_printf("%s/%s", pod->namespace,
                                            pod->workload != NULL ? pod->workload : "bare pods");

    return recorded_text(self->texts, text);
}

void
replay_workloads_add(ReplayWorkloads *self, const Recorded *recorded)
{
    const GPtrArray *objects = recorded_objects(recorded);

    for (unsigned i = 0; i < objects->len; i++) {
        const RecordedObject *pod = objects->pdata[i];
        for (unsigned k = 0; pod->claims != NULL && pod->claims[k] != NULL; k++) {
            g_autofree char *claim = g_strdup_printf("%s/%s", pod->namespace, pod->claims[k]);
            if (!g_hash_table_contains(self->of_claim, claim))
                g_hash_table_insert(self->of_claim, g_steal_pointer(&claim),
                                    (char *)workload_of_pod(self, pod));
        }
    }
}

ReplayWorkloads *
replay_workloads_new(Recorded *recorded)
{
    ReplayWorkloads *self = g_new0(ReplayWorkloads, 1);

    self->texts = recorded;
    self->of_claim = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    replay_workloads_add(self, recorded);
    return self;
}

void
replay_workloads_free(ReplayWorkloads *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->of_claim);
    g_free(self);
}

/* ---- Stages ---- */

typedef struct {
    const GPtrArray *objects;
    ReplayWorkloads *workloads;
    GHashTable *claim_of;    /* volume's name -> "namespace/claim", both borrowed or in texts */
    GHashTable *volumes;     /* "namespace/claim" -> GArray of unsigned: its volumes */
    GHashTable *attachments; /* the same: its attachments */
    GArray *values;
} ReplayStagesWalk;

static void
index_add(GHashTable *index, const char *claim, unsigned object)
{
    GArray *list = claim == NULL ? NULL : g_hash_table_lookup(index, claim);

    if (claim == NULL)
        return;
    if (list == NULL) {
        list = g_array_new(FALSE, FALSE, sizeof object);
        g_hash_table_insert(index, (char *)claim, list);
    }
    g_array_append_val(list, object);
}

static const char *
replay_stages_claim_of(const ReplayStagesWalk *walk, const RecordedObject *object)
{
    const char *volume = object->kind == RECORDED_VOLUME ? object->name : object->volume;

    if (object->claim != NULL)
        return object->claim;
    return volume == NULL ? NULL : g_hash_table_lookup(walk->claim_of, volume);
}

static const char *
claim_text(const ReplayStagesWalk *walk, const RecordedObject *claim)
{
    g_autofree char *text = g_strdup_printf("%s/%s", claim->namespace, claim->name);

    return recorded_text(walk->workloads->texts, text);
}

static void
make_index(ReplayStagesWalk *walk)
{
    for (unsigned i = 0; i < walk->objects->len; i++) {
        const RecordedObject *object = walk->objects->pdata[i];
        if (object->kind == RECORDED_CLAIM && object->volume != NULL)
            g_hash_table_insert(walk->claim_of, (char *)object->volume,
                                (char *)claim_text(walk, object));
        else if (object->kind == RECORDED_VOLUME && object->claim != NULL)
            g_hash_table_insert(walk->claim_of, (char *)object->name, (char *)object->claim);
    }
    for (unsigned i = 0; i < walk->objects->len; i++) {
        const RecordedObject *object = walk->objects->pdata[i];
        if (object->kind == RECORDED_VOLUME)
            index_add(walk->volumes, replay_stages_claim_of(walk, object), i);
        else if (object->kind == RECORDED_ATTACHMENT)
            index_add(walk->attachments, replay_stages_claim_of(walk, object), i);
    }
}

static const char *
workload_of(const ReplayStagesWalk *walk, const RecordedObject *object)
{
    if (object->kind == RECORDED_POD)
        return workload_of_pod(walk->workloads, object);
    const char *claim = object->kind == RECORDED_CLAIM ? claim_text(walk, object)
                                                       : replay_stages_claim_of(walk, object);
    const char *workload =
        claim == NULL ? NULL : g_hash_table_lookup(walk->workloads->of_claim, claim);
    return workload != NULL ? workload : recorded_text(walk->workloads->texts, "no known pod");
}

/* Adds a stage, if both of its ends were seen, in this order. */
static void
replay_stages_add_value(ReplayStagesWalk *walk,
                        ReplayStage stage,
                        unsigned object,
                        SimTime from,
                        unsigned last,
                        RecordedTime ends)
{
    SimTime to = ((const RecordedObject *)walk->objects->pdata[last])->at[ends];

    if (from == TIME_UNSET || to == TIME_UNSET || to < from)
        return;
    ReplayValue value = {.stage = stage,
                         .object = object,
                         .last = last,
                         .ends = ends,
                         .workload = workload_of(walk, walk->objects->pdata[object]),
                         .from = from,
                         .to = to};
    g_array_append_val(walk->values, value);
}

/* Stages between two times of one object. */
static const struct {
    RecordedKind kind;
    ReplayStage stage;
    RecordedTime from, to;
} plain_stages[] = {
    {RECORDED_CLAIM,      REPLAY_BIND,       RECORDED_CREATED,          RECORDED_BOUND    },
    {RECORDED_CLAIM,      REPLAY_EXPAND,     RECORDED_EXPANSION_ASKED,  RECORDED_EXPANDED },
    {RECORDED_POD,        REPLAY_SCHEDULE,   RECORDED_CREATED,          RECORDED_SCHEDULED},
    {RECORDED_POD,        REPLAY_POD_START,  RECORDED_CREATED,          RECORDED_READY    },
    {RECORDED_POD,        REPLAY_STOP,       RECORDED_DELETED,          RECORDED_GONE     },
    {RECORDED_ATTACHMENT, REPLAY_ATTACHMENT, RECORDED_ATTACH_REQUESTED, RECORDED_ATTACHED },
    {RECORDED_ATTACHMENT, REPLAY_DETACH,     RECORDED_DETACH_REQUESTED, RECORDED_DETACHED },
    {RECORDED_VOLUME,     REPLAY_DELETE,     RECORDED_RELEASED,         RECORDED_GONE     },
};

/* The first volume of the claim since it was asked for. */
static void
add_provision(ReplayStagesWalk *walk, unsigned i)
{
    const RecordedObject *claim = walk->objects->pdata[i];
    const GArray *volumes = g_hash_table_lookup(walk->volumes, claim_text(walk, claim));

    for (unsigned k = 0; volumes != NULL && k < volumes->len; k++) {
        unsigned v = g_array_index(volumes, unsigned, k);
        const RecordedObject *volume = walk->objects->pdata[v];
        if (volume->at[RECORDED_CREATED] == TIME_UNSET ||
            volume->at[RECORDED_CREATED] < claim->at[RECORDED_ASKED])
            continue;
        replay_stages_add_value(walk, REPLAY_PROVISION, i, claim->at[RECORDED_ASKED], v,
                                RECORDED_CREATED);
        return;
    }
}

/* The last attachment of a claim to a node up to @limit. Returns: its index + 1; 0: none */
static unsigned
attachment_of(const ReplayStagesWalk *walk,
              const RecordedObject *pod,
              const char *claim_name,
              SimTime limit)
{
    g_autofree char *claim = g_strdup_printf("%s/%s", pod->namespace, claim_name);
    const GArray *list = g_hash_table_lookup(walk->attachments, claim);
    unsigned found = 0;
    SimTime latest = TIME_UNSET;

    for (unsigned k = 0; list != NULL && k < list->len; k++) {
        unsigned i = g_array_index(list, unsigned, k);
        const RecordedObject *attachment = walk->objects->pdata[i];
        SimTime at = attachment->at[RECORDED_ATTACHED];
        if (at != TIME_UNSET && at <= limit && at > latest &&
            g_strcmp0(attachment->node, pod->node) == 0) {
            latest = at;
            found = i + 1;
        }
    }
    return found;
}

/* attach and mount of a pod with volumes, start of one without. A Ready pod has all volumes, so an
 * attachment that was not seen is older than the pod, or the driver needs none. */
static void
replay_stages_add_start(ReplayStagesWalk *walk, unsigned i)
{
    const RecordedObject *pod = walk->objects->pdata[i];
    SimTime ready = pod->at[RECORDED_READY], scheduled = pod->at[RECORDED_SCHEDULED];
    unsigned last = i;
    RecordedTime ends = RECORDED_SCHEDULED;
    SimTime attached = scheduled;

    if (scheduled == TIME_UNSET)
        return;
    if (pod->claims == NULL) {
        replay_stages_add_value(walk, REPLAY_START, i, scheduled, i, RECORDED_READY);
        return;
    }
    for (unsigned k = 0; pod->claims[k] != NULL; k++) {
        unsigned found =
            attachment_of(walk, pod, pod->claims[k], ready != TIME_UNSET ? ready : SIM_TIME_MAX);
        if (found == 0 && ready == TIME_UNSET)
            return;
        const RecordedObject *attachment = found == 0 ? NULL : walk->objects->pdata[found - 1];
        if (attachment != NULL && attachment->at[RECORDED_ATTACHED] > attached) {
            attached = attachment->at[RECORDED_ATTACHED];
            last = found - 1;
            ends = RECORDED_ATTACHED;
        }
    }
    replay_stages_add_value(walk, REPLAY_ATTACH, i, scheduled, last, ends);
    replay_stages_add_value(walk, REPLAY_MOUNT, i, attached, i, RECORDED_READY);
}

GArray *
replay_stages(const Recorded *recorded, ReplayWorkloads *workloads)
{
    ReplayStagesWalk walk = {
        .objects = recorded_objects(recorded),
        .workloads = workloads,
        .claim_of = g_hash_table_new(g_str_hash, g_str_equal),
        .volumes =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref),
        .attachments =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref),
        .values = g_array_new(FALSE, FALSE, sizeof(ReplayValue)),
    };

    make_index(&walk);
    for (unsigned i = 0; i < walk.objects->len; i++) {
        const RecordedObject *object = walk.objects->pdata[i];
        for (unsigned k = 0; k < G_N_ELEMENTS(plain_stages); k++)
            if (object->kind == (int)plain_stages[k].kind)
                replay_stages_add_value(&walk, plain_stages[k].stage, i,
                                        object->at[plain_stages[k].from], i, plain_stages[k].to);
        if (object->kind == RECORDED_CLAIM)
            add_provision(&walk, i);
        else if (object->kind == RECORDED_POD)
            replay_stages_add_start(&walk, i);
    }
    g_hash_table_unref(walk.claim_of);
    g_hash_table_unref(walk.volumes);
    g_hash_table_unref(walk.attachments);
    return walk.values;
}
