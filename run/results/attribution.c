/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attribution.h"

#include "sim/pointer-map.h"

#include <string.h>

/* The number of log entries to read for the work of the keys ahead in one wait for workers. In a
 * crowd each key waits for all before it: to read everything for each would be quadratic. */
#define BEHIND_ENTRIES 256

/* ---- One chain ---- */

const char *
attribution_wait(SimWait wait)
{
    static const char *const names[N_WAITS] = {
#define WAIT_NAME(member, text) [member] = text,
        WAITS(WAIT_NAME)
#undef WAIT_NAME
    };

    return wait < N_WAITS ? names[wait] : "";
}

static const char *
verb_name(unsigned verb)
{
    static const char *const names[] = {
        [API_GET] = "GET",
        [API_LIST] = "LIST",
        [API_CREATE] = "POST",
        [API_UPDATE] = "PUT",
        [API_UPDATE_STATUS] = "PUT status",
        [API_PATCH] = "PATCH",
        [API_PATCH_STATUS] = "PATCH status",
        [API_DELETE] = "DELETE",
        [API_BIND] = "POST binding",
        [API_EVICT] = "POST eviction",
    };

    return verb < G_N_ELEMENTS(names) ? names[verb] : "";
}

const char *
attribution_detail(const SimTrace *trace, SimWait wait, uint16_t detail)
{
    if (detail == 0)
        return "";
    switch ((WaitKind)wait) {
    case WAIT_API:
        return verb_name(detail - 1u);
    case WAIT_WATCH:
        return kind_class((ObjectKind)(detail - 1))->kind;
    case WAIT_DRIVER:
    case WAIT_DRIVER_THROTTLE:
        return csi_method_name((CsiMethod)(detail - 1));
    case WAIT_NONE:
    case WAIT_SCENARIO:
    case WAIT_THINK:
    case WAIT_THROTTLE:
    case WAIT_QUEUE:
    case WAIT_WORKERS:
    case WAIT_BACKOFF:
    case WAIT_POLL:
    case WAIT_SCHEDULER_QUEUE:
    case WAIT_UNSCHEDULABLE:
    case WAIT_RUNTIME:
    case WAIT_STARTUP:
    case WAIT_GROUP:
    case WAIT_LABEL:
    case WAIT_IMAGE:
    case N_WAITS:
        break;
    }
    return sim_trace_label_text(trace, detail);
}

/* Where the links of a chain go: equal neighbours are joined on the way. */
typedef struct {
    ChainLink last; /* joined so far; without a length: none */
    void (*take)(void *data, const ChainLink *link);
    void *data;
} LinkSink;

static inline void
add_link(LinkSink *sink, ChainLink link)
{
    ChainLink *last = &sink->last;

    if (link.from == link.to)
        return;
    if (last->from == link.to && last->wait == link.wait && last->detail == link.detail &&
        last->behind == link.behind && last->behind_detail == link.behind_detail) {
        last->from = link.from;
        return;
    }
    if (last->from != last->to)
        sink->take(sink->data, last);
    *last = link;
}

/* A wait for workers: walks back through the keys that the freed worker had processed meanwhile. */
static inline void
walk_behind(const SimTrace *trace, SimCauseId waited, SimTime from, SimTime to, LinkSink *sink)
{
    uint16_t label = sim_trace_get(trace, waited)->detail;
    SimCauseId cause = sim_trace_releaser(trace, waited);
    const SimCause *entry = sim_trace_get(trace, cause);
    SimTime at = to;

    for (unsigned i = 0; i < BEHIND_ENTRIES && cause != 0 && at > from; i++) {
        SimCauseId releaser = entry->wait == WAIT_WORKERS && entry->detail == label
                                  ? sim_trace_releaser(trace, cause)
                                  : 0;
        if (releaser != 0) { /* the worker took up this key then; before, it had another one */
            cause = releaser;
            entry = sim_trace_get(trace, cause);
            continue;
        }
        const SimCause *parent = sim_trace_get(trace, entry->parent);
        SimTime start = MAX(parent->at, from);
        if (entry->at < at || entry->wait == WAIT_WORKERS)
            break;
        add_link(sink, (ChainLink){start, at, WAIT_WORKERS, label, entry->wait, entry->detail});
        at = start;
        cause = entry->parent;
        entry = parent;
    }
    add_link(sink, (ChainLink){from, at, WAIT_WORKERS, label, WAIT_NONE, 0});
}

