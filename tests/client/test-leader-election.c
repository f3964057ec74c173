/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/api/lease.h"
#include "models/apiserver/apiserver-test.h"
#include "models/client/leader-election.h"
#include "models/timing/timing-test.h"
#include "sim/sim-test.h"
#include "tests/lib/test.h"

/* CGO-60..65: which of several candidates leads, and how long there is no leader. */

#define N_CANDIDATES 3

typedef struct LeaderElectionWorld LeaderElectionWorld;

typedef struct {
    LeaderElectionWorld *world;
    Process *process;
    LeaderElector *elector;
    const char *name, *identity;
    SimTime leads_since, stopped_at; /* -1: never */
    unsigned n_starts;
} LeaderElectionCandidate;

struct LeaderElectionWorld {
    Sim *sim;
    Objects *objects;
    Timing timing;
    ApiServer *api;
    LeaderElectionOptions options;
    LeaderElectionCandidate candidates[N_CANDIDATES];
    SimTime cut_off_since, cut_off_until; /* the API server refuses the first candidate */
};

static ObjectKey *
lease_key(const LeaderElectionWorld *world)
{
    return objects_key(world->objects, KIND_LEASE, "kube-system", "lock");
}

static const Lease *
stored_lease(const LeaderElectionWorld *world)
{
    return LEASE_CONST(api_server_get(world->api, lease_key(world)));
}

/* Whether the elector leads at this instant, and no other does. */
static void
assert_leads_alone(const LeaderElectionCandidate *candidate)
{
    for (unsigned i = 0; i < N_CANDIDATES; i++) {
        const LeaderElectionCandidate *other = &candidate->world->candidates[i];
        if (other != candidate && other->elector != NULL)
            assert_false(leader_elector_leads(other->elector));
    }
}

static void
started(void *data)
{
    LeaderElectionCandidate *candidate = data;

    candidate->leads_since = sim_now(candidate->world->sim);
    assert_leads_alone(candidate);
}

static void
stopped(void *data)
{
    LeaderElectionCandidate *candidate = data;

    candidate->stopped_at = sim_now(candidate->world->sim);
}

static ApiCode
cut_off(void *data, const ApiRequest *request, GString *message)
{
    const LeaderElectionWorld *world = data;
    const Lease *lease = LEASE_CONST(request->object);

    if (lease == NULL || lease->holder != world->candidates[0].identity ||
        sim_now(world->sim) < world->cut_off_since || sim_now(world->sim) >= world->cut_off_until)
        return API_OK;
    g_string_assign(message, "the server was unable to return a response in the time allotted");
    return API_TIMEOUT;
}

/* @retry_s: 2 for the control plane, 5 for sidecars */
static void
world_init(LeaderElectionWorld *self, uint64_t seed, int retry_s)
{
    *self = (LeaderElectionWorld){
        .options = {.enabled = TRUE,
                    .lease_duration = 15 * SIM_SECOND,
                    .renew_deadline = 10 * SIM_SECOND,
                    .retry_period = retry_s * SIM_SECOND}
    };
    self->sim = sim_new(&(SimOptions){.seed = seed});
    self->objects = objects_new(seed);
    timing_init_instant(&self->timing);
    sim_dist_unref(self->timing.write);
    self->timing.write = sim_dist_new_uniform(1 * SIM_MS, 6 * SIM_MS);
    self->api = api_server_new(
        &(ApiServerOptions){.sim = self->sim, .objects = self->objects, .timing = &self->timing});
    api_server_set_fault(self->api, cut_off, self);
    for (unsigned i = 0; i < N_CANDIDATES; i++) {
        LeaderElectionCandidate *candidate = &self->candidates[i];
        *candidate = (LeaderElectionCandidate){.world = self, .leads_since = -1, .stopped_at = -1};
        candidate->name = strings_internf(objects_strings(self->objects), "candidate-%u", i);
        candidate->identity = strings_internf(objects_strings(self->objects), "host-%u", i);
    }
}

static void
leader_election_start(LeaderElectionCandidate *self, gboolean has_led)
{
    LeaderElectionWorld *world = self->world;

    self->n_starts++;
    self->process = process_new(
        &(ProcessOptions){world->sim, world->objects, world->api, &world->timing, self->name});
    self->elector = leader_elector_new(&(LeaderElectorOptions){.process = self->process,
                                                               .options = &world->options,
                                                               .lease = lease_key(world),
                                                               .identity = self->identity,
                                                               .event_source = "lock/test",
                                                               .has_led = has_led,
                                                               .started = started,
                                                               .stopped = stopped,
                                                               .data = self});
}

