/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "attribution.h"

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

/* ---- Steps back ---- */

/* A chain, from its end to its start. */
typedef struct {
    const SimTrace *trace;
    SimCauseId cause; /* of what lies before @at */
    SimCause entry;   /* of @cause */
    SimTime from, at; /* what is left of the chain */
    ChainAnchor anchor;
} Chain;

static inline Chain
chain_begin(
    const SimTrace *trace, SimCauseId cause, SimTime from, SimTime to, const ChainAnchor *anchor)
{
    return (Chain){.trace = trace,
                   .cause = cause,
                   .entry = *sim_trace_get(trace, cause),
                   .from = from,
                   .at = to,
                   .anchor = anchor != NULL ? *anchor : (ChainAnchor){.at = TIME_UNSET}};
}

/* @link: (out): the next interval; may have no length
 * @waited: (out): the entry of a wait for workers: see behind_begin()
 * Returns: FALSE: there is none */
static inline gboolean
chain_next(Chain *self, ChainLink *link, SimCauseId *waited)
{
    SimTime to = self->at;

    if (to <= self->from)
        return FALSE;
    if (self->entry.at < to) { /* done from outside, at a time of the scenario */
        self->at = MAX(self->entry.at, self->from);
        *link = (ChainLink){.from = self->at, .to = to, .wait = WAIT_SCENARIO};
        return TRUE;
    }
    SimWait wait = self->entry.wait;
    uint16_t detail = self->entry.detail;
    *waited = self->cause;
    self->cause = self->entry.parent;
    self->entry = *sim_trace_get(self->trace, self->cause);
    self->at = MAX(self->entry.at, self->from);
    if (self->anchor.at != TIME_UNSET && self->at < self->anchor.at) {
        self->at = MIN(self->anchor.at, to);
        self->cause = self->anchor.cause;
        self->entry = *sim_trace_get(self->trace, self->cause);
        self->anchor.at = TIME_UNSET;
    }
    *link = (ChainLink){.from = self->at, .to = to, .wait = wait, .detail = detail};
    return TRUE;
}

/* A wait for workers, from its end to its start: what the freed worker had done meanwhile. */
typedef struct {
    const SimTrace *trace;
    SimCauseId cause; /* as in Chain */
    SimCause entry;
    SimTime from, at;
    uint16_t label; /* of the queue */
    unsigned n_to_read;
} Behind;

static inline Behind
behind_begin(const SimTrace *trace, SimCauseId waited, const ChainLink *link)
{
    SimCauseId cause = sim_trace_releaser(trace, waited);

    return (Behind){.trace = trace,
                    .cause = cause,
                    .entry = *sim_trace_get(trace, cause),
                    .from = link->from,
                    .at = link->to,
                    .label = link->detail,
                    .n_to_read = BEHIND_ENTRIES};
}

/* @part: (out): the next interval; WAIT_NONE: it is not known what the worker did. Returns: FALSE:
 * there is none */
static inline gboolean
behind_next(Behind *self, ChainLink *part)
{
    SimTime to = self->at;

    if (to <= self->from)
        return FALSE;
    for (; self->n_to_read > 0 && self->cause != 0; self->n_to_read--) {
        SimWait wait = self->entry.wait;
        uint16_t detail = self->entry.detail;
        if (wait == WAIT_WORKERS) { /* the worker took up this key then; before, it had another */
            self->cause = detail == self->label ? sim_trace_releaser(self->trace, self->cause) : 0;
            self->entry = *sim_trace_get(self->trace, self->cause);
            continue;
        }
        if (self->entry.at < to)
            break;
        self->n_to_read--;
        self->cause = self->entry.parent;
        self->entry = *sim_trace_get(self->trace, self->cause);
        self->at = MAX(self->entry.at, self->from);
        *part = (ChainLink){.from = self->at, .to = to, .wait = wait, .detail = detail};
        return TRUE;
    }
    self->at = self->from;
    *part = (ChainLink){.from = self->from, .to = to, .wait = WAIT_NONE};
    return TRUE;
}

/* ---- Lists ---- */

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
append_behind(
    const SimTrace *trace, SimCauseId waited, ChainLink link, GArray *links, unsigned first)
{
    Behind behind = behind_begin(trace, waited, &link);
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
    Chain chain = chain_begin(trace, cause, from, to, anchor);
    unsigned first = links->len;
    SimCauseId waited;
    ChainLink link;

    while (chain_next(&chain, &link, &waited))
        if (link.wait == WAIT_WORKERS)
            append_behind(trace, waited, link, links, first);
        else
            append_link(links, first, link);
}