/* See attribution_walk(). It is inline, so that the sums of a run need no list of links. */
static inline void
walk(const SimTrace *trace,
     SimCauseId cause,
     SimTime from,
     SimTime to,
     const ChainAnchor *anchor,
     LinkSink *sink)
{
    const SimCause *entry = sim_trace_get(trace, cause);
    SimTime at = to;

    while (at > from) {
        if (entry->at < at) { /* done from outside, at a time of the scenario */
            SimTime since = MAX(entry->at, from);
            add_link(sink, (ChainLink){.from = since, .to = at, .wait = WAIT_SCENARIO});
            at = since;
            continue;
        }
        const SimCause *parent = sim_trace_get(trace, entry->parent);
        SimTime since = MAX(parent->at, from);
        gboolean is_past = anchor != NULL && anchor->at != TIME_UNSET && since < anchor->at;
        if (is_past)
            since = MIN(anchor->at, at);
        if (entry->wait == WAIT_WORKERS)
            walk_behind(trace, cause, since, at, sink);
        else
            add_link(sink, (ChainLink){since, at, entry->wait, entry->detail, WAIT_NONE, 0});
        at = since;
        cause = is_past ? anchor->cause : entry->parent;
        entry = is_past ? sim_trace_get(trace, cause) : parent;
        if (is_past)
            anchor = NULL;
    }
    if (sink->last.from != sink->last.to)
        sink->take(sink->data, &sink->last);
}

static void
append_link(void *links, const ChainLink *link)
{
    g_array_append_vals(links, link, 1);
}

void
attribution_walk(const SimTrace *trace,
                 SimCauseId cause,
                 SimTime from,
                 SimTime to,
                 const ChainAnchor *anchor,
                 GArray *links)
{
    LinkSink sink = {.take = append_link, .data = links};

    walk(trace, cause, from, to, anchor, &sink);
}

void
attribution_chain(const Run *run, const StageRecord *record, GArray *links)
{
    const ChainAnchor anchor = {record->scheduled, record->scheduled_by};

    attribution_walk(sim_trace(run_sim(run)), record->cause, record->from, record->to, &anchor,
                     links);
}

/* ---- Sums ---- */

struct Attribution {
    GPtrArray *rows;      /* of AttributionRow (owned), in order of their first interval */
    GHashTable *names;    /* set of strings (owned) */
    GHashTable *by_cause; /* text of a row's cause -> AttributionRow */
};

Attribution *
attribution_new(void)
{
    Attribution *self = g_new0(Attribution, 1);

    self->rows = g_ptr_array_new_with_free_func(g_free);
    self->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->by_cause = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return self;
}

void
attribution_free(Attribution *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->by_cause);
    g_hash_table_unref(self->names);
    g_ptr_array_unref(self->rows);
    g_free(self);
}

static const char *
keep_name(Attribution *self, const char *name)
{
    char *kept = g_hash_table_lookup(self->names, name);

    if (kept == NULL) {
        kept = g_strdup(name);
        g_hash_table_add(self->names, kept);
    }
    return kept;
}

static AttributionRow *
find_row(Attribution *self, const AttributionRow *wanted)
{
    g_autofree char *key =
        g_strdup_printf("%d %d %d %s\n%s", (int)wanted->stage, (int)wanted->wait,
                        (int)wanted->behind, wanted->detail, wanted->behind_detail);
    AttributionRow *row = g_hash_table_lookup(self->by_cause, key);

    if (row != NULL)
        return row;
    row = g_new(AttributionRow, 1);
    *row = *wanted;
    row->detail = keep_name(self, wanted->detail);
    row->behind_detail = keep_name(self, wanted->behind_detail);
    g_ptr_array_add(self->rows, row);
    g_hash_table_insert(self->by_cause, g_steal_pointer(&key), row);
    return row;
}

