/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LeaderElector in tools/leaderelection/leaderelection.go. A candidate tries at drawn intervals and
 * takes a Lease whose holder has not renewed it for its duration, counted from the instant at which
 * this process saw the last renewal, because clocks may differ (CGO-61). A leader tries at a fixed
 * rate until its renew deadline and then stops (CGO-62). It writes over the Lease as last seen, and
 * reads the Lease only if that fails. A request under way outlives its elector. */
#include "leader-election.h"

#include "event-recorder.h"
#include "models/api/lease.h"
#include "process-private.h"

#define JITTER 1.2 /* JitterFactor: a candidate waits uniform [R, 2.2 R) (CGO-60) */

/* A request under way outlives the elector. */
typedef struct {
    LeaderElector *elector; /* NULL: the elector is gone */
    Object *object;         /* (owned): the new Lease; NULL: a GET */
} ElectionCall;

struct LeaderElector {
    LeaderElectorOptions options;
    Sim *sim;
    ApiClient *client;
    EventRecorder *events;
    SimStream stream;
    uint64_t entity; /* of this start of the process, for draws */
    uint32_t n_waits;
    Object *observed;       /* (owned): the Lease as last seen; NULL: never */
    SimTime observed_at;    /* when a change was last seen, by this process's clock */
    SimTime tried_at;       /* when the try under way began */
    SimTime renewing_since; /* the time of a leader's first try since the last success */
    gboolean leads, is_renewing;
    gboolean is_optimistic; /* the try under way writes without having read */
    ElectionCall *call;     /* NULL: none under way */
    SimEventId event;       /* of the next try */
};

static void elector_try(LeaderElector *self);

static const Lease *
observed_lease(const LeaderElector *self)
{
    return LEASE_CONST(self->observed);
}

static gboolean
is_holder(const LeaderElector *self)
{
    return self->observed != NULL && observed_lease(self)->holder == self->options.identity;
}

/* CGO-61: counts from the instant at which this process saw the renewal, because clocks may
 * differ. */
static gboolean
lease_is_valid(const LeaderElector *self, SimTime at)
{
    return self->observed != NULL &&
           self->observed_at + observed_lease(self)->duration_s * SIM_SECOND > at;
}

static void
leader_election_observe(LeaderElector *self, const Object *lease)
{
    if (self->observed != NULL && self->observed->resource_version == lease->resource_version)
        return;
    object_unref(self->observed);
    self->observed = object_ref(lease);
    self->observed_at = sim_now(self->sim);
}

/* ---- Waiting for the next try ---- */

static void
leader_election_try_again(Sim *sim, void *data)
{
    LeaderElector *self = data;

    (void)sim;
    self->event = 0;
    elector_try(self);
}

static const SimEventType try_event = {.name = "leader election/try",
                                       .fire = leader_election_try_again};

static void
wait_and_try(LeaderElector *self, SimTime delay)
{
    self->event = sim_after(self->sim, delay, &try_event, self, WAIT_POLL);
}

static double
leader_election_draw(LeaderElector *self)
{
    return sim_random_uniform(self->stream, self->entity, self->n_waits++);
}

static SimTime
candidate_wait(LeaderElector *self)
{
    SimTime period = self->options.options->retry_period;

    return period + (SimTime)((double)period * JITTER * leader_election_draw(self));
}

/* ---- Tries ---- */

static void
leader_election_record(LeaderElector *self, const char *what)
{
    Strings *strings = objects_strings(self->options.process->options.objects);

    event_recorder_record(self->events, self->observed, "Normal", "LeaderElection",
                          strings_internf(strings, "%s %s", self->options.identity, what));
}

static void
try_succeeded(LeaderElector *self)
{
    gboolean is_new = !self->leads;

    self->leads = TRUE;
    self->is_renewing = FALSE;
    wait_and_try(self, self->options.options->retry_period);
    if (!is_new)
        return;
    leader_election_record(self, "became leader"); /* CGO-65 */
    self->options.started(self->options.data);
}

/* CGO-62: a leader tries at a fixed rate until its deadline, then it gives up. */
static void
renewal_failed(LeaderElector *self)
{
    const LeaderElectionOptions *options = self->options.options;
    SimTime period = MAX(options->retry_period, SIM_MS);
    SimTime spent = sim_now(self->sim) - self->renewing_since;
    SimTime next = (spent / period + 1) * period;

    if (next <= options->renew_deadline) {
        wait_and_try(self, next - spent);
        return;
    }
    self->leads = FALSE;
    leader_election_record(self, "stopped leading");
    if (self->options.stopped != NULL)
        self->options.stopped(self->options.data);
}

static void
try_failed(LeaderElector *self)
{
    if (self->leads)
        renewal_failed(self);
    else
        wait_and_try(self, candidate_wait(self));
}

static void
leader_election_call_free(void *data)
{
    ElectionCall *call = data;

    if (call->elector != NULL)
        call->elector->call = NULL;
    object_unref(call->object);
    g_free(call);
}

static void
send(LeaderElector *self, ApiVerb verb, Object *object /* taken */, ApiReply reply)
{
    ElectionCall *call = g_new0(ElectionCall, 1);

    *call = (ElectionCall){self, object};
    self->call = call;
    api_client_request(self->client,
                       &(ApiRequest){.verb = verb, .key = self->options.lease, .object = object},
                       reply, leader_election_call_free, call);
}