static ChainAnchor
anchor_of(const StageRecord *record)
{
    return (ChainAnchor){record->scheduled, record->scheduled_by};
}

void
attribution_chain(const Run *run, const StageRecord *record, GArray *links)
{
    const ChainAnchor anchor = anchor_of(record);
    Chain chain =
        chain_begin(sim_trace(run_sim(run)), record->cause, record->from, record->to, &anchor);
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

/* The time by cause: a cause's place is computed from its wait and detail. NULL: no time yet. */
typedef SimTime *Totals;

/* The sums of one run. A run has some hundred sums and a thousand steps for each pod. */
typedef struct {
    const SimTrace *trace;
    unsigned n_details;
    Totals stages[N_STAGES];
    Totals
        *behind[N_STAGES]; /* by the label of the queue: the time in queues by what workers did */
} Sums;

static void
sums_init(Sums *self, const SimTrace *trace)
{
    unsigned n =
        MAX(sim_trace_n_labels(trace), MAX((unsigned)N_KINDS, (unsigned)CSI_N_METHODS) + 1);

    *self = (Sums){.trace = trace, .n_details = MAX(n, API_EVICT + 2u)};
    for (unsigned i = 0; i < N_STAGES; i++)
        self->behind[i] = g_new0(Totals, self->n_details);
}

static void
sums_clear(Sums *self)
{
    for (unsigned i = 0; i < N_STAGES; i++) {
        for (unsigned label = 0; label < self->n_details; label++)
            g_free(self->behind[i][label]);
        g_free(self->behind[i]);
        g_free(self->stages[i]);
    }
}

static inline SimTime *
find_total(const Sums *self, Totals *totals, SimWait wait, uint16_t detail)
{
    if (*totals == NULL)
        *totals = g_new0(SimTime, N_WAITS * self->n_details);
    return *totals + (wait * self->n_details + detail);
}

static inline void
sum_link(const Sums *self, Totals *totals, const ChainLink *link)
{
    *find_total(self, totals, link->wait, link->detail) += link->to - link->from;
}

static void
sum_record(Sums *self, const StageRecord *record)
{
    const ChainAnchor anchor = anchor_of(record);
    Chain chain = chain_begin(self->trace, record->cause, record->from, record->to, &anchor);
    SimCauseId waited;
    ChainLink link, part;

    while (chain_next(&chain, &link, &waited)) {
        if (link.wait != WAIT_WORKERS) {
            sum_link(self, &self->stages[record->stage], &link);
            continue;
        }
        Behind behind = behind_begin(self->trace, waited, &link);
        while (behind_next(&behind, &part))
            sum_link(self, &self->behind[record->stage][link.detail], &part);
    }
}

/* Adds a row for each cause of @totals. @row: its stage; if @is_behind, the queue, too */
static void
add_totals(
    Attribution *self, const Sums *sums, Totals totals, AttributionRow row, gboolean is_behind)
{
    SimWait *wait = is_behind ? &row.behind : &row.wait;
    const char **detail = is_behind ? &row.behind_detail : &row.detail;

    for (unsigned i = 0; totals != NULL && i < N_WAITS * sums->n_details; i++) {
        if (totals[i] == 0)
            continue;
        *wait = (SimWait)(i / sums->n_details);
        *detail =
            attribution_detail(sums->trace, *wait, coarse(*wait, (uint16_t)(i % sums->n_details)));
        find_row(self, &row)->total += totals[i];
    }
}

static void
add_sums(Attribution *self, const Sums *sums)
{
    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        AttributionRow row = {.stage = (Stage)stage, .detail = "", .behind_detail = ""};
        add_totals(self, sums, sums->stages[stage], row, FALSE);
        row.wait = WAIT_WORKERS;
        for (unsigned label = 0; label < sums->n_details; label++) {
            if (sums->behind[stage][label] == NULL)
                continue;
            row.detail = attribution_detail(sums->trace, WAIT_WORKERS, (uint16_t)label);
            add_totals(self, sums, sums->behind[stage][label], row, TRUE);
        }
    }
}

/* @object: NULL: all */
static void
add_records(Attribution *self, const Run *run, const Stages *stages, const ObjectKey *object)
{
    Sums sums;

    if (run_options(run)->untraced)
        return;
    sums_init(&sums, sim_trace(run_sim(run)));
    const GArray *records = stages_records(stages);
    for (unsigned i = 0; i < records->len; i++) {
        const StageRecord *record = &g_array_index(records, StageRecord, i);
        if (object == NULL || record->object == object)
            sum_record(&sums, record);
    }
    add_sums(self, &sums);
    sums_clear(&sums);
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
