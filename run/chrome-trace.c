/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "chrome-trace.h"

#include <inttypes.h>
#include <string.h>

/* The groups of tracks: processes, in the format's words. Named and sorted in this order. */
typedef enum {
    GROUP_COMPONENTS = 1,
    GROUP_NODES,
    GROUP_PODS,
    GROUP_CLAIMS,
    GROUP_VOLUMES,
    N_GROUPS,
} Group;

static const char *const group_names[N_GROUPS] = {
    [GROUP_COMPONENTS] = "components and their workers",
    [GROUP_NODES] = "nodes: driver calls",
    [GROUP_PODS] = "pods",
    [GROUP_CLAIMS] = "claims",
    [GROUP_VOLUMES] = "volumes: driver calls",
};

/* A stretch of time on a track. Slices of one line nest or follow one another, so what overlaps gets another line of its track. */
typedef struct {
    Group group;
    const char *track;   /* borrowed */
    const char *name;    /* static, or borrowed */
    const char *subject; /* argument; NULL: none */
    const char *code;    /* gRPC, if the call failed; else NULL */
    SimTime from, to;
    unsigned line; /* the format's thread */
} Slice;

typedef struct {
    GArray *slices;     /* of Slice */
    GHashTable *tracks; /* "group/track" -> GArray of Line (owned) */
    GHashTable *of_object; /* ObjectKey -> GArray of unsigned: its slices (owned), in order of time */
    unsigned n_lines, n_arrows;
    ResultFile *file;
    GString *text; /* the file's */
    gboolean is_first;
    GPtrArray *names; /* (owned) */
} ChromeTrace;

typedef struct {
    unsigned line;
    SimTime end;
} Line;

/* ---- Slices ---- */

static void
add_slice(ChromeTrace *self, const Slice *slice)
{
    g_array_append_vals(self->slices, slice, 1);
}

/* Which calls make a slice, by the milestones of their start and end. */
static const struct {
    MilestoneKind started, ended;
    CsiMethod method;
} calls[] = {
    {MILESTONE_VOLUME_PROVISION_STARTED,   MILESTONE_VOLUME_PROVISION_ENDED, CSI_CREATE_VOLUME              },
    {MILESTONE_VOLUME_DELETE_STARTED,      MILESTONE_VOLUME_DELETE_ENDED,    CSI_DELETE_VOLUME              },
    {MILESTONE_VOLUME_ATTACH_STARTED,      MILESTONE_VOLUME_ATTACH_ENDED,    CSI_CONTROLLER_PUBLISH_VOLUME  },
    {MILESTONE_VOLUME_DETACH_STARTED,      MILESTONE_VOLUME_DETACH_ENDED,    CSI_CONTROLLER_UNPUBLISH_VOLUME},
    {MILESTONE_VOLUME_STAGE_STARTED,       MILESTONE_VOLUME_STAGED,          CSI_NODE_STAGE_VOLUME          },
    {MILESTONE_VOLUME_PUBLISH_STARTED,     MILESTONE_VOLUME_PUBLISHED,       CSI_NODE_PUBLISH_VOLUME        },
    {MILESTONE_VOLUME_UNPUBLISH_STARTED,   MILESTONE_VOLUME_UNPUBLISHED,     CSI_NODE_UNPUBLISH_VOLUME      },
    {MILESTONE_VOLUME_UNSTAGE_STARTED,     MILESTONE_VOLUME_UNSTAGED,        CSI_NODE_UNSTAGE_VOLUME        },
    {MILESTONE_VOLUME_EXPAND_STARTED,      MILESTONE_VOLUME_EXPAND_ENDED,    CSI_CONTROLLER_EXPAND_VOLUME   },
    {MILESTONE_VOLUME_NODE_EXPAND_STARTED, MILESTONE_VOLUME_NODE_EXPANDED,   CSI_NODE_EXPAND_VOLUME         },
};

