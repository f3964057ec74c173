/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the time of an interval went: a walk backwards through the log of causes, from the event
 * that ends it, gives a chain of waits, joined where neighbours are equal. A wait for a worker is
 * followed into the worker's own work. Sums over many chains are in attribution-sums.c; here they
 * become rows, bottlenecks and advice. A wait for a worker that itself waits for tokens is a wait
 * for tokens. */
#include "attribution-sums.h"
#include "chain.h"
#include "sim/order.h"

#include <string.h>

/* The number of blocks of the log that are kept unpacked, of 2 KiB each: for one walk, and for the
 * walks of a whole run. Walks of neighbours read the same blocks. */
#define BLOCKS_OF_WALK 32
#define BLOCKS_OF_RUN 2048

/* The number of steps in a run of one cause after which signs pay, and from sign to sign. */
#define RUN_STEPS 64

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

const char *
attribution_detail(const SimTrace *trace, SimWait wait, uint16_t detail)
{
    if (detail == 0)
        return "";
    switch ((WaitKind)wait) {
    case WAIT_API:
        return detail <= N_API_VERBS ? api_verb_words[detail - 1].text : "";
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

/* ---- Chains ---- */

static ChainReader *
reader_new(const SimTrace *trace, unsigned blocks_max)
{
    ChainReader *self = g_new0(ChainReader, 1);

    self->log = sim_trace_reader_new(trace, blocks_max);
    return self;
}

ChainReader *
chain_reader_new(const SimTrace *trace)
{
    return reader_new(trace, BLOCKS_OF_RUN);
}

void
chain_reader_free(ChainReader *self)
{
    if (self == NULL)
        return;
    pointer_map_clear(&self->signs, NULL);
    sim_trace_reader_free(self->log);
    g_free(self);
}

void
chain_pass_run(Chain *self, SimTime limit)
{
    PointerMap *signs = &self->reader->signs;
    SimWait wait = self->entry.wait;
    uint16_t detail = self->entry.detail;
    SimCauseId sign = 0;

    for (unsigned n = 1;
         self->entry.at > limit && self->entry.wait == wait && self->entry.detail == detail; n++) {
        SimCauseId next = self->entry.parent;
        if (n >= RUN_STEPS) {
            const void *key = GUINT_TO_POINTER(self->cause);
            void *aim = pointer_map_get(signs, key);
            if (aim != NULL)
                next = GPOINTER_TO_UINT(aim);
            if (n % RUN_STEPS == 0 && sign != 0)
                pointer_map_set(signs, GUINT_TO_POINTER(sign), (void *)key);
            if (n % RUN_STEPS == 0)
                sign = self->cause;
        }
        chain_go(self, next);
    }
}

/* Equal neighbours are joined. */
static void
append_link(GArray *links, unsigned first, ChainLink link)
{
    if (link.from == link.to)
        return;
    if (links->len > first) {
        ChainLink *last = &g_array_index(links, ChainLink, links->len - 1);
        if (last->wait == link.wait && last->detail == link.detail && last->behind == link.behind &&
            last->behind_detail == link.behind_detail) {
            last->from = link.from;
            return;
        }
    }
    g_array_append_val(links, link);
}

static void
append_behind(ChainReader *reader, SimCauseId waited, ChainLink link, GArray *links, unsigned first)
{
    Behind behind = behind_begin(reader, waited, link.detail, link.from, link.to);
    ChainLink part;

    while (behind_next(&behind, &part)) {
        link.from = part.from;
        link.to = part.to;
        link.behind = part.wait;
        link.behind_detail = part.detail;
        append_link(links, first, link);
    }
}

void
attribution_walk(const SimTrace *trace,
                 SimCauseId cause,
                 SimTime from,
                 SimTime to,
                 const ChainAnchor *anchor,
                 GArray *links)
{
    g_autoptr(ChainReader) reader = reader_new(trace, BLOCKS_OF_WALK);
    Chain chain = chain_begin(reader, cause, from, to, anchor);
    unsigned first = links->len;
    SimCauseId waited;
    ChainLink link;

    while (chain_next(&chain, &link, &waited))
        if (link.wait == WAIT_WORKERS)
            append_behind(reader, waited, link, links, first);
        else
            append_link(links, first, link);
}

void
attribution_chain(ChainReader *reader, const StageRecord *record, GArray *links)
{
    const ChainAnchor anchor = {record->scheduled, record->scheduled_by};
    Chain chain = chain_begin(reader, record->cause, record->from, record->to, &anchor);
    unsigned first = links->len;
    SimCauseId waited;
    ChainLink link;

    while (chain_next(&chain, &link, &waited))
        append_link(links, first, link);
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
attribution_find_row(Attribution *self, const AttributionRow *wanted)
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

typedef struct {
    Attribution *attribution;
    const SimTrace *trace;
} Rows;

static void
add_sum(void *rows, Stage stage, const ChainLink *link)
{
    const Rows *self = rows;
    AttributionRow row = {
        .stage = stage,
        .wait = link->wait,
        .behind = link->behind,
        .detail = attribution_detail(self->trace, link->wait, coarse(link->wait, link->detail)),
        .behind_detail = attribution_detail(self->trace, link->behind,
                                            coarse(link->behind, link->behind_detail)),
    };

    attribution_find_row(self->attribution, &row)->total += link->to - link->from;
}

void
attribution_add(Attribution *self, const Run *run, const Stages *stages)
{
    if (stages->sums != NULL)
        attribution_sums_each(stages->sums, add_sum, &(Rows){self, sim_trace(run_sim(run))});
}

void
attribution_add_object(Attribution *self,
                       const Run *run,
                       const Stages *stages,
                       const ObjectKey *object)
{
    Rows rows = {self, sim_trace(run_sim(run))};

    if (run_options(run)->untraced)
        return;
    g_autoptr(AttributionSums) sums = attribution_sums_new(rows.trace);
    const GArray *records = stages_records(stages);
    for (unsigned i = 0; i < records->len; i++) {
        const StageRecord *record = &g_array_index(records, StageRecord, i);
        if (record->object == object)
            attribution_sums_add(sums, record);
    }
    attribution_sums_end(sums);
    attribution_sums_each(sums, add_sum, &rows);
}

static int
attribution_compare_rows(const void *a, const void *b)
{
    const AttributionRow *one = a, *other = b;

    return ORDER(other->total, one->total)
           ?: ORDER(one->wait, other->wait)
           ?: strcmp(one->detail, other->detail)
           ?: ORDER(one->behind, other->behind)
           ?: strcmp(one->behind_detail, other->behind_detail);
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
    g_array_sort(rows, attribution_compare_rows);
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
    g_array_sort(merged, attribution_compare_rows);
    return merged;
}

/* ---- Advice ---- */

/* The limit behind a wait: the first row with its kind and a prefix of its detail. */
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