static void
crash(LeaderElectionCandidate *self)
{
    g_clear_pointer(&self->elector, leader_elector_free);
    g_clear_pointer(&self->process, process_free);
    self->leads_since = -1;
}

static void
start_all(LeaderElectionWorld *self)
{
    for (unsigned i = 0; i < N_CANDIDATES; i++)
        leader_election_start(&self->candidates[i], i == 0);
}

static void
leader_election_world_clear(LeaderElectionWorld *self)
{
    for (unsigned i = 0; i < N_CANDIDATES; i++)
        crash(&self->candidates[i]);
    sim_run_until(self->sim, sim_now(self->sim) + SIM_SECOND);
    api_server_free(self->api);
    sim_free(self->sim);
    objects_free(self->objects);
    timing_clear(&self->timing);
}

static void
leader_election_nothing(Sim *sim, void *data)
{
    (void)sim, (void)data;
}

static void
leader_election_run_until(LeaderElectionWorld *self, SimTime at)
{
    static const SimEventType event = {.name = "test/time passes", .fire = leader_election_nothing};

    sim_at(self->sim, at, &event, NULL, WAIT_NONE);
    sim_run_until(self->sim, at);
}

static const LeaderElectionCandidate *
leader(const LeaderElectionWorld *self)
{
    for (unsigned i = 0; i < N_CANDIDATES; i++)
        if (self->candidates[i].elector != NULL &&
            leader_elector_leads(self->candidates[i].elector))
            return &self->candidates[i];
    return NULL;
}

/* The first leads from the start; the others only read the Lease; the leader renews it each retry
 * period (CGO-62). */
TEST(the_leader_renews)
{
    LeaderElectionWorld world;

    world_init(&world, 1, 2);
    start_all(&world);
    leader_election_run_until(&world, 0);
    assert_ptr_equal(leader(&world), &world.candidates[0]);
    leader_election_run_until(&world, 600 * SIM_SECOND);
    assert_ptr_equal(leader(&world), &world.candidates[0]);
    assert_string_equal(stored_lease(&world)->holder, "host-0");
    assert_int_equal(stored_lease(&world)->duration_s, 15);
    assert_int_equal(stored_lease(&world)->transitions, 0);
    assert_true(sim_now(world.sim) - stored_lease(&world)->renewed_at < 2010 * SIM_MS);
    /* a renewal is one PUT: 2 s and its own 1..6 ms apart */
    assert_in_range(api_server_n_requests(world.api, API_UPDATE), 298, 300);
    /* two that look, each 2 to 4.4 s apart */
    assert_in_range(api_server_n_requests(world.api, API_GET), 2 * 600 / 4.41, 2 * 600 / 2);
    assert_int_equal(api_server_n_events(world.api), 0); /* nothing has changed */
    leader_election_world_clear(&world);
}

/* CGO-60: without a Lease the first candidate makes it. */
TEST(the_first_makes_the_lease)
{
    LeaderElectionWorld world;

    world_init(&world, 1, 5);
    for (unsigned i = 0; i < N_CANDIDATES; i++)
        leader_election_start(&world.candidates[i], FALSE);
    leader_election_run_until(&world, 12 * SIM_SECOND);
    const LeaderElectionCandidate *first = leader(&world);
    assert_non_null(first);
    assert_string_equal(stored_lease(&world)->holder, first->identity);
    assert_int_equal(api_server_n_requests(world.api, API_CREATE), 1 + 1); /* the Lease, an Event */
    const ApiEvent *event = api_server_event(world.api, 0);
    g_autofree char *message = g_strdup_printf("%s became leader", first->identity);
    assert_string_equal(event->reason, "LeaderElection");
    assert_string_equal(event->message, message); /* CGO-65 */
    leader_election_world_clear(&world);
}

/* CGO-63: the next leads within 4.4 retry periods of the end of the lease; from the crash, that is
 * 13 to 23.8 s for the control plane and 10 to 37 s for sidecars. All of that range occurs. */
