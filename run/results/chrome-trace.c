/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run as a trace for Perfetto or chrome://tracing: slices on tracks of components, nodes, pods,
 * claims and volumes, and arrows along the start of a pod. Only a mark of 16 bytes is stored for
 * each slice; all else is looked up when the slice is written, since a run has some 25 slices for
 * each pod. Slices that overlap get another line of their track. Marks are sorted in place, as
 * GLib's sort needs as much memory again. */
#include "chrome-trace.h"

#include <string.h>

#include "run/files/rows.h"
#include "sim/order.h"

/* The groups of tracks (the format calls them processes), in the order of the picture. */
typedef enum {
    GROUP_COMPONENTS = 1,
    GROUP_NODES,
    GROUP_PODS,
    GROUP_CLAIMS,
    GROUP_VOLUMES,
    GROUP_SNAPSHOTS, /* only if there are any */
    N_GROUPS,
} ChromeTraceGroup;

static const char *const group_names[N_GROUPS] = {
    [GROUP_COMPONENTS] = "components and their workers",
    [GROUP_NODES] = "nodes: driver calls",
    [GROUP_PODS] = "pods",
    [GROUP_CLAIMS] = "claims",
    [GROUP_VOLUMES] = "volumes: driver calls",
    [GROUP_SNAPSHOTS] = "snapshots: driver calls",
};

/* The stored part of a slice, since a run has some 25 slices for each pod. All else follows from
 * @what. */
typedef struct {
    SimTime from;
    uint32_t what; /* the slice's number, in order of addition */
    uint32_t line;
} ChromeTraceMark;

/* A stretch of time on a track. Slices of one line nest or follow one another; slices that overlap
 * get another line of their track. */
typedef struct {
    ChromeTraceGroup group;
    uint32_t number;     /* of the track in its group; for nodes see node_number() */
    const char *track;   /* borrowed */
    const char *name;    /* static, or borrowed */
    const char *subject; /* argument; NULL: none */
    const char *code;    /* gRPC, if the call failed; else NULL */
    SimTime to;
} ChromeTraceSlice;

/* A line of a track (the format calls it a thread). Its number is its place in the list, from 1. */
typedef struct {
    SimTime end;   /* of its last slice */
    uint32_t next; /* line of the same track; 0: none */
} ChromeTraceLine;

typedef struct {
    const Run *run;
    const Milestones *log;
    const SimLog *spans; /* the objects of slices; NULL: nothing was measured */
    const GArray *pods, *claims;
    uint32_t first_pod, first_claim, first_call; /* numbers of slices; spans come first */
    GArray *marks;                               /* of Mark, finally sorted by time */
    GArray *lines;                               /* of Line */
    GArray *first_lines[N_GROUPS];               /* of uint32_t, for each track; 0: none yet */
    GArray *worker_of_span;                      /* of uint32_t: places in workers */
    GPtrArray *workers;                          /* names of tracks (owned) */
    GHashTable *nodes;                           /* interned name -> number, from 1 */
    unsigned n_arrows;
    ResultFile *file;
} ChromeTrace;

/* ---- Slices ---- */

/* Returns: the start of the call that ends with @end: the last one on the same node; TIME_UNSET if
 * it began before the run, or @end ends none */
static SimTime
find_start(const Milestones *log, const Milestone *end)
{
    const MilestoneCall *call = milestone_call(end->kind);

    if (call == NULL || call->ended != (MilestoneKind)end->kind)
        return TIME_UNSET;
    for (uint32_t i = end->previous; i != 0;) {
        const Milestone milestone = milestones_at(log, i - 1);
        if ((MilestoneKind)milestone.kind == call->started && milestone.node == end->node)
            return milestone.at;
        i = milestone.previous;
    }
    return TIME_UNSET;
}

/* Stages on the tracks of pods and of claims, in order of addition. */
static const Stage pod_stages[] = {STAGE_SCHEDULE, STAGE_ATTACH, STAGE_STAGE,     STAGE_PUBLISH,
                                   STAGE_PULL,     STAGE_START,  STAGE_POD_START, STAGE_STOP};