/* When the last call of that kind before its end, on the same node, started. TIME_UNSET: it began before the run */
static SimTime
find_start(const Milestones *log, const Milestone *end, MilestoneKind started)
{
    for (uint32_t i = end->previous; i != 0;) {
        const Milestone milestone = milestones_at(log, i - 1);
        if (milestone.kind == started && milestone.node == end->node)
            return milestone.at;
        i = milestone.previous;
    }
    return TIME_UNSET;
}

static void
add_call(ChromeTrace *self, SimTime started_at, const Milestone *end, CsiMethod method)
{
    Slice slice = {
        .group = GROUP_VOLUMES,
        .track = end->object->text,
        .name = csi_method_name(method),
        .subject = end->node,
        .code = end->code == CSI_OK ? NULL : csi_code_name((CsiCode)end->code),
        .from = started_at,
        .to = end->at,
    };

    add_slice(self, &slice);
    if (end->node == NULL)
        return;
    slice.group = GROUP_NODES;
    slice.track = end->node;
    slice.subject = end->object->text;
    add_slice(self, &slice);
}

static void
add_calls(ChromeTrace *self, const Milestones *log)
{
    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone end = milestones_at(log, i);
        for (unsigned k = 0; k < G_N_ELEMENTS(calls); k++) {
            SimTime started_at = (MilestoneKind)end.kind == calls[k].ended
                                     ? find_start(log, &end, calls[k].started)
                                     : TIME_UNSET;
            if (started_at != TIME_UNSET)
                add_call(self, started_at, &end, calls[k].method);
        }
    }
}

static void
add_stages(ChromeTrace *self, const Stages *stages)
{
    const GArray *records = stages_records(stages);
    for (unsigned i = 0; i < records->len; i++) {
        const StageRecord *record = &g_array_index(records, StageRecord, i);
        Group group = record->object->kind == KIND_POD     ? GROUP_PODS
                      : record->object->kind == KIND_CLAIM ? GROUP_CLAIMS
                                                           : GROUP_VOLUMES;
        Slice slice = {.group = group,
                       .track = record->object->text,
                       .name = stage_name(record->stage),
                       .subject = record->node,
                       .from = record->from,
                       .to = record->to};
        if (group != GROUP_VOLUMES)
            add_slice(self, &slice);
    }
}

static void
add_workers(ChromeTrace *self, const SimMetrics *metrics)
{
    const GArray *spans = metrics == NULL ? NULL : sim_metrics_spans(metrics);

    for (unsigned i = 0; spans != NULL && i < spans->len; i++) {
        const SimSpan *span = &g_array_index(spans, SimSpan, i);
        char *track = g_strdup_printf("%s: %s", span->job, span->queue);
        g_ptr_array_add(self->names, track);
        add_slice(self, &(Slice){.group = GROUP_COMPONENTS,
                                 .track = track,
                                 .name = span->subject,
                                 .from = span->from,
                                 .to = span->to});
    }
}

/* ---- Lines ---- */

static int
compare_slices(const void *a, const void *b)
{
    const Slice *one = a, *other = b;

    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    if (one->to != other->to)
        return one->to > other->to ? -1 : 1; /* the longer one holds the other */
    if (one->group != other->group)
        return one->group < other->group ? -1 : 1;
    int by_track = strcmp(one->track, other->track);
    return by_track != 0 ? by_track : strcmp(one->name, other->name);
}

static void
begin_item(ChromeTrace *self)
{
    result_file_end_row(self->file);
    g_string_append(self->text, self->is_first ? "\n" : ",\n");
    self->is_first = FALSE;
}

static void
append_us(GString *text, SimTime time)
{
    g_string_append_printf(text, "%" PRId64 ".%03d", time / 1000, (int)(time % 1000));
}