TEST(the_next_waits_for_the_lease)
{
    static const struct {
        int retry_s;
        SimTime least, most;
    } cases[] = {
        {2, 13000 * SIM_MS, 23800 * SIM_MS},
        {5, 10000 * SIM_MS, 37000 * SIM_MS},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        SimTime shortest = SIM_TIME_MAX, longest = 0;
        for (uint64_t seed = 1; seed <= 200; seed++) {
            LeaderElectionWorld world;
            world_init(&world, seed, cases[i].retry_s);
            leader_election_start(&world.candidates[0], TRUE);
            leader_election_start(&world.candidates[1], FALSE);
            leader_election_run_until(&world, 60 * SIM_SECOND + (SimTime)seed * 77 * SIM_MS);
            SimTime crashed_at = sim_now(world.sim);
            SimTime renewed_at = stored_lease(&world)->renewed_at;
            crash(&world.candidates[0]);
            leader_election_run_until(&world, crashed_at + 60 * SIM_SECOND);
            SimTime taken_at = world.candidates[1].leads_since;
            SimTime latest =
                cases[i].retry_s * 4400 * SIM_MS + 50 * SIM_MS; /* requests take time */
            assert_true(taken_at > renewed_at + 15 * SIM_SECOND);
            assert_true(taken_at <= renewed_at + 15 * SIM_SECOND + latest);
            assert_int_equal(stored_lease(&world)->transitions, 1);
            shortest = MIN(shortest, taken_at - crashed_at);
            longest = MAX(longest, taken_at - crashed_at);
            leader_election_world_clear(&world);
        }
        assert_true(shortest >= cases[i].least);
        assert_true(longest <= cases[i].most + 50 * SIM_MS);
        assert_true(longest - shortest > (cases[i].most - cases[i].least) / 2);
    }
}

/* CGO-61: a restarted process with the holder's name is the holder. */
TEST(the_same_name_need_not_wait)
{
    LeaderElectionWorld world;

    world_init(&world, 1, 5);
    start_all(&world);
    leader_election_run_until(&world, 30 * SIM_SECOND);
    crash(&world.candidates[0]);
    leader_election_start(&world.candidates[0], FALSE);
    leader_election_run_until(&world, 30 * SIM_SECOND + 50 * SIM_MS);
    assert_ptr_equal(leader(&world), &world.candidates[0]);
    assert_int_equal(stored_lease(&world)->transitions, 0);
    leader_election_world_clear(&world);
}

/* CGO-62: a leader that cannot renew for 10 s stops; a success before that is enough. Nobody else
 * leads before the lease is over. */
TEST(who_cannot_renew_stops)
{
    static const struct {
        int cut_off_s;
        gboolean stops;
    } cases[] = {
        {7,  FALSE},
        {60, TRUE },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        LeaderElectionWorld world;
        world_init(&world, 1, 2);
        world.cut_off_since = 30 * SIM_SECOND;
        world.cut_off_until = (30 + cases[i].cut_off_s) * SIM_SECOND;
        start_all(&world);
        leader_election_run_until(&world, 29 * SIM_SECOND);
        leader_election_run_until(&world, 80 * SIM_SECOND);
        SimTime stopped_at = world.candidates[0].stopped_at;
        if (cases[i].stops) {
            assert_in_range(stopped_at, 40 * SIM_SECOND, 42100 * SIM_MS);
            assert_non_null(leader(&world));
            assert_ptr_not_equal(leader(&world), &world.candidates[0]);
            assert_true(leader(&world)->leads_since > stopped_at);
        } else {
            assert_int_equal(stopped_at, -1);
            assert_ptr_equal(leader(&world), &world.candidates[0]);
        }
        leader_election_world_clear(&world);
    }
}

/* CGO-64: whichever candidates die and restart, there are never two leaders; and after a while
 * without faults there is one. */
TEST(never_are_there_two)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        LeaderElectionWorld world;
        world_init(&world, seed, 2);
        start_all(&world);
        SimStream stream = sim_stream(world.sim, "test/crashes");
        for (unsigned i = 0; i < 40; i++) {
            leader_election_run_until(&world,
                                      sim_now(world.sim) +
                                          (SimTime)sim_random_below(stream, 0, i, 20000) * SIM_MS);
            LeaderElectionCandidate *one =
                &world.candidates[sim_random_below(stream, 1, i, N_CANDIDATES)];
            if (one->elector != NULL)
                crash(one);
            else
                leader_election_start(one, FALSE);
        }
        for (unsigned i = 0; i < N_CANDIDATES; i++)
            if (world.candidates[i].elector == NULL)
                leader_election_start(&world.candidates[i], FALSE);
        leader_election_run_until(&world, sim_now(world.sim) + 30 * SIM_SECOND);
        assert_non_null(leader(&world));
        assert_string_equal(stored_lease(&world)->holder, leader(&world)->identity);
        leader_election_world_clear(&world);
    }
}

/* CGO-66. */
TEST(names_of_locks)
{
    g_autofree char *name = leader_election_name("ebs.csi.aws.com/x_1-A");

    assert_string_equal(name, "ebs-csi-aws-com-x-1-A");
}
