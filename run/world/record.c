/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one place where an occurrence of a run becomes a record: this file observes the API server,
 * the drivers and the plans. (The call log and a served driver observe a driver themselves, because
 * they work without a run, too.) Subscribers stand in a list for each kind of record. A source is
 * observed from its first subscriber on: a run without a log of requests must not pay for it.
 *
 * Records are passed on and not kept. Measured with 20,000 pods from creation to deletion (no
 * limits, no files, 11.5 KB of peak memory per pod): a pod has 31 writes, 51 requests, 9 Events, 32
 * starts and ends of calls, and 179 steps. At 32 bytes each, one log of all takes 9.7 KB per pod,
 * which is 84 % more memory (1.35 GiB on 1.40 with 150,000 pods). Without the steps, and in place
 * of the milestones, it is still 25 %. So each subscriber keeps what it needs: milestones take 1.1
 * KB per pod, load and metrics next to nothing. */
#include "record.h"

#include "models/plan/plan.h"

typedef struct {
    RecordSee see;
    void *data;
} RecordSubscriber;

struct Records {
    Cluster *cluster;
    GArray *subscribers[N_RECORD_KINDS]; /* of RecordSubscriber */
};

static void
records_tell(const Records *self, const RunRecord *record)
{
    const GArray *subscribers = self->subscribers[record->kind];

    for (unsigned i = 0; i < subscribers->len; i++) {
        const RecordSubscriber *subscriber = &g_array_index(subscribers, RecordSubscriber, i);
        subscriber->see(subscriber->data, record);
    }
}

/* ---- Sources ---- */

static void
record_write(void *data, const Object *before, const Object *after)
{
    records_tell(data, &(RunRecord){.kind = RECORD_WRITE,
                                    .object = (after != NULL ? after : before)->key,
                                    .before = before,
                                    .after = after});
}

static void
record_request(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    records_tell(data, &(RunRecord){.kind = RECORD_REQUEST,
                                    .object = request->key,
                                    .request = request,
                                    .arrived_at = arrived_at,
                                    .code = code});
}

static void
record_event(void *data, const ApiEventWrite *event, SimTime responds_at)
{
    records_tell(data, &(RunRecord){.kind = RECORD_EVENT,
                                    .object = event->event.involved,
                                    .event = event,
                                    .responds_at = responds_at});
}

static void
record_start(void *data, const CsiCallRecord *call)
{
    records_tell(data, &(RunRecord){.kind = RECORD_CALL_STARTED, .call = call});
}

static void
record_answer(void *data, const CsiCallRecord *call)
{
    records_tell(data, &(RunRecord){.kind = RECORD_CALL_ANSWERED, .call = call});
}

static void
record_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    records_tell(data, &(RunRecord){.kind = RECORD_STEP,
                                    .object = plan_key(plan),
                                    .component = component,
                                    .plan = plan,
                                    .rule = rule,
                                    .step = step});
}

void
records_add_driver(Records *self, CsiDriver *driver)
{
    csi_driver_add_observer(
        driver, &(CsiObserver){.started = record_start, .answered = record_answer, .data = self});
}

static void
observe_source(Records *self, RecordKind kind)
{
    ApiServer *api = cluster_api(self->cluster);

    switch (kind) {
    case RECORD_WRITE:
        api_server_observe(api, record_write, self);
        return;
    case RECORD_REQUEST:
        api_server_observe_requests(api, record_request, self);
        return;
    case RECORD_EVENT:
        api_server_observe_events(api, record_event, self);
        return;
    case RECORD_STEP:
        cluster_observe_plans(self->cluster, record_step, self);
        return;
    case RECORD_CALL_STARTED:
    case RECORD_CALL_ANSWERED:
    case N_RECORD_KINDS:
        return; /* records_add_driver() */
    }
}

/* ---- Subscribers ---- */

void
records_watch(Records *self, RecordKind kind, RecordSee see, void *data)
{
    const RecordSubscriber subscriber = {see, data};

    if (self->subscribers[kind]->len == 0)
        observe_source(self, kind);
    g_array_append_val(self->subscribers[kind], subscriber);
}

Records *
records_new(Cluster *cluster)
{
    Records *self = g_new0(Records, 1);

    self->cluster = cluster;
    for (unsigned kind = 0; kind < N_RECORD_KINDS; kind++)
        self->subscribers[kind] = g_array_new(FALSE, FALSE, sizeof(RecordSubscriber));
    return self;
}

void
records_free(Records *self)
{
    for (unsigned kind = 0; self != NULL && kind < N_RECORD_KINDS; kind++)
        g_array_unref(self->subscribers[kind]);
    g_free(self);
}