static const Stage claim_stages[] = {STAGE_BIND, STAGE_PROVISION};

static gboolean
claim_interval(const ClaimTimes *claim, Stage stage, SimTime *from, SimTime *to)
{
    *from = stage == STAGE_BIND ? claim->created : claim->asked;
    *to = stage == STAGE_BIND ? claim->bound : claim->volume_created;
    return *from != TIME_UNSET && *to != TIME_UNSET && (stage == STAGE_BIND || *to >= *from);
}

static void
add_mark(ChromeTrace *self, SimTime from, uint32_t what)
{
    ChromeTraceMark mark = {.from = from, .what = what};

    g_array_append_val(self->marks, mark);
}

static void
add_stages(ChromeTrace *self)
{
    SimTime from, to;

    for (unsigned i = 0; i < self->pods->len; i++)
        for (unsigned k = 0; k < G_N_ELEMENTS(pod_stages); k++)
            if (pod_times_interval(&g_array_index(self->pods, PodTimes, i), pod_stages[k], &from,
                                   &to))
                add_mark(self, from, self->first_pod + i * G_N_ELEMENTS(pod_stages) + k);
    for (unsigned i = 0; i < self->claims->len; i++)
        for (unsigned k = 0; k < G_N_ELEMENTS(claim_stages); k++)
            if (claim_interval(&g_array_index(self->claims, ClaimTimes, i), claim_stages[k], &from,
                               &to))
                add_mark(self, from, self->first_claim + i * G_N_ELEMENTS(claim_stages) + k);
}

/* A call has a slice on its volume's track, and one on its node's track, if it has a node. */
static void
add_calls(ChromeTrace *self)
{
    for (unsigned i = 0; i < milestones_count(self->log); i++) {
        const Milestone end = milestones_at(self->log, i);
        SimTime from = find_start(self->log, &end);
        if (from == TIME_UNSET)
            continue;
        add_mark(self, from, self->first_call + 2 * i);
        if (end.node != NULL)
            add_mark(self, from, self->first_call + 2 * i + 1);
    }
}

/* Hashes the addresses of the queue's names: there are many spans, and few queues. */
static guint
queue_hash(const void *data)
{
    const SimSpan *span = data;

    return g_direct_hash(span->job) * 31 + g_direct_hash(span->queue);
}

static gboolean
queue_equal(const void *a, const void *b)
{
    const SimSpan *one = a, *other = b;

    return one->job == other->job && one->queue == other->queue;
}

/* Queues of one name share a track. Returns: its place in workers */
static uint32_t
worker_number(ChromeTrace *self, const SimSpan *span, GHashTable *by_name)
{
    g_autofree char *name = g_strdup_printf("%s: %s", span->job, span->queue);
    uint32_t number = GPOINTER_TO_UINT(g_hash_table_lookup(by_name, name));

    if (number == 0) {
        g_hash_table_insert(by_name, name, GUINT_TO_POINTER(self->workers->len + 1));
        g_ptr_array_add(self->workers, g_steal_pointer(&name));
        number = self->workers->len;
    }
    return number - 1;
}

static void
add_workers(ChromeTrace *self)
{
    g_autoptr(GHashTable) by_queue = g_hash_table_new(queue_hash, queue_equal);
    g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; self->spans != NULL && i < self->spans->len; i++) {
        SimSpan *span = &sim_log_index(self->spans, SimSpan, i);
        uint32_t number = GPOINTER_TO_UINT(g_hash_table_lookup(by_queue, span));
        if (number == 0) {
            number = worker_number(self, span, by_name) + 1;
            g_hash_table_insert(by_queue, span, GUINT_TO_POINTER(number));
        }
        number--;
        g_array_append_val(self->worker_of_span, number);
        add_mark(self, span->from, i);
    }
}