/* The first line of the slice's track that is free by then, or whose last slice holds it. */
static void
place(ChromeTrace *self, Slice *slice)
{
    g_autofree char *key = g_strdup_printf("%d/%s", (int)slice->group, slice->track);
    GArray *lines = g_hash_table_lookup(self->tracks, key);

    if (lines == NULL) {
        lines = g_array_new(FALSE, FALSE, sizeof(Line));
        g_hash_table_insert(self->tracks, g_steal_pointer(&key), lines);
    }
    for (unsigned i = 0; i < lines->len; i++) {
        Line *line = &g_array_index(lines, Line, i);
        if (line->end > slice->from)
            continue;
        line->end = slice->to;
        slice->line = line->line;
        return;
    }
    Line line = {.line = ++self->n_lines, .end = slice->to};
    g_array_append_val(lines, line);
    slice->line = line.line;
    begin_item(self);
    g_string_append_printf(self->text,
                           "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,\"args\":{"
                           "\"name\":\"%s",
                           (int)slice->group, line.line, slice->track);
    if (lines->len > 1)
        g_string_append_printf(self->text, " (%u)", lines->len);
    g_string_append(self->text, "\"}}");
}

static void
append_slice(ChromeTrace *self, const Slice *slice)
{
    begin_item(self);
    g_string_append_printf(self->text,
                           "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":",
                           slice->name, group_names[slice->group], (int)slice->group, slice->line);
    append_us(self->text, slice->from);
    g_string_append(self->text, ",\"dur\":");
    append_us(self->text, slice->to - slice->from);
    if (slice->subject != NULL || slice->code != NULL) {
        g_string_append(self->text, ",\"args\":{");
        if (slice->subject != NULL)
            g_string_append_printf(self->text, "\"of\":\"%s\"", slice->subject);
        if (slice->code != NULL)
            g_string_append_printf(self->text, "%s\"code\":\"%s\"",
                                   slice->subject == NULL ? "" : ",", slice->code);
        g_string_append(self->text, "}");
    }
    g_string_append(self->text, "}");
}

/* ---- Arrows ---- */

/* The last slice of that name (and subject, unless NULL) on a track that ends by @limit; NULL: none. */
static const Slice *
find_slice(const ChromeTrace *self,
           Group group,
           const char *track,
           const char *name,
           const char *subject,
           SimTime limit)
{
    g_autofree char *key = g_strdup_printf("%d/%s", (int)group, track);
    const GArray *places = g_hash_table_lookup(self->of_object, key);
    const Slice *found = NULL;

    for (unsigned i = 0; places != NULL && i < places->len; i++) {
        const Slice *slice =
            &g_array_index(self->slices, Slice, g_array_index(places, unsigned, i));
        if (slice->to <= limit && (subject == NULL || g_strcmp0(slice->subject, subject) == 0) &&
            g_str_equal(slice->name, name))
            found = slice;
    }
    return found;
}

static void
index_slices(ChromeTrace *self)
{
    for (unsigned i = 0; i < self->slices->len; i++) {
        const Slice *slice = &g_array_index(self->slices, Slice, i);
        char *key = g_strdup_printf("%d/%s", (int)slice->group, slice->track);
        GArray *places = g_hash_table_lookup(self->of_object, key);
        if (places == NULL) {
            places = g_array_new(FALSE, FALSE, sizeof(unsigned));
            g_hash_table_insert(self->of_object, key, places);
        } else {
            g_free(key);
        }
        g_array_append_val(places, i);
    }
}