/* Sums ignore the verb of a request and the kind of a watch. */
static uint16_t
coarse(SimWait wait, uint16_t detail)
{
    return wait == WAIT_API || wait == WAIT_WATCH || wait == WAIT_THINK ? 0 : detail;
}

/* Sums of one run, by numbers: names are looked up only at the end. A run has some hundred sums and
 * a thousand links for each pod. */
typedef struct {
    ChainLink link; /* the first */
    Stage stage;
    SimTime total;
    unsigned count;
} Sum;

typedef struct {
    GPtrArray *sums;     /* of Sum (owned) */
    PointerMap by_cause; /* stage and cause of a link, as a number -> Sum */
    Stage stage;         /* of the chain that is walked */
} Sums;

static const void *
sum_key(Stage stage, const ChainLink *link)
{
    G_STATIC_ASSERT(N_WAITS < 256 && sizeof(void *) == sizeof(uint64_t));

    return (const void *)(uintptr_t)((uint64_t)(stage + 1) << 56 | (uint64_t)link->wait << 48 |
                                     (uint64_t)link->detail << 32 | (uint64_t)link->behind << 16 |
                                     link->behind_detail);
}

static inline void
sum_link(void *sums, const ChainLink *link)
{
    Sums *self = sums;
    const void *key = sum_key(self->stage, link);
    Sum *sum = pointer_map_get(&self->by_cause, key);

    if (sum == NULL) {
        sum = g_new0(Sum, 1);
        sum->link = *link;
        sum->stage = self->stage;
        g_ptr_array_add(self->sums, sum);
        pointer_map_set(&self->by_cause, key, sum);
    }
    sum->total += link->to - link->from;
    sum->count++;
}

static void
add_sum(Attribution *self, const SimTrace *trace, const Sum *sum)
{
    const ChainLink *link = &sum->link;
    AttributionRow wanted = {
        .stage = sum->stage,
        .wait = link->wait,
        .behind = link->behind,
        .detail = attribution_detail(trace, link->wait, coarse(link->wait, link->detail)),
        .behind_detail =
            attribution_detail(trace, link->behind, coarse(link->behind, link->behind_detail)),
    };
    AttributionRow *row = find_row(self, &wanted);

    row->total += sum->total;
    row->count += sum->count;
}

/* @object: NULL: all */
static void
add_records(Attribution *self, const Run *run, const Stages *stages, const ObjectKey *object)
{
    const SimTrace *trace = sim_trace(run_sim(run));
    g_autoptr(GPtrArray) sums = g_ptr_array_new_with_free_func(g_free);
    Sums by_cause = {.sums = sums};

    if (run_options(run)->untraced)
        return;
    const GArray *records = stages_records(stages);
    for (unsigned i = 0; i < records->len; i++) {
        const StageRecord *record = &g_array_index(records, StageRecord, i);
        if (object != NULL && record->object != object)
            continue;
        const ChainAnchor anchor = {record->scheduled, record->scheduled_by};
        LinkSink sink = {.take = sum_link, .data = &by_cause};
        by_cause.stage = record->stage;
        walk(trace, record->cause, record->from, record->to, &anchor, &sink);
    }
    for (unsigned i = 0; i < sums->len; i++)
        add_sum(self, trace, sums->pdata[i]);
    pointer_map_clear(&by_cause.by_cause, NULL);
}

void
attribution_add(Attribution *self, const Run *run, const Stages *stages)
{
    add_records(self, run, stages, NULL);
}

void
attribution_add_object(Attribution *self,
                       const Run *run,
                       const Stages *stages,
                       const ObjectKey *object)
{
    add_records(self, run, stages, object);
}