static ChromeTraceSlice
worker_slice(const ChromeTrace *self, uint32_t i)
{
    const SimSpan *span = &sim_log_index(self->spans, SimSpan, i);
    uint32_t worker = g_array_index(self->worker_of_span, uint32_t, i);

    return (ChromeTraceSlice){.group = GROUP_COMPONENTS,
                              .number = worker,
                              .track = self->workers->pdata[worker],
                              .name = span->subject,
                              .to = span->to};
}

static ChromeTraceSlice
pod_slice(const ChromeTrace *self, uint32_t i)
{
    const PodTimes *pod = &g_array_index(self->pods, PodTimes, i / G_N_ELEMENTS(pod_stages));
    Stage stage = pod_stages[i % G_N_ELEMENTS(pod_stages)];
    ChromeTraceSlice slice = {.group = GROUP_PODS,
                              .number = pod->pod->slot,
                              .track = pod->pod->text,
                              .name = stage_name(stage)};
    SimTime from;

    pod_times_interval(pod, stage, &from, &slice.to);
    return slice;
}

static ChromeTraceSlice
claim_slice(const ChromeTrace *self, uint32_t i)
{
    const ClaimTimes *claim =
        &g_array_index(self->claims, ClaimTimes, i / G_N_ELEMENTS(claim_stages));
    Stage stage = claim_stages[i % G_N_ELEMENTS(claim_stages)];
    ChromeTraceSlice slice = {
        .group = GROUP_CLAIMS,
        .number = claim->claim->slot,
        .track = claim->claim->text,
        .name = stage_name(stage == STAGE_BIND && claim->is_restored ? STAGE_RESTORE : stage)};
    SimTime from;

    claim_interval(claim, stage, &from, &slice.to);
    return slice;
}

static ChromeTraceSlice
call_slice(const ChromeTrace *self, uint32_t i)
{
    const Milestone end = milestones_at(self->log, i / 2);
    gboolean is_of_node = i % 2 == 1;

    return (ChromeTraceSlice){
        .group = is_of_node                                 ? GROUP_NODES
                 : end.object->kind == KIND_VOLUME_SNAPSHOT ? GROUP_SNAPSHOTS
                                                            : GROUP_VOLUMES,
        .number = is_of_node ? 0 : end.object->slot,
        .track = is_of_node ? end.node : end.object->text,
        .name = csi_method_name(milestone_call(end.kind)->method),
        .subject = is_of_node ? end.object->text : end.node,
        .code = end.code == CSI_OK ? NULL : csi_code_name((CsiCode)end.code),
        .to = end.at,
    };
}

static ChromeTraceSlice
slice_of(const ChromeTrace *self, const ChromeTraceMark *mark)
{
    if (mark->what >= self->first_call)
        return call_slice(self, mark->what - self->first_call);
    if (mark->what >= self->first_claim)
        return claim_slice(self, mark->what - self->first_claim);
    if (mark->what >= self->first_pod)
        return pod_slice(self, mark->what - self->first_pod);
    return worker_slice(self, mark->what);
}

/* ---- Order ---- */

/* Orders two slices that begin at one instant. */
static int
compare_ties(const ChromeTrace *self, const ChromeTraceMark *one, const ChromeTraceMark *other)
{
    const ChromeTraceSlice a = slice_of(self, one), b = slice_of(self, other);

    /* the longer slice contains the other */
    return ORDER(b.to, a.to) ?: ORDER(a.group, b.group) ?: g_strcmp0(a.track, b.track)
        ?: g_strcmp0(a.name, b.name) ?: ORDER(one->what, other->what);
}

static int
compare_marks(const void *a, const void *b, void *self)
{
    const ChromeTraceMark *one = a, *other = b;

    return ORDER(one->from, other->from) ?: compare_ties(self, one, other);
}

#define SORT_AT_ONCE 4096 /* marks; GLib's sort needs as much memory again */

/* Divides marks by the time of the middle one: earlier, equal, later. @n_earlier, @n_equal: (out)
 */