/* Returns: (owned): the Lease that this process would write. @before: NULL: there is no Lease */
static Object *
own_lease(const LeaderElector *self, const Object *before)
{
    Object *object = before == NULL ? object_new(self->options.lease) : object_edit(before);
    Lease *lease = LEASE(object);

    if (before == NULL || lease->holder != self->options.identity) {
        lease->acquired_at = sim_now(self->sim);
        lease->transitions += before != NULL;
    }
    lease->holder = self->options.identity;
    lease->duration_s = (int32_t)(self->options.options->lease_duration / SIM_SECOND);
    lease->renewed_at = sim_now(self->sim);
    return object;
}

static void leader_election_look(LeaderElector *self);

static void
written(void *data, const ApiResponse *response)
{
    ElectionCall *call = data;
    LeaderElector *self = call->elector;

    leader_election_call_free(call);
    if (self == NULL)
        return;
    if (response->code == API_OK) {
        leader_election_observe(self, response->object);
        try_succeeded(self);
    } else if (self->is_optimistic) {
        leader_election_look(self);
    } else {
        try_failed(self);
    }
}

static void
seen(void *data, const ApiResponse *response)
{
    ElectionCall *call = data;
    LeaderElector *self = call->elector;

    leader_election_call_free(call);
    if (self == NULL)
        return;
    if (response->code == API_NOT_FOUND) {
        send(self, API_CREATE, own_lease(self, NULL), written);
        return;
    }
    if (response->code != API_OK) {
        try_failed(self);
        return;
    }
    leader_election_observe(self, response->object);
    if (observed_lease(self)->holder != NULL && lease_is_valid(self, self->tried_at) &&
        !is_holder(self))
        try_failed(self);
    else
        send(self, API_UPDATE, own_lease(self, self->observed), written);
}

static void
leader_election_look(LeaderElector *self)
{
    self->is_optimistic = FALSE;
    send(self, API_GET, NULL, seen);
}

static void
elector_try(LeaderElector *self)
{
    self->tried_at = sim_now(self->sim);
    if (!self->is_renewing)
        self->renewing_since = self->tried_at;
    self->is_renewing = TRUE;
    self->is_optimistic = is_holder(self) && lease_is_valid(self, self->tried_at);
    if (self->is_optimistic)
        send(self, API_UPDATE, own_lease(self, self->observed), written);
    else
        leader_election_look(self);
}

/* ---- The elector ---- */

static void
announce(Sim *sim, void *data)
{
    LeaderElector *self = data;

    (void)sim;
    wait_and_try(self, self->observed_at + self->options.options->retry_period - sim_now(sim));
    self->options.started(self->options.data);
}

static const SimEventType announce_event = {.name = "leader election/leads already",
                                            .fire = announce};

/* It has led since before the run: the last renewal is up to a period ago. */
static void
take_lease(LeaderElector *self)
{
    ApiServer *api = self->options.process->options.api;
    ApiResponse response;
    SimTime ago =
        (SimTime)((double)self->options.options->retry_period * leader_election_draw(self));
    const Object *before = api_server_get(api, self->options.lease);
    g_autoptr(Object) lease = own_lease(self, before);

    LEASE(lease)->acquired_at = LEASE(lease)->renewed_at = sim_now(self->sim) - ago;
    api_server_commit(api,
                      &(ApiRequest){.verb = before == NULL ? API_CREATE : API_UPDATE,
                                    .key = self->options.lease,
                                    .object = lease,
                                    .client = "initial"},
                      &response);
    leader_election_observe(self, response.object);
    self->observed_at -= ago;
    self->leads = TRUE;
    self->event = sim_after(self->sim, 0, &announce_event, self, WAIT_STARTUP);
}

LeaderElector *
leader_elector_new(const LeaderElectorOptions *options)
{
    LeaderElector *self = g_new0(LeaderElector, 1);

    self->options = *options;
    self->sim = options->process->options.sim;
    self->stream = sim_stream(self->sim, "client/leader-election");
    self->entity = sim_hash_combine(options->process->hash, (uint64_t)sim_now(self->sim));
    self->client =
        api_client_new(options->process, "leader-election", options->qps, options->burst);
    self->events = event_recorder_new(self->client, options->event_source, EVENTS_CORE);
    if (options->has_led)
        take_lease(self);
    else if (sim_now(self->sim) == 0)
        wait_and_try(self, (SimTime)((double)candidate_wait(self) * leader_election_draw(self)));
    else
        wait_and_try(self, 0);
    return self;
}

void
leader_elector_free(LeaderElector *self)
{
    if (self == NULL)
        return;
    if (self->call != NULL)
        self->call->elector = NULL;
    sim_cancel(self->sim, self->event);
    event_recorder_free(self->events);
    api_client_free(self->client);
    object_unref(self->observed);
    g_free(self);
}

gboolean
leader_elector_leads(const LeaderElector *self)
{
    return self->leads;
}

char *
leader_election_name(const char *text)
{
    char *name = g_strdup(text);

    for (char *c = name; *c != '\0'; c++)
        if (!g_ascii_isalnum(*c) && *c != '-')
            *c = '-';
    return name;
}