static void
append_flow(ChromeTrace *self, const Slice *slice, char phase, unsigned id, SimTime at)
{
    begin_item(self);
    g_string_append_printf(self->text,
                           "{\"ph\":\"%c\",\"name\":\"pod start\",\"cat\":\"pod start\",\"id\":%u,"
                           "\"pid\":%d,\"tid\":%u,\"ts\":",
                           phase, id, (int)slice->group, slice->line);
    append_us(self->text, at);
    g_string_append(self->text, phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

/* Where an arrow goes on, unless that was before it got there: volumes may be older than their pod. */
static void
append_step(ChromeTrace *self, const Slice *slice, unsigned id, SimTime *at)
{
    if (slice == NULL || slice->from < *at)
        return;
    *at = slice->from;
    append_flow(self, slice, 't', id, *at);
}

/* An arrow from the pod's creation through what was done for one of its volumes, on the claim's, the volume's and the node's track, to
 * when it was Ready. */
static void
append_arrow(ChromeTrace *self,
             const PodTimes *pod,
             const Slice *whole,
             const ObjectKey *claim,
             const ObjectKey *volume,
             unsigned id)
{
    static const CsiMethod at_controller[] = {CSI_CREATE_VOLUME, CSI_CONTROLLER_PUBLISH_VOLUME},
                           on_node[] = {CSI_NODE_STAGE_VOLUME, CSI_NODE_PUBLISH_VOLUME};
    const char *provision = stage_name(STAGE_PROVISION);
    SimTime at = pod->created;

    append_flow(self, whole, 's', id, at);
    append_step(self, find_slice(self, GROUP_CLAIMS, claim->text, provision, NULL, pod->ready), id,
                &at);
    for (unsigned i = 0; i < G_N_ELEMENTS(at_controller); i++)
        append_step(self,
                    find_slice(self, GROUP_VOLUMES, volume->text, csi_method_name(at_controller[i]),
                               NULL, pod->ready),
                    id, &at);
    for (unsigned i = 0; pod->node != NULL && i < G_N_ELEMENTS(on_node); i++)
        append_step(self,
                    find_slice(self, GROUP_NODES, pod->node, csi_method_name(on_node[i]),
                               volume->text, pod->ready),
                    id, &at);
    append_flow(self, whole, 'f', id, pod->ready);
}

/* Of each of a pod's volumes that come from a claim. */
static void
append_arrows(ChromeTrace *self, const Run *run, const PodTimes *pod, const PodRecord *record)
{
    const Slice *whole = find_slice(self, GROUP_PODS, pod->pod->text, stage_name(STAGE_POD_START),
                                    NULL, pod->ready);

    if (whole == NULL || record->volumes == NULL)
        return;
    for (unsigned i = 0; i < record->volumes->n_items; i++) {
        const char *name = record->volumes->items[i].claim_name;
        const ObjectKey *claim =
            name == NULL
                ? NULL
                : objects_find_key(run_objects(run), KIND_CLAIM, pod->pod->namespace, name);
        const ObjectKey *volume =
            claim == NULL ? NULL : milestones_volume_of(run_milestones(run), claim);
        if (volume != NULL)
            append_arrow(self, pod, whole, claim, volume, ++self->n_arrows);
    }
}

/* ---- All of it ---- */

static void
append_groups(ChromeTrace *self)
{
    for (int group = GROUP_COMPONENTS; group < N_GROUPS; group++) {
        begin_item(self);
        g_string_append_printf(
            self->text,
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"%s\"}},\n"
            "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}}",
            group, group_names[group], group, group);
    }
}

void
chrome_trace(const Run *run, const Stages *stages, ResultFile *file)
{
    const Milestones *log = run_milestones(run);
    ChromeTrace self = {
        .slices = g_array_new(FALSE, FALSE, sizeof(Slice)),
        .tracks =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref),
        .of_object =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref),
        .file = file,
        .text = file->text,
        .is_first = TRUE,
        .names = g_ptr_array_new_with_free_func(g_free),
    };

    g_string_append(self.text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    append_groups(&self);
    add_workers(&self, sim_metrics(run_sim(run)));
    add_stages(&self, stages);
    add_calls(&self, log);
    g_array_sort(self.slices, compare_slices);
    for (unsigned i = 0; i < self.slices->len; i++)
        place(&self, &g_array_index(self.slices, Slice, i));
    for (unsigned i = 0; i < self.slices->len; i++)
        append_slice(&self, &g_array_index(self.slices, Slice, i));
    index_slices(&self);
    const GArray *pods = stages_pods(stages);
    for (unsigned i = 0; i < pods->len; i++) {
        const PodTimes *pod = &g_array_index(pods, PodTimes, i);
        if (pod->ready != TIME_UNSET)
            append_arrows(&self, run, pod, milestones_pod(log, i));
    }
    g_string_append(self.text, "\n]}\n");
    g_array_unref(self.slices);
    g_hash_table_unref(self.tracks);
    g_hash_table_unref(self.of_object);
    g_ptr_array_unref(self.names);
}