static void
divide_marks(ChromeTraceMark *marks, gsize n, gsize *n_earlier, gsize *n_equal)
{
    SimTime from = marks[n / 2].from;
    gsize earlier = 0, later = n;

    for (gsize i = 0; i < later;) {
        gboolean is_later = marks[i].from > from;
        gsize other = is_later ? --later : marks[i].from < from ? earlier++ : i;
        ChromeTraceMark mark = marks[i];
        marks[i] = marks[other];
        marks[other] = mark;
        i += !is_later; /* what came from the end is not known yet */
    }
    *n_earlier = earlier;
    *n_equal = later - earlier;
}

static void
sort_marks(const ChromeTrace *self, ChromeTraceMark *marks, gsize n)
{
    gsize n_earlier, n_equal;

    while (n > SORT_AT_ONCE) {
        divide_marks(marks, n, &n_earlier, &n_equal);
        sort_marks(self, marks, n_earlier);
        g_qsort_with_data(marks + n_earlier, (int)n_equal, sizeof(ChromeTraceMark), compare_marks,
                          (void *)self);
        marks += n_earlier + n_equal;
        n -= n_earlier + n_equal;
    }
    g_qsort_with_data(marks, (int)n, sizeof(ChromeTraceMark), compare_marks, (void *)self);
}