static int
compare_rows(const void *a, const void *b)
{
    const AttributionRow *one = a, *other = b;

    if (one->total != other->total)
        return one->total > other->total ? -1 : 1;
    if (one->wait != other->wait)
        return one->wait < other->wait ? -1 : 1;
    int by_detail = strcmp(one->detail, other->detail);
    if (by_detail != 0)
        return by_detail;
    return one->behind != other->behind ? (one->behind < other->behind ? -1 : 1)
                                        : strcmp(one->behind_detail, other->behind_detail);
}

GArray *
attribution_rows(const Attribution *self, Stage stage, SimTime *sum)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(AttributionRow));

    *sum = 0;
    for (unsigned i = 0; i < self->rows->len; i++) {
        const AttributionRow *row = self->rows->pdata[i];
        if (row->stage != stage)
            continue;
        g_array_append_vals(rows, row, 1);
        *sum += row->total;
    }
    g_array_sort(rows, compare_rows);
    return rows;
}

void
attribution_merge_row(GArray *rows, const AttributionRow *row)
{
    for (unsigned i = 0; i < rows->len; i++) {
        AttributionRow *other = &g_array_index(rows, AttributionRow, i);
        if (other->wait != row->wait || !g_str_equal(other->detail, row->detail))
            continue;
        other->total += row->total;
        other->count += row->count;
        return;
    }
    g_array_append_vals(rows, row, 1);
}

/* The time waited for workers of @detail's queue. @is_known: while it is known what they did */
static SimTime
behind_total(const GArray *rows, const char *detail, gboolean is_known)
{
    SimTime total = 0;

    for (unsigned i = 0; i < rows->len; i++) {
        const AttributionRow *row = &g_array_index(rows, AttributionRow, i);
        if (row->wait == WAIT_WORKERS && (row->behind != WAIT_NONE) == is_known &&
            g_str_equal(row->detail, detail))
            total += row->total;
    }
    return total;
}

/* A wait for a worker that waits for tokens is a wait for tokens. If the worker was at work, more
 * workers would help, so the wait stays as it is. Unknown time is divided as the known time is. */
GArray *
attribution_bottlenecks(const Attribution *self, Stage stage, SimTime *sum)
{
    g_autoptr(GArray) rows = attribution_rows(self, stage, sum);
    GArray *merged = g_array_new(FALSE, FALSE, sizeof(AttributionRow));

    for (unsigned i = 0; i < rows->len; i++) {
        AttributionRow row = g_array_index(rows, AttributionRow, i);
        if (row.wait == WAIT_WORKERS) {
            SimTime known = behind_total(rows, row.detail, TRUE);
            if (row.behind == WAIT_NONE && known > 0)
                continue;
            if (known > 0)
                row.total += (SimTime)((double)behind_total(rows, row.detail, FALSE) *
                                       ((double)row.total / (double)known));
            if (row.behind == WAIT_THROTTLE || row.behind == WAIT_DRIVER_THROTTLE) {
                row.wait = row.behind;
                row.detail = row.behind_detail;
            }
        }
        row.behind = WAIT_NONE;
        row.behind_detail = "";
        attribution_merge_row(merged, &row);
    }
    g_array_sort(merged, compare_rows);
    return merged;
}

/* ---- Advice ---- */