/* Returns: the mark of an existing slice */
static const ChromeTraceMark *
find_mark(const ChromeTrace *self, SimTime from, uint32_t what)
{
    const ChromeTraceMark wanted = {.from = from, .what = what};
    const ChromeTraceMark *marks = (const ChromeTraceMark *)(const void *)self->marks->data;
    gsize low = 0, high = self->marks->len;

    while (low < high) {
        gsize middle = low + (high - low) / 2;
        if (marks[middle].what == what)
            return &marks[middle];
        if (compare_marks(&marks[middle], &wanted, (void *)self) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    g_assert_not_reached();
}

/* ---- Lines ---- */

/* Begins an item, on a line of its own in the file. */
static void
begin_item(ChromeTrace *self, const char *phase)
{
    ResultFile *file = self->file;

    result_file_end_row(file);
    append_text(file->text, file->goes_on ? ",\n" : "\n");
    row_open(file, '{');
    row_json_text(file, "ph", phase);
}

/* Names a line of a track. @n: its place in the track, from 1 */
static void
chrome_trace_append_line(ChromeTrace *self,
                         const ChromeTraceSlice *slice,
                         uint32_t line,
                         unsigned n)
{
    ResultFile *file = self->file;

    begin_item(self, "M");
    row_json_text(file, "name", "thread_name");
    row_json_unsigned(file, "pid", slice->group);
    row_json_unsigned(file, "tid", line);
    row_key(file, "args");
    row_open(file, '{');
    row_key(file, "name");
    append_literal(file->text, "\"");
    append_json_letters(file->text, slice->track);
    if (n > 1) {
        append_literal(file->text, " (");
        append_unsigned(file->text, n);
        append_literal(file->text, ")");
    }
    append_literal(file->text, "\"");
    row_close(file, '}');
    row_close(file, '}');
}

static uint32_t
node_number(ChromeTrace *self, const char *node)
{
    uint32_t number = GPOINTER_TO_UINT(g_hash_table_lookup(self->nodes, node));

    if (number == 0) {
        number = g_hash_table_size(self->nodes) + 1;
        g_hash_table_insert(self->nodes, (void *)node, GUINT_TO_POINTER(number));
    }
    return number - 1;
}

/* Puts a slice on the first free line of its track, or on a new one. */
static void
place(ChromeTrace *self, ChromeTraceMark *mark)
{
    const ChromeTraceSlice slice = slice_of(self, mark);
    GArray *first_lines = self->first_lines[slice.group];
    uint32_t number = slice.group == GROUP_NODES ? node_number(self, slice.track) : slice.number;
    unsigned n = 1;

    if (number >= first_lines->len)
        g_array_set_size(first_lines, slots_to_hold(number, first_lines->len));
    uint32_t *link = &g_array_index(first_lines, uint32_t, number);
    for (; *link != 0; n++) {
        ChromeTraceLine *line = &g_array_index(self->lines, ChromeTraceLine, *link - 1);
        if (line->end <= mark->from) {
            line->end = slice.to;
            mark->line = *link;
            return;
        }
        link = &line->next;
    }
    *link = mark->line = self->lines->len + 1;
    ChromeTraceLine line = {.end = slice.to};
    g_array_append_val(self->lines, line);
    chrome_trace_append_line(self, &slice, mark->line, n);
}

static void
append_slice(ChromeTrace *self, const ChromeTraceMark *mark)
{
    ResultFile *file = self->file;
    const ChromeTraceSlice slice = slice_of(self, mark);

    begin_item(self, "X");
    row_json_text(file, "name", slice.name);
    row_json_text(file, "cat", group_names[slice.group]);
    row_json_unsigned(file, "pid", slice.group);
    row_json_unsigned(file, "tid", mark->line);
    row_json_us(file, "ts", mark->from);
    row_json_us(file, "dur", slice.to - mark->from);
    if (slice.subject != NULL || slice.code != NULL) {
        row_key(file, "args");
        row_open(file, '{');
        if (slice.subject != NULL)
            row_json_text(file, "of", slice.subject);
        if (slice.code != NULL)
            row_json_text(file, "code", slice.code);
        row_close(file, '}');
    }
    row_close(file, '}');
}

/* ---- Arrows ---- */

/* The next slice of an arrow. */
typedef struct {
    SimTime from, to;
    uint32_t what;
} ChromeTraceTarget;

/* Finds the last call of a method about a volume that ended by @limit. @node: the track to find it
 * on; NULL: the volume's track */
static gboolean
find_call(const ChromeTrace *self,
          const ObjectKey *volume,
          CsiMethod method,
          const char *node,
          SimTime limit,
          ChromeTraceTarget *found)
{
    gboolean is_found = FALSE;

    for (uint32_t i = milestones_last(self->log, volume), previous; i != 0; i = previous) {
        const Milestone end = milestones_at(self->log, i - 1);
        const MilestoneCall *call = milestone_call(end.kind);
        previous = end.previous;
        if (call == NULL || call->method != method || end.at > limit ||
            (node != NULL && end.node != node))
            continue;
        SimTime from = find_start(self->log, &end);
        if (from == TIME_UNSET || (is_found && from < found->from) ||
            (is_found && from == found->from && end.at >= found->to))
            continue;
        *found = (ChromeTraceTarget){from, end.at, self->first_call + 2 * (i - 1) + (node != NULL)};
        is_found = TRUE;
    }
    return is_found;
}

/* Claims by name, since names may be used again. Places in claims, from 1 */
typedef struct {
    uint32_t *last;     /* (owned) by slot */
    uint32_t *previous; /* (owned) by place: the one before with the same name */
} ClaimIndex;

static ClaimIndex
index_claims(const ChromeTrace *self)
{
    ClaimIndex index = {
        .last = g_new0(uint32_t, objects_n_keys(run_objects(self->run), KIND_CLAIM)),
        .previous = g_new(uint32_t, self->claims->len),
    };

    for (unsigned i = 0; i < self->claims->len; i++) {
        uint32_t *last = &index.last[g_array_index(self->claims, ClaimTimes, i).claim->slot];
        index.previous[i] = *last;
        *last = i + 1;
    }
    return index;
}

/* Finds the last provisioning of a claim that ended by @limit. */
static gboolean
find_provision(const ChromeTrace *self,
               const ClaimIndex *index,
               const ObjectKey *claim,
               SimTime limit,
               ChromeTraceTarget *found)
{
    gboolean is_found = FALSE;

    for (uint32_t i = index->last[claim->slot]; i != 0; i = index->previous[i - 1]) {
        ChromeTraceTarget target = {.what = self->first_claim +
                                            (i - 1) * G_N_ELEMENTS(claim_stages) + 1};
        const ClaimTimes *times = &g_array_index(self->claims, ClaimTimes, i - 1);
        if (!claim_interval(times, STAGE_PROVISION, &target.from, &target.to) ||
            target.to > limit || (is_found && target.from < found->from) ||
            (is_found && target.from == found->from && target.to >= found->to))
            continue;
        *found = target;
        is_found = TRUE;
    }
    return is_found;
}

static void
append_flow(ChromeTrace *self,
            ChromeTraceGroup group,
            const ChromeTraceMark *mark,
            const char *phase,
            unsigned id,
            SimTime at)
{
    ResultFile *file = self->file;

    begin_item(self, phase);
    row_json_text(file, "name", "pod start");
    row_json_text(file, "cat", "pod start");
    row_json_unsigned(file, "id", id);
    row_json_unsigned(file, "pid", group);
    row_json_unsigned(file, "tid", mark->line);
    row_json_us(file, "ts", at);
    if (*phase == 'f')
        row_json_text(file, "bp", "e");
    row_close(file, '}');
}

/* Appends the next step of an arrow, unless the step came earlier: volumes may be older than their
 * pod. */
static void
append_step(ChromeTrace *self,
            ChromeTraceGroup group,
            const ChromeTraceTarget *target,
            unsigned id,
            SimTime *at)
{
    if (target->from < *at)
        return;
    *at = target->from;
    append_flow(self, group, find_mark(self, target->from, target->what), "t", id, *at);
}

/* Appends an arrow from a pod's creation to its readiness, through the calls for one of its
 * volumes, on the tracks of the claim, the volume and the node. */
static void
append_arrow(ChromeTrace *self,
             const PodTimes *pod,
             const ChromeTraceMark *whole,
             const ObjectKey *claim,
             const ClaimIndex *index,
             const ObjectKey *volume)
{
    static const CsiMethod at_controller[] = {CSI_CREATE_VOLUME, CSI_CONTROLLER_PUBLISH_VOLUME},
                           on_node[] = {CSI_NODE_STAGE_VOLUME, CSI_NODE_PUBLISH_VOLUME};
    unsigned id = ++self->n_arrows;
    SimTime at = pod->created;
    ChromeTraceTarget target;

    append_flow(self, GROUP_PODS, whole, "s", id, at);
    if (find_provision(self, index, claim, pod->ready, &target))
        append_step(self, GROUP_CLAIMS, &target, id, &at);
    for (unsigned i = 0; i < G_N_ELEMENTS(at_controller); i++)
        if (find_call(self, volume, at_controller[i], NULL, pod->ready, &target))
            append_step(self, GROUP_VOLUMES, &target, id, &at);
    for (unsigned i = 0; pod->node != NULL && i < G_N_ELEMENTS(on_node); i++)
        if (find_call(self, volume, on_node[i], pod->node, pod->ready, &target))
            append_step(self, GROUP_NODES, &target, id, &at);
    append_flow(self, GROUP_PODS, whole, "f", id, pod->ready);
}

/* Appends an arrow for each volume of a pod that comes from a claim. */
static void
append_arrows(ChromeTrace *self, const ClaimIndex *index, unsigned i)
{
    const PodTimes *pod = &g_array_index(self->pods, PodTimes, i);
    const PodRecord *record = milestones_pod(self->log, i);
    const ChromeTraceMark *whole = NULL;
    unsigned k = 0;

    if (pod->ready == TIME_UNSET || pod->created == TIME_UNSET || record->volumes == NULL)
        return;
    while (pod_stages[k] != STAGE_POD_START)
        k++;
    for (unsigned v = 0; v < record->volumes->n_items; v++) {
        const char *name = record->volumes->items[v].claim_name;
        const ObjectKey *claim = name == NULL ? NULL
                                              : objects_find_key(run_objects(self->run), KIND_CLAIM,
                                                                 pod->pod->namespace, name);
        const ObjectKey *volume = claim == NULL ? NULL : milestones_volume_of(self->log, claim);
        if (volume == NULL)
            continue;
        if (whole == NULL)
            whole =
                find_mark(self, pod->created, self->first_pod + i * G_N_ELEMENTS(pod_stages) + k);
        append_arrow(self, pod, whole, claim, index, volume);
    }
}

/* ---- All of it ---- */

/* Appends the name and the place of a group of tracks. */
static void
append_group(ChromeTrace *self, ChromeTraceGroup group)
{
    ResultFile *file = self->file;

    begin_item(self, "M");
    row_json_text(file, "name", "process_name");
    row_json_unsigned(file, "pid", group);
    row_key(file, "args");
    row_open(file, '{');
    row_json_text(file, "name", group_names[group]);
    row_close(file, '}');
    row_close(file, '}');
    begin_item(self, "M");
    row_json_text(file, "name", "process_sort_index");
    row_json_unsigned(file, "pid", group);
    row_key(file, "args");
    row_open(file, '{');
    row_json_unsigned(file, "sort_index", group);
    row_close(file, '}');
    row_close(file, '}');
}

static void
chrome_trace_init(ChromeTrace *self, const Run *run, const Stages *stages, ResultFile *file)
{
    const SimMetrics *metrics = sim_metrics(run_sim(run));

    *self = (ChromeTrace){
        .run = run,
        .log = run_milestones(run),
        .spans = metrics == NULL ? NULL : sim_metrics_spans(metrics),
        .pods = stages_pods(stages),
        .claims = stages_claims(stages),
        .marks = g_array_new(FALSE, FALSE, sizeof(ChromeTraceMark)),
        .lines = g_array_new(FALSE, FALSE, sizeof(ChromeTraceLine)),
        .worker_of_span = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
        .workers = g_ptr_array_new_with_free_func(g_free),
        .nodes = g_hash_table_new(g_direct_hash, g_direct_equal),
        .file = file,
    };
    self->first_pod = self->spans == NULL ? 0 : self->spans->len;
    self->first_claim = self->first_pod + self->pods->len * G_N_ELEMENTS(pod_stages);
    self->first_call = self->first_claim + self->claims->len * G_N_ELEMENTS(claim_stages);
    for (unsigned group = 0; group < N_GROUPS; group++)
        self->first_lines[group] = g_array_new(FALSE, TRUE, sizeof(uint32_t));
}

static void
chrome_trace_clear(ChromeTrace *self)
{
    for (unsigned group = 0; group < N_GROUPS; group++)
        g_array_unref(self->first_lines[group]);
    g_array_unref(self->marks);
    g_array_unref(self->lines);
    g_array_unref(self->worker_of_span);
    g_ptr_array_unref(self->workers);
    g_hash_table_unref(self->nodes);
}

void
chrome_trace(const Run *run, const Stages *stages, ResultFile *file)
{
    ChromeTrace self;

    chrome_trace_init(&self, run, stages, file);
    row_open(file, '{');
    row_json_text(file, "displayTimeUnit", "ms");
    row_key(file, "traceEvents");
    row_open(file, '[');
    unsigned n_groups = stages_snapshots(stages)->len > 0 ? N_GROUPS : GROUP_SNAPSHOTS;
    for (unsigned group = GROUP_COMPONENTS; group < n_groups; group++)
        append_group(&self, group);
    add_workers(&self);
    add_stages(&self);
    add_calls(&self);
    ChromeTraceMark *marks = (ChromeTraceMark *)(void *)self.marks->data;
    gsize n = self.marks->len;
    sort_marks(&self, marks, n);
    for (gsize i = 0; i < n; i++)
        place(&self, &marks[i]);
    for (gsize i = 0; i < n; i++)
        append_slice(&self, &marks[i]);
    ClaimIndex index = index_claims(&self);
    for (unsigned i = 0; i < self.pods->len; i++)
        append_arrows(&self, &index, i);
    append_literal(file->text, "\n");
    row_close(file, ']');
    row_close(file, '}');
    row_end(file);
    g_free(index.last);
    g_free(index.previous);
    chrome_trace_clear(&self);
}