/* What sets the length of a wait: the first row with its kind and a prefix of its detail. */
/* clang-format off */
static const struct {
    WaitKind wait;
    const char *prefix, *advice;
} advices[] = {
    {WAIT_THROTTLE, "external-", "the limit is this sidecar's --kube-api-qps and --kube-api-burst"},
    {WAIT_THROTTLE, "kubelet", "the limit is the kubelet's kubeAPIQPS and kubeAPIBurst"},
    {WAIT_THROTTLE, "kube-scheduler",
     "the limit is the scheduler's clientConnection.qps and .burst"},
    {WAIT_THROTTLE, "snapshot-controller",
     "the limit is the snapshot-controller's --kube-api-qps and --kube-api-burst"},
    {WAIT_THROTTLE, "",
     "the limit is kube-controller-manager's --kube-api-qps and --kube-api-burst, of each "
     "controller"},
    {WAIT_WORKERS, "external-", "the limit is this sidecar's --worker-threads"},
    {WAIT_WORKERS, "snapshot-controller", "the limit is the snapshot-controller's --worker-threads"},
    {WAIT_WORKERS, "persistent-volume-binder",
     "the PV controller has one worker for claims and one for volumes, fixed in its code"},
    {WAIT_WORKERS, "", "the limit is the number of this controller's workers"},
    {WAIT_POLL, "kubelet/node status",
     "a volume is staged only after the kubelet has listed it in its Node's volumesInUse, which "
     "it does every nodeStatusUpdateFrequency (10 s)"},
    {WAIT_POLL, "kube-scheduler",
     "the scheduler looks once a second whether a pod's claims are bound, fixed in its code"},
    {WAIT_POLL, "attachdetach",
     "the attach/detach controller looks at a VolumeAttachment again after 0.5 s and then ever "
     "more rarely, fixed in its code"},
    {WAIT_POLL, "attach-detach",
     "the attach/detach controller passes every 100 ms, and waits for its own requests in "
     "between"},
    {WAIT_POLL, "kubelet", "the kubelet's loops have fixed periods of 100 ms to 1 s"},
    {WAIT_POLL, "", "a loop with a fixed period"},
    {WAIT_DRIVER, "", "this is the back end's own time for the call"},
    {WAIT_DRIVER_THROTTLE, "", "the limit is the back end's: spec.drivers[].limits"},
    {WAIT_BACKOFF, "external-snapshotter/",
     "the sidecar asks again whether the snapshot is ready, or tries again after a failure: the "
     "limit is its --retry-interval-start and --retry-interval-max"},
    {WAIT_BACKOFF, "external-",
     "the limit is this sidecar's --retry-interval-start and --retry-interval-max; see its "
     "Events for what failed"},
    {WAIT_BACKOFF, "", "something failed and is tried again after a growing pause; see the Events"},
    {WAIT_SCHEDULER_QUEUE, "", "the scheduler places one pod after the other"},
    {WAIT_UNSCHEDULABLE, "NodeVolumeLimits",
     "no node has room for another volume: the limit is what the driver reports for a node "
     "(attachLimit)"},
    {WAIT_UNSCHEDULABLE, "NodeResourcesFit", "no node has the CPU, memory or pods left: add nodes"},
    {WAIT_UNSCHEDULABLE, "VolumeBinding",
     "no node can have the pod's volumes: look at zones, capacity and node affinity of volumes"},
    {WAIT_UNSCHEDULABLE, "", "no node fits the pod: see the Events"},
    {WAIT_RUNTIME, "kubelet/PLEG relist", "the kubelet asks its runtime once a second what runs"},
    {WAIT_RUNTIME, "", "the container runtime's own time"},
    {WAIT_STARTUP, "", "a process or a plugin was starting"},
    {WAIT_GROUP, "",
     "the kubelet changes the group of each file to the pod's fsGroup at each mount; with "
     "fsGroupChangePolicy: OnRootMismatch only at the first"},
    {WAIT_LABEL, "",
     "the container runtime labels each file for SELinux at each start; a volume that is mounted "
     "with its label needs none of that (seLinuxMount of the CSIDriver)"},
    {WAIT_IMAGE, "",
     "a node pulls one image after the other, each once: smaller images, images that are there "
     "beforehand, or serializeImagePulls: false"},
    {WAIT_API, "", "the API server's own time for requests"},
    {WAIT_WATCH, "", "the time that changes take to be seen"},
    {WAIT_THINK, "", "the components' own time between requests"},
    {WAIT_SCENARIO, "", "nothing was to be done until the scenario went on"},
};
/* clang-format on */

char *
attribution_advice(const AttributionRow *row)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(advices); i++)
        if (advices[i].wait == (WaitKind)row->wait &&
            g_str_has_prefix(row->detail, advices[i].prefix))
            return g_strdup(advices[i].advice);
    return g_strdup("");
}
